// sweep c by T:
//        axis c: j < w { let s = axis n: i < m reduce { x[i, j] } op; y[j] = f(s) }
//   =>   s_of: [most w] own
//        axis c: j < w { s_of[j] = neutral }
//        axis n0: i0 < m / T loop {
//          axis c_2: j < w {
//            let before = s_of[j]
//            let after = axis n: i1 < T reduce { x[i0 * T + i1, j] } from {before} op
//            s_of[j] = after
//          }
//        }
//        .. and what is left of n
//        axis c_4: j < w { let s = s_of[j]; y[j] = f(s) }
//
// Why: where neighbouring points read neighbours, as columns of a matrix do, each loop of few
// points touches a piece of each row, a row apart from the last one; together they read memory as
// it lies, and what they sum up stays in the first cache.  Elements are joined in the same order.
//
// Loops that are maps change places with the axis likewise; what a point computes between its loops
// is stored if later parts want it.
#include "base/map.h"
#include "kern/steps/step.h"

enum { MOST_POINTS = 4096 };  // whose sums a cache holds

typedef struct Sweeping {
  Step *s;
  const Axis *axis;  // c
  const Axis *
      within;  // the axis of constant width that is all of its body, but for lets; or NULL
  const KernBlock *points;
  int64_t by, most;  // elements at once; points of c
  Map *inside;       // Var -> itself: what a point binds
  Map *lets,
      *behind;  // Var -> const Term *: of its statements; of the parts that are done
  Map *arrays;  // Var -> const Tensor *: what later parts want
  Map *names;   // of axes
} Sweeping;

typedef Vec(const Var *) Vars;

// ---- what there is

static void see_point_binder(KernVisitor *v, const Var *var) {
  Sweeping *x = v->state;
  map_put(x->inside, var, var);
}

// Whole numbers and conditions in terms of the index of the point and of what is bound outside of
// it, which is cheaper than to store it; NULL for others.
static const Term *computed_again(const Sweeping *x, const Term *t) {
  if (t->type != PRIM_I64 && t->type != PRIM_BOOL) return NULL;
  const Term *whole = term_inlined(x->lets, t);
  return whole && term_mentions_any(whole, x->inside) ? NULL : whole;
}

// A width that is the same for all points; NULL: it is not.
static const Term *common_width(const Sweeping *x, const Axis *axis) {
  const Term *width = computed_again(x, axis->width);
  if (!width || term_mentions(width, x->axis->index)) return NULL;
  return x->within && term_mentions(width, x->within->index) ? NULL : width;
}

static bool changes_places(const Sweeping *x, const KernStm *stm) {
  if (stm->kind != KERN_AXIS || stm->u.axis->bind != BIND_SEQ) return false;
  const Axis *axis = stm->u.axis;
  return (axis->role == AXIS_MAP || axis->role == AXIS_REDUCE) &&
         axis->width->kind != TERM_CONST && common_width(x, axis);
}

static Name fresh_name(const Sweeping *x, Name base) {
  for (int i = 1;; i++) {
    const char *text = i == 1 ? base : text_format("%s_%d", base, i);
    Name name = name_of(x->s->c->names, text);
    if (map_has(x->names, name)) continue;
    map_put(x->names, name, name);
    return name;
  }
}

// ---- a part of all points

typedef struct SweptPart {
  const Sweeping *x;
  KernBuilder body;
  const Var *index, *index_within;
  Map *replace;  // Var -> const Term *
} SweptPart;

static const Var *index_like(SweptPart *p, const Axis *axis) {
  const Var *index = var_like(p->x->s->c, axis->index);
  map_put(p->replace, axis->index, term_var(index));
  return index;
}

static SweptPart part_new(const Sweeping *x, Loc loc) {
  SweptPart p = { .x = x, .body = kern_builder(x->s->c, loc), .replace = map_new(NULL) };
  p.index = index_like(&p, x->axis);
  if (x->within) p.index_within = index_like(&p, x->within);
  return p;
}

static Access kept_place(const SweptPart *p, const Var *var) {
  const Term **index = new_array(const Term *, 2);
  index[0] = term_var(p->index);
  if (p->index_within) index[1] = term_var(p->index_within);
  return (Access){ map_get(p->x->arrays, var), index };
}

static const Term *load_value(SweptPart *p, const Var *var) {
  const Var *value = var_like(p->x->s->c, var);
  kern_load_var(&p->body, value, kept_place(p, var));
  return term_var(value);
}

static const Term *index_there(void *state, const Var *var) {
  const SweptPart *p = state;
  const Sweeping *x = p->x;
  if (var == x->axis->index) return term_var(p->index);
  return x->within && var == x->within->index ? term_var(p->index_within) : NULL;
}

static void see_wanted(void *state, const Var *var) {
  SweptPart *p = state;
  if (map_has(p->replace, var)) return;
  const Term *let = map_get(p->x->behind, var),
             *whole = let ? computed_again(p->x, let) : NULL;
  if (whole)
    map_put(p->replace, var,
            kern_let(&p->body, var->name, term_replace(whole, index_there, p)));
  else if (map_has(p->x->arrays, var))
    map_put(p->replace, var, load_value(p, var));
}

static void see_part_term(KernVisitor *v, const Term *t) {
  term_each_var(t, see_wanted, v->state);
}

static void see_places(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  for (int i = 0; i < access.tensor->rank; i++)
    see_part_term(v, access.index[i]);
}

// Adds a copy of the block behind what it wants of earlier parts; its results.
static const Term *const *part_add(SweptPart *p, const KernBlock *block) {
  KernVisitor v = { .term = see_part_term, .access = see_places, .state = p };
  kern_visit_block(&v, block);
  for (int i = 0; i < block->result_count; i++)
    see_part_term(&v, block->results[i]);
  const KernBlock *copy = kern_rename(p->x->s->c, p->replace, block);
  for (int i = 0; i < copy->count; i++)
    kern_add(&p->body, copy->stms[i]);
  return copy->results;
}

static void part_store(SweptPart *p, const Var *const *vars, const Term *const *values,
                       int count) {
  for (int i = 0; i < count; i++)
    kern_store(&p->body, kept_place(p, vars[i]), values[i]);
}

static void add_point_axis(const SweptPart *p, KernBuilder *b, const Axis *like,
                           const Var *index, const KernBlock *body) {
  Axis axis = *like;
  axis.name = fresh_name(p->x, axis.name);
  axis.index = index;
  axis.body = body;
  kern_axis(b, axis, NULL, 0);
}

static void part_end(const SweptPart *p, KernBuilder *b) {
  const KernBlock *body = kern_block(&p->body, NULL, 0);
  KernBuilder outer = kern_builder(b->c, p->body.loc);
  if (p->x->within) {
    add_point_axis(p, &outer, p->x->within, p->index_within, body);
    body = kern_block(&outer, NULL, 0);
  }
  add_point_axis(p, b, p->x->axis, p->index, body);
}

static void add_arrays(const Sweeping *x, KernBuilder *b, const Var *const *vars,
                       int count) {
  for (int i = 0; i < count; i++) {
    const Term **dims = new_array(const Term *, 2);
    dims[0] = term_i64(x->most);
    if (x->within) dims[1] = x->within->width;
    const Tensor *t = tensor_new(x->s->c, text_format("%s_of", vars[i]->name),
                                 vars[i]->type.elem, dims, x->within ? 2 : 1, TENSOR_OWN);
    kern_add(b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = t });
    map_put(x->arrays, vars[i], t);
  }
}

// ---- statements between loops

static void see_later(void *state, const Var *var) { map_put(state, var, var); }

static void see_later_term(KernVisitor *v, const Term *t) {
  term_each_var(t, see_later, v->state);
}

static void see_later_places(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  for (int i = 0; i < access.tensor->rank; i++)
    see_later_term(v, access.index[i]);
}

// What the statements from number `first` on mention.
static const Map *mentioned_from(const Sweeping *x, int first) {
  Map *later = map_new(NULL);
  KernVisitor v = { .term = see_later_term, .access = see_later_places, .state = later };
  for (int i = first; i < x->points->count; i++)
    kern_visit_stm(&v, &x->points->stms[i]);
  return later;
}

// What statements bind that later ones want, but for what these compute again.
static Vars wanted_later(const Sweeping *x, int first, int end) {
  Vars out = { 0 };
  const Map *later = mentioned_from(x, end);
  for (int i = first; i < end; i++) {
    const KernStm *stm = &x->points->stms[i];
    if (stm->kind == KERN_LET && computed_again(x, stm->u.term)) continue;
    for (int k = 0; k < stm->binder_count; k++)
      if (map_has(later, stm->binders[k])) vec_push(&out, stm->binders[k]);
  }
  return out;
}

static const Term *const *terms_of_binders(const Var *const *vars, int count) {
  const Term **terms = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++)
    terms[i] = term_var(vars[i]);
  return terms;
}

// Statements number first to end - 1 at all points.
static void add_between(const Sweeping *x, KernBuilder *b, int first, int end) {
  Vars outs = wanted_later(x, first, end);
  KernBlock block = { &x->points->stms[first], end - first,
                      terms_of_binders(outs.at, outs.count), outs.count };
  if (outs.count || kern_has_effect(&block)) {
    SweptPart p = part_new(x, block.stms->loc);
    const Term *const *values = part_add(&p, &block);
    add_arrays(x, b, outs.at, outs.count);
    part_store(&p, outs.at, values, outs.count);
    part_end(&p, b);
  }
  for (int i = 0; i < block.count; i++)
    if (block.stms[i].kind == KERN_LET)
      map_put(x->behind, block.stms[i].binders[0], block.stms[i].u.term);
}

// ---- loops

// What a sum begins with.
static void add_starts(const Sweeping *x, KernBuilder *b, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  const Term **neutral = new_array(const Term *, stm->binder_count + 1);
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      neutral[next++] = axis->ops[o].neutral[k];
  KernBlock block = { .results = axis->inits ? axis->inits : neutral,
                      .result_count = stm->binder_count };
  SweptPart p = part_new(x, stm->loc);
  const Term *const *values = part_add(&p, &block);
  part_store(&p, stm->binders, values, stm->binder_count);
  part_end(&p, b);
}

// The sums of all points go on with `count` elements from number `first` on.
static void add_elements(const Sweeping *x, KernBuilder *b, const KernStm *stm, Name name,
                         const Term *first, const Term *count) {
  Compiler *c = x->s->c;
  SweptPart p = part_new(x, stm->loc);
  Axis axis = *stm->u.axis;
  const Term **before = new_array(const Term *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    before[i] = load_value(&p, stm->binders[i]);
    map_put(p.replace, stm->binders[i], before[i]);
  }
  KernBuilder inner = kern_builder(c, stm->loc), only = inner;
  axis.name = name;
  axis.inits = before;
  axis.width = count;
  axis.index = kern_index(c, axis.index->name, stm->loc);
  kern_let_var(&inner, stm->u.axis->index, term_add(first, term_var(axis.index)));
  for (int i = 0; i < axis.body->count; i++)
    kern_add(&inner, axis.body->stms[i]);
  axis.body = kern_block(&inner, axis.body->results, axis.body->result_count);
  kern_axis(&only, axis, stm->binders, stm->binder_count);
  const Term *const *all = terms_of_binders(stm->binders, stm->binder_count);
  const Term *const *values = part_add(&p, kern_block(&only, all, stm->binder_count));
  part_store(&p, stm->binders, values, stm->binder_count);
  part_end(&p, b);
}

static void add_swept_sums(const Sweeping *x, KernBuilder *b, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  const Term *width = kern_let(b, "width", common_width(x, axis)), *by = term_i64(x->by);
  add_arrays(x, b, stm->binders, stm->binder_count);
  add_starts(x, b, stm);
  const Term *blocks = kern_let(b, "blocks", term_quot(width, by));
  Axis loop = { .name = fresh_name(
                    x, name_of(x->s->c->names, text_format("%s0", axis->name))),
                .index = kern_index(x->s->c, axis->index->name, stm->loc),
                .width = blocks,
                .role = AXIS_LOOP };
  KernBuilder round = kern_builder(x->s->c, stm->loc);
  const Term *first = kern_let(&round, "first", term_mul(term_var(loop.index), by));
  add_elements(x, &round, stm, axis->name, first, by);
  loop.body = kern_block(&round, NULL, 0);
  kern_axis(b, loop, NULL, 0);
  if (x->by == 1) return;
  const Term *filled = kern_let(b, "filled", term_mul(blocks, by));
  Name rest = fresh_name(x, name_of(x->s->c->names, text_format("%s_rest", axis->name)));
  add_elements(x, b, stm, rest, filled, term_sub(width, filled));
}

static void add_map(const Sweeping *x, KernBuilder *b, const KernStm *stm) {
  KernBuilder inner = kern_builder(x->s->c, stm->loc);
  Axis axis = *stm->u.axis;
  axis.width = kern_let(b, "width", common_width(x, &axis));
  axis.index = var_like(x->s->c, axis.index);
  SweptPart p = part_new(x, stm->loc);
  map_put(p.replace, stm->u.axis->index, term_var(axis.index));
  part_add(&p, axis.body);
  part_end(&p, &inner);
  axis.body = kern_block(&inner, NULL, 0);
  kern_axis(b, axis, NULL, 0);
}

static void add_swept(void *state, KernBuilder *b, const KernStm *stm) {
  const Sweeping *x = state;
  const KernBlock *body = x->points;
  b->loc = stm->loc;
  int first = 0;
  for (int i = 0; i <= body->count; i++) {
    const KernStm *loop = i < body->count ? &body->stms[i] : NULL;
    if (loop && !changes_places(x, loop)) continue;
    if (first < i) add_between(x, b, first, i);
    if (loop && loop->u.axis->role == AXIS_REDUCE) add_swept_sums(x, b, loop);
    if (loop && loop->u.axis->role == AXIS_MAP) add_map(x, b, loop);
    first = i + 1;
  }
}

// ---- legality

// So many points at most; 0: nobody knows.
static int64_t bound_of_width(const Term *width) {
  if (width->kind == TERM_CONST) return width->u.constant.u.i;
  if (width->kind != TERM_OP || width->u.op.op != OP_MIN) return 0;
  int64_t a = bound_of_width(width->u.op.args[0]),
          b = bound_of_width(width->u.op.args[1]);
  return !a || (b && b < a) ? b : a;
}

static void see_name(KernVisitor *v, const KernStm *stm) {
  const Sweeping *x = v->state;
  if (stm->kind != KERN_AXIS || stm->u.axis == x->axis || stm->u.axis == x->within)
    return;
  map_put(x->names, stm->u.axis->name, stm);
}

// Why the statements of a point cannot be parts; NULL: they can.
static const char *why_not_parts(const Sweeping *x) {
  bool loops = false;
  for (int i = 0; i < x->points->count; i++) {
    const KernStm *stm = &x->points->stms[i];
    if (stm->kind == KERN_ALLOC || stm->kind == KERN_ROOM)
      return "its points have arrays";
    if (!changes_places(x, stm)) continue;
    loops = true;
    if (x->by > 1 && stm->u.axis->role == AXIS_REDUCE)
      for (int k = 0; k < stm->u.axis->body->count; k++)
        if (stm->u.axis->body->stms[k].kind == KERN_AXIS)
          return "what it sums up are loops";
  }
  return loops ? NULL : "its points have no loops of one length";
}

// The lets of a block.
static void collect_lets(Map *lets, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_LET)
      map_put(lets, block->stms[i].binders[0], block->stms[i].u.term);
}

// The points are those of an axis of constant width in the axis, if that is all.
static void find_swept_points(Sweeping *x) {
  x->points = x->axis->body;
  for (int i = 0; i < x->points->count; i++) {
    const KernStm *stm = &x->points->stms[i];
    if (stm->kind == KERN_LET) continue;
    bool last = i + 1 == x->points->count && stm->kind == KERN_AXIS;
    if (!last || stm->u.axis->role != AXIS_MAP || stm->u.axis->bind != BIND_SEQ ||
        stm->u.axis->width->kind != TERM_CONST)
      return;
    x->within = stm->u.axis;
  }
  if (!x->within) return;
  x->points = x->within->body;
  map_remove(x->inside, x->within->index);
  collect_lets(x->behind, x->axis->body);
}

const Kern *step_sweep(Step *s, const Kern *kern, Name name, int64_t by) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  Sweeping x = { .s = s,
                 .axis = axis,
                 .by = by,
                 .most = bound_of_width(axis->width),
                 .inside = map_new(NULL),
                 .lets = map_new(NULL),
                 .behind = map_new(NULL),
                 .arrays = map_new(NULL),
                 .names = map_new(NULL) };
  if (axis->role != AXIS_MAP || axis->bind != BIND_SEQ)
    return step_refuse(s, "%s is no loop without order", name);
  if (!x.most || x.most > MOST_POINTS)
    return step_refuse(s, "%s may have more than %d points", name, MOST_POINTS);
  if (kern_updates_in_place(axis->body))
    return step_refuse(s, "%s stores where it loads", name);
  KernVisitor bound = { .binder = see_point_binder, .state = &x };
  kern_visit_block(&bound, axis->body);
  find_swept_points(&x);
  collect_lets(x.lets, axis->body);
  collect_lets(x.lets, x.points);
  KernVisitor names = { .stm = see_name, .state = &x };
  kern_visit_block(&names, kern->body);
  const char *reason = why_not_parts(&x);
  if (reason) return step_refuse(s, "%s: %s", name, reason);
  return step_replace(s, kern, name, add_swept, &x);
}
