// CUDA whose calls fail on demand, and an account of its objects (standin.c).
#pragma once
#include <stdbool.h>

// Forgets the count of calls, and lets call number `at` (from 1; 0: none) return `status`; with
// `and_later` every later call, too, as when a device is lost.  Releases always work.
void standin_plan(long at, int status, bool and_later);
// The calls since, and whether the planned one was among them.
long standin_calls(void);
bool standin_happened(void);
// Objects that have not been given back.
int standin_alive(void);
// Calls that no right program makes: wrong handles, no current context, too much of something.
int standin_misuses(void);
// Contexts that this thread has pushed and not popped.
int standin_depth(void);
