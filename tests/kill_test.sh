#!/usr/bin/env bash
# The examples while the daemon is killed again and again; kill_test.py says what it does.
# REEVE_KILLS=100 for a hundred kills an example, REEVE_SEED=N for the moments of another run.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/kill_test.py" "$@"
