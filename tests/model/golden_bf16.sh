#!/bin/sh
# Runs the delta's golden cases with the bf16 delta they were made with, if MPLUS_PILOT_DELTA names it.
if [ -z "${MPLUS_PILOT_DELTA:-}" ] || [ ! -f "$MPLUS_PILOT_DELTA" ]; then
  echo "SKIPPED: MPLUS_PILOT_DELTA names no file, so the exact comparison with the bf16 delta is not made" >&2
  exit 77
fi
exec "$1" "$2" --delta "$MPLUS_PILOT_DELTA" --nll-tolerance 2e-4
