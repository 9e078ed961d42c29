// Loads of an array that the kernel overwrites: they must see what was there before.  There are
// three kinds:
//   where nothing is stored, as the conditions of all stores say: i > k there, k here; or their
//     loops: k + 1 + i there
//   of what the point stores itself, before it does
//   in the part of the array that a point of the grid has for itself, at a place that is the same
//     in a loop: made before the loop
// What is none of them may be copied before all is stored (in_place_saved.c).  Those of the first
// kind are made before the loop as well, if they can be: the device's compiler sees only that the
// array is written.
#include "kern/in_place/places.h"
#include "kern/kern_ask.h"
#include "kern/sums.h"

enum { MOST_STORES = 8, MOST_DEEP = 16 };

typedef struct PlaceStore {
  const Term **index;  // without lets
  const Facts *facts;  // around it
  const KernStm *loops[MOST_DEEP];
  int depth;
} PlaceStore;

// A load that is made before its loop.
typedef struct EarlyLoad {
  const KernStm *load, *loop;
  const Term **index;
  const Var *value;
} EarlyLoad;

typedef struct Loads {
  KernMapper mapper;
  ArrayPlace to, from;
  int first, rank;  // the dimensions of both
  const Map *lets;  // Var -> const Term *
  Map *inside;      // Var -> itself: bound in the block
  Map *naturals;    // Var -> itself: indices and sizes, of all of the kernel
  PlaceStore stores[MOST_STORES];
  int count;
  const KernStm *loops[MOST_DEEP];  // around the place at hand
  int depth;
  bool stored;  // by the point, before that place
  bool refused;
  Saved *saved;  // NULL: nothing may be
  Map *early;    // Var -> const EarlyLoad *: by the load's binder
  Vec(const EarlyLoad *) order;
} Loads;

static const Term *plain(Loads *p, const Term *t) {
  const Term *inlined = term_inlined(p->lets, t);
  if (!inlined) p->refused = true;
  return inlined ? inlined : t;
}

static const Term **plain_index(Loads *p, const Access *access) {
  const Term **index = new_array(const Term *, access->tensor->rank + 1);
  for (int d = 0; d < access->tensor->rank; d++)
    index[d] = plain(p, access->index[d]);
  return index;
}

// ---- conditions

// a < b, a != b, a + 1 <= b, a <= b - 1
static bool says_apart(const Term *t, const Term *a, const Term *b) {
  if (t->kind != TERM_OP || t->u.op.operands != PRIM_I64) return false;
  const Term *x = t->u.op.args[0], *y = t->u.op.args[1];
  PrimOp op = t->u.op.op;
  if (op == OP_LT || op == OP_NE) return term_same(x, a) && term_same(y, b);
  if (op != OP_LE) return false;
  return (term_same(x, a) && term_same(term_add(y, term_i64(1)), b)) ||
         (term_same(x, term_add(a, term_i64(1))) && term_same(y, b));
}

static bool are_apart(const Facts *facts, const Term *a, const Term *b) {
  for (; facts; facts = facts->outer)
    if (says_apart(facts->holds, a, b) || says_apart(facts->holds, b, a)) return true;
  return false;
}

// ---- walking in order

typedef void VisitPlace(Loads *p, const KernStm *stm, const Facts *facts);

static void walk(Loads *p, const KernBlock *block, const Facts *facts, VisitPlace *visit);

static void walk_loop(Loads *p, const KernStm *stm, const Facts *facts,
                      VisitPlace *visit) {
  if (p->depth == MOST_DEEP) {
    p->refused = true;
    return;
  }
  p->loops[p->depth++] = stm;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks)
    walk(p, *block, facts, visit);
  p->depth--;
}

static void walk_branches(Loads *p, const KernStm *stm, const Facts *facts,
                          VisitPlace *visit) {
  const Term *condition = plain(p, stm->u.cond.condition);
  bool before = p->stored;
  walk(p, stm->u.cond.then_block, facts_of_outcome(facts, NULL, condition, true), visit);
  bool after = p->stored;
  p->stored = before;
  walk(p, stm->u.cond.else_block, facts_of_outcome(facts, NULL, condition, false), visit);
  p->stored = p->stored || after;
}

static void walk(Loads *p, const KernBlock *block, const Facts *facts,
                 VisitPlace *visit) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_IF)
      walk_branches(p, stm, facts, visit);
    else if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE)
      walk_loop(p, stm, facts, visit);
    else
      visit(p, stm, facts);
  }
}

// ---- stores

static void note_store(Loads *p, const KernStm *stm, const Facts *facts) {
  if (stm->kind != KERN_STORE || !in_place_is(p->to, stm->u.store.to)) return;
  if (p->count == MOST_STORES) {
    p->refused = true;
    return;
  }
  PlaceStore *s = &p->stores[p->count++];
  s->index = plain_index(p, &stm->u.store.to);
  s->facts = facts;
  s->depth = p->depth;
  for (int i = 0; i < p->depth; i++)
    s->loops[i] = p->loops[i];
}

static bool is_on_grid(const KernStm *loop) {
  return loop->kind == KERN_AXIS && loop->u.axis->bind == BIND_GRID;
}

static bool is_in(const PlaceStore *s, const KernStm *loop) {
  for (int i = 0; i < s->depth; i++)
    if (s->loops[i] == loop) return true;
  return false;
}

// ---- loads

static Ranges ranges_in(const Loads *p, const KernStm *const *loops, int depth) {
  return (Ranges){ p->naturals, p->inside, p->lets, loops, depth };
}

// Is an end of what is stored (the least, if `sign` is -1) beyond all that is loaded?
static bool is_beyond(const Loads *p, const PlaceStore *s, const Term *stored,
                      const Term *loaded, int sign) {
  Ranges stores = ranges_in(p, s->loops, s->depth),
         loads = ranges_in(p, p->loops, p->depth);
  IndexSum a, b, from, to, apart;
  return sum_of(stored, &a) && sum_of(loaded, &b) &&
         sum_extreme(&stores, &a, sign, &from) && sum_extreme(&loads, &b, -sign, &to) &&
         (sign < 0 ? sum_add(&from, &to, -1, &apart) : sum_add(&to, &from, -1, &apart)) &&
         sum_is_positive(&stores, &apart, s->facts);
}

// Is nothing stored there, by any point?
static bool is_elsewhere(const Loads *p, const PlaceStore *s, const Term *const *index) {
  for (int d = p->first; d < p->rank; d++) {
    if (!term_mentions_any(index[d], p->inside) &&
        are_apart(s->facts, index[d], s->index[d]))
      return true;
    if (is_beyond(p, s, s->index[d], index[d], -1) ||
        is_beyond(p, s, s->index[d], index[d], 1))
      return true;
  }
  return false;
}

// Is it a multiple of the variable, plus something that is the same at all points?
static bool moves_with(const Loads *p, const Term *index, const Var *var) {
  IndexSum s;
  if (!sum_of(index, &s) || !sum_factor(&s, var)) return false;
  for (int i = 0; i < s.count; i++) {
    bool own = s.at[i]->kind == TERM_VAR && s.at[i]->u.var == var;
    if (!own && term_mentions_any(s.at[i], p->inside)) return false;
  }
  return true;
}

static bool same_sum(const Term *a, const Term *b) {
  IndexSum x, y, difference;
  if (term_same(a, b)) return true;
  return sum_of(a, &x) && sum_of(b, &y) && sum_add(&x, &y, -1, &difference) &&
         !difference.count && !difference.constant;
}

// Is the load in the part of the array that each point of the axis has for itself?
static bool is_in_part(const Loads *p, const PlaceStore *s, const Axis *axis,
                       const Term *const *index) {
  for (int d = p->first; d < p->rank; d++)
    if (moves_with(p, s->index[d], axis->index)) return same_sum(index[d], s->index[d]);
  return false;
}

// How many of the loops around the load leave it to the point at hand: the next one has points that
// store what others of it load.
static int own_loops(const Loads *p, const PlaceStore *s, const Term *const *index) {
  int depth = 0;
  while (depth < p->depth && is_in(s, p->loops[depth]) &&
         is_in_part(p, s, p->loops[depth]->u.axis, index))
    depth++;
  return depth < p->depth && is_in(s, p->loops[depth]) ? depth : p->depth;
}

static bool same_index(const Term *const *a, const Term *const *b, int rank) {
  for (int d = 0; d < rank; d++)
    if (!term_same(a[d], b[d])) return false;
  return true;
}

// The outermost loop around the load, within the grid, that stores; or NULL.
static const KernStm *storing_loop(const Loads *p) {
  for (int i = 0; i < p->depth; i++)
    for (int k = 0; !is_on_grid(p->loops[i]) && k < p->count; k++)
      if (is_in(&p->stores[k], p->loops[i])) return p->loops[i];
  return NULL;
}

static void see_any_binder(KernVisitor *v, const Var *var) {
  map_put(v->state, var, var);
}

static bool can_be_early(const Loads *p, const KernStm *loop, const Term *const *index) {
  Map *bound = map_new(NULL);
  KernVisitor v = { .binder = see_any_binder, .state = bound };
  kern_visit_stm(&v, loop);
  for (int d = 0; d < p->rank; d++)
    if (term_mentions_any(index[d], bound)) return false;
  return loop->kind == KERN_AXIS && !is_on_grid(loop);
}

static void make_early(Loads *p, const KernStm *stm, const KernStm *loop,
                       const Term **index) {
  const Var *value = var_like(p->mapper.c, stm->binders[0]);
  vec_each (const EarlyLoad **, known, &p->order)
    if ((*known)->loop == loop && same_index((*known)->index, index, p->rank))
      value = (*known)->value;
  const EarlyLoad *early =
      new_node(EarlyLoad, .load = stm, .loop = loop, .index = index, .value = value);
  vec_push(&p->order, early);
  map_put(p->early, stm->binders[0], early);
}

// The loop before which the load must be made, as its points store what is loaded; NULL: none.
static const KernStm *loop_that_overwrites(Loads *p, const Term *const *index,
                                           bool *elsewhere) {
  int depth = p->depth;
  *elsewhere = true;
  for (int i = 0; i < p->count; i++) {
    if (is_elsewhere(p, &p->stores[i], index)) continue;
    int own = own_loops(p, &p->stores[i], index);
    if (own < depth) depth = own;
    *elsewhere = false;
  }
  return depth < p->depth ? p->loops[depth] : NULL;
}

static void see_load(Loads *p, const KernStm *stm, const Facts *facts) {
  (void)facts;
  if (stm->kind == KERN_STORE && in_place_is(p->to, stm->u.store.to)) p->stored = true;
  if (stm->kind != KERN_LOAD || !in_place_is(p->from, stm->u.load)) return;
  const Term **index = plain_index(p, &stm->u.load);
  bool elsewhere;
  const KernStm *loop = loop_that_overwrites(p, index, &elsewhere);
  if (elsewhere) loop = storing_loop(p);
  bool early = loop && can_be_early(p, loop, index);
  if (early && (elsewhere || !p->stored))
    make_early(p, stm, loop, index);
  else if (!elsewhere && (loop || p->stored))
    p->refused |= !p->saved || !in_place_save(p->saved, stm, index);
}

// ---- rewriting

// Conditions under which the load's place is in the array: its loop may have no points.
static const Term *is_inside(const Loads *p, const EarlyLoad *early) {
  const Term *inside = term_bool(true);
  for (int d = p->first; d < p->rank; d++) {
    const Term *at = early->index[d];
    inside = term_and(inside, term_and(term_at_most(term_i64(0), at),
                                       term_less(at, p->to.tensor->dims[d])));
  }
  return inside;
}

static const KernBlock *block_of_one(KernBuilder *b, const Term *result) {
  const Term **results = new_array(const Term *, 1);
  results[0] = result;
  return kern_block(b, results, 1);
}

// let value = if the place is in the array { the load } else { 0 }
static void add_early(Loads *p, KernBuilder *b, const EarlyLoad *early) {
  KernBuilder load = kern_builder(b->c, early->load->loc), none = load;
  const Var *loaded = var_like(b->c, early->value);
  kern_load_var(&load, loaded, (Access){ p->to.tensor, early->index });
  const Var **binders = new_array(const Var *, 1);
  binders[0] = early->value;
  kern_add(b,
           (KernStm){
               .kind = KERN_IF,
               .loc = early->load->loc,
               .binders = binders,
               .binder_count = 1,
               .u.cond = { is_inside(p, early), block_of_one(&load, term_var(loaded)),
                           block_of_one(&none, term_const(prim_zero(p->to.tensor->elem))),
                           .usual = 100 } });
}

static void add_all_early(Loads *p, KernBuilder *b, const KernStm *loop) {
  Map *added = map_new(NULL);
  vec_each (const EarlyLoad **, early, &p->order) {
    if ((*early)->loop != loop || map_has(added, (*early)->value)) continue;
    map_put(added, (*early)->value, loop);
    add_early(p, b, *early);
  }
}

static const KernBlock *load_in(KernMapper *m, const KernBlock *block) {
  Loads *p = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const EarlyLoad *early =
        stm->kind == KERN_LOAD ? map_get(p->early, stm->binders[0]) : NULL;
    b.loc = stm->loc;
    add_all_early(p, &b, stm);
    Access kept;
    if (early)
      kern_let_var(&b, stm->binders[0], term_var(early->value));
    else if (p->saved && stm->kind == KERN_LOAD &&
             in_place_saved_load(p->saved, stm, &kept))
      kern_load_var(&b, stm->binders[0], kept);
    else
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

static const Tensor *in_place_of(KernMapper *m, const Tensor *tensor) {
  const Loads *p = m->state;
  bool host = tensor->host && tensor->host == p->from.tensor->host;
  return host ? p->to.tensor : tensor;
}

// Places of a ring: what was stored to the spare one goes where the old array is.
static const Term *at_old_place(KernMapper *m, const Term *t) {
  const Loads *p = m->state;
  return p->to.at && term_same(t, p->to.at) ? p->from.at : t;
}

const KernBlock *in_place_loads(Compiler *c, const Kern *kern, const Map *lets,
                                const KernBlock *block, ArrayPlace to, ArrayPlace from,
                                bool saves) {
  Saved saved = in_place_nothing_saved(c, kern, block, from);
  Loads p = {
    .mapper = { .c = c, .term = at_old_place, .block = load_in, .tensor = in_place_of },
    .to = to,
    .from = from,
    .first = in_place_first(to),
    .rank = to.tensor->rank,
    .lets = lets,
    .inside = map_new(NULL),
    .naturals = sum_naturals(kern),
    .saved = saves ? &saved : NULL,
    .early = map_new(NULL)
  };
  p.mapper.state = &p;
  KernVisitor v = { .binder = see_any_binder, .state = p.inside };
  kern_visit_block(&v, block);
  walk(&p, block, NULL, note_store);
  p.stored = false;
  walk(&p, block, NULL, see_load);
  return p.refused ? NULL : in_place_with_saved(&saved, load_in(&p.mapper, block));
}
