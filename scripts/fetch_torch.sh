#!/bin/sh
# Fetches libtorch for room train (MPLUS_TRAIN=ON), headers and CPU libraries only, into $MPLUS_HOME/torch-<version>.
# Nobody who only uses the engine needs it, and no other script runs it by itself. What is there already is left alone.
#
# The files come out of PyPI's torch wheels. On x86_64 that wheel is a CUDA build of 890 MB; taken from it are 120 MB:
# libtorch_cpu and libc10, which run without a GPU, and the two small NVIDIA libraries that libtorch_cpu is linked to.
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

mkdir -p "$home"
# Beside the target, so that the last step is a rename: the folder is complete or not there.
work=$(mktemp -d "$home/.fetch-torch.XXXXXX")
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# files PACKAGE_PATH RECORD_SHA256 PATTERN...: the wheel's address below PyPI's file server, the hash of its RECORD
# (which lists the hashes of all files in it), and what is taken from it.
files() {
  address=https://files.pythonhosted.org/packages/$1
  record=$2
  shift 2
  python3 "$here/wheel_files.py" "$address" "$record" "$work" "$@"
}

echo "Fetching libtorch $version from PyPI (about 120 MB)"
case "$(uname -m)" in
  x86_64)
    files 5a/63/4fdc45a0304536e75a5e1b1bbfb1b56dd0e2743c48ee83ca729f7ce44162/torch-2.8.0-cp311-cp311-manylinux_2_28_x86_64.whl \
      bc4e63b28750202c33bb2cdedcd1a49124e1ace6b81d13f109b49b908c0b6208 \
      'torch/include/*' torch/lib/libtorch_cpu.so torch/lib/libc10.so torch/lib/libgomp.so.1
    files f8/02/2adcaa145158bf1a8295d83591d22e4103dbfd821bcaf6f3f53151ca4ffa/nvidia_cuda_cupti_cu12-12.8.90-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl \
      e1a55034c9d3dda12dd291ff09cbcfcfc071caba74dc2e70cca6b2868074e299 nvidia/cuda_cupti/lib/libcupti.so.12
    files 0d/9b/a997b638fcd068ad6e4d53b8551a7d30fe8b404d6f1804abf1df69838932/nvidia_cuda_runtime_cu12-12.8.90-py3-none-manylinux2014_x86_64.manylinux_2_17_x86_64.whl \
      72c54ba9d7f4cea35edf4eac02bdc1ac23d494f316c39c812c1ee3ede09049bf nvidia/cuda_runtime/lib/libcudart.so.12
    ;;
  aarch64)
    files 8f/c4/3e7a3887eba14e815e614db70b3b529112d1513d9dae6f4d43e373360b7f/torch-2.8.0-cp311-cp311-manylinux_2_28_aarch64.whl \
      4f616743e95b9071174337390238343ee2b87562c29f3e9bb85268d3828f803e \
      'torch/include/*' torch/lib/libtorch_cpu.so torch/lib/libc10.so 'torch.libs/*'
    ;;
  *)
    echo "fetch_torch: no wheel is pinned for $(uname -m); name a torch of your own: cmake -DMPLUS_TORCH=<site-packages>/torch" >&2
    exit 1
    ;;
esac
chmod 755 "$work"
mv "$work" "$target"
trap - EXIT
echo "libtorch $version: $target/torch (fetched, checked)"
