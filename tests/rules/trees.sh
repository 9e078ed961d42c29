#!/bin/sh
# Compares drawings of version trees with those in tests/rules/trees (NAME.workers.txt: of the program for several
# workers).   usage: trees.sh FLC [--write]
flc=$(realpath "$1")
cd "$(dirname "$0")/../.." || exit 1
status=0
for expected in tests/rules/trees/*.txt; do
  name=$(basename "$expected" .txt)
  option=
  case $name in *.workers) name=${name%.workers} option=--workers ;; esac
  program=benchmarks/$name.fl
  [ -f "$program" ] || program=tests/rules/$name.fl
  if [ "$2" = --write ]; then
    "$flc" tree $option "$program" > "$expected" 2> /dev/null
  elif ! "$flc" tree $option "$program" 2> /dev/null | diff -u "$expected" -; then
    echo "the tree of $program differs from $expected"
    status=1
  fi
done
exit $status
