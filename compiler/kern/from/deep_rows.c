// Arrays that loops of loops change: matrices that are factorised, tables, rows that are sorted.
//
// A loop whose result is a row of the kernel's result may work in that row.  But points in lanes
// then load and store what lies a row apart, each time; in memory of the point's own the same
// elements of all lanes lie side by side.  What is done more often than there are elements is worth
// the copy at the end.
#include "kern/from/from_flat.h"

typedef struct DeepRows {
  CoreType row;
  int depth;  // loops around
  bool deep;
} DeepRows;

static bool is_such(const DeepRows *d, Atom a) {
  CoreType type = atom_type(a);
  if (type.rank != d->row.rank || type.elem != d->row.elem) return false;
  for (int i = 0; i < type.rank; i++)
    if (!atom_equal(type.dims[i], d->row.dims[i])) return false;
  return true;
}

// Dimensions of which all elements are read or written at once.
static int whole_dimensions(const DimIndex *dims, int count, int rank) {
  int whole = rank - count;
  for (int i = 0; i < count; i++)
    whole += dims[i].is_slice;
  return whole;
}

static void visit_stm(DeepRows *d, const Exp *e) {
  int whole = -1;
  if (e->kind == EXP_INDEX && is_such(d, e->u.index.array))
    whole = whole_dimensions(e->u.index.dims, e->u.index.dim_count, d->row.rank);
  if (e->kind == EXP_UPDATE && is_such(d, e->u.update.array))
    whole = whole_dimensions(e->u.update.dims, e->u.update.dim_count, d->row.rank);
  if (whole >= 0 && d->depth + whole > d->row.rank) d->deep = true;
}

static void visit_body(CoreVisitor *v, const Body *body) {
  DeepRows *d = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    bool again = e->kind != EXP_IF;
    visit_stm(d, e);
    d->depth += again;
    core_visit_exp(v, e);
    d->depth -= again;
  }
}

bool from_works_deeply(const Stm *loop, int result) {
  DeepRows d = { .row = loop->binders[result]->type, .depth = 1 };
  CoreVisitor v = { .body = visit_body, .state = &d };
  core_visit_exp(&v, loop->exp);
  return d.deep;
}
