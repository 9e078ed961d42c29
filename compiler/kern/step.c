// What steps share: finding axes and putting something in their place.
#include "kern/step.h"
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

bool kern_has_axis(const Kern *kern, Name name) {
  Find find = { name, NULL };
  KernVisitor v = { .stm = find_stm, .state = &find };
  kern_visit_block(&v, kern->body);
  return find.found != NULL;
}

// ---- replacing

typedef struct Replace {
  KernMapper mapper;
  Name name;
  StepAdd add;
  void *state;
} Replace;

static const KernBlock *replace_block(KernMapper *m, const KernBlock *block) {
  Replace *r = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
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
