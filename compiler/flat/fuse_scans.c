// let ss = segscan <i < n> op {e}   let ys = segmap <i < n> {.. ss[i] ..}
//   =>  let ys = segscan <i < n> op {e} after \i s -> {.. s ..}
// let t = ss[n-1] between the two  =>  let t = segred <i < n> op {e}, unless floats are scanned
//
// Needs, keeps: Flat, whose other promises hold.
// Why: a scan reads its input twice, to know what comes before each chunk; what is made of the
// scanned values on the second time is neither stored nor read.  Offsets, as filters compute them,
// are of no other use.
#include "core/linear.h"
#include "core/message.h"
#include "core/passes.h"
#include "flat/flat.h"
#include <string.h>

enum {
  MOST_WORK = 48,  // of what is done to a point within the loop of a scan, in operations
  MOST_OPS = 4,    // of one scan
};

typedef struct FuseScans {
  Compiler *c;
  Map *linear;          // Var -> LinearSum, of the host's scalars
  Map *made;            // Var -> const Exp *, what they are made by
  bool computes_again;  // what is scanned
} FuseScans;

// A scan and what reads its values.
typedef struct ScanUse {
  FuseScans *fuse;
  const Body *body;
  int scan, consumer;  // positions in the body
  const SegOp *seg;    // the scan
  Map *results;        // its binders -> position + 1
  int sums;            // results that are scanned, the first ones
  bool wants_totals;   // the last elements are read before the consumer
  int partials;        // SegOp.partials of totals and scan
} ScanUse;

// ---- reads

static int result_of(const ScanUse *u, Atom a) {
  return a.kind == ATOM_VAR ? (int)(intptr_t)map_get(u->results, a.u.var) - 1 : -1;
}

typedef struct ScanMentions {
  const ScanUse *use;
  bool (*fits)(const ScanUse *use, const SegOp *consumer, const Stm *stm);
  const SegOp *consumer;
  int all, fitting;
} ScanMentions;

static void count_atom(CoreVisitor *v, Atom a) {
  ScanMentions *m = v->state;
  m->all += result_of(m->use, a) >= 0;
}

static void count_stm(CoreVisitor *v, const Stm *stm) {
  ScanMentions *m = v->state;
  m->fitting += m->fits && stm->exp->kind == EXP_INDEX &&
                result_of(m->use, stm->exp->u.index.array) >= 0 &&
                m->fits(m->use, m->consumer, stm);
  core_visit_exp(v, stm->exp);
}

static void count_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    count_stm(v, &body->stms[i]);
  for (int i = 0; i < body->result_count; i++)
    count_atom(v, body->results[i]);
}

static ScanMentions count_mentions(ScanMentions m, const Stm *stm) {
  CoreVisitor v = { .atom = count_atom, .body = count_body, .state = &m };
  count_stm(&v, stm);
  return m;
}

static bool reads_at(const Exp *e, int i, const Var *index) {
  const DimIndex *dim = &e->u.index.dims[i];
  return !dim->is_slice && atom_equal(dim->start, atom_var(index));
}

// ss[i] of the consumer's own point; scanned values only in what it does behind its own scan, if it
// has one
static bool reads_point(const ScanUse *u, const SegOp *consumer, const Stm *stm) {
  const Exp *e = stm->exp;
  const Lambda *after = consumer->after;
  bool in_body = !after || result_of(u, e->u.index.array) >= u->sums, in_after = after;
  if (e->u.index.dim_count != u->seg->dim_count) return false;
  for (int i = 0; i < e->u.index.dim_count; i++) {
    in_body = in_body && reads_at(e, i, consumer->dims[i].index);
    in_after = in_after && reads_at(e, i, after->params[i]);
  }
  return in_body || in_after;
}

static const char *sum_text(const FuseScans *fuse, const Exp *e) {
  LinearSum sum;
  return linear_of_exp(fuse->linear, e, &sum) ? linear_text(&sum) : NULL;
}

// Sums of floats in another order, as reductions compute them, are others than the scan's.
static bool sums_are_exact(const ScanUse *u) {
  for (int i = 0; i < u->sums; i++)
    if (prim_is_float(atom_type(u->seg->body->results[i]).elem)) return false;
  return true;
}

// ss[n - 1]
static bool reads_last(const ScanUse *u, const SegOp *consumer, const Stm *stm) {
  const Exp *e = stm->exp;
  (void)consumer;
  if (u->seg->dim_count != 1 || e->u.index.dims[0].is_slice ||
      result_of(u, e->u.index.array) >= u->sums || !sums_are_exact(u))
    return false;
  const char *at =
      sum_text(u->fuse, exp_op2(OP_ADD, e->u.index.dims[0].start, atom_i64(0)));
  const char *last =
      sum_text(u->fuse, exp_op2(OP_SUB, u->seg->dims[0].width, atom_i64(1)));
  return at && last && strcmp(at, last) == 0;
}

static void note_sums(CoreVisitor *v, const Body *body) {
  FuseScans *fuse = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    LinearSum sum;
    if (stm->binder_count == 1 && linear_of_exp(fuse->linear, stm->exp, &sum))
      map_put(fuse->linear, stm->binders[0], mem_copy(&sum, sizeof sum));
    if (stm->exp->kind == EXP_OP)
      map_put(fuse->made, stm->binders[0], mem_copy(stm->exp, sizeof *stm->exp));
    if (stm->exp->kind == EXP_IF) core_visit_exp(v, stm->exp);
  }
}

// ---- what may be joined

static bool joins_scalars(const SegOp *seg) {
  for (int o = 0; o < seg->op_count; o++)
    for (int i = 0; i < seg->ops[o].count; i++)
      if (seg->ops[o].op.params[i]->type.rank > 0) return false;
  for (int i = 0; i < seg->body->result_count; i++)
    if (atom_type(seg->body->results[i]).rank > 0) return false;
  return true;
}

// Takes what the body does from `left` operations; false if it loops, or makes arrays but of a few
// given values.
static bool takes_little(const Body *body, int *left) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (!exp_is_scalar(e) && e->kind != EXP_ATOM && e->kind != EXP_IF &&
        e->kind != EXP_INDEX && e->kind != EXP_REARRANGE && e->kind != EXP_ASSERT &&
        e->kind != EXP_ARRAY)
      return false;
    *left -= e->kind == EXP_ARRAY ? e->u.array.count : 1;
    BodyVec bodies = exp_bodies(e);
    vec_each (const Body **, inner, &bodies)
      if (!takes_little(*inner, left)) return false;
  }
  return *left >= 0;
}

bool flat_takes_little(const Body *body, int most) { return takes_little(body, &most); }

static const SegOp *as_scan(const FuseScans *fuse, const Stm *stm) {
  if (stm->exp->kind != EXP_SEG) return NULL;
  const SegOp *seg = stm->exp->u.seg;
  bool plain = seg->kind == SEG_SCAN && seg->level == 1 && !seg->after;
  if (!plain || !joins_scalars(seg)) return NULL;
  return !fuse->computes_again || flat_takes_little(seg->body, MOST_WORK) ? seg : NULL;
}

bool flat_same_space(const SegOp *a, const SegOp *b) {
  if (a->dim_count != b->dim_count) return false;
  for (int i = 0; i < a->dim_count; i++)
    if (!atom_equal(a->dims[i].width, b->dims[i].width)) return false;
  return true;
}

// A map, a scatter, or another scan with what was fused with it, over the same space, that reads
// the scanned values at its own points alone.
static bool is_consumer(const ScanUse *u, const Stm *stm) {
  if (stm->exp->kind != EXP_SEG) return false;
  const SegOp *seg = stm->exp->u.seg;
  bool fits = seg->kind == SEG_MAP || seg->kind == SEG_SCATTER ||
              (seg->after && seg->op_count + u->seg->op_count <= MOST_OPS);
  if (!fits || seg->level != 1 || !flat_same_space(seg, u->seg) ||
      !flat_takes_little(seg->after ? seg->after->body : seg->body, MOST_WORK))
    return false;
  ScanMentions m = count_mentions(
      (ScanMentions){ .use = u, .fits = reads_point, .consumer = seg }, stm);
  return m.all > 0 && m.all == m.fitting;
}

static bool find_consumer(ScanUse *u) {
  for (int i = u->scan + 1; i < u->body->stm_count; i++) {
    const Stm *stm = &u->body->stms[i];
    if (is_consumer(u, stm)) {
      u->consumer = i;
      return true;
    }
    ScanMentions m = count_mentions((ScanMentions){ .use = u, .fits = reads_last }, stm);
    if (m.all > m.fitting) return false;
    u->wants_totals |= m.all > 0;
  }
  return false;
}

// Is a result of the scan read behind the consumer?
static bool is_read_later(const ScanUse *u, const Var *var) {
  ScanUse one = *u;
  one.results = map_new(NULL);
  map_put(one.results, var, (void *)(intptr_t)1);
  for (int i = 0; i < u->body->result_count; i++)
    if (result_of(&one, u->body->results[i]) >= 0) return true;
  for (int i = u->consumer + 1; i < u->body->stm_count; i++)
    if (count_mentions((ScanMentions){ .use = &one }, &u->body->stms[i]).all) return true;
  return false;
}

// ---- totals

typedef struct ReadSwap {
  const ScanUse *use;
  const Atom *values;  // in place of elements, by position among the results
  bool totals;         // of the last elements
} ReadSwap;

// The last element, if there is one.
static const Exp *total_if_any(const ScanUse *u, Builder *b, const Exp *read,
                               Atom total) {
  Atom any = core_let(b, "any", exp_op2(OP_LT, atom_i64(0), u->seg->dims[0].width));
  Message m = message_new();
  message_text(&m, "Index [");
  message_value(&m, read->u.index.dims[0].start);
  message_text(&m, "] out of bounds for array of shape ");
  message_shape(&m, atom_type(read->u.index.array));
  message_text(&m, ".");
  message_end(&m);
  return new_node(Exp, .kind = EXP_ASSERT,
                  .u.assert = { any, m.parts.at, m.values.at, m.values.count,
                                mem_copy(&total, sizeof total), 1 });
}

// Does the condition hold for scans of elements, and does it not for empty ones?  Or (*holds is
// false) the other way round.
static bool tells_empty(const ScanUse *u, Atom condition, bool *holds) {
  const Exp *e =
      condition.kind == ATOM_VAR ? map_get(u->fuse->made, condition.u.var) : NULL;
  if (!e || op_arity(e->u.op.op) != 2) return false;
  PrimOp op = e->u.op.op;
  Atom a = e->u.op.args[0], b = e->u.op.args[1], width = u->seg->dims[0].width;
  bool zero_first = atom_is_i64(a, 0) && atom_equal(b, width);
  bool zero_last = atom_is_i64(b, 0) && atom_equal(a, width);
  *holds = op == OP_NE || op == OP_LT;
  return ((op == OP_EQ || op == OP_NE) && (zero_first || zero_last)) ||
         (op == OP_LT && zero_first) || (op == OP_LE && zero_last);
}

static Atom neutral_of(const SegOp *seg, int number) {
  int o = 0;
  for (; number >= seg->ops[o].count; o++)
    number -= seg->ops[o].count;
  return seg->ops[o].neutral[number];
}

// if 0 < n then ss[n - 1] else neutral: the total, of no elements as well.  The number of the
// result, or -1.
static int total_of_any(const ScanUse *u, const Exp *e) {
  bool holds;
  if (e->kind != EXP_IF || u->seg->dim_count != 1 ||
      !tells_empty(u, e->u.cond.condition, &holds))
    return -1;
  const Body *some = holds ? e->u.cond.then_body : e->u.cond.else_body;
  const Body *none = holds ? e->u.cond.else_body : e->u.cond.then_body;
  if (some->result_count != 1 || none->stm_count || !some->stm_count) return -1;
  const Stm *last = &some->stms[some->stm_count - 1];
  if (last->exp->kind != EXP_INDEX ||
      !atom_equal(some->results[0], atom_var(last->binders[0])))
    return -1;
  int number = result_of(u, last->exp->u.index.array);
  bool total = number >= 0 && number < u->sums && reads_last(u, NULL, last) &&
               atom_equal(neutral_of(u->seg, number), none->results[0]);
  return total ? number : -1;
}

static void add_without_read(CoreMapper *m, Builder *b, const Stm *stm) {
  const ReadSwap *r = m->state;
  Stm out = *stm;
  int at = stm->exp->kind == EXP_INDEX ? result_of(r->use, stm->exp->u.index.array) : -1;
  int total = r->totals ? total_of_any(r->use, stm->exp) : -1;
  if (total >= 0)
    out.exp = exp_atom(r->values[total]);
  else if (at < 0)
    out.exp = core_map_exp(m, stm->exp);
  else if (r->totals && stm->exp->u.index.checked)
    out.exp = total_if_any(r->use, b, stm->exp, r->values[at]);
  else
    out.exp = exp_atom(r->values[at]);
  core_add_stm(b, out);
}

static const Body *without_reads(CoreMapper *m, const Body *body) {
  const ReadSwap *r = m->state;
  Builder b = builder_new(r->use->fuse->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    add_without_read(m, &b, &body->stms[i]);
  return core_body(&b, body->results, body->result_count);
}

static CoreMapper replacing(ReadSwap *r) {
  return (CoreMapper){ .body = without_reads, .state = r };
}

static const Atom *atoms_of(const Var *const *vars, int count) {
  Atom *atoms = new_array(Atom, count + 1);
  for (int i = 0; i < count; i++)
    atoms[i] = atom_var(vars[i]);
  return atoms;
}

// let t = segred <i < n> op {e}
static const Atom *add_totals(const ScanUse *u, Builder *b) {
  Compiler *c = u->fuse->c;
  SegOp red = *u->seg;
  red.kind = SEG_RED;
  red.partials = u->partials;
  Body *body = mem_copy(red.body, sizeof *red.body);
  body->result_count = u->sums;
  red.body = body;
  const Exp *exp = core_rename_exp(c, subst_new(), exp_seg(mem_copy(&red, sizeof red)));
  const Var **totals = new_array(const Var *, u->sums + 1);
  for (int i = 0; i < u->sums; i++)
    totals[i] = var_new(c, name_of(c->names, "total"),
                        type_scalar(atom_type(u->seg->body->results[i]).elem),
                        u->body->stms[u->scan].loc);
  core_add_stm(b, (Stm){ .binders = totals,
                         .binder_count = u->sums,
                         .exp = exp,
                         .loc = u->body->stms[u->scan].loc,
                         .attrs = u->body->stms[u->scan].attrs });
  return atoms_of(totals, u->sums);
}

// ---- the fused scan

// Both scans, if the consumer is one, and what is made of each point.
typedef struct ScanJoin {
  const Body *body;   // of the scan, then of the consumer's scan
  VarVec params;      // of `after`: indices, then values
  const Body *after;  // in terms of the scan's indices
  const Var *const
      *sums;   // the scan's values as `after` sees them, then its other results
  bool fails;  // an array would go from one to the other
} ScanJoin;

static bool body_binds(const Body *body, const Var *var) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return true;
  return false;
}

static const Body *at_indices(const ScanUse *u, const Var *const *indices,
                              const Body *body) {
  Subst *subst = subst_new();
  for (int i = 0; i < u->seg->dim_count; i++)
    subst_put(subst, indices[i], atom_var(u->seg->dims[i].index));
  return core_subst_body(u->fuse->c, subst, body);
}

static const Body *at_dims(const ScanUse *u, const SegOp *consumer, const Body *body) {
  const Var **indices = new_array(const Var *, consumer->dim_count);
  for (int i = 0; i < consumer->dim_count; i++)
    indices[i] = consumer->dims[i].index;
  return at_indices(u, indices, body);
}

// The results: scanned ones of both, then the others of both; a param of `after` for each.
static void join_results(const ScanUse *u, const SegOp *consumer, ScanJoin *j,
                         AtomVec *results) {
  const Body *second = consumer->after ? at_dims(u, consumer, consumer->body) : NULL;
  const Var *const *theirs =
      consumer->after ? consumer->after->params + consumer->dim_count : NULL;
  int sums = 0, own = u->seg->body->result_count;
  for (int o = 0; second && o < consumer->op_count; o++)
    sums += consumer->ops[o].count;
  for (int part = 0; part < 2; part++) {
    for (int i = part ? u->sums : 0; i < (part ? own : u->sums); i++) {
      vec_push(results, u->seg->body->results[i]);
      vec_push(&j->params, j->sums[i]);
    }
    for (int i = part ? sums : 0; second && i < (part ? second->result_count : sums);
         i++) {
      vec_push(results, second->results[i]);
      vec_push(&j->params, theirs[i]);
    }
  }
}

// All statements in order, the results of the scans, then those of what is made of each point;
// what is computed twice is computed once.
static const Body *all_statements(const ScanUse *u, const SegOp *consumer, ScanJoin *j) {
  Compiler *c = u->fuse->c;
  ReadSwap r = { u, atoms_of(j->sums, u->seg->body->result_count), false };
  ReadSwap in_body = { u, u->seg->body->results, false };
  CoreMapper m = replacing(&r), body_mapper = replacing(&in_body);
  const Body *after = consumer->after
                          ? at_indices(u, consumer->after->params, consumer->after->body)
                          : at_dims(u, consumer, consumer->body);
  after = without_reads(&m, after);
  Builder b = builder_new(c, (Loc){ 0 });
  core_add_body(&b, u->seg->body);
  if (consumer->after)
    core_add_body(&b, without_reads(&body_mapper, at_dims(u, consumer, consumer->body)));
  core_add_body(&b, after);
  AtomVec results = { 0 };
  join_results(u, consumer, j, &results);
  for (int i = 0; i < after->result_count; i++)
    vec_push(&results, after->results[i]);
  return cse_body(c, core_body(&b, results.at, results.count));
}

// What `after` takes from the scans' bodies becomes one more of their results.
static void take_results(const ScanUse *u, ScanJoin *j, AtomVec *results) {
  Compiler *c = u->fuse->c;
  Subst *subst = subst_new();
  VarVec params = { 0 };
  for (int i = 0; i < u->seg->dim_count; i++) {
    vec_push(&params, var_like(c, u->seg->dims[i].index));
    subst_put(subst, u->seg->dims[i].index, atom_var(params.at[i]));
  }
  vec_each (const Var **, v, &j->params)
    vec_push(&params, *v);
  VarVec free = core_free_body(j->after);
  vec_each (const Var **, v, &free) {
    if (!body_binds(j->body, *v)) continue;
    const Var *param = var_like(c, *v);
    j->fails |= param->type.rank > 0;
    vec_push(results, atom_var(*v));
    vec_push(&params, param);
    subst_put(subst, *v, atom_var(param));
  }
  j->after = core_subst_body(c, subst, j->after);
  j->params = params;
}

static void join_bodies(const ScanUse *u, const SegOp *consumer, ScanJoin *j) {
  Compiler *c = u->fuse->c;
  const Body *all = all_statements(u, consumer, j);
  Builder scan = builder_new(c, (Loc){ 0 }), after = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < all->stm_count; i++) {
    const Var *binder = all->stms[i].binders[0];
    bool of_scan = body_binds(u->seg->body, binder) ||
                   (consumer->after && body_binds(consumer->body, binder));
    core_add_stm(of_scan ? &scan : &after, all->stms[i]);
  }
  int scanned = j->params.count;
  j->after = core_body(&after, all->results + scanned, all->result_count - scanned);
  AtomVec results = { 0 };
  for (int i = 0; i < scanned; i++)
    vec_push(&results, all->results[i]);
  j->body = core_body(&scan, results.at, results.count);
  take_results(u, j, &results);
  j->body = core_body(&scan, results.at, results.count);
}

// What the consumer returns, then those results of the scan that others read, too.
static Lambda after_lambda(const ScanUse *u, const ScanJoin *j, VarVec *binders) {
  AtomVec results = { 0 };
  const Stm *scan = &u->body->stms[u->scan];
  for (int i = 0; i < j->after->result_count; i++)
    vec_push(&results, j->after->results[i]);
  for (int i = 0; i < scan->binder_count; i++) {
    if (!is_read_later(u, scan->binders[i])) continue;
    vec_push(binders, scan->binders[i]);
    vec_push(&results, atom_var(j->sums[i]));
  }
  Body *body = mem_copy(j->after, sizeof *j->after);
  body->results = results.at;
  body->result_count = results.count;
  return lambda_new(j->params.at, j->params.count, body);
}

static const RedOp *both_ops(const SegOp *a, const SegOp *b) {
  RedOp *ops = new_array(RedOp, a->op_count + b->op_count);
  for (int i = 0; i < a->op_count + b->op_count; i++)
    ops[i] = i < a->op_count ? a->ops[i] : b->ops[i - a->op_count];
  return ops;
}

static const Var *const *values_of(const ScanUse *u) {
  const Stm *scan = &u->body->stms[u->scan];
  const Var **values = new_array(const Var *, scan->binder_count + 1);
  for (int i = 0; i < scan->binder_count; i++)
    values[i] = var_new(u->fuse->c, scan->binders[i]->name,
                        type_scalar(scan->binders[i]->type.elem), scan->loc);
  return values;
}

static bool fused_stm(const ScanUse *u, Stm *out) {
  const Stm *stm = &u->body->stms[u->consumer];
  const SegOp *consumer = stm->exp->u.seg;
  ScanJoin j = { .sums = values_of(u) };
  join_bodies(u, consumer, &j);
  if (j.fails) return false;
  VarVec binders = { 0 };
  for (int i = 0; i < stm->binder_count; i++)
    vec_push(&binders, stm->binders[i]);
  Lambda after = after_lambda(u, &j, &binders);
  SegOp seg = *u->seg;
  seg.ops = both_ops(u->seg, consumer);
  seg.op_count += consumer->op_count;
  seg.body = j.body;
  seg.after = mem_copy(&after, sizeof after);
  seg.partials = consumer->after ? 0 : u->partials;
  seg.dests = consumer->dests;
  seg.dest_count = consumer->dest_count;
  *out = *stm;
  out->binders = binders.at;
  out->binder_count = binders.count;
  out->exp = exp_seg(mem_copy(&seg, sizeof seg));
  return true;
}

// ---- bodies

static const Body *fuse_at(void *state, const Body *body, int position) {
  FuseScans *fuse = state;
  const Stm *stm = &body->stms[position];
  ScanUse u = { .fuse = fuse, .body = body, .scan = position, .seg = as_scan(fuse, stm) };
  if (!u.seg) return NULL;
  u.results = map_new(NULL);
  for (int i = 0; i < stm->binder_count; i++)
    map_put(u.results, stm->binders[i], (void *)(intptr_t)(i + 1));
  for (int o = 0; o < u.seg->op_count; o++)
    u.sums += u.seg->ops[o].count;
  Stm fused;
  if (!find_consumer(&u)) return NULL;
  if (u.wants_totals) u.partials = fuse->c->next_id++;
  if (!fused_stm(&u, &fused)) return NULL;
  Builder b = builder_new(fuse->c, (Loc){ 0 });
  for (int i = 0; i < position; i++)
    core_add_stm(&b, body->stms[i]);
  ReadSwap totals = { &u, u.wants_totals ? add_totals(&u, &b) : NULL, true };
  CoreMapper m = replacing(&totals);
  for (int i = position + 1; i < body->stm_count; i++) {
    if (i == u.consumer)
      core_add_stm(&b, fused);
    else if (i < u.consumer)
      add_without_read(&m, &b, &body->stms[i]);
    else
      core_add_stm(&b, body->stms[i]);
  }
  return core_body(&b, body->results, body->result_count);
}

const Body *flat_rewrite_host(CoreMapper *m, Compiler *c, const Body *body,
                              FlatRewriteAt *rewrite) {
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    ExpKind kind = stm.exp->kind;
    if (kind == EXP_IF || kind == EXP_LOOP || kind == EXP_GUARD)
      stm.exp = core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  const Body *out = core_body(&b, body->results, body->result_count);
  for (int i = out->stm_count - 1; i >= 0; i--) {
    const Body *rewritten = rewrite(m->state, out, i);
    if (rewritten) out = rewritten;
  }
  return out;
}

static const Body *fuse_in_body(CoreMapper *m, const Body *body) {
  FuseScans *fuse = m->state;
  CoreVisitor v = { .body = note_sums, .state = fuse };
  note_sums(&v, body);
  return flat_rewrite_host(m, fuse->c, body, fuse_at);
}

// Functions have no seg-ops, and both profiles share them.
const Core *flat_fuse_scans(Compiler *c, const Core *flat, bool computes_again) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++) {
    FuseScans fuse = { c, map_new(NULL), map_new(NULL), computes_again };
    CoreMapper m = { .body = fuse_in_body, .state = &fuse };
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    entry->body = fuse_in_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
