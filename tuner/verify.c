// Whole runs have the last word: tuned against default and against the runner-up, in turn.
#include "tuner/verify.h"
#include "tuner/choose.h"
#include <math.h>
#include <string.h>

enum { VERIFY_RUNS = 2, MOST_VERIFY_RUNS = 12, SHORT_TURNS = 10 };
static const double doubt = 0.02, close_by = 0.05;

// Do two choices of thresholds run the same versions on the data set?
static bool same_versions(const Tuning *t, int dataset, const int64_t *a,
                          const int64_t *b) {
  const SolveFate *x = solve_fates(&t->choice.problem, a),
                  *y = solve_fates(&t->choice.problem, b);
  for (int i = 0; i < t->choice.problem.group_count; i++) {
    if (t->choice.problem.groups[i].dataset != dataset ||
        (!x[i].reached && !y[i].reached))
      continue;
    if (x[i].reached != y[i].reached || x[i].branch != y[i].branch) return false;
  }
  return true;
}

// Is a guard asked whose default is no threshold?  Negative ones are by work, which is not told.
static bool goes_by_work(const Tuning *t, int dataset, const int64_t *thresholds) {
  const SolveFate *fates = solve_fates(&t->choice.problem, thresholds);
  for (int i = 0; i < t->choice.problem.group_count; i++) {
    const SolveGroup *group = &t->choice.problem.groups[i];
    if (group->dataset == dataset && fates[i].reached && thresholds[group->guard] < 0)
      return true;
  }
  return false;
}

bool verify_same_versions(const Tuning *t, int dataset) {
  const int64_t *before = t->checks.before;
  return before && !goes_by_work(t, dataset, before) &&
         same_versions(t, dataset, t->choice.thresholds, before);
}

static bool same_as_chosen(const Tuning *t, int dataset, const int64_t *other) {
  return other == t->checks.before
             ? verify_same_versions(t, dataset)
             : same_versions(t, dataset, t->choice.thresholds, other);
}

// ---- the runner-up

static bool differs_anywhere(const Tuning *t, const int64_t *other) {
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    if (!same_versions(t, d, t->choice.thresholds, other)) return true;
  return false;
}

// The best of the choices that differ in one guard only, if it is nearly as good; else NULL.
static const int64_t *runner_up(const Tuning *t) {
  const int64_t *best = NULL;
  double now = solve_objective(
      &t->choice.problem, solve_times(&t->choice.problem, t->choice.thresholds), NULL);
  double least = now * (1 + close_by);
  for (int i = 0; i < 2 * t->choice.problem.group_count; i++) {
    const SolveGroup *g = &t->choice.problem.groups[i / 2];
    int64_t *other = mem_copy(t->choice.thresholds,
                              (size_t)(t->tree->guard_count + 1) * sizeof *other);
    other[g->guard] = i % 2 ? g->par : g->par + 1;
    double value =
        solve_objective(&t->choice.problem, solve_times(&t->choice.problem, other), NULL);
    if (!(value < least) || !differs_anywhere(t, other)) continue;
    least = value;
    best = other;
  }
  return best;
}

// ---- runs

typedef struct Turn {
  const int64_t *thresholds;
  Samples *samples;
} Turn;

// Everything once, forwards or backwards: what drifts meets all alike.
static void verify_turn(Tuning *t, int d, bool forwards, bool keep) {
  Verified *v = &t->checks.verified[d];
  bool failed = t->seen->states[d].default_failure != NULL;
  bool rival =
      t->checks.rival && !same_versions(t, d, t->choice.thresholds, t->checks.rival);
  Turn turns[] = { { t->choice.thresholds, &v->tuned },
                   { failed ? NULL : t->checks.before, &v->before },
                   { rival ? t->checks.rival : NULL, &v->rival } };
  for (int i = 0; i < 3; i++) {
    const Turn *now = &turns[forwards ? i : 2 - i];
    if (!now->thresholds) continue;
    double us = measure_thresholds(t->m, d, now->thresholds);
    t->checks.runs++;
    if (us >= 0 && keep) vec_push(now->samples, us);
  }
}

// The first turn of short runs warms up; and of short runs more are made.
static void verify_dataset(Tuning *t, int d, int run) {
  double us = t->seen->states[d].least_us;
  bool is_short = us < t->m->limits.short_us;
  int turns = is_short ? (int)fmin(SHORT_TURNS, 2 + t->m->limits.short_us / us) : 1;
  tuning_progress(t, 85 + run, "%s: tuned against default", t->seen->data[d].name);
  if (run == 0 && is_short) verify_turn(t, d, true, false);
  for (int i = 0; i < turns; i++)
    verify_turn(t, d, (run + i) % 2 == 0, true);
}

// Is there anything to compare on the data set?
static bool is_comparable(const Tuning *t, int d) {
  if (t->seen->states[d].stays) return false;
  return !verify_same_versions(t, d) ||
         (t->checks.rival && !same_versions(t, d, t->choice.thresholds, t->checks.rival));
}

// The weighted sum of `a` over that of `b`, on data sets that run other versions, and its error.
static double ratio_of(const Tuning *t, const int64_t *other, size_t a, size_t b,
                       double *error) {
  double sum_a = 0, sum_b = 0, squares = 0;
  for (int d = 0; d < t->choice.problem.dataset_count; d++) {
    const Samples *x = (const Samples *)((const char *)&t->checks.verified[d] + a);
    const Samples *y = (const Samples *)((const char *)&t->checks.verified[d] + b);
    if (!x->count || !y->count || same_as_chosen(t, d, other)) continue;
    sum_a += t->choice.problem.weights[d] * samples_typical(x);
    sum_b += t->choice.problem.weights[d] * samples_typical(y);
    squares +=
        pow(t->choice.problem.weights[d] * hypot(samples_error(x), samples_error(y)), 2);
  }
  *error = sum_b > 0 ? sqrt(squares) / sum_b : 0;
  return sum_b > 0 ? sum_a / sum_b : 1;
}

static double against_default(const Tuning *t, double *error) {
  return ratio_of(t, t->checks.before, offsetof(Verified, tuned),
                  offsetof(Verified, before), error);
}

// Is it clear whether the tuned program is slower than the default by more than is accepted?
static bool is_clear(const Tuning *t) {
  double error, ratio = against_default(t, &error);
  return ratio <= 1 || ratio + 2 * error < 1 + doubt || ratio - 2 * error > 1 + doubt;
}

static void verify_all(Tuning *t) {
  for (int run = 0; run < MOST_VERIFY_RUNS; run++) {
    bool enough = run >= VERIFY_RUNS && is_clear(t);
    if (enough || t->m->interrupted) return;
    for (int d = 0; d < t->choice.problem.dataset_count; d++)
      if (is_comparable(t, d)) verify_dataset(t, d, run);
  }
}

// ---- consequences

// Was the tuned program slower, compared with the default, than predicted?
static bool contradicts(const Tuning *t, int d) {
  const Verified *v = &t->checks.verified[d];
  if (!v->tuned.count || !v->before.count || verify_same_versions(t, d) ||
      goes_by_work(t, d, t->checks.before))
    return false;
  double tuned = samples_typical(&v->tuned), before = samples_typical(&v->before);
  double noise =
      hypot(samples_error(&v->tuned) / tuned, samples_error(&v->before) / before);
  double predicted = solve_times(&t->choice.problem, t->choice.thresholds)[d] /
                     solve_times(&t->choice.problem, t->checks.before)[d];
  return log(tuned / before / predicted) > doubt + 2 * noise;
}

// Measures the data sets whose prediction did not hold by forced whole runs, and chooses again.
static bool measure_suspects(Tuning *t) {
  bool any = false;
  for (int d = 0; d < t->choice.problem.dataset_count; d++) {
    if (!measure_time_left(t->m) || !contradicts(t, d)) continue;
    tuning_progress(t, 90, "%s: not as predicted", t->seen->data[d].name);
    choose_cover(t, d, 2);
    any = true;
  }
  return any;
}

static void forget(Tuning *t) {
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    t->checks.verified[d] = (Verified){ 0 };
}

static void take_rival(Tuning *t) {
  if (!t->checks.rival) return;
  double error, ratio = ratio_of(t, t->checks.rival, offsetof(Verified, tuned),
                                 offsetof(Verified, rival), &error);
  if (ratio - error <= 1 + doubt) return;
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    if (!same_versions(t, d, t->choice.thresholds, t->checks.rival))
      t->checks.verified[d].tuned = t->checks.verified[d].rival;
  t->choice.thresholds = t->checks.rival;
}

// Does the choice lead to versions that there was no time to measure?
static bool is_blind_on(const Tuning *t, int d, const double *times) {
  return (isinf(times[d]) || times[d] <= 0) && !t->seen->states[d].failure &&
         !t->seen->states[d].default_failure;
}

// These data sets stay with what they run by default.  False if there are none (any more).
static bool stay_blind(Tuning *t) {
  const double *times = solve_times(&t->choice.problem, t->choice.thresholds);
  bool any = false;
  for (int d = 0; d < t->choice.problem.dataset_count; d++) {
    const DataState *state = &t->seen->states[d];
    if (!is_blind_on(t, d, times) || state->stays || state->by_default.us <= 0) continue;
    evidence_stay(t->seen, d);
    any = true;
  }
  return any;
}

// Where there is more to go by, the choice is made by that; false if there is not, or if no
// thresholds do so.
static bool choose_by_measured(Tuning *t) {
  while (stay_blind(t))
    choose(t);
  const double *times = solve_times(&t->choice.problem, t->choice.thresholds);
  bool measured = false;
  for (int d = 0; d < t->choice.problem.dataset_count; d++) {
    if (is_blind_on(t, d, times)) return false;
    measured |= !t->seen->states[d].failure && !t->seen->states[d].stays;
  }
  return measured;
}

void verify(Tuning *t) {
  if (!t->checks.before) return;
  if (!choose_by_measured(t)) {
    t->checks.kept_before = t->checks.blind = true;
    t->choice.thresholds = t->checks.before;
    return;
  }
  t->checks.rival = runner_up(t);
  verify_all(t);
  if (!t->options->no_replay && measure_suspects(t)) {
    t->checks.mistrusted = true;
    choose_known(t);
    t->checks.rival = runner_up(t);
    forget(t);
    verify_all(t);
  }
  take_rival(t);
  double error;
  t->checks.kept_before = against_default(t, &error) > 1 + doubt;
  if (t->checks.kept_before) t->choice.thresholds = t->checks.before;
}
