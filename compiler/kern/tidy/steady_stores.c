// axis j loop { x = t[j]; y = t[j + 1]; if c { t[j] = y; t[j + 1] = x } }
//   =>   axis j loop { x = t[j]; y = t[j + 1]; t[j] = select c y x; t[j + 1] = select c x y }
//
// where the next round loads what one of them stores, and no other point has these elements.  Why:
// the next round then knows what is there (carried_stores.c), and waits for no jump.  Sorts and
// sieves that exchange neighbours do so in every other round, which is not foreseen.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_STEADY = 3, MOST_GRID = 8 };

typedef struct Steady {
  KernMapper mapper;
  const Var *grid[MOST_GRID];  // indices of the axes around, up to the loop
  int grid_count;
} Steady;

// Has no other point the element: is it in memory of its own, or in a row of its own?
static bool is_own_place(const Steady *s, const Access *at) {
  if (tensor_root(at->tensor)->space == TENSOR_OWN) return true;
  for (int g = 0; g < s->grid_count; g++) {
    bool found = false;
    for (int d = 0; d < at->tensor->rank; d++)
      found =
          found || (at->index[d]->kind == TERM_VAR && at->index[d]->u.var == s->grid[g]);
    if (!found) return false;
  }
  return s->grid_count > 0;
}

static bool stores_in_memory(const KernStm *stm, const Tensor *memory) {
  return stm->kind == KERN_STORE && tensor_root(stm->u.store.to.tensor) == memory;
}

// The variable that holds what is there: loaded above, with nothing stored to its memory since; or
// NULL.
static const Var *held_element(const KernBlock *body, int position, const Access *at) {
  for (int i = position - 1; i >= 0; i--) {
    const KernStm *stm = &body->stms[i];
    if (stm->kind == KERN_LOAD && kern_same_access(&stm->u.load, at))
      return stm->binders[0];
    bool other =
        stm->kind == KERN_STORE && !stores_in_memory(stm, tensor_root(at->tensor));
    bool scalar = stm->kind == KERN_LET || stm->kind == KERN_LOAD;
    if (!other && !scalar && stm->kind != KERN_CHECK) return NULL;
  }
  return NULL;
}

static bool all_held(const Steady *s, const KernBlock *body, int position) {
  const KernStm *stm = &body->stms[position];
  const KernBlock *then = stm->u.cond.then_block;
  int stores = 0;
  if (stm->binder_count || stm->u.cond.else_block->count) return false;
  for (int i = 0; i < then->count; i++) {
    const KernStm *inner = &then->stms[i];
    if (inner->kind == KERN_LET && term_is_cheap(inner->u.term)) continue;
    if (inner->kind != KERN_STORE || !term_is_cheap(inner->u.store.value) ||
        !is_own_place(s, &inner->u.store.to) ||
        !held_element(body, position, &inner->u.store.to))
      return false;
    stores++;
  }
  return stores > 0 && stores <= MOST_STEADY;
}

static void add_steady(KernBuilder *b, const KernBlock *body, int position) {
  const KernStm *stm = &body->stms[position];
  const KernBlock *then = stm->u.cond.then_block;
  for (int i = 0; i < then->count; i++) {
    const KernStm *inner = &then->stms[i];
    if (inner->kind == KERN_LET) {
      kern_add(b, *inner);
      continue;
    }
    const Access *to = &inner->u.store.to;
    const Term *held = term_var(held_element(body, position, to));
    kern_store(b, *to, term_select(stm->u.cond.condition, inner->u.store.value, held));
  }
}

// The loop's body with such stores in each round, if the next one loads what they store.
static const KernBlock *with_steady_stores(Steady *s, const KernStm *loop) {
  const KernBlock *body = loop->u.axis->body;
  KernBuilder b = kern_builder(s->mapper.c, loop->loc);
  kern_expect(&b, body->count);
  bool some = false;
  for (int i = 0; i < body->count; i++) {
    b.loc = body->stms[i].loc;
    bool steady = body->stms[i].kind == KERN_IF && all_held(s, body, i);
    if (steady)
      add_steady(&b, body, i);
    else
      kern_add(&b, body->stms[i]);
    some = some || steady;
  }
  if (!some) return NULL;
  const KernBlock *made = kern_block(&b, body->results, body->result_count);
  Axis axis = *loop->u.axis;
  axis.body = made;
  KernStm changed = *loop;
  changed.u.axis = &axis;
  return kern_is_carried(s->mapper.c, &changed) ? made : NULL;
}

static const KernBlock *steady_in(KernMapper *m, const KernBlock *block) {
  Steady *s = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool grid = stm->kind == KERN_AXIS && stm->u.axis->role == AXIS_MAP;
    b.loc = stm->loc;
    if (grid && s->grid_count == MOST_GRID) {
      kern_add(&b, *stm);
      continue;
    }
    if (grid) s->grid[s->grid_count++] = stm->u.axis->index;
    KernStm mapped = kern_map_stm(m, stm);
    s->grid_count -= grid;
    bool loop = mapped.kind == KERN_AXIS && mapped.u.axis->role == AXIS_LOOP;
    const KernBlock *body = loop ? with_steady_stores(s, &mapped) : NULL;
    if (body) {
      Axis *axis = mem_copy(mapped.u.axis, sizeof(Axis));
      axis->body = body;
      mapped.u.axis = axis;
    }
    kern_add(&b, mapped);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_steady_stores(Compiler *c, const Kern *kern) {
  Steady s = { .mapper = { .c = c, .block = steady_in } };
  s.mapper.state = &s;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = steady_in(&s.mapper, kern->body);
  return out;
}
