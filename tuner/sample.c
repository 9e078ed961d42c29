// Tuning without data sets: points of a box of sizes, measured in all versions.
//
// Refinement after PEPPHER (adaptive off-line tuning, section 3.2: a cell whose corners agree on
// the winner is closed, others are split), with three differences: the largest open cell is split
// first and along its longest side only, at the geometric middle; a random point inside is asked
// before a large cell is closed; and the result is a threshold per guard, chosen exactly from all
// points by relative time, instead of a tree to be searched when the program runs.
#include "tuner/driver.h"
#include <math.h>
#include <string.h>
#include <unistd.h>

enum { MOST_DIMS = 6, LEAST_POINT_RUNS = 3, MOST_POINT_RUNS = 60, POINT_US = 30000 };
static const double probe_share = 1.0 / 32, near_best = 1.02;
static const double clock_us = 1.0;  // what the program's clock can tell apart

typedef struct Cell {
  int64_t low[MOST_DIMS], high[MOST_DIMS];
  bool closed;
} Cell;

typedef struct Sampler {
  Tuning *t;
  int dims;
  const char **winners;  // per data set: its own best choice, as text
  Vec(Cell) cells;
  uint64_t state;
  int most;  // points for choosing
} Sampler;

static double uniform(Sampler *s) {
  s->state = s->state * 6364136223846793005u + 1442695040888963407u;
  return (double)(s->state >> 11) / 9007199254740992.0;
}

// A log-uniform integer.
static int64_t random_size(Sampler *s, int64_t low, int64_t high) {
  double from = log(fmax(1, (double)low)), to = log((double)high + 1);
  int64_t x = (int64_t)exp(from + (to - from) * uniform(s));
  return x < low ? low : x > high ? high : x;
}

// ---- points

static int point_known(const Sampler *s, const int64_t *sizes) {
  for (int d = 0; d < s->t->m->dataset_count; d++)
    if (memcmp(s->t->sizes + d * s->dims, sizes, (size_t)s->dims * sizeof *sizes) == 0)
      return d;
  return -1;
}

// The choice of the guards' branches that is best for this point alone.
static const char *winner(const Sampler *s, int d) {
  SolveProblem p = tuning_problem(s->t, s->t->m->dataset_count);
  SolveResult own = solve_alone(&p, d);
  const SolveFate *fates = solve_fates(&p, solve_thresholds(&p, &own));
  Text *text = text_new();
  for (int i = 0; i < p.group_count; i++)
    if (p.groups[i].dataset == d && fates[i].reached)
      text_printf(text, "%d%c", p.groups[i].guard, fates[i].branch ? 'F' : 'T');
  return text_str(text);
}

// Short runs are repeated until they have taken some time; version after version, so that what
// drifts meets all alike.
static void cover_point(Tuning *t, int d) {
  tuning_cover(t, d, 1);
  double us = t->m->states[d].least_us;
  int runs = (int)fmin(MOST_POINT_RUNS, fmax(LEAST_POINT_RUNS, POINT_US / fmax(us, 1)));
  for (int k = 2; k <= runs && measure_time_left(t->m); k++)
    tuning_cover(t, d, k);
}

// Measures the point; its number, or -1 if that is not possible.
static int measure_point(Sampler *s, const int64_t *sizes) {
  Tuning *t = s->t;
  int d = point_known(s, sizes);
  if (d >= 0) return d;
  TunerDataset data = { 0 };
  if (!measure_time_left(t->m)) return -1;
  d = t->m->dataset_count;
  if (!t->options->make(t->options->make_state, sizes, d, &data)) return -1;
  memcpy(t->sizes + d * s->dims, sizes, (size_t)s->dims * sizeof *sizes);
  measure_add(t->m, data);
  measure_default(t->m, d);
  cover_point(t, d);
  measure_unload(t->m, d);
  unlink(data.file);
  s->winners[d] = winner(s, d);
  return d;
}

// ---- cells

static double log_size(const Cell *cell, int dim) {
  return log((double)cell->high[dim] + 1) - log(fmax(1, (double)cell->low[dim]));
}

static double volume(const Sampler *s, const Cell *cell) {
  double product = 1;
  for (int i = 0; i < s->dims; i++)
    product *= fmax(0.1, log_size(cell, i));
  return product;
}

// Measures the corners; do they agree?
static bool corners_agree(Sampler *s, const Cell *cell) {
  int first = -1;
  for (int corner = 0; corner < 1 << s->dims; corner++) {
    int64_t sizes[MOST_DIMS];
    for (int i = 0; i < s->dims; i++)
      sizes[i] = corner >> i & 1 ? cell->high[i] : cell->low[i];
    if (s->t->m->dataset_count >= s->most && point_known(s, sizes) < 0) continue;
    int d = measure_point(s, sizes);
    if (d < 0) continue;
    if (first >= 0 && strcmp(s->winners[d], s->winners[first]) != 0) return false;
    first = d;
  }
  return first >= 0;
}

static bool inside_agrees(Sampler *s, const Cell *cell) {
  int64_t sizes[MOST_DIMS];
  for (int i = 0; i < s->dims; i++)
    sizes[i] = random_size(s, cell->low[i], cell->high[i]);
  int d = s->t->m->dataset_count < s->most ? measure_point(s, sizes) : -1;
  int corner = point_known(s, cell->low);
  return d < 0 || corner < 0 || strcmp(s->winners[d], s->winners[corner]) == 0;
}

static bool splits(const Cell *cell, int dim) {
  return cell->high[dim] > cell->low[dim] + 1;
}

static int longest_side(const Sampler *s, const Cell *cell) {
  int longest = -1;
  for (int i = 0; i < s->dims; i++)
    if (splits(cell, i) && (longest < 0 || log_size(cell, i) > log_size(cell, longest)))
      longest = i;
  return longest;
}

static void add_cell(Sampler *s, Cell cell) {
  double whole = s->cells.count ? volume(s, &s->cells.at[0]) : volume(s, &cell);
  cell.closed = corners_agree(s, &cell);
  if (cell.closed && volume(s, &cell) > probe_share * whole)
    cell.closed = inside_agrees(s, &cell);
  if (longest_side(s, &cell) < 0) cell.closed = true;
  vec_push(&s->cells, cell);
}

// Splits the largest open cell; false if there is none.  Cell 0 stays what the box was.
static bool refine(Sampler *s) {
  int largest = -1;
  for (int i = 0; i < s->cells.count; i++)
    if (!s->cells.at[i].closed &&
        (largest < 0 || volume(s, &s->cells.at[i]) > volume(s, &s->cells.at[largest])))
      largest = i;
  if (largest < 0) return false;
  Cell low = s->cells.at[largest], high = low;
  s->cells.at[largest].closed = true;
  int dim = longest_side(s, &low);
  double middle = sqrt(fmax(1, (double)low.low[dim]) * (double)low.high[dim]);
  int64_t at = (int64_t)middle;
  if (at <= low.low[dim]) at = low.low[dim] + 1;
  if (at >= low.high[dim]) at = low.high[dim] - 1;
  low.high[dim] = at;
  high.low[dim] = at;
  add_cell(s, low);
  add_cell(s, high);
  return true;
}

// ---- choosing

// Points count by relative time: each is weighted by the inverse of its own best.
static void choose(Tuning *t, int points) {
  SolveProblem p = tuning_problem(t, points);
  double *weights = new_array(double, points + 1);
  for (int d = 0; d < points; d++) {
    weights[d] = 1;
    double own = solve_alone(&p, d).times[d];
    weights[d] = isfinite(own) && own > 0 ? 1 / own : 1e-9;
  }
  p.weights = weights;
  p.objective = SOLVE_SUM;
  t->problem = p;
  t->best = solve(&p);
  t->thresholds = solve_thresholds(&p, &t->best);
  vec_push(&t->curve, (CurvePoint){ .points = points, .thresholds = t->thresholds });
}

static void judge(const Tuning *t, const SolveProblem *p, CurvePoint *point,
                  const double *own) {
  const double *times = solve_times(p, point->thresholds);
  Precision *r = &point->precision;
  double squares = 0;
  for (int d = t->holdout_from; d < p->dataset_count; d++) {
    double ratio = times[d] / own[d];
    if (!isfinite(ratio)) continue;
    bool same = times[d] - own[d] <= clock_us;
    r->points++;
    r->fastest += same;
    r->near += same || ratio <= near_best;
    r->regret += ratio - 1;
    squares += (ratio - 1) * (ratio - 1);
  }
  if (r->points == 0) return;
  r->regret /= r->points;
  r->regret_error =
      sqrt(fmax(0, squares / r->points - r->regret * r->regret) / r->points);
}

// Points that the choice never saw.
static void hold_out(Sampler *s) {
  Tuning *t = s->t;
  t->holdout_from = t->m->dataset_count;
  t->m->deadline += 0.5 * t->options->budget_s;
  s->most = t->holdout_from + t->options->holdout;
  while (t->m->dataset_count < s->most && measure_time_left(t->m)) {
    int64_t sizes[MOST_DIMS];
    for (int i = 0; i < s->dims; i++)
      sizes[i] = random_size(s, t->options->ranges[i].low, t->options->ranges[i].high);
    int before = t->m->dataset_count;
    tuning_progress(t, 60 + 38 * (before - t->holdout_from) / (t->options->holdout + 1),
                    "held-out point %d of %d", before - t->holdout_from + 1,
                    t->options->holdout);
    if (measure_point(s, sizes) < 0) break;
  }
  SolveProblem p = tuning_problem(t, t->m->dataset_count);
  double *own = new_array(double, p.dataset_count + 1);
  for (int d = t->holdout_from; d < p.dataset_count; d++)
    own[d] = solve_alone(&p, d).times[d];
  vec_each (CurvePoint *, point, &t->curve)
    judge(t, &p, point, own);
}

void tuning_sample(Tuning *t) {
  const TunerOptions *o = t->options;
  int capacity = o->max_points + o->holdout;
  Sampler s = { .t = t, .dims = o->range_count, .state = o->seed + 77 };
  s.winners = new_array(const char *, capacity + 1);
  s.most = o->max_points;
  t->sizes = new_array(int64_t, (capacity + 1) * s.dims);
  Cell box = { .closed = false };
  for (int i = 0; i < s.dims; i++) {
    box.low[i] = o->ranges[i].low;
    box.high[i] = o->ranges[i].high;
  }
  t->m->deadline -= 0.5 * o->budget_s * (o->holdout > 0);
  add_cell(&s, box);
  s.cells.at[0].closed = false;
  int next = 8;
  while (t->m->dataset_count < s.most && measure_time_left(t->m)) {
    tuning_progress(t, 60 * t->m->dataset_count / (s.most + 1), "%d points in %d cells",
                    t->m->dataset_count, s.cells.count);
    if (!refine(&s)) break;
    if (t->m->dataset_count < next) continue;
    choose(t, t->m->dataset_count);
    next = 2 * t->m->dataset_count;
  }
  choose(t, t->m->dataset_count);
  t->holdout_from = t->m->dataset_count;
  if (o->holdout > 0) hold_out(&s);
  t->before = measure_default_thresholds(t->m);
}
