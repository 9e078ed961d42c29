// check c <= n; ..; alloc t: [c]   =>   check c <= n; ..; alloc t: [n]
//
// in kernels of one point, where n is a size of an array of the host and c is known within only.
// Why: the host makes room for n elements before the launch.  What room is asked for within, the
// arena gives, and the host waits for the kernel to say how much that was.
#include "kern/facts.h"
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

typedef struct Rooms {
  KernMapper mapper;
  const Kern *kern;
  const Facts *facts;
  Map *lets;     // Var -> const Term *
  Map *sizes;    // Var -> itself: sizes of arrays of the host
  Map *natural;  // Var -> itself: indices of axes
  Map *made;     // Tensor -> Tensor: what has got a bound
} Rooms;

static void see_host_size(KernVisitor *v, Access access, bool stores) {
  const Tensor *t = tensor_root(access.tensor);
  (void)stores;
  for (int i = 0; t->space == TENSOR_GLOBAL && i < t->rank; i++)
    if (t->dims[i]->kind == TERM_VAR)
      map_put(v->state, t->dims[i]->u.var, t->dims[i]->u.var);
}

static bool is_host_size(const Rooms *r, const Term *t) {
  return t->kind == TERM_VAR && map_has(r->sizes, t->u.var) &&
         kern_host_knows(r->kern, t);
}

static const Term *behind_let(const Rooms *r, const Term *t) {
  const Term *let = t->kind == TERM_VAR ? map_get(r->lets, t->u.var) : NULL;
  return let ? let : t;
}

static bool is_made_by(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->u.op.op == op;
}

static bool has_fact(const Rooms *r, const Term *holds) {
  for (const Facts *f = r->facts; f; f = f->outer)
    if (term_same(f->holds, holds)) return true;
  return false;
}

// i, i + 1, or what a check has found to be no negative number; an index of an axis is far from
// overflow.
static bool is_not_negative(const Rooms *r, const Term *t) {
  const Term *sum = behind_let(r, t);
  if (is_made_by(sum, OP_ADD) && term_is_i64(sum->u.op.args[1], 1))
    sum = sum->u.op.args[0];
  bool index = sum->kind == TERM_VAR && map_has(r->natural, sum->u.var);
  return index || has_fact(r, term_at_most(term_i64(0), t));
}

// What the term has been found not to exceed; NULL: unknown.
static const Term *bound_of(const Rooms *r, const Term *t) {
  const Term *sum = behind_let(r, t);
  if (is_made_by(sum, OP_SUB) && is_host_size(r, sum->u.op.args[0]) &&
      is_not_negative(r, sum->u.op.args[1]))
    return sum->u.op.args[0];
  for (const Facts *f = r->facts; f; f = f->outer) {
    bool orders = is_made_by(f->holds, OP_LE) || is_made_by(f->holds, OP_LT);
    if (orders && term_same(f->holds->u.op.args[0], t) &&
        is_host_size(r, f->holds->u.op.args[1]))
      return f->holds->u.op.args[1];
  }
  return NULL;
}

// Where elements lie does not depend on the outermost dimension.
static void bound_room(Rooms *r, const Tensor *t) {
  if (t->space != TENSOR_OWN || t->of || t->open || t->order || t->rank == 0) return;
  const Term *bound =
      kern_host_knows(r->kern, t->dims[0]) ? NULL : bound_of(r, t->dims[0]);
  if (!bound) return;
  const Term **dims = new_array(const Term *, t->rank);
  for (int i = 0; i < t->rank; i++)
    dims[i] = i ? t->dims[i] : bound;
  Tensor *copy = mem_copy(t, sizeof *t);
  copy->dims = dims;
  copy->id = r->mapper.c->next_id++;
  map_put(r->made, t, copy);
}

static const Tensor *with_bound(KernMapper *m, const Tensor *t) {
  Rooms *r = m->state;
  const Tensor *known = map_get(r->made, t);
  if (known || !t->of) return known ? known : t;
  const Tensor *of = with_bound(m, t->of);
  if (of == t->of) return t;
  Tensor *view = mem_copy(t, sizeof *t);
  view->of = of;
  map_put(r->made, t, view);
  return view;
}

static const KernBlock *bound_rooms(KernMapper *m, const KernBlock *block) {
  Rooms *r = m->state;
  const Facts *around = r->facts;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (stm->kind == KERN_LET) map_put(r->lets, stm->binders[0], stm->u.term);
    if (stm->kind == KERN_ALLOC) bound_room(r, stm->u.tensor);
    if (stm->kind == KERN_AXIS)
      map_put(r->natural, stm->u.axis->index, stm->u.axis->index);
    kern_add(&b, kern_map_stm(m, stm));
    if (stm->kind == KERN_CHECK)
      r->facts = facts_of_outcome(r->facts, r->lets, stm->u.check.condition, true);
  }
  r->facts = around;
  return kern_block(&b, block->results, block->result_count);
}

// Is the grid one point?
static bool has_one_point(const Kern *kern) {
  if (kern->body->count != 1 || kern->body->stms[0].kind != KERN_AXIS) return false;
  const Axis *axis = kern->body->stms[0].u.axis;
  return axis->bind == BIND_GRID && term_is_i64(axis->width, 1);
}

const Kern *kern_bound_rooms(Compiler *c, const Kern *kern) {
  if (!has_one_point(kern)) return kern;
  Rooms r = { .mapper = { .c = c, .tensor = with_bound, .block = bound_rooms },
              .kern = kern,
              .lets = map_new(NULL),
              .sizes = map_new(NULL),
              .natural = map_new(NULL),
              .made = map_new(NULL) };
  r.mapper.state = &r;
  KernVisitor sizes = { .access = see_host_size, .state = r.sizes };
  kern_visit_block(&sizes, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = bound_rooms(&r.mapper, kern->body);
  return out;
}
