// Constructors of expressions.  Arrays that are passed are copied: callers may keep them on the
// stack.
#include "core/core.h"

static const Atom *copy_atoms(const Atom *atoms, int count) {
  return count ? mem_copy(atoms, (size_t)count * sizeof *atoms) : NULL;
}

static const DimIndex *copy_dims(const DimIndex *dims, int count) {
  return count ? mem_copy(dims, (size_t)count * sizeof *dims) : NULL;
}

const Exp *exp_atom(Atom a) { return new_node(Exp, .kind = EXP_ATOM, .u.atom = { a }); }
const Exp *exp_copy(Atom a) { return new_node(Exp, .kind = EXP_COPY, .u.atom = { a }); }

// The type of an operator's operands is that of the first.
static const Exp *op_of(PrimOp op, const Atom args[3]) {
  return new_node(Exp, .kind = EXP_OP,
                  .u.op = { op, atom_type(args[0]).elem, { args[0], args[1], args[2] } });
}

const Exp *exp_op1(PrimOp op, Atom a) { return op_of(op, (Atom[3]){ a }); }
const Exp *exp_op2(PrimOp op, Atom a, Atom b) { return op_of(op, (Atom[3]){ a, b }); }
const Exp *exp_op3(PrimOp op, Atom a, Atom b, Atom d) {
  return op_of(op, (Atom[3]){ a, b, d });
}

const Exp *exp_convert(PrimType to, Atom a) {
  return new_node(Exp, .kind = EXP_CONVERT, .u.convert = { to, a });
}

const Exp *exp_bits(PrimType to, Atom a) {
  return new_node(Exp, .kind = EXP_BITS, .u.convert = { to, a });
}

const Exp *exp_index(Atom array, const Atom *indices, int count, bool checked) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++) {
    dims[i] = i < count ? dim_fix(indices[i])
                        : dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  }
  return new_node(Exp, .kind = EXP_INDEX, .u.index = { array, dims, type.rank, checked });
}

const Exp *exp_slice(Atom array, const DimIndex *dims, bool checked) {
  int rank = atom_type(array).rank;
  return new_node(Exp, .kind = EXP_INDEX,
                  .u.index = { array, copy_dims(dims, rank), rank, checked });
}

const Exp *exp_update(Atom array, const DimIndex *dims, Atom value, bool checked) {
  int rank = atom_type(array).rank;
  return new_node(Exp, .kind = EXP_UPDATE,
                  .u.update = { array, copy_dims(dims, rank), rank, value, checked });
}

const Exp *exp_iota(Atom count, Atom start, Atom step) {
  return new_node(Exp, .kind = EXP_IOTA,
                  .u.iota = { count, start, step, atom_type(start).elem });
}

const Exp *exp_replicate(Atom count, Atom value) {
  return new_node(Exp, .kind = EXP_REPLICATE, .u.replicate = { count, value });
}

const Exp *exp_rearrange(const int *perm, int rank, Atom array) {
  const int *copy = rank ? mem_copy(perm, (size_t)rank * sizeof *perm) : NULL;
  return new_node(Exp, .kind = EXP_REARRANGE, .u.rearrange = { copy, rank, array });
}

const Exp *exp_reshape(const Atom *dims, int rank, Atom array) {
  return new_node(Exp, .kind = EXP_RESHAPE,
                  .u.reshape = { copy_atoms(dims, rank), rank, array });
}

const Exp *exp_concat(Atom count, const Atom *arrays, int array_count) {
  return new_node(Exp, .kind = EXP_CONCAT,
                  .u.concat = { count, copy_atoms(arrays, array_count), array_count });
}

const Exp *exp_rotate(Atom amount, Atom array) {
  return new_node(Exp, .kind = EXP_ROTATE, .u.rotate = { amount, array });
}

const Exp *exp_array(const Atom *atoms, int count, CoreType row) {
  return new_node(Exp, .kind = EXP_ARRAY,
                  .u.array = { copy_atoms(atoms, count), count, row });
}

const Exp *exp_if(Atom condition, const Body *then_body, const Body *else_body) {
  return new_node(Exp, .kind = EXP_IF,
                  .u.cond = { condition, then_body, else_body, false });
}

const Exp *exp_if_again(const Exp *choice, const Body *then_body, const Body *else_body) {
  Exp *again = mem_copy(choice, sizeof *choice);
  again->u.cond.then_body = then_body;
  again->u.cond.else_body = else_body;
  return again;
}

const Exp *exp_map(Atom width, Lambda fn, const Atom *arrays, int array_count) {
  return exp_soac(EXP_MAP, (Soac){ .width = width,
                                   .fn = fn,
                                   .arrays = copy_atoms(arrays, array_count),
                                   .array_count = array_count });
}

const Exp *exp_soac(ExpKind kind, Soac soac) {
  return new_node(Exp, .kind = kind, .u.soac = soac);
}

const Exp *exp_seg(const SegOp *seg) {
  return new_node(Exp, .kind = EXP_SEG, .u.seg = seg);
}

const Exp *exp_split(const Guard *guard, Atom width) {
  return new_node(Exp, .kind = EXP_SPLIT, .u.split = { guard, width, atom_i64(0), NULL });
}

const Exp *exp_split_likewise(const Exp *split, Atom workers, Name layout) {
  return new_node(
      Exp, .kind = EXP_SPLIT,
      .u.split = { split->u.split.guard, split->u.split.width, workers, layout });
}

const Exp *exp_gather(Atom workers, Atom total, Atom start, Atom count, Atom value) {
  return new_node(Exp, .kind = EXP_GATHER,
                  .u.gather = { workers, total, start, count, value, 0, NULL });
}

const Exp *exp_border(const Exp *gather, Atom before, Atom after, Atom extent,
                      bool ring) {
  return new_node(Exp, .kind = EXP_BORDER,
                  .u.border = { gather->u.gather.workers, gather->u.gather.total,
                                gather->u.gather.start, gather->u.gather.count, before,
                                after, extent, gather->u.gather.value, ring, 0,
                                gather->u.gather.layout });
}

const Exp *exp_fetch_columns(const Exp *gather, int dim, Atom first, Atom columns) {
  return new_node(Exp, .kind = EXP_FETCH,
                  .u.fetch = { gather->u.gather.workers, gather->u.gather.total,
                               gather->u.gather.start, gather->u.gather.count, first,
                               columns, gather->u.gather.value, dim, 0 });
}

const Exp *exp_fetch(const Exp *gather, Atom first, Atom rows) {
  return exp_fetch_columns(gather, 0, first, rows);
}

const Exp *exp_deliver(const Exp *gather, Atom positions, Atom values) {
  return new_node(Exp, .kind = EXP_DELIVER,
                  .u.deliver = { gather->u.gather.workers, gather->u.gather.total,
                                 gather->u.gather.start, gather->u.gather.count,
                                 gather->u.gather.value, positions, values, 0,
                                 gather->u.gather.layout });
}

const Exp *exp_guard(const Guard *guard, const Body *then_body, const Body *else_body) {
  return new_node(Exp, .kind = EXP_GUARD, .u.guard = { guard, then_body, else_body });
}

const SizeExp *size_exp_atom(Atom a) {
  return new_node(SizeExp, .kind = SIZE_EXP_ATOM, .atom = a);
}

static int64_t saturating_add(int64_t x, int64_t y) {
  int64_t sum;
  if (!__builtin_add_overflow(x, y, &sum)) return sum;
  return x < 0 ? INT64_MIN : INT64_MAX;
}

static int64_t saturating_mul(int64_t x, int64_t y) {
  int64_t product;
  if (!__builtin_mul_overflow(x, y, &product)) return product;
  return (x < 0) != (y < 0) ? INT64_MIN : INT64_MAX;
}

static int64_t fold_sizes(SizeExpKind kind, int64_t x, int64_t y) {
  switch (kind) {
  case SIZE_EXP_ATOM: break;
  case SIZE_EXP_ADD: return saturating_add(x, y);
  case SIZE_EXP_MUL: return saturating_mul(x, y);
  case SIZE_EXP_MAX: return x > y ? x : y;
  }
  return x;
}

static bool size_is_const(const SizeExp *e) {
  return e->kind == SIZE_EXP_ATOM && e->atom.kind == ATOM_CONST;
}

static bool size_is(const SizeExp *e, int64_t value) {
  return e->kind == SIZE_EXP_ATOM && atom_is_i64(e->atom, value);
}

const SizeExp *size_exp_op(SizeExpKind kind, const SizeExp *a, const SizeExp *b) {
  if (size_is_const(a) && size_is_const(b)) {
    return size_exp_atom(
        atom_i64(fold_sizes(kind, a->atom.u.constant.u.i, b->atom.u.constant.u.i)));
  }
  int64_t unit =
      kind == SIZE_EXP_MUL ? 1 : 0;  // sizes are never negative: max has a unit, too
  if (size_is(a, unit)) return b;
  if (size_is(b, unit)) return a;
  return new_node(SizeExp, .kind = kind, .a = a, .b = b);
}
