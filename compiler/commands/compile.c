// From a source file to C text.
#include "commands/commands.h"
#include "commands/version_options.h"
#include "flat/versions.h"
#include <ctype.h>
#include <stdio.h>
#include <string.h>

const char *compile_base(const char *path) {
  static const char *const endings[] = { ".fl", ".fut" };
  size_t length = strlen(path);
  for (int i = 0; i < 2; i++) {
    size_t cut = strlen(endings[i]);
    if (length > cut && strcmp(path + length - cut, endings[i]) == 0)
      return text_format("%.*s", (int)(length - cut), path);
  }
  return path;
}

bool compile_is_prefix(const char *prefix) {
  for (const char *s = prefix; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return *prefix && !isdigit((unsigned char)*prefix);
}

// A line on standard error, once: several versions make the same copy.
static void explain(Text *seen, Loc loc, const char *text) {
  const char *line = text_format("%s: %s\n", loc_text(loc), text);
  if (strstr(text_str(seen), line)) return;
  text_add(seen, line);
  fputs(line, stderr);
}

// --explain-copies: a line per update that copies, and of several workers per exchange.
static void explain_copies(const Program *program) {
  const ImpProgram *imp = program->imp[PROFILE_CPU];
  Text *seen = text_new();
  for (int i = 0; i < imp->copy_count; i++) {
    const CopyNote *copy = &imp->copies[i];
    explain(seen, copy->loc,
            text_format("an update copies `%s`: %s", copy->array, copy->why));
  }
  if (imp->copy_count == 0) fputs("every update is done in place\n", stderr);
  if (!program->flatten.workers) return;
  MoveNotes moves = flat_explain_moves(program->core);
  vec_each (const MoveNote *, move, &moves)
    explain(seen, move->loc, text_format("%s%s", move->text, move->when));
  if (moves.count == 0) fputs("nothing is moved between workers\n", stderr);
}

// Values of the tuning file become the program's defaults.
static bool tuned_value(void *state, const char *name, int64_t *value) {
  Decider *settings = state;
  vec_each (Threshold *, t, &settings->tuning) {
    if (strcmp(t->name, name) != 0) continue;
    *value = t->value;
    return true;
  }
  return false;
}

// Settings that are no parameters but decisions by sizes, or weights of workers.
static void add_presets(const Decider *settings, EmitOptions *emit) {
  Vec(EmitPreset) presets = { 0 };
  vec_each (const Threshold *, t, &settings->tuning)
    if (strchr(t->name, '@') || emit_is_weight(t->name))
      vec_push(&presets, (EmitPreset){ t->name, t->value });
  emit->presets = presets.at;
  emit->preset_count = presets.count;
}

// The kernels, compiled by an executable that is made for that.
static bool add_ahead(Compiler *c, Program *program, const char *device,
                      EmitOptions *emit) {
  EmitOptions plain = *emit;
  plain.prefix = "fl";
  plain.library = false;
  EmitResult made = emit_program(c, program->core, program->imp, plain);
  if (diag_error_count(c)) return false;
  emit->ahead = compile_ahead(c, &made, device);
  return emit->ahead != NULL;
}

bool compile_program_to_c(Compiler *c, Program *program, CompileOptions options,
                          EmitResult *out) {
  if (options.flatten.max_versions) program->flatten = options.flatten;
  program->flatten.blocks = program->flatten.workers != WORKERS_ONE;
  Decider settings = { 0 };
  const char *tuning = options.tuning ? options.tuning : "tuning";
  if (!options.untuned && !decider_read_beside(c, &settings, program->path, tuning))
    return false;
  if (!program->recipes && !take_recipes(c, program, options.recipe)) return false;
  take_choices(program, &settings, options.other_recipes);
  if (!pipeline_run(c, program, "imp") || diag_error_count(c)) return false;
  c->phase = "emit";
  EmitOptions emit = { .prefix = options.prefix ? options.prefix : "fl",
                       .source = command_file_name(program->path),
                       .library = options.library,
                       .workers = program->flatten.workers,
                       .mixed = program->flatten.mixed,
                       .reproducible = program->flatten.reproducible,
                       .little_use = options.little_use,
                       .tuned = tuned_value,
                       .state = &settings,
                       .tree_text = versions_text(c, program->core),
                       .tree_json = versions_json(c, program->core) };
  add_presets(&settings, &emit);
  if (options.library)
    emit.header_name = text_format("%s.h", command_file_name(options.base));
  if (options.explain_copies) explain_copies(program);
  if (options.device && !add_ahead(c, program, options.device, &emit)) return false;
  *out = emit_program(c, program->core, program->imp, emit);
  return diag_error_count(c) == 0;
}
