// Versions on the device.  As in the interpreter (Note [Versions] in run.c), but the first run
// is the one that the default thresholds choose; each guard that it met schedules a run with the
// same outcomes before it and the other one there.
#include "commands/test/device.h"
#include "base/mem.h"
#include "base/vec.h"
#include "commands/mpi.h"
#include "commands/test/server.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { NO_PROFILE = PROFILE_COUNT, FEW_RUNS = 6, MANY_RUNS = 400 };

struct TestDevice {
  Compiler *c;
  Program *program;
  TestHost *host;          // NULL: the program has a process of its own
  const char *executable;  // or shared object
  TestServer *server;      // NULL: not started, or it has died
  int profile;             // whose code it runs, as `unoptimised` says; or NO_PROFILE
  bool unoptimised;        // also of versions that users run unasked
  int runs;                // numbers the variables of the servers
  int most_runs;           // per case and profile
  int left_out;            // versions that were not run
  double until;            // as in TestDeviceOptions
  int processes, threads;  // that are workers; 0: none
  const char *path;        // of the source
  const ProgramStart *start;
  int first;  // profile: not 0 where there is no code for CPUs
  int file;   // values in and out: a file in memory
};

// As this process and others find it.
static const char *values_file(const TestDevice *d) {
  return text_format("/proc/%d/fd/%d", (int)getpid(), d->file);
}

// ---- building

// Workers of different kinds have each code in turn, beginning with that which is tested.
static const char *codes_of_workers(const TestDevice *d) {
  const char *first = profile_traits[d->first].name;
  if (!d->threads || !d->start->flatten.mixed) return first;
  return text_format("%s,%s", first, profile_traits[!d->first].name);
}

// What starts the program, or so many processes of it.
static const char *const *device_command(const TestDevice *d) {
  ProgramStart start = *d->start;
  start.processes = d->processes;
  TextVec words = program_start_words(&start, d->path, d->executable);
  vec_push(&words, "--code");
  vec_push(&words, codes_of_workers(d));
  // What has little work, too, is divided, and made while small borders travel.
  if (d->processes || d->threads) {
    vec_push(&words, "--param");
    vec_push(&words, "default_workers=0");
    vec_push(&words, "--param");
    vec_push(&words, "default_overlap=0");
  }
  if (d->threads) vec_push(&words, text_format("--workers=%d", d->threads));
  // Tests compile much, and run it on little (runtime/kernels/prelude.cl).
  vec_push(&words, "--build-option");
  vec_push(&words, "-DFLC_QUICK");
  vec_push(&words, "--server");
  vec_push(&words, NULL);
  return words.at;
}

static void stop_server(TestDevice *d) {
  if (d->server) server_stop(d->server);
  d->server = NULL;
}

static bool start_server(TestDevice *d, const char **message) {
  ServerReply greeting = { 0 };
  d->server = server_start(device_command(d), d->host, &greeting);
  d->profile = d->unoptimised ? NO_PROFILE : d->first;
  if (d->server && greeting.ok) return true;
  *message = d->server ? greeting.text : "cannot start the program";
  stop_server(d);
  return false;
}

// One process runs the code of both profiles: a device's compiler takes long to get going.
static bool take_profile(TestDevice *d, int profile, const char **message) {
  if (!d->server && !start_server(d, message)) return false;
  if (d->profile == profile) return true;
  bool quick = d->unoptimised && profile != PROFILE_GPU;
  ServerReply reply =
      server_ask(d->server, text_format("code %s%s", profile_traits[profile].name,
                                        quick ? " quick" : ""));
  d->profile = profile;
  *message = reply.text;
  return reply.ok;
}

// What users run unasked is compiled as they have it; of other versions the optimiser of the device
// would take half of the time of the tests.
static void build_quickly(TestDevice *d) {
  if (d->most_runs == MANY_RUNS || d->unoptimised || d->profile != 0) return;
  server_ask(d->server, "code cpu quick");
  d->profile = NO_PROFILE;
}

static const char *build_as(Compiler *c, Program *program, const ProgramStart *start,
                            bool shared) {
  EmitResult made;
  CompileOptions options = program_start_compile(start);
  options.little_use = true;
  if (!compile_program_to_c(c, program, options, &made)) return NULL;
  return shared ? compile_shared(c, &made) : compile_cached(c, &made);
}

const char *test_device_build(Compiler *c, Program *program, const ProgramStart *start) {
  return build_as(c, program, start, false);
}

// A host that has crashed says little about a program that may be as good as others: it runs again,
// in a process of its own.  Is that so?
static bool left_host(TestDevice *d) {
  if (!d->host || !d->host->gone) return false;
  d->host = NULL;
  stop_server(d);
  d->executable = test_device_build(d->c, d->program, d->start);
  return d->executable != NULL;
}

// Its code for GPUs has to do where that for CPUs does not run.
static bool start_either(TestDevice *d, const char **message) {
  if (start_server(d, message)) return true;
  d->first = strstr(*message, "code for CPUs does not run") != NULL;
  return d->first && start_server(d, message);
}

TestDevice *test_device_open(Compiler *c, Program *program, TestDeviceOptions options,
                             const char **message, bool *absent) {
  *absent = false;
  TestDevice *d = new (TestDevice);
  d->c = c;
  d->program = program;
  d->host = options.host;
  d->processes = program->flatten.workers == WORKERS_MPI ? options.workers : 0;
  d->threads = program->flatten.workers == WORKERS_THREADS ? options.workers : 0;
  d->path = program->path;
  d->start = options.start;
  d->most_runs = options.all_versions ? MANY_RUNS : FEW_RUNS;
  d->until = options.until;
  d->unoptimised = options.unoptimised;
  d->executable = build_as(c, program, options.start, d->host != NULL);
  if (!d->executable) {
    *message = diag_take_text(c);
    return NULL;
  }
  d->file = memfd_create("values", 0);
  if (start_either(d, message)) return d;
  if (left_host(d) && start_either(d, message)) return d;
  *absent = strstr(*message, "no OpenCL") != NULL;
  close(d->file);
  return NULL;
}

void test_device_close(TestDevice *d) {
  stop_server(d);
  close(d->file);
}

// ---- one run

typedef struct GuardOutcome {
  const char *guard;
  bool taken;
} GuardOutcome;
typedef Vec(GuardOutcome) GuardOutcomeVec;

typedef struct DeviceRun {
  TestDevice *d;
  const DeviceCase *test;
  TestServer *server;
  GuardOutcomeVec forced, met;
} DeviceRun;

// The words of each line, without the `*` of what is consumed; quoted, as they may hold spaces.
static int type_names(TestServer *s, const char *entry, const char **out, int most) {
  ServerReply reply = server_ask(s, text_format("inputs %s", entry));
  int count = 0;
  for (const char *line = reply.text; reply.ok && *line && count < most; line++) {
    const char *end = line + strcspn(line, "\n");
    line += *line == '*';
    out[count++] = text_format("\"%.*s\"", (int)(end - line), line);
    line = end;
    if (!*line) break;
  }
  return count;
}

static bool put_file(const TestDevice *d, const Text *bytes) {
  const char *at = text_str(bytes);
  size_t left = text_length(bytes);
  if (ftruncate(d->file, 0) != 0 || lseek(d->file, 0, SEEK_SET) != 0) return false;
  for (ssize_t n; left > 0; at += n, left -= (size_t)n)
    if ((n = write(d->file, at, left)) <= 0) return false;
  return true;
}

static ServerReply restore(DeviceRun *r) {
  const Entry *entry = r->test->entry;
  const char **types = new_array(const char *, entry->input_count + 1);
  int count = type_names(r->server, entry->name, types, entry->input_count);
  Text *line = text_new(), *bytes = text_new();
  if (!count) return (ServerReply){ .alive = true, .ok = true };
  text_printf(line, "restore %s", values_file(r->d));
  for (int i = 0; i < count; i++)
    text_printf(line, " in%d_%d %s", r->d->runs, i, types[i]);
  for (int i = 0; i < entry->param_count - entry->size_count; i++)
    value_write_binary(bytes, r->test->inputs[i]);
  if (!put_file(r->d, bytes))
    return (ServerReply){ .alive = true, .text = "cannot write values" };
  return server_ask(r->server, text_str(line));
}

static const char *path_of(const GuardOutcomeVec *outcomes) {
  Text *t = text_new();
  for (int i = 0; i < outcomes->count; i++)
    text_printf(t, "%s%s=%c", i ? "," : "", outcomes->at[i].guard,
                outcomes->at[i].taken ? 'T' : 'F');
  return text_str(t);
}

static ServerReply call(DeviceRun *r) {
  ServerReply reply = restore(r);
  if (!reply.ok) return reply;
  reply = server_ask(r->server, text_format("set_path %s", path_of(&r->forced)));
  if (!reply.ok) return reply;
  Text *line = text_new();
  text_printf(line, "call %s out%d", r->test->entry->name, r->d->runs);
  for (int i = 0; i < r->test->entry->input_count; i++)
    text_printf(line, " in%d_%d", r->d->runs, i);
  return server_ask(r->server, text_str(line));
}

static const GuardOutcome *find_outcome(const GuardOutcomeVec *outcomes,
                                        const char *guard) {
  for (int i = 0; i < outcomes->count; i++)
    if (strcmp(outcomes->at[i].guard, guard) == 0) return &outcomes->at[i];
  return NULL;
}

// Reads the guards that the last call met out of the report: {"name": "main.top_0", ... "taken":
// true}.
static void read_guards(DeviceRun *r, const char *report) {
  static const char name_mark[] = "{\"name\": \"", taken_mark[] = "\"taken\": ";
  const char *at = strstr(report, "\"guards\": [");
  while (at && (at = strstr(at, name_mark))) {
    at += strlen(name_mark);
    const char *name = text_format("%.*s", (int)strcspn(at, "\""), at);
    at = strstr(at, taken_mark);
    if (!at) return;
    if (find_outcome(&r->met, name)) continue;
    GuardOutcome outcome = { name, at[strlen(taken_mark)] == 't' };
    vec_push(&r->met, outcome);
  }
}

static const char *fetch(DeviceRun *r, DeviceResult *out) {
  const Entry *entry = r->test->entry;
  ServerReply reply =
      server_ask(r->server, text_format("store %s out%d", values_file(r->d), r->d->runs));
  if (!reply.ok) return reply.text;
  size_t length = 0;
  const char *message = NULL;
  char *bytes = text_read_file(values_file(r->d), &length);
  if (!bytes) return "cannot read the result";
  ValueReader *reader = value_reader_new("result", bytes, length);
  out->values = new_array(const Value *, entry->result_count + 1);
  for (int i = 0; i < entry->result_count; i++) {
    ValueType type = { entry->results[i].elem, entry->results[i].rank };
    out->values[i] = value_read(reader, &type, &message);
    if (!out->values[i]) return message ? message : "the result has too few values";
  }
  return value_at_end(reader) ? NULL : "the result has too many values";
}

// Frees the variables of the run; what is then left on the device has leaked.
static const char *clean_up(DeviceRun *r) {
  for (int i = 0; i < r->test->entry->input_count; i++)
    server_ask(r->server, text_format("free in%d_%d", r->d->runs, i));
  server_ask(r->server, text_format("free out%d", r->d->runs));
  ServerReply reply = server_ask(r->server, "report");
  const char *live = reply.ok ? strstr(reply.text, "\"live\": ") : NULL;
  if (!live || strtoll(live + strlen("\"live\": "), NULL, 10) == 0) return NULL;
  return text_format("%lld bytes of device memory leaked",
                     strtoll(live + strlen("\"live\": "), NULL, 10));
}

static const char *run_once(DeviceRun *r) {
  DeviceResult result = { .ok = true };
  r->d->runs++;
  ServerReply reply = call(r);
  if (!reply.alive) return reply.text;
  result.ok = reply.ok;
  result.message = reply.text;
  reply = server_ask(r->server, "report");
  if (reply.ok) read_guards(r, reply.text);
  const char *problem = result.ok ? fetch(r, &result) : NULL;
  if (!problem) problem = r->test->judge(r->test->state, &result);
  const char *leak = clean_up(r);
  return problem ? problem : leak;
}

// ---- all versions

double test_seconds(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

// A program whose versions take long has passed with the versions that it runs unasked.
static bool is_late(const TestDevice *d) {
  return d->until > 0 && test_seconds() > d->until;
}

typedef Vec(GuardOutcomeVec) DeviceSchedule;

static void schedule_branches(DeviceSchedule *schedule, const DeviceRun *r) {
  for (int i = 0; i < r->met.count; i++) {
    if (find_outcome(&r->forced, r->met.at[i].guard)) continue;
    GuardOutcomeVec forced = { 0 };
    for (int k = 0; k <= i; k++)
      vec_push(&forced, r->met.at[k]);
    forced.at[i].taken = !forced.at[i].taken;
    vec_push(schedule, forced);
  }
}

static const char *try_profile(TestDevice *d, const DeviceCase *test, int profile) {
  const char *message = NULL;
  if (!take_profile(d, profile, &message)) return message;
  DeviceSchedule schedule = { 0 };
  vec_push(&schedule, (GuardOutcomeVec){ 0 });
  int most = test->default_only ? 1 : d->most_runs, done = 0;
  for (int i = 0; i < schedule.count && i < most; i++) {
    if (i && is_late(d)) break;
    if (i) build_quickly(d);
    DeviceRun r = { .d = d, .test = test, .server = d->server, .forced = schedule.at[i] };
    message = run_once(&r);
    if (message)
      return text_format("%s\n  with --path %s", message,
                         path_of(r.met.count ? &r.met : &r.forced));
    schedule_branches(&schedule, &r);
    done++;
  }
  d->left_out += schedule.count - done;
  return NULL;
}

int test_device_left_out(const TestDevice *d) { return d->left_out; }

const char *test_device_case(TestDevice *d, const DeviceCase *test) {
  // Where one version has to do, so has one profile: the other's takes minutes on a CPU.
  int profiles = test->default_only ? d->first + 1 : PROFILE_COUNT;
  for (int profile = d->first; profile < profiles; profile++) {
    if (profile > d->first && is_late(d)) {
      d->left_out++;
      return NULL;
    }
    const char *message = try_profile(d, test, profile);
    if (message && left_host(d)) message = try_profile(d, test, profile);
    if (!message) continue;
    // A process that has died, or has not cleaned up, is of no use to the next case.
    stop_server(d);
    return text_format("%s --code %s", message, profile_traits[profile].name);
  }
  return NULL;
}
