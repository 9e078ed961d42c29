// Rows: the innermost loops in lanes, each point by itself.
#include "kern/schedules/schedule.h"

enum {
  COLLECTED = 256,  // elements whose bins are made before they are counted
  PIECE = 64,       // elements of a lane's piece of a block
  CHAINS =
      4,  // accumulators that keep the pipeline busy where a reduction is one instruction
};

void schedule_interleaved(Recipe *r, Name k, int chains) {
  recipe_split(r, k, LANES, SPLIT_PEEL);
  Name blocks = recipe_outer(r, k);
  recipe_swap(r, blocks, k);
  if (chains > 1) {
    recipe_split(r, blocks, chains, SPLIT_PEEL);
    recipe_swap(r, recipe_outer(r, blocks), blocks);
  }
  recipe_bind(r, k, BIND_LANE);
  if (chains > 1) recipe_bind(r, blocks, BIND_REG);
}

// Several accumulators keep the pipeline busy by themselves.
static int chains_of(const Axis *axis) {
  int values = kern_sum_count(axis);
  return values >= CHAINS ? 1 : CHAINS / values;
}

// Each lane takes a contiguous piece, so that operands stay in order.  Pieces of long rows are
// those of a block: lanes that read a power of two apart would push each other's lines out of the
// caches.
void schedule_pieces(Recipe *r, Name k, bool long_rows) {
  if (long_rows) recipe_split(r, k, LANES * PIECE, SPLIT_PEEL);
  recipe_split_into(r, k, LANES);
  recipe_bind(r, recipe_outer(r, k), BIND_LANE);
  Recipe registers = *r;
  recipe_split(&registers, k, TILE_HEIGHT, SPLIT_PEEL);
  recipe_bind(&registers, k, BIND_REG);
  if (!registers.failed) *r = registers;  // elements with branches of their own come one by one
}

// Where registers would need branches of their own, with one accumulator.
static void interleaved(Recipe *r, Name k, int chains) {
  Recipe registers = *r;
  schedule_interleaved(&registers, k, chains);
  if (registers.failed && chains > 1)
    schedule_interleaved(r, k, 1);
  else
    *r = registers;
}

static void row_in_lanes(Recipe *r, const Axis *axis, bool long_rows) {
  switch (axis->role) {
  case AXIS_MAP:
  case AXIS_SCAN:
    recipe_split(r, axis->name, LANES, SPLIT_PEEL);
    recipe_bind(r, axis->name, BIND_LANE);
    return;
  case AXIS_REDUCE:
    if (kern_commutes(axis))
      interleaved(r, axis->name, chains_of(axis));
    else
      schedule_pieces(r, axis->name, long_rows);
    return;
  case AXIS_LOOP:
  case AXIS_HIST: return;
  }
}

// The kernels are those before and after each step, of which most are asked about several times.
static const KernCosts *costs_of_rows(const Schedule *s, const Kern *kern) {
  enum { LONG = 250 };
  const KernCosts *known = map_get(s->row_costs, kern);
  if (known) return known;
  CostGuess guess = schedule_guess(s, LONG);
  known = kern_costs(kern, &guess);
  map_put(s->row_costs, kern, known);
  return known;
}

// Does the recipe make an axis of `before` faster by a fifth at least?
static bool pays(const Schedule *s, const Recipe *r, const Kern *before, Name axis) {
  const KernCosts *costs = costs_of_rows(s, before);
  const double *known = map_get(costs->of_axes, axis);
  double of_axis = known ? *known : 0,
         saved = costs->all - costs_of_rows(s, r->kern)->all;
  if (saved > 0) return saved > 0.2 * of_axis;
  // Of a part that has no points, as its borders are guessed, nothing is known.
  Step step = { .c = s->c };
  const KernStm *stm = step_axis(&step, before, axis);
  return stm && !kern_host_knows(before, stm->u.axis->width) && of_axis == 0;
}

// Conditions that are the same for a row decided before it.
static void unswitch_rows(Recipe *r) {
  AxisStms axes = schedule_innermost(r->kern);
  if (schedule_are_many(&axes)) return;
  vec_each (const KernStm **, stm, &axes) {
    Recipe next = *r;
    recipe_unswitch(&next, (*stm)->u.axis->name);
    if (!next.failed) *r = next;
  }
}

// The parts beside one border may have others in them.
static void cut_row(Recipe *r, Name axis, int times) {
  Recipe next = *r;
  recipe_cut(&next, axis);
  if (next.failed) return;
  *r = next;
  if (times == 1) return;
  cut_row(r, name_of(r->step.c->names, text_format("%s_before", axis)), times - 1);
  cut_row(r, axis, times - 1);
}

// Loops between the places where comparisons of their indices change.
static void cut_rows(Recipe *r) {
  AxisStms axes = schedule_innermost(r->kern);
  if (schedule_are_many(&axes)) return;
  vec_each (const KernStm **, stm, &axes)
    cut_row(r, (*stm)->u.axis->name, (*stm)->u.axis->role == AXIS_MAP ? 2 : 1);
}

void schedule_add_row(const Schedule *s, Recipe *r, const KernStm *stm) {
  Name axis = stm->u.axis->name;
  const char *what = text_format("%s in vectors", axis);
  if (r->failed) return;
  if (kern_vectorises_itself(stm)) {
    schedule_leave_out(s, what, "the device's own compiler does that");
    return;
  }
  Recipe next = *r;
  row_in_lanes(&next, stm->u.axis, s->length != NULL);
  if (next.failed)
    schedule_leave_out(s, what, recipe_refusal(&next));
  else if (!pays(s, &next, r->kern, axis))
    schedule_leave_out(s, what, "saves less than a fifth of that loop");
  else
    *r = next;
}

void schedule_unroll_short(Recipe *r, bool maps) {
  for (bool more = true; more;) {
    AxisStms axes = schedule_innermost(r->kern);
    more = false;
    if (schedule_are_many(&axes)) return;
    vec_each (const KernStm **, stm, &axes) {
      Recipe next = *r;
      if ((*stm)->u.axis->role == AXIS_MAP && !maps) continue;
      recipe_unroll(&next, (*stm)->u.axis->name);
      if (next.failed) continue;
      *r = next;
      more = true;
    }
  }
}

// Sums of few numbers as straight code, and the maps around them in vectors, where that pays.
static Recipe rows_of_few(const Schedule *s) {
  Recipe r = schedule_recipe(s), none = r;
  schedule_unroll_short(&r, false);
  AxisStms axes = schedule_innermost(r.kern);
  if (!axes.count) return none;
  vec_each (const KernStm **, stm, &axes)
    if ((*stm)->u.axis->role != AXIS_MAP) return none;
  vec_each (const KernStm **, stm, &axes)
    schedule_add_row(s, &r, *stm);
  return r;
}

// Every innermost loop in vectors, where that pays.
static Recipe rows(const Schedule *s, bool cut) {
  Recipe r = schedule_recipe(s);
  unswitch_rows(&r);
  const Kern *whole = r.kern;
  if (cut) cut_rows(&r);
  if (cut && r.kern == whole) return schedule_recipe(s);
  AxisStms axes = schedule_innermost(r.kern);
  vec_each (const KernStm **, stm, &axes)
    schedule_add_row(s, &r, *stm);
  return r;
}

// Maps of rows in vectors that only pay inside of borders.
static Recipe rows_inside(const Schedule *s) {
  Recipe r = schedule_recipe(s);
  AxisStms axes = schedule_innermost(r.kern);
  vec_each (const KernStm **, stm, &axes) {
    Recipe next = r;
    if ((*stm)->u.axis->role == AXIS_MAP && !kern_vectorises_itself(*stm))
      row_in_lanes(&next, (*stm)->u.axis, false);
    if (next.failed || next.kern == r.kern)
      schedule_add_row(s, &r, *stm);
    else
      r = next;
  }
  recipe_interior(&r, false);
  return r;
}

static void see_check_in_loop(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_CHECK && v->depth > 0) *(bool *)v->state = true;
}

// Loops of which the host, or what is around them, can tell that no check fails, and these in
// vectors: a check of lanes costs more than what it stands before.
static Recipe rows_without_checks(const Schedule *s) {
  Recipe r = schedule_recipe(s), none = r;
  bool checks = false;
  KernVisitor v = { .stm = see_check_in_loop, .state = &checks };
  kern_visit_block(&v, s->kern->body);
  if (checks) recipe_interior(&r, false);
  if (!checks || r.failed) return none;
  const Kern *inside = r.kern;
  AxisStms axes = schedule_innermost(r.kern);
  vec_each (const KernStm **, stm, &axes)
    schedule_add_row(s, &r, *stm);
  return r.kern == inside ? none : r;
}

// Bins and values of a block in vectors, of which those that count are added one by one then.
// Short loops that make them are straight code before.
static Recipe collected(const Schedule *s) {
  Recipe r = schedule_recipe(s), none = r;
  schedule_unroll_short(&r, false);
  const Kern *straight = r.kern;
  AxisStms axes = schedule_innermost(r.kern);
  vec_each (const KernStm **, stm, &axes) {
    Recipe next = r;
    Name axis = (*stm)->u.axis->name;
    if ((*stm)->u.axis->role != AXIS_HIST) continue;
    recipe_collect(&next, axis, COLLECTED);
    recipe_split(&next, axis, LANES, SPLIT_PEEL);
    recipe_bind(&next, axis, BIND_LANE);
    if (next.failed)
      schedule_leave_out(s, text_format("what %s counts collected", axis),
                         recipe_refusal(&next));
    else
      r = next;
  }
  if (r.kern == straight) return none;
  axes = schedule_innermost(r.kern);
  vec_each (const KernStm **, stm, &axes)
    if ((*stm)->u.axis->bind == BIND_SEQ) schedule_add_row(s, &r, *stm);
  return r;
}

void schedule_rows(const Schedule *s, Candidates *out) {
  Candidate by_rows = { .what = "rows in vectors", .recipe = rows(s, false) };
  if (by_rows.recipe.kern != s->kern) vec_push(out, by_rows);
  Candidate unrolled = { .what = "short loops unrolled", .recipe = rows_of_few(s) };
  if (unrolled.recipe.kern != s->kern) vec_push(out, unrolled);
  Candidate inside = { .what = "rows in vectors, inside of borders",
                       .recipe = rows_inside(s) };
  if (!inside.recipe.failed) vec_push(out, inside);
  Candidate unchecked = { .what = "rows without checks in vectors",
                          .recipe = rows_without_checks(s) };
  if (unchecked.recipe.kern != s->kern) vec_push(out, unchecked);
  Candidate in_parts = { .what = "rows in parts", .recipe = rows(s, true) };
  if (in_parts.recipe.kern != s->kern) vec_push(out, in_parts);
  Candidate in_blocks = { .what = "what is counted collected", .recipe = collected(s) };
  if (in_blocks.recipe.kern != s->kern) vec_push(out, in_blocks);
}
