// f (x) = g (g (x))  =>  the statements of g, twice; then simplify and hoist have their turn
//
// What a function to be differentiated looks like at first: each copy that goes now is one that
// derivatives do not double, and sizes must stand outside of the bodies whose adjoints have them.
#include "core/ad/ad.h"
#include "core/passes.h"

typedef struct Inlining {
  Compiler *c;
  bool keep_adjoints;
} Inlining;

static const Body *inline_calls(CoreMapper *m, const Body *body);

static bool stays(const Inlining *inlining, const Exp *call) {
  return inlining->keep_adjoints && call->u.call.function->adjoint;
}

static void put_body(CoreMapper *m, Builder *b, const Stm *stm) {
  const Function *f = stm->exp->u.call.function;
  Subst *s = subst_new();
  for (int i = 0; i < f->param_count; i++)
    subst_put(s, f->params[i], stm->exp->u.call.args[i]);
  const Body *body = inline_calls(m, core_rename_body(b->c, s, f->body));
  core_add_body(b, body);
  b->loc = stm->loc;
  for (int i = 0; i < stm->binder_count; i++)
    core_let_vars(b, stm->binders + i, 1, exp_atom(body->results[i]));
}

static const Body *inline_calls(CoreMapper *m, const Body *body) {
  const Inlining *inlining = m->state;
  Builder b = builder_new(inlining->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(m, stm.exp);
    if (stm.exp->kind == EXP_CALL && !stays(inlining, stm.exp))
      put_body(m, &b, &stm);
    else
      core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *ad_inline(Compiler *c, const Body *body, bool keep_adjoints) {
  Inlining inlining = { c, keep_adjoints };
  CoreMapper m = { .body = inline_calls, .state = &inlining };
  return inline_calls(&m, body);
}

typedef const Core *(*CorePass)(Compiler *c, const Core *core);

static const Body *run_passes(Compiler *c, const Body *body, const CorePass *passes) {
  const Entry *entry = new_node(Entry, .body = body);
  const Core *core = new_node(Core, .entries = &entry, .entry_count = 1);
  for (; *passes; passes++)
    core = (*passes)(c, core);
  return core->entries[0]->body;
}

const Body *ad_prepare(Compiler *c, const Body *body, bool backwards) {
  static const CorePass clean[] = { simplify, hoist, cse, simplify, NULL };
  body = run_passes(c, ad_inline(c, body, backwards), clean);
  if (!backwards) return body;
  body = run_passes(c, ad_unroll(c, ad_sums(c, body)), clean);
  body = run_passes(c, ad_elements(c, body), clean);
  return run_passes(c, ad_same_places(c, body), clean);
}
