// What the host reads of a distributed array:
//
//   let ys = gather ys'   let y = ys[k, j]
//     =>  let row = fetch k:1 of n from ys'   let y = row[0, j]
//
// Its owner sends the row to the others.  Not in loops around the array: it is then gathered once.
#include "core/bounds.h"
#include "flat/rules.h"
#include "flat/workers/workers.h"

// The only row of what is fetched, but not before the check that the index has.
static Atom only_row(Builder *b, const Exp *exp) {
  Atom row = exp->u.index.dims[0].start;
  CoreType type = atom_type(exp->u.index.array);
  if (!exp->u.index.checked) return atom_i64(0);
  Atom checked =
      core_let(b, "checked", bounds_assert(b, type, exp->u.index.dims, &row, 1));
  return core_let(b, "first", exp_op2(OP_SUB, checked, row));
}

// The part of an array of which the expression reads a row that can be fetched; NULL otherwise.
static const RowPart *part_read(const Spread *s, const Exp *exp) {
  if (exp->kind != EXP_INDEX || exp->u.index.dims[0].is_slice) return NULL;
  if (exp->u.index.checked && !spread_has_single_indices(exp)) return NULL;
  Atom array = exp->u.index.array;
  const RowSplit *split = spread_split_of(s, atom_type(array).dims[0]);
  const RowPart *part = split ? spread_part(s, array, split) : NULL;
  return part && part->loops == s->loops ? part : NULL;
}

bool spread_host_read(const Spread *s, Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  const RowPart *part = part_read(s, exp);
  if (!part) return false;
  b->loc = stm->loc;
  const RowSplit *split = part->split;
  Atom row = exp->u.index.dims[0].start;
  const Exp *blocks =
      exp_gather(split->workers, split->width, split->start, split->count, part->block);
  Exp *out = mem_copy(exp, sizeof *exp);
  size_t bytes = sizeof(DimIndex) * (size_t)exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, bytes);
  out->u.index.array = core_let(b, "row", exp_fetch(blocks, row, atom_i64(1)));
  dims[0] = dim_fix(only_row(b, exp));
  out->u.index.dims = dims;
  out->u.index.checked = false;
  core_let_vars(b, stm->binders, 1, out);
  return true;
}
