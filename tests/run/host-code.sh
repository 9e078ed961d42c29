#!/bin/sh
# What the code of the host does, and leaves to kernels.  host-code.sh FLC
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# expect WHAT WANTED FOUND
expect() {
  [ "$2" = "$3" ] && return
  echo "$1: expected $2, found $3"
  failed=1
}

# The code of the host of a program, for cpu or gpu.
host() { "$flc" dump --after imp --code "$1" "$2" | sed '/^kernel/,$d'; }

cat > deviation.fl <<'F'
entry main (xs: []f32) : []f32 =
  let n = f32.i64 (length xs)
  let mean = f32.sum xs / n
  let deviation = f32.sqrt (f32.sum (map (\x -> (x - mean) * (x - mean)) xs) / n)
  in map (\x -> (x - mean) / deviation) xs
F
cat > total.fl <<'F'
entry main (xs: []f32) : (f32, []f32) =
  let total = f32.sum xs
  in (total, map (/ total) xs)
F
for code in cpu gpu; do
  expect "reads of scalars that only kernels need ($code)" 0 "$(host $code deviation.fl | grep -c ' = read ')"
  expect "reads of a scalar that is a result ($code)" 1 "$(host $code total.fl | grep -c ' = read ')"
done

cat > positions.fl <<'F'
entry main [n] (xs: [n]i64) : []i64 = map2 (+) (iota n) xs
F
for code in cpu gpu; do
  expect "launches of a map over positions ($code)" 1 "$(host $code positions.fl | grep -c 'launch ')"
done

cat > rounds.fl <<'F'
entry main (n: i64) (xs: [100]f32) : [100]f32 =
  loop ys = xs for _i < n do map (\i -> ys[i] + ys[i64.max 0 (i - 1)]) (iota 100)
F
expect "arrays that trade places" 1 "$("$flc" dump --recipes rounds.fl | grep -c 'alloc .*: \[2\]\[100\]f32')"

# Columns of narrow matrices go in lanes, in each kernel that may run them: side by side in memory.
cat > columns.fl <<'F'
entry main [n] [m] (xss: [n][m]f32) : [n][m]f32 = transpose (map (scan (+) 0) (transpose xss))
F
"$flc" dump --recipes columns.fl > columns.txt
for lanes in 16 4; do
  expect "kernels for $lanes columns, cut into chunks" 2 "$(grep -A 1 '^ *permute chunks m' columns.txt | grep -c "split m by $lanes overlap")"
  [ "$(grep -B 3 -e "-- if $lanes <= m" columns.txt | grep -v chunks | grep -c "split m by $lanes overlap")" -ge 3 ] ||
    expect "kernels for $lanes columns" "3 or more" fewer
done

# Kernels that loop for as long as memory says stop if an earlier one has failed; others need not ask.
cat > wild.fl <<'F'
entry main (n: i64) (k: i64) (xs: []i64) : []i64 =
  let counts = scan (+) 0 (map (\i -> xs[i + k]) (iota n))
  in map (\c -> loop s = 0 for i < c do s * 3 + c) counts
F
sed 's/for i < c do/for i < n do/' wild.fl > tame.fl
for program in wild tame; do
  "$flc" lib $program.fl -o $program || failed=1
done
heeding() { grep -c 'if (flc_failed(flc_error)) return;' "$1"; }
[ "$(heeding wild.c)" -gt "$(heeding tame.c)" ] || expect "kernels that heed failures" "more in wild.c" "as many"

# What is launched after the same outcomes of guards is compiled in one program, what differs is not.
cat > nests.fl <<'F'
def sums (xss: [][]f32) : []f32 = map (reduce (+) 0) xss
entry main (xss: [][]f32) : []f32 = map2 (/) (sums xss) (sums (transpose xss) |> scan f32.max 0)
F
"$flc" lib nests.fl -o nests || failed=1
programs=$(sed -n '/program_kernels\[\]/,/^};/s/.*, \([0-9]*\), [^,]*, [^,]*, [^,]* },$/\1/p' nests.c | sort -u | wc -l)
kernels=$(sed -n '/program_kernels\[\]/,/^};/s/.*, \([0-9]*\), [^,]*, [^,]*, [^,]* },$/\1/p' nests.c | wc -l)
if [ "$kernels" -lt 10 ] || [ "$programs" -gt $((kernels / 3)) ]; then
  expect "programs of $kernels kernels" "a third as many at most" "$programs"
fi
# Code that mostly launches many kernels is a table, in which loops that only compute are functions, which may fail;
# what launches few, has loops that read arrays beside less than a hundred launches, or is for several workers, is
# statements.
cat > table.fl <<'F'
def step [n] (xs: [n]i32) : [n]i32 = scan (+) 0 (map (^ i32.sum xs) xs)
entry main [n] (xs: [n]i32) : [n]i32 = step (step (step (step xs)))
F
cat > few.fl <<'F'
entry main (xs: []i32) : []i32 = map (+ 1) xs
F
sed 1q table.fl > computes.fl
cat >> computes.fl <<'F'
entry main [n] (m: i64) (xs: [n]i32) : i32 =
  let s = i32.sum (step (step (step (step xs))))
  in loop s for i < m do s * 3 ^ (s >> 7) + i32.i64 i
F
sed 's/s \* 3/s % (i32.i64 i - 5)/' computes.fl > fails.fl
# reads COUNT: that many scans beside a loop that reads.
reads() {
  echo 'entry main [n] (a: []i32) (b: []i32) (xs: [n]i32) : ([]i32, []i32) ='
  echo '  let ys = loop ys = a while ys[0] < 3 do if ys[1] > 0 then b else a'
  for i in $(seq "$1"); do echo "  let xs = scan (+) $i xs"; done
  echo '  in (ys, xs)'
}
reads 60 > reads.fl
reads 10 > reads-few.fl
for program in table few computes fails reads reads-few; do
  "$flc" lib $program.fl -o $program || failed=1
done
"$flc" lib --workers table.fl -o workers || failed=1
tables() { grep -c '^static const int32_t script_main_' "$1"; }
expect "tables of code that launches" 2 "$(tables table.c)"
expect "tables of code that launches once" 0 "$(tables few.c)"
expect "tables of code that computes" 2 "$(tables computes.c)"
expect "loops that are functions beside a table" 1 \
  "$(sed -n '/^static int value_main_cpu_/,/^}/p' computes.c | grep -c '^ *for (')"
expect "tables of code whose loops may fail" 2 "$(tables fails.c)"
expect "tables of code whose loops read, among many launches" 2 "$(tables reads.c)"
expect "tables of code whose loops read, among fewer" 0 "$(tables reads-few.c)"
"$flc" build fails.fl -o fails || failed=1
expect "a loop beside a table that does not fail" 3i32 "$(echo '4i64 [1, 2, 3]' | ./fails)"
expect "a loop beside a table that fails" "division by zero" \
  "$(echo '8i64 [1, 2, 3]' | ./fails 2>&1 | sed -n 's/^.*error: //p')"
expect "tables of code for workers" 0 "$(tables workers.c)"
# The code for GPUs stands beside it.
expect "kernels of one item" 1 "$(grep -c '__kernel FLC_ONE_ITEM void flc_kernel' few.c)"
exit $failed
