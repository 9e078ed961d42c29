#!/bin/sh
# flc eval: what it says of missing and malformed input; usage  eval.sh FLC
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

cat > p.fl << 'END'
entry main [n] (count: i32) (rows: [n][2]f64) (flag: bool) =
  if flag then f64.i32 count + f64.sum (flatten rows) else 0
entry signs (byte: u8) (xs: []i8) = (byte, xs)
entry failing (xs: []i32) = xs[5]
entry unchecked (xs: []i32) = #[unsafe] xs[5]
entry part (s: #a | #b i32 (#c | #d)) (xs: [](#a | #e i32)) = match s case #a -> length xs case #b _ _ -> 1
END

# expect STATUS PATTERN ENTRY INPUT: the outcome of an evaluation.
expect() {
  got=$(printf '%s' "$4" | "$flc" eval p.fl -e "$3" 2>&1)
  code=$?
  if [ "$code" != "$1" ] || ! printf '%s\n' "$got" | grep -Eq -- "$2"; then
    printf 'FAIL\n%s\n  expected (%s): %s\n  got (%s): %s\n' "$4" "$1" "$2" "$code" "$got"
    failures=$((failures + 1))
  fi
}

expect 0 '^6\.0f64$' main '3 [[1.0, 2.0]] true'
expect 0 '^6\.0f64$' main "$(printf '\357\273\277')3 [[1.0, 2.0]] true"
expect 1 'parameter count: i32: .*1:1: ' main "$(printf '\357\273\277')x"
expect 1 'found byte 0xff: this is UTF-16, where UTF-8 is read$' main "$(printf '\377\376')3"
expect 1 'found byte 0x93: this is a file of NumPy' main "$(printf '\223NUMPY\001')"
expect 0 '^6\.0f64$' main '3i32 -- a comment
[[1f64, 2f64]] true'
expect 1 'parameter rows: \[n\]\[2\]f64: expected a value, found the end' main '3'
expect 1 'parameter flag: bool: expected a value, found the end' main '3 [[1.0, 2.0]]'
expect 1 'parameter count: i32' main ''
expect 1 'parameter count: i32: .*1:2: expected' main '[1] [[1.0, 2.0]] true'
expect 1 'parameter count: i32: .*1:1.*expected' main '3.5 [[1.0, 2.0]] true'
expect 1 'parameter count: i32: .*1:1' main '3i64 [[1.0, 2.0]] true'
expect 1 'parameter count: i32: .*1:1' main '99999999999 [[1.0, 2.0]] true'
expect 1 'parameter rows: \[n\]\[2\]f64: .*2:' main '3
[[1.0, 2.0], [3.0]] true'
expect 1 'parameter rows: \[n\]\[2\]f64: .*1:4' main '3 [1.0, 2.0] true'
expect 1 'parameter flag: bool: .*2:2' main '3 [[1.0, 2.0]]
 7'
expect 1 'rows' main '3 [[1.0, 2.0, 3.0]] true'
expect 1 'parameter rows: \[n\]\[2\]f64' main '3 [[1.0, 2.0] true'
expect 1 '^p.fl:5:41: error: No element \[5\] in an array of shape \[2\], and no check of it' unchecked '[1, 2]'
expect 1 'found more data' main '3 [[1.0, 2.0]] true 5'
expect 1 'parameter byte: u8: .*1:1' signs '256 [1]'
expect 1 'parameter byte: u8: .*1:1' signs '-1 [1]'
expect 1 'parameter xs: \[n\]i8: .*1:' signs '1 [1, 128]'
expect 1 'parameter xs: \[n\]i8' signs '1 b'
expect 0 'empty\(\[0\]i8\)' signs '1 empty([0]i8)'
expect 1 'parameter xs: \[n\]i8' signs '1 empty([0][0]i8)'
expect 1 'hint: write `true`$' main '3 [[1.0, 2.0]] True'
expect 1 'hint: write `false`$' main '3 [[1.0, 2.0]] 0'
expect 1 'hint: write `-f64.inf`$' main '3 [[1.0, -Inf]] true'
expect 1 'hint: the suffix of its type is `f64`: `2.0f64`$' main '3 [[1.0, 2.0f]] true'
expect 1 'hint: no comma stands between values' main '3, [[1.0]] true'
expect 1 'found .1.0e1f.$' signs '1 [1.0e1f]'
expect 1 'p.fl:4:.*out of bounds' failing '[1, 2]'
expect 1 'no entry point .missing.' missing ''
expect 1 'parameter s: #a . #b i32 \(#c . #d\): .*found .#.$' part '#a'
expect 1 'hint: the number of a constructor comes first' part '#a'
expect 1 'parameter xs: \[n\]\(#a . #e i32\): ' part '1 2 0'
expect 1 'hint: the fields of a record follow one another' signs '{1}'

# ---- imports from other folders: what is beside the file that imports comes first
mkdir -p more/sub 'last one'
echo 'def one = 1i32' > beside.fl
echo 'def one = 10i32' > more/beside.fl
printf 'import "inner"\ndef two = 20i32 + inner\n' > more/sub/two.fl
echo 'def inner = 300i32' > more/sub/inner.fl
echo 'def three = 4000i32' > 'last one/three.fut'
cat > p.fl << 'END'
import "beside"
import "sub/two"
import "three"
entry main (x: i32) = x + one + two + three
END
expect 1 'p.fl:2:1: error: cannot read `sub/two.fl`' main 1
expect 1 'hint: paths are relative to the file that imports$' main 1
export FLC_IMPORTS=":/absent:$folder/more/:$folder/last one"
expect 0 '^4322i32$' main 1
rm -r 'last one'
expect 1 "hint: paths are relative to the file that imports, or else to :/absent:$folder/more/:" main 1
[ "$failures" = 0 ]
