// let ys = segmap <k < c> <i < a> <j < b> { let x = xs[i, j, k] in {x} }
//   =>  let ys = rearrange (2, 0, 1) xs
//
// and a choice between versions that all do that is one between equal views:
//
//   let ys = if Par(c) >= t then {segmap1 .. } else {segmap1 .. {segmap0 .. }}
//   =>  let r = rearrange (2, 0, 1) xs   let ys = if Par(c) >= t then {r} else {r}
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  Who makes `xs` can make it in that order (imp/lower/layout.c), which costs
// nothing: planes of a cell's numbers, channels of pictures.
#include "base/map.h"
#include "core/passes.h"
#include "flat/spaces.h"

enum { MOST_DIMS = 8 };

typedef struct MovedArrays {
  Compiler *c;
  Map *iotas;  // Var -> Var: arrays of the host whose elements are their indices
} MovedArrays;

// Dimension i of the value is perm[i] of the array.
typedef struct Moved {
  const Var *array;
  int rank, perm[MOST_DIMS];
} Moved;

typedef struct MovedSpace {
  const MovedArrays *s;
  SegDim dims[MOST_DIMS];
  int count;
} MovedSpace;

static const Exp *exp_of_result(const Body *body, Atom a) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].binder_count == 1 &&
        atom_equal(a, atom_var(body->stms[i].binders[0])))
      return body->stms[i].exp;
  return NULL;
}

// An array that a body makes is no other's view outside of it.
static bool binds_array(const Body *body, const Var *var) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return true;
  return false;
}

// ---- maps

// Which dimension of the space the index is, also as an element of an iota; -1: none.
static int dim_of_index(const MovedSpace *m, const Body *body, Atom index) {
  for (int d = 0; d < m->count; d++)
    if (atom_equal(index, atom_var(m->dims[d].index))) return d;
  const Exp *e = exp_of_result(body, index);
  bool of_iota = e && e->kind == EXP_INDEX && e->u.index.dim_count == 1 &&
                 map_has(m->s->iotas, e->u.index.array.u.var);
  return of_iota ? dim_of_index(m, body, e->u.index.dims[0].start) : -1;
}

// Does the read take each element of the array once?
static bool moves_all(const MovedSpace *m, const Body *body, const Exp *read,
                      Moved *out) {
  unsigned seen = 0;
  const Var *array = read->u.index.array.u.var;
  if (read->u.index.dim_count != m->count) return false;
  *out = (Moved){ .array = array, .rank = m->count };
  for (int d = 0; d < m->count; d++) {
    const DimIndex *at = &read->u.index.dims[d];
    int of = at->is_slice ? -1 : dim_of_index(m, body, at->start);
    if (of < 0 || seen & 1u << of) return false;
    if (!atom_equal(m->dims[of].width, array->type.dims[d])) return false;
    seen |= 1u << of;
    out->perm[of] = d;
  }
  return true;
}

static bool moves_by_seg(MovedSpace *m, const SegOp *seg, Moved *out);
static bool moves_by_map(MovedSpace *m, const Soac *map, Moved *out);

// The body of a point: it only reads one, or goes through further dimensions.
static bool moves_in_body(MovedSpace *m, const Body *body, Moved *out) {
  if (body->result_count != 1 || flat_may_fail(body)) return false;
  const Exp *made = exp_of_result(body, body->results[0]);
  bool moves = made && ((made->kind == EXP_SEG && moves_by_seg(m, made->u.seg, out)) ||
                        (made->kind == EXP_MAP && moves_by_map(m, &made->u.soac, out)) ||
                        (made->kind == EXP_INDEX && moves_all(m, body, made, out)));
  return moves && !binds_array(body, out->array);
}

static bool moves_by_seg(MovedSpace *m, const SegOp *seg, Moved *out) {
  if (seg->kind != SEG_MAP || m->count + seg->dim_count > MOST_DIMS) return false;
  for (int d = 0; d < seg->dim_count; d++)
    m->dims[m->count++] = seg->dims[d];
  return moves_in_body(m, seg->body, out);
}

// map m (\j -> ..) (iota m)
static bool moves_by_map(MovedSpace *m, const Soac *map, Moved *out) {
  bool of_iota = map->array_count == 1 && map_has(m->s->iotas, map->arrays[0].u.var);
  if (!of_iota || m->count == MOST_DIMS) return false;
  m->dims[m->count++] = (SegDim){ .index = map->fn.params[0], .width = map->width };
  return moves_in_body(m, map->fn.body, out);
}

// ---- versions

static bool same_moved(const Moved *a, const Moved *b) {
  if (a->array != b->array || a->rank != b->rank) return false;
  for (int d = 0; d < a->rank; d++)
    if (a->perm[d] != b->perm[d]) return false;
  return true;
}

static bool find_moved(const MovedArrays *s, const Exp *e, Moved *out);

static bool find_in_branch(const MovedArrays *s, const Body *body, Moved *out) {
  const Exp *made =
      body->result_count == 1 ? exp_of_result(body, body->results[0]) : NULL;
  return made && !flat_may_fail(body) && find_moved(s, made, out) &&
         !binds_array(body, out->array);
}

static bool find_moved(const MovedArrays *s, const Exp *e, Moved *out) {
  MovedSpace space = { .s = s };
  Moved other;
  if (e->kind == EXP_SEG) return moves_by_seg(&space, e->u.seg, out);
  if (e->kind != EXP_GUARD) return false;
  return find_in_branch(s, e->u.guard.then_body, out) &&
         find_in_branch(s, e->u.guard.else_body, &other) && same_moved(out, &other);
}

static bool is_in_order(const Moved *m) {
  for (int d = 0; d < m->rank; d++)
    if (m->perm[d] != d) return false;
  return true;
}

// ---- the host's code

// The choice with that view in all of its branches.
static const Body *branch_of_view(Compiler *c, const Body *body, Atom view);

static const Exp *choice_of_views(Compiler *c, const Exp *e, Atom view) {
  if (e->kind != EXP_GUARD) return exp_atom(view);
  return exp_guard(e->u.guard.guard, branch_of_view(c, e->u.guard.then_body, view),
                   branch_of_view(c, e->u.guard.else_body, view));
}

static const Body *branch_of_view(Compiler *c, const Body *body, Atom view) {
  const Exp *made = exp_of_result(body, body->results[0]);
  Builder b = builder_new(c, body->stms[body->stm_count - 1].loc);
  Atom result = view;
  if (made && made->kind == EXP_GUARD)
    result = core_let(&b, "moved", choice_of_views(c, made, view));
  return core_body(&b, &result, 1);
}

static const Body *move_host_body(CoreMapper *m, const Body *body) {
  MovedArrays *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    Moved moved;
    b.loc = stm.loc;
    b.attrs = stm.attrs;
    if (stm.binder_count == 1 && find_moved(s, stm.exp, &moved) && !is_in_order(&moved)) {
      const Exp *view = exp_rearrange(moved.perm, moved.rank, atom_var(moved.array));
      stm.exp = stm.exp->kind == EXP_SEG
                    ? view
                    : choice_of_views(s->c, stm.exp, core_let(&b, "moved", view));
    } else if (stm.exp->kind == EXP_IF || stm.exp->kind == EXP_GUARD ||
               stm.exp->kind == EXP_LOOP) {
      stm.exp = core_map_exp(m, stm.exp);
    }
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static void note_moved_iotas(CoreVisitor *v, const Body *body) {
  MovedArrays *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Var *var = body->stms[i].binders[0];
    if (flat_makes_iota(body->stms[i].exp)) map_put(s->iotas, var, var);
  }
  core_visit_body(v, body);
}

const Core *flat_move_arrays(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  MovedArrays s = { c, map_new(NULL) };
  CoreMapper m = { .body = move_host_body, .state = &s };
  CoreVisitor v = { .body = note_moved_iotas, .state = &s };
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    note_moved_iotas(&v, entry->body);
    entry->body = move_host_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
