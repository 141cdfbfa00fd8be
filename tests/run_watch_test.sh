#!/usr/bin/env bash
# Who waits for runs and who follows them; run_watch_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/run_watch_test.py" "$@"
