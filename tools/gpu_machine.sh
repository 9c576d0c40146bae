#!/bin/bash
# Takes the trainer and its data to a bare GPU machine that only gets some 60 MiB of files at a time and has neither a
# network nor Debian's packages: torch with CUDA, nvcc, CMake, Ninja and a compiler are all it needs to have.
set -euo pipefail
usage="usage: tools/gpu_machine.sh COMMAND
  here:
    packages            fetches the libraries' packages for x86_64 and lays them out under build/gpu/prefix
    pieces FILE…        cuts prefix and files into pieces build/gpu/00, 01, …, each small enough to travel
    thin | whole        leaves models/ and tests/data/ out of the work tree, or brings them back
  there:
    take FOLDER         keeps a piece that has arrived (in \$MPLUS_GPU_FILES, by default /tmp/mplus-gpu)
    join                puts the pieces together again and checks every file
    build TARGET…       configures the preset train against the machine's own torch, and builds"
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here"
gpu=build/gpu
kept=${MPLUS_GPU_FILES:-/tmp/mplus-gpu}
piece_size=$((55 * 1024 * 1024))
# Headers and libraries of what CMakeLists.txt looks for; the rest of a package's dependencies is on every machine.
packages=(libfmt-dev libfmt9 libspdlog-dev libspdlog1.10 libssl-dev libssl3 libpcre2-dev libpcre2-8-0 libutf8proc-dev
  libutf8proc2 libxxhash-dev libxxhash0 libsqlite3-dev libsqlite3-0 libxml2-dev libxml2 libzip-dev libzip4 libzstd-dev
  libzstd1 liblzma-dev liblzma5 libgtest-dev libtomlplusplus-dev)
for_all_machines=(nlohmann-json3-dev libcli11-dev)

fetch_packages() {
  dpkg --add-architecture amd64
  apt-get update -qq
  rm -rf $gpu/prefix && mkdir -p $gpu/packages $gpu/prefix
  (cd $gpu/packages && apt-get download -qq "${packages[@]/%/:amd64}" "${for_all_machines[@]}")
  for package in "$gpu"/packages/*.deb; do dpkg -x "$package" $gpu/prefix; done
  rm -rf $gpu/prefix/usr/share/doc $gpu/prefix/usr/src
}

cut_into_pieces() { # FILE…
  rm -rf $gpu/[0-9][0-9] $gpu/cut && mkdir -p $gpu/cut
  tar -C $gpu -cJf $gpu/prefix.tar.xz prefix
  for file in $gpu/prefix.tar.xz "$@"; do
    split -b $piece_size -d -a 3 "$file" "$gpu/cut/$(basename "$file").piece"
    (cd "$(dirname "$file")" && sha256sum "$(basename "$file")") >> $gpu/cut/SHA256SUMS
  done
  local number=0 filled=0 folder
  folder=$(printf '%s/%02d' $gpu 0)
  mkdir -p "$folder"
  for piece in "$gpu"/cut/*; do
    local size
    size=$(stat -c %s "$piece")
    if [ $((filled + size)) -gt $piece_size ] && [ $filled -gt 0 ]; then
      number=$((number + 1)) filled=0
      folder=$(printf '%s/%02d' $gpu $number)
      mkdir -p "$folder"
    fi
    mv "$piece" "$folder/"
    filled=$((filled + size))
  done
  rmdir $gpu/cut
  du -sh $gpu/[0-9][0-9]
}

join_pieces() {
  cd "$kept"
  for first in *.piece000; do
    local name=${first%.piece000}
    cat "$name".piece* > "$name" && rm "$name".piece*
  done
  sha256sum --quiet -c SHA256SUMS
  tar -xJf prefix.tar.xz
}

build_there() { # TARGET…
  local prefix=$kept/prefix/usr
  export PKG_CONFIG_SYSROOT_DIR=$kept/prefix PKG_CONFIG_LIBDIR=$prefix/lib/x86_64-linux-gnu/pkgconfig:$prefix/share/pkgconfig
  cmake --preset train -DMPLUS_TESTS=ON -DCMAKE_PREFIX_PATH="$prefix" -DOPENSSL_ROOT_DIR="$prefix" \
    -DMPLUS_TORCH="$(python3 -c 'import os, torch; print(os.path.dirname(torch.__file__))')" -DCMAKE_CUDA_ARCHITECTURES=90
  cmake --build --preset train --target "$@"
}

case "${1:-}" in
  packages) fetch_packages ;;
  pieces) shift && cut_into_pieces "$@" ;;
  thin) git sparse-checkout set --no-cone '/*' '!/models/*.safetensors' '!/tests/data' ;;
  whole) git sparse-checkout disable ;;
  take) mkdir -p "$kept" && cp "$2"/* "$kept/" ;;
  join) join_pieces ;;
  build) shift && build_there "$@" ;;
  -h | --help) echo "$usage" ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
