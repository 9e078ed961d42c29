// Stores and the views of them.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <stdlib.h>
#include <string.h>

// References to a store of the caller: never reaches one, so it is never written or freed.
static const int64_t borrowed = INT64_MAX / 2;

int64_t shape_count(const int64_t *shape, int rank) {
  int64_t count = 1;
  for (int i = 0; i < rank; i++)
    count *= shape[i];
  return count;
}

// An array of negative size is as good as empty until the code that would fill it fails.
static bool bytes_of(const int64_t *shape, int rank, PrimType elem, size_t *out) {
  int64_t bytes = prim_size_bytes(elem);
  bool empty = false, overflow = false;
  for (int i = 0; i < rank; i++)
    empty |= shape[i] <= 0;
  for (int i = 0; i < rank && !empty; i++)
    overflow |= __builtin_mul_overflow(bytes, shape[i], &bytes);
  *out = empty ? 0 : (size_t)bytes;
  return !overflow;
}

static Store *store_new(Machine *m, size_t bytes) {
  if (bytes > m->most_bytes - m->live_bytes) return NULL;
  Store *s = malloc(sizeof *s + bytes);
  if (!s) return NULL;
  *s = (Store){ .refs = 1, .next = m->stores, .data = (char *)(s + 1), .bytes = bytes };
  if (m->stores) m->stores->previous = s;
  m->stores = s;
  m->live_bytes += bytes;
  return s;
}

static void store_free(Machine *m, Store *s) {
  if (s->previous)
    s->previous->next = s->next;
  else
    m->stores = s->next;
  if (s->next) s->next->previous = s->previous;
  m->live_bytes -= s->bytes;
  free(s);
}

void region_dense_strides(int64_t *strides, const int64_t *shape, int rank,
                          int64_t elem_bytes) {
  int64_t stride = elem_bytes;
  for (int i = rank - 1; i >= 0; i--) {
    strides[i] = stride;
    stride *= shape[i];
  }
}

static void refer(Slot to, const int64_t *shape, Store *store) {
  to.at[0].base = store->data;
  to.at[1].store = store;
  memmove(slot_shape(to), shape, (size_t)to.rank * sizeof *shape);
  region_dense_strides(slot_strides(to), slot_shape(to), to.rank,
                       prim_size_bytes(to.elem));
}

static bool out_of_memory(Machine *m, const Stm *stm, Slot to, const int64_t *shape) {
  Text *t = text_new();
  for (int d = 0; d < to.rank; d++)
    text_printf(t, "[%lld]", (long long)shape[d]);
  return run_fail(m, stm, "out of memory: no room for an array of type %s%s", text_str(t),
                  prim_type_name(to.elem));
}

bool array_alloc(Machine *m, const Stm *stm, Slot to, const int64_t *shape) {
  size_t bytes = 0;
  bool countable = bytes_of(shape, to.rank, to.elem, &bytes);
  Store *store = countable ? store_new(m, bytes) : NULL;
  if (!store) return out_of_memory(m, stm, to, shape);
  if (to.at[1].store) array_release(m, to);
  refer(to, shape, store);
  return true;
}

void array_borrow(Machine *m, Slot to, const int64_t *shape, char *data) {
  Store *store = store_new(m, 0);
  if (!store) run_bug(m, NULL, "no memory for an input");
  store->refs = borrowed;
  store->data = data;
  refer(to, shape, store);
}

void array_release(Machine *m, Slot s) {
  Store *store = s.at[1].store;
  s.at[1].store = NULL;
  if (store && --store->refs == 0) store_free(m, store);
}

static void copy_words(Slot to, Slot from) {
  memcpy(to.at, from.at, slot_words(to) * sizeof *to.at);
}

void array_share(Machine *m, Slot to, Slot from) {
  from.at[1].store->refs++;
  array_release(m, to);
  copy_words(to, from);
}

void array_move(Machine *m, Slot to, Slot from) {
  array_release(m, to);
  copy_words(to, from);
  from.at[1].store = NULL;
}

bool array_is_dense(Slot s) {
  int64_t stride = prim_size_bytes(s.elem);
  for (int i = s.rank - 1; i >= 0; i--) {
    if (slot_shape(s)[i] != 1 && slot_strides(s)[i] != stride) return false;
    stride *= slot_shape(s)[i];
  }
  return true;
}

static bool is_dense(const int64_t *strides, const int64_t *shape, int rank,
                     int64_t elem_bytes) {
  int64_t stride = elem_bytes;
  for (int i = rank - 1; i >= 0; i--) {
    if (shape[i] != 1 && strides[i] != stride) return false;
    stride *= shape[i];
  }
  return true;
}

// One line of elements of a fixed size, so that the compiler sees plain moves.
#define COPY_LINE(T)                                                                   \
  static void copy_line_##T(MemoryRegion to, MemoryRegion from, int64_t count) {       \
    for (int64_t i = 0; i < count; i++)                                                \
      memcpy(to.base + i * to.strides[0], from.base + i * from.strides[0], sizeof(T)); \
  }
COPY_LINE(uint8_t)
COPY_LINE(uint16_t)
COPY_LINE(uint32_t)
COPY_LINE(uint64_t)

static void copy_line(MemoryRegion to, MemoryRegion from, int64_t count,
                      int64_t elem_bytes) {
  if (elem_bytes == 1) copy_line_uint8_t(to, from, count);
  if (elem_bytes == 2) copy_line_uint16_t(to, from, count);
  if (elem_bytes == 4) copy_line_uint32_t(to, from, count);
  if (elem_bytes == 8) copy_line_uint64_t(to, from, count);
}

static void copy_rows(MemoryRegion to, MemoryRegion from, const int64_t *shape, int rank,
                      int64_t elem_bytes) {
  if (rank == 0) memcpy(to.base, from.base, (size_t)elem_bytes);
  if (rank == 1) copy_line(to, from, shape[0], elem_bytes);
  for (int64_t i = 0; rank > 1 && i < shape[0]; i++) {
    MemoryRegion to_row = { to.base + i * to.strides[0], to.strides + 1 };
    MemoryRegion from_row = { from.base + i * from.strides[0], from.strides + 1 };
    copy_rows(to_row, from_row, shape + 1, rank - 1, elem_bytes);
  }
}

void region_copy(MemoryRegion to, MemoryRegion from, const int64_t *shape, int rank,
                 int64_t elem_bytes) {
  int64_t count = shape_count(shape, rank);
  if (count == 0) return;
  bool dense = is_dense(to.strides, shape, rank, elem_bytes) &&
               is_dense(from.strides, shape, rank, elem_bytes);
  if (dense)
    memmove(to.base, from.base, (size_t)(count * elem_bytes));
  else
    copy_rows(to, from, shape, rank, elem_bytes);
}

bool array_copy(Machine *m, const Stm *stm, Slot to, Slot from) {
  if (!array_alloc(m, stm, to, slot_shape(from))) return false;
  region_copy((MemoryRegion){ to.at[0].base, slot_strides(to) },
              (MemoryRegion){ from.at[0].base, slot_strides(from) }, slot_shape(from),
              from.rank, prim_size_bytes(from.elem));
  return true;
}

// May two indices name the same element?
static bool repeats(Slot s) {
  for (int i = 0; i < s.rank; i++)
    if (slot_strides(s)[i] == 0 && slot_shape(s)[i] > 1) return true;
  return false;
}

bool array_take(Machine *m, const Stm *stm, Slot to, Slot from, bool movable) {
  if (movable && from.at[1].store->refs == 1 && !repeats(from)) {
    array_move(m, to, from);
    return true;
  }
  if (!array_copy(m, stm, to, from)) return false;
  if (movable) array_release(m, from);
  return true;
}

// Scalars of each type in memory, with the word's member and the type in memory.
#define MEMORY_TYPES(X)    \
  X(PRIM_I8, int8_t, i)    \
  X(PRIM_I16, int16_t, i)  \
  X(PRIM_I32, int32_t, i)  \
  X(PRIM_I64, int64_t, i)  \
  X(PRIM_U8, uint8_t, i)   \
  X(PRIM_U16, uint16_t, i) \
  X(PRIM_U32, uint32_t, i) \
  X(PRIM_U64, uint64_t, i) \
  X(PRIM_F16, uint16_t, i) \
  X(PRIM_F32, float, f32)  \
  X(PRIM_F64, double, f64) \
  X(PRIM_BOOL, uint8_t, i)

#define LOAD_STORE(TYPE, T, MEMBER)                      \
  static void load_##TYPE(Word *to, const char *from) {  \
    T value;                                             \
    memcpy(&value, from, sizeof value);                  \
    to->MEMBER = (__typeof__(to->MEMBER))value;          \
  }                                                      \
  static void store_##TYPE(char *to, const Word *from) { \
    T value = (T)from->MEMBER;                           \
    memcpy(to, &value, sizeof value);                    \
  }
MEMORY_TYPES(LOAD_STORE)

#define LOAD_ROW(TYPE, T, MEMBER)  [TYPE] = load_##TYPE,
#define STORE_ROW(TYPE, T, MEMBER) [TYPE] = store_##TYPE,

LoadFn *scalar_load(PrimType type) {
  static LoadFn *const loads[PRIM_COUNT] = { MEMORY_TYPES(LOAD_ROW) };
  return loads[type];
}

StoreFn *scalar_store(PrimType type) {
  static StoreFn *const stores[PRIM_COUNT] = { MEMORY_TYPES(STORE_ROW) };
  return stores[type];
}

Prim word_prim(PrimType type, const Word *w) {
  Prim p = { .type = type };
  if (type == PRIM_F32)
    p.u.f32 = w->f32;
  else if (type == PRIM_F64)
    p.u.f64 = w->f64;
  else
    p.u.i = w->i;
  return p;
}

void word_set_prim(Word *w, Prim p) {
  if (p.type == PRIM_F32)
    w->f32 = p.u.f32;
  else if (p.type == PRIM_F64)
    w->f64 = p.u.f64;
  else
    w->i = p.u.i;
}
