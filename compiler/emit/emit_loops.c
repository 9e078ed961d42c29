// Loops of kernels.
//
// In a kernel with barriers and checks, what an item does asks `flc_ok` (emit_kernels.c).  A loop
// without barriers asks once, before it begins, and is left where a check fails, so that its loads
// and stores need not ask: most of the work of a group is in such loops.
#include "emit/c_vector.h"

static bool is_barrier(const ImpStm *stm) { return stm->kind == IMP_BARRIER; }

static bool is_check(const ImpStm *stm) { return stm->kind == IMP_CHECK; }

static bool any_stm(const ImpBlock *block, bool (*wanted)(const ImpStm *stm)) {
  vec_each (const ImpStm **, stm, block) {
    if (wanted(*stm)) return true;
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      if (any_stm(inner[i], wanted)) return true;
  }
  return false;
}

// How the loop's body is to mind failures, until `mind_as` says otherwise.
typedef struct Minding {
  bool guarded, left;
} Minding;

static Minding mind_as(CodeText *c, Minding now) {
  Minding before = { c->guarded, c->left };
  c->guarded = now.guarded;
  c->left = now.left;
  return before;
}

// What stands around a loop without barriers.
static Minding begin_leaving(CodeText *c) {
  if (c->guarded) c_line(c, "if (flc_ok)");
  return mind_as(c, (Minding){ .left = c->guarded || c->left });
}

static void end_leaving(CodeText *c, Minding before, const ImpBlock *body) {
  mind_as(c, before);
  if (c->left && any_stm(body, is_check)) c_line(c, "if (!flc_ok) break;");
}

// A loop around barriers has at least one round, of whatever use, so that the device's compiler
// sees that it has (lower/group.h).
static const char *guard_of(const CodeText *c, const char *first) {
  return c->guarded ? text_format("(%s || flc_ok) && ", first) : "";
}

void emit_kernel_for(CodeText *c, const ImpStm *stm) {
  const ImpBlock *body = &stm->u.loop.body;
  const char *i = c_var(c, stm->u.loop.var), *guard = "";
  bool waits = any_stm(body, is_barrier);
  Minding before = { 0 };
  if (waits)
    guard = guard_of(c, text_format("%s == 0", i));
  else
    before = begin_leaving(c);
  if (stm->u.loop.independent) c_line(c, "FLC_INDEPENDENT");
  if (stm->u.loop.scalar) c_line(c, "FLC_SCALAR");
  if (stm->u.loop.many) c_line(c, "FLC_INTERLEAVE");
  c_line(c, "for (int64_t %s = 0; %s%s < %s; %s++) {", i, guard, i,
         c_bound(c, stm->u.loop.bound), i);
  if (stm->u.loop.reassociate) c_line(c, "  FLC_REASSOCIATE");
  emit_kernel_block(c, body);
  c_line(c, "}");
  if (!waits) end_leaving(c, before, body);
}

void emit_kernel_while(CodeText *c, const ImpStm *stm) {
  const ImpBlock *body = &stm->u.loop_while.body;
  bool waits = any_stm(body, is_barrier);
  Minding before = { 0 };
  if (!waits) before = begin_leaving(c);
  const char *condition = c_exp(c, stm->u.loop_while.condition);
  if (waits && c->guarded)
    c_line(c, "for (int flc_first = 1; %s(%s); flc_first = 0) {",
           guard_of(c, "flc_first"), condition);
  else
    c_line(c, "while (%s) {", condition);
  emit_kernel_block(c, body);
  c_line(c, "}");
  if (!waits) end_leaving(c, before, body);
}

// Each round of the loop is one attempt, and who succeeds gives the lock back within the round:
// items that go in lockstep could otherwise wait for each other for ever.  `flc_waits` is volatile
// so that the device's compiler cannot know how the round ends, and move the body behind the loop.
// A check that fails within does not leave it, as the lock is to be given back.
void emit_locked(CodeText *c, const ImpStm *stm) {
  const Mem *locks = stm->u.locked.locks;
  const char *space = locks->space == MEM_LOCAL ? "l" : "g",
             *lock = c_element(c, locks, stm->u.locked.index);
  Minding before = mind_as(c, (Minding){ .guarded = c->guarded || c->left });
  c_line(c, "for (volatile int flc_waits = 1; %sflc_waits;) {",
         c->guarded ? "flc_ok && " : "");
  c_line(c, "  if (flc_lock_%s(&%s)) {", space, lock);
  c->unlock = text_format("flc_unlock_%s(&%s);", space, lock);
  text_indent(c->t, 2);
  emit_kernel_block(c, &stm->u.locked.body);
  text_indent(c->t, -2);
  c_line(c, "    %s", c->unlock);
  c_line(c, "    flc_waits = 0;");
  c_line(c, "  }");
  c_line(c, "}");
  c->unlock = NULL;
  end_leaving(c, before, &stm->u.locked.body);
}
