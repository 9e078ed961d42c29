// Reads reports: {"device": {"local_bytes"}, "guards": [{"name", "par", "local_bytes", "at_us",
// "taken"}]}, the guards in the order in which they were decided.
#include "tuner/observe.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

typedef struct Observer {
  const Measure *m;
  Vec(RunGroup) groups;
  int *current;  // per guard: the group of its last event, or -1
  double base;
  double last_at;
  int last_group, last_branch;  // who has the time since last_at; -1: the base
} Observer;

static int run_group(Observer *o, RunGroup wanted) {
  for (int i = 0; i < o->groups.count; i++) {
    const RunGroup *g = &o->groups.at[i];
    if (g->guard == wanted.guard && g->parent == wanted.parent && g->par == wanted.par &&
        g->fits == wanted.fits && g->branch == wanted.branch)
      return i;
  }
  vec_push(&o->groups, wanted);
  return o->groups.count - 1;
}

static void close_segment(Observer *o, double at) {
  double us = fmax(0, at - o->last_at);
  if (o->last_group < 0)
    o->base += us;
  else
    o->groups.at[o->last_group].us += us;
  o->last_at = at;
}

// False for a guard that the tree does not have.
static bool observe_event(Observer *o, const json_t *event, double at, int64_t capacity) {
  const char *name = json_string_value(json_object_get(event, "name"));
  int guard = name ? tree_guard_named(o->m->tree, name) : -1;
  if (guard < 0) return name != NULL;  // of another entry point's tree: its time goes on
  close_segment(o, at);
  int parent = o->m->tree->guards[guard].parent;
  int64_t par = json_integer_value(json_object_get(event, "par"));
  RunGroup group = { .guard = guard, .parent = parent < 0 ? -1 : o->current[parent] };
  group.par = par >= SOLVE_NEVER ? SOLVE_NEVER - 1 : par;
  group.fits = json_integer_value(json_object_get(event, "local_bytes")) <= capacity;
  group.branch = json_is_true(json_object_get(event, "taken")) ? 0 : 1;
  o->last_group = o->current[guard] = run_group(o, group);
  return true;
}

// Times of the events: `at_us`, or what stands in the events themselves.
static bool observe_events(Observer *o, const json_t *events, const json_t *at_us,
                           int64_t capacity) {
  for (size_t i = 0; i < json_array_size(events); i++) {
    const json_t *event = json_array_get(events, i);
    double at = json_number_value(at_us ? json_array_get(at_us, i)
                                        : json_object_get(event, "at_us"));
    if (!observe_event(o, event, at, capacity)) return false;
  }
  return json_is_array(events);
}

static bool observe(const Measure *m, const json_t *events, const json_t *at_us,
                    const json_t *capacity, Run *run) {
  Observer o = { .m = m, .last_group = -1 };
  o.current = new_array(int, m->tree->guard_count + 1);
  for (int g = 0; g < m->tree->guard_count; g++)
    o.current[g] = -1;
  int64_t bytes = json_is_integer(capacity) ? json_integer_value(capacity) : INT64_MAX;
  if (!observe_events(&o, events, at_us, bytes)) return false;
  close_segment(&o, run->us);
  run->base_us = o.base;
  run->groups = o.groups.at;
  run->group_count = o.groups.count;
  return true;
}

bool observe_report(const Measure *m, const char *report, double us, Run *run) {
  json_t *json = json_loads(report, 0, NULL);
  run->us = us;
  const json_t *device = json_object_get(json, "device");
  bool ok = json && observe(m, json_object_get(json, "guards"), NULL,
                            json_object_get(device, "local_bytes"), run);
  json_decref(json);
  return ok;
}

bool observe_race(const Measure *m, const json_t *race, int path, int round, Run *run) {
  const json_t *of = json_array_get(json_object_get(race, "paths"), (size_t)path);
  const json_t *at = json_array_get(json_object_get(of, "at_us"), (size_t)round);
  const json_t *us = json_array_get(json_object_get(of, "us"), (size_t)round);
  if (!json_is_array(at) || !json_is_number(us)) return false;
  *run = (Run){ .us = json_number_value(us) };
  return observe(m, json_object_get(of, "guards"), at,
                 json_object_get(race, "local_bytes"), run);
}

// ---- samples

int observe_group(Measure *m, int dataset, int guard, int parent, int64_t par,
                  bool fits) {
  for (int i = m->groups.count - 1; i >= 0; i--) {  // the latest data set stands last
    const Group *g = &m->groups.at[i];
    if (g->dataset == dataset && g->guard == guard && g->parent == parent &&
        g->par == par && g->fits == fits)
      return i;
  }
  vec_push(&m->groups, (Group){ .dataset = dataset,
                                .guard = guard,
                                .parent = parent,
                                .par = par,
                                .fits = fits });
  return m->groups.count - 1;
}

// A whole run counts for more than what replay saw.
static void add_sample(Group *g, int branch, double us) {
  if (!g->forced[branch]) g->us[branch].count = 0;
  g->forced[branch] = true;
  g->bound[branch] = false;
  vec_push(&g->us[branch], us);
}

void observe_run(Measure *m, int dataset, const Run *run) {
  DataState *state = &m->states[dataset];
  int *numbers = new_array(int, run->group_count + 1);
  for (int i = 0; i < run->group_count; i++) {
    const RunGroup *g = &run->groups[i];
    if (g->guard < 0 || g->guard >= m->tree->guard_count) return;
    numbers[i] = observe_group(m, dataset, g->guard,
                               g->parent < 0 ? -1 : numbers[g->parent], g->par, g->fits);
    add_sample(&m->groups.at[numbers[i]], g->branch, g->us);
    m->versions[2 * g->guard + g->branch].successes++;
  }
  vec_push(&state->base, run->base_us);
  state->least_us = fmin(state->least_us, run->us);
}

// ---- statistics

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// Sorts the values.
static double quantile_of(double *values, int count, double share) {
  qsort(values, (size_t)count, sizeof *values, compare_doubles);
  double at = share * (count - 1);
  int before = (int)at;
  double rest = at - before;
  return before + 1 < count ? (1 - rest) * values[before] + rest * values[before + 1]
                            : values[before];
}

double samples_typical(const Samples *s) {
  if (s->count == 0) return INFINITY;
  return quantile_of(mem_copy(s->at, (size_t)s->count * sizeof *s->at), s->count, 0.25);
}

// From the median of the distances to it, so that outliers do not count; with few samples at least
// what runs usually differ by.
double samples_error(const Samples *s) {
  if (s->count == 0) return 0;
  double middle = samples_typical(s), usual = (s->count < 3 ? 0.10 : 0.02) * fabs(middle);
  double *distances = mem_alloc_plain((size_t)s->count * sizeof *distances);
  for (int i = 0; i < s->count; i++)
    distances[i] = fabs(s->at[i] - middle);
  double deviation = quantile_of(distances, s->count, 0.5);
  if (s->count < 8 && deviation < usual) deviation = usual;
  return 1.36 * deviation / sqrt(s->count);
}
