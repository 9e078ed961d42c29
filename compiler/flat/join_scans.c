// let fs gs = segmap <i < n> {f, g}       let ss = segscan <i < n> op {fs[i]}
// let ts = segscan <i < n> op {gs[i]}     let sum = segred <i < n> op {fs[i]}
// .. segscatter <i < n> {.. ss[i] .. ts[i] .. sum ..}
//   =>  let ss ts = segscan <i < n> op op {f, g}     let sum = ss[n - 1]
//       .. segscatter <i < n> {.. ss[i] .. ts[i] .. sum ..}
//
// and two segscatters that read the same scan become one.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: places in a sorted array are made of several scans of flags, their totals, and the flags,
// each an array of its own; what stands between a scan and what reads it keeps flat_fuse_scans from
// making one of them.  Flags are computed again from what they are made of: a few operations.
#include "core/passes.h"
#include "flat/mentions.h"
#include "flat/rules.h"

enum {
  MOST_AGAIN = 12,  // statements that are computed again
  MOST_LOADS = 2,   // among them
  MOST_OPS = 4,     // of one scan
  MOST_FIELDS = 8,  // of one scatter
  MOST_WORK = 20,   // of each of two scatters that become one, in statements
};

static int combined_count(const SegOp *seg) {
  int count = 0;
  for (int o = 0; o < seg->op_count; o++)
    count += seg->ops[o].count;
  return count;
}

// ---- who reads a variable

static bool mentions_any(const Body *body, int at, const Stm *bound) {
  for (int i = 0; i < bound->binder_count; i++)
    if (flat_mentions_at(body, at, bound->binders[i]).all) return true;
  return false;
}

// Does it read the other one, or what maps make of it?
static bool depends_on(const Body *body, int at, int other) {
  if (mentions_any(body, at, &body->stms[other])) return true;
  for (int i = other + 1; i < at; i++) {
    const SegOp *seg = flat_seg_at(body, i);
    if (seg && seg->kind == SEG_MAP && mentions_any(body, at, &body->stms[i]) &&
        depends_on(body, i, other))
      return true;
  }
  return false;
}

static bool reads_scan(const Body *body, int at) {
  for (int i = 0; i < at; i++) {
    const SegOp *seg = flat_seg_at(body, i);
    if (seg && seg->kind == SEG_SCAN && depends_on(body, at, i)) return true;
  }
  return false;
}

// How many statements read it, if these are points of the same space, each of its own element; a
// scan is among them, or makes it, or what it is made of.  Else 0.
static int reader_count(const Body *body, int at, const Var *var) {
  const SegOp *seg = body->stms[at].exp->u.seg;
  bool scanned = seg->kind == SEG_SCAN || reads_scan(body, at);
  int count = 0;
  if (flat_is_result(body, var)) return 0;
  for (int i = at + 1; i < body->stm_count; i++) {
    FlatMentions m = flat_mentions_at(body, i, var);
    if (!m.all) continue;
    if (!m.reader || m.all != m.own || !flat_same_space(seg, m.reader)) return 0;
    count++;
    scanned |= m.reader->kind == SEG_SCAN;
  }
  return scanned ? count : 0;
}

// ---- computed again

// What may be done once more for each reader, if there are several.
typedef struct LittleWork {
  int left, loads;
  bool only_cheap;
} LittleWork;

static bool is_allowed(const LittleWork *w, const Exp *e) {
  if (exp_may_fail(e)) return false;
  if (e->kind == EXP_OP && w->only_cheap)
    return op_cost(e->u.op.op, atom_type(e->u.op.args[0]).elem) == COST_CHEAP;
  return exp_is_scalar(e) || e->kind == EXP_ATOM || e->kind == EXP_IF ||
         e->kind == EXP_INDEX;
}

static bool is_little(const Body *body, LittleWork *w) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (!is_allowed(w, e)) return false;
    if (e->kind == EXP_INDEX && body->stms[i].binders[0]->type.rank > 0) return false;
    w->left -= 1;
    w->loads -= e->kind == EXP_INDEX;
    BodyVec bodies = exp_bodies(e);
    vec_each (const Body **, inner, &bodies)
      if (!is_little(*inner, w)) return false;
  }
  return w->left >= 0 && w->loads >= 0;
}

// What result `number` takes; NULL if that is more than a little, or much for several readers.
static const Body *little_of(Compiler *c, const SegOp *seg, int number, int readers) {
  Atom result = seg->body->results[number];
  bool several = readers > 1;
  LittleWork work = { MOST_AGAIN, several ? MOST_LOADS : MOST_AGAIN, several };
  if (atom_type(result).rank > 0) return NULL;
  Builder b = builder_new(c, (Loc){ 0 });
  core_add_body(&b, seg->body);
  const Body *slice = dead_body(c, core_body(&b, &result, 1));
  return is_little(slice, &work) ? slice : NULL;
}

typedef struct Computed {
  Compiler *c;
  const SegOp *maker;
  const Var *var;
  const Body *slice;
} Computed;

static void add_again(CoreMapper *m, Builder *b, const Stm *stm, Subst *made) {
  const Computed *a = m->state;
  Stm out = *stm;
  const Exp *e = stm->exp;
  if (e->kind != EXP_INDEX || !atom_equal(e->u.index.array, atom_var(a->var))) {
    out.exp = core_map_exp(m, e);
    core_add_stm(b, out);
    return;
  }
  Subst *subst = subst_new();
  for (int i = 0; i < a->maker->dim_count; i++)
    subst_put(subst, a->maker->dims[i].index, e->u.index.dims[i].start);
  const Body *again = core_rename_body(a->c, subst, a->slice);
  core_add_body(b, again);
  subst_put(made, stm->binders[0], again->results[0]);
}

static const Body *body_again(CoreMapper *m, const Body *body) {
  const Computed *a = m->state;
  Builder b = builder_new(a->c, (Loc){ 0 });
  Subst *made = subst_new();
  for (int i = 0; i < body->stm_count; i++)
    add_again(m, &b, &body->stms[i], made);
  return core_subst_body(a->c, made, core_body(&b, body->results, body->result_count));
}

// Without the result; dead code takes what only it needed.
static Stm without_result(const Stm *stm, int number) {
  Stm out = *stm;
  SegOp seg = *stm->exp->u.seg;
  Body body = *seg.body;
  VarVec binders = { 0 };
  AtomVec results = { 0 };
  for (int i = 0; i < stm->binder_count; i++) {
    if (i == number) continue;
    vec_push(&binders, stm->binders[i]);
    vec_push(&results, body.results[i]);
  }
  body.results = results.at;
  body.result_count = results.count;
  seg.body = mem_copy(&body, sizeof body);
  out.binders = binders.at;
  out.binder_count = binders.count;
  out.exp = exp_seg(mem_copy(&seg, sizeof seg));
  return out;
}

static const Body *made_again(Compiler *c, const Body *body, int at, int number) {
  const Stm *maker = &body->stms[at];
  int readers = reader_count(body, at, maker->binders[number]);
  const Body *slice = readers ? little_of(c, maker->exp->u.seg, number, readers) : NULL;
  if (!slice) return NULL;
  Computed again = { c, maker->exp->u.seg, maker->binders[number], slice };
  CoreMapper m = { .body = body_again, .state = &again };
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = i == at ? without_result(maker, number) : body->stms[i];
    if (i > at) stm.exp = core_map_exp(&m, stm.exp);
    if (i != at || stm.binder_count) core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// The last mapped result of the seg-op that its readers compute again.
static const Body *again_at(Compiler *c, const Body *body, int at) {
  const SegOp *seg = flat_seg_at(body, at);
  if (!seg || (seg->kind != SEG_MAP && seg->kind != SEG_SCAN)) return NULL;
  for (int i = body->stms[at].binder_count - 1; i >= combined_count(seg); i--) {
    const Body *made = made_again(c, body, at, i);
    if (made) return made;
  }
  return NULL;
}

// ---- statements that move

static bool is_bound_behind(const Body *body, int at, int end, const Var *var) {
  for (int i = at + 1; i < end; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return true;
  return false;
}

// Can statement `from` stand behind statement `to`, that is before it?
static bool can_rise(const Body *body, int from, int to) {
  VarVec free = core_free_exp(body->stms[from].exp);
  vec_each (const Var *const *, v, &free)
    if (is_bound_behind(body, to - 1, from, *v)) return false;
  return true;
}

// Can statement `from` stand before statement `to`, that is behind it?
static bool can_sink(const Body *body, int from, int to) {
  for (int i = from + 1; i <= to; i++)
    if (mentions_any(body, i, &body->stms[from])) return false;
  return true;
}

// ---- scans

static bool scans_scalars(const SegOp *seg) {
  if (!seg || seg->kind != SEG_SCAN) return false;
  for (int i = 0; i < seg->body->result_count; i++)
    if (atom_type(seg->body->results[i]).rank > 0) return false;
  return true;
}

// The first map, scatter or scan that reads the scan's values at its own points, if all before it
// read only single elements on the host; or -1.
static int reader_of(const Body *body, int at) {
  const Stm *scan = &body->stms[at];
  for (int i = at + 1; i < body->stm_count; i++) {
    const SegOp *seg = flat_seg_at(body, i);
    for (int k = 0; k < scan->binder_count; k++) {
      FlatMentions m = flat_mentions_at(body, i, scan->binders[k]);
      if (m.all && seg) return m.own && flat_same_space(seg, scan->exp->u.seg) ? i : -1;
    }
  }
  return -1;
}

// Both scans' operators over both scans' elements.
static const Exp *joined_scans(Compiler *c, const SegOp *a, const SegOp *b) {
  Subst *subst = subst_new();
  for (int i = 0; i < a->dim_count; i++)
    subst_put(subst, b->dims[i].index, atom_var(a->dims[i].index));
  const Body *second = core_subst_body(c, subst, b->body);
  SegOp seg = *a;
  RedOp *ops = new_array(RedOp, a->op_count + b->op_count);
  for (int i = 0; i < a->op_count + b->op_count; i++)
    ops[i] = i < a->op_count ? a->ops[i] : b->ops[i - a->op_count];
  seg.ops = ops;
  seg.op_count = a->op_count + b->op_count;
  Builder builder = builder_new(c, (Loc){ 0 });
  core_add_body(&builder, a->body);
  core_add_body(&builder, second);
  AtomVec results = { 0 };
  int counts[2] = { combined_count(a), combined_count(b) };
  for (int part = 0; part < 2; part++) {
    for (int i = part ? counts[0] : 0; i < (part ? a->body->result_count : counts[0]);
         i++)
      vec_push(&results, a->body->results[i]);
    for (int i = part ? counts[1] : 0; i < (part ? second->result_count : counts[1]); i++)
      vec_push(&results, second->results[i]);
  }
  seg.body = cse_body(c, core_body(&builder, results.at, results.count));
  return exp_seg(mem_copy(&seg, sizeof seg));
}

static Stm both_scans(Compiler *c, const Stm *a, const Stm *b) {
  Stm out = *a;
  VarVec binders = { 0 };
  int counts[2] = { combined_count(a->exp->u.seg), combined_count(b->exp->u.seg) };
  for (int part = 0; part < 2; part++) {
    for (int i = part ? counts[0] : 0; i < (part ? a->binder_count : counts[0]); i++)
      vec_push(&binders, a->binders[i]);
    for (int i = part ? counts[1] : 0; i < (part ? b->binder_count : counts[1]); i++)
      vec_push(&binders, b->binders[i]);
  }
  out.binders = binders.at;
  out.binder_count = binders.count;
  out.exp = joined_scans(c, a->exp->u.seg, b->exp->u.seg);
  return out;
}

// `at` becomes `stm`; `gone` goes.
static const Body *in_place_of(Compiler *c, const Body *body, int at, Stm stm, int gone) {
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++)
    if (i != gone) core_add_stm(&b, i == at ? stm : body->stms[i]);
  return core_body(&b, body->results, body->result_count);
}

static bool scans_floats(const SegOp *seg) {
  for (int i = 0; i < combined_count(seg); i++)
    if (prim_is_float(atom_type(seg->body->results[i]).elem)) return true;
  return false;
}

// Does the host read the scan's values before the statement at `end`?
static bool host_reads(const Body *body, int at, int end) {
  for (int i = at + 1; i < end; i++)
    if (!flat_seg_at(body, i) && mentions_any(body, i, &body->stms[at])) return true;
  return false;
}

// What a scan of floats comes to in the end is not known before it (fuse_scans.c): with it, another
// one's total would not be, either, which a filter needs, and nothing could be fused with the two.
static bool keeps_total(const Body *body, int one, int other, int reader) {
  return !scans_floats(body->stms[one].exp->u.seg) ||
         scans_floats(body->stms[other].exp->u.seg) || !host_reads(body, other, reader);
}

static const Body *scans_at(Compiler *c, const Body *body, int at) {
  const SegOp *first = flat_seg_at(body, at);
  int reader = scans_scalars(first) ? reader_of(body, at) : -1;
  for (int i = at + 1; i < reader; i++) {
    const SegOp *second = flat_seg_at(body, i);
    if (!scans_scalars(second) || !flat_same_space(first, second) ||
        first->op_count + second->op_count > MOST_OPS || reader_of(body, i) != reader ||
        !can_rise(body, i, at) || !keeps_total(body, at, i, reader) ||
        !keeps_total(body, i, at, reader))
      continue;
    return in_place_of(c, body, at, both_scans(c, &body->stms[at], &body->stms[i]), i);
  }
  return NULL;
}

// ---- totals

// What one operator combines, as a reduction by itself.
static const Body *summed(Compiler *c, const SegOp *seg, int op) {
  int first = 0;
  for (int o = 0; o < op; o++)
    first += seg->ops[o].count;
  SegOp one = *seg;
  one.kind = SEG_RED;
  one.ops = &seg->ops[op];
  one.op_count = 1;
  one.partials = 0;
  Builder of = builder_new(c, (Loc){ 0 }), b = of;
  core_add_body(&of, cse_body(c, seg->body));
  one.body = dead_body(c, core_body(&of, seg->body->results + first, one.ops->count));
  Atom *totals = new_array(Atom, one.ops->count + 1);
  core_let_n(&b, "total", exp_seg(mem_copy(&one, sizeof one)), totals);
  return core_body(&b, totals, one.ops->count);
}

static bool are_same(const Body *a, const Body *b) {
  VarVec in_a = core_free_body(a), in_b = core_free_body(b);
  if (in_a.count != in_b.count) return false;
  for (int i = 0; i < in_a.count; i++)
    if (in_a.at[i] != in_b.at[i]) return false;
  return same_code(a, b);
}

// What one operator of a reduction combines, and what that mentions.
typedef struct OpSum {
  const Body *sum;
  VarVec free;
} OpSum;
typedef Vec(OpSum) OpSumVec;

static OpSumVec sums_of(Compiler *c, const SegOp *red) {
  OpSumVec sums = { 0 };
  for (int o = 0; o < red->op_count; o++) {
    const Body *sum = summed(c, red, o);
    vec_push(&sums, (OpSum){ sum, core_free_body(sum) });
  }
  return sums;
}

// A scan that does not mention all of it combines something else.
static bool mentions_all(const Body *body, int at, const VarVec *vars) {
  vec_each (const Var *const *, v, vars)
    if (!flat_mentions_at(body, at, *v).all) return false;
  return true;
}

// The position among the scan's results of what it scans as the reduction sums it up; -1.
static int scanned_as(Compiler *c, const SegOp *scan, const OpSum *wanted) {
  for (int o = 0, first = 0; o < scan->op_count; first += scan->ops[o++].count)
    if (are_same(summed(c, scan, o), wanted->sum)) return first;
  return -1;
}

static bool is_exact(const SegOp *red) {
  for (int i = 0; i < red->body->result_count; i++)
    if (prim_is_float(atom_type(red->body->results[i]).elem)) return false;
  return true;
}

// let total = if 0 < n then ss[n - 1] else neutral
static void add_total(Builder *b, const SegOp *red, Atom scanned, Atom neutral,
                      const Var *binder) {
  Atom width = red->dims[0].width;
  Atom any = core_let(b, "any", exp_op2(OP_LT, atom_i64(0), width));
  Builder some = builder_new(b->c, b->loc), none = some;
  Atom at = core_let(&some, "at", exp_op2(OP_SUB, width, atom_i64(1)));
  Atom last = core_let(&some, "last", exp_index(scanned, &at, 1, false));
  core_let_vars(b, mem_copy(&binder, sizeof binder), 1,
                exp_if(any, core_body(&some, &last, 1), core_body(&none, &neutral, 1)));
}

// The reduction at `at` reads the scan's last elements.
static const Body *with_totals(Compiler *c, const Body *body, int at, int scan,
                               const int *places) {
  const Stm *from = &body->stms[scan], *total = &body->stms[at];
  const SegOp *red = total->exp->u.seg;
  Builder b = builder_new(c, total->loc);
  for (int i = 0; i < body->stm_count; i++) {
    if (i == scan && scan > at) continue;
    if (i != at) {
      core_add_stm(&b, body->stms[i]);
      continue;
    }
    if (scan > at) core_add_stm(&b, *from);
    for (int o = 0, next = 0; o < red->op_count; o++)
      for (int k = 0; k < red->ops[o].count; k++, next++)
        add_total(&b, red, atom_var(from->binders[places[o] + k]), red->ops[o].neutral[k],
                  total->binders[next]);
  }
  return core_body(&b, body->results, body->result_count);
}

// Does the scan combine all of this?  Where, then, for each.
static bool find_places(Compiler *c, const Body *body, int at, const OpSumVec *sums,
                        int *places) {
  const SegOp *scan = body->stms[at].exp->u.seg;
  for (int o = 0; o < sums->count; o++)
    if (!mentions_all(body, at, &sums->at[o].free)) return false;
  for (int o = 0; o < sums->count; o++)
    if ((places[o] = scanned_as(c, scan, &sums->at[o])) < 0) return false;
  return true;
}

static const Body *totals_at(Compiler *c, const Body *body, int at) {
  const SegOp *red = flat_seg_at(body, at);
  if (!red || red->kind != SEG_RED || red->dim_count != 1 || !is_exact(red) ||
      body->stms[at].binder_count != combined_count(red))
    return NULL;
  int *places = new_array(int, red->op_count + 1);
  const OpSumVec sums = sums_of(c, red);
  for (int i = 0; i < body->stm_count; i++) {
    const SegOp *scan = flat_seg_at(body, i);
    if (scans_scalars(scan) && flat_same_space(scan, red) &&
        find_places(c, body, i, &sums, places) && reader_of(body, i) > at &&
        (i < at || can_rise(body, i, at)))
      return with_totals(c, body, at, i, places);
  }
  return NULL;
}

// ---- scatters

static bool is_scatter(const SegOp *seg) { return seg && seg->kind == SEG_SCATTER; }

static bool stores_apart(const SegOp *a, const SegOp *b) {
  for (int i = 0; i < a->dest_count; i++)
    for (int k = 0; k < b->dest_count; k++)
      if (atom_equal(a->dests[i].dest, b->dests[k].dest)) return false;
  return true;
}

// Elements of one array, at their own points.
static bool read_same(const Body *body, int a, int b) {
  VarVec free = core_free_exp(body->stms[a].exp);
  vec_each (const Var *const *, v, &free)
    if ((*v)->type.rank > 0 && flat_mentions_at(body, a, *v).own &&
        flat_mentions_at(body, b, *v).own)
      return true;
  return false;
}

// So many operators have the scans that one of them reads.
static int operators_read(const Body *body, int a, int b) {
  int count = 0;
  for (int i = 0; i < a || i < b; i++) {
    const SegOp *seg = flat_seg_at(body, i);
    if (seg && seg->kind == SEG_SCAN &&
        (depends_on(body, a, i) || depends_on(body, b, i)))
      count += seg->op_count;
  }
  return count;
}

// What is joined must not be too much to be fused with its scans.
static bool scatters_fit(const Body *body, int a, int b) {
  const SegOp *one = flat_seg_at(body, a), *two = flat_seg_at(body, b);
  return is_scatter(one) && is_scatter(two) && flat_same_space(one, two) &&
         one->dest_count + two->dest_count <= MOST_FIELDS &&
         flat_takes_little(one->body, MOST_WORK) &&
         flat_takes_little(two->body, MOST_WORK) && reads_scan(body, a) &&
         reads_scan(body, b) && operators_read(body, a, b) <= MOST_OPS &&
         stores_apart(one, two) && read_same(body, a, b);
}

static Stm both_scatters(Compiler *c, const Stm *a, const Stm *b) {
  const SegOp *one = a->exp->u.seg, *two = b->exp->u.seg;
  Subst *subst = subst_new();
  for (int i = 0; i < one->dim_count; i++)
    subst_put(subst, two->dims[i].index, atom_var(one->dims[i].index));
  const Body *second = core_subst_body(c, subst, two->body);
  Builder builder = builder_new(c, (Loc){ 0 });
  core_add_body(&builder, one->body);
  core_add_body(&builder, second);
  AtomVec results = { 0 };
  VarVec binders = { 0 };
  ScatterDest *dests = new_array(ScatterDest, one->dest_count + two->dest_count);
  for (int i = 0; i < one->body->result_count; i++)
    vec_push(&results, one->body->results[i]);
  for (int i = 0; i < second->result_count; i++)
    vec_push(&results, second->results[i]);
  for (int i = 0; i < one->dest_count + two->dest_count; i++) {
    bool first = i < one->dest_count;
    vec_push(&binders, first ? a->binders[i] : b->binders[i - one->dest_count]);
    dests[i] = first ? one->dests[i] : two->dests[i - one->dest_count];
  }
  SegOp seg = *one;
  seg.body = cse_body(c, core_body(&builder, results.at, results.count));
  seg.dests = dests;
  seg.dest_count = binders.count;
  Stm out = *a;
  out.binders = binders.at;
  out.binder_count = binders.count;
  out.exp = exp_seg(mem_copy(&seg, sizeof seg));
  return out;
}

static const Body *scatters_at(Compiler *c, const Body *body, int at) {
  for (int i = at + 1; is_scatter(flat_seg_at(body, at)) && i < body->stm_count; i++)
    if (scatters_fit(body, at, i) && can_sink(body, at, i))
      return in_place_of(c, body, i, both_scatters(c, &body->stms[at], &body->stms[i]),
                         at);
  return NULL;
}

// ---- bodies

typedef const Body *JoinStep(Compiler *c, const Body *body, int at);

typedef struct JoinScans {
  Compiler *c;
  JoinStep *step;
} JoinScans;

static const Body *join_at(void *state, const Body *body, int at) {
  const JoinScans *join = state;
  const Body *out = NULL, *next;
  while (at < body->stm_count && (next = join->step(join->c, body, at)))
    out = body = next;
  return out;
}

static const Body *join_in_body(CoreMapper *m, const Body *body) {
  const JoinScans *join = m->state;
  return flat_rewrite_host(m, join->c, body, join_at);
}

const Core *flat_join_scans(Compiler *c, const Core *flat) {
  static JoinStep *const steps[] = { scatters_at, again_at, scans_at, totals_at };
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    for (int s = 0; s < (int)(sizeof steps / sizeof *steps); s++) {
      JoinScans join = { c, steps[s] };
      CoreMapper m = { .body = join_in_body, .state = &join };
      entry->body = join_in_body(&m, entry->body);
    }
    entry->body = dead_body(c, cse_body(c, entry->body));
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
