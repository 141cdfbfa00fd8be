#!/usr/bin/env bash
# Everything that happened, in SQL; history_test.py says what is promised.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/history_test.py" "$@"
