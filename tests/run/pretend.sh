#!/bin/sh
# Devices with less than this one: what programs do there. pretend.sh FLC
# Exit status 77 (skipped) without a device.
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache

cat > small.fl << 'END'
entry rows [n][m] (xss: [n][m]i32) : [n]i32 =
  map (\xs -> let ys = scan (+) 0 xs in reduce (^) 0 (map2 (*) ys (reverse ys))) xss
entry mean [n] (xs: [n]f64) : f64 = f64.sum (map (* 2) xs) / f64.i64 n
entry chain [n] (xs: [n]i64) : (i64, i64, i64, i64) =
  let sums = scan (+) 0 xs
  let (_, last) = reduce (\(a, b) (c, d) -> (a + c, if c > 0 then d else b)) (0, 0) (map (\x -> (1, x - 2)) xs)
  let alternating = map2 (\i x -> if i % 2 == 0 then x else -x) (iota n) xs
  in (i64.sum xs, sums[n - 1], last, i64.sum alternating)
entry quads [n] (xs: [n]i64) : i64 =
  let add (a, b, c, d) (e, f, g, h) = (a + e, b + f, c + g, d + h)
  in map (\(a, b, c, d) -> a ^ b ^ c ^ d) (scan add (0, 0, 0, 0) (map (\x -> (x, x + 1, 2, 3 * x)) xs)) |> last
entry count [n] (is: [n]i64) : [4]i64 = hist (+) 0 4 is (map (const 1) is)
END
"$flc" build small.fl -o small || exit 1
if echo '[1f64]' | ./small -e mean 2>&1 | grep -q 'no OpenCL'; then exit 77; fi

failed=0
fail() {
  echo "FAIL $*"
  failed=1
}
expect() { grep -q -- "$2" log || { fail "$1: not said: $2" && cat log; }; }
# gives EXPECTED ENTRY INPUT OPTIONS..
gives() {
  expected=$1 entry=$2 input=$3
  shift 3
  got=$(echo "$input" | ./small --code gpu -L -e "$entry" "$@" 2> log)
  [ "$got" = "$expected" ] || fail "$entry $*: expected $expected, got $got"
}

# Little local memory: arrays of groups lie in global memory.
groups='rows.top_0=F,rows.intra_1=T'
gives '[9i32]' rows '[[1, 2, 3]]' --path $groups
if grep -q fallback log; then fail "local memory would have done"; fi
gives '[9i32]' rows '[[1, 2, 3]]' --path $groups --pretend local=64
expect 'local' '^pretending: local=64$'
expect 'local' '^build seggroup.*(fallback)'

# 32 KB are enough for scans of many numbers.
gives '27i64' quads '[1i64, 2, 3]' --pretend local=32768
if grep -q fallback log; then fail "scans have too much in local memory"; fi

# No doubles: a message, and what has none runs.
gives '' mean '[1.5f64]' --pretend doubles=0
expect 'doubles' '^error: kernel .* computes with f64, which the device does not have$'
gives '[9i32]' rows '[[1, 2, 3]]' --pretend doubles=0

# No atomic operations on 64 bits: other histograms.
kernels() { sed -n 's/^launch \([a-z_]*\)_[0-9]*: .*/\1/p' log | tr '\n' ' '; }
gives '[1i64, 2i64, 0i64, 0i64]' count '[0i64, 1i64, 1i64]'
with=$(kernels)
gives '[1i64, 2i64, 0i64, 0i64]' count '[0i64, 1i64, 1i64]' --pretend atomics64=0
without=$(kernels)
[ "$with" != "$without" ] || fail "the same kernels without atomic operations: $with"

# Little memory.
gives '' rows '[[1, 2, 3]]' --pretend memory=100
expect 'memory' '^small.fl:2:[0-9]*: error: out of device memory: '

# Sub-groups, of sizes that no device here has: in trees and scans of groups, of several types.
for w in 1 4 64; do
  got=$(seq 3000 | sed 's/$/i64/' | paste -sd, | sed 's/.*/[&]/' |
    ./small --code gpu -e chain --pretend wavefront=$w 2> log)
  [ "$got" = '4501500i64
4501500i64
2998i64
-1500i64' ] || fail "wavefront=$w: got $got"
done

# A device that gives larger blocks than it says.
gives '[9i32]' rows '[[1, 2, 3]]' --pretend block=8
expect 'block' '^a block of 64 bytes, where the device speaks of 8$'

# What it is not.
for wrong in local local= local=x doubles=2 wings=3 wavefront=3 wavefront=0 'local=1;doubles=0'; do
  echo '[1f64]' | ./small -e mean --pretend "$wrong" > log 2>&1 && fail "$wrong was taken"
  expect "$wrong" '^error: --pretend: expected limits such as'
done
exit $failed
