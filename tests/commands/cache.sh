#!/bin/sh
# The cache of executables: what is found there, who is trusted, how large it grows: cache.sh FLC
# No device is needed: a stand-in for the C compiler makes every program an `echo`.
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
unset XDG_CACHE_HOME HOME
export TMPDIR="$folder/tmp"
mkdir tmp bin

cat > bin/cc << 'END_OF_FILE'
#!/bin/sh
made=compiled
case " $* " in *' -c '*) made=object MORE=0 ;; esac
echo $made >> "$COMPILED"
while [ "$1" != -o ]; do shift; done
cat /bin/echo > "$2" && head -c "${MORE:-0}" /dev/zero >> "$2" && chmod 755 "$2"
END_OF_FILE
chmod +x bin/cc
export COMPILED="$folder/compiled" CC="$folder/bin/cc"

fail() {
  printf 'FAIL %s\n' "$*"
  failures=$((failures + 1))
}

# run WHAT TIMES PATTERN FLC_ARGUMENT...: it runs, the C compiler runs so many times, and the output is ...
run() {
  what=$1 times=$2 pattern=$3
  shift 3
  : > "$COMPILED"
  got=$("$flc" run "$@" 2>&1) || fail "$what: status $?"
  count=$(grep -c compiled "$COMPILED")
  [ "$count" = "$times" ] || fail "$what: compiled $count times, expected $times"
  printf '%s\n' "$got" | grep -Eq -- "$pattern" || fail "$what: expected $pattern, got: $got"
}

# objects WHAT TIMES: so often the runtime was compiled in the last run.
objects() { [ "$(grep -c object "$COMPILED")" = "$2" ] || fail "$1: $(grep -c object "$COMPILED") runtimes"; }

printf 'import "lib"\nentry main (x: i32) = add x\n' > p.fl
printf 'def add (x: i32) = x + 1\n' > lib.fl

# ---- what an executable follows from

export HOME="$folder/home"
mkdir -m 755 home
run 'the first time' 1 '^-x$' p.fl -x
objects 'the first time' 1
run 'the second time' 0 '^-y$' p.fl -y
[ "$(stat -c %a home/.cache/flc)" = 700 ] || fail 'the mode of the cache'
[ "$(find home/.cache/flc -type f ! -perm 700)" = '' ] || fail 'the mode of what is in it'
printf 'def add (x: i32) = x + 2\n' > lib.fl
run 'an import that has changed' 1 . p.fl -x
objects 'another program' 0
printf 'main.top_0=1\n' > p.fl.tuning
run 'a tuning file' 1 '^--tuning p.fl.tuning -x$' p.fl -x
rm p.fl.tuning
run 'the tuning file removed' 0 '^-x$' p.fl -x
cp bin/cc bin/cc2
CC="$folder/bin/cc2" run 'another C compiler' 1 . p.fl -x
objects 'another C compiler' 1
CPATH=/nonexistent run 'another folder of headers' 1 . p.fl -x
cp p.fl q.fl
run 'another file name, which messages cite' 1 . q.fl -x
(umask 002 && run 'written with a lax umask' 1 . "$PWD/q.fl" -x && [ "$failures" = 0 ]) || fail 'umask'
(umask 002 && run 'found with a lax umask' 0 . "$PWD/q.fl" -x && [ "$failures" = 0 ]) || fail 'umask'

# ---- who is trusted

for file in home/.cache/flc/*; do cp /bin/false "$file" && chmod 770 "$file"; done
run 'executables that others could write' 1 '^-x$' p.fl -x
objects 'a runtime that others could write' 1

# ---- what a crash of the machine leaves

for size in 0 40 -1; do
  for file in home/.cache/flc/*; do truncate -s "$size" "$file"; done
  run "files that were cut by $size" 1 '^-x$' p.fl -x
  objects "a runtime that was cut by $size" 1
done
for file in home/.cache/flc/*; do echo garbage > "$file"; done
run 'files of something else' 1 '^-x$' p.fl -x
run 'and they are there again' 0 '^-x$' p.fl -x

for file in home/.cache/flc/*; do rm "$file" && mkdir "$file"; done
run 'empty folders in their place' 1 '^-x$' p.fl -x
run 'which are gone' 0 '^-x$' p.fl -x
for file in home/.cache/flc/*; do rm -r "$file" && mkdir "$file" && echo mine > "$file/mine"; done
got=$("$flc" run p.fl -x 2>&1) && fail 'a full folder in the place of an executable'
case $got in
  'error: cannot replace '*'hint: flc makes no folders there: remove this one'*) ;;
  *) fail "a full folder in the place of an executable: $got" ;;
esac
[ "$(cat home/.cache/flc/*/mine | sort -u)" = mine ] || fail 'what somebody has put into the cache has gone'
rm -r home/.cache/flc/*
run 'without them' 1 '^-x$' p.fl -x

chmod 755 home/.cache/flc
run 'a folder that others could read' 0 '^-x$' p.fl -x
[ "$(stat -c %a home/.cache/flc)" = 700 ] || fail 'others can still read it'
for mode in 770 707 1777; do
  chmod $mode home/.cache/flc
  run "a folder of mode $mode" 1 'the cache .*/flc is not used: others can write to it' p.fl -x
  run "a folder of mode $mode again" 1 '^-x$' p.fl -x
done
chmod 700 home/.cache/flc
mv home/.cache/flc home/there && ln -s ../there home/.cache/flc
run 'a link' 1 'is not used: it is a link or no folder' p.fl -x
rm home/.cache/flc && mv home/there home/.cache/flc
if [ "$(id -u)" = 0 ]; then
  chown 12345 home/.cache/flc
  run 'the folder of another user' 1 'is not used: it belongs to another user' p.fl -x
  chown 0 home/.cache/flc
fi
XDG_CACHE_HOME=/proc run 'a cache that cannot be made' 1 'the cache /proc/flc is not used' p.fl -x
unset HOME
mkdir -p "/tmp/flc-cache-$(id -u)" 2> /dev/null
run 'no home' 1 '^-x$' p.fl -x
objects 'without a cache' 0
run 'no home, again' 1 '^-x$' p.fl -x
rmdir "/tmp/flc-cache-$(id -u)" 2> /dev/null || fail 'something was put into a folder of a known name'
[ "$(ls -A tmp)" = '' ] || fail "left: $(ls -A tmp)"

# ---- how large it grows: three programs of 0.4 MiB do not fit into one MiB

export HOME="$folder/home" FLC_CACHE_MIB=1 MORE=400000
rm -rf home/.cache
for name in a b c; do printf 'entry main (x: i32) = x -- %s\n' $name > $name.fl; done
run 'a' 1 . a.fl x
run 'b' 1 . b.fl x
run 'a is used' 0 . a.fl x
run 'c' 1 . c.fl x
run 'a has stayed' 0 . a.fl x
run 'b has gone' 1 . b.fl x
[ "$(find home/.cache/flc -type f -size +300k | wc -l)" -le 2 ] || fail 'the cache is too large'
FLC_CACHE_MIB=0 run 'no room at all' 1 . c.fl x
[ "$(find home/.cache/flc -type f | wc -l)" = 1 ] || fail 'only what runs stays'

# A disk without room; where no such one can be mounted, this is left out.
mkdir small
cat > full.sh << 'END'
mount -t tmpfs -o size=16k tmpfs small || exit 0
XDG_CACHE_HOME=$PWD/small "$1" run a.fl x > out 2>&1 || exit 1
grep -q "^warning: the cache .*/small/flc is not used: No space left on device" out || exit 1
grep -q '^x$' out || exit 1
[ -z "$(find small -type f)" ] || { echo "files are left"; exit 1; }
END
if unshare -rm true 2> /dev/null; then
  unshare -rm sh full.sh "$flc" 2> /dev/null || fail "a full disk: $(cat out)"
fi

if [ "$failures" != 0 ]; then
  echo "$failures failed"
  exit 1
fi
