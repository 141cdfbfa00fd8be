#!/usr/bin/env bash
# Many processes of the command line at once; cli_crowd_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/cli_crowd_test.py" "$@"
