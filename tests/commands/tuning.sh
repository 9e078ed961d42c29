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

# A damaged file is refused with its position, and nothing is written.
echo 'main.top_0=x' > p.fl.tuning
if "$flc" build p.fl --emit-c -o q.c 2> message; then exit 1; fi
grep -q 'p.fl.tuning:1: expected name=integer' message
[ ! -e q.c ]
