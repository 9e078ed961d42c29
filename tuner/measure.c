// Running paths: time limits, crashes, wrong results, and who is to blame for them.
#include "tuner/measure.h"
#include "tuner/observe.h"
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FIRST_RUN_EXTRA_S = 20 };  // kernels are compiled in the first run of a version

bool measure_time_left(const Measure *m) {
  return !m->interrupted && child_now() < m->limits.deadline;
}

static void tell(Measure *m, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static void tell(Measure *m, const char *format, ...) {
  va_list args;
  va_start(args, format);
  text_add(m->report, text_format_list(format, args));
  text_add(m->report, "\n");
  va_end(args);
}

// ---- paths

static PathRuns *path_runs(Measure *m, int dataset, const char *text) {
  vec_each (PathRuns *, p, &m->paths)
    if (p->dataset == dataset && strcmp(p->text, text) == 0) return p;
  vec_push(&m->paths, (PathRuns){ .text = text, .dataset = dataset });
  return &m->paths.at[m->paths.count - 1];
}

int measure_runs(const Measure *m, int dataset, Path path) {
  const char *text = tree_path_text(m->seen->tree, path);
  vec_each (const PathRuns *, p, &m->paths)
    if (p->dataset == dataset && strcmp(p->text, text) == 0) return p->runs;
  return 0;
}

// Leads the path to something that ran into the time limit on this data set?
static bool is_slow(const Measure *m, int dataset, Path path) {
  for (int g = 0; g < m->seen->tree->guard_count; g++)
    if (path.outcome[g] &&
        m->seen->states[dataset].slow[2 * g + (path.outcome[g] == 'F')])
      return true;
  return false;
}

bool measure_was_tried(const Measure *m, int dataset, Path path) {
  const DataState *state = &m->seen->states[dataset];
  if (state->failure || state->covered || is_slow(m, dataset, path)) return true;
  const char *text =
      tree_path_text(m->seen->tree, evidence_repair(m->seen, dataset, path));
  vec_each (const PathRuns *, p, &m->paths)
    if (p->dataset == dataset && strcmp(p->text, text) == 0 && (p->runs > 0 || p->failed))
      return true;
  return false;
}

bool measure_works(const Measure *m, int dataset, Path path) {
  const char *text = tree_path_text(m->seen->tree, path);
  vec_each (const PathRuns *, p, &m->paths)
    if (p->dataset == dataset && strcmp(p->text, text) == 0)
      return p->runs > 0 && !p->failed;
  return false;
}

// ---- the log

static void count_failure(Measure *m, int dataset, const Run *run);

static void take_logged_run(void *state, const Run *run) {
  Measure *m = state;
  for (int d = 0; d < m->seen->dataset_count; d++) {
    if (strcmp(m->seen->data[d].hash, run->data) != 0) continue;
    if (run->failure) {
      count_failure(m, d, run);
    } else {
      evidence_add_run(m->seen, d, run);
      path_runs(m, d, run->path)->runs++;
    }
    m->replayed++;
    return;
  }
}

static void take_logged_race(void *state, const RaceLine *line) {
  Measure *m = state;
  m->replayed += races_remember(m->races, line);
}

// ---- the server

Reply measure_command(Measure *m, const char *line) {
  Reply reply =
      child_command(&m->server, m->limits.timeout_s + FIRST_RUN_EXTRA_S, "%s", line);
  if (reply.status == REPLY_INTERRUPTED) m->interrupted = true;
  return reply;
}

static bool begin(Measure *m) {
  Reply reply = { REPLY_OK, "" };
  if (!m->server.pid)
    reply = child_start(&m->server, m->limits.timeout_s + FIRST_RUN_EXTRA_S);
  if (reply.status == REPLY_INTERRUPTED) m->interrupted = true;
  for (int d = 0; d < m->seen->dataset_count; d++)
    m->held[d].loaded = false;
  if (reply.status == REPLY_OK) reply = measure_command(m, "unpause_profiling");
  if (reply.status != REPLY_OK) tell(m, "the program does not start: %s", reply.text);
  return reply.status == REPLY_OK;
}

bool measure_start(Measure *m) { return m->server.pid || begin(m); }

void measure_add(Measure *m, TunerDataset data) {
  m->held[m->seen->dataset_count].expected = data.expected;
  evidence_add_dataset(m->seen, data);
}

bool measure_open(Measure *m, const TunerDataset *data, int count, int capacity) {
  m->held = new_array(Held, capacity + 1);
  for (int d = 0; d < count; d++)
    measure_add(m, data[d]);
  log_open(&m->log, (LogReader){ take_logged_run, take_logged_race, m });
  if (m->log.problem) tell(m, "no log is kept: %s", m->log.problem);
  return begin(m);
}

void measure_close(Measure *m) {
  child_stop(&m->server);
  log_close(&m->log);
}

// The parameters of the entry point: their types, consumed ones with a star.
static const char *input_types(Measure *m) {
  Reply reply = child_command(&m->server, m->limits.timeout_s, "inputs %s", m->entry);
  return reply.status == REPLY_OK ? reply.text : NULL;
}

// " d0_0 d0_1": the variables with the inputs of a data set.
static const char *input_names(int dataset, const char *types) {
  Text *names = text_new();
  int number = 0;
  for (const char *at = types, *type; reply_line(&at, &type); number++)
    text_printf(names, " d%d_%d", dataset, number);
  return text_str(names);
}

// restore FILE d0_0 TYPE d0_1 TYPE ...
static Reply load(Measure *m, int dataset) {
  const char *types = input_types(m);
  if (!types) return (Reply){ REPLY_FAILURE, "the program has no such entry point" };
  Text *line = text_new();
  text_printf(line, "restore \"%s\"", m->seen->data[dataset].file);
  int number = 0;
  for (const char *at = types, *type; reply_line(&at, &type); number++)
    text_printf(line, " d%d_%d \"%s\"", dataset, number, type + (*type == '*'));
  Reply reply = measure_command(m, text_str(line));
  m->held[dataset].loaded = reply.status == REPLY_OK;
  return reply;
}

static void unload(Measure *m, int dataset, const char *types) {
  if (!m->held[dataset].loaded) return;
  Text *line = text_new();
  text_add(line, "free");
  text_add(line, input_names(dataset, types));
  measure_command(m, text_str(line));
  m->held[dataset].loaded = false;
}

void measure_unload(Measure *m, int dataset) {
  const char *types = input_types(m);
  if (types) unload(m, dataset, types);
}

// Loads what is not there, and anew what the last call consumed.  `variables` gets " d0_0 d0_1".
static Reply provide(Measure *m, int dataset, const char **variables) {
  const char *types = input_types(m);
  if (!types) return (Reply){ REPLY_DIED, "the program does not list its inputs" };
  if (strchr(types, '*')) unload(m, dataset, types);
  *variables = input_names(dataset, types);
  return m->held[dataset].loaded ? (Reply){ REPLY_OK, "" } : load(m, dataset);
}

const char *measure_variables(Measure *m, int dataset) {
  const char *variables = NULL;
  if (!measure_start(m)) return NULL;
  return provide(m, dataset, &variables).status == REPLY_OK ? variables : NULL;
}

// ---- one call

static double time_limit(const Measure *m, int dataset, bool first) {
  double least = m->seen->states[dataset].least_us;
  double limit =
      isinf(least) ? 10 * m->limits.timeout_s : fmax(m->limits.timeout_s, 5e-6 * least);
  if (first) limit += 2 * m->limits.timeout_s;
  if (isinf(least)) return limit;  // without a first run there is nothing
  return fmin(limit, fmax(m->limits.timeout_s, m->limits.deadline - child_now()));
}

static double runtime_of(const char *reply) {
  const char *at = strstr(reply, "runtime:");
  return at ? strtod(at + strlen("runtime:"), NULL) : -1;
}

// Calls the entry point; the result is the variable `result`.
Reply measure_call(Measure *m, int dataset, bool first, double *us) {
  const char *variables = NULL;
  Reply reply = provide(m, dataset, &variables);
  if (reply.status != REPLY_OK) return reply;
  reply = child_command(&m->server, time_limit(m, dataset, first), "call %s result%s",
                        m->entry, variables);
  m->executions++;
  if (reply.status == REPLY_INTERRUPTED) m->interrupted = true;
  if (reply.status == REPLY_OK) *us = runtime_of(reply.text);
  return reply;
}

static bool same_bytes(const char *a, const char *b) {
  size_t n = 0, k = 0;
  const char *x = text_read_file(a, &n), *y = text_read_file(b, &k);
  return x && y && n == k && memcmp(x, y, n) == 0;
}

// The fields of a tuple or record as variables result_0, ...; the text is for `store` and `free`.
static const char *result_variables(Measure *m) {
  Reply type = measure_command(m, "type result");
  size_t length = strcspn(type.text, "\n");
  Reply fields =
      measure_command(m, text_format("fields \"%.*s\"", (int)length, type.text));
  if (fields.status != REPLY_OK) return "result";
  Text *names = text_new();
  int number = 0;
  for (const char *at = fields.text, *field; reply_line(&at, &field); number++) {
    int name = (int)strcspn(field, " ");
    Reply reply = measure_command(
        m, text_format("project result_%d result %.*s", number, name, field));
    if (reply.status != REPLY_OK) return "result";
    text_printf(names, "%sresult_%d", number ? " " : "", number);
  }
  return text_str(names);
}

// Stores the result and compares it; NULL if it is right.
const char *measure_check_result(Measure *m, int dataset) {
  Held *held = &m->held[dataset];
  const char *names = result_variables(m);
  bool first = !held->expected;
  const char *file = text_format("%s/%s%d-%d", m->judge.scratch,
                                 first ? "expected" : "result", m->judge.number, dataset);
  Reply reply = measure_command(m, text_format("store \"%s\" %s", file, names));
  if (strcmp(names, "result") != 0) measure_command(m, text_format("free %s", names));
  if (reply.status != REPLY_OK)
    return text_format("its result cannot be read: %s", reply.text);
  if (first) {
    held->expected = file;
    return NULL;
  }
  if (same_bytes(file, held->expected)) return NULL;
  if (!m->judge.compare) return "its result differs";
  const char *difference = m->judge.compare(m->judge.compare_state, file, held->expected);
  return difference ? text_format("its result is wrong: %s", difference) : NULL;
}

typedef struct Outcome {
  bool ok;
  FailureKind kind;
  const char *failure;  // NULL with !ok: interrupted
  double us;
} Outcome;

static Outcome failed(Reply reply) {
  if (reply.status == REPLY_INTERRUPTED) return (Outcome){ .ok = false };
  const char *text = text_format("%.*s", (int)strcspn(reply.text, "\n"), reply.text);
  FailureKind kind = reply.status == REPLY_TIMEOUT   ? FAILURE_IN_TIME
                     : reply.status == REPLY_FAILURE ? FAILURE_ON_DATA
                                                     : FAILURE_OF_VERSION;
  if (kind == FAILURE_IN_TIME) text = "it did not end in time";
  return (Outcome){ .kind = kind, .failure = text };
}

typedef struct Attempt {
  int dataset;
  const char *path;
  bool first;  // of this path on the data set: kernels may be compiled
  bool check;  // look at the result
} Attempt;

// One run along the path, observed.
static Outcome run_path(Measure *m, Attempt a, Run *run) {
  if (!measure_start(m)) {
    m->interrupted = true;
    return (Outcome){ .ok = false };
  }
  Reply reply = measure_command(m, text_format("set_path %s", a.path));
  double us = 0;
  if (reply.status == REPLY_OK) reply = measure_call(m, a.dataset, a.first, &us);
  if (reply.status != REPLY_OK) return failed(reply);
  Reply report = measure_command(m, "report");
  const char *wrong = a.check ? measure_check_result(m, a.dataset) : NULL;
  measure_command(m, "free result");
  if (wrong) return (Outcome){ .failure = wrong };
  *run = (Run){ .data = m->seen->data[a.dataset].hash, .path = a.path };
  if (report.status != REPLY_OK || !observe_report(m->seen->tree, report.text, us, run))
    return (Outcome){ .failure = "its report cannot be read" };
  return (Outcome){ .ok = true, .us = us };
}

// ---- failures

// Failures are counted per version: "main.top_0" or "not main.top_0" in the path of the run.
static int version_named(const Measure *m, const char *name) {
  for (int v = 0; v < 2 * m->seen->tree->guard_count; v++)
    if (strcmp(tree_version_name(m->seen->tree, v / 2, v % 2), name) == 0) return v;
  return -1;
}

// What ran into the limit may just be slow there; what never ended anywhere is given up.  Errors
// say nothing about other data, until all are known (measure_settle).
static void count_failure(Measure *m, int dataset, const Run *run) {
  int v = version_named(m, run->path);
  if (v < 0) return;
  Version *version = &m->seen->versions[v];
  DataState *state = &m->seen->states[dataset];
  if (run->kind == FAILURE_ON_DATA && !m->errors_are_final) {
    if (!state->errors[v]) state->errors[v] = run->failure;
    return;
  }
  if (run->kind == FAILURE_IN_TIME) {
    state->slow[v] = true;
    version->timeouts++;
    if (version->successes > 0 || version->timeouts < 2) return;
  }
  if (!version->failure) version->failure = run->failure;
}

void measure_blame(Measure *m, int dataset, int version, const char *failure,
                   FailureKind kind) {
  const char *name = tree_version_name(m->seen->tree, version / 2, version % 2);
  Run run = {
    .data = m->seen->data[dataset].hash, .path = name, .failure = failure, .kind = kind
  };
  log_append(&m->log, &run);
  count_failure(m, dataset, &run);
  tell(m, "%s: version %s: %s%s", m->seen->data[dataset].name, name, failure,
       m->seen->versions[version].failure ? " (it is not used)" : "");
}

void measure_settle(Measure *m) {
  for (int v = 0; v < 2 * m->seen->tree->guard_count; v++) {
    Version *version = &m->seen->versions[v];
    bool before = version->failure != NULL;
    for (int d = 0; d < m->seen->dataset_count && !version->successes; d++)
      if (!version->failure && !m->seen->states[d].failure)
        version->failure = m->seen->states[d].errors[v];
    if (version->failure && !before)
      tell(m, "version %s: %s (it is not used)",
           tree_version_name(m->seen->tree, v / 2, v % 2), version->failure);
  }
}

static bool is_leaf_branch(const Tree *tree) {
  if (tree->kind == TREE_GUARD) return false;
  for (int i = 0; i < tree->child_count; i++)
    if (!is_leaf_branch(tree->children[i])) return false;
  return true;
}

// Is the version on the path, with no further decision behind it?
static bool ends_path(const Measure *m, Path path, int version) {
  const TreeGuard *guard = &m->seen->tree->guards[version / 2];
  if (path.outcome[version / 2] != (version % 2 ? 'F' : 'T')) return false;
  return is_leaf_branch(guard->node->children[version % 2]);
}

typedef Vec(int) VersionVec;

// Versions that never succeeded are suspected first.
static VersionVec suspects(const Measure *m, Path path, bool proven_too) {
  VersionVec found = { 0 };
  for (int v = 0; v < 2 * m->seen->tree->guard_count; v++)
    if (ends_path(m, path, v) && (proven_too || m->seen->versions[v].successes == 0))
      vec_push(&found, v);
  return found;
}

// A path on which several regions stand side by side failed: each of its versions is tried with
// everything else as by default.
static void find_culprit(Measure *m, int dataset, Path path, Outcome outcome) {
  VersionVec found = suspects(m, path, false);
  if (found.count == 0) found = suspects(m, path, true);
  if (found.count == 1) {
    measure_blame(m, dataset, found.at[0], outcome.failure, outcome.kind);
    return;
  }
  bool found_one = false;
  vec_each (const int *, v, &found) {
    if (m->interrupted) return;
    Path alone =
        evidence_repair(m->seen, dataset, tree_path_to(m->seen->tree, *v / 2, *v % 2));
    Run run;
    Outcome again = run_path(
        m, (Attempt){ dataset, tree_path_text(m->seen->tree, alone), true, true }, &run);
    if (again.ok || !again.failure) continue;
    measure_blame(m, dataset, *v, again.failure, again.kind);
    found_one = true;
  }
  if (!found_one)
    tell(m, "%s: path %s: %s (no version fails by itself)", m->seen->data[dataset].name,
         tree_path_text(m->seen->tree, path), outcome.failure);
}

// ---- samples

static void keep(Measure *m, int dataset, PathRuns *runs, const Run *run) {
  evidence_add_run(m->seen, dataset, run);
  log_append(&m->log, run);
  runs->runs++;
}

// Has the path run on any data set since the program started?
static bool is_warm(const Measure *m, const char *path) {
  vec_each (const PathRuns *, p, &m->paths)
    if (p->epoch == m->server.starts && strcmp(p->text, path) == 0) return true;
  return false;
}

// One more run; false if it failed.  The first one of a path compiles its kernels, the first one
// on a data set makes room for its arrays: such a run is made again if it is short.
static bool sample(Measure *m, int dataset, Path path, PathRuns *runs) {
  Run run;
  bool first = runs->epoch != m->server.starts;
  double again_us = is_warm(m, runs->text) ? m->limits.short_us : 40 * m->limits.short_us;
  Outcome outcome =
      run_path(m, (Attempt){ dataset, runs->text, first, !runs->checked }, &run);
  if (outcome.ok && first && outcome.us < again_us)
    outcome = run_path(m, (Attempt){ dataset, runs->text, false, false }, &run);
  runs->epoch = m->server.starts;
  if (outcome.ok) {
    runs->checked = true;
    keep(m, dataset, runs, &run);
    return true;
  }
  runs->failed = true;
  if (outcome.failure) find_culprit(m, dataset, path, outcome);
  return false;
}

void measure_probe(Measure *m, int dataset, Path path) {
  Run run;
  if (!measure_time_left(m)) return;
  path = evidence_repair(m->seen, dataset, path);
  Attempt attempt = { dataset, tree_path_text(m->seen->tree, path), true, true };
  Outcome outcome = run_path(m, attempt, &run);
  if (!outcome.ok && outcome.failure) find_culprit(m, dataset, path, outcome);
}

// Runs of the path until there are `wanted`; false if one failed, so that others may be asked for.
static bool sample_path(Measure *m, int dataset, Path path, int wanted) {
  int index =
      (int)(path_runs(m, dataset, tree_path_text(m->seen->tree, path)) - m->paths.at);
  while (m->paths.at[index].runs < wanted && !m->paths.at[index].failed) {
    if (!measure_time_left(m)) return true;
    if (!sample(m, dataset, path, &m->paths.at[index])) return false;
  }
  return true;
}

// After a failure once more without the version that is to blame.
void measure_path(Measure *m, int dataset, Path path, int wanted) {
  if (m->seen->states[dataset].failure || is_slow(m, dataset, path)) return;
  Path repaired = evidence_repair(m->seen, dataset, path);
  while (!sample_path(m, dataset, repaired, wanted)) {
    Path next = evidence_repair(m->seen, dataset, path);
    if (memcmp(next.outcome, repaired.outcome, (size_t)m->seen->tree->guard_count) == 0)
      return;
    repaired = next;
  }
}

void measure_default(Measure *m, int dataset) {
  Run run;
  DataState *state = &m->seen->states[dataset];
  if (m->interrupted) return;
  Outcome outcome = run_path(m, (Attempt){ dataset, "", true, true }, &run);
  if (outcome.ok) {
    state->least_us = fmin(state->least_us, outcome.us);
    state->by_default = run;
  } else if (outcome.failure) {
    state->default_failure = outcome.failure;
    state->default_is_slow = outcome.kind == FAILURE_IN_TIME;
  }
}

bool measure_can_run(Measure *m, int dataset, Path path) {
  Run run;
  DataState *state = &m->seen->states[dataset];
  if (!measure_time_left(m)) return false;
  Attempt attempt = { dataset, tree_path_text(m->seen->tree, path), true, true };
  Outcome outcome = run_path(m, attempt, &run);
  if (!outcome.ok) return false;
  state->works = path;
  state->least_us = fmin(state->least_us, outcome.us);
  tell(m, "%s: fails with the default thresholds: %s", m->seen->data[dataset].name,
       state->default_failure);
  return true;
}

// ---- whole runs

bool measure_set_thresholds(Measure *m, const int64_t *thresholds) {
  for (int g = 0; g < m->seen->tree->guard_count; g++) {
    const char *name = m->seen->tree->guards[g].node->name;
    const char *value =
        thresholds[g] < 0 ? "default" : text_format("%lld", (long long)thresholds[g]);
    Reply reply = measure_command(m, text_format("set_tuning_param %s %s", name, value));
    if (reply.status != REPLY_OK) return false;
  }
  return true;
}

double measure_thresholds(Measure *m, int dataset, const int64_t *thresholds) {
  double us = 0;
  if (m->seen->states[dataset].failure || m->interrupted) return -1;
  if (!measure_start(m)) return -1;
  measure_command(m, "pause_profiling");
  measure_command(m, "set_path");
  bool ok = measure_set_thresholds(m, thresholds) &&
            measure_call(m, dataset, true, &us).status == REPLY_OK;
  measure_command(m, "free result");
  measure_command(m, "unpause_profiling");
  return ok ? us : -1;
}

// The lines of the tuning file, as commands.
bool measure_decide(Measure *m, const Decision *decisions, const SizeTable *sizes) {
  for (int g = 0; g < m->seen->tree->guard_count; g++) {
    Text *lines = text_new();
    decision_lines(lines, m->seen->tree->guards[g].node->name, &decisions[g], sizes);
    for (const char *at = text_str(lines), *line; reply_line(&at, &line);) {
      int name = (int)strcspn(line, "=");
      Reply reply = measure_command(
          m, text_format("set_tuning_param %.*s %s", name, line, line + name + 1));
      if (reply.status != REPLY_OK) return false;
    }
  }
  return true;
}

const int64_t *measure_default_thresholds(Measure *m) {
  int64_t *values = new_array(int64_t, m->seen->tree->guard_count + 1);
  for (int g = 0; g < m->seen->tree->guard_count; g++) {
    const char *name = m->seen->tree->guards[g].node->name;
    Reply reply = measure_command(m, text_format("tuning_param_value %s", name));
    if (reply.status != REPLY_OK) return NULL;
    values[g] = strtoll(reply.text, NULL, 10);
  }
  return values;
}
