// Tuning without data sets: points of a box of sizes, measured in all versions.
//
// The box is refined as PEPPHER does (adaptive off-line tuning, section 3.2: a cell whose points
// agree on the winner is closed, others are split), with these differences: the cell with the
// largest volume times regret is split first, along its longest side, at the geometric middle; its
// halves get random points inside instead of their corners, because corners are powers of two and
// ones, unlike the sizes that will come; agreement means that one choice of versions loses next to
// nothing on all points of the cell, noise considered; and the result is not the tree of cells but
// a threshold per guard, or a small tree of conditions (decision.h), chosen from all points, each
// weighted by its share of the box.
#include "tuner/sample.h"
#include "tuner/choose.h"
#include "tuner/points.h"
#include "tuner/race.h"
#include "tuner/sizes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { SHORT_US = 3000, VISITS = 6 };
static const double first_visit_s = 0.15, visit_s = 0.06;

enum { POINTS_PER_CELL = 3, FIRST_POINTS = 12, TRIES = 200, NEIGHBOURS = 3 };
static const double agreement = 0.01;     // what one choice may lose in a closed cell
static const double worth_trees = 0.005;  // what thresholds lose when trees are tried
static const double least_gain = 0.001;   // what a condition must win
static const double near_best = 1.02, far_behind = 4;

typedef struct Cell {
  int64_t low[POINTS_MOST_DIMS], high[POINTS_MOST_DIMS];
  double regret;  // what the best single choice loses on its points
  bool closed;    // nothing, or the cell cannot be split
  bool used_up;   // it has no further points
} Cell;

typedef struct Sampler {
  Tuning *t;
  Points points;
  int dims;
  Cell box;
  Vec(Cell) cells;
  uint64_t state;
  int most;  // points for choosing, or held-out ones included
} Sampler;

static double uniform_sample(Sampler *s) {
  s->state = s->state * 6364136223846793005u + 1442695040888963407u;
  return (double)(s->state >> 11) / 9007199254740992.0;
}

// ---- sizes: positions on the scale of their range

static double scale(const Sampler *s, int dim, int64_t size) {
  return s->t->options->ranges[dim].linear ? (double)size : log(fmax(0.5, (double)size));
}

static double unscale(const Sampler *s, int dim, double position) {
  return s->t->options->ranges[dim].linear ? position : exp(position);
}

static int64_t clamp(double x, int64_t low, int64_t high) {
  if (x <= (double)low) return low;
  return x >= (double)high ? high : (int64_t)x;
}

// From the scale's place of `low` to that of the integer after `high`.
static double side(const Sampler *s, const Cell *cell, int dim) {
  return scale(s, dim, cell->high[dim] + 1) - scale(s, dim, cell->low[dim]);
}

static bool is_allowed(const Sampler *s, const int64_t *sizes) {
  const TunerOptions *o = s->t->options;
  return !o->allowed || o->allowed(o->make_state, sizes);
}

// A random point of the cell that the constraints allow; false if there seems to be none.
static bool random_point(Sampler *s, const Cell *cell, int64_t *sizes) {
  for (int try = 0; try < TRIES; try++) {
    for (int i = 0; i < s->dims; i++) {
      double at = scale(s, i, cell->low[i]) + side(s, cell, i) * uniform_sample(s);
      sizes[i] = clamp(unscale(s, i, at), cell->low[i], cell->high[i]);
    }
    if (is_allowed(s, sizes)) return true;
  }
  return false;
}

// ---- measuring

static double distance(const Sampler *s, const int64_t *a, const int64_t *b) {
  double sum = 0;
  for (int i = 0; i < s->dims; i++)
    sum += pow((scale(s, i, a[i]) - scale(s, i, b[i])) / side(s, &s->box, i), 2);
  return sum;
}

// The points next to one, among those before it.
static int nearest(const Sampler *s, int dataset, int *near) {
  double distances[NEIGHBOURS] = { 0 };
  int count = 0;
  const int64_t *points = s->t->sampling.points;
  for (int d = 0; d < dataset; d++) {
    double here = distance(s, points + d * s->dims, points + dataset * s->dims);
    int at = count < NEIGHBOURS ? count++ : NEIGHBOURS;
    while (at > 0 && distances[at - 1] > here) {
      if (at < NEIGHBOURS) distances[at] = distances[at - 1], near[at] = near[at - 1];
      at--;
    }
    if (at < NEIGHBOURS) distances[at] = here, near[at] = d;
  }
  return count;
}

static int point_known(const Sampler *s, const int64_t *sizes) {
  for (int d = 0; d < s->t->seen->dataset_count; d++)
    if (memcmp(s->t->sampling.points + d * s->dims, sizes,
               (size_t)s->dims * sizeof *sizes) == 0)
      return d;
  return -1;
}

// The time that a point may take: its part of what is left, and a bit more, as most take less.
static double seconds_for_point(const Sampler *s) {
  static const double most = 4;
  int left = s->most - s->t->seen->dataset_count + 1;
  return fmin(most, 1.5 * fmax(0, s->t->m->limits.deadline - child_now()) / left);
}

// Is the covering run known to be slow at the points around, and would it take long here?  What it
// would have shown counts as much slower than the best.
static bool is_hopeless(const Sampler *s, int dataset, int run, double seconds) {
  double least_s = 1e-6 * s->t->seen->states[dataset].least_us;
  int near[NEIGHBOURS], count = nearest(s, dataset, near);
  double ratio = INFINITY;
  for (int k = 0; k < count; k++) {
    const PointData *point = &s->points.of[near[k]];
    ratio = fmin(ratio, point->run_us[run] / point->best_us);
  }
  return count == NEIGHBOURS && ratio > POINTS_FAR && least_s * ratio > 0.25 * seconds;
}

// Programs that cannot race are run path by path.
static void cover_again(Tuning *t, int d, double seconds) {
  enum { RUNS = 8 };
  double until = child_now() + seconds;
  for (int k = 2; k <= RUNS && measure_time_left(t->m) && child_now() < until; k++)
    choose_cover(t, d, k);
}

static bool is_short(const Sampler *s, int dataset) {
  return s->t->seen->states[dataset].least_us < SHORT_US;
}

// Measures a new point: every version once, with a look at its result, then a race.
static int measure_point(Sampler *s, const int64_t *sizes, const Decision *decisions) {
  Tuning *t = s->t;
  TunerDataset data = { 0 };
  int d = t->seen->dataset_count;
  double started = child_now();
  if (d >= s->most || !measure_time_left(t->m)) return -1;
  double seconds = seconds_for_point(s);
  if (!t->options->make(t->options->make_state, sizes, d, &data)) return -1;
  memcpy(t->sampling.points + d * s->dims, sizes, (size_t)s->dims * sizeof *sizes);
  measure_add(t->m, data);
  measure_default(t->m, d);
  choose_working(t, d);
  if (t->seen->states[d].failure) {
    measure_unload(t->m, d);
    unlink(data.file);
    points_add(&s->points, d);
    return d;
  }
  for (int run = 0; run < t->runs; run++)
    if (!is_hopeless(s, d, run, seconds))
      measure_path(t->m, d, tree_cover(t->tree, run), 1);
  seconds -= child_now() - started;
  if (is_short(s, d)) seconds = fmin(seconds, first_visit_s);
  RaceResult race = race_paths(t, d, seconds, decisions, NULL);
  if (!race.ok) cover_again(t, d, seconds);
  if (!is_short(s, d)) measure_unload(t->m, d);
  if (!is_short(s, d)) unlink(data.file);
  points_add(&s->points, d);
  if (race.tuned.count)
    vec_push(&t->sampling.trials,
             (Trial){ .dataset = d, .us = race.tuned, .disagrees = race.disagrees });
  return d;
}

// One more race of a short point, without those that are far behind.
static void visit(Sampler *s, int d, const Decision *decisions) {
  Tuning *t = s->t;
  const PointData *point = &s->points.of[d];
  bool *skip = new_array(bool, t->runs + 1);
  for (int run = 0; run < t->runs; run++)
    skip[run] = point->run_us[run] > far_behind * point->best_us;
  RaceResult race = race_paths(t, d, visit_s, decisions, skip);
  vec_each (Trial *, trial, &t->sampling.trials) {
    if (trial->dataset != d) continue;
    trial->disagrees |= race.disagrees;
    vec_each (const double *, us, &race.tuned)
      vec_push(&trial->us, *us);
  }
}

// A machine has moods: for seconds, a short run may take a multiple of its usual time, and other
// versions win.  So short points are visited several times, and what counts is when they run best.
static void visit_again(Sampler *s, int from, const Decision *decisions) {
  Tuning *t = s->t;
  int count = t->seen->dataset_count;
  for (int round = 1; round < VISITS; round++)
    for (int d = from; d < count && measure_time_left(t->m); d++) {
      tuning_progress(t, from ? 95 : 38, "visit %d of short points, point %d of %d",
                      round, d - from + 1, count - from);
      if (is_short(s, d)) visit(s, d, decisions);
    }
  for (int d = from; d < count; d++)
    if (is_short(s, d)) points_add(&s->points, d);
}

// ---- cells

// The share of the box, up to a factor.
static double volume(const Sampler *s, const Cell *cell) {
  double product = 1;
  for (int i = 0; i < s->dims; i++)
    product *= side(s, cell, i);
  return product;
}

static bool is_inside(const Sampler *s, const Cell *cell, int dataset) {
  const int64_t *sizes = s->t->sampling.points + dataset * s->dims;
  for (int i = 0; i < s->dims; i++)
    if (sizes[i] < cell->low[i] || sizes[i] > cell->high[i]) return false;
  return true;
}

static int points_inside(const Sampler *s, const Cell *cell, int *datasets) {
  int count = 0;
  for (int d = 0; d < s->t->seen->dataset_count; d++)
    if (is_inside(s, cell, d)) datasets[count++] = d;
  return count;
}

static int longest_side(const Sampler *s, const Cell *cell) {
  int longest = -1;
  for (int i = 0; i < s->dims; i++)
    if (cell->high[i] > cell->low[i] &&
        (longest < 0 || side(s, cell, i) > side(s, cell, longest)))
      longest = i;
  return longest;
}

// Looks at the cell's points again.
static void judge_cell(Sampler *s, Cell *cell) {
  int *datasets = new_array(int, s->t->seen->dataset_count + 1);
  int count = points_inside(s, cell, datasets);
  double worst = 0;
  cell->regret = points_disagreement(&s->points, datasets, count, &worst);
  cell->closed = worst <= agreement || longest_side(s, cell) < 0;
}

// More random points until there are enough to judge by.
static void fill_cell(Sampler *s, Cell *cell, int wanted) {
  int64_t sizes[POINTS_MOST_DIMS];
  int *datasets = new_array(int, s->most + 1);
  for (int try = 0; try < 2 * wanted; try++) {
    if (points_inside(s, cell, datasets) >= wanted) break;
    cell->used_up = !random_point(s, cell, sizes);
    if (cell->used_up) break;
    if (point_known(s, sizes) < 0 && measure_point(s, sizes, NULL) < 0) break;
  }
  judge_cell(s, cell);
}

typedef struct Start {
  int64_t sizes[POINTS_MOST_DIMS];
  double volume;
} Start;

static int compare_starts(const void *a, const void *b) {
  const Start *x = a, *y = b;
  return (x->volume > y->volume) - (x->volume < y->volume);
}

// Small points first: what they show may spare versions at large ones.
static void measure_first(Sampler *s) {
  Start starts[FIRST_POINTS] = { { { 0 }, 0 } };
  int count = 0;
  while (count < FIRST_POINTS && random_point(s, &s->box, starts[count].sizes)) {
    starts[count].volume = 1;
    for (int i = 0; i < s->dims; i++)
      starts[count].volume *= (double)starts[count].sizes[i] + 1;
    count++;
  }
  if (count == 0) s->t->problem_text = "the constraints leave no point of the ranges";
  qsort(starts, (size_t)count, sizeof *starts, compare_starts);
  for (int k = 0; k < count; k++)
    if (point_known(s, starts[k].sizes) < 0) measure_point(s, starts[k].sizes, NULL);
}

// The cell to look at next: with the largest volume times loss, per point that it has.  A small
// loss may be anywhere, also where the points agree.
static int next_cell(const Sampler *s) {
  static const double unseen = 0.01;
  int best = -1;
  double most = -1;
  int *datasets = new_array(int, s->t->seen->dataset_count + 1);
  for (int i = 0; i < s->cells.count; i++) {
    const Cell *cell = &s->cells.at[i];
    if (cell->used_up) continue;
    double loss = unseen + (cell->closed ? 0 : cell->regret);
    double worth = volume(s, cell) * loss / (1 + points_inside(s, cell, datasets));
    if (worth <= most) continue;
    most = worth;
    best = i;
  }
  return best;
}

static void split(Sampler *s, int number) {
  Cell low = s->cells.at[number], high = low;
  int dim = longest_side(s, &low);
  double middle = 0.5 * (scale(s, dim, low.low[dim]) + scale(s, dim, low.high[dim] + 1));
  int64_t at = clamp(unscale(s, dim, middle), low.low[dim], low.high[dim] - 1);
  low.high[dim] = at;
  high.low[dim] = at + 1;
  fill_cell(s, &low, POINTS_PER_CELL);
  fill_cell(s, &high, POINTS_PER_CELL);
  s->cells.at[number] = low;
  vec_push(&s->cells, high);
}

// One step: an open cell is split, a closed one is asked once more.  False if there is none left.
static bool refine(Sampler *s) {
  int before = s->t->seen->dataset_count, number = next_cell(s);
  if (number < 0) return false;
  Cell *cell = &s->cells.at[number];
  if (!cell->closed) {
    split(s, number);
    return true;
  }
  int *datasets = new_array(int, before + 1);
  fill_cell(s, cell, points_inside(s, cell, datasets) + 1);
  cell->used_up |= s->t->seen->dataset_count == before;
  return true;
}

// ---- choosing

// Each cell's volume is shared by its points; corners and edges belong to the first that has them.
static double *shares_of_points(const Sampler *s, int count) {
  double *shares = new_array(double, count + 1);
  int *cell_of = new_array(int, count + 1), *inside = new_array(int, s->cells.count + 1);
  for (int d = 0; d < count; d++) {
    cell_of[d] = 0;
    while (cell_of[d] + 1 < s->cells.count && !is_inside(s, &s->cells.at[cell_of[d]], d))
      cell_of[d]++;
    inside[cell_of[d]]++;
  }
  for (int d = 0; d < count; d++)
    shares[d] = volume(s, &s->cells.at[cell_of[d]]) / inside[cell_of[d]];
  return shares;
}

// A choice from the first `count` points, by relative time.
static void choose_from(Sampler *s, int count) {
  Tuning *t = s->t;
  SolveProblem p = points_problem(&s->points, NULL, count, shares_of_points(s, count));
  t->choice.problem = p;
  t->choice.best = solve(&p);
  t->choice.thresholds = solve_thresholds(&p, &t->choice.best);
  t->choice.decisions = NULL;
  double least = points_least(&s->points, &p);
  double loss =
      solve_objective(&p, solve_times(&p, t->choice.thresholds), NULL) / least - 1;
  if (loss > worth_trees && t->choice.sizes.count > 0)
    t->choice.decisions =
        decision_fit(&p, points_best(&s->points, count), &t->choice.sizes,
                     t->choice.thresholds, least_gain);
  vec_push(&t->sampling.curve, (CurvePoint){ .points = count,
                                             .thresholds = t->choice.thresholds,
                                             .decisions = t->choice.decisions });
}

// ---- precision

static void judge_point(Precision *r, double *squares, const PointVerdict *v) {
  if (!isfinite(v->ratio)) return;
  r->points++;
  r->fastest += v->is_fastest;
  r->near += v->is_fastest || v->ratio <= near_best;
  r->even += v->is_even;
  r->regret += v->ratio - 1;
  *squares += (v->ratio - 1) * (v->ratio - 1);
}

// How the choice does on the points from number `from` on.
static Precision judge(const Sampler *s, int from, const CurvePoint *choice) {
  Tuning *t = s->t;
  Precision r = { 0 };
  double squares = 0;
  for (int d = from; d < t->seen->dataset_count; d++) {
    PointVerdict v = points_verdict(&s->points, d, choice->thresholds, choice->decisions,
                                    &t->choice.sizes);
    judge_point(&r, &squares, &v);
  }
  if (r.points == 0) return r;
  r.regret /= r.points;
  r.regret_error = sqrt(fmax(0, squares / r.points - r.regret * r.regret) / r.points);
  return r;
}

static const Decision *as_decisions(const Tuning *t) {
  if (t->choice.decisions) return t->choice.decisions;
  Decision *plain = new_array(Decision, t->tree->guard_count + 1);
  for (int g = 0; g < t->tree->guard_count; g++)
    plain[g] = decision_plain(t->choice.thresholds[g]);
  return plain;
}

static void predict_trials(const Sampler *s) {
  const Tuning *t = s->t;
  vec_each (Trial *, trial, &t->sampling.trials) {
    PointVerdict v = points_verdict(&s->points, trial->dataset, t->choice.thresholds,
                                    t->choice.decisions, &t->choice.sizes);
    trial->predicted_us = v.us;
    trial->best_us = v.best_us;
  }
}

// Points that the choice never saw, on which the tuned program runs as well.
static void hold_out(Sampler *s) {
  Tuning *t = s->t;
  const Decision *decisions = as_decisions(t);
  t->m->limits.deadline += 0.35 * t->options->budget_s;
  s->most = t->sampling.holdout_from + t->options->holdout;
  for (int tries = 0; tries < 10 * t->options->holdout; tries++) {
    int64_t sizes[POINTS_MOST_DIMS];
    int done = t->seen->dataset_count - t->sampling.holdout_from;
    if (done == t->options->holdout || !random_point(s, &s->box, sizes)) break;
    tuning_progress(t, 40 + 58 * done / (t->options->holdout + 1),
                    "held-out point %d of %d", done + 1, t->options->holdout);
    if (point_known(s, sizes) >= 0) continue;
    if (measure_point(s, sizes, decisions) < 0) break;
  }
  t->m->limits.deadline += 0.15 * t->options->budget_s;
  visit_again(s, t->sampling.holdout_from, decisions);
  vec_each (CurvePoint *, point, &t->sampling.curve)
    point->precision = judge(s, t->sampling.holdout_from, point);
  if (t->checks.before)
    t->sampling.before_precision = judge(s, t->sampling.holdout_from,
                                         &(CurvePoint){ .thresholds = t->checks.before });
  predict_trials(s);
}

// ---- sizes

typedef struct PointTime {
  int dataset;
  double us;
} PointTime;

static int compare_point_times(const void *a, const void *b) {
  const PointTime *x = a, *y = b;
  return (x->us > y->us) - (x->us < y->us);
}

// Its file is gone if it is not short.
static bool make_again(const Sampler *s, int d) {
  TunerDataset data = { 0 };
  const TunerOptions *o = s->t->options;
  return is_short(s, d) ||
         o->make(o->make_state, s->t->sampling.points + d * s->dims, d, &data);
}

// Group sizes and the like are chosen on a few points, from short ones to long ones.
static void choose_sizes(Sampler *s) {
  enum { POINTS = 8 };
  static const double longest_us = 30e3;
  Tuning *t = s->t;
  int count = t->choice.problem.dataset_count, known = 0;
  PointTime *times = new_array(PointTime, count + 1);
  bool *on = new_array(bool, count + 1);
  for (int d = 0; d < count; d++) {
    double us = s->points.of[d].best_us;
    if (us > 0 && us < longest_us && !t->seen->states[d].failure)
      times[known++] = (PointTime){ d, us };
  }
  qsort(times, (size_t)known, sizeof *times, compare_point_times);
  for (int k = 0; k < POINTS && k < known; k++) {
    int d = times[known <= POINTS ? k : (2 * k + 1) * known / (2 * POINTS)].dataset;
    on[d] = make_again(s, d);
  }
  sizes_choose_on(t, as_decisions(t), on);
}

// ---- the whole

static Cell whole_box(const Sampler *s) {
  Cell box = { .closed = false };
  for (int i = 0; i < s->dims; i++) {
    box.low[i] = s->t->options->ranges[i].low;
    box.high[i] = s->t->options->ranges[i].high;
  }
  return box;
}

static void explore(Sampler *s) {
  Tuning *t = s->t;
  Cell first = s->box = whole_box(s);
  measure_first(s);
  judge_cell(s, &first);
  vec_push(&s->cells, first);
  for (bool more = true;
       more && measure_time_left(t->m) && t->seen->dataset_count < s->most;) {
    tuning_progress(t, 40 * t->seen->dataset_count / (s->most + 1),
                    "%d points in %d cells", t->seen->dataset_count, s->cells.count);
    more = refine(s);
  }
}

// What would have been chosen from fewer points, and the choice from all.
static void choose_from_more_and_more(Sampler *s) {
  int all = s->t->seen->dataset_count;
  for (int count = FIRST_POINTS; count < all && s->t->options->holdout > 0;
       count += count / 2)
    choose_from(s, count);
  choose_from(s, all);
}

void sample_ranges(Tuning *t) {
  const TunerOptions *o = t->options;
  int capacity = o->max_points + o->holdout + 1;
  Sampler s = { .t = t, .dims = o->range_count, .state = o->seed + 77 };
  s.points = (Points){ .t = t, .of = new_array(PointData, capacity) };
  s.most = o->max_points;
  t->sampling.points = new_array(int64_t, capacity * s.dims);
  t->choice.sizes.values = new_array(int64_t, capacity * DECISION_MOST_SIZES);
  t->checks.before = measure_default_thresholds(t->m);
  t->m->limits.deadline -=
      (0.15 + 0.1 * !o->no_sizes + 0.5 * (o->holdout > 0)) * o->budget_s;
  explore(&s);
  t->m->limits.deadline += 0.15 * o->budget_s;
  visit_again(&s, 0, NULL);
  choose_from_more_and_more(&s);
  t->sampling.holdout_from = t->seen->dataset_count;
  t->sampling.cells = s.cells.count;
  vec_each (const Cell *, cell, &s.cells)
    t->sampling.open_cells += !cell->closed;
  if (!o->no_sizes) {
    t->m->limits.deadline += 0.1 * o->budget_s;
    choose_sizes(&s);
  }
  if (o->holdout > 0) hold_out(&s);
}
