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

# Is there a complaint in the log?  That an item asks whether another has failed meanwhile is no race.
complains() {
  grep -Eq 'Invalid (read|write)|ninitialized|divergence|FATAL' "$folder/log" 2> /dev/null ||
    awk -v RS='data race' 'NR > 1 && !/flc_error/ { found = 1 } END { exit !found }' "$folder/log" 2> /dev/null
}

# Options that choose the versions with parallelism within work-groups.
within_groups() {
  "$1" --print-params | sed -n 's/^\(.*top_[0-9]*\) (threshold)$/--param \1=1000000000/p
    s/^\(.*intra_[0-9]*\) (threshold)$/--param \1=0/p'
}

# grind OPTION... -- the program's options; the values come on standard input.
grind() {
  timeout 120 oclgrind --data-races --log "$folder/log" "$@" > "$folder/out" 2>&1
}

# check PROGRAM CODE ENTRY VALUES OPTION...
check() {
  program=$1 code=$2 entry=$3 values=$4
  shift 4
  rm -f "$folder/log"
  printf '%s' "$values" | grind --uninitialized "$folder/p" --code "$code" -e "$entry" "$@"
  status=$?
  # oclgrind's search for uninitialised values does not know every instruction.
  if grep -q 'Unsupported instruction' "$folder/log" 2> /dev/null; then
    rm -f "$folder/log"
    printf '%s' "$values" | grind "$folder/p" --code "$code" -e "$entry" "$@"
    status=$?
  fi
  if [ $status = 124 ]; then
    skipped=$((skipped + 1))
  elif complains; then
    failed=$((failed + 1))
    printf 'FAIL %s, entry %s, --code %s, input %s %s\n' "$program" "$entry" "$code" "$values" "$*"
    head -n 12 "$folder/log"
  else
    passed=$((passed + 1))
  fi
}

for program in "$@"; do
  "$flc" build "$program" -o "$folder/p" > /dev/null 2>&1 || continue
  cases "$program" > "$folder/cases"
  while IFS="$(printf '\t')" read -r entry values; do
    for code in cpu gpu; do
      check "$program" "$code" "$entry" "$values"
      options=$(within_groups "$folder/p")
      # shellcheck disable=SC2086 # words are options
      if [ -n "$options" ]; then check "$program" "$code" "$entry" "$values" $options; fi
    done
  done < "$folder/cases"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
