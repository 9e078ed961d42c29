// Inside elaboration: the values of the evaluator, its environments, and what its files offer
// each other.  The pass itself is declared in passes.h; the idea is in docs/how-it-works.md,
// "Elaboration".
//
// A value is first-order data (atoms), a record of values, or a closure.  An array of records is a
// record of arrays from the start, so zip and unzip do nothing and every array operation is done
// leaf by leaf.
#pragma once
#include "core/message.h"
#include "core/passes.h"
#include <setjmp.h>

typedef struct Val Val;
typedef struct Closure Closure;
typedef struct Env Env;
typedef struct Elab Elab;
typedef struct Intrinsic Intrinsic;
typedef struct Stack Stack;  // stack.h
typedef Vec(const Val *) ValVec;

// A type and the names in scope where it was written.
typedef struct TypeIn {
  const Type *type;
  const Env *env;
} TypeIn;

// One name in scope.  Bindings are unique by address, so nothing is ever shadowed.
struct Env {
  const Env *next;
  const Binding *key;
  const Val *val;  // a value or a size
  TypeIn type;     // a type parameter
};

// The names in scope while a body is evaluated: grows with every let and every unknown size.
typedef struct Scope {
  const Env *env;
} Scope;

typedef enum ValKind {
  VAL_ATOM,     // a scalar or an array of scalars: u.atom
  VAL_RECORD,   // a tuple, a record, or an array of them: u.record
  VAL_CLOSURE,  // a function: u.closure
} ValKind;

struct Val {
  ValKind kind;
  union {
    Atom atom;
    struct {
      int count;
      const Name *names;
      const Val *const *items;
    } record;
    const Closure *closure;
  } u;
};

typedef enum ClosureKind {
  CLOSURE_FUNCTION,  // a definition or a lambda: function, binding (NULL for a lambda), env
  CLOSURE_INTRINSIC,  // intrinsic, binding
  CLOSURE_FLIPPED,    // (op x): op, operand
  CLOSURE_FIELDS,     // (.a.b): exp
  CLOSURE_INDEX,      // (.[i]): exp, env
  CLOSURE_HOLE,       // a hole of the type in env
  CLOSURE_ASSERTED,   // op, behind the assertion of operand, which is written at loc
} ClosureKind;

// A function with the arguments that it has got so far.
struct Closure {
  ClosureKind kind;
  int arity;
  const AstFunction *function;
  const Binding *binding;
  const Intrinsic *intrinsic;
  const Env *env;       // where the function was written
  const Inst *inst;     // what its type and size parameters are
  const Env *inst_env;  // ... in the terms of the place where it was mentioned
  const AstExp *exp;
  const Type *type;
  const Val *op, *operand;
  Loc loc;
  const StmAttrs *attrs;  // given to what the call emits, or NULL
  bool is_unsafe;         // whether that is unchecked
  bool is_exact;          // whether its quotients and roots are rounded correctly
  const Val *const *args;
  int arg_count;
};

// The outermost body of an entry point or of a Core function, where constants are evaluated.
typedef struct Frame {
  Builder *outer;
  Map *constants;  // Binding -> Val
  Map *sizes;      // of the parameters' arrays: Var -> Var; none is negative
  struct LiftedConstants *lifted;  // of a Core function: those that its callers evaluate
} Frame;

// What stands at the ends of a body that is evaluated for a call that may go on as a loop (tail.c).
typedef enum TailMode {
  TAIL_KNOWN,    // the value, or the arguments of the next call: `found`
  TAIL_GOES_ON,  // whether a call follows
  TAIL_NEXT,  // the next values of the parameters that change; `state` if no call follows
  TAIL_BASE,  // the value, where no call follows
} TailMode;

typedef struct Found {
  const Val *const *args;  // of a call, if one follows
  bool unknown;            // depends on a condition that is not known
} Found;

typedef struct Tail {
  TailMode mode;
  const Closure *function;
  const AstExp *body;
  const bool *kept;  // parameters that calls pass on as they are
  const Val *state;
  Found *found;
} Tail;

// What the place of an expression says of its value: in tail position of a let, the name that its
// pattern gives; after an attribute, what that says.  Operands want nothing.
typedef struct Want {
  const char *name;       // for the statements whose results the value is, or NULL
  const StmAttrs *attrs;  // for the application that the expression is, or NULL
  const Tail *tail;       // of a body's ends, or NULL
} Want;

// A call of a function that calls itself, within others.
typedef struct OwnCall {
  const AstFunction *function;
  const struct OwnCall *outer;
  jmp_buf *again;  // of the outermost: where it is evaluated another way
} OwnCall;

struct Elab {
  Compiler *c;
  Builder *b;  // the body under construction
  Frame *frame;
  Map *intrinsics;       // Name -> Intrinsic
  Map *outside_types;    // Name of an abbreviation -> const char *: the type that it names outside
  Map *outside_names;    // Type -> const char *: its name outside, "" if it has none
  int depth;             // of calls that are being evaluated
  const OwnCall *calls;  // those of functions that call themselves
  const Stack *stacks;   // of functions whose calls become loops, around what is evaluated
  const char *stack;     // where the stack begins, of which that much may be used
  size_t stack_most;
  Map *functions;  // AstFunction -> FunctionMemo (function.c)
  Vec(const Function *) emitted;
  Name self;     // the entry point being elaborated
  int deriving;  // functions to be differentiated around what is being evaluated
  int exact;     // #[exact] around it
  Map *acc_ops;  // name of an accumulator -> Val: the operator of its writes
  long steps;
  jmp_buf stop;
};

// Where elaboration stands, so that it can begin again there in another way.
typedef struct ElabPlace {
  Elab state;
  const StmAttrs *attrs;
  Loc loc;
} ElabPlace;
ElabPlace elab_place(const Elab *e);
void elab_return_to(Elab *e, const ElabPlace *place);

// Leaves the entry point being elaborated, after a message.
_Noreturn void elab_stop(Elab *e);

// ---- values and names (value.c)

const Val *val_atom(Atom atom);
const Val *val_record(const Name *names, const Val *const *items, int count);
// A record whose fields are called 0, 1, ...
const Val *val_tuple(Elab *e, const Val *const *items, int count);
// The empty tuple.  It has a leaf of its own, so that arrays of it have sizes.
const Val *val_unit(void);
const Val *val_pair(Elab *e, const Val *first, const Val *second);
const Val *val_closure(const Closure *closure);
Atom val_scalar(Elab *e, const Val *v);  // the atom of a value that is one
const Val *val_field(Elab *e, const Val *v, Name name);  // it must have that field
// A value of a sum type, or an array of them: its first field is the tag.
bool val_is_sum(const Val *v);
// That of the constructor of field `own`: of the others' arguments, what has room in common with
// its own is the same (slots.c).
const Val *val_sum(Elab *e, const Name *names, const Val *const *items, int count,
                   int own);
// The atoms of a value, in order, those that constructors share once; a closure among them is
// reported (no arrays of functions).
AtomVec val_leaves(Elab *e, const Val *v);
void val_add_leaves(Elab *e, const Val *v, AtomVec *out);  // likewise, appended to `out`
bool val_holds_function(const Val *v);
// The first atom of a value; false if it has none.
bool val_first_leaf(const Val *v, Atom *out);
// A value of the same structure with other leaves.
const Val *val_rebuild(Elab *e, const Val *shape, const Atom *leaves);
typedef Atom (*LeafFn)(Elab *e, Atom leaf, const void *state);
// The value with every leaf replaced by what `fn` makes of it.
const Val *val_map(Elab *e, const Val *v, LeafFn fn, const void *state);

// The environment with one more name, for a value or a size.
const Env *env_push(const Env *env, const Binding *key, const Val *val);
// Likewise for a type parameter.
const Env *env_push_type(const Env *env, const Binding *key, TypeIn type);
// NULL if the name is not in scope.
const Env *env_find(const Env *env, const Binding *key);

// ---- types and sizes (size.c)

// The type that a type parameter stands for.
TypeIn typein_resolve(TypeIn t);
PrimType typein_prim(Elab *e, TypeIn t);  // it must be a scalar type

// A size expression and the names in scope where it was written.
typedef struct SizeIn {
  const Size *size;
  const Env *env;
} SizeIn;
typedef struct LeafSizes {
  const SizeIn *at;  // outermost dimension first; may be fewer than the leaf's rank
  int count;
} LeafSizes;
typedef Vec(LeafSizes) LeafSizesVec;

// Whether every name in the size has a value in scope.
bool size_known(SizeIn s);
// Its value; emits code for size expressions.  It must be known.
Atom size_eval(Elab *e, SizeIn s);
// Whether it is a constant or a parameter's dimension, so that it is no negative number.
bool size_is_natural(const Elab *e, Atom size);
// The sizes that `t` gives to each leaf of `v`, a value of that type.
LeafSizesVec val_sizes(Elab *e, TypeIn t, const Val *v);
// Binds the size parameters and unknown sizes in `type` that have no value yet.
void scope_bind_sizes(Scope *s, const Type *type, const Val *v);
// The value of a type made from `leaf`, called for each leaf's type in order.
typedef Atom (*TypeLeafFn)(Elab *e, CoreType type, void *state);
// The field is that of a constructor without arguments, in a sum type; it has no leaves.
bool field_is_bare(const TypeField *field);
const Val *val_of_type(Elab *e, TypeIn t, const AtomVec *dims, TypeLeafFn leaf,
                       void *state);

// Whether an atom was there before the compiler's numbering reached `mark`.
bool atom_is_older(Atom a, int mark);
// The array with the given dimensions, which are equal to its own by typing.
Atom elab_fit(Elab *e, Atom array, const Atom *dims);
// The same for all leaves, of which only the outer dimension is another.
const Val *elab_fit_width(Elab *e, const Val *v, Atom width);

// ---- small code (emit.c)

// In this header, `name` is the name that is wanted for a value, or NULL.

// Adds a statement; without a wanted name its result is called `otherwise`.
Atom elab_emit(Elab *e, const char *name, const char *otherwise, const Exp *exp);
// An operator on scalars; constants are folded.
Atom elab_op(Elab *e, const char *name, PrimOp op, const Atom *args);
Atom elab_op1(Elab *e, PrimOp op, Atom a);
Atom elab_op2(Elab *e, PrimOp op, Atom a, Atom b);
// To another scalar type; nothing is emitted if it has that type.
Atom elab_convert(Elab *e, const char *name, PrimType to, Atom a);
Atom elab_to_i64(Elab *e, Atom a);  // as sizes and indices are
// Both operands are evaluated already; constants are folded.
Atom elab_and(Elab *e, Atom a, Atom b);
Atom elab_or(Elab *e, Atom a, Atom b);
// OP_LAND or OP_LOR, as the two above.
Atom elab_junction(Elab *e, const char *name, PrimOp op, const Atom *args);
// One of two scalars.
Atom elab_select(Elab *e, Atom condition, Atom yes, Atom no);
const Val *elab_call_asserted(Elab *e, const Closure *f, const char *name);

// Passes `atoms` through an assertion; nothing is emitted when the condition is known to hold.
void elab_assert(Elab *e, Atom condition, Message *m, Atom *atoms, int count);

// Adds the body's statements; all that they compute, and that may fail, comes after the assertion
// (an expression without atoms) (guard.c).  Stores the results.
void elab_guard(Elab *e, const Body *body, const Exp *assertion, Atom *results);

// ---- evaluation

// A body inside the one under construction: what is emitted between the two calls goes there.
typedef struct Inner {
  Builder b;
  Builder *outer;
} Inner;
void elab_enter(Elab *e, Inner *inner);  // from here on statements go into the inner body
// Back to the body around; `inner->b` has what was emitted.
void elab_leave(Elab *e, Inner *inner);

// The value of an expression in tail position, and of an operand.
const Val *elab_exp(Elab *e, Scope *s, const AstExp *exp, Want want);  // exp.c
// The value of an operand: it gets no name from around it.
const Val *elab_part(Elab *e, Scope *s, const AstExp *exp);
// The same, for an expression of scalar type.
Atom elab_scalar(Elab *e, Scope *s, const AstExp *exp);
const Val *elab_name(Elab *e, Scope *s, const AstExp *exp, const char *name);  // apply.c
// Applies a function value to arguments, some or all of what it takes.
const Val *elab_apply(Elab *e, const Val *f, const Val *const *args, int count,
                      const char *name);
// f x y, after its operands; attributes go to what it emits.
const Val *elab_application(Elab *e, Scope *s, const AstExp *exp, Want want);
// The closure of a definition or lambda; `binding` is NULL for the latter.
const Val *elab_function_value(const AstFunction *function, const Binding *binding,
                               const Env *env);
// (op x), (x op), (.field), (.[i])
const Val *elab_section(Elab *e, Scope *s, const AstExp *exp, const char *name);
// All arguments are given: evaluates the body.
const Val *elab_body_of(Elab *e, const Closure *f, const char *name);
// A definition without parameters, evaluated once per frame.
const Val *elab_constant(Elab *e, const Binding *binding);
// What the attribute adds to those around it.
const StmAttrs *elab_attr(const AstAttr *attr, const StmAttrs *outer);
// #[warn(safety_checks)]: warns if one of the statements from `from` on is checked when it runs.
void elab_warn(Elab *e, const AstAttr *attr, int from);
// #[unsafe]: nothing checks that the elements exist which the statements from `from` on access.
void elab_uncheck(Elab *e, int from);

void elab_check_ranks(Compiler *c, const Entry *entry);  // rank.c

// A call of a residual function, or NULL if the function is to be inlined (function.c).
const Val *elab_residual_call(Elab *e, const Closure *f, const char *name);
// In the body of a Core function: the constant as its callers pass it, or NULL if the body is to
// evaluate it.
const Val *elab_lifted_constant(Elab *e, const Binding *binding);
// Puts the functions that are called from one place only there.
const Core *elab_inline_single_calls(Compiler *c, const Core *core);

// Zeros of the given dimensions.
Atom elab_zeros(Elab *e, PrimType type, const AtomVec *dims);
const Val *elab_constructor(Elab *e, Scope *s, const AstExp *exp);  // sum.c
// ???: an error when the program runs.
const Val *elab_hole(Elab *e, TypeIn t);
// The values that a constructor's pattern takes apart, and whether `v` has that constructor.
const Val *elab_payload(Elab *e, const AstPat *pat, const Val *v);
// Bool: its tag is that of the pattern.
Atom elab_has_constructor(Elab *e, const AstPat *pat, const Val *v);

// The value within the program of one that came from outside, whose sums are tuples of the tag and
// the arguments of each constructor, and the other way round (outside.c).
const Val *elab_from_outside(Elab *e, const Type *type, const Val *v);
const Val *elab_to_outside(Elab *e, const Val *v);

// Binds a pattern that always matches (pattern.c).
void elab_bind(Elab *e, Scope *s, const AstPat *pat, const Val *v);
// Whether a value matches; does not bind.
Atom elab_matches(Elab *e, Scope *s, const AstPat *pat, const Val *v);
// The name that a pattern gives to the whole value, or NULL.
Name pat_whole_name(const AstPat *pat);

typedef struct Branch {
  const Val *(*eval)(Elab *e, const void *state, const char *name);
  const void *state;
} Branch;
// Two branches that yield values of one type (whose sizes it may not know).
typedef struct Branches {
  Branch yes, no;
  TypeIn type;
} Branches;
const Val *elab_if(Elab *e, Atom condition, Branches branches,
                   const char *name);  // control.c
// if c then x else y
const Val *elab_cond(Elab *e, Scope *s, const AstExp *exp, Want want);
// x && y, x || y: the right operand runs unconditionally only if it is cheap.
const Val *elab_logical(Elab *e, Scope *s, const AstExp *exp, const char *name);
// The cases in order, as conditionals.
const Val *elab_match(Elab *e, Scope *s, const AstExp *exp, Want want);
// Equal values of which the tuner picks; `size` is NULL without one.
const Val *elab_choose(Elab *e, const Atom *size, Branches branches, const char *name);
const Val *elab_loop(Elab *e, Scope *s, const AstExp *exp, const char *name);  // loop.c
// From `init` on, while a call follows: the values of the pattern with which none does.
const Val *elab_tail_loop(Elab *e, Scope *s, AstPat *pat, const Tail *t, const Val *init);
// A call of a function that calls itself at its ends only, or NULL if it does not (tail.c).
const Val *elab_tail_call(Elab *e, const Closure *f, const char *name);
bool elab_is_end(const AstExp *exp, const Tail *t);
// A call of the function with all its arguments; whether it passes parameter `i` on as it is.
bool elab_is_own_call(const AstExp *exp, const Closure *f);
bool elab_passes_on(const Closure *f, const AstExp *call, int i);
// A call of a function that calls itself, as a loop with a stack (stack.c).
const Val *elab_stack_call(Elab *e, const Closure *f);
// Gives up the evaluation of the outermost such call, if there is one, in favour of that.
void elab_too_large(Elab *e);
// A call within its body; NULL if the function becomes no such loop.
const Val *elab_own_call(Elab *e, const Closure *f);
const Val *elab_end(Elab *e, Scope *s, const AstExp *exp,
                    Want want);  // want.tail says how
// Whether one of the ends is a call of the function itself, or is not.
bool elab_has_end(const AstExp *exp, const Tail *t, bool call);
// The scope of the function's body, with its types only, and with its arguments too (apply.c).
void elab_enter_types(Elab *e, const Closure *f, Scope *s);
void elab_enter_body(Elab *e, const Closure *f, Scope *s);
// Binds the size parameters that are not among those that arguments have told.
void elab_bind_other_sizes(Elab *e, Scope *s, const Closure *f, const Env *told);

const Val *elab_array(Elab *e, Scope *s, const AstExp *exp, const char *name);  // array.c
const Val *elab_string(Elab *e, const AstExp *exp,
                       const char *name);  // an array of bytes
// a..<b, a..s...b: checked, then an iota.
const Val *elab_range(Elab *e, Scope *s, const AstExp *exp, const char *name);
// e :> t: the sizes of t are checked when the program runs.
const Val *elab_coerce(Elab *e, Scope *s, const AstExp *exp, const char *name);
// Bool: all leaves are equal; arrays of different shapes are not.
const Val *elab_equal(Elab *e, const Val *a, const Val *b, const char *name);
const Val *elab_index(Elab *e, Scope *s, const Val *array, const AstDimVec *asts,
                      const char *name);  // slice.c

// with path = value, in a scope.
typedef struct Update {
  Elab *e;
  Scope *s;
  const AstPath *path;
  const Val *value;
  const char *name;
} Update;
// `target` with what the path leads to replaced (update.c).
const Val *elab_update(const Update *u, const Val *target);
// `array` with the elements at `dims` replaced by `v`.
const Val *elab_update_array(const Update *u, const Val *array, const AstDimVec *asts,
                             const Val *v);

// An element of an array value, without a check.
const Val *elab_element(Elab *e, const Val *array, Atom index);

// ---- SOACs (soac.c)

// The outer size of an array value; `declared` is used when it has no leaves.
Atom elab_width(Elab *e, const Val *array, SizeIn declared);
// args: f, array; `elem` is the declared type of the result's elements.
const Val *elab_map(Elab *e, const Val *const *args, Atom width, TypeIn elem,
                    const char *name);
// args: op, neutral, array
const Val *elab_reduce(Elab *e, const Val *const *args, bool comm, const char *name);
const Val *elab_scan(Elab *e, const Val *const *args, const char *name);
// args: p, array
const Val *elab_filter(Elab *e, const Val *const *args, const char *name);
// args: dest, indices, values
const Val *elab_scatter(Elab *e, const Val *const *args, const char *name);
// dest with [i] = op dest[i] v; args: dest, op, neutral, indices, values
const Val *elab_hist(Elab *e, const Val *const *args, const char *name);

// ---- intrinsics (intrinsic.c)

typedef struct IntrinsicCall {
  const Intrinsic *intrinsic;
  const Closure *closure;  // for its instantiation
  const Val *const *args;
  const char *name;  // wanted for the value, or NULL
} IntrinsicCall;
typedef const Val *(*IntrinsicFn)(Elab *e, const IntrinsicCall *call);
struct Intrinsic {
  const char *name;
  int arity;
  IntrinsicFn fn;
  int code;  // an operator, a scalar type, ...: whatever `fn` makes of it
};
// args: f, its adjoint, x (custom.c)
const Val *elab_with_vjp(Elab *e, const IntrinsicCall *call);
// args: f, x, tangent of x or cotangent of f x (derive.c)
const Val *elab_jvp(Elab *e, const IntrinsicCall *call);
const Val *elab_vjp(Elab *e, const IntrinsicCall *call);
// The table of names that `val` in prelude/intrinsics.fl may declare.
Map *elab_intrinsics(Elab *e);
