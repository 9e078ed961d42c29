#include "core/programs.h"

static void prints_nested_operators(Compiler *c) {
  CHECK_TEXT(core_text(row_sums(c)),
             "entry main (n_0: i64) (m_1: i64) (xss_2: [n_0][m_1]f32) : [n_0]f32 =\n"
             "  let ys_9 : [n_0]f32 =\n"
             "    map n_0 (\\(xs_3: [m_1]f32) ->\n"
             "      let s_8 : f32 =\n"
             "        redomap m_1 (\\(x_4: f32) -> {x_4}) xs_3\n"
             "          op (\\(a_5: f32) (b_6: f32) -> let c_7 : f32 = a_5 + b_6 in "
             "{c_7}) {0.0f32}\n"
             "      in {s_8}) xss_2\n"
             "  in {ys_9}\n");
}

static const char *exp_text(const Exp *exp) {
  Text *t = text_new();
  core_print_exp(t, exp);
  return text_str(t);
}

static void prints_array_operations(Compiler *c) {
  Atom n = atom_var(param(c, "n", type_scalar(PRIM_I64)));
  Atom xs = atom_var(param(c, "xs", matrix(PRIM_I32, n, atom_i64(4))));
  const char *name = text_format("xs_%d", xs.u.var->id);
  CHECK_TEXT(exp_text(exp_index(xs, (Atom[]){ atom_i64(2) }, 1, true)),
             text_format("checked %s[2, :]", name));
  DimIndex dims[] = { dim_fix(n), dim_slice(atom_i64(1), atom_i64(2), atom_i64(-1)) };
  CHECK_TEXT(exp_text(exp_slice(xs, dims, false)),
             text_format("%s[n_%d, 1:2:-1]", name, n.u.var->id));
  CHECK_TEXT(exp_text(exp_rearrange((int[]){ 1, 0 }, 2, xs)),
             text_format("rearrange (1, 0) %s", name));
  CHECK_TEXT(
      exp_text(exp_iota(atom_i64(3), atom_const(prim_i32(0)), atom_const(prim_i32(1)))),
      "iota 3 0i32 1i32");
}

static void prints_seg_ops_and_guards(Compiler *c) {
  Atom n = atom_var(param(c, "n", type_scalar(PRIM_I64)));
  const Var *i = param(c, "i", type_scalar(PRIM_I64));
  const Var *j = param(c, "j", type_scalar(PRIM_I64));
  Builder b = builder_new(c, nowhere);
  Atom sum = core_let(&b, "s", exp_op2(OP_MUL, atom_var(i), atom_var(j)));
  SegDim dims[] = { { i, n }, { j, atom_i64(8) } };
  SegOp seg = { .kind = SEG_MAP,
                .level = 1,
                .dims = dims,
                .dim_count = 2,
                .body = core_body(&b, &sum, 1) };
  int id = n.u.var->id;
  CHECK_TEXT(
      exp_text(exp_seg(&seg)),
      text_format("segmap1 <i_%d < n_%d> <j_%d < 8> {\n  let s_%d : i64 = i_%d * j_%d\n"
                  "  in {s_%d}\n}",
                  id + 1, id, id + 2, id + 3, id + 1, id + 2, id + 3));
  Builder empty = builder_new(c, nowhere);
  const SizeExp *par =
      size_exp_op(SIZE_EXP_MUL, size_exp_atom(n), size_exp_atom(atom_i64(8)));
  Guard guard = { .name = "main.top_0", .par = par };
  const Body *body = core_body(&empty, &n, 1);
  CHECK_TEXT(
      exp_text(exp_guard(&guard, body, body)),
      text_format("if Par(n_%d*8) >= main.top_0 then {n_%d} else {n_%d}", id, id, id));
}

int main(void) {
  Compiler *c = new_compiler();
  prints_nested_operators(c);
  prints_array_operations(c);
  prints_seg_ops_and_guards(c);
}
