// The interpreter of Core and Flat: the oracle of all tests.  Real arrays, exact integer and IEEE
// arithmetic (base/prim.c), run-time errors with positions.
#pragma once
#include "core/core.h"
#include "core/value/value.h"

// A seg-op of the host, run by somebody else.
typedef struct InterpSeg {
  const Stm *stm;
  const Var *const *vars;      // what it mentions,
  const Value *const *values;  // and what that is
  int var_count;
  int64_t steps;        // taken by the whole run so far
  int64_t max_steps;    // 0: any number
  Value **results;      // one per binder, to be filled; those with a destination hold it
  const char *message;  // of a failure,
  Loc loc;              // and its place
} InterpSeg;

// Several workers in lockstep, of which this is one.
typedef struct InterpWorkers {
  int rank, count;
  // Says something to all; what each says, in the order of ranks.  False: one of them has failed.
  bool (*exchange)(void *state, const char *message, size_t length, char **messages);
  void *state;
} InterpWorkers;

// How guards are decided in Flat (ignored in Core).
typedef struct InterpOptions {
  // Forced outcome of a guard or choose: 1 first branch, 0 second, -1 by its threshold; NULL: all
  // -1.
  int (*decide)(void *state, const Exp *exp, int64_t par);
  // Is told of splits that one worker meets, who has all whatever they ask for; or NULL.
  void (*meet_split)(void *state, const Exp *split, int64_t par);
  void *state;
  int64_t max_steps;  // 0: no limit; else the run fails with "step limit reached"
  // Who runs seg-ops of the host, and is told of them before, in order, as of all statements there;
  // NULL: the interpreter.
  bool (*run_seg)(void *state, InterpSeg *seg);  // false: it failed
  // Adds what running it takes to what it mentions.
  void (*meet_seg)(void *state, const Stm *stm, VarVec *mentioned);
  void (*meet_stm)(void *state, const Stm *stm);
  void *seg_state;
  const InterpWorkers *workers;  // NULL: one worker, who has all
  bool trace;                    // show traced values on standard error
} InterpOptions;

typedef struct InterpResult {
  bool ok;
  const char *message;   // if not ok: "Index [5] out of bounds for array of shape [3]"
  Loc loc;               // ... and where
  const Value **values;  // the entry's results, leaves in order
  int value_count;
} InterpResult;

// Whether there is anything in the program that `trace` or `break` shows.
bool interp_shows_values(const Core *core);
// Runs an entry point on the leaves of its source parameters (not the sizes, which are bound and
// checked here).  Types must agree with the entry's (value_check_input).
InterpResult interp_run(Compiler *c, const Core *core, const Entry *entry,
                        const Value *const *inputs, InterpOptions options);
