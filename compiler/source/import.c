// Which file an import names, and its text.
#include "base/mem.h"
#include "source/source.h"
#include <stdlib.h>
#include <string.h>

// The path without its last part, "" or "folder/".
static const char *folder_of(const char *path) {
  const char *slash = strrchr(path, '/');
  return slash ? text_format("%.*s", (int)(slash - path + 1), path) : "";
}

// Where the last part of the first `end` bytes begins, which end in a slash.
static size_t last_part(const char *path, size_t end) {
  size_t at = end ? end - 1 : 0;
  while (at > 0 && path[at - 1] != '/')
    at--;
  return at;
}

// The path without `.` and, where that takes back what stands before it, `..`: files that lead to
// one place by several ways are one file, whose types are the same.
static const char *straight(const char *path) {
  char *out = mem_copy(path, strlen(path) + 1);
  size_t end = 0;
  while (*path) {
    size_t length = strcspn(path, "/"), whole = length + (path[length] == '/');
    size_t last = last_part(out, end);
    bool named = end - last > 1 && strncmp(out + last, "../", 3) != 0;
    bool up = length == 2 && strncmp(path, "..", 2) == 0 && named;
    bool here = length == 1 && *path == '.';
    if (!up && !here) memcpy(out + end, path, whole);
    end = up ? last : here ? end : end + whole;
    path += whole;
  }
  out[end] = '\0';
  return out;
}

const char *source_import_path(const AstModExp *import, const char *ending) {
  const char *folder = import->u.path[0] == '/' ? "" : folder_of(import->loc.file->path);
  return straight(text_format("%s%s%s", folder, import->u.path, ending));
}

// The file at the path, which is read once; NULL if there is none.
static SourceFile *file_at(const Compiler *c, const char *path) {
  Name name = name_of(c->names, path);
  SourceFile *known = map_get(c->sources, name);
  if (known) return known;
  size_t length;
  const char *text = text_read_lines(path, &length);
  if (!text) return NULL;
  known = source_file_new(path, text, length);
  map_put(c->sources, name, known);
  return known;
}

// As in the folder, which is "" or ends in a slash.
static SourceFile *file_in(const Compiler *c, const char *folder, const char *path) {
  static const char *const endings[] = { ".fl", ".fut" };
  SourceFile *file = NULL;
  for (int i = 0; i < 2 && !file; i++)
    file = file_at(c, straight(text_format("%s%s%s", folder, path, endings[i])));
  return file;
}

SourceFile *source_import(const Compiler *c, const AstModExp *import) {
  const char *path = import->u.path, *folders = getenv("FLC_IMPORTS");
  if (*path == '/') return file_in(c, "", path);
  SourceFile *file = file_in(c, folder_of(import->loc.file->path), path);
  while (folders && *folders && !file) {
    int length = (int)strcspn(folders, ":");
    if (length > 0) file = file_in(c, text_format("%.*s/", length, folders), path);
    folders += length + (folders[length] == ':');
  }
  return file;
}
