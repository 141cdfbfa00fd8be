#!/usr/bin/env bash
# Runbooks as people and scripts meet them; runbook_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/runbook_test.py" "$@"
