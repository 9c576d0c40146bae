#!/bin/sh
# Fails if a C++ file of the project is not as .clang-format wants it, or a script is not clean under shellcheck.
set -eu
cd "$(dirname "$0")/.."
good=true
find . -path ./build -prune -o -path ./.git -prune -o -type f \( -name '*.cpp' -o -name '*.h' \) -print0 |
  xargs -0 -r clang-format-14 --dry-run --Werror || good=false
find scripts .ci -type f \( -name '*.sh' -o -name run \) -exec shellcheck {} + || good=false
$good
