// From a source file to C text, and from C text to an executable.
#include "commands/commands.h"
#include "commands/version_options.h"
#include "flat/versions.h"
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

const char *compile_base(const char *path) {
  size_t length = strlen(path);
  if (length > 3 && strcmp(path + length - 3, ".fl") == 0) length -= 3;
  return text_format("%.*s", (int)length, path);
}

bool compile_is_prefix(const char *prefix) {
  for (const char *s = prefix; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return *prefix && !isdigit((unsigned char)*prefix);
}

bool compile_to_c(Compiler *c, const char *path, CompileOptions options,
                  EmitResult *out) {
  Program *program = program_read(c, path);
  return program && compile_program_to_c(c, program, options, out);
}

// --explain-copies: a line per update that copies, on standard error.
static void explain_copies(const ImpProgram *imp) {
  Text *seen = text_new();
  for (int i = 0; i < imp->copy_count; i++) {
    const CopyNote *copy = &imp->copies[i];
    const char *line = text_format("%s: an update copies `%s`: %s\n", loc_text(copy->loc),
                                   copy->array, copy->why);
    if (strstr(text_str(seen), line)) continue;  // several versions make the same copy
    text_add(seen, line);
    fputs(line, stderr);
  }
  if (imp->copy_count == 0) fputs("every update is done in place\n", stderr);
}

// The tuning file beside the source, if there is one: its values become the program's defaults.
static bool read_tuning(Compiler *c, const char *path, Decider *settings) {
  const char *tuning = text_format("%s.tuning", path);
  return access(tuning, R_OK) != 0 || decider_read_tuning(c, settings, tuning);
}

static bool tuned_value(void *state, const char *name, int64_t *value) {
  Decider *settings = state;
  vec_each (Threshold *, t, &settings->tuning) {
    if (strcmp(t->name, name) != 0) continue;
    *value = t->value;
    return true;
  }
  return false;
}

// Settings that are no parameters but decisions by sizes.
static void add_presets(const Decider *settings, EmitOptions *emit) {
  Vec(EmitPreset) presets = { 0 };
  vec_each (const Threshold *, t, &settings->tuning)
    if (strchr(t->name, '@')) vec_push(&presets, (EmitPreset){ t->name, t->value });
  emit->presets = presets.at;
  emit->preset_count = presets.count;
}

bool compile_program_to_c(Compiler *c, Program *program, CompileOptions options,
                          EmitResult *out) {
  if (!pipeline_run(c, program, "imp") || diag_error_count(c)) return false;
  c->phase = "emit";
  Decider settings = { 0 };
  if (!options.untuned && !read_tuning(c, program->path, &settings)) return false;
  EmitOptions emit = { .prefix = options.prefix ? options.prefix : "fl",
                       .source = command_file_name(program->path),
                       .library = options.library,
                       .tuned = tuned_value,
                       .state = &settings,
                       .tree_text = versions_text(c, program->core),
                       .tree_json = versions_json(c, program->core) };
  add_presets(&settings, &emit);
  if (options.library)
    emit.header_name = text_format("%s.h", command_file_name(options.base));
  if (options.explain_copies) explain_copies(program->imp[PROFILE_CPU]);
  *out = emit_program(c, program->core, program->imp, emit);
  return diag_error_count(c) == 0;
}

// ---- the C compiler

// Runs a program with its messages in the file `log`; its exit status, or -1.
static int run_logged(const char *const *args, const char *log) {
  pid_t child = fork();
  if (child < 0) return -1;
  if (child == 0) {
    int fd = open(log, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (fd >= 0) dup2(fd, 1), dup2(fd, 2);
    execvp(args[0], mem_copy(args, sizeof *args * 32));
    _exit(127);
  }
  int status;
  while (waitpid(child, &status, 0) < 0)
    if (errno != EINTR) return -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// $CC may hold options, too: "gcc -m64".
static int add_words(const char **args, int count, const char *words) {
  char *copy = mem_copy(words, strlen(words) + 1), *rest = NULL;
  for (char *word = strtok_r(copy, " ", &rest); word && count < 16;
       word = strtok_r(NULL, " ", &rest))
    args[count++] = word;
  return count;
}

static int run_cc(const char *source, const char *output, const char *log,
                  const char *optimise) {
  const char *cc = getenv("CC");
  const char *args[32] = { 0 };
  int count = add_words(args, 0, cc && *cc ? cc : "cc");
  const char *const fixed[] = { optimise, "-std=c99", "-ffp-contract=off", source,
                                "-o",     output,     "-lOpenCL",          "-lm" };
  for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++)
    args[count++] = fixed[i];
  return run_logged(args, log);
}

static void report_cc(Compiler *c, int status, const char *log) {
  size_t length;
  const char *said = text_read_file(log, &length);
  if (status == 127)
    error(c, (Loc){ 0 }, "cannot run the C compiler (set CC to its name)");
  else
    error(c, (Loc){ 0 }, "the C compiler failed:\n%s", said ? said : "");
  if (said && (strstr(said, "CL/cl.h") || strstr(said, "-lOpenCL")))
    hint(c, "install the OpenCL headers and the ICD loader (Debian: opencl-headers "
            "ocl-icd-opencl-dev)");
}

static bool compile_c(Compiler *c, const Text *text, const char *output,
                      const char *optimise) {
  const char *stem = text_format("%s.%ld", output, (long)getpid());
  const char *source = text_format("%s.c", stem), *made = text_format("%s.tmp", stem);
  const char *log = text_format("%s.log", stem);
  if (!text_write_file(text, source)) {
    error(c, (Loc){ 0 }, "cannot write %s: %s", source, strerror(errno));
    return false;
  }
  int status = run_cc(source, made, log, optimise);
  if (status != 0) report_cc(c, status, log);
  bool ok = status == 0;
  if (ok && rename(made, output) != 0) {
    error(c, (Loc){ 0 }, "cannot write %s: %s", output, strerror(errno));
    ok = false;
  }
  if (!ok) unlink(made);
  unlink(source);
  unlink(log);
  return ok;
}

bool compile_executable(Compiler *c, const Text *text, const char *output) {
  return compile_c(c, text, output, "-O1");
}

// ---- the cache

uint64_t compile_hash(uint64_t hash, const char *text, size_t length) {
  for (size_t i = 0; i < length; i++)
    hash = (hash ^ (unsigned char)text[i]) * 1099511628211u;  // FNV-1a
  return hash;
}

// The folder and those above it; an error shows when a file is written.
static void make_folders(const char *path) {
  for (const char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/'))
    mkdir(text_format("%.*s", (int)(slash - path), path), 0700);
  mkdir(path, 0700);
}

const char *compile_cache_folder(void) {
  const char *xdg = getenv("XDG_CACHE_HOME"), *home = getenv("HOME"), *folder;
  if (xdg && *xdg)
    folder = text_format("%s/flc", xdg);
  else if (home && *home)
    folder = text_format("%s/.cache/flc", home);
  else
    folder = text_format("/tmp/flc-cache-%ld", (long)getuid());
  make_folders(folder);
  return folder;
}

const char *compile_cached(Compiler *c, const Text *text) {
  uint64_t hash = compile_hash(COMPILE_HASH_SEED, text_str(text), text_length(text));
  const char *path =
      text_format("%s/quick-%016llx", compile_cache_folder(), (unsigned long long)hash);
  if (access(path, X_OK) == 0) return path;
  return compile_c(c, text, path, "-O0") ? path : NULL;
}
