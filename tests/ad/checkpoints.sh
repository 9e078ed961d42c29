#!/bin/sh
# How much memory the tapes of loops take, as `-P` tells it: checkpoints.sh FLC.  Rounds change N numbers each time; without
# #[stripmine] reverse mode keeps all of them, of every round.
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1

cat > rounds.fl << 'END'
def round [n] (ys: [n]f64) : [n]f64 = map (\y -> f64.sin (y * 1.01)) ys
def plain_loop [n] (k: i64) (xs: [n]f64) : f64 = f64.sum (loop ys = xs for _i < k do round ys)
def outer_loop [n] (k: i64) (xs: [n]f64) : f64 = f64.sum (#[stripmine(1)] loop ys = xs for _i < k do round ys)
def outer_loops [n] (k: i64) (xs: [n]f64) : f64 = f64.sum (#[stripmine(2)] loop ys = xs for _i < k do round ys)

entry plain (n: i64) (k: i64) = vjp (plain_loop k) (replicate n 1) 1
entry once (n: i64) (k: i64) = vjp (outer_loop k) (replicate n 1) 1
entry twice (n: i64) (k: i64) = vjp (outer_loops k) (replicate n 1) 1
END
"$flc" build rounds.fl -o rounds || exit 1

# peak ENTRY ROUNDS: how many rounds' numbers there is memory for
peak() {
  bytes=$(echo "2000i64 ${2}i64" | ./rounds -e "$1" -P -n 2>&1 | sed -n 's/^peak device memory: \([0-9]*\) bytes$/\1/p')
  echo $((bytes / 16000))
}

# between LOW HIGH ENTRY ROUNDS
between() {
  got=$(peak "$3" "$4")
  [ "$got" -ge "$1" ] && [ "$got" -le "$2" ] && return
  printf 'FAIL %s of %s rounds takes the memory of %s, not of %s to %s\n' "$3" "$4" "$got" "$1" "$2"
  failures=$((failures + 1))
}

between 400 900 plain 400
between 1600 3400 plain 1600
between 30 100 once 400   # 2 sqrt 400 = 40
between 60 190 once 1600  # 2 sqrt 1600 = 80
between 15 120 twice 1600  # 3 times the third root is 35, and what inner loops begin with
between 15 140 twice 6400  # 56

[ "$failures" = 0 ]
