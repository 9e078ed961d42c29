// What steps share: finding axes, putting something in their place.
#include "kern/steps/step.h"
#include <stdarg.h>

const Kern *step_refuse(Step *s, const char *format, ...) {
  va_list args;
  va_start(args, format);
  s->refusal = text_format_list(format, args);
  va_end(args);
  return NULL;
}

// ---- finding

typedef struct Find {
  Name name;
  const KernStm *found;
} Find;

static void find_stm(KernVisitor *v, const KernStm *stm) {
  Find *find = v->state;
  if (stm->kind == KERN_AXIS && stm->u.axis->name == find->name) find->found = stm;
}

const KernStm *step_axis(Step *s, const Kern *kern, Name name) {
  Find find = { name, NULL };
  KernVisitor v = { .stm = find_stm, .state = &find };
  kern_visit_block(&v, kern->body);
  if (!find.found) step_refuse(s, "there is no axis %s", name);
  return find.found;
}

bool step_is_inside(const Kern *kern, Name outer, Name inner) {
  Find find = { outer, NULL };
  KernVisitor v = { .stm = find_stm, .state = &find };
  kern_visit_block(&v, kern->body);
  const KernBlock *body = find.found ? find.found->u.axis->body : NULL;
  for (int i = 0; body && i < body->count; i++)
    if (body->stms[i].kind == KERN_AXIS && body->stms[i].u.axis->name == inner)
      return true;
  return false;
}

// ---- replacing

typedef struct Replace {
  KernMapper mapper;
  Name name;
  StepAdd add;
  void *state;
} Replace;

// A block without the axis stays, and is shared.
static const KernBlock *replace_block(KernMapper *m, const KernBlock *block) {
  Replace *r = m->state;
  if (!kern_block_has_axis(block, r->name)) return block;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_AXIS && stm->u.axis->name == r->name)
      r->add(r->state, &b, stm);
    else
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *step_replace(Step *s, const Kern *kern, Name axis, StepAdd add, void *state) {
  Replace r = { .mapper = { .c = s->c, .block = replace_block },
                .name = axis,
                .add = add,
                .state = state };
  r.mapper.state = &r;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = replace_block(&r.mapper, kern->body);
  return out;
}
