// Functions that call themselves at their ends only.
//
// def f x y = if c x then base x else f (next x) y
// As long as the conditions on the way to the next call are known, calls are evaluated one after
// the other.  At the first that is not, what remains becomes a loop whose parameters are those that
// calls change (here x):
//
//   let x = loop x while goes_on x do next x in base x
//
// All three evaluate the function's body, each with another meaning of what stands at its ends (see
// TailMode).  The condition holds where a call follows: then `next` is what that call gives, and
// after the loop an end without a call follows.
#include "core/elab/elaborate.h"
#include "source/ast_walk.h"

enum {
  FEW_ROUNDS = 64,
  MOST_ROUNDS = 1024
};  // before a loop is made of them, if it can be

// ---- ends

bool elab_is_own_call(const AstExp *exp, const Closure *f) {
  if (exp->kind != AST_APPLY || exp->u.apply.args.count != f->arity) return false;
  const AstExp *function = exp->u.apply.function;
  return function->kind == AST_NAME && function->u.name.binding == f->binding;
}

typedef struct NameCount {
  const Binding *binding;
  int count;
} NameCount;

static void count_mentions(AstVisitor *v, const AstExp *exp) {
  NameCount *m = v->state;
  m->count += exp->kind == AST_NAME && exp->u.name.binding == m->binding;
  ast_visit_parts(v, exp);
}

static int mentions(const AstExp *exp, const Closure *f) {
  NameCount m = { f->binding, 0 };
  AstVisitor v = { .exp = count_mentions, .state = &m };
  count_mentions(&v, exp);
  return m.count;
}

typedef Vec(const AstExp *) EndVec;

// The expression whose value is that of the whole, or NULL.
static const AstExp *last_part(const AstExp *exp) {
  if (exp->kind == AST_LET) return exp->u.let.body;
  if (exp->kind == AST_LET_FUN) return exp->u.let_fun.body;
  if (exp->kind == AST_LET_WITH) return exp->u.let_with.body;
  return exp->kind == AST_ASCRIBE ? exp->u.ascribe.exp : NULL;
}

// What may come last, so that it gives the value.
static void add_ends(const AstExp *exp, EndVec *ends) {
  const AstExp *last = last_part(exp);
  if (last) {
    add_ends(last, ends);
  } else if (exp->kind == AST_IF) {
    add_ends(exp->u.cond.then_exp, ends);
    add_ends(exp->u.cond.else_exp, ends);
  } else if (exp->kind == AST_MATCH) {
    vec_each (const AstCase *, c, &exp->u.match.cases)
      add_ends(c->body, ends);
  } else {
    vec_push(ends, exp);
  }
}

bool elab_has_end(const AstExp *exp, const Tail *t, bool call) {
  EndVec ends = { 0 };
  add_ends(exp, &ends);
  vec_each (const AstExp **, end, &ends)
    if (elab_is_own_call(*end, t->function) == call) return true;
  return false;
}

// Calls at the ends, with all their arguments, and no other mentions.
static bool is_tail_recursive(const Closure *f) {
  EndVec ends = { 0 };
  add_ends(f->function->body, &ends);
  int calls = 0;
  vec_each (const AstExp **, end, &ends)
    calls += elab_is_own_call(*end, f);
  return calls < ends.count && calls == mentions(f->function->body, f);
}

// ---- parameters

bool elab_passes_on(const Closure *f, const AstExp *call, int i) {
  const AstPat *pat = f->function->params.at[i];
  while (pat->kind == AST_PAT_ASCRIBE)
    pat = pat->u.ascribe.pat;
  const AstExp *arg = call->u.apply.args.at[i];
  return pat->kind == AST_PAT_NAME && arg->kind == AST_NAME &&
         arg->u.name.binding == pat->u.name.binding;
}

static bool is_kept(const Closure *f, int i) {
  EndVec ends = { 0 };
  add_ends(f->function->body, &ends);
  vec_each (const AstExp **, end, &ends)
    if (elab_is_own_call(*end, f) && !elab_passes_on(f, *end, i)) return false;
  return true;
}

// The arguments of the parameters that calls change, as one value.
static const Val *changed_values(Elab *e, const Tail *t, const Val *const *args) {
  const Val **items = new_array(const Val *, t->function->arity);
  int count = 0;
  for (int i = 0; i < t->function->arity; i++)
    if (!t->kept[i]) items[count++] = args[i];
  if (!count) return val_unit();
  return count == 1 ? items[0] : val_tuple(e, items, count);
}

// The pattern of those parameters.
static AstPat *changed_pattern(Elab *e, const Tail *t) {
  const AstPatVec *params = &t->function->function->params;
  AstPatVec items = { 0 };
  TypeField *fields = new_array(TypeField, params->count);
  for (int i = 0; i < params->count; i++) {
    if (t->kept[i]) continue;
    Name name = name_of(e->c->names, text_format("%d", items.count));
    fields[items.count] = (TypeField){ name, params->at[i]->type };
    vec_push(&items, params->at[i]);
  }
  if (items.count == 1) return items.at[0];
  Type *type = new_node(Type, .kind = TYPE_RECORD);
  type->u.record.is_tuple = true;
  type->u.record.count = items.count;
  type->u.record.fields = fields;
  return new_node(AstPat, .kind = AST_PAT_TUPLE, .loc = params->at[0]->loc, .type = type,
                  .u.tuple.items = items);
}

// ---- evaluation

static const Val *own_call(Elab *e, Scope *s, const AstExp *exp, const Tail *t) {
  int arity = t->function->arity;
  const Val **args = new_array(const Val *, arity);
  for (int i = 0; i < arity; i++)
    args[i] = elab_part(e, s, exp->u.apply.args.at[i]);
  if (t->mode == TAIL_NEXT) return changed_values(e, t, args);
  t->found->args = args;
  return NULL;
}

bool elab_is_end(const AstExp *exp, const Tail *t) {
  return !elab_has_end(exp, t, true) || elab_is_own_call(exp, t->function);
}

const Val *elab_end(Elab *e, Scope *s, const AstExp *exp, Want want) {
  const Tail *t = want.tail;
  bool call = elab_is_own_call(exp, t->function);
  want.tail = NULL;
  switch (t->mode) {
  case TAIL_KNOWN: return call ? own_call(e, s, exp, t) : elab_exp(e, s, exp, want);
  case TAIL_GOES_ON: return val_atom(atom_bool(call));
  case TAIL_NEXT: return call ? own_call(e, s, exp, t) : t->state;
  case TAIL_BASE: break;
  }
  return elab_exp(e, s, exp, want);
}

// The sizes of the arguments that are kept, or that are not.
static void bind_sizes(Scope *s, const Tail *t, const Val *const *args, bool kept) {
  const AstPatVec *params = &t->function->function->params;
  for (int i = 0; i < params->count; i++)
    if (t->kept[i] == kept) scope_bind_sizes(s, params->at[i]->type, args[i]);
}

// What is the same in each round.  Sizes that only changing arguments tell are not.
static void bind_kept(Elab *e, Scope *s, const Tail *t, const Val *const *args) {
  const AstPatVec *params = &t->function->function->params;
  bind_sizes(s, t, args, true);
  Scope all = *s;
  bind_sizes(&all, t, args, false);
  elab_bind_other_sizes(e, s, t->function, all.env);
  for (int i = 0; i < params->count; i++)
    if (t->kept[i]) elab_bind(e, s, params->at[i], args[i]);
}

static const Val *loop_from(Elab *e, Scope *s, Tail *t, const Val *const *args,
                            const char *name) {
  const AstFunction *function = t->function->function;
  bind_kept(e, s, t, args);
  AstPat *pat = changed_pattern(e, t);
  const Val *v = elab_tail_loop(e, s, pat, t, changed_values(e, t, args));
  elab_bind(e, s, pat, v);
  t->mode = TAIL_BASE;
  return elab_exp(e, s, function->body, (Want){ .name = name, .tail = t });
}

// Whether a loop can carry what changes: data, and something.
static bool fits_loop(const Tail *t, const Val *const *args) {
  bool some = false;
  for (int i = 0; i < t->function->arity; i++) {
    some = some || !t->kept[i];
    if (!t->kept[i] && val_holds_function(args[i])) return false;
  }
  return some;
}

const Val *elab_tail_call(Elab *e, const Closure *f, const char *name) {
  if (!is_tail_recursive(f)) return NULL;
  bool *kept = new_array(bool, f->arity);
  for (int i = 0; i < f->arity; i++)
    kept[i] = is_kept(f, i);
  Closure call = *f;
  Tail loop = { TAIL_GOES_ON, f, f->function->body, kept, NULL, NULL };
  for (int round = 0; round < (fits_loop(&loop, call.args) ? FEW_ROUNDS : MOST_ROUNDS);
       round++) {
    Found found = { 0 };
    Tail t = { TAIL_KNOWN, f, f->function->body, kept, NULL, &found };
    Scope scope;
    elab_enter_body(e, &call, &scope);
    const Val *v =
        elab_exp(e, &scope, f->function->body, (Want){ .name = name, .tail = &t });
    if (found.unknown) break;
    if (!found.args) return v;
    call.args = found.args;
  }
  if (!fits_loop(&loop, call.args)) return NULL;
  Scope scope;
  elab_enter_types(e, &call, &scope);
  return loop_from(e, &scope, &loop, call.args, name);
}
