#!/usr/bin/env bash
# Every example runs as it is. Each has a home of its own and says itself what must be true.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
for test in "$here"/../examples/*/test.sh; do
  basename "$(dirname "$test")"
  bash "$test"
done
