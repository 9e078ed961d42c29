// Begin cuda.cu: the words of OpenCL C that prelude.cl, scalar.h and kernels use, in CUDA C++.
//
// These few definitions stand before the text that OpenCL gets, and make it CUDA's: that is all that
// the two dialects differ in.
#define FLC_CUDA
#define __kernel extern "C" __global__
#define __global

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef signed char int8_t;
#define CHAR_MIN   (-128)
#define CHAR_MAX   127
#define SHRT_MIN   (-32768)
#define SHRT_MAX   32767
#define INT_MIN    (-2147483647 - 1)
#define INT_MAX    2147483647
#define LONG_MIN   (-9223372036854775807L - 1)
#define LONG_MAX   9223372036854775807L
#define UCHAR_MAX  255
#define USHRT_MAX  65535
#define UINT_MAX   4294967295u
#define ULONG_MAX  18446744073709551615ul
#define M_PI       3.14159265358979323846
#define INFINITY   __int_as_float(0x7f800000)
#define NAN        __int_as_float(0x7fffffff)

// Local memory is one block; an array in it is a parameter that says where it begins there.  A
// kernel that is compiled for one size of groups gets no more registers than those leave it.
extern __shared__ __align__(128) uchar flc_shared[];
#define FLC_GROUP_VARIABLE __shared__
#ifndef FLC_LOCAL_FALLBACK
#  define FLC_LOCAL
#  define FLC_LOCAL_ARRAY(type, block, block_bytes) \
    ((type *)(flc_shared + (size_t)(block)))
#endif
#define FLC_SIZED __launch_bounds__(FLC_GROUP_SIZE)

// Items and groups; kernels have one dimension.
static size_t get_group_id(int d) { return blockIdx.x; }
static size_t get_local_id(int d) { return threadIdx.x; }
static size_t get_local_size(int d) { return blockDim.x; }
static size_t get_num_groups(int d) { return gridDim.x; }
static size_t get_global_size(int d) { return (size_t)gridDim.x * blockDim.x; }
static size_t get_global_id(int d) {
  return (size_t)blockIdx.x * blockDim.x + threadIdx.x;
}
#define CLK_LOCAL_MEM_FENCE  1
#define CLK_GLOBAL_MEM_FENCE 2
#define barrier(fences)      __syncthreads()  // which orders both memories within the group
#define mem_fence(fences)    __threadfence()

// Sub-groups are warps, all of whose items are there (FLC_SUB_STEPS is 0 otherwise).
#if defined(FLC_SUB_STEPS) && !defined(FLC_SUB_EMULATED)
static uint flc_shuffle_32(uint x, uint apart, bool up) {
  return up ? __shfl_up_sync(~0u, x, apart) : __shfl_down_sync(~0u, x, apart);
}
static ulong flc_shuffle_64(ulong x, uint apart, bool up) {
  return up ? __shfl_up_sync(~0u, x, apart) : __shfl_down_sync(~0u, x, apart);
}
#endif

// Integers.
static int clz(uint x) { return __clz((int)x); }
static int clz(ulong x) { return __clzll((long long)x); }
static int popcount(uint x) { return __popc(x); }
static int popcount(ulong x) { return __popcll(x); }
static long mul_hi(long a, long b) { return __mul64hi(a, b); }
static ulong mul_hi(ulong a, ulong b) { return __umul64hi(a, b); }
static long add_sat(long a, long b) {
  long sum = (long)((ulong)a + (ulong)b);
  bool overflows = ((a ^ sum) & (b ^ sum)) < 0;
  return !overflows ? sum : a < 0 ? LONG_MIN : LONG_MAX;
}

// The same bits.
static int as_int(uint x) { return (int)x; }
static uint as_uint(int x) { return (uint)x; }
static uint as_uint(uint x) { return x; }
static uint as_uint(float x) { return __float_as_uint(x); }
static float as_float(uint x) { return __uint_as_float(x); }
static long as_long(ulong x) { return (long)x; }
static ulong as_ulong(long x) { return (ulong)x; }
static ulong as_ulong(ulong x) { return x; }
static ulong as_ulong(double x) { return (ulong)__double_as_longlong(x); }
static double as_double(ulong x) { return __longlong_as_double((long long)x); }

// Atomic operations: CUDA's name for 64 bits is long long, and it has those on bits unsigned only.
#define cl_khr_int64_base_atomics
#define cl_khr_int64_extended_atomics
typedef unsigned long long FlcWord;
#define FLC_CUDA_ATOMIC(name, f, T, As) \
  static T name(volatile T *p, T x) { return (T)f((As *)p, (As)x); }
#define FLC_CUDA_ATOMICS(op, f, Signed32, Signed64)   \
  FLC_CUDA_ATOMIC(atomic_##op, f, int, Signed32)      \
  FLC_CUDA_ATOMIC(atomic_##op, f, uint, uint)         \
  FLC_CUDA_ATOMIC(atom_##op, f, long, Signed64)       \
  FLC_CUDA_ATOMIC(atom_##op, f, ulong, FlcWord)
FLC_CUDA_ATOMICS(add, atomicAdd, int, FlcWord)
FLC_CUDA_ATOMICS(min, atomicMin, int, long long)
FLC_CUDA_ATOMICS(max, atomicMax, int, long long)
FLC_CUDA_ATOMICS(and, atomicAnd, uint, FlcWord)
FLC_CUDA_ATOMICS(or, atomicOr, uint, FlcWord)
FLC_CUDA_ATOMICS(xor, atomicXor, uint, FlcWord)
static uint atomic_inc(volatile uint *p) { return atomic_add(p, 1u); }
static int atomic_cmpxchg(volatile int *p, int old, int x) {
  return atomicCAS((int *)p, old, x);
}
static uint atomic_cmpxchg(volatile uint *p, uint old, uint x) {
  return atomicCAS((uint *)p, old, x);
}
static ulong atom_cmpxchg(volatile ulong *p, ulong old, ulong x) {
  return (ulong)atomicCAS((FlcWord *)p, (FlcWord)old, (FlcWord)x);
}

// What CUDA's mathematics lacks: functions of half turns.
#define FLC_CUDA_TURNS(F, S)                                                  \
  static F tanpi(F x) { return sinpi##S(x) / cospi##S(x); }                   \
  static F asinpi(F x) { return (F)(asin((double)x) / M_PI); }                \
  static F acospi(F x) { return (F)(acos((double)x) / M_PI); }                \
  static F atanpi(F x) { return (F)(atan((double)x) / M_PI); }                \
  static F atan2pi(F x, F y) { return (F)(atan2((double)x, (double)y) / M_PI); }
FLC_CUDA_TURNS(float, f)
FLC_CUDA_TURNS(double, )
// End cuda.cu
