#!/bin/sh
# On PoCL kernels compile without clang's header: runtime/kernels/builtins.cl has what they use.
# builtins.sh FLC
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export POCL_CACHE_DIR="$folder/pocl"
cd "$folder" || exit 1
failed=0

floats() {
  cat << F
def all_$1 (x: $1, y: $1) : $1 =
  let f = $1.((exp x + log x) + (sin x * cos x) - tan x / atan x + asin (x / 10) + acos (x / 10))
  let g = $1.(sinh x + cosh x + tanh x + asinh x + acosh (x + 2) + atanh (x / 100) + atan2 x y + x ** y)
  let h = $1.(exp2 x + exp10 x + expm1 x + log2 x + log10 x + log1p x + sqrt x + rsqrt x + cbrt x + hypot x y)
  let k = $1.(sinpi x + cospi x + tanpi x + asinpi (x / 10) + acospi (x / 10) + atanpi x + atan2pi x y)
  let l = $1.(erf x + erfc x + gamma x + lgamma x + fma x y f + mad x y g + lerp x y h + x % y)
  let m = $1.(floor x + ceil x + trunc x + round x + min x y + max x y + abs x + sgn x + copysign x y + nextafter x y)
  let n = if $1.isnan f || $1.isinf g then 0 else $1.ldexp (f + g + h + k + l + m) 2
  in n + $1.i64 (i64.$1 x) + $1.i8 (i8.$1 y) + $1.u32 (u32.$1 x) + $1.bool (x < y)
def many_$1 [n] (xs: [n]$1) : $1 = reduce $1.max 0 (map (\\x -> all_$1 (x, 3)) xs)
def arrays_$1 [n] (xs: [n]$1) : [n]$1 = scan (+) 0 (map $1.exp xs)
def rare_$1 [n] (xs: [n]$1) = map (\\x -> $1.(sinpi x + cospi x + tanpi x + asinpi x + acospi x + atanpi x + erfc x)) xs
F
}
integers() {
  cat << F
def all_$1 (x: $1, y: $1) : $1 =
  $1.((x * y + x / y - x % y) ^ (x & y) | (x << 2) + (x >> 1) + min x y + max x y + abs x + sgn x
    + mul_hi x y + mad_hi x y x + i32 (popc x) + i32 (clz y) + i32 (ctz x))
def many_$1 [n] (xs: [n]$1) : $1 = reduce $1.max 0 (map (\\x -> all_$1 (x, 3)) xs)
def arrays_$1 [n] (xs: [n]$1) : ([20]$1, [20]$1, []$1) =
  (hist (+) 0 20 (map i64.$1 xs) xs, hist $1.max 0 20 (map i64.$1 xs) xs, filter (> 2) xs)
F
}
for type in f32 f64 f16; do floats $type; done > all.fl
for type in i8 i16 i32 i64 u8 u16 u32 u64; do integers $type; done >> all.fl
{
  echo 'entry main [n] (xs: [n]i64) ='
  echo '  ('
  for type in f32 f64 f16 i8 i16 i32 i64 u8 u16 u32 u64; do
    echo "  many_$type (map $type.i64 xs), arrays_$type (map $type.i64 xs),"
  done
  echo '  n)'
  for type in f32 f64; do echo "entry $type [n] (xs: [n]$type) = rare_$type xs"; done
} >> all.fl

"$flc" build all.fl -o all || exit 1
for code in cpu gpu; do
  echo '[1i64, 2i64, 3i64, 4i64]' | ./all --code $code -L --build-option=-cl-opt-disable > out 2> log || { cat log; failed=1; }
  for type in f32 f64; do  # in lanes
    yes "0.5$type," | head -n 40 | tr -d '\n' | sed 's/.*/[&]/' |
      ./all -e $type --code $code -L --build-option=-cl-opt-disable > out 2>> log || { cat log; failed=1; }
  done
  if grep 'header of all that is built in' log; then
    echo "code for $code does not compile with builtins.cl"
    failed=1
  fi
done
exit $failed
