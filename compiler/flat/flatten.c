// Incremental flattening: Core -> Flat (PPoPP'19, section 3).
//
//   map (\xs -> redomap (+) f xs) xss
//     =>  if Par(n) >= t0 then segmap1 ... else if ... else segred1 ...
//
// Needs: Core after fusion (a redomap is one kernel, not two) and hoisting (the widths of inner
// SOACs stand outside of the nest).   Keeps: one binding per name.   Why: maps nested parallelism
// to the two levels of the hardware in every way that may pay (rules.c, distribute.c).
#include "base/map.h"
#include "flat/rules.h"

static const Entry *flatten_entry(Compiler *c, const Entry *entry,
                                  FlattenOptions options) {
  Flatten fl = { .c = c,
                 .options = options,
                 .entry = entry,
                 .version_count = 1,
                 .defs = map_new(NULL),
                 .uses = core_uses(entry->body),
                 .guard_names = map_new(NULL) };
  Entry *flat = mem_copy(entry, sizeof *entry);
  flat->body = flatten_branch(&fl, NULL, 1, entry->body);
  return flat;
}

const Core *flatten(Compiler *c, const Core *core, FlattenOptions options) {
  Core *flat = mem_copy(core, sizeof *core);
  flat->entries = new_array(const Entry *, core->entry_count);
  for (int i = 0; i < core->entry_count; i++)
    flat->entries[i] = flatten_entry(c, core->entries[i], options);
  return flat;
}
