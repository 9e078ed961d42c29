// What the names of types, modules and module types mean, for the language server.
#pragma once
#include "base/map.h"
#include "types/types.h"

typedef struct ScopeNames {
  Map *types, *modules, *signatures;  // Name -> ScopeThing
} ScopeNames;

typedef struct ScopeThing {
  const Binding *binding;     // unique to it; NULL: hidden by what is not known
  const ScopeNames *members;  // of a module or module type; NULL: not known, or a type
} ScopeThing;

typedef enum ScopeSpace { SCOPE_TYPE, SCOPE_MODULE, SCOPE_SIGNATURE } ScopeSpace;

// Where a walk through a program is.
typedef struct ScopeWalk {
  ScopeNames visible;
  ScopeNames defined;  // in the module around, what others see
  bool is_local;       // behind `local`
} ScopeWalk;

ScopeWalk scope_walk_new(void);
// Enters a scope, or a module; what it returns is assigned to the walk at its end.
ScopeWalk scope_enter(ScopeWalk *w, bool is_module);
void scope_give(ScopeWalk *w, ScopeSpace space, Name name, const ScopeThing *thing);
// A new meaning for a name, whose place this is.
const ScopeThing *scope_define(ScopeWalk *w, ScopeSpace space, Name name, Loc loc,
                               const ScopeNames *members);
const ScopeThing *scope_meaning(const ScopeNames *names, ScopeSpace space, Name name);
// Makes members visible; if they are not known (NULL), nothing is known any more, as they may hide
// it.
void scope_add_members(ScopeWalk *w, const ScopeNames *members);
