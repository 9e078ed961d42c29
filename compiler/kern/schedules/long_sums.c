// axis n: i < n reduce { .. }  =>  axis n: i < n many reduce { .. }
//
// Sums of many points that the device's compiler runs in vectors: it is asked for several vectors
// at once.  Why: an accumulator waits for itself, and a loop of a few instructions for its jump.
// Not so rows of which nothing is known, where few points would fill no such block.
#include "kern/cost/kern_cost.h"
#include "kern/schedules/rewrites.h"

enum {
  MANY = 512,      // points, of which what four vectors leave is little
  MOST_STMS = 16,  // of a point,
  MOST_SUMS = 4,   // and its accumulators, that leave registers for so many of them
};

typedef struct LongSums {
  KernMapper mapper;
  bool rows;        // may be short
  int grid, loops;  // axes around, and whiles
} LongSums;

static bool is_long_sum(const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  bool few = axis->rest ||
             (axis->width->kind == TERM_CONST && axis->width->u.constant.u.i < MANY);
  return axis->role == AXIS_REDUCE && axis->bind == BIND_SEQ && !few &&
         axis->body->count <= MOST_STMS && kern_sum_count(axis) <= MOST_SUMS &&
         kern_vectorises_itself(stm);
}

static KernStm of_many(KernStm stm) {
  Axis *axis = mem_copy(stm.u.axis, sizeof *axis);
  axis->many = true;
  stm.u.axis = axis;
  return stm;
}

static bool may_be_short(const LongSums *s, const Axis *axis) {
  return (s->loops || (s->rows && s->grid)) && axis->width->kind != TERM_CONST;
}

static void add_with_long_sums(LongSums *s, KernBuilder *b, const KernStm *stm, bool grid,
                               bool loop) {
  s->grid += grid;
  s->loops += loop;
  kern_add(b, kern_map_stm(&s->mapper, stm));
  s->grid -= grid;
  s->loops -= loop;
}

static const KernBlock *long_block(KernMapper *m, const KernBlock *block) {
  LongSums *s = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool grid = stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_GRID;
    bool loop = stm->kind == KERN_WHILE || (stm->kind == KERN_AXIS && !grid);
    b.loc = stm->loc;
    if (kern_is_lock(stm))
      kern_add(&b, *stm);
    else if (stm->kind == KERN_AXIS && is_long_sum(stm) && !may_be_short(s, stm->u.axis))
      kern_add(&b, of_many(*stm));
    else
      add_with_long_sums(s, &b, stm, grid, loop);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_long_sums(Compiler *c, const Kern *kern, bool rows) {
  LongSums s = { .mapper = { .c = c, .block = long_block }, .rows = rows };
  s.mapper.state = &s;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = long_block(&s.mapper, kern->body);
  return out;
}
