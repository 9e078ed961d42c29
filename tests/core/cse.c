#include "core/passes.h"
#include "core/programs.h"

static const Body *shared(Compiler *c, const Var *const *params, int count,
                          const Body *body) {
  const Core *core = cse(c, program_of(c, params, count, body));
  core_check(c, core, false);
  return core->entries[0]->body;
}

static void shares_equal_expressions(Compiler *c) {
  const Var *params[] = { param(c, "x", type_scalar(PRIM_I64)),
                          param(c, "y", type_scalar(PRIM_I64)) };
  Atom x = atom_var(params[0]), y = atom_var(params[1]);
  Builder b = builder_new(c, nowhere);
  Atom out[3];
  out[0] = core_let(&b, "a", exp_op2(OP_MUL, x, y));
  out[1] = core_let(&b, "b", exp_op2(OP_MUL, y, x));
  out[2] = core_let(&b, "d", exp_op2(OP_SUB, y, x));
  const Body *body = shared(c, params, 2, core_body(&b, out, 3));
  CHECK(body->stm_count == 2 && atom_equal(body->results[0], body->results[1]));
}

static void shares_with_enclosing_bodies_only(Compiler *c) {
  const Var *params[] = { param(c, "x", type_scalar(PRIM_I64)),
                          param(c, "p", type_scalar(PRIM_BOOL)) };
  Atom x = atom_var(params[0]);
  Builder b = builder_new(c, nowhere);
  core_let(&b, "a", exp_op2(OP_MUL, x, x));
  const Body *branches[2];
  for (int i = 0; i < 2; i++) {
    Builder inner = builder_new(c, nowhere);
    Atom square = core_let(&inner, "s", exp_op2(OP_MUL, x, x));
    Atom sum = core_let(&inner, "t", exp_op2(OP_ADD, square, x));
    branches[i] = core_body(&inner, &sum, 1);
  }
  Atom r = core_let(&b, "r", exp_if(atom_var(params[1]), branches[0], branches[1]));
  const Body *body = shared(c, params, 2, core_body(&b, &r, 1));
  const Exp *cond = body->stms[1].exp;
  CHECK(cond->u.cond.then_body->stm_count == 1 && cond->u.cond.else_body->stm_count == 1);
}

static void leaves_fresh_arrays_apart(Compiler *c) {
  Builder b = builder_new(c, nowhere);
  Atom out[2];
  for (int i = 0; i < 2; i++)
    out[i] = core_let(&b, "zeros", exp_replicate(atom_i64(4), atom_i64(0)));
  CHECK(shared(c, NULL, 0, core_body(&b, out, 2))->stm_count == 2);
}

int main(void) {
  Compiler *c = new_compiler();
  shares_equal_expressions(c);
  shares_with_enclosing_bodies_only(c);
  leaves_fresh_arrays_apart(c);
}
