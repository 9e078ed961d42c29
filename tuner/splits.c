// From how much work on rows are divided among workers: thresholds of splits, which compare the
// operations that a split divides (docs/machines.md), each by a contest between the thresholds that
// take it for some of the data sets and not for others.
#include "tuner/contest.h"
#include "tuner/sizes.h"
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

// Sizes that are larger, or smaller, than all that were seen by this factor are split like those.
enum { BEYOND = 4 };

typedef Vec(int64_t) Works;

bool sizes_is_split(const SizeParam *p) { return strcmp(p->kind, "workers") == 0; }

// What one call on the data set meets: reports, as those of races.
static bool add_reports(Tuning *t, int d, json_t *reports) {
  Measure *m = t->m;
  const char *variables = measure_variables(m, d);
  if (!variables) return false;
  Reply reply = child_command(&m->server, 60 + m->limits.timeout_s, "race %s 1%s -",
                              m->entry, variables);
  m->executions++;
  t->sizing.runs++;
  json_t *report = reply.status == REPLY_OK ? json_loads(reply.text, 0, NULL) : NULL;
  return report && json_array_append_new(reports, report) == 0;
}

static int compare_works(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

// The operations that the split has divided or could have, ascending, each once.
static Works works_of(const SizeParam *p, const json_t *reports) {
  Works all = { 0 }, distinct = { 0 };
  for (size_t r = 0; r < json_array_size(reports); r++) {
    const json_t *paths = json_object_get(json_array_get(reports, r), "paths");
    const json_t *guards = json_object_get(json_array_get(paths, 0), "guards");
    for (size_t i = 0; i < json_array_size(guards); i++) {
      const json_t *guard = json_array_get(guards, i);
      const char *name = json_string_value(json_object_get(guard, "name"));
      if (name && strcmp(name, p->name) == 0)
        vec_push(&all, json_integer_value(json_object_get(guard, "par")));
    }
  }
  if (all.count) qsort(all.at, (size_t)all.count, sizeof *all.at, compare_works);
  vec_each (const int64_t *, work, &all)
    if (!distinct.count || distinct.at[distinct.count - 1] != *work)
      vec_push(&distinct, *work);
  return distinct;
}

// How many of them does the threshold leave whole?
static int whole_of(const Works *works, int64_t threshold) {
  int count = 0;
  while (count < works->count && works->at[count] < threshold)
    count++;
  return count;
}

// The threshold that splits all but so many of them, in the geometric middle between the last
// that is whole and the first that is not.
static int64_t threshold_of(const Works *works, int few) {
  if (few == 0) return works->at[0] / BEYOND;
  int64_t last = works->at[few - 1];
  if (few == works->count)
    return last < INT64_MAX / BEYOND ? last * BEYOND + 1 : INT64_MAX;
  double middle = sqrt((double)last + 1) * sqrt((double)works->at[few]);
  int64_t rounded = middle < 9e18 ? (int64_t)middle : works->at[few];
  return rounded > last && rounded <= works->at[few] ? rounded : works->at[few];
}

// What is in force, and the thresholds that come out otherwise, evenly spread if there are many.
static void enter_thresholds(Contest *c, const SizeParam *p, const Works *works) {
  enum { MOST = CONTEST_MOST - 2 };
  int now = whole_of(works, p->value), last = -1;
  int steps = works->count < MOST ? works->count : MOST;
  contest_enter(c, sizes_setting(p, p->value), p->value);
  for (int i = 0; i <= steps; i++) {
    int few = (int)((int64_t)i * works->count / steps);
    if (few == now || few == last) continue;
    last = few;
    int64_t value = threshold_of(works, few);
    contest_enter(c, sizes_setting(p, value), value);
  }
}

static const char *range_of(const Works *works, int64_t threshold) {
  int few = whole_of(works, threshold);
  long long first = few < works->count ? (long long)works->at[few] : 0;
  if (few == 0)
    return text_format("divided from %lld operations on, the smallest seen", first);
  long long last = (long long)works->at[few - 1];
  return few == works->count
             ? text_format("divided not up to %lld operations, the largest seen", last)
             : text_format("divided from %lld operations on, not up to %lld", first,
                           last);
}

static void tune_split(Tuning *t, SizeParam *p, const Works *works, const bool *on,
                       double until) {
  Contest c = contest_new(t, on, until);
  enter_thresholds(&c, p, works);
  const Entrant *winner = contest_winner(&c);
  if (!winner) return;
  double error, ratio = contest_ratio(&c, winner, &error);
  sizes_set(t, p, winner->value);
  if (!sizes_hold(t, on)) {
    sizes_set(t, p, p->value);
    return;
  }
  p->reason = text_format("%s; %.1f %% better than %lld", range_of(works, winner->value),
                          100 * (1 - ratio), (long long)p->value);
  p->value = winner->value;
}

static int count_splits(const Tuning *t) {
  int count = 0;
  vec_each (const SizeParam *, p, &t->sizing.params)
    count += sizes_is_split(p);
  return count;
}

void sizes_split(Tuning *t, const bool *on, double until) {
  int left = count_splits(t);
  if (!left) return;
  json_t *reports = json_array();
  bool ok = true;
  for (int d = 0; d < t->choice.problem.dataset_count && ok; d++)
    if (on[d]) ok = add_reports(t, d, reports);
  vec_each (SizeParam *, p, &t->sizing.params) {
    double now = child_now();
    if (!ok || t->m->interrupted || now >= until) break;
    if (!sizes_is_split(p)) continue;
    Works works = works_of(p, reports);
    if (works.count) {
      tuning_progress(t, 95, "%s", p->name);
      tune_split(t, p, &works, on, now + (until - now) / left);
    }
    left--;
  }
  json_decref(reports);
}
