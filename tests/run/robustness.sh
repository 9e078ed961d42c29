#!/bin/sh
# What executables do when things go wrong: robustness.sh FLC
# Exit status 77 (skipped) without an OpenCL device.
flc=$(realpath "$1")
stand_in=$(realpath "$(dirname "$0")/../runtime/faulty_opencl.c")
failures=0
folder=$(mktemp -d)
trap 'chmod -R u+w "$folder"; rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache
# What PoCL makes of kernels when it optimises them is no subject here.
export POCL_EXTRA_BUILD_FLAGS=-cl-opt-disable

cat > p.fl << 'END'
entry main (xs: []i32) (k: i32) : []i32 = map (* k) xs
entry pick (xs: []i32) (i: i64) : i32 = xs[i]
entry total (xs: []i32) : i32 = reduce (+) 0 xs
entry rows (xss: [][]i32) : []i32 = map i32.sum xss
entry huge (n: i64) : i64 = let xs = map (\i -> (i * 7) % 13) (iota n) in reduce (+) 0 (scatter (copy xs) xs (copy xs))
END
cat > q.fl << 'END'
entry pick (xs: []i32) (i: i64) : i32 = xs[i]
entry each (xs: []i32) (i: i64) : []i32 = map (\x -> xs[i + i64.i32 x]) xs
entry ratio (xs: []i32) (i: i64) : i64 =
  length xs / (i - 5)
END
for name in p q; do "$flc" build $name.fl -o $name || exit 1; done
./p --list-devices | grep -q . || exit 77
if printf '[1]2' | ./p 2>&1 | grep -q 'no OpenCL'; then exit 77; fi

# expect WHAT STATUS PATTERN GOT_STATUS GOT_TEXT; statuses as `case` patterns.
expect() {
  # shellcheck disable=SC2254 # the status is a pattern
  case $4 in
    $2) printf '%s\n' "$5" | grep -Eq -- "$3" && return ;;
  esac
  printf 'FAIL %s\n  expected (%s): %s\n  got (%s): %s\n' "$1" "$2" "$3" "$4" "$5"
  failures=$((failures + 1))
}

# run WHAT STATUS PATTERN INPUT OPTION...
run() {
  what=$1 status=$2 pattern=$3 input=$4
  shift 4
  got=$(printf '%s' "$input" | timeout 120 ./p "$@" 2>&1)
  expect "$what" "$status" "$pattern" $? "$got"
}

run 'right input' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
run 'empty array' 0 '^empty\(\[0\]i32\)$' 'empty([0]i32) 2'
run 'a value of the wrong type' '[1-9]' 'i32' '[1.5f32] 2'
run 'a value of the wrong rank' '[1-9]' 'i32' '[[1]] 2'
run 'ragged rows' '[1-9]' '.' '[[1], [2, 3]] 2'
run 'too few values' 1 '^error: parameter k: i32: expected a value, found the end of the input$' '[1]'
run 'too many values' 1 '^error: expected the end of the input after 2 values, found more data$' '[1] 2 3'
run 'an array without an end' '[1-9]' '.' '[1, 2'
run 'no input' 1 '^error: parameter xs: \[\]i32: expected a value' ''
run 'truncated binary input' '[1-9]' '.' "$(printf 'b\002\001 i32\003')"
run 'a binary value of 2^60 elements' '[1-9]' 'expected [0-9]* bytes' \
  "$(printf 'b\002\001 i32\177\177\177\177\177\177\177\017')"
run 'a binary value of 2^62 elements' '[1-9]' 'damaged sizes' \
  "$(printf 'b\002\001 i32\177\177\177\177\177\177\177\177')"
run 'a binary value of a negative size' '[1-9]' 'damaged sizes' \
  "$(printf 'b\002\001 i32\377\377\377\377\377\377\377\377')"
run 'a binary value of 255 dimensions' '[1-9]' 'expected i32 with 1 dimension, found' "$(printf 'b\002\377 i32\001')"
run 'a binary value of another version' '[1-9]' 'version 2' "$(printf 'b\003\001 i32\001')"
run 'noise' '[1-9]' '.' '%$#@!'
run 'an unknown option' '[1-9]' 'unknown option --frobnicate' '' --frobnicate
run 'an unknown parameter' '[1-9]' 'no parameter nonsense' '' --param nonsense=3
run 'a parameter without value' '[1-9]' 'expected NAME=INT' '' --param nonsense
run 'a tuning file that is absent' '[1-9]' 'cannot read' '' --tuning absent.tuning
run 'an unknown version' '[1-9]' 'GUARD=T' '' --path main.nothing=T
run 'an unknown entry point' 1 '^error: the program has no entry point .nothing.$' '' -e nothing
run 'those that there are' 1 '^hint: its entry points are main, pick, total, rows, huge: choose one with -e$' '' -e nothing
run 'an unknown device' '[1-9]' 'no OpenCL device matches' '[1] 2' -d nonsuch
run 'an argument that is no option' '[1-9]' 'unexpected argument' '' stray
run 'kernels to load that are absent' 1 'cannot read absent: No such file' '[1] 2' --load-opencl-binary absent
printf 'no kernels' > noise
run 'kernels to load that are noise' 1 'noise holds no compiled kernels' '[1] 2' --load-opencl-binary noise
run 'OpenCL C that is noise' 1 'building kernel' '[1] 2' --load-opencl noise
expect 'attempts at it' 1 '^1$' 1 "$(printf '%s\n' "$got" | grep -c 'errors\{0,1\} generated')"
run 'OpenCL C that cannot be written' 1 'cannot write /nonexistent' '[1] 2' --dump-opencl /nonexistent/a
run 'compiled kernels that cannot be written' 1 'cannot write /nonexistent' '[1] 2' --dump-opencl-binary /nonexistent/a
for setting in thread-block-size grid-size tile-size reg-tile-size; do
  run "a $setting of 0" 1 "default-$setting wants a number from 1 on, found 0" '[1, 3]' -e total --default-$setting 0
done
for setting in thread-block-size grid-size tile-size reg-tile-size threshold; do
  run "a $setting of 1" 0 '^4i32$' '[1, 3]' -e total --default-$setting 1
  run "a $setting of 2147483647" '[01]' '^4i32$|device|memory' '[1, 3]' -e total --default-$setting 2147483647
done
run 'a negative size' 1 'expected a number' '[1, 3]' -e total --default-grid-size -1
run 'a threshold of 0' 0 '^4i32$' '[1, 3]' -e total --default-threshold 0
for value in 0 -1; do
  run "a chunk of $value" 1 "segred_chunk \\(chunk\\) wants a number from 1 on, found $value" '[1, 3]' -e total \
    --param segred_chunk=$value
  run "items of $value" 1 'wants a number from 1 on' '[1, 3]' -e total --param segred_items=$value
  printf 'segred_chunk=%s\n' $value > zero.tuning
  run "a chunk of $value in a file" 1 "zero.tuning:1: segred_chunk wants a number from 1 on, found $value" \
    '[1, 3]' -e total --tuning zero.tuning
done
run 'a threshold of -1' 1 'wants a number from 0 on, found -1' '[1, 3]' -e total --param default_threshold=-1
run 'a layout of 2' 1 'layout .* wants 0 or 1, found 2' '[1, 3]' -e total --param layout=2
got=$(printf 'set_tuning_param segred_chunk 0\nset_tuning_param segred_chunk 9\ntuning_param_value segred_chunk\n' |
  timeout 120 ./p --server 2>&1)
expect 'a chunk of 0 for a server' 0 'segred_chunk wants a number from 1 on, found 0' $? "$got"
expect 'the server goes on' 0 '^9$' 0 "$got"
# Both codes in one process, each with parameters of its own, as `flc test` runs them.
printf '[1, 3]' > in
got=$(printf '%s\n' 'restore in xs []i32' 'set_tuning_param segred_chunk 9' 'code gpu' 'call total a xs' \
  'tuning_param_value segred_chunk' 'code cpu' 'call total b xs' 'tuning_param_value segred_chunk' 'code tpu' |
  timeout 120 ./p --server -L 2>&1 | grep -E '^(launch|[0-9]+$|expected)' | sed -E 's/_[0-9]+( \(near\))?:.* of/ of/')
expect 'both codes in one process' 0 '^launch segred_short of 256.0.launch segred of 1.9.expected cpu or gpu, found: tpu$' $? \
  "$(echo "$got" | tr '\n' . | sed 's/\.$//')"
# Settings for one of them.
got=$(printf '%s\n' 'tuning_param_value rows.top_0' 'tuning_param_value segred_chunk' 'set_tuning_param segred_chunk@gpu 8' 'tuning_param_value segred_chunk' \
  'set_tuning_param segred_chunk@cpu 3' 'tuning_param_value segred_chunk' 'set_tuning_param segred_chunk@tpu 3' 'code gpu' 'tuning_param_value rows.top_0' \
  'tuning_param_value rows.intra_1' | timeout 120 ./p --server --param rows.top_0=5 --param rows.top_0@gpu=7 --param segred_chunk@cpu=11 \
  --param rows.intra_1@gpu=6 2>&1 | grep -E '^[0-9u]' | tr '\n' .)
expect 'settings for one kind of code' 0 '^5\.11\.11\.3\.unknown tuning parameter: segred_chunk@tpu\.7\.6\.$' $? "$got"
run 'a wrong value for one kind of code' 1 'segred_chunk@gpu \(chunk\) wants a number from 1 on, found 0' '[1, 3]' -e total --param segred_chunk@gpu=0
printf 'segred_chunk=0\n' > p.fl.tuning
got=$("$flc" build p.fl -o with_zero 2>&1)
expect 'a chunk of 0 that is built in' 1 'sets segred_chunk \(chunk\) to 0; it wants a number from 1 on' $? "$got"
rm p.fl.tuning
run 'an index out of bounds' 1 'Index \[5\] out of bounds' '[1, 2] 5i64' -e pick

# The same words as the interpreter's, and the same line of the source.
for entry in pick each ratio; do
  input='[1, 2] 5i64'
  printf '%s' "$input" | "$flc" eval q.fl -e $entry > interpreted 2>&1
  printf '%s' "$input" | ./q -e $entry > compiled 2>&1
  expect "the message of $entry" 1 'q.fl:[0-9]+:[0-9]+: error: ' $? "$(cat compiled)"
  cmp -s interpreted compiled || expect "the message of $entry" 0 'as interpreted' 0 "$(cat interpreted compiled)"
done
printf 'entry only (x: i32) : i32 = x + 1\n' > one.fl
"$flc" build one.fl -o one
got=$(printf 41 | ./one 2>&1)
expect 'the only entry point' 0 '^42i32$' $? "$got"

# ---- compressed input

printf '[1, 2] 2' | gzip > packed
got=$(./p < packed 2>&1)
expect 'compressed values' 0 '^\[2i32, 4i32\]$' $? "$got"
printf '[1, 2] 2' | "$flc" data -b | gzip -9 > packed
got=$(./p < packed 2>&1)
expect 'compressed binary values' 0 '^\[2i32, 4i32\]$' $? "$got"
got=$(head -c 20 packed | ./p 2>&1)
expect 'the half of compressed values' 1 'damaged gzip data' $? "$got"
run 'more memory than there is' 1 'memory' '4611686018427387904i64' -e huge

# ---- output that cannot be written

printf '[1, 2] 2' | ./p > /dev/full 2> message
expect 'a full disk' '[1-9]' 'cannot write' $? "$(cat message)"
printf '[1, 2] 2' | ./p >&- 2> message
expect 'closed output' '[1-9]' 'cannot write' $? "$(cat message)"
for option in --help --list-devices --print-params --tree; do
  ./p $option > /dev/full 2> message
  expect "$option on a full disk" 1 'cannot write' $? "$(cat message)"
done
printf '[1, 2] 2' | ./p -n -t /dev/full 2> message
expect 'times on a full disk' 1 'cannot write /dev/full' $? "$(cat message)"
printf 'types\n' | ./p --server > /dev/full 2> message
expect 'a server on a full disk' 1 'cannot write' $? "$(cat message)"
printf 'types\n' | ./p --server >&- 2> message
expect 'a server with closed output' 1 'cannot write' $? "$(cat message)"
./p <&- > message 2>&1
expect 'closed input' 1 'cannot read standard input' $? "$(cat message)"
printf '[1, 2] 2' | ./p -t /nonexistent/times 2> message
expect 'a file of times that cannot be written' '[1-9]' 'cannot write' $? "$(cat message)"

# ---- the cache of kernels: where the driver has none

rm -rf cache/flc
run "the driver's own cache" 0 'the driver keeps' '[1, 2] 2' -L
if printf '[1, 2] 2' | ./p -L 2>&1 | grep -q 'the driver keeps .*PoCL 3.1'; then
  run 'what its programs are made from is kept' 0 'build .*: cached' '[1, 2] 2' -L
  POCL_EXTRA_BUILD_FLAGS=-DOTHER run 'not from what another setting of PoCL has made' 0 'build .*: compiling' '[1, 2] 2' -L
  run 'nor the other way round' 0 'build .*: cached' '[1, 2] 2' -L
  rm -rf cache/pocl "$folder/pocl"
  run "without the driver's" 0 'build .*: cached' '[1, 2] 2' -L
  run 'the result' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
  for file in cache/flc/*; do printf 'damaged' > "$file"; done
  run 'a damaged file' 0 'build .*: compiling' '[1, 2] 2' -L
  run 'a file made anew' 0 'build .*: cached' '[1, 2] 2' -L
  chmod a-w cache cache/flc
  run 'other kernels, and a folder that cannot be written' 0 '^3i32$' '[1, 2]' -e total --build-option -DMORE
  chmod u+w cache cache/flc
fi
export POCL_KERNEL_CACHE=0
run 'a new cache' 0 'compiling' '[1, 2] 2' -L
for file in cache/flc/*; do
  if [ -f "$file" ]; then printf 'damaged' > "$file"; fi
done
run 'a damaged cache' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
for file in cache/flc/*; do
  size=$(wc -c < "$file")
  if [ -f "$file" ]; then truncate -s $((size / 2)) "$file"; fi
done
run 'a truncated cache' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
rm -rf cache/flc
chmod a-w cache
run 'a cache that cannot be written' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
chmod u+w cache
rm -rf cache/flc
printf 'no folder' > cache/flc
run 'a file in place of the cache' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
rm -f cache/flc
export POCL_CACHE_DIR="$folder/pocl"  # PoCL finds no device without one
XDG_CACHE_HOME=/proc run 'a cache on a read-only file system' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
XDG_CACHE_HOME=/proc run 'that is said in the log' 0 'no cache: /proc/flc: No such file' '[1, 2] 2' -L
run 'a cache file in no folder' 0 '^\[2i32, 4i32\]$' '[1, 2] 2' --cache-file /nonexistent/cache
run 'that is said' 0 '^warning: cannot write the cache file /nonexistent/cache: No such file' '[1, 2] 2' \
  --cache-file /nonexistent/cache
run 'a cache file of its own' 0 'compiling' '[1, 2] 2' --cache-file archive -L
run 'the same again' 0 'cached' '[1, 2] 2' --cache-file archive -L
chmod 666 archive
run 'a cache file that others can write' 0 '^warning: the cache file archive is not used: others can write' \
  '[1, 2] 2' --cache-file archive

rm -rf cache/flc
run 'the first time' 0 'compiling' '[1, 2] 2' -L
run 'the second time' 0 'build .*: cached' '[1, 2] 2' -L
run 'other kernels' 0 'compiling' '[1, 2]' -e total -L --build-option -DOTHERS
set -- cache/flc/*
cp "$1" other && cp "$2" "$1" && cp other "$2"
run 'the entry of other kernels' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
chmod 660 cache/flc/*
run 'entries that others can write' 0 'compiling' '[1, 2] 2' -L
run 'they are replaced' 0 'build .*: cached' '[1, 2] 2' -L
chmod 755 cache/flc
run 'a folder that others can read' 0 'build .*: cached' '[1, 2] 2' -L
expect 'its mode' 0 '^700$' 0 "$(stat -c %a cache/flc)"
chmod 777 cache/flc
run 'a folder that others can write' 0 '^warning: the cache .*/flc is not used: others can write to it' '[1, 2] 2'
run 'the result all the same' 0 '^\[2i32, 4i32\]$' '[1, 2] 2'
chmod 700 cache/flc
mv cache/flc there && ln -s ../there cache/flc
run 'a link to the cache' 0 '^warning: the cache .*/flc is not used: it is a link' '[1, 2] 2'
rm cache/flc && mv there cache/flc
FLC_CACHE_MIB=0 run 'a cache without room' 0 '^3i32$' '[1, 2]' -e total --build-option -DANOTHER
expect 'only what was used last stays' 0 '^1$' 0 "$(find cache/flc -type f | wc -l)"
unset POCL_KERNEL_CACHE

# ---- full disks: what is written appears whole or not at all

small() { (ulimit -f 4 && printf '[1, 2] 2' | timeout 120 ./p "$@" 2>&1); }
printf old > dumped
got=$(small --dump-opencl dumped --cache-file '')
expect 'OpenCL C on a full disk' 1 'cannot write dumped: File too large' $? "$got"
expect 'the old file is there' 0 '^old$' 0 "$(cat dumped)"
expect 'nothing half-written' 0 '^$' 0 "$(find . -maxdepth 1 -name '.flc*')"

# ---- a context after an error: the server goes on

got=$(printf '%s\n' 'restore in xs []i32 i i64' 'call pick out xs i' 'call nothing' 'frobnicate' 'free' \
  'restore absent ys []i32' 'restore in ys []i32 k i64' 'call pick out ys zero' > commands
printf '[7, 8] 9i64' > in
timeout 120 ./p --server < commands 2>&1)
expect 'a server after errors' 0 'Index \[9\] out of bounds' $? "$got"
expect 'an unknown command' 0 'unknown command: frobnicate' 0 "$got"
expect 'a file that is absent' 0 'cannot read absent' 0 "$got"

# ---- a build that fails is tried again: processes compile at once into one cache of the driver

cc -shared -fPIC "$stand_in" -o faulty.so -ldl -pthread || exit 1
for builds in 2 9; do
  got=$(printf '[1, 2] 2' | LD_PRELOAD=./faulty.so FAULTY_BUILDS=$builds ./p --cache-file '' 2>&1)
  status=$?
  if [ $builds = 2 ]; then expect 'two builds fail' 0 '^\[2i32, 4i32\]$' $status "$got"
  else expect 'builds that fail always' 1 'building kernel' $status "$got"; fi
done

# ---- flc run: its cache of executables

printf '[1, 2] 2' > two
for i in 1 2 3 4; do
  "$flc" run p.fl < two > out$i 2>&1 &
done
wait
expect 'four runs at once' 0 '^\[2i32, 4i32\]\[2i32, 4i32\]\[2i32, 4i32\]\[2i32, 4i32\]$' 0 "$(cat out? | tr -d '\n')"
expect 'no temporary files' 0 '^$' 0 "$(find cache/flc -name '.*')"
got=$(XDG_CACHE_HOME=/proc "$flc" run p.fl < two 2>&1)
expect 'flc run with a cache on a read-only file system' 0 '^\[2i32, 4i32\]$' $? "$got"
expect 'that is said' 0 '^warning: the cache /proc/flc is not used: No such file' 0 "$got"

if [ "$failures" != 0 ]; then
  echo "$failures failed"
  exit 1
fi
