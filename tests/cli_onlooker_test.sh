#!/usr/bin/env bash
# Followers, sockets, named processes; cli_onlooker_test.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/cli_onlooker_test.py" "$@"
