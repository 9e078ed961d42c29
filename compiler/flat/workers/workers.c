// ys = segmap1 <i < n> {..}  =>  split n; ys' = segmap1 <j < count> {..}; ys = gather ys'
//
// Needs: Flat.   Keeps: its promises, and one binding per name.   Why: programs for several workers
// (workers.h).  Not run for others.
//
// Gathers are put off: behind branches and loops that make a block in every round.  Seg-ops whose
// results take longer to gather than to compute stay whole, unless what they read is distributed or
// nobody needs their results whole: that is known at the end, and the pass then begins again; so is
// what is gathered anyway, of which no columns are fetched.
#include "flat/workers/workers.h"
#include "core/bounds.h"
#include "core/dead.h"
#include "core/passes.h"
#include "flat/rules.h"

// ---- arrays and their blocks

const RowPart *spread_part(const Spread *s, Atom array, const RowSplit *split) {
  if (array.kind != ATOM_VAR) return NULL;
  const RowPart *part = map_get(s->parts, array.u.var);
  return part && part->split == split ? part : NULL;
}

Atom spread_block(const Spread *s, Builder *b, Atom array, const RowSplit *split) {
  const RowPart *part = spread_part(s, array, split);
  if (part) return part->block;
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = dim_slice(split->start, split->count, atom_i64(1));
  for (int i = 1; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  return core_let(b, "block", exp_slice(array, dims, false));
}

CoreType spread_type(CoreType type, const RowSplit *split) {
  return type_of_rows(type_row(type), split->count);
}

void spread_gather(Spread *s, Builder *b, const Var *array, Atom block,
                   const RowSplit *split) {
  core_let_vars(
      b, mem_copy(&array, sizeof array), 1,
      exp_gather(split->workers, split->width, split->start, split->count, block));
  map_put(s->parts, array, new_node(RowPart, block, split, s->loops));
}

// A fresh variable for a block of the array, and where it comes from.
static const Var *block_var(Spread *s, const Var *array, const RowSplit *split) {
  const Var *block =
      var_new(s->c, array->name, spread_type(array->type, split), array->loc);
  map_put(s->flows, block, new (VarVec));
  return block;
}

void spread_flow(Spread *s, Atom to, Atom from) {
  VarVec *sources = new (VarVec);
  vec_push(sources, from.u.var);
  map_put(s->flows, to.u.var, sources);
}

static void flow(Spread *s, const Var *to, Atom from) {
  VarVec *sources = map_get(s->flows, to);
  vec_push(sources, from.u.var);
}

// ---- splits

const RowSplit *spread_split_of(const Spread *s, Atom width) {
  for (int i = 0; i < s->splits.count; i++)
    if (atom_equal(s->splits.at[i]->width, width)) return s->splits.at[i];
  return NULL;
}

// The split of an array's outer dimension, if there is one.
static const RowSplit *split_of_type(const Spread *s, CoreType type) {
  return type.rank ? spread_split_of(s, type.dims[0]) : NULL;
}

static bool is_in(const VarVec *vars, Atom a) {
  if (a.kind == ATOM_CONST) return true;
  for (int i = 0; i < vars->count; i++)
    if (vars->at[i] == a.u.var) return true;
  return false;
}

static void add_split(Spread *s, Builder *b, const Guard *guard, Atom width) {
  Atom at[SPLIT_RESULTS];
  core_let_n(b, "split", exp_split(guard, width), at);
  vec_push(&s->splits, new_node(RowSplit, width, at[0], at[1], at[2], at[3], at[4]));
}

static void make_split(Spread *s, Builder *b, const Body *body, int first, Atom width) {
  const SizeExp *work = flat_width_work(b, body, first, width);
  Name name = name_of(s->c->names,
                      text_format("%s.workers_%d", s->entry->name, s->split_count++));
  const Guard *guard = new_node(Guard, .kind = GUARD_WORKERS, .name = name,
                                .loc = body->stms[first].loc, .par = work);
  b->loc = body->stms[first].loc;
  add_split(s, b, guard, width);
}

typedef struct Widths {
  Spread *s;
  const VarVec *known;  // before the statement
  Vec(Atom) found;
} Widths;

static void find_widths(Widths *w, const Exp *exp) {
  if (exp->kind == EXP_SEG) {
    const SegOp *seg = exp->u.seg;
    Atom width = seg->dims[0].width;
    bool can = spread_can(seg) || spread_is_worth_delivering(seg);
    bool wanted = can && !map_has(w->s->whole, seg) && !spread_is_column_sum(w->s, seg) &&
                  !spread_is_column_scan(w->s, seg);
    if (wanted && !spread_split_of(w->s, width) && is_in(w->known, width))
      vec_push(&w->found, width);
    return;
  }
  BodyVec bodies = exp_bodies(exp);
  vec_each (const Body **, body, &bodies)
    for (int i = 0; i < (*body)->stm_count; i++)
      find_widths(w, (*body)->stms[i].exp);
}

// Those for the seg-ops in a statement whose widths are known before it.
static void make_splits(Spread *s, Builder *b, const Body *body, int position) {
  VarVec known = core_free_exp(body->stms[position].exp);
  Widths w = { s, &known, { 0 } };
  find_widths(&w, body->stms[position].exp);
  vec_each (const Atom *, width, &w.found)
    if (!spread_split_of(s, *width)) make_split(s, b, body, position, *width);
}

// Those for the rows that the statement, a scatter whose points are divided, writes into.
static void split_dests(Spread *s, Builder *b, const Body *body, int position) {
  const Exp *exp = body->stms[position].exp;
  const SegOp *seg = exp->kind == EXP_SEG ? exp->u.seg : NULL;
  bool delivers = seg && !map_has(s->whole, seg) && spread_may_deliver(s, seg);
  for (int i = 0; delivers && i < seg->dest_count; i++) {
    Atom width = atom_type(seg->dests[i].dest).dims[0];
    if (seg->dests[i].index_count && !spread_split_of(s, width))
      make_split(s, b, body, position, width);
  }
}

// The split of what a filter keeps, or of an array's other rows, if something that follows runs
// over it.
static void split_rows(Spread *s, Builder *b, const Body *body, int position) {
  const Stm *stm = &body->stms[position];
  bool filters = stm->exp->kind == EXP_SEG && spread_is_filter(stm->exp->u.seg);
  if (!filters && !spread_reshaped(s, stm)) return;
  Atom kept = stm->binders[0]->type.dims[0];
  if (kept.kind != ATOM_VAR || spread_split_of(s, kept)) return;
  VarVec known = { 0 };
  vec_push(&known, kept.u.var);
  Widths w = { s, &known, { 0 } };
  for (int i = position + 1; i < body->stm_count; i++)
    find_widths(&w, body->stms[i].exp);
  vec_each (const Atom *, width, &w.found)
    if (atom_equal(*width, kept) && !spread_split_of(s, kept))
      make_split(s, b, body, position, kept);
}

// ---- bodies

static void spread_stms(Spread *s, Builder *b, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    if (!spread_is_scratch(body, i)) make_splits(s, b, body, i);
    split_rows(s, b, body, i);
    split_dests(s, b, body, i);
    spread_stm(s, b, &body->stms[i]);
  }
}

static const Body *spread_body(Spread *s, const Body *body) {
  Builder b = builder_new(s->c, (Loc){ 0 });
  int outer = s->splits.count;
  spread_stms(s, &b, body);
  s->splits.count = outer;
  return core_body(&b, body->results, body->result_count);
}

// ---- branches

// The statement with blocks in the place of some binders, which are gathered behind it.
typedef struct Delayed {
  const Var **binders;
  const RowSplit **splits;  // NULL: not delayed
  int *dims;                // that stand before the one by which it is distributed
  int count;
} Delayed;

static Delayed delayed_new(const Stm *stm) {
  int count = stm->binder_count;
  return (Delayed){ mem_copy(stm->binders, sizeof *stm->binders * (size_t)count),
                    new_array(const RowSplit *, count), new_array(int, count), count };
}

static void gather_delayed(Spread *s, Builder *b, const Stm *stm, const Delayed *d) {
  for (int i = 0; i < d->count; i++)
    if (d->splits[i] && d->dims[i])
      spread_gather_turned(s, b, stm->binders[i], atom_var(d->binders[i]), d->splits[i],
                           d->dims[i]);
    else if (d->splits[i])
      spread_gather(s, b, stm->binders[i], atom_var(d->binders[i]), d->splits[i]);
}

// The block of result `i`; of a whole one a view, if that is wanted.  NULL: there is none.
static const Atom *result_block(Spread *s, Builder *b, Atom result, const RowSplit *split,
                                bool any) {
  const RowPart *part = spread_part(s, result, split);
  if (!part && !any) return NULL;
  Atom block = part ? part->block : spread_block(s, b, result, split);
  return mem_copy(&block, sizeof block);
}

// The same of results that both branches have distributed by another dimension.
static void delay_turned(Spread *s, const Stm *stm, Atom *results[2], Delayed *d, int i) {
  const Turned *turned[] = { spread_turned(s, results[0][i]),
                             spread_turned(s, results[1][i]) };
  if (!turned[0] || !turned[1] || turned[0]->dims != turned[1]->dims) return;
  const RowPart *parts[] = { spread_turned_part(s, turned[0]),
                             spread_turned_part(s, turned[1]) };
  if (parts[0]->split != parts[1]->split) return;
  d->splits[i] = parts[0]->split;
  d->dims[i] = turned[0]->dims;
  const Var *binder = stm->binders[i];
  const Var *block =
      var_new(s->c, binder->name, atom_type(turned[0]->block), binder->loc);
  map_put(s->flows, block, new (VarVec));
  d->binders[i] = block;
  for (int k = 0; k < 2; k++)
    flow(s, block, results[k][i] = turned[k]->block);
}

// Results that both branches make as blocks are gathered once, behind them.
static void delay_common(Spread *s, const Stm *stm, const Body *branches[2], Delayed *d) {
  Atom *results[2];
  Builder inner[2];
  for (int k = 0; k < 2; k++) {
    results[k] = mem_copy(branches[k]->results, sizeof(Atom) * (size_t)d->count);
    inner[k] = builder_new(s->c, stm->loc);
    core_add_body(&inner[k], branches[k]);
  }
  for (int i = 0; i < d->count; i++) {
    const RowSplit *split = split_of_type(s, stm->binders[i]->type);
    delay_turned(s, stm, results, d, i);
    if (!split || d->splits[i]) continue;
    const Atom *first = result_block(s, &inner[0], results[0][i], split, false);
    const Atom *second = first ? result_block(s, &inner[1], results[1][i], split,
                                              spread_is_loop_guard(stm->exp))
                               : NULL;
    if (!second) continue;
    d->splits[i] = split;
    d->binders[i] = block_var(s, stm->binders[i], split);
    flow(s, d->binders[i], results[0][i] = *first);
    flow(s, d->binders[i], results[1][i] = *second);
  }
  for (int k = 0; k < 2; k++)
    branches[k] = core_body(&inner[k], results[k], d->count);
}

// The size for the largest block: `most` in the place of the outer dimension, which is the first
// factor of its kind in each product.
static const SizeExp *size_of_block(const SizeExp *size, const RowSplit *split) {
  if (size->kind == SIZE_EXP_ATOM) {
    bool outer = atom_equal(size->atom, split->width);
    return outer ? new_node(SizeExp, .kind = SIZE_EXP_ATOM, .atom = split->most) : size;
  }
  const SizeExp *a = size_of_block(size->a, split), *b = size->b;
  if (size->kind != SIZE_EXP_MUL || a == size->a) b = size_of_block(b, split);
  if (a == size->a && b == size->b) return size;
  return new_node(SizeExp, .kind = size->kind, .a = a, .b = b);
}

static bool is_among_versions(const Guard *guard) {
  switch (guard->kind) {
  case GUARD_TOP:
  case GUARD_INTRA:
  case GUARD_REDOMAP: return true;
  case GUARD_CHOOSE:
  case GUARD_LOOP:
  case GUARD_WORKERS: break;
  }
  return false;
}

// The guard for what the seg-ops behind it, those from number `first` on, are divided by.
static const Guard *guard_of_blocks(const Spread *s, const Guard *guard, int first) {
  Guard *out = mem_copy(guard, sizeof *guard);
  const RowSplit *done = NULL;
  if (!is_among_versions(guard)) return guard;
  for (int i = first; i < s->segs.count; i++) {
    const RowSplit *split = s->segs.at[i].split;
    if (split && split != done) out->par = size_of_block(out->par, split);
    done = split;
  }
  return out;
}

static void spread_branches(Spread *s, Builder *b, const Stm *stm) {
  Exp *exp = mem_copy(stm->exp, sizeof *stm->exp);
  bool guard = exp->kind == EXP_GUARD;
  const Body **then_body = guard ? &exp->u.guard.then_body : &exp->u.cond.then_body;
  const Body **else_body = guard ? &exp->u.guard.else_body : &exp->u.cond.else_body;
  int first = s->segs.count;
  const Body *branches[] = { spread_body(s, *then_body), spread_body(s, *else_body) };
  if (guard) exp->u.guard.guard = guard_of_blocks(s, exp->u.guard.guard, first);
  Delayed d = delayed_new(stm);
  delay_common(s, stm, branches, &d);
  *then_body = branches[0];
  *else_body = branches[1];
  Stm out = *stm;
  out.exp = exp;
  out.binders = d.binders;
  core_add_stm(b, out);
  gather_delayed(s, b, stm, &d);
}

// ---- loops

// A round of a loop, for which `d` says which parameters are blocks; gathered, if need be, when it
// begins.
static const Body *spread_round(Spread *s, const Exp *loop, const Delayed *d) {
  Builder b = builder_new(s->c, (Loc){ 0 });
  int outer = s->splits.count;
  s->loops++;
  const Body *body = loop->u.loop.body;
  for (int i = 0; i < d->count; i++)
    if (d->splits[i])
      spread_gather(s, &b, loop->u.loop.params[i], atom_var(d->binders[i]), d->splits[i]);
  spread_stms(s, &b, body);
  s->splits.count = outer;
  s->loops--;
  Atom *results = mem_copy(body->results, sizeof(Atom) * (size_t)body->result_count);
  for (int i = 0; i < d->count; i++) {
    const RowPart *part = d->splits[i] ? spread_part(s, results[i], d->splits[i]) : NULL;
    if (part) results[i] = part->block;
  }
  return core_body(&b, results, body->result_count);
}

// Parameters that the round makes whole, or wants whole, stay so; false if there were some.
static bool keep_blocks(Spread *s, const Exp *loop, const Body *round, Delayed *d) {
  const Map *live = dead_live(round);  // views of what is gathered may be of no use
  bool all = true;
  for (int i = 0; i < d->count; i++) {
    if (!d->splits[i]) continue;
    Atom result = loop->u.loop.body->results[i];
    bool is_block =
        spread_part(s, result, d->splits[i]) && !map_has(live, loop->u.loop.params[i]);
    if (is_block) continue;
    all = false;
    d->splits[i] = NULL;
    map_remove(s->parts, loop->u.loop.params[i]);
  }
  return all;
}

static void block_params(Spread *s, const Exp *loop, Delayed *d) {
  for (int i = 0; i < d->count; i++)
    d->binders[i] = d->splits[i] ? block_var(s, loop->u.loop.params[i], d->splits[i])
                                 : loop->u.loop.params[i];
}

// The results of a loop with these parameters: as the statement has them, or blocks.
static Delayed loop_results(Spread *s, const Stm *stm, const Delayed *params) {
  Delayed out = delayed_new(stm);
  for (int i = 0; i < out.count; i++) {
    out.splits[i] = params->splits[i];
    if (!out.splits[i]) continue;
    out.binders[i] = block_var(s, stm->binders[i], out.splits[i]);
    flow(s, out.binders[i], atom_var(params->binders[i]));
  }
  return out;
}

static const Atom *block_inits(Spread *s, Builder *b, const Exp *loop, const Delayed *d) {
  Atom *inits = new_array(Atom, d->count + 1);
  for (int i = 0; i < d->count; i++) {
    Atom init = loop->u.loop.inits[i];
    inits[i] = d->splits[i] ? spread_block(s, b, init, d->splits[i]) : init;
    if (d->splits[i]) flow(s, d->binders[i], inits[i]);
  }
  return inits;
}

// Parameters that are blocks from round to round are gathered once, behind the loop.
static void spread_loop(Spread *s, Builder *b, const Stm *stm) {
  Exp *exp = mem_copy(stm->exp, sizeof *stm->exp);
  const Exp *loop = stm->exp;
  Delayed params = delayed_new(stm);
  for (int i = 0; i < params.count; i++)
    params.splits[i] = split_of_type(s, loop->u.loop.params[i]->type);
  const Body *round;
  int noted = s->segs.count;
  do {
    s->segs.count = noted;
    block_params(s, loop, &params);
    round = spread_round(s, loop, &params);
  } while (!keep_blocks(s, loop, round, &params));
  for (int i = 0; i < params.count; i++)
    if (params.splits[i]) {
      flow(s, params.binders[i], round->results[i]);
      map_put(s->carried, params.binders[i], new_node(LoopDepth, s->loops + 1));
    }
  exp->u.loop.inits = block_inits(s, b, loop, &params);
  exp->u.loop.params = params.binders;
  exp->u.loop.body = round;
  Delayed results = loop_results(s, stm, &params);
  Stm out = *stm;
  out.exp = exp;
  out.binders = results.binders;
  core_add_stm(b, out);
  gather_delayed(s, b, stm, &results);
}

// ---- views

static bool keeps_rows(const Exp *exp) {
  if (exp->kind == EXP_REARRANGE) return exp->u.rearrange.perm[0] == 0;
  if (exp->kind != EXP_INDEX) return false;
  Atom array = exp->u.index.array;
  return dim_is_whole(&exp->u.index.dims[0], atom_type(array).dims[0]);
}

// The view of a block that a view of an array is, where rows stay rows.
static const Exp *block_view(const Exp *exp, Atom block, const RowSplit *split) {
  Exp *out = mem_copy(exp, sizeof *exp);
  if (exp->kind == EXP_ATOM) out->u.atom.atom = block;
  if (exp->kind == EXP_REARRANGE) out->u.rearrange.array = block;
  if (exp->kind != EXP_INDEX) return out;
  int count = exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, sizeof *dims * (size_t)count);
  dims[0].count = split->count;
  out->u.index.array = block;
  out->u.index.dims = dims;
  return out;
}

// A view of an array that is distributed is that of a block, too.
static void spread_view(Spread *s, Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  Atom array = exp->kind == EXP_ATOM        ? exp->u.atom.atom
               : exp->kind == EXP_REARRANGE ? exp->u.rearrange.array
                                            : exp->u.index.array;
  const RowSplit *split = split_of_type(s, atom_type(array));
  const RowPart *part = split ? spread_part(s, array, split) : NULL;
  core_add_stm(b, *stm);
  if (!part) return;
  Atom block = core_let(b, stm->binders[0]->name, block_view(exp, part->block, split));
  spread_flow(s, block, part->block);
  map_put(s->parts, stm->binders[0], new_node(RowPart, block, split, part->loops));
}

// let ys = assert c {xs}: what is checked is the block, which is gathered for who reads it whole.
static bool spread_assert(Spread *s, Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind != EXP_ASSERT || stm->binder_count != 1) return false;
  Atom array = exp->u.assert.atoms[0];
  const RowSplit *split = split_of_type(s, atom_type(array));
  const RowPart *part = split ? spread_part(s, array, split) : NULL;
  if (!part) return false;
  Exp *own = mem_copy(exp, sizeof *exp);
  own->u.assert.atoms = mem_copy(&part->block, sizeof part->block);
  Atom block = core_let(b, stm->binders[0]->name, own);
  spread_flow(s, block, part->block);
  spread_gather(s, b, stm->binders[0], block, split);
  map_put(s->parts, stm->binders[0], new_node(RowPart, block, split, part->loops));
  return true;
}

// ---- statements

// A round of a loop is gone through again, with fewer blocks.
static void forget_parts(Spread *s, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++) {
    map_remove(s->parts, stm->binders[i]);
    map_remove(s->scans, stm->binders[i]);
    map_remove(s->turned, stm->binders[i]);
  }
}

// The last element of a divided scan is known without the array.
static const ScanPart *last_of_scan(const Spread *s, const Exp *exp) {
  if (exp->kind != EXP_INDEX || exp->u.index.dim_count != 1) return NULL;
  Atom array = exp->u.index.array;
  const DimIndex *at = &exp->u.index.dims[0];
  if (at->is_slice || array.kind != ATOM_VAR) return NULL;
  return spread_is_last(s, at->start, atom_type(array).dims[0])
             ? map_get(s->scans, array.u.var)
             : NULL;
}

static const Exp *total_of_scan(Builder *b, const Exp *read, Atom total) {
  CoreType type = atom_type(read->u.index.array);
  return read->u.index.checked ? bounds_assert(b, type, read->u.index.dims, &total, 1)
                               : exp_atom(total);
}

void spread_stm(Spread *s, Builder *b, const Stm *stm) {
  b->loc = stm->loc;
  forget_parts(s, stm);
  spread_note(s, stm);
  bool columns = stm->exp->kind == EXP_SEG &&
                 (spread_column_sum(s, b, stm) || spread_column_scan(s, b, stm));
  if (!columns) spread_whole_stm(s, b, stm);
}

void spread_whole_stm(Spread *s, Builder *b, const Stm *stm) {
  const Exp *exp = stm->exp;
  bool divided =
      exp->kind == EXP_SEG && spread_can(exp->u.seg) && !map_has(s->whole, exp->u.seg);
  const RowSplit *split = divided ? spread_split_of(s, exp->u.seg->dims[0].width) : NULL;
  const ScanPart *scan = last_of_scan(s, exp);
  if (scan)
    core_let_vars(b, stm->binders, 1, total_of_scan(b, exp, scan->total));
  else if (split && exp->u.seg->kind != SEG_SCATTER)
    spread_seg(s, b, stm, split);
  else if ((split && spread_filter(s, b, stm, split)) || spread_scatter(s, b, stm))
    return;
  else if (spread_host_read(s, b, stm) || spread_reshape(s, b, stm) ||
           spread_assert(s, b, stm) || spread_turned_view(s, b, stm) ||
           spread_turning_view(s, b, stm))
    return;
  else if (exp->kind == EXP_IF || exp->kind == EXP_GUARD)
    spread_branches(s, b, stm);
  else if (exp->kind == EXP_LOOP)
    spread_loop(s, b, stm);
  else if (exp->kind == EXP_ATOM || keeps_rows(exp))
    spread_view(s, b, stm);
  else if (exp->kind == EXP_SEG)
    core_let_vars(b, stm->binders, stm->binder_count,
                  exp_seg(spread_single_reads(s, b, exp->u.seg)));
  else
    core_add_stm(b, *stm);
}

// ---- what is not worth it

static void mark_gathered(const Spread *s, const Var *block, Map *gathered) {
  if (map_has(gathered, block)) return;
  map_put(gathered, block, block);
  const VarVec *sources = map_get(s->flows, block);
  for (int i = 0; sources && i < sources->count; i++)
    mark_gathered(s, sources->at[i], gathered);
}

// The blocks that live gathers make whole, or of which all workers get a part for each row.
static void find_gathered(const Spread *s, const Body *body, Map *gathered) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_GATHER && exp->u.gather.value.kind == ATOM_VAR)
      mark_gathered(s, exp->u.gather.value.u.var, gathered);
    if (exp->kind == EXP_FETCH &&
        (exp->u.fetch.dim || atom_equal(exp->u.fetch.rows, exp->u.fetch.total)))
      mark_gathered(s, exp->u.fetch.block.u.var, gathered);
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      find_gathered(s, *inner, gathered);
  }
}

static bool some_gathered(const SpreadSeg *seg, const Map *gathered) {
  for (int i = 0; i < seg->blocks.count; i++)
    if (map_has(gathered, seg->blocks.at[i])) return true;
  return false;
}

// Seg-ops that all workers could do whole: cheap ones, and so are those that make what they read.
typedef struct Light {
  const Spread *s;
  Map *makers;  // Var of a block -> the SpreadSeg that makes it
  Map *heavy;   // SpreadSeg: not so
  Map *seen;    // Var: looked at
} Light;

// Is it made in the loop, of more than the rows that some points write?
static bool is_made_within(const Light *l, const Var *block, const LoopDepth *loop) {
  const SpreadSeg *maker = map_get(l->makers, block);
  return loop && maker && maker->split && maker->loops >= loop->loops;
}

static bool is_light_block(const Light *l, const Var *block) {
  const SpreadSeg *maker = map_get(l->makers, block);
  if (maker) return !map_has(l->heavy, maker);
  const VarVec *sources = map_get(l->s->flows, block);
  if (!sources || map_has(l->seen, block))
    return true;                      // all have it; or it is passed on
  if (!sources->count) return false;  // the caller's
  const LoopDepth *loop = map_get(l->s->carried, block);
  map_put(l->seen, block, block);
  for (int i = 0; i < sources->count; i++)  // rounds may be many
    if (is_made_within(l, sources->at[i], loop) || !is_light_block(l, sources->at[i]))
      return false;
  return true;
}

static bool is_light(Light *l, const SpreadSeg *seg) {
  if (!seg->cheap) return false;
  l->seen = map_new(NULL);
  for (int i = 0; !seg->whole_inputs && i < seg->inputs.count; i++)
    if (!is_light_block(l, seg->inputs.at[i])) return false;
  return true;
}

static Light find_light(const Spread *s) {
  Light l = { s, map_new(NULL), map_new(NULL), NULL };
  vec_each (const SpreadSeg *, seg, &s->segs)
    for (int i = 0; i < seg->blocks.count; i++)
      map_put(l.makers, seg->blocks.at[i], seg);
  for (bool more = true; more;) {
    more = false;
    vec_each (const SpreadSeg *, seg, &s->segs) {
      if (map_has(l.heavy, seg) || is_light(&l, seg)) continue;
      map_put(l.heavy, seg, seg);
      more = true;
    }
  }
  return l;
}

// Adds seg-ops that should stay whole, with what they read; false if there are none.
static bool find_whole(const Spread *s, const Body *body, Map *whole) {
  bool found = false, more = true;
  Map *gathered = map_new(NULL);
  find_gathered(s, body, gathered);
  Light l = find_light(s);
  while (more) {
    more = false;
    vec_each (const SpreadSeg *, seg, &s->segs) {
      if (map_has(l.heavy, seg) || map_has(whole, seg->seg) ||
          !some_gathered(seg, gathered))
        continue;
      map_put(whole, seg->seg, s->entry);
      for (int i = 0; i < seg->inputs.count; i++)
        mark_gathered(s, seg->inputs.at[i], gathered);
      more = found = true;
    }
  }
  return found;
}

// ---- entry points

static const Body *without_dead(Compiler *c, const Entry *entry) {
  Core one = { .entries = &entry, .entry_count = 1 };
  return dead(c, &one)->entries[0]->body;
}

// ---- blocks that callers hand in, and get

// One split for each size of what is handed in, whatever it is worth.
static const RowSplit *split_of_caller(Spread *s, Builder *b, Atom width) {
  const RowSplit *known = spread_split_of(s, width);
  if (known) return known;
  Name name = name_of(s->c->names,
                      text_format("%s.workers_%d", s->entry->name, s->split_count++));
  const Guard *guard =
      new_node(Guard, .kind = GUARD_WORKERS, .name = name, .loc = s->entry->loc,
               .par = size_exp_atom(atom_i64(INT64_MAX)));
  add_split(s, b, guard, width);
  return spread_split_of(s, width);
}

// let block = xs[0:count]   let whole = gather block, of which the body knows
static void take_block(Spread *s, Builder *b, const Var *param, const Var *whole) {
  const RowSplit *split = split_of_caller(s, b, param->type.dims[0]);
  DimIndex *dims = new_array(DimIndex, param->type.rank);
  dims[0] = dim_slice(atom_i64(0), split->count, atom_i64(1));
  for (int i = 1; i < param->type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), param->type.dims[i], atom_i64(1));
  Atom block = core_let(b, param->name, exp_slice(atom_var(param), dims, false));
  map_put(s->flows, block.u.var, new (VarVec));
  spread_gather(s, b, whole, block, split);
}

// The split of what callers hand in with as many rows; NULL if that is nothing.
static const RowSplit *caller_split(const Spread *s, CoreType type) {
  for (int i = s->entry->size_count; i < s->entry->param_count; i++)
    if (type.rank && s->entry->blocks[i] &&
        atom_equal(type.dims[0], s->entry->params[i]->type.dims[0]))
      return spread_split_of(s, type.dims[0]);
  return NULL;
}

// The results of as many rows as a caller's blocks are blocks: of a size that only the body knows.
static void give_blocks(Spread *s, Builder *b, Entry *out, Atom *results) {
  int sizes = out->size_result_count, leaves = out->result_count;
  CoreType *types = mem_copy(out->results, sizeof *types * (size_t)leaves);
  bool *blocks = new_array(bool, leaves + 1);
  Vec(const Var *) names = { 0 };
  Vec(Atom) all = { 0 };
  for (int i = 0; i < sizes; i++) {
    vec_push(&names, out->size_results[i]);
    vec_push(&all, results[i]);
  }
  for (int i = 0; i < leaves; i++) {
    const RowSplit *split = caller_split(s, types[i]);
    if (!split) continue;
    blocks[i] = true;
    Atom *result = &results[sizes + i];
    *result = spread_block(s, b, *result, split);
    const Var *count = var_like(s->c, split->count.u.var);
    types[i] = type_of_rows(type_row(types[i]), atom_var(count));
    vec_push(&names, count);
    vec_push(&all, split->count);
  }
  for (int i = 0; i < leaves; i++)
    vec_push(&all, results[sizes + i]);
  out->results = types;
  out->result_blocks = blocks;
  out->size_results = names.at;
  out->size_result_count = names.count;
  out->body = core_body(b, all.at, all.count);
}

// What the body calls those of its parameters that are handed in as blocks.
typedef struct Wholes {
  const Var **vars;  // per parameter; NULL: it is whole
  const Body *body;
} Wholes;

static Wholes wholes_of(Compiler *c, const Entry *entry) {
  Wholes out = { new_array(const Var *, entry->param_count + 1), entry->body };
  Subst *subst = subst_new();
  for (int i = entry->size_count; i < entry->param_count; i++) {
    if (!entry->blocks[i]) continue;
    out.vars[i] = var_like(c, entry->params[i]);
    subst_put(subst, entry->params[i], atom_var(out.vars[i]));
  }
  out.body = core_subst_body(c, subst, entry->body);
  return out;
}

static void spread_caller(Spread *s, const Entry *entry, const Wholes *wholes,
                          Entry *out) {
  Builder b = builder_new(s->c, entry->loc);
  for (int i = entry->size_count; i < entry->param_count; i++)
    if (wholes->vars[i]) take_block(s, &b, entry->params[i], wholes->vars[i]);
  spread_stms(s, &b, wholes->body);
  size_t bytes = sizeof(Atom) * (size_t)wholes->body->result_count;
  give_blocks(s, &b, out, mem_copy(wholes->body->results, bytes));
}

// Arrays that the pass itself makes have other names each time.
enum { MOST_RESTARTS = 8 };

static const Entry *spread_entry(Compiler *c, const Entry *entry, bool blocks) {
  Entry *out = mem_copy(entry, sizeof *entry);
  Map *whole = map_new(NULL), *needed = map_new(NULL);
  int restarts = 0;
  blocks = blocks && entry->blocks;
  Wholes wholes = { 0 };
  if (blocks) wholes = wholes_of(c, entry);
  const Body *body = spread_carry(c, entry->body);
  if (blocks) wholes.body = spread_carry(c, wholes.body);
  Spread s;
  do {
    s = (Spread){ .c = c,
                  .entry = entry,
                  .parts = map_new(NULL),
                  .scans = map_new(NULL),
                  .turned = map_new(NULL),
                  .turned_blocks = map_new(NULL),
                  .flows = map_new(NULL),
                  .carried = map_new(NULL),
                  .defs = map_new(NULL),
                  .alike = map_new(NULL),
                  .indices = map_new(NULL),
                  .offsets = map_new(NULL),
                  .exchanges = map_new(NULL),
                  .needed = needed,
                  .whole = whole };
    *out = *entry;
    if (blocks)
      spread_caller(&s, entry, &wholes, out);
    else
      out->body = spread_body(&s, body);
    out->body = without_dead(c, out);
  } while (find_whole(&s, out->body, whole) ||
           (restarts++ < MOST_RESTARTS &&
            spread_find_needed(&s, spread_sink(c, out->body, s.alike), needed)));
  // Seg-ops that read the same block fuse later.
  out->body = spread_sink(c, cse_body(c, out->body), s.alike);
  out->body = spread_price(c, out, out->body);
  out->body = spread_layouts(c, out, blocks);
  return out;
}

const Core *flat_for_workers(Compiler *c, const Core *flat, bool blocks) {
  Core *out = mem_copy(flat, sizeof *flat);
  out->entries = new_array(const Entry *, flat->entry_count);
  for (int i = 0; i < flat->entry_count; i++)
    out->entries[i] = spread_entry(c, flat->entries[i], blocks);
  return out;
}
