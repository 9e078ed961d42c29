// The body of a function that calls itself, between its evaluation (stack.c) and the loop that is
// made of it (stack_loop.c).
#pragma once
#include "core/elab/elaborate.h"

// What follows within the body: the statements from `at` on, and then, behind the `if` whose
// results are called `binders`, what follows there.
typedef struct Remainder {
  const Body *body;
  int at;
  const Var *const *binders;
  const struct Remainder *outer;  // NULL: at the end the function returns
} Remainder;

// Behind a call.
typedef struct StackSite {
  const Stm *call;
  const Remainder *rest;
  VarVec saved;  // what it needs
  int *slots;    // where that is kept
} StackSite;

struct Stack {
  const Stack *outer;
  const AstFunction *function;
  const bool *kept;  // parameters that all calls pass on as they are
  Function *self;    // what own calls mention, of the leaves of the others
  const Val *result;
  Map *inside;  // what the body binds, and its parameters
  Vec(StackSite) sites;
  Vec(CoreType) slots;
};

// The statement is an own call; an own call is in the expression.
bool stack_is_call(const Stack *s, const Exp *exp);
bool stack_calls(const Stack *s, const Exp *exp);
const Remainder *stack_rest(const Body *body, int at, const Var *const *binders,
                            const Remainder *outer);
// The results, from the first values of the parameters.
const Atom *stack_loop(Elab *e, const Stack *s, const Closure *f, const Body *body,
                       const Atom *inits);
