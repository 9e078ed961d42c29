// split n if Par(..) >= main.workers_0
//   =>  split n if Par(..) >= main.workers_0, n*8 bytes in 2 exchanges for 1 seg-op
//
// Needs: Flat with all exchanges in their places.   Keeps: everything else.   Why: a program
// measures what exchanges take (runtime/price.h), and divides nothing that takes less.
//
// What counts is the innermost loop in which the split divides something: rounds may be many.  An
// estimate: of versions the first one is looked at, bytes count whose number is known before the
// split, and where the host chooses between two exchanges it takes the cheaper one.
#include "base/map.h"
#include "flat/workers/workers.h"

enum { MOST_LOOPS = 8 };

// Of the code at one depth of loops.
typedef struct Traffic {
  int exchanges, segs;
  const SizeExp *bytes;
} Traffic;

typedef struct Price {
  const Map *known;  // Var: bound before the split
  const Stm *split;
  Traffic at[MOST_LOOPS + 1];  // by the loops around it, of those behind the split
} Price;

typedef struct PriceWalk {
  Compiler *c;
  Map *known;
} PriceWalk;

static const SizeExp *times(const SizeExp *a, Atom b) {
  return size_exp_op(SIZE_EXP_MUL, a, size_exp_atom(b));
}

// NULL: none.
static const SizeExp *plus(const SizeExp *a, const SizeExp *b) {
  if (!a || !b) return a ? a : b;
  return size_exp_op(SIZE_EXP_ADD, a, b);
}

static bool is_known(const Price *p, Atom a) {
  return a.kind == ATOM_CONST || map_has(p->known, a.u.var);
}

// So many rows of the type's elements, or elements; NULL: not known before the split.
static const SizeExp *bytes_of_rows(const Price *p, Atom rows, CoreType type) {
  const SizeExp *bytes = size_exp_atom(rows);
  bool known = is_known(p, rows);
  for (int i = 1; i < type.rank && known; i++) {
    known = is_known(p, type.dims[i]);
    bytes = times(bytes, type.dims[i]);
  }
  return known ? times(bytes, atom_i64(prim_size_bytes(type.elem))) : NULL;
}

typedef struct Exchange {
  Atom workers, rows, block;  // so many rows of the block's kind are moved
} Exchange;

static bool is_exchange(const Exp *exp, Exchange *out) {
  if (exp->kind == EXP_GATHER)
    *out = (Exchange){ exp->u.gather.workers, exp->u.gather.total, exp->u.gather.value };
  else if (exp->kind == EXP_BORDER)
    *out = (Exchange){ exp->u.border.workers, exp->u.border.before, exp->u.border.block };
  else if (exp->kind == EXP_FETCH)
    *out = (Exchange){ exp->u.fetch.workers,
                       exp->u.fetch.dim ? exp->u.fetch.total : exp->u.fetch.rows,
                       exp->u.fetch.block };
  else if (exp->kind == EXP_DELIVER)
    *out =
        (Exchange){ exp->u.deliver.workers, exp->u.deliver.total, exp->u.deliver.block };
  else
    return false;
  return true;
}

// Adds it, if it is between the blocks of these workers.
static void add_exchange(const Price *p, const Exp *exp, Traffic *to) {
  Exchange e;
  Atom workers = atom_var(p->split->binders[SPLIT_WORKERS]);
  if (!is_exchange(exp, &e) || !atom_equal(e.workers, workers)) return;
  const SizeExp *bytes = bytes_of_rows(p, e.rows, atom_type(e.block));
  to->exchanges++;
  to->bytes = plus(to->bytes, bytes);
}

static bool is_divided(const Price *p, const SegOp *seg) {
  Atom count = atom_var(p->split->binders[SPLIT_COUNT]);
  for (int i = 0; i < seg->dim_count; i++)
    if (atom_equal(seg->dims[i].width, count)) return true;
  return false;
}

static void add_traffic(Price *p, const Stm *stms, int count, int loops);

// The less of both, or the one that there is.
static int less_of(int a, int b) {
  if (!a || !b) return a + b;
  return a < b ? a : b;
}

// Of two branches: if both exchange something, the less of it.
static void add_choice(Price *p, const Exp *exp, int loops) {
  Price a = { .known = p->known, .split = p->split }, b = a;
  const Body *first = exp->u.cond.then_body, *second = exp->u.cond.else_body;
  add_traffic(&a, first->stms, first->stm_count, loops);
  add_traffic(&b, second->stms, second->stm_count, loops);
  for (int i = 0; i <= MOST_LOOPS; i++) {
    const Traffic *x = &a.at[i], *y = &b.at[i];
    bool both = x->exchanges && y->exchanges;
    p->at[i].exchanges += less_of(x->exchanges, y->exchanges);
    p->at[i].segs += both ? less_of(x->segs, y->segs) : x->segs + y->segs;
    if (!both) p->at[i].bytes = plus(p->at[i].bytes, plus(x->bytes, y->bytes));
  }
}

static void add_traffic(Price *p, const Stm *stms, int count, int loops) {
  Traffic *here = &p->at[loops < MOST_LOOPS ? loops : MOST_LOOPS];
  for (int i = 0; i < count; i++) {
    const Exp *exp = stms[i].exp;
    if (exp->kind == EXP_SEG) {
      here->segs += is_divided(p, exp->u.seg);
      continue;
    }
    add_exchange(p, exp, here);
    if (exp->kind == EXP_IF) {
      add_choice(p, exp, loops);
      continue;
    }
    BodyVec bodies = exp_bodies(exp);
    if (exp->kind == EXP_GUARD) bodies.count = 1;
    vec_each (const Body **, body, &bodies)
      add_traffic(p, (*body)->stms, (*body)->stm_count, loops + (exp->kind == EXP_LOOP));
  }
}

static const Exp *priced(const Price *p) {
  const Exp *split = p->split->exp;
  int loops = MOST_LOOPS;
  while (loops > 0 && !p->at[loops].segs)
    loops--;
  const Traffic *most = &p->at[loops];
  if (!most->exchanges) return split;
  Guard *guard = mem_copy(split->u.split.guard, sizeof *guard);
  guard->exchanges = most->exchanges;
  guard->segs = most->segs ? most->segs : 1;
  guard->moved = most->bytes;
  return exp_split(guard, split->u.split.width);
}

static const Body *price_splits(CoreMapper *m, const Body *body) {
  PriceWalk *w = m->state;
  size_t size = sizeof(Stm) * (size_t)body->stm_count;
  Stm *stms = mem_copy(body->stms, size);
  for (int i = 0; i < body->stm_count; i++) {
    if (stms[i].exp->kind == EXP_SPLIT) {
      Price p = { .known = w->known, .split = &stms[i] };
      add_traffic(&p, stms + i + 1, body->stm_count - i - 1, 0);
      stms[i].exp = priced(&p);
    } else if (stms[i].exp->kind != EXP_SEG) {
      stms[i].exp = core_map_exp(m, stms[i].exp);
    }
    for (int k = 0; k < stms[i].binder_count; k++)
      map_put(w->known, stms[i].binders[k], w);
  }
  return new_node(Body, .stms = stms, .stm_count = body->stm_count,
                  .results = body->results, .result_count = body->result_count);
}

const Body *spread_price(Compiler *c, const Entry *entry, const Body *body) {
  PriceWalk w = { c, map_new(NULL) };
  for (int i = 0; i < entry->param_count; i++)
    map_put(w.known, entry->params[i], &w);
  CoreMapper m = { .body = price_splits, .state = &w };
  return price_splits(&m, body);
}
