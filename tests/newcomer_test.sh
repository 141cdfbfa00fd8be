#!/usr/bin/env bash
# The five minutes of docs/runbooks.md, as they are written there; newcomer_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/newcomer_test.py" "$@"
