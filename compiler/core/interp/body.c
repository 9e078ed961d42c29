// Bodies and statements to instructions, with the lifetimes of arrays.
//
// Note [Lifetimes].  An array lives in the words of its variable from its statement to its last use
// in the body that binds it.  The last use either takes the words over (a move into a result, a
// loop parameter, an update in place) or is followed by a kill.  Bodies that run once for the
// statement (branches) may end the life of arrays from around them; bodies that run often (lambdas,
// loops) only that of their own parameters and binders.  So every body leaves its words empty,
// ready to run again.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <string.h>

void gen_add(Gen *g, Ins ins) {
  ins.stm = g->stm;
  vec_push(&g->code, ins);
}

InsVec gen_begin(Gen *g) {
  InsVec outer = g->code;
  g->code = (InsVec){ 0 };
  return outer;
}

const InsCode *gen_end(Gen *g, InsVec outer) {
  const InsCode *code = new_node(InsCode, .ins = g->code.at, .count = g->code.count);
  g->code = outer;
  return code;
}

Slot gen_temp(PrimType elem, int rank) {
  Slot s = { .elem = elem, .rank = rank };
  s.at = new_array(Word, slot_words(s));
  return s;
}

void gen_alias(Gen *g, const Var *var, Slot slot) {
  map_put(g->slots, var, mem_copy(&slot, sizeof slot));
}

Slot gen_var(Gen *g, const Var *var) {
  const Slot *known = map_get(g->slots, var);
  if (known) return *known;
  Slot s = gen_temp(var->type.elem, var->type.rank);
  gen_alias(g, var, s);
  return s;
}

Slot gen_slot(Gen *g, Atom a) {
  if (a.kind == ATOM_VAR) return gen_var(g, a.u.var);
  Slot s = gen_temp(a.u.constant.type, 0);
  word_set_prim(s.at, a.u.constant);
  return s;
}

Slot *gen_atoms(Gen *g, const Atom *atoms, int count) {
  Slot *slots = new_array(Slot, count);
  for (int i = 0; i < count; i++)
    slots[i] = gen_slot(g, atoms[i]);
  return slots;
}

Slot *gen_binders(Gen *g) {
  Slot *to = new_array(Slot, g->stm->binder_count);
  for (int i = 0; i < g->stm->binder_count; i++)
    to[i] = gen_var(g, g->stm->binders[i]);
  return to;
}

// ---- moves

static bool move_scalar(Machine *m, const Ins *ins) {
  (void)m;
  *ins->dst = *ins->a;
  return true;
}

typedef struct Move {
  Slot to, from;
} Move;

static bool move_array(Machine *m, const Ins *ins) {
  const Move *move = ins->more;
  array_move(m, move->to, move->from);
  return true;
}

static bool share_array(Machine *m, const Ins *ins) {
  const Move *move = ins->more;
  array_share(m, move->to, move->from);
  return true;
}

static bool kill_array(Machine *m, const Ins *ins) {
  const Move *move = ins->more;
  array_release(m, move->from);
  return true;
}

void gen_move_slot(Gen *g, Slot to, Slot from, bool consume) {
  if (to.rank == 0) {
    gen_add(g, (Ins){ .run = move_scalar, .dst = to.at, .a = from.at });
    return;
  }
  const Move *move = new_node(Move, .to = to, .from = from);
  gen_add(g, (Ins){ .run = consume ? move_array : share_array, .more = move });
}

static void add_kill(Gen *g, const Var *var) {
  gen_add(g, (Ins){ .run = kill_array, .more = new_node(Move, .from = gen_var(g, var)) });
}

bool gen_consume(Gen *g, Atom a) {
  for (int i = 0; a.kind == ATOM_VAR && i < g->dying.count; i++) {
    if (g->dying.at[i] != a.u.var) continue;
    g->dying.at[i] = g->dying.at[--g->dying.count];
    return true;
  }
  return false;
}

void gen_move(Gen *g, Slot to, Atom from) {
  gen_move_slot(g, to, gen_slot(g, from), gen_consume(g, from));
}

static bool same_var(Atom a, Atom b) {
  return a.kind == ATOM_VAR && b.kind == ATOM_VAR && a.u.var == b.u.var;
}

// Moves atom k unless the same variable is needed again.
static void move_kth(Gen *g, Slot to, const Atom *from, int count, int k) {
  bool again = false;
  for (int j = k + 1; j < count; j++)
    again |= same_var(from[k], from[j]);
  gen_move_slot(g, to, gen_slot(g, from[k]), !again && gen_consume(g, from[k]));
}

static bool lives_in(Gen *g, Atom a, Slot s) {
  return a.kind == ATOM_VAR && gen_var(g, a.u.var).at == s.at;
}

// Would writing target k destroy an atom that is read later?
static bool overlaps(Gen *g, const Slot *to, const Atom *from, int count) {
  for (int k = 0; k < count; k++)
    for (int j = k + 1; j < count; j++)
      if (lives_in(g, from[j], to[k]) && !lives_in(g, from[k], to[k])) return true;
  return false;
}

void gen_moves(Gen *g, const Slot *to, const Atom *from, int count) {
  bool indirect = overlaps(g, to, from, count);
  Slot *temps = new_array(Slot, count);
  for (int k = 0; k < count; k++) {
    bool in_place = lives_in(g, from[k], to[k]);
    if (in_place && !indirect) gen_consume(g, from[k]);
    if (in_place && !indirect) continue;
    temps[k] = indirect ? gen_temp(to[k].elem, to[k].rank) : to[k];
    move_kth(g, temps[k], from, count, k);
  }
  for (int k = 0; indirect && k < count; k++)
    gen_move_slot(g, to[k], temps[k], true);
}

// ---- shapes

typedef struct ShapeCheck {
  const Var *var;
  Slot array;
  const Slot *dims;
} ShapeCheck;

_Noreturn static void shape_bug(Machine *m, const Ins *ins, const ShapeCheck *check) {
  Text *t = text_new();
  for (int i = 0; i < check->array.rank; i++)
    text_printf(t, "[%lld]", (long long)slot_shape(check->array)[i]);
  text_printf(t, ", but its type says ");
  for (int i = 0; i < check->array.rank; i++)
    text_printf(t, "[%lld]", (long long)check->dims[i].at->i);
  run_bug(m, ins->stm, "%s_%d has shape %s", check->var->name, check->var->id,
          text_str(t));
}

static bool check_shape(Machine *m, const Ins *ins) {
  const ShapeCheck *check = ins->more;
  const int64_t *shape = slot_shape(check->array);
  for (int i = 0; i < check->array.rank; i++)
    if (shape[i] != check->dims[i].at->i) shape_bug(m, ins, check);
  return true;
}

void gen_check(Gen *g, const Var *var) {
  if (var->type.rank == 0) return;
  const Slot *dims = gen_atoms(g, var->type.dims, var->type.rank);
  const ShapeCheck *check =
      new_node(ShapeCheck, .var = var, .array = gen_var(g, var), .dims = dims);
  gen_add(g, (Ins){ .run = check_shape, .more = check });
}

// ---- lifetimes

// For each statement of a body (and, last, its results) the arrays whose last use it is.
typedef struct Lives {
  VarVec *ends;  // stm_count + 1
  Map *last;     // Var to the address of its place in `ends`
  VarVec owned;
} Lives;

static void own(Lives *lives, const Var *var) {
  if (var->type.rank == 0) return;
  vec_push(&lives->owned, var);
  map_put(lives->last, var, lives);  // no use seen yet
}

static void note_use(Lives *lives, const Var *var, int place) {
  if (map_get(lives->last, var)) map_put(lives->last, var, &lives->ends[place]);
}

// Of what the body makes views, through which who runs seg-ops may see.
static const Map *seen_through(const Gen *g, const Body *body) {
  Map *out = map_new(NULL);
  for (int i = 0; g->m->options.run_seg && i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    bool views = exp->kind == EXP_INDEX || exp->kind == EXP_REARRANGE ||
                 exp->kind == EXP_ATOM || exp->kind == EXP_ASSERT;
    VarVec used = views ? core_free_exp(exp) : (VarVec){ 0 };
    vec_each (const Var **, var, &used)
      map_put(out, *var, *var);
  }
  return out;
}

// `unused` are told apart: they are owned but nothing reads them.
static Lives *lives_of(const Body *body, VarVec mortal, const Map *immortal,
                       VarVec *unused) {
  Lives *lives = new_node(Lives, .last = map_new(NULL));
  lives->ends = new_array(VarVec, body->stm_count + 1);
  for (int i = 0; i < mortal.count; i++)
    own(lives, mortal.at[i]);
  for (int i = 0; i < body->stm_count; i++) {
    VarVec used = core_free_exp(body->stms[i].exp);
    for (int k = 0; k < used.count; k++)
      note_use(lives, used.at[k], i);
    for (int k = 0; k < body->stms[i].binder_count; k++)
      own(lives, body->stms[i].binders[k]);
  }
  for (int k = 0; k < body->result_count; k++)
    if (body->results[k].kind == ATOM_VAR)
      note_use(lives, body->results[k].u.var, body->stm_count);
  vec_each (const Var **, var, &lives->owned) {
    VarVec *end = map_get(lives->last, *var);
    if ((void *)end == (void *)lives) end = unused;
    if (!map_has(immortal, *var)) vec_push(end, *var);
  }
  return lives;
}

static bool contains(VarVec vars, const Var *var) {
  for (int i = 0; i < vars.count; i++)
    if (vars.at[i] == var) return true;
  return false;
}

static void kill_dying(Gen *g) {
  vec_each (const Var **, var, &g->dying)
    add_kill(g, *var);
  g->dying.count = 0;
}

static void gen_statement(Gen *g, const Stm *stm, VarVec dying, VarVec unused) {
  const InterpOptions *options = &g->m->options;
  g->stm = stm;
  g->dying = dying;
  if (options->run_seg) options->meet_stm(options->seg_state, stm);
  gen_stm(g, stm);
  g->stm = stm;
  if (stm->attrs && stm->attrs->traced && options->trace) gen_trace(g, stm);
  if (stm->attrs && stm->attrs->stops && options->trace) gen_stop(g, stm);
  for (int k = 0; k < stm->binder_count; k++)
    gen_check(g, stm->binders[k]);
  kill_dying(g);
  for (int k = 0; k < stm->binder_count; k++)
    if (contains(unused, stm->binders[k])) add_kill(g, stm->binders[k]);
}

// The statements; on return g->dying are the arrays that only the results use.
static void gen_statements(Gen *g, const Body *body, VarVec mortal) {
  VarVec unused = { 0 };
  const Lives *lives = lives_of(body, mortal, seen_through(g, body), &unused);
  vec_each (const Var **, var, &mortal)
    if (contains(unused, *var)) add_kill(g, *var);
  for (int i = 0; i < body->stm_count; i++)
    gen_statement(g, &body->stms[i], lives->ends[i], unused);
  g->dying = lives->ends[body->stm_count];
}

void gen_body(Gen *g, const Body *body, VarVec mortal, const Slot *to) {
  const Stm *stm = g->stm;
  VarVec dying = g->dying;
  gen_statements(g, body, mortal);
  g->stm = stm;
  gen_moves(g, to, body->results, body->result_count);
  kill_dying(g);
  g->dying = dying;
}

const InsCode *gen_branch(Gen *g, const Body *body, VarVec mortal, const Slot *to) {
  InsVec outer = gen_begin(g);
  gen_body(g, body, mortal, to);
  return gen_end(g, outer);
}

static VarVec array_params(const Lambda *fn) {
  VarVec arrays = { 0 };
  for (int i = 0; i < fn->param_count; i++)
    if (fn->params[i]->type.rank) vec_push(&arrays, fn->params[i]);
  return arrays;
}

void gen_lambda_to(Gen *g, const Lambda *fn, const Slot *to) {
  for (int i = 0; i < fn->param_count; i++)
    gen_check(g, fn->params[i]);
  gen_body(g, fn->body, array_params(fn), to);
}

// Scalar results stay where they are; arrays are moved out of the reach of kills.
Slot *gen_lambda(Gen *g, const Lambda *fn) {
  const Body *body = fn->body;
  Slot *to = new_array(Slot, body->result_count);
  for (int i = 0; i < body->result_count; i++) {
    CoreType type = atom_type(body->results[i]);
    bool stays = type.rank == 0 && body->results[i].kind == ATOM_VAR;
    to[i] = stays ? gen_slot(g, body->results[i]) : gen_temp(type.elem, type.rank);
  }
  gen_lambda_to(g, fn, to);
  return to;
}

// ---- statements

static void gen_by_group(Gen *g, const Exp *exp, const Slot *to) {
  switch (exp->kind) {
  case EXP_ATOM: gen_move(g, to[0], exp->u.atom.atom); break;
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS: gen_scalar_exp(g, exp, to[0]); break;
  case EXP_INDEX:
  case EXP_UPDATE: gen_index_exp(g, exp, to[0]); break;
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_REARRANGE:
  case EXP_RESHAPE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_ARRAY: gen_array_exp(g, exp, to[0]); break;
  case EXP_ASSERT:
  case EXP_IF:
  case EXP_LOOP:
  case EXP_CALL:
  case EXP_CHOOSE:
  case EXP_SPLIT:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_GUARD: gen_control_exp(g, exp, to); break;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER:
  case EXP_SEG: gen_soac_exp(g, exp, to); break;
  }
}

void gen_stm(Gen *g, const Stm *stm) { gen_by_group(g, stm->exp, gen_binders(g)); }
