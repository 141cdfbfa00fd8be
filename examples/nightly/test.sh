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

# Away for three instants, of which the latest is made up for.
reeve daemon stop >/dev/null
sleep 3
before=$(wc -l < runs.txt)
reeve cron list | grep -q often
until_true 30 has_run $((before + 1))
reeve cron disable often >/dev/null
reeve cron list | grep -Eq '^nightly +enabled'
