// Arrays: indexing of what is known, composition of views, checks that cannot fail.
#include "core/simplify.h"

// ---- checks

static Atom atom_op(Simplify *s, PrimOp op, Atom x, Atom y) {
  return simplify_let(s, "i", exp_op2(op, x, y));
}

static bool is_const(Atom a) { return a.kind == ATOM_CONST; }

// A slice between constants: both its ends lie within.
static bool is_const_slice_within(const DimIndex *dim, Atom size) {
  if (!is_const(dim->start) || !is_const(dim->count) || !is_const(dim->stride))
    return false;
  if (!is_const(size)) return false;
  int64_t n = size.u.constant.u.i, first = dim->start.u.constant.u.i;
  int64_t steps, span, last;
  if (__builtin_sub_overflow(dim->count.u.constant.u.i, 1, &steps) || steps < 0)
    return false;
  if (__builtin_mul_overflow(steps, dim->stride.u.constant.u.i, &span)) return false;
  if (__builtin_add_overflow(first, span, &last)) return false;
  return first >= 0 && first < n && last >= 0 && last < n;
}

static bool is_within(const Simplify *s, const DimIndex *dim, Atom size) {
  if (dim->is_slice) return dim_is_whole(dim, size) || is_const_slice_within(dim, size);
  return simplify_is_nonneg(s, dim->start) && simplify_is_below(s, dim->start, size);
}

static bool dims_are_within(const Simplify *s, CoreType type, const DimIndex *dims,
                            int count) {
  for (int i = 0; i < count; i++) {
    if (!is_within(s, &dims[i], type.dims[i])) return false;
  }
  return true;
}

// The array exists, so its sizes are not negative.
static bool are_within(Simplify *s, Atom array, const DimIndex *dims, int count) {
  CoreType type = atom_type(array);
  int mark = simplify_mark(s);
  for (int i = 0; i < type.rank; i++)
    simplify_assume_at_least(s, type.dims[i], 0);
  bool within = dims_are_within(s, type, dims, count);
  simplify_forget(s, mark);
  return within;
}

// ---- indexing

// a with the first dimensions' indices dropped: the rest, or the atom itself.
static const Exp *index_rest(Atom a, const DimIndex *dims, int count) {
  return count ? exp_slice(a, dims, false) : exp_atom(a);
}

// (iota n start step)[i] => start + i * step
static const Exp *index_iota(Simplify *s, const Exp *def, const DimIndex *dims) {
  if (dims[0].is_slice || !prim_is_int(def->u.iota.type)) return NULL;
  Atom i = simplify_let(s, "i", exp_convert(def->u.iota.type, dims[0].start));
  Atom scaled = atom_op(s, OP_MUL, i, def->u.iota.step);
  return exp_op2(OP_ADD, def->u.iota.start, scaled);
}

// The value, behind the checks that the position of a slice has passed: what mentions the position
// no more must not lose them.
static Atom behind_checks_of(Simplify *s, Atom position, Atom value) {
  const Exp *def = simplify_def(s, position);
  if (!def) return value;
  if (def->kind == EXP_OP)
    for (int i = 0; i < op_arity(def->u.op.op); i++)
      value = behind_checks_of(s, def->u.op.args[i], value);
  if (def->kind != EXP_ASSERT) return value;
  Exp *check = mem_copy(def, sizeof *def);
  check->u.assert.atoms = mem_copy(&value, sizeof value);
  check->u.assert.atom_count = 1;
  return simplify_let(s, "checked", check);
}

// (replicate n x)[i, ...] => x[...]   (replicate n x)[i:k:_] => replicate k x
static const Exp *index_replicate(Simplify *s, const Exp *def, const DimIndex *dims,
                                  int count) {
  if (!dims[0].is_slice) return index_rest(def->u.replicate.value, dims + 1, count - 1);
  Atom row =
      simplify_let(s, "row", index_rest(def->u.replicate.value, dims + 1, count - 1));
  return exp_replicate(dims[0].count, behind_checks_of(s, dims[0].start, row));
}

// [a, b, c][1, ...] => b[...]
static const Exp *index_literal(const Exp *def, const DimIndex *dims, int count) {
  if (dims[0].is_slice || !is_const(dims[0].start)) return NULL;
  int64_t i = dims[0].start.u.constant.u.i;
  if (i < 0 || i >= def->u.array.count) return NULL;
  return index_rest(def->u.array.atoms[i], dims + 1, count - 1);
}

// (rearrange (1, 0) a)[i, j] => a[j, i]; not if the remaining dimensions would change places.
static const Exp *index_rearrange(const Exp *def, const DimIndex *dims, int count) {
  DimIndex *moved = new_array(DimIndex, count);
  int last = -1;
  for (int i = 0; i < count; i++) {
    int to = def->u.rearrange.perm[i];
    moved[to] = dims[i];
    if (!dims[i].is_slice) continue;
    if (to < last) return NULL;
    last = to;
  }
  return exp_slice(def->u.rearrange.array, moved, false);
}

// The part e of what d selects.
static DimIndex compose_dim(Simplify *s, const DimIndex *d, const DimIndex *e) {
  Atom offset = atom_op(s, OP_MUL, e->start, d->stride);
  Atom start = atom_op(s, OP_ADD, d->start, offset);
  if (!e->is_slice) return dim_fix(start);
  return dim_slice(start, e->count, atom_op(s, OP_MUL, e->stride, d->stride));
}

// (a[d])[e] => a[d[e]]; a check of the slice d must not get lost.
static const Exp *index_slice(Simplify *s, const Exp *def, const DimIndex *dims) {
  if (def->u.index.checked) return NULL;
  int rank = def->u.index.dim_count;
  DimIndex *composed = new_array(DimIndex, rank);
  int next = 0;
  for (int i = 0; i < rank; i++) {
    const DimIndex *d = &def->u.index.dims[i];
    composed[i] = d->is_slice ? compose_dim(s, d, &dims[next++]) : *d;
  }
  return exp_slice(def->u.index.array, composed, false);
}

static bool same_positions(const DimIndex *a, const DimIndex *b, int count) {
  for (int i = 0; i < count; i++) {
    if (a[i].is_slice != b[i].is_slice || !atom_equal(a[i].start, b[i].start))
      return false;
    if (!a[i].is_slice) continue;
    if (!atom_equal(a[i].count, b[i].count) || !atom_equal(a[i].stride, b[i].stride))
      return false;
  }
  return true;
}

static bool are_apart(const DimIndex *a, const DimIndex *b, int count) {
  for (int i = 0; i < count; i++) {
    bool fixed = !a[i].is_slice && !b[i].is_slice;
    if (fixed && is_const(a[i].start) && is_const(b[i].start) &&
        !atom_equal(a[i].start, b[i].start))
      return true;
  }
  return false;
}

static const Exp *index_into(Simplify *s, const Exp *def, const DimIndex *dims,
                             int count);

// (a with [i] = v)[i] => v
// (replicate n x with [1] = v)[2] => x; an array that was overwritten must not be read again
static const Exp *index_update(Simplify *s, const Exp *def, const DimIndex *dims,
                               int count) {
  if (same_positions(def->u.update.dims, dims, count))
    return exp_atom(def->u.update.value);
  const Exp *before = simplify_def(s, def->u.update.array);
  bool known = before && (before->kind == EXP_UPDATE || before->kind == EXP_REPLICATE);
  if (!known || !are_apart(def->u.update.dims, dims, count)) return NULL;
  return index_into(s, before, dims, count);
}

// An index into what this expression built.
static const Exp *index_into(Simplify *s, const Exp *def, const DimIndex *dims,
                             int count) {
  if (def->kind == EXP_IOTA) return index_iota(s, def, dims);
  if (def->kind == EXP_REPLICATE) return index_replicate(s, def, dims, count);
  if (def->kind == EXP_ARRAY) return index_literal(def, dims, count);
  if (def->kind == EXP_REARRANGE) return index_rearrange(def, dims, count);
  if (def->kind == EXP_INDEX) return index_slice(s, def, dims);
  if (def->kind == EXP_UPDATE) return index_update(s, def, dims, count);
  return NULL;
}

static const Exp *without_check(const Exp *e) {
  Exp *copy = mem_copy(e, sizeof *e);
  if (e->kind == EXP_INDEX) copy->u.index.checked = false;
  if (e->kind == EXP_UPDATE) copy->u.update.checked = false;
  return copy;
}

static bool is_whole_array(const Exp *e) {
  CoreType type = atom_type(e->u.index.array);
  for (int i = 0; i < e->u.index.dim_count; i++) {
    if (!dim_is_whole(&e->u.index.dims[i], type.dims[i])) return false;
  }
  return true;
}

static const Exp *index(Simplify *s, const Exp *e) {
  const DimIndex *dims = e->u.index.dims;
  int count = e->u.index.dim_count;
  if (is_whole_array(e)) return exp_atom(e->u.index.array);
  const Exp *def = simplify_def(s, e->u.index.array);
  bool checked = e->u.index.checked && !are_within(s, e->u.index.array, dims, count);
  if (checked) return NULL;
  const Exp *better = def ? index_into(s, def, dims, count) : NULL;
  if (better || !e->u.index.checked) return better;
  return without_check(e);
}

static const Exp *update(Simplify *s, const Exp *e) {
  if (!e->u.update.checked) return NULL;
  bool fine = are_within(s, e->u.update.array, e->u.update.dims, e->u.update.dim_count);
  return fine ? without_check(e) : NULL;
}

// ---- views

// rearrange p (rearrange q a) => rearrange (q . p) a; the identity => a
static const Exp *rearrange(const Simplify *s, const Exp *e) {
  int rank = e->u.rearrange.rank;
  const int *perm = e->u.rearrange.perm;
  bool identity = true;
  for (int i = 0; i < rank; i++)
    identity &= perm[i] == i;
  if (identity) return exp_atom(e->u.rearrange.array);
  const Exp *inner = simplify_def(s, e->u.rearrange.array);
  if (!inner || inner->kind != EXP_REARRANGE) return NULL;
  int *composed = new_array(int, rank);
  for (int i = 0; i < rank; i++)
    composed[i] = inner->u.rearrange.perm[perm[i]];
  return exp_rearrange(composed, rank, inner->u.rearrange.array);
}

// Whether arrays of as many elements have the same shape where only names of one size differ.
static bool renames(CoreType to, CoreType from) {
  int differ = 0;
  for (int i = 0; i < to.rank; i++)
    differ += !atom_equal(to.dims[i], from.dims[i]);
  return differ <= 1;
}

// reshape [n] a => a if that is its shape; reshape d (reshape e a) => reshape d a, but not where
// rows of another length would look like other names for the same sizes: a reshape that keeps the
// rank is a change of names, which needs no copy.
static const Exp *reshape(const Simplify *s, const Exp *e) {
  Atom array = e->u.reshape.array;
  CoreType shape =
      type_array(atom_type(array).elem, e->u.reshape.rank, e->u.reshape.dims);
  if (type_same_shape(shape, atom_type(array))) return exp_atom(array);
  const Exp *inner = simplify_def(s, array);
  if (!inner || inner->kind != EXP_RESHAPE) return NULL;
  Atom whole = inner->u.reshape.array;
  CoreType from = atom_type(whole);
  bool names = inner->u.reshape.rank == from.rank && shape.rank == from.rank;
  if (shape.rank == from.rank && !names && !renames(shape, from)) return NULL;
  return exp_reshape(e->u.reshape.dims, e->u.reshape.rank, whole);
}

enum { MOST_JOINED = 16 };

// The arrays of a concat, those of one within it in its place.
static AtomVec joined_arrays(const Simplify *s, const Exp *e) {
  AtomVec all = { 0 };
  for (int i = 0; i < e->u.concat.array_count; i++) {
    Atom array = e->u.concat.arrays[i];
    const Exp *inner = simplify_def(s, array);
    bool splice = inner && inner->kind == EXP_CONCAT &&
                  all.count + inner->u.concat.array_count <= MOST_JOINED;
    if (!splice) vec_push(&all, array);
    for (int k = 0; splice && k < inner->u.concat.array_count; k++)
      vec_push(&all, inner->u.concat.arrays[k]);
  }
  return all;
}

static bool is_that_concat(const Exp *e, const AtomVec *arrays) {
  if (arrays->count != e->u.concat.array_count) return false;
  for (int i = 0; i < arrays->count; i++)
    if (!atom_equal(arrays->at[i], e->u.concat.arrays[i])) return false;
  return true;
}

// Empty arrays add nothing to a concat; one array is itself; a concat within one is its parts.
static const Exp *concat(const Simplify *s, const Exp *e) {
  AtomVec all = joined_arrays(s, e), kept = { 0 };
  vec_each (Atom *, array, &all)
    if (!atom_is_i64(atom_type(*array).dims[0], 0)) vec_push(&kept, *array);
  if (kept.count == 1 && atom_equal(atom_type(kept.at[0]).dims[0], e->u.concat.count))
    return exp_atom(kept.at[0]);
  if (!kept.count || is_that_concat(e, &kept)) return NULL;
  return exp_concat(e->u.concat.count, kept.at, kept.count);
}

// n, or the greater one of n and 1
static bool is_count(const Simplify *s, Atom a, Atom n) {
  const Exp *def = simplify_def(s, a);
  if (atom_equal(a, n)) return true;
  return def && def->kind == EXP_OP && def->u.op.op == OP_MAX &&
         atom_equal(def->u.op.args[0], n) && atom_is_i64(def->u.op.args[1], 1);
}

// rotate (k % max n 1) xs => rotate k xs, for 0 <= k < n
static const Exp *rotate(const Simplify *s, const Exp *e) {
  Atom array = e->u.rotate.array, n = atom_type(array).dims[0];
  if (atom_is_i64(e->u.rotate.amount, 0)) return exp_atom(array);
  const Exp *def = simplify_def(s, e->u.rotate.amount);
  if (!def || def->kind != EXP_OP || def->u.op.op != OP_MOD) return NULL;
  Atom k = def->u.op.args[0];
  bool same = is_count(s, def->u.op.args[1], n) && simplify_is_nonneg(s, k) &&
              simplify_is_below(s, k, n);
  return same ? exp_rotate(k, array) : NULL;
}

const Exp *simplify_array(Simplify *s, const Exp *e) {
  if (e->kind == EXP_INDEX) return index(s, e);
  if (e->kind == EXP_UPDATE) return update(s, e);
  if (e->kind == EXP_REARRANGE) return rearrange(s, e);
  if (e->kind == EXP_RESHAPE) return reshape(s, e);
  if (e->kind == EXP_CONCAT) return concat(s, e);
  if (e->kind == EXP_ROTATE) return rotate(s, e);
  bool scalar_copy = e->kind == EXP_COPY && !atom_type(e->u.atom.atom).rank;
  return scalar_copy ? exp_atom(e->u.atom.atom) : NULL;
}
