// Each value runs with each entry point, in one process after the other.  What counts is the mean
// of the ratios to the value in force, whatever the entry points take; no data set may lose by it.
#include "tuner/shared.h"
#include "tuner/driver.h"
#include "tuner/sizes.h"
#include <math.h>
#include <string.h>

enum { TURNS = 4 };
static const double gain = 0.02, share_of_budget = 0.15, most_seconds = 6;

typedef struct Shared {
  Vec(Tuning *) all;
  double until;
} Shared;

// What all entry points say of the values of a parameter, of which the first is in force.
typedef struct Verdict {
  int count;
  int64_t values[CONTEST_MOST];
  double ratios[CONTEST_MOST], squares[CONTEST_MOST];  // sums
  bool out[CONTEST_MOST];
} Verdict;

static SizeParam *param_of(const Tuning *t, const char *name) {
  vec_each (SizeParam *, p, &t->sizing.params)
    if (strcmp(p->name, name) == 0) return p;
  return NULL;
}

static void add_contest(Verdict *v, const Contest *c) {
  v->count = c->count;
  for (int k = 0; k < c->count; k++) {
    double error, ratio = contest_ratio(c, &c->list[k], &error);
    v->values[k] = c->list[k].value;
    v->ratios[k] += ratio;
    v->squares[k] += error * error;
    v->out[k] |= contest_harms_one(c, &c->list[k]);
  }
}

// Those that are near to the value or far from it; or that value alone which has won.
static void enter_shared(Contest *c, const SizeParam *p, bool near,
                         const int64_t *winner) {
  if (!winner) {
    sizes_enter(c, p, near);
    return;
  }
  contest_enter(c, sizes_setting(p, p->value), p->value);
  contest_enter(c, sizes_setting(p, *winner), *winner);
}

// Does the program give the right results with the value that has won?
static bool winner_holds(Tuning *t, const SizeParam *p, int64_t winner, const bool *on) {
  Reply set = measure_command(
      t->m, text_format("set_tuning_param %s %lld", p->name, (long long)winner));
  return set.status == REPLY_OK && sizes_hold(t, on);
}

static bool was_interrupted(const Shared *s) {
  vec_each (Tuning *const *, t, &s->all)
    if ((*t)->m->interrupted) return true;
  return false;
}

// False if there was no time, or a program failed.
static bool ask_all(Shared *s, const char *name, bool near, const int64_t *winner,
                    Verdict *v) {
  *v = (Verdict){ 0 };
  if (was_interrupted(s) || child_now() > s->until) return false;
  vec_each (Tuning **, t, &s->all) {
    const SizeParam *p = param_of(*t, name);
    if (!p) return false;
    const bool *on = sizes_datasets(*t);
    Contest c = contest_new(*t, on, s->until);
    enter_shared(&c, p, near, winner);
    bool ok = sizes_apply(*t) && contest_turn(&c, TURNS) &&
              (!winner || winner_holds(*t, p, *winner, on));
    child_stop(&(*t)->m->server);
    if (!ok) return false;
    add_contest(v, &c);
  }
  return true;
}

// The number of the best value that is better than the first beyond noise; 0: there is none.
static int best_of_all(const Shared *s, const Verdict *v) {
  int best = 0, n = s->all.count;
  for (int k = 1; k < v->count; k++)
    if (!v->out[k] && v->ratios[k] / n + 2 * sqrt(v->squares[k]) / n < 1 - gain &&
        (!best || v->ratios[k] < v->ratios[best]))
      best = k;
  return best;
}

static void take_winner(const Shared *s, const char *name, int64_t value, double ratio) {
  vec_each (Tuning **, t, &s->all) {
    SizeParam *p = param_of(*t, name);
    if (!p) continue;
    p->reason = text_format("%.1f %% better than %lld in the mean of %d entry points",
                            100 * (1 - ratio), (long long)p->value, s->all.count);
    p->value = value;
  }
}

// On from winner to winner, each of which has to win twice; weights by smaller steps in the end.
static void tune_shared(Shared *s, const SizeParam *p) {
  Verdict v, again;
  for (bool near = false; ask_all(s, p->name, near, NULL, &v);) {
    int best = best_of_all(s, &v);
    if (!best && (near || !sizes_is_weight(p))) return;
    near = near || !best;
    if (!best) continue;
    if (!ask_all(s, p->name, near, &v.values[best], &again) || !best_of_all(s, &again))
      return;
    take_winner(s, p->name, v.values[best], again.ratios[1] / s->all.count);
  }
}

// Has each entry point this parameter, and none one of its own in its place?
static bool is_shared(const Shared *s, const SizeParam *p) {
  if (p->operation) return false;
  vec_each (Tuning **, t, &s->all)
    if (!param_of(*t, p->name) || sizes_is_followed(*t, p)) return false;
  return true;
}

// Is there time for a question?
static bool all_goals_are_short(const Shared *s) {
  enum { RUNS = 20 };
  double sum = 0;
  vec_each (Tuning **, t, &s->all) {
    const bool *on = sizes_datasets(*t);
    for (int d = 0; d < (*t)->choice.problem.dataset_count; d++)
      if (on[d]) sum += (*t)->seen->states[d].least_us;
  }
  return 1e-6 * sum * RUNS < s->until - child_now();
}

const char *shared_choose(Tuning *const *all, int count) {
  Shared s = { 0 };
  Text *text = text_new();
  for (int i = 0; i < count; i++)
    if (!all[i]->problem_text && !all[i]->m->interrupted && !all[i]->options->no_sizes)
      vec_push(&s.all, all[i]);
  if (!s.all.count) return "";
  double budget = all[0]->options->budget_s * count;
  s.until = child_now() + fmin(most_seconds, share_of_budget * budget);
  if (!all_goals_are_short(&s)) return "";
  Tuning *last = s.all.at[s.all.count - 1];
  vec_each (const SizeParam *, p, &last->sizing.params) {
    if (is_shared(&s, p)) tune_shared(&s, p);
    if (!p->operation && p->reason)
      text_printf(text, "  %s %lld  %s\n", p->name, (long long)p->value, p->reason);
  }
  if (text_length(text)) tuner_write(last);
  return text_str(text);
}
