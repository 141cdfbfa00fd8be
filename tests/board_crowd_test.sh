#!/usr/bin/env bash
# Ten runners, a thousand tasks, and kill -9; board_crowd_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/board_crowd_test.py" "$@"
