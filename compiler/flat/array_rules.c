// The rules for the operations that the paper omits: scatter, histogram, array operations, update.
// They follow the shape of G2: the context becomes the seg-op's space.
#include "base/map.h"
#include "base/mem.h"
#include "core/bounds.h"
#include "flat/rules.h"

// Sigma with its own positions bound to fresh variables, outermost first, stored in `out`.
static const Nest *bind_positions(Flatten *fl, const Nest *nest, Atom *out) {
  int depth = nest_depth(nest);
  for (int i = 0; i < depth; i++) {
    const Var *var =
        var_new(fl->c, name_of(fl->c->names, "at"), type_scalar(PRIM_I64), (Loc){ 0 });
    nest = nest_index(nest, var, i + 1);
    out[i] = atom_var(var);
  }
  return nest;
}

// The body of a scatter's function with the context's positions before each destination's indices.
static const Body *scatter_body(const Body *body, const ScatterDest *dests,
                                int dest_count, const Atom *positions, int depth) {
  AtomVec results = { 0 };
  int next = 0;
  for (int d = 0; d < dest_count; d++) {
    for (int i = 0; i < depth; i++)
      vec_push(&results, positions[i]);
    for (int i = 0; i <= dests[d].index_count; i++)
      vec_push(&results, body->results[next++]);
  }
  return new_node(Body, .stms = body->stms, .stm_count = body->stm_count,
                  .results = results.at, .result_count = results.count);
}

// Scatter: Sigma |-l scatter n f xss into dest  =>  segscatter^l (Sigma, <xs in xss>) f into dest'
//          where dest' is dest over Sigma and the indices gain the position in Sigma
// Inner parallelism of f is sequential.  Tests: tests/rules/scatter-*
bool rule_scatter(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  if (exp->kind != EXP_SCATTER || flatten_is_sequential(goal->stm)) return false;
  if (goal_varies(goal, exp->u.scatter.width)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "scatter", goal->stm);
  int depth = nest_depth(goal->nest);
  int count = exp->u.scatter.dest_count;
  ScatterDest *dests = new_array(ScatterDest, count);
  for (int d = 0; d < count; d++) {
    dests[d] = exp->u.scatter.dests[d];
    dests[d].dest = flatten_expand(fl, goal->nest, goal->level,
                                   exp->u.scatter.dests[d].dest, goal->b);
    dests[d].index_count += depth;
  }
  Soac map = { .width = exp->u.scatter.width,
               .fn = exp->u.scatter.fn,
               .arrays = exp->u.scatter.arrays,
               .array_count = exp->u.scatter.array_count };
  Atom *positions = new_array(Atom, depth + 1);
  const Nest *nest = bind_positions(fl, goal->nest, positions);
  const Body *body =
      scatter_body(map.fn.body, exp->u.scatter.dests, count, positions, depth);
  SegOp like = {
    .kind = SEG_SCATTER, .level = goal->level, .dests = dests, .dest_count = count
  };
  flatten_emit_seg(fl, goal, flatten_push(fl, nest, &map), &like, body, out);
  return true;
}

// In a context the operators must be on scalars, the same at every point of Sigma: there is no
// kernel for others, where the host has one.
static bool hist_is_exploitable(const Goal *goal, const Exp *hist) {
  if (!goal->nest) return true;
  if (goal_varies(goal, hist->u.hist.width)) return false;
  for (int i = 0; i < hist->u.hist.op_count; i++) {
    const RedOp *op = &hist->u.hist.ops[i].op;
    Soac as_soac = { .ops = op, .op_count = 1 };
    if (!flat_operators_on_scalars(&as_soac) || goal_operators_vary(goal, op, 1))
      return false;
  }
  return true;
}

// Histogram: Sigma |-l hist n f xss into dests op
//               =>  seghist^l (Sigma, <xs in xss>) f into dests' op
//            where dests' are dests over Sigma.  Tests: tests/rules/hist-*
bool rule_hist(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  if (exp->kind != EXP_HIST || flatten_is_sequential(goal->stm)) return false;
  if (!hist_is_exploitable(goal, exp)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "hist", goal->stm);
  HistOp *hists = new_array(HistOp, exp->u.hist.op_count);
  for (int h = 0; h < exp->u.hist.op_count; h++) {
    hists[h] = exp->u.hist.ops[h];
    Atom *dests = new_array(Atom, hists[h].op.count);
    for (int i = 0; i < hists[h].op.count; i++)
      dests[i] = flatten_expand(fl, goal->nest, goal->level, exp->u.hist.ops[h].dests[i],
                                goal->b);
    hists[h].dests = dests;
  }
  Soac map = { .width = exp->u.hist.width,
               .fn = exp->u.hist.fn,
               .arrays = exp->u.hist.arrays,
               .array_count = exp->u.hist.array_count };
  SegOp like = { .kind = SEG_HIST,
                 .level = goal->level,
                 .hists = hists,
                 .hist_count = exp->u.hist.op_count };
  flatten_emit_seg(fl, goal, flatten_push(fl, goal->nest, &map), &like, map.fn.body, out);
  return true;
}

typedef const Body *(*ElementFn)(Flatten *fl, Builder *b, const Exp *exp, Atom at);

// A lambda over one i64 position.
static Lambda over_position(Flatten *fl, ElementFn make, const Exp *exp, Loc loc) {
  const Var *at = var_new(fl->c, name_of(fl->c->names, "at"), type_scalar(PRIM_I64), loc);
  Builder b = builder_new(fl->c, loc);
  const Body *body = make(fl, &b, exp, atom_var(at));
  return lambda_new(&at, 1, body);
}

static const Body *iota_element(Flatten *fl, Builder *b, const Exp *exp, Atom at) {
  (void)fl;
  PrimType type = exp->u.iota.type;
  Atom i = type == PRIM_I64 ? at : core_let(b, "i", exp_convert(type, at));
  Atom scaled = core_let(b, "scaled", exp_op2(OP_MUL, i, exp->u.iota.step));
  Atom x = core_let(b, "x", exp_op2(OP_ADD, scaled, exp->u.iota.start));
  return core_body(b, &x, 1);
}

static const Body *replicate_element(Flatten *fl, Builder *b, const Exp *exp, Atom at) {
  (void)fl;
  (void)at;
  Atom x = exp->u.replicate.value;
  return core_body(b, &x, 1);
}

// if at < n1 then a1[at] else if at - n1 < n2 then ...
static Atom concat_read(Flatten *fl, Builder *b, const Exp *exp, int k, Atom at) {
  Atom array = exp->u.concat.arrays[k];
  if (k == exp->u.concat.array_count - 1)
    return core_let(b, "x", exp_index(array, &at, 1, false));
  Atom size = atom_type(array).dims[0];
  Atom here = core_let(b, "here", exp_op2(OP_LT, at, size));
  Builder then_b = builder_new(fl->c, b->loc), else_b = builder_new(fl->c, b->loc);
  Atom x = core_let(&then_b, "x", exp_index(array, &at, 1, false));
  Atom rest = size_sub(&else_b, at, size);
  Atom y = concat_read(fl, &else_b, exp, k + 1, rest);
  return core_let(b, "x",
                  exp_if(here, core_body(&then_b, &x, 1), core_body(&else_b, &y, 1)));
}

static const Body *concat_element(Flatten *fl, Builder *b, const Exp *exp, Atom at) {
  Atom x = concat_read(fl, b, exp, 0, at);
  return core_body(b, &x, 1);
}

static const Body *rotate_element(Flatten *fl, Builder *b, const Exp *exp, Atom at) {
  (void)fl;
  Atom size = atom_type(exp->u.rotate.array).dims[0];
  Atom moved = size_add(b, at, exp->u.rotate.amount);
  Atom from = core_let(b, "from", exp_op2(OP_MOD, moved, size));
  Atom x = core_let(b, "x", exp_index(exp->u.rotate.array, &from, 1, false));
  return core_body(b, &x, 1);
}

static const Body *copy_element(Flatten *fl, Builder *b, const Exp *exp, Atom at) {
  (void)fl;
  Atom x = core_let(b, "x", exp_index(exp->u.atom.atom, &at, 1, false));
  return core_body(b, &x, 1);
}

// An array operation as a map over positions.
typedef struct Elements {
  Atom width;
  ElementFn make;  // NULL: not an array operation
} Elements;

static Elements elements_of(const Exp *exp) {
  if (exp->kind == EXP_IOTA) return (Elements){ exp->u.iota.count, iota_element };
  if (exp->kind == EXP_REPLICATE)
    return (Elements){ exp->u.replicate.count, replicate_element };
  if (exp->kind == EXP_CONCAT) return (Elements){ exp->u.concat.count, concat_element };
  if (exp->kind == EXP_ROTATE)
    return (Elements){ atom_type(exp->u.rotate.array).dims[0], rotate_element };
  if (exp->kind == EXP_COPY && atom_type(exp->u.atom.atom).rank > 0)
    return (Elements){ atom_type(exp->u.atom.atom).dims[0], copy_element };
  return (Elements){ 0 };
}

// Array operations in a context: op  =>  map (\at -> element of op at position `at`) (iota n)
//       if n is the same at every point of Sigma
// Why: inside of a nest they are parallelism like any other (docs/how-it-works.md, "The rules").
// On the host as well, so that later passes know segmap only.
bool rule_array_operation(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  Elements elements = elements_of(exp);
  if (!elements.make) return false;
  if (goal_varies(goal, elements.width)) return false;
  if (goal_is_question(goal)) return true;
  flatten_trace(fl, "array-operation", goal->stm);
  Lambda fn = over_position(fl, elements.make, exp, goal->stm->loc);
  const Nest *nest = nest_index(nest_level(goal->nest, elements.width), fn.params[0],
                                nest_depth(goal->nest) + 1);
  flatten_emit_segmap(fl, nest, goal->level, fn.body, goal->b, out);
  return true;
}

// Passes the indices of the update that are no slices through an assertion.
static void assert_in_bounds(Builder *b, const Exp *update, Atom *indices) {
  int count = update->u.update.dim_count, fixed = 0;
  Atom *checked = new_array(Atom, count + 1);
  for (int i = 0; i < count; i++)
    if (!update->u.update.dims[i].is_slice) checked[fixed++] = indices[i];
  if (!update->u.update.checked || !fixed) return;
  const Exp *bounds = bounds_assert(b, atom_type(update->u.update.array),
                                    update->u.update.dims, checked, fixed);
  core_let_n(b, "checked", bounds, checked);
  for (int i = 0, next = 0; i < count; i++)
    if (!update->u.update.dims[i].is_slice) indices[i] = checked[next++];
}

// Positions along every sliced dimension of an update: a level each, in `nest`; the index of the
// updated element in `indices`.
static const Nest *slice_levels(Flatten *fl, const Nest *nest, const Exp *exp, Builder *b,
                                Atom *indices, Atom *value_indices) {
  int used = 0;
  for (int i = 0; i < exp->u.update.dim_count; i++)
    indices[i] = exp->u.update.dims[i].start;
  assert_in_bounds(b, exp, indices);
  for (int i = 0; i < exp->u.update.dim_count; i++) {
    const DimIndex *dim = &exp->u.update.dims[i];
    if (!dim->is_slice) continue;
    nest = nest_level(nest, dim->count);
    const Var *at =
        var_new(fl->c, name_of(fl->c->names, "at"), type_scalar(PRIM_I64), b->loc);
    nest = nest_index(nest, at, nest_depth(nest));
    value_indices[used++] = atom_var(at);
    Atom moved = size_mul(b, atom_var(at), dim->stride);
    indices[i] = size_add(b, moved, dim->start);
  }
  return nest;
}

static int sliced_count(const Exp *update) {
  int count = 0;
  for (int i = 0; i < update->u.update.dim_count; i++)
    count += update->u.update.dims[i].is_slice;
  return count;
}

// In a context an update is worth a kernel of its own only if the array lies in memory already and
// what is written is regular.
static bool update_is_exploitable(const Goal *goal, const Exp *update) {
  Atom array;
  int levels;
  if (!goal->nest) return true;
  if (update->u.update.array.kind != ATOM_VAR) return false;
  if (!nest_origin(goal->nest, update->u.update.array.u.var, &array, &levels))
    return false;
  if (levels != nest_depth(goal->nest)) return false;
  for (int i = 0; i < update->u.update.dim_count; i++) {
    const DimIndex *dim = &update->u.update.dims[i];
    if (dim->is_slice && (update->u.update.checked || goal_varies(goal, dim->count)))
      return false;
  }
  return true;
}

// Update: Sigma |-l xs with [i] = v  =>  segscatter^l Sigma (.., i, v) into xs'
//         where xs' is xs over Sigma; a slice adds its dimensions to the space
// Why: one write per point instead of a copy of the row.  A scatter leaves out what is out of
// bounds, so a checked position gets an assertion.  Tests: tests/rules/update-*
bool rule_update(Flatten *fl, const Goal *goal, Atom *out) {
  const Exp *exp = goal->stm->exp;
  if (exp->kind != EXP_UPDATE || !update_is_exploitable(goal, exp)) return false;
  if (goal_is_question(goal)) return true;
  int rank = exp->u.update.dim_count, depth = nest_depth(goal->nest);
  flatten_trace(fl, "update", goal->stm);
  ScatterDest dest = { flatten_expand(fl, goal->nest, goal->level, exp->u.update.array,
                                      goal->b),
                       depth + rank, false, true, false };
  Atom *results = new_array(Atom, depth + rank + 1), *value_at = new_array(Atom, rank);
  Builder body = builder_new(fl->c, goal->stm->loc);
  const Nest *nest = bind_positions(fl, goal->nest, results);
  nest = slice_levels(fl, nest, exp, &body, results + depth, value_at);
  if (!nest)
    nest =
        nest_level(NULL, atom_i64(1));  // one element on the host: a space of one point
  int sliced = sliced_count(exp);
  Atom value = exp->u.update.value;
  if (sliced) value = core_let(&body, "v", exp_index(value, value_at, sliced, false));
  results[depth + rank] = value;
  SegOp like = { .kind = SEG_SCATTER,
                 .level = goal->level,
                 .dests = mem_copy(&dest, sizeof dest),
                 .dest_count = 1 };
  flatten_emit_seg(fl, goal, nest, &like, core_body(&body, results, depth + rank + 1),
                   out);
  return true;
}
