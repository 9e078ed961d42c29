// Ranges of whole numbers through loops: params of `while` and loops get the range that a round
// leaves as it is, found by trying 0, a size and a few others as its ends.  What a check or a load
// has shown of an index, and a condition of the branch or round that it decides, holds behind it.
#include "kern/place_ranges.h"

enum { MOST_ROUNDS = 12, MOST_DEPTH = 4 };
static const int64_t ANYTHING = (int64_t)1 << 40;

typedef struct PlaceRanges {
  Map *made;  // Var -> const Bounds *: where it is bound
  Map *lets;  // Var -> const Term *
} PlaceRanges;

static void walk_block(PlaceRanges *p, Map *ranges, const KernBlock *block);

static void know(Map *ranges, const Var *var, Bounds r) {
  map_put(ranges, var, mem_copy(&r, sizeof r));
}

static void bind_range(PlaceRanges *p, Map *ranges, const Var *var, Bounds r) {
  know(ranges, var, r);
  know(p->made, var, r);
}

// ---- what holds

// What is known of one end alone, too.
static Bounds known_of(const Map *ranges, const Term *t) {
  const Bounds *known = t->kind == TERM_VAR ? map_get(ranges, t->u.var) : NULL;
  return known ? *known : kern_range(ranges, t);
}

static void know_at_most(Map *ranges, const Term *t, int64_t most) {
  Bounds r = known_of(ranges, t);
  if (t->kind != TERM_VAR || r.high <= most) return;
  know(ranges, t->u.var, (Bounds){ r.low, most });
}

static void know_at_least(Map *ranges, const Term *t, int64_t least) {
  Bounds r = known_of(ranges, t);
  if (t->kind != TERM_VAR || r.low >= least) return;
  know(ranges, t->u.var, (Bounds){ least, r.high });
}

static void know_holds(const PlaceRanges *p, Map *ranges, const Term *t, int depth) {
  const Term *let = t->kind == TERM_VAR ? map_get(p->lets, t->u.var) : NULL;
  if (let && depth) know_holds(p, ranges, let, depth - 1);
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2) return;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (t->u.op.op == OP_LAND) {
    know_holds(p, ranges, a, depth);
    know_holds(p, ranges, b, depth);
  }
  bool less = t->u.op.op == OP_LT;
  if (t->u.op.operands != PRIM_I64 || (!less && t->u.op.op != OP_LE)) return;
  know_at_most(ranges, a, kern_range(ranges, b).high - less);
  know_at_least(ranges, b, kern_range(ranges, a).low + less);
}

static void know_exists(Map *ranges, const Access *access) {
  if (access->tensor->spare) return;
  for (int d = 0; d < access->tensor->rank; d++) {
    know_at_least(ranges, access->index[d], 0);
    know_at_most(ranges, access->index[d],
                 kern_range(ranges, access->tensor->dims[d]).high - 1);
  }
}

// ---- loops

static int64_t next_below(int64_t low) {
  const int64_t ends[] = { 0, -1, -SIZES_BELOW };
  for (int i = 0; i < 3; i++)
    if (low >= ends[i]) return ends[i];
  return -ANYTHING;
}

static int64_t next_above(int64_t high) {
  const int64_t ends[] = { SIZES_BELOW - 1, SIZES_BELOW };
  for (int i = 0; i < 2; i++)
    if (high <= ends[i]) return ends[i];
  return ANYTHING;
}

static Bounds wider_range(Bounds r, Bounds more) {
  return (Bounds){ more.low < r.low ? next_below(more.low) : r.low,
                   more.high > r.high ? next_above(more.high) : r.high };
}

// A loop's params, and what a round makes of them.
typedef struct LoopRanges {
  const Var *const *params;
  const Term *const *inits;
  const KernBlock *body;
  const Term *goes_on;  // what holds if there is another round; or NULL
  Bounds *begin, *end;  // of a round
  int count;
} LoopRanges;

// Whether the rounds leave these ranges as they are; if not, they become wider.
static bool walk_round(PlaceRanges *p, const Map *ranges, LoopRanges *r, bool last) {
  Map *inner = map_new(ranges);
  bool stable = true;
  for (int i = 0; i < r->count; i++)
    if (prim_is_int(r->params[i]->type.elem))
      bind_range(p, inner, r->params[i], r->begin[i]);
  walk_block(p, inner, r->body);
  for (int i = 0; i < r->count; i++)
    r->end[i] = kern_range(inner, r->body->results[i]);
  if (r->goes_on) know_holds(p, inner, r->goes_on, MOST_DEPTH);
  for (int i = 0; i < r->count && !last; i++) {
    Bounds next = wider_range(r->begin[i], kern_range(inner, r->body->results[i]));
    stable &= next.low == r->begin[i].low && next.high == r->begin[i].high;
    r->begin[i] = next;
  }
  return stable;
}

static void walk_rounds(PlaceRanges *p, Map *ranges, LoopRanges *r,
                        const Var *const *binders) {
  r->begin = new_array(Bounds, r->count + 1);
  r->end = new_array(Bounds, r->count + 1);
  Bounds *first = new_array(Bounds, r->count + 1);
  for (int i = 0; i < r->count; i++)
    r->begin[i] = first[i] = kern_range(ranges, r->inits[i]);
  int round = 0;
  while (round < MOST_ROUNDS && !walk_round(p, ranges, r, false))
    round++;
  for (int i = 0; i < r->count && round == MOST_ROUNDS; i++)
    r->begin[i] = (Bounds){ -ANYTHING, ANYTHING };
  if (round == MOST_ROUNDS) walk_round(p, ranges, r, true);
  for (int i = 0; i < r->count; i++) {
    if (!prim_is_int(r->params[i]->type.elem)) continue;
    know(p->made, r->params[i], bounds_hull(r->begin[i], r->end[i]));
    bind_range(p, ranges, binders[i], bounds_hull(first[i], r->end[i]));
  }
}

// ---- statements

static void walk_if(PlaceRanges *p, Map *ranges, const KernStm *stm) {
  const KernBlock *yes = stm->u.cond.then_block, *no = stm->u.cond.else_block;
  Map *then_ranges = map_new(ranges), *else_ranges = map_new(ranges);
  know_holds(p, then_ranges, stm->u.cond.condition, MOST_DEPTH);
  walk_block(p, then_ranges, yes);
  walk_block(p, else_ranges, no);
  for (int i = 0; i < stm->binder_count; i++)
    if (prim_is_int(stm->binders[i]->type.elem))
      bind_range(p, ranges, stm->binders[i],
                 bounds_hull(kern_range(then_ranges, yes->results[i]),
                             kern_range(else_ranges, no->results[i])));
}

static void walk_axis(PlaceRanges *p, Map *ranges, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  int64_t high = kern_range(ranges, axis->width).high;
  Map *inner = map_new(ranges);
  bind_range(p, inner, axis->index, (Bounds){ 0, high > 0 ? high - 1 : 0 });
  if (axis->role == AXIS_LOOP) {
    LoopRanges r = { axis->params, axis->inits, axis->body, .count = axis->param_count };
    walk_rounds(p, inner, &r, stm->binders);
    for (int i = 0; i < stm->binder_count; i++)
      if (map_has(inner, stm->binders[i]))
        bind_range(p, ranges, stm->binders[i],
                   *(Bounds *)map_get(inner, stm->binders[i]));
    return;
  }
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    walk_block(p, inner, *block);
}

// A choice has what its condition says of the first operand.
static Bounds range_of_let(const PlaceRanges *p, const Map *ranges, const Term *t) {
  Bounds r = kern_range(ranges, t);
  if (t->kind != TERM_SELECT) return r;
  Map *where = map_new(ranges);
  know_holds(p, where, t->u.select.condition, MOST_DEPTH);
  return bounds_hull(kern_range(where, t->u.select.a), kern_range(ranges, t->u.select.b));
}

static void walk_let(PlaceRanges *p, Map *ranges, const KernStm *stm) {
  const Term *t = stm->u.term;
  map_put(p->lets, stm->binders[0], t);
  if (prim_is_int(t->type))
    bind_range(p, ranges, stm->binders[0], range_of_let(p, ranges, t));
}

static void walk_stm(PlaceRanges *p, Map *ranges, const KernStm *stm) {
  switch (stm->kind) {
  case KERN_LET: walk_let(p, ranges, stm); return;
  case KERN_LOAD: know_exists(ranges, &stm->u.load); return;
  case KERN_CHECK: know_holds(p, ranges, stm->u.check.condition, MOST_DEPTH); return;
  case KERN_IF: walk_if(p, ranges, stm); return;
  case KERN_AXIS: walk_axis(p, ranges, stm); return;
  case KERN_WHILE: {
    LoopRanges r = { stm->u.loop.params, stm->u.loop.inits, stm->u.loop.body,
                     stm->u.loop.body->results[stm->u.loop.which],
                     .count = stm->u.loop.param_count };
    walk_rounds(p, ranges, &r, stm->binders);
    return;
  }
  case KERN_STORE:
  case KERN_ALLOC:
  case KERN_ROOM:
  case KERN_CALL: return;
  }
}

static void walk_block(PlaceRanges *p, Map *ranges, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    walk_stm(p, ranges, &block->stms[i]);
}

static void note_small_size(void *state, const void *key, void *value) {
  (void)value;
  know(state, key, (Bounds){ 0, SIZES_BELOW - 1 });
}

const Map *kern_place_ranges(const KernBlock *block, const Map *sizes) {
  PlaceRanges p = { .made = map_new(NULL), .lets = map_new(NULL) };
  map_each(sizes, note_small_size, p.made);
  walk_block(&p, map_new(p.made), block);
  return p.made;
}
