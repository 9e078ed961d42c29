// A segmap1 whose body holds seg-ops of level 0: a work-group per point of the outer space.
#include "imp/lower.h"

void lower_group_segmap(Code *host, const Stm *stm) {
  limit(host->lower->c, stm->loc, "parallelism within a work-group");
  host->lower->failed = true;
}
