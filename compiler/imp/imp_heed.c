// kernel k without checks   =>   kernel k that does nothing once an earlier kernel has failed,
//
// if it could run wild: loops for as long as memory says, or takes as much of the arena.  Why: what
// a failed kernel should have written holds whatever was there before, and an endless loop on a
// device is stopped by nobody.
#include "base/map.h"
#include "imp/imp.h"

// ---- does a kernel run as long as memory says?

typedef struct Wild {
  Map *loaded;   // Var: made from what is in memory
  bool changed;  // there are more of them
  bool found;
} Wild;

static bool is_loaded(const Wild *w, const ImpExp *e) {
  if (e->kind == IMP_LOAD || e->kind == IMP_STRIDED) return true;
  if (e->kind == IMP_VAR) return map_has(w->loaded, e->u.var);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (is_loaded(w, operands[i])) return true;
  return false;
}

static void note_loaded(Wild *w, const Var *var) {
  if (map_has(w->loaded, var)) return;
  map_put(w->loaded, var, var);
  w->changed = true;
}

// A function may loop for as long as its arguments say.
static void wild_call(Wild *w, const ImpStm *stm) {
  bool loaded = false;
  for (int i = 0; i < stm->u.call.arg_count; i++)
    loaded = loaded || is_loaded(w, stm->u.call.args[i]);
  w->found = w->found || loaded;
  for (int i = 0; loaded && i < stm->u.call.var_count; i++)
    note_loaded(w, stm->u.call.vars[i]);
}

static void find_wild(Wild *w, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    if (stm->kind == IMP_DECLARE && stm->u.declare.value &&
        is_loaded(w, stm->u.declare.value))
      note_loaded(w, stm->u.declare.var);
    if (stm->kind == IMP_ASSIGN && is_loaded(w, stm->u.assign.value))
      note_loaded(w, stm->u.assign.var);
    if (stm->kind == IMP_CALL) wild_call(w, stm);
    w->found = w->found || stm->kind == IMP_WHILE ||
               (stm->kind == IMP_FOR && is_loaded(w, stm->u.loop.bound));
    for (int i = 0; i < count; i++)
      find_wild(w, inner[i]);
  }
}

static bool is_wild(const Kernel *kernel) {
  Wild w = { .loaded = map_new(NULL), .changed = true, .found = kernel->uses_arena };
  while (w.changed && !w.found) {
    w.changed = false;
    find_wild(&w, &kernel->body);
  }
  return w.found;
}

// ---- which kernels are launched where one may fail

static bool some_fail(const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*at, inner);
    if ((*at)->kind == IMP_LAUNCH && (*at)->u.launch.kernel->may_fail) return true;
    for (int i = 0; i < count; i++)
      if (some_fail(inner[i])) return true;
  }
  return false;
}

static void see_launches(Map *heeding, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*at, inner);
    for (int i = 0; i < count; i++)
      see_launches(heeding, inner[i]);
    if ((*at)->kind != IMP_LAUNCH) continue;
    const Kernel *kernel = (*at)->u.launch.kernel;
    if (kernel->may_fail || map_has(heeding, kernel) || !is_wild(kernel)) continue;
    Kernel *with = mem_copy(kernel, sizeof *kernel);
    with->may_fail = true;
    map_put(heeding, kernel, with);
  }
}

void imp_heed_failures(ImpProgram *program) {
  Map *heeding = map_new(NULL);
  for (int i = 0; i < program->entry_count; i++)
    if (some_fail(&program->entries[i]->body))
      see_launches(heeding, &program->entries[i]->body);
  imp_replace_kernels(program, heeding);
}
