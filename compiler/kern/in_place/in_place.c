// axis n { axis m { let x = if c { .. in {y} } else { let z = a[n, m] in {z} }
//                   r[n, m] = x } }
//   =>   axis n { axis m { if c { .. r[n, m] = y } } }         where r lies where a did
//
// What stays the same is not copied.  Why: eliminations, and other loops that change a region of an
// array in each round, write a part of it; and caches hold one array where they would not hold two.
//
// Legal: each point of the loops around a store has an element of its own and stores it once; each
// load reads what it would have read (in_place_loads.c).
#include "kern/in_place/places.h"
#include "kern/kern_ask.h"
#include "kern/sums.h"

enum {
  MOST_AXES = 16,
  LARGE_RANK = 2,  // of arrays that caches may not hold twice
  LARGE_BITS =
      32,  // of elements; those of narrow ones go in blocks that overlap: schedules/wide.c
};

typedef enum PlacedExtent {
  IN_PLACE_PART,   // where a store is left out
  IN_PLACE_WHOLE,  // also where none is
  IN_PLACE_ALL,    // likewise; and `out` may be loaded, and parts of `from` be saved
} PlacedExtent;

typedef struct Placing {
  KernMapper mapper;
  const Kern *kern;
  ArrayPlace out, from;
  Map *lets;      // Var -> const Term *
  Map *loads;     // Var -> const Access *: of `from`
  Map *mentions;  // Var -> int *
  Map *data;      // Var -> itself: what is neither a let nor an index
  const Axis *around[MOST_AXES];
  int depth;
  bool in_loop;  // and not on the grid
  bool reads;    // of `from`, in whatever dimensions
  bool all;      // IN_PLACE_ALL
  bool kept, refused;
} Placing;

static bool same_array(const Tensor *a, const Tensor *b) {
  return a == b || (a->host && a->host == b->host);
}

bool in_place_is(ArrayPlace place, Access access) {
  return same_array(place.tensor, access.tensor) &&
         (!place.at || term_same(place.at, access.index[0]));
}

int in_place_first(ArrayPlace place) { return place.at ? 1 : 0; }

// ---- what there is

// Memory that differs in size from point to point makes kernels run again: lower/kernel.c.
static void see_own_memory(KernVisitor *v, const KernStm *stm) {
  Placing *p = v->state;
  for (int i = 0; stm->kind != KERN_LET && i < stm->binder_count; i++)
    map_put(p->data, stm->binders[i], stm);
  if (stm->kind == KERN_LOAD && in_place_is(p->from, stm->u.load))
    map_put(p->loads, stm->binders[0], &stm->u.load);
  bool again = stm->kind == KERN_ROOM;
  for (int i = 0; stm->kind == KERN_ALLOC && i < stm->u.tensor->rank; i++)
    again |= !kern_host_knows(p->kern, stm->u.tensor->dims[i]);
  if (again && p->from.tensor->host) p->refused = true;
}

// Only loads of one, and stores to the other, in their own dimensions.  What is loaded of that is
// what the block has stored there, wherever it lies.
static void see_array(KernVisitor *v, Access access, bool stores) {
  Placing *p = v->state;
  const Tensor *root = tensor_root(access.tensor);
  bool both = same_array(root, p->from.tensor) || same_array(root, p->out.tensor);
  p->reads = p->reads || same_array(root, p->from.tensor);
  if (!both) return;
  bool from = in_place_is(p->from, access), out = in_place_is(p->out, access);
  if (root != access.tensor || (from && stores) || (out && !stores && !p->all))
    p->refused = true;
}

static void see_var(void *state, const Var *var) {
  Placing *p = state;
  int *count = map_get(p->mentions, var);
  if (!count) map_put(p->mentions, var, count = new_array(int, 1));
  ++*count;
}

static void see_term(KernVisitor *v, const Term *t) {
  term_each_var(t, see_var, v->state);
}

// ---- once each

static bool has_own_element(Placing *p, const Access *to) {
  for (int i = 0; i < p->depth; i++) {
    bool found = false;
    for (int d = 0; d < to->tensor->rank; d++) {
      const Term *index = term_inlined(p->lets, to->index[d]);
      found |= index && index->kind == TERM_VAR && index->u.var == p->around[i]->index;
    }
    if (!found) return false;
  }
  return true;
}

static bool stores_once(Placing *p, const KernBlock *block, bool *stored);

static bool axis_stores_once(Placing *p, const Axis *axis, bool *stored) {
  if (p->depth == MOST_AXES) return false;
  p->around[p->depth++] = axis;
  bool once = stores_once(p, axis->body, stored) &&
              (!axis->after || stores_once(p, axis->after, stored));
  p->depth--;
  return once;
}

static bool stm_stores_once(Placing *p, const KernStm *stm, bool *stored) {
  if (stm->kind == KERN_AXIS) return axis_stores_once(p, stm->u.axis, stored);
  if (stm->kind == KERN_WHILE) {
    bool inside = false;
    return stores_once(p, stm->u.loop.body, &inside) && !inside;
  }
  if (stm->kind == KERN_IF) {
    bool before = *stored, other = before;
    if (!stores_once(p, stm->u.cond.then_block, stored) ||
        !stores_once(p, stm->u.cond.else_block, &other))
      return false;
    *stored = *stored || other;
    return true;
  }
  if (stm->kind != KERN_STORE || !in_place_is(p->out, stm->u.store.to)) return true;
  if (*stored || !has_own_element(p, &stm->u.store.to)) return false;
  return *stored = true;
}

// Does a point store at most one element, of its own?  stored: whether it may have.
static bool stores_once(Placing *p, const KernBlock *block, bool *stored) {
  for (int i = 0; i < block->count; i++)
    if (!stm_stores_once(p, &block->stms[i], stored)) return false;
  return true;
}

// ---- stores where values are made

// let y = x   =>   x
static const Term *renamed(const Placing *p, const Term *t) {
  const Term *let = t->kind == TERM_VAR ? map_get(p->lets, t->u.var) : NULL;
  return let && let->kind == TERM_VAR ? renamed(p, let) : t;
}

static bool is_kept(const Placing *p, const Access *to, const Term *value) {
  const Access *load = value->kind == TERM_VAR ? map_get(p->loads, value->u.var) : NULL;
  for (int d = in_place_first(p->out); load && d < to->tensor->rank; d++) {
    const Term *a = term_inlined(p->lets, load->index[d]);
    const Term *b = term_inlined(p->lets, to->index[d]);
    if (!a || !b || !term_same(a, b)) return false;
  }
  return load != NULL;
}

static bool is_linear(const Placing *p, const Term *t) {
  if (t->kind == TERM_CONST) return true;
  if (t->kind == TERM_VAR) return !map_has(p->data, t->u.var);
  bool sum = t->kind == TERM_OP && (t->u.op.op == OP_ADD || t->u.op.op == OP_SUB);
  return sum && is_linear(p, t->u.op.args[0]) && is_linear(p, t->u.op.args[1]);
}

// Comparisons of indices, which cut loops (steps/cut.c): of conditions that differ from element to
// element the outcome is better chosen than branched on.
static bool is_region(const Placing *p, const Term *t) {
  if (t->kind != TERM_OP) return t->kind == TERM_VAR && is_linear(p, t);
  PrimOp op = t->u.op.op;
  if (op == OP_NOT) return is_region(p, t->u.op.args[0]);
  bool compares = op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (op == OP_LAND || op == OP_LOR) return is_region(p, a) && is_region(p, b);
  return compares && t->u.op.operands == PRIM_I64 && is_linear(p, a) && is_linear(p, b);
}

static bool is_by_place(const Placing *p, const Term *condition) {
  const Term *t = term_inlined(p->lets, condition);
  return p->in_loop && t && is_region(p, t);
}

// Does nothing but the store read the value, under any of its names?
static bool is_for_store(const Placing *p, const Term *value) {
  const int *mentions =
      value->kind == TERM_VAR ? map_get(p->mentions, value->u.var) : NULL;
  if (!mentions || *mentions > 1) return false;
  const Term *let = map_get(p->lets, value->u.var);
  return !let || (let->kind == TERM_VAR && is_for_store(p, let));
}

// The branches that make the value, if nothing but lets follows them; or -1.
static int branches_of(const Placing *p, const KernBuilder *b, const Term *value) {
  if (value->kind != TERM_VAR) return -1;
  for (int i = b->stms.count - 1; i >= 0; i--) {
    const KernStm *stm = &b->stms.at[i];
    if (stm->kind == KERN_LET) continue;
    bool makes =
        stm->kind == KERN_IF && stm->binder_count == 1 && stm->binders[0] == value->u.var;
    return makes && is_by_place(p, stm->u.cond.condition) ? i : -1;
  }
  return -1;
}

static void add_store(Placing *p, KernBuilder *b, Access to, const Term *value);

static const KernBlock *storing(Placing *p, Access to, const KernBlock *block) {
  KernBuilder b = kern_builder(p->mapper.c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++)
    kern_add(&b, block->stms[i]);
  add_store(p, &b, to, block->results[0]);
  return kern_block(&b, NULL, 0);
}

static void add_store(Placing *p, KernBuilder *b, Access to, const Term *value) {
  const Term *made = renamed(p, value);
  if (is_kept(p, &to, made)) {
    p->kept = true;
    return;
  }
  int at = is_for_store(p, value) ? branches_of(p, b, made) : -1;
  if (at < 0) {
    kern_store(b, to, value);
    return;
  }
  KernStm stm = b->stms.at[at];
  stm.binder_count = 0;
  stm.u.cond.then_block = storing(p, to, stm.u.cond.then_block);
  stm.u.cond.else_block = storing(p, to, stm.u.cond.else_block);
  b->stms.at[at] = stm;
}

// Indices that are bound behind the branches are not known in them.
static Access with_plain_index(const Placing *p, Access to) {
  const Term **index = new_array(const Term *, to.tensor->rank + 1);
  for (int d = 0; d < to.tensor->rank; d++) {
    const Term *t = term_inlined(p->lets, to.index[d]);
    index[d] = t ? t : to.index[d];
  }
  return (Access){ to.tensor, index };
}

static const KernBlock *store_in(KernMapper *m, const KernBlock *block) {
  Placing *p = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  bool outside = p->in_loop;
  for (int i = 0; i < block->count; i++) {
    const KernStm *old = &block->stms[i];
    p->in_loop = outside || (old->kind == KERN_AXIS && old->u.axis->bind == BIND_SEQ);
    KernStm stm = kern_map_stm(m, old);
    p->in_loop = outside;
    b.loc = stm.loc;
    if (stm.kind == KERN_STORE && in_place_is(p->out, stm.u.store.to))
      add_store(p, &b, with_plain_index(p, stm.u.store.to), stm.u.store.value);
    else
      kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

// ---- rows

// The axes of the grid behind the first few become loops, which can be cut.
static const KernBlock *with_rows(const KernBlock *block, int dims) {
  if (block->count != 1 || block->stms[0].kind != KERN_AXIS) return block;
  Axis *axis = mem_copy(block->stms[0].u.axis, sizeof *axis);
  if (axis->bind != BIND_GRID) return block;
  if (dims <= 0) axis->bind = BIND_SEQ;
  axis->body = with_rows(axis->body, dims - 1);
  KernStm *stm = mem_copy(&block->stms[0], sizeof *stm);
  stm->u.axis = axis;
  return new_node(KernBlock, .stms = stm, .count = 1);
}

// ---- all

static bool fits(Placing *p, const KernBlock *block) {
  bool stored = false;
  KernVisitor v = {
    .stm = see_own_memory, .access = see_array, .term = see_term, .state = p
  };
  kern_visit_block(&v, block);
  return !p->refused && stores_once(p, block, &stored);
}

static Placing placing(const Kern *kern, ArrayPlace out, ArrayPlace from) {
  return (Placing){ .kern = kern,
                    .out = out,
                    .from = from,
                    .lets = sum_lets(kern),
                    .loads = map_new(NULL),
                    .mentions = map_new(NULL),
                    .data = map_new(NULL) };
}

bool in_place_fits(const Kern *kern, const KernBlock *block, ArrayPlace out,
                   ArrayPlace from, bool *loads) {
  Placing p = placing(kern, out, from);
  bool fit = fits(&p, block);
  *loads = p.reads;
  return fit;
}

static const KernBlock *placed(Compiler *c, const Kern *kern, const KernBlock *block,
                               ArrayPlace out, ArrayPlace from, PlacedExtent how) {
  bool all = how == IN_PLACE_ALL;
  Placing p = placing(kern, out, from);
  p.all = all;
  p.mapper = (KernMapper){ .c = c, .block = store_in, .state = &p };
  const KernBlock *live = kern_live_block(c, block);
  if (!fits(&p, live) || !map_count(p.loads)) return NULL;
  const KernBlock *storing = store_in(&p.mapper, live);
  if (!p.kept && how == IN_PLACE_PART) return NULL;
  return in_place_loads(c, kern, p.lets, kern_live_block(c, storing), out, from, all);
}

static void see_computation(KernVisitor *v, const KernStm *stm) {
  bool goes_on = stm->kind == KERN_WHILE || stm->kind == KERN_CALL ||
                 (stm->kind == KERN_AXIS && stm->u.axis->role != AXIS_MAP);
  if (goes_on) *(bool *)v->state = false;
}

// Points that have no loops wait for memory, which writes of fresh arrays also read; those that
// compute are quicker in blocks that overlap, which in place they must not.
static bool waits_for_memory(const Kern *kern, const Tensor *out) {
  bool waits = out->rank >= LARGE_RANK && prim_bits(out->elem) >= LARGE_BITS;
  KernVisitor v = { .stm = see_computation, .state = &waits };
  kern_visit_block(&v, kern->body);
  return waits;
}

const Kern *kern_in_place(Compiler *c, const Kern *kern, const Tensor *out,
                          const Tensor *from, int dims) {
  Kern rows = *kern;
  rows.body = with_rows(kern->body, dims);
  ArrayPlace to = { out, NULL }, place = { from, NULL };
  const KernBlock *body = placed(c, &rows, rows.body, to, place, IN_PLACE_PART);
  if (!body && waits_for_memory(kern, out))
    body = placed(c, &rows, rows.body, to, place, IN_PLACE_WHOLE);
  rows.body = body;
  return body ? mem_copy(&rows, sizeof rows) : NULL;
}

// ---- rings

typedef struct Ringing {
  KernMapper mapper;
  const Kern *kern;
  bool one_for_two;
} Ringing;

typedef struct RingStore {
  const Term *at;
  const Tensor *tensor;  // what is stored to there; NULL: nothing
} RingStore;

static void see_ring_store(KernVisitor *v, Access access, bool stores) {
  RingStore *s = v->state;
  if (stores && access.tensor->rank > 0 && !access.tensor->host &&
      term_same(access.index[0], s->at))
    s->tensor = access.tensor;
}

typedef struct PlaceUse {
  const Var *place;
  int mentions, indices;  // in all terms; as the first index of an access
} PlaceUse;

static void see_place(void *state, const Var *var) {
  PlaceUse *use = state;
  use->mentions += var == use->place;
}

static void see_place_term(KernVisitor *v, const Term *t) {
  term_each_var(t, see_place, v->state);
}

static void see_place_index(KernVisitor *v, Access access, bool stores) {
  PlaceUse *use = v->state;
  (void)stores;
  if (access.tensor->rank == 0) return;
  const Term *at = access.index[0];
  use->indices += at->kind == TERM_VAR && at->u.var == use->place;
}

// Is the place nothing but the first index of accesses, and once what another one is in the next
// round?  Else it might have a name that the loads and stores are not known by.
static bool is_only_index(const Axis *loop, int param) {
  PlaceUse use = { .place = loop->params[param] };
  KernVisitor v = { .term = see_place_term, .access = see_place_index, .state = &use };
  kern_visit_block(&v, loop->body);
  return use.mentions == use.indices + 1;
}

static bool becomes(const Axis *loop, int param, int other) {
  const Term *next = loop->body->results[param];
  return next->kind == TERM_VAR && next->u.var == loop->params[other];
}

// loop (p = .., s = ..) { ring[s, ..] = .. } in {s, p}   =>   { ring[p, ..] = .. } in {p, s}
//
// Places that change in pairs are one of a parameter and a spare one, which the round fills whole:
// from/ring.c.
enum {
  FEW_OPERATIONS = 4
};  // so that a round takes as long as its elements take to come by

typedef struct RingWork {
  PrimType elem;
  int operations;
} RingWork;

static int operations_of(const Term *t, PrimType type) {
  const Term *operands[3];
  int count = term_operands(t, operands), sum = t->kind == TERM_OP && t->type == type;
  for (int i = 0; i < count; i++)
    sum += operations_of(operands[i], type);
  return sum;
}

static void count_ring_work(KernVisitor *v, const Term *term) {
  RingWork *w = v->state;
  w->operations += operations_of(term, w->elem);
}

static bool does_little(const KernBlock *body, PrimType elem) {
  RingWork work = { .elem = elem };
  KernVisitor v = { .term = count_ring_work, .state = &work };
  kern_visit_block(&v, body);
  return work.operations <= FEW_OPERATIONS;
}

static const KernBlock *ring_in_place(Ringing *r, const Axis *loop, int p, int s) {
  RingStore store = { term_var(loop->params[s]), NULL };
  KernVisitor v = { .access = see_ring_store, .state = &store };
  kern_visit_block(&v, loop->body);
  if (!store.tensor || !is_only_index(loop, p) || !is_only_index(loop, s)) return NULL;
  ArrayPlace out = { store.tensor, store.at },
             from = { store.tensor, term_var(loop->params[p]) };
  bool all =
      store.tensor->rank - 1 >= LARGE_RANK && prim_bits(store.tensor->elem) >= LARGE_BITS;
  const KernBlock *body =
      placed(r->mapper.c, r->kern, loop->body, out, from, IN_PLACE_PART);
  bool stays = body != NULL;
  if (!stays && all)
    body = placed(r->mapper.c, r->kern, loop->body, out, from, IN_PLACE_ALL);
  if (!body) return NULL;
  if (!stays && does_little(loop->body, store.tensor->elem)) r->one_for_two = true;
  const Term **results = new_array(const Term *, body->result_count);
  for (int i = 0; i < body->result_count; i++)
    results[i] = i == p || i == s ? term_var(loop->params[i]) : body->results[i];
  return new_node(KernBlock, .stms = body->stms, .count = body->count, .results = results,
                  .result_count = body->result_count);
}

static const Axis *loop_in_place(Ringing *r, const Axis *loop) {
  for (int p = 0; p < loop->param_count; p++)
    for (int s = 0; s < loop->param_count; s++) {
      if (p == s || !becomes(loop, p, s) || !becomes(loop, s, p)) continue;
      const KernBlock *body = ring_in_place(r, loop, p, s);
      if (!body) continue;
      Axis *copy = mem_copy(loop, sizeof *loop);
      copy->body = body;
      return loop_in_place(r, copy);
    }
  return loop;
}

static const KernBlock *rings_in(KernMapper *m, const KernBlock *block) {
  Ringing *r = m->state;
  KernStm *stms = new_array(KernStm, block->count + 1);
  for (int i = 0; i < block->count; i++) {
    stms[i] = kern_map_stm(m, &block->stms[i]);
    if (stms[i].kind == KERN_AXIS && stms[i].u.axis->role == AXIS_LOOP)
      stms[i].u.axis = loop_in_place(r, stms[i].u.axis);
  }
  return new_node(KernBlock, .stms = stms, .count = block->count,
                  .results = block->results, .result_count = block->result_count);
}

const Kern *kern_rings_in_place(Compiler *c, const Kern *kern) {
  Ringing r = { .mapper = { .c = c, .block = rings_in }, .kern = kern };
  r.mapper.state = &r;
  Kern out = *kern;
  out.body = rings_in(&r.mapper, kern->body);
  out.one_for_two = r.one_for_two;
  return mem_copy(&out, sizeof out);
}
