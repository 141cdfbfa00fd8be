#!/usr/bin/env bash
# What runs of a runbook have around them; hands_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/hands_test.py" "$@"
