// alloc t: [m] own;  axis i < m { x = a[i];  t[i] = x * y };  .. axis j < m { z = t[j]; .. } ..
//   =>   .. axis j < m { x = a[j];  let z = x * y; .. } ..
//
// for arrays of a point's own that are made by maps of lets and loads, of memory that the kernel
// does not change, and loaded at one place, element by element: the rows that histograms add.
// Why: the elements stay in registers, and where the bin is none nothing is computed.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_DIMS = 4, MOST_LETS = 16 };

// A map that makes an array: `lets` at the indices, then `value`.
typedef struct MadeRow {
  const Tensor *tensor;
  const Var *indices[MOST_DIMS];
  int depth;
  KernBuilder lets;
  const Term *value;
} MadeRow;

typedef struct RowsRead {
  KernMapper mapper;
  const Map *stored;  // Tensor -> itself: memory of all points that the kernel changes
  Map *rows;          // Tensor -> MadeRow *: those that go
} RowsRead;

// ---- which arrays

static bool is_pure(const RowsRead *r, const KernStm *stm) {
  return stm->kind == KERN_LET ||
         (stm->kind == KERN_LOAD && !map_has(r->stored, tensor_root(stm->u.load.tensor)));
}

static bool stores_at_indices(const MadeRow *row, const Access *to) {
  if (to->tensor->space != TENSOR_OWN || to->tensor->of || to->tensor->rank != row->depth)
    return false;
  for (int d = 0; d < row->depth; d++)
    if (to->index[d]->kind != TERM_VAR || to->index[d]->u.var != row->indices[d])
      return false;
  return true;
}

// Is it such a map?
static bool makes_row(const RowsRead *r, const KernStm *stm, MadeRow *row) {
  for (row->depth = 0; stm->kind == KERN_AXIS && row->depth < MOST_DIMS;) {
    const Axis *axis = stm->u.axis;
    const KernBlock *body = axis->body;
    if (axis->role != AXIS_MAP || axis->bind != BIND_SEQ || !body->count) return false;
    row->indices[row->depth++] = axis->index;
    for (int i = 0; i < body->count - 1; i++) {
      if (!is_pure(r, &body->stms[i]) || row->lets.stms.count == MOST_LETS) return false;
      kern_add(&row->lets, body->stms[i]);
    }
    stm = &body->stms[body->count - 1];
  }
  if (stm->kind != KERN_STORE || !stores_at_indices(row, &stm->u.store.to)) return false;
  row->tensor = stm->u.store.to.tensor;
  row->value = stm->u.store.value;
  return true;
}

// What a block does to the array.
typedef struct RowUses {
  const Tensor *tensor;
  int loads, others, depth;
} RowUses;

static void count_access(KernVisitor *v, Access access, bool stores) {
  RowUses *u = v->state;
  if (tensor_root(access.tensor) != u->tensor) return;
  if (stores || access.tensor != u->tensor) {
    u->others++;
    return;
  }
  u->loads++;
  u->depth = v->depth;
}

static void count_others(KernVisitor *v, const KernStm *stm) {
  RowUses *u = v->state;
  if (stm->kind == KERN_ROOM && tensor_root(stm->u.room.tensor) == u->tensor) u->others++;
  for (int i = 0; stm->kind == KERN_AXIS && i < stm->u.axis->hist_count; i++)
    for (int k = 0; k < stm->u.axis->hists[i].op.count; k++)
      if (tensor_root(stm->u.axis->hists[i].dests[k].tensor) == u->tensor) u->others++;
}

// Is it made by that statement alone, and each element loaded once at most?
static bool is_read_once(const KernBlock *block, int at, const MadeRow *row) {
  RowUses u = { .tensor = row->tensor };
  KernVisitor v = { .stm = count_others, .access = count_access, .state = &u };
  bool allocated = false;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    allocated |= i < at && stm->kind == KERN_ALLOC && stm->u.tensor == row->tensor;
    if (i != at) kern_visit_stm(&v, stm);
  }
  return allocated && u.others == 0 && u.loads == 1 && u.depth == row->depth;
}

// ---- their elements

static void add_element(RowsRead *r, KernBuilder *b, const KernStm *load,
                        const MadeRow *row) {
  Map *at = map_new(NULL);
  for (int d = 0; d < row->depth; d++)
    map_put(at, row->indices[d], load->u.load.index[d]);
  const KernBlock *made =
      kern_rename(r->mapper.c, at, kern_block(&row->lets, &row->value, 1));
  for (int i = 0; i < made->count; i++)
    kern_add(b, made->stms[i]);
  kern_let_var(b, load->binders[0], made->results[0]);
}

static bool is_gone(const RowsRead *r, const KernStm *stm) {
  return stm->kind == KERN_ALLOC && map_has(r->rows, stm->u.tensor);
}

static const KernBlock *where_read(KernMapper *m, const KernBlock *block) {
  RowsRead *r = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  bool *goes = new_array(bool, block->count + 1);
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    MadeRow row = { .lets = kern_builder(m->c, block->stms[i].loc) };
    goes[i] = makes_row(r, &block->stms[i], &row) && is_read_once(block, i, &row);
    if (goes[i]) map_put(r->rows, row.tensor, mem_copy(&row, sizeof row));
  }
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    const MadeRow *row =
        stm->kind == KERN_LOAD ? map_get(r->rows, stm->u.load.tensor) : NULL;
    if (row)
      add_element(r, &b, stm, row);
    else if (!goes[i] && !is_gone(r, stm))
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_rows_where_read(Compiler *c, const Kern *kern) {
  RowsRead r = { .mapper = { .c = c, .block = where_read },
                 .stored = kern_stored(kern),
                 .rows = map_new(NULL) };
  r.mapper.state = &r;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = where_read(&r.mapper, kern->body);
  return out;
}
