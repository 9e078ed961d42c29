// Scatters and histograms: nests that write into given arrays.
#include "base/mem.h"
#include "core/interp/nest.h"
#include <string.h>

typedef struct Dest {
  Slot from, to;
  bool movable;
} Dest;

// ---- scatter

typedef struct ScatterPart {
  Dest dest;
  const Slot *indices;
  int index_count;
  Slot value;
} ScatterPart;

typedef struct Scatter {
  ScatterPart *parts;
  int count;
} Scatter;

static bool take(Machine *m, const Ins *ins, const Dest *d) {
  return array_take(m, ins->stm, d->to, d->from, d->movable);
}

static bool take_scatter(Machine *m, const Ins *ins, const SpaceNest *n) {
  const Scatter *s = n->dests;
  for (int i = 0; i < s->count; i++)
    if (!take(m, ins, &s->parts[i].dest)) return false;
  return true;
}

// The place that the indices name, or NULL if they are out of bounds.
static char *place_of(const ScatterPart *part) {
  Slot to = part->dest.to;
  char *at = to.at[0].base;
  for (int d = 0; d < part->index_count; d++) {
    int64_t index = part->indices[d].at->i;
    if (index < 0 || index >= slot_shape(to)[d]) return NULL;
    at += index * slot_strides(to)[d];
  }
  return at;
}

// Writes the value to a place of `to` below its first `outer` dimensions.
static void put(Machine *m, const Ins *ins, Slot to, char *at, Slot value) {
  int outer = to.rank - value.rank;
  if (value.rank == 0) {
    scalar_store(to.elem)(at, value.at);
    return;
  }
  const int64_t *shape = slot_shape(to) + outer;
  if (memcmp(shape, slot_shape(value), (size_t)value.rank * sizeof *shape) != 0)
    run_bug(m, ins->stm, "a value unlike the rows of its destination");
  region_copy((MemoryRegion){ at, slot_strides(to) + outer },
              (MemoryRegion){ value.at[0].base, slot_strides(value) }, shape, value.rank,
              prim_size_bytes(to.elem));
}

static bool scatter_point(Machine *m, const Ins *ins, const SpaceNest *n) {
  const Scatter *s = n->dests;
  for (int i = 0; i < s->count; i++) {
    const ScatterPart *part = &s->parts[i];
    char *at = place_of(part);
    if (at) put(m, ins, part->dest.to, at, part->value);
    if (part->value.rank) array_release(m, part->value);
  }
  return true;
}

// A destination that the body or another destination reads must survive.
static bool is_read(VarVec used, Atom a) {
  for (int i = 0; i < used.count; i++)
    if (a.kind == ATOM_VAR && used.at[i] == a.u.var) return true;
  return false;
}

static Dest dest_new(Gen *g, Atom from, Slot to, VarVec *used) {
  Dest d = { .from = gen_slot(g, from), .to = to };
  d.movable = !is_read(*used, from) && gen_consume(g, from);
  if (from.kind == ATOM_VAR) vec_push(used, from.u.var);
  return d;
}

static const Scatter *scatter_new(int count) {
  return new_node(Scatter, .parts = new_array(ScatterPart, count), .count = count);
}

// The results of the body, and the destinations, once the body has been generated.
static void finish_scatter(Gen *g, SpaceNest *n, const ScatterDest *dests,
                           const Slot *results, VarVec used) {
  const Scatter *s = n->dests;
  const Slot *to = gen_binders(g);
  int at = 0;
  for (int i = 0; i < s->count; i++) {
    s->parts[i].index_count = dests[i].index_count;
    s->parts[i].indices = results + at;
    s->parts[i].value = results[at + dests[i].index_count];
    at += dests[i].index_count + 1;
    s->parts[i].dest = dest_new(g, dests[i].dest, to[i], &used);
  }
  n->before = take_scatter;
  n->each = scatter_point;
  nest_add(g, n);
}

static void add_arrays(VarVec *used, const Atom *arrays, int count) {
  for (int i = 0; i < count; i++)
    if (arrays[i].kind == ATOM_VAR) vec_push(used, arrays[i].u.var);
}

void gen_scatter(Gen *g, const Exp *exp) {
  const Lambda *fn = &exp->u.scatter.fn;
  SpaceNest *n = new (SpaceNest);
  nest_line(g, n, exp->u.scatter.width);
  nest_inputs(g, n, fn, exp->u.scatter.arrays, exp->u.scatter.array_count);
  VarVec used = core_free_lambda(fn);
  add_arrays(&used, exp->u.scatter.arrays, exp->u.scatter.array_count);
  const Slot *results = nest_body(g, n, fn, NULL, 0);
  n->dests = scatter_new(exp->u.scatter.dest_count);
  finish_scatter(g, n, exp->u.scatter.dests, results, used);
}

void gen_seg_scatter(Gen *g, const SegOp *seg) {
  SpaceNest *n = new (SpaceNest);
  nest_space(g, n, seg);
  VarVec used = core_free_body(seg->body);
  const Lambda body = { .body = seg->body };
  const Slot *results = nest_body(g, n, &body, NULL, 0);
  n->dests = scatter_new(seg->dest_count);
  finish_scatter(g, n, seg->dests, results, used);
}

// ---- histograms

typedef struct HistPart {
  Dest *dests;
  int count;
  bool chained;
  Slot width, index;
  const Slot *left;     // the operator's left parameters: what is in the bin
  const Slot *results;  // ... and what goes there
  const InsCode *code;
} HistPart;

typedef struct Hist {
  HistPart *parts;
  int count;
} Hist;

static bool take_hist(Machine *m, const Ins *ins, const SpaceNest *n) {
  const Hist *h = n->dests;
  for (int i = 0; i < h->count; i++)
    for (int k = 0; k < h->parts[i].count && !h->parts[i].chained; k++)
      if (!take(m, ins, &h->parts[i].dests[k])) return false;
  return true;
}

// The bin of the current line of the space.
static char *bin_of(const SpaceNest *n, Slot dest, int64_t index) {
  int outer = n->dim_count - 1;
  char *at = dest.at[0].base + index * slot_strides(dest)[outer];
  for (int d = 0; d < outer; d++)
    at += n->indices[d]->i * slot_strides(dest)[d];
  return at;
}

static void load_bin(Slot left, Slot dest, char *at) {
  if (left.rank == 0) {
    scalar_load(left.elem)(left.at, at);
    return;
  }
  int outer = dest.rank - left.rank;
  left.at[0].base = at;
  left.at[1] = dest.at[1];
  left.at[1].store->refs++;
  memcpy(slot_shape(left), slot_shape(dest) + outer, (size_t)left.rank * sizeof(int64_t));
  memcpy(slot_strides(left), slot_strides(dest) + outer,
         (size_t)left.rank * sizeof(int64_t));
}

static bool hist_part(Machine *m, const Ins *ins, const SpaceNest *n,
                      const HistPart *part) {
  int64_t index = part->index.at->i;
  if (index < 0 || index >= part->width.at->i) return true;
  for (int k = 0; k < part->count; k++)
    load_bin(part->left[k], part->dests[k].to, bin_of(n, part->dests[k].to, index));
  if (!run_code(m, part->code)) return false;
  for (int k = 0; k < part->count; k++) {
    put(m, ins, part->dests[k].to, bin_of(n, part->dests[k].to, index), part->results[k]);
    if (part->results[k].rank) array_release(m, part->results[k]);
  }
  return true;
}

static bool hist_point(Machine *m, const Ins *ins, const SpaceNest *n) {
  const Hist *h = n->dests;
  for (int i = 0; i < h->count; i++)
    if (!hist_part(m, ins, n, &h->parts[i])) return false;
  return true;
}

// The operator applied to the bin and the values, which live in the body's results.
static void gen_hist_op(Gen *g, HistPart *part, const RedOp *op, const Slot *values) {
  Slot *left = new_array(Slot, op->count);
  for (int k = 0; k < op->count; k++) {
    left[k] = gen_var(g, op->op.params[k]);
    gen_alias(g, op->op.params[op->count + k], values[k]);
  }
  InsVec outer = gen_begin(g);
  part->left = left;
  part->results = gen_lambda(g, &op->op);
  part->code = gen_end(g, outer);
}

static void finish_hist(Gen *g, SpaceNest *n, const HistOp *ops, int count,
                        const Slot *results) {
  Hist *h = new_node(Hist, .parts = new_array(HistPart, count), .count = count);
  int value = count;
  for (int i = 0; i < count; i++) {
    h->parts[i].count = ops[i].op.count;
    h->parts[i].chained = ops[i].chained;
    h->parts[i].width = gen_slot(g, ops[i].width);
    h->parts[i].index = results[i];
    gen_hist_op(g, &h->parts[i], &ops[i].op, results + value);
    value += ops[i].op.count;
  }
  n->dests = h;
  n->before = take_hist;
  n->each = hist_point;
}

static void hist_dests(Gen *g, const SpaceNest *n, const HistOp *ops, VarVec used) {
  const Slot *to = gen_binders(g);
  const Hist *h = n->dests;
  int at = 0;
  for (int i = 0; i < h->count; i++) {
    if (ops[i].chained) {
      h->parts[i].dests = h->parts[i - 1].dests;
      continue;
    }
    h->parts[i].dests = new_array(Dest, ops[i].op.count);
    for (int k = 0; k < ops[i].op.count; k++)
      h->parts[i].dests[k] = dest_new(g, ops[i].dests[k], to[at++], &used);
  }
  nest_add(g, n);
}

// The operators' free variables count as read, too.
static void add_operators(VarVec *used, const HistOp *ops, int count) {
  for (int i = 0; i < count; i++) {
    VarVec free = core_free_lambda(&ops[i].op.op);
    for (int k = 0; k < free.count; k++)
      vec_push(used, free.at[k]);
  }
}

void gen_hist(Gen *g, const Exp *exp) {
  const Lambda *fn = &exp->u.hist.fn;
  SpaceNest *n = new (SpaceNest);
  nest_line(g, n, exp->u.hist.width);
  nest_inputs(g, n, fn, exp->u.hist.arrays, exp->u.hist.array_count);
  VarVec used = core_free_lambda(fn);
  add_arrays(&used, exp->u.hist.arrays, exp->u.hist.array_count);
  add_operators(&used, exp->u.hist.ops, exp->u.hist.op_count);
  const Slot *results = nest_body(g, n, fn, NULL, 0);
  finish_hist(g, n, exp->u.hist.ops, exp->u.hist.op_count, results);
  hist_dests(g, n, exp->u.hist.ops, used);
}

void gen_seg_hist(Gen *g, const SegOp *seg) {
  SpaceNest *n = new (SpaceNest);
  nest_space(g, n, seg);
  VarVec used = core_free_body(seg->body);
  add_operators(&used, seg->hists, seg->hist_count);
  const Lambda body = { .body = seg->body };
  const Slot *results = nest_body(g, n, &body, NULL, 0);
  finish_hist(g, n, seg->hists, seg->hist_count, results);
  hist_dests(g, n, seg->hists, used);
}
