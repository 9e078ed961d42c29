// IMP_LANES statements as vector code (emit_lanes.c, c_lanes.c).
#pragma once
#include "emit/emit.h"

// The statement under construction.
struct LaneCode {
  CodeText *c;
  const ImpStm *stm;
  const LaneInfo *info;
  int row, vector;   // the copy that is written, for what depends on rows and lanes
  const char *mask;  // an int16, -1 for the lanes that take part, at least one; NULL: all
  const char *full;  // do all lanes take part?  with `mask` only
  int depth;         // of divergent control
};

// The expression as a vector.  May write statements before the one that it is meant for.
const char *lane_exp(LaneCode *l, const ImpExp *e);
const char *lane_type(PrimType type);         // "float16"; "int16" for a bool
const char *lane_memory_type(PrimType type);  // "uchar16" for a bool
const char *lane_to_memory(PrimType type, const char *value);
const char *lane_temporary(LaneCode *l, const char *type, const char *name,
                           const char *value);
// a where the mask is set, else b; all vectors.
const char *lane_choose(PrimType type, const char *mask, const char *a, const char *b);
char lane_digit(int lane);  // as in v.sf
// (type)(<before>0<after>, .., <before>f<after>)
const char *lane_list(const char *type, const char *before, const char *after);

// Indices: where neighbours begin, in the copy of l->vector.
const char *lane_base(LaneCode *l, Affine a);
bool lane_is_step(Affine a, int64_t step);
// A long16 of indices, 0 for lanes that are masked out.  own: in an array of each lane.
const char *lane_positions(LaneCode *l, const ImpExp *index, bool own);
const char *lane_pointer(LaneCode *l, const Mem *mem);  // to single elements
// Element `index` of each lane's own array.
const char *lane_own_element(LaneCode *l, const Mem *mem, const ImpExp *index);
