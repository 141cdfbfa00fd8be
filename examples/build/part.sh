#!/usr/bin/env bash
# Stands for a part of a build that needs so many cores; notes when it began and ended.
set -euo pipefail
part=$1
weight=$2
echo "$(date +%s%N) $weight" >> out/use
sleep 0.4
echo "$(date +%s%N) -$weight" >> out/use
echo "$part" > "out/$part"
