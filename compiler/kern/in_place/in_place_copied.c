// axis i < 1 { axis n { axis m { r[i, n, m] = a[n, m] } }  .. r[i, x, y] = r[i, z, w] .. }
//   =>   axis i < 1 { .. r[i, x, y] = r[i, z, w] .. }        where r lies where a did
//
// A loop that one item runs begins with a copy of what it changes.  Why: the copy of a table takes
// as long as many a round.
//
// Legal: one point runs alone; it reads a in the copy and nowhere else, and touches r only then.
#include "kern/in_place/places.h"
#include "kern/kern_ask.h"

enum { MOST_DIMS = 8 };

typedef struct Copied {
  const Kern *kern;
  const Tensor *out, *from;
  int count;  // accesses of both
  bool again;
} Copied;

static bool is_of(const Tensor *t, const Tensor *array) {
  const Tensor *root = tensor_root(t);
  return root == array || (root->host && root->host == array->host);
}

static void see_both(KernVisitor *v, Access access, bool stores) {
  Copied *p = v->state;
  (void)stores;
  p->count += is_of(access.tensor, p->out) || is_of(access.tensor, p->from);
}

// Memory of sizes that the kernel finds out makes it run again: lower/kernel.c.
static void see_room(KernVisitor *v, const KernStm *stm) {
  Copied *p = v->state;
  p->again = p->again || stm->kind == KERN_ROOM;
  for (int i = 0; stm->kind == KERN_ALLOC && i < stm->u.tensor->rank; i++)
    p->again |= !kern_host_knows(p->kern, stm->u.tensor->dims[i]);
}

static int accesses_of_both(Copied *p, const KernStm *stm) {
  KernVisitor v = { .stm = see_room, .access = see_both, .state = p };
  p->count = 0;
  kern_visit_stm(&v, stm);
  return p->count;
}

static bool is_index(const Term *t, const Axis *axis) {
  return t->kind == TERM_VAR && t->u.var == axis->index;
}

// Is the access an element of the array, in the order of the axes, behind `first` dimensions of one
// element?
static bool is_element(const Access *access, const Tensor *array, const Axis *const *axes,
                       int depth) {
  const Tensor *t = access->tensor;
  int first = t->rank - depth;
  if (t != array || first < 0) return false;
  for (int d = 0; d < first; d++)
    if (!term_is_i64(t->dims[d], 1)) return false;
  for (int d = 0; d < depth; d++)
    if (!is_index(access->index[first + d], axes[d]) ||
        !term_same(t->dims[first + d], axes[d]->width))
      return false;
  return true;
}

static bool is_copy_to_out(const Copied *p, const KernStm *stm) {
  const Axis *axes[MOST_DIMS];
  int depth = 0;
  while (stm->kind == KERN_AXIS && depth < MOST_DIMS && stm->u.axis->role == AXIS_MAP) {
    const KernBlock *body = stm->u.axis->body;
    if (stm->u.axis->after) return false;
    axes[depth++] = stm->u.axis;
    if (body->count == 2) {
      const KernStm *load = &body->stms[0], *store = &body->stms[1];
      return load->kind == KERN_LOAD && store->kind == KERN_STORE &&
             store->u.store.value->kind == TERM_VAR &&
             store->u.store.value->u.var == load->binders[0] &&
             is_element(&load->u.load, p->from, axes, depth) &&
             is_element(&store->u.store.to, p->out, axes, depth);
    }
    if (body->count != 1) return false;
    stm = &body->stms[0];
  }
  return false;
}

// The only statement that reads `from`, which is a copy of it to `out`, and the first one that
// touches that; -1: there is none.
static int copy_among(Copied *p, const KernBlock *block) {
  int found = -1;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (!accesses_of_both(p, stm)) continue;
    if (found < 0 && !is_copy_to_out(p, stm)) return -1;
    if (found < 0) {
      found = i;
      continue;
    }
    Copied others = { .out = p->from, .from = p->from };
    KernVisitor v = { .access = see_both, .state = &others };
    kern_visit_stm(&v, stm);
    if (others.count) return -1;
  }
  return p->again ? -1 : found;
}

const Kern *kern_without_copy(Compiler *c, const Kern *kern, const Tensor *out,
                              const Tensor *from) {
  const KernBlock *body = kern->body;
  if (body->count != 1 || body->stms[0].kind != KERN_AXIS) return NULL;
  const Axis *grid = body->stms[0].u.axis;
  if (grid->role != AXIS_MAP || !term_is_i64(grid->width, 1) || grid->after) return NULL;
  Copied p = { .kern = kern, .out = out, .from = from };
  int copy = copy_among(&p, grid->body);
  if (copy < 0) return NULL;
  KernBuilder b = kern_builder(c, body->stms[0].loc);
  for (int i = 0; i < grid->body->count; i++)
    if (i != copy) kern_add(&b, grid->body->stms[i]);
  Axis *axis = mem_copy(grid, sizeof *grid);
  axis->body = kern_block(&b, grid->body->results, grid->body->result_count);
  KernStm *stm = mem_copy(&body->stms[0], sizeof *stm);
  stm->u.axis = axis;
  Kern *made = mem_copy(kern, sizeof *kern);
  made->body = new_node(KernBlock, .stms = stm, .count = 1);
  return made;
}
