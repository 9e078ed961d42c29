#!/bin/sh
# Arrays whose size their items find out: the arena of a launch reaches its size in at most two more
# attempts, for many small arrays and for few large ones, and keeps it for the next launch.  arena.sh FLC
# Exit status 77 (skipped) without an OpenCL device.
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache

cat > grow.fl << 'END'
def grow (x: i64) : i64 = i64.sum (loop acc = [x] while length acc < x do acc ++ acc)
entry main (n: i64) (k: i64) (step: i64) : i64 =
  i64.sum (map (\i -> grow (1 + k * i64.bool (i % step == 0)) + i) (iota n))
END
"$flc" build grow.fl -o grow || exit 1
if printf '1i64 1i64 1i64' | ./grow 2>&1 | grep -q 'no OpenCL'; then exit 77; fi

failed=0
# check CODE N K STEP EXPECTED: every STEP-th of N items makes an array of at least K elements.
check() {
  got=$(printf '%si64 %si64 %si64' "$2" "$3" "$4" | ./grow --code "$1" -L -r 2 2> log) || failed=1
  attempts=$(grep -c 'too small' log)
  if [ "$got" != "$5" ] || [ "$attempts" -gt 2 ]; then
    printf 'FAIL code for %s, %s: %s attempts, expected %s, got %s\n' "$1" "$2 $3 $4" "$attempts" "$5" "$got"
    grep 'too small' log
    failed=1
  fi
}
for code in cpu gpu; do
  check $code 4 300000 2 314573848584i64
  check $code 3000 1000 1 3079570500i64
  check $code 5000 100000 5000 13119833571i64
done

# One item makes arrays of other sizes in each round and reads what it has stored in the rounds before:
# running it again begins with what there was at first.
cat > regions.fl << 'END'
entry main (n: i64) (rounds: i64) : i32 =
  let a = tabulate_2d n n (\i j -> i32.i64 ((i * 7 + j) % 13))
  let b = loop a = copy a for k < i64.min rounds n do
    a with [0:k, k:n] = map (\i -> map (\j -> 3 * a[(k + 1) % n, n - 1] + a[(i + 1) % n, j]) (k..<n)) (0..<k)
  in i32.sum (flatten b)
END
"$flc" build regions.fl -o regions || exit 1
for code in cpu gpu; do
  for one in T F; do
    printf '1200i64 400i64' | ./regions --code $code --path main.loop_4=$one -L > $one 2> log-$one || failed=1
  done
  if ! cmp T F || ! grep -q 'too small' log-F; then
    printf 'FAIL regions, code for %s\n' $code
    failed=1
  fi
done
exit $failed
