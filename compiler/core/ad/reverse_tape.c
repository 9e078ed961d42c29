// What a loop keeps, so that each iteration can be run again on the way back.
//
//   loop p = a for i < n do f p     =>  loop p = a, ps = .. for i < n do f p, ps with [i] = p
//
// ps is the tape of p.  An array that an iteration only updates,
//
//   loop xs = a for i < n do let v = f xs i  in xs with [g i] = v
//
// has none, but one for the element that is overwritten; the way back puts it back in its place.
// Where the size of a parameter varies there are no tapes: each round of the way back runs the loop
// again, up to where the round begins.
#include "core/ad/reverse.h"

typedef struct Taping {
  Reverse *r;
  const Exp *loop;
  Atom count;       // of iterations
  Map *inside;      // what the loop binds
  Map *defs;        // Var -> Stm: what its body computes
  Map *before;      // Exp (an update) -> Var: what is overwritten
  VarVec recorded;  // variables with tapes
  Map *tapes;       // Var -> Var: the tape of each, behind the loop
  OverwrittenVec *undone;
} Taping;

Atom reverse_trips(Builder *b, Atom bound) {
  if (bound.kind == ATOM_CONST && bound.u.constant.u.i >= 0) return bound;
  return ad_op2(b, OP_MAX, bound, atom_i64(0));
}

static bool sizes_vary(const Exp *loop) {
  for (int i = 0; i < loop->u.loop.param_count; i++) {
    CoreType type = loop->u.loop.params[i]->type;
    for (int d = 0; d < type.rank; d++)
      for (int k = 0; k < i; k++)
        if (atom_equal(type.dims[d], atom_var(loop->u.loop.params[k]))) return true;
  }
  return false;
}

// ---- what is recorded

static void note_inside(CoreVisitor *v, const Var *var) { map_put(v->state, var, var); }

static Taping taping(Reverse *r, const Exp *loop, Atom count) {
  Taping t = { .r = r, .loop = loop, .count = count };
  t.inside = map_new(NULL);
  t.defs = map_new(NULL);
  t.before = map_new(NULL);
  t.tapes = map_new(NULL);
  t.undone = new_array(OverwrittenVec, loop->u.loop.param_count);
  CoreVisitor v = { .binder = note_inside, .state = t.inside };
  core_visit_exp(&v, loop);
  const Body *body = loop->u.loop.body;
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++) {
      map_put(t.inside, body->stms[i].binders[k], body->stms[i].binders[k]);
      map_put(t.defs, body->stms[i].binders[k], &body->stms[i]);
    }
  return t;
}

static bool is_inside(const Taping *t, Atom a) {
  return a.kind == ATOM_VAR && map_has(t->inside, a.u.var);
}

static void record(Taping *t, Atom a) {
  if (!is_inside(t, a) || a.u.var == t->loop->u.loop.index) return;
  vec_each (const Var *const *, var, &t->recorded)
    if (*var == a.u.var) return;
  vec_push(&t->recorded, a.u.var);
}

// The extent of what is overwritten must be the same in all rounds.
static bool has_steady_extent(const Taping *t, const Exp *update) {
  for (int d = 0; d < update->u.update.dim_count; d++) {
    const DimIndex *dim = &update->u.update.dims[d];
    if (dim->is_slice && is_inside(t, dim->count)) return false;
  }
  return true;
}

// The updates, last one first, by which a round makes the next value of a parameter from it; none
// if it does anything else.
static OverwrittenVec updates_of(Taping *t, int param) {
  Atom a = t->loop->u.loop.body->results[param];
  Atom first = atom_var(t->loop->u.loop.params[param]);
  OverwrittenVec updates = { 0 };
  while (!atom_equal(a, first)) {
    const Stm *stm = a.kind == ATOM_VAR ? map_get(t->defs, a.u.var) : NULL;
    bool updates_it =
        stm && stm->exp->kind == EXP_UPDATE && has_steady_extent(t, stm->exp);
    if (!updates_it) return (OverwrittenVec){ 0 };
    vec_push(&updates, (Overwritten){ .update = stm->exp });
    a = stm->exp->u.update.array;
  }
  return updates;
}

static CoreType part_type(const Exp *update) {
  Atom *dims = new_array(Atom, update->u.update.dim_count);
  int rank = 0;
  for (int d = 0; d < update->u.update.dim_count; d++)
    if (update->u.update.dims[d].is_slice) dims[rank++] = update->u.update.dims[d].count;
  return type_array(atom_type(update->u.update.array).elem, rank, dims);
}

// A variable for the part that an update overwrites; the position is recorded, too.
static const Var *overwritten_part(Taping *t, const Exp *update) {
  CoreType type = part_type(update);
  Name name = name_of(t->r->c->names, "before");
  const Var *before = var_new(t->r->c, name, type, t->r->scope->b->loc);
  map_put(t->inside, before, before);
  map_put(t->before, update, before);
  record(t, atom_var(before));
  for (int d = 0; d < update->u.update.dim_count; d++) {
    record(t, update->u.update.dims[d].start);
    if (update->u.update.dims[d].is_slice) record(t, update->u.update.dims[d].stride);
  }
  return before;
}

static void choose_records(Taping *t) {
  for (int k = 0; k < t->loop->u.loop.param_count; k++) {
    t->undone[k] = updates_of(t, k);
    vec_each (Overwritten *, o, &t->undone[k])
      o->before = overwritten_part(t, o->update);
    if (!t->undone[k].count) record(t, atom_var(t->loop->u.loop.params[k]));
  }
}

// ---- the loop with tapes

// Before an update that will be undone, the part that it overwrites is read.
static void add_recording_body(const Taping *t, Builder *b) {
  const Body *body = t->loop->u.loop.body;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    const Var *before = map_get(t->before, e);
    if (before) {
      const Var **binder = new_array(const Var *, 1);
      binder[0] = before;
      const Exp *part =
          exp_slice(e->u.update.array, e->u.update.dims, e->u.update.checked);
      core_let_vars(b, binder, 1, part);
    }
    core_add_stm(b, body->stms[i]);
  }
}

static bool is_loop_param(const Exp *loop, const Var *var) {
  for (int k = 0; k < loop->u.loop.param_count; k++)
    if (loop->u.loop.params[k] == var) return true;
  return false;
}

// The tapes, written: those of parameters first, before these are updated.
static const Body *recording_body(const Taping *t, const VarVec *tapes) {
  Builder b = builder_new(t->r->c, t->r->scope->b->loc);
  Atom i = atom_var(t->loop->u.loop.index);
  Atom *written = new_array(Atom, tapes->count);
  AtomVec results = { 0 };
  for (int pass = 0; pass < 2; pass++) {
    for (int k = 0; k < tapes->count; k++) {
      const Var *var = t->recorded.at[k];
      if (is_loop_param(t->loop, var) == (pass == 0))
        written[k] = ad_set_row(&b, atom_var(tapes->at[k]), i, atom_var(var));
    }
    if (pass == 0) add_recording_body(t, &b);
  }
  for (int k = 0; k < t->loop->u.loop.param_count; k++)
    vec_push(&results, t->loop->u.loop.body->results[k]);
  for (int k = 0; k < tapes->count; k++)
    vec_push(&results, written[k]);
  return core_body(&b, results.at, results.count);
}

// The tapes; the last ones that are made are noted.
static VarVec tape_vars(const Taping *t) {
  VarVec tapes = { 0 };
  vec_each (const Var *const *, var, &t->recorded) {
    CoreType type = type_of_rows((*var)->type, t->count);
    Name name = name_of(t->r->c->names, "tape");
    const Var *tape = var_new(t->r->c, name, type, t->r->scope->b->loc);
    vec_push(&tapes, tape);
    map_put(t->tapes, *var, tape);
  }
  return tapes;
}

static const Exp *recording_loop(const Taping *t) {
  Exp *e = mem_copy(t->loop, sizeof *t->loop);
  VarVec params = { 0 }, tapes = tape_vars(t);
  AtomVec inits = { 0 };
  for (int k = 0; k < e->u.loop.param_count; k++) {
    vec_push(&params, e->u.loop.params[k]);
    vec_push(&inits, e->u.loop.inits[k]);
  }
  vec_each (const Var *const *, tape, &tapes) {
    vec_push(&params, *tape);
    vec_push(&inits, ad_zeros(t->r->scope->b, (*tape)->type));
  }
  e->u.loop.body = recording_body(t, &tapes);
  e->u.loop.params = params.at;
  e->u.loop.inits = inits.at;
  e->u.loop.param_count = params.count;
  return e;
}

Kept reverse_keep_loop(Reverse *r, const Stm *stm) {
  Builder *b = r->scope->b;
  if (sizes_vary(stm->exp)) {
    core_add_stm(b, *stm);
    return (Kept){ .loop = stm->exp, .again = true };
  }
  Taping t = taping(r, stm->exp, reverse_trips(b, stm->exp->u.loop.bound));
  choose_records(&t);
  const Exp *loop = recording_loop(&t);
  VarVec binders = { 0 }, tapes = tape_vars(&t);
  for (int k = 0; k < stm->binder_count; k++)
    vec_push(&binders, stm->binders[k]);
  vec_each (const Var *const *, tape, &tapes)
    vec_push(&binders, *tape);
  core_add_stm(b, (Stm){ binders.at, binders.count, loop, stm->loc, stm->attrs });
  return (Kept){ .loop = stm->exp, .tapes = t.tapes, .undone = t.undone };
}

// ---- the way back

bool reverse_is_undone(const Kept *kept, int param) {
  return !kept->again && kept->undone[param].count > 0;
}

// What a variable of the loop's body was in an iteration.
static Atom recorded(Reverse *r, const Kept *kept, Atom a, Atom i) {
  if (a.kind == ATOM_CONST) return a;
  if (a.u.var == kept->loop->u.loop.index) return i;
  const Var *tape = map_get(kept->tapes, a.u.var);
  return tape ? ad_row(r->scope->b, atom_var(tape), i) : a;
}

static Atom undo(Reverse *r, const Kept *kept, const Overwritten *o, Atom array, Atom i) {
  int count = o->update->u.update.dim_count;
  DimIndex *dims = mem_copy(o->update->u.update.dims, sizeof(DimIndex) * (size_t)count);
  for (int d = 0; d < count; d++) {
    dims[d].start = recorded(r, kept, dims[d].start, i);
    if (dims[d].is_slice) dims[d].stride = recorded(r, kept, dims[d].stride, i);
  }
  Atom part = recorded(r, kept, atom_var(o->before), i);
  return core_let(r->scope->b, "restored", exp_update(array, dims, part, false));
}

void reverse_restore(Reverse *r, const Kept *kept, const RoundStart *start) {
  const Exp *loop = kept->loop;
  if (kept->again) {
    Exp *e = mem_copy(core_rename_exp(r->c, NULL, loop), sizeof *loop);
    e->u.loop.bound = start->iteration;
    core_let_n(r->scope->b, "again", mem_copy(e, sizeof *e), start->values);
    return;
  }
  for (int k = 0; k < loop->u.loop.param_count; k++) {
    Atom value = atom_var(loop->u.loop.params[k]);
    if (!reverse_is_undone(kept, k)) {
      start->values[k] = recorded(r, kept, value, start->iteration);
      continue;
    }
    start->values[k] = start->ends[k];
    vec_each (const Overwritten *, o, &kept->undone[k])
      start->values[k] = undo(r, kept, o, start->values[k], start->iteration);
  }
}
