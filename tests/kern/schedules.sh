#!/bin/sh
# What the schedules for CPUs must not lose, seen in what dumps print: schedules.sh FLC.  That results are right is tested by the
# programs beside this file, and how fast they are by `./dev bench`.
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export FLC_CHECK_IR=1

# expect WHAT COUNT PATTERN FILE: so many lines match
expect() {
  got=$(grep -Ec -- "$3" "$4")
  [ "$got" = "$2" ] && return
  printf 'FAIL %s\n  expected %s lines that match: %s\n  got %s in\n%s\n' "$1" "$2" "$3" "$got" "$(cat "$4")"
  failures=$((failures + 1))
}

# some WHAT PATTERN FILE: a line matches
some() {
  grep -Eq -- "$2" "$3" && return
  printf 'FAIL %s\n  expected: %s\n  got: %s\n' "$1" "$2" "$(cat "$3")"
  failures=$((failures + 1))
}

cat > kept.fl << 'END'
entry main [n] (xs: [n]i32) : []i32 = filter (> 1000) xs
END
"$flc" dump --recipes kept.fl > out
"$flc" dump --after imp kept.fl > code
expect 'a filter counts once' 1 '^kernel main.segred_chunks ' out
expect 'a filter takes the counts of its chunks' 0 '^kernel main.segscan_sums ' out
expect 'a filter fills nothing, stores no offsets' 0 '^kernel main.segmap ' out
expect 'a filter has the counts and the result in memory, and the length' 3 '^ +alloc ' code

expect 'what one core keeps may lie on what follows, what chunks keep may not' 1 ' packed, over$' code
expect 'the device has no say in whether they are packed' 0 'packs[(]' code
cat > sums.fl << 'END'
entry losses [n] [d] [c] (x: [n][d]f32) (w: [d][c]f32) : f32 =
  f32.sum (map (\r -> let z = map (\column -> f32.sum (map2 (*) r column)) (transpose w)
                     let m = f32.maximum z in f32.sum (map (\v -> f32.exp (v - m)) z)) x)
END
"$flc" dump --recipes sums.fl > out
some 'points with rows of their own that are summed up run in lanes' 'permute n n0' out

cat > bits.fl << 'END'
entry main [n] [m] (xs: [n][m]u64) : [n]i32 = map (\r -> i32.sum (map u64.popc r)) xs
END
"$flc" build --emit-c bits.fl -o bits.c
some 'bits of lanes are counted by the instruction where there is one' 'vpopcntq %' bits.c

cat > sieve.fl << 'END'
entry main (n: i64) (ps: []i64) : [n]bool =
  loop marks = replicate n false for p in ps do
    scatter marks (map (* p) (iota (n / i64.max 1 p))) (replicate (n / i64.max 1 p) true)
END
"$flc" dump --after imp sieve.fl > out
some 'places at even distances are tested once for all rounds' 'if .* < 2147483648i64' out

cat > exchanged.fl << 'END'
entry main [n] (r: i64) (xs: [n]f32) : [n]f32 =
  let js = map (\i -> 2 * i + r) (iota ((n - 1) / 2))
  let lows = map (\j -> f32.min xs[j] xs[j + 1]) js
  let highs = map (\j -> f32.max xs[j] xs[j + 1]) js
  in scatter (scatter (copy xs) js lows) (map (+ 1) js) highs
END
"$flc" dump --after stored-places exchanged.fl > out
expect 'places that two scatters share are not stored' 0 '[(](js|mapped)_[0-9]+ : ' out

cat > covariances.fl << 'END'
entry main [n] [d] (x: [n][d]f64) : [d][d]f64 =
  map (\a -> map (\b -> f64.sum (map2 (*) a b)) (transpose x)) (transpose x)
END
"$flc" dump --recipes covariances.fl > out
some 'all pairs of columns go through a chunk of rows before the next one' '^kernel main.segmap_pieces ' out
"$flc" dump --after imp covariances.fl > out
some 'so they do where the elements of a column meet in few sets of a cache' '& 255i64\) == 0i64' out

cat > products.fl << 'END'
entry main [n] [m] (a: [n]f32) (b: [m]f32) : []f32 =
  map (\k -> f32.sum (map (\i -> if k - i >= 0 && k - i < m then a[i] * b[k - i] else 0) (iota n))) (iota (n + m - 1))
END
"$flc" dump --recipes products.fl > out
some 'where borders leave no room points meet in lanes' '^  align n_before$' out

cat > heads.fl << 'END'
entry main [n] (xs: [n]f64) (t: i64) : [n]f64 =
  loop v = copy xs for k < t do map2 (\i x -> if i < n - k then x * 0.9 + 0.1 else x) (iota n) v
END
"$flc" dump --explain heads.fl > out
some 'where a border moves as far as a loop is long, lanes choose' '<- choice [0-9]+, where [0-9]+ <= n_[0-9]+$' out

cat > around.fl << 'END'
entry main [n] [m] [k] (image: [n][m]f32) (w: [k][k]f32) : [n][m]f32 =
  let at i j = if i >= 0 && i < n && j >= 0 && j < m then image[i, j] else 0
  in tabulate_2d n m (\i j ->
    f32.sum (flatten (tabulate_2d k k (\a b -> w[a, b] * at (i + a - k / 2) (j + b - k / 2)))))
END
"$flc" dump --recipes around.fl > out
some 'where borders leave no room for blocks that move, those that stay have an interior' '^  interior$' out

cat > parts.fl << 'END'
entry main [n] [m] (a: [n][m]f32) : [][]f32 =
  map (\r -> map f32.maximum (unflatten (take (m / 2 * 2) r :> [m / 2 * 2]f32))) (transpose a)
END
"$flc" dump --recipes parts.fl > out
expect 'parts of rows are taken as rows where they lie' 0 'alloc ' out
"$flc" dump --after imp --code gpu parts.fl > out
expect 'on GPUs too' 0 'dense' out

cat > added.fl << 'END'
entry main [n] [k] (is: [n]i64) (fs: [n][k]f32) (ws: [n]f32) : [9][k]f32 =
  reduce_by_index (replicate 9 (replicate k 0)) (map2 (+)) (replicate k 0) is (map2 (\f w -> map (* w) f) fs ws)
END
"$flc" dump --recipes added.fl > out
expect 'rows that histograms add are made where they are added' 0 'alloc mapped|mapped_[0-9]+\[.*\] =' out

cat > columns.fl << 'END'
entry solved [n] [m] (b: [n][m]f32) (d: [n][m]f32) : [n][m]f32 =
  transpose (map2 (\bs ds ->
    let (cs, xs) = loop (cs, xs) = (replicate n 0, replicate n 0) for i < n do
                     let (c, x) = if i == 0 then (0, 0) else (cs[i - 1], xs[i - 1])
                     let r = 1 / (bs[i] - c)
                     in (cs with [i] = r, xs with [i] = (ds[i] - x) * r)
    in loop xs for k < n - 1 do
         let i = n - 2 - k
         in xs with [i] = xs[i] - cs[i] * xs[i + 1]) (transpose b) (transpose d))
END
"$flc" dump --recipes columns.fl > out
some 'columns forth and back go in tiles' 'split m by 64 follow' out
expect 'arrays are not filled where the loop stores all' 0 'axis n_?[0-9]*: .* map [{]$|if false' out

cat > own_element.fl << 'END'
entry main [n] [m] (xss: [n][m]f32) : [n][m]f32 =
  map (\xs -> loop r = copy xs for i in 1..<m do r with [i] = r[i - 1] * 0.5 + r[i]) xss
END
"$flc" dump --explain own_element.fl > out
some 'what a round loads of its own element is not copied before' 'left_[0-9]* < min\(1, ' out

cat > copied.fl << 'END'
entry main [n] [m] (xss: [n][m]f32) : [n][m]f32 =
  transpose (map (\xs ->
    loop r = copy xs for i in 1..<n do r with [i] = r[i - 1] * 0.5 + xs[i]) (transpose xss))
END
"$flc" dump --recipes copied.fl > out
some 'recurrences copy what they begin with' 'axis n: left_[0-9]* < min\(1, n_' out
some 'and do not read it again, so that points may run twice' 'split m by 64 overlap' out
expect 'they copy nothing else' 0 'axis n: i_[0-9]* < n_[0-9]* map' out

cat > rotated.fl << 'END'
entry main [n] [m] (ks: [n]i64) (xss: [n][m]f32) : [n][m]f32 = map2 rotate ks xss
END
"$flc" dump --recipes rotated.fl > out
sed -n '/^kernel main.segmap_2 /,/^kernel main.segmap_3/p' out > out.rows
some 'rows that turn are two loops' 'axis m_before: ' out.rows
expect 'of which no point divides' 0 'let from_[0-9]*: i64 = .*%' out.rows

cat > counted.fl << 'END'
entry counted [n] (xs: [n][6]u8) : [n][16]u8 =
  map (\r -> loop h = replicate 16 0u8 for x in r do h with [i64.u8 x] = h[i64.u8 x] + 1) xs
entry least [n] (xs: [n][6]u8) : [n][4]u8 =
  map (\r -> loop h = replicate 4 255u8 for x in r do
              let k = loop k = 0i64 for j < 4 do if h[j] > h[k] then j else k in if x < h[k] then h with [k] = x else h) xs
END
"$flc" dump --recipes counted.fl > out
sed '/^kernel least/,$d' out > out.counted
sed -n '/^kernel least/,$p' out > out.least
expect 'few counts are made where the result lies' 0 'alloc row' out.counted
some 'rows that a loop goes through are the own of points' 'alloc .*: \[4\]u8 own' out.least

cat > ahead.fl << 'END'
entry smoothed [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  transpose (map (\c -> (loop (o, d) = (replicate n 0f32, 0f32) for i < n do
                           let d = 0.5 * d + c[i] in (o with [i] = d, d)).0) (transpose xs))
entry summed [n] [m] (xs: [n][m]f32) : [m]f32 = map f32.sum (transpose xs)
END
"$flc" dump --after imp ahead.fl > out
some 'loops down columns ask for the rows ahead' 'prefetch xs_[0-9]+.*[+] 8i64[)] min' out
some 'that they store, too' 'prefetch x_[0-9]+.*[+] 8i64[)] min' out
sed -n '/^kernel.*segred/,$p' out > out.sums
expect 'sums do not' 0 'prefetch' out.sums
"$flc" dump --after imp --code gpu ahead.fl > out
expect 'nor does code for GPUs' 0 'prefetch' out

cat > joined.fl << 'END'
entry main [n] [m] [k] (xs: [n][m][k]f32) : [n][m][k]f32 = map (map (map (\x -> x * 2 + 1))) xs
END
"$flc" dump --recipes joined.fl > out
some 'maps of short rows have one dimension' '^kernel main.segmap_joined_joined ' out

cat > beside.fl << 'END'
entry conditions [n] (a: [n]f64) (b: [n]f64) : []f64 =
  map (\k -> f64.sum (map (\i -> if i <= k && k - i < n then a[i] * b[k - i] else 0) (iota n))) (iota (2 * n - 1))
END
"$flc" dump --recipes beside.fl > out
some 'points whose sums begin and end elsewhere meet in lanes' 'align n_before' out
cat > beside.fl << 'END'
entry loops [n] (a: [n]f64) (b: [n]f64) : []f64 =
  tabulate (2 * n - 1) (\k -> loop s = 0 for i in i64.max 0 (k - n + 1)...i64.min k (n - 1) do s + a[i] * b[k - i])
END
"$flc" dump --recipes beside.fl > out
some 'points whose loops begin and end elsewhere meet in lanes' 'align sum' out

cat > literals.fl << 'END'
entry main [n] (xs: [n]i32) : [n]i32 =
  let get i = if i >= 0 && i < n then xs[i] else 0
  in tabulate n (\i -> if xs[i] == 0 then 0 else i32.maximum [xs[i], get (i - 2), get (i - 1), get (i + 1), get (i + 2)])
END
"$flc" dump --recipes literals.fl > out
expect 'literals in branches are scalars' 0 '(alloc|reduce \{)' out
some 'branches with literals in them run in lanes' 'bind n to lane' out
cat > literals.fl << 'END'
entry main [n] [m] (a: [n][m]f32) : [n][m]f32 =
  let places = [(-1, 0), (1, 0), (0, -1), (0, 1)]
  in tabulate_2d n m (\i j -> f32.sum (map (\(di, dj) -> a[(i + di) % n, (j + dj) % m]) places))
END
"$flc" dump --flatten outer --recipes literals.fl > out
expect 'literals that points run over are scalars' 0 '(alloc|reduce \{)' out

cat > apart.fl << 'END'
entry along [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  map (\x -> (loop (s, out) = (1, replicate m 0) for i < m do let s = x[i] / s in (s, out with [i] = s)).1) xs
entry pages [n] (xs: [n][1024]f32) : [n][1024]f32 =
  map (\x -> (loop (s, out) = (1, replicate 1024 0) for i < 1024 do let s = x[i] / s in (s, out with [i] = s)).1) xs
entry read [n] [m] (xs: [n][m]f32) : [n]f32 = map (\x -> loop s = 1 for i < m do x[i] / s) xs
entry short [n] (xs: [n][2]f32) : [n][2]f32 =
  map (\x -> (loop (s, out) = (1, replicate 2 0) for i < 2 do let s = x[i] / s in (s, out with [i] = s)).1) xs
END
"$flc" dump --recipes apart.fl > out
some 'lanes store to rows where these do not meet in one set of the cache' '16 <= n_[0-9]+ && .* < .m_[0-9]+ \* 4 \+ 7. %% 4096' out
expect 'elsewhere, and where it is known that they do, fewer lanes do' 3 '^  split n by 8 overlap' out
expect 'what is only read, and short rows, may lie anywhere' 4 '^  (spread|split n by 16 overlap)' out

cat > valid.fl << 'END'
entry main [n] [m] [k] (img: [n][m]f32) (sums: [n - k + 1][m - k + 1]f32) (w: [k][k]f32) : [n][m]f32 =
  tabulate_2d n m (\i j ->
    f32.sum (map f32.sum (tabulate_2d k k (\a b ->
      let (y, x) = (i - a, j - b)
      in if y >= 0 && y < n - k + 1 && x >= 0 && x < m - k + 1 then #[unsafe] sums[y, x] * w[a, b] else 0))))
END
"$flc" dump --explain valid.fl > out
expect 'what is taken away from a size is taken for small: there is an interior' 0 'tiles of 4 rows.*inside of borders.*no condition' out

cat > ends.fl << 'END'
entry main [n] (xs: [n]u8) : [n / 4]u8 = tabulate (n / 4) (\i -> xs[4 * i + 1])
END
"$flc" dump --after imp ends.fl > out
some 'lanes check their indices at the first and the last of them' '^ +if not.*convert u64.*convert u64' out

cat > early.fl << 'END'
entry rows [n] [m] (xss: [n][m]i32) : [n]bool = map (all (>= 0)) xss
entry points [n] [m] (xs: [n]i32) (ys: [m]i32) : [n]bool = map (\x -> any (== x) ys) xs
END
"$flc" dump --after imp early.fl > out
some 'all of a row ends at the first that is not' '^ +while .* && all[(]' out
some 'any for points in lanes, when all of them have one' '^ +while .* && any[(]' out
cat > idle.fl << 'END'
entry triangles [n] (a: [n][n]bool) : [n]i64 =
  map (\r -> i64.sum (map2 (\x s -> i64.sum (map2 (\y z -> i64.bool (x && y && z)) r s)) r a)) a
END
"$flc" dump --after imp idle.fl > out
some 'a sum that hangs on a condition from outside has no rounds without it' 'let rounds_[0-9]+ : i64 = [(][a-z]+_[0-9]+ [?] .* : 0i64[)]' out

cat > divisors.fl << 'END'
entry counted (n: i64) : []bool = tabulate n (\k -> all (\d -> k % d != 0) (2...i64.max 2 (k / 2)))
entry narrow (ks: []i32) : []bool = map (\k -> all (\d -> k % d != 0) (2...k / 2)) ks
entry odd (n: i64) (r: i64) : []bool = tabulate n (\k -> all (\d -> k % (2 * d + 3) != 0) (iota r))
END
"$flc" dump --recipes divisors.fl > out
expect 'counters and a constant, odd numbers are no divisors by zero' 0 'check .*division by zero' out

cat > pairs.fl << 'END'
entry main [n] (xs: [n]u8) : [2 * n]u8 = tabulate (2 * n) (\i -> if i % 2 == 0 then xs[i / 2] >> 4 else xs[i / 2] & 15)
END
"$flc" dump --recipes pairs.fl > out
expect 'pairs of bytes are stored by loops of the device' 1 '^  split i by 128 overlap' out

cat > counted.fl << 'END'
entry main [n] [m] (xs: [n][m]u8) : [n]i32 = map (\r -> loop c = 0 for k < m do if r[k] < 7 then c + 1 else c) xs
END
"$flc" dump --recipes counted.fl > out
expect 'a loop that counts is a sum' 0 ' loop [(]' out

cat > halves.fl << 'END'
entry main [n] (xs: [n]f32) : [n]f32 =
  tabulate n (\i -> let h = n / 2 in
    if i < h then xs[2 * i] + xs[2 * i + 1]
    else if i < 2 * h then xs[2 * (i - h)] - xs[2 * (i - h) + 1]
    else xs[i])
END
"$flc" dump --recipes halves.fl > out
expect 'blocks on both sides of a border have a form each' 2 'if usually ' out
cat > moved.fl << 'END'
entry main [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  tabulate_2d n m (\i j -> if j < m / 2 then xs[i, 2 * j] else xs[i, 2 * (j - m / 2)] + 1)
entry through [n] [m] (xs: [n][m]f32) (is: [n]i64) : [n][m]f32 =
  tabulate_2d n m (\i j -> if j < m / 2 then xs[is[i], j] else 0)
END
"$flc" dump --explain moved.fl > out
expect 'rows that only move are not made together' 6 'tiles of 4 rows by 1 vectors: rows read nothing' out
cat > near.fl << 'END'
entry near [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  tabulate_2d n m (\i j -> xs[i, j] + xs[i64.max 0 (i - 1), j])
entry turned [n] [m] (xs: [m][n]f32) (ys: [m]f32) : [n][m]f32 =
  tabulate_2d n m (\i j -> xs[j, i] + ys[j])
entry shared [n] [m] (xs: [n]f32) (ys: [m]f32) : [n][m]f32 =
  tabulate_2d n m (\i j -> xs[i] + ys[j])
END
"$flc" dump --explain near.fl > out
expect 'those that read the same, or near by, may be' 0 'rows read nothing in common' out

cat > shared.fl << 'END'
entry main [n] (xs: [n]i32) : ([n]i32, [n]i64) =
  let sums = scan (+) 0 xs
  let most = scan i32.max i32.lowest xs
  in unzip (map3 (\x s m -> (x + m - s, i64.i32 s)) xs sums most)
END
"$flc" dump --recipes shared.fl > out
expect 'two scans and what reads them are one' 1 '^kernel main.segscan_chunks ' out
expect 'and leave nothing to a map' 0 '^kernel main.segmap' out

cat > joined.fl << 'END'
entry main [n] (m: i64) (as: [n]i64) (bs: [n]i64) : i64 =
  let (p, c) = loop (p, c) = (iota m, m) for i < n do
    if as[i] == bs[i] then (p, c)
    else if as[i] < bs[i] then (p with [bs[i]] = p[as[i]], c - 1)
    else (loop p for k < 2 do p with [as[i]] = p[bs[i]] + k, c - 1)
  in p[0] + c
END
"$flc" dump --recipes joined.fl > out
expect 'branches within branches update one array' 0 'alloc' out

cat > few_rows.fl << 'END'
entry main [k] [n] (xs: [k][n]f64) : [k][n]f64 =
  map (\x ->
    let c = loop c = replicate n 0 for i < n - 1 do c with [i + 1] = 1 / (4 - c[i])
    in loop m = replicate n 0 for i < n - 1 do m with [i + 1] = x[i] / c[n - 1 - i] - m[n - 1 - i]) xs
END
"$flc" dump --recipes few_rows.fl > out
some 'rows that read what they store: lanes are for as many rows' 'where k >= 16' out

cat > probed.fl << 'END'
entry main [n] [m] (table: [m]i64) (keys: [n]i64) : [n]i64 =
  map (\k -> (loop (at, t) = (k % m, 0i64) while t < 5 && table[at] != k do ((at + 1) % m, t + 1)).0) keys
END
"$flc" dump --after imp probed.fl > code
expect 'the next place in a table is found without division' 1 '%' code

cat > exchanged.fl << 'END'
entry main [n] (xs: [n]i32) : [n]i32 =
  loop row = copy xs for j < n - 1 do
    if row[j] > row[j + 1]
    then let (a, b) = (row[j], row[j + 1]) in (row with [j] = b) with [j + 1] = a
    else row
END
"$flc" dump --recipes exchanged.fl > out
some 'neighbours that are exchanged wait for no jump' '^ .*row_[0-9]+\[.*\] = select\(lt' out

cat > floats.fl << 'END'
entry main [n] (xs: [n]f32) : [n]f32 =
  let sums = scan (+) 0 xs
  let total = if n > 0 then sums[n - 1] else 1
  in map (/ total) sums
END
"$flc" dump --recipes floats.fl > out
expect 'a sum of floats in another order is another total' 0 '^kernel main.segred' out

cat > columns.fl << 'END'
entry sums [n] [m] (xs: [n][m]f32) : [m]f32 = map f32.sum (transpose xs)
entry product [n] [m] [k] (a: [n][m]f32) (b: [n][k]f32) : [m][k]f32 =
  map (\x -> map (\y -> f32.sum (map2 (*) x y)) (transpose b)) (transpose a)
END
"$flc" dump --recipes columns.fl > out
some 'columns are read as memory lies' 'sweep m0 by 1$' out
some 'few of them, four rows at once, in vectors of eight' 'sweep m0 by 4$' out
some 'from eight columns on' 'where m >= 8$' out
awk '/^kernel / { of_product = /^kernel product/ && !/_sum / } of_product' out > product
expect 'columns that are read again and again are not' 0 'sweep' product
cat > weighted.fl << 'END'
entry main [n] [m] (xs: [n][m]f32) (ws: [n]f32) : [m]f32 =
  map (\x -> f32.sum (map2 (*) x ws)) (transpose xs)
END
"$flc" dump --recipes weighted.fl > out
some 'weights that are the same for all columns do not stand in the way' 'sweep m0 by 1$' out
cat > along.fl << 'END'
entry main [n] [m] (xs: [n][m]f32) (ys: [m][n]f32) : [m]f32 =
  map2 (\x y -> f32.sum (map2 (*) x y)) (transpose xs) ys
END
"$flc" dump --recipes along.fl > out
expect 'rows that each column has for itself do' 0 'sweep' out

cat > pooled.fl << 'END'
entry main [n] [m] (xs: [n][m]f32) : [][]f32 =
  tabulate_2d (n / 2) (m / 2) (\i j -> f32.max xs[2 * i, 2 * j] xs[2 * i, 2 * j + 1])
END
"$flc" dump --after imp pooled.fl > code
some 'elements that lie two apart are picked from vectors' 'permute\(.*\)\{0 2 4 6' code
some 'and those beside them from the same' 'permute\(.*\)\{1 3 5 7' code

cat > flat.fl << 'END'
entry main [a] (n: i64) (m: i64) (xs: [a]f32) : [n][m]f32 =
  tabulate_2d n m (\i j -> xs[i * m + j] + xs[i * m + j + 1])
END
"$flc" dump --recipes flat.fl > code
some 'what all points check is no border' 'split m by 128 overlap' code

cat > slices.fl << 'END'
entry main [n] (xs: [n]u8) : []u8 = map (\i -> u8.i32 (i32.sum (map i32.u8 xs[4 * i:4 * i + 4]) / 4)) (iota (n / 4))
END
"$flc" dump --recipes slices.fl > out
"$flc" dump --after imp slices.fl > code
expect 'slices of four are checked as indices are' 0 ' == add_' out
some 'bytes of slices of four are loaded as whole lines' 'let turned_' code

cat > records.fl << 'END'
entry main [n] (ms: [n][3][3]f32) : [n]f32 = map (\m -> m[0, 0] * m[1, 1] - m[0, 1] * m[1, 0]) ms
END
"$flc" dump --after imp records.fl > code
some 'neighbours in records are loaded at once' ' 4 at once' code

cat > between.fl << 'END'
entry main [n] [d] (ms: [n][d]f32) : [n]f32 = map (\m -> m[0] * m[1]) ms
END
"$flc" dump --after imp between.fl > code
expect 'but none that may not be there' 0 ' at once' code

cat > best.fl << 'END'
def insert [k] (best: *[k]f32) (x: f32) : *[k]f32 = (loop (x, best) for i < k do if x < best[i] then let t = best[i] in (t, best with [i] = x) else (x, best)).1
entry main [n] [m] (xs: [n][m]f32) : [n][4]f32 = map (\r -> loop best = replicate 4 f32.inf for x in r do insert best x) xs
entry long [n] [m] (xs: [n][m]f32) : [n][40]f32 = map (\r -> loop best = replicate 40 f32.inf for x in r do insert best x) xs
END
"$flc" dump --recipes best.fl > out
some 'the best so far are numbers of the point' 'alloc best_[0-9]+: .4.f32 own' out
some 'and so are longer rows, with lanes side by side, on which loops of loops work' 'alloc best_[0-9]+: .40.f32 own' out

cat > small.fl << 'END'
entry main [n] (as: [n][4][4]f32) (bs: [n][4][4]f32) : [n][4][4]f32 =
  map2 (\a b -> map (\x -> map (\y -> f32.sum (map2 (*) x y)) (transpose b)) a) as bs
entry three [n] (as: [n][3][3]f32) (bs: [n][3][3]f32) : [n][3][3]f32 =
  map2 (\a b -> map (\x -> map (\y -> f32.sum (map2 (*) x y)) (transpose b)) a) as bs
entry five [n] (as: [n][3][5]f32) : [n][3]f32 = map (map f32.sum) as
END
"$flc" dump --explain small.fl > out
some 'rows of small matrices go in lanes' 'short (rows of 4|maps within points) in lanes +<- choice 1' out
some 'and where they are too short for that, points do' '16 points in lanes, short axes unrolled +<- choice 1' out

cat > ordered.fl << 'END'
entry main [n] (xs: [n]i32) : i32 = reduce (\a b -> if b == 0 then a else b) 0 xs
END
"$flc" dump --recipes ordered.fl > out
some 'lanes take a piece of the row each' '^  split n into 16' out
"$flc" dump --after imp ordered.fl > code
some 'and load four elements of it at once' ' 4 at once' code

cat > least.fl << 'END'
entry main [n] [m] (xss: [n][m]f32) : [n](f32, i64) =
  let less (x, i) (y, j) : (f32, i64) = if x < y || (x == y && i < j) then (x, i) else (y, j)
  in map (\xs -> reduce_comm less (f32.inf, i64.highest) (zip xs (iota m))) xss
END
"$flc" dump --recipes least.fl > out
some 'of short rows, each has a lane' '^  where m < 64' out

cat > distances.fl << 'END'
entry main [n] [m] [d] (ps: [n][d]f32) (qs: [m][d]f32) : [n]f32 =
  map (\p -> f32.minimum (map (\q -> f32.sum (map2 (\x y -> (x - y) * (x - y)) p q)) qs)) ps
END
"$flc" dump --recipes distances.fl > out
some 'rows that many others are compared with lie side by side' '^  stage m' out

cat > energies.fl << 'END'
entry by_loops [n] [m] [d] (ps: [n][d]f32) (qs: [m][d]f32) : f32 =
  f32.sum (map (\p -> f32.sum (map (\q -> f32.exp (loop s = 0 for k < d do s + p[k] * q[k])) qs)) ps)
entry by_columns [n] [m] [d] (ps: [n][d]f32) (qs: [d][m]f32) : f32 =
  f32.sum (map (\p -> f32.minimum (map (\q -> f32.sum (map2 (*) p q)) (transpose qs))) ps)
END
"$flc" dump --explain energies.fl > out
some 'what is summed up over pairs has rows side by side' 'sums of loops in lanes, rows staged, pairs by fours +<- choice 1' out
some 'long rows go together' 'pairs of 4 rows by [12] vectors +<- choice 2' out
some 'and columns, where they lie side by side' 'pairs of 4 rows by 2 vectors +<- choice' out

cat > product.fl << 'END'
entry main [n] [m] [k] (a: [k][n]f32) (b: [m][k]f32) : [n][m]f32 =
  map (\row -> map (\column -> f32.sum (map2 (*) row column)) b) (transpose a)
END
"$flc" dump --recipes product.fl > out
some 'large products have panels' '^  stage n0' out
cat > product.fl << 'END'
entry main [n] [m] [k] (a: [n][k]f32) (b: [k][m]f32) : [n][m]f32 =
  tabulate_2d n m (\i j -> loop s = 0 for l < k do s + a[i, l] * b[l, j])
END
"$flc" dump --recipes product.fl > out
some 'so do products by loops' '^  stage n0' out

cat > places.fl << 'END'
entry main [n] [m] (xss: [n][m]f32) : [n]i32 =
  let less (x, i) (y, j) : (f32, i32) = if x < y || (x == y && i < j) then (x, i) else (y, j)
  in map (\xs -> (reduce_comm less (f32.inf, i32.highest) (zip xs (map i32.i64 (iota m)))).1) xss
END
"$flc" dump --after imp places.fl > code
expect 'numbers of places are not stored' 0 'global m_[0-9]+ i32' code

cat > triangle.fl << 'END'
entry main [n] (a: [n][n]f32) (x: [n]f32) : [n]f32 =
  map (\i -> f32.sum (map (\k -> if k < i then a[i, k] * x[k] else 0) (iota n))) (iota n)
END
"$flc" dump --recipes triangle.fl > out
some 'loops end where a comparison changes' '^  cut n_2' out

cat > pairs.fl << 'END'
entry main [n] (xs: [n]f32) : f32 =
  f32.sum (map (\x -> (loop (x, s) = (x, 0) for _i < 10i32 do (3.9 * x * (1 - x), s + x)).1) xs)
END
"$flc" dump --recipes pairs.fl > out
some 'what loops compute is summed up in lanes' '^  bind n to lane' out

cat > looked_up.fl << 'END'
entry main [n] [m] (a: [n][m]f32) (u: f32) (v: f32) : f32 =
  let x = i64.f32 u let y = i64.f32 v
  in if x < 0 || y < 0 || x + 1 >= m || y + 1 >= n then 0 else a[y, x] + a[y, x + 1] + a[y + 1, x] + a[y + 1, x + 1]
entry map [n] [m] [k] (a: [n][m]f32) (u: [k]f32) (v: [k]f32) = map2 (\u v -> main a u v) u v
END
"$flc" dump --recipes looked_up.fl > out
expect 'what is checked and tested is not checked again' 0 'check 0 <=' out

cat > smoothed.fl << 'END'
entry main [n] (x: [n][n]f32) : [n][n]f32 =
  loop x = copy x for _k < 3 do
    loop x for i in 1..<n - 1 do
      loop x for j in 1..<n - 1 do x with [i, j] = x[i - 1, j] + x[i + 1, j]
END
"$flc" dump --recipes smoothed.fl > out
expect 'loops within loops copy nothing' 0 'alloc' out

cat > eliminated.fl << 'END'
entry main [n] (a: [n][n]f32) : [n][n]f32 =
  loop a = copy a for k < n do
    tabulate_2d n n (\i j -> if i > k && j > k then a[i, j] - a[i, k] * a[k, j] else a[i, j])
END
"$flc" dump --explain eliminated.fl > out
expect 'the index of a loop of the host is not taken to be small' 0 'inside of borders  <-' out

"$flc" dump --recipes eliminated.fl > out
sed -n '/^kernel main.segmap_3 /,/^kernel main.segmap_4 /p' out > first
some 'what an elimination leaves is made where it was' 'let .* = mapped_[0-9]+\[k_[0-9]+, ' first
expect 'of the old matrix nothing is read' 0 ' = a_[0-9]+\[' first
some 'and loops have no part for what stays' '^  cut n_2$' first
some 'loops within a kernel do not go on with another copy' 'in \{place_[0-9]+, spare_[0-9]+\}' out

cat > by_element.fl << 'END'
entry main [n] (a: [n][n]f32) : [n][n]f32 =
  loop a = copy a for _k < n do map (map (\x -> if x > 1 then x / 2 else x)) a
END
"$flc" dump --recipes by_element.fl > out
expect 'what differs from element to element is chosen, not branched on' 0 '^  -- {3,}if ' out

cat > turned_letters.fl << 'END'
entry main [n] (t: [n]u8) : [n]u8 =
  map (\c -> if c >= 97 && c <= 122 then (c - 84) % 26 + 97 else if c >= 65 && c <= 90 then (c - 52) % 26 + 65 else c) t
END
"$flc" dump --recipes turned_letters.fl > out
some 'remainders by constants are chosen between as well' 'select\(land_' out

cat > turned.fl << 'END'
entry main [k] (n: i64) (xs: [k]f32) : [k]f32 = map (\t -> xs[(t % n) * (k / n) + t / n]) (iota k)
entry around [n] (xs: [n]f32) : [n]f32 = map (\t -> xs[t] + xs[(t + 1) % n]) (iota n)
END
"$flc" dump --recipes turned.fl > out
sed -n '/^kernel main.segmap /,/^kernel main.segmap_in_one /p' out > rows
expect 'where the array has whole rows, they become axes' 0 'let .* = i_[0-9]+ (/|%|//|%%) ' rows
sed -n '/^kernel main.segmap_in_one /,/^kernel main.segmap_in_one_divided /p' out > quick
some 'else indices are multiplied instead of divided by what is the same at all points' '>> 32' quick
expect 'and not divided' 0 'let .* = i_[0-9]+ (/|%|//|%%) ' quick
expect 'but where they might be large' 1 '^kernel main.segmap_in_one_divided ' out
expect 'neighbours around a torus need no division' 0 '^kernel around.segmap_divided ' out

cat > flat.fl << 'END'
entry main [s] (n: i64) (m: i64) (u: [s]f32) : [s]f32 =
  tabulate s (\p ->
    let i = p / m
    let j = p % m
    in if i == 0 || i == n - 1 || j == 0 || j == m - 1 then 0 else u[p] - u[p - m] - u[p + 1])
END
"$flc" dump --recipes flat.fl | sed '/^kernel main.segmap_in_one /,$d' > out
some 'rows of flat arrays go in tiles' '^  bind n to reg' out
some 'inside of borders' 'if usually inside' out

cat > rows.fl << 'END'
entry main [n] [m] (a: [n]f32) (b: [m]f32) : []f32 = tabulate (n * m) (\i -> a[i / m] * b[i % m])
entry constant [n] (a: [n]i32) : []i32 = tabulate (n * 4) (\i -> a[i / 4] * i32.i64 (i % 4))
entry product [n] [m] [p] (a: [n][m]f32) (b: [p][p]f32) : [][]f32 =
  tabulate_2d (n * p) (m * p) (\i j -> a[i / p, j / p] * b[i % p, j % p])
END
"$flc" dump --recipes rows.fl > out
sed -n '/^kernel main.segmap /,/^kernel main.segmap_in_one /p' out > quick
expect 'rows in one dimension are an axis of their own, whose index nothing divides' 0 'let .* = i_[0-9]+ (/|%|//|%%) ' quick
expect 'where the product cannot wrap' 1 '^kernel main.segmap_in_one ' out
expect 'but not rows of four' 0 '^kernel constant.segmap_in_one ' out
sed -n '/^kernel product.segmap_2_short_rows /,/^kernel product.segmap_2_short_rows_divided /p' out > short
some 'of short rows in rows of a matrix points make the rows' 'axis m: [^ ]+ < m_[0-9]+ map ' short
expect 'and check only what goes by the rows around them' 0 'check [^"]*< m_' short

cat > constant.fl << 'END'
entry main [s] (u: [s]i32) : [s]i32 = tabulate s (\i -> u[i / 8 * 8 + 7 - i % 8])
entry bits [s] (u: [s]i32) : [s]i32 = tabulate s (\i -> u[(i >> 3) * 8 + 7 - (i & 7)])
entry patches [n] (u: [n]i32) : [][9]i32 = tabulate_2d (n - 10) 9 (\i k -> u[i + k / 3 * 4 + k % 3])
entry numbers (s: i64) : [s]i64 = tabulate s (\i -> i / 8)
entry remainders [s] (u: [s]i32) : [s]i32 = tabulate s (\i -> u[i] + u[i % 8])
entry fours [s] (u: [s]i32) : [s]i32 = tabulate s (\i -> u[i / 4 * 4 + 3 - i % 4])
entry waves [s] (u: [s]f32) : [s]f32 = tabulate s (\i -> f32.sin u[i / 8 * 8 + 7 - i % 8])
entry by_three [s] (k: i64) (u: [s]i32) : [s]i32 = tabulate s (\i -> u[(i >> k) + (i & 6)])
END
"$flc" dump --recipes constant.fl > out
expect 'rows of constant length, which the host counts, are an axis' 1 '^kernel main.segmap_in_one ' out
expect 'shifts and masks find them, too' 1 '^kernel bits.segmap_in_one ' out
sed -n '/^kernel patches.segmap_2 /,/^kernel numbers/p' out > patches
expect 'an axis of nine is three by three' 0 'let .* = i_[0-9]+ (/|%) 3' patches
expect 'where no row is read nothing is divided' 0 '^kernel numbers.segmap_in_one ' out
expect 'nor where its number is not' 0 '^kernel remainders.segmap_in_one ' out
expect 'rows of four go in phases' 0 '^kernel fours.segmap_in_one ' out
expect 'long points go in full lanes' 0 '^kernel waves.segmap_in_one ' out
expect 'shifts by what is not constant, and masks with gaps, find no rows' 0 '^kernel by_three.segmap_in_one ' out

cat > numbers.fl << 'END'
entry main [n] (s: [n][8]u8) : [n]i32 = map (\r -> loop v = 0 for c in r do v * 10 + i32.u8 c) s
entry long [n] (s: [n][32]u8) : [n]i32 = map (\r -> loop v = 0 for c in r do v * 10 + i32.u8 c) s
END
"$flc" dump --recipes numbers.fl > out
expect 'a loop over a short row is straight code, of a longer one four rounds' 1 '^  split i by 4 peel' out

# loops COUNT: a program whose points have so many short loops
loops() {
  printf '%s\n' 'entry main [n] (s: [n][8]u8) : [n]i32 = map (\r -> let v = 0'
  for k in $(seq "$1"); do echo "  let v = loop v for c in r do v * $k + i32.u8 c"; done
  echo '  in v) s'
}
loops 90 > some.fl
"$flc" dump --recipes some.fl > out
expect 'dozens of short loops are straight code' 90 '^  unroll i' out
loops 110 > hundred.fl
"$flc" dump --recipes hundred.fl > out
expect 'of hundreds nobody asks whether they had better be' 0 '^  unroll i' out

cat > divided.fl << 'END'
entry main [n] (xs: [n]i64) : [n]i64 = map (\x -> x / 8 + x % 16) xs
END
"$flc" dump --after imp divided.fl > code
expect 'powers of two divide by bits' 0 'x_[0-9]+ (//|%%) ' code
some 'powers of two divide by bits' 'x_[0-9]+ >> ' code

cat > bytes.fl << 'END'
entry main [n] [m] (image: [n][m]u8) : [n][m]u8 =
  let at i j = i32.u8 image[i64.max 0 (i64.min (n - 1) i), i64.max 0 (i64.min (m - 1) j)]
  in map (\i -> map (\j -> u8.i32 (i32.sum (map (\k -> at i (j + k - 1)) (iota 3)) / 3)) (iota m)) (iota n)
END
"$flc" dump --recipes bytes.fl > out
some 'rows of bytes are left to the compiler of the device' '^  split m by 128 overlap$' out
some 'with windows as straight code' '^  unroll i' out
some 'and sums of bytes in 16 bits' ': u16 = ' out

cat > searched.fl << 'END'
entry main [n] [m] (table: [m]f64) (xs: [n]f64) : [n]i64 =
  map (\x -> if x < table[0] then 0 else
    (loop (low, high) = (0, m - 1) while high - low > 1 do
       let middle = (low + high) / 2
       in if table[middle] <= x then (middle, high) else (low, middle)).0) xs
END
"$flc" dump --recipes searched.fl > out
some 'searches by many points run in lanes, as their choices are not foreseen' '^  bind n to lane' out
some 'places in small arrays have 32 bits' '^ +-- +let middle_[0-9]+: i32 = ' out
"$flc" build --emit-c searched.fl -o searched.c
some 'and are loaded by that' 'gather_few_f64_16g[(]table_[0-9]+, ' searched.c

cat > counted.fl << 'END'
entry main [n] [m] (xs: [n][m]f32) : [n]f32 =
  map (\row -> (loop (s, t) = (0, 0i64) for _i < m do (s + row[t], t + 1)).0) xs
END
"$flc" dump --recipes counted.fl > out
expect 'what a loop counts up is its index, which needs no check' 0 ' check ' out

cat > waits.fl << 'END'
entry main [n] [t] (xs: [t][n]f32) : [n]f32 =
  map (\column -> (loop (s1, s2) = (0f32, 0f32) for x in column do
    let y = 0.2 * x + s1
    in (0.3 * x + 0.5 * y + s2, 0.2 * x - 0.3 * y)).0) (transpose xs)
END
"$flc" dump --recipes waits.fl > out
some 'where a round waits for the one before, several vectors of points wait together' '^  bind n1 to reg' out

cat > paths.fl << 'END'
entry main [n] (d: [n][n]f32) : [n][n]f32 =
  loop d for k < n do tabulate_2d n n (\i j -> f32.min d[i, j] (d[i, k] + d[k, j]))
entry narrow [n] (d: [n][n]i8) : [n][n]i8 =
  loop d for k < n do tabulate_2d n n (\i j -> i8.min d[i, j] (d[i, k] + d[k, j]))
END
"$flc" dump --recipes paths.fl > out
expect 'rounds change a matrix in place, for which they keep a row; not one of bytes' 1 'let kept_[0-9]+: f32 = ' out

cat > fields.fl << 'END'
entry main [n] (t: i64) (e: [n][n]f32) : [n][n]f32 =
  (loop (e, h) = (e, replicate n (replicate n 0)) for _i < t do
     let h = tabulate_2d n n (\i j -> if j < n - 1 then h[i, j] - e[i, j + 1] + e[i, j] else h[i, j])
     in (tabulate_2d n n (\i j -> if j > 0 then e[i, j] + h[i, j - 1] - h[i, j] else e[i, j]), h)).0
END
"$flc" dump --recipes fields.fl | sed '1,/ loop (place/d' > out
expect 'fields that take turns are changed in place, though rounds read what they have stored' 0 '\[spare' out
some 'borders are apart where lanes would wait for gathers' '_high: |if usually inside' out

cat > labels.fl << 'END'
entry main [n] (l: [n][n]i32) : [n][n]i32 =
  tabulate_2d n n (\i j ->
    if l[i, j] < 0 then -1
    else let above = if i > 0 then l[i - 1, j] else -1
         let left = if j > 0 then l[i, j - 1] else -1
         in l[i, j] `i32.max` above `i32.max` left)
END
"$flc" dump --recipes labels.fl > out
some 'inside of borders data choose between values, without masks' 'select\(lt_[0-9]+, -1i32, max' out
some 'in rows for the compiler of the device' '^  split n_?[0-9]* by 128 overlap' out

cat > chain.fl << 'END'
entry main [n] [m] (k: i64) (a: [n][m]i64) (b: [m]i64) : [n]i64 =
  map (\i -> i64.minimum (map (\j -> a[i, j] + b[j + k]) (iota (m - k)))) (iota n)
END
"$flc" dump --recipes chain.fl > out
some 'rows are in lanes without checks that hold at all of their points' '^  interior$' out

cat > few.fl << 'END'
entry rows [n] (k: i64) (is: [n]i32) : [n][k]f32 = map (\i -> map (\j -> if j == i64.i32 i then 1 else 0) (iota k)) is
entry grid [n] [m] (a: [n][m]f32) : [n][m]f32 = map reverse a
END
"$flc" dump --recipes few.fl > out
some 'rows of few points run in as many lanes as they fill: 8' '^  split k by 8 overlap' out
some 'or 4' '^  split k by 4 overlap' out
some 'so do few columns of the grid' '^  split m by 8 overlap' out

cat > counted.fl << 'END'
entry some [n] (xs: [n]i32) : [100]i32 =
  hist (+) 0 100 (map (\x -> if x > 7 then i64.i32 x else -1) xs) (replicate n 1)
entry in_plane [n] (xs: [n]f32) (ys: [n]f32) : [10000]i32 =
  hist (+) 0 10000 (map2 (\x y -> i64.f32 x * 100 + i64.f32 y) xs ys) (replicate n 1)
entry windows [n] (xs: [n]u8) : [100]i32 =
  let code i = loop c = 0 for j < 3 do c * 4 + i64.u8 xs[i + j]
  in hist (+) 0 100 (map code (iota (n - 2))) (replicate (n - 2) 1)
END
"$flc" dump --recipes counted.fl > out
expect 'bins that may be none, or that floats or short loops make, are collected' 6 '^  collect (n|sub) by' out
cat > plain.fl << 'END'
entry main [n] (xs: [n]i32) (ys: [n]f32) : [100]f32 = hist (+) 0 100 (map i64.i32 xs) ys
END
"$flc" dump --recipes plain.fl > out
expect 'bins that are only loaded are not' 0 '^  collect ' out

cat > distances.fl << 'END'
entry main [n] [m] [d] (ps: [n][d]f32) (qs: [m][d]f32) : [n][m]f32 =
  map (\p -> map (\q -> f32.sqrt (f32.sum (map2 (\x y -> (x - y) * (x - y)) p q))) qs) ps
END
"$flc" dump --explain distances.fl > out
some 'panels are for long sums' 'panels of columns +<- choice 2' out
some 'before them stand tiles for short ones' 'short rows: tiles of 4 rows by 2 vectors +<- choice 1' out
some 'behind them tiles of rows, for few columns' 'tiles of rows by rows +<- choice 3' out

cat > tries.fl << 'END'
entry least_divisors [n] (xs: [n]i32) : [n]i32 = map (\x -> loop d = 2 while d * d <= x && x % d != 0 do d + 1) xs
entry common_divisors [n] (xs: [n]i32) (ys: [n]i32) : [n]i32 =
  map2 (\a b -> (loop (a, b) = (a, b) while b != 0 do (b, a % b)).0) xs ys
END
"$flc" dump --recipes tries.fl > out
expect 'loops that try candidates until one fits run point by point, others in lanes' 1 '^  bind n to lane' out
cat > escapes.fl << 'END'
entry main [n] (xs: [n]f32) : [n]i32 =
  map (\x -> (loop (y, k) = (x, 0) while k < 100 && y * y < 4 do (y * y + x, k + 1)).1) xs
END
"$flc" dump --recipes escapes.fl > out
some 'two vectors whose rounds do not wait for each other' '^  bind n1 to reg' out

cat > bits.fl << 'END'
entry walsh [n] (k: i64) (xs: [n]f32) : [n]f32 =
  tabulate n (\i -> let j = i ^ (1 << k) in if i < j then xs[i] + xs[j] else xs[j] - xs[i])
entry by_bits [n] (k: i64) (xs: [n]f32) : [n]f32 =
  tabulate n (\i -> let h = 1 << k in if i & h == 0 then xs[i] + xs[i ^ h] else xs[i ^ h] - xs[i])
END
"$flc" dump --recipes bits.fl > out
some 'exchanges with a partner that differs in a bit load vectors' 'let j_[0-9]+: i64 = i_[0-9]+ - i_[0-9]+ \+ first' out
some 'in blocks of one outcome, which is asked once' 'let lt_[0-9]+: bool = i_[0-9]+ < 0 - i_[0-9]+ \+ first' out
cat > butterfly.fl << 'END'
entry main [n] (k: i64) (xs: [n]f32) (w: [n]f32) : [n]f32 =
  let h = 1 << k
  in tabulate n (\i -> let a = i & !h let y = w[i & (h - 1)] * xs[a | h] in if i & h == 0 then xs[a] + y else xs[a] - y)
END
"$flc" dump --recipes butterfly.fl > butterfly
some 'a bit that is taken away leaves lanes side by side' 'let a_[0-9]+: i64 = i_[0-9]+ - i_[0-9]+ \+ first' butterfly
some 'and so is a bit' 'let and_[0-9]+: i64 = first_[0-9]+$' out

cat > losses.fl << 'END'
entry main [n] [m] (xss: [n][m]f32) (labels: [n]i64) : f32 =
  f32.sum (map2 (\xs l -> f32.log (f32.sum (map f32.exp xs)) - xs[l]) xss labels)
END
"$flc" dump --recipes losses.fl > out
expect 'a sum of short rows has them in lanes, in chunks or not' 4 '^  where m < 64' out

cat > board.fl << 'END'
entry main [n] [m] (a: [n][m]i32) (k: i64) : [n][m]i32 =
  loop l = a for _t < k do
    tabulate_2d n m (\i j ->
      if l[i, j] < 0 then -1 else
      let u = if i > 0 then l[i - 1, j] else 0
      let w = if j > 0 then l[i, j - 1] else 0
      let e = if j < m - 1 then l[i, j + 1] else 0
      in i32.max (u * u + 3 * w) (i32.max (w * w - e) (i32.max (e * 5 + u) (u + w * e))))
END
"$flc" dump --explain board.fl > out
some 'rows within rounds are blocks, some of them inside of borders' \
  'rows in vectors, (with an interior|inside of borders) +<- choice 1$' out

cat > exchanges.fl << 'END'
entry main [n] (x: [n]i32) : [n]i32 =
  loop v = copy x for t < n do
    tabulate n (\i -> if (i + t) % 2 == 0 then (if i + 1 < n then i32.min v[i] v[i + 1] else v[i])
                      else if i > 0 then i32.max v[i - 1] v[i] else v[i])
END
"$flc" dump --recipes exchanges.fl > out
expect 'of little work lanes do what phases would tell apart in each round' 0 ' let first_[0-9]+: i64' out

cat > words.fl << 'END'
def space (c: u8) = c == 32 || c == 10
entry main [n] (t: [n]u8) : i64 =
  i64.sum (tabulate n (\i -> i64.bool (!(space t[i]) && (i == 0 || space t[i - 1]))))
entry last [n] (t: [n]u8) : i64 =
  i64.sum (tabulate n (\i -> i64.bool (!(space t[i]) && (i == n - 1 || space t[i + 1]))))
entry long [n] (t: [n]i32) : i32 =
  i32.sum (map (\x -> if x > 3 then x * x * x + 2 * x * x - 5 * x + x * (x ^ 7) else x) t)
entry longer [n] (t: [n]i32) : i32 =
  i32.sum (map (\x -> if x > 3 then x * x * (x + 1) * (x + 2) * (x ^ 1) * (x ^ 2) * (x ^ 3) * (x + 4) * (x + 5) * (x + 6)
    * (x ^ 8) * (x ^ 9) * (x ^ 10) * (x ^ 11) * (x ^ 12) * (x ^ 13) * (x ^ 14) * (x ^ 15) * (x ^ 16) else x) t)
entry three [n] (t: [n]u8) : i64 =
  i64.sum (tabulate n (\i -> i64.bool (i + 2 < n && t[i] == 't' && t[i + 1] == 'h' && t[i + 2] == 'e')))
entry data [n] (t: [n]i64) : i64 =
  i64.sum (tabulate n (\i -> if t[i] > 0 && i >= t[i] then t[i - t[i]] else 0))
END
"$flc" dump --explain words.fl > out
for entry in main last; do
  sed -n "/^$entry.segred_chunks:/,/^$entry.segred_combine/p" out > one
  some "branches that load inside of arrays, by conditions of their own, are choices: $entry" \
    ' rows in parts +<- choice 1$' one
done
sed -n '/^long.segred_chunks:/,/^long.segred_combine/p' out > one
expect 'so are those of some length' 0 'control that differs' one
sed -n '/^three.segred_chunks:/,/^three.segred_combine/p' out > one
expect 'conditions of a chain hold behind them: nothing is checked, data decides no branch' 1 '= if | check ' one
for entry in longer data; do
  sed -n "/^$entry.segred_chunks:/,/^$entry.segred_combine/p" out > one
  expect "long ones, and what data leads to, are none: $entry" 1 '^ +let .* = if ' one
  some "they run in vectors with one accumulator: $entry" ' rows in vectors +<- choice 1$' one
done

cat > descent.fl << 'END'
entry main [n] [d] (x: [n][d]f32) (y: [n]f32) : [d]f32 =
  loop w = replicate d 0 for _i < 200 do
    let e = map2 (\r y -> f32.sum (map2 (*) r w) - y) x y
    let g = map (\c -> f32.sum (map2 (*) c e)) (transpose x)
    in map2 (\w g -> w - 0.1 * g) w g
END
"$flc" dump --recipes descent.fl > out
some 'what fills no vector within points goes in short ones' '^  split d_[0-9]+_rest by 4 peel' out

cat > tried.fl << 'END'
entry prime [n] (xs: [n]i32) : [n]bool =
  map (\x -> x >= 2 && (loop (ok, d) = (true, 2) while ok && d * d <= x do (x % d != 0, d + 1)).0) xs
entry newton [n] (xs: [n]f64) : [n]f64 =
  map (\x -> (loop (y, k) = (x, 0i32) while k < 50 && f64.abs (y * y - x) > 1e-12 do ((y + x / y) / 2, k + 1)).0) xs
entry tree [n] [k] (l: [k]i32) (r: [k]i32) (th: [k]f32) (xs: [n]f32) : [n]i32 =
  map (\x -> loop p = 0 while l[p] >= 0 do if x < th[p] then l[p] else r[p]) xs
END
"$flc" dump --recipes tried.fl > out
sed -n '/^kernel prime/,/^kernel newton/p' out > prime
sed -n '/^kernel newton/,/^kernel tree/p' out > newton
sed -n '/^kernel tree/,$p' out > tree
expect 'points that each try numbers until one fits do not wait for one another' 0 'bind n to lane' prime
some 'points that compute until all are near do' 'bind n to lane' newton
expect 'points that load in rounds of their own do not' 0 'bind n to lane' tree

cat > stream.fl << 'END'
def mixed [n] [m] [k] (f: [k][n][m]f32) : [n][m][k]f32 =
  map (map (\c -> let s = f32.sum c in map (\x -> 0.5 * x + 0.1 * s) c)) (map transpose (transpose f))
entry main [n] [m] (start: [9][n][m]f32) (k: i64) : [9][n][m]f32 =
  loop f = start for _t < k do
    let g = mixed f in tabulate_3d 9 n m (\q i j -> g[i, j, q])
entry long [n] [m] (start: [30][n][m]f32) (k: i64) : [30][n][m]f32 =
  loop f = start for _t < k do
    let g = mixed f in tabulate_3d 30 n m (\q i j -> g[i, j, q])
END
"$flc" dump --explain stream.fl > out
sed -n '/^main.segmap: /,/^long/p' out > short
sed -n '/^long.segmap: /,$p' out > long
some 'points of short maps go in lanes within rounds' 'inner points in lanes, 1 rows.*<- choice' short
expect 'long maps do that themselves' 0 'inner points in lanes, 1 rows.*<- choice' long

cat > channels.fl << 'END'
entry main [c] [h] [w] [o] (image: [c][h][w]f32) (k: [o][c][3][3]f32) : [o][][]f32 =
  let conv = map (\k -> tabulate_2d (h - 2) (w - 2) (\y x ->
    f32.sum (flatten_3d (tabulate_3d c 3 3 (\c i j -> image[c, y + i, x + j] * k[c, i, j]))))) k
  in map (\m -> tabulate_2d ((h - 2) / 2) ((w - 2) / 2) (\y x -> f32.max m[2 * y, 2 * x] m[2 * y, 2 * x + 1])) conv
entry kept [n] (t: *[n][n]i32) : [n][n]i32 =
  loop t for d in 1..<n do
    scatter_2d t (tabulate (n - d) (\i -> (i, i + d))) (tabulate (n - d) (\i -> t[i, i + d - 1] + 1))
END
"$flc" dump --explain channels.fl > out
some 'points of maps that sum up in several loops go in lanes' ' inner points in lanes, 1 rows by 2 vectors.*<- choice 1' out
expect 'an array that was reshaped there and back lies where it was' 0 'alloc apart' out

cat > fields.fl << 'END'
entry main [n] [m] (steps: i64) (a: *[n][m]f32) (b: [n][m]f32) : [n][m]f32 =
  loop a for i < steps do tabulate_2d n m (\i j -> if i == 0 then 0 else a[i, j] - (b[i, j] - b[i - 1, j]))
END
"$flc" dump --after imp fields.fl > out
some 'a map of all elements lies where the array lay that dies with it' '= unique a_' out

cat > turned.fl << 'END'
entry main [n] [m] (a: [2][n][m]i32) (by: [2]i64) (k: i64) : [2][n][m]i32 =
  loop f = a for _t < k do tabulate_3d 2 n m (\q i j -> 1 + f[q, i, (j - by[q]) % m])
entry found [n] [m] (a: [2][n][m]i32) (by: [n]i64) (k: i64) : [2][n][m]i32 =
  loop f = a for _t < k do tabulate_3d 2 n m (\q i j -> 1 + f[q, i, (j - by[f[q, i, 0] % 2]) % m])
END
"$flc" dump --recipes turned.fl > out
sed -n '/^kernel main.segmap_9/,/^kernel found/p' out > main
sed -n '/^kernel found/,$p' out > found
some 'what a row turns by is loaded before it, by a constant or by another name of its number' \
  ' let first_[0-9]+: i64 = .* % max' main
expect 'if its place is one' 0 ' let first_[0-9]+: i64 = .* % max' found

for factor in 1024 1025 -1024 -1025; do
  cat > factor.fl << END
entry main [n] [m] [k] (l: i64) (ys: [k]i64) (xs: [n][m]i64) : [n]i64 =
  map2 (\\i x -> loop s = ys[l + i * ($factor)] for j < m do s * 3 + x[j]) (iota n) xs
END
  "$flc" dump --recipes --code gpu factor.fl > out
  case $factor in *4) count=1 ;; *) count=0 ;; esac
  expect "the host makes checks of sums with factors of at most 1024, not $factor" $count '^  stage m$' out
done

# in_rows INDEX: which kernel goes through rows of what lies in one dimension, whose elements are at that index.
in_rows() {
  cat > in_rows.fl << END
entry main [n] (m: i64) (xs: [n]i32) : []i32 =
  tabulate (n / m) (\\i -> loop s = 0i32 for j < m do s * 3 + xs[$1])
END
  "$flc" dump --recipes --code gpu in_rows.fl > out
}
for index in 'i * m + j' 'j + m * i' '(i + 1) * m - 1 - j' '(m - i) * m + j' 'i * (m + 20) + j' '2 * i * m + j'; do
  in_rows "$index"
  expect "rows of one dimension are staged: $index" 1 '^  stage m$' out
done
for index in 'i + j' 'i * m + j + i' 'i / 2 * m + j' '(i & 7) * m + j' 'i * m + j * m' 'i * 40 + j * 2' 'i * 1025 + j' 'i * j'; do
  in_rows "$index"
  expect "no rows of one dimension, or not seen to be inside: $index" 0 '^  stage m$' out
done

# with_checks NEXT: rows of what is looked up, with a check that only the data decide, and what else a round reads.
with_checks() {
  cat > with_checks.fl << END
entry main [n] [k] [m] (xs: [n][k]u8) (t: [m]i64) : [n]i64 =
  map (\\x -> loop s = 0 for j < k do s * 3 + $1) xs
END
  "$flc" dump --recipes --code gpu with_checks.fl > out
}
with_checks 't[i64.u8 x[j]]'
expect 'rows are staged beside checks of data' 1 '^  stage k$' out
with_checks 't[i64.u8 x[j]] + i64.u8 x[i64.min (j + 1) (k - 1)]'
expect 'not where the host does not know whether all that is staged lies inside' 0 '^  stage k$' out
cat > shared_checks.fl << 'END'
entry main [n] [m] [k] (xs: [n]u8) (ys: [m]u8) (t: [k]i32) : [n]i32 =
  map (\x -> loop s = 0 for y in ys do s * 3 + t[i64.u8 (x ^ y)]) xs
END
"$flc" dump --recipes --code gpu shared_checks.fl > out
expect 'what all points read is staged beside checks' 2 '^  stage' out
cat > branches.fl << 'END'
entry main [n] [m] [p] (a: [n][m]i32) (b: [m][p]i32) : [n][p]i32 =
  #[flattening(only_outer)] map (\x -> map (\y ->
    i32.sum (map2 (\c e -> if c < e then c / (e | 1) else e / 3) x y)) (transpose b)) a
END
"$flc" dump --recipes --code gpu branches.fl > out
expect 'points of a block take branches of their own' 21 '^  bind .. to reg' out
"$flc" dump --recipes branches.fl > out
expect '... but not on CPUs' 0 '^  bind .. to reg' out

cat > windows.fl << 'END'
entry moving [n] (k: i64) (x: [n]f32) : []f32 = tabulate (n - k + 1) (\i -> f32.sum x[i:i + k])
entry constant [n] (x: [n]f32) : []f32 = tabulate (n - 39) (\i -> loop s = 0 for a < 40 do s / 2 + x[i + a])
entry distant [n] (k: i64) (x: [n]f32) : []f32 =
  tabulate (n / 4 - k) (\i -> loop s = 0 for a < k do s / 2 + x[4 * i + a])
entry windowed [n] [m] [k] (x: [n][m]f32) (w: [k][k]f32) : [][]f32 =
  tabulate_2d (n - k + 1) (m - k + 1) (\i j ->
    f32.sum (flatten (tabulate_2d k k (\a b -> x[i + a, j + b] * w[a, b]))))
entry unweighted [n] [m] (k: i64) (x: [n][m]f32) : [][]f32 =
  tabulate_2d (n - k + 1) (m - k + 1) (\i j -> loop s = 0 for a < k do s / 2 + x[i + a, j])
END
"$flc" dump --recipes --code gpu windows.fl > windows
# windows ENTRY: the kernels of the entry point.
windows() { awk -v "kernel=kernel $1." '/^kernel / { on = index($0, kernel) == 1 } on' windows > out; }
windows moving
some 'items take four points whose windows move' '^  bind add1 to reg$' out
windows constant
expect 'windows of constant width are no reason' 0 '^  bind .*1 to reg$' out
windows distant
expect 'nor those that share little' 0 '^  bind .*1 to reg$' out
windows windowed
some 'windows of any size in strips, whose points share the weights' '^  split add by 4 overlap$' out
windows unweighted
expect 'not without weights' 0 '^  split add by 4 overlap$' out

cat > rows_into_bins.fl << 'END'
entry sums [n] [k] [d] (dest: *[k][d]f32) (is: [n]i64) (xs: [n][d]f32) : *[k][d]f32 =
  reduce_by_index dest (map2 (+)) (replicate d 0) is xs
entry looked_up [n] [k] [d] (dest: *[k][d]i64) (is: [n]i64) (xs: [n][d]i64) : *[k][d]i64 =
  reduce_by_index dest (\a b -> map2 (\x y -> i64.max x a[y]) a b) (replicate d (-1)) is xs
END
"$flc" dump --recipes rows_into_bins.fl > out
expect 'histograms of arrays are in chunks, unless their operator may fail' 1 '^kernel .*seghist_copies' out

cat > waits.fl << 'END'
entry smooth [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  map (\x -> (loop (s, out) = (0, replicate m 0) for i < m do let s = 0.5 * s + x[i] in (s, out with [i] = s)).1) xs
entry fixed [n] (xs: [n][2048]f32) : [n][2048]f32 =
  map (\x -> (loop (s, out) = (0, replicate 2048 0) for i < 2048 do
                let s = 0.5 * s + x[i] in (s, out with [i] = s)).1) xs
entry polynomial [n] [m] (xs: [n][m]f64) : [n]f64 = map (\x -> loop s = 0 for i < m do s * x[0] + x[i]) xs
entry short [n] (xs: [n][10]f32) : [n][10]f32 =
  map (\x -> (loop (s, out) = (0, replicate 10 0) for i < 10 do
                let s = 0.5 * s + x[i] in (s, out with [i] = s)).1) xs
entry delayed [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  map (\x -> (loop (a, b, out) = (0, 0, replicate m 0) for i < m do
                (x[i], (a * 0.5 + 1) * a + 2, out with [i] = b)).2) xs
entry filtered [n] [m] (xs: [n][m]f64) : [n][m]f64 =
  map (\x -> (loop (e, p, out) = (0, 1, replicate m 0) for i < m do
                let p1 = p + 0.01 let g = p1 / (p1 + 0.1) let e = e + g * (x[i] - e)
                in (e, (1 - g) * p1, out with [i] = e)).2) xs
END
"$flc" dump --recipes waits.fl > out
for entry in smooth fixed polynomial short delayed filtered; do
  sed -n "/^kernel $entry.segmap/,/^$/p" out > "$entry"
done
some 'short recurrences go in lanes, as a point alone waits for each round' '^  split n by 16 overlap' smooth
some 'so do those that read one thing more, without stores' '^  split n by 16 overlap' polynomial
some 'those whose rows are known to lie a multiple of 4096 bytes apart go in 8' '^  split n by 8 overlap' fixed
some 'few rounds do not wait, but take four elements of each row at once' '^  unroll i' short
some 'nor does what a round only takes from the one before' '^  unroll m' delayed
expect 'more than 16 lanes do not store along rows of their own' 0 '^  split n by (32|64) overlap' filtered
for entry in smooth fixed filtered; do
  expect 'rows that a loop stores in whole are not filled before' 0 ' = 0\.0(f32|f64)$' "$entry"
done

cat > heavy.fl << 'END'
entry paths [n] (steps: i64) (xs: [n]f32) : f32 =
  f32.sum (map (\x -> loop x for _i < steps do x * x - 0.5) xs)
entry rows [n] [m] (xss: [n][m]f32) : f32 = f32.sum (map f32.sum xss)
entry plain [n] (xs: [n]f32) : f32 = f32.sum xs
entry running [n] (steps: i64) (xs: [n]f32) : [n]f32 =
  scan (+) 0 (map (\x -> loop x for _i < steps do x * x - 0.5) xs)
END
"$flc" dump --recipes heavy.fl > out
expect 'heavy elements are worth a chunk sooner, but in scans, for which a map makes them' 2 '^-- let most_.*\(1 \+ (steps|m)_' out
expect 'chunks are multiples of what vectors hold, or as few points as vectors of their own pay for' 5 \
  '^-- let unit_.* = min\(16, even' out

cat > bands.fl << 'END'
entry sums [n] [m] (xss: [n][m]f32) : [m]f32 = map f32.sum (transpose xss)
entry numbered [n] [m] (xss: [n][m]f32) : [m]f32 =
  map (\xs -> f32.sum (map2 (\i x -> f32.i64 i * x) (iota n) xs)) (transpose xss)
entry composed [n] [m] (xss: [n][m]f32) : [m]f32 =
  map (\xs -> (.1) (reduce (\(a, b) (c, d) -> (a * c, b * c + d)) (1, 0) (map (\x -> (x, x)) xs)))
      (transpose xss)
entry rows [n] [m] (xss: [n][m]f32) : [n]f32 = map f32.sum xss
entry gathered [n] [m] (is: [n]i64) (xss: [n][m]f32) : [m]f32 =
  map (\j -> f32.sum (map (\i -> xss[i, j]) is)) (iota m)
END
"$flc" dump --recipes bands.fl > out
expect 'columns are summed up in bands where operators commute and only the row differs' \
  1 '^kernel .*segred_bands_chunks' out
expect 'many columns, too' 1 '^kernel sums.segred.*_chunks' out
expect 'lanes are always full' 0 'if 16 <= across|if 8 <= across' out

cat > grid.fl << 'END'
entry scaled [n] [m] (xss: [n][m]i32) : [n][m]i32 =
  transpose (map (\xs -> let s = i32.sum xs in map (\x -> x * 3 - s) xs) (transpose xss))
entry mixed [n] [m] (xss: [n][m]i32) : [m][n]i32 =
  map (\xs -> let s = i32.sum xs in map (\x -> x * 3 - s) xs) (transpose xss)
entry narrow [n] (xss: [n][8]i32) : [n][8]i32 =
  transpose (map (\xs -> let s = i32.sum xs in map (\x -> x * 3 - s) xs) (transpose xss))
END
"$flc" dump --recipes grid.fl > out
expect 'grids turn to where neighbours in memory lie' 1 '^kernel .*_across' out
some 'which is in all accesses' '^kernel scaled.*_across' out
cat > cells.fl << 'END'
entry main [n] [m] (a: [n][m]f32) (b: [n][m]f32) : [m][n][2]f32 =
  map2 (map2 (\x y -> [x, y])) (transpose a) (transpose b)
entry copied [n] [m] (a: [n][m][3]u8) : [m][n][3]u8 = copy (transpose a)
END
"$flc" dump --recipes cells.fl > cells
expect 'or records of few elements' 0 '^kernel .*_across' cells
cat > pixels.fl << 'END'
entry main [n] [m] (a: [n][m][3]u8) : [m][n][3]u8 = map (map (\p -> [p[2], p[1], p[0]])) (transpose a)
END
"$flc" dump --after imp pixels.fl > pixels
some 'no vector is put together of what only moves, from rows' '^ +for .* scalar' pixels
sed -n '/^kernel scaled.segmap_3 /,/^kernel mixed/p' out > out.narrow
some 'few neighbours fill no vector: lanes go along the other axis' '^  bind n to lane' out.narrow

cat > some_lanes.fl << 'END'
entry columns [n] [t] (xss: [n][t]i32) : [n][t]i32 =
  transpose (#[recipe("split t by 16 bound; bind t to lane")]
             map (\xs -> loop out = replicate n 7 for i < n do out with [i] = out[n - 1 - i] + xs[i]) (transpose xss))
END
"$flc" dump --after imp some_lanes.fl > out
expect 'lanes that take no part in a load read what lies there, as far as there is memory' 1 \
  'if \(\(0i64 <= base_.* <= \(\(n_[0-9]+ \* t_[0-9]+\) \+ -(16|8|4)i64\)\)\)' out
expect 'where rows lie in another order all lanes must take part' 1 'if all\(condition_' out

cat > normalised.fl << 'END'
entry summed [n] [m] (xs: [n][m]f32) : [n][m]f32 = map (\x -> let s = f32.sum x in map (/ s) x) xs
entry alone [n] [m] (xs: [n][m]f32) (ws: [n]i32) : [n][m]f32 = map2 (\x w -> map (/ f32.i32 w) x) xs ws
END
"$flc" dump --recipes normalised.fl > out
sed -n '/^kernel summed.segmap /,/^kernel summed.segmap_2/p' out > out.summed
expect 'rows that are made have a lane each if they fill no half of a vector' 1 '^  where m < 8$' out.summed
expect 'longer ones go one by one' 0 '^  where m < (16|64)' out.summed
sed -n '/^kernel alone.segmap /,/^kernel alone.segmap_2/p' out > out.alone
some 'the points of rows alone go in lanes, of which the last ones overlap' '^  split m by 8 overlap' out.alone

cat > eights.fl << 'END'
entry packed [n] (xs: [n]bool) : []u8 =
  tabulate (n / 8) (\i -> loop s = 0 for k < 8 do if xs[8 * i + k] then s | (1 << u8.i64 k) else s)
entry rows [n] (xs: [n][8]f32) : [n]f32 = map (\x -> loop s = 0 for k < 8 do s * 2 + x[k]) xs
entry words [n] (xs: [n]i64) : []i64 =
  tabulate (n / 8) (\i -> loop s = 0 for k < 8 do s * 3 + xs[8 * i + k])
entry fives [n] (xs: [n]f32) : []f32 =
  tabulate (n / 5) (\i -> xs[5 * i] + xs[5 * i + 1] * xs[5 * i + 2] - xs[5 * i + 3] / xs[5 * i + 4])
END
"$flc" dump --recipes eights.fl > out
expect 'lanes that read rows of eight have their loops as straight code' 3 '^  unroll k$' out
expect 'what lies between others is not asked for again' 0 'let inside.* && [1-3] [+] ' out
"$flc" dump --after imp eights.fl > out
expect 'eight bytes of each lane are turned 64 at a time' 2 'let turned_[0-9]+ : u8' out
expect 'eight numbers of a lane are picked in three steps that they share' 24 'let picked_[0-9]+ : f32' out

cat > powers.fl << 'END'
entry powers [n] [k] (shifts: [k]i64) (xs: [n]i64) : [n][k]i64 =
  map (\x -> map (\s -> let p = 1 << s in x / (2 * p) + x % p) shifts) xs
END
"$flc" dump --after imp powers.fl > out
some 'divisions by powers of two that a kernel makes are shifts' ' >> ' out
expect 'and masks' 0 ' (/|%) ' out

cat > partners.fl << 'END'
entry hosts [n] (k: i64) (xs: [n]f32) : [n]f32 =
  tabulate n (\i -> let j = i ^ k in if i < j then xs[i] + xs[j] else xs[j] - xs[i])
entry rounds [n] (k: i64) (xs: [n]f32) : [n]f32 =
  #[sequential] loop xs = xs for s < k do
    let h = 1 << s
    in tabulate n (\i -> if i / h % 2 == 0 then xs[i] + xs[i + h] else xs[i - h] - xs[i])
END
"$flc" dump --recipes partners.fl > out
sed -n '/^kernel hosts.segmap /,/^-- else/p' out > out.hosts
expect 'partners whose index differs in a bit go together' 2 'chosen_[0-9]+\[(low|high)_' out.hosts
expect 'and ask for nothing' 0 ' \^ |if |select|check' out.hosts
sed -n '/^kernel rounds/p' out > out.rounds
some 'in rounds of a loop, too, which ask whether they may' 'let high_[0-9]+: i64 = low_[0-9]+ \+ h_' out

cat > segments.fl << 'END'
entry main [n] (flags: [n]bool) (xs: [n]f32) : [n]f32 =
  map (.0) (scan (\(a, f) (b, g) -> (if g then b else a + b, f || g)) (0, false) (zip xs flags))
END
"$flc" dump --recipes segments.fl > out
expect 'a scan by segments stores its sums, not its flags' 4 '[[]i_[0-9]+\] = sum_' out

cat > turned.fl << 'END'
entry main [n] [m] (xs: [n][m]i32) : [m][n]i32 = copy (transpose xs)
END
"$flc" dump --after imp --code gpu turned.fl > out
expect 'rows without elements are not turned, however many' 2 'launch turn_rows_[0-9]+ <groups \(groups_[0-9]+ min' out

cat > chained.fl << 'END'
entry ends [n] [k] (a: [n]i64) (b: [n]i64) (x: [k]f32) : [k]f32 =
  let f = map2 (\i j -> x[i] - x[j]) a b
  in reduce_by_index (reduce_by_index (replicate k 0) (+) 0 a f) (+) 0 b (map f32.neg f)
entry cells [n] (k: i64) (xs: [n]f32) : [k]f32 =
  let (is, vs) = unzip (flatten (map (\x -> let c = i64.f32 x in [(c, x), (c + 1, 1 - x)]) xs))
  in hist (+) 0 k is vs
END
"$flc" dump --recipes chained.fl > out
sed -n '/^kernel .*seghist /,/^$/p' out | sed '/^kernel .*segmap/,$d' > out.hists
some 'what a point adds in two places is one histogram' 'then into' out.hists
expect 'and nothing is stored for it before' 2 '^kernel .*segmap ' out
"$flc" dump --reproducible --recipes chained.fl > out
expect 'but for floats in one order' 0 'then into' out

cat > blocks.fl << 'END'
entry main [m] (as: [m][16][16]f32) (bs: [m][16][16]f32) : [m][m][16][16]f32 =
  map (\a -> map (\b -> map (\r -> map (\s -> f32.sum (map2 (*) r s)) b) a) bs) as
END
"$flc" dump --recipes blocks.fl > out
sed -n '/^kernel main.segmap /,/^-- else/p' out > out.blocks
some 'sums of a vector of numbers are no vectors of their own, as each ends in many steps' 'bind i_2 to lane' out.blocks

cat > windows.fl << 'END'
def plane [n] [k] (xs: [n][n]f32) (w: [k][k]f32) : f32 =
  let at i j = f32.sum (map f32.sum (tabulate_2d k k (\a b -> xs[i + a, j + b] * w[a, b])))
  in f32.sum (flatten (tabulate_2d (n - k + 1) (n - k + 1) (\i j -> f32.max 0 (at i j))))
entry main [n] [k] (xs: [n][n]f32) (w: [k][k]f32) = vjp (\(xs, w) -> plane xs w) (xs, w) 1
END
"$flc" dump --recipes windows.fl > out
sed -n '/^kernel main.segmap_4 /,/^-- else/p' out | sed '/^kernel main.segmap_5/,$d' > out.points
some 'points of a picture fill vectors where windows are too small to' '-- if k_[0-9]+ < 16 && 32 <= add_[0-9]+$' out.points

long_text() {
  printf '%s\n' 'entry main [n] [m] (ps: [n]f32) (ts: [m]f32) : [n][m]f32 = map (\p -> map (\t ->' > long.fl
  for _ in $(seq "$1"); do echo '  let p = p * 1.5 + f32.sqrt p let t = t * p + f32.sqrt t'; done >> long.fl
  echo '  in t) ts) ps' >> long.fl
  "$flc" dump --explain long.fl > out
}
long_text 30
some 'four vectors side by side share what they compute in common' '1 rows by 4 vectors +<- choice 1' out
long_text 60
some '... two, where the text of four would be long' '1 rows by 2 vectors +<- choice 1' out

cat > half.fl << 'END'
entry main [n] (xs: [n]f16) : [n]f16 = map (\x -> f16.max 0 (f16.min 6 x)) xs
END
"$flc" dump --recipes half.fl > out
some 'instructions widen and round f16 in lanes' 'bind n to lane' out

cat > squared.fl << 'END'
entry main [n] [m] (d: [n][m]f64) : [m][m]f64 =
  map (\a -> map (\b -> f64.sum (map2 (*) a b)) (transpose d)) (transpose d)
END
"$flc" dump --explain squared.fl > out
some '16 to 31 columns are tiles as well' 'tiles of 4 rows by 1 vectors +<- choice' out

cat > back.fl << 'END'
entry main [n] [m] (xs: [n][m]f32) : [n][m]f32 =
  map (\r -> let (a, _) = loop (a, d) = (replicate m 0, 0) for j < m do let d = d / 2 + r[j] in (a with [j] = d, d)
             in (loop (b, d) = (a, 0) for k < m do
                   let j = m - 1 - k let d = d / 2 + b[j] in (b with [j] = d, d)).0) xs
END
"$flc" dump --recipes back.fl > out
expect 'loops that begin with what another has made go on in its place' 0 'alloc' out

cat > cosines.fl << 'END'
entry main (bs: [][8][8]f32) (c: [8][8]f32) : [][8][8]f32 =
  map (\b -> let t = tabulate_2d 8 8 (\u y -> f32.sum (tabulate 8 (\x -> c[u, x] * b[x, y])))
             in tabulate_2d 8 8 (\u v -> f32.sum (tabulate 8 (\y -> t[u, y] * c[v, y])))) bs
END
"$flc" dump --explain cosines.fl > out
some 'rows of small matrices go in lanes' 'short maps within points in lanes +<- choice 1' out

cat > colours.fl << 'END'
entry main [n] (p: [n][3]u8) : [n]u8 = map u8.maximum p
END
"$flc" dump --explain colours.fl > out
some "every third byte is picked by the device's compiler" '1 rows of 128 points +<- choice 1' out

cat > bytes.fl << 'END'
entry main [n] (p: [n][4]u8) : [n]u8 = map (\q -> u8.max (u8.max q[0] q[1]) (u8.max q[2] q[3])) p
END
"$flc" dump --explain bytes.fl > out
some 'every fourth byte is picked by lanes of ours' '16 neighbouring points in lanes +<- choice 1' out

cat > counted.fl << 'END'
entry rows [n] [m] (xs: [n][m]u8) : [n]u8 =
  map (\r -> let h = loop h = replicate 16 0u8 for x in r do h with [i64.u8 x] = h[i64.u8 x] + 1
             in (loop (b, k) = (0, h[0]) for i in 1..<16 do if h[i] > k then (u8.i64 i, h[i]) else (b, k)).0) xs
entry columns [n] [f] (xs: [n][f]u8) (g: [n]f32) : [f]f32 =
  map (\j -> let bins = map (\r -> i64.u8 r[j]) xs
             let sums = hist (+) 0f32 32 bins g
             let counts = hist (+) 0i32 32 bins (replicate n 1)
             in f32.maximum (map2 (\s c -> if c == 0 then 0 else s * s / f32.i32 c) sums counts)) (iota f)
END
"$flc" dump --recipes counted.fl > out
sed -n '/^kernel rows.segmap /,/^$/p' out > out.rows
sed -n '/^kernel columns.segmap /,/^$/p' out > out.columns
some 'what points count at places that the data tell is counted one by one, but of few elements' '^  where m < (8|16)$' out.rows
expect '.. of columns as well' 0 '^  bind f to lane$' out.columns
some '.. whose bins are then gone through in lanes' '^  bind i_[0-9]* to lane$' out.columns

cat > searched.fl << 'END'
entry main [n] [m] (xs: [n]i32) (keys: [m]i32) : [m]i64 =
  map (\x -> (loop (l, h) = (0, n) while l < h do
                let k = (l + h) / 2 in if xs[k] < x then (k + 1, h) else (l, k)).0) keys
END
"$flc" dump --after imp searched.fl > code
some 'lanes of a search go through its first rounds together' '^ +let stay_[0-9]+ : bool = true$' code

cat > made_before.fl << 'END'
entry offsets [n] [m] (xs: [n]i32) (keys: [m]i32) : [m]i64 =
  scan (+) 0 (map (\x -> (loop (l, h) = (0, n) while l < h do
                            let k = (l + h) / 2 in if xs[k] < x then (k + 1, h) else (l, k)).0) keys)
entry counts [n] [k] (edges: [k]f32) (xs: [n]f32) : [k]i64 =
  hist (+) 0 k (map (\x -> (loop (l, h) = (0, k) while l < h do
                              let m = (l + h) / 2 in if edges[m] <= x then (m + 1, h) else (l, m)).0) xs) (replicate n 1)
entry totals [n] [m] (xs: [n][m]f32) : [n]f32 = scan (+) 0 (map f32.sum xs)
END
"$flc" dump --recipes made_before.fl > out
some 'what a scan searches is found in lanes' '^kernel offsets.segmap ' out
expect '.. and what a histogram does' 2 '^kernel counts.segmap(_2)? ' out
expect '.. but sums of rows stay in scans, one version aside' 2 '^kernel totals.segmap' out

cat > groups.fl << 'END'
entry main [n] (ks: [n]i32) (vs: [n]f32) : ([]i32, []f32) =
  let ends = tabulate n (\i -> i == n - 1 || ks[i] != ks[i + 1])
  let sums = map (.1) (scan (\(f, a) (g, b) -> (f || g, if g then b else a + b)) (false, 0)
                            (zip (tabulate n (\i -> i == 0 || ks[i] != ks[i - 1])) vs))
  let (k, s, _) = unzip3 (filter (.2) (zip3 ks sums ends))
  in (k, s)
END
"$flc" dump --recipes groups.fl > out
expect 'sums of floats and the filter that keeps them are one scan' 0 '^kernel main.segscatter' out
expect '.. of which what counts elements is known before' 1 '^kernel main.segred_chunks ' out

cat > chain.fl << 'END'
def word (x: i32) : []u8 =
  if x == 0 then "zero" else if x == 1 then "one" else if x == 2 then "three" else if x == 3 then "eleven" else "many"
entry main (xs: []i32) : []i32 = map (\x -> loop h = 7 for c in word x do h * 31 + i32.u8 c) xs
END
for code in cpu gpu; do
    "$flc" dump --after imp --code $code chain.fl > out
    expect "branches within branches copy no array of their own length ($code)" 1 'for .* < n_[0-9]* ' out
    some ".. which lies in one place ($code)" 'array chosen_[0-9]*: arena 6i64' out
done

cat > witnesses.fl << 'END'
def ends (n: u64) (a: u64) : bool =
  let (x, _) = loop (x, i) = (a % n, 0i32) while x > 1 && i < 9 do (x * x % n, i + 1)
  in x <= 1
entry main [k] (ns: [k]u64) : [k]bool = map (\n -> if n < 2 then false else all (ends n) [2u64, 3, 5]) ns
END
"$flc" dump --recipes witnesses.fl > out
expect 'what is 2 at least is no divisor that fails' 0 ' check ' out
expect 'what takes long waits for what is asked before it' 4 'land_[0-9]+: bool = if ' out

cat > levels.fl << 'END'
entry main [n] [m] (edges: [n][m]i64) (level: *[n]i32) : [n]i32 =
  (loop (level, f, d) = (level, [0i64], 0i32) while length f > 0 do
     let es = filter (\v -> level[v] < 0) (flatten (map (\v -> edges[v]) f))
     let owner = scatter (replicate n (-1i64)) es (indices es)
     let next = map (.0) (filter (\(v, i) -> owner[v] == i) (zip es (indices es)))
     in (scatter level next (map (\_ -> d + 1) next), next, d + 1)).0
END
"$flc" dump --after imp levels.fl > out
expect 'what is read where it was stored is not filled, by the host or in one item' 0 '= -1i64$' out
cat > prime.fl << 'END'
entry main [n] (ks: [n]i32) : [n]bool =
  map (\k ->
    if k < 2 then false
    else (loop (d, on) = (2, true) while on && d * d <= k do
            if k % d == 0 then (d, false) else (d + 1, true)).1) ks
END
"$flc" dump --explain prime.fl > out
expect 'simple cases leave points with one loop, which registers take' 0 'differs from register' out
"$flc" dump --recipes prime.fl > out
expect 'what is tried is the same until it fits, though a choice stays there' 0 'bind n to lane' out
some 'what a loop hands on where it ends is chosen behind it' 'let x_.* = select.found_' out

cat > sums.fl << 'END'
entry dot [n] (xs: [n]f32) (ys: [n]f32) : f32 = f32.sum (map2 (*) xs ys)
END
cat > others.fl << 'END'
entry rounds [n] (xs: [n]f32) (ys: [n]f32) : f32 = loop s = 0 for i < n do s + xs[i] * ys[i]
entry least [n] (xs: [n]f32) (ys: [n]f32) : f32 = f32.minimum (map2 (\x y -> x * y + 1) xs ys)
entry whole [n] (xs: [n]i32) (ys: [n]i32) : i32 = i32.sum (map2 (*) xs ys)
END
"$flc" dump --after imp sums.fl > out
some 'a product and the sum of floats that it is added to are rounded once' ': f32.* = mad\(' out
"$flc" dump --after imp --reproducible sums.fl > out
expect '.. but where results must not depend on it' 0 'mad\(' out
"$flc" dump --after imp others.fl > out
expect '.. and nowhere else' 0 'mad\(' out

cat > rows-by-rows.fl << 'END'
entry main [n] [m] [p] (a: [n][m]f32) (b: [p][m]f32) : [n][p]f32 =
  map (\r -> map (\c -> f32.sum (map2 (*) r c)) b) a
END
"$flc" dump --recipes rows-by-rows.fl > out
some 'rows by rows that are short are copied into panels' 'where m < 64' out
some '.. and lanes read columns only of the shortest' 'where m < 8$' out

[ "$failures" -eq 0 ] && echo 'schedules are kept'
exit "$((failures > 0))"
