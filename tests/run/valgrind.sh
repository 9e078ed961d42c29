#!/bin/sh
# Runs programs under valgrind: valgrind.sh FLC PROGRAM...  Only inputs that a test block gives in braces, in
# one line.  What is wrong within PoCL and LLVM is left out by name (valgrind.supp).  By hand:
# tests/run/valgrind.sh build/flc tests/run/*.fl
flc=$(realpath "$1") here=$(realpath "$(dirname "$0")")
shift
command -v valgrind > /dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# The processor that valgrind imitates is another one: kernels are compiled anew.
export XDG_CACHE_HOME="$folder" POCL_CACHE_DIR="$folder/pocl"
failed=0 passed=0 skipped=0

# Prints "ENTRY<tab>VALUES" for each case.
cases() {
  awk '/^-- *entry:/ { entry = $3 }
    /^-- .*input *{[^}]*}/ && !/random/ { values = $0; sub(/.*input *{/, "", values); sub(/}.*/, "", values)
      printf "%s\t%s\n", entry ? entry : "main", values }' "$1"
}

for program in "$@"; do
  if ! CC="cc -g" "$flc" build "$program" -o "$folder/p" > /dev/null 2>&1; then
    skipped=$((skipped + 1))
    continue
  fi
  cases "$program" > "$folder/cases"
  while IFS="$(printf '\t')" read -r entry values; do
    printf '%s' "$values" | timeout 300 valgrind --quiet --leak-check=full \
      --errors-for-leak-kinds=definite,indirect --show-leak-kinds=definite,indirect --error-exitcode=99 \
      --num-callers=30 --suppressions="$here/valgrind.supp" --log-file="$folder/log" \
      "$folder/p" -e "$entry" > "$folder/out" 2>&1
    status=$?
    if [ $status = 124 ]; then
      skipped=$((skipped + 1))
    elif [ $status = 99 ] || [ $status -gt 125 ]; then
      failed=$((failed + 1))
      printf 'FAIL %s, entry %s, input %s\n' "$program" "$entry" "$values"
      head -n 60 "$folder/log"
    else
      passed=$((passed + 1))
    fi
  done < "$folder/cases"
done
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
