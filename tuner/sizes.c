// Group sizes, numbers of groups, chunks, recipes, splits and weights of workers, once the
// thresholds are chosen: those of the kernels that take the time, one after the other, each by
// contests of a few of its values (contest.h; docs/tuning.md, step 6).
#include "tuner/sizes.h"
#include "tuner/contest.h"
#include <ctype.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FACTOR = 4, LEAST_CALLS = 10, CALLS_US = 10000, MOST_POINTS = 8 };
// A kernel with a smaller share of each data set's time is left alone.
static const double least_share = 0.05;
static const double share_of_budget = 0.15, most_seconds = 6;

// ---- parameters

// main.segmap_2.groups: what it is for, main.segmap_2; NULL: all kernels.
static const char *operation_of(const char *name) {
  const char *dot = strrchr(name, '.');
  return dot ? text_format("%.*s", (int)(dot - name), name) : NULL;
}

// "4096 0 segred_chunk": the value, the most that it may be, and what it follows.
static void read_about(Measure *m, SizeParam *p) {
  Reply reply = measure_command(m, text_format("tuning_param_about %s", p->name));
  if (reply.status != REPLY_OK)
    reply = measure_command(m, text_format("tuning_param_value %s", p->name));
  if (reply.status != REPLY_OK) return;
  char *rest = NULL;
  p->before = p->value = strtoll(reply.text, &rest, 10);
  p->most = strtoll(rest, &rest, 10);
  rest += strspn(rest, " ");
  if (*rest && *rest != '\n')
    p->follows = text_format("%.*s", (int)strcspn(rest, "\n"), rest);
}

void sizes_find(Tuning *t) {
  Measure *m = t->m;
  Reply reply = measure_command(m, text_format("tuning_params %s", m->entry));
  if (reply.status != REPLY_OK) return;
  for (const char *at = reply.text, *line; reply_line(&at, &line);) {
    size_t name = strcspn(line, " ");
    SizeParam p = { .name = text_format("%.*s", (int)name, line),
                    .kind = line + name + (line[name] == ' ') };
    if (strcmp(p.kind, "threshold") == 0 || strcmp(p.kind, "switch") == 0) continue;
    p.operation = operation_of(p.name);
    read_about(m, &p);
    // 0: the code that runs has no such number.
    if (p.value > 0 || sizes_is_weight(&p) || sizes_is_split(&p))
      vec_push(&t->sizing.params, p);
  }
}

// ---- weights

// Per data set, the share of its time that a kernel takes.
typedef struct Weight {
  const char *kernel;
  double *share;
} Weight;

typedef struct Sizer {
  Tuning *t;
  Vec(Weight) weights;
  const Decision *decisions;  // in range mode
  bool *all;                  // per data set: is it used?
  double until, more;         // and as many seconds for layouts
} Sizer;

static Weight *weight_of(Sizer *s, const char *kernel) {
  vec_each (Weight *, w, &s->weights)
    if (strcmp(w->kernel, kernel) == 0) return w;
  int count = s->t->choice.problem.dataset_count;
  vec_push(&s->weights, (Weight){ kernel, new_array(double, count + 1) });
  return &s->weights.at[s->weights.count - 1];
}

void sizes_set(Tuning *t, const SizeParam *p, int64_t value) {
  measure_command(t->m,
                  text_format("set_tuning_param %s %lld", p->name, (long long)value));
}

bool sizes_apply(Tuning *t) {
  Measure *m = t->m;
  if (!measure_start(m)) return false;
  measure_command(m, "pause_profiling");
  measure_command(m, "set_path");
  vec_each (const SizeParam *, p, &t->sizing.params)
    if (sizes_is_changed(p)) sizes_set(t, p, p->value);
  return measure_set_thresholds(m, t->choice.thresholds);
}

// The thresholds that were chosen become the program's.
static bool apply_choice(Sizer *s) {
  Measure *m = s->t->m;
  if (!measure_start(m)) return false;
  measure_command(m, "set_path");
  return s->decisions ? measure_decide(m, s->decisions, &s->t->choice.sizes)
                      : measure_set_thresholds(m, s->t->choice.thresholds);
}

static Reply kernel_times(Sizer *s, int d, int calls) {
  Measure *m = s->t->m;
  const char *variables = measure_variables(m, d);
  if (!variables) return (Reply){ REPLY_FAILURE, "" };
  m->executions += calls;
  s->t->sizing.runs += calls;
  return measure_command(m,
                         text_format("kernel_times %s %d%s", m->entry, calls, variables));
}

static void weigh(Sizer *s, int d) {
  double us = fmax(1, s->t->seen->states[d].least_us);
  int calls = (int)fmax(1, fmin(LEAST_CALLS, CALLS_US / us));
  if (kernel_times(s, d, 1).status != REPLY_OK) return;
  Reply reply = kernel_times(s, d, calls);
  if (reply.status != REPLY_OK) return;
  for (const char *at = reply.text, *line; reply_line(&at, &line);) {
    size_t name = strcspn(line, " ");
    double took = strtod(line + name, NULL);
    weight_of(s, text_format("%.*s", (int)name, line))->share[d] += took / us;
  }
}

// Is the parameter main.segred.chunk for the kernel main.segred_chunks (not: main.segred_2)?
static bool concerns(const SizeParam *p, const Weight *w) {
  if (!p->operation) return false;
  size_t length = strlen(p->operation);
  if (strncmp(p->operation, w->kernel, length) != 0) return false;
  const char *rest = w->kernel + length;
  return !*rest || (rest[0] == '_' && !isdigit((unsigned char)rest[1]));
}

// The share of a data set's time that the parameter is about.
static double share_on(const Sizer *s, const SizeParam *p, int d) {
  double share = !p->operation;
  vec_each (const Weight *, w, &s->weights)
    if (concerns(p, w)) share += w->share[d];
  return s->all[d] ? share : 0;
}

static double largest_share(const Sizer *s, const SizeParam *p) {
  double most = 0;
  for (int d = 0; d < s->t->choice.problem.dataset_count; d++)
    most = fmax(most, share_on(s, p, d));
  return most;
}

// The data sets where it may matter.
static bool *where_it_matters(const Sizer *s, const SizeParam *p) {
  int count = s->t->choice.problem.dataset_count;
  bool *on = new_array(bool, count + 1);
  for (int d = 0; d < count; d++)
    on[d] = share_on(s, p, d) >= least_share;
  return on;
}

// ---- order

bool sizes_is_followed(const Tuning *t, const SizeParam *p) {
  vec_each (const SizeParam *, other, &t->sizing.params)
    if (other->follows && strcmp(other->follows, p->name) == 0) return true;
  return false;
}

typedef struct SizeTurn {
  SizeParam *param;
  double share;
} SizeTurn;
typedef Vec(SizeTurn) SizeTurns;

// Recipes before the numbers that go with them, then what takes more time.
static int compare_turns(const void *a, const void *b) {
  const SizeTurn *x = a, *y = b;
  if (x->share != y->share) return (x->share < y->share) - (x->share > y->share);
  bool first = strcmp(x->param->kind, "recipe") == 0,
       second = strcmp(y->param->kind, "recipe") == 0;
  return second - first;
}

static SizeTurns turns_of(const Sizer *s) {
  SizeTurns turns = { 0 };
  vec_each (SizeParam *, p, &s->t->sizing.params) {
    double share = largest_share(s, p);
    bool later = s->t->options->shares && !p->operation;
    bool chosen = sizes_is_split(p) || sizes_is_followed(s->t, p);
    if (share >= least_share && !later && !chosen)
      vec_push(&turns, (SizeTurn){ p, share });
  }
  qsort(turns.at, (size_t)turns.count, sizeof *turns.at, compare_turns);
  return turns;
}

// ---- one parameter

bool sizes_is_weight(const SizeParam *p) { return strcmp(p->kind, "weight") == 0; }

bool sizes_is_of_layout(const SizeParam *p) { return sizes_is_weight(p) && p->operation; }

bool sizes_is_changed(const SizeParam *p) {
  return sizes_is_of_layout(p) ? p->reason != NULL : p->value != p->before;
}

void sizes_read(Tuning *t, SizeParam *p) {
  Reply reply = measure_command(t->m, text_format("tuning_param_value %s", p->name));
  if (reply.status == REPLY_OK) p->value = strtoll(reply.text, NULL, 10);
}

static bool is_allowed_size(const Tuning *t, const SizeParam *p, int64_t value) {
  bool group = strcmp(p->kind, "group_size") == 0;
  return value >= !sizes_is_weight(p) && (!group || value <= t->sizing.max_group_size) &&
         (!p->most || value <= p->most);
}

const char *sizes_setting(const SizeParam *p, int64_t value) {
  return text_format("%s=%lld", p->name, (long long)value);
}

static void enter_value(Contest *c, const SizeParam *p, int64_t value) {
  if (value != p->value && is_allowed_size(c->t, p, value))
    contest_enter(c, sizes_setting(p, value), value);
}

// All recipes; of numbers the next smaller and larger.
static void enter_values(Contest *c, const SizeParam *p) {
  contest_enter(c, sizes_setting(p, p->value), p->value);
  if (strcmp(p->kind, "recipe") == 0) {
    for (int64_t value = 1; value <= p->most; value++)
      enter_value(c, p, value);
    return;
  }
  enter_value(c, p, p->value / FACTOR);
  enter_value(c, p, p->value * FACTOR);
}

// The share of a worker: none at all, or far from what it is; or near to that.
static void enter_weights(Contest *c, const SizeParam *p, bool near) {
  int64_t v = p->value > 0 ? p->value : 1;
  contest_enter(c, sizes_setting(p, p->value), p->value);
  if (!near) enter_value(c, p, 0);
  enter_value(c, p, near ? v * 3 / 4 : v / 2);
  enter_value(c, p, near ? v * 5 / 4 : v * 2);
}

void sizes_enter(Contest *c, const SizeParam *p, bool near) {
  if (sizes_is_weight(p))
    enter_weights(c, p, near);
  else
    enter_values(c, p);
}

bool sizes_hold(Tuning *t, const bool *on) {
  Measure *m = t->m;
  for (int d = 0; d < t->choice.problem.dataset_count; d++) {
    double us = 0;
    if (!on[d]) continue;
    Reply reply = measure_call(m, d, true, &us);
    const char *wrong =
        reply.status == REPLY_OK ? measure_check_result(m, d) : reply.text;
    measure_command(m, "free result");
    if (wrong) return false;
  }
  return true;
}

// On from winner to winner; weights by smaller steps in the end.
static void tune_param(Sizer *s, SizeParam *p, double until) {
  const bool *on = where_it_matters(s, p);
  for (bool near = false;;) {
    Contest c = contest_new(s->t, on, until);
    sizes_enter(&c, p, near);
    const Entrant *winner = contest_winner(&c);
    if (!winner && (near || !sizes_is_weight(p))) return;
    near = near || !winner;
    if (!winner) continue;
    double error, ratio = contest_ratio(&c, winner, &error);
    sizes_set(s->t, p, winner->value);
    if (!sizes_hold(s->t, on)) {
      sizes_set(s->t, p, p->value);
      return;
    }
    p->reason =
        text_format("%.1f %% better than %lld", 100 * (1 - ratio), (long long)p->value);
    p->value = winner->value;
    if (strcmp(p->kind, "recipe") == 0) return;
  }
}

// ---- the last word

static const char *settings_before(const Tuning *t) {
  Text *text = text_new();
  vec_each (const SizeParam *, p, &t->sizing.params)
    if (p->value != p->before)
      text_printf(text, "%s%s", text_length(text) ? "," : "",
                  sizes_setting(p, p->before));
  return text_str(text);
}

static void take_back(Sizer *s) {
  vec_each (SizeParam *, p, &s->t->sizing.params) {
    if (p->value == p->before) continue;
    sizes_set(s->t, p, p->before);
    p->value = p->before;
    p->reason = NULL;
  }
}

// All new values against the old ones, on all data sets.
static void verify_sizes(Sizer *s) {
  enum { TURNS = 3 };
  Tuning *t = s->t;
  const char *before = settings_before(t);
  if (!*before) return;
  Contest c = contest_new(t, s->all, child_now() + 0.5 * most_seconds);
  contest_enter(&c, before, 0);
  contest_enter(&c, "-", 0);
  contest_turn(&c, TURNS);
  double error, ratio = contest_ratio(&c, &c.list[1], &error);
  // Without a single turn the ratio is none.
  bool holds = ratio <= 1 && !contest_harms_one(&c, &c.list[1]);
  if (!holds) take_back(s);
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    if (s->all[d] && holds && t->checks.verified[d].before.count)
      t->checks.verified[d].tuned = c.list[1].us[d];
}

// ---- the whole

static void tune_all(Sizer *s) {
  Tuning *t = s->t;
  if (!apply_choice(s)) return;
  measure_command(t->m, "pause_profiling");
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    if (s->all[d] && child_now() < s->until) weigh(s, d);
  sizes_split(t, s->all, (child_now() + s->until) / 2);
  sizes_balance(t, s->all, (child_now() + s->until) / 2);
  SizeTurns turns = turns_of(s);
  for (int i = 0; i < turns.count; i++) {
    double now = child_now(), left = s->until - now;
    if (t->m->interrupted || left <= 0) break;
    tuning_progress(t, 95, "%s", turns.at[i].param->name);
    tune_param(s, turns.at[i].param, now + fmin(left, 3 * left / (turns.count - i)));
  }
  if (sizes_count_layouts(t)) sizes_balance_layouts(t, s->all, child_now() + s->more);
  verify_sizes(s);
  measure_command(t->m, "unpause_profiling");
}

// Is there time for a contest?
static bool all_are_short(const Sizer *s) {
  enum { RUNS = 20 };
  double sum = 0;
  for (int d = 0; d < s->t->choice.problem.dataset_count; d++)
    if (s->all[d]) sum += s->t->seen->states[d].least_us;
  return 1e-6 * sum * RUNS < s->until - child_now();
}

static void choose_in_time(Sizer *s) {
  Tuning *t = s->t;
  double seconds = fmin(most_seconds, share_of_budget * t->options->budget_s);
  s->until = fmin(t->m->limits.deadline, child_now() + seconds);
  s->more = seconds / 2;
  if (t->sizing.params.count > 0 && all_are_short(s)) tune_all(s);
}

void sizes_choose_on(Tuning *t, const Decision *decisions, bool *on) {
  Sizer s = { .t = t, .all = on, .decisions = decisions };
  choose_in_time(&s);
}

bool *sizes_datasets(const Tuning *t) {
  bool *all = new_array(bool, t->choice.problem.dataset_count + 1);
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    all[d] = !t->seen->states[d].failure;
  return all;
}

void sizes_choose(Tuning *t) {
  Sizer s = { .t = t, .all = sizes_datasets(t) };
  choose_in_time(&s);
}
