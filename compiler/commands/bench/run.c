// The runs of `flc bench`: one to warm up and at least ten, more until half a second has passed and
// the mean is known to one per cent, or five seconds or a thousand runs are over.  Input, output
// and the first compilation do not count.
#include "base/file.h"
#include "base/process.h"
#include "commands/bench/bench.h"
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MOST_RUNS = 1000 };

static const char *in_folder(const BenchRunner *r, const char *name) {
  return text_format("%s/%s", r->folder, name);
}

const char *bench_input_path(const BenchRunner *r) { return in_folder(r, "input"); }

typedef struct Watched {
  const BenchRunner *runner;
  const BenchJob *job;
} Watched;

static void show_status(void *state) {
  const Watched *w = state;
  const char *status = command_status(w->runner->status);
  command_progress("%d of %d: %s %s%s%s", w->runner->done + 1, w->runner->cases,
                   command_file_name(w->job->path), w->job->dataset,
                   *status ? ": " : " ...", status);
}

// runs 0: once, with a report in the log.
static const char *const *bench_words(const BenchRunner *r, const BenchJob *job,
                                      int runs) {
  TextVec words = program_start_words(&r->start, job->path, job->executable);
  vec_push(&words, "-e");
  vec_push(&words, job->entry);
  vec_push(&words, "-n");
  vec_push(&words, "-t");
  vec_push(&words, in_folder(r, "times"));
  vec_push(&words, runs ? "-r" : "-P");
  vec_push(&words, runs ? text_format("%d", runs) : "--json");
  vec_push(&words, NULL);
  return words.at;
}

// The status of waitpid, or -1.
static int start_bench(const BenchRunner *r, const BenchJob *job, int runs,
                       unsigned seconds) {
  int in = open(bench_input_path(r), O_RDONLY | O_CLOEXEC),
      log = open(in_folder(r, "log"), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  int status = -1;
  Watched watched = { r, job };
  const Process process = { .argv = bench_words(r, job, runs),
                            .in = in,
                            .out = log,
                            .seconds = seconds,
                            .tick = { show_status, &watched } };
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

// What a program has said, without `error: ` before and the newline behind it.
static const char *message_of(const char *said) {
  static const char prefix[] = "error: ";
  if (strncmp(said, prefix, strlen(prefix)) == 0) said += strlen(prefix);
  size_t length = strlen(said);
  while (length && said[length - 1] == '\n')
    length--;
  return text_format("%.*s", (int)length, said);
}

// NULL, or what went wrong.
static const char *run_bench(const BenchRunner *r, const BenchJob *job, int runs,
                             unsigned seconds, TimeVec *times) {
  int status = start_bench(r, job, runs, seconds);
  if (status < 0) return "cannot start the program";
  size_t length;
  const char *said = text_read_file(in_folder(r, "log"), &length);
  if (WIFEXITED(status) && WEXITSTATUS(status) == 0) {
    read_times(in_folder(r, "times"), times);
    return NULL;
  }
  if (WIFSIGNALED(status) && WTERMSIG(status) == SIGALRM)
    return text_format("took more than %g s", r->timeout_s);
  return said && *said ? message_of(said) : "the program died";
}

// The peak of device memory, from a run of its own; NULL if the report does not say it.
static const char *measure_peak(const BenchRunner *r, const BenchJob *job) {
  static const char key[] = "\"bytes\": {\"peak\": ";
  TimeVec ignored = { 0 };
  size_t length;
  if (run_bench(r, job, 0, (unsigned)ceil(r->timeout_s), &ignored)) return NULL;
  const char *report = text_read_file(in_folder(r, "log"), &length);
  const char *peak = report ? strstr(report, key) : NULL;
  if (!peak) return NULL;
  peak += strlen(key);
  return text_format("%.*s", (int)strspn(peak, "0123456789"), peak);
}

// How many runs more; 0: enough.
static int more_runs(const BenchRunner *r, const TimeVec *times) {
  double sum = bench_total(times), mean = sum / times->count;
  if (r->fixed || sum >= r->most_us || times->count >= MOST_RUNS) return 0;
  int left = MOST_RUNS - times->count;
  if (sum < r->enough_us)
    return mean > 0 ? (int)fmin(left, ceil((r->enough_us - sum) / mean)) : left;
  return bench_relative_error(times) > 0.01 ? (int)fmin(left, times->count) : 0;
}

static double now_s(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// The whole seconds that are left; 0: there is no limit.
static unsigned seconds_left(const BenchRunner *r, double started) {
  if (r->timeout_s <= 0) return 0;
  return (unsigned)fmax(1, ceil(r->timeout_s - (now_s() - started)));
}

void bench_measure(const BenchRunner *r, const BenchJob *job, BenchResult *out) {
  enum { MOST_ROUNDS = 6 };
  double started = now_s();
  int runs = r->runs;
  for (int round = 0; round < MOST_ROUNDS && runs > 0 && !out->error; round++) {
    out->error = run_bench(r, job, runs, seconds_left(r, started), &out->times);
    if (!out->error && !out->times.count) out->error = "the program wrote no times";
    if (!out->error) runs = more_runs(r, &out->times);
  }
  if (!out->error && r->wants_peak) out->peak = measure_peak(r, job);
}
