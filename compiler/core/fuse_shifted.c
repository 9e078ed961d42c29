// concat k [z] (scan op z f xs)   =>   scan op z (concat k [z] (map n f xs))
//
// for sums, products and operators on whole numbers whose neutral element is z: exclusive scans,
// offsets.
//
// let ys = scan op z xs in map n (\i -> if i == 0 then z else ys[i - 1]) (iota n)
//   =>   scan op z (map n (\i -> if i == 0 then z else xs[i - 1]) (iota n))   likewise
//
// Needs: Core; binders unique.  Keeps: both.  Why: the scan would be stored, and then copied; what
// is put together before it is made by a map that fuses with it (fuse_joined.c).
//
// Only where nobody else reads the scan.
#include "core/fuse.h"

// The operator and its neutral element are these: \x y -> x op y, z.
static bool is_plain(const RedOp *op, Atom first) {
  const Body *body = op->op.body;
  if (op->count != 1 || body->stm_count != 1 || first.kind != ATOM_CONST) return false;
  const Stm *stm = &body->stms[0];
  if (stm->exp->kind != EXP_OP ||
      !atom_equal(body->results[0], atom_var(stm->binders[0])))
    return false;
  PrimOp by = stm->exp->u.op.op;
  PrimType type = first.u.constant.type;
  const Atom *args = stm->exp->u.op.args;
  bool sum = by == OP_ADD || by == OP_MUL || op_joins_in_any_order(by, type);
  return sum && stm->exp->u.op.type == type &&
         atom_equal(args[0], atom_var(op->op.params[0])) &&
         atom_equal(args[1], atom_var(op->op.params[1])) &&
         atom_equal(first, atom_const(prim_neutral(by, type)));
}

// A scan that nobody but the node reads, and that may wait for it, by such an operator; or NULL.
static const Node *plain_scan(const Graph *g, Atom array, const Node *node, Atom first) {
  const Node *scan = graph_producer(g, array);
  bool alone = scan && scan->stm.exp->kind == EXP_SCANOMAP &&
               scan->stm.binder_count == 1 && !scan->stm.attrs &&
               graph_uses(g, scan->stm.binders[0]) == 1 && graph_can_wait(g, scan, node);
  if (!alone) return NULL;
  const Soac *soac = &scan->stm.exp->u.soac;
  bool plain = soac->op_count == 1 && soac->fn.body->result_count == 1 &&
               is_plain(&soac->ops[0], first) &&
               atom_equal(first, soac->ops[0].neutral[0]);
  return plain ? scan : NULL;
}

static const Node *joined_scan(const Graph *g, const Node *node) {
  const Exp *e = node->stm.exp;
  if (e->u.concat.array_count != 2) return NULL;
  const Node *first = graph_producer(g, e->u.concat.arrays[0]);
  bool one = first && first->stm.exp->kind == EXP_ARRAY &&
             first->stm.exp->u.array.count == 1 &&
             atom_type(e->u.concat.arrays[0]).rank == 1;
  return one ? plain_scan(g, e->u.concat.arrays[1], node,
                          first->stm.exp->u.array.atoms[0])
             : NULL;
}

// ---- maps of places

static const Exp *made_in(const Body *outer, const Body *inner, Atom a) {
  const Body *bodies[2] = { outer, inner };
  for (int k = 0; k < 2; k++)
    for (int i = 0; i < bodies[k]->stm_count; i++) {
      const Stm *stm = &bodies[k]->stms[i];
      if (stm->binder_count == 1 && atom_equal(a, atom_var(stm->binders[0])))
        return stm->exp;
    }
  return NULL;
}

static bool is_op_by(const Exp *e, PrimOp op, Atom a, int64_t by) {
  return e && e->kind == EXP_OP && e->u.op.op == op && atom_equal(e->u.op.args[0], a) &&
         atom_is_i64(e->u.op.args[1], by);
}

// i - 1
static bool is_before(const Exp *e, Atom i) {
  return is_op_by(e, OP_SUB, i, 1) || is_op_by(e, OP_ADD, i, -1);
}

static bool is_iota(const Graph *g, Atom array) {
  const Node *made = graph_producer(g, array);
  const Exp *e = made ? made->stm.exp : NULL;
  return e && e->kind == EXP_IOTA && atom_is_i64(e->u.iota.start, 0) &&
         atom_is_i64(e->u.iota.step, 1);
}

// \i -> if i == 0 then z else ys[i - 1], and nothing else: ys, and z; NULL: it is something else.
static const Exp *element_before(const Lambda *fn, Atom *first) {
  const Body *body = fn->body;
  Atom i = atom_var(fn->params[0]);
  const Exp *choice = made_in(body, body, body->results[0]);
  if (!choice || choice->kind != EXP_IF || body->stm_count > 3) return NULL;
  const Body *then_body = choice->u.cond.then_body, *rest = choice->u.cond.else_body;
  const Exp *is_first = made_in(body, body, choice->u.cond.condition);
  bool begins = is_op_by(is_first, OP_EQ, i, 0) || is_op_by(is_first, OP_LT, i, 1) ||
                is_op_by(is_first, OP_LE, i, 0);
  if (!begins || then_body->stm_count || rest->stm_count > 2) return NULL;
  const Exp *read = made_in(rest, rest, rest->results[0]);
  bool element = read && read->kind == EXP_INDEX && read->u.index.dim_count == 1 &&
                 !read->u.index.dims[0].is_slice &&
                 is_before(made_in(body, rest, read->u.index.dims[0].start), i);
  *first = then_body->results[0];
  return element ? read : NULL;
}

static const Node *placed_scan(const Graph *g, const Node *node) {
  const Soac *map = &node->stm.exp->u.soac;
  Atom first;
  bool places = map->array_count == 1 && node->stm.binder_count == 1 &&
                !node->stm.attrs && is_iota(g, map->arrays[0]);
  const Exp *read = places ? element_before(&map->fn, &first) : NULL;
  const Node *scan = read ? plain_scan(g, read->u.index.array, node, first) : NULL;
  if (!scan) return NULL;
  const Soac *soac = &scan->stm.exp->u.soac;
  bool alone = soac->array_count == 1 && lambda_is_identity(&soac->fn);
  return alone && atom_equal(soac->width, map->width) ? scan : NULL;
}

// ---- scans

// The scan that stands behind its own neutral element, alone; NULL: there is none.
static const Node *shifted_scan(const Graph *g, const Node *node) {
  if (node->stm.exp->kind == EXP_CONCAT) return joined_scan(g, node);
  return node->stm.exp->kind == EXP_MAP ? placed_scan(g, node) : NULL;
}

static const Exp *shifted_map(Compiler *c, const Exp *map, const Node *scan) {
  Subst *s = subst_new();
  subst_put(s, scan->stm.binders[0], scan->stm.exp->u.soac.arrays[0]);
  return core_subst_exp(c, s, map);
}

static const Exp *shifted_concat(Builder *b, const Exp *concat, const Node *scan) {
  const Soac *soac = &scan->stm.exp->u.soac;
  Atom parts[2] = { concat->u.concat.arrays[0], soac->arrays[0] };
  if (soac->array_count != 1 || !lambda_is_identity(&soac->fn))
    parts[1] = core_let(b, "mapped",
                        exp_map(soac->width, soac->fn, soac->arrays, soac->array_count));
  return exp_concat(concat->u.concat.count, parts, 2);
}

static const Exp *shifted(Compiler *c, Builder *b, const Exp *e, const Node *scan) {
  Soac soac = scan->stm.exp->u.soac;
  bool joined = e->kind == EXP_CONCAT;
  Atom *array = new_array(Atom, 1);
  *array = core_let(b, "shifted",
                    joined ? shifted_concat(b, e, scan) : shifted_map(c, e, scan));
  const Var *x = var_like(c, soac.ops[0].op.params[0]);
  Atom same = atom_var(x);
  Builder inner = builder_new(c, b->loc);
  soac.fn = lambda_new(&x, 1, core_body(&inner, &same, 1));
  soac.width = joined ? e->u.concat.count : soac.width;
  soac.arrays = array;
  soac.array_count = 1;
  return exp_soac(EXP_SCANOMAP, soac);
}

const Body *fuse_shifted(Compiler *c, const Body *body) {
  bool any = false;
  for (int i = 0; i < body->stm_count; i++)
    any = any || body->stms[i].exp->kind == EXP_SCANOMAP;
  if (!any) return body;
  Graph *g = graph_new(c, body);
  Map *gone = map_new(NULL);  // Var -> const Node *: scans that stand elsewhere now
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < g->count; i++) {
    const Node *scan = shifted_scan(g, g->order[i]);
    if (scan) map_put(gone, scan->stm.binders[0], scan);
  }
  for (int i = 0; i < g->count; i++) {
    Stm stm = g->order[i]->stm;
    const Node *scan = shifted_scan(g, g->order[i]);
    b.loc = stm.loc;
    if (stm.binder_count && map_has(gone, stm.binders[0])) continue;
    if (scan) stm.exp = shifted(c, &b, stm.exp, scan);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}
