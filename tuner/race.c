#include "tuner/race.h"
#include "tuner/observe.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

enum {
  MOST_ROUNDS = 400,
  LEAST_ROUNDS = 16,
  LONG_US = 20000,  // of all runs of a path: enough, however few they are
  CHUNK_US = 20000
};
// A loser by this factor is slow enough; a difference of this share is a tie.
static const double far_behind = 1.3, tie = 0.01;

typedef struct Racer {
  const char *path;  // "-": as the settings decide
  Samples us;        // whole runs
  bool out;          // clearly not the fastest
} Racer;

typedef struct Race {
  Tuning *t;
  int dataset;
  Vec(Racer) racers;
  const Decision *decisions;
  bool disagrees;
} Race;

static void enter_race(Race *r, Path path) {
  const char *text = tree_path_text(r->t->tree, path);
  if (!measure_works(r->t->m, r->dataset, path)) return;
  vec_each (const Racer *, other, &r->racers)
    if (strcmp(other->path, text) == 0) return;
  vec_push(&r->racers, (Racer){ .path = text });
}

static bool by_settings(const Racer *racer) { return strcmp(racer->path, "-") == 0; }

// ---- one command

static void keep_sizes(Race *r, const json_t *sizes) {
  SizeTable *table = &r->t->choice.sizes;
  for (void *at = json_object_iter((json_t *)(uintptr_t)sizes); at && !table->named;
       at = json_object_iter_next((json_t *)(uintptr_t)sizes, at))
    if (table->count < DECISION_MOST_SIZES)
      table->names[table->count++] = text_format("%s", json_object_iter_key(at));
  table->named = true;
  for (int i = 0; i < table->count; i++)
    decision_sizes(table, r->dataset)[i] =
        json_integer_value(json_object_get(sizes, table->names[i]));
}

// Did the program decide as the tuner thinks that it does?
static bool agrees(const Race *r, const Run *run) {
  const int64_t *sizes = decision_sizes(&r->t->choice.sizes, r->dataset);
  for (int i = 0; i < run->group_count; i++) {
    const RunGroup *g = &run->groups[i];
    SolveGroup group = { .par = g->par, .fits = g->fits };
    int64_t threshold =
        decision_threshold(&r->decisions[g->guard], sizes, r->t->choice.sizes.count);
    if (solve_branch(&group, threshold) != g->branch) return false;
  }
  return true;
}

static bool keep_rounds(Race *r, const json_t *json, const int *paths, int count,
                        int rounds) {
  keep_sizes(r, json_object_get(json, "sizes"));
  for (int k = 0; k < count; k++)
    for (int round = 0; round < rounds; round++) {
      Run run;
      Racer *racer = &r->racers.at[paths[k]];
      if (!observe_race(r->t->tree, json, k, round, &run)) return false;
      vec_push(&racer->us, run.us);
      if (!by_settings(racer))
        evidence_add_run(r->t->seen, r->dataset, &run);
      else if (!agrees(r, &run))
        r->disagrees = true;
    }
  return true;
}

// Runs these racers; false if the program fails.
static bool run_rounds(Race *r, const int *paths, int count, int rounds) {
  Measure *m = r->t->m;
  const char *variables = measure_variables(m, r->dataset);
  if (!variables) return false;
  if (r->decisions && !measure_decide(m, r->decisions, &r->t->choice.sizes)) return false;
  Text *line = text_new();
  text_printf(line, "race %s %d%s", m->entry, rounds, variables);
  for (int k = 0; k < count; k++)
    text_printf(line, " %s", r->racers.at[paths[k]].path);
  double limit_s = 60 + 10 * m->limits.timeout_s;
  Reply reply = child_command(&m->server, limit_s, "%s", text_str(line));
  m->executions += count * rounds;
  if (reply.status == REPLY_INTERRUPTED) m->interrupted = true;
  json_t *json = reply.status == REPLY_OK ? json_loads(reply.text, 0, NULL) : NULL;
  bool ok = json && keep_rounds(r, json, paths, count, rounds);
  json_decref(json);
  return ok;
}

// ---- the race

static const Racer *leader(const Race *r) {
  const Racer *best = r->racers.at;
  vec_each (const Racer *, racer, &r->racers)
    if (!by_settings(racer) && samples_low(&racer->us) < samples_low(&best->us))
      best = racer;
  return best;
}

// Has it run often or long enough that it was not just unlucky?
static bool is_known(const Racer *racer) {
  return racer->us.count >= LEAST_ROUNDS ||
         racer->us.count * samples_low(&racer->us) > LONG_US;
}

// Drops those that are far behind; is it open which of the others is the fastest?
static bool is_open(Race *r) {
  const Racer *best = leader(r);
  double least = samples_low(&best->us), error = samples_low_error(&best->us);
  bool open = false;
  vec_each (Racer *, racer, &r->racers) {
    open |= !is_known(racer);
    if (racer->out || !is_known(racer)) continue;
    if (by_settings(racer)) racer->out = true;
    if (racer == best || by_settings(racer)) continue;
    double behind = samples_low(&racer->us) - least;
    double doubt = 2 * hypot(error, samples_low_error(&racer->us));
    racer->out = behind - doubt > (far_behind - 1) * least;
    bool is_tie = behind + doubt < tie * least;
    if (!racer->out && behind < doubt && !is_tie) open = true;
  }
  return open;
}

static int runners(const Race *r, int *paths) {
  int count = 0;
  for (int i = 0; i < r->racers.count; i++)
    if (!r->racers.at[i].out) paths[count++] = i;
  return count;
}

static double round_us(const Race *r, const int *paths, int count) {
  double sum = 0;
  for (int k = 0; k < count; k++)
    sum += samples_low(&r->racers.at[paths[k]].us);
  return fmax(1, sum);
}

// All run at least once, then those in the lead until it is clear who wins, or the time is up.
static bool run_race(Race *r, double seconds) {
  int *paths = new_array(int, r->racers.count + 1);
  double until = child_now() + seconds;
  double all_us = fmax(1, r->t->seen->states[r->dataset].least_us) * r->racers.count;
  int count = runners(r, paths);
  int first = (int)fmax(1, fmin(LEAST_ROUNDS, CHUNK_US / all_us));
  if (!run_rounds(r, paths, count, first)) return false;
  while (is_open(r) && measure_time_left(r->t->m)) {
    count = runners(r, paths);
    double us = round_us(r, paths, count), left_us = 1e6 * (until - child_now());
    if (left_us < us) break;
    int rounds = (int)fmax(1, fmin(MOST_ROUNDS, fmin(left_us, CHUNK_US) / us));
    if (!run_rounds(r, paths, count, rounds)) return false;
  }
  return true;
}

RaceResult race_paths(Tuning *t, int dataset, double seconds, const Decision *decisions,
                      const bool *skip) {
  Race r = { .t = t, .dataset = dataset, .decisions = decisions };
  for (int run = 0; run < t->runs; run++)
    if (!skip || !skip[run])
      enter_race(&r, evidence_repair(t->seen, dataset, tree_cover(t->tree, run)));
  if (r.racers.count == 0) return (RaceResult){ .ok = false };
  if (decisions) vec_push(&r.racers, (Racer){ .path = "-" });
  RaceResult result = { .ok = run_race(&r, seconds) };
  if (decisions) result.tuned = r.racers.at[r.racers.count - 1].us;
  result.disagrees = r.disagrees;
  vec_each (const Racer *, racer, &r.racers)
    result.rounds = racer->us.count > result.rounds ? racer->us.count : result.rounds;
  return result;
}
