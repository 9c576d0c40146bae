#!/bin/bash
# Installs the build, moves the tree, and builds and runs the C++ example against it from another folder.
# usage: install_test.sh BUILD_FOLDER SOURCE_FOLDER COMPILER [FLAGS]
set -euo pipefail
build=$1 source=$2 compiler=$3 flags=${4:-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cmake --install "$build" --prefix "$work/first" >"$work/install.log" || { cat "$work/install.log"; exit 1; }
mv "$work/first" "$work/moved" # nothing in the tree may depend on where it was installed
cd "$work"
moved/bin/mplus --version
MPLUS_HOME=$work/home moved/bin/mplus model list | tee list.txt
grep -A 2 "^$work/moved/bin/../share/mplus/models\|^$work/moved/share/mplus/models" list.txt | grep -q smollm2-135m-mplus

cp -r "$source/examples/cpp" example
cmake -S example -B example-build -G Ninja -DCMAKE_PREFIX_PATH="$work/moved" -DCMAKE_BUILD_TYPE=Release \
  -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_CXX_FLAGS="$flags" >configure.log || { cat configure.log; exit 1; }
cmake --build example-build

model=${MPLUS_MODEL:-${MPLUS_HOME:-${XDG_DATA_HOME:-$HOME/.local/share}/mplus}/models/SmolLM2-135M-Instruct.Q4_1.gguf}
if [ ! -f "$model" ]; then
  echo "no default model at $model; run scripts/fetch_model.sh"
  [ "${CI:-}" = true ] && exit 1
  echo "SKIPPED: the example was built, not run"
  exit 77
fi
head -c 3000 "$source/examples/story/winter_light.txt" >page.txt
example-build/remember_and_ask page.txt "Where was Ingrid Dahl born?" | tee answer.txt
grep -q "^answer:.*Bergen" answer.txt
grep -q "^again:.*Bergen" answer.txt
