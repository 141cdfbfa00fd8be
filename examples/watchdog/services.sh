#!/usr/bin/env bash
# Stands for services: state/NAME says whether one is up, and what brings it back.
set -euo pipefail
case $1 in
  make)
    mkdir -p state
    echo up > state/fine
    echo "down by-nudge" > state/sleepy
    echo "down by-restart" > state/broken
    echo down > state/dead ;;
  list) for file in state/?*; do [[ ! -e $file ]] || printf '{"id":"%s"}\n' "${file#state/}"; done ;;
  is-up) grep -q '^up' "state/$2" ;;
  nudge)
    echo "nudge $2" >> actions.txt
    if grep -q '^down by-nudge' "state/$2"; then echo up > "state/$2"; fi ;;
  restart)
    echo "restart $2" >> actions.txt
    if grep -q '^down by-restart' "state/$2"; then echo up > "state/$2"; fi ;;
esac
