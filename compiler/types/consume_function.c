// Functions: what their parameters allow, and what their results may share memory with.
#include "types/consume.h"

// --- Parameters ---

// `*` counts only where it is written.
static bool consumes(const AstPat *pat) {
  switch (pat->kind) {
  case AST_PAT_NAME: return pat->u.name.consumed;
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL:
  case AST_PAT_CONSTRUCTOR: return false;
  case AST_PAT_TUPLE:
    vec_each (AstPat *const *, item, &pat->u.tuple.items)
      if (consumes(*item)) return true;
    return false;
  case AST_PAT_RECORD:
    vec_each (const AstFieldPat *, field, &pat->u.record.fields)
      if (consumes(field->pat)) return true;
    return false;
  case AST_PAT_ASCRIBE: return type_has_unique(pat->type);
  case AST_PAT_ATTR: return consumes(pat->u.attr.pat);
  }
  return false;
}

// The type that is written around a part of a pattern, which is the value of a field; NULL if none
// is.
static const Type *written_field(const Type *written, Name name) {
  written = written ? type_resolve(written) : NULL;
  if (!written || written->unique || written->kind != TYPE_RECORD) return written;
  for (int i = 0; i < written->u.record.count; i++)
    if (written->u.record.fields[i].name == name) return written->u.record.fields[i].type;
  return written;
}

// Callers give up the whole argument if a part of it has a `*`; but only the names of such parts
// may be consumed.
static void bind_param(Consume *u, const AstPat *pat, const Type *written) {
  const Type *type = type_resolve(pat->type);
  switch (pat->kind) {
  case AST_PAT_ASCRIBE: bind_param(u, pat->u.ascribe.pat, pat->type); return;
  case AST_PAT_ATTR: bind_param(u, pat->u.attr.pat, written); return;
  case AST_PAT_TUPLE:
    for (int i = 0; i < pat->u.tuple.items.count; i++) {
      bool known = type->kind == TYPE_RECORD && i < type->u.record.count;
      const Type *item =
          known ? written_field(written, type->u.record.fields[i].name) : written;
      bind_param(u, pat->u.tuple.items.at[i], item);
    }
    return;
  case AST_PAT_RECORD:
    vec_each (const AstFieldPat *, field, &pat->u.record.fields)
      bind_param(u, field->pat, written_field(written, field->name));
    return;
  case AST_PAT_NAME:
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL:
  case AST_PAT_CONSTRUCTOR:
    u->kind =
        consumes(pat) || (written && type_has_unique(written)) ? ROOT_OWN : ROOT_PARAM;
    consume_bind(u, pat, NULL);
    u->kind = ROOT_OWN;
  }
}

// --- Results ---

// Of a sum type's constructors a value has one.
typedef struct Alternative {
  const struct Alternative *outer;
  const Alias *sum;
  int constructor;
} Alternative;

typedef struct ResultPart {
  const Alias *roots;  // NULL for a scalar
  const Alternative *within;
} ResultPart;

typedef struct FunctionResult {
  Consume *u;
  AstFunction *function;
  Name name;
  bool declared;
  Vec(ResultPart) parts;  // all but records
} FunctionResult;

static void add_parts(FunctionResult *r, const Type *type, const Alias *alias,
                      const Alternative *within) {
  type = type_resolve(type);
  if (type->kind != TYPE_RECORD) {
    ResultPart part = { type_shares(type) ? alias_flat(alias) : NULL, within };
    vec_push(&r->parts, part);
    return;
  }
  bool sum = type_is_sum(type);
  for (int i = 0; i < type->u.record.count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    add_parts(r, f->type, alias_field(alias, f->name),
              sum ? new_node(Alternative, within, alias, i) : within);
  }
}

static bool exclude_each_other(const Alternative *a, const Alternative *b) {
  for (; a; a = a->outer)
    for (const Alternative *other = b; other; other = other->outer)
      if (a->sum == other->sum && a->constructor != other->constructor) return true;
  return false;
}

// Whether callers may take the root for their own.
static bool is_given_up(const FunctionResult *r, const Root *root) {
  return root->kind == ROOT_OWN && root->depth >= r->u->region->depth;
}

// The root in a part of the result that makes it share memory, or NULL.
static Root *shared_root(const FunctionResult *r, int part) {
  const ResultPart *own = &r->parts.at[part];
  for (int i = 0; own->roots && i < own->roots->roots.count; i++) {
    Root *root = own->roots->roots.at[i];
    if (!is_given_up(r, root)) return root;
    for (int j = 0; j < r->parts.count; j++)
      if (j != part && alias_has(r->parts.at[j].roots, root) &&
          !exclude_each_other(own->within, r->parts.at[j].within))
        return root;
  }
  return NULL;
}

static const Type *mark_type(FunctionResult *r, const Type *type, bool unique, int *part);

static const Type *mark_record(FunctionResult *r, const Type *type, bool unique,
                               int *part) {
  int count = type->u.record.count;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    fields[i] = (TypeField){ f->name, mark_type(r, f->type, unique, part) };
  }
  if (count == 0 || r->declared) return type;
  Type *copy = mem_copy(type, sizeof *type);
  copy->unique = false;
  copy->u.record.fields = fields;
  return copy;
}

// A result whose type is not declared is `*` wherever it shares no memory.
static const Type *mark_type(FunctionResult *r, const Type *type, bool unique,
                             int *part) {
  type = type_resolve(type);
  unique = unique || type->unique;
  if (type->kind == TYPE_RECORD) return mark_record(r, type, unique, part);
  Root *root = shared_root(r, (*part)++);
  if (r->declared) {
    if (unique && root && !root->reported)
      consume_report_result(r->u, root, r->name, r->function->result->loc);
    return type;
  }
  bool array = type->kind == TYPE_ARRAY || type->kind == TYPE_PARAM;
  if (!array || type->unique == !root) return type;
  Type *copy = mem_copy(type, sizeof *type);
  copy->unique = !root;
  return copy;
}

// What callers have to know of the result's memory besides the type.
static void note_constants(const FunctionResult *r, Binding *owner, const Alias *alias) {
  const Alias *all = alias_flat(alias);
  bool constant = !r->function->params.count;  // what its functions hold is part of it
  for (int i = 0; all && i < all->roots.count; i++)
    owner->shares_constant =
        owner->shares_constant || constant || all->roots.at[i]->kind == ROOT_TOP;
}

static void note_parts(const FunctionResult *r) {
  const Alias *seen = NULL;
  vec_each (const ResultPart *, part, &r->parts) {
    const Alias *roots = part->roots;
    for (int i = 0; roots && i < roots->roots.count; i++)
      if (alias_has(seen, roots->roots.at[i])) r->function->shares_parts = true;
    seen = alias_union(seen, roots);
  }
}

static bool has_array(const Type *type) {
  type = type_resolve(type);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    if (has_array(type->u.record.fields[i].type)) return true;
  return type->kind == TYPE_ARRAY;
}

// Whether it is an array, or holds one, that has one value in all of its uses.
static bool is_constant(const Root *root) {
  const Binding *b = root->binding;
  return root->kind == ROOT_TOP && !b->sizes.count && has_array(b->type);
}

// A constant in an array of the result.
static void note_constant(FunctionResult *r, const Type *type, const Alias *alias) {
  type = type_resolve(type);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    note_constant(r, f->type, alias_field(alias, f->name));
  }
  const Alias *all = type->kind == TYPE_ARRAY ? alias_flat(alias) : NULL;
  for (int i = 0; all && i < all->roots.count; i++) {
    const Root *root = all->roots.at[i];
    if (is_constant(root)) map_put(r->u->constants, r->function, root);
  }
}

static const Root *given_constant(const Consume *u, const AstExp *exp);

static const Root *constant_of_part(const Consume *u, const AstExp *exp) {
  const Root *root = NULL;
  if (exp->kind == AST_TUPLE)
    for (int i = 0; !root && i < exp->u.tuple.items.count; i++)
      root = given_constant(u, exp->u.tuple.items.at[i]);
  if (exp->kind == AST_RECORD)
    for (int i = 0; !root && i < exp->u.record.fields.count; i++)
      root = given_constant(u, exp->u.record.fields.at[i].value);
  return root;
}

// The constant that the function gives which `exp` is, or holds, or NULL.
static const Root *given_constant(const Consume *u, const AstExp *exp) {
  while (exp->kind == AST_LET || exp->kind == AST_LET_FUN)
    exp = exp->kind == AST_LET ? exp->u.let.body : exp->u.let_fun.body;
  if (exp->kind == AST_NAME) return map_get(u->constants, exp->u.name.binding);
  if (exp->kind == AST_LAMBDA) return map_get(u->constants, &exp->u.lambda.function);
  return constant_of_part(u, exp);
}

void consume_check_constant(Consume *u, const AstDecl *decl) {
  const AstFunction *f = &decl->u.value.function;
  const Root *root = f->params.count ? map_get(u->constants, f) : NULL;
  if (!root) root = given_constant(u, f->body);
  if (!root) return;
  u->k->lib->gives_constant = true;
  if (u->k->opaque && !u->k->applications)
    consume_report_constant(u, decl->u.value.binding->name, root, f->body->loc);
}

// --- Types ---

static const Type *param_type(const AstPat *pat, const Type *type);

static const Type *tuple_type(const AstPat *pat, const Type *type) {
  int count = pat->u.tuple.items.count;
  if (type->kind != TYPE_RECORD || type->u.record.count != count || !count) return type;
  TypeField *fields = new_array(TypeField, count);
  for (int i = 0; i < count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    fields[i] = (TypeField){ f->name, param_type(pat->u.tuple.items.at[i], f->type) };
  }
  Type *copy = mem_copy(type, sizeof *type);
  copy->u.record.fields = fields;
  return copy;
}

// The type of a parameter, with `*` where the pattern has it.
static const Type *param_type(const AstPat *pat, const Type *type) {
  if (!consumes(pat)) return type_without_unique(type);
  type = type_resolve(type);
  if (pat->kind == AST_PAT_ATTR) return param_type(pat->u.attr.pat, type);
  if (pat->kind == AST_PAT_ASCRIBE) return pat->type;
  return pat->kind == AST_PAT_TUPLE ? tuple_type(pat, type) : type_with_unique(type);
}

// The arrows of `type` for the parameters from `at` on, and the result.
static const Type *rebuild(const AstFunction *f, const Type *type, int at,
                           const Type *result) {
  if (at == f->params.count) return result;
  type = type_resolve(type);
  if (type->kind != TYPE_FUNCTION) return type;
  Type *copy = mem_copy(type, sizeof *type);
  copy->u.function.from = param_type(f->params.at[at], type->u.function.from);
  copy->u.function.to = rebuild(f, type->u.function.to, at + 1, result);
  return copy;
}

static const Type *result_type(const AstFunction *f, const Type *type) {
  for (int i = 0; i < f->params.count; i++) {
    type = type_resolve(type);
    if (type->kind != TYPE_FUNCTION) return NULL;
    type = type->u.function.to;
  }
  return type_resolve(type);
}

// What a function takes along of what is outside of it: of constants, which nobody consumes, those
// that its result may be.
static const Alias *taken_along(const Alias *captured, const Alias *result) {
  const Alias *all = alias_flat(captured), *own = alias_flat(result), *taken = NULL;
  for (int i = 0; all && i < all->roots.count; i++) {
    Root *root = all->roots.at[i];
    if (root->kind == ROOT_TOP && !alias_has(own, root)) continue;
    taken = alias_union(taken, alias_of_root(root));
  }
  return taken;
}

const Type *consume_function(Consume *u, AstFunction *f, const Type *type, Binding *owner,
                             const Alias **captured) {
  ConsumeRegion region;
  consume_enter(u, &region, false);
  vec_each (AstPat *const *, pat, &f->params)
    bind_param(u, *pat, NULL);
  const Alias *alias = consume_exp(u, f->body);
  if (!f->params.count) consume_check_no_function(u, f->body, 0);
  const Type *result = result_type(f, type);
  FunctionResult r = { .u = u,
                       .function = f,
                       .name = owner ? owner->name : NULL,
                       .declared = f->result != NULL };
  if (result && f->result && result->kind == TYPE_FUNCTION)
    consume_check_function(u, result, f->body, "the declared type");
  if (result) add_parts(&r, result, alias, NULL);
  if (result) note_constant(&r, result, alias);
  if (result && owner) note_constants(&r, owner, alias);
  if (result) note_parts(&r);
  int part = 0;
  if (result && result->kind == TYPE_FUNCTION && !f->result)
    result = type_unique_like(result, consume_type(f->body));
  else if (result && f->params.count)
    result = mark_type(&r, result, false, &part);
  consume_leave(u);
  *captured = taken_along(region.captured, alias);
  return result ? rebuild(f, type, 0, result) : type;
}
