#include "core/programs.h"

// Both in one program: only if every binder of the copy is fresh is each bound once.
static void copies_share_no_binder(Compiler *c) {
  const Core *core = row_sums(c);
  const Entry *entry = core->entries[0];
  const Body *copy = core_rename_body(c, NULL, entry->body);
  Builder b = builder_new(c, nowhere);
  core_add_body(&b, entry->body);
  core_add_body(&b, copy);
  Atom results[] = { entry->body->results[0], copy->results[0] };
  CHECK(!atom_equal(results[0], results[1]));
  core_check(c, program_of(c, entry->params, 3, core_body(&b, results, 2)), false);
}

static void substitutes_in_types(Compiler *c) {
  const Entry *entry = row_sums(c)->entries[0];
  Subst *s = subst_new();
  subst_put(s, entry->params[0], atom_i64(7));
  const Body *body = core_subst_body(c, s, entry->body);
  CHECK(atom_is_i64(body->stms[0].binders[0]->type.dims[0], 7));
  CHECK(atom_is_i64(body->stms[0].exp->u.soac.width, 7));
  CHECK(atom_equal(body->results[0], atom_var(body->stms[0].binders[0])));
}

static void finds_free_variables_in_order(Compiler *c) {
  const Entry *entry = row_sums(c)->entries[0];
  VarVec free = core_free_body(entry->body);
  CHECK(free.count == 3);
  CHECK(free.at[0] == entry->params[0]);
  CHECK(free.at[1] == entry->params[2]);
  CHECK(free.at[2] == entry->params[1]);
}

static void types_of_branches_name_their_sizes(Compiler *c) {
  Atom two[2], three[2];
  Builder a = builder_new(c, nowhere);
  two[0] = atom_i64(2);
  two[1] = core_let(&a, "xs", exp_iota(two[0], atom_i64(0), atom_i64(1)));
  Builder b = builder_new(c, nowhere);
  three[0] = atom_i64(3);
  three[1] = core_let(&b, "ys", exp_iota(three[0], atom_i64(0), atom_i64(1)));
  const Exp *e = exp_if(atom_bool(true), core_body(&a, two, 2), core_body(&b, three, 2));
  Builder outer = builder_new(c, nowhere);
  Atom out[2];
  core_let_n(&outer, "r", e, out);
  CHECK(atom_equal(atom_type(out[1]).dims[0], out[0]));
}

int main(void) {
  Compiler *c = new_compiler();
  copies_share_no_binder(c);
  substitutes_in_types(c);
  finds_free_variables_in_order(c);
  types_of_branches_name_their_sizes(c);
}
