// Begin prelude.cl: what kernels see before scalar.h: C's type names, failing, local arrays, atomics.
// Build options: FLC_F64 (doubles), FLC_LOCAL_FALLBACK (local arrays in global memory), FLC_CONTRACT
// (a * b + c may be rounded once; in code for CPUs: FLC_MAD alone), FLC_GPU (code for
// GPUs), FLC_NARROW (numbers below 2^31), FLC_HALF (f16 is computed with).  The text is OpenCL C,
// and, after cuda.cu, CUDA C++.
#define FLC_ON_DEVICE
#ifdef FLC_CUDA
#elif defined(FLC_CONTRACT) && defined(FLC_GPU)
#  pragma OPENCL FP_CONTRACT ON
#else
#  pragma OPENCL FP_CONTRACT OFF
#endif
#ifdef FLC_F64
#  pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif
#ifdef cl_khr_int64_base_atomics
#  pragma OPENCL EXTENSION cl_khr_int64_base_atomics : enable
#endif
#ifdef cl_khr_int64_extended_atomics
#  pragma OPENCL EXTENSION cl_khr_int64_extended_atomics : enable
#endif

// What CPUs' compilers, which are clang, know beside OpenCL C.
#if defined(__has_builtin) && !defined(FLC_GPU) && !defined(FLC_CUDA)
#  if __has_builtin(__builtin_rint)
#    define FLC_HAS_RINT
#  endif
#  if __has_builtin(__builtin_elementwise_roundeven)
#    define FLC_HAS_ROUNDEVEN
#  endif
#  if defined(__AVX512F__) && defined(__AVX512BW__) && defined(__AVX512DQ__) && \
      defined(__AVX512VL__) && __has_builtin(__builtin_ia32_compresssi512_mask) && \
      __has_builtin(__builtin_ia32_compressdi512_mask) && \
      __has_builtin(__builtin_ia32_cvtd2mask512) && \
      __has_builtin(__builtin_ia32_storedquqi128_mask) && \
      __has_builtin(__builtin_ia32_storedquhi256_mask) && \
      __has_builtin(__builtin_ia32_storedqusi512_mask) && \
      __has_builtin(__builtin_ia32_storedqudi512_mask)
#    define FLC_HAS_COMPRESS
#  endif
#  if defined(__AVX2__) && __has_builtin(__builtin_ia32_permvarsi256) && \
      __has_builtin(__builtin_ia32_movmskps256) && __has_builtin(__builtin_popcount)
#    define FLC_HAS_PERMUTE
#  endif
#  if defined(FLC_GATHERS) && defined(__AVX512F__) && \
      __has_builtin(__builtin_ia32_gatherdiv16sf) && \
      __has_builtin(__builtin_ia32_gatherdiv16si) && \
      __has_builtin(__builtin_ia32_gatherdiv8df) && \
      __has_builtin(__builtin_ia32_gatherdiv8di) && \
      __has_builtin(__builtin_ia32_gathersiv16sf) && \
      __has_builtin(__builtin_ia32_gathersiv16si) && \
      __has_builtin(__builtin_ia32_gathersiv8df) && \
      __has_builtin(__builtin_ia32_gathersiv8di) && defined(__AVX512VL__) && \
      __has_builtin(__builtin_ia32_gather3siv8sf) && \
      __has_builtin(__builtin_ia32_gather3siv8si)
#    define FLC_HAS_GATHER
#    if defined(FLC_HAS_COMPRESS) && __has_builtin(__builtin_ia32_scatterdiv16si) && \
        __has_builtin(__builtin_ia32_scatterdiv8di)
#      define FLC_HAS_SCATTER
#    endif
#  endif
#  if (defined(__x86_64__) || defined(__aarch64__)) && __has_builtin(__builtin_prefetch)
#    define FLC_PREFETCH(place, stores) \
      __builtin_prefetch((const void *)(size_t)(place), stores, 3)
#  endif
#endif
#ifndef FLC_PREFETCH
#  define FLC_PREFETCH(place, stores)
#endif

#ifndef FLC_CUDA
typedef char int8_t;
#endif
typedef short int16_t;
typedef int int32_t;
typedef long int64_t;
typedef uchar uint8_t;
typedef ushort uint16_t;
typedef uint uint32_t;
typedef ulong uint64_t;
#define INT8_MIN   CHAR_MIN
#define INT8_MAX   CHAR_MAX
#define INT16_MIN  SHRT_MIN
#define INT16_MAX  SHRT_MAX
#define INT32_MIN  INT_MIN
#define INT32_MAX  INT_MAX
#define INT64_MIN  LONG_MIN
#define INT64_MAX  LONG_MAX
#define UINT8_MAX  UCHAR_MAX
#define UINT16_MAX USHRT_MAX
#define UINT32_MAX UINT_MAX
#define UINT64_MAX ULONG_MAX

// Local arrays, or their stand-ins: in the fallback, each group has a part of a global buffer.
#ifdef FLC_LOCAL_FALLBACK
#  define FLC_LOCAL __global
#  define FLC_LOCAL_ARRAY(type, block, block_bytes) \
    ((__global type *)((block) + get_group_id(0) * (size_t)(block_bytes)))
#elif !defined(FLC_CUDA)
#  define FLC_LOCAL                                 __local
#  define FLC_LOCAL_ARRAY(type, block, block_bytes) ((__local type *)(block))
#endif
#ifndef FLC_CUDA
#  define FLC_GROUP_VARIABLE __local
#  define FLC_SIZED          __attribute__((reqd_work_group_size(FLC_GROUP_SIZE, 1, 1)))
#endif
#ifndef FLC_GROUP_SIZE  // the kernel is for groups of any size
#  undef FLC_SIZED
#  define FLC_SIZED
#endif
// A kernel whose groups are one item: Intel's compiler for CPUs need not make it for several items at
// once as well, which takes minutes for some.
#ifdef cl_intel_vec_len_hint
#  define FLC_ONE_ITEM __attribute__((intel_vec_len_hint(1)))
#else
#  define FLC_ONE_ITEM
#endif
// A function for the code of a kernel, which is not inlined there, or is, unless to compile it
// takes longer than to run it.
#define FLC_APART __attribute__((noinline)) static
#ifdef FLC_QUICK
#  define FLC_WITHIN FLC_APART
#else
#  define FLC_WITHIN __attribute__((always_inline)) static
#endif
// Nothing is done by launches that are there for the machine code that the driver makes for them.
#ifdef FLC_MAY_REST
#  define FLC_UNLESS_RESTING if (get_num_groups(1) == 1)
#else
#  define FLC_UNLESS_RESTING
#endif
#define FLC_CODE_NAME(kernel) kernel##_code
#define FLC_CODE(kernel)      FLC_CODE_NAME(kernel)
// A loop of a kernel as a function.
#define FLC_PART_NAME(kernel, number) kernel##_part##number
#define FLC_PART(kernel, number)      FLC_PART_NAME(kernel, number)
// A number of the launch; with FLC_NARROW it has at most 31 bits, and compilers compute with 32.
#ifdef FLC_NARROW
#  define flc_number(x) ((int64_t)((uint32_t)(x) & 0x7fffffffu))
#else
#  define flc_number(x) ((int64_t)(x))
#endif
#define FLC_BARRIER() barrier(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)

// Sub-groups: runs of 2^FLC_SUB_STEPS items that ask each other for values without memory; 0 steps:
// there are none.  All items of the group ask at once.  FLC_SUB_EMULATED: where there are none, by
// way of local memory, to test what kernels do with them.  Compilers for AMD's devices other than
// clang, and those that make other wavefronts of a kernel than the device names, have none.
#ifdef FLC_SUB_AMD
#  if !defined(__AMDGCN__) || __AMDGCN_WAVEFRONT_SIZE != 1 << FLC_SUB_STEPS
#    undef FLC_SUB_STEPS
#  endif
#endif
#ifndef FLC_SUB_STEPS
#  define FLC_SUB_STEPS 0
#endif
#define FLC_BEGIN_SUB_GROUPS
#ifdef FLC_CUDA
#  define FLC_SLOTS
#else
#  define FLC_SLOTS __local
#endif
#if !FLC_SUB_STEPS
#  define flc_shuffle_32(x, apart, up) (x)
#  define flc_shuffle_64(x, apart, up) (x)
#elif defined(FLC_SUB_EMULATED)
#  undef FLC_BEGIN_SUB_GROUPS
#  define FLC_BEGIN_SUB_GROUPS FLC_GROUP_VARIABLE ulong flc_slots[FLC_GROUP_SIZE];
__attribute__((unused)) static ulong flc_ask(FLC_SLOTS ulong *slots, ulong x, uint apart,
                                             bool up) {
  uint item = (uint)get_local_id(0), other = up ? item - apart : item + apart;
  slots[item] = x;
  barrier(CLK_LOCAL_MEM_FENCE);
  x = slots[other < FLC_GROUP_SIZE ? other : item];
  barrier(CLK_LOCAL_MEM_FENCE);
  return x;
}
#  define flc_shuffle_32(x, apart, up) ((uint)flc_ask(flc_slots, x, apart, up))
#  define flc_shuffle_64(x, apart, up) flc_ask(flc_slots, x, apart, up)
#elif defined(FLC_SUB_INTEL)
#  undef FLC_SIZED
#  define FLC_SIZED                                                \
    __attribute__((reqd_work_group_size(FLC_GROUP_SIZE, 1, 1))) \
    __attribute__((intel_reqd_sub_group_size(1 << FLC_SUB_STEPS)))
__attribute__((unused)) static uint flc_shuffle_32(uint x, uint apart, bool up) {
  return up ? intel_sub_group_shuffle_up(x, x, apart)
            : intel_sub_group_shuffle_down(x, x, apart);
}
#elif defined(FLC_SUB_AMD)
__attribute__((unused)) static uint flc_shuffle_32(uint x, uint apart, bool up) {
  int item = __builtin_amdgcn_mbcnt_hi(~0u, __builtin_amdgcn_mbcnt_lo(~0u, 0));
  int other = up ? item - (int)apart : item + (int)apart;
  return (uint)__builtin_amdgcn_ds_bpermute(other * 4, (int)x);
}
#elif !defined(FLC_CUDA)  // NVIDIA's OpenCL
__attribute__((unused)) static uint flc_shuffle_32(uint x, uint apart, bool up) {
  uint there;
  if (up)
    asm volatile("shfl.sync.up.b32 %0, %1, %2, 0, 0xffffffff;"
                 : "=r"(there)
                 : "r"(x), "r"(apart));
  else
    asm volatile("shfl.sync.down.b32 %0, %1, %2, 31, 0xffffffff;"
                 : "=r"(there)
                 : "r"(x), "r"(apart));
  return there;
}
#endif
#if FLC_SUB_STEPS && !defined(FLC_SUB_EMULATED) && !defined(FLC_CUDA)
__attribute__((unused)) static ulong flc_shuffle_64(ulong x, uint apart, bool up) {
  ulong high = flc_shuffle_32((uint)(x >> 32), apart, up);
  return high << 32 | flc_shuffle_32((uint)x, apart, up);
}
#endif
#define flc_shuffle_i8(x, apart, up)   ((int8_t)flc_shuffle_32((uint)(x), (uint)(apart), up))
#define flc_shuffle_i16(x, apart, up)  ((int16_t)flc_shuffle_32((uint)(x), (uint)(apart), up))
#define flc_shuffle_i32(x, apart, up)  ((int32_t)flc_shuffle_32((uint)(x), (uint)(apart), up))
#define flc_shuffle_i64(x, apart, up)  ((int64_t)flc_shuffle_64((ulong)(x), (uint)(apart), up))
#define flc_shuffle_u8(x, apart, up)   ((uint8_t)flc_shuffle_32((uint)(x), (uint)(apart), up))
#define flc_shuffle_u16(x, apart, up)  ((uint16_t)flc_shuffle_32((uint)(x), (uint)(apart), up))
#define flc_shuffle_u32(x, apart, up)  ((uint32_t)flc_shuffle_32((uint)(x), (uint)(apart), up))
#define flc_shuffle_u64(x, apart, up)  ((uint64_t)flc_shuffle_64((ulong)(x), (uint)(apart), up))
#define flc_shuffle_f16(x, apart, up)  ((uint16_t)flc_shuffle_32((uint)(x), (uint)(apart), up))
#define flc_shuffle_f32(x, apart, up)  as_float(flc_shuffle_32(as_uint(x), (uint)(apart), up))
#define flc_shuffle_f64(x, apart, up)  as_double(flc_shuffle_64(as_ulong(x), (uint)(apart), up))
#define flc_shuffle_bool(x, apart, up) (flc_shuffle_32((uint)(x), (uint)(apart), up) != 0)

// The error word: 0, or the number of the first check that failed plus 1; its values follow from
// byte 8 on.  Only the item that sets it writes them.
__attribute__((unused)) static void flc_fail(volatile __global int *error, int check,
                                             long v0, long v1, long v2, long v3) {
  if (atomic_cmpxchg(error, 0, check + 1) != 0) return;
  __global long *values = (__global long *)(error + 2);
  values[0] = v0;
  values[1] = v1;
  values[2] = v2;
  values[3] = v3;
}

__attribute__((unused)) static void flc_fail_8(volatile __global int *error, int check,
                                               long v0, long v1, long v2, long v3,
                                               long v4, long v5, long v6, long v7) {
  if (atomic_cmpxchg(error, 0, check + 1) != 0) return;
  __global long *values = (__global long *)(error + 2);
  values[0] = v0;
  values[1] = v1;
  values[2] = v2;
  values[3] = v3;
  values[4] = v4;
  values[5] = v5;
  values[6] = v6;
  values[7] = v7;
}

__attribute__((unused)) static bool flc_failed(volatile __global int *error) {
  return *error != 0;
}

// In a kernel with barriers every item must come to every barrier, and all must agree on whether loops
// around barriers go on, so a failure stops a group as a whole, at its next barrier.  An item that fails
// says so in the word of the current phase, the time between two barriers; the other word
// belongs to the phase before, which slower items may still be reading.  The first item also
// passes on what failed in other groups.  `flc_ok` is cleared for good, and, unless the item
// itself has failed since, the same in all items.
#define FLC_BEGIN_GUARDED(error)                                \
  FLC_GROUP_VARIABLE int flc_stop[2];                                      \
  int flc_ok, flc_phase = 1;                                    \
  if (get_local_id(0) == 0)                                     \
    flc_stop[0] = flc_stop[1] = flc_failed(error);              \
  barrier(CLK_LOCAL_MEM_FENCE);                                 \
  flc_ok = !flc_stop[0];
#define FLC_GUARDED_BARRIER(error)                              \
  if (get_local_id(0) == 0 && flc_failed(error))                \
    flc_stop[flc_phase] = 1;                                    \
  FLC_BARRIER();                                                \
  flc_ok = flc_ok && !flc_stop[flc_phase];                      \
  flc_phase = !flc_phase;
#define FLC_STOP_GROUP() (flc_ok = 0, flc_stop[flc_phase] = 1)

// Sizes: what does not fit is the greatest number.
__attribute__((unused)) static long rt_sat_mul(long a, long b) {
  long high = mul_hi(a, b), low = (long)((ulong)a * (ulong)b);
  if (high == low >> 63) return low;
  return (a < 0) != (b < 0) ? LONG_MIN : LONG_MAX;
}

__attribute__((unused)) static long rt_sat_add(long a, long b) {
  return add_sat(a, b);
}

// What an arena's launch tells the host, in units of 64 bytes; the sums have a low and a high word.
enum {
  FLC_ARENA_TAKEN,
  FLC_ARENA_LACKED,
  FLC_ARENA_DONE_ITEMS = 3,
  FLC_ARENA_DONE_UNITS
};

__attribute__((unused)) static void flc_arena_count(volatile __global uint *sum,
                                                    ulong units) {
  uint low = (uint)units, old = atomic_add(&sum[0], low);
  uint high = (uint)(units >> 32) + (old + low < old);
  if (high) atomic_add(&sum[1], high);
}

// A piece of the arena for an array of `bytes`: `have`, if its `room` is large enough, else a new one,
// twice as large as the last at least, so that an array that grows takes few.  0 when the arena is
// used up: the item then has to stop.  `used`: what the item has taken.
__attribute__((unused)) static __global uchar *
flc_arena_room(__global uchar *arena, long arena_bytes, volatile __global uint *counts,
               __global uchar *have, long *room, long *used, long bytes) {
  if (bytes <= *room) return have;
  long wanted = bytes > 2 * *room ? bytes : 2 * *room, units = wanted / 64 + 1;
  uint old = atomic_or(&counts[FLC_ARENA_TAKEN], 0), seen;
  for (;;) {
    if (units > arena_bytes / 64 - (long)old) {
      // Sums of a billion such items are numbers.
      flc_arena_count(&counts[FLC_ARENA_LACKED], (ulong)min(units, 1L << 33));
      return 0;
    }
    seen = atomic_cmpxchg(&counts[FLC_ARENA_TAKEN], old, old + (uint)units);
    if (seen == old) break;
    old = seen;
  }
  *room = units * 64;
  *used += units;
  return arena + (long)old * 64;
}

// The item has had all that it needed.
__attribute__((unused)) static void flc_arena_done(volatile __global uint *counts,
                                                   long used) {
  atomic_inc(&counts[FLC_ARENA_DONE_ITEMS]);
  flc_arena_count(&counts[FLC_ARENA_DONE_UNITS], (ulong)used);
}

// Atomic operations: flc_atomic_<op>_<type>_<space>(p, x), space g (global) or l (local array).
#define FLC_ATOMIC_32(op, f, t, T)                                                       \
  __attribute__((unused)) static void flc_atomic_##op##_##t##_g(volatile __global T *p,  \
                                                                T x) {                   \
    f(p, x);                                                                             \
  }                                                                                      \
  __attribute__((unused)) static void flc_atomic_##op##_##t##_l(volatile FLC_LOCAL T *p, \
                                                                T x) {                   \
    f(p, x);                                                                             \
  }
#define FLC_ATOMICS_32(t, T)           \
  FLC_ATOMIC_32(add, atomic_add, t, T) \
  FLC_ATOMIC_32(min, atomic_min, t, T) \
  FLC_ATOMIC_32(max, atomic_max, t, T) \
  FLC_ATOMIC_32(and, atomic_and, t, T) \
  FLC_ATOMIC_32(or, atomic_or, t, T)   \
  FLC_ATOMIC_32(xor, atomic_xor, t, T)
FLC_ATOMICS_32(i32, int)
FLC_ATOMICS_32(u32, uint)

#ifdef cl_khr_int64_base_atomics
FLC_ATOMIC_32(add, atom_add, i64, long)
FLC_ATOMIC_32(add, atom_add, u64, ulong)
#endif
#ifdef cl_khr_int64_extended_atomics
FLC_ATOMIC_32(min, atom_min, i64, long)
FLC_ATOMIC_32(max, atom_max, i64, long)
FLC_ATOMIC_32(and, atom_and, i64, long)
FLC_ATOMIC_32(or, atom_or, i64, long)
FLC_ATOMIC_32(xor, atom_xor, i64, long)
FLC_ATOMIC_32(min, atom_min, u64, ulong)
FLC_ATOMIC_32(max, atom_max, u64, ulong)
FLC_ATOMIC_32(and, atom_and, u64, ulong)
FLC_ATOMIC_32(or, atom_or, u64, ulong)
FLC_ATOMIC_32(xor, atom_xor, u64, ulong)
#endif

// Compare and exchange: is *p the same bits as *old?  Then it is x now, else *old is what it was.
#define FLC_EXCHANGE(t, T, Bits, as_T, as_Bits, exchange, s, space)                      \
  __attribute__((unused)) static bool flc_exchange_##t##_##s(volatile space T *p,        \
                                                             T *old, T x) {              \
    Bits had = as_Bits(*old);                                                            \
    Bits seen = exchange((volatile space Bits *)p, had, as_Bits(x));                     \
    *old = as_T(seen);                                                                   \
    return seen == had;                                                                  \
  }
#define FLC_EXCHANGES(t, T, Bits, as_T, as_Bits, exchange)              \
  FLC_EXCHANGE(t, T, Bits, as_T, as_Bits, exchange, g, __global)        \
  FLC_EXCHANGE(t, T, Bits, as_T, as_Bits, exchange, l, FLC_LOCAL)
FLC_EXCHANGES(i32, int, uint, as_int, as_uint, atomic_cmpxchg)
FLC_EXCHANGES(u32, uint, uint, as_uint, as_uint, atomic_cmpxchg)
FLC_EXCHANGES(f32, float, uint, as_float, as_uint, atomic_cmpxchg)
#ifdef cl_khr_int64_base_atomics
FLC_EXCHANGES(i64, long, ulong, as_long, as_ulong, atom_cmpxchg)
FLC_EXCHANGES(u64, ulong, ulong, as_ulong, as_ulong, atom_cmpxchg)
#  ifdef FLC_F64
FLC_EXCHANGES(f64, double, ulong, as_double, as_ulong, atom_cmpxchg)
#  endif
#endif

// Floats add by compare-and-exchange of their bits.
#define FLC_ATOMIC_ADD_FLOAT(t, T, bits, Bits, as_float, as_bits, exchange, s, space) \
  __attribute__((unused)) static void flc_atomic_add_##t##_##s(volatile space T *p,   \
                                                               T x) {                 \
    volatile space Bits *word = (volatile space Bits *)p;                             \
    Bits old = *word, seen;                                                           \
    while ((seen = exchange(word, old, as_bits(as_float(old) + x))) != old)           \
      old = seen;                                                                     \
  }
FLC_ATOMIC_ADD_FLOAT(f32, float, 32, uint, as_float, as_uint, atomic_cmpxchg, g, __global)
FLC_ATOMIC_ADD_FLOAT(f32, float, 32, uint, as_float, as_uint, atomic_cmpxchg, l,
                     FLC_LOCAL)
#if defined(FLC_F64) && defined(cl_khr_int64_base_atomics)
FLC_ATOMIC_ADD_FLOAT(f64, double, 64, ulong, as_double, as_ulong, atom_cmpxchg, g,
                     __global)
FLC_ATOMIC_ADD_FLOAT(f64, double, 64, ulong, as_double, as_ulong, atom_cmpxchg, l,
                     FLC_LOCAL)
#endif

// Between groups that run at the same time.  OpenCL 1.2 has no fence for other groups than one's own, but
// compilers have one of theirs.
#ifndef FLC_DEVICE_FENCE
#  if defined(__NV_CL_C_VERSION)
#    define FLC_DEVICE_FENCE() asm volatile("membar.gl;" ::: "memory")
#  elif defined(__AMDGCN__)
#    define FLC_DEVICE_FENCE() __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, "agent")
#  elif defined(POCL_DEVICE_ADDRESS_BITS)
#    define FLC_DEVICE_FENCE() __sync_synchronize()
#  else
#    define FLC_DEVICE_FENCE() mem_fence(CLK_GLOBAL_MEM_FENCE)
#  endif
#endif

// Locks, words that are 0 when nobody holds them: one attempt to get it; giving it back.  What is
// stored between is seen by who holds it next.
#define FLC_LOCKS(s, space, FENCE)                                            \
  __attribute__((unused)) static bool flc_lock_##s(volatile space int *lock) { \
    if (atomic_cmpxchg(lock, 0, 1) != 0) return false;                        \
    FENCE();                                                                  \
    return true;                                                              \
  }                                                                           \
  __attribute__((unused)) static void flc_unlock_##s(volatile space int *lock) { \
    FENCE();                                                                  \
    atomic_and(lock, 0);                                                      \
  }
#define FLC_GROUP_FENCE() mem_fence(CLK_LOCAL_MEM_FENCE | CLK_GLOBAL_MEM_FENCE)
FLC_LOCKS(g, __global, FLC_DEVICE_FENCE)
FLC_LOCKS(l, FLC_LOCAL, FLC_GROUP_FENCE)

// The next number.
__attribute__((unused)) static int flc_take(volatile __global int *counter) {
  return atomic_add(counter, 1);
}

// Whoever sees the word, which only grows, sees what this item has stored before.
__attribute__((unused)) static void flc_signal(volatile __global int *word, int value) {
  FLC_DEVICE_FENCE();
  atomic_max(word, value);
}

// The word, once it is not 0.
__attribute__((unused)) static int flc_await(volatile __global int *word) {
  int value = *word;
  while (!value)
    value = *word;
  FLC_DEVICE_FENCE();
  return value;
}
// End prelude.cl
