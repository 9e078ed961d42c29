// flc dump FILE: the program as it stands after a pass, and what flattening did to it.
#include "commands/version_options.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const Option option_rows[] = {
  { 'a', 0, "after", "PASS", "the pass; default the last one before kernels are made", NULL },
  { 'c', 0, "code", "CODE", "after `imp`, or kernels: the code for `cpu` (default) or `gpu`",
    "cpu gpu" },
  { 'l', 0, "list-passes", NULL, "the passes in order, with their reasons", NULL },
  { 'k', 0, "recipes", NULL,
    "instead of the program: the kernels for CPUs, with the steps that made them "
    "([kernels.md](kernels.md))", NULL },
  { 'x', 0, "explain", NULL,
    "instead of the program: for each kernel what its recipe was chosen from, and why", NULL },
  { 't', 0, "times", NULL, "milliseconds per pass, on standard error", NULL },
  { 'r', 0, "trace-rules", NULL, "which flattening rule fired where, on standard error", NULL },
  { 's', 0, "stats", NULL,
    "instead of the program: versions, guards, kernels and statements", NULL },
  FLATTEN_OPTIONS,
  RECIPE_OPTION,
  OTHER_RECIPES_OPTION,
  WORKERS_OPTIONS,
  OPTIONS_END
};
// clang-format on

typedef struct DumpOptions {
  const char *after, *recipe;
  bool times, stats, recipes, other_recipes, explain;
  Profile code;
  FlattenOptions flatten;
} DumpOptions;

static int list_passes(void) {
  for (int i = 0; pipeline_pass_name(i); i++)
    printf("%-16s %s\n", pipeline_pass_name(i), pipeline_pass_reason(i));
  return 0;
}

static void print_times(const Program *program) {
  for (int i = 0; pipeline_pass_name(i); i++)
    fprintf(stderr, "%-16s %8.2f ms\n", pipeline_pass_name(i), program->pass_ms[i]);
}

// The same program flattened the moderate way; NULL after errors.
static const Program *moderate(Compiler *c, const char *path) {
  Program *program = program_read(c, path);
  if (!program) return NULL;
  program->flatten = (FlattenOptions){ .mode = FLATTEN_MODERATE, .max_versions = 1 };
  return pipeline_run(c, program, NULL) ? program : NULL;
}

static int print_stats(Compiler *c, const Program *program) {
  const Program *plain = moderate(c, program->path);
  if (!diag_ok(c) || !plain) return 1;
  printf("%-16s %8s %8s %8s %10s %10s %6s\n", "entry", "versions", "guards", "kernels",
         "statements", "moderate", "ratio");
  for (int i = 0; i < program->core->entry_count; i++) {
    VersionTree tree = version_tree(c, program->core->entries[i]);
    VersionTree base = version_tree(c, plain->core->entries[i]);
    printf("%-16s %8d %8d %8d %10d %10d %6.1f\n", tree.entry->name, tree.version_count,
           tree.guard_count, tree.kernel_count, tree.stm_count, base.stm_count,
           (double)tree.stm_count / (base.stm_count ? base.stm_count : 1));
  }
  return 0;
}

static int dump(Compiler *c, const char *path, const DumpOptions *o) {
  Program *program = program_read(c, path);
  if (!program || !take_recipes(c, program, o->recipe)) return !diag_ok(c);
  Decider settings = { 0 };
  if (!decider_read_beside(c, &settings, path, "tuning")) return !diag_ok(c);
  take_choices(program, &settings, o->other_recipes);
  program->flatten = o->flatten;
  c->explain = o->explain;
  const char *after = o->stats ? NULL : o->recipes || o->explain ? "imp" : o->after;
  bool ok = pipeline_run(c, program, after);
  if (o->flatten.trace) fputs(text_str(o->flatten.trace), stderr);
  if (!diag_ok(c) || !ok) return 1;
  if (program->core) command_warn_without_entries(c, program->core);
  if (o->times) print_times(program);
  if (o->stats) return print_stats(c, program);
  Text *t = text_new();
  if (o->explain)
    imp_explain_plans(t, program->imp[o->code]);
  else if (o->recipes)
    imp_print_plans(t, program->imp[o->code]);
  else
    pipeline_print(t, program, o->code);
  return fputs(text_str(t), stdout) == EOF;
}

// NULL, or what is wrong with the option.
static const char *set_dump_option(DumpOptions *o, int option) {
  switch (option) {
  case 'a': o->after = optarg; return NULL;
  case 'c': return profile_option(optarg, &o->code);
  case 't': o->times = true; return NULL;
  case 's': o->stats = true; return NULL;
  case 'k': o->recipes = true; return NULL;
  case 'x': o->explain = true; return NULL;
  case OPTION_RECIPE: o->recipe = optarg; return NULL;
  case OPTION_OTHER_RECIPES: o->other_recipes = true; return NULL;
  case 'r': o->flatten.trace = text_new(); return NULL;
  }
  return set_flatten_option(&o->flatten, option);
}

static int command_dump(Compiler *c, int argc, char **argv) {
  DumpOptions o = { .flatten = default_flatten_options() };
  OptionReader r = options_begin(c, &dump_command, argc, argv);
  for (int k; (k = options_next(&r));) {
    if (k == 'l') return list_passes();
    const char *message = set_dump_option(&o, k);
    if (message) return command_usage_error(c, "flc dump: %s", message);
  }
  if (r.over) return r.status;
  if (o.after && !pipeline_knows(o.after))
    return command_usage_error(
        c, "flc dump: unknown pass %s (see flc dump --list-passes)", o.after);
  if (optind != argc - 1)
    return command_usage_error(c, "flc dump: expected one file name");
  return dump(c, argv[optind], &o);
}

const Command dump_command = {
  .name = "dump",
  .summary = "prints a program after a pass of the compiler",
  .usage = "FILE [OPTIONS]",
  .about = "Prints the program as it stands after a pass.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_dump,
};
