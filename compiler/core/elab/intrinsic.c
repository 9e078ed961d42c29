// The table of intrinsics: what `val` in prelude/intrinsics.fl declares, by name.
#include "core/elab/elaborate.h"

// ---- scalars

static const Val *operator(Elab *e, const IntrinsicCall *call) {
  PrimOp op = (PrimOp)call->intrinsic->code;
  Atom args[3];
  for (int i = 0; i < call->intrinsic->arity; i++)
    args[i] = val_scalar(e, call->args[i]);
  return val_atom(elab_op(e, call->name, op, args));
}

// a > b is b < a.
static const Val *swapped(Elab *e, const IntrinsicCall *call) {
  Atom args[2] = { val_scalar(e, call->args[1]), val_scalar(e, call->args[0]) };
  return val_atom(elab_op(e, call->name, (PrimOp)call->intrinsic->code, args));
}

static const Val *equal(Elab *e, const IntrinsicCall *call) {
  return elab_equal(e, call->args[0], call->args[1], call->name);
}

static const Val *not_equal(Elab *e, const IntrinsicCall *call) {
  const Val *a = call->args[0], *b = call->args[1];
  bool scalars = a->kind == VAL_ATOM && !atom_type(a->u.atom).rank;
  if (scalars) {
    Atom args[2] = { a->u.atom, val_scalar(e, b) };
    return val_atom(elab_op(e, call->name, OP_NE, args));
  }
  Atom same = val_scalar(e, elab_equal(e, a, b, NULL));
  return val_atom(elab_op(e, call->name, OP_NOT, &same));
}

static TypeIn type_argument(const IntrinsicCall *call, int i) {
  return (TypeIn){ call->closure->inst->types[i], call->closure->inst_env };
}

static SizeIn size_argument(const IntrinsicCall *call, int i) {
  const Inst *inst = call->closure->inst;
  return (SizeIn){ inst ? inst->sizes[i] : NULL, call->closure->inst_env };
}

static const Val *convert(Elab *e, const IntrinsicCall *call) {
  PrimType to = typein_prim(e, type_argument(call, 1));
  return val_atom(elab_convert(e, call->name, to, val_scalar(e, call->args[0])));
}

static const Val *bits(Elab *e, const IntrinsicCall *call) {
  PrimType to = typein_prim(e, type_argument(call, 1));
  Atom a = val_scalar(e, call->args[0]);
  if (a.kind == ATOM_CONST) {
    return val_atom(atom_const(prim_of_bits(to, prim_bits_of(a.u.constant))));
  }
  return val_atom(elab_emit(e, call->name, "bits", exp_bits(to, a)));
}

// ---- parallel operators

static const Val *map(Elab *e, const IntrinsicCall *call) {
  Atom width = elab_width(e, call->args[1], size_argument(call, 0));
  return elab_map(e, call->args, width, type_argument(call, 1), call->name);
}

static const Val *reduce(Elab *e, const IntrinsicCall *call) {
  return elab_reduce(e, call->args, call->intrinsic->code, call->name);
}

static const Val *scan(Elab *e, const IntrinsicCall *call) {
  return elab_scan(e, call->args, call->name);
}

static const Val *filter(Elab *e, const IntrinsicCall *call) {
  return elab_filter(e, call->args, call->name);
}

static const Val *scatter(Elab *e, const IntrinsicCall *call) {
  return elab_scatter(e, call->args, call->name);
}

static const Val *hist(Elab *e, const IntrinsicCall *call) {
  return elab_hist(e, call->args, call->name);
}

// ---- arrays

static const Val *iota(Elab *e, const IntrinsicCall *call) {
  Atom count = val_scalar(e, call->args[0]);
  return val_atom(
      elab_emit(e, call->name, "iota", exp_iota(count, atom_i64(0), atom_i64(1))));
}

// A function on every leaf, whose results are all called as the value is.
typedef struct OnLeaves {
  const char *name;  // wanted, or NULL
  Atom amount;       // how often, or how far
  const Atom *dims;
} OnLeaves;

static Atom replicate_leaf(Elab *e, Atom leaf, const void *state) {
  const OnLeaves *on = state;
  return elab_emit(e, on->name, "repeated", exp_replicate(on->amount, leaf));
}

static const Val *replicate(Elab *e, const IntrinsicCall *call) {
  OnLeaves on = { .name = call->name, .amount = val_scalar(e, call->args[0]) };
  return val_map(e, call->args[1], replicate_leaf, &on);
}

static Atom copy_leaf(Elab *e, Atom leaf, const void *state) {
  const OnLeaves *on = state;
  if (!atom_type(leaf).rank) return leaf;
  return elab_emit(e, on->name, "copied", exp_copy(leaf));
}

static const Val *copy(Elab *e, const IntrinsicCall *call) {
  return val_map(e, call->args[0], copy_leaf, &(OnLeaves){ .name = call->name });
}

static const Exp *concat_leaves(Elab *e, Atom a, Atom b, Atom count) {
  Atom rows = atom_type(b).dims[0];
  const Atom *dims = type_of_rows(type_row(atom_type(a)), rows).dims;
  return exp_concat(count, (Atom[]){ a, elab_fit(e, b, dims) }, 2);
}

static const Val *concat(Elab *e, const IntrinsicCall *call) {
  AtomVec a = val_leaves(e, call->args[0]), b = val_leaves(e, call->args[1]);
  if (!a.count) return call->args[0];
  Atom count = size_add(e->b, atom_type(a.at[0]).dims[0], atom_type(b.at[0]).dims[0]);
  for (int i = 0; i < a.count; i++) {
    const Exp *joined = concat_leaves(e, a.at[i], b.at[i], count);
    a.at[i] = elab_emit(e, call->name, "joined", joined);
  }
  return val_rebuild(e, call->args[0], a.at);
}

static Atom rotate_leaf(Elab *e, Atom leaf, const void *state) {
  const OnLeaves *on = state;
  return elab_emit(e, on->name, "rotated", exp_rotate(on->amount, leaf));
}

// Amounts that are not known to be near 0 are made so: places are (i + amount) % n.
static Atom near_amount(Elab *e, Atom amount, const Val *array) {
  const int64_t near = INT64_C(1) << 62;
  AtomVec leaves = val_leaves(e, array);
  if (!leaves.count) return amount;
  if (amount.kind == ATOM_CONST && amount.u.constant.u.i <= near &&
      amount.u.constant.u.i >= -near)
    return amount;
  Atom count = atom_type(leaves.at[0]).dims[0];
  return elab_op2(e, OP_MOD, amount, elab_op2(e, OP_MAX, count, atom_i64(1)));
}

static const Val *rotate(Elab *e, const IntrinsicCall *call) {
  Atom amount = near_amount(e, val_scalar(e, call->args[0]), call->args[1]);
  OnLeaves on = { .name = call->name, .amount = amount };
  return val_map(e, call->args[1], rotate_leaf, &on);
}

static Atom transpose_leaf(Elab *e, Atom leaf, const void *state) {
  const OnLeaves *on = state;
  int rank = atom_type(leaf).rank;
  int *perm = new_array(int, rank);
  for (int i = 0; i < rank; i++)
    perm[i] = i < 2 ? 1 - i : i;
  return elab_emit(e, on->name, "transposed", exp_rearrange(perm, rank, leaf));
}

static const Val *transpose(Elab *e, const IntrinsicCall *call) {
  return val_map(e, call->args[0], transpose_leaf, &(OnLeaves){ .name = call->name });
}

// The leaf with its first `replaced` dimensions replaced by `count` others.
static const Exp *reshaped(Atom leaf, const Atom *dims, int count, int replaced) {
  CoreType type = atom_type(leaf);
  AtomVec all = { 0 };
  for (int i = 0; i < count; i++)
    vec_push(&all, dims[i]);
  for (int i = replaced; i < type.rank; i++)
    vec_push(&all, type.dims[i]);
  return exp_reshape(all.at, all.count, leaf);
}

static Atom flatten_leaf(Elab *e, Atom leaf, const void *state) {
  const OnLeaves *on = state;
  CoreType type = atom_type(leaf);
  Atom count = size_mul(e->b, type.dims[0], type.dims[1]);
  return elab_emit(e, on->name, "reshaped", reshaped(leaf, &count, 1, 2));
}

static const Val *flatten_array(Elab *e, const IntrinsicCall *call) {
  return val_map(e, call->args[0], flatten_leaf, &(OnLeaves){ .name = call->name });
}

static Atom unflatten_leaf(Elab *e, Atom leaf, const void *state) {
  const OnLeaves *on = state;
  return elab_emit(e, on->name, "reshaped", reshaped(leaf, on->dims, 2, 1));
}

// By typing there are n * m elements, but a size that was computed may be negative, and the product
// of large ones overflow.
static Atom is_shape(Elab *e, const Atom *dims) {
  Atom n = dims[0], m = dims[1], zero = atom_i64(0);
  if (size_is_natural(e, n) && size_is_natural(e, m)) return atom_bool(true);
  Atom positive = elab_and(e, elab_op2(e, OP_LE, zero, n), elab_op2(e, OP_LE, zero, m));
  Atom small = elab_op2(e, OP_EQ, elab_op2(e, OP_MUL_HI, n, m), zero);
  return elab_and(e, positive, small);
}

static const Val *check_shape(Elab *e, const Val *array, const Atom *dims) {
  AtomVec leaves = val_leaves(e, array);
  if (!leaves.count) return array;
  Message m = message_new();
  message_text(&m, "Cannot unflatten array of shape ");
  message_shape(&m, atom_type(leaves.at[0]));
  message_text(&m, " to array of shape ");
  message_shape(&m, type_array(PRIM_I64, 2, dims));
  elab_assert(e, is_shape(e, dims), &m, leaves.at, leaves.count);
  return val_rebuild(e, array, leaves.at);
}

static const Val *unflatten(Elab *e, const IntrinsicCall *call) {
  Atom dims[2];
  for (int i = 0; i < 2; i++) {
    SizeIn size = size_argument(call, i);
    if (!size_known(size)) {
      error(e->c, e->b->loc, "nothing tells the shape that `unflatten` makes");
      hint(e->c, "ascribe the type of the result, as in `unflatten xs : [n][m]t`");
      elab_stop(e);
    }
    dims[i] = size_eval(e, size);
  }
  OnLeaves on = { .name = call->name, .dims = dims };
  return val_map(e, check_shape(e, call->args[0], dims), unflatten_leaf, &on);
}

static const Val *fitted(Elab *e, const IntrinsicCall *call) {
  SizeIn size = size_argument(call, 1);
  if (!size_known(size)) return call->args[0];
  return elab_fit_width(e, call->args[0], size_eval(e, size));
}

// ---- accumulators: an array in a record whose field is named by the place that made it

static const Val *acc_begin(Elab *e, const IntrinsicCall *call) {
  Name name = name_of(e->c->names, text_format("acc'%d", e->c->next_id++));
  if (call->intrinsic->code) map_put(e->acc_ops, name, call->args[1]);
  return val_record(&name, &call->args[0], 1);
}

// What a function gives back is the accumulator that it got: there is no other one.
static const Val *acc_own(Elab *e, const IntrinsicCall *call) {
  (void)e;
  return call->args[0];
}

static const Val *acc_end(Elab *e, const IntrinsicCall *call) {
  (void)e;
  return call->args[0]->u.record.items[0];
}

typedef struct AccWrite {
  const Val *array, *value;
  Atom index;
  const Val *op;  // or NULL
} AccWrite;

static const Val *do_write(Elab *e, const void *state, const char *name) {
  const AccWrite *w = state;
  const Val *value = w->value;
  if (w->op) {
    const Val *const args[2] = { elab_element(e, w->array, w->index), value };
    value = elab_apply(e, w->op, args, 2, NULL);
  }
  AtomVec leaves = val_leaves(e, w->array), values = val_leaves(e, value);
  for (int i = 0; i < leaves.count; i++) {
    CoreType type = atom_type(leaves.at[i]);
    DimIndex *dims = new_array(DimIndex, type.rank);
    for (int d = 1; d < type.rank; d++)
      dims[d] = dim_slice(atom_i64(0), type.dims[d], atom_i64(1));
    dims[0] = dim_fix(w->index);
    Atom v = elab_fit(e, values.at[i], type_row(type).dims);
    leaves.at[i] =
        elab_emit(e, name, "written", exp_update(leaves.at[i], dims, v, false));
  }
  return val_rebuild(e, w->array, leaves.at);
}

static const Val *do_nothing(Elab *e, const void *state, const char *name) {
  (void)e;
  (void)name;
  return ((const AccWrite *)state)->array;
}

static const Val *acc_write(Elab *e, const IntrinsicCall *call) {
  const Val *acc = call->args[0];
  Atom first;
  AccWrite w = { .array = acc->u.record.items[0], .value = call->args[2] };
  if (!val_first_leaf(w.array, &first)) return acc;
  w.index = val_scalar(e, call->args[1]);
  w.op = map_get(e->acc_ops, acc->u.record.names[0]);
  Atom count = atom_type(first).dims[0];
  Atom inside = elab_and(e, elab_op2(e, OP_LE, atom_i64(0), w.index),
                         elab_op2(e, OP_LT, w.index, count));
  Branches branches = { .yes = { do_write, &w }, .no = { do_nothing, &w } };
  const Val *array = elab_if(e, inside, branches, call->name);
  return val_record(acc->u.record.names, &array, 1);
}

static const Val *zip(Elab *e, const IntrinsicCall *call) {
  Atom first;
  const Val *second = call->args[1];
  if (val_first_leaf(call->args[0], &first)) {
    second = elab_fit_width(e, second, atom_type(first).dims[0]);
  }
  return val_pair(e, call->args[0], second);
}

// An array of pairs is a pair of arrays already.
static const Val *unzip(Elab *e, const IntrinsicCall *call) {
  (void)e;
  return call->args[0];
}

// A choice that is not applied in place: both operands are values already.
static const Val *eval_value(Elab *e, const void *state, const char *name) {
  (void)e;
  (void)name;
  return state;
}

static const Val *choose_values(Elab *e, const IntrinsicCall *call) {
  int count = call->intrinsic->arity;
  Branches both = { .yes = { eval_value, call->args[count - 2] },
                    .no = { eval_value, call->args[count - 1] } };
  Atom size;
  if (count == 3) size = elab_to_i64(e, val_scalar(e, call->args[0]));
  return elab_choose(e, count == 3 ? &size : NULL, both, call->name);
}

// ---- the table

static const Intrinsic intrinsics[] = {
  { "==", 2, equal, 0 },
  { "!=", 2, not_equal, 0 },
  { "eq", 2, equal, 0 },
  { "ne", 2, not_equal, 0 },
  { ">", 2, swapped, OP_LT },
  { ">=", 2, swapped, OP_LE },
  { "convert", 1, convert, 0 },
  { "bits", 1, bits, 0 },
  { "map", 2, map, 0 },
  { "reduce", 3, reduce, false },
  { "reduce_comm", 3, reduce, true },
  { "scan", 3, scan, 0 },
  { "filter", 2, filter, 0 },
  { "scatter", 3, scatter, 0 },
  { "hist", 5, hist, 0 },
  { "iota", 1, iota, 0 },
  { "replicate", 2, replicate, 0 },
  { "copy", 1, copy, 0 },
  { "concat", 2, concat, 0 },
  { "rotate", 2, rotate, 0 },
  { "transpose", 1, transpose, 0 },
  { "flatten", 1, flatten_array, 0 },
  { "unflatten", 1, unflatten, 0 },
  { "acc_begin", 1, acc_begin, false },
  { "acc_begin_with", 2, acc_begin, true },
  { "acc_write", 3, acc_write, 0 },
  { "acc_own", 1, acc_own, 0 },
  { "acc_end", 1, acc_end, 0 },
  { "fitted", 1, fitted, 0 },
  { "zip", 2, zip, 0 },
  { "unzip", 1, unzip, 0 },
  { "jvp2", 3, elab_jvp, 0 },
  { "vjp2", 3, elab_vjp, 0 },
  { "with_vjp", 3, elab_with_vjp, 0 },
  { "choose", 2, choose_values, 0 },
  { "choose_by", 3, choose_values, 0 },
};

static void add(Elab *e, Map *table, const char *name, const Intrinsic *intrinsic) {
  map_put(table, name_of(e->c->names, name), intrinsic);
}

// Scalar operators go by their name and by their spelling; the table above has precedence.
Map *elab_intrinsics(Elab *e) {
  Map *table = map_new(NULL);
  for (int i = 0; i < OP_COUNT; i++) {
    PrimOp op = (PrimOp)i;
    const Intrinsic *entry = new_node(Intrinsic, .name = op_name(op),
                                      .arity = op_arity(op), .fn = operator, .code = i);
    add(e, table, op_spelling(op), entry);
    add(e, table, op_name(op), entry);
  }
  for (size_t i = 0; i < sizeof intrinsics / sizeof *intrinsics; i++) {
    add(e, table, intrinsics[i].name, &intrinsics[i]);
  }
  return table;
}
