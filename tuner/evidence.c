#include "tuner/evidence.h"
#include <math.h>
#include <string.h>

Evidence *evidence_new(const TunerTree *tree, int capacity) {
  return new_node(Evidence, .tree = tree, .data = new_array(TunerDataset, capacity + 1),
                  .states = new_array(DataState, capacity + 1),
                  .versions = new_array(Version, 2 * tree->guard_count + 1),
                  .capacity = INT64_MAX);
}

void evidence_add_dataset(Evidence *e, TunerDataset data) {
  DataState *state = &e->states[e->dataset_count];
  e->data[e->dataset_count++] = data;
  state->least_us = INFINITY;
  state->slow = new_array(bool, 2 * e->tree->guard_count + 1);
}

Path evidence_repair(const Evidence *e, Path path) {
  size_t count = (size_t)e->tree->guard_count;
  char *outcome = mem_alloc_plain(count + 1);
  memcpy(outcome, path.outcome, count);
  for (int g = 0; g < e->tree->guard_count; g++) {
    bool first = e->versions[2 * g].failure, second = e->versions[2 * g + 1].failure;
    if (first != second) outcome[g] = first ? 'F' : 'T';
  }
  return (Path){ outcome };
}

// ---- samples

int evidence_group(Evidence *e, int dataset, int guard, int parent, int64_t par,
                   bool fits) {
  for (int i = e->groups.count - 1; i >= 0; i--) {  // the latest data set stands last
    const EventGroup *g = &e->groups.at[i];
    if (g->dataset == dataset && g->guard == guard && g->parent == parent &&
        g->par == par && g->fits == fits)
      return i;
  }
  vec_push(&e->groups, (EventGroup){ .dataset = dataset,
                                     .guard = guard,
                                     .parent = parent,
                                     .par = par,
                                     .fits = fits });
  return e->groups.count - 1;
}

// A whole run counts for more than what replay saw.
static void add_sample(EventGroup *g, int branch, double us) {
  if (!g->forced[branch]) g->us[branch].count = 0;
  g->forced[branch] = true;
  g->bound[branch] = false;
  vec_push(&g->us[branch], us);
}

void evidence_add_run(Evidence *e, int dataset, const Run *run) {
  DataState *state = &e->states[dataset];
  int *numbers = new_array(int, run->group_count + 1);
  for (int i = 0; i < run->group_count; i++) {
    const RunGroup *g = &run->groups[i];
    if (g->guard < 0 || g->guard >= e->tree->guard_count) return;
    numbers[i] = evidence_group(e, dataset, g->guard,
                                g->parent < 0 ? -1 : numbers[g->parent], g->par, g->fits);
    add_sample(&e->groups.at[numbers[i]], g->branch, g->us);
    e->versions[2 * g->guard + g->branch].successes++;
  }
  vec_push(&state->base, run->base_us);
  state->least_us = fmin(state->least_us, run->us);
}
