#!/usr/bin/env bash
# The example with every part of a runbook, run as it is; run_full_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_full_test.py" "$@"
