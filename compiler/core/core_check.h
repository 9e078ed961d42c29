// Shared by the files of the checker: what is being checked, and the questions asked everywhere.
#pragma once
#include "core/core.h"

// The variables of one body, or the parameters in front of it.
typedef struct CheckScope {
  bool active;  // false once the body is left: its variables may no longer be used
} CheckScope;

typedef struct CoreCheck {
  Compiler *c;
  bool flat;
  Map *scopes;             // Var -> CheckScope; every variable bound so far
  Map *functions;          // functions checked so far
  CheckScope *parameters;  // of the body that comes next
  CheckScope *body;        // the innermost body
  const Stm *stm;          // the statement being checked, or NULL
} CoreCheck;

// Prints the statement and stops the compiler unless `right`.
void check_that(const CoreCheck *ck, bool right, const char *what);

// Stops unless the atom is a scalar of this type.
void check_scalar(const CoreCheck *ck, Atom a, PrimType type, const char *what);

// Stops unless element types and ranks agree, and sizes that are both constants.
void check_same_type(const CoreCheck *ck, CoreType got, CoreType wanted, const char *what);

// Stops if both are constants and differ.
void check_same_size(const CoreCheck *ck, Atom got, Atom wanted, const char *what);

// Types within an expression whose atoms and bodies have been checked already.
void check_exp_of(const CoreCheck *ck, const Exp *exp);  // core_check_exp.c
void check_parallel(const CoreCheck *ck,
                    const Exp *exp);  // core_check_soac.c: SOACs and seg-ops
