// Functions that call themselves otherwise than at their ends, as loops with a stack.
//
//   def f x = if c x then base x else let a = f (g x) in let b = f (h x a) in k x a b
//
// The body is evaluated once, with own calls as statements of it.  A round of the loop goes from
// the beginning of the body, or from behind one of its calls, to the next call or to the end:
//
//   loop (sp, site, x, r, sites, xs, as) while something is to be done
//     site 0:  c x, or call g x, keeping x, going on at site 1
//     site 1:  let a = r                     call h xs[sp] a, keeping x and a, going on at site 2
//     site 2:  let b = r                     return k xs[sp] as[sp] b
//
// What is needed behind a call is kept in arrays, the slots, with a place for each call that is not
// done yet; their number is bounded.  Parameters that all calls pass on as they are stay outside.
#include "core/elab/stack.h"
#include "source/ast_walk.h"

// ---- own calls, while the body is evaluated

static _Noreturn void refuse(Elab *e, const char *what) {
  limit(e->c, e->b->loc, "recursion %s", what);
  elab_stop(e);
}

static _Noreturn void refuse_sizes(Elab *e) {
  refuse(e, "with arrays that change their sizes from call to call");
}

static const Val *call_itself(Elab *e, const Stack *s, const Closure *f,
                              const char *name) {
  AtomVec args = { 0 };
  for (int i = 0; i < f->arity; i++)
    if (!s->kept[i]) val_add_leaves(e, f->args[i], &args);
  for (int i = 0; i < args.count; i++)
    if (!type_same_shape(atom_type(args.at[i]), s->self->params[i]->type))
      refuse_sizes(e);
  const Exp *exp =
      new_node(Exp, .kind = EXP_CALL, .u.call = { s->self, args.at, args.count });
  Atom *out = new_array(Atom, s->self->result_count);
  core_let_n(e->b, name ? name : f->binding->name, exp, out);
  return val_rebuild(e, s->result, out);
}

const Val *elab_own_call(Elab *e, const Closure *f, const char *name) {
  for (const Stack *s = e->stacks; s; s = s->outer)
    if (s->function == f->function) return call_itself(e, s, f, name);
  return NULL;
}

// ---- parameters and results

typedef struct OwnCalls {
  const Closure *f;
  Vec(const AstExp *) at;  // with all arguments
  int mentions;
} OwnCalls;

static void note_call(AstVisitor *v, const AstExp *exp) {
  OwnCalls *calls = v->state;
  if (elab_is_own_call(exp, calls->f)) vec_push(&calls->at, exp);
  bool named = exp->kind == AST_NAME && exp->u.name.binding == calls->f->binding;
  calls->mentions += named;
  ast_visit_parts(v, exp);
}

static const bool *kept_params(Elab *e, const Closure *f) {
  OwnCalls calls = { .f = f };
  AstVisitor visitor = { .exp = note_call, .state = &calls };
  note_call(&visitor, f->function->body);
  if (calls.mentions > calls.at.count)
    refuse(e, "of a function that is passed on as a value");
  bool *kept = new_array(bool, f->arity);
  for (int i = 0; i < f->arity; i++) {
    kept[i] = true;
    vec_each (const AstExp **, call, &calls.at)
      kept[i] = kept[i] && elab_passes_on(f, *call, i);
    if (!kept[i] && val_holds_function(f->args[i]))
      refuse(e, "that passes other functions on");
  }
  return kept;
}

static Atom changing_param(Elab *e, Atom leaf, const void *state) {
  VarVec *const *params = state;
  const char *name = leaf.kind == ATOM_VAR ? leaf.u.var->name : "x";
  const Var *var = var_new(e->c, name_of(e->c->names, name), atom_type(leaf), e->b->loc);
  vec_push(*params, var);
  return atom_var(var);
}

// The call with parameters of its own in the places of what changes.
static Closure changing_params(Elab *e, const Stack *s, const Closure *f,
                               VarVec *params) {
  Closure g = *f;
  const Val **args = new_array(const Val *, f->arity);
  for (int i = 0; i < f->arity; i++)
    args[i] = s->kept[i] ? f->args[i] : val_map(e, f->args[i], changing_param, &params);
  g.args = args;
  return g;
}

typedef Vec(CoreType) CoreTypeVec;

static void check_fixed(Elab *e, int mark, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (!atom_is_older(type.dims[i], mark)) refuse_sizes(e);
}

static Atom note_type(Elab *e, CoreType type, void *state) {
  vec_push((CoreTypeVec *)state, type);
  Name name = name_of(e->c->names, "returned");
  return atom_var(var_new(e->c, name, type, e->b->loc));
}

static bool sizes_known(TypeIn t) {
  t = typein_resolve(t);
  if (t.type->kind == TYPE_ARRAY)
    return size_known((SizeIn){ t.type->u.array.size, t.env }) &&
           sizes_known((TypeIn){ t.type->u.array.elem, t.env });
  if (t.type->kind != TYPE_RECORD) return true;
  for (int i = 0; i < t.type->u.record.count; i++)
    if (!sizes_known((TypeIn){ t.type->u.record.fields[i].type, t.env })) return false;
  return true;
}

// What a call gives, by the type that the function was given; the same for all calls.
static const Val *result_shape(Elab *e, int mark, const Closure *f, CoreTypeVec *types) {
  Inner dropped;
  elab_enter(e, &dropped);
  Scope s;
  elab_enter_types(e, f, &s);
  for (int i = 0; i < f->arity; i++)
    scope_bind_sizes(&s, f->function->params.at[i]->type, f->args[i]);
  elab_bind_other_sizes(e, &s, f, s.env);
  const Type *type = f->binding->type;
  for (int i = 0; i < f->arity; i++)
    type = type->u.function.to;
  TypeIn result = { type, s.env };
  if (!sizes_known(result)) refuse(e, "with results of sizes of their own");
  AtomVec none = { 0 };
  const Val *v = val_of_type(e, result, &none, note_type, types);
  elab_leave(e, &dropped);
  vec_each (const CoreType *, leaf, types)
    check_fixed(e, mark, *leaf);
  return v;
}

// ---- the body with its own calls

bool stack_is_call(const Stack *s, const Exp *exp) {
  return exp->kind == EXP_CALL && exp->u.call.function == s->self;
}

typedef struct CallSearch {
  const Stack *stack;
  bool found;
} CallSearch;

static void search_body(CoreVisitor *v, const Body *body) {
  CallSearch *search = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    if (stack_is_call(search->stack, body->stms[i].exp)) search->found = true;
    core_visit_exp(v, body->stms[i].exp);
  }
}

bool stack_calls(const Stack *s, const Exp *exp) {
  CallSearch search = { s, stack_is_call(s, exp) };
  CoreVisitor visitor = { .body = search_body, .state = &search };
  core_visit_exp(&visitor, exp);
  return search.found;
}

static const Body *body_of(Elab *e, Stack *s, const Closure *f) {
  Inner inner;
  elab_enter(e, &inner);
  e->stacks = s;
  Scope scope;
  elab_enter_body(e, f, &scope);
  AtomVec leaves = val_leaves(e, elab_part(e, &scope, f->function->body));
  for (int i = 0; i < leaves.count; i++)
    leaves.at[i] = elab_fit(e, leaves.at[i], s->self->results[i].dims);
  e->stacks = s->outer;
  elab_leave(e, &inner);
  return core_body(&inner.b, leaves.at, leaves.count);
}

// ---- what is needed behind calls

static void note_binders(CoreVisitor *v, const Body *body) {
  const Stack *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++)
      map_put(s->inside, stm->binders[k], stm->binders[k]);
    core_visit_exp(v, stm->exp);
  }
}

// Constants that the body mentions stand outside.
static void find_inside(Stack *s, const Body *body) {
  CoreVisitor visitor = { .body = note_binders, .state = s };
  s->inside = map_new(NULL);
  for (int i = 0; i < s->self->param_count; i++)
    map_put(s->inside, s->self->params[i], s->self->params[i]);
  note_binders(&visitor, body);
}

const Remainder *stack_rest(const Body *body, int at, const Var *const *binders,
                            const Remainder *outer) {
  return new_node(Remainder, .body = body, .at = at, .binders = binders, .outer = outer);
}

static void add_saved(Elab *e, const Stack *s, Map *bound, const Var *var, VarVec *out) {
  if (!map_has(s->inside, var) || map_has(bound, var)) return;
  map_put(bound, var, var);
  for (int i = 0; i < var->type.rank; i++) {
    Atom dim = var->type.dims[i];
    if (dim.kind == ATOM_VAR && map_has(s->inside, dim.u.var)) refuse_sizes(e);
  }
  vec_push(out, var);
}

static void bind_all(Map *bound, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    map_put(bound, vars[i], vars[i]);
}

// The variables of the body that the rest mentions but does not bind.
static VarVec needed(Elab *e, const Stack *s, const Stm *call, const Remainder *rest) {
  VarVec saved = { 0 };
  Map *bound = map_new(NULL);
  bind_all(bound, call->binders, call->binder_count);
  for (; rest; rest = rest->outer) {
    Body after = *rest->body;
    after.stms += rest->at;
    after.stm_count -= rest->at;
    VarVec free = core_free_body(&after);
    vec_each (const Var **, var, &free)
      add_saved(e, s, bound, *var, &saved);
    for (int i = 0; i < after.stm_count; i++)
      bind_all(bound, after.stms[i].binders, after.stms[i].binder_count);
    if (rest->binders) bind_all(bound, rest->binders, rest->body->result_count);
  }
  return saved;
}

static int take_slot(Stack *s, CoreType type, bool *taken, int count) {
  for (int i = 0; i < count; i++) {
    if (taken[i] || s->slots.at[i].elem != type.elem ||
        !type_same_shape(s->slots.at[i], type))
      continue;
    taken[i] = true;
    return i;
  }
  vec_push(&s->slots, type);
  return s->slots.count - 1;
}

static void add_site(Elab *e, Stack *s, const Stm *call, const Remainder *rest) {
  StackSite site = { call, rest, needed(e, s, call, rest), NULL };
  int before = s->slots.count;
  bool *taken = new_array(bool, before);
  site.slots = new_array(int, site.saved.count);
  for (int i = 0; i < site.saved.count; i++)
    site.slots[i] = take_slot(s, site.saved.at[i]->type, taken, before);
  vec_push(&s->sites, site);
}

static void find_sites(Elab *e, Stack *s, const Remainder *rest) {
  const Body *body = rest->body;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (!stack_calls(s, stm->exp)) continue;
    const Remainder *after = stack_rest(body, i + 1, rest->binders, rest->outer);
    e->b->loc = stm->loc;
    if (stack_is_call(s, stm->exp)) {
      add_site(e, s, stm, after);
    } else if (stm->exp->kind == EXP_IF) {
      find_sites(e, s, stack_rest(stm->exp->u.cond.then_body, 0, stm->binders, after));
      find_sites(e, s, stack_rest(stm->exp->u.cond.else_body, 0, stm->binders, after));
    } else {
      refuse(e, "within a loop or the function of an operator");
    }
  }
}

// ---- the whole

static Function *self_new(const Closure *f, const VarVec *params,
                          const CoreTypeVec *types) {
  return new_node(Function, .name = f->binding->name, .loc = f->binding->loc,
                  .params = params->at, .param_count = params->count,
                  .results = types->at, .result_count = types->count);
}

const Val *elab_stack_call(Elab *e, const Closure *f) {
  CoreTypeVec types = { 0 };
  VarVec params = { 0 };
  AtomVec inits = { 0 };
  Stack s = { .outer = e->stacks, .function = f->function, .kept = kept_params(e, f) };
  int mark = e->c->next_id;
  Closure g = changing_params(e, &s, f, &params);
  s.result = result_shape(e, mark, &g, &types);
  for (int i = 0; i < f->arity; i++)
    if (!s.kept[i]) val_add_leaves(e, f->args[i], &inits);
  s.self = self_new(f, &params, &types);
  const Body *body = body_of(e, &s, &g);
  find_inside(&s, body);
  Loc loc = e->b->loc;
  find_sites(e, &s, stack_rest(body, 0, NULL, NULL));
  e->b->loc = loc;
  return val_rebuild(e, s.result, stack_loop(e, &s, f, body, inits.at));
}
