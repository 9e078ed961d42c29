#!/bin/sh
# Kernels say that they use doubles if they compute with them, whatever their variables are called.
# doubles.sh FLC
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

failed=0
# check EXPECTED PROGRAM: the flag of each of its kernels, the fourth column of the table.
check() {
  printf '%s\n' "$2" > program.fl
  "$flc" lib program.fl -o program > log 2>&1 || { cat log; failed=1; }
  flags=$(sed -n 's/^  { "seg[a-z]*_[0-9]*", [a-z_0-9]*, [a-z]*, \([a-z]*\), .*/\1/p' program.c | sort -u)
  [ "$flags" = "$1" ] && return
  printf 'FAIL expected %s, got %s: %s\n' "$1" "$flags" "$2"
  failed=1
}

check false 'entry main (doubled: []i32) = map (\double -> double * 2) doubled'
check false 'entry flc_add_f64 (x_f64: []f32) = map (\is_f64 -> f32.sqrt is_f64) x_f64'
check false 'entry main (n: i64) (double: f64) = f64.i64 (i64.sum (map (* 2) (iota n))) + double'
check true 'entry main (xs: []f64) = map (* 2) xs'
check true 'entry main (xs: []f32) = map (\x -> f32.f64 (f64.f32 x * 0.1)) xs'
check true 'entry main (xs: []f32) (y: f64) = map (\x -> f64.f32 x > y) xs'
check true 'entry main (n: i64) = map f64.i64 (iota n)'
check true 'entry main (xs: []f32) = map (\x -> loop x for _i < 3 do f32.f64 (f64.sqrt (f64.f32 x))) xs'
check true 'entry main (xs: [](i64, i64)) = map (\(x, n) -> (loop ys = replicate n 1f64 for i < n do ys with [i] = f64.i64 x)[0] > 1) xs'
exit $failed
