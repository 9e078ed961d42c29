#include "base/file.h"
#include "base/vec.h"
#include "commands/commands.h"
#include "commands/futhark.h"
#include <dirent.h>
#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

const Entry *command_find_entry(const Core *core, const char *name) {
  for (int i = 0; i < core->entry_count; i++)
    if (strcmp(core->entries[i]->name, name) == 0) return core->entries[i];
  return NULL;
}

static void hint_at_entries(Compiler *c) {
  hint(c, "write `entry` instead of `def` before the function to run");
}

void command_warn_without_entries(Compiler *c, const Core *core) {
  if (core->entry_count > 0) return;
  warning(c, (Loc){ 0 }, "the program has no entry points: there is nothing to compile");
  hint_at_entries(c);
}

const Entry *command_entry(Compiler *c, const Core *core, const char *name) {
  if (!name && core->entry_count == 1) return core->entries[0];
  const Entry *entry = command_find_entry(core, name ? name : "main");
  if (entry) return entry;
  if (core->entry_count == 0) {
    error(c, (Loc){ 0 }, "the program has no entry points");
    hint_at_entries(c);
    return NULL;
  }
  error(c, (Loc){ 0 }, "the program has no entry point `%s`", name ? name : "main");
  Text *t = text_new();
  for (int i = 0; i < core->entry_count; i++)
    text_printf(t, "%s%s", i ? ", " : "", core->entries[i]->name);
  hint(c, "its entry points are %s: choose one with -e", text_str(t));
  return NULL;
}

static void read_error(Compiler *c, const EntryValue *input, const char *message) {
  if (message)
    error(c, (Loc){ 0 }, "parameter %s: %s: %s", input->name, input->type, message);
  else
    error(c, (Loc){ 0 }, "parameter %s: %s: expected a value, found the end of the input",
          input->name, input->type);
}

// The values of one parameter, a tuple's or record's several; false after an error.
static bool read_input(Compiler *c, const Entry *entry, const EntryValue *input,
                       ValueReader *reader, const Value **values) {
  for (int k = input->first; k < input->first + input->count; k++) {
    CoreType type = entry->params[k]->type;
    const char *message = NULL;
    Value *v = value_read(reader, &(ValueType){ type.elem, type.rank }, &message);
    if (!v) read_error(c, input, message);
    if (!v) return false;
    values[k - entry->size_count] = v;
  }
  return true;
}

const Value **command_read_inputs(Compiler *c, const Entry *entry, ValueReader *reader) {
  const Value **values = new_array(const Value *, entry->param_count + 1);
  for (int i = 0; i < entry->input_count; i++)
    if (!read_input(c, entry, &entry->inputs[i], reader, values)) return NULL;
  if (value_at_end(reader)) return values;
  error(c, (Loc){ 0 }, "expected the end of the input after %d value%s, found more data",
        entry->param_count - entry->size_count,
        entry->param_count - entry->size_count == 1 ? "" : "s");
  return NULL;
}

const char *command_file_name(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? slash + 1 : path;
}

int command_usage_error(Compiler *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  char text[1024];
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  error(c, (Loc){ 0 }, "%s", text);
  diag_flush(c);
  return 1;
}

// The command's option that is nearly called so.
static void hint_option(const OptionReader *r, const char *word) {
  Vec(Name) names = { 0 };
  for (const struct option *o = r->names; o->name; o++)
    vec_push(&names, o->name);
  const char *name = text_format("%.*s", (int)strcspn(word + 2, "="), word + 2);
  Name closest = diag_closest(name, names.at, names.count);
  const char *instead = futhark_instead(word);
  if (instead)
    hint(r->c, "what Futhark's does is done by `%s`", instead);
  else if (closest)
    hint(r->c, "did you mean `--%s`?", closest);
  else
    hint(r->c, "`flc %s --help` lists its options", r->command->name);
}

// A letter among several is not the word that getopt_long has passed last.
int command_option_error(const OptionReader *r, int found) {
  const char *word = r->argv[optind - 1], *name = r->argv[0];
  bool is_long = strncmp(word, "--", 2) == 0;
  const char *option = is_long || !optopt ? word : text_format("-%c", optopt);
  if (found == ':')
    return command_usage_error(r->c, "flc %s: %s needs an argument", name, option);
  error(r->c, (Loc){ 0 }, "flc %s: unknown option %s", name, option);
  hint_option(r, is_long ? option : "--");
  diag_flush(r->c);
  return 1;
}

void command_progress(const char *format, ...) {
  if (!isatty(STDERR_FILENO)) return;
  va_list args;
  va_start(args, format);
  fprintf(stderr, "\r%s\033[K", text_format_list(format, args));
  va_end(args);
}

int command_status_file(void) {
  int file = memfd_create("status", 0);
  if (file > 0) setenv("FLC_STATUS_FILE", text_format("%d", file), 1);
  return file;
}

const char *command_status(int file) {
  enum { STATUS_BYTES = 64 };  // runtime/build.h writes as many
  char status[STATUS_BYTES + 1] = { 0 };
  if (file < 0 || pread(file, status, STATUS_BYTES, 0) <= 0) return "";
  return text_format("%s", status);
}

const char *command_name_sizes(const char *text) {
  Text *t = text_new();
  for (const char *s = text; *s;) {
    size_t digits = *s == '?' ? strspn(s + 1, "0123456789") : 0;
    if (!digits) {
      text_add_bytes(t, s++, 1);
      continue;
    }
    const char *name = text_format("k%.*s", (int)digits, s + 1);
    while (strstr(text, name))
      name = text_format("%s'", name);
    text_add(t, name);
    s += digits + 1;
  }
  return text_str(t);
}

// ---- programs in folders

static int path_by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool has_end(const char *text, const char *end) {
  size_t length = strlen(text), cut = strlen(end);
  return length > cut && strcmp(text + length - cut, end) == 0;
}

static bool is_a_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

// What is in a folder, sorted by name.
static ProgramPaths folder_entries(const char *folder) {
  ProgramPaths paths = { 0 };
  DIR *dir = opendir(folder);
  if (!dir) return paths;
  const char *slash = has_end(folder, "/") ? "" : "/";
  for (const struct dirent *entry; (entry = readdir(dir));)
    if (entry->d_name[0] != '.')
      vec_push(&paths, text_format("%s%s%s", folder, slash, entry->d_name));
  closedir(dir);
  if (paths.count) qsort(paths.at, (size_t)paths.count, sizeof *paths.at, path_by_text);
  return paths;
}

static bool is_program(const char *path) {
  return has_end(path, ".fl") || has_end(path, ".fut");
}

void command_find_programs_in(const char *folder, ProgramPaths *out) {
  ProgramPaths paths = folder_entries(folder);
  vec_each (const char *const *, path, &paths)
    if (is_program(*path) && !is_a_folder(*path)) vec_push(out, *path);
}

static void find_in_folder(ProgramPaths *out, const char *folder) {
  ProgramPaths paths = folder_entries(folder);
  vec_each (const char *const *, path, &paths) {
    if (is_a_folder(*path))
      find_in_folder(out, *path);
    else if (is_program(*path))
      vec_push(out, *path);
  }
}

void command_find_programs(const char *path, ProgramPaths *out) {
  if (is_a_folder(path))
    find_in_folder(out, path);
  else
    vec_push(out, path);
}

bool command_find_all_programs(Compiler *c, char **paths, int count, ProgramPaths *out) {
  for (int i = 0; i < count; i++) {
    int before = out->count;
    command_find_programs(paths[i], out);
    if (out->count > before) continue;
    command_usage_error(c, "there is no program (.fl or .fut) in %s", paths[i]);
    return false;
  }
  return true;
}

bool command_spares_programs(Compiler *c, const char *const *paths, int count) {
  for (int i = 0; i < count; i++) {
    if (!paths[i] || !is_program(paths[i]) || access(paths[i], F_OK) != 0) continue;
    error(c, (Loc){ 0 }, "the output would replace the program %s", paths[i]);
    hint(c, "name another file for it");
    diag_flush(c);
    return false;
  }
  return true;
}

bool command_outputs(Compiler *c, const char *const *paths, int count) {
  if (!command_spares_programs(c, paths, count)) return false;
  for (int i = 0; i < count; i++) {
    if (!paths[i] || file_is_writable(paths[i])) continue;
    command_usage_error(c, "cannot write %s: %s", paths[i], strerror(errno));
    return false;
  }
  return true;
}

int command_finish(Compiler *c, int status) {
  bool flushed = fflush(stdout) == 0;
  int reason = errno;  // of this failure; of earlier ones it is not known any more
  if (flushed && !ferror(stdout)) return status;
  command_usage_error(c, "cannot write to standard output%s%s", flushed ? "" : ": ",
                      flushed ? "" : strerror(reason));
  return status ? status : 1;
}
