#!/bin/sh
# Names of files and commands: usage.sh FLC.  No device is needed.
# shellcheck disable=SC2016 # the backquotes are those of messages
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"

# expect STATUS PATTERN ARGUMENT...: what flc says.
expect() {
  status=$1 pattern=$2
  shift 2
  got=$("$flc" "$@" 2>&1 < /dev/null)
  code=$?
  if [ "$code" != "$status" ] || ! printf '%s\n' "$got" | grep -Eq -- "$pattern"; then
    printf 'FAIL flc %s\n  expected (%s): %s\n  got (%s): %s\n' "$*" "$status" "$pattern" "$code" "$got"
    failures=$((failures + 1))
  fi
}

printf 'entry main (x: i32) = x + 1\n' > p.fut
cp p.fut q.fl
cp p.fut ./-x.fl

# ---- help and versions

expect 0 '^  build +compiles a program to an executable' help
expect 0 '^usage: flc build FILE' help build
expect 0 '^usage: flc check FILE' help check
expect 1 'unknown command bild' help bild
expect 1 'did you mean .flc build.' help bild
expect 1 'hint: what Futhark.s does is done by .flc build. or .flc lib.' opencl p.fut
expect 1 'at most one' help build run
expect 1 'hint: `flc run p.fut` compiles and runs' p.fut
expect 1 'hint: `flc help` lists the commands' zzzzzz
expect 1 'hint: did you mean `--output`[?]' build p.fut --outptu=x
expect 1 'hint: `flc build --help` lists its options' build p.fut --zzz
for option in -V --version; do expect 0 '^flc [0-9.]+$' $option; done
for command in check build run lib eval test bench profile data tune tree dump fmt doc repl lsp; do
  expect 0 '^usage: flc ' $command --help
  expect 0 '^usage: flc ' help $command
done

# makes FILE FLC_ARGUMENT...: the command writes the file.
makes() {
  made=$1
  shift
  if "$flc" "$@" && [ -f "$made" ]; then return; fi
  echo "FAIL flc $*: expected the file $made"
  failures=$((failures + 1))
}

# ---- .fut is as good as .fl

makes p.c build p.fut --emit-c
makes p.json lib p.fut
CC=true makes p build p.fut
printf 'import "p"\nimport "q"\nentry twice (x: i32) = main (main x)\n' > r.fut
expect 0 'twice' tree r.fut

# ---- standard output as an output, and a full disk

expect 0 '^int main' build p.fut --emit-c -o -
expect 1 'cannot write -: it is no regular file' build p.fut -o -
for command in 'tree p.fut' 'dump p.fut' 'build p.fut --emit-c -o -' 'data -g i32' help --version; do
  # shellcheck disable=SC2086 # words
  "$flc" $command > /dev/full 2> err && echo "FAIL flc $command: a full disk" && failures=$((failures + 1))
  grep -q '^error: cannot write .*No space left' err || { echo "FAIL flc $command: $(cat err)" && failures=$((failures + 1)); }
done

# ---- what is not there

CC=no-such-cc expect 1 'hint: install one .Debian: gcc' build p.fut
TMPDIR=/no-such-folder expect 1 '^error: cannot make a folder in /no-such-folder: No such file' bench p.fut
expect 1 '^error: cannot write none/x: No such file' bench p.fut --json none/x
expect 1 '^error: cannot write none/x: No such file' profile p.fut -o none/x
expect 1 '^error: cannot write none/x: No such file' tune p.fut --range x=1:9 -o none/x
expect 1 'unexpected value x of option --budget' tune p.fut --budget x
expect 1 '^error: unknown option --none' autotune -v --dry-run --range x=1:9 --pass-option=--none p.fut
expect 0 '^Usage: ' run p.fut -- --help
expect 1 'nothing was tested' test --no-device -e main p.fut
OCL_ICD_VENDORS=/none expect 1 '^hint: a GPU needs its maker.s driver' run p.fut

# ---- names that begin with a dash, files that are not there

expect 0 '^$' check -- -x.fl
expect 1 'done by `flc profile`' bench --profile p.fut
expect 1 'flc check: unknown option -x' check -x.fl
for command in check build lib eval test bench profile data tune tree dump fmt; do
  expect 1 "flc $command: unknown option --nonsense" $command --nonsense q.fl
done
for command in build lib tune; do expect 1 "flc $command: -o needs an argument" $command q.fl -o; done
for command in build lib bench profile tree eval; do
  expect 1 "flc $command: --flatten needs an argument" $command q.fl --flatten
done
for command in build 'lib -o p' run; do
  # shellcheck disable=SC2086 # words
  expect 1 '--mixed needs --workers or --mpi' $command --mixed p.fut
done
for option in flatten max-versions recipe mpi workers; do
  expect 1 "^error: flc run: --$option needs an argument" run p.fut --$option
  expect 1 "^error: flc run: --$option needs an argument" run --$option= p.fut
done
for command in build lib bench profile test; do
  expect 1 "^error: flc $command: --recipe needs an argument" $command p.fut --recipe ''
done
expect 1 '^error: flc doc: --output needs an argument' doc -o '' p.fut
expect 0 '' doc p.fut --title '' -o doc
for command in check build run lib eval test bench profile tune tree dump fmt doc literate; do
  expect 1 "^error: flc $command: a file name is empty$" $command ''
done
expect 1 '^error: option --tuning needs FILE$' run p.fut --tuning ''
expect 0 '^$' check q.fl -- -x.fl
for command in dump tree; do expect 0 main $command -- -x.fl; done
makes ./-x.c build --emit-c -- -x.fl
for command in check build run lib eval test bench profile tune tree dump; do
  expect 1 '^error: cannot read none.fl: No such file or directory$' $command none.fl
  expect 1 '^error: ' $command
done
expect 1 'did you mean r.fut\?' check r
expect 1 'did you mean p.fut\?' check p.fl
expect 1 'did you mean q.fl\?' build q.fut
expect 1 'cannot read .: Is a directory' check .

touch p.fut.tuning
expect 1 '^warning: there is no tuning file p.fut.mine$' bench p.fut --tuning mine
expect 1 '^warning: there is no tuning file p.fut.p.fut.tuning$' bench p.fut --tuning p.fut.tuning
expect 1 '^hint: .--tuning. takes what follows the program.s name: .--tuning tuning. reads p.fut.tuning$' bench p.fut --tuning p.fut.tuning
expect 0 '^warning: there is no tuning file p.fut.mine$' test p.fut --tuning mine
expect 0 '^0 passed, 0 failed$' test p.fut --tuning tuning
rm p.fut.tuning

# ---- where the name of an output was left out, a program is not written over

for option in 'bench --json' 'bench --html' 'profile -o' 'profile --json' 'tune --report' 'tune --log' 'tune -o' 'build -o' 'literate -o'; do
  # shellcheck disable=SC2086 # words
  expect 1 '^error: the output would replace the program p.fut$' $option p.fut q.fl
done
cmp p.fut q.fl

# ---- other encodings

printf '\377\376d\000' > wide.fl
expect 1 '^hint: the file is in UTF-16: save it as UTF-8$' check wide.fl
printf 'def f = \351\n' > wide.fl
expect 1 '^hint: save the file as UTF-8$' check wide.fl
rm wide.fl

# The byte order mark of some editors stands before no text that is looked for.
mark=$(printf '\357\273\277')
printf '%s-- ==\r\n-- input { [1f32] } output { [2f32] }\r\nentry main (xs: []f32) = map (+ 1) xs\r\n' "$mark" > mark.fl
expect 0 '^1 passed, 0 failed$' test --no-device mark.fl
printf '%skernel main.segmap\n' "$mark" > mark.recipe
expect 0 '^kernel main.segmap ' dump --recipes --recipe mark.recipe mark.fl
echo 'entry main (xs: [][]f32) = map f32.sum xs' > mark.fl
echo '[[1f32]]' > mark.in
printf '%smain.top_0 = 7  -- as executables read it\r\n' "$mark" > mark.tuning
expect 0 '1 < 7' tree mark.fl --data mark.in --tuning mark.tuning
echo 'main.top_0=99999999999999999999' > mark.tuning
expect 1 '^error: mark.tuning:1: expected name=integer' tree mark.fl --data mark.in --tuning mark.tuning
rm mark.*

# ---- nothing to run

echo 'def f (x: i32) = x' > none.fl
expect 0 '^warning: the program has no entry points: there is nothing to compile$' build none.fl
expect 0 '^warning: the program has no entry points: there is nothing to compile$' tree none.fl
expect 1 '^error: the program has no entry points$' eval none.fl -e f
expect 1 '^hint: write .entry. instead of .def. before' eval none.fl
rm none none.fl

# ---- how to flatten

for command in build run lib bench profile; do
  expect 1 "flc $command: unknown way to flatten sideways" $command --flatten sideways q.fl
  expect 1 "flc $command: expected a number of versions from 1" $command --max-versions 0 q.fl
done
printf 'entry main (xss: [][]i32) = map (\\xs -> i32.sum (map (+ 1) xs)) xss\n' > nest.fl
# versions NUMBER OPTION...: how many the C text has.
versions() {
  wanted=$1
  shift
  "$flc" build nest.fl --emit-c -o nest.c "$@" && grep -q "\"main: $wanted version" nest.c && return
  echo "FAIL flc build $*: expected $wanted versions"
  failures=$((failures + 1))
}
versions 3
versions 3 --flatten incremental
versions 1 --flatten moderate
versions 1 --flatten full
versions 1 --flatten outer
versions 1 --max-versions 1
makes nest.json lib nest.fl --flatten outer
grep -q '"versions": 1,' nest.json || expect 0 'one version' lib nest.fl

# ---- nothing to measure

expect 1 '^error: q.fl has no data to measure$' bench q.fl
expect 1 '^hint: write a test block' bench q.fl
printf -- '-- ==\n-- nobench input { 1 }\nentry main (x: i32) = x\n' > t.fl
expect 1 't.fl has no data to measure$' bench t.fl
expect 1 'hint: its cases are for other entry points, or tagged nobench' bench t.fl
expect 1 'no entry point .other.' bench t.fl -e other

if [ "$failures" != 0 ]; then
  echo "$failures failed"
  exit 1
fi
