// The choice among the candidates of a kernel, by the cost model; and how it came about.
#include <math.h>

#include "kern/recipes/recipe_book.h"
#include "kern/schedules/schedule.h"

enum {
  SHORT = 64,        // elements that are too few for a row in vectors
  SHORT_TEXT = 800,  // statements
};

Recipe schedule_recipe(const Schedule *s) { return recipe_new(s->c, s->kern, s->steps); }

void schedule_leave_out(const Schedule *s, const char *what, const char *why) {
  vec_push(s->notes, (KernNote){ what, why });
}

bool schedule_offer(const Schedule *s, Candidates *out, const Candidate *cand) {
  Candidate offer = *cand;
  if (!cand->recipe.failed && !term_is_bool(step_rows_spread(cand->recipe.kern), true)) {
    offer.recipe = recipe_copy(&cand->recipe);
    recipe_spread(&offer.recipe);
  }
  if (offer.recipe.failed)
    schedule_leave_out(s, offer.what, recipe_refusal(&offer.recipe));
  else
    vec_push(out, offer);
  return !offer.recipe.failed;
}

CostGuess schedule_guess(const Schedule *s, double trips) {
  return (CostGuess){ .naive = s->kern,
                      .points = POINTS,
                      .trips = trips,
                      .length = s->length,
                      .in_place = s->in_place };
}

double schedule_cost(const Schedule *s, const Kern *kern, double trips) {
  CostGuess guess = schedule_guess(s, trips);
  if (trips != TRIPS) return kern_cost(kern, &guess);
  const double *known = map_get(s->costs, kern);
  if (known) return *known;
  double cost = kern_cost(kern, &guess);
  map_put(s->costs, kern, mem_copy(&cost, sizeof cost));
  return cost;
}

static double cost_of(const Schedule *s, const Candidate *cand, double trips) {
  return (1 - cand->nearer) * schedule_cost(s, cand->recipe.kern, trips);
}

static void find_costs(const Schedule *s, Candidates *candidates, double trips) {
  vec_each (Candidate *, cand, candidates)
    cand->cost = cost_of(s, cand, trips);
}

// The same with the interior apart, where that is better.  *same: it would be no other one if no
// block could move.
static bool try_interior(const Schedule *s, Candidate *cand, double trips, bool move,
                         bool *same) {
  Candidate next = *cand;
  recipe_interior(&next.recipe, move);
  *same = !next.recipe.step.could_move;
  if (next.recipe.failed) return false;
  next.what = text_format("%s, with an interior", cand->what);
  next.cost = cost_of(s, &next, trips);
  if (next.cost < 0.95 * cand->cost) {
    *cand = next;
    return true;
  }
  schedule_leave_out(s, next.what, "saves less than a twentieth");
  return false;
}

// Where borders may be as wide as loops are long, the candidate whose blocks stay where they are is
// there, too: with an interior of its own, if that is better.
static void try_interiors(const Schedule *s, Candidates *candidates, double trips) {
  bool move = !s->in_place;
  Candidates steady = { 0 };
  vec_each (Candidate *, cand, candidates) {
    if (cand->recipe.unchecked) continue;
    Candidate stays = *cand;
    stays.recipe = recipe_copy(&cand->recipe);
    bool same = false, better = move && try_interior(s, cand, trips, true, &same);
    if (better && cand->recipe.by_loops) {
      try_interior(s, &stays, trips, false, &same);
      vec_push(&steady, stays);
    } else if (!better && !same) {
      try_interior(s, cand, trips, false, &same);
    }
  }
  vec_each (const Candidate *, cand, &steady)
    vec_push(candidates, *cand);
}

static void count_text(KernVisitor *v, const KernStm *stm) {
  int *text = v->state;
  ++*text;
  if (stm->kind != KERN_AXIS || stm->u.axis->bind != BIND_REG) return;
  int inside = 0;
  KernVisitor body = { .stm = count_text, .state = &inside };
  kern_visit_block(&body, stm->u.axis->body);
  *text += inside * (int)(stm->u.axis->width->u.constant.u.i - 1);
}

// The cost, and up to a fifth more for long text, which takes the device's compiler long: several
// vectors at once of what is hundreds of statements for one.
static double cost_with_text(const Candidate *cand) {
  int text = 0;
  KernVisitor v = { .stm = count_text, .state = &text };
  kern_visit_block(&v, cand->recipe.kern->body);
  return cand->cost * (1 + fmin(fmax(text - SHORT_TEXT, 0.0) / SHORT_TEXT, 0.2));
}

static const Candidate *cheapest(const Candidates *candidates) {
  const Candidate *best = &candidates->at[0];
  double least = cost_with_text(best);
  for (int i = 1; i < candidates->count; i++) {
    double cost = cost_with_text(&candidates->at[i]);
    if (cost >= 0.9 * least) continue;
    best = &candidates->at[i];
    least = cost;
  }
  return best;
}

KernPlan schedule_plan_of(const Candidate *cand) {
  return (KernPlan){ .kern = cand->recipe.kern,
                     .recipe = cand->recipe.lines.at,
                     .recipe_count = cand->recipe.lines.count,
                     .condition = cand->recipe.condition };
}

// One vector stays behind several: else 16 columns go one by one where 32 are best.  Behind it
// stand 8 and 4 lanes.
static bool is_weaker(const Candidate *cand, const Candidate *best) {
  return 8 * cand->weight <= best->weight ||
         (cand->weight == LANES && best->weight > LANES) ||
         (best->weight <= FEW_LANES_WEIGHT && cand->weight < best->weight);
}

// Does one that needs no room between borders do nearly as well?
static bool needs_no_room(const Candidates *all, const Candidate *best) {
  vec_each (const Candidate *, cand, all)
    if (!cand->recipe.moves && cand->cost < 2 * best->cost) return true;
  return false;
}

// The candidates that the best one leaves: without conditions, or with weaker ones than its own.
// Where borders as wide as loops leave no room for a block, there is little for smaller ones
// either, but what needs none may fit.
static Candidates others(const Candidates *all, const Candidate *best, bool smaller) {
  Candidates out = { 0 };
  bool wide = best->recipe.by_loops, steady = wide && needs_no_room(all, best);
  vec_each (const Candidate *, cand, all) {
    if (steady && cand->recipe.moves) continue;
    bool half = cand->across && 2 * cand->across <= best->across &&
                (best->across > LANES || (smaller && cand->recipe.moves));
    if (cand->recipe.kern != best->recipe.kern &&
        (!cand->recipe.condition || half || best->first ||
         (wide && !cand->recipe.moves) || is_weaker(cand, best)))
      vec_push(&out, *cand);
  }
  return out;
}

// Blocks that move at borders, if any: for rows that have no room for a larger one.
static Candidates smaller_blocks(const Candidates *all) {
  Candidates moving = { 0 };
  double most = 2 * cheapest(all)->cost;
  vec_each (const Candidate *, cand, all)
    if (cand->recipe.moves && cand->across && cand->cost < most) vec_push(&moving, *cand);
  return moving.count ? moving : *all;
}

// A block of half as many points that is much better than all of those that the best one leaves, or
// NULL: rows of 16 to 31 columns, where four rows by two vectors are best and one vector is not.
static const Candidate *half_block(const Candidates *all, const Candidate *best,
                                   const Candidates *rest) {
  const Candidate *found = NULL;
  double least = 0.7 * cheapest(rest)->cost;
  vec_each (const Candidate *, cand, all) {
    bool half = cand->recipe.condition && cand->weight > LANES &&
                2 * cand->weight == best->weight;
    if (!half || cand->cost >= least) continue;
    found = cand;
    least = cand->cost;
  }
  return found;
}

// smaller: what was better needs room between borders.
static const KernPlan *choose_plan(const Candidates *all, bool smaller) {
  Candidates first = smaller ? smaller_blocks(all) : *all;
  const Candidate *best = cheapest(&first);
  KernPlan plan = schedule_plan_of(best);
  if (plan.condition) {
    bool needs_room = best->recipe.moves && !smaller;
    Candidates rest = others(all, best, needs_room);
    plan.otherwise = choose_plan(&rest, needs_room);
    const Candidate *half = half_block(all, best, &rest);
    if (half) {
      KernPlan next = schedule_plan_of(half);
      next.otherwise = plan.otherwise;
      plan.otherwise = mem_copy(&next, sizeof next);
    }
  }
  return mem_copy(&plan, sizeof plan);
}

// ---- one size that is small

// Is it one of the conditions that `all` joins?
static bool is_asked(const Term *all, const Term *one) {
  if (term_same(all, one)) return true;
  bool joins = all->kind == TERM_OP && all->u.op.op == OP_LAND;
  return joins && (is_asked(all->u.op.args[0], one) || is_asked(all->u.op.args[1], one));
}

// Does it ask for some of what `more` asks, and for nothing else?
static bool asks_less(const Term *condition, const Term *more) {
  if (term_same(condition, more)) return false;
  if (is_asked(more, condition)) return true;
  bool joins = condition->kind == TERM_OP && condition->u.op.op == OP_LAND;
  return joins && asks_less(condition->u.op.args[0], more) &&
         asks_less(condition->u.op.args[1], more);
}

// The size that a condition wants to fill vectors, if it wants nothing else.
static const Var *wanted_size(const Term *condition) {
  bool least = condition->kind == TERM_OP && condition->u.op.op == OP_LE &&
               condition->u.op.args[0]->kind == TERM_CONST &&
               condition->u.op.args[1]->kind == TERM_VAR;
  return least ? condition->u.op.args[1]->u.var : NULL;
}

static void collect_sizes(const Term *condition, VarVec *out) {
  const Var *size = wanted_size(condition);
  vec_each (const Var **, known, out)
    if (*known == size) size = NULL;
  if (size) vec_push(out, size);
  if (condition->kind != TERM_OP || condition->u.op.op != OP_LAND) return;
  collect_sizes(condition->u.op.args[0], out);
  collect_sizes(condition->u.op.args[1], out);
}

// What is much better than the plan where that size is small, of what asks for the others; or NULL.
static const Candidate *best_without(const Schedule *s, const Candidates *all,
                                     const KernPlan *chosen, const Var *few) {
  const Candidate *best = NULL;
  const KernPlan *usual = chosen;
  CostGuess guess = schedule_guess(s, TRIPS);
  guess.few = few;
  while (usual->condition && !kern_holds(&guess, usual->condition))
    usual = usual->otherwise;
  double least = 0.7 * kern_cost(usual->kern, &guess);
  vec_each (const Candidate *, cand, all) {
    const Term *condition = cand->recipe.condition;
    if (!condition || !asks_less(condition, chosen->condition)) continue;
    double cost =
        kern_holds(&guess, condition) ? kern_cost(cand->recipe.kern, &guess) : least;
    if (cost >= least) continue;
    best = cand;
    least = cost;
  }
  return best;
}

typedef struct AxisOfWidth {
  const Var *width;
  const Axis *found;
} AxisOfWidth;

static void see_width(KernVisitor *v, const KernStm *stm) {
  AxisOfWidth *x = v->state;
  bool is = stm->kind == KERN_AXIS && stm->u.axis->width->kind == TERM_VAR &&
            stm->u.axis->width->u.var == x->width;
  if (is && !x->found) x->found = stm->u.axis;
}

// The recipe for sizes that fill no vector; it fails if no axis is that wide.
static Recipe where_few(const Schedule *s, const Recipe *r, const Var *few) {
  AxisOfWidth x = { few, NULL };
  KernVisitor v = { .stm = see_width, .state = &x };
  Recipe small = schedule_recipe(s);
  kern_visit_block(&v, s->kern->body);
  small.failed = !x.found;
  if (x.found) recipe_where_fewer(&small, x.found->name, LANES);
  return small.failed ? small : recipe_then(&small, r);
}

// What is best asks for several sizes that fill vectors.  Where one of them does not, others may.
static const KernPlan *with_small_size(const Schedule *s, const Candidates *all,
                                       const KernPlan *chosen) {
  VarVec sizes = { 0 };
  if (chosen->condition) collect_sizes(chosen->condition, &sizes);
  if (sizes.count < 2) return chosen;
  KernPlan *out = mem_copy(chosen, sizeof *chosen);
  vec_each (const Var **, few, &sizes) {
    const Candidate *best = best_without(s, all, out, *few);
    if (!best) continue;
    Candidate small = *best;
    small.recipe = where_few(s, &best->recipe, *few);
    if (small.recipe.failed) continue;
    KernPlan plan = schedule_plan_of(&small);
    plan.otherwise = out->otherwise;  // where the size is not small either
    out->otherwise = mem_copy(&plan, sizeof plan);
  }
  return out;
}

// ---- short rows

// All innermost loops have fewer points than `most`, but for those that are as long for all rows.
static Recipe rows_are_short(const Schedule *s, int64_t most) {
  Recipe r = schedule_recipe(s);
  AxisStms axes = schedule_innermost(s->kern);
  for (int i = 0; i < axes.count; i++) {
    if (axes.at[i]->u.axis->width->kind == TERM_CONST) continue;
    Recipe next = r;
    recipe_where_fewer(&next, axes.at[i]->u.axis->name, most);
    if (next.failed || next.condition != r.condition) r = next;
  }
  return r;
}

// Does the plan ask for long sums?
static bool asks_for_long(const KernPlan *plan, const AxisStms *rows) {
  vec_each (const KernStm **, stm, rows) {
    const Axis *axis = (*stm)->u.axis;
    bool asked = axis->role == AXIS_REDUCE && axis->width->kind == TERM_VAR &&
                 term_mentions(plan->condition, axis->width->u.var);
    if (!asked) return false;
  }
  return true;
}

// The one that is much better than the plan that is chosen for rows of so many elements; or NULL.
// Where conditions of that plan do not hold, the kernel as it is must be what is left.
static Candidate *best_for_rows(const Schedule *s, const Candidates *all,
                                const KernPlan *chosen, double trips) {
  Candidate *best = NULL;
  const KernPlan *usual = chosen;
  CostGuess guess = { .naive = s->kern, .points = POINTS, .trips = trips };
  while (usual->condition && !kern_holds(&guess, usual->condition))
    usual = usual->otherwise;
  if (chosen->condition && usual->kern != s->kern) return NULL;
  double least = 0.6 * schedule_cost(s, usual->kern, trips);
  vec_each (Candidate *, cand, all) {
    if (cand->recipe.kern == usual->kern) continue;
    const Term *condition = cand->recipe.condition;
    if (condition && !kern_holds(&guess, condition)) continue;
    double cost = cost_of(s, cand, trips);
    if (cost >= least) continue;
    best = cand;
    least = 0.9 * cost;
  }
  return best;
}

// What is best for rows of any length fills vectors of long rows, or asks for long sums: are other
// candidates much better for short ones, and up to which length?
static const KernPlan *with_short_rows(const Schedule *s, const Candidates *all,
                                       const KernPlan *chosen) {
  static const double lengths[] = { 5, 10, 20 };
  static const int64_t most[] = { 8, 16, SHORT };
  Recipe are_short = rows_are_short(s, SHORT);
  AxisStms rows = schedule_innermost(s->kern);
  if (are_short.failed || !are_short.condition) return chosen;
  if (chosen->condition && !asks_for_long(chosen, &rows)) return chosen;
  const KernPlan *first = chosen;
  const Candidate *last = NULL;
  Candidate *bests[3];
  for (int i = 0; i < 3; i++) {
    bests[i] = best_for_rows(s, all, chosen, lengths[i]);
    if (bests[i]) are_short = rows_are_short(s, most[i]);
  }
  for (int i = 0; i < 3; i++) {
    Candidate *best = bests[i];
    if (!best || best == last) continue;
    last = best;
    Candidate of_short = *best;
    of_short.recipe = recipe_then(&are_short, &best->recipe);
    KernPlan plan = schedule_plan_of(&of_short);
    plan.otherwise = first;
    first = mem_copy(&plan, sizeof plan);
    best->what = text_format("short rows: %s", best->what);
  }
  return first;
}

// ---- all

// What was tried, in order.
static const KernTry *tries_of(const Candidates *all) {
  KernTry *tries = new_array(KernTry, all->count + 1);
  for (int i = 0; i < all->count; i++) {
    const Candidate *cand = &all->at[i];
    tries[i] =
        (KernTry){ cand->what, cand->recipe.kern, cand->recipe.condition, cand->cost };
  }
  return tries;
}

static const KernPlan *explained(const Schedule *s, const Candidates *all,
                                 const KernPlan *chosen) {
  if (!s->c->explain) return chosen;
  KernWhy why = { .naive = s->kern,
                  .points = POINTS,
                  .trips = TRIPS,
                  .length = s->length,
                  .tries = tries_of(all),
                  .try_count = all->count,
                  .notes = s->notes->at,
                  .note_count = s->notes->count };
  KernPlan *plan = mem_copy(chosen, sizeof *chosen);
  plan->why = mem_copy(&why, sizeof why);
  return plan;
}

static const KernPlan *with_others(const Schedule *s, KernUse use, const Candidates *all,
                                   const KernPlan *chosen) {
  Candidates more = { 0 }, every = { 0 };
  if (!s->book || (!s->book->others && !s->book->choices.count)) return chosen;
  if (use == USE_POINTS) schedule_more_tiles(s, &more);
  find_costs(s, &more, TRIPS);
  try_interiors(s, &more, TRIPS);
  vec_each (const Candidate *, cand, all)
    vec_push(&every, *cand);
  vec_each (const Candidate *, cand, &more)
    vec_push(&every, *cand);
  return schedule_with_others(s, &every, chosen);
}

// Neighbouring points together.
static void add_points(const Schedule *s, Candidates *out) {
  schedule_points(s, out);
  schedule_wide(s, out);
  schedule_products(s, out);
  schedule_short(s, out);
  schedule_within(s, out);
}

const KernPlan *schedule_cheapest(const Schedule *s, KernUse use) {
  Candidates all = { 0 };
  Candidate plain = { .what = "as it is", .recipe = schedule_recipe(s) };
  vec_push(&all, plain);
  if (use != USE_FEW) schedule_rows(s, &all);
  if (use != USE_FEW) schedule_sums_of_loops(s, &all);
  if (use != USE_FEW) schedule_pairs(s, &all);
  if (use == USE_POINTS) add_points(s, &all);
  if (use == USE_CHUNKS) schedule_rows_of_chunks(s, &all);
  if (use != USE_FEW) schedule_sweep(s, &all, use == USE_CHUNKS);
  find_costs(s, &all, TRIPS);
  try_interiors(s, &all, TRIPS);
  const KernPlan *chosen = choose_plan(&all, false);
  if (use == USE_POINTS) chosen = with_small_size(s, &all, chosen);
  if (use != USE_FEW) chosen = with_short_rows(s, &all, chosen);
  if (use != USE_FEW) chosen = with_others(s, use, &all, chosen);
  return explained(s, &all, chosen);
}
