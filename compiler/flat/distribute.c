// Rule G6, which distributes a context over the statements of a body.
//
// G6    Sigma |-l let a0 = e1 in e2  =>  let ap = e1' in e2'
//       where Sigma |-l e1 => e1'    Sigma' |-l e2 => e2'    Sigma' is Sigma with a0 bound to
//             elements of ap, an array one context larger
//       if the size of each array in a0 is invariant to Sigma          [PPoPP'19, Figure 3]
//
// The paper leaves open where to distribute (section 3.1).  Here: walk the statements; sequential
// ones wait in a group; at a split point (a statement whose parallelism seg-ops can use) those that
// it needs become one segmap; cheap scalar code and views are not stored but computed again by
// whoever needs them; what is the same at every point is computed outside.  A split point that
// cannot be distributed counts as sequential code.
#include "base/map.h"
#include "flat/rules.h"
#include <string.h>

// A body on its way through a context.
typedef struct MixedBody {
  Flatten *fl;
  const Nest *nest;
  int level;
  Builder *b;
  Map *local;         // binders of the body that vary
  Map *pending_vars;  // binder -> pending Stm that binds it, while it waits
  Vec(const Stm *) pending;
  Map *last_use;   // binder -> the last position that uses it
  int now, count;  // the statement that is walked, of how many
} MixedBody;

// ---- uses

typedef struct Position {
  int at;
} Position;

static void note_uses(Map *last_use, VarVec vars, int at) {
  Position *position = new_node(Position, .at = at);
  vec_each (const Var **, v, &vars)
    map_put(last_use, *v, position);
}

static Map *last_uses(const Body *body) {
  Map *uses = map_new(NULL);
  for (int i = 0; i < body->stm_count; i++)
    note_uses(uses, core_free_stm(&body->stms[i]), i);
  VarVec results = { 0 };
  for (int i = 0; i < body->result_count; i++)
    if (body->results[i].kind == ATOM_VAR) vec_push(&results, body->results[i].u.var);
  note_uses(uses, results, body->stm_count);
  return uses;
}

// A statement of the body as a goal in the context as it is now.
static Goal goal_of(const MixedBody *g, const Stm *stm) {
  return (Goal){
    .nest = g->nest, .local = g->local, .level = g->level, .stm = stm, .b = g->b
  };
}

static bool used_later(const MixedBody *g, const Var *var) {
  const Position *position = map_get(g->last_use, var);
  return position && position->at > g->now;
}

// ---- flushing

// Marks the pending statements that `vars` need, directly or through other pending ones.
static void mark_needed(const MixedBody *g, Map *marked, VarVec vars) {
  vec_each (const Var **, v, &vars) {
    const Stm *stm = map_get(g->pending_vars, *v);
    if (!stm || map_has(marked, stm)) continue;
    map_put(marked, stm, stm);
    mark_needed(g, marked, core_free_stm(stm));
  }
}

// Is a binder of a marked statement read by anything but the marked statements that are stored
// with it?
static bool read_elsewhere(const MixedBody *g, const Map *marked, const Map *wanted,
                           const Var *var) {
  if (map_has(wanted, var) || used_later(g, var)) return true;
  vec_each (const Stm **, s, &g->pending) {
    if (map_has(marked, *s) && !exp_is_cheap((*s)->exp)) continue;
    VarVec free = core_free_stm(*s);
    vec_each (const Var **, v, &free)
      if (*v == var) return true;
  }
  return false;
}

typedef struct Flush {
  Map *marked;
  Vec(Stm) stms;
  VarVec stored;
} Flush;

// What a flush would store; false if the size of something stored varies.
static bool plan_flush(const MixedBody *g, VarVec vars, Flush *f) {
  Goal here = goal_of(g, NULL);
  f->marked = map_new(NULL);
  mark_needed(g, f->marked, vars);
  Map *wanted = map_new(NULL);
  vec_each (const Var **, v, &vars)
    map_put(wanted, *v, *v);
  vec_each (const Stm **, s, &g->pending) {
    if (!map_has(f->marked, *s)) continue;
    vec_push(&f->stms, **s);
    for (int i = 0; i < (*s)->binder_count && !exp_is_cheap((*s)->exp); i++) {
      const Var *var = (*s)->binders[i];
      if (!read_elsewhere(g, f->marked, wanted, var)) continue;
      if (goal_type_varies(&here, var->type)) return false;
      vec_push(&f->stored, var);
    }
  }
  return true;
}

// The marked statements leave the group; cheap ones go into the context.
static void drop_marked(MixedBody *g, const Flush *f) {
  Vec(const Stm *) rest = { 0 };
  vec_each (const Stm **, s, &g->pending) {
    if (!map_has(f->marked, *s)) {
      vec_push(&rest, *s);
      continue;
    }
    for (int i = 0; i < (*s)->binder_count; i++)
      map_remove(g->pending_vars, (*s)->binders[i]);
    if (exp_is_cheap((*s)->exp)) g->nest = nest_stm(g->nest, *s);
  }
  g->pending.count = 0;
  vec_each (const Stm **, s, &rest)
    vec_push(&g->pending, *s);
}

// One segmap for the pending statements that `vars` need.
static bool flush(MixedBody *g, VarVec vars) {
  Flush f = { 0 };
  if (!plan_flush(g, vars, &f)) return false;
  int count = f.stored.count;
  if (count > 0) {
    Atom *results = new_array(Atom, count), *arrays = new_array(Atom, count);
    for (int i = 0; i < count; i++)
      results[i] = atom_var(f.stored.at[i]);
    const Body *body = new_node(Body, .stms = f.stms.at, .stm_count = f.stms.count,
                                .results = results, .result_count = count);
    flatten_trace(g->fl, "G6", &f.stms.at[0]);
    flatten_emit_segmap(g->fl, g->nest, g->level, body, g->b, arrays);
    for (int i = 0; i < count; i++)
      g->nest = nest_read(g->nest, f.stored.at[i], arrays[i], nest_depth(g->nest));
  }
  drop_marked(g, &f);
  return true;
}

// ---- the walk

static void add_local(MixedBody *g, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    map_put(g->local, stm->binders[i], stm);
}

static bool waits(const MixedBody *g, const Stm *stm) {
  VarVec free = core_free_stm(stm);
  vec_each (const Var **, v, &free)
    if (map_has(g->pending_vars, *v)) return true;
  return false;
}

static void add_pending(MixedBody *g, const Stm *stm) {
  vec_push(&g->pending, stm);
  for (int i = 0; i < stm->binder_count; i++)
    map_put(g->pending_vars, stm->binders[i], stm);
}

// G6    Sigma |-l let a0 = e1 in e2  =>  let ap = e1' in e2'    see the head of this file
// False if e1 cannot be distributed: it is sequential code then.
static bool rule_g6(MixedBody *g, const Stm *stm) {
  Goal goal = goal_of(g, stm);
  if (!goal_distributes(g->fl, &goal)) return false;
  if (!flush(g, core_free_stm(stm))) return false;
  goal.nest = g->nest;
  Atom *out = new_array(Atom, stm->binder_count);
  if (!rule_apply(g->fl, &goal, out)) return false;
  if (g->now + 1 < g->count) flatten_trace(g->fl, "G6", stm);
  for (int i = 0; i < stm->binder_count; i++)
    g->nest = nest_read(g->nest, stm->binders[i], out[i], nest_depth(g->nest));
  return true;
}

static bool permute_outside(MixedBody *g, const Stm *stm) {
  Goal goal = goal_of(g, stm);
  const Nest *nest = waits(g, stm) ? NULL : rule_g5(g->fl, &goal);
  if (nest) g->nest = nest;
  return nest != NULL;
}

typedef struct Seen {
  bool may_fail, reads;
} Seen;

static void see_failures(CoreVisitor *v, const Body *body) {
  Seen *seen = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    seen->may_fail = seen->may_fail || exp_may_fail(exp);
    seen->reads = seen->reads || exp->kind == EXP_INDEX;
  }
  core_visit_body(v, body);
}

static Seen seen_in(const Exp *exp) {
  Seen seen = { .may_fail = exp_may_fail(exp) };
  CoreVisitor v = { .body = see_failures, .state = &seen };
  core_visit_exp(&v, exp);
  return seen;
}

// Parallel work that is the same at every point of the context and cannot fail (there may be no
// point): done once, outside.  Groups do not ask whether there is a point (see `for_points`).
static bool is_common_work(const MixedBody *g, const Stm *stm) {
  if (!exp_is_soac(stm->exp) || flatten_is_sequential(stm)) return false;
  Goal goal = goal_of(g, stm);
  VarVec free = core_free_stm(stm);
  vec_each (const Var **, v, &free)
    if (goal_varies(&goal, atom_var(*v))) return false;
  Seen seen = seen_in(stm->exp);
  return !seen.may_fail && (!seen.reads || (g->level > 0 && !flatten_finds_sizes(stm)));
}

// Has the context a point?
static Atom has_points(const MixedBody *g, Builder *b) {
  int depth = nest_depth(g->nest);
  Atom *widths = new_array(Atom, depth + 1), some = atom_bool(true);
  nest_widths(g->nest, widths);
  for (int i = 0; i < depth; i++) {
    if (widths[i].kind == ATOM_CONST && widths[i].u.constant.u.i > 0) continue;
    Atom wide = core_let(b, "some", exp_op2(OP_LT, atom_i64(0), widths[i]));
    some = atom_equal(some, atom_bool(true))
               ? wide
               : core_let(b, "some", exp_op2(OP_LAND, some, wide));
  }
  return some;
}

static const Body *body_of_zeros(Flatten *fl, const Stm *stm) {
  Builder b = builder_new(fl->c, stm->loc);
  Atom *zeros = new_array(Atom, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++) {
    CoreType type = stm->binders[i]->type;
    zeros[i] = atom_const(prim_zero(type.elem));
    for (int d = type.rank - 1; d >= 0; d--)
      zeros[i] = core_let(&b, "none", exp_replicate(type.dims[d], zeros[i]));
  }
  return core_body(&b, zeros, stm->binder_count);
}

// soac  =>  if 0 < n { soac } else { zeros }   for a context of n points
// where it reads at indices: that they are inside of their array, which nothing checks, may be so
// at points only (xs[n - 1]).
static Stm for_points(MixedBody *g, const Stm *stm) {
  Stm out = *stm, inside = *stm;
  if (!seen_in(stm->exp).reads) return out;
  Atom some = has_points(g, g->b);
  if (some.kind == ATOM_CONST) return out;
  const Var **vars = new_array(const Var *, stm->binder_count);
  Atom *values = new_array(Atom, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++) {
    vars[i] = var_like(g->fl->c, stm->binders[i]);
    values[i] = atom_var(vars[i]);
  }
  inside.binders = vars;
  Builder b = builder_new(g->fl->c, stm->loc);
  core_add_stm(&b, inside);
  const Body *work = core_body(&b, values, stm->binder_count);
  out.exp = exp_if(some, work, body_of_zeros(g->fl, stm));
  return out;
}

static void flatten_host_stm(Flatten *fl, int level, const Stm *stm, Builder *b);

static void walk_stm(MixedBody *g, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    map_put(g->fl->defs, stm->binders[i], stm);
  g->b->loc = stm->loc;
  Goal goal = goal_of(g, stm);
  if (goal_is_uniform(&goal, stm)) {
    core_let_vars(g->b, stm->binders, stm->binder_count, stm->exp);
    return;
  }
  if (is_common_work(g, stm)) {
    const Stm once = for_points(g, stm);
    flatten_host_stm(g->fl, g->level, mem_copy(&once, sizeof once), g->b);
    return;
  }
  bool placed = permute_outside(g, stm) || rule_g6(g, stm);
  if (!placed && exp_is_cheap(stm->exp) && !waits(g, stm))
    g->nest = nest_stm(g->nest, stm);
  else if (!placed)
    add_pending(g, stm);
  add_local(g, stm);
}

// The array over the whole context that already holds a result, if there is one.
static bool in_memory(const MixedBody *g, Atom result, Atom *array) {
  int levels;
  if (result.kind != ATOM_VAR || map_has(g->pending_vars, result.u.var)) return false;
  return nest_origin(g->nest, result.u.var, array, &levels) &&
         levels == nest_depth(g->nest);
}

// G1    Sigma |-l e  =>  segmap^l Sigma e    if no other rule applies         [PPoPP'19, Figure 3]
// Here for what is left of a body, above level 0 as well: one segmap for the results that are not
// in memory yet.  (A map whose inner SOACs become sequential: rules.c.)
static void finish(MixedBody *g, const Body *body, const bool *uniform, Atom *out) {
  Flush f = { .marked = map_new(NULL) };
  AtomVec results = { 0 };
  VarVec vars = { 0 };
  for (int i = 0; i < body->result_count; i++) {
    out[i] = body->results[i];
    bool is_uniform_result = uniform && uniform[i];
    if (is_uniform_result || in_memory(g, body->results[i], &out[i])) continue;
    vec_push(&results, body->results[i]);
    if (body->results[i].kind == ATOM_VAR) vec_push(&vars, body->results[i].u.var);
  }
  if (results.count == 0) return;
  mark_needed(g, f.marked, vars);
  vec_each (const Stm **, s, &g->pending)
    if (map_has(f.marked, *s)) vec_push(&f.stms, **s);
  const Body *last = new_node(Body, .stms = f.stms.at, .stm_count = f.stms.count,
                              .results = results.at, .result_count = results.count);
  Atom *arrays = new_array(Atom, results.count);
  flatten_emit_segmap(g->fl, g->nest, g->level, last, g->b, arrays);
  Atom ignored;
  for (int i = 0, next = 0; i < body->result_count; i++)
    if (!(uniform && uniform[i]) && !in_memory(g, body->results[i], &ignored))
      out[i] = arrays[next++];
}

void flatten_mixed_body(Flatten *fl, const Nest *nest, int level, const Body *body,
                        const bool *uniform, Builder *b, Atom *out) {
  MixedBody g = { .fl = fl,
                  .nest = nest,
                  .level = level,
                  .b = b,
                  .local = map_new(NULL),
                  .pending_vars = map_new(NULL),
                  .last_use = last_uses(body),
                  .count = body->stm_count };
  for (g.now = 0; g.now < body->stm_count; g.now++)
    walk_stm(&g, &body->stms[g.now]);
  finish(&g, body, uniform, out);
}

// With the empty context every statement stands for itself.
static void flatten_host_stm(Flatten *fl, int level, const Stm *stm, Builder *b) {
  Atom *out = new_array(Atom, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++)
    map_put(fl->defs, stm->binders[i], stm);
  b->loc = stm->loc;
  Goal goal = { .level = level, .stm = stm, .b = b };
  rule_apply(fl, &goal, out);
  for (int i = 0; i < stm->binder_count; i++)
    if (!atom_equal(out[i], atom_var(stm->binders[i])))
      core_let_vars(b, &stm->binders[i], 1, exp_atom(out[i]));
}

void flatten_body(Flatten *fl, const Nest *nest, int level, const Body *body, Builder *b,
                  Atom *out) {
  if (nest) {
    flatten_mixed_body(fl, nest, level, body, NULL, b, out);
    return;
  }
  for (int i = 0; i < body->stm_count; i++)
    flatten_host_stm(fl, level, &body->stms[i], b);
  for (int i = 0; i < body->result_count; i++)
    out[i] = body->results[i];
}
