// Expressions: the dispatcher, and the kinds that need no file of their own.
#include "core/elab/elaborate.h"
#include "source/format.h"
#include <string.h>

enum { MAX_STEPS = 4000000 };  // evaluated expressions per entry point

// ---- nested bodies

void elab_enter(Elab *e, Inner *inner) {
  *inner = (Inner){ builder_new(e->c, e->b->loc), e->b };
  e->b = &inner->b;
}

void elab_leave(Elab *e, Inner *inner) { e->b = inner->outer; }

// ---- literals

static const Val *integer(Elab *e, const Scope *s, const AstExp *exp) {
  PrimType type = typein_prim(e, (TypeIn){ exp->type, s->env });
  const Big *value = literal_value(exp);
  Prim prim;
  if (!prim_of_big(type, value, &prim)) {
    error(e->c, exp->loc, "%s does not fit into %s", big_text(value),
          prim_type_name(type));
    elab_stop(e);
  }
  if (prim_is_float(type) && exp->u.integer.negative && prim_to_double(prim) == 0)
    prim = prim_float(type, -0.0);  // whole numbers have one zero only
  return val_atom(atom_const(prim));
}

static const Val *floating(Elab *e, const Scope *s, const AstExp *exp) {
  PrimType type = typein_prim(e, (TypeIn){ exp->type, s->env });
  if (type == PRIM_F16)
    return val_atom(atom_const(prim_float(type, exp->u.floating.value16)));
  if (type == PRIM_F32) return val_atom(atom_const(prim_f32(exp->u.floating.value32)));
  return val_atom(atom_const(prim_f64(exp->u.floating.value)));
}

// ---- tuples and records

static const Val *tuple(Elab *e, Scope *s, const AstExp *exp) {
  int count = exp->u.tuple.items.count;
  const Val **items = new_array(const Val *, count);
  for (int i = 0; i < count; i++)
    items[i] = elab_part(e, s, exp->u.tuple.items.at[i]);
  return count ? val_tuple(e, items, count) : val_unit();
}

// The fields in the order of the type, evaluated in the order of the text.
static const Val *record(Elab *e, Scope *s, const AstExp *exp) {
  int count = exp->u.record.fields.count;
  Name *names = new_array(Name, count);
  const Val **items = new_array(const Val *, count);
  for (int i = 0; i < count; i++) {
    const AstFieldExp *field = &exp->u.record.fields.at[i];
    const Val *value = elab_part(e, s, field->value);
    int at = i;
    for (; at > 0 && type_field_order(names[at - 1], field->name) > 0; at--) {
      names[at] = names[at - 1];
      items[at] = items[at - 1];
    }
    names[at] = field->name;
    items[at] = value;
  }
  return count ? val_record(names, items, count) : val_unit();
}

static const Val *project(Elab *e, Scope *s, const AstExp *exp) {
  return val_field(e, elab_part(e, s, exp->u.project.record), exp->u.project.field);
}

// ---- bindings

// let [n] p = e where the checker found out what n is: the pattern's type may not mention it.
static void bind_known_sizes(Elab *e, Scope *s, const AstTypeParamVec *sizes) {
  vec_each (const AstTypeParam *, param, sizes) {
    SizeIn known = { param->binding->known, s->env };
    if (env_find(s->env, param->binding) || !size_known(known)) continue;
    s->env = env_push(s->env, param->binding, val_atom(size_eval(e, known)));
  }
}

// What is wanted of the expression at the end of another.
static Want at_end(Want want) { return (Want){ .name = want.name, .tail = want.tail }; }

static const Val *let(Elab *e, Scope *s, const AstExp *exp, Want want) {
  Want named = { .name = pat_whole_name(exp->u.let.pat) };
  const Val *value = elab_exp(e, s, exp->u.let.value, named);
  elab_bind(e, s, exp->u.let.pat, value);
  bind_known_sizes(e, s, &exp->u.let.sizes);
  return elab_exp(e, s, exp->u.let.body, at_end(want));
}

static const Val *let_fun(Elab *e, Scope *s, const AstExp *exp, Want want) {
  const Binding *binding = exp->u.let_fun.binding;
  const Val *f = elab_function_value(&exp->u.let_fun.function, binding, s->env);
  s->env = env_push(s->env, binding, f);
  return elab_exp(e, s, exp->u.let_fun.body, at_end(want));
}

static const Val *let_with(Elab *e, Scope *s, const AstExp *exp, Want want) {
  const Val *target = elab_part(e, s, exp->u.let_with.target);
  const Val *value = elab_part(e, s, exp->u.let_with.value);
  Loc step = exp->u.let_with.path.at[0].loc;
  if (step.file && !step.file->built_in) e->b->loc = step;
  Update u = { e, s, &exp->u.let_with.path, value, pat_whole_name(exp->u.let_with.pat) };
  const Val *updated = elab_update(&u, target);
  elab_bind(e, s, exp->u.let_with.pat, updated);
  return elab_exp(e, s, exp->u.let_with.body, at_end(want));
}

// ---- the rest

static const Val *with(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  const Val *target = elab_part(e, s, exp->u.with.target);
  const Val *value = elab_part(e, s, exp->u.with.value);
  return elab_update(&(Update){ e, s, &exp->u.with.path, value, name }, target);
}

static const Val *index_exp(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  const Val *array = elab_part(e, s, exp->u.index.array);
  return elab_index(e, s, array, &exp->u.index.dims, name);
}

static const char *text_of_source(Loc loc) {
  if (!loc.file) return "";
  return text_format("%.*s", (int)(loc.end - loc.start), loc.file->text + loc.start);
}

// A value that is made behind an assertion.
typedef struct Asserted {
  Atom condition;
  Loc loc;  // of the condition
  Branch value;
} Asserted;

static Exp failed_assertion(Elab *e, const Asserted *a) {
  Message m = message_new();
  message_text(&m, "Assertion is false: ");
  if (a->loc.file) message_text(&m, source_format_exp(e->c, a->loc));
  message_end(&m);
  return (Exp){ .kind = EXP_ASSERT,
                .u.assert = { .condition = a->condition, .parts = m.parts.at } };
}

// A function whose results stand behind the assertion.
static const Val *asserted_function(const Asserted *a, const Val *f) {
  Closure closure = { .kind = CLOSURE_ASSERTED, .op = f };
  closure.arity = f->u.closure->arity - f->u.closure->arg_count;
  closure.operand = val_atom(a->condition);
  closure.loc = a->loc;
  return val_closure(mem_copy(&closure, sizeof closure));
}

static Atom asserted_leaf(Elab *e, Atom leaf, const void *state) {
  const Asserted *a = state;
  Exp assertion = failed_assertion(e, a);
  assertion.u.assert.atoms = mem_copy(&leaf, sizeof leaf);
  assertion.u.assert.atom_count = 1;
  return core_let(e->b, "checked", mem_copy(&assertion, sizeof assertion));
}

static const Val *asserted_parts(Elab *e, const Asserted *a, const Val *v) {
  if (v->kind == VAL_CLOSURE) return asserted_function(a, v);
  if (!val_holds_function(v)) return val_map(e, v, asserted_leaf, a);
  Val *copy = mem_copy(v, sizeof *v);
  const Val **items = new_array(const Val *, v->u.record.count);
  for (int i = 0; i < v->u.record.count; i++)
    items[i] = asserted_parts(e, a, v->u.record.items[i]);
  copy->u.record.items = items;
  return copy;
}

// The condition comes first, whatever the expression does.
static const Val *behind_assertion(Elab *e, const Asserted *a, const char *name) {
  Inner inner;
  const StmAttrs *attrs = e->b->attrs;
  elab_enter(e, &inner);
  inner.b.attrs = attrs;
  const Val *value = a->value.eval(e, a->value.state, name);
  bool function = val_holds_function(value);
  AtomVec leaves = { 0 };
  if (!function) leaves = val_leaves(e, value);
  const Body *body = core_body(&inner.b, leaves.at, leaves.count);
  elab_leave(e, &inner);
  Exp assertion = failed_assertion(e, a);
  Atom *results = new_array(Atom, leaves.count + 1);
  elab_guard(e, body, &assertion, results);
  if (function) return asserted_parts(e, a, value);
  if (leaves.count == 0) return value;
  assertion.u.assert.atoms = mem_copy(results, sizeof *results * (size_t)leaves.count);
  assertion.u.assert.atom_count = leaves.count;
  core_let_n(e->b, "checked", mem_copy(&assertion, sizeof assertion), results);
  return val_rebuild(e, value, results);
}

typedef struct AsWritten {
  Scope *scope;
  const AstExp *exp;
} AsWritten;

static const Val *eval_written(Elab *e, const void *state, const char *name) {
  const AsWritten *w = state;
  return elab_exp(e, w->scope, w->exp, (Want){ .name = name });
}

static const Val *assertion(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  const AstExp *condition = exp->u.assert.condition;
  Asserted a = { .condition = elab_scalar(e, s, condition), .loc = condition->loc };
  AsWritten written = { s, exp->u.assert.exp };
  a.value = (Branch){ eval_written, &written };
  if (a.condition.kind == ATOM_CONST && a.condition.u.constant.u.i)
    return eval_written(e, &written, name);
  return behind_assertion(e, &a, name);
}

static const Val *eval_call(Elab *e, const void *state, const char *name) {
  const Closure *f = state;
  return elab_apply(e, f->op, f->args, f->arg_count, name);
}

const Val *elab_call_asserted(Elab *e, const Closure *f, const char *name) {
  Asserted a = { .condition = val_scalar(e, f->operand), .loc = f->loc };
  a.value = (Branch){ eval_call, f };
  return behind_assertion(e, &a, name);
}

static Atom blank_leaf(Elab *e, Atom leaf, const void *state) {
  const Want *want = state;
  CoreType type = atom_type(leaf);
  Atom value = atom_const(prim_zero(type.elem));
  for (int i = type.rank - 1; i >= 0; i--)
    value =
        elab_emit(e, i ? NULL : want->name, "blank", exp_replicate(type.dims[i], value));
  return value;
}

// #[blank] and #[scratch]: an array of that shape whose elements nobody asks for.
static bool is_blank(const AstAttr *attr) {
  return !strcmp(attr->name, "blank") || !strcmp(attr->name, "scratch");
}

// A statement that the interpreter tells of by its attributes.
static Atom told(Elab *e, const char *hint, Atom value, const char *traced) {
  const StmAttrs *outer = e->b->attrs;
  StmAttrs attrs = outer ? *outer : (StmAttrs){ 0 };
  attrs.traced = traced;
  attrs.stops = !traced;
  e->b->attrs = mem_copy(&attrs, sizeof attrs);
  Atom same = core_let(e->b, hint, exp_atom(value));
  e->b->attrs = outer;
  return same;
}

// A record by its fields: p.x.
static const Val *traced(Elab *e, const Val *v, const char *name) {
  if (v->kind != VAL_RECORD) return val_atom(told(e, "traced", v->u.atom, name));
  int count = v->u.record.count;
  const Val **items = new_array(const Val *, count);
  for (int i = 0; i < count; i++) {
    const char *field = text_format("%s.%s", name, v->u.record.names[i]);
    items[i] = traced(e, v->u.record.items[i], field);
  }
  return val_record(v->u.record.names, items, count);
}

// #[trace(name)]: its value is shown, by that name or the expression's text.
static const Val *trace(Elab *e, Scope *s, const AstExp *exp) {
  const AstAttr *given = exp->u.attr.attr;
  Loc loc = exp->u.attr.exp->loc;
  bool here = loc.file && !loc.file->built_in;
  const Val *v = elab_part(e, s, exp->u.attr.exp);
  if (val_holds_function(v)) return v;
  const char *shown = here ? text_of_source(loc) : given->name;
  return traced(e, v, given->args.count ? given->args.at[0]->name : shown);
}

static bool is_local(const Env *env) {
  const Binding *key = env->key;
  return env->val && key && !key->is_top && !(key->loc.file && key->loc.file->built_in) &&
         !val_holds_function(env->val);
}

// Traces what the names in scope stand for, the outermost first.
static void trace_scope(Elab *e, const Env *scope) {
  Vec(const Env *) locals = { 0 };
  Map *seen = map_new(NULL);
  for (const Env *env = scope; env; env = env->next)
    if (is_local(env) && !map_has(seen, env->key->name)) {
      map_put(seen, env->key->name, env->key);
      vec_push(&locals, env);
    }
  for (int i = locals.count - 1; i >= 0; i--)
    traced(e, locals.at[i]->val, locals.at[i]->key->name);
}

// #[break]: the names in scope and the value are shown, and whoever sits there may look at them.
static const Val *stop(Elab *e, Scope *s, const AstExp *exp) {
  trace_scope(e, s->env);
  const Val *v = trace(e, s, exp);
  told(e, "stop", atom_bool(true), NULL);
  return v;
}

static const Val *attr(Elab *e, Scope *s, const AstExp *exp, Want want) {
  int before = e->b->stms.count;
  bool is_unsafe = !strcmp(exp->u.attr.attr->name, "unsafe");
  bool is_exact = !strcmp(exp->u.attr.attr->name, "exact");
  if (!strcmp(exp->u.attr.attr->name, "trace")) return trace(e, s, exp);
  if (!strcmp(exp->u.attr.attr->name, "break")) return stop(e, s, exp);
  if (is_blank(exp->u.attr.attr)) {
    const Val *shape = elab_exp(e, s, exp->u.attr.exp, (Want){ .attrs = want.attrs });
    return val_map(e, shape, blank_leaf, &want);
  }
  const StmAttrs *outer = want.attrs ? want.attrs : e->b->attrs;
  want.attrs = is_unsafe || is_exact ? want.attrs : elab_attr(exp->u.attr.attr, outer);
  e->exact += is_exact;
  const Val *v = elab_exp(e, s, exp->u.attr.exp, want);
  e->exact -= is_exact;
  elab_warn(e, exp->u.attr.attr, before);
  if (is_unsafe) elab_uncheck(e, before);
  if (v->kind != VAL_CLOSURE) return v;
  Closure f = *v->u.closure;
  f.is_unsafe |= is_unsafe;
  f.is_exact |= is_exact;
  if (!is_unsafe && !is_exact) f.attrs = want.attrs;
  return val_closure(mem_copy(&f, sizeof f));
}

static const Val *lambda(const Scope *s, const AstExp *exp) {
  return elab_function_value(&exp->u.lambda.function, NULL, s->env);
}

static const Val *dispatch(Elab *e, Scope *s, const AstExp *exp, Want want) {
  const char *name = want.name;
  switch (exp->kind) {
  case AST_INT: return integer(e, s, exp);
  case AST_FLOAT: return floating(e, s, exp);
  case AST_BOOL: return val_atom(atom_bool(exp->u.boolean.value));
  case AST_STRING: return elab_string(e, exp, name);
  case AST_NAME: return elab_name(e, s, exp, name);
  case AST_TUPLE: return tuple(e, s, exp);
  case AST_RECORD: return record(e, s, exp);
  case AST_ARRAY: return elab_array(e, s, exp, name);
  case AST_RANGE: return elab_range(e, s, exp, name);
  case AST_INDEX: return index_exp(e, s, exp, name);
  case AST_PROJECT: return project(e, s, exp);
  case AST_APPLY: return elab_application(e, s, exp, want);
  case AST_AND:
  case AST_OR: return elab_logical(e, s, exp, name);
  case AST_LAMBDA: return lambda(s, exp);
  case AST_SECTION_LEFT:
  case AST_SECTION_RIGHT:
  case AST_SECTION_FIELD:
  case AST_SECTION_INDEX: return elab_section(e, s, exp, name);
  case AST_LET: return let(e, s, exp, want);
  case AST_LET_FUN: return let_fun(e, s, exp, want);
  case AST_LET_WITH: return let_with(e, s, exp, want);
  case AST_IF: return elab_cond(e, s, exp, want);
  case AST_LOOP: return elab_loop(e, s, exp, name);
  case AST_MATCH: return elab_match(e, s, exp, want);
  case AST_WITH: return with(e, s, exp, name);
  case AST_ASCRIBE: return elab_exp(e, s, exp->u.ascribe.exp, want);
  case AST_COERCE: return elab_coerce(e, s, exp, name);
  case AST_ASSERT: return assertion(e, s, exp, name);
  case AST_ATTR: return attr(e, s, exp, want);
  case AST_CONSTRUCTOR: return elab_constructor(e, s, exp);
  case AST_OPEN_IN: return elab_exp(e, s, exp->u.open_in.exp, want);
  case AST_HOLE: return elab_hole(e, (TypeIn){ exp->type, s->env });
  }
  bug(e->c, exp->loc, "an expression of unknown kind");
}

static void count_step(Elab *e, Loc loc) {
  if (++e->steps < MAX_STEPS) return;
  elab_too_large(e);
  limit(e->c, loc, "programs that grow this large when their functions are inlined");
  elab_stop(e);
}

// Applications and attributes place attributes themselves: not on the arguments' statements.
static bool places_attrs(const AstExp *exp) {
  return exp->kind == AST_APPLY || exp->kind == AST_ATTR;
}

const Val *elab_exp(Elab *e, Scope *s, const AstExp *exp, Want want) {
  if (want.tail && elab_is_end(exp, want.tail)) return elab_end(e, s, exp, want);
  Builder *b = e->b;
  Loc loc = b->loc;
  const StmAttrs *attrs = b->attrs;
  if (exp->loc.file && !exp->loc.file->built_in) b->loc = exp->loc;
  count_step(e, b->loc);
  if (want.attrs && !places_attrs(exp)) {
    b->attrs = want.attrs;
    want.attrs = NULL;
  }
  const Val *v = dispatch(e, s, exp, want);
  b->loc = loc;
  b->attrs = attrs;
  bool own = !want.tail || (v && want.tail->mode == TAIL_BASE);
  if (exp->unknown_sizes.count && own) scope_bind_sizes(s, exp->type, v);
  return v;
}

const Val *elab_part(Elab *e, Scope *s, const AstExp *exp) {
  return elab_exp(e, s, exp, (Want){ 0 });
}

Atom elab_scalar(Elab *e, Scope *s, const AstExp *exp) {
  return val_scalar(e, elab_part(e, s, exp));
}
