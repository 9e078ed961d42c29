// Group sizes, numbers of groups and the like, once the thresholds are chosen: whole runs of a few
// values of each, by successive halving (docs/tuning.md, step 6).
#include "tuner/sizes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FACTOR = 4, MOST_VALUES = 4, FIRST_TURNS = 2, MOST_TURNS = 16, LEAST_TURNS = 10 };
static const double gain = 0.02, share_of_budget = 0.15, most_seconds = 5;

// A value of a parameter, and its whole runs.
typedef struct SizeTrial {
  int64_t value;
  Samples *us;  // per data set
  bool out;
} SizeTrial;

typedef struct Contest {
  Tuning *t;
  const char *name;
  SizeTrial trials[MOST_VALUES];
  int count;
  double until;
} Contest;

// ---- parameters

static bool is_group_size(const char *kind) { return strcmp(kind, "group_size") == 0; }

void sizes_find(Tuning *t) {
  Measure *m = t->m;
  Reply reply = measure_command(m, text_format("tuning_params %s", m->entry));
  if (reply.status != REPLY_OK) return;
  for (const char *at = reply.text, *line; reply_line(&at, &line);) {
    size_t name = strcspn(line, " ");
    const char *word = text_format("%.*s", (int)name, line),
               *kind = line + name + (line[name] == ' ');
    Reply value = measure_command(m, text_format("tuning_param_value %s", word));
    if (strcmp(kind, "threshold") != 0 && value.status == REPLY_OK) {
      int64_t now = strtoll(value.text, NULL, 10);
      vec_push(&t->sizing.params, (SizeParam){ word, kind, now, now, NULL });
    }
  }
}

// ---- a contest between values

static double objective_of_trial(const Contest *c, const SizeTrial *trial) {
  const SolveProblem *p = &c->t->choice.problem;
  double *times = new_array(double, p->dataset_count + 1);
  for (int d = 0; d < p->dataset_count; d++)
    times[d] = trial->us[d].count ? samples_typical(&trial->us[d]) : 0;
  return solve_objective(p, times,
                         p->objective == SOLVE_MAX_REGRET ? c->t->choice.alone : NULL);
}

// The relative error of the objective, from the data set that matters most.
static double error_of(const Contest *c, const SizeTrial *trial) {
  double sum = 0, squares = 0;
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++) {
    if (!trial->us[d].count) continue;
    double weight = c->t->choice.problem.weights[d];
    sum += weight * samples_typical(&trial->us[d]);
    squares += pow(weight * samples_error(&trial->us[d]), 2);
  }
  return sum > 0 ? sqrt(squares) / sum : 0;
}

static void run_trial(Contest *c, SizeTrial *trial, bool keep) {
  Measure *m = c->t->m;
  measure_command(
      m, text_format("set_tuning_param %s %lld", c->name, (long long)trial->value));
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++) {
    if (m->seen->states[d].failure || m->interrupted) continue;
    double us = measure_thresholds(m, d, c->t->choice.thresholds);
    c->t->sizing.runs++;
    if (us < 0)
      trial->out = true;
    else if (keep)
      vec_push(&trial->us[d], us);
  }
}

static bool turn(Contest *c, bool forwards, bool keep) {
  for (int i = 0; i < c->count; i++) {
    SizeTrial *trial = &c->trials[forwards ? i : c->count - 1 - i];
    if (trial->out) continue;
    if (c->t->m->interrupted || child_now() > c->until) return false;
    run_trial(c, trial, keep);
  }
  return true;
}

static SizeTrial *best_of(Contest *c) {
  SizeTrial *best = &c->trials[0];
  for (int i = 1; i < c->count; i++)
    if (!c->trials[i].out &&
        (best->out || objective_of_trial(c, &c->trials[i]) < objective_of_trial(c, best)))
      best = &c->trials[i];
  return best;
}

// Keeps the value in force (the first) and the better half of the others, if they still may win.
static int halve(Contest *c) {
  int left = 0;
  const SizeTrial *best = best_of(c);
  double now = objective_of_trial(c, &c->trials[0]);
  for (int i = 1; i < c->count; i++) {
    SizeTrial *trial = &c->trials[i];
    double behind = objective_of_trial(c, trial) / now -
                    2 * hypot(error_of(c, trial), error_of(c, &c->trials[0]));
    if (behind > 1 - gain || (trial != best && c->count > 2)) trial->out = true;
    left += !trial->out;
  }
  return left;
}

// All data sets of one turn.
static double turn_us(const Contest *c, const SizeTrial *trial, int number) {
  double sum = 0;
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++)
    if (number < trial->us[d].count)
      sum += c->t->choice.problem.weights[d] * trial->us[d].at[number];
  return sum;
}

// Does any data set lose?  What the sum gains from long runs says nothing about short ones.
static bool harms_one(const Contest *c, const SizeTrial *trial) {
  for (int d = 0; d < c->t->choice.problem.dataset_count; d++) {
    const Samples *now = &c->trials[0].us[d], *then = &trial->us[d];
    if (now->count && samples_typical(then) > (1 + gain) * samples_typical(now))
      return true;
  }
  return false;
}

// Is the value clearly better than that in force, by its typical times and in most turns?
static bool wins(const Contest *c, const SizeTrial *trial, int turns) {
  int better = 0;
  for (int i = 0; i < turns; i++)
    better += turn_us(c, trial, i) < turn_us(c, &c->trials[0], i);
  double ratio = objective_of_trial(c, trial) / objective_of_trial(c, &c->trials[0]);
  double error = hypot(error_of(c, trial), error_of(c, &c->trials[0]));
  return turns >= LEAST_TURNS && better >= 0.8 * turns && ratio + 2 * error < 1 - gain &&
         !harms_one(c, trial);
}

// The winner, or NULL if the value in force stays.
static SizeTrial *decide(Contest *c) {
  if (!turn(c, true, false)) return NULL;
  for (int turns = FIRST_TURNS, done = 0; done < MOST_TURNS; turns *= 2) {
    for (; done < turns; done++)
      if (!turn(c, done % 2 == 0, true)) return NULL;
    if (halve(c) == 0) return NULL;
  }
  SizeTrial *best = best_of(c);
  return best != &c->trials[0] && wins(c, best, MOST_TURNS) ? best : NULL;
}

static Contest contest_new(Tuning *t, const SizeParam *p, double until) {
  Contest c = { .t = t, .name = p->name, .until = until };
  const int64_t values[] = { p->value, p->value / FACTOR, p->value * FACTOR };
  for (int i = 0; i < 3; i++) {
    bool fits = !is_group_size(p->kind) || values[i] <= t->sizing.max_group_size;
    if (i > 0 && (values[i] < 1 || !fits)) continue;
    c.trials[c.count] = (SizeTrial){ .value = values[i] };
    c.trials[c.count++].us = new_array(Samples, t->choice.problem.dataset_count + 1);
  }
  return c;
}

// ---- the whole

// Does the program still give the right results?
static bool results_hold(Tuning *t) {
  for (int d = 0; d < t->choice.problem.dataset_count; d++) {
    double us = 0;
    if (t->seen->states[d].failure || !measure_start(t->m)) continue;
    measure_thresholds(t->m, d, t->choice.thresholds);  // sets them
    Reply reply = measure_call(t->m, d, true, &us);
    const char *wrong =
        reply.status == REPLY_OK ? measure_check_result(t->m, d) : reply.text;
    measure_command(t->m, "free result");
    if (wrong) return false;
  }
  return true;
}

static void contest(Tuning *t, SizeParam *p, double until) {
  for (;;) {
    Contest c = contest_new(t, p, until);
    const SizeTrial *winner = decide(&c);
    int64_t value = winner ? winner->value : p->value;
    measure_command(t->m,
                    text_format("set_tuning_param %s %lld", p->name, (long long)value));
    if (!winner || !results_hold(t)) break;
    double ratio = objective_of_trial(&c, winner) / objective_of_trial(&c, &c.trials[0]);
    p->reason =
        text_format("%.1f %% better than %lld", 100 * (1 - ratio), (long long)p->value);
    p->value = value;
    for (int d = 0; d < t->choice.problem.dataset_count; d++)
      if (t->checks.verified[d].before.count) t->checks.verified[d].tuned = winner->us[d];
  }
  measure_command(t->m,
                  text_format("set_tuning_param %s %lld", p->name, (long long)p->value));
}

static bool all_are_short(const Tuning *t, double seconds) {
  double sum = 0;
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    if (!t->seen->states[d].failure) sum += t->seen->states[d].least_us;
  return 1e-6 * sum * 3 * LEAST_TURNS < seconds;
}

void sizes_choose(Tuning *t) {
  double seconds = fmin(most_seconds, share_of_budget * t->options->budget_s);
  double until = fmin(t->m->limits.deadline, child_now() + seconds);
  if (t->sizing.params.count == 0 || !all_are_short(t, seconds)) return;
  vec_each (SizeParam *, p, &t->sizing.params) {
    if (t->m->interrupted || child_now() > until) return;
    tuning_progress(t, 95, "%s", p->name);
    contest(t, p, until);
  }
}
