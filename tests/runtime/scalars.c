// The operators of runtime/scalar.h on the host agree with compiler/base/prim.c, on edge values of
// every type; conversions and bits too.  So do kernels, but for the functions that a device's own
// library computes.
#include "../../runtime/all.c"
#include "../unit.h"
#include "base/prim.h"

// One kernel computes every operator, chosen by number, on arguments given as bits.
static const char *const prelude_text[] = {
#include "opencl_prelude.inc"
  NULL,
};
static const char *const opencl_builtins[] = {
#include "opencl_builtins.inc"
  NULL,
};
static const char *const apply_text[] = {
  "#define IN_i8(x) ((char)(x))\n#define OUT_i8(x) ((uchar)(x))\n",
  "#define IN_i16(x) ((short)(x))\n#define OUT_i16(x) ((ushort)(x))\n",
  "#define IN_i32(x) ((int)(x))\n#define OUT_i32(x) ((uint)(x))\n",
  "#define IN_i64(x) ((long)(x))\n#define OUT_i64(x) ((ulong)(x))\n",
  "#define IN_u8(x) ((uchar)(x))\n#define OUT_u8(x) ((uchar)(x))\n",
  "#define IN_u16(x) ((ushort)(x))\n#define OUT_u16(x) ((ushort)(x))\n",
  "#define IN_u32(x) ((uint)(x))\n#define OUT_u32(x) ((uint)(x))\n",
  "#define IN_u64(x) ((ulong)(x))\n#define OUT_u64(x) ((ulong)(x))\n",
  "#define IN_f16(x) ((ushort)(x))\n#define OUT_f16(x) ((ushort)(x))\n",
  "#define IN_f32(x) as_float((uint)(x))\n#define OUT_f32(x) as_uint((float)(x))\n",
  "#define IN_f64(x) as_double((ulong)(x))\n#define OUT_f64(x) as_ulong((double)(x))\n",
  "#define IN_bool(x) ((x) != 0)\n#define OUT_bool(x) ((x) ? 1 : 0)\n",
  "__kernel void flc_kernel(__global const ulong *xs, __global ulong *out, long n, int "
  "op) "
  "{\n",
  "for (long i = 0; i < n; i++) {\n",
  "__global const ulong *a = xs + 3 * i;\n",
  "ulong r = 0;\n",
  "switch (op) {\n",
#include "scalars_cl.inc"
  "}\n",
  "out[i] = r;\n",
  "}\n",
  "}\n",
  NULL,
};
static const struct rt_kernel kernels[] = {
  { "apply", apply_text, false, true, false, NULL, 0, false, NULL, false, 0, 0, NULL,
    false },
};
static const struct rt_program program = {
  "scalars",
  prelude_text,
  opencl_builtins,
  NULL,
  NULL,
  NULL,
  kernels,
  1,
  NULL,
  0,
  NULL,
  0,
  NULL,
  0,
  NULL,
  0,
  NULL,
  0,
  NULL,
  0,
  NULL,
  0,
  RT_KINDS_ONE,
  false,
  NULL,
  NULL,
  0,
};

RT_FN const struct rt_program *rt_program(void) { return &program; }

enum { MOST_EDGES = 64, MOST_TUPLES = 64 * 64 * 64 };

// The arguments of the operator tested last and what the host computed, for the device.
typedef struct Device {
  struct rt_context *ctx;
  uint64_t *args;  // three per tuple
  Prim *expected;
  int64_t count;
  const char *what;
} Device;

static void device_note(Device *d, const char *what, const Prim *args, int arity,
                        Prim expected) {
  for (int i = 0; i < arity; i++)
    d->args[3 * d->count + i] = prim_bits_of(args[i]);
  d->expected[d->count++] = expected;
  d->what = what;
}

typedef struct Edges {
  Prim values[MOST_EDGES];
  int count;
} Edges;

static Edges edges_of(PrimType type) {
  static const int64_t ints[] = { 0,
                                  1,
                                  -1,
                                  2,
                                  -2,
                                  3,
                                  7,
                                  -7,
                                  8,
                                  31,
                                  32,
                                  33,
                                  63,
                                  64,
                                  65,
                                  100,
                                  -100,
                                  127,
                                  128,
                                  255,
                                  256,
                                  32767,
                                  65535,
                                  2147483647,
                                  -2147483647 - 1,
                                  4294967295,
                                  INT64_MAX,
                                  INT64_MIN,
                                  0x5555555555555555 };
  static const double floats[] = {
    0.0, -0.0, 0.5, -0.5, 1, -1, 1.5, 2.5, -2.5, 3, 7.25, -7.25, 127.5, 128, 255.9, 256,
    -128.5, -129, 32768, 65536, 2147483648.0, -2147483649.0, 4294967296.0, 9.3e18,
    -9.3e18, 1.9e19, 1e30, 1e-30, 1e-40, 3.4e38, 1e300, INFINITY, -INFINITY, NAN,
    // next to the middle of two f16, subnormal ones too
    0x1.002p0, 0x1.002001p0, 0x1.0020000001p0, -0x1.005ffffffp0, 65519.99, 65520, 0x1p-25,
    0x1.0000001p-25, -0x1.7ffffffp-24, 0x1.ffep-15, 0x1.ffcp-15, 0x1.4p-24
  };
  Edges e = { .count = 0 };
  if (prim_is_float(type)) {
    for (size_t i = 0; i < sizeof floats / sizeof *floats; i++)
      e.values[e.count++] = prim_float(type, floats[i]);
  } else if (type == PRIM_BOOL) {
    e.values[e.count++] = prim_bool(false);
    e.values[e.count++] = prim_bool(true);
  } else {
    for (size_t i = 0; i < sizeof ints / sizeof *ints; i++)
      e.values[e.count++] = prim_int(type, ints[i]);
    e.values[e.count++] = prim_lowest(type);
    e.values[e.count++] = prim_highest(type);
  }
  return e;
}

// NaN results may differ in sign and payload; and C leaves open which zero min and max choose.
static bool same(const char *what, Prim a, Prim b) {
  if (a.type == b.type && prim_is_float(a.type)) {
    double x = prim_to_double(a), y = prim_to_double(b);
    bool either = strstr(what, "_min_") || strstr(what, "_max_");
    if ((x != x && y != y) || (either && x == 0 && y == 0)) return true;
  }
  return prim_identical(a, b);
}

static void agree(const char *what, const Prim *args, int arity, Prim got,
                  Prim expected) {
  if (same(what, got, expected)) return;
  fprintf(stderr, "%s(", what);
  for (int i = 0; i < arity; i++)
    fprintf(stderr, "%s%s", i ? ", " : "", prim_text(args[i]));
  fprintf(stderr, "): got %s, expected %s\n", prim_text(got), prim_text(expected));
  exit(1);
}

typedef Prim Apply(const Prim *args);

static void test_op(Device *d, PrimOp op, PrimType type, Apply *apply, const char *what) {
  Edges e = edges_of(type), second = e;
  if (op == OP_LDEXP) second = edges_of(PRIM_I32);
  int arity = op_arity(op);
  for (int i = 0; i < e.count; i++)
    for (int j = 0; j < (arity > 1 ? second.count : 1); j++)
      for (int k = 0; k < (arity > 2 ? e.count : 1); k++) {
        Prim args[3] = { e.values[i], second.values[j], e.values[k] }, expected;
        Prim got = apply(args);
        if (!prim_apply(op, args, &expected)) continue;
        agree(what, args, arity, got, expected);
        device_note(d, what, args, arity, expected);
      }
}

static void test_conversion(Device *d, PrimType from, PrimType to, Apply *apply,
                            const char *what) {
  Edges e = edges_of(from);
  for (int i = 0; i < e.count; i++) {
    Prim expected = prim_convert(to, e.values[i]);
    agree(what, &e.values[i], 1, apply(&e.values[i]), expected);
    device_note(d, what, &e.values[i], 1, expected);
  }
}

static void test_bits(Device *d, PrimType to, PrimType from, Apply *apply,
                      const char *what) {
  Edges e = edges_of(from);
  for (int i = 0; i < e.count; i++) {
    Prim expected = prim_of_bits(to, prim_bits_of(e.values[i]));
    agree(what, &e.values[i], 1, apply(&e.values[i]), expected);
    device_note(d, what, &e.values[i], 1, expected);
  }
}

static int device_apply(Device *d, int op, uint64_t *out) {
  struct rt_mem *xs = NULL, *ys = NULL;
  struct rt_arg args[4];
  struct rt_launch launch = { -1, 1, 1, args, 4, NULL, 0, NULL, 0 };
  int error = rt_mem_alloc(d->ctx, &xs, d->count * 24);
  if (!error) error = rt_mem_alloc(d->ctx, &ys, d->count * 8);
  if (!error) error = rt_write(d->ctx, xs, 0, d->count * 24, d->args);
  if (error) return error;
  args[0] = rt_arg_mem(xs);
  args[1] = rt_arg_mem(ys);
  args[2] = rt_arg_i64(d->count);
  args[3] = rt_arg_i32(op);
  error = rt_launch(d->ctx, 0, &launch);
  if (!error) error = rt_read(d->ctx, ys, 0, d->count * 8, out);
  rt_mem_release(d->ctx, &xs);
  rt_mem_release(d->ctx, &ys);
  return error;
}

// Computes what was noted on the device too; `op` -1: it need not agree exactly.
static void compare_device(Device *d, int op) {
  uint64_t *out = (uint64_t *)rt_host_alloc((size_t)d->count * 8);
  if (op >= 0 && device_apply(d, op, out)) {
    fprintf(stderr, "%s\n", fl_context_get_error(d->ctx));
    exit(1);
  }
  for (int64_t i = 0; op >= 0 && i < d->count; i++) {
    Prim got = prim_of_bits(d->expected[i].type, out[i]);
    if (same(d->what, got, d->expected[i])) continue;
    fprintf(stderr, "%s on the device (%llx, %llx): got %s, expected %s\n", d->what,
            (unsigned long long)d->args[3 * i], (unsigned long long)d->args[3 * i + 1],
            prim_text(got), prim_text(d->expected[i]));
    exit(1);
  }
  free(out);
  d->count = 0;
}

// How a C value of each type is taken out of a Prim and put into one.
#define IN_i8(p)    ((int8_t)(p).u.i)
#define IN_i16(p)   ((int16_t)(p).u.i)
#define IN_i32(p)   ((int32_t)(p).u.i)
#define IN_i64(p)   ((int64_t)(p).u.i)
#define IN_u8(p)    ((uint8_t)(p).u.i)
#define IN_u16(p)   ((uint16_t)(p).u.i)
#define IN_u32(p)   ((uint32_t)(p).u.i)
#define IN_u64(p)   ((uint64_t)(p).u.i)
#define IN_f16(p)   ((uint16_t)(p).u.i)
#define IN_f32(p)   ((p).u.f32)
#define IN_f64(p)   ((p).u.f64)
#define IN_bool(p)  ((p).u.i != 0)
#define OUT_i8(x)   prim_int(PRIM_I8, x)
#define OUT_i16(x)  prim_int(PRIM_I16, x)
#define OUT_i32(x)  prim_int(PRIM_I32, x)
#define OUT_i64(x)  prim_int(PRIM_I64, x)
#define OUT_u8(x)   prim_int(PRIM_U8, x)
#define OUT_u16(x)  prim_int(PRIM_U16, x)
#define OUT_u32(x)  prim_int(PRIM_U32, x)
#define OUT_u64(x)  prim_int(PRIM_U64, (int64_t)(x))
#define OUT_f16(x)  prim_of_bits(PRIM_F16, x)
#define OUT_f32(x)  prim_f32(x)
#define OUT_f64(x)  prim_f64(x)
#define OUT_bool(x) prim_bool(x)

#include "scalars.inc"

int main(void) {
  struct rt_config *cfg = fl_context_config_new();
  fl_context_config_set_exact_floats(cfg, 1);
  Device device = { .ctx = fl_context_new(cfg) };
  device.args = (uint64_t *)rt_host_alloc(MOST_TUPLES * 24);
  device.expected = (Prim *)rt_host_alloc(MOST_TUPLES * sizeof(Prim));
  run_all(&device);
  free(device.args);
  free(device.expected);
  fl_context_free(device.ctx);
  fl_context_config_free(cfg);
  return 0;
}
