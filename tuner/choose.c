// Thresholds from measurements; what is contested is measured again.
#include "tuner/choose.h"
#include <math.h>
#include <string.h>

enum { WORLDS = 16, MOST_ROUNDS = 14, MOST_REPLAYS = 2, MOST_BOUNDS = 8 };
enum { UNGUARDED_RUNS = 5, LONG_US = 500000 };
static const double tie = 0.01;

SolveProblem choose_problem(const Tuning *t, int count) {
  const Evidence *seen = t->seen;
  SolveGroup *groups = new_array(SolveGroup, seen->groups.count + 1);
  int *numbers = new_array(int, seen->groups.count + 1), kept = 0;
  for (int i = 0; i < seen->groups.count; i++) {
    const EventGroup *g = &seen->groups.at[i];
    if (g->dataset >= count) continue;
    const DataState *state = &seen->states[g->dataset];
    numbers[i] = kept;
    SolveGroup *out = &groups[kept++];
    *out = (SolveGroup){
      g->dataset, g->guard, g->parent < 0 ? -1 : numbers[g->parent],
      g->par,     g->fits,  { samples_typical(&g->us[0]), samples_typical(&g->us[1]) }
    };
    for (int b = 0; b < 2; b++)
      if (state->failure)
        out->cost[b] = 0;
      else if (seen->versions[2 * g->guard + b].failure ||
               state->errors[2 * g->guard + b])
        out->cost[b] = INFINITY;
  }
  double *weights = new_array(double, count + 1), *base = new_array(double, count + 1);
  for (int d = 0; d < count; d++) {  // what is left out counts nothing, by any objective
    bool out = seen->states[d].failure;
    weights[d] = out ? 0 : seen->data[d].weight;
    base[d] = out                          ? 1
              : seen->states[d].base.count ? samples_typical(&seen->states[d].base)
                                           : 0;
  }
  return (
      SolveProblem){ t->tree, groups, kept, weights, base, count, t->options->objective };
}

SolveFate *choice_fates(const Choice *c) {
  return c->decisions ? decision_fates(&c->problem, &c->sizes, c->decisions)
                      : solve_fates(&c->problem, c->thresholds);
}

double *choice_times(const Choice *c) {
  return solve_fated_times(&c->problem, choice_fates(c));
}

void choose_cover(Tuning *t, int dataset, int runs) {
  for (int r = 0; r < t->runs; r++)
    measure_path(t->m, dataset, tree_cover(t->tree, r), runs);
}

// Versions whose results differ, or that replay could not run, are looked at in whole
// runs.
void choose_measure(Tuning *t, int dataset) {
  ReplayOutcome outcome =
      t->options->no_replay ? REPLAY_FAILED : replay_run(t->replayer, dataset);
  if (outcome == REPLAY_FAILED) choose_cover(t, dataset, 1);
  for (int r = 0; r < t->runs && outcome == REPLAY_DOUBTFUL; r++)
    measure_probe(t->m, dataset, tree_cover(t->tree, r));
  // Where nothing is decided nothing races, and one run tells little: the first ones compile.
  bool is_short = t->seen->states[dataset].least_us < LONG_US;
  if (t->tree->guard_count == 0 && is_short) choose_cover(t, dataset, UNGUARDED_RUNS);
}

void choose_working(Tuning *t, int dataset) {
  DataState *state = &t->seen->states[dataset];
  if (!state->default_failure || state->default_is_slow) return;
  for (int run = 0; run < t->runs; run++)
    if (measure_can_run(t->m, dataset, tree_cover(t->tree, run))) return;
  state->failure = state->default_failure;
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
  SolveProblem world = t->choice.problem;
  SolveGroup *groups =
      mem_copy(world.groups, (size_t)(world.group_count + 1) * sizeof *groups);
  for (int i = 0, k = 0; i < t->seen->groups.count; i++) {
    const EventGroup *g = &t->seen->groups.at[i];
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
  const SolveFate *a = solve_fates(&t->choice.problem, t->choice.thresholds);
  const SolveFate *b =
      solve_fates(&t->choice.problem, solve_thresholds(&t->choice.problem, other));
  for (int i = 0; i < t->choice.problem.group_count; i++) {
    if (a[i].reached == b[i].reached && (!a[i].reached || a[i].branch == b[i].branch))
      continue;
    const SolveGroup *g = &t->choice.problem.groups[i];
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

// Would another choice win by more than a tie in one of the possible worlds?  NULL if
// (nearly) never, else the runs that would tell.
static bool *contested(const Tuning *t, Random *r) {
  bool *marks = new_array(bool, t->choice.problem.dataset_count * t->runs + 1);
  int doubtful = 0;
  for (int i = 0; i < WORLDS; i++) {
    SolveProblem world = possible_world(t, r);
    SolveResult other = solve(&world);
    double ours = objective_of(&world, t->choice.thresholds);
    double theirs = objective_of(&world, solve_thresholds(&world, &other));
    if (!(ours > theirs * (1 + tie))) continue;
    doubtful++;
    mark(t, &other, marks);
  }
  return doubtful > 1 ? marks : NULL;
}

void choose(Tuning *t) {
  t->choice.problem = choose_problem(t, t->seen->dataset_count);
  t->choice.best = solve(&t->choice.problem);
  int64_t *thresholds = new_array(int64_t, t->tree->guard_count + 1);
  memcpy(thresholds, solve_thresholds(&t->choice.problem, &t->choice.best),
         (size_t)t->tree->guard_count * sizeof *thresholds);
  for (int g = 0; g < t->tree->guard_count; g++) {  // also for sizes that were not seen
    if (t->seen->versions[2 * g].failure)
      thresholds[g] = SOLVE_NEVER;
    else if (t->seen->versions[2 * g + 1].failure)
      thresholds[g] = 0;
  }
  t->choice.thresholds = thresholds;
}

// The first chosen version of which only a lower bound is known.
static const SolveGroup *chosen_bound(const Tuning *t) {
  const SolveFate *fates = solve_fates(&t->choice.problem, t->choice.thresholds);
  for (int i = 0, k = 0; i < t->seen->groups.count; i++) {
    const EventGroup *g = &t->seen->groups.at[i];
    if (g->dataset >= t->choice.problem.dataset_count) continue;
    if (fates[k].reached && g->bound[fates[k].branch])
      return &t->choice.problem.groups[k];
    k++;
  }
  return NULL;
}

// A choice that stands on bounds is a guess that such versions are no slower than these:
// they are run.
void choose_known(Tuning *t) {
  choose(t);
  for (int i = 0; i < MOST_BOUNDS && measure_time_left(t->m); i++) {
    const SolveGroup *g = chosen_bound(t);
    if (!g) return;
    int branch = solve_fates(&t->choice.problem,
                             t->choice.thresholds)[g - t->choice.problem.groups]
                     .branch;
    Path path = tree_path_to(t->tree, g->guard, branch);
    int runs = measure_runs(t->m, g->dataset, evidence_repair(t->seen, g->dataset, path));
    measure_path(t->m, g->dataset, path, runs + 1);
    vec_each (EventGroup *, group, &t->seen->groups)  // whether it went well or not
      if (group->dataset == g->dataset && group->guard == g->guard)
        group->bound[branch] = false;
    choose(t);
  }
}

// Races those data sets again, for longer, on which a contested choice depends.
static bool race_marked(Tuning *t, const bool *marks, int round) {
  bool any = false;
  t->replayer->rounds = 24 << round;
  t->replayer->race_ms = 800 << round;
  for (int d = 0; d < t->choice.problem.dataset_count && round < MOST_REPLAYS; d++) {
    bool marked = false;
    for (int run = 0; run < t->runs; run++)
      marked |= marks[d * t->runs + run];
    if (!marked || !t->seen->states[d].covered) continue;
    replay_run(t->replayer, d);
    any = true;
  }
  return any;
}

static void measure_marked(Tuning *t, const bool *marks, int round) {
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    for (int run = 0; run < t->runs; run++) {
      if (!marks[d * t->runs + run] || t->seen->states[d].covered) continue;
      Path path = evidence_repair(t->seen, d, tree_cover(t->tree, run));
      tuning_progress(t, 40 + 3 * round, "%s: %s again", t->seen->data[d].name,
                      tree_path_text(t->tree, path));
      measure_path(t->m, d, path, 2 * measure_runs(t->m, d, path));
    }
}

// Small differences between noisy runs are worth some time, not all of it.
void choose_settled(Tuning *t) {
  Random r = { t->options->seed + 1 };
  double until = child_now() + fmin(8, 0.25 * t->options->budget_s);
  choose_known(t);
  for (int round = 0; round < MOST_ROUNDS && measure_time_left(t->m); round++) {
    bool *marks = contested(t, &r);
    if (!marks || child_now() > until) return;
    bool raced = race_marked(t, marks, round);
    if (!raced && !t->options->no_replay && round >= MOST_REPLAYS) return;
    measure_marked(t, marks, round);
    choose_known(t);
  }
}
