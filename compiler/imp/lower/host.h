// Statements of the host's code, and what they share (host.c).
#pragma once
#include "imp/lower/lower.h"

// The array row-major from the start of its block on; a copy if it does not lie so.
Arr host_dense(Code *k, const Arr *arr, CoreType type);

// The value of `a` as `var` is to lie: dense, or with room for rows of others.
Arr host_lying(Code *k, const Var *var, Atom a, const Arr *arr);

// Releases the reference, once.
void host_release(Code *k, const Mem *mem);

// For map_each over what a Code owns, at the end of a branch or of a round of a loop.
void host_release_all(void *state, const void *key, void *value);

// ---- branches and loops (host_control.c); `position` is that of the statement in the body

void host_stm_if(Code *k, const Stm *stm, const Body *body, int position);
void host_stm_guard(Code *k, const Stm *stm, const Body *body, int position);
void host_stm_loop(Code *k, const Stm *stm, const Body *body, int position);

// ---- several workers (host_workers.c)

void host_stm_split(Code *k, const Stm *stm);
void host_stm_gather(Code *k, const Stm *stm);
void host_stm_border(Code *k, const Stm *stm, const Body *body, int position);
void host_stm_fetch(Code *k, const Stm *stm);
void host_stm_deliver(Code *k, const Stm *stm);
