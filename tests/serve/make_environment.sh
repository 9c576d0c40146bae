#!/bin/sh
# usage: make_environment.sh FOLDER
# Makes a Python environment with the clients of requirements.txt, unless FOLDER has it already. Where they cannot be had,
# 77: skipped; with CI=true that is a failure.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
folder=$1
known=$(cat "$here/requirements.txt" "$here/constraints.txt" "$0" | sha256sum)
if [ -x "$folder/bin/python" ] && [ "$(cat "$folder/made-from" 2>/dev/null)" = "$known" ]; then
  exit 0
fi
rm -rf "$folder"
mkdir -p "$(dirname "$folder")"
if python3 -m venv "$folder" && "$folder/bin/pip" install --quiet --disable-pip-version-check --no-compile \
    --requirement "$here/requirements.txt" --constraint "$here/constraints.txt"; then
  echo "$known" >"$folder/made-from" # last: a run that was cut short makes it again
  exit 0
fi
rm -rf "$folder"
[ "${CI:-false}" = true ] && exit 1
echo "SKIPPED: the clients cannot be installed"
exit 77
