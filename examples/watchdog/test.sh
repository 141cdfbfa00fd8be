#!/usr/bin/env bash
# One service is up, one needs a nudge, one a restart, and one is beyond help.
# shellcheck source=/dev/null
source "$(dirname "$0")/../testing.sh"

./services.sh make
reeve cron enable watchdog >/dev/null

until_true 60 grep -qx 'dead is down' told.txt
until_true 10 grep -q up state/broken
reeve cron disable watchdog >/dev/null
grep -q up state/sleepy
is "1 nudge broken, 1 nudge dead, 1 nudge sleepy, 1 restart broken, 2 restart dead" \
  "$(sort actions.txt | uniq -c | awk '{ print $1, $2, $3 }' | paste -sd, | sed 's/,/, /g')" "what was done"
is 1 "$(wc -l < told.txt)" "told once"
