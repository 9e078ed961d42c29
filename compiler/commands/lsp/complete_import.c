// Completion within `import "..`: the programs and folders that can follow.
#include "base/vec.h"
#include "commands/lsp/lsp.h"
#include "source/lex.h"
#include "source/source.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { ITEM_FILE = 17, ITEM_FOLDER = 19 };

// Does a string begin at this quote, and none end?
static bool opens_string(const char *text, uint32_t quote) {
  bool within = false;
  uint32_t at = quote;
  while (at > 0 && text[at - 1] != '\n')
    within ^= text[--at] == '"';
  return !within;
}

// Where the path begins that is being written at the place; false elsewhere.
static bool import_path_start(const char *text, uint32_t offset, uint32_t *start) {
  static const char word[] = "import";
  const uint32_t length = sizeof word - 1;
  uint32_t at = offset;
  while (at > 0 && text[at - 1] != '"' && text[at - 1] != '\n')
    at--;
  if (at == 0 || text[at - 1] != '"' || !opens_string(text, at - 1)) return false;
  *start = at--;
  while (at > 0 && (text[at - 1] == ' ' || text[at - 1] == '\t'))
    at--;
  return at >= length && memcmp(text + at - length, word, length) == 0 &&
         (at == length || !lex_is_name_part(text[at - length - 1]));
}

// An item that takes the place of the path's last part.
static json_t *path_item(const LspQuery *q, Loc part, const char *label, bool is_folder) {
  return json_pack("{s:s, s:i, s:{s:o, s:s}}", "label", label, "kind",
                   is_folder ? ITEM_FOLDER : ITEM_FILE, "textEdit", "range",
                   lsp_range(q->lsp, part), "newText", label);
}

static int by_text(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static ProgramPaths sorted_names(const char *folder) {
  ProgramPaths names = { 0 };
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; dir && (entry = readdir(dir));)
    if (entry->d_name[0] != '.') vec_push(&names, text_format("%s", entry->d_name));
  if (dir) closedir(dir);
  if (names.count) qsort(names.at, (size_t)names.count, sizeof *names.at, by_text);
  return names;
}

static void add_files(const LspQuery *q, json_t *items, const char *folder, Loc part) {
  ProgramPaths names = sorted_names(folder);
  vec_each (const char *const *, name, &names) {
    const char *path = text_format("%s%s", folder, *name), *end = strrchr(*name, '.');
    struct stat status;
    bool is_program = end && (strcmp(end, ".fl") == 0 || strcmp(end, ".fut") == 0);
    if (stat(path, &status) == 0 && S_ISDIR(status.st_mode))
      json_array_append_new(items, path_item(q, part, text_format("%s/", *name), true));
    else if (is_program && strcmp(path, q->program->file->path) != 0)
      json_array_append_new(
          items,
          path_item(q, part, text_format("%.*s", (int)(end - *name), *name), false));
  }
}

bool lsp_import_completion(const LspQuery *q, json_t *items) {
  const SourceFile *file = q->program->file;
  uint32_t start;
  if (!import_path_start(file->text, q->offset, &start)) return false;
  uint32_t part = q->offset;
  while (part > start && file->text[part - 1] != '/')
    part--;
  const char *slash = strrchr(file->path, '/');
  int own = file->text[start] == '/' || !slash ? 0 : (int)(slash - file->path) + 1;
  const char *folder =
      text_format("%.*s%.*s", own, file->path, (int)(part - start), file->text + start);
  add_files(q, items, *folder ? folder : "./", (Loc){ file, part, q->offset });
  return true;
}
