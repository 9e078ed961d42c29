// Scans along the columns of an array that is distributed by its rows:
//
//   let ys = segscan1 <j < m> <i < n> (+) {0} {xss[i, j]}
//     =>  let own = segscan1 <j < m> <i < count> (+) {0} {xss'[i, j]}
//         let all = gather of own[:, count - 1]                      [workers][m]
//         let before = segmap1 <j < m> {redomap rank (+) {0} all[:, j]}
//         let ys' = segmap1 <j < m> <i < count> {before[j] + own[j, i]}
//         let rows = gather n from rearrange (1, 0) ys'
//         let ys = rearrange (1, 0) rows
//
// Each worker scans what it has; m values of each are moved, and not the array.  What the scan has
// made lies distributed by its rows, and points that read it along them (ys[:, i]) read rows[i].
#include "flat/workers/workers_columns.h"

// ---- turned arrays

// The dimensions of an array with number `dims` in front of the `dims` that stand before it, or
// back.
static Atom turned(Builder *b, Atom array, int dims, bool back) {
  int rank = atom_type(array).rank, *perm = new_array(int, rank);
  for (int i = 0; i < rank; i++)
    perm[i] = i > dims ? i : back ? (i + 1) % (dims + 1) : (i + dims) % (dims + 1);
  return core_let(b, "turned", exp_rearrange(perm, rank, array));
}

const Turned *spread_turned(const Spread *s, Atom array) {
  return array.kind == ATOM_VAR ? map_get(s->turned, array.u.var) : NULL;
}

const RowPart *spread_turned_part(const Spread *s, const Turned *t) {
  return map_get(s->parts, t->rows.u.var);
}

void spread_gather_turned(Spread *s, Builder *b, const Var *array, Atom block,
                          const RowSplit *split, int dims) {
  CoreType type = array->type, rows = type;
  Atom *sizes = mem_copy(type.dims, sizeof *sizes * (size_t)type.rank);
  for (int i = 0; i <= dims; i++)
    sizes[i] = type.dims[(i + dims) % (dims + 1)];
  rows.dims = sizes;
  const Var *whole = var_new(s->c, array->name, rows, array->loc);
  Atom own = turned(b, block, dims, false);
  spread_flow(s, own, block);
  map_put(s->turned_blocks, own.u.var, new_node(Turned, block, dims, own));
  spread_gather(s, b, whole, own, split);
  Atom back = turned(b, atom_var(whole), dims, true);
  core_let_vars(b, mem_copy(&array, sizeof array), 1, exp_atom(back));
  map_put(s->turned, array, new_node(Turned, atom_var(whole), dims, block));
}

// Are the dimensions before the one that is distributed, or that one, single indices?
static bool keeps_order(const Exp *exp, int dims) {
  int slices = 0;
  for (int i = 0; i < dims; i++)
    slices += exp->u.index.dims[i].is_slice;
  return !exp->u.index.dims[dims].is_slice || slices == 0;
}

static const Body *turned_body(CoreMapper *m, const Body *body) {
  const Spread *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(m, stm.exp);
    const Turned *t =
        stm.exp->kind == EXP_INDEX ? spread_turned(s, stm.exp->u.index.array) : NULL;
    if (t && !stm.exp->u.index.checked && keeps_order(stm.exp, t->dims)) {
      Exp *read = mem_copy(stm.exp, sizeof *stm.exp);
      size_t count = (size_t)read->u.index.dim_count;
      DimIndex *dims = mem_copy(read->u.index.dims, count * sizeof *dims);
      for (int d = 0; d <= t->dims; d++)
        dims[d] = stm.exp->u.index.dims[(d + t->dims) % (t->dims + 1)];
      read->u.index.dims = dims;
      read->u.index.array = t->rows;
      stm.exp = read;
    }
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// block'[j, ..] => block[.., j], as the one is a copy of the other.
static const Body *unturned_body(CoreMapper *m, const Body *body) {
  const Spread *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(m, stm.exp);
    const Exp *exp = stm.exp;
    bool reads = exp->kind == EXP_INDEX && !exp->u.index.checked &&
                 !exp->u.index.dims[0].is_slice && exp->u.index.array.kind == ATOM_VAR;
    const Turned *t = reads ? map_get(s->turned_blocks, exp->u.index.array.u.var) : NULL;
    if (t) {
      Exp *read = mem_copy(exp, sizeof *exp);
      size_t count = (size_t)read->u.index.dim_count;
      DimIndex *dims = mem_copy(read->u.index.dims, count * sizeof *dims);
      for (int d = 0; d <= t->dims; d++)
        dims[d] = exp->u.index.dims[(d + 1) % (t->dims + 1)];
      read->u.index.dims = dims;
      read->u.index.array = t->rows;
      stm.exp = read;
    }
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *spread_unturned_reads(Spread *s, const Body *body) {
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars)
    if (map_has(s->turned_blocks, *var)) {
      CoreMapper m = { .body = unturned_body, .state = s };
      return unturned_body(&m, body);
    }
  return body;
}

const Body *spread_turned_reads(Spread *s, const Body *body) {
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars)
    if (map_has(s->turned, *var)) {
      CoreMapper m = { .body = turned_body, .state = s };
      return turned_body(&m, body);
    }
  return body;
}

// let zs = rearrange (1, 0) ys: the rows themselves.
bool spread_turned_view(Spread *s, Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind != EXP_REARRANGE) return false;
  const Turned *t = spread_turned(s, exp->u.rearrange.array);
  if (!t || exp->u.rearrange.perm[0] != t->dims) return false;
  const RowPart *part = spread_turned_part(s, t);
  int rank = exp->u.rearrange.rank, *perm = new_array(int, rank);
  for (int i = 0; i < rank; i++) {
    int from = exp->u.rearrange.perm[i];
    perm[i] = from > t->dims ? from : (from + 1) % (t->dims + 1);
  }
  core_add_stm(b, *stm);
  Atom block = core_let(b, stm->binders[0]->name, exp_rearrange(perm, rank, part->block));
  spread_flow(s, block, part->block);
  map_put(s->parts, stm->binders[0], new_node(RowPart, block, part->split, part->loops));
  return true;
}

// ---- scans

static const SegDim *space_of(const Builder *b, const Atom *widths, int count) {
  SegDim *out = new_array(SegDim, count);
  for (int d = 0; d < count; d++) {
    const Var *index =
        var_new(b->c, name_of(b->c->names, "j"), type_scalar(PRIM_I64), b->loc);
    out[d] = (SegDim){ index, widths[d] };
  }
  return out;
}

// The last of each column, or the neutral element where this worker has no rows.
static Atom column_totals(const ColumnParts *p, Builder *b, Atom own, Atom neutral) {
  int dims = spread_point_dims(p->sum);
  Builder some = builder_new(b->c, b->loc), none = builder_new(b->c, b->loc);
  Atom more = spread_is_more(b, p->split->count, 0);
  Atom last = core_let(&some, "last", exp_op2(OP_SUB, p->split->count, atom_i64(1)));
  CoreType type = atom_type(own);
  DimIndex *at = new_array(DimIndex, type.rank);
  for (int d = 0; d < dims; d++)
    at[d] = dim_slice(atom_i64(0), type.dims[d], atom_i64(1));
  at[dims] = dim_fix(last);
  Atom total = core_let(&some, "total", exp_slice(own, at, false));
  const SegOp *neutrals =
      new_node(SegOp, .kind = SEG_MAP, .level = 1, .dims = space_of(b, type.dims, dims),
               .dim_count = dims, .body = spread_no_stms(b, &neutral, 1));
  Atom empty = core_let(&none, "total", exp_seg(neutrals));
  return core_let(b, "total",
                  exp_if(more, core_body(&some, &total, 1), core_body(&none, &empty, 1)));
}

// segmap1 <j < m> <i < count> {op before[j] own[j, i]}
static Atom *carry_columns(const ColumnParts *p, Builder *b, const Atom *before,
                           const Atom *own) {
  int dims = spread_point_dims(p->sum), values = spread_operand_count(p->sum->ops);
  CoreType type = atom_type(own[0]);
  const SegDim *space = space_of(b, type.dims, dims + 1);
  Atom *at = new_array(Atom, dims + 1);
  for (int d = 0; d <= dims; d++)
    at[d] = atom_var(space[d].index);
  Builder inner = builder_new(b->c, b->loc);
  Atom *carry = new_array(Atom, values), *elements = new_array(Atom, values);
  for (int i = 0; i < values; i++) {
    carry[i] = core_let(&inner, "carry", exp_index(before[i], at, dims, false));
    elements[i] = core_let(&inner, "value", exp_index(own[i], at, dims + 1, false));
  }
  const Atom *sums = spread_apply(&inner, p->sum->ops, carry, elements);
  const SegOp *seg =
      new_node(SegOp, .kind = SEG_MAP, .level = 1, .dims = space, .dim_count = dims + 1,
               .body = core_body(&inner, sums, values));
  Atom *out = new_array(Atom, values);
  core_let_n(b, "scanned", exp_seg(seg), out);
  return out;
}

// What there is with several workers: the columns of this one's rows, as part of all.
static const Body *carried(const ColumnParts *p, const Atom *own) {
  Operators ops = p->sum->ops;
  int values = spread_operand_count(ops);
  Builder b = builder_new(p->s->c, p->host->loc);
  Atom *all = new_array(Atom, values), *before = new_array(Atom, values);
  for (int o = 0, at = 0; o < ops.count; o++)
    for (int i = 0; i < ops.at[o].count; i++, at++) {
      Atom total = column_totals(p, &b, own[at], ops.at[o].neutral[i]);
      all[at] = spread_gather_value(&b, "totals", total, p->split);
    }
  core_let_n(&b, "before", spread_combined(p, all, p->split->rank), before);
  return core_body(&b, carry_columns(p, &b, before, own), values);
}

static bool find_scan(const Spread *s, const SegOp *seg, ColumnSum *sum,
                      const RowSplit **split) {
  if (map_has(s->whole, seg)) return false;
  if (spread_find_columns(s, seg, true, sum, split) != COLUMNS_DISTRIBUTED) return false;
  for (int o = 0; o < sum->ops.count; o++)
    for (int i = 0; i < sum->ops.at[o].count; i++)
      if (atom_type(sum->ops.at[o].neutral[i]).rank) return false;
  return true;
}

bool spread_is_column_scan(const Spread *s, const SegOp *seg) {
  ColumnSum sum;
  const RowSplit *split;
  return find_scan(s, seg, &sum, &split);
}

bool spread_column_scan(Spread *s, Builder *b, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  ColumnSum sum;
  const RowSplit *split;
  if (!find_scan(s, seg, &sum, &split)) return false;
  b->loc = stm->loc;
  ColumnParts p = { s, b, &sum, split };
  int values = spread_operand_count(sum.ops), dims = spread_point_dims(&sum);
  const Exp *divided = exp_seg(spread_own_columns(&p));
  Atom *own = new_array(Atom, values), *columns = new_array(Atom, values);
  core_let_n(b, stm->binders[0]->name, divided, own);
  Atom more = spread_is_more(b, split->workers, 1);
  core_let_n(b, stm->binders[0]->name,
             exp_if(more, carried(&p, own), spread_no_stms(b, own, values)), columns);
  SpreadSeg note = { seg,     split, spread_costs_little(seg),
                     false,   { 0 }, core_free_exp(divided),
                     s->loops };
  for (int i = 0; i < values; i++) {
    spread_flow(s, columns[i], own[i]);
    vec_push(&note.blocks, own[i].u.var);
    spread_gather_turned(s, b, stm->binders[i], columns[i], split, dims);
  }
  vec_push(&s->segs, note);
  return true;
}
