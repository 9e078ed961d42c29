#!/bin/sh
# Kernels that are compiled for a device with their program: ahead.sh FLC; exit status 77 (skipped) without a device.
# shellcheck disable=SC2015,SC2016 # fail has status 0; back-quotes within messages
flc=$(realpath "$1")
failures=0
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder" POCL_CACHE_DIR="$folder/pocl"
mkdir cache pocl

fail() {
  printf 'FAIL %s\n' "$*"
  failures=$((failures + 1))
}

# Two versions, and a check.
cat > p.fl << 'END_OF_PROGRAM'
entry main [n][m] (xss: [n][m]f32) (is: [m]i64) : [n]f32 =
  map (\r -> f32.sum (map2 (\x i -> x * r[i]) r is)) xss
END_OF_PROGRAM
printf '[[1f32, 2f32, 3f32], [4f32, 5f32, 6f32]] [2i64, 0i64, 1i64]' > values
expected='[11.0f32, 74.0f32]'

"$flc" build p.fl -o plain || exit 1
name=$(./plain --list-devices | sed -n 's/^#0: \(.*\) (.*/\1/p')
[ -n "$name" ] || exit 77

# ---- an executable

# run WHAT PATTERN PROGRAM OPTION...: the results are right, and the log has such a line.
run() {
  what=$1 pattern=$2 program=$3
  shift 3
  got=$("./$program" --log "$@" < values 2> log) || fail "$what: status $?: $(cat log)"
  [ "$got" = "$expected" ] || fail "$what: $got"
  grep -q -- "$pattern" log || fail "$what: no line '$pattern' in the log: $(cat log)"
}

"$flc" build --device "$name" p.fl -o ahead || exit 1
"$flc" build --device "$name" --emit-c p.fl -o p.c || exit 1
"$flc" lib --device "$name" p.fl -o library --prefix lib || exit 1
rm -rf pocl/*
run 'compiled ahead' "^compiled ahead for $name, driver " ahead
grep -q '^build .*: \(compiling\|cached\)' log && fail "something is compiled anew: $(cat log)"
grep -q '^build ' log || fail 'nothing is built'
for threshold in 0 1000000; do
  run "threshold $threshold" '^build .*: compiled ahead$' ahead --param default_threshold=$threshold
  grep -q '^build .*: compiling' log && fail "threshold $threshold compiles: $(cat log)"
done
run 'a part of the name, and its number' '^build .*: compiled ahead$' ahead --device '#0'

# Other options for the OpenCL compiler, another text: what was compiled does not belong to them.
run 'another option' '^build .*: compiling$' ahead --build-option -DFOR_THIS_TEST
./plain --dump-opencl text < values > /dev/null || fail 'dumping the text'
sed 's/^__kernel/\n\n__kernel/' text > other
# Such a text may call all that OpenCL has, not only what tests/linker/library.py leaves of it.
vendors=${OCL_ICD_VENDORS:-}
unset OCL_ICD_VENDORS
run 'another text' '^build .*: compiling$' ahead --load-opencl other
if [ -n "$vendors" ]; then export OCL_ICD_VENDORS="$vendors"; fi

# PoCL's other driver for the same processor, where there is one.
if POCL_DEVICES=basic ./ahead --list-devices | grep -q '^#0: basic'; then
  export POCL_DEVICES=basic
  run 'another device' '^not used, as this is basic' ahead
  unset POCL_DEVICES
  grep -q ': compiled ahead$' log && fail 'code of another device is used'
fi

# ---- what was recorded, changed

# build NAME SED_COMMAND: an executable of the changed text.
build() {
  sed "$2" p.c > "$1.c"
  cmp -s p.c "$1.c" && fail "$1: nothing was changed"
  cc -O0 -ffp-contract=off "$1.c" -o "$1" -lOpenCL -lm || exit 1
}
start='/struct rt_ahead program_ahead = {/'
build other_device "$start,/^};/s/^  \"$name\",/  \"Another Device\",/"
run 'the device recorded is another' "^not used, as this is $name, driver " other_device
build other_driver "$start{n;n;s/\"/\"not /}"
run 'the driver recorded is another' '^not used, as this is ' other_driver
build damaged '/const char \*const ahead_[0-9]*\[\]/{n;n;y/abcdefghijklmnopqrstuvwxyz/bcdefghijklmnopqrstuvwxyza/}'
run 'damaged' '^what was compiled ahead is damaged$' damaged
# A gzip file of bytes that no driver takes: in digits of base 85, of `echo no program | gzip -n9`.
digits=$(printf 'no program\n' | gzip -n9 | python3 -c '
import sys
data = sys.stdin.buffer.read()
data += bytes(-len(data) % 4)
for at in range(0, len(data), 4):
    word, digits = int.from_bytes(data[at : at + 4], "big"), ""
    for _ in range(5):
        word, digit = divmod(word, 85)
        code = 35 + digit
        code += code >= 63
        code += code >= 92
        digits = chr(code) + digits
    sys.stdout.write(digits)')
awk -v digits="$digits" '
  /const char \*const ahead_[0-9]*\[\]/ { print; printf "  \"%s\", NULL };\n", digits; skips = 1; next }
  skips && /^};/ { skips = 0; next }
  !skips' p.c > refused.c
cc -O0 -ffp-contract=off refused.c -o refused -lOpenCL -lm || exit 1
run 'refused' '^what was compiled ahead is refused by the driver$' refused
grep -q '^build .*: \(compiling\|cached\)$' log || fail 'what was refused is not compiled'

# ---- a library: one file of C, and another prefix

cat > main.c << 'END_OF_PROGRAM'
#include "library.h"
#include <stdio.h>
int main(void) {
  float xs[] = { 1, 2, 3, 4, 5, 6 }, sums[2] = { 0 };
  int64_t is[] = { 2, 0, 1 };
  struct lib_context_config *cfg = lib_context_config_new();
  lib_context_config_set_logging(cfg, 1);
  struct lib_context *ctx = lib_context_new(cfg);
  struct lib_f32_2d *xss = lib_new_f32_2d(ctx, xs, 2, 3);
  struct lib_i64_1d *indices = lib_new_i64_1d(ctx, is, 3);
  struct lib_f32_1d *out = NULL;
  int failed = lib_entry_main(ctx, &out, xss, indices) || lib_values_f32_1d(ctx, out, sums);
  printf("%d %g %g\n", failed, sums[0], sums[1]);
  return failed;
}
END_OF_PROGRAM
cc -std=c99 -Wall -Wextra -Werror -ffp-contract=off main.c library.c -o main -lOpenCL -lm || fail 'a library in C'
[ "$(./main 2> log)" = '0 11 74' ] || fail "a library's result"
grep -q '^build .*: compiled ahead$' log || fail "a library compiles anew: $(cat log)"
for cxx in g++ clang++; do
  if command -v $cxx > /dev/null; then
    $cxx -x c++ -std=c++11 -Wall -Wextra -Werror -fsyntax-only library.c || fail "a library for $cxx"
  fi
done

# ---- mistakes

# refuse WHAT PATTERN COMMAND...
refuse() {
  what=$1 pattern=$2
  shift 2
  "$@" > log 2>&1
  status=$?
  [ $status = 1 ] || fail "$what: status $status"
  grep -q -- "$pattern" log || fail "$what: $(cat log)"
}
refuse 'no such device' '^error: there is no OpenCL device `nonesuch`$' "$flc" build --device nonesuch p.fl -o never
grep -qF "#0: $name" log || fail "no list of devices: $(cat log)"
refuse 'no device of that number' '^error: there is no OpenCL device `#77`$' "$flc" lib --device '#77' p.fl -o never
[ -e never ] || [ -e never.c ] && fail 'something was written'
refuse 'a mistake in the program' 'unknown' "$flc" build --device "$name" /dev/stdin -o never << 'END_OF_PROGRAM'
entry main (x: i32) = unknown x
END_OF_PROGRAM
printf 'entry main (x: i32) = x + 1\n' > none.fl
refuse 'no kernels' 'no kernels for the device' "$flc" build --device "$name" none.fl -o never
printf 'def f (x: i32) = x + 1\n' > none.fl
refuse 'no entry points' 'no entry points' "$flc" run none.fl

[ $failures = 0 ] || exit 1
