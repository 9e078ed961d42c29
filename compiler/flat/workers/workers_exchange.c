// Columns of what is distributed by its rows, where something is divided by these columns:
//
//   let zs = rearrange (1, 0) ys
//     =>  let columns = fetch dimension 1 first:count of n from start:count ys'
//         let zs' = rearrange (1, 0) columns
//
// Each worker sends each other one what that wants of its rows, a part of each: of a gather the
// p-th part.  Points that read ys[.., i] read such columns (workers_reads.c).
#include "flat/workers/workers.h"

const RowPart *spread_part_for_columns(const Spread *s, Atom array) {
  CoreType type = atom_type(array);
  const RowSplit *split = type.rank > 1 ? spread_split_of(s, type.dims[0]) : NULL;
  const RowPart *part = split ? spread_part(s, array, split) : NULL;
  bool may = part && part->loops == s->loops && !map_has(s->needed, array.u.var);
  return may ? part : NULL;
}

Atom spread_columns(Spread *s, Builder *b, Atom array, const RowSplit *to, int dim,
                    Atom *base) {
  const RowPart *part = spread_part_for_columns(s, array);
  const RowSplit *from = part->split;
  Atom others = size_sub(b, from->workers, atom_i64(1));
  Atom several = core_let(b, "several", exp_op2(OP_MIN, others, atom_i64(1)));
  Atom first = size_mul(b, several, to->start);
  Atom less = size_mul(b, several, size_sub(b, to->width, to->count));
  Atom count = size_sub(b, to->width, less);
  const Exp *blocks =
      exp_gather(from->workers, from->width, from->start, from->count, part->block);
  Atom columns = core_let(b, "columns", exp_fetch_columns(blocks, dim, first, count));
  spread_flow(s, columns, part->block);
  map_put(s->exchanges, columns.u.var, array.u.var);
  *base = size_sub(b, to->start, first);
  return columns;
}

bool spread_turning_view(Spread *s, Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind != EXP_REARRANGE || exp->u.rearrange.perm[0] == 0) return false;
  Atom array = exp->u.rearrange.array, base;
  const RowSplit *to = spread_split_of(s, stm->binders[0]->type.dims[0]);
  const RowPart *part = to ? spread_part_for_columns(s, array) : NULL;
  if (!part) return false;
  core_add_stm(b, *stm);
  int dim = exp->u.rearrange.perm[0], rank = exp->u.rearrange.rank;
  Atom columns = spread_columns(s, b, array, to, dim, &base);
  CoreType type = atom_type(columns);
  DimIndex *own = new_array(DimIndex, rank);
  for (int i = 0; i < rank; i++)
    own[i] = dim_slice(i == dim ? base : atom_i64(0), i == dim ? to->count : type.dims[i],
                       atom_i64(1));
  Atom some = core_let(b, "columns", exp_slice(columns, own, false));
  Atom block = core_let(b, stm->binders[0]->name,
                        exp_rearrange(exp->u.rearrange.perm, rank, some));
  spread_flow(s, some, columns);
  spread_flow(s, block, some);
  map_put(s->parts, stm->binders[0], new_node(RowPart, block, to, part->loops));
  return true;
}

// ---- what is gathered anyway

// The arrays that are gathered where a statement stands: Var of a block -> that.
typedef struct Gathered {
  const Spread *s;
  Map *blocks, *needed;
  bool found;
} Gathered;

static const Var *gathered_block(const Exp *exp) {
  bool some = exp->kind == EXP_GATHER && exp->u.gather.value.kind == ATOM_VAR;
  return some ? exp->u.gather.value.u.var : NULL;
}

static void find_needed(Gathered *g, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Var *block = gathered_block(body->stms[i].exp);
    if (block) map_put(g->blocks, block, block);
  }
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    bool twice = exp->kind == EXP_FETCH && exp->u.fetch.dim &&
                 map_has(g->blocks, exp->u.fetch.block.u.var);
    const Var *array = twice ? map_get(g->s->exchanges, body->stms[i].binders[0]) : NULL;
    if (array) {
      map_put(g->needed, array, array);
      g->found = true;
    }
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      find_needed(g, *inner);
  }
  for (int i = 0; i < body->stm_count; i++) {
    const Var *block = gathered_block(body->stms[i].exp);
    if (block) map_remove(g->blocks, block);
  }
}

bool spread_find_needed(const Spread *s, const Body *body, Map *needed) {
  Gathered g = { s, map_new(NULL), needed, false };
  find_needed(&g, body);
  return g.found;
}
