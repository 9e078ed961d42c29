// Histograms of rows in chunks (chunks.c): each counts into a copy of the bins, then a row's copies
// are put together.
#include "kern/kern_ask.h"
#include "kern/schedules/cut.h"

enum { OWN_BYTES = 1 << 14 };  // of bins that a chunk has for itself

// The tensors into which a histogram goes by itself: chained ones have those of another.
static int own_dests(const KernHist *hist) { return hist->chained ? 0 : hist->op.count; }

void cut_make_copies(Cut *x) {
  int count = 0;
  for (int h = 0; h < x->row->hist_count; h++)
    count += own_dests(&x->row->hists[h]);
  const Tensor **temps = new_array(const Tensor *, count + 1);
  for (int h = 0, next = 0; h < x->row->hist_count; h++)
    for (int k = 0; k < own_dests(&x->row->hists[h]); k++)
      temps[next++] = cut_temp_new(x, "copies", x->row->hists[h].op.params[k]->type.elem,
                                   x->row->hists[h].width);
  x->out->temps = temps;
  x->out->temp_count = count;
}

// Where a chunk counts: in the copies, or in small arrays of its own that are copied there: what
// lies on a processor's stack is faster to count in.
typedef struct OwnBins {
  const Tensor **own;  // NULL: the copies themselves
  Access *at;          // without the bin
} OwnBins;

// Bytes that all bins take, if that is known; else as many as are too many.
static int64_t bytes_of_bins(const Cut *x) {
  int64_t bytes = 0;
  for (int i = 0; i < x->out->temp_count; i++) {
    const Tensor *t = x->out->temps[i];
    const Term *width = t->dims[t->rank - 1];
    if (width->kind != TERM_CONST || width->u.constant.u.i > OWN_BYTES)
      return OWN_BYTES + 1;
    bytes += width->u.constant.u.i * prim_size_bytes(t->elem);
  }
  return bytes;
}

static OwnBins bins_of_chunk(Cut *x, KernBuilder *b, const Copy *copy, const Var *chunk) {
  int count = x->out->temp_count;
  bool small = bytes_of_bins(x) <= OWN_BYTES;
  OwnBins bins = { small ? new_array(const Tensor *, count + 1) : NULL,
                   new_array(Access, count + 1) };
  for (int i = 0; i < count; i++) {
    const Tensor *t = x->out->temps[i];
    bins.at[i] = cut_temp_at(x, t, copy, term_var(chunk), NULL);
    if (!small) continue;
    bins.own[i] = tensor_new(x->c, "bins", t->elem, &t->dims[t->rank - 1], 1, TENSOR_OWN);
    kern_add(b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = bins.own[i] });
    bins.at[i] = (Access){ bins.own[i], new_array(const Term *, 1) };
  }
  return bins;
}

// dest[bin]
static Access bin_of(const Access *dest, const Var *bin) {
  int rank = dest->tensor->rank;
  const Term **index = new_array(const Term *, rank + 1);
  for (int i = 0; i + 1 < rank; i++)
    index[i] = dest->index[i];
  index[rank - 1] = term_var(bin);
  return (Access){ dest->tensor, index };
}

static Axis all_bins(Cut *x, const KernHist *hist) {
  return (Axis){ .index = kern_index(x->c, "bin", x->kern->loc),
                 .width = hist->width,
                 .role = AXIS_MAP };
}

static void clear_bins(Cut *x, KernBuilder *b, const Copy *copy, const OwnBins *bins) {
  for (int h = 0, next = 0; h < copy->row->hist_count; h++) {
    const KernHist *hist = &copy->row->hists[h];
    if (hist->chained) continue;
    Axis all = all_bins(x, hist);
    KernBuilder body = kern_builder(x->c, x->kern->loc);
    for (int k = 0; k < hist->op.count; k++)
      kern_store(&body, bin_of(&bins->at[next++], all.index), hist->op.neutral[k]);
    all.body = kern_block(&body, NULL, 0);
    kern_axis(b, all, NULL, 0);
  }
}

static void copy_bins(Cut *x, KernBuilder *b, const Copy *copy, const OwnBins *bins,
                      const Var *chunk) {
  for (int h = 0, next = 0; bins->own && h < copy->row->hist_count; h++) {
    const KernHist *hist = &copy->row->hists[h];
    if (hist->chained) continue;
    Axis all = all_bins(x, hist);
    KernBuilder body = kern_builder(x->c, x->kern->loc);
    for (int k = 0; k < hist->op.count; k++, next++) {
      Access to =
          cut_temp_at(x, x->out->temps[next], copy, term_var(chunk), term_var(all.index));
      const Var *value = var_new(x->c, name_of(x->c->names, "counted"),
                                 type_scalar(bins->own[next]->elem), x->kern->loc);
      kern_load_var(&body, value, bin_of(&bins->at[next], all.index));
      kern_store(&body, to, term_var(value));
    }
    all.body = kern_block(&body, NULL, 0);
    kern_axis(b, all, NULL, 0);
  }
}

static const KernHist *into_bins(const Copy *copy, const OwnBins *bins) {
  KernHist *hists = new_array(KernHist, copy->row->hist_count + 1);
  for (int h = 0, next = 0; h < copy->row->hist_count; h++) {
    hists[h] = copy->row->hists[h];
    if (h && !hists[h].chained) next += hists[h - 1].op.count;
    hists[h].dests = bins->at + next;
  }
  return hists;
}

const Kern *cut_fill_copies(Cut *x) {
  Copy copy = cut_fresh_point(x);
  Axis grid = cut_chunk_axis(x);
  KernBuilder b = kern_builder(x->c, x->kern->loc);
  cut_before_row(x, &b, &copy);
  OwnBins bins = bins_of_chunk(x, &b, &copy, grid.index);
  clear_bins(x, &b, &copy, &bins);
  Axis chunk = cut_chunk_of(x, &b, copy.row, grid.index);
  chunk.hists = into_bins(&copy, &bins);
  kern_axis(&b, chunk, NULL, 0);
  copy_bins(x, &b, &copy, &bins, grid.index);
  return cut_in_grid(x, &copy, &grid, kern_block(&b, NULL, 0), "copies");
}

static void see_check(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_CHECK) *(bool *)v->state = true;
}

bool kern_has_checks(const KernBlock *block) {
  bool checks = false;
  KernVisitor v = { .stm = see_check, .state = &checks };
  kern_visit_block(&v, block);
  return checks;
}

// The operator, which is not applied to the neutral element of a bin without elements if it may
// fail (Note [Nothing to combine] in imp/lower/acc.c).
static const KernOp *joining(Cut *x, const KernOp *op) {
  if (!kern_has_checks(op->block)) return op;
  KernBuilder b = kern_builder(x->c, x->kern->loc), none = b;
  const Var *const *left = op->params, *const *right = op->params + op->count;
  const Term *differs = term_bool(false);
  const Var **made = new_array(const Var *, op->count + 1);
  for (int k = 0; k < op->count; k++) {
    const Term *one = term_op2(OP_NE, term_var(right[k]), op->neutral[k]);
    differs = k ? term_or(differs, one) : one;
    made[k] = var_new(x->c, name_of(x->c->names, "joined"), left[k]->type, x->kern->loc);
  }
  const KernBlock *keeps = kern_block(&none, cut_terms(left, op->count), op->count);
  kern_add(&b, (KernStm){ .kind = KERN_IF,
                          .binders = made,
                          .binder_count = op->count,
                          .u.cond = { differs, op->block, keeps, 0, false } });
  KernOp join = *op;
  join.block = kern_block(&b, cut_terms(made, op->count), op->count);
  return mem_copy(&join, sizeof join);
}

// dest[bin] = op dest[bin] (copies[..][bin]), for each bin of one histogram
static void combine_bins(Cut *x, KernBuilder *b, const Copy *copy, const KernHist *hist,
                         int first, const Var *bin) {
  int count = hist->op.count;
  const Term **inits = new_array(const Term *, count + 1);
  const Var **olds = new_array(const Var *, count + 1),
            **values = new_array(const Var *, count + 1),
            **sums = new_array(const Var *, count + 1);
  Axis over = { .index = kern_index(x->c, "c", x->kern->loc),
                .width = x->out->count,
                .role = AXIS_REDUCE,
                .ops = joining(x, &hist->op),
                .op_count = 1,
                .inits = inits };
  KernBuilder body = kern_builder(x->c, x->kern->loc);
  for (int k = 0; k < count; k++) {
    CoreType type = hist->op.params[k]->type;
    olds[k] = var_new(x->c, name_of(x->c->names, "old"), type, x->kern->loc);
    values[k] = var_new(x->c, name_of(x->c->names, "part"), type, x->kern->loc);
    sums[k] = var_new(x->c, name_of(x->c->names, "sum"), type, x->kern->loc);
    kern_load_var(b, olds[k], bin_of(&hist->dests[k], bin));
    inits[k] = term_var(olds[k]);
    kern_load_var(&body, values[k],
                  cut_temp_at(x, x->out->temps[first + k], copy, term_var(over.index),
                              term_var(bin)));
  }
  over.body = kern_block(&body, cut_terms(values, count), count);
  kern_axis(b, over, sums, count);
  for (int k = 0; k < count; k++)
    kern_store(b, bin_of(&hist->dests[k], bin), term_var(sums[k]));
}

static bool have_equal_bins(const Axis *row) {
  for (int h = 1; h < row->hist_count; h++)
    if (!term_same(row->hists[h].width, row->hists[0].width)) return false;
  return true;
}

// Histograms of as many bins go through them together.
static const Kern *combine_equal(Cut *x, const Copy *copy) {
  KernBuilder body = kern_builder(x->c, x->kern->loc);
  Axis bins = all_bins(x, &copy->row->hists[0]);
  bins.bind = BIND_GRID;
  for (int h = 0, first = 0; h < copy->row->hist_count; h++) {
    if (copy->row->hists[h].chained) continue;
    combine_bins(x, &body, copy, &copy->row->hists[h], first, bins.index);
    first += copy->row->hists[h].op.count;
  }
  return cut_in_grid(x, copy, &bins, kern_block(&body, NULL, 0), "combine");
}

const Kern *cut_combine_copies(Cut *x) {
  Copy copy = cut_fresh_point(x);
  if (have_equal_bins(copy.row)) return combine_equal(x, &copy);
  KernBuilder b = kern_builder(x->c, x->kern->loc);
  for (int h = 0, first = 0; h < copy.row->hist_count; h++) {
    const KernHist *hist = &copy.row->hists[h];
    if (hist->chained) continue;
    Axis bins = all_bins(x, hist);
    KernBuilder body = kern_builder(x->c, x->kern->loc);
    combine_bins(x, &body, &copy, hist, first, bins.index);
    first += hist->op.count;
    bins.body = kern_block(&body, NULL, 0);
    kern_axis(&b, bins, NULL, 0);
  }
  return cut_in_grid(x, &copy, NULL, kern_block(&b, NULL, 0), "combine");
}
