#!/bin/sh
# On CPUs a group is one item.  Where there are fewer than cores, by default only little work is
# left to them.
# few-groups.sh FLC
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

cat > rows.fl << 'E2'
entry main [n] [m] (rows: [n][m]f32) : [n][m]f32 =
  map (\row -> let sums = scan (+) 0 row let most = f32.maximum sums in map (/ most) sums) rows
E2
"$flc" build rows.fl -o rows || exit 1
"$flc" data -b -g '[1][1000]f32' > short.in
"$flc" data -b -g '[1][1000000]f32' > long.in
if ./rows --log -b < short.in 2>&1 > /dev/null | grep -q 'top_0: par 1, threshold 1,'; then
  echo "the device has one core: skipped"
  exit 77
fi

decides() { # WHAT INPUT DECISION OPTIONS..
  what=$1 input=$2 decision=$3
  shift 3
  ./rows --log -b "$@" < "$input" 2> log > out || { cat log; failed=1; }
  if ! grep -q "guard main.intra_1: .*: $decision\$" log; then
    echo "$what: expected that the groups are $decision"
    grep guard log
    failed=1
  fi
}
decides 'little work' short.in taken
decides 'much work' long.in 'not taken'
cp out flat
decides 'much work, and a threshold' long.in taken --param main.intra_1=2
"$flc" data --compare out flat || failed=1
decides 'much work, and one threshold for all' long.in taken --default-threshold 2
decides 'little work, and a threshold' short.in 'not taken' --param main.intra_1=2000
exit $failed
