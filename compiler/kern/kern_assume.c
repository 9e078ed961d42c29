// if c { A } else { B }   =>   A        where c is known to hold
//
// What is known of terms goes where lets of it are mentioned, decides branches and checks.
#include "kern/kern.h"

typedef struct Assuming {
  KernMapper mapper;
  KernKnown known;
  Map *values;  // Var -> const Term *: lets of constants, results of branches
} Assuming;

static const Term *assumed(Assuming *a, const Term *t) {
  if (t->kind == TERM_VAR && map_has(a->values, t->u.var))
    return map_get(a->values, t->u.var);
  // What is known is asked with the operands that the term has in the kernel.
  const Term *known = a->known.of(a->known.state, t), *operands[3];
  if (known != t) return assumed(a, known);
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = assumed(a, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

static const Term *map_assumed(KernMapper *m, const Term *t) {
  return assumed(m->state, t);
}

static void add_branch(Assuming *a, KernBuilder *b, const KernStm *stm) {
  const Term *condition = assumed(a, stm->u.cond.condition);
  if (condition->kind != TERM_CONST) {
    kern_add(b, kern_map_stm(&a->mapper, stm));
    return;
  }
  bool holds = condition->u.constant.u.i != 0;
  const KernBlock *taken = a->mapper.block(&a->mapper, holds ? stm->u.cond.then_block
                                                             : stm->u.cond.else_block);
  for (int i = 0; i < taken->count; i++)
    kern_add(b, taken->stms[i]);
  for (int i = 0; i < stm->binder_count; i++) {
    map_put(a->values, stm->binders[i], taken->results[i]);
    kern_let_var(b, stm->binders[i], taken->results[i]);
  }
}

static const KernBlock *assuming_block(KernMapper *m, const KernBlock *block) {
  Assuming *a = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_IF) {
      add_branch(a, &b, stm);
      continue;
    }
    KernStm mapped = kern_map_stm(m, stm);
    if (mapped.kind == KERN_LET && mapped.u.term->kind == TERM_CONST)
      map_put(a->values, stm->binders[0], mapped.u.term);
    if (mapped.kind != KERN_CHECK || !term_is_bool(mapped.u.check.condition, true))
      kern_add(&b, mapped);
  }
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

const KernBlock *kern_assume(Compiler *c, KernKnown known, const KernBlock *block) {
  Assuming a = { .mapper = { .c = c, .term = map_assumed, .block = assuming_block },
                 .known = known,
                 .values = map_new(NULL) };
  a.mapper.state = &a;
  return kern_live_block(c, assuming_block(&a.mapper, block));
}

static const Term *as_it_is(void *state, const Term *t) {
  (void)state;
  return t;
}

const KernBlock *kern_settle(Compiler *c, const KernBlock *block) {
  return kern_assume(c, (KernKnown){ .of = as_it_is }, block);
}
