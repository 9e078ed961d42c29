// scan { f } after (s) { if 0 <= e && e < n { t[e] = x } }
//
// where e is s + u, and u is the same in all lanes: from one lane whose flag f is set to the next
// that is one more.  Or u + i - s, in the lanes between.  By branches, e may be either.
// Why: a vector of places takes longer than all the rest of a filter.
#include "kern/packed.h"
#include "kern/sums.h"

enum { MOST_INLINED = 64, MOST_DEPTH = 8 };

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

static bool is_in_common(const Packing *p, const Term *t) {
  return !is_counted(p, t) && !(vary_term(p->vary, t) & vary_lanes(p->vary));
}

// A condition up to how it is written: i64(b) == 1 is b, and b == 0 its opposite.
static const Term *bare(const Packing *p, const Term *t, bool *holds) {
  for (;;) {
    t = let_by(p, t);
    if (comes_from_op(t, OP_NOT)) {
      *holds = !*holds;
      t = t->u.op.args[0];
      continue;
    }
    if (!comes_from_op(t, OP_EQ) && !comes_from_op(t, OP_NE)) return t;
    const Term *of = let_by(p, t->u.op.args[0]), *to = let_by(p, t->u.op.args[1]);
    bool flag = of->kind == TERM_CONVERT && of->u.arg->type == PRIM_BOOL;
    if (!flag || to->kind != TERM_CONST || prim_is_float(to->type)) return t;
    bool one = to->u.constant.u.i == 1;
    if (!one && to->u.constant.u.i != 0) return t;
    *holds ^= one == comes_from_op(t, OP_NE);
    t = of->u.arg;
  }
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
  for (int i = 0; i < flag_count(p); i++)
    if (t->kind == TERM_VAR && t->u.var == p->axis->sums[i]) return i;
  return -1;
}

static const Term *before(const Packing *p, int number) {
  return p->axis->inits ? p->axis->inits[number] : term_i64(0);
}

// f * s - c, where below 0 nothing is stored: s - c, in the lanes of flag f.  The number of the
// sum, or -1.
static int masked_sum(const Packing *p, const IndexSum *s) {
  if (s->count != 1 || s->by[0] != 1 || s->constant >= 0 ||
      !comes_from_op(s->at[0], OP_MUL))
    return -1;
  const Term *const *args = s->at[0]->u.op.args;
  for (int i = 0; i < 2; i++) {
    int number = sum_number(p, args[i]);
    const Term *factor = let_by(p, args[1 - i]);
    if (number >= 0 && factor->kind == TERM_CONVERT && factor->u.arg->type == PRIM_BOOL &&
        is_flag(p, factor->u.arg, true, number, false))
      return number;
  }
  return -1;
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

static bool add_masked(const Packing *p, const IndexSum *s, int number,
                       const TakenBranches *path, PackedStore *store) {
  const Term *first = term_add(before(p, number), term_i64(s->constant + 1));
  return !path && add_piece(store, (PackedPiece){ number, false, NULL, first });
}

static bool add_sum(const Packing *p, const Term *index, const TakenBranches *path,
                    PackedStore *store) {
  IndexSum s;
  Affine rest;
  int64_t by = 0;
  if (!sum_of(index, &s)) return false;
  int number = masked_sum(p, &s);
  if (number >= 0) return store->width && add_masked(p, &s, number, path, store);
  number = sum_in(p, &s, &by);
  if (number < 0 || (by != 1 && by != -1)) return false;
  const Var *sum = p->axis->sums[number];
  bool others = by < 0;
  if (!vary_affine(p->vary, with(index, sum, term_i64(0)), &rest) ||
      !term_is_i64(rest.step, others))
    return false;
  bool always = term_is_bool(p->flags[number], !others), one = path && !path->outer;
  bool sure =
      path ? one && is_flag(p, path->condition, path->holds, number, others) : always;
  if (!path && !always) return false;
  const Term *counted = before(p, number);
  if (!others) counted = term_add(counted, term_i64(1));
  return add_piece(store,
                   (PackedPiece){ number, others, sure ? NULL : branches_term(path),
                                  with(index, sum, counted) });
}

// Where nothing is stored below 0, a constant below 0 is no place.
static bool add_pieces(Packing *p, const Term *index, const TakenBranches *path,
                       PackedStore *store) {
  const Term *t = let_by(p, index);
  if (t->kind == TERM_CONST) return store->width && t->u.constant.u.i < 0;
  if (t->kind == TERM_SELECT) {
    const Term *condition = t->u.select.condition;
    TakenBranches then = { path, condition, true },
                  otherwise = { path, condition, false };
    return !is_counted(p, condition) && add_pieces(p, t->u.select.a, &then, store) &&
           add_pieces(p, t->u.select.b, &otherwise, store);
  }
  return add_sum(p, term_replace(t, inlined_var, p), path, store);
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
  if (to.tensor->rank != 1 || is_counted(p, value)) return false;
  const Term *index = to.index[0], *choice = let_by(p, index);
  if (to.tensor->spare && !condition && choice->kind == TERM_SELECT) {
    condition = choice->u.select.condition;
    index = choice->u.select.a;
  }
  for (int i = 0; i < out->count; i++)  // the order of stores to one place matters
    if (tensor_root(out->at[i]->to.tensor) == tensor_root(to.tensor)) return false;
  PackedStore *store = new_node(PackedStore, .to = to, .value = value);
  if (condition && !(store->width = width_of(p, condition, index))) return false;
  vec_push(out, store);
  return add_pieces(p, index, NULL, store) && store->count > 0;
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

// The bool that the i64 counts.
static const Term *flag_of(const Packing *p, const Term *result) {
  const Term *t = let_by(p, result);
  if (term_is_i64(t, 0) || term_is_i64(t, 1)) return term_bool(term_is_i64(t, 1));
  bool flag =
      t->kind == TERM_CONVERT && t->type == PRIM_I64 && t->u.arg->type == PRIM_BOOL;
  return flag ? t->u.arg : NULL;
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
    if (left->type != PRIM_I64 || !term_same(sum, term_add(left, right))) return false;
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
