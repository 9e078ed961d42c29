// flc tree FILE: the versions of an entry point, and which of them an input would run.
#include "base/mem.h"
#include "commands/version_options.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

// clang-format off
static const Option option_rows[] = {
  { 'e', 'e', "entry", "ENTRY", "only this entry point", NULL },
  { 'e', 0, "entry-point", "ENTRY", NULL, NULL },
  { 'f', 0, "format", "FORMAT",
    "`text` (default), `dot` for graphviz, or `json` ([schema](tree-schema.md))", "text dot json" },
  { 'd', 0, "data", "FILE",
    "run the interpreter on this input and show which versions run, all of which are taken "
    "to fit into local memory", NULL },
  { 't', 0, "tuning", "FILE",
    "thresholds, a line `name=value` each; default 32768 each, as Futhark has for GPUs", NULL },
  RECIPE_OPTION,
  OTHER_RECIPES_OPTION,
  FLATTEN_OPTIONS,
  WORKERS_OPTIONS,
  OPTIONS_END
};
// clang-format on

typedef enum Format { FORMAT_TEXT, FORMAT_DOT, FORMAT_JSON } Format;

typedef struct TreeOptions {
  const char *entry, *data, *tuning, *recipe;
  bool other_recipes;
  Format format;
  FlattenOptions flatten;
} TreeOptions;

static const Value **read_data(Compiler *c, const Entry *entry, const char *path) {
  size_t length;
  char *bytes = text_read_file(path, &length);
  const char *message = NULL;
  if (bytes) bytes = value_gunzip(bytes, length, &length, &message);
  if (bytes) return command_read_inputs(c, entry, value_reader_new(path, bytes, length));
  error(c, (Loc){ 0 }, "cannot read %s: %s", path, message ? message : strerror(errno));
  return NULL;
}

// Runs the entry point; what its guards meet goes to the decider.
static bool run_on_data(Compiler *c, const Core *core, const Entry *entry,
                        const TreeOptions *o, Decider *d) {
  if (o->tuning && !decider_read_tuning(c, d, o->tuning)) return false;
  const Value **inputs = read_data(c, entry, o->data);
  if (!inputs) return false;
  c->phase = "tree";
  InterpOptions how = { .decide = decider_decide,
                        .meet_split = decider_meet_split,
                        .state = d };
  InterpResult result = interp_run(c, core, entry, inputs, how);
  if (!result.ok) error(c, result.loc, "%s", result.message);
  vec_each (Threshold *, t, &d->tuning)
    if (!t->used)
      warning(c, (Loc){ 0 },
              strchr(t->name, '@')
                  ? "%s: not supported here, only in compiled programs: %s"
                  : "%s: no guard that ran is called %s",
              o->tuning, t->name);
  return result.ok;
}

static void print_tree(Text *t, const VersionTree *tree, const TreeOptions *o,
                       const Decider *d) {
  const EventVec *events = o->data ? &d->events : NULL;
  switch (o->format) {
  case FORMAT_TEXT: version_tree_text(t, tree, events); return;
  case FORMAT_DOT: version_tree_dot(t, tree, events); return;
  case FORMAT_JSON: version_tree_json(t, tree, events); return;
  }
}

// What kernels for CPUs choose from by parameters: SegOp -> RecipeGuards.
static const Map *recipes_of(const ImpProgram *imp) {
  Map *out = map_new(NULL);
  for (int i = 0; i < imp->plan_count; i++) {
    KernChoices choices = { 0 };
    kern_plan_choices(imp->plans[i], &choices);
    if (!choices.count) continue;
    RecipeGuards *of = map_get(out, imp->planned[i]);
    if (!of) map_put(out, imp->planned[i], of = new (RecipeGuards));
    vec_each (const KernChoice *, choice, &choices)
      vec_push(of, (RecipeGuard){ choice->parameter, choice->ways, choice->way_count });
  }
  return out;
}

// imp: the same program with kernels, if recipes are asked for; else NULL.
static VersionTree drawn_tree(Compiler *c, const Core *core, int entry,
                              const ImpProgram *imp) {
  VersionTree tree = version_tree(c, (imp ? imp->flat : core)->entries[entry]);
  if (imp) tree.recipes = recipes_of(imp);
  return tree;
}

static int entry_number(const Core *core, const Entry *entry) {
  int number = 0;
  while (core->entries[number] != entry)
    number++;
  return number;
}

// One entry point, or all of them.
static bool print_trees(Compiler *c, Text *t, const Core *core, const ImpProgram *imp,
                        const TreeOptions *o) {
  if (!o->entry && !o->data && core->entry_count != 1) {
    for (int i = 0; i < core->entry_count; i++) {
      VersionTree tree = drawn_tree(c, core, i, imp);
      if (i) text_add(t, o->format == FORMAT_JSON ? ",\n" : "\n");
      print_tree(t, &tree, o, NULL);
    }
    return true;
  }
  const Entry *entry = command_entry(c, core, o->entry);
  Decider d = { 0 };
  if (!entry) return false;
  if (o->data && !run_on_data(c, core, entry, o, &d)) return false;
  VersionTree tree = drawn_tree(c, core, entry_number(core, entry), imp);
  print_tree(t, &tree, o, &d);
  return true;
}

static int tree(Compiler *c, const char *path, const TreeOptions *o) {
  Program *program = program_read(c, path);
  bool recipes = o->recipe || o->other_recipes;
  bool ok = program && take_recipes(c, program, o->recipe);
  if (ok) program->flatten = o->flatten;
  if (ok && recipes) take_choices(program, &(Decider){ 0 }, o->other_recipes);
  ok = ok && pipeline_run(c, program, recipes ? "imp" : NULL);
  Text *t = text_new();
  if (o->format == FORMAT_JSON)
    text_add(t, "{ \"schema\": \"flc-tree\", \"version\": 1, \"entries\": [\n");
  if (ok) command_warn_without_entries(c, program->core);
  ok = ok && print_trees(c, t, program->core, program->imp[PROFILE_CPU], o);
  if (o->format == FORMAT_JSON) text_add(t, "\n] }\n");
  if (!diag_ok(c) || !ok) return 1;
  return fputs(text_str(t), stdout) == EOF;
}

static bool set_format(TreeOptions *o, const char *text) {
  static const char *const formats[] = {
    [FORMAT_TEXT] = "text",
    [FORMAT_DOT] = "dot",
    [FORMAT_JSON] = "json",
  };
  for (int i = 0; i < (int)(sizeof formats / sizeof *formats); i++) {
    if (strcmp(text, formats[i]) != 0) continue;
    o->format = (Format)i;
    return true;
  }
  return false;
}

// NULL, or what is wrong with the option.
static const char *set_tree_option(TreeOptions *o, int option) {
  switch (option) {
  case 'e': o->entry = optarg; return NULL;
  case 'd': o->data = optarg; return NULL;
  case 't': o->tuning = optarg; return NULL;
  case OPTION_RECIPE: o->recipe = optarg; return NULL;
  case OPTION_OTHER_RECIPES: o->other_recipes = true; return NULL;
  case 'f':
    return set_format(o, optarg)
               ? NULL
               : text_format("unknown format %s (text, dot or json)", optarg);
  }
  return set_flatten_option(&o->flatten, option);
}

static int command_tree(Compiler *c, int argc, char **argv) {
  TreeOptions o = { .flatten = default_flatten_options() };
  OptionReader r = options_begin(c, &tree_command, argc, argv);
  for (int k; (k = options_next(&r));) {
    const char *message = set_tree_option(&o, k);
    if (message) return command_usage_error(c, "flc tree: %s", message);
  }
  if (r.over) return r.status;
  if (optind != argc - 1)
    return command_usage_error(c, "flc tree: expected one file name");
  if (o.tuning && !o.data)
    return command_usage_error(c, "flc tree: --tuning needs --data");
  return tree(c, argv[optind], &o);
}

const Command tree_command = {
  .name = "tree",
  .summary = "draws the versions of a program and the guards between them",
  .usage = "FILE [OPTIONS]",
  .about =
      "Draws the tree of code versions of each entry point: the guards with the "
      "parallelism Par that they compare with a threshold t, and the kernels of each "
      "version.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_tree,
};
