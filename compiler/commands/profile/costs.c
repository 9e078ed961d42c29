// What a tuning log says of versions: the tuner's own model of the program, filled with the races
// that it noted for the same data.
#include "commands/profile/profile.h"
#include "tuner/races.h"
#include <unistd.h>

typedef struct CostSource {
  Trace *trace;
  const TunerTree *tree;
  Races *races;
} CostSource;

static void remember_race(void *state, const RaceLine *line) {
  races_remember(state, line);
}

static void ignore_run(void *state, const Run *run) {
  (void)state;
  (void)run;
}

// As the tuner calls it in its log.
static const char *device_key(const Trace *trace) {
  return text_format("%s (%s code) %s", trace->device, trace->code, trace->driver);
}

static const TunerTree *tuner_tree(const Trace *trace) {
  Text *json = text_new();
  const char *message = NULL;
  text_add(json, "{ \"entries\": [");
  version_tree_json(json, &trace->tree, NULL);
  text_add(json, "] }");
  return tree_read(text_str(json), trace->entry->name, &message);
}

// How often the run met each race that is not within another; the log counts only the others.
static void count_races(const CostSource *s) {
  for (int i = 0; i < s->trace->guards.count; i++) {
    const GuardEvent *e = &s->trace->guards.at[i];
    int guard = tree_guard_named(s->tree, e->guard);
    if (guard < 0 || s->tree->guards[guard].parent >= 0) continue;
    vec_each (RaceGroup **, at, &s->races->groups)
      if ((*at)->root == guard && (*at)->par == e->par)
        races_add_inside(&s->races->whole[0].inside, *at, e->count);
  }
}

static void add_cost(const CostSource *s, int guard, int branch) {
  TraceCost cost = { .first = branch == 0 };
  bool seen = false;
  vec_each (EventGroup *, g, &s->races->seen->groups) {
    if (g->guard != guard || g->us[branch].count == 0) continue;
    seen = true;
    cost.ns += 1e3 * samples_typical(&g->us[branch]);
    cost.is_bound |= g->bound[branch];
  }
  cost.guard = trace_guard_named(s->trace, s->tree->guards[guard].node->name);
  if (seen && cost.guard) vec_push(&s->trace->costs, cost);
}

void trace_read_costs(Trace *trace, const char *log) {
  CostSource s = { trace, tuner_tree(trace), NULL };
  if (!s.tree || access(log, R_OK) != 0) return;
  trace->tunelog = log;
  Evidence *seen = evidence_new(s.tree, 1);
  evidence_add_dataset(seen, (TunerDataset){ .name = "", .hash = trace->data_hash });
  s.races = races_new(seen, 1);
  TunerLog source = { .path = log, .fd = -1, .device = device_key(trace) };
  log_read(&source, (LogReader){ ignore_run, remember_race, s.races });
  count_races(&s);
  if (!s.races->whole[0].inside.count) return;  // all that is there is of other data
  races_place(s.races, 0);
  for (int guard = 0; guard < s.tree->guard_count; guard++)
    for (int branch = 0; branch < 2; branch++)
      add_cost(&s, guard, branch);
}
