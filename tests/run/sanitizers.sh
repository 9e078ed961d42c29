#!/bin/sh
# Runs the cases of test blocks on the device by programs built with the address and undefined-behaviour
# sanitizers, leaks included: sanitizers.sh FLC PATH...  By hand: tests/run/sanitizers.sh build/flc tests/run
flc=$(realpath "$1") here=$(realpath "$(dirname "$0")")
shift
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export CC="${CC:-cc} -g -fsanitize=address,undefined -fno-sanitize-recover=undefined"
export XDG_CACHE_HOME="$folder"
export ASAN_OPTIONS="detect_leaks=1:log_path=$folder/report" UBSAN_OPTIONS="log_path=$folder/report:print_stacktrace=1"
export LSAN_OPTIONS="suppressions=$here/../runtime/leaks.txt:print_suppressions=0"
"$flc" test --stage device --timeout 3600 "$@"
status=$?
for report in "$folder"/report.*; do
  [ -s "$report" ] || continue
  status=1
  head -n 40 "$report"
done
exit $status
