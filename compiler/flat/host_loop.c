// loop p = e for i < n do body     (empty context)
//   =>  loop p = e for i < n do body'       if the body has parallelism, or touches no elements
//   =>  let rs = segmap^1 <o < 1> (loop p = e for i < n do body) in rs[0]     otherwise
// In incremental flattening, if the body has parallelism of known size, a guard chooses:
//   =>  if work of a round >= t then loop p = e for i < n do body' else (that segmap)
// Rule G0 for what stands on the host (PPoPP'19, Figure 3).
//
// Why: each element that the host reads or writes is a round trip to the device; one work-item
// does the whole loop in the time of a few.  It works on a copy of the arrays that the loop
// updates, so a short loop over large ones stays on the host: the sizes decide, unless the arrays
// may be overwritten, as on CPUs they often may (imp/lower/in_place.c).  And a launch costs
// the same however little it does: on a CPU one core is done before the others are awake.
#include "flat/rules.h"

enum { ELEMENTS_PER_ROUND = 1000 };  // copied in the time of a round trip to the device

static bool is_element(const DimIndex *dims, int count) {
  for (int i = 0; i < count; i++)
    if (dims[i].is_slice) return false;
  return true;
}

// What a loop does beside arithmetic.
typedef struct Work {
  bool elements;  // it reads or writes elements of arrays
  bool arrays;    // it makes arrays, which is parallel
} Work;

static void see_work(Work *work, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    const Exp *exp = stm->exp;
    bool array = stm->binder_count && stm->binders[0]->type.rank > 0;
    if (exp->kind == EXP_INDEX && !array) work->elements = true;
    if (exp->kind == EXP_UPDATE &&
        is_element(exp->u.update.dims, exp->u.update.dim_count)) {
      work->elements = true;
      continue;
    }
    BodyVec bodies = exp_bodies(exp);
    bool control = exp->kind == EXP_IF || exp->kind == EXP_LOOP;
    if (exp_is_soac(exp) || (array && !control && !exp_is_view(exp))) work->arrays = true;
    vec_each (const Body **, inner, &bodies)
      see_work(work, *inner);
  }
}

static const Exp *host_loop(const Stm *stm, const Body *flat) {
  Exp *loop = mem_copy(stm->exp, sizeof(Exp));
  loop->u.loop.body = flat;
  return loop;
}

static void in_one_item(Flatten *fl, const Goal *goal, Builder *b, Atom *out) {
  static const SegOp item = { .kind = SEG_MAP, .level = 1 };
  const Stm *stm = goal->stm;
  const Atom *rooms = flatten_finds_sizes(stm) ? flatten_rooms(b, stm) : NULL;
  const Body *body =
      rooms ? flatten_loop_in_room(fl, stm, rooms) : flatten_loop_with_starts(fl, stm);
  body = core_rename_body(fl->c, subst_new(), body);
  const SegOp *seg = nest_manifest(fl->c, nest_level(NULL, atom_i64(1)), &item, body);
  core_let_n(b, stm->binders[0]->name, exp_seg(seg), out);
  Atom first = atom_i64(0);
  for (int i = 0; i < stm->binder_count; i++)
    out[i] = core_let(b, stm->binders[i]->name, exp_index(out[i], &first, 1, false));
  if (!rooms) return;
  flatten_trace(fl, "shorter", stm);
  flatten_out_of_room(fl, goal, b, rooms, out);
}

// The number of elements in the arrays that go into the first round.
static Atom carried_elements(Builder *b, const Stm *stm) {
  Atom total = atom_i64(0);
  for (int i = 0; i < stm->binder_count; i++) {
    CoreType type = atom_type(stm->exp->u.loop.inits[i]);
    Atom elements = atom_i64(1);
    for (int d = 0; d < type.rank; d++)
      elements = size_mul(b, elements, type.dims[d]);
    if (type.rank > 0) total = size_add(b, total, elements);
  }
  return total;
}

static bool carries_arrays(const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank > 0) return true;
  return false;
}

enum { ROUNDS_OF_WHILE = 16 };

// How often the loop `inner` of the body of `outer` goes round: if it finds that out itself, as
// often as `outer` does.
static Atom inner_rounds(const Exp *outer, const Exp *inner) {
  Atom bound = inner->u.loop.bound;
  if (inner->u.loop.form != CORE_FOR) return atom_i64(ROUNDS_OF_WHILE);
  if (bound.kind != ATOM_VAR) return bound;
  VarVec known = core_free_exp(outer);
  vec_each (const Var **, var, &known)
    if (*var == bound.u.var) return bound;
  return outer->u.loop.bound;
}

// The rounds of the loops in the body, within one of `outer`.
static Atom rounds_within(Builder *b, const Exp *outer, const Body *body) {
  Atom total = atom_i64(0);
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind != EXP_LOOP && exp->kind != EXP_IF) continue;
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies) {
      Atom rounds = rounds_within(b, outer, *inner);
      if (exp->kind == EXP_LOOP)
        rounds = size_mul(b, inner_rounds(outer, exp), size_add(b, atom_i64(1), rounds));
      total = size_add(b, total, rounds);
    }
  }
  return total;
}

static Atom carried_per_round(Builder *b, const Stm *stm) {
  const Exp *loop = stm->exp;
  Atom rounds =
      loop->u.loop.form == CORE_FOR
          ? core_let(b, "rounds", exp_op2(OP_MAX, loop->u.loop.bound, atom_i64(1)))
          : atom_i64(ROUNDS_OF_WHILE);
  return core_let(b, "carried", exp_op2(OP_QUOT, carried_elements(b, stm), rounds));
}

// The loop on the host, and in one item.
static void both_ways(Flatten *fl, const Goal *goal, const Exp *loop,
                      const Body **on_host, const Body **in_item) {
  int count = goal->stm->binder_count;
  Builder host = builder_new(fl->c, goal->stm->loc), item = host;
  Atom *results = new_array(Atom, count);
  const Exp *started = flatten_starts_on_host(fl, goal, loop, &host);
  core_let_n(&host, goal->stm->binders[0]->name, started, results);
  *on_host = core_body(&host, results, count);
  in_one_item(fl, goal, &item, results);
  *in_item = core_body(&item, results, count);
}

// if rounds * ELEMENTS_PER_ROUND < elements then the loop on the host else the loop in one item
static void by_size(Flatten *fl, const Goal *goal, const Exp *loop, Atom *out) {
  const Exp *exp = goal->stm->exp;
  Atom within = rounds_within(goal->b, exp, exp->u.loop.body);
  Atom rounds =
      size_mul(goal->b, loop->u.loop.bound, size_add(goal->b, atom_i64(1), within));
  rounds = size_mul(goal->b, rounds, atom_i64(ELEMENTS_PER_ROUND));
  Atom elements = carried_elements(goal->b, goal->stm);
  Atom is_short = core_let(goal->b, "short", exp_op2(OP_LT, rounds, elements));
  const Body *on_host, *in_item;
  both_ways(fl, goal, loop, &on_host, &in_item);
  Exp *choice = mem_copy(exp_if(is_short, on_host, in_item), sizeof *choice);
  choice->u.cond.spares_copy = true;
  flatten_emit_branches(goal, choice, out);
}

// if the work of a round >= t then the loop on the host else the loop in one item
static void by_work(Flatten *fl, const Goal *goal, const Exp *loop, const SizeExp *work,
                    Atom *out) {
  const Guard *guard = flatten_guard(fl, GUARD_LOOP, goal->stm, work);
  const Body *on_host, *in_item;
  fl->version_count++;
  both_ways(fl, goal, loop, &on_host, &in_item);
  flatten_emit_branches(goal, exp_guard(guard, on_host, in_item), out);
}

// The work of a round, and its part of the elements that one item would copy before the first; NULL
// if the loop is left to the host whatever they are.
static const SizeExp *work_of(Flatten *fl, const Goal *goal) {
  const Stm *stm = goal->stm;
  bool wanted = fl->options.mode == FLATTEN_INCREMENTAL &&
                fl->version_count < fl->options.max_versions;
  if (!wanted || goal->level == 0 || !flatten_gets_shorter(stm)) return NULL;
  Builder sizes = builder_new(fl->c, stm->loc);
  const SizeExp *work = flat_round_work(&sizes, stm->exp);
  if (!work) return NULL;
  core_add_body(goal->b, core_body(&sizes, NULL, 0));
  if (!carries_arrays(stm)) return work;
  return size_exp_op(SIZE_EXP_ADD, work, size_exp_atom(carried_per_round(goal->b, stm)));
}

void flatten_host_loop(Flatten *fl, const Goal *goal, Atom *out) {
  const Stm *stm = goal->stm;
  const Body *body = stm->exp->u.loop.body;
  Work work = { 0 };
  see_work(&work, body);
  const SizeExp *round = work.arrays ? work_of(fl, goal) : NULL;
  const Body *flat = flatten_branch(fl, NULL, goal->level, body);
  const Exp *loop = host_loop(stm, flat);
  bool in_kernel = goal->level == 0;
  bool stays = in_kernel || work.arrays || !work.elements || flatten_finds_sizes(stm);
  if (round) {
    by_work(fl, goal, loop, round, out);
  } else if (!stays && carries_arrays(stm) && loop->u.loop.form == CORE_FOR) {
    by_size(fl, goal, loop, out);
  } else if (!stays) {
    in_one_item(fl, goal, goal->b, out);
  } else {
    core_let_vars(goal->b, stm->binders, stm->binder_count, loop);
    for (int i = 0; i < stm->binder_count; i++)
      out[i] = atom_var(stm->binders[i]);
  }
}
