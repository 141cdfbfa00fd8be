#!/usr/bin/env bash
# `reeve journal` as a user meets it, and held against a reader that shares no code with it.
set -euo pipefail
here=$(dirname "$(readlink -f "$0")")
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

# expect STATUS OUT ERR WORD...: what `reeve journal` does with these words. Outputs are patterns.
expect() {
  local status=$1 out=$2 err=$3
  shift 3
  local actual_status=0 actual_out actual_err
  actual_out=$("$REEVE" journal "$@" 2>"$scratch/err") || actual_status=$?
  actual_err=$(<"$scratch/err")
  [[ $actual_status == "$status" ]] ||
    fail "reeve journal $*: exit status $actual_status, not $status: $actual_out $actual_err"
  # shellcheck disable=SC2053 # the right-hand sides are patterns
  [[ $actual_out == $out ]] || fail "reeve journal $*: said '$actual_out', not '$out'"
  # shellcheck disable=SC2053
  [[ $actual_err == $err ]] || fail "reeve journal $*: complained '$actual_err', not '$err'"
}

# same DIR: both readers print the same, and more than nothing.
same() {
  "$REEVE" journal cat "$1" --bytes >"$scratch/ours" 2>/dev/null
  python3 "$here/journal_reader.py" "$1" >"$scratch/theirs" 2>/dev/null
  [[ -s $scratch/ours ]] || fail "no records in $1"
  cmp "$scratch/ours" "$scratch/theirs" || fail "the two readers differ on $1"
}

# flip FILE OFFSET: turns a bit around.
flip() {
  python3 - "$1" "$2" <<'END'
import sys
with open(sys.argv[1], "r+b") as file:
    file.seek(int(sys.argv[2]))
    byte = file.read(1)[0]
    file.seek(int(sys.argv[2]))
    file.write(bytes([byte ^ 1]))
END
}

golden=$here/golden/journal
expect 0 '*journal 0102030405060708090a0b0c0d0e0f10*stopped cleanly before record 6' '' info "$golden"
expect 0 '{"success":true,"command":"journal info","data":{"journal":"0102*"clean":true,"files":?{"file":"snapshot-*"segment-*}?}}' '' \
  info "$golden" --json
expect 0 '*segment-000000000001  4 records before 5*starts; no torn tail' '' verify "$golden"
expect 0 '1 1 7 1700000000000 input 00000000000000d1 5 "first"
2 2 7 1700000000000 input 00000000000000d1 6 "second"
3 2 7 1700000000000 input 00000000000000d1 9 "\\\\x00\\\\xff\\\\x5c and \\\\x0a"
4 2 7 1700000000000 input 00000000000000d1 0 ""
5 3 *' '' cat "$golden"
expect 0 '5 3 *' '' cat "$golden" --from 5
expect 0 '{"sequence":5,"group":3,"engine_ms":7,*"payload":"xxx*"}' '' cat "$golden" --from 5 --json
same "$golden"

# A state, down to its chunks.
state=$here/golden/state
expect 0 '*snapshot-00000000000000000003*' '' info "$state"
expect 0 '*starts; no torn tail' '' verify "$state"
python3 "$here/journal_reader.py" "$state" --state >"$scratch/state"
grep -qx 'header format 1' "$scratch/state" || fail "no header of a state"
grep -qE '^part 0 [0-9]+$' "$scratch/state" || fail "no first part of a state"
grep -qxE 'end [0-9a-f]{16}' "$scratch/state" || fail "no end of a state"
if python3 "$here/journal_reader.py" "$golden" --state >/dev/null 2>&1; then
  fail "the reader takes any bytes for a state"
fi

# What a clean stop and a snapshot promise.
broken=$scratch/broken
cp -r "$golden" "$broken"
flip "$broken/segment-000000000002" $((4096 + 60))
expect 1 '*does not start: *stopped cleanly after record 5*' '' verify "$broken"
if python3 "$here/journal_reader.py" "$broken" >/dev/null 2>&1; then fail "clean means nothing"; fi
rm "$broken"/segment-* "$broken/clean"
expect 1 '*does not start: *there is no segment*' '' verify "$broken"
if python3 "$here/journal_reader.py" "$broken" >/dev/null 2>&1; then fail "no segment is needed"; fi

# Words.
expect 2 '' 'journal: look into*'
expect 0 'journal: look into*' '' --help
expect 0 'journal cat: print*usage: reeve journal cat*Examples*' '' cat --help
expect 0 'journal accept: *usage: reeve journal accept*Examples*' '' accept --help
expect 2 '' '*there is no command journal frobnicate*--help*' frobnicate
expect 2 '' '*there is no command journal infoo; did you mean *journal info*' infoo
expect 2 '' '*unknown option --frobnicate*' info --frobnicate
expect 2 '' '*--from wants a whole number, not "x"*' cat --from x
expect 2 '' '*--from wants the sequence of a record, which is 1 or more, not 0*' cat --from 0
expect 2 '' '*--from wants a value*' cat --from
expect 2 '' '*unexpected argument "b"*' cat a b
expect 2 '' '*unknown option --from*' info --from 3
expect 2 '' '*salvage wants --to NEW*' salvage "$golden"
cp -r "$golden" "$scratch/foreign" # its payloads are no inputs, its snapshot is no state
expect 1 '' '*the snapshot ends inside a chunk*' accept "$scratch/foreign" --from 3
diff -r "$golden" "$scratch/foreign" || fail "a refused accept changed the journal"
expect 3 '' '*cannot open the directory /nowhere*' info /nowhere
mkdir "$scratch/empty"
expect 3 '' '*there is no journal in*' verify "$scratch/empty"
mkdir "$scratch/home"
cp -r "$golden" "$scratch/home/journal"
expect 0 '5 3 *' '' cat --home "$scratch/home" --from 5
REEVE_HOME=$scratch/home expect 0 '5 3 *' '' cat --from 5
[[ $("$REEVE" --json --home "$scratch/home" journal info) == '{"success":true,"command":"journal info",'* ]] ||
  fail "global options do not stand before the noun"

# A disk that takes nothing must not look like success.
if "$REEVE" journal cat "$golden" >/dev/full 2>/dev/null; then fail "cat: lost, and no error"; fi

# A journal with segments, snapshots, an unclean end.
live=$scratch/live
mkdir "$live"
"$REEVE_BUILD/journal_driver" run "$live" 200 datasync >/dev/null
same "$live"
python3 "$here/journal_reader.py" "$live" --snapshot >"$scratch/snapshot"
grep -q '^200 0 0 00000000000000c8 3004 200 sss' "$scratch/snapshot" || fail "another snapshot"
timeout 0.3 "$REEVE_BUILD/journal_driver" run "$live" 1000000 datasync >/dev/null || true
expect 0 '*starts*' '*' verify "$live"
same "$live"

# Damage: named, refused, salvaged.
hurt=$scratch/hurt
cp -r "$golden" "$hurt"
rm "$hurt/clean" "$hurt/snapshot-00000000000000000003"
flip "$hurt/segment-000000000001" $((4096 + 64 + 48))
expect 1 '1 1 *' '*segment-000000000001 at offset 4160: the checksum of a record is wrong*' cat "$hurt"
expect 1 '*segment-000000000001 at offset 4160*does not start; *salvage*' '' verify "$hurt"
if python3 "$here/journal_reader.py" "$hurt" >/dev/null 2>&1; then fail "the reader takes damage"; fi
[[ $("$REEVE" journal verify "$hurt" | grep -c 'offset 4160') == 1 ]] || fail "verify repeats itself"
{ "$REEVE" journal verify "$hurt" --json || true; } |
  grep -q '^{"success":false,"command":"journal verify","error":{"code":"DAMAGED",.*"starts":false' ||
  fail "verify --json has no envelope"
expect 0 '*damage: *offset 4160*salvaged 1 records after the beginning, up to record 1*lost: *' \
  "*mv $hurt $hurt.damaged*mv $scratch/rescued $hurt*" salvage "$hurt" --to "$scratch/rescued"
[[ $(stat -c %s "$scratch/rescued/segment-000000000001") == 1048576 ]] || fail "salvage takes much room"
"$REEVE" --json journal salvage "$hurt" --to "$scratch/rescued_json" |
  grep -q '^{"success":true,"command":"journal salvage","data":{"records":1,"base":0,"last":1,"lost":[1-9].*"notes":\["damage: ' ||
  fail "salvage --json has no envelope"
expect 0 '1 1 * first' '' cat "$scratch/rescued" --bytes
expect 0 '*starts*' '' verify "$scratch/rescued"
expect 1 '' '*is not empty*' salvage "$hurt" --to "$scratch/rescued"

# What is rescued starts, also if the snapshot saw more than that.
near=$scratch/near
cp -r "$golden" "$near"
rm "$near/clean"
flip "$near/segment-000000000002" $((4096 + 60))
flip "$near/segment-000000000001" $((4096 + 64 + 64 + 72 + 40))
expect 1 '*does not start*' '' verify "$near"
expect 0 '*salvaged 0 records after snapshot-00000000000000000003, up to record 3*' '*mv *' \
  salvage "$near" --to "$scratch/near_rescued"
expect 0 '*starts; no torn tail' '' verify "$scratch/near_rescued"
python3 "$here/journal_reader.py" "$scratch/near_rescued" --snapshot >"$scratch/near_snapshot"
grep -q '^3 7 1700000000000 0000000000000abc 65 the state' "$scratch/near_snapshot" ||
  fail "salvage wrote another snapshot"

# With the snapshot less is lost: what comes before it is not needed.
cp "$golden/snapshot-00000000000000000003" "$hurt"
expect 1 '*' '*' verify "$hurt"
