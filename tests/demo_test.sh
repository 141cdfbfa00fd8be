#!/usr/bin/env bash
# The demo keeps its promises, in 80 columns, and leaves nothing behind.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
shown=$(REEVE_DEMO_PACE=0 "$here/../demo/merge_queue" "$REEVE")
for words in 'friendly  is in main' 'prices    is in main' 'german      no: conflict in greeting.txt' 'merge done'; do
  if [[ $shown != *"$words"* ]]; then
    printf '%s\n\nit did not show: %s\n' "$shown" "$words" >&2
    exit 1
  fi
done
if wide=$(grep -nE '.{80}' <<<"$shown"); then
  printf 'wider than 79 columns: %s\n' "$wide" >&2
  exit 1
fi
[[ -z $(ls -A "$TMPDIR") ]]
