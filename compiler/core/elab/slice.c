// Indexing, slicing, and updates.
//
// A slice a:b:s of n elements holds (b - a) / s elements, rounded away from zero, and is valid if
// it is empty, or if the step leads from a to b and every element lies within the array.
#include "core/elab/elaborate.h"

// What one index says, evaluated: shared by all leaves of an array.
typedef struct Dim {
  const AstDim *ast;
  Atom index;           // no slice
  Atom from, to, step;  // a slice's parts as far as they are given
  bool has_from, has_to, has_step;
} Dim;
typedef Vec(Dim) DimVec;

static Atom position(Elab *e, Scope *s, const AstExp *exp) {
  return elab_to_i64(e, elab_scalar(e, s, exp));
}

static DimVec eval_dims(Elab *e, Scope *s, const AstDimVec *asts) {
  DimVec dims = { 0 };
  vec_each (const AstDim *, ast, asts) {
    Dim dim = {
      .ast = ast, .has_from = ast->from, .has_to = ast->to, .has_step = ast->step
    };
    if (!ast->is_slice) dim.index = position(e, s, ast->index);
    if (ast->from) dim.from = position(e, s, ast->from);
    if (ast->to) dim.to = position(e, s, ast->to);
    dim.step = ast->step ? position(e, s, ast->step) : atom_i64(1);
    vec_push(&dims, dim);
  }
  return dims;
}

// Positions are checked where they are used; slices have been checked before.
static bool has_position(const DimVec *dims) {
  vec_each (const Dim *, dim, dims) {
    if (!dim->ast->is_slice) return true;
  }
  return false;
}

// ---- one slice

typedef struct Slice {
  Atom n;  // the dimension's extent
  Atom from, to, step, count;
  Atom backwards;  // bool: step < 0
} Slice;

static Atom le(Elab *e, Atom a, Atom b) { return elab_op2(e, OP_LE, a, b); }

// The step, near enough to 0 that it can be added to a place; no array has elements that far apart.
static Atom near_step(Elab *e, Atom step) {
  Atom most = atom_i64(INT64_C(1) << 62), least = atom_i64(-(INT64_C(1) << 62));
  return elab_op2(e, OP_MIN, elab_op2(e, OP_MAX, step, least), most);
}

// (to - from) / step, rounded away from zero.
static Atom slice_count(Elab *e, const Slice *s) {
  Atom distance = size_sub(e->b, s->to, s->from);
  if (atom_is_i64(s->step, 1)) return distance;
  if (atom_is_i64(s->step, -1)) return size_sub(e->b, s->from, s->to);
  Atom step = near_step(e, s->step), sign = elab_op1(e, OP_SGN, step);
  Atom padded = size_sub(e->b, size_add(e->b, distance, step), sign);
  // A step of zero is reported by the check; here it only must not trap.
  Atom is_zero = elab_op2(e, OP_EQ, step, atom_i64(0));
  return elab_op2(e, OP_QUOT, padded, elab_select(e, is_zero, atom_i64(1), step));
}

static Atom unit_slice_ok(Elab *e, const Slice *s) {
  Atom within = elab_and(e, le(e, atom_i64(0), s->from), le(e, s->from, s->to));
  within =
      elab_and(e, within, atom_equal(s->to, s->n) ? atom_bool(true) : le(e, s->to, s->n));
  if (atom_is_i64(s->from, 0)) return within;
  return elab_or(e, elab_op2(e, OP_EQ, s->from, s->to), within);
}

// Whether the step leads from the start to the end, and the start is an index.
static Atom leads_to_end(Elab *e, const Slice *s) {
  bool known = s->backwards.kind == ATOM_CONST;
  bool is_back = known && s->backwards.u.constant.u.i;
  Atom forth = atom_bool(false), back = atom_bool(false);
  if (!is_back) forth = elab_and(e, le(e, atom_i64(0), s->from), le(e, s->from, s->to));
  if (!known || is_back) {
    back = elab_and(e, le(e, atom_i64(-1), s->to), le(e, s->to, s->from));
    back = elab_and(e, back, elab_op2(e, OP_LT, s->from, s->n));
  }
  return elab_select(e, s->backwards, back, forth);
}

// Whether an end may be so far away that the sum of the distance and a step overflows.
static bool ends_far_away(const Slice *s) {
  if (s->to.kind == ATOM_CONST) return s->to.u.constant.u.i > INT64_C(1) << 62;
  return !atom_equal(s->to, s->n);
}

static Atom slice_ok(Elab *e, const Slice *s) {
  if (atom_is_i64(s->step, 1)) return unit_slice_ok(e, s);
  Builder *b = e->b;
  Atom length = size_mul(b, size_sub(b, s->count, atom_i64(1)), s->step);
  Atom last = size_add(b, s->from, length);
  Atom inside = elab_and(e, le(e, atom_i64(0), last), elab_op2(e, OP_LT, last, s->n));
  if (ends_far_away(s))
    inside = elab_and(e, elab_op2(e, OP_LT, atom_i64(0), s->count), inside);
  Atom ok = elab_and(e, inside, leads_to_end(e, s));
  ok = elab_or(e, elab_op2(e, OP_EQ, s->count, atom_i64(0)), ok);
  return elab_and(e, ok, elab_op2(e, OP_NE, s->step, atom_i64(0)));
}

static void dim_text(Message *m, const Dim *dim) {
  if (!dim->ast->is_slice) {
    message_value(m, dim->index);
    return;
  }
  if (dim->has_from) message_value(m, dim->from);
  message_text(m, ":");
  if (dim->has_to) message_value(m, dim->to);
  if (dim->has_step) message_text(m, ":");
  if (dim->has_step) message_value(m, dim->step);
}

// The array is of that type, sliced along all of the dimensions.
static void check_slice(Elab *e, const DimVec *dims, Slice *s, CoreType type) {
  Message m = message_new();
  message_text(&m, "Index [");
  for (int i = 0; i < dims->count; i++) {
    if (i) message_text(&m, ", ");
    dim_text(&m, &dims->at[i]);
  }
  message_text(&m, "] out of bounds for array of shape ");
  type.rank = dims->count;
  message_shape(&m, type);
  message_text(&m, ".");
  // The start passes the check, not the count: sizes stay the expressions that types mention.
  elab_assert(e, slice_ok(e, s), &m, &s->from, 1);
}

static bool is_whole(const Dim *dim) {
  return !dim->has_from && !dim->has_to &&
         (atom_is_i64(dim->step, 1) || atom_is_i64(dim->step, -1));
}

// The first element, or the last one for a negative step.
static Atom default_start(Elab *e, const Slice *s) {
  bool forth = s->backwards.kind == ATOM_CONST && !s->backwards.u.constant.u.i;
  if (forth) return atom_i64(0);
  return elab_select(e, s->backwards, size_sub(e->b, s->n, atom_i64(1)), atom_i64(0));
}

// The slice along dimension `at` of an array; checked.
static DimIndex slice_of(Elab *e, const DimVec *dims, int at, CoreType type) {
  const Dim *dim = &dims->at[at];
  Atom n = type.dims[at];
  Slice s = { .n = n, .step = dim->step };
  s.backwards = elab_op2(e, OP_LT, dim->step, atom_i64(0));
  s.from = dim->has_from ? dim->from : default_start(e, &s);
  if (is_whole(dim)) return dim_slice(s.from, n, dim->step);
  s.to = dim->has_to ? dim->to : elab_select(e, s.backwards, atom_i64(-1), n);
  s.count = slice_count(e, &s);
  check_slice(e, dims, &s, type);
  return dim_slice(s.from, s.count, s.step);
}

// The index of every dimension of an array.
static const DimIndex *full_index(Elab *e, const DimVec *dims, CoreType type) {
  DimIndex *index = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++) {
    if (i >= dims->count) {
      index[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
    } else if (dims->at[i].ast->is_slice) {
      index[i] = slice_of(e, dims, i, type);
    } else {
      index[i] = dim_fix(dims->at[i].index);
    }
  }
  return index;
}

// The checks of an index are the same for every leaf with the same outer dimensions.
typedef struct IndexState {
  const DimVec *dims;
  CoreType type;          // of the leaf for which `index` was made
  const DimIndex *index;  // NULL at first
} IndexState;

static const DimIndex *index_for(Elab *e, IndexState *state, CoreType type) {
  bool same = state->index != NULL;
  for (int i = 0; same && i < state->dims->count; i++) {
    same = atom_equal(type.dims[i], state->type.dims[i]);
  }
  const DimIndex *known = state->index;
  int count = state->dims->count;
  if (!same) {
    state->index = full_index(e, state->dims, type);
    state->type = type;
    return state->index;
  }
  DimIndex *index = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++) {
    index[i] = i < count ? known[i] : dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  }
  return index;
}

const Val *elab_index(Elab *e, Scope *s, const Val *array, const AstDimVec *asts,
                      const char *name) {
  DimVec dims = eval_dims(e, s, asts);
  AtomVec leaves = val_leaves(e, array);
  IndexState state = { .dims = &dims };
  for (int i = 0; i < leaves.count; i++) {
    const DimIndex *index = index_for(e, &state, atom_type(leaves.at[i]));
    leaves.at[i] =
        elab_emit(e, name, "x", exp_slice(leaves.at[i], index, has_position(&dims)));
  }
  return val_rebuild(e, array, leaves.at);
}

// ---- updates

// The value with the dimensions of the slice that it replaces.
static Atom fit_value(Elab *e, Atom value, const DimIndex *index, int rank) {
  CoreType type = atom_type(value);
  Atom *dims = new_array(Atom, type.rank);
  int count = 0;
  for (int i = 0; i < rank && count < type.rank; i++) {
    if (index[i].is_slice) dims[count++] = index[i].count;
  }
  CoreType target = { type.elem, type.rank, dims };
  Atom ok = atom_bool(true);
  for (int i = 0; i < type.rank; i++) {
    if (atom_equal(dims[i], type.dims[i])) continue;
    ok = elab_and(e, ok, elab_op2(e, OP_EQ, dims[i], type.dims[i]));
  }
  Message m = message_new();
  message_text(&m, "cannot write array of shape ");
  message_shape(&m, type);
  message_text(&m, " to a slice of shape ");
  message_shape(&m, target);
  elab_assert(e, ok, &m, &value, 1);
  return elab_fit(e, value, dims);
}

const Val *elab_update_array(const Update *u, const Val *array, const AstDimVec *asts,
                             const Val *v) {
  Elab *e = u->e;
  DimVec dims = eval_dims(e, u->s, asts);
  AtomVec leaves = val_leaves(e, array), values = val_leaves(e, v);
  IndexState state = { .dims = &dims };
  for (int i = 0; i < leaves.count; i++) {
    CoreType type = atom_type(leaves.at[i]);
    const DimIndex *index = index_for(e, &state, type);
    Atom value = fit_value(e, values.at[i], index, type.rank);
    leaves.at[i] = elab_emit(e, u->name, "updated",
                             exp_update(leaves.at[i], index, value, has_position(&dims)));
  }
  return val_rebuild(e, array, leaves.at);
}
