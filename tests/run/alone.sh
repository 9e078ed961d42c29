#!/bin/sh
# On PoCL 3.1 kernels for CPUs are built without its library (runtime/pocl.h), with the same results;
# those that call a function of it that builtins.cl does not define are built with it.
# alone.sh FLC
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

floats() {
  cat << F
def point_$1 (x: $1) (y: $1) : $1 =
  $1.(sqrt (abs x) + floor x + ceil x + trunc y + round y + min x y + max x y + copysign x y + fma x y x
    + exp x + sin y + log (abs y + 1) + sgn x)
entry points_$1 [n] (xs: [n]$1) (ys: [n]$1) = map2 point_$1 xs ys
entry smallest_$1 [n] (xs: [n]$1) (ys: [n]$1) : $1 = reduce $1.min $1.inf (map2 point_$1 xs ys)
entry bins_$1 [n] (xs: [n]$1) (_: [n]$1) = hist $1.max 0 5 (map ((% 5) <-< i64.$1 <-< $1.abs) xs) xs
F
}
integers() {
  cat << F
def point_$1 (x: $1) (y: $1) : $1 =
  $1.(abs x + min x y + max x y * mul_hi x y + i32 (popc x) + i32 (clz y) + i32 (ctz x) ^ y)
entry points_$1 [n] (xs: [n]$1) (ys: [n]$1) = map2 point_$1 xs ys
entry bins_$1 [n] (xs: [n]$1) (ys: [n]$1) = hist (+) 0 5 (map (\\x -> i64.$1 x & 3) xs) ys
F
}
for type in f32 f64; do floats $type; done > all.fl
for type in i8 i32 u16 i64 u64; do integers $type; done >> all.fl
echo 'entry linked [n] (xs: [n]f32) (ys: [n]f32) = map2 (\x y -> f32.lgamma x + y) xs ys' >> all.fl
"$flc" build all.fl -o all || exit 1

values() {  # TYPE SEED: 45 of them, some negative
  i=0
  while [ $i -lt 45 ]; do
    n=$(( (i * 37 + $2) % 120 ))
    case $1 in
    f*) printf '%s%d.%d%s' "$([ $((i % 3)) = 0 ] && echo -)" $((n / 7)) $((n % 10)) "$1" ;;
    i*) printf '%s%d%s' "$([ $((i % 3)) = 0 ] && echo -)" $n "$1" ;;
    *) printf '%d%s' $n "$1" ;;
    esac
    i=$((i + 1))
    [ $i -lt 45 ] && printf ', '
  done
}
run() {  # ENTRY TYPE OUT LOG
  echo "[$(values "$2" 5)] [$(values "$2" 23)]" | ./all -e "$1" --code cpu -L > "$3" 2> "$4" || {
    echo "$1 fails"
    cat "$4"
    failed=1
  }
}

export POCL_CACHE_DIR="$folder/pocl"
./all --code cpu -L -e linked < /dev/null 2>&1 | grep -q 'device pthread' || exit 77
run linked f32 out log
if ! grep -q 'linked with the library' log; then
  case $(clinfo 2> /dev/null) in *'PoCL 3.1'*) echo 'the library is never needed'; failed=1 ;; *) exit 77 ;; esac
fi
for entry in $(sed -n 's/^entry \([a-z]*_[a-z0-9]*\) .*/\1/p' all.fl); do
  type=${entry#*_}
  run "$entry" "$type" out log
  if grep -q 'linked with the library' log; then
    echo "$entry needs the library"
    failed=1
  fi
  POCL_KERNEL_CACHE=0 run "$entry" "$type" linked log
  cmp out linked || { echo "$entry: other results"; failed=1; }
done
exit $failed
