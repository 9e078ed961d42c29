// Lanes few elements apart in memory: the neighbours among which their elements lie are loaded as
// whole vectors, pieces, and each load of the block that lies there picks its own.  Why: a load and
// an insertion per element otherwise.
#include "imp/lower/kern.h"

typedef struct Pieces {
  const ImpExp *at[MOST_APART];
  int count, lanes;
  int elements;  // all that are loaded: no element behind them is touched
  const ImpExp
      *halves[2][2];  // by the first element: every second one, of two pieces each
} Pieces;

int small_step(const ImpExp *step) {
  for (int n = 2; n <= MOST_APART; n++)
    if (imp_is_i64(step, n)) return n;
  return 0;
}

// The last piece ends with the last element, where the one before it may reach.
static int piece_begin(const Pieces *p, int v) {
  return v < p->count - 1 ? v * p->lanes : p->elements - p->lanes;
}

static Pieces load_pieces(KernCode *kc, const Arr *arr, const ImpExp *base,
                          int elements) {
  Pieces p = { .count = (elements + kc->lanes - 1) / kc->lanes,
               .lanes = kc->lanes,
               .elements = elements };
  base = declared(kc, "corner", base);
  for (int v = 0; v < p.count; v++) {
    const ImpExp *at = imp_add(base, imp_i64(piece_begin(&p, v)));
    p.at[v] = declared(kc, "part", imp_vload(arr->mem, at, kc->lanes));
  }
  return p;
}

// Elements first, first + n, .. of the pieces v and v + 1; where they have none, any.
static const ImpExp *pick_of_two(KernCode *kc, const Pieces *p, int v, int first, int n) {
  signed char *from = new_array(signed char, p->lanes);
  const ImpExp *second = v + 1 < p->count ? p->at[v + 1] : NULL;
  for (int i = 0; i < p->lanes; i++) {
    int in_first = first + i * n - piece_begin(p, v);
    int in_second = second ? first + i * n - piece_begin(p, v + 1) : p->lanes;
    if (in_first < p->lanes)
      from[i] = (signed char)in_first;
    else if (in_second < p->lanes)
      from[i] = (signed char)(p->lanes + in_second);
  }
  return declared(kc, "picked", imp_permute(p->at[v], second, from));
}

// The lanes that the pieces before v have are in `out`.
static const ImpExp *pick_more(KernCode *kc, const Pieces *p, const ImpExp *out, int v,
                               int first, int n) {
  signed char *from = new_array(signed char, p->lanes);
  for (int i = 0; i < p->lanes; i++) {
    int in_piece = first + i * n - piece_begin(p, v);
    bool have = first + i * n < v * p->lanes;
    from[i] = (signed char)(have ? i : in_piece < p->lanes ? p->lanes + in_piece : 0);
  }
  return declared(kc, "picked", imp_permute(out, p->at[v], from));
}

// Of four pieces: every second of every second one, so that loads share the first step.
static const ImpExp *pick_of_halves(KernCode *kc, Pieces *p, int first) {
  const ImpExp **half = p->halves[first % 2];
  signed char *from = new_array(signed char, p->lanes);
  for (int h = 0; h < 2; h++)
    if (!half[h]) half[h] = pick_of_two(kc, p, 2 * h, first % 2 + 2 * h * p->lanes, 2);
  for (int i = 0; i < p->lanes; i++)
    from[i] = (signed char)(first / 2 + 2 * i);
  return declared(kc, "picked", imp_permute(half[0], half[1], from));
}

static const ImpExp *pick_every_nth(KernCode *kc, Pieces *p, int first, int n) {
  if (n == 4 && p->count == 4) return pick_of_halves(kc, p, first);
  const ImpExp *out = pick_of_two(kc, p, 0, first, n);
  for (int v = 2; v < p->count; v++)
    out = pick_more(kc, p, out, v, first, n);
  return out;
}

static int elements_of(const KernCode *kc, int n, int more) {
  return n * (kc->lanes - 1) + 1 + more;
}

const ImpExp *load_every_nth(KernCode *kc, const Arr *arr, const ImpExp *base, int n) {
  Pieces p = load_pieces(kc, arr, base, elements_of(kc, n, 0));
  return pick_every_nth(kc, &p, 0, n);
}

const ImpExp *load_backwards(KernCode *kc, const Arr *arr, const ImpExp *base) {
  const ImpExp *first = imp_add(base, imp_i64(1 - kc->lanes));
  const ImpExp *piece = declared(kc, "part", imp_vload(arr->mem, first, kc->lanes));
  signed char *from = new_array(signed char, kc->lanes);
  for (int i = 0; i < kc->lanes; i++)
    from[i] = (signed char)(kc->lanes - 1 - i);
  return declared(kc, "turned", imp_permute(piece, NULL, from));
}

// ---- several loads

// How many elements apart the lanes are, if all others of the load's neighbours can be told; or 0.
static int dense_step(KernCode *kc, const Access *access, const ImpExp **base) {
  const Arr *arr = memory_at(kc, access->tensor);
  const ImpExp *step;
  if (kc->mask || arr->mem->lanes || !lies_dense(access->tensor, arr) ||
      !affine_place(kc, access, arr, base, &step))
    return 0;
  return small_step(step);
}

// From the first to the last that is loaded.
static void drop_ends(RecordTile *near, int *count) {
  int first = 0;
  while (near->loads[first] < 0)
    first++;
  while (near->loads[*count - 1] < 0)
    --*count;
  *count -= first;
  near->first += first;
  for (int i = 0; i < *count; i++)
    near->loads[i] = near->loads[first + i];
}

bool lower_near_loads(KernCode *kc, const KernBlock *block, int at, bool *loaded) {
  const Access *access = &block->stms[at].u.load;
  AxisSet set = load_set(kc, access);
  const ImpExp *base;
  VarCopies *values[MOST_APART];
  RecordTile near;
  int n = in_lanes(kc, set) ? dense_step(kc, access, &base) : 0, count = n;
  if (!n || !near_loads(block, at, loaded, n, &near) ||
      !loads_have_set(kc, block, &near, set))
    return false;
  drop_ends(&near, &count);
  for (int i = 0; i < count; i++) {
    if (near.loads[i] < 0) continue;
    loaded[near.loads[i]] = true;
    values[i] = copies_new(kc, block->stms[near.loads[i]].binders[0], set);
  }
  for (Copies c = copies_over(kc, set); copies_next(&c);) {
    dense_step(kc, access, &base);
    Pieces p =
        load_pieces(kc, memory_at(kc, access->tensor), imp_add(base, imp_i64(near.first)),
                    elements_of(kc, n, count - 1));
    for (int i = 0; i < count; i++)
      if (near.loads[i] >= 0)
        declare_loaded(kc, block->stms[near.loads[i]].binders[0], values[i],
                       pick_every_nth(kc, &p, i, n));
  }
  return true;
}
