// loop (n, xs: [n]t) = (m, ys) for i < k do body, run in one item (host_loop.c)
//   =>  let (n, room: [m]t) = segmap^1 <o < 1>
//         (let (n, xs) = loop (n, xs) = (m, ys) for i < k do body
//          in (n, blank [m]t with [0:min n m] = xs[0:min n m]))
//       in if n <= m then (n, room[0:n]) else loop (n, xs) = (m, ys) for i < k do body'
// loop (n, xs: [n]t) = (m, ys) while c do body, run in one item
//   =>  the same while c && n <= max m LONG; then the host goes on:
//       loop (n, xs) = (if n <= m then (n, room[0:n]) else (m, ys)) while c do body'
// Why: what a seg-op makes has its size before it runs, but a loop whose arrays get shorter from
// round to round finds their size out: halves, slices without an end, what a filter leaves.  Its
// arrays have room where the first ones had it, vectors (of vertices that are looked at next) for
// as many elements as vectors beside them have.  Of a while loop one item does the rounds of few
// elements; what comes after the first that makes more the host does.  If there was no room after
// all, all was in vain and the host runs the loop; loops that look like that are left to the host
// at once.
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

// ---- how long it may get

static bool is_found_size(const Stm *loop, int scalar) {
  for (int i = 0; i < loop->binder_count; i++) {
    CoreType type = loop->binders[i]->type;
    for (int d = 0; d < type.rank; d++)
      if (found_size(loop, type.dims[d]) == scalar) return true;
  }
  return false;
}

// Elements of a round that is left to the host.
enum { LONG = 16384 };

// Do only vectors have the size?
static bool is_of_vectors(const Stm *loop, int size) {
  for (int i = 0; i < loop->binder_count; i++) {
    CoreType type = loop->binders[i]->type;
    for (int d = 0; d < type.rank; d++)
      if (type.rank > 1 && found_size(loop, type.dims[d]) == size) return false;
  }
  return true;
}

// Room for the vectors of a size: that of the first one, or of those beside it.
static Atom room_beside(Builder *b, const Stm *loop, Atom first) {
  Atom room = first;
  for (int i = 0; i < loop->binder_count; i++) {
    CoreType type = loop->binders[i]->type;
    if (type.rank != 1 || found_size(loop, type.dims[0]) >= 0) continue;
    if (!atom_equal(type.dims[0], room))
      room = core_let(b, "room", exp_op2(OP_MAX, room, type.dims[0]));
  }
  return room;
}

Atom *flatten_rooms(Builder *b, const Stm *loop) {
  Atom *rooms = new_array(Atom, loop->binder_count);
  for (int i = 0; i < loop->binder_count; i++) {
    if (!is_found_size(loop, i)) continue;
    rooms[i] = loop->exp->u.loop.inits[i];
    if (is_of_vectors(loop, i)) rooms[i] = room_beside(b, loop, rooms[i]);
  }
  return rooms;
}

// The next parameters, with whether to go on in the item.
static const Body *round_while_short(Flatten *fl, const Stm *loop) {
  const Exp *exp = loop->exp;
  Builder b = builder_new(fl->c, loop->loc);
  const Body *body = exp->u.loop.body;
  core_add_body(&b, body);
  Atom *results = new_array(Atom, body->result_count + 1);
  Atom on = body->results[exp->u.loop.while_param];
  for (int i = 0; i < body->result_count; i++) {
    results[i] = body->results[i];
    if (!is_found_size(loop, i)) continue;
    Atom most =
        core_let(&b, "most", exp_op2(OP_MAX, exp->u.loop.inits[i], atom_i64(LONG)));
    Atom is_short = core_let(&b, "short", exp_op2(OP_LE, results[i], most));
    on = core_let(&b, "on", exp_op2(OP_LAND, on, is_short));
  }
  results[body->result_count] = on;
  return core_body(&b, results, body->result_count + 1);
}

// loop (.., on) = (.., c) while on do let (..) = body in (.., c && sizes <= max first LONG)
static const Stm *while_short(Flatten *fl, const Stm *loop) {
  if (loop->exp->u.loop.form != CORE_WHILE) return loop;
  Exp *exp = mem_copy(loop->exp, sizeof(Exp));
  int count = exp->u.loop.param_count;
  const Var **params = new_array(const Var *, count + 1),
            **binders = new_array(const Var *, count + 1);
  Atom *inits = new_array(Atom, count + 1);
  CoreType condition = exp->u.loop.params[exp->u.loop.while_param]->type;
  for (int i = 0; i < count; i++) {
    params[i] = exp->u.loop.params[i];
    binders[i] = loop->binders[i];
    inits[i] = exp->u.loop.inits[i];
  }
  params[count] = var_new(fl->c, "on", condition, loop->loc);
  binders[count] = var_new(fl->c, "on", condition, loop->loc);
  inits[count] = inits[exp->u.loop.while_param];
  exp->u.loop.body = round_while_short(fl, loop);
  exp->u.loop.params = params;
  exp->u.loop.inits = inits;
  exp->u.loop.param_count = count + 1;
  exp->u.loop.while_param = count;
  Stm *out = mem_copy(loop, sizeof(Stm));
  out->exp = exp;
  out->binders = binders;
  out->binder_count = count + 1;
  return out;
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

// An array as large as there is room, with as much of `value` as fits in.
static Atom in_room(Builder *b, const Stm *loop, int result, const Atom *rooms,
                    const Atom *fitting, Atom value) {
  CoreType type = loop->binders[result]->type;
  Atom room = atom_const(prim_zero(type.elem));
  for (int d = type.rank - 1; d >= 0; d--) {
    int size = found_size(loop, type.dims[d]);
    Atom width = size < 0 ? type.dims[d] : rooms[size];
    room = core_let(b, "room", exp_replicate(width, room));
  }
  const DimIndex *dims = part(loop, result, fitting);
  Atom fits = core_let(b, "fits", exp_slice(value, dims, false));
  return core_let(b, "room", exp_update(room, dims, fits, false));
}

const Body *flatten_loop_in_room(Flatten *fl, const Stm *loop, const Atom *rooms) {
  int count = loop->binder_count;
  Builder b = builder_new(fl->c, loop->loc);
  Atom *results = new_array(Atom, count), *fitting = new_array(Atom, count);
  const Body *made = flatten_loop_with_starts(fl, while_short(fl, loop));
  core_add_body(&b, made);
  memcpy(results, made->results, sizeof(Atom) * (size_t)count);
  for (int i = 0; i < count; i++)
    if (is_found_size(loop, i))
      fitting[i] = core_let(&b, "fitting", exp_op2(OP_MIN, results[i], rooms[i]));
  for (int i = 0; i < count; i++)
    if (has_found_size(loop, i))
      results[i] = in_room(&b, loop, i, rooms, fitting, results[i]);
  return core_body(&b, results, count);
}

// Is everything in its place?
static Atom all_fits(Builder *b, const Stm *loop, const Atom *rooms, const Atom *made) {
  Atom all = atom_bool(true);
  for (int i = 0; i < loop->binder_count; i++) {
    if (!is_found_size(loop, i)) continue;
    Atom fits = core_let(b, "fits", exp_op2(OP_LE, made[i], rooms[i]));
    bool first = all.kind == ATOM_CONST;
    all = first ? fits : core_let(b, "fit", exp_op2(OP_LAND, all, fits));
  }
  return all;
}

// ---- on the host

// The loop in one version, from `inits` on (NULL: its own).
static const Exp *on_host(Flatten *fl, const Goal *goal, Builder *b, const Atom *inits) {
  FlattenMode mode = fl->options.mode;
  Exp *exp = mem_copy(core_rename_exp(fl->c, subst_new(), goal->stm->exp), sizeof(Exp));
  fl->options.mode = FLATTEN_MODERATE;
  exp->u.loop.body = flatten_branch(fl, NULL, goal->level, exp->u.loop.body);
  if (inits) exp->u.loop.inits = inits;
  const Exp *out = inits ? exp : flatten_starts_on_host(fl, goal, exp, b);
  fl->options.mode = mode;
  return out;
}

// What the item has made, without the room that is left.
static const Body *made_in_room(Flatten *fl, const Stm *loop, const Atom *out) {
  Builder b = builder_new(fl->c, loop->loc);
  Atom *results = new_array(Atom, loop->binder_count);
  for (int i = 0; i < loop->binder_count; i++)
    results[i] = has_found_size(loop, i)
                     ? core_let(&b, "made", exp_slice(out[i], part(loop, i, out), false))
                     : out[i];
  return core_body(&b, results, loop->binder_count);
}

void flatten_out_of_room(Flatten *fl, const Goal *goal, Builder *b, const Atom *rooms,
                         Atom *out) {
  const Stm *loop = goal->stm;
  int count = loop->binder_count;
  const char *name = loop->binders[0]->name;
  bool goes_on = loop->exp->u.loop.form == CORE_WHILE;
  const Body *made = made_in_room(fl, loop, out);
  Builder host = builder_new(fl->c, loop->loc);
  Atom *results = new_array(Atom, count);
  if (goes_on)
    flatten_inits_on_host(fl, goal, &host, results);
  else
    core_let_n(&host, name, on_host(fl, goal, &host, NULL), results);
  Atom fits = all_fits(b, loop, rooms, out);
  core_let_n(b, name, exp_if(fits, made, core_body(&host, results, count)), out);
  if (!goes_on) return;
  Atom *state = new_array(Atom, count);
  memcpy(state, out, sizeof(Atom) * (size_t)count);
  core_let_n(b, name, on_host(fl, goal, b, state), out);
}
