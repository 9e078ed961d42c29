// scan { f } after (s) { if 0 <= e && e < n { t[e] = x } }
//
// where e is s + u, and u is the same in all lanes: from one lane whose flag f is set to the next
// that is one more.  Or u + i - s, in the lanes between.  By branches, e may be either; a product
// f * s + (1 - f) * t is a branch.  In 32 bits all that is so up to where places wrap.
// Why: a vector of places takes longer than all the rest of a filter.
#include "kern/packed.h"
#include "kern/sums.h"

enum { MOST_INLINED = 64, MOST_DEPTH = 8, MOST_BRANCHES = 6 };

typedef struct Packing {
  Compiler *c;
  const Vary *vary;
  const Axis *axis;
  const Term **flags;
  Map *lets;     // Var -> const Term *: of the body and of `after`
  Map *counted;  // Var -> itself: sums, and what is made of them
  int inlined;
} Packing;

// How a branch is reached.
typedef struct TakenBranches {
  const struct TakenBranches *outer;
  const Term *condition;
  bool holds;
} TakenBranches;

// ---- terms

static const Term *let_by(const Packing *p, const Term *t) {
  const Term *let;
  while (t->kind == TERM_VAR && (let = map_get(p->lets, t->u.var)))
    t = let;
  return t;
}

static bool comes_from_op(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op;
}

static bool is_counted(const Packing *p, const Term *t) {
  return term_mentions_any(t, p->counted);
}

static const Term *bare(const Packing *p, const Term *t, bool *holds);

static bool is_in_common(const Packing *p, const Term *t) {
  return !is_counted(p, t) && !(vary_term(p->vary, t) & vary_lanes(p->vary));
}

static bool is_int(const Term *t, int64_t value) {
  return t->kind == TERM_CONST && !prim_is_float(t->type) && t->u.constant.u.i == value;
}

static bool same(const Packing *p, const Term *a, const Term *b, int depth);
static const Term *bit_of(const Packing *p, const Term *t, bool *holds);

static bool is_bit(const Packing *p, const Term *t) {
  bool holds = true;
  t = let_by(p, t);
  return is_int(t, 0) || is_int(t, 1) || bit_of(p, t, &holds);
}

static const Term *bit_of_op(const Packing *p, const Term *t, bool *holds) {
  const Term *a = let_by(p, t->u.op.args[0]), *b = let_by(p, t->u.op.args[1]);
  PrimOp op = t->u.op.op;
  if (op == OP_AND) return is_int(a, 1) || is_int(b, 1) ? t : NULL;
  if (op != OP_SUB && op != OP_XOR) return NULL;
  *holds = !*holds;
  if (is_int(a, 1)) return bit_of(p, b, holds);
  return op == OP_XOR && is_int(b, 1) ? bit_of(p, a, holds) : NULL;
}

static const Term *bit_of_choice(const Packing *p, const Term *t, bool *holds) {
  const Term *a = let_by(p, t->u.select.a), *b = let_by(p, t->u.select.b);
  if (!is_bit(p, a) || !is_bit(p, b)) return NULL;
  if (is_int(a, 1) && is_int(b, 0)) return bare(p, t->u.select.condition, holds);
  if (!is_int(a, 0) || !is_int(b, 1)) return t;
  *holds = !*holds;
  return bare(p, t->u.select.condition, holds);
}

// What a whole number is that is 0 or 1: another one, or a bool, that is 1 or true where it is 1
// (where it is 0, if *holds changes).  NULL: it may be something else.
static const Term *bit_of(const Packing *p, const Term *t, bool *holds) {
  t = let_by(p, t);
  if (prim_is_float(t->type) || t->type == PRIM_BOOL) return NULL;
  if (t->kind == TERM_CONVERT && t->u.arg->type == PRIM_BOOL)
    return bare(p, t->u.arg, holds);
  if (t->kind == TERM_CONVERT) return bit_of(p, t->u.arg, holds);
  if (t->kind == TERM_SELECT) return bit_of_choice(p, t, holds);
  return t->kind == TERM_OP && op_arity(t->u.op.op) == 2 ? bit_of_op(p, t, holds) : NULL;
}

// A condition up to how it is written: i64(b) == 1 is b, and b == 0 its opposite.  It may be a bit.
static const Term *bare(const Packing *p, const Term *t, bool *holds) {
  for (;;) {
    t = let_by(p, t);
    if (comes_from_op(t, OP_NOT)) {
      *holds = !*holds;
      t = t->u.op.args[0];
      continue;
    }
    if (!comes_from_op(t, OP_EQ) && !comes_from_op(t, OP_NE)) return t;
    const Term *to = let_by(p, t->u.op.args[1]);
    bool one = is_int(to, 1), opposite = one == comes_from_op(t, OP_NE);
    if (to->type == PRIM_BOOL || (!one && !is_int(to, 0))) return t;
    bool bit_holds = *holds;
    const Term *bit = bit_of(p, t->u.op.args[0], &bit_holds);
    if (!bit) return t;
    *holds = bit_holds ^ opposite;
    return bit;
  }
}

// As a condition.
static const Term *as_condition(const Term *bare_term) {
  if (bare_term->type == PRIM_BOOL) return bare_term;
  return term_op2(OP_NE, bare_term, term_const(prim_zero(bare_term->type)));
}

static bool same(const Packing *p, const Term *a, const Term *b, int depth) {
  const Term *in_a[3], *in_b[3];
  a = let_by(p, a);
  b = let_by(p, b);
  if (a == b || term_same(a, b)) return true;
  int count = term_operands(a, in_a);
  if (!depth || !count || a->kind != b->kind || a->type != b->type ||
      count != term_operands(b, in_b) ||
      (a->kind == TERM_OP &&
       (a->u.op.op != b->u.op.op || a->u.op.operands != b->u.op.operands)))
    return false;
  for (int i = 0; i < count; i++)
    if (!same(p, in_a[i], in_b[i], depth - 1)) return false;
  return true;
}

static bool is_flag(const Packing *p, const Term *condition, bool holds, int number,
                    bool others) {
  bool flag_holds = !others;
  const Term *flag = bare(p, p->flags[number], &flag_holds);
  condition = bare(p, condition, &holds);
  return holds == flag_holds && same(p, condition, flag, MOST_DEPTH);
}

// What is made of sums, in terms of them.
static const Term *inlined_var(void *state, const Var *var) {
  Packing *p = state;
  const Term *let = map_get(p->lets, var);
  if (!let || !map_has(p->counted, var) || p->inlined++ > MOST_INLINED) return NULL;
  return term_replace(let, inlined_var, p);
}

typedef struct Instead {
  const Var *var;
  const Term *by;
} Instead;

static const Term *instead_of(void *state, const Var *var) {
  const Instead *x = state;
  return var == x->var ? x->by : NULL;
}

static const Term *with(const Term *t, const Var *var, const Term *by) {
  Instead x = { var, by };
  return term_replace(t, instead_of, &x);
}

// ---- pieces

static int flag_count(const Packing *p) { return kern_sum_count(p->axis); }

static int sum_number(const Packing *p, const Term *t) {
  if (t->kind == TERM_CONVERT && t->type == PRIM_I64) t = t->u.arg;
  for (int i = 0; i < flag_count(p); i++)
    if (t->kind == TERM_VAR && t->u.var == p->axis->sums[i]) return i;
  return -1;
}

static const Term *before(const Packing *p, int number) {
  PrimType type = p->axis->sums[number]->type.elem;
  return p->axis->inits ? p->axis->inits[number] : term_const(prim_zero(type));
}

static int sum_in(const Packing *p, const IndexSum *s, int64_t *by) {
  int number = -1;
  for (int i = 0; i < s->count; i++) {
    if (!is_counted(p, s->at[i])) continue;
    if (number >= 0) return -1;
    number = sum_number(p, s->at[i]);
    *by = s->by[i];
    if (number < 0) return -1;
  }
  return number;
}

static const Term *branches_term(const TakenBranches *path) {
  const Term *t = term_bool(true);
  for (; path; path = path->outer) {
    const Term *c = path->condition;
    t = term_and(path->holds ? c : term_op1(OP_NOT, c), t);
  }
  return t;
}

static bool add_piece(PackedStore *store, PackedPiece piece) {
  if (store->count == MOST_PIECES) return false;
  store->pieces[store->count++] = piece;
  return true;
}

static bool add_sum(const Packing *p, const Term *index, const TakenBranches *path,
                    PackedStore *store) {
  IndexSum s;
  Affine rest;
  int64_t by = 0;
  if (!sum_of(index, &s)) return false;
  int number = sum_in(p, &s, &by);
  if (number < 0 || (by != 1 && by != -1)) return false;
  const Var *sum = p->axis->sums[number];
  bool others = by < 0;
  const Term *none = term_const(prim_zero(sum->type.elem));
  if (!vary_affine(p->vary, with(index, sum, none), &rest) ||
      !term_is_i64(rest.step, others))
    return false;
  bool always = term_is_bool(p->flags[number], !others), one = path && !path->outer;
  bool sure =
      path ? one && is_flag(p, path->condition, path->holds, number, others) : always;
  if (!path && !always) return false;
  const Term *counted = before(p, number);
  if (!others) counted = term_op2(OP_ADD, counted, term_const(prim_one(counted->type)));
  return add_piece(store,
                   (PackedPiece){ number, others, sure ? NULL : branches_term(path),
                                  with(index, sum, counted) });
}

// ---- branches

// What decides between the places that the term may be: the condition of a choice, or a factor that
// is 0 or 1.
static const Term *deciding(const Packing *p, const Term *t) {
  const Term *operands[3];
  bool holds = true;
  int count = term_operands(t, operands);
  if (!count || !is_counted(p, t)) return NULL;
  if (t->kind == TERM_SELECT && !is_counted(p, t->u.select.condition))
    return bare(p, t->u.select.condition, &holds);
  for (int i = 0; comes_from_op(t, OP_MUL) && i < 2; i++) {
    const Term *bit = is_counted(p, operands[i]) ? NULL : bit_of(p, operands[i], &holds);
    if (bit) return bit;
  }
  for (int i = 0; i < count; i++) {
    const Term *found = deciding(p, operands[i]);
    if (found) return found;
  }
  return NULL;
}

typedef struct Decided {
  const Packing *p;
  const Term *condition;
  bool holds;
} Decided;

// x == 1, where x == 0 is known.
static bool excludes(const Decided *d, const Term *other) {
  const Packing *p = d->p;
  if (!d->holds || !comes_from_op(d->condition, OP_EQ) || !comes_from_op(other, OP_EQ))
    return false;
  const Term *is = let_by(p, d->condition->u.op.args[1]),
             *would_be = let_by(p, other->u.op.args[1]);
  return is->kind == TERM_CONST && would_be->kind == TERM_CONST &&
         !term_same(is, would_be) && !prim_is_float(is->type) &&
         same(p, d->condition->u.op.args[0], other->u.op.args[0], MOST_DEPTH);
}

// 1: it holds, 0: it does not, -1: that is not known.
static int outcome(const Decided *d, const Term *condition, bool holds) {
  if (excludes(d, condition)) return !holds;
  return same(d->p, condition, d->condition, MOST_DEPTH) ? holds == d->holds : -1;
}

static const Term *decided_product(const Term *const *args) {
  for (int i = 0; i < 2; i++) {
    if (is_int(args[i], 0)) return args[i];
    if (is_int(args[i], 1)) return args[1 - i];
  }
  return term_op2(OP_MUL, args[0], args[1]);
}

// The term where the condition is known.
static const Term *decided(const Decided *d, const Term *t) {
  bool holds = true;
  const Term *bit = bit_of(d->p, t, &holds);
  int known = bit ? outcome(d, bit, holds) : -1;
  if (known >= 0) return term_const(prim_int(t->type, known));
  if (t->kind == TERM_SELECT) {
    holds = true;
    const Term *condition = bare(d->p, t->u.select.condition, &holds);
    known = outcome(d, condition, holds);
    if (known >= 0) return decided(d, known ? t->u.select.a : t->u.select.b);
  }
  const Term *operands[3];
  int count = term_operands(t, operands);
  bool changed = false;
  for (int i = 0; i < count; i++) {
    const Term *operand = decided(d, operands[i]);
    changed |= operand != operands[i];
    operands[i] = operand;
  }
  if (!changed) return t;
  return comes_from_op(t, OP_MUL) ? decided_product(operands)
                                  : term_with(t, operands, count);
}

// In 64 bits: the same number where it is one of 32 bits.
static const Term *widened(const Packing *p, const Term *t) {
  if (t->kind == TERM_CONST) return term_i64(t->u.constant.u.i);
  if (t->kind == TERM_OP) {
    PrimOp op = t->u.op.op;
    const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
    if (op == OP_ADD) return term_add(widened(p, a), widened(p, b));
    if (op == OP_SUB) return term_sub(widened(p, a), widened(p, b));
  }
  const Term *let = is_counted(p, t) ? t : let_by(p, t);
  bool narrowed = let->kind == TERM_CONVERT && let->u.arg->type == PRIM_I64;
  return narrowed ? let->u.arg : term_convert(PRIM_I64, t);
}

static bool is_narrow(const Term *index) {
  return index->kind == TERM_CONVERT && index->u.arg->type == PRIM_I32;
}

// Where nothing is stored below 0, a constant below 0 is no place.
static bool add_pieces(Packing *p, const Term *t, const TakenBranches *path, int depth,
                       PackedStore *store) {
  const Term *condition = depth ? deciding(p, t) : NULL;
  if (condition) {
    const Term *as_bool = as_condition(condition);
    TakenBranches then = { path, as_bool, true }, otherwise = { path, as_bool, false };
    Decided holds = { p, condition, true }, fails = { p, condition, false };
    return add_pieces(p, decided(&holds, t), &then, depth - 1, store) &&
           add_pieces(p, decided(&fails, t), &otherwise, depth - 1, store);
  }
  if (is_narrow(t)) t = widened(p, t->u.arg);
  if (t->kind == TERM_CONST) return store->width && t->u.constant.u.i < 0;
  return add_sum(p, t, path, store);
}

// ---- stores

// 0 <= index && index < width
static const Term *width_of(const Packing *p, const Term *condition, const Term *index) {
  const Term *both = let_by(p, condition);
  if (!comes_from_op(both, OP_LAND)) return NULL;
  for (int i = 0; i < 2; i++) {
    const Term *low = let_by(p, both->u.op.args[i]),
               *high = let_by(p, both->u.op.args[1 - i]);
    if (comes_from_op(low, OP_LE) && term_is_i64(low->u.op.args[0], 0) &&
        comes_from_op(high, OP_LT) && same(p, low->u.op.args[1], index, MOST_DEPTH) &&
        same(p, high->u.op.args[0], index, MOST_DEPTH) &&
        is_in_common(p, high->u.op.args[1]))
      return high->u.op.args[1];
  }
  return NULL;
}

static bool add_packed_store(Packing *p, const KernStm *stm, const Term *condition,
                             PackedStoreVec *out) {
  Access to = stm->u.store.to;
  const Term *value = stm->u.store.value;
  bool over = false;
  if (to.tensor->rank != 1 || is_counted(p, value)) return false;
  const Term *index = to.index[0], *choice = let_by(p, index);
  if (to.tensor->spare && !condition && choice->kind == TERM_SELECT) {
    condition = choice->u.select.condition;
    index = choice->u.select.a;
    over = term_same(choice->u.select.b, to.tensor->dims[0]);
  }
  for (int i = 0; i < out->count; i++)  // the order of stores to one place matters
    if (tensor_root(out->at[i]->to.tensor) == tensor_root(to.tensor)) return false;
  PackedStore *store = new_node(PackedStore, .to = to, .value = value, .over = over);
  if (condition && !(store->width = width_of(p, condition, index))) return false;
  vec_push(out, store);
  const Term *place = let_by(p, term_replace(let_by(p, index), inlined_var, p));
  if (is_narrow(place)) {
    if (!store->width) return false;
    store->width = term_min(store->width, term_i64(INT64_C(1) << 31));
  }
  if (!add_pieces(p, place, NULL, MOST_BRANCHES, store)) return false;
  store->over &= store->count == 1;
  return store->count > 0;
}

static bool add_guarded(Packing *p, const KernStm *stm, PackedStoreVec *out) {
  const KernBlock *block = stm->u.cond.then_block;
  if (stm->binder_count || stm->u.cond.else_block->count) return false;
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind != KERN_STORE ||
        !add_packed_store(p, &block->stms[i], stm->u.cond.condition, out))
      return false;
  return true;
}

static bool add_counted(Packing *p, const KernStm *stm, PackedStoreVec *out) {
  switch (stm->kind) {
  case KERN_LET: map_put(p->counted, stm->binders[0], stm->binders[0]); return true;
  case KERN_STORE: return add_packed_store(p, stm, NULL, out);
  case KERN_IF: return add_guarded(p, stm, out);
  case KERN_LOAD:
  case KERN_ALLOC:
  case KERN_ROOM:
  case KERN_AXIS:
  case KERN_WHILE:
  case KERN_CALL:
  case KERN_CHECK: return false;
  }
  return false;
}

typedef struct CountedUse {
  const Packing *p;
  bool found;
} CountedUse;

static void see_needed(KernVisitor *v, const Term *term) {
  CountedUse *use = v->state;
  use->found = use->found || is_counted(use->p, term);
}

static bool needs_counts(const Packing *p, const KernStm *stm) {
  CountedUse use = { p, false };
  KernVisitor v = { .term = see_needed, .state = &use };
  kern_visit_stm(&v, stm);
  return use.found;
}

typedef struct Meeting {
  const PackedStoreVec *stores;
  bool found;
} Meeting;

static void see_meeting(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  Meeting *m = v->state;
  for (int i = 0; i < m->stores->count; i++)
    m->found |= tensor_root(m->stores->at[i]->to.tensor) == tensor_root(access.tensor);
}

// Does what comes first now go to memory that the stores change?
static bool meet(const KernBlock *plain, const PackedStoreVec *stores) {
  Meeting m = { stores, false };
  KernVisitor v = { .access = see_meeting, .state = &m };
  kern_visit_block(&v, plain);
  return m.found;
}

// Does a filter store here what it does not keep (spare.c)?
static bool is_left_out(const KernStm *stm) {
  if (stm->kind != KERN_STORE || !stm->u.store.to.tensor->spare) return false;
  const Term *index = stm->u.store.to.index[0], *end = stm->u.store.to.tensor->dims[0];
  return term_same(index, end) || (index->kind == TERM_OP && index->u.op.op == OP_ADD &&
                                   term_same(index->u.op.args[0], end));
}

// ---- scans

// The bool that the number counts.
static const Term *flag_of(const Packing *p, const Term *result) {
  const Term *t = let_by(p, result);
  bool holds = true;
  if (is_int(t, 0) || is_int(t, 1)) return term_bool(is_int(t, 1));
  if (t->kind == TERM_CONVERT && t->u.arg->type == PRIM_BOOL) return t->u.arg;
  const Term *bit = bit_of(p, t, &holds);
  if (!bit) return NULL;
  bit = as_condition(bit);
  return holds ? bit : term_op1(OP_NOT, bit);
}

static void note_lets(Packing *p, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_LET)
      map_put(p->lets, block->stms[i].binders[0], block->stms[i].u.term);
}

static bool adds(const KernOp *op) {
  Packing none = { .lets = map_new(NULL) };
  note_lets(&none, op->block);
  for (int i = 0; i < op->count; i++) {
    const Term *sum = let_by(&none, op->block->results[i]);
    const Term *left = term_var(op->params[i]),
               *right = term_var(op->params[op->count + i]);
    if ((left->type != PRIM_I64 && left->type != PRIM_I32) ||
        !term_same(sum, term_op2(OP_ADD, left, right)))
      return false;
  }
  return true;
}

static bool find_flags(Packing *p) {
  const Axis *axis = p->axis;
  for (int o = 0; o < axis->op_count; o++)
    if (!adds(&axis->ops[o])) return false;
  for (int i = 0; i < flag_count(p); i++) {
    p->flags[i] = flag_of(p, axis->body->results[i]);
    if (!p->flags[i]) return false;
    map_put(p->counted, axis->sums[i], axis->sums[i]);
  }
  return true;
}

const PackedScan *kern_packed_scan(Compiler *c, const Vary *vary, const Axis *axis) {
  int count = kern_sum_count(axis);
  Packing p = {
    c, vary, axis, new_array(const Term *, count + 1), map_new(NULL), map_new(NULL), 0
  };
  note_lets(&p, axis->body);
  if (!find_flags(&p)) return NULL;
  note_lets(&p, axis->after);
  PackedScan *out = new_node(PackedScan, .flags = p.flags);
  KernBuilder plain = kern_builder(c, (Loc){ 0 }), counted = plain;
  for (int i = 0; i < axis->after->count; i++) {
    const KernStm *stm = &axis->after->stms[i];
    if (is_left_out(stm)) continue;
    bool needs = needs_counts(&p, stm);
    if (needs && !add_counted(&p, stm, &out->stores)) return NULL;
    kern_add(needs ? &counted : &plain, *stm);
  }
  out->plain = kern_block(&plain, NULL, 0);
  out->counted = kern_block(&counted, NULL, 0);
  return meet(out->plain, &out->stores) ? NULL : out;
}
