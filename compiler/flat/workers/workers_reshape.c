// Arrays that are distributed by their rows, seen with other rows:
//
//   let xs = gather xs'   let zs = reshape [h * w] xs   .. over h * w
//     =>  let zs' = fetch of what the blocks of xs hold in order, the elements of this worker's zs
//
// Blocks of both have as many elements but for what division leaves over, so that little moves.
// Rows that only get another name for their number (`xs :> [m]f32`) stay where they are, unless one
// of the two is divided and the other not.
#include "flat/rules.h"
#include "flat/workers/workers.h"

static Atom elements_of_rows(Builder *b, Atom rows, CoreType type) {
  for (int i = 1; i < type.rank; i++)
    rows = size_mul(b, rows, type.dims[i]);
  return rows;
}

const RowPart *spread_reshaped(const Spread *s, const Stm *stm) {
  if (stm->exp->kind != EXP_RESHAPE || !stm->binders[0]->type.rank) return NULL;
  Atom array = stm->exp->u.reshape.array;
  CoreType type = atom_type(array);
  if (!type.rank || atom_equal(type.dims[0], stm->binders[0]->type.dims[0])) return NULL;
  const RowSplit *split = spread_split_of(s, type.dims[0]);
  const RowPart *part = split ? spread_part(s, array, split) : NULL;
  return part && part->loops == s->loops ? part : NULL;
}

// The elements of this worker's rows of such a view.
static Atom fetch_elements(Builder *b, const RowPart *part, CoreType type,
                           const RowSplit *to) {
  const RowSplit *from = part->split;
  CoreType block = atom_type(part->block);
  Atom count = elements_of_rows(b, from->count, block);
  Atom flat = core_let(b, "elements",
                       exp_reshape(mem_copy(&count, sizeof count), 1, part->block));
  const Exp *blocks = exp_gather(from->workers, elements_of_rows(b, from->width, block),
                                 elements_of_rows(b, from->start, block), count, flat);
  return core_let(b, "elements",
                  exp_fetch(blocks, elements_of_rows(b, to->start, type),
                            elements_of_rows(b, to->count, type)));
}

static Atom reshaped(Builder *b, Name name, Atom elements, CoreType type,
                     const RowSplit *to) {
  Atom *dims = mem_copy(type.dims, sizeof *dims * (size_t)type.rank);
  dims[0] = to->count;
  return core_let(b, name, exp_reshape(dims, type.rank, elements));
}

// As many rows, of the same shape?
static bool is_renaming(CoreType from, CoreType to) {
  return from.rank == to.rank && type_same_shape(type_row(from), type_row(to));
}

// if workers == workers' then block else fetched
static Atom renamed_rows(Spread *s, Builder *b, const RowPart *part, const Var *var,
                         const RowSplit *to) {
  Atom same = core_let(b, "same", exp_op2(OP_EQ, part->split->workers, to->workers));
  Builder view = builder_new(s->c, b->loc), other = builder_new(s->c, b->loc);
  Atom rows = reshaped(&view, var->name, part->block, var->type, to);
  Atom fetched = reshaped(&other, var->name, fetch_elements(&other, part, var->type, to),
                          var->type, to);
  map_put(s->alike, same.u.var, same.u.var);
  return core_let(
      b, var->name,
      exp_if(same, core_body(&view, &rows, 1), core_body(&other, &fetched, 1)));
}

bool spread_reshape(Spread *s, Builder *b, const Stm *stm) {
  const RowPart *part = spread_reshaped(s, stm);
  CoreType type = stm->binders[0]->type;
  const RowSplit *to = part ? spread_split_of(s, type.dims[0]) : NULL;
  if (!to) return false;
  b->loc = stm->loc;
  core_add_stm(b, *stm);
  const Var *var = stm->binders[0];
  Atom block = is_renaming(atom_type(part->block), type)
                   ? renamed_rows(s, b, part, var, to)
                   : reshaped(b, var->name, fetch_elements(b, part, type, to), type, to);
  spread_flow(s, block, part->block);
  map_put(s->parts, stm->binders[0], new_node(RowPart, block, to, s->loops));
  return true;
}
