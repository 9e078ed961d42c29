// Histograms of arrays in chunks, as HistChunks describes:
//
//   fill      for p.., c:    copies[p.., c, b] = neutral, for all b
//                            for i in chunk c: copies[p.., c, bin i] = op (..) (values i)
//   combine   for p.., b:    for c: dest[p.., b] = op dest[p.., b] copies[p.., c, b]
//
// Why: one item goes through all points of a segment otherwise.
#include "kern/from/from_flat.h"

typedef struct HistCode {
  const SegOp *seg;
  const View *const *outs;
  HistChunks *chunks;
} HistCode;

static int outer_dims(const HistCode *h) { return h->seg->dim_count - 1; }

// ---- memory

static int dest_count(const SegOp *seg) {
  int count = 0;
  for (int o = 0; o < seg->hist_count; o++)
    count += seg->hists[o].op.count;
  return count;
}

static const Tensor *copies_of(const HistCode *h, Compiler *c, const View *out) {
  int outer = outer_dims(h);
  const Term **dims = new_array(const Term *, out->rank + 2);
  for (int i = 0; i < out->rank; i++)
    dims[i < outer ? i : i + 1] = out->shape[i];
  dims[outer] = term_var(h->chunks->count);
  return tensor_new(c, "copies", out->tensor->elem, dims, out->rank + 1, TENSOR_GLOBAL);
}

// temps[k][outer.., chunk]
static const View *copy_of_chunk(const HistCode *h, int k, const Term *chunk) {
  View all = view_of(h->chunks->temps[k]);
  View row = view_peel(&all, from_seg_indices(h->seg, outer_dims(h)), outer_dims(h));
  View at = view_at(&row, chunk);
  return mem_copy(&at, sizeof at);
}

static const View *out_at(const HistCode *h, int k) {
  View at = view_peel(h->outs[k], from_seg_indices(h->seg, outer_dims(h)), outer_dims(h));
  return mem_copy(&at, sizeof at);
}

// ---- fill

static void clear_copies(From *f, const HistOp *hist, const View *const *dests) {
  for (int i = 0; i < hist->op.count; i++) {
    FromLoop loop;
    from_open(&loop, f, AXIS_MAP, "bin", term_atom(hist->width));
    View at = view_at(dests[i], from_index(&loop));
    from_store(&loop.inner, &at, hist->op.neutral[i]);
    from_close(&loop, f, NULL, 0, NULL, 0);
  }
}

static void fill_copy(From *f, const HistCode *h, const Term *chunk) {
  const SegOp *seg = h->seg;
  const SegDim *points = &seg->dims[outer_dims(h)];
  const View **dests = from_places(dest_count(seg)),
             **made = from_places(seg->body->result_count);
  const Term **scalars = from_scalars(seg->body->result_count);
  for (int k = 0; k < dest_count(seg); k++)
    dests[k] = copy_of_chunk(h, k, chunk);
  for (int o = 0, first = 0; o < seg->hist_count; first += seg->hists[o++].op.count)
    clear_copies(f, &seg->hists[o], dests + first);
  const Term *size = term_var(h->chunks->size),
             *start = kern_let(f->b, "start", term_mul(chunk, size)),
             *left = term_sub(term_atom(points->width), start);
  FromLoop loop;
  from_open(&loop, f, AXIS_LOOP, "i", kern_let(f->b, "length", term_min(size, left)));
  kern_let_var(loop.inner.b, points->index, term_add(start, from_index(&loop)));
  from_body(&loop.inner, seg->body, scalars, made);
  from_hist_round(&loop.inner, seg->hists, seg->hist_count, dests, scalars, made);
  from_close(&loop, f, NULL, 0, NULL, 0);
}

// ---- combine

static void combine_bin(From *f, const HistCode *h, const HistOp *hist, int first,
                        const Term *bin) {
  int count = hist->op.count;
  const View **dests = from_places(count), **made = from_places(count);
  const Term **scalars = from_scalars(count);
  FromLoop loop;
  from_open(&loop, f, AXIS_LOOP, "c", term_var(h->chunks->count));
  for (int k = 0; k < count; k++) {
    View part = view_at(copy_of_chunk(h, first + k, from_index(&loop)), bin);
    dests[k] = out_at(h, first + k);
    made[k] = mem_copy(&part, sizeof part);
    if (part.rank > 0) continue;
    const Var *value = var_new(loop.inner.c, name_of(loop.inner.c->names, "part"),
                               hist->op.op.params[k]->type, loop.inner.b->loc);
    kern_load_var(loop.inner.b, value, view_access(&part, NULL));
    scalars[k] = term_var(value);
  }
  from_hist_add(&loop.inner, hist, dests, bin, scalars, made);
  from_close(&loop, f, NULL, 0, NULL, 0);
}

static void combine_copies(From *f, const HistCode *h) {
  for (int o = 0, first = 0; o < h->seg->hist_count;
       first += h->seg->hists[o++].op.count) {
    FromLoop loop;
    from_open(&loop, f, AXIS_MAP, "bin", term_atom(h->seg->hists[o].width));
    combine_bin(&loop.inner, h, &h->seg->hists[o], first, from_index(&loop));
    from_close(&loop, f, NULL, 0, NULL, 0);
  }
}

// ---- both

// The segments around what `combines` says.
static void segments(From *f, const HistCode *h, int depth, bool combines) {
  FromLoop loop;
  if (depth < outer_dims(h)) {
    from_open_dim(&loop, f, AXIS_MAP, &h->seg->dims[depth]);
    segments(&loop.inner, h, depth + 1, combines);
    from_close(&loop, f, NULL, 0, NULL, 0);
    return;
  }
  if (combines) {
    combine_copies(f, h);
    return;
  }
  from_open(&loop, f, AXIS_MAP, "c", term_var(h->chunks->count));
  fill_copy(&loop.inner, h, from_index(&loop));
  from_close(&loop, f, NULL, 0, NULL, 0);
}

static const KernBlock *code_of(const From *f, const HistCode *h, bool combines) {
  From own = *f;
  KernBuilder b = kern_builder(f->c, f->b->loc);
  own.b = &b;
  own.views = map_new(f->views);
  own.sizes = map_new(f->sizes);
  own.owned = map_new(NULL);
  own.wanted = map_new(NULL);
  segments(&own, h, 0, combines);
  return kern_rename(f->c, map_new(NULL), kern_block(&b, NULL, 0));
}

static void note_sizes(HistChunks *chunks, const SegOp *seg) {
  chunks->rows = term_i64(1);
  for (int i = 0; i + 1 < seg->dim_count; i++)
    chunks->rows = term_mul(chunks->rows, term_atom(seg->dims[i].width));
  chunks->width = term_atom(seg->dims[seg->dim_count - 1].width);
  chunks->bins = term_i64(1);
  for (int o = 0; o < seg->hist_count; o++)
    chunks->bins = term_add(chunks->bins, term_atom(seg->hists[o].width));
}

const HistChunks *from_hist_chunks(const From *f, const SegOp *seg,
                                   const View *const *outs, const Kern *plain) {
  if (seg->kind != SEG_HIST || from_is_plain_hist(seg, outs)) return NULL;
  for (int o = 0; o < seg->hist_count; o++)
    if (seg->hists[o].chained) return NULL;
  HistChunks *chunks = new (HistChunks);
  HistCode h = { seg, outs, chunks };
  chunks->count = kern_index(f->c, "chunks", f->b->loc);
  chunks->size = kern_index(f->c, "chunk_size", f->b->loc);
  chunks->temp_count = dest_count(seg);
  const Tensor **temps = new_array(const Tensor *, chunks->temp_count + 1);
  for (int k = 0; k < chunks->temp_count; k++)
    temps[k] = copies_of(&h, f->c, outs[k]);
  chunks->temps = temps;
  note_sizes(chunks, seg);
  chunks->fill = from_part(f->c, plain, code_of(f, &h, false), "copies");
  chunks->combine = from_part(f->c, plain, code_of(f, &h, true), "combine");
  return chunks;
}
