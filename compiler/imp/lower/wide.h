// Reductions and scans of level 1 on GPUs, where the items of a group work on a segment together
// (or on several short ones): neighbouring items read neighbouring elements, and what they have is
// combined in local memory.  (docs/opencl.md, "Profiles"; barriers as group.h says.)
#pragma once
#include "imp/lower/tree.h"

// What a kernel works on.  The operators, `reds` values in all, come from `seg`.
typedef struct Wide {
  Code *host;
  const SegOp *seg;
  int reds;
  const ImpExp *segments, *width;     // on the host
  const ImpExp *chunks, *chunk_size;  // a group each; per segment
  const ImpExp *group_size;
  const Arr *const *from;  // [segments][width] per value; NULL: the seg-op's body
  const Arr *const *out;   // reductions: [segments][chunks]; scans: [segments][width]
  const Arr *const
      *before;  // scans of chunks: inclusive sums [segments][chunks], or NULL
  const Arr *const *mapped;  // places of the body's other results, or NULL: left out
  // Scans with SegOp.after: where what it makes of the points goes, instead of `out`; else NULL.
  const Arr *const *made;
  const Layouts *layouts;
} Wide;

// A kernel under construction.
typedef struct WideKernel {
  const Wide *w;
  KernelCode *kernel;
  Code *k;
  const ImpExp *item;             // number within the group
  const ImpExp *size, *steps;     // of the group; so many doublings of 1 reach it
  const ImpExp *segment, *chunk;  // of the group, or of the item
  const ImpExp *start, *length;   // the chunk
  const Mem **parts;              // local: a value per item
  const Mem **staged;             // local: `each` elements per item
  int64_t each;
} WideKernel;

// The seg-op's own widths; group sizes and steps.
Wide wide_new(Code *host, const SegOp *seg, const char *what);
// Cuts segments into chunks of which each is worth a group, of a multiple of so many elements.
void wide_chunks(Wide *w, const char *what, const ImpExp *multiple);
// How many elements an item has when they are staged.
int64_t wide_each(const Wide *w);

WideKernel wide_begin(const Wide *w);
// The group works on chunk `number % chunks` of segment `number / chunks`.
void wide_open_chunk(WideKernel *s, const ImpExp *number);
// Launches it with `groups` groups.
void wide_end(WideKernel *s, const char *name, const ImpExp *groups);

// Local memory for `count` values of each kind.
const Mem **wide_local(WideKernel *s, const char *name, const ImpExp *count);
void wide_barrier(WideKernel *s);

// The values of element `at` of the segment, computed or loaded.
void wide_element(const WideKernel *s, Code *k, const ImpExp *at, const ImpExp **values);
const ImpExp *const *wide_loads(const WideKernel *s, const Mem *const *mems,
                                const ImpExp *at);
void wide_store(const WideKernel *s, ImpBuilder *b, const Mem *const *mems,
                const ImpExp *at, const ImpExp *const *values);
const ImpExp *const *wide_neutral(const Wide *w);

// acc = values, to which further ones can be applied; to be used once in a block.
Accs wide_accs(const WideKernel *s, Code *k, const ImpExp *const *values);

// acc = op acc values, which wide_element gave.
void wide_add_element(const WideKernel *s, Code *k, Accs accs,
                      const ImpExp *const *values);

// An empty block, to be put under a condition; that of the group's first item.
ImpBuilder wide_block(const Code *k);
void wide_by_first(const WideKernel *s, Code *k, const ImpBuilder *block);
// for i < bound { block }, i a variable of the kernel
const ImpExp *wide_open_loop(Code *k, Code *inner, ImpBuilder *b, const Var **i);
void wide_close_loop(Code *k, const ImpBuilder *b, const Var *i, const ImpExp *bound);

// Rounds of group_size * each elements of the chunk, from `first` on, staged in order: element
// number j of them at staged[j]; neutral elements beyond the end.
const ImpExp *wide_rounds(const WideKernel *s);
void wide_stage(WideKernel *s, Code *k, const ImpExp *first);

// parts[item] = op over the item's piece of what is staged
void wide_sum_piece(WideKernel *s, Code *k);

Parts wide_parts(const WideKernel *s);

// The item's piece of what is staged becomes sums of all before and with each element; `sums`:
// where in the parts the item's scanned sum is.  Then from local memory to the segment, `first`
// elements into the chunk.
void wide_scan_piece(WideKernel *s, Code *k, const Mem *const *carry, const ImpExp *sums);
void wide_write_out(WideKernel *s, Code *k, const ImpExp *first);
// Scans the segments, each in w->chunks chunks of a round each, in one kernel.  Declared on the
// host: states (i32) and, by value, room for sums of chunks and of all up to them.
void wide_scan_by_look_back(const Wide *w, const Mem *states,
                            const Mem *const *chunk_sums, const Mem *const *sums);

// out[segment][chunk] = op over the chunk
void wide_reduce(const Wide *w, const char *name);
// [segments][count] in the memory of each value
const Arr *const *wide_rows(const Wide *w, const Mem *const *mems, const ImpExp *count);
// The same as they lie for columns: [count][segments] in memory.
const Arr *const *wide_turned_rows(const Wide *w, const Mem *const *mems,
                                   const ImpExp *count);
// The same Wide for a block of the host's code, which `host` then writes to.
Wide wide_within(const Wide *w, Code *host, ImpBuilder *b);

// How segments are reduced several to a group: by the host, from their widths.
typedef struct ShortSegments {
  const ImpExp *items, *steps;  // 2^steps items to a segment
  const ImpExp *fit;            // do several fit a group?
} ShortSegments;
ShortSegments wide_short_segments(const Wide *w);
// So many elements to an item, but one as long as that leaves a device without work.
const ImpExp *wide_elements_each(const Wide *w);
void wide_reduce_short(const Wide *w, ShortSegments of);

// How sums and scans of columns are made (wide_columns.c): by the host.
typedef struct ColumnTiles {
  const ImpExp *columns, *lanes, *steps;  // of a group; 2^steps reaches the lanes
  const ImpExp *tiles;                    // so many groups have all columns
} ColumnTiles;
// Do neighbours in the last dimension but one read neighbouring words, and those in the last not?
bool wide_has_columns(Code *host, const Stm *stm);
// Sets the chunks, too.  sums: columns are reduced, so short ones may go many to a group.
ColumnTiles wide_columns(Wide *w, const char *what, bool sums);
void wide_reduce_columns(const Wide *w, ColumnTiles of, const char *name);
// To w->mapped, by the indices of the space, or, if that is NULL, to w->out.
void wide_scan_columns(const Wide *w, ColumnTiles of, const char *name);

// Scans of short segments, several to a group, an element to an item.
typedef struct Short {
  const ImpExp *width, *per_group, *groups, *steps;  // on the host; the width at least 1
  const ImpExp *position;                            // of the item in its segment
  const ImpExp
      *active;  // has the item a segment?  Not to be kept in a variable across barriers
} Short;
// Are segments so short that several fit a group?
const ImpExp *wide_is_short(const Wide *w);
Short wide_short(const Wide *w);
// The item's segment, and its value (or the neutral one) in parts.
void wide_open_short(WideKernel *s, Short *segments);
