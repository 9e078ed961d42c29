// A sequential map around one reduction, on a CPU: blocks of POINTS neighbouring elements, whose
// accumulators advance together.
//
//   map (\x -> redomap m f xs) (.. j < n ..)   =>   for each block of j:
//     acc[l] = neutral   for k < m { for l < POINTS { acc[l] = op acc[l] (f at k, j0 + l) } }   store acc[l]
//
// The device's compiler vectorises the loop over l, and what the lanes read lies side by side: it applies
// only if every read of the reduction's loop is at the same address in all lanes or at neighbouring
// ones; rows that are summed one by one are better left to the reduction itself.  (Segmaps are written
// with explicit vectors: lower_vectors.c.)
#include "imp/lower.h"

enum { POINTS = 32 };

typedef struct Lanes {
  const Stm *stm;
  const Body *body;  // of the map's function
  const Var *index;  // j
  const Soac *map;   // its parameters are bound in each lane
  int red;           // position of the redomap in the body
  const Arr **outs;
  const ImpExp *const *at;  // where in the outputs: j
  int at_count;
  const ImpExp *first;  // j0
  const ImpExp *count;  // lanes of this block
  const Mem **accs;     // private arrays, one per reduced value
} Lanes;

// ---- does it apply?

static bool is_plain(const Stm *stm) {
  ExpKind kind = stm->exp->kind;
  bool view = kind == EXP_INDEX || kind == EXP_REARRANGE || kind == EXP_ATOM ||
              kind == EXP_RESHAPE;
  return view || kind == EXP_OP || kind == EXP_CONVERT || kind == EXP_BITS;
}

static bool all_plain(const Body *body, int from, int to) {
  for (int i = from; i < to; i++)
    if (!is_plain(&body->stms[i])) return false;
  return true;
}

static bool scalar_results(const Body *body) {
  for (int i = 0; i < body->result_count; i++)
    if (atom_type(body->results[i]).rank > 0) return false;
  return true;
}

static bool simple_redomap(const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  if (soac->fn.body->result_count != soac_red_count(soac)) return false;
  for (int i = 0; i < soac->op_count; i++)
    for (int k = 0; k < soac->ops[i].count; k++)
      if (soac->ops[i].op.params[k]->type.rank > 0) return false;
  return all_plain(soac->fn.body, 0, soac->fn.body->stm_count);
}

// The one redomap of the body among plain statements; -1 if there is none.
static int find_redomap(const Body *body) {
  int red = -1;
  for (int i = 0; i < body->stm_count; i++) {
    if (is_plain(&body->stms[i])) continue;
    if (red >= 0 || body->stms[i].exp->kind != EXP_REDOMAP) return -1;
    red = i;
  }
  bool simple = red >= 0 && scalar_results(body) && simple_redomap(&body->stms[red]);
  return simple ? red : -1;
}

// ---- how an index moves from lane to lane

enum { STEP_OTHER = 2 };  // else 0 or 1

typedef struct Steps {
  const Var *lane;  // the innermost index
  Map *values;      // Var -> its ImpExp, for what the block declares
  int worst;        // of the reads seen
} Steps;

static int step_of(const Steps *s, const ImpExp *e);

static int step_of_op(const Steps *s, const ImpExp *e) {
  int a = step_of(s, e->u.op.args[0]);
  int b = op_arity(e->u.op.op) > 1 ? step_of(s, e->u.op.args[1]) : 0;
  if (op_arity(e->u.op.op) > 2 && step_of(s, e->u.op.args[2]) != 0) return STEP_OTHER;
  if (a == 0 && b == 0) return 0;
  if (e->u.op.op == OP_ADD && a + b == 1) return 1;
  return e->u.op.op == OP_SUB && a == 1 && b == 0 ? 1 : STEP_OTHER;
}

static int step_of(const Steps *s, const ImpExp *e) {
  switch (e->kind) {
  case IMP_CONST:
  case IMP_ITEM:
  case IMP_TUNING: return 0;
  case IMP_VAR:
    if (e->u.var == s->lane) return 1;
    return map_has(s->values, e->u.var) ? step_of(s, map_get(s->values, e->u.var)) : 0;
  case IMP_OP: return step_of_op(s, e);
  case IMP_CONVERT:
  case IMP_BITS: return step_of(s, e->u.convert.arg) == 0 ? 0 : STEP_OTHER;
  case IMP_LOAD: return step_of(s, e->u.load.index) == 0 ? 0 : STEP_OTHER;
  case IMP_SELECT: return STEP_OTHER;
  }
  return STEP_OTHER;
}

static void see_reads(Steps *s, const ImpExp *e) {
  if (e->kind == IMP_LOAD && e->u.load.mem->space == MEM_GLOBAL) {
    int step = step_of(s, e->u.load.index);
    s->worst = step > s->worst ? step : s->worst;
  }
  if (e->kind == IMP_OP)
    for (int i = 0; i < op_arity(e->u.op.op); i++)
      see_reads(s, e->u.op.args[i]);
  if (e->kind == IMP_CONVERT || e->kind == IMP_BITS) see_reads(s, e->u.convert.arg);
  if (e->kind == IMP_LOAD) see_reads(s, e->u.load.index);
}

static void see_block(Steps *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind != IMP_DECLARE || !(*stm)->u.declare.value) continue;
    see_reads(s, (*stm)->u.declare.value);
    if ((*stm)->u.declare.var != s->lane)
      map_put(s->values, (*stm)->u.declare.var, (*stm)->u.declare.value);
  }
}

// ---- code

// The statements [from, to) of the body, in one lane.
static void run_stms(Code *k, const Body *body, int from, int to) {
  for (int i = from; i < to; i++)
    seq_stm(k, &body->stms[i], body, i);
}

static const Soac *reduction(const Lanes *s) {
  return &s->body->stms[s->red].exp->u.soac;
}

// for l < count { block }, with j and the statements before the redomap in it
static Code open_lane(const Lanes *s, Code *k, ImpBuilder *b, const Var **lane) {
  *lane = var_new(k->lower->c, name_of(k->lower->c->names, "lane"), type_scalar(PRIM_I64),
                  k->b->loc);
  map_put(k->inside, *lane, *lane);
  Code inner = code_inner(k, b);
  code_bind_scalar(&inner, s->index, imp_add(s->first, imp_var(*lane)));
  code_bind_elements(&inner, &s->map->fn, s->map->arrays, s->map->array_count,
                     imp_var(s->index));
  run_stms(&inner, s->body, 0, s->red);
  return inner;
}

static void close_lane(const Lanes *s, Code *k, const ImpBuilder *b, const Var *lane) {
  imp_add_stm(k->b,
              (ImpStm){ .kind = IMP_FOR, .u.loop = { lane, s->count, b->block, false } });
}

static void clear_accs(const Lanes *s, Code *k) {
  const Soac *soac = reduction(s);
  ImpBuilder b;
  const Var *lane;
  Code inner = open_lane(s, k, &b, &lane);
  for (int o = 0, next = 0; o < soac->op_count; o++)
    for (int i = 0; i < soac->ops[o].count; i++, next++)
      imp_store(inner.b, s->accs[next], imp_var(lane), imp_atom(soac->ops[o].neutral[i]));
  close_lane(s, k, &b, lane);
}

static void advance_acc(const Lanes *s, Code *k, const RedOp *op, int first,
                        const Var *lane, const ImpExp *const *values) {
  Accumulator acc = { op, new_array(const Var *, op->count),
                      new_array(const Arr *, op->count) };
  for (int i = 0; i < op->count; i++)
    acc.vars[i] = imp_declare(k->b, "acc", imp_load(s->accs[first + i], imp_var(lane)));
  acc_apply(k, &acc, values + first, new_array(const Arr *, op->count));
  for (int i = 0; i < op->count; i++)
    imp_store(k->b, s->accs[first + i], imp_var(lane), imp_var(acc.vars[i]));
}

// Element `at` of the reduction in every lane.
static ImpBlock advance(const Lanes *s, Code *k, const ImpExp *at) {
  const Soac *soac = reduction(s);
  ImpBuilder round, b;
  Code outer = code_inner(k, &round);
  const Var *lane;
  Code inner = open_lane(s, &outer, &b, &lane);
  code_bind_elements(&inner, &soac->fn, soac->arrays, soac->array_count, at);
  int count = soac->fn.body->result_count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  seq_body(&inner, soac->fn.body, values, new_array(const Arr *, count + 1));
  for (int o = 0, first = 0; o < soac->op_count; first += soac->ops[o++].count)
    advance_acc(s, &inner, &soac->ops[o], first, lane, values);
  close_lane(s, &outer, &b, lane);
  return round.block;
}

static void store_lanes(const Lanes *s, Code *k) {
  const Body *body = s->body;
  const Stm *red = &body->stms[s->red];
  ImpBuilder b;
  const Var *lane;
  Code inner = open_lane(s, k, &b, &lane);
  for (int i = 0; i < red->binder_count; i++)
    code_bind_scalar(&inner, red->binders[i], imp_load(s->accs[i], imp_var(lane)));
  run_stms(&inner, body, s->red + 1, body->stm_count);
  for (int i = 0; i < body->result_count; i++) {
    Arr to = arr_peel(s->outs[i], s->at, s->at_count);
    imp_store(inner.b, to.mem, to.offset, imp_atom(body->results[i]));
  }
  close_lane(s, k, &b, lane);
}

static const Var *red_index(Code *k) {
  const Var *i = var_new(k->lower->c, name_of(k->lower->c->names, "k"),
                         type_scalar(PRIM_I64), k->b->loc);
  map_put(k->inside, i, i);
  return i;
}

// One block of lanes.
static ImpBlock lane_block(Lanes *s, Code *k, const ImpExp *count) {
  const Soac *soac = reduction(s);
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  s->count = count;
  clear_accs(s, &inner);
  const Var *at = red_index(&inner);
  ImpBlock round = advance(s, &inner, imp_var(at));
  imp_add_stm(&b, (ImpStm){ .kind = IMP_FOR,
                            .u.loop = { at, imp_atom(soac->width), round, false } });
  store_lanes(s, &inner);
  return b.block;
}

static void make_accs(Lanes *s, Code *k) {
  const Stm *red = &s->body->stms[s->red];
  s->accs = new_array(const Mem *, red->binder_count + 1);
  for (int i = 0; i < red->binder_count; i++) {
    s->accs[i] = mem_new(k->lower->c, "accs", MEM_PRIVATE, red->binders[i]->type.elem);
    imp_add_stm(
        k->b, (ImpStm){ .kind = IMP_LOCAL, .u.alloc = { s->accs[i], imp_i64(POINTS) } });
  }
}

// Lowers one round on trial and looks at what it reads.
static bool reads_side_by_side(Code *k, const Lanes *lanes) {
  Lanes s = *lanes;
  KernelCode *trial = kernel_begin(k, s.stm->loc);
  make_accs(&s, &trial->code);
  s.first = imp_i64(0);
  s.count = imp_i64(POINTS);
  ImpBlock round = advance(&s, &trial->code, imp_var(red_index(&trial->code)));
  Steps steps = { .lane = s.index, .values = map_new(NULL) };
  see_block(&steps, &round.at[round.count - 1]->u.loop.body);
  return steps.worst == 1;
}

// Code for the block that begins at s->first, of at most `width - first` points.
static void any_block(Lanes *s, Code *k, const ImpExp *width) {
  const ImpExp *rest = imp_sub(width, s->first);
  const ImpExp *lanes =
      imp_var(imp_declare(k->b, "lanes", imp_min(imp_i64(POINTS), rest)));
  make_accs(s, k);
  ImpBlock full = lane_block(s, k, imp_i64(POINTS)), partial = lane_block(s, k, lanes);
  const ImpExp *is_full = imp_op2(OP_EQ, lanes, imp_i64(POINTS));
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_IF, .u.cond = { is_full, full, partial } });
}

static bool map_lanes(Code *k, const Stm *stm, Lanes *out) {
  const Soac *map = &stm->exp->u.soac;
  if (k->lower->profile != PROFILE_CPU || stm->exp->kind != EXP_MAP) return false;
  Lanes s = { .stm = stm,
              .body = map->fn.body,
              .map = map,
              .red = find_redomap(map->fn.body),
              .at_count = 1 };
  if (s.red < 0) return false;
  s.index = var_new(k->lower->c, name_of(k->lower->c->names, "j"), type_scalar(PRIM_I64),
                    stm->loc);
  const ImpExp **at = new_array(const ImpExp *, 1);
  at[0] = imp_var(s.index);
  s.at = at;
  *out = s;
  return reads_side_by_side(k, &s);
}

bool seq_has_lanes(Code *k, const Stm *stm) {
  Lanes s;
  return map_lanes(k, stm, &s);
}

bool seq_lanes(Code *k, const Stm *stm) {
  const Soac *map = &stm->exp->u.soac;
  Lanes s;
  if (!map_lanes(k, stm, &s)) return false;
  s.outs = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    Arr out = code_alloc_for(k, stm->binders[i]);
    s.outs[i] = mem_copy(&out, sizeof out);
    code_bind(k, stm->binders[i], out);
  }
  const ImpExp *width = imp_atom(map->width);
  const Var *block = var_new(k->lower->c, name_of(k->lower->c->names, "block"),
                             type_scalar(PRIM_I64), stm->loc);
  map_put(k->inside, block, block);
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  s.first = imp_var(imp_declare(&b, "first", imp_mul(imp_var(block), imp_i64(POINTS))));
  any_block(&s, &inner, width);
  const ImpExp *blocks = imp_ceil_div(width, imp_i64(POINTS));
  imp_add_stm(k->b,
              (ImpStm){ .kind = IMP_FOR, .u.loop = { block, blocks, b.block, false } });
  return true;
}
