#!/bin/sh
# Runs programs under oclgrind, which finds races, accesses out of bounds and uninitialised reads in
# kernels: oclgrind.sh FLC PROGRAM...  Only inputs that a test block gives in braces; every profile.
# By hand (it is thousands of times slower than a device): tests/run/oclgrind.sh build/flc tests/core/*/*.fl
flc=$(realpath "$1")
shift
command -v oclgrind > /dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder"
failed=0 passed=0 skipped=0

# Prints "ENTRY<tab>VALUES" for each case with values in one line.
cases() {
  awk '/^-- *entry:/ { entry = $3 }
    /^-- .*input *{[^}]*}/ && !/random/ { values = $0; sub(/.*input *{/, "", values); sub(/}.*/, "", values)
      printf "%s\t%s\n", entry ? entry : "main", values }' "$1"
}

# grind OPTION... -- the program's options; the values come on standard input.
grind() {
  timeout 120 oclgrind --data-races --log "$folder/log" "$@" > "$folder/out" 2>&1
}

# check PROGRAM CODE ENTRY VALUES
check() {
  rm -f "$folder/log"
  printf '%s' "$4" | grind --uninitialized "$folder/p" --code "$2" -e "$3"
  status=$?
  # oclgrind's search for uninitialised values does not know every instruction.
  if grep -q 'Unsupported instruction' "$folder/log" 2> /dev/null; then
    rm -f "$folder/log"
    printf '%s' "$4" | grind "$folder/p" --code "$2" -e "$3"
    status=$?
  fi
  if [ $status = 124 ]; then
    skipped=$((skipped + 1))
  elif grep -Eq 'Invalid (read|write)|data race|ninitialized|divergence|FATAL' "$folder/log" 2> /dev/null; then
    failed=$((failed + 1))
    printf 'FAIL %s, entry %s, --code %s, input %s\n' "$1" "$3" "$2" "$4"
    head -n 12 "$folder/log"
  else
    passed=$((passed + 1))
  fi
}

for program in "$@"; do
  "$flc" build "$program" -o "$folder/p" > /dev/null 2>&1 || continue
  cases "$program" > "$folder/cases"
  while IFS="$(printf '\t')" read -r entry values; do
    for code in cpu gpu; do check "$program" "$code" "$entry" "$values"; done
  done < "$folder/cases"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
