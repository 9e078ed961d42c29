// Many elements side by side in lanes, for the device's compiler to run in vectors.
#include "kern/schedules/schedule.h"
#include "kern/wide_lanes.h"

enum {
  WIDE = 128,  // lanes
  BLOCKS = 4,  // of a row, at least: those of the last one are done twice
};

static void see_wide(KernVisitor *v, const KernStm *stm) {
  AxisStms *out = v->state;
  if (stm->kind == KERN_AXIS && kern_is_wide(stm->u.axis)) vec_push(out, stm);
}

// Are all wide lanes loops that the device's compiler runs in vectors?
static bool wide_lanes_are_plain(const Kern *kern) {
  AxisStms wide = { 0 };
  KernVisitor v = { .stm = see_wide, .state = &wide };
  kern_visit_block(&v, kern->body);
  vec_each (const KernStm **, stm, &wide)
    if (!kern_lanes_are_plain(*stm)) return false;
  return true;
}

static void see_broad(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  if (prim_size_bytes(access.tensor->elem) > 2) *(bool *)v->state = true;
}

// Of wider numbers 16 lanes are full vectors.
static bool is_of_few_bits(const KernBlock *body) {
  bool broad = false;
  KernVisitor v = { .access = see_broad, .state = &broad };
  kern_visit_block(&v, body);
  return !broad;
}

static void see_size(KernVisitor *v, Access access, bool stores) {
  int *sizes = v->state;
  (void)stores;
  *sizes |= prim_size_bytes(access.tensor->elem);
}

// Loops over what is as wide as what is stored, 8 or 16 bits: the device's compiler takes as many
// lanes of all numbers as of the widest, and takes records apart for all lanes at once.
static bool has_loops_of_one_size(const Kern *kern) {
  int sizes = 0;
  KernVisitor v = { .access = see_size, .state = &sizes };
  kern_visit_block(&v, kern->body);
  return (sizes == 1 || sizes == 2) && schedule_innermost(kern).count > 0;
}

static void offer_wide(const Schedule *s, Candidates *out, const Candidate *cand) {
  if (!cand->recipe.failed && !wide_lanes_are_plain(cand->recipe.kern))
    schedule_leave_out(s, cand->what,
                       "no loop that the device's compiler would run in vectors");
  else
    schedule_offer(s, out, cand);
}

// Rows of neighbouring points for the device's compiler, which has 64 lanes of bytes.  What has
// neither borders nor loops over records is left to it as it is, if it has one row.
static void add_wide(const Schedule *s, Candidates *out, int height, int lanes) {
  Candidate cand = { .what = text_format("%d rows of %d points", height, lanes),
                     .recipe = schedule_recipe(s) };
  Recipe *r = &cand.recipe;
  schedule_widen_grid(r);
  schedule_unroll_short(r, true);
  const Axis *last = schedule_last_grid(r->kern);
  const Axis *before = last ? schedule_axis_before(r->kern, last) : NULL;
  if (!last || s->in_place || (height > 1 && !before) || schedule_has_loop(last->body))
    return;
  if (height > 1 && !schedule_rows_near(r->kern, before, last)) {
    schedule_leave_out(s, cand.what, "rows read nothing in common");
    return;
  }
  r->unchecked = true;
  if (height > 1) {
    recipe_split(r, before->name, height, SPLIT_OVERLAP);
    recipe_swap(r, before->name, last->name);
    recipe_bind(r, before->name, BIND_REG);
  }
  cand.across = lanes;
  cand.weight = lanes * height;
  if (!is_of_few_bits(s->kern->body)) recipe_where(r, last->name, BLOCKS * lanes);
  recipe_split(r, last->name, lanes, SPLIT_OVERLAP);
  recipe_bind(r, last->name, BIND_LANE);
  Recipe plain = *r;
  recipe_interior(r, true);
  if (r->failed && height == 1 && has_loops_of_one_size(s->kern)) *r = plain;
  recipe_check(r);
  offer_wide(s, out, &cand);
}

// Maps within points in rows of so many elements for the device's compiler, which are straight code
// inside of borders.
static void add_wide_rows(const Schedule *s, Candidates *out, int lanes) {
  Candidate cand = { .what = text_format("rows by %d elements", lanes),
                     .recipe = schedule_recipe(s),
                     .weight = lanes };
  Recipe *r = &cand.recipe;
  AxisStms axes = schedule_innermost(s->kern);
  r->unchecked = true;
  vec_each (const KernStm **, stm, &axes) {
    const Axis *row = (*stm)->u.axis;
    bool whole = row->role == AXIS_MAP && !kern_vectorises_itself(*stm) &&
                 kern_host_knows(s->kern, row->width) && kern_may_run_twice(s->kern, row);
    if (!whole || !is_of_few_bits(row->body)) continue;
    recipe_split(r, row->name, lanes, SPLIT_OVERLAP);
    recipe_bind(r, row->name, BIND_LANE);
  }
  if (r->kern == s->kern) return;
  recipe_interior(r, true);
  recipe_check(r);
  axes = schedule_innermost(r->kern);
  vec_each (const KernStm **, stm, &axes)
    if (kern_has_axis(s->kern, (*stm)->u.axis->name)) schedule_add_row(s, r, *stm);
  offer_wide(s, out, &cand);
}

void schedule_wide(const Schedule *s, Candidates *out) {
  add_wide(s, out, 4, WIDE);
  add_wide(s, out, 1, WIDE);
  add_wide(s, out, 1, WIDE / 2);
  add_wide_rows(s, out, WIDE);
  add_wide_rows(s, out, WIDE / 2);
}
