#!/usr/bin/env bash
# The program as people and scripts meet it; cli_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/cli_test.py" "$@"
