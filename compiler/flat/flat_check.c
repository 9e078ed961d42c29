// The promises of Flat beyond Core's: see flat.h.
#include "base/map.h"
#include "flat/flat.h"

typedef struct FlatCheck {
  Compiler *c;
  int level;   // of the seg-op around; 2 on the host
  Map *names;  // guards seen
} FlatCheck;

static void check_body(FlatCheck *k, const Body *body);

static void check_seg(FlatCheck *k, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  if (seg->level != k->level - 1)
    bug(k->c, stm->loc, "seg-op of level %d within level %d", seg->level, k->level);
  if (seg->dim_count < 1) bug(k->c, stm->loc, "seg-op without a space");
  bool combines = seg->kind == SEG_RED || seg->kind == SEG_SCAN || seg->kind == SEG_HIST;
  if (combines && seg->level == 0 && seg->dim_count > 1)
    bug(k->c, stm->loc, "segments in a seg-op of level 0");
  FlatCheck inner = { k->c, seg->level, k->names };
  check_body(&inner, seg->body);
}

static void check_guard(FlatCheck *k, const Stm *stm) {
  const Guard *guard = stm->exp->u.guard.guard;
  if (k->level != 2) bug(k->c, stm->loc, "guard %s within a kernel", guard->name);
  if (map_has(k->names, guard->name))
    bug(k->c, stm->loc, "guard %s occurs twice", guard->name);
  map_put(k->names, guard->name, guard);
}

static void check_stm(FlatCheck *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind == EXP_SEG) {
    check_seg(k, stm);
    return;
  }
  if (exp->kind == EXP_GUARD) check_guard(k, stm);
  if (k->level == 2 && exp_is_soac(exp))
    bug(k->c, stm->loc, "sequential SOAC on the host");
  // Nothing parallel may stand in a sequential SOAC either: its level counts as 0.
  FlatCheck inner = { k->c, exp_is_soac(exp) ? 0 : k->level, k->names };
  BodyVec bodies = exp_bodies(exp);
  vec_each (const Body **, body, &bodies)
    check_body(&inner, *body);
}

static void check_body(FlatCheck *k, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    check_stm(k, &body->stms[i]);
}

void flat_check(Compiler *c, const Core *flat) {
  for (int i = 0; i < flat->entry_count; i++) {
    FlatCheck k = { c, 2, map_new(NULL) };
    check_body(&k, flat->entries[i]->body);
    flat_check_layouts(c, flat->entries[i]->body);
  }
}
