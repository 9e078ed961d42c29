#!/bin/sh
# shellcheck disable=SC2016
# The reasons for which steps of recipes are refused, one by one: steps-refused.sh FLC.  Where steps apply, and that what they
# make is right, is tested by steps-that-apply.fl.
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export FLC_CHECK_IR=1

cat > steps.fl << 'END'
entry product [n] [m] [k] (a: [n][k]i32) (b: [k][m]i32) : [n][m]i32 =
  #[sequential_inner] map (\row -> map (\column -> i32.sum (map2 (*) row column)) (transpose b)) a

entry carried [n] [k] (a: [n][k]i32) : [n]i32 =
  #[sequential_inner] map (\row -> loop s = 1 for x in row do s * 3 + x) a

entry prefixes [n] [k] (a: [n][k]i32) : [n][k]i32 =
  #[sequential_inner] map (\row -> scan (+) 0 row) a

entry bins [n] [k] (a: [n][k]i32) : [n][8]i32 =
  #[sequential_inner] map (\row -> hist (+) 0 8 (map (\x -> i64.i32 (x & 7)) row) row) a

entry triangle [n] (a: [n]i32) : [n]i32 =
  #[sequential_inner] tabulate n (\i -> i32.sum (map (\j -> a[j] * i32.i64 i) (iota i)))

entry rows_of_rows [n] [m] [k] (a: [n][m][k]i32) : [n]i32 =
  #[sequential_inner] map (\rows -> i32.maximum (map (\row -> i32.sum row) rows)) a

entry sum_of_sums [n] [m] [k] (a: [n][m][k]i32) : [n]i32 =
  #[sequential_inner] map (\rows -> i32.sum (map (\row -> i32.sum row) rows)) a

entry sum_of_halves [n] [m] [k] (a: [n][m][k]i32) : [n]i32 =
  #[sequential_inner] map (\rows -> i32.sum (map (\row -> i32.sum row / 2) rows)) a

entry in_order [n] [m] [k] (a: [n][m][k](i32, i32)) : [n](i32, i32) =
  let op (a, b) (c, d) = (a * c, b * c + d)
  in #[sequential_inner] map (\rows -> reduce op (1, 0) (map (\row -> reduce op (1, 0) row) rows)) a

entry switched [n] [k] (a: [n][k]i32) (c: bool) : [n]i32 =
  #[sequential_inner] map (\row -> i32.sum (map (\x -> if c then i32.f32 (f32.exp (f32.i32 x)) else x) row)) a

entry until [n] (a: [n]i32) : [n]i32 =
  map (\x -> let (_, s) = loop (x, s) = (x, 0) while x > 1 do (if x % 2 == 0 then x / 2 else 3 * x + 1, s + 1) in s) a

entry blurred [n] (a: [n]i32) : [n]i32 =
  tabulate n (\i -> a[i64.max 0 (i - 1)] + a[i] + a[i64.min (n - 1) (i + 1)])

entry partners (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> i ^ m)
entry neighbours (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> i ^ 1)
entry own_partners [n] (ms: [n]i64) : [n]i64 = tabulate n (\i -> i ^ ms[i])
entry backwards (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> (7 - i) ^ m)
entry wide_apart (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> (128 * i) ^ m)
entry halved (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> i >> 1)
entry sixteenths (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> i >> 4)
entry shifted_by (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> m >> i)
entry within_16 (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> i & 15)
entry within_8 (n: i64) (m: i64) : [n]i64 = tabulate n (\i -> i & 7)

entry scattered [n] (a: *[n]i32) : [n]i32 =
  let at = map (\i -> (i * 7) % n) (iota n)
  in scatter a at (map (\i -> a[i]) (iota n))

entry filtered [n] [k] (a: [n][k]i32) : [n]i32 =
  #[sequential_inner] map (\row -> i32.sum (filter (> 3) row)) a

entry bordered [n] [k] (a: [n][k]i32) : [n]i32 =
  #[sequential_inner] map (\row -> i32.sum (map (\j -> if j == 0 then 0 else row[j - 1]) (iota k))) a

entry folded [n] [k] (a: [n][k]i32) : [n]i32 =
  #[sequential_inner] map (\row -> i32.sum (map (\j -> if j == 0 then 0 else row[j] / 3 + row[j] / 4 + row[j] / 5 + row[j] / 6 + row[j] / 7 + row[j] / 8 + row[j] / 9 + row[j] / 10 + row[j] / 11 + row[j] / 12 + row[j] / 13 + row[j] / 14 + row[j] / 15 + row[j] / 16 + row[j] / 17 + row[j] / 18 + row[j] / 19 + row[j] / 20 + row[j] / 21 + row[j] / 22 + row[j] / 23 + row[j] / 24 + row[j] / 25 + row[j] / 26 + row[j] / 27 + row[j] / 28 + row[j] / 29 + row[j] / 30 + row[j] / 31 + row[j] / 32 + row[j] / 33 + row[j] / 34 + row[j] / 35 + row[j] / 36 + row[j] / 37 + row[j] / 38 + row[j] / 39 + row[j] / 40 + row[j] / 41 + row[j] / 42 + row[j] / 43 + row[j] / 44 + row[j] / 45 + row[j] / 46 + row[j] / 47 + row[j] / 48 + row[j] / 49 + row[j] / 50 + row[j] / 51 + row[j] / 52 + row[j] / 53 + row[j] / 54 + row[j] / 55 + row[j] / 56 + row[j] / 57 + row[j] / 58 + row[j] / 59 + row[j] / 60 + row[j] / 61 + row[j] / 62 + row[j] / 63 + row[j] / 64 + row[j] / 65 + row[j] / 66 + row[j] / 67 + row[j] / 68 + row[j] / 69) (iota k))) a

entry shorter [n] [k] (a: [n][k]i32) : [n]i32 =
  #[sequential_inner] map (\i -> loop s = 1 for j < i64.min i k do s * 3 + a[j % n, j]) (iota n)

entry ragged [n] (a: [n]i64) (limits: [n]i64) : [n]i64 =
  #[sequential_inner] map (\i -> loop s = 1 for j < limits[i] do s * 3 + a[j % n]) (iota n)

entry stores [n] [k] (a: [n][k]i32) : [n][k]i32 =
  #[sequential_inner] map (\i -> loop row = copy a[i] for j < i64.min i k do row with [j] = row[(j * j) % k]) (iota n)

entry small (a: [8][100]i32) : [8]i32 = #[sequential_inner] map (\row -> i32.sum row) a

entry rotated [n] [k] (a: *[n][k]i32) : [n][k]i32 =
  #[sequential_inner] map (\row -> loop row = copy row for i < k do row with [i] = row[(i * i) % k]) a

entry carried_twice [n] [k] (a: [n][k]i32) : [n]i32 =
  #[sequential_inner] map (\row -> loop s = 1 for _i < k do loop s = s for y in row do s * 3 + y) a

entry counted [n] [k] (a: [n][k]i32) : [n][9]i32 =
  map (\row -> hist (+) 0 9 (map (\x -> i64.i32 (x & 7)) row) row) a

entry counted_by_steps [n] [k] (a: [n][k]i32) : [9]i32 =
  hist (+) 0 9 (map (\row -> loop i = 0 while i < k && row[i] > 1 do i + 1) a) (replicate n 1)

entry counted_few (a: [8]i32) : [9]i32 = hist (+) 0 9 (map i64.i32 a) (replicate 8 1)

entry kept [n] [k] (a: [n][k]i32) : [n]i32 =
  #[sequential_inner] map (\row -> let f = filter (> 3) row let g = scan (+) 0 f in i32.sum (map2 (*) f (reverse g))) a

entry growing [n] (a: [n]i32) : [n]i32 =
  #[sequential_inner] tabulate n (\i -> let f = scan (+) 0 (map (* a[i]) (iota i |> map i32.i64)) in i32.sum (map2 (*) f (reverse f))) 

entry farthest [n] [m] [k] (a: [n][k]i32) (b: [m][k]i32) : [n]i32 =
  #[sequential_inner] map (\p -> i32.maximum (map (\q -> i32.sum (map2 (*) p q)) b)) a

entry picked [n] [m] [k] (a: [n][k]i32) (b: [m]i64) : [n]i32 =
  #[sequential_inner] map (\p -> i32.maximum (map (\j -> p[j]) b)) a

entry sometimes [n] [m] [k] (a: [n][k]i32) (b: [m][k]i32) (c: [m]bool) : [n]i32 =
  #[sequential_inner] map (\p -> i32.maximum (map2 (\q c -> if c then i32.sum (map2 (*) p q) else 0) b c)) a

entry triangular [n] [m] (a: [n][n]i32) (b: [m][n]i32) : [n]i32 =
  #[sequential_inner] tabulate n (\i ->
    let row = take i a[i]
    in i32.maximum (map (\other -> i32.sum (map2 (*) row (take i other))) b))

entry pages [n] (a: [n][1024]i32) : [n][1024]i32 =
  #[sequential_inner] map (\row -> scan (+) 0 row) a

entry long [n] [k] (a: [n][k]i32) (c: bool) : [n]i32 =
  #[sequential_inner] map (\row -> i32.sum (map (\x -> if c then #[unroll] loop y = x for i < 50 do y * i32.i64 i ^ (y / 3 + i32.i64 i) else x) row)) a
END

# refused KERNEL PATTERN STEP...: the last of the steps is refused for this reason
refused() {
  kernel=$1 pattern=$2
  shift 2
  printf 'kernel %s\n' "$kernel" > recipe
  printf '%s\n' "$@" >> recipe
  "$flc" dump --recipes --recipe recipe steps.fl > out 2> err
  status=$?
  [ $status = 1 ] && [ ! -s out ] && grep -Eq "^recipe:$(($# + 1)):1: error: \`.*\` does not apply: $pattern" err && return
  printf 'FAIL %s: %s\n  expected (status 1): %s\n  got (status %s): %s\n' "$kernel" "$*" "$pattern" "$status" "$(cat err)"
  failures=$((failures + 1))
}

# accepted KERNEL STEP...
accepted() {
  kernel=$1
  shift
  printf 'kernel %s\n' "$kernel" > recipe
  printf '%s\n' "$@" >> recipe
  "$flc" dump --recipes --recipe recipe steps.fl > out 2> err && return
  printf 'FAIL %s: %s\n  refused: %s\n' "$kernel" "$*" "$(cat err)"
  failures=$((failures + 1))
}

# ---- split
refused counted.seghist 'k cannot be split: it fills a histogram' 'split k by 4'
refused counted.seghist 'k cannot be split: it fills a histogram' 'split k into 4'
refused product.segmap 'm cannot be split: it is in lanes or registers' 'split m by 16' 'bind m to lane' 'split m by 4'
refused product.segmap 'm cannot be split: it is on the grid, where what is left has no place' 'split m by 4 peel'
refused product.segmap 'm cannot be split: it is on the grid' 'split m into 4'
refused product.segmap 'k cannot be split: it carries values: no point may run twice' 'split k by 4 overlap'
refused counted.seghist 'n cannot be split: it overwrites what it reads: no point may run twice' 'split n by 4 overlap'
refused small.segmap 'i has less than 9 points' 'split i by 9 overlap'
accepted small.segmap 'split i by 8 overlap'

refused product.segmap 'm cannot be split: it is on the grid' 'split m by 4 chain'
refused carried.segmap 'k cannot be split: it carries values: no point may run twice' 'split k by 4 overlap'
refused counted.seghist 'n cannot be split: it overwrites what it reads: no point may run twice' 'split n by 4 clamp'
refused counted.seghist 'n cannot be split: it reads what it overwrites: no point may run again' 'split n by 4 follow'
refused carried.segmap 'k cannot be split: it carries values: no point may run twice' 'split k by 4 follow'
refused small.segmap 'i has less than 9 points' 'split i by 9 follow'
accepted small.segmap 'split i by 9 clamp'
accepted product.segmap 'split k by 4 chain'

# ---- sweep
refused product.segmap 'm is no loop without order' 'sweep m by 1'
refused product.segmap 'm may have more than 4096 points' 'bind m to seq' 'sweep m by 1'
refused carried.segmap 'n: its points have no loops of one length' 'split n by 16 short' 'sweep n by 1'
refused triangle.segmap 'n: its points have no loops of one length' 'split n by 16 short' 'sweep n by 1'
refused rows_of_rows.segmap 'n: what it sums up are loops' 'split n by 16 short' 'sweep n by 2'
refused kept.segmap 'n: its points have arrays' 'split n by 16 short' 'sweep n by 1'
accepted rows_of_rows.segmap 'split n by 16 short' 'sweep n by 1'

# ---- stage
refused product.segmap 'k is no loop in lanes' 'stage k'
refused product.segmap 'k reads no rows again, a lane each' 'split m by 8 overlap' 'bind m to lane' 'stage k'
refused picked.segmap 'm makes checks' 'split n by 8 overlap' 'bind n to lane' 'stage m'
refused sometimes.segmap 'm reads no rows again, a lane each' 'split n by 8 overlap' 'bind n to lane' 'stage m'
refused triangular.segmap 'm reads no rows again, a lane each' 'split n by 8 overlap' 'bind n to lane' 'stage m'
accepted farthest.segmap 'split n by 8 overlap' 'bind n to lane' 'stage m'

# ---- where
refused small.segmap 'i has less than 9 points' 'where i >= 9'
accepted small.segmap 'where i >= 8'
refused small.segmap 'i has 8 points at least' 'where i < 8'
accepted small.segmap 'where i < 9'
refused small.segmap 'blocks of 3 do not fill i' 'where i fills 3'
accepted small.segmap 'where i fills 4'
accepted small.segmap 'where i fills 2'
refused triangle.segmap 'how many points i has is found inside' 'where i < 4'
refused triangle.segmap 'i must have 4 points, and how many it has is found inside' 'where i >= 4'

# ---- permute
refused product.segmap 'the axes are not one directly in the other' 'permute k n'
refused rotated.segmap 'n has more in it than an axis' 'permute k_2 n'
refused prefixes.segmap 'n and k cannot change places: they do not do the same' 'permute k n'
refused carried_twice.segmap 'k and k_2 cannot change places: values go from point to point' 'permute k_2 k'
refused product.segmap 'm0 and m cannot change places: the inner width depends on the outer index' 'bind m to seq' 'split m by 4 short' 'permute m m0'
refused product.segmap 'k0 and k cannot change places: the inner width is computed within' 'split k by 4 short' 'permute k k0'
refused sum_of_halves.segmap 'm has more in it than an axis' 'permute k m'
refused rows_of_rows.segmap 'm and k cannot change places: their operators differ' 'permute k m'
refused in_order.segmap 'm and k cannot change places: the operator does not commute' 'permute k m'
accepted sum_of_sums.segmap 'permute k m'

# ---- bind
refused product.segmap 'code for CPUs has no groups of items' 'bind n to item'
refused product.segmap 'k is no map that is all that the axes around it do' 'bind k to grid'
refused rotated.segmap 'k_2 is no map that is all that the axes around it do' 'bind k_2 to grid'
refused carried.segmap 'k carries values from point to point' 'bind k to lane'
refused product.segmap 'k: its width is not constant' 'bind k to reg'
refused product.segmap 'k_rest0: it has no points' 'split k into 1' 'split k_rest by 8 short' 'bind k_rest0 to reg'
refused product.segmap 'n: its width is too large' 'split n by 65' 'bind n to reg'
refused product.segmap 'n: lanes come by 2, 4, 8 and 16' 'split n by 6' 'bind n to lane'
refused product.segmap 'lanes within lanes' 'split n by 4 overlap' 'permute m n' 'split m by 4' 'bind n to lane' 'bind m to lane'
refused product.segmap 'm, of the grid, would be inside of n, which is not' 'split n by 4'
refused product.segmap 'm, of the grid, would be inside of n, which is not' 'bind n to seq'
accepted product.segmap 'split n by 4 short' 'permute m n'
accepted product.segmap 'bind m to seq' 'split n by 4'
refused until.segmap 'control that differs from register to register' 'split n by 4 overlap' 'bind n to reg'
accepted until.segmap 'split n by 4 overlap' 'bind n to lane'
refused prefixes.segmap 'a scan across registers' 'split k by 4 peel' 'bind k to reg'
refused counted.seghist 'a histogram' 'split n by 4' 'bind n to lane'
refused growing.segmap 'an array whose size differs from point to point' 'split n by 4 overlap' 'bind n to lane'

# ---- collect
refused product.segmap 'k is no histogram' 'collect k by 16'
refused counted_few.seghist 'i is no loop' 'bind i to lane' 'collect i by 16'
refused counted_by_steps.seghist 'there are loops in n' 'collect n by 16'
accepted counted.seghist 'collect k by 16' 'split k by 4 peel' 'bind k to lane'

# ---- spread
refused pages.segmap 'rows that lanes store to lie a multiple of 4096 bytes apart' 'split n by 16 overlap' 'bind n to lane' 'spread'
accepted pages.segmap 'split n by 8 overlap' 'bind n to lane' 'spread'
accepted prefixes.segmap 'split n by 16 overlap' 'bind n to lane' 'spread'

# ---- unswitch
refused carried.segmap 'k is no map and no reduction' 'unswitch k'
refused switched.segmap 'n is no loop' 'unswitch n'
refused product.segmap 'no condition in k is the same at all points' 'unswitch k'
refused long.segmap 'k would be too long twice' 'unswitch k'
accepted switched.segmap 'unswitch k'

# ---- unroll
refused product.segmap 'k has no constant width from 1 to 16' 'unroll k'
refused prefixes.segmap 'k is a scan or a histogram' 'unroll k'
refused switched.segmap 'n is no loop' 'unroll n'

# ---- cut
refused prefixes.segmap 'k is no map, reduction or loop' 'cut k'
refused blurred.segmap 'n is no loop' 'cut n'
refused product.segmap 'no comparison in k changes its outcome once along it' 'cut k'
refused folded.segmap_2 'k would be too long in parts' 'cut k'
accepted bordered.segmap_2 'cut k'

# ---- align
refused prefixes.segmap 'k is no reduction or loop' 'align k'
refused shorter.segmap 'min is not in lanes' 'align min'
refused product.segmap 'k begins and ends at the same place in all lanes' 'split m by 16 overlap' 'bind m to lane' 'align k'
refused ragged.segmap 'how far x_2 goes differs in another way than by the index' 'split n by 16 overlap' 'bind n to lane' 'align x_2'
refused stores.segmap 'min does more than to compute and to load' 'split n by 16 bound' 'bind n to lane' 'align min'
accepted shorter.segmap 'split n by 16 overlap' 'bind n to lane' 'align min'
refused shorter.segmap '`align` goes by where blocks begin' 'split n by 16 overlap' 'bind n to lane' 'align min' 'interior move'

# ---- interior
refused product.segmap 'no condition on indices has one outcome in blocks' 'interior'
refused blurred.segmap 'no condition on indices has one outcome in blocks' 'interior'
accepted blurred.segmap 'split n by 16 overlap' 'bind n to lane' 'interior move'
refused counted.seghist 'it overwrites what it reads: no point may run twice' 'interior move'

# bits of indices
in_lanes() { "$1" "$2" ${3:+"$3"} 'split n by 16 overlap' 'bind n to lane' 'interior move'; }
no_outcome='no condition on indices has one outcome in blocks'
in_lanes accepted partners.segmap_single
in_lanes accepted sixteenths.segmap
in_lanes accepted within_16.segmap
in_lanes refused neighbours.segmap_single "$no_outcome"    # no multiple of 16
in_lanes refused own_partners.segmap "$no_outcome"  # another one for each point
in_lanes refused backwards.segmap "$no_outcome"     # the block ends where it should begin
in_lanes refused wide_apart.segmap "$no_outcome"    # it takes 2048 places
in_lanes refused halved.segmap "$no_outcome"        # lanes differ behind the shift
in_lanes refused shifted_by.segmap "$no_outcome"    # the index is the distance
in_lanes refused within_8.segmap "$no_outcome"      # the block turns

[ $failures = 0 ] && echo 'all passed'
exit $((failures > 0))
