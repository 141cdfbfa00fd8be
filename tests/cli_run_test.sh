#!/usr/bin/env bash
# lock run, sem run and queue work; cli_run_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/cli_run_test.py" "$@"
