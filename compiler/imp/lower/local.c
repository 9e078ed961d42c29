//        guard fits(bytes as Flat sees them) { .. launch k (local: a n, b m) .. }
//   =>   guard fits(what the launch of k will count) { .. }
//
// A version within groups runs if its arrays fit into local memory.  Flat counts those of the
// program; kernels have more, for trees and scans, and each begins at a multiple of so many bytes.
// The sizes are computed within the version, and the guard is asked before: so definitions are
// replaced by what they stand for, where that only takes numbers from outside.
#include "imp/lower/lower.h"

// As rt_local_need in runtime/kernels.h counts them.
enum { LOCAL_ALIGN = 64, LOCAL_OWN = 64 };

// Arrays of the same size.
typedef struct Alike {
  const ImpExp *count;
  int64_t elem_bytes, arrays;
} Alike;
typedef Vec(Alike) AlikeVec;

typedef struct LocalNeed {
  Map *values;  // Var -> const ImpExp *: defined in the version, once
  Map *bound;   // Var -> Var: bound there in any way
  const ImpExp *most;
  bool unknown;
  int parts;  // of expressions so far
} LocalNeed;

// What is defined by sums of itself over and over would be written out twice as long each time.
enum { MOST_PARTS = 500 };

// ---- what the version binds

static void bind_var(LocalNeed *s, const Var *var) { map_put(s->bound, var, var); }

static void note_bound(LocalNeed *s, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE) {
    bind_var(s, stm->u.declare.var);
    if (stm->u.declare.value)
      map_put(s->values, stm->u.declare.var, stm->u.declare.value);
  }
  if (stm->kind == IMP_FOR) bind_var(s, stm->u.loop.var);
  if (stm->kind == IMP_READ) bind_var(s, stm->u.read.var);
  for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
    bind_var(s, stm->u.call.vars[i]);
}

static void note_all_bound(LocalNeed *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    note_bound(s, *stm);
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      note_all_bound(s, inner[i]);
  }
}

// What is assigned has no one value.
static void forget_assigned(LocalNeed *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_ASSIGN) {
      bind_var(s, (*stm)->u.assign.var);
      map_put(s->values, (*stm)->u.assign.var, NULL);
    }
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      forget_assigned(s, inner[i]);
  }
}

// ---- expressions outside of it

static const ImpExp *outside(LocalNeed *s, const ImpExp *e);

// Computed earlier than the program says, an operation must not fail.
static bool cannot_fail(const ImpExp *e) {
  PrimOp op = e->u.op.op;
  bool divides = op == OP_DIV || op == OP_MOD || op == OP_QUOT || op == OP_REM;
  const ImpExp *by = e->u.op.args[op_arity(op) - 1];
  return !divides || (by->kind == IMP_CONST && by->u.constant.u.i != 0);
}

static const ImpExp *op_outside(LocalNeed *s, const ImpExp *e) {
  const ImpExp *args[3] = { NULL };
  int count = op_arity(e->u.op.op);
  for (int i = 0; i < count; i++)
    if (!(args[i] = outside(s, e->u.op.args[i]))) return NULL;
  if (!cannot_fail(e)) return NULL;
  if (count == 1) return imp_op1(e->u.op.op, args[0]);
  return count == 2 ? imp_op2(e->u.op.op, args[0], args[1])
                    : imp_op3(e->u.op.op, args[0], args[1], args[2]);
}

static const ImpExp *select_outside(LocalNeed *s, const ImpExp *e) {
  const ImpExp *condition = outside(s, e->u.select.condition);
  const ImpExp *a = outside(s, e->u.select.a), *b = outside(s, e->u.select.b);
  return condition && a && b ? imp_select(condition, a, b) : NULL;
}

// The expression without variables of the version; NULL if there is none.
static const ImpExp *outside(LocalNeed *s, const ImpExp *e) {
  if (++s->parts > MOST_PARTS) return NULL;
  if (e->kind == IMP_CONST || e->kind == IMP_TUNING) return e;
  if (e->kind == IMP_OP) return op_outside(s, e);
  if (e->kind == IMP_SELECT) return select_outside(s, e);
  if (e->kind == IMP_CONVERT) {
    const ImpExp *arg = outside(s, e->u.convert.arg);
    return arg ? imp_convert(e->type, arg) : NULL;
  }
  if (e->kind != IMP_VAR) return NULL;
  if (!map_has(s->bound, e->u.var)) return e;
  const ImpExp *value = map_get(s->values, e->u.var);
  return value ? outside(s, value) : NULL;
}

// ---- launches

static const ImpExp *bytes_of(const Alike *alike) {
  const ImpExp *bytes = imp_mul(alike->count, imp_i64(alike->elem_bytes));
  const ImpExp *up = imp_op2(OP_AND, imp_add(bytes, imp_i64(LOCAL_ALIGN - 1)),
                             imp_i64(-(int64_t)LOCAL_ALIGN));
  return imp_mul(imp_max(imp_i64(LOCAL_ALIGN), up), imp_i64(alike->arrays));
}

static void note_array(AlikeVec *seen, const ImpExp *count, PrimType elem) {
  int64_t elem_bytes = prim_size_bytes(elem);
  vec_each (Alike *, alike, seen) {
    if (alike->elem_bytes != elem_bytes || !imp_same(alike->count, count)) continue;
    alike->arrays++;
    return;
  }
  vec_push(seen, (Alike){ count, elem_bytes, 1 });
}

// What items have for themselves, the host does not give more than there is.
static void see_launch(LocalNeed *s, const Kernel *kernel) {
  if (kernel->own_local) return;
  KernelArrays arrays = imp_kernel_arrays(kernel, MEM_LOCAL);
  AlikeVec seen = { 0 };
  vec_each (Scratch *, array, &arrays) {
    const ImpExp *count = outside(s, array->count);
    s->unknown = s->unknown || !count;
    if (count) note_array(&seen, count, array->mem->elem);
  }
  const ImpExp *sum = imp_i64(LOCAL_OWN);
  vec_each (Alike *, alike, &seen)
    sum = imp_add(sum, bytes_of(alike));
  if (arrays.count) s->most = s->most ? imp_max(s->most, sum) : sum;
}

static void see_all_launches(LocalNeed *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_LAUNCH) see_launch(s, (*stm)->u.launch.kernel);
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      see_all_launches(s, inner[i]);
  }
}

const ImpExp *local_need(const ImpBlock *version) {
  LocalNeed s = { .values = map_new(NULL), .bound = map_new(NULL) };
  note_all_bound(&s, version);
  forget_assigned(&s, version);
  see_all_launches(&s, version);
  if (s.unknown) return NULL;
  return s.most ? s.most : imp_i64(0);
}
