// Arrays of more dimensions than the runtime's values have are refused.
#include "core/elab/elaborate.h"

enum { MOST_DIMENSIONS = 16 };  // RT_MAX_RANK in runtime/contract.h

typedef struct Ranks {
  Compiler *c;
  bool reported;
} Ranks;

static void check_var(CoreVisitor *v, const Var *var) {
  Ranks *r = v->state;
  if (var->type.rank <= MOST_DIMENSIONS || r->reported) return;
  limit(r->c, var->loc, "arrays of more than %d dimensions", MOST_DIMENSIONS);
  r->reported = true;
}

static void check_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++)
      check_var(v, stm->binders[k]);
    core_visit_exp(v, stm->exp);
  }
}

void elab_check_ranks(Compiler *c, const Entry *entry) {
  Ranks ranks = { c, false };
  CoreVisitor v = { .body = check_body, .binder = check_var, .state = &ranks };
  for (int i = 0; i < entry->param_count; i++)
    check_var(&v, entry->params[i]);
  check_body(&v, entry->body);
}
