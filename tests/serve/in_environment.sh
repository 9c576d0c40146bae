#!/bin/sh
# Runs Python in the environment of the clients; 77, which is skipped, where there is none.
[ -x "$MPLUS_SERVE_ENVIRONMENT/bin/python" ] || { echo "SKIPPED: no environment with the clients"; exit 77; }
exec "$MPLUS_SERVE_ENVIRONMENT/bin/python" "$@"
