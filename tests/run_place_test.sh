#!/usr/bin/env bash
# Which runbooks are read and where they run; run_place_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_place_test.py" "$@"
