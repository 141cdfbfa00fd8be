#!/usr/bin/env bash
# What is asked for in odd ways; cli_edges_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/cli_edges_test.py" "$@"
