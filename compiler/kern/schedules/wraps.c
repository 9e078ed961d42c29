// axis i < n reduce { .. (base + i) % n .. }
//   =>   let first = base % n; let turn = n - first;
//        axis n_before: i < turn reduce { .. first + i .. }
//        axis n: turn <= i < n reduce { .. i - turn .. }
//
// A row read from another place on, and round: shoelaces, correlations, periodic sums.  Why: one
// division in the place of one per point, and loops whose elements are neighbours.  Maps turn if
// that place is found within the kernel (rotations of rows); others are left to `interior`.
//
// Of (base - i) % n the place goes down from `first`, and from n - 1 on after the turn.  In a chunk
// of a row n is the row's width, which is no less than the chunk's.
#include "kern/kern_ask.h"
#include "kern/offsets.h"
#include "kern/schedules/rewrites.h"
#include "kern/steps/step.h"

enum { MOST_TURNS = 2 };  // the borders of one axis

typedef struct Wraps {
  KernMapper rows;    // finds axes
  KernMapper points;  // rewrites what depends on the index of one
  const Kern *kern;
  Vec(Name) turned;  // axes that were rewritten
  // of the axis at hand
  const Axis *axis;
  Offsets offsets;
  KernBuilder *before;
  const Term *safe;  // where nothing overflows
  bool found;
} Wraps;

// ---- places

// Is the axis' width at most n?
static bool is_within(const Wraps *x, const Term *n) {
  const Term *width = x->axis->width;
  if (term_same(width, n)) return true;
  const Term *let =
      width->kind == TERM_VAR ? map_get(x->offsets.lets, width->u.var) : NULL;
  if (!let || let->kind != TERM_OP || let->u.op.op != OP_MIN) return false;
  const Term *left = let->u.op.args[1];  // min(size, n - start)
  if (left->kind != TERM_OP || left->u.op.op != OP_SUB) return false;
  const Term *start = left->u.op.args[1];
  return term_same(left->u.op.args[0], n) && start->kind == TERM_VAR && x->kern->starts &&
         map_has(x->kern->starts, start->u.var);
}

// The places in order: min <= base - i where they fall, base + i <= max where they rise.
static void demand_no_overflow(Wraps *x, const Term *base, const Term *n, bool falls) {
  if (offset_is_tame(&x->offsets, base)) return;
  const Term *safe = falls ? term_at_most(term_add(term_i64(INT64_MIN), n), base)
                           : term_at_most(base, term_sub(term_i64(INT64_MAX), n));
  x->safe = term_and(x->safe, safe);
}

static const Term *place(Wraps *x, const Term *base, const Term *n, bool falls) {
  const Term *i = term_var(x->axis->index);
  const Term *first =
      kern_let(x->before, "first", term_op2(OP_MOD, base, term_max(n, term_i64(1))));
  demand_no_overflow(x, base, n, falls);
  x->found = true;
  if (falls) {
    const Term *down = term_sub(first, i);
    return term_select(term_at_most(i, first), down, term_add(down, n));
  }
  const Term *turn = kern_let(x->before, "turn", term_sub(n, first));
  return term_select(term_less(i, turn), term_add(i, first), term_sub(i, turn));
}

// Turns near the ends of all rows are what blocks at borders are for.
static bool turns_apart(const Wraps *x, const Term *base) {
  return x->axis->role != AXIS_MAP || !kern_host_knows(x->kern, base);
}

static const Term *without_wrap(KernMapper *m, const Term *t) {
  Wraps *x = m->state;
  const Term *operands[3], *base, *index = term_var(x->axis->index);
  if (t->kind == TERM_OP && t->u.op.op == OP_MOD && t->type == PRIM_I64 &&
      is_within(x, t->u.op.args[1])) {
    const Term *a = t->u.op.args[0], *n = t->u.op.args[1];
    if (offset_from(&x->offsets, a, index, &base) && turns_apart(x, base))
      return place(x, base, n, false);
    if (offset_falls(&x->offsets, a, index, &base) && turns_apart(x, base))
      return place(x, base, n, true);
  }
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = without_wrap(m, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

// ---- axes

static const KernBlock *alone(Compiler *c, const KernStm *stm) {
  KernBuilder b = kern_builder(c, stm->loc);
  const Term **results = new_array(const Term *, stm->binder_count + 1);
  kern_add(&b, *stm);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = term_var(stm->binders[i]);
  return kern_rename(c, NULL, kern_block(&b, results, stm->binder_count));
}

// Where it is not known that nothing overflows the axis stays as well.
static KernStm where_safe(const Wraps *x, const KernStm *stm, const KernStm *turned) {
  if (term_is_bool(x->safe, true)) return *turned;
  Compiler *c = x->rows.c;
  return (KernStm){ .kind = KERN_IF,
                    .loc = stm->loc,
                    .binders = stm->binders,
                    .binder_count = stm->binder_count,
                    .u.cond = { x->safe, alone(c, turned), alone(c, stm), 99, false } };
}

static void note_in_axis(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

static bool may_turn(const KernStm *stm) {
  if (stm->kind != KERN_AXIS || stm->u.axis->bind != BIND_SEQ) return false;
  AxisRole role = stm->u.axis->role;
  return role != AXIS_HIST;
}

static KernStm turned_axis(Wraps *x, KernBuilder *b, const KernStm *stm) {
  x->axis = stm->u.axis;
  x->before = b;
  x->offsets = offsets_in(x->kern, stm->u.axis);
  x->offsets.wild = true;
  x->safe = term_bool(true);
  x->found = false;
  KernVisitor v = { .binder = note_in_axis, .state = x->offsets.bound };
  kern_visit_stm(&v, stm);
  KernStm turned = kern_map_stm(&x->points, stm);
  if (!x->found) return *stm;
  vec_push(&x->turned, x->axis->name);
  return where_safe(x, stm, &turned);
}

static const KernBlock *turned_rows(KernMapper *m, const KernBlock *block) {
  Wraps *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = block->stms[i];
    b.loc = stm.loc;
    if (may_turn(&stm)) stm = turned_axis(x, &b, &stm);
    kern_add(&b, kern_map_stm(m, &stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

// Two loops at each turn; a scan stays one.
static const Kern *cut_at_turns(Compiler *c, const Kern *kern, Name axis, int turns) {
  Step step = { .c = c };
  const Kern *next = turns ? step_cut(&step, kern, axis) : NULL;
  if (!next) return kern;
  next =
      cut_at_turns(c, next, name_of(c->names, text_format("%s_before", axis)), turns - 1);
  return cut_at_turns(c, next, axis, turns - 1);
}

const Kern *kern_turn_rows(Compiler *c, const Kern *kern) {
  Wraps x = { .kern = kern };
  x.rows = (KernMapper){ .c = c, .block = turned_rows, .state = &x };
  x.points =
      (KernMapper){ .c = c, .term = without_wrap, .block = kern_map_block, .state = &x };
  Kern turned = *kern;
  turned.body = turned_rows(&x.rows, kern->body);
  if (!x.turned.count) return kern;
  kern = kern_name_axes(c, &turned);
  vec_each (const Name *, axis, &x.turned)
    kern = cut_at_turns(c, kern, *axis, MOST_TURNS);
  return kern;
}
