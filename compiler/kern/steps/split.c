// split a by T:
//        axis a: i < n { body }
//   =>   axis a0: o < n/T { axis a: k < T { let i = o * T + k; body } }
//
// A reduction becomes a reduction of reductions, a scan a loop of scans that each begin with what
// the one before has.  Why: everything that cuts work into blocks (lanes, registers, items,
// tiles) begins here.
#include "kern/steps/step.h"

typedef struct Split {
  Step *s;
  const Kern *kern;
  SplitRest rest;
  const Term *inner;  // points per block
  const Term *outer;  // blocks; full ones, if the rest is peeled
  bool exact;         // nothing remains
  int64_t by;         // `inner`, if it is constant
} Split;

static bool peels(SplitRest rest) { return rest == SPLIT_PEEL || rest == SPLIT_CHAIN; }

// NAME0, or with the next free number.
static Name outer_name(Split *x, const Axis *axis) {
  for (int i = 0;; i++) {
    Name name = name_of(x->s->c->names, text_format("%s%d", axis->name, i));
    if (!kern_has_axis(x->kern, name)) return name;
  }
}

static Name name_after(Split *x, const Axis *axis, const char *what) {
  Name name = name_of(x->s->c->names, text_format("%s_%s", axis->name, what));
  for (int i = 2; kern_has_axis(x->kern, name); i++)
    name = name_of(x->s->c->names, text_format("%s_%s%d", axis->name, what, i));
  return name;
}

static const Var *fresh_index(Split *x, const Axis *axis) {
  return kern_index(x->s->c, axis->index->name, axis->index->loc);
}

// ---- results and carried values

static PrimType *carried_types(const Axis *axis, int *count) {
  bool loops = axis->role == AXIS_LOOP;
  *count = loops ? axis->param_count : kern_sum_count(axis);
  PrimType *types = new_array(PrimType, *count + 1);
  if (loops)
    for (int i = 0; i < *count; i++)
      types[i] = axis->params[i]->type.elem;
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      types[next++] = axis->ops[o].params[k]->type.elem;
  return types;
}

static const Var *const *fresh_vars(Split *x, const Axis *axis, const char *name) {
  int count;
  PrimType *types = carried_types(axis, &count);
  const Var **vars = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++)
    vars[i] = var_new(x->s->c, name_of(x->s->c->names, name), type_scalar(types[i]),
                      axis->index->loc);
  return vars;
}

static const Term *const *var_terms(const Var *const *vars, int count) {
  const Term **terms = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    terms[i] = term_var(vars[i]);
  return terms;
}

static const Term *const *neutral_terms(const Axis *axis) {
  const Term **terms = new_array(const Term *, kern_sum_count(axis) + 1);
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      terms[next++] = axis->ops[o].neutral[k];
  return terms;
}

// ---- blocks

// [let index = value] body
static const KernBlock *with_index(Split *x, const Var *index, const Term *value,
                                   const KernBlock *body) {
  KernBuilder b = kern_builder(x->s->c, index->loc);
  kern_expect(&b, body->count);
  kern_let_var(&b, index, value);
  for (int i = 0; i < body->count; i++)
    kern_add(&b, body->stms[i]);
  return kern_block(&b, body->results, body->result_count);
}

// if inside { body }
static const KernBlock *conditional(Split *x, const Term *inside, const KernBlock *body) {
  KernBuilder b = kern_builder(x->s->c, (Loc){ 0 }), nothing = b;
  kern_add(&b, (KernStm){
                   .kind = KERN_IF,
                   .u.cond = { inside, body, kern_block(&nothing, NULL, 0), 0, false } });
  return kern_block(&b, NULL, 0);
}

// The index of the block's first point.
static const Term *first_of_block(Split *x, const Axis *axis, const Var *outer) {
  const Term *first = term_mul(term_var(outer), x->inner);
  if (x->rest != SPLIT_OVERLAP || x->exact) return first;
  return term_min(first, term_sub(axis->width, x->inner));
}

// if at < width { t[..] = x }   for stores to arrays of the host
typedef struct SplitGuard {
  KernMapper mapper;
  const Term *inside;
} SplitGuard;

static const KernBlock *guarded(KernMapper *m, const KernBlock *block) {
  const SplitGuard *g = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    bool store = stm->kind == KERN_STORE &&
                 tensor_root(stm->u.store.to.tensor)->space == TENSOR_GLOBAL;
    if (!store) {
      kern_add(&b, kern_map_stm(m, stm));
      continue;
    }
    KernBuilder one = kern_builder(m->c, stm->loc), nothing = one;
    kern_add(&one, *stm);
    kern_add(&b, (KernStm){ .kind = KERN_IF,
                            .u.cond = { g->inside, kern_block(&one, NULL, 0),
                                        kern_block(&nothing, NULL, 0), 0, false } });
  }
  return kern_block(&b, block->results, block->result_count);
}

// What points of a reduction have, or rounds hand on: those behind the end what changes nothing.
static const KernBlock *neutral_outside(Split *x, const Axis *axis, const Term *inside,
                                        const KernBlock *body) {
  const Term *const *neutral = axis->role == AXIS_LOOP
                                   ? var_terms(axis->params, axis->param_count)
                                   : neutral_terms(axis);
  const Term **results = new_array(const Term *, body->result_count + 1);
  KernBuilder b = kern_builder(x->s->c, axis->index->loc);
  kern_expect(&b, body->count);
  for (int i = 0; i < body->count; i++)
    kern_add(&b, body->stms[i]);
  for (int i = 0; i < body->result_count; i++)
    results[i] =
        kern_let(&b, "counted", term_select(inside, body->results[i], neutral[i]));
  return kern_block(&b, results, body->result_count);
}

// let at = first + index; let i = min at (width - 1); body, which stores, or counts, where
// at < width
static const KernBlock *clamped(Split *x, const Axis *axis, const Term *at) {
  KernBuilder b = kern_builder(x->s->c, axis->index->loc);
  const Var *place = fresh_index(x, axis);
  kern_let_var(&b, place, at);
  SplitGuard g = { .mapper = { .c = x->s->c, .block = guarded },
                   .inside = term_less(term_var(place), axis->width) };
  g.mapper.state = &g;
  const KernBlock *body = axis->role != AXIS_MAP
                              ? neutral_outside(x, axis, g.inside, axis->body)
                              : guarded(&g.mapper, axis->body);
  const Term *last = term_sub(axis->width, term_i64(1));
  body = with_index(x, axis->index, term_min(term_var(place), last), body);
  for (int i = 0; i < body->count; i++)
    kern_add(&b, body->stms[i]);
  return kern_block(&b, body->results, body->result_count);
}

// The block as an axis of its own, within block number `outer`.
static Axis inner_axis(Split *x, const Axis *axis, const Term *first) {
  Axis inner = *axis;
  const Var *index = fresh_index(x, axis);
  const KernBlock *body = axis->body;
  inner.index = index;
  inner.width = x->inner;
  inner.bind = BIND_SEQ;
  const Term *at = term_add(first, term_var(index));
  bool runs = x->rest == SPLIT_RUN,
       shorter = (runs || x->rest == SPLIT_BOUND || x->rest == SPLIT_SHORT) && !x->exact;
  if (runs && !x->exact) inner.most = x->by;
  if (shorter && x->rest == SPLIT_BOUND && axis->role == AXIS_MAP)
    body = conditional(x, term_less(term_var(axis->index), axis->width), body);
  else if (shorter)
    inner.width = term_min(x->inner, term_sub(axis->width, first));
  inner.body = x->rest == SPLIT_CLAMP && !x->exact ? clamped(x, axis, at)
                                                   : with_index(x, axis->index, at, body);
  return inner;
}

// ---- the outer axis, by role

// A loop over blocks that hands on what each block ends with.
static void add_loop_of_blocks(Split *x, KernBuilder *b, const KernStm *stm, Axis outer) {
  const Axis *axis = stm->u.axis;
  int count;
  carried_types(axis, &count);
  const Var *const *params = fresh_vars(x, axis, "before");
  const Var *const *after = fresh_vars(x, axis, "so_far");
  KernBuilder body = kern_builder(x->s->c, stm->loc);
  const Term *first = kern_let(&body, "first", first_of_block(x, axis, outer.index));
  Axis inner = inner_axis(x, axis, first);
  inner.inits = var_terms(params, count);
  kern_axis(&body, inner, after, count);
  outer.role = AXIS_LOOP;
  outer.params = params;
  outer.param_count = count;
  outer.inits = axis->inits ? axis->inits : neutral_terms(axis);
  outer.body = kern_block(&body, var_terms(after, count), count);
  const Var *const *binders =
      stm->binder_count ? stm->binders : fresh_vars(x, axis, "last");
  kern_axis(b, outer, binders, count);
}

// axis last: r < (if the next block is full, or has no points { 1 } else { 2 }) loop { block }
static void add_followed_block(Split *x, KernBuilder *b, const Axis *axis,
                               const Var *outer) {
  const Term *one = term_i64(1), *next = term_add(term_var(outer), one);
  const Term *left = kern_let(b, "left", term_sub(axis->width, term_mul(next, x->inner)));
  const Term *alone =
      term_or(term_at_most(left, term_i64(0)), term_at_most(x->inner, left));
  Axis rounds = { .name = name_after(x, axis, "last"),
                  .index = fresh_index(x, axis),
                  .width = kern_let(b, "rounds", term_select(alone, one, term_i64(2))),
                  .role = AXIS_LOOP,
                  .most = 2 };
  const Term *block = term_add(term_var(outer), term_var(rounds.index));
  const Term *first =
      term_min(term_mul(block, x->inner), term_sub(axis->width, x->inner));
  KernBuilder body = kern_builder(x->s->c, axis->index->loc);
  kern_axis(&body, inner_axis(x, axis, first), NULL, 0);
  rounds.body = kern_block(&body, NULL, 0);
  kern_axis(b, rounds, NULL, 0);
}

static void add_map_of_blocks(Split *x, KernBuilder *b, const KernStm *stm, Axis outer) {
  const Axis *axis = stm->u.axis;
  KernBuilder body = kern_builder(x->s->c, stm->loc);
  if (x->rest == SPLIT_FOLLOW && !x->exact)
    add_followed_block(x, &body, axis, outer.index);
  else
    kern_axis(&body, inner_axis(x, axis, first_of_block(x, axis, outer.index)), NULL, 0);
  outer.role = AXIS_MAP;
  outer.body = kern_block(&body, NULL, 0);
  kern_axis(b, outer, NULL, 0);
}

// The operators of the outer reduction are copies: each binds its own parameters.
static const KernOp *copied_ops(Split *x, const KernStm *stm) {
  KernBuilder b = kern_builder(x->s->c, stm->loc);
  kern_add(&b, *stm);
  const KernBlock *copy = kern_rename(x->s->c, NULL, kern_block(&b, NULL, 0));
  return copy->stms[0].u.axis->ops;
}

static void add_reduction_of_blocks(Split *x, KernBuilder *b, const KernStm *stm,
                                    Axis outer) {
  const Axis *axis = stm->u.axis;
  int count = kern_sum_count(axis);
  const Var *const *totals = fresh_vars(x, axis, "block");
  KernBuilder body = kern_builder(x->s->c, stm->loc);
  const Term *first = kern_let(&body, "first", first_of_block(x, axis, outer.index));
  Axis inner = inner_axis(x, axis, first);
  inner.inits = NULL;
  kern_axis(&body, inner, totals, count);
  outer.role = AXIS_REDUCE;
  outer.ops = copied_ops(x, stm);
  outer.op_count = axis->op_count;
  outer.inits = axis->inits;
  outer.body = kern_block(&body, var_terms(totals, count), count);
  kern_axis(b, outer, stm->binders, stm->binder_count);
}

static void add_blocks(Split *x, KernBuilder *b, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  Axis outer = { .name = outer_name(x, axis),
                 .index = fresh_index(x, axis),
                 .width = x->outer,
                 .bind = axis->bind };
  switch (axis->role) {
  case AXIS_MAP: add_map_of_blocks(x, b, stm, outer); return;
  case AXIS_LOOP:
  case AXIS_SCAN: add_loop_of_blocks(x, b, stm, outer); return;
  case AXIS_REDUCE:
    if (x->rest == SPLIT_CHAIN || x->rest == SPLIT_RUN || x->rest == SPLIT_CLAMP)
      add_loop_of_blocks(x, b, stm, outer);
    else
      add_reduction_of_blocks(x, b, stm, outer);
    return;
  case AXIS_HIST: return;
  }
}

// ---- the rest

// The axis over what does not fill a block, from `first` on,
// which begins with what the blocks have.
static void add_rest(Split *x, KernBuilder *b, const KernStm *stm, const Term *first,
                     const Var *const *so_far) {
  KernBuilder one = kern_builder(x->s->c, stm->loc);
  kern_add(&one, *stm);
  const KernStm *copy = kern_rename(x->s->c, NULL, kern_block(&one, NULL, 0))->stms;
  Axis rest = *copy->u.axis;
  const Var *index = fresh_index(x, stm->u.axis);
  int count;
  carried_types(&rest, &count);
  rest.name = name_after(x, stm->u.axis, "rest");
  rest.bind = BIND_SEQ;
  rest.rest = true;
  if (x->by) rest.most = x->by - 1;
  rest.width = term_sub(stm->u.axis->width, first);
  rest.body = with_index(x, rest.index, term_add(first, term_var(index)), rest.body);
  rest.index = index;
  if (count) rest.inits = var_terms(so_far, count);
  kern_axis(b, rest, stm->binders, stm->binder_count);
}

static void add_split(void *state, KernBuilder *b, const KernStm *stm) {
  Split *x = state;
  const Axis *axis = stm->u.axis;
  if (!peels(x->rest) || x->exact) {
    add_blocks(x, b, stm);
    return;
  }
  x->inner = kern_let(b, "length", x->inner);
  x->outer = kern_let(b, "blocks", x->outer);
  const Term *first = kern_let(b, "filled", term_mul(x->outer, x->inner));
  int count;
  carried_types(axis, &count);
  const Var *const *so_far = fresh_vars(x, axis, "so_far");
  KernStm blocks = *stm;
  bool carries = count && axis->role != AXIS_MAP;
  blocks.binders = carries ? so_far : NULL;
  blocks.binder_count = carries ? count : 0;
  add_blocks(x, b, &blocks);
  add_rest(x, b, stm, first, so_far);
}

static const Kern *split(Split *x, Name name) {
  const Kern *out = step_replace(x->s, x->kern, name, add_split, x);
  bool copies = peels(x->rest) && !x->exact;
  return copies ? kern_name_axes(x->s->c, out) : out;
}

static bool divides(int64_t by, const Term *width) {
  return width->kind == TERM_CONST && width->u.constant.u.i % by == 0;
}

static void see_more_than_checks(KernVisitor *v, const KernStm *stm) {
  KernStmKind kind = stm->kind;
  bool plain =
      kind == KERN_LET || kind == KERN_LOAD || kind == KERN_IF || kind == KERN_CHECK;
  bool loop = kind == KERN_AXIS && !stm->u.axis->hist_count;
  if (!plain && !loop) *(bool *)v->state = true;
}

// Does running a point of the body twice show?  A check has the same outcome both times.
static bool shows_twice(const KernBlock *body) {
  bool shows = false;
  KernVisitor v = { .stm = see_more_than_checks, .state = &shows };
  kern_visit_block(&v, body);
  return shows;
}

static const char *cannot_follow(const Axis *axis) {
  if (axis->role != AXIS_MAP) return "it carries values: no point may run twice";
  return kern_may_run_again(axis) ? NULL
                                  : "it reads what it overwrites: no point may run again";
}

// Why the axis cannot be split; NULL if it can.
static const char *cannot_split(const Kern *kern, const Axis *axis, SplitRest rest,
                                bool exact) {
  if (axis->role == AXIS_HIST) return "it fills a histogram";
  if (axis->bind == BIND_LANE || axis->bind == BIND_REG)
    return "it is in lanes or registers";
  if (axis->bind == BIND_GRID && peels(rest) && !exact)
    return "it is on the grid, where what is left has no place";
  if (exact) return NULL;
  if (rest == SPLIT_FOLLOW) return cannot_follow(axis);
  if (rest != SPLIT_OVERLAP && rest != SPLIT_CLAMP) return NULL;
  bool joins = axis->role == AXIS_REDUCE || axis->role == AXIS_LOOP;
  if (joins && rest == SPLIT_CLAMP && !shows_twice(axis->body)) return NULL;
  if (axis->role != AXIS_MAP) return "it carries values: no point may run twice";
  return kern_may_run_twice(kern, axis)
             ? NULL
             : "it overwrites what it reads: no point may run twice";
}

const Kern *step_split(Step *s, const Kern *kern, Name name, int64_t by, SplitRest rest) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  bool exact = divides(by, axis->width);
  const char *reason = cannot_split(kern, axis, rest, exact);
  if (reason) return step_refuse(s, "%s cannot be split: %s", name, reason);
  const Term *inner = term_i64(by);
  const Term *outer = peels(rest) || rest == SPLIT_FOLLOW || exact
                          ? term_quot(axis->width, inner)
                          : term_ceil_div(axis->width, inner);
  Split x = { .s = s,
              .kern = kern,
              .rest = rest,
              .inner = inner,
              .outer = outer,
              .exact = exact,
              .by = by };
  return split(&x, name);
}

const Kern *step_split_into(Step *s, const Kern *kern, Name name, int64_t pieces) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  bool exact = divides(pieces, axis->width);
  const char *reason = cannot_split(kern, axis, SPLIT_PEEL, exact);
  if (reason) return step_refuse(s, "%s cannot be split: %s", name, reason);
  Split x = { .s = s,
              .kern = kern,
              .rest = SPLIT_PEEL,
              .inner = term_quot(axis->width, term_i64(pieces)),
              .outer = term_i64(pieces),
              .exact = exact };
  return split(&x, name);
}
