// An interpreter for each of several workers: processes that tell each other what they move.
#pragma once
#include "core/interp/interp.h"

// Runs the entry point as so many workers; the result of the first one, which must be that of all.
InterpResult interp_run_workers(Compiler *c, const Core *core, const Entry *entry,
                                const Value *const *inputs, InterpOptions options,
                                int count);
