#!/bin/bash
# Scalars, sizes and types that are made of themselves over and over: written out they would be
# twice as long each time, 2^40 times in the end.  The limit is far above what any of them takes.
# doubling.sh FLC
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failed=0

# lets N VALUE: `let x1 = VALUE` with x0 for X, then `let x2 = VALUE` with x1, to xN.
lets() {
  awk -v n="$1" -v value="$2" 'BEGIN {
    for (i = 1; i <= n; i++) {
      text = value
      gsub(/X/, "x" (i - 1), text)
      printf "  let x%d = %s\n", i, text
    }
  }'
}

# program NAME: the text of NAME.fl on the standard input
names=
program() {
  cat > "$1.fl"
  names="$names $1"
}

# within COMMAND..: it succeeds, and soon
within() {
  timeout 30 "$@" > output 2>&1
  status=$?
  [ $status = 0 ] && return
  printf 'FAIL %s: status %s\n%.400s\n' "$*" "$status" "$(cat output)"
  failed=1
}

# evaluates NAME INPUT EXPECTED
evaluates() {
  got=$(echo "$2" | timeout 30 "$flc" eval "$1.fl" --after dead 2>&1)
  [ "$got" = "$3" ] && return
  printf 'FAIL %s: expected %s, got:\n%.400s\n' "$1" "$3" "$got"
  failed=1
}

square='X * (X - 1) + X'
program host << END
entry main [n] (xs: [n]i64) (k: i64) : [n]i64 =
  let x0 = k + i64.sum xs
$(lets 40 "$square")
  in map (\x -> i64.sum (scan (+) x (iota (i64.min 8 x40)))) xs
END
program loop << END
entry main [n] (xss: [n][4]i64) (k: i64) : [n]i64 =
  loop acc = replicate n 0 for _r < 3 do
  let x0 = k + i64.sum acc
$(lets 40 "$square")
  in map2 (\xs a -> a + i64.sum (scan (+) xs[0] (iota (i64.min 8 x40)))) xss acc
END
program kernel << END
entry main [n][m] (xss: [n][m]i64) : [n]i64 =
  map (\xs -> loop a = 1 for i < m do
    let x0 = a + xs[i]
$(lets 40 "$square")
    in a + xs[x40 % m]) xss
END
program width << END
entry main (k: i64) : []i64 =
  let x0 = k
$(lets 40 "$square")
  in map (+ 1) (iota (x40 % 10))
END
program rows << END
entry main [n][m] (xss: [n][m]i64) (k: i64): [n]i64 =
  let x0 = k
$(lets 40 '2 * X - X')
  in map (\xs -> i64.sum (map (\j -> xs[x40 + j]) (iota (m - x40)))) xss
END
program appended << END
entry main [n] (xs: [n]i64) =
  let x0 = xs
$(lets 5 'X ++ X')
  in map2 (+) x5 (replicate (32 * n) 1)
END
program appended_often << END
entry main [n] (xs: [n]i64) =
  let x0 = xs
$(lets 40 'X ++ X')
  in x40
END
program sliced << END
def middle [k] (xs: [k]i64) = xs[k / 5 : k - k / 4]
entry main [n] (xs: [n]i64) =
  let x0 = xs
$(lets 7 'middle X')
  in (x7, zip x7 (reverse x7), map2 (\i x -> i + x) (indices x7) x7)
END
program sliced_often << END
entry main [n][m] (xss: [n][m]i64) = map (\xs ->
  let x0 = xs
$(lets 40 'X[length X / 3 : length X - length X / 4]')
  in i64.sum x40) xss
END
program product << END
def pairs [n][m] (xs: [n]i64) (ys: [m]i64) : [(n + 1) * (m + 1)]i64 =
  replicate ((n + 1) * (m + 1)) (xs[0] + ys[0])
entry main [a][b][c][d] (as: [a]i64) (bs: [b]i64) (cs: [c]i64) (ds: [d]i64) =
  let x0 = as
$(lets 20 'pairs X bs |> pairs cs |> pairs ds')
  in x20
END

program divided << END
entry main (n: i64) (d: i64) : [n]i64 =
  map (\\i -> let x0 = i
$(lets 40 "(X + X) % d")
  in x40) (iota n)
END
program added_and_divided << END
entry main (n: i64) (d: i64) : [n]i64 =
  map (\\i -> let x0 = i
$(lets 40 "X + X")
  in x40 % d) (iota n)
END
# rows of a product that maps of different attributes, which are not fused, read element by element
program diamonds << END
entry main [n][m] (as: [n][m]f32) (bs: [n][m]f32) : [n][n]f32 =
  let products = map (\\as -> map (\\bs -> f32.sum (map2 (*) as bs)) bs) as
  in map (\\x0 ->
$(lets 30 '(let ys = #[sequential] map (+ 1) X
           let zs = #[sequential_inner] map (* 2) X
           in #[sequential_outer] map2 (+) ys zs)')
  in x30) products
END

for name in $names; do
  within "$flc" lib "$name.fl" -o "$name"
  within "$flc" tree "$name.fl"
  within "$flc" dump "$name.fl" --after imp --code gpu
done

evaluates width 3 '[1i64, 2i64, 3i64, 4i64, 5i64, 6i64, 7i64]'
evaluates appended '[1i64, 2i64]' "[$(for _ in $(seq 31); do printf '2i64, 3i64, '; done)2i64, 3i64]"
numbers="[$(seq -s 'i64, ' 0 23)i64]"
evaluates sliced "$numbers" \
  $'[8i64, 9i64, 10i64]\n[8i64, 9i64, 10i64]\n[10i64, 9i64, 8i64]\n[8i64, 10i64, 12i64]'
exit $failed
