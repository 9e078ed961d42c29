// What scripts of test blocks compute: the expression becomes an entry point behind the program's
// own, whose results in the interpreter are the inputs.
#include "commands/test_run.h"
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

// The program with the script behind it, elaborated; NULL after errors.
static const Core *core_of_script(Compiler *c, const char *path, const SourceFile *file,
                                  const char *script, const Entry *entry) {
  Text *t = text_new();
  text_printf(t, "%s\nentry %s", file->text, script_name);
  if (entry) add_expected(t, entry);
  text_printf(t, " =\n(%s\n)\n", script);
  Program *program = program_of_text(c, path, text_str(t), text_length(t));
  return pipeline_run(c, program, "elaborate") ? program->core : NULL;
}

// A script of this kind only names a file.
static const char *loaded_file(const char *script) {
  static const char load[] = "$loaddata";
  script += strspn(script, " \t\n");
  if (strncmp(script, load, strlen(load)) != 0) return NULL;
  script += strlen(load);
  script += strspn(script, " \t\n");
  size_t length = *script == '"' ? strcspn(script + 1, "\"\n") : 0;
  if (!length || script[length + 1] != '"') return NULL;
  const char *rest = script + length + 2;
  if (rest[strspn(rest, " \t\n")]) return NULL;
  return text_format("%.*s", (int)length, script + 1);
}

static ValueReader *script_values(Compiler *c, const Core *core, const char **message) {
  static const InterpOptions options = { .max_steps = 2000000000 };
  const Entry *entry = command_find_entry(core, script_name);
  InterpResult result = interp_run(c, core, entry, NULL, options);
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
  Compiler *c = compiler_new();
  const Program *read = program_read(c, program);
  if (!read) {
    *message = diag_take_text(c);
    return NULL;
  }
  const Core *core =
      entry->input_count ? core_of_script(c, program, read->file, script, entry) : NULL;
  if (!core) {
    c = compiler_new();
    core = core_of_script(c, program, read->file, script, NULL);
  }
  if (core) return script_values(c, core, message);
  *message = text_format("the script of the test: %s", diag_take_text(c));
  return NULL;
}
