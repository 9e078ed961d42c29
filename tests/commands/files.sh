#!/bin/sh
# Outputs appear whole or not at all, and no temporary file is left, whatever happens: files.sh FLC
# No device is needed.
flc=$(realpath "$1")
here=$(realpath "$(dirname "$0")")
failures=0
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
mkdir tmp work home
export TMPDIR="$folder/tmp" HOME="$folder/home" XDG_CACHE_HOME="$folder/home/cache"
cd work || exit 1

fail() {
  printf 'FAIL %s\n' "$*"
  failures=$((failures + 1))
}

# expect WHAT PATTERN TEXT
expect() { printf '%s\n' "$3" | grep -Eq -- "$2" || fail "$1: expected $2, got: $3"; }

# left WHAT EXPECTED: the files that are there, hidden ones, too.
left() {
  got=$(find . "$TMPDIR" "$HOME" -type f ! -path "$HOME/cache/flc/[0-9a-f]*" | sort | tr '\n' ' ')
  [ "$got" = "$2" ] || fail "$1: expected the files $2, found $got"
}

wait_for() {
  i=0
  until [ -e "$1" ]; do
    i=$((i + 1))
    [ $i -lt 1000 ] || { fail "$1 never came"; return 1; }
    sleep 0.02
  done
}

printf 'entry main (xs: []i32) : []i32 = map (+ 1) xs\n' > p.fl

# ---- no room

full() { (ulimit -f 16 && exec "$flc" "$@") 2>&1; }
printf old > p.c
got=$(full build p.fl --emit-c) && fail 'a program without room'
expect 'C without room' '^error: cannot write p.c: File too large$' "$got"
left 'C without room' './p.c ./p.fl '
[ "$(cat p.c)" = old ] || fail 'the old file is gone'
got=$(full build p.fl) && fail 'an executable without room'
expect 'an executable without room' 'error: ' "$got"
left 'an executable without room' './p.c ./p.fl '
for name in p.c p.h p.json; do printf old > $name; done
got=$(full lib p.fl) && fail 'a library without room'
expect 'a library without room' 'cannot write p.c: File too large' "$got"
rm p.json && mkdir p.json
got=$("$flc" lib p.fl 2>&1) && fail 'a library whose last file cannot be written'
expect 'a library whose last file cannot be written' 'cannot write p.json: Is a directory' "$got"
[ "$(cat p.c p.h)" = oldold ] || fail 'a part of a library was written'
left 'a library' './p.c ./p.fl ./p.h '
rm -r p.c p.h p.json
for base in - /dev/full tmp/ .; do
  got=$("$flc" lib p.fl -o "$base" 2>&1) && fail "a library at $base"
  expect "a library at $base" "^error: flc lib: cannot write $base: " "$got"
done
left 'a library that is no file' './p.fl '

# ---- what is not to be replaced

mkfifo pipe
got=$("$flc" build p.fl -o pipe 2>&1) && fail 'an executable in place of a pipe'
expect 'a pipe' 'cannot write pipe: it is no regular file' "$got"
[ -p pipe ] || fail 'the pipe is gone'
rm pipe
got=$("$flc" build p.fl -o . 2>&1) && fail 'an executable in place of a folder'
expect 'a folder' 'cannot write .: Is a directory' "$got"
printf 'before\n' > out
"$flc" build p.fl --emit-c -o /dev/stdout >> out || fail 'C to standard output'
head -n 1 out | grep -q before || fail 'standard output was replaced'
rm out
umask 027
"$flc" build p.fl --emit-c
[ "$(stat -c %a p.c)" = 640 ] || fail 'the mode of a new file'
chmod 604 p.c
"$flc" build p.fl --emit-c
[ "$(stat -c %a p.c)" = 604 ] || fail 'the mode of an old file'
rm p.c

# ---- signals

printf '#!/bin/sh\ntouch %s/started\nexec sleep 60\n' "$folder" > "$folder/slow"
chmod +x "$folder/slow"
for signal in TERM HUP INT; do
  for command in build run; do
    rm -f "$folder/started"
    # The commands of a shell without job control ignore SIGINT, those under nohup SIGHUP, which we cannot undo
    # from here.
    CC="$folder/slow" python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$flc" $command p.fl < /dev/null &
    wait_for "$folder/started" && kill -$signal $!
    wait $! && fail "$command goes on after $signal"
    left "$command after $signal" './p.fl '
  done
done

cp "$here/../tuner/simulated.py" .
cat > scenario.json << 'END_OF_FILE'
{"calls": "calls", "races": "races", "sleep": 0.2, "program": {"guard": "main.top_0",
 "par": {"small": 16}, "then": {"version": "V0", "us": {"small": 9}}, "else": {"version": "V1", "us": {"small": 5}}}}
END_OF_FILE
printf small > small
for signal in TERM INT; do
  rm -f calls
  python3 -c 'import os, signal, sys
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execv(sys.argv[1], sys.argv[1:])' "$flc" tune p.fl --program "python3 simulated.py scenario.json 1" \
    --data small --no-log > out 2>&1 &
  wait_for calls && kill -$signal $!
  wait $!
  rm -f calls races out
  [ ! -e p.fl.tuning ] || grep -q '^-- date: ' p.fl.tuning || fail 'a part of a tuning file'
  rm -f p.fl.tuning
  left "tune after $signal" './p.fl ./scenario.json ./simulated.py ./small '
done

if [ "$failures" != 0 ]; then
  echo "$failures failed"
  exit 1
fi
