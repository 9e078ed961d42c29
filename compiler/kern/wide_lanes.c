// axis a < 128 lane { body }   =>   axis a < 128 { body }, whose points are independent
//
// Lanes that are more than a vector of OpenCL has: at the end of a recipe such an axis becomes a
// loop, of which the device's own compiler makes vectors.  Why: it has 64 lanes of bytes, 32 of 16
// bits, and masks that are bits, where OpenCL's vectors end at 16.
#include "kern/wide_lanes.h"
#include "kern/kern_vary.h"

bool kern_is_wide(const Axis *axis) {
  return axis->bind == BIND_LANE && axis->width->kind == TERM_CONST &&
         axis->width->u.constant.u.i > MOST_LANES;
}

static const KernBlock *looped_block(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (stm.kind == KERN_AXIS && kern_is_wide(stm.u.axis)) {
      Axis *axis = mem_copy(stm.u.axis, sizeof(Axis));
      axis->bind = BIND_SEQ;
      stm.u.axis = axis;
    }
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_wide_lanes_as_loops(Compiler *c, const Kern *kern) {
  KernMapper m = { .c = c, .block = looped_block };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = looped_block(&m, kern->body);
  return out;
}
