#!/bin/sh
# What #[trace], #[break] and their functions show, where and by which names: trace.sh FLC
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
# Where it stops, what has a name is shown, an array that an update takes with the elements it had.
cat > "$dir/stops.fl" <<'FL'
def main [n] (xs: *[n]i32) : []i32 =
  let p = (xs[0], {y = true})
  let f (x: i32) = x + p.0
  let ys = xs with [0] = f 3
  in map (\n -> break (n + 1)) (#[break] ys)
FL
cat > "$dir/expected" <<'TEXT'
stops.fl:5:33: trace: n = 2i64
stops.fl:5:33: trace: xs = [1i32, 2i32]
stops.fl:5:33: trace: p.0 = 1i32
stops.fl:5:33: trace: p.1.y = true
stops.fl:5:33: trace: ys = [4i32, 2i32]
stops.fl:5:33: trace: ys = [4i32, 2i32]
stops.fl:5:33: break
stops.fl:5:17: trace: break = 5i32
stops.fl:5:17: break
stops.fl:5:17: trace: break = 3i32
stops.fl:5:17: break
TEXT
test "$(echo '[1, 2]' | "$flc" eval stops.fl 2> shown)" = '[5i32, 3i32]'
diff expected shown
# At a terminal it goes on when it is told to.
python3 - "$flc" <<'PY'
import os, pty, sys

def run(answers):
    child, terminal = pty.fork()
    if child == 0:
        os.execv("/bin/sh", ["sh", "-c", "echo '[1, 2]' | \"$0\" eval stops.fl", sys.argv[1]])
    shown, answers = b"", list(answers)
    while True:
        try: more = os.read(terminal, 1000)
        except OSError: break  # the other side is closed
        if not more: break
        shown += more
        if shown.endswith(b"> ") and answers: os.write(terminal, answers.pop(0))
    return shown.decode(), os.waitpid(child, 0)[1]

for answers, stops, result in (
        ([b"\n", b"\n", b"\n"], 3, True), ([b"c\n"], 1, True), ([b"\n", b"q\n"], 2, False)):
    shown, status = run(answers)
    assert shown.count(": break\r\n") == stops, shown
    assert ("[5i32, 3i32]" in shown) == result == (status == 0), shown
    assert ("stopped here" in shown) != result, shown
PY
