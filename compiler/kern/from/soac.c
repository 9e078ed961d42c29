// Sequential SOACs: an axis each, without arrays in between.
#include "kern/from/from_flat.h"

bool from_scalar_ops(const RedOp *ops, int count) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < ops[i].count; k++)
      if (ops[i].op.params[k]->type.rank > 0) return false;
  return true;
}

KernOp from_op(From *f, const RedOp *op) {
  KernBuilder b;
  From inner = from_inner(f, &b);
  const Term **results = from_scalars(op->count), **neutral = from_scalars(op->count);
  from_body(&inner, op->op.body, results, from_places(op->count));
  for (int i = 0; i < op->count; i++)
    neutral[i] = term_atom(op->neutral[i]);
  return (KernOp){ op->op.params, kern_block(&b, results, op->count), neutral, op->count,
                   op->commutative };
}

void from_bind_elements(From *f, const Lambda *fn, const Atom *arrays, int count,
                        const Term *index) {
  for (int i = 0; i < count; i++) {
    const Var *param = fn->params[i];
    View at = view_at(from_view(f, arrays[i]), index);
    if (param->type.rank > 0)
      from_bind(f, param, at);
    else if (at.tensor)
      kern_load_var(f->b, param, view_access(&at, NULL));
    else
      kern_let_var(f->b, param, view_element(&at));
  }
}

// ---- map, redomap, scanomap

typedef struct FromSoac {
  const Stm *stm;
  const Soac *soac;
  int reds;           // results of the function that are reduced or scanned
  const View **outs;  // an array per result that becomes one
} FromSoac;

static FromSoac soac_code(From *f, const Stm *stm) {
  FromSoac s = { .stm = stm, .soac = &stm->exp->u.soac };
  s.reds = soac_red_count(s.soac);
  s.outs = from_places(stm->binder_count);
  for (int i = stm->exp->kind == EXP_REDOMAP ? s.reds : 0; i < stm->binder_count; i++) {
    View out = from_alloc_for(f, stm->binders[i]);
    s.outs[i] = mem_copy(&out, sizeof out);
  }
  return s;
}

// The function on element `at`; results that become arrays are stored.
static void apply_function(From *f, const FromSoac *s, const Term *at,
                           const Term **scalars, const View **made) {
  const Lambda *fn = &s->soac->fn;
  int count = fn->body->result_count;
  from_bind_elements(f, fn, s->soac->arrays, s->soac->array_count, at);
  View *to = new_array(View, count + 1);
  for (int i = s->reds; i < count; i++) {
    to[i] = view_at(s->outs[i], at);
    if (to[i].rank > 0) made[i] = &to[i];
  }
  from_body(f, fn->body, scalars, made);
  for (int i = s->reds; i < count; i++)
    if (to[i].rank == 0) from_store_scalar(f, &to[i], scalars[i]);
}

static void bind_outs(From *f, const FromSoac *s) {
  for (int i = 0; i < s->stm->binder_count; i++)
    if (s->outs[i]) from_bind(f, s->stm->binders[i], *s->outs[i]);
}

static const KernOp *all_ops(From *f, const Soac *soac) {
  KernOp *ops = new_array(KernOp, soac->op_count + 1);
  for (int i = 0; i < soac->op_count; i++)
    ops[i] = from_op(f, &soac->ops[i]);
  return ops;
}

// What a scan has at each point is stored there.
static void store_sums(FromLoop *loop, const FromSoac *s) {
  const Var **sums = new_array(const Var *, s->reds + 1);
  KernBuilder after = kern_builder(loop->inner.c, s->stm->loc);
  for (int i = 0; i < s->reds; i++) {
    PrimType elem = s->stm->binders[i]->type.elem;
    sums[i] = var_new(loop->inner.c, name_of(loop->inner.c->names, "sum"),
                      type_scalar(elem), s->stm->loc);
    View to = view_at(s->outs[i], from_index(loop));
    kern_store(&after, view_access(&to, NULL), term_var(sums[i]));
  }
  loop->axis.sums = sums;
  loop->axis.after = kern_block(&after, NULL, 0);
}

static void on_scalars(From *f, FromSoac *s) {
  static const AxisRole roles[] = { AXIS_MAP, AXIS_REDUCE, AXIS_SCAN };
  int kind = s->soac->op_count == 0 ? 0 : s->stm->exp->kind == EXP_REDOMAP ? 1 : 2;
  int count = s->soac->fn.body->result_count;
  const Term **scalars = from_scalars(count);
  FromLoop loop;
  from_open(&loop, f, roles[kind], "i", term_atom(s->soac->width));
  apply_function(&loop.inner, s, from_index(&loop), scalars, from_places(count));
  loop.axis.ops = all_ops(f, s->soac);
  loop.axis.op_count = s->soac->op_count;
  if (kind == 2) store_sums(&loop, s);
  from_close(&loop, f, scalars, s->reds, s->stm->binders, kind == 1 ? s->reds : 0);
}

// ---- operators on arrays: accumulators in memory, one element after the other

typedef struct FromAcc {
  const Var **vars;     // scalars: parameters of the loop
  const View **places;  // arrays
} FromAcc;

static FromAcc new_accumulators(From *f, const FromSoac *s, Axis *axis) {
  FromAcc acc = { new_array(const Var *, s->reds + 1), from_places(s->reds) };
  const Var **params = new_array(const Var *, s->reds + 1);
  const Term **inits = from_scalars(s->reds);
  for (int o = 0, next = 0; o < s->soac->op_count; o++)
    for (int i = 0; i < s->soac->ops[o].count; i++, next++) {
      const RedOp *op = &s->soac->ops[o];
      CoreType type = op->op.params[i]->type;
      if (type.rank > 0) {
        View place = from_alloc(f, "acc", type);
        from_copy(f, &place, from_view(f, op->neutral[i]));
        acc.places[next] = mem_copy(&place, sizeof place);
        continue;
      }
      acc.vars[next] = var_new(f->c, name_of(f->c->names, "acc"), type, f->b->loc);
      params[axis->param_count] = acc.vars[next];
      inits[axis->param_count++] = term_atom(op->neutral[i]);
    }
  axis->params = params;
  axis->inits = inits;
  return acc;
}

static void bind_operand(From *f, const Var *param, const Term *scalar,
                         const View *array) {
  if (param->type.rank == 0)
    kern_let_var(f->b, param, scalar);
  else
    from_bind(f, param, *array);
}

// acc = op acc value, from result number `first` on; the next scalars go to `next`.
static void combine(From *f, const RedOp *op, const FromAcc *acc, int first,
                    const Term *const *scalars, const View *const *made,
                    const Term **next) {
  const View **results = from_places(op->count);
  for (int i = 0; i < op->count; i++) {
    const Var *own = acc->vars[first + i];
    bind_operand(f, op->op.params[i], own ? term_var(own) : NULL, acc->places[first + i]);
    bind_operand(f, op->op.params[op->count + i], scalars[first + i], made[first + i]);
  }
  from_body(f, op->op.body, next + first, results);
  for (int i = 0; i < op->count; i++)
    if (acc->places[first + i]) from_copy(f, acc->places[first + i], results[i]);
}

static void store_scanned(From *f, const FromSoac *s, const FromAcc *acc,
                          const Term *const *next, const Term *at) {
  for (int i = 0; i < s->reds; i++) {
    View to = view_at(s->outs[i], at);
    if (acc->vars[i])
      from_store_scalar(f, &to, next[i]);
    else
      from_copy(f, &to, acc->places[i]);
  }
}

static void on_arrays(From *f, FromSoac *s) {
  int count = s->soac->fn.body->result_count, kept = 0;
  bool scans = s->stm->exp->kind == EXP_SCANOMAP;
  const Term **scalars = from_scalars(count), **next = from_scalars(s->reds);
  const Term **results = from_scalars(s->reds);
  const View **made = from_places(count);
  const Var **binders = new_array(const Var *, s->reds + 1);
  Axis axis = { 0 };
  FromAcc acc = new_accumulators(f, s, &axis);
  FromLoop loop;
  from_open(&loop, f, AXIS_LOOP, "i", term_atom(s->soac->width));
  loop.axis.params = axis.params;
  loop.axis.inits = axis.inits;
  loop.axis.param_count = axis.param_count;
  apply_function(&loop.inner, s, from_index(&loop), scalars, made);
  for (int o = 0, first = 0; o < s->soac->op_count; first += s->soac->ops[o++].count)
    combine(&loop.inner, &s->soac->ops[o], &acc, first, scalars, made, next);
  if (scans) store_scanned(&loop.inner, s, &acc, next, from_index(&loop));
  for (int i = 0; i < s->reds; i++) {
    if (!acc.vars[i]) continue;
    binders[kept] = scans ? var_like(f->c, acc.vars[i]) : s->stm->binders[i];
    results[kept++] = next[i];
  }
  from_close(&loop, f, results, kept, binders, kept);
  for (int i = 0; i < s->reds && !scans; i++)
    if (acc.places[i]) from_bind(f, s->stm->binders[i], *acc.places[i]);
}

void from_soac(From *f, const Stm *stm) {
  FromSoac s = soac_code(f, stm);
  // A replicate of negative size may have become a SOAC without inputs.
  if (s.soac->array_count == 0) from_check_size(f, s.soac->width, stm->loc);
  if (from_scalar_ops(s.soac->ops, s.soac->op_count))
    on_scalars(f, &s);
  else
    on_arrays(f, &s);
  bind_outs(f, &s);
}

// ---- destinations

View from_take(From *f, const Var *binder, Atom dest, const Body *body, int position) {
  const View *from = from_view(f, dest);
  if (from_may_overwrite(f, dest, body, position)) return *from;
  View out = from_alloc_for(f, binder);
  from_copy(f, &out, from);
  return out;
}

static const Term *in_bounds(const View *view, const Term *const *indices, int count) {
  const Term *inside = term_bool(true);
  for (int i = 0; i < count; i++) {
    inside = term_and(inside, term_at_most(term_i64(0), indices[i]));
    inside = term_and(inside, term_less(indices[i], view->shape[i]));
  }
  return inside;
}

// if condition { then_block }
static void if_then(From *f, const Term *condition, const KernBuilder *then_block) {
  KernBuilder nothing = kern_builder(f->c, f->b->loc);
  kern_add(f->b, (KernStm){ .kind = KERN_IF,
                            .u.cond = { condition, kern_block(then_block, NULL, 0),
                                        kern_block(&nothing, NULL, 0), 0, false } });
}

void from_store_if_inside(From *f, const View *dest, const Term *const *indices,
                          int count, const Term *scalar, const View *array) {
  KernBuilder b;
  From inner = from_inner(f, &b);
  View to = view_peel(dest, indices, count);
  if (to.rank == 0)
    from_store_scalar(&inner, &to, scalar);
  else
    from_copy(&inner, &to, array);
  if_then(f, in_bounds(dest, indices, count), &b);
}

// Where a scatter stores: not filled before if nobody reads what was there.
static View scatter_place(From *f, const Var *binder, const ScatterDest *dest,
                          const Body *body, int position) {
  bool is_value = !from_view(f, dest->dest)->tensor;
  if (dest->covered && is_value) return from_alloc_for(f, binder);
  return from_take(f, binder, dest->dest, body, position);
}

void from_scatter(From *f, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const Lambda *fn = &exp->u.scatter.fn;
  for (int d = 0; d < exp->u.scatter.dest_count; d++)
    from_bind(
        f, stm->binders[d],
        scatter_place(f, stm->binders[d], &exp->u.scatter.dests[d], body, position));
  const Term **scalars = from_scalars(fn->body->result_count);
  const View **made = from_places(fn->body->result_count);
  FromLoop loop;
  from_open(&loop, f, AXIS_MAP, "i", term_atom(exp->u.scatter.width));
  from_bind_elements(&loop.inner, fn, exp->u.scatter.arrays, exp->u.scatter.array_count,
                     from_index(&loop));
  from_body(&loop.inner, fn->body, scalars, made);
  for (int d = 0, first = 0; d < exp->u.scatter.dest_count; d++) {
    int count = exp->u.scatter.dests[d].index_count;
    from_store_if_inside(&loop.inner, from_view(f, atom_var(stm->binders[d])),
                         scalars + first, count, scalars[first + count],
                         made[first + count]);
    first += count + 1;
  }
  from_close(&loop, f, NULL, 0, NULL, 0);
}

void from_hist_add(From *f, const HistOp *hist, const View *const *dests, const Term *bin,
                   const Term *const *scalars, const View *const *arrays) {
  int count = hist->op.count;
  Lambda op = core_rename_lambda(f->c, subst_new(), hist->op.op);
  View *at = new_array(View, count + 1);
  const Term **next = from_scalars(count);
  const View **made = from_places(count);
  for (int i = 0; i < count; i++) {
    at[i] = view_at(dests[i], bin);
    if (at[i].rank == 0)
      kern_load_var(f->b, op.params[i], view_access(&at[i], NULL));
    else
      from_bind(f, op.params[i], at[i]);
    bind_operand(f, op.params[count + i], scalars[i], arrays[i]);
  }
  from_body(f, op.body, next, made);
  for (int i = 0; i < count; i++) {
    if (at[i].rank == 0)
      from_store_scalar(f, &at[i], next[i]);
    else
      from_copy(f, &at[i], made[i]);
  }
}

void from_hist_round(From *f, const HistOp *ops, int op_count, const View *const *dests,
                     const Term *const *scalars, const View *const *made) {
  int first_value = op_count, first_dest = 0;
  for (int o = 0; o < op_count; o++) {
    if (o && !ops[o].chained) first_dest += ops[o - 1].op.count;
    KernBuilder b;
    From inner = from_inner(f, &b);
    const Term *bin = scalars[o];
    from_hist_add(&inner, &ops[o], dests + first_dest, bin, scalars + first_value,
                  made + first_value);
    const Term *inside =
        term_and(term_at_most(term_i64(0), bin), term_less(bin, term_atom(ops[o].width)));
    if_then(f, inside, &b);
    first_value += ops[o].op.count;
  }
}

void from_hist(From *f, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const Lambda *fn = &exp->u.hist.fn;
  const View **dests = from_places(stm->binder_count);
  for (int o = 0, next = 0; o < exp->u.hist.op_count; o++)
    for (int i = 0; i < exp->u.hist.ops[o].op.count; i++, next++) {
      from_bind(
          f, stm->binders[next],
          from_take(f, stm->binders[next], exp->u.hist.ops[o].dests[i], body, position));
      dests[next] = from_view(f, atom_var(stm->binders[next]));
    }
  const Term **scalars = from_scalars(fn->body->result_count);
  const View **made = from_places(fn->body->result_count);
  FromLoop loop;
  from_open(&loop, f, AXIS_LOOP, "i", term_atom(exp->u.hist.width));
  from_bind_elements(&loop.inner, fn, exp->u.hist.arrays, exp->u.hist.array_count,
                     from_index(&loop));
  from_body(&loop.inner, fn->body, scalars, made);
  from_hist_round(&loop.inner, exp->u.hist.ops, exp->u.hist.op_count, dests, scalars,
                  made);
  from_close(&loop, f, NULL, 0, NULL, 0);
}

// ---- filter

static bool all_scalars(const Soac *soac) {
  for (int r = 1; r < soac->fn.body->result_count; r++)
    if (atom_type(soac->fn.body->results[r]).rank > 0) return false;
  return true;
}

// The kept values are packed into memory for all of them; the count is known afterwards.  Scalars
// are stored whether they are kept or not, where the next one that is kept goes: nobody can guess
// which way a branch around that would go.
void from_filter(From *f, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  int count = soac->fn.body->result_count;
  const View **outs = from_places(count), **made = from_places(count);
  for (int i = 1; i < stm->binder_count; i++) {
    View out = from_alloc(f, stm->binders[i]->name,
                          type_of_rows(type_row(stm->binders[i]->type), soac->width));
    outs[i] = mem_copy(&out, sizeof out);
  }
  const Term **scalars = from_scalars(count), **results = from_scalars(1);
  const Var **param = new_array(const Var *, 1), **next = new_array(const Var *, 1);
  const Term **zero = from_scalars(1), **more = from_scalars(1), **same = from_scalars(1);
  FromLoop loop;
  from_open(&loop, f, AXIS_LOOP, "i", term_atom(soac->width));
  param[0] = kern_index(f->c, "kept", stm->loc);
  next[0] = kern_index(f->c, "kept", stm->loc);
  zero[0] = term_i64(0);
  same[0] = term_var(param[0]);
  loop.axis.params = param;
  loop.axis.inits = zero;
  loop.axis.param_count = 1;
  from_bind_elements(&loop.inner, &soac->fn, soac->arrays, soac->array_count,
                     from_index(&loop));
  from_body(&loop.inner, soac->fn.body, scalars, made);
  KernBuilder packed = kern_builder(f->c, stm->loc), nothing = packed;
  From then_code = loop.inner;
  if (!all_scalars(soac)) then_code = from_inner(&loop.inner, &packed);
  for (int r = 1; r < count; r++) {
    View to = view_at(outs[r], same[0]);
    if (to.rank == 0)
      from_store_scalar(&then_code, &to, scalars[r]);
    else
      from_copy(&then_code, &to, made[r]);
  }
  more[0] = term_add(same[0], term_i64(1));
  kern_add(&loop.b, (KernStm){ .kind = KERN_IF,
                               .binders = next,
                               .binder_count = 1,
                               .u.cond = { scalars[0], kern_block(&packed, more, 1),
                                           kern_block(&nothing, same, 1), 0, false } });
  results[0] = term_var(next[0]);
  from_close(&loop, f, results, 1, stm->binders, 1);
  for (int r = 1; r < stm->binder_count; r++)
    from_bind(f, stm->binders[r],
              view_renamed(outs[r], view_shape(stm->binders[r]->type)));
}
