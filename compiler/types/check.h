// The checker's own declarations: inference variables, scopes, and what its files share.
//
// Levels.  Every binder and every inference variable carries the depth of the scope that it was
// made in.  A variable may only be bound to a type whose sizes were bound at its own level or
// further out.  That one rule finds sizes that escape their scope, sizes that are used before
// they exist, and results of functions whose sizes differ from call to call; and variables that
// are deeper than a definition are those that it generalises over (Rémy's levels).
#pragma once
#include "types/types.h"

// Sets of scalar types, a bit for each; CLASS_DATA adds all structures without functions in them.
typedef unsigned TypeClass;
enum {
  CLASS_ANY = 0,
  CLASS_SIGNED = (1 << PRIM_I8) | (1 << PRIM_I16) | (1 << PRIM_I32) | (1 << PRIM_I64),
  CLASS_INT =
      CLASS_SIGNED | (1 << PRIM_U8) | (1 << PRIM_U16) | (1 << PRIM_U32) | (1 << PRIM_U64),
  CLASS_FLOAT = (1 << PRIM_F16) | (1 << PRIM_F32) | (1 << PRIM_F64),
  CLASS_NUM = CLASS_INT | CLASS_FLOAT,
  CLASS_ORD = CLASS_NUM | (1 << PRIM_BOOL),
  CLASS_INTBOOL = CLASS_INT | (1 << PRIM_BOOL),
  CLASS_STRUCTURE = 1 << PRIM_COUNT,
  CLASS_EQ = CLASS_ORD | CLASS_STRUCTURE,
};

// "has a field `name` of this type", until the record is known
typedef struct FieldWant {
  Name name;
  const Type *type;
  Loc loc;
} FieldWant;

typedef Vec(Binding *) BindingVec;

typedef struct TypeVar {
  const Type *solution;  // NULL while open
  BindingVec exists;  // sizes bound by the solution: ?[k].[k]t, the result of a function
  int level;
  int id;
  bool is_error;     // of an erroneous expression: equal to everything
  bool first_order;  // no function, nor a structure with one
  bool fixed_size;   // no solution with `exists`
  bool is_element;   // of arrays: no solution with a parameter '~a, whose sizes may vary
  TypeClass prims;
  Vec(FieldWant) fields;
  Loc loc;
} TypeVar;

typedef struct SizeVar {
  const Size *solution;
  int level;
  int id;
  bool loop;   // size of a loop parameter, which may turn out to vary
  bool apart;  // of a function's parameter: branches of other sizes do not tell it
  const Size *initial;  // loop: the size of the initial value
  // `loop` too: the size of the branches of `node`, which are equal if loops keep their sizes
  const Size *branches[2];
  AstExp *node;
  Name name;  // of the parameter that it stands for, or NULL
  Loc loc;
} SizeVar;

typedef enum SizeOp {
  SIZE_ADD,
  SIZE_SUB,
  SIZE_MUL,
  SIZE_CALL,     // f a b: `node` is the name that is applied
  SIZE_PROJECT,  // r.a: `node` is the projection
  SIZE_INDEX,    // a[i, j]: `node` is the whole, the parts are the array and the indices
  SIZE_LITERAL,  // an operand that is not an i64: `node`, no parts
  // any other expression: `node`, whose free `names` stand for the parts
  SIZE_OPAQUE,
} SizeOp;

// A size expression while its parts may still hold variables.  The operands of calls, projections
// and indices may have any type: then a SIZE_NAME is a variable of that type.
typedef struct SizeTree {
  SizeOp op;
  const AstExp *node;  // see SizeOp; NULL for arithmetic
  int count;
  const Size *const *parts;
  Binding *const *names;  // SIZE_OPAQUE
} SizeTree;

// Why two types ought to be equal, for the message if they are not.
typedef enum WhyKind {
  WHY_ARGUMENT,    // argument `index` of `name`
  WHY_ASCRIPTION,  // written type
  WHY_RESULT,      // declared result of `name`
  WHY_BRANCH,      // branch of an `if`
  WHY_CASE,        // case of a `match`
  WHY_CONDITION,   // has to be a bool
  WHY_ELEMENT,     // element of an array literal
  WHY_INDEX,       // index or bound of a slice
  WHY_INDEXED,     // what is indexed
  WHY_LOOP,        // body of a loop, which must have the type of its parameter
  WHY_LOOP_FOR,    // what a loop runs over
  WHY_PATTERN,     // value matched by a pattern
  WHY_VALUE,       // value that a `let` gives a name with a type
  WHY_PARAM,       // what a function literal's parameter is given
  WHY_RANGE,       // bound of a range
  WHY_SIZE,        // size in a type
  WHY_UPDATE,      // new value in an update
  WHY_OPERATOR,    // section
} WhyKind;

typedef struct Why {
  WhyKind kind;
  int index;
  Name name;            // or NULL
  Loc from;             // where what is expected comes from; no file if nowhere
  const AstExp *apply;  // WHY_ARGUMENT: the application, or NULL
} Why;

// The innermost difference that made unification fail.
typedef struct Mismatch {
  enum {
    MISMATCH_KIND,      // different kinds of type
    MISMATCH_SIZE,      // sizes that are not equal
    MISMATCH_SCOPE,     // `size` is not known at the place where it is needed
    MISMATCH_LIFTED,    // `actual` is a parameter '~a where sizes must not vary
    MISMATCH_VARYING,   // `size` is new for each application of a function
    MISMATCH_UNTOLD,    // the same, and no array of the result `actual` has it
    MISMATCH_CLASS,     // not among `prims`
    MISMATCH_FUNCTION,  // a function where none may be
    MISMATCH_FIELD,     // no field `field`
    MISMATCH_INFINITE,  // a type that contains itself
    MISMATCH_CYCLE,     // a size that mentions `size`, to whose type it belongs
  } kind;
  const Type *expected, *actual;
  const Size *expected_size, *actual_size;
  const Binding *size;
  TypeClass prims;
  Name field;
  // In the arguments of a constructor: those that it has and those that were given, as tuples,
  // the sum type if it is known, and where they were given.
  Name constructor;
  const Type *has, *given, *sum;
  Loc at;
} Mismatch;

// Two sizes whose equality depends on variables that are still open.
typedef struct SizeEquation {
  const Size *expected, *actual;
  Loc loc;
} SizeEquation;

// A type abbreviation, or a type parameter in scope.
typedef struct TypeDef {
  Name name;
  Loc loc;
  const AstTypeParamVec *params;  // NULL if none
  const Type *type;               // over the params' bindings
  bool is_top;
  AstLifted lifted;
} TypeDef;

typedef struct ScopeEntry {
  Name name;
  Binding *binding,
      *old;  // values; `old` is what the name meant before in this scope table
  TypeDef *type, *old_type;
  bool warn;  // warn if it is never used
} ScopeEntry;

typedef struct Module Module;

// What names mean: the names in scope, or those of a module.
typedef struct Names {
  Map *values;      // Name -> Binding
  Map *types;       // Name -> TypeDef
  Map *modules;     // Name -> Module
  Map *signatures;  // Name -> Signature: module types
} Names;

struct Module {
  Names names;
  const AstModExp *function;  // of a parametric module, or NULL
  Names scope;                // ... and the names where it was written
  bool broken;  // mistakes have been reported, for which it may lack members
  bool ready;   // not while it is being loaded
};

// Names in scope.  Inner bindings replace outer ones and `entries` undoes that, so that looking up
// a name costs the same at any depth.
typedef struct TypeScope {
  Map *values;  // Name -> Binding, over the prelude's
  Map *types;   // Name -> TypeDef, over the prelude's
  Map *modules, *signatures;
  Vec(ScopeEntry) entries;
} TypeScope;

// What all files of a program share.
typedef struct Library {
  Compiler *c;
  Map *values, *types;      // visible everywhere
  Map *intrinsics;          // Name -> Binding
  Map *modules;             // Name -> Module, of the prelude
  Map *files;               // Name (a path) -> Module: imported files
  Map *signatures;          // module types of the prelude; NULL before one is named
  Map *warned;              // names of attributes that the program has been warned of
  Map *places;              // name_of("START FILE") -> Module, of the program
  bool has_signatures;      // the program has module types or parametric modules
  bool has_huge_signature;  // ... one with too many members
  // Whether a function may give a constant: an error where abstract types hide no arrays.
  bool gives_constant;
  int applications;         // of parametric modules, in all
  CheckedProgram *checked;  // the result
  // unknown names may be those of a file that could not be read, or of a broken module
  bool lacks_names;
  Binding *size_ops[3];  // intrinsic +, - and *, for size expressions
} Library;

// A definition that is being checked, within others.  Its binding has a type already while the body
// of a function is checked: it may call itself.  A result that is not written has the type `result`
// there, or `assumed`, by an earlier inference as `before`, in which sizes are anonymous.
typedef struct Within {
  Binding *binding;
  const struct Within *outer;
  const Binding *before;
  const Type *assumed, *result;
} Within;

// A function's call of itself, where the size variables of the parameters' types have become
// others, as sizes may change from call to call.
typedef struct OwnUse {
  const Binding *binding;
  AstExp *exp;
  Vec(const Size *) old;
  Vec(const Size *) fresh;
} OwnUse;

// The checking of one file.
typedef struct Check {
  Compiler *c;
  Library *lib;
  TypeScope scope;
  int level;
  bool built_in;  // names of intrinsics are visible
  bool opaque;    // modules are: see module.h
  Mismatch mismatch;
  Loc at;             // what is being unified
  BindingVec params;  // of the functions around it, which are being compared
  Names defined;      // by the file or module so far
  Names own;   // where those that no `open` brought are: Name -> Loc; modules in `values`
  bool local;  // the definition is not to be seen from outside
  int applications;  // of parametric modules that are being checked
  bool in_module;    // ... in the braces of a module
  // How often parametric modules and their types have kept the names in scope, and how many of
  // these came before the maps that names are put into now.
  int scopes_kept, scopes_left;
  int inside;    // modules and imports that are being checked: they have no entry points
  Map *later;    // Name, or "type NAME" -> AstDecl of all in the file, for messages
  Map *unknown;  // Name -> itself: unknown names that have been reported
  int errors;    // reported before the current definition
  int type_errors;    // how often a type was missing, because of what was reported
  int outer_type_errors;  // ... before the current definition
  int unknown_count;  // supply of names for unknown sizes
  const struct Within *within;  // the definitions being checked
  Vec(OwnUse *) own_uses;       // of functions that are being checked
  AstExpVec exps;  // annotated nodes of the current definition, to be solved at its end
  AstPatVec pats;
  BindingVec bindings;
  Vec(TypeVar *) vars;  // of the current definition, those with a class or field wants
  Vec(SizeEquation) equations;
  Vec(SizeVar *) joined;  // sizes of branches that depend on loops around them
} Check;

// causality.c: reports uses of unknown sizes before they come into being
void check_causality(Check *k, const AstFunction *f);

// type_make.c: making types
const Type *type_prim(PrimType prim);
const Type *type_array_of(const Size *size, const Type *elem);  // [size]elem
// (param: from) -> to; `param` is NULL if the result does not mention it.
const Type *type_function(const Binding *param, const Type *from, const Type *to);
const Type *type_of_param(const Binding *param);
// Sorts the fields of records by their names.
const Type *type_record(const TypeField *fields, int count, bool is_tuple);
const Type *type_unit(void);
// Whether `*` stands somewhere in the type, outside of functions; the type without.
bool type_has_unique(const Type *type);
const Type *type_with_unique(const Type *type);  // of one that is known
const Type *type_without_unique(const Type *type);
// The type with `*` where `model` has it, in parameters and results too.
const Type *type_unique_like(const Type *type, const Type *model);
Name type_field_name(Compiler *c, int index);  // "0", "1", ...
const Size *size_of_binding(const Binding *binding, Loc loc);
const Size *size_const(int64_t value, Loc loc);
// A name with its meaning, at the current level.
Binding *binding_new(Check *k, BindingKind kind, Name name, Loc loc, const Type *type);

// unify.c

// As type_resolve; also collects the sizes that the variables on the way bind.
const Type *type_resolve_result(const Type *type, BindingVec *exists);
int type_arity(const Type *type);  // the number of parameters of a function of that type
const Type *type_var(Check *k, Loc loc);  // a fresh variable at the current level
// Likewise, for scalar types of a class only.
const Type *type_var_of(Check *k, TypeClass prims, Loc loc);
const Type *type_data_var(Check *k, Loc loc);  // no function
// A record type that the program makes; an error if it has too many parts.
const Type *type_record_checked(Check *k, Loc loc, const TypeField *fields, int count,
                                bool is_tuple);
// The type of what is wrong: it unifies with every type, without messages.
const Type *type_error(Check *k, Loc loc);
bool type_is_error(const Type *type);
// Makes the types equal; false leaves the reason in k->mismatch.
bool unify(Check *k, const Type *expected, const Type *actual);
// Makes the open variables in a type as shallow as the current level.
void type_lower(Check *k, const Type *type);
// The type must be a scalar of the class, or may become one.
bool unify_class(Check *k, const Type *type, TypeClass prims);
bool unify_first_order(Check *k,
                       const Type *type);  // the type must not contain functions
bool unify_element(Check *k,
                   const Type *type);  // ... nor parameters '~a outside of functions
// The type of a field of a record that may still be open.
const Type *unify_field(Check *k, const Type *record, Name field, Loc loc);

// size.c
const Size *size_resolve(const Size *size);
// A fresh size; `name` is what messages call it, or NULL.
const Size *size_var(Check *k, Name name, Loc loc);
const Size *size_tree(SizeOp op, const AstExp *node, int count, const Size *const *parts);
// The same with other parts.
const Size *size_rebuild(const SizeTree *tree, const Size *const *parts);
const Size *size_binary(SizeOp op, const Size *a, const Size *b);
// Equal as they stand, without binding variables.
bool size_equal(const Size *a, const Size *b);
// Equal in a way that unify_sizes takes: n - 1 + 1 and n are not.
bool size_unified(const Size *a, const Size *b);
// Makes the sizes equal, or puts off what cannot be decided yet.
bool unify_sizes(Check *k, const Size *expected, const Size *actual);
bool size_can_enter(Check *k, const Size *size,
                    int level);  // lowers levels of variables in it
// Whether the variable is in the size, which may be itself, or in what that is at first.
bool size_has_var(const SizeVar *var, const Size *size);
// What a size is when the loops around it begin.
const Size *size_initial(const Size *size);
// Whether two sizes, one of which is a loop's, are equal in its first round, and so for good if the
// loops around keep their sizes.
bool size_same_at_first(const Size *a, const Size *b);

// size_join.c: branches whose sizes are equal if a loop keeps the size of its parameter
// Such a size, at the current level.
const Size *size_join(Check *k, AstExp *node, const Size *a, const Size *b);
// Requires that the branches are equal, and with that what the variable stands for.
bool size_join_equal(Check *k, SizeVar *var);
// Requires it of what is deeper than `level` in the size; what leaves a `let` may stay open.
void size_join_leave(Check *k, const Size *size, int level, bool stays);
// Once a loop's sizes are known: whether branches are equal, or have an unknown size.
void size_join_settle(Check *k);

// Takes up what was put off since `from`; what stays open at the `last` time is an error.
void size_equations_solve(Check *k, int from, bool last);
// The same for those that mention names of deeper levels than the current one, which go.
void size_equations_leave(Check *k);
// The size in terms of names of at most that level, or NULL: what a `let` has named is replaced by
// its value.
const Size *size_outer(const Size *size, int level);
// Whether a name may stand for the size wherever sizes are compared.
bool size_is_small(const Size *size);
// Whether it has too many parts to be part of other sizes.
bool size_is_huge(const Size *size);
bool size_is_open(const Size *size);  // has a variable in it
// The deepest level among the names in a size.
int size_level(const Size *size);
bool size_mentions(const Size *size, const Binding *binding);

// occurs.c
// The name in the size whose type contains the variable, or NULL.
const Binding *size_var_in_names(const SizeVar *var, const Size *size);
const Binding *type_var_in_names(const TypeVar *var, const Size *size);

// size_exp.c
// The size that an i64 expression stands for, or NULL if it cannot be one.
const Size *size_of_exp(Check *k, const AstExp *exp);
// The text of a size of any form, with numbers for the names that stand for its parts.
const char *size_opaque_text(const SizeTree *tree);
// Any expression as a size that is equal to what is written alike, or NULL.
const Size *size_opaque(Check *k, const AstExp *exp);
// What size_of_exp says for an expression of any type that occurs in a size.
const Size *size_operand(Check *k, const AstExp *exp);
// The expression, with solved types, that a size without open variables is.
AstExp *exp_of_size(Check *k, const Size *size);

// size_poly.c
typedef struct Poly Poly;
// A variable to solve for and its value, if the equation e = a is linear in one with coefficient 1.
typedef enum PolyAnswer { POLY_EQUAL, POLY_DIFFERENT, POLY_SOLVED, POLY_OPEN } PolyAnswer;
// Compares two sizes as polynomials.
PolyAnswer poly_solve(const Size *e, const Size *a, SizeVar **var, const Size **value);
// Whether sizes that are equal as polynomials are constants, or sums and differences of the same
// products: n + 1 and 1 + n, but not n - 1 + 1 and n.
bool size_alike(const Size *a, const Size *b);
// a - b; simple if b is zero or the difference is a constant.
const Size *size_minus(const Size *a, const Size *b);
// The polynomial in a canonical form, so that equal ones read alike.
const Size *size_simplify(const Size *size);

// substitute.c
typedef struct TypeSubst {
  Vec(const Binding *) sizes;
  Vec(const Size *) to_sizes;
  Vec(Binding *) values;  // of modules, whose names the sizes are
  Vec(const Binding *) types;
  Vec(const Type *) to_types;
  Vec(const Binding *) abstract;  // types of modules
  Vec(const TypeDef *) meanings;
} TypeSubst;
// The type with parameters replaced by their arguments.
const Type *type_substitute(Check *k, const TypeSubst *s, const Type *type);
const Size *size_substitute(Check *k, const TypeSubst *s, const Size *size);
// The type with one size replaced.
const Type *type_replace_size(Check *k, const Binding *from, const Size *to,
                              const Type *type);
// The type with every size mapped.
const Type *type_map_sizes(Check *k, const Type *type,
                           const Size *(*map)(Check *k, const Size *size));
// The type with other anonymous sizes in place of its own: each use of an abbreviation has its own.
const Type *type_renew_anonymous(Check *k, const Type *type);
// The type with other variables in place of open size variables, equal ones for equal ones.
const Type *type_freshen_sizes(Check *k, const Type *type, OwnUse *use);
// What each anonymous size becomes: a variable, or a new size pushed on `made`.
const Type *type_name_anonymous(Check *k, const Type *type, BindingVec *made);
const Type *type_open_anonymous(Check *k, const Type *type);
const Type *type_open_shown(Check *k, const Type *type);  // not those of ?[n].t
// The type with every size that was bound deeper than the current level replaced by a new unknown
// one, pushed on `made`.
const Type *type_close(Check *k, const Type *type, BindingVec *made, Loc loc);
// The type of a value with sizes of bounded length: a huge one, if it does not become short as a
// polynomial, is replaced by a new unknown one, pushed on `made`.
const Type *type_bounded(Check *k, const Type *type, BindingVec *made, Loc loc);
// The type with its sizes in terms of names of at most that level, where they can be.
const Type *type_outer(Check *k, const Type *type, int level);
// The same at the end of a `let`, where unknown sizes stay what they are.
const Type *type_leave(Check *k, const Type *type, BindingVec *made, Loc loc);
bool type_mentions(const Type *type, const Binding *size);
// Adds the bindings that it mentions to the keys of the map.
void type_size_names(const Type *type, Map *names);
// The type without inference variables; sizes that were left open become SIZE_ANY.
const Type *type_solve(Check *k, const Type *type);

// generalise.c
const Type *instantiate(Check *k, const Binding *binding, Loc loc, const Inst **inst);
// The sizes and types left open in a definition become its parameters.
void generalise(Check *k, Binding *binding);
// Defaults what is still open, generalises the definition of `binding` (unless NULL), and writes
// the solved types into the tree.
void finish_definition(Check *k, Binding *binding);
const Inst *inst_solve(Check *k, const Binding *binding, const Inst *inst);
const Size *size_solve(Check *k, const Size *size);

// scope.c
void scope_bind(Check *k, Binding *binding, bool warn);
void scope_bind_type(Check *k, TypeDef *def);
// Reports a name that cannot be given a new meaning.
void scope_check_definable(Check *k, const Binding *binding);
// To be given to scope_leave, which forgets what was bound since.
int scope_mark(const Check *k);
void scope_leave(Check *k, int mark);
Binding *scope_value(Check *k, Name name);  // NULL if there is none; counts as a use
TypeDef *scope_type(Check *k, Name name);   // NULL if there is none
// The binding of a possibly qualified name, or NULL after an error.
Binding *scope_find(Check *k, const AstName *name);
bool scope_has_value(Check *k, const AstName *name);
TypeDef *scope_find_type(Check *k, const AstName *name);  // NULL if there is none
void scope_unknown_type(Check *k, const AstName *name);
// For messages: the file defines that, perhaps further down.
void scope_expect(Check *k, const AstDecl *decl);
// m.member, where nothing is called m: reports that and returns true.
bool scope_unknown_module(Check *k, const AstName *module, Name member);

// module.c
// Whether the definition is the first of its name in its module, else an error; `own`: a map of
// k->own; `what`: a word before the name in the message, with a space.
bool check_new_name(Check *k, Map *own, const char *what, Name name, Loc loc);
Names names_new(const Names *parent);
void check_module(Check *k, const AstDecl *decl);
void check_module_type(Check *k, const AstDecl *decl);
void check_open(Check *k, const AstDecl *decl);
const Type *infer_open_in(Check *k, AstExp *exp);
// The module that a path of names leads to, or NULL.
const Module *module_find(Check *k, const Name *path, int count);

// prelude.c
bool prelude_load(Library *lib);
// The module types that every program sees, for opaque modules.
Map *prelude_signatures(Library *lib);
bool prelude_is_module(Name name);
// Whether it is `intrinsics`, whose members can be named, and which is no module of programs.
bool prelude_is_internal(const Library *lib, const Module *module);
// The module's members, checked at the first call; NULL if there is no such module.
const Module *prelude_module(Library *lib, Name name);

// check_type.c
const Type *check_type(Check *k, const AstType *type);  // anonymous sizes are SIZE_ANY
// Reports sizes without a name to the left of an arrow.
void check_named_sizes(Check *k, const AstType *type);
bool type_has_any_size(const Type *type);  // anonymous, or left open
bool type_is_known(const Type *type);      // nothing in it is left open
// Whether an array in a value of the type, outside of functions, has a size that mentions `size`.
bool type_tells_size(const Type *type, const Binding *size);
bool type_size_varies(const Type *type);  // has sizes that differ from value to value
// The size that an expression in brackets means; it is checked as i64.
const Size *check_size(Check *k, AstExp *exp);
// Brings [n] and 't of a definition into scope.
void bind_type_params(Check *k, AstTypeParamVec *params, Binding *owner);
// Reports sizes among `params` that are used although `type`, that of what binds them, has none of
// them and so nothing tells their values.
void check_sizes_told(Check *k, const AstTypeParamVec *params, const Type *type);

// check_pat.c
const Type *check_pat(Check *k, AstPat *pat, const Type *expected);
// The same for a part of a pattern, whose names are bound with those of the whole.
const Type *check_pat_part(Check *k, AstPat *pat, const Type *expected);
typedef enum PatRole { PAT_PARAM, PAT_LET, PAT_CASE } PatRole;
void check_pat_names(Check *k, AstPat *pat, const AstTypeParamVec *sizes,
                     PatRole role);                      // duplicates, refutable patterns
void check_param_names(Check *k, const AstFunction *f);  // the same for all parameters
// Reports names inside of patterns that the written type of the result mentions.
void check_result_names(Check *k, const AstFunction *f, const Type *result);
// That of the one name that the pattern is, or NULL.
Binding *pat_binding(const AstPat *pat);
// Gives what the pattern binds the type of mistakes that are reported, so that uses are none.
void pat_bind_errors(Check *k, const AstPat *pat);
// Reports a match whose cases leave a value out.
void check_match_covers(Check *k, const AstExp *match);

// check_sum.c
const Type *check_sum(Check *k, const AstType *type);
const Type *infer_constructor(Check *k, AstExp *exp);
// Notes the sum types that constructors among the results of `exp` are to have, if that has `type`.
void expect_constructors(Check *k, AstExp *exp, const Type *type);
// Likewise, if the pattern has types, of which none mentions sizes that it binds.
void expect_constructors_of_pat(Check *k, AstExp *exp, const AstPat *pat);
// A constructor of a sum that is not known yet, in another branch than one of `sum`: it is of that
// sum, with sizes of its own.  False if it does not fit.
bool tell_sum(Check *k, const Type *open, const Type *sum);
const Type *check_constructor_pat(Check *k, AstPat *pat, const Type *type);
Name constructor_field(Check *k, Name constructor);  // "#c"

// check_literal.c
const Type *infer_integer(Check *k, const AstExp *exp);
const Type *infer_float(Check *k, const AstExp *exp);
const Type *infer_string(const AstExp *exp);
// Reports a literal that its type, once that is known, cannot hold.
void check_literal(Check *k, const AstExp *exp);

// check_exp.c and its parts
const Type *infer(Check *k, AstExp *exp);
// Infers the type of an expression and makes it the expected one.
void check_exp(Check *k, AstExp *exp, const Type *expected, Why why);
// message.c: unifies, and reports the difference if that fails
bool expect_type(Check *k, Loc loc, const Type *expected, const Type *actual, Why why);
// Says in what the arguments of a constructor, given and needed, do not agree.
void tell_constructor_arguments(Check *k, const Mismatch *m);
bool type_has_error(const Type *type);      // Was a message about a part of it?
const char *type_phrase(const Type *type);  // "has type `i32`", "is a number"
const char *class_text(TypeClass prims);    // "a number"

// explain.c: notes for the message before, on the innermost difference
void explain_mismatch(Check *k, const Mismatch *m, const Type *expected,
                      const Type *actual);
// Two type parameters that have the same name.
bool mismatch_of_one_name(const Mismatch *m);
// The earlier argument that told the type which this one lacks.
void note_other_argument(Check *k, const Mismatch *m, Why why);
// Do parameters `i` and `j` of the function, from 1 on, have a type parameter in common?
bool share_type_param(const Binding *function, int i, int j);
// Which field or component one record has and the other has not; a note.
void note_fields(Check *k, const Type *expected, const Type *actual);

// hint_name.c, hint.c: what to write instead, for the message before
void hint_value(Check *k, const AstName *name);        // an unknown name
void hint_type(Check *k, const AstName *name);         // an unknown type
void hint_module(Check *k, Name module, Name member);  // an unknown module before a dot
void hint_in_module(Check *k, Name name, const Map *members);  // a name that is no member
bool hint_member(Check *k,
                 Name name);  // one that modules of scalar types have; false if not
bool hint_closest(Check *k, Name name, const Map *inner,
                  const Map *outer);  // false: none
void hint_field(Check *k, const Type *type,
                Name field);  // a field or constructor that is none
void hint_mismatch(Check *k, Loc loc, const Type *expected, const Type *actual, Why why);
// For a function that takes so many arguments where map and its kin give it one.
void hint_parameters(Check *k, int takes, Why why);
// For what is applied but no function, where the operator before it is meant as an argument, or the
// sign before it.
bool hint_operator_argument(Check *k, Loc operand);
const char *hint_word_operator(Name name);  // "&&" for `and`; NULL for other names

const Type *infer_apply(Check *k, AstExp *exp);
const Type *infer_section(Check *k, AstExp *exp);
const Type *apply_one(Check *k, AstExp *node, const Type *function, const AstExp *arg,
                      const Type **from);
const Type *infer_name(Check *k, AstExp *exp);
// The name stands for that intrinsic.
const Type *infer_intrinsic(Check *k, AstExp *name, const char *intrinsic);
const Type *infer_array(Check *k, AstExp *exp);
const Type *infer_range(Check *k, AstExp *exp);
const Type *infer_index(Check *k, AstExp *exp);
// The type of array[dims], from the dimension `at` on; sizes that are new belong to `node`.
const Type *index_type(Check *k, AstExp *node, const Type *array, const AstDimVec *dims,
                       int at);
// The type of a record's field, or of an error that is reported.
const Type *field_of(Check *k, const Type *record, Name field, Loc loc);
const Type *infer_section_index(Check *k, AstExp *exp);
const Type *infer_with(Check *k, AstExp *exp);
const Type *infer_let(Check *k, AstExp *exp);
const Type *infer_let_fun(Check *k, AstExp *exp);
const Type *infer_let_with(Check *k, AstExp *exp);
const Type *infer_lambda(Check *k, AstExp *exp, const Type *expected);
// Reports a function literal of another number of parameters than is expected; false if so.
bool check_lambda_params(Check *k, const AstExp *exp, const Type *expected, Why why);
const Type *infer_if(Check *k, AstExp *exp);
const Type *infer_match(Check *k, AstExp *exp);
const Type *infer_loop(Check *k, AstExp *exp);
// The type of both, where sizes that differ become unknown.
const Type *join(Check *k, AstExp *node, const Type *a, const Type *b);
// The function's type; its binding (NULL for a lambda) gets the parameters of its scheme.
const Type *infer_function(Check *k, AstFunction *f, const Within *self,
                           const Type *expected);
void add_unknowns(AstExp *exp, const BindingVec *unknowns);
Name unknown_name(Check *k);

// consume.c: what the definition consumes, once its types are known; marks the function's type
void consume_definition(Check *k, AstDecl *decl);

// check_decl.c
void check_decl(Check *k, AstDecl *decl);
Check *check_new(Library *lib, bool built_in);
void check_decls(Check *k, const AstDeclVec *decls);

// attrs.c
void check_attr(Check *k, const AstAttr *attr);
void check_attr_exp(Check *k, const AstExp *exp);  // that of an AST_ATTR
TypeClass attr_overload(const AstAttrVec *attrs);
