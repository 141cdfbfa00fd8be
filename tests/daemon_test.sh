#!/usr/bin/env bash
# The daemon as its clients meet it: tests/daemon_test.py against the program itself.
set -euo pipefail
exec python3 -B "$(dirname "$0")/daemon_test.py" "$@"
