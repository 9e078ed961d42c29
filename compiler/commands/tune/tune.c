// flc tune: chooses thresholds by measuring (docs/tuning.md).
#include "base/hash.h"
#include "commands/futhark.h"
#include "commands/mpi.h"
#include "commands/scratch.h"
#include "commands/tune/data.h"
#include "commands/version_options.h"
#include "tuner/settings.h"
#include "tuner/shared.h"
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct Options {
  TunerOptions tuner;
  const char *path, *output, *ending, *backend, *device, *command, *log, *range, *gen;
  Vec(const char *) data, passed;  // passed: options of the program
  bool explain, check, no_log;
  int workers, processes;  // 0: one, in a program for one
  bool mixed, reproducible;
} Options;

enum TuneOption {
  OPT_DATA = 512,
  OPT_RANGE,
  OPT_GEN,
  OPT_POINTS,
  OPT_HOLDOUT,
  OPT_BUDGET,
  OPT_TIMEOUT,
  OPT_OBJECTIVE,
  OPT_DEVICE,
  OPT_SEED,
  OPT_REPORT,
  OPT_LOG,
  OPT_NO_LOG,
  OPT_DRY,
  OPT_NO_REPLAY,
  OPT_NO_SIZES,
  OPT_EXPLAIN,
  OPT_CHECK,
  OPT_PROGRAM,
  OPT_SHORT,
  OPT_TUNING,
  OPT_PASS
};

// clang-format off
static const Option option_rows[] = {
  { OPT_DATA, 0, "data", "FILE[@weight=W]", "a data set; may be repeated", NULL },
  { OPT_RANGE, 0, "range", "n=LOW:HIGH,...",
    "random inputs of these [sizes](tuning.md#ranges) instead, spread over orders of magnitude "
    "(`n=1:9:linear`: evenly); `n*m<=2^26` is a constraint", NULL },
  { OPT_GEN, 0, "gen", "FILE",
    "with `--range`: this program makes the inputs from the sizes", NULL },
  { OPT_POINTS, 0, "max-points", "N", "with `--range`: points to choose from; default 64", NULL },
  { OPT_HOLDOUT, 0, "holdout", "N",
    "with `--range`: points to judge the choice by; default 0", NULL },
  { 'e', 'e', "entry", "NAME",
    "only this entry point; default: all that the tests have data for, and with `--data` or "
    "`--range` `main`, or the only one", NULL },
  { 'e', 0, "entry-point", "NAME", NULL, NULL },
  { 'o', 'o', "output", "FILE", "instead of `FILE.tuning`", NULL },
  { OPT_BUDGET, 0, "budget", "SECONDS", "for all measurements; default 60", NULL },
  { OPT_TIMEOUT, 0, "timeout", "SECONDS", "the least that a run is given; default 5", NULL },
  { OPT_OBJECTIVE, 0, "objective", "WHAT",
    "what is to be small: `sum` (default), `geomean` or `max-regret`", "sum geomean max-regret" },
  { OPT_DEVICE, 0, "device", "NAME", "the OpenCL device", NULL },
  { OPT_SEED, 0, "seed", "N", "of random inputs and of the choice of points", NULL },
  { OPT_REPORT, 0, "report", "FILE", "write an HTML page about the result", NULL },
  { OPT_LOG, 0, "log", "FILE", "where runs are kept; default `FILE.tunelog`", NULL },
  { OPT_NO_LOG, 0, "no-log", NULL, "keep no runs", NULL },
  { OPT_NO_REPLAY, 0, "no-replay", NULL,
    "force versions in whole runs, one after the other, instead of racing them within "
    "a run", NULL },
  { OPT_NO_SIZES, 0, "no-sizes", NULL,
    "choose thresholds only, no group sizes and the like", NULL },
  { OPT_DRY, 0, "dry-run", NULL, "write no tuning file", NULL },
  { 'q', 'q', "quiet", NULL, "no progress line", NULL },
  { OPT_EXPLAIN, 0, "explain", NULL,
    "print why the settings of the tuning file were chosen", NULL },
  { OPT_CHECK, 0, "check", NULL,
    "whether the tuning file belongs to this program; exit status 2 if not", NULL },
  { OPT_PROGRAM, 0, "program", "COMMAND",
    "tune this running server instead of building FILE", NULL },
  { OPT_PASS, 0, "pass-option", "OPTION", "an option of the program; may be repeated", NULL },
  { OPT_SHORT, 0, "short", "US", NULL, NULL },
  { OPT_TUNING, 0, "tuning", "ENDING", NULL, NULL },
  MPI_OPTION,
  WORKERS_OPTION,
  MIXED_OPTION,
  REPRODUCIBLE_OPTION,
  { OPTION_OF_FUTHARK, 0, "runs", "N", NULL, NULL },
  { OPTION_OF_FUTHARK, 0, "skip-compilation", NULL, NULL, NULL },
  FUTHARK_OPTIONS,
  OPTIONS_END
};
// clang-format on

// ---- options

static bool read_number(const char *text, double least, double *out) {
  char *rest = NULL;
  *out = strtod(text, &rest);
  if (rest > text && *rest == 's') rest++;
  return rest > text && *rest == '\0' && *out >= least && *out < 1e9;
}

static bool read_objective(const char *text, SolveObjective *out) {
  static const char *const names[] = {
    [SOLVE_SUM] = "sum", [SOLVE_GEOMEAN] = "geomean", [SOLVE_MAX_REGRET] = "max-regret"
  };
  for (int i = 0; i < 3; i++)
    if (strcmp(names[i], text) == 0) {
      *out = (SolveObjective)i;
      return true;
    }
  return false;
}

// Options with a number; false if it is none of them or no number.
static bool apply_number(Options *o, int option, const char *arg) {
  double x = 0;
  if (!read_number(arg, 0, &x)) return false;
  switch (option) {
  case OPT_POINTS: o->tuner.max_points = (int)x; return x >= 2 && x <= 5000;
  case OPT_HOLDOUT: o->tuner.holdout = (int)x; return x <= 5000;
  case OPT_BUDGET: o->tuner.budget_s = x; return true;
  case OPT_TIMEOUT: o->tuner.timeout_s = x; return x > 0;
  case OPT_SEED: o->tuner.seed = (uint64_t)x; return true;
  case OPT_SHORT: o->tuner.short_us = x; return true;
  default: return false;
  }
}

static bool apply(Options *o, int option, const char *arg) {
  switch (option) {
  case OPT_DATA: vec_push(&o->data, arg); return true;
  case OPT_RANGE:
    o->range = o->range ? text_format("%s,%s", o->range, arg) : arg;
    return true;
  case OPT_GEN: o->gen = arg; return true;
  case OPT_OBJECTIVE: return read_objective(arg, &o->tuner.objective);
  case OPT_DEVICE: o->device = arg; return true;
  case OPT_REPORT: o->tuner.report_path = arg; return true;
  case OPT_LOG: o->log = arg; return true;
  case OPT_NO_LOG: o->no_log = true; return true;
  case OPT_DRY: o->tuner.dry_run = true; return true;
  case OPT_NO_REPLAY: o->tuner.no_replay = true; return true;
  case OPT_NO_SIZES: o->tuner.no_sizes = true; return true;
  case OPT_EXPLAIN: o->explain = true; return true;
  case OPT_CHECK: o->check = true; return true;
  case OPT_PROGRAM: o->command = arg; return true;
  case 'e': o->tuner.entry = arg; return true;
  case 'o': o->output = arg; return true;
  case OPT_TUNING: o->ending = arg; return true;
  case OPT_PASS: vec_push(&o->passed, arg); return true;
  case OPTION_MPI: mpi_allow_many(); return mpi_read_count(arg, &o->processes);
  case OPTION_WORKERS: return mpi_read_count(arg, &o->workers);
  case OPTION_MIXED: o->mixed = true; return true;
  case OPTION_REPRODUCIBLE: o->reproducible = true; return true;
  case 'q': o->tuner.quiet = true; return true;
  default: return apply_number(o, option, arg);
  }
}

// ---- the file that is there

static const char *header_value(const char *file, const char *key) {
  const char *head = text_format("\n-- %s: ", key);
  const char *at = strstr(text_format("\n%s", file), head);
  if (!at) return NULL;
  at += strlen(head);
  return text_format("%.*s", (int)strcspn(at, "\n"), at);
}

static int explain(Compiler *c, const char *path) {
  size_t length = 0;
  const char *file = text_read_file(path, &length);
  if (!file) return command_usage_error(c, "cannot read %s: %s", path, strerror(errno));
  for (const char *at = file; *at;) {
    int line = (int)strcspn(at, "\n");
    bool comment = at[0] == '-' && at[1] == '-';
    printf("%.*s\n", comment ? line - 3 : line,
           comment ? at + (line > 2 ? 3 : line) : at);
    at += line + (at[line] == '\n');
  }
  return 0;
}

static int check(Compiler *c, const char *path, const char *hash) {
  size_t length = 0;
  const char *file = text_read_file(path, &length);
  if (!file) return command_usage_error(c, "cannot read %s: %s", path, strerror(errno));
  const char *of = header_value(file, "program-hash");
  bool fresh = of && strcmp(of, hash) == 0;
  printf("%s: %s\n", path,
         fresh ? "up to date"
         : of  ? "stale: made for another version of the program; its names that still "
                 "exist are used"
               : "unknown: it does not say which program it is for");
  return fresh ? 0 : 2;
}

// ---- the program

// After errors that were reported.
static int fail_quietly(Compiler *c) {
  diag_flush(c);
  return 1;
}

typedef struct Built {
  const char *executable, *hash;
  EmitResult made;
  const Core *core;
} Built;

// What changes the code changes the hash; where it was compiled does not.
static bool translate(Compiler *c, const Options *o, const char *scratch, Built *out) {
  EmitResult result;
  Program *program = program_read(c, o->path);
  CompileOptions how = { .untuned = true,
                         .other_recipes = !o->tuner.no_sizes,
                         .flatten = default_flatten_options() };
  if (o->workers) how.flatten.workers = WORKERS_THREADS;
  if (o->processes) how.flatten.workers = WORKERS_MPI;
  how.flatten.mixed = o->mixed;
  how.flatten.reproducible = o->reproducible;
  if (!program || !compile_program_to_c(c, program, how, &result)) return false;
  const char *text = text_str(result.c);
  out->hash = hash_of(text, strlen(text));
  out->core = program->core;
  out->made = result;
  out->executable = text_format("%s/program", scratch);
  return true;
}

// The words of a command, or of the executable with what it needs to serve.
static const char *const *server_words(const Options *o, const Built *built) {
  const char **words = new_array(const char *, 64 + o->passed.count);
  int count = 0;
  if (o->command) {
    char *copy = mem_copy(o->command, strlen(o->command) + 1), *rest = NULL;
    for (char *w = strtok_r(copy, " ", &rest); w && count < 60;
         w = strtok_r(NULL, " ", &rest))
      words[count++] = w;
    return words;
  }
  if (o->processes) count = mpi_words(o->processes, words);
  words[count++] = built->executable;
  words[count++] = "--server";
  if (o->device) words[count++] = "--device", words[count++] = o->device;
  if (o->backend) words[count++] = "--backend", words[count++] = o->backend;
  if (o->workers) words[count++] = text_format("--workers=%d", o->workers);
  vec_each (const char *const *, option, &o->passed)
    words[count++] = *option;
  return words;
}

// ---- tuning

// The inputs of the options; whether there are any in the tests is for the caller to see.
static bool find_inputs(TuneInputs *in, const Options *o, DatasetVec *data) {
  if (o->gen && !o->range) return tune_fail(in, "--gen needs sizes: --range n=1:1000");
  if (o->range && o->data.count)
    return tune_fail(in, "--range and --data exclude each other");
  if (o->range)
    return tune_ranges(in, o->range) &&
           (!o->gen || tune_generator(in, o->gen, o->device)) && tune_ranges_complete(in);
  vec_each (const char *const *, text, &o->data)
    if (!tune_data_file(in, *text, data)) return false;
  return o->data.count || !in->about || tune_data_tests(in, data);
}

// An entry point and what it is measured on.
typedef struct TuneGoal {
  TuneInputs in;
  DatasetVec data;
} TuneGoal;
typedef Vec(TuneGoal) TuneGoalVec;

// Adds the entry point if it has inputs; false after an error.
static bool add_goal(Compiler *c, const Options *o, const char *scratch,
                     const Entry *about, const char *name, TuneGoalVec *goals) {
  TuneGoal goal = { .in = { .c = c,
                            .path = o->path,
                            .scratch = scratch,
                            .seed = o->tuner.seed,
                            .about = about,
                            .entry = name } };
  if (!find_inputs(&goal.in, o, &goal.data)) return false;
  if (goal.data.count || goal.in.ranges.count) vec_push(goals, goal);
  return true;
}

// The entry points to tune: the one that is named, or that the inputs of the options are for, or
// all that have inputs in the tests.  False after an error.
static bool find_goals(Compiler *c, const Options *o, const char *scratch,
                       const Core *core, TuneGoalVec *goals) {
  bool one = !core || o->tuner.entry || o->range || o->gen || o->data.count ||
             !core->entry_count;
  const Entry *about = core && one ? command_entry(c, core, o->tuner.entry) : NULL;
  if (core && one && !about) return false;
  const char *name = about ? about->name : o->tuner.entry ? o->tuner.entry : "main";
  if (one && !add_goal(c, o, scratch, about, name, goals)) return false;
  for (int i = 0; !one && i < core->entry_count; i++)
    if (!add_goal(c, o, scratch, core->entries[i], core->entries[i]->name, goals))
      return false;
  if (goals->count) return true;
  error(c, (Loc){ 0 }, "%s has no data sets for tuning", o->path);
  hint(c, "name some with --data FILE, or sizes with --range n=1:1000");
  return false;
}

static int report(Compiler *c, const Options *o, const Tuning *t) {
  if (t->problem_text) {
    error(c, (Loc){ 0 }, "%s", t->problem_text);
    diag_flush(c);
    return 1;
  }
  fputs(settings_summary(t), stdout);
  if (!o->tuner.dry_run)
    printf("%s %s\n", t->kept_file ? "too little was measured to change" : "wrote",
           o->tuner.out_path);
  if (!t->left_out) return 0;
  warning(c, (Loc){ 0 }, "%s:\n%s", settings_left_out(t), settings_failures(t));
  diag_flush(c);
  return 2;
}

// Pages of several entry points: `page.html` is `page.ENTRY.html`.
static const char *page_of(const char *path, const char *entry) {
  const char *slash = strrchr(path, '/'), *dot = strrchr(slash ? slash : path, '.');
  size_t stem = dot ? (size_t)(dot - path) : strlen(path);
  return text_format("%.*s.%s%s", (int)stem, path, entry, path + stem);
}

static Tuning *tune_goal(const Options *o, TuneGoal *goal, bool alone) {
  TunerOptions tuner = o->tuner;
  TuneInputs *in = &goal->in;
  tuner.entry = in->entry;
  tuner.data = goal->data.at;
  tuner.dataset_count = goal->data.count;
  tuner.ranges = in->ranges.at;
  tuner.range_count = in->ranges.count;
  if (!in->ranges.count) tuner.max_points = tuner.holdout = 0;
  tuner.make = tune_data_make;
  tuner.allowed = in->constraints.count ? tune_allowed : NULL;
  tuner.compare = in->about ? tune_data_compare : NULL;
  tuner.make_state = in;
  tuner.compare_state = in;
  if (tuner.report_path && !alone)
    tuner.report_path = page_of(tuner.report_path, in->entry);
  return tuner_run(mem_copy(&tuner, sizeof tuner));
}

// One entry point after the other, each with its part of the time that is left.
static int tune_goals(Compiler *c, Options *o, const TuneGoalVec *goals) {
  double budget = o->tuner.budget_s, started = child_now();
  Tuning **results = new_array(Tuning *, goals->count + 1);
  int status = 0;
  bool interrupted = false;
  o->tuner.shares = goals->count > 1;
  for (int i = 0; i < goals->count && !interrupted; i++) {
    TuneGoal *goal = &goals->at[i];
    double left = budget - (child_now() - started);
    o->tuner.budget_s = fmax(left, 0) / (goals->count - i);
    o->tuner.number = i;
    Tuning *result = results[i] = tune_goal(o, goal, goals->count == 1);
    diag_flush(c);
    if (goal->in.generator.server.pid) child_stop(&goal->in.generator.server);
    if (goals->count > 1) printf("%sentry point %s\n", i ? "\n" : "", goal->in.entry);
    int said = report(c, o, result);
    status = status == 1 || said == 1 ? 1 : status ? status : said;
    interrupted = result->m->interrupted;
    fflush(stdout);
  }
  if (interrupted || !o->tuner.shares) return status;
  const char *shared = shared_choose(results, goals->count);
  if (*shared) printf("\nall entry points\n%s", shared);
  return status;
}

static int tune_in(Compiler *c, Options *o, const char *scratch) {
  Built built = { .hash = "none" };
  TuneGoalVec goals = { 0 };
  if (!o->command && !translate(c, o, scratch, &built)) return fail_quietly(c);
  if (o->command) built.hash = hash_of(o->command, strlen(o->command));
  bool found = find_goals(c, o, scratch, built.core, &goals) &&
               (o->command || compile_executable(c, &built.made, built.executable));
  diag_flush(c);
  if (!found) return 1;
  o->tuner.argv = server_words(o, &built);
  o->tuner.program = o->path;
  o->tuner.hash = built.hash;
  o->tuner.scratch = scratch;
  return tune_goals(c, o, &goals);
}

typedef struct TuneWork {
  Compiler *c;
  Options *options;
} TuneWork;

static int tune_work(void *state, const char *folder) {
  TuneWork *work = state;
  return tune_in(work->c, work->options, folder);
}

static int tune(Compiler *c, Options *o) {
  const char *outputs[] = { o->tuner.dry_run ? NULL : o->tuner.out_path,
                            o->tuner.report_path };
  if (!command_spares_programs(c, &o->tuner.log_path, 1)) return 1;
  if (!command_outputs(c, outputs, 2)) return 1;
  return scratch_run(c, tune_work, &(TuneWork){ c, o });
}

static int refuse_value(Compiler *c, int id) {
  const Option *o = option_rows;
  while (o->name && o->id != id)
    o++;
  return command_usage_error(c, "flc tune: unexpected value %s of option --%s%s%s",
                             optarg, o->name ? o->name : "",
                             o->values ? ", which takes one of: " : "",
                             o->values ? o->values : "");
}

static int command_tune(Compiler *c, int argc, char **argv) {
  Options o = { .tuner = { .budget_s = 60,
                           .timeout_s = 5,
                           .short_us = 50e3,
                           .max_points = 64,
                           .seed = 1 } };
  OptionReader r = options_begin(c, &tune_command, argc, argv);
  for (int option; (option = options_next(&r));)
    if (!futhark_option(c, &tune_command, option, &o.backend) &&
        !apply(&o, option, optarg ? optarg : ""))
      return refuse_value(c, option);
  if (r.over) return r.status;
  if (optind != argc - 1)
    return command_usage_error(c, "flc tune: expected one file name");
  o.path = argv[optind];
  o.tuner.out_path =
      o.output ? o.output : text_format("%s.%s", o.path, o.ending ? o.ending : "tuning");
  o.tuner.log_path = o.no_log ? NULL : o.log ? o.log : text_format("%s.tunelog", o.path);
  if (o.explain) return explain(c, o.tuner.out_path);
  if (!o.check) return tune(c, &o);
  Built built;
  if (!translate(c, &o, "", &built)) return fail_quietly(c);
  return check(c, o.tuner.out_path, built.hash);
}

const Command tune_command = {
  .name = "tune",
  .summary = "finds the thresholds that choose between versions",
  .usage = "FILE [OPTIONS]\n"
           "FILE --explain\n"
           "FILE --check",
  .about =
      "Measures the code versions of a program and writes the best thresholds to "
      "`FILE.tuning`, which `flc run` and `flc bench` then use.  The data sets are "
      "those of the test blocks, without the cases that are tagged `notune`.  Data sets "
      "on which "
      "the program fails, whatever the version, are left out; the exit status is 2 then.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_tune,
};
