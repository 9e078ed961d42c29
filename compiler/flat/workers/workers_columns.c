// Sums of columns of an array that is distributed by its rows:
//
//   segmap1 <j < m> {redomap n (\x -> {x}) (+) {0} xss[:, j]}
//     =>  let own = segmap1 <j < m> {redomap count (\x -> {x}) (+) {0} xss'[:, j]}
//         let all = gather of own                                  [workers][m]
//         segmap1 <j < m> {redomap workers (\x -> {x}) (+) {0} all[:, j]}
//
// and likewise reductions of other forms, over several dimensions, of what a function makes of the
// elements.  Each worker reduces what it has; m values of each are moved, and not the array.  Where
// only some of what is reduced is distributed (xss[i, j] * p[i]: p alone), that is worth it if
// there are fewer sums than rows, which the host then decides.
#include "flat/workers/workers_columns.h"

// ---- what is reduced

static const SegOp *inner_seg(const Exp *exp, bool scans) {
  SegKind kind = scans ? SEG_SCAN : SEG_RED;
  bool reduces = exp->kind == EXP_SEG && exp->u.seg->kind == kind;
  return reduces && exp->u.seg->dim_count == 1 ? exp->u.seg : NULL;
}

// Is it one of the wanted kind?
static bool is_reduction(const Stm *stm, ColumnSum *sum) {
  const SegOp *inner = inner_seg(stm->exp, sum->scans);
  if (stm->exp->kind != (sum->scans ? EXP_SCANOMAP : EXP_REDOMAP) && !inner) return false;
  const Soac *soac = &stm->exp->u.soac;
  sum->width = inner ? inner->dims[0].width : soac->width;
  sum->ops = inner ? spread_operators(inner) : (Operators){ soac->ops, soac->op_count };
  return spread_operand_count(sum->ops) == stm->binder_count;
}

static bool is_long(const Exp *exp) {
  return exp->kind == EXP_LOOP || exp->kind == EXP_CALL || exp_is_parallel(exp);
}

bool spread_is_reduction(const Stm *stm, Atom *width) {
  ColumnSum sum = { .scans = false };
  if (!is_reduction(stm, &sum)) return false;
  *width = sum.width;
  return true;
}

// One reduction, and besides it nothing that takes long: that is computed twice.
static bool find_reduction(const SegOp *seg, bool scans, ColumnSum *sum) {
  *sum = (ColumnSum){ .seg = seg, .scans = scans, .at = -1 };
  int last = seg->dim_count - 1;
  if (seg->level != 1 || seg->after) return false;
  if (seg->kind == (scans ? SEG_SCAN : SEG_RED)) {
    sum->width = seg->dims[last].width;
    sum->ops = spread_operators(seg);
    return last > 0 && seg->body->result_count == spread_operand_count(sum->ops);
  }
  if (seg->kind != SEG_MAP) return false;
  for (int i = 0; i < seg->body->stm_count; i++) {
    const Stm *stm = &seg->body->stms[i];
    if (sum->at < 0 && is_reduction(stm, sum))
      sum->at = i;
    else if (is_long(stm->exp) || exp_bodies(stm->exp).count)
      return false;
  }
  return sum->at >= 0;
}

static bool atom_is_var(Atom a, const Var *var) {
  return var && a.kind == ATOM_VAR && a.u.var == var;
}

// Is what each point reduces all that it computes?
static bool is_only_reduction(const ColumnSum *sum) {
  if (sum->at < 0) return true;
  const Body *body = sum->seg->body;
  const Stm *reduction = &body->stms[sum->at];
  if (body->result_count != reduction->binder_count) return false;
  for (int i = 0; i < body->result_count; i++)
    if (!atom_is_var(body->results[i], reduction->binders[i])) return false;
  return true;
}

// ---- what it reads

typedef struct ColumnReads {
  const Spread *s;
  const ColumnSum *sum;
  const RowSplit *split;   // of the rows that are reduced
  const RowSplit *points;  // of the points, or NULL
  const Var *row;          // the index of what is reduced; NULL: there is none
  bool columns, own;       // reads along distributed rows; at the point's own row
  bool covers,
      some;  // along rows of what is as wide as the points are, of what is distributed
} ColumnReads;

// Has the array for each of its rows as much as there are points?
static bool covers_points(const SegOp *seg, int dims, CoreType type) {
  for (int d = 0; d < dims; d++) {
    bool found = false;
    for (int k = 1; k < type.rank; k++)
      found = found || atom_equal(type.dims[k], seg->dims[d].width);
    if (!found) return false;
  }
  return true;
}

int spread_point_dims(const ColumnSum *sum) {
  return sum->seg->dim_count - (sum->at < 0);
}

static void note_index(ColumnReads *r, const Exp *exp) {
  Atom array = exp->u.index.array;
  const DimIndex *row = &exp->u.index.dims[0];
  const SegOp *seg = r->sum->seg;
  CoreType type = atom_type(array);
  bool along = row->is_slice ? dim_is_whole(row, r->split->width)
                             : atom_is_var(row->start, r->row);
  bool is_row = along && atom_equal(type.dims[0], r->split->width);
  bool covers = is_row && covers_points(seg, spread_point_dims(r->sum), type);
  bool distributed = is_row && spread_part(r->s, array, r->split);
  r->columns = r->columns || (covers && distributed);
  r->covers = r->covers || covers;
  r->some = r->some || distributed;
  if (!row->is_slice && r->points && spread_part(r->s, array, r->points) &&
      atom_is_var(row->start, seg->dims[0].index))
    r->own = true;
}

static void note_column_reads(CoreVisitor *v, const Body *body) {
  ColumnReads *r = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_INDEX) note_index(r, exp);
    core_visit_exp(v, exp);
  }
}

static void ignore_atom(CoreVisitor *v, Atom a) { (void)v, (void)a; }

static const Var *row_index(const ColumnSum *sum) {
  if (sum->at < 0) return sum->seg->dims[sum->seg->dim_count - 1].index;
  const SegOp *inner = inner_seg(sum->seg->body->stms[sum->at].exp, sum->scans);
  return inner ? inner->dims[0].index : NULL;
}

// What a redomap reads without an index.
static void note_arrays(ColumnReads *r, const ColumnSum *sum) {
  const Exp *exp = sum->at < 0 ? NULL : sum->seg->body->stms[sum->at].exp;
  if (!exp || exp->kind == EXP_SEG) return;
  for (int i = 0; i < exp->u.soac.array_count; i++)
    r->some = r->some || spread_part(r->s, exp->u.soac.arrays[i], r->split);
}

static ColumnKind kind_of_reads(const Spread *s, const ColumnSum *sum,
                                const RowSplit *split) {
  ColumnReads r = { .s = s,
                    .sum = sum,
                    .split = split,
                    .points = spread_split_of(s, sum->seg->dims[0].width),
                    .row = row_index(sum) };
  CoreVisitor v = { .atom = ignore_atom, .body = note_column_reads, .state = &r };
  note_column_reads(&v, sum->seg->body);
  note_arrays(&r, sum);
  if (r.own) return COLUMNS_NONE;
  return r.columns            ? COLUMNS_DISTRIBUTED
         : r.covers && r.some ? COLUMNS_MIXED
                              : COLUMNS_NONE;
}

ColumnKind spread_find_columns(const Spread *s, const SegOp *seg, bool scans,
                               ColumnSum *sum, const RowSplit **split) {
  if (!find_reduction(seg, scans, sum)) return COLUMNS_NONE;
  if (scans && !is_only_reduction(sum)) return COLUMNS_NONE;
  *split = spread_split_of(s, sum->width);
  return *split ? kind_of_reads(s, sum, *split) : COLUMNS_NONE;
}

ColumnKind spread_columns_of(const Spread *s, const SegOp *seg) {
  ColumnSum sum;
  const RowSplit *split;
  return spread_find_columns(s, seg, false, &sum, &split);
}

bool spread_is_column_sum(const Spread *s, const SegOp *seg) {
  return spread_columns_of(s, seg) == COLUMNS_DISTRIBUTED || spread_comes_apart(s, seg);
}

// ---- what each worker reduces

// array[start:count], in a point.
static Atom rows_of(Builder *b, Atom array, DimIndex rows) {
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = rows;
  for (int i = 1; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  return core_let(b, "rows", exp_slice(array, dims, false));
}

// The statement that slices this array out of another one; NULL if there is none.
static const Exp *slice_of(const ColumnSum *sum, Atom array) {
  if (array.kind != ATOM_VAR) return NULL;
  for (int i = 0; i < sum->at; i++) {
    const Stm *stm = &sum->seg->body->stms[i];
    bool whole = stm->exp->kind == EXP_INDEX && stm->binders[0] == array.u.var &&
                 dim_is_whole(&stm->exp->u.index.dims[0], sum->width);
    if (whole) return stm->exp;
  }
  return NULL;
}

// This worker's rows of an array that is reduced.
static Atom own_rows(ColumnParts *p, Builder *b, Atom array) {
  const Exp *slice = slice_of(p->sum, array);
  const RowPart *part = spread_part(p->s, slice ? slice->u.index.array : array, p->split);
  if (!part)
    return rows_of(b, array, dim_slice(p->split->start, p->split->count, atom_i64(1)));
  if (!slice) return part->block;
  size_t bytes = sizeof(DimIndex) * (size_t)slice->u.index.dim_count;
  DimIndex *dims = mem_copy(slice->u.index.dims, bytes);
  dims[0] = dim_slice(atom_i64(0), p->split->count, atom_i64(1));
  return core_let(b, "column", exp_slice(part->block, dims, false));
}

// The body over this worker's rows, of which `from` is the index.
static const Body *own_reads(ColumnParts *p, const Body *body, const Var *from,
                             const Var *to) {
  bool whole = true;
  return spread_reads(p->s, p->host, body,
                      (SpreadInputs){ from, to, p->split, &whole, p->sum->seg });
}

static SegOp *own_seg(ColumnParts *p, const SegOp *seg) {
  SegOp *out = mem_copy(seg, sizeof *seg);
  int last = seg->dim_count - 1;
  SegDim *dims = mem_copy(seg->dims, sizeof *dims * (size_t)seg->dim_count);
  const Var *from = dims[last].index;
  dims[last] = (SegDim){ var_like(p->s->c, from), p->split->count };
  out->dims = dims;
  out->body = own_reads(p, seg->body, from, dims[last].index);
  return out;
}

// The statement that reduces, over this worker's rows.
static const Exp *own_reduction(ColumnParts *p, Builder *b, const Exp *exp) {
  const SegOp *inner = inner_seg(exp, p->sum->scans);
  if (inner) return exp_seg(own_seg(p, inner));
  Soac soac = exp->u.soac;
  Atom *arrays = new_array(Atom, soac.array_count);
  for (int i = 0; i < soac.array_count; i++)
    arrays[i] = own_rows(p, b, soac.arrays[i]);
  soac.arrays = arrays;
  soac.width = p->split->count;
  return exp_soac(exp->kind, soac);
}

// What a scan of this worker's rows binds.
static const Var **own_scans(const ColumnParts *p, const Stm *scan) {
  const Var **out = new_array(const Var *, scan->binder_count);
  for (int i = 0; i < scan->binder_count; i++)
    out[i] = var_new(p->s->c, scan->binders[i]->name,
                     spread_type(scan->binders[i]->type, p->split), scan->loc);
  return out;
}

static SegOp *own_map(ColumnParts *p) {
  const SegOp *seg = p->sum->seg;
  const Stm *reduction = &seg->body->stms[p->sum->at];
  Builder b = builder_new(p->s->c, reduction->loc);
  for (int i = 0; i < p->sum->at; i++)
    core_add_stm(&b, seg->body->stms[i]);
  Stm own = *reduction;
  own.exp = own_reduction(p, &b, reduction->exp);
  if (p->sum->scans) own.binders = own_scans(p, reduction);
  core_add_stm(&b, own);
  Atom *results = new_array(Atom, own.binder_count);
  for (int i = 0; i < own.binder_count; i++)
    results[i] = atom_var(own.binders[i]);
  SegOp *out = mem_copy(seg, sizeof *seg);
  out->body = core_body(&b, results, own.binder_count);
  return out;
}

const SegOp *spread_own_columns(ColumnParts *p) {
  return p->sum->at < 0 ? own_seg(p, p->sum->seg) : own_map(p);
}

// ---- what all combine

// all[0:rows, indices..]
static Atom point_of_all(Builder *b, Atom all, Atom rows, const SegDim *at, int count) {
  CoreType type = atom_type(all);
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), i ? type.dims[i] : rows, atom_i64(1));
  for (int i = 0; i < count; i++)
    dims[i + 1] = dim_fix(atom_var(at[i].index));
  return core_let(b, "column", exp_slice(all, dims, false));
}

// The point's statements, with these values in the place of what it reduced.
static const Body *point_with(const ColumnParts *p, Builder *b, const SegDim *dims,
                              const Atom *reduced) {
  const SegOp *seg = p->sum->seg;
  const Stm *reduction = &seg->body->stms[p->sum->at];
  Subst *subst = subst_new();
  Builder rest = builder_new(b->c, b->loc);
  for (int d = 0; d < seg->dim_count; d++)
    subst_put(subst, seg->dims[d].index, atom_var(dims[d].index));
  for (int i = 0; i < reduction->binder_count; i++)
    subst_put(subst, reduction->binders[i], reduced[i]);
  for (int i = 0; i < seg->body->stm_count; i++)
    if (i != p->sum->at) core_add_stm(&rest, seg->body->stms[i]);
  const Body *body = core_body(&rest, seg->body->results, seg->body->result_count);
  body = core_rename_body(b->c, subst, body);
  core_add_body(b, body);
  return core_body(b, body->results, body->result_count);
}

const Exp *spread_combined(const ColumnParts *p, const Atom *all, Atom count) {
  const SegOp *seg = p->sum->seg;
  int values = spread_operand_count(p->sum->ops), points = spread_point_dims(p->sum);
  Builder inner = builder_new(p->s->c, p->host->loc);
  SegDim *dims = mem_copy(seg->dims, sizeof *dims * (size_t)points);
  for (int d = 0; d < points; d++)
    dims[d].index = var_like(p->s->c, dims[d].index);
  Atom *columns = new_array(Atom, values);
  for (int i = 0; i < values; i++)
    columns[i] = point_of_all(&inner, all[i], count, dims, points);
  const Atom *reduced = spread_reduce(&inner, p->sum->ops, count, columns);
  const Body *body = p->sum->at < 0 || p->sum->scans
                         ? core_body(&inner, reduced, values)
                         : point_with(p, &inner, dims, reduced);
  return exp_seg(new_node(SegOp, .kind = SEG_MAP, .level = 1, .dims = dims,
                          .dim_count = points, .body = body));
}

static const Body *combine_all(ColumnParts *p, const Stm *stm, const Atom *own) {
  int values = spread_operand_count(p->sum->ops);
  Builder b = builder_new(p->s->c, stm->loc);
  Atom *all = new_array(Atom, values), *out = new_array(Atom, stm->binder_count);
  for (int i = 0; i < values; i++)
    all[i] = spread_gather_value(&b, stm->binders[0]->name, own[i], p->split);
  core_let_n(&b, stm->binders[0]->name, spread_combined(p, all, p->split->workers), out);
  return core_body(&b, out, stm->binder_count);
}

static void add_column_sum(Spread *s, Builder *b, const Stm *stm, const ColumnSum *sum,
                           const RowSplit *split) {
  const SegOp *seg = stm->exp->u.seg;
  ColumnParts p = { s, b, sum, split };
  b->loc = stm->loc;
  const SegOp *divided = spread_own_columns(&p);
  Atom *own = new_array(Atom, spread_operand_count(sum->ops));
  core_let_n(b, stm->binders[0]->name, exp_seg(divided), own);
  SpreadSeg note = { seg, split, false, false, { 0 }, { 0 }, s->loops };
  vec_push(&s->segs, note);
  const Body *all = combine_all(&p, stm, own);
  if (is_only_reduction(sum)) {
    Atom more = spread_is_more(b, split->workers, 1);
    core_let_vars(b, stm->binders, stm->binder_count,
                  exp_if(more, all, spread_no_stms(b, own, stm->binder_count)));
    return;
  }
  core_add_body(b, all);
  for (int i = 0; i < stm->binder_count; i++)
    core_let_vars(b, stm->binders + i, 1, exp_atom(all->results[i]));
}

// ---- where only some of what is reduced is distributed

// Are there several workers, and the sums of the others fewer than the rows?
static Atom are_few(Builder *b, const ColumnSum *sum, const RowSplit *split) {
  Atom others = size_sub(b, split->workers, atom_i64(1)), sums = others;
  for (int d = 0; d < spread_point_dims(sum); d++)
    sums = size_mul(b, sums, sum->seg->dims[d].width);
  Atom few = core_let(b, "few", exp_op2(OP_LT, sums, split->width));
  return core_let(b, "few", exp_op2(OP_LAND, spread_is_more(b, split->workers, 1), few));
}

static Stm with_fresh_binders(Compiler *c, const Stm *stm) {
  Stm out = *stm;
  out.binders = new_array(const Var *, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    out.binders[i] = var_like(c, stm->binders[i]);
  return out;
}

static const Body *binders_body(const Builder *b, const Stm *stm) {
  Atom *results = new_array(Atom, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = atom_var(stm->binders[i]);
  return core_body(b, results, stm->binder_count);
}

// if few {the sums of each worker's rows} else {as if this were no sum of columns}
static void add_either(Spread *s, Builder *b, const Stm *stm, const ColumnSum *sum,
                       const RowSplit *split) {
  Builder sums = builder_new(s->c, stm->loc), points = builder_new(s->c, stm->loc);
  Atom few = are_few(b, sum, split);
  map_put(s->alike, few.u.var, few.u.var);
  Stm by_rows = with_fresh_binders(s->c, stm), other = with_fresh_binders(s->c, stm);
  by_rows.exp = core_rename_exp(s->c, subst_new(), stm->exp);
  ColumnSum renamed;
  find_reduction(by_rows.exp->u.seg, false, &renamed);
  add_column_sum(s, &sums, &by_rows, &renamed, split);
  spread_whole_stm(s, &points, &other);
  core_let_vars(
      b, stm->binders, stm->binder_count,
      exp_if(few, binders_body(&sums, &by_rows), binders_body(&points, &other)));
}

bool spread_column_sum(Spread *s, Builder *b, const Stm *stm) {
  ColumnSum sum;
  const RowSplit *split;
  if (spread_apart(s, b, stm)) return true;
  ColumnKind kind = spread_find_columns(s, stm->exp->u.seg, false, &sum, &split);
  if (kind == COLUMNS_DISTRIBUTED) add_column_sum(s, b, stm, &sum, split);
  if (kind == COLUMNS_MIXED) add_either(s, b, stm, &sum, split);
  return kind != COLUMNS_NONE;
}
