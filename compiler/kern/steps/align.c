// align a:   axis l: l < T lane { axis a: i < w { x = first + i; A } }
//       =>   axis l: l < T lane {
//              axis a_before: from the least first on { if first <= x < first + w { A } }
//              axis a: from the greatest first to the least end { A }
//              axis a_behind: to the greatest end { if first <= x < first + w { A } } }
// for w or first that go with l.
//
// Points that go together and begin, or end, at other places: sums up to the point's own index,
// products of polynomials, windows that borders cut.  Why: lanes meet at the same x, so that what
// lies there is loaded once for all of them, or as neighbours; only few rounds ask who takes part.
//
// The least and greatest places come from intervals: no lane begins before or after these.
#include "kern/kern_vary.h"
#include "kern/offsets.h"
#include "kern/steps/step.h"

enum { MOST_PARTS = 16, MOST_DEPTH = 24, MOST_FACTOR = 1 << 12 };

typedef struct Ends {
  const Term *least, *greatest;
} Ends;

typedef struct Aligning {
  Compiler *c;
  const Vary *vary;
  Offsets offsets;
  Map *lock;  // Var -> const Axis *: indices of what goes in lockstep
  const Axis *axis;
  const Term *first;  // x - i; 0: x is i
  Ends begin, end;    // of first, and of first + width
} Aligning;

// ---- intervals

static const Term *let_of(const Aligning *a, const Term *t) {
  return t->kind == TERM_VAR ? map_get(a->offsets.lets, t->u.var) : NULL;
}

static bool is_op_of_i64(const Term *t) {
  return t->kind == TERM_OP && t->u.op.operands == PRIM_I64 && t->type == PRIM_I64 &&
         op_arity(t->u.op.op) == 2;
}

// A limit that no index comes near, as `cut` takes; then the term is the other operand.
static bool is_out_of_reach(const Term *t, bool above) {
  static const int64_t far = INT64_C(1) << 59;
  if (t->kind != TERM_CONST || t->type != PRIM_I64) return false;
  return above ? t->u.constant.u.i >= far : t->u.constant.u.i <= -far;
}

static const Term *without_limit(const Term *t) {
  if (!is_op_of_i64(t) || (t->u.op.op != OP_MIN && t->u.op.op != OP_MAX)) return t;
  bool above = t->u.op.op == OP_MIN;
  if (is_out_of_reach(t->u.op.args[1], above)) return t->u.op.args[0];
  return is_out_of_reach(t->u.op.args[0], above) ? t->u.op.args[1] : t;
}

// What a variable stands for, or a term with a limit; itself, if that is not known.
static const Term *meaning_of(const Aligning *a, const Term *t) {
  const Term *value = let_of(a, t);
  return value ? value : without_limit(t);
}

static bool is_factor(const Term *t) {
  return t->kind == TERM_CONST && t->u.constant.u.i >= 0 &&
         t->u.constant.u.i <= MOST_FACTOR;
}

// Do sums of it stay far from overflow?
static bool stays_small(const Aligning *a, const Term *t, int depth) {
  if (offset_is_tame(&a->offsets, t)) return true;
  const Term *op = meaning_of(a, t);
  if (depth && op != t) return stays_small(a, op, depth - 1);
  if (!depth || !is_op_of_i64(op)) return false;
  const Term *l = op->u.op.args[0], *r = op->u.op.args[1];
  PrimOp kind = op->u.op.op;
  if (kind == OP_MUL)
    return (is_factor(r) && stays_small(a, l, depth - 1)) ||
           (is_factor(l) && stays_small(a, r, depth - 1));
  bool keeps = kind == OP_ADD || kind == OP_SUB || kind == OP_MIN || kind == OP_MAX;
  return keeps && stays_small(a, l, depth - 1) && stays_small(a, r, depth - 1);
}

static bool ends_of(const Aligning *a, const Term *t, int depth, Ends *out);

static bool ends_of_op(const Aligning *a, const Term *t, int depth, Ends *out) {
  Ends l, r;
  PrimOp op = t->u.op.op;
  if (!ends_of(a, t->u.op.args[0], depth, &l) || !ends_of(a, t->u.op.args[1], depth, &r))
    return false;
  bool turned = op == OP_SUB;
  if (op == OP_MUL && !is_factor(t->u.op.args[0]) && !is_factor(t->u.op.args[1]))
    return false;
  if (op != OP_ADD && op != OP_SUB && op != OP_MIN && op != OP_MAX && op != OP_MUL)
    return false;
  *out = (Ends){ term_op2(op, l.least, turned ? r.greatest : r.least),
                 term_op2(op, l.greatest, turned ? r.least : r.greatest) };
  return true;
}

// What is the same for all lanes is seen from outside of the axis; of the rest, the terms.
static bool ends_of(const Aligning *a, const Term *t, int depth, Ends *out) {
  if (!vary_term(a->vary, t)) {
    *out = (Ends){ t, t };
    return stays_small(a, t, MOST_DEPTH);
  }
  const Axis *lock = t->kind == TERM_VAR ? map_get(a->lock, t->u.var) : NULL;
  if (lock) {
    *out = (Ends){ term_i64(0), term_i64(lock->width->u.constant.u.i - 1) };
    return true;
  }
  const Term *op = meaning_of(a, t);
  if (!depth) return false;
  if (op != t) return ends_of(a, op, depth - 1, out);
  return is_op_of_i64(t) && ends_of_op(a, t, depth - 1, out);
}

// ---- sums whose parts cancel: first + (end - first)

typedef struct Summands {
  const Term *terms[MOST_PARTS];
  bool minus[MOST_PARTS];
  int count;
  bool failed;
} Summands;

static void add_summand(Summands *p, const Term *t, bool minus) {
  for (int i = 0; i < p->count; i++) {
    if (p->minus[i] == minus || !term_same(p->terms[i], t)) continue;
    p->terms[i] = p->terms[p->count - 1];
    p->minus[i] = p->minus[--p->count];
    return;
  }
  p->failed = p->failed || p->count == MOST_PARTS;
  if (p->failed) return;
  p->terms[p->count] = t;
  p->minus[p->count++] = minus;
}

static bool is_sum(const Term *t) {
  return is_op_of_i64(t) && (t->u.op.op == OP_ADD || t->u.op.op == OP_SUB);
}

static void sum_up(const Aligning *a, Summands *p, const Term *t, bool minus, int depth) {
  const Term *op = let_of(a, t);
  if (depth && op && (op->kind == TERM_VAR || is_sum(op))) {
    sum_up(a, p, op, minus, depth - 1);
  } else if (depth && is_sum(t)) {
    sum_up(a, p, t->u.op.args[0], minus, depth - 1);
    sum_up(a, p, t->u.op.args[1], minus != (t->u.op.op == OP_SUB), depth - 1);
  } else if (!term_is_i64(t, 0)) {
    add_summand(p, t, minus);
  }
}

// The ends of first + width.
static bool ends_of_end(const Aligning *a, Ends *out) {
  Summands p = { 0 };
  sum_up(a, &p, a->first, false, MOST_DEPTH);
  sum_up(a, &p, a->axis->width, false, MOST_DEPTH);
  *out = (Ends){ term_i64(0), term_i64(0) };
  for (int i = 0; i < p.count; i++) {
    Ends one;
    if (!ends_of(a, p.terms[i], MOST_DEPTH, &one)) return false;
    const Term *least = p.minus[i] ? one.greatest : one.least,
               *greatest = p.minus[i] ? one.least : one.greatest;
    PrimOp op = p.minus[i] ? OP_SUB : OP_ADD;
    *out =
        (Ends){ term_op2(op, out->least, least), term_op2(op, out->greatest, greatest) };
  }
  return !p.failed;
}

// ---- x

static bool is_x(const Aligning *a, const KernStm *stm) {
  const Term *by;
  return stm->kind == KERN_LET && stm->u.term->type == PRIM_I64 &&
         offset_from(&a->offsets, stm->u.term, term_var(a->axis->index), &by) &&
         term_same(by, a->first);
}

// The first sum of the index and what differs from lane to lane.
static void find_first(Aligning *a) {
  a->first = term_i64(0);
  for (int i = 0; i < a->axis->body->count; i++) {
    const KernStm *stm = &a->axis->body->stms[i];
    const Term *by;
    if (stm->kind != KERN_LET || stm->u.term->type != PRIM_I64 ||
        !offset_from(&a->offsets, stm->u.term, term_var(a->axis->index), &by) ||
        !vary_term(a->vary, by))
      continue;
    a->first = by;
    return;
  }
}

// The body at x, which is `at`.
static const KernBlock *body_at(const Aligning *a, const Term *at) {
  KernBuilder b = kern_builder(a->c, a->axis->index->loc);
  kern_let_var(&b, a->axis->index, term_sub(at, a->first));
  for (int i = 0; i < a->axis->body->count; i++) {
    const KernStm *stm = &a->axis->body->stms[i];
    if (is_x(a, stm))
      kern_let_var(&b, stm->binders[0], at);
    else
      kern_add(&b, *stm);
  }
  return kern_block(&b, a->axis->body->results, a->axis->body->result_count);
}

// ---- parts

typedef struct AlignedRounds {
  const Aligning *a;
  KernBuilder *b;
  const KernStm *stm;
  const Term *first, *end;    // of the lane
  const Term *const *so_far;  // what the next part begins with; NULL: as the axis does
} AlignedRounds;

// What a round leaves that the lane does not take part in.
static const Term *const *left_as_it_is(const Axis *axis) {
  const Term **out = new_array(const Term *, axis->body->result_count + 1);
  int next = 0;
  for (int i = 0; i < axis->param_count; i++)
    out[next++] = term_var(axis->params[i]);
  for (int o = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      out[next++] = axis->ops[o].neutral[k];
  return out;
}

static const KernBlock *for_some(const AlignedRounds *p, const Term *at) {
  const Axis *axis = p->a->axis;
  KernBuilder b = kern_builder(p->a->c, p->stm->loc), none = b;
  const Term *takes =
      kern_let(&b, "takes", term_and(term_at_most(p->first, at), term_less(at, p->end)));
  int count = axis->body->result_count;
  const Var **binders = new_array(const Var *, count + 1);
  const Term **results = new_array(const Term *, count + 1);
  for (int i = 0; i < count; i++) {
    binders[i] = var_new(p->a->c, name_of(p->a->c->names, "kept"),
                         type_scalar(axis->body->results[i]->type), p->stm->loc);
    results[i] = term_var(binders[i]);
  }
  KernStm branch = { .kind = KERN_IF, .binders = binders, .binder_count = count };
  branch.u.cond.condition = takes;
  branch.u.cond.then_block = body_at(p->a, at);
  branch.u.cond.else_block = kern_block(&none, left_as_it_is(axis), count);
  kern_add(&b, branch);
  return kern_block(&b, results, count);
}

static void add_rounds_of(AlignedRounds *p, const char *suffix, Ends range, bool all) {
  Compiler *c = p->a->c;
  Axis axis = *p->stm->u.axis;
  const Var *k = kern_index(c, axis.index->name, axis.index->loc);
  KernBuilder body = kern_builder(c, p->stm->loc), copy = body;
  const Term *at = kern_let(&body, "at", term_add(range.least, term_var(k)));
  const KernBlock *rest = all ? body_at(p->a, at) : for_some(p, at);
  for (int i = 0; i < rest->count; i++)
    kern_add(&body, rest->stms[i]);
  axis.body = kern_live_block(c, kern_block(&body, rest->results, rest->result_count));
  axis.name = name_of(c->names, text_format("%s%s", axis.name, suffix));
  axis.index = k;
  axis.width = term_sub(range.greatest, range.least);
  axis.rest = !all;
  axis.bulk = all;
  if (p->so_far) axis.inits = p->so_far;
  KernStm part = *p->stm;
  part.u.axis = mem_copy(&axis, sizeof axis);
  kern_add(&copy, part);
  const KernStm *fresh = &kern_rename(c, NULL, kern_block(&copy, NULL, 0))->stms[0];
  kern_add(p->b, *fresh);
  const Term **totals = new_array(const Term *, fresh->binder_count + 1);
  for (int i = 0; i < fresh->binder_count; i++)
    totals[i] = term_var(fresh->binders[i]);
  p->so_far = totals;
}

static void add_aligned(void *state, KernBuilder *b, const KernStm *stm) {
  const Aligning *a = state;
  AlignedRounds p = { .a = a, .b = b, .stm = stm };
  p.first = kern_let(b, "first", a->first);
  p.end = kern_let(b, "end", term_add(p.first, stm->u.axis->width));
  const Term *begin = kern_let(b, "begin", a->begin.least),
             *over = kern_let(b, "over", a->end.greatest), *from = begin, *to = over;
  bool begins_apart = !term_same(a->begin.least, a->begin.greatest),
       ends_apart = !term_same(a->end.least, a->end.greatest);
  if (begins_apart) from = kern_let(b, "from", term_min(a->begin.greatest, over));
  if (ends_apart) to = kern_let(b, "to", term_max(from, a->end.least));
  if (begins_apart) add_rounds_of(&p, "_before", (Ends){ begin, from }, false);
  add_rounds_of(&p, "", (Ends){ from, to }, true);
  if (ends_apart) add_rounds_of(&p, "_behind", (Ends){ to, over }, false);
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i], p.so_far[i]);
}

// ---- the step

static void note_lock(KernVisitor *v, const KernStm *stm) {
  if (stm->kind != KERN_AXIS) return;
  AxisBind bind = stm->u.axis->bind;
  if (bind == BIND_LANE || bind == BIND_REG)
    map_put(v->state, stm->u.axis->index, stm->u.axis);
}

// Scalars, loads and checks alone.
static void see_more(KernVisitor *v, const KernStm *stm) {
  bool plain = stm->kind == KERN_LET || stm->kind == KERN_LOAD ||
               stm->kind == KERN_CHECK || stm->kind == KERN_IF;
  if (!plain) *(bool *)v->state = true;
}

const Kern *step_align(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  const KernStm *around = step_lockstep_around(kern, name);
  bool more = false;
  KernVisitor inside = { .stm = see_more, .state = &more };
  if (axis->bind != BIND_SEQ || (axis->role != AXIS_REDUCE && axis->role != AXIS_LOOP))
    return step_refuse(s, "%s is no reduction or loop", name);
  if (!around) return step_refuse(s, "%s is not in lanes", name);
  kern_visit_block(&inside, axis->body);
  if (more) return step_refuse(s, "%s does more than to compute and to load", name);
  Aligning a = { .c = s->c,
                 .vary = vary_stm(around),
                 .offsets = offsets_in(kern, axis),
                 .lock = map_new(NULL),
                 .axis = axis };
  a.offsets.wild = true;  // ends_of asks how far they go
  KernVisitor locks = { .stm = note_lock, .state = a.lock };
  kern_visit_stm(&locks, around);
  find_first(&a);
  if (!vary_term(a.vary, a.first) && !vary_term(a.vary, axis->width))
    return step_refuse(s, "%s begins and ends at the same place in all lanes", name);
  if (!ends_of(&a, a.first, MOST_DEPTH, &a.begin) || !ends_of_end(&a, &a.end))
    return step_refuse(s, "how far %s goes differs in another way than by the index",
                       name);
  return kern_name_axes(s->c, step_replace(s, kern, name, add_aligned, &a));
}
