// map n (\x -> let y = e in e') xs             =>  let y = e in map n (\x -> e') xs
// loop p = a for i < n do let y = e in e'      =>  let y = e in loop p = a for i < n do e'
// map n (\x -> let y = assert b {z} in e) xs   =>  let b' = n <= 0 || b
//                                                  let y = assert b' {z} in map n (\x -> e) xs
// map n (\x -> let y = a / d in e) xs          =>  let d' = if n <= 0 then 1 else d
//                                                  let y = a / d' in map n (\x -> e) xs
// if b then let k = n * m in e else e'         =>  let k = n * m in if b then e else e'
//   where e reads nothing that is bound inside, and cannot fail or certainly runs
//
// Needs: Core; binders unique.  Keeps: both.
// Why: sizes must stand outside of what they are sizes of, or a regular nest looks irregular; and
// what does not vary should be computed once.  An array that is written in place stays: outside
// it would be copied by each iteration.  Of a branch only arithmetic on sizes leaves, and, where
// that leads out of a loop or map around the branch, other scalars that sizes depend on;
// assertions and divisions then ask for the branch's condition as for n above.  Divisions leave
// for the sake of sizes only: kernels know what `% n` means for an index.
//
// Each variable has a level: how many bodies are around the one that binds it.  A statement moves
// outwards to the deepest level that it reads, as far as the bodies on the way let it go.
#include "core/hoist.h"
#include "core/passes.h"

typedef enum FrameKind { FRAME_TOP, FRAME_REPEATED, FRAME_BRANCH } FrameKind;

enum {
  MAX_LEVEL = 63
};  // deeper bodies keep their statements: sets of levels are 64 bits

// A body on the way from the outermost to the current one.
typedef struct HoistFrame {
  FrameKind kind;
  bool has_times;      // FRAME_REPEATED: the body runs `times` times
  bool has_condition;  // FRAME_BRANCH: it runs if the condition is `taken`
  bool taken;
  Atom times, condition;
  Vec(Stm) stms;
  uint64_t reads;  // levels of the variables that its statements read
  bool may_fail;
} HoistFrame;

typedef struct Hoist {
  Compiler *c;
  HoistFacts *facts;
  Map *levels;  // Var -> level + 1, as a pointer; outermost parameters are not in it
  Vec(HoistFrame *) frames;
  const Exp *exp;  // whose children are being walked
  uint64_t reads;  // what the statement at hand reads: a set of levels
  bool may_fail;
} Hoist;

static int level_now(const Hoist *h) { return h->frames.count - 1; }

static int level_of(const Hoist *h, const Var *var) {
  intptr_t stored = (intptr_t)map_get(h->levels, var);
  return stored ? (int)stored - 1 : 0;
}

static void set_level(Hoist *h, const Var *var, int level) {
  map_put(h->levels, var, (const void *)((intptr_t)level + 1));
}

static uint64_t level_bit(int level) {
  return UINT64_C(1) << (level < MAX_LEVEL ? level : MAX_LEVEL);
}

static uint64_t atom_reads(const Hoist *h, Atom a) {
  return a.kind == ATOM_VAR ? level_bit(level_of(h, a.u.var)) : 0;
}

static uint64_t type_reads(const Hoist *h, CoreType type) {
  uint64_t reads = 0;
  for (int i = 0; i < type.rank; i++)
    reads |= atom_reads(h, type.dims[i]);
  return reads;
}

// ---- where to

static bool runs_certainly(const HoistFrame *frame) {
  return frame->has_times && frame->times.kind == ATOM_CONST &&
         frame->times.u.constant.u.i > 0;
}

static bool is_size_op(const Exp *e) {
  if (e->kind != EXP_OP || e->u.op.type != PRIM_I64) return false;
  PrimOp op = e->u.op.op;
  return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN || op == OP_MAX;
}

static bool is_division(const Exp *e) {
  return e->kind == EXP_OP && prim_is_int(e->u.op.type) &&
         op_may_trap(e->u.op.op, e->u.op.type) && e->u.op.op != OP_POW;
}

// It fails outside only if it had failed inside: what it asks can be made to hold where the body
// would not have run (weaken).
static bool can_weaken(const Exp *e) { return e->kind == EXP_ASSERT || is_division(e); }

static bool lets_go(const Hoist *h, const HoistFrame *frame, const Stm *stm) {
  if (frame->kind == FRAME_BRANCH) {
    if (is_size_op(stm->exp)) return true;
    if (!hoist_sizes_need(h->facts, stm)) return false;
    return h->may_fail ? frame->has_condition && can_weaken(stm->exp)
                       : exp_is_scalar(stm->exp);
  }
  if (hoist_is_kept(h->facts, stm)) return false;
  if (!h->may_fail || runs_certainly(frame)) return true;
  bool can = stm->exp->kind == EXP_ASSERT ||
             (is_division(stm->exp) && hoist_sizes_need(h->facts, stm));
  return can && frame->has_times;
}

// What tells whether the body runs.
static uint64_t frame_reads(const Hoist *h, const HoistFrame *frame) {
  if (runs_certainly(frame)) return 0;
  return atom_reads(h, frame->kind == FRAME_BRANCH ? frame->condition : frame->times);
}

// The level at which the statement may stand.  What an assertion or division on its way has to ask
// in addition is read from there, too.
static int target_level(Hoist *h, const Stm *stm) {
  int now = level_now(h), target = now;
  if (now >= MAX_LEVEL) return now;
  uint64_t reads = h->reads;
  for (int level = now; level > 0 && reads < level_bit(level); level--) {
    const HoistFrame *frame = h->frames.at[level];
    if (!lets_go(h, frame, stm)) break;
    if (h->may_fail) reads |= frame_reads(h, frame);
    if (frame->kind == FRAME_BRANCH && !is_size_op(stm->exp)) continue;
    target = level - 1;
    h->reads = reads;
  }
  return target;
}

// ---- moving

static void emit_in_frame(Hoist *h, Stm stm, int level) {
  HoistFrame *frame = h->frames.at[level];
  vec_push(&frame->stms, stm);
  for (int i = 0; i < stm.binder_count; i++) {
    set_level(h, stm.binders[i], level);
    if (level == 0) hoist_note_sizes(h->facts, stm.binders[i]->type);
  }
  hoist_note_size_op(h->facts, &stm);
  frame->reads |= h->reads;
  frame->may_fail |= h->may_fail;
}

static Atom emit_op(Hoist *h, const char *name, const Exp *exp, int level, Loc loc) {
  Builder b = builder_new(h->c, loc);
  Atom result = core_let(&b, name, exp);
  for (int i = 0; i < b.stms.count; i++)
    emit_in_frame(h, b.stms.at[i], level);
  return result;
}

// Whether the body does not run, at level `target`.
static Atom emit_idle(Hoist *h, const HoistFrame *frame, int target, Loc loc) {
  if (frame->kind == FRAME_REPEATED)
    return emit_op(h, "idle", exp_op2(OP_LE, frame->times, atom_i64(0)), target, loc);
  if (!frame->taken) return frame->condition;
  return emit_op(h, "idle", exp_op1(OP_NOT, frame->condition), target, loc);
}

static const Exp *one_or(Hoist *h, Atom idle, Atom divisor) {
  Builder b = builder_new(h->c, (Loc){ 0 });
  Atom one = atom_const(prim_int(atom_type(divisor).elem, 1));
  return exp_if(idle, core_body(&b, &one, 1), core_body(&b, &divisor, 1));
}

// The assertion holds, and the divisor is one, also if one of the bodies that it left runs not at
// all.
static const Exp *weaken(Hoist *h, const Stm *stm, int target) {
  Exp e = *stm->exp;
  for (int level = level_now(h); level > target; level--) {
    const HoistFrame *frame = h->frames.at[level];
    if (runs_certainly(frame)) continue;
    Atom idle = emit_idle(h, frame, target, stm->loc);
    if (e.kind == EXP_ASSERT) {
      const Exp *either = exp_op2(OP_LOR, idle, e.u.assert.condition);
      e.u.assert.condition = emit_op(h, "holds", either, target, stm->loc);
    } else
      e.u.op.args[1] =
          emit_op(h, "divisor", one_or(h, idle, e.u.op.args[1]), target, stm->loc);
  }
  return mem_copy(&e, sizeof e);
}

static void move_stm(Hoist *h, Stm stm) {
  int target = target_level(h, &stm);
  if (target < level_now(h) && h->may_fail && can_weaken(stm.exp))
    stm.exp = weaken(h, &stm, target);
  emit_in_frame(h, stm, target);
}

// ---- walking

static Atom read_atom(CoreMapper *m, Atom a) {
  Hoist *h = m->state;
  h->reads |= atom_reads(h, a);
  return a;
}

// A parameter: bound by the body that comes next.
static const Var *enter_binder(CoreMapper *m, const Var *var) {
  Hoist *h = m->state;
  set_level(h, var, level_now(h) + 1);
  h->reads |= type_reads(h, var->type) & (level_bit(level_now(h) + 1) - 1);
  return var;
}

// How often the expression runs the body, or NULL if nobody can say (operators, while).
static const Atom *times_of(const Exp *e, const Body *body) {
  if (e->kind == EXP_LOOP) return e->u.loop.form == CORE_FOR ? &e->u.loop.bound : NULL;
  if (e->kind == EXP_SCATTER) return &e->u.scatter.width;
  if (e->kind == EXP_HIST) return body == e->u.hist.fn.body ? &e->u.hist.width : NULL;
  if (!exp_is_soac(e)) return NULL;
  return body == e->u.soac.fn.body ? &e->u.soac.width : NULL;
}

static HoistFrame *frame_new(const Exp *e, const Body *body) {
  const Atom *times = times_of(e, body);
  HoistFrame *frame =
      new_node(HoistFrame, .kind = exp_is_branch(e) ? FRAME_BRANCH : FRAME_REPEATED);
  frame->has_times = times != NULL;
  if (times) frame->times = *times;
  frame->has_condition = e->kind == EXP_IF;
  if (frame->has_condition) {
    frame->condition = e->u.cond.condition;
    frame->taken = body == e->u.cond.then_body;
  }
  return frame;
}

static void hoist_stm(CoreMapper *m, Stm stm) {
  Hoist *h = m->state;
  Hoist saved = *h;
  h->exp = stm.exp;
  h->reads = 0;
  h->may_fail = hoist_may_fail(h->facts, stm.exp);
  stm.exp = core_map_exp(m, stm.exp);
  for (int i = 0; i < stm.binder_count; i++)
    set_level(h, stm.binders[i], 0);
  for (int i = 0; i < stm.binder_count; i++)
    h->reads |= type_reads(h, stm.binders[i]->type);
  move_stm(h, stm);
  h->exp = saved.exp;
  h->reads = saved.reads;
  h->may_fail = saved.may_fail;
}

static const Body *frame_body(CoreMapper *m, HoistFrame *frame, const Body *body) {
  Hoist *h = m->state;
  vec_push(&h->frames, frame);
  for (int i = 0; i < body->stm_count; i++)
    hoist_stm(m, body->stms[i]);
  for (int i = 0; i < body->result_count; i++)
    frame->reads |= atom_reads(h, body->results[i]);
  h->frames.count--;
  return new_node(Body, .stms = frame->stms.at, .stm_count = frame->stms.count,
                  .results = body->results, .result_count = body->result_count);
}

static const Body *inner_body(CoreMapper *m, const Body *body) {
  Hoist *h = m->state;
  HoistFrame *frame = frame_new(h->exp, body);
  const Body *out = frame_body(m, frame, body);
  h->may_fail |= frame->may_fail;
  // Its own variables are at deeper levels; past the last level nothing moves anyway.
  uint64_t own = level_bit(level_now(h) + 1);
  h->reads |= level_now(h) + 1 < MAX_LEVEL ? frame->reads & (own - 1) : frame->reads;
  return out;
}

static const Body *hoist_body(Compiler *c, const Body *body) {
  Hoist h = { .c = c, .facts = hoist_facts(body), .levels = map_new(NULL) };
  CoreMapper m = {
    .atom = read_atom, .body = inner_body, .binder = enter_binder, .state = &h
  };
  return frame_body(&m, new_node(HoistFrame, .kind = FRAME_TOP), body);
}

const Core *hoist(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, hoist_body);
}
