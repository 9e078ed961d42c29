// Patterns: which names become roots.
#include "types/consume.h"

static const Alias *own(Consume *u, const Binding *binding, const Type *type,
                        const Alias *alias);

static const Alias *own_record(Consume *u, const Binding *binding, const Type *type,
                               const Alias *alias) {
  int count = type->u.record.count;
  const Alias **fields = new_array(const Alias *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    const TypeField *f = &type->u.record.fields[i];
    names[i] = f->name;
    fields[i] = own(u, binding, f->type, alias_field(alias, f->name));
  }
  return alias_record(names, fields, count);
}

// The alias of a name of that type for a value: its parts that are fresh become roots.
static const Alias *own(Consume *u, const Binding *binding, const Type *type,
                        const Alias *alias) {
  type = type_resolve(type);
  if (!type_shares(type)) return NULL;
  bool shared = alias && !alias->count;
  // What a function that is a parameter shares memory with is known to callers only.
  bool function = type->kind == TYPE_FUNCTION && u->kind != ROOT_PARAM;
  if (shared || function) return alias;
  if (type->kind == TYPE_RECORD) return own_record(u, binding, type, alias);
  if (alias) return alias_flat(alias);
  return alias_of_root(new_node(Root, .kind = u->kind, .binding = binding,
                                .id = u->k->c->next_id++,
                                .depth = u->region ? u->region->depth : 0));
}

static void bind_fields(Consume *u, const AstPatVec *items, const Alias *alias,
                        const Type *type) {
  type = type_resolve(type);
  if (type->kind != TYPE_RECORD) return;
  for (int i = 0; i < items->count && i < type->u.record.count; i++)
    consume_bind(u, items->at[i], alias_field(alias, type->u.record.fields[i].name));
}

static void bind_payload(Consume *u, const AstPat *pat, const Alias *alias) {
  Name field = constructor_field(u->k, pat->u.constructor.name);
  const Type *sum = type_resolve(pat->type);
  for (int i = 0; sum->kind == TYPE_RECORD && i < sum->u.record.count; i++)
    if (sum->u.record.fields[i].name == field)
      bind_fields(u, &pat->u.constructor.payload, alias_field(alias, field),
                  sum->u.record.fields[i].type);
}

void consume_bind(Consume *u, const AstPat *pat, const Alias *alias) {
  switch (pat->kind) {
  case AST_PAT_NAME: {
    const Alias *a = own(u, pat->u.name.binding, pat->type, alias);
    if (a) map_put(u->aliases, pat->u.name.binding, a);
    return;
  }
  case AST_PAT_WILDCARD:
  case AST_PAT_LITERAL: return;
  case AST_PAT_TUPLE: bind_fields(u, &pat->u.tuple.items, alias, pat->type); return;
  case AST_PAT_RECORD:
    vec_each (const AstFieldPat *, f, &pat->u.record.fields)
      consume_bind(u, f->pat, alias_field(alias, f->name));
    return;
  case AST_PAT_ASCRIBE: consume_bind(u, pat->u.ascribe.pat, alias); return;
  case AST_PAT_CONSTRUCTOR: bind_payload(u, pat, alias); return;
  case AST_PAT_ATTR: consume_bind(u, pat->u.attr.pat, alias); return;
  }
}
