#!/bin/sh
# flc fmt: what it writes, and what it leaves alone: fmt.sh FLC.  No device is needed.
flc=$(realpath "$1")
sources=$(realpath "$(dirname "$0")/../..")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

fail() {
  echo "FAIL $*"
  failures=$((failures + 1))
}

# formats NAME: the program before the line `=>` becomes what stands behind it, and stays that.
formats() {
  cat > both
  sed '/^=>$/,$d' both > "$1.fl"
  sed '1,/^=>$/d' both > expected
  "$flc" fmt - < "$1.fl" > got || fail "$1: status $?"
  cmp -s expected got || { fail "$1"; diff expected got; }
  "$flc" fmt - < got > again
  cmp -s got again || fail "$1 does not stay as it is"
}

formats spaces << 'END'
def   f [n][m](xs:[n] [m]f32 ) (k :i64): *[]f32=xs[ k , : ] with[0]= -1 +f32.i64( - k)
def (+^) 'a (x:a) = !true&&(.x) {x=1,y = 2}.x|>negate
type^ t 'a=#a i32 (a) | #b
val x : ?[ k ].[k] i32
entry g=f32.( 1..2 ...3 )
#[ name( "n" , - 1 ) ] entry h (x) = \ (a, _ ) : i32 -> a `m . f` x
=>
def f [n] [m] (xs: [n][m]f32) (k: i64) : *[]f32 = xs[k, :] with [0] = -1 + f32.i64 (-k)
def (+^) 'a (x: a) = !true && (.x) {x = 1, y = 2}.x |> negate
type^ t 'a = #a i32 (a) | #b
val x : ?[k].[k]i32
entry g = f32.(1..2...3)
#[name("n", -1)] entry h (x) = \(a, _) : i32 -> a `m.f` x
END

formats cases << 'END'
def f x =
  if x == 1 then 10 else
  if x == 2 then
  20 else
      if x == 3
      then 30 else -- no more
        if x == 4 then if x > 5 then 1 else
        2 else
        0
def g x =
  if x == 1
  then 1
  else
  if x == 2 then 2 else 3
=>
def f x =
  if x == 1 then 10 else
  if x == 2 then
    20 else
  if x == 3
  then 30 else  -- no more
  if x == 4 then if x > 5 then 1 else
                   2 else
    0
def g x =
  if x == 1
  then 1
  else
    if x == 2 then 2 else 3
END

formats lines << 'END'


def f x =
   let y=1 in let z = 2
   in
      if x
   then map (\a ->
   a) (iota
   3)
        else if y then match z case 1 -> 2
     case _ ->
   3
   else loop s=0
   for i<n do
    s+
    i



module m={def a=1
def b = 2 }
def g
 (a: i32)
: i32 = a
module one = { def a = 1  def b = 2 } def c = 3
=>
def f x =
  let y = 1 in
  let z = 2
  in if x
     then map (\a ->
       a) (iota
             3)
     else if y then match z
                    case 1 -> 2
                    case _ ->
                      3
     else loop s = 0
          for i < n do
            s +
            i

module m = {
  def a = 1
  def b = 2
}
def g
    (a: i32)
    : i32 = a
module one = { def a = 1 def b = 2 }
def c = 3
END

formats comments << 'END'
 -- at the beginning
--   ==
--  input { 1 }   
    -- output { 1 }


entry main x = -- behind   
      -- before
   x
   -- after
  -- ==
--input{2}
def y = [ -- open
  1 -- one
     -- closing
 ]
-- at the end
=>
 -- at the beginning
--   ==
--  input { 1 }   
    -- output { 1 }

entry main x =  -- behind
  -- before
  x
   -- after
  -- ==
--input{2}
def y = [  -- open
  1  -- one
  -- closing
]
-- at the end
END

formats long << 'END'
entry a [n] (xs: [n]f32) (k: i64) (w: [k]f32) (row: [n][n]f32) (m: i64) : [n][m]f32 = tabulate_2d n m (\i j -> f32.sum (map (\d -> w[d] * row[i64.max 0 (i64.min (n - 1) (i + d - k / 2)), j]) (iota k)))  -- behind
def sum [n] [m] (xs: [n]i32) (a: [n][m]i32) (x: [n]i32) = reduce (map2 i32.min) (replicate m i32.highest) (map3 (\i row s -> map (\y -> (y ^ s) - i32.i64 i) row) (iota n) a x)
def s = iota 10 |> map (\x -> x * x + 1) |> filter (\x -> x % 2 == 0) |> reduce (+) 0 |> i32.i64 |> f32.i32 |> f32.sqrt
def p x y z = let a = if x < y && y < z && z < 1000 && x + y > z then map2 (\a b -> a + b * z) (iota 100) (replicate 100 z) else if x > 1 then iota 100 else replicate 100 3 in loop acc = a for i < 100 do map2 (\x y -> x + y) acc (iota 100)
def f (o: #some i32 | #none) (xs: *[3]i32) = match o case #some v -> (xs with [0] = v)[0] case #none -> let xs[1] = xs[0] + xs[2] in xs[0] + xs[1]
def arr = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29]
def g = {name = 1, other_name = map (\x -> x + 1) (iota 10), a_third = (1f32, 2f32), a_function = \x y -> x + y}
def sums = 1000000 + 2000000 + 3000000 * k (4000000 + 5000000) + 6000000 + 7000000 + 8000000 + 9000000 + 10000000
type s = #circle {x: f32, y: f32, r: f32} | #rectangle {x: f32, y: f32, w: f32, h: f32} | #point (f32, f32) | #nothing
module m (T: integral) (P: { val a : T.t val c : T.t }) : rng_engine with int.t = T.t with rng = T.t = { type t = T.t }
def attraction [n] (px: f32, py: f32, pz: f32) (qx: f32, qy: f32, qz: f32, mass: f32) (a: [n]f32) : (f32, f32, f32) = px
def broken = f (g 1)
               (h 2)
=>
entry a [n] (xs: [n]f32) (k: i64) (w: [k]f32) (row: [n][n]f32) (m: i64) : [n][m]f32 =
  tabulate_2d n m (\i j ->
    f32.sum (map (\d -> w[d] * row[i64.max 0 (i64.min (n - 1) (i + d - k / 2)), j]) (iota k)))  -- behind
def sum [n] [m] (xs: [n]i32) (a: [n][m]i32) (x: [n]i32) =
  reduce (map2 i32.min)
         (replicate m i32.highest)
         (map3 (\i row s -> map (\y -> (y ^ s) - i32.i64 i) row) (iota n) a x)
def s =
  iota 10
  |> map (\x -> x * x + 1)
  |> filter (\x -> x % 2 == 0)
  |> reduce (+) 0
  |> i32.i64
  |> f32.i32
  |> f32.sqrt
def p x y z =
  let a =
    if x < y && y < z && z < 1000 && x + y > z
    then map2 (\a b -> a + b * z) (iota 100) (replicate 100 z)
    else if x > 1 then iota 100
    else replicate 100 3
  in loop acc = a for i < 100 do map2 (\x y -> x + y) acc (iota 100)
def f (o: #some i32 | #none) (xs: *[3]i32) =
  match o
  case #some v -> (xs with [0] = v)[0]
  case #none -> let xs[1] = xs[0] + xs[2] in xs[0] + xs[1]
def arr =
  [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26,
   27, 28, 29]
def g =
  {name = 1,
   other_name = map (\x -> x + 1) (iota 10),
   a_third = (1f32, 2f32),
   a_function = \x y -> x + y}
def sums =
  1000000 + 2000000 + 3000000 * k (4000000 + 5000000) + 6000000 + 7000000 + 8000000 + 9000000
  + 10000000
type s =
  #circle {x: f32, y: f32, r: f32}
  | #rectangle {x: f32, y: f32, w: f32, h: f32}
  | #point (f32, f32)
  | #nothing
module m (T: integral) (P: { val a : T.t val c : T.t })
    : rng_engine with int.t = T.t with rng = T.t = { type t = T.t }
def attraction [n] (px: f32, py: f32, pz: f32) (qx: f32, qy: f32, qz: f32, mass: f32) (a: [n]f32)
    : (f32, f32, f32) = px
def broken = f (g 1)
               (h 2)
END

formats commas << 'END'
def a = [ 1
        , 2  -- two
        , 3 ]
def f { x : i32
      , y : i32 } = x
=>
def a = [1,
         2  -- two
        , 3]
def f {x: i32,
       y: i32} = x
END

formats empty << 'END'
=>
END

# ---- files

printf 'def   x = 1\n' > a.fl
printf 'def y = 2\n' > b.fl
printf 'def z =\n' > wrong.fl
chmod 640 a.fl
cp a.fl before.fl
[ "$("$flc" fmt --check a.fl b.fl)" = a.fl ] || fail "--check names what would change"
"$flc" fmt --check a.fl b.fl > out && fail "--check finds a difference"
"$flc" fmt --check b.fl > out || fail "--check of a file that is right"
cmp -s a.fl before.fl || fail "--check writes"
touch -d @0 b.fl
"$flc" fmt wrong.fl a.fl b.fl 2> messages && fail "a file with a mistake"
grep -q '^wrong.fl:2:1: error\|^wrong.fl:1:.*error' messages || fail "the mistake is not told: $(cat messages)"
[ "$(cat wrong.fl)" = 'def z =' ] || fail "a file with a mistake was written to"
[ "$(cat a.fl)" = 'def x = 1' ] || fail "the file behind it was not"
[ "$(stat -c %a a.fl)" = 640 ] || fail "the mode changed"
[ "$(stat -c %Y b.fl)" = 0 ] || fail "a file that was right was written to"
[ "$(printf 'def a = f 1111111111 2222222222' | "$flc" fmt --width 20 - | wc -l)" = 3 ] || fail "short lines"
"$flc" fmt --width 5 a.fl 2> messages && fail "a width that is too small"
grep -q "^error: flc fmt: --width: expected a number from 20 to 10000" messages || fail "the width is not told: $(cat messages)"
[ "$(printf 'def  a=1' | "$flc" fmt -)" = 'def a = 1' ] || fail "standard input"
printf 'def  a=(' | "$flc" fmt - > out 2> messages && fail "a mistake in standard input"
[ ! -s out ] || fail "output after a mistake"
grep -q '^<stdin>:1:' messages || fail "the message says where"
"$flc" fmt none.fl 2> messages && fail "a file that is not there"
grep -q 'cannot read none.fl' messages || fail "the file that is not there is not named"
"$flc" fmt 2> /dev/null && fail "no file"
# Minutes if each place to break is looked for from each token.
{ yes '#[a]' | head -n 1000 | tr '\n' ' '; echo 'def x = 1'; } | timeout 60 "$flc" fmt - > out || fail "many attributes in a line"
[ -z "$(find . -name '.*' -type f)" ] || fail "temporary files are left"
# The programs of the repository, but for tests of how text is read.
(cd "$sources" && find benchmarks bindings editors examples prelude tests -name '*.fl' ! -path 'tests/source/*' ! -path '*/mistakes/*' \
  -exec "$flc" fmt --check {} +) || fail "programs of the repository are laid out otherwise"

[ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
