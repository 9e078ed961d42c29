// Sequential bodies: scalar expressions with their checks, array operations as loops, and the walk
// over statements.  Results are made in place where the consumer wants them (`wanted`).
#include "kern/from/from_flat.h"

const Term **from_scalars(int count) { return new_array(const Term *, count + 1); }

const View **from_places(int count) { return new_array(const View *, count + 1); }

// ---- scalars

// k where the term is 2 ** k, or 0.
static int power_of_two(const Term *t) {
  int k = 0;
  if (t->kind != TERM_CONST || !prim_is_int(t->type)) return 0;
  uint64_t value = (uint64_t)t->u.constant.u.i;
  if (value < 2 || (value & (value - 1))) return 0;
  while (value >> k > 1)
    k++;
  return k < prim_bits(t->type) - prim_is_signed(t->type) ? k : 0;
}

// (2 ** k) ** n  =>  if n <= (bits - 1) / k then 1 << k * n else 0; n is not negative.
static const Term *shifted_power(int k, const Term *n) {
  PrimType type = n->type;
  const Term *most = term_const(prim_int(type, (prim_bits(type) - 1) / k));
  const Term *count = k == 1 ? n : term_op2(OP_MUL, n, term_const(prim_int(type, k)));
  return term_select(term_at_most(n, most),
                     term_op2(OP_SHL, term_const(prim_one(type)), count),
                     term_const(prim_zero(type)));
}

static const Term *operation(From *f, const Exp *exp, Loc loc) {
  from_check_divisor(f, exp, loc);
  PrimOp op = exp->u.op.op;
  const Term *a = term_atom(exp->u.op.args[0]);
  if (op_arity(op) == 1) return term_op1(op, a);
  const Term *b = term_atom(exp->u.op.args[1]);
  int shift = op == OP_POW ? power_of_two(a) : 0;
  if (shift) return shifted_power(shift, b);
  return op_arity(op) == 2 ? term_op2(op, a, b)
                           : term_op3(op, a, b, term_atom(exp->u.op.args[2]));
}

static void element(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  const View *view = from_view(f, exp->u.index.array);
  if (exp->u.index.checked) from_check_bounds(f, view, exp->u.index.dims, stm->loc);
  View at = view_slice(view, exp->u.index.dims);
  if (at.tensor)
    kern_load_var(f->b, stm->binders[0], view_access(&at, NULL));
  else
    kern_let_var(f->b, stm->binders[0], view_element(&at));
}

// Binds the statement's one scalar; false if it is not of that kind.
static bool scalar(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (stm->binder_count != 1 || stm->binders[0]->type.rank > 0) return false;
  const Term *value;
  if (exp->kind == EXP_INDEX) {
    element(f, stm);
    return true;
  }
  if (exp->kind == EXP_ATOM || exp->kind == EXP_COPY)
    value = term_atom(exp->u.atom.atom);
  else if (exp->kind == EXP_OP)
    value = operation(f, exp, stm->loc);
  else if (exp->kind == EXP_CONVERT)
    value = term_convert(exp->u.convert.to, term_atom(exp->u.convert.atom));
  else if (exp->kind == EXP_BITS)
    value = term_bits(exp->u.convert.to, term_atom(exp->u.convert.atom));
  else
    return false;
  kern_let_var(f->b, stm->binders[0], value);
  from_note_size(f, stm);
  return true;
}

// ---- array operations

static void make_iota(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  from_check_size(f, exp->u.iota.count, stm->loc);
  const Term *const *shape = view_shape(stm->binders[0]->type);
  from_bind(f, stm->binders[0],
            view_virtual(exp->u.iota.type, shape, term_atom(exp->u.iota.start),
                         term_atom(exp->u.iota.step)));
}

static void make_replicate(From *f, const Stm *stm) {
  Atom value = stm->exp->u.replicate.value;
  from_check_size(f, stm->exp->u.replicate.count, stm->loc);
  if (atom_type(value).rank == 0) {
    const Term *const *shape = view_shape(stm->binders[0]->type);
    from_bind(f, stm->binders[0],
              view_virtual(atom_type(value).elem, shape, term_atom(value), NULL));
    return;
  }
  const View *row_view = from_view(f, value);
  if (!row_view->tensor && !row_view->step) {  // of one value again and again
    CoreType type = stm->binders[0]->type;
    View all;
    view_reshape(f->c, row_view, view_shape(type), type.rank, &all);
    from_bind(f, stm->binders[0], all);
    return;
  }
  View out = from_alloc_for(f, stm->binders[0]);
  FromLoop loop;
  from_open(&loop, f, AXIS_MAP, "i", out.shape[0]);
  View row = view_at(&out, from_index(&loop));
  from_store(&loop.inner, &row, value);
  from_close(&loop, f, NULL, 0, NULL, 0);
  from_bind(f, stm->binders[0], out);
}

static void make_concat(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  View out = from_alloc_for(f, stm->binders[0]);
  const Term *start = term_i64(0);
  for (int i = 0; i < exp->u.concat.array_count; i++) {
    const View *from = from_view(f, exp->u.concat.arrays[i]);
    View part = view_rows(&out, start, from->shape[0]);
    from_copy(f, &part, from);
    start = kern_let(f->b, "start", term_add(start, from->shape[0]));
  }
  from_bind(f, stm->binders[0], out);
}

static void make_rotate(From *f, const Stm *stm) {
  const View *from = from_view(f, stm->exp->u.rotate.array);
  View out = from_alloc_for(f, stm->binders[0]);
  FromLoop loop;
  from_open(&loop, f, AXIS_MAP, "i", out.shape[0]);
  const Term *amount = term_atom(stm->exp->u.rotate.amount);
  const Term *moved =
      term_op2(OP_MOD, term_add(from_index(&loop), amount), from->shape[0]);
  moved = kern_let(&loop.b, "moved", moved);
  View to_row = view_at(&out, from_index(&loop)), from_row = view_at(from, moved);
  from_copy(&loop.inner, &to_row, &from_row);
  from_close(&loop, f, NULL, 0, NULL, 0);
  from_bind(f, stm->binders[0], out);
}

static void make_copy(From *f, const Stm *stm) {
  View out = from_alloc_for(f, stm->binders[0]);
  from_copy(f, &out, from_view(f, stm->exp->u.atom.atom));
  from_bind(f, stm->binders[0], out);
}

static void make_array(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  View out = from_alloc_for(f, stm->binders[0]);
  for (int i = 0; i < exp->u.array.count; i++) {
    View row = view_at(&out, term_i64(i));
    from_store(f, &row, exp->u.array.atoms[i]);
  }
  from_bind(f, stm->binders[0], out);
}

static void make_update(From *f, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const View *from = from_view(f, exp->u.update.array);
  if (exp->u.update.checked) from_check_bounds(f, from, exp->u.update.dims, stm->loc);
  View out = *from;
  if (!from_may_overwrite(f, exp->u.update.array, body, position)) {
    from_note_copy(f, exp->u.update.array);
    out = from_alloc_for(f, stm->binders[0]);
    from_copy(f, &out, from);
  }
  View part = view_slice(&out, exp->u.update.dims);
  from_store(f, &part, exp->u.update.value);
  from_bind(f, stm->binders[0], out);
}

static void make_call(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Term **args = from_scalars(exp->u.call.arg_count);
  for (int i = 0; i < exp->u.call.arg_count; i++)
    args[i] = term_atom(exp->u.call.args[i]);
  kern_add(f->b,
           (KernStm){ .kind = KERN_CALL,
                      .binders = stm->binders,
                      .binder_count = stm->binder_count,
                      .u.call = { exp->u.call.function, args, exp->u.call.arg_count } });
}

// The first branch of a choose: within a kernel there is no decision to take.
static void make_choose(From *f, const Stm *stm) {
  const Body *first = stm->exp->u.choose.first;
  const Term **scalars = from_scalars(first->result_count);
  const View **places = from_places(first->result_count);
  from_body(f, first, scalars, places);
  for (int i = 0; i < stm->binder_count; i++) {
    if (stm->binders[i]->type.rank > 0)
      from_bind(f, stm->binders[i], *places[i]);
    else
      kern_let_var(f->b, stm->binders[i], scalars[i]);
  }
}

// Where the results of a seg-op of level 0 go; NULL for scalars.
static const View **seg_places(From *f, const Stm *stm, const Body *body, int position) {
  const SegOp *seg = stm->exp->u.seg;
  const View **outs = from_places(stm->binder_count);
  Atom *dests = new_array(Atom, stm->binder_count + 1);
  int count = seg_dests(seg, dests);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    if (binder->type.rank == 0) continue;
    View out = i < count ? from_take(f, binder, dests[i], body, position)
                         : from_alloc_for(f, binder);
    outs[i] = mem_copy(&out, sizeof out);
  }
  return outs;
}

// A seg-op of level 0: loops like any other, which schedules spread over lanes or items.
static void make_seg(From *f, const Stm *stm, const Body *body, int position) {
  const View **outs = seg_places(f, stm, body, position);
  const Term **totals = from_scalars(stm->binder_count);
  from_check_space(f, stm->exp->u.seg->dims, stm->exp->u.seg->dim_count, stm->loc);
  from_seg(f, stm->exp->u.seg, outs, totals);
  for (int i = 0; i < stm->binder_count; i++) {
    if (outs[i])
      from_bind(f, stm->binders[i], *outs[i]);
    else
      kern_let_var(f->b, stm->binders[i], totals[i]);
  }
}

// ---- the walk

void from_stm(From *f, const Stm *stm, const Body *body, int position) {
  f->b->loc = stm->loc;
  if (scalar(f, stm)) return;
  switch (stm->exp->kind) {
  case EXP_ATOM:
  case EXP_INDEX:
  case EXP_RESHAPE:
  case EXP_REARRANGE: from_view_stm(f, stm); return;
  case EXP_UPDATE: make_update(f, stm, body, position); return;
  case EXP_IOTA: make_iota(f, stm); return;
  case EXP_REPLICATE: make_replicate(f, stm); return;
  case EXP_CONCAT: make_concat(f, stm); return;
  case EXP_ROTATE: make_rotate(f, stm); return;
  case EXP_COPY: make_copy(f, stm); return;
  case EXP_ARRAY: make_array(f, stm); return;
  case EXP_ASSERT: from_assert(f, stm); return;
  case EXP_IF: from_if(f, stm, body, position); return;
  case EXP_LOOP: from_loop(f, stm, body, position); return;
  case EXP_CALL: make_call(f, stm); return;
  case EXP_CHOOSE: make_choose(f, stm); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP: from_soac(f, stm); return;
  case EXP_SCATTER: from_scatter(f, stm, body, position); return;
  case EXP_HIST: from_hist(f, stm, body, position); return;
  case EXP_FILTER: from_filter(f, stm); return;
  case EXP_SEG: make_seg(f, stm, body, position); return;
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: bug(f->c, stm->loc, "not sequential code");
  }
}

static const Stm *made_by(const Body *body, const Var *var) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return &body->stms[i];
  return NULL;
}

// Does it write each element once, and read none?
static bool writes_once(const Stm *stm) {
  ExpKind kind = stm ? stm->exp->kind : EXP_ATOM;
  if (kind != EXP_SEG)
    return kind == EXP_MAP || kind == EXP_SCANOMAP || kind == EXP_CONCAT ||
           kind == EXP_ROTATE;
  SegKind seg = stm->exp->u.seg->kind;
  return seg == SEG_MAP || seg == SEG_SCAN;
}

// An array that is only made to be transposed is made as it is wanted.
static void want_before_transposed(From *f, const Body *body, const Map *uses,
                                   const Stm *stm, const View *dest) {
  if (!stm || stm->exp->kind != EXP_REARRANGE) return;
  Atom array = stm->exp->u.rearrange.array;
  if (array.kind != ATOM_VAR || map_has(f->wanted, array.u.var)) return;
  const int *count = map_get(uses, array.u.var);
  if (!count || *count > 1 || !writes_once(made_by(body, array.u.var))) return;
  int *back = new_array(int, dest->rank);
  for (int d = 0; d < dest->rank; d++)
    back[stm->exp->u.rearrange.perm[d]] = d;
  View place = view_permute(dest, back);
  map_put(f->wanted, array.u.var, mem_copy(&place, sizeof place));
}

// Is it one of the rows of the kernel's result?
static bool is_one_of_rows(const View *dest) {
  const Tensor *t = dest->tensor;
  if (!t || tensor_root(t)->space == TENSOR_OWN) return false;
  for (int d = 0; d < t->rank - dest->rank; d++)
    if (!term_is_i64(t->dims[d], 1)) return true;
  return false;
}

// Is it such a row, on which loops of loops had better not work?
static bool is_better_apart(const Body *body, const Var *var, const View *dest) {
  const Stm *stm = is_one_of_rows(dest) ? made_by(body, var) : NULL;
  if (!stm || stm->exp->kind != EXP_LOOP) return false;
  int result = 0;
  while (stm->binders[result] != var)
    result++;
  return from_works_deeply(stm, result);
}

// Arrays that are results are made where the consumer wants them, if the body makes them itself.
static void want_results(From *f, const Body *body, const View **dests) {
  const Map *uses = core_uses(body);
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (result.kind != ATOM_VAR || result.u.var->type.rank == 0 || !dests[i]) continue;
    if (map_has(f->wanted, result.u.var) || is_better_apart(body, result.u.var, dests[i]))
      continue;
    map_put(f->wanted, result.u.var, dests[i]);
    want_before_transposed(f, body, uses, made_by(body, result.u.var), dests[i]);
  }
}

static void want_too(From *f, const Map *uses, const Var *var, Atom from) {
  const View *wanted = map_get(f->wanted, var);
  if (wanted && core_is_made_of(uses, var, from) && !map_has(f->wanted, from.u.var))
    map_put(f->wanted, from.u.var, wanted);
}

// Does a round change the array that it has, where it lies?  A new one has a place of its own.
static bool works_in_place(const Exp *loop, int param) {
  const Body *round = loop->u.loop.body;
  Atom result = round->results[param];
  const Stm *stm = result.kind == ATOM_VAR ? made_by(round, result.u.var) : NULL;
  return stm && (stm->exp->kind == EXP_UPDATE || stm->exp->kind == EXP_LOOP ||
                 stm->exp->kind == EXP_IF);
}

// So are the arrays that such loops begin with, if nothing else reads them.
static void want_starts(From *f, const Body *body) {
  const Map *uses = NULL;
  for (int i = body->stm_count - 1; i >= 0 && map_count(f->wanted); i--) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind != EXP_LOOP) continue;
    if (!uses) uses = core_uses(body);
    for (int p = 0; p < exp->u.loop.param_count; p++)
      if (works_in_place(exp, p))
        want_too(f, uses, body->stms[i].binders[p], exp->u.loop.inits[p]);
  }
}

void from_body(From *f, const Body *body, const Term **scalars, const View **dests) {
  want_results(f, body, dests);
  want_starts(f, body);
  for (int i = 0; i < body->stm_count; i++)
    from_stm(f, &body->stms[i], body, i);
  for (int i = 0; i < body->result_count; i++) {
    Atom result = body->results[i];
    if (atom_type(result).rank == 0) {
      scalars[i] = term_atom(result);
      continue;
    }
    const View *made = from_view(f, result);
    if (dests[i])
      from_copy(f, dests[i], made);
    else
      dests[i] = made;
  }
}
