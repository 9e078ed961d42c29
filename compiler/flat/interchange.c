// Surgery that the rules share: seg-ops over a context, guards, the operators of G4 and G9, the
// loops of G7 and the branches of G8.  No decisions are taken here.
#include "base/map.h"
#include "flat/rules.h"
#include <string.h>

enum { MOST_UNROLLED = 32 };  // elements

void flatten_trace(Flatten *fl, const char *rule, const Stm *stm) {
  if (fl->options.trace)
    text_printf(fl->options.trace, "%s: %s\n", loc_text(stm->loc), rule);
}

static bool has_few_points(const Exp *exp) {
  bool counted =
      exp->kind == EXP_MAP || exp->kind == EXP_REDOMAP || exp->kind == EXP_SCANOMAP;
  return counted && exp->u.soac.width.kind == ATOM_CONST &&
         exp->u.soac.width.u.constant.u.i <= MOST_UNROLLED;
}

static void find_many_points(CoreVisitor *v, const Body *body) {
  bool *many = v->state;
  for (int i = 0; i < body->stm_count && !*many; i++) {
    const Exp *exp = body->stms[i].exp;
    *many = exp_is_soac(exp) && !has_few_points(exp);
    core_visit_exp(v, exp);
  }
}

// #[unroll] asks for one element after the other where that gives up no parallelism to speak of.
static bool is_unrolled(const Stm *stm) {
  if (!stm->attrs->unroll || !has_few_points(stm->exp)) return false;
  bool many = false;
  CoreVisitor v = { .body = find_many_points, .state = &many };
  core_visit_exp(&v, stm->exp);
  return !many;
}

bool flatten_is_sequential(const Stm *stm) {
  return stm->attrs && (stm->attrs->sequential || is_unrolled(stm));
}

void flatten_emit_seg(Flatten *fl, const Goal *goal, const Nest *nest, const SegOp *like,
                      const Body *body, Atom *out) {
  const SegOp *seg = nest_manifest(fl->c, nest, like, body);
  core_let_n(goal->b, goal->stm->binders[0]->name, exp_seg(seg), out);
}

const Body *flatten_body_of_stm(const Stm *stm) {
  Atom *results = new_array(Atom, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = atom_var(stm->binders[i]);
  return new_node(Body, .stms = stm, .stm_count = 1, .results = results,
                  .result_count = stm->binder_count);
}

// Is the array 0, 1, 2, ...?
static bool counts_positions(const Flatten *fl, Atom array) {
  const Stm *def = array.kind == ATOM_VAR ? map_get(fl->defs, array.u.var) : NULL;
  if (!def || def->exp->kind != EXP_IOTA) return false;
  const Exp *iota = def->exp;
  return iota->u.iota.type == PRIM_I64 && atom_is_i64(iota->u.iota.start, 0) &&
         atom_is_i64(iota->u.iota.step, 1);
}

const Nest *flatten_push(Flatten *fl, const Nest *outer, const Soac *map) {
  const Nest *nest = nest_level(outer, map->width);
  for (int i = 0; i < map->array_count; i++)
    nest = counts_positions(fl, map->arrays[i])
               ? nest_position(nest, map->fn.params[i], map->arrays[i].u.var)
               : nest_read(nest, map->fn.params[i], map->arrays[i], 1);
  return nest;
}

static const char *result_name(const Body *body, int i) {
  Atom a = body->results[i];
  return a.kind == ATOM_VAR ? a.u.var->name : "x";
}

void flatten_emit_segmap(Flatten *fl, const Nest *nest, int level, const Body *body,
                         Builder *b, Atom *out) {
  bool single = !nest;  // a space of one point; its element is taken out again
  if (single) nest = nest_level(NULL, atom_i64(1));
  SegOp like = { .kind = SEG_MAP, .level = level };
  const SegOp *seg = nest_manifest(fl->c, nest, &like, body);
  if (body->result_count == 0) return;
  core_let_n(b, result_name(body, 0), exp_seg(seg), out);
  Atom zero = atom_i64(0);
  for (int i = 0; single && i < body->result_count; i++)
    out[i] = core_let(b, result_name(body, i), exp_index(out[i], &zero, 1, false));
}

Atom flatten_expand(Flatten *fl, const Nest *nest, int level, Atom a, Builder *b) {
  Atom array;
  int levels;
  if (!nest) return a;
  if (a.kind == ATOM_VAR && nest_origin(nest, a.u.var, &array, &levels) &&
      levels == nest_depth(nest))
    return array;
  const Body *body = new_node(Body, .results = mem_copy(&a, sizeof a), .result_count = 1);
  Atom out;
  flatten_emit_segmap(fl, nest, level, body, b, &out);
  return out;
}

// Flattening may repeat an operator that has a name: "main.rows_top", then "main.rows_top_2".
static Name unused_name(Flatten *fl, const char *text) {
  Name name = name_of(fl->c->names, text);
  for (int i = 2; map_has(fl->guard_names, name); i++)
    name = name_of(fl->c->names, text_format("%s_%d", text, i));
  map_put(fl->guard_names, name, fl);
  return name;
}

const Guard *flatten_guard(Flatten *fl, GuardKind kind, const Stm *stm,
                           const SizeExp *par) {
  static const char *const kinds[] = {
    [GUARD_TOP] = "top",       [GUARD_INTRA] = "intra", [GUARD_REDOMAP] = "redomap",
    [GUARD_CHOOSE] = "choose", [GUARD_LOOP] = "loop",
  };
  int number = fl->guard_count++;
  bool named = stm->attrs && stm->attrs->name;
  const char *text =
      named ? text_format("%s.%s_%s", fl->entry->name, stm->attrs->name, kinds[kind])
            : text_format("%s.%s_%d", fl->entry->name, kinds[kind], number);
  Name name = unused_name(fl, text);
  return new_node(Guard, .kind = kind, .name = name, .loc = stm->loc, .par = par);
}

void flatten_emit_branches(const Goal *goal, const Exp *exp, Atom *out) {
  core_let_n(goal->b, goal->stm->binders[0]->name, exp, out);
}

const Body *flatten_branch(Flatten *fl, const Nest *nest, int level, const Body *body) {
  Builder b = builder_new(fl->c, (Loc){ 0 });
  Atom *results = new_array(Atom, body->result_count);
  flatten_body(fl, nest, level, body, &b, results);
  return core_body(&b, results, body->result_count);
}

const Body *flatten_put_back(Flatten *fl, const Goal *goal, const Body *branch) {
  if (!goal->nest) return flatten_branch(fl, NULL, goal->level, branch);
  const Exp *map;
  const Nest *outer = nest_put_back(fl->c, goal->nest, branch, &map);
  map = core_rename_exp(fl->c, subst_new(), map);
  Builder b = builder_new(fl->c, goal->stm->loc);
  b.attrs = goal->stm->attrs;
  Atom *results = new_array(Atom, branch->result_count);
  core_let_n(&b, "mapped", map, results);
  return flatten_branch(fl, outer, goal->level,
                        core_body(&b, results, branch->result_count));
}

// ---- G4 and G9

static const int transposition[2] = { 1, 0 };

static Atom transpose_rows(Builder *b, Atom array) {
  int rank = atom_type(array).rank;
  int *perm = new_array(int, rank);
  for (int i = 0; i < rank; i++)
    perm[i] = i < 2 ? transposition[i] : i;
  return core_let(b, "transposed", exp_rearrange(perm, rank, array));
}

const Body *flatten_interchange_reduce(Flatten *fl, const Stm *stm, const Soac *inner,
                                       const Atom *neutral) {
  const Soac *soac = &stm->exp->u.soac;
  int count = soac->ops[0].count;
  Builder b = builder_new(fl->c, stm->loc);
  Atom *columns = new_array(Atom, count), *out = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    columns[i] = transpose_rows(&b, soac->arrays[i]);
  RedOp op = soac->ops[0];
  op.op = core_rename_lambda(fl->c, subst_new(), inner->fn);
  op.neutral = neutral;
  core_let_n(&b, "columns",
             exp_reduced_rows(&b, stm->exp->kind, inner->width, soac->width, op, columns),
             out);
  for (int i = 0; i < count && stm->exp->kind == EXP_SCANOMAP; i++)
    out[i] = transpose_rows(&b, out[i]);
  return core_body(&b, out, count);
}

static const RedOp *renamed_ops(Flatten *fl, const RedOp *ops, int count) {
  RedOp *out = new_array(RedOp, count);
  for (int i = 0; i < count; i++) {
    out[i] = ops[i];
    out[i].op = core_rename_lambda(fl->c, subst_new(), ops[i].op);
  }
  return out;
}

const Body *flatten_decompose(Flatten *fl, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  Builder b = builder_new(fl->c, stm->loc);
  int results = soac->fn.body->result_count, reds = soac_red_count(soac);
  Atom *ys = new_array(Atom, results);
  Lambda fn = core_rename_lambda(fl->c, subst_new(), soac->fn);
  b.attrs = stm->attrs;
  core_let_n(&b, "ys", exp_map(soac->width, fn, soac->arrays, soac->array_count), ys);
  Lambda identity = lambda_identity_over(&b, "y", ys, reds);
  const RedOp *ops = renamed_ops(fl, soac->ops, soac->op_count);
  Soac reduce = { soac->width, identity, ys, reds, ops, soac->op_count };
  Atom *all = mem_copy(ys, sizeof *ys * (size_t)results);
  core_let_n(&b, "reduced", exp_soac(stm->exp->kind, reduce), all);
  return core_body(&b, all, results);
}

// ---- G7

// Which merge parameters have the same scalar value at every point of the context?  Those whose
// initial value does not vary and whose next value is computed from such values alone: they stay
// scalars of the loop outside.
typedef struct Uniform {
  const Nest *nest;
  const Exp *loop;
  bool *params;
} Uniform;

// The end of the loop's body, where what varies is known, given which parameters are taken as
// uniform.
static Goal end_of_body(const Uniform *u) {
  Goal end = { .nest = u->nest, .local = map_new(NULL) };
  const Exp *loop = u->loop;
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (!u->params[i]) goal_bind(&end, loop->u.loop.params[i]);
  for (int i = 0; i < loop->u.loop.body->stm_count; i++) {
    const Stm *stm = &loop->u.loop.body->stms[i];
    if (goal_is_uniform(&end, stm)) continue;
    for (int k = 0; k < stm->binder_count; k++)
      goal_bind(&end, stm->binders[k]);
  }
  return end;
}

static const bool *uniform_params(const Nest *nest, const Exp *loop) {
  int count = loop->u.loop.param_count;
  Uniform u = { nest, loop, new_array(bool, count + 1) };
  for (int i = 0; i < count; i++)
    u.params[i] = loop->u.loop.params[i]->type.rank == 0 &&
                  !nest_varies(nest, loop->u.loop.inits[i]);
  for (bool changed = true; changed;) {
    changed = false;
    Goal end = end_of_body(&u);
    for (int i = 0; i < count; i++) {
      if (!u.params[i] || !goal_varies(&end, loop->u.loop.body->results[i])) continue;
      u.params[i] = false;
      changed = true;
    }
  }
  return u.params;
}

// A type over the whole context.
static CoreType expanded_type(const Nest *nest, CoreType type) {
  int depth = nest_depth(nest);
  Atom *dims = new_array(Atom, depth + type.rank);
  nest_widths(nest, dims);
  for (int i = 0; i < type.rank; i++)
    dims[depth + i] = type.dims[i];
  return type_array(type.elem, depth + type.rank, dims);
}

void flatten_interchange_loop(Flatten *fl, const Goal *goal, Atom *out) {
  Exp *loop = mem_copy(goal->stm->exp, sizeof(Exp));
  int count = loop->u.loop.param_count;
  const bool *uniform = uniform_params(goal->nest, loop);
  const Var **params = new_array(const Var *, count);
  Atom *inits = new_array(Atom, count), *results = new_array(Atom, count + 1);
  const Nest *inside = goal->nest;
  for (int i = 0; i < count; i++) {
    const Var *param = loop->u.loop.params[i];
    params[i] = param;
    inits[i] = loop->u.loop.inits[i];
    if (uniform[i]) continue;
    params[i] =
        var_new(fl->c, param->name, expanded_type(goal->nest, param->type), param->loc);
    inits[i] = flatten_expand(fl, goal->nest, goal->level, inits[i], goal->b);
    inside = nest_read(inside, param, atom_var(params[i]), nest_depth(goal->nest));
  }
  Builder b = builder_new(fl->c, goal->stm->loc);
  flatten_mixed_body(fl, inside, goal->level, loop->u.loop.body, uniform, &b, results);
  loop->u.loop.params = params;
  loop->u.loop.inits = inits;
  loop->u.loop.body = core_body(&b, results, count);
  core_let_n(goal->b, goal->stm->binders[0]->name, loop, out);
  // A uniform result is wanted over the context like every other.
  for (int i = 0; i < count; i++)
    if (uniform[i]) out[i] = flatten_expand(fl, goal->nest, goal->level, out[i], goal->b);
}
