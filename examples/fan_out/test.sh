#!/usr/bin/env bash
# 200 files, never more than eight at a time, each exactly once, though the daemon is killed on the way.
# shellcheck source=/dev/null
source "$(dirname "$0")/../testing.sh"

mkdir pictures
for i in $(seq 200); do echo "picture $i" > "pictures/$i.png"; done
run=$(reeve run resize pictures/*.png -q)
is_halfway() { [[ $(wc -l < use.txt) -ge 40 ]]; }
until_true 30 is_halfway
kill -9 "$(reeve daemon status --json | sed 's/.*"pid":\([0-9]*\).*/\1/')"
reeve wait "$run" --timeout 120s >/dev/null
is 200 "$(wc -l < index.txt)" "results"
is 200 "$(grep -c ' 1$' use.txt)" "runs"
most=$(sort -n use.txt | awk '{ use += $2; if (use > most) most = use } END { print most }')
((most <= 8)) || is "at most 8" "$most" "at a time"
