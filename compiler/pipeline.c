// Every pass in order, with its reason; the one place that knows them all.
#include "pipeline.h"
#include "base/mem.h"
#include "core/passes.h"
#include "flat/flat.h"
#include "source/source.h"
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef const Core *(*CoreFn)(Compiler *c, const Core *core);

typedef struct CorePass {
  const char *name;
  CoreFn run;  // NULL: flatten, the one pass with options
  const char *reason;
} CorePass;

// clang-format off
static const CorePass core_passes[] = {
  { "simplify",      simplify, "so that the later passes meet values, not copies" },
  { "hoist",         hoist,    "sizes must stand outside of what they are sizes of, or a nest looks irregular" },
  { "cse",           cse,      "hoisting brings equal expressions side by side" },
  { "fuse",          fuse,     "before flattening: a fused map is one kernel, not two" },
  { "simplify-fused", simplify, "fusion leaves copies and indexes of iotas" },
  { "hoist-fused",   hoist,    "inlined lambdas expose invariants" },
  { "cse-fused",     cse,      "two producers fused into one consumer read the same elements" },
  { "dead",          dead,     "what nobody reads any more must not become a kernel" },
  { "flatten",       NULL,     "nested parallelism to seg-ops in guarded versions" },
  { "simplify-flat", simplify, "each version reads rows of rows, and knows sizes that the others do not" },
  { "cse-flat",      cse,      "seg-ops begin with the reads of their context, some of them twice" },
  { "dead-flat",     dead,     "a version uses a part of what its context offers" },
};
// clang-format on

// The phases before Core have no common shape and are run by name.
static const struct {
  const char *name, *reason;
} front_passes[] = {
  { "parse", "characters to syntax tree" },
  { "check", "names, types and sizes" },
  { "elaborate", "the static part of the program evaluated: first-order Core remains" },
};

// The last phase makes Imp, for both profiles.
static const char lower_name[] = "imp";
static const char lower_reason[] = "seg-ops become kernels, arrays blocks of memory";

enum { FRONT_COUNT = sizeof front_passes / sizeof *front_passes };
enum { CORE_COUNT = sizeof core_passes / sizeof *core_passes };

const char *pipeline_pass_name(int i) {
  if (i < FRONT_COUNT) return front_passes[i].name;
  if (i < FRONT_COUNT + CORE_COUNT) return core_passes[i - FRONT_COUNT].name;
  if (i == FRONT_COUNT + CORE_COUNT) return lower_name;
  return NULL;
}

const char *pipeline_pass_reason(int i) {
  if (i < FRONT_COUNT) return front_passes[i].reason;
  if (i < FRONT_COUNT + CORE_COUNT) return core_passes[i - FRONT_COUNT].reason;
  if (i == FRONT_COUNT + CORE_COUNT) return lower_reason;
  return NULL;
}

static int pass_index(const char *name) {
  for (int i = 0; pipeline_pass_name(i); i++)
    if (strcmp(pipeline_pass_name(i), name) == 0) return i;
  return -1;
}

bool pipeline_knows(const char *pass) { return pass_index(pass) >= 0; }

Program *program_of_text(Compiler *c, const char *path, const char *text, size_t length) {
  (void)c;
  Program *program = new (Program);
  program->path = path;
  program->file = source_file_new(path, text, length);
  program->flatten = (FlattenOptions){ FLATTEN_INCREMENTAL, 256, NULL };
  program->pass_ms = new_array(double, FRONT_COUNT + CORE_COUNT + 1);
  return program;
}

// A file of the same name with another ending.
static void hint_at_file(Compiler *c, const char *path) {
  static const char *const endings[] = { ".fl", ".fut" };
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  bool has_ending = dot && (!slash || dot > slash + 1) &&
                    (strcmp(dot, ".fl") == 0 || strcmp(dot, ".fut") == 0);
  int stem = (int)(has_ending ? (size_t)(dot - path) : strlen(path));
  for (int i = 0; i < 2; i++) {
    const char *other = text_format("%.*s%s", stem, path, endings[i]);
    if (access(other, R_OK) != 0) continue;
    hint(c, "did you mean %s?", other);
    return;
  }
}

Program *program_read(Compiler *c, const char *path) {
  size_t length;
  char *text = text_read_file(path, &length);
  if (!text) {
    error(c, (Loc){ 0 }, "cannot read %s: %s", path, strerror(errno));
    hint_at_file(c, path);
    return NULL;
  }
  return program_of_text(c, strcmp(path, "-") == 0 ? "<stdin>" : path, text, length);
}

static double now_ms(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static bool run_front(Compiler *c, Program *p, int i) {
  if (i == 0) p->ast = source_parse(c, p->file);
  if (i == 1) p->checked = types_check(c, p->ast);
  if (i == 2) p->core = elaborate(c, p->checked);
  bool made = i == 0 ? p->ast != NULL : i == 1 ? p->checked != NULL : p->core != NULL;
  if (made && c->check_ir && p->core) core_check(c, p->core, false);
  return made && diag_error_count(c) == 0;
}

static bool run_lower(Compiler *c, Program *p) {
  p->imp[PROFILE_CPU] = imp_lower(c, p->core, PROFILE_CPU);
  if (p->imp[PROFILE_CPU]) p->imp[PROFILE_GPU] = imp_lower(c, p->core, PROFILE_GPU);
  return p->imp[PROFILE_GPU] && diag_error_count(c) == 0;
}

static bool is_flat(int i) {
  while (i >= FRONT_COUNT && core_passes[i - FRONT_COUNT].run)
    i--;
  return i >= FRONT_COUNT;
}

static bool run_pass(Compiler *c, Program *p, int i) {
  if (i < FRONT_COUNT) return run_front(c, p, i);
  if (i == FRONT_COUNT + CORE_COUNT) return run_lower(c, p);
  CoreFn run = core_passes[i - FRONT_COUNT].run;
  p->core = run ? run(c, p->core) : flatten(c, p->core, p->flatten);
  if (c->check_ir) core_check(c, p->core, is_flat(i));
  if (c->check_ir && is_flat(i)) flat_check(c, p->core);
  return diag_error_count(c) == 0;
}

bool pipeline_run(Compiler *c, Program *program, const char *after) {
  int first = program->reached ? pass_index(program->reached) + 1 : 0;
  int last = after ? pass_index(after) : FRONT_COUNT + CORE_COUNT - 1;
  for (int i = first; i <= last; i++) {
    c->phase = pipeline_pass_name(i);
    double start = now_ms();
    bool ok = run_pass(c, program, i);
    program->pass_ms[i] = now_ms() - start;
    if (!ok) return false;
    program->reached = c->phase;
  }
  return true;
}

void pipeline_print(Text *t, const Program *program, Profile profile) {
  if (program->imp[profile])
    imp_print(t, program->imp[profile]);
  else if (program->core)
    core_print(t, program->core);
  else if (program->ast)
    ast_print_program(t, program->ast);
}
