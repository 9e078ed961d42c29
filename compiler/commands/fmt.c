// flc fmt FILE...: the one layout of programs.
#include "base/file.h"
#include "commands/commands.h"
#include "source/format.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>

// clang-format off
static const Option option_rows[] = {
  { 'c', 0, "check", NULL,
    "write nothing; name the files that would change, exit status 1 if there are some", NULL },
  OPTIONS_END
};
// clang-format on

typedef struct Fmt {
  Compiler *c;
  bool check;
  int different;
} Fmt;

static bool publish(const Fmt *f, const char *path, const char *text) {
  if (strcmp(path, "-") == 0) return fputs(text, stdout) != EOF;
  Text *t = text_new();
  text_add(t, text);
  if (file_write(path, t)) return true;
  error(f->c, (Loc){ 0 }, "cannot write %s: %s", path, strerror(errno));
  return false;
}

// False after an error.
static bool fmt_file(Fmt *f, const char *path) {
  size_t length;
  const char *text = text_read_file(path, &length);
  if (!text) {
    error(f->c, (Loc){ 0 }, "cannot read %s: %s", path, strerror(errno));
    return false;
  }
  bool is_stdin = strcmp(path, "-") == 0;
  SourceFile *file = source_file_new(is_stdin ? "<stdin>" : path, text, length);
  const char *formatted = source_format(f->c, file);
  if (!formatted) return false;
  bool same = strlen(formatted) == length && memcmp(formatted, text, length) == 0;
  if (!same) f->different++;
  if (f->check && !same) printf("%s\n", file->path);
  if (f->check || (same && !is_stdin)) return true;
  return publish(f, path, formatted);
}

static int command_fmt(Compiler *c, int argc, char **argv) {
  Fmt f = { .c = c };
  OptionReader r = options_begin(c, &fmt_command, argc, argv);
  while (options_next(&r))
    f.check = true;
  if (r.over) return r.status;
  if (optind == argc)
    return command_usage_error(c, "flc fmt: expected file names, or `-`");
  bool ok = true;
  for (int i = optind; i < argc; i++) {
    ok = fmt_file(&f, argv[i]) && ok;
    ok = diag_ok(c) && ok;
  }
  return ok && !(f.check && f.different) ? 0 : 1;
}

const Command fmt_command = {
  .name = "fmt",
  .summary = "lays programs out",
  .usage = "[--check] FILE...",
  .about = "Rewrites each program in the one layout that there is, comments included; "
           "with `-` "
           "for a file, standard input to standard output.  Where lines break is mostly "
           "left to "
           "the author.  Files with mistakes, and those that need no change, are not "
           "written to.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_fmt,
};
