// check c; ..; check c   =>   check c; ..          axis a < n { check n != 0 }   =>   axis a < n
// { }
//
// Why: a check in a loop is a branch per round, and per vector.
#include "kern/plan.h"

typedef struct Facts Facts;
struct Facts {
  const Facts *outer;
  const Term *holds;
};

static const Facts *with_fact(const Facts *outer, const Term *holds) {
  return new_node(Facts, .outer = outer, .holds = holds);
}

static bool is_known(const Facts *facts, const Term *condition) {
  for (; facts; facts = facts->outer)
    if (term_same(facts->holds, condition)) return true;
  return term_is_bool(condition, true);
}

// Within an axis there is a point, so its width is not 0.
static const Facts *facts_within(const Facts *facts, const KernStm *stm) {
  if (stm->kind != KERN_AXIS) return facts;
  return with_fact(facts, term_op2(OP_NE, stm->u.axis->width, term_i64(0)));
}

typedef struct Dropping {
  KernMapper mapper;
  const Facts *facts;  // around
} Dropping;

static const KernBlock *drop_known(KernMapper *m, const KernBlock *block) {
  Dropping *known = m->state;
  const Facts *around = known->facts, *facts = around;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool checks = stm->kind == KERN_CHECK;
    b.loc = stm->loc;
    if (checks && is_known(facts, stm->u.check.condition)) continue;
    known->facts = facts_within(facts, stm);
    kern_add(&b, kern_map_stm(m, stm));
    if (checks) facts = with_fact(facts, stm->u.check.condition);
  }
  known->facts = around;
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_drop_known_checks(Compiler *c, const Kern *kern) {
  Dropping known = { .mapper = { .c = c, .block = drop_known } };
  known.mapper.state = &known;
  return new_node(Kern, .name = kern->name, .loc = kern->loc,
                  .body = drop_known(&known.mapper, kern->body),
                  .outside = kern->outside);
}
