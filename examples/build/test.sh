#!/usr/bin/env bash
# All parts are there, and never more than four cores were in use.
# shellcheck source=/dev/null
source "$(dirname "$0")/../testing.sh"

reeve run build --wait --timeout 60s >/dev/null
is "compile docs lint assets" "$(xargs < out/package)" "the package"
most=$(sort -n out/use | awk '{ use += $2; if (use > most) most = use } END { print most }')
((most <= 4)) || is "at most 4" "$most" "cores in use"
((most >= 3)) || is "at least 3" "$most" "cores in use"

# A part that fails fails the build.
sed -i 's|./part.sh lint 1|exit 7|' .reeve/runbooks/build.toml
code=0
reeve run build --wait --timeout 60s >/dev/null || code=$?
is 1 "$code" "the exit code of a build with a part that fails"
[[ ! -e out/package ]]
[[ -e out/assets ]]
