# shellcheck shell=bash
# What the tests of the examples share. Source it first: it copies the example into a folder of its
# own, with a home of its own, goes there, and leaves nothing behind.
set -euo pipefail

example=$(cd "$(dirname "${BASH_SOURCE[1]}")" && pwd)
base=$(mktemp -d "${TMPDIR:-/tmp}/reeve-example-XXXXXX")
base=$(cd "$base" && pwd -P)
mkdir "$base/bin"
ln -s "$(readlink -f "${REEVE:-$(command -v reeve)}")" "$base/bin/reeve"
export PATH="$base/bin:$PATH" REEVE_HOME="$base/home" LC_ALL=C.UTF-8
unset REEVE_PROJECT REEVE_SOCKET REEVE_HOLDER REEVE_PIPELINE REEVE_AGENT

finish() {
  local code=$?
  if ((code != 0)); then
    echo "FAILED: $example (line ${failed_at:-?})" >&2
    reeve status >&2 || true
    reeve pipeline list >&2 || true
    tail -n 20 "$base/home/logs"/*/*.log >&2 2>/dev/null || true
  fi
  reeve daemon stop --kill >/dev/null 2>&1 || true
  cd /
  rm -rf "$base"
  exit "$code"
}
trap 'failed_at=$LINENO' ERR
trap finish EXIT

cp -r "$example" "$base/work"
cd "$base/work"
if [[ -d .reeve ]]; then reeve runbook check >/dev/null; fi

# until_true SECONDS COMMAND...: until the command succeeds.
until_true() {
  local end=$((SECONDS + $1))
  shift
  until "$@" >/dev/null 2>&1; do
    if ((SECONDS >= end)); then
      echo "it did not happen: $*" >&2
      return 1
    fi
    sleep 0.1
  done
}

# is WANTED FOUND WHAT
is() {
  [[ $1 == "$2" ]] && return
  echo "$3: expected $1, found $2" >&2
  return 1
}
