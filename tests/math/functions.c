// The functions of runtime/kernels/math/: how their texts are put together, and, on the first OpenCL
// device, their errors on edge values and random arguments, as single values and as vectors.
// errors.c measures more of it.
#include "../unit.h"
#include "base/embed.h"
#include "device.h"
#include "reference.h"
#include <math.h>

// ---- texts

static const char *text_of(PrimOp op, PrimType type, int width) {
  MathUses uses = { 0 };
  Text *t = text_new();
  CHECK(emit_math_use(&uses, (MathUse){ op, type, width }));
  emit_math(t, &uses);
  return text_str(t);
}

static int occurrences(const char *text, const char *part) {
  int count = 0;
  for (; (text = strstr(text, part)) != NULL; text++)
    count++;
  return count;
}

static void names_say_type_and_width(void) {
  MathUses uses = { 0 };
  CHECK_TEXT(emit_math_use(&uses, (MathUse){ OP_EXP, PRIM_F32, 1 }), "fl_exp_f32");
  CHECK_TEXT(emit_math_use(&uses, (MathUse){ OP_EXP, PRIM_F64, 8 }), "fl_exp_f64x8");
  CHECK(uses.count == 2);
  emit_math_use(&uses, (MathUse){ OP_EXP, PRIM_F64, 8 });
  CHECK(uses.count == 2);
}

static void what_has_no_text_is_left_to_others(void) {
  MathUses uses = { 0 };
  CHECK(!emit_math_use(&uses, (MathUse){ OP_ADD, PRIM_F32, 16 }));
  CHECK(!emit_math_use(&uses, (MathUse){ OP_POW, PRIM_I32, 16 }));
  CHECK(!emit_math_use(&uses, (MathUse){ OP_GAMMA, PRIM_F32, 16 }));
  CHECK(uses.count == 0);
  Text *t = text_new();
  emit_math(t, &uses);
  CHECK_TEXT(text_str(t), "");
}

static void texts_hold_what_is_needed_once_and_first(void) {
  const char *text = text_of(OP_SIN, PRIM_F32, 16);
  const char *part = strstr(text, "fl_sin_part_f32x16(float16 r, int16 n) {");
  const char *whole = strstr(text, "fl_sin_f32x16(float16 x) {");
  CHECK(part && whole && part < whole);
  CHECK(occurrences(text, "fl_sin_part_f32x16(float16 r, int16 n) {") == 1);
  CHECK(occurrences(text, "float fl_reduce_f32(") == 1);
  CHECK(!strstr(text, "fl_exp"));
  CHECK(!strstr(text, "double"));
}

static void texts_share_what_both_need(void) {
  MathUses uses = { 0 };
  Text *t = text_new();
  emit_math_use(&uses, (MathUse){ OP_SIN, PRIM_F32, 16 });
  emit_math_use(&uses, (MathUse){ OP_COS, PRIM_F32, 16 });
  emit_math_use(&uses, (MathUse){ OP_COS, PRIM_F32, 1 });
  emit_math(t, &uses);
  CHECK(occurrences(text_str(t), "float16 fl_quarters_f32x16(") == 1);
  CHECK(occurrences(text_str(t), "float fl_quarters_f32(") == 1);
  CHECK(occurrences(text_str(t), "float fl_reduce_f32(") == 1);
}

// Two of the letters that stand for types, alone, would be words of the template.
static void texts_have_no_comments_and_no_words_of_the_template(void) {
  for (int i = 0; math_function(i) != OP_COUNT; i++)
    for (PrimType type = PRIM_F32; type <= PRIM_F64; type++) {
      MathUses uses = { 0 };
      MathUse use = { math_function(i), type, 4 };
      if (!emit_math_use(&uses, use)) continue;
      const char *text = text_of(use.op, type, 4);
      CHECK(!strstr(text, "//") && !strstr(text, "ANY") && !strstr(text, "LANES"));
      CHECK(!strstr(text, " F ") && !strstr(text, "(F)") && !strstr(text, "as_I("));
      CHECK(!strstr(text, "(null)"));
    }
}

// ---- results

enum { COUNT = 1 << 17 };

typedef struct Arguments {
  PrimType type;
  void *a, *b, *out;
} Arguments;

static const double edges[] = {
  0.0,
  1,
  2,
  3,
  4,
  5,
  0.5,
  1.5,
  2.5,
  0.1,
  0.9999999,
  1.0000001,
  10,
  1000,
  16777215,
  16777217,
  0x1p-24,
  0x1p-149,
  0x1p-126,
  0x1p-1074,
  0x1p-1022,
  0x1.fffffep127,
  0x1.fffffffffffffp1023,
  1e-30,
  1e30,
  INFINITY,
  NAN,
  88.72284,
  103.97208,
  709.782712893384,
  745.1332191019411,
  0x1p31,
  0x1p52,
  9007199254740991.0,
  1e22,
  3.141592653589793,
  1.5707963267948966,
};
enum { EDGES = sizeof edges / sizeof *edges };

static double edge(size_t i) { return i < EDGES ? edges[i] : -edges[i - EDGES]; }

static void put(const Arguments *args, void *values, size_t i, double x) {
  if (args->type == PRIM_F32)
    ((float *)values)[i] = (float)x;
  else
    ((double *)values)[i] = x;
}

static double at(const Arguments *args, const void *values, size_t i) {
  return args->type == PRIM_F32 ? (double)((const float *)values)[i]
                                : ((const double *)values)[i];
}

// Each edge with each other, then random ones.
static void fill(const Arguments *args, PrimOp op) {
  MathRandom r = { 88172645463325252u };
  for (size_t i = 0; i < COUNT; i++) {
    size_t pairs = 4 * EDGES * EDGES;
    double a = i < pairs ? edge(i / (2 * EDGES)) : math_argument(args->type, &r);
    put(args, args->a, i, a);
    a = at(args, args->a, i);
    double b = i < pairs ? edge(i % (2 * EDGES)) : math_second(op, args->type, a, &r);
    put(args, args->b, i, b);
  }
}

// Of the error in units in the last place: what the section's first line says.
static double promised(MathUse use) {
  const char *line =
      text_format("// section %s_%s: within ", op_name(use.op), prim_type_name(use.type));
  for (int i = 0; i < runtime_file_count; i++) {
    const char *found = strstr(runtime_files[i].text, line);
    if (found) return strtod(found + strlen(line), NULL);
  }
  return 0;
}

static void all_functions_promise_little_error(void) {
  for (int i = 0; math_function(i) != OP_COUNT; i++)
    for (PrimType type = PRIM_F32; type <= PRIM_F64; type++) {
      MathUse use = { math_function(i), type, 1 };
      if (!emit_math_use(&(MathUses){ 0 }, use)) continue;
      CHECK(promised(use) >= 0.5 && promised(use) <= (type == PRIM_F32 ? 2 : 4));
    }
}

static void check_result(const Arguments *args, MathUse use, double bound, size_t i) {
  double a = at(args, args->a, i), b = at(args, args->b, i), got = at(args, args->out, i);
  long double expected = math_reference(use.op, use.type, a, b);
  double error = math_error(use.type, got, expected);
  if (error <= bound) return;
  fprintf(stderr, "%s of %a, %a gives %a, not %La (%g units)\n",
          emit_math_use(&(MathUses){ 0 }, use), a, b, got, expected, error);
  bool as_exact_as_promised = false;
  CHECK(as_exact_as_promised);
}

static void results_are_exact_enough(MathDevice *d, PrimType type, int width,
                                     PrimOp only) {
  Arguments args = { type, malloc(COUNT * 8), malloc(COUNT * 8), malloc(COUNT * 8) };
  MathUses uses = { 0 };
  for (int i = 0; math_function(i) != OP_COUNT; i++)
    if (only == OP_COUNT || only == math_function(i))
      emit_math_use(&uses, (MathUse){ math_function(i), type, width });
  math_device_build(d, &uses, false);
  for (int k = 0; k < uses.count; k++) {
    fill(&args, uses.at[k].op);
    math_device_run(d, k, COUNT, args.a, args.b, args.out);
    double bound = promised(uses.at[k]);
    for (size_t i = 0; i < COUNT; i++)
      check_result(&args, uses.at[k], bound, i);
  }
  free(args.a);
  free(args.b);
  free(args.out);
}

int main(void) {
  names_say_type_and_width();
  what_has_no_text_is_left_to_others();
  texts_hold_what_is_needed_once_and_first();
  texts_share_what_both_need();
  texts_have_no_comments_and_no_words_of_the_template();
  all_functions_promise_little_error();
  MathDevice *d = math_device_open();
  if (!d) return 77;
  results_are_exact_enough(d, PRIM_F32, 1, OP_COUNT);
  results_are_exact_enough(d, PRIM_F32, 16, OP_COUNT);
  results_are_exact_enough(d, PRIM_F64, 1, OP_COUNT);
  results_are_exact_enough(d, PRIM_F64, 8, OP_COUNT);
  for (int width = 2; width <= 16; width *= 2) {
    results_are_exact_enough(d, PRIM_F32, width, OP_TAN);
    results_are_exact_enough(d, PRIM_F64, width, OP_POW);
  }
  math_device_close(d);
  return 0;
}
