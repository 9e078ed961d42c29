// The body of a function that calls itself, between its evaluation (stack.c) and the loop that is
// made of it (stack_loop.c).
#pragma once
#include "core/elab/elaborate.h"

// What follows within the body: the statements from `at` on, and then, behind the `if` whose
// results are called `binders`, what follows there; or another round of the loop of a site.
typedef struct Remainder {
  const Body *body;
  int at;
  const Var *const *binders;
  const struct Remainder *outer;  // NULL: at the end the function returns, if not ..
  int loop;                       // .. of a loop: its site, or -1
} Remainder;

// Behind a call, or before a round of a loop that calls.
typedef struct StackSite {
  const Stm *stm;  // the call, or the loop
  const Remainder *rest;
  VarVec
      saved;  // what it needs; of a loop first its parameters, then its index if it has one
  int *slots;  // where that is kept
} StackSite;

// A place for what calls keep: for a value of the type, or if that `varies` for arrays of all sizes
// with such elements, one behind the other.
typedef struct StackSlot {
  CoreType type;
  bool varies;
} StackSlot;

struct Stack {
  const Stack *outer;
  const AstFunction *function;
  const bool *kept;  // parameters that all calls pass on as they are
  bool varies;       // sizes of arrays change from call to call
  jmp_buf *again;    // where that is taken back that they do not; NULL if they do
  Function *self;    // what own calls mention, of the leaves of the others
  VarVec results;    // what a call gives: variables whose names and types are copied
  const Val *result;
  Map *inside;  // what the body binds, and its parameters
  Vec(StackSite) sites;
  Vec(StackSlot) slots;
};

// Variables for a leaf of that type: its sizes, if they vary, and the leaf, which is returned.
Atom stack_add_leaf(Elab *e, const Stack *s, const char *name, CoreType type,
                    VarVec *out);
// The leaf, behind its sizes if they vary.
void stack_add_value(const Stack *s, Atom leaf, AtomVec *out);
// Fresh variables with the names and types of others, whose sizes may be among them.
VarVec stack_copy_vars(Elab *e, const VarVec *vars);
// Of variables or values that were added leaf by leaf, the leaves.
AtomVec stack_leaves(const Stack *s, const VarVec *vars);

// The statement is an own call; an own call is in the expression.
bool stack_is_call(const Stack *s, const Exp *exp);
bool stack_calls(const Stack *s, const Exp *exp);
const Remainder *stack_rest(const Body *body, int at, const Var *const *binders,
                            const Remainder *outer);
const Remainder *stack_round(const Body *body, int loop);
// What follows from another statement of the same body on.
const Remainder *stack_after(const Remainder *rest, int at);
// The body with loops in place of maps whose functions call.
const Body *stack_without_maps(Elab *e, const Stack *s, const Body *body);
// The leaves of the result, from the first values of the parameters.
AtomVec stack_loop(Elab *e, const Stack *s, const Closure *f, const Body *body,
                   const Atom *inits);

// What a slot is in the loop: places for a value of each call that is not done yet; or, where sizes
// vary, memory of which each call has a piece.
typedef struct SlotState {
  const Var *places;               // the values, or where the pieces begin
  const Var *top, *room, *memory;  // ... where the next begins, how much there is
} SlotState;

// What a round gives of a slot: the value, or the number of elements and these, one after another.
int slot_width(const StackSlot *slot);
void slot_add_vars(Elab *e, const StackSlot *slot, VarVec *out);
// ... of a value that a call keeps, and where none is.
void slot_add_value(Elab *e, const StackSlot *slot, Atom value, Atom *out);
// Binds the variable to what the call at `at` has kept.
void slot_read(Elab *e, const StackSlot *slot, const SlotState *state, Atom at,
               const Var *var);

// The stack with room for `depth` calls.
typedef struct SlotTop {
  Atom sp, below;       // the place of the next call, and of the last one
  Atom called, jumped;  // whether there is a next one; whether nothing returns either
} SlotTop;
// Adds what the slot's variables are after a round that gave `values` of it.
void slot_next(Elab *e, const StackSlot *slot, const SlotState *state, const SlotTop *top,
               const Atom *values, AtomVec *out);
// The array with a value at a place.
Atom slot_store(Elab *e, const Var *array, Atom at, Atom value);
