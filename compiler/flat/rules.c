// The rules of incremental flattening: PPoPP'19, Figures 3 (G0-G7) and 4 (G8, G9), and the rules
// for the operations that the paper omits (their surgery: array_rules.c), in the order in which
// they are tried.  G6 splits bodies and stands in distribute.c; the surgery of G7 and G8 in
// interchange.c.
#include "flat/rules.h"
#include "base/map.h"
#include <string.h>

static bool sequential_inner(const Stm *stm) {
  return stm->attrs && stm->attrs->sequential_inner;
}

// The premise that G1, G2 and G3 share: map (\xs -> e) xss whose width is the same at every point
// of Sigma.  Else NULL.
static const Soac *regular_map(const Goal *goal) {
  const Exp *exp = goal->stm->exp;
  if (exp->kind != EXP_MAP || flatten_is_sequential(goal->stm)) return NULL;
  return goal_varies(goal, exp->u.soac.width) ? NULL : &exp->u.soac;
}

// The premise that G4 and G9 share: redomap op f z xss, or a scanomap, of which Sigma binds neither
// the width nor what op and z are made of.  Else NULL.
static const Soac *regular_redomap(const Goal *goal) {
  const Exp *exp = goal->stm->exp;
  if (exp->kind != EXP_REDOMAP && exp->kind != EXP_SCANOMAP) return NULL;
  const Soac *soac = &exp->u.soac;
  if (flatten_is_sequential(goal->stm) || goal_varies(goal, soac->width)) return NULL;
  return goal_operators_vary(goal, soac->ops, soac->op_count) ? NULL : soac;
}

static const SegOp *seg_like(SegKind kind, int level) {
  return new_node(SegOp, .kind = kind, .level = level);
}

// Sigma |-l map (\xs -> e) xss  =>  segmap^l (Sigma, <xs in xss>) e
static bool map_as_segmap(Flatten *fl, const Goal *goal, const Soac *map, Atom *out) {
  const Nest *nest = flatten_push(fl, goal->nest, map);
  flatten_emit_segmap(fl, nest, goal->level, map->fn.body, goal->b, out);
  return true;
}

// G0    * |-l e  =>  e    if no other rule applies                            [Figure 3]
// Why: scalar code, views and array operations of the host.  A SOAC that must stay sequential
// becomes a kernel of one item: the host does not touch arrays.
static bool rule_g0(Flatten *fl, const Goal *goal, Atom *out) {
  if (goal->nest) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G0", goal->stm);
  if (goal->level > 0 && exp_is_soac(goal->stm->exp)) {
    flatten_emit_segmap(fl, NULL, goal->level, flatten_body_of_stm(goal->stm), goal->b,
                        out);
    return true;
  }
  core_let_vars(goal->b, goal->stm->binders, goal->stm->binder_count, goal->stm->exp);
  for (int i = 0; i < goal->stm->binder_count; i++)
    out[i] = atom_var(goal->stm->binders[i]);
  return true;
}

// G1    Sigma |-0 e  =>  segmap0 Sigma e
//       if Sigma is not empty and no other rule applies                        [Figure 3]
// Here for e = map (\xs -> e') xss with inner SOACs, which joins the context as in G2 and whose
// inner SOACs become sequential: below level 0 there is no parallelism left to use.  Above level 0
// #[sequential_inner] asks for the same.  What no rule takes in a body: finish() in distribute.c.
static bool rule_g1(Flatten *fl, const Goal *goal, Atom *out) {
  const Soac *map = regular_map(goal);
  if (!map) return false;
  bool stays_inside = goal->level == 0 || sequential_inner(goal->stm);
  if (!core_has_soac(map->fn.body) || !stays_inside) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G1", goal->stm);
  return map_as_segmap(fl, goal, map, out);
}

// G2    Sigma |-l map (\xs -> e) xss  =>  segmap^l (Sigma, <xs in xss>) e
//       if e has no inner SOACs                                                [Figure 3]
// Does not apply when e has some: that is G3.  Tests: tests/rules/g2-*
static bool rule_g2(Flatten *fl, const Goal *goal, Atom *out) {
  const Soac *map = regular_map(goal);
  if (!map) return false;
  if (core_has_soac(map->fn.body)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G2", goal->stm);
  return map_as_segmap(fl, goal, map, out);
}

static Map *seg_bound(const SegOp *seg) {
  Map *bound = map_new(NULL);
  for (int i = 0; i < seg->dim_count; i++)
    map_put(bound, seg->dims[i].index, seg);
  return bound;
}

// e_middle of G3, or NULL if it is none: without level-0 parallelism, or with arrays in local
// memory whose size only the kernel knows.
static const SegOp *make_middle(Flatten *fl, const Nest *nest, int level,
                                const Body *body, Guard *guard) {
  Flatten probe =
      *fl;  // a guard cannot stand in a kernel, so none is made and no name is used up
  const Body *inner =
      flatten_branch(&probe, NULL, level - 1, core_rename_body(fl->c, subst_new(), body));
  if (!flat_body_has_seg(inner, level - 1)) return NULL;
  const SegOp *seg = nest_manifest(fl->c, nest, seg_like(SEG_MAP, level), inner);
  Map *bound = seg_bound(seg);
  const SizeExp *bytes = NULL;
  if (par_makes_varying(seg->body, bound)) return NULL;
  if (!par_local_bytes(seg->body, bound, &bytes)) return NULL;
  guard->local_bytes = bytes;
  const SizeExp *inner_most = par_inner(seg->body, bound, NULL);
  guard->par = size_exp_op(SIZE_EXP_MUL, nest_par(nest), inner_most);
  return seg;
}

// let ys = seg in {ys}
static const Body *body_of_seg(Flatten *fl, const SegOp *seg, const Stm *stm) {
  Builder b = builder_new(fl->c, stm->loc);
  Atom *results = new_array(Atom, stm->binder_count);
  core_let_n(&b, stm->binders[0]->name, exp_seg(seg), results);
  return core_body(&b, results, stm->binder_count);
}

// Which of the three versions of G3 are wanted?
typedef struct Wanted {
  bool top, middle, flat;
} Wanted;

static Wanted wanted_versions(Flatten *fl, const Stm *stm) {
  StmAttrs attrs = stm->attrs ? *stm->attrs : (StmAttrs){ 0 };
  switch (fl->options.mode) {
  case FLATTEN_OUTER: return (Wanted){ .top = true };
  case FLATTEN_FULL:
  case FLATTEN_MODERATE: return (Wanted){ .flat = true };
  case FLATTEN_INCREMENTAL: break;
  }
  if (attrs.only_intra) return (Wanted){ .middle = true };
  if (attrs.only_inner || attrs.sequential_outer) return (Wanted){ .flat = true };
  if (fl->version_count < fl->options.max_versions)
    return (Wanted){ !attrs.no_outer, !attrs.no_intra, true };
  if (!fl->warned)
    warning(fl->c, stm->loc,
            "more than %d code versions: inner maps from here on are only flattened",
            fl->options.max_versions);
  fl->warned = true;
  return (Wanted){ .flat = true };
}

// Moderate flattening keeps a redomap that is all there is in a map's body sequential, so that
// the map can be tiled (PPoPP'19, section 3.1, end).
static bool moderate_stops(Flatten *fl, const Body *body) {
  if (fl->options.mode != FLATTEN_MODERATE) return false;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    bool is_redomap = exp->kind == EXP_REDOMAP && !lambda_is_identity(&exp->u.soac.fn);
    if (!is_redomap && exp_has_bodies(exp)) return false;
  }
  return true;
}

typedef struct Versions {
  Guard *top_guard, *intra_guard;
  const Body *top, *middle, *flat;
} Versions;

// Is the code one segmap over a context of `depth` levels, that is, what e_top is, written
// otherwise?
static bool is_one_segmap(const Body *body, int depth) {
  int count = 0;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind != EXP_SEG && exp_has_bodies(exp)) return false;
    if (exp->kind != EXP_SEG) continue;
    if (exp->u.seg->kind != SEG_MAP || exp->u.seg->dim_count != depth) return false;
    count++;
  }
  return count == 1;
}

static const Body *make_top(Flatten *fl, const Goal *goal, const Nest *nest,
                            const Body *body) {
  const SegOp *top = nest_manifest(fl->c, nest, seg_like(SEG_MAP, goal->level), body);
  return body_of_seg(fl, top, goal->stm);
}

// e_flat, or e_top where rows are empty and e_flat would lose what fails at their points.
static const Body *keep_failures(Flatten *fl, const Goal *goal, const Nest *nest,
                                 const Body *body, const Body *flat) {
  Builder b = builder_new(fl->c, goal->stm->loc);
  Atom some = flatten_rows_have_points(&b, body, flat, nest_depth(nest));
  if (some.kind == ATOM_CONST) return flat;
  Atom *out = new_array(Atom, goal->stm->binder_count + 1);
  const Exp *either = exp_if(some, flat, make_top(fl, goal, nest, body));
  core_let_n(&b, goal->stm->binders[0]->name, either, out);
  return core_body(&b, out, goal->stm->binder_count);
}

// The three versions; those that are not wanted, or add nothing, are NULL.
static Versions make_versions(Flatten *fl, const Goal *goal, const Nest *nest,
                              const Body *body) {
  Wanted wanted = wanted_versions(fl, goal->stm);
  Versions v = { 0 };
  v.top = make_top(fl, goal, nest, body);
  if (moderate_stops(fl, body)) return v;
  v.top_guard =
      mem_copy(flatten_guard(fl, GUARD_TOP, goal->stm, nest_par(nest)), sizeof(Guard));
  Guard intra = { 0 };  // for what make_middle finds out
  const SegOp *middle =
      wanted.middle ? make_middle(fl, nest, goal->level, body, &intra) : NULL;
  if (middle) {
    v.middle = body_of_seg(fl, middle, goal->stm);
    v.intra_guard =
        mem_copy(flatten_guard(fl, GUARD_INTRA, goal->stm, intra.par), sizeof(Guard));
    v.intra_guard->local_bytes = intra.local_bytes;
    v.intra_guard->step = flat_step_work(goal->b, exp_seg(middle));
  }
  if (wanted.flat || (!middle && !wanted.top))
    v.flat =
        flatten_branch(fl, nest, goal->level, core_rename_body(fl->c, subst_new(), body));
  if (v.flat && (same_code(v.top, v.flat) || is_one_segmap(v.flat, nest_depth(nest))))
    v.flat = NULL;
  if (v.flat) v.flat = keep_failures(fl, goal, nest, body, v.flat);
  if (!wanted.top && (v.middle || v.flat)) v.top = NULL;
  return v;
}

// A few bytes fit into any device's local memory: then e_middle needs no guard of its own.
static bool always_fits(const Guard *guard) {
  static const int64_t few_bytes = 4096;
  const SizeExp *bytes = guard->local_bytes;
  if (!bytes) return true;
  return bytes->kind == SIZE_EXP_ATOM && bytes->atom.kind == ATOM_CONST &&
         bytes->atom.u.constant.u.i <= few_bytes;
}

// A version and the guard that must hold for it to run.
typedef struct VersionCase {
  const Guard *guard;
  const Body *version;
} VersionCase;

// if guard_0 then version_0 else if guard_1 then version_1 ... else version_n: the last version
// needs no guard.
static void emit_cascade(Flatten *fl, const Goal *goal, const VersionCase *cases,
                         int count, Atom *out) {
  int results = goal->stm->binder_count;
  const Body *rest = cases[count - 1].version;
  for (int i = count - 2; i >= 0; i--) {
    Builder b = builder_new(fl->c, goal->stm->loc);
    Goal inner = *goal;
    inner.b = &b;
    Atom *values = new_array(Atom, results);
    flatten_emit_branches(&inner, exp_guard(cases[i].guard, cases[i].version, rest),
                          values);
    rest = core_body(&b, values, results);
  }
  core_add_body(goal->b, rest);
  memcpy(out, rest->results, sizeof(Atom) * (size_t)results);
}

// The versions of G3 in the order in which they are tried, at most three; returns how many.  e_flat
// is left out if it would be e_top again: then e_top ends the cascade, as no memory stands in its
// way, unless e_middle always fits.
static int cases_of(const Versions *v, VersionCase *out) {
  int count = 0;
  bool top_ends = !v->flat && v->middle && !always_fits(v->intra_guard);
  if (v->top && !top_ends) out[count++] = (VersionCase){ v->top_guard, v->top };
  if (v->middle) out[count++] = (VersionCase){ v->intra_guard, v->middle };
  if (v->flat) out[count++] = (VersionCase){ NULL, v->flat };
  if (v->top && top_ends) out[count++] = (VersionCase){ NULL, v->top };
  return count;
}

// G3    Sigma |-(l+1) map (\xs -> e) xss  =>  if Par(Sigma') >= t_top then e_top
//                                             else if Par(e_middle) >= t_intra then e_middle
//                                             else e_flat
//       where Sigma' = Sigma, <xs in xss>    e_top = segmap^(l+1) Sigma' e
//             * |-l e => e_intra             e_middle = segmap^(l+1) Sigma' e_intra
//             Sigma' |-(l+1) e => e_flat     t_top, t_intra fresh
//       if e has inner SOACs                                                   [Figure 3]
// Why: how much of the parallelism to use, and on which level of the hardware, depends on the data.
// e_middle also needs its arrays to fit into local memory (section 4.1, first option).  Versions
// that add nothing are left out: no level-0 parallelism in e_middle; e_flat equal to e_top.
static bool rule_g3(Flatten *fl, const Goal *goal, Atom *out) {
  const Soac *map = regular_map(goal);
  if (!map || goal->level == 0) return false;
  if (!core_has_soac(map->fn.body)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G3", goal->stm);
  Versions v = make_versions(fl, goal, flatten_push(fl, goal->nest, map), map->fn.body);
  fl->version_count += (v.top != NULL) + (v.middle != NULL);
  VersionCase cases[3];
  int count = cases_of(&v, cases);
  if (!count) bug(fl->c, goal->stm->loc, "a map without versions");
  emit_cascade(fl, goal, cases, count, out);
  return true;
}

static bool replicated_value(Flatten *fl, Atom neutral, Atom *value) {
  if (neutral.kind != ATOM_VAR) return false;
  const Stm *def = map_get(fl->defs, neutral.u.var);
  if (!def || def->exp->kind != EXP_REPLICATE) return false;
  *value = def->exp->u.replicate.value;
  return true;
}

// The neutral elements of the inner operator of G4; false if one is no replicated value.
static bool inner_neutral(Flatten *fl, const RedOp *op, Atom *out) {
  for (int i = 0; i < op->count; i++)
    if (!replicated_value(fl, op->neutral[i], &out[i])) return false;
  return true;
}

// G4    Sigma |-l reduce (map (\ys -> e)) (replicate k d) z  =>  e'
//       where g = reduce (\ys -> e) d    Sigma |-l map g (transpose z) => e'      [Figure 3]
// Why: summing the columns of a matrix is summing the rows of its transpose; k reductions of
// scalars in parallel instead of one over arrays.  Likewise for scan.  Tests: tests/rules/g4-*
static bool rule_g4(Flatten *fl, const Goal *goal, Atom *out) {
  const Soac *soac = regular_redomap(goal);
  if (!soac || soac->op_count != 1 || !lambda_is_identity(&soac->fn)) return false;
  const Soac *inner = lambda_vector_operator(&soac->ops[0].op);
  Atom *neutral = new_array(Atom, soac->ops[0].count);
  if (!inner || !inner_neutral(fl, &soac->ops[0], neutral)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G4", goal->stm);
  flatten_body(fl, goal->nest, goal->level,
               flatten_interchange_reduce(fl, goal->stm, inner, neutral), goal->b, out);
  return true;
}

static const SegOp *seg_like_soac(const Goal *goal) {
  const Soac *soac = &goal->stm->exp->u.soac;
  SegKind kind = goal->stm->exp->kind == EXP_REDOMAP ? SEG_RED : SEG_SCAN;
  return new_node(SegOp, .kind = kind, .level = goal->level, .ops = soac->ops,
                  .op_count = soac->op_count);
}

// Moderate flattening keeps a redomap in a context sequential (PLDI'17), as moderate_stops says.
static bool moderate_keeps(const Flatten *fl, const Goal *goal) {
  return fl->options.mode == FLATTEN_MODERATE && goal->nest &&
         goal->stm->exp->kind == EXP_REDOMAP;
}

// Is there parallelism inside of the function, and room for another version?
static bool may_split_redomap(const Flatten *fl, const Goal *goal) {
  const Body *body = goal->stm->exp->u.soac.fn.body;
  bool inner = core_has_soac(body) && !sequential_inner(goal->stm);
  return inner && goal->level > 0 && fl->options.mode != FLATTEN_OUTER &&
         fl->version_count < fl->options.max_versions;
}

// G9    Sigma |-l redomap op f v xss  =>  if Par(Sigma') >= t_top then e_top else e_rec
//       where Sigma' = Sigma, <xs in xss>    e_top = segred^l Sigma' op v (f xs)
//             Sigma |-l let ys = map f xss in reduce op v ys => e_rec           [Figure 4]
//       Without inner parallelism in f: segred^l Sigma' op v (f xs) directly (section 3.2, end).
// Likewise for scanomap and segscan.  Operators on arrays have no e_top: their reduction is left
// to G4 or, failing that, to sequential code.  Tests: tests/rules/g9-*
static bool rule_g9(Flatten *fl, const Goal *goal, Atom *out) {
  const Soac *soac = regular_redomap(goal);
  if (!soac || (moderate_keeps(fl, goal) && !lambda_is_identity(&soac->fn))) return false;
  bool scalars = flat_operators_on_scalars(soac);
  if (!scalars && lambda_is_identity(&soac->fn)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G9", goal->stm);
  if (!scalars) {
    const Body *parts = flatten_decompose(fl, goal->stm);
    flatten_body(fl, goal->nest, goal->level, parts, goal->b, out);
    return true;
  }
  const Nest *nest = flatten_push(fl, goal->nest, soac);
  const SegOp *seg = nest_manifest(fl->c, nest, seg_like_soac(goal), soac->fn.body);
  if (!may_split_redomap(fl, goal)) {
    core_let_n(goal->b, goal->stm->binders[0]->name, exp_seg(seg), out);
    return true;
  }
  const Guard *guard = flatten_guard(fl, GUARD_REDOMAP, goal->stm, nest_par(nest));
  const Body *recursive =
      flatten_branch(fl, goal->nest, goal->level, flatten_decompose(fl, goal->stm));
  bool both = fl->options.mode == FLATTEN_INCREMENTAL;
  fl->version_count += both;
  VersionCase cases[2] = { { guard, both ? body_of_seg(fl, seg, goal->stm) : NULL },
                           { NULL, recursive } };
  emit_cascade(fl, goal, both ? cases : cases + 1, both ? 2 : 1, out);
  return true;
}

// G5    Sigma, <x in y> |-l rearrange (k1..kn) x  =>  e
//       if Sigma |-l rearrange (0, 1+k1, .., 1+kn) y => e                      [Figure 3]
// Applied until y is no longer bound by the context: then it is a view of an array outside.
// The statement's value becomes a read of that view; flatten_body asks for it with this function.
const Nest *rule_g5(Flatten *fl, const Goal *goal) {
  const Exp *exp = goal->stm->exp;
  if (!goal->nest || exp->kind != EXP_REARRANGE ||
      exp->u.rearrange.array.kind != ATOM_VAR)
    return NULL;
  Atom array;
  int levels;
  if (!nest_origin(goal->nest, exp->u.rearrange.array.u.var, &array, &levels))
    return NULL;
  flatten_trace(fl, "G5", goal->stm);
  int rank = exp->u.rearrange.rank;
  int *perm = new_array(int, levels + rank);
  for (int i = 0; i < levels; i++)
    perm[i] = i;
  for (int i = 0; i < rank; i++)
    perm[levels + i] = levels + exp->u.rearrange.perm[i];
  Atom view = core_let(goal->b, "rearranged", exp_rearrange(perm, levels + rank, array));
  return nest_read(goal->nest, goal->stm->binders[0], view, levels);
}

// Filter: * |-l filter n p xs  =>  flags, their scan, the count, and a scatter of what is kept
// Why: the host learns the count before it makes the arrays.  In a context the size varies: there a
// filter is sequential code.  Tests: tests/rules/filter-*
static bool rule_filter(Flatten *fl, const Goal *goal, Atom *out) {
  if (goal->stm->exp->kind != EXP_FILTER || flatten_is_sequential(goal->stm))
    return false;
  if (goal->nest || goal->level == 0) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "filter", goal->stm);
  // Of several workers each would need all rows, where those that are kept have to move only.
  bool alone = fl->options.workers == WORKERS_ONE;
  const Body *of_rows = alone ? flatten_row_filter(fl, goal->stm) : NULL;
  flatten_body(fl, NULL, goal->level, of_rows ? of_rows : flatten_filter(fl, goal->stm),
               goal->b, out);
  return true;
}

// Loop: * |-l loop zs = z for i < n do e  =>  loop zs = z for i < n do e'    where * |-l e => e'
static bool rule_host_loop(Flatten *fl, const Goal *goal, Atom *out) {
  if (goal->nest || goal->stm->exp->kind != EXP_LOOP) return false;
  if (goal_is_question(goal)) return true;
  flatten_host_loop(fl, goal, out);
  return true;
}

// Are the sizes of the loop's parameters regular, and does its body, where the parameters differ
// from point to point, hold parallelism?
static bool loop_is_exploitable(Flatten *fl, const Goal *goal, const Exp *loop) {
  Goal inside = goal_inside(goal);
  int count = loop->u.loop.param_count;
  for (int i = 0; i < count; i++)
    goal_bind(&inside, loop->u.loop.params[i]);
  for (int i = 0; i < count; i++)
    if (goal_type_varies(&inside, loop->u.loop.params[i]->type)) return false;
  return goal_body_exploitable(fl, &inside, loop->u.loop.body);
}

// The loop parameters, initial values and results of G7 stand in interchange.c.
//
// G7    Sigma' |-l loop zs' ys' = z y for i < n do f i q x y ys' zs'  =>  e
//       where Sigma' = Sigma, <x y in xs ys>    {n, q, z} not bound by Sigma'
//             e is the loop with the context inside: its merge values are arrays over Sigma'
//       if f contains exploitable parallelism                                  [Figure 3]
// Why: merges the parallelism outside of the loop with that inside.  A while loop, or a trip count
// that varies, stays sequential code; so does a loop whose parameters change their sizes.  A q or z
// that Sigma' binds is read in f like x and y.  Tests: tests/rules/g7-*
static bool rule_g7(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  if (!goal->nest || exp->kind != EXP_LOOP || exp->u.loop.form != CORE_FOR) return false;
  if (goal_varies(goal, exp->u.loop.bound) || !loop_is_exploitable(fl, goal, exp))
    return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G7", goal->stm);
  flatten_interchange_loop(fl, goal, out);
  return true;
}

// If: * |-l if c then e1 else e2  =>  if c then e1' else e2'    where * |-l e1 => e1', e2 => e2'
static bool rule_host_if(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  if (goal->nest || exp->kind != EXP_IF) return false;
  if (goal_is_question(goal)) return true;
  const Body *then_body = flatten_branch(fl, NULL, goal->level, exp->u.cond.then_body);
  const Body *else_body = flatten_branch(fl, NULL, goal->level, exp->u.cond.else_body);
  flatten_emit_branches(goal, exp_if(exp->u.cond.condition, then_body, else_body), out);
  return true;
}

// G8    Sigma |-l if c then e1 else e2  =>  if c then e1' else e2'
//       where Sigma = Sigma', <xs in yss>    c not bound by Sigma
//             Sigma' |-l map (\xs -> e1) yss => e1'    likewise e2'            [Figure 4]
//       if e1 or e2 contains exploitable parallelism
// Why: with the innermost map put back, G3 sees it and tries all versions.  Tests: tests/rules/g8-*
static bool rule_g8(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  if (!goal->nest || exp->kind != EXP_IF) return false;
  if (goal_varies(goal, exp->u.cond.condition)) return false;
  if (!goal_body_exploitable(fl, goal, exp->u.cond.then_body) &&
      !goal_body_exploitable(fl, goal, exp->u.cond.else_body))
    return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "G8", goal->stm);
  const Body *then_body = flatten_put_back(fl, goal, exp->u.cond.then_body);
  const Body *else_body = flatten_put_back(fl, goal, exp->u.cond.else_body);
  flatten_emit_branches(goal, exp_if(exp->u.cond.condition, then_body, else_body), out);
  return true;
}

// Can the choice be taken outside of Sigma, and is there a reason to?
static bool choice_is_exploitable(Flatten *fl, const Goal *goal, const Exp *choose) {
  if (!goal->nest) return true;
  if (choose->u.choose.by_size && goal_varies(goal, choose->u.choose.size)) return false;
  return goal_body_exploitable(fl, goal, choose->u.choose.first) ||
         goal_body_exploitable(fl, goal, choose->u.choose.second);
}

// Choose: Sigma |-l choose_by n e1 e2  =>  if n >= t then e1' else e2', as G8 with a fresh guard
static bool rule_choose(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  if (exp->kind != EXP_CHOOSE || goal->level == 0) return false;
  if (!choice_is_exploitable(fl, goal, exp)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "choose", goal->stm);
  const SizeExp *par =
      size_exp_atom(exp->u.choose.by_size ? exp->u.choose.size : atom_i64(1));
  const Guard *guard = flatten_guard(fl, GUARD_CHOOSE, goal->stm, par);
  fl->version_count++;
  const Body *first = flatten_put_back(fl, goal, exp->u.choose.first);
  const Body *second = flatten_put_back(fl, goal, exp->u.choose.second);
  flatten_emit_branches(goal, exp_guard(guard, first, second), out);
  return true;
}

// In the order in which they are tried; G5 and G6 act on bodies (distribute.c).
static const Rule rules[] = {
  rule_g4,      rule_g9,
  rule_g1,      rule_g2,
  rule_g3,      rule_host_loop,
  rule_g7,      rule_host_if,
  rule_g8,      rule_choose,
  rule_scatter, rule_hist,
  rule_filter,  rule_array_operation,
  rule_update,  rule_g0,
};

bool rule_apply(Flatten *fl, const Goal *goal, Atom *out) {
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++)
    if (rules[i](fl, goal, out)) return true;
  return false;
}
