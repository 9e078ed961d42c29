#include "commands/program_start.h"
#include "base/process.h"
#include "commands/mpi.h"
#include <string.h>
#include <unistd.h>

ProgramStart program_start_default(void) {
  return (ProgramStart){ .tuning = "tuning", .flatten = default_flatten_options() };
}

CompileOptions program_start_compile(const ProgramStart *s) {
  return (CompileOptions){
    .untuned = !s->tuning, .tuning = s->tuning, .flatten = s->flatten, .recipe = s->recipe
  };
}

// The value of `--name=value`, or NULL.
static const char *passed_value(const char *option, const char *name) {
  size_t length = strlen(name);
  bool same = strncmp(option, name, length) == 0 && option[length] == '=';
  return same ? option + length + 1 : NULL;
}

static const char *pass_to_compiler(ProgramStart *s, const char *option) {
  const char *mode = passed_value(option, "--flatten");
  if (mode) return set_flatten_mode(&s->flatten, mode);
  const char *most = passed_value(option, "--max-versions");
  if (most) return set_max_versions(&s->flatten, most);
  const char *recipe = passed_value(option, "--recipe");
  if (recipe) s->recipe = recipe;
  return recipe ? NULL
                : text_format("--pass-compiler-option wants --flatten=MODE, "
                              "--max-versions=N or --recipe=FILE, not %s",
                              option);
}

static const char *set_runner(ProgramStart *s, const char *name) {
  s->runner = *name ? name : NULL;
  return !s->runner || process_find(name)
             ? NULL
             : text_format("cannot find the program %s of --runner", name);
}

bool program_start_option(ProgramStart *s, int option, const char **message) {
  *message = NULL;
  switch (option) {
  case OPTION_RUNNER: *message = set_runner(s, optarg); return true;
  case OPTION_CACHE_EXTENSION: s->cache = optarg; return true;
  case OPTION_TUNING:
    s->tuning = optarg;
    s->asks_tuning = true;
    return true;
  case OPTION_NO_TUNING: s->tuning = NULL; return true;
  case OPTION_PASS: vec_push(&s->options, optarg); return true;
  case OPTION_PASS_COMPILER: *message = pass_to_compiler(s, optarg); return true;
  case OPTION_RECIPE: s->recipe = optarg; return true;
  case OPTION_FLATTEN:
  case OPTION_MAX_VERSIONS:
  case OPTION_MIXED:
  case OPTION_REPRODUCIBLE:
    *message = set_flatten_option(&s->flatten, option);
    return true;
  }
  return false;
}

void program_start_warn(Compiler *c, const ProgramStart *s, const ProgramPaths *paths) {
  if (!s->tuning || !s->asks_tuning || !paths->count) return;
  vec_each (const char *const *, path, paths)
    if (access(text_format("%s.%s", *path, s->tuning), R_OK) == 0) return;
  const char *name = text_format("%s.%s", paths->at[0], s->tuning);
  warning(c, (Loc){ 0 }, "there is no tuning file %s", name);
  if (access(s->tuning, R_OK) == 0)
    hint(c,
         "`--tuning` takes what follows the program's name: `--tuning tuning` reads "
         "%s.tuning",
         paths->at[0]);
  diag_flush(c);
}

TextVec program_start_words(const ProgramStart *s, const char *path,
                            const char *executable) {
  TextVec words = { 0 };
  const char *tuning = s->tuning ? text_format("%s.%s", path, s->tuning) : NULL;
  const char *mpi[MPI_MOST_WORDS];
  int count = s->processes ? mpi_words(s->processes, mpi) : 0;
  for (int i = 0; i < count; i++)
    vec_push(&words, mpi[i]);
  if (s->runner) vec_push(&words, s->runner);
  vec_push(&words, executable);
  if (tuning && access(tuning, R_OK) == 0) {
    vec_push(&words, "--tuning");
    vec_push(&words, tuning);
  }
  if (s->cache) {
    vec_push(&words, "--cache-file");
    vec_push(&words, text_format("%s.%s", path, s->cache));
  }
  vec_each (const char *const *, option, &s->options)
    vec_push(&words, *option);
  return words;
}
