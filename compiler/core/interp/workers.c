// What several workers do in lockstep (flat/workers/workers.h): each is an interpreter of its own,
// which is told its rank; `exchange` gives all of them what each has to say.  Without it there is
// one.
//
// Stricter than a device: what all have must be each row once, and all must be at the same place.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <stdlib.h>
#include <string.h>

// What is moved: args are the rows that all have together, the first of this worker's block, how
// many those are, and the block; then what the expression has besides.
typedef struct RowMove {
  Slot to;
  const Slot *args;
  bool ring;
  int dim;  // of EXP_FETCH
} RowMove;

enum { MOVE_TOTAL, MOVE_START, MOVE_COUNT, MOVE_BLOCK, MOVE_REST };

static const InterpWorkers *workers_of(const Machine *m) { return m->options.workers; }

// ---- splits

typedef struct RowShare {
  const Slot *to;
  int weights;  // a number that says which: those of each layout are others
} RowShare;

// From 0 to 2, by the rank; 0: all workers have as much.
static int64_t weight_of(int weights, int64_t rank) {
  return weights ? (rank + weights) % 3 : 1;
}

// The first row of a worker; of the one behind the last, all.
static int64_t first_row(int weights, int64_t count, int64_t width, int64_t rank) {
  int64_t before = 0, all = 0, more = width % count;
  if (!weights) return rank * (width / count) + (rank < more ? rank : more);
  for (int64_t i = 0; i < count; i++) {
    all += weight_of(weights, i);
    before += i < rank ? weight_of(weights, i) : 0;
  }
  if (!all) return rank ? width : 0;  // the first one has them
  return width * before / all;
}

static bool run_split(Machine *m, const Ins *ins) {
  const InterpWorkers *w = workers_of(m);
  const RowShare *share = ins->more;
  int64_t width = ins->a->i, most = 0, count = w->count;
  for (int64_t i = 0; i < count; i++) {
    int64_t rows = first_row(share->weights, count, width, i + 1) -
                   first_row(share->weights, count, width, i);
    most = rows > most ? rows : most;
  }
  int64_t start = first_row(share->weights, count, width, w->rank);
  int64_t end = first_row(share->weights, count, width, w->rank + 1);
  int64_t values[SPLIT_RESULTS] = { start, end - start, count, w->rank, most };
  if (width < 0) {
    values[SPLIT_START] = 0;
    values[SPLIT_COUNT] = values[SPLIT_MOST] = width;
  }
  for (int i = 0; i < SPLIT_RESULTS; i++)
    share->to[i].at->i = values[i];
  return true;
}

// ---- rows of all

typedef struct RowHeader {
  const Ins *ins;  // the same address in all, which are copies of a process
  int64_t total, start, count, row_bytes;
} RowHeader;

static int64_t row_bytes(Slot block) {
  int64_t bytes = prim_size_bytes(block.elem);
  for (int i = 1; i < block.rank; i++)
    bytes *= slot_shape(block)[i];
  return bytes;
}

// This worker's rows behind their header.
static char *message_of(Machine *m, const Ins *ins, RowHeader header, Slot block) {
  if (block.rank && slot_shape(block)[0] != header.count)
    run_bug(m, ins->stm, "a block of %lld rows instead of %lld",
            (long long)slot_shape(block)[0], (long long)header.count);
  char *out = mem_alloc_plain(sizeof header + (size_t)(header.count * header.row_bytes));
  memcpy(out, &header, sizeof header);
  if (!block.rank) {
    scalar_store(block.elem)(out + sizeof header, block.at);
    return out;
  }
  int64_t strides[64];
  region_dense_strides(strides, slot_shape(block), block.rank,
                       prim_size_bytes(block.elem));
  region_copy((MemoryRegion){ out + sizeof header, strides },
              (MemoryRegion){ block.at[0].base, slot_strides(block) }, slot_shape(block),
              block.rank, prim_size_bytes(block.elem));
  return out;
}

// Puts the rows of one worker where they belong; how many there are.
static int64_t take_rows(Machine *m, const Ins *ins, const RowHeader *own,
                         const char *message, char *all) {
  RowHeader header;
  memcpy(&header, message, sizeof header);
  bool alike = header.ins == ins && header.total == own->total &&
               (header.row_bytes == own->row_bytes || header.count == 0);
  if (!alike) run_bug(m, ins->stm, "workers are not at the same place");
  if (header.count == 0) return 0;
  if (header.start < 0 || header.start + header.count > header.total)
    run_bug(m, ins->stm, "rows %lld:%lld of %lld", (long long)header.start,
            (long long)header.count, (long long)header.total);
  memcpy(all + header.start * header.row_bytes, message + sizeof header,
         (size_t)(header.count * header.row_bytes));
  return header.count;
}

// All rows, one behind the other; NULL: another worker has failed.
static char *rows_of_all(Machine *m, const Ins *ins, const RowMove *move) {
  const InterpWorkers *w = workers_of(m);
  const Slot *args = move->args;
  Slot block = args[MOVE_BLOCK];
  RowHeader own = { ins, args[MOVE_TOTAL].at->i, args[MOVE_START].at->i,
                    args[MOVE_COUNT].at->i, row_bytes(block) };
  size_t length = sizeof own + (size_t)(own.count * own.row_bytes);
  char **messages = new_array(char *, w->count);
  if (!w->exchange(w->state, message_of(m, ins, own, block), length, messages))
    return NULL;
  char *all = mem_alloc_plain((size_t)(own.total * own.row_bytes) + 1);
  int64_t rows = 0;
  for (int i = 0; i < w->count; i++)
    rows += take_rows(m, ins, &own, messages[i], all);
  if (rows != own.total)
    run_bug(m, ins->stm, "%lld rows of %lld", (long long)rows, (long long)own.total);
  return all;
}

// Gives `to` the rows from `first` on; those that are not there, which nothing may read, are ones.
static bool put_all(Machine *m, const Ins *ins, const RowMove *move, int64_t first,
                    int64_t rows) {
  Slot block = move->args[MOVE_BLOCK];
  int64_t shape[64] = { rows }, total = move->args[MOVE_TOTAL].at->i;
  for (int i = 1; i < block.rank; i++)
    shape[i] = slot_shape(block)[i];
  char *all = rows_of_all(m, ins, move);
  if (!all) return run_fail(m, ins->stm, "another worker has failed");
  if (!array_alloc(m, ins->stm, move->to, shape)) return false;
  int64_t bytes = row_bytes(block);
  char *to = move->to.at[0].base;
  for (int64_t i = 0; i < rows; i++) {
    int64_t from = first + i;
    if (move->ring && total) from = (from % total + total) % total;
    if (from >= 0 && from < total)
      memcpy(to + i * bytes, all + from * bytes, (size_t)bytes);
    else
      memset(to + i * bytes, 1, (size_t)bytes);
  }
  return true;
}

static bool run_gather(Machine *m, const Ins *ins) {
  const RowMove *move = ins->more;
  return put_all(m, ins, move, 0, move->args[MOVE_TOTAL].at->i);
}

// The rows of all, of each what lies from position `first` of a dimension on.
static bool put_columns(Machine *m, const Ins *ins, const RowMove *move, int64_t first,
                        int64_t count) {
  Slot block = move->args[MOVE_BLOCK];
  const int64_t *own = slot_shape(block);
  int64_t shape[64], outer = 1, unit = prim_size_bytes(block.elem);
  for (int i = 0; i < block.rank; i++) {
    shape[i] = i == move->dim ? count : i ? own[i] : move->args[MOVE_TOTAL].at->i;
    if (i < move->dim) outer *= shape[i];
    if (i > move->dim) unit *= shape[i];
  }
  char *all = rows_of_all(m, ins, move);
  if (!all) return run_fail(m, ins->stm, "another worker has failed");
  int64_t columns = own[move->dim];
  if (first < 0 || first + count > columns)
    run_bug(m, ins->stm, "columns %lld:%lld of %lld", (long long)first, (long long)count,
            (long long)columns);
  if (!array_alloc(m, ins->stm, move->to, shape)) return false;
  char *to = move->to.at[0].base;
  for (int64_t i = 0; i < outer; i++)
    memcpy(to + i * count * unit, all + (i * columns + first) * unit,
           (size_t)(count * unit));
  return true;
}

// first, rows
static bool run_fetch(Machine *m, const Ins *ins) {
  const RowMove *move = ins->more;
  const Slot *rest = move->args + MOVE_REST;
  if (move->dim) return put_columns(m, ins, move, rest[0].at->i, rest[1].at->i);
  return put_all(m, ins, move, rest[0].at->i, rest[1].at->i);
}

// before, extent
static bool run_border(Machine *m, const Ins *ins) {
  const RowMove *move = ins->more;
  const Slot *rest = move->args + MOVE_REST;
  int64_t start = move->args[MOVE_START].at->i, before = rest[0].at->i;
  if (!move->ring && before > start) before = start;
  return put_all(m, ins, move, start - before, rest[1].at->i);
}

// ---- values for the blocks of others

static int64_t slot_count(Slot array) {
  int64_t count = 1;
  for (int i = 0; i < array.rank; i++)
    count *= slot_shape(array)[i];
  return count;
}

static void put_dense(char *to, Slot from) {
  int64_t strides[64], bytes = prim_size_bytes(from.elem);
  region_dense_strides(strides, slot_shape(from), from.rank, bytes);
  region_copy((MemoryRegion){ to, strides },
              (MemoryRegion){ from.at[0].base, slot_strides(from) }, slot_shape(from),
              from.rank, bytes);
}

// What this worker has for all, behind a header: positions, then values.
static char *parcel_of(RowHeader header, Slot positions, Slot values) {
  size_t points = (size_t)header.count * sizeof(int64_t);
  char *out = mem_alloc_plain(sizeof header + (size_t)(header.count * header.row_bytes));
  memcpy(out, &header, sizeof header);
  put_dense(out + sizeof header, positions);
  put_dense(out + sizeof header + points, values);
  return out;
}

// Puts those values of a parcel into the block that belong there: it has `count` places, from
// number `start` on.
static void take_parcel(Machine *m, const Ins *ins, const RowHeader *own,
                        const char *parcel, char *to, int64_t start, int64_t count) {
  RowHeader header;
  memcpy(&header, parcel, sizeof header);
  if (header.ins != ins || header.total != own->total)
    run_bug(m, ins->stm, "workers are not at the same place");
  const char *positions = parcel + sizeof header;
  const char *values = positions + header.count * (int64_t)sizeof(int64_t);
  int64_t bytes = header.row_bytes - (int64_t)sizeof(int64_t);
  for (int64_t i = 0; i < header.count; i++) {
    int64_t at;
    memcpy(&at, positions + i * (int64_t)sizeof at, sizeof at);
    if (at >= start && at - start < count)
      memcpy(to + (at - start) * bytes, values + i * bytes, (size_t)bytes);
  }
}

// positions, values
static bool run_deliver(Machine *m, const Ins *ins) {
  const InterpWorkers *w = workers_of(m);
  const RowMove *move = ins->more;
  Slot block = move->args[MOVE_BLOCK], values = move->args[MOVE_REST + 1];
  Slot positions = move->args[MOVE_REST];
  int64_t points = slot_count(positions), bytes = prim_size_bytes(values.elem);
  for (int i = positions.rank; i < values.rank; i++)
    bytes *= slot_shape(values)[i];
  int64_t places = bytes ? row_bytes(block) / bytes : 0;  // in a row
  int64_t item = bytes + (int64_t)sizeof(int64_t);
  RowHeader own = { ins, move->args[MOVE_TOTAL].at->i, move->args[MOVE_START].at->i,
                    points, item };
  char *parcel = parcel_of(own, positions, values);
  char **parcels = new_array(char *, w ? w->count : 1);
  parcels[0] = parcel;
  size_t length = sizeof own + (size_t)(points * item);
  if (w && !w->exchange(w->state, parcel, length, parcels))
    return run_fail(m, ins->stm, "another worker has failed");
  if (!array_alloc(m, ins->stm, move->to, slot_shape(block))) return false;
  put_dense(move->to.at[0].base, block);
  for (int i = 0; i < (w ? w->count : 1); i++)
    take_parcel(m, ins, &own, parcels[i], move->to.at[0].base, own.start * places,
                slot_shape(block)[0] * places);
  return true;
}

// ---- generating

static RowMove *gen_move_rows(Gen *g, InsFn *run, const Atom *atoms, int count, bool ring,
                              Slot to) {
  RowMove *move =
      new_node(RowMove, .to = to, .args = gen_atoms(g, atoms, count), .ring = ring);
  gen_add(g, (Ins){ .run = run, .more = move, .stm = g->stm });
  return move;
}

static int weights_of(Name layout) {
  const char *number = layout ? strrchr(layout, '_') : NULL;
  return number ? atoi(number + 1) : 0;
}

void gen_workers_exp(Gen *g, const Exp *exp, const Slot *to) {
  if (exp->kind == EXP_SPLIT) {
    gen_add(g, (Ins){ .run = run_split,
                      .a = gen_slot(g, exp->u.split.width).at,
                      .more = new_node(RowShare, to, weights_of(exp->u.split.layout)),
                      .stm = g->stm });
  } else if (exp->kind == EXP_GATHER) {
    Atom atoms[] = { exp->u.gather.total, exp->u.gather.start, exp->u.gather.count,
                     exp->u.gather.value };
    gen_move_rows(g, run_gather, atoms, MOVE_REST, false, to[0]);
  } else if (exp->kind == EXP_FETCH) {
    Atom atoms[] = { exp->u.fetch.total, exp->u.fetch.start, exp->u.fetch.count,
                     exp->u.fetch.block, exp->u.fetch.first, exp->u.fetch.rows };
    gen_move_rows(g, run_fetch, atoms, MOVE_REST + 2, false, to[0])->dim =
        exp->u.fetch.dim;
  } else if (exp->kind == EXP_DELIVER) {
    Atom atoms[] = {
      exp->u.deliver.total, exp->u.deliver.start,     exp->u.deliver.count,
      exp->u.deliver.block, exp->u.deliver.positions, exp->u.deliver.values
    };
    gen_move_rows(g, run_deliver, atoms, MOVE_REST + 2, false, to[0]);
  } else {
    Atom atoms[] = { exp->u.border.total, exp->u.border.start,  exp->u.border.count,
                     exp->u.border.block, exp->u.border.before, exp->u.border.extent };
    gen_move_rows(g, run_border, atoms, MOVE_REST + 2, exp->u.border.ring, to[0]);
  }
}
