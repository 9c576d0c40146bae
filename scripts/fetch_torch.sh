#!/bin/sh
# Fetches libtorch for room train (MPLUS_TRAIN=ON), headers and CPU libraries only, into $MPLUS_HOME/torch-<version>.
# Nobody who only uses the engine needs it, and no other script runs it by itself. What is there already is left alone.
#
# The files come out of PyPI's torch wheel, which pip downloads from wherever it is set up to (index, mirror, proxy,
# folder). On x86_64 that wheel is a CUDA build of 890 MB; kept are libtorch_cpu and libc10, which run without a GPU, and
# the two small NVIDIA libraries that libtorch_cpu is linked to.
set -eu
usage="usage: scripts/fetch_torch.sh [--path]
  --path  print where it is put, and fetch nothing"
here=$(cd "$(dirname "$0")" && pwd)
version=2.8.0
home=${MPLUS_HOME:-${XDG_DATA_HOME:-${HOME:?is not set; set MPLUS_HOME}/.local/share}/mplus}
target=$home/torch-$version

case "${1:-}" in
  "") ;;
  --path) echo "$target/torch"; exit 0 ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac
if [ -d "$target" ]; then
  echo "libtorch $version: $target/torch"
  exit 0
fi

machine=$(uname -m)
case "$machine" in
  x86_64 | aarch64) ;;
  *)
    echo "fetch_torch: no wheel is pinned for $machine; name a torch of your own: cmake -DMPLUS_TORCH=<site-packages>/torch" >&2
    exit 1
    ;;
esac

mkdir -p "$home"
# Beside the target, so that the last step is a rename: the folder is complete or not there.
work=$(mktemp -d "$home/.fetch-torch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# files REQUIREMENT RECORD_SHA256 PATTERN...: the hash is that of the wheel's RECORD, which lists the hashes of all files
# in it; the patterns say what is taken from it.
files() {
  requirement=$1
  record=$2
  shift 2
  python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
    --implementation cp --python-version 3.11 --abi cp311 --abi none \
    --platform "manylinux_2_28_$machine" --platform "manylinux2014_$machine" --dest "$work/wheel" "$requirement" || {
    echo "fetch_torch: pip could not download $requirement (no network, or no package index in reach)." >&2
    echo "A torch of your own does as well: cmake -DMPLUS_TORCH=<site-packages>/torch" >&2
    exit 1
  }
  python3 "$here/wheel_files.py" "$work"/wheel/*.whl "$record" "$work/files" "$@"
  rm -r "$work/wheel"
}

echo "Fetching libtorch $version from PyPI (890 MB on x86_64, 100 MB on aarch64)"
case "$machine" in
  x86_64)
    files torch==$version bc4e63b28750202c33bb2cdedcd1a49124e1ace6b81d13f109b49b908c0b6208 \
      'torch/include/*' torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/lib/libgomp.so.1
    files nvidia-cuda-cupti-cu12==12.8.90 e1a55034c9d3dda12dd291ff09cbcfcfc071caba74dc2e70cca6b2868074e299 \
      nvidia/cuda_cupti/lib/libcupti.so.12
    files nvidia-cuda-runtime-cu12==12.8.90 72c54ba9d7f4cea35edf4eac02bdc1ac23d494f316c39c812c1ee3ede09049bf \
      nvidia/cuda_runtime/lib/libcudart.so.12
    ;;
  aarch64)
    files torch==$version 4f616743e95b9071174337390238343ee2b87562c29f3e9bb85268d3828f803e \
      'torch/include/*' torch/lib/libtorch_cpu.so torch/lib/libc10.so 'torch.libs/*'
    ;;
esac
mv "$work/files" "$target"
echo "libtorch $version: $target/torch (fetched, checked)"
