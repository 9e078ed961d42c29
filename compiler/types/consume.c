// The checking of consumption, expression by expression, in the order of evaluation (consume.h).
#include "types/consume.h"

Root *consume_root_like(Consume *u, const Root *root) {
  Root *copy = mem_copy(root, sizeof *copy);
  copy->id = u->k->c->next_id++;
  copy->consumed = NULL;
  return copy;
}

// --- Regions ---

void consume_enter(Consume *u, ConsumeRegion *region, bool is_loop) {
  int depth = u->region ? u->region->depth + 1 : 0;
  *region = (ConsumeRegion){ .outer = u->region, .is_loop = is_loop, .depth = depth };
  u->region = region;
}

void consume_leave(Consume *u) { u->region = u->region->outer; }

// --- Uses ---

static void use_root(Consume *u, Root *root, Name name, Loc loc) {
  if (root->consumed && !root->reported) consume_report_use(u, root, name, loc);
  for (ConsumeRegion *r = u->region; r && r->depth > root->depth; r = r->outer)
    r->captured = alias_union(r->captured, alias_of_root(root));
}

// A function, or a record of nothing but functions and scalars.
static bool is_functions(const Type *type) {
  type = type_resolve(type);
  if (type->kind != TYPE_RECORD) return type->kind == TYPE_FUNCTION || !type_shares(type);
  for (int i = 0; i < type->u.record.count; i++)
    if (!is_functions(type->u.record.fields[i].type)) return false;
  return true;
}

static Name *field_names(const Type *record) {
  Name *names = new_array(Name, record->u.record.count);
  for (int i = 0; i < record->u.record.count; i++)
    names[i] = record->u.record.fields[i].name;
  return names;
}

static bool is_array_of_param(const Binding *constant, const Type *type) {
  if (type->kind != TYPE_ARRAY) return false;
  while (type->kind == TYPE_ARRAY)
    type = type_resolve(type->u.array.elem);
  for (int i = 0; type->kind == TYPE_PARAM && i < constant->types.count; i++)
    if (type->u.param == constant->types.at[i]) return true;
  return false;
}

// An array of elements of any type, as in `def none 'a : []a = []`, has none that an update could
// change.
static const Alias *constant_alias(const Binding *constant, const Type *type,
                                   const Alias *alias) {
  type = type_resolve(type);
  if (is_array_of_param(constant, type)) return NULL;
  if (type->kind != TYPE_RECORD) return alias;
  const Alias **fields = new_array(const Alias *, type->u.record.count);
  for (int i = 0; i < type->u.record.count; i++)
    fields[i] = constant_alias(constant, type->u.record.fields[i].type, alias);
  return alias_record(field_names(type), fields, type->u.record.count);
}

// A constant at top level, of any type or size too, is a root that nobody may consume, and so is
// what a function gives that gives a constant.
static const Alias *top_alias(Consume *u, const Binding *binding, const Type *type) {
  bool functions = is_functions(type) && !binding->shares_constant;
  if (!binding->is_top || functions || !type_shares(type)) return NULL;
  Root *root = new_node(Root, .kind = ROOT_TOP, .binding = binding,
                        .id = u->k->c->next_id++, .depth = -1);
  const Alias *alias = constant_alias(binding, binding->type, alias_of_root(root));
  map_put(u->aliases, binding, alias);
  return alias;
}

static const Alias *name_alias(Consume *u, const AstExp *exp) {
  const Binding *binding = exp->u.name.binding;
  if (!binding) return NULL;
  const Alias *alias = map_get(u->aliases, binding);
  return alias ? alias : top_alias(u, binding, exp->type);
}

static void use_alias(Consume *u, const Alias *alias, Name name, Loc loc) {
  const Alias *all = alias_flat(alias);
  for (int i = 0; all && i < all->roots.count; i++)
    use_root(u, all->roots.at[i], name, loc);
}

static const Alias *consume_name(Consume *u, const AstExp *exp) {
  const Alias *alias = name_alias(u, exp);
  if (alias) use_alias(u, alias, exp->u.name.binding->name, exp->loc);
  return alias;
}

// The name that `exp` is, or of which it is a part, or NULL; and the alias of that part.
static const AstExp *part_of_name(Consume *u, const AstExp *exp, const Alias **alias) {
  if (exp->kind == AST_NAME) *alias = name_alias(u, exp);
  if (exp->kind != AST_PROJECT) return exp->kind == AST_NAME ? exp : NULL;
  const AstExp *name = part_of_name(u, exp->u.project.record, alias);
  if (name) *alias = alias_field(*alias, exp->u.project.field);
  return name;
}

// A part without memory is there until the whole is consumed by its name.
static void use_scalar_part(Consume *u, const AstExp *name, Loc loc) {
  const Binding *binding = name->u.name.binding;
  const Alias *all = alias_flat(name_alias(u, name));
  for (int i = 0; all && i < all->roots.count; i++) {
    Root *root = all->roots.at[i];
    if (root->consumed && root->consumed->through == binding->name)
      use_root(u, root, binding->name, loc);
  }
}

// Of a name only the part that is mentioned is used: others may have been consumed.
static const Alias *consume_project(Consume *u, const AstExp *exp) {
  const Alias *alias = NULL;
  const AstExp *name = part_of_name(u, exp, &alias);
  if (!name) {
    alias = consume_exp(u, exp->u.project.record);
    return alias_field(alias, exp->u.project.field);
  }
  if (!name->u.name.binding) return NULL;
  if (type_shares(exp->type))
    use_alias(u, alias, name->u.name.binding->name, name->loc);
  else
    use_scalar_part(u, name, name->loc);
  return alias;
}

void consume_check_alive(Consume *u, const Alias *alias, const AstExp *exp) {
  const Alias *all = alias_flat(alias);
  for (int i = 0; all && i < all->roots.count; i++) {
    Root *root = all->roots.at[i];
    bool named = exp->kind == AST_NAME && exp->u.name.binding;
    bool function = type_resolve(exp->type)->kind == TYPE_FUNCTION;
    Name used = named && function ? exp->u.name.binding->name : root->binding->name;
    if (root->consumed && !root->reported) consume_report_use(u, root, used, exp->loc);
  }
}

// --- Consumption ---

static void consume_root(Consume *u, Root *root, const Consumed *consumed) {
  if (root->consumed || root->reported) return;
  if (root->kind != ROOT_OWN) {
    consume_report_fixed(u, root, consumed);
  } else if (u->region && root->depth < u->region->depth) {
    consume_report_outside(u, root, consumed);
  } else {
    root->consumed = consumed;
    vec_push(&u->log, (ConsumeEvent){ root, consumed });
  }
}

static const AstExp *plain(const AstExp *exp) {
  while (exp->kind == AST_ASCRIBE || exp->kind == AST_COERCE || exp->kind == AST_ATTR)
    exp = exp->kind == AST_ATTR ? exp->u.attr.exp : exp->u.ascribe.exp;
  return exp;
}

void consume_value(Consume *u, const Alias *alias, const AstExp *exp) {
  const Alias *all = alias_flat(alias);
  if (!all) return;
  const AstExp *inner = plain(exp);
  Name name = inner->kind == AST_NAME ? inner->u.name.name.name : NULL;
  const Consumed *consumed = new_node(Consumed, .loc = exp->loc, .through = name);
  for (int i = 0; i < all->roots.count; i++)
    consume_root(u, all->roots.at[i], consumed);
}

// --- Branches: each begins with what was consumed before; afterwards all is that one consumes ---

static ConsumeEventVec take_back(Consume *u, int mark) {
  ConsumeEventVec taken = { 0 };
  for (int i = mark; i < u->log.count; i++) {
    u->log.at[i].root->consumed = NULL;
    vec_push(&taken, u->log.at[i]);
  }
  u->log.count = mark;
  return taken;
}

static void put_back(Consume *u, const ConsumeEventVec *taken) {
  for (int i = 0; i < taken->count; i++) {
    if (taken->at[i].root->consumed) continue;
    taken->at[i].root->consumed = taken->at[i].consumed;
    vec_push(&u->log, taken->at[i]);
  }
}

// What one branch consumes and another one gives back belongs to the result alone: a root of the
// same name stands for it.
static const Alias *reborn(Consume *u, Map *roots, const Alias *alias) {
  if (!alias) return NULL;
  if (alias->count) {
    const Alias **fields = new_array(const Alias *, alias->count);
    for (int i = 0; i < alias->count; i++)
      fields[i] = reborn(u, roots, alias->fields[i]);
    return alias_record(alias->names, fields, alias->count);
  }
  const Alias *all = NULL;
  for (int i = 0; i < alias->roots.count; i++) {
    Root *root = alias->roots.at[i];
    if (root->consumed && !map_has(roots, root))
      map_put(roots, root, consume_root_like(u, root));
    all = alias_union(all, alias_of_root(root->consumed ? map_get(roots, root) : root));
  }
  return all;
}

static const Alias *result_of_branches(Consume *u, const Alias *alias, int mark) {
  return alias && u->log.count > mark ? reborn(u, map_new(NULL), alias) : alias;
}

static const Alias *consume_if(Consume *u, const AstExp *exp) {
  consume_exp(u, exp->u.cond.condition);
  int mark = u->log.count;
  const Alias *yes = consume_exp(u, exp->u.cond.then_exp);
  ConsumeEventVec taken = take_back(u, mark);
  const Alias *no = consume_exp(u, exp->u.cond.else_exp);
  put_back(u, &taken);
  return result_of_branches(u, alias_union(yes, no), mark);
}

static const Alias *consume_logical(Consume *u, const AstExp *exp) {
  consume_exp(u, exp->u.logical.left);
  consume_exp(u, exp->u.logical.right);
  return NULL;
}

static const Alias *consume_match(Consume *u, const AstExp *exp) {
  int mark = u->log.count;
  const Alias *value = consume_exp(u, exp->u.match.value), *result = NULL;
  consume_check_no_function(u, exp->u.match.value, mark);
  mark = u->log.count;
  ConsumeEventVec all = { 0 };
  for (int i = 0; i < exp->u.match.cases.count; i++) {
    const AstCase *c = &exp->u.match.cases.at[i];
    consume_bind(u, c->pat, value);
    result = alias_union(result, consume_exp(u, c->body));
    ConsumeEventVec taken = take_back(u, mark);
    vec_each (const ConsumeEvent *, event, &taken)
      vec_push(&all, *event);
  }
  put_back(u, &all);
  return result_of_branches(u, result, mark);
}

// --- Structures ---

static void check_parts_alive(Consume *u, AstExp *const *parts,
                              const Alias *const *aliases, int count, int mark) {
  if (u->log.count == mark) return;
  for (int i = 0; i < count; i++)
    consume_check_alive(u, aliases[i], parts[i]);
}

static const Alias **consume_parts(Consume *u, AstExp *const *parts, int count) {
  const Alias **aliases = new_array(const Alias *, count);
  int mark = u->log.count;
  for (int i = 0; i < count; i++)
    aliases[i] = consume_exp(u, parts[i]);
  check_parts_alive(u, parts, aliases, count, mark);
  return aliases;
}

static const Alias *consume_tuple(Consume *u, const AstExp *exp) {
  int count = exp->u.tuple.items.count;
  const Alias **fields = consume_parts(u, exp->u.tuple.items.at, count);
  const Type *type = type_resolve(exp->type);
  if (type->kind != TYPE_RECORD || type->u.record.count != count) return NULL;
  return alias_record(field_names(type), fields, count);
}

static const Alias *consume_record(Consume *u, const AstExp *exp) {
  int count = exp->u.record.fields.count;
  AstExp **values = new_array(AstExp *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    values[i] = exp->u.record.fields.at[i].value;
    names[i] = exp->u.record.fields.at[i].name;
  }
  return alias_record(names, consume_parts(u, values, count), count);
}

// The arguments make up the tuple that stands in the field of the constructor.
static const Alias *consume_constructor(Consume *u, const AstExp *exp) {
  int count = exp->u.constructor.payload.count;
  const Alias **parts = consume_parts(u, exp->u.constructor.payload.at, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++)
    names[i] = type_field_name(u->k->c, i);
  const Alias **field = new_array(const Alias *, 1);
  Name *name = new_array(Name, 1);
  field[0] = alias_record(names, parts, count);
  name[0] = constructor_field(u->k, exp->u.constructor.name);
  return alias_record(name, field, 1);
}

// --- Updates ---

static void consume_dims(Consume *u, const AstDimVec *dims) {
  vec_each (const AstDim *, dim, dims) {
    AstExp *const parts[] = { dim->index, dim->from, dim->to, dim->step };
    for (int i = 0; i < 4; i++)
      if (parts[i]) consume_exp(u, parts[i]);
  }
}

static void check_new_value(Consume *u, const Alias *array, const Alias *value,
                            const AstExp *exp) {
  const Alias *old = alias_flat(array), *new_roots = alias_flat(value);
  for (int i = 0; old && i < old->roots.count; i++) {
    Root *root = old->roots.at[i];
    if (root->reported || !alias_has(new_roots, root)) continue;
    root->reported = true;
    error(u->k->c, exp->loc,
          "the new value may share memory with %s, which this update consumes",
          consume_root_text(root));
    hint(u->k->c, "write a copy: `copy` before the value");
    return;
  }
}

// An update of what `path` leads to from the step `at` on.
typedef struct ConsumeUpdate {
  Consume *u;
  const AstPath *path;
  const AstExp *target, *value;
  const Alias *new_alias;
} ConsumeUpdate;

static const Alias *updated(const ConsumeUpdate *w, const Alias *alias, const Type *type,
                            int at) {
  if (at == w->path->count) return w->new_alias;
  Name field = w->path->at[at].field;
  if (!field) {
    check_new_value(w->u, alias, w->new_alias, w->value);
    consume_value(w->u, alias, w->target);
    return NULL;
  }
  type = type_resolve(type);
  if (type->kind != TYPE_RECORD) return alias;
  int count = type->u.record.count;
  const Alias **fields = new_array(const Alias *, count);
  int mark = w->u->log.count;
  for (int i = 0; i < count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    const Alias *old = type_shares(f->type) ? alias_field(alias, f->name) : NULL;
    fields[i] = f->name == field ? updated(w, old, f->type, at + 1) : old;
  }
  // The other fields are in the new record, too.
  for (int i = 0; w->u->log.count > mark && i < count; i++)
    if (type->u.record.fields[i].name != field)
      consume_check_alive(w->u, fields[i], w->target);
  return alias_record(field_names(type), fields, count);
}

// What remains of the old value.  A field that is replaced as a whole may have been consumed for
// the new one.
static const Alias *kept_by_update(const ConsumeUpdate *update, const Alias *alias) {
  vec_each (const AstStep *, step, update->path)
    if (!step->field) return alias;
  ConsumeUpdate without = *update;
  without.new_alias = NULL;
  return updated(&without, alias, update->target->type, 0);
}

static const Alias *consume_update(Consume *u, AstExp *target, const AstPath *path,
                                   AstExp *value) {
  const Alias *alias = consume_exp(u, target);
  int mark = u->log.count;
  vec_each (const AstStep *, step, path)
    consume_dims(u, &step->dims);
  ConsumeUpdate update = { u, path, target, value, consume_exp(u, value) };
  if (u->log.count > mark) consume_check_alive(u, kept_by_update(&update, alias), target);
  return updated(&update, alias, target->type, 0);
}

// --- Bindings ---

void consume_check_no_function(Consume *u, const AstExp *value, int mark) {
  if (u->log.count == mark || !type_has_function(value->type)) return;
  for (int i = mark; i < u->log.count; i++) {
    const Root *root = u->log.at[i].root;
    if (root->depth > u->region->depth) continue;  // a function's own
    error(u->k->c, value->loc,
          "this value has a function in it, so that computing it must not consume `%s`",
          root->binding->name);
    return;
  }
}

// A name for a function consumes and shares what the function turned out to.
static void bind_function(AstPat *pat, const AstExp *value) {
  const Type *type = type_resolve(pat->type);
  if (pat->kind == AST_PAT_NAME && type->kind == TYPE_FUNCTION)
    pat->u.name.binding->type = type_unique_like(type, consume_type(value));
}

static const Alias *consume_let(Consume *u, const AstExp *exp) {
  int mark = u->log.count;
  const Alias *value = consume_exp(u, exp->u.let.value);
  if (exp->u.let.pat->kind == AST_PAT_ASCRIBE && type_has_unique(exp->u.let.pat->type))
    consume_check_owned(u, value, exp->u.let.value);
  consume_check_no_function(u, exp->u.let.value, mark);
  consume_bind(u, exp->u.let.pat, value);
  bind_function(exp->u.let.pat, exp->u.let.value);
  return consume_exp(u, exp->u.let.body);
}

static const Alias *consume_let_fun(Consume *u, AstExp *exp) {
  Binding *b = exp->u.let_fun.binding;
  const Alias *captured;
  b->type = consume_function(u, &exp->u.let_fun.function, b->type, b, &captured);
  if (captured) map_put(u->aliases, b, captured);
  map_put(u->constants, b, map_get(u->constants, &exp->u.let_fun.function));
  return consume_exp(u, exp->u.let_fun.body);
}

static const Alias *consume_let_with(Consume *u, const AstExp *exp) {
  const Alias *value = consume_update(u, exp->u.let_with.target, &exp->u.let_with.path,
                                      exp->u.let_with.value);
  consume_bind(u, exp->u.let_with.pat, value);
  return consume_exp(u, exp->u.let_with.body);
}

static const Alias *consume_lambda(Consume *u, AstExp *exp) {
  const Alias *captured;
  exp->type = consume_function(u, &exp->u.lambda.function, exp->type, NULL, &captured);
  return captured;
}

// --- The rest ---

static const Alias *consume_range(Consume *u, const AstExp *exp) {
  consume_exp(u, exp->u.range.from);
  if (exp->u.range.second) consume_exp(u, exp->u.range.second);
  consume_exp(u, exp->u.range.to);
  return NULL;
}

static const Alias *consume_array(Consume *u, const AstExp *exp) {
  consume_parts(u, exp->u.array.items.at, exp->u.array.items.count);
  return NULL;
}

static const Alias *consume_index(Consume *u, const AstExp *exp) {
  const Alias *array = consume_exp(u, exp->u.index.array);
  int mark = u->log.count;
  consume_dims(u, &exp->u.index.dims);
  if (u->log.count > mark) consume_check_alive(u, array, exp->u.index.array);
  return array;
}

static const Alias *consume_section(Consume *u, const AstExp *exp) {
  const Alias *op = consume_exp(u, exp->u.section.op);
  const Alias *operand = consume_exp(u, exp->u.section.operand);
  const Type *type = consume_type(exp->u.section.op);
  if (exp->kind == AST_SECTION_RIGHT && type->kind == TYPE_FUNCTION)
    type = type_resolve(type->u.function.to);
  if (type->kind == TYPE_FUNCTION && type_has_unique(type->u.function.from)) {
    error(
        u->k->c, exp->u.section.operand->loc,
        "the operand of a section cannot be consumed: the section may be applied again");
    hint(u->k->c, "write a lambda that takes it as a parameter `*`");
  }
  return alias_union(alias_flat(op), alias_flat(operand));
}

// e : *t says that nothing else needs the value.
void consume_check_owned(Consume *u, const Alias *alias, const AstExp *exp) {
  const Alias *all = alias_flat(alias);
  for (int i = 0; all && i < all->roots.count; i++) {
    Root *root = all->roots.at[i];
    if (root->kind == ROOT_OWN || root->reported) continue;
    root->reported = true;
    error(u->k->c, exp->loc, "the type says `*`, but this may share memory with `%s`",
          root->binding->name);
    hint(u->k->c, "write a copy: `copy` before the expression");
  }
}

static const Alias *consume_ascribe(Consume *u, const AstExp *exp) {
  AstExp *inner = exp->u.ascribe.exp;
  const Alias *alias = consume_exp(u, inner);
  const Type *type = type_resolve(exp->u.ascribe.ascribed);
  if (type_has_unique(type)) consume_check_owned(u, alias, inner);
  if (type->kind == TYPE_FUNCTION) consume_check_function(u, type, inner, "the type");
  return alias;
}

static const Alias *consume_assert(Consume *u, const AstExp *exp) {
  consume_exp(u, exp->u.assert.condition);
  return consume_exp(u, exp->u.assert.exp);
}

static const Alias *consume_kind(Consume *u, AstExp *exp) {
  switch (exp->kind) {
  case AST_INT:
  case AST_FLOAT:
  case AST_BOOL:
  case AST_STRING:
  case AST_HOLE:
  case AST_SECTION_FIELD: return NULL;
  case AST_NAME: return consume_name(u, exp);
  case AST_TUPLE: return consume_tuple(u, exp);
  case AST_RECORD: return consume_record(u, exp);
  case AST_ARRAY: return consume_array(u, exp);
  case AST_RANGE: return consume_range(u, exp);
  case AST_INDEX: return consume_index(u, exp);
  case AST_PROJECT: return consume_project(u, exp);
  case AST_APPLY: return consume_apply(u, exp);
  case AST_AND:
  case AST_OR: return consume_logical(u, exp);
  case AST_LAMBDA: return consume_lambda(u, exp);
  case AST_SECTION_LEFT:
  case AST_SECTION_RIGHT: return consume_section(u, exp);
  case AST_SECTION_INDEX: consume_dims(u, &exp->u.section_index.dims); return NULL;
  case AST_LET: return consume_let(u, exp);
  case AST_LET_FUN: return consume_let_fun(u, exp);
  case AST_LET_WITH: return consume_let_with(u, exp);
  case AST_IF: return consume_if(u, exp);
  case AST_LOOP: return consume_loop(u, exp);
  case AST_MATCH: return consume_match(u, exp);
  case AST_WITH:
    return consume_update(u, exp->u.with.target, &exp->u.with.path, exp->u.with.value);
  case AST_ASCRIBE:
  case AST_COERCE: return consume_ascribe(u, exp);
  case AST_ASSERT: return consume_assert(u, exp);
  case AST_ATTR: return consume_exp(u, exp->u.attr.exp);
  case AST_CONSTRUCTOR: return consume_constructor(u, exp);
  case AST_OPEN_IN: return consume_exp(u, exp->u.open_in.exp);
  }
  return NULL;
}

const Alias *consume_exp(Consume *u, AstExp *exp) {
  const Alias *alias = consume_kind(u, exp);
  return alias && type_shares(exp->type) ? alias : NULL;
}

void consume_definition(Check *k, AstDecl *decl) {
  Binding *b = decl->u.value.binding;
  AstFunction *f = &decl->u.value.function;
  Consume u = { .k = k, .aliases = map_new(NULL), .constants = map_new(NULL) };
  const Alias *captured;
  b->type = consume_function(&u, f, b->type, b, &captured);
  consume_check_constant(&u, decl);
}
