// Vector expressions and stores of kernels, as OpenCL C (c_vector.c, vector_helpers.c).
//
// A vector of bools is one of ints, 0 and -1, whatever was compared; in memory it is one of bytes.
#pragma once
#include "emit/emit.h"

// The expression as a vector.  May write statements before the one that it is meant for.
const char *vector_exp(CodeText *c, const ImpExp *e);
const char *vector_type(PrimType type, int lanes);         // "float16"; "int16" for bools
const char *vector_memory_type(PrimType type, int lanes);  // "uchar16" for bools
void vector_store(CodeText *c, const ImpStm *stm);
void vector_check(CodeText *c, const ImpStm *stm);
const char *vector_temporary(CodeText *c, const char *type, const char *name,
                             const char *value);
char vector_digit(int lane);  // as in v.sf

// ---- functions that a kernel's text begins with if it calls them; each returns its name

// Where an array lies, for the type of pointers to it.
typedef struct VectorPlace {
  const char *space;  // "__global "
  char letter;        // 'g': for the function's name
} VectorPlace;
VectorPlace vector_place(const Mem *mem);

// The text of a helper under construction, which ends where the next one begins, if it is fresh.
Text *helper_begin(CodeText *c, const char *name, bool *fresh);
const char *helper_memory_name(const char *what, const Mem *mem,
                               int lanes);   // flc_<what>_f32_16g
const char *helper_pointer(const Mem *mem);  // as a parameter: __global float *p

const char *helper_load(CodeText *c, const Mem *mem, int lanes);  // of neighbours
const char *helper_store(CodeText *c, const Mem *mem, int lanes);
// A type of vectors that lie anywhere.
const char *helper_unaligned(CodeText *c, const Mem *mem, int lanes);
// (p, indices); few: as i32, for elements of 4 bytes at least
const char *helper_gather(CodeText *c, const Mem *mem, int lanes, bool few);
const char *helper_strided(CodeText *c, const Mem *mem, int run, int lanes);  // (p, step)
const char *helper_scatter(CodeText *c, const Mem *mem, int lanes,
                           bool masked);  // (p, indices, values, mask)
// The lanes of the mask side by side: (p, values, mask); over: what lies behind may change.
const char *helper_pack(CodeText *c, const Mem *mem, int lanes, bool over);
const char *helper_permute(CodeText *c, const ImpExp *e);
const char *helper_spread(CodeText *c, const Mem *mem, int run,
                          int lanes);  // (p, step, values)
const char *helper_store_some(CodeText *c, const Mem *mem,
                              int lanes);  // (p, values, mask)
const char *helper_each(CodeText *c, const char *function,
                        const ImpExp *e);  // a scalar function in each lane
const char *helper_divide(
    CodeText *c, const char *function,
    const ImpExp *e);  // integers of up to 32 bits, all lanes at once
// The bits that are set, as int.
const char *helper_popc(CodeText *c, PrimType type, int lanes);
const char *helper_round(CodeText *c, PrimType type, int lanes);
const char *helper_to_int(CodeText *c, PrimType from, PrimType to, int lanes);
const char *helper_from_i64(CodeText *c, PrimType to, int lanes);
const char *helper_half(CodeText *c, PrimType to,
                        int lanes);  // (values), between f16 and f32
const char *helper_pick(CodeText *c, PrimType type, int lanes);  // (values, lane)
const char *helper_most(CodeText *c, int lanes);                 // (longs)
const char *helper_bits(CodeText *c);  // (mask of 16), as uint, where FLC_HAS_COMPRESS
const char *helper_count(CodeText *c, int lanes);  // (mask), as long
const char *helper_any(CodeText *c, int lanes);    // (mask)
const char *helper_all(CodeText *c, int lanes);    // (mask)
const char *helper_first(CodeText *c, int lanes);  // (mask): the first lane that holds
const char *helper_iota(CodeText *c, PrimType type, int lanes);  // a constant
