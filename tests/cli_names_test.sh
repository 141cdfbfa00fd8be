#!/usr/bin/env bash
# Hostile names, ids, completion; cli_names_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/cli_names_test.py" "$@"
