#!/bin/sh
# The code for GPUs, on any device: where it makes copies in another layout, and that group sizes, layouts and
# the number of chunks change no result.  gpu.sh FLC GPU.FL HISTOGRAMS.FL; exit status 77 (skipped) without a device.
flc=$(realpath "$1") program=$(realpath "$2") histograms=$(realpath "$3")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache
failed=0

cat > layouts.fl << 'END_OF_PROGRAM'
def walk [w] (r: [w]i32) : i32 = loop s = 0 for j < w do s * 3 + r[j]
entry twice [n][m] (xss: [n][m]i32) (k: i64) : [n]i32 =
  loop a = map walk xss for _i < k do
    let t = i32.sum a in map2 (\x r -> loop s = x + t for j < m do s * 5 + r[j]) a xss
entry inside [n][m] (xss: [n][m]i32) (k: i64) : [n]i32 =
  loop a = replicate n 0 for i < k do
    if i % 3 == 1 then map2 (\x r -> loop s = x for j < m do s * 5 + r[j]) a xss else map (+ 1) a
entry columns [n][m] (xss: [n][m]i32) : [m]i32 = map walk (transpose xss)
entry result [n] (m: i64) (xs: [n]i32) : [n][m]i32 =
  map (\x -> loop ys = replicate m x for j < m do ys with [j] = i32.i64 j * x) xs
entry few [n][m] (xss: [n][m]i32) : [n]i32 = map (\r -> r[0] + r[1]) xss
entry columns_by_columns [n][m] (x: [n][m]i32) (y: [n][m]i32) : [n][m]i32 =
  transpose (#[flattening(only_inner)] map2 (map2 (\a b -> a * 3 + b)) (transpose x) (transpose y))
entry along_columns [n][m] (x: [n][m]i32) : [n][m]i32 =
  transpose (#[flattening(only_inner)] map (\c -> tabulate n (\i -> c[i64.max 0 (i - 1)] + 2 * c[i])) (transpose x))
entry planes [n][m] (x: [n][m]i32) : [4][n][m]i32 =
  let cells = #[flattening(only_inner)] map (\r -> map2 (\a b -> loop c = replicate 4 a for i < 4 do c with [i] = c[(i + 1) % 4] * b) r (rotate 1 r)) x
  in tabulate_3d 4 n m (\k i j -> cells[i, j, k])
entry row_counts [n][m] (is: [n]i64) (rows: [n][m]i32) : ([9][m]i32, [9]i32) =
  unzip (hist (\(a, i) (b, j) -> (map2 (+) a b, i + j)) (replicate m 0, 0) 9 is (map (\xs -> (xs, 1)) rows))
entry best_rows [n][m] (is: [n]i64) (rows: [n][m]i32) : [9][m]i32 =
  hist (\a b -> if a[0] > b[0] then a else b) (replicate m 0) 9 is rows
entry kept [n] (xs: [n]i32) : []i32 = filter (> 3) xs
END_OF_PROGRAM
"$flc" dump layouts.fl --after imp --code gpu > layouts.imp || exit 1

cat > groups.fl << 'END_OF_PROGRAM'
def walk [w] (r: [w]i32) : i32 = loop s = 0 for j < w do s * 3 + r[j]
entry shared [n][m] (xss: [n][m]i32) (ys: [n]i32) : [n]i32 =
  #[flattening(only_intra)] map (\y -> let s = map (\r -> walk r * y) xss in i32.sum (map (\a -> a ^ s[0]) s)) ys
entry in_columns [n][m] (xss: [n][m]i32) : [m]i32 =
  #[flattening(only_intra)] map (\r -> let s = i32.sum r in i32.sum (map (^ s) r)) (transpose xss)
entry in_rows [n][m] (xss: [n][m]i32) : [n]i32 =
  #[flattening(only_intra)] map (\r -> let s = i32.sum r in i32.sum (map (^ s) r)) xss
entry own_rows [k][n][m] (xsss: [k][n][m]i32) : [k][n]i32 =
  #[flattening(only_intra)] map (\xss -> let t = i32.sum (map walk xss) in map (\r -> loop s = t for j < m do s * 5 + r[j]) xss) xsss
entry other_rows [k][n][m] (xsss: [k][n][m]i32) : [k][n]i32 =
  #[flattening(only_intra)] tabulate k (\i -> let t = i32.sum (map walk xsss[i]) in map (\r -> walk r + t) xsss[k - 1 - i])
entry own_results [k][n][m] (xsss: [k][m][n]i32) : [k][n][m]i32 =
  #[flattening(only_intra)] map (\xss -> let t = i32.sum (map i32.sum (transpose xss)) in map (map (+ t)) (transpose xss)) xsss
entry branches [n][m] (xss: [n][m]i32) : [n][m]i32 =
  map (\r -> if r[0] > 0 then map (* 3) r else reverse (map (+ 1) r)) xss
entry in_pieces [n][m] (xss: [n][m]i32) : [m]i32 =
  let f (a, b) (c, d) = (a * c, b * c + d)
  in #[flattening(only_intra)] map (\r -> let (s, t) = reduce f (1, 0) (map (\x -> (x, x)) r) in s + reduce (\_ b -> b) t r) (transpose xss)
END_OF_PROGRAM
"$flc" dump groups.fl --after imp --code gpu > groups.imp || exit 1

# expect COUNT PATTERN ENTRY: so many lines of the entry's host code match.
expect() {
  found=$(cat layouts.imp groups.imp | sed -n "/^entry $3(/,/^}/p" | grep -c -- "$2")
  [ "$found" = "$1" ] && return
  echo "FAIL entry $3: $found lines with '$2', expected $1"
  failed=1
}
expect 2 'launch segmap_rows' twice # short rows are read as they are
expect 1 '^  slot xss' twice          # else a copy, shared by two kernels
expect 2 '^ *once xss' twice
expect 1 'launch transpose' inside # within a branch of a loop, but once
expect 1 '^            once xss' inside
expect 1 '^  slot xss' inside
expect 1 'launch transpose' shared     # neighbouring points within groups are neighbouring items
expect 1 'launch transpose' in_columns # once for the sum and the map
expect 0 'transpose\|layout' in_rows
expect 1 'intra_own_bytes' own_rows    # the group's own: in local memory, or copied
expect 2 'launch seggroup' own_rows
expect 1 'launch transpose' own_rows
expect 0 'intra_own_bytes' other_rows  # other groups' rows: copied
expect 1 'launch transpose' other_rows
expect 1 'intra_own_bytes' own_results # read in order, made apart
expect 0 'launch transpose' own_results
expect 0 'intra_own_bytes' in_columns
expect 0 'transpose\|layout' in_pieces # an item has several neighbours: they lie apart in any order
expect 0 'transpose\|layout' columns # in order as they are
expect 1 'launch transpose' result   # the caller wants rows
expect 0 'transpose\|layout' few     # most of the array is not read
expect 0 'launch transpose\|launch copy' columns_by_columns # neighbours go along rows
expect 0 'launch transpose\|launch copy' along_columns
expect 0 'launch transpose\|launch copy' planes # made in that order
expect 0 'launch seghist_rows' row_counts # an item per element
expect 2 'launch seghist_rows' best_rows # elements that mind the others
expect 0 'launch segred' kept        # room for all elements: nothing is counted before
expect 1 'launch copy' kept          # ... and given back if few are kept

# What a branch makes lies where the result is wanted at once.
if grep '^kernel segmap.* mapped_[0-9]*' groups.imp; then failed=1; fi

# Branches that each update an array do so where it lies, not in copies of it.
cat > updates.fl << 'END_OF_PROGRAM'
entry unions [n][m] (first: [n]i64) (as: [m]i64) (bs: [m]i64) : [n]i64 =
  loop p = copy first for k < m do
    let (x, y) = (p[as[k]], p[bs[k]])
    in if x == y then p else if x < y then p with [y] = x else p with [x] = y
END_OF_PROGRAM
"$flc" dump updates.fl --after imp --code gpu > updates.imp || exit 1
if grep '^kernel.*scratch.* chosen_' updates.imp || ! grep -q '^kernel segmap' updates.imp; then
  echo 'FAIL an array that is updated in branches is copied'
  failed=1
fi

# Neighbouring items read and write neighbouring words.
if [ "$(grep -c 'xss_[0-9]*\[.*i_[0-9]* \* (layout_[0-9]* ? 1i64 :' layouts.imp)" != 3 ] ||
  ! grep -q '^ *ys_[0-9]*\[.*i_[0-9]* \* (layout_[0-9]* ? 1i64 :.* = ' layouts.imp; then
  echo 'FAIL an index is not that of the layout:'
  grep 'layout_[0-9]* ?' layouts.imp
  failed=1
fi

# Quotients and roots under #[exact] are computed in f64, also in what is called there.
cat > exact.fl << 'END_OF_PROGRAM'
def inverse (x: f32) : f32 = 1 / x
entry quotients [n] (xs: [n]f32) : [n]f32 = map (\x -> #[exact] inverse (f32.sqrt x)) xs
entry roots [n] (xs: [n]f32) : [n]f32 = map (#[exact] \x -> f32.sqrt x) xs
entry others [n] (xs: [n]f32) : [n]f32 = map (\x -> inverse (f32.sqrt x)) xs
END_OF_PROGRAM
"$flc" dump exact.fl --after imp --code gpu > exact.imp || exit 1
if [ "$(grep -c ': f64 = (1.0f64 / ' exact.imp)" != 1 ] || [ "$(grep -c ': f64 = sqrt(' exact.imp)" != 2 ] ||
  [ "$(grep -c ': f32 = (1.0f32 / ' exact.imp)" != 1 ]; then
  echo 'FAIL quotients and roots of #[exact]'
  grep 'sqrt\| / ' exact.imp
  failed=1
fi

"$flc" build "$program" -o p || exit 1
if printf '1i64 1i64' | ./p -e scans 2>&1 | grep -q 'no OpenCL'; then exit 77; fi

# Kernels are compiled without optimisation, as by `flc test`, but for one group size and histograms of rows: PoCL
# takes a quarter of the time.
quick=--build-option=-cl-opt-disable

# vary ENTRY VALUES OPTION...: the code for CPUs without, that for GPUs with the options.
vary() {
  entry=$1 values=$2
  shift 2
  expected=$(printf '%s' "$values" | ./p -e "$entry" --code cpu) || failed=1
  got=$(printf '%s' "$values" | ./p -e "$entry" --code gpu ${quick:+"$quick"} "$@") || failed=1
  [ "$got" = "$expected" ] && return
  echo "FAIL entry $entry, input $values, --code gpu $*"
  failed=1
}

for size in 1 7 32; do
  if [ $size = 32 ]; then quick=; fi
  set --
  for kind in segred segscan seghist; do
    set -- "$@" --param ${kind}_group_size=$size --param ${kind}_groups=5 --param ${kind}_least=1
  done
  vary reductions '3i64 700i64' --param default_threshold=1000000000 "$@"
  vary scans '3i64 700i64' --param default_threshold=1000000000 "$@"
  vary histograms '3i64 700i64 9i64' --param default_threshold=1000000000 "$@"
done
quick=--build-option=-cl-opt-disable
# Groups that look back, around the borders of their chunks and of the windows in which they look.
for width in 2304 2305 6912 9217 76032; do
  vary scans "2i64 ${width}i64" --param default_threshold=1000000000
  vary scans "2i64 ${width}i64" --param default_threshold=1000000000 --param segscan_group_size=64 \
    --param segscan_groups=5000 --param segscan_least=1
done
vary scans '3i64 9000i64' --param default_threshold=1000000000 --param segscan_look_back=0
vary histograms '3i64 700i64 9i64' --param seghist_local_bytes=0
vary histograms '3i64 700i64 9i64' --param seghist_atomic_bytes=4
vary special_scans '3i64 4i64' --param default_threshold=1000000000
for layout in 0 1; do
  vary layouts '70i64 33i64 3i64' --param default_threshold=0 --param layout=$layout
done

# Rows that are longer than what finds their elements in local memory may divide stay where they are, whatever is set.
cat > long.fl << 'END_OF_PROGRAM'
entry main [n] [m] (xs: [n][m]u8) : [n]u8 =
  map (\x -> let s = loop s = 0u8 for i < m do s * 3 + x[i]
             in loop s for i < m do s * 7 ^ x[i * 3 % m]) xs
END_OF_PROGRAM
"$flc" build long.fl -o long && "$flc" data -b --seed 5 -g '[40][60000]u8' > long.in || exit 1
expected=$(./long --code cpu < long.in)
got=$(./long --code gpu $quick --param segmap_row_bytes=1000000 < long.in)
if [ "$got" != "$expected" ]; then
  echo 'FAIL rows of 60,000 bytes in local memory'
  failed=1
fi

# Histograms of every kind: in local memory, by one group or many and with few copies of the bins or many; directly;
# under locks instead of 64-bit operations; without local memory.
"$flc" build "$histograms" -o p || exit 1
vary_histograms() {
  width=$1
  shift
  vary kinds "5000i64 ${width}i64" "$@"
  vary segments "3i64 700i64 ${width}i64" --param default_threshold=1000000000 "$@"
}
for bins in 1 9 300; do
  vary_histograms "$bins"
  vary_histograms "$bins" --pretend atomics64=0
  vary_histograms "$bins" --param seghist_local_bytes=0
done
vary_histograms 9 --pretend local=64
vary_histograms 300 --param seghist_local_bytes=1000000
for size in 7 100; do
  vary_histograms 9 --param seghist_group_size=$size --param seghist_groups=50 --param seghist_least=1
done
quick=
vary rows '700i64 5i64 9i64' --param seghist_items=7
vary rows '700i64 5i64 9i64' --pretend atomics64=0
exit $failed
