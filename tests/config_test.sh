#!/usr/bin/env bash
# Settings, end to end; config_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/config_test.py" "$@"
