// axis i < n { a[(i + 1) / 2] .. i % 2 .. }
//   =>   axis o < ceil (n / 2) { a[o] .. 0 ..; if 2 * o + 1 < n { a[o + 1] .. 1 .. } }
//
// Why: lanes would gather what neighbouring points read at divided indices, and go through both
// branches where every second one takes one.  Of each phase the indices are plain ones of `o`, and
// conditions on remainders are known.  Where these also ask what is another number in each round
// or row ((i + t) % 2, i % 2 == t % 2), a phase has both forms; of little work lanes do both, and
// load and store neighbours.
//
// Innermost maps, by a constant: where a divided index is that of an array, or is compared.
#include "kern/schedules/rewrites.h"
#include "kern/schedules/schedule.h"
#include "kern/sums.h"
#include "kern/tidy/tidy.h"

enum {
  MOST_PHASES = 4,
  LEAST_POINTS = 64,
  MOST_STMS = 240,
  FEW_STMS = 32,  // that lanes may do in vain
};

typedef struct Phases {
  KernMapper mapper;
  const Map *lets, *indices;  // Var -> const Term *; Var -> itself: those of axes
  const Var *index;           // of the axis at hand
  int64_t by;                 // phases; 0: none yet
  bool decides;               // a remainder that is compared
  bool little;                // the axis' body does little
} Phases;

static bool makes_quotient(PrimOp op) { return op == OP_DIV || op == OP_QUOT; }

// ---- divisions of sums

// c * quotient + rest, without what is no multiple of an index.
typedef struct Division {
  int64_t by;
  bool quotient, truncates;
  IndexSum multiple, rest;
} Division;

// Of indices alone: nothing wraps round.
static bool sums_indices(const Phases *p, const IndexSum *s) {
  for (int i = 0; i < s->count; i++)
    if (s->at[i]->kind != TERM_VAR || !map_has(p->indices, s->at[i]->u.var)) return false;
  return s->count > 0;
}

static int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b < 0); }

static bool has_no_negative(const IndexSum *s) {
  for (int i = 0; i < s->count; i++)
    if (s->by[i] < 0) return false;
  return s->constant >= 0;
}

static void add_multiple(IndexSum *s, const Term *at, int64_t by) {
  s->at[s->count] = at;
  s->by[s->count++] = by;
}

static void divide_sum(const IndexSum *sum, Division *d) {
  d->multiple = d->rest = (IndexSum){ 0 };
  for (int i = 0; i < sum->count; i++)
    if (sum->by[i] % d->by == 0)
      add_multiple(&d->multiple, sum->at[i], sum->by[i] / d->by);
    else
      add_multiple(&d->rest, sum->at[i], sum->by[i]);
  d->multiple.constant = floor_div(sum->constant, d->by);
  d->rest.constant = sum->constant - d->multiple.constant * d->by;
}

static bool compares_with_zero(const Term *t) {
  bool equal = t->kind == TERM_OP && (t->u.op.op == OP_EQ || t->u.op.op == OP_NE);
  return equal && term_is_i64(t->u.op.args[1], 0);
}

// x rem c == 0   =>   x mod c == 0
static const Term *with_modulus(const Phases *p, const Term *t) {
  if (!compares_with_zero(t)) return t;
  const Term *rest = t->u.op.args[0];
  while (rest && rest->kind == TERM_VAR)
    rest = map_get(p->lets, rest->u.var);
  if (!rest || rest->kind != TERM_OP || rest->u.op.op != OP_REM) return t;
  rest = term_op2(OP_MOD, rest->u.op.args[0], rest->u.op.args[1]);
  return term_op2(t->u.op.op, rest, term_i64(0));
}

// Is it a division of a sum of indices by a small constant?
static bool divides_indices(const Phases *p, const Term *t, Division *out,
                            IndexSum *sum) {
  if (t->kind != TERM_OP || t->type != PRIM_I64) return false;
  PrimOp op = t->u.op.op;
  bool rest = op == OP_MOD || op == OP_REM;
  if (!makes_quotient(op) && !rest) return false;
  const Term *by = t->u.op.args[1], *a = term_inlined(p->lets, t->u.op.args[0]);
  bool small = by->kind == TERM_CONST && by->u.constant.u.i > 1 &&
               by->u.constant.u.i <= MOST_PHASES;
  if (!small || !a || !sum_of(a, sum) || !sums_indices(p, sum)) return false;
  *out = (Division){ .by = by->u.constant.u.i,
                     .quotient = !rest,
                     .truncates = op == OP_QUOT || op == OP_REM };
  return !out->truncates || has_no_negative(sum);
}

// (2 * o + 1 + i) / 2   =>   o + (1 + i) / 2
static const Term *divided(KernMapper *m, const Term *t) {
  const Phases *p = m->state;
  const Term *operands[3];
  Division d;
  IndexSum sum;
  t = with_modulus(p, t);
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = divided(m, operands[i]);
  if (!divides_indices(p, t, &d, &sum)) return count ? term_with(t, operands, count) : t;
  divide_sum(&sum, &d);
  if (!d.multiple.count) return count ? term_with(t, operands, count) : t;
  PrimOp op = d.quotient ? OP_DIV : OP_MOD;
  const Term *rest = term_op2(op, sum_term(&d.rest), term_i64(d.by));
  return d.quotient ? term_add(sum_term(&d.multiple), rest) : rest;
}

static const KernBlock *divide_in(KernMapper *m, const KernBlock *block) {
  return kern_map_block(m, block);
}

// ---- how many phases

// Is the remainder a constant in each phase?
static bool is_known(const Phases *p, const IndexSum *s, int64_t by) {
  for (int i = 0; i < s->count; i++)
    if (s->at[i]->u.var != p->index && s->by[i] % by) return false;
  return true;
}

// Does it divide the axis' index, so that neighbours differ?  with: what it is compared with, or
// NULL.
static void see_divided(Phases *p, const Term *t, const Term *with) {
  const Term *operands[3];
  Division d;
  IndexSum sum;
  if (divides_indices(p, t, &d, &sum) && sum_factor(&sum, p->index) % d.by) {
    bool decides = with && !d.quotient;
    bool known = with && with->kind == TERM_CONST && is_known(p, &sum, d.by);
    if (decides && !known && p->little) return;
    if (d.by > p->by) p->by = d.by;
    p->decides = p->decides || decides;
  }
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    see_divided(p, operands[i], with);
}

static void see_inlined(Phases *p, const Term *t, const Term *with) {
  const Term *plain = term_inlined(p->lets, t);
  if (plain) see_divided(p, plain, with);
}

static void see_index(KernVisitor *v, Access access, bool stores) {
  for (int i = 0; i < access.tensor->rank && !stores; i++)
    see_inlined(v->state, access.index[i], NULL);
}

static bool compares(const Term *t) {
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_ADD;
  return op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE;
}

static void see_comparison(KernVisitor *v, const Term *t) {
  const Term *operands[3];
  t = with_modulus(v->state, t);
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    if (compares(t))
      see_inlined(v->state, operands[i], operands[1 - i]);
    else
      see_comparison(v, operands[i]);
}

static void see_plain_let(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(v->state, stm->binders[0], stm->u.term);
}

static void see_index_of(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS) map_put(v->state, stm->u.axis->index, stm);
}

static Phases phases_in(Compiler *c, const Kern *kern) {
  Map *lets = map_new(NULL), *indices = map_new(NULL);
  KernVisitor let = { .stm = see_plain_let, .state = lets };
  KernVisitor axis = { .stm = see_index_of, .state = indices };
  kern_visit_block(&let, kern->body);
  kern_visit_block(&axis, kern->body);
  return (Phases){ .mapper = { .c = c, .term = divided, .block = divide_in },
                   .lets = lets,
                   .indices = indices };
}

typedef struct BodySize {
  int stms;
  bool loops;  // of which nothing says that they are short
  bool calls;  // or library functions
} BodySize;

static void see_body_term(KernVisitor *v, const Term *t) {
  BodySize *s = v->state;
  s->calls = s->calls || term_calls_library(t);
}

static void see_body_size(KernVisitor *v, const KernStm *stm) {
  BodySize *s = v->state;
  s->stms++;
  s->calls = s->calls || stm->kind == KERN_CALL;
  bool short_loop = stm->kind == KERN_AXIS && stm->u.axis->width->kind == TERM_CONST &&
                    stm->u.axis->bind == BIND_SEQ;
  s->loops =
      s->loops || stm->kind == KERN_WHILE || (stm->kind == KERN_AXIS && !short_loop);
}

static bool has_many_points(const Term *width) {
  return width->kind != TERM_CONST || width->u.constant.u.i >= LEAST_POINTS;
}

// Finds `by`; false: there is none, or copies would be many.
static bool finds_phases(Phases *p, const Axis *axis) {
  BodySize size = { 0 };
  KernVisitor count = { .stm = see_body_size, .term = see_body_term, .state = &size };
  KernVisitor v = { .term = see_comparison, .access = see_index, .state = p };
  p->index = axis->index;
  kern_visit_block(&count, axis->body);
  p->little = !size.loops && !size.calls && size.stms <= FEW_STMS;
  kern_visit_block(&v, axis->body);
  return p->by && size.stms * p->by <= MOST_STMS && (!size.loops || p->decides);
}

// ---- the phases

static bool is_multiple(const Kern *kern, const Term *width, int64_t by) {
  const Term *made = kern->outside ? term_inlined(kern->outside, width) : width;
  IndexSum sum;
  if (!made || !sum_of(made, &sum)) return false;
  for (int i = 0; i < sum.count; i++)
    if (sum.by[i] % by) return false;
  return sum.constant % by == 0;
}

// let i = first + k; body
static const KernBlock *phase(Phases *p, const Axis *axis, const Term *first, int64_t k) {
  Compiler *c = p->mapper.c;
  KernBuilder b = kern_builder(c, axis->index->loc);
  const Var *index = kern_index(c, axis->index->name, axis->index->loc);
  const Term *at = k ? term_add(first, term_i64(k)) : first;
  Map *replace = map_new(NULL);
  if (k) kern_let_var(&b, index, at);
  map_put(replace, axis->index, k ? term_var(index) : at);
  const KernBlock *body = kern_rename(c, replace, axis->body);
  for (int i = 0; i < body->count; i++)
    kern_add(&b, body->stms[i]);
  return kern_block(&b, NULL, 0);
}

static void add_where(KernBuilder *b, const Term *condition, const KernBlock *body) {
  KernBuilder nothing = kern_builder(b->c, b->loc);
  kern_add(b, (KernStm){ .kind = KERN_IF,
                         .u.cond = { condition, body, kern_block(&nothing, NULL, 0), 0,
                                     false } });
}

static const Axis *in_phases(Phases *p, const Kern *kern, const Axis *axis) {
  Compiler *c = p->mapper.c;
  bool whole = is_multiple(kern, axis->width, p->by);
  Axis *outer = mem_copy(axis, sizeof *axis);
  KernBuilder b = kern_builder(c, axis->index->loc);
  outer->name = NULL;
  outer->index = kern_index(c, axis->index->name, axis->index->loc);
  const Term *by = term_i64(p->by);
  outer->width = whole ? term_quot(axis->width, by) : term_ceil_div(axis->width, by);
  const Term *first = kern_let(&b, "first", term_mul(term_var(outer->index), by));
  for (int64_t k = 0; k < p->by; k++) {
    const KernBlock *body = phase(p, axis, first, k);
    if (k && !whole) {
      add_where(&b, term_less(term_add(first, term_i64(k)), axis->width), body);
      continue;
    }
    for (int i = 0; i < body->count; i++)
      kern_add(&b, body->stms[i]);
  }
  outer->body = kern_block(&b, NULL, 0);
  return outer;
}

// ---- which axes

static void see_map_within(KernVisitor *v, const KernStm *stm) {
  bool *found = v->state;
  bool map = stm->kind == KERN_AXIS && stm->u.axis->role == AXIS_MAP;
  *found |= map && has_many_points(stm->u.axis->width);
}

// An innermost map, of more than a few points.
static bool is_of_neighbours(const KernStm *stm) {
  if (stm->kind != KERN_AXIS) return false;
  const Axis *axis = stm->u.axis;
  bool within = false;
  KernVisitor v = { .stm = see_map_within, .state = &within };
  kern_visit_block(&v, axis->body);
  bool plain = axis->bind == BIND_GRID || axis->bind == BIND_SEQ;
  return plain && axis->role == AXIS_MAP && has_many_points(axis->width) && !within;
}

typedef struct InPhases {
  KernMapper mapper;
  Phases p;
  const Kern *kern;
  bool found;
} InPhases;

static const KernBlock *phases_of_block(KernMapper *m, const KernBlock *block) {
  InPhases *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = block->stms[i];
    b.loc = stm.loc;
    x->p.by = 0;
    x->p.decides = false;
    if (is_of_neighbours(&stm) && finds_phases(&x->p, stm.u.axis)) {
      x->found = true;
      stm.u.axis = in_phases(&x->p, x->kern, stm.u.axis);
      kern_add(&b, stm);
    } else
      kern_add(&b, kern_map_stm(m, &stm));
  }
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

const Kern *kern_in_phases(Compiler *c, const Kern *kern) {
  if (kern_updates_in_place(kern->body)) return kern;
  InPhases x = { { .c = c, .block = phases_of_block }, phases_in(c, kern), kern, false };
  x.mapper.state = &x;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = phases_of_block(&x.mapper, kern->body);
  if (!x.found) return kern;
  Phases copied = phases_in(c, out);
  copied.mapper.state = &copied;
  out->body = kern_load_once(c, kern_settle(c, divide_in(&copied.mapper, out->body)));
  return kern_name_axes(c, out);
}
