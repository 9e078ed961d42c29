// flc literate FILE: a program as a document.
#include "commands/literate/literate.h"
#include "base/file.h"
#include "commands/scratch.h"
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { OPT_HTML = 512, OPT_INTERPRET, OPT_STOP };

// clang-format off
static const Option option_rows[] = {
  { OPT_HTML, 0, "html", NULL, "write one page of HTML that holds its pictures", NULL },
  { OPT_INTERPRET, 0, "interpret", NULL,
    "compute values with the interpreter, not on the device", NULL },
  { 'o', 'o', "output", "OUT",
    "the document; default `FILE` with `.md` or `.html` for `.fl` or `.fut`; pictures of "
    "Markdown go to a folder `OUT-img`, without the ending", NULL },
  { OPT_STOP, 0, "stop-on-error", NULL, "write nothing if a directive fails", NULL },
  OPTIONS_END
};
// clang-format on

typedef struct LiterateCommand {
  Compiler *c;
  const char *output;
  bool html;
  Literate l;
} LiterateCommand;

// ---- writing

static bool write_part(Compiler *c, const char *path, const Text *text) {
  if (file_write(path, text)) return true;
  error(c, (Loc){ 0 }, "cannot write %s: %s", path, strerror(errno));
  return false;
}

// Pictures first: a page is there with all that it shows.
static bool write_document(const LiterateCommand *command, const LiteratePage *page,
                           const char *folder) {
  Compiler *c = command->c;
  if (page->media.count && mkdir(folder, 0777) != 0 && errno != EEXIST) {
    error(c, (Loc){ 0 }, "cannot make %s: %s", folder, strerror(errno));
    return false;
  }
  vec_each (const Media *, media, &page->media)
    if (!write_part(c, text_format("%s/%s", folder, media->name), media->bytes))
      return false;
  return write_part(c, command->output,
                    command->html ? literate_html(&command->l, page->text) : page->text);
}

// ---- the command

// On standard error what has failed, where; how many directives did.
static int report_failures(const Literate *l) {
  int failed = 0;
  vec_each (Directive *const *, d, &l->directives) {
    if ((*d)->failed) fputs((*d)->failed, stderr);
    failed += (*d)->failed != NULL;
  }
  return failed;
}

// The path up to its last dot, if that is in the name.
static const char *without_ending(const char *path) {
  const char *dot = strrchr(path, '.'), *slash = strrchr(path, '/');
  if (!dot || (slash && dot < slash) || dot == path) return path;
  return text_format("%.*s", (int)(dot - path), path);
}

static int make_document(void *state, const char *folder) {
  LiterateCommand *command = state;
  Literate *l = &command->l;
  const Program *program = program_read(command->c, l->path);
  if (!diag_ok(command->c) || !program) return 1;
  l->file = program->file;
  l->folder = folder;
  literate_split(l);
  if (!literate_run(l)) return 1;
  bool printed = strcmp(command->output, "-") == 0;
  const char *pictures =
      text_format("%s-img", without_ending(printed ? l->path : command->output));
  LiteratePage page = { .l = l,
                        .embeds = command->html,
                        .folder = command_file_name(pictures),
                        .text = text_new() };
  literate_show(&page);
  int failed = report_failures(l);
  if (failed && l->stop_on_error) return 1;
  bool ok = write_document(command, &page, pictures);
  return diag_ok(command->c) && ok && !failed ? 0 : 1;
}

// The words of the command line behind `--`, which are the program's.
static const char **options_behind(int own, int argc, char **argv) {
  const char **options = new_array(const char *, argc + 1);
  for (int i = own + 1; i < argc; i++)
    options[i - own - 1] = argv[i];
  return options;
}

static int command_literate(Compiler *c, int argc, char **argv) {
  LiterateCommand command = { .c = c };
  int own = 1;  // arguments before "--"
  while (own < argc && strcmp(argv[own], "--") != 0)
    own++;
  command.l.options = options_behind(own, argc, argv);
  command.l.check_ir = c->check_ir;
  OptionReader r = options_begin(c, &literate_command, own, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'o') command.output = optarg;
    if (o == OPT_HTML) command.html = true;
    if (o == OPT_INTERPRET) command.l.interpret = true;
    if (o == OPT_STOP) command.l.stop_on_error = true;
  }
  if (r.over) return r.status;
  if (optind != own - 1)
    return command_usage_error(c, "flc literate: expected one file name");
  if (command.html && !literate_has_html())
    return command_usage_error(
        c, "flc literate: --html needs md4c, which this flc was built "
           "without");
  command.l.path = argv[optind];
  const char *base = compile_base(argv[optind]);
  if (!command.output)
    command.output = text_format("%s.%s", base, command.html ? "html" : "md");
  if (!command_spares_programs(c, &command.output, 1)) return 1;
  return scratch_run(c, make_document, &command);
}

const Command literate_command = {
  .name = "literate",
  .summary = "makes a document of a program and its results",
  .usage = "[OPTIONS] FILE [-- OPTIONS OF THE PROGRAM]",
  .about =
      "Writes a program as Markdown or HTML: comments in the first column are the text, "
      "definitions are blocks of code, and [directives](literate.md) such as `-- > :img "
      "e` "
      "become the values of their expressions, as text, pictures, plots, tables, films "
      "or "
      "sounds.  A directive that fails is reported, and the document says so.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_literate,
};
