// axis i < n grid { axis k < 3 reduce { check i + k < m; .. } }
//   =>  axis i < n grid { axis k < 3 reduce { .. } }   where n - 1 + 3 - 1 < m
//
// Groups that wait for each other at barriers cannot stop on errors: what the host knows is a
// condition of the whole kernel, which where it fails leaves the work to items by themselves.  Of
// sums of multiples of indices the host knows the least and the greatest.  Sums that overflow
// between show as a least value above the greatest one, as factors of sums are too small to go
// round once (kern/sums.c: at most 1024): so that is tested, too.
#include "kern/kern_ask.h"
#include "kern/schedules/group_loops.h"
#include "kern/sums.h"

enum { MOST_LOOPS = 16 };

typedef struct HostChecks {
  KernMapper mapper;
  const Kern *kern;
  Map *lets, *inside;  // Var -> const Term *; Var -> itself: bound by the kernel
  const KernStm *loops[MOST_LOOPS];  // around
  int depth;
  Vec(const Term *) wanted;
} HostChecks;

static void want(HostChecks *h, const Term *condition) {
  vec_each (const Term **, other, &h->wanted)
    if (term_same(*other, condition)) return;
  vec_push(&h->wanted, condition);
}

typedef struct Extremes {
  const Term *low, *high;
} Extremes;

// The least and the greatest value at all points of the loops around; false: the host does not
// know.
static bool find_extremes(const HostChecks *h, const Term *t, Extremes *out) {
  const Term *in = term_inlined(h->lets, t);
  Ranges r = {
    .lets = h->lets, .inside = h->inside, .loops = h->loops, .depth = h->depth
  };
  IndexSum sum, low, high;
  if (!in || !sum_of(in, &sum) || !sum_extreme(&r, &sum, -1, &low) ||
      !sum_extreme(&r, &sum, 1, &high))
    return false;
  *out = (Extremes){ sum_term(&low), sum_term(&high) };
  return !term_mentions_any(out->low, h->inside) &&
         !term_mentions_any(out->high, h->inside);
}

static void want_range(HostChecks *h, const Extremes *e) {
  if (!term_same(e->low, e->high)) want(h, term_at_most(e->low, e->high));
}

static bool host_decides_comparison(HostChecks *h, const Term *t) {
  Extremes a, b;
  if (t->kind != TERM_OP || (t->u.op.op != OP_LT && t->u.op.op != OP_LE) ||
      !find_extremes(h, t->u.op.args[0], &a) || !find_extremes(h, t->u.op.args[1], &b))
    return false;
  want_range(h, &a);
  want_range(h, &b);
  want(h, term_op2(t->u.op.op, a.high, b.low));
  return true;
}

// Can the host tell that the condition holds at all points?  What that takes is wanted then.
static bool host_decides(HostChecks *h, const Term *t) {
  if (t->kind == TERM_OP && t->u.op.op == OP_LAND)
    return host_decides(h, t->u.op.args[0]) && host_decides(h, t->u.op.args[1]);
  if (term_mentions_any(t, h->inside)) return host_decides_comparison(h, t);
  want(h, t);
  return true;
}

static bool host_makes_check(HostChecks *h, const KernStm *stm) {
  int before = h->wanted.count;
  if (stm->kind != KERN_CHECK || h->depth > MOST_LOOPS) return false;
  if (host_decides(h, stm->u.check.condition)) return true;
  h->wanted.count = before;
  return false;
}

static KernStm without_checks_in(HostChecks *h, const KernStm *stm) {
  bool loop = stm->kind == KERN_AXIS;
  if (loop && h->depth < MOST_LOOPS) h->loops[h->depth] = stm;
  h->depth += loop;
  KernStm out = kern_map_stm(&h->mapper, stm);
  h->depth -= loop;
  return out;
}

static const KernBlock *without_checks(KernMapper *m, const KernBlock *block) {
  HostChecks *h = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (!host_makes_check(h, stm)) kern_add(&b, without_checks_in(h, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

static void see_inside(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

const Kern *group_checked_by_host(Compiler *c, const Kern *kern, const Term **condition) {
  HostChecks h = { .mapper = { .c = c, .block = without_checks },
                   .kern = kern,
                   .lets = sum_lets(kern),
                   .inside = map_new(NULL) };
  h.mapper.state = &h;
  KernVisitor v = { .binder = see_inside, .state = h.inside };
  kern_visit_block(&v, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = without_checks(&h.mapper, kern->body);
  *condition = NULL;
  vec_each (const Term **, one, &h.wanted)
    *condition = *condition ? term_and(*condition, *one) : *one;
  return out;
}
