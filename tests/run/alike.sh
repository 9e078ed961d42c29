#!/bin/sh
# Kernels that differ in names alone are compiled once, whichever runs first; others are not taken for
# each other; and what runs once is compiled for one device of PoCL, not for that near by as well.
# alike.sh FLC; exit status 77 (skipped) without a device.
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# The kernels of `halves` and `parts` are one; in those of the others a constant, an operand or the
# order of two arrays differs.
cat > p.fl << 'E2'
entry halves [n] (xs: [n]f64) (ys: [n]f64) : [n]f64 = map2 (\x y -> x / 2 - y) xs ys
entry parts [m] (as: [m]f64) (weights: [m]f64) : [m]f64 = map2 (\a weight -> a / 2 - weight) as weights
entry thirds [n] (xs: [n]f64) (ys: [n]f64) : [n]f64 = map2 (\x y -> x / 3 - y) xs ys
entry same [n] (xs: [n]f64) (_: [n]f64) : [n]f64 = map (\x -> x / 2 - x) xs
entry turned [n] (xs: [n]f64) (ys: [n]f64) : [n]f64 = map2 (\y x -> x / 2 - y) xs ys
E2
"$flc" build p.fl -o p || exit 1
./p --list-devices | grep -q '^#0' || { echo "no device: skipped"; exit 77; }

check() { # ENTRY CODE EXPECTED; the log is kept in `log`
  got=$(echo '[2.0, 4.0] [3.0, 5.0]' | ./p -e "$1" --code "$2" --log 2> log)
  [ "$got" = "$3" ] || { echo "$1: expected $3, got $got"; failed=1; }
}

for code in cpu gpu; do
  check halves $code '[-2.0f64, -3.0f64]'
  check parts $code '[-2.0f64, -3.0f64]'
  check thirds $code '[-2.3333333333333335f64, -3.666666666666667f64]'
  check same $code '[-1.0f64, -2.0f64]'
  check turned $code '[-0.5f64, -1.5f64]'
done

near() { # EXPECTED OPTION...: whether the log names the device near by
  expected=$1
  shift
  echo '[2.0, 4.0] [3.0, 5.0]' | ./p -e halves --code cpu --log "$@" 2> log > result
  grep -q '(near)' log && got=yes || got=no
  [ "$got" = "$expected" ] || { echo "near by with options '$*': expected $expected"; failed=1; }
}
near no
if grep -q 'device \(pthread\|cpu\)-' log; then near yes -r 1; fi

# One process; the second of the two is called first.
"$flc" data -b > values << 'E2'
[2.0, 4.0] [3.0, 5.0]
E2
{
  echo 'restore values xs []f64 ys []f64'
  for entry in parts halves thirds same turned; do
    echo "call $entry $entry xs ys"
    echo "store $entry.out $entry"
  done
} | ./p --code cpu --server --log > replies 2> log
for entry in parts halves thirds same turned; do
  "$flc" data < "$entry.out" >> results
done
cat > expected << 'E2'
[-2.0f64, -3.0f64]
[-2.0f64, -3.0f64]
[-2.3333333333333335f64, -3.666666666666667f64]
[-1.0f64, -2.0f64]
[-0.5f64, -1.5f64]
E2
diff expected results || { cat replies; failed=1; }
if [ "$(grep -c '^build .*: as ' log)" -ne 1 ]; then
  echo "expected that one kernel is built as another:"
  cat log
  failed=1
fi
exit $failed
