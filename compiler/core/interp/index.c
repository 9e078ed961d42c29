// Indexing, slicing and updating.  Every index is checked, also those that the program promises to
// be right: that is what an oracle is for.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <string.h>

typedef struct IndexDim {
  bool is_slice;
  const Word *start, *count, *stride;
} IndexDim;

typedef struct IndexStep {
  Slot array, result;
  const IndexDim *dims;
  int slices;    // dimensions that remain
  bool checked;  // false: being out of bounds is a mistake of ours
  Slot value;    // updates only
  bool movable;  // updates only: the array dies here
} IndexStep;

static void add_dim_text(Text *t, const IndexDim *dim) {
  if (!dim->is_slice) {
    text_printf(t, "%lld", (long long)dim->start->i);
    return;
  }
  int64_t stride = dim->stride->i, end = dim->start->i + dim->count->i * stride;
  text_printf(t, "%lld:%lld", (long long)dim->start->i, (long long)end);
  if (stride != 1) text_printf(t, ":%lld", (long long)stride);
}

static bool is_whole(const IndexDim *dim, int64_t size) {
  return dim->is_slice && dim->start->i == 0 && dim->count->i == size &&
         dim->stride->i == 1;
}

// Dimensions that are left whole at the end are those that the program does not mention.
static bool out_of_bounds(Machine *m, const Ins *ins, const IndexStep *a) {
  Text *index = text_new(), *shape = text_new();
  const int64_t *sizes = slot_shape(a->array);
  int shown = a->array.rank;
  while (shown > 1 && is_whole(&a->dims[shown - 1], sizes[shown - 1]))
    shown--;
  for (int d = 0; d < shown; d++) {
    if (d) text_add(index, ", ");
    add_dim_text(index, &a->dims[d]);
    text_printf(shape, "[%lld]", (long long)sizes[d]);
  }
  if (a->checked)
    return run_fail(m, ins->stm, "Index [%s] out of bounds for array of shape %s.",
                    text_str(index), text_str(shape));
  // Other words, which tests that expect the error of a check do not take for it.
  return run_fail(m, ins->stm,
                  "No element [%s] in an array of shape %s, and no check of it.",
                  text_str(index), text_str(shape));
}

static bool in_bounds(const IndexDim *dim, int64_t size) {
  int64_t start = dim->start->i;
  if (!dim->is_slice) return start >= 0 && start < size;
  int64_t count = dim->count->i, last;
  if (count <= 0) return count == 0;  // wherever it starts
  bool overflow = __builtin_mul_overflow(count - 1, dim->stride->i, &last);
  overflow |= __builtin_add_overflow(last, start, &last);
  return !overflow && start >= 0 && start < size && last >= 0 && last < size;
}

// The region that the index selects in `array`; false if some of it is outside.
static bool select(const IndexStep *a, Slot array, char **base, int64_t *shape,
                   int64_t *strides) {
  *base = array.at[0].base;
  int kept = 0;
  for (int d = 0; d < array.rank; d++) {
    const IndexDim *dim = &a->dims[d];
    if (!in_bounds(dim, slot_shape(array)[d])) return false;
    bool reads =
        !dim->is_slice || dim->count->i > 0;  // an empty slice may start past the end
    if (reads) *base += dim->start->i * slot_strides(array)[d];
    if (!dim->is_slice) continue;
    shape[kept] = dim->count->i;
    int64_t stride = dim->count->i > 1 ? dim->stride->i : 1;  // else of any size
    strides[kept++] = stride * slot_strides(array)[d];
  }
  return true;
}

enum { MAX_RANK = 64 };

static bool run_slice(Machine *m, const Ins *ins) {
  const IndexStep *a = ins->more;
  char *base = NULL;
  int64_t shape[MAX_RANK], strides[MAX_RANK];
  if (!select(a, a->array, &base, shape, strides)) return out_of_bounds(m, ins, a);
  array_release(m, a->result);
  a->result.at[0].base = base;
  a->result.at[1].store = a->array.at[1].store;
  a->result.at[1].store->refs++;
  memcpy(slot_shape(a->result), shape, (size_t)a->slices * sizeof *shape);
  memcpy(slot_strides(a->result), strides, (size_t)a->slices * sizeof *strides);
  return true;
}

static bool run_index(Machine *m, const Ins *ins) {
  const IndexStep *a = ins->more;
  char *base = NULL;
  if (!select(a, a->array, &base, NULL, NULL)) return out_of_bounds(m, ins, a);
  scalar_load(a->array.elem)(ins->dst, base);
  return true;
}

static bool within(const Word *index, const Word *size) {
  return (uint64_t)index->i < (uint64_t)size->i;
}

// Elements of vectors and matrices of the common types: the words of `a` are those of Slot.
#define INDEX_FNS(TYPE, T, MEMBER)                                                     \
  static bool index1_##TYPE(Machine *m, const Ins *ins) {                              \
    const Word *a = ins->a;                                                            \
    if (!within(ins->b, &a[2])) return out_of_bounds(m, ins, ins->more);               \
    T value;                                                                           \
    memcpy(&value, a[0].base + ins->b->i * a[3].i, sizeof value);                      \
    ins->dst->MEMBER = value;                                                          \
    return true;                                                                       \
  }                                                                                    \
  static bool index2_##TYPE(Machine *m, const Ins *ins) {                              \
    const Word *a = ins->a;                                                            \
    if (!within(ins->b, &a[2]) || !within(ins->c, &a[3]))                              \
      return out_of_bounds(m, ins, ins->more);                                         \
    T value;                                                                           \
    memcpy(&value, a[0].base + ins->b->i * a[4].i + ins->c->i * a[5].i, sizeof value); \
    ins->dst->MEMBER = value;                                                          \
    return true;                                                                       \
  }
INDEX_FNS(PRIM_I32, int32_t, i)
INDEX_FNS(PRIM_I64, int64_t, i)
INDEX_FNS(PRIM_F32, float, f32)
INDEX_FNS(PRIM_F64, double, f64)

static InsFn *index_fn(PrimType type, int rank) {
  static InsFn *const fns[PRIM_COUNT][2] = {
    [PRIM_I32] = { index1_PRIM_I32, index2_PRIM_I32 },
    [PRIM_I64] = { index1_PRIM_I64, index2_PRIM_I64 },
    [PRIM_F32] = { index1_PRIM_F32, index2_PRIM_F32 },
    [PRIM_F64] = { index1_PRIM_F64, index2_PRIM_F64 },
  };
  InsFn *fn = rank <= 2 ? fns[type][rank - 1] : NULL;
  return fn ? fn : run_index;
}

_Noreturn static void value_shape_bug(Machine *m, const Ins *ins, const IndexStep *a) {
  Text *t = text_new();
  for (int d = 0; d < a->value.rank; d++)
    text_printf(t, "[%lld]", (long long)slot_shape(a->value)[d]);
  run_bug(m, ins->stm, "an update by a value of shape %s, which is not that of the slice",
          text_str(t));
}

// Stores the value into the selected region of the result.
static bool store_slice(Machine *m, const Ins *ins, const IndexStep *a) {
  char *base = NULL;
  int64_t shape[MAX_RANK], strides[MAX_RANK];
  select(a, a->result, &base, shape, strides);
  if (memcmp(shape, slot_shape(a->value), (size_t)a->slices * sizeof *shape) != 0)
    value_shape_bug(m, ins, a);
  region_copy((MemoryRegion){ base, strides },
              (MemoryRegion){ a->value.at[0].base, slot_strides(a->value) }, shape,
              a->slices, prim_size_bytes(a->result.elem));
  return true;
}

static bool all_in_bounds(const IndexStep *a) {
  for (int d = 0; d < a->array.rank; d++)
    if (!in_bounds(&a->dims[d], slot_shape(a->array)[d])) return false;
  return true;
}

static bool run_update(Machine *m, const Ins *ins) {
  const IndexStep *a = ins->more;
  if (!all_in_bounds(a)) return out_of_bounds(m, ins, a);
  if (!array_take(m, ins->stm, a->result, a->array, a->movable)) return false;
  if (a->slices) return store_slice(m, ins, a);
  char *base = NULL;
  select(a, a->result, &base, NULL, NULL);
  scalar_store(a->result.elem)(base, a->value.at);
  return true;
}

static const IndexDim *gen_dims(Gen *g, const DimIndex *dims, int count, int *slices) {
  IndexDim *result = new_array(IndexDim, count);
  *slices = 0;
  for (int d = 0; d < count; d++) {
    result[d].is_slice = dims[d].is_slice;
    result[d].start = gen_slot(g, dims[d].start).at;
    if (!dims[d].is_slice) continue;
    result[d].count = gen_slot(g, dims[d].count).at;
    result[d].stride = gen_slot(g, dims[d].stride).at;
    ++*slices;
  }
  return result;
}

static void gen_index(Gen *g, const Exp *exp, Slot to) {
  IndexStep *a = new_node(IndexStep, .array = gen_slot(g, exp->u.index.array),
                          .result = to, .checked = exp->u.index.checked);
  a->dims = gen_dims(g, exp->u.index.dims, exp->u.index.dim_count, &a->slices);
  InsFn *run = a->slices ? run_slice : index_fn(to.elem, a->array.rank);
  gen_add(g, (Ins){ .run = run,
                    .dst = to.at,
                    .a = a->array.at,
                    .b = a->dims[0].start,
                    .c = a->array.rank > 1 ? a->dims[1].start : NULL,
                    .more = a });
}

static bool same_variable(Atom a, Atom b) {
  return b.kind == ATOM_VAR && a.kind == ATOM_VAR && a.u.var == b.u.var;
}

static void gen_update(Gen *g, const Exp *exp, Slot to) {
  IndexStep *a = new_node(IndexStep, .array = gen_slot(g, exp->u.update.array),
                          .result = to, .checked = exp->u.update.checked,
                          .value = gen_slot(g, exp->u.update.value));
  a->dims = gen_dims(g, exp->u.update.dims, exp->u.update.dim_count, &a->slices);
  a->movable = !same_variable(exp->u.update.array, exp->u.update.value) &&
               gen_consume(g, exp->u.update.array);
  gen_add(g, (Ins){ .run = run_update, .more = a });
}

void gen_index_exp(Gen *g, const Exp *exp, Slot to) {
  if (exp->kind == EXP_INDEX)
    gen_index(g, exp, to);
  else
    gen_update(g, exp, to);
}
