// The array operations that are neither indexing nor second-order: iota, replicate, rearrange,
// reshape, concat, rotate, copy and array literals.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <string.h>

typedef struct ArrayOp {
  Slot to;
  const Slot *args;  // the atoms of the expression, in its order
  int count;
  const int *perm;
  bool movable;
} ArrayOp;

static MemoryRegion region_of(Slot s) {
  return (MemoryRegion){ s.at[0].base, slot_strides(s) };
}

// Copies `from` into the rows of `to` from row `row` on; a scalar is one row.
static void put_rows(Slot to, int64_t row, Slot from) {
  char *base = to.at[0].base + row * slot_strides(to)[0];
  int64_t bytes = prim_size_bytes(to.elem);
  if (from.rank == 0) {
    scalar_store(to.elem)(base, from.at);
    return;
  }
  region_copy((MemoryRegion){ base, slot_strides(to) + (to.rank - from.rank) },
              region_of(from), slot_shape(from), from.rank, bytes);
}

static bool run_iota(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  int64_t count = op->args[0].at->i;
  if (count < 0) return run_fail(m, ins->stm, NEGATIVE_SIZE, (long long)count);
  if (!array_alloc(m, ins->stm, op->to, &count)) return false;
  StoreFn *store = scalar_store(op->to.elem);
  uint64_t start = (uint64_t)op->args[1].at->i, step = (uint64_t)op->args[2].at->i;
  for (int64_t i = 0; i < count; i++) {
    Word element = { .i = (int64_t)(start + (uint64_t)i * step) };
    store(op->to.at[0].base + i * slot_strides(op->to)[0], &element);
  }
  return true;
}

static bool run_replicate(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  int64_t shape[64] = { op->args[0].at->i };
  Slot row = op->args[1];
  if (shape[0] < 0) return run_fail(m, ins->stm, NEGATIVE_SIZE, (long long)shape[0]);
  if (row.rank) memcpy(shape + 1, slot_shape(row), (size_t)row.rank * sizeof *shape);
  if (!array_alloc(m, ins->stm, op->to, shape)) return false;
  for (int64_t i = 0; i < shape[0]; i++)
    put_rows(op->to, i, row);
  return true;
}

static bool run_rearrange(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  Slot from = op->args[0], to = op->to;
  array_release(m, to);
  to.at[0] = from.at[0];
  to.at[1] = from.at[1];
  to.at[1].store->refs++;
  for (int i = 0; i < to.rank; i++) {
    slot_shape(to)[i] = slot_shape(from)[op->perm[i]];
    slot_strides(to)[i] = slot_strides(from)[op->perm[i]];
  }
  return true;
}

// Code takes a reshape that keeps the rank for a change of names.
static bool keeps_rows(Slot from, const int64_t *shape, int rank) {
  return from.rank != rank ||
         memcmp(shape, slot_shape(from), (size_t)rank * sizeof *shape) == 0;
}

static bool run_reshape(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  Slot from = op->args[0], to = op->to;
  int64_t shape[64];
  for (int i = 0; i < to.rank; i++)
    shape[i] = op->args[1 + i].at->i;
  int64_t count = shape_count(slot_shape(from), from.rank);
  if (shape_count(shape, to.rank) != count)
    run_bug(m, ins->stm, "reshape of %lld elements", (long long)count);
  if (count && !keeps_rows(from, shape, to.rank))
    run_bug(m, ins->stm, "reshape to rows of another length");
  Slot dense = gen_temp(from.elem, from.rank);
  if (array_is_dense(from))
    array_share(m, dense, from);
  else if (!array_copy(m, ins->stm, dense, from))
    return false;
  array_release(m, to);
  to.at[0] = dense.at[0];
  to.at[1] = dense.at[1];
  memcpy(slot_shape(to), shape, (size_t)to.rank * sizeof *shape);
  region_dense_strides(slot_strides(to), shape, to.rank, prim_size_bytes(to.elem));
  return true;
}

static bool run_concat(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  int64_t shape[64];
  memcpy(shape, slot_shape(op->args[1]), (size_t)op->to.rank * sizeof *shape);
  shape[0] = 0;
  for (int i = 1; i < op->count; i++) {
    if (memcmp(shape + 1, slot_shape(op->args[i]) + 1,
               (size_t)(op->to.rank - 1) * sizeof *shape) != 0)
      run_bug(m, ins->stm, "concat of rows of different shapes");
    shape[0] += slot_shape(op->args[i])[0];
  }
  if (!array_alloc(m, ins->stm, op->to, shape)) return false;
  int64_t row = 0;
  for (int i = 1; i < op->count; i++) {
    put_rows(op->to, row, op->args[i]);
    row += slot_shape(op->args[i])[0];
  }
  return true;
}

// result[i] = a[(i + k) mod n]: the rows from k on, then those before.
static bool run_rotate(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  Slot from = op->args[1], to = op->to;
  if (!array_alloc(m, ins->stm, to, slot_shape(from))) return false;
  int64_t shape[64], count = slot_shape(from)[0], bytes = prim_size_bytes(to.elem);
  if (count == 0) return true;
  int64_t split = op->args[0].at->i % count;
  if (split < 0) split += count;
  memcpy(shape, slot_shape(from), (size_t)from.rank * sizeof *shape);
  shape[0] = count - split;
  MemoryRegion tail = { from.at[0].base + split * slot_strides(from)[0],
                        slot_strides(from) };
  region_copy(region_of(to), tail, shape, to.rank, bytes);
  MemoryRegion rest = { to.at[0].base + shape[0] * slot_strides(to)[0],
                        slot_strides(to) };
  shape[0] = split;
  region_copy(rest, region_of(from), shape, to.rank, bytes);
  return true;
}

static bool run_copy(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  return array_take(m, ins->stm, op->to, op->args[0], op->movable);
}

static bool run_literal(Machine *m, const Ins *ins) {
  const ArrayOp *op = ins->more;
  int64_t shape[64] = { op->count };
  for (int i = 0; i < op->to.rank - 1; i++)
    shape[1 + i] = op->args[op->count + i].at->i;
  if (!array_alloc(m, ins->stm, op->to, shape)) return false;
  for (int i = 0; i < op->count; i++) {
    Slot row = op->args[i];
    if (row.rank &&
        memcmp(shape + 1, slot_shape(row), (size_t)row.rank * sizeof *shape) != 0)
      run_bug(m, ins->stm, "an array literal of rows of different shapes");
    put_rows(op->to, i, row);
  }
  return true;
}

// ---- generating

static ArrayOp *op_new(Gen *g, Slot to, const Atom *atoms, int count) {
  return new_node(ArrayOp, .to = to, .args = gen_atoms(g, atoms, count), .count = count);
}

static void add(Gen *g, InsFn *run, const ArrayOp *op) {
  gen_add(g, (Ins){ .run = run, .more = op });
}

static void gen_reshape(Gen *g, const Exp *exp, Slot to) {
  AtomVec atoms = { 0 };
  vec_push(&atoms, exp->u.reshape.array);
  for (int i = 0; i < exp->u.reshape.rank; i++)
    vec_push(&atoms, exp->u.reshape.dims[i]);
  add(g, run_reshape, op_new(g, to, atoms.at, atoms.count));
}

static void gen_concat(Gen *g, const Exp *exp, Slot to) {
  AtomVec atoms = { 0 };
  vec_push(&atoms, exp->u.concat.count);
  for (int i = 0; i < exp->u.concat.array_count; i++)
    vec_push(&atoms, exp->u.concat.arrays[i]);
  add(g, run_concat, op_new(g, to, atoms.at, atoms.count));
}

static void gen_copy(Gen *g, const Exp *exp, Slot to) {
  Atom from = exp->u.atom.atom;
  if (to.rank == 0) {
    gen_move(g, to, from);
    return;
  }
  ArrayOp *op = op_new(g, to, &from, 1);
  op->movable = gen_consume(g, from);
  add(g, run_copy, op);
}

// The rows, then the shape of a row.
static void gen_literal(Gen *g, const Exp *exp, Slot to) {
  AtomVec atoms = { 0 };
  for (int i = 0; i < exp->u.array.count; i++)
    vec_push(&atoms, exp->u.array.atoms[i]);
  for (int i = 0; i < exp->u.array.row.rank; i++)
    vec_push(&atoms, exp->u.array.row.dims[i]);
  ArrayOp *op = op_new(g, to, atoms.at, atoms.count);
  op->count = exp->u.array.count;
  add(g, run_literal, op);
}

static void gen_rearrange(Gen *g, const Exp *exp, Slot to) {
  ArrayOp *op = op_new(g, to, &exp->u.rearrange.array, 1);
  op->perm = exp->u.rearrange.perm;
  add(g, run_rearrange, op);
}

void gen_array_exp(Gen *g, const Exp *exp, Slot to) {
  Atom atoms[3];
  switch ((int)exp->kind) {
  case EXP_IOTA:
    memcpy(atoms, (Atom[]){ exp->u.iota.count, exp->u.iota.start, exp->u.iota.step },
           sizeof atoms);
    add(g, run_iota, op_new(g, to, atoms, 3));
    break;
  case EXP_REPLICATE:
    memcpy(atoms, (Atom[]){ exp->u.replicate.count, exp->u.replicate.value },
           2 * sizeof *atoms);
    add(g, run_replicate, op_new(g, to, atoms, 2));
    break;
  case EXP_ROTATE:
    memcpy(atoms, (Atom[]){ exp->u.rotate.amount, exp->u.rotate.array },
           2 * sizeof *atoms);
    add(g, run_rotate, op_new(g, to, atoms, 2));
    break;
  case EXP_REARRANGE: gen_rearrange(g, exp, to); break;
  case EXP_RESHAPE: gen_reshape(g, exp, to); break;
  case EXP_CONCAT: gen_concat(g, exp, to); break;
  case EXP_COPY: gen_copy(g, exp, to); break;
  case EXP_ARRAY: gen_literal(g, exp, to); break;
  }
}
