// loop (n, xs: [n]t) = (m, ys) while c do body, run in one item (host_loop.c)
//   =>  let (n, room: [m]t) = segmap^1 <o < 1>
//         (let (n, xs) = loop (n, xs) = (m, ys) while c do body
//          in (n, blank [m]t with [0:min n m] = xs[0:min n m]))
//       in if n <= m then (n, room[0:n]) else loop (n, xs) = (m, ys) while c do body'
// Why: what a seg-op makes has its size before it runs, but a loop whose arrays get shorter from
// round to round finds their size out: halves, slices without an end, what a filter leaves.  Its
// arrays have room where the first ones had it.  If they should get longer after all, all was in
// vain and the host runs the loop; loops that look like that are left to the host at once.
#include <string.h>

#include "base/map.h"
#include "flat/rules.h"

// Which of the loop's results is the size `dim`; -1: it is known outside.
static int found_size(const Stm *loop, Atom dim) {
  for (int i = 0; i < loop->binder_count; i++)
    if (dim.kind == ATOM_VAR && dim.u.var == loop->binders[i]) return i;
  return -1;
}

static bool has_found_size(const Stm *loop, int result) {
  CoreType type = loop->binders[result]->type;
  for (int d = 0; d < type.rank; d++)
    if (found_size(loop, type.dims[d]) >= 0) return true;
  return false;
}

bool flatten_finds_sizes(const Stm *loop) {
  for (int i = 0; i < loop->binder_count; i++)
    if (has_found_size(loop, i)) return true;
  return false;
}

// ---- does it get shorter?

typedef struct Shorter {
  const Exp *loop;
  Map *made;  // Var -> the Stm in the loop's body that binds it
} Shorter;

static bool shortens(Shorter *s, Atom size);

static bool branch_shortens(Shorter *s, const Body *branch, int result) {
  for (int i = 0; i < branch->stm_count; i++)
    for (int k = 0; k < branch->stms[i].binder_count; k++)
      map_put(s->made, branch->stms[i].binders[k], &branch->stms[i]);
  return shortens(s, branch->results[result]);
}

static bool both_shorten(Shorter *s, const Stm *stm, const Var *var) {
  int result = 0;
  while (stm->binders[result] != var)
    result++;
  const Exp *exp = stm->exp;
  return branch_shortens(s, exp->u.cond.then_body, result) &&
         branch_shortens(s, exp->u.cond.else_body, result);
}

static bool is_parameter(const Exp *loop, const Var *var) {
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (loop->u.loop.params[i] == var) return true;
  return false;
}

// Does the size look as if it were at most the one before?  Differences, quotients, the smaller of
// two, the number of elements that a filter leaves; constants, which some branches have.
static bool shortens(Shorter *s, Atom size) {
  if (size.kind == ATOM_CONST || is_parameter(s->loop, size.u.var)) return true;
  const Stm *stm = map_get(s->made, size.u.var);
  if (!stm) return false;
  const Exp *exp = stm->exp;
  if (exp->kind == EXP_IF) return both_shorten(s, stm, size.u.var);
  if (exp->kind == EXP_ATOM) return shortens(s, exp->u.atom.atom);
  if (exp->kind != EXP_OP) return exp->kind == EXP_FILTER;
  PrimOp op = exp->u.op.op;
  return op == OP_SUB || op == OP_QUOT || op == OP_DIV || op == OP_MIN;
}

bool flatten_gets_shorter(const Stm *loop) {
  Shorter s = { loop->exp, map_new(NULL) };
  const Body *body = loop->exp->u.loop.body;
  for (int i = 0; i < loop->binder_count; i++) {
    CoreType type = loop->binders[i]->type;
    for (int d = 0; d < type.rank; d++) {
      int size = found_size(loop, type.dims[d]);
      if (size >= 0 && !branch_shortens(&s, body, size)) return false;
    }
  }
  return true;
}

// ---- in one item

// The slice of a result from its beginning on; found sizes are `sizes`, one per result of the loop.
static DimIndex *part(const Stm *loop, int result, const Atom *sizes) {
  CoreType type = loop->binders[result]->type;
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int d = 0; d < type.rank; d++) {
    int size = found_size(loop, type.dims[d]);
    dims[d] = dim_slice(atom_i64(0), size < 0 ? type.dims[d] : sizes[size], atom_i64(1));
  }
  return dims;
}

// An array as large as the first one, with as much of `value` as there is room for.
static Atom in_room(Builder *b, const Stm *loop, int result, const Atom *fitting,
                    Atom value) {
  CoreType type = loop->binders[result]->type;
  Atom room = atom_const(prim_zero(type.elem));
  for (int d = type.rank - 1; d >= 0; d--) {
    int size = found_size(loop, type.dims[d]);
    Atom width = size < 0 ? type.dims[d] : loop->exp->u.loop.inits[size];
    room = core_let(b, "room", exp_replicate(width, room));
  }
  const DimIndex *dims = part(loop, result, fitting);
  Atom fits = core_let(b, "fits", exp_slice(value, dims, false));
  return core_let(b, "room", exp_update(room, dims, fits, false));
}

static bool is_found_size(const Stm *loop, int scalar) {
  for (int i = 0; i < loop->binder_count; i++) {
    CoreType type = loop->binders[i]->type;
    for (int d = 0; d < type.rank; d++)
      if (found_size(loop, type.dims[d]) == scalar) return true;
  }
  return false;
}

const Body *flatten_loop_in_room(Flatten *fl, const Stm *loop) {
  int count = loop->binder_count;
  Builder b = builder_new(fl->c, loop->loc);
  Atom *results = new_array(Atom, count), *fitting = new_array(Atom, count);
  const Body *made = flatten_loop_with_starts(fl, loop);
  core_add_body(&b, made);
  memcpy(results, made->results, sizeof(Atom) * (size_t)count);
  for (int i = 0; i < count; i++)
    if (is_found_size(loop, i))
      fitting[i] = core_let(&b, "fitting",
                            exp_op2(OP_MIN, results[i], loop->exp->u.loop.inits[i]));
  for (int i = 0; i < count; i++)
    if (has_found_size(loop, i)) results[i] = in_room(&b, loop, i, fitting, results[i]);
  return core_body(&b, results, count);
}

// Is everything in its place?
static Atom all_fits(Builder *b, const Stm *loop, const Atom *made) {
  Atom all = atom_bool(true);
  for (int i = 0; i < loop->binder_count; i++) {
    if (!is_found_size(loop, i)) continue;
    Atom fits = core_let(b, "fits", exp_op2(OP_LE, made[i], loop->exp->u.loop.inits[i]));
    bool first = all.kind == ATOM_CONST;
    all = first ? fits : core_let(b, "fit", exp_op2(OP_LAND, all, fits));
  }
  return all;
}

// The loop on the host, in one version: hardly ever does it run.
static const Exp *fallback(Flatten *fl, const Goal *goal, Builder *b) {
  FlattenMode mode = fl->options.mode;
  const Stm *loop = goal->stm;
  Exp *exp = mem_copy(core_rename_exp(fl->c, subst_new(), loop->exp), sizeof(Exp));
  fl->options.mode = FLATTEN_MODERATE;
  exp->u.loop.body = flatten_branch(fl, NULL, goal->level, exp->u.loop.body);
  const Exp *out = flatten_starts_on_host(fl, goal, exp, b);
  fl->options.mode = mode;
  return out;
}

void flatten_out_of_room(Flatten *fl, const Goal *goal, Builder *b, Atom *out) {
  const Stm *loop = goal->stm;
  int count = loop->binder_count;
  const char *name = loop->binders[0]->name;
  Builder fit = builder_new(fl->c, loop->loc), host = fit;
  Atom *results = new_array(Atom, count);
  for (int i = 0; i < count; i++)
    results[i] =
        has_found_size(loop, i)
            ? core_let(&fit, "made", exp_slice(out[i], part(loop, i, out), false))
            : out[i];
  const Body *fitting = core_body(&fit, results, count);
  core_let_n(&host, name, fallback(fl, goal, &host), results);
  Atom fits = all_fits(b, loop, out);
  core_let_n(b, name, exp_if(fits, fitting, core_body(&host, results, count)), out);
}
