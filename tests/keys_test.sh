#!/usr/bin/env bash
# Every key of a runbook once, end to end; keys_test.py says what it does. Agents stand still for a
# while before anybody minds, so the others do not wait for them.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
if (($#)); then exec python3 "$here/keys_test.py" "$@"; fi
python3 "$here/keys_test.py" Agents &
agents=$!
code=0
python3 "$here/keys_test.py" Commands Phases Pipelines Strategies Queues Crons Holds Watching Words Everything || code=1
wait "$agents" || code=1
exit "$code"
