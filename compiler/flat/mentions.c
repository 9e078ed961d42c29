// Who reads a variable, and where.
#include "flat/mentions.h"

const SegOp *flat_seg_at(const Body *body, int i) {
  const Exp *e = body->stms[i].exp;
  return e->kind == EXP_SEG && e->u.seg->level == 1 && !e->u.seg->after ? e->u.seg : NULL;
}

static bool is_own_read(const SegOp *reader, const Var *var, const Exp *e) {
  if (!reader || e->kind != EXP_INDEX || !atom_equal(e->u.index.array, atom_var(var)) ||
      e->u.index.dim_count != reader->dim_count)
    return false;
  for (int i = 0; i < reader->dim_count; i++) {
    const DimIndex *dim = &e->u.index.dims[i];
    if (dim->is_slice || !atom_equal(dim->start, atom_var(reader->dims[i].index)))
      return false;
  }
  return true;
}

static void mention_atom(CoreVisitor *v, Atom a) {
  FlatMentions *m = v->state;
  m->all += a.kind == ATOM_VAR && a.u.var == m->var;
}

static void mention_body(CoreVisitor *v, const Body *body) {
  FlatMentions *m = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    m->own += is_own_read(m->reader, m->var, body->stms[i].exp);
    core_visit_exp(v, body->stms[i].exp);
  }
  for (int i = 0; i < body->result_count; i++)
    mention_atom(v, body->results[i]);
}

FlatMentions flat_mentions_at(const Body *body, int at, const Var *var) {
  FlatMentions m = { .var = var, .reader = flat_seg_at(body, at) };
  CoreVisitor v = { .atom = mention_atom, .body = mention_body, .state = &m };
  core_visit_exp(&v, body->stms[at].exp);
  return m;
}

bool flat_is_result(const Body *body, const Var *var) {
  for (int i = 0; i < body->result_count; i++)
    if (atom_equal(body->results[i], atom_var(var))) return true;
  return false;
}
