#!/bin/sh
# flc test: usage  test.sh FLC
flc=$(realpath "$1")
failures=0 option=
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# expect STATUS PATTERN PROGRAM: the outcome of the tests of a program with this text.
expect() {
  printf '%s\n' "$3" > p.fl
  # shellcheck disable=SC2086 # none or one
  got=$("$flc" test -v $option p.fl 2>&1)
  code=$?
  if [ "$code" != "$1" ] || ! printf '%s\n' "$got" | grep -Eq -- "$2"; then
    printf 'FAIL\n%s\n  expected (%s): %s\n  got (%s): %s\n' "$3" "$1" "$2" "$code" "$got"
    failures=$((failures + 1))
  fi
}
main='entry main (x: i32) : i32 = x + 1'

expect 0 '^2 passed, 0 failed$' "-- ==
-- input { 1 } output { 2 }
-- \"named\" nobench input { 2 }
-- output { 3 }
$main"
expect 0 '^2 passed, 0 failed$' "-- ==
-- random nobench input { bool }
-- \"named\" script no_python input { 1 == 2 } output { true }
entry main (x: bool) : bool = x || true"
expect 1 "expected 'input' after 'random', found the end" "-- ==
-- compiled random
$main"
expect 1 'p.fl, entry main, line 2, after elaborate: got 2i32, expected 3i32' "-- ==
-- input { 1 } output { 3 }
$main"
expect 1 'entry main, "one" \(line 2\)' "-- ==
-- \"one\" input { 1 } output { 3 }
$main"
expect 1 'expected i32, found a decimal number' "-- ==
-- input { 1.5 } output { 3 }
$main"
expect 1 'more values than the entry point has results' "-- ==
-- input { 1 } output { 2 3 }
$main"
expect 1 'the program has no such entry point' "-- ==
-- entry: other
-- input { 1 } output { 2 }
$main"
expect 1 'expected the program to be refused' "-- ==
-- error: type
$main"
expect 0 '^1 passed, 0 failed$' '-- ==
-- error: unknown
entry main (x: i32) : i32 = y + 1'
expect 1 "expected a message that matches 'zzz'" '-- ==
-- error: zzz
entry main (x: i32) : i32 = y + 1'
expect 1 "expected an error that matches 'zero', but it succeeded" "-- ==
-- input { 1 } error: zero
$main"
expect 0 '^1 passed, 0 failed$' '-- ==
-- input { 1 } error: zero
entry main (x: i32) : i32 = x / (x - 1)'
expect 0 '^0 passed, 0 failed, 1 skipped$' "-- ==
-- tags { disable }
-- input { 1 } output { 3 }
$main"
expect 0 '^1 passed, 0 failed, 1 skipped$' "-- ==
-- disable input { 1 } output { 3 }
-- input { 1 } output { 2 }
$main"
expect 0 '^2 passed, 0 failed$' "-- ==
-- script input { let x = 2 in {a = x, b = 3}.a } output { 3 }
-- input { 1 } output { 2 }
$main"
echo 'let x = {a = 2} in x.a' > input.script
expect 0 '^1 passed, 0 failed$' "-- ==
-- script input @ input.script
-- output { 3 }
$main"
echo 4i32 > 'an output of old'
expect 0 '^3 passed, 0 failed$' "-- ==
-- input @ an output of old output { 5 }
-- input @ an output of old   auto output
-- input @ an output of old
-- output { 5 }
$main"
echo '[4, 5]' > input.data
expect 0 '^1 passed, 0 failed$' "-- ==
-- script input { i32.sum (io.loadvalue \"input.data\" : [2]i32) } output { 10 }
$main"
expect 1 'the script of the test: .*has type .*\[2\]i32' "-- ==
-- script input { i32.sum (io.loadvalue \"input.data\" : [3]i32) } output { 10 }
$main"
expect 1 'the script of the test: .*unknown name .numbers.' "-- ==
-- script input { numbers 3i64 } output { 3 }
$main"
expect 1 'the script of the test gives .\(bool, i64\)., but .main. takes .i32.$' "-- ==
-- script input { (true, 3i64) } output { 3 }
$main"
expect 1 'the script of the test is a function: arguments are missing, the first of type i32$' "-- ==
-- script input { main } output { 3 }
$main"
expect 1 'line 2: test block: expected .input. or .output. before .\{., found .inptu.$' "-- ==
-- inptu { 1 } output { 2 }
$main"
expect 1 'test block: expected .input. after .random., found the end of the block$' "-- ==
-- random
$main"
expect 1 'parameter x: i32: [^ ]*:4:7: expected i32, found i64 .1i64.$' "-- ==
-- input { -- a comment
--
--    1i64 }
$main"
expect 1 '[^ ]*:2:25: expected i32, found a decimal number .2\.0.$' "-- ==
-- input { 1 } output { 2.0 }
$main"
expect 1 'expected .}. at the end of the script' "-- ==
-- script input { {a = 2}.a
$main"
expect 0 '^1 passed, 0 failed$' "-- ==
-- input { 1 } output { 2 }
-- structure { Screma 1 }
-- structure gpu { /SegMap 1 }
$main"
expect 0 '^1 passed, 0 failed$' '-- ==
-- input { 1 0 } error: DIVISION by zero
entry main (x: i32) (y: i32) : i32 = x / y'
expect 0 'skipped: .*not here' "-- ==
-- input @ data/published/none.in
$main"
expect 1 'cannot read none.in' "-- ==
-- input @ none.in
$main"
expect 0 '^2 passed, 0 failed$' "-- ==
-- input { 1 } output { 2 }
-- ==
-- entry: other
-- input { 1 } output { 3 }
entry other (x: i32) : i32 = x + 2
$main"
expect 0 'skipped: tagged notest' "-- ==
-- input { 1 } output { 2 }
-- notest input { 1 } output { 3 }
$main"
expect 1 "line 2: test block: 'entry:' stands before the cases" "-- ==
-- nobench entry: other
-- input { 1 } output { 3 }
$main"
expect 1 'line 2: test block: the case has a name already' "-- ==
-- \"one \\\" \" input { 1 } output { 2 }
$main"
expect 1 'line 2: test block: expected .input.' "-- ==
-- { 1 } output { 2 }
$main"
expect 0 '^1 passed, 0 failed$' '-- ==
-- random input { [100]i32 3 } auto output
entry main [n] (xs: [n]i32) (k: i32) : i32 = k + reduce (+) 0 xs'
expect 1 'expected 7 map, got 1' '-- ==
-- input { [1, 2] }
-- structure core { map 7 }
entry main [n] (xs: [n]i32) : [n]i32 = map (+ 1) xs'
expect 0 '^2 passed, 0 failed$' '-- ==
-- input { [1, 2] } output { [2, 3] }
-- structure core { map 1 }
entry main [n] (xs: [n]i32) : [n]i32 = map (+ 1) xs'
expect 1 'got 1.1f32, expected 1.0f32' '-- ==
-- tolerance: 1e-3
-- input { 1.0 } output { 1.0 }
entry main (x: f32) : f32 = x + 0.1'
expect 0 '^0 passed, 0 failed$' 'entry main (x: f32) : f32 = x + 0.1'
expect 0 '^warning: nothing was tested: p.fl has no test block$' 'entry main (x: f32) : f32 = x + 0.1'
"$flc" test p.fl --entry other > out 2>&1 && failures=$((failures + 1))
# shellcheck disable=SC2016 # the backquotes are the message's
grep -q '^error: nothing was tested: p.fl has no test block for `other`$' out || failures=$((failures + 1))

# ---- properties

# holds COUNTS PROPERTIES: with three functions to name.
functions='#[prop]
entry reverses [n] (xs: [n]i32) = and (map2 (==) (reverse (reverse xs)) xs)
#[prop(size(50))]
entry sums [n] [m] (xss: [n][m]i16) (k: {a: i32, b: bool}) = i16.sum (map i16.sum xss) < 30 || k.b
#[prop]
entry indices (i: i64) = i < 7 || (iota 3)[i] == 0
type half = #low i32 | #high
entry some (size: i64) (seed: i64) : half = if seed % 2 == 0 then #high else #low (i32.i64 size)
#[prop(gen(some))]
entry halves (h: half) = match h case #low x -> x > 0 && x <= 20 case #high -> true
entry pairs (size: i64) (seed: i64) : ([]i64, i64) = (map (* 2) (iota (seed % (size + 1))), 1 + seed % 10)
entry fewer [n] (x: ([n]i64, i64)) (r: i32) : ([]i64, i64) =
  if r % 2 == 0 then (take (n - i64.min n 1) x.0, x.1) else (x.0, i64.max 1 (x.1 / 2))
#[prop(gen(pairs), shrink(fewer), size(30))]
entry evens [n] (x: ([n]i64, i64)) = all (\x -> x % 2 == 0) x.0 && x.1 > 0
#[prop(gen(pairs), shrink(fewer), size(30))]
entry short [n] (x: ([n]i64, i64)) = n < 12
#[prop(gen(pairs), shrink(auto))]
entry few [n] (x: ([n]i64, i64)) = n < 3
#[prop]
entry no_generator (h: half) = match h case _ -> true
#[prop(gen(fewer))]
entry wrong_generator (x: i32) = x == x
#[prop]
entry no_property (x: i32) = x
entry unmarked (x: i32) = x == x
entry byte (size: i64) (seed: u8) : {at: i64, of: []u8} = {at = size / 2, of = replicate size seed}
entry before (x: {at: i64, of: []u8}) (r: u64) : {at: i64, of: []u8} =
  {at = x.at - i64.u64 (r % 2), of = x.of}
entry place (x: {at: i64, of: []u8}) : []u8 = "place " ++ (if x.at == 7 then "seven" else "other")
#[prop(gen(byte), shrink(before), pprint(place))]
entry early (x: {at: i64, of: []u8}) = x.at < 7 && all (< 128) x.of
#[prop(gen(byte), pprint(byte))]
entry badly_shown (x: {at: i64, of: []u8}) = x.at < 7'
properties() {
  expect "$1" "$2" "-- ==
-- property: $3
$functions"
}
properties 0 '^3 passed, 0 failed$' 'reverses halves evens'
option=--no-device
properties 1 'property sums, line 2: it gives false for \[\[30i16\]\] 0i32 false$' sums
properties 1 'property indices, line 2: indices: p.fl:.*Index \[7\] out of bounds for array of shape \[3\]. for 7i64$' indices
properties 1 'it gives false for \[0i64, 2i64, [0-9i, ]*22i64\] 1i64$' short
properties 1 'it gives false for \[0i64, 0i64, 0i64\] 0i64$' few
properties 1 'values of type half are made by' no_generator
properties 1 'gen.fewer.: it must take a size .i64. and a seed' wrong_generator
properties 1 'it gives false for place seven$' early
properties 1 'pprint.byte.: it must take what the property takes and give its text' badly_shown
properties 1 'a property gives a bool' no_property
properties 1 'it has no attribute #.prop.' unmarked
properties 1 'no such entry point' missing

# ---- how far programs go, and how they are started

option=-C
expect 0 '^2 passed, 0 failed$' "-- ==
-- input { 1 } output { 77 }
-- structure core { map 0 }
$main"
expect 0 '^1 passed, 0 failed$' '-- ==
-- error: unknown
entry main (x: i32) : i32 = y + 1'
option=-t
expect 0 '^1 passed, 0 failed$' "-- ==
-- input { 1 } output { 77 }
-- structure core { map 7 }
$main"
expect 1 'expected the program to be refused' "-- ==
-- error: type
$main"
option=-s
expect 1 '^0 passed, 1 failed$' "-- ==
-- input { 1 } output { 77 }
-- structure core { map 7 }
$main"
expect 0 '^1 passed, 0 failed$' "-- ==
-- input { 1 } output { 77 }
-- structure core { map 0 }
$main"

cat > runner << 'END'
#!/bin/sh
printf '%s\n' "$*" >> "$RAN"
exec "$@"
END
chmod +x runner
export RAN="$folder/ran"
option='--runner ./runner --cache-extension=kernels --tuning=mine --pass-option=--default-tile-size=8 --pass-compiler-option=--flatten=outer'
printf 'default_threshold=3\n' > p.fl.mine
expect 0 '^1 passed, 0 failed(, 1 skipped)?$' "-- ==
-- input { 1 } output { 2 }
$main"
grep -Eq ' --tuning p.fl.mine --cache-file p.fl.kernels --default-tile-size=8 --code (cpu|gpu) --build-option -DFLC_QUICK --server$' ran || {
  printf 'FAIL: the runner was called so:\n%s\n' "$(cat ran)"
  failures=$((failures + 1))
}
option=

# It is late from the start: each case runs once.
option='--stage gpu'
expect 0 '^1 passed, 0 failed$' "-- ==
-- input { [[1, 2], [3, 4], [5, 6]] } output { [[1, 3, 5], [2, 4, 6]] }
entry main [n] [m] (xs: [n][m]i32) : [m][n]i32 = tabulate_2d m n (\\i j -> xs[j, i])"
option='--stage device --versions-for 0'
expect 0 'p.fl: [0-9]+ runs of further versions on the device left out|no OpenCL device' "-- ==
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
entry main (xs: [][]i32) : []i32 = map i32.sum xs"
option='--stage device --versions-for 0 --all-versions'
expect 0 '^1 passed, 0 failed$|no OpenCL device' "-- ==
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
entry main (xs: [][]i32) : []i32 = map i32.sum xs"
option='--stage device --unoptimised'
expect 0 '^2 passed, 0 failed$|no OpenCL device' "-- ==
-- input { [[1, 2], [3, 4]] } output { [3, 7] }
-- input { empty([0][2]i32) } output { empty([0]i32) }
entry main (xs: [][]i32) : []i32 = map i32.sum xs"
option=

expect_usage() {
  got=$("$flc" test "$@" 2>&1) && failures=$((failures + 1))
  [ -n "$got" ] || failures=$((failures + 1))
}
expect_usage --foo
expect_usage --jobs 0 p.fl
expect_usage --versions-for x p.fl
expect_usage --stage imp p.fl
expect_usage none.fl
mkdir empty && expect_usage empty
expect_usage --runner=./none p.fl
expect_usage --runner=/ p.fl
expect_usage --runner=. p.fl
expect_usage --pass-compiler-option=-Werror p.fl
expect_usage

# Several programs run in one process; where it dies, they run again, each in its own. They take
# long enough for the process to be found.
kill_hosts() {
  while grep -qs '^State:.[^ZX]' "/proc/$1/status"; do  # until it has ended
    for child in $(cat "/proc/$1/task/$1/children" 2> /dev/null); do
      grep -qs '^flc-test-host' "/proc/$child/cmdline" && kill -9 "$child" && echo killed
    done
    sleep 0.02
  done
}
for name in a b c; do
  printf '%s\n' "-- ==
-- input { 200000000i64 } output { 1 }
entry main (n: i64) : i32 = (loop x = 1 for _i < n do x * 1664525 + 1013904223) & 1" > "$name.fl"
done
"$flc" test -v --stage device a.fl b.fl c.fl > together 2>&1 &
killed=$(kill_hosts $!)
wait $! || failures=$((failures + 1))
grep -q '^3 passed, 0 failed$\|no OpenCL device' together && [ -n "$killed" ] || {
  printf 'FAIL: programs whose process died (%s):\n%s\n' "$killed" "$(cat together)"
  failures=$((failures + 1))
}

[ "$failures" = 0 ]
