// Small Core programs that several tests use.
#pragma once
#include "core/core.h"
#include "unit.h"

static const Loc nowhere = { 0 };

static inline Compiler *new_compiler(void) {
  mem_init();
  Compiler *c = compiler_new();
  c->phase = "test";
  return c;
}

static inline const Var *param(Compiler *c, const char *name, CoreType type) {
  return var_new(c, name_of(c->names, name), type, nowhere);
}

static inline CoreType vector(PrimType elem, Atom n) { return type_array(elem, 1, &n); }

static inline CoreType matrix(PrimType elem, Atom n, Atom m) {
  return type_array(elem, 2, (Atom[]){ n, m });
}

// \x y -> x + y
static inline Lambda plus(Compiler *c, PrimType type) {
  const Var *params[] = { param(c, "a", type_scalar(type)),
                          param(c, "b", type_scalar(type)) };
  Builder b = builder_new(c, nowhere);
  Atom sum = core_let(&b, "c", exp_op2(OP_ADD, atom_var(params[0]), atom_var(params[1])));
  return lambda_new(params, 2, core_body(&b, &sum, 1));
}

// redomap (+) id 0 xs
static inline const Exp *sum_of(Compiler *c, Atom xs) {
  CoreType type = atom_type(xs);
  const Var *x = param(c, "x", type_row(type));
  Builder b = builder_new(c, nowhere);
  Atom result = atom_var(x);
  RedOp op = { .op = plus(c, type.elem), .count = 1 };
  op.neutral = new_node(Atom, .kind = ATOM_CONST, .u.constant = prim_zero(type.elem));
  Soac soac = { .width = type.dims[0],
                .fn = lambda_new(&x, 1, core_body(&b, &result, 1)),
                .arrays = mem_copy(&xs, sizeof xs),
                .array_count = 1,
                .ops = mem_copy(&op, sizeof op),
                .op_count = 1 };
  return exp_soac(EXP_REDOMAP, soac);
}

// entry main (params) : types of the results = body
static inline const Core *program_of(Compiler *c, const Var *const *params, int count,
                                     const Body *body) {
  CoreType *types = new_array(CoreType, body->result_count);
  for (int i = 0; i < body->result_count; i++)
    types[i] = atom_type(body->results[i]);
  const Entry *entry = new_node(
      Entry, .name = name_of(c->names, "main"),
      .params = mem_copy(params, sizeof *params * (size_t)count), .param_count = count,
      .results = types, .result_count = body->result_count, .body = body);
  return new_node(Core, .entries = mem_copy(&entry, sizeof entry), .entry_count = 1);
}

// entry main n m xss = map n (\xs -> {sum xs}) xss
static inline const Core *row_sums(Compiler *c) {
  const Var *params[3];
  params[0] = param(c, "n", type_scalar(PRIM_I64));
  params[1] = param(c, "m", type_scalar(PRIM_I64));
  params[2] = param(c, "xss", matrix(PRIM_F32, atom_var(params[0]), atom_var(params[1])));
  const Var *xs = param(c, "xs", type_row(params[2]->type));
  Builder inner = builder_new(c, nowhere);
  Atom sum = core_let(&inner, "s", sum_of(c, atom_var(xs)));
  Lambda fn = lambda_new(&xs, 1, core_body(&inner, &sum, 1));
  Builder b = builder_new(c, nowhere);
  Atom xss = atom_var(params[2]);
  Atom ys = core_let(&b, "ys", exp_map(atom_var(params[0]), fn, &xss, 1));
  return program_of(c, params, 3, core_body(&b, &ys, 1));
}

static inline const char *core_text(const Core *core) {
  Text *t = text_new();
  core_print(t, core);
  return text_str(t);
}
