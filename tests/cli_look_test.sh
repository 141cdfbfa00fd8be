#!/usr/bin/env bash
# What people look at; cli_look_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/cli_look_test.py" "$@"
