#!/bin/sh
# Installs the Debian packages of the named groups (scripts/packages.txt) that are missing; touches apt only then.
# Without root and without sudo it prints the exact line to type and ends with 1.
set -eu
usage="usage: scripts/install_packages.sh build|train|test..."
here=$(cd "$(dirname "$0")" && pwd)

case "${1:-}" in
  -h | --help) echo "$usage"; exit 0 ;;
  "") echo "$usage" >&2; exit 2 ;;
esac

if ! command -v dpkg-query >/dev/null 2>&1; then
  echo "install_packages: no dpkg here, so nothing is installed; scripts/packages.txt lists what must be present." >&2
  exit 0
fi

missing=""
for group in "$@"; do
  wanted=$(sed -n "s/^$group //p" "$here/packages.txt")
  [ -n "$wanted" ] || { echo "install_packages: scripts/packages.txt has no group '$group'. $usage" >&2; exit 2; }
  for package in $wanted; do
    # The status abbreviation is "ii " for what is wanted and installed.
    state=$(dpkg-query -W -f '${db:Status-Abbrev}' "$package" 2>/dev/null || true)
    case "$state" in ii*) ;; *) missing="$missing $package" ;; esac
  done
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null 2>&1 && sudo -n true 2>/dev/null; then
  as_root="sudo -n"
elif command -v sudo >/dev/null 2>&1 && [ -t 0 ]; then
  as_root="sudo" # a person is there to type the password
else
  echo "Packages are missing, and there is neither root nor sudo to install them. Have this run once:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends -y$missing" >&2
  exit 1
fi

echo "Installing packages (a minute or two):$missing"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# shellcheck disable=SC2086  # both are lists of words
if ! { $as_root apt-get update -q && $as_root env DEBIAN_FRONTEND=noninteractive apt-get install --no-install-recommends -y -q $missing; } >"$log" 2>&1; then
  tail -n 40 "$log" >&2
  echo "install_packages: apt-get failed (see above). Once it can reach a mirror, run again, or by hand:" >&2
  echo "  apt-get update && apt-get install --no-install-recommends -y$missing" >&2
  exit 1
fi
