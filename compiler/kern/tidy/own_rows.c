//   axis n: i < n grid { out[i, 0] = a; out[i, 1] = b; loop { .. out[i, 0] .. out[i, 1] = x } }
//   =>
//   axis n: i < n grid {
//     alloc row: [2] own; row[0] = a; row[1] = b; loop { .. row[0] .. row[1] = x }
//     out[i, 0] = row[0]; out[i, 1] = row[1]
//   }
//
// Why: a few numbers that loops update are registers then (the best so far of a search), of lanes
// vectors that lie side by side; results are read and written at each update, with lanes apart.
//
// Legal if the point alone has the row, all of which it stores before it loads any of it.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_ELEMENTS = 16, MOST_AXES = 8 };

typedef struct OwnRow {
  KernMapper mapper;
  const Tensor *out, *row;
  const Map *data;                // Var -> itself: what the data decide (kern_data)
  const Var *indices[MOST_AXES];  // of the grid
  int index_count;
  int lead;                  // dimensions of `out` that say which row
  const Term *const *place;  // their indices; NULL: none seen
  bool fits, loaded_in_loop, stored_in_loop;
  bool scanned;             // in a loop, elements that the data do not pick
  bool set[MOST_ELEMENTS];  // elements that are stored by now
} OwnRow;

// ---- is it one?

static int row_length(const Tensor *t, int lead) {
  int64_t length = 1;
  for (int i = lead; i < t->rank; i++) {
    if (t->dims[i]->kind != TERM_CONST) return 0;
    int64_t dim = t->dims[i]->u.constant.u.i;
    if (dim < 1 || dim > MOST_ELEMENTS || (length *= dim) > MOST_ELEMENTS) return 0;
  }
  return (int)length;
}

static bool is_index(const OwnRow *r, const Term *t) {
  for (int i = 0; i < r->index_count; i++)
    if (t->kind == TERM_VAR && t->u.var == r->indices[i]) return true;
  return false;
}

// Do the first indices name all axes of the grid, so that no other point has this row?
static bool is_of_point(const OwnRow *r, const Access *access) {
  int named = 0;
  for (int i = 0; i < r->lead; i++) {
    if (!is_index(r, access->index[i])) return false;
    for (int k = 0; k < i; k++)
      if (term_same(access->index[i], access->index[k])) return false;
    named++;
  }
  return named == r->index_count;
}

static bool is_at_place(OwnRow *r, const Access *access) {
  if (!r->place && !is_of_point(r, access)) return false;
  if (!r->place) r->place = access->index;
  for (int i = 0; i < r->lead; i++)
    if (!term_same(access->index[i], r->place[i])) return false;
  return true;
}

static bool is_picked(const OwnRow *r, const Access *access) {
  for (int i = r->lead; i < access->tensor->rank; i++)
    if (term_mentions_any(access->index[i], r->data)) return true;
  return false;
}

static void see_row(KernVisitor *v, Access access, bool stores) {
  OwnRow *r = v->state;
  if (tensor_root(access.tensor) != r->out) return;
  if (access.tensor != r->out || !is_at_place(r, &access)) r->fits = false;
  if (v->depth > 0) *(stores ? &r->stored_in_loop : &r->loaded_in_loop) = true;
  if (v->depth > 0 && !stores && !is_picked(r, &access)) r->scanned = true;
}

static void see_row_bins(KernVisitor *v, const KernStm *stm) {
  OwnRow *r = v->state;
  for (int h = 0; stm->kind == KERN_AXIS && h < stm->u.axis->hist_count; h++)
    for (int i = 0; i < stm->u.axis->hists[h].op.count; i++)
      if (tensor_root(stm->u.axis->hists[h].dests[i].tensor) == r->out) r->fits = false;
}

// ---- is all of it stored first?

// The element's number, if the indices are known; else -1.  `index`: that of an axis, at `at`.
static int element_of_row(const OwnRow *r, const Access *access, const Var *index,
                          int at) {
  int64_t number = 0;
  for (int i = r->lead; i < r->out->rank; i++) {
    const Term *t = access->index[i];
    int64_t place = t->kind == TERM_CONST                      ? t->u.constant.u.i
                    : t->kind == TERM_VAR && t->u.var == index ? at
                                                               : -1;
    if (place < 0 || place >= r->out->dims[i]->u.constant.u.i) return -1;
    number = number * r->out->dims[i]->u.constant.u.i + place;
  }
  return (int)number;
}

static void note_row_stores(OwnRow *r, const KernBlock *block, const Axis *axis, int at) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind != KERN_STORE || stm->u.store.to.tensor != r->out) continue;
    int number = element_of_row(r, &stm->u.store.to, axis ? axis->index : NULL, at);
    if (number >= 0) r->set[number] = true;
  }
}

static void see_any(KernVisitor *v, Access access, bool stores) {
  OwnRow *r = v->state;
  if (access.tensor == r->out && !stores) r->fits = false;
}

static bool loads_row(const OwnRow *r, const KernStm *stm) {
  OwnRow seen = *r;
  KernVisitor v = { .access = see_any, .state = &seen };
  kern_visit_stm(&v, stm);
  return !seen.fits;
}

// A map of few points, with nothing in it that may be left out.
static void note_map(OwnRow *r, const Axis *axis) {
  bool few = axis->role == AXIS_MAP && axis->bind == BIND_SEQ &&
             axis->width->kind == TERM_CONST &&
             axis->width->u.constant.u.i <= MOST_ELEMENTS;
  for (int at = 0; few && at < axis->width->u.constant.u.i; at++)
    note_row_stores(r, axis->body, axis, at);
}

static bool is_full(const OwnRow *r) {
  for (int i = 0; i < row_length(r->out, r->lead); i++)
    if (!r->set[i]) return false;
  return true;
}

static bool is_stored_first(OwnRow *r, const KernBlock *block) {
  for (int i = 0; i < block->count && !is_full(r); i++) {
    KernStm stm = block->stms[i];
    if (loads_row(r, &stm)) return false;
    note_row_stores(r, &(KernBlock){ .stms = &stm, .count = 1 }, NULL, 0);
    if (stm.kind == KERN_AXIS) note_map(r, stm.u.axis);
  }
  return is_full(r);
}

// Elements that the data pick are no registers: a copy of the row pays off over many rounds alone.
static bool is_counted_briefly(const OwnRow *r, const KernBlock *block) {
  bool briefly = !r->scanned;
  for (int i = 0; i < block->count && briefly; i++) {
    const KernStm *stm = &block->stms[i];
    const Term *width = stm->kind == KERN_AXIS ? stm->u.axis->width : NULL;
    if (width && loads_row(r, stm))
      briefly = width->kind == TERM_CONST && width->u.constant.u.i <= MOST_ELEMENTS;
  }
  return briefly;
}

// ---- the row

static Access in_own_row(const OwnRow *r, const Access *access) {
  return (Access){ r->row, access->index + r->lead };
}

static const KernBlock *to_row(KernMapper *m, const KernBlock *block) {
  const OwnRow *r = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (stm.kind == KERN_LOAD && stm.u.load.tensor == r->out)
      stm.u.load = in_own_row(r, &stm.u.load);
    if (stm.kind == KERN_STORE && stm.u.store.to.tensor == r->out)
      stm.u.store.to = in_own_row(r, &stm.u.store.to);
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

// out[place, k..] = row[k..]
static void add_result(KernBuilder *b, const OwnRow *r, int number) {
  const Term **index = new_array(const Term *, r->out->rank + 1);
  for (int i = r->out->rank - 1; i >= 0; i--) {
    if (i < r->lead) {
      index[i] = r->place[i];
      continue;
    }
    int64_t dim = r->out->dims[i]->u.constant.u.i;
    index[i] = term_i64(number % dim);
    number /= (int)dim;
  }
  const Var *var =
      var_new(b->c, name_of(b->c->names, "x"), type_scalar(r->out->elem), b->loc);
  kern_load_var(b, var, (Access){ r->row, index + r->lead });
  kern_store(b, (Access){ r->out, index }, term_var(var));
}

static const KernBlock *with_row(OwnRow *r, Compiler *c, const KernBlock *block,
                                 Loc loc) {
  KernBuilder b = kern_builder(c, loc);
  r->row = tensor_new(c, "row", r->out->elem, r->out->dims + r->lead,
                      r->out->rank - r->lead, TENSOR_OWN);
  r->mapper = (KernMapper){ .c = c, .block = to_row, .state = r };
  kern_add(&b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = r->row });
  const KernBlock *inner = to_row(&r->mapper, block);
  for (int i = 0; i < inner->count; i++)
    kern_add(&b, inner->stms[i]);
  for (int i = 0; i < row_length(r->out, r->lead); i++)
    add_result(&b, r, i);
  return kern_block(&b, block->results, block->result_count);
}

// ---- all

typedef struct Stored {
  const Tensor *at[MOST_AXES];
  int count;
} Stored;

static void see_whole_stored(KernVisitor *v, Access access, bool stores) {
  Stored *s = v->state;
  for (int i = 0; i < s->count; i++)
    if (s->at[i] == access.tensor) return;
  if (stores && access.tensor->space == TENSOR_GLOBAL && !access.tensor->of &&
      !access.tensor->order && s->count < MOST_AXES)
    s->at[s->count++] = access.tensor;
}

static bool find_own_row(OwnRow *r, const Tensor *out, const KernBlock *block) {
  r->out = out;
  r->lead = r->index_count;
  if (r->lead < 1 || out->rank <= r->lead || !row_length(out, r->lead)) return false;
  r->fits = true;
  KernVisitor v = { .stm = see_row_bins, .access = see_row, .state = r };
  kern_visit_block(&v, block);
  return r->fits && r->loaded_in_loop && r->stored_in_loop &&
         !is_counted_briefly(r, block) && is_stored_first(r, block);
}

// The block at each point of the grid, with rows of its own.
static const KernBlock *own_rows_of(OwnRow *grid, Compiler *c, const KernBlock *block,
                                    Loc loc) {
  Stored stored = { .count = 0 };
  KernVisitor v = { .access = see_whole_stored, .state = &stored };
  kern_visit_block(&v, block);
  for (int i = 0; i < stored.count; i++) {
    OwnRow r = *grid;
    if (find_own_row(&r, stored.at[i], block)) block = with_row(&r, c, block, loc);
  }
  return block;
}

static const KernBlock *of_grid(OwnRow *grid, Compiler *c, const KernBlock *block,
                                Loc loc) {
  const KernStm *stm = block->count == 1 ? &block->stms[0] : NULL;
  if (!stm || stm->kind != KERN_AXIS || stm->u.axis->bind != BIND_GRID)
    return grid->index_count ? own_rows_of(grid, c, block, loc) : block;
  if (grid->index_count == MOST_AXES) return block;
  grid->indices[grid->index_count++] = stm->u.axis->index;
  Axis axis = *stm->u.axis;
  axis.body = of_grid(grid, c, axis.body, stm->loc);
  if (axis.body == stm->u.axis->body) return block;
  KernBuilder b = kern_builder(c, stm->loc);
  kern_axis(&b, axis, stm->binders, stm->binder_count);
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_own_rows(Compiler *c, const Kern *kern) {
  OwnRow grid = { .data = kern_data(kern) };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = of_grid(&grid, c, kern->body, kern->loc);
  return out->body == kern->body ? kern : out;
}
