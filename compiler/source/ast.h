// The syntax tree of Fl: the whole grammar of tiers 1-3.  The parser builds it; the checker fills
// the slots marked "checker" (types/types.h), which makes it the typed tree that elaboration
// evaluates.  Nothing else is changed after parsing.
#pragma once
#include "base/big.h"
#include "base/diag.h"
#include "base/prim.h"
#include "base/vec.h"

typedef struct AstExp AstExp;
typedef struct AstPat AstPat;
typedef struct AstType AstType;
typedef struct AstDecl AstDecl;
typedef struct AstAttr AstAttr;
typedef struct Type Type;        // types/types.h
typedef struct Binding Binding;  // types/types.h: what a name refers to
typedef struct Inst Inst;        // types/types.h: types and sizes given to a polymorphic name

typedef Vec(const AstAttr *) AstAttrVec;
typedef Vec(AstExp *) AstExpVec;
typedef Vec(AstPat *) AstPatVec;
typedef Vec(AstType *) AstTypeVec;
typedef Vec(AstDecl *) AstDeclVec;

// #[name], #[name(arg, ...)], where an argument is again a name, a literal or an application, or a
// sum, difference or product of such: an application of "+", "-" or "*".  $x mentions a variable.
struct AstAttr {
  Loc loc;
  Name name;         // the literal's text for a literal; text without quotes for a string
  bool has_args;
  AstAttrVec args;
};

// a name, possibly qualified: `f32.exp` has one qualifier
typedef struct AstName {
  Loc loc;
  Vec(Name) qualifiers;  // outermost first
  Name name;             // operators by their spelling: "+^"
} AstName;

// [n] or 't, '^t, '~t before the parameters of a definition
typedef struct AstTypeParam {
  Loc loc;
  Name name;
  enum { TYPE_PARAM_SIZE, TYPE_PARAM_TYPE, TYPE_PARAM_LIFTED, TYPE_PARAM_SIZE_LIFTED } kind;
  Binding *binding;  // checker
} AstTypeParam;
typedef Vec(AstTypeParam) AstTypeParamVec;

typedef enum AstTypeKind {
  AST_TYPE_NAME,      // i32, m.t, t arg...: u.name (arguments are types or sizes)
  AST_TYPE_TUPLE,     // (t, ...), () is the empty one: u.tuple
  AST_TYPE_RECORD,    // {a: t, ...}: u.record, in source order
  AST_TYPE_ARRAY,     // [n]t, []t: u.array (size NULL when anonymous)
  AST_TYPE_UNIQUE,    // *t: u.unique
  AST_TYPE_FUNCTION,  // a -> b, (n: i64) -> b: u.function
  AST_TYPE_SUM,       // #a t | #b: u.sum
  AST_TYPE_EXISTS,    // ?[n].t: u.exists
} AstTypeKind;

typedef struct AstField {
  Loc loc;
  Name name;
  AstType *type;
} AstField;

// One argument of a type constructor: a type, or a size in brackets ([n], [] has size NULL).
typedef struct AstTypeArg {
  Loc loc;
  bool is_size;
  AstType *type;
  AstExp *size;
} AstTypeArg;

typedef struct AstConstructor {
  Loc loc;
  Name name;
  AstTypeVec payload;
} AstConstructor;

struct AstType {
  AstTypeKind kind;
  Loc loc;
  union {
    struct { AstName name; Vec(AstTypeArg) args; } name;
    struct { AstTypeVec items; } tuple;
    struct { Vec(AstField) fields; } record;
    struct { AstExp *size; AstType *elem; } array;
    struct { AstType *of; } unique;
    struct { Name param; AstType *from; AstType *to; } function;  // param NULL when unnamed
    struct { Vec(AstConstructor) constructors; } sum;
    struct { Vec(Name) sizes; AstType *of; } exists;
  } u;
};

typedef enum AstPatKind {
  AST_PAT_NAME,         // x: u.name
  AST_PAT_WILDCARD,     // _
  AST_PAT_TUPLE,        // (p, ...): u.tuple, () is the empty one
  AST_PAT_RECORD,       // {a = p, b}: u.record
  AST_PAT_LITERAL,      // 3, -1, true, 'c': u.literal                        (match only)
  AST_PAT_ASCRIBE,      // p : t: u.ascribe
  AST_PAT_CONSTRUCTOR,  // #c p...: u.constructor
  AST_PAT_ATTR,         // #[a] p: u.attr
} AstPatKind;

typedef struct AstFieldPat {
  Loc loc;
  Name name;
  AstPat *pat;  // {b} is {b = b}
} AstFieldPat;

struct AstPat {
  AstPatKind kind;
  Loc loc;
  const Type *type;  // checker
  union {
    // binding, consumed (by what an entry point given as `= f` passes it to): checker
    struct { Name name; Binding *binding; bool consumed; } name;
    struct { AstPatVec items; } tuple;
    struct { Vec(AstFieldPat) fields; } record;
    struct { AstExp *value; } literal;
    struct { AstPat *pat; AstType *type; } ascribe;
    struct { Name name; AstPatVec payload; } constructor;
    struct { const AstAttr *attr; AstPat *pat; } attr;
  } u;
};

typedef enum AstExpKind {
  AST_INT,            // 42, 0x2a_i64, 'c', -1: u.integer (`-` before a literal is folded into it)
  AST_FLOAT,          // 1.5, 0x1p3f32: u.floating
  AST_BOOL,           // true: u.boolean
  AST_STRING,         // "text": u.string, an array of u8
  // x, (+), f32.exp: u.name.  `a.b` is a qualified name when `a` is a module of the prelude (a
  // scalar type's name) or of this file, otherwise it is the projection AST_PROJECT of the variable
  // `a`.
  AST_NAME,
  AST_TUPLE,          // (a, b), (): u.tuple
  AST_RECORD,         // {a = 1, b}: u.record
  AST_ARRAY,          // [a, b]: u.array
  AST_RANGE,          // a..<b, a..b...c, a..>b: u.range
  AST_INDEX,          // a[i, j:k]: u.index
  AST_PROJECT,        // e.a, e.0: u.project
  AST_APPLY,          // f a b, a + b, -a, !a: u.apply
  AST_AND,            // a && b: u.logical (short-circuit)
  AST_OR,             // a || b: u.logical (short-circuit)
  AST_LAMBDA,         // \p q : t -> e: u.lambda
  AST_SECTION_LEFT,   // (a +): u.section
  AST_SECTION_RIGHT,  // (+ a): u.section
  AST_SECTION_FIELD,  // (.a.b): u.section_field
  AST_SECTION_INDEX,  // (.[i, j:k]): u.section_index
  AST_LET,            // let [n] p = e in b: u.let
  AST_LET_FUN,        // let f [n] 't p q : t = e in b: u.let_fun
  AST_LET_WITH,       // let xs[i].f = v in b: u.let_with
  AST_IF,             // if c then a else b: u.cond
  AST_LOOP,           // loop p = e for ... do b: u.loop
  AST_MATCH,          // match e case p -> e ...: u.match
  AST_WITH,           // a with [i] = v, r with a.b[i] = v: u.with
  AST_ASCRIBE,        // e : t: u.ascribe
  AST_COERCE,         // e :> t: u.ascribe
  AST_ASSERT,         // assert c e: u.assert
  AST_ATTR,           // #[a] e: u.attr
  AST_CONSTRUCTOR,    // #c e...: u.constructor
  AST_OPEN_IN,        // m.(e): u.open_in
  AST_HOLE,           // ???: to be written
} AstExpKind;

// One dimension of an index: `i`, or a slice `from:to:step` with any part left out (NULL).
typedef struct AstDim {
  Loc loc;
  bool is_slice;
  AstExp *index;
  AstExp *from, *to, *step;
} AstDim;
typedef Vec(AstDim) AstDimVec;

// A step to what an update replaces: `field`, or `dims` where that is NULL.  Of two index steps in
// a row the first has slices, else they are one.
typedef struct AstStep {
  Loc loc;
  Name field;
  AstDimVec dims;
} AstStep;
typedef Vec(AstStep) AstPath;

typedef struct AstFieldExp {
  Loc loc;
  Name name;
  AstExp *value;  // {b} is {b = b}
} AstFieldExp;

typedef struct AstCase {
  Loc loc;
  AstPat *pat;
  AstExp *body;
} AstCase;

typedef enum AstRangeEnd {
  RANGE_BELOW,  // ..<
  RANGE_UPTO,   // ...
  RANGE_ABOVE,  // ..>
} AstRangeEnd;
typedef enum AstLoopForm { LOOP_FOR, LOOP_FOR_IN, LOOP_WHILE } AstLoopForm;

// A function literal's shape, shared by definitions, local functions and lambdas.
typedef struct AstFunction {
  AstTypeParamVec type_params;  // none for a lambda
  AstPatVec params;
  AstType *result;              // NULL if not given
  AstExp *body;
  bool shares_parts;            // checker: parts of a result may share memory with each other
} AstFunction;

struct AstExp {
  AstExpKind kind;
  Loc loc;
  const Type *type;  // checker: solved, without inference variables
  // checker: the unknown sizes that this expression brings into being, if any, as Bindings of
  // kind BIND_SIZE that occur in `type` (results of filter, of slices, of `if`, ...).
  Vec(Binding *) unknown_sizes;
  union {
    // the literal is `value`, or its negation where `negative` (value is never below 0)
    struct { const Big *value; bool has_suffix; PrimType suffix; bool negative; } integer;
    // the value of each type; an f16 as an f64
    struct { double value, value16; float value32; bool has_suffix; PrimType suffix; } floating;
    struct { bool value; } boolean;
    struct { const char *bytes; size_t length; } string;
    struct { AstName name; Binding *binding; const Inst *inst; } name;  // binding, inst: checker
    struct { AstExpVec items; } tuple;
    struct { Vec(AstFieldExp) fields; } record;
    struct { AstExpVec items; } array;
    struct { AstExp *from, *second, *to; AstRangeEnd end; } range;  // second NULL if absent
    struct { AstExp *array; AstDimVec dims; } index;
    struct { AstExp *record; Name field; } project;
    struct { AstExp *function; AstExpVec args; bool is_operator; } apply;
    struct { AstExp *left, *right; } logical;
    struct { AstFunction function; } lambda;
    struct { AstExp *op; AstExp *operand; } section;
    struct { Vec(Name) fields; } section_field;
    struct { AstDimVec dims; } section_index;
    struct { AstTypeParamVec sizes; AstPat *pat; AstExp *value; AstExp *body; } let;
    struct {
      Loc name_loc;
      Name name;
      AstFunction function;
      AstExp *body;
      Binding *binding;
    } let_fun;
    // `target` is the name being updated, as an AST_NAME; `pat` binds the new value to it
    struct { AstExp *target; AstPat *pat; AstPath path; AstExp *value; AstExp *body; } let_with;
    struct { AstExp *condition, *then_exp, *else_exp; } cond;
    struct {
      AstTypeParamVec sizes;
      AstPat *pat;
      AstExp *init;      // `loop x` without `=` has the name itself here
      AstLoopForm form;
      AstPat *index;     // LOOP_FOR: a name; LOOP_FOR_IN: any pattern; else NULL
      AstExp *bound;     // LOOP_FOR: the bound; LOOP_FOR_IN: the array; LOOP_WHILE: the condition
      AstExp *body;
    } loop;
    struct { AstExp *value; Vec(AstCase) cases; } match;
    struct { AstExp *target; AstPath path; AstExp *value; } with;
    struct { AstExp *exp; AstType *type; const Type *ascribed; } ascribe;  // ascribed: checker
    struct { AstExp *condition, *exp; } assert;
    struct { const AstAttr *attr; AstExp *exp; } attr;
    // expected: checker, the sum type that its context asks for, or NULL
    struct { Name name; AstExpVec payload; const Type *expected; } constructor;
    struct { AstName module; AstExp *exp; } open_in;
  } u;
};

typedef struct AstModExp AstModExp;

// What a type may stand for: data of fixed sizes, data (type~), anything (type^).
typedef enum AstLifted { LIFTED_NOT, LIFTED_SIZES, LIFTED_FULLY } AstLifted;

// What a module type says of a member.
typedef struct AstSpec {
  enum { SPEC_VALUE, SPEC_TYPE, SPEC_MODULE, SPEC_INCLUDE } kind;
  Loc loc;
  const char *doc;             // as of a definition
  Name name;                   // not of SPEC_INCLUDE
  struct AstModType *of;       // SPEC_MODULE, SPEC_INCLUDE
  AstTypeParamVec params;      // SPEC_VALUE, SPEC_TYPE
  AstType *type;               // SPEC_VALUE; SPEC_TYPE: NULL if it is abstract
  AstLifted lifted;            // SPEC_TYPE
} AstSpec;

typedef enum AstModTypeKind {
  MODTYPE_NAME,      // u.name
  MODTYPE_SPECS,     // { val x : t ... }: u.specs
  MODTYPE_FUNCTION,  // (x : a) -> b, a -> b: u.function
  MODTYPE_WITH,      // s with t 'a = u: u.with
} AstModTypeKind;

typedef struct AstModType AstModType;
struct AstModType {
  AstModTypeKind kind;
  Loc loc;
  union {
    AstName name;
    Vec(AstSpec) specs;
    struct { Name param; AstModType *from, *to; } function;  // param NULL when unnamed
    struct { AstModType *of; AstName name; AstTypeParamVec params; AstType *type; } with;
  } u;
};

typedef enum AstModExpKind {
  MODEXP_NAME,      // u.name
  MODEXP_BODY,      // { def x = 1 ... }: u.body
  MODEXP_IMPORT,    // import "file": u.path
  MODEXP_APPLY,     // f m: u.apply
  MODEXP_ASCRIBE,   // m : s: u.ascribe
  MODEXP_FUNCTION,  // \(m : s) -> e, module f (m : s) = e: u.function
} AstModExpKind;

struct AstModExp {
  AstModExpKind kind;
  Loc loc;
  union {
    AstName name;
    AstDeclVec body;
    Name path;
    struct { AstModExp *function, *arg; } apply;
    struct { AstModExp *exp; AstModType *type; } ascribe;  // exp NULL: any such module (checker)
    // Each application checks the body anew and needs a tree of its own: source_parse_again.  Where
    // the checker made the expression, which has no definitions in it, `again` is NULL.
    struct {
      Name param;
      AstModType *type;
      AstModExp *body;
      bool is_lambda;
      const struct Parser *again;
    } function;
  } u;
};

typedef enum AstDeclKind {
  AST_DECL_VALUE,        // def, entry, old-style let: u.value
  AST_DECL_TYPE,         // type t [n] 'a = ...: u.type
  AST_DECL_SPEC,         // val f : t, the form in which the prelude declares intrinsics: u.spec
  AST_DECL_MODULE,       // module m = ...: u.module
  AST_DECL_MODULE_TYPE,  // module type s = ...: u.module_type
  AST_DECL_OPEN,         // open m: u.open; import "file" is local open import "file"
  AST_DECL_LOCAL,        // local d: u.local
} AstDeclKind;

struct AstDecl {
  AstDeclKind kind;
  Loc loc;
  AstAttrVec attrs;
  const char *doc;  // text of the `-- |` comment before it, or NULL
  union {
    struct {
      bool is_entry;
      Loc name_loc;
      Name name;
      AstFunction function;  // without parameters: a constant
      Binding *binding;      // checker
    } value;
    struct {
      Loc name_loc;
      Name name;
      AstTypeParamVec params;
      AstType *type;
      AstLifted lifted;
    } type;
    struct {
      Loc name_loc;
      Name name;
      AstTypeParamVec params;
      AstType *type;
      Binding *binding;
    } spec;
    struct { Loc name_loc; Name name; AstModExp *exp; } module;
    struct { Loc name_loc; Name name; AstModType *type; } module_type;
    struct { AstModExp *exp; } open;
    struct { AstDecl *decl; } local;
  } u;
};

typedef struct AstProgram {
  const SourceFile *file;
  AstDeclVec decls;
  const char *doc;
} AstProgram;
