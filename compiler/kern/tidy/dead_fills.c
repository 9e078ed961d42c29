// axis i < n { t[i, j] = 0 }  axis i < n loop { ..; t[i, j] = x }
//   =>   axis i < n loop { ..; t[i, j] = x }
//
// where the loop stores every element that was filled, and loads none: `loop out = replicate n 0
// for i < n do .. out with [i] = x`; and likewise for copies.  Why: the memory is written once.
//
// axis i < n { t[i] = xs[i] }  axis k < n - 1 loop { ..; t[k + 1] = x }
//   =>   axis i < min(1, n) { t[i] = xs[i] }  axis k < n - 1 loop { ..; t[k + 1] = x }
//
// where the loop leaves a few elements, and loads no others but those of earlier rounds:
// recurrences, which begin with what they find.
#include "kern/kern_ask.h"
#include "kern/sums.h"
#include "kern/tidy/tidy.h"

enum { MOST_DIMS = 8, MOST_LEFT = 16 };

// Loops around one store, from outside to inside.
typedef struct StoreNest {
  const Axis *axes[MOST_DIMS];
  int depth;
  const KernStm *store;
} StoreNest;

// What a statement does to the memory.
typedef struct MemoryUse {
  const Tensor *root;
  bool loads, stores;
} MemoryUse;

static void see_memory(KernVisitor *v, Access access, bool stores) {
  MemoryUse *u = v->state;
  if (tensor_root(access.tensor) != u->root) return;
  u->stores = u->stores || stores;
  u->loads = u->loads || !stores;
}

static void see_room_or_bins(KernVisitor *v, const KernStm *stm) {
  MemoryUse *u = v->state;
  if (stm->kind == KERN_ROOM && tensor_root(stm->u.room.tensor) == u->root)
    u->loads = true;
  for (int i = 0; stm->kind == KERN_AXIS && i < stm->u.axis->hist_count; i++)
    for (int k = 0; k < stm->u.axis->hists[i].op.count; k++)
      if (tensor_root(stm->u.axis->hists[i].dests[k].tensor) == u->root) u->loads = true;
}

// Does it size the memory, or count in it?
static bool sized_or_counted(const KernStm *stm, const Tensor *root) {
  MemoryUse u = { .root = root };
  KernVisitor v = { .stm = see_room_or_bins, .state = &u };
  kern_visit_stm(&v, stm);
  return u.loads;
}

static MemoryUse use_of(const KernStm *stm, const Tensor *root) {
  MemoryUse u = { .root = root };
  KernVisitor v = { .stm = see_room_or_bins, .access = see_memory, .state = &u };
  kern_visit_stm(&v, stm);
  return u;
}

// ---- fills

static bool reads_elsewhere(const KernStm *stm, const Tensor *root) {
  return stm->kind == KERN_LET ||
         (stm->kind == KERN_LOAD && tensor_root(stm->u.load.tensor) != root);
}

// Is the last statement a store, and all before it make what it stores, of other arrays?
static bool ends_in_store(const KernBlock *block) {
  const KernStm *last = block->count ? &block->stms[block->count - 1] : NULL;
  if (!last || last->kind != KERN_STORE) return false;
  const Tensor *root = tensor_root(last->u.store.to.tensor);
  for (int i = 0; i < block->count - 1; i++)
    if (!reads_elsewhere(&block->stms[i], root)) return false;
  return true;
}

// A nest of maps that stores something and does nothing else.
static bool is_fill(const KernStm *stm, StoreNest *out) {
  *out = (StoreNest){ .depth = 0 };
  while (stm->kind == KERN_AXIS && out->depth < MOST_DIMS) {
    const Axis *axis = stm->u.axis;
    bool last = ends_in_store(axis->body);
    if (axis->role != AXIS_MAP || axis->bind != BIND_SEQ) return false;
    if (!last && axis->body->count != 1) return false;
    out->axes[out->depth++] = axis;
    stm = &axis->body->stms[axis->body->count - 1];
  }
  out->store = stm;
  return out->depth > 0 && stm->kind == KERN_STORE && !stm->u.store.to.tensor->spare;
}

static int axis_in_index(const StoreNest *nest, const Term *index) {
  for (int a = 0; a < nest->depth && index->kind == TERM_VAR; a++)
    if (nest->axes[a]->index == index->u.var) return a;
  return -1;
}

// ---- what is stored over them

static bool mentions_axis(const StoreNest *nest, const Term *index) {
  for (int a = 0; a < nest->depth; a++)
    if (term_mentions(index, nest->axes[a]->index)) return true;
  return false;
}

static const Term *let_value(const KernBlock *block, const Term *t) {
  for (int i = 0; i < block->count && t->kind == TERM_VAR; i++)
    if (block->stms[i].kind == KERN_LET && block->stms[i].binders[0] == t->u.var)
      return block->stms[i].u.term;
  return t;
}

// The index of the innermost axis, if that is what is left of it in 32 bits: `for i < 1000`.
static const Term *in_full(const StoreNest *nest, const Term *index) {
  const Axis *last = nest->axes[nest->depth - 1];
  const Term *whole = let_value(last->body, index);
  if (last->width->kind != TERM_CONST || last->width->u.constant.u.i > INT32_MAX ||
      whole->kind != TERM_CONVERT || whole->u.arg->type != PRIM_I32)
    return index;
  const Term *half = let_value(last->body, whole->u.arg);
  return half->kind == TERM_CONVERT && half->u.arg->kind == TERM_VAR &&
                 half->u.arg->u.var == last->index
             ? half->u.arg
             : index;
}

// Do both stores go through the same elements, each with its own axes?
static bool stores_the_same(const StoreNest *fill, const StoreNest *nest) {
  const Access *a = &fill->store->u.store.to, *b = &nest->store->u.store.to;
  bool taken[MOST_DIMS] = { false };
  int matched = 0;
  if (a->tensor != b->tensor || fill->depth != nest->depth) return false;
  for (int d = 0; d < a->tensor->rank; d++) {
    int x = axis_in_index(fill, a->index[d]);
    int y = axis_in_index(nest, in_full(nest, b->index[d]));
    if (x < 0 && y < 0 && !mentions_axis(fill, a->index[d]) &&
        term_same(a->index[d], b->index[d]))
      continue;
    if (x < 0 || y < 0 || taken[y] ||
        !term_same(fill->axes[x]->width, nest->axes[y]->width))
      return false;
    taken[y] = true;
    matched++;
  }
  return matched == fill->depth;
}

// ---- what is stored over them but for a few elements

// The kernel's scalars, and what of a fill is needed.
typedef struct Fills {
  const Kern *kern;
  const Map *lets;  // Var -> const Term *; NULL: not yet asked for
} Fills;

typedef struct PartFill {
  int dim, axis;      // of the array; of the fill
  int64_t low, high;  // elements that are left at its beginning and its end
  int64_t sign;       // 1 or -1: which way the loop goes
  IndexSum at, end;   // what a round stores; the first element left at the end
  const Axis *loop;
  const Access *to;  // what its store stores to
  bool own;          // a round loads the element that it stores, before it does
} PartFill;

static bool sum_in(Fills *f, const Term *t, IndexSum *out) {
  if (!f->lets) f->lets = sum_lets(f->kern);
  const Term *whole = term_inlined(f->lets, t);
  return whole && whole->type == PRIM_I64 && sum_of(whole, out);
}

static bool few(const IndexSum *s) {
  return s->count == 0 && 0 <= s->constant && s->constant <= MOST_LEFT;
}

// Does the loop, round by round, store all elements along the axis but a few at its ends?
static bool goes_along(Fills *f, const Axis *filled, const Term *index, PartFill *out) {
  IndexSum all, rounds, turn, base, low, left;
  if (!sum_in(f, index, &out->at) || !sum_in(f, filled->width, &all) ||
      !sum_in(f, out->loop->width, &rounds) || !sum_of(term_var(out->loop->index), &turn))
    return false;
  out->sign = sum_factor(&out->at, out->loop->index);
  if ((out->sign != 1 && out->sign != -1) || !sum_add(&out->at, &turn, -out->sign, &base))
    return false;
  low = base;
  if (out->sign == -1) {
    if (!sum_add(&base, &rounds, -1, &low)) return false;
    low.constant++;
  }
  if (!sum_add(&low, &rounds, 1, &out->end) || !sum_add(&all, &out->end, -1, &left))
    return false;
  out->low = low.constant;
  out->high = left.constant;
  return few(&low) && few(&left);
}

// Do both stores go through the same elements, but for a few along the outermost loop?
static bool stores_most(Fills *f, const StoreNest *fill, const StoreNest *nest,
                        PartFill *out) {
  const Access *a = &fill->store->u.store.to, *b = &nest->store->u.store.to;
  bool taken[MOST_DIMS] = { true };
  int matched = 0;
  *out = (PartFill){ .axis = -1, .loop = nest->axes[0], .to = b };
  if (a->tensor != b->tensor || fill->depth != nest->depth) return false;
  for (int d = 0; d < a->tensor->rank; d++) {
    int x = axis_in_index(fill, a->index[d]), y = axis_in_index(nest, b->index[d]);
    bool fixed = x < 0 && y < 0 && !mentions_axis(fill, a->index[d]);
    if (fixed && term_same(a->index[d], b->index[d])) continue;
    if (x < 0) return false;
    matched++;
    if (y > 0) {
      if (taken[y] || !term_same(fill->axes[x]->width, nest->axes[y]->width))
        return false;
      taken[y] = true;
    } else {
      if (out->axis >= 0 || !goes_along(f, fill->axes[x], b->index[d], out)) return false;
      out->dim = d;
      out->axis = x;
    }
  }
  return matched == fill->depth && out->axis >= 0;
}

typedef struct LoadsSeen {
  Fills *fills;
  const Tensor *tensor;
  const StoreNest *fill;
  const PartFill *part;
  int stores;
  bool own;    // it loads what a round stores, before it does
  bool wrong;  // it loads an element that is no longer filled
} LoadsSeen;

// The number that `a` is more than `b`; false: that is not known.
static bool sum_beyond(const IndexSum *a, const IndexSum *b, int64_t *by) {
  IndexSum difference;
  bool known = sum_add(a, b, -1, &difference) && difference.count == 0;
  *by = known ? difference.constant : 0;
  return known;
}

static bool finds_it(LoadsSeen *s, const Term *index) {
  const PartFill *p = s->part;
  IndexSum at;
  int64_t by;
  if (!sum_in(s->fills, index, &at)) return false;
  if (at.count == 0 && at.constant < p->low) return true;
  if (sum_beyond(&at, &p->end, &by) && by >= 0) return true;
  return p->loop->role == AXIS_LOOP && sum_beyond(&at, &p->at, &by) && by * p->sign < 0;
}

static bool is_own(const Access *a, const Access *to) {
  if (a->tensor != to->tensor) return false;
  for (int d = 0; d < to->tensor->rank; d++)
    if (!term_same(a->index[d], to->index[d])) return false;
  return true;
}

static bool made_of(const StoreNest *fill, const Tensor *root) {
  const KernBlock *body = fill->axes[fill->depth - 1]->body;
  for (int i = 0; i < body->count; i++)
    if (body->stms[i].kind == KERN_LOAD &&
        tensor_root(body->stms[i].u.load.tensor) == root)
      return true;
  return false;
}

static void see_load(KernVisitor *v, Access access, bool stores) {
  LoadsSeen *s = v->state;
  const Tensor *root = tensor_root(access.tensor);
  if (stores && made_of(s->fill, root)) s->stores = 2;
  if (root != tensor_root(s->tensor)) return;
  if (stores) {
    s->stores++;
  } else if (is_own(&access, s->part->to) && s->stores == 0) {
    s->own = true;
  } else if (access.tensor != s->tensor || !finds_it(s, access.index[s->part->dim])) {
    s->wrong = true;
  }
}

static void see_store(KernVisitor *v, Access access, bool stores) {
  (void)access;
  *(bool *)v->state = *(bool *)v->state || stores;
}

static bool has_stores(const KernStm *stm) {
  bool found = false;
  KernVisitor v = { .access = see_store, .state = &found };
  kern_visit_stm(&v, stm);
  return found;
}

static bool stores_before(const KernBlock *block, int from, int to) {
  for (int i = from; i < to; i++)
    if (has_stores(&block->stms[i])) return true;
  return false;
}

static bool loads_others(Fills *f, const KernBlock *block, int from, int to,
                         const StoreNest *fill, PartFill *part) {
  const Tensor *tensor = fill->store->u.store.to.tensor;
  LoadsSeen s = { .fills = f, .tensor = tensor, .fill = fill, .part = part };
  KernVisitor v = { .access = see_load, .state = &s };
  for (int i = from; i <= to && !s.wrong; i++)
    kern_visit_stm(&v, &block->stms[i]);
  part->own = s.own;
  return s.wrong || (s.own && (s.stores != 1 || stores_before(block, from, to)));
}

// ---- the search

// Is there a store in these loops, and under no condition, that goes through all of them?  With
// `part`: through most.
static bool stores_over(Fills *f, const StoreNest *fill, StoreNest *nest,
                        const KernStm *stm, PartFill *part) {
  if (stm->kind == KERN_STORE) {
    nest->store = stm;
    return nest->depth > 0 &&
           (part ? stores_most(f, fill, nest, part) : stores_the_same(fill, nest));
  }
  if (stm->kind != KERN_AXIS || nest->depth == fill->depth) return false;
  const Axis *axis = stm->u.axis;
  if ((axis->role != AXIS_MAP && axis->role != AXIS_LOOP) || axis->bind != BIND_SEQ)
    return false;
  nest->axes[nest->depth++] = axis;
  bool found = false;
  for (int i = 0; i < axis->body->count && !found; i++)
    found = stores_over(f, fill, nest, &axis->body->stms[i], part);
  nest->depth--;
  return found;
}

static bool is_dead(Fills *f, const KernBlock *block, int at, const StoreNest *fill) {
  const Tensor *root = tensor_root(fill->store->u.store.to.tensor);
  StoreNest nest = { .depth = 0 };
  for (int i = at + 1; i < block->count; i++) {
    MemoryUse use = use_of(&block->stms[i], root);
    if (use.loads) return false;
    if (use.stores) return stores_over(f, fill, &nest, &block->stms[i], NULL);
  }
  return false;
}

static bool is_mostly_dead(Fills *f, const KernBlock *block, int at,
                           const StoreNest *fill, PartFill *out) {
  const Tensor *tensor = fill->store->u.store.to.tensor, *root = tensor_root(tensor);
  StoreNest nest = { .depth = 0 };
  for (int i = at + 1; i < block->count; i++) {
    if (sized_or_counted(&block->stms[i], root)) return false;
    if (!use_of(&block->stms[i], root).stores) continue;
    return stores_over(f, fill, &nest, &block->stms[i], out) &&
           !loads_others(f, block, at + 1, i, fill, out);
  }
  return false;
}

// ---- what is left of fills

// The fill for elements from `from` on.
static const KernBlock *fill_from(Compiler *c, const StoreNest *fill, int part,
                                  const Term *from, const Term *width) {
  const KernBlock *body = fill->axes[fill->depth - 1]->body;
  for (int a = fill->depth - 1; a >= 0; a--) {
    Axis axis = *fill->axes[a];
    KernBuilder b = kern_builder(c, fill->store->loc);
    axis.body = body;
    if (a == part) {
      Map *moved = map_new(NULL);
      axis.index = kern_index(c, "left", fill->store->loc);
      map_put(moved, fill->axes[a]->index, term_add(from, term_var(axis.index)));
      axis.body = kern_rename(c, moved, body);
      axis.width = width;
      axis.most = MOST_LEFT;
    }
    kern_axis(&b, axis, NULL, 0);
    body = kern_block(&b, NULL, 0);
  }
  return kern_rename(c, map_new(NULL), body);
}

static void add_all(KernBuilder *b, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    kern_add(b, block->stms[i]);
}

static void add_left(KernBuilder *b, const StoreNest *fill, const PartFill *part) {
  const Term *all = fill->axes[part->axis]->width;
  const Term *none = term_i64(0);
  const Term *low = part->low ? term_min(term_i64(part->low), all) : none;
  const Term *high = term_max(low, term_sub(all, term_i64(part->high)));
  if (part->low > 0) add_all(b, fill_from(b->c, fill, part->axis, none, low));
  if (part->high > 0)
    add_all(b, fill_from(b->c, fill, part->axis, high, term_sub(all, high)));
}

// ---- what was filled, computed again where it is loaded

// What the axes of the fill are at an element; NULL: it fills other rows.
static Map *turns_at(const StoreNest *fill, const Access *from) {
  const Access *to = &fill->store->u.store.to;
  Map *turns = map_new(NULL);
  if (from->tensor != to->tensor) return NULL;
  for (int d = 0; d < to->tensor->rank; d++) {
    int x = axis_in_index(fill, to->index[d]);
    if (x >= 0)
      map_put(turns, fill->axes[x]->index, from->index[d]);
    else if (!term_same(from->index[d], to->index[d]))
      return NULL;
  }
  return turns;
}

// The statements that make what the fill stores, and that as their result.
static const KernBlock *made_by(Compiler *c, const StoreNest *fill, const Map *turns) {
  const KernBlock *body = fill->axes[fill->depth - 1]->body;
  const Term *const *value = &fill->store->u.store.value;
  KernBlock made = { body->stms, body->count - 1, value, 1 };
  return kern_rename(c, turns, &made);
}

typedef struct Recomputing {
  const StoreNest *fill;
  const Access *own;  // only what is loaded from there; NULL: all
} Recomputing;

static Map *turns_again(const Recomputing *again, const KernStm *stm) {
  if (stm->kind != KERN_LOAD) return NULL;
  if (again->own && !is_own(&stm->u.load, again->own)) return NULL;
  return turns_at(again->fill, &stm->u.load);
}

static const KernBlock *computed_again(KernMapper *m, const KernBlock *block) {
  const Recomputing *again = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    Map *turns = turns_again(again, stm);
    b.loc = stm->loc;
    if (!turns) {
      kern_add(&b, kern_map_stm(m, stm));
      continue;
    }
    const KernBlock *made = made_by(m->c, again->fill, turns);
    add_all(&b, made);
    kern_let_var(&b, stm->binders[0], made->results[0]);
  }
  return kern_block(&b, block->results, block->result_count);
}

// The statements from `at` on that store nothing: what a loop begins with is not loaded from what
// has just been stored, so that points may run twice.  The number of the first one behind them.
static int add_again(KernBuilder *b, StoreNest *fill, const KernBlock *block, int at) {
  int end = at;
  while (end < block->count && !has_stores(&block->stms[end]))
    end++;
  Recomputing again = { .fill = fill };
  KernMapper m = { .c = b->c, .block = computed_again, .state = &again };
  KernBlock part = { block->stms + at, end - at, NULL, 0 };
  add_all(b, computed_again(&m, &part));
  return end;
}

// The loop, which makes what it would have loaded of the fill.
static KernStm made_within(Compiler *c, const StoreNest *fill, const PartFill *part,
                           const KernStm *loop) {
  Recomputing again = { .fill = fill, .own = part->to };
  KernMapper m = { .c = c, .block = computed_again, .state = &again };
  return kern_map_stm(&m, loop);
}

static const KernBlock *without_fills(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    StoreNest fill;
    PartFill part;
    bool fills = is_fill(&block->stms[i], &fill);
    b.loc = block->stms[i].loc;
    if (fills && is_dead(m->state, block, i, &fill)) continue;
    if (fills && is_mostly_dead(m->state, block, i, &fill, &part)) {
      add_left(&b, &fill, &part);
      i = add_again(&b, &fill, block, i + 1) - 1;
      if (!part.own) continue;
      KernStm loop = made_within(m->c, &fill, &part, &block->stms[++i]);
      kern_add(&b, kern_map_stm(m, &loop));
    } else {
      kern_add(&b, kern_map_stm(m, &block->stms[i]));
    }
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_drop_fills(Compiler *c, const Kern *kern) {
  Fills f = { .kern = kern };
  KernMapper m = { .c = c, .block = without_fills, .state = &f };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = without_fills(&m, kern->body);
  return kern_name_axes(c, out);
}
