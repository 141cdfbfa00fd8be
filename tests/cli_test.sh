#!/usr/bin/env bash
# The program as a user meets it. $REEVE is the binary, $REEVE_VERSION the version it should be.
set -euo pipefail

fail() {
  printf '%s\n' "$*" >&2
  exit 1
}

# expect STATUS STDOUT STDERR WORD...: what reeve does with these words. Outputs are patterns.
expect() {
  local status=$1 out=$2 err=$3
  shift 3
  local actual_status=0 actual_out actual_err
  actual_out=$("$REEVE" "$@" 2>"$scratch/err") || actual_status=$?
  actual_err=$(<"$scratch/err")
  [[ $actual_status == "$status" ]] || fail "reeve $*: exit status $actual_status, not $status"
  # shellcheck disable=SC2053 # the right-hand sides are patterns
  [[ $actual_out == $out ]] || fail "reeve $*: said '$actual_out', not '$out'"
  # shellcheck disable=SC2053
  [[ $actual_err == $err ]] || fail "reeve $*: complained '$actual_err', not '$err'"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT

expect 0 "reeve $REEVE_VERSION" '' --version
expect 0 "reeve $REEVE_VERSION, a durable local coordinator*" '' --help
expect 0 "reeve $REEVE_VERSION, a durable local coordinator*" '' -h
expect 2 '' 'reeve*usage:*'
expect 2 '' 'reeve: unknown command lock*--help*' lock acquire
expect 2 '' 'reeve: unknown option --frobnicate*' --frobnicate
expect 2 '' 'reeve: unexpected argument now*' --version now

# A disk that takes nothing must not look like success.
if "$REEVE" --version >/dev/full 2>/dev/null; then fail "reeve --version: lost, and no error"; fi
