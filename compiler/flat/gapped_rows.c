// segred1 <i < c> <p < n * m> { let xs = x[:, i, :]  let all = reshape [n * m] xs  .. all[p] .. }
//   =>  segred1 <i < c> <p < n * m> { let xs = x[:, i, :]  .. xs[p / m, p % m] .. }
//
// Needs, keeps: Flat, whose other promises hold.
// Why: rows of such a slice do not lie side by side, so the reshape is a copy; where an element is
// a point, or an item of a group takes one, each of them made it for itself (channels of batches).
// Only where all uses are elements read by the body of a seg-op: loops of a point read a row again
// and again, for which a copy may be right.
#include "base/map.h"
#include "core/passes.h"
#include "flat/flat.h"

enum { MOST_DIMS = 16 };

typedef struct GappedRows {
  Compiler *c;
  bool join;
  Map *defs;    // Var -> const Exp *: of all bodies
  Map *gapped;  // Var -> Gapped *: reshapes that go
  Map *known;   // Var -> Var: what the host has computed
  Builder *host;
} GappedRows;

// Dimensions first .. first + count - 1 of `from` are one of the reshape; joined: those of them
// that lie side by side are one.
typedef struct Gapped {
  Atom joined;
  int first, count;  // of `joined`
  int reads;         // elements read by bodies of seg-ops
} Gapped;

static void note_views(CoreVisitor *v, const Body *body) {
  GappedRows *g = v->state;
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].binder_count == 1)
      map_put(g->defs, body->stms[i].binders[0], body->stms[i].exp);
  core_visit_body(v, body);
}

// ---- what lies side by side

static bool has_gap(const GappedRows *g, Atom array, int dim);

static bool slice_has_gap(const GappedRows *g, const Exp *e, int dim) {
  int at[MOST_DIMS], count = 0;
  for (int d = 0; d < e->u.index.dim_count && count < MOST_DIMS; d++)
    if (e->u.index.dims[d].is_slice) at[count++] = d;
  if (dim + 1 >= count || at[dim + 1] != at[dim] + 1) return true;
  const DimIndex *outer = &e->u.index.dims[at[dim]],
                 *inner = &e->u.index.dims[at[dim + 1]];
  CoreType type = atom_type(e->u.index.array);
  return !dim_is_whole(outer, type.dims[at[dim]]) ||
         !dim_is_whole(inner, type.dims[at[dim + 1]]) ||
         has_gap(g, e->u.index.array, at[dim]);
}

// Does something lie between the rows of a dimension of which the next one's elements are part?
static bool has_gap(const GappedRows *g, Atom array, int dim) {
  const Exp *e = array.kind == ATOM_VAR ? map_get(g->defs, array.u.var) : NULL;
  if (!e) return false;
  if (e->kind == EXP_ATOM) return has_gap(g, e->u.atom.atom, dim);
  if (e->kind == EXP_INDEX) return slice_has_gap(g, e, dim);
  if (e->kind == EXP_RESHAPE)
    return e->u.reshape.rank == atom_type(e->u.reshape.array).rank &&
           has_gap(g, e->u.reshape.array, dim);
  if (e->kind != EXP_REARRANGE) return false;
  const int *perm = e->u.rearrange.perm;
  return perm[dim + 1] != perm[dim] + 1 || has_gap(g, e->u.rearrange.array, perm[dim]);
}

// Does the slice lie side by side in an array that does?
static bool is_dense_slice(const GappedRows *g, Atom view, const Exp *e) {
  int count = e->u.index.dim_count, rank = atom_type(view).rank;
  for (int d = 0; d + 1 < rank; d++)
    if (has_gap(g, view, d)) return false;
  const DimIndex *last = &e->u.index.dims[count - 1];
  return last->is_slice && atom_is_i64(last->stride, 1);
}

// Others are copied by reshapes.
static bool is_dense(const GappedRows *g, Atom array) {
  const Exp *e = array.kind == ATOM_VAR ? map_get(g->defs, array.u.var) : NULL;
  if (e && e->kind == EXP_ATOM) return is_dense(g, e->u.atom.atom);
  if (e && e->kind == EXP_INDEX)
    return is_dense_slice(g, array, e) && is_dense(g, e->u.index.array);
  if (e && e->kind == EXP_RESHAPE)
    return e->u.reshape.rank != atom_type(e->u.reshape.array).rank ||
           is_dense(g, e->u.reshape.array);
  return !e || e->kind != EXP_REARRANGE;
}

// Is it a view, and the reshape that of some of its dimensions into one?
static bool joins_dims(const Exp *e, int *first, int *count) {
  CoreType from = atom_type(e->u.reshape.array);
  const Atom *to = e->u.reshape.dims;
  int rank = e->u.reshape.rank, before = 0, behind = 0;
  if (rank >= from.rank || from.rank > MOST_DIMS) return false;
  while (before < rank - 1 && atom_equal(from.dims[before], to[before]))
    before++;
  while (before + behind < rank - 1 &&
         atom_equal(from.dims[from.rank - 1 - behind], to[rank - 1 - behind]))
    behind++;
  *first = before;
  *count = from.rank - before - behind;
  return before + behind == rank - 1;
}

static bool is_gapped(const GappedRows *g, const Exp *e, int *first, int *count) {
  return e->kind == EXP_RESHAPE && !is_dense(g, e->u.reshape.array) &&
         joins_dims(e, first, count);
}

// ---- which of them go

static void note_reads(CoreVisitor *v, const Body *body) {
  GappedRows *g = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    Gapped *rows =
        e->kind == EXP_INDEX ? map_get(g->gapped, e->u.index.array.u.var) : NULL;
    if (rows && !e->u.index.checked && !e->u.index.dims[rows->first].is_slice)
      rows->reads++;
    if (e->kind == EXP_SEG || e->kind == EXP_IF) core_visit_exp(v, e);
  }
}

static void find_gapped(GappedRows *g, const Body *body) {
  bool some = false;
  for (int i = 0; i < body->stm_count; i++) {
    Gapped rows = { 0 };
    if (!is_gapped(g, body->stms[i].exp, &rows.first, &rows.count)) continue;
    map_put(g->gapped, body->stms[i].binders[0], mem_copy(&rows, sizeof rows));
    some = true;
  }
  if (!some) return;
  CoreVisitor v = { .body = note_reads, .state = g };
  note_reads(&v, body);
  Map *uses = core_uses(body);
  for (int i = 0; i < body->stm_count; i++) {
    if (!body->stms[i].binder_count) continue;
    const Var *var = body->stms[i].binders[0];
    const Gapped *rows = map_get(g->gapped, var);
    const int *count = map_get(uses, var);
    if (rows && (!count || *count != rows->reads)) map_remove(g->gapped, var);
  }
}

// ---- elements

static bool is_known(const GappedRows *g, Atom size) {
  return size.kind != ATOM_VAR || map_has(g->known, size.u.var);
}

static Atom let_view(GappedRows *g, Builder *b, const Exp *exp) {
  Atom view = core_let(b, "runs", exp);
  map_put(g->defs, view.u.var, exp);
  if (b == g->host) map_put(g->known, view.u.var, view.u.var);
  return view;
}

static Atom joined_pair(GappedRows *g, Builder *b, Atom array, int dim);

static const Exp *slice_of_joined(GappedRows *g, Builder *b, const Exp *e, int dim) {
  int count = e->u.index.dim_count, at = -1;
  for (int d = 0, seen = 0; d < count && at < 0; d++)
    if (e->u.index.dims[d].is_slice && seen++ == dim) at = d;
  DimIndex *dims = new_array(DimIndex, count);
  Atom inner = joined_pair(g, b, e->u.index.array, at);
  for (int d = 0; d < count - 1; d++)
    dims[d] = e->u.index.dims[d <= at ? d : d + 1];
  dims[at].count = atom_type(inner).dims[at];  // both are whole
  return exp_slice(inner, dims, e->u.index.checked);
}

static const Exp *turned_of_joined(GappedRows *g, Builder *b, const Exp *e, int dim) {
  int rank = e->u.rearrange.rank, *perm = new_array(int, rank);
  int at = e->u.rearrange.perm[dim];
  for (int d = 0, next = 0; d < rank; d++) {
    int from = e->u.rearrange.perm[d];
    if (d != dim + 1) perm[next++] = from > at ? from - 1 : from;
  }
  return exp_rearrange(perm, rank - 1, joined_pair(g, b, e->u.rearrange.array, at));
}

// The view with this dimension and the next, between which there is no gap, as one: of what it is
// a view of, as a view with gaps cannot be reshaped.
static Atom joined_pair(GappedRows *g, Builder *b, Atom array, int dim) {
  const Exp *e = map_get(g->defs, array.u.var);
  CoreType type = atom_type(array);
  Builder *at = is_known(g, array) ? g->host : b;
  if (e && e->kind == EXP_ATOM) return joined_pair(g, b, e->u.atom.atom, dim);
  if (e && e->kind == EXP_INDEX) return let_view(g, at, slice_of_joined(g, at, e, dim));
  if (e && e->kind == EXP_REARRANGE)
    return let_view(g, at, turned_of_joined(g, at, e, dim));
  Atom dims[MOST_DIMS];
  for (int d = 0; d < type.rank - 1; d++)
    dims[d] = type.dims[d <= dim ? d : d + 1];
  dims[dim] =
      core_let(g->host, "run", exp_op2(OP_MUL, type.dims[dim], type.dims[dim + 1]));
  map_put(g->known, dims[dim].u.var, dims[dim].u.var);
  return let_view(g, at, exp_reshape(dims, type.rank - 1, array));
}

// The view with those dimensions that lie side by side as one, whose size the host computes.
static void join_runs(GappedRows *g, Builder *b, const Exp *e, Gapped *rows) {
  Atom array = e->u.reshape.array;
  for (int d = rows->first + rows->count - 2; g->join && d >= rows->first; d--) {
    CoreType type = atom_type(array);
    if (has_gap(g, array, d) || !is_known(g, type.dims[d]) ||
        !is_known(g, type.dims[d + 1]))
      continue;
    array = joined_pair(g, b, array, d);
    rows->count--;
  }
  rows->joined = array;
}

static const Exp *read_element(Builder *b, const Gapped *rows, const Exp *e) {
  CoreType type = atom_type(rows->joined);
  DimIndex dims[MOST_DIMS];
  Atom left = e->u.index.dims[rows->first].start;
  for (int d = 0; d < type.rank; d++)
    if (d < rows->first || d >= rows->first + rows->count)
      dims[d] = e->u.index.dims[d < rows->first ? d : d - rows->count + 1];
  for (int d = rows->first + rows->count - 1; d > rows->first; d--) {
    dims[d] = dim_fix(core_let(b, "at", exp_op2(OP_REM, left, type.dims[d])));
    left = core_let(b, "row", exp_op2(OP_QUOT, left, type.dims[d]));
  }
  dims[rows->first] = dim_fix(left);
  return exp_slice(rows->joined, mem_copy(dims, sizeof dims), false);
}

static const Body *rows_in_body(CoreMapper *m, const Body *body) {
  GappedRows *g = m->state;
  Builder b = builder_new(g->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    b.attrs = stm.attrs;
    Gapped *rows = stm.binder_count ? map_get(g->gapped, stm.binders[0]) : NULL;
    if (rows) {
      join_runs(g, &b, stm.exp, rows);
      continue;
    }
    if (stm.exp->kind == EXP_INDEX)
      rows = map_get(g->gapped, stm.exp->u.index.array.u.var);
    stm.exp = rows ? read_element(&b, rows, stm.exp) : core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *rows_of_point(CoreMapper *m, const Body *body) {
  find_gapped(m->state, body);
  return rows_in_body(m, body);
}

// ---- the host's code

static const Body *rows_on_host(CoreMapper *m, const Body *body) {
  GappedRows *g = m->state;
  Builder b = builder_new(g->c, (Loc){ 0 });
  CoreMapper point = { .body = rows_of_point, .state = g };
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    g->host = &b;
    stm.exp = core_map_exp(stm.exp->kind == EXP_SEG ? &point : m, stm.exp);
    core_add_stm(&b, stm);
    for (int k = 0; k < stm.binder_count; k++)
      map_put(g->known, stm.binders[k], stm.binders[k]);
  }
  return core_body(&b, body->results, body->result_count);
}

const Core *flat_gapped_rows(Compiler *c, const Core *flat, bool join) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++) {
    GappedRows g = { c, join, map_new(NULL), map_new(NULL), map_new(NULL), NULL };
    CoreMapper m = { .body = rows_on_host, .state = &g };
    CoreVisitor v = { .body = note_views, .state = &g };
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    note_views(&v, entry->body);
    for (int p = 0; p < entry->param_count; p++)
      map_put(g.known, entry->params[p], entry->params[p]);
    entry->body = rows_on_host(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
