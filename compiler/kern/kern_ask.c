// What steps and other rewritings ask of kernels.
#include "kern/kern_ask.h"
#include "base/map.h"

// ---- axes

bool kern_block_has_axis(const KernBlock *block, Name name) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind == KERN_AXIS && stm->u.axis->name == name) return true;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      if (kern_block_has_axis(*inner, name)) return true;
  }
  return false;
}

int kern_statements(const KernBlock *block) {
  int count = block->count;
  for (int i = 0; i < block->count; i++) {
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    vec_each (const KernBlock **, inner, &blocks)
      count += kern_statements(*inner);
  }
  return count;
}

bool kern_has_axis(const Kern *kern, Name name) {
  return kern_block_has_axis(kern->body, name);
}

// ---- stores where it loads

typedef struct InPlace {
  Map *loaded, *stored, *made;  // root tensors; those of the host by its names
  Map *carried;                 // Var -> const Axis *: what loops around the block carry
  Vec(Access) ring_loads, ring_stores;
  bool found;
} InPlace;

static void see_access(KernVisitor *v, Access access, bool stores) {
  InPlace *p = v->state;
  const Tensor *root = tensor_root(access.tensor);
  const void *key = root->space == TENSOR_GLOBAL ? (const void *)root->host : root;
  bool ring = access.tensor->ring;
  if (!ring) map_put(stores ? p->stored : p->loaded, key, root);
  if (!ring && root->ring) map_put(stores ? p->loaded : p->stored, key, root);
  if (!ring) return;
  if (stores)
    vec_push(&p->ring_stores, access);
  else
    vec_push(&p->ring_loads, access);
}

static void see_made(KernVisitor *v, const KernStm *stm) {
  InPlace *p = v->state;
  if (stm->kind == KERN_ALLOC) map_put(p->made, stm->u.tensor, stm);
}

static void see_both(void *state, const void *key, void *value) {
  InPlace *p = state;
  if (map_has(p->loaded, key) && !map_has(p->made, value)) p->found = true;
}

// What one loop carries of a ring are different places.
static bool are_places_apart(const InPlace *p, const Term *a, const Term *b) {
  if (a->kind != TERM_VAR || b->kind != TERM_VAR || a->u.var == b->u.var) return false;
  const Axis *loop = map_get(p->carried, a->u.var);
  return loop && loop == map_get(p->carried, b->u.var);
}

static void compare_rings(InPlace *p) {
  vec_each (const Access *, store, &p->ring_stores)
    vec_each (const Access *, load, &p->ring_loads)
      if (store->tensor == load->tensor && !map_has(p->made, store->tensor) &&
          !are_places_apart(p, store->index[0], load->index[0]))
        p->found = true;
}

static bool updates_in_place(const KernBlock *block, Map *carried) {
  InPlace p = { .loaded = map_new(NULL),
                .stored = map_new(NULL),
                .made = map_new(NULL),
                .carried = carried };
  KernVisitor v = { .stm = see_made, .access = see_access, .state = &p };
  kern_visit_block(&v, block);
  map_each(p.stored, see_both, &p);
  compare_rings(&p);
  return p.found;
}

bool kern_updates_in_place(const KernBlock *block) {
  return updates_in_place(block, map_new(NULL));
}

// By all loops but those in the axis.
static void note_carried(Map *carried, const KernBlock *block, const Axis *axis) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Axis *loop = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
    if (loop == axis) continue;
    for (int k = 0; loop && loop->role == AXIS_LOOP && k < loop->param_count; k++)
      map_put(carried, loop->params[k], loop);
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      note_carried(carried, *inner, axis);
  }
}

bool kern_may_run_twice(const Kern *kern, const Axis *axis) {
  Map *carried = map_new(NULL);
  note_carried(carried, kern->body, axis);
  return !updates_in_place(axis->body, carried);
}

// ---- points that run again

enum { MOST_DIMS = 8 };

// Memory that a point loads from and stores to: is that a row which it fills before?
typedef struct FilledRow {
  const Map *bound;  // Var -> itself: in the point
  const Tensor *root;
  const Axis *axes[MOST_DIMS];  // of the loops that fill it
  int depth;
  const Access *filled;
  bool loads, stores, elsewhere;
} FilledRow;

static bool is_along(const FilledRow *r, const Access *to, int dim) {
  for (int a = 0; a < r->depth; a++)
    if (term_is_var(to->index[dim], r->axes[a]->index))
      return term_same(r->axes[a]->width, to->tensor->dims[dim]);
  return false;
}

typedef struct BoundAsk {
  const Map *bound;
  bool found;
} BoundAsk;

static void ask_bound(void *state, const Var *var) {
  BoundAsk *ask = state;
  ask->found = ask->found || map_has(ask->bound, var);
}

static bool is_steady(const FilledRow *r, const Term *index) {
  BoundAsk ask = { r->bound, false };
  term_each_var(index, ask_bound, &ask);
  return !ask.found;
}

// Every element of a row, by as many loops as it has dimensions?
static bool fills_row(const FilledRow *r, const Access *to) {
  int along = 0;
  for (int i = 0; i < to->tensor->rank; i++) {
    if (is_along(r, to, i))
      along++;
    else if (!is_steady(r, to->index[i]))
      return false;
  }
  return along == r->depth;
}

static const Access *row_filled_by(FilledRow *r, const KernStm *stm) {
  if (stm->kind == KERN_STORE && tensor_root(stm->u.store.to.tensor) == r->root)
    return fills_row(r, &stm->u.store.to) ? &stm->u.store.to : NULL;
  if (stm->kind != KERN_AXIS || r->depth == MOST_DIMS) return NULL;
  const Axis *axis = stm->u.axis;
  if (axis->role != AXIS_MAP && axis->role != AXIS_LOOP) return NULL;
  const Access *filled = NULL;
  r->axes[r->depth++] = axis;
  for (int i = 0; i < axis->body->count && !filled; i++)
    filled = row_filled_by(r, &axis->body->stms[i]);
  r->depth -= !filled;
  return filled;
}

static void see_use(KernVisitor *v, Access access, bool stores) {
  FilledRow *r = v->state;
  if (tensor_root(access.tensor) != r->root) return;
  r->loads = r->loads || !stores;
  r->stores = r->stores || stores;
}

static void see_place(KernVisitor *v, Access access, bool stores) {
  FilledRow *r = v->state;
  (void)stores;
  if (tensor_root(access.tensor) != r->root) return;
  if (access.tensor != r->filled->tensor) r->elsewhere = true;
  for (int i = 0; i < access.tensor->rank && !r->elsewhere; i++)
    if (!is_along(r, r->filled, i) && !term_same(access.index[i], r->filled->index[i]))
      r->elsewhere = true;
}

static bool fills_before(const KernBlock *body, FilledRow r) {
  KernVisitor uses = { .access = see_use, .state = &r },
              places = { .access = see_place, .state = &r };
  for (int i = 0; i < body->count && !r.stores; i++) {
    kern_visit_stm(&uses, &body->stms[i]);
    if (r.loads) return false;
    if (r.stores) r.filled = row_filled_by(&r, &body->stms[i]);
  }
  if (r.filled) kern_visit_block(&places, body);
  return r.filled && !r.elsewhere;
}

typedef struct RunsAgain {
  InPlace uses;
  const KernBlock *body;
  Map *bound;
  bool shows;
} RunsAgain;

static void see_reloaded(void *state, const void *key, void *value) {
  RunsAgain *a = state;
  const Tensor *root = value;
  if (!map_has(a->uses.loaded, key) || map_has(a->uses.made, root)) return;
  FilledRow row = { .bound = a->bound, .root = root };
  a->shows =
      a->shows || map_get(a->uses.loaded, key) != root || !fills_before(a->body, row);
}

static void see_bound(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

bool kern_may_run_again(const Axis *axis) {
  RunsAgain a = { .uses = { .loaded = map_new(NULL),
                            .stored = map_new(NULL),
                            .made = map_new(NULL),
                            .carried = map_new(NULL) },
                  .body = axis->body,
                  .bound = map_new(NULL) };
  KernVisitor v = { .stm = see_made, .access = see_access, .state = &a.uses };
  KernVisitor binders = { .binder = see_bound, .state = a.bound };
  kern_visit_block(&v, axis->body);
  kern_visit_block(&binders, axis->body);
  map_each(a.uses.stored, see_reloaded, &a);
  return !a.shows && !a.uses.ring_stores.count;
}

// ---- the host

typedef struct HostAsk {
  VarVec vars;  // of the term: few
  bool inside;  // the kernel binds one
} HostAsk;

static void ask_for(void *state, const Var *var) {
  HostAsk *ask = state;
  vec_push(&ask->vars, var);
}

static void see_binder(KernVisitor *v, const Var *var) {
  HostAsk *ask = v->state;
  vec_each (const Var **, asked, &ask->vars)
    if (*asked == var) ask->inside = true;
}

bool kern_host_knows(const Kern *kern, const Term *width) {
  HostAsk ask = { 0 };
  term_each_var(width, ask_for, &ask);
  if (!ask.vars.count) return true;
  KernVisitor v = { .binder = see_binder, .state = &ask };
  kern_visit_block(&v, kern->body);
  return !ask.inside;
}

static void note_data(Map *data, const Var *const *vars, int count) {
  for (int i = 0; vars && i < count; i++)
    map_put(data, vars[i], vars[i]);
}

static void see_data(KernVisitor *v, const KernStm *stm) {
  Map *data = v->state;
  if (stm->kind != KERN_LET || term_mentions_any(stm->u.term, data))
    note_data(data, stm->binders, stm->binder_count);
  if (stm->kind == KERN_WHILE)
    note_data(data, stm->u.loop.params, stm->u.loop.param_count);
  if (stm->kind != KERN_AXIS) return;
  const Axis *axis = stm->u.axis;
  note_data(data, axis->params, axis->param_count);
  note_data(data, axis->sums, axis->sums ? kern_sum_count(axis) : 0);
}

Map *kern_data(const Kern *kern) {
  Map *data = map_new(NULL);
  KernVisitor v = { .stm = see_data, .state = data };
  kern_visit_block(&v, kern->body);
  return data;
}

const Term *term_behind(const KernBlock *block, const Term *t) {
  for (int i = 0; t->kind == TERM_VAR && i < block->count; i++)
    if (block->stms[i].kind == KERN_LET && block->stms[i].binders[0] == t->u.var)
      return block->stms[i].u.term;
  return t;
}

bool kern_adds_floats(const KernOp *op) {
  const Term *sum = term_behind(op->block, op->block->results[0]);
  return op->count == 1 && sum->kind == TERM_OP && sum->u.op.op == OP_ADD &&
         (sum->type == PRIM_F32 || sum->type == PRIM_F64) &&
         term_is_var(sum->u.op.args[0], op->params[0]) &&
         term_is_var(sum->u.op.args[1], op->params[1]);
}

static void note_failed(Map *failed, const KernBlock *body, const Term *going) {
  going = term_behind(body, going);
  const Term *no = NULL;
  if (going->kind == TERM_OP && going->u.op.op == OP_NOT) no = going->u.op.args[0];
  if (going->kind == TERM_OP && going->u.op.op == OP_LAND)
    for (int i = 0; i < 2; i++)
      note_failed(failed, body, going->u.op.args[i]);
  if (going->kind == TERM_SELECT && term_is_bool(going->u.select.a, false)) {
    no = going->u.select.condition;
    note_failed(failed, body, going->u.select.b);
  }
  if (no && no->kind == TERM_VAR) map_put(failed, no->u.var, no->u.var);
}

Map *kern_failed(const KernStm *loop) {
  const KernBlock *body = loop->u.loop.body;
  Map *failed = map_new(NULL);
  note_failed(failed, body, body->results[loop->u.loop.which]);
  return failed;
}

// ---- what lies apart

// Are the elements of neighbours a row or more apart, of a length that is not constant?
static bool lies_apart(const Map *lets, Access a, const Var *index) {
  bool constant = true;
  for (int d = a.tensor->rank; d-- > 0;) {
    int dim = a.tensor->order ? a.tensor->order[d] : d;
    const Term *at = term_inlined(lets, a.index[dim]);
    if (!constant && at && term_mentions(at, index)) return true;
    constant = constant && a.tensor->dims[dim]->kind == TERM_CONST;
  }
  return false;
}

bool kern_moves_apart(const KernBlock *point, const Var *index) {
  Map *lets = map_new(NULL);
  bool apart = false;
  for (int i = 0; i < point->count; i++) {
    const KernStm *stm = &point->stms[i];
    if (stm->kind == KERN_LET && stm->u.term->type == PRIM_I64)
      map_put(lets, stm->binders[0], stm->u.term);
    else if (stm->kind == KERN_LOAD)
      apart |= lies_apart(lets, stm->u.load, index);
    else if (stm->kind == KERN_STORE)
      apart |= lies_apart(lets, stm->u.store.to, index);
    else
      return false;
  }
  return apart;
}
