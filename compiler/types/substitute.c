// Types with sizes and type parameters replaced.  What does not change is shared.
#include "types/check.h"
#include "types/consume.h"
#include <string.h>

// A rebuilding of types: `size` says what becomes of a size, `param` of a type parameter.
typedef struct Rewrite {
  Check *k;
  const Size *(*size)(struct Rewrite *r, const Size *size);
  const TypeSubst *subst;
  BindingVec *made;
  Loc loc;
  const Size *(*map)(Check *k, const Size *size);
  int level;
  OwnUse *use;
  bool keep;   // unknown sizes stay themselves
  bool solve;  // nothing open remains: unconstrained variables become ()
  // sizes replaced so far, and by what
  Vec(const Size *) old;
  Vec(const Size *) replaced;
} Rewrite;

static const Type *rewrite(Rewrite *r, const Type *type);

static const Type *rewrite_record(Rewrite *r, const Type *type) {
  int count = type->u.record.count;
  TypeField *fields = NULL;
  for (int i = 0; i < count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    const Type *t = rewrite(r, f->type);
    if (t == f->type) continue;
    if (!fields) fields = mem_copy(type->u.record.fields, sizeof *fields * (size_t)count);
    fields[i].type = t;
  }
  if (!fields) return type;
  Type *copy =
      new_node(Type, .kind = TYPE_RECORD, .unique = type->unique, .alias = type->alias);
  copy->u.record.is_tuple = type->u.record.is_tuple;
  copy->u.record.count = count;
  copy->u.record.fields = fields;
  return copy;
}

static const Type *rewrite_array(Rewrite *r, const Type *type) {
  const Size *size = r->size(r, type->u.array.size);
  const Type *elem = rewrite(r, type->u.array.elem);
  if (size == type->u.array.size && elem == type->u.array.elem) return type;
  return new_node(Type, .kind = TYPE_ARRAY, .unique = type->unique, .alias = type->alias,
                  .u.array = { .size = size, .elem = elem });
}

// Sizes of the result that are bound on the way, by variables that carry them, stay bound here.
static const Type *rewrite_function(Rewrite *r, const Type *type) {
  const Type *from = rewrite(r, type->u.function.from);
  BindingVec exists = { 0 };
  for (int i = 0; i < type->u.function.exist_count; i++)
    vec_push(&exists, type->u.function.exists[i]);
  int own = exists.count;
  const Type *inner = type_resolve_result(type->u.function.to, &exists);
  const Type *to = rewrite(r, own == exists.count ? type->u.function.to : inner);
  if (from == type->u.function.from && to == type->u.function.to) return type;
  return new_node(Type, .kind = TYPE_FUNCTION, .unique = type->unique,
                  .alias = type->alias,
                  .u.function = { .param = type->u.function.param,
                                  .from = from,
                                  .to = to,
                                  .exist_count = exists.count,
                                  .exists = exists.at });
}

// An abstract type's meaning, with its arguments in place of the parameters.
static const Type *apply_meaning(Rewrite *r, const TypeDef *meaning, const Type *args) {
  TypeSubst s = { 0 };
  for (int i = 0; args && i < meaning->params->count; i++) {
    const AstTypeParam *param = &meaning->params->at[i];
    const Type *arg = type_resolve(args->u.record.fields[i].type);
    if (param->kind == TYPE_PARAM_SIZE) {
      vec_push(&s.sizes, param->binding);
      vec_push(&s.to_sizes, arg->u.array.size);
    } else {
      vec_push(&s.types, param->binding);
      vec_push(&s.to_types, arg);
    }
  }
  return type_renew_anonymous(r->k, type_substitute(r->k, &s, meaning->type));
}

static const Type *rewrite_param(Rewrite *r, const Type *type) {
  const Type *args = type->args ? rewrite(r, type->args) : NULL;
  for (int i = 0; r->subst && i < r->subst->abstract.count; i++)
    if (r->subst->abstract.at[i] == type->u.param) {
      const Type *meaning = apply_meaning(r, r->subst->meanings.at[i], args);
      return type->unique ? type_with_unique(meaning) : meaning;
    }
  for (int i = 0; r->subst && i < r->subst->types.count; i++)
    if (r->subst->types.at[i] == type->u.param) return r->subst->to_types.at[i];
  if (args == type->args) return type;
  Type *copy = mem_copy(type, sizeof *type);
  copy->args = args;
  return copy;
}

static const Type *rewrite(Rewrite *r, const Type *type) {
  const Type *t = type_resolve(type), *result = t;
  switch (t->kind) {
  case TYPE_PRIM: break;
  case TYPE_RECORD: result = rewrite_record(r, t); break;
  case TYPE_ARRAY: result = rewrite_array(r, t); break;
  case TYPE_FUNCTION: result = rewrite_function(r, t); break;
  case TYPE_PARAM: result = rewrite_param(r, t); break;
  case TYPE_VAR:
    if (r->solve && !t->u.var->is_error) result = type_unit();
    break;
  }
  if (!r->solve) return result == t ? type : result;
  bool solved = type->kind == TYPE_VAR && result->kind != TYPE_VAR;
  if (solved && !type->u.var->exists.count) type->u.var->solution = result;
  return result;
}

static const Size *substitute_size(Rewrite *r, const Size *size) {
  return size_substitute(r->k, r->subst, size);
}

// The use of a polymorphic function in a size.
static const AstExp *substitute_inst(Check *k, const TypeSubst *s, const AstExp *use) {
  const Binding *b = use->u.name.binding;
  const Inst *old = use->u.name.inst;
  if (!old || (!old->sizes && !old->types) || (!s->sizes.count && !s->types.count))
    return use;
  Inst *inst = new (Inst);
  inst->sizes = new_array(const Size *, b->sizes.count);
  inst->types = new_array(const Type *, b->types.count);
  for (int i = 0; i < b->sizes.count && old->sizes; i++)
    inst->sizes[i] = old->sizes[i] ? size_substitute(k, s, old->sizes[i]) : NULL;
  for (int i = 0; i < b->types.count && old->types; i++)
    inst->types[i] = type_substitute(k, s, old->types[i]);
  AstExp *copy = mem_copy(use, sizeof *copy);
  copy->u.name.inst = inst;
  copy->type = type_substitute(k, s, use->type);
  return copy;
}

const Size *size_substitute(Check *k, const TypeSubst *s, const Size *size) {
  const Size *old = size_resolve(size);
  if (old->kind == SIZE_NAME)
    for (int i = 0; i < s->sizes.count; i++)
      if (s->sizes.at[i] == old->u.name) return s->to_sizes.at[i];
  if (old->kind != SIZE_EXP) return size;
  const SizeTree *tree = old->u.exp.tree;
  const Size **parts = new_array(const Size *, tree->count);
  bool same = true;
  for (int i = 0; i < tree->count; i++) {
    parts[i] = size_substitute(k, s, tree->parts[i]);
    same = same && parts[i] == tree->parts[i];
  }
  if (tree->op == SIZE_CALL) {
    const AstExp *function = substitute_inst(k, s, tree->node);
    if (same && function == tree->node) return size;
    return size_tree(SIZE_CALL, function, tree->count, parts);
  }
  return same ? size : size_rebuild(tree, parts);
}

const Type *type_substitute(Check *k, const TypeSubst *s, const Type *type) {
  Rewrite r = { .k = k, .size = substitute_size, .subst = s };
  return rewrite(&r, type);
}

const Type *type_replace_size(Check *k, const Binding *from, const Size *to,
                              const Type *type) {
  TypeSubst s = { 0 };
  vec_push(&s.sizes, from);
  vec_push(&s.to_sizes, to);
  return type_substitute(k, &s, type);
}

static const Size *solve_size(Rewrite *r, const Size *size) {
  return size_solve(r->k, size);
}

const Type *type_solve(Check *k, const Type *type) {
  Rewrite r = { .k = k, .size = solve_size, .solve = true };
  return rewrite(&r, type);
}

static const Size *map_size(Rewrite *r, const Size *size) { return r->map(r->k, size); }

const Type *type_map_sizes(Check *k, const Type *type,
                           const Size *(*map)(Check *k, const Size *size)) {
  Rewrite r = { .k = k, .size = map_size, .map = map };
  return rewrite(&r, type);
}

static Binding *unknown_new(Rewrite *r, Loc loc) {
  Binding *b = binding_new(r->k, BIND_SIZE, unknown_name(r->k), loc, type_prim(PRIM_I64));
  vec_push(r->made, b);
  return b;
}

// Each anonymous size in `size` replaced by what `make` gives; n of ?[n].t by the same everywhere.
static const Size *replace_anonymous(Rewrite *r, const Size *size,
                                     const Size *(*make)(Rewrite *r, Loc loc)) {
  if (size->kind == SIZE_ANY) {
    for (int i = 0; size->u.name && i < r->old.count; i++)
      if (r->old.at[i]->u.name == size->u.name) return r->replaced.at[i];
    vec_push(&r->old, size);
    vec_push(&r->replaced, make(r, size->loc));
    return r->replaced.at[r->replaced.count - 1];
  }
  if (size->kind != SIZE_EXP) return size;
  const SizeTree *tree = size->u.exp.tree;
  const Size **parts = new_array(const Size *, tree->count);
  bool same = true;
  for (int i = 0; i < tree->count; i++) {
    parts[i] = replace_anonymous(r, tree->parts[i], make);
    same = same && parts[i] == tree->parts[i];
  }
  return same ? size : size_rebuild(tree, parts);
}

static const Size *unknown_for(Rewrite *r, Loc loc) {
  return size_of_binding(unknown_new(r, loc), loc);
}

static const Size *name_anonymous(Rewrite *r, const Size *size) {
  return replace_anonymous(r, size, unknown_for);
}

const Type *type_name_anonymous(Check *k, const Type *type, BindingVec *made) {
  Rewrite r = { .k = k, .size = name_anonymous, .made = made };
  return rewrite(&r, type);
}

static const Size *key_for(Rewrite *r, Loc loc) {
  const Binding *old = r->old.at[r->old.count - 1]->u.name;
  Binding *key =
      old ? binding_new(r->k, BIND_SIZE, old->name, loc, type_prim(PRIM_I64)) : NULL;
  if (key) key->hides = old->hides;
  return new_node(Size, .kind = SIZE_ANY, .loc = loc, .u.name = key);
}

static const Size *renew_anonymous(Rewrite *r, const Size *size) {
  return replace_anonymous(r, size, key_for);
}

const Type *type_renew_anonymous(Check *k, const Type *type) {
  Rewrite r = { .k = k, .size = renew_anonymous };
  return rewrite(&r, type);
}

static const Size *freshened(Rewrite *r, const Size *size) {
  size = size_resolve(size);
  if (size->kind == SIZE_EXP) {
    const SizeTree *tree = size->u.exp.tree;
    const Size **parts = new_array(const Size *, tree->count);
    for (int i = 0; i < tree->count; i++)
      parts[i] = freshened(r, tree->parts[i]);
    return size_rebuild(tree, parts);
  }
  if (size->kind != SIZE_VAR) return size;
  for (int i = 0; i < r->use->old.count; i++)
    if (size_resolve(r->use->old.at[i]) == size) return r->use->fresh.at[i];
  vec_push(&r->use->old, size);
  vec_push(&r->use->fresh, size_var(r->k, size->u.var->name, r->use->exp->loc));
  return r->use->fresh.at[r->use->fresh.count - 1];
}

const Type *type_freshen_sizes(Check *k, const Type *type, OwnUse *use) {
  Rewrite r = { .k = k, .size = freshened, .use = use };
  return rewrite(&r, type);
}

static const Size *variable_for(Rewrite *r, Loc loc) { return size_var(r->k, NULL, loc); }

static const Size *open_anonymous(Rewrite *r, const Size *size) {
  return replace_anonymous(r, size, variable_for);
}

const Type *type_open_anonymous(Check *k, const Type *type) {
  Rewrite r = { .k = k, .size = open_anonymous };
  return rewrite(&r, type);
}

static bool is_hidden(const Size *size) {
  if (size->kind == SIZE_ANY) return size->u.name && size->u.name->hides;
  for (int i = 0; size->kind == SIZE_EXP && i < size->u.exp.tree->count; i++)
    if (is_hidden(size->u.exp.tree->parts[i])) return true;
  return false;
}

static const Size *open_shown(Rewrite *r, const Size *size) {
  return is_hidden(size) ? size : open_anonymous(r, size);
}

const Type *type_open_shown(Check *k, const Type *type) {
  Rewrite r = { .k = k, .size = open_shown };
  return rewrite(&r, type);
}

static const Size *closed(Rewrite *r, const Size *size);

// An unknown size that comes into being once for each time that the outer scope is entered.
static const Size *lifted(Rewrite *r, const Size *size) {
  Binding *b = NULL;
  memcpy(&b, &size->u.name, sizeof b);
  b->level = r->k->level;
  return size;
}

static const Size *closed_tree(Rewrite *r, const Size *size) {
  const SizeTree *tree = size->u.exp.tree;
  const Size **parts = new_array(const Size *, tree->count);
  for (int i = 0; i < tree->count; i++)
    if (!(parts[i] = closed(r, tree->parts[i]))) return NULL;
  return size_rebuild(tree, parts);
}

// The size in terms of what is known outside and of unknown sizes that there are already, or NULL.
static const Size *closed(Rewrite *r, const Size *size) {
  size_join_leave(r->k, size, r->k->level, r->keep);
  const Size *outer = size_outer(size, r->k->level);
  if (outer) return outer;
  const Size *s = size_resolve(size);
  if (r->keep && s->kind == SIZE_NAME && s->u.name->name[0] == '?') return lifted(r, s);
  for (int i = 0; i < r->old.count; i++)
    if (size_equal(r->old.at[i], s)) return r->replaced.at[i];
  return s->kind == SIZE_EXP ? closed_tree(r, s) : NULL;
}

// Sizes that end with their scope become unknown ones, equal sizes the same one.
static const Size *close_size(Rewrite *r, const Size *size) {
  const Size *known = closed(r, size);
  if (known) return known;
  const Size *s = size_resolve(size);
  const Size *unknown = size_of_binding(unknown_new(r, r->loc), s->loc);
  vec_push(&r->old, s);
  vec_push(&r->replaced, unknown);
  return unknown;
}

// Sizes that are names come first, so that others can be expressed by what becomes of them.
static const Size *close_name(Rewrite *r, const Size *size) {
  return size_resolve(size)->kind == SIZE_NAME ? close_size(r, size) : size;
}

const Type *type_close(Check *k, const Type *type, BindingVec *made, Loc loc) {
  Rewrite r = { .k = k, .size = close_name, .made = made, .loc = loc };
  type = rewrite(&r, type);
  r.size = close_size;
  return rewrite(&r, type);
}

const Type *type_leave(Check *k, const Type *type, BindingVec *made, Loc loc) {
  Rewrite r = { .k = k, .size = close_name, .made = made, .loc = loc, .keep = true };
  type = rewrite(&r, type);
  r.size = close_size;
  return rewrite(&r, type);
}

static const Size *bounded(Rewrite *r, const Size *size) {
  if (!size_is_huge(size)) return size;
  const Size *simple = size_simplify(size);
  if (!size_is_huge(simple)) return simple;
  for (int i = 0; i < r->old.count; i++)
    if (r->old.at[i] == size) return r->replaced.at[i];
  vec_push(&r->old, size);
  vec_push(&r->replaced, unknown_for(r, r->loc));
  return r->replaced.at[r->replaced.count - 1];
}

const Type *type_bounded(Check *k, const Type *type, BindingVec *made, Loc loc) {
  if (type_has_function(type)) return type;
  Rewrite r = { .k = k, .size = bounded, .made = made, .loc = loc };
  return rewrite(&r, type);
}

static const Size *outer_size(Rewrite *r, const Size *size) {
  const Size *outer = size_outer(size, r->level);
  return outer ? outer : size;
}

const Type *type_outer(Check *k, const Type *type, int level) {
  Rewrite r = { .k = k, .size = outer_size, .level = level };
  return rewrite(&r, type);
}

bool type_mentions(const Type *type, const Binding *size) {
  type = type_resolve(type);
  switch (type->kind) {
  case TYPE_PRIM: return false;
  case TYPE_RECORD:
    for (int i = 0; i < type->u.record.count; i++)
      if (type_mentions(type->u.record.fields[i].type, size)) return true;
    return false;
  case TYPE_ARRAY:
    return size_mentions(type->u.array.size, size) ||
           type_mentions(type->u.array.elem, size);
  case TYPE_FUNCTION:
    return type_mentions(type->u.function.from, size) ||
           type_mentions(type->u.function.to, size);
  case TYPE_PARAM: return type->args && type_mentions(type->args, size);
  case TYPE_VAR: return false;
  }
  return false;
}

static void add_size_names(const Size *size, Map *names) {
  size = size_resolve(size);
  if (size->kind == SIZE_NAME) map_put(names, size->u.name, (void *)names);
  for (int i = 0; size->kind == SIZE_EXP && i < size->u.exp.tree->count; i++)
    add_size_names(size->u.exp.tree->parts[i], names);
}

void type_size_names(const Type *type, Map *names) {
  type = type_resolve(type);
  for (; type->kind == TYPE_FUNCTION; type = type_resolve(type->u.function.to))
    type_size_names(type->u.function.from, names);
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    type_size_names(type->u.record.fields[i].type, names);
  if (type->kind == TYPE_ARRAY) add_size_names(type->u.array.size, names);
  if (type->kind == TYPE_ARRAY) type_size_names(type->u.array.elem, names);
  if (type->kind == TYPE_PARAM && type->args) type_size_names(type->args, names);
}
