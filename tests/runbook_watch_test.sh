#!/usr/bin/env bash
# Runbooks that change take effect by themselves; runbook_watch_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/runbook_watch_test.py" "$@"
