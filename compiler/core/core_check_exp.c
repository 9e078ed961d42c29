// Typing rules of expressions other than SOACs and seg-ops.  Atoms are in scope by now, and
// results are compared with exp_types by the caller.
#include "core/core_check.h"

static void check_size_atom(const CoreCheck *ck, Atom a) {
  check_scalar(ck, a, PRIM_I64, "a size");
}

static void check_array(const CoreCheck *ck, Atom a) {
  check_that(ck, atom_type(a).rank > 0, "an array is needed where a scalar stands");
}

static void check_op(const CoreCheck *ck, const Exp *e) {
  PrimOp op = e->u.op.op;
  check_that(ck, op_exists(op, e->u.op.type), "the operator does not exist on this type");
  for (int i = 0; i < op_arity(op); i++) {
    bool exponent = op == OP_LDEXP && i == 1;
    check_scalar(ck, e->u.op.args[i], exponent ? PRIM_I32 : e->u.op.type, "an operand");
  }
}

static void check_convert(const CoreCheck *ck, const Exp *e) {
  CoreType from = atom_type(e->u.convert.atom);
  check_that(ck, from.rank == 0, "an array cannot be converted");
  check_that(ck,
             e->kind == EXP_CONVERT || prim_bits(from.elem) == prim_bits(e->u.convert.to),
             "types of different size have no bits in common");
}

// Returns how many dimensions remain.
static int check_dims(const CoreCheck *ck, Atom array, const DimIndex *dims, int count) {
  check_that(ck, count > 0 && atom_type(array).rank == count,
             "one index per dimension is needed");
  int slices = 0;
  for (int i = 0; i < count; i++) {
    check_scalar(ck, dims[i].start, PRIM_I64, "an index");
    if (!dims[i].is_slice) continue;
    check_scalar(ck, dims[i].count, PRIM_I64, "the count of a slice");
    check_scalar(ck, dims[i].stride, PRIM_I64, "the stride of a slice");
    slices++;
  }
  return slices;
}

static void check_update(const CoreCheck *ck, const Exp *e) {
  const DimIndex *dims = e->u.update.dims;
  int rank = check_dims(ck, e->u.update.array, dims, e->u.update.dim_count);
  CoreType value = atom_type(e->u.update.value);
  check_that(ck, value.elem == atom_type(e->u.update.array).elem && value.rank == rank,
             "the new value does not fit the indexed part");
  int next = 0;
  for (int i = 0; i < e->u.update.dim_count; i++) {
    if (dims[i].is_slice)
      check_same_size(ck, value.dims[next++], dims[i].count, "the new value");
  }
}

static void check_iota(const CoreCheck *ck, const Exp *e) {
  check_size_atom(ck, e->u.iota.count);
  check_scalar(ck, e->u.iota.start, e->u.iota.type, "the start of an iota");
  check_scalar(ck, e->u.iota.step, e->u.iota.type, "the step of an iota");
}

static void check_rearrange(const CoreCheck *ck, const Exp *e) {
  int rank = e->u.rearrange.rank;
  check_that(ck, atom_type(e->u.rearrange.array).rank == rank,
             "a rearrange of another rank");
  bool *taken = new_array(bool, rank);
  for (int i = 0; i < rank; i++) {
    int dim = e->u.rearrange.perm[i];
    check_that(ck, dim >= 0 && dim < rank && !taken[dim],
               "a rearrange needs a permutation");
    taken[dim] = true;
  }
}

static void check_reshape(const CoreCheck *ck, const Exp *e) {
  for (int i = 0; i < e->u.reshape.rank; i++)
    check_size_atom(ck, e->u.reshape.dims[i]);
}

static void check_concat(const CoreCheck *ck, const Exp *e) {
  check_size_atom(ck, e->u.concat.count);
  check_that(ck, e->u.concat.array_count > 0, "a concat needs an array");
  for (int i = 0; i < e->u.concat.array_count; i++) {
    check_array(ck, e->u.concat.arrays[i]);
    check_same_type(ck, type_row(atom_type(e->u.concat.arrays[i])),
                    type_row(atom_type(e->u.concat.arrays[0])), "a row of a concat");
  }
}

static void check_array_literal(const CoreCheck *ck, const Exp *e) {
  for (int i = 0; i < e->u.array.count; i++) {
    check_same_type(ck, atom_type(e->u.array.atoms[i]), e->u.array.row, "an element");
  }
}

static void check_assert(const CoreCheck *ck, const Exp *e) {
  check_scalar(ck, e->u.assert.condition, PRIM_BOOL, "the condition");
  for (int i = 0; i < e->u.assert.value_count; i++) {
    check_that(ck, atom_type(e->u.assert.values[i]).rank == 0,
               "only scalars fit into a message");
  }
}

static void check_branches(const CoreCheck *ck, const Body *a, const Body *b) {
  check_that(ck, a->result_count == b->result_count,
             "branches with different result counts");
  for (int i = 0; i < a->result_count; i++) {
    CoreType x = atom_type(a->results[i]);
    CoreType y = atom_type(b->results[i]);
    // sizes may differ: exp_types knows what becomes of them
    check_that(ck, x.elem == y.elem && x.rank == y.rank,
               "branches with different result types");
  }
}

static void check_if(const CoreCheck *ck, const Exp *e) {
  check_scalar(ck, e->u.cond.condition, PRIM_BOOL, "the condition");
  check_branches(ck, e->u.cond.then_body, e->u.cond.else_body);
}

static void check_choose(const CoreCheck *ck, const Exp *e) {
  if (e->u.choose.by_size) check_size_atom(ck, e->u.choose.size);
  check_branches(ck, e->u.choose.first, e->u.choose.second);
}

static void check_guard(const CoreCheck *ck, const Exp *e) {
  check_that(ck, ck->flat, "a guard outside of Flat");
  check_branches(ck, e->u.guard.then_body, e->u.guard.else_body);
}

static void check_split(const CoreCheck *ck, const Exp *e) {
  check_that(ck, ck->flat, "a split outside of Flat");
  check_size_atom(ck, e->u.split.width);
  check_size_atom(ck, e->u.split.workers);
}

static void check_gather(const CoreCheck *ck, const Exp *e) {
  check_that(ck, ck->flat, "a gather outside of Flat");
  check_size_atom(ck, e->u.gather.workers);
  check_size_atom(ck, e->u.gather.total);
  check_size_atom(ck, e->u.gather.start);
  check_size_atom(ck, e->u.gather.count);
}

static void check_border(const CoreCheck *ck, const Exp *e) {
  check_that(ck, ck->flat, "a border outside of Flat");
  check_size_atom(ck, e->u.border.workers);
  check_size_atom(ck, e->u.border.total);
  check_size_atom(ck, e->u.border.start);
  check_size_atom(ck, e->u.border.count);
  check_size_atom(ck, e->u.border.before);
  check_size_atom(ck, e->u.border.after);
  check_size_atom(ck, e->u.border.extent);
  check_array(ck, e->u.border.block);
}

static void check_fetch(const CoreCheck *ck, const Exp *e) {
  check_that(ck, ck->flat, "a fetch outside of Flat");
  check_size_atom(ck, e->u.fetch.workers);
  check_size_atom(ck, e->u.fetch.total);
  check_size_atom(ck, e->u.fetch.start);
  check_size_atom(ck, e->u.fetch.count);
  check_size_atom(ck, e->u.fetch.first);
  check_size_atom(ck, e->u.fetch.rows);
  check_array(ck, e->u.fetch.block);
  bool is_dim = e->u.fetch.dim >= 0 && e->u.fetch.dim < atom_type(e->u.fetch.block).rank;
  check_that(ck, is_dim, "a fetch of a dimension that is not there");
}

static void check_deliver(const CoreCheck *ck, const Exp *e) {
  check_that(ck, ck->flat, "a delivery outside of Flat");
  check_size_atom(ck, e->u.deliver.workers);
  check_size_atom(ck, e->u.deliver.total);
  check_size_atom(ck, e->u.deliver.start);
  check_size_atom(ck, e->u.deliver.count);
  check_array(ck, e->u.deliver.block);
  check_array(ck, e->u.deliver.positions);
  check_array(ck, e->u.deliver.values);
  CoreType at = atom_type(e->u.deliver.positions), type = atom_type(e->u.deliver.values);
  check_that(ck, at.elem == PRIM_I64 && at.rank <= type.rank, "positions of values");
  check_that(ck, type.elem == atom_type(e->u.deliver.block).elem, "values of a block");
}

static void check_loop_form(const CoreCheck *ck, const Exp *e) {
  if (e->u.loop.form == CORE_WHILE) {
    int k = e->u.loop.while_param;
    check_that(ck, k >= 0 && k < e->u.loop.param_count, "a while loop without condition");
    check_scalar(ck, atom_var(e->u.loop.params[k]), PRIM_BOOL, "the condition");
    return;
  }
  CoreType index = e->u.loop.index->type;
  check_that(ck, index.rank == 0 && prim_is_int(index.elem), "a loop counts integers");
  check_scalar(ck, e->u.loop.bound, index.elem, "the bound of a loop");
}

static void check_loop(const CoreCheck *ck, const Exp *e) {
  check_loop_form(ck, e);
  const Body *body = e->u.loop.body;
  check_that(ck, body->result_count == e->u.loop.param_count,
             "a loop returns one value per parameter");
  for (int i = 0; i < e->u.loop.param_count; i++) {
    CoreType type = e->u.loop.params[i]->type;
    check_same_type(ck, atom_type(e->u.loop.inits[i]), type,
                    "an initial value of a loop");
    check_same_type(ck, atom_type(body->results[i]), type, "a result of a loop");
  }
}

static void check_call(const CoreCheck *ck, const Exp *e) {
  const Function *f = e->u.call.function;
  check_that(ck, map_has(ck->functions, f),
             "a call of a function that comes later, or never");
  check_that(ck, f->param_count == e->u.call.arg_count,
             "a call with the wrong argument count");
  for (int i = 0; i < f->param_count; i++) {
    check_same_type(ck, atom_type(e->u.call.args[i]), f->params[i]->type, "an argument");
  }
}

void check_exp_of(const CoreCheck *ck, const Exp *e) {
  switch (e->kind) {
  case EXP_ATOM:
  case EXP_COPY: return;
  case EXP_OP: check_op(ck, e); return;
  case EXP_CONVERT:
  case EXP_BITS: check_convert(ck, e); return;
  case EXP_INDEX:
    check_dims(ck, e->u.index.array, e->u.index.dims, e->u.index.dim_count);
    return;
  case EXP_UPDATE: check_update(ck, e); return;
  case EXP_IOTA: check_iota(ck, e); return;
  case EXP_REPLICATE: check_size_atom(ck, e->u.replicate.count); return;
  case EXP_REARRANGE: check_rearrange(ck, e); return;
  case EXP_RESHAPE: check_reshape(ck, e); return;
  case EXP_CONCAT: check_concat(ck, e); return;
  case EXP_ROTATE:
    check_size_atom(ck, e->u.rotate.amount);
    check_array(ck, e->u.rotate.array);
    return;
  case EXP_ARRAY: check_array_literal(ck, e); return;
  case EXP_ASSERT: check_assert(ck, e); return;
  case EXP_IF: check_if(ck, e); return;
  case EXP_LOOP: check_loop(ck, e); return;
  case EXP_CALL: check_call(ck, e); return;
  case EXP_CHOOSE: check_choose(ck, e); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER:
  case EXP_SEG: check_parallel(ck, e); return;
  case EXP_GUARD: check_guard(ck, e); return;
  case EXP_SPLIT: check_split(ck, e); return;
  case EXP_GATHER: check_gather(ck, e); return;
  case EXP_BORDER: check_border(ck, e); return;
  case EXP_FETCH: check_fetch(ck, e); return;
  case EXP_DELIVER: check_deliver(ck, e); return;
  }
}
