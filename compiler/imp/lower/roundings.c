// How many times floats are rounded, one after the other, in an order that versions choose: what
// the results of two versions may differ by comes from that.
//
// A reduction, scan or histogram of n elements rounds n times; what is reduced within its function,
// or in a loop, so many times more.  Loops themselves have the same order in all versions.
#include "imp/lower/lower.h"

enum {
  UNKNOWN_SIZE = 1024
};  // sizes that only the branches know, and trips of while loops

typedef struct Roundings {
  CoreVisitor visitor;
  Map *bound;  // within the branches
} Roundings;

// NULL: nothing is reduced
static const SizeExp *of_body(const Roundings *r, const Body *body);

static bool same_size(const SizeExp *a, const SizeExp *b) {
  if (a->kind != b->kind) return false;
  if (a->kind == SIZE_EXP_ATOM) return atom_equal(a->atom, b->atom);
  return same_size(a->a, b->a) && same_size(a->b, b->b);
}

static bool is_operand(const SizeExp *max, const SizeExp *e) {
  if (same_size(max, e)) return true;
  if (max->kind != SIZE_EXP_MAX) return false;
  return is_operand(max->a, e) || is_operand(max->b, e);
}

static const SizeExp *more(const SizeExp *a, const SizeExp *b) {
  if (!a || !b) return a ? a : b;
  return is_operand(a, b) ? a : size_exp_op(SIZE_EXP_MAX, a, b);
}

static const SizeExp *times_width(const Roundings *r, Atom count, const SizeExp *inner) {
  bool known = count.kind == ATOM_CONST || !map_has(r->bound, count.u.var);
  const SizeExp *size = size_exp_atom(known ? count : atom_i64(UNKNOWN_SIZE));
  return inner ? size_exp_op(SIZE_EXP_MUL, size, inner) : size;
}

static const SizeExp *of_seg(const Roundings *r, const SegOp *seg) {
  const SizeExp *inner = of_body(r, seg->body);
  bool reduces = seg->kind == SEG_RED || seg->kind == SEG_SCAN || seg->kind == SEG_HIST;
  return reduces ? times_width(r, seg->dims[seg->dim_count - 1].width, inner) : inner;
}

static const SizeExp *of_loop(const Roundings *r, const Exp *e) {
  const SizeExp *inner = of_body(r, e->u.loop.body);
  if (!inner) return NULL;
  bool counts = e->u.loop.form == CORE_FOR;
  return times_width(r, counts ? e->u.loop.bound : atom_i64(UNKNOWN_SIZE), inner);
}

static const SizeExp *of_bodies(const Roundings *r, const Exp *e) {
  BodyVec bodies = exp_bodies(e);
  const SizeExp *most = NULL;
  vec_each (const Body **, inner, &bodies)
    most = more(most, of_body(r, *inner));
  return most;
}

static const SizeExp *of_exp(const Roundings *r, const Exp *e) {
  if (e->kind == EXP_SEG) return of_seg(r, e->u.seg);
  if (e->kind == EXP_LOOP) return of_loop(r, e);
  const SizeExp *inner = of_bodies(r, e);
  if (e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP)
    return times_width(r, e->u.soac.width, inner);
  return e->kind == EXP_HIST ? times_width(r, e->u.hist.width, inner) : inner;
}

static const SizeExp *of_body(const Roundings *r, const Body *body) {
  const SizeExp *most = NULL;
  for (int i = 0; i < body->stm_count; i++)
    most = more(most, of_exp(r, body->stms[i].exp));
  return most;
}

static void note_binder(CoreVisitor *v, const Var *var) {
  Roundings *r = v->state;
  map_put(r->bound, var, var);
}

static void note_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    for (int k = 0; k < body->stms[i].binder_count; k++)
      note_binder(v, body->stms[i].binders[k]);
    core_visit_exp(v, body->stms[i].exp);
  }
}

const ImpExp *host_roundings(const Body *first, const Body *second) {
  Roundings r = { .visitor = { .body = note_body, .binder = note_binder },
                  .bound = map_new(NULL) };
  r.visitor.state = &r;
  note_body(&r.visitor, first);
  note_body(&r.visitor, second);
  const SizeExp *most = more(of_body(&r, first), of_body(&r, second));
  return most ? imp_size_exp(most) : imp_i64(0);
}
