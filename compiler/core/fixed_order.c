// redomap n (+) f xs  =>  loop sum = 0 for i < n do sum + f xs[i]
//
// With --reproducible: what combines floats does so in an order that stands in the program, so
// that versions, devices, parameters and numbers of workers do not change results.  Loops are in
// order everywhere.  Within maps they take the places of reductions and scans.  On the host there
// are blocks, whose number and bounds follow from n alone:
//
//   reductions  partial[b, l] = elements l, l + lanes, .. of block b     map, map, loop
//               block[b] = partial[b, 0], partial[b, 1], ..              map, loop
//               sum = block[0], block[1], ..                             one item
//   scans       local[b, ..] = scan of block b, totals[b]                map, loop
//               carry[b] = totals[0], .., totals[b-1]                    one item
//               result = carry[b] + local[b, ..]                         map, map
//   histograms  bins[b, ..] = histogram of block b                       map, a sequential one
//               result[i] = dest[i], bins[0, i], bins[1, i], ..          map, loop
//
// Operators on whole numbers give the same in any order, and stay.
//
// Needs: Core, behind fusion.   Keeps: one binding per name.   Why: floats round.
#include "core/fixed_order.h"
#include "core/passes.h"

typedef struct FixOrder {
  Compiler *c;
  bool nested;  // within a SOAC
} FixOrder;

// ---- which

static bool type_has_floats(CoreType type) { return prim_is_float(type.elem); }

static bool body_has_floats(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++)
      if (type_has_floats(stm->binders[k]->type)) return true;
    BodyVec bodies = exp_bodies(stm->exp);
    vec_each (const Body **, inner, &bodies)
      if (body_has_floats(*inner)) return true;
  }
  return false;
}

static bool operator_rounds(const RedOp *op) {
  for (int i = 0; i < op->op.param_count; i++)
    if (type_has_floats(op->op.params[i]->type)) return true;
  return body_has_floats(op->op.body);
}

static bool rounds(const Exp *exp) {
  if (exp->kind == EXP_REDOMAP || exp->kind == EXP_SCANOMAP)
    for (int i = 0; i < exp->u.soac.op_count; i++)
      if (operator_rounds(&exp->u.soac.ops[i])) return true;
  if (exp->kind == EXP_HIST)
    for (int i = 0; i < exp->u.hist.op_count; i++)
      if (operator_rounds(&exp->u.hist.ops[i].op)) return true;
  return false;
}

// ---- rounds of loops

static const Var *new_var(const Builder *b, const char *name, CoreType type) {
  return var_new(b->c, name_of(b->c->names, name), type, b->loc);
}

Atom array_element(Builder *b, Atom array, Atom index) {
  return core_let(b, "element", exp_index(array, &index, 1, false));
}

// An array of `count` rows, of whatever value.
Atom array_scratch(Builder *b, Atom count, CoreType row) {
  Atom value = atom_const(prim_zero(row.elem));
  for (int i = row.rank - 1; i >= 0; i--)
    value = core_let(b, "row", exp_replicate(row.dims[i], value));
  return core_let(b, "scratch", exp_replicate(count, value));
}

Atom array_with_row(Builder *b, Atom array, Atom index, Atom value) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = dim_fix(index);
  for (int i = 1; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  return core_let(b, "made", exp_update(array, dims, value, false));
}

static int count_values(const RedOp *ops, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++)
    sum += ops[i].count;
  return sum;
}

Summed summed_of(const Soac *soac) {
  return (Summed){ soac->width,    soac->ops,
                   soac->op_count, count_values(soac->ops, soac->op_count),
                   soac->fn,       soac->arrays };
}

Atom *summed_neutral(const Summed *s) {
  Atom *out = new_array(Atom, s->values + 1);
  for (int o = 0, at = 0; o < s->op_count; o++)
    for (int i = 0; i < s->ops[o].count; i++)
      out[at++] = s->ops[o].neutral[i];
  return out;
}

// What the function returns for element `at`.
const Atom *summed_values(Builder *b, const Summed *s, Atom at) {
  Subst *subst = subst_new();
  for (int i = 0; i < s->fn.param_count; i++)
    subst_put(subst, s->fn.params[i], array_element(b, s->arrays[i], at));
  const Body *body = core_rename_body(b->c, subst, s->fn.body);
  core_add_body(b, body);
  return body->results;
}

// op so_far values, for every operator.
Atom *summed_combined(Builder *b, const Summed *s, const Atom *so_far,
                      const Atom *values) {
  Atom *out = new_array(Atom, s->values + 1);
  for (int o = 0, at = 0; o < s->op_count; at += s->ops[o++].count) {
    const RedOp *op = &s->ops[o];
    Subst *subst = subst_new();
    for (int i = 0; i < op->count; i++) {
      subst_put(subst, op->op.params[i], so_far[at + i]);
      subst_put(subst, op->op.params[op->count + i], values[at + i]);
    }
    const Body *body = core_rename_body(b->c, subst, op->op.body);
    core_add_body(b, body);
    for (int i = 0; i < op->count; i++)
      out[at + i] = body->results[i];
  }
  return out;
}

OrderedRounds rounds_begin(const Builder *b, const Atom *inits, int count, Atom bound) {
  OrderedRounds r = { .b = builder_new(b->c, b->loc),
                      .params = new_array(const Var *, count + 1),
                      .inits = inits,
                      .now = new_array(Atom, count + 1),
                      .count = count,
                      .index = new_var(b, "i", type_scalar(PRIM_I64)),
                      .bound = bound };
  for (int i = 0; i < count; i++) {
    r.params[i] = new_var(b, "sum", atom_type(inits[i]));
    r.now[i] = atom_var(r.params[i]);
  }
  return r;
}

void rounds_end(Builder *b, OrderedRounds *r, const Atom *next, Atom *out) {
  const Exp *loop = new_node(Exp, .kind = EXP_LOOP,
                             .u.loop = { .params = r->params,
                                         .inits = r->inits,
                                         .param_count = r->count,
                                         .form = CORE_FOR,
                                         .index = r->index,
                                         .bound = r->bound,
                                         .body = core_body(&r->b, next, r->count) });
  core_let_n(b, "sum", loop, out);
}

// ---- within maps

// The loop for a redomap or a scanomap: sums, and arrays of what the rounds make.
static void in_order(Builder *b, const Stm *stm) {
  Summed s = summed_of(&stm->exp->u.soac);
  bool scans = stm->exp->kind == EXP_SCANOMAP;
  int made = s.fn.body->result_count - (scans ? 0 : s.values), count = s.values + made;
  int first = scans ? 0 : s.values;  // of the results, that becomes an array
  Atom *inits = new_array(Atom, count + 1), *out = new_array(Atom, count + 1);
  Atom *neutral = summed_neutral(&s);
  for (int i = 0; i < count; i++)
    inits[i] = i < s.values
                   ? neutral[i]
                   : array_scratch(b, s.width,
                                   atom_type(s.fn.body->results[first + i - s.values]));
  OrderedRounds r = rounds_begin(b, inits, count, s.width);
  Atom at = atom_var(r.index), *next = new_array(Atom, count + 1);
  const Atom *values = summed_values(&r.b, &s, at),
             *sums = summed_combined(&r.b, &s, r.now, values);
  for (int i = 0; i < count; i++) {
    int result = first + i - s.values;
    Atom row = i < s.values ? sums[i] : result < s.values ? sums[result] : values[result];
    next[i] = i < s.values ? row : array_with_row(&r.b, r.now[i], at, row);
  }
  rounds_end(b, &r, next, out);
  const Atom *results = scans ? out + s.values : out;
  for (int i = 0; i < stm->binder_count; i++)
    core_let_vars(b, &stm->binders[i], 1, exp_atom(results[i]));
}

// ---- all of them

static void add_in_order(Builder *b, const Stm *stm, bool nested) {
  Stm out = *stm;
  b->attrs = NULL;
  if (stm->exp->kind == EXP_HIST && nested) {
    out.attrs = new_node(StmAttrs, .sequential = true);
    core_add_stm(b, out);
  } else if (stm->exp->kind == EXP_HIST)
    order_histogram(b, stm);
  else if (nested)
    in_order(b, stm);
  else if (stm->exp->kind == EXP_REDOMAP)
    order_reduction(b, stm);
  else
    order_scan(b, stm);
}

static const Body *order_body(CoreMapper *m, const Body *body) {
  FixOrder *f = m->state;
  Builder b = builder_new(f->c, (Loc){ 0 });
  bool nested = f->nested;
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    f->nested = nested || exp_is_parallel(stm.exp);
    stm.exp = core_map_exp(m, stm.exp);
    f->nested = nested;
    if (rounds(stm.exp))
      add_in_order(&b, &stm, nested);
    else
      core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *order_host(Compiler *c, const Body *body) {
  FixOrder f = { c, false };
  CoreMapper m = { .body = order_body, .state = &f };
  return order_body(&m, body);
}

const Core *fix_order(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, order_host);
}
