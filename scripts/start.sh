#!/bin/bash
# The first command: from a bare Debian 12 machine to a model that answers questions about a text it has read.
# Installs packages, builds, fetches the default model (each only where needed), writes the shipped story into a
# memory file and asks about its first page. On a terminal it then takes questions from you.
set -euo pipefail
usage="usage: scripts/start.sh [--large] [--no-questions]
  --large         with the model of 1.5 billion parameters (1.1 GB to fetch) instead of the default one (90 MB)
  --no-questions  on a terminal: end after the shipped questions instead of waiting for yours"
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"

ask_person=false
if [ -t 0 ] && [ -t 1 ]; then ask_person=true; fi
model=() # the default one
for option in "$@"; do
  case $option in
    --large) model=(-m qwen2.5-coder-1.5b) ;;
    --no-questions) ask_person=false ;;
    -h | --help) echo "$usage"; exit 0 ;;
    *) echo "$usage" >&2; exit 2 ;;
  esac
done

step() { printf '\n== %s\n' "$*"; }

step "Packages"
scripts/install_packages.sh build
echo "All there."

step "Build (preset release)"
# A dozen files at a time, as scripts/test.sh compiles them: they include the same libraries.
[ -f build/release/build.ninja ] || cmake --preset release -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12
# The tests share this build tree (scripts/test.sh); only the program is built here.
cmake --build --preset release --target mplus

mplus=build/release/cli/mplus
step "Model"
if [ ${#model[@]} -gt 0 ]; then "$mplus" model get "${model[1]}"; else scripts/fetch_model.sh; fi

story=examples/story/winter_light.txt
novel=examples/story/prisoner_of_zenda.txt # read after it: four fifths of all that is read
memory=build/demo/story.safetensors
mkdir -p build/demo
rm -f "$memory"

step "Reading $story and then $novel into $memory"
"$mplus" remember "$story" "$novel" --memory "$memory" "${model[@]}"

step "Questions about its first page, each in a new process that has only the memory"
while IFS=$'\t' read -r question answer; do
  [ -n "$question" ] || continue
  printf '\n> %s\n' "$question"
  "$mplus" ask "$question" --memory "$memory" "${model[@]}" --why </dev/null
  printf '  (the page says: %s)\n' "$answer"
done <examples/story/questions.txt

if $ask_person; then
  step "Your turn: a question about the story; an empty line ends"
  while printf '> ' && IFS= read -r -t 300 question && [ -n "$question" ]; do
    "$mplus" ask "$question" --memory "$memory" "${model[@]}" --why || true # a mistake must not end the conversation
  done
  echo
fi

step "The same by hand"
options="--memory $memory ${model[*]}"
cat <<END
$mplus remember FILE $options
$mplus ask "..." $options --why
$mplus chat $options
$mplus --help
END

step "For a browser and for other programs"
cat <<END
$mplus serve ${model[*]}      then http://127.0.0.1:8080
END
