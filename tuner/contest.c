#include "tuner/contest.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

enum {
  TURN_US = 20000,  // of all entrants on one data set
  MOST_ROUNDS = 16,
  LEAST_ROUNDS = 10,
  MOST_TURNS = 24
};
static const double gain = 0.02, far_behind = 1.5;

Contest contest_new(Tuning *t, const bool *on, double until) {
  return (Contest){ .t = t, .on = on, .until = until };
}

void contest_enter(Contest *c, const char *settings, int64_t value) {
  if (c->count == CONTEST_MOST) return;
  Entrant *new_one = &c->list[c->count++];
  *new_one = (Entrant){ .settings = settings, .value = value };
  new_one->us = new_array(Samples, c->t->choice.problem.dataset_count + 1);
}

// ---- what the samples say

static double objective_of_entrant(const Contest *c, const Entrant *entrant) {
  const SolveProblem *p = &c->t->choice.problem;
  double *times = new_array(double, p->dataset_count + 1);
  for (int d = 0; d < p->dataset_count; d++)
    times[d] = entrant->us[d].count ? samples_low(&entrant->us[d]) : 0;
  return solve_objective(p, times,
                         p->objective == SOLVE_MAX_REGRET ? c->t->choice.alone : NULL);
}

// The relative error of the objective, from the data set that matters most.
static double error_of(const Contest *c, const Entrant *entrant) {
  double sum = 0, squares = 0;
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++) {
    if (!entrant->us[d].count) continue;
    double weight = c->t->choice.problem.weights[d];
    sum += weight * samples_low(&entrant->us[d]);
    squares += pow(weight * samples_low_error(&entrant->us[d]), 2);
  }
  return sum > 0 ? sqrt(squares) / sum : 0;
}

double contest_ratio(const Contest *c, const Entrant *entrant, double *error) {
  *error = hypot(error_of(c, entrant), error_of(c, &c->list[0]));
  return objective_of_entrant(c, entrant) / objective_of_entrant(c, &c->list[0]);
}

// Does any data set lose, beyond noise?  What the sum gains from long runs says nothing about short
// ones.
bool contest_harms_one(const Contest *c, const Entrant *entrant) {
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++) {
    const Samples *now = &c->list[0].us[d], *then = &entrant->us[d];
    if (!now->count) continue;
    double doubt = hypot(samples_low_error(now), samples_low_error(then));
    if (samples_low(then) - doubt > (1 + gain) * samples_low(now)) return true;
  }
  return false;
}

static int rounds_of(const Contest *c) {
  int least = INT32_MAX;
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++)
    if (c->on[d] && c->list[0].us[d].count < least) least = c->list[0].us[d].count;
  return least;
}

static bool is_better(const Contest *c, const Entrant *entrant) {
  double error, ratio = contest_ratio(c, entrant, &error);
  return rounds_of(c) >= LEAST_ROUNDS && ratio + 2 * error < 1 - gain &&
         !contest_harms_one(c, entrant);
}

// Those that can no longer win leave; how many are left beside the first?
static int sort_out(Contest *c) {
  int left = 0;
  for (int i = 1; i < c->count; i++) {
    Entrant *entrant = &c->list[i];
    if (entrant->out) continue;
    double error, ratio = contest_ratio(c, entrant, &error);
    entrant->out = ratio - 2 * error > 1 - gain;
    left += !entrant->out;
  }
  return left;
}

static Entrant *best_of(Contest *c) {
  Entrant *best = NULL;
  for (int i = 1; i < c->count; i++)
    if (!c->list[i].out &&
        (!best || objective_of_entrant(c, &c->list[i]) < objective_of_entrant(c, best)))
      best = &c->list[i];
  return best;
}

// ---- runs

// Those that run, in turn forwards and backwards.
static int running(const Contest *c, bool backwards, int *numbers) {
  int count = 0;
  for (int k = 0; k < c->count; k++) {
    int i = backwards ? c->count - 1 - k : k;
    if (!c->list[i].out) numbers[count++] = i;
  }
  return count;
}

static bool keep_times(Contest *c, int d, const json_t *json, const int *numbers,
                       int first) {
  const json_t *paths = json_object_get(json, "paths");
  for (size_t k = 0; k < json_array_size(paths); k++) {
    const json_t *us = json_object_get(json_array_get(paths, k), "us");
    if (!json_is_array(us)) return false;
    for (size_t i = (size_t)first; i < json_array_size(us); i++)
      vec_push(&c->list[numbers[k]].us[d], json_number_value(json_array_get(us, i)));
  }
  return json_is_array(paths);
}

// Rounds on a data set, the first of which may be left out.
static bool race_rounds(Contest *c, int d, int rounds, int first) {
  Measure *m = c->t->m;
  int numbers[CONTEST_MOST], count = running(c, c->list[0].us[d].count % 2, numbers);
  const char *variables = measure_variables(m, d);
  if (!variables) return false;
  Text *line = text_new();
  text_printf(line, "race %s %d%s", m->entry, rounds, variables);
  for (int k = 0; k < count; k++)
    text_printf(line, " %s", c->list[numbers[k]].settings);
  double limit_s = 60 + 10 * m->limits.timeout_s;
  Reply reply = child_command(&m->server, limit_s, "%s", text_str(line));
  m->executions += count * rounds;
  c->t->sizing.runs += count * rounds;
  if (reply.status == REPLY_INTERRUPTED) m->interrupted = true;
  json_t *json = reply.status == REPLY_OK ? json_loads(reply.text, 0, NULL) : NULL;
  bool ok = json && keep_times(c, d, json, numbers, first);
  json_decref(json);
  return ok;
}

static bool is_time_left(const Contest *c) {
  return !c->t->m->interrupted && child_now() < c->until;
}

static int rounds_for(const Contest *c, int d) {
  double us = fmax(1, c->t->seen->states[d].least_us) * c->count;
  return (int)fmax(1, fmin(MOST_ROUNDS, TURN_US / us));
}

bool contest_turn(Contest *c, int turns) {
  for (int k = 0; k < turns; k++)
    for (int d = 0; d < c->t->choice.problem.dataset_count; d++) {
      if (!c->on[d]) continue;
      if (!is_time_left(c) || !race_rounds(c, d, rounds_for(c, d), 0)) return false;
    }
  return true;
}

static void drop_samples(Contest *c) {
  for (int i = 0; i < c->count; i++)
    for (int d = 0; d < c->t->choice.problem.dataset_count; d++)
      c->list[i].us[d].count = 0;
}

// The first call with a value may compile kernels; the second tells who is hopeless.
static bool warm_up(Contest *c) {
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++)
    if (c->on[d] && (!is_time_left(c) || !race_rounds(c, d, 2, 1))) return false;
  for (int i = 1; i < c->count; i++)
    c->list[i].out = objective_of_entrant(c, &c->list[i]) >
                     far_behind * objective_of_entrant(c, &c->list[0]);
  drop_samples(c);
  return best_of(c) != NULL;
}

// Runs until one is clearly better than the first, or none can be.
static const Entrant *race(Contest *c) {
  for (int turn = 0; turn < MOST_TURNS; turn++) {
    if (!contest_turn(c, 1)) return NULL;
    if (rounds_of(c) >= LEAST_ROUNDS / 2 && sort_out(c) == 0) return NULL;
    const Entrant *best = best_of(c);
    if (best && is_better(c, best)) return best;
  }
  return NULL;
}

const Entrant *contest_winner(Contest *c) {
  if (c->count < 2 || !warm_up(c)) return NULL;
  const Entrant *winner = race(c);
  if (!winner) return NULL;
  // Of several the luckiest seems to win: it has to do so again, alone.
  for (int i = 1; i < c->count; i++)
    c->list[i].out = &c->list[i] != winner;
  drop_samples(c);
  return race(c);
}
