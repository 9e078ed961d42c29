// The interpreter of kernels: axes in order, points one by one, without vectors.  It says what the
// steps of a recipe have made of a kernel, and is compared with the interpreter of Flat.
#pragma once
#include "core/interp/interp.h"
#include "kern/plan.h"

typedef struct KernRunner KernRunner;

// Runs the seg-ops of an entry point as kernels, by these recipes (or NULL) where they name them.
// PROFILE_GPU: by groups of items those for which there are such schedules, however few points
// they have.
KernRunner *kern_runner(Compiler *c, const Entry *entry, RecipeBook *book,
                        Profile profile);
// To be the options of interp_run.
void kern_run_segs(KernRunner *runner, InterpOptions *options);
