#!/bin/sh
# flc tree, flc eval --path, flc dump --stats: usage  tree.sh FLC
flc=$(realpath "$1")
root=$(cd "$(dirname "$0")/../.." && pwd)
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
cp "$root/tests/rules/g3-matrix-multiplication.fl" p.fl
echo '[[1, 2], [3, 4]] [[5, 6], [7, 8]]' > p.in
echo 'kernel main.nothing' > nothing.recipe
printf -- '-- thresholds\nmain.top_0=2\n' > p.tuning

# expect STATUS PATTERN ARGUMENT...: the outcome of `flc ARGUMENT...` with p.in as its input.
expect() {
  status=$1 pattern=$2
  shift 2
  got=$("$flc" "$@" < p.in 2>&1)
  code=$?
  if [ "$code" != "$status" ] || ! printf '%s\n' "$got" | grep -Eq -- "$pattern"; then
    printf 'FAIL flc %s\n  expected (%s): %s\n  got (%s): %s\n' "$*" "$status" "$pattern" "$code" "$got"
    failures=$((failures + 1))
  fi
}

expect 0 '^main: 5 versions, 4 guards$' tree p.fl
expect 0 'V4  segred1<n,p,m>$' tree p.fl
expect 0 'V4  segred1<n,p,m>  <== runs$' tree p.fl --data p.in
expect 0 'top_0: n >= t  \[2 < 32768\]' tree p.fl --data p.in
expect 0 'V0  segmap1<n> \(all sequential\)  <== runs$' tree p.fl --data p.in --tuning p.tuning
expect 0 '^digraph "main"' tree p.fl --format dot
expect 0 'label="yes: blocks of n"' tree p.fl --workers --format dot
expect 0 '"kind": "guard", "splits": \["main.workers_0"\], "name": "main.top_0"' tree p.fl --workers --format json
expect 0 'blocks of n: main.workers_0: .*  \[[0-9]+ < 262144\]$' tree p.fl --workers --data p.in
printf 'main.workers_0=1\n' > split.tuning
expect 0 'blocks of n: main.workers_0: .*  \[[0-9]+ >= 1\]$' tree p.fl --workers --data p.in --tuning split.tuning
expect 0 '"expr": \["\*", \["\*", "n", "p"\], "m"\]' tree p.fl --format json
"$flc" tree p.fl --format json --data p.in 2> /dev/null | python3 -m json.tool > /dev/null ||
  { echo 'FAIL: bad JSON'; failures=$((failures + 1)); }
expect 0 '"guard": "recipe", "ways": \["split ' tree p.fl --format json --other-recipes
expect 0 'V0  segmap1<n> \(all sequential\)$' tree p.fl --other-recipes
expect 0 '^\|   \|-- main.segmap.recipe = 1 +[a-z]' tree p.fl --other-recipes
expect 0 'label="main.segmap_2.recipe"' tree p.fl --other-recipes --format dot
printf 'kernel main.segmap_3\n  split p by 16 overlap\n  bind p to lane\nor\n  split n by 2 overlap\n  permute p n\n  bind n to reg\n' > p.recipe
expect 0 '^    \|   `-- main.segmap_3.recipe = 2 +split n by 2 overlap; permute p n; bind n to reg$' tree p.fl --recipe p.recipe
expect 1 'has no kernel .*main.nothing' tree p.fl --recipe nothing.recipe
expect 0 '^main: 1 version, 0 guards$' tree p.fl --flatten=full
expect 0 'segred1<n,p,m>$' tree p.fl --flatten=full
expect 0 'V0  segmap1<n,p> redomap$' tree p.fl --flatten=moderate
expect 0 'V0  segmap1<n> \(all sequential\)$' tree p.fl --flatten=outer
expect 0 'warning: more than 1 code versions' tree p.fl --max-versions 1
for path in V0 V1 V2 V3 V4 main.top_0=T main.top_0=F,main.intra_1=T; do
  expect 0 '^\[\[19i32, 22i32\], \[43i32, 50i32\]\]$' eval p.fl --path "$path"
done
expect 1 'entry point main has no version V5, only V0 to V4' eval p.fl --path V5
expect 1 'entry point main has no guard main.top_9' eval p.fl --path main.top_9=T
expect 1 'expected guard=T or guard=F' eval p.fl --path main.top_0
expect 1 'unknown way to flatten inner' tree p.fl --flatten=inner
expect 1 'unknown format svg' tree p.fl --format svg
expect 1 '--tuning needs --data' tree p.fl --tuning p.tuning
expect 1 'cannot read nowhere.in' tree p.fl --data nowhere.in
# shellcheck disable=SC2016 # the quotes are of the message
expect 1 'no entry point `other`' tree p.fl -e other
expect 0 'p.fl:7:3: G3$' dump p.fl --trace-rules
expect 0 '^main +5 +4 +5 ' dump p.fl --stats
echo 'main.top_0' > bad.tuning
expect 1 'bad.tuning:1: expected name=integer, found main.top_0' tree p.fl --data p.in --tuning bad.tuning

[ "$failures" = 0 ]
