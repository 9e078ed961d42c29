// Begin replay.h: replay (docs/tuning.md).  While a tuner measures, a guard runs all alternatives
// that the tuner has named for it on the same live inputs, in turn, keeps one result and goes on.
//
// Generated code around a guard:
//
//   struct rt_mem **const slots[] = { &xs_1, &out_2 };  // that the branches change
//   struct rt_replay *race = rt_replay_begin(ctx, 3, par, local_bytes, slots, 1, 2);
//   do {
//     if (rt_guard(ctx, 3, par, local_bytes, step)) { .. } else { .. }
//   raced_3:  // errors jump to it
//     if (race && rt_replay_stop(ctx, race, &err)) {
//       const struct rt_outcome outcomes[] = { { RT_F32, n, out_2, NULL } };
//       rt_replay_compare(ctx, race, outcomes, 1, m);  // m: roundings
//     }
//   } while (race && rt_replay_next(ctx, race, &err));
//
// What is seen is written to standard output while the call goes on, a line each (tuner/replay.h).
// Events of one guard that agree in Par are a group: it is raced at its first event until it is
// settled, and for two more rounds at every event whose number is a power of two.  At others the
// best is run, without waiting for the device, so that the versions around are measured as they run
// in earnest: what such an event took is taken to be what it took in the race, and the rest goes to
// what is around.

enum { RT_MOST_ROUNDS = 64, RT_LAST_RACED_EVENT = 64 };

// An alternative of a group.  Times are of one event, in microseconds, per round: `own` without the
// guards inside that are raced by themselves, `total` with them, negative if there is none.  As
// guards inside are raced with waiting, which the whole is not, `own` can be negative.
struct rt_contender {
  bool warm, seen, out, failed, compared;
  double upper;  // of the first run, in which kernels are compiled: at most so long
  int strikes;   // runs that were abandoned
  double own[RT_MOST_ROUNDS], total[RT_MOST_ROUNDS];
};

struct rt_replay_group {
  int data, guard, count;
  int64_t par, local_bytes;
  int64_t events;  // in this call
  int rounds, best;
  bool settled;
  struct rt_contender *list;
  unsigned char **outcomes;  // of the first alternative, to compare with
  int outcome_count, outcome_of;
};

// How many events of group `inner` a run of an alternative meets; group -1: the whole call.
struct rt_inside {
  int group, alternative, inner;
  int64_t count;
};

struct rt_replay_plan {
  signed char **paths;  // per alternative: the forced branches, as ctx->forced
  int count;
};

// A guard that is being decided.
struct rt_replay {
  struct rt_replay *around;
  int group, alternative, position, quota;
  struct rt_mem **const *slots;
  struct rt_mem **saved;
  bool *copied;
  int taken, count;
  signed char *forced;    // what was forced before
  double begun, started;  // the race, the run of the alternative
  double warmed;          // when all alternatives had run once; 0: not yet
  double inside, kept;    // time in guards inside, and what of it counts
  double extra;           // not racing: what races inside took beyond their best
  double own, total;      // of the last run
  double limit;           // a run is abandoned beyond it; 0: none
  double checked;         // when the limit was last looked at
  int cold;               // kernels that the run launched for the first time
  int launches;           // since `checked`
  bool racing, ok;
  int error;
  char *message;
};

struct rt_replayer {
  bool on;
  int data, most_rounds;
  double most_us, most_call_us;  // for rounds at one event, and for all of a call
  double deadline;
  struct rt_replay_plan *plans;  // per guard
  struct rt_replay_group *groups;
  int group_count;
  struct rt_inside *insides;
  int inside_count;
  struct rt_replay *race;       // the innermost one
  struct rt_replay *abandoned;  // which run is to end
  double called, inside, flushed;
};

RT_FN double rt_replay_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return 1e6 * (double)now.tv_sec + 1e-3 * (double)now.tv_nsec;
}

// Lines are sent when the last ones are a while ago, so that sending disturbs no short runs.
RT_FN void rt_replay_flush(struct rt_replayer *r, bool now) {
  double time = rt_replay_now();
  if (!now && time < r->flushed + 50e3) return;
  fflush(rt_out);
  r->flushed = time;
}

// ---- groups

RT_FN int rt_replay_group_of(struct rt_replayer *r, int guard, int64_t par,
                             int64_t local_bytes) {
  for (int i = 0; i < r->group_count; i++) {
    const struct rt_replay_group *g = &r->groups[i];
    if (g->data == r->data && g->guard == guard && g->par == par &&
        g->local_bytes == local_bytes)
      return i;
  }
  size_t size = ((size_t)r->group_count + 1) * sizeof *r->groups;
  r->groups = (struct rt_replay_group *)rt_host_grow(r->groups, size);
  struct rt_replay_group *g = &r->groups[r->group_count];
  memset(g, 0, sizeof *g);
  g->data = r->data;
  g->guard = guard;
  g->par = par;
  g->local_bytes = local_bytes;
  g->outcome_of = -1;
  g->count = r->plans[guard].count;
  g->list = (struct rt_contender *)rt_host_alloc((size_t)g->count * sizeof *g->list);
  for (int k = 0; k < g->count; k++) {
    g->list[k].failed = !r->plans[guard].paths[k];
    for (int i = 0; i < RT_MOST_ROUNDS; i++)
      g->list[k].total[i] = -1;
  }
  rt_say("group %d %s %" PRId64 " %" PRId64 "\n", r->group_count,
         rt_program()->guards[guard].name, par, local_bytes);
  return r->group_count++;
}

RT_FN void rt_replay_count_inside(struct rt_replayer *r, int inner) {
  int group = r->race ? r->race->group : -1;
  int alternative = r->race ? r->race->alternative : 0;
  for (int i = 0; i < r->inside_count; i++) {
    struct rt_inside *in = &r->insides[i];
    if (in->group != group || in->alternative != alternative || in->inner != inner)
      continue;
    in->count++;
    return;
  }
  size_t size = ((size_t)r->inside_count + 1) * sizeof *r->insides;
  r->insides = (struct rt_inside *)rt_host_grow(r->insides, size);
  r->insides[r->inside_count].group = group;
  r->insides[r->inside_count].alternative = alternative;
  r->insides[r->inside_count].inner = inner;
  r->insides[r->inside_count++].count = 1;
}

// What a run of the alternative has met: tells it if it is wanted, and forgets it.
RT_FN void rt_replay_close_inside(struct rt_replayer *r, int group, int alternative,
                                  bool tell) {
  for (int i = 0; i < r->inside_count;) {
    const struct rt_inside *in = &r->insides[i];
    if (in->group != group || in->alternative != alternative) {
      i++;
      continue;
    }
    if (tell)
      rt_say("inside %d %d %d %" PRId64 "\n", group, alternative, in->inner, in->count);
    r->insides[i] = r->insides[--r->inside_count];
  }
}

// ---- deciding

RT_FN bool rt_contender_alive(const struct rt_contender *c) {
  return !c->out && !c->failed;
}

// The 97.5 % quantile of Student's distribution.
RT_FN double rt_student(int freedom) {
  static const double table[] = { 12.7, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26 };
  return freedom < 1 ? 1e9 : freedom < 10 ? table[freedom - 1] : 1.96 + 2.6 / freedom;
}

// The mean of log(a / b) over the rounds that have both, and the half width of its interval.
RT_FN double rt_replay_ratio(const struct rt_contender *a, const struct rt_contender *b,
                             double *half) {
  double sum = 0, squares = 0;
  int n = 0;
  for (int i = 0; i < RT_MOST_ROUNDS; i++) {
    if (a->total[i] < 0 || b->total[i] < 0) continue;
    double x = log((a->total[i] + 0.1) / (b->total[i] + 0.1));
    sum += x;
    squares += x * x;
    n++;
  }
  double mean = n ? sum / n : 0;
  double variance = n > 1 ? fmax(0, squares - sum * mean) / (n - 1) : 1e9;
  *half = rt_student(n - 1) * sqrt(variance / (n > 1 ? n : 1));
  return mean;
}

RT_FN int rt_replay_best(const struct rt_replay_group *g) {
  int best = -1;
  double half = 0;
  for (int k = 0; k < g->count; k++)
    if (rt_contender_alive(&g->list[k]) &&
        (best < 0 || rt_replay_ratio(&g->list[k], &g->list[best], &half) < 0))
      best = k;
  return best < 0 ? 0 : best;
}

// The shortest time of the alternative so far; INFINITY if there is none.
RT_FN double rt_contender_least(const struct rt_contender *c) {
  double least = c->upper > 0 ? c->upper : INFINITY;
  for (int i = 0; i < RT_MOST_ROUNDS; i++)
    if (c->total[i] >= 0 && c->total[i] < least) least = c->total[i];
  return least;
}

// Has it needed half as long again in each of at least two rounds?
RT_FN bool rt_contender_lost(const struct rt_contender *c,
                             const struct rt_contender *best) {
  double least = INFINITY;
  int n = 0;
  for (int i = 0; i < RT_MOST_ROUNDS; i++) {
    if (c->total[i] < 0) continue;
    least = fmin(least, c->total[i]);
    n++;
  }
  return n > 1 && least > 1.5 * rt_contender_least(best);
}

// Who has lost leaves; settled when nobody is left, or only ties within 1 %.
RT_FN void rt_replay_judge(struct rt_replay_group *g) {
  bool open = false;
  g->best = rt_replay_best(g);
  for (int k = 0; k < g->count; k++) {
    struct rt_contender *c = &g->list[k];
    if (k == g->best || !rt_contender_alive(c)) continue;
    double half = 0, mean = rt_replay_ratio(c, &g->list[g->best], &half);
    if (mean > half || rt_contender_lost(c, &g->list[g->best]))
      c->out = true;
    else if (fabs(mean) + half > 0.01)
      open = true;
  }
  g->settled = !open;
}

RT_FN int rt_compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The lower quartile; 0 if there is none.
RT_FN double rt_contender_typical(const struct rt_contender *c) {
  double sorted[RT_MOST_ROUNDS];
  int n = 0;
  for (int i = 0; i < RT_MOST_ROUNDS; i++)
    if (c->total[i] >= 0) sorted[n++] = c->total[i];
  qsort(sorted, (size_t)n, sizeof *sorted, rt_compare_doubles);
  return n ? sorted[(n - 1) / 4] : c->upper;
}

RT_FN double rt_replay_least(const struct rt_replay_group *g) {
  double least = INFINITY;
  for (int k = 0; k < g->count; k++)
    least = fmin(least, rt_contender_least(&g->list[k]));
  return least;
}

// ---- runs

// Brings back what the last run has changed.  What is to be overwritten in place and nobody else
// refers to is copied, outside of the measured time, so that it stays so.
RT_FN int rt_replay_restore(struct rt_context *ctx, struct rt_replay *race) {
  int error = RT_OK;
  for (int i = 0; i < race->count && !error; i++) {
    struct rt_mem *saved = race->saved[i];
    rt_mem_release(ctx, race->slots[i]);
    if (!race->copied[i]) {
      rt_mem_share(ctx, race->slots[i], saved);
      continue;
    }
    error = rt_mem_alloc(ctx, race->slots[i], saved->bytes);
    if (!error) error = rt_mem_copy(ctx, *race->slots[i], 0, saved, 0, saved->bytes);
  }
  return error;
}

RT_FN void rt_replay_start(struct rt_context *ctx, struct rt_replay *race,
                           int alternative) {
  struct rt_replayer *r = ctx->replayer;
  struct rt_replay_group *g = &r->groups[race->group];
  const signed char *path = r->plans[g->guard].paths[alternative];
  memcpy(ctx->forced, race->forced, (size_t)ctx->program->guard_count);
  for (int i = 0; i < ctx->program->guard_count; i++)
    if (path[i]) ctx->forced[i] = path[i];
  race->alternative = alternative;
  race->inside = race->kept = race->extra = 0;
  race->cold = race->launches = 0;
  rt_replay_close_inside(r, race->group, alternative, false);
  bool first = !g->list[alternative].warm;
  if (first) rt_say("try %d %d\n", race->group, alternative);
  rt_replay_flush(r, first);
  if (race->racing) rt_wait(ctx);
  race->started = race->checked = rt_replay_now();
  race->limit = race->racing ? 1.5 * rt_replay_least(g) : INFINITY;
}

// What the run may take: more if it compiles kernels.
RT_FN double rt_replay_allowance(const struct rt_replay *race) {
  return race->limit + 1e3 + 2e6 * race->cold;
}

RT_FN double rt_replay_elapsed(const struct rt_replay *race) {
  return rt_replay_now() - race->started - race->inside + race->kept;
}

// Has a run gone on for longer than it may?  Asked before each launch; waits for the device now and
// then only.  A run inside that is not raced counts as part of the one around it.
RT_FN bool rt_replay_over(struct rt_context *ctx, bool cold) {
  struct rt_replay *race = ctx->replayer->race;
  for (struct rt_replay *at = race; at; at = at->around)
    at->cold += cold;
  while (race && !race->racing)
    race = race->around;
  if (!race || isinf(race->limit)) return false;
  if (race->launches++ < 500 &&
      rt_replay_now() - race->checked < 0.4 * rt_replay_allowance(race))
    return false;
  rt_wait(ctx);
  race->launches = 0;
  race->checked = rt_replay_now();
  if (rt_replay_elapsed(race) <= rt_replay_allowance(race)) return false;
  ctx->replayer->abandoned = race;
  return true;
}

RT_FN bool rt_replay_stop(struct rt_context *ctx, struct rt_replay *race, int *error) {
  struct rt_contender *c = &ctx->replayer->groups[race->group].list[race->alternative];
  race->error = *error;
  race->ok = race->error == RT_OK;
  if (!race->racing) return false;
  if (!*error) *error = rt_finish(ctx);
  double elapsed = rt_replay_now() - race->started;
  if (!*error) *error = rt_check_failures(ctx);
  race->own = elapsed - race->inside;
  race->total = race->own + race->kept;
  race->error = *error;
  *error = RT_OK;
  race->ok = race->error == RT_OK;
  return race->ok && race->racing && !c->compared;
}

RT_FN void rt_replay_sample(struct rt_replay_group *g, struct rt_replay *race,
                            int round) {
  struct rt_contender *c = &g->list[race->alternative];
  c->own[round] = race->own;
  c->total[round] = race->total;
  rt_say("sample %d %d %d %.3f %.3f\n", race->group, race->alternative, round, race->own,
         race->total);
}

RT_FN void rt_replay_fail(struct rt_context *ctx, struct rt_replay *race,
                          struct rt_contender *c) {
  bool warm = c->warm;
  rt_wait(ctx);
  c->warm = true;
  if (race->error ==
      RT_ABANDONED) {  // the first time it may have been the compiler, or noise
    c->out = warm && ++c->strikes == 2;
    if (warm) rt_say("bound %d %d %.3f\n", race->group, race->alternative, race->limit);
    return;
  }
  c->failed = true;
  free(race->message);
  race->message = ctx->error;
  ctx->error = NULL;
  const char *text = race->message ? race->message : "failed";
  rt_say("fail %d %d %.*s\n", race->group, race->alternative, (int)strcspn(text, "\n"),
         text);
}

// What the run that has ended says.
RT_FN void rt_replay_note(struct rt_context *ctx, struct rt_replay *race) {
  struct rt_replayer *r = ctx->replayer;
  struct rt_replay_group *g = &r->groups[race->group];
  struct rt_contender *c = &g->list[race->alternative];
  if (!race->ok) {
    rt_replay_fail(ctx, race, c);
    return;
  }
  if (!c->seen) rt_replay_close_inside(r, race->group, race->alternative, true);
  c->seen = true;
  if (!race->racing) return;
  if (c->warm) {
    if (race->quota > 0) rt_replay_sample(g, race, g->rounds);
  } else if (race->cold == 0 &&
             race->total > 3 * rt_replay_least(g)) {  // nothing was compiled
    c->out = true;
    rt_replay_sample(g, race, g->rounds);
  } else {
    c->upper = race->total;
  }
  c->warm = true;
}

// ---- outcomes

RT_FN double rt_element_as_f64(enum rt_elem elem, const unsigned char *at) {
  uint16_t half = 0;
  float single = 0;
  double twice = 0;
  if (elem == RT_F16) {
    memcpy(&half, at, sizeof half);
    return (double)flc_f16_to_f32(half);
  }
  if (elem == RT_F32) memcpy(&single, at, sizeof single);
  if (elem == RT_F64) memcpy(&twice, at, sizeof twice);
  return elem == RT_F32 ? (double)single : twice;
}

// The greatest finite magnitude.
RT_FN double rt_scale_of(enum rt_elem elem, int64_t count, const unsigned char *values) {
  double scale = 0;
  for (int64_t i = 0; i < count; i++) {
    double x = fabs(rt_element_as_f64(elem, values + i * rt_elems[elem].bytes));
    if (isfinite(x)) scale = fmax(scale, x);
  }
  return scale;
}

// What another order of so many roundings can make of floats, relative to the greatest of an array
// (or to 1, as terms may cancel each other): one rounding each, but never more than a test allows.
RT_FN double rt_outcome_tolerance(enum rt_elem elem, int64_t roundings) {
  static const double few = 64, most = 2e-3;
  double epsilon = elem == RT_F16   ? 0.0009765625
                   : elem == RT_F32 ? (double)FLT_EPSILON
                                    : DBL_EPSILON;
  return fmin(elem == RT_F16 ? 0.05 : most, epsilon * (few + (double)roundings));
}

// Floats may differ by what another order of operations makes of them.
RT_FN bool rt_same_outcome(const struct rt_outcome *o, int64_t roundings,
                           const unsigned char *a, const unsigned char *b) {
  size_t bytes = (size_t)rt_elems[o->elem].bytes;
  if (memcmp(a, b, (size_t)o->count * bytes) == 0) return true;
  if (!rt_elems[o->elem].is_float) return false;
  double scale = fmax(1, rt_scale_of(o->elem, o->count, a));
  double most = scale * rt_outcome_tolerance(o->elem, roundings);
  for (int64_t i = 0; i < o->count; i++) {
    double x = rt_element_as_f64(o->elem, a + (size_t)i * bytes);
    double y = rt_element_as_f64(o->elem, b + (size_t)i * bytes);
    bool same = x == y || (isnan(x) && isnan(y));
    if (!same && !(fabs(x - y) <= most)) return false;
  }
  return true;
}

// The values, on the host; NULL if they cannot be read.
RT_FN unsigned char *rt_outcome_values(struct rt_context *ctx,
                                       const struct rt_outcome *o) {
  int64_t bytes = rt_sat_mul(o->count, rt_elems[o->elem].bytes);
  if (bytes < 0 || (o->mem && bytes > o->mem->bytes)) return NULL;
  unsigned char *values = (unsigned char *)rt_host_alloc((size_t)bytes + 1);
  if (o->scalar)
    memcpy(values, o->scalar, (size_t)bytes);
  else if (o->mem && rt_read(ctx, o->mem, 0, bytes, values) != RT_OK) {
    free(values);
    return NULL;
  }
  return values;
}

RT_FN void rt_replay_compare(struct rt_context *ctx, struct rt_replay *race,
                             const struct rt_outcome *outcomes, int count,
                             int64_t roundings) {
  struct rt_replay_group *g = &ctx->replayer->groups[race->group];
  bool first = g->outcome_of < 0, same = true;
  g->list[race->alternative].compared = true;
  if (first) {
    g->outcome_of = race->alternative;
    g->outcome_count = count;
    g->outcomes = (unsigned char **)rt_host_alloc((size_t)count * sizeof *g->outcomes);
  }
  for (int i = 0; i < count; i++) {
    unsigned char *values = rt_outcome_values(ctx, &outcomes[i]);
    if (first)
      g->outcomes[i] = values;
    else if (values && g->outcomes[i])
      same = same && rt_same_outcome(&outcomes[i], roundings, values, g->outcomes[i]);
    if (!first) free(values);
  }
  if (!same) rt_say("differ %d %d %d\n", race->group, race->alternative, g->outcome_of);
}

// ---- the order of runs

// Nobody's outcome is compared any more.
RT_FN void rt_drop_outcomes(struct rt_replay_group *g) {
  for (int i = 0; i < g->outcome_count && g->outcomes; i++)
    free(g->outcomes[i]);
  free(g->outcomes);
  g->outcomes = NULL;
  g->outcome_count = 0;
}

RT_FN void rt_replay_end_round(struct rt_replayer *r, struct rt_replay *race) {
  struct rt_replay_group *g = &r->groups[race->group];
  double spent = rt_replay_now() - race->warmed;
  race->position = 0;
  race->quota--;
  g->rounds++;
  bool full = g->rounds == RT_MOST_ROUNDS;
  bool late = spent > r->most_us && (g->rounds >= 2 || spent > 5 * r->most_us);
  if (g->rounds % 2 == 0 || late) rt_replay_judge(g);
  if (full || late || g->rounds >= r->most_rounds) g->settled = true;
  if (g->settled && (g->events == 1 || full)) race->quota = 0;
}

// The alternative to run next; -1 if the race is over.
RT_FN int rt_replay_pick(struct rt_replayer *r, struct rt_replay *race) {
  struct rt_replay_group *g = &r->groups[race->group];
  if (race->ok && rt_replay_now() > r->deadline) race->quota = 0;
  for (int k = g->count - 1; k >= 0 && race->quota > 0; k--)  // the most parallel first
    if (rt_contender_alive(&g->list[k]) && !g->list[k].warm) return k;
  if (race->warmed == 0) race->warmed = rt_replay_now();
  while (race->quota > 0) {
    if (race->position == g->count) rt_replay_end_round(r, race);
    if (race->quota == 0 || race->position == g->count) break;
    int k = g->rounds % 2 ? g->count - 1 - race->position : race->position;
    race->position++;
    if (rt_contender_alive(&g->list[k])) return k;
  }
  return -1;
}

RT_FN int rt_replay_alive(const struct rt_replay_group *g) {
  int alive = 0;
  for (int k = 0; k < g->count; k++)
    alive += rt_contender_alive(&g->list[k]);
  return alive;
}

// Rounds at this event of the group.
RT_FN int rt_replay_quota(const struct rt_replayer *r, const struct rt_replay_group *g) {
  int left = RT_MOST_ROUNDS - g->rounds;
  if (rt_replay_now() > r->deadline) return 0;
  if (g->events == 1 && rt_replay_alive(g) < 2) return g->rounds ? 0 : 2;
  if (g->events == 1) return g->settled ? 0 : r->most_rounds - g->rounds;
  if (rt_replay_alive(g) < 2) return 0;
  bool power = (g->events & (g->events - 1)) == 0 && g->events <= RT_LAST_RACED_EVENT;
  return power && left >= 2 ? 2 : 0;
}

// ---- from begin to end

RT_FN struct rt_replay *rt_replay_new(struct rt_context *ctx, int group,
                                      struct rt_mem **const *slots, int taken,
                                      int count) {
  struct rt_replay *race = (struct rt_replay *)rt_host_alloc(sizeof *race);
  race->around = ctx->replayer->race;
  race->group = group;
  race->slots = slots;
  race->taken = taken;
  race->count = count;
  race->forced = (signed char *)rt_host_alloc((size_t)ctx->program->guard_count);
  memcpy(race->forced, ctx->forced, (size_t)ctx->program->guard_count);
  race->saved = (struct rt_mem **)rt_host_alloc((size_t)count * sizeof *race->saved);
  race->copied = (bool *)rt_host_alloc((size_t)count * sizeof *race->copied);
  for (int i = 0; i < count; i++) {
    race->copied[i] = i < taken && *slots[i] && (*slots[i])->refs == 1;
    rt_mem_share(ctx, &race->saved[i], *slots[i]);
  }
  return race;
}

RT_FN struct rt_replay *rt_replay_begin(struct rt_context *ctx, int guard, int64_t par,
                                        int64_t local_bytes, struct rt_mem **const *slots,
                                        int taken, int count) {
  struct rt_replayer *r = ctx->replayer;
  if (!r || !r->on || ctx->forced[guard] || r->plans[guard].count == 0) return NULL;
  int group = rt_replay_group_of(r, guard, par, local_bytes);
  struct rt_replay_group *g = &r->groups[group];
  rt_replay_count_inside(r, group);
  if (rt_replay_alive(g) == 0) return NULL;
  if (g->rounds == 0 && rt_replay_now() > r->deadline)
    return NULL;  // as the thresholds say
  g->events++;
  int quota = rt_replay_quota(r, g);
  struct rt_replay *race = rt_replay_new(ctx, group, slots, taken, quota > 0 ? count : 0);
  race->quota = quota;
  race->racing = quota > 0;
  if (race->racing) rt_wait(ctx);
  race->begun = rt_replay_now();
  int first = rt_replay_pick(r, race);
  if (race->racing && rt_replay_restore(ctx, race) != RT_OK) {
    rt_say("cannot %d no memory for copies of what is overwritten\n", group);
    free(ctx->error);
    ctx->error = NULL;
    race->quota = 0;
    first = -1;
  }
  if (first < 0) {  // it goes on with what there was
    race->racing = false;
    for (int i = 0; i < race->count; i++) {
      rt_mem_share(ctx, race->slots[i], race->saved[i]);
      rt_mem_release(ctx, &race->saved[i]);
    }
    race->count = 0;
  }
  r->race = race;
  rt_replay_start(ctx, race, first < 0 ? rt_replay_best(g) : first);
  return race;
}

// What the event has taken, for what is around.
RT_FN void rt_replay_account(struct rt_replayer *r, const struct rt_replay *race) {
  const struct rt_replay_group *g = &r->groups[race->group];
  struct rt_replay *around = race->around;
  double kept =
      rt_contender_typical(&g->list[race->racing ? g->best : race->alternative]);
  double whole = race->racing ? rt_replay_now() - race->begun : kept + race->extra;
  if (!around) {
    r->inside += whole;
  } else if (around->racing) {
    around->inside += whole;
    around->kept += kept;
  } else {
    around->extra += whole - kept;
  }
}

RT_FN void rt_replay_end(struct rt_context *ctx, struct rt_replay *race, int *error) {
  struct rt_replayer *r = ctx->replayer;
  struct rt_replay_group *g = &r->groups[race->group];
  *error = race->error;
  if (*error && race->message) {
    free(ctx->error);
    ctx->error = race->message;
    race->message = NULL;
  }
  for (int i = 0; i < race->count; i++)
    rt_mem_release(ctx, &race->saved[i]);
  memcpy(ctx->forced, race->forced, (size_t)ctx->program->guard_count);
  if (race->racing && g->settled) {
    rt_say("done %d %d\n", race->group, g->best);
    rt_drop_outcomes(g);
    rt_replay_flush(r, true);
  }
  rt_replay_account(r, race);
  r->race = race->around;
  free(race->message);
  free(race->saved);
  free(race->copied);
  free(race->forced);
  free(race);
}

RT_FN bool rt_replay_next(struct rt_context *ctx, struct rt_replay *race, int *error) {
  struct rt_replayer *r = ctx->replayer;
  struct rt_replay_group *g = &r->groups[race->group];
  if (race->error == RT_ABANDONED && r->abandoned != race) {  // one around is
    rt_replay_end(ctx, race, error);
    return false;
  }
  rt_replay_note(ctx, race);
  int next = rt_replay_pick(r, race);
  if (next < 0 && !race->ok && race->racing) {
    race->quota = 0;
    next = rt_replay_alive(g) ? rt_replay_best(g) : -1;  // for its result
  }
  if (next >= 0 && rt_replay_restore(ctx, race) == RT_OK) {
    rt_replay_start(ctx, race, next);
    return true;
  }
  rt_replay_end(ctx, race, error);
  return false;
}

// ---- around a call

RT_FN bool rt_replaying(const struct rt_replayer *r) { return r && r->on; }

// A decision on the way to an alternative; told at its first run.
RT_FN void rt_replay_decide(struct rt_replayer *r, int guard, int64_t par,
                            int64_t local_bytes, bool taken) {
  const struct rt_replay *race = r->race;
  if (!race || r->groups[race->group].list[race->alternative].seen) return;
  rt_say("decide %d %d %s %" PRId64 " %" PRId64 " %c\n", race->group, race->alternative,
         rt_program()->guards[guard].name, par, local_bytes, taken ? 'T' : 'F');
}

RT_FN void rt_replayer_call(struct rt_replayer *r) {
  for (int i = 0; i < r->group_count; i++) {
    r->groups[i].events = 0;
    if (r->groups[i].rounds < r->most_rounds) rt_replay_judge(&r->groups[i]);
    for (int k = 0; k < r->groups[i].count; k++)
      r->groups[i].list[k].seen = false;
  }
  r->inside_count = 0;
  r->race = NULL;
  r->inside = 0;
  r->called = rt_replay_now();
  r->deadline = r->called + r->most_call_us;
}

// Tells what the whole call met, and the time outside of all guards.
RT_FN void rt_replayer_called(struct rt_replayer *r) {
  double whole = rt_replay_now() - r->called;
  rt_replay_close_inside(r, -1, 0, true);
  rt_say("base %.3f\n", whole - r->inside);
}

RT_FN void rt_replay_plan_clear(struct rt_replay_plan *plan) {
  for (int k = 0; k < plan->count; k++)
    free(plan->paths[k]);
  free(plan->paths);
  plan->paths = NULL;
  plan->count = 0;
}

RT_FN struct rt_replayer *rt_replayer_get(struct rt_context *ctx) {
  if (ctx->replayer) return ctx->replayer;
  ctx->replayer = (struct rt_replayer *)rt_host_alloc(sizeof *ctx->replayer);
  ctx->replayer->plans = (struct rt_replay_plan *)rt_host_alloc(
      (size_t)ctx->program->guard_count * sizeof *ctx->replayer->plans);
  ctx->replayer->most_rounds = 16;
  ctx->replayer->most_us = 300e3;
  ctx->replayer->most_call_us = INFINITY;
  return ctx->replayer;
}

RT_FN void rt_replayer_free(struct rt_context *ctx) {
  struct rt_replayer *r = ctx->replayer;
  if (!r) return;
  for (int g = 0; g < ctx->program->guard_count; g++)
    rt_replay_plan_clear(&r->plans[g]);
  for (int i = 0; i < r->group_count; i++) {
    rt_drop_outcomes(&r->groups[i]);
    free(r->groups[i].list);
  }
  free(r->plans);
  free(r->groups);
  free(r->insides);
  free(r);
  ctx->replayer = NULL;
}
// End replay.h
