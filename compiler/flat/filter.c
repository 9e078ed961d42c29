// filter n p xs  =>  let offsets = scanomap (+) p xs    let count = offsets[n-1]
//                    in scatter n (\offset x -> (if p x then offset-1 else -1, x)) into scratch
//
// Where p does much, a map keeps what it says, as a byte for each element.
#include "flat/rules.h"

static const Var *scalar_var(Flatten *fl, const char *name, PrimType type) {
  return var_new(fl->c, name_of(fl->c->names, name), type_scalar(type), (Loc){ 0 });
}

// \x y -> x + y on i64
static RedOp *sum_operator(Flatten *fl) {
  const Var *params[2] = { scalar_var(fl, "x", PRIM_I64), scalar_var(fl, "y", PRIM_I64) };
  Builder b = builder_new(fl->c, (Loc){ 0 });
  Atom sum =
      core_let(&b, "sum", exp_op2(OP_ADD, atom_var(params[0]), atom_var(params[1])));
  RedOp *op = new (RedOp);
  op->op = lambda_new(params, 2, core_body(&b, &sum, 1));
  Atom zero = atom_i64(0);
  op->neutral = mem_copy(&zero, sizeof zero);
  op->count = 1;
  op->commutative = true;
  return op;
}

static Lambda with_numeric_flag(Flatten *fl, Lambda fn) {
  fn = core_rename_lambda(fl->c, subst_new(), fn);
  Builder b = builder_new(fl->c, (Loc){ 0 });
  core_add_body(&b, fn.body);
  Atom *results =
      mem_copy(fn.body->results, sizeof(Atom) * (size_t)fn.body->result_count);
  results[0] = core_let(&b, "flag", exp_convert(PRIM_I64, results[0]));
  fn.body = core_body(&b, results, fn.body->result_count);
  return fn;
}

static Atom last_or_zero(Flatten *fl, Builder *b, Atom width, Atom offsets) {
  Atom empty = core_let(b, "empty", exp_op2(OP_EQ, width, atom_i64(0)));
  Builder zero_b = builder_new(fl->c, b->loc), last_b = builder_new(fl->c, b->loc);
  Atom zero = atom_i64(0);
  Atom at = size_sub(&last_b, width, atom_i64(1));
  Atom last = core_let(&last_b, "last", exp_index(offsets, &at, 1, false));
  return core_let(
      b, "count",
      exp_if(empty, core_body(&zero_b, &zero, 1), core_body(&last_b, &last, 1)));
}

// An array of `count` rows, of whatever value.
static Atom scratch_rows(Builder *b, Atom count, CoreType row) {
  Atom value = atom_const(prim_zero(row.elem));
  for (int i = row.rank - 1; i >= 0; i--)
    value = core_let(b, "row", exp_replicate(row.dims[i], value));
  return core_let(b, "scratch", exp_replicate(count, value));
}

// No array is wanted: redomap n (+) p xs
static const Body *only_count(Flatten *fl, const Stm *stm) {
  Soac soac = stm->exp->u.soac;
  soac.fn = with_numeric_flag(fl, soac.fn);
  soac.ops = sum_operator(fl);
  soac.op_count = 1;
  Builder b = builder_new(fl->c, stm->loc);
  Atom total = core_let(&b, "count", exp_soac(EXP_REDOMAP, soac));
  return core_body(&b, &total, 1);
}

// Subtracts what the body does from `left` operations; false if it makes arrays, or loops.
static bool does_little(const Body *body, int *left) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    ExpKind kind = stm->exp->kind;
    bool scalar = stm->binder_count == 1 && stm->binders[0]->type.rank == 0;
    if (!exp_is_scalar(stm->exp) && kind != EXP_ATOM && kind != EXP_IF &&
        kind != EXP_INDEX)
      return false;
    if (!scalar) return false;
    *left -= kind == EXP_INDEX ? 4 : 1;
    BodyVec bodies = exp_bodies(stm->exp);
    vec_each (const Body **, inner, &bodies)
      if (!does_little(*inner, left)) return false;
  }
  return *left >= 0;
}

// A few scalar operations and loads: cheaper to do twice than to keep what they give.
static bool is_done_twice(const Soac *soac) {
  int left = 16;
  for (int i = 0; i < soac->fn.body->result_count; i++)
    if (atom_type(soac->fn.body->results[i]).rank > 0) return false;
  return does_little(soac->fn.body, &left);
}

// The function's flag alone.
static Lambda flag_of(Flatten *fl, Lambda fn) {
  fn = with_numeric_flag(fl, fn);
  Builder b = builder_new(fl->c, (Loc){ 0 });
  core_add_body(&b, fn.body);
  fn.body = core_body(&b, fn.body->results, 1);
  return fn;
}

// \offset xs -> (index, y) for each y that the function makes of xs
static Lambda computed_again(Flatten *fl, Lambda fn) {
  fn = with_numeric_flag(fl, fn);
  const Var **params = new_array(const Var *, fn.param_count + 1);
  params[0] = scalar_var(fl, "offset", PRIM_I64);
  for (int i = 0; i < fn.param_count; i++)
    params[i + 1] = fn.params[i];
  Builder b = builder_new(fl->c, (Loc){ 0 });
  core_add_body(&b, fn.body);
  int count = fn.body->result_count - 1;
  Atom *results = new_array(Atom, 2 * count);
  // offset - 1 if the flag is 1, negative (so left out) if it is 0
  Atom kept = size_mul(&b, fn.body->results[0], atom_var(params[0]));
  Atom index = size_sub(&b, kept, atom_i64(1));
  for (int i = 0; i < count; i++) {
    results[(size_t)i * 2] = index;
    results[2 * i + 1] = fn.body->results[i + 1];
  }
  return lambda_new(params, fn.param_count + 1, core_body(&b, results, 2 * count));
}

// Scratch of `kept` rows each, and what is scattered into it.
static const Body *scatter_kept(Builder *b, const Stm *stm, Atom kept,
                                const Exp *scatter) {
  const Soac *soac = &stm->exp->u.soac;
  int count = soac->fn.body->result_count - 1;
  Exp full = *scatter;
  ScatterDest *dests = new_array(ScatterDest, count);
  for (int i = 0; i < count; i++) {
    CoreType type = type_row(stm->binders[i + 1]->type);
    dests[i] = (ScatterDest){ scratch_rows(b, kept, type), 1, true, false, true };
  }
  full.kind = EXP_SCATTER;
  full.u.scatter.width = soac->width;
  full.u.scatter.dests = dests;
  full.u.scatter.dest_count = count;
  Atom *results = new_array(Atom, count + 1);
  results[0] = kept;
  core_let_n(b, "kept", mem_copy(&full, sizeof full), results + 1);
  return core_body(b, results, count + 1);
}

// Offsets by a scan of what the function says, which is computed again where they are used.
// Why: a third of the memory traffic.
static const Body *compute_again(Flatten *fl, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  Builder b = builder_new(fl->c, stm->loc);
  Soac scan = *soac;
  scan.fn = flag_of(fl, soac->fn);
  scan.ops = sum_operator(fl);
  scan.op_count = 1;
  Atom offsets = core_let(&b, "offsets", exp_soac(EXP_SCANOMAP, scan));
  Atom *arrays = new_array(Atom, soac->array_count + 1);
  arrays[0] = offsets;
  for (int i = 0; i < soac->array_count; i++)
    arrays[i + 1] = soac->arrays[i];
  Exp scatter = { 0 };
  scatter.u.scatter.fn = computed_again(fl, soac->fn);
  scatter.u.scatter.arrays = arrays;
  scatter.u.scatter.array_count = soac->array_count + 1;
  return scatter_kept(&b, stm, last_or_zero(fl, &b, soac->width, offsets), &scatter);
}

// The array that a result of the function is an element of, or NULL.
static const Atom *array_of_result(const Soac *soac, Atom result) {
  for (int i = 0; i < soac->fn.param_count; i++)
    if (atom_equal(result, atom_var(soac->fn.params[i]))) return &soac->arrays[i];
  return NULL;
}

static Lambda with_results(Flatten *fl, Lambda fn, const Atom *results, int count) {
  Body body = *fn.body;
  body.results = results;
  body.result_count = count;
  fn.body = &body;
  return core_rename_lambda(fl->c, subst_new(), fn);
}

// filter n p xs  =>  let flags ys = map n p xs in filter n (\flag y -> (flag, y)) flags ys
// where an array that the function hands on is not made again.
static const Body *keep_computed(Flatten *fl, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  int count = soac->fn.body->result_count, made = 0;
  Builder b = builder_new(fl->c, stm->loc), none = b;
  const Var **params = new_array(const Var *, count);
  Atom *arrays = new_array(Atom, count), *results = new_array(Atom, count);
  Atom *mapped = new_array(Atom, count), *elements = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    if (!i || !array_of_result(soac, soac->fn.body->results[i]))
      results[made++] = soac->fn.body->results[i];
  Lambda fn = with_results(fl, soac->fn, results, made);
  core_let_n(&b, "flags", exp_map(soac->width, fn, soac->arrays, soac->array_count),
             mapped);
  for (int i = 0, next = 0; i < count; i++) {
    const Atom *array = i ? array_of_result(soac, soac->fn.body->results[i]) : NULL;
    arrays[i] = array ? *array : mapped[next++];
    params[i] = var_new(fl->c, name_of(fl->c->names, i ? "y" : "flag"),
                        type_row(atom_type(arrays[i])), stm->loc);
    elements[i] = atom_var(params[i]);
  }
  Soac kept = *soac;
  kept.fn = lambda_new(params, count, core_body(&none, elements, count));
  kept.arrays = arrays;
  kept.array_count = count;
  Stm filter = *stm;
  filter.exp = exp_soac(EXP_FILTER, kept);
  const Body *rest = compute_again(fl, &filter);
  core_add_body(&b, rest);
  return core_body(&b, rest->results, rest->result_count);
}

const Body *flatten_filter(Flatten *fl, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  if (soac->fn.body->result_count == 1) return only_count(fl, stm);
  return is_done_twice(soac) ? compute_again(fl, stm) : keep_computed(fl, stm);
}
