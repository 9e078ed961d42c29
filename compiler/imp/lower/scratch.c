// Scratch arrays of a kernel that are never needed at the same time lie in one piece of memory.
//
// Statements are numbered in the order of the text.  An array is needed in the innermost block that
// holds all accesses to it, from the first statement with one to the end of the last: it is made in
// that block, so nothing of it is left from one round of a loop around the block to the next.
#include "imp/lower/lower.h"

typedef struct Span {
  int first, last;  // first > last: never
} Span;

// ---- where an array is accessed

typedef struct Accesses {
  Map *spans;    // Mem -> Span *
  Map *lengths;  // ImpBlock -> int *: statements in it
  int now;
} Accesses;

static void note_access(Accesses *s, const Mem *mem) {
  if (mem->space != MEM_SCRATCH) return;
  Span *span = map_get(s->spans, mem);
  if (!span) map_put(s->spans, mem, span = new_node(Span, s->now, s->now));
  span->last = s->now;
}

static void note_loads(void *state, const ImpExp *e) {
  if (e->kind == IMP_LOAD) note_access(state, e->u.load.mem);
  if (e->kind == IMP_STRIDED) note_access(state, e->u.strided.mem);
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    note_loads(state, operands[i]);
}

static void note_block(Accesses *s, const ImpBlock *block) {
  int first = s->now;
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, note_loads, s);
    if (stm->kind == IMP_STORE) note_access(s, stm->u.store.mem);
    if (stm->kind == IMP_ATOMIC) note_access(s, stm->u.atomic.mem);
    if (stm->kind == IMP_LOCKED) note_access(s, stm->u.locked.locks);
    s->now++;
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      note_block(s, inner[i]);
  }
  map_put(s->lengths, block, new_node(int, s->now - first));
}

// ---- where it is needed

static bool covers(Span outer, Span inner) {
  return outer.first <= inner.first && inner.last <= outer.last;
}

// Where the block, whose first statement has number `start`, needs what is accessed in `accesses`.
static Span needed(const Map *lengths, const ImpBlock *block, int start, Span accesses) {
  Span out = { start, start };
  vec_each (const ImpStm **, stm, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner), next = start + 1;
    for (int i = 0; i < count; i++) {
      int length = *(const int *)map_get(lengths, inner[i]);
      if (covers((Span){ next, next + length - 1 }, accesses))
        return needed(lengths, inner[i], next, accesses);
      next += length;
    }
    if (accesses.first >= start) out.first = start;
    out.last = next - 1;
    if (accesses.last < next) break;
    start = next;
  }
  return out;
}

// ---- sharing

static bool apart(Span a, Span b) { return a.last < b.first || b.last < a.first; }

// May array number `i` lie where number `root` lies, with all others there?
static bool may_share(const ScratchVec *scratch, const Span *spans, int root, int i) {
  const Scratch *a = &scratch->at[root], *b = &scratch->at[i];
  if (a->within || a->mem->space != b->mem->space || a->mem->elem != b->mem->elem ||
      !imp_same(a->count, b->count))
    return false;
  for (int j = root; j < i; j++) {
    bool there = j == root || scratch->at[j].within == a->mem;
    if (there && !apart(spans[j], spans[i])) return false;
  }
  return true;
}

// Arrays that nothing accesses go.
static void drop_unused(ScratchVec *scratch, const Map *spans) {
  int kept = 0;
  for (int i = 0; i < scratch->count; i++)
    if (scratch->at[i].mem->space != MEM_SCRATCH || map_has(spans, scratch->at[i].mem))
      scratch->at[kept++] = scratch->at[i];
  scratch->count = kept;
}

void share_scratch(ScratchVec *scratch, const ImpBlock *body) {
  Accesses found = { .spans = map_new(NULL), .lengths = map_new(NULL) };
  Span *spans = new_array(Span, scratch->count + 1);
  note_block(&found, body);
  drop_unused(scratch, found.spans);
  for (int i = 0; i < scratch->count; i++) {
    const Span *accesses = map_get(found.spans, scratch->at[i].mem);
    spans[i] = accesses ? needed(found.lengths, body, 0, *accesses) : (Span){ 0, -1 };
  }
  for (int i = 0; i < scratch->count; i++) {
    if (scratch->at[i].mem->space != MEM_SCRATCH) continue;
    for (int root = 0; root < i && !scratch->at[i].within; root++)
      if (may_share(scratch, spans, root, i))
        scratch->at[i].within = scratch->at[root].mem;
  }
}
