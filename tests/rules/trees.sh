#!/bin/sh
# Compares drawings of version trees with those in tests/rules/trees.   usage: trees.sh FLC [--write]
flc=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
status=0
for expected in tests/rules/trees/*.txt; do
  name=$(basename "$expected" .txt)
  program=benchmarks/$name.fl
  [ -f "$program" ] || program=tests/rules/$name.fl
  if [ "$2" = --write ]; then
    "$flc" tree "$program" > "$expected" 2> /dev/null
  elif ! "$flc" tree "$program" 2> /dev/null | diff -u "$expected" -; then
    echo "the tree of $program differs from $expected"
    status=1
  fi
done
exit $status
