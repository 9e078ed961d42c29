// rearrange (1, 0) [xs, ys]   =>  map n (\x y -> [x, y]) xs ys
//
// Needs: Core; binders unique.  Keeps: both.  Why: rows that are only interleaved need not be
// copied first, by one item; what makes them, and what reads the result, may fuse with it.
#include "core/fuse.h"

enum { MOST_INTERLEAVED = 16 };

static bool swaps_two(const Exp *e) {
  return e->kind == EXP_REARRANGE && e->u.rearrange.rank == 2 &&
         e->u.rearrange.perm[0] == 1;
}

// The literal of rows that the statement transposes; NULL: it does not.
static const Exp *transposed_literal(const Graph *g, const Node *node) {
  const Exp *e = node->stm.exp;
  const Node *made = swaps_two(e) ? graph_producer(g, e->u.rearrange.array) : NULL;
  const Exp *literal = made ? made->stm.exp : NULL;
  bool found = literal && literal->kind == EXP_ARRAY && literal->u.array.count > 0 &&
               literal->u.array.count <= MOST_INTERLEAVED &&
               graph_can_wait(g, made, node);
  return found ? literal : NULL;
}

static const Exp *interleaved_map(Compiler *c, const Exp *literal, Loc loc) {
  int count = literal->u.array.count;
  CoreType row = literal->u.array.row, element = type_row(row);
  const Var **params = new_array(const Var *, count);
  Atom *elements = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    params[i] = var_new(c, name_of(c->names, "x"), element, loc);
    elements[i] = atom_var(params[i]);
  }
  Builder inner = builder_new(c, loc);
  Atom record = core_let(&inner, "record", exp_array(elements, count, element));
  return exp_map(row.dims[0], lambda_new(params, count, core_body(&inner, &record, 1)),
                 literal->u.array.atoms, count);
}

static bool has_swap(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (swaps_two(body->stms[i].exp)) return true;
  return false;
}

const Body *fuse_interleaved(Compiler *c, const Body *body) {
  if (!has_swap(body)) return body;
  Graph *g = graph_new(c, body);
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    const Exp *literal = transposed_literal(g, g->order[i]);
    if (literal) stm.exp = interleaved_map(c, literal, stm.loc);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}
