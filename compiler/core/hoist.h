// Facts about a program that hoist.c asks for.
#pragma once
#include "core/core.h"

typedef struct HoistFacts {
  Map *kept;     // Var: arrays that are written in place, or handed on to who may do so
  Map *sizes;    // Var: i64 that cannot be negative wherever they are in scope
  Map *sources;  // Var -> Var: what a view shows
  Map *scalars;  // Var -> Exp: what a scalar is
  Map *parts;    // Var: scalars that sizes are computed from
} HoistFacts;

// Of the body of a function or entry point.
HoistFacts *hoist_facts(const Body *body);

// The dims of an array that exists are no negative numbers, and what is computed from such.
void hoist_note_sizes(HoistFacts *f, CoreType type);
void hoist_note_size_op(HoistFacts *f, const Stm *stm);

// Whether running the expression where the program would not have done so can be noticed: it
// fails, or never ends.  Says nothing of its inner bodies.
bool hoist_may_fail(const HoistFacts *f, const Exp *e);

// Sizes of arrays and widths of parallel operations depend on what the statement computes.
bool hoist_sizes_need(const HoistFacts *f, const Stm *stm);

// The statement makes an array that is written in place: once outside, it would have to be copied
// in every iteration.
bool hoist_is_kept(const HoistFacts *f, const Stm *stm);
