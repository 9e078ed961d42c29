// Flat -> Flat for GPUs: seg-ops over other spaces (spread_rows.c, lone_groups.c, points_first.c,
// row_hists.c, turned_spaces.c, moved_arrays.c, joined_spaces.c, small_arrays.c).
#pragma once
#include "flat/flat.h"

// Adds the seg-op at `position` of the body, or what takes its place, to the builder.
typedef void SpaceRule(void *state, Builder *b, const Body *body, int position);

// The program with the rule applied to all maps of level 1.
const Core *flat_rewrite_maps(Compiler *c, const Core *flat, SpaceRule *rule,
                              void *state);

// The same for all seg-ops of level 1.
const Core *flat_rewrite_segs(Compiler *c, const Core *flat, SpaceRule *rule,
                              void *state);

// Is there a loop, or an operation on arrays that is one?
bool flat_has_loops(const Body *body);

// Does a seg-op stand in it?
bool flat_has_inner_seg(const SegOp *seg);

// segmap <i < n> {i}
bool flat_makes_iota(const Exp *exp);

// May the body fail, but for arrays of negative sizes?  Those are spaces of negative widths, too.
bool flat_may_fail(const Body *body);

// The size, or 1 if that is more: to divide by in a space of it.
Atom flat_divisor(Builder *b, Atom size);
