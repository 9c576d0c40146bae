#!/bin/bash
# Runs every fuzz target, built with ASan and UBSan, for some seconds of processor time from the committed seeds, two at
# a time; ends non-zero on any finding and says how to run it again. What the fuzzer learns stays under build/fuzz for
# the next run.
set -uo pipefail
cd "$(dirname "$0")/.." || exit 1
all=()
for source in tests/fuzz/fuzz_*.cpp; do
  name=${source#tests/fuzz/fuzz_}
  all+=("${name%.cpp}")
done
usage="usage: scripts/fuzz.sh [SECONDS [TARGET…]]
  SECONDS  of processor time for each target (default 60)
  TARGET   of: ${all[*]} (default: all)
environment: MPLUS_FUZZ_JOBS  targets that run at a time (default 2)"
case "${1:-}" in
  -h | --help) echo "$usage"; exit 0 ;;
  *[!0-9]*) echo "$usage" >&2; exit 2 ;;
esac
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=("$@")
[ $# -eq 0 ] && targets=("${all[@]}")

cmake --preset asan > /dev/null || { cmake --preset asan; exit 1; }
cmake --build --preset asan -j "$(nproc)" --target "${targets[@]/#/fuzz_}" || exit 1

largest_input() { # TARGET: room for a vocabulary of all bytes, or for a memory's header, where there is one
  case $1 in
    tokenizer | gguf | memory | state | segment | journal) echo 16384 ;;
    blob) echo 1024 ;; # what zstd may make of it is 32,768 times as much
    *) echo 4096 ;;
  esac
}

largest_block() { # TARGET: MB in one allocation; xz may ask for a dictionary of 256
  case $1 in
    json_lines | unpacked_file) echo 300 ;;
    *) echo 64 ;;
  esac
}

covered() { # head|tail: edges covered at the first or the last line of the target's log that says so
  sed -n 's/^#[0-9].* cov: \([0-9]*\) .*/\1/p' "$log" | "$1" -n 1
}

interrupted=72 # what libFuzzer ends with when it is told to stop

# PID SECONDS: waits until the process has ended, or has used so many seconds of processor time: then it is told to stop.
let_run() {
  local used
  while used=$(ps -o cputimes= -p "$1"); do
    [ "$used" -ge "$2" ] && kill -INT "$1"
    sleep 1
  done
  wait "$1"
}

fuzz_one() { # TARGET SECONDS
  local target=$1 seconds=$2 runs status
  local seeds=tests/fuzz/corpus/$target learnt=build/fuzz/corpus/$target
  local findings=build/fuzz/findings/$target log=build/fuzz/$target.log
  [ -d "$seeds" ] || { echo "fuzz: no seeds in $seeds" >&2; return 1; }
  mkdir -p "$learnt" "$findings"
  local options=()
  [ -f "tests/fuzz/$target.dict" ] && options=(-dict="tests/fuzz/$target.dict")
  # An input that takes long or much memory is a finding, too: a reader's work must be in proportion to its file.
  build/asan/tests/fuzz/fuzz_"$target" "$learnt" "$seeds" \
    -max_len="$(largest_input "$target")" -malloc_limit_mb="$(largest_block "$target")" -timeout=10 -rss_limit_mb=1024 \
    -artifact_prefix="$findings/" -print_final_stats=1 "${options[@]}" > "$log" 2>&1 &
  let_run $! "$seconds"
  status=$?
  if [ "$status" = "$interrupted" ]; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    # A target that ran nothing but its seeds, or nothing at all, has shown nothing.
    if [ "${runs:-0}" -le "$(find "$seeds" -type f | wc -l)" ]; then
      echo "fuzz: $target: only ${runs:-0} inputs ran; see $log" >&2
      return 1
    fi
    echo "fuzz: $target: $seconds s, $runs inputs, coverage $(covered head) to $(covered tail), no finding"
  else
    echo "fuzz: $target: a finding; the end of $log:" >&2
    grep -v '^#' "$log" | tail -n 60 >&2
    echo "again with: build/asan/tests/fuzz/fuzz_$target $findings/<file>" >&2
    return 1
  fi
}

export -f fuzz_one let_run covered largest_input largest_block
export interrupted
printf '%s\n' "${targets[@]}" | xargs -P "${MPLUS_FUZZ_JOBS:-2}" -I{} bash -c 'fuzz_one "$@"' _ {} "$seconds" || exit 1
