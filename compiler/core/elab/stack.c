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

// Begins again with sizes that change.
static _Noreturn void let_sizes_change(Elab *e, const Stack *s) {
  if (!s->again) bug(e->c, e->b->loc, "sizes that do not change enough");
  longjmp(*s->again, 1);
}

static const Val *call_itself(Elab *e, const Stack *s, const Closure *f) {
  AtomVec args = { 0 }, leaves = { 0 };
  for (int i = 0; i < f->arity; i++)
    if (!s->kept[i]) val_add_leaves(e, f->args[i], &leaves);
  vec_each (const Atom *, leaf, &leaves)
    stack_add_value(s, *leaf, &args);
  for (int i = 0; !s->varies && i < args.count; i++)
    if (!type_same_shape(atom_type(args.at[i]), s->self->params[i]->type))
      let_sizes_change(e, s);
  const Exp *exp =
      new_node(Exp, .kind = EXP_CALL, .u.call = { s->self, args.at, args.count });
  VarVec binders = stack_copy_vars(e, &s->results);
  core_let_vars(e->b, binders.at, binders.count, exp);
  return val_rebuild(e, s->result, stack_leaves(s, &binders).at);
}

const Val *elab_own_call(Elab *e, const Closure *f) {
  for (const Stack *s = e->stacks; s; s = s->outer)
    if (s->function == f->function) return call_itself(e, s, f);
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
  bool *kept = new_array(bool, f->arity);
  for (int i = 0; i < f->arity; i++) {
    // Who gets the function as a value may apply it to anything.
    kept[i] = calls.mentions == calls.at.count;
    vec_each (const AstExp **, call, &calls.at)
      kept[i] = kept[i] && elab_passes_on(f, *call, i);
    if (!kept[i] && val_holds_function(f->args[i]))
      refuse(e, "that passes other functions on");
  }
  return kept;
}

typedef struct Changing {
  const Stack *stack;
  VarVec *params;
} Changing;

static Atom changing_param(Elab *e, Atom leaf, const void *state) {
  const Changing *changing = state;
  const char *name = leaf.kind == ATOM_VAR ? leaf.u.var->name : "x";
  return stack_add_leaf(e, changing->stack, name, atom_type(leaf), changing->params);
}

// The call with parameters of its own in the places of what changes.
static Closure changing_params(Elab *e, const Stack *s, const Closure *f,
                               VarVec *params) {
  Closure g = *f;
  Changing changing = { s, params };
  const Val **args = new_array(const Val *, f->arity);
  for (int i = 0; i < f->arity; i++)
    args[i] = s->kept[i] ? f->args[i] : val_map(e, f->args[i], changing_param, &changing);
  g.args = args;
  return g;
}

static void check_fixed(Elab *e, const Stack *s, int mark, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (!atom_is_older(type.dims[i], mark)) let_sizes_change(e, s);
}

static Atom add_result(Elab *e, CoreType type, void *state) {
  Stack *s = state;
  return stack_add_leaf(e, s, "returned", type, &s->results);
}

// The type with arrays of size 0.
static const Type *without_sizes(const Type *type) {
  static const Size zero = { .kind = SIZE_CONST };
  if (type->kind == TYPE_ARRAY) {
    Type *array = mem_copy(type, sizeof *type);
    Size *size = mem_copy(&zero, sizeof zero);
    size->u.constant = big_of(0);
    array->u.array.size = size;
    array->u.array.elem = without_sizes(type->u.array.elem);
    return array;
  }
  if (type->kind != TYPE_RECORD) return type;
  Type *record = mem_copy(type, sizeof *type);
  TypeField *fields = new_array(TypeField, type->u.record.count);
  for (int i = 0; i < type->u.record.count; i++)
    fields[i] = (TypeField){ type->u.record.fields[i].name,
                             without_sizes(type->u.record.fields[i].type) };
  record->u.record.fields = fields;
  return record;
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

// What a call gives, by the type that the function was given; the same for all calls, but for sizes
// that vary.
static const Val *result_shape(Elab *e, int mark, const Closure *f, Stack *stack) {
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
  TypeIn result = { stack->varies ? without_sizes(type) : type, s.env };
  if (!sizes_known(result)) let_sizes_change(e, stack);
  AtomVec none = { 0 };
  const Val *v = val_of_type(e, result, &none, add_result, stack);
  elab_leave(e, &dropped);
  vec_each (const Var *const *, leaf, &stack->results)
    if (!stack->varies) check_fixed(e, stack, mark, (*leaf)->type);
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
  AtomVec results = { 0 };
  for (int i = 0; i < leaves.count; i++) {
    Atom leaf = leaves.at[i];
    if (!s->varies) leaf = elab_fit(e, leaf, s->self->results[i].dims);
    stack_add_value(s, leaf, &results);
  }
  e->stacks = s->outer;
  elab_leave(e, &inner);
  return core_body(&inner.b, results.at, results.count);
}

// ---- what is needed behind calls

static void note_loop(const Stack *s, const Exp *exp) {
  for (int i = 0; i < exp->u.loop.param_count; i++)
    map_put(s->inside, exp->u.loop.params[i], exp->u.loop.params[i]);
  if (exp->u.loop.index) map_put(s->inside, exp->u.loop.index, exp->u.loop.index);
}

static void note_binders(CoreVisitor *v, const Body *body) {
  const Stack *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++)
      map_put(s->inside, stm->binders[k], stm->binders[k]);
    if (stm->exp->kind == EXP_LOOP) note_loop(s, stm->exp);
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
  return new_node(Remainder, .body = body, .at = at, .binders = binders, .outer = outer,
                  .loop = -1);
}

const Remainder *stack_round(const Body *body, int loop) {
  return new_node(Remainder, .body = body, .loop = loop);
}

static bool has_inner_size(const Stack *s, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (type.dims[i].kind == ATOM_VAR && map_has(s->inside, type.dims[i].u.var))
      return true;
  return false;
}

static void add_saved(Elab *e, const Stack *s, Map *bound, const Var *var, VarVec *out) {
  if (!map_has(s->inside, var) || map_has(bound, var)) return;
  map_put(bound, var, var);
  if (!s->varies && has_inner_size(s, var->type)) let_sizes_change(e, s);
  for (int i = 0; i < var->type.rank; i++)
    if (var->type.dims[i].kind == ATOM_VAR)
      add_saved(e, s, bound, var->type.dims[i].u.var, out);
  vec_push(out, var);
}

static void bind_all(Map *bound, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++)
    map_put(bound, vars[i], vars[i]);
}

static void add_free(Elab *e, const Stack *s, Map *bound, const Body *body, VarVec *out) {
  VarVec free = core_free_body(body);
  vec_each (const Var **, var, &free)
    add_saved(e, s, bound, *var, out);
}

// The variables of the body that the rest mentions but does not bind.
static void add_needed(Elab *e, const Stack *s, Map *bound, const Remainder *rest,
                       VarVec *out) {
  for (; rest; rest = rest->outer) {
    Body after = *rest->body;
    after.stms += rest->at;
    after.stm_count -= rest->at;
    add_free(e, s, bound, &after, out);
    for (int i = 0; i < after.stm_count; i++)
      bind_all(bound, after.stms[i].binders, after.stms[i].binder_count);
    if (rest->binders) bind_all(bound, rest->binders, rest->body->result_count);
    if (rest->loop < 0) continue;
    const StackSite *loop = &s->sites.at[rest->loop];
    for (int i = loop->stm->exp->u.loop.param_count; i < loop->saved.count; i++)
      add_saved(e, s, bound, loop->saved.at[i], out);
  }
}

static VarVec needed_behind_call(Elab *e, const Stack *s, const Stm *call,
                                 const Remainder *rest) {
  VarVec saved = { 0 };
  Map *bound = map_new(NULL);
  bind_all(bound, call->binders, call->binder_count);
  add_needed(e, s, bound, rest, &saved);
  return saved;
}

static VarVec needed_in_loop(Elab *e, const Stack *s, const Stm *stm,
                             const Remainder *after) {
  const Exp *loop = stm->exp;
  VarVec saved = { 0 };
  Map *bound = map_new(NULL);
  for (int i = 0; i < loop->u.loop.param_count; i++)
    add_saved(e, s, bound, loop->u.loop.params[i], &saved);
  bool counts = loop->u.loop.form == CORE_FOR;
  if (counts) add_saved(e, s, bound, loop->u.loop.index, &saved);
  if (counts && loop->u.loop.bound.kind == ATOM_VAR)
    add_saved(e, s, bound, loop->u.loop.bound.u.var, &saved);
  add_free(e, s, bound, loop->u.loop.body, &saved);
  bind_all(bound, stm->binders, stm->binder_count);
  add_needed(e, s, bound, after, &saved);
  return saved;
}

static int take_slot(Stack *s, CoreType type, bool *taken, int count) {
  bool varies = has_inner_size(s, type);
  for (int i = 0; i < count; i++) {
    const StackSlot *slot = &s->slots.at[i];
    if (taken[i] || slot->type.elem != type.elem || slot->varies != varies) continue;
    if (!varies && !type_same_shape(slot->type, type)) continue;
    taken[i] = true;
    return i;
  }
  vec_push(&s->slots, (StackSlot){ type, varies });
  return s->slots.count - 1;
}

static void add_site(Stack *s, const Stm *stm, const Remainder *rest, VarVec saved) {
  StackSite site = { stm, rest, saved, NULL };
  int before = s->slots.count;
  bool *taken = new_array(bool, before);
  site.slots = new_array(int, site.saved.count);
  for (int i = 0; i < site.saved.count; i++)
    site.slots[i] = take_slot(s, site.saved.at[i]->type, taken, before);
  vec_push(&s->sites, site);
}

const Remainder *stack_after(const Remainder *rest, int at) {
  Remainder *after = mem_copy(rest, sizeof *after);
  after->at = at;
  return after;
}

static void find_sites(Elab *e, Stack *s, const Remainder *rest) {
  const Body *body = rest->body;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (!stack_calls(s, stm->exp)) continue;
    const Remainder *after = stack_after(rest, i + 1);
    e->b->loc = stm->loc;
    if (stack_is_call(s, stm->exp)) {
      add_site(s, stm, after, needed_behind_call(e, s, stm, after));
    } else if (stm->exp->kind == EXP_LOOP) {
      int loop = s->sites.count;
      add_site(s, stm, after, needed_in_loop(e, s, stm, after));
      find_sites(e, s, stack_round(stm->exp->u.loop.body, loop));
    } else if (stm->exp->kind == EXP_IF) {
      find_sites(e, s, stack_rest(stm->exp->u.cond.then_body, 0, stm->binders, after));
      find_sites(e, s, stack_rest(stm->exp->u.cond.else_body, 0, stm->binders, after));
    } else {
      refuse(e, "within the function of this operator");
    }
  }
}

// ---- the whole

static Function *self_new(const Closure *f, const VarVec *params, const VarVec *results) {
  CoreType *types = new_array(CoreType, results->count);
  for (int i = 0; i < results->count; i++)
    types[i] = results->at[i]->type;
  return new_node(Function, .name = f->binding->name, .loc = f->binding->loc,
                  .params = params->at, .param_count = params->count, .results = types,
                  .result_count = results->count);
}

static const Val *stack_call(Elab *e, const Closure *f, jmp_buf *again) {
  VarVec params = { 0 };
  AtomVec leaves = { 0 }, inits = { 0 };
  Stack s = { .outer = e->stacks,
              .function = f->function,
              .kept = kept_params(e, f),
              .varies = !again,
              .again = again };
  int mark = e->c->next_id;
  Closure g = changing_params(e, &s, f, &params);
  s.result = result_shape(e, mark, &g, &s);
  for (int i = 0; i < f->arity; i++)
    if (!s.kept[i]) val_add_leaves(e, f->args[i], &leaves);
  vec_each (const Atom *, leaf, &leaves)
    stack_add_value(&s, *leaf, &inits);
  s.self = self_new(f, &params, &s.results);
  const Body *body = stack_without_maps(e, &s, body_of(e, &s, &g));
  find_inside(&s, body);
  Loc loc = e->b->loc;
  find_sites(e, &s, stack_rest(body, 0, NULL, NULL));
  e->b->loc = loc;
  return val_rebuild(e, s.result, stack_loop(e, &s, f, body, inits.at).at);
}

const Val *elab_stack_call(Elab *e, const Closure *f) {
  const ElabPlace before = elab_place(e);
  jmp_buf again;
  if (!setjmp(again)) return stack_call(e, f, &again);
  elab_return_to(e, &before);
  return stack_call(e, f, NULL);
}
