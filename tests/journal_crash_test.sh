#!/usr/bin/env bash
# The crash matrix of the journal on the real file system; journal_crash.py says what it does.
set -euo pipefail
# LeakSanitizer cannot work beside strace.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
here=$(dirname "$(readlink -f "$0")")
exec python3 "$here/journal_crash.py" "$REEVE_BUILD/journal_driver" "$@"
