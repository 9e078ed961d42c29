#!/bin/sh
# A version that works within groups, forced on rows that need 100 MB of local memory: on GPUs the arrays then
# lie in global memory, and the log says so with the bytes that the guard asked for; on CPUs there are no groups and
# no local memory.  The result is that of the other versions.
# local-memory.sh FLC
# Exit status 77 (skipped) without an OpenCL device.
flc=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache

cat > rows.fl << 'END'
entry main (n: i64) (m: i64) : [n]i32 =
  map (\i -> let xs = scan (+) 0 (tabulate m (\j -> i32.i64 (i + j)))
             in reduce (^) 0 (map2 (*) xs (reverse xs)))
      (iota n)
END
"$flc" build rows.fl -o rows || exit 1
if printf '1i64 1i64' | ./rows 2>&1 | grep -q 'no OpenCL'; then exit 77; fi

expect() { grep -q "$1" log || { echo "code for $code: not in the log: $1"; cat log; failed=1; }; }
failed=0
for code in cpu gpu; do
  expected=$(printf '2i64 25000000i64' | ./rows --code $code --path main.top_0=T) || failed=1
  got=$(printf '2i64 25000000i64' | ./rows --code $code -L --path main.top_0=F,main.intra_1=T 2> log) || failed=1
  if [ "$got" != "$expected" ]; then
    printf 'FAIL code for %s\n  expected %s\n  got %s\n' $code "$expected" "$got"
    failed=1
  fi
  grep -q '^peak device memory: [1-9][0-9]* bytes$' log || { echo "code for $code: no peak in the log"; cat log; failed=1; }
  case $code in
    cpu) expect 'local memory 0 bytes, forced: taken' ;;
    gpu) expect 'local memory 1[0-9]\{8\} bytes, forced: taken' && expect 'build .* (fallback)'
      asked=$(sed -n 's/^guard .*local memory \([1-9][0-9]*\) bytes, forced: taken$/\1/p' log)
      expect "^kernel seggroup_[0-9]*: in global memory what takes $asked bytes of local memory" ;;
  esac
done
exit $failed
