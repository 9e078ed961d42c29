// The passes that build Core and stay in it: program in, program out.  The order, and why, is in
// pipeline.c.
#pragma once
#include "core/core.h"
#include "types/types.h"

// Typed tree -> Core, by evaluating the static part of the program (docs/how-it-works.md).  NULL
// after errors.
const Core *elaborate(Compiler *c, const CheckedProgram *program);

const Core *simplify(Compiler *c, const Core *core);  // folding, copies, algebra, dead code
const Core *cse(Compiler *c, const Core *core);       // common subexpressions
const Body *cse_body(Compiler *c, const Body *body);
const Core *hoist(Compiler *c, const Core *core);     // invariants out of loops and SOACs
// Sums and loops out of branches whose conditions are invariants, too.
const Core *hoist_guarded(Compiler *c, const Core *core);
// Elements of concats, as those of what is put together.
const Core *joined_reads(Compiler *c, const Core *core);
// Arrays that are read only where they have been stored to are not filled before.
const Core *stored_places(Compiler *c, const Core *core);
// Places of scatters that maps compute by a rule, as iotas.
const Core *even_places(Compiler *c, const Core *core);
// Reductions and scans of small arrays, as those of their elements.
const Core *scalar_operands(Compiler *c, const Core *core);
// Small arrays that a function makes and a reduction combines element by element, as scalars.
const Core *small_rows(Compiler *c, const Core *core);
const Core *round_sums(Compiler *c, const Core *core);  // sums of outer products, out of loops
// What an inner operator computes again for each element of an outer one, as a map before that.
const Core *split_off(Compiler *c, const Core *core);
const Core *flat_places(Compiler *c, const Core *core);  // pairs of indices in one dimension
const Core *fuse(Compiler *c, const Core *core);      // map-map, map-reduce, map-scan, horizontal
// What loops load at places that they carry, as what they carry.
const Core *carry_loads(Compiler *c, const Core *core);
// Likewise what operators load at places that they combine.
const Core *carry_operands(Compiler *c, const Core *core);
// Loops whose rounds are maps, as maps of loops.
const Core *loops_to_maps(Compiler *c, const Core *core);
// Loops on the host that only sum up whole numbers, as reductions, where they are long.
const Core *loop_sums(Compiler *c, const Core *core);
const Core *parted_hists(Compiler *c, const Core *core);  // of arrays that are put together
const Core *flat_sums(Compiler *c, const Core *core);  // sums of flattened arrays, row by row
const Core *columns(Compiler *c, const Core *core);   // summands in the order of their sum
const Core *products(Compiler *c, const Core *core);  // elements of outer products, again
const Core *dead(Compiler *c, const Core *core);      // statements and loop results never used
const Body *dead_body(Compiler *c, const Body *body);
// With --reproducible: what combines floats as loops over fixed blocks.
const Core *fix_order(Compiler *c, const Core *core);
