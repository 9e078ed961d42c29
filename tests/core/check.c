#include "core/programs.h"
#include <sys/wait.h>
#include <unistd.h>

// The exit status of core_check on this program, in a process of its own: bug() ends it.
static int status_of(Compiler *c, const Core *core, bool flat) {
  fflush(NULL);
  pid_t child = fork();
  if (child == 0) {
    if (!freopen("/dev/null", "w", stderr)) _exit(1);
    core_check(c, core, flat);
    _exit(0);
  }
  int status = 0;
  CHECK(child > 0 && waitpid(child, &status, 0) == child);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

enum { REFUSED = 70 };

static int status_of_exp(Compiler *c, const Exp *exp) {
  Builder b = builder_new(c, nowhere);
  Atom x = core_let(&b, "x", exp);
  return status_of(c, program_of(c, NULL, 0, core_body(&b, &x, 1)), false);
}

static void accepts_a_right_program(Compiler *c) {
  CHECK(status_of(c, row_sums(c), false) == 0);
}

static void refuses_unbound_variables(Compiler *c) {
  Atom x = atom_var(param(c, "x", type_scalar(PRIM_I32)));
  CHECK(status_of_exp(c, exp_op1(OP_NEG, x)) == REFUSED);
}

static void refuses_two_bindings(Compiler *c) {
  Builder b = builder_new(c, nowhere);
  Atom x = core_let(&b, "x", exp_atom(atom_i64(1)));
  core_let_vars(&b, &x.u.var, 1, exp_atom(atom_i64(2)));
  CHECK(status_of(c, program_of(c, NULL, 0, core_body(&b, &x, 1)), false) == REFUSED);
}

static void refuses_use_after_the_body(Compiler *c) {
  Builder inner = builder_new(c, nowhere);
  Atom x = core_let(&inner, "x", exp_atom(atom_i64(1)));
  const Body *body = core_body(&inner, &x, 1);
  const Body *other = core_rename_body(c, NULL, body);
  Builder b = builder_new(c, nowhere);
  core_let(&b, "y", exp_if(atom_bool(true), body, other));
  CHECK(status_of(c, program_of(c, NULL, 0, core_body(&b, &x, 1)), false) == REFUSED);
}

static void refuses_wrong_operands(Compiler *c) {
  CHECK(status_of_exp(c, exp_op2(OP_ADD, atom_i64(1), atom_const(prim_i32(1)))) ==
        REFUSED);
  CHECK(status_of_exp(c, exp_op1(OP_SQRT, atom_i64(1))) == REFUSED);
  CHECK(status_of_exp(c, exp_op2(OP_ADD, atom_i64(1), atom_i64(1))) == 0);
  CHECK(status_of_exp(c, exp_bits(PRIM_F32, atom_i64(1))) == REFUSED);
}

static void refuses_wrong_binder_types(Compiler *c) {
  Builder b = builder_new(c, nowhere);
  const Var *x = param(c, "x", vector(PRIM_I64, atom_i64(4)));
  core_let_vars(&b, &x, 1, exp_iota(atom_i64(3), atom_i64(0), atom_i64(1)));
  Atom result = atom_var(x);
  CHECK(status_of(c, program_of(c, NULL, 0, core_body(&b, &result, 1)), false) ==
        REFUSED);
}

static void refuses_a_rearrange_that_is_no_permutation(Compiler *c) {
  const Var *xs = param(c, "xs", matrix(PRIM_I32, atom_i64(2), atom_i64(3)));
  for (int k = 0; k < 2; k++) {
    Builder b = builder_new(c, nowhere);
    Atom y = core_let(&b, "y", exp_rearrange((int[]){ 1, k }, 2, atom_var(xs)));
    CHECK(status_of(c, program_of(c, &xs, 1, core_body(&b, &y, 1)), false) ==
          (k ? REFUSED : 0));
  }
}

static void refuses_an_operator_with_too_few_parameters(Compiler *c) {
  const Var *xs = param(c, "xs", vector(PRIM_I32, atom_i64(2)));
  Exp sum = *sum_of(c, atom_var(xs));
  RedOp op = sum.u.soac.ops[0];
  op.op.param_count = 1;
  sum.u.soac.ops = &op;
  Builder b = builder_new(c, nowhere);
  Atom y = core_let(&b, "y", &sum);
  CHECK(status_of(c, program_of(c, &xs, 1, core_body(&b, &y, 1)), false) == REFUSED);
}

static void refuses_seg_ops_outside_of_flat(Compiler *c) {
  const Var *i = param(c, "i", type_scalar(PRIM_I64));
  Atom index = atom_var(i);
  Builder inner = builder_new(c, nowhere);
  SegDim dim = { i, atom_i64(8) };
  SegOp seg = { .kind = SEG_MAP,
                .level = 1,
                .dims = &dim,
                .dim_count = 1,
                .body = core_body(&inner, &index, 1) };
  Builder b = builder_new(c, nowhere);
  Atom y = core_let(&b, "y", exp_seg(&seg));
  const Core *core = program_of(c, NULL, 0, core_body(&b, &y, 1));
  CHECK(status_of(c, core, false) == REFUSED);
  CHECK(status_of(c, core, true) == 0);
}

int main(void) {
  Compiler *c = new_compiler();
  accepts_a_right_program(c);
  refuses_unbound_variables(c);
  refuses_two_bindings(c);
  refuses_use_after_the_body(c);
  refuses_wrong_operands(c);
  refuses_wrong_binder_types(c);
  refuses_a_rearrange_that_is_no_permutation(c);
  refuses_an_operator_with_too_few_parameters(c);
  refuses_seg_ops_outside_of_flat(c);
}
