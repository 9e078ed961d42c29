// A private folder for temporary files, which is gone when the work is done, however it
// ends.
#pragma once
#include "base/diag.h"

// Runs `work` in a process of its own and returns its exit status, or ends as it has
// ended.  Signals go to the work; the folder is removed in any case.  1, after an error, if
// there is no folder.
int scratch_run(Compiler *c, int (*work)(void *state, const char *folder), void *state);
