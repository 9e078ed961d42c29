// let x = f y  let z = g y  in {z}  =>  let z = g y  in {z}
// loop x = a, y = b do {f x, g x y}, of which x is used  =>  loop x = a do {f x}
// map (\x y -> {f x, g x}) xs ys, of which the first is used  =>  map (\x -> {f x}) xs
//
// Needs: Core or Flat, one binding per variable.   Keeps: both.   Why: the language is pure, so
// what no result depends on need not be computed; other passes leave such statements behind.
// An operation that would fail is dropped like any other.
#include "core/dead.h"
#include "core/passes.h"

typedef struct Sweep {
  Compiler *c;
  const Map *live;
} Sweep;

static bool is_live(const Sweep *s, const Var *var) { return map_has(s->live, var); }

// ---- results

static const Body *keep_results(const Body *body, const bool *keep) {
  Atom *results = new_array(Atom, body->result_count);
  int count = 0;
  for (int i = 0; i < body->result_count; i++) {
    if (keep[i]) results[count++] = body->results[i];
  }
  if (count == body->result_count) return body;
  return new_node(Body, .stms = body->stms, .stm_count = body->stm_count,
                  .results = results, .result_count = count);
}

static void keep_binders(Stm *stm, const bool *keep) {
  const Var **binders = new_array(const Var *, stm->binder_count);
  int count = 0;
  for (int i = 0; i < stm->binder_count; i++) {
    if (keep[i]) binders[count++] = stm->binders[i];
  }
  stm->binders = binders;
  stm->binder_count = count;
}

static void keep_range(bool *keep, int first, int count, bool kept) {
  for (int i = 0; i < count; i++)
    keep[first + i] = kept;
}

static bool any(const bool *keep, int first, int count) {
  for (int i = 0; i < count; i++) {
    if (keep[first + i]) return true;
  }
  return false;
}

static const Atom *keep_atoms(const Atom *atoms, const bool *keep, int count, int *kept) {
  Atom *out = new_array(Atom, count);
  *kept = 0;
  for (int i = 0; i < count; i++) {
    if (keep[i]) out[(*kept)++] = atoms[i];
  }
  return out;
}

// ---- kinds: `keep` says which binders live and is widened to what belongs together

static void sweep_assert(Exp *e, const bool *keep) {
  e->u.assert.atoms = keep_atoms(e->u.assert.atoms, keep, e->u.assert.atom_count,
                                 &e->u.assert.atom_count);
}

static void sweep_loop(const Sweep *s, Exp *e, bool *keep) {
  int count = 0, old_count = e->u.loop.param_count;
  int while_param = e->u.loop.while_param;
  const Var **params = new_array(const Var *, old_count);
  for (int k = 0; k < old_count; k++) {
    keep[k] = is_live(s, e->u.loop.params[k]);
    if (!keep[k]) continue;
    if (k == while_param) e->u.loop.while_param = count;
    params[count++] = e->u.loop.params[k];
  }
  e->u.loop.params = params;
  e->u.loop.inits = keep_atoms(e->u.loop.inits, keep, old_count, &e->u.loop.param_count);
  e->u.loop.body = keep_results(e->u.loop.body, keep);
}

// The operators of which some result lives.
static const RedOp *sweep_ops(const RedOp *ops, int *count, bool *keep) {
  RedOp *out = new_array(RedOp, *count);
  int kept = 0, first = 0;
  for (int i = 0; i < *count; i++) {
    bool lives = any(keep, first, ops[i].count);
    keep_range(keep, first, ops[i].count, lives);
    first += ops[i].count;
    if (lives) out[kept++] = ops[i];
  }
  *count = kept;
  return out;
}

static void sweep_inputs(const Sweep *s, Lambda *fn, const Atom **arrays,
                         int *array_count) {
  bool *keep = new_array(bool, fn->param_count);
  const Var **params = new_array(const Var *, fn->param_count);
  int count = 0;
  for (int i = 0; i < fn->param_count; i++) {
    keep[i] = is_live(s, fn->params[i]);
    if (keep[i]) params[count++] = fn->params[i];
  }
  if (count == fn->param_count) return;
  *arrays = keep_atoms(*arrays, keep, fn->param_count, array_count);
  fn->params = params;
  fn->param_count = count;
}

static void sweep_soac(const Sweep *s, Exp *e, bool *keep) {
  Soac *soac = &e->u.soac;
  if (e->kind == EXP_FILTER) keep[0] = true;  // the number of kept elements
  soac->ops = sweep_ops(soac->ops, &soac->op_count, keep);
  soac->fn.body = keep_results(soac->fn.body, keep);
  sweep_inputs(s, &soac->fn, &soac->arrays, &soac->array_count);
  if (!soac->op_count && e->kind != EXP_FILTER) e->kind = EXP_MAP;
}

static const ScatterDest *sweep_dests(const ScatterDest *dests, int *count,
                                      const bool *keep, const Body **body) {
  ScatterDest *out = new_array(ScatterDest, *count);
  bool *keep_result = new_array(bool, (*body)->result_count);
  int kept = 0, first = 0;
  for (int i = 0; i < *count; i++) {
    keep_range(keep_result, first, dests[i].index_count + 1, keep[i]);
    first += dests[i].index_count + 1;
    if (keep[i]) out[kept++] = dests[i];
  }
  *count = kept;
  *body = keep_results(*body, keep_result);
  return out;
}

static const HistOp *sweep_hists(const HistOp *hists, int *count, bool *keep,
                                 const Body **body) {
  HistOp *out = new_array(HistOp, *count);
  bool *keep_result = new_array(bool, (*body)->result_count);
  int kept = 0, value = *count, result = 0;
  bool lives = false;
  for (int i = 0; i < *count; i++) {
    if (!hists[i].chained) {
      lives = any(keep, result, hists[i].op.count);
      keep_range(keep, result, hists[i].op.count, lives);
      result += hists[i].op.count;
    }
    keep_result[i] = lives;
    keep_range(keep_result, value, hists[i].op.count, lives);
    value += hists[i].op.count;
    if (lives) out[kept++] = hists[i];
  }
  *count = kept;
  *body = keep_results(*body, keep_result);
  return out;
}

static void sweep_scatter(const Sweep *s, Exp *e, bool *keep) {
  e->u.scatter.dests = sweep_dests(e->u.scatter.dests, &e->u.scatter.dest_count, keep,
                                   &e->u.scatter.fn.body);
  sweep_inputs(s, &e->u.scatter.fn, &e->u.scatter.arrays, &e->u.scatter.array_count);
}

static void sweep_hist(const Sweep *s, Exp *e, bool *keep) {
  e->u.hist.ops =
      sweep_hists(e->u.hist.ops, &e->u.hist.op_count, keep, &e->u.hist.fn.body);
  sweep_inputs(s, &e->u.hist.fn, &e->u.hist.arrays, &e->u.hist.array_count);
}

static void sweep_seg(Exp *e, bool *keep) {
  SegOp *seg = mem_copy(e->u.seg, sizeof *e->u.seg);
  switch (seg->kind) {
  case SEG_MAP:
  case SEG_RED:
  case SEG_SCAN:
    seg->ops = sweep_ops(seg->ops, &seg->op_count, keep);
    seg->body = keep_results(seg->body, keep);
    if (!seg->op_count) seg->kind = SEG_MAP;
    break;
  case SEG_HIST:
    seg->hists = sweep_hists(seg->hists, &seg->hist_count, keep, &seg->body);
    break;
  case SEG_SCATTER:
    seg->dests = sweep_dests(seg->dests, &seg->dest_count, keep, &seg->body);
    break;
  }
  e->u.seg = seg;
}

static void sweep_branches(const Body **first, const Body **second, const bool *keep) {
  *first = keep_results(*first, keep);
  *second = keep_results(*second, keep);
}

// Drops the results that nothing depends on; `keep` then says which have stayed.
static void sweep_exp(const Sweep *s, Exp *e, bool *keep) {
  switch (e->kind) {
  case EXP_ASSERT: sweep_assert(e, keep); return;
  case EXP_IF: sweep_branches(&e->u.cond.then_body, &e->u.cond.else_body, keep); return;
  case EXP_CHOOSE: sweep_branches(&e->u.choose.first, &e->u.choose.second, keep); return;
  case EXP_GUARD:
    sweep_branches(&e->u.guard.then_body, &e->u.guard.else_body, keep);
    return;
  case EXP_LOOP: sweep_loop(s, e, keep); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER: sweep_soac(s, e, keep); return;
  case EXP_SCATTER: sweep_scatter(s, e, keep); return;
  case EXP_HIST: sweep_hist(s, e, keep); return;
  case EXP_SEG: sweep_seg(e, keep); return;
  case EXP_SPLIT:
  case EXP_CALL: keep_range(keep, 0, exp_result_count(e), true); return;
  case EXP_ATOM:
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_INDEX:
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_REARRANGE:
  case EXP_RESHAPE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_ARRAY: return;
  }
}

// ---- bodies

static const Body *sweep_body(CoreMapper *m, const Body *body);

static Stm sweep_stm(CoreMapper *m, const Stm *original, bool *keep) {
  const Sweep *s = m->state;
  Stm stm = *original;
  Exp *exp = mem_copy(stm.exp, sizeof *stm.exp);
  sweep_exp(s, exp, keep);
  keep_binders(&stm, keep);
  stm.exp = core_map_exp(m, exp);
  return stm;
}

static const Body *sweep_body(CoreMapper *m, const Body *body) {
  const Sweep *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    bool *keep = new_array(bool, stm->binder_count);
    for (int k = 0; k < stm->binder_count; k++)
      keep[k] = is_live(s, stm->binders[k]);
    if (any(keep, 0, stm->binder_count)) core_add_stm(&b, sweep_stm(m, stm, keep));
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *dead_body(Compiler *c, const Body *body) {
  Sweep s = { .c = c, .live = dead_live(body) };
  CoreMapper m = { .body = sweep_body, .state = &s };
  return sweep_body(&m, body);
}

const Core *dead(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, dead_body);
}
