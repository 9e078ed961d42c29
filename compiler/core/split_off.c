// map n (\a -> map m (\b -> let y = e(b) in e'(a, b, y)) ys) xs
//   =>  let zs = map m (\b -> e(b)) ys
//       in map n (\a -> map m (\b z -> e'(a, b, z)) ys zs) xs
//   where y is a scalar, e loops or calls a function of the mathematical library, cannot fail, and
//   reads nothing that is bound around ys and inside
//
// The outer map may be any other operator, or a loop.
//
// What calls such a function for elements of two maps within a third one (the factors of a cosine
// transform, in each of many blocks) stands before the innermost first, as a row, and the rows
// leave with the next operator, as a table.  They are short, of constant length: a table of any
// two widths could be more than fits in memory.  What cannot leave fuses again.
//
// Needs: Core, not fused (what e reads must not be combined with what e' computes); binders unique.
// Keeps: both.
// Why: hoisting takes out what is the same for all elements of the inner map; this is the same for
// all of the outer one.  The norms of n vectors are n sums, in pairwise similarities n * n; the
// powers by which rows are discounted, weights of windows, are a table of one row.
#include "core/hoist.h"
#include "core/passes.h"

// A body on the way from the outermost to the current one.
typedef struct SplitFrame {
  bool branch;
  Map *
      from;  // of an operator's function, Var -> level + 1 of what it is computed from; or NULL
  Vec(Stm) stms;
} SplitFrame;

enum { MAX_SPLIT_ROW = 64 };  // elements

typedef struct SplitOff {
  Compiler *c;
  HoistFacts *facts;
  Map *levels;  // Var -> level + 1, as a pointer; outermost parameters are not in it
  Vec(SplitFrame *) frames;
  const Exp *exp;  // whose children are being walked
} SplitOff;

// What an operator's function computes from elements of arrays that are bound further out.
typedef struct SplitSlice {
  SplitOff *s;
  const Soac *soac;
  Map *from;    // Var of the function -> level + 1 of what it is computed from
  Map *costly;  // Var: it takes a loop or a library's function
  Map *used;    // Var: mentioned by what stays
  Map *called;  // Var: a library's function is called for it
  VarVec exports;
  bool row;   // for each element of the operator around as well
  int level;  // of the new operator
} SplitSlice;

static int split_level_now(const SplitOff *s) { return s->frames.count - 1; }

static int level_in(const Map *levels, const Var *var) {
  return (int)(intptr_t)map_get(levels, var) - 1;
}

static void note_split_level(Map *levels, const Var *var, int level) {
  map_put(levels, var, (const void *)((intptr_t)level + 1));
}

static int split_level_of(const SplitOff *s, Atom a) {
  int level = a.kind == ATOM_VAR ? level_in(s->levels, a.u.var) : 0;
  return level < 0 ? 0 : level;
}

// ---- what is computed from what

static void look_for_failure(CoreVisitor *v, const Body *body);

typedef struct Failure {
  const HoistFacts *facts;
  bool found;
} Failure;

static bool can_fail(const HoistFacts *facts, const Exp *e) {
  Failure f = { facts, hoist_may_fail(facts, e) };
  CoreVisitor v = { .body = look_for_failure, .state = &f };
  core_visit_exp(&v, e);
  return f.found;
}

static void look_for_failure(CoreVisitor *v, const Body *body) {
  Failure *f = v->state;
  for (int i = 0; i < body->stm_count; i++)
    f->found = f->found || can_fail(f->facts, body->stms[i].exp);
}

// The level from which the variable, in the function of an operator at `level`, is known for each
// element; -1: none.
static int source_level(const SplitOff *s, const Map *from, const Var *var, int level) {
  int source = level_in(from, var);
  if (source >= 0) return source;
  source = split_level_of(s, atom_var(var));
  return source <= level ? source : -1;
}

static int slice_source(const SplitSlice *x, const Var *var) {
  int now = split_level_now(x->s), level = source_level(x->s, x->from, var, now);
  if (!x->row) return level < now ? level : -1;
  if (level == now) level = source_level(x->s, x->s->frames.at[now]->from, var, now - 1);
  return level < now - 1 ? level : -1;
}

static void look_for_calls(CoreVisitor *v, const Body *body);

static bool calls_library(const Exp *e) {
  bool found = e->kind == EXP_OP && op_cost(e->u.op.op, e->u.op.type) == COST_LIBRARY;
  CoreVisitor v = { .body = look_for_calls, .state = &found };
  core_visit_exp(&v, e);
  return found;
}

static void look_for_calls(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count; i++)
    *found = *found || calls_library(body->stms[i].exp);
}

// Notes what the statement binds if it could stand further out.
static void see_source(SplitSlice *x, const Stm *stm) {
  int level = 0;
  bool calls = calls_library(stm->exp),
       costly = calls || exp_is_parallel(stm->exp) || stm->exp->kind == EXP_LOOP;
  if (can_fail(x->s->facts, stm->exp)) return;
  VarVec reads = core_free_stm(stm);
  vec_each (const Var **, var, &reads) {
    int from = slice_source(x, *var);
    if (from < 0) return;
    level = from > level ? from : level;
    costly = costly || map_has(x->costly, *var);
    calls = calls || map_has(x->called, *var);
  }
  for (int i = 0; i < stm->binder_count; i++) {
    note_split_level(x->from, stm->binders[i], level);
    if (costly) map_put(x->costly, stm->binders[i], stm);
    if (calls) map_put(x->called, stm->binders[i], stm);
  }
}

// Likewise in the body at `level`, for the operator around it.
static void see_frame_source(SplitOff *s, const Stm *stm, int at) {
  SplitFrame *frame = s->frames.at[at];
  int level = 0;
  if (!frame->from || can_fail(s->facts, stm->exp)) return;
  VarVec reads = core_free_stm(stm);
  vec_each (const Var **, var, &reads) {
    int from = source_level(s, frame->from, *var, at - 1);
    if (from < 0) return;
    level = from > level ? from : level;
  }
  for (int i = 0; i < stm->binder_count; i++)
    note_split_level(frame->from, stm->binders[i], level);
}

static void push_split(SplitOff *s, Stm stm, int level) {
  see_frame_source(s, &stm, level);
  vec_push(&s->frames.at[level]->stms, stm);
  for (int i = 0; i < stm.binder_count; i++)
    note_split_level(s->levels, stm.binders[i], level);
}

// The level to which nothing but operators and loops is left; branches stay around what is theirs.
static int outermost_level(const SplitOff *s) {
  int level = split_level_now(s);
  while (level > 0 && !s->frames.at[level]->branch)
    level--;
  return level;
}

// ---- what leaves

static bool has_source(const SplitSlice *x, const Stm *stm) {
  return stm->binder_count > 0 && map_has(x->from, stm->binders[0]);
}

static void note_used(Map *used, const Stm *stm) {
  VarVec reads = core_free_stm(stm);
  vec_each (const Var **, var, &reads)
    map_put(used, *var, stm);
}

static void note_results(Map *used, const Body *body) {
  for (int i = 0; i < body->result_count; i++)
    if (body->results[i].kind == ATOM_VAR) map_put(used, body->results[i].u.var, body);
}

static bool is_short_row(CoreType type) {
  return type.rank == 1 && type.dims[0].kind == ATOM_CONST &&
         type.dims[0].u.constant.u.i <= MAX_SPLIT_ROW;
}

static bool may_leave(const SplitSlice *x, const Var *var) {
  if (level_in(x->from, var) < 0 || !map_has(x->used, var)) return false;
  bool is_scalar = var->type.rank == 0;
  return map_has(x->row || !is_scalar ? x->called : x->costly, var) &&
         (is_scalar || (!x->row && is_short_row(var->type)));
}

static void find_exports(SplitSlice *x) {
  const Body *body = x->soac->fn.body;
  int least = outermost_level(x->s);
  note_results(x->used, body);
  for (int i = 0; i < body->stm_count; i++)
    if (!has_source(x, &body->stms[i])) note_used(x->used, &body->stms[i]);
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++) {
      const Var *var = body->stms[i].binders[k];
      int level = level_in(x->from, var);
      if (!may_leave(x, var)) continue;
      vec_push(&x->exports, var);
      x->level = level > x->level ? level : x->level;
    }
  if (x->level < least) x->level = least;
  if (x->row) x->level = split_level_now(x->s);
}

// ---- the new operator

static Lambda slice_of(const SplitSlice *x, Atom *arrays) {
  const Lambda *fn = &x->soac->fn;
  Vec(Stm) stms = { 0 };
  Map *needed = map_new(NULL);
  Atom *results = new_array(Atom, x->exports.count);
  for (int i = 0; i < x->exports.count; i++) {
    results[i] = atom_var(x->exports.at[i]);
    map_put(needed, x->exports.at[i], fn);
  }
  for (int i = fn->body->stm_count - 1; i >= 0; i--) {
    const Stm *stm = &fn->body->stms[i];
    bool is_needed = false;
    for (int k = 0; k < stm->binder_count; k++)
      is_needed = is_needed || map_has(needed, stm->binders[k]);
    if (!is_needed) continue;
    vec_push(&stms, *stm);
    note_used(needed, stm);
  }
  Stm *in_order = new_array(Stm, stms.count);
  for (int i = 0; i < stms.count; i++)
    in_order[i] = stms.at[stms.count - 1 - i];
  Lambda out = { .params = new_array(const Var *, fn->param_count) };
  for (int i = 0; i < fn->param_count; i++) {
    if (!map_has(needed, fn->params[i])) continue;
    arrays[out.param_count] = x->soac->arrays[i];
    out.params[out.param_count++] = fn->params[i];
  }
  out.body = new_node(Body, .stms = in_order, .stm_count = stms.count, .results = results,
                      .result_count = x->exports.count);
  return out;
}

// let zs = map width slice arrays, where its arrays are.
static void add_split_map(const SplitSlice *x, Atom *zs, Loc loc) {
  SplitOff *s = x->s;
  Atom *arrays = new_array(Atom, x->soac->fn.param_count);
  Lambda slice = slice_of(x, arrays);
  Builder b = builder_new(s->c, loc);
  Lambda fn = core_rename_lambda(s->c, subst_new(), slice);
  core_let_n(&b, x->exports.at[0]->name,
             exp_map(x->soac->width, fn, arrays, slice.param_count), zs);
  vec_each (Stm *, stm, &b.stms)
    push_split(s, *stm, x->level);
}

// The function's statements, but for those that nobody reads any more.
static const Body *what_stays(const SplitSlice *x, const Body *body) {
  Map *used = map_new(NULL);
  Vec(Stm) stms = { 0 };
  note_results(used, body);
  for (int i = body->stm_count - 1; i >= 0; i--) {
    const Stm *stm = &body->stms[i];
    bool is_used = !has_source(x, stm);
    for (int k = 0; k < stm->binder_count; k++)
      is_used = is_used || map_has(used, stm->binders[k]);
    if (!is_used) continue;
    vec_push(&stms, *stm);
    note_used(used, stm);
  }
  Stm *in_order = new_array(Stm, stms.count);
  for (int i = 0; i < stms.count; i++)
    in_order[i] = stms.at[stms.count - 1 - i];
  return new_node(Body, .stms = in_order, .stm_count = stms.count,
                  .results = body->results, .result_count = body->result_count);
}

static const Exp *with_split(const SplitSlice *x, const Exp *e, const Atom *zs) {
  SplitOff *s = x->s;
  const Soac *soac = x->soac;
  int added = x->exports.count, count = soac->fn.param_count;
  Subst *subst = subst_new();
  const Var **params = new_array(const Var *, count + added);
  Atom *arrays = new_array(Atom, count + added);
  for (int i = 0; i < count; i++) {
    params[i] = soac->fn.params[i];
    arrays[i] = soac->arrays[i];
  }
  for (int i = 0; i < added; i++) {
    params[count + i] = var_like(s->c, x->exports.at[i]);
    arrays[count + i] = zs[i];
    note_split_level(s->levels, params[count + i], split_level_now(s) + 1);
    subst_put(subst, x->exports.at[i], atom_var(params[count + i]));
  }
  const Body *body = what_stays(x, core_subst_body(s->c, subst, soac->fn.body));
  Soac out = *soac;
  out.fn = lambda_new(params, count + added, body);
  out.arrays = arrays;
  out.array_count = count + added;
  return exp_soac(e->kind, out);
}

// Rows are made in the function of an operator that is within another one.
static bool allows_rows(const SplitOff *s, const Soac *soac) {
  int now = split_level_now(s);
  return now >= 2 && s->frames.at[now]->from && soac->width.kind == ATOM_CONST &&
         soac->width.u.constant.u.i <= MAX_SPLIT_ROW;
}

static const Exp *split_soac(SplitOff *s, const Exp *e, Loc loc, bool row) {
  const Soac *soac = &e->u.soac;
  SplitSlice x = { .s = s,
                   .soac = soac,
                   .from = map_new(NULL),
                   .costly = map_new(NULL),
                   .used = map_new(NULL),
                   .called = map_new(NULL),
                   .row = row,
                   .level = split_level_of(s, soac->width) };
  if (split_level_now(s) == 0 || x.level >= split_level_now(s)) return e;
  for (int i = 0; i < soac->fn.param_count; i++)
    note_split_level(x.from, soac->fn.params[i], split_level_of(s, soac->arrays[i]));
  for (int i = 0; i < soac->fn.body->stm_count; i++)
    see_source(&x, &soac->fn.body->stms[i]);
  find_exports(&x);
  if (!x.exports.count || (!row && x.level >= split_level_now(s))) return e;
  Atom *zs = new_array(Atom, x.exports.count);
  add_split_map(&x, zs, loc);
  return with_split(&x, e, zs);
}

// ---- walking

static const Var *enter_split_binder(CoreMapper *m, const Var *var) {
  SplitOff *s = m->state;
  note_split_level(s->levels, var, split_level_now(s) + 1);
  return var;
}

static void split_stm(CoreMapper *m, Stm stm) {
  SplitOff *s = m->state;
  const Exp *around = s->exp;
  s->exp = stm.exp;
  stm.exp = core_map_exp(m, stm.exp);
  s->exp = around;
  if (exp_is_soac(stm.exp) && stm.exp->kind != EXP_SCATTER && stm.exp->kind != EXP_HIST) {
    stm.exp = split_soac(s, stm.exp, stm.loc, false);
    if (allows_rows(s, &stm.exp->u.soac)) stm.exp = split_soac(s, stm.exp, stm.loc, true);
  }
  push_split(s, stm, split_level_now(s));
}

// What the parameters of an operator's function are elements of; NULL for other bodies.
static Map *element_sources(const SplitOff *s, const Body *body) {
  const Exp *e = s->exp;
  bool is_function = e && exp_is_soac(e) && e->kind != EXP_SCATTER &&
                     e->kind != EXP_HIST && e->u.soac.fn.body == body;
  if (!is_function) return NULL;
  Map *from = map_new(NULL);
  for (int i = 0; i < e->u.soac.fn.param_count; i++)
    note_split_level(from, e->u.soac.fn.params[i],
                     split_level_of(s, e->u.soac.arrays[i]));
  return from;
}

static const Body *split_frame(CoreMapper *m, const Body *body) {
  SplitOff *s = m->state;
  SplitFrame *frame = new_node(SplitFrame, .branch = s->exp && exp_is_branch(s->exp),
                               .from = element_sources(s, body));
  vec_push(&s->frames, frame);
  for (int i = 0; i < body->stm_count; i++)
    split_stm(m, body->stms[i]);
  s->frames.count--;
  return new_node(Body, .stms = frame->stms.at, .stm_count = frame->stms.count,
                  .results = body->results, .result_count = body->result_count);
}

static const Body *split_off_body(Compiler *c, const Body *body) {
  SplitOff s = { .c = c, .facts = hoist_facts(body), .levels = map_new(NULL) };
  CoreMapper m = { .body = split_frame, .binder = enter_split_binder, .state = &s };
  return split_frame(&m, body);
}

const Core *split_off(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, split_off_body);
}
