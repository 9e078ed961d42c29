#include "imp/imp.h"

static const ImpExp *make(ImpExp e) { return mem_copy(&e, sizeof e); }

const ImpExp *imp_var(const Var *var) {
  return make((ImpExp){ .kind = IMP_VAR, .type = var->type.elem, .u.var = var });
}

const ImpExp *imp_const(Prim constant) {
  return make(
      (ImpExp){ .kind = IMP_CONST, .type = constant.type, .u.constant = constant });
}

const ImpExp *imp_i64(int64_t value) { return imp_const(prim_i64(value)); }

const ImpExp *imp_atom(Atom a) {
  return a.kind == ATOM_VAR ? imp_var(a.u.var) : imp_const(a.u.constant);
}

bool imp_is_i64(const ImpExp *e, int64_t value) {
  return e->kind == IMP_CONST && e->type == PRIM_I64 && e->u.constant.u.i == value;
}

bool imp_is_true(const ImpExp *e) {
  return e->kind == IMP_CONST && e->type == PRIM_BOOL && e->u.constant.u.i;
}

// The operator applied to constants, if they all are and it does not trap.
static const ImpExp *fold(PrimOp op, const ImpExp *const *args, int count) {
  Prim values[3];
  for (int i = 0; i < count; i++) {
    if (args[i]->kind != IMP_CONST) return NULL;
    values[i] = args[i]->u.constant;
  }
  Prim result;
  return prim_apply(op, values, &result) ? imp_const(result) : NULL;
}

static int most_lanes(const ImpExp *const *args, int count) {
  int lanes = 0;
  for (int i = 0; i < count; i++)
    lanes = args[i]->lanes > lanes ? args[i]->lanes : lanes;
  return lanes;
}

static const ImpExp *make_op(PrimOp op, const ImpExp *const *args, int count);

// Note [f16]: f16 is a type of memory.  Values are its 16 bits, which are widened to compute in f32
// and rounded after each operation.  For + - * / and the square root that is as if the exact result
// were rounded once, since f32 has two bits more than twice those of f16.  The functions of
// OpenCL C that convert need no extension, so that one way serves all devices.
// Sums and products are printed as the device's own, if it has some (half_function in emit/).
static const ImpExp *half_op(PrimOp op, const ImpExp *const *args, int count) {
  if (op == OP_MAD) return imp_op2(OP_ADD, imp_op2(OP_MUL, args[0], args[1]), args[2]);
  if (op == OP_LERP)
    return imp_op3(OP_MAD, imp_op2(OP_SUB, args[1], args[0]), args[2], args[0]);
  const ImpExp *wide[3];
  for (int i = 0; i < count; i++)
    wide[i] = args[i]->type == PRIM_F16 ? imp_convert(PRIM_F32, args[i]) : args[i];
  const ImpExp *result = make_op(op, wide, count);
  return result->type == PRIM_F32 ? imp_convert(PRIM_F16, result) : result;
}

// These round once, which a result in f32 does not allow, or step from one f16 to the next.
static bool is_half_function(PrimOp op) { return op == OP_FMA || op == OP_NEXTAFTER; }

// Divided by a power of two and rounded down: a matter of bits.  NULL for other divisions.
static const ImpExp *by_bits(PrimOp op, const ImpExp *const *args) {
  const ImpExp *by = args[1];
  if ((op != OP_DIV && op != OP_MOD) || !prim_is_signed(args[0]->type)) return NULL;
  if (by->kind == IMP_SPLAT) by = by->u.convert.arg;
  if (by->kind != IMP_CONST || by->u.constant.u.i <= 0) return NULL;
  int64_t d = by->u.constant.u.i, k = 0;
  if (d & (d - 1)) return NULL;
  while (d >> k != 1)
    k++;
  const ImpExp *bits =
      imp_const(prim_convert(by->type, prim_i64(op == OP_DIV ? k : d - 1)));
  return imp_op2(op == OP_DIV ? OP_SHR : OP_AND, args[0], bits);
}

static const ImpExp *make_op(PrimOp op, const ImpExp *const *args, int count) {
  const ImpExp *folded = fold(op, args, count);
  if (!folded) folded = by_bits(op, args);
  if (folded) return folded;
  if (args[0]->type == PRIM_F16 && !is_half_function(op)) return half_op(op, args, count);
  ImpExp e = { .kind = IMP_OP,
               .type = op_result(op, args[0]->type),
               .lanes = most_lanes(args, count) };
  e.u.op.op = op;
  e.u.op.operands = args[0]->type;
  for (int i = 0; i < count; i++)
    e.u.op.args[i] = imp_splat(args[i], e.lanes);
  return make(e);
}

const ImpExp *imp_op1(PrimOp op, const ImpExp *a) {
  const ImpExp *args[3] = { a };
  return make_op(op, args, 1);
}

const ImpExp *imp_op2(PrimOp op, const ImpExp *a, const ImpExp *b) {
  const ImpExp *args[3] = { a, b };
  return make_op(op, args, 2);
}

const ImpExp *imp_op3(PrimOp op, const ImpExp *a, const ImpExp *b, const ImpExp *d) {
  const ImpExp *args[] = { a, b, d };
  return make_op(op, args, 3);
}

const ImpExp *imp_add(const ImpExp *a, const ImpExp *b) {
  if (imp_is_i64(a, 0)) return b;
  return imp_is_i64(b, 0) ? a : imp_op2(OP_ADD, a, b);
}

const ImpExp *imp_sub(const ImpExp *a, const ImpExp *b) {
  return imp_is_i64(b, 0) ? a : imp_op2(OP_SUB, a, b);
}

const ImpExp *imp_mul(const ImpExp *a, const ImpExp *b) {
  if (imp_is_i64(a, 0) || imp_is_i64(b, 1)) return a;
  return imp_is_i64(b, 0) || imp_is_i64(a, 1) ? b : imp_op2(OP_MUL, a, b);
}

const ImpExp *imp_quot(const ImpExp *a, const ImpExp *b) {
  return imp_is_i64(b, 1) ? a : imp_op2(OP_QUOT, a, b);
}

const ImpExp *imp_rem(const ImpExp *a, const ImpExp *b) {
  return imp_is_i64(b, 1) ? imp_i64(0) : imp_op2(OP_REM, a, b);
}

const ImpExp *imp_ceil_div(const ImpExp *a, const ImpExp *b) {
  return imp_quot(imp_add(a, imp_sub(b, imp_i64(1))), b);
}

const ImpExp *imp_min(const ImpExp *a, const ImpExp *b) { return imp_op2(OP_MIN, a, b); }

const ImpExp *imp_max(const ImpExp *a, const ImpExp *b) { return imp_op2(OP_MAX, a, b); }

const ImpExp *imp_less(const ImpExp *a, const ImpExp *b) { return imp_op2(OP_LT, a, b); }

const ImpExp *imp_and(const ImpExp *a, const ImpExp *b) {
  if (imp_is_true(a)) return b;
  return imp_is_true(b) ? a : imp_op2(OP_LAND, a, b);
}

const ImpExp *imp_convert(PrimType to, const ImpExp *a) {
  if (a->type == to) return a;
  if (a->kind == IMP_CONST) return imp_const(prim_convert(to, a->u.constant));
  // f32 holds every f16, and every integer below the greatest; from f64 only one rounding will do.
  bool half = to == PRIM_F16 || a->type == PRIM_F16,
       f32 = to == PRIM_F32 || a->type == PRIM_F32;
  if (half && !f32 && a->type != PRIM_F64)
    return imp_convert(to, imp_convert(PRIM_F32, a));
  return make(
      (ImpExp){ .kind = IMP_CONVERT, .type = to, .lanes = a->lanes, .u.convert = { a } });
}

const ImpExp *imp_bits(PrimType to, const ImpExp *a) {
  return make(
      (ImpExp){ .kind = IMP_BITS, .type = to, .lanes = a->lanes, .u.convert = { a } });
}

const ImpExp *imp_select(const ImpExp *condition, const ImpExp *a, const ImpExp *b) {
  if (imp_is_true(condition)) return a;
  const ImpExp *all[] = { condition, a, b };
  int lanes = most_lanes(all, 3);
  return make((ImpExp){ .kind = IMP_SELECT,
                        .type = a->type,
                        .lanes = lanes,
                        .u.select = { imp_splat(condition, lanes), imp_splat(a, lanes),
                                      imp_splat(b, lanes) } });
}

const ImpExp *imp_load(const Mem *mem, const ImpExp *index) {
  return make((ImpExp){ .kind = IMP_LOAD, .type = mem->elem, .u.load = { mem, index } });
}

const ImpExp *imp_shuffle(const ImpExp *value, const ImpExp *apart, bool up) {
  return make((ImpExp){
      .kind = IMP_SHUFFLE, .type = value->type, .u.shuffle = { value, apart, up } });
}

const ImpExp *imp_item(ItemNumber item) {
  return make((ImpExp){ .kind = IMP_ITEM, .type = PRIM_I64, .u.item = item });
}

const ImpExp *imp_tuning(Name name) {
  return make((ImpExp){ .kind = IMP_TUNING, .type = PRIM_I64, .u.tuning = name });
}

// ---- vectors

const ImpExp *imp_vector_var(const Var *var, int lanes) {
  return make(
      (ImpExp){ .kind = IMP_VAR, .type = var->type.elem, .lanes = lanes, .u.var = var });
}

const ImpExp *imp_splat(const ImpExp *a, int lanes) {
  if (a->lanes == lanes) return a;
  return make(
      (ImpExp){ .kind = IMP_SPLAT, .type = a->type, .lanes = lanes, .u.convert = { a } });
}

const ImpExp *imp_iota(PrimType type, int lanes) {
  return make((ImpExp){ .kind = IMP_IOTA, .type = type, .lanes = lanes });
}

const ImpExp *imp_vload(const Mem *mem, const ImpExp *index, int lanes) {
  return make((ImpExp){
      .kind = IMP_LOAD, .type = mem->elem, .lanes = lanes, .u.load = { mem, index } });
}

const ImpExp *imp_strided(const Mem *mem, const ImpExp *index, const ImpExp *step,
                          int run, int lanes) {
  if (imp_is_i64(step, run)) return imp_vload(mem, index, lanes);
  return make((ImpExp){ .kind = IMP_STRIDED,
                        .type = mem->elem,
                        .lanes = lanes,
                        .u.strided = { mem, index, step, run } });
}

const ImpExp *imp_permute_to(const ImpExp *a, const ImpExp *b, const signed char *from,
                             int lanes) {
  return make((ImpExp){ .kind = IMP_PERMUTE,
                        .type = a->type,
                        .lanes = lanes,
                        .u.permute = { a, b, from } });
}

const ImpExp *imp_permute(const ImpExp *a, const ImpExp *b, const signed char *from) {
  return imp_permute_to(a, b, from, a->lanes);
}

const ImpExp *imp_pick(const ImpExp *vector, const ImpExp *which) {
  return make(
      (ImpExp){ .kind = IMP_PICK, .type = vector->type, .u.pick = { vector, which } });
}

const ImpExp *imp_over_lanes(ImpExpKind kind, const ImpExp *a) {
  PrimType type = kind == IMP_COUNT ? PRIM_I64 : a->type;
  return make((ImpExp){ .kind = kind, .type = type, .u.convert = { a } });
}

const ImpExp *imp_size_exp(const SizeExp *e) {
  if (e->kind == SIZE_EXP_ATOM) return imp_atom(e->atom);
  const ImpExp *a = imp_size_exp(e->a), *b = imp_size_exp(e->b);
  if (e->kind == SIZE_EXP_ADD) return imp_add(a, b);
  return e->kind == SIZE_EXP_MUL ? imp_mul(a, b) : imp_max(a, b);
}

// ---- statements

void imp_add_stm(ImpBuilder *b, ImpStm stm) {
  if (!stm.loc.file) stm.loc = b->loc;
  vec_push(&b->block, mem_copy(&stm, sizeof stm));
}

const Var *imp_declare(ImpBuilder *b, const char *name, const ImpExp *value) {
  const Var *var =
      var_new(b->c, name_of(b->c->names, name), type_scalar(value->type), b->loc);
  imp_add_stm(b,
              (ImpStm){ .kind = IMP_DECLARE, .u.declare = { var, value, value->lanes } });
  return var;
}

const ImpExp *imp_let(ImpBuilder *b, const char *name, const ImpExp *value) {
  return imp_var(imp_declare(b, name, value));
}

const ImpExp *imp_named(ImpBuilder *b, const char *name, const ImpExp *value) {
  return value->kind == IMP_CONST ? value : imp_let(b, name, value);
}

void imp_for(ImpBuilder *b, const Var *index, const ImpExp *bound, ImpBlock block) {
  imp_add_stm(b,
              (ImpStm){ .kind = IMP_FOR,
                        .u.loop = { index, bound, block, false, false, false, false } });
}

void imp_if(ImpBuilder *b, const ImpExp *condition, ImpBlock block) {
  imp_add_stm(b, (ImpStm){ .kind = IMP_IF, .u.cond = { condition, block, { 0 } } });
}

void imp_if_else(ImpBuilder *b, const ImpExp *condition, ImpBlock yes, ImpBlock no) {
  imp_add_stm(b, (ImpStm){ .kind = IMP_IF, .u.cond = { condition, yes, no } });
}

void imp_release(ImpBuilder *b, const Mem *mem) {
  imp_add_stm(b, (ImpStm){ .kind = IMP_RELEASE, .u.mem = { mem } });
}

void imp_assign(ImpBuilder *b, const Var *var, const ImpExp *value) {
  imp_add_stm(b, (ImpStm){ .kind = IMP_ASSIGN, .u.assign = { var, value } });
}

void imp_store(ImpBuilder *b, const Mem *mem, const ImpExp *index, const ImpExp *value) {
  imp_add_stm(b, (ImpStm){ .kind = IMP_STORE,
                           .u.store = { .mem = mem, .index = index, .value = value } });
}

const Mem *mem_new(Compiler *c, const char *name, MemSpace space, PrimType elem) {
  return new_node(Mem, .name = name_of(c->names, name), .id = c->next_id++,
                  .space = space, .elem = elem);
}

// ---- arrays

Arr arr_dense(const Mem *mem, PrimType elem, const ImpExp *const *shape, int rank) {
  const ImpExp **strides = new_array(const ImpExp *, rank + 1);
  const ImpExp *stride = imp_i64(1);
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride = imp_mul(shape[i], stride);
  }
  return (Arr){ mem, elem, rank, imp_i64(0), shape, strides, NULL, NULL };
}

Arr arr_virtual(PrimType elem, const ImpExp *const *shape, const ImpExp *start,
                const ImpExp *step) {
  Arr arr = arr_dense(NULL, elem, shape, 1);
  arr.start = start;
  arr.step = step;
  return arr;
}

const ImpExp *arr_load(const Arr *arr, const ImpExp *offset) {
  if (!arr->start) return imp_load(arr->mem, offset);
  if (!arr->step) return arr->start;
  const ImpExp *at = imp_convert(arr->elem, offset);
  if (arr->elem == PRIM_I64) return imp_add(imp_mul(at, arr->step), arr->start);
  return imp_op2(OP_ADD, imp_op2(OP_MUL, at, arr->step), arr->start);
}

const ImpExp *arr_index(const Arr *arr, const ImpExp *const *indices) {
  const ImpExp *at = arr->offset;
  for (int i = 0; i < arr->rank; i++)
    at = imp_add(at, imp_mul(indices[i], arr->strides[i]));
  return at;
}

Arr arr_peel(const Arr *arr, const ImpExp *const *indices, int count) {
  Arr out = *arr;
  for (int i = 0; i < count; i++)
    out.offset = imp_add(out.offset, imp_mul(indices[i], arr->strides[i]));
  out.rank -= count;
  out.shape += count;
  out.strides += count;
  return out;
}

Arr arr_slice(const Arr *arr, const DimIndex *dims) {
  Arr out = *arr;
  const ImpExp **shape = new_array(const ImpExp *, arr->rank + 1);
  const ImpExp **strides = new_array(const ImpExp *, arr->rank + 1);
  out.rank = 0;
  for (int i = 0; i < arr->rank; i++) {
    out.offset = imp_add(out.offset, imp_mul(imp_atom(dims[i].start), arr->strides[i]));
    if (!dims[i].is_slice) continue;
    shape[out.rank] = imp_atom(dims[i].count);
    strides[out.rank++] = imp_mul(imp_atom(dims[i].stride), arr->strides[i]);
  }
  out.shape = shape;
  out.strides = strides;
  return out;
}

Arr arr_permute(const Arr *arr, const int *perm) {
  Arr out = *arr;
  const ImpExp **shape = new_array(const ImpExp *, arr->rank + 1);
  const ImpExp **strides = new_array(const ImpExp *, arr->rank + 1);
  for (int i = 0; i < arr->rank; i++) {
    shape[i] = arr->shape[perm[i]];
    strides[i] = arr->strides[perm[i]];
  }
  out.shape = shape;
  out.strides = strides;
  return out;
}

static bool same_exp(const ImpExp *a, const ImpExp *b) {
  if (a == b) return true;
  if (a->lanes || b->lanes) return false;
  if (a->kind != b->kind || a->type != b->type) return false;
  if (a->kind == IMP_VAR) return a->u.var == b->u.var;
  if (a->kind == IMP_CONST) return prim_identical(a->u.constant, b->u.constant);
  if (a->kind != IMP_OP || a->u.op.op != b->u.op.op) return false;
  for (int i = 0; i < op_arity(a->u.op.op); i++)
    if (!same_exp(a->u.op.args[i], b->u.op.args[i])) return false;
  return true;
}

bool arr_begins(const Arr *arr) {
  return arr->offset->kind == IMP_CONST && arr->offset->u.constant.u.i == 0;
}

bool arr_is_dense(const Arr *arr) {
  const ImpExp *stride = imp_i64(1);
  for (int i = arr->rank - 1; i >= 0; i--) {
    if (!same_exp(arr->strides[i], stride)) return false;
    stride = imp_mul(arr->shape[i], stride);
  }
  return true;
}

// How many dimensions stay as they are, from the first on (step 1) or the last (-1), one or more of
// either being left.
static int same_dims(const Arr *arr, const ImpExp *const *shape, int rank, int taken,
                     int step) {
  int count = 0, least = rank < arr->rank ? rank : arr->rank;
  for (; count < least - taken - 1; count++) {
    int mine = step > 0 ? count : arr->rank - 1 - count,
        other = step > 0 ? count : rank - 1 - count;
    if (!same_exp(arr->shape[mine], shape[other])) break;
  }
  return count;
}

// One dimension in rows, whose elements may have gaps between them.
static bool split_dimension(const Arr *arr, const ImpExp *const *shape, int rank,
                            Arr *out) {
  if (arr->rank == 0 || rank < arr->rank) return false;
  int before = same_dims(arr, shape, rank, 0, 1),
      behind = same_dims(arr, shape, rank, before, -1);
  if (before + 1 + behind != arr->rank) return false;
  *out = *arr;
  const ImpExp **strides = new_array(const ImpExp *, rank + 1),
               *step = arr->strides[before];
  for (int i = rank - 1; i >= 0; i--) {
    int mine = i < before ? i : i < rank - behind ? before : i - rank + arr->rank;
    strides[i] = mine == before ? step : arr->strides[mine];
    if (mine == before) step = imp_mul(shape[i], step);
  }
  out->rank = rank;
  out->shape = shape;
  out->strides = strides;
  return true;
}

bool arr_reshape(const Arr *arr, const ImpExp *const *shape, int rank, Arr *out) {
  if (!arr_is_dense(arr)) return split_dimension(arr, shape, rank, out);
  *out = arr_dense(arr->mem, arr->elem, shape, rank);
  out->start = arr->start;
  out->step = arr->step;
  out->offset = arr->offset;
  return true;
}

const ImpExp *arr_count(const Arr *arr) {
  const ImpExp *count = imp_i64(1);
  for (int i = 0; i < arr->rank; i++)
    count = imp_mul(count, arr->shape[i]);
  return count;
}
