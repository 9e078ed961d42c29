// What the files about modules share.
//
// Programs are checked with transparent modules: a module type says which names can be seen, types
// are those of the implementation, and a parametric module is checked anew for each application,
// so that the tree that elaboration evaluates is typed.  A program that has module types is then
// checked once more, for its messages only, with opaque modules: values have the types that module
// types give them, abstract types equal nothing but themselves, and parametric modules are checked
// where they are defined.
#pragma once
#include "types/check.h"

typedef struct Signature Signature;

typedef struct Member {
  int kind;  // SPEC_VALUE, SPEC_TYPE, SPEC_MODULE
  Name name;
  Loc loc;
  const Signature *of;  // SPEC_MODULE
  // Opaque modules only.  The type of an abstract type is a TYPE_PARAM that stands for it within
  // the module type.
  Binding *value;
  const TypeDef *type;
  bool is_abstract;
} Member;

// A module type, with the names in it resolved.
struct Signature {
  bool
      any;  // it has no members: every module has it, or it is the type of a parametric module
  // The types of parametric modules, with the names in it and, where modules are opaque, whether
  // modules of its parameter's type or of its result's cannot be assumed.
  const AstModType *function;
  Names scope;
  const Map *around;  // the modules of the module type that it stands in
  bool vague;
  Vec(Member) members;
  int nested;  // the number of members of those that are modules
};

// module.c
Names names_visible(const Check *k);
void names_see(Check *k, Names names);
// The names in scope, for a parametric module or its type: definitions that follow do not add any.
Names names_keep(Check *k);

// module_type.c
const Signature *signature_of(Check *k, const AstModType *type);

// The parametric module as its type shows it, or as it is if it has not that type (reported).
const Module *function_seen_as(Check *k, const Module *m, const Signature *s, Loc loc);

// module_function.c
const Signature *signature_of_function(Check *k, const AstModType *type);
// The same where abstract types around it, and sizes, mean something else.
Signature *function_substitute(const Signature *s, const TypeSubst *subst);
// The parametric module as its type shows it, not checked yet.
Module *function_impose(Check *k, const Module *m, const Signature *s, Loc loc);
const Module *function_assume(Check *k, const Signature *s);

// module_match.c
// Whether two definitions have parameters of the same kinds and mean the same type.
bool type_defs_agree(Check *k, const TypeDef *a, const TypeDef *b);
// The module as its type shows it.  Abstract types are new ones, or else those of the module.
const Module *module_impose(Check *k, const Module *m, const Signature *s,
                            bool is_abstract, Loc loc);
// A module of which nothing is known but its type.
const Module *module_assume(Check *k, const Signature *s);
// The same with abstract types of its own, for another place that names it.
const Signature *signature_fresh(Check *k, const Signature *s);
// Whether nothing is known of the module, or of one in it.
bool signature_has_any(const Signature *s);
// Whether no module of the type can be assumed.
bool signature_is_vague(const Signature *s);
Signature *signature_substitute(Check *k, const Signature *s, const TypeSubst *subst);

// module_sizes.c
// Gives names to the sizes that the meanings of abstract types brought into the function's type,
// which was `before`.
void module_name_sizes(Check *k, const Type *before, Binding *function);
