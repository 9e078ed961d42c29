#include "core/elaborate.h"

const Val *elab_residual_call(Elab *e, const Closure *f) {
  (void)e, (void)f;
  return NULL;
}
