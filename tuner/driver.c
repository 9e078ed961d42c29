// Cover, choose, measure again, verify.
#include "tuner/driver.h"
#include "base/file.h"
#include "tuner/replay.h"
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { WORLDS = 16, MOST_ROUNDS = 14, MOST_REPLAYS = 2, MOST_BOUNDS = 8 };
static const double tie = 0.01;

void tuning_progress(const Tuning *t, int percent, const char *format, ...) {
  if (t->options->quiet || !isatty(STDERR_FILENO)) return;
  va_list args;
  va_start(args, format);
  fprintf(stderr, "\r\033[K[%3d%%] %s", percent, text_format_list(format, args));
  va_end(args);
  fflush(stderr);
}

const char *tuning_time(double us) {
  if (isinf(us)) return "-";
  if (us < 1e3) return text_format("%.0f us", us);
  if (us < 1e6) return text_format("%.3g ms", us * 1e-3);
  return text_format("%.3g s", us * 1e-6);
}

// ---- the problem

SolveProblem tuning_problem(const Tuning *t, int count) {
  const Measure *m = t->m;
  SolveGroup *groups = new_array(SolveGroup, m->groups.count + 1);
  int *numbers = new_array(int, m->groups.count + 1), kept = 0;
  for (int i = 0; i < m->groups.count; i++) {
    const Group *g = &m->groups.at[i];
    if (g->dataset >= count) continue;
    numbers[i] = kept;
    SolveGroup *out = &groups[kept++];
    *out = (SolveGroup){
      g->dataset, g->guard, g->parent < 0 ? -1 : numbers[g->parent],
      g->par,     g->fits,  { samples_typical(&g->us[0]), samples_typical(&g->us[1]) }
    };
    for (int b = 0; b < 2; b++)
      if (m->versions[2 * g->guard + b].failure) out->cost[b] = INFINITY;
  }
  double *weights = new_array(double, count + 1), *base = new_array(double, count + 1);
  for (int d = 0; d < count; d++) {
    weights[d] = m->data[d].weight;
    base[d] = m->states[d].base.count ? samples_typical(&m->states[d].base) : 0;
  }
  return (
      SolveProblem){ t->tree, groups, kept, weights, base, count, t->options->objective };
}

SolveFate *tuning_fates(const Tuning *t) {
  return t->decisions ? decision_fates(&t->problem, &t->sizes, t->decisions)
                      : solve_fates(&t->problem, t->thresholds);
}

double *tuning_times(const Tuning *t) {
  return solve_fated_times(&t->problem, tuning_fates(t));
}

void tuning_cover(Tuning *t, int dataset, int runs) {
  for (int r = 0; r < t->runs; r++)
    measure_path(t->m, dataset, tree_cover(t->tree, r), runs);
}

// Versions whose results differ, or that replay could not run, are looked at in whole runs.
void tuning_measure(Tuning *t, int dataset) {
  ReplayOutcome outcome =
      t->options->no_replay ? REPLAY_FAILED : replay_run(t->m, dataset);
  if (outcome == REPLAY_FAILED) tuning_cover(t, dataset, 1);
  for (int r = 0; r < t->runs && outcome == REPLAY_DOUBTFUL; r++)
    measure_probe(t->m, dataset, tree_cover(t->tree, r));
}

// ---- what is contested

typedef struct Random {
  uint64_t state;
} Random;

static double uniform(Random *r) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return ((double)(r->state >> 11) + 0.5) / 9007199254740992.0;
}

static double gauss(Random *r) {
  return sqrt(-2 * log(uniform(r))) * cos(6.283185307179586 * uniform(r));
}

// A problem as the noise of the measurements allows it to be.
static SolveProblem possible_world(const Tuning *t, Random *r) {
  SolveProblem world = t->problem;
  SolveGroup *groups =
      mem_copy(world.groups, (size_t)(world.group_count + 1) * sizeof *groups);
  for (int i = 0, k = 0; i < t->m->groups.count; i++) {
    const Group *g = &t->m->groups.at[i];
    if (g->dataset >= world.dataset_count) continue;
    for (int b = 0; b < 2; b++)
      groups[k].cost[b] += gauss(r) * samples_error(&g->us[b]);
    k++;
  }
  world.groups = groups;
  return world;
}

// Marks the runs that would tell the two choices apart; per data set and covering run.
static void mark(const Tuning *t, const SolveResult *other, bool *marks) {
  const SolveFate *a = solve_fates(&t->problem, t->thresholds);
  const SolveFate *b = solve_fates(&t->problem, solve_thresholds(&t->problem, other));
  for (int i = 0; i < t->problem.group_count; i++) {
    if (a[i].reached == b[i].reached && (!a[i].reached || a[i].branch == b[i].branch))
      continue;
    const SolveGroup *g = &t->problem.groups[i];
    for (int run = 0; run < t->runs; run++) {
      char outcome = tree_cover(t->tree, run).outcome[g->guard];
      bool shows = (a[i].reached && outcome == (a[i].branch ? 'F' : 'T')) ||
                   (b[i].reached && outcome == (b[i].branch ? 'F' : 'T'));
      if (shows) marks[g->dataset * t->runs + run] = true;
    }
  }
}

static double objective_of(const SolveProblem *p, const int64_t *thresholds) {
  return solve_objective(p, solve_times(p, thresholds), NULL);
}

// Would another choice win by more than a tie in one of the possible worlds?  NULL if (nearly)
// never, else the runs that would tell.
static bool *contested(const Tuning *t, Random *r) {
  bool *marks = new_array(bool, t->problem.dataset_count * t->runs + 1);
  int doubtful = 0;
  for (int i = 0; i < WORLDS; i++) {
    SolveProblem world = possible_world(t, r);
    SolveResult other = solve(&world);
    double ours = objective_of(&world, t->thresholds);
    double theirs = objective_of(&world, solve_thresholds(&world, &other));
    if (!(ours > theirs * (1 + tie))) continue;
    doubtful++;
    mark(t, &other, marks);
  }
  return doubtful > 1 ? marks : NULL;
}

void tuning_choose(Tuning *t) {
  t->problem = tuning_problem(t, t->m->dataset_count);
  t->best = solve(&t->problem);
  int64_t *thresholds = new_array(int64_t, t->tree->guard_count + 1);
  memcpy(thresholds, solve_thresholds(&t->problem, &t->best),
         (size_t)t->tree->guard_count * sizeof *thresholds);
  for (int g = 0; g < t->tree->guard_count; g++) {  // also for sizes that were not seen
    if (t->m->versions[2 * g].failure)
      thresholds[g] = SOLVE_NEVER;
    else if (t->m->versions[2 * g + 1].failure)
      thresholds[g] = 0;
  }
  t->thresholds = thresholds;
}

// The first chosen version of which only a lower bound is known.
static const SolveGroup *chosen_bound(const Tuning *t) {
  const SolveFate *fates = solve_fates(&t->problem, t->thresholds);
  for (int i = 0, k = 0; i < t->m->groups.count; i++) {
    const Group *g = &t->m->groups.at[i];
    if (g->dataset >= t->problem.dataset_count) continue;
    if (fates[k].reached && g->bound[fates[k].branch]) return &t->problem.groups[k];
    k++;
  }
  return NULL;
}

// A choice that stands on bounds is a guess that such versions are no slower than these: they are run.
void tuning_choose_known(Tuning *t) {
  tuning_choose(t);
  for (int i = 0; i < MOST_BOUNDS && measure_time_left(t->m); i++) {
    const SolveGroup *g = chosen_bound(t);
    if (!g) return;
    int branch = solve_fates(&t->problem, t->thresholds)[g - t->problem.groups].branch;
    Path path = tree_path_to(t->tree, g->guard, branch);
    int runs = measure_runs(t->m, g->dataset, measure_repair(t->m, path));
    measure_path(t->m, g->dataset, path, runs + 1);
    vec_each (Group *, group, &t->m->groups)  // whether it went well or not
      if (group->dataset == g->dataset && group->guard == g->guard)
        group->bound[branch] = false;
    tuning_choose(t);
  }
}

// Races those data sets again, for longer, on which a contested choice depends.
static bool race_marked(Tuning *t, const bool *marks, int round) {
  bool any = false;
  t->m->race_rounds = 24 << round;
  t->m->race_ms = 800 << round;
  for (int d = 0; d < t->problem.dataset_count && round < MOST_REPLAYS; d++) {
    bool marked = false;
    for (int run = 0; run < t->runs; run++)
      marked |= marks[d * t->runs + run];
    if (!marked || !t->m->states[d].covered) continue;
    replay_run(t->m, d);
    any = true;
  }
  return any;
}

static void measure_marked(Tuning *t, const bool *marks, int round) {
  for (int d = 0; d < t->problem.dataset_count; d++)
    for (int run = 0; run < t->runs; run++) {
      if (!marks[d * t->runs + run] || t->m->states[d].covered) continue;
      Path path = measure_repair(t->m, tree_cover(t->tree, run));
      tuning_progress(t, 40 + 3 * round, "%s: %s again", t->m->data[d].name,
                      tree_path_text(t->tree, path));
      measure_path(t->m, d, path, 2 * measure_runs(t->m, d, path));
    }
}

// Small differences between noisy runs are worth some time, not all of it.
static void settle(Tuning *t) {
  Random r = { t->options->seed + 1 };
  double until = child_now() + fmin(8, 0.25 * t->options->budget_s);
  tuning_choose_known(t);
  for (int round = 0; round < MOST_ROUNDS && measure_time_left(t->m); round++) {
    bool *marks = contested(t, &r);
    if (!marks || child_now() > until) return;
    bool raced = race_marked(t, marks, round);
    if (!raced && !t->options->no_replay && round >= MOST_REPLAYS) return;
    measure_marked(t, marks, round);
    tuning_choose_known(t);
  }
}

// ---- the whole

static void progress(void *state, const char *what) {
  const Tuning *t = state;
  tuning_progress(t, t->percent, "%s", what);
}

static int64_t capacity_of(const json_t *device) {
  const json_t *bytes = json_object_get(device, "local_bytes");
  return json_is_integer(bytes) ? json_integer_value(bytes) : INT64_MAX;
}

// Group sizes and the like, which times depend on.
static const char *params_of(Tuning *t) {
  Text *text = text_new();
  tuning_find_sizes(t);
  vec_each (const SizeParam *, p, &t->size_params)
    text_printf(text, "%s=%lld ", p->name, (long long)p->value);
  return text_str(text);
}

static const char *device_of(Tuning *t) {
  Measure *m = t->m;
  Reply reply = child_command(&m->server, m->timeout_s, "report");
  json_t *json = reply.status == REPLY_OK ? json_loads(reply.text, 0, NULL) : NULL;
  json_t *device = json_object_get(json, "device");
  const char *name = json_string_value(json_object_get(device, "name"));
  const char *code = json_string_value(json_object_get(device, "code"));
  const char *driver = json_string_value(json_object_get(device, "driver"));
  const char *text =
      text_format("%s (%s code)", name ? name : "unknown", code ? code : "cpu");
  m->capacity = capacity_of(device);
  t->max_group_size = json_integer_value(json_object_get(device, "max_group_size"));
  m->log.device = text_format("%s %s", text, driver ? driver : "");
  json_decref(json);
  return text;
}

static bool open_program(Tuning *t) {
  const TunerOptions *o = t->options;
  Measure *m = t->m;
  Reply reply = child_start(&m->server, 60);
  if (reply.status != REPLY_OK) {
    t->problem_text = text_format("the program does not start: %s", reply.text);
    return false;
  }
  m->log = (TunerLog){ .path = o->log_path, .fd = -1 };
  m->device = device_of(t);
  m->log.params = params_of(t);
  reply = child_command(&m->server, 60, "tree");
  if (reply.status != REPLY_OK) {
    t->problem_text = text_format("the program has no version tree: %s", reply.text);
    return false;
  }
  t->tree = m->tree = tree_read(reply.text, o->entry, &t->problem_text);
  if (!t->tree) return false;
  t->runs = tree_runs(t->tree->root);
  m->log.key = text_format("%s %s %s", o->hash, o->entry, m->device);
  int capacity = o->dataset_count + o->max_points + o->holdout;
  return measure_open(m, o->data, o->dataset_count, capacity);
}

static int compare_by_time(const void *a, const void *b) {
  const DataState *const *x = a, *const *y = b;
  return ((*x)->least_us > (*y)->least_us) - ((*x)->least_us < (*y)->least_us);
}

// Small data sets first: what hangs or crashes shows soonest there.
static int *by_time(const Measure *m) {
  const DataState **states = new_array(const DataState *, m->dataset_count + 1);
  int *order = new_array(int, m->dataset_count + 1);
  for (int d = 0; d < m->dataset_count; d++)
    states[d] = &m->states[d];
  qsort(states, (size_t)m->dataset_count, sizeof *states, compare_by_time);
  for (int i = 0; i < m->dataset_count; i++)
    order[i] = (int)(states[i] - m->states);
  return order;
}

static void tune_datasets(Tuning *t) {
  Measure *m = t->m;
  for (int d = 0; d < m->dataset_count; d++) {
    tuning_progress(t, 2, "%s: default", m->data[d].name);
    measure_default(m, d);
  }
  const int *order = by_time(m);
  for (int i = 0; i < m->dataset_count; i++) {
    t->percent = 5 + 35 * i / m->dataset_count;
    tuning_progress(t, t->percent, "%s", m->data[order[i]].name);
    tuning_measure(t, order[i]);
    DataState *state = &m->states[order[i]];
    if (state->base.count == 0) state->failure = state->default_failure;
  }
  settle(t);
  t->before = m->interrupted ? NULL : measure_default_thresholds(m);
  tuning_verify(t);
  if (!t->options->no_sizes && !m->interrupted) tuning_choose_sizes(t);
}

// Covering runs that neither happened nor failed.
static int missing_runs(const Tuning *t) {
  int missing = 0;
  for (int d = 0; d < t->problem.dataset_count; d++)
    for (int run = 0; run < t->runs; run++)
      missing += !measure_was_tried(t->m, d, tree_cover(t->tree, run));
  return missing;
}

static void find_alone(Tuning *t) {
  t->alone = new_array(double, t->problem.dataset_count + 1);
  for (int d = 0; d < t->problem.dataset_count; d++)
    t->alone[d] = solve_alone(&t->problem, d).times[d];
}

static bool anything_ran(const Tuning *t) {
  for (int d = 0; d < t->m->dataset_count; d++)
    if (!t->m->states[d].failure && t->m->states[d].base.count) return true;
  return false;
}

static void write_text(Tuning *t, const char *text, const char *path) {
  Text *file = text_new();
  text_add(file, text);
  if (!file_write(path, file))
    t->problem_text = text_format("cannot write %s: %s", path, strerror(errno));
}

static void write_results(Tuning *t) {
  if (!t->options->dry_run) write_text(t, tuning_file_text(t), t->options->out_path);
  if (t->options->report_path) write_text(t, tuning_page(t), t->options->report_path);
}

Tuning *tuner_run(const TunerOptions *options) {
  Tuning *t = new_node(Tuning, .options = options, .m = new (Measure));
  double started = child_now();
  Measure *m = t->m;
  m->server = (Child){ .argv = options->argv, .interrupt = child_catch_interrupt() };
  m->entry = options->entry;
  m->timeout_s = options->timeout_s;
  m->short_us = options->short_us;
  m->deadline = started + options->budget_s;
  m->scratch = options->scratch;
  m->compare = options->compare;
  m->compare_state = options->compare_state;
  m->report = text_new();
  m->race_rounds = 16;
  m->race_ms = 300;
  m->progress = progress;
  m->progress_state = t;
  if (!open_program(t)) {
    child_stop(&m->server);
    if (!t->problem_text) t->problem_text = text_str(m->report);
    return t;
  }
  t->verified = new_array(Verified, options->dataset_count + options->max_points +
                                        options->holdout + 1);
  if (options->range_count)
    tuning_sample(t);
  else
    tune_datasets(t);
  measure_close(m);
  t->seconds = child_now() - started;
  tuning_progress(t, 100, "\r\033[K");
  if (!t->problem_text && !anything_ran(t))
    t->problem_text =
        text_format("no version could be measured\n%s", text_str(m->report));
  if (t->problem_text) return t;
  t->missing = options->range_count ? 0 : missing_runs(t);
  find_alone(t);
  write_results(t);
  return t;
}
