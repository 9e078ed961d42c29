// collect a by T:
//        axis a: i < n hist { body in {bin, x} } into h below w op
//   =>   bins: [T] own; xs: [T] own
//        axis a0: o < n / T loop {
//          let kept = axis a: k < T scan {
//            let i = o * T + k; body; let counts = 0 <= bin && bin < w
//            in {i64(counts)}
//          } after (s) { if counts { bins[s - 1] = bin; xs[s - 1] = x } } op +
//          axis a_kept: k < kept hist { bins[k], xs[k] } into h below w op
//        }
//
// Histograms whose bin is -1 in a branch are collected, or all if there is none; others take the
// block's points as they come (a_all).
// Why: what makes bins can then run in lanes, which store side by side what is counted (packed.c),
// and where a bin may be none, no processor has to foresee whether.  Elements are added in the same
// order.
#include "kern/steps/step.h"

typedef struct Collecting {
  Step *s;
  const Kern *kern;
  const Axis *axis;
  int64_t by;
  const Tensor **bins;    // of each histogram; NULL: it takes all points
  const Tensor **values;  // of each value; NULL: it is a constant
  const Var **kept;       // how many of a block count, of each that is collected
} Collecting;

static int hist_values(const Axis *axis) {
  int count = 0;
  for (int h = 0; h < axis->hist_count; h++)
    count += axis->hists[h].op.count;
  return count;
}

static const Term *value_of(const Axis *axis, int number) {
  return axis->body->results[axis->hist_count + number];
}

static const Tensor *add_array(Collecting *x, KernBuilder *b, const char *name,
                               PrimType type) {
  const Term **dim = new_array(const Term *, 1);
  dim[0] = term_i64(x->by);
  const Tensor *t = tensor_new(x->s->c, name, type, dim, 1, TENSOR_OWN);
  kern_add(b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = t });
  return t;
}

// Bins are numbers of 32 bits where these suffice.
static PrimType bin_type(const KernHist *hist) {
  bool few = hist->width->kind == TERM_CONST && hist->width->u.constant.u.i <= INT32_MAX;
  return few ? PRIM_I32 : PRIM_I64;
}

static const Term *as_type(PrimType type, const Term *t) {
  return type == t->type ? t : term_convert(type, t);
}

static void add_block_arrays(Collecting *x, KernBuilder *b) {
  const Axis *axis = x->axis;
  bool all = true;
  for (int h = 0; h < axis->hist_count; h++)
    all &= !kern_may_be_none(axis, h);
  for (int h = 0, next = 0; h < axis->hist_count; next += axis->hists[h++].op.count) {
    if (!all && !kern_may_be_none(axis, h)) continue;
    x->bins[h] = add_array(x, b, "bins", bin_type(&axis->hists[h]));
    for (int i = next; i < next + axis->hists[h].op.count; i++) {
      const Term *value = value_of(axis, i);
      if (value->kind != TERM_CONST)
        x->values[i] = add_array(x, b, "values", value->type);
    }
  }
}

static Access element(const Tensor *t, const Term *index) {
  const Term **indices = new_array(const Term *, 1);
  indices[0] = index;
  return (Access){ t, indices };
}

// ---- what counts

static const KernOp *sums_of_flags(Collecting *x, int count) {
  KernOp *ops = new_array(KernOp, count);
  for (int h = 0; h < count; h++) {
    KernBuilder b = kern_builder(x->s->c, x->axis->index->loc);
    const Var **params = new_array(const Var *, 2);
    const Term **sum = new_array(const Term *, 2);
    params[0] = kern_index(x->s->c, "x", b.loc);
    params[1] = kern_index(x->s->c, "y", b.loc);
    sum[1] = term_i64(0);
    sum[0] = kern_let(&b, "sum", term_add(term_var(params[0]), term_var(params[1])));
    ops[h] = (KernOp){ params, kern_block(&b, sum, 1), sum + 1, 1, true };
  }
  return ops;
}

// Stores those that count of histogram `h`, whose values are from number `first` on.
static void add_stores(Collecting *x, KernBuilder *b, int h, int first, const Term *bin,
                       const Term *counts, const Var *sum) {
  KernBuilder stores = kern_builder(x->s->c, b->loc), nothing = stores;
  const Term *before = term_sub(term_var(sum), term_i64(1));
  const Term *place = kern_let(b, "place", term_select(counts, before, term_i64(-1)));
  kern_store(&stores, element(x->bins[h], place), as_type(x->bins[h]->elem, bin));
  for (int i = first; i < first + x->axis->hists[h].op.count; i++)
    if (x->values[i])
      kern_store(&stores, element(x->values[i], place), value_of(x->axis, i));
  const Term *inside =
      term_and(term_at_most(term_i64(0), place), term_less(place, term_i64(x->by)));
  kern_add(b, (KernStm){ .kind = KERN_IF,
                         .u.cond = { inside, kern_block(&stores, NULL, 0),
                                     kern_block(&nothing, NULL, 0), 0, false } });
}

static const Term *points_of_block(const Collecting *x, const Term *first) {
  return term_min(term_i64(x->by), term_sub(x->axis->width, first));
}

// let i = first + index; body
static KernBuilder body_of_block(const Collecting *x, const Term *first,
                                 const Var *index) {
  KernBuilder b = kern_builder(x->s->c, x->axis->index->loc);
  kern_let_var(&b, x->axis->index, term_add(first, term_var(index)));
  for (int i = 0; i < x->axis->body->count; i++)
    kern_add(&b, x->axis->body->stms[i]);
  return b;
}

static const Var *another_index(const Collecting *x) {
  return kern_index(x->s->c, x->axis->index->name, x->axis->index->loc);
}

// A block of points, from `first` on: what it has, and of that what counts.
static void add_scan(Collecting *x, KernBuilder *b, const Term *first) {
  const Axis *axis = x->axis;
  int count = 0;
  const Term **flags = new_array(const Term *, axis->hist_count);
  const Var **sums = new_array(const Var *, axis->hist_count);
  Axis scan = { .name = axis->name, .index = another_index(x), .role = AXIS_SCAN };
  KernBuilder body = body_of_block(x, first, scan.index);
  KernBuilder after = kern_builder(x->s->c, b->loc);
  for (int h = 0, next = 0; h < axis->hist_count; next += axis->hists[h++].op.count) {
    if (!x->bins[h]) continue;
    const Term *bin = kern_let(&body, "bin", axis->body->results[h]);
    const Term *counts = kern_let(
        &body, "counts",
        term_and(term_at_most(term_i64(0), bin), term_less(bin, axis->hists[h].width)));
    flags[count] = kern_let(&body, "flag", term_convert(PRIM_I64, counts));
    sums[count] = kern_index(x->s->c, "sum", b->loc);
    x->kept[count] = kern_index(x->s->c, "kept", b->loc);
    add_stores(x, &after, h, next, bin, counts, sums[count++]);
  }
  scan.width = points_of_block(x, first);
  scan.ops = sums_of_flags(x, count);
  scan.op_count = count;
  scan.body = kern_block(&body, flags, count);
  scan.after = kern_block(&after, NULL, 0);
  scan.sums = sums;
  kern_axis(b, scan, x->kept, count);
}

// ---- what is added

// An element of what has been collected.
static const Term *load_kept(Collecting *x, KernBuilder *b, const Tensor *from,
                             const Var *index) {
  const Var *loaded =
      var_new(x->s->c, from->name, type_scalar(from->elem), x->axis->index->loc);
  kern_load_var(b, loaded, element(from, term_var(index)));
  return term_var(loaded);
}

static Name name_with(const Collecting *x, const char *suffix) {
  return name_of(x->s->c->names, text_format("%s%s", x->axis->name, suffix));
}

// Histogram `h` of what has been collected, of so many.
static void add_hist(Collecting *x, KernBuilder *b, int h, int first, const Var *kept) {
  const KernHist *hist = &x->axis->hists[h];
  const Var *index = another_index(x);
  const Term **results = new_array(const Term *, 1 + hist->op.count);
  KernBuilder body = kern_builder(x->s->c, b->loc);
  const Term *bin = load_kept(x, &body, x->bins[h], index);
  results[0] = as_type(PRIM_I64, bin);
  for (int i = 0; i < hist->op.count; i++) {
    const Tensor *values = x->values[first + i];
    results[1 + i] =
        values ? load_kept(x, &body, values, index) : value_of(x->axis, first + i);
  }
  Axis all = { .name = name_with(x, "_kept"),
               .index = index,
               .width = term_var(kept),
               .role = AXIS_HIST,
               .most = x->by,
               .body = kern_block(&body, results, 1 + hist->op.count),
               .hists = hist,
               .hist_count = 1 };
  kern_axis(b, all, NULL, 0);
}

// The histograms that take all points of a block.
static void add_others(Collecting *x, KernBuilder *b, const Term *first) {
  const Axis *axis = x->axis;
  int values = 0, count = 0;
  KernHist *hists = new_array(KernHist, axis->hist_count);
  const Term **results = new_array(const Term *, axis->hist_count + hist_values(axis));
  for (int h = 0; h < axis->hist_count; h++) {
    if (x->bins[h]) continue;
    results[count] = axis->body->results[h];
    hists[count++] = axis->hists[h];
  }
  if (!count) return;
  for (int h = 0, next = 0; h < axis->hist_count; next += axis->hists[h++].op.count)
    for (int i = 0; i < axis->hists[h].op.count && !x->bins[h]; i++)
      results[count + values++] = value_of(axis, next + i);
  Axis all = { .name = name_with(x, "_all"),
               .index = another_index(x),
               .width = points_of_block(x, first),
               .role = AXIS_HIST,
               .hists = hists,
               .hist_count = count };
  KernBuilder body = body_of_block(x, first, all.index);
  const KernBlock *needed =
      kern_live_block(x->s->c, kern_block(&body, results, count + values));
  all.body = kern_rename(x->s->c, NULL, needed);
  kern_axis(b, all, NULL, 0);
}

static void add_collected(void *state, KernBuilder *b, const KernStm *stm) {
  Collecting *x = state;
  const Axis *axis = stm->u.axis;
  add_block_arrays(x, b);
  Axis blocks = { .name = name_with(x, "0"),
                  .index = another_index(x),
                  .width = term_ceil_div(axis->width, term_i64(x->by)),
                  .role = AXIS_LOOP };
  KernBuilder body = kern_builder(x->s->c, stm->loc);
  const Term *first =
      kern_let(&body, "first", term_mul(term_var(blocks.index), term_i64(x->by)));
  add_scan(x, &body, first);
  for (int h = 0, next = 0, kept = 0; h < axis->hist_count;
       next += axis->hists[h++].op.count)
    if (x->bins[h]) add_hist(x, &body, h, next, x->kept[kept++]);
  add_others(x, &body, first);
  blocks.body = kern_block(&body, NULL, 0);
  kern_axis(b, blocks, NULL, 0);
}

// Loops, and what more than fills a histogram; checks may stand where they are.
typedef struct BodyKinds {
  bool loops, effects;
} BodyKinds;

static void see_kind(KernVisitor *v, const KernStm *stm) {
  BodyKinds *kinds = v->state;
  switch (stm->kind) {
  case KERN_LET:
  case KERN_LOAD:
  case KERN_IF:
  case KERN_CHECK: return;
  case KERN_AXIS:
  case KERN_WHILE: kinds->loops = true; return;
  case KERN_STORE:
  case KERN_ALLOC:
  case KERN_ROOM:
  case KERN_CALL: kinds->effects = true; return;
  }
}

static BodyKinds kinds_in(const KernBlock *block) {
  BodyKinds kinds = { false, false };
  KernVisitor v = { .stm = see_kind, .state = &kinds };
  kern_visit_block(&v, block);
  return kinds;
}

const Kern *step_collect(Step *s, const Kern *kern, Name name, int64_t by) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const Axis *axis = stm->u.axis;
  if (axis->role != AXIS_HIST) return step_refuse(s, "%s is no histogram", name);
  if (axis->bind != BIND_SEQ) return step_refuse(s, "%s is no loop", name);
  BodyKinds kinds = kinds_in(axis->body);
  if (kinds.loops) return step_refuse(s, "there are loops in %s", name);
  if (kinds.effects) return step_refuse(s, "%s does more than to fill a histogram", name);
  Collecting x = { .s = s,
                   .kern = kern,
                   .axis = axis,
                   .by = by,
                   .bins = new_array(const Tensor *, axis->hist_count),
                   .values = new_array(const Tensor *, hist_values(axis) + 1),
                   .kept = new_array(const Var *, axis->hist_count) };
  return kern_name_axes(s->c, step_replace(s, kern, name, add_collected, &x));
}
