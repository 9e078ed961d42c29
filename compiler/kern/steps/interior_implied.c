// What the conditions of an interior say twice (steps/interior.c): of xs[3 * i], xs[3 * i + 1] and
// xs[3 * i + 2] the one in between lies inside where the others do.  Why: blocks of few lanes spend
// as long on their conditions as on their points.  (Wide lanes do not.)
#include "kern/steps/interior.h"
#include "kern/sums.h"

enum {
  MOST_BETWEEN = 1 << 20,
  LEAST_CONDITIONS = 8,  // one between two others, each of two, and where these begin
};

// 0 <= low + at, low + at <= high + at, high + at < size
typedef struct Inside {
  IndexSum low, high;
  const Term *size;
  int64_t at;
  int conditions[3];  // as above; the first one may be missing: -1
} Inside;

static bool same_sum(const IndexSum *a, const IndexSum *b) {
  IndexSum difference;
  return sum_add(a, b, -1, &difference) && !difference.count && !difference.constant;
}

static bool compares(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op && t->u.op.operands == PRIM_I64;
}

// The condition 0 <= sum; or -1.
static int find_low(const Interior *x, const IndexSum *sum) {
  for (int i = 0; i < x->condition_count; i++) {
    const Term *t = x->conditions[i];
    IndexSum other;
    if (compares(t, OP_LE) && term_is_i64(t->u.op.args[0], 0) &&
        sum_of(t->u.op.args[1], &other) && same_sum(sum, &other))
      return i;
  }
  return -1;
}

// The condition sum < size; or -1.
static int find_high(const Interior *x, const IndexSum *sum) {
  for (int i = 0; i < x->condition_count; i++) {
    const Term *t = x->conditions[i];
    IndexSum other;
    if (compares(t, OP_LT) && sum_of(t->u.op.args[0], &other) && same_sum(sum, &other))
      return i;
  }
  return -1;
}

// The conditions of which the `range`-th is one.
static bool inside_of(const Interior *x, int range, Inside *out) {
  const Term *t = x->conditions[range];
  if (!compares(t, OP_LE) || term_is_i64(t->u.op.args[0], 0) ||
      !sum_of(t->u.op.args[0], &out->low) || !sum_of(t->u.op.args[1], &out->high))
    return false;
  out->conditions[0] = find_low(x, &out->low);
  out->conditions[1] = range;
  out->conditions[2] = find_high(x, &out->high);
  if (out->conditions[2] < 0) return false;
  out->size = x->conditions[out->conditions[2]]->u.op.args[1];
  out->at = out->low.constant;
  out->high.constant -= out->at;
  out->low.constant = 0;
  return true;
}

static bool go_along(const Inside *a, const Inside *b) {
  return term_same(a->size, b->size) && same_sum(&a->low, &b->low) &&
         same_sum(&a->high, &b->high) && a->at - b->at < MOST_BETWEEN &&
         b->at - a->at < MOST_BETWEEN;
}

// Lies it between two others?  What lies inside at a distance from either end, neither of which
// went round, does so in between.
static bool lies_between(const Inside *all, int count, int which) {
  bool before = false, behind = false;
  for (int i = 0; i < count; i++) {
    if (all[i].conditions[0] < 0 || !go_along(&all[i], &all[which])) continue;
    before |= all[i].at < all[which].at;
    behind |= all[i].at > all[which].at;
  }
  return before && behind;
}

void interior_implied(const Interior *x, bool *implied) {
  if (x->condition_count < LEAST_CONDITIONS) return;
  Inside *all = new_array(Inside, x->condition_count + 1);
  int count = 0;
  for (int i = 0; i < x->condition_count; i++)
    count += inside_of(x, i, &all[count]);
  for (int i = 0; i < count; i++)
    for (int k = 0; k < 3 && lies_between(all, count, i); k++)
      if (all[i].conditions[k] >= 0) implied[all[i].conditions[k]] = true;
}

// ---- places

// Is a below b by a number: -1, above it: 1, the same: 0?  False: that is not known.  Where none of
// the terms goes round; else it does not matter which is taken.
static bool differ_by_number(const Term *a, const Term *b, int *out) {
  IndexSum first, second, difference;
  if (sum_of(a, &first) && sum_of(b, &second) &&
      sum_add(&first, &second, -1, &difference) && !difference.count) {
    *out = (difference.constant > 0) - (difference.constant < 0);
    return true;
  }
  bool same = a->kind == TERM_OP && b->kind == TERM_OP && a->u.op.op == b->u.op.op &&
              (a->u.op.op == OP_SUB || a->u.op.op == OP_DIV || a->u.op.op == OP_SHR ||
               a->u.op.op == OP_ADD);
  const Term *by = same ? a->u.op.args[1] : NULL;
  return same && by->kind == TERM_CONST && by->u.constant.u.i > 0 &&
         term_same(by, b->u.op.args[1]) &&
         differ_by_number(a->u.op.args[0], b->u.op.args[0], out);
}

// min(a, b) (max(a, b)), or one of them, or of what is in `a`, in its place.
const Term *interior_nearest(PrimOp op, const Term *a, const Term *b) {
  int order;
  if (differ_by_number(a, b, &order)) return (op == OP_MIN) == (order < 0) ? a : b;
  if (compares(a, op)) {
    const Term *const *args = a->u.op.args;
    for (int i = 0; i < 2; i++)
      if (differ_by_number(args[i], b, &order))
        return term_op2(op, args[1 - i], interior_nearest(op, args[i], b));
    if (compares(args[0], op))
      return term_op2(op, interior_nearest(op, args[0], b), args[1]);
  }
  return op == OP_MIN ? term_min(a, b) : term_max(a, b);
}
