// The state of kern_cost.c and what its files share: costs of terms and accesses (cost_terms.c).
#pragma once
#include "kern/cost/kern_cost.h"

// Cycles, on a processor with vectors of so many bytes.
#define VECTOR_BYTES  64.0
#define SCALAR_OP     0.5
#define VECTOR_OP     0.6
#define SCALAR_ACCESS 0.5
#define VECTOR_ACCESS 1.0
#define LANE_ACCESS   1.5
#define NO_BIN        10.0  // no processor foresees whether a bin is none
#define SCALAR_WHOLE  3.0  // of a float: it is compared with what whole numbers there are

typedef struct Cost {
  const CostGuess *guess;
  const Vary *vary;
  int lanes;      // of the open lane axis
  bool masked;    // some lanes do not take part, in most vectors
  bool in_place;  // blocks end with a bound: no point may run twice
  bool
      bounded;  // some lanes are behind the end of a block, or done with a loop: what goes lane
                // by lane asks each of them
  bool in_loop;    // and not on the grid alone
  bool aligned;    // of rounds that lanes meet in (steps/align.c)
  bool in_stream;  // of loops in order the innermost
  bool has_grid;
  bool among_loops;   // a point of the grid has several, one after the other
  bool at_edge;       // some lanes do not take part in a vector of the loop
  double copies[16];  // of open register axes, by bit
  AxisSet open;
  Map *values;       // Var -> const double *: what sizes and indices may be
  const Map *usual;  // Kern.usual
  // Var -> const double *: cycles of a load with others; or KernStm: a store with others
  Map *beside;
  Map *by_index;  // Var: bools that indices decide, for most vectors alike in all lanes
  double times;   // that this code runs
  Map *of_axes;   // Name -> double *: what axes cost; or NULL
  double cycles;
  KernCount *count;  // of a kernel without lanes and registers; or NULL
  Map *counted;      // root tensors, whose bytes are counted
} Cost;

// ---- sizes

void cost_put(Cost *s, const Var *var, double value);
// What an i64 may be; variables that nothing is known of are as large as the guess says.
double cost_value(const Cost *s, const Term *t);
// Is it as large as others of which nothing is known, but not the same as they?
bool cost_stays_unknown(const Cost *s, const Term *t);
// Is there an axis or a while loop in it?
bool cost_has_loop(const KernBlock *block);
// Rounds of an axis.
double cost_trips(const Cost *s, const Axis *axis);
// Takes the sizes of the grid to be those of the guess; without a grid that is what is reduced,
// scanned or counted of loops, as these may be short where that is not.
void cost_guess_sizes(Cost *s);

// ---- what runs once for several points

AxisSet cost_set(const Cost *s, const Term *t);
AxisSet cost_access_set(const Cost *s, const Access *access);
bool cost_over_lanes(const Cost *s, AxisSet set);
double cost_copies(const Cost *s, AxisSet set);     // in registers
int cost_bit(AxisSet bit);                          // its number
double cost_vectors(const Cost *s, PrimType type);  // that a value of all lanes fills

// ---- cycles

void cost_add(Cost *s, double cycles);  // each time that this code runs
void cost_term(Cost *s, const Term *t);
// A load, or a store of what differs over `value`.
void cost_access(Cost *s, const Access *access, AxisSet value, bool load);
// Is it an integer operation with a constant above 0 behind?
bool cost_by_constant(const Term *t);
// Notes its bytes, of a kernel that is counted.
void cost_count_access(const Cost *s, const Access *access, bool stores);
bool cost_is_affine(const Cost *s, const Access *access);
// Are the lanes neighbours in memory, or each lane's own elements side by side?
bool cost_vector_access(const Cost *s, const Access *access);
// How many elements the lanes are apart, if so few that neighbours are loaded and picked from;
// else 0.
int64_t cost_few_apart(const Cost *s, const Access *access);
// Cycles of so many loads that pick from the same vectors.
double cost_apart(const Cost *s, const Access *access, int64_t apart, int loads);
// Operations that the device's compiler makes of a vector of such numbers: of every fourth byte
// those of halves and quarters of vectors.
double cost_wide_picks(const Access *access, int64_t apart);

// vectorised.c: would the device's compiler run the axis of lanes in vectors?  `one_width`: nor may
// work on numbers of fewer bytes be much.
bool cost_is_plain(const KernStm *axis, const Vary *vary, bool one_width);
// Cycles of those picks for a vector, where that compiler runs the axis in vectors.
double cost_picks(const KernStm *axis);
