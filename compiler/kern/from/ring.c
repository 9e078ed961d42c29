// Loops whose arrays go from round to round without a copy.
//
//   loop (before, last) = (a, b) for d < n do let next = map .. in (last, next)
//     =>  ring = [a, b, _]; loop (p, q, r) = (0, 1, 2) { next in ring[r]; .. } (q, r, p)
//
// Arrays of one shape that trade places, or make way for a new one, share a ring: what moves is
// the number of a place.  A new array is made in the place that nobody holds; the place of the one
// that no parameter takes over is free in the next round.
#include "kern/from/from_flat.h"

enum {
  FEW_ELEMENTS = 64,  // may live in registers, where places are no numbers
  FEW_ROUNDS = 2,     // not worth the copies before and after the loop
};

// How a parameter gets its next value.
typedef struct RingMember {
  int param;
  int from;          // a member, or -1: it is made in the round
  const Var *place;  // where it lies
} RingMember;

struct Ring {
  View all;
  RingMember *members;
  int count;
  const Var **spares;  // places that new arrays are made in, in the order of the members
  int spare_count;
  const Var **last;  // places after the loop
};

// ---- which parameters

static bool makes_array(const Exp *exp) {
  return exp->kind == EXP_MAP || exp->kind == EXP_REDOMAP || exp->kind == EXP_SCANOMAP ||
         exp->kind == EXP_CONCAT || exp->kind == EXP_ROTATE;
}

static bool made_in_round(const Body *body, Atom result) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (result.kind == ATOM_VAR && body->stms[i].binders[k] == result.u.var)
        return makes_array(body->stms[i].exp);
  return false;
}

static int param_that_is(const Exp *loop, Atom result) {
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (result.kind == ATOM_VAR && loop->u.loop.params[i] == result.u.var) return i;
  return -1;
}

static bool has_few_elements(CoreType type) {
  int64_t elements = 1;
  for (int i = 0; i < type.rank; i++) {
    if (type.dims[i].kind != ATOM_CONST) return false;
    int64_t size = type.dims[i].u.constant.u.i;
    if (size > FEW_ELEMENTS) return false;
    elements *= size;
  }
  return elements <= FEW_ELEMENTS;
}

static bool same_type(CoreType a, CoreType b) {
  if (a.elem != b.elem || a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; i++)
    if (!atom_equal(a.dims[i], b.dims[i])) return false;
  return true;
}

static bool size_is_param(const Exp *loop, CoreType type) {
  for (int d = 0; d < type.rank; d++)
    if (param_that_is(loop, type.dims[d]) >= 0) return true;
  return false;
}

static bool may_join(const Exp *loop, int i) {
  CoreType type = loop->u.loop.params[i]->type;
  Atom result = loop->u.loop.body->results[i];
  if (type.rank == 0 || has_few_elements(type) || size_is_param(loop, type)) return false;
  int from = param_that_is(loop, result);
  if (from < 0) return made_in_round(loop->u.loop.body, result);
  return from != i && same_type(type, loop->u.loop.params[from]->type);
}

// Does an earlier one that joins take the same value?
static bool is_second(const Exp *loop, const bool *joins, int i) {
  for (int j = 0; j < i; j++)
    if (joins[j] &&
        atom_equal(loop->u.loop.body->results[i], loop->u.loop.body->results[j]))
      return true;
  return false;
}

// What takes the place of one that does not join, cannot either.
static const bool *joining(const Exp *loop) {
  int count = loop->u.loop.param_count;
  bool *joins = new_array(bool, count + 1), changed = true;
  for (int i = 0; i < count; i++)
    joins[i] = may_join(loop, i) && !is_second(loop, joins, i);
  while (changed) {
    changed = false;
    for (int i = 0; i < count; i++) {
      int from = param_that_is(loop, loop->u.loop.body->results[i]);
      if (!joins[i] || from < 0 || joins[from]) continue;
      joins[i] = false;
      changed = true;
    }
  }
  return joins;
}

static bool has_few_rounds(const Exp *loop) {
  Atom bound = loop->u.loop.bound;
  return loop->u.loop.form == CORE_FOR && bound.kind == ATOM_CONST &&
         bound.u.constant.u.i <= FEW_ROUNDS;
}

// ---- rings

static void find_sources(Ring *ring, const Exp *loop) {
  for (int k = 0; k < ring->count; k++) {
    RingMember *member = &ring->members[k];
    int source = param_that_is(loop, loop->u.loop.body->results[member->param]);
    member->from = -1;
    for (int m = 0; m < ring->count; m++)
      if (ring->members[m].param == source) member->from = m;
    ring->spare_count += member->from < 0;
  }
}

static void make_places(From *f, Ring *ring) {
  ring->spares = new_array(const Var *, ring->spare_count + 1);
  ring->last = new_array(const Var *, ring->count);
  for (int k = 0; k < ring->count; k++) {
    ring->members[k].place = kern_index(f->c, "place", f->b->loc);
    ring->last[k] = kern_index(f->c, "place", f->b->loc);
  }
  for (int k = 0; k < ring->spare_count; k++)
    ring->spares[k] = kern_index(f->c, "spare", f->b->loc);
}

static void alloc_ring(From *f, Ring *ring, const Exp *loop) {
  const Var *first = loop->u.loop.params[ring->members[0].param];
  CoreType type = first->type;
  Atom *dims = new_array(Atom, type.rank + 1);
  dims[0] = atom_i64(ring->count + ring->spare_count);
  for (int i = 0; i < type.rank; i++)
    dims[i + 1] = type.dims[i];
  ring->all = from_alloc_ring(
      f, first->name,
      (CoreType){ .elem = type.elem, .rank = type.rank + 1, .dims = dims });
  for (int k = 0; k < ring->count; k++) {
    View place = view_at(&ring->all, term_i64(k));
    from_copy(f, &place, from_view(f, loop->u.loop.inits[ring->members[k].param]));
  }
}

static Ring *ring_of(From *f, const Exp *loop, const bool *joins, bool *taken,
                     int first) {
  int count = loop->u.loop.param_count;
  Ring *ring = new_node(Ring, .members = new_array(RingMember, count));
  for (int i = first; i < count; i++) {
    if (!joins[i] || taken[i] ||
        !same_type(loop->u.loop.params[first]->type, loop->u.loop.params[i]->type))
      continue;
    taken[i] = true;
    ring->members[ring->count++].param = i;
  }
  find_sources(ring, loop);
  make_places(f, ring);
  alloc_ring(f, ring, loop);
  return ring;
}

RingVec from_rings(From *f, const Exp *loop) {
  RingVec out = { 0 };
  if (has_few_rounds(loop)) return out;
  int count = loop->u.loop.param_count;
  const bool *joins = joining(loop);
  bool *taken = new_array(bool, count + 1);
  for (int i = 0; i < count; i++)
    if (joins[i] && !taken[i]) vec_push(&out, ring_of(f, loop, joins, taken, i));
  return out;
}

// ---- the loop

static View place_of(const Ring *ring, const Var *place) {
  return view_at(&ring->all, term_var(place));
}

static const View *spare_view(const Ring *ring, int spare) {
  View view = place_of(ring, ring->spares[spare]);
  return mem_copy(&view, sizeof view);
}

bool from_in_ring(const RingVec *rings, int param) {
  vec_each (Ring **, ring, rings)
    for (int k = 0; k < (*ring)->count; k++)
      if ((*ring)->members[k].param == param) return true;
  return false;
}

void from_ring_enter(From *inner, const RingVec *rings, const Exp *loop) {
  vec_each (Ring **, each, rings) {
    const Ring *ring = *each;
    const Tensor *memory = tensor_root(ring->all.tensor);
    map_put(inner->owned, memory, memory);
    for (int k = 0, spare = 0; k < ring->count; k++) {
      int param = ring->members[k].param;
      from_bind(inner, loop->u.loop.params[param],
                place_of(ring, ring->members[k].place));
      if (ring->members[k].from < 0)
        map_put(inner->wanted, loop->u.loop.body->results[param].u.var,
                spare_view(ring, spare++));
    }
  }
}

void from_ring_leave(From *inner, const RingVec *rings, const View **made) {
  vec_each (Ring **, each, rings) {
    const Ring *ring = *each;
    for (int k = 0, spare = 0; k < ring->count; k++) {
      if (ring->members[k].from < 0)
        from_copy(inner, spare_view(ring, spare++), made[ring->members[k].param]);
      made[ring->members[k].param] = NULL;
    }
  }
}

static bool goes_on(const Ring *ring, int k) {
  for (int m = 0; m < ring->count; m++)
    if (ring->members[m].from == k) return true;
  return false;
}

// The places in the next round: first the members', then those that are free.
static void next_places(const Ring *ring, const Term **next) {
  int spare = 0, free_place = ring->count;
  for (int k = 0; k < ring->count; k++) {
    int from = ring->members[k].from;
    next[k] = term_var(from < 0 ? ring->spares[spare++] : ring->members[from].place);
  }
  for (int k = 0; k < ring->count; k++)
    if (!goes_on(ring, k)) next[free_place++] = term_var(ring->members[k].place);
}

int from_ring_scalars(const RingVec *rings) {
  int count = 0;
  vec_each (Ring **, ring, rings)
    count += (*ring)->count + (*ring)->spare_count;
  return count;
}

void from_ring_params(From *f, const RingVec *rings, RingParams out) {
  int at = 0;
  vec_each (Ring **, each, rings) {
    const Ring *ring = *each;
    int count = ring->count + ring->spare_count;
    next_places(ring, out.next + at);
    for (int k = 0; k < count; k++, at++) {
      bool member = k < ring->count;
      out.params[at] = member ? ring->members[k].place : ring->spares[k - ring->count];
      out.inits[at] = term_i64(k);
      out.binders[at] = member ? ring->last[k] : kern_index(f->c, "spare", f->b->loc);
    }
  }
}

void from_ring_bind(From *f, const RingVec *rings, const Stm *stm) {
  vec_each (Ring **, each, rings) {
    const Ring *ring = *each;
    for (int k = 0; k < ring->count; k++) {
      const Var *binder = stm->binders[ring->members[k].param];
      const View *wanted = map_get(f->wanted, binder);
      View last = place_of(ring, ring->last[k]);
      if (wanted) from_copy(f, wanted, &last);
      from_bind(f, binder, wanted ? *wanted : last);
    }
  }
}
