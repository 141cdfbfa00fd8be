#!/usr/bin/env bash
# Six bugs: four are small, one is flaky, one is hard and ends as a dead letter after three attempts.
# shellcheck source=/dev/null
source "$(dirname "$0")/../testing.sh"

reeve worker start bugfix >/dev/null
for bug in 1 2 3 4; do reeve run report "$bug" "small $bug" -q >/dev/null; done
reeve run report 5 "flaky thing" --priority 5 -q >/dev/null
reeve run report 6 "hard thing" -q >/dev/null

all_ended() { [[ $(wc -l < .reeve/fixed.txt) == 5 && $(reeve queue list bugs_dead -q | wc -l) == 1 ]]; }
until_true 60 all_ended
is "1 2 3 4 5" "$(sort .reeve/fixed.txt | xargs)" "fixed"
is "1 1 1 1 2 3" "$(sort .reeve/tried.txt | uniq -c | awk '{ print $1 }' | xargs)" "attempts"
is 5 "$(reeve queue stats bugs --json | sed 's/.*"completed":\([0-9]*\).*/\1/')" "completed"
dead=$(reeve queue list bugs_dead -q)
reeve queue show bugs_dead "$dead" | grep -q 'no idea'

# Another chance: three attempts more.
reeve queue redrive bugs_dead --all >/dev/null
has_been_tried() { [[ $(grep -c '^6$' .reeve/tried.txt) == "$1" && $(reeve queue list bugs_dead -q | wc -l) == 1 ]]; }
until_true 60 has_been_tried 6
reeve worker stop bugfix | grep -q stopped
