// flc profile FILE: where the time of a run goes.
//
// The program is compiled as `flc run` does it and run with a trace (runtime/trace.h): two runs to
// warm up, then those that count.
#include "commands/profile/profile.h"
#include "base/file.h"
#include "base/process.h"
#include "commands/scratch.h"
#include "commands/version_options.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { OPT_JSON = 512 };

// clang-format off
static const Option option_rows[] = {
  { 'e', 'e', "entry", "ENTRY", "the entry point; default `main`, or the only one", NULL },
  { 'e', 0, "entry-point", "ENTRY", NULL, NULL },
  { 'i', 'i', "input", "FILE", "run it on the values in this file (`-`: standard input)", NULL },
  { 'd', 'd', "dataset", "NAME",
    "run it on this case of its test blocks, by its name or number (`#0`); default: the case "
    "with the most data", NULL },
  { 'r', 'r', "runs", "N", "runs that count; default 10", NULL },
  { 'o', 'o', "output", "OUT",
    "write [a page](profiling.md#a-page) of HTML (`-`: to standard output, instead of the "
    "table)", NULL },
  { OPT_JSON, 0, "json", "OUT",
    "write [all figures](profiling.md#json) to a file (`-`: to standard output, instead of the "
    "table)", NULL },
  FLATTEN_OPTIONS,
  RECIPE_OPTION,
  OPTIONS_END
};
// clang-format on

typedef struct ProfileCommand {
  Compiler *c;
  const char *path, *entry, *json, *page, *recipe;
  TraceInput input;
  int runs;
  FlattenOptions flatten;
  char **program_options;
  int program_option_count;
} ProfileCommand;

// ---- the runs

typedef struct Traced {
  const char *executable, *entry;
  const char *input, *trace, *log;  // files
  int status;                       // a file that says what the program is at
} Traced;

static void show_run(void *state) {
  const Traced *run = state;
  const char *status = command_status(run->status);
  command_progress("%s%s%s", run->entry, *status ? ": " : " ...", status);
}

static const char **program_words(const ProfileCommand *p, const Traced *run) {
  const char **words = new_array(const char *, p->program_option_count + 16);
  const char *const own[] = {
    run->executable, "-e",      run->entry, "-n", "-r", text_format("%d", p->runs),
    "--trace",       run->trace
  };
  int count = 0;
  for (size_t i = 0; i < sizeof own / sizeof *own; i++)
    words[count++] = own[i];
  const char *tuning = text_format("%s.tuning", p->path);
  if (access(tuning, R_OK) == 0) {
    words[count++] = "--tuning";
    words[count++] = tuning;
  }
  for (int i = 0; i < p->program_option_count; i++)
    words[count++] = p->program_options[i];
  return words;
}

// The status of waitpid, or -1.
static int start_traced(const ProfileCommand *p, Traced *run) {
  int in = open(run->input, O_RDONLY | O_CLOEXEC),
      log = open(run->log, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600), status = -1;
  const Process process = {
    .argv = program_words(p, run), .in = in, .out = log, .tick = { show_run, run }
  };
  if (in >= 0 && log >= 0) status = process_run(&process);
  if (in >= 0) close(in);
  if (log >= 0) close(log);
  command_progress("%s", "");
  return status;
}

// What a program that failed has said: a message as flc's own, with or without a place.
static bool report_program(Compiler *c, int status, const char *said) {
  diag_flush(c);
  if (*said)
    fputs(said, stderr);
  else if (status < 0)
    error(c, (Loc){ 0 }, "cannot start the program: %s", strerror(errno));
  else
    error(c, (Loc){ 0 }, "the program died");
  return false;
}

static bool trace_program(const ProfileCommand *p, Traced *run, Trace *out) {
  size_t length;
  int status = start_traced(p, run);
  const char *said = text_read_file(run->log, &length);
  if (status < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return report_program(p->c, status, said ? said : "");
  const char *text = text_read_file(run->trace, &length);
  if (text && trace_read(text, out)) return true;
  error(p->c, (Loc){ 0 }, "the program wrote no trace");
  return false;
}

// ---- the command

static bool write_output(Compiler *c, const char *path, const Text *t) {
  if (file_write(path, t)) return true;
  error(c, (Loc){ 0 }, "cannot write %s: %s", path, strerror(errno));
  return false;
}

static bool is_standard_output(const char *path) {
  return path && strcmp(path, "-") == 0;
}

static bool write_outputs(const ProfileCommand *p, const Trace *trace) {
  Text *json = text_new(), *page = text_new(), *table = text_new();
  if (p->json) trace_json(json, trace);
  if (p->json && !write_output(p->c, p->json, json)) return false;
  if (p->page) trace_page(page, trace);
  if (p->page && !write_output(p->c, p->page, page)) return false;
  if (is_standard_output(p->json) || is_standard_output(p->page)) return true;
  trace_print(table, trace);
  return fputs(text_str(table), stdout) != EOF;
}

static bool profile_program(ProfileCommand *p, const char *folder) {
  Compiler *c = p->c;
  Program *program = program_read(c, p->path);
  if (!program || !take_recipes(c, program, p->recipe)) return false;
  program->flatten = p->flatten;
  if (!pipeline_run(c, program, "imp") || diag_error_count(c)) return false;
  const Entry *entry = command_entry(c, program->core, p->entry);
  if (!entry) return false;
  Traced run = { .entry = entry->name,
                 .input = text_format("%s/input", folder),
                 .trace = text_format("%s/trace", folder),
                 .log = text_format("%s/log", folder),
                 .status = command_status_file() };
  Trace trace = { 0 };
  if (!trace_write_input(c, program, entry, p->input, run.input, &trace)) return false;
  run.executable = compile_program(c, program, (CompileOptions){ .flatten = p->flatten });
  if (!run.executable || !trace_program(p, &run, &trace)) return false;
  trace_join(c, program, entry, &trace);
  trace_read_costs(&trace, text_format("%s.tunelog", p->path));
  return write_outputs(p, &trace);
}

static int profile_in(void *state, const char *folder) {
  ProfileCommand *p = state;
  bool ok = profile_program(p, folder);
  return diag_ok(p->c) && ok ? 0 : 1;
}

static bool set_profile_option(ProfileCommand *p, int option) {
  char *end = NULL;
  long number = 0;
  switch (option) {
  case 'e': p->entry = optarg; return true;
  case 'i': p->input.path = optarg; return true;
  case 'd': p->input.dataset = optarg; return true;
  case 'o': p->page = optarg; return true;
  case OPT_JSON: p->json = optarg; return true;
  case OPTION_RECIPE: p->recipe = optarg; return true;
  case 'r':
    number = strtol(optarg, &end, 10);
    p->runs = (int)number;
    return end != optarg && !*end && number >= 1 && number <= 1000000;
  }
  return true;
}

static int command_profile(Compiler *c, int argc, char **argv) {
  ProfileCommand p = { .c = c, .runs = 10, .flatten = default_flatten_options() };
  int own = 1;  // arguments before "--"
  while (own < argc && strcmp(argv[own], "--") != 0)
    own++;
  p.program_options = argv + own + 1;
  p.program_option_count = own < argc ? argc - own - 1 : 0;
  OptionReader r = options_begin(c, &profile_command, own, argv);
  for (int o; (o = options_next(&r));) {
    if (!set_profile_option(&p, o))
      return command_usage_error(
          c, "flc profile: -r wants a number of runs from 1 to 1000000, found %s",
          optarg);
    const char *message = set_flatten_option(&p.flatten, o);
    if (message) return command_usage_error(c, "flc profile: %s", message);
  }
  if (r.over) return r.status;
  if (optind != own - 1)
    return command_usage_error(c, "flc profile: expected one file name");
  if (p.input.path && p.input.dataset)
    return command_usage_error(c,
                               "flc profile: --input and --dataset exclude each other");
  if (is_standard_output(p.json) && is_standard_output(p.page))
    return command_usage_error(
        c, "flc profile: --json and --output cannot both go to standard output");
  p.path = argv[optind];
  const char *outputs[] = { p.json, p.page };
  return command_outputs(c, outputs, 2) ? scratch_run(c, profile_in, &p) : 1;
}

const Command profile_command = {
  .name = "profile",
  .summary = "shows where the time of a run goes",
  .usage = "[OPTIONS] FILE [-- OPTIONS OF THE PROGRAM]",
  .about =
      "Runs an entry point and shows what its kernels, its transfers and the host took, "
      "which [versions](profiling.md) ran, and how close the kernels came to a copy of "
      "as many "
      "bytes.  The data are those of a case in its test blocks (the one with the most "
      "data), of "
      "`--input`, or of standard input if there are no cases.  A tuning file beside the "
      "program "
      "(`FILE.tuning`) is used.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_profile,
};
