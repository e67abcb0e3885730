#!/bin/bash
set -e
for file in texts/*.txt; do
  printf '%s\t%d\n' "$(basename "$file" .txt)" "$(wc -w < "$file")"
done | sort -t "$(printf '\t')" -k2,2nr -k1,1 > counts.tsv
