#!/bin/bash
# Programs at the limits of the compiler are accepted; those beyond are refused in words that name the limit.
# limits.sh FLC
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# accepts FILE INPUT EXPECTED
accepts() {
  got=$(echo "$2" | "$flc" eval "$1" --after dead 2>&1)
  [ "$got" = "$3" ] && return
  printf 'FAIL %s: expected %s, got:\n%.400s\n' "$1" "$3" "$got"
  failed=1
}

# refuses FILE PATTERN
refuses() {
  got=$("$flc" check "$1" 2>&1)
  status=$?
  [ $status = 1 ] && echo "$got" | grep -q "$2" && return
  printf 'FAIL %s: expected %s and status 1, got %s:\n%.400s\n' "$1" "$2" "$status" "$got"
  failed=1
}

# repeat N TEXT: the text N times
repeat() { awk -v n="$1" -v text="$2" 'BEGIN { for (i = 0; i < n; i++) printf "%s", text }'; }

# Functions that call one another within maps.
chain() {
  echo 'def f0 (x: i32) = x + 1'
  awk -v n="$1" 'BEGIN {
    for (i = 1; i < n; i++)
      printf "def f%d (x: i32) = i32.sum (map f%d (replicate 1 x))\n", i, i - 1
    printf "entry main (x: i32) = f%d x\n", n - 1
  }'
}
chain 250 > chain.fl
accepts chain.fl 1 2i32
too_deep='not supported yet: calls within calls as deep as this ([0-9]* levels)'
(ulimit -s 1024 && refuses chain.fl "$too_deep" && exit $failed) || failed=1

printf 'entry main (x: i32) = %sx + 1%s\n' "$(repeat 220 'i32.sum (map (\x -> ')" \
  "$(repeat 220 ') (replicate 1 x))')" > maps.fl
accepts maps.fl 1 2i32

printf 'entry main (x: i32) = %sx%s\n' "$(repeat 16 'replicate 1 (')" "$(repeat 16 ')')" > rank16.fl
accepts rank16.fl 7 "$(repeat 16 '[')7i32$(repeat 16 ']')"
printf 'entry main (x: i32) = %sx%s\n' "$(repeat 17 'replicate 1 (')" "$(repeat 17 ')')" > rank17.fl
refuses rank17.fl 'not supported yet: arrays of more than 16 dimensions'
printf 'entry main (x: %si32) = x\n' "$(repeat 70 '[]')" > rank70.fl
refuses rank70.fl 'not supported yet: arrays of more than 16 dimensions'
exit $failed
