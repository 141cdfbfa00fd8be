#!/usr/bin/env bash
# Monitors and crons; run_monitor_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_monitor_test.py" "$@"
