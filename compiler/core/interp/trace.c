// #[trace]: values that are shown when they have been computed.
#include "base/text.h"
#include "core/interp/machine.h"
#include <stdio.h>

typedef struct Shown {
  const Stm *stm;
  Slot slot;
} Shown;

static bool show(Machine *m, const Ins *ins) {
  (void)m;
  const Shown *shown = ins->more;
  Text *t = text_new();
  value_write_text(t, value_of_slot(shown->slot));
  fprintf(stderr, "%s: trace: %s = %s\n", loc_text(shown->stm->loc),
          shown->stm->attrs->traced, text_str(t));
  return true;
}

void gen_trace(Gen *g, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++) {
    Shown shown = { stm, gen_slot(g, atom_var(stm->binders[i])) };
    const Shown *more = mem_copy(&shown, sizeof shown);
    gen_add(g, (Ins){ .run = show, .more = more, .stm = stm });
  }
}

static void find_traced(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const StmAttrs *attrs = body->stms[i].attrs;
    if (attrs && attrs->traced) *found = true;
    core_visit_exp(v, body->stms[i].exp);
  }
}

bool interp_shows_values(const Core *core) {
  bool found = false;
  CoreVisitor visitor = { .body = find_traced, .state = &found };
  for (int i = 0; i < core->function_count; i++)
    find_traced(&visitor, core->functions[i]->body);
  for (int i = 0; i < core->entry_count; i++)
    find_traced(&visitor, core->entries[i]->body);
  return found;
}
