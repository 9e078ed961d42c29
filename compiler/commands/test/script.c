// What scripts of test blocks compute: the expression becomes an entry point behind the program's
// own, whose results in the interpreter are the inputs.
#include "commands/script_files.h"
#include "commands/test/run.h"
#include "core/interp/interp.h"
#include <string.h>

static const char script_name[] = "flc_script_input";

// A type of a parameter for arrays of any size.
static void add_type(Text *t, const char *type) {
  int depth = 0;
  for (const char *s = type; *s; s++) {
    depth -= *s == ']';
    if (depth == 0) text_printf(t, "%c", *s);
    depth += *s == '[';
  }
}

// The parameters' types, which say what numbers without a suffix are.
static void add_expected(Text *t, const Entry *entry) {
  text_add(t, " : (");
  for (int i = 0; i < entry->input_count; i++) {
    text_add(t, i ? ", " : "");
    add_type(t, entry->inputs[i].type);
  }
  text_add(t, ")");
}

// An expression, and what it reads from files.
typedef struct Script {
  const char *exp;
  ValueVec loaded;
} Script;

// A script of this kind only names a file.
static const char *loaded_file(const char *script) {
  const char *builtin, *name;
  script += strspn(script, " \t\n");
  size_t length = script_builtin(script, &builtin, &name);
  if (!length || strcmp(builtin, "loaddata") != 0) return NULL;
  return script[length + strspn(script + length, " \t\n")] ? NULL : name;
}

static bool load_file_of(const char *program, Script *s, const char *builtin,
                         const char *name, const char **message) {
  bool data = strcmp(builtin, "loaddata") == 0;
  const char *path = test_locate(program, name);
  if (data && path)
    *message = script_load_data(path, &s->loaded);
  else if (strcmp(builtin, "loadbytes") == 0 && path)
    *message = script_load_bytes(path, &s->loaded);
  else if (path)
    *message = text_format("unknown builtin `$%s` in a script", builtin);
  return path && !*message;
}

// Replaces `$loaddata "f"` and its like by names of parameters.  False with a message, or with none
// if a file is one that is not shipped and absent.
static bool load_files(const char *program, Script *s, const char **message) {
  Text *t = text_new();
  for (const char *at = s->exp; *at;) {
    const char *builtin, *name;
    size_t length = script_builtin(at, &builtin, &name);
    if (!length) {
      length = *at == '"' ? script_quoted(at) : 1;
      text_add_bytes(t, at, length);
      at += length;
      continue;
    }
    int first = s->loaded.count;
    if (!load_file_of(program, s, builtin, name, message)) return false;
    text_add(t, "(");
    for (int i = first; i < s->loaded.count; i++)
      text_printf(t, "%s%s_%d", i > first ? ", " : "", script_name, i);
    text_add(t, ")");
    at += length;
  }
  s->exp = text_str(t);
  return true;
}

// The program with the script behind it, elaborated; NULL after errors.
static const Core *core_of_script(Compiler *c, const char *path, const SourceFile *file,
                                  const Script *script, const Entry *entry) {
  Text *t = text_new();
  text_printf(t, "%s\nentry %s", file->text, script_name);
  for (int i = 0; i < script->loaded.count; i++)
    text_printf(t, " (%s_%d: %s)", script_name, i, value_type_text(script->loaded.at[i]));
  if (entry) add_expected(t, entry);
  text_printf(t, " =\n(%s\n)\n", script->exp);
  Program *program = program_of_text(c, path, text_str(t), text_length(t));
  return pipeline_run(c, program, "elaborate") ? program->core : NULL;
}

// Whether what a script gives is laid out as the parameters are.
static bool script_fits(const Entry *script, const Entry *entry) {
  const Var **params = entry->params + entry->size_count;
  if (script->result_count != entry->param_count - entry->size_count) return false;
  for (int i = 0; i < script->result_count; i++) {
    CoreType given = script->results[i], wanted = params[i]->type;
    if (given.elem != wanted.elem || given.rank != wanted.rank) return false;
  }
  return true;
}

static const char *misfit(const Entry *script, const Entry *entry) {
  Text *t = text_new();
  text_printf(t, "the script of the test gives `%s`, but `%s` takes", script->output_type,
              entry->name);
  for (int i = 0; i < entry->input_count; i++)
    text_printf(t, "%s `%s`", i ? "," : "", entry->inputs[i].type);
  text_add(t, entry->input_count ? "" : " nothing");
  return text_str(t);
}

static ValueReader *script_values(Compiler *c, const Core *core, const Script *script,
                                  const Entry *target, const char **message) {
  static const InterpOptions options = { .max_steps = 2000000000 };
  const Entry *entry = command_find_entry(core, script_name);
  if (entry->input_count > script->loaded.count) {
    *message = text_format("the script of the test is a function: arguments are missing, "
                           "the first of type %s",
                           entry->inputs[script->loaded.count].type);
    return NULL;
  }
  if (!script_fits(entry, target)) {
    *message = misfit(entry, target);
    return NULL;
  }
  InterpResult result = interp_run(c, core, entry, script->loaded.at, options);
  if (!result.ok)
    *message = text_format("script: %s: %s", loc_text(result.loc), result.message);
  if (!result.ok) return NULL;
  Text *bytes = text_new();
  for (int i = 0; i < result.value_count; i++)
    value_write_binary(bytes, result.values[i]);
  return value_reader_new("script", text_str(bytes), text_length(bytes));
}

ValueReader *test_script_values(const char *program, const Entry *entry,
                                const char *script, const char **message) {
  const char *file = loaded_file(script);
  if (file) {
    TestText text = { .source = TEST_FILE, .text = file };
    return test_open_values(program, entry, &text, message);
  }
  Script inputs = { .exp = script };
  if (!load_files(program, &inputs, message)) return NULL;
  Compiler *c = compiler_new();
  const Program *read = program_read(c, program);
  if (!read) {
    *message = diag_take_text(c);
    return NULL;
  }
  const Core *core =
      entry->input_count ? core_of_script(c, program, read->file, &inputs, entry) : NULL;
  if (!core) {
    c = compiler_new();
    core = core_of_script(c, program, read->file, &inputs, NULL);
  }
  if (core) return script_values(c, core, &inputs, entry, message);
  *message = text_format("the script of the test: %s", diag_take_text(c));
  return NULL;
}
