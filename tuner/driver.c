// Cover, choose, measure again, verify.
#include "tuner/driver.h"
#include "base/file.h"
#include "tuner/choose.h"
#include "tuner/page.h"
#include "tuner/sample.h"
#include "tuner/settings.h"
#include "tuner/sizes.h"
#include "tuner/verify.h"
#include <errno.h>
#include <jansson.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- the whole

static void progress(void *state, const char *what) {
  const Tuning *t = state;
  tuning_progress(t, t->percent, "%s", what);
}

static int64_t capacity_of(const json_t *device) {
  const json_t *bytes = json_object_get(device, "local_bytes");
  return json_is_integer(bytes) ? json_integer_value(bytes) : INT64_MAX;
}

// Group sizes and the like, which times depend on.  Those of single kernels follow them here.
static const char *params_of(Tuning *t) {
  Text *text = text_new();
  sizes_find(t);
  vec_each (const SizeParam *, p, &t->sizing.params)
    if (!p->operation) text_printf(text, "%s=%lld ", p->name, (long long)p->value);
  return text_str(text);
}

// The device for people; its log name, its memory and its largest group are kept on the
// way.
static const char *device_of(Tuning *t, int64_t *capacity) {
  Measure *m = t->m;
  Reply reply = child_command(&m->server, m->limits.timeout_s, "report");
  json_t *json = reply.status == REPLY_OK ? json_loads(reply.text, 0, NULL) : NULL;
  json_t *device = json_object_get(json, "device");
  const char *name = json_string_value(json_object_get(device, "name"));
  const char *code = json_string_value(json_object_get(device, "code"));
  const char *driver = json_string_value(json_object_get(device, "driver"));
  const char *text =
      text_format("%s (%s code)", name ? name : "unknown", code ? code : "cpu");
  *capacity = capacity_of(device);
  t->sizing.max_group_size =
      json_integer_value(json_object_get(device, "max_group_size"));
  m->log.device = text_format("%s %s", text, driver ? driver : "");
  json_decref(json);
  return text;
}

static bool fail(Tuning *t, const char *what, Reply reply) {
  t->problem_text = text_format("%s: %s", what, reply.text);
  return false;
}

// There can be so many data sets, points of a box included.
static int most_datasets(const TunerOptions *o) {
  return o->dataset_count + o->max_points + o->holdout;
}

static bool open_program(Tuning *t) {
  const TunerOptions *o = t->options;
  Measure *m = t->m;
  int64_t capacity = 0;
  Reply reply = child_start(&m->server, 60);
  if (reply.status != REPLY_OK) return fail(t, "the program does not start", reply);
  m->log = (TunerLog){ .path = o->log_path, .fd = -1 };
  t->device = device_of(t, &capacity);
  m->log.params = params_of(t);
  reply = child_command(&m->server, 60, "tree");
  if (reply.status != REPLY_OK) return fail(t, "the program has no version tree", reply);
  t->tree = tree_read(reply.text, o->entry, &t->problem_text);
  if (!t->tree) return false;
  t->runs = tree_runs(t->tree->root);
  m->log.key = text_format("%s %s %s", o->hash, o->entry, t->device);
  t->seen = m->seen = evidence_new(t->tree, most_datasets(o));
  t->seen->capacity = capacity;
  t->replayer->races = m->races = races_new(t->seen, most_datasets(o));
  return measure_open(m, o->data, o->dataset_count, most_datasets(o));
}

static int compare_by_time(const void *a, const void *b) {
  const DataState *const *x = a, *const *y = b;
  return ((*x)->least_us > (*y)->least_us) - ((*x)->least_us < (*y)->least_us);
}

// Small data sets first: what hangs or crashes shows soonest there.
static int *by_time(const Evidence *e) {
  const DataState **states = new_array(const DataState *, e->dataset_count + 1);
  int *order = new_array(int, e->dataset_count + 1);
  for (int d = 0; d < e->dataset_count; d++)
    states[d] = &e->states[d];
  qsort(states, (size_t)e->dataset_count, sizeof *states, compare_by_time);
  for (int i = 0; i < e->dataset_count; i++)
    order[i] = (int)(states[i] - e->states);
  return order;
}

static void tune_datasets(Tuning *t) {
  Measure *m = t->m;
  Evidence *seen = t->seen;
  t->checks.before = measure_default_thresholds(m);  // later the program may be gone
  for (int d = 0; d < seen->dataset_count; d++) {
    tuning_progress(t, 2, "%s: default", seen->data[d].name);
    measure_default(m, d);
    choose_working(t, d);
  }
  // The first runs compile kernels, which leaves half of the time for measuring at least.
  m->limits.deadline = fmax(m->limits.deadline, child_now() + 0.5 * t->options->budget_s);
  const int *order = by_time(seen);
  for (int i = 0; i < seen->dataset_count; i++) {
    t->percent = 5 + 35 * i / seen->dataset_count;
    tuning_progress(t, t->percent, "%s", seen->data[order[i]].name);
    choose_measure(t, order[i]);
    DataState *state = &seen->states[order[i]];
    if (state->base.count == 0) state->failure = state->default_failure;
  }
  measure_settle(m);
  choose_settled(t);
  verify(t);
  if (!t->options->no_sizes && !m->interrupted) sizes_choose(t);
}

static int left_out(const Tuning *t) {
  int count = 0;
  for (int d = 0; d < t->seen->dataset_count; d++)
    count += t->seen->states[d].failure != NULL;
  return count;
}

// Covering runs that neither happened nor failed.
static int missing_runs(const Tuning *t) {
  int missing = 0;
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    for (int run = 0; run < t->runs; run++)
      missing += !measure_was_tried(t->m, d, tree_cover(t->tree, run));
  return missing;
}

static void find_alone(Tuning *t) {
  t->choice.alone = new_array(double, t->choice.problem.dataset_count + 1);
  for (int d = 0; d < t->choice.problem.dataset_count; d++)
    t->choice.alone[d] = solve_alone(&t->choice.problem, d).times[d];
}

static bool anything_ran(const Tuning *t) {
  for (int d = 0; d < t->seen->dataset_count; d++)
    if (!t->seen->states[d].failure && t->seen->states[d].base.count) return true;
  return false;
}

static const char *nothing_text(const Tuning *t) {
  if (t->m->interrupted) return "interrupted before a version was measured";
  const char *report = text_str(t->m->report), *failures = settings_failures(t);
  int length = (int)strlen(report);
  if (length && report[length - 1] == '\n') length--;
  return text_format("no version could be measured%s%s%s%.*s", *failures ? "\n" : "",
                     failures, length ? "\n" : "", length, report);
}

static void write_text(Tuning *t, const char *text, const char *path) {
  Text *file = text_new();
  text_add(file, text);
  if (!file_write(path, file))
    t->problem_text = text_format("cannot write %s: %s", path, strerror(errno));
}

void tuner_write(Tuning *t) {
  if (!t->options->dry_run && !t->kept_file)
    write_text(t, settings_text(t), t->options->out_path);
}

static void write_results(Tuning *t) {
  const char *out = t->options->out_path;
  t->kept_file = t->m->interrupted && t->checks.blind && access(out, F_OK) == 0;
  tuner_write(t);
  if (t->options->report_path) write_text(t, page_text(t), t->options->report_path);
}

static Measure *measure_of(const TunerOptions *o, double started) {
  return new_node(
      Measure, .server = { .argv = o->argv, .interrupt = child_catch_interrupt() },
      .entry = o->entry, .limits = { o->timeout_s, o->short_us, started + o->budget_s },
      .errors_are_final = o->range_count > 0,
      .judge = { o->scratch, o->number, o->compare, o->compare_state },
      .report = text_new());
}

static Tuning *tuning_new(const TunerOptions *options, double started) {
  Tuning *t = new_node(Tuning, .options = options, .m = measure_of(options, started));
  t->replayer = new_node(Replayer, .m = t->m, .rounds = 16, .race_ms = 300,
                         .progress = progress, .progress_state = t);
  return t;
}

static void measure_all(Tuning *t) {
  t->checks.verified = new_array(Verified, most_datasets(t->options) + 1);
  if (t->options->range_count)
    sample_ranges(t);
  else
    tune_datasets(t);
  measure_close(t->m);
}

Tuning *tuner_run(const TunerOptions *options) {
  double started = child_now();
  Tuning *t = tuning_new(options, started);
  if (!open_program(t)) {
    child_stop(&t->m->server);
    if (!t->problem_text) t->problem_text = text_str(t->m->report);
    return t;
  }
  measure_all(t);
  t->seconds = child_now() - started;
  tuning_progress(t, 100, "\r\033[K");
  if (!t->problem_text && !anything_ran(t)) t->problem_text = nothing_text(t);
  if (t->problem_text) return t;
  t->left_out = left_out(t);
  t->missing = options->range_count ? 0 : missing_runs(t);
  find_alone(t);
  write_results(t);
  return t;
}
