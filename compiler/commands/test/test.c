// flc test: runs the test blocks of programs, one process per program.
#include "base/mem.h"
#include "base/vec.h"
#include "commands/futhark.h"
#include "commands/mpi.h"
#include "commands/test/device.h"
#include "commands/test/run.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  OPT_SEED = 512,
  OPT_EXCLUDE,
  OPT_TIMEOUT,
  OPT_VERSIONS_FOR,
  OPT_STAGE,
  OPT_UNOPTIMISED
};

// clang-format off
static const Option option_rows[] = {
  { 'e', 'e', "entry", "NAME", "only the cases of this entry point", NULL },
  { 'e', 0, "entry-point", "NAME", NULL, NULL },
  { OPT_STAGE, 0, "stage", "STAGE",
    "only after `elaborate`, `core` or `flat`, as the code for GPUs is made from (`gpu`; not run "
    "unasked), as kernels for CPUs (`kern`), or on the `device`",
    "elaborate core flat gpu kern device" },
  { 'j', 'j', "jobs", "N", "programs at the same time; default one per core", NULL },
  { OPT_TIMEOUT, 0, "timeout", "S", "seconds for a program; default 60", NULL },
  { 'm', 0, "max-steps", "N",
    "instructions of the interpreter for one run; default 2000000000", NULL },
  { 'd', 0, "no-device", NULL, "do not run on a device", NULL },
  { 'a', 0, "all-versions", NULL, "on the device: every version of every case", NULL },
  { OPT_UNOPTIMISED, 0, "unoptimised", NULL,
    "on the device: PoCL optimises no kernels; unasked, it does those that each case runs in the "
    "version it takes by itself", NULL },
  { OPT_VERSIONS_FOR, 0, "versions-for", "S",
    "on the device: after so many seconds, only the version that each case runs unasked; "
    "default half of `--timeout`", NULL },
  { 't', 't', "typecheck", NULL, "only type-check the programs", NULL },
  { 'C', 'C', "compile", NULL, "only compile the programs, for the device, too", NULL },
  { 's', 's', "structure", NULL,
    "only count what `structure` in [test blocks](test-blocks.md) names", NULL },
  PROGRAM_START_OPTIONS,
  MPI_OPTION,
  WORKERS_OPTION,
  MIXED_OPTION,
  { OPT_SEED, 0, "seed", "N",
    "of the arguments that [properties](test-blocks.md#properties) are given; default 1", NULL },
  { OPT_EXCLUDE, 0, "exclude", "TAG", "leave out cases with this tag, too", NULL },
  { 'v', 'v', "verbose", NULL, "say what was skipped, and why", NULL },
  { 'c', 'c', "compiled", NULL, NULL, NULL },
  { 'i', 'i', "interpreted", NULL, NULL, NULL },
  FUTHARK_OPTIONS,
  OPTIONS_END
};
// clang-format on

// ---- processes

// A program that is being tested, in a process that writes to two files in memory.
typedef struct Job {
  const char *path;
  pid_t pid;  // 0: no process
  int report, messages, status;
  double started;
  TestHost host;  // of one program after the other
} Job;

typedef struct Harness {
  Compiler *c;
  const TestOptions *options;
  const ProgramPaths *paths;
  const char *host;  // the program that runs programs, or NULL
  int next, done;    // programs started; finished
  Job *jobs;
  TestReport total;
  Text *failures;     // the programs of which tests failed, a line each
  const char *shown;  // the line of progress on the terminal, or NULL
} Harness;

_Noreturn static void child(const Harness *h, Job *job) {
  dup2(job->messages, STDERR_FILENO);
  setenv("FLC_STATUS_FILE", text_format("%d", job->status), 1);
  TestReport r =
      test_run_program(h->c, job->path, h->options, job->host.pid ? &job->host : NULL);
  FILE *out = fdopen(job->report, "w");
  if (!out) _exit(1);
  fprintf(out, "%d %d %d\n%s", r.passed, r.failed, r.skipped, text_str(r.text));
  _exit(fflush(out) == 0 ? 0 : 1);
}

static void start(Harness *h, Job *job) {
  job->path = h->paths->at[h->next++];
  job->report = memfd_create("report", 0);
  job->messages = memfd_create("messages", 0);
  job->status = memfd_create("status", 0);
  job->started = test_seconds();
  if (h->host) host_start(&job->host, h->host);
  fflush(stdout);
  job->pid = fork();
  if (job->pid == 0) child(h, job);
}

static const char *read_all(int fd) {
  Text *t = text_new();
  char buffer[4096];
  lseek(fd, 0, SEEK_SET);
  for (ssize_t n; (n = read(fd, buffer, sizeof buffer)) > 0;)
    text_add_bytes(t, buffer, (size_t)n);
  close(fd);
  return text_str(t);
}

static void add_report(Harness *h, const Job *job, const char *text) {
  int passed = 0, failed = 0, skipped = 0, length = 0;
  sscanf(text, "%d %d %d\n%n", &passed, &failed, &skipped, &length);
  h->total.passed += passed;
  h->total.failed += failed;
  h->total.skipped += skipped;
  if (failed) text_printf(h->failures, "failed: %s (%d)\n", job->path, failed);
  const char *rest = strchr(text, '\n');
  if (rest) text_add(h->total.text, rest + 1);
}

// What a program's failures say is shown at once: the tests may take long.
static void show_failures(Harness *h) {
  if (!text_length(h->total.text)) return;
  if (h->shown) printf("\r\033[K");
  h->shown = NULL;
  fputs(text_str(h->total.text), stdout);
  fflush(stdout);
  h->total.text = text_new();
}

static void finish(Harness *h, Job *job, int status, bool timed_out) {
  const char *report = read_all(job->report), *messages = read_all(job->messages);
  close(job->status);
  h->done++;
  job->pid = 0;
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    add_report(h, job, report);
    return;
  }
  h->total.failed++;
  text_printf(h->failures, "failed: %s\n", job->path);
  host_stop(&job->host);  // the program may still run there
  const char *what = timed_out ? text_format("took more than %d s", h->options->timeout_s)
                     : WIFSIGNALED(status)
                         ? text_format("crashed (%s)", strsignal(WTERMSIG(status)))
                         : text_format("exit status %d", WEXITSTATUS(status));
  text_printf(h->total.text, "%s: %s\n%s", job->path, what, messages);
}

// Collects a process that has ended, or ends one that takes too long.
static void watch(Harness *h, Job *job) {
  int status = 0;
  if (waitpid(job->pid, &status, WNOHANG) == job->pid) {
    finish(h, job, status, false);
    return;
  }
  if (test_seconds() - job->started < h->options->timeout_s) return;
  kill(job->pid, SIGKILL);
  waitpid(job->pid, &status, 0);
  finish(h, job, status, true);
}

// What the first job that says something is at.
static const char *job_status(const Harness *h) {
  for (int i = 0; i < h->options->jobs; i++) {
    const char *status = h->jobs[i].pid ? command_status(h->jobs[i].status) : "";
    if (*status)
      return text_format("; %s: %s", command_file_name(h->jobs[i].path), status);
  }
  return "";
}

static void show_progress(Harness *h) {
  const char *text = text_format("%d of %d programs, %d failed%s", h->done,
                                 h->paths->count, h->total.failed, job_status(h));
  if (h->shown && strcmp(h->shown, text) == 0) return;
  h->shown = text;
  printf("\r%s \033[K", text);
  fflush(stdout);
}

static void run_all(Harness *h) {
  static const struct timespec pause = { .tv_nsec = 2000000 };
  bool progress = isatty(STDOUT_FILENO);
  while (h->done < h->paths->count) {
    for (int i = 0; i < h->options->jobs; i++) {
      if (h->jobs[i].pid) watch(h, &h->jobs[i]);
      if (!h->jobs[i].pid && h->next < h->paths->count) start(h, &h->jobs[i]);
    }
    show_failures(h);
    if (progress) show_progress(h);
    nanosleep(&pause, NULL);
  }
  if (progress) printf("\r\033[K");
  for (int i = 0; i < h->options->jobs; i++)
    host_stop(&h->jobs[i].host);
}

// Several programs run on the device in one process, if they are started without ado.
static const char *host_program(Compiler *c, const TestOptions *o, int programs) {
  bool runs = o->depth == TEST_RUN && !o->no_device &&
              (!o->stage || strcmp(o->stage, "device") == 0);
  if (!runs || programs < 2 || o->workers || o->start.runner) return NULL;
  const char *host = compile_host(c);
  diag_take_text(c);  // programs will say what is wrong, if they need the C compiler
  return host;
}

// Says so if there was nothing to test, which is an error where it was asked for by name.
static void report_nothing(const Harness *h) {
  const char *entry = h->options->entry;
  bool structure = h->options->depth == TEST_STRUCTURE;
  const char *block = structure ? "structure in a test block" : "test block";
  const char *what = entry ? text_format("%s for `%s`", block, entry) : block;
  const char *where = h->paths->count == 1 ? text_format("%s has no", h->paths->at[0])
                                           : "no program has a";
  (entry ? error : warning)(h->c, (Loc){ 0 }, "nothing was tested: %s %s", where, what);
  hint(h->c, "write one before an entry point: `-- ==` and `-- %s`",
       structure ? "structure core { map 1 }" : "input { 1 } output { 2 }");
  diag_flush(h->c);
}

static int test_paths(Compiler *c, const TestOptions *options,
                      const ProgramPaths *paths) {
  Harness h = { .c = c, .options = options, .paths = paths };
  h.host = host_program(c, options, paths->count);
  h.jobs = new_array(Job, options->jobs);
  h.total.text = text_new();
  h.failures = text_new();
  run_all(&h);
  if (paths->count > 1) fputs(text_str(h.failures), stdout);
  printf("%s%d passed, %d failed", text_str(h.total.text), h.total.passed,
         h.total.failed);
  if (h.total.skipped) printf(", %d skipped", h.total.skipped);
  printf("\n");
  bool nothing = h.total.passed + h.total.failed + h.total.skipped == 0;
  if (nothing) report_nothing(&h);
  return h.total.failed || (nothing && options->entry) ? 1 : 0;
}

// ---- options

static bool number(const char *text, int64_t least, int64_t *out) {
  char *end = NULL;
  *out = strtoll(text, &end, 10);
  return end != text && *end == '\0' && *out >= least;
}

static bool is_stage(const char *name) {
  return strcmp(name, "elaborate") == 0 || strcmp(name, "core") == 0 ||
         strcmp(name, "flat") == 0 || strcmp(name, "gpu") == 0 ||
         strcmp(name, "kern") == 0 || strcmp(name, "device") == 0;
}

// NULL, or what is wrong with the option's argument.
static const char *set_option(TestOptions *o, int option) {
  int64_t value = 0;
  switch (option) {
  case 'e': o->entry = optarg; return NULL;
  case OPT_STAGE:
    o->stage = optarg;
    return is_stage(optarg)
               ? NULL
               : text_format(
                     "unknown stage %s (elaborate, core, flat, gpu, kern or device)",
                     optarg);
  case 'v': o->verbose = true; return NULL;
  case 't': o->depth = TEST_CHECK; return NULL;
  case 'C': o->depth = TEST_COMPILE; return NULL;
  case 's': o->depth = TEST_STRUCTURE; return NULL;
  case 'c': o->stage = "device"; return NULL;
  case 'd':
  case 'i': o->no_device = true; return NULL;
  case OPT_EXCLUDE: o->exclude = optarg; return NULL;
  case 'a': o->all_versions = true; return NULL;
  case OPT_UNOPTIMISED: o->unoptimised = true; return NULL;
  case OPTION_MPI:
  case OPTION_WORKERS:
    set_flatten_option(&o->start.flatten, option);
    return mpi_read_count(optarg, &o->workers)
               ? NULL
               : text_format("expected a number of workers, found %s", optarg);
  }
  static const int64_t most_jobs = 1024;
  bool any = option == 'm' || option == OPT_SEED;
  if (!number(optarg, option == OPT_VERSIONS_FOR ? 0 : 1, &value) ||
      (!any && value > most_jobs * most_jobs))
    return text_format("expected a positive number, found %s", optarg);
  if (option == 'j') o->jobs = (int)(value < most_jobs ? value : most_jobs);
  if (option == OPT_TIMEOUT) o->timeout_s = (int)value;
  if (option == OPT_VERSIONS_FOR) o->versions_s = (double)value;
  if (option == 'm') o->max_steps = value;
  if (option == OPT_SEED) o->seed = (uint64_t)value;
  return NULL;
}

static int run(Compiler *c, const TestOptions *o, int count, char **arguments) {
  ProgramPaths paths = { 0 };
  for (int i = 0; i < count; i++)
    if (access(arguments[i], R_OK) != 0)
      return command_usage_error(c, "cannot read %s: %s", arguments[i], strerror(errno));
  if (!command_find_all_programs(c, arguments, count, &paths)) return 1;
  if (!count) return command_usage_error(c, "flc test: expected a program or a folder");
  program_start_warn(c, &o->start, &paths);
  return test_paths(c, o, &paths);
}

static int command_test(Compiler *c, int argc, char **argv) {
  TestOptions o = {
    .max_steps = 2000000000,
    .timeout_s = 60,
    .versions_s = -1,
    .seed = 1,
    .start = program_start_default(),
  };
  o.jobs = (int)sysconf(_SC_NPROCESSORS_ONLN);
  const char *backend = NULL;
  OptionReader r = options_begin(c, &test_command, argc, argv);
  for (int k; (k = options_next(&r));) {
    const char *message = NULL;
    bool other = program_start_option(&o.start, k, &message) ||
                 (k != 'v' && futhark_option(c, &test_command, k, &backend));
    if (!other) message = set_option(&o, k);
    if (message) return command_usage_error(c, "flc test: %s", message);
  }
  if (r.over) return r.status;
  if (o.versions_s < 0) o.versions_s = o.timeout_s / 2.0;
  if (backend) vec_push(&o.start.options, text_format("--backend=%s", backend));
  return run(c, &o, argc - optind, argv + optind);
}

const Command test_command = {
  .name = "test",
  .summary = "runs the test blocks of programs",
  .usage = "[OPTIONS] PATH...",
  .about =
      "Runs the test blocks of programs (of folders: of every `.fl` and `.fut` file in "
      "them) in the interpreter, after each stage of the compiler and in every "
      "version, and on the device.",
  .options = option_rows,
  .operands = OPERANDS_FILES,
  .run = command_test,
};
