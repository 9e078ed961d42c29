// Names, closures and applications.
//
// A function's type and size parameters get their values before its body is evaluated: types from
// the instantiation at the mention, sizes first from the arguments, because those are the variables
// that the arrays' types already mention, and from the instantiation only where no argument tells.
#include "core/elab/elaborate.h"
#include <stdlib.h>
#include <string.h>

// ---- names

const Val *elab_function_value(const AstFunction *function, const Binding *binding,
                               const Env *env) {
  return val_closure(new_node(Closure, .kind = CLOSURE_FUNCTION,
                              .arity = function->params.count, .function = function,
                              .binding = binding, .env = env));
}

// The function as mentioned by `exp`, with its types and sizes.
static const Val *with_instance(const Val *f, const AstExp *exp, const Scope *s) {
  BindingKind kind = exp->u.name.binding->kind;
  if (f->kind != VAL_CLOSURE || !exp->u.name.inst) return f;
  if (kind != BIND_FUNCTION && kind != BIND_INTRINSIC) return f;
  Closure closure = *f->u.closure;
  closure.inst = exp->u.name.inst;
  closure.inst_env = s->env;
  return val_closure(mem_copy(&closure, sizeof closure));
}

static bool is_polymorphic(const Binding *binding) {
  return binding->sizes.count || binding->types.count;
}

const Val *elab_constant(Elab *e, const Binding *binding) {
  Frame *frame = e->frame;
  const Val *known = map_get(frame->constants, binding);
  if (!known) known = elab_lifted_constant(e, binding);
  if (known) return known;
  Builder *b = e->b;
  const StmAttrs *attrs = frame->outer->attrs;
  int deriving = e->deriving, exact = e->exact;
  e->deriving = e->exact = 0;
  e->b = frame->outer;
  e->b->attrs = NULL;
  const Val *f = elab_function_value(binding->function, binding, NULL);
  const Val *v = elab_body_of(e, f->u.closure, binding->name);
  frame->outer->attrs = attrs;
  e->deriving = deriving;
  e->exact = exact;
  e->b = b;
  map_put(frame->constants, binding, v);
  return v;
}

static const Val *top_level(Elab *e, const Scope *s, const AstExp *exp,
                            const char *name) {
  const Binding *binding = exp->u.name.binding;
  if (!binding->function) bug(e->c, exp->loc, "'%s' has no definition", binding->name);
  if (!binding->function->params.count && !is_polymorphic(binding)) {
    return elab_constant(e, binding);
  }
  const Val *f = elab_function_value(binding->function, binding, NULL);
  f = with_instance(f, exp, s);
  return binding->function->params.count ? f : elab_body_of(e, f->u.closure, name);
}

static const Val *intrinsic(Elab *e, const Scope *s, const AstExp *exp) {
  const Binding *binding = exp->u.name.binding;
  const Intrinsic *found = map_get(e->intrinsics, binding->name);
  if (!found) bug(e->c, exp->loc, "no intrinsic '%s'", binding->name);
  const Val *f =
      val_closure(new_node(Closure, .kind = CLOSURE_INTRINSIC, .arity = found->arity,
                           .binding = binding, .intrinsic = found));
  return with_instance(f, exp, s);
}

// The type of the function tells the size only through arrays that this use of it does not have.
static _Noreturn void unknown_size(Elab *e, const AstExp *exp) {
  const Binding *size = exp->u.name.binding;
  error(e->c, exp->loc, "nothing tells the value of the size `%s` here", size->name);
  note(e->c, size->loc, "`%s` is a size of this function, but no array argument has it",
       size->name);
  elab_stop(e);
}

const Val *elab_name(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  const Binding *binding = exp->u.name.binding;
  if (binding->kind == BIND_INTRINSIC) return intrinsic(e, s, exp);
  if (binding->kind == BIND_FUNCTION && binding->is_top)
    return top_level(e, s, exp, name);
  const Env *found = env_find(s->env, binding);
  if (found && found->val) return with_instance(found->val, exp, s);
  if (binding->kind == BIND_FUNCTION) return top_level(e, s, exp, name);
  if (binding->kind == BIND_SIZE) unknown_size(e, exp);
  bug(e->c, exp->loc, "'%s' has no value here", binding->name);
}

// ---- sections

const Val *elab_section(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  Closure f = { .arity = 1, .exp = exp, .env = s->env };
  if (exp->kind == AST_SECTION_FIELD) {
    f.kind = CLOSURE_FIELDS;
  } else if (exp->kind == AST_SECTION_INDEX) {
    f.kind = CLOSURE_INDEX;
  } else {
    f.kind = CLOSURE_FLIPPED;
    f.op = elab_part(e, s, exp->u.section.op);
    f.operand = elab_part(e, s, exp->u.section.operand);
    if (exp->kind == AST_SECTION_LEFT) return elab_apply(e, f.op, &f.operand, 1, name);
  }
  return val_closure(mem_copy(&f, sizeof f));
}

static const Val *select_fields(Elab *e, const Closure *f) {
  const Val *v = f->args[0];
  for (int i = 0; i < f->exp->u.section_field.fields.count; i++) {
    v = val_field(e, v, f->exp->u.section_field.fields.at[i]);
  }
  return v;
}

static const Val *select_index(Elab *e, const Closure *f, const char *name) {
  Scope scope = { f->env };
  return elab_index(e, &scope, f->args[0], &f->exp->u.section_index.dims, name);
}

// ---- calls

static void bind_types(Elab *e, Scope *s, const Closure *f) {
  const Binding *binding = f->binding;
  if (!binding) return;
  if (binding->types.count && !f->inst)
    bug(e->c, e->b->loc, "no types for '%s'", binding->name);
  for (int i = 0; i < binding->types.count; i++) {
    TypeIn type = { f->inst->types[i], f->inst_env };
    s->env = env_push_type(s->env, binding->types.at[i], typein_resolve(type));
  }
}

void elab_bind_other_sizes(Elab *e, Scope *s, const Closure *f, const Env *told) {
  if (!f->binding || !f->inst) return;
  for (int i = 0; i < f->binding->sizes.count; i++) {
    const Binding *key = f->binding->sizes.at[i];
    SizeIn size = { f->inst->sizes[i], f->inst_env };
    if (env_find(told, key) || !size_known(size)) continue;
    s->env = env_push(s->env, key, val_atom(size_eval(e, size)));
  }
}

// A local function may mention itself.
static void bind_itself(Scope *s, const Closure *f) {
  if (!f->binding || f->binding->is_top || !f->binding->calls_itself) return;
  const Val *itself = elab_function_value(f->function, f->binding, f->env);
  s->env = env_push(s->env, f->binding, itself);
}

void elab_enter_types(Elab *e, const Closure *f, Scope *s) {
  s->env = f->env;
  bind_itself(s, f);
  bind_types(e, s, f);
}

void elab_enter_body(Elab *e, const Closure *f, Scope *s) {
  elab_enter_types(e, f, s);
  for (int i = 0; i < f->arg_count; i++)
    scope_bind_sizes(s, f->function->params.at[i]->type, f->args[i]);
  elab_bind_other_sizes(e, s, f, s->env);
  for (int i = 0; i < f->arg_count; i++)
    elab_bind(e, s, f->function->params.at[i], f->args[i]);
}

static const Val *eval_body(Elab *e, const Closure *f, const char *name) {
  bool recurs = f->binding && f->binding->calls_itself;
  const Val *v = recurs ? elab_tail_call(e, f, name) : NULL;
  if (v) return v;
  Scope scope;
  elab_enter_body(e, f, &scope);
  return elab_exp(e, &scope, f->function->body, (Want){ .name = name });
}

// A call within a call is evaluated within its evaluation, on the compiler's own stack.
static void check_stack(Elab *e) {
  const char *here = __builtin_frame_address(0);
  size_t used = (size_t)(here < e->stack ? e->stack - here : here - e->stack);
  if (used < e->stack_most) return;
  limit(e->c, e->b->loc, "calls within calls as deep as this (%d levels)", e->depth);
  elab_stop(e);
}

enum { MOST_OWN_CALLS = 256 };

// The outermost call of the function that is being evaluated, or NULL.
static const OwnCall *first_call(const Elab *e, const AstFunction *function, int *count) {
  const OwnCall *first = NULL;
  for (const OwnCall *call = e->calls; call; call = call->outer) {
    if (call->function != function) continue;
    first = call;
    ++*count;
  }
  return first;
}

// What does not end while it is evaluated here becomes a loop.
static void count_own_call(Elab *e, const Closure *f) {
  int calls = 0;
  const OwnCall *first = first_call(e, f->function, &calls);
  if (calls >= MOST_OWN_CALLS) longjmp(*first->again, 1);
}

void elab_too_large(Elab *e) {
  const OwnCall *call = e->calls;
  while (call && call->outer)
    call = call->outer;
  if (call) longjmp(*call->again, 1);
}

static const Val *evaluate(Elab *e, const Closure *f, const char *name) {
  e->depth++;
  check_stack(e);
  const Val *v = eval_body(e, f, name);
  e->depth--;
  return v;
}

static const Val *evaluate_own(Elab *e, const Closure *f, const char *name,
                               OwnCall *own) {
  count_own_call(e, f);
  e->calls = own;
  const Val *v = evaluate(e, f, name);
  e->calls = own->outer;
  return v;
}

ElabPlace elab_place(const Elab *e) { return (ElabPlace){ *e, e->b->attrs, e->b->loc }; }

void elab_return_to(Elab *e, const ElabPlace *place) {
  e->b = place->state.b;
  e->frame = place->state.frame;
  e->depth = place->state.depth;
  e->calls = place->state.calls;
  e->stacks = place->state.stacks;
  e->deriving = place->state.deriving;
  e->exact = place->state.exact;
  e->steps = place->state.steps;
  e->b->attrs = place->attrs;
  e->b->loc = place->loc;
}

// What was emitted before it gave up is read by nobody.
static const Val *evaluate_first(Elab *e, const Closure *f, const char *name) {
  const ElabPlace before = elab_place(e);
  jmp_buf again;
  OwnCall own = { f->function, e->calls, &again };
  if (!setjmp(again)) return evaluate_own(e, f, name, &own);
  elab_return_to(e, &before);
  return elab_stack_call(e, f);
}

const Val *elab_body_of(Elab *e, const Closure *f, const char *name) {
  if (!f->binding || !f->binding->calls_itself) return evaluate(e, f, name);
  const Val *v = elab_own_call(e, f);
  if (v) return v;
  int calls = 0;
  const OwnCall *first = first_call(e, f->function, &calls);
  OwnCall own = { f->function, e->calls, NULL };
  return first ? evaluate_own(e, f, name, &own) : evaluate_first(e, f, name);
}

static const Val *call_intrinsic(Elab *e, const Closure *f, const char *name) {
  IntrinsicCall call = { f->intrinsic, f, f->args, name };
  return f->intrinsic->fn(e, &call);
}

static const Val *call_function(Elab *e, const Closure *f, const char *name) {
  const Val *v = elab_residual_call(e, f, name);
  return v ? v : elab_body_of(e, f, name);
}

static const Val *call_flipped(Elab *e, const Closure *f, const char *name) {
  return elab_apply(e, f->op, (const Val *const[]){ f->args[0], f->operand }, 2, name);
}

static const Val *call(Elab *e, const Closure *f, const char *name) {
  switch (f->kind) {
  case CLOSURE_FUNCTION: return call_function(e, f, name);
  case CLOSURE_INTRINSIC: return call_intrinsic(e, f, name);
  case CLOSURE_FLIPPED: return call_flipped(e, f, name);
  case CLOSURE_FIELDS: return select_fields(e, f);
  case CLOSURE_INDEX: return select_index(e, f, name);
  case CLOSURE_ASSERTED: return elab_call_asserted(e, f, name);
  case CLOSURE_HOLE: return elab_hole(e, (TypeIn){ f->type->u.function.to, f->env });
  }
  bug(e->c, e->b->loc, "an unknown kind of closure");
}

static const Val *call_with_attrs(Elab *e, const Closure *f, const char *name) {
  Builder *b = e->b;
  const StmAttrs *attrs = b->attrs;
  int before = b->stms.count;
  if (f->attrs) b->attrs = f->attrs;
  e->exact += f->is_exact;
  const Val *v = call(e, f, name);
  e->exact -= f->is_exact;
  b->attrs = attrs;
  if (f->is_unsafe) elab_uncheck(e, before);
  return v;
}

// The closure with as many further arguments as it takes; stores how many those are.
static Closure with_args(const Closure *f, const Val *const *args, int *count) {
  Closure g = *f;
  int taken = f->arity - f->arg_count < *count ? f->arity - f->arg_count : *count;
  const Val **all = new_array(const Val *, f->arg_count + taken);
  for (int i = 0; i < f->arg_count; i++)
    all[i] = f->args[i];
  for (int i = 0; i < taken; i++)
    all[f->arg_count + i] = args[i];
  g.args = all;
  g.arg_count += taken;
  *count = taken;
  return g;
}

const Val *elab_apply(Elab *e, const Val *f, const Val *const *args, int count,
                      const char *name) {
  while (count) {
    if (f->kind != VAL_CLOSURE)
      bug(e->c, e->b->loc, "application of what is no function");
    int taken = count;
    Closure g = with_args(f->u.closure, args, &taken);
    const Closure *full = mem_copy(&g, sizeof g);
    count -= taken;
    bool last = !count;
    f = g.arg_count == g.arity ? call_with_attrs(e, full, last ? name : NULL)
                               : val_closure(full);
    args += taken;
  }
  return f;
}

// ---- applications

typedef struct Operand {
  const Scope *scope;
  const AstExp *exp;
} Operand;

static const Val *eval_operand(Elab *e, const void *state, const char *name) {
  const Operand *operand = state;
  Scope scope = *operand->scope;
  return elab_exp(e, &scope, operand->exp, (Want){ .name = name });
}

// The operands of a choice are evaluated in the bodies between which it chooses.
static const Val *choice(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  int count = exp->u.apply.args.count;
  Atom size;
  if (count == 3) size = elab_to_i64(e, elab_scalar(e, s, exp->u.apply.args.at[0]));
  Operand first = { s, exp->u.apply.args.at[count - 2] };
  Operand second = { s, exp->u.apply.args.at[count - 1] };
  Branches both = { .yes = { eval_operand, &first }, .no = { eval_operand, &second } };
  return elab_choose(e, count == 3 ? &size : NULL, both, name);
}

static bool is_choice(const Val *f, const AstExp *exp) {
  if (f->kind != VAL_CLOSURE || f->u.closure->kind != CLOSURE_INTRINSIC) return false;
  const Closure *closure = f->u.closure;
  return !strncmp(closure->intrinsic->name, "choose", 6) && !closure->arg_count &&
         exp->u.apply.args.count == closure->arity;
}

const Val *elab_application(Elab *e, Scope *s, const AstExp *exp, Want want) {
  const Val *f = elab_part(e, s, exp->u.apply.function);
  bool lazy = is_choice(f, exp);
  int count = exp->u.apply.args.count;
  const Val **args = new_array(const Val *, count);
  for (int i = 0; i < count && !lazy; i++)
    args[i] = elab_part(e, s, exp->u.apply.args.at[i]);
  // The sizes that a function is used at may come into being with its arguments.
  bool named = exp->u.apply.function->kind == AST_NAME && !lazy;
  if (named) f = elab_part(e, s, exp->u.apply.function);
  if (want.attrs) e->b->attrs = want.attrs;
  if (lazy) return choice(e, s, exp, want.name);
  return elab_apply(e, f, args, count, want.name);
}
