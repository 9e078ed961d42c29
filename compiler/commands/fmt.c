// flc fmt FILE...: the one layout of programs.
#include "base/file.h"
#include "commands/commands.h"
#include "source/format.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LEAST_WIDTH = 20, MOST_WIDTH = 10000 };

// clang-format off
static const Option option_rows[] = {
  { 'c', 0, "check", NULL,
    "write nothing; name the files that would change, exit status 1 if there are some", NULL },
  { 'w', 0, "width", "COLUMNS", "break lines that are longer (default 100)", NULL },
  OPTIONS_END
};
// clang-format on

typedef struct Fmt {
  Compiler *c;
  bool check;
  int width;
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
  const char *formatted = source_format(f->c, file, f->width);
  if (!formatted) return false;
  bool same = strlen(formatted) == length && memcmp(formatted, text, length) == 0;
  if (!same) f->different++;
  if (f->check && !same) printf("%s\n", file->path);
  if (f->check || (same && !is_stdin)) return true;
  return publish(f, path, formatted);
}

static bool read_width(Fmt *f, const char *text) {
  char *end;
  long width = strtol(text, &end, 10);
  f->width = (int)width;
  return end != text && !*end && width >= LEAST_WIDTH && width <= MOST_WIDTH;
}

static int command_fmt(Compiler *c, int argc, char **argv) {
  Fmt f = { .c = c, .width = FORMAT_WIDTH };
  OptionReader r = options_begin(c, &fmt_command, argc, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'c') f.check = true;
    if (o == 'w' && !read_width(&f, optarg))
      return command_usage_error(c, "flc fmt: --width: expected a number from %d to %d",
                                 LEAST_WIDTH, MOST_WIDTH);
  }
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
  .usage = "[OPTIONS] FILE...",
  .about = "Rewrites each program in the one layout that there is, comments included; "
           "with `-` for a file, standard input to standard output.  Lines that are too "
           "long are broken; those that the author broke stay broken.  Files with "
           "mistakes, and those that need no change, are not written to.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_fmt,
};
