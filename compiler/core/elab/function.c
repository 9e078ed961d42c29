// Scalar functions that stay functions.
//
// Everything is inlined, except what would only make the code longer: a top-level function of
// scalars that is worth a call, has no array in it and cannot fail, is evaluated once per type
// instance as a Core function.  Those that turn out to be called from one place are put there in
// the end.
#include "core/elab/elaborate.h"
#include <string.h>

enum {
  MIN_STATEMENTS = 16,  // of a function worth a call
  MAX_LONG_TRIES = 16,  // choices of literals that left a function worth a call
};

// A constant of the program that a function mentions, whose numbers are known only when the program
// runs: these become parameters of the function.
typedef struct LiftedConstant {
  const Binding *binding;
  const bool *is_param;  // for each leaf; the others are literals
} LiftedConstant;

struct LiftedConstants {
  Frame *caller;
  VarVec *params;
  Vec(LiftedConstant) at;
};

// What was found out about one type instance of a function.
typedef struct FunctionMemo {
  const Function *function;  // NULL: to be inlined
  const Val *result;         // the structure of its result
  const struct LiftedConstants *lifted;
  bool has_branches;
  Map *is_short;  // literals among the arguments -> bool *: is too little left?
  int long_tries;
} FunctionMemo;

// ---- candidates

static bool all_scalars(const Val *v) {
  if (v->kind == VAL_ATOM) return !atom_type(v->u.atom).rank;
  if (v->kind == VAL_CLOSURE) return false;
  for (int i = 0; i < v->u.record.count; i++) {
    if (!all_scalars(v->u.record.items[i])) return false;
  }
  return true;
}

static bool has_attr(const Binding *binding, const char *name) {
  vec_each (const AstAttr *const *, attr, &binding->attrs)
    if (!strcmp((*attr)->name, name)) return true;
  return false;
}

static bool is_candidate(const Closure *f) {
  const Binding *binding = f->binding;
  if (!binding || !binding->is_top || f->env || f->attrs || f->is_unsafe || f->is_exact ||
      binding->sizes.count)
    return false;
  if (!binding->loc.file || binding->loc.file->built_in) return false;
  // The arguments may tell where recursion ends.
  if (has_attr(binding, "inline") || binding->recurs) return false;
  if (binding->types.count && !f->inst) return false;
  for (int i = 0; i < f->arg_count; i++) {
    if (!all_scalars(f->args[i])) return false;
  }
  return true;
}

// Tells the type instances of a function apart.
static Name instance_key(Elab *e, const Closure *f) {
  Text *t = text_new();
  for (int i = 0; i < f->arg_count; i++) {
    AtomVec leaves = val_leaves(e, f->args[i]);
    vec_each (Atom *, leaf, &leaves)
      text_printf(t, "%s ", prim_type_name(atom_type(*leaf).elem));
    text_add(t, ", ");
  }
  for (int i = 0; i < f->binding->types.count; i++) {
    TypeIn type = typein_resolve((TypeIn){ f->inst->types[i], f->inst_env });
    text_printf(t, "%s ", type_text(type.type));
  }
  return name_of(e->c->names, text_str(t));
}

// ---- bodies

typedef struct Survey {
  bool fits;  // scalars only, nothing that can fail
  bool has_branches;
  int statements;
} Survey;

static void survey_body(CoreVisitor *v, const Body *body) {
  Survey *survey = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    survey->statements++;
    if (stm->exp->kind == EXP_IF) survey->has_branches = true;
    // What a residual function calls is residual, so it cannot fail either.
    bool may_fail = stm->exp->kind != EXP_CALL && exp_may_fail(stm->exp);
    if (exp_is_soac(stm->exp) || may_fail) survey->fits = false;
    for (int k = 0; k < stm->binder_count; k++) {
      if (stm->binders[k]->type.rank) survey->fits = false;
    }
    core_visit_exp(v, stm->exp);
  }
}

static Survey survey_of(const Body *body) {
  Survey survey = { .fits = body->result_count > 0 };
  CoreVisitor visitor = { .body = survey_body, .state = &survey };
  survey_body(&visitor, body);
  return survey;
}

static Atom fresh_param(Elab *e, Atom leaf, const void *state) {
  VarVec *const *params = state;
  const char *name = leaf.kind == ATOM_VAR ? leaf.u.var->name : "x";
  Name interned = name_of(e->c->names, name);
  vec_push(*params, var_new(e->c, interned, atom_type(leaf), e->b->loc));
  return atom_var((*params)->at[(*params)->count - 1]);
}

static Atom param_unless_literal(Elab *e, Atom leaf, const void *state) {
  return leaf.kind == ATOM_VAR ? fresh_param(e, leaf, state) : leaf;
}

// The closure applied to fresh parameters, for each leaf for which `param` makes one.
static Closure with_params(Elab *e, const Closure *f, LeafFn param, VarVec *params) {
  Closure g = *f;
  const Val **args = new_array(const Val *, f->arg_count);
  for (int i = 0; i < f->arg_count; i++)
    args[i] = val_map(e, f->args[i], param, &params);
  g.args = args;
  return g;
}

// ---- constants

static const bool *variable_leaves(Elab *e, const Val *v) {
  AtomVec leaves = val_leaves(e, v);
  bool *is_var = new_array(bool, leaves.count + 1);
  for (int i = 0; i < leaves.count; i++)
    is_var[i] = leaves.at[i].kind == ATOM_VAR;
  return is_var;
}

const Val *elab_lifted_constant(Elab *e, const Binding *binding) {
  Frame *frame = e->frame;
  struct LiftedConstants *lifted = frame->lifted;
  if (!lifted) return NULL;
  e->frame = lifted->caller;
  const Val *v = elab_constant(e, binding);
  e->frame = frame;
  if (!all_scalars(v)) return NULL;
  LiftedConstant constant = { binding, variable_leaves(e, v) };
  vec_push(&lifted->at, constant);
  const Val *inside = val_map(e, v, param_unless_literal, &lifted->params);
  map_put(frame->constants, binding, inside);
  return inside;
}

// False if what is a literal for the function is none here.
static bool add_constant(Elab *e, const LiftedConstant *constant, AtomVec *args) {
  AtomVec leaves = val_leaves(e, elab_constant(e, constant->binding));
  for (int i = 0; i < leaves.count; i++) {
    if (constant->is_param[i])
      vec_push(args, leaves.at[i]);
    else if (leaves.at[i].kind == ATOM_VAR)
      return false;
  }
  return true;
}

static const Function *make_function(Elab *e, const Closure *f, const VarVec *params,
                                     const Body *body) {
  CoreType *results = new_array(CoreType, body->result_count);
  for (int i = 0; i < body->result_count; i++)
    results[i] = atom_type(body->results[i]);
  const Function *function =
      new_node(Function, .name = f->binding->name, .loc = f->binding->loc,
               .noinline = has_attr(f->binding, "noinline"), .params = params->at,
               .param_count = params->count, .results = results,
               .result_count = body->result_count, .body = body);
  vec_push(&e->emitted, function);
  return function;
}

// A function that was evaluated by itself.
typedef struct Alone {
  VarVec params;
  struct LiftedConstants *lifted;
  const Val *result;
  const Body *body;  // NULL unless the result is of scalars
} Alone;

static Alone *evaluate_alone(Elab *e, const Closure *f, LeafFn param) {
  Builder *outer = e->b, b = builder_new(e->c, f->binding->loc);
  Frame *outer_frame = e->frame;
  Alone *alone = new (Alone);
  alone->lifted =
      new_node(struct LiftedConstants, .caller = outer_frame, .params = &alone->params);
  Frame frame = { .outer = &b,
                  .constants = map_new(NULL),
                  .sizes = map_new(NULL),
                  .lifted = alone->lifted };
  e->b = &b;
  e->frame = &frame;
  Closure g = with_params(e, f, param, &alone->params);
  alone->result = elab_body_of(e, &g, NULL);
  if (all_scalars(alone->result)) {
    AtomVec leaves = val_leaves(e, alone->result);
    alone->body = core_body(&b, leaves.at, leaves.count);
  }
  e->b = outer;
  e->frame = outer_frame;
  return alone;
}

// Evaluates the function by itself, to see what it is like.
static FunctionMemo *examine(Elab *e, const Closure *f) {
  const Alone *alone = evaluate_alone(e, f, fresh_param);
  FunctionMemo *memo = new_node(FunctionMemo, .result = alone->result,
                                .lifted = alone->lifted, .is_short = map_new(NULL));
  if (!alone->body) return memo;
  Survey survey = survey_of(alone->body);
  memo->has_branches = survey.has_branches;
  int least = has_attr(f->binding, "noinline") ? 0 : MIN_STATEMENTS;
  if (survey.fits && survey.statements >= least)
    memo->function = make_function(e, f, &alone->params, alone->body);
  return memo;
}

static FunctionMemo *memo_of(Elab *e, const Closure *f) {
  Map *instances = map_get(e->functions, f->function);
  if (!instances) map_put(e->functions, f->function, instances = map_new(NULL));
  Name key = instance_key(e, f);
  FunctionMemo *memo = map_get(instances, key);
  if (memo) return memo;
  memo = examine(e, f);
  map_put(instances, key, memo);
  return memo;
}

// ---- calls

// The literals among the arguments, or NULL if there are none.
static Name literals_of(Elab *e, const Closure *f) {
  Text *t = text_new();
  bool any = false;
  for (int i = 0; i < f->arg_count; i++) {
    AtomVec leaves = val_leaves(e, f->args[i]);
    vec_each (Atom *, leaf, &leaves) {
      if (leaf->kind == ATOM_CONST) core_print_atom(t, *leaf);
      any |= leaf->kind == ATOM_CONST;
      text_add(t, ",");
    }
  }
  return any ? name_of(e->c->names, text_str(t)) : NULL;
}

// Whether literals decide what the function does (which component to take, which of its formulas
// to compute), so that less is left of it than makes a call worth while.
static bool is_short_here(Elab *e, const Closure *f, FunctionMemo *memo) {
  if (!memo->has_branches || has_attr(f->binding, "noinline")) return false;
  Name literals = literals_of(e, f);
  if (!literals) return false;
  const bool *known = map_get(memo->is_short, literals);
  if (known) return *known;
  if (memo->long_tries == MAX_LONG_TRIES) return false;
  const Alone *alone = evaluate_alone(e, f, param_unless_literal);
  bool *is_short = new (bool);
  *is_short = alone->body && survey_of(alone->body).statements < MIN_STATEMENTS;
  memo->long_tries += !*is_short;
  map_put(memo->is_short, literals, is_short);
  return *is_short;
}

const Val *elab_residual_call(Elab *e, const Closure *f, const char *name) {
  if (e->deriving || e->exact || !is_candidate(f)) return NULL;
  FunctionMemo *memo = memo_of(e, f);
  if (!memo->function || is_short_here(e, f, memo)) return NULL;
  AtomVec args = { 0 };
  for (int i = 0; i < f->arg_count; i++)
    val_add_leaves(e, f->args[i], &args);
  for (int i = 0; i < memo->lifted->at.count; i++)
    if (!add_constant(e, &memo->lifted->at.at[i], &args)) return NULL;
  const Exp *exp =
      new_node(Exp, .kind = EXP_CALL, .u.call = { memo->function, args.at, args.count });
  Atom *out = new_array(Atom, memo->function->result_count);
  core_let_n(e->b, name ? name : f->binding->name, exp, out);
  return val_rebuild(e, memo->result, out);
}

// ---- functions that are called from one place

typedef struct Calls {
  Compiler *c;
  Map *counts;   // Function -> int *
  Map *kept;     // Function -> the function to call instead
  Map *inlined;  // Function -> its body
} Calls;

static void count_calls(CoreVisitor *v, const Body *body) {
  Calls *calls = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_CALL) {
      int *count = map_get(calls->counts, exp->u.call.function);
      if (!count) map_put(calls->counts, exp->u.call.function, count = new (int));
      ++*count;
    }
    core_visit_exp(v, exp);
  }
}

static void put_body(Calls *calls, Builder *b, const Stm *stm) {
  const Function *f = stm->exp->u.call.function;
  Subst *s = subst_new();
  for (int i = 0; i < f->param_count; i++)
    subst_put(s, f->params[i], stm->exp->u.call.args[i]);
  const Body *body = core_rename_body(calls->c, s, map_get(calls->inlined, f));
  core_add_body(b, body);
  b->loc = stm->loc;
  for (int i = 0; i < stm->binder_count; i++) {
    core_let_vars(b, stm->binders + i, 1, exp_atom(body->results[i]));
  }
}

static const Exp *call_kept(const Calls *calls, const Exp *exp) {
  const Function *kept = map_get(calls->kept, exp->u.call.function);
  return new_node(Exp, .kind = EXP_CALL,
                  .u.call = { kept, exp->u.call.args, exp->u.call.arg_count });
}

static const Body *inline_calls(CoreMapper *m, const Body *body) {
  Calls *calls = m->state;
  Builder b = builder_new(calls->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    bool is_call = stm.exp->kind == EXP_CALL;
    if (is_call && map_has(calls->inlined, stm.exp->u.call.function)) {
      put_body(calls, &b, &stm);
      continue;
    }
    stm.exp = is_call ? call_kept(calls, stm.exp) : core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static void inline_function(CoreMapper *m, const Function *f, Core *out) {
  Calls *calls = m->state;
  const int *count = map_get(calls->counts, f);
  const Body *body = inline_calls(m, f->body);
  if (!count) return;
  if (*count == 1 && !f->noinline) {
    map_put(calls->inlined, f, body);
    return;
  }
  Function *kept = mem_copy(f, sizeof *f);
  kept->body = body;
  map_put(calls->kept, f, kept);
  out->functions[out->function_count++] = kept;
}

const Core *elab_inline_single_calls(Compiler *c, const Core *core) {
  if (!core->function_count) return core;
  Calls calls = { c, map_new(NULL), map_new(NULL), map_new(NULL) };
  CoreVisitor visitor = { .body = count_calls, .state = &calls };
  CoreMapper mapper = { .body = inline_calls, .state = &calls };
  for (int i = 0; i < core->function_count; i++)
    count_calls(&visitor, core->functions[i]->body);
  for (int i = 0; i < core->entry_count; i++)
    count_calls(&visitor, core->entries[i]->body);
  Core *out = mem_copy(core, sizeof *core);
  out->functions = new_array(const Function *, core->function_count);
  out->function_count = 0;
  for (int i = 0; i < core->function_count; i++)
    inline_function(&mapper, core->functions[i], out);
  out->entries = new_array(const Entry *, core->entry_count);
  for (int i = 0; i < core->entry_count; i++) {
    Entry *entry = mem_copy(core->entries[i], sizeof *entry);
    entry->body = inline_calls(&mapper, entry->body);
    out->entries[i] = entry;
  }
  return out;
}
