// The shares of workers by what each took: worker i, which did w_i of the work in t_i, does w_i/t_i
// of it in the same time as the others.  Devices of different kinds differ by factors that steps
// from one share to the next find late, or one device at a time not at all.
#include "tuner/sizes.h"
#include <math.h>
#include <stdlib.h>

enum { LARGEST = 1000, MOST_STEPS = 4 };
// Shares that are nearer than this to those in force are these.
static const double same_share = 0.04;

typedef struct Balance {
  Tuning *t;
  const bool *on;
  double until;
  Vec(SizeParam *) shares;  // of the workers, in order
} Balance;

// What each worker works in a call on the data set is added; false if the program fails.
static bool add_times(const Balance *b, int d, double *us) {
  Measure *m = b->t->m;
  const char *variables = measure_variables(m, d);
  if (!variables) return false;
  Reply reply = child_command(&m->server, 60 + 2 * m->limits.timeout_s, "race %s 2%s -",
                              m->entry, variables);
  m->executions += 2;
  b->t->sizing.runs += 2;
  if (reply.status == REPLY_OK) reply = measure_command(m, "worker_times");
  if (reply.status != REPLY_OK) return false;
  int i = 0;
  for (const char *at = reply.text, *line; reply_line(&at, &line) && i < b->shares.count;)
    us[i++] += b->t->choice.problem.weights[d] * strtod(line, NULL);
  return i == b->shares.count;
}

// The share of each by its speed, the fastest having LARGEST; false if nothing is known.
static bool fair_shares(const Balance *b, int64_t *out) {
  double *us = new_array(double, b->shares.count), fastest = 0;
  for (int d = 0; d < b->t->choice.problem.dataset_count; d++)
    if (b->on[d] && !add_times(b, d, us)) return false;
  for (int i = 0; i < b->shares.count; i++) {
    us[i] = us[i] > 0 ? (double)b->shares.at[i]->value / us[i] : 0;
    fastest = fmax(fastest, us[i]);
  }
  for (int i = 0; i < b->shares.count && fastest > 0; i++)
    out[i] = (int64_t)round(LARGEST * us[i] / fastest);
  return fastest > 0;
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

// Are they better?  Then they are in force.
static bool take(Balance *b, const int64_t *shares) {
  Contest c = contest_new(b->t, b->on, b->until);
  contest_enter(&c, settings_of(b, NULL), 0);
  contest_enter(&c, settings_of(b, shares), 1);
  const Entrant *winner = contest_winner(&c);
  if (!winner) return false;
  double error, ratio = contest_ratio(&c, winner, &error);
  for (int i = 0; i < b->shares.count; i++) {
    SizeParam *p = b->shares.at[i];
    sizes_set(b->t, p, shares[i]);
    p->value = shares[i];
    p->reason =
        text_format("as fast as it is; all shares: %.1f %% better", 100 * (1 - ratio));
  }
  return true;
}

void sizes_balance(Tuning *t, const bool *on, double until) {
  Balance b = { .t = t, .on = on, .until = until };
  vec_each (SizeParam *, p, &t->sizing.params)
    if (sizes_is_weight(p)) vec_push(&b.shares, p);
  if (b.shares.count < 2) return;
  int64_t *shares = new_array(int64_t, b.shares.count);
  for (int i = 0; i < MOST_STEPS && child_now() < until; i++)
    if (!fair_shares(&b, shares) || !are_other(&b, shares) || !take(&b, shares)) return;
}
