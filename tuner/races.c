#include "tuner/races.h"
#include "base/text.h"
#include "tuner/solve.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

Races *races_new(Evidence *seen, int capacity) {
  return new_node(Races, .seen = seen, .whole = new_array(RaceWhole, capacity + 1));
}

RaceGroup *races_group(Races *r, int dataset, int root, int64_t par, int64_t local) {
  vec_each (RaceGroup **, at, &r->groups) {
    RaceGroup *g = *at;
    if (g->dataset == dataset && g->root == root && g->par == par && g->local == local)
      return g;
  }
  TreeBranches branches = tree_alternatives(r->seen->tree, root);
  RaceGroup *g = new_node(RaceGroup, .dataset = dataset, .root = root, .par = par,
                          .local = local, .count = branches.count, .leaves = branches.at);
  g->list = mem_alloc_array((size_t)branches.count, sizeof *g->list);
  for (int k = 0; k < g->count; k++)
    for (int i = 0; i < RACES_MOST_ROUNDS; i++)
      vec_push(&g->list[k].own, 0), vec_push(&g->list[k].total, -1);
  vec_push(&r->groups, g);
  return g;
}

// False if it is known.
bool races_add_inside(RaceInsides *list, RaceGroup *inner, int64_t count) {
  vec_each (RaceInside *, in, list)
    if (in->inner == inner) {
      bool changed = in->count != count;
      in->count = count;
      return changed;
    }
  vec_push(list, (RaceInside){ inner, count });
  return true;
}

// "1 4096 0": the guard by its number in the region, Par, local memory.  False if it is
// known.
static bool add_decision(const Races *r, const RaceGroup *g, Contender *c,
                         const char *text) {
  int guard = 0;
  long long par = 0, local = 0;
  if (sscanf(text, "%d %lld %lld", &guard, &par, &local) != 3) return false;
  guard += g->root;
  if (guard < g->root || guard >= r->seen->tree->guard_count) return false;
  vec_each (const RaceDecision *, d, &c->path)
    if (d->guard == guard) return false;
  RaceDecision decision = { guard, par >= SOLVE_NEVER ? SOLVE_NEVER - 1 : par,
                            local <= r->seen->capacity };
  vec_push(&c->path, decision);
  return true;
}

static void read_sample(Contender *c, const char *text) {
  int round = 0;
  double own = 0, total = 0;
  if (sscanf(text, "%d %lf %lf", &round, &own, &total) != 3) return;
  if (round < 0 || round >= RACES_MOST_ROUNDS) return;
  c->own.at[round] = own;
  c->total.at[round] = total;
}

// A line about an alternative, without its numbers: from the program or from the log.
// False if it says nothing new.
bool races_take(const Races *r, RaceGroup *g, int k, const char *what, const char *text) {
  Contender *c = &g->list[k];
  if (strcmp(what, "decide") == 0) return add_decision(r, g, c, text);
  if (strcmp(what, "sample") == 0)
    read_sample(c, text);
  else if (strcmp(what, "bound") == 0)
    c->bound = strtod(text, NULL);
  return true;
}

// The time of one event; 0 if unknown.
double races_middle(const Contender *c) {
  Samples all = { 0 };
  vec_each (const double *, us, &c->total)
    if (*us >= 0) vec_push(&all, *us);
  return all.count ? samples_typical(&all) : 0;
}

// ---- the log

static const char *version_text(const Races *r, const RaceGroup *g, int k) {
  int leaf = g->leaves[k];
  const Tree *node = r->seen->tree->guards[leaf / 2].node->children[leaf % 2];
  return text_format("%d-%016llx", k, (unsigned long long)node->hash);
}

RaceLine races_line(const Races *r, const RaceGroup *g, int k, const char *what,
                    const char *text) {
  return (RaceLine){ r->seen->tree->guards[g->root].region,
                     version_text(r, g, k),
                     r->seen->data[g->dataset].hash,
                     what,
                     text,
                     g->par,
                     g->local };
}

// What an alternative holds, in the log: "REGION PAR LOCAL COUNT".
static void remember_inside(Races *r, int dataset, RaceInsides *list, const char *text) {
  char region[64];
  long long par = 0, local = 0, count = 0;
  if (sscanf(text, "%63s %lld %lld %lld", region, &par, &local, &count) != 4) return;
  int root = tree_region_named(r->seen->tree, region);
  if (root >= 0) races_add_inside(list, races_group(r, dataset, root, par, local), count);
}

bool races_remember(Races *r, const RaceLine *line) {
  int root = tree_region_named(r->seen->tree, line->region), dataset = 0;
  while (dataset < r->seen->dataset_count &&
         strcmp(r->seen->data[dataset].hash, line->data) != 0)
    dataset++;
  if (root < 0 || dataset == r->seen->dataset_count) return false;
  RaceGroup *g = races_group(r, dataset, root, line->par, line->local);
  int k = atoi(line->version);
  if (k < 0 || k >= g->count || strcmp(version_text(r, g, k), line->version) != 0)
    return false;
  if (strcmp(line->what, "inside") == 0)
    remember_inside(r, dataset, &g->list[k].inside, line->text);
  else
    races_take(r, g, k, line->what, line->text);
  return strcmp(line->what, "sample") == 0;
}

// ---- from races to samples

static void place_race(Races *r, const RaceGroup *g, int parent, double events,
                       int depth);

// A decision that only leads to the next one costs nothing.
static void pass_through(EventGroup *g, int branch) {
  if (!g->forced[branch] && g->us[branch].count == 0) vec_push(&g->us[branch], 0);
}

static void place_alternative(Races *r, const RaceGroup *g, int k, int parent,
                              double events, int depth) {
  const Contender *c = &g->list[k];
  for (int i = 0; i < c->path.count; i++) {
    const RaceDecision *d = &c->path.at[i];
    if (i > 0)
      pass_through(&r->seen->groups.at[parent],
                   r->seen->tree->guards[d->guard].parent_branch);
    parent = evidence_group(r->seen, g->dataset, d->guard, parent, d->par, d->fits);
  }
  if (c->path.count == 0) return;
  int branch = g->leaves[k] % 2;
  EventGroup *group = &r->seen->groups.at[parent];
  if (!group->forced[branch]) {
    for (int i = 0; i < RACES_MOST_ROUNDS; i++)
      if (c->total.at[i] >= 0) vec_push(&group->us[branch], c->own.at[i] * events);
    r->seen->versions[g->leaves[k]].successes += group->us[branch].count > 0;
    group->bound[branch] = group->us[branch].count == 0 && c->bound > 0;
    if (group->bound[branch]) vec_push(&group->us[branch], c->bound * events);
  }
  if (depth > 20) return;
  vec_each (const RaceInside *, in, &c->inside)
    place_race(r, in->inner, parent, events * (double)in->count, depth + 1);
}

static void place_race(Races *r, const RaceGroup *g, int parent, double events,
                       int depth) {
  for (int k = 0; k < g->count; k++)
    place_alternative(r, g, k, parent, events, depth);
}

// A run in which every race is won by the best; the default run may have compiled
// kernels.
static double best_time(const RaceWhole *whole) {
  double sum = whole->base_us;
  vec_each (const RaceInside *, in, &whole->inside) {
    double least = INFINITY;
    for (int k = 0; k < in->inner->count; k++)
      if (races_middle(&in->inner->list[k]) > 0)
        least = fmin(least, races_middle(&in->inner->list[k]));
    sum += least * (double)in->count;
  }
  return sum > 0 ? sum : INFINITY;
}

// The groups of the data set, from all that is known.
void races_place(Races *r, int dataset) {
  RaceWhole *whole = &r->whole[dataset];
  DataState *state = &r->seen->states[dataset];
  vec_each (EventGroup *, g, &r->seen->groups)
    for (int b = 0; b < 2 && g->dataset == dataset; b++)
      if (!g->forced[b]) g->us[b].count = 0;
  if (whole->inside.count == 0)  // the run did not come to its end
    vec_each (RaceGroup **, g, &r->groups)
      if ((*g)->dataset == dataset && r->seen->tree->guards[(*g)->root].parent < 0)
        vec_push(&whole->inside, (RaceInside){ *g, 1 });
  vec_each (const RaceInside *, in, &whole->inside)
    place_race(r, in->inner, -1, (double)in->count, 0);
  state->base.count = 0;
  vec_push(&state->base, fmin(whole->base_us, state->least_us));
  state->least_us = fmin(state->least_us, best_time(whole));
}
