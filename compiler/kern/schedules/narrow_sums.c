// axis n: i < n reduce { .. in {i64(x < t)} }
//   =>  axis n0: o < n/T reduce { let s: u16 = axis n: i < T reduce { .. in {u16(x < t)} }
//                                 in {i64(s)} }
//
// Sums of whole numbers in 16 or 32 bits, in blocks so short that these suffice.  Why: a vector has
// two or four times as many lanes of them; what is counted is often an i64 for no other reason than
// that its count is a size.
#include "kern/kern_vary.h"
#include "kern/ranges.h"
#include "kern/schedules/rewrites.h"
#include "kern/steps/step.h"

enum {
  SHORTEST = 1024,  // points of a block: less costs more than it saves
  FEW = 32,         // points of a sum that is straight code in the end
};
static const int64_t LONGEST = (int64_t)1 << 30;

// A sum of whole numbers, and in what it can be taken.
typedef struct NarrowSum {
  bool found;
  PrimType type;
} NarrowSum;

typedef struct NarrowSums {
  Step step;
  const Map *ranges;
  Vec(Name) axes;         // that may have such sums
  const NarrowSum *sums;  // of one of them, for each of its operators
  int64_t points;         // of its blocks
} NarrowSums;

// ---- what may be narrow

static bool is_sum(const KernOp *op) {
  if (op->count != 1 || op->block->count != 1 || op->block->stms[0].kind != KERN_LET)
    return false;
  const Term *t = op->block->stms[0].u.term, *neutral = op->neutral[0];
  if (t->kind != TERM_OP || t->u.op.op != OP_ADD || !prim_is_int(t->type)) return false;
  bool left = term_is_var(t->u.op.args[0], op->params[0]);
  return term_is_var(t->u.op.args[left ? 0 : 1], op->params[0]) &&
         term_is_var(t->u.op.args[left ? 1 : 0], op->params[1]) &&
         term_is_var(op->block->results[0], op->block->stms[0].binders[0]) &&
         neutral->kind == TERM_CONST && neutral->u.constant.u.i == 0;
}

// So many numbers have a sum that fits: a power of two.
static int64_t most_points(Bounds r, PrimType type) {
  int64_t points = 1;
  while (points < LONGEST &&
         bounds_fit((Bounds){ r.low * points * 2, r.high * points * 2 }, type))
    points *= 2;
  return bounds_fit(r, type) ? points : 0;
}

static int wider(int bytes, PrimType type) {
  int own = prim_size_bytes(type);
  return own > bytes ? own : bytes;
}

// Of what a point loads and computes, but for indices and numbers that are small as they are made:
// other numbers decide how many lanes there are.
static int widest_number(const Axis *axis) {
  int bytes = 2;
  for (int i = 0; i < axis->body->count; i++) {
    const KernStm *stm = &axis->body->stms[i];
    const PrimType type = stm->binders[0]->type.elem;
    if (stm->kind == KERN_LOAD || prim_is_float(type)) bytes = wider(bytes, type);
  }
  for (int i = 0; i < axis->op_count; i++)
    for (int k = 0; k < axis->ops[i].count; k++)
      if (!is_sum(&axis->ops[i])) bytes = wider(bytes, axis->ops[i].params[k]->type.elem);
  return bytes;
}

static NarrowSum narrow_sum(Bounds r, int least, int bytes) {
  static const PrimType types[] = { PRIM_U16, PRIM_I16, PRIM_U32, PRIM_I32 };
  for (int i = 0; i < 4; i++) {
    int size = prim_size_bytes(types[i]);
    if (size >= least && size < bytes && most_points(r, types[i]) >= SHORTEST)
      return (NarrowSum){ true, types[i] };
  }
  return (NarrowSum){ 0 };
}

static bool is_straight(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind != KERN_LET && block->stms[i].kind != KERN_LOAD) return false;
  return true;
}

// `vary`: of the lanes and registers around it; or NULL: then short rows would not fill vectors.
static bool may_have_sums(const Axis *axis, const Vary *vary) {
  bool few = axis->rest ||
             (axis->width->kind == TERM_CONST && axis->width->u.constant.u.i < FEW);
  return axis->role == AXIS_REDUCE && axis->bind == BIND_SEQ && !few &&
         is_straight(axis->body) && (vary ? !vary_term(vary, axis->width) : axis->many);
}

static void find_axes(NarrowSums *s, const KernBlock *block, const Vary *around) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Vary *vary = !around && kern_is_lock(stm) ? vary_stm(stm) : around;
    if (stm->kind == KERN_AXIS && may_have_sums(stm->u.axis, vary))
      vec_push(&s->axes, stm->u.axis->name);
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      find_axes(s, *inner, vary);
  }
}

// Its sums, and the points of a block; 0: none is narrow.
static int64_t find_sums(const NarrowSums *s, const Axis *axis, NarrowSum *sums) {
  int least = widest_number(axis);
  int64_t points = LONGEST;
  bool found = false;
  for (int i = 0, at = 0; i < axis->op_count; at += axis->ops[i++].count) {
    PrimType type = axis->ops[i].params[0]->type.elem;
    Bounds r = kern_range(s->ranges, axis->body->results[at]);
    r = bounds_hull(r, (Bounds){ 0, 0 });
    sums[i] = is_sum(&axis->ops[i]) ? narrow_sum(r, least, prim_size_bytes(type))
                                    : (NarrowSum){ 0 };
    if (!sums[i].found) continue;
    int64_t most = most_points(r, sums[i].type);
    points = most < points ? most : points;
    found = true;
  }
  return found ? points : 0;
}

// ---- the result

// A let of the body's as a number of that type: what it is made of, not cut off from what it is.
static const Term *narrow_result(const KernBlock *body, const Term *t, PrimType type) {
  for (int i = 0; t->kind == TERM_VAR && i < body->count; i++) {
    const KernStm *stm = &body->stms[i];
    if (stm->kind != KERN_LET || stm->binders[0] != t->u.var) continue;
    const Term *is = stm->u.term;
    if (is->kind == TERM_CONVERT && !prim_is_float(is->u.arg->type))
      return term_convert(type, is->u.arg);
    if (is->kind == TERM_SELECT)
      return term_select(is->u.select.condition, term_convert(type, is->u.select.a),
                         term_convert(type, is->u.select.b));
  }
  return term_convert(type, t);
}

static KernOp sum_operator(Compiler *c, PrimType type, Loc loc) {
  const Var **params = new_array(const Var *, 2);
  const Term **result = new_array(const Term *, 1), **zero = new_array(const Term *, 1);
  params[0] = var_new(c, name_of(c->names, "x"), type_scalar(type), loc);
  params[1] = var_new(c, name_of(c->names, "y"), type_scalar(type), loc);
  KernBuilder b = kern_builder(c, loc);
  result[0] =
      kern_let(&b, "sum", term_op2(OP_ADD, term_var(params[0]), term_var(params[1])));
  zero[0] = term_convert(type, term_i64(0));
  return (KernOp){ params, kern_block(&b, result, 1), zero, 1, true };
}

// The same, with narrow sums, which become what they were behind it.
static void add_narrow_sums(void *state, KernBuilder *b, const KernStm *stm) {
  const NarrowSums *s = state;
  Axis axis = *stm->u.axis;
  KernBuilder body = kern_builder(b->c, stm->loc), behind = body;
  KernOp *ops = mem_copy(axis.ops, (size_t)axis.op_count * sizeof(KernOp));
  const Var **binders =
      mem_copy(stm->binders, (size_t)stm->binder_count * sizeof(const Var *));
  const Term **results =
      mem_copy(axis.body->results, (size_t)stm->binder_count * sizeof(const Term *));
  for (int i = 0; i < axis.body->count; i++)
    kern_add(&body, axis.body->stms[i]);
  for (int i = 0, at = 0; i < axis.op_count; at += axis.ops[i++].count) {
    PrimType type = s->sums[i].type;
    if (!s->sums[i].found) continue;
    ops[i] = sum_operator(b->c, type, stm->loc);
    results[at] = kern_let(&body, "part", narrow_result(axis.body, results[at], type));
    binders[at] = var_new(b->c, stm->binders[at]->name, type_scalar(type), stm->loc);
    kern_let_var(&behind, stm->binders[at],
                 term_convert(stm->binders[at]->type.elem, term_var(binders[at])));
  }
  axis.ops = ops;
  axis.body = kern_block(&body, results, stm->binder_count);
  kern_axis(b, axis, binders, stm->binder_count);
  vec_each (const KernStm *, let, &behind.stms)
    kern_add(b, *let);
}

static const Kern *blocks_of_sums(NarrowSums *s, const Kern *kern, Name name,
                                  int64_t points) {
  kern = step_split(&s->step, kern, name, points, SPLIT_SHORT);
  return step_replace(&s->step, kern, name, add_narrow_sums, s);
}

static const Kern *with_narrow_sums(NarrowSums *s, const Kern *kern, const Name *name) {
  const Axis *axis = step_axis(&s->step, kern, *name)->u.axis;
  NarrowSum *sums = new_array(NarrowSum, axis->op_count + 1);
  s->points = find_sums(s, axis, sums);
  s->sums = sums;
  return s->points ? blocks_of_sums(s, kern, *name, s->points) : kern;
}

const Kern *kern_narrow_sums(Compiler *c, const Kern *kern) {
  NarrowSums s = { .step = { .c = c }, .ranges = kern_ranges(kern->body) };
  find_axes(&s, kern->body, NULL);
  const Kern *out = kern;
  vec_each (const Name *, name, &s.axes)
    out = with_narrow_sums(&s, out, name);
  if (out == kern) return kern;
  Kern *tidy = mem_copy(out, sizeof *out);
  tidy->body = kern_live_block(c, out->body);
  out = kern_name_axes(c, tidy);
  if (c->check_ir) kern_check(c, out);
  return out;
}
