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
  if (type->kind == TYPE_RECORD) {
    RootKind outer = u->kind;
    if (u->by_type && type->unique) u->kind = ROOT_OWN;
    const Alias *fields = own_record(u, binding, type, alias);
    u->kind = outer;
    return fields;
  }
  if (alias) return alias_flat(alias);
  RootKind kind = u->by_type && type->unique ? ROOT_OWN : u->kind;
  return alias_of_root(new_node(Root, .kind = kind, .binding = binding,
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

// --- Parameters ---

static const Type *field_type(const Type *record, Name name) {
  record = record ? type_resolve(record) : NULL;
  for (int i = 0; record && i < record->u.record.count; i++)
    if (record->u.record.fields[i].name == name) return record->u.record.fields[i].type;
  return NULL;
}

static void bind_written_fields(Consume *u, const AstPat *pat, const Type *written,
                                RootKind kind) {
  if (pat->kind == AST_PAT_TUPLE)
    for (int i = 0; i < pat->u.tuple.items.count; i++)
      consume_bind_written(u, pat->u.tuple.items.at[i],
                           field_type(written, type_field_name(u->k->c, i)), kind);
  else
    vec_each (const AstFieldPat *, f, &pat->u.record.fields)
      consume_bind_written(u, f->pat, field_type(written, f->name), kind);
}

void consume_bind_written(Consume *u, const AstPat *pat, const Type *written,
                          RootKind kind) {
  if (pat->kind == AST_PAT_ASCRIBE) {
    bool outer = written && type_has_unique(written);
    consume_bind_written(u, pat->u.ascribe.pat, outer ? written : pat->type, kind);
    return;
  }
  if (pat->kind == AST_PAT_ATTR) {
    consume_bind_written(u, pat->u.attr.pat, written, kind);
    return;
  }
  bool whole = written && type_resolve(written)->unique;
  bool split = !written || (!whole && type_has_unique(written));
  if (split && (pat->kind == AST_PAT_TUPLE || pat->kind == AST_PAT_RECORD)) {
    bind_written_fields(u, pat, written, kind);
    return;
  }
  u->kind = !written ? kind : whole ? ROOT_OWN : ROOT_PARAM;
  u->by_type = split && written;
  consume_bind(u, pat, NULL);
  u->kind = ROOT_OWN;
  u->by_type = false;
}
