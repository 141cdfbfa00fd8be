#!/usr/bin/env bash
# Two clients race for one lock; lock_race_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/lock_race_test.py" "$@"
