// The shares of workers by what each took: worker i, which did w_i of the work in t_i, does w_i/t_i
// of it in the same time as the others.  Devices of different kinds differ by factors that steps
// from one share to the next find late, or one device at a time not at all.
//
// Layouts with weights of their own (docs/machines.md) come after the weights of the program.  What
// each worker takes for one of them is seen when the shares in it are others, and all else is as it
// was: if worker i has d_i more of the work and takes e_i longer, all of it takes it e_i/d_i.
#include "tuner/sizes.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LARGEST = 1000, MOST_STEPS = 4, LAYOUT_STEPS = 2, REPEATS = 2, APART = 3 };
// Shares that are nearer than this to those in force are these.
static const double same_share = 0.04;
// Of the time of a run; with less to gain a layout is left as it is.
static const double least_gain = 0.02;
// A worker with a smaller part than this of what all have may be better without it.
static const double small_part = 0.15;
// No worker is taken to be faster than the slowest by more.
static const double most_ratio = 1000;

typedef struct Balance {
  Tuning *t;
  const bool *on;
  double until;
  const char *layout;       // NULL: the program's
  Vec(SizeParam *) shares;  // of the workers, in order
} Balance;

static bool is_same_layout(const SizeParam *p, const char *layout) {
  return p->operation && layout ? strcmp(p->operation, layout) == 0
                                : p->operation == layout;
}

static Balance balance_new(Tuning *t, const bool *on, double until, const char *layout) {
  Balance b = { .t = t, .on = on, .until = until, .layout = layout };
  vec_each (SizeParam *, p, &t->sizing.params)
    if (sizes_is_weight(p) && is_same_layout(p, layout)) vec_push(&b.shares, p);
  return b;
}

// The least that each worker works in a call on the data set, with these settings, is added; false
// if the program fails.
static bool add_times(const Balance *b, int d, const char *settings, int repeats,
                      double *us) {
  Measure *m = b->t->m;
  int count = b->shares.count;
  const char *variables = measure_variables(m, d);
  double *least = new_array(double, count + 1);
  for (int r = 0; r < repeats; r++) {
    if (!variables) return false;
    Reply reply = child_command(&m->server, 60 + 2 * m->limits.timeout_s,
                                "race %s 2%s %s", m->entry, variables, settings);
    m->executions += 2;
    b->t->sizing.runs += 2;
    if (reply.status == REPLY_OK) reply = measure_command(m, "worker_times");
    if (reply.status != REPLY_OK) return false;
    int i = 0;
    for (const char *at = reply.text, *line; reply_line(&at, &line) && i < count; i++) {
      double took = strtod(line, NULL);
      least[i] = r ? fmin(least[i], took) : took;
    }
    if (i < count) return false;
  }
  for (int i = 0; i < count; i++)
    us[i] += b->t->choice.problem.weights[d] * least[i];
  return true;
}

static bool times_of(const Balance *b, const char *settings, int repeats, double *us) {
  for (int d = 0; d < b->t->choice.problem.dataset_count; d++)
    if (b->on[d] && !add_times(b, d, settings, repeats, us)) return false;
  return true;
}

// The share of each by its speed, the fastest having LARGEST; false if nothing is known.
static bool shares_of(const Balance *b, const double *speeds, int64_t *out) {
  double fastest = 0;
  for (int i = 0; i < b->shares.count; i++)
    fastest = fmax(fastest, speeds[i]);
  for (int i = 0; i < b->shares.count && fastest > 0; i++)
    out[i] = (int64_t)round(LARGEST * speeds[i] / fastest);
  return fastest > 0;
}

static bool fair_shares(const Balance *b, int64_t *out) {
  double *us = new_array(double, b->shares.count);
  if (!times_of(b, "-", 1, us)) return false;
  for (int i = 0; i < b->shares.count; i++)
    us[i] = us[i] > 0 ? (double)b->shares.at[i]->value / us[i] : 0;
  return shares_of(b, us, out);
}

static double most_of(const Balance *b) {
  double most = 1;
  for (int i = 0; i < b->shares.count; i++)
    most = fmax(most, (double)b->shares.at[i]->value);
  return most;
}

static bool are_other(const Balance *b, const int64_t *shares) {
  double most = most_of(b);
  for (int i = 0; i < b->shares.count; i++)
    if (fabs((double)shares[i] / LARGEST - (double)b->shares.at[i]->value / most) >
        same_share)
      return true;
  return false;
}

static const char *settings_of(const Balance *b, const int64_t *shares) {
  Text *t = text_new();
  for (int i = 0; i < b->shares.count; i++)
    text_printf(
        t, "%s%s", i ? "," : "",
        sizes_setting(b->shares.at[i], shares ? shares[i] : b->shares.at[i]->value));
  return text_str(t);
}

static void put_in_force(Balance *b, const int64_t *shares, double ratio) {
  for (int i = 0; i < b->shares.count; i++) {
    SizeParam *p = b->shares.at[i];
    sizes_set(b->t, p, shares[i]);
    p->value = shares[i];
    p->reason =
        text_format("as fast as it is; all shares: %.1f %% better", 100 * (1 - ratio));
  }
}

// If one of so many is better than what is in force, it is that from now on.
static bool take(Balance *b, int64_t *const *shares, int count) {
  Contest c = contest_new(b->t, b->on, b->until);
  contest_enter(&c, settings_of(b, NULL), -1);
  for (int i = 0; i < count; i++)
    contest_enter(&c, settings_of(b, shares[i]), i);
  const Entrant *winner = contest_winner(&c);
  if (!winner) return false;
  double error, ratio = contest_ratio(&c, winner, &error);
  put_in_force(b, shares[winner->value], ratio);
  return true;
}

void sizes_balance(Tuning *t, const bool *on, double until) {
  Balance b = balance_new(t, on, until, NULL);
  if (b.shares.count < 2) return;
  int64_t *shares = new_array(int64_t, b.shares.count);
  for (int i = 0; i < MOST_STEPS && child_now() < until; i++)
    if (!fair_shares(&b, shares) || !are_other(&b, shares) || !take(&b, &shares, 1))
      return;
}

// ---- layouts

// Shares that are all others than those in force.
static int64_t *other_shares(const Balance *b) {
  int count = b->shares.count;
  int64_t *out = new_array(int64_t, count), sum = 0;
  for (int i = 0; i < count; i++)
    sum += b->shares.at[i]->value;
  for (int i = 0; i < count; i++) {
    int64_t now = b->shares.at[i]->value;
    out[i] = (now ? now : sum / count + 1) * (i % 2 ? 1 : APART);
  }
  return out;
}

// The part of the work that a worker has by these shares; NULL: by those in force.
static double part_of(const Balance *b, const int64_t *shares, int worker) {
  double all = 0, own = 0;
  for (int i = 0; i < b->shares.count; i++) {
    double share = (double)(shares ? shares[i] : b->shares.at[i]->value);
    all += share;
    if (i == worker) own = share;
  }
  return all > 0 ? own / all : 0;
}

// What each worker would take for all of the layout's work, and all of them now for a run; false if
// the program fails, or nothing can be seen.
static bool whole_times(const Balance *b, double *whole, double *run) {
  int count = b->shares.count;
  const int64_t *others = other_shares(b);
  double *now = new_array(double, count), *then = new_array(double, count), slowest = 0;
  if (!times_of(b, settings_of(b, NULL), REPEATS, now) ||
      !times_of(b, settings_of(b, others), REPEATS, then))
    return false;
  for (int i = 0; i < count; i++) {
    whole[i] = (then[i] - now[i]) / (part_of(b, others, i) - part_of(b, NULL, i));
    slowest = fmax(slowest, whole[i]);
    *run = fmax(*run, now[i]);
  }
  for (int i = 0; i < count; i++)
    whole[i] = fmax(whole[i], slowest / most_ratio);
  return slowest > 0;
}

// Is it worth a contest that they have shares in which they finish together?
static bool is_worth_it(const Balance *b, const double *whole, double run) {
  double now = 0, speed = 0;
  for (int i = 0; i < b->shares.count; i++) {
    now = fmax(now, part_of(b, NULL, i) * whole[i]);
    speed += 1 / whole[i];
  }
  return now - 1 / speed > least_gain * run;
}

enum { MOST_CANDIDATES = 3 };

// Halfway, as ratios, from the shares in force to others: what was measured is not exact.
static int64_t *halfway(const Balance *b, const int64_t *shares) {
  int64_t *out = new_array(int64_t, b->shares.count);
  double most = most_of(b);
  for (int i = 0; i < b->shares.count; i++) {
    double now = LARGEST * (double)b->shares.at[i]->value / most;
    out[i] = (int64_t)round(sqrt(now * (double)shares[i]));
  }
  return out;
}

static bool is_any(const int64_t *shares, int count) {
  for (int i = 0; i < count; i++)
    if (shares[i]) return true;
  return false;
}

// The shares, the way to them, and the same without the worker that has least, if that is little;
// how many.
static int candidates(const Balance *b, const double *whole,
                      int64_t *out[MOST_CANDIDATES]) {
  int count = b->shares.count, least = 0, found = 1;
  double *speeds = new_array(double, count);
  out[0] = new_array(int64_t, count);
  for (int i = 0; i < count; i++)
    speeds[i] = 1 / whole[i];
  if (!shares_of(b, speeds, out[0])) return 0;
  for (int i = 1; i < count; i++)
    if (out[0][i] < out[0][least]) least = i;
  out[found] = halfway(b, out[0]);
  found += is_any(out[found], count);
  if (part_of(b, out[0], least) >= small_part || !out[0][least]) return found;
  out[found] = mem_copy(out[0], sizeof *out[0] * (size_t)count);
  out[found++][least] = 0;
  return found;
}

static void balance_layout(Balance *b) {
  double *whole = new_array(double, b->shares.count), run = 0;
  int64_t *shares[MOST_CANDIDATES];
  tuning_progress(b->t, 95, "%s", b->layout);
  vec_each (SizeParam **, p, &b->shares)
    sizes_read(b->t, *p);
  for (int i = 0; i < LAYOUT_STEPS && child_now() < b->until; i++) {
    if (!whole_times(b, whole, &run) || !is_worth_it(b, whole, run)) return;
    int count = candidates(b, whole, shares);
    if (!count || !are_other(b, shares[0]) || !take(b, shares, count)) return;
  }
}

int sizes_count_layouts(const Tuning *t) {
  int count = 0;
  vec_each (const SizeParam *, p, &t->sizing.params) {
    bool first = sizes_is_of_layout(p);
    for (const SizeParam *other = t->sizing.params.at; first && other < p; other++)
      first = !sizes_is_of_layout(other) || !is_same_layout(other, p->operation);
    count += first;
  }
  return count;
}

void sizes_balance_layouts(Tuning *t, const bool *on, double until) {
  const char *last = NULL;
  int left = sizes_count_layouts(t);
  vec_each (const SizeParam *, p, &t->sizing.params) {
    double now = child_now();
    if (t->m->interrupted || now >= until) return;
    if (!sizes_is_of_layout(p) || is_same_layout(p, last)) continue;
    last = p->operation;
    Balance b = balance_new(t, on, now + (until - now) / left--, last);
    if (b.shares.count > 1) balance_layout(&b);
  }
}
