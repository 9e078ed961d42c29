// Replay: racing the versions of every region within one run of the program.
#include "tuner/replay.h"
#include "tuner/observe.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ROUNDS = 64, MOST_ATTEMPTS = 12 };

// ---- what was seen

static RaceGroup *race_group(Measure *m, int dataset, int root, int64_t par,
                             int64_t local) {
  vec_each (RaceGroup **, at, &m->races) {
    RaceGroup *g = *at;
    if (g->dataset == dataset && g->root == root && g->par == par && g->local == local)
      return g;
  }
  TreeBranches branches = tree_alternatives(m->tree, root);
  RaceGroup *g = new_node(RaceGroup, .dataset = dataset, .root = root, .par = par,
                          .local = local, .count = branches.count, .leaves = branches.at);
  g->list = mem_alloc_array((size_t)branches.count, sizeof *g->list);
  for (int k = 0; k < g->count; k++)
    for (int r = 0; r < MOST_ROUNDS; r++)
      vec_push(&g->list[k].own, 0), vec_push(&g->list[k].total, -1);
  vec_push(&m->races, g);
  return g;
}

// False if it is known.
static bool add_inside(RaceInsides *list, RaceGroup *inner, int64_t count) {
  vec_each (RaceInside *, in, list)
    if (in->inner == inner) {
      bool changed = in->count != count;
      in->count = count;
      return changed;
    }
  vec_push(list, (RaceInside){ inner, count });
  return true;
}

// "1 4096 0": the guard by its number in the region, Par, local memory.  False if it is known.
static bool add_decision(const Measure *m, const RaceGroup *g, Contender *c,
                         const char *text) {
  int guard = 0;
  long long par = 0, local = 0;
  if (sscanf(text, "%d %lld %lld", &guard, &par, &local) != 3) return false;
  guard += g->root;
  if (guard < g->root || guard >= m->tree->guard_count) return false;
  vec_each (const RaceDecision *, d, &c->path)
    if (d->guard == guard) return false;
  RaceDecision decision = { guard, par >= SOLVE_NEVER ? SOLVE_NEVER - 1 : par,
                            local <= m->capacity };
  vec_push(&c->path, decision);
  return true;
}

static void add_sample(Contender *c, const char *text) {
  int round = 0;
  double own = 0, total = 0;
  if (sscanf(text, "%d %lf %lf", &round, &own, &total) != 3) return;
  if (round < 0 || round >= MOST_ROUNDS) return;
  c->own.at[round] = own;
  c->total.at[round] = total;
}

// A line about an alternative, without its numbers: from the program or from the log.  False if it
// says nothing new.
static bool take(const Measure *m, RaceGroup *g, int k, const char *what,
                 const char *text) {
  Contender *c = &g->list[k];
  if (strcmp(what, "decide") == 0) return add_decision(m, g, c, text);
  if (strcmp(what, "sample") == 0)
    add_sample(c, text);
  else if (strcmp(what, "bound") == 0)
    c->bound = strtod(text, NULL);
  return true;
}

// The time of one event; 0 if unknown.
static double middle_of(const Contender *c) {
  Samples all = { 0 };
  vec_each (const double *, us, &c->total)
    if (*us >= 0) vec_push(&all, *us);
  return all.count ? samples_typical(&all) : 0;
}

// ---- the log

static const char *version_text(const Measure *m, const RaceGroup *g, int k) {
  int leaf = g->leaves[k];
  const Tree *node = m->tree->guards[leaf / 2].node->children[leaf % 2];
  return text_format("%d-%016llx", k, (unsigned long long)node->hash);
}

static void write_down(Measure *m, const RaceGroup *g, int k, const char *what,
                       const char *text) {
  RaceLine line = { m->tree->guards[g->root].region,
                    version_text(m, g, k),
                    m->data[g->dataset].hash,
                    what,
                    text,
                    g->par,
                    g->local };
  log_race(&m->log, &line);
}

// What an alternative holds, in the log: "REGION PAR LOCAL COUNT".
static void remember_inside(Measure *m, int dataset, RaceInsides *list,
                            const char *text) {
  char region[64];
  long long par = 0, local = 0, count = 0;
  if (sscanf(text, "%63s %lld %lld %lld", region, &par, &local, &count) != 4) return;
  int root = tree_region_named(m->tree, region);
  if (root >= 0) add_inside(list, race_group(m, dataset, root, par, local), count);
}

void replay_remember(Measure *m, const RaceLine *line) {
  int root = tree_region_named(m->tree, line->region), dataset = 0;
  while (dataset < m->dataset_count && strcmp(m->data[dataset].hash, line->data) != 0)
    dataset++;
  if (root < 0 || dataset == m->dataset_count) return;
  RaceGroup *g = race_group(m, dataset, root, line->par, line->local);
  int k = atoi(line->version);
  if (k < 0 || k >= g->count || strcmp(version_text(m, g, k), line->version) != 0) return;
  if (strcmp(line->what, "inside") == 0)
    remember_inside(m, dataset, &g->list[k].inside, line->text);
  else
    take(m, g, k, line->what, line->text);
  m->replayed += strcmp(line->what, "sample") == 0;
}

// ---- listening to the program

typedef struct Listener {
  Measure *m;
  int dataset;
  RaceGroup *trying;  // what ran last for the first time
  int trying_alternative;
  bool suspicious;  // results differ, or something could not be raced
} Listener;

static RaceGroup *numbered(const Measure *m, int number) {
  return number >= 0 && number < m->race_numbers.count ? m->race_numbers.at[number]
                                                       : NULL;
}

// "G GUARD PAR LOCAL"
static void hear_group(const Listener *l, const char *text) {
  int number = 0;
  char name[256];
  long long par = 0, local = 0;
  if (sscanf(text, "%d %255s %lld %lld", &number, name, &par, &local) != 4) return;
  int guard = tree_guard_named(l->m->tree, name);
  if (guard < 0 || number != l->m->race_numbers.count) return;
  RaceGroup *g = race_group(l->m, l->dataset, guard, par, local);
  vec_push(&l->m->race_numbers, g);
}

// "G A H COUNT"
static void hear_inside(const Listener *l, const char *text) {
  int outer = 0, k = 0, inner = 0;
  long long count = 0;
  if (sscanf(text, "%d %d %d %lld", &outer, &k, &inner, &count) != 4) return;
  RaceGroup *g = numbered(l->m, outer), *in = numbered(l->m, inner);
  if (!in) return;
  if (!g) {
    add_inside(&l->m->states[l->dataset].inside, in, count);
    return;
  }
  if (k < 0 || k >= g->count) return;
  if (!add_inside(&g->list[k].inside, in, count)) return;
  write_down(l->m, g, k, "inside",
             text_format("%s %lld %lld %lld", l->m->tree->guards[in->root].region,
                         (long long)in->par, (long long)in->local, count));
}

static void hear_failure(const Listener *l, RaceGroup *g, int k, const char *text) {
  g->list[k].failed = true;
  measure_blame(l->m, l->dataset, g->leaves[k], text, false);
}

// "n*p=4096: not main.top_2 1.83 ms, main.top_0 2.1 ms"
static const char *race_text(const Measure *m, const RaceGroup *g, int best) {
  Text *text = text_new();
  text_printf(text, "%s=%lld: %s", m->tree->guards[g->root].node->par, (long long)g->par,
              tree_version_name(m->tree, g->leaves[best] / 2, g->leaves[best] % 2));
  if (middle_of(&g->list[best]) > 0)
    text_printf(text, " %.0f us", middle_of(&g->list[best]));
  for (int k = 0; k < g->count; k++)
    if (k != best && middle_of(&g->list[k]) > 0)
      text_printf(text, ", %s %.0f us",
                  tree_version_name(m->tree, g->leaves[k] / 2, g->leaves[k] % 2),
                  middle_of(&g->list[k]));
  return text_str(text);
}

// "main.top_0 4096 0 T" with the number of the guard in its region: names change with other code.
static const char *decision_line(const Measure *m, const RaceGroup *g, const char *text) {
  int name = (int)strcspn(text, " ");
  int guard = tree_guard_named(m->tree, text_format("%.*s", name, text));
  return text_format("%d%s", guard < 0 ? -1 : guard - g->root, text + name);
}

// "WORD G A REST"
static void hear_contender(Listener *l, const char *what, const char *text) {
  int number = 0, k = 0, at = 0;
  if (sscanf(text, "%d %d%n", &number, &k, &at) < 2) return;
  RaceGroup *g = numbered(l->m, number);
  if (!g || k < 0 || k >= g->count) return;
  const char *rest = text + at + (text[at] == ' ');
  if (strcmp(what, "try") == 0) {
    l->trying = g;
    l->trying_alternative = k;
  } else if (strcmp(what, "fail") == 0) {
    hear_failure(l, g, k, rest);
  } else if (strcmp(what, "differ") == 0) {
    l->suspicious = true;
  } else if (strcmp(what, "done") == 0) {
    l->trying = NULL;
    if (l->m->progress) l->m->progress(l->m->progress_state, race_text(l->m, g, k));
  } else {
    if (strcmp(what, "decide") == 0) rest = decision_line(l->m, g, rest);
    if (take(l->m, g, k, what, rest)) write_down(l->m, g, k, what, rest);
  }
}

static void hear(void *state, const char *line) {
  Listener *l = state;
  const char *space = strchr(line, ' ');
  if (!space) return;
  const char *what = text_format("%.*s", (int)(space - line), line), *text = space + 1;
  if (strcmp(what, "group") == 0)
    hear_group(l, text);
  else if (strcmp(what, "inside") == 0)
    hear_inside(l, text);
  else if (strcmp(what, "base") == 0)
    l->m->states[l->dataset].race_base = strtod(text, NULL);
  else if (strcmp(what, "cannot") == 0)
    l->suspicious = true;
  else if (strstr(" try decide sample bound fail differ done ",
                  text_format(" %s ", what)))
    hear_contender(l, what, text);
}

// ---- talking to it

static Reply say(Measure *m, Listener *l, const char *line) {
  m->server.on_line = hear;
  m->server.on_line_state = l;
  Reply reply = measure_command(m, line);
  m->server.on_line = NULL;
  return reply;
}

// The alternatives of each race; "-" for those that must not run on this data set.
static Reply send_plans(Measure *m, int dataset) {
  for (int root = 0; root < m->tree->guard_count; root++) {
    if (m->tree->guards[root].root != root) continue;
    Text *line = text_new();
    text_printf(line, "replay_plan %s", m->tree->guards[root].node->name);
    TreeBranches leaves = tree_alternatives(m->tree, root);
    vec_each (const int *, leaf, &leaves) {
      bool bad = m->versions[*leaf].failure || m->states[dataset].slow[*leaf];
      Path path = tree_path_below(m->tree, root, *leaf / 2, *leaf % 2);
      text_printf(line, " %s", bad ? "-" : tree_path_text(m->tree, path));
    }
    Reply reply = measure_command(m, text_str(line));
    if (reply.status != REPLY_OK) return reply;
  }
  return (Reply){ REPLY_OK, "" };
}

// Can the alternative be left out of a run: is all known that only a run would show?
static bool is_known(const Contender *c) { return c->path.count > 0; }

// What earlier runs of other processes measured, so that it is not measured again.
static Reply send_samples(Measure *m, Listener *l) {
  vec_each (RaceGroup **, at, &m->races) {
    RaceGroup *g = *at;
    if (g->dataset != l->dataset || g->epoch == m->server.starts) continue;
    g->epoch = m->server.starts;
    for (int k = 0; k < g->count; k++)
      for (int r = 0; r < MOST_ROUNDS && is_known(&g->list[k]); r++) {
        if (g->list[k].total.at[r] < 0) continue;
        Reply reply = say(m, l,
                          text_format("replay_sample %s %lld %lld %d %d %.3f %.3f",
                                      m->tree->guards[g->root].node->name,
                                      (long long)g->par, (long long)g->local, k, r,
                                      g->list[k].own.at[r], g->list[k].total.at[r]));
        if (reply.status != REPLY_OK) return reply;
      }
  }
  return (Reply){ REPLY_OK, "" };
}

static Reply prepare(Measure *m, Listener *l) {
  if (m->race_epoch != m->server.starts) m->race_numbers.count = 0;
  m->race_epoch = m->server.starts;
  Reply reply = send_plans(m, l->dataset);
  if (reply.status == REPLY_OK)
    reply = measure_command(m, text_format("replay %d", l->dataset));
  double left = 1e3 * fmax(0, m->deadline - child_now());
  if (reply.status == REPLY_OK)
    reply = measure_command(
        m, text_format("replay_limits %d %.0f %.0f", m->race_rounds, m->race_ms, left));
  if (reply.status == REPLY_OK) reply = send_samples(m, l);
  if (reply.status == REPLY_OK) reply = measure_command(m, "pause_profiling");
  if (reply.status == REPLY_OK) reply = measure_command(m, "set_path");
  return reply;
}

// ---- from races to samples

static void place(Measure *m, const RaceGroup *g, int parent, double events, int depth);

// A decision that only leads to the next one costs nothing.
static void pass_through(Group *g, int branch) {
  if (!g->forced[branch] && g->us[branch].count == 0) vec_push(&g->us[branch], 0);
}

static void place_alternative(Measure *m, const RaceGroup *g, int k, int parent,
                              double events, int depth) {
  const Contender *c = &g->list[k];
  for (int i = 0; i < c->path.count; i++) {
    const RaceDecision *d = &c->path.at[i];
    if (i > 0)
      pass_through(&m->groups.at[parent], m->tree->guards[d->guard].parent_branch);
    parent = observe_group(m, g->dataset, d->guard, parent, d->par, d->fits);
  }
  if (c->path.count == 0) return;
  int branch = g->leaves[k] % 2;
  Group *group = &m->groups.at[parent];
  if (!group->forced[branch]) {
    for (int r = 0; r < MOST_ROUNDS; r++)
      if (c->total.at[r] >= 0) vec_push(&group->us[branch], c->own.at[r] * events);
    m->versions[g->leaves[k]].successes += group->us[branch].count > 0;
    group->bound[branch] = group->us[branch].count == 0 && c->bound > 0;
    if (group->bound[branch]) vec_push(&group->us[branch], c->bound * events);
  }
  if (depth > 20) return;
  vec_each (const RaceInside *, in, &c->inside)
    place(m, in->inner, parent, events * (double)in->count, depth + 1);
}

static void place(Measure *m, const RaceGroup *g, int parent, double events, int depth) {
  for (int k = 0; k < g->count; k++)
    place_alternative(m, g, k, parent, events, depth);
}

// A run in which every race is won by the best; the default run may have compiled kernels.
static double best_time(const DataState *state) {
  double sum = state->race_base;
  vec_each (const RaceInside *, in, &state->inside) {
    double least = INFINITY;
    for (int k = 0; k < in->inner->count; k++)
      if (middle_of(&in->inner->list[k]) > 0)
        least = fmin(least, middle_of(&in->inner->list[k]));
    sum += least * (double)in->count;
  }
  return sum > 0 ? sum : INFINITY;
}

// The groups of the data set, from all that is known.
static void place_all(Measure *m, int dataset) {
  DataState *state = &m->states[dataset];
  vec_each (Group *, g, &m->groups)
    for (int b = 0; b < 2 && g->dataset == dataset; b++)
      if (!g->forced[b]) g->us[b].count = 0;
  if (state->inside.count == 0)  // the run did not come to its end
    vec_each (RaceGroup **, g, &m->races)
      if ((*g)->dataset == dataset && m->tree->guards[(*g)->root].parent < 0)
        vec_push(&state->inside, (RaceInside){ *g, 1 });
  vec_each (const RaceInside *, in, &state->inside)
    place(m, in->inner, -1, (double)in->count, 0);
  state->base.count = 0;
  vec_push(&state->base, fmin(state->race_base, state->least_us));
  state->least_us = fmin(state->least_us, best_time(state));
}

// ---- the whole

// The alternative that ran when the program died or hung; false if there is none to blame.
static bool blame_last(Listener *l, Reply reply) {
  if (!l->trying) return false;
  bool timeout = reply.status == REPLY_TIMEOUT;
  l->trying->list[l->trying_alternative].failed = true;
  measure_blame(l->m, l->dataset, l->trying->leaves[l->trying_alternative],
                timeout ? "it did not end in time" : reply.text, timeout);
  l->trying = NULL;
  return true;
}

static Reply call(Measure *m, Listener *l) {
  Reply reply = prepare(m, l);
  if (reply.status != REPLY_OK) return reply;
  double us = 0;
  m->server.on_line = hear;
  m->server.on_line_state = l;
  l->trying = NULL;
  reply = measure_call(m, l->dataset, true, &us);
  m->server.on_line = NULL;
  if (reply.status != REPLY_OK) return reply;
  const char *wrong = measure_check_result(m, l->dataset);
  l->suspicious |= wrong != NULL;
  measure_command(m, "free result");
  return reply;
}

ReplayOutcome replay_run(Measure *m, int dataset) {
  Listener l = { .m = m, .dataset = dataset };
  if (m->states[dataset].failure || !measure_time_left(m)) return REPLAY_FAILED;
  bool ok = false;
  for (int attempt = 0; attempt < MOST_ATTEMPTS && !m->interrupted; attempt++) {
    if (!measure_start(m)) break;
    Reply reply = call(m, &l);
    ok = reply.status == REPLY_OK;
    if (ok || m->interrupted || reply.status == REPLY_FAILURE) break;
    if (!measure_time_left(m) || !blame_last(&l, reply))
      break;  // the budget is no failure
  }
  place_all(m, dataset);
  if (m->server.pid) {
    measure_command(m, "replay");
    measure_command(m, "unpause_profiling");
  }
  m->states[dataset].covered = ok && measure_time_left(m);
  if (!ok) return REPLAY_FAILED;
  return l.suspicious ? REPLAY_DOUBTFUL : REPLAY_DONE;
}
