// What the names of types, modules and module types mean at a place of a program, as far as the
// file and those that it imports say it.  Members of what a parametric module makes are those of
// its body.
#include "commands/lsp/scope.h"
#include "commands/lsp/lsp.h"
#include "source/source.h"
#include <string.h>

static ScopeNames scope_inside(const ScopeNames *outer) {
  return (ScopeNames){ map_new(outer ? outer->types : NULL),
                       map_new(outer ? outer->modules : NULL),
                       map_new(outer ? outer->signatures : NULL) };
}

ScopeWalk scope_walk_new(void) {
  return (ScopeWalk){ .visible = scope_inside(NULL), .defined = scope_inside(NULL) };
}

ScopeWalk scope_enter(ScopeWalk *w, bool is_module) {
  ScopeWalk saved = *w;
  w->visible = scope_inside(&saved.visible);
  if (is_module) w->defined = scope_inside(NULL);
  if (is_module) w->is_local = false;
  return saved;
}

static Map *map_of(const ScopeNames *names, ScopeSpace space) {
  switch (space) {
  case SCOPE_TYPE: return names->types;
  case SCOPE_MODULE: return names->modules;
  case SCOPE_SIGNATURE: return names->signatures;
  }
  return NULL;
}

void scope_give(ScopeWalk *w, ScopeSpace space, Name name, const ScopeThing *thing) {
  map_put(map_of(&w->visible, space), name, thing);
  if (!w->is_local) map_put(map_of(&w->defined, space), name, thing);
}

const ScopeThing *scope_define(ScopeWalk *w, ScopeSpace space, Name name, Loc loc,
                               const ScopeNames *members) {
  Binding *binding = new_node(Binding, .kind = BIND_TYPE_PARAM, .name = name, .loc = loc);
  const ScopeThing *thing = new_node(ScopeThing, .binding = binding, .members = members);
  scope_give(w, space, name, thing);
  return thing;
}

const ScopeThing *scope_meaning(const ScopeNames *names, ScopeSpace space, Name name) {
  return names ? map_get(map_of(names, space), name) : NULL;
}

typedef struct Opening {
  ScopeWalk *walk;
  ScopeSpace space;
} Opening;

static void put_opened(void *state, const void *name, void *thing) {
  const Opening *o = state;
  scope_give(o->walk, o->space, name, thing);
}

void scope_add_members(ScopeWalk *w, const ScopeNames *members) {
  if (!members) {
    w->visible = scope_inside(NULL);
    return;
  }
  map_each(members->types, put_opened, &(Opening){ w, SCOPE_TYPE });
  map_each(members->modules, put_opened, &(Opening){ w, SCOPE_MODULE });
  map_each(members->signatures, put_opened, &(Opening){ w, SCOPE_SIGNATURE });
}
