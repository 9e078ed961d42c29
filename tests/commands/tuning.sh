#!/bin/sh
# The tuning file beside a source gives the defaults of what flc build makes; usage  tuning.sh FLC
set -eu
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"

cat > p.fl << 'END'
entry main [n][m] (xss: [n][m]i32) : [n]i32 = map (\xs -> reduce (+) 0 xs) xss
END
printf -- '-- a comment\n\nmain.top_0=123456\n' > p.fl.tuning
"$flc" build p.fl --emit-c -o p.c
grep -q '"main.top_0", "threshold", 123456, 123456' p.c
echo '[[1, 2]]' > in
# shellcheck disable=SC2094 # a file called tree, not the command's
"$flc" tree p.fl --data in --tuning p.fl.tuning > tree
grep -q 123456 tree || { cat tree; exit 1; }

# Those of one kind of code.
printf 'main.top_0=5\nmain.top_0@gpu = 7\nmain.intra_1@cpu=9\n' > p.fl.tuning
"$flc" build p.fl --emit-c -o p.c 2> message
[ ! -s message ]
grep -q '"main.top_0", "threshold", 5, 7' p.c
grep -q '"main.intra_1", "threshold", 9, -1' p.c
if grep -q presets p.c && grep -A9 'rt_preset program_presets' p.c | grep @; then exit 1; fi
printf 'main.workers_0=0\n' > p.fl.tuning
"$flc" build --workers p.fl --emit-c -o p.c
grep -q '"main.workers_0", "workers", 0, 0' p.c

# A damaged file is refused with its position, and nothing is written.
echo 'main.top_0=x' > p.fl.tuning
if "$flc" build p.fl --emit-c -o q.c 2> message; then exit 1; fi
grep -q 'p.fl.tuning:1: expected name=integer' message
[ ! -e q.c ]
