// Types and sizes, and what names refer to.
//
// A checked expression's type holds no inference variables.  Array types carry a size per
// dimension; type abbreviations are expanded; tuples are records whose fields are "0", "1", ...
#pragma once
#include "source/ast.h"

typedef struct Size Size;
typedef Vec(const Type *) TypeVec;

typedef enum SizeKind {
  SIZE_CONST,  // u.constant
  SIZE_NAME,   // an i64 variable or a size parameter: u.name
  SIZE_EXP,    // n*m, n+1, any other expression of sizes: u.exp (op over parts)
  SIZE_VAR,    // inference variable; not in checked trees: u.var
  // in a declared type before it is given a name: anonymous [], or n of ?[n].t, which is u.name
  SIZE_ANY,
} SizeKind;

struct Size {
  SizeKind kind;
  Loc loc;  // where it comes from, for messages
  union {
    const Big *constant;
    const Binding *name;
    // exp: the checked expression; its free names are Bindings.  tree: the checker's own form.
    struct {
      AstExp *exp;
      const struct SizeTree *tree;
    } exp;
    struct SizeVar *var;
  } u;
};

typedef enum TypeKind {
  TYPE_PRIM,      // u.prim
  TYPE_RECORD,    // tuples and records: u.record; () is the empty one
  TYPE_ARRAY,     // one dimension: u.array
  TYPE_FUNCTION,  // u.function
  TYPE_PARAM,     // 't of the enclosing definition: u.param
  TYPE_VAR,       // inference variable; not in checked trees: u.var
} TypeKind;

// Sum types are records: field "#" says which constructor a value has, as its place among the
// others, and for each constructor c a field "#c" holds the tuple of its arguments (of a value of
// another constructor: nobody looks).  No name that a program can write has a '#'.
typedef struct TypeField {
  Name name;
  const Type *type;
} TypeField;

struct Type {
  TypeKind kind;
  bool unique;  // written *t
  // records, and arrays of them: the abbreviation it was written as, for entry points; or NULL
  Name alias;
  // TYPE_PARAM: what an abstract type is applied to, a tuple (sizes as arrays of ()), or NULL
  const Type *args;
  union {
    PrimType prim;
    struct {
      bool is_tuple;
      int count;
      const TypeField *fields;
    } record;  // by type_field_order
    struct {
      const Size *size;
      const Type *elem;
    } array;
    // `param` is bound (as a size) in `to` when the argument was named: (n: i64) -> [n]t
    // `exists` are the sizes in `to` that each application makes anew: a -> ?[k].[k]b
    struct {
      const Binding *param;
      const Type *from, *to;
      int exist_count;
      Binding *const *exists;
    } function;
    const Binding *param;
    struct TypeVar *var;
  } u;
};

typedef enum BindingKind {
  BIND_VALUE,       // parameter, let, loop, match pattern: no scheme
  BIND_SIZE,        // size parameter [n], or an unknown size
  BIND_TYPE_PARAM,  // 't
  BIND_FUNCTION,    // def, entry, let f: `function` (constants too: no parameters)
  BIND_INTRINSIC,   // `val` in the prelude: elaboration knows it by name
} BindingKind;

// What a name refers to; unique by address.
struct Binding {
  BindingKind kind;
  Name name;
  Loc loc;
  bool used;
  bool is_top;                  // defined at top level
  const Type *type;             // the scheme's body
  Vec(Binding *) sizes;         // quantified size parameters, explicit and inferred
  Vec(Binding *) types;         // quantified type parameters, explicit and inferred
  const AstFunction *function;  // BIND_FUNCTION
  Vec(AstAttr const *) attrs;   // BIND_FUNCTION
  int id;                       // order of creation
  int level;       // checker: depth of the scope that binds it (types/check.h)
  unsigned prims;  // BIND_TYPE_PARAM: the scalar types it is limited to, 0: any
  bool lifted,
      size_lifted;  // BIND_TYPE_PARAM: '^a (functions too), '~a (varying sizes too)
  // BIND_FUNCTION: it mentions itself; it, or a function that it mentions, does
  bool calls_itself, recurs;
  // BIND_FUNCTION, for the checker: results may share memory with a constant
  bool shares_constant;
  bool wrong;  // its definition has mistakes, which are reported
  bool
      hides;  // BIND_SIZE, n of ?[n].t: callers of a function with that result are not told
  // the size that `let [n] p = e` or `let n = e` names, if known
  const Size *known;
};

// What the parameters of a scheme became at one use: parallel to Binding.sizes and .types.
// A size that inference leaves open is NULL here: elaboration finds it from the arguments.
struct Inst {
  const Size **sizes;
  const Type **types;
};

// #[recipe("..")] e
typedef struct RecipeAttr {
  Loc exp, text;  // e with the attribute; the string with its quotes
} RecipeAttr;

typedef struct CheckedProgram {
  AstDeclVec decls;        // the prelude's, then the program's, in order of definition
  Vec(AstDecl *) entries;  // `entry` declarations, in order
  Vec(const SourceFile *)
      imports;              // the files that it imports, and those that these import
  Vec(RecipeAttr) recipes;  // as they are met; the same one perhaps several times
  struct Map *modules;      // by their places, for types_module_members
} CheckedProgram;

// Resolves, infers and checks.  NULL after errors (already reported).  Loads the prelude modules
// that the program needs.  Reports: unknown names (with the closest one), type and size
// mismatches (both sides and where each came from), several per run; warns of unused names and
// unknown attributes.
CheckedProgram *types_check(Compiler *c, AstProgram *program);

// The files of the library that make up the module of a scalar type, NULL for one that is not
// there; false if it is none.
bool types_module_files(Name module, const char *paths[2]);

// A member of a module: a value, with its scheme; or a type, with what it stands for (NULL: it is
// abstract); or a module, of which nothing is said.
typedef struct ModuleMember {
  Name name;
  const Binding *value;
  bool is_type, is_module;
  const Type *type;
} ModuleMember;

// The members of the module that stands there in the program, or is made there by an application;
// in the order of their definitions.
void types_module_members(NameTable *names, const CheckedProgram *program,
                          const AstDecl *module,
                          void (*visit)(void *state, const ModuleMember *member),
                          void *state);

// What an inference variable stands for so far; other types as they are.
const Type *type_resolve(const Type *type);
// "[n][m]f32", in source syntax with source names.
const char *type_text(const Type *type);
const char *size_text(const Size *size);
bool type_is_tuple(const Type *type);
// The order of fields in a record: numbers by their value, then names by their letters.
int type_field_order(Name a, Name b);
bool type_is_sum(const Type *type);
// The place of field "#c" among the constructors of a sum type, or -1.
int type_constructor(const Type *sum, Name field);
// An integer literal's value: with its sign, as its suffix wraps it.
const Big *literal_value(const AstExp *exp);
