// Names in scope, and messages about those that are not.
#include "base/text.h"
#include "types/check.h"
#include <ctype.h>
#include <string.h>

// Both are syntax: their right operand is not computed if the left one decides.
void scope_check_definable(Check *k, const Binding *b) {
  bool syntax = strcmp(b->name, "&&") == 0 || strcmp(b->name, "||") == 0;
  if (!syntax || k->built_in) return;
  error(k->c, b->loc, "`%s` cannot be redefined", b->name);
  hint(k->c, "an operator of your own may begin with it: `%s%c`", b->name, b->name[0]);
}

void scope_bind(Check *k, Binding *binding, bool warn) {
  scope_check_definable(k, binding);
  ScopeEntry entry = { .name = binding->name, .binding = binding, .warn = warn };
  entry.old = map_get(k->scope.values, binding->name);
  vec_push(&k->scope.entries, entry);
  map_put(k->scope.values, binding->name, binding);
}

void scope_bind_type(Check *k, TypeDef *def) {
  ScopeEntry entry = { .name = def->name, .type = def };
  entry.old_type = map_get(k->scope.types, def->name);
  vec_push(&k->scope.entries, entry);
  map_put(k->scope.types, def->name, def);
}

int scope_mark(const Check *k) { return k->scope.entries.count; }

static void warn_unused(Check *k, const ScopeEntry *entry) {
  const Binding *b = entry->binding;
  if (!entry->warn || b->used || k->built_in || b->name[0] == '_') return;
  if (diag_error_count(k->c)) return;  // code with mistakes may not have been looked at
  warning(k->c, b->loc, "unused name `%s`", b->name);
}

void scope_leave(Check *k, int mark) {
  while (k->scope.entries.count > mark) {
    const ScopeEntry *entry = &k->scope.entries.at[--k->scope.entries.count];
    if (entry->type)
      map_put(k->scope.types, entry->name, entry->old_type);
    else
      map_put(k->scope.values, entry->name, entry->old);
    if (entry->binding) warn_unused(k, entry);
  }
}

Binding *scope_value(Check *k, Name name) {
  Binding *b = map_get(k->scope.values, name);
  if (b) b->used = true;
  return b;
}

TypeDef *scope_type(Check *k, Name name) { return map_get(k->scope.types, name); }

// The definition of that name that is being checked, or NULL.
static Binding *own_name(const Check *k, Name name) {
  for (const Within *w = k->within; w; w = w->outer)
    if (w->binding->name == name) return w->binding;
  return NULL;
}

// What could call itself does not where its name has an earlier meaning: programs were written
// before functions could.  (Where that is a definition of the same module, it is an error.)
static void warn_earlier_meaning(Check *k, const AstName *name, const Binding *own,
                                 const Binding *b) {
  bool is_word = isalpha((unsigned char)name->name[0]) || name->name[0] == '_';
  if (b->id >= own->id || !own->type || !is_word) return;
  if (map_get(k->own.values, own->name)) return;
  warning(k->c, name->loc,
          "`%s` means an earlier definition here, not the function itself", name->name);
  hint(k->c, "a function that calls itself needs a name that is not in use");
}

static void report_own_name(Check *k, const AstName *name) {
  error(k->c, name->loc, "`%s` is used in its own definition", name->name);
  hint_member(k, name->name);
}

// Was it reported that this is unknown, or the import that would perhaps make it known?
static bool is_reported(Check *k, const char *what) {
  Name key = name_of(k->c->names, what);
  if (k->lib->lacks_names || map_has(k->unknown, key)) return true;
  map_put(k->unknown, key, key);
  return false;
}

// Types are known by names of their own.
static Name type_key(const Check *k, Name type) {
  return name_of(k->c->names, text_format("type %s", type));
}

static void unknown_value(Check *k, const AstName *name) {
  const AstDecl *later = k->later ? map_get(k->later, name->name) : NULL;
  if (later) {
    error(k->c, name->loc, "`%s` is used before its definition", name->name);
    note(k->c, later->loc, "`%s` is defined here", name->name);
    return;
  }
  if (is_reported(k, name->name)) return;
  error(k->c, name->loc, "unknown name `%s`", name->name);
  hint_value(k, name);
}

static bool is_unknown(const Check *k, const AstName *name) {
  return !name->qualifiers.count && !map_get(k->scope.values, name->name) &&
         !own_name(k, name->name) && !(k->later && map_get(k->later, name->name));
}

bool scope_unknown_module(Check *k, const AstName *module, Name member) {
  if (!is_unknown(k, module)) return false;
  if (is_reported(k, module->name)) return true;
  error(k->c, module->loc, "unknown name `%s`", module->name);
  hint_module(k, module->name, member);
  return true;
}

// What the qualifiers of a name lead to, or NULL.
static const Names *qualified(Check *k, const AstName *name) {
  if (k->built_in && name->qualifiers.at[0] == name_of(k->c->names, "intrinsics")) {
    return new_node(Names, .values = k->lib->intrinsics);
  }
  const Module *m = module_find(k, name->qualifiers.at, name->qualifiers.count);
  return m ? &m->names : NULL;
}

static bool is_broken(Check *k, const AstName *name) {
  const Module *m = module_find(k, name->qualifiers.at, name->qualifiers.count);
  return m && m->broken;
}

// Reports a member of a module that has none before it is applied.
static bool is_parametric(Check *k, const AstName *name) {
  const Module *m = NULL;
  for (int i = 1; i <= name->qualifiers.count && !(m && m->function); i++)
    m = module_find(k, name->qualifiers.at, i);
  if (!m || !m->function) return false;
  Name first = name->qualifiers.at[0];
  if (is_reported(k, text_format("parametric %s", first))) return true;
  error(k->c, name->loc, "module `%s` is parametric: it has no `%s` before it is applied",
        first, name->name);
  hint(k->c, "write `module m = %s n` for a module `n`; then `m` has its members", first);
  return true;
}

static Binding *find_member(Check *k, const AstName *name) {
  const Names *names = qualified(k, name);
  Name module = name->qualifiers.at[name->qualifiers.count - 1];
  if (!names) {
    if (is_parametric(k, name)) return NULL;
    if (is_reported(k, text_format("module %s", module))) return NULL;
    error(k->c, name->loc, "unknown module `%s`", module);
    hint_module(k, module, name->name);
    return NULL;
  }
  Binding *b = map_get(names->values, name->name);
  if (b || is_broken(k, name) || is_parametric(k, name)) return b;
  if (is_reported(k, text_format("%s of module %s", name->name, module))) return NULL;
  error(k->c, name->loc, "module `%s` has no `%s`", module, name->name);
  hint_in_module(k, name->name, names->values);
  return NULL;
}

Binding *scope_find(Check *k, const AstName *name) {
  if (name->qualifiers.count > 0) return find_member(k, name);
  Binding *b = scope_value(k, name->name);
  Binding *own = own_name(k, name->name);
  if (b && own) warn_earlier_meaning(k, name, own, b);
  if (b || !own) {
    if (!b) unknown_value(k, name);
    return b;
  }
  if (!own->type) report_own_name(k, name);
  return own->type ? own : NULL;
}

bool scope_has_value(Check *k, const AstName *name) {
  if (!name->qualifiers.count) return map_get(k->scope.values, name->name) != NULL;
  const Names *names = qualified(k, name);
  return names && map_get(names->values, name->name) != NULL;
}

TypeDef *scope_find_type(Check *k, const AstName *name) {
  if (!name->qualifiers.count) return scope_type(k, name->name);
  const Names *names = qualified(k, name);
  return names && names->types ? map_get(names->types, name->name) : NULL;
}

void scope_expect(Check *k, const AstDecl *decl) {
  bool is_type = decl->kind == AST_DECL_TYPE;
  if (decl->kind == AST_DECL_VALUE) map_put(k->later, decl->u.value.name, decl);
  if (is_type) map_put(k->later, type_key(k, decl->u.type.name), decl);
}

// A type of the file that is not known yet, if it is one.
static bool is_later_type(Check *k, const AstName *name) {
  const AstDecl *decl = k->later ? map_get(k->later, type_key(k, name->name)) : NULL;
  if (!decl) return false;
  if (name->loc.start < decl->loc.end && name->loc.start > decl->loc.start) {
    error(k->c, name->loc, "type `%s` is used in its own definition", name->name);
    hint(k->c, "no type has parts of its own type: keep them in an array, with their "
               "indices in their place");
    return true;
  }
  error(k->c, name->loc, "type `%s` is used before its definition", name->name);
  note(k->c, decl->loc, "`%s` is defined here", name->name);
  return true;
}

void scope_unknown_type(Check *k, const AstName *name) {
  const Names *names = name->qualifiers.count ? qualified(k, name) : NULL;
  if (name->qualifiers.count) {
    Name module = name->qualifiers.at[name->qualifiers.count - 1];
    if ((names && is_broken(k, name)) || is_parametric(k, name)) return;
    if (is_reported(k, text_format("type %s of %s", name->name, module))) return;
    error(k->c, name->loc, names ? "module `%s` has no type `%s`" : "unknown module `%s`",
          module, name->name);
    return;
  }
  if (is_reported(k, type_key(k, name->name)) || is_later_type(k, name)) return;
  error(k->c, name->loc, "unknown type `%s`", name->name);
  hint_type(k, name);
}
