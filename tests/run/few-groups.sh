#!/bin/sh
# On CPUs a group is one item.  Where there are fewer than cores, by default only little work is
# left to them.  Where the last version is but sums of columns, which fill all lanes, it comes by
# default before an item for each of few columns.
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

decides() { # WHAT INPUT DECISION OPTIONS..; of the guard $guard of $program
  what=$1 input=$2 decision=$3
  shift 3
  "./$program" --log -b "$@" < "$input" 2> log > out || { cat log; failed=1; }
  if ! grep -q "guard main.$guard: .*: $decision\$" log; then
    echo "$what: expected that $guard is $decision"
    grep guard log
    failed=1
  fi
}
program=rows guard=intra_1
decides 'little work' short.in taken
decides 'much work' long.in 'not taken'
cp out flat
decides 'much work, and a threshold' long.in taken --param main.intra_1=2
"$flc" data --compare out flat || failed=1
decides 'much work, and one threshold for all' long.in taken --default-threshold 2
decides 'little work, and a threshold' short.in 'not taken' --param main.intra_1=2000

cat > sums.fl << 'E2'
entry main [n] [m] (xss: [n][m]f32) : [m]f32 = map f32.sum (transpose xss)
E2
cat > scaled.fl << 'E2'
entry main [n] [m] (xss: [n][m]f32) : [n][m]f32 =
  transpose (map (\xs -> let s = f32.sum xs in map (/ s) xs) (transpose xss))
E2
cat > means.fl << 'E2'
entry main [n] [m] (xss: [n][m]f32) : [m]f32 =
  map (\xs -> let mean = f32.sum xs / f32.i64 n
              in f32.sqrt (f32.sum (map (\x -> (x - mean) * (x - mean)) xs))) (transpose xss)
E2
cat > behind.fl << 'E2'
entry main [k] [n] [m] (xsss: [k][n][m]f32) : [k][m]f32 =
  map (\xss -> let w = loop w = xss[0, 0] for _i < 5 do w * w - 0.5
               in map (\xs -> f32.sum (map (* w) xs)) (transpose xss)) xsss
E2
for name in sums means scaled behind; do "$flc" build "$name.fl" -o "$name" || exit 1; done
"$flc" data -b -g '[20000][9]f32' > few.in
"$flc" data -b -g '[200][9]f32' > small.in
"$flc" data -b -g '[9][2000][7]f32' > cubes.in
program=sums guard=top_0
decides 'few columns' few.in 'not taken'
decides 'few columns, and one threshold for all' few.in taken --default-threshold 2
guard=intra_1
decides 'few columns, much work' few.in 'not taken'
decides 'few columns, little work' small.in taken
program=means guard=top_0
decides 'sums, and what is made of them' few.in 'not taken'
program=scaled
decides 'more than sums' few.in taken
program=behind
decides 'sums behind what takes long' cubes.in taken
exit $failed
