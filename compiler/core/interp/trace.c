// #[trace]: values that are shown when they have been computed; #[break]: it goes on when it is
// told to.
#include "base/text.h"
#include "core/interp/machine.h"
#include <stdio.h>
#include <unistd.h>

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

// Asks at the terminal, as standard input may be the program's: true: go on.
static bool ask(Machine *m) {
  FILE *terminal = isatty(STDERR_FILENO) ? fopen("/dev/tty", "r") : NULL;
  if (!terminal) return true;
  fputs("Enter: to the next stop, c: to the end, q: no further> ", stderr);
  char line[80];
  if (!fgets(line, sizeof line, terminal)) *line = 'q';
  fclose(terminal);
  m->stops_no_more = *line == 'c';
  return *line != 'q';
}

static bool stop(Machine *m, const Ins *ins) {
  if (m->stops_no_more) return true;
  fprintf(stderr, "%s: break\n", loc_text(ins->stm->loc));
  return ask(m) || run_fail(m, ins->stm, "stopped here");
}

void gen_stop(Gen *g, const Stm *stm) { gen_add(g, (Ins){ .run = stop, .stm = stm }); }

static void find_traced(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const StmAttrs *attrs = body->stms[i].attrs;
    if (attrs && (attrs->traced || attrs->stops)) *found = true;
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
