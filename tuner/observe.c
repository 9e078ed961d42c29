// Reads reports: {"device": {"local_bytes"}, "guards": [{"name", "par", "local_bytes", "at_us",
// "taken"}]}, the guards in the order in which they were decided.
#include "tuner/observe.h"
#include "tuner/solve.h"
#include <jansson.h>
#include <math.h>
#include <string.h>

typedef struct Observer {
  const TunerTree *tree;
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
  int guard = name ? tree_guard_named(o->tree, name) : -1;
  if (guard < 0) return name != NULL;  // of another entry point's tree: its time goes on
  close_segment(o, at);
  int parent = o->tree->guards[guard].parent;
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

static bool observe(const TunerTree *tree, const json_t *events, const json_t *at_us,
                    const json_t *capacity, Run *run) {
  Observer o = { .tree = tree, .last_group = -1 };
  o.current = new_array(int, tree->guard_count + 1);
  for (int g = 0; g < tree->guard_count; g++)
    o.current[g] = -1;
  int64_t bytes = json_is_integer(capacity) ? json_integer_value(capacity) : INT64_MAX;
  if (!observe_events(&o, events, at_us, bytes)) return false;
  close_segment(&o, run->us);
  run->base_us = o.base;
  run->groups = o.groups.at;
  run->group_count = o.groups.count;
  return true;
}

bool observe_report(const TunerTree *tree, const char *report, double us, Run *run) {
  json_t *json = json_loads(report, 0, NULL);
  run->us = us;
  const json_t *device = json_object_get(json, "device");
  bool ok = json && observe(tree, json_object_get(json, "guards"), NULL,
                            json_object_get(device, "local_bytes"), run);
  json_decref(json);
  return ok;
}

bool observe_race(const TunerTree *tree, const json_t *race, int path, int round,
                  Run *run) {
  const json_t *of = json_array_get(json_object_get(race, "paths"), (size_t)path);
  const json_t *at = json_array_get(json_object_get(of, "at_us"), (size_t)round);
  const json_t *us = json_array_get(json_object_get(of, "us"), (size_t)round);
  if (!json_is_array(at) || !json_is_number(us)) return false;
  *run = (Run){ .us = json_number_value(us) };
  return observe(tree, json_object_get(of, "guards"), at,
                 json_object_get(race, "local_bytes"), run);
}
