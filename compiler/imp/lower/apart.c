// Lanes few elements apart in memory: the neighbours among which their elements lie are loaded as
// whole vectors, pieces, and each load of the block that lies there picks its own.  Why: a load and
// an insertion per element otherwise.
#include "imp/lower/kern.h"

enum { MOST_LEVELS = 5 };  // up to MOST_APART, 2^4

typedef struct Pieces {
  const ImpExp *at[MOST_APART];
  int count, lanes;
  int elements;  // all that are loaded: no element behind them is touched
  const ImpExp *parts[MOST_LEVELS][MOST_APART]
                     [MOST_APART];  // every 2^level-th element, by the first one
} Pieces;

int small_step(const ImpExp *step, PrimType elem) {
  for (int n = 2; n <= MOST_APART; n++)
    if (is_few_apart(n, elem) && imp_is_i64(step, n)) return n;
  return 0;
}

int lone_step(const ImpExp *step, PrimType elem) {
  int n = small_step(step, elem);
  return n > TILE_HEIGHT ? 0 : n;
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

// Every 2^level-th element from `first` on, of as many pieces from the `at`-th such group on: every
// second one of the level before, so that loads share those.
static const ImpExp *pick_part(KernCode *kc, Pieces *p, int level, int first, int at) {
  int before = level - 1, half = 1 << before;
  const ImpExp **part = &p->parts[level][first][at];
  if (*part) return *part;
  if (level == 1) return *part = pick_of_two(kc, p, 2 * at, first + 2 * at * p->lanes, 2);
  signed char *from = new_array(signed char, p->lanes);
  for (int i = 0; i < p->lanes; i++)
    from[i] = (signed char)(first / half + 2 * i);
  const ImpExp *a = pick_part(kc, p, before, first % half, 2 * at),
               *b = pick_part(kc, p, before, first % half, 2 * at + 1);
  return *part = declared(kc, "picked", imp_permute(a, b, from));
}

static const ImpExp *pick_every_nth(KernCode *kc, Pieces *p, int first, int n) {
  if (n == 4 && p->count == 4) return pick_part(kc, p, 2, first, 0);
  if (n == 8 && p->count == 8) return pick_part(kc, p, 3, first, 0);
  if (n == 16 && p->count == 16) return pick_part(kc, p, 4, first, 0);
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
  return small_step(step, arr->mem->elem);
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

// ---- bytes

// Rows of four, eight or 16 numbers of a byte, one to each of 16 lanes: 64 bytes are those of 16, 8
// or 4 lanes, which one permutation transposes; then columns of two lines become columns side by
// side, and of such pairs again.  Why: byte by byte each of the steps above takes twice as long.
enum { LINE = 64, MOST_LINES = 4 };

static bool are_rows_of_bytes(const KernCode *kc, const Mem *mem, int n, int count) {
  return prim_size_bytes(mem->elem) == 1 && kc->lanes == 16 && n >= 4 && count == n;
}

static const ImpExp *load_turned(KernCode *kc, const Mem *mem, const ImpExp *base,
                                 int n) {
  signed char *from = new_array(signed char, LINE);
  for (int i = 0; i < LINE; i++)
    from[i] = (signed char)(i % (LINE / n) * n + i / (LINE / n));
  ImpExp *line = mem_copy(imp_vload(mem, base, LINE), sizeof *line);
  if (line->type == PRIM_BOOL) line->type = PRIM_U8;
  return declared(kc, "turned", imp_permute(declared(kc, "line", line), NULL, from));
}

// The columns of `rows` bytes that two lines have, each beside the other's: those of the first half
// and those of the second half.
static void join_columns(KernCode *kc, const ImpExp *a, const ImpExp *b, int rows,
                         const ImpExp **halves) {
  for (int half = 0; half < 2; half++) {
    signed char *from = new_array(signed char, LINE);
    for (int i = 0; i < LINE; i++) {
      int column = half * LINE / (2 * rows) + i / (2 * rows), line = i / rows % 2;
      from[i] = (signed char)(line * LINE + column * rows + i % rows);
    }
    halves[half] = declared(kc, "columns", imp_permute(a, b, from));
  }
}

static const ImpExp *column_of(KernCode *kc, const ImpExp *columns, int number) {
  signed char *from = new_array(signed char, kc->lanes);
  for (int lane = 0; lane < kc->lanes; lane++)
    from[lane] = (signed char)(number * kc->lanes + lane);
  return declared(kc, "picked", imp_permute_to(columns, NULL, from, kc->lanes));
}

static void load_rows_of_bytes(KernCode *kc, const Mem *mem, const ImpExp *base, int n,
                               const ImpExp **out) {
  const ImpExp *lines[MOST_LINES], *joined[MOST_LINES];
  int count = kc->lanes * n / LINE, columns = LINE / kc->lanes;
  base = declared(kc, "corner", base);
  for (int i = 0; i < count; i++)
    lines[i] = load_turned(kc, mem, imp_add(base, imp_i64(i * LINE)), n);
  // What belongs together lies `apart` lines from each other: of the same columns.
  for (int rows = LINE / n, parts = 1; rows < kc->lanes; rows *= 2, parts *= 2) {
    for (int part = 0; part < parts; part++)
      for (int i = 0; i < count / parts; i += 2) {
        const ImpExp *halves[2];
        join_columns(kc, lines[part * count / parts + i],
                     lines[part * count / parts + i + 1], rows, halves);
        joined[part * count / parts + i / 2] = halves[0];
        joined[part * count / parts + count / parts / 2 + i / 2] = halves[1];
      }
    for (int i = 0; i < count; i++)
      lines[i] = joined[i];
  }
  for (int i = 0; i < n; i++)
    out[i] = imp_convert(mem->elem, column_of(kc, lines[i / columns], i % columns));
}

// Most numbers of rows of bytes as all of them: the others are there, too.
static void take_whole_rows(const KernCode *kc, const Access *access, int n,
                            RecordTile *near, int *count) {
  const Tensor *tensor = access->tensor;
  const Term *at = access->index[tensor->rank - 1];
  if (prim_size_bytes(tensor->elem) > 1 || kc->lanes != 16 || n < 4 || 2 * *count <= n ||
      !term_is_i64(tensor->dims[tensor->rank - 1], n) || at->kind != TERM_CONST)
    return;
  int first = (int)(near->first + at->u.constant.u.i);
  if (first < 0 || first + *count > n) return;
  for (int i = n - 1; i >= 0; i--) {
    bool loaded = i >= first && i < first + *count;
    near->loads[i] = loaded ? near->loads[i - first] : -1;
  }
  near->first -= first;
  *count = n;
}

// From the neighbours at `base` on; which: those that are asked for.
static void load_near(KernCode *kc, const Arr *arr, const ImpExp *base, int n, int count,
                      const int *which, const ImpExp **out) {
  if (are_rows_of_bytes(kc, arr->mem, n, count)) {
    load_rows_of_bytes(kc, arr->mem, base, n, out);
    return;
  }
  Pieces p = load_pieces(kc, arr, base, elements_of(kc, n, count - 1));
  for (int i = 0; i < count; i++)
    if (which[i] >= 0) out[i] = pick_every_nth(kc, &p, i, n);
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
  take_whole_rows(kc, access, n, &near, &count);
  for (int i = 0; i < count; i++) {
    if (near.loads[i] < 0) continue;
    loaded[near.loads[i]] = true;
    values[i] = copies_new(kc, block->stms[near.loads[i]].binders[0], set);
  }
  for (Copies c = copies_over(kc, set); copies_next(&c);) {
    dense_step(kc, access, &base);
    const ImpExp *picked[MOST_APART];
    load_near(kc, memory_at(kc, access->tensor), imp_add(base, imp_i64(near.first)), n,
              count, near.loads, picked);
    for (int i = 0; i < count; i++)
      if (near.loads[i] >= 0)
        declare_loaded(kc, block->stms[near.loads[i]].binders[0], values[i], picked[i]);
  }
  return true;
}
