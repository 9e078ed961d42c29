// loop (b = b0) for i < m do let x = xs[i] let y = xs[b] .. in {if x < y then i else b}
// let z = xs[b]
//   =>  let first = if 0 < m then xs[b0] else 0
//       loop (b = b0, y = first) for i < m do
//         let x = xs[i] .. in {if x < y then (i, x) else (b, y)}
//       let z = if 0 < m then y else xs[b]
//
// where each value that the place may get is one whose element the round has loaded, or stays.
//
// Needs: Core; binders unique.  Keeps: both.
// Why: positions of the least and greatest are often kept alone.  Each round then loads from a
// place that nobody foresees, which is a gather in lanes, and on GPUs a sector for each item.
//
// What a round loads before anything decides about it, the first round loads as well, so a load
// that fails does so as before; what branches load must be inside from the beginning.  Later places
// are those of loads that have been done.
#include "core/carried.h"
#include "core/passes.h"

enum { CARRIED_LOADS = 4 };  // for a loop: each takes a register

// A loop that carries the element of a load, and the variables that have both behind it.
typedef struct CarriedBehind {
  const Exp *load;
  const Atom *place;
  Atom element;
  Atom bound;
} CarriedBehind;

typedef struct CarriedLoads {
  Compiler *c;
  Vec(CarriedBehind) behind;
  bool changed;
} CarriedLoads;

// ---- the load

static int param_of(const Exp *loop, Atom a) {
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (a.kind == ATOM_VAR && loop->u.loop.params[i] == a.u.var) return i;
  return -1;
}

// In the loop's body, outside of the bodies in it.
static bool is_made_in(const Exp *loop, Atom a) {
  if (a.kind != ATOM_VAR) return false;
  if (a.u.var == loop->u.loop.index || param_of(loop, a) >= 0) return true;
  const Body *body = loop->u.loop.body;
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == a.u.var) return true;
  return false;
}

// The element at place 0 of a dimension that is as long as the loop, at first.
static bool begins_inside(const Exp *loop, const Exp *load, int dim) {
  int param = param_of(loop, load->u.index.dims[dim].start);
  return param >= 0 && atom_is_i64(loop->u.loop.inits[param], 0) &&
         atom_equal(atom_type(load->u.index.array).dims[dim], loop->u.loop.bound);
}

// A scalar at a place that the loop carries, and otherwise of one that it does not change.
static bool is_at_carried_place(const Exp *loop, const Stm *stm, bool in_branch) {
  const Exp *e = stm->exp;
  if (e->kind != EXP_INDEX || stm->binders[0]->type.rank || stm->attrs) return false;
  if (is_made_in(loop, e->u.index.array)) return false;
  bool carried = false;
  for (int i = 0; i < e->u.index.dim_count; i++) {
    Atom at = e->u.index.dims[i].start;
    if (in_branch && !begins_inside(loop, e, i)) return false;
    if (param_of(loop, at) >= 0)
      carried = true;
    else if (is_made_in(loop, at))
      return false;
  }
  return carried;
}

// ---- the loop

// The place at the beginning, of the next round, or behind the loop, by what params are there.
static Atom *place_by_params(const Exp *loop, const Exp *load, const Atom *params) {
  int count = load->u.index.dim_count;
  Atom *place = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    int k = param_of(loop, load->u.index.dims[i].start);
    place[i] = k < 0 ? load->u.index.dims[i].start : params[k];
  }
  return place;
}

static const Var **vars_and(const Var *const *vars, int count, const Var *last) {
  const Var **all = new_array(const Var *, count + 1);
  for (int i = 0; i < count; i++)
    all[i] = vars[i];
  all[count] = last;
  return all;
}

static void note_behind(CarriedLoads *w, const Exp *loop, const Stm *stm,
                        const Exp *load) {
  Atom *results = new_array(Atom, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = atom_var(stm->binders[i]);
  CarriedBehind behind = { .load = load,
                           .place = place_by_params(loop, load, results),
                           .element = results[stm->binder_count - 1],
                           .bound = loop->u.loop.bound };
  vec_push(&w->behind, behind);
}

// The loop's statement with the load's element carried, or false.
static bool carry_load(CarriedLoads *w, Builder *b, Stm *stm, const Stm *load) {
  const Exp *loop = stm->exp;
  CarriedLoad l = { b->c, load->exp, var_like(b->c, load->binders[0]) };
  int count = loop->u.loop.param_count;
  const Body *body;
  if (!carried_give(&l, loop->u.loop.body,
                    place_by_params(loop, l.load, loop->u.loop.body->results), &body))
    return false;
  b->loc = load->loc;
  Atom first = carried_first(b, &l, loop->u.loop.bound,
                             place_by_params(loop, l.load, loop->u.loop.inits));
  Atom *inits = new_array(Atom, count + 1);
  for (int i = 0; i < count; i++)
    inits[i] = loop->u.loop.inits[i];
  inits[count] = first;
  Exp *carried = mem_copy(loop, sizeof *loop);
  carried->u.loop.params = vars_and(loop->u.loop.params, count, l.element);
  carried->u.loop.inits = inits;
  carried->u.loop.param_count = count + 1;
  carried->u.loop.body = carried_without(&l, body);
  stm->exp = carried;
  stm->binders = vars_and(stm->binders, count, var_like(b->c, l.element));
  stm->binder_count = count + 1;
  note_behind(w, loop, stm, l.load);
  return true;
}

static bool carry_one(CarriedLoads *w, Builder *b, Stm *stm, const Body *body,
                      bool in_branch) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *at = &body->stms[i];
    if (is_at_carried_place(stm->exp, at, in_branch) && carry_load(w, b, stm, at))
      return true;
    if (at->exp->kind == EXP_IF &&
        (carry_one(w, b, stm, at->exp->u.cond.then_body, true) ||
         carry_one(w, b, stm, at->exp->u.cond.else_body, true)))
      return true;
  }
  return false;
}

// ---- behind the loop

static bool is_behind(const CarriedBehind *behind, const Exp *e) {
  const Exp *load = behind->load;
  if (!atom_equal(e->u.index.array, load->u.index.array) ||
      e->u.index.dim_count != load->u.index.dim_count)
    return false;
  for (int i = 0; i < e->u.index.dim_count; i++)
    if (e->u.index.dims[i].is_slice ||
        !atom_equal(e->u.index.dims[i].start, behind->place[i]))
      return false;
  return true;
}

static const Exp *known_behind(CarriedLoads *w, Builder *b, const Stm *stm) {
  vec_each (CarriedBehind *, behind, &w->behind)
    if (stm->exp->kind == EXP_INDEX && is_behind(behind, stm->exp)) {
      w->changed = true;
      b->loc = stm->loc;
      Atom runs = core_let(b, "runs", exp_op2(OP_LT, atom_i64(0), behind->bound));
      Builder some = builder_new(w->c, stm->loc), none = some;
      Atom loaded = core_let(&none, "loaded", stm->exp);
      return exp_if(runs, core_body(&some, &behind->element, 1),
                    core_body(&none, &loaded, 1));
    }
  return stm->exp;
}

static const Body *loads_in_body(CoreMapper *m, const Body *body) {
  CarriedLoads *w = m->state;
  Builder b = builder_new(w->c, (Loc){ 0 });
  int before = w->behind.count;
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(m, stm.exp);
    bool is_loop = stm.exp->kind == EXP_LOOP && stm.exp->u.loop.form == CORE_FOR;
    for (int k = 0; k < CARRIED_LOADS && is_loop; k++) {
      is_loop = carry_one(w, &b, &stm, stm.exp->u.loop.body, false);
      w->changed = w->changed || is_loop;
    }
    stm.exp = known_behind(w, &b, &stm);
    core_add_stm(&b, stm);
  }
  w->behind.count = before;
  return core_body(&b, body->results, body->result_count);
}

static const Body *carry_loads_body(Compiler *c, const Body *body) {
  CarriedLoads w = { .c = c };
  CoreMapper m = { .body = loads_in_body, .state = &w };
  const Body *carried = loads_in_body(&m, body);
  return w.changed ? carried : body;
}

const Core *carry_loads(Compiler *c, const Core *core) {
  const Core *carried = carry_operands(c, core_map_bodies(c, core, carry_loads_body));
  return core_same_bodies(core, carried) ? core : simplify(c, carried);
}
