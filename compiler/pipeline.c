// Every pass in order, with its reason; the one place that knows them all.
#include "pipeline.h"
#include "base/mem.h"
#include "core/interp/interp.h"
#include "core/passes.h"
#include "flat/flat.h"
#include "kern/recipes/recipe_book.h"
#include "source/source.h"
#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef const Core *(*CoreFn)(Compiler *c, const Core *core);
typedef struct Pass Pass;

// A pass of any kind: run on the program, whose members it sets; false if it made nothing.
struct Pass {
  const char *name;
  PipelineStage makes;
  bool (*run)(Compiler *c, Program *p, const Pass *pass);
  CoreFn rewrite;  // what run_rewrite runs
  const char *reason;
};

static bool run_parse(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  p->ast = source_parse(c, p->file);
  return p->ast != NULL;
}

static bool run_check(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  p->checked = types_check(c, p->ast);
  return p->checked != NULL;
}

static bool run_elaborate(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  const Core *core = elaborate(c, p->checked);
  // Without what nothing needs, so that the interpreter reports no errors that devices do not; but
  // values that are shown need not be needed.
  p->core = core && !interp_shows_values(core) ? dead(c, core) : core;
  return p->core != NULL;
}

static bool run_rewrite(Compiler *c, Program *p, const Pass *pass) {
  p->core = pass->rewrite(c, p->core);
  return p->core != NULL;
}

static bool run_flatten(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  p->core = flatten(c, p->core, p->flatten);
  return p->core != NULL;
}

// Sums of other programs are in any order.
static bool run_fix_order(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  if (p->flatten.reproducible) p->core = fix_order(c, p->core);
  return p->core != NULL;
}

// Programs for one worker stay as they are.
static bool run_distribute(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  if (p->flatten.mixed && !p->flatten.workers) {
    error(c, (Loc){ 0 }, "--mixed needs --workers or --mpi: one worker has one device");
    return false;
  }
  if (p->flatten.workers) p->core = flat_for_workers(c, p->core, p->flatten.blocks);
  if (p->flatten.mixed) p->core = flat_keep_alike(c, p->core, p->flatten.reproducible);
  return p->core != NULL;
}

static bool run_gapped(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  p->core = flat_gapped_rows(c, p->core, !p->flatten.workers);
  return true;
}

bool pipeline_read_recipes(Compiler *c, Program *p) {
  if (!p->recipes) p->recipes = new (RecipeBook);
  vec_each (const RecipeAttr *, recipe, &p->checked->recipes)
    recipe_book_add(c, p->recipes, recipe->exp, recipe->text);
  return diag_error_count(c) == 0;
}

static const Core *checked_flat(Compiler *c, const Core *flat) {
  if (c->check_ir) {
    core_check(c, flat, true);
    flat_check(c, flat);
  }
  return flat;
}

const Core *pipeline_in_order(Compiler *c, Program *p) {
  if (p->in_order) return p->in_order;
  bool any_order = !p->flatten.reproducible;
  const Core *hists = any_order ? checked_flat(c, flat_chain_hists(c, p->core)) : p->core;
  const Core *scans = checked_flat(c, flat_scans_last(c, hists));
  const Core *mapped = checked_flat(c, flat_filter_maps(c, scans));
  const Core *joined = checked_flat(c, flat_join_scans(c, mapped));
  const Core *fused = checked_flat(c, flat_fuse_scans(c, joined, false));
  p->in_order = checked_flat(c, flat_own_literals(c, fused));
  return p->in_order;
}

static const Core *with_rooms(Compiler *c, const Core *flat) {
  const Core *roomy = checked_flat(c, flat_filter_rooms(c, flat));
  return checked_flat(c, flat_fuse_scans(c, roomy, true));
}

const Core *pipeline_for_gpus(Compiler *c, const Core *flat) {
  const Core *alone = checked_flat(c, flat_without_lone_groups(c, flat));
  const Core *spread = checked_flat(c, flat_spread_rows(c, alone));
  const Core *first = checked_flat(c, flat_points_first(c, spread));
  const Core *moved = checked_flat(c, flat_move_arrays(c, first));
  const Core *turned = checked_flat(c, flat_turn_spaces(c, moved));
  const Core *joined = checked_flat(c, flat_join_spaces(c, turned));
  const Core *scalars = checked_flat(c, flat_small_arrays(c, joined));
  const Core *split = checked_flat(c, flat_split_sums(c, scalars));
  return checked_flat(c, flat_row_hists(c, split));
}

// For both profiles; recipes are for CPUs.
static bool run_lower(Compiler *c, Program *p, const Pass *pass) {
  (void)pass;
  if (!pipeline_read_recipes(c, p)) return false;
  bool mixed = p->flatten.mixed;
  p->imp[PROFILE_CPU] =
      imp_lower(c, pipeline_in_order(c, p), PROFILE_CPU, p->recipes, mixed);
  book_finish(c, p->recipes);
  if (p->imp[PROFILE_CPU])
    p->imp[PROFILE_GPU] = imp_lower(c, pipeline_for_gpus(c, with_rooms(c, p->core)),
                                    PROFILE_GPU, NULL, mixed);
  return p->imp[PROFILE_GPU] != NULL;
}

// clang-format off
static const Pass passes[] = {
  { "parse",          STAGE_AST,     run_parse,     NULL,     "characters to syntax tree" },
  { "check",          STAGE_CHECKED, run_check,     NULL,     "names, types and sizes" },
  { "elaborate",      STAGE_CORE,    run_elaborate, NULL,
    "the static part of the program evaluated: first-order Core remains" },
  { "simplify",       STAGE_CORE,    run_rewrite,   simplify,
    "so that the later passes meet values, not copies" },
  { "hoist",          STAGE_CORE,    run_rewrite,   hoist,
    "sizes must stand outside of what they are sizes of, or a nest looks irregular" },
  { "cse",            STAGE_CORE,    run_rewrite,   cse,
    "hoisting brings equal expressions side by side" },
  { "small-operands", STAGE_CORE,    run_rewrite,   scalar_operands,
    "operators on points and small matrices are operators on scalars, which run in parallel" },
  { "round-sums",     STAGE_CORE,    run_rewrite,   round_sums,
    "what a loop adds to a matrix in each round is one product, before it fuses with the round" },
  { "split-off",      STAGE_CORE,    run_rewrite,   split_off,
    "what an inner map computes again for each element of an outer one, before it is fused" },
  { "flat-places",    STAGE_CORE,    run_rewrite,   flat_places,
    "indices of pairs, and what is counted of them, are computed by what reads them: they fuse" },
  { "parted-hists",   STAGE_CORE,    run_rewrite,   parted_hists,
    "what is put together to be counted fuses with histograms of its parts" },
  { "fuse",           STAGE_CORE,    run_rewrite,   fuse,
    "before flattening: a fused map is one kernel, not two" },
  { "simplify-fused", STAGE_CORE,    run_rewrite,   simplify,
    "fusion leaves copies and indexes of iotas" },
  { "hoist-fused",    STAGE_CORE,    run_rewrite,   hoist,    "inlined lambdas expose invariants" },
  { "cse-fused",      STAGE_CORE,    run_rewrite,   cse,
    "two producers fused into one consumer read the same elements" },
  { "hoist-guarded",  STAGE_CORE,    run_rewrite,   hoist_guarded,
    "sums of a row are made once, also where a condition asks for them" },
  { "joined-reads",   STAGE_CORE,    run_rewrite,   joined_reads,
    "a point that asks for an element of two arrays in a row needs no copy of them" },
  { "small-rows",     STAGE_CORE,    run_rewrite,   small_rows,
    "what makes the elements that a reduction combines is scalars, too, once in its function" },
  { "carried-loads",  STAGE_CORE,    run_rewrite,   carry_loads,
    "the least so far is at hand, where only its place is kept: loops have no gathers then" },
  { "loops-to-maps",  STAGE_CORE,    run_rewrite,   loops_to_maps,
    "elements that do not mind the others stay in registers for all rounds of a loop" },
  { "loop-sums",      STAGE_CORE,    run_rewrite,   loop_sums,
    "long loops of the host that only sum up run in vectors, on all cores" },
  { "flat-sums",      STAGE_CORE,    run_rewrite,   flat_sums,
    "what makes the elements of a flattened array fuses with their sum" },
  { "columns",        STAGE_CORE,    run_rewrite,   columns,
    "sums over an outer dimension meet what makes their summands, and fuse with it" },
  { "products",       STAGE_CORE,    run_rewrite,   products,
    "elements of outer products are computed where they are read, not stored" },
  { "dead",           STAGE_CORE,    run_rewrite,   dead,
    "what nobody reads any more must not become a kernel" },
  { "even-places",    STAGE_CORE,    run_rewrite,   even_places,
    "places that follow a rule are counted where they are stored to, not stored themselves" },
  { "stored-places",  STAGE_CORE,    run_rewrite,   stored_places,
    "an array that is read where it was stored to is not filled for it, in each round of a loop" },
  { "fix-order",      STAGE_CORE,    run_fix_order, NULL,
    "with --reproducible: sums of floats in blocks and loops, behind what would merge them" },
  { "flatten",        STAGE_FLAT,    run_flatten,   NULL,
    "nested parallelism to seg-ops in guarded versions" },
  { "simplify-flat",  STAGE_FLAT,    run_rewrite,   simplify,
    "each version reads rows of rows, and knows sizes that the others do not" },
  { "cse-flat",       STAGE_FLAT,    run_rewrite,   cse,
    "seg-ops begin with the reads of their context, some of them twice" },
  { "tables",         STAGE_FLAT,    run_rewrite,   flat_tables,
    "literals of literals are memory and a launch for each row" },
  { "dead-flat",      STAGE_FLAT,    run_rewrite,   dead,
    "a version uses a part of what its context offers" },
  { "distribute",     STAGE_FLAT,    run_distribute, NULL,
    "with --mpi: every worker runs a block of what is in parallel, once versions are final" },
  { "gapped-rows",    STAGE_FLAT,    run_gapped,    NULL,
    "rows that do not lie side by side would be copied for each of their elements" },
  { "imp",            STAGE_IMP,     run_lower,     NULL,
    "seg-ops become kernels, arrays blocks of memory" },
};
// clang-format on

enum { PASS_COUNT = sizeof passes / sizeof *passes };

static const Pass *pass_at(int i) { return i < PASS_COUNT ? &passes[i] : NULL; }

const char *pipeline_pass_name(int i) { return pass_at(i) ? pass_at(i)->name : NULL; }

const char *pipeline_pass_reason(int i) { return pass_at(i) ? pass_at(i)->reason : NULL; }

static int pass_index(const char *name) {
  for (int i = 0; i < PASS_COUNT; i++)
    if (strcmp(passes[i].name, name) == 0) return i;
  return -1;
}

bool pipeline_knows(const char *pass) { return pass_index(pass) >= 0; }

PipelineStage pipeline_stage_after(const char *pass) {
  return passes[pass_index(pass)].makes;
}

static int last_pass(PipelineStage stage) {
  int last = 0;
  for (int i = 0; i < PASS_COUNT; i++)
    if (passes[i].makes == stage) last = i;
  return last;
}

const char *pipeline_last_pass(PipelineStage stage) {
  return passes[last_pass(stage)].name;
}

Program *program_of_text(Compiler *c, const char *path, const char *text, size_t length) {
  (void)c;
  Program *program = new (Program);
  program->path = path;
  program->file = source_file_new(path, text, length);
  program->flatten = (FlattenOptions){ .mode = FLATTEN_INCREMENTAL, .max_versions = 256 };
  program->pass_ms = new_array(double, PASS_COUNT);
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
  char *text = text_read_lines(path, &length);
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

// Looks for our own mistakes.
static void check_result(Compiler *c, const Program *p, PipelineStage stage) {
  if (stage == STAGE_CORE || stage == STAGE_FLAT)
    core_check(c, p->core, stage == STAGE_FLAT);
  if (stage == STAGE_FLAT) flat_check(c, p->core);
}

bool pipeline_run(Compiler *c, Program *program, const char *after) {
  int last = after ? pass_index(after) : last_pass(STAGE_FLAT);
  for (int i = program->passed; i <= last; i++) {
    c->phase = passes[i].name;
    double start = now_ms();
    bool made = passes[i].run(c, program, &passes[i]);
    if (made && c->check_ir) check_result(c, program, passes[i].makes);
    program->pass_ms[i] = now_ms() - start;
    if (!made || diag_error_count(c)) return false;
    program->passed = i + 1;
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
