// flc bench FILE...: how long the entry points take on the data of the test blocks.
#include "commands/bench/bench.h"
#include "base/file.h"
#include "base/quote.h"
#include "commands/futhark.h"
#include "commands/mpi.h"
#include "commands/scratch.h"
#include "commands/test/run.h"
#include <errno.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum BenchOption {
  OPT_JSON = 512,
  OPT_COMPARE,
  OPT_HTML,
  OPT_SORT,
  OPT_EXCLUDE,
  OPT_IGNORE,
  OPT_TIMEOUT,
  OPT_SPEC,
  OPT_SKIP,
  OPT_SECONDS,
  OPT_FIXED
};

// clang-format off
static const Option option_rows[] = {
  { 'e', 'e', "entry", "ENTRY", "only this entry point", NULL },
  { 'e', 0, "entry-point", "ENTRY", NULL, NULL },
  { 'r', 'r', "runs", "N", "at least N runs; default 10", NULL },
  { OPT_JSON, 0, "json", "OUT",
    "write the times, in microseconds, and the peak of device memory to a file, as "
    "Futhark's does", NULL },
  { OPT_COMPARE, 0, "compare", "OLD",
    "show how much faster it is than what such a file says; may be repeated, oldest first: "
    "the last one counts, all are in the plots of `--html`", NULL },
  { OPT_HTML, 0, "html", "OUT", "write a page with plots", NULL },
  { OPT_SORT, 0, "sort-by", "KEY",
    "print all at the end, by `name`, `time` (longest first) or `ratio` (slower than before "
    "first)", "name time ratio" },
  { OPT_EXCLUDE, 0, "exclude-case", "TAG",
    "leave out cases with this tag, too; may be repeated", NULL },
  { OPT_IGNORE, 0, "ignore-files", "REGEX",
    "leave out programs whose path matches; may be repeated", NULL },
  { OPT_TIMEOUT, 0, "timeout", "S", "seconds for all runs on a data set; default: no end", NULL },
  { OPT_SECONDS, 0, "convergence-max-seconds", "S",
    "no more runs than that take; default 5", NULL },
  { OPT_FIXED, 0, "no-convergence-phase", NULL, "no more runs than `--runs` says", NULL },
  { OPT_SPEC, 0, "spec-file", "FILE",
    "measure on the cases in this file, a test block without `--`, and not on those in the "
    "programs", NULL },
  { OPT_SKIP, 0, "skip-compilation", NULL,
    "run the executables that `flc build` has made beside the programs", NULL },
  FUTHARK_OPTIONS,
  PROGRAM_START_OPTIONS,
  MPI_OPTION,
  WORKERS_OPTION,
  MIXED_OPTION,
  OPTIONS_END
};
// clang-format on

typedef struct Bench {
  Compiler *c;
  const char *entry, *json, *html, *sort;
  const char *spec;  // the text of --spec-file; NULL: none
  bool skip_compilation;
  BenchRunner runner;
  BenchVec results;
  BenchHistory history;
  TextVec excluded;
  Vec(regex_t *) ignored;
  ProgramPaths paths, named;  // all; those that were named themselves
} Bench;

// ---- the table

const char *bench_time_text(double us) {
  if (us < 1e3) return text_format("%.0f us", us);
  return us < 1e6 ? text_format("%.2f ms", us / 1e3) : text_format("%.3f s", us / 1e6);
}

const BenchResult *bench_find(const BenchVec *results, const BenchResult *same) {
  vec_each (const BenchResult *, r, results)
    if (strcmp(r->program, same->program) == 0 && strcmp(r->dataset, same->dataset) == 0)
      return r;
  return NULL;
}

// What to compare it with, or NULL.
static const BenchResult *find_before(const Bench *b, const BenchResult *r) {
  const BenchEarlier *last =
      b->history.count ? &b->history.at[b->history.count - 1] : NULL;
  return last && !r->error ? bench_find(&last->results, r) : NULL;
}

static void print_ratio(const BenchResult *before, const BenchResult *r) {
  BenchInterval ratio = bench_ratio(&before->times, &r->times);
  bool differs = ratio.low > 1 || ratio.high < 1;
  printf("   %s%.2fx (%.2fx to %.2fx, was %s)",
         differs ? "" : "no difference: ", ratio.middle, ratio.low, ratio.high,
         bench_time_text(bench_median(&before->times)));
}

static void print_result(const Bench *b, const BenchResult *r, const char *name) {
  command_progress("%s", "");
  if (r->error) {
    printf("  %-40s failed: %s\n", name, r->error);
    return;
  }
  double median = bench_median(&r->times);
  printf("  %-40s %10s   %s to %s   %d runs", name, bench_time_text(median),
         bench_time_text(bench_quantile(&r->times, 0.05)),
         bench_time_text(bench_quantile(&r->times, 0.95)), r->times.count);
  if (r->moved > 0 && median > 0) printf("   %.1f GB/s", r->moved / median / 1e3);
  const BenchResult *before = find_before(b, r);
  if (before) print_ratio(before, r);
  printf("\n");
  fflush(stdout);
}

// ---- in another order

// What a result is sorted by: small ones come first.
typedef struct SortedResult {
  const BenchResult *result;
  double key;  // NAN-free; failures are first
} SortedResult;

static int by_key(const void *a, const void *b) {
  const SortedResult *x = a, *y = b;
  if (x->key != y->key) return x->key < y->key ? -1 : 1;
  int order = strcmp(x->result->program, y->result->program);
  return order ? order : strcmp(x->result->dataset, y->result->dataset);
}

static double sort_key(const Bench *b, const BenchResult *r) {
  if (strcmp(b->sort, "name") == 0) return 0;
  if (r->error) return -1e300;
  if (strcmp(b->sort, "time") == 0) return -bench_median(&r->times);
  const BenchResult *before = find_before(b, r);
  return before ? bench_ratio(&before->times, &r->times).middle : 1e300;
}

static void print_sorted(const Bench *b) {
  SortedResult *sorted = new_array(SortedResult, b->results.count + 1);
  for (int i = 0; i < b->results.count; i++)
    sorted[i] = (SortedResult){ &b->results.at[i], sort_key(b, &b->results.at[i]) };
  qsort(sorted, (size_t)b->results.count, sizeof *sorted, by_key);
  for (int i = 0; i < b->results.count; i++) {
    const BenchResult *r = sorted[i].result;
    print_result(b, r, text_format("%s %s", r->program, r->dataset));
  }
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
static bool write_inputs(Bench *b, const char *path, const Entry *entry,
                         const TestText *text, BenchResult *r, const char **message) {
  static const TestText nothing = { .source = TEST_VALUES, .text = "" };
  ValueReader *reader = test_open_values(
      path, entry, text->source == TEST_NOTHING ? &nothing : text, message);
  if (!reader) return false;
  const Value **values = command_read_inputs(b->c, entry, reader);
  if (!values) *message = diag_take_text(b->c);
  if (!values) return false;
  r->moved = bench_bytes(entry, values);
  Text *bytes = text_new();
  for (int i = 0; i < entry->param_count - entry->size_count; i++)
    value_write_binary(bytes, values[i]);
  const char *file = bench_input_path(&b->runner);
  if (file_write(file, bytes)) return true;
  *message = text_format("cannot write %s: %s", file, strerror(errno));
  return false;
}

static void bench_case(Bench *b, BenchJob *job, const Entry *entry, const TestCase *test,
                       int number) {
  BenchResult r = { .dataset = quote_utf8(bench_dataset_name(test, number)) };
  const char *program = quote_utf8(command_file_name(job->path));
  r.program = strcmp(entry->name, "main") == 0
                  ? program
                  : text_format("%s:%s", program, entry->name);
  job->entry = entry->name;
  const char *message = NULL;
  if (!write_inputs(b, job->path, entry, &test->input, &r, &message)) {
    if (!message) printf("  %-40s no data\n", r.dataset);
    if (!message) return;
    r.error = message;
  }
  job->dataset = r.dataset;
  if (!r.error) bench_measure(&b->runner, job, &r);
  b->runner.done++;
  if (!b->sort) print_result(b, &r, r.dataset);
  vec_push(&b->results, r);
}

bool bench_is_wanted(const TestCase *test, const Entry *entry) {
  if (test_has_tag(&test->tags, "nobench") || test_has_tag(&test->tags, "disable"))
    return false;
  if (test->outcome.source == TEST_ERROR) return false;
  return test->entries.count ? test_has_tag(&test->entries, entry->name)
                             : strcmp(entry->name, "main") == 0;
}

static bool is_excluded(const Bench *b, const TestCase *test) {
  for (int i = 0; i < b->excluded.count; i++)
    if (test_has_tag(&test->tags, b->excluded.at[i])) return true;
  return false;
}

static bool is_measured(const Bench *b, const TestCase *test, const Entry *entry) {
  bool other = b->entry && strcmp(b->entry, entry->name) != 0;
  return !other && bench_is_wanted(test, entry) && !is_excluded(b, test);
}

// Measures the cases of an entry point; without `job` they are only counted.
static int bench_entry(Bench *b, BenchJob *job, const Entry *entry,
                       const TestSpec *spec) {
  int count = 0;
  for (int i = 0; i < spec->cases.count; i++) {
    if (!is_measured(b, &spec->cases.at[i], entry)) continue;
    bool is_main = strcmp(entry->name, "main") == 0;
    if (job && !b->sort && count == 0)
      printf("%s%s%s\n", job->path, is_main ? "" : ":", is_main ? "" : entry->name);
    if (job) bench_case(b, job, entry, &spec->cases.at[i], i);
    count++;
  }
  return count;
}

static int bench_cases(Bench *b, BenchJob *job, const Core *core, const TestSpec *spec) {
  int count = 0;
  for (int e = 0; e < core->entry_count; e++)
    count += bench_entry(b, job, core->entries[e], spec);
  return count;
}

static bool is_named(const Bench *b, const char *path) {
  vec_each (const char *const *, name, &b->named)
    if (strcmp(*name, path) == 0) return true;
  return false;
}

// There is nothing to measure: why?  Of programs in folders nobody has said that there is.
static bool no_cases(Bench *b, const char *path, const Core *core, const TestSpec *spec) {
  if (!is_named(b, path)) return true;
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

// The executable to measure; NULL after an error.
static const char *find_executable(Bench *b, const char *path, Program *program) {
  if (!b->skip_compilation)
    return compile_program(b->c, program, program_start_compile(&b->runner.start));
  const char *base = compile_base(path);
  const char *executable = strchr(base, '/') ? base : text_format("./%s", base);
  if (access(executable, X_OK) == 0) return executable;
  error(b->c, (Loc){ 0 }, "cannot run %s: %s", base, strerror(errno));
  hint(b->c, "`flc build %s` makes it", path);
  return NULL;
}

static bool bench_program(Bench *b, const char *path) {
  Program *program = program_read(b->c, path);
  if (!program || !pipeline_run(b->c, program, "elaborate")) return false;
  TestSpec spec =
      b->spec ? test_spec_parse_file(b->spec) : test_spec_parse(program->file->text);
  if (spec.message) error(b->c, (Loc){ 0 }, "%s: %s", path, spec.message);
  if (spec.message || spec.error) return !spec.message;
  const Core *core = program->core;
  b->runner.cases = bench_cases(b, NULL, core, &spec);
  if (!b->runner.cases) return no_cases(b, path, core, &spec);
  b->runner.done = 0;
  BenchJob job = { .path = path, .executable = find_executable(b, path, program) };
  if (job.executable) bench_cases(b, &job, core, &spec);
  return job.executable != NULL;
}

static bool is_ignored(const Bench *b, const char *path) {
  for (int i = 0; i < b->ignored.count; i++)
    if (regexec(b->ignored.at[i], path, 0, NULL, 0) == 0) return true;
  return false;
}

// ---- all of it

static void write_bench(const Bench *b, const char *path, const Text *t) {
  if (!path || file_write(path, t)) return;
  error(b->c, (Loc){ 0 }, "cannot write %s: %s", path, strerror(errno));
}

// An earlier file without a case of these is most likely another one than was meant.
static void note_strangers(const Bench *b) {
  for (int i = 0; i < b->history.count && b->results.count; i++) {
    const BenchEarlier *earlier = &b->history.at[i];
    bool found = false;
    vec_each (const BenchResult *, r, &b->results)
      found = found || bench_find(&earlier->results, r);
    if (!found)
      warning(b->c, (Loc){ 0 }, "%s has none of these programs and data sets",
              earlier->name);
  }
}

static int bench_all(Bench *b) {
  bool ok = true;
  vec_each (const char **, path, &b->paths)
    ok = (is_ignored(b, *path) || bench_program(b, *path)) && ok;
  vec_each (const BenchResult *, r, &b->results)
    ok = ok && !r->error;
  command_progress("%s", "");
  if (b->sort) print_sorted(b);
  note_strangers(b);
  Text *json = text_new(), *page = text_new();
  bench_write_json(json, &b->results);
  bench_write_page(page, &b->results, &b->history);
  write_bench(b, b->json, json);
  write_bench(b, b->html, page);
  return diag_ok(b->c) && ok ? 0 : 1;
}

static int bench_in(void *state, const char *folder) {
  Bench *b = state;
  b->runner.folder = folder;
  b->runner.status = command_status_file();
  b->runner.wants_peak = b->json != NULL;
  return bench_all(b);
}

static int bench(Bench *b) {
  const char *outputs[] = { b->json, b->html };
  return command_outputs(b->c, outputs, 2) ? scratch_run(b->c, bench_in, b) : 1;
}

// ---- options

// NULL, or what is wrong with the file.
static const char *read_earlier(Bench *b, const char *path) {
  size_t length;
  BenchEarlier earlier = { .name = command_file_name(path) };
  const char *text = text_read_lines(path, &length);
  if (!text) return text_format("cannot read %s: %s", path, strerror(errno));
  const char *wrong = bench_read_json(text, length, &earlier.results);
  if (wrong) return text_format("cannot read %s: %s", path, wrong);
  vec_push(&b->history, earlier);
  return NULL;
}

static const char *add_ignored(Bench *b, const char *text) {
  regex_t *pattern = new (regex_t);
  if (regcomp(pattern, text, REG_EXTENDED | REG_NOSUB) != 0)
    return text_format("%s is no regular expression", text);
  vec_push(&b->ignored, pattern);
  return NULL;
}

static const char *read_spec(Bench *b, const char *path) {
  size_t length;
  b->spec = text_read_lines(path, &length);
  return b->spec ? NULL : text_format("cannot read %s: %s", path, strerror(errno));
}

static const char *set_sort(Bench *b, const char *key) {
  b->sort = key;
  bool known =
      strcmp(key, "name") == 0 || strcmp(key, "time") == 0 || strcmp(key, "ratio") == 0;
  return known ? NULL : text_format("--sort-by wants name, time or ratio, not %s", key);
}

static const char *set_workers(Bench *b, const char *text) {
  int count = 0;
  b->runner.start.flatten.workers = WORKERS_THREADS;
  if (!mpi_read_count(text, &count))
    return text_format("expected a number of workers, found %s", text);
  vec_push(&b->runner.start.options, text_format("--workers=%d", count));
  return NULL;
}

static const char *set_processes(Bench *b, const char *text) {
  b->runner.start.flatten.workers = WORKERS_MPI;
  mpi_allow_many();
  return mpi_read_count(text, &b->runner.start.processes)
             ? NULL
             : text_format("expected a number of processes, found %s", text);
}

static const char *set_runs(Bench *b, const char *text) {
  static const long most = 1000000;
  char *end = NULL;
  long runs = strtol(text, &end, 10);
  b->runner.runs = (int)runs;
  return end != text && *end == '\0' && runs > 0 && runs <= most
             ? NULL
             : text_format("-r wants a number of runs from 1 to %ld, found %s", most,
                           text);
}

static const char *set_seconds(const char *text, double least, double *out) {
  char *end = NULL;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out >= least && *out < 1e6
             ? NULL
             : text_format("expected a number of seconds, found %s", text);
}

// NULL, or what is wrong with the option's argument.
static const char *set_bench_option(Bench *b, int option) {
  double seconds = 0;
  const char *problem = NULL;
  switch (option) {
  case 'e': b->entry = optarg; break;
  case 'r': return set_runs(b, optarg);
  case OPT_JSON: b->json = optarg; break;
  case OPT_COMPARE: return read_earlier(b, optarg);
  case OPT_HTML: b->html = optarg; break;
  case OPT_SORT: return set_sort(b, optarg);
  case OPT_EXCLUDE: vec_push(&b->excluded, optarg); break;
  case OPT_IGNORE: return add_ignored(b, optarg);
  case OPT_TIMEOUT: return set_seconds(optarg, 1e-3, &b->runner.timeout_s);
  case OPT_SECONDS:
    problem = set_seconds(optarg, 0, &seconds);
    b->runner.most_us = seconds * 1e6;
    break;
  case OPT_FIXED: b->runner.fixed = true; break;
  case OPT_SPEC: return read_spec(b, optarg);
  case OPT_SKIP: b->skip_compilation = true; break;
  case OPTION_MPI: return set_processes(b, optarg);
  case OPTION_WORKERS: return set_workers(b, optarg);
  default: program_start_option(&b->runner.start, option, &problem);
  }
  return problem;
}

static int command_bench(Compiler *c, int argc, char **argv) {
  Bench b = { .c = c };
  b.runner.start = program_start_default();
  b.runner.runs = 10;
  b.runner.enough_us = 5e5;
  b.runner.most_us = 5e6;
  int own = 1;  // arguments before "--"
  while (own < argc && strcmp(argv[own], "--") != 0)
    own++;
  const char *backend = NULL;
  OptionReader r = options_begin(c, &bench_command, own, argv);
  for (int o; (o = options_next(&r));) {
    bool done = futhark_option(c, &bench_command, o, &backend);
    const char *message = done ? NULL : set_bench_option(&b, o);
    if (message) return command_usage_error(c, "flc bench: %s", message);
  }
  if (r.over) return r.status;
  if (backend) vec_push(&b.runner.start.options, text_format("--backend=%s", backend));
  for (int i = own + 1; i < argc; i++)
    vec_push(&b.runner.start.options, argv[i]);
  if (optind >= own) return command_usage_error(c, "flc bench: expected file names");
  for (int i = optind; i < own; i++)
    vec_push(&b.named, argv[i]);
  if (!command_find_all_programs(c, argv + optind, own - optind, &b.paths)) return 1;
  program_start_warn(c, &b.runner.start, &b.paths);
  return bench(&b);
}

const Command bench_command = {
  .name = "bench",
  .summary = "measures programs on the data of their test blocks",
  .usage = "[OPTIONS] PATH... [-- OPTIONS OF THE PROGRAM]",
  .about =
      "Measures the entry points of programs (of folders: of those in them) on the data "
      "of "
      "their test blocks (cases "
      "tagged `nobench` are left out).  A tuning file beside a program "
      "(`FILE.tuning`) is used.  A line holds the median time, the times between "
      "which nine tenths lie, the number of runs, and GB/s if the entry point says by "
      "`#[bytes(..)]` what a run moves.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_bench,
};
