#!/usr/bin/env bash
# Stands for the work on one item; notes when it began and ended.
set -euo pipefail
echo "$(date +%s%N) 1" >> use.txt
mkdir -p out
echo "small $(basename "$1")" > "out/$(basename "$1")"
echo "$(date +%s%N) -1" >> use.txt
