#!/usr/bin/env bash
# `reeve journal` and `reeve backup` beside a daemon; journal_home_test.py says what they do.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/journal_home_test.py" "$@"
