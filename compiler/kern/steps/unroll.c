// unroll a:   axis a: i < 3 { body i }   =>   body 0; body 1; body 2
//
// Why: what the body computes from the index is then a constant, and what is around it is straight
// code: the nine points of a window are nine loads.
#include "kern/steps/step.h"
#include "kern/tidy/tidy.h"

enum { MOST_COPIES = 16, MOST_STATEMENTS = 200 };
enum { MOST_COPIES_OF_ITEM = 32, MOST_OF_ITEM = 800 };

static void add_all_rounds(void *state, KernBuilder *b, const KernStm *stm) {
  (void)state;
  kern_add_rounds(b, stm, stm->u.axis->body);
}

const Kern *step_unroll(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  const Term *width = axis->width;
  int most = s->groups ? MOST_COPIES_OF_ITEM : MOST_COPIES;
  if (axis->role == AXIS_SCAN || axis->role == AXIS_HIST)
    return step_refuse(s, "%s is a scan or a histogram", name);
  if (axis->bind != BIND_SEQ) return step_refuse(s, "%s is no loop", name);
  if (width->kind != TERM_CONST || width->u.constant.u.i < 1 ||
      width->u.constant.u.i > most)
    return step_refuse(s, "%s has no constant width from 1 to %d", name, most);
  if (kern_statements(axis->body) * width->u.constant.u.i >
      (s->groups ? MOST_OF_ITEM : MOST_STATEMENTS))
    return step_refuse(s, "%s would be too long", name);
  const Kern *unrolled = step_replace(s, kern, name, add_all_rounds, NULL);
  Kern *out = mem_copy(unrolled, sizeof *unrolled);
  out->body = kern_load_once(s->c, kern_settle(s->c, unrolled->body));
  return kern_name_axes(s->c, kern_narrow(s->c, out));
}
