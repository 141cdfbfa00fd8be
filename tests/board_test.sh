#!/usr/bin/env bash
# The board as its users meet it; board_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/board_test.py" "$@"
