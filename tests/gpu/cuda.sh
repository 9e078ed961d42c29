#!/bin/bash
# Programs on CUDA, with a stand-in for its driver and its compiler that runs kernels on the CPU (standin/):
# cuda.sh FLC STANDIN_FOLDER PROGRAM.fl..; results of the programs' test blocks are compared with those written
# there, then what the host does is looked at: choice of the backend, caches, limits of the device, errors.
flc=$(realpath "$1") standin=$(realpath "$2")
shift 2
programs=()
for program; do programs+=("$(realpath "$program")"); done
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
if ! command -v c++ > /dev/null; then
  echo "skipped: there is no C++ compiler"
  exit 77
fi
export XDG_CACHE_HOME="$folder/cache" HOME="$folder"
mkdir cache
failed=0

fail() {
  echo "FAIL $*"
  failed=1
}
# On no OpenCL, and on the stand-in.
cuda() { OCL_ICD_VENDORS=/nonexistent LD_LIBRARY_PATH="$standin" "$@"; }
# expect WHAT PATTERN: the file `log` has such a line.
expect() { grep -q -- "$2" log || { fail "$1: not said: $2" && cat log; }; }

LD_LIBRARY_PATH="$standin" "$flc" test --stage device --backend cuda --timeout 300 "${programs[@]}" || failed=1

cat > sums.fl << 'END'
entry main [n] (xs: [n]i32) : i32 = reduce (+) 0 (map (* 2) xs)
entry at [n] (xs: [n]i32) (is: []i64) : []i32 = map (\i -> xs[i]) is
entry rows [n][m] (xss: [n][m]i32) : [n]i32 =
  map (\xs -> let ys = scan (+) 0 xs in reduce (^) 0 (map2 (*) ys (reverse ys))) xss
END
"$flc" build sums.fl -o sums || exit 1

# Which backend: the one that was asked for, else the first with a device.
cuda ./sums --list-devices > log
expect list '^#0: Stand-in (CUDA 13.0), gpu, --backend cuda$'
[ "$(wc -l < log)" = 1 ] || fail "more devices than one: $(cat log)"
echo '[1i32, 2i32]' | cuda ./sums -L > result 2> log
[ "$(cat result)" = 6i32 ] || fail "sum: $(cat result log)"
expect default '^device Stand-in, code for gpu$'
echo '[1i32]' | cuda ./sums --backend opencl 2> log && fail "OpenCL has no device"
expect opencl '^error: no OpenCL device found$'
echo '[1i32]' | OCL_ICD_VENDORS=/nonexistent LD_LIBRARY_PATH='' ./sums --backend cuda 2> log && fail "CUDA has no device"
expect 'no driver' '^error: no CUDA device found: there is no driver (libcuda.so.1)$'
echo '[1i32]' | cuda ./sums -d Nobody 2> log && fail "there is no such device"
expect 'no match' '^error: no OpenCL device found; no CUDA device matches device "Nobody"; there are #0 Stand-in$'
echo '[1i32]' | cuda ./sums -d 'Stand#1' 2> log && fail "there is no second device"
echo '[1i32]' | cuda ./sums -d 'Stand#0' -p CUDA > result 2> log || fail "named: $(cat log)"
echo '[1i32]' | cuda ./sums --code cpu 2> log && fail "code for CPUs on CUDA"
expect 'code' '^error: code for CPUs does not run on CUDA devices: expected code for gpu$'
./sums --backend metal 2> log < /dev/null && fail "there is no such backend"
expect metal '^error: --backend: expected opencl or cuda, found metal$'

# Compiled kernels are kept, and found again without the compiler.
rm -rf cache/*
echo '[1i32]' | cuda ./sums -L > result 2> log
expect 'first run' '^build segred_.*: compiling$'
mkdir alone
cp -L "$standin/libcuda.so.1" alone
echo '[1i32]' | OCL_ICD_VENDORS=/nonexistent LD_LIBRARY_PATH="$folder/alone" ./sums -L > result 2> log
expect 'second run' '^build segred_.*: cached$'
if [ ! -e /usr/local/cuda ]; then
  echo '[1i32]' | OCL_ICD_VENDORS=/nonexistent LD_LIBRARY_PATH="$folder/alone" ./sums --cache-file '' 2> log
  expect 'no compiler' 'NVRTC, CUDA.s compiler, is not found (libnvrtc.so)'
fi

# Errors in kernels, and the next call after one.
echo '[1i32, 2i32] [0i64, 5i64]' | cuda ./sums -e at 2> log && fail "out of bounds"
expect 'bounds' 'sums.fl:2:60: error: Index \[5\] out of bounds'
printf 'restore in xs []i32 is []i64\ncall at ys xs is\nfree is\nrestore in2 is []i64\ncall at ys xs is\nstore out ys\nfree xs is ys\nreport\n' > commands
echo '[1i32, 2i32] [5i64]' > in
echo '[1i64, 0i64]' > in2
cuda ./sums --server < commands > log
expect 'first call' 'Index \[5\] out of bounds'
expect 'nothing left' '"live": 0'

# Times.
echo '[1i32, 2i32]' | cuda ./sums -P > result 2> log
expect 'profile' '^kernel  segred_.* 1 x .* us'
echo '[1i32, 2i32]' | cuda ./sums --trace trace.json -r 2 > result 2> log || fail "trace: $(cat log)"
grep -q '"copy": {"bytes": [1-9]' trace.json || fail "no copy in the trace"

# Local memory: more than 48 KB has to be asked for; what there is none for lies in global memory.
"$flc" data -b -g '[3][5000]i32' > rows.in
expected=$(cuda ./sums -e rows --path rows.top_0=T < rows.in) || fail "rows"
got=$(cuda ./sums -e rows -L --path rows.top_0=F,rows.intra_1=T < rows.in 2> log)
if [ "$got" != "$expected" ] || [ -z "$got" ]; then fail "rows in groups: $expected $got $(cat log)"; fi
expect 'in groups' '^launch seggroup'
grep -q fallback log && fail "not in local memory"
got=$(STANDIN_SHARED=16000 cuda ./sums -e rows -L --path rows.top_0=F,rows.intra_1=T < rows.in 2> log)
[ "$got" = "$expected" ] || fail "rows in global memory: $expected $got"
expect 'in global memory' '^build seggroup.*(fallback)'

# A kernel with too many registers for the size of groups is compiled for that size.
got=$(echo '[1i32, 2i32] [1i64, 0i64]' | STANDIN_THREADS=64 cuda ./sums -e at -L 2> log)
[ "$got" = '[2i32, 1i32]' ] || fail "fewer threads: $got"
expect 'fewer threads' '^kernel segmap_.*: groups of at most 64 items, compiled again for 256$'

# Memory: what is in the pool is given back, then there is a message.
echo '[1i32, 2i32]' | STANDIN_MEMORY=100 cuda ./sums 2> log && fail "too little memory"
expect 'memory' 'out of device memory'

# Without OpenCL's loader.
CC='cc -DRT_NO_OPENCL -Wl,--as-needed' "$flc" build sums.fl -o alone-sums || fail "RT_NO_OPENCL"
if ldd ./alone-sums | grep -q OpenCL; then fail "linked with OpenCL"; fi
[ "$(echo '[1i32, 2i32]' | cuda ./alone-sums)" = 6i32 ] || fail "without OpenCL's loader"
./alone-sums --backend opencl 2> log < /dev/null && fail "there is no OpenCL"
echo '[1i32]' | LD_LIBRARY_PATH='' ./alone-sums 2> log && fail "no driver, no OpenCL"
expect 'no driver' '^error: no CUDA device found: there is no driver (libcuda.so.1)$'

# Compiled ahead.
if OCL_ICD_VENDORS=/nonexistent LD_LIBRARY_PATH="$standin" "$flc" build sums.fl --device Stand-in -o ahead 2> log; then
  echo '[1i32, 2i32]' | cuda ./ahead -L --cache-file '' > result 2> log
  expect 'ahead' '^build segred_.*: compiled ahead$'
else
  fail "ahead: $(cat log)"
fi
# Processes of an MPI that is said to take memory of devices, which that of the stand-in is for any MPI.
if command -v "${MPICC:-mpicc}" > /dev/null && command -v mpirun > /dev/null; then
  export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
  cat > shared.fl << 'END'
entry main [n] (xs: [n]i32) (rounds: i64) : [n]i32 =
  loop xs for _i < rounds do
    let ys = map (\x -> (x * x + 3) % 1009) xs
    in map (\y -> y + ys[i64.i32 y % n]) ys
END
  "$flc" build --mpi shared.fl -o shared || fail "MPI"
  echo '[5i32, 3i32, 8i32, 1i32, 9i32, 4i32, 2i32] 3i64' > shared.in
  expected=$("$flc" eval shared.fl < shared.in)
  for aware in 0 1; do
    ranks=$((2 + aware))
    got=$(cuda mpirun -n $ranks ./shared -L --param default_workers=0 --param device_aware=$aware < shared.in 2> log)
    [ "$got" = "$expected" ] || fail "$ranks processes, device_aware=$aware: $got, not $expected $(cat log)"
    found=$(grep -o 'gathered 7 rows of 4 bytes, by devices' log | wc -l)
    [ "$found" = $((aware * 4 * ranks)) ] || fail "$found gathers by devices, device_aware=$aware: $(cat log)"
  done
  # One that is asked as MPICH is, and says yes for CUDA.
  cat > asked.h << 'END'
#define MPIX_GPU_SUPPORT_CUDA (0)
static int MPIX_GPU_query_support(int kind, int *is) { return *is = kind == MPIX_GPU_SUPPORT_CUDA, 0; }
END
  printf '#!/bin/sh\nexec %s -include "%s/asked.h" "$@"\n' "${MPICC:-mpicc}" "$PWD" > asks
  chmod +x asks
  MPICC=$PWD/asks "$flc" build --mpi shared.fl -o asked || fail "an MPI that is asked"
  got=$(cuda mpirun -n 2 ./asked -L --param default_workers=0 < shared.in 2> log)
  found=$(grep -o 'gathered 7 rows of 4 bytes, by devices' log | wc -l)
  [ "$got $found" = "$expected 8" ] || fail "an MPI that takes memory of devices, asked: $got, $found gathers: $(cat log)"
fi
exit $failed
