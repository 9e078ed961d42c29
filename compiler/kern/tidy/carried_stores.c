// axis j < m loop { x = t[i, j]; ..; t[i, j + 1] = v }
//   =>   first = t[i, 0];  axis j < m loop (last = first) { x = last; ..; t[i, j + 1] = v } in {v}
//
// where nothing else is stored there between: what a round loads, the one before has stored.
// Why: a store and the load behind it take as long as several operations, and rounds of tables and
// recurrences wait for that.
#include "kern/kern_ask.h"
#include "kern/sums.h"
#include "kern/tidy/tidy.h"

// The loop at hand.
typedef struct CarriedStore {
  KernMapper mapper;
  const Axis *axis;
  const Map *around;  // index -> const Axis *: of the kernel
  Map *lets;          // Var -> const Term *: within it
  Map *bound;         // Var -> itself: within it
  bool refused;
  const KernStm *stm;  // the store; NULL: there is none, or more than one to its memory
  const Access *load;  // the first one that it serves
  const Var *last;     // what the round before has stored
} CarriedStore;

static void see_loop_let(KernVisitor *v, const KernStm *stm) {
  CarriedStore *s = v->state;
  if (stm->kind == KERN_LET) map_put(s->lets, stm->binders[0], stm->u.term);
}

// b - a is what an index grows by from round to round, `by`.
static bool is_next(const CarriedStore *s, const Term *a, const Term *b, int64_t *by) {
  IndexSum x, y, difference;
  const Term *from = term_inlined(s->lets, a), *to = term_inlined(s->lets, b);
  if (!from || !to || !sum_of(from, &x) || !sum_of(to, &y)) return false;
  if (!sum_add(&y, &x, -1, &difference) || difference.count) return false;
  *by = sum_factor(&x, s->axis->index);
  return difference.constant == *by && (*by || !term_mentions(from, s->axis->index));
}

// Does it load what the store of the round before has stored, and not what that of its own does?
static bool is_carried(const CarriedStore *s, const Access *load) {
  const Access *store = &s->stm->u.store.to;
  bool moves = false;
  if (load->tensor != store->tensor) return false;
  for (int i = 0; i < load->tensor->rank; i++) {
    int64_t by;
    if (!is_next(s, load->index[i], store->index[i], &by)) return false;
    moves = moves || by;
  }
  return moves;
}

// ---- the store

typedef struct OtherStores {
  const Tensor *memory;
  int at_top;  // in the body itself, which are looked at one by one
  bool refused;
} OtherStores;

static void see_nested_store(KernVisitor *v, Access access, bool stores) {
  OtherStores *o = v->state;
  if (stores && tensor_root(access.tensor) == o->memory) o->at_top--;
}

static void see_room(KernVisitor *v, const KernStm *stm) {
  OtherStores *o = v->state;
  const Tensor *made = stm->kind == KERN_ALLOC  ? stm->u.tensor
                       : stm->kind == KERN_ROOM ? tensor_root(stm->u.room.tensor)
                                                : NULL;
  if (made == o->memory) o->refused = true;
}

// Are these two elements, in each round?
static bool never_the_same(const CarriedStore *s, const Access *a, const Access *b) {
  if (a->tensor != b->tensor) return false;
  for (int i = 0; i < a->tensor->rank; i++) {
    IndexSum x, y, difference;
    const Term *one = term_inlined(s->lets, a->index[i]),
               *two = term_inlined(s->lets, b->index[i]);
    if (one && two && sum_of(one, &x) && sum_of(two, &y) &&
        sum_add(&y, &x, -1, &difference) && !difference.count && difference.constant)
      return true;
  }
  return false;
}

typedef struct LoadsServed {
  const CarriedStore *s;
  const Access *other;
  bool in_the_way;
} LoadsServed;

static void see_served(KernVisitor *v, const KernStm *stm) {
  LoadsServed *l = v->state;
  if (stm->kind == KERN_LOAD && is_carried(l->s, &stm->u.load) &&
      !never_the_same(l->s, &stm->u.load, l->other))
    l->in_the_way = true;
}

// Does what another statement stores come between the store and the loads of the next round?
static bool comes_between(const CarriedStore *s, const KernBlock *body, int position) {
  LoadsServed served = { s, &body->stms[position].u.store.to, false };
  if (!never_the_same(s, served.other, &s->stm->u.store.to)) return true;
  KernVisitor v = { .stm = see_served, .state = &served };
  for (int i = position; i < body->count; i++)
    kern_visit_stm(&v, &body->stms[i]);
  return served.in_the_way;
}

// Is the store the last one to its place before the next round loads from there?
static bool leaves_its_value(const CarriedStore *s) {
  const KernBlock *body = s->axis->body;
  OtherStores o = { .memory = tensor_root(s->stm->u.store.to.tensor) };
  for (int i = 0; i < body->count; i++) {
    const KernStm *stm = &body->stms[i];
    bool stores =
        stm->kind == KERN_STORE && tensor_root(stm->u.store.to.tensor) == o.memory;
    o.at_top += stores;
    if (stores && stm != s->stm && comes_between(s, body, i)) return false;
  }
  KernVisitor v = { .stm = see_room, .access = see_nested_store, .state = &o };
  kern_visit_block(&v, body);
  return !o.at_top && !o.refused;
}

static void see_carried_load(KernVisitor *v, const KernStm *stm) {
  CarriedStore *s = v->state;
  if (stm->kind == KERN_LOAD && !s->load && is_carried(s, &stm->u.load))
    s->load = &stm->u.load;
}

// A store that each round makes, which serves loads of the next one.
static bool find_store(CarriedStore *s) {
  const KernBlock *body = s->axis->body;
  KernVisitor v = { .stm = see_carried_load, .state = s };
  for (int i = 0; i < body->count && !s->load; i++) {
    const KernStm *stm = &body->stms[i];
    if (stm->kind != KERN_STORE || stm->u.store.to.tensor->elem == PRIM_F16 ||
        stm->u.store.to.tensor->spare)
      continue;
    s->stm = stm;
    if (leaves_its_value(s)) kern_visit_block(&v, body);
  }
  return s->load != NULL;
}

// ---- the loop

static const KernBlock *without_carried_loads(KernMapper *m, const KernBlock *block) {
  CarriedStore *s = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_LOAD && is_carried(s, &stm->u.load))
      kern_let_var(&b, stm->binders[0], term_var(s->last));
    else
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

static const Term *in_first_round(void *state, const Var *var) {
  const CarriedStore *s = state;
  return var == s->axis->index ? term_i64(0) : NULL;
}

static void see_bound_here(void *state, const Var *var) {
  CarriedStore *s = state;
  if (map_has(s->bound, var)) s->refused = true;
}

// The indices in the first round, if they are known before the loop.
static const Term *const *first_indices(CarriedStore *s) {
  int rank = s->load->tensor->rank;
  const Term **first = new_array(const Term *, rank + 1);
  for (int i = 0; i < rank; i++) {
    first[i] = term_replace(term_inlined(s->lets, s->load->index[i]), in_first_round, s);
    term_each_var(first[i], see_bound_here, s);
  }
  return s->refused ? NULL : first;
}

// The index of an axis as wide as the dimension.
static bool is_inside(const CarriedStore *s, const Term *index, const Term *dim) {
  const Axis *axis = index->kind == TERM_VAR ? map_get(s->around, index->u.var) : NULL;
  return axis && term_same(axis->width, dim);
}

// Is there a round, and the place in the array?
static const Term *has_first(const CarriedStore *s, const Term *const *index) {
  const Tensor *t = s->load->tensor;
  const Term *zero = term_i64(0), *has = term_less(zero, s->axis->width);
  for (int i = 0; i < t->rank; i++)
    if (!is_inside(s, index[i], t->dims[i]))
      has = term_and(
          has, term_and(term_at_most(zero, index[i]), term_less(index[i], t->dims[i])));
  return has;
}

// first = if there is a round, and the place is in the array { t[..] } else { 0 }
static const Term *add_first(CarriedStore *s, KernBuilder *b, const Term *const *index) {
  const Tensor *t = s->load->tensor;
  const Term *inside = has_first(s, index), *none = term_const(prim_zero(t->elem));
  if (term_is_bool(inside, false)) return none;
  const Var *first = var_like(b->c, s->last), *loaded = var_like(b->c, s->last);
  const Term *results[2] = { term_var(loaded), none };
  KernBuilder there = kern_builder(b->c, b->loc), nothing = there;
  kern_load_var(&there, loaded, (Access){ t, index });
  KernStm stm = {
    .kind = KERN_IF,
    .binders = mem_copy(&first, sizeof first),
    .binder_count = 1,
    .u.cond = { inside, kern_block(&there, mem_copy(&results[0], sizeof results[0]), 1),
                kern_block(&nothing, mem_copy(&results[1], sizeof results[1]), 1), 0,
                false }
  };
  kern_add(b, stm);
  return term_var(first);
}

static const Term *const *with_term(const Term *const *terms, int count, const Term *t) {
  const Term **out = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    out[i] = terms[i];
  out[count] = t;
  return out;
}

static const Var *const *with_var(const Var *const *vars, int count, const Var *var) {
  const Var **out = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++)
    out[i] = vars[i];
  out[count] = var;
  return out;
}

static KernStm carrying(CarriedStore *s, const KernStm *stm, const Term *first) {
  Axis *axis = mem_copy(s->axis, sizeof(Axis));
  int count = axis->param_count++;
  KernBlock *body = mem_copy(without_carried_loads(&s->mapper, axis->body), sizeof *body);
  body->results = with_term(body->results, count, s->stm->u.store.value);
  body->result_count = count + 1;
  axis->body = body;
  axis->params = with_var(axis->params, count, s->last);
  axis->inits = with_term(axis->inits, count, first);
  KernStm out = *stm;
  out.u.axis = axis;
  out.binders = with_var(stm->binders, count, var_like(s->mapper.c, s->last));
  out.binder_count = count + 1;
  return out;
}

static void see_bound_in_loop(KernVisitor *v, const Var *var) {
  CarriedStore *s = v->state;
  map_put(s->bound, var, var);
}

static bool carried_store(Compiler *c, const Map *around, const KernStm *stm,
                          CarriedStore *s) {
  *s = (CarriedStore){ .mapper = { .c = c, .block = without_carried_loads },
                       .axis = stm->u.axis,
                       .around = around,
                       .lets = map_new(NULL),
                       .bound = map_new(NULL) };
  KernVisitor v = { .stm = see_loop_let, .binder = see_bound_in_loop, .state = s };
  kern_visit_stm(&v, stm);
  return find_store(s);
}

bool kern_is_carried(Compiler *c, const KernStm *loop) {
  CarriedStore s;
  return carried_store(c, NULL, loop, &s);
}

// Adds the loop with a value that it carries; false: there is no more.
static bool add_carrying(KernMapper *m, KernBuilder *b, KernStm *stm) {
  Compiler *c = m->c;
  CarriedStore s;
  if (!carried_store(c, m->state, stm, &s)) return false;
  s.mapper.state = &s;
  const Term *const *index = first_indices(&s);
  if (!index) return false;
  s.last =
      var_new(c, name_of(c->names, "last"), type_scalar(s.load->tensor->elem), stm->loc);
  *stm = carrying(&s, stm, add_first(&s, b, index));
  return true;
}

static const KernBlock *carry_stores(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    b.loc = stm.loc;
    bool loop = stm.kind == KERN_AXIS && stm.u.axis->role == AXIS_LOOP;
    while (loop && add_carrying(m, &b, &stm)) {
    }
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

static void see_axis(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS) map_put(v->state, stm->u.axis->index, stm->u.axis);
}

const Kern *kern_carry_stores(Compiler *c, const Kern *kern) {
  Map *around = map_new(NULL);
  KernVisitor v = { .stm = see_axis, .state = around };
  kern_visit_block(&v, kern->body);
  KernMapper m = { .c = c, .block = carry_stores, .state = around };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = carry_stores(&m, kern->body);
  return out;
}
