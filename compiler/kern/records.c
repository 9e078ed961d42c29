#include "kern/records.h"
#include "kern/sums.h"

enum { MOST_BETWEEN = 64 };  // statements that are looked at

// The loads of a record, by how far behind the first one's element theirs lie.
typedef struct Record {
  int64_t at[MOST_BETWEEN];
  int load[MOST_BETWEEN];
  int count;
  int64_t low, high;  // elements that exist
} Record;

// What the block lets the variable be, not far before the statement at `at`; or NULL.
static const Term *let_before(const KernBlock *block, int at, const Var *var) {
  for (int i = at - 1; i >= 0 && i >= at - MOST_BETWEEN; i--)
    if (block->stms[i].kind == KERN_LET && block->stms[i].binders[0] == var)
      return block->stms[i].u.term;
  return NULL;
}

// x + c, itself or as a variable or a copy of one  =>  x, and c is added
static const Term *without_constant(const KernBlock *block, int at, const Term *t,
                                    int64_t *added) {
  for (;;) {
    const Term *value = t->kind == TERM_VAR ? let_before(block, at, t->u.var) : t;
    if (value && value->kind == TERM_VAR) {
      t = value;
      continue;
    }
    if (!value || value->kind != TERM_OP ||
        (value->u.op.op != OP_ADD && value->u.op.op != OP_SUB) ||
        value->u.op.args[1]->kind != TERM_CONST)
      return t;
    int64_t c = value->u.op.args[1]->u.constant.u.i;
    if (c > MOST_BETWEEN || c < -MOST_BETWEEN) return t;
    *added += value->u.op.op == OP_ADD ? c : -c;
    t = value->u.op.args[0];
  }
}

// Accesses of the statements `at` and `other` of a block.
typedef struct StmPair {
  const KernBlock *block;
  int at, other;
} StmPair;

// How much further `b` goes than `a` in one dimension; false: that is no constant.
static bool index_distance(const StmPair *pair, const Term *a, const Term *b,
                           int64_t *out) {
  IndexSum from, to, difference;
  int64_t first = 0, second = 0;
  if (a == b) return *out = 0, true;
  a = without_constant(pair->block, pair->at, a, &first);
  b = without_constant(pair->block, pair->other, b, &second);
  if (!sum_of(a, &from) || !sum_of(b, &to) || !sum_add(&to, &from, -1, &difference))
    return false;
  *out = difference.constant + second - first;
  return difference.count == 0;
}

// How many elements `b` lies behind `a`.
static bool distance(const StmPair *pair, const Access *a, const Access *b,
                     int64_t *out) {
  const Tensor *t = a->tensor;
  int64_t row = 1;
  *out = 0;
  if (b->tensor != t) return false;
  for (int i = t->rank - 1; i >= 0; i--) {
    int64_t by;
    if (!index_distance(pair, a->index[i], b->index[i], &by) || (by != 0 && row == 0))
      return false;
    *out += by * row;
    row = t->dims[i]->kind == TERM_CONST ? row * t->dims[i]->u.constant.u.i : 0;
  }
  return true;
}

// Arrays that are not the same for the kernel: where one is made in the place of another, each load
// reads what was there before (in_place.c), and loads only move up, stores only down.
static bool are_other_arrays(const Tensor *a, const Tensor *b) {
  const Tensor *x = tensor_root(a), *y = tensor_root(b);
  return x != y && !(x->host && x->host == y->host);
}

// May what comes behind the statement be loaded before it?
static bool lets_by(const KernStm *stm, const Tensor *loaded) {
  if (stm->kind == KERN_LET || stm->kind == KERN_LOAD || stm->kind == KERN_ALLOC)
    return true;
  return stm->kind == KERN_STORE && are_other_arrays(stm->u.store.to.tensor, loaded);
}

// All of a row of constant length exists.
static void widen_to_row(Record *r, const Access *access) {
  const Tensor *t = access->tensor;
  const Term *length = t->dims[t->rank - 1], *at = access->index[t->rank - 1];
  if (length->kind != TERM_CONST || at->kind != TERM_CONST) return;
  r->low = -at->u.constant.u.i;
  r->high = r->low + length->u.constant.u.i - 1;
}

static Record record_of(const KernBlock *block, int at, const bool *taken) {
  Record r = { 0 };
  const Access *first = &block->stms[at].u.load;
  widen_to_row(&r, first);
  for (int i = at; i < block->count && i < at + MOST_BETWEEN; i++) {
    const KernStm *stm = &block->stms[i];
    int64_t behind;
    if (!lets_by(stm, first->tensor)) break;
    StmPair pair = { block, at, i };
    if (stm->kind != KERN_LOAD || !distance(&pair, first, &stm->u.load, &behind))
      continue;
    r.low = behind < r.low ? behind : r.low;
    r.high = behind > r.high ? behind : r.high;
    if (taken[i]) continue;
    r.at[r.count] = behind;
    r.load[r.count++] = i;
  }
  return r;
}

// Those of the record that lie in the tile of `size`; how many elements they are.
static int fill_tile(const Record *r, int size, RecordTile *tile) {
  int count = 0;
  for (int i = 0; i < MOST_APART; i++)
    tile->loads[i] = -1;
  for (int i = 0; i < r->count; i++) {
    int64_t place = r->at[i] - tile->first;
    if (place < 0 || place >= size || tile->loads[place] >= 0) continue;
    tile->loads[place] = r->load[i];
    count++;
  }
  return count;
}

// `whole`: all elements of the tile exist.
static bool fullest_tile(const KernBlock *block, int at, const bool *taken, int size,
                         bool whole, RecordTile *out) {
  const Tensor *t = block->stms[at].u.load.tensor;
  if (t->rank == 0 || t->order || taken[at]) return false;
  Record r = record_of(block, at, taken);
  int most = 1;
  for (int64_t first = 1 - size; r.count > 1 && first <= 0; first++) {
    RecordTile tile = { .first = first };
    if (whole && (first < r.low || first + size - 1 > r.high)) continue;
    int count = fill_tile(&r, size, &tile);
    if (count <= most) continue;
    *out = tile;
    most = count;
  }
  return most > 1;
}

bool record_tile(const KernBlock *block, int at, const bool *taken, RecordTile *out) {
  return fullest_tile(block, at, taken, TILE_HEIGHT, true, out);
}

bool is_few_apart(int64_t elements, PrimType elem) {
  int bytes = prim_size_bytes(elem);
  return (elements >= 2 && elements <= 4) ||
         (elements == 8 && (bytes == 1 || bytes == 4)) ||
         (elements == MOST_APART && bytes == 1);
}

bool near_loads(const KernBlock *block, int at, const bool *taken, int apart,
                RecordTile *out) {
  return fullest_tile(block, at, taken, apart, false, out);
}

// ---- stores

// May a store before the statement be made after it?
static bool may_go_first(const KernStm *stm, const Tensor *stored) {
  if (stm->kind == KERN_LET || stm->kind == KERN_ALLOC) return true;
  if (stm->kind == KERN_LOAD) return are_other_arrays(stm->u.load.tensor, stored);
  return stm->kind == KERN_STORE && are_other_arrays(stm->u.store.to.tensor, stored);
}

// The first `size` neighbours that are stored from the statement on, each by one.
static bool fill_record(const Record *r, int size, RecordStores *out) {
  for (int k = 0; k < TILE_HEIGHT; k++)
    out->stores[k] = -1;
  for (int i = 0; i < r->count; i++) {
    int64_t k = r->at[i] - out->first;
    if (k < 0 || k >= size) continue;
    if (out->stores[k] >= 0) return false;
    out->stores[k] = r->load[i];
    out->last = r->load[i];
  }
  for (int k = 0; k < size; k++)
    if (out->stores[k] < 0) return false;
  return true;
}

bool record_stores(const KernBlock *block, int at, int size, RecordStores *out) {
  const Access *first = &block->stms[at].u.store.to;
  Record r = { 0 };
  if (first->tensor->rank == 0 || first->tensor->order ||
      tensor_root(first->tensor)->space == TENSOR_OWN)
    return false;
  for (int i = at; i < block->count && i < at + MOST_BETWEEN && r.count < size; i++) {
    const KernStm *stm = &block->stms[i];
    int64_t behind;
    StmPair pair = { block, at, i };
    if (stm->kind == KERN_STORE && distance(&pair, first, &stm->u.store.to, &behind)) {
      r.at[r.count] = behind;
      r.load[r.count++] = i;
      r.low = behind < r.low ? behind : r.low;
    } else if (!may_go_first(stm, first->tensor)) {
      return false;
    }
  }
  *out = (RecordStores){ .first = r.low };
  return fill_record(&r, size, out);
}
