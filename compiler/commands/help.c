// flc help [COMMAND | --json]: what there is, for users and for programs (docs/pages.py).
#include "commands/help.h"
#include "commands/futhark.h"
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// clang-format off
static const struct {
  const char *name, *help;
} environment[] = {
  { "CC", "the C compiler of `build` and `run`" },
  { "XDG_CACHE_HOME", "where `run` and executables keep [the cache](#the-cache)" },
  { "HOME", "the same if that is not set: in `.cache` there" },
  { "XDG_STATE_HOME", "where `repl` keeps its history; default `.local/state` in `HOME`" },
  { "FLC_CACHE_MIB", "how large it may grow, in MiB; default 512" },
  { "TMPDIR", "where temporary files go that are no output; default `/tmp`" },
  { "FLC_DATA", "the folder of `data/published/` in test blocks" },
  { "FLC_IMPORTS",
    "folders, with `:` between, for imports of what is not beside the file that imports" },
  { "FLC_PACKAGES", "folders where `pkg` looks for packages, with `:` between" },
  { "FLC_CHECK_IR", "if set, check the program after every pass (the tests do)" },
  { "NO_COLOR", "messages without colours" },
};
// clang-format on

static void set_text(json_t *object, const char *key, const char *text) {
  if (text) json_object_set_new(object, key, json_string(text));
}

// The parts of `text` between separators.
static json_t *split(const char *text, const char *separator) {
  json_t *parts = json_array();
  while (text && *text) {
    size_t length = strcspn(text, separator);
    json_array_append_new(parts, json_stringn(text, length));
    text += length + (text[length] != '\0');
  }
  return parts;
}

static json_t *pass_names(json_t *names) {
  for (int i = 0; pipeline_pass_name(i); i++)
    json_array_append_new(names, json_string(pipeline_pass_name(i)));
  return names;
}

static json_t *option_json(const Option *o) {
  bool is_pass = o->arg && strcmp(o->arg, "PASS") == 0;
  json_t *object = json_object();
  if (o->letter) set_text(object, "letter", text_format("%c", o->letter));
  set_text(object, "name", o->name);
  set_text(object, "argument", o->arg);
  set_text(object, "help", o->help);
  json_t *values = split(o->values, " ");
  json_object_set_new(object, "values", is_pass ? pass_names(values) : values);
  return object;
}

static json_t *command_json(const Command *command) {
  static const char *const operands[] = {
    [OPERANDS_NONE] = "none", [OPERANDS_PROGRAMS] = "programs", [OPERANDS_FILES] = "files"
  };
  json_t *object = json_object(), *options = json_array();
  set_text(object, "name", command->name);
  set_text(object, "summary", command->summary);
  set_text(object, "about", command->about);
  set_text(object, "operands", operands[command->operands]);
  json_object_set_new(object, "actions", split(command->actions, " "));
  json_object_set_new(object, "usage", split(command->usage, "\n"));
  for (const Option *o = command->options; o && o->name; o++)
    if (o->help) json_array_append_new(options, option_json(o));
  json_object_set_new(object, "options", options);
  return object;
}

static json_t *environment_json(void) {
  json_t *variables = json_array();
  for (size_t i = 0; i < sizeof environment / sizeof *environment; i++) {
    json_t *object = json_object();
    set_text(object, "name", environment[i].name);
    set_text(object, "help", environment[i].help);
    json_array_append_new(variables, object);
  }
  return variables;
}

static int print_json(const Command *const *commands, int count) {
  json_t *all = json_object(), *list = json_array();
  for (int i = 0; i < count; i++)
    json_array_append_new(list, command_json(commands[i]));
  set_text(all, "version", FLC_VERSION);
  json_object_set_new(all, "commands", list);
  json_object_set_new(all, "environment", environment_json());
  int status =
      json_dumpf(all, stdout, JSON_INDENT(2)) == 0 && putchar('\n') != EOF ? 0 : 1;
  json_decref(all);
  return status;
}

int help_print(FILE *out, const Command *const *commands, int count) {
  fputs("usage: flc COMMAND ...\n\n", out);
  for (int i = 0; i < count; i++)
    fprintf(out, "  %-8s %s\n", commands[i]->name, commands[i]->summary);
  fputs("\n`flc help COMMAND` says more.  Version: flc --version\n", out);
  return out == stdout ? 0 : 1;
}

const Command *help_find(Compiler *c, const char *name, const Command *const *commands,
                         int count) {
  Name *names = new_array(Name, count);
  name = futhark_command(name);
  for (int i = 0; i < count; i++) {
    if (strcmp(name, commands[i]->name) == 0) return commands[i];
    names[i] = commands[i]->name;
  }
  error(c, (Loc){ 0 }, "unknown command %s", name);
  Name closest = diag_closest(name, names, count);
  const char *instead = futhark_instead(name);
  if (instead)
    hint(c, "what Futhark's does is done by `%s`", instead);
  else if (closest)
    hint(c, "did you mean `flc %s`?", closest);
  else if (strchr(name, '.'))
    hint(c,
         "`flc run %s` compiles and runs a program, `flc help` lists what else there is",
         name);
  else
    hint(c, "`flc help` lists the commands");
  diag_flush(c);
  return NULL;
}

int help_on(Compiler *c, int argc, char **argv, const Command *const *commands,
            int count) {
  if (argc == 1) return help_print(stdout, commands, count);
  if (argc > 2)
    return command_usage_error(c, "flc help: expected at most one name of a command");
  if (strcmp(argv[1], "--json") == 0) return print_json(commands, count);
  const Command *command = help_find(c, argv[1], commands, count);
  return command ? options_print_help(command) : 1;
}
