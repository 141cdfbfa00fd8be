#!/usr/bin/env bash
# The beanstalkd door beside the original; beanstalk_conversations.py says what it does.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/beanstalk_conversations.py" "$@"
