// flc run FILE: builds the program, once per source and compiler, and runs it.
#include "commands/mpi.h"
#include "commands/version_options.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// clang-format off
static const Option option_rows[] = {
  FLATTEN_OPTIONS,
  RECIPE_OPTION,
  { 0, 0, "mpi", "N", "as N processes of an MPI job ([machines.md](machines.md))", NULL },
  { 0, 0, "workers", "N", "on N parts of the device, or of each of `-d '#0,#1'`", NULL },
  MIXED_OPTION,
  OPTIONS_END
};
// clang-format on

typedef struct RunCommand {
  const char *path, *recipe;
  FlattenOptions flatten;
  char **rest;  // the options of the program
  int count;
  int processes;        // of an MPI job; 0: none
  const char *workers;  // the program's option; or NULL
} RunCommand;

// The tuning that lies beside the source belongs to the program.
static char **arguments(const RunCommand *r) {
  char **args = new_array(char *, r->count + 5);
  const char *tuning = text_format("%s.tuning", r->path);
  int count = 0;
  args[count++] = mem_copy(r->path, strlen(r->path) + 1);
  if (r->workers) args[count++] = mem_copy(r->workers, strlen(r->workers) + 1);
  if (access(tuning, R_OK) == 0) {
    args[count++] = mem_copy("--tuning", sizeof "--tuning");
    args[count++] = mem_copy(tuning, strlen(tuning) + 1);
  }
  for (int i = 0; i < r->count; i++)
    args[count++] = r->rest[i];
  return args;
}

// Becomes the processes of an MPI job; returns if that fails.
static void exec_mpi(int processes, const char *program, char **args) {
  const char *words[MPI_MOST_WORDS];
  int count = mpi_words(processes, words), rest = 0;
  while (args[rest])
    rest++;
  char **all = new_array(char *, count + rest + 1);
  for (int i = 0; i < count; i++)
    all[i] = mem_copy(words[i], strlen(words[i]) + 1);
  all[count] = mem_copy(program, strlen(program) + 1);
  for (int i = 1; i < rest; i++)
    all[count + i] = args[i];
  mpi_allow_many();
  execvp(all[0], all);
}

static int run_file(Compiler *c, const RunCommand *r) {
  Program *source = program_read(c, r->path);
  const CompileOptions options = { .flatten = r->flatten, .recipe = r->recipe };
  const char *program = source ? compile_program(c, source, options) : NULL;
  diag_flush(c);
  if (!program) return 1;
  char **args = arguments(r);
  if (r->processes)
    exec_mpi(r->processes, program, args);
  else
    execv(program, args);
  return command_usage_error(c, "cannot run %s: %s", r->processes ? "mpirun" : program,
                             strerror(errno));
}

// The value of `name` at argv[*at], which may be the next word; NULL if something else
// stands there, "" if it has none.
static const char *value_of(const char *name, int argc, char **argv, int *at) {
  size_t length = strlen(name);
  if (!argv[*at] || strncmp(argv[*at], name, length) != 0) return NULL;
  if (argv[*at][length] == '=') return argv[*at] + length + 1;
  if (argv[*at][length] != '\0') return NULL;
  return *at + 1 < argc ? argv[++*at] : "";
}

// --mpi and --workers, which is an option of the program as well; or what is the program's.
static const char *take_workers(RunCommand *r, int argc, char **argv, int *at) {
  const char *mpi = value_of("--mpi", argc, argv, at);
  const char *workers = mpi ? NULL : value_of("--workers", argc, argv, at);
  int count = 0;
  if (mpi && !*mpi) return "--mpi needs an argument";
  if (workers && !*workers) return "--workers needs an argument";
  if (mpi) r->flatten.workers = WORKERS_MPI;
  if (mpi && !mpi_read_count(mpi, &r->processes))
    return text_format("expected a number of processes, found %s", mpi);
  if (workers) r->flatten.workers = WORKERS_THREADS;
  if (workers && !mpi_read_count(workers, &count))
    return text_format("expected a number of workers, found %s", workers);
  if (workers) r->workers = text_format("--workers=%d", count);
  if (r->processes && r->workers) return "either --mpi or --workers";
  if (!mpi && !workers) r->rest[r->count++] = argv[*at];
  return NULL;
}

// Takes the option at argv[*at] if it is flc's own, wherever it stands; NULL, or what is
// wrong with it.
static const char *take_option(RunCommand *r, int argc, char **argv, int *at) {
  const char *mode = value_of("--flatten", argc, argv, at);
  if (mode && !*mode) return "--flatten needs an argument";
  if (mode) return set_flatten_mode(&r->flatten, mode);
  const char *most = value_of("--max-versions", argc, argv, at);
  if (most && !*most) return "--max-versions needs an argument";
  if (most) return set_max_versions(&r->flatten, most);
  r->flatten.mixed |= strcmp(argv[*at], "--mixed") == 0;
  if (strcmp(argv[*at], "--mixed") == 0) return NULL;
  r->flatten.reproducible |= strcmp(argv[*at], "--reproducible") == 0;
  if (strcmp(argv[*at], "--reproducible") == 0) return NULL;
  const char *recipe = value_of("--recipe", argc, argv, at);
  if (recipe && !*recipe) return "--recipe needs an argument";
  if (recipe) r->recipe = recipe;
  return recipe ? NULL : take_workers(r, argc, argv, at);
}

static int command_run(Compiler *c, int argc, char **argv) {
  RunCommand r = { .flatten = default_flatten_options(),
                   .rest = new_array(char *, argc + 1) };
  if (argc > 1 && (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0))
    return options_print_help(&run_command);
  for (int at = 1; at < argc; at++) {
    const char *message = take_option(&r, argc, argv, &at);
    if (message) return command_usage_error(c, "flc run: %s", message);
  }
  bool dashes = r.count > 0 && strcmp(r.rest[0], "--") == 0;
  r.rest += dashes;
  r.count -= dashes;
  if (r.count == 0 || (!dashes && r.rest[0][0] == '-'))
    return command_usage_error(c, "flc run: expected a file name first");
  if (!*r.rest[0]) return command_usage_error(c, "flc run: a file name is empty");
  r.path = *r.rest++;
  r.count--;
  dashes =
      r.count > 0 && strcmp(r.rest[0], "--") == 0;  // as of flc bench and flc profile
  r.rest += dashes;
  r.count -= dashes;
  return run_file(c, &r);
}

const Command run_command = {
  .name = "run",
  .summary = "compiles and runs a program",
  .usage = "[OPTIONS] FILE [OPTIONS OF THE PROGRAM] < VALUES",
  .about =
      "Compiles a program, keeps the executable in a cache (`$XDG_CACHE_HOME/flc` or "
      "`~/.cache/flc`) and runs it with the options after `FILE`: `-e ENTRY`, `-b`, "
      "`-r RUNS` and so on (`flc run FILE --help` lists them).  A tuning file beside "
      "the program (`FILE.tuning`) is used.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_run,
};
