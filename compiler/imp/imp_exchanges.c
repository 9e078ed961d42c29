// What host code exchanges between workers, in which order.  Workers of both profiles meet only if
// the code for CPUs and the code for GPUs agree there, whatever else the passes for one have done.
#include "imp/imp.h"
#include <string.h>

static void add_block(Text *t, const ImpBlock *block);

// Around it: "for{3 4|}" for a loop or branches, which hold exchanges 3 and 4.
static void add_inner(Text *t, const ImpStm *stm) {
  const ImpBlock *blocks[2];
  int count = imp_blocks(stm, blocks);
  Text *inner = text_new();
  bool some = false;
  for (int i = 0; i < count; i++) {
    some = some || imp_exchanges(blocks[i]);
    add_block(inner, blocks[i]);
    text_add(inner, "|");
  }
  if (some) text_printf(t, "%d{%s}", (int)stm->kind, text_str(inner));
}

static void add_block(Text *t, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_GATHER)
      text_printf(t, "%d ", (*stm)->u.gather.site);
    else
      add_inner(t, *stm);
  }
}

bool imp_exchanges(const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    const ImpBlock *blocks[2];
    if ((*stm)->kind == IMP_GATHER) return true;
    int count = imp_blocks(*stm, blocks);
    for (int i = 0; i < count; i++)
      if (imp_exchanges(blocks[i])) return true;
  }
  return false;
}

static const char *exchanges_of(const ImpEntry *entry) {
  Text *t = text_new();
  add_block(t, &entry->body);
  return text_str(t);
}

const Entry *imp_other_exchanges(const ImpProgram *a, const ImpProgram *b) {
  for (int i = 0; i < a->entry_count; i++)
    if (strcmp(exchanges_of(a->entries[i]), exchanges_of(b->entries[i])) != 0)
      return a->entries[i]->entry;
  return NULL;
}
