// Loops in which what a round reads decides where the next one reads: searches in sorted arrays,
// descents in trees.
#include "kern/kern_cost.h"

// What a value comes from, the later one if several.
typedef enum Source { FROM_OUTSIDE, CARRIED, READ_THERE, CHOSEN_BY_THAT } Source;

static Source source_of_var(const Map *sources, const Var *var) {
  const Source *known = map_get(sources, var);
  return known ? *known : FROM_OUTSIDE;
}

static Source source_of(const Map *sources, const Term *t) {
  if (t->kind == TERM_VAR) return source_of_var(sources, t->u.var);
  const Term *operands[3];
  int count = term_operands(t, operands);
  Source latest = FROM_OUTSIDE;
  for (int i = 0; i < count; i++) {
    Source source = source_of(sources, operands[i]);
    latest = source > latest ? source : latest;
  }
  if (t->kind == TERM_SELECT && source_of(sources, t->u.select.condition) >= READ_THERE)
    return CHOSEN_BY_THAT;
  return latest;
}

static void set_source(Map *sources, const KernStm *stm, Source source) {
  for (int i = 0; i < stm->binder_count; i++)
    map_put(sources, stm->binders[i], mem_copy(&source, sizeof source));
}

static Source source_of_load(const Map *sources, const Access *load) {
  for (int i = 0; i < load->tensor->rank; i++)
    if (source_of(sources, load->index[i]) >= CARRIED) return READ_THERE;
  return FROM_OUTSIDE;
}

static void see_source(KernVisitor *v, const KernStm *stm) {
  Map *sources = v->state;
  if (stm->kind == KERN_LET) set_source(sources, stm, source_of(sources, stm->u.term));
  if (stm->kind == KERN_LOAD)
    set_source(sources, stm, source_of_load(sources, &stm->u.load));
  if (stm->kind == KERN_IF && source_of(sources, stm->u.cond.condition) >= READ_THERE)
    set_source(sources, stm, CHOSEN_BY_THAT);
}

bool kern_searches(const Var *const *params, int count, const KernBlock *body) {
  Map *sources = map_new(NULL);
  Source carried = CARRIED;
  for (int i = 0; i < count; i++)
    map_put(sources, params[i], mem_copy(&carried, sizeof carried));
  KernVisitor v = { .stm = see_source, .state = sources };
  kern_visit_block(&v, body);
  for (int i = 0; i < body->result_count; i++)
    if (source_of(sources, body->results[i]) == CHOSEN_BY_THAT) return true;
  return false;
}
