// loop (p) { a; b }   =>   a for all rounds, then b round by round
//
// where `a` mentions nothing that a round hands on, and `b` is scalars, loads and checks: what is
// found at each point before it is joined to what there is, be it by no operator (the nearest few).
#include "kern/kern.h"

typedef struct RoundParts {
  Map *later;  // Var -> itself: what waits for the round before
  bool waits, plain;
} RoundParts;

static void see_waiting_term(KernVisitor *v, const Term *term) {
  RoundParts *p = v->state;
  p->waits = p->waits || term_mentions_any(term, p->later);
}

static void see_waiting_access(KernVisitor *v, Access access, bool stores) {
  RoundParts *p = v->state;
  if (stores && tensor_root(access.tensor)->space != TENSOR_LOCAL) p->plain = false;
}

static void see_room(KernVisitor *v, const KernStm *stm) {
  RoundParts *p = v->state;
  bool own = stm->kind == KERN_ALLOC && stm->u.tensor->space != TENSOR_LOCAL;
  if (own || stm->kind == KERN_ROOM || stm->kind == KERN_CALL || stm->kind == KERN_WHILE)
    p->plain = false;
}

static void see_more_than_scalars(KernVisitor *v, const KernStm *stm) {
  KernStmKind kind = stm->kind;
  if (kind != KERN_LET && kind != KERN_LOAD && kind != KERN_IF && kind != KERN_CHECK)
    *(bool *)v->state = true;
}

static bool is_scalar_code(const KernStm *stm) {
  bool more = false;
  KernVisitor v = { .stm = see_more_than_scalars, .state = &more };
  kern_visit_stm(&v, stm);
  return !more;
}

static bool part_stm(RoundParts *p, const KernStm *stm) {
  KernVisitor v = {
    .stm = see_room, .term = see_waiting_term, .access = see_waiting_access, .state = p
  };
  p->waits = false;
  kern_visit_stm(&v, stm);
  for (int i = 0; p->waits && i < stm->binder_count; i++)
    map_put(p->later, stm->binders[i], stm->binders[i]);
  return p->waits;
}

bool kern_part_rounds(const Axis *axis, KernBlock *ahead, KernBlock *behind) {
  const KernBlock *body = axis->body;
  RoundParts p = { .later = map_new(NULL), .plain = true };
  KernStm *first = new_array(KernStm, body->count + 1),
          *then = new_array(KernStm, body->count + 1);
  *ahead = *behind = (KernBlock){ 0 };
  for (int i = 0; i < axis->param_count; i++)
    map_put(p.later, axis->params[i], axis->params[i]);
  for (int i = 0; i < body->count; i++) {
    const KernStm *stm = &body->stms[i];
    bool later = part_stm(&p, stm);
    if (!p.plain || (later && !is_scalar_code(stm))) return false;
    if (later)
      then[behind->count++] = *stm;
    else
      first[ahead->count++] = *stm;
  }
  ahead->stms = first;
  behind->stms = then;
  behind->results = body->results;
  behind->result_count = body->result_count;
  return true;
}
