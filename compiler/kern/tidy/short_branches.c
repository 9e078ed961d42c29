// if c then { lets in a } else { lets in b }   =>   lets; select c a b     for short branches
// if c { t[0] = x }   =>   let old = t[0]; t[0] = select c x old     for own arrays
//
// if c { x = if i < n { t[i] } else { 0 } in {x + 1} } else {0}
//   =>   x = if i < n { t[i] } else { 0 };  select c (x + 1) 0
//
// Loads count as lets where they cannot leave the array: here, each index is that of an axis as
// wide as the array, or the ends of the axes in it are inside; in interiors it is tested
// (steps/interior.c).  So do branches on indices whose own loads their own condition keeps inside.
// Why: choices run in lanes and registers, jumps do not, and are predicted wrongly now and then.
// Longer branches become choices if all of an axis is without jumps then, but for those on indices.
// In maps these are branches with such branches on indices in them: the others vectors may go past
// where few points want them.
#include "kern/facts.h"
#include "kern/kern_ask.h"
#include "kern/kern_vary.h"
#include "kern/sums.h"
#include "kern/tidy/tidy.h"

enum {
  FEW_OPERATIONS = 4,    // less than a jump that is predicted wrongly now and then
  MANY_OPERATIONS = 16,  // less than what vectors save
  MANY_SUMMED = 32,      // the same where branches in vectors are none at all
  MOST_AROUND = 16,
};

typedef struct Choosing {
  KernMapper mapper;
  Map *widths;  // Var -> const Term *: indices of axes
  Map *inside, *naturals, *lets;
  Map *data;  // Var -> itself: what does not follow from indices and scalars of the host
  const KernStm *around[MOST_AROUND];
  int depth;
  AxisRole straight;  // of the axis at hand, if it is to be without jumps; else AXIS_LOOP
  const Facts *facts;  // outcomes of the conditions around
} Choosing;

static bool is_index_of_axis(const Choosing *s, const Term *at, const Term *dim) {
  const Term *width = at->kind == TERM_VAR ? map_get(s->widths, at->u.var) : NULL;
  return width && term_same(width, dim);
}

static Ranges ranges_of(const Choosing *s) {
  return (Ranges){ s->naturals, s->inside, s->lets, s->around, s->depth };
}

// Is a number at least -more at the ends of all axes, or by the facts?
static bool is_at_least(const Choosing *s, const IndexSum *sum, int64_t more,
                        const Facts *facts) {
  const Ranges r = ranges_of(s);
  IndexSum here = *sum, least;
  here.constant += more + 1;
  if (facts && sum_is_positive(&r, &here, facts)) return true;
  if (!sum_extreme(&r, sum, -1, &least)) return false;
  least.constant += more + 1;
  return sum_is_positive(&r, &least, NULL);
}

// Is it inside at all points of the axes for which the facts hold?
static bool has_ends_inside(const Choosing *s, const Term *at, const Term *dim,
                            const Facts *facts) {
  IndexSum index, size, room;
  at = term_inlined(s->lets, at);
  dim = term_inlined(s->lets, dim);
  return at && dim && sum_of(at, &index) && sum_of(dim, &size) &&
         sum_add(&size, &index, -1, &room) && is_at_least(s, &index, 0, facts) &&
         is_at_least(s, &room, -1, facts);
}

// Rounds wait for both sides of a choice, for one of a jump.
static bool is_in_rounds(const Choosing *s) {
  return s->depth && s->around[s->depth - 1]->u.axis->role == AXIS_LOOP;
}

static bool is_inside_array(const Choosing *s, const Access *access, const Facts *facts) {
  const Tensor *t = access->tensor;
  bool more = !is_in_rounds(s);
  for (int i = t->ring && more ? 1 : 0; i < t->rank; i++)
    if (!is_index_of_axis(s, access->index[i], t->dims[i]) &&
        !(more && has_ends_inside(s, access->index[i], t->dims[i], facts)))
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

// How many statements the block has that are no masks; more than `most` if it must not run for all.
static int operations_of(const KernBlock *block, int most) {
  int count = 0;
  if (block->count > 2 * most) return most + 1;
  for (int i = 0; i < block->count && count <= most; i++) {
    const KernStm *stm = &block->stms[i];
    bool lets = stm->kind == KERN_LET && term_is_cheap(stm->u.term);
    if (stm->kind == KERN_IF)
      count += operations_of(stm->u.cond.then_block, most) +
               operations_of(stm->u.cond.else_block, most);
    else if (!lets && stm->kind != KERN_LOAD && !is_own_store(stm))
      return most + 1;
    count += !is_masked(stm);
  }
  return count;
}

static bool is_short(const KernBlock *block, int most) {
  return operations_of(block, most) <= most;
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

// Do its loads, and the branches in it, do no harm where it is not reached?
static bool is_harmless(const KernBlock *block, KernRunsAnywhere runs, void *state) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if ((stm->kind == KERN_LOAD || stm->kind == KERN_IF) && !runs(state, stm))
      return false;
  }
  return true;
}

bool kern_add_choice(KernBuilder *b, const KernStm *stm, int most, KernRunsAnywhere runs,
                     void *state) {
  const KernBlock *blocks[2] = { stm->u.cond.then_block, stm->u.cond.else_block };
  bool some = stm->binder_count || stores(blocks[0]) || stores(blocks[1]);
  if (!some || !is_short(blocks[0], most) || !is_short(blocks[1], most)) return false;
  for (int side = 0; side < 2; side++)
    if (!is_harmless(blocks[side], runs, state)) return false;
  for (int side = 0; side < 2; side++)
    for (int i = 0; i < blocks[side]->count; i++)
      add_chosen(b, &blocks[side]->stms[i], stm->u.cond.condition, side == 0);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(
        b, stm->binders[i],
        term_select(stm->u.cond.condition, blocks[0]->results[i], blocks[1]->results[i]));
  return true;
}

// ---- what may run anywhere

// a != b   =>   a < b or b < a, where the ends of the axes tell which
static const Facts *with_order(const Choosing *s, const Facts *facts, const Term *fact) {
  IndexSum a, b, apart;
  bool differ = fact->kind == TERM_OP && fact->u.op.op == OP_NE;
  if (!differ || !sum_of(fact->u.op.args[0], &a) || !sum_of(fact->u.op.args[1], &b) ||
      !sum_add(&a, &b, -1, &apart))
    return facts_with(facts, fact);
  const Term *low = fact->u.op.args[1], *high = fact->u.op.args[0];
  if (is_at_least(s, &apart, 0, NULL)) return facts_with(facts, term_less(low, high));
  if (sum_add(&b, &a, -1, &apart) && is_at_least(s, &apart, 0, NULL))
    return facts_with(facts, term_less(high, low));
  return facts;
}

// The facts of a condition's outcome, of numbers in terms of indices.
static const Facts *outcome(const Choosing *s, const Facts *around, const Term *condition,
                            bool holds) {
  const Facts *facts = around;
  condition = term_inlined(s->lets, condition);
  if (!condition) return around;
  const Facts *more = facts_of_outcome(NULL, NULL, condition, holds);
  for (; more; more = more->outer)
    if (more->holds->kind == TERM_OP && more->holds->u.op.operands == PRIM_I64)
      facts = with_order(s, facts, more->holds);
  return facts;
}

static bool block_runs(const Choosing *s, const KernBlock *block, const Facts *facts);

static bool runs_where(const Choosing *s, const KernStm *stm, const Facts *facts) {
  if (stm->kind == KERN_LET) return term_is_cheap(stm->u.term);
  if (stm->kind == KERN_LOAD) return is_inside_array(s, &stm->u.load, facts);
  if (stm->kind != KERN_IF || term_mentions_any(stm->u.cond.condition, s->data))
    return false;
  const Term *condition = stm->u.cond.condition;
  return block_runs(s, stm->u.cond.then_block, outcome(s, facts, condition, true)) &&
         block_runs(s, stm->u.cond.else_block, outcome(s, facts, condition, false));
}

static bool block_runs(const Choosing *s, const KernBlock *block, const Facts *facts) {
  for (int i = 0; i < block->count; i++)
    if (!runs_where(s, &block->stms[i], facts)) return false;
  return true;
}

static bool does_no_harm(void *state, const KernStm *stm) {
  const Choosing *s = state;
  return runs_where(s, stm, s->facts);
}

// ---- kernels

// let j = i   for the index i of an axis
static void note_copy(Choosing *s, const KernStm *let) {
  const Term *t = let->u.term;
  const Term *width = t->kind == TERM_VAR ? map_get(s->widths, t->u.var) : NULL;
  if (width) map_put(s->widths, let->binders[0], width);
}

// Is it without jumps but for those on indices, and stores under conditions?
static bool is_straight(const Choosing *s, const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE) return false;
    if (stm->kind != KERN_IF || vary_is_guard(stm)) continue;
    if (term_mentions_any(stm->u.cond.condition, s->data)) return false;
  }
  return true;
}

static void see_jumps(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE) *(bool *)v->state = true;
}

static bool may_be_straight(const Axis *axis) {
  bool loops = axis->role != AXIS_MAP && axis->role != AXIS_REDUCE;
  KernVisitor v = { .stm = see_jumps, .state = &loops };
  if (!loops) kern_visit_block(&v, axis->body);
  return !loops;
}

static const KernBlock *choose_in(KernMapper *m, const KernBlock *block);

static KernStm choose_in_if(KernMapper *m, const KernStm *stm) {
  Choosing *s = m->state;
  const Facts *around = s->facts;
  const Term *condition = stm->u.cond.condition;
  KernStm mapped = *stm;
  s->facts = outcome(s, around, condition, true);
  mapped.u.cond.then_block = choose_in(m, stm->u.cond.then_block);
  s->facts = outcome(s, around, condition, false);
  mapped.u.cond.else_block = choose_in(m, stm->u.cond.else_block);
  s->facts = around;
  return mapped;
}

static KernStm choose_in_stm(KernMapper *m, const KernStm *stm) {
  Choosing *s = m->state;
  if (stm->kind == KERN_IF) return choose_in_if(m, stm);
  if (stm->kind != KERN_AXIS || s->depth == MOST_AROUND) return kern_map_stm(m, stm);
  const Axis *axis = stm->u.axis;
  AxisRole around = s->straight;
  map_put(s->widths, axis->index, axis->width);
  s->around[s->depth++] = stm;
  s->straight = may_be_straight(axis) ? axis->role : AXIS_LOOP;
  KernStm mapped = kern_map_stm(m, stm);
  if (s->straight != AXIS_LOOP && !is_straight(s, mapped.u.axis->body)) {
    s->straight = AXIS_LOOP;
    mapped = kern_map_stm(m, stm);
  }
  s->depth--;
  s->straight = around;
  return mapped;
}

static bool has_branch(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_IF) return true;
  return false;
}

static int most_of(const Choosing *s, const KernStm *stm) {
  if (s->straight == AXIS_REDUCE) return MANY_SUMMED;
  bool many = s->straight == AXIS_MAP &&
              (has_branch(stm->u.cond.then_block) || has_branch(stm->u.cond.else_block));
  return many ? MANY_OPERATIONS : FEW_OPERATIONS;
}

static const KernBlock *choose_in(KernMapper *m, const KernBlock *block) {
  Choosing *s = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_LET) note_copy(s, stm);
    KernStm mapped = choose_in_stm(m, stm);
    bool chosen = stm->kind == KERN_IF &&
                  kern_add_choice(&b, &mapped, most_of(s, &mapped), does_no_harm, s);
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
                 .lets = sum_lets(kern),
                 .data = kern_data(kern),
                 .straight = AXIS_LOOP };
  KernVisitor v = { .binder = see_any_name, .state = s.inside };
  kern_visit_block(&v, kern->body);
  s.mapper.state = &s;
  Kern out = *kern;
  out.body = choose_in(&s.mapper, kern->body);
  return mem_copy(&out, sizeof out);
}
