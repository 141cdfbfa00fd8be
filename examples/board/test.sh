#!/usr/bin/env bash
# Three runners share twelve tasks; each is done once, and the script is the one of the manual.
# shellcheck source=/dev/null
source "$(dirname "$0")/../testing.sh"

is 12 "$(./fill | wc -l)" "tasks"
for name in ana bo cy; do setsid ./runner "$name" ./work >/dev/null & runners+=("$!"); done
wait "${runners[@]}"
for runner in "${runners[@]}"; do kill -- "-$runner" 2>/dev/null || true; done  # what slept between heartbeats
is 12 "$(cut -d' ' -f2 done.txt | sort -u | wc -l)" "tasks that were done"
is 12 "$(wc -l < done.txt)" "times that one was done"
is 12 "$(reeve task list --status completed -q | wc -l)" "tasks that are completed"
is "" "$(reeve locks list -q)" "locks that are left"
# shellcheck disable=SC2154
cmp runner <(awk '/^```sh/{on=1;next}/^```/{on=0}on' "$example/../../docs/board.md")
