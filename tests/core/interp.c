// What no test block can reach: steps, failures with positions, and that nothing given is overwritten.
#include "core/interp/interp.h"
#include "base/mem.h"
#include "programs.h"

static const Value *vector_of(int count, const float *elements) {
  Value *v = value_new(PRIM_F32, 1, (int64_t[]){ count });
  for (int i = 0; i < count; i++)
    value_set(v, i, prim_f32(elements[i]));
  return v;
}

static const Value *scalar_i64(int64_t n) {
  static const int64_t no_shape[1] = { 0 };
  Value *v = value_new(PRIM_I64, 0, no_shape);
  value_set(v, 0, prim_i64(n));
  return v;
}

static InterpResult run(Compiler *c, const Core *core, const Value *const *inputs,
                        InterpOptions options) {
  return interp_run(c, core, core->entries[0], inputs, options);
}

// entry main n xs = (xs with [k] = 7, xs)
static const Core *update_program(Compiler *c, int64_t k, bool keep_old) {
  const Var *params[2];
  params[0] = param(c, "n", type_scalar(PRIM_I64));
  params[1] = param(c, "xs", vector(PRIM_F32, atom_var(params[0])));
  Builder b = builder_new(c, nowhere);
  DimIndex *dim = mem_copy(&(DimIndex){ .start = atom_i64(k) }, sizeof(DimIndex));
  Atom results[2];
  results[0] = core_let(
      &b, "ys", exp_update(atom_var(params[1]), dim, atom_const(prim_f32(7)), true));
  results[1] = atom_var(params[1]);
  const Core *core = program_of(c, params, 2, core_body(&b, results, keep_old ? 2 : 1));
  Entry *entry = mem_copy(core->entries[0], sizeof *entry);
  entry->size_count = 1;
  entry->inputs =
      mem_copy(&(EntryValue){ .name = "xs", .first = 1, .count = 1 }, sizeof(EntryValue));
  entry->input_count = 1;
  const Entry *entries = entry;
  return new_node(Core, .entries = mem_copy(&entries, sizeof entries), .entry_count = 1);
}

static float element(const Value *v, int64_t i) { return value_get(v, i).u.f32; }

static void keeps_what_is_still_used(Compiler *c) {
  const Value *xs = vector_of(2, (float[]){ 1, 2 });
  InterpResult r = run(c, update_program(c, 0, true), &xs, (InterpOptions){ 0 });
  CHECK(r.ok && r.value_count == 2);
  CHECK(element(r.values[0], 0) == 7 && element(r.values[1], 0) == 1);
}

static void leaves_inputs_alone(Compiler *c) {
  const Value *xs = vector_of(2, (float[]){ 1, 2 });
  InterpResult r = run(c, update_program(c, 1, false), &xs, (InterpOptions){ 0 });
  CHECK(r.ok && element(r.values[0], 1) == 7 && element(xs, 1) == 2);
}

static void checks_bounds(Compiler *c) {
  const Value *xs = vector_of(2, (float[]){ 1, 2 });
  InterpResult r = run(c, update_program(c, 5, false), &xs, (InterpOptions){ 0 });
  CHECK(!r.ok);
  CHECK_TEXT(r.message, "Index [5] out of bounds for array of shape [2].");
  r = run(c, update_program(c, -1, false), &xs, (InterpOptions){ 0 });
  CHECK_TEXT(r.message, "Index [-1] out of bounds for array of shape [2].");
}

// entry main n = loop x = 0 for i < n do x + 1
static const Core *loop_program(Compiler *c) {
  const Var *n = param(c, "n", type_scalar(PRIM_I64));
  const Var **x = new_array(const Var *, 1);
  x[0] = param(c, "x", type_scalar(PRIM_I64));
  Builder inner = builder_new(c, nowhere);
  Atom next = core_let(&inner, "next", exp_op2(OP_ADD, atom_var(x[0]), atom_i64(1)));
  Atom zero = atom_i64(0);
  const Exp *loop = new_node(Exp, .kind = EXP_LOOP,
                             .u.loop = { .params = x,
                                         .inits = mem_copy(&zero, sizeof zero),
                                         .param_count = 1,
                                         .form = CORE_FOR,
                                         .index = param(c, "i", type_scalar(PRIM_I64)),
                                         .bound = atom_var(n),
                                         .body = core_body(&inner, &next, 1) });
  Builder b = builder_new(c, nowhere);
  Atom result = core_let(&b, "r", loop);
  return program_of(c, &n, 1, core_body(&b, &result, 1));
}

static void counts_rounds(Compiler *c) {
  const Value *n = scalar_i64(1000);
  InterpResult r = run(c, loop_program(c), &n, (InterpOptions){ 0 });
  CHECK(r.ok && value_get(r.values[0], 0).u.i == 1000);
  n = scalar_i64(-3);
  r = run(c, loop_program(c), &n, (InterpOptions){ 0 });
  CHECK(r.ok && value_get(r.values[0], 0).u.i == 0);
}

static void stops_after_its_steps(Compiler *c) {
  const Value *n = scalar_i64(INT64_MAX);
  InterpResult r = run(c, loop_program(c), &n, (InterpOptions){ .max_steps = 10000 });
  CHECK(!r.ok);
  CHECK_TEXT(r.message, "step limit reached");
}

int main(void) {
  Compiler *c = new_compiler();
  keeps_what_is_still_used(c);
  leaves_inputs_alone(c);
  checks_bounds(c);
  counts_rounds(c);
  stops_after_its_steps(c);
  return 0;
}
