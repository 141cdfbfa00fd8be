#!/usr/bin/env bash
# Steps, guards and machines that misbehave; rough_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/rough_test.py" "$@"
