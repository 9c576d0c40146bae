#!/bin/bash
# The second command: builds everything and runs every check the project has; ends non-zero if one of them fails.
# With CI=true a missing model, or no test with label `model` having run, is a failure too.
set -uo pipefail
usage="usage: scripts/test.sh [--quick | --all]
  --quick  release build and its tests only
  --all    also the suite under ThreadSanitizer, and clang-tidy
environment: CI=true             nothing may be missing
             MPLUS_TEST_MINUTES  on a machine with a limit: parts at the end that would go over it are left out, and named
             MPLUS_FUZZ_SECONDS  time for each fuzz target (default 15)"
here=$(cd "$(dirname "$0")/.." && pwd)
cd "$here" || exit 1

extent=normal
case "${1:-}" in
  "") ;;
  --quick) extent=quick ;;
  --all) extent=all ;;
  -h | --help) echo "$usage"; exit 0 ;;
  *) echo "$usage" >&2; exit 2 ;;
esac

jobs=$(nproc)
ci=${CI:-false}
summary=()
failures=0
mkdir -p build/test-logs
touch build/test-logs/started

# check NAME COMMAND…: runs it, notes outcome and time; later checks run whatever the outcome.
check() {
  local name=$1 started=$SECONDS outcome=passed
  shift
  printf '\n== %s\n' "$name"
  if ! "$@"; then
    outcome=FAILED
    failures=$((failures + 1))
  fi
  summary+=("$(printf '%-46s %-6s %5d s' "$name" "$outcome" $((SECONDS - started)))")
  [ "$outcome" = passed ]
}

# time_for NAME MINUTES: whether a part that takes about so long still fits; if not, the summary says so.
time_for() {
  if [ -z "${MPLUS_TEST_MINUTES:-}" ] || [ $((SECONDS / 60 + $2)) -le "$MPLUS_TEST_MINUTES" ]; then return 0; fi
  echo "WARNING: $1: left out, $((SECONDS / 60)) of $MPLUS_TEST_MINUTES minutes are over." >&2
  summary+=("$(printf '%-46s SKIPPED: no time left' "$1")")
  return 1
}

# Files that include the same libraries are compiled a dozen at a time: half the time where nothing is in a cache.
together=(-DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12)

build() { # PRESET [CMAKE OPTION…]
  local preset=$1
  shift
  cmake --preset "$preset" "${together[@]}" -DMPLUS_TESTS=ON -DMPLUS_WERROR=ON && cmake --build --preset "$preset" -j "$jobs" "$@"
}

build_trainer() { # its tests hold it against the mplus of the release build
  cmake --preset train "${together[@]}" -DMPLUS_TESTS=ON -DMPLUS_WERROR=ON -DMPLUS_TEST_PROGRAM="$here/build/release/cli/mplus" &&
    cmake --build --preset train -j "$jobs" --target train_test train_model_test train_processes_test mplus-train
}

run_tests() { # PRESET LABELS [CTEST OPTION…]: all but tests with one of these labels
  local preset=$1 without=$2
  shift 2
  ctest --preset "$preset" -LE "^($without)\$" -j "$jobs" --output-junit "$here/build/test-logs/$preset.xml" "$@" 2>&1 |
    tee "build/test-logs/$preset.log"
}

build_and_test() { # PRESET TITLE LABELS [CTEST OPTION…]
  local preset=$1 title=$2
  shift 2
  check "$title: build" build "$preset" && check "$title: tests" run_tests "$preset" "$@"
}

# The engine does without torch, so a server that does not give it away is no reason to fail.
test_trainer() {
  if scripts/fetch_torch.sh; then
    check "trainer: build" build_trainer && check "trainer: tests" run_tests train long
  else
    echo "WARNING: no libtorch, so the trainer is neither built nor tested." >&2
    summary+=("trainer                                        SKIPPED: no libtorch")
  fi
}

fetch_model() {
  scripts/fetch_model.sh && return
  [ "$ci" = true ] && return 1
  echo "WARNING: no model, so the tests with label \`model\` are skipped." >&2
}

model_tests_ran() {
  local count
  count=$(python3 scripts/count_model_tests.py build/release build/test-logs/release.xml) || return 1
  echo "$count tests with label \`model\` ran."
  [ "$count" -gt 0 ] || [ "$ci" != true ]
}

check "packages" scripts/install_packages.sh build train test || exit 1
check "default model" fetch_model
build_and_test release "release (g++)" "long|gpu"
check "model tests ran" model_tests_ran
if [ "$extent" != quick ]; then
  check "format" scripts/check_format.sh
  check "size of the tree" python3 scripts/check_tree.py --self-test
  check "functions" python3 scripts/check_functions.py --self-test
  check "rooms" python3 scripts/check_rooms.py --self-test
  check "documents" python3 scripts/check_docs.py --self-test --program build/release/cli/mplus
  # By clang: another compiler's warnings, and half the time to build. Tests of the model and of the whole program take
  # minutes each there, and the release run has them; the program's own files are only read for warnings.
  check "ASan + UBSan (clang): build" \
    build asan --target test_programs mplus-golden fuzzers mplus_precompiled_programs mplus_commit &&
    check "ASan + UBSan: tests" run_tests asan "long|slow|model|cli|python|eval"
  check "clang's warnings of the programs" python3 scripts/clang_warnings.py build/asan mplus/cli tools
  if time_for "trainer" 18; then test_trainer; fi
  time_for "fuzzing" 6 && check "fuzzing" scripts/fuzz.sh "${MPLUS_FUZZ_SECONDS:-15}"
fi
if [ "$extent" = all ]; then
  build_and_test tsan "TSan" "long|model|slow" # half an hour
  check "clang-tidy" python3 scripts/tidy.py build/asan build/train
fi

printf '\n== Summary\n'
printf '%s\n' "${summary[@]}"
for preset in asan tsan release; do # the plain run last: its lines end the report
  log=build/test-logs/$preset.log
  if [ -f "$log" ] && [ "$log" -nt build/test-logs/started ]; then
    printf '\n%s\n' "ctest, preset $preset:"
    grep -E 'tests passed|tests failed|Total Test time|The following tests' "$log"
  fi
done
if [ "$failures" -gt 0 ]; then
  printf '\n%d of %d checks FAILED\n' "$failures" "${#summary[@]}"
  exit 1
fi
skipped=$(printf '%s\n' "${summary[@]}" | grep -c SKIPPED)
if [ "$skipped" -gt 0 ]; then
  printf '\nAll %d checks that ran passed, %d left out\n' $((${#summary[@]} - skipped)) "$skipped"
else
  printf '\nAll %d checks passed\n' "${#summary[@]}"
fi
