// The tests of one program: every case at every stage, and in Flat in every version.
//
// Note [Versions].  A run follows one path through the guards.  The first run takes every first
// branch, and each guard met on the way schedules a run with the same outcomes before it and the
// other branch there: so each path is run once.  Where there are too many, runs that take a branch
// for the first time come first, and the report says that it is a sample.
#include "commands/test/run.h"
#include "base/mem.h"
#include "commands/test/count.h"
#include "commands/test/device.h"
#include "commands/test/property.h"
#include "core/value/generate.h"
#include "kern/kern_interp.h"
#include <errno.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct Stage {
  const char *name;
  const Core *core;
  bool kernels;  // its seg-ops run as kernels
  Profile code;  // of these
} Stage;

typedef struct ProgramRun {
  Compiler *c;
  const char *path;
  const TestOptions *options;
  TestHost *host;
  const TestSpec *spec;
  TestReport *report;
  Vec(Stage) stages;
  const Core *first, *core;  // as elaborated; the last stage
  TestDevice *device;        // NULL: none, or it is not asked for
  double started;            // test_seconds
  RecipeBook *recipes;
  Map *runners;  // Entry -> KernRunner
} ProgramRun;

// ---- reporting

static void fail(ProgramRun *run, const char *where, const char *what) {
  run->report->failed++;
  text_printf(run->report->text, "%s%s%s: %s\n", run->path, *where ? ", " : "", where,
              what);
}

static void skip(ProgramRun *run, const char *where, const char *why) {
  run->report->skipped++;
  if (run->options->verbose)
    text_printf(run->report->text, "%s, %s: skipped: %s\n", run->path, where, why);
}

// NULL if the text matches, else what is wrong.
static const char *mismatch(const char *pattern, const char *text) {
  regex_t regex;
  int status = regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB | REG_ICASE);
  if (status != 0) {
    char message[200];
    regerror(status, &regex, message, sizeof message);
    return text_format("bad regular expression '%s': %s", pattern, message);
  }
  bool matches = regexec(&regex, text, 0, NULL, 0) == 0;
  regfree(&regex);
  return matches ? NULL
                 : text_format("expected a message that matches '%s', got:\n%s", pattern,
                               text);
}

// ---- values

// The expected results; NULL and a message if they are damaged.
static const Value **read_expected(ValueReader *reader, const Entry *entry,
                                   const char **message) {
  const Value **values = new_array(const Value *, entry->result_count + 1);
  for (int i = 0; i < entry->result_count; i++) {
    ValueType type = { entry->results[i].elem, entry->results[i].rank };
    values[i] = value_read(reader, &type, message);
    if (!values[i] && !*message)
      *message = text_format(
          "expected output: there are %d values, the entry point has %d results", i,
          entry->result_count);
    if (!values[i]) return NULL;
  }
  if (value_at_end(reader)) return values;
  *message = "expected output: there are more values than the entry point has results";
  return NULL;
}

static const char *compare_one(const TestSpec *spec, int i, const Value *got,
                               const Value *want) {
  static const double default_tolerance = 0.002;
  int count = spec->tolerances.count;
  if (!count) return value_compare(got, want, default_tolerance, false);
  return value_compare(got, want, spec->tolerances.at[i < count ? i : count - 1], true);
}

static const char *compare(const TestSpec *spec, const Value *const *got,
                           const Value *const *want, int count) {
  for (int i = 0; i < count; i++) {
    const char *text = compare_one(spec, i, got[i], want[i]);
    if (!text) continue;
    return count > 1 ? text_format("result %d: %s", i, text) : text;
  }
  return NULL;
}

// ---- versions

typedef struct ForcedChoice {
  const Exp *exp;
  int outcome;
} ForcedChoice;
typedef Vec(ForcedChoice) ForcedChoiceVec;

// The outcomes that a run is given, and those that it met, in order.
typedef struct GuardPath {
  ForcedChoiceVec forced, met;
} GuardPath;

static const ForcedChoice *find_choice(const ForcedChoiceVec *choices, const Exp *exp) {
  for (int i = 0; i < choices->count; i++)
    if (choices->at[i].exp == exp) return &choices->at[i];
  return NULL;
}

static int decide(void *state, const Exp *exp, int64_t par) {
  (void)par;
  GuardPath *path = state;
  const ForcedChoice *known = find_choice(&path->met, exp);
  if (known) return known->outcome;
  const ForcedChoice *forced = find_choice(&path->forced, exp);
  ForcedChoice choice = { exp, forced ? forced->outcome : 1 };
  vec_push(&path->met, choice);
  return choice.outcome;
}

typedef Vec(ForcedChoiceVec) PlannedRuns;

// Runs for the other branches of the guards that this run met for the first time.
static void schedule_others(PlannedRuns *schedule, const GuardPath *path) {
  for (int i = 0; i < path->met.count; i++) {
    if (find_choice(&path->forced, path->met.at[i].exp)) continue;
    ForcedChoiceVec forced = { 0 };
    for (int k = 0; k <= i; k++)
      vec_push(&forced, path->met.at[k]);
    forced.at[i].outcome = 0;
    vec_push(schedule, forced);
  }
}

static const char *path_text(const GuardPath *path) {
  Text *t = text_new();
  for (int i = 0; i < path->met.count; i++) {
    const Exp *exp = path->met.at[i].exp;
    const char *name = exp->kind == EXP_GUARD ? exp->u.guard.guard->name : "choose";
    text_printf(t, "%s%s=%d", i ? " " : " with ", name, path->met.at[i].outcome);
  }
  return text_str(t);
}

// ---- cases

// One case at one stage.
typedef struct CaseTrial {
  ProgramRun *run;
  const TestCase *test;
  const Stage *stage;
  const Entry *entry;
  const Value *const *inputs;
  const Value *const *want;  // NULL: what the first run will give
  bool gave_up;              // a run took too many steps and may do so
  int sampled;               // how many runs there were if there are more paths than that
} CaseTrial;

// Data sets for the benchmarks may be too much for the interpreter.
static bool may_take_long(const TestCase *test) {
  return test->input.source == TEST_FILE && test_is_published(test->input.text);
}

// NULL if a run's outcome is the expected one.
static const char *judge(void *state, const DeviceResult *result) {
  CaseTrial *t = state;
  bool wants_error = t->test->outcome.source == TEST_ERROR;
  if (!result->ok)
    return wants_error ? mismatch(t->test->outcome.text, result->message)
                       : result->message;
  if (wants_error)
    return text_format("expected an error that matches '%s', but it succeeded",
                       t->test->outcome.text);
  if (!t->want) t->want = result->values;
  return compare(t->run->spec, result->values, t->want, t->entry->result_count);
}

static const char *judge_interpreted(CaseTrial *t, const InterpResult *result) {
  DeviceResult seen = { result->ok, result->message, result->values };
  if (result->ok) return judge(t, &seen);
  if (strcmp(result->message, "step limit reached") == 0) {
    t->gave_up = may_take_long(t->test);
    return t->gave_up ? NULL : "it takes too many steps: an infinite loop?";
  }
  seen.message = text_format("%s: error: %s", loc_text(result->loc), result->message);
  return judge(t, &seen);
}

static bool is_covered(const ForcedChoiceVec *covered, ForcedChoice choice) {
  for (int i = 0; i < covered->count; i++)
    if (covered->at[i].exp == choice.exp && covered->at[i].outcome == choice.outcome)
      return true;
  return false;
}

// Puts a run that takes a branch which no run took so far at position `next`, if there is one.
static void choose_next(PlannedRuns *schedule, int next, const ForcedChoiceVec *covered) {
  for (int i = next; i < schedule->count; i++) {
    const ForcedChoiceVec *forced = &schedule->at[i];
    if (forced->count && is_covered(covered, forced->at[forced->count - 1])) continue;
    ForcedChoiceVec chosen = *forced;
    schedule->at[i] = schedule->at[next];
    schedule->at[next] = chosen;
    return;
  }
}

// Kernels are scheduled once for all runs of an entry point.
static KernRunner *runner_of(CaseTrial *t) {
  ProgramRun *run = t->run;
  KernRunner *known = map_get(run->runners, t->entry);
  if (known) return known;
  known = kern_runner(run->c, t->entry, run->recipes, t->stage->code);
  map_put(run->runners, t->entry, known);
  return known;
}

// Every path, up to a number; the message of the first run that is wrong, or NULL.
static const char *try_versions(CaseTrial *t) {
  const int most_runs = t->stage->kernels ? 12 : 64;
  PlannedRuns schedule = { 0 };
  ForcedChoiceVec covered = { 0 };
  vec_push(&schedule, (ForcedChoiceVec){ 0 });
  for (int i = 0; i < schedule.count && i < most_runs && !t->gave_up; i++) {
    choose_next(&schedule, i, &covered);
    GuardPath path = { .forced = schedule.at[i] };
    InterpOptions options = { .decide = decide,
                              .state = &path,
                              .max_steps = t->run->options->max_steps };
    if (t->stage->kernels) kern_run_segs(runner_of(t), &options);
    InterpResult result =
        interp_run(t->run->c, t->stage->core, t->entry, t->inputs, options);
    const char *message = judge_interpreted(t, &result);
    if (message) return text_format("%s%s", message, path_text(&path));
    schedule_others(&schedule, &path);
    for (int k = 0; k < path.met.count; k++)
      if (!is_covered(&covered, path.met.at[k])) vec_push(&covered, path.met.at[k]);
  }
  bool sampled = schedule.count > most_runs && !t->stage->kernels;
  t->sampled = sampled ? most_runs : 0;
  return NULL;
}

// A failure that the messages of the compiler explain.
static const char *take_messages(ProgramRun *run) {
  const char *text = diag_take_text(run->c);
  return *text ? text : "failed";
}

// Reads what the case needs; false if it failed or was skipped.
static bool prepare(CaseTrial *t, const char *where) {
  ProgramRun *run = t->run;
  const char *message = NULL;
  ValueReader *reader = test_open_values(run->path, t->entry, &t->test->input, &message);
  if (!reader && !message) skip(run, where, "its data are not here");
  if (message) fail(run, where, message);
  if (!reader) return false;
  t->inputs = command_read_inputs(run->c, t->entry, reader);
  if (!t->inputs) fail(run, where, take_messages(run));
  if (!t->inputs) return false;
  TestSource source = t->test->outcome.source;
  if (source != TEST_VALUES && source != TEST_FILE) return true;
  reader = test_open_values(run->path, t->entry, &t->test->outcome, &message);
  if (!reader && !message)
    return true;  // published, absent: the stages are compared with each other
  if (reader) t->want = read_expected(reader, t->entry, &message);
  if (message) fail(run, where, message);
  return message == NULL;
}

static const char *describe_case(const TestCase *test, const char *entry) {
  if (test->name)
    return text_format("entry %s, \"%s\" (line %d)", entry, test->name, test->line);
  if (test->input.source == TEST_FILE)
    return text_format("entry %s, %s (line %d)", entry, test->input.text, test->line);
  return text_format("entry %s, line %d", entry, test->line);
}

// NULL, or why the case is not to be run.
static const char *reason_to_skip(const ProgramRun *run, const TestCase *test) {
  if (test_has_tag(&test->tags, "disable")) return "disabled";
  if (test_has_tag(&test->tags, "notest")) return "tagged notest";
  const char *exclude = run->options->exclude;
  if (exclude && test_has_tag(&test->tags, exclude)) return "excluded";
  if (test_has_tag(&test->tags, "compiled") && !run->device)
    return "for compiled programs only";
  return NULL;
}

// What is wanted, if no stage gives it that runs anyway; false after a failure.
static bool wants_values(CaseTrial *t, const char *where) {
  const char *stage = t->run->options->stage;
  if (t->want || !stage || strcmp(stage, "device") == 0 || may_take_long(t->test))
    return true;
  Stage first = { "elaborate", t->run->first, false, PROFILE_CPU };
  t->stage = &first;
  t->entry = command_find_entry(first.core, t->entry->name);
  const char *message = try_versions(t);
  if (message) fail(t->run, text_format("%s, after elaborate", where), message);
  return !message;
}

// Every stage that the interpreter runs; false after a failure.
static bool try_stages(CaseTrial *t, const char *where) {
  if (test_has_tag(&t->test->tags, "compiled")) return true;
  if (!wants_values(t, where)) return false;
  for (int i = 0; i < t->run->stages.count && !t->gave_up; i++) {
    t->stage = &t->run->stages.at[i];
    t->entry = command_find_entry(t->stage->core, t->entry->name);
    const char *message = try_versions(t);
    if (t->sampled)
      text_printf(
          t->run->report->text,
          "%s, %s, after %s: more than %d paths through the versions: a sample was run\n",
          t->run->path, where, t->stage->name, t->sampled);
    if (!message) continue;
    fail(t->run, text_format("%s, after %s", where, t->stage->name), message);
    return false;
  }
  return true;
}

static bool try_device(CaseTrial *t, const char *where) {
  if (!t->run->device) return true;
  DeviceCase test = { .entry = t->entry,
                      .inputs = t->inputs,
                      .default_only =
                          may_take_long(t->test) && !t->run->options->all_versions,
                      .judge = judge,
                      .state = t };
  const char *message = test_device_case(t->run->device, &test);
  if (message) fail(t->run, text_format("%s, on the device", where), message);
  return message == NULL;
}

static void run_case(ProgramRun *run, const TestCase *test, const char *entry) {
  const char *where = describe_case(test, entry), *reason = reason_to_skip(run, test);
  CaseTrial t = { .run = run,
                  .test = test,
                  .entry = command_find_entry(run->core, entry) };
  if (reason) {
    skip(run, where, reason);
    return;
  }
  if (!t.entry) {
    fail(run, where, "the program has no such entry point");
    return;
  }
  if (!prepare(&t, where) || !try_stages(&t, where) || !try_device(&t, where)) return;
  if (t.gave_up && !run->device)
    skip(run, where, "too much for the interpreter (see --max-steps)");
  else
    run->report->passed++;
}

// ---- properties

enum { CANDIDATES = 100, EVERYWHERE = 20 };

// Some of the arguments are given to the property after each stage, in every version, and on the
// device.
static bool holds_everywhere(ProgramRun *run, const Property *p, const Value **inputs,
                             const char *where) {
  Value *yes = value_new(PRIM_BOOL, 0, NULL);
  value_set(yes, 0, prim_bool(true));
  const Value **want = new_array(const Value *, 1);
  want[0] = yes;
  const TestCase test = { .outcome = { .source = TEST_VALUES, .text = "true" } };
  CaseTrial t = {
    .run = run, .test = &test, .entry = p->entry, .inputs = inputs, .want = want
  };
  return try_stages(&t, where) && try_device(&t, where);
}

static bool try_candidate(ProgramRun *run, const Property *p, int number,
                          const char *where) {
  const char *message;
  const Value **inputs = property_candidate(run->c, p, number, &message);
  if (!inputs) fail(run, where, message);
  if (!inputs) return false;
  const char *failure = property_try(run->c, p, inputs);
  if (!failure) return number % EVERYWHERE || holds_everywhere(run, p, inputs, where);
  inputs = property_shrink(run->c, p, inputs, &failure);
  fail(run, where,
       text_format("%s for %s", failure, property_inputs_text(run->c, p, inputs)));
  return false;
}

static void run_property(ProgramRun *run, const Program *program,
                         const TestProperty *property) {
  const char *where = text_format("property %s, line %d", property->name, property->line);
  Property p = { .core = run->first,
                 .seed = run->options->seed,
                 .max_steps = run->options->max_steps };
  const char *problem = property_find(program, property->name, &p);
  if (problem) fail(run, where, problem);
  if (problem) return;
  for (int i = 0; i < CANDIDATES; i++)
    if (!try_candidate(run, &p, i, where)) return;
  run->report->passed++;
}

static void run_properties(ProgramRun *run, const Program *program) {
  vec_each (const TestProperty *, property, &run->spec->properties) {
    const char *only = run->options->entry;
    if (!only || strcmp(only, property->name) == 0) run_property(run, program, property);
  }
}

// ---- programs

static bool wants_stage(const ProgramRun *run, const char *stage) {
  return !run->options->stage || strcmp(run->options->stage, stage) == 0;
}

static void check_structure(ProgramRun *run, const TestStructure *structure,
                            const Core *core) {
  for (int i = 0; i < structure->nodes.count; i++) {
    const char *node = structure->nodes.at[i];
    int wanted = structure->counts.at[i], got = test_count_nodes(core, node);
    const char *where = text_format("structure %s", structure->stage);
    if (got < 0)
      fail(run, where, text_format("there is no kind of node '%s'", node));
    else if (got != wanted)
      fail(run, where, text_format("expected %d %s, got %d", wanted, node, got));
    else
      run->report->passed++;
  }
}

static void check_structures(ProgramRun *run, const char *stage, const Core *core) {
  // Programs say how they look when they are flattened incrementally.
  const FlattenOptions *flatten = &run->options->start.flatten;
  bool usual = flatten->mode == FLATTEN_INCREMENTAL && !flatten->workers;
  if (!usual && strcmp(stage, "flat") == 0) return;
  for (int i = 0; i < run->spec->structures.count; i++)
    if (strcmp(run->spec->structures.at[i].stage, stage) == 0)
      check_structure(run, &run->spec->structures.at[i], core);
}

// Runs the compiler up to a pass (NULL: the last) and keeps the program as a stage.
static bool add_stage(ProgramRun *run, Program *program, const char *name,
                      const char *pass) {
  if (!pipeline_run(run->c, program, pass)) return false;
  check_structures(run, name, program->core);
  Stage stage = { name, program->core, false, PROFILE_CPU };
  run->core = program->core;
  if (!run->first) run->first = program->core;
  if (wants_stage(run, name)) vec_push(&run->stages, stage);
  return true;
}

static bool compile(ProgramRun *run, Program *program) {
  if (!add_stage(run, program, "elaborate", "elaborate")) return false;
  if (!add_stage(run, program, "core", pipeline_last_pass(STAGE_CORE))) return false;
  if (!add_stage(run, program, "flat", NULL)) return false;
  if (run->options->stage && strcmp(run->options->stage, "gpu") == 0) {
    const Core *core = pipeline_for_gpus(run->c, program->core);
    vec_push(&run->stages, ((Stage){ "gpu", core, false, PROFILE_GPU }));
    vec_push(&run->stages, ((Stage){ "groups", core, true, PROFILE_GPU }));
    run->runners = map_new(NULL);
  }
  if (!wants_stage(run, "kern")) return true;
  Stage kernels = { "kern", pipeline_in_order(run->c, program), true, PROFILE_CPU };
  vec_push(&run->stages, kernels);
  run->runners = map_new(NULL);
  if (!pipeline_read_recipes(run->c, program)) return false;
  run->recipes = program->recipes;
  return true;
}

static void check_warnings(ProgramRun *run, const char *messages) {
  for (int i = 0; i < run->spec->warnings.count; i++) {
    const char *problem = mismatch(run->spec->warnings.at[i], messages);
    if (problem) fail(run, "warning", problem);
    if (!problem) run->report->passed++;
  }
}

// A program that must be refused.
static void check_refusal(ProgramRun *run, bool compiled) {
  const char *messages = diag_take_text(run->c);
  const char *problem = compiled ? "expected the program to be refused, but it compiles"
                                 : mismatch(run->spec->error, messages);
  if (problem) fail(run, "", problem);
  if (!problem) run->report->passed++;
}

static void run_cases(ProgramRun *run) {
  for (int i = 0; i < run->spec->cases.count; i++) {
    const TestCase *test = &run->spec->cases.at[i];
    for (int k = 0; k < test->entries.count; k++) {
      const char *only = run->options->entry;
      if (!only || strcmp(only, test->entries.at[k]) == 0)
        run_case(run, test, test->entries.at[k]);
    }
  }
}

// A program that cannot be built for the device has failed; its cases still run in the interpreter.
static void open_device(ProgramRun *run, Program *program) {
  const char *message = NULL;
  bool absent = false;
  if (run->options->no_device || test_has_tag(&run->spec->tags, "no_device")) return;
  if (!wants_stage(run, "device")) return;
  const TestOptions *o = run->options;
  double until = o->all_versions ? 0 : run->started + o->versions_s;
  const TestDeviceOptions how = { .all_versions = o->all_versions,
                                  .unoptimised = o->unoptimised,
                                  .until = until,
                                  .workers = o->workers,
                                  .start = &o->start,
                                  .host = run->host };
  run->device = test_device_open(run->c, program, how, &message, &absent);
  if (run->device) return;
  if (absent)
    skip(run, "device", "no OpenCL device found");
  else
    fail(run, "device", message);
}

static void compile_for_device(ProgramRun *run, Program *program) {
  bool kept_off = run->options->no_device || test_has_tag(&run->spec->tags, "no_device");
  if (kept_off) return;
  if (!test_device_build(run->c, program, &run->options->start))
    fail(run, "", diag_take_text(run->c));
}

static void close_device(ProgramRun *run) {
  int left_out = test_device_left_out(run->device);
  if (left_out)
    text_printf(run->report->text,
                "%s: %d runs of further versions on the device left out (see "
                "--all-versions)\n",
                run->path, left_out);
  test_device_close(run->device);
}

static void run_program(ProgramRun *run, Program *program) {
  bool compiled = run->options->depth == TEST_CHECK
                      ? pipeline_run(run->c, program, "elaborate")
                      : compile(run, program);
  if (run->options->depth == TEST_STRUCTURE) {
    if (!compiled && !run->spec->error) fail(run, "", diag_take_text(run->c));
    return;
  }
  if (run->spec->error) {
    check_refusal(run, compiled);
    return;
  }
  const char *messages = diag_take_text(run->c);
  if (!compiled) {
    fail(run, "", *messages ? messages : "it does not compile");
    return;
  }
  check_warnings(run, messages);
  if (run->options->depth == TEST_COMPILE) compile_for_device(run, program);
  bool tries = run->options->depth == TEST_RUN &&
               (run->spec->cases.count || run->spec->properties.count);
  if (!tries && run->report->failed == 0) run->report->passed++;
  if (!tries) return;
  open_device(run, program);
  if (run->stages.count || run->device) run_cases(run);
  if (run->stages.count || run->device) run_properties(run, program);
  if (run->device) close_device(run);
}

TestReport test_run_program(Compiler *c, const char *path, const TestOptions *options,
                            TestHost *host) {
  TestReport report = { .text = text_new() };
  ProgramRun run = {
    .c = c,
    .path = path,
    .options = options,
    .host = host,
    .report = &report,
    .started = test_seconds(),
  };
  Program *program = program_read(c, path);
  if (!program || !take_recipes(c, program, options->start.recipe)) {
    fail(&run, "", diag_take_text(c));
    return report;
  }
  program->flatten = options->start.flatten;
  TestSpec spec = test_spec_parse(program->file->text);
  run.spec = &spec;
  if (spec.message)
    fail(&run, "", spec.message);
  else if (test_has_tag(&spec.tags, "disable"))
    skip(&run, "program", "disabled");
  else if (spec.found)
    run_program(&run, program);
  return report;
}
