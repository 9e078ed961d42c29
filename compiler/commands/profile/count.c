// How much a kernel computes and touches, from its code and what it was launched with: for some of
// its items, whose code is followed as far as integers are known.  What depends on data counts half
// of both branches' arithmetic, and all that either reads or writes; loops without a known number
// of rounds make the figures lower bounds.
#include "base/map.h"
#include "commands/profile/profile.h"
#include <string.h>

enum { SAMPLES = 8, MOST_ROUNDS = 1000 };

typedef struct Counting {
  const TraceKernel *k;
  Map *values;  // Var -> Prim, of the integers that are known
  double item;  // its number
  double operations[COMPUTED_KINDS];
  double *read, *written;  // elements, by parameter
  bool is_bound;           // there is more
} Counting;

static void count_block(Counting *n, const ImpBlock *block, double weight,
                        double touched);

// ---- values

static bool known_value(const Counting *n, const ImpExp *e, Prim *out);

static bool item_number(const Counting *n, ItemNumber item, Prim *out) {
  int64_t id = (int64_t)n->item, size = n->k->group_size;
  switch (item) {
  case ITEM_GLOBAL_ID: *out = prim_i64(id); return true;
  case ITEM_LOCAL_ID: *out = prim_i64(size ? id % size : 0); return true;
  case ITEM_GROUP_ID: *out = prim_i64(size ? id / size : 0); return true;
  case ITEM_LOCAL_SIZE: *out = prim_i64(size); return true;
  case ITEM_LOCAL_STEPS:
  case ITEM_SUB_STEPS:
  case ITEM_ATOMIC_BYTES: return false;
  }
  return false;
}

static bool value_of_op(const Counting *n, const ImpExp *e, Prim *out) {
  Prim args[3];
  for (int i = 0; i < op_arity(e->u.op.op); i++)
    if (!known_value(n, e->u.op.args[i], &args[i])) return false;
  return prim_apply(e->u.op.op, args, out);
}

// Only scalars that follow from the launch and the item.
static bool known_value(const Counting *n, const ImpExp *e, Prim *out) {
  const Prim *known = NULL;
  Prim inner;
  if (e->lanes) return false;
  switch (e->kind) {
  case IMP_VAR:
    known = map_get(n->values, e->u.var);
    if (known) *out = *known;
    return known != NULL;
  case IMP_CONST: *out = e->u.constant; return true;
  case IMP_OP: return value_of_op(n, e, out);
  case IMP_CONVERT:
    if (!known_value(n, e->u.convert.arg, &inner)) return false;
    *out = prim_convert(e->type, inner);
    return true;
  case IMP_SELECT:
    if (!known_value(n, e->u.select.condition, &inner)) return false;
    return known_value(n, inner.u.i ? e->u.select.a : e->u.select.b, out);
  case IMP_ITEM: return item_number(n, e->u.item, out);
  case IMP_BITS:
  case IMP_LOAD:
  case IMP_SHUFFLE:
  case IMP_TUNING:
  case IMP_SPLAT:
  case IMP_IOTA:
  case IMP_STRIDED:
  case IMP_PERMUTE:
  case IMP_PICK:
  case IMP_ANY:
  case IMP_ALL:
  case IMP_MOST:
  case IMP_COUNT: return false;
  }
  return false;
}

static void know(Counting *n, const Var *var, Prim value) {
  map_put(n->values, var, mem_copy(&value, sizeof value));
}

static void set_value(Counting *n, const Var *var, const ImpExp *value) {
  Prim known;
  bool is_known = value && !value->lanes && !prim_is_float(value->type) &&
                  known_value(n, value, &known);
  if (is_known)
    know(n, var, known);
  else
    map_put(n->values, var, NULL);
}

// What a block assigns is not known after it, nor within it if it is run again.
static void forget_assigned(Counting *n, const ImpBlock *block) {
  vec_each (const ImpStm *const *, at, block) {
    if ((*at)->kind == IMP_ASSIGN) map_put(n->values, (*at)->u.assign.var, NULL);
    const ImpBlock *inner[2];
    int count = imp_blocks(*at, inner);
    for (int i = 0; i < count; i++)
      forget_assigned(n, inner[i]);
  }
}

// ---- counting

// `weight`: how often it is computed; `touched`: how often it may be.
typedef struct CountedExp {
  Counting *n;
  double weight, touched;
} CountedExp;

static void count_access(const Counting *n, double *counts, const Mem *mem,
                         double elements) {
  for (int i = 0; i < n->k->code->param_count; i++)
    if (n->k->code->params[i].is_mem && n->k->code->params[i].mem == mem)
      counts[i] += elements;
}

static ComputedKind computed_kind(PrimType type) {
  bool is_wide = prim_size_bytes(type) == 8;
  if (prim_is_float(type)) return is_wide ? COMPUTED_F64 : COMPUTED_F32;
  return is_wide ? COMPUTED_I64 : COMPUTED_I32;
}

// Operations on integers that follow from the launch and the item compute indices, which are means.
static bool counts(const Counting *n, const ImpExp *e) {
  Prim known;
  if (prim_is_float(e->u.op.operands)) return true;
  return prim_is_int(e->u.op.operands) && !known_value(n, e, &known);
}

static void count_exp(void *state, const ImpExp *e) {
  const CountedExp *c = state;
  double lanes = e->lanes ? e->lanes : 1;
  if (e->kind == IMP_OP && counts(c->n, e))
    c->n->operations[computed_kind(e->u.op.operands)] +=
        c->weight * lanes * (e->u.op.op == OP_MAD || e->u.op.op == OP_FMA ? 2 : 1);
  if (e->kind == IMP_LOAD)
    count_access(c->n, c->n->read, e->u.load.mem, c->touched * lanes);
  if (e->kind == IMP_STRIDED)
    count_access(c->n, c->n->read, e->u.strided.mem, c->touched * lanes);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    count_exp(state, operands[i]);
}

static void count_loop(Counting *n, const ImpStm *stm, double weight, double touched) {
  Prim bound = prim_i64(1);
  if (!known_value(n, stm->u.loop.bound, &bound)) n->is_bound = true;
  double rounds = bound.u.i > 0 ? (double)bound.u.i : 0;
  if (rounds == 0) return;
  forget_assigned(n, &stm->u.loop.body);
  know(n, stm->u.loop.var, prim_i64(bound.u.i / 2));
  count_block(n, &stm->u.loop.body, weight * rounds, touched * rounds);
  forget_assigned(n, &stm->u.loop.body);
}

// Run as it stands, if that is known; a search, say, has as many rounds as the data want.
static void count_while(Counting *n, const ImpStm *stm, double weight, double touched) {
  const ImpBlock *body = &stm->u.loop_while.body;
  Prim goes_on;
  bool known = known_value(n, stm->u.loop_while.condition, &goes_on);
  for (int i = 0; known && goes_on.u.i && i < MOST_ROUNDS; i++) {
    count_block(n, body, weight, touched);
    known = known_value(n, stm->u.loop_while.condition, &goes_on);
  }
  if (known && !goes_on.u.i) return;
  n->is_bound = true;
  forget_assigned(n, body);
  count_block(n, body, weight, touched);
  forget_assigned(n, body);
}

static void count_if(Counting *n, const ImpStm *stm, double weight, double touched) {
  Prim condition;
  if (known_value(n, stm->u.cond.condition, &condition)) {
    count_block(n, condition.u.i ? &stm->u.cond.then_body : &stm->u.cond.else_body,
                weight, touched);
    return;
  }
  count_block(n, &stm->u.cond.then_body, weight / 2, touched);
  forget_assigned(n, &stm->u.cond.then_body);
  count_block(n, &stm->u.cond.else_body, weight / 2, touched);
  forget_assigned(n, &stm->u.cond.else_body);
}

static void count_stm(Counting *n, const ImpStm *stm, double weight, double touched) {
  imp_each_exp(stm, count_exp, &(CountedExp){ n, weight, touched });
  if (stm->kind == IMP_DECLARE) set_value(n, stm->u.declare.var, stm->u.declare.value);
  if (stm->kind == IMP_ASSIGN) set_value(n, stm->u.assign.var, stm->u.assign.value);
  if (stm->kind == IMP_STORE) {
    int lanes = stm->u.store.value->lanes;
    count_access(n, n->written, stm->u.store.mem, touched * (lanes ? lanes : 1));
  }
  if (stm->kind == IMP_ATOMIC) {
    count_access(n, n->read, stm->u.atomic.mem, touched);
    count_access(n, n->written, stm->u.atomic.mem, touched);
  }
  if (stm->kind == IMP_FOR) count_loop(n, stm, weight, touched);
  if (stm->kind == IMP_IF) count_if(n, stm, weight, touched);
  if (stm->kind == IMP_CALL) n->is_bound = true;
  if (stm->kind == IMP_WHILE) count_while(n, stm, weight, touched);
}

static void count_block(Counting *n, const ImpBlock *block, double weight,
                        double touched) {
  vec_each (const ImpStm *const *, at, block)
    count_stm(n, *at, weight, touched);
}

// ---- kernels

// What the launches were given, in the mean.
static void set_params(Counting *n) {
  const TraceKernel *k = n->k;
  for (int i = 0; i < k->code->param_count && i < k->argument_count; i++) {
    const KernelParam *p = &k->code->params[i];
    if (p->is_mem || prim_is_float(p->var->type.elem)) continue;
    Prim value = prim_int(PRIM_I64, (int64_t)(k->scalars[i] / (double)k->runs.count));
    know(n, p->var, prim_convert(p->var->type.elem, value));
  }
}

// Each array counts once if it is read and once if it is written: as far as that is known, only the
// elements that are.
static int64_t touched_bytes(const Counting *n, int param) {
  const TraceKernel *k = n->k;
  ImpAccess access = imp_access(k->code, param);
  int64_t whole = k->arguments[param];
  if (!k->code->params[param].is_mem || n->is_bound)
    return whole * (access.reads + access.writes);
  double size = prim_size_bytes(k->code->params[param].mem->elem);
  double read = n->read[param] * size, written = n->written[param] * size;
  if (!(read < (double)whole)) read = (double)whole;
  if (!(written < (double)whole)) written = (double)whole;
  return (access.reads ? (int64_t)read : 0) + (access.writes ? (int64_t)written : 0);
}

void trace_count(TraceKernel *k) {
  if (!k->code || !k->runs.count || k->items <= 0) return;
  Counting n = { .k = k };
  n.read = new_array(double, k->code->param_count + 1);
  n.written = new_array(double, k->code->param_count + 1);
  double each = k->items / (double)k->runs.count;  // items of a launch
  int samples = each < SAMPLES ? (int)each : SAMPLES;
  for (int i = 0; i < samples; i++) {
    n.values = map_new(NULL);
    n.item = samples == each ? i : (i + 0.5) * each / samples;
    set_params(&n);
    count_block(&n, &k->code->body, k->items / samples, k->items / samples);
  }
  for (int i = 0; i < k->code->param_count && i < k->argument_count; i++)
    k->runs.bytes += touched_bytes(&n, i);
  memcpy(k->operations, n.operations, sizeof n.operations);
  k->is_bound = n.is_bound;
}
