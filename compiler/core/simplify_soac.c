// SOACs: inputs that are known element by element, results that need no operator.
#include "core/simplify.h"

// What the SOACs have in common.
typedef struct Inputs {
  Atom width;
  Lambda fn;
  const Atom *arrays;
  int count;
} Inputs;

static Inputs inputs_of(const Exp *e) {
  if (e->kind == EXP_SCATTER) {
    return (Inputs){ e->u.scatter.width, e->u.scatter.fn, e->u.scatter.arrays,
                     e->u.scatter.array_count };
  }
  if (e->kind == EXP_HIST) {
    return (Inputs){ e->u.hist.width, e->u.hist.fn, e->u.hist.arrays,
                     e->u.hist.array_count };
  }
  const Soac *soac = &e->u.soac;
  return (Inputs){ soac->width, soac->fn, soac->arrays, soac->array_count };
}

static const Exp *with_inputs(const Exp *e, const Inputs *in) {
  Exp *out = mem_copy(e, sizeof *e);
  if (e->kind == EXP_SCATTER) {
    out->u.scatter.fn = in->fn;
    out->u.scatter.arrays = in->arrays;
    out->u.scatter.array_count = in->count;
  } else if (e->kind == EXP_HIST) {
    out->u.hist.fn = in->fn;
    out->u.hist.arrays = in->arrays;
    out->u.hist.array_count = in->count;
  } else {
    out->u.soac.fn = in->fn;
    out->u.soac.arrays = in->arrays;
    out->u.soac.array_count = in->count;
  }
  return out;
}

// ---- inputs

// The parameter that runs over the same array already, or NULL.
static const Var *same_input(const Inputs *in, int k) {
  for (int i = 0; i < k; i++) {
    if (atom_equal(in->arrays[i], in->arrays[k])) return in->fn.params[i];
  }
  return NULL;
}

// What parameter k always is: the value of a replicate, or another parameter.
static bool known_input(const Simplify *s, const Inputs *in, int k, Atom *out) {
  const Var *twin = same_input(in, k);
  if (twin) {
    *out = atom_var(twin);
    return true;
  }
  const Exp *def = simplify_def(s, in->arrays[k]);
  if (!def || def->kind != EXP_REPLICATE) return false;
  *out = def->u.replicate.value;
  return true;
}

// map f (replicate n x) ys => map (\y -> f x y) ys   map f xs xs => map (\x -> f x x) xs
static const Exp *drop_known_inputs(Simplify *s, const Exp *e) {
  Inputs in = inputs_of(e);
  const Var **params = new_array(const Var *, in.count);
  Atom *arrays = new_array(Atom, in.count);
  int count = 0;
  for (int k = 0; k < in.count; k++) {
    Atom value;
    if (known_input(s, &in, k, &value)) {
      // A twin may have been replaced itself.
      subst_put(s->subst, in.fn.params[k], simplify_atom(s, value));
      continue;
    }
    params[count] = in.fn.params[k];
    arrays[count++] = in.arrays[k];
  }
  if (count == in.count) return NULL;
  Inputs fewer = { in.width, lambda_new(params, count, in.fn.body), arrays, count };
  return with_inputs(e, &fewer);
}

// The step from element to element of a literal of integers; false: not the same everywhere.
static bool step_of_literal(const Exp *literal, Prim *step) {
  PrimType type = literal->u.array.row.elem;
  int count = literal->u.array.count;
  const Atom *at = literal->u.array.atoms;
  if (literal->u.array.row.rank > 0 || !prim_is_int(type) || !count) return false;
  for (int i = 0; i < count; i++)
    if (at[i].kind != ATOM_CONST) return false;
  *step = prim_zero(type);
  for (int i = 1; i < count; i++) {
    uint64_t before = (uint64_t)at[i - 1].u.constant.u.i;
    Prim next = prim_int(type, (int64_t)((uint64_t)at[i].u.constant.u.i - before));
    if (i > 1 && next.u.i != step->u.i) return false;
    *step = next;
  }
  return true;
}

// The iota that an array is, or that has the elements of a literal: [-1, 0, 1] is iota 3 (-1) 1.
static const Exp *counting_input(const Simplify *s, Atom array) {
  const Exp *def = simplify_def(s, array);
  Prim step;
  if (!def || def->kind == EXP_IOTA) return def;
  if (def->kind != EXP_ARRAY || !step_of_literal(def, &step)) return NULL;
  return exp_iota(atom_i64(def->u.array.count), def->u.array.atoms[0], atom_const(step));
}

static bool counts_from_zero(const Exp *iota) {
  return atom_is_i64(iota->u.iota.start, 0) && atom_is_i64(iota->u.iota.step, 1);
}

// let x = start + i * step in the body of fn
static Lambda lambda_from_index(const Simplify *s, const Lambda *fn, int k,
                                const Exp *iota) {
  const Var *x = fn->params[k];
  Builder b = builder_new(s->c, x->loc);
  const Var *i = var_new(s->c, name_of(s->c->names, "i"), type_scalar(PRIM_I64), x->loc);
  Atom position = core_let(&b, "i", exp_convert(iota->u.iota.type, atom_var(i)));
  Atom scaled = core_let(&b, "scaled", exp_op2(OP_MUL, position, iota->u.iota.step));
  core_let_vars(&b, mem_copy(&x, sizeof x), 1,
                exp_op2(OP_ADD, iota->u.iota.start, scaled));
  core_add_body(&b, fn->body);
  Lambda out = lambda_new(fn->params, fn->param_count,
                          core_body(&b, fn->body->results, fn->body->result_count));
  out.params[k] = i;
  return out;
}

// map f (iota n start step) => map (\i -> f (start + i * step)) (iota n 0 1)
// map f [-1, 0, 1]          => map (\i -> f (i - 1)) (iota 3 0 1)
static const Exp *normalise_iota(Simplify *s, const Exp *e) {
  Inputs in = inputs_of(e);
  for (int k = 0; k < in.count; k++) {
    const Exp *def = counting_input(s, in.arrays[k]);
    if (!def || (counts_from_zero(def) && simplify_def(s, in.arrays[k]) == def)) continue;
    if (!prim_is_int(def->u.iota.type)) continue;
    Atom *arrays = new_array(Atom, in.count);
    for (int i = 0; i < in.count; i++)
      arrays[i] = in.arrays[i];
    arrays[k] =
        simplify_let(s, "is", exp_iota(def->u.iota.count, atom_i64(0), atom_i64(1)));
    Inputs out = { in.width, lambda_from_index(s, &in.fn, k, def), arrays, in.count };
    return with_inputs(e, &out);
  }
  return NULL;
}

// redomap over no element => the neutral elements
static const Exp *reduce_nothing(const Exp *e) {
  const Soac *soac = &e->u.soac;
  if (e->kind != EXP_REDOMAP || !atom_is_i64(soac->width, 0)) return NULL;
  int count = soac_red_count(soac);
  if (count != soac->fn.body->result_count) return NULL;
  Atom *values = new_array(Atom, count);
  int next = 0;
  for (int i = 0; i < soac->op_count; i++) {
    for (int k = 0; k < soac->ops[i].count; k++)
      values[next++] = soac->ops[i].neutral[k];
  }
  return simplify_values(values, count);
}

static const Exp *scatter_nothing(const Exp *e) {
  if (e->kind != EXP_SCATTER || !atom_is_i64(e->u.scatter.width, 0)) return NULL;
  Atom *values = new_array(Atom, e->u.scatter.dest_count);
  for (int i = 0; i < e->u.scatter.dest_count; i++)
    values[i] = e->u.scatter.dests[i].dest;
  return simplify_values(values, e->u.scatter.dest_count);
}

const Exp *simplify_soac(Simplify *s, const Exp *e) {
  if (!exp_is_soac(e)) return NULL;
  const Exp *better = reduce_nothing(e);
  if (!better) better = scatter_nothing(e);
  if (!better) better = drop_known_inputs(s, e);
  if (!better) better = normalise_iota(s, e);
  return better;
}

// ---- results

static bool is_made_by_map(const Simplify *s, Atom array) {
  const Exp *made = simplify_def(s, array);
  return made && made->kind == EXP_MAP;
}

// map (\xs -> rearrange p xs) xss => rearrange (0, p + 1) xss: nothing moves, and who reads it
// reads the elements where they lie.  But what another map makes fuses with this one, and is stored
// as it lies behind both.
static bool turned_input(Simplify *s, const Soac *soac, Atom result, Atom *out) {
  const Exp *turned = simplify_def(s, result);
  if (!turned || turned->kind != EXP_REARRANGE) return false;
  int i = lambda_param_index(&soac->fn, turned->u.rearrange.array);
  if (i < 0 || is_made_by_map(s, soac->arrays[i])) return false;
  int rank = turned->u.rearrange.rank + 1;
  int *perm = new_array(int, rank);  // the map's own dimension stays the first
  for (int d = 1; d < rank; d++)
    perm[d] = turned->u.rearrange.perm[d - 1] + 1;
  *out = simplify_let(s, "turned", exp_rearrange(perm, rank, soac->arrays[i]));
  return true;
}

// What result k is without the operator: an input, its rows turned, or the same for every element.
static bool known_result(Simplify *s, const Soac *soac, int k, Atom *out) {
  Atom result = soac->fn.body->results[k];
  if (turned_input(s, soac, result, out)) return true;
  int i = lambda_param_index(&soac->fn, result);
  if (i >= 0) {
    *out = soac->arrays[i];
    return true;
  }
  if (!simplify_is_outside(s, result, s->depth + 1)) return false;
  *out = simplify_let(s, "same", exp_replicate(soac->width, result));
  return true;
}

// map (\x y -> {x, rearrange p x, c, f y}) xs ys
//   => xs, rearrange (0, p + 1) xs, replicate n c, and map (\x y -> {f y}) xs ys
void simplify_map_results(Simplify *s, Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_MAP && e->kind != EXP_REDOMAP && e->kind != EXP_SCANOMAP) return;
  bool *keep = new_array(bool, stm->binder_count);
  int mapped = soac_red_count(&e->u.soac);  // the results before are combined
  for (int k = 0; k < stm->binder_count; k++) {
    Atom value;
    keep[k] = k < mapped || !known_result(s, &e->u.soac, k, &value);
    if (!keep[k]) simplify_result_is(s, stm, k, value);
  }
  int count;
  const Var **binders = simplify_keep_binders(stm, keep, &count);
  if (count == stm->binder_count) return;
  Exp *out = mem_copy(e, sizeof *e);
  out->u.soac.fn.body = simplify_keep_results(e->u.soac.fn.body, keep);
  stm->exp = out;
  stm->binders = binders;
  stm->binder_count = count;
}
