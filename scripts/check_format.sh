#!/bin/sh
# Fails if a C++ file of the project is not as .clang-format wants it, or a script is not clean under shellcheck.
set -eu
cd "$(dirname "$0")/.."
good=true
sources() { # those of the project: in a checkout whatever git knows, and new files it does not ignore
  git ls-files -z --cached --others --exclude-standard '*.cpp' '*.h' '*.cu' 2>/dev/null ||
    find . -path ./build -prune -o -type f \( -name '*.cpp' -o -name '*.h' -o -name '*.cu' \) -print0
}
sources | xargs -0 -r clang-format-14 --dry-run --Werror || good=false
find scripts .ci -type f \( -name '*.sh' -o -name run \) -exec shellcheck {} + || good=false
$good
