// Inside reverse mode: adjoints, and the scopes in which they are known.
//
// A body is copied into a scope, where its statements are followed by those for its adjoints, last
// statement first.  Bodies within (branches, loops, functions on elements) are run a second time
// there, in scopes of their own: what they computed is not kept.  Only loops keep the values with
// which each iteration begins.
#pragma once
#include "core/ad/ad.h"
#include "core/ad/code.h"

typedef enum ScopeKind {
  SCOPE_MAP,     // the function of a map, or the outermost body
  SCOPE_BRANCH,  // one side of a conditional: adjoints from outside are changed
  SCOPE_LOOP,    // the body of a loop: adjoints from outside become loop parameters
} ScopeKind;

// A summand of a place: a number, or which one it is in a dimension of the points, counted from the
// inside, or in one of their values.
typedef enum AdTermKind { TERM_ATOM, TERM_POINT, TERM_WITHIN } AdTermKind;

typedef struct AdTerm {
  AdTermKind kind;
  int64_t times;
  Atom atom;
  int dim;
} AdTerm;
// The sum of these; modulo the array's size if it wraps.
typedef struct AdPlace {
  Vec(AdTerm) terms;
  bool wraps;
} AdPlace;

// What elements of an array get that is bound outside of a map, so that its adjoint cannot be
// changed in place: for each point p and position (k, ..) in its value, the element number
// offsets[p] + k * strides[0] + .. of the array gets values[p][k].. .  There are `lead`
// dimensions of points, which come first in both arrays.
typedef struct AdPoints {
  const Var *array;
  int lead;
  Atom offsets, values;
  const Atom *strides;
  // Where the elements are in each dimension of the array; NULL: not known.  Points that have no
  // place have zeros as values.
  const AdPlace *places;
} AdPoints;
typedef Vec(AdPoints) AdPointsVec;

typedef struct AdScope {
  ScopeKind kind;
  struct AdScope *outer;  // NULL: outermost
  Builder *b, own;
  int mark;        // variables with this number and later ones are bound inside
  Map *adjoints;   // Var -> Atom
  VarVec touched;  // variables from outside that have adjoints here
  VarVec carried;  // SCOPE_LOOP: the parameters for these
  AtomVec inits;   // ... and what they begin with
  AdPointsVec points;
  bool irregular;  // SCOPE_MAP: points have sizes that differ from element to element
} AdScope;

// An update of an array that a loop carries, and what the part was before.
typedef struct Overwritten {
  const Exp *update;
  const Var *before;
} Overwritten;
typedef Vec(Overwritten) OverwrittenVec;

// What the way forward keeps of a statement for the way back.
typedef struct Kept {
  const Exp *loop;  // EXP_LOOP
  // EXP_LOOP: for variables of its body (Var -> Atom) the array of their values in all rounds.
  Map *tapes;
  // For each parameter the updates that a round makes, if it makes nothing else of it: these are
  // undone, as the array has no tape.
  const OverwrittenVec *undone;
  bool again;      // there are no tapes, as sizes vary: the loop is run again
  Atom positions;  // EXP_FILTER: of the elements that are kept
} Kept;

// Where a round of a loop's way back starts: which iteration it belongs to, what undone arrays are
// at its end, and the values of all parameters at its beginning, to be filled in.
typedef struct RoundStart {
  Atom iteration;
  const Atom *ends;
  Atom *values;
} RoundStart;

typedef struct Reverse {
  Compiler *c;
  Active active;
  AdScope *scope;
  const Builder *around;  // what the function may mention
} Reverse;

// ---- scopes and adjoints (reverse.c)

void reverse_enter(Reverse *r, AdScope *s, ScopeKind kind);
void reverse_leave(Reverse *r);
bool reverse_is_active(const Reverse *r, Atom a);
// The adjoint of a variable that is bound in this scope, or NULL for zero.
const Atom *reverse_adjoint(const Reverse *r, const Var *var);
// The adjoint so far, which may be zeros.
Atom reverse_current(Reverse *r, const Var *var);
void reverse_assign(Reverse *r, const Var *var, Atom adjoint);
// Adds to the adjoint of a value, if it has one.
void reverse_add(Reverse *r, Atom to, Atom adjoint);
// Adds to a part of it.
void reverse_add_at(Reverse *r, const Exp *index, Atom adjoint);
// Was the atom there before the scope?
bool reverse_is_outside(const AdScope *s, Atom a);
// The map around the scope loses what cannot leave it.
void reverse_give_up(AdScope *s);

// Adds the body, whose variables belong to the scope, and the adjoints of what it reads: seeds[i]
// is the adjoint of result i, or NULL for zero.
void reverse_body(Reverse *r, const Body *body, const Atom *const *seeds);

// The body in the forms for which there are rules: it computes the same (expand.c).
const Body *reverse_expand(Reverse *r, const Body *body);

// Adds the loop as loops within loops (stripmine.c).
void reverse_stripmine(Builder *b, const Stm *stm);

// ---- the rules: code for the adjoints of what a statement reads, from those of its results

void reverse_single(Reverse *r, const Stm *stm, Atom adjoint);  // reverse_single.c
void reverse_call(Reverse *r,
                  const Stm *stm);  // of a function with an adjoint of its own
void reverse_branches(Reverse *r, const Stm *stm);  // reverse_control.c
// Adds the loop, with tapes (reverse_tape.c).
Kept reverse_keep_loop(Reverse *r, const Stm *stm);
Atom reverse_trips(Builder *b, Atom bound);  // how often a loop runs
bool reverse_is_undone(const Kept *kept, int param);
void reverse_restore(Reverse *r, const Kept *kept, const RoundStart *start);
void reverse_loop(Reverse *r, const Stm *stm, const Kept *kept);
void reverse_map_in_order(Reverse *r, const Stm *stm);  // one element after the other
void reverse_map(Reverse *r, const Stm *stm);           // reverse_map.c
// Takes a scope's points out of it, after `lift` has bound `offsets` and `values` outside.
void reverse_add_points(Reverse *r, AdPoints points);
bool reverse_can_lift(const AdScope *s, const AdPoints *points);
// What is known of where the element is that is read (reverse_places.c).
const AdPlace *reverse_places(const Reverse *r, const Exp *index);
// Forgets that if it cannot leave the scope.  Before `lead` counts the map's dimension.
void reverse_places_leave(const AdScope *s, AdPoints *points);
void reverse_places_leave_map(const Reverse *r, const Soac *soac, const Lambda *fn,
                              const AdScope *s, AdPoints *points);
// Adds the values to the adjoint without a histogram; false: that needs one.
bool reverse_add_block(Reverse *r, const AdPoints *points);
void reverse_reduction(Reverse *r, const Stm *stm);          // reverse_reduce.c
void reverse_general_reduction(Reverse *r, const Stm *stm);  // reverse_general.c
void reverse_general_scan(Reverse *r, const Stm *stm);
// Can it: are all of the scan's values scalars, and those that have derivatives few, of one type?
bool reverse_can_scan(const Reverse *r, const Stm *stm);
// Is there a rule in reverse_reduce.c?
bool reverse_has_rule(const RedOp *op, bool is_scan);
// Are no two elements of the array of indices the same, as its definition shows (distinct.c)?
bool reverse_is_distinct(const Reverse *r, Atom array);
void reverse_scatter(Reverse *r, const Stm *stm);  // reverse_write.c
void reverse_hist(Reverse *r, const Stm *stm);
Kept reverse_keep_filter(Reverse *r, const Stm *stm);
void reverse_filter(Reverse *r, const Stm *stm, const Kept *kept);
