#!/usr/bin/env bash
# By hand, by the clock, and after the daemon was away.
# shellcheck source=/dev/null
source "$(dirname "$0")/../testing.sh"

reeve cron next nightly -n 3 -q | grep -Eq 'T0[12]:00:00.000Z$'
reeve cron enable nightly >/dev/null
run=$(reeve cron run nightly -q)
reeve wait "$run" --timeout 30s >/dev/null
is 1 "$(find backups -type f | wc -l)" "backups"

reeve cron enable often >/dev/null
has_run() { [[ $(wc -l < runs.txt) -ge $1 ]]; }
until_true 30 has_run 4
is 2 "$(find backups -type f | wc -l | awk '{ print ($1 >= 2 && $1 <= 3) ? 2 : $1 }')" "backups that are kept"

# Away for three instants and more: the latest of them is made up for, and no other.
reeve daemon stop >/dev/null
away=$(date -u +%Y-%m-%dT%H:%M:%S.%3NZ)
sleep 3.5
before=$(wc -l < runs.txt)
reeve cron list | grep -q often
until_true 60 has_run $((before + 1))
since() { # EVENT FIELD: the first that tells of a later time
  reeve events --match "cron:$1" -n 1000 --json | grep '"subject":"often"' |
    sed -n "s/.*\"$2\":\"\([^\"]*\)\".*/\1/p" | awk -v away="$away" '$1 > away && !found { print; found = 1 }'
}
first=$(since missed first) last=$(since missed last) made_up=$(since fired instant)
[[ $first && $first < $last && $last < $made_up ]] ||
  is "two or more that are missed, and the latest" "missed $first to $last, fired $made_up" "after $away"
reeve cron disable often >/dev/null
reeve cron list | grep -Eq '^nightly +enabled'
