// flc doc FILE...: pages about the modules of a library, from its comments and types.
#include "commands/doc/doc.h"
#include "base/embed.h"
#include "base/file.h"
#include "source/source.h"
#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { OPT_TITLE = 512, OPT_PRELUDE };

// clang-format off
static const Option option_rows[] = {
  { 'o', 'o', "output", "FOLDER", "where the pages go; default `doc`", NULL },
  { OPT_TITLE, 0, "title", "TEXT",
    "what the library is called; default: the name of the first file or folder", NULL },
  { OPT_PRELUDE, 0, "prelude", NULL, "the definitions that every program has, too", NULL },
  OPTIONS_END
};
// clang-format on

typedef struct DocCommand {
  Compiler *c;
  const char *output;
  bool prelude;
  Docs docs;
} DocCommand;

// ---- reading

// Comments before the first definition are the file's if a line is empty between them.
static const char *comment_of_file(const AstProgram *ast) {
  if (ast->doc || !ast->decls.count) return ast->doc;
  AstDecl *first = ast->decls.at[0];
  const char *text = first->loc.file->text;
  uint32_t at = first->loc.start;
  int lines = 0;
  while (at > 0 && isspace((unsigned char)text[at - 1]))
    lines += text[--at] == '\n';
  if (lines < 2) return NULL;
  const char *doc = first->doc;
  first->doc = NULL;
  return doc;
}

static DocFile *add_doc_file(Docs *docs, const Program *program, const char *real) {
  DocFile *file = new_node(DocFile, .path = program->path, .real = real,
                           .ast = program->ast, .checked = program->checked,
                           .text = program->file, .doc = comment_of_file(program->ast));
  vec_push(&docs->files, file);
  return file;
}

static bool is_read(const Docs *docs, const char *real) {
  vec_each (DocFile *const *, file, &docs->files)
    if (strcmp((*file)->real, real) == 0) return true;
  return false;
}

// The file and all that it imports; false after an error.
static bool read_library_file(Docs *docs, const char *path) {
  char *found = realpath(path, NULL);
  const char *real = text_format("%s", found ? found : path);
  free(found);
  if (is_read(docs, real)) return true;
  Program *program = program_read(docs->c, path);
  if (!program || !pipeline_run(docs->c, program, "check")) return false;
  add_doc_file(docs, program, real);
  bool ok = true;
  for (int i = 0; i < program->checked->imports.count; i++)
    ok = read_library_file(docs, program->checked->imports.at[i]->path) && ok;
  return ok;
}

static bool read_prelude(Docs *docs) {
  bool ok = true;
  for (int i = 0; i < prelude_file_count; i++) {
    const EmbeddedFile *file = &prelude_files[i];
    Program *program = program_of_text(docs->c, file->path, file->text, file->length);
    program->file->built_in = true;
    program->ast = source_parse(docs->c, program->file);
    if (program->ast)
      add_doc_file(docs, program, file->path);
    else
      ok = false;
  }
  return ok;
}

// ---- names of pages

// How much of a path all files have in common, up to a slash.
static size_t common_folder(const Docs *docs) {
  const char *first = docs->files.at[0]->real;
  size_t common = strlen(first);
  vec_each (DocFile *const *, file, &docs->files) {
    size_t same = 0;
    while (same < common && (*file)->real[same] == first[same])
      same++;
    common = same;
  }
  while (common && first[common - 1] != '/')
    common--;
  return common;
}

static bool is_taken(const Docs *docs, const char *page) {
  if (strcmp(page, "index.html") == 0) return true;
  vec_each (DocFile *const *, file, &docs->files)
    if ((*file)->page &&
        (strcasecmp((*file)->page, page) == 0 || strcasecmp((*file)->source, page) == 0))
      return true;
  return false;
}

// "a/b c.fl" is described by "a-b-c.html".
static void name_pages(Docs *docs) {
  size_t common = docs->files.count ? common_folder(docs) : 0;
  vec_each (DocFile **, at, &docs->files) {
    DocFile *file = *at;
    file->title = compile_base(file->real + common);
    file->shown = file->real + common;
    Text *stem = text_new();
    for (const char *s = file->title; *s; s++)
      text_printf(stem, "%c", isalnum((unsigned char)*s) || strchr("._", *s) ? *s : '-');
    const char *name = text_str(stem);
    for (int i = 2; is_taken(docs, text_format("%s.html", name)) ||
                    is_taken(docs, text_format("%s.source.html", name));
         i++)
      name = text_format("%s-%d", text_str(stem), i);
    file->page = text_format("%s.html", name);
    file->source = text_format("%s.source.html", name);
  }
}

// ---- writing

static bool write_page(const DocCommand *d, const char *name, const Text *page) {
  const char *path = text_format("%s/%s", d->output, name);
  if (file_write(path, page)) return true;
  error(d->c, (Loc){ 0 }, "cannot write %s: %s", path, strerror(errno));
  return false;
}

static bool write_pages(const DocCommand *d) {
  const Docs *docs = &d->docs;
  if (mkdir(d->output, 0777) != 0 && errno != EEXIST) {
    error(d->c, (Loc){ 0 }, "cannot make %s: %s", d->output, strerror(errno));
    return false;
  }
  bool ok = write_page(d, "index.html", doc_index_page(docs));
  for (int i = 0; i < docs->files.count && ok; i++) {
    const DocFile *file = docs->files.at[i];
    ok = write_page(d, file->page, doc_file_page(docs, file)) &&
         write_page(d, file->source, doc_source_page(docs, file));
  }
  return ok;
}

// ---- the command

// "sorts" for "lib/sorts/" and "lib/sorts.fl".
static const char *library_title(const char *path) {
  char *real = realpath(path, NULL);
  const char *title =
      compile_base(command_file_name(text_format("%s", real ? real : path)));
  free(real);
  return *title ? title : path;
}

static int make_docs(DocCommand *d, int count, char **arguments) {
  Docs *docs = &d->docs;
  ProgramPaths paths = { 0 };
  if (!docs->title)
    docs->title =
        count ? library_title(arguments[0]) : "The definitions of every program";
  if (!command_find_all_programs(d->c, arguments, count, &paths)) return 1;
  bool ok = true;
  vec_each (const char *const *, path, &paths)
    ok = read_library_file(docs, *path) && ok;
  if (ok && d->prelude) ok = read_prelude(docs);
  if (!diag_ok(d->c) || !ok) return 1;
  name_pages(docs);
  doc_collect(docs);
  ok = write_pages(d);
  return diag_ok(d->c) && ok ? 0 : 1;
}

static int command_doc(Compiler *c, int argc, char **argv) {
  DocCommand d = { .c = c, .output = "doc", .docs = { .c = c } };
  OptionReader r = options_begin(c, &doc_command, argc, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'o') d.output = optarg;
    if (o == OPT_TITLE) d.docs.title = optarg;
    if (o == OPT_PRELUDE) d.prelude = true;
  }
  if (r.over) return r.status;
  if (optind == argc && !d.prelude)
    return command_usage_error(c, "flc doc: expected a file or folder");
  return make_docs(&d, argc - optind, argv + optind);
}

const Command doc_command = {
  .name = "doc",
  .summary = "makes pages about a library",
  .usage = "[OPTIONS] FILE|FOLDER...",
  .about =
      "Writes a folder of static HTML pages about each file and all that they import: "
      "the "
      "definitions with their types and sizes, the `-- |` comments, links between them "
      "and "
      "to the source; `index.html` lists modules and names.  A folder stands for the "
      "programs in it.",
  .options = option_rows,
  .operands = OPERANDS_PROGRAMS,
  .run = command_doc,
};
