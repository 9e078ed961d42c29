// flc bench FILE...: how long the entry points take on the data of the test blocks.
//
// One warm-up and at least ten runs, more until half a second has passed and the mean is known to
// one per cent, or five seconds or a thousand runs are over.  Input, output and the first
// compilation do not count.
#include "commands/bench.h"
#include "base/file.h"
#include "base/process.h"
#include "base/quote.h"
#include "commands/scratch.h"
#include "commands/test_run.h"
#include "commands/version_options.h"
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

// clang-format off
static const Option option_rows[] = {
  { 'e', 'e', "entry", "ENTRY", "only this entry point", NULL },
  { 'r', 'r', "runs", "N", "at least N runs; default 10", NULL },
  { 'j', 0, "json", "OUT",
    "write the times, in microseconds, and the peak of device memory to a file, as "
    "Futhark's does", NULL },
  { 'c', 0, "compare", "OLD", "show how much faster it is than what such a file says", NULL },
  FLATTEN_OPTIONS,
  RECIPE_OPTION,
  OPTIONS_END
};
// clang-format on

typedef struct Bench {
  Compiler *c;
  const char *entry, *json, *recipe;
  int runs;
  BenchVec old, results;
  char **program_options, **paths;
  int program_option_count, path_count;
  const char *folder;  // for temporary files
  int status;          // a file that says what the program is at
  FlattenOptions flatten;
} Bench;

// ---- figures

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

// The value below which a part `at` of the times lies.
static double quantile(const TimeVec *times, double at) {
  double *sorted = mem_copy(times->at, sizeof(double) * (size_t)times->count);
  qsort(sorted, (size_t)times->count, sizeof *sorted, compare_doubles);
  double place = at * (times->count - 1);
  int below = (int)place;
  int above = below + 1 < times->count ? below + 1 : below;
  return sorted[below] + (place - below) * (sorted[above] - sorted[below]);
}

double bench_median(const TimeVec *times) { return quantile(times, 0.5); }

static double total(const TimeVec *times) {
  double sum = 0;
  vec_each (double *, t, times)
    sum += *t;
  return sum;
}

// The standard error of the mean, relative to it.
static double relative_error(const TimeVec *times) {
  double mean = total(times) / times->count, squares = 0;
  vec_each (double *, t, times)
    squares += (*t - mean) * (*t - mean);
  if (times->count < 2 || mean <= 0) return 0;
  return sqrt(squares / (times->count - 1) / times->count) / mean;
}

// ---- runs

typedef struct Case {
  const char *executable, *path, *entry, *dataset;
  const char *input, *times, *log;  // temporary files
} Case;

typedef struct Watched {
  const Bench *bench;
  const Case *of;
} Watched;

static void show_status(void *state) {
  const Watched *w = state;
  const char *status = command_status(w->bench->status);
  command_progress("%s %s%s%s", command_file_name(w->of->path), w->of->dataset,
                   *status ? ": " : " ...", status);
}

// runs 0: once, with a report in the log.  The status of waitpid, or -1.
static int start_bench(const Bench *b, const Case *k, int runs) {
  const char *args[64] = { k->executable, "-e", k->entry, "-n", "-t", k->times };
  int count = 6;
  args[count++] = runs ? "-r" : "-P";
  args[count++] = runs ? text_format("%d", runs) : "--json";
  const char *tuning = text_format("%s.tuning", k->path);
  if (access(tuning, R_OK) == 0) {
    args[count++] = "--tuning";
    args[count++] = tuning;
  }
  for (int i = 0; i < b->program_option_count && count < 60; i++)
    args[count++] = b->program_options[i];
  int in = open(k->input, O_RDONLY | O_CLOEXEC),
      log = open(k->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int status = -1;
  Watched watched = { b, k };
  const Process process = {
    .argv = args, .in = in, .out = log, .tick = { show_status, &watched }
  };
  if (in >= 0 && log >= 0) status = process_run(&process);
  if (in >= 0) close(in);
  if (log >= 0) close(log);
  return status;
}

static void read_times(const char *path, TimeVec *out) {
  size_t length;
  const char *at = text_read_file(path, &length);
  for (char *end; at && *at; at = end) {
    double time = strtod(at, &end);
    if (end == at) return;
    vec_push(out, time);
  }
}

// NULL, or what went wrong.
static const char *run_bench_case(const Bench *b, const Case *k, int runs,
                                  TimeVec *times) {
  int status = start_bench(b, k, runs);
  if (status < 0) return "cannot start the program";
  size_t length;
  const char *said = text_read_file(k->log, &length);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    read_times(k->times, times);
    return NULL;
  }
  return said && *said ? said : "the program died";
}

// The peak of device memory, from a run of its own; NULL if the report does not say it.
static const char *measure_peak(const Bench *b, const Case *k) {
  static const char key[] = "\"bytes\": {\"peak\": ";
  TimeVec ignored = { 0 };
  size_t length;
  if (run_bench_case(b, k, 0, &ignored)) return NULL;
  const char *report = text_read_file(k->log, &length);
  const char *peak = report ? strstr(report, key) : NULL;
  if (!peak) return NULL;
  peak += strlen(key);
  return text_format("%.*s", (int)strspn(peak, "0123456789"), peak);
}

enum { MOST_RUNS = 1000 };

// How many runs more; 0: enough.
static int more_runs(const TimeVec *times) {
  const double enough_us = 5e5, most_us = 5e6;
  double sum = total(times), mean = sum / times->count;
  if (sum >= most_us || times->count >= MOST_RUNS) return 0;
  int left = MOST_RUNS - times->count;
  if (sum < enough_us)
    return mean > 0 ? (int)fmin(left, ceil((enough_us - sum) / mean)) : left;
  return relative_error(times) > 0.01 ? (int)fmin(left, times->count) : 0;
}

static void measure(const Bench *b, const Case *k, BenchResult *r) {
  enum { MOST_ROUNDS = 6 };
  int runs = b->runs;
  for (int round = 0; round < MOST_ROUNDS && runs > 0 && !r->error; round++) {
    r->error = run_bench_case(b, k, runs, &r->times);
    if (!r->error && !r->times.count) r->error = "the program wrote no times";
    if (!r->error) runs = more_runs(&r->times);
  }
  if (!r->error && b->json) r->peak = measure_peak(b, k);
}

// ---- the table

const char *bench_time_text(double us) {
  if (us < 1e3) return text_format("%.0f us", us);
  return us < 1e6 ? text_format("%.2f ms", us / 1e3) : text_format("%.3f s", us / 1e6);
}

static const BenchResult *find_old(const Bench *b, const BenchResult *r) {
  vec_each (BenchResult *, old, &b->old)
    if (strcmp(old->program, r->program) == 0 && strcmp(old->dataset, r->dataset) == 0)
      return old;
  return NULL;
}

static void print_result(const Bench *b, const BenchResult *r) {
  command_progress("%s", "");
  if (r->error) {
    printf("  %-40s failed: %s\n", r->dataset, r->error);
    return;
  }
  double median = bench_median(&r->times);
  printf("  %-40s %10s   %s to %s   %d runs", r->dataset, bench_time_text(median),
         bench_time_text(quantile(&r->times, 0.05)),
         bench_time_text(quantile(&r->times, 0.95)), r->times.count);
  if (r->moved > 0 && median > 0) printf("   %.1f GB/s", r->moved / median / 1e3);
  const BenchResult *old = find_old(b, r);
  if (old && median > 0)
    printf("   %.2fx (was %s)", bench_median(&old->times) / median,
           bench_time_text(bench_median(&old->times)));
  printf("\n");
  fflush(stdout);
}

// ---- programs

const char *bench_dataset_name(const TestCase *test, int number) {
  if (test->name) return test->name;
  if (test->input.source == TEST_FILE) return test->input.text;
  if (test->input.source == TEST_NOTHING) return text_format("#%d", number);
  const char *text = test->input.text + strspn(test->input.text, " \t\n");
  size_t length = strcspn(text, "\n");
  while (length > 0 && text[length - 1] == ' ')
    length--;
  int shown = length > 30 ? 30 : (int)length;
  return text_format("#%d (%.*s%s)", number, shown, text, length > 30 ? "..." : "");
}

// The inputs as binary values in a file; false: the data are absent or wrong (`*message` says how).
static bool write_inputs(Bench *b, const Case *k, const Entry *entry,
                         const TestText *text, BenchResult *r, const char **message) {
  static const TestText nothing = { TEST_VALUES, "" };
  ValueReader *reader = test_open_values(
      k->path, entry, text->source == TEST_NOTHING ? &nothing : text, message);
  if (!reader) return false;
  const Value **values = command_read_inputs(b->c, entry, reader);
  if (!values) *message = diag_take_text(b->c);
  if (!values) return false;
  r->moved = bench_bytes(entry, values);
  Text *bytes = text_new();
  for (int i = 0; i < entry->param_count - entry->size_count; i++)
    value_write_binary(bytes, values[i]);
  if (file_write(k->input, bytes)) return true;
  *message = text_format("cannot write %s: %s", k->input, strerror(errno));
  return false;
}

static void bench_case(Bench *b, Case *k, const Entry *entry, const TestCase *test,
                       int number) {
  BenchResult r = { .dataset = quote_utf8(bench_dataset_name(test, number)) };
  const char *program = quote_utf8(command_file_name(k->path));
  r.program = strcmp(entry->name, "main") == 0
                  ? program
                  : text_format("%s:%s", program, entry->name);
  k->entry = entry->name;
  const char *message = NULL;
  if (!write_inputs(b, k, entry, &test->input, &r, &message)) {
    if (!message) printf("  %-40s no data\n", r.dataset);
    if (!message) return;
    r.error = message;
  }
  k->dataset = r.dataset;
  if (!r.error) measure(b, k, &r);
  print_result(b, &r);
  vec_push(&b->results, r);
}

bool bench_is_wanted(const TestCase *test, const Entry *entry) {
  if (test_has_tag(&test->tags, "nobench") || test_has_tag(&test->tags, "disable"))
    return false;
  if (test->outcome.source == TEST_ERROR) return false;
  return test->entries.count ? test_has_tag(&test->entries, entry->name)
                             : strcmp(entry->name, "main") == 0;
}

// Measures the cases; without `k` they are only counted.
static int bench_cases(Bench *b, Case *k, const Core *core, const TestSpec *spec) {
  int count = 0;
  for (int e = 0; e < core->entry_count; e++) {
    const Entry *entry = core->entries[e];
    if (b->entry && strcmp(b->entry, entry->name) != 0) continue;
    for (int i = 0; i < spec->cases.count; i++) {
      if (!bench_is_wanted(&spec->cases.at[i], entry)) continue;
      if (k) bench_case(b, k, entry, &spec->cases.at[i], i);
      count++;
    }
  }
  return count;
}

// There is nothing to measure: why?
static bool no_cases(Bench *b, const char *path, const Core *core, const TestSpec *spec) {
  if (b->entry && !command_entry(b->c, core, b->entry)) return false;
  error(b->c, (Loc){ 0 }, "%s has no data to measure%s%s", path,
        b->entry ? " for entry point " : "", b->entry ? b->entry : "");
  hint(b->c,
       spec->cases.count
           ? "its cases are for other entry points, or tagged nobench"
           : "write a test block before the program: `-- ==` and `-- random input { "
             "[1000]f32 }`");
  return false;
}

static bool bench_program(Bench *b, const char *path) {
  Program *program = program_read(b->c, path);
  if (!program || !pipeline_run(b->c, program, "elaborate")) return false;
  TestSpec spec = test_spec_parse(program->file->text);
  if (spec.message) error(b->c, (Loc){ 0 }, "%s: %s", path, spec.message);
  if (spec.message || spec.error) return !spec.message;
  const Core *core = program->core;
  if (!bench_cases(b, NULL, core, &spec)) return no_cases(b, path, core, &spec);
  Case k = { .path = path,
             .input = text_format("%s/input", b->folder),
             .times = text_format("%s/times", b->folder),
             .log = text_format("%s/log", b->folder) };
  printf("%s\n", path);
  k.executable = compile_program(
      b->c, program, (CompileOptions){ .flatten = b->flatten, .recipe = b->recipe });
  if (k.executable) bench_cases(b, &k, core, &spec);
  return k.executable != NULL;
}

static int bench_all(Bench *b) {
  bool ok = true;
  for (int i = 0; i < b->path_count; i++)
    ok = bench_program(b, b->paths[i]) && ok;
  vec_each (BenchResult *, r, &b->results)
    ok = ok && !r->error;
  Text *t = text_new();
  bench_write_json(t, &b->results);
  if (b->json && !file_write(b->json, t))
    error(b->c, (Loc){ 0 }, "cannot write %s: %s", b->json, strerror(errno));
  return diag_ok(b->c) && ok ? 0 : 1;
}

static int bench_in(void *state, const char *folder) {
  Bench *b = state;
  b->folder = folder;
  b->status = command_status_file();
  return bench_all(b);
}

static int bench(Bench *b) {
  int status = scratch_run(bench_in, b);
  if (status >= 0) return status;
  return command_usage_error(b->c, "cannot make a folder: %s", strerror(errno));
}

// NULL, or what is wrong with the file.
static const char *read_old(Bench *b, const char *path) {
  size_t length;
  const char *text = text_read_file(path, &length);
  if (!text) return strerror(errno);
  return bench_read_json(text, &b->old) ? NULL : "it is no JSON";
}

static int command_bench(Compiler *c, int argc, char **argv) {
  Bench b = { .c = c, .runs = 10, .flatten = default_flatten_options() };
  int own = 1;  // arguments before "--"
  while (own < argc && strcmp(argv[own], "--") != 0)
    own++;
  b.program_options = argv + own + 1;
  b.program_option_count = own < argc ? argc - own - 1 : 0;
  OptionReader r = options_begin(c, &bench_command, own, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'e') b.entry = optarg;
    if (o == 'r') b.runs = atoi(optarg);
    if (o == 'j') b.json = optarg;
    if (o == OPTION_RECIPE) b.recipe = optarg;
    const char *message = set_flatten_option(&b.flatten, o);
    if (message) return command_usage_error(c, "flc bench: %s", message);
    const char *problem = o == 'c' ? read_old(&b, optarg) : NULL;
    if (problem)
      return command_usage_error(c, "flc bench: cannot read %s: %s", optarg, problem);
  }
  if (r.over) return r.status;
  if (b.runs < 1)
    return command_usage_error(c, "flc bench: -r wants a positive number of runs");
  if (optind >= own) return command_usage_error(c, "flc bench: expected file names");
  b.paths = argv + optind;
  b.path_count = own - optind;
  return bench(&b);
}

const Command bench_command = {
  .name = "bench",
  .summary = "measures programs on the data of their test blocks",
  .usage = "[OPTIONS] FILE... [-- OPTIONS OF THE PROGRAM]",
  .about =
      "Measures the entry points of programs on the data of their test blocks (cases "
      "tagged `nobench` are left out).  A tuning file beside a program "
      "(`FILE.tuning`) is used.  A line holds the median time, the times between "
      "which nine tenths lie, the number of runs, and GB/s if the entry point says by "
      "`#[bytes(..)]` what a run moves.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_bench,
};
