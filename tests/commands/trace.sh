#!/bin/sh
# What #[trace] and trace show, where and by which names: trace.sh FLC
set -eu
flc=$1
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT
cat > "$dir/traced.fl" <<'FL'
def main (xs: []i32) : []i32 =
  let ys = #[trace(doubled)] map (* 2) xs
  let s = trace (i32.sum ys)
  in map (\y -> #[trace] (y + s)) ys
FL
cat > "$dir/expected" <<'TEXT'
traced.fl:2:12: trace: doubled = [2i32, 4i32]
traced.fl:3:11: trace: trace = 6i32
traced.fl:4:17: trace: y + s = 8i32
traced.fl:4:17: trace: y + s = 10i32
TEXT
cd "$dir"
test "$(echo '[1, 2]' | "$flc" eval traced.fl 2> shown)" = '[8i32, 10i32]'
diff expected shown
# What passes have made of the program is not shown.
echo '[1, 2]' | "$flc" eval traced.fl --after flatten > /dev/null 2> shown
test ! -s shown
# A value is shown though nothing needs it, within functions of maps as well.
cat > "$dir/unneeded.fl" <<'FL'
def main (xs: []i32) : []i32 = map (\x -> let _ = trace (x * 2) in x + 1) xs
FL
echo '[1, 2]' | "$flc" eval unneeded.fl > /dev/null 2> shown
test "$(grep -c 'trace = [24]i32' shown)" = 2
echo '1 + #[trace] 2' | "$flc" repl 2>&1 | grep -q 'trace: 2 = 2i32'
