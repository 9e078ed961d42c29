// Begin contract.h: what generated code defines, and what it may call.
//
// A generated C file is: `#define RT_NAME(x) fl_##x` (the prefix), contract.h, api.h (in a
// library: its public header), the other parts in the order of all.c (inflate.h, ahead.h,
// race.h, replay.h, helper.h, rehearsal.h, server_values.h, server_records.h, server.h, trace.h
// and cli.h only in executables; the first two also in libraries with RT_AHEAD; workers.h,
// gather.h, deliver.h, columns.h and a transport only with RT_WORKERS, divided.h in executables of
// these), then the program's own tables and functions.  contract.h comes before any system header
// because it asks for GNU functions; host code is compiled with -ffp-contract=off.  Everything here
// is C99 and C++.  Two libraries with different prefixes link into one program: only RT_NAME(..) is
// exported.  An executable's runtime (all parts) and program (contract.h, api.h, scalar.h, tables
// and functions) may be compiled apart, each with RT_APART.
//
// The program defines, after the runtime, the one function that the runtime calls:
//     RT_FN const struct rt_program *rt_program(void);
//
// Sizes are in bytes and times in microseconds unless a name says otherwise.  Functions that
// return `int` return RT_OK or a code below, and have set the error text of the context by then.
#if defined(RT_WORKERS) && !defined(RT_LIBRARY)
#  define RT_DIVIDES  // workers may have arrays in blocks, and know of it: divided.h
#endif
#if !defined(RT_LIBRARY) && !defined(RT_WORKERS) && !defined(RT_NO_OPENCL)
#  define RT_HELPER  // helper.h
#endif
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#ifndef CL_TARGET_OPENCL_VERSION
#  define CL_TARGET_OPENCL_VERSION 120
#endif
#ifndef CL_USE_DEPRECATED_OPENCL_1_2_APIS
#  define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#endif
#include <CL/cl.h>
#define RT_CL_NEWER extern __attribute__((weak))  // a function that a loader may lack
#if defined(__x86_64__) && defined(__GNUC__)
#  include <cpuid.h>
#endif
#include <ctype.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <fenv.h>
#include <float.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/file.h>
#ifndef RT_LIBRARY
#  include <poll.h>
#  include <sched.h>
#  include <spawn.h>
#  include <sys/resource.h>
#endif
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#ifndef RT_LIBRARY
#  include <sys/wait.h>
#endif
#include <time.h>
#include <unistd.h>

// In an executable the runtime and the program may be compiled apart, and see each other.
#ifdef RT_APART
#  define RT_FN
#else
#  define RT_FN static __attribute__((unused))
#endif
#define RT_TEXT(format_at) __attribute__((format(printf, format_at, (format_at) + 1)))
// Long functions that launch kernels are not worth the C compiler's time.
#if defined(__clang__)
#  define RT_LAUNCHES __attribute__((optnone))
#elif defined(__GNUC__)
#  define RT_LAUNCHES __attribute__((optimize("O0")))
#else
#  define RT_LAUNCHES
#endif
// Libraries say themselves whether they hold kernels that were compiled for a device.
#ifndef RT_LIBRARY
#  define RT_AHEAD
#endif
#define rt_context RT_NAME(context)  // struct rt_context is the public struct fl_context
#define rt_config  RT_NAME(context_config)

struct rt_context;
struct rt_config;

enum { RT_OK = 0, RT_OTHER_ERROR = 1, RT_PROGRAM_ERROR = 2, RT_OUT_OF_MEMORY = 3 };
enum { RT_MAX_RANK = 16, RT_MAX_CHECK_VALUES = 8, RT_MAX_SIZES = 64, RT_TREE_NODES = 16 };
enum {
  RT_ABANDONED = 100
};  // a run of a version took too long; never leaves an entry point

// ---- scalars (scalar.h, shared with kernels)
//
// Every operator of compiler/base/prim.def is a function, in host C and in kernels alike:
//   flc_<op>_<type>(args)      flc_add_i32, flc_mod_f64, flc_lt_u8, flc_land_bool, flc_not_bool
//   flc_<from>_to_<to>(x)      conversions between any two different types, bool included
//   flc_bits_<from>_to_<to>(x) the same bits: i32 or u32 <-> f32, i64 or u64 <-> f64,
//                              and i<n> <-> u<n>
// Of f16, whose values are their bits (uint16_t), there are conversions to f32 and from f32 and
// f64, sums, differences, products, flc_fma_f16 and flc_nextafter_f16; all else is computed in f32.
// <op> is the row's name in lower case, <type> the type of the operands; the result is of the
// type that the row says (comparisons: bool; popc, clz, ctz: int32_t; ldexp takes an int32_t).
// Types: int8_t .. uint64_t, float, double, bool, in both languages (prelude.cl defines them).
// A bool in memory is one byte, 0 or 1 (uint8_t).  Division by zero and negative integer powers
// are excluded by checks before; the functions then return 0 and do not trap.

// ---- kernels
//
// An OpenCL program is kernels/prelude.cl, scalar.h, then the texts of one kernel or several.  A
// text holds the functions that the kernel calls, each unless FLC_HAS_<its name> is defined, and
// one `__kernel void flc_kernel(...)`.  Parameters in this order:
//   1. the kernel's params (rt_launch.args): `__global T *x` or a scalar by value (bool: uint8_t);
//   2. per scratch array: `__global T *x`: elements for all items (or groups) of the launch; item
//      i's part starts at i * count, or interleaved at i with stride get_global_size(0);
//   3. per local array k: `FLC_LOCAL uchar *x, long x_bytes`; its use begins with
//      `FLC_LOCAL float *tile = FLC_LOCAL_ARRAY(float, x, x_bytes);`.  FLC_LOCAL is __local, or
//      __global in the fallback build that keeps arrays that do not fit in global memory;
//   4. if may_fail: `__global int *flc_error`;
//   5. if uses_arena: `__global uchar *flc_arena, long flc_arena_bytes,
//      __global uint *flc_arena_counts`, from which flc_arena_room takes memory; an item that had
//      enough ends with flc_arena_done.  The kernel is run again with more if that was too little.
// In a kernel with may_fail, `flc_fail(flc_error, check, v0, v1, v2, v3)` (all long but check, an
// int) reports check number `check` of the program's table; the caller returns or goes on.
// `flc_fail_8` takes eight values.
// `flc_failed(flc_error)` is true when an earlier kernel has failed: a kernel without barriers
// starts with `if (flc_failed(flc_error)) return;`.  may_fail is also set for a kernel that reports
// nothing but could run wild on data that a failed one has not written.
// Tuning parameter number k of the table is the macro FLC_PARAM_<k> if the kernel lists k.
// With sized the text is compiled for each size of groups that the kernel is launched with:
// FLC_GROUP_SIZE is that size, FLC_GROUP_STEPS how many doublings of 1 reach it, at least 1.
// With for_gpu FLC_NARROW is defined for launches of less than 2^31 items whose i64 arguments are
// all below 2^31 and not negative: flc_number(x) is x, an argument or the number of an item or
// group, and lets the device's compiler know.
// Without for_gpu FLC_GATHERS is defined where the processor's gathers are quick, and
// FLC_PERMUTES_BYTES where it has AVX512-VBMI, FLC_COUNTS_BITS where AVX512-VPOPCNTDQ.
// With uses_f64 the build enables doubles (FLC_F64 is defined).  FLC_BARRIER() is a barrier for
// local and global memory; flc_atomic_<op>_<type>_<g|l>(p, x) are the atomic operations on global
// memory and on local arrays (g, l): add min max and or xor of i32 u32 i64 u64, add of f32 f64;
// flc_exchange_<type>_<g|l>(p, &old, x) compares and exchanges.  Those on 64 bits are there if
// rt_atomic_bytes is 8.
struct rt_kernel {
  const char *name;         // unique within its profile; in the text it is flc_kernel
  const char *const *text;  // pieces, then NULL
  bool may_fail, uses_f64;
  bool for_gpu;       // the profile whose host code launches it
  const int *tuning;  // the tuning parameters that the text mentions
  int tuning_count;
  bool uses_arena;  // then it has no barriers, and its arguments are rt_arg_used
  const char
      *hash;   // of the prelude and the text: no two texts share it.  NULL: not known
  bool sized;  // the text mentions FLC_GROUP_SIZE or FLC_GROUP_STEPS
  int batch;  // those of one number are launched one after another, and compiled in one program
  int64_t group_size;  // of its launches; 0: the default; -1: they compute it
  const char
      *recipe_name;  // what recipes and parameters call it: main.segred_2_chunks; or NULL
  bool
      may_rest;  // on CPUs: launched with two groups in the second dimension it does nothing
};

// A check that can fail: parts[0] v0 parts[1] v1 ... parts[value_count].
struct rt_check {
  const char *loc;     // "a.fl:3:7", or "" if unknown
  const char *source;  // the line, and one with a marker under the place; or ""
  const char *const *parts;
  int value_count;
};

// A number that the user or the tuner may set.
struct rt_tuning_param {
  const char *name;  // "main.top_0"
  const char
      *kind;  // "threshold", "group_size", "grid_size", "tile_size", "reg_tile_size", ...
  // -1: the value of `follows`, or the default of the kind on the device.  0: the code for
  // such devices has no such number, unless 0 is one.
  int64_t cpu_default, gpu_default;
  int follows;   // the parameter whose value it has while it has none of its own, or -1
  int64_t most;  // 0: as all of the kind
  int64_t cpu_step;  // not 0: the default on CPUs is by operations (rt_threshold_now)
  int64_t cpu_each;  // not 0: the default on CPUs is that for each core
  int64_t cpu_words;  // not 0: it is more on CPUs of few cores (rt_for_cores)
};

// A decision between two versions.
struct rt_guard_info {
  const char *name;  // "main.top_0"
  int threshold;     // its tuning parameter, or -1: never taken unless forced
};

// Values of the program as they lie in memory.
struct rt_constants {
  const void *values;
  size_t bytes;
};

// A setting `name=value` that the program starts with.
struct rt_preset {
  const char *name;
  int64_t value;
};

// ---- types and entry points (for the command line, the server and opaque values)

enum rt_elem {
  RT_I8,
  RT_I16,
  RT_I32,
  RT_I64,
  RT_U8,
  RT_U16,
  RT_U32,
  RT_U64,
  RT_F16,
  RT_F32,
  RT_F64,
  RT_BOOL,
  RT_ELEM_COUNT
};

enum rt_type_kind { RT_SCALAR, RT_ARRAY, RT_OPAQUE };

// A field of a record (or component of a tuple, named "0", "1", ..).
struct rt_field {
  const char *name;
  int type;   // index into the program's types
  int first;  // its first leaf among the leaves of the record
};

// A constructor of a sum type, with what it holds.
struct rt_constructor {
  const char *name;
  const struct rt_field *fields;
  int field_count;
};

struct rt_type {
  const char *name;  // as users see it: "i32", "[][]f32", "point", "(i32, f32)"
  enum rt_type_kind kind;
  enum rt_elem elem;  // scalars and arrays
  int rank;           // arrays, of opaque values too
  const int *leaves;  // opaque: the types of its leaves, each a scalar or an array
  int leaf_count;
  const struct rt_field *fields;  // records and tuples; else NULL
  int field_count;
  // sum types: the first leaf is the number of the constructor; else NULL
  const struct rt_constructor *constructors;
  int constructor_count;
  // sum types, and arrays of opaque values: the sizes of all leaves in order; -1: any
  const int *leaf_dims;
  const struct rt_field
      *columns;  // arrays of records: an array for each field; else NULL
  int column_count;
  int element;  // arrays of opaque values: their type; else -1
};

struct
    rt_mem;  // a block on the device, reference-counted; owned by the slots that hold it

// An array outside of the program: the struct behind fl_f32_1d and its kind.
struct rt_array {
  const struct rt_context *owner;  // whose memory it is in
  struct rt_mem *mem;              // NULL after the array was consumed
  int64_t shape[RT_MAX_RANK];
  int rank;
  enum rt_elem elem;
  int refs;
#ifdef RT_DIVIDES
  bool divided;             // this has a worker's block of its rows (divided.h)
  int64_t first, all_rows;  // from this one on, of so many; -1: not known yet
  int weighing;             // by the weights that there were then
#endif
};

struct rt_opaque;

// A value of any type; its rt_type says which member holds it.
struct rt_value {
  union {
    int8_t i8;
    int16_t i16;
    int32_t i32;
    int64_t i64;
    uint8_t u8;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    uint16_t f16;  // its bits
    float f32;
    double f64;
    bool boolean;
    struct rt_array *array;
    struct rt_opaque *opaque;
  } u;
};

struct rt_opaque {
  const struct rt_context *owner;
  int type;
  int refs;
  struct rt_value *leaves;  // each scalar or array; arrays are references
};

struct rt_input {
  const char *name;
  int type;
  bool unique;  // consumed
#ifdef RT_DIVIDES
  bool blocks;  // workers need their rows of it only: #[blocks(..)]
#endif
};

// An entry point has one output; a tuple is an opaque value whose fields are "0", "1", ..
struct rt_entry_point {
  const char *name;
  const struct rt_input *inputs;
  int input_count;
  int output_type;
  bool output_unique;
  // Calls it; `in` stays the caller's, `out` becomes the caller's.
  int (*call)(struct rt_context *ctx, struct rt_value *out, const struct rt_value *in);
  const int *tuning;  // the parameters that concern it
  int tuning_count;
  const char *const *attributes;  // then NULL; the pointer itself may be NULL
};

// An OpenCL program of kernels that was compiled with this one (ahead.h).
struct rt_ahead_program {
  const char *about;          // as rt_program_about has it
  const char *const *pieces;  // gzip, as digits of base 85; then NULL
};

struct rt_ahead {
  const char *device, *driver, *platform;  // the device's name, and versions
  const struct rt_ahead_program *programs;
  int count;
};

// Which devices the workers of a program may have: of one kind; of any that run the same code, as
// the code for CPUs and that for GPUs exchange in different orders; or of any.
enum rt_kinds { RT_KINDS_ONE, RT_KINDS_ONE_CODE, RT_KINDS_ANY };

struct rt_program {
  const char *source;  // "matmul.fl"
  const char *const
      *opencl_prelude;  // pieces of kernels/prelude.cl and scalar.h, then NULL
  const char *const *opencl_builtins;  // what PoCL reads before them: kernels/builtins.cl
  const char *const *cuda_words;       // what CUDA needs before them: kernels/cuda.cu
  const char *const *tree_text;        // what --tree prints: pieces, then NULL
  const char *const *tree_json;        // ... with --json
  const struct rt_kernel *kernels;
  int kernel_count;
  const struct rt_check *checks;
  int check_count;
  const struct rt_tuning_param *tuning;
  int tuning_count;
  const struct rt_guard_info *guards;
  int guard_count;
  const struct rt_type *types;
  int type_count;
  const struct rt_entry_point *entries;
  int entry_count;
  const char *const *sizes;  // of entry points, by name: what decisions may ask for
  int size_count;
  const struct rt_preset *presets;  // decisions by sizes that were tuned (decision.h)
  int preset_count;
  enum rt_kinds kinds;
  bool exact_floats;  // results must not depend on the code: as with --exact-floats
  const struct rt_ahead *ahead;  // NULL: nothing was compiled for a device
  const struct rt_constants *constants;
  int constant_count;
#ifdef RT_WORKERS
  const char *const *layouts;  // that have weights of their own: "main.layout_1" (workers.h)
  int layout_count;
#endif
};

RT_FN const struct rt_program *rt_program(void);  // the program defines it

// What parts call before their paste order defines it.
#ifndef RT_LIBRARY  // which has no replay.h
RT_FN bool rt_replay_over(struct rt_context *ctx, bool cold);
struct rt_replayer;
RT_FN void rt_replay_decide(struct rt_replayer *r, int guard, int64_t par,
                            int64_t local_bytes, bool taken);
RT_FN void rt_replayer_call(struct rt_replayer *r);
RT_FN void rt_replayer_called(struct rt_replayer *r);
RT_FN bool rt_replaying(const struct rt_replayer *r);
RT_FN void rt_replayer_free(struct rt_context *ctx);
#endif
#ifdef RT_HELPER  // helper.h
struct rt_form;
struct rt_launching;
RT_FN int32_t *rt_helper_compiles(struct rt_context *ctx, int kernel,
                                  struct rt_form form);
RT_FN void rt_helper_compiled(struct rt_context *ctx, int32_t *state);
RT_FN int32_t *rt_helper_launches(struct rt_context *ctx, int kernel, bool near);
RT_FN void rt_helper_launched(struct rt_context *ctx, int32_t *state);
RT_FN bool rt_rehearses(const struct rt_context *ctx);
RT_FN bool rt_rehearses_without(const struct rt_context *ctx, const struct rt_mem *mem,
                                int64_t offset, int64_t bytes);
RT_FN int rt_helper_note(struct rt_context *ctx, const struct rt_launching *l);
RT_FN void rt_helper_free(struct rt_context *ctx);
#  define RT_HELPER_WORD "--helper"  // after the name of a helper
#endif
#ifdef RT_AHEAD
RT_FN void rt_ahead_open(struct rt_context *ctx);
RT_FN struct rt_module *rt_ahead_build(struct rt_context *ctx, const char *about,
                                       const char *options);
#endif
enum rt_task_kind {
  RT_TASK_KERNEL,
  RT_TASK_READ,
  RT_TASK_WRITE,
  RT_TASK_COPY,
  RT_TASK_KINDS
};
#ifndef RT_LIBRARY  // which has no trace.h
struct rt_launch;
struct rt_task;
RT_FN void rt_trace_task(struct rt_context *ctx, const struct rt_task *task,
                         enum rt_task_kind kind, int kernel, int64_t bytes);
RT_FN void rt_trace_launch(struct rt_context *ctx, int kernel,
                           const struct rt_launch *launch, size_t groups,
                           size_t group_size);
RT_FN void rt_trace_free(struct rt_context *ctx);
#endif
struct rt_timing;
struct rt_event;
RT_FN void rt_timing_add(struct rt_timing *t, int64_t us);
RT_FN void rt_profile_event(struct rt_context *ctx, int kernel, struct rt_event *event);

// ---- what generated host code calls

// Which profile's host code to run.
RT_FN bool rt_is_gpu(const struct rt_context *ctx);

// At the start and the end of an entry point, around everything else.  rt_entry_end looks for
// failed checks if `error` is RT_OK and a kernel that may fail was launched; returns the error.
RT_FN int rt_entry_begin(struct rt_context *ctx, const char *name);
RT_FN int rt_entry_end(struct rt_context *ctx, int error);

// A failed check on the host: sets the text, returns RT_PROGRAM_ERROR.
RT_FN int rt_fail(struct rt_context *ctx, int check, const int64_t *values);
// The text of an error, which is there, gets the place of the check.
RT_FN void rt_error_place(struct rt_context *ctx, int check);
// An error that the caller formats.  Returns `code`.
RT_FN int rt_error(struct rt_context *ctx, int code, const char *format, ...) RT_TEXT(3);

// Saturating arithmetic for Par and sizes; count * elem_bytes for rt_mem_alloc.
RT_FN int64_t rt_sat_add(int64_t a, int64_t b);
RT_FN int64_t rt_sat_mul(int64_t a, int64_t b);

// Blocks.  A slot is a `struct rt_mem *` variable, NULL at first; it holds one reference.
// rt_mem_alloc, _share and _unique release what `slot` or `to` held.
RT_FN int rt_mem_alloc(struct rt_context *ctx, struct rt_mem **slot, int64_t bytes);
// The same, of an array of the program: without memory the error has the place of the check.
RT_FN int rt_mem_alloc_at(struct rt_context *ctx, struct rt_mem **slot, int64_t bytes,
                          int check);
RT_FN void rt_mem_share(struct rt_context *ctx, struct rt_mem **to, struct rt_mem *from);
// `to` becomes a block that nobody else refers to: `from` itself, which is then NULL, or a copy.
RT_FN int rt_mem_unique(struct rt_context *ctx, struct rt_mem **to, struct rt_mem **from);
RT_FN void rt_mem_release(struct rt_context *ctx, struct rt_mem **slot);
// The block that holds constants of the program, number `index`; written when first asked for.
RT_FN int rt_table(struct rt_context *ctx, struct rt_mem **slot, int index);
// Copies between blocks; offsets in bytes.
RT_FN int rt_mem_copy(struct rt_context *ctx, struct rt_mem *to, int64_t to_offset,
                      struct rt_mem *from, int64_t from_offset, int64_t bytes);
// Waits for the device, looks for failed checks, then reads `bytes` at `offset` (bytes).
RT_FN int rt_read(struct rt_context *ctx, struct rt_mem *mem, int64_t offset,
                  int64_t bytes, void *out);

// Arguments of kernels.
struct rt_arg {
  struct rt_mem *mem;  // NULL: a scalar
  size_t bytes;
  struct rt_value scalar;
  bool wide;  // an i64 that is negative or has more than 31 bits
  // An array of a kernel that uses an arena: it reads what was there before, it writes there.
  bool loads, changes;
};
RT_FN struct rt_arg rt_arg_mem(struct rt_mem *mem);
RT_FN struct rt_arg rt_arg_used(struct rt_mem *mem, bool loads, bool changes);
RT_FN struct rt_arg rt_arg_i8(int8_t value);
RT_FN struct rt_arg rt_arg_i16(int16_t value);
RT_FN struct rt_arg rt_arg_i32(int32_t value);
RT_FN struct rt_arg rt_arg_i64(int64_t value);
RT_FN struct rt_arg rt_arg_u8(uint8_t value);
RT_FN struct rt_arg rt_arg_u16(uint16_t value);
RT_FN struct rt_arg rt_arg_u32(uint32_t value);
RT_FN struct rt_arg rt_arg_u64(uint64_t value);
RT_FN struct rt_arg rt_arg_f16(uint16_t value);
RT_FN struct rt_arg rt_arg_f32(float value);
RT_FN struct rt_arg rt_arg_f64(double value);
RT_FN struct rt_arg rt_arg_bool(bool value);

struct rt_scratch {
  int64_t count;  // elements per item, or per group
  int64_t elem_bytes;
  bool per_group;
};

struct rt_launch {
  int64_t items;       // work-items at least, if groups is -1
  int64_t groups;      // or exactly so many groups
  int64_t group_size;  // 0: the default of the profile
  const struct rt_arg *args;
  int arg_count;
  const struct rt_scratch *scratch;
  int scratch_count;
  const int64_t *local_bytes;  // per local array
  int local_count;
};
// Enqueues kernel number `kernel`; nothing if there are no items.  Does not wait.
RT_FN int rt_launch(struct rt_context *ctx, int kernel, const struct rt_launch *launch);

// The value of tuning parameter number `param`.
RT_FN int64_t rt_param(const struct rt_context *ctx, int param);
// What the device offers: for tuning and for choosing grids.
RT_FN int64_t rt_local_capacity(const struct rt_context *ctx);  // bytes per group
RT_FN int64_t rt_compute_units(const struct rt_context *ctx);
RT_FN int64_t rt_atomic_bytes(const struct rt_context *ctx);  // the widest: 4 or 8
RT_FN int64_t rt_default_group_size(const struct rt_context *ctx);

// The sizes and integer parameters of the call that begins: numbers in the program's table.
RT_FN void rt_sizes_clear(struct rt_context *ctx);
RT_FN void rt_size(struct rt_context *ctx, int size, int64_t value);

// Is the first version of guard number `guard` taken?  par >= threshold, and local_bytes (0: none)
// fits; or as --path says.  The threshold may depend on the sizes (decision.h), and by default on
// CPUs on the operations of the version's largest step (0: not known).
RT_FN bool rt_guard(struct rt_context *ctx, int guard, int64_t par, int64_t local_bytes,
                    int64_t step);

// Host code in tables (script.h): host code that mostly launches kernels is a row of numbers, for
// which a C compiler takes a hundredth of its time for statements.  N: the number of a variable,
// B: of a block, K: of a kernel, check, guard, .., E: an expression, L: the length of what it tells
// of, T: an enum rt_elem.  A variable has integers and bools of any type in u.i64.
enum rt_of {
  RT_OF_VAR,    // N
  RT_OF_CONST,  // the value
  RT_OF_LONG,   // low, high 32 bits
  RT_OF_PARAM,  // K: a tuning parameter
  RT_OF_ATOMIC_BYTES,
  RT_OF_FIT,     // T E: wraps to the type
  RT_OF_SELECT,  // condition E E
  RT_OF_NOT,     // E: a bool
  RT_OF_CLZ,     // E
  // E E, as i64
  RT_OF_ADD,
  RT_OF_SUB,
  RT_OF_MUL,
  RT_OF_QUOT,
  RT_OF_REM,
  RT_OF_DIV,
  RT_OF_MOD,
  RT_OF_MIN,
  RT_OF_MAX,
  RT_OF_SHL,
  RT_OF_SHR,
  RT_OF_AND,
  RT_OF_OR,
  RT_OF_XOR,
  RT_OF_EQ,
  RT_OF_NE,
  RT_OF_LT,
  RT_OF_LE,
  RT_OF_SAT_ADD,
  RT_OF_SAT_MUL
};

enum rt_do {
  RT_DO_SET,      // N E
  RT_DO_COPY,     // N N
  RT_DO_VALUE,    // number of a function in C, which sets variables
  RT_DO_ALLOC,    // B K E: the check that has its place, bytes
  RT_DO_TABLE,    // B K
  RT_DO_SHARE,    // B to, B from
  RT_DO_UNIQUE,   // likewise
  RT_DO_RELEASE,  // B
  RT_DO_ONCE,     // B L: the statements if the slot is empty
  RT_DO_READ,     // N T B E: bytes from the start
  RT_DO_CHECK,    // K, how many values, E: condition, E..: values
  RT_DO_IF,       // E L L: both branches
  RT_DO_FOR,      // N L E: bound, body
  RT_DO_WHILE,    // N L L: statements that set N, body
  // K L, E: Par, E: bytes of local memory, E: operations of a step; in executables how many slots
  // the branches may overwrite, how many they change, B..; L L branches; in executables L:
  // statements that set what follows needs, how many outcomes, for each T B N E: count (B or N is
  // -1), then E: roundings
  RT_DO_GUARD,
  // K, how many arguments, scratch arrays, local arrays; E: items, E: groups, E: group size; for
  // each argument T E, or T N of floats, or RT_ARG_..; for each scratch array E: count, bytes of an
  // element; for each local array E: bytes
  RT_DO_LAUNCH,
  RT_DO_ARRAY,  // number of the result, T B, rank, E..: shape
  RT_DO_SCALAR  // number of the result, T N
};
enum {
  RT_ARG_BLOCK = RT_ELEM_COUNT,  // B
  RT_ARG_USED                    // B, 1 if it is read + 2 if it is written
};

struct rt_script {
  struct rt_context *ctx;
  const int32_t *at;
  struct rt_value *numbers, *results;
  struct rt_mem **blocks;
  int (*const *values)(struct rt_context *ctx,
                       struct rt_value *numbers);  // of RT_DO_VALUE: an error or RT_OK
  // with room for what the largest launch has
  struct rt_arg *args;
  struct rt_scratch *scratch;
  int64_t *local_bytes;
};
// Runs an entry point from rt_entry_begin to rt_entry_end; gives all blocks back.
RT_FN int rt_script_run(struct rt_script *script, const char *entry, int length,
                        int block_count);

// Arrays, for the typed functions of the C API and for entry points.  Arrays are owned by whoever
// holds a reference; new ones have one.
RT_FN int rt_array_new(struct rt_context *ctx, struct rt_array **out, enum rt_elem elem,
                       int rank,
                       const int64_t *shape);  // contents undefined
RT_FN int rt_array_from(struct rt_context *ctx, struct rt_array **out, enum rt_elem elem,
                        int rank, const int64_t *shape,
                        const void *data);  // copies host data
RT_FN int rt_array_from_raw(struct rt_context *ctx, struct rt_array **out,
                            enum rt_elem elem, int rank, const int64_t *shape,
                            cl_mem data);  // retains `data`
// Around the block of a result; takes a reference of its own to `mem`.
RT_FN int rt_array_of_mem(struct rt_context *ctx, struct rt_array **out,
                          enum rt_elem elem, int rank, const int64_t *shape,
                          struct rt_mem *mem);
RT_FN int rt_array_free(struct rt_context *ctx, struct rt_array *array);
RT_FN int rt_array_values(struct rt_context *ctx, const struct rt_array *array,
                          void *out);
RT_FN cl_mem rt_array_values_raw(struct rt_context *ctx, const struct rt_array *array);
RT_FN int rt_array_index(struct rt_context *ctx, const struct rt_array *array,
                         const int64_t *indices, void *out);  // one element
RT_FN int rt_array_set(struct rt_context *ctx, const struct rt_array *array,
                       const int64_t *indices, const void *elem);
RT_FN const int64_t *rt_array_shape(const struct rt_array *array);
// The block of an input: shared, or (for consumed parameters) moved out of the array.  An array
// that was consumed before is an error.
RT_FN int rt_array_share(struct rt_context *ctx, const struct rt_array *array,
                         struct rt_mem **slot);
RT_FN int rt_array_consume(struct rt_context *ctx, struct rt_array *array,
                           struct rt_mem **slot);
// Are the inputs of an entry point there, and of this context?
RT_FN int rt_input_array(struct rt_context *ctx, const char *param,
                         const struct rt_array *array);
RT_FN int rt_input_opaque(struct rt_context *ctx, const char *param,
                          const struct rt_opaque *opaque);
// A dimension of an argument that is not the size of that name, which parameter `from` has bound,
// or the constant (name and from NULL): "parameter ys: expected size n = 3 (from xs), found 2".
RT_FN int rt_size_error(struct rt_context *ctx, const char *param, const char *name,
                        int64_t expected, const char *from, int64_t found);

// Opaque values.  `leaves` and `fields` stay the caller's: the new value takes references.
RT_FN int rt_opaque_new(struct rt_context *ctx, struct rt_opaque **out, int type,
                        const struct rt_value *leaves);
RT_FN int rt_opaque_of_fields(struct rt_context *ctx, struct rt_opaque **out, int type,
                              const struct rt_value *fields);
RT_FN int rt_opaque_project(struct rt_context *ctx, struct rt_value *out,
                            const struct rt_opaque *opaque, int field);
// Values of sum types: the number of the constructor, or -1 and an error; one made of what a
// constructor holds (arrays that only others hold are as long as the type says, or empty); what it
// holds, whose references become the caller's.
RT_FN int rt_opaque_variant(struct rt_context *ctx, const struct rt_opaque *opaque);
RT_FN int rt_opaque_construct(struct rt_context *ctx, struct rt_opaque **out, int type,
                              int constructor, const struct rt_value *fields);
RT_FN int rt_opaque_destruct(struct rt_context *ctx, struct rt_value *out,
                             const struct rt_opaque *opaque, int constructor);
// Arrays of records, made of an array for each field; an array of one field, whose reference
// becomes the caller's.
RT_FN int rt_columns_zip(struct rt_context *ctx, struct rt_opaque **out, int type,
                         const struct rt_value *columns);
RT_FN int rt_columns_project(struct rt_context *ctx, struct rt_value *out,
                             const struct rt_opaque *opaque, int column);
// Arrays of opaque values: the sizes; an element; an array made of its elements, row by row;
// another element in the place of one.
RT_FN const int64_t *rt_opaque_array_shape(const struct rt_opaque *opaque);
RT_FN int rt_opaque_array_index(struct rt_context *ctx, struct rt_opaque **out,
                                const struct rt_opaque *opaque, const int64_t *indices);
RT_FN int rt_opaque_array_new(struct rt_context *ctx, struct rt_opaque **out, int type,
                              struct rt_opaque *const *elements, const int64_t *shape);
RT_FN int rt_opaque_array_set(struct rt_context *ctx, struct rt_opaque *opaque,
                              const struct rt_opaque *element, const int64_t *indices);
RT_FN int rt_opaque_free(struct rt_context *ctx, struct rt_opaque *opaque);
// *p NULL: allocates with malloc; *n gets the size.  p NULL: only the size.
RT_FN int rt_opaque_store(struct rt_context *ctx, const struct rt_opaque *opaque,
                          void **p, size_t *n);
RT_FN int rt_opaque_restore(struct rt_context *ctx, struct rt_opaque **out, int type,
                            const void *p);

#ifndef RT_LIBRARY

// Races between the versions at a guard (replay.h).  An array (or a scalar) that a guard makes:
struct rt_outcome {
  enum rt_elem elem;
  int64_t count;
  struct rt_mem *mem;
  const void *scalar;
};

// Begins a race, or (NULL) none: nobody measures, or another race has decided the guard.  The
// first `taken` slots may be overwritten in place.
RT_FN struct rt_replay *rt_replay_begin(struct rt_context *ctx, int guard, int64_t par,
                                        int64_t local_bytes, struct rt_mem **const *slots,
                                        int taken, int count);
// The end of a run of an alternative: true if its outcome is to be compared.
RT_FN bool rt_replay_stop(struct rt_context *ctx, struct rt_replay *race, int *error);
RT_FN void rt_replay_compare(struct rt_context *ctx, struct rt_replay *race,
                             const struct rt_outcome *outcomes, int count,
                             int64_t roundings);
// Goes on to the next alternative; false when the race is over.
RT_FN bool rt_replay_next(struct rt_context *ctx, struct rt_replay *race, int *error);

// Executables: `int main(int argc, char **argv) { return rt_main(argc, argv); }`.
RT_FN int rt_main(int argc, char **argv);
#endif
// End contract.h
