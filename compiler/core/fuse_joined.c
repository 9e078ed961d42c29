// let ys = map n f xs in concat k ys zs
//   =>  map k (\i -> if i < n then f xs[i] else zs[i - n]) (iota k)
// let yss = map n (\xs -> map m f xs) xss in concat k yss zss
//   =>  map k (\i -> map m (\j -> if i < n then f xss[i, j] else zss[i - n, j]) ..) (iota k)
// concat k (replicate n x) zs, concat k (iota n) zs   likewise
//
// where f is scalar code.  Likewise, whatever the parts are, what a map or scan alone reads:
//
// let zs = concat k [x] xs in zs[s:s + m]   =>
//     map m (\i -> if i + s < 1 then x else xs[i + s - 1]) (iota m)
// map k g (concat k [x] xs[0:n])   =>   map k (\i -> g (if i < 1 then x else xs[i - 1])) (iota k)
//
// Needs: Core; binders unique.  Keeps: both.  Why: the parts would be stored, and then copied, by a
// kernel each; what reads the whole may fuse with it.
//
// Only where nobody else reads ys: nothing is computed twice.
#include "base/mem.h"
#include "core/failing.h"
#include "core/fuse.h"

enum { MOST_PARTS = 8, MOST_STATEMENTS = 64, MOST_PER_ROW = 4, MOST_NAMED = 4 };

// ---- maps of scalar code

static bool is_scalar_code(const Stm *stms, int count, int *budget);

static bool is_scalar_stm(const Stm *stm, int *budget) {
  const Exp *e = stm->exp;
  if (--*budget < 0) return false;
  if (exp_is_scalar(e) || exp_is_view(e)) return true;
  if (e->kind != EXP_IF) return false;
  const Body *then_body = e->u.cond.then_body, *else_body = e->u.cond.else_body;
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i]->type.rank > 0) return false;
  return is_scalar_code(then_body->stms, then_body->stm_count, budget) &&
         is_scalar_code(else_body->stms, else_body->stm_count, budget);
}

static bool is_scalar_code(const Stm *stms, int count, int *budget) {
  for (int i = 0; i < count; i++)
    if (!is_scalar_stm(&stms[i], budget)) return false;
  return true;
}

// The map within a map's function that makes its result, behind little else; NULL: it has none.
static const Stm *inner_map(const Body *body) {
  const Stm *last = body->stm_count ? &body->stms[body->stm_count - 1] : NULL;
  bool found = last && last->exp->kind == EXP_MAP && last->binder_count == 1 &&
               atom_equal(body->results[0], atom_var(last->binders[0]));
  return found ? last : NULL;
}

// Does the statement make an array of that rank element by element, by scalar code alone?
static bool maps_scalars(const Stm *stm, int rank, int *budget) {
  if (stm->exp->kind != EXP_MAP || stm->binder_count != 1 || stm->attrs) return false;
  const Body *body = stm->exp->u.soac.fn.body;
  if (rank == 1) return is_scalar_code(body->stms, body->stm_count, budget);
  const Stm *inner = inner_map(body);
  int before = MOST_PER_ROW;
  return inner && is_scalar_code(body->stms, body->stm_count - 1, &before) &&
         maps_scalars(inner, rank - 1, budget);
}

// ---- parts

typedef struct JoinedConcat {
  const Graph *g;
  const Node *node;  // of the concat
  const Node *part;  // of the part of it that alone is read, or NULL
  Map *gone;         // Var -> Node: maps that become part of it
  bool gains;        // a part need not be stored
} JoinedConcat;

// What is made: the concat, or the part of it.
static const Node *wanted(const JoinedConcat *j) { return j->part ? j->part : j->node; }

static int times_among(const Exp *concat, Atom array) {
  int times = 0;
  for (int i = 0; i < concat->u.concat.array_count; i++)
    times += atom_equal(concat->u.concat.arrays[i], array);
  return times;
}

// A loop puts few numbers before or behind an array: a map need not copy that for the next round.
// Short arrays of known size are straight code.
static bool moves_on(const JoinedConcat *j, const Node *made, int rank) {
  const Exp *e = made->stm.exp;
  return j->g->in_loop && e->kind == EXP_ARRAY && rank == 1 && e->u.array.count > 0 &&
         e->u.array.count <= MOST_NAMED &&
         j->node->stm.exp->u.concat.count.kind == ATOM_VAR;
}

static void take_part(JoinedConcat *j, Atom array, int rank, int *budget) {
  const Node *made = graph_producer(j->g, array);
  if (!made) return;
  ExpKind kind = made->stm.exp->kind;
  int left = *budget;
  j->gains |= kind == EXP_REPLICATE || kind == EXP_IOTA || moves_on(j, made, rank);
  if (kind != EXP_MAP || graph_uses(j->g, array.u.var) != 1 ||
      times_among(j->node->stm.exp, array) != 1 ||
      !graph_can_wait(j->g, made, wanted(j)) ||
      (j->part && failing_within(made->stm.exp)) ||
      !maps_scalars(&made->stm, rank, &left))
    return;
  *budget = left;
  j->gains = true;
  map_put(j->gone, array.u.var, made);
}

// A map or scan alone reads it, element by element: with it, nothing is stored.
static bool only_mapped(const Graph *g, const Var *joined) {
  if (joined->type.rank != 1 || graph_uses(g, joined) != 1) return false;
  for (int i = 0; i < g->count; i++) {
    const Node *node = g->order[i];
    if (!node || !map_has(node->mentions, joined)) continue;
    if (!node->form || map_has(node->inside, joined)) return false;
    bool scan = node->form->kind == EXP_SCANOMAP && !g->is_inner;
    return node->form->kind == EXP_MAP || scan;
  }
  return false;
}

static bool find_parts(JoinedConcat *j) {
  const Exp *e = j->node->stm.exp;
  int budget = MOST_STATEMENTS;
  const Var *made = wanted(j)->stm.binders[0];
  if (j->g->is_inner && !only_mapped(j->g, made)) return false;
  j->gains = j->part != NULL;
  if (e->u.concat.array_count > MOST_PARTS) return false;
  for (int i = 0; i < e->u.concat.array_count; i++)
    take_part(j, e->u.concat.arrays[i], made->type.rank, &budget);
  return j->gains || only_mapped(j->g, made);
}

// ---- elements

static Atom read_at(Builder *b, Atom array, const Atom *at, int rank) {
  return rank ? core_let(b, "x", exp_index(array, at, rank, false)) : array;
}

static Atom mapped_at(Builder *b, const Soac *map, const Atom *at, int rank) {
  const Body *body = map->fn.body;
  for (int i = 0; i < map->array_count; i++)
    core_add_stm(b, (Stm){ mem_copy(&map->fn.params[i], sizeof(const Var *)), 1,
                           exp_index(map->arrays[i], at, 1, false), b->loc, NULL });
  int before = rank == 1 ? body->stm_count : body->stm_count - 1;
  for (int i = 0; i < before; i++)
    core_add_stm(b, body->stms[i]);
  return rank == 1 ? body->results[0]
                   : mapped_at(b, &body->stms[before].exp->u.soac, at + 1, rank - 1);
}

static Atom counted_at(Builder *b, const Exp *iota, Atom at) {
  PrimType type = iota->u.iota.type;
  Atom i = type == PRIM_I64 ? at : core_let(b, "i", exp_convert(type, at));
  Atom scaled = core_let(b, "scaled", exp_op2(OP_MUL, i, iota->u.iota.step));
  return core_let(b, "x", exp_op2(OP_ADD, scaled, iota->u.iota.start));
}

// [p, q, r] at a place: one element after the other.
static Atom named_at(Builder *b, const Exp *literal, int k, const Atom *at, int rank) {
  Atom here = literal->u.array.atoms[k];
  if (k == literal->u.array.count - 1) return read_at(b, here, at + 1, rank - 1);
  Atom is_here = core_let(b, "here", exp_op2(OP_EQ, at[0], atom_i64(k)));
  Builder then_b = builder_new(b->c, b->loc), else_b = builder_new(b->c, b->loc);
  Atom x = read_at(&then_b, here, at + 1, rank - 1);
  Atom y = named_at(&else_b, literal, k + 1, at, rank);
  return core_let(b, "x",
                  exp_if(is_here, core_body(&then_b, &x, 1), core_body(&else_b, &y, 1)));
}

static Atom part_at(const JoinedConcat *j, Builder *b, Atom array, const Atom *at,
                    int rank) {
  const Node *made = graph_producer(j->g, array);
  const Exp *e = made ? made->stm.exp : NULL;
  if (e && map_has(j->gone, array.u.var)) return mapped_at(b, &e->u.soac, at, rank);
  if (e && e->kind == EXP_REPLICATE)
    return read_at(b, e->u.replicate.value, at + 1, rank - 1);
  if (e && e->kind == EXP_IOTA) return counted_at(b, e, at[0]);
  if (e && e->kind == EXP_ARRAY && e->u.array.count > 0 && e->u.array.count <= MOST_NAMED)
    return named_at(b, e, 0, at, rank);
  return read_at(b, array, at, rank);
}

// if i < n then the first part's element else that of the others, at i - n
static Atom joined_at(const JoinedConcat *j, Builder *b, int k, const Atom *at,
                      int rank) {
  const Exp *e = j->node->stm.exp;
  Atom array = e->u.concat.arrays[k];
  if (k == e->u.concat.array_count - 1) return part_at(j, b, array, at, rank);
  Atom size = atom_type(array).dims[0];
  Atom here = core_let(b, "here", exp_op2(OP_LT, at[0], size));
  Builder then_b = builder_new(b->c, b->loc), else_b = builder_new(b->c, b->loc);
  Atom x = part_at(j, &then_b, array, at, rank);
  Atom *behind = mem_copy(at, (size_t)rank * sizeof *at);
  behind[0] = size_sub(&else_b, at[0], size);
  Atom y = joined_at(j, &else_b, k + 1, behind, rank);
  return core_let(b, "x",
                  exp_if(here, core_body(&then_b, &x, 1), core_body(&else_b, &y, 1)));
}

// The place in the concat of element `i` of what is made.
static Atom place_in_concat(const JoinedConcat *j, Builder *b, Atom i) {
  if (!j->part) return i;
  const DimIndex *first = &j->part->stm.exp->u.index.dims[0];
  return size_add(b, first->start, size_mul(b, i, first->stride));
}

// A map for each dimension from `depth` on.
static const Exp *joined_map(const JoinedConcat *j, Builder *b, int depth, Atom *at) {
  CoreType type = wanted(j)->stm.binders[0]->type;
  Compiler *c = j->g->c;
  const Var *i = var_new(c, name_of(c->names, "i"), type_scalar(PRIM_I64), b->loc);
  Builder inner = builder_new(c, b->loc);
  at[depth] = depth ? atom_var(i) : place_in_concat(j, &inner, atom_var(i));
  Atom x = depth == type.rank - 1
               ? joined_at(j, &inner, 0, at, type.rank)
               : core_let(&inner, "row", joined_map(j, &inner, depth + 1, at));
  Atom width = type.dims[depth];
  Atom places = core_let(b, "places", exp_iota(width, atom_i64(0), atom_i64(1)));
  return exp_map(width, lambda_new(&i, 1, core_body(&inner, &x, 1)), &places, 1);
}

// ---- bodies

// The concat of which the node alone reads a part, along its first dimension; NULL: there is none.
static const Node *concat_of_part(const Graph *g, const Node *node) {
  const Exp *e = node->stm.exp;
  if (e->kind != EXP_INDEX || !e->u.index.dims[0].is_slice) return NULL;
  const Node *concat = graph_producer(g, e->u.index.array);
  if (!concat || concat->stm.exp->kind != EXP_CONCAT) return NULL;
  const Var *all = concat->stm.binders[0];
  for (int i = 1; i < e->u.index.dim_count; i++)
    if (!dim_is_whole(&e->u.index.dims[i], all->type.dims[i])) return NULL;
  return graph_uses(g, all) == 1 && graph_can_wait(g, concat, node) ? concat : NULL;
}

static void note_gone(const JoinedConcat *j, Map *gone) {
  const Exp *e = j->node->stm.exp;
  if (j->part) map_put(gone, j->node->stm.binders[0], j->node);
  for (int k = 0; k < e->u.concat.array_count; k++) {
    Atom array = e->u.concat.arrays[k];
    const Node *made = graph_producer(j->g, array);
    if (made && map_has(j->gone, array.u.var)) map_put(gone, array.u.var, made);
  }
}

// Var -> const JoinedConcat *: what is made as one map.  Parts before what they are of.
static Map *find_joined(const Graph *g, Map *gone) {
  Map *found = map_new(NULL);
  for (int i = g->count - 1; i >= 0; i--) {
    const Node *node = g->order[i], *concat = concat_of_part(g, node);
    bool whole =
        node->stm.exp->kind == EXP_CONCAT && !map_has(gone, node->stm.binders[0]);
    if (!concat && !whole) continue;
    JoinedConcat *j = new_node(JoinedConcat, .g = g, .node = concat ? concat : node,
                               .part = concat ? node : NULL, .gone = map_new(gone));
    if (!find_parts(j)) continue;
    map_put(found, node->stm.binders[0], j);
    note_gone(j, gone);
  }
  return found;
}

const Body *fuse_joined(Compiler *c, const Body *body, bool is_inner, bool in_loop) {
  Graph *g = graph_new(c, body);
  g->is_inner = is_inner;
  g->in_loop = in_loop;
  Map *gone = map_new(NULL);
  Map *found = find_joined(g, gone);
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    if (stm.binder_count && map_has(gone, stm.binders[0])) continue;
    const JoinedConcat *j = stm.binder_count ? map_get(found, stm.binders[0]) : NULL;
    b.loc = stm.loc;
    if (j) stm.exp = joined_map(j, &b, 0, new_array(Atom, stm.binders[0]->type.rank));
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}
