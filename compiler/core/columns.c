// rearrange (1, 0) (map n (\a -> map m (\b -> {f a b}) bs) as)
//   =>  map m (\b -> map n (\a -> {f a b}) as') bs'
//   where sums over what is then the inner dimension are all that reads it, and f is a few scalars
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: reverse mode sums what the function of a map contributes to an array around it over the
// elements of the map, and so do programs.  In this order the sum fuses with what makes its
// summands, which are never stored: the adjoints of a matrix product are matrix products.
//
// What an outer function computes (s in \a -> let s = .. in map m (\b -> {s * b}) bs) becomes one
// more result of the maps up to there.
#include "core/map_nest.h"
#include "core/op_parts.h"
#include "core/passes.h"

typedef struct Columns {
  Compiler *c;
  Map *uses;  // Var -> int *: how often it is mentioned
  bool changed;
} Columns;

// ---- the nest in its new order

// The dimensions of an input's array in the order in which the new nest goes through them.
static Atom in_new_order(Builder *b, const NestInput *in, const int *order, int rank) {
  int perm[MAX_RANK], count = 0;
  bool same = true;
  for (int i = 0; i < rank; i++) {
    for (int k = 0; k < in->count; k++)
      if (in->levels[k] == order[i]) perm[count++] = k;
  }
  for (int i = 0; i < count; i++)
    same = same && perm[i] == i;
  return same ? in->array
              : core_let(b, "columns", exp_rearrange(perm, in->count, in->array));
}

static bool goes_through(const NestInput *in, int level) {
  for (int k = 0; k < in->count; k++)
    if (in->levels[k] == level) return true;
  return false;
}

// Maps from number `at` on; `now` is what the inputs are within those before.
static Atom build_nest(const MapNest *n, Builder *b, const int *order, int at,
                       const Atom *now) {
  if (at == n->rank) return nest_apply(n, b, now);
  Builder inner = builder_new(n->c, b->loc);
  AtomVec arrays = { 0 };
  VarVec params = { 0 };
  Atom *rows = new_array(Atom, n->inputs.count);
  for (int i = 0; i < n->inputs.count; i++) {
    rows[i] = now[i];
    if (!goes_through(&n->inputs.at[i], order[at])) continue;
    const Var *param =
        var_new(n->c, n->inputs.at[i].scalar->name, type_row(atom_type(now[i])), b->loc);
    vec_push(&arrays, now[i]);
    vec_push(&params, param);
    rows[i] = atom_var(param);
  }
  Atom width = nest_width(n->stms[order[at]]);
  Atom result = build_nest(n, arrays.count ? &inner : b, order, at + 1, rows);
  if (!arrays.count) return core_let(b, "same", exp_replicate(width, result));
  Lambda fn = lambda_new(params.at, params.count, core_body(&inner, &result, 1));
  return core_let(b, "column", exp_map(width, fn, arrays.at, arrays.count));
}

// ---- where it pays

static bool is_used_once(const Columns *s, const Var *var) {
  const int *count = map_get(s->uses, var);
  return count && *count == 1;
}

// Is the array, of so many dimensions, read by maps whose inmost function sums its rows up?
static bool is_summed(const Columns *s, const Body *body, const Var *array, int rank) {
  for (int i = 0; i < body->stm_count && is_used_once(s, array); i++) {
    const Exp *e = body->stms[i].exp;
    if (!exp_is_nest(e)) continue;
    for (int k = 0; k < e->u.soac.array_count; k++) {
      if (!atom_equal(e->u.soac.arrays[k], atom_var(array))) continue;
      if (rank == 1) return e->kind == EXP_REDOMAP;
      return is_summed(s, e->u.soac.fn.body, e->u.soac.fn.params[k], rank - 1);
    }
  }
  return false;
}

static int producer(const Stm *stms, int count, Atom array) {
  for (int i = count - 1; i >= 0 && array.kind == ATOM_VAR; i--)
    if (nest_binder(&stms[i], array.u.var) >= 0) return i;
  return -1;
}

static bool is_column(const Columns *s, const Body *body, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_REARRANGE || e->u.rearrange.rank > MAX_RANK) return false;
  Atom array = e->u.rearrange.array;
  return is_used_once(s, array.u.var) &&
         is_summed(s, body, stm->binders[0], e->u.rearrange.rank);
}

// Puts the new nest into the builder, whose statements so far include the old one.
static bool reorder(Columns *s, Builder *b, const Stm *stm) {
  const Exp *e = stm->exp;
  int at = producer(b->stms.at, b->stms.count, e->u.rearrange.array);
  if (at < 0) return false;
  MapNest n = nest_new(s->c, e->u.rearrange.rank);
  Stm old = b->stms.at[at];
  if (!nest_find(&n, &old, e->u.rearrange.array.u.var)) return false;
  nest_need(&n, n.result);
  if (n.fails) return false;
  b->stms.at[at] = nest_with_lifted(&n, &old, 0);
  Atom *now = new_array(Atom, n.inputs.count);
  for (int i = 0; i < n.inputs.count; i++)
    now[i] = in_new_order(b, &n.inputs.at[i], e->u.rearrange.perm, n.rank);
  Atom result = build_nest(&n, b, e->u.rearrange.perm, 0, now);
  core_let_vars(b, stm->binders, 1, exp_atom(result));
  s->changed = true;
  return true;
}

// ---- sums of vectors

// redomap n op f as   with an operator on vectors, op = map2 (+), or on matrices, and so on
//   =>  let ys = map n f as   let columns = rearrange (1, 0) ys   in map m (redomap n (+)) columns
//   where the columns are made as above: of their own, so that ys is read by nobody
// Flattening does the same by G9 and G4 (PPoPP'19, Figures 4 and 3), but stores ys: that rule comes
// after fusion.

// Several operators side by side (\(a, b) (c, d) -> (map2 max a c, b + d)) are taken apart before.

// An operator on arrays as one on their elements, and what it maps over, outermost first.
typedef struct ByElement {
  RedOp op;
  Atom widths[MAX_RANK];
  int rank;
} ByElement;

// The elements of arrays that replicate them; false if they are no such arrays.
static bool replicated(const Builder *b, const Atom *arrays, int count, Atom *out) {
  for (int i = 0; i < count; i++) {
    int at = producer(b->stms.at, b->stms.count, arrays[i]);
    if (at < 0 || b->stms.at[at].exp->kind != EXP_REPLICATE) return false;
    out[i] = b->stms.at[at].exp->u.replicate.value;
  }
  return true;
}

// Do they have no dimensions but those that the operator maps over?
static bool have_rank(const RedOp *op, int rank) {
  for (int i = 0; i < op->count; i++)
    if (atom_type(op->neutral[i]).rank != rank) return false;
  return true;
}

// False if the operator is none on elements, or its neutral elements are no replicated scalars.
static bool by_element(const Builder *b, RedOp op, ByElement *out) {
  *out = (ByElement){ .op = op };
  while (!have_rank(&out->op, 0)) {
    const Soac *inner = lambda_vector_operator(&out->op.op);
    Atom *neutral = new_array(Atom, op.count);
    if (!inner || out->rank + 1 == MAX_RANK) return false;
    if (!replicated(b, out->op.neutral, op.count, neutral)) return false;
    out->op.op = inner->fn;
    out->op.neutral = neutral;
    out->widths[out->rank++] = inner->width;
  }
  return out->rank > 0 && !core_has_soac(out->op.op.body);
}

// let columns = rearrange (1, .., 0) ys, reordered, for each of these arrays; where that cannot be,
// as it stands, or false.
static bool make_columns(Columns *s, Builder *b, const Atom *ys, const ByElement *by,
                         bool as_it_stands, Atom *columns) {
  int *outermost_last = new_array(int, by->rank + 1);
  for (int d = 0; d < by->rank; d++)
    outermost_last[d] = d + 1;
  for (int i = 0; i < by->op.count; i++) {
    Builder one = builder_new(s->c, b->loc);
    columns[i] =
        core_let(&one, "columns", exp_rearrange(outermost_last, by->rank + 1, ys[i]));
    if (reorder(s, b, &one.stms.at[0])) continue;
    if (!as_it_stands) return false;
    core_add_stm(b, one.stms.at[0]);
  }
  return true;
}

// Maps of maps of the sums of the innermost rows.
static const Exp *sums_of_columns(Builder *b, const ByElement *by, int at, Atom width,
                                  const Atom *columns) {
  if (at == by->rank - 1)
    return exp_reduced_rows(b, EXP_REDOMAP, by->widths[at], width, by->op, columns);
  int count = by->op.count;
  const Var **params = new_array(const Var *, count);
  Atom *rows = new_array(Atom, count), *sums = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    params[i] = var_new(b->c, name_of(b->c->names, "plane"),
                        type_row(atom_type(columns[i])), b->loc);
    rows[i] = atom_var(params[i]);
  }
  Builder inner = builder_new(b->c, b->loc);
  core_let_n(&inner, "sums", sums_of_columns(&inner, by, at + 1, width, rows), sums);
  Lambda fn = lambda_new(params, count, core_body(&inner, sums, count));
  return exp_map(by->widths[at], fn, columns, count);
}

// The sums of `ys`, which a map has made, by element; false if that cannot be.
static bool sum_by_element(Columns *s, Builder *b, Atom width, RedOp op, const Atom *ys,
                           bool as_it_stands, const Var **sums) {
  ByElement by;
  int before = b->stms.count;
  Atom *columns = new_array(Atom, op.count);
  if (!by_element(b, op, &by)) return false;
  if (!make_columns(s, b, ys, &by, as_it_stands, columns)) {
    b->stms.count = before;
    return false;
  }
  by.op.op = core_rename_lambda(s->c, subst_new(), by.op.op);
  core_let_vars(b, sums, op.count, sums_of_columns(b, &by, 0, width, columns));
  return true;
}

static bool sums_arrays(const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_REDOMAP || e->u.soac.op_count != 1) return false;
  const RedOp *op = &e->u.soac.ops[0];
  for (int i = 0; i < op->count; i++)
    if (atom_type(op->neutral[i]).rank)
      return op->count == e->u.soac.fn.body->result_count;
  return false;
}

// let ys = map f as, or the arrays if that is what f returns
static void make_summands(Columns *s, Builder *b, const Soac *soac, Atom *ys) {
  Lambda fn = core_rename_lambda(s->c, subst_new(), soac->fn);
  if (!lambda_is_identity(&fn))
    core_let_n(b, "ys", exp_map(soac->width, fn, soac->arrays, soac->array_count), ys);
  else
    for (int i = 0; i < soac->array_count; i++)
      ys[i] = soac->arrays[i];
}

static void sum_part(Columns *s, Builder *b, Atom width, const OpPart *part,
                     const Atom *ys, const Var **binders) {
  int count = part->op.count;
  Atom *own = new_array(Atom, count);
  const Var **sums = new_array(const Var *, count);
  for (int i = 0; i < count; i++) {
    own[i] = ys[part->at[i]];
    sums[i] = binders[part->at[i]];
  }
  if (sum_by_element(s, b, width, part->op, own, true, sums)) return;
  RedOp op = part->op;
  op.op = core_rename_lambda(s->c, subst_new(), op.op);
  Soac soac = {
    width, lambda_identity_over(b, "y", own, count), own, count, mem_copy(&op, sizeof op),
    1
  };
  core_let_vars(b, sums, count, exp_soac(EXP_REDOMAP, soac));
}

static bool sum_columns(Columns *s, Builder *b, const Stm *stm) {
  if (!sums_arrays(stm)) return false;
  const Soac *soac = &stm->exp->u.soac;
  OpParts parts = op_parts(&soac->ops[0]);
  bool several = parts.count > 1;
  if (!several && lambda_is_identity(&soac->fn)) return false;
  int before = b->stms.count;
  Atom *ys = new_array(Atom, soac->ops[0].count);
  make_summands(s, b, soac, ys);
  b->attrs = stm->attrs;
  if (several)
    vec_each (const OpPart *, part, &parts)
      sum_part(s, b, soac->width, part, ys, stm->binders);
  bool sums =
      several || sum_by_element(s, b, soac->width, soac->ops[0], ys, false, stm->binders);
  b->attrs = NULL;
  if (!sums) b->stms.count = before;
  s->changed |= sums;
  return sums;
}

static const Body *reorder_body(CoreMapper *m, const Body *body) {
  Columns *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    if (is_column(s, body, &stm) && reorder(s, &b, &stm)) continue;
    if (sum_columns(s, &b, &stm)) continue;
    stm.exp = core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *reorder_nests(Compiler *c, const Body *body) {
  Columns s = { .c = c, .uses = core_uses(body) };
  CoreMapper m = { .body = reorder_body, .state = &s };
  const Body *changed = reorder_body(&m, body);
  return s.changed ? changed : body;
}

const Core *columns(Compiler *c, const Core *core) {
  const Core *reordered = core_map_bodies(c, core, reorder_nests);
  if (core_same_bodies(core, reordered)) return core;
  const Core *fused = fuse(c, cse(c, simplify(c, dead(c, reordered))));
  return cse(c, hoist(c, simplify(c, fused)));
}
