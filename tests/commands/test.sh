#!/bin/sh
# flc test: usage  test.sh FLC
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

# expect STATUS PATTERN PROGRAM: the outcome of the tests of a program with this text.
expect() {
  printf '%s\n' "$3" > p.fl
  got=$("$flc" test -v p.fl 2>&1)
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
expect 1 'the script of the test: .*unknown name .numbers.' "-- ==
-- script input { numbers 3i64 } output { 3 }
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

expect_usage() {
  got=$("$flc" test "$@" 2>&1) && failures=$((failures + 1))
  [ -n "$got" ] || failures=$((failures + 1))
}
expect_usage --foo
expect_usage --jobs 0 p.fl
expect_usage --stage imp p.fl
expect_usage none.fl
expect_usage

[ "$failures" = 0 ]
