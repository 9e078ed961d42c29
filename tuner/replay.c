// Replay: racing the versions of every region within one run of the program.
#include "tuner/replay.h"
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_ATTEMPTS = 12 };

static void write_down(Replayer *r, const RaceGroup *g, int k, const char *what,
                       const char *text) {
  RaceLine line = races_line(r->races, g, k, what, text);
  log_race(&r->m->log, &line);
}

// ---- listening to the program

typedef struct Listener {
  Replayer *r;
  int dataset;
  RaceGroup *trying;  // what ran last for the first time
  int trying_alternative;
  bool suspicious;  // results differ, or something could not be raced
} Listener;

static RaceGroup *numbered(const Replayer *r, int number) {
  return number >= 0 && number < r->numbers.count ? r->numbers.at[number] : NULL;
}

// "G GUARD PAR LOCAL"
static void hear_group(const Listener *l, const char *text) {
  int number = 0;
  char name[256];
  long long par = 0, local = 0;
  if (sscanf(text, "%d %255s %lld %lld", &number, name, &par, &local) != 4) return;
  int guard = tree_guard_named(l->r->m->seen->tree, name);
  if (guard < 0 || number != l->r->numbers.count) return;
  RaceGroup *g = races_group(l->r->races, l->dataset, guard, par, local);
  vec_push(&l->r->numbers, g);
}

// "G A H COUNT"
static void hear_inside(const Listener *l, const char *text) {
  int outer = 0, k = 0, inner = 0;
  long long count = 0;
  if (sscanf(text, "%d %d %d %lld", &outer, &k, &inner, &count) != 4) return;
  RaceGroup *g = numbered(l->r, outer), *in = numbered(l->r, inner);
  if (!in) return;
  if (!g) {
    races_add_inside(&l->r->races->whole[l->dataset].inside, in, count);
    return;
  }
  if (k < 0 || k >= g->count) return;
  if (!races_add_inside(&g->list[k].inside, in, count)) return;
  write_down(l->r, g, k, "inside",
             text_format("%s %lld %lld %lld",
                         l->r->m->seen->tree->guards[in->root].region, (long long)in->par,
                         (long long)in->local, count));
}

static void hear_failure(const Listener *l, RaceGroup *g, int k, const char *text) {
  g->list[k].failed = true;
  measure_blame(l->r->m, l->dataset, g->leaves[k], text, FAILURE_ON_DATA);
}

// "n*p=4096: not main.top_2 1.83 ms, main.top_0 2.1 ms"
static const char *race_text(const TunerTree *tree, const RaceGroup *g, int best) {
  Text *text = text_new();
  text_printf(text, "%s=%lld: %s", tree->guards[g->root].node->par, (long long)g->par,
              tree_version_name(tree, g->leaves[best] / 2, g->leaves[best] % 2));
  if (races_middle(&g->list[best]) > 0)
    text_printf(text, " %.0f us", races_middle(&g->list[best]));
  for (int k = 0; k < g->count; k++)
    if (k != best && races_middle(&g->list[k]) > 0)
      text_printf(text, ", %s %.0f us",
                  tree_version_name(tree, g->leaves[k] / 2, g->leaves[k] % 2),
                  races_middle(&g->list[k]));
  return text_str(text);
}

// "main.top_0 4096 0 T" with the number of the guard in its region: names change with other code.
static const char *decision_line(const TunerTree *tree, const RaceGroup *g,
                                 const char *text) {
  int name = (int)strcspn(text, " ");
  int guard = tree_guard_named(tree, text_format("%.*s", name, text));
  return text_format("%d%s", guard < 0 ? -1 : guard - g->root, text + name);
}

// "WORD G A REST"
static void hear_contender(Listener *l, const char *what, const char *text) {
  int number = 0, k = 0, at = 0;
  if (sscanf(text, "%d %d%n", &number, &k, &at) < 2) return;
  RaceGroup *g = numbered(l->r, number);
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
    if (l->r->progress)
      l->r->progress(l->r->progress_state, race_text(l->r->m->seen->tree, g, k));
  } else {
    if (strcmp(what, "decide") == 0) rest = decision_line(l->r->m->seen->tree, g, rest);
    if (races_take(l->r->races, g, k, what, rest)) write_down(l->r, g, k, what, rest);
  }
}

static void hear_line(void *state, const char *line) {
  Listener *l = state;
  const char *space = strchr(line, ' ');
  if (!space) return;
  const char *what = text_format("%.*s", (int)(space - line), line), *text = space + 1;
  if (strcmp(what, "group") == 0)
    hear_group(l, text);
  else if (strcmp(what, "inside") == 0)
    hear_inside(l, text);
  else if (strcmp(what, "base") == 0)
    l->r->races->whole[l->dataset].base_us = strtod(text, NULL);
  else if (strcmp(what, "cannot") == 0)
    l->suspicious = true;
  else if (strstr(" try decide sample bound fail differ done ",
                  text_format(" %s ", what)))
    hear_contender(l, what, text);
}

// ---- talking to it

static Reply say(Listener *l, const char *line) {
  Measure *m = l->r->m;
  m->server.on_line = hear_line;
  m->server.on_line_state = l;
  Reply reply = measure_command(m, line);
  m->server.on_line = NULL;
  return reply;
}

// The alternatives of each race; "-" for those that must not run on this data set.
static Reply send_plans(const Listener *l) {
  const Evidence *seen = l->r->m->seen;
  const TunerTree *tree = seen->tree;
  for (int root = 0; root < tree->guard_count; root++) {
    if (tree->guards[root].root != root) continue;
    Text *line = text_new();
    text_printf(line, "replay_plan %s", tree->guards[root].node->name);
    TreeBranches leaves = tree_alternatives(tree, root);
    vec_each (const int *, leaf, &leaves) {
      const DataState *state = &seen->states[l->dataset];
      bool bad =
          seen->versions[*leaf].failure || state->slow[*leaf] || state->errors[*leaf];
      Path path = tree_path_below(tree, root, *leaf / 2, *leaf % 2);
      text_printf(line, " %s", bad ? "-" : tree_path_text(tree, path));
    }
    Reply reply = measure_command(l->r->m, text_str(line));
    if (reply.status != REPLY_OK) return reply;
  }
  return (Reply){ REPLY_OK, "" };
}

// Can the alternative be left out of a run: is all known that only a run would show?
static bool is_all_known(const Contender *c) { return c->path.count > 0; }

static Reply send_samples_of(Listener *l, const RaceGroup *g, int k) {
  const Contender *c = &g->list[k];
  Reply reply = { REPLY_OK, "" };
  for (int i = 0; i < RACES_MOST_ROUNDS && is_all_known(c) && reply.status == REPLY_OK;
       i++)
    if (c->total.at[i] >= 0)
      reply = say(l, text_format("replay_sample %s %lld %lld %d %d %.3f %.3f",
                                 l->r->m->seen->tree->guards[g->root].node->name,
                                 (long long)g->par, (long long)g->local, k, i,
                                 c->own.at[i], c->total.at[i]));
  return reply;
}

// What earlier runs of other processes measured, so that it is not measured again.
static Reply send_samples(Listener *l) {
  Reply reply = { REPLY_OK, "" };
  vec_each (RaceGroup **, at, &l->r->races->groups) {
    RaceGroup *g = *at;
    if (g->dataset != l->dataset || g->epoch == l->r->m->server.starts) continue;
    g->epoch = l->r->m->server.starts;
    for (int k = 0; k < g->count && reply.status == REPLY_OK; k++)
      reply = send_samples_of(l, g, k);
    if (reply.status != REPLY_OK) break;
  }
  return reply;
}

static Reply prepare(Listener *l) {
  Replayer *r = l->r;
  Measure *m = r->m;
  if (r->epoch != m->server.starts) r->numbers.count = 0;
  r->epoch = m->server.starts;
  Reply reply = send_plans(l);
  if (reply.status == REPLY_OK)
    reply = measure_command(m, text_format("replay %d", l->dataset));
  double left = 1e3 * fmax(0, m->limits.deadline - child_now());
  if (reply.status == REPLY_OK)
    reply = measure_command(
        m, text_format("replay_limits %d %.0f %.0f", r->rounds, r->race_ms, left));
  if (reply.status == REPLY_OK) reply = send_samples(l);
  if (reply.status == REPLY_OK) reply = measure_command(m, "pause_profiling");
  if (reply.status == REPLY_OK) reply = measure_command(m, "set_path");
  return reply;
}

// ---- the whole

// The alternative that ran when the program died or hung; false if there is none to blame.
static bool blame_last(Listener *l, Reply reply) {
  if (!l->trying) return false;
  bool timeout = reply.status == REPLY_TIMEOUT;
  l->trying->list[l->trying_alternative].failed = true;
  measure_blame(l->r->m, l->dataset, l->trying->leaves[l->trying_alternative],
                timeout ? "it did not end in time" : reply.text,
                timeout ? FAILURE_IN_TIME : FAILURE_OF_VERSION);
  l->trying = NULL;
  return true;
}

static Reply call(Listener *l) {
  Measure *m = l->r->m;
  Reply reply = prepare(l);
  if (reply.status != REPLY_OK) return reply;
  double us = 0;
  m->server.on_line = hear_line;
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

ReplayOutcome replay_run(Replayer *r, int dataset) {
  Measure *m = r->m;
  DataState *state = &m->seen->states[dataset];
  Listener l = { .r = r, .dataset = dataset };
  if (state->failure || !measure_time_left(m)) return REPLAY_FAILED;
  bool ok = false;
  for (int attempt = 0; attempt < MOST_ATTEMPTS && !m->interrupted; attempt++) {
    if (!measure_start(m)) break;
    Reply reply = call(&l);
    ok = reply.status == REPLY_OK;
    if (ok || m->interrupted || reply.status == REPLY_FAILURE) break;
    if (!measure_time_left(m) || !blame_last(&l, reply))
      break;  // the budget is no failure
  }
  races_place(r->races, dataset);
  if (m->server.pid) {
    measure_command(m, "replay");
    measure_command(m, "unpause_profiling");
  }
  state->covered = ok && measure_time_left(m);
  if (!ok) return REPLAY_FAILED;
  return l.suspicious ? REPLAY_DOUBTFUL : REPLAY_DONE;
}
