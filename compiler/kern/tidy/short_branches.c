// if c then { lets in a } else { lets in b }   =>   lets; select c a b     for short branches
// if c { t[0] = x }   =>   let old = t[0]; t[0] = select c x old     for own arrays
//
// Loads count as lets where they cannot leave the array: here, each index is that of an axis as
// wide as the array, or the ends of the axes in it are inside; in interiors it is tested
// (steps/interior.c).
// Why: choices run in lanes and registers, jumps do not, and are predicted wrongly now and then.
#include "kern/kern_ask.h"
#include "kern/sums.h"
#include "kern/tidy/tidy.h"

enum {
  FEW_OPERATIONS = 4,  // less than a jump that is predicted wrongly now and then
  MOST_AROUND = 16,
};

typedef struct Choosing {
  KernMapper mapper;
  Map *widths;  // Var -> const Term *: indices of axes
  Map *inside, *naturals, *lets;
  const KernStm *around[MOST_AROUND];
  int depth;
} Choosing;

static bool is_index_of_axis(const Choosing *s, const Term *at, const Term *dim) {
  const Term *width = at->kind == TERM_VAR ? map_get(s->widths, at->u.var) : NULL;
  return width && term_same(width, dim);
}

// Is it inside at the ends of all axes?
static bool has_ends_inside(const Choosing *s, const Term *at, const Term *dim) {
  Ranges r = { s->naturals, s->inside, s->lets, s->around, s->depth };
  IndexSum index, size, least, greatest, room;
  at = term_inlined(s->lets, at);
  dim = term_inlined(s->lets, dim);
  if (!at || !dim || !sum_of(at, &index) || !sum_of(dim, &size) ||
      !sum_extreme(&r, &index, -1, &least) || !sum_extreme(&r, &index, 1, &greatest) ||
      !sum_add(&size, &greatest, -1, &room))
    return false;
  least.constant++;
  return sum_is_positive(&r, &least, NULL) && sum_is_positive(&r, &room, NULL);
}

// Rounds wait for both sides of a choice, for one of a jump.
static bool is_in_rounds(const Choosing *s) {
  return s->depth && s->around[s->depth - 1]->u.axis->role == AXIS_LOOP;
}

static bool is_inside_array(void *state, const Access *access) {
  const Choosing *s = state;
  const Tensor *t = access->tensor;
  bool more = !is_in_rounds(s);
  for (int i = t->ring && more ? 1 : 0; i < t->rank; i++)
    if (!is_index_of_axis(s, access->index[i], t->dims[i]) &&
        !(more && has_ends_inside(s, access->index[i], t->dims[i])))
      return false;
  return true;
}

// An element of an own array that is there for certain.
static bool is_own_element(const Access *to) {
  if (to->tensor->space != TENSOR_OWN || to->tensor->of) return false;
  for (int i = 0; i < to->tensor->rank; i++) {
    const Term *at = to->index[i], *dim = to->tensor->dims[i];
    if (at->kind != TERM_CONST || dim->kind != TERM_CONST || at->u.constant.u.i < 0 ||
        at->u.constant.u.i >= dim->u.constant.u.i)
      return false;
  }
  return true;
}

static bool is_own_store(const KernStm *stm) {
  return stm->kind == KERN_STORE && is_own_element(&stm->u.store.to) &&
         term_is_cheap(stm->u.store.value);
}

// A constant or something else: a mask.  Flags of one of several kinds are made of those.
static bool is_masked(const KernStm *stm) {
  const Term *t = stm->kind == KERN_LET ? stm->u.term : NULL;
  return t && t->kind == TERM_SELECT &&
         (t->u.select.a->kind == TERM_CONST || t->u.select.b->kind == TERM_CONST);
}

static bool is_short(const KernBlock *block, int most) {
  int count = 0;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool lets = stm->kind == KERN_LET && term_is_cheap(stm->u.term);
    if (!lets && stm->kind != KERN_LOAD && !is_own_store(stm)) return false;
    count += !is_masked(stm);
  }
  return count <= most && block->count <= 2 * most;
}

static bool stores(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_STORE) return true;
  return false;
}

// t[k] = x   =>   let old = t[k]; t[k] = select c x old
static void add_chosen(KernBuilder *b, const KernStm *stm, const Term *condition,
                       bool holds) {
  if (stm->kind != KERN_STORE) {
    kern_add(b, *stm);
    return;
  }
  const Access *to = &stm->u.store.to;
  const Var *old =
      var_new(b->c, name_of(b->c->names, "old"), type_scalar(to->tensor->elem), b->loc);
  kern_load_var(b, old, *to);
  const Term *was = term_var(old), *value = stm->u.store.value;
  kern_store(b, *to, term_select(condition, holds ? value : was, holds ? was : value));
}

static bool loads_inside(const KernBlock *block, KernIsInside is_inside, void *state) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_LOAD && !is_inside(state, &block->stms[i].u.load))
      return false;
  return true;
}

bool kern_add_choice(KernBuilder *b, const KernStm *stm, int most, KernIsInside is_inside,
                     void *state) {
  const KernBlock *blocks[2] = { stm->u.cond.then_block, stm->u.cond.else_block };
  bool some = stm->binder_count || stores(blocks[0]) || stores(blocks[1]);
  if (!some || !is_short(blocks[0], most) || !is_short(blocks[1], most)) return false;
  for (int side = 0; side < 2; side++)
    if (!loads_inside(blocks[side], is_inside, state)) return false;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < blocks[side]->count; i++)
      add_chosen(b, &blocks[side]->stms[i], stm->u.cond.condition, side == 0);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(
        b, stm->binders[i],
        term_select(stm->u.cond.condition, blocks[0]->results[i], blocks[1]->results[i]));
  return true;
}

// let j = i   for the index i of an axis
static void note_copy(Choosing *s, const KernStm *let) {
  const Term *t = let->u.term;
  const Term *width = t->kind == TERM_VAR ? map_get(s->widths, t->u.var) : NULL;
  if (width) map_put(s->widths, let->binders[0], width);
}

static const KernBlock *choose_in(KernMapper *m, const KernBlock *block) {
  Choosing *s = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_AXIS)
      map_put(s->widths, stm->u.axis->index, stm->u.axis->width);
    if (stm->kind == KERN_LET) note_copy(s, stm);
    bool around = stm->kind == KERN_AXIS && s->depth < MOST_AROUND;
    if (around) s->around[s->depth++] = stm;
    KernStm mapped = kern_map_stm(m, stm);
    s->depth -= around;
    bool chosen = stm->kind == KERN_IF &&
                  kern_add_choice(&b, &mapped, FEW_OPERATIONS, is_inside_array, s);
    if (!chosen) kern_add(&b, mapped);
  }
  return kern_block(&b, block->results, block->result_count);
}

static void see_any_name(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

const Kern *kern_choose(Compiler *c, const Kern *kern) {
  Choosing s = { .mapper = { .c = c, .block = choose_in },
                 .widths = map_new(NULL),
                 .inside = map_new(NULL),
                 .naturals = sum_naturals(kern),
                 .lets = sum_lets(kern) };
  KernVisitor v = { .binder = see_any_name, .state = s.inside };
  kern_visit_block(&v, kern->body);
  s.mapper.state = &s;
  Kern out = *kern;
  out.body = choose_in(&s.mapper, kern->body);
  return mem_copy(&out, sizeof out);
}
