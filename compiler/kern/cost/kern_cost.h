// What a kernel costs on one core, roughly: cycles for all of its points, by counting operations,
// accesses and rounds.  Made to compare schedules of the same kernel, not to foretell times.
#pragma once
#include "kern/kern_vary.h"

// What sizes are taken to be that the kernel does not tell.
typedef struct CostGuess {
  const Kern *naive;  // the kernel before its recipe: what is a grid there
  double points;      // has so many points in each dimension
  double trips;       // other sizes
  const Var *length;  // but for this one, the length of a chunk; or NULL
  bool in_place;      // `naive` reads what it overwrites (kern_updates_in_place)
  const Var *few;     // a size that is too small for vectors; or NULL
} CostGuess;
enum {
  CHUNK_TRIPS = 4000,  // what chunks are taken to have
  FEW_TRIPS = 6,       // .. and what is too small for vectors
};

double kern_cost(const Kern *kern, const CostGuess *guess);
// Does a condition of a recipe hold if sizes are what the guess says?
bool kern_holds(const CostGuess *guess, const Term *condition);
// What is done, however it is done, at all points.
typedef struct KernCount {
  double operations;
  double least;          // cycles that these take in full vectors
  double read, written;  // bytes, as often as they are
  double arrays;         // bytes of the arrays that are touched
} KernCount;
KernCount kern_count(const Kern *naive, const CostGuess *guess);

// The same, and what each axis has of it: Name -> const double *.
typedef struct KernCosts {
  double all;
  const Map *of_axes;
} KernCosts;
const KernCosts *kern_costs(const Kern *kern, const CostGuess *guess);

// Does what a round of a loop reads decide where the next one reads? (waits.c)
bool kern_searches(const Var *const *params, int count, const KernBlock *body);

// Likewise, if all rounds do is to go where the one before has read: tables of automata, checksums.
bool kern_follows_reads(const Var *const *params, int count, const KernBlock *body);

// Does each point try the same numbers until one fits, in a loop that differs between lanes?
// (waits.c)
bool kern_tries(const Vary *vary, const KernStm *stm);

// Cycles that a round of a loop waits for the one before, at least: from the values that it takes
// over to those that it hands on.  Not exact if there are `enough`.
double kern_round_latency(const Var *const *params, int count, const KernBlock *body,
                          bool lanes, double enough);
// Would the device's own compiler run the axis in vectors?  (Straight code on neighbouring
// elements, operators of one instruction; vectorised.c.)
bool kern_vectorises_itself(const KernStm *axis);
// The same of lanes that become a loop (kern/wide_lanes.h).
bool kern_lanes_are_plain(const KernStm *axis);
