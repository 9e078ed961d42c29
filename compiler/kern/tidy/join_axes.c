// axis b: i < p grid { axis c: j < q grid { s = axis n: .. { t[.., i, j] .. }; y[i, j] = s } }
//   =>  axis c: k < p * q grid {
//         let i = k / q
//         let j = k - i * q
//         s = axis n: .. { t'[.., k] .. }; y[i, j] = s
//       }                                        t' shows the last two dimensions of t as one
//
// where loops are reductions that mention i and j at such places alone, and q is the width of t's
// last dimension.
//
// Where there are no loops, and i and j stand at such places alone, in stores as well, nobody asks
// for them: y'[k] = .. t'[k] .., without a division.
//
// Why: what is summed up over outer dimensions lies side by side however short its own rows are;
// lanes, and the loops around them, then do not end with each row.
#include "base/map.h"
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

// A sum of few elements is worth a division where vectors would have hardly a point of a row.
enum { SHORT_ROW = 32, LONG_SUM = 16, TINY_ROW = 8, SUM = 4 };

typedef struct Joining {
  Compiler *c;
  const Axis *outer, *inner;
  const Var *index;  // that takes the place of both in loops
  Map *views;        // Tensor -> Tensor
  Map *aliases;      // Var -> Var, of lets
  int places, mentions;
  bool straight;  // there are no loops
  bool fails;
} Joining;

// What a let only gives another name.
static const Var *meant(const Joining *x, const Var *var) {
  const Var *other = map_get(x->aliases, var);
  return other ? other : var;
}

static void find_aliases(Joining *x) {
  for (int i = 0; i < x->inner->body->count; i++) {
    const KernStm *stm = &x->inner->body->stms[i];
    if (stm->kind == KERN_LET && stm->u.term->kind == TERM_VAR)
      map_put(x->aliases, stm->binders[0], meant(x, stm->u.term->u.var));
  }
}

static bool is_index_there(const Joining *x, const Term *t, const Axis *axis) {
  return t->kind == TERM_VAR && meant(x, t->u.var) == axis->index;
}

static bool is_joined_place(const Joining *x, Access a) {
  const Tensor *t = a.tensor, *root = tensor_root(t);
  return t->rank >= 2 && !t->order && !root->order && !t->ring && !root->ring &&
         root->space == TENSOR_GLOBAL &&
         is_index_there(x, a.index[t->rank - 1], x->inner) &&
         is_index_there(x, a.index[t->rank - 2], x->outer) &&
         term_same(t->dims[t->rank - 1], x->inner->width);
}

static void see_joined_var(void *state, const Var *var) {
  Joining *x = state;
  var = meant(x, var);
  x->mentions += var == x->outer->index || var == x->inner->index;
}

static void see_joined_term(KernVisitor *v, const Term *t) {
  const Joining *x = v->state;
  if (v->depth || x->straight) term_each_var(t, see_joined_var, v->state);
}

static void see_joined_access(KernVisitor *v, Access access, bool stores) {
  Joining *x = v->state;
  bool counts = v->depth || x->straight;
  for (const Tensor *t = access.tensor; counts && t; t = t->of)
    for (int d = 0; d < t->rank; d++)
      term_each_var(t->dims[d], see_joined_var, x);
  if (counts && is_joined_place(x, access)) x->places += 2;
  x->fails |= v->depth && stores;
}

// A let that goes with the index it names.
static bool names_index(const Joining *x, const KernStm *stm) {
  return stm->kind == KERN_LET && map_has(x->aliases, stm->binders[0]) &&
         (is_index_there(x, stm->u.term, x->outer) ||
          is_index_there(x, stm->u.term, x->inner));
}

static void see_joined_loop(KernVisitor *v, const KernStm *stm) {
  Joining *x = v->state;
  x->fails |= stm->kind == KERN_WHILE ||
              (stm->kind == KERN_AXIS && stm->u.axis->role != AXIS_REDUCE);
}

static void see_loop_or_other(KernVisitor *v, const KernStm *stm) {
  bool plain = stm->kind == KERN_LET || stm->kind == KERN_LOAD ||
               stm->kind == KERN_STORE || stm->kind == KERN_CHECK || stm->kind == KERN_IF;
  if (!plain) *(bool *)v->state = false;
}

static bool has_no_loops(const KernBlock *block) {
  bool straight = true;
  KernVisitor v = { .stm = see_loop_or_other, .state = &straight };
  kern_visit_block(&v, block);
  return straight;
}

// The widths of loops stand outside of them, but must not differ between rows.
static bool can_join(Joining *x) {
  KernVisitor v = { .stm = see_joined_loop,
                    .term = see_joined_term,
                    .access = see_joined_access,
                    .state = x };
  find_aliases(x);
  x->straight = has_no_loops(x->inner->body);
  for (int i = 0; x->straight && i < x->inner->body->count; i++)
    x->places += names_index(x, &x->inner->body->stms[i]);
  kern_visit_block(&v, x->inner->body);
  return !x->fails && x->places && x->places == x->mentions &&
         !term_mentions(x->inner->width, x->outer->index);
}

// ---- the new axis

static Access joined_place(const Joining *x, Access a) {
  if (!is_joined_place(x, a)) return a;
  const Tensor *t = a.tensor;
  const Term **index = mem_copy(a.index, sizeof *index * (size_t)t->rank);
  index[t->rank - 2] = term_var(x->index);
  return (Access){ tensor_rows_joined(x->c, x->views, t), index };
}

static const KernBlock *join_places(KernMapper *m, const KernBlock *block) {
  const Joining *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (x->straight && names_index(x, &stm)) continue;
    if (stm.kind == KERN_LOAD) stm.u.load = joined_place(x, stm.u.load);
    if (stm.kind == KERN_STORE) stm.u.store.to = joined_place(x, stm.u.store.to);
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

static const KernBlock *joined_body(Joining *x) {
  KernMapper m = { .c = x->c, .block = join_places, .state = x };
  KernBuilder b = kern_builder(x->c, (Loc){ 0 });
  const KernBlock *body = x->inner->body;
  if (x->straight) return join_places(&m, body);
  const Term *i = term_quot(term_var(x->index), x->inner->width);
  kern_let_var(&b, x->outer->index, i);
  const Term *before = term_mul(term_var(x->outer->index), x->inner->width);
  kern_let_var(&b, x->inner->index, term_sub(term_var(x->index), before));
  for (int s = 0; s < body->count; s++)
    kern_add(&b, body->stms[s].kind == KERN_AXIS ? kern_map_stm(&m, &body->stms[s])
                                                 : body->stms[s]);
  return kern_block(&b, NULL, 0);
}

// The axis of the grid that is all of a block; or NULL.
static const Axis *only_grid(const KernBlock *block) {
  if (block->count != 1 || block->stms[0].kind != KERN_AXIS) return NULL;
  return block->stms[0].u.axis->bind == BIND_GRID ? block->stms[0].u.axis : NULL;
}

// The block around the two innermost axes of the grid, with one in their place.
static const KernBlock *join_grid(Joining *x, const KernBlock *block) {
  const Axis *outer = only_grid(block), *inner = outer ? only_grid(outer->body) : NULL;
  if (!inner) return NULL;
  KernBuilder b = kern_builder(x->c, block->stms[0].loc);
  Axis axis = *outer;
  if (only_grid(inner->body)) {
    axis.body = join_grid(x, outer->body);
    if (!axis.body) return NULL;
    kern_axis(&b, axis, NULL, 0);
    return kern_block(&b, NULL, 0);
  }
  x->outer = outer;
  x->inner = inner;
  if (outer->role != AXIS_MAP || inner->role != AXIS_MAP || !can_join(x)) return NULL;
  axis = *inner;
  x->index = axis.index = kern_index(x->c, "k", b.loc);
  axis.width = term_mul(outer->width, inner->width);
  axis.body = joined_body(x);
  kern_axis(&b, axis, NULL, 0);
  return kern_block(&b, NULL, 0);
}

// Rows are short, and what is summed up is worth a division; NULL if the host cannot tell.
static const Term *is_worth_it(const Kern *kern, const Axis *inner) {
  const Term *worth = term_less(inner->width, term_i64(SHORT_ROW));
  if (!kern_host_knows(kern, inner->width)) return NULL;
  for (int i = 0; i < inner->body->count; i++) {
    const KernStm *stm = &inner->body->stms[i];
    if (stm->kind != KERN_AXIS) continue;
    if (!kern_host_knows(kern, stm->u.axis->width)) return NULL;
    const Term *sum = stm->u.axis->width,
               *is_tiny = term_less(inner->width, term_i64(TINY_ROW));
    const Term *few = term_and(is_tiny, term_at_most(term_i64(SUM), sum));
    worth = term_and(worth, term_or(term_at_most(term_i64(LONG_SUM), sum), few));
  }
  return worth;
}

bool kern_join_grid(Compiler *c, const Kern *kern, KernQuick *out) {
  Joining x = { .c = c, .views = map_new(NULL), .aliases = map_new(NULL) };
  const KernBlock *body = join_grid(&x, kern->body);
  const Term *worth = body ? is_worth_it(kern, x.inner) : NULL;
  if (!worth) return false;
  Kern *joined = mem_copy(kern, sizeof *kern);
  joined->body = body;
  KernBuilder none = kern_builder(c, kern->loc);
  *out = (KernQuick){ .kern = joined,
                      .lets = kern_block(&none, NULL, 0),
                      .condition = worth };
  return true;
}
