#!/bin/sh
# Makes a library of each program and compiles it without a warning, as C and as C++: warnings.sh FLC
# PROGRAM...  By hand (seconds per program): tests/lib/warnings.sh build/flc $(git ls-files '*.fl')
flc=$(realpath "$1")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
warnings="-Wall -Wextra -Werror"
failed=0 passed=0 skipped=0

# compile COMMAND OPTION...: true if nothing was said.
compile() {
  # shellcheck disable=SC2086 # several options
  "$@" $warnings > "$folder/log" 2>&1 && [ ! -s "$folder/log" ]
}

# The optimiser finds more warnings, such as of uninitialised variables.
check() {
  printf '#include "p.h"\n#include "p.h"\nint main(void) { return 0; }\n' > "$folder/user.c"
  compile gcc -std=c99 -O3 -S -o /dev/null "$folder/p.c" &&
    compile gcc -std=c99 -pedantic -fsyntax-only "$folder/user.c" &&
    compile g++ -x c++ -std=c++11 -fsyntax-only "$folder/p.c" &&
    compile g++ -x c++ -std=c++20 -fsyntax-only "$folder/user.c" || return 1
  command -v clang > /dev/null || return 0
  compile clang -std=c99 -fsyntax-only "$folder/p.c" &&
    compile clang++ -x c++ -std=c++11 -fsyntax-only "$folder/p.c"
}

for program in "$@"; do
  if ! "$flc" lib "$program" -o "$folder/p" > /dev/null 2>&1; then
    skipped=$((skipped + 1))
  elif check; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "FAIL $program"
    head -n 8 "$folder/log"
  fi
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
