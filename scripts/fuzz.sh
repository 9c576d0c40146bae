#!/bin/bash
# Runs every fuzz target for some seconds from the committed seeds, under ASan and UBSan; ends non-zero on any
# finding and says how to run it again. What the fuzzer learns stays under build/fuzz for the next run.
set -uo pipefail
usage="usage: scripts/fuzz.sh [SECONDS [TARGET…]]
  SECONDS  for each target (default 60)
  TARGET   of: safetensors gguf tokenizer config (default: all)"
case "${1:-}" in
  -h | --help) echo "$usage"; exit 0 ;;
  *[!0-9]*) echo "$usage" >&2; exit 2 ;;
esac
seconds=${1:-60}
[ $# -gt 0 ] && shift
targets=("$@")
[ $# -eq 0 ] && targets=(safetensors gguf tokenizer config)
cd "$(dirname "$0")/.." || exit 1

cmake --preset fuzz > /dev/null || { cmake --preset fuzz; exit 1; }
cmake --build --preset fuzz --target "${targets[@]/#/fuzz_}" || exit 1

largest_input() { # TARGET: room for a vocabulary of all bytes where there is one
  case $1 in
    tokenizer | gguf) echo 16384 ;;
    *) echo 4096 ;;
  esac
}

failed=0
for target in "${targets[@]}"; do
  seeds=tests/fuzz/corpus/$target
  learnt=build/fuzz/corpus/$target
  findings=build/fuzz/findings/$target
  log=build/fuzz/$target.log
  [ -d "$seeds" ] || { echo "fuzz: no seeds in $seeds" >&2; exit 1; }
  mkdir -p "$learnt" "$findings"
  dictionary=tests/fuzz/$target.dict
  options=()
  [ -f "$dictionary" ] && options=(-dict="$dictionary")
  # An input that takes long or much memory is a finding, too: a parser's work must be in proportion to its file.
  if build/fuzz/tests/fuzz/fuzz_"$target" "$learnt" "$seeds" -max_total_time="$seconds" \
    -max_len="$(largest_input "$target")" -timeout=10 -rss_limit_mb=1024 -malloc_limit_mb=64 \
    -artifact_prefix="$findings/" -print_final_stats=1 "${options[@]}" > "$log" 2>&1; then
    runs=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
    # A target that ran nothing but its seeds, or nothing at all, has shown nothing.
    if [ "${runs:-0}" -le "$(find "$seeds" -type f | wc -l)" ]; then
      echo "fuzz: $target: only ${runs:-0} inputs ran; see $log" >&2
      failed=1
    else
      echo "fuzz: $target: $seconds s, $runs inputs, no finding"
    fi
  else
    failed=1
    echo "fuzz: $target: a finding; the end of $log:" >&2
    grep -v '^#' "$log" | tail -n 60 >&2
    echo "again with: build/fuzz/tests/fuzz/fuzz_$target $findings/<file>" >&2
  fi
done
exit $failed
