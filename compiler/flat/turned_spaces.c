// segmap <i < n> <j < m> { .. xss[j, i] .. in {y} }
//   =>  let t = segmap <j < m> <i < n> { .. xss[j, i] .. in {y} }   rearrange (1, 0) t
//
// where neighbouring points of the space would touch words that lie apart, and in that order of the
// dimensions fewer do.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  Arrays that neighbouring items read apart are copied in another layout, and
// the result, if it is rearranged in the end, once more.  Maps of columns, and filters along each
// dimension of a picture or a cube, go as memory lies instead, and rows share what they read
// (kern/schedules/group_strips.c).
#include "base/map.h"
#include "core/passes.h"
#include "flat/spaces.h"

enum { MOST_DIMS = 8, LEAST_NEIGHBOURS = 16 };

// What is read, or copied, by the number of its dimensions: as many as the space has, or fewer.
enum { COST_WHOLE = 4, COST_PART = 1 };

// How whoever takes an array wants its dimensions in memory; NULL: in any order.
typedef const int *Wish;

typedef struct Turning {
  Compiler *c;
  Map *views;  // Var -> const Exp *: arrays of the host that are rearrangements of others
  Map *iotas;  // Var -> Var: those whose elements are their indices
  const Wish *results;  // of the body at hand
} Turning;

// An array that points read: the dimensions of the space along which neighbours would touch words
// apart, and those along which it is read in order.
typedef struct TurnRead {
  const Var *root;
  unsigned apart, in_order;
  unsigned on[MOST_DIMS];  // for each of its dimensions in memory, those of the space
} TurnRead;

typedef struct TurnedSpace {
  const Turning *s;
  const Stm *stm;
  const SegOp *seg;
  Map *depends;  // Var -> const unsigned *: on which dimensions of the space
  Map *own;      // Var -> const Exp *: what the body binds
  Vec(TurnRead) reads;
  const Wish *wishes;  // for the results
} TurnedSpace;

// ---- what differs along the dimensions

static unsigned atom_depends(const TurnedSpace *t, Atom a) {
  const unsigned *on = a.kind == ATOM_VAR ? map_get(t->depends, a.u.var) : NULL;
  return on ? *on : 0;
}

static void note_depends(const TurnedSpace *t, const Var *var, unsigned on) {
  if (on) map_put(t->depends, var, mem_copy(&on, sizeof on));
}

static bool reads_iota(const TurnedSpace *t, const Exp *e) {
  return e->kind == EXP_INDEX && e->u.index.dim_count == 1 &&
         map_has(t->s->iotas, e->u.index.array.u.var);
}

static unsigned scalar_depends(const TurnedSpace *t, const Exp *e) {
  unsigned on = 0;
  if (reads_iota(t, e)) return atom_depends(t, e->u.index.dims[0].start);
  if (e->kind == EXP_ATOM) return atom_depends(t, e->u.atom.atom);
  if (e->kind == EXP_CONVERT) return atom_depends(t, e->u.convert.atom);
  for (int i = 0; e->kind == EXP_OP && i < op_arity(e->u.op.op); i++)
    on |= atom_depends(t, e->u.op.args[i]);
  return on;
}

// ---- reads

// What the indices of an array depend on, in as many dimensions.
typedef struct TurnIndex {
  const Var *array;
  int rank;
  unsigned on[MOST_DIMS];
} TurnIndex;

static void see_through_rearrange(TurnIndex *x, const Exp *view) {
  TurnIndex out = { .array = view->u.rearrange.array.u.var, .rank = x->rank };
  for (int d = 0; d < x->rank; d++)
    out.on[view->u.rearrange.perm[d]] = x->on[d];
  *x = out;
}

static bool see_through_index(const TurnedSpace *t, TurnIndex *x, const Exp *e) {
  TurnIndex out = { .array = e->u.index.array.u.var, .rank = e->u.index.dim_count };
  if (out.rank > MOST_DIMS) return false;
  for (int d = 0, next = 0; d < out.rank; d++) {
    const DimIndex *dim = &e->u.index.dims[d];
    out.on[d] = atom_depends(t, dim->start);
    if (dim->is_slice) out.on[d] |= x->on[next++];
  }
  *x = out;
  return true;
}

// The array outside of the body, as it lies in memory, of which an index reads; false if there is
// none.
static bool find_root(const TurnedSpace *t, const Exp *read, TurnIndex *x) {
  *x = (TurnIndex){ .rank = 0 };
  if (!see_through_index(t, x, read)) return false;
  for (;;) {
    const Exp *own = map_get(t->own, x->array), *view = map_get(t->s->views, x->array);
    if (own && own->kind == EXP_INDEX) {
      if (!see_through_index(t, x, own)) return false;
    } else if (own ? own->kind == EXP_REARRANGE : view != NULL) {
      see_through_rearrange(x, own ? own : view);
    } else {
      return !own && x->rank >= 2;
    }
  }
}

static TurnRead *read_of(TurnedSpace *t, const TurnIndex *x) {
  vec_each (TurnRead *, read, &t->reads)
    if (read->root == x->array) return read;
  TurnRead fresh = { .root = x->array };
  for (int d = 0; d < x->rank; d++)
    fresh.on[d] = x->on[d];
  vec_push(&t->reads, fresh);
  return &t->reads.at[t->reads.count - 1];
}

static void note_turn_read(TurnedSpace *t, const Exp *e) {
  TurnIndex x;
  unsigned others = 0;
  if (!find_root(t, e, &x)) return;
  for (int d = 0; d < x.rank - 1; d++)
    others |= x.on[d];
  TurnRead *read = read_of(t, &x);
  read->apart |= others & ~x.on[x.rank - 1];
  read->in_order |= x.on[x.rank - 1] & ~others;
}

// Does it give a row, that others read elements of?
static bool gives_rows(const Stm *stm) { return stm->binders[0]->type.rank > 0; }

static void note_turn_stms(CoreVisitor *v, const Body *body) {
  TurnedSpace *t = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (stm->exp->kind == EXP_INDEX && !gives_rows(stm)) note_turn_read(t, stm->exp);
    core_visit_exp(v, stm->exp);
    for (int k = 0; k < stm->binder_count; k++)
      map_put(t->own, stm->binders[k], stm->exp);
    note_depends(t, stm->binders[0], scalar_depends(t, stm->exp));
  }
}

// ---- orders of the dimensions

typedef struct TurnOrder {
  int dims[MOST_DIMS];  // of the space, outermost first
} TurnOrder;

static int read_cost(const TurnedSpace *t, const TurnRead *read) {
  return read->root->type.rank >= t->seg->dim_count ? COST_WHOLE : COST_PART;
}

static bool fulfils(const TurnedSpace *t, const TurnOrder *order, Wish wish) {
  for (int d = 0; wish && d < t->seg->dim_count; d++)
    if (wish[d] != order->dims[d]) return false;
  return true;
}

static int cost_of_order(const TurnedSpace *t, const TurnOrder *order) {
  unsigned inner = 1u << order->dims[t->seg->dim_count - 1];
  int cost = 0;
  vec_each (const TurnRead *, read, &t->reads)
    if (read->apart & inner) cost += read_cost(t, read);
  for (int i = 0; i < t->stm->binder_count; i++)
    if (!fulfils(t, order, t->wishes[i])) cost += COST_WHOLE;
  return cost;
}

// Puts those of the dimensions that are not there yet in their places from `next` on.
static int put_dims(const TurnedSpace *t, TurnOrder *order, unsigned on, unsigned *seen,
                    int next) {
  for (int d = 0; d < t->seg->dim_count; d++) {
    if (!(on & ~*seen & 1u << d)) continue;
    *seen |= 1u << d;
    order->dims[next++] = d;
  }
  return next;
}

// As the array lies in memory; what it does not depend on goes outside.
static TurnOrder order_of_read(const TurnedSpace *t, const TurnRead *read, int inner) {
  TurnOrder order;
  unsigned along = 0, seen = 1u << inner;
  for (int d = 0; d < read->root->type.rank; d++)
    along |= read->on[d];
  int next = put_dims(t, &order, ~along, &seen, 0);
  for (int d = 0; d < read->root->type.rank; d++)
    next = put_dims(t, &order, read->on[d], &seen, next);
  order.dims[next] = inner;
  return order;
}

static bool may_be_inside(const TurnedSpace *t, int d) {
  Atom width = t->seg->dims[d].width;
  return width.kind == ATOM_VAR || width.u.constant.u.i >= LEAST_NEIGHBOURS;
}

// The best order with another dimension inside; false if there is none that is better.
static bool find_order(const TurnedSpace *t, TurnOrder *out) {
  int count = t->seg->dim_count;
  TurnOrder present;
  for (int d = 0; d < count; d++)
    present.dims[d] = d;
  int least = cost_of_order(t, &present);
  bool found = false;
  vec_each (const TurnRead *, read, &t->reads)
    for (int inner = 0; inner < count - 1; inner++) {
      if (!(read->in_order & 1u << inner) || !may_be_inside(t, inner)) continue;
      TurnOrder order = order_of_read(t, read, inner);
      int cost = cost_of_order(t, &order);
      if (cost >= least) continue;
      least = cost;
      *out = order;
      found = true;
    }
  return found;
}

// ---- the seg-op

static bool may_turn(const Stm *stm) {
  const SegOp *seg = stm->exp->kind == EXP_SEG ? stm->exp->u.seg : NULL;
  if (!seg || seg->kind != SEG_MAP || seg->level != 1 || seg->dim_count < 2 ||
      seg->dim_count > MOST_DIMS || flat_has_inner_seg(seg))
    return false;
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank != seg->dim_count) return false;
  return true;
}

// let y = rearrange perm (segmap of the dimensions in that order)
static void add_turned(const TurnedSpace *t, Builder *b, const TurnOrder *order) {
  int count = t->seg->dim_count, back[MOST_DIMS];
  SegOp *seg = mem_copy(t->seg, sizeof *t->seg);
  SegDim *dims = new_array(SegDim, count);
  for (int d = 0; d < count; d++) {
    dims[d] = t->seg->dims[order->dims[d]];
    back[order->dims[d]] = d;
  }
  seg->dims = dims;
  Atom *made = new_array(Atom, t->stm->binder_count);
  core_let_n(b, "turned", exp_seg(seg), made);
  for (int i = 0; i < t->stm->binder_count; i++) {
    const Exp *view = exp_rearrange(back, count, made[i]);
    map_put(t->s->views, t->stm->binders[i], view);
    core_let_vars(b, t->stm->binders + i, 1, view);
  }
}

// False if it stays as it is.
static bool turn_space(const Turning *s, Builder *b, const Stm *stm, const Wish *wishes) {
  if (!may_turn(stm)) return false;
  TurnedSpace t = { .s = s,
                    .stm = stm,
                    .seg = stm->exp->u.seg,
                    .depends = map_new(NULL),
                    .own = map_new(NULL),
                    .wishes = wishes };
  CoreVisitor v = { .body = note_turn_stms, .state = &t };
  for (int d = 0; d < t.seg->dim_count; d++)
    note_depends(&t, t.seg->dims[d].index, 1u << d);
  note_turn_stms(&v, t.seg->body);
  TurnOrder order;
  if (!find_order(&t, &order)) return false;
  add_turned(&t, b, &order);
  return true;
}

// ---- the host's code

static Wish plain_wish(int rank) {
  int *order = new_array(int, rank + 1);
  for (int d = 0; d < rank; d++)
    order[d] = d;
  return order;
}

// What the only reader of the variable makes of it.
static Wish wish_for(const Turning *s, const Body *body, int position, const Var *var) {
  for (int i = position + 1; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind == EXP_REARRANGE && atom_equal(e->u.rearrange.array, atom_var(var)))
      return e->u.rearrange.perm;
  }
  for (int k = 0; k < body->result_count; k++)
    if (atom_equal(body->results[k], atom_var(var)))
      return s->results ? s->results[k] : plain_wish(var->type.rank);
  return NULL;
}

static const Wish *wishes_for(const Turning *s, const Body *body, int position,
                              const Map *uses) {
  const Stm *stm = &body->stms[position];
  Wish *wishes = new_array(Wish, stm->binder_count + 1);
  for (int k = 0; k < stm->binder_count; k++) {
    const int *count = map_get(uses, stm->binders[k]);
    if (count && *count == 1) wishes[k] = wish_for(s, body, position, stm->binders[k]);
  }
  return wishes;
}

// Branches give what is wanted of their results; loops carry rows.
static const Exp *turn_inside(CoreMapper *m, const Exp *e, const Wish *wishes) {
  Turning *s = m->state;
  if (e->kind != EXP_IF && e->kind != EXP_GUARD && e->kind != EXP_LOOP) return e;
  const Wish *outside = s->results;
  s->results = e->kind == EXP_LOOP ? NULL : wishes;
  e = core_map_exp(m, e);
  s->results = outside;
  return e;
}

static void note_host_array(const Turning *s, const Stm *stm) {
  const Var *var = stm->binders[0];
  if (stm->exp->kind == EXP_REARRANGE) map_put(s->views, var, stm->exp);
  if (flat_makes_iota(stm->exp)) map_put(s->iotas, var, var);
}

static const Body *turn_host_body(CoreMapper *m, const Body *body) {
  Turning *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  const Map *uses = core_uses(body);
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    const Wish *wishes = wishes_for(s, body, i, uses);
    b.loc = stm.loc;
    b.attrs = stm.attrs;
    note_host_array(s, &stm);
    stm.exp = turn_inside(m, stm.exp, wishes);
    if (!turn_space(s, &b, &stm, wishes)) core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Core *flat_turn_spaces(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  Turning s = { c, map_new(NULL), map_new(NULL), NULL };
  CoreMapper m = { .body = turn_host_body, .state = &s };
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    entry->body = turn_host_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
