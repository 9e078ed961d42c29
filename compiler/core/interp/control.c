// Assertions, branches, loops, calls, and the choices between versions.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <string.h>

// ---- assert

typedef struct Assertion {
  const Exp *exp;
  const Slot *values;
} Assertion;

// A value as a message shows it: without suffix.
static void add_value(Text *t, Prim value) {
  const char *text = prim_text(value), *suffix = prim_type_name(value.type);
  size_t length = strlen(text), cut = strlen(suffix);
  bool suffixed = length > cut && strcmp(text + length - cut, suffix) == 0;
  text_add_bytes(t, text, suffixed ? length - cut : length);
}

static bool run_assert(Machine *m, const Ins *ins) {
  if (ins->a->i) return true;
  const Assertion *a = ins->more;
  Text *t = text_new();
  for (int i = 0; i < a->exp->u.assert.value_count; i++) {
    text_add(t, a->exp->u.assert.parts[i]);
    add_value(t, word_prim(a->values[i].elem, a->values[i].at));
  }
  text_add(t, a->exp->u.assert.parts[a->exp->u.assert.value_count]);
  return run_fail(m, ins->stm, "%s", text_str(t));
}

static void gen_assert(Gen *g, const Exp *exp, const Slot *to) {
  const Slot *values = gen_atoms(g, exp->u.assert.values, exp->u.assert.value_count);
  const Assertion *a = new_node(Assertion, .exp = exp, .values = values);
  Slot condition = gen_slot(g, exp->u.assert.condition);
  gen_add(g, (Ins){ .run = run_assert, .a = condition.at, .more = a });
  gen_moves(g, to, exp->u.assert.atoms, exp->u.assert.atom_count);
}

// ---- branches

typedef struct BranchCode {
  const InsCode *first, *second;
} BranchCode;

static bool run_if(Machine *m, const Ins *ins) {
  const BranchCode *b = ins->more;
  return run_code(m, ins->a->i ? b->first : b->second);
}

// Both bodies; each ends the lives that end with this statement.
static BranchCode gen_branches(Gen *g, const Body *first, const Body *second,
                               const Slot *to) {
  VarVec mortal = { 0 };
  vec_each (const Var **, var, &g->dying)
    vec_push(&mortal, *var);
  g->dying.count = 0;
  BranchCode b = { .first = gen_branch(g, first, mortal, to) };
  b.second = gen_branch(g, second, mortal, to);
  return b;
}

static void gen_if(Gen *g, const Exp *exp, const Slot *to) {
  BranchCode b = gen_branches(g, exp->u.cond.then_body, exp->u.cond.else_body, to);
  Slot condition = gen_slot(g, exp->u.cond.condition);
  gen_add(g, (Ins){ .run = run_if, .a = condition.at, .more = mem_copy(&b, sizeof b) });
}

// ---- versions

// Futhark's default threshold on a GPU.
static const int64_t default_threshold = 32768;

typedef struct VersionCode {
  BranchCode branches;
  const Exp *exp;
  const struct ParCode *par;  // NULL: 0
} VersionCode;

// A size expression with its variables found.
typedef struct ParCode {
  SizeExpKind kind;
  const Word *atom;
  const struct ParCode *a, *b;
} ParCode;

static const ParCode *gen_par(Gen *g, const SizeExp *exp) {
  if (exp->kind == SIZE_EXP_ATOM)
    return new_node(ParCode, .kind = exp->kind, .atom = gen_slot(g, exp->atom).at);
  const ParCode *a = gen_par(g, exp->a), *b = gen_par(g, exp->b);
  return new_node(ParCode, .kind = exp->kind, .a = a, .b = b);
}

// Sizes are not negative, so overflow is towards infinity.
static int64_t par_value(const ParCode *p) {
  if (!p) return 0;
  if (p->kind == SIZE_EXP_ATOM) return p->atom->i;
  int64_t a = par_value(p->a), b = par_value(p->b), result = 0;
  bool overflow = false;
  if (p->kind == SIZE_EXP_ADD) overflow = __builtin_add_overflow(a, b, &result);
  if (p->kind == SIZE_EXP_MUL) overflow = __builtin_mul_overflow(a, b, &result);
  if (p->kind == SIZE_EXP_MAX) result = a > b ? a : b;
  return overflow ? INT64_MAX : result;
}

static bool run_version(Machine *m, const Ins *ins) {
  const VersionCode *v = ins->more;
  int64_t par = par_value(v->par);
  int forced = m->options.decide ? m->options.decide(m->options.state, v->exp, par) : -1;
  bool first = forced < 0 ? par >= default_threshold : forced == 1;
  return run_code(m, first ? v->branches.first : v->branches.second);
}

static void gen_version(Gen *g, const Exp *exp, const Slot *to) {
  bool is_guard = exp->kind == EXP_GUARD;
  VersionCode *v = new_node(VersionCode, .exp = exp);
  if (is_guard) v->par = gen_par(g, exp->u.guard.guard->par);
  bool has_size = !is_guard && exp->u.choose.by_size;
  if (has_size)
    v->par = new_node(ParCode, .kind = SIZE_EXP_ATOM,
                      .atom = gen_slot(g, exp->u.choose.size).at);
  v->branches = is_guard
                    ? gen_branches(g, exp->u.guard.then_body, exp->u.guard.else_body, to)
                    : gen_branches(g, exp->u.choose.first, exp->u.choose.second, to);
  gen_add(g, (Ins){ .run = run_version, .more = v });
}

// ---- loops

typedef struct LoopCode {
  const Word *bound, *go_on;
  Word *index;
  const InsCode *body;
} LoopCode;

static bool run_for(Machine *m, const Ins *ins) {
  const LoopCode *loop = ins->more;
  int64_t bound = loop->bound->i;
  for (int64_t i = 0; i < bound; i++) {
    loop->index->i = i;
    if (!run_code(m, loop->body)) return false;
  }
  return true;
}

static bool run_while(Machine *m, const Ins *ins) {
  const LoopCode *loop = ins->more;
  while (loop->go_on->i)
    if (!run_code(m, loop->body)) return false;
  return true;
}

// Arrays that the body itself reads must survive: they cannot become parameters.
static void spare(Gen *g, VarVec used, VarVec *spared) {
  for (int i = 0; i < used.count; i++)
    if (gen_consume(g, atom_var(used.at[i]))) vec_push(spared, used.at[i]);
}

static Slot *gen_params(Gen *g, const Var *const *params, int count) {
  Slot *slots = new_array(Slot, count);
  for (int i = 0; i < count; i++)
    slots[i] = gen_var(g, params[i]);
  return slots;
}

static VarVec arrays_among(const Var *const *vars, int count) {
  VarVec arrays = { 0 };
  for (int i = 0; i < count; i++)
    if (vars[i]->type.rank) vec_push(&arrays, vars[i]);
  return arrays;
}

// One round of the body: its results become the parameters.
static const InsCode *gen_round(Gen *g, const Exp *exp, const Slot *params) {
  InsVec outer = gen_begin(g);
  for (int i = 0; i < exp->u.loop.param_count; i++)
    gen_check(g, exp->u.loop.params[i]);
  gen_body(g, exp->u.loop.body, arrays_among(exp->u.loop.params, exp->u.loop.param_count),
           params);
  return gen_end(g, outer);
}

static void gen_loop(Gen *g, const Exp *exp, const Slot *to) {
  int count = exp->u.loop.param_count;
  const Slot *params = gen_params(g, exp->u.loop.params, count);
  VarVec spared = { 0 };
  spare(g, core_free_body(exp->u.loop.body), &spared);
  gen_moves(g, params, exp->u.loop.inits, count);
  bool is_for = exp->u.loop.form == CORE_FOR;
  LoopCode *loop = new_node(LoopCode, .body = gen_round(g, exp, params));
  if (is_for) loop->bound = gen_slot(g, exp->u.loop.bound).at;
  if (is_for) loop->index = gen_var(g, exp->u.loop.index).at;
  if (!is_for) loop->go_on = params[exp->u.loop.while_param].at;
  gen_add(g, (Ins){ .run = is_for ? run_for : run_while, .more = loop });
  Atom *finals = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    finals[i] = atom_var(exp->u.loop.params[i]);
    vec_push(&spared, exp->u.loop.params[i]);
  }
  vec_each (const Var **, var, &spared)
    if ((*var)->type.rank) vec_push(&g->dying, *var);
  gen_moves(g, to, finals, count);
}

// ---- calls

typedef struct FunctionCode {
  const InsCode *code;
  const Slot *params, *results;
} FunctionCode;

static bool run_call(Machine *m, const Ins *ins) { return run_code(m, ins->more); }

static FunctionCode *gen_function(Gen *g, const Function *f) {
  FunctionCode *known = map_get(g->functions, f);
  if (known) return known;
  FunctionCode *fc = new (FunctionCode);
  map_put(g->functions, f, fc);
  Slot *results = new_array(Slot, f->result_count);
  for (int i = 0; i < f->result_count; i++)
    results[i] = gen_temp(f->results[i].elem, f->results[i].rank);
  fc->params = gen_params(g, f->params, f->param_count);
  fc->results = results;
  InsVec outer = gen_begin(g);
  for (int i = 0; i < f->param_count; i++)
    gen_check(g, f->params[i]);
  gen_body(g, f->body, arrays_among(f->params, f->param_count), results);
  fc->code = gen_end(g, outer);
  return fc;
}

typedef struct ResultSlots {
  const Slot *to, *from;
  int count;
} ResultSlots;

static bool take_results(Machine *m, const Ins *ins) {
  const ResultSlots *r = ins->more;
  for (int i = 0; i < r->count; i++) {
    if (r->to[i].rank)
      array_move(m, r->to[i], r->from[i]);
    else
      *r->to[i].at = *r->from[i].at;
  }
  return true;
}

static void gen_call(Gen *g, const Exp *exp, const Slot *to) {
  const FunctionCode *fc = gen_function(g, exp->u.call.function);
  gen_moves(g, fc->params, exp->u.call.args, exp->u.call.arg_count);
  gen_add(g, (Ins){ .run = run_call, .more = fc->code });
  const ResultSlots *r = new_node(ResultSlots, .to = to, .from = fc->results,
                                  .count = exp->u.call.function->result_count);
  gen_add(g, (Ins){ .run = take_results, .more = r });
}

// The interpreter is the only worker (of several: workers.c).
static bool run_meet_split(Machine *m, const Ins *ins) {
  const VersionCode *v = ins->more;
  if (m->options.meet_split)
    m->options.meet_split(m->options.state, v->exp, par_value(v->par));
  return true;
}

static void gen_split(Gen *g, const Exp *exp, const Slot *to) {
  VersionCode *v =
      new_node(VersionCode, .exp = exp, .par = gen_par(g, exp->u.split.guard->par));
  if (exp->u.split.workers.kind == ATOM_CONST)
    gen_add(g, (Ins){ .run = run_meet_split, .more = v });
  Atom width = exp->u.split.width;
  gen_moves(g, to, (const Atom[]){ atom_i64(0), width, atom_i64(1), atom_i64(0), width },
            SPLIT_RESULTS);
}

static void gen_gather(Gen *g, const Exp *exp, const Slot *to) {
  Atom value = exp->u.gather.value;
  if (atom_type(value).rank)
    gen_moves(g, to, &value, 1);
  else
    gen_array_exp(g, exp_replicate(exp->u.gather.total, value), to[0]);
}

static void gen_fetch(Gen *g, const Exp *exp, const Slot *to) {
  Atom block = exp->u.fetch.block;
  CoreType type = atom_type(block);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++) {
    bool some = i == exp->u.fetch.dim;
    dims[i] = dim_slice(some ? exp->u.fetch.first : atom_i64(0),
                        some ? exp->u.fetch.rows : type.dims[i], atom_i64(1));
  }
  gen_index_exp(g, exp_slice(block, dims, false), to[0]);
}

static bool is_of_workers(const Exp *exp) {
  return exp->kind == EXP_SPLIT || exp_is_exchange(exp);
}

void gen_control_exp(Gen *g, const Exp *exp, const Slot *to) {
  if (g->m->options.workers && is_of_workers(exp)) {
    gen_workers_exp(g, exp, to);
    return;
  }
  switch ((int)exp->kind) {
  case EXP_ASSERT: gen_assert(g, exp, to); break;
  case EXP_IF: gen_if(g, exp, to); break;
  case EXP_LOOP: gen_loop(g, exp, to); break;
  case EXP_CALL: gen_call(g, exp, to); break;
  case EXP_CHOOSE:
  case EXP_GUARD: gen_version(g, exp, to); break;
  case EXP_SPLIT: gen_split(g, exp, to); break;
  case EXP_GATHER: gen_gather(g, exp, to); break;
  case EXP_BORDER: gen_moves(g, to, &exp->u.border.block, 1); break;
  case EXP_FETCH: gen_fetch(g, exp, to); break;
  case EXP_DELIVER: gen_workers_exp(g, exp, to); break;
  }
}
