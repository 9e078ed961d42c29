// A small program as flc would generate it, written by hand: what the tests of the runtime run.
//
//   add_one xs = map (+1) xs                        (consume: the same in place)
//   get xs i = [xs[i]]                              (fails out of bounds, in a kernel)
//   sum xs = reduce (+) 0 xs                        (two versions behind the guard sum.intra_0)
//   pair n = (n, iota n)                            (a tuple)
#pragma once
#include "../../runtime/all.c"

enum { K_ADD_ONE, K_GET, K_GROUP_SUM, K_SCALED, K_IOTA, K_GROWN, K_COUNT };
enum {
  T_F32S,
  T_I32S,
  T_I64,
  T_I32,
  T_PAIR,
  T_U8,
  T_OPTION,
  T_POINT,
  T_POINTS,
  T_F32,
  T_COUNT
};

static const char *const add_one_text[] = {
  "__kernel void flc_kernel(__global const float *xs, __global float *ys, long n) {\n",
  "  long i = get_global_id(0);\n",
  "  if (i < n) ys[i] = flc_add_f32(xs[i], 1.0f);\n",
  "}\n",
  NULL,
};
static const char *const get_text[] = {
  "__kernel void flc_kernel(__global const int *xs, __global int *out, long n, long i,\n",
  "                  __global int *flc_error) {\n",
  "  if (get_global_id(0) > 0) return;\n",
  "  if (!(i >= 0 && i < n)) { flc_fail(flc_error, 1, i, n, 0, 0); return; }\n",
  "  out[0] = xs[i];\n",
  "}\n",
  NULL,
};
// One group: each item adds up a part in local memory, the first combines.
static const char *const group_sum_text[] = {
  "__kernel void flc_kernel(__global const int *xs, __global int *out, long n,\n",
  "                        FLC_LOCAL uchar *parts_0, long parts_0_bytes) {\n",
  "  FLC_LOCAL int *parts = FLC_LOCAL_ARRAY(int, parts_0, parts_0_bytes);\n",
  "  int sum = 0;\n",
  "  for (long i = get_local_id(0); i < n; i += FLC_GROUP_SIZE)\n",
  "    sum = flc_add_i32(sum, xs[i]);\n",
  "  parts[get_local_id(0)] = sum;\n",
  "  FLC_BARRIER();\n",
  "  if (get_local_id(0) > 0) return;\n",
  "  for (long i = 1; i < get_local_size(0); i++) sum += parts[i];\n",
  "  out[0] = sum;\n",
  "}\n",
  NULL,
};
// Doubles, a scratch array and a tuning parameter: out[i] = sum of 0 .. FLC_PARAM_1, by memory.
static const char *const scaled_text[] = {
  "__kernel void flc_kernel(__global double *out, long n, __global double *scratch) {\n",
  "  long i = get_global_id(0);\n",
  "  if (i >= n) return;\n",
  "  for (int k = 0; k < FLC_PARAM_1; k++) scratch[i * FLC_PARAM_1 + k] = k;\n",
  "  double sum = 0;\n",
  "  for (int k = 0; k < FLC_PARAM_1; k++) sum = flc_add_f64(sum, scratch[i * "
  "FLC_PARAM_1 + k]);\n",
  "  out[i] = sum;\n",
  "}\n",
  NULL,
};
static const char *const iota_text[] = {
  "__kernel void flc_kernel(__global int *out, long n) {\n",
  "  long i = get_global_id(0);\n",
  "  if (i < n) out[i] = flc_i64_to_i32(i);\n",
  "}\n",
  NULL,
};
// Each item adds one to what it reads before it knows whether the arena has room for it.
static const char *const grown_text[] = {
  "__kernel void flc_kernel(__global const int *from, __global int *to, long n, long "
  "bytes,\n",
  "    __global uchar *flc_arena, long flc_arena_bytes, __global uint *flc_arena_counts) "
  "{\n",
  "  long i = get_global_id(0), room = 0, used = 0;\n",
  "  if (i >= n) return;\n",
  "  to[i] = from[i] + 1;\n",
  "  if (!flc_arena_room(flc_arena, flc_arena_bytes, flc_arena_counts, flc_arena, "
  "&room,\n",
  "                      &used, bytes))\n",
  "    return;\n",
  "  flc_arena_done(flc_arena_counts, used);\n",
  "}\n",
  NULL,
};

static const int scaled_tuning[] = { 1 };
static const struct rt_kernel kernels[] = {
  { "add_one", add_one_text, false, false, false, NULL, 0, false, NULL, false, 0, 0, NULL,
    false },
  { "get", get_text, true, false, false, NULL, 0, false, NULL, false, 0, 0, NULL, false },
  { "group_sum", group_sum_text, false, false, false, NULL, 0, false, NULL, true, 0, 0,
    NULL, false },
  { "scaled", scaled_text, false, true, false, scaled_tuning, 1, false, NULL, false, 0, 0,
    NULL, false },
  { "iota", iota_text, false, false, false, NULL, 0, false, NULL, false, 0, 0, NULL,
    false },
  { "grown", grown_text, false, false, false, NULL, 0, true, NULL, false, 1, 0, NULL,
    false },
};

static const char *const host_check[] = { "negative size ", "" };
static const char *const bounds_check[] = { "Index [",
                                            "] out of bounds for array of shape [", "]" };
static const struct rt_check checks[] = {
  { "", "", host_check, 1 },
  { "small.fl:3:7", "    3 | out[i]\n      |   ^~~~\n", bounds_check, 2 },
};

static const struct rt_tuning_param tuning[] = {
  { "sum.intra_0", "threshold", 10, 32768, -1, 0, 0, 0, 0 },
  { "pair.tile_1", "tile_size", -1, -1, -1, 0, 0, 0, 0 },
};
static const struct rt_guard_info guards[] = { { "sum.intra_0", 0 } };

static const int pair_leaves[] = { T_I64, T_I32S };
static const struct rt_field pair_fields[] = { { "0", T_I64, 0 }, { "1", T_I32S, 1 } };
static const int option_leaves[] = { T_U8, T_I32S, T_I64 }, option_dims[] = { 2 };
static const struct rt_field option_many[] = { { "0", T_I32S, 1 } };
static const struct rt_field option_one[] = { { "0", T_I64, 2 } };
static const struct rt_constructor option_constructors[] = {
  { "many", option_many, 1 },
  { "none", NULL, 0 },
  { "one", option_one, 1 },
};
static const int point_leaves[] = { T_F32, T_I32 }, points_leaves[] = { T_F32S, T_I32S };
static const struct rt_field point_fields[] = { { "x", T_F32, 0 }, { "y", T_I32, 1 } };
static const struct rt_field point_columns[] = { { "x", T_F32S, 0 }, { "y", T_I32S, 1 } };
static const struct rt_type types[] = {
  { "[]f32", RT_ARRAY, RT_F32, 1, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, -1 },
  { "[]i32", RT_ARRAY, RT_I32, 1, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, -1 },
  { "i64", RT_SCALAR, RT_I64, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, -1 },
  { "i32", RT_SCALAR, RT_I32, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, -1 },
  { "(i64, []i32)", RT_OPAQUE, RT_I8, 0, pair_leaves, 2, pair_fields, 2, NULL, 0, NULL,
    NULL, 0, -1 },
  { "u8", RT_SCALAR, RT_U8, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, -1 },
  { "option", RT_OPAQUE, RT_I8, 0, option_leaves, 3, NULL, 0, option_constructors, 3,
    option_dims, NULL, 0, -1 },
  { "point", RT_OPAQUE, RT_I8, 0, point_leaves, 2, point_fields, 2, NULL, 0, NULL, NULL,
    0, -1 },
  { "[]point", RT_OPAQUE, RT_I8, 1, points_leaves, 2, NULL, 0, NULL, 0, NULL,
    point_columns, 2, T_POINT },
  { "f32", RT_SCALAR, RT_F32, 0, NULL, 0, NULL, 0, NULL, 0, NULL, NULL, 0, -1 },
};

static int launch_add_one(struct rt_context *ctx, struct rt_mem *xs, struct rt_mem *ys,
                          int64_t n) {
  struct rt_arg args[3];
  struct rt_launch launch = { n, -1, 0, args, 3, NULL, 0, NULL, 0 };
  args[0] = rt_arg_mem(xs);
  args[1] = rt_arg_mem(ys);
  args[2] = rt_arg_i64(n);
  return rt_launch(ctx, K_ADD_ONE, &launch);
}

static int call_add_one(struct rt_context *ctx, struct rt_value *out,
                        const struct rt_value *in) {
  struct rt_mem *xs = NULL, *ys = NULL;
  const struct rt_array *array = in[0].u.array;
  int64_t n = array->shape[0];
  int error = rt_entry_begin(ctx, "add_one");
  if (!error) error = rt_array_share(ctx, array, &xs);
  if (!error) error = rt_mem_alloc(ctx, &ys, rt_sat_mul(n, 4));
  if (!error) error = launch_add_one(ctx, xs, ys, n);
  error = rt_entry_end(ctx, error);
  if (!error) error = rt_array_of_mem(ctx, &out->u.array, RT_F32, 1, &n, ys);
  rt_mem_release(ctx, &xs);
  rt_mem_release(ctx, &ys);
  return error;
}

static int call_consume(struct rt_context *ctx, struct rt_value *out,
                        const struct rt_value *in) {
  struct rt_mem *xs = NULL, *ys = NULL;
  int64_t n = in[0].u.array->shape[0];
  int error = rt_entry_begin(ctx, "consume");
  if (!error) error = rt_array_consume(ctx, in[0].u.array, &xs);
  if (!error) error = rt_mem_unique(ctx, &ys, &xs);
  if (!error) error = launch_add_one(ctx, ys, ys, n);
  error = rt_entry_end(ctx, error);
  if (!error) error = rt_array_of_mem(ctx, &out->u.array, RT_F32, 1, &n, ys);
  rt_mem_release(ctx, &xs);
  rt_mem_release(ctx, &ys);
  return error;
}

static int launch_get(struct rt_context *ctx, struct rt_mem *xs, struct rt_mem *ys,
                      const int64_t *numbers) {
  struct rt_arg args[4];
  struct rt_launch launch = { 1, -1, 0, args, 4, NULL, 0, NULL, 0 };
  args[0] = rt_arg_mem(xs);
  args[1] = rt_arg_mem(ys);
  args[2] = rt_arg_i64(numbers[0]);
  args[3] = rt_arg_i64(numbers[1]);
  return rt_launch(ctx, K_GET, &launch);
}

static int call_get(struct rt_context *ctx, struct rt_value *out,
                    const struct rt_value *in) {
  struct rt_mem *xs = NULL, *ys = NULL;
  int64_t numbers[2] = { in[0].u.array->shape[0], in[1].u.i64 }, one = 1;
  int error = rt_entry_begin(ctx, "get");
  if (!error) error = rt_array_share(ctx, in[0].u.array, &xs);
  if (!error) error = rt_mem_alloc(ctx, &ys, 4);
  if (!error) error = launch_get(ctx, xs, ys, numbers);
  error = rt_entry_end(ctx, error);
  if (!error) error = rt_array_of_mem(ctx, &out->u.array, RT_I32, 1, &one, ys);
  rt_mem_release(ctx, &xs);
  rt_mem_release(ctx, &ys);
  return error;
}

// By one group with local memory, or with more of it than there is: then the fallback runs.
static int launch_sum(struct rt_context *ctx, struct rt_mem *xs, struct rt_mem *ys,
                      int64_t n) {
  struct rt_arg args[3];
  bool intra = rt_guard(ctx, 0, n, 64 * 4, 0);
  int64_t local_bytes = intra ? 64 * 4 : 2 * rt_local_capacity(ctx);
  struct rt_launch launch = { -1, 1, 64, args, 3, NULL, 0, &local_bytes, 1 };
  args[0] = rt_arg_mem(xs);
  args[1] = rt_arg_mem(ys);
  args[2] = rt_arg_i64(n);
  int error = rt_launch(ctx, K_GROUP_SUM, &launch);
  return error;
}

static int call_sum(struct rt_context *ctx, struct rt_value *out,
                    const struct rt_value *in) {
  struct rt_mem *xs = NULL, *ys = NULL;
  rt_sizes_clear(ctx);
  rt_size(ctx, 0, in[0].u.array->shape[0]);
  int error = rt_entry_begin(ctx, "sum");
  if (!error) error = rt_array_share(ctx, in[0].u.array, &xs);
  if (!error) error = rt_mem_alloc(ctx, &ys, 4);
  if (!error) error = launch_sum(ctx, xs, ys, in[0].u.array->shape[0]);
  if (!error) error = rt_read(ctx, ys, 0, 4, &out->u.i32);
  rt_mem_release(ctx, &xs);
  rt_mem_release(ctx, &ys);
  return rt_entry_end(ctx, error);
}

static int pair_result(struct rt_context *ctx, struct rt_value *out, struct rt_mem *ys,
                       int64_t n) {
  struct rt_value leaves[2];
  leaves[0].u.i64 = n;
  int error = rt_array_of_mem(ctx, &leaves[1].u.array, RT_I32, 1, &n, ys);
  if (error) return error;
  error = rt_opaque_new(ctx, &out->u.opaque, T_PAIR, leaves);
  rt_array_free(ctx, leaves[1].u.array);
  return error;
}

static int call_pair(struct rt_context *ctx, struct rt_value *out,
                     const struct rt_value *in) {
  struct rt_mem *ys = NULL;
  struct rt_arg args[2];
  int64_t n = in[0].u.i64;
  struct rt_launch launch = { n, -1, 0, args, 2, NULL, 0, NULL, 0 };
  int error = rt_entry_begin(ctx, "pair");
  if (!error && n < 0) error = rt_fail(ctx, 0, &n);
  if (!error) error = rt_mem_alloc(ctx, &ys, rt_sat_mul(n, 4));
  if (!error) {
    args[0] = rt_arg_mem(ys);
    args[1] = rt_arg_i64(n);
    error = rt_launch(ctx, K_IOTA, &launch);
  }
  error = rt_entry_end(ctx, error);
  if (!error) error = pair_result(ctx, out, ys, n);
  rt_mem_release(ctx, &ys);
  return error;
}

static const struct rt_input floats_input[] = { { "xs", T_F32S, false } };
static const struct rt_input consumed_input[] = { { "xs", T_F32S, true } };
static const struct rt_input get_inputs[] = { { "xs", T_I32S, false },
                                              { "i", T_I64, false } };
static const struct rt_input ints_input[] = { { "xs", T_I32S, false } };
static const struct rt_input size_input[] = { { "n", T_I64, false } };
static const int sum_tuning[] = { 0 };
static const char *const pair_attributes[] = { "fast", NULL };
static const struct rt_entry_point entries[] = {
  { "main", floats_input, 1, T_F32S, true, call_add_one, NULL, 0, NULL },
  { "consume", consumed_input, 1, T_F32S, true, call_consume, NULL, 0, NULL },
  { "get", get_inputs, 2, T_I32S, true, call_get, NULL, 0, NULL },
  { "sum", ints_input, 1, T_I32, false, call_sum, sum_tuning, 1, NULL },
  { "pair", size_input, 1, T_PAIR, true, call_pair, NULL, 0, pair_attributes },
};

// Generated programs carry this text; here the macro is made by tests/runtime/meson.build.
static const char *const prelude_text[] = {
#include "opencl_prelude.inc"
  NULL,
};
static const char *const opencl_builtins[] = {
#include "opencl_builtins.inc"
  NULL,
};
static const char *const cuda_words[] = {
#include "cuda_words.inc"
  NULL,
};
static const char *const tree_text[] = { "sum\n", "`-- sum.intra_0: n >= t\n", NULL };
static const char *const tree_json[] = { "{\"sum\": []}\n", NULL };

static const char *const size_names[] = { "n", "i" };

static const struct rt_program small_program = {
  "small.fl",
  prelude_text,
  opencl_builtins,
  cuda_words,
  tree_text,
  tree_json,
  kernels,
  K_COUNT,
  checks,
  2,
  tuning,
  2,
  guards,
  1,
  types,
  T_COUNT,
  entries,
  5,
  size_names,
  2,
  NULL,
  0,
  RT_KINDS_ONE,
  false,
  NULL,
  NULL,
  0,
};

RT_FN const struct rt_program *rt_program(void) { return &small_program; }
