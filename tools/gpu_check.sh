#!/bin/bash
# Takes this tree to a bare x86_64 GPU machine (nvcc, CMake, Ninja, a compiler; no network, none of Debian's packages), builds
# it there and runs what needs the device. Files travel in pieces of less than 64 MiB.
set -euo pipefail
usage="usage: tools/gpu_check.sh COMMAND
  here:
    pack FOLDER [FILE…]   into FOLDER/00: the commit's source with its test data, and Debian's packages for x86_64;
                          into FOLDER/01, 02, …: other files, cut where they are too large (a model, a delta)
  there:
    take FOLDER           keeps a piece that has arrived (in \$MPLUS_GPU_FILES, by default /tmp/mplus-check)
    build TARGET…         unpacks what has arrived and builds; the first call configures
    tests                 the kernels' tests: of the device (label gpu), then the processor's, for AVX-512 and AVX2
    bench                 the kernels' speed beside the device's limits
    sh COMMAND…           anything else, in the tree there"
here=$(cd "$(dirname "$0")/.." && pwd)
kept=${MPLUS_GPU_FILES:-/tmp/mplus-check}
prefix=$kept/prefix/usr
tree=$kept/tree
piece_size=$((50 * 1024 * 1024))
packages=(libfmt-dev libfmt9 libspdlog-dev libspdlog1.10 libssl-dev libssl3 libpcre2-dev libpcre2-8-0 libutf8proc-dev
  libutf8proc2 libxxhash-dev libxxhash0 libsqlite3-dev libsqlite3-0 libxml2-dev libxml2 libicu72 libicu-dev libzip-dev libzip4 libzstd-dev
  libzstd1 liblzma-dev liblzma5 libbz2-1.0 libgnutls30 libnettle8 libhogweed6 zlib1g zlib1g-dev libgtest-dev)
for_all_machines=(nlohmann-json3-dev libcli11-dev libboost1.74-dev)

fetch_packages() { # FOLDER
  mkdir -p "$1"
  dpkg --print-foreign-architectures | grep -q amd64 || { dpkg --add-architecture amd64 && apt-get update -qq; }
  for package in "${packages[@]}"; do
    compgen -G "$1/${package}_*" > /dev/null || (cd "$1" && apt-get download -qq "$package:amd64")
  done
  for package in "${for_all_machines[@]}"; do
    compgen -G "$1/${package}_*" > /dev/null || (cd "$1" && apt-get download -qq "$package")
  done
}

# Boost's headers are 130 MB, of which the server reads a tenth.
lay_out() { # PACKAGES PREFIX
  [ -d "$2/usr/include/boost" ] && return
  mkdir -p "$2"
  for package in "$1"/*.deb; do dpkg -x "$package" "$2"; done
  rm -rf "$2"/usr/share/{doc,man,bash-completion,locale} "$2"/usr/src
  (cd "$2/usr/include/boost" && rm -rf spirit phoenix geometry python math units multiprecision fusion/include/../../proto \
    graph log numeric/ublas xpressive compute gil histogram msm metaparse hana wave polygon)
  rm -f "$2"/usr/lib/x86_64-linux-gnu/libicu*.a "$2"/usr/lib/x86_64-linux-gnu/lib{crypto,ssl,sqlite3,xml2}.a
}

pack() { # FOLDER FILE…
  local folder=$1 number=1
  shift
  fetch_packages "$here/build/gpu-packages"
  lay_out "$here/build/gpu-packages" "$here/build/gpu-prefix"
  rm -rf "$folder"
  mkdir -p "$folder/00"
  [ -f "$here/build/gpu-prefix.tar.xz" ] || XZ_OPT=-T0 tar -C "$here/build/gpu-prefix" -cJf "$here/build/gpu-prefix.tar.xz" .
  cp "$here/build/gpu-prefix.tar.xz" "$folder/00/prefix.tar.xz"
  git -C "$here" archive HEAD -- ':!models/*.safetensors' ':!docs/pictures' | xz -T0 > "$folder/00/source.tar.xz"
  for file in "$@"; do
    split -b $piece_size -d -a 2 "$file" "$folder/$(basename "$file").part"
    for part in "$folder/$(basename "$file")".part*; do
      mkdir -p "$folder/$(printf %02d $number)"
      mv "$part" "$folder/$(printf %02d $number)/"
      number=$((number + 1))
    done
  done
  du -sh "$folder"/[0-9][0-9]
}

unpack() {
  cd "$kept"
  if [ -f prefix.tar.xz ]; then mkdir -p prefix && tar -C prefix -xJf prefix.tar.xz && rm prefix.tar.xz; fi
  if [ -f source.tar.xz ]; then mkdir -p tree && tar -C tree -xJf source.tar.xz && rm source.tar.xz; fi
  for first in *.part00; do
    [ -f "$first" ] || continue
    cat "${first%.part00}".part* > "${first%.part00}" && rm "${first%.part00}".part*
  done
}

build() { # TARGET…
  unpack
  cd "$tree"
  local libraries=$prefix/lib/x86_64-linux-gnu
  local linking="-L$libraries -Wl,--disable-new-dtags,-rpath,$libraries,-rpath,$kept/prefix/lib/x86_64-linux-gnu"
  export PKG_CONFIG_SYSROOT_DIR=$kept/prefix
  export PKG_CONFIG_LIBDIR=$prefix/lib/x86_64-linux-gnu/pkgconfig:$prefix/share/pkgconfig:$prefix/lib/pkgconfig
  if [ ! -f build/release/build.ninja ]; then
    cmake --preset release -DMPLUS_TESTS=ON -DCMAKE_PREFIX_PATH="$prefix" -DOPENSSL_ROOT_DIR="$prefix" -DCMAKE_DISABLE_FIND_PACKAGE_benchmark=ON \
      -DCMAKE_EXE_LINKER_FLAGS="$linking" > configure.log 2>&1 || { tail -30 configure.log; return 1; }
  fi
  cmake --build --preset release -j "$(nproc)" --target "$@" -- -k 0 > build.log 2>&1 || { grep -E -A5 'error|FAILED' build.log | head -60; return 1; }
}

case "${1:-}" in
  pack) shift && pack "$@" ;;
  take) mkdir -p "$kept" && cp "$2"/* "$kept/" ;;
  build) shift && build "$@" ;;
  tests)
    cd "$tree"
    failed=0
    ctest --preset release -L gpu -j 4 > gpu.log 2>&1 || failed=1
    grep -E -B1 -A12 'Failure' gpu.log | head -150 || true
    tail -40 gpu.log
    build/release/tests/kernels/kernels_test --gtest_brief=1 || failed=1
    exit $failed
    ;;
  bench) cd "$tree" && build/release/kernels/cuda_bench ;;
  sh) shift && cd "$tree" && "$@" ;;
  -h | --help) echo "$usage" ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
