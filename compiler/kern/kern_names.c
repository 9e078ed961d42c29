// Names of axes, by which recipes call them.
#include "base/map.h"
#include "kern/kern.h"
#include <string.h>

typedef struct Naming {
  KernMapper mapper;
  Map *taken;  // Name -> itself
  Map *met;    // those of them that are no later axis's
} Naming;

static Name free_name(Naming *n, Name wanted) {
  Compiler *c = n->mapper.c;
  Name name = wanted;
  for (int i = 2; map_has(n->taken, name); i++)
    name = name_of(c->names, text_format("%s_%d", wanted, i));
  map_put(n->taken, name, name);
  return name;
}

static Name wanted_name(const Axis *axis) {
  return axis->width->kind == TERM_VAR ? axis->width->u.var->name : axis->index->name;
}

// A copy of an axis has its name, too, until the second of them is met here.
static const Axis *named_axis(Naming *n, const Axis *axis) {
  Name name = axis->name;
  if (!name || map_has(n->met, name))
    name = free_name(n, name ? name : wanted_name(axis));
  map_put(n->met, name, name);
  if (name == axis->name) return axis;
  Axis *out = mem_copy(axis, sizeof *axis);
  out->name = name;
  return out;
}

// Stays, and is shared, if all axes in it keep their names.
static const KernBlock *name_block(KernMapper *m, const KernBlock *block) {
  Naming *n = m->state;
  KernStm *stms = NULL;
  for (int i = 0; i < block->count; i++) {
    KernStm stm = block->stms[i];
    if (stm.kind == KERN_AXIS) stm.u.axis = named_axis(n, stm.u.axis);
    KernStm named = kern_map_stm(m, &stm);
    if (memcmp(&named, &block->stms[i], sizeof named) == 0) continue;
    if (!stms) stms = mem_copy(block->stms, sizeof *stms * (size_t)block->count);
    stms[i] = named;
  }
  if (!stms) return block;
  KernBlock *out = mem_copy(block, sizeof *block);
  out->stms = stms;
  return out;
}

static void note_name(KernVisitor *v, const KernStm *stm) {
  Naming *n = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->name)
    map_put(n->taken, stm->u.axis->name, stm);
}

const Kern *kern_name_axes(Compiler *c, const Kern *kern) {
  Naming n = { .mapper = { .c = c, .block = name_block },
               .taken = map_new(NULL),
               .met = map_new(NULL) };
  n.mapper.state = &n;
  KernVisitor v = { .stm = note_name, .state = &n };
  kern_visit_block(&v, kern->body);
  return new_node(Kern, .name = kern->name, .loc = kern->loc,
                  .body = name_block(&n.mapper, kern->body), .outside = kern->outside,
                  .rounds = kern->rounds, .starts = kern->starts, .usual = kern->usual,
                  .wide = kern->wide);
}
