// let ys = map n f xs in ys[::-1]        =>  map n f xs[::-1]
// let ys = map n f xs in ys[s:s + m]     =>  map m f xs[s:s + m]     if f does not fail
// let ys = scan op z xs in ys[:m]        =>  scan op z xs[:m]        likewise
// let ys = map n f xs in rotate k ys     =>  map n (\i -> f xs[(i + k) % n]) (iota n)
// rotate k xs                            =>  map n (\i -> xs[(i + k) % n]) (iota n)
//
// Needs: Core; binders unique.  Keeps: both.  Why: what is turned row by row and then as a whole
// is one pass over memory; what reads the result may fuse with it; and what is cut off is not made.
//
// Only where nobody else reads ys: nothing is computed twice.
#include "base/map.h"
#include "core/failing.h"
#include "core/fuse.h"
#include "core/passes.h"

// A part along the first dimension, or all of it backwards.
static bool turns(const Exp *e) {
  if (e->kind == EXP_ROTATE) return true;
  if (e->kind != EXP_INDEX || !e->u.index.dims[0].is_slice) return false;
  CoreType type = atom_type(e->u.index.array);
  for (int i = 1; i < e->u.index.dim_count; i++)
    if (!dim_is_whole(&e->u.index.dims[i], type.dims[i])) return false;
  return true;
}

static Atom turned_array(const Exp *e) {
  return e->kind == EXP_ROTATE ? e->u.rotate.array : e->u.index.array;
}

static bool turns_all(const Exp *e) {
  const DimIndex *first = &e->u.index.dims[0];
  Atom all = atom_type(turned_array(e)).dims[0];
  return e->kind == EXP_ROTATE ||
         (atom_is_i64(first->stride, -1) && atom_equal(first->count, all));
}

// Does it begin with the first element?  Checked starts are what has been checked.
static bool begins_alike(const Graph *g, const Exp *e) {
  Atom start = e->u.index.dims[0].start;
  const Node *made = graph_producer(g, start);
  bool checked = made && made->stm.exp->kind == EXP_ASSERT &&
                 made->stm.exp->u.assert.atom_count == 1;
  if (checked) start = made->stm.exp->u.assert.atoms[0];
  return atom_is_i64(start, 0) && atom_is_i64(e->u.index.dims[0].stride, 1);
}

// What the turn lets be made in another order or not at all.
static bool may_turn(const Graph *g, const Exp *turn, const Node *made) {
  if (made->form->kind == EXP_MAP)
    return turns_all(turn) || !failing_within(made->stm.exp);
  bool scan = made->form->kind == EXP_SCANOMAP && made->form->mapped.count == 0;
  return scan && turn->kind == EXP_INDEX && begins_alike(g, turn) &&
         !failing_within(made->stm.exp);
}

// The map or scan that alone makes the array, and nothing but it; NULL: there is none.
static const Node *turned_map(const Graph *g, const Node *node) {
  const Exp *e = node->stm.exp;
  const Node *made = turns(e) ? graph_producer(g, turned_array(e)) : NULL;
  bool alone = made && made->form && made->stm.binder_count == 1 &&
               graph_uses(g, made->stm.binders[0]) == 1 && graph_can_wait(g, made, node);
  return alone && may_turn(g, e, made) ? made : NULL;
}

// ---- rotations

// from = (i + k) % n
static Atom rotated_place(Builder *b, const Var *at, const Exp *rotate) {
  Atom moved = size_add(b, atom_var(at), rotate->u.rotate.amount);
  Atom width = atom_type(rotate->u.rotate.array).dims[0];
  return core_let(b, "from", exp_op2(OP_MOD, moved, width));
}

static const Exp *map_of_places(Builder *b, const Var *at, Atom width, const Body *body) {
  Atom places = core_let(b, "places", exp_iota(width, atom_i64(0), atom_i64(1)));
  return exp_map(width, lambda_new(&at, 1, body), &places, 1);
}

static const Exp *rotation_map(Compiler *c, Builder *b, const Exp *rotate,
                               const Node *made) {
  Atom array = rotate->u.rotate.array;
  const Var *at = var_new(c, name_of(c->names, "i"), type_scalar(PRIM_I64), b->loc);
  Builder inner = builder_new(c, b->loc);
  Atom from = rotated_place(&inner, at, rotate), x;
  if (!made) {
    x = core_let(&inner, "x", exp_index(array, &from, 1, false));
    return map_of_places(b, at, atom_type(array).dims[0], core_body(&inner, &x, 1));
  }
  const Form *form = made->form;
  for (int i = 0; i < form->arrays.count; i++)
    core_add_stm(&inner,
                 (Stm){ mem_copy(&form->params.at[i], sizeof(const Var *)), 1,
                        exp_index(form->arrays.at[i], &from, 1, false), b->loc, NULL });
  for (int i = 0; i < form->stms.count; i++)
    core_add_stm(&inner, form->stms.at[i]);
  return map_of_places(b, at, form->width, core_body(&inner, form->mapped.at, 1));
}

// ---- reversals

static Atom reversed(const Graph *g, Builder *b, Atom array, const Exp *turned) {
  const Node *made = graph_producer(g, array);
  const DimIndex *first = &turned->u.index.dims[0];
  const Exp *iota = made && made->stm.exp->kind == EXP_IOTA ? made->stm.exp : NULL;
  if (iota && atom_is_i64(iota->u.iota.start, 0) && atom_is_i64(iota->u.iota.step, 1))
    return core_let(b, "places", exp_iota(first->count, first->start, first->stride));
  CoreType type = atom_type(array);
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = *first;
  for (int i = 1; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  return core_let(b, "turned", exp_slice(array, dims, turned->u.index.checked));
}

static const Exp *reversed_map(const Graph *g, Builder *b, const Exp *turned,
                               const Node *made) {
  const Form *form = made->form;
  Atom *arrays = new_array(Atom, form->arrays.count + 1);
  for (int i = 0; i < form->arrays.count; i++)
    arrays[i] = reversed(g, b, form->arrays.at[i], turned);
  Soac soac = made->stm.exp->u.soac;
  soac.width = turned->u.index.dims[0].count;
  soac.fn = lambda_new(form->params.at, form->params.count, soac.fn.body);
  soac.arrays = arrays;
  return exp_soac(form->kind, soac);
}

// ---- bodies

static bool has_turn(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (turns(body->stms[i].exp)) return true;
  return false;
}

static Stm turned_stm(const Graph *g, Builder *b, Stm stm, const Node *made) {
  if (stm.exp->kind == EXP_ROTATE)
    stm.exp = rotation_map(g->c, b, stm.exp, made);
  else
    stm.exp = reversed_map(g, b, stm.exp, made);
  if (made && !stm.attrs) stm.attrs = made->stm.attrs;
  return stm;
}

const Body *fuse_turned(Compiler *c, const Body *body) {
  if (!has_turn(body)) return body;
  Graph *g = graph_new(c, body);
  Map *gone = map_new(NULL);  // Var -> const Node *: maps that are part of others now
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < g->count; i++) {
    const Node *made = turned_map(g, g->order[i]);
    if (made) map_put(gone, made->stm.binders[0], made);
  }
  for (int i = 0; i < g->count; i++) {
    Stm stm = g->order[i]->stm;
    const Node *made = turned_map(g, g->order[i]);
    b.loc = stm.loc;
    if (stm.binder_count && map_has(gone, stm.binders[0])) continue;
    if (made || stm.exp->kind == EXP_ROTATE) stm = turned_stm(g, &b, stm, made);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}
