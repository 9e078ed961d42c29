// Begin builtins.cl: what OpenCL C has built in and kernels use, for a compiler that finds it in a
// header.  PoCL reads the 18,000 lines of clang's for each program, which takes five times as long
// as all else that it does to a small one.  FLC_BUILTINS says that this stands in its place.
// What is missing here makes a program fail to compile, which then is compiled with the header
// (opencl.h).  What is here is declared for all types of a kind that it has: else an operand would
// be converted to that of another one.
typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef __SIZE_TYPE__ size_t;
typedef uint cl_mem_fence_flags;
#define CLK_LOCAL_MEM_FENCE  1
#define CLK_GLOBAL_MEM_FENCE 2
#define CHAR_MAX             127
#define CHAR_MIN             (-128)
#define UCHAR_MAX            255
#define SHRT_MAX             32767
#define SHRT_MIN             (-32768)
#define USHRT_MAX            65535
#define INT_MAX              2147483647
#define INT_MIN              (-2147483647 - 1)
#define UINT_MAX             4294967295u
#define LONG_MAX             9223372036854775807l
#define LONG_MIN             (-LONG_MAX - 1)
#define ULONG_MAX            18446744073709551615ul
#define INFINITY             __builtin_inff()
#define NAN                  __builtin_nanf("")
#define M_PI                 3.14159265358979323846
#define M_PI_2               (M_PI / 2)

#define FLC_VECTOR(T, n) typedef T T##n __attribute__((ext_vector_type(n)));
#define FLC_VECTOR_TYPES(T) FLC_VECTOR(T, 2) FLC_VECTOR(T, 4) FLC_VECTOR(T, 8) FLC_VECTOR(T, 16)
FLC_VECTOR_TYPES(char)
FLC_VECTOR_TYPES(short)
FLC_VECTOR_TYPES(int)
FLC_VECTOR_TYPES(long)
FLC_VECTOR_TYPES(uchar)
FLC_VECTOR_TYPES(ushort)
FLC_VECTOR_TYPES(uint)
FLC_VECTOR_TYPES(ulong)
FLC_VECTOR_TYPES(float)
#ifdef cl_khr_fp64
#  pragma OPENCL EXTENSION cl_khr_fp64 : enable
FLC_VECTOR_TYPES(double)
#endif

#define as_char(x)    __builtin_astype((x), char)
#define as_char2(x)   __builtin_astype((x), char2)
#define as_char4(x)   __builtin_astype((x), char4)
#define as_char8(x)   __builtin_astype((x), char8)
#define as_char16(x)  __builtin_astype((x), char16)
#define as_short(x)   __builtin_astype((x), short)
#define as_short2(x)  __builtin_astype((x), short2)
#define as_short4(x)  __builtin_astype((x), short4)
#define as_short8(x)  __builtin_astype((x), short8)
#define as_short16(x) __builtin_astype((x), short16)
#define as_int(x)     __builtin_astype((x), int)
#define as_int2(x)    __builtin_astype((x), int2)
#define as_int4(x)    __builtin_astype((x), int4)
#define as_int8(x)    __builtin_astype((x), int8)
#define as_int16(x)   __builtin_astype((x), int16)
#define as_long(x)    __builtin_astype((x), long)
#define as_long2(x)   __builtin_astype((x), long2)
#define as_long4(x)   __builtin_astype((x), long4)
#define as_long8(x)   __builtin_astype((x), long8)
#define as_long16(x)  __builtin_astype((x), long16)
#define as_uchar(x)   __builtin_astype((x), uchar)
#define as_uchar2(x)  __builtin_astype((x), uchar2)
#define as_uchar4(x)  __builtin_astype((x), uchar4)
#define as_uchar8(x)  __builtin_astype((x), uchar8)
#define as_uchar16(x) __builtin_astype((x), uchar16)
#define as_ushort(x)  __builtin_astype((x), ushort)
#define as_ushort2(x) __builtin_astype((x), ushort2)
#define as_ushort4(x) __builtin_astype((x), ushort4)
#define as_ushort8(x) __builtin_astype((x), ushort8)
#define as_ushort16(x) __builtin_astype((x), ushort16)
#define as_uint(x)    __builtin_astype((x), uint)
#define as_uint2(x)   __builtin_astype((x), uint2)
#define as_uint4(x)   __builtin_astype((x), uint4)
#define as_uint8(x)   __builtin_astype((x), uint8)
#define as_uint16(x)  __builtin_astype((x), uint16)
#define as_ulong(x)   __builtin_astype((x), ulong)
#define as_ulong2(x)  __builtin_astype((x), ulong2)
#define as_ulong4(x)  __builtin_astype((x), ulong4)
#define as_ulong8(x)  __builtin_astype((x), ulong8)
#define as_ulong16(x) __builtin_astype((x), ulong16)
#define as_float(x)   __builtin_astype((x), float)
#define as_float2(x)  __builtin_astype((x), float2)
#define as_float4(x)  __builtin_astype((x), float4)
#define as_float8(x)  __builtin_astype((x), float8)
#define as_float16(x) __builtin_astype((x), float16)
#define as_double(x)  __builtin_astype((x), double)
#define as_double2(x) __builtin_astype((x), double2)
#define as_double4(x) __builtin_astype((x), double4)
#define as_double8(x) __builtin_astype((x), double8)
#define as_double16(x) __builtin_astype((x), double16)
#define convert_char(x)    ((char)(x))
#define convert_char2(x)   __builtin_convertvector((x), char2)
#define convert_char4(x)   __builtin_convertvector((x), char4)
#define convert_char8(x)   __builtin_convertvector((x), char8)
#define convert_char16(x)  __builtin_convertvector((x), char16)
#define convert_short(x)   ((short)(x))
#define convert_short2(x)  __builtin_convertvector((x), short2)
#define convert_short4(x)  __builtin_convertvector((x), short4)
#define convert_short8(x)  __builtin_convertvector((x), short8)
#define convert_short16(x) __builtin_convertvector((x), short16)
#define convert_int(x)     ((int)(x))
#define convert_int2(x)    __builtin_convertvector((x), int2)
#define convert_int4(x)    __builtin_convertvector((x), int4)
#define convert_int8(x)    __builtin_convertvector((x), int8)
#define convert_int16(x)   __builtin_convertvector((x), int16)
#define convert_long(x)    ((long)(x))
#define convert_long2(x)   __builtin_convertvector((x), long2)
#define convert_long4(x)   __builtin_convertvector((x), long4)
#define convert_long8(x)   __builtin_convertvector((x), long8)
#define convert_long16(x)  __builtin_convertvector((x), long16)
#define convert_uchar(x)   ((uchar)(x))
#define convert_uchar2(x)  __builtin_convertvector((x), uchar2)
#define convert_uchar4(x)  __builtin_convertvector((x), uchar4)
#define convert_uchar8(x)  __builtin_convertvector((x), uchar8)
#define convert_uchar16(x) __builtin_convertvector((x), uchar16)
#define convert_ushort(x)  ((ushort)(x))
#define convert_ushort2(x) __builtin_convertvector((x), ushort2)
#define convert_ushort4(x) __builtin_convertvector((x), ushort4)
#define convert_ushort8(x) __builtin_convertvector((x), ushort8)
#define convert_ushort16(x) __builtin_convertvector((x), ushort16)
#define convert_uint(x)    ((uint)(x))
#define convert_uint2(x)   __builtin_convertvector((x), uint2)
#define convert_uint4(x)   __builtin_convertvector((x), uint4)
#define convert_uint8(x)   __builtin_convertvector((x), uint8)
#define convert_uint16(x)  __builtin_convertvector((x), uint16)
#define convert_ulong(x)   ((ulong)(x))
#define convert_ulong2(x)  __builtin_convertvector((x), ulong2)
#define convert_ulong4(x)  __builtin_convertvector((x), ulong4)
#define convert_ulong8(x)  __builtin_convertvector((x), ulong8)
#define convert_ulong16(x) __builtin_convertvector((x), ulong16)
#define convert_float(x)   ((float)(x))
#define convert_float2(x)  __builtin_convertvector((x), float2)
#define convert_float4(x)  __builtin_convertvector((x), float4)
#define convert_float8(x)  __builtin_convertvector((x), float8)
#define convert_float16(x) __builtin_convertvector((x), float16)
#define convert_double(x)  ((double)(x))
#define convert_double2(x) __builtin_convertvector((x), double2)
#define convert_double4(x) __builtin_convertvector((x), double4)
#define convert_double8(x) __builtin_convertvector((x), double8)
#define convert_double16(x) __builtin_convertvector((x), double16)

#define FLC_OF   __attribute__((overloadable))
#define FLC_PURE __attribute__((overloadable, const))

// With FLC_ALONE the program is not linked with PoCL's library (pocl.h): what is called is one of
// LLVM's functions, or defined here.  All else is declared; what the code still calls of that is
// seen in what it compiles to.  Processors without some instructions would call a library for them.
#if defined(FLC_ALONE) && !(defined(__SSE4_1__) && defined(__FMA__))
#  undef FLC_ALONE
#endif
#define FLC_OWN static __attribute__((overloadable, always_inline))

// ---- items

#ifdef FLC_ALONE
// PoCL puts the numbers of an item in the place of loads of these, in the kernel, and wants to find
// all of them.
extern __constant size_t _group_id_x, _group_id_y, _group_id_z, _local_id_x, _local_id_y,
    _local_id_z, _local_size_x, _local_size_y, _local_size_z, _num_groups_x,
    _num_groups_y, _num_groups_z, _global_offset_x, _global_offset_y, _global_offset_z;
extern __constant uint _work_dim;
size_t flc_mentions(void) {
  return _group_id_x + _group_id_y + _group_id_z + _local_id_x + _local_id_y +
         _local_id_z + _local_size_x + _local_size_y + _local_size_z + _num_groups_x +
         _num_groups_y + _num_groups_z + _global_offset_x + _global_offset_y +
         _global_offset_z + _work_dim;
}
// Groups are one item there, of the first dimension.
FLC_OWN size_t get_global_id(uint dimension) { return dimension ? 0 : _group_id_x; }
FLC_OWN size_t get_num_groups(uint dimension) {
  return dimension ? _num_groups_y : _num_groups_x;
}
#else
size_t FLC_PURE get_global_id(uint dimension);
size_t FLC_PURE get_num_groups(uint dimension);
#endif
size_t FLC_PURE get_local_id(uint dimension);
size_t FLC_PURE get_group_id(uint dimension);
size_t FLC_PURE get_global_size(uint dimension);
size_t FLC_PURE get_local_size(uint dimension);
void __attribute__((convergent)) FLC_OF barrier(cl_mem_fence_flags flags);
void FLC_OF mem_fence(cl_mem_fence_flags flags);

#ifdef FLC_ALONE
#  define FLC_ATOMIC(space, T, name, function) \
    FLC_OWN T name(volatile space T *at, T x) { return function(at, x); }
#  define FLC_EXCHANGE(space, T, name)                             \
    FLC_OWN T name(volatile space T *at, T before, T x) {          \
      return __sync_val_compare_and_swap(at, before, x);           \
    }
#  define FLC_INCREASE(space, T, name) \
    FLC_OWN T name(volatile space T *at) { return __sync_fetch_and_add(at, 1); }
#else
#  define FLC_ATOMIC(space, T, name, function) T FLC_OF name(volatile space T *at, T x);
#  define FLC_EXCHANGE(space, T, name) \
    T FLC_OF name(volatile space T *at, T before, T x);
#  define FLC_INCREASE(space, T, name) T FLC_OF name(volatile space T *at);
#endif
#define FLC_ATOMICS_IN(space, word, T)                  \
  FLC_INCREASE(space, T, word##inc)                     \
  FLC_ATOMIC(space, T, word##add, __sync_fetch_and_add) \
  FLC_ATOMIC(space, T, word##xchg, __sync_swap)         \
  FLC_ATOMIC(space, T, word##and, __sync_fetch_and_and) \
  FLC_ATOMIC(space, T, word##or, __sync_fetch_and_or)   \
  FLC_ATOMIC(space, T, word##xor, __sync_fetch_and_xor) \
  FLC_EXCHANGE(space, T, word##cmpxchg)                 \
  T FLC_OF word##min(volatile space T *at, T x);        \
  T FLC_OF word##max(volatile space T *at, T x);
#define FLC_ATOMICS(word, T)        \
  FLC_ATOMICS_IN(__global, word, T) \
  FLC_ATOMICS_IN(__local, word, T)
FLC_ATOMICS(atomic_, int)
FLC_ATOMICS(atomic_, uint)
#ifdef cl_khr_int64_base_atomics
FLC_ATOMICS(atom_, long)
FLC_ATOMICS(atom_, ulong)
#endif

// ---- numbers: T is a type, or one of vectors; n is how many, or nothing; L is what LLVM calls the
// type; s is "s" or "u": signed or not; twice is a type of twice as many bits

#define FLC_1(T, f) T FLC_PURE f(T x);
#define FLC_2(T, f) T FLC_PURE f(T x, T y);
#define FLC_3(T, f) T FLC_PURE f(T x, T y, T z);
#ifdef FLC_ALONE
// A vector goes to LLVM's function as it is if it fills a register, else in halves.
#  ifdef __AVX512F__
#    define FLC_FILLS(x) (sizeof(x) == 16 || sizeof(x) == 32 || sizeof(x) == 64)
#  else
#    define FLC_FILLS(x) (sizeof(x) == 16 || sizeof(x) == 32)
#  endif
#  define FLC_LLVM(name, L) __asm("llvm." name "." L)
#  define FLC_LLVM_1(T, n, L, f)                                         \
    T##n FLC_PURE flc_llvm_##f(T##n x) FLC_LLVM(#f, L);                  \
    FLC_OWN T##n f(T##n x) {                                             \
      if (FLC_FILLS(x)) return flc_llvm_##f(x);                          \
      return (T##n)(f(x.lo), f(x.hi));                                   \
    }
#  define FLC_LLVM_2(T, n, L, f)                                         \
    T##n FLC_PURE flc_llvm_##f(T##n x, T##n y) FLC_LLVM(#f, L);          \
    FLC_OWN T##n f(T##n x, T##n y) {                                     \
      if (FLC_FILLS(x)) return flc_llvm_##f(x, y);                       \
      return (T##n)(f(x.lo, y.lo), f(x.hi, y.hi));                       \
    }
#  define FLC_LLVM_3(T, n, L, f)                                         \
    T##n FLC_PURE flc_llvm_##f(T##n x, T##n y, T##n z) FLC_LLVM(#f, L);  \
    FLC_OWN T##n f(T##n x, T##n y, T##n z) {                             \
      if (FLC_FILLS(x)) return flc_llvm_##f(x, y, z);                    \
      return (T##n)(f(x.lo, y.lo, z.lo), f(x.hi, y.hi, z.hi));           \
    }
#  define FLC_SCALARS(T, L)                                 \
    T FLC_PURE fabs(T x) FLC_LLVM("fabs", L);               \
    T FLC_PURE sqrt(T x) FLC_LLVM("sqrt", L);               \
    T FLC_PURE floor(T x) FLC_LLVM("floor", L);             \
    T FLC_PURE ceil(T x) FLC_LLVM("ceil", L);               \
    T FLC_PURE trunc(T x) FLC_LLVM("trunc", L);             \
    T FLC_PURE rint(T x) FLC_LLVM("rint", L);               \
    T FLC_PURE round(T x) FLC_LLVM("round", L);             \
    T FLC_PURE copysign(T x, T y) FLC_LLVM("copysign", L);  \
    T FLC_PURE fma(T x, T y, T z) FLC_LLVM("fma", L);
#  define FLC_BITS(T, L, s, twice)                                            \
    T FLC_PURE flc_llvm_clz(T x, bool undefined) FLC_LLVM("ctlz", L);         \
    FLC_OWN T clz(T x) { return flc_llvm_clz(x, false); }                     \
    FLC_OWN T mul_hi(T x, T y) { return (twice)x * y >> 8 * sizeof(T); }      \
    T FLC_PURE popcount(T x) FLC_LLVM("ctpop", L);                            \
    T FLC_PURE add_sat(T x, T y) FLC_LLVM(s "add.sat", L);
#  define FLC_CHOICE(T, f, test) \
    FLC_OWN T f(T x, T y) { return test ? x : y; }
#  define FLC_ABS(T, U)                                                             \
    FLC_OWN U abs(T x) { return __builtin_astype((T)(x < (T)0 ? -x : x), U); }      \
    FLC_OWN U abs(U x) { return x; }
#  define FLC_STORE(T, n)                                                  \
    typedef T##n flc_##T##n##_apart __attribute__((aligned(sizeof(T))));   \
    FLC_OWN void vstore##n(T##n x, size_t at, __private T *to) {           \
      *(__private flc_##T##n##_apart *)(to + at * n) = x;                  \
    }
#  define FLC_TESTS(T)                                           \
    FLC_OWN int any(T x) { return __builtin_reduce_or(x) < 0; }  \
    FLC_OWN int all(T x) { return __builtin_reduce_and(x) < 0; }
#else
#  define FLC_LLVM_1(T, n, L, f) FLC_1(T##n, f)
#  define FLC_LLVM_2(T, n, L, f) FLC_2(T##n, f)
#  define FLC_LLVM_3(T, n, L, f) FLC_3(T##n, f)
#  define FLC_SCALARS(T, L) FLC_VECTORS_OF(T, , L)
#  define FLC_BITS(T, L, s, twice) \
    FLC_1(T, clz)                  \
    FLC_2(T, mul_hi)               \
    FLC_1(T, popcount)             \
    FLC_2(T, add_sat)
#  define FLC_CHOICE(T, f, test) FLC_2(T, f)
#  define FLC_ABS(T, U)  \
    U FLC_PURE abs(T x); \
    U FLC_PURE abs(U x);
#  define FLC_STORE(T, n) void FLC_OF vstore##n(T##n x, size_t at, __private T *to);
#  define FLC_TESTS(T)     \
    int FLC_PURE any(T x); \
    int FLC_PURE all(T x);
#endif
#define FLC_VECTORS_OF(T, n, L)  \
  FLC_LLVM_1(T, n, L, fabs)      \
  FLC_LLVM_1(T, n, L, sqrt)      \
  FLC_LLVM_1(T, n, L, floor)     \
  FLC_LLVM_1(T, n, L, ceil)      \
  FLC_LLVM_1(T, n, L, trunc)     \
  FLC_LLVM_1(T, n, L, rint)      \
  FLC_LLVM_1(T, n, L, round)     \
  FLC_LLVM_2(T, n, L, copysign)  \
  FLC_LLVM_3(T, n, L, fma)
#define FLC_EXTREMES(T)     \
  FLC_CHOICE(T, min, x < y) \
  FLC_CHOICE(T, max, x > y)
#define FLC_FLOATS(T)                      \
  FLC_EXTREMES(T)                          \
  FLC_CHOICE(T, fmin, (y != y) | (x < y))  \
  FLC_CHOICE(T, fmax, (y != y) | (x > y))
// Those that math/ has no vectors of.
#define FLC_RARE(T)  \
  FLC_1(T, acospi)   \
  FLC_1(T, asinpi)   \
  FLC_1(T, atanpi)   \
  FLC_1(T, cospi)    \
  FLC_1(T, erfc)     \
  FLC_1(T, sinpi)    \
  FLC_1(T, tanpi)    \
  FLC_2(T, atan2pi)
// Those of vectors are in math/.
#define FLC_MATHS(T)  \
  FLC_RARE(T)         \
  FLC_1(T, rsqrt)     \
  FLC_1(T, cbrt)      \
  FLC_1(T, acos)      \
  FLC_1(T, acosh)     \
  FLC_1(T, asin)      \
  FLC_1(T, asinh)     \
  FLC_1(T, atan)      \
  FLC_1(T, atanh)     \
  FLC_1(T, cos)       \
  FLC_1(T, cosh)      \
  FLC_1(T, erf)       \
  FLC_1(T, exp)       \
  FLC_1(T, exp10)     \
  FLC_1(T, exp2)      \
  FLC_1(T, expm1)     \
  FLC_1(T, lgamma)    \
  FLC_1(T, log)       \
  FLC_1(T, log10)     \
  FLC_1(T, log1p)     \
  FLC_1(T, log2)      \
  FLC_1(T, sin)       \
  FLC_1(T, sinh)      \
  FLC_1(T, tan)       \
  FLC_1(T, tanh)      \
  FLC_1(T, tgamma)    \
  FLC_2(T, atan2)     \
  FLC_2(T, fmod)      \
  FLC_2(T, hypot)     \
  FLC_2(T, nextafter) \
  FLC_2(T, pow)       \
  FLC_3(T, mad)       \
  T FLC_PURE ldexp(T x, int power);

#define FLC_HALVES(n)                                                   \
  float##n FLC_OF vload_half##n(size_t at, const __private half *from); \
  void FLC_OF vstore_half##n##_rte(float##n x, size_t at, __private half *to);
#define FLC_NUMBERS(n)          \
  FLC_EXTREMES(char##n)         \
  FLC_EXTREMES(short##n)        \
  FLC_EXTREMES(int##n)          \
  FLC_EXTREMES(long##n)         \
  FLC_EXTREMES(uchar##n)        \
  FLC_EXTREMES(ushort##n)       \
  FLC_EXTREMES(uint##n)         \
  FLC_EXTREMES(ulong##n)        \
  FLC_ABS(char##n, uchar##n)    \
  FLC_ABS(short##n, ushort##n)  \
  FLC_ABS(int##n, uint##n)      \
  FLC_ABS(long##n, ulong##n)    \
  FLC_FLOATS(float##n)          \
  FLC_HALVES(n)
#define FLC_VECTORS(n, L)      \
  FLC_NUMBERS(n)               \
  FLC_VECTORS_OF(float, n, L)  \
  FLC_STORE(char, n)           \
  FLC_STORE(short, n)          \
  FLC_STORE(int, n)            \
  FLC_STORE(long, n)           \
  FLC_STORE(uchar, n)          \
  FLC_STORE(ushort, n)         \
  FLC_STORE(uint, n)           \
  FLC_STORE(ulong, n)          \
  FLC_STORE(float, n)          \
  FLC_RARE(float##n)           \
  FLC_TESTS(char##n)           \
  FLC_TESTS(short##n)          \
  FLC_TESTS(int##n)            \
  FLC_TESTS(long##n)           \
  FLC_2(char##n, mul_hi)       \
  FLC_2(short##n, mul_hi)      \
  FLC_2(int##n, mul_hi)        \
  FLC_2(long##n, mul_hi)       \
  FLC_2(uchar##n, mul_hi)      \
  FLC_2(ushort##n, mul_hi)     \
  FLC_2(uint##n, mul_hi)       \
  FLC_2(ulong##n, mul_hi)
FLC_NUMBERS()
FLC_SCALARS(float, "f32")
FLC_BITS(char, "i8", "s", int)
FLC_BITS(short, "i16", "s", int)
FLC_BITS(int, "i32", "s", long)
FLC_BITS(long, "i64", "s", __int128)
FLC_BITS(uchar, "i8", "u", uint)
FLC_BITS(ushort, "i16", "u", uint)
FLC_BITS(uint, "i32", "u", ulong)
FLC_BITS(ulong, "i64", "u", unsigned __int128)
FLC_MATHS(float)
FLC_VECTORS(2, "v2f32")
FLC_VECTORS(4, "v4f32")
FLC_VECTORS(8, "v8f32")
FLC_VECTORS(16, "v16f32")
#ifdef cl_khr_fp64
#  define FLC_DOUBLES(n, L)      \
    FLC_FLOATS(double##n)        \
    FLC_VECTORS_OF(double, n, L) \
    FLC_RARE(double##n)          \
    FLC_STORE(double, n)
FLC_FLOATS(double)
FLC_SCALARS(double, "f64")
FLC_MATHS(double)
FLC_DOUBLES(2, "v2f64")
FLC_DOUBLES(4, "v4f64")
FLC_DOUBLES(8, "v8f64")
FLC_DOUBLES(16, "v16f64")
#endif
