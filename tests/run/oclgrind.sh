#!/bin/sh
# Runs the cases of test blocks under oclgrind, which finds races, accesses out of bounds, uninitialised
# reads and barriers that not all items reach: oclgrind.sh FLC PROGRAM...  Both profiles, every version
# that `flc test` runs, results compared.  By hand, since it is thousands of times slower than a device: a
# program that takes more than $SECONDS_EACH (120) is left out.  With ONLY=gpu the code for GPUs alone.
#     tests/run/oclgrind.sh build/flc tests/run/*.fl tests/core/*/*.fl
flc=$(realpath "$1")
shift
runtime=$(find /usr/lib -name liboclgrind-rt.so 2> /dev/null | head -n 1)
[ -n "$runtime" ] || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
export XDG_CACHE_HOME="$folder" ONLY="${ONLY:-}"
failed=0 passed=0 skipped=0 cases=0

# A C compiler whose programs run under oclgrind: PROGRAM is a script that runs PROGRAM's executable.
cat > "$folder/cc" << END
#!/bin/sh
case " \$* " in *' -c '*) exec cc "\$@" ;; esac  # the runtime
number=\$\$
for word in "\$@"; do
  [ "\$before" = -o ] && out=\$word
  before=\$word
done
cc "\$@" && mv "\$out" "$folder/\$number.exe" || exit 1
# Groups that tell each other what they have by words and fences race, for all that oclgrind knows.
"$folder/\$number.exe" --print-params 2> /dev/null | grep -q segscan_look_back && params='--param segscan_look_back=0'
cat > "\$out" << SCRIPT
#!/bin/sh
case "\\\$ONLY \\\$*" in
  'gpu '*'--code cpu'*) echo 'error: code for CPUs does not run where only=gpu' >&2 && exit 1 ;;
esac
export OCLGRIND_LOG=$folder/log.\\\$\\\$ OCLGRIND_NUM_THREADS=1 OCLGRIND_DATA_RACES=1
case "\\\$CHECK_UNINITIALIZED \\\$*" in
  'gpu '*'--code cpu'*) ;;
  *) export OCLGRIND_UNINITIALIZED=1 ;;
esac
LD_PRELOAD=$runtime exec $folder/\$number.exe \$params "\\\$@"
SCRIPT
chmod +x "\$out"
END
chmod +x "$folder/cc"

# Complaints.  What items do while they hold a lock (all that is volatile but the error word) is no race, for all
# that oclgrind knows.  That an item asks whether another has failed meanwhile is no race, nor is the first guess of a
# loop that compares and exchanges, nor that lanes of a gather that are switched off read the first element of an
# array, whatever it is.
complaints() {
  cat "$folder"/log.* 2> /dev/null | awk -v RS= '
    /data race/ && /load volatile i(32|64)/ && /atom(ic)?_cmpxchg/ { next }
    /data race/ && gsub(/(load|store) volatile/, "&") == 2 { next }
    /data race at global memory address 0x[0-9a-f]+000000000000\n/ && /\(p\[at\.s0\], / { next }
    /Invalid (read|write)|ninitialized|divergence|data race|FATAL|nvalid/' | head -n 24
}

# Did a process die of a fault, or read what is uninitialised?  Of code that shuffles vectors, as code for CPUs
# does, neither is to be believed: oclgrind 21.10 then dies in that check itself (`bt` shows it), or reads beyond what
# it knows of the vector.
distrusted() { grep -q 'Segmentation fault' "$folder/out" || complaints | grep -q ninitialized; }

# test PROGRAM: 0, or 1 for a failure, 124 for too long.
test_program() {
  rm -f "$folder"/log.* "$folder"/*.exe
  rm -rf "$folder/flc"
  CC="$folder/cc" FLC_CHECK_IR='' timeout "${SECONDS_EACH:-120}" \
    "$flc" test --stage device -j 1 --timeout 100000 "$1" > "$folder/out" 2>&1
}

# Prints "ENTRY<tab>VALUES" for each case with values in one line.
cases() {
  awk '/^-- *entry:/ { entry = $3 }
    /^-- .*input *{[^}]*}/ && !/random/ { values = $0; sub(/.*input *{/, "", values); sub(/}.*/, "", values)
      printf "%s\t%s\n", entry ? entry : "main", values }' "$1"
}

# Each case in a process of its own, where fewer buffers are used again: oclgrind 21.10 takes a buffer to be as long
# as the first thing that the host wrote to it, and all behind that for uninitialised, whatever kernels write there
# (one kernel that writes 25 numbers, one that reads them: 7 complaints if the host has written 72 bytes before).
test_cases() {
  rm -f "$folder"/log.*
  CC="$folder/cc" "$flc" build "$1" -o "$folder/p" > /dev/null 2>&1
  cases "$1" > "$folder/cases"
  while IFS="$(printf '\t')" read -r entry values; do
    for code in ${ONLY:-cpu gpu}; do
      printf '%s' "$values" | timeout "${SECONDS_EACH:-120}" "$folder/p" -e "$entry" --code "$code" > /dev/null 2>&1
    done
  done < "$folder/cases"
}

for program in "$@"; do
  unset OCLGRIND_BUILD_OPTIONS CHECK_UNINITIALIZED
  test_program "$program"
  status=$?
  # Optimised code may have integers of 33 bits, which it cannot run.
  if [ $status != 0 ] && [ $status != 124 ] || [ -n "$(complaints)" ]; then
    export OCLGRIND_BUILD_OPTIONS=-cl-opt-disable
    test_program "$program"
    status=$?
  fi
  if distrusted; then
    export CHECK_UNINITIALIZED=gpu
    echo "$program: uninitialised reads are looked for in the code for GPUs only"
    test_program "$program"
    status=$?
  fi
  if complaints | grep -q ninitialized && ! complaints | grep -Eq 'Invalid|divergence|race|FATAL'; then
    test_cases "$program"
  fi
  said=$(complaints)
  if [ -n "$said" ]; then
    failed=$((failed + 1))
    printf 'FAIL %s\n%s\n' "$program" "$said"
  elif [ $status = 124 ]; then
    skipped=$((skipped + 1))
    echo "SKIP $program: more than ${SECONDS_EACH:-120} seconds"
  elif [ $status != 0 ]; then
    failed=$((failed + 1))
    echo "FAIL $program"
    tail -n 12 "$folder/out"
  else
    passed=$((passed + 1))
    count=$(sed -n 's/^\([0-9]*\) passed.*/\1/p' "$folder/out")  # nothing: there are no test blocks
    cases=$((cases + ${count:-0}))
  fi
done
echo "$cases runs of cases"
echo "$passed passed, $failed failed, $skipped skipped"
[ "$failed" = 0 ]
