// let xs = replicate n x in loop ys = xs ...
//   =>  let xs = replicate n x in [the loop on the host, or in one item]     both begin with that
//       if the loop alone reads xs; likewise iotas, and replicates of those
// Why: a launch that fills an array takes as long as many a loop in one item (host_loop.c), which
// fills it itself in passing.  What nobody reads outside any more is dropped there (dead-flat).
#include "base/map.h"
#include "flat/rules.h"

typedef Vec(Stm) StartVec;

static bool is_read_once(Flatten *fl, const Var *var) {
  const int *count = map_get(fl->uses, var);
  return count && *count == 1;
}

// Adds what makes the array, if that may move.
static void add_start(Flatten *fl, Atom array, StartVec *starts) {
  if (array.kind != ATOM_VAR || array.u.var->type.rank == 0) return;
  const Stm *def = map_get(fl->defs, array.u.var);
  if (!def || !is_read_once(fl, array.u.var)) return;
  if (def->exp->kind != EXP_REPLICATE && def->exp->kind != EXP_IOTA) return;
  if (def->exp->kind == EXP_REPLICATE) add_start(fl, def->exp->u.replicate.value, starts);
  vec_push(starts, *def);
}

static StartVec starts_of(Flatten *fl, const Stm *loop) {
  StartVec starts = { 0 };
  for (int i = 0; i < loop->exp->u.loop.param_count; i++)
    add_start(fl, loop->exp->u.loop.inits[i], &starts);
  return starts;
}

const Body *flatten_loop_with_starts(Flatten *fl, const Stm *loop) {
  Builder b = builder_new(fl->c, loop->loc);
  StartVec starts = starts_of(fl, loop);
  vec_each (const Stm *, start, &starts)
    core_add_stm(&b, *start);
  const Body *body = flatten_body_of_stm(loop);
  core_add_body(&b, body);
  return core_body(&b, body->results, body->result_count);
}

// Makes them, as the substitution says.
static Subst *starts_on_host(Flatten *fl, const Goal *goal, Builder *b) {
  Builder core = builder_new(fl->c, goal->stm->loc);
  StartVec starts = starts_of(fl, goal->stm);
  Atom *made = new_array(Atom, starts.count + 1);
  Subst *subst = subst_new();
  for (int i = 0; i < starts.count; i++) {
    core_add_stm(&core, starts.at[i]);
    made[i] = atom_var(starts.at[i].binders[0]);
  }
  const Body *renamed =
      core_rename_body(fl->c, subst_new(), core_body(&core, made, starts.count));
  const Body *flat = flatten_branch(fl, NULL, goal->level, renamed);
  core_add_body(b, flat);
  for (int i = 0; i < starts.count; i++)
    subst_put(subst, starts.at[i].binders[0], flat->results[i]);
  return subst;
}

const Exp *flatten_starts_on_host(Flatten *fl, const Goal *goal, const Exp *loop,
                                  Builder *b) {
  return core_rename_exp(fl->c, starts_on_host(fl, goal, b), loop);
}

void flatten_inits_on_host(Flatten *fl, const Goal *goal, Builder *b, Atom *inits) {
  const Exp *loop = goal->stm->exp;
  const Subst *starts = starts_on_host(fl, goal, b);
  for (int i = 0; i < loop->u.loop.param_count; i++)
    inits[i] = subst_atom(starts, loop->u.loop.inits[i]);
}
