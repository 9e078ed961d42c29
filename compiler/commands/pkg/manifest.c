// [package PATH]
// [require { PATH VERSION [#COMMIT] ... }]          -- and comments
#include "base/vec.h"
#include "commands/pkg/pkg.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

// ---- paths

static bool is_path_byte(char b) { return isalnum((unsigned char)b) || strchr("-_.", b); }

const char *pkg_path_problem(const char *path) {
  const char *part = path;
  if (strstr(path, "://")) return "no protocol stands before it";
  for (;; part++) {
    if (*part == '.' || *part == '-') return "its parts begin with letters or digits";
    size_t length = 0;
    while (part[length] && is_path_byte(part[length]))
      length++;
    if (length == 0) return "it looks like github.com/user/name";
    part += length;
    if (*part != '/') break;
  }
  if (!strchr(path, '/')) return "it looks like github.com/user/name";
  if (*part == '\0') return NULL;
  size_t digits = *part == '@' ? strspn(part + 1, "0123456789") : 0;
  return digits && digits < 10 && part[1 + digits] == '\0'
             ? NULL
             : "only a major version such as @2 may stand behind it";
}

const char *pkg_path_repository(const char *path) {
  return text_format("%.*s", (int)strcspn(path, "@"), path);
}

const char *pkg_path_major(PkgVersion version) {
  return version.major > 1 ? text_format("@%lld", (long long)version.major) : "";
}

int64_t pkg_path_number(const char *path) {
  const char *at = strchr(path, '@');
  return at ? strtoll(at + 1, NULL, 10) : 1;
}

bool pkg_path_allows(const char *path, PkgVersion version) {
  const char *at = strchr(path, '@');
  if (!at) return version.major <= 1;
  return strcmp(text_format("%lld", (long long)version.major), at + 1) == 0;
}

// ---- reading

typedef struct ManifestReader {
  Compiler *c;
  SourceFile *file;
  uint32_t at;
} ManifestReader;

static void skip_comments(ManifestReader *r) {
  const char *text = r->file->text;
  for (;;) {
    r->at += (uint32_t)strspn(text + r->at, " \t\r\n");
    if (strncmp(text + r->at, "--", 2) != 0) return;
    r->at += (uint32_t)strcspn(text + r->at, "\n");
  }
}

// The next word, or `{` or `}`; empty at the end.
static const char *next_word(ManifestReader *r, Loc *loc) {
  skip_comments(r);
  const char *start = r->file->text + r->at;
  size_t length = strcspn(start, " \t\r\n{}");
  if (length == 0 && *start) length = 1;
  *loc = (Loc){ r->file, r->at, r->at + (uint32_t)length };
  r->at += (uint32_t)length;
  return text_format("%.*s", (int)length, start);
}

static bool expected(const ManifestReader *r, Loc loc, const char *what,
                     const char *found) {
  error(r->c, loc, "expected %s, found %s%s%s", what, *found ? "`" : "",
        *found ? found : "the end", *found ? "`" : "");
  return false;
}

static bool check_path_word(const ManifestReader *r, Loc loc, const char *path) {
  if (strcmp(path, "{") == 0 || strcmp(path, "}") == 0 || !*path)
    return expected(r, loc, "the path of a package", path);
  const char *problem = pkg_path_problem(path);
  if (problem) error(r->c, loc, "`%s` is no path of a package: %s", path, problem);
  return !problem;
}

static bool read_commit(ManifestReader *r, PkgRequire *require) {
  uint32_t before = r->at;
  Loc loc;
  const char *word = next_word(r, &loc);
  if (*word != '#') {
    r->at = before;
    return true;
  }
  require->commit = word + 1;
  require->loc.end = loc.end;
  if (pkg_is_commit(word + 1, strlen(word + 1))) return true;
  return expected(r, loc, "the hash of a commit behind `#`", word);
}

static bool read_require(ManifestReader *r, PkgManifest *m, const char *path, Loc loc) {
  PkgRequire require = { .path = path };
  if (!check_path_word(r, loc, path)) return false;
  Loc at;
  const char *word = next_word(r, &at);
  if (!pkg_version_read(word, &require.version))
    return expected(r, at, "a version such as 1.2.3", word);
  if (!pkg_path_allows(path, require.version)) {
    error(r->c, at, "%s is no version of `%s`", word, path);
    hint(r->c, "from 2.0.0 on, the major version belongs to the path: %s@%lld",
         pkg_path_repository(path), (long long)require.version.major);
    return false;
  }
  require.loc = (Loc){ r->file, loc.start, at.end };
  if (!read_commit(r, &require)) return false;
  const PkgRequire *other = pkg_manifest_find(m, path);
  if (other) error(r->c, loc, "`%s` is required twice", path);
  if (other) note(r->c, other->loc, "here, too");
  vec_push(&m->requires, require);
  return !other;
}

static bool read_requires(ManifestReader *r, PkgManifest *m) {
  Loc loc;
  const char *word = next_word(r, &loc);
  if (strcmp(word, "{") != 0) return expected(r, loc, "`{` after `require`", word);
  for (;;) {
    word = next_word(r, &loc);
    m->close = loc;
    if (strcmp(word, "}") == 0) return true;
    if (!*word) return expected(r, loc, "`}` at the end of `require`", word);
    if (!read_require(r, m, word, loc)) return false;
  }
}

static bool read_package(ManifestReader *r, PkgManifest *m) {
  Loc loc;
  m->package = next_word(r, &loc);
  return check_path_word(r, loc, m->package);
}

bool pkg_manifest_read(Compiler *c, const char *name, const char *text,
                       PkgManifest *out) {
  SourceFile *file = source_file_new(name, text, strlen(text));
  ManifestReader r = { c, file, 0 };
  *out = (PkgManifest){ .file = file };
  Loc loc;
  const char *word = next_word(&r, &loc);
  if (strcmp(word, "package") == 0) {
    if (!read_package(&r, out)) return false;
    word = next_word(&r, &loc);
  }
  if (strcmp(word, "require") == 0) {
    if (!read_requires(&r, out)) return false;
    word = next_word(&r, &loc);
  }
  if (!*word) return true;
  return expected(&r, loc,
                  out->close.file ? "the end"
                  : out->package  ? "`require`"
                                  : "`package` or `require`",
                  word);
}

const PkgRequire *pkg_manifest_find(const PkgManifest *m, const char *path) {
  vec_each (const PkgRequire *, r, &m->requires)
    if (strcmp(r->path, path) == 0) return r;
  return NULL;
}

// ---- changing

static const char *require_text(const PkgRequire *r) {
  return text_format("%s %s%s%s", r->path, pkg_version_text(r->version),
                     r->commit ? " #" : "", r->commit ? r->commit : "");
}

// The text with `with` for the bytes from `start` to `end`.
static const char *replaced(const PkgManifest *m, uint32_t start, uint32_t end,
                            const char *with) {
  const char *text = m->file->text;
  return text_format("%.*s%s%s", (int)start, text, with, text + end);
}

const char *pkg_manifest_with(const PkgManifest *m, const PkgRequire *require) {
  const char *text = require_text(require);
  const PkgRequire *old = pkg_manifest_find(m, require->path);
  if (old) return replaced(m, old->loc.start, old->loc.end, text);
  if (!m->close.file)
    return text_format("%s%srequire {\n  %s\n}\n", m->file->text,
                       m->file->length ? "\n" : "", text);
  uint32_t start = m->close.start;
  while (start > 0 && strchr(" \t", m->file->text[start - 1]))
    start--;
  bool own_line = start > 0 && m->file->text[start - 1] == '\n';
  return replaced(m, start, m->close.start,
                  text_format("%s  %s\n", own_line ? "" : "\n", text));
}

const char *pkg_manifest_without(const PkgManifest *m, const PkgRequire *require) {
  const char *text = m->file->text;
  uint32_t start = require->loc.start, end = require->loc.end;
  while (start > 0 && strchr(" \t", text[start - 1]))
    start--;
  bool line_start = start == 0 || text[start - 1] == '\n';
  uint32_t behind = end + (uint32_t)strspn(text + end, " \t\r");
  if (line_start && text[behind] == '\n') end = behind + 1;
  return replaced(m, start, end, "");
}
