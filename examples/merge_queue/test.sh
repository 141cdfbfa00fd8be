#!/usr/bin/env bash
# Seven branches: one fast-forwards, three are rebased, of two that add to the same notes the later
# one is resolved by the script, and one conflicts so that a person has to mend it.
# shellcheck source=/dev/null
source "$(dirname "$0")/../testing.sh"

git init --quiet --initial-branch=main
git config user.name Ana
git config user.email ana@example.org
printf 'one\n' > notes.txt
printf 'int main() { return 0; }\n' > main.c
git add .
git commit --quiet -m first
git checkout --quiet -b desk

branch() { # NAME FILE TEXT
  git checkout --quiet -b "$1" "${4:-main}"
  printf '%s\n' "$3" >> "$2"
  git add "$2"
  git commit --quiet -m "$1"
  git checkout --quiet desk
}
branch ff a.txt a
branch rebase-1 b.txt b
branch rebase-2 c.txt c
branch notes-1 notes.txt "two of notes-1"
branch notes-2 notes.txt "two of notes-2"
branch clash main.c "// of clash"
git checkout --quiet -b other main
printf '// of other\n' >> main.c
git commit --quiet -am other
git checkout --quiet desk

# Which ways the strategy of a branch's run has tried, in order.
way() { # BRANCH
  local run
  for run in $(reeve pipeline list -q); do
    reeve pipeline show "$run" --json | grep -q "\"branch\":\"$1\"" || continue
    reeve events --json -n 1000 --match strategy:attempt | grep "\"pipeline\":\"$run\"" |
      grep -o '"approach":"[^"]*"' | cut -d '"' -f 4 | xargs
  done
}

reeve worker start merger >/dev/null
for name in ff rebase-1 rebase-2 notes-1 notes-2 other clash; do
  reeve run merge "$name" -q >/dev/null
done

all_but_one() { [[ $(reeve decision list -q | wc -l) == 1 && $(wc -l < .reeve/merged.txt) == 6 ]]; }
until_true 60 all_but_one
is "ff notes-1 notes-2 other rebase-1 rebase-2" "$(sort .reeve/merged.txt | xargs)" "merged"
is "fast-forward" "$(way ff)" "the way of ff"
for name in rebase-1 rebase-2 other; do
  is "fast-forward rebase" "$(way "$name")" "the way of $name"
done
is "fast-forward rebase,fast-forward rebase resolve" \
  "$( (way notes-1 && way notes-2) | sort | paste -sd ,)" "the ways of the notes"
is "fast-forward rebase resolve" "$(way clash)" "the way of clash"
is 2 "$(git show main:notes.txt | grep -c '^two of')" "lines of both sides"

# A person mends the branch, and the answer resumes the run.
git checkout --quiet clash
git rebase --quiet main >/dev/null 2>&1 || true
printf 'int main() { return 0; }\n// of other\n// of clash\n' > main.c
git add main.c
GIT_EDITOR=true git rebase --continue >/dev/null
git checkout --quiet desk
decision=$(reeve decision list -q)
reeve decision show "$decision" | grep -q 'conflict in main.c: that needs a person'
run=$(reeve pipeline list --active -q)
reeve decision resolve "$decision" --choice retry >/dev/null
reeve wait "$run" --timeout 60s >/dev/null
is "fast-forward rebase resolve fast-forward" "$(way clash)" "the way of clash, mended"
is 1 "$(git show main:main.c | grep -c 'of clash')" "the mended branch in main"
is 7 "$(wc -l < .reeve/merged.txt)" "announced once each"
is 0 "$(reeve queue stats merges --json | grep -c '"dead":[1-9]')" "dead items"
