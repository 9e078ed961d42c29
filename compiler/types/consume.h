// What the files of the consumption checker share.
//
// An array that is updated in place, or given to a parameter `*t`, is consumed: it must not be used
// afterwards, nor anything that may share its memory.  What may share memory is told by roots: each
// name that is bound to a fresh value, each parameter and each constant at top level is one.  The
// alias of an expression is the set of roots whose memory its value may share, for records field by
// field.  A name with an alias is no root itself: consuming it consumes its roots.
#pragma once
#include "types/check.h"

typedef enum RootKind {
  ROOT_OWN,    // may be consumed
  ROOT_PARAM,  // a parameter without `*`
  ROOT_TOP,    // defined at top level
} RootKind;

// The place where a root was consumed, and the name by which it was; NULL if by none.
typedef struct Consumed {
  Loc loc;
  Name through;
} Consumed;

typedef struct Root {
  RootKind kind;
  const Binding *binding;
  int id;
  int depth;       // of the regions around its binding
  bool is_result;  // of the binding, a function: what its results have in common
  const Consumed *consumed;  // NULL while it may be used
  bool reported;             // its misuse
} Root;

typedef Vec(Root *) RootVec;

// NULL is the alias of a fresh value.
typedef struct Alias Alias;
struct Alias {
  RootVec roots;  // by id; empty for a record whose fields are told apart
  int count;
  const Name *names;
  const Alias *const *fields;
};

// The body of a function or of a loop: what is bound outside must not be consumed inside.
typedef struct ConsumeRegion {
  struct ConsumeRegion *outer;
  bool is_loop;
  int depth;
  const Alias *captured;  // the outer roots that are used inside
} ConsumeRegion;

typedef struct ConsumeEvent {
  Root *root;
  const Consumed *consumed;
} ConsumeEvent;
typedef Vec(ConsumeEvent) ConsumeEventVec;

typedef struct Consume {
  Check *k;
  Map *aliases;  // Binding -> Alias, of the names in scope
  ConsumeRegion *region;
  ConsumeEventVec
      log;        // what was consumed on the way to the current expression, in order
  RootKind kind;  // of the roots that patterns make
  // AstFunction, Binding of a function -> Root of a constant, an array, that its result may share
  // memory with.
  Map *constants;
} Consume;

// consume_alias.c
const Alias *alias_of_root(Root *root);
const Alias *alias_record(const Name *names, const Alias *const *fields, int count);
const Alias *alias_union(const Alias *a, const Alias *b);
// A record's part; the whole where its parts are not told apart.
const Alias *alias_field(const Alias *a, Name name);
// The roots of all parts together.
const Alias *alias_flat(const Alias *a);
bool alias_has(const Alias *flat, const Root *root);
// Whether a value of the type holds memory that can be shared.
bool type_shares(const Type *type);
bool type_has_function(const Type *type);

// consume_pat.c
// Binds the names of a pattern; parts that are fresh become roots.
void consume_bind(Consume *u, const AstPat *pat, const Alias *alias);

// consume.c
const Alias *consume_exp(Consume *u, AstExp *exp);
// Consumes the roots of a value that the expression at `exp` gives.
void consume_value(Consume *u, const Alias *alias, const AstExp *exp);
// Reports roots of the value of `exp` that were consumed after it was computed.
void consume_check_alive(Consume *u, const Alias *alias, const AstExp *exp);
// Reports that the value of `exp` is not the definition's own, though its type says `*`.
void consume_check_owned(Consume *u, const Alias *alias, const AstExp *exp);
// Reports that what `value` gives has a function in it where its computation consumed something
// since `mark`, an index of the log.
void consume_check_no_function(Consume *u, const AstExp *value, int mark);
// A root of its own with the name and the place of another.
Root *consume_root_like(Consume *u, const Root *root);
void consume_enter(Consume *u, ConsumeRegion *region, bool is_loop);
void consume_leave(Consume *u);

// consume_apply.c
const Alias *consume_apply(Consume *u, AstExp *exp);
// The function's type as its definition says what it consumes.
const Type *consume_type(const AstExp *function);

// Reports a function `arg` that consumes more, or shares more, than `wanted` says (NULL: nothing);
// `where` says what wants it so.
void consume_check_function(Consume *u, const Type *wanted, const AstExp *arg,
                            const char *where);

// consume_parametric.c
// The type parameters of `function` of which a call with all of its arguments gives fresh values.
BindingVec consume_fresh_params(const AstExp *function, const AstExpVec *args);
// Whether `declared`, a part of a result, is a value of one of them, or an array of such values.
bool consume_is_fresh_param(const BindingVec *fresh, const Type *declared);
// Whether all that can be shared in what a function gives is fresh.
bool consume_gives_fresh(const AstExp *function);

// consume_loop.c
const Alias *consume_loop(Consume *u, AstExp *exp);

// consume_function.c
// Checks a function's body.  Gives its type, with `*` where it consumes and where its results are
// fresh, and the alias of the function itself.  `owner` is its name, or NULL.
const Type *consume_function(Consume *u, AstFunction *f, const Type *type, Binding *owner,
                             const Alias **captured);

// Reports a function that gives an array which is a constant, or a part of one.
void consume_check_constant(Consume *u, const AstDecl *decl);

// consume_message.c
void consume_report_constant(Consume *u, Name function, const Root *root, Loc loc);
// "`xs`" or "another result of `f`"
const char *consume_root_text(const Root *root);
void consume_report_use(Consume *u, Root *root, Name used, Loc loc);
void consume_report_fixed(Consume *u, Root *root, const Consumed *consumed);
void consume_report_outside(Consume *u, Root *root, const Consumed *consumed);
void consume_report_result(Consume *u, Root *root, Name function, Loc loc);
