// Array literals, ranges, coercions, equality.
#include "core/elab/elaborate.h"

static Atom element(Elab *e, Atom array, const void *state) {
  return core_let(e->b, "x", exp_index(array, state, 1, false));
}

const Val *elab_element(Elab *e, const Val *array, Atom index) {
  return val_map(e, array, element, &index);
}

// ---- literals

static Atom empty_leaf(Elab *e, CoreType type, void *state) {
  const char *const *name = state;
  return elab_emit(e, *name, "empty", exp_array(NULL, 0, type_row(type)));
}

// One leaf of an array literal: leaf `k` of each element.
static const Exp *literal_leaf(Elab *e, const AtomVec *elements, int count, int k) {
  CoreType row = atom_type(elements[0].at[k]);
  Atom *atoms = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    atoms[i] = elab_fit(e, elements[i].at[k], row.dims);
  return exp_array(atoms, count, row);
}

const Val *elab_array(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  int count = exp->u.array.items.count;
  AtomVec dims = { 0 };
  if (!count)
    return val_of_type(e, (TypeIn){ exp->type, s->env }, &dims, empty_leaf, &name);
  AtomVec *elements = new_array(AtomVec, count);
  const Val *first = NULL;
  for (int i = 0; i < count; i++) {
    const Val *v = elab_part(e, s, exp->u.array.items.at[i]);
    elements[i] = val_leaves(e, v);
    if (!first) first = v;
  }
  Atom *leaves = new_array(Atom, elements[0].count);
  for (int k = 0; k < elements[0].count; k++) {
    leaves[k] = elab_emit(e, name, "array", literal_leaf(e, elements, count, k));
  }
  return val_rebuild(e, first, leaves);
}

const Val *elab_string(Elab *e, const AstExp *exp, const char *name) {
  int count = (int)exp->u.string.length;
  Atom *atoms = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    atoms[i] = atom_const(prim_int(PRIM_U8, (unsigned char)exp->u.string.bytes[i]));
  }
  return val_atom(
      elab_emit(e, name, "text", exp_array(atoms, count, type_scalar(PRIM_U8))));
}

// ---- ranges

typedef struct Range {
  AstRangeEnd end;
  Atom start, second, stop;  // second is start +- 1 if it is not given
  bool has_second;
  PrimType type;
  Atom step;
  Atom backwards;  // bool: the step is negative
  Atom distance,
      width;  // i64: how far the end and the second one are; below 0 if too far
} Range;

static Atom zero(PrimType type) { return atom_const(prim_zero(type)); }

static void range_step(Elab *e, Range *r) {
  if (r->has_second) {
    r->step = elab_op2(e, OP_SUB, r->second, r->start);
    r->backwards = elab_op2(e, OP_LT, r->second, r->start);
    return;
  }
  bool down = r->end == RANGE_ABOVE;
  r->step = atom_const(prim_int(r->type, down ? -1 : 1));
  r->backwards = atom_bool(down);
}

// The step is not zero, goes the way that `..<` or `..>` says, and does not lead away from the end.
static Atom range_ok(Elab *e, const Range *r) {
  Atom ok = elab_op2(e, OP_NE, r->step, zero(r->type));
  if (r->end == RANGE_ABOVE) ok = elab_and(e, ok, r->backwards);
  if (r->end == RANGE_BELOW) ok = elab_and(e, ok, elab_op1(e, OP_NOT, r->backwards));
  Atom up = elab_op2(e, OP_LE, r->start, r->stop);
  Atom down = elab_op2(e, OP_LE, r->stop, r->start);
  ok = elab_and(e, ok, elab_select(e, r->backwards, down, up));
  if (!r->has_second || r->type != PRIM_I64) return ok;
  Atom near = elab_op2(e, OP_LE, atom_i64(0), r->distance);
  return elab_and(e, ok, elab_and(e, near, elab_op2(e, OP_LE, atom_i64(0), r->width)));
}

// The start passes the check, not the count: sizes stay what types mention.
static void check_range(Elab *e, Range *r) {
  static const char *const spelling[] = {
    [RANGE_BELOW] = "..<", [RANGE_UPTO] = "...", [RANGE_ABOVE] = "..>"
  };
  Message m = message_new();
  message_text(&m, "Range ");
  message_value(&m, r->start);
  if (r->has_second) {
    message_text(&m, "..");
    message_value(&m, r->second);
  }
  message_text(&m, spelling[r->end]);
  message_value(&m, r->stop);
  message_text(&m, " is invalid.");
  elab_assert(e, range_ok(e, r), &m, &r->start, 1);
}

// ceil(|stop - start| / |step|), one more for an end that belongs to the range and is met.
static Atom range_count(Elab *e, Range *r) {
  Builder *b = e->b;
  Atom start = elab_to_i64(e, r->start), stop = elab_to_i64(e, r->stop);
  Atom up = size_sub(b, stop, start), down = size_sub(b, start, stop);
  Atom distance = r->distance = elab_select(e, r->backwards, down, up);
  Atom step = atom_i64(1);
  if (r->has_second) {
    Atom second = elab_to_i64(e, r->second);
    Atom forth = size_sub(b, second, start), back = size_sub(b, start, second);
    // A step of zero is reported by the check; here it only must not trap.
    r->width = elab_select(e, r->backwards, back, forth);
    step = elab_op2(e, OP_MAX, r->width, atom_i64(1));
  }
  if (r->end == RANGE_UPTO) {
    return size_add(b, elab_op2(e, OP_DIV, distance, step), atom_i64(1));
  }
  if (atom_is_i64(step, 1)) return distance;
  if (step.kind != ATOM_CONST) {  // a sum of both might overflow
    Atom before = elab_op2(e, OP_DIV, size_sub(b, distance, atom_i64(1)), step);
    return size_add(b, before, atom_i64(1));
  }
  Atom padded = size_sub(b, size_add(b, distance, step), atom_i64(1));
  return elab_op2(e, OP_DIV, padded, step);
}

// 0..<n, 1..<n: iota itself refuses a negative count.
static bool is_plain(const Range *r) {
  return r->end != RANGE_UPTO && !r->has_second && r->start.kind == ATOM_CONST;
}

const Val *elab_range(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  Range r = { .end = exp->u.range.end, .has_second = exp->u.range.second != NULL };
  r.start = elab_scalar(e, s, exp->u.range.from);
  if (r.has_second) r.second = elab_scalar(e, s, exp->u.range.second);
  r.stop = elab_scalar(e, s, exp->u.range.to);
  r.type = atom_type(r.start).elem;
  range_step(e, &r);
  Atom count = range_count(e, &r);
  if (!is_plain(&r)) check_range(e, &r);
  return val_atom(elab_emit(e, name, "range", exp_iota(count, r.start, r.step)));
}

// ---- coercions

// The target's dimensions; those that it leaves open are the array's own.
static CoreType target_type(Elab *e, CoreType type, LeafSizes declared) {
  Atom *dims = new_array(Atom, type.rank);
  for (int i = 0; i < type.rank; i++) {
    bool known = i < declared.count && size_known(declared.at[i]);
    dims[i] = known ? size_eval(e, declared.at[i]) : type.dims[i];
  }
  return (CoreType){ type.elem, type.rank, dims };
}

static Atom same_dims(Elab *e, CoreType a, CoreType b) {
  Atom same = atom_bool(true);
  for (int i = 0; i < a.rank; i++) {
    if (atom_equal(a.dims[i], b.dims[i])) continue;
    same = elab_and(e, same, elab_op2(e, OP_EQ, a.dims[i], b.dims[i]));
  }
  return same;
}

static Atom coerce_leaf(Elab *e, Atom leaf, LeafSizes declared) {
  CoreType type = atom_type(leaf);
  CoreType target = target_type(e, type, declared);
  Message m = message_new();
  message_text(&m, "Value of shape ");
  message_shape(&m, type);
  message_text(&m, " cannot match shape of type \"");
  message_shape(&m, target);
  message_text(&m, prim_type_name(type.elem));
  message_text(&m, "\".");
  elab_assert(e, same_dims(e, type, target), &m, &leaf, 1);
  return elab_fit(e, leaf, target.dims);
}

const Val *elab_coerce(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  const Val *v = elab_exp(e, s, exp->u.ascribe.exp, (Want){ .name = name });
  LeafSizesVec declared = val_sizes(e, (TypeIn){ exp->u.ascribe.ascribed, s->env }, v);
  AtomVec leaves = val_leaves(e, v);
  for (int i = 0; i < leaves.count; i++) {
    leaves.at[i] = coerce_leaf(e, leaves.at[i], declared.at[i]);
  }
  return val_rebuild(e, v, leaves.at);
}

// ---- equality

static Lambda scalar_lambda(Elab *e, PrimOp op, PrimType type) {
  Inner inner;
  elab_enter(e, &inner);
  const Var *params[2];
  Name names[2] = { name_of(e->c->names, "a"), name_of(e->c->names, "b") };
  for (int i = 0; i < 2; i++) {
    params[i] = var_new(e->c, names[i], type_scalar(type), e->b->loc);
  }
  Atom result = elab_op2(e, op, atom_var(params[0]), atom_var(params[1]));
  Lambda fn = lambda_new(params, 2, core_body(&inner.b, &result, 1));
  elab_leave(e, &inner);
  return fn;
}

static Atom flat(Elab *e, Atom array, Atom count) {
  return core_let(e->b, "flat", exp_reshape(&count, 1, array));
}

// All elements of two arrays of one shape, by one reduction over all of them.
static Atom equal_elements(Elab *e, Atom a, Atom b) {
  CoreType type = atom_type(a);
  Atom count = atom_i64(1);
  for (int i = 0; i < type.rank; i++)
    count = size_mul(e->b, count, type.dims[i]);
  Atom arrays[2] = { flat(e, a, count), flat(e, b, count) };
  Atom neutral = atom_bool(true);
  RedOp all = { scalar_lambda(e, OP_LAND, PRIM_BOOL), mem_copy(&neutral, sizeof neutral),
                1, true };
  Soac soac = {
    count, scalar_lambda(e, OP_EQ, type.elem), mem_copy(arrays, sizeof arrays),
    2,     mem_copy(&all, sizeof all),         1
  };
  return core_let(e->b, "equal", exp_soac(EXP_REDOMAP, soac));
}

static Atom equal_leaves(Elab *e, Atom a, Atom b, const char *name) {
  CoreType type = atom_type(a);
  if (!type.rank) return elab_op(e, name, OP_EQ, (Atom[]){ a, b });
  Atom same = same_dims(e, type, atom_type(b));
  Inner inner, other;
  elab_enter(e, &inner);
  Atom equal = equal_elements(e, a, elab_fit(e, b, type.dims));
  elab_leave(e, &inner);
  const Body *elements = core_body(&inner.b, &equal, 1);
  if (same.kind == ATOM_CONST && same.u.constant.u.i) {
    core_add_body(e->b, elements);
    return equal;
  }
  elab_enter(e, &other);
  elab_leave(e, &other);
  Atom differ = atom_bool(false);
  return core_let(e->b, "equal", exp_if(same, elements, core_body(&other.b, &differ, 1)));
}

const Val *elab_equal(Elab *e, const Val *a, const Val *b, const char *name) {
  AtomVec left = val_leaves(e, a), right = val_leaves(e, b);
  if (left.count == 1) return val_atom(equal_leaves(e, left.at[0], right.at[0], name));
  Atom equal = atom_bool(true);
  for (int i = 0; i < left.count; i++)
    equal = elab_and(e, equal, equal_leaves(e, left.at[i], right.at[i], NULL));
  return val_atom(equal);
}
