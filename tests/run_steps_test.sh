#!/usr/bin/env bash
# Steps of runs that are real programs; run_steps_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_steps_test.py" "$@"
