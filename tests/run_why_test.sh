#!/usr/bin/env bash
# Why a run does not move, on one screen; run_why_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_why_test.py" "$@"
