// What hoisting must know about a program beforehand: which arrays are written in place where
// they stand, and which sizes cannot be negative.
#include "core/hoist.h"

static const Var *root_of_view(const HoistFacts *f, const Var *var) {
  const Var *source = map_get(f->sources, var);
  return source ? source : var;
}

static void keep(HoistFacts *f, Atom a) {
  if (a.kind == ATOM_CONST || a.u.var->type.rank == 0) return;
  const Var *var = root_of_view(f, a.u.var);
  map_put(f->kept, var, var);
}

static void keep_all(HoistFacts *f, const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    keep(f, atoms[i]);
}

static void keep_neutrals(HoistFacts *f, const RedOp *ops, int count) {
  for (int i = 0; i < count; i++)
    keep_all(f, ops[i].neutral, ops[i].count);
}

static void keep_overwritten(HoistFacts *f, const Exp *e) {
  if (e->kind == EXP_UPDATE) keep(f, e->u.update.array);
  if (e->kind == EXP_LOOP) keep_all(f, e->u.loop.inits, e->u.loop.param_count);
  if (e->kind == EXP_CALL) keep_all(f, e->u.call.args, e->u.call.arg_count);
  if (e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP)
    keep_neutrals(f, e->u.soac.ops, e->u.soac.op_count);
  if (e->kind == EXP_SCATTER)
    for (int i = 0; i < e->u.scatter.dest_count; i++)
      keep(f, e->u.scatter.dests[i].dest);
  if (e->kind == EXP_HIST)
    for (int i = 0; i < e->u.hist.op_count; i++)
      keep_all(f, e->u.hist.ops[i].dests, e->u.hist.ops[i].op.count);
}

static void note_view(HoistFacts *f, const Stm *stm) {
  const Exp *e = stm->exp;
  Atom a = atom_bool(false);
  if (e->kind == EXP_ATOM) a = e->u.atom.atom;
  if (e->kind == EXP_INDEX) a = e->u.index.array;
  if (e->kind == EXP_REARRANGE) a = e->u.rearrange.array;
  if (e->kind == EXP_RESHAPE) a = e->u.reshape.array;
  if (e->kind == EXP_ROTATE) a = e->u.rotate.array;
  if (a.kind == ATOM_VAR) map_put(f->sources, stm->binders[0], root_of_view(f, a.u.var));
}

static void note_scalar(HoistFacts *f, const Stm *stm) {
  if (stm->binder_count != 1 || stm->binders[0]->type.rank > 0) return;
  if (!exp_has_bodies(stm->exp)) map_put(f->scalars, stm->binders[0], stm->exp);
}

static void look_at_param(CoreVisitor *v, const Var *var) {
  hoist_note_sizes(v->state, var->type);
}

static void look_at_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    note_view(v->state, &body->stms[i]);
    note_scalar(v->state, &body->stms[i]);
    keep_overwritten(v->state, body->stms[i].exp);
    core_visit_exp(v, body->stms[i].exp);
  }
  // The next round of a loop, or whoever gets the result, may write into it.
  keep_all(v->state, body->results, body->result_count);
}

void hoist_note_sizes(HoistFacts *f, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (type.dims[i].kind == ATOM_VAR) map_put(f->sizes, type.dims[i].u.var, f);
}

static void note_part(HoistFacts *f, const Var *var) {
  if (var->type.rank > 0 || map_has(f->parts, var)) return;
  map_put(f->parts, var, var);
  const Exp *is = map_get(f->scalars, var);
  if (!is) return;
  VarVec from = core_free_exp(is);
  for (int i = 0; i < from.count; i++)
    note_part(f, from.at[i]);
}

static void parts_of_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (exp_is_soac(stm->exp) && stm->exp->u.soac.width.kind == ATOM_VAR)
      note_part(v->state, stm->exp->u.soac.width.u.var);
    for (int k = 0; k < stm->binder_count; k++) {
      CoreType type = stm->binders[k]->type;
      for (int d = 0; d < type.rank; d++)
        if (type.dims[d].kind == ATOM_VAR) note_part(v->state, type.dims[d].u.var);
    }
    core_visit_exp(v, stm->exp);
  }
}

HoistFacts *hoist_facts(const Body *body) {
  HoistFacts *f = new (HoistFacts);
  f->kept = map_new(NULL);
  f->sizes = map_new(NULL);
  f->sources = map_new(NULL);
  f->scalars = map_new(NULL);
  f->parts = map_new(NULL);
  VarVec outer = core_free_body(body);
  for (int i = 0; i < outer.count; i++)
    hoist_note_sizes(f, outer.at[i]->type);
  CoreVisitor v = { .body = look_at_body, .binder = look_at_param, .state = f };
  look_at_body(&v, body);
  CoreVisitor sizes = { .body = parts_of_body, .state = f };
  parts_of_body(&sizes, body);
  return f;
}

bool hoist_sizes_need(const HoistFacts *f, const Stm *stm) {
  return stm->binder_count == 1 && map_has(f->parts, stm->binders[0]);
}

static bool is_size(const HoistFacts *f, Atom a) {
  if (a.kind == ATOM_CONST) return a.u.constant.u.i >= 0;
  return map_has(f->sizes, a.u.var);
}

// Sums and products count too: were they to overflow, no array of that size could exist.
void hoist_note_size_op(HoistFacts *f, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_OP || e->u.op.type != PRIM_I64) return;
  PrimOp op = e->u.op.op;
  if (op != OP_ADD && op != OP_MUL && op != OP_MIN && op != OP_MAX) return;
  if (is_size(f, e->u.op.args[0]) && is_size(f, e->u.op.args[1]))
    map_put(f->sizes, stm->binders[0], f);
}

// A replicate of negative size may have become part of it.
static bool has_made_up_width(const HoistFacts *f, const Exp *e) {
  bool maps = e->kind == EXP_MAP || e->kind == EXP_REDOMAP || e->kind == EXP_SCANOMAP ||
              e->kind == EXP_FILTER;
  return maps && !e->u.soac.array_count && !is_size(f, e->u.soac.width);
}

bool hoist_may_fail(const HoistFacts *f, const Exp *e) {
  if (has_made_up_width(f, e)) return true;
  if (e->kind == EXP_IOTA) return !is_size(f, e->u.iota.count);
  if (e->kind == EXP_REPLICATE) return !is_size(f, e->u.replicate.count);
  if (e->kind == EXP_LOOP) return e->u.loop.form == CORE_WHILE;
  // "Unchecked" was proved for where the access stands.
  return e->kind == EXP_INDEX || e->kind == EXP_UPDATE || exp_may_fail(e);
}

bool hoist_is_kept(const HoistFacts *f, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (map_has(f->kept, stm->binders[i])) return true;
  return false;
}
