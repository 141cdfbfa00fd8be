#!/usr/bin/env bash
# Runs as people and scripts meet them; run_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_test.py" "$@"
