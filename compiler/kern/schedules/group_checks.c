// axis i < n grid { axis k < 3 reduce { check i + k < m; .. } }
//   =>  axis i < n grid { axis k < 3 reduce { .. } }   where n - 1 + 3 - 1 < m
//
// Groups that wait for each other at barriers are slower if they may stop on errors: what the host
// knows is a condition of the whole kernel, which where it fails leaves the work to items by
// themselves.  Of sums of multiples of indices the host knows the least and the greatest.  Sums
// that overflow between show as a least value above the greatest one, as factors of sums are too
// small to go round once (kern/sums.c: at most 1024): so that is tested, too.  Products of an index
// by a scalar of the host are as well known where both are at most 2^30, and not negative.
#include "kern/kern_ask.h"
#include "kern/schedules/group_loops.h"
#include "kern/sums.h"

enum { MOST_LOOPS = 16, MOST_PRODUCTS = 4, MOST_SCALE = 1 << 30 };

static const int64_t most_compared = INT64_C(1) << 61;

typedef struct HostChecks {
  KernMapper mapper;
  const Kern *kern;
  Map *lets, *inside;  // Var -> const Term *; Var -> itself: bound by the kernel
  const KernStm *loops[MOST_LOOPS];  // around
  int depth;
  Vec(const Term *) wanted;
  Map *data;  // Var -> itself: what follows from what is loaded
  bool left;  // there are checks that the host does not make,
  bool open;  // and loads of which it does not know whether they are inside
} HostChecks;

static void want(HostChecks *h, const Term *condition) {
  vec_each (const Term **, other, &h->wanted)
    if (term_same(*other, condition)) return;
  vec_push(&h->wanted, condition);
}

typedef struct Extremes {
  const Term *low, *high;
} Extremes;

// ---- products of indices by scalars of the host

static bool is_inside(const HostChecks *h, const Term *t) {
  return term_mentions_any(t, h->inside);
}

// (i + 2 * j + 1) * m  =>  i * m + 2 * (j * m) + m
static const Term *distributed(const HostChecks *h, const Term *t) {
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_COUNT;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return t;
  const Term *args[] = { distributed(h, t->u.op.args[0]),
                         distributed(h, t->u.op.args[1]) };
  bool second = is_inside(h, args[1]);
  const Term *by = args[!second], *all = term_i64(0);
  IndexSum sum;
  if (op != OP_MUL || is_inside(h, by) || by->kind == TERM_CONST ||
      !sum_of(args[second], &sum))
    return term_with(t, args, 2);
  for (int i = 0; i < sum.count; i++)
    all = term_add(all, term_mul(term_mul(sum.at[i], by), term_i64(sum.by[i])));
  return term_add(all, term_mul(by, term_i64(sum.constant)));
}

// How many points the axis of the index has; NULL: it is none.
static const Term *points_of(const HostChecks *h, const Term *t) {
  for (int i = 0; i < h->depth; i++)
    if (h->loops[i]->kind == KERN_AXIS && term_is_var(t, h->loops[i]->u.axis->index))
      return term_inlined(h->lets, h->loops[i]->u.axis->width);
  return NULL;
}

// Takes apart the product of an index and a scalar; the index is below `points`.
static bool is_product(const HostChecks *h, const Term *t, const Term **points,
                       const Term **by) {
  if (t->kind != TERM_OP || t->u.op.op != OP_MUL) return false;
  bool second = is_inside(h, t->u.op.args[1]);
  *points = points_of(h, t->u.op.args[second]);
  *by = t->u.op.args[!second];
  return *points && !is_inside(h, *points) && !is_inside(h, *by);
}

static void want_scale(HostChecks *h, const Term *t) {
  want(h, term_at_most(term_i64(0), t));
  want(h, term_at_most(t, term_i64(MOST_SCALE)));
}

// The sum with its products at their least, or greatest.
static bool without_products(HostChecks *h, const IndexSum *s, int sign, IndexSum *out) {
  const Term *points, *by;
  int64_t times = 0;
  *out = (IndexSum){ .constant = s->constant };
  for (int i = 0; i < s->count; i++) {
    IndexSum one = { { s->at[i] }, { 1 }, 1, 0 };
    if (is_product(h, s->at[i], &points, &by)) {
      want_scale(h, points);
      want_scale(h, by);
      times += s->by[i] < 0 ? -s->by[i] : s->by[i];
      bool last = (s->by[i] > 0) == (sign > 0);
      const Term *end = term_sub(term_mul(points, by), by);
      if (!sum_of(last ? end : term_i64(0), &one)) return false;
    }
    if (!sum_add(out, &one, s->by[i], out)) return false;
  }
  return times <= MOST_PRODUCTS;
}

// ---- comparisons

static bool find_extreme(HostChecks *h, const IndexSum *sum, int sign, IndexSum *out) {
  Ranges r = {
    .lets = h->lets, .inside = h->inside, .loops = h->loops, .depth = h->depth
  };
  IndexSum plain;
  return without_products(h, sum, sign, &plain) && sum_extreme(&r, &plain, sign, out);
}

// The least and the greatest value at all points of the loops around; false: the host does not
// know.
static bool find_extremes(HostChecks *h, const Term *t, Extremes *out) {
  const Term *in = term_inlined(h->lets, t);
  IndexSum sum, low, high;
  if (!in || !sum_of(distributed(h, in), &sum) || !find_extreme(h, &sum, -1, &low) ||
      !find_extreme(h, &sum, 1, &high))
    return false;
  *out = (Extremes){ sum_term(&low), sum_term(&high) };
  return !term_mentions_any(out->low, h->inside) &&
         !term_mentions_any(out->high, h->inside);
}

static void want_range(HostChecks *h, const Extremes *e) {
  if (!term_same(e->low, e->high)) want(h, term_at_most(e->low, e->high));
}

static void want_far_from_overflow(HostChecks *h, const Extremes *e) {
  want_range(h, e);
  want(h, term_at_most(term_i64(-most_compared), e->low));
  want(h, term_at_most(e->high, term_i64(most_compared)));
}

// Where both sides move, by how much they differ at least: i * m <= i * m + m.
static bool host_decides_difference(HostChecks *h, const Term *t, const Extremes *a,
                                    const Extremes *b) {
  Extremes by;
  if (!find_extremes(h, term_sub(t->u.op.args[1], t->u.op.args[0]), &by)) return false;
  want_far_from_overflow(h, a);
  want_far_from_overflow(h, b);
  want(h, term_op2(t->u.op.op, term_i64(0), by.low));
  return true;
}

static bool host_decides_comparison(HostChecks *h, const Term *t) {
  Extremes a, b;
  if (t->kind != TERM_OP || (t->u.op.op != OP_LT && t->u.op.op != OP_LE) ||
      !find_extremes(h, t->u.op.args[0], &a) || !find_extremes(h, t->u.op.args[1], &b))
    return false;
  if (!term_same(a.low, a.high) && !term_same(b.low, b.high))
    return host_decides_difference(h, t, &a, &b);
  want_range(h, &a);
  want_range(h, &b);
  want(h, term_op2(t->u.op.op, a.high, b.low));
  return true;
}

static bool host_decides(HostChecks *h, const Term *t);

// What one of two conditions takes, in a single term; NULL: nothing, or it does not decide.
static const Term *taken(HostChecks *h, const Term *t, bool *decides) {
  int before = h->wanted.count;
  const Term *all = NULL;
  *decides = host_decides(h, t);
  for (int i = before; i < h->wanted.count && *decides; i++)
    all = all ? term_and(all, h->wanted.at[i]) : h->wanted.at[i];
  h->wanted.count = before;
  return all;
}

// Of two conditions that one holds: a slice is inside, or empty, or there are no points.
static bool host_decides_one(HostChecks *h, const Term *a, const Term *b) {
  bool first, second;
  const Term *x = taken(h, a, &first), *y = taken(h, b, &second);
  if (first && second && x && y) want(h, term_op2(OP_LOR, x, y));
  if (first && !second && x) want(h, x);
  if (second && !first && y) want(h, y);
  return first || second;
}

// Can the host tell that the condition holds at all points?  What that takes is wanted then.
static bool host_decides(HostChecks *h, const Term *t) {
  if (t->kind == TERM_OP && t->u.op.op == OP_LAND)
    return host_decides(h, t->u.op.args[0]) && host_decides(h, t->u.op.args[1]);
  if (t->kind == TERM_OP && t->u.op.op == OP_LOR)
    return host_decides_one(h, t->u.op.args[0], t->u.op.args[1]);
  if (is_inside(h, t)) return host_decides_comparison(h, t);
  want(h, t);
  return true;
}

static bool host_makes_check(HostChecks *h, const KernStm *stm) {
  int before = h->wanted.count;
  if (stm->kind != KERN_CHECK || h->depth > MOST_LOOPS) return false;
  const Term *condition = term_inlined(h->lets, stm->u.check.condition);
  if (condition && host_decides(h, condition)) return true;
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
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (!host_makes_check(h, stm)) kern_add(&b, without_checks_in(h, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

// ---- what may be read before checks that are left

static void find_inside_in(HostChecks *h, const KernBlock *block);

static void see_left(KernVisitor *v, const KernStm *stm) {
  HostChecks *h = v->state;
  h->left = h->left || stm->kind == KERN_CHECK;
}

static bool is_whole_dim(const Extremes *at, const Term *dim) {
  return term_is_i64(at->low, 0) && term_same(term_add(at->high, term_i64(1)), dim);
}

// Is each place inside that does not go by data?  Others are not staged.
static bool is_found_inside(HostChecks *h, const Access *load) {
  Extremes at;
  int rank = load->tensor->rank;
  if (tensor_root(load->tensor)->space != TENSOR_GLOBAL) return true;
  for (int d = 0; d < rank; d++)
    if (term_mentions_any(load->index[d], h->data)) return true;
  for (int d = 0; d < rank; d++) {
    if (!find_extremes(h, load->index[d], &at)) return false;
    if (is_whole_dim(&at, load->tensor->dims[d])) continue;
    want(h, term_at_most(term_i64(0), at.low));
    want_range(h, &at);
    want(h, term_less(at.high, load->tensor->dims[d]));
  }
  return true;
}

// Loads under conditions are not staged either.
static void find_inside_of(HostChecks *h, const KernStm *stm) {
  if (stm->kind == KERN_LOAD && !is_found_inside(h, &stm->u.load)) h->open = true;
  if (stm->kind != KERN_AXIS) {
    KernVisitor v = { .stm = see_left, .state = h };
    kern_visit_stm(&v, stm);
    return;
  }
  if (h->depth >= MOST_LOOPS) h->open = true;
  if (h->depth < MOST_LOOPS) h->loops[h->depth] = stm;
  h->depth++;
  find_inside_in(h, stm->u.axis->body);
  if (stm->u.axis->after) find_inside_in(h, stm->u.axis->after);
  h->depth--;
}

static void find_inside_in(HostChecks *h, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    find_inside_of(h, &block->stms[i]);
}

// What groups read before they come to a check is to be inside of its array in any case.
static bool may_read_before_checks(HostChecks *h, const Kern *kern) {
  int before = h->wanted.count;
  h->data = kern_data(kern);
  find_inside_in(h, kern->body);
  if (!h->left) h->wanted.count = before;
  return !h->left || !h->open;
}

static void see_inside(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

const Kern *group_checked_by_host(Compiler *c, const Kern *kern, const Term **condition,
                                  bool *may_stage) {
  HostChecks h = { .mapper = { .c = c, .block = without_checks },
                   .kern = kern,
                   .lets = sum_lets(kern),
                   .inside = map_new(NULL) };
  h.mapper.state = &h;
  KernVisitor v = { .binder = see_inside, .state = h.inside };
  kern_visit_block(&v, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = without_checks(&h.mapper, kern->body);
  *may_stage = may_read_before_checks(&h, out);
  *condition = NULL;
  vec_each (const Term **, one, &h.wanted)
    *condition = *condition ? term_and(*condition, *one) : *one;
  return out;
}
