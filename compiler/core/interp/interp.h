// The interpreter of Core and Flat: the oracle of all tests.  Real arrays, exact integer and IEEE
// arithmetic (base/prim.c), run-time errors with positions.
#pragma once
#include "core/core.h"
#include "core/value/value.h"

// How guards are decided in Flat (ignored in Core).
typedef struct InterpOptions {
  // Forced outcome of a guard or choose: 1 first branch, 0 second, -1 by its threshold; NULL: all
  // -1.
  int (*decide)(void *state, const Exp *exp, int64_t par);
  void *state;
  int64_t max_steps;  // 0: no limit; else the run fails with "step limit reached"
} InterpOptions;

typedef struct InterpResult {
  bool ok;
  const char *message;   // if not ok: "index 5 out of bounds for array of shape [3]"
  Loc loc;               // ... and where
  const Value **values;  // the entry's results, leaves in order
  int value_count;
} InterpResult;

// Runs an entry point on the leaves of its source parameters (not the sizes, which are bound and
// checked here).  Types must agree with the entry's (value_check_input).
InterpResult interp_run(Compiler *c, const Core *core, const Entry *entry,
                        const Value *const *inputs, InterpOptions options);
