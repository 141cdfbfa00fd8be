#!/usr/bin/env bash
# What one sees of runs: who waits for whom, and what those within a run do; run_look_test.py says
# what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_look_test.py" "$@"
