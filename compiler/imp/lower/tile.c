// Tiles: lanes apart in memory, each of which reads four neighbours: those are loaded at once, and
// the tile is transposed.  Why: a load and an insertion per element otherwise.
//
// The neighbours are the points of a register axis, or what several loads of a block read.
#include "imp/lower/kern.h"

// ---- transposition

// Lanes i and lanes + i, pairs of `of` each in groups of four: 0 16 1 17, or (upper) 2 18 3 19.
static const signed char *interleave(int lanes, int of, bool upper) {
  signed char *from = new_array(signed char, lanes);
  for (int i = 0; i < lanes; i++) {
    int group = i / 4 * 4, at = i % 4;
    int source = of == 1 ? at % 2 : at / 2, element = of == 1 ? at / 2 : at % 2;
    from[i] = (signed char)(source * lanes + group + element + (upper ? 2 : 0));
  }
  return from;
}

static const ImpExp *interleaved_pair(KernCode *kc, const ImpExp *a, const ImpExp *b,
                                      int of, bool upper) {
  return declared(kc, "tile", imp_permute(a, b, interleave(kc->lanes, of, upper)));
}

// Of four vectors, in groups of four lanes.
static void transpose(KernCode *kc, const ImpExp *const *rows, const ImpExp **out) {
  for (int half = 0; half < 2; half++) {
    const ImpExp *a = interleaved_pair(kc, rows[0], rows[1], 1, half),
                 *b = interleaved_pair(kc, rows[2], rows[3], 1, half);
    for (int i = 0; i < 2; i++)
      out[2 * half + i] = imp_permute(a, b, interleave(kc->lanes, 2, i));
  }
}

// The elements from `base` on, `step` from lane to lane: a vector for each of the neighbours.
static void load_tile(KernCode *kc, const Arr *arr, const ImpExp *base,
                      const ImpExp *step, const ImpExp **out) {
  const ImpExp *rows[TILE_HEIGHT];
  base = declared(kc, "corner", base);
  step = declared(kc, "apart", step);
  for (int i = 0; i < TILE_HEIGHT; i++)  // lanes i, 4 + i, 8 + i, ..
    rows[i] = declared(kc, "rows",
                       imp_strided(arr->mem, imp_add(base, imp_mul(step, imp_i64(i))),
                                   imp_mul(step, imp_i64(TILE_HEIGHT)), TILE_HEIGHT,
                                   kc->lanes));
  transpose(kc, rows, out);
}

// Do the lanes lie apart?
static bool place_apart(KernCode *kc, const Access *access, const Arr *arr,
                        const ImpExp **base, const ImpExp **step) {
  return affine_place(kc, access, arr, base, step) && !imp_is_i64(*step, 0) &&
         !imp_is_i64(*step, 1);
}

// ---- points of a register axis

// Which register axis: its number, or -1.
static int tile_axis(KernCode *kc, const Access *access, const Arr *arr, AxisSet set) {
  AxisSet regs = set & kc->open & ~kc->fixed;
  int number = 0;
  if (!regs || regs & (regs - 1) || kc->mask || arr->mem->lanes) return -1;
  while (!(regs >> number & 1))
    number++;
  if (kc->counts[number] != TILE_HEIGHT || kc->lanes % TILE_HEIGHT) return -1;
  int unit = tensor_unit_dim(access->tensor);
  bool fits =
      imp_is_i64(arr->strides[unit], 1) && vary_neighbours(kc->vary, access, regs);
  return fits ? number : -1;
}

bool lower_tile(KernCode *kc, const Access *access, VarCopies *value, const Var *binder) {
  const Arr *arr = memory_at(kc, access->tensor);
  int number = tile_axis(kc, access, arr, value->set);
  const ImpExp *base, *step, *columns[TILE_HEIGHT];
  if (number < 0) return false;
  kc->at[number] = 0;
  if (!place_apart(kc, access, arr, &base, &step)) return false;
  load_tile(kc, arr, base, step, columns);
  for (int i = 0; i < TILE_HEIGHT; i++) {
    kc->at[number] = i;
    declare_copy(kc, binder, value, columns[i]);
  }
  kc->at[number] = 0;
  return true;
}

// ---- loads of a block

bool lies_dense(const Tensor *t, const Arr *arr) {
  int64_t row = 1;
  for (int i = t->rank - 1; i >= 0; i--) {
    if (!imp_is_i64(arr->strides[i], row)) return false;
    if (t->dims[i]->kind != TERM_CONST) return true;
    row *= t->dims[i]->u.constant.u.i;
  }
  return true;
}

static bool is_record(KernCode *kc, const Access *access, const ImpExp **base,
                      const ImpExp **step) {
  const Arr *arr = memory_at(kc, access->tensor);
  if (arr->mem->lanes || !lies_dense(access->tensor, arr) ||
      !place_apart(kc, access, arr, base, step))
    return false;
  return !small_step(*step, arr->mem->elem);
}

bool loads_have_set(KernCode *kc, const KernBlock *block, const RecordTile *tile,
                    AxisSet set) {
  for (int i = 0; i < MOST_APART; i++)
    if (tile->loads[i] >= 0 && load_set(kc, &block->stms[tile->loads[i]].u.load) != set)
      return false;
  return true;
}

static void declare_columns(KernCode *kc, const KernBlock *block, const RecordTile *tile,
                            const ImpExp *const *columns, VarCopies *const *values) {
  for (int i = 0; i < TILE_HEIGHT; i++)
    if (tile->loads[i] >= 0)
      declare_loaded(kc, block->stms[tile->loads[i]].binders[0], values[i], columns[i]);
}

bool lower_record(KernCode *kc, const KernBlock *block, int at, bool *loaded) {
  const Access *access = &block->stms[at].u.load;
  AxisSet set = load_set(kc, access);
  const ImpExp *base, *step, *columns[TILE_HEIGHT];
  VarCopies *values[TILE_HEIGHT];
  RecordTile tile;
  if (!in_lanes(kc, set) || kc->mask || kc->lanes % TILE_HEIGHT ||
      !is_record(kc, access, &base, &step) || !record_tile(block, at, loaded, &tile) ||
      !loads_have_set(kc, block, &tile, set))
    return false;
  for (int i = 0; i < TILE_HEIGHT; i++) {
    if (tile.loads[i] < 0) continue;
    loaded[tile.loads[i]] = true;
    values[i] = copies_new(kc, block->stms[tile.loads[i]].binders[0], set);
  }
  for (Copies c = copies_over(kc, set); copies_next(&c);) {
    const Arr *arr = memory_at(kc, access->tensor);
    affine_place(kc, access, arr, &base, &step);
    load_tile(kc, arr, imp_add(base, imp_i64(tile.first)), step, columns);
    declare_columns(kc, block, &tile, columns, values);
  }
  return true;
}

// ---- stores of a block

// Elements `at` and following of the records, of which the even fields are in `a` and the odd ones
// in `b`, `unit` elements each side by side.
static const ImpExp *alternate(KernCode *kc, const ImpExp *a, const ImpExp *b, int unit,
                               int at) {
  signed char *from = new_array(signed char, kc->lanes);
  for (int i = 0; i < kc->lanes; i++) {
    int record = (at + i) / (2 * unit), field = (at + i) / unit % 2;
    int element = record * unit + (at + i) % unit;
    from[i] = (signed char)(field * kc->lanes + element % kc->lanes);
  }
  return declared(kc, "record", imp_permute(a, b, from));
}

static void join_two(KernCode *kc, const ImpExp *const *fields, const ImpExp **out) {
  for (int i = 0; i < 2; i++)
    out[i] = alternate(kc, fields[0], fields[1], 1, i * kc->lanes);
}

static void join_three(KernCode *kc, const ImpExp *const *fields, const ImpExp **out) {
  for (int v = 0; v < 3; v++) {
    signed char *two = new_array(signed char, kc->lanes),
                *three = new_array(signed char, kc->lanes);
    for (int i = 0; i < kc->lanes; i++) {
      int record = (v * kc->lanes + i) / 3, field = (v * kc->lanes + i) % 3;
      two[i] = (signed char)(field == 1 ? kc->lanes + record : record);
      three[i] = (signed char)(field == 2 ? kc->lanes + record : i);
    }
    out[v] = declared(kc, "record", imp_permute(fields[0], fields[1], two));
    out[v] = declared(kc, "record", imp_permute(out[v], fields[2], three));
  }
}

static void join_four(KernCode *kc, const ImpExp *const *fields, const ImpExp **out) {
  const ImpExp *first[2], *second[2];
  join_two(kc, fields, first);
  join_two(kc, fields + 2, second);
  for (int v = 0; v < 4; v++)
    out[v] = alternate(kc, first[v / 2], second[v / 2], 2, v * kc->lanes);
}

// A vector per field of the lanes' records => the records, as vectors.
static void join_fields(KernCode *kc, const ImpExp *const *fields, int size,
                        const ImpExp **out) {
  if (size == 2) join_two(kc, fields, out);
  if (size == 3) join_three(kc, fields, out);
  if (size == 4) join_four(kc, fields, out);
}

// How many neighbours are stored together: whole records, if they are that small; 0: none are.
static int record_size(KernCode *kc, const Access *to) {
  const Arr *arr = memory_at(kc, to->tensor);
  const ImpExp *base, *step;
  if (arr->mem->lanes || !lies_dense(to->tensor, arr) ||
      !place_apart(kc, to, arr, &base, &step))
    return 0;
  int size = small_step(step, arr->mem->elem);
  if (size && size <= TILE_HEIGHT) return size;
  return kc->lanes % TILE_HEIGHT ? 0 : TILE_HEIGHT;
}

static AxisSet store_set(KernCode *kc, const KernStm *stm) {
  return load_set(kc, &stm->u.store.to) | set_of_term(kc, stm->u.store.value);
}

bool lower_record_store(KernCode *kc, const KernBlock *block, int at,
                        const RecordStores **stored) {
  const KernStm *stm = &block->stms[at];
  RecordStores stores;
  AxisSet set = store_set(kc, stm);
  int size;
  if (!in_lanes(kc, load_set(kc, &stm->u.store.to)) || kc->mask ||
      !(size = record_size(kc, &stm->u.store.to)) ||
      !record_stores(block, at, size, &stores))
    return false;
  for (int i = 0; i < size; i++)
    if (store_set(kc, &block->stms[stores.stores[i]]) != set) return false;
  for (int i = 0; i < size; i++)
    stored[stores.stores[i]] = mem_copy(&stores, sizeof stores);
  return true;
}

static void store_whole(KernCode *kc, const Mem *mem, const ImpExp *base,
                        const ImpExp *const *fields, int size) {
  const ImpExp *parts[TILE_HEIGHT];
  join_fields(kc, fields, size, parts);
  for (int i = 0; i < size; i++)
    add_stm(kc, (ImpStm){
                    .kind = IMP_STORE,
                    .u.store = { .mem = mem,
                                 .index = imp_add(base, imp_i64((int64_t)i * kc->lanes)),
                                 .value = permuted_at_once(kc, parts[i]) } });
}

// Four neighbours of longer records: the inverse of loading a tile.
static void store_tile(KernCode *kc, const Mem *mem, const ImpExp *base,
                       const ImpExp *step, const ImpExp *const *fields) {
  const ImpExp *rows[TILE_HEIGHT];
  step = declared(kc, "apart", step);
  transpose(kc, fields, rows);
  for (int i = 0; i < TILE_HEIGHT; i++)
    add_stm(kc, (ImpStm){ .kind = IMP_STORE,
                          .u.store = { .mem = mem,
                                       .index = imp_add(base, imp_mul(step, imp_i64(i))),
                                       .value = declared(kc, "rows", rows[i]),
                                       .step = imp_mul(step, imp_i64(TILE_HEIGHT)),
                                       .run = TILE_HEIGHT } });
}

void lower_stored_record(KernCode *kc, const KernBlock *block,
                         const RecordStores *stores) {
  const KernStm *first = &block->stms[stores->stores[0]];
  const ImpExp *base, *step, *fields[TILE_HEIGHT];
  int size = record_size(kc, &first->u.store.to);
  for (Copies c = copies_over(kc, store_set(kc, first)); copies_next(&c);) {
    const Arr *arr = memory_at(kc, first->u.store.to.tensor);
    affine_place(kc, &first->u.store.to, arr, &base, &step);
    base = declared(kc, "corner", base);
    for (int i = 0; i < size; i++)
      fields[i] = declared(
          kc, "field", lower_vector(kc, block->stms[stores->stores[i]].u.store.value));
    if (imp_is_i64(step, size))
      store_whole(kc, arr->mem, base, fields, size);
    else
      store_tile(kc, arr->mem, base, step, fields);
  }
}
