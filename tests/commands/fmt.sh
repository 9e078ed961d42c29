#!/bin/sh
# flc fmt: what it writes, and what it leaves alone: fmt.sh FLC.  No device is needed.
flc=$(realpath "$1")
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
[ "$(printf 'def  a=1' | "$flc" fmt -)" = 'def a = 1' ] || fail "standard input"
printf 'def  a=(' | "$flc" fmt - > out 2> messages && fail "a mistake in standard input"
[ ! -s out ] || fail "output after a mistake"
grep -q '^<stdin>:1:' messages || fail "the message says where"
"$flc" fmt none.fl 2> messages && fail "a file that is not there"
grep -q 'cannot read none.fl' messages || fail "the file that is not there is not named"
"$flc" fmt 2> /dev/null && fail "no file"
[ -z "$(find . -name '.*' -type f)" ] || fail "temporary files are left"

[ "$failures" = 0 ] || { echo "$failures failed"; exit 1; }
