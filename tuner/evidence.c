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
  state->errors = new_array(const char *, 2 * e->tree->guard_count + 1);
}

// Neither itself nor, if it leads to further guards, by what is behind one of them can it be used.
static bool is_bad(const Evidence *e, int dataset, int version) {
  if (e->versions[version].failure || e->states[dataset].errors[version]) return true;
  for (int g = version / 2 + 1; g < e->tree->guard_count; g++) {
    const TreeGuard *inner = &e->tree->guards[g];
    if (inner->parent == version / 2 && inner->parent_branch == version % 2 &&
        is_bad(e, dataset, 2 * g) && is_bad(e, dataset, 2 * g + 1))
      return true;
  }
  return false;
}

// Can the guard be asked, if those around it are decided so?
static bool can_be_asked(const Evidence *e, int guard, const char *outcome) {
  int parent = e->tree->guards[guard].parent;
  return parent < 0 || !outcome[parent] ||
         outcome[parent] == (e->tree->guards[guard].parent_branch ? 'F' : 'T');
}

// What the path leaves open is decided by the default, or as in the run that worked.
Path evidence_repair(const Evidence *e, int dataset, Path path) {
  const char *works = e->states[dataset].works.outcome;
  size_t count = (size_t)e->tree->guard_count;
  char *outcome = mem_alloc_plain(count + 1);
  memcpy(outcome, path.outcome, count);
  for (int g = 0; g < e->tree->guard_count; g++) {
    bool first = is_bad(e, dataset, 2 * g), second = is_bad(e, dataset, 2 * g + 1);
    if (works && !outcome[g]) outcome[g] = works[g];
    if (first != second) outcome[g] = first ? 'F' : 'T';
    if (!can_be_asked(e, g, outcome)) outcome[g] = '\0';
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

void evidence_stay(Evidence *e, int dataset) {
  DataState *state = &e->states[dataset];
  vec_each (EventGroup *, g, &e->groups) {
    if (g->dataset != dataset) continue;
    g->us[0] = g->us[1] = (Samples){ 0 };
    g->bound[0] = g->bound[1] = false;
  }
  state->base = (Samples){ 0 };
  Run run = state->by_default;
  run.groups = mem_copy(run.groups, (size_t)run.group_count * sizeof *run.groups);
  run.base_us = run.us;
  for (int i = 0; i < run.group_count; i++)
    run.groups[i].us = 0;
  evidence_add_run(e, dataset, &run);
  state->stays = true;
}

bool evidence_is_measured(const Evidence *e, int guard) {
  vec_each (const EventGroup *, g, &e->groups)
    if (g->guard == guard && !e->states[g->dataset].stays) return true;
  return false;
}
