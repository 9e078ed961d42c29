// let vs ws = segmap <i < n> {v, w}
// let a = seghist <i < n> into d op {is[i], vs[i]}
// let b = seghist <i < n> into a op {js[i], ws[i]}
//   =>  let b = seghist <i < n> into d op, then into d op {is[i], js[i], v, w}
//
// Needs, keeps: Flat, whose other promises hold; histograms of scalars.
// Why: what one point adds in several places (cells on both sides of a particle, ends of an edge)
// is made once, where it is added, and not stored for each place first.
#include "core/passes.h"
#include "flat/flat.h"
#include "flat/mentions.h"
#include "flat/rules.h"

enum {
  MOST_CHAINED = 9,   // histograms that become one
  MOST_COPIED = 300,  // statements of a body that is copied for each of several values
};

// ---- statements between

// Nothing that changes an array, fails or runs other statements.
static bool may_be_passed(const Exp *e) {
  if (e->kind == EXP_SEG)
    return e->u.seg->kind != SEG_HIST && e->u.seg->kind != SEG_SCATTER &&
           !e->u.seg->after;
  if (exp_may_fail(e)) return false;
  return exp_is_scalar(e) || e->kind == EXP_ATOM || e->kind == EXP_INDEX ||
         e->kind == EXP_RESHAPE || e->kind == EXP_REARRANGE;
}

static bool mentions_results(const Body *body, int at, int of) {
  for (int k = 0; k < body->stms[of].binder_count; k++)
    if (flat_mentions_at(body, at, body->stms[of].binders[k]).all) return true;
  return false;
}

// The only statement that mentions results of the one at `at`, which may stand right before it; -1:
// there are several, or none.
static int only_reader(const Body *body, int at) {
  const Stm *stm = &body->stms[at];
  for (int k = 0; k < stm->binder_count; k++)
    if (flat_is_result(body, stm->binders[k])) return -1;
  int reader = -1;
  for (int i = at + 1; i < body->stm_count; i++) {
    bool reads = mentions_results(body, i, at);
    if (reads && reader >= 0) return -1;
    if (reads) reader = i;
    if (reader < 0 && !may_be_passed(body->stms[i].exp)) return -1;
  }
  return reader;
}

// `at` becomes `stm`, what stood before it at `gone` goes.
static const Body *with_stm(Compiler *c, const Body *body, int at, Stm stm, int gone) {
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    if (i != gone) core_add_stm(&b, i == at ? stm : body->stms[i]);
  return core_body(&b, body->results, body->result_count);
}

// ---- two histograms

static bool may_fail(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (exp_may_fail(body->stms[i].exp)) return true;
  return false;
}

// One histogram of scalars along one dimension, or several chained ones.
static const SegOp *chain_at(const Body *body, int at) {
  const SegOp *seg = flat_seg_at(body, at);
  if (!seg || seg->kind != SEG_HIST || seg->dim_count != 1) return NULL;
  for (int h = 0; h < seg->hist_count; h++) {
    const HistOp *hist = &seg->hists[h];
    if (hist->chained != (h > 0) || may_fail(hist->op.op.body)) return NULL;
    for (int k = 0; k < hist->op.count; k++)
      if (hist->op.op.params[k]->type.rank > 0) return NULL;
  }
  return seg;
}

// Have they the same operator, which mentions nothing but its operands?
static bool same_operator(Compiler *c, const RedOp *a, const RedOp *b) {
  if (a->count != b->count || core_free_lambda(&a->op).count) return false;
  Subst *subst = subst_new();
  for (int i = 0; i < 2 * a->count; i++) {
    if (a->op.params[i]->type.elem != b->op.params[i]->type.elem) return false;
    subst_put(subst, b->op.params[i], atom_var(a->op.params[i]));
  }
  for (int i = 0; i < a->count; i++)
    if (!atom_equal(a->neutral[i], b->neutral[i])) return false;
  return same_code(a->op.body, core_subst_body(c, subst, b->op.body));
}

// Is the second one's destination what the first one makes, and nothing else of it?
static bool goes_on(const Body *body, int first, int second) {
  const SegOp *seg = body->stms[second].exp->u.seg;
  for (int k = 0; k < body->stms[first].binder_count; k++) {
    const Var *made = body->stms[first].binders[k];
    if (flat_mentions_at(body, second, made).all != seg->hist_count) return false;
    for (int h = 0; h < seg->hist_count; h++)
      if (!atom_equal(seg->hists[h].dests[k], atom_var(made))) return false;
  }
  return true;
}

static void add_results(AtomVec *out, const SegOp *seg, const Body *body, bool bins) {
  for (int i = bins ? 0 : seg->hist_count;
       i < (bins ? seg->hist_count : body->result_count); i++)
    vec_push(out, body->results[i]);
}

static const HistOp *in_a_row(const SegOp *a, const SegOp *b) {
  HistOp *out = new_array(HistOp, a->hist_count + b->hist_count);
  for (int i = 0; i < a->hist_count + b->hist_count; i++) {
    out[i] = i < a->hist_count ? a->hists[i] : b->hists[i - a->hist_count];
    out[i].dests = a->hists[0].dests;
    out[i].chained = i > 0;
  }
  return out;
}

static Stm both_hists(Compiler *c, const Stm *first, const Stm *second) {
  const SegOp *a = first->exp->u.seg, *b = second->exp->u.seg;
  Subst *subst = subst_new();
  subst_put(subst, a->dims[0].index, atom_var(b->dims[0].index));
  const Body *before = core_subst_body(c, subst, a->body);
  Builder builder = builder_new(c, (Loc){ 0 });
  core_add_body(&builder, before);
  core_add_body(&builder, b->body);
  AtomVec results = { 0 };
  for (int bins = 1; bins >= 0; bins--) {
    add_results(&results, a, before, bins);
    add_results(&results, b, b->body, bins);
  }
  SegOp seg = *b;
  seg.hists = in_a_row(a, b);
  seg.hist_count = a->hist_count + b->hist_count;
  seg.body = cse_body(c, core_body(&builder, results.at, results.count));
  Stm out = *second;
  out.exp = exp_seg(mem_copy(&seg, sizeof seg));
  return out;
}

static const Body *chained(Compiler *c, const Body *body, int at) {
  const SegOp *first = chain_at(body, at);
  int next = first ? only_reader(body, at) : -1;
  const SegOp *second = next < 0 ? NULL : chain_at(body, next);
  if (!second || !flat_same_space(first, second) || !goes_on(body, at, next) ||
      first->hist_count + second->hist_count > MOST_CHAINED ||
      !same_operator(c, &first->hists[0].op, &second->hists[0].op))
    return NULL;
  return with_stm(c, body, next, both_hists(c, &body->stms[at], &body->stms[next]), at);
}

// ---- what they read

// Do they read of the map's results just what it makes at their own points?
static bool reads_points(const Body *body, int map, int reader) {
  for (int k = 0; k < body->stms[map].binder_count; k++) {
    FlatMentions m = flat_mentions_at(body, reader, body->stms[map].binders[k]);
    if (m.all != m.own || body->stms[map].binders[k]->type.rank != 1) return false;
  }
  return true;
}

// Elements that are known where they are read: made[k] is the one of arrays[k].
typedef struct Making {
  Compiler *c;
  const Var *const *arrays;
  int count;
  const Atom *made;
} Making;

// The number of the array of which an element is read; -1: it reads something else.
static int array_read(const Making *m, const Exp *e) {
  for (int k = 0; e->kind == EXP_INDEX && k < m->count; k++)
    if (atom_equal(e->u.index.array, atom_var(m->arrays[k]))) return k;
  return -1;
}

static const Body *elements_known(CoreMapper *mapper, const Body *body) {
  const Making *m = mapper->state;
  Builder b = builder_new(m->c, (Loc){ 0 });
  Subst *made = subst_new();
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    int k = array_read(m, stm.exp);
    stm.exp = core_map_exp(mapper, stm.exp);
    if (k < 0)
      core_add_stm(&b, stm);
    else
      subst_put(made, stm.binders[0], m->made[k]);
  }
  return core_subst_body(m->c, made, core_body(&b, body->results, body->result_count));
}

static Stm with_map(Compiler *c, const Stm *map, const Stm *hists) {
  SegOp seg = *hists->exp->u.seg;
  Subst *subst = subst_new();
  subst_put(subst, map->exp->u.seg->dims[0].index, atom_var(seg.dims[0].index));
  const Body *point = core_subst_body(c, subst, map->exp->u.seg->body);
  Making making = { c, map->binders, map->binder_count, point->results };
  CoreMapper m = { .body = elements_known, .state = &making };
  const Body *rest = elements_known(&m, seg.body);
  Builder b = builder_new(c, (Loc){ 0 });
  core_add_body(&b, point);
  core_add_body(&b, rest);
  seg.body = cse_body(c, core_body(&b, rest->results, rest->result_count));
  Stm out = *hists;
  out.exp = exp_seg(mem_copy(&seg, sizeof seg));
  return out;
}

// A map whose results only chained histograms read: others have fused with it before.
static const Body *made_there(Compiler *c, const Body *body, int at) {
  const SegOp *map = flat_seg_at(body, at);
  if (!map || map->kind != SEG_MAP || map->dim_count != 1) return NULL;
  int reader = only_reader(body, at);
  const SegOp *hists = reader < 0 ? NULL : chain_at(body, reader);
  if (!hists || hists->hist_count < 2 || !flat_same_space(map, hists) ||
      !reads_points(body, at, reader))
    return NULL;
  return with_stm(c, body, reader, with_map(c, &body->stms[at], &body->stms[reader]), at);
}

// ---- several in each point
//
// let xss = segmap <i < n> {.. [x, y]}    let xs = reshape [n * 2] xss
// let b = seghist <j < n * 2> into d op {.. xs[j] ..}
//   =>  let b = seghist <i < n> into d op, then into d op {.. x .. y ..}

// Literals that a map makes, flattened for one histogram.
typedef struct Flattened {
  Compiler *c;
  const Body *body;
  const SegOp *map, *hist;
  int at, reader;
  int64_t parts;         // elements in each literal
  const Exp **literals;  // per result of the map
  const Var **flat;      // what the histogram reads, likewise
  bool *goes;            // statements: the map and the reshapes
} Flattened;

static const Exp *literal_made(const Body *body, Atom a) {
  for (int i = 0; a.kind == ATOM_VAR && i < body->stm_count; i++)
    if (body->stms[i].binder_count == 1 && body->stms[i].binders[0] == a.u.var)
      return body->stms[i].exp->kind == EXP_ARRAY ? body->stms[i].exp : NULL;
  return NULL;
}

static bool makes_literals(Flattened *f) {
  const Body *point = f->map->body;
  for (int k = 0; k < point->result_count; k++) {
    const Exp *e = f->literals[k] = literal_made(point, point->results[k]);
    if (!e || e->u.array.row.rank > 0 || (k && e->u.array.count != f->parts))
      return false;
    f->parts = e->u.array.count;
  }
  return f->parts >= 2 && f->parts <= MOST_CHAINED;
}

// The reshape that alone reads a result of the map, and the statement that alone reads that.
static bool is_flattened(Flattened *f, int k) {
  const Var *var = f->body->stms[f->at].binders[k];
  int next = f->at + 1;
  while (next < f->body->stm_count && !flat_mentions_at(f->body, next, var).all)
    next++;
  if (next == f->body->stm_count) return false;
  const Exp *e = f->body->stms[next].exp;
  if (e->kind != EXP_RESHAPE || e->u.reshape.rank != 1) return false;
  for (int i = next + 1; i < f->body->stm_count; i++)
    if (flat_mentions_at(f->body, i, var).all) return false;
  f->flat[k] = f->body->stms[next].binders[0];
  f->goes[next] = true;
  int reader = only_reader(f->body, next);
  if (f->reader < 0) f->reader = reader;
  return reader >= 0 && reader == f->reader && !flat_is_result(f->body, var);
}

static bool may_sink(const Flattened *f) {
  for (int i = f->at + 1; i < f->reader; i++)
    if (!may_be_passed(f->body->stms[i].exp)) return false;
  return true;
}

static bool suits_flattened(Flattened *f) {
  f->map = flat_seg_at(f->body, f->at);
  if (!f->map || f->map->kind != SEG_MAP || f->map->dim_count != 1) return false;
  int count = f->map->body->result_count;
  f->literals = new_array(const Exp *, count + 1);
  if (!makes_literals(f)) return false;
  f->flat = new_array(const Var *, count + 1);
  f->goes = new_array(bool, f->body->stm_count);
  for (int k = 0; k < count; k++)
    if (!is_flattened(f, k)) return false;
  f->hist = count ? chain_at(f->body, f->reader) : NULL;
  if (!f->hist || f->hist->hist_count != 1 || !may_sink(f) ||
      f->hist->body->stm_count * f->parts > MOST_COPIED ||
      !atom_equal(f->hist->dims[0].width, f->flat[0]->type.dims[0]))
    return false;
  for (int k = 0; k < count; k++) {
    FlatMentions m = flat_mentions_at(f->body, f->reader, f->flat[k]);
    if (m.all != m.own) return false;
  }
  return true;
}

// What the histogram does with the literals' elements number `part`.
static const Body *body_of_part(const Flattened *f, Builder *b, int64_t part) {
  int count = f->map->body->result_count;
  Atom *made = new_array(Atom, count + 1);
  for (int k = 0; k < count; k++)
    made[k] = f->literals[k]->u.array.atoms[part];
  Atom first = core_let(
      b, "first", exp_op2(OP_MUL, atom_var(f->map->dims[0].index), atom_i64(f->parts)));
  Atom at = core_let(b, "at", exp_op2(OP_ADD, first, atom_i64(part)));
  Making making = { f->c, f->flat, count, made };
  CoreMapper m = { .body = elements_known, .state = &making };
  Subst *subst = subst_new();
  subst_put(subst, f->hist->dims[0].index, at);
  return core_rename_body(f->c, subst, elements_known(&m, f->hist->body));
}

static Stm hist_of_parts(const Flattened *f) {
  Stm out = f->body->stms[f->reader];
  SegOp seg = *f->hist;
  int parts = (int)f->parts;
  HistOp *hists = new_array(HistOp, parts);
  AtomVec bins = { 0 }, values = { 0 };
  Builder b = builder_new(f->c, out.loc);
  core_add_body(&b, f->map->body);
  for (int p = 0; p < parts; p++) {
    const Body *part = body_of_part(f, &b, p);
    core_add_body(&b, part);
    hists[p] = f->hist->hists[0];
    hists[p].op.op = core_rename_lambda(f->c, subst_new(), hists[p].op.op);
    hists[p].chained = p > 0;
    vec_push(&bins, part->results[0]);
    for (int i = 1; i < part->result_count; i++)
      vec_push(&values, part->results[i]);
  }
  vec_each (const Atom *, value, &values)
    vec_push(&bins, *value);
  seg.dims = f->map->dims;
  seg.hists = hists;
  seg.hist_count = parts;
  seg.body = dead_body(f->c, cse_body(f->c, core_body(&b, bins.at, bins.count)));
  out.exp = exp_seg(mem_copy(&seg, sizeof seg));
  return out;
}

static const Body *in_parts(Compiler *c, const Body *body, int at) {
  Flattened f = { .c = c, .body = body, .at = at, .reader = -1 };
  if (!suits_flattened(&f)) return NULL;
  f.goes[at] = true;
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    if (!f.goes[i]) core_add_stm(&b, i == f.reader ? hist_of_parts(&f) : body->stms[i]);
  return core_body(&b, body->results, body->result_count);
}

// ---- bodies

static const Body *chain_from(void *state, const Body *body, int at) {
  const Body *next = chained(state, body, at);
  if (!next) next = made_there(state, body, at);
  return next ? next : in_parts(state, body, at);
}

static const Body *chain_in(CoreMapper *m, const Body *body) {
  return flat_rewrite_host(m, m->state, body, chain_from);
}

const Core *flat_chain_hists(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    CoreMapper m = { .body = chain_in, .state = c };
    entry->body = chain_in(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
