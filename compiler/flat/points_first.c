// segred1 <i < n> op { let xs = xss[i]  let s = redomap m .. xs  in {s}}
//   =>  let ss = segmap1 <i < n> { .. in {s}}   segred1 <i < n> op { let s = ss[i]  in {s}}
//
// and likewise scans, histograms and scatters: what takes a loop through rows is made before.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  Maps have schedules for points that go through rows, or that all read the
// same (kern/schedules/group_*.c); what combines points has none.  A value per point is written and
// read besides, which is little against its row.  There must be an array that has an element or a
// row for each point: else the values may want memory that the program would not need.
// On CPUs scans and histograms alone: they make their elements one after the other, scans in chunks
// twice, where points of a map go in lanes (searches, recurrences).
#include "base/map.h"
#include "core/passes.h"
#include "flat/spaces.h"

enum { LEAST_STEPS = 16 };  // of a loop: shorter ones have nothing to stage

typedef struct PointsFirst {
  Compiler *c;
  const Stm *stm;
  const SegOp *seg;
  bool on_cpu;
  int combined;  // results of the body that are: the first ones; others are mapped
  bool *first;   // results that are made before
} PointsFirst;

// ---- what suits

// Does a statement read at the point, in all of its dimensions?
static bool reads_own(const SegOp *seg, const Exp *e) {
  int found = 0;
  if (e->kind != EXP_INDEX) return false;
  for (int d = 0; d < seg->dim_count; d++)
    for (int i = 0; i < e->u.index.dim_count; i++) {
      const DimIndex *dim = &e->u.index.dims[i];
      if (dim->is_slice || !atom_equal(dim->start, atom_var(seg->dims[d].index)))
        continue;
      found++;
      break;
    }
  return found == seg->dim_count;
}

typedef struct OwnReads {
  const SegOp *seg;
  bool found;
} OwnReads;

static void find_own_reads(CoreVisitor *v, const Body *body) {
  OwnReads *own = v->state;
  for (int i = 0; i < body->stm_count && !own->found; i++)
    own->found = reads_own(own->seg, body->stms[i].exp);
  if (!own->found) core_visit_body(v, body);
}

static bool has_array_of_points(const SegOp *seg) {
  OwnReads own = { .seg = seg };
  CoreVisitor v = { .body = find_own_reads, .state = &own };
  find_own_reads(&v, seg->body);
  return own.found;
}

typedef struct RowLoops {
  Map *made;           // arrays of numbers in order, or of copies
  bool within, found;  // is it in a loop; does a loop read arrays
} RowLoops;

static bool has_many_steps(Atom width) {
  return width.kind == ATOM_VAR || width.u.constant.u.i >= LEAST_STEPS;
}

static bool takes_arrays(const RowLoops *s, const Exp *e) {
  for (int i = 0; i < e->u.soac.array_count; i++)
    if (!map_has(s->made, e->u.soac.arrays[i].u.var)) return true;
  return false;
}

static void find_row_loops(CoreVisitor *v, const Body *body) {
  RowLoops *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    const Exp *e = stm->exp;
    RowLoops outside = *s;
    if (e->kind == EXP_IOTA || e->kind == EXP_REPLICATE)
      map_put(s->made, stm->binders[0], stm->binders[0]);
    if (e->kind == EXP_INDEX) s->found |= s->within;
    bool counted = e->kind == EXP_LOOP && e->u.loop.form == CORE_FOR;
    if (exp_is_soac(e) && has_many_steps(e->u.soac.width)) {
      s->within = true;
      s->found |= takes_arrays(s, e);
    }
    if (counted && has_many_steps(e->u.loop.bound)) s->within = true;
    core_visit_exp(v, e);
    s->within = outside.within;
  }
}

static bool goes_through_rows(const Body *body) {
  RowLoops s = { .made = map_new(NULL) };
  CoreVisitor v = { .body = find_row_loops, .state = &s };
  find_row_loops(&v, body);
  return s.found;
}

static int combined_results(const SegOp *seg) {
  int count = 0;
  for (int i = 0; i < seg->op_count; i++)
    count += seg->ops[i].count;
  return seg->op_count ? count : seg->body->result_count;
}

// ---- the two

static const Body *restricted_body(Compiler *c, const Body *body, AtomVec results) {
  Body out = *body;
  out.results = results.at;
  out.result_count = results.count;
  return dead_body(c, &out);
}

static const Body *body_of_result(const PointsFirst *s, int result) {
  AtomVec one = { 0 };
  vec_push(&one, s->seg->body->results[result]);
  return restricted_body(s->c, s->seg->body, one);
}

typedef struct LongLoops {
  bool rows;  // points have some of their own
  bool found;
} LongLoops;

// Sums and the like of rows go in lanes wherever they stand.  How far a `while` goes through a row
// is each point's own number, and lanes would load what lies apart.
static void find_long_loops(CoreVisitor *v, const Body *body) {
  LongLoops *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind != EXP_LOOP) continue;
    bool counted = e->u.loop.form == CORE_FOR;
    s->found |= counted ? has_many_steps(e->u.loop.bound) : !s->rows;
  }
  core_visit_body(v, body);
}

static bool has_own_rows(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind == EXP_INDEX && body->stms[i].binders[0]->type.rank > 0)
      return true;
  return false;
}

// On CPUs: does it take loops that the points of a map go through side by side?  Short ones become
// straight code anyway.
static bool takes_long(const Body *body) {
  LongLoops s = { .rows = has_own_rows(body) };
  CoreVisitor v = { .body = find_long_loops, .state = &s };
  find_long_loops(&v, body);
  return s.found;
}

// Scalars that take loops; false if none of these goes through rows, or takes long on a CPU.
static bool choose_first(PointsFirst *s) {
  bool found = false;
  for (int i = 0; i < s->combined; i++) {
    const Body *alone = body_of_result(s, i);
    bool scalar = !atom_type(s->seg->body->results[i]).rank;
    s->first[i] = scalar && flat_has_loops(alone);
    bool pays = s->on_cpu ? takes_long(alone) : goes_through_rows(alone);
    found = found || (s->first[i] && pays);
  }
  return found;
}

static CoreType type_of_points(const PointsFirst *s, PrimType elem) {
  Atom *dims = new_array(Atom, s->seg->dim_count);
  for (int d = 0; d < s->seg->dim_count; d++)
    dims[d] = s->seg->dims[d].width;
  return type_array(elem, s->seg->dim_count, dims);
}

// The map, which gives mapped results their names and others those of `points`.
static Stm points_of(const PointsFirst *s, const Var *const *points) {
  AtomVec results = { 0 };
  VarVec binders = { 0 };
  for (int i = 0; i < s->seg->body->result_count; i++) {
    if (i < s->combined && !s->first[i]) continue;
    vec_push(&results, s->seg->body->results[i]);
    vec_push(&binders, i < s->combined ? points[i] : s->stm->binders[i]);
  }
  SegOp map = { .kind = SEG_MAP,
                .level = 1,
                .dims = s->seg->dims,
                .dim_count = s->seg->dim_count,
                .body = restricted_body(s->c, s->seg->body, results) };
  Stm out = *s->stm;
  out.binders = binders.at;
  out.binder_count = binders.count;
  out.exp = exp_seg(mem_copy(&map, sizeof map));
  return out;
}

// What combines them.  The body computes again what takes no loops.
static Stm rest_of(const PointsFirst *s, const Var *const *points) {
  SegOp *rest = mem_copy(s->seg, sizeof *s->seg);
  Builder b = builder_new(s->c, s->stm->loc);
  Atom *at = new_array(Atom, s->seg->dim_count);
  AtomVec results = { 0 };
  for (int d = 0; d < s->seg->dim_count; d++)
    at[d] = atom_var(s->seg->dims[d].index);
  core_add_body(&b, s->seg->body);
  for (int i = 0; i < s->combined; i++) {
    const Exp *element =
        points[i] ? exp_index(atom_var(points[i]), at, s->seg->dim_count, false) : NULL;
    vec_push(&results,
             element ? core_let(&b, "made", element) : s->seg->body->results[i]);
  }
  rest->body = restricted_body(s->c, core_body(&b, NULL, 0), results);
  Stm out = *s->stm;
  if (s->seg->op_count) out.binder_count = s->combined;
  out.exp = core_rename_exp(s->c, subst_new(), exp_seg(rest));
  return out;
}

static const Var **vars_of_points(const PointsFirst *s) {
  const Var **points = new_array(const Var *, s->combined + 1);
  for (int i = 0; i < s->combined; i++) {
    PrimType elem = atom_type(s->seg->body->results[i]).elem;
    if (s->first[i])
      points[i] = var_new(s->c, name_of(s->c->names, "points"), type_of_points(s, elem),
                          s->stm->loc);
  }
  return points;
}

static void add_first(Compiler *c, Builder *b, const Stm *stm, bool on_cpu) {
  const SegOp *seg = stm->exp->u.seg;
  PointsFirst s = { c, stm, seg, on_cpu, combined_results(seg), NULL };
  s.first = new_array(bool, s.combined + 1);
  bool combines =
      on_cpu ? seg->kind == SEG_SCAN || seg->kind == SEG_HIST : seg->kind != SEG_MAP;
  combines = combines && !seg->after && !seg->partials;
  if (!combines || !has_array_of_points(seg) || !choose_first(&s)) {
    core_add_stm(b, *stm);
    return;
  }
  const Var **points = vars_of_points(&s);
  Stm rest = rest_of(&s, points);
  if (flat_has_loops(rest.exp->u.seg->body)) {
    core_add_stm(b, *stm);
    return;
  }
  core_add_stm(b, points_of(&s, points));
  core_add_stm(b, rest);
}

static void add_points_first(void *state, Builder *b, const Body *body, int position) {
  add_first(state, b, &body->stms[position], false);
}

static void add_scans_last(void *state, Builder *b, const Body *body, int position) {
  add_first(state, b, &body->stms[position], true);
}

const Core *flat_points_first(Compiler *c, const Core *flat) {
  return flat_rewrite_segs(c, flat, add_points_first, c);
}

const Core *flat_scans_last(Compiler *c, const Core *flat) {
  return flat_rewrite_segs(c, flat, add_scans_last, c);
}
