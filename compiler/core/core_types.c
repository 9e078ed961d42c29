// The types of expressions.
//
// A size that only exists at run time is named by one of the expression's own results: the binder
// that stands for it, or a fresh variable while there are no binders yet.
#include "core/core.h"

typedef struct Typing {
  Compiler *c;
  const Var *const *binders;  // or NULL
  CoreType *types;            // one per result, to be filled in
  int count;                  // how many are filled in
  const Var **fresh;          // stand-ins for binders, made on demand
  int result_count;
} Typing;

static void add(Typing *t, CoreType type) { t->types[t->count++] = type; }

// The variable by which types refer to result k.
static Atom result_atom(Typing *t, int k) {
  if (t->binders) return atom_var(t->binders[k]);
  if (!t->fresh) t->fresh = new_array(const Var *, t->result_count);
  if (!t->fresh[k]) {
    Loc nowhere = { 0 };
    t->fresh[k] =
        var_new(t->c, name_of(t->c->names, "size"), type_scalar(PRIM_I64), nowhere);
  }
  return atom_var(t->fresh[k]);
}

// ---- number of results

static int hist_result_count(const HistOp *ops, int count) {
  int sum = 0;
  for (int i = 0; i < count; i++)
    if (!ops[i].chained) sum += ops[i].op.count;
  return sum;
}

int seg_dest_values(const SegOp *seg) {
  int count = 0;
  for (int i = 0; i < seg->dest_count; i++)
    count += seg->dests[i].index_count + 1;
  return count;
}

static int seg_result_count(const SegOp *seg) {
  if (seg->after)
    return seg->dest_count + seg->after->body->result_count - seg_dest_values(seg);
  switch (seg->kind) {
  case SEG_MAP:
  case SEG_RED:
  case SEG_SCAN: return seg->body->result_count;
  case SEG_HIST: return hist_result_count(seg->hists, seg->hist_count);
  case SEG_SCATTER: return seg->dest_count;
  }
  return 0;
}

int exp_result_count(const Exp *exp) {
  switch (exp->kind) {
  case EXP_ATOM:
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_INDEX:
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_REARRANGE:
  case EXP_RESHAPE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_GATHER:
  case EXP_BORDER:
  case EXP_FETCH:
  case EXP_DELIVER:
  case EXP_ARRAY: return 1;
  case EXP_SPLIT: return SPLIT_RESULTS;
  case EXP_ASSERT: return exp->u.assert.atom_count;
  case EXP_IF: return exp->u.cond.then_body->result_count;
  case EXP_LOOP: return exp->u.loop.param_count;
  case EXP_CALL: return exp->u.call.function->result_count;
  case EXP_CHOOSE: return exp->u.choose.first->result_count;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER: return exp->u.soac.fn.body->result_count;
  case EXP_SCATTER: return exp->u.scatter.dest_count;
  case EXP_HIST: return hist_result_count(exp->u.hist.ops, exp->u.hist.op_count);
  case EXP_SEG: return seg_result_count(exp->u.seg);
  case EXP_GUARD: return exp->u.guard.then_body->result_count;
  }
  return 0;
}

// ---- array operations

static CoreType indexed_type(const Exp *exp) {
  Atom *dims = new_array(Atom, exp->u.index.dim_count);
  int rank = 0;
  for (int i = 0; i < exp->u.index.dim_count; i++) {
    const DimIndex *dim = &exp->u.index.dims[i];
    if (dim->is_slice) dims[rank++] = dim->count;
  }
  return (CoreType){ atom_type(exp->u.index.array).elem, rank, dims };
}

static CoreType rearrange_type(const Exp *exp) {
  CoreType from = atom_type(exp->u.rearrange.array);
  Atom *dims = new_array(Atom, exp->u.rearrange.rank);
  for (int i = 0; i < exp->u.rearrange.rank; i++)
    dims[i] = from.dims[exp->u.rearrange.perm[i]];
  return (CoreType){ from.elem, exp->u.rearrange.rank, dims };
}

static CoreType concat_type(const Exp *exp) {
  return type_of_rows(type_row(atom_type(exp->u.concat.arrays[0])), exp->u.concat.count);
}

// ---- branches and loops

static bool is_bound_in(const Body *body, Atom a) {
  if (a.kind == ATOM_CONST) return false;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    for (int k = 0; k < stm->binder_count; k++) {
      if (stm->binders[k] == a.u.var) return true;
    }
  }
  return false;
}

// The size that is x in the first branch and y in the second.
static Atom join_size(Typing *t, const Body *const branches[2], Atom x, Atom y) {
  bool same = atom_equal(x, y);
  if (same && !is_bound_in(branches[0], x)) return x;
  for (int k = 0; k < branches[0]->result_count && k < branches[1]->result_count; k++) {
    if (atom_equal(branches[0]->results[k], x) &&
        atom_equal(branches[1]->results[k], y)) {
      return result_atom(t, k);
    }
  }
  return is_bound_in(branches[0], x) ? y : x;
}

static CoreType join_types(Typing *t, const Body *const branches[2], CoreType a,
                           CoreType b) {
  if (!a.rank || a.rank != b.rank) return a;
  Atom *dims = new_array(Atom, a.rank);
  for (int i = 0; i < a.rank; i++)
    dims[i] = join_size(t, branches, a.dims[i], b.dims[i]);
  return (CoreType){ a.elem, a.rank, dims };
}

static void add_branches(Typing *t, const Body *a, const Body *b) {
  const Body *branches[2] = { a, b };
  for (int i = 0; i < a->result_count; i++) {
    CoreType first = atom_type(a->results[i]);
    add(t, i < b->result_count ? join_types(t, branches, first, atom_type(b->results[i]))
                               : first);
  }
}

static Atom loop_size(Typing *t, const Exp *exp, Atom dim) {
  for (int k = 0; k < exp->u.loop.param_count; k++) {
    if (atom_equal(dim, atom_var(exp->u.loop.params[k]))) return result_atom(t, k);
  }
  return dim;
}

static void add_loop(Typing *t, const Exp *exp) {
  for (int i = 0; i < exp->u.loop.param_count; i++) {
    CoreType type = exp->u.loop.params[i]->type;
    Atom *dims = new_array(Atom, type.rank);
    for (int k = 0; k < type.rank; k++)
      dims[k] = loop_size(t, exp, type.dims[k]);
    add(t, (CoreType){ type.elem, type.rank, dims });
  }
}

static void add_call(Typing *t, const Exp *exp) {
  const Function *f = exp->u.call.function;
  Subst *s = subst_new();
  for (int i = 0; i < f->param_count && i < exp->u.call.arg_count; i++) {
    subst_put(s, f->params[i], exp->u.call.args[i]);
  }
  for (int i = 0; i < f->result_count; i++)
    add(t, subst_type(s, f->results[i]));
}

// ---- parallel operators

static void add_atoms(Typing *t, const Atom *atoms, int count) {
  for (int i = 0; i < count; i++)
    add(t, atom_type(atoms[i]));
}

// `type` with a dimension in front for each of the first `count` of a space's.
static CoreType over_space(const SegDim *dims, int count, CoreType type) {
  for (int i = count - 1; i >= 0; i--)
    type = type_of_rows(type, dims[i].width);
  return type;
}

// The reduced (or scanned) values, then the mapped ones, over a space: `reduced` of its
// dimensions remain for the former.
static void add_over(Typing *t, const SegDim *dims, const int dim_counts[2],
                     const Soac *soac) {
  for (int i = 0; i < soac->op_count; i++) {
    for (int k = 0; k < soac->ops[i].count; k++) {
      add(t, over_space(dims, dim_counts[0], atom_type(soac->ops[i].neutral[k])));
    }
  }
  const Body *body = soac->fn.body;
  for (int i = t->count; i < body->result_count; i++) {
    add(t, over_space(dims, dim_counts[1], atom_type(body->results[i])));
  }
}

static void add_soac(Typing *t, const Soac *soac, int reduced_dims) {
  SegDim dim = { .width = soac->width };
  add_over(t, &dim, (int[]){ reduced_dims, 1 }, soac);
}

static void add_filter(Typing *t, const Soac *soac) {
  add(t, type_scalar(PRIM_I64));
  for (int i = 1; i < soac->fn.body->result_count; i++) {
    add(t, type_of_rows(atom_type(soac->fn.body->results[i]), result_atom(t, 0)));
  }
}

static void add_dests(Typing *t, const ScatterDest *dests, int count) {
  for (int i = 0; i < count; i++)
    add(t, atom_type(dests[i].dest));
}

static void add_hists(Typing *t, const HistOp *ops, int count) {
  for (int i = 0; i < count; i++)
    if (!ops[i].chained) add_atoms(t, ops[i].dests, ops[i].op.count);
}

// The destinations, then what is mapped.
static void add_after(Typing *t, const SegOp *seg) {
  add_dests(t, seg->dests, seg->dest_count);
  Body mapped = *seg->after->body;
  mapped.results += seg_dest_values(seg);
  mapped.result_count -= seg_dest_values(seg);
  Soac soac = { .fn.body = mem_copy(&mapped, sizeof mapped) };
  add_over(t, seg->dims, (int[]){ seg->dim_count, seg->dim_count }, &soac);
}

static void add_seg(Typing *t, const SegOp *seg) {
  if (seg->after) {
    add_after(t, seg);
    return;
  }
  Soac soac = { .fn.body = seg->body, .ops = seg->ops, .op_count = seg->op_count };
  int reduced_dims = seg->kind == SEG_RED ? seg->dim_count - 1 : seg->dim_count;
  switch (seg->kind) {
  case SEG_MAP:
  case SEG_RED:
  case SEG_SCAN:
    add_over(t, seg->dims, (int[]){ reduced_dims, seg->dim_count }, &soac);
    return;
  case SEG_HIST: add_hists(t, seg->hists, seg->hist_count); return;
  case SEG_SCATTER: add_dests(t, seg->dests, seg->dest_count); return;
  }
}

static void add_split(Typing *t) {
  for (int i = 0; i < SPLIT_RESULTS; i++)
    add(t, type_scalar(PRIM_I64));
}

static CoreType fetch_type(const Exp *exp) {
  CoreType type = atom_type(exp->u.fetch.block);
  int dim = exp->u.fetch.dim;
  CoreType rows =
      type_of_rows(type_row(type), dim ? exp->u.fetch.total : exp->u.fetch.rows);
  Atom *dims = mem_copy(rows.dims, sizeof *dims * (size_t)rows.rank);
  dims[dim] = exp->u.fetch.rows;
  rows.dims = dims;
  return rows;
}

static CoreType gather_type(const Exp *exp) {
  CoreType type = atom_type(exp->u.gather.value);
  return type_of_rows(type.rank ? type_row(type) : type, exp->u.gather.total);
}

static void add_types(Typing *t, const Exp *exp) {
  switch (exp->kind) {
  case EXP_ATOM:
  case EXP_COPY: add(t, atom_type(exp->u.atom.atom)); return;
  case EXP_OP: add(t, type_scalar(op_result(exp->u.op.op, exp->u.op.type))); return;
  case EXP_CONVERT:
  case EXP_BITS: add(t, type_scalar(exp->u.convert.to)); return;
  case EXP_INDEX: add(t, indexed_type(exp)); return;
  case EXP_UPDATE: add(t, atom_type(exp->u.update.array)); return;
  case EXP_IOTA:
    add(t, type_of_rows(type_scalar(exp->u.iota.type), exp->u.iota.count));
    return;
  case EXP_REPLICATE:
    add(t, type_of_rows(atom_type(exp->u.replicate.value), exp->u.replicate.count));
    return;
  case EXP_REARRANGE: add(t, rearrange_type(exp)); return;
  case EXP_RESHAPE:
    add(t, type_array(atom_type(exp->u.reshape.array).elem, exp->u.reshape.rank,
                      exp->u.reshape.dims));
    return;
  case EXP_CONCAT: add(t, concat_type(exp)); return;
  case EXP_ROTATE: add(t, atom_type(exp->u.rotate.array)); return;
  case EXP_ARRAY:
    add(t, type_of_rows(exp->u.array.row, atom_i64(exp->u.array.count)));
    return;
  case EXP_ASSERT: add_atoms(t, exp->u.assert.atoms, exp->u.assert.atom_count); return;
  case EXP_IF: add_branches(t, exp->u.cond.then_body, exp->u.cond.else_body); return;
  case EXP_LOOP: add_loop(t, exp); return;
  case EXP_CALL: add_call(t, exp); return;
  case EXP_CHOOSE: add_branches(t, exp->u.choose.first, exp->u.choose.second); return;
  case EXP_MAP:
  case EXP_SCANOMAP: add_soac(t, &exp->u.soac, 1); return;
  case EXP_REDOMAP: add_soac(t, &exp->u.soac, 0); return;
  case EXP_SCATTER: add_dests(t, exp->u.scatter.dests, exp->u.scatter.dest_count); return;
  case EXP_HIST: add_hists(t, exp->u.hist.ops, exp->u.hist.op_count); return;
  case EXP_FILTER: add_filter(t, &exp->u.soac); return;
  case EXP_SEG: add_seg(t, exp->u.seg); return;
  case EXP_GUARD: add_branches(t, exp->u.guard.then_body, exp->u.guard.else_body); return;
  case EXP_SPLIT: add_split(t); return;
  case EXP_GATHER: add(t, gather_type(exp)); return;
  case EXP_BORDER:
    add(t, type_of_rows(type_row(atom_type(exp->u.border.block)), exp->u.border.extent));
    return;
  case EXP_FETCH: add(t, fetch_type(exp)); return;
  case EXP_DELIVER: add(t, atom_type(exp->u.deliver.block)); return;
  }
}

const CoreType *exp_types(Compiler *c, const Exp *exp, const Var *const *binders,
                          int *count) {
  int result_count = exp_result_count(exp);
  Typing t = { .c = c,
               .binders = binders,
               .types = new_array(CoreType, result_count),
               .result_count = result_count };
  add_types(&t, exp);
  *count = t.count;
  return t.types;
}
