// segred1 <i < n> <j < m> <k < p> op { .. xs[k, i] .. ys[k, j] .. in {v}}
//   =>  let parts = segmap1 <c < p / l> <i < n> <j < m> {
//         loop (a = neutral) for k' < l do { let k = c * l + k' .. in {op a v}} }
//       segred1 <i < n> <j < m> <c < p / l> op { parts[c, i, j] }
//
// if there are many points along k and few others: covariances, gradients of weights.  Likewise a
// segmap1 <i < n> <j < m> of such sums, one to a point, and what little is made of them.
//
// Needs, keeps: Flat, whose other promises hold; the order of what is combined.
// Why: code for GPUs.  A reduction reads each element for each pair that it is in, m and n times in
// all.  The map has blocks of pairs (kern/schedules/groups.c), which share what they read.
#include "base/map.h"
#include "core/passes.h"
#include "flat/spaces.h"

// Points that fill a device in blocks, the least of a chunk along k, which is a multiple of STEPS,
// the least number of chunks, and the least of the dimensions that share.
enum { POINTS = 1 << 20, LENGTH = 128, STEPS = 16, CHUNKS = 4, WIDTH = 8 };

typedef struct SumSplit {
  Compiler *c;
  const Stm *stm;
  const SegOp *seg;     // the reduction
  const SegOp *points;  // the map that it is in, and which statement there; or NULL
  int position;
  int outer;        // dimensions but for k
  unsigned shares;  // the two of them along which what is read is shared
  Atom length, chunks;
} SumSplit;

static const Var *index_var(const SumSplit *s, const char *name) {
  return var_new(s->c, name_of(s->c->names, name), type_scalar(PRIM_I64), s->stm->loc);
}

// ---- what is read for several points

typedef struct DimSearch {
  const SegOp *seg;
  Map *dims;  // Var -> unsigned *: the dimensions that it depends on
  unsigned found;
} DimSearch;

static void see_dims(CoreVisitor *v, Atom a) {
  DimSearch *s = v->state;
  const unsigned *known = a.kind == ATOM_VAR ? map_get(s->dims, a.u.var) : NULL;
  if (known) s->found |= *known;
}

static void see_dims_within(CoreVisitor *v, const Body *body) {
  core_visit_body(v, body);
}

static unsigned dims_of(DimSearch *s, const Stm *stm) {
  CoreVisitor v = { .atom = see_dims, .body = see_dims_within, .state = s };
  s->found = 0;
  core_visit_exp(&v, stm->exp);
  for (int i = 0; i < stm->binder_count; i++)
    map_put(s->dims, stm->binders[i], mem_copy(&s->found, sizeof s->found));
  return s->found;
}

typedef Vec(unsigned) DimSets;

// Does each load along k differ along one of the two dimensions at most, and along each one some?
static bool shares_both(const DimSets *loads, unsigned a, unsigned b) {
  unsigned seen = 0;
  vec_each (const unsigned *, load, loads) {
    if (*load & a && *load & b) return false;
    seen |= *load;
  }
  return seen & a && seen & b;
}

// Two dimensions with blocks of pairs; 0: there are none.
static unsigned shared_dims(const SegOp *seg) {
  DimSearch s = { .seg = seg, .dims = map_new(NULL) };
  unsigned along = 1u << (seg->dim_count - 1);
  DimSets loads = { 0 };
  for (int d = 0; d < seg->dim_count; d++) {
    unsigned bit = 1u << d;
    map_put(s.dims, seg->dims[d].index, mem_copy(&bit, sizeof bit));
  }
  for (int i = 0; i < seg->body->stm_count; i++) {
    unsigned dims = dims_of(&s, &seg->body->stms[i]);
    if (seg->body->stms[i].exp->kind == EXP_INDEX && dims & along) vec_push(&loads, dims);
  }
  for (unsigned b = along >> 1; b > 1; b >>= 1)
    for (unsigned a = b >> 1; a; a >>= 1)
      if (shares_both(&loads, a, b)) return a | b;
  return 0;
}

static bool is_less(Atom width, int64_t than) {
  return width.kind == ATOM_CONST && width.u.constant.u.i < than;
}

// Are there, for all that is known, enough points along k and the dimensions that share?
static bool may_be_many(const SumSplit *s) {
  for (int d = 0; d < s->outer; d++)
    if (s->shares & 1u << d && is_less(s->seg->dims[d].width, WIDTH)) return false;
  return !is_less(s->seg->dims[s->outer].width, LENGTH * CHUNKS);
}

static bool has_scalar_operators(const SegOp *seg) {
  int count = 0;
  for (int o = 0; o < seg->op_count; o++)
    for (int i = 0; i < seg->ops[o].count; i++, count++)
      if (atom_type(seg->ops[o].neutral[i]).rank) return false;
  return count == seg->body->result_count;
}

// ---- sums of points

// The body's only loop, a reduction to scalars; -1: there are others, or none.
static int lone_reduction(const Body *body) {
  int found = -1;
  for (int i = 0; i < body->stm_count; i++) {
    const Body one = { .stms = &body->stms[i], .stm_count = 1 };
    if (!flat_has_loops(&one)) continue;
    const Exp *e = body->stms[i].exp;
    bool sum = e->kind == EXP_REDOMAP && !flat_has_loops(e->u.soac.fn.body);
    if (found >= 0 || !sum) return -1;
    found = i;
  }
  return found;
}

static bool mentions_body(const Body *body, int count, const VarVec *free) {
  for (int i = 0; i < count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      vec_each (const Var *const *, v, free)
        if (*v == body->stms[i].binders[k]) return true;
  return false;
}

// Are the number of elements and the operators the same at all points?
static bool is_steady(const SegOp *points, const Stm *sum) {
  Soac alone = sum->exp->u.soac;
  alone.array_count = 0;
  alone.fn = (Lambda){ .body = new_node(Body, .stm_count = 0) };
  VarVec free = core_free_exp(exp_soac(EXP_REDOMAP, alone));
  for (int d = 0; d < points->dim_count; d++)
    vec_each (const Var *const *, v, &free)
      if (*v == points->dims[d].index) return false;
  return !mentions_body(points->body, points->body->stm_count, &free);
}

// The sum of each point as a reduction of all.
static const SegOp *reduction_of_points(const SumSplit *s) {
  const SegOp *points = s->points;
  const Stm *sum = &points->body->stms[s->position];
  const Soac *soac = &sum->exp->u.soac;
  int count = points->dim_count;
  SegDim *dims = new_array(SegDim, count + 1);
  for (int d = 0; d < count; d++)
    dims[d] = points->dims[d];
  dims[count] = (SegDim){ index_var(s, "k"), soac->width };
  Builder b = builder_new(s->c, s->stm->loc);
  for (int i = 0; i < s->position; i++)
    core_add_stm(&b, points->body->stms[i]);
  Atom at = atom_var(dims[count].index);
  Subst *subst = subst_new();
  for (int i = 0; i < soac->array_count; i++)
    subst_put(subst, soac->fn.params[i],
              core_let(&b, "element", exp_index(soac->arrays[i], &at, 1, false)));
  const Body *each = core_rename_body(s->c, subst, soac->fn.body);
  core_add_body(&b, each);
  SegOp red = { .kind = SEG_RED,
                .level = 1,
                .dims = dims,
                .dim_count = count + 1,
                .body = dead_body(s->c, core_body(&b, each->results, each->result_count)),
                .ops = soac->ops,
                .op_count = soac->op_count };
  return core_rename_exp(s->c, subst_new(), exp_seg(mem_copy(&red, sizeof red)))->u.seg;
}

static bool find_reduction(SumSplit *s) {
  if (s->seg->kind != SEG_MAP) return s->seg->kind == SEG_RED;
  s->points = s->seg;
  s->position = lone_reduction(s->points->body);
  if (s->points->dim_count < 2 || s->position < 0 || flat_may_fail(s->points->body) ||
      flat_has_inner_seg(s->points) ||
      !is_steady(s->points, &s->points->body->stms[s->position]))
    return false;
  for (int i = 0; i < s->points->body->result_count; i++)
    if (atom_type(s->points->body->results[i]).rank) return false;
  s->seg = reduction_of_points(s);
  return true;
}

static bool suits_split(SumSplit *s) {
  if (!find_reduction(s)) return false;
  const SegOp *seg = s->seg;
  if (seg->partials || !has_scalar_operators(seg)) return false;
  s->outer = seg->dim_count - 1;
  if (s->outer < 2 || flat_may_fail(seg->body) || flat_has_loops(seg->body)) return false;
  s->shares = shared_dims(seg);
  return s->shares && may_be_many(s);
}

// ---- the host's part

static Atom ceil_div(Builder *b, Atom x, Atom by) {
  Atom more = size_sub(b, size_add(b, x, by), atom_i64(1));
  return core_let(b, "quotient", exp_op2(OP_QUOT, more, by));
}

static Atom at_least(Builder *b, Atom least, Atom x) {
  return core_let(b, "enough", exp_op2(OP_LE, least, x));
}

// Are there many points along k, few others, and these in both dimensions?  Finds the lengths.
static Atom find_chunks(SumSplit *s, Builder *b) {
  const SegDim *dims = s->seg->dims;
  Atom width = dims[s->outer].width, others = atom_i64(1);
  for (int d = 0; d < s->outer; d++)
    others = size_mul(b, others, dims[d].width);
  Atom wanted =
      core_let(b, "wanted", exp_op2(OP_QUOT, atom_i64(POINTS), flat_divisor(b, others)));
  Atom each = ceil_div(b, width, size_mul(b, flat_divisor(b, wanted), atom_i64(STEPS)));
  Atom length = core_let(
      b, "length", exp_op2(OP_MAX, size_mul(b, each, atom_i64(STEPS)), atom_i64(LENGTH)));
  s->length = length;
  s->chunks = ceil_div(b, width, length);
  Atom all = at_least(b, size_mul(b, length, atom_i64(CHUNKS)), width),
       few = at_least(b, others, atom_i64(POINTS / 8));
  all = core_let(b, "all", exp_op2(OP_LAND, all, few));
  for (int d = 0; d < s->outer; d++)
    if (s->shares & 1u << d)
      all = core_let(b, "all",
                     exp_op2(OP_LAND, all, at_least(b, atom_i64(WIDTH), dims[d].width)));
  return all;
}

// ---- the map

typedef struct PartLoop {
  const Var **params;
  Atom *inits;
  int count;
} PartLoop;

// The operators, of what there is and the body's results.
static void add_operators(const SumSplit *s, Builder *b, const PartLoop *l,
                          const Atom *values, Atom *next) {
  for (int o = 0, first = 0; o < s->seg->op_count; first += s->seg->ops[o++].count) {
    const RedOp *op = &s->seg->ops[o];
    Subst *subst = subst_new();
    for (int i = 0; i < op->count; i++) {
      subst_put(subst, op->op.params[i], atom_var(l->params[first + i]));
      subst_put(subst, op->op.params[op->count + i], values[first + i]);
    }
    const Body *body = core_rename_body(s->c, subst, op->op.body);
    core_add_body(b, body);
    for (int i = 0; i < op->count; i++)
      next[first + i] = body->results[i];
  }
}

static PartLoop loop_of_sums(const SumSplit *s) {
  PartLoop l = { .count = s->seg->body->result_count };
  l.params = new_array(const Var *, l.count);
  l.inits = new_array(Atom, l.count);
  for (int o = 0, first = 0; o < s->seg->op_count; first += s->seg->ops[o++].count)
    for (int i = 0; i < s->seg->ops[o].count; i++) {
      l.inits[first + i] = s->seg->ops[o].neutral[i];
      l.params[first + i] = var_new(s->c, name_of(s->c->names, "sum"),
                                    atom_type(l.inits[first + i]), s->stm->loc);
    }
  return l;
}

static const Body *body_of_chunk(const SumSplit *s, const Var *chunk) {
  const SegDim *along = &s->seg->dims[s->outer];
  PartLoop l = loop_of_sums(s);
  Builder b = builder_new(s->c, s->stm->loc), round = b;
  Atom first = size_mul(&b, atom_var(chunk), s->length);
  Atom left = size_sub(&b, along->width, first);
  Atom bound = core_let(&b, "rounds", exp_op2(OP_MIN, s->length, left));
  const Var *index = index_var(s, "k");
  Subst *subst = subst_new();
  subst_put(subst, along->index, size_add(&round, first, atom_var(index)));
  const Body *point = core_rename_body(s->c, subst, s->seg->body);
  Atom *next = new_array(Atom, l.count), *out = new_array(Atom, l.count);
  core_add_body(&round, point);
  add_operators(s, &round, &l, point->results, next);
  const Exp *loop = new_node(Exp, .kind = EXP_LOOP,
                             .u.loop = { .params = l.params,
                                         .inits = l.inits,
                                         .param_count = l.count,
                                         .form = CORE_FOR,
                                         .index = index,
                                         .bound = bound,
                                         .body = core_body(&round, next, l.count) });
  core_let_n(&b, "part", loop, out);
  return core_body(&b, out, l.count);
}

static const Exp *parts_of(const SumSplit *s) {
  SegDim *dims = new_array(SegDim, s->outer + 1);
  dims[0] = (SegDim){ index_var(s, "chunk"), s->chunks };
  for (int d = 0; d < s->outer; d++)
    dims[d + 1] = s->seg->dims[d];
  SegOp map = { .kind = SEG_MAP,
                .level = 1,
                .dims = dims,
                .dim_count = s->outer + 1,
                .body = body_of_chunk(s, dims[0].index) };
  return core_rename_exp(s->c, subst_new(), exp_seg(mem_copy(&map, sizeof map)));
}

// ---- their sum

static const Exp *sum_of_parts(const SumSplit *s, const Atom *parts) {
  int count = s->seg->body->result_count;
  SegOp *sum = mem_copy(s->seg, sizeof *s->seg);
  SegDim *dims = mem_copy(s->seg->dims, (s->outer + 1) * sizeof *dims);
  Atom *at = new_array(Atom, s->outer + 1), *results = new_array(Atom, count);
  Builder b = builder_new(s->c, s->stm->loc);
  dims[s->outer].width = s->chunks;
  at[0] = atom_var(dims[s->outer].index);
  for (int d = 0; d < s->outer; d++)
    at[d + 1] = atom_var(dims[d].index);
  for (int i = 0; i < count; i++)
    results[i] = core_let(&b, "part", exp_index(parts[i], at, s->outer + 1, false));
  RedOp *ops = mem_copy(s->seg->ops, s->seg->op_count * sizeof *ops);
  for (int o = 0; o < s->seg->op_count; o++)
    ops[o].commutative = ops[o].commutative || lambda_commutes(&ops[o].op);
  sum->ops = ops;
  sum->dims = dims;
  sum->body = core_body(&b, results, count);
  return core_rename_exp(s->c, subst_new(), exp_seg(sum));
}

// What points make of their sums.
static const Exp *points_with_sums(const SumSplit *s, const Atom *sums) {
  const Body *body = s->points->body;
  const Stm *sum = &body->stms[s->position];
  SegOp *map = mem_copy(s->points, sizeof *s->points);
  Builder b = builder_new(s->c, s->stm->loc);
  Atom *at = new_array(Atom, s->outer);
  for (int d = 0; d < s->outer; d++)
    at[d] = atom_var(s->points->dims[d].index);
  for (int i = 0; i < body->stm_count; i++) {
    if (i != s->position) {
      core_add_stm(&b, body->stms[i]);
      continue;
    }
    for (int k = 0; k < sum->binder_count; k++)
      core_let_vars(&b, &sum->binders[k], 1, exp_index(sums[k], at, s->outer, false));
  }
  map->body = dead_body(s->c, core_body(&b, body->results, body->result_count));
  return core_rename_exp(s->c, subst_new(), exp_seg(map));
}

static bool are_sums(const SumSplit *s) {
  const Body *body = s->points->body;
  const Stm *sum = &body->stms[s->position];
  if (sum->binder_count != body->result_count) return false;
  for (int i = 0; i < sum->binder_count; i++)
    if (!atom_equal(body->results[i], atom_var(sum->binders[i]))) return false;
  return true;
}

static const Body *in_chunks(const SumSplit *s) {
  int count = s->seg->body->result_count, made = s->stm->binder_count;
  Builder b = builder_new(s->c, s->stm->loc);
  Atom *parts = new_array(Atom, count), *sums = new_array(Atom, count),
       *out = new_array(Atom, made);
  core_let_n(&b, "parts", parts_of(s), parts);
  core_let_n(&b, "sum", sum_of_parts(s, parts), sums);
  if (!s->points || are_sums(s)) return core_body(&b, sums, count);
  core_let_n(&b, "made", points_with_sums(s, sums), out);
  return core_body(&b, out, made);
}

static const Body *as_it_is(const SumSplit *s) {
  int count = s->stm->binder_count;
  Builder b = builder_new(s->c, s->stm->loc);
  Atom *out = new_array(Atom, count);
  core_let_n(&b, "made", s->stm->exp, out);
  return core_body(&b, out, count);
}

static void add_split_sum(void *state, Builder *b, const Body *body, int position) {
  const Stm *stm = &body->stms[position];
  SumSplit s = { .c = state, .stm = stm, .seg = stm->exp->u.seg };
  if (!suits_split(&s)) {
    core_add_stm(b, *stm);
    return;
  }
  Atom many = find_chunks(&s, b);
  core_let_vars(b, stm->binders, stm->binder_count,
                exp_if(many, in_chunks(&s), as_it_is(&s)));
}

const Core *flat_split_sums(Compiler *c, const Core *flat) {
  return flat_rewrite_segs(c, flat, add_split_sum, c);
}
