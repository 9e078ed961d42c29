// Reproducible random values: recipe SM (a counter-based generator), for `flc data` and `flc test`.
#pragma once
#include "core/value/value.h"

// Ranges of the random numbers of each type; what has none takes the default: floats from
// [0, 1), integers and bool from all their values.
typedef struct GenerateBounds {
  bool has[PRIM_COUNT];
  Prim low[PRIM_COUNT], high[PRIM_COUNT];
} GenerateBounds;

// Is there a number in the range?
bool generate_bounds_ok(const GenerateBounds *bounds, PrimType type);

// A random value of the type that `text` writes ("[100][3]f32"), or the value that it writes
// ("10i64").  NULL and a message if it is neither.
const Value *generate_value(const char *text, uint64_t seed, const GenerateBounds *bounds,
                            const char **message);

// Is the text a type with literal sizes?
bool generate_is_type(const char *text);
