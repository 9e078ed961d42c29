// if c { lets; x = while p (p = q) {..}; lets in a } else { lets in b }
//   =>   lets; x = while p (p = c && q) {..}; lets; select c a b
//
// Why: points whose simple cases go another way (k < 2 is no prime) have one loop then, as the
// others, with a mask for each vector: two or four of them go through it side by side.
#include "kern/tidy/tidy.h"

enum { MOST_LETS = 12 };  // around the loop; they run where nobody needs them

// Is it a loop, or a few, with cheap lets around?
static bool has_whiles_alone(const KernBlock *block) {
  int whiles = 0, lets = 0;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_WHILE)
      whiles++;
    else if (stm->kind == KERN_LET && term_is_cheap(stm->u.term))
      lets++;
    else
      return false;
  }
  return whiles && lets <= MOST_LETS;
}

static bool has_cheap_lets(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind != KERN_LET || !term_is_cheap(block->stms[i].u.term))
      return false;
  return block->count <= MOST_LETS;
}

static void add_guarded(KernBuilder *b, const KernStm *loop, const Term *condition) {
  KernStm guarded = *loop;
  int count = loop->u.loop.param_count, which = loop->u.loop.which;
  const Term **inits = mem_copy(loop->u.loop.inits, sizeof *inits * (size_t)count);
  inits[which] = kern_let(b, "begins", term_and(condition, inits[which]));
  guarded.u.loop.inits = inits;
  kern_add(b, guarded);
}

static void add_block(KernBuilder *b, const KernBlock *block, const Term *condition) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_WHILE)
      add_guarded(b, &block->stms[i], condition);
    else
      kern_add(b, block->stms[i]);
}

static bool add_one_while(KernBuilder *b, const KernStm *stm) {
  if (stm->kind != KERN_IF) return false;
  const KernBlock *yes = stm->u.cond.then_block, *no = stm->u.cond.else_block;
  const Term *condition = stm->u.cond.condition;
  bool loops = has_whiles_alone(yes) && has_cheap_lets(no);
  if (!loops && !(has_whiles_alone(no) && has_cheap_lets(yes))) return false;
  add_block(b, yes, condition);
  add_block(b, no, term_op1(OP_NOT, condition));
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i],
                 term_select(condition, yes->results[i], no->results[i]));
  return true;
}

static const KernBlock *guard_in(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm mapped = kern_map_stm(m, &block->stms[i]);
    b.loc = block->stms[i].loc;
    if (!add_one_while(&b, &mapped)) kern_add(&b, mapped);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_guard_whiles(Compiler *c, const Kern *kern) {
  KernMapper m = { .c = c, .block = guard_in };
  Kern out = *kern;
  out.body = guard_in(&m, kern->body);
  return mem_copy(&out, sizeof out);
}
