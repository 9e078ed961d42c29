#include "core/passes.h"
#include "core/programs.h"

static const Body *checked(Compiler *c, const Core *core) {
  core_check(c, core, false);
  return core->entries[0]->body;
}

static void drops_unused_statements(Compiler *c) {
  const Var *x = param(c, "x", type_scalar(PRIM_I64));
  Builder b = builder_new(c, nowhere);
  Atom y = core_let(&b, "y", exp_op2(OP_ADD, atom_var(x), atom_i64(1)));
  core_let(&b, "z", exp_op2(OP_DIV, y, atom_i64(0)));  // would fail, but nobody asks
  const Body *body = checked(c, dead(c, program_of(c, &x, 1, core_body(&b, &y, 1))));
  CHECK(body->stm_count == 1);
}

// loop a = x, s = x for i < x do {a + 1, s * 2}, of which s is used: a only feeds itself
static void drops_parameters_that_feed_themselves(Compiler *c) {
  const Var *x = param(c, "x", type_scalar(PRIM_I64));
  const Var *params[] = { param(c, "a", x->type), param(c, "s", x->type) };
  Builder inner = builder_new(c, nowhere);
  Atom next[2];
  next[0] = core_let(&inner, "b", exp_op2(OP_ADD, atom_var(params[0]), atom_i64(1)));
  next[1] = core_let(&inner, "t", exp_op2(OP_MUL, atom_var(params[1]), atom_i64(2)));
  Atom inits[] = { atom_var(x), atom_var(x) }, out[2];
  Exp loop = { .kind = EXP_LOOP,
               .u.loop = { params, inits, 2, CORE_FOR, param(c, "i", x->type),
                           atom_var(x), 0, core_body(&inner, next, 2) } };
  Builder b = builder_new(c, nowhere);
  core_let_n(&b, "r", &loop, out);
  const Body *body = checked(c, dead(c, program_of(c, &x, 1, core_body(&b, &out[1], 1))));
  CHECK(body->stms[0].binder_count == 1);
  CHECK(body->stms[0].exp->u.loop.body->stm_count == 1);
}

// map (\x y -> {x + 1, y + 1}) xs ys, of which the second is used
static void drops_results_and_inputs_of_maps(Compiler *c) {
  const Var *params[] = { param(c, "xs", vector(PRIM_I64, atom_i64(4))),
                          param(c, "ys", vector(PRIM_I64, atom_i64(4))) };
  const Var *elements[] = { param(c, "x", type_scalar(PRIM_I64)),
                            param(c, "y", type_scalar(PRIM_I64)) };
  Builder inner = builder_new(c, nowhere);
  Atom results[2], out[2];
  for (int i = 0; i < 2; i++)
    results[i] =
        core_let(&inner, "r", exp_op2(OP_ADD, atom_var(elements[i]), atom_i64(1)));
  Builder b = builder_new(c, nowhere);
  Atom arrays[] = { atom_var(params[0]), atom_var(params[1]) };
  Lambda fn = lambda_new(elements, 2, core_body(&inner, results, 2));
  core_let_n(&b, "zs", exp_map(atom_i64(4), fn, arrays, 2), out);
  const Body *body =
      checked(c, dead(c, program_of(c, params, 2, core_body(&b, &out[1], 1))));
  const Soac *soac = &body->stms[0].exp->u.soac;
  CHECK(soac->array_count == 1 && atom_equal(soac->arrays[0], arrays[1]));
  CHECK(soac->fn.body->stm_count == 1);
}

int main(void) {
  Compiler *c = new_compiler();
  drops_unused_statements(c);
  drops_parameters_that_feed_themselves(c);
  drops_results_and_inputs_of_maps(c);
}
