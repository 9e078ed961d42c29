// x = while on (on = true, x = 2) { c = k % x == 0; y = select c x (x + 1) in {!c && .., y} }
//   =>   z, last, found = while on (..) { c = k % x == 0; y = x + 1 in {!c && .., y, x, c} }
//        x = select found last z
//
// Why: a round would wait for the condition (a division, a load) where it only decides what a loop
// that ends there hands on.  Of a point alone it is foreseen, as in C, that the loop goes on.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

typedef struct Ending {
  const KernStm *loop;
  Map *failed;   // conditions that end the loop
  Map *slow;     // Var -> itself: what takes long to be there
  Map *chosen;   // Var -> itself: results that such conditions choose
  Map *changed;  // Var -> itself: another number once such a condition holds
} Ending;

static bool takes_long(const Term *t) {
  return t->kind == TERM_OP && prim_is_int(t->type) &&
         op_cost(t->u.op.op, t->u.op.operands) == COST_DIVISION;
}

static void see_slow(Ending *f, const KernStm *stm) {
  bool slow = stm->kind == KERN_LOAD;
  if (stm->kind == KERN_LET)
    slow = takes_long(stm->u.term) || term_mentions_any(stm->u.term, f->slow);
  if (slow) map_put(f->slow, stm->binders[0], stm->binders[0]);
}

static bool is_chosen(const Ending *f, const Term *t) {
  if (t->kind != TERM_SELECT || t->u.select.condition->kind != TERM_VAR) return false;
  const Var *condition = t->u.select.condition->u.var;
  return map_has(f->failed, condition) && map_has(f->slow, condition) &&
         !term_mentions_any(t, f->chosen) && term_is_cheap(t->u.select.b);
}

static bool is_result(const Ending *f, const Var *var) {
  const KernBlock *body = f->loop->u.loop.body;
  for (int i = 0; i < body->result_count; i++)
    if (i != f->loop->u.loop.which && term_is_var(body->results[i], var)) return true;
  return false;
}

// False: somebody needs what is chosen where the loop ends.
static bool see_stm(Ending *f, const KernStm *stm) {
  see_slow(f, stm);
  if (stm->kind == KERN_LOAD)
    for (int i = 0; i < stm->u.load.tensor->rank; i++)
      if (term_mentions_any(stm->u.load.index[i], f->changed)) return false;
  if (stm->kind == KERN_CHECK && term_mentions_any(stm->u.check.condition, f->changed))
    return false;
  if (stm->kind != KERN_LET) return stm->kind == KERN_LOAD || stm->kind == KERN_CHECK;
  const Var *var = stm->binders[0];
  bool changed = term_mentions_any(stm->u.term, f->changed);
  if (changed && !term_is_cheap(stm->u.term)) return false;
  if (is_result(f, var) && !changed && is_chosen(f, stm->u.term)) {
    map_put(f->chosen, var, var);
    changed = true;
  }
  if (changed) map_put(f->changed, var, var);
  return true;
}

// Are there results that the loop may hand on as if it went on?
static bool finds(Ending *f) {
  const KernBlock *body = f->loop->u.loop.body;
  for (int i = 0; i < body->count; i++)
    if (!see_stm(f, &body->stms[i])) return false;
  bool any = false;
  for (int i = 0; i < body->result_count; i++) {
    const Term *t = body->results[i];
    bool chosen = t->kind == TERM_VAR && map_has(f->chosen, t->u.var);
    any |= chosen;
    if (i != f->loop->u.loop.which && !chosen && term_mentions_any(t, f->changed))
      return false;
  }
  return any;
}

typedef struct Handed {
  Vec(const Var *) params, binders;
  Vec(const Term *) inits, results;
} Handed;

static const Var *add_part(KernBuilder *b, Handed *p, const char *name, const Term *init,
                           const Term *result) {
  CoreType type = type_scalar(init->type);
  const Var *binder = var_new(b->c, name_of(b->c->names, name), type, b->loc);
  vec_push(&p->params, var_new(b->c, name_of(b->c->names, name), type, b->loc));
  vec_push(&p->binders, binder);
  vec_push(&p->inits, init);
  vec_push(&p->results, result);
  return binder;
}

// The body whose choices are made as if it went on.
static KernBuilder going_on(KernMapper *m, const Ending *f) {
  const KernBlock *body = f->loop->u.loop.body;
  KernBuilder b = kern_builder(m->c, f->loop->loc);
  for (int i = 0; i < body->count; i++) {
    KernStm stm = body->stms[i];
    if (stm.kind == KERN_LET && map_has(f->chosen, stm.binders[0]))
      stm.u.term = stm.u.term->u.select.b;
    kern_add(&b, stm);
  }
  return b;
}

// Adds the lets that choose behind the loop, to `behind`, with what the loop hands on for that.
static void add_choices(KernBuilder *b, const Ending *f, Handed *p, KernBuilder *behind) {
  const KernBlock *body = f->loop->u.loop.body;
  for (int i = 0; i < body->result_count; i++) {
    const Term *t = body->results[i];
    if (t->kind != TERM_VAR || !map_has(f->chosen, t->u.var)) continue;
    const Term *choice = term_behind(body, t), *init = f->loop->u.loop.inits[i];
    const Var *old = f->loop->binders[i];
    const Var *found =
        add_part(b, p, "found", term_bool(false), choice->u.select.condition);
    const Var *last = add_part(b, p, "last", init, choice->u.select.a);
    p->binders.at[i] = var_new(b->c, old->name, old->type, b->loc);
    kern_let_var(
        behind, old,
        term_select(term_var(found), term_var(last), term_var(p->binders.at[i])));
  }
}

static void add_loop(KernMapper *m, KernBuilder *b, const Ending *f) {
  KernStm loop = *f->loop;
  Handed p = { 0 };
  KernBuilder body = going_on(m, f), behind = kern_builder(m->c, loop.loc);
  for (int i = 0; i < loop.u.loop.param_count; i++) {
    vec_push(&p.params, loop.u.loop.params[i]);
    vec_push(&p.binders, loop.binders[i]);
    vec_push(&p.inits, loop.u.loop.inits[i]);
    vec_push(&p.results, loop.u.loop.body->results[i]);
  }
  add_choices(b, f, &p, &behind);
  loop.binders = p.binders.at;
  loop.binder_count = loop.u.loop.param_count = p.params.count;
  loop.u.loop.params = p.params.at;
  loop.u.loop.inits = p.inits.at;
  loop.u.loop.body = kern_block(&body, p.results.at, p.results.count);
  kern_add(b, loop);
  vec_each (const KernStm *, let, &behind.stms)
    kern_add(b, *let);
}

static const KernBlock *find_in(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm mapped = kern_map_stm(m, &block->stms[i]);
    b.loc = mapped.loc;
    bool loops = mapped.kind == KERN_WHILE && mapped.binder_count;
    Ending f = { .loop = &mapped };
    if (loops)
      f = (Ending){ &mapped, kern_failed(&mapped), map_new(NULL), map_new(NULL),
                    map_new(NULL) };
    if (loops && finds(&f))
      add_loop(m, &b, &f);
    else
      kern_add(&b, mapped);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_choose_behind(Compiler *c, const Kern *kern) {
  KernMapper m = { .c = c, .block = find_in };
  Kern out = *kern;
  out.body = find_in(&m, kern->body);
  return mem_copy(&out, sizeof out);
}
