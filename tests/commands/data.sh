#!/bin/sh
# flc data: usage  data.sh FLC
# shellcheck disable=SC2016 # the backquotes are those of messages
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# expect STATUS TEXT COMMAND...: what the command prints, on both streams, and its exit status.
expect() {
  status=$1 text=$2
  shift 2
  got=$("$@" 2>&1)
  code=$?
  if [ "$code" != "$status" ] || [ "$got" != "$text" ]; then
    printf 'FAIL %s\n  expected (%s): %s\n  got (%s): %s\n' "$*" "$status" "$text" "$code" "$got"
    failures=$((failures + 1))
  fi
}

# The check values of the recipe.
expect 0 '[-0.22034061f32, -0.9664235f32, 0.8015213f32]' "$flc" data -g '[3]f32' -s 7 --f32-bounds=-1:1
expect 0 '[-1364241666i32, -1070757282i32, 1139551205i32]' "$flc" data -g '[3]i32' -s 9
expect 0 '[145u8, 190u8, 248u8]' "$flc" data -g '[3]u8' -s 1
# The k-th value has the k-th seed.
expect 0 '[5u8]
[145u8]' "$flc" data -g '[1]u8' --u8-bounds=5:5 -g '[145u8]'
expect 0 '[2][3]f64
i64' "$flc" data -g '[2][3]f64' -g 10i64 --type

expect 1 'error: expected a type with sizes or a value, found [2]f6
hint: did you mean `[2]f16`?' "$flc" data -g '[2]f6'
expect 1 'error: flc data: unknown option --foo
hint: `flc data --help` lists its options' "$flc" data --foo
expect 1 'error: flc data: expected a number, found x' "$flc" data -s x
expect 1 'error: flc data: --tolerance wants a number from 0 on, found nan' "$flc" data --compare --tolerance nan
expect 1 'error: flc data: --tolerance wants a number from 0 on, found -1' "$flc" data --compare --tolerance=-1
expect 1 'error: flc data: the range 2:1 is empty' "$flc" data --f32-bounds=2:1 -g f32
expect 1 'error: flc data: -g needs an argument' "$flc" data -g
expect 1 'error: flc data: unexpected argument x' "$flc" data x

# Conversion there and back, also of gzipped and mixed data.
echo '[[1, 2], [3, 4]] 2.5f32 true' > "$folder/text"
"$flc" data -b < "$folder/text" > "$folder/binary"
expect 0 '[[1i32, 2i32], [3i32, 4i32]]
2.5f32
true' sh -c "'$flc' data < '$folder/binary'"
gzip -k "$folder/binary"
expect 0 '' "$flc" data --compare "$folder/binary.gz" "$folder/text"
cat "$folder/text" "$folder/binary" > "$folder/mixed"
expect 0 '[2][2]i32
f32
bool
[2][2]i32
f32
bool' sh -c "'$flc' data -t < '$folder/mixed'"

# Comparison.
echo '[1.0f32, 2.001f32] 3' > "$folder/a"
echo '[1.0, 2] 3i32' > "$folder/b"
expect 0 '' "$flc" data --compare "$folder/a" "$folder/b"
expect 2 'value 0: element [1]: got 2.001f32, expected 2.0f32 (difference 0.001, tolerance 2e-05)' \
  "$flc" data --compare "$folder/a" "$folder/b" --tolerance 1e-5
echo '[1.0f32, 2.001f32]' > "$folder/c"
expect 2 'value 1: missing' "$flc" data --compare "$folder/c" "$folder/a"
expect 1 "error: cannot read $folder/none: No such file or directory" \
  "$flc" data --compare "$folder/a" "$folder/none"

expect 1 'error: expected a type with sizes or a value, found [3]f33
hint: did you mean `[3]f32`?' "$flc" data -g '[3]f33'
expect 1 'error: expected a type with sizes or a value, found double
hint: did you mean `f64`?' "$flc" data -g double
expect 1 'error: expected a type with sizes or a value, found [n]f32
hint: the sizes of a type are numbers: `[100][3]f32`' "$flc" data -g '[n]f32'

[ "$failures" = 0 ]
