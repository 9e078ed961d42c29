// flc.lock: which versions `flc pkg sync` has put into lib/, and their hashes.
//
//   requirements HASH                       of what futhark.pkg required
//   package PATH VERSION COMMIT HASH        of all files; COMMIT is - for a folder
#include "base/hash.h"
#include "commands/pkg/pkg.h"
#include <errno.h>
#include <string.h>

const char pkg_lock_name[] = "flc.lock";

const char *pkg_requirements_digest(const PkgManifest *m) {
  Hash *hash = hash_new();
  vec_each (const PkgRequire *, r, &m->requires) {
    hash_text(hash, r->path);
    hash_text(hash, pkg_version_text(r->version));
    hash_text(hash, r->commit ? r->commit : "");
  }
  return hash_digest(hash);
}

const char *pkg_lock_text(const PkgManifest *m, const PkgChoices *choices) {
  Text *t = text_new();
  text_add(t, "-- Written by `flc pkg sync`: what lies in lib/, and its hashes.\n");
  text_printf(t, "requirements %s\n", pkg_requirements_digest(m));
  vec_each (const PkgChoice *, k, choices)
    text_printf(t, "package %s %s %s %s\n", k->require.path,
                pkg_version_text(k->require.version),
                k->contents->commit ? k->contents->commit : "-", k->contents->digest);
  return text_str(t);
}

static bool is_digest(const char *text) {
  return strlen(text) == 64 && strspn(text, "0123456789abcdef") == 64;
}

// Takes a word of the line; "" at its end.
static const char *take_word(const char **line) {
  *line += strspn(*line, " ");
  size_t length = strcspn(*line, " \n");
  const char *word = text_format("%.*s", (int)length, *line);
  *line += length;
  return word;
}

static bool read_line(const char *line, PkgLock *out) {
  const char *kind = take_word(&line);
  if (!*kind || strncmp(kind, "--", 2) == 0) return true;
  if (strcmp(kind, "requirements") == 0) {
    out->requirements = take_word(&line);
    return is_digest(out->requirements) && !*take_word(&line);
  }
  PkgLocked locked = { .path = take_word(&line) };
  bool version = pkg_version_read(take_word(&line), &locked.version);
  const char *commit = take_word(&line);
  locked.commit = strcmp(commit, "-") == 0 ? NULL : commit;
  locked.digest = take_word(&line);
  vec_push(&out->packages, locked);
  return strcmp(kind, "package") == 0 && !pkg_path_problem(locked.path) && version &&
         (!locked.commit || pkg_is_commit(commit, strlen(commit))) &&
         is_digest(locked.digest) && !*take_word(&line);
}

bool pkg_lock_read(Compiler *c, PkgLock *out) {
  size_t length;
  *out = (PkgLock){ 0 };
  const char *text = text_read_lines(pkg_lock_name, &length);
  if (!text && errno == ENOENT) return true;
  if (!text) error(c, (Loc){ 0 }, "cannot read %s: %s", pkg_lock_name, strerror(errno));
  if (!text) return false;
  SourceFile *file = source_file_new(pkg_lock_name, text, length);
  for (const char *line = text; *line;) {
    uint32_t start = (uint32_t)(line - text), size = (uint32_t)strcspn(line, "\n");
    if (!read_line(line, out)) {
      error(c, (Loc){ file, start, start + size },
            "this is no line of a lock file: `package PATH VERSION COMMIT HASH`");
      hint(c, "`flc pkg sync` writes %s anew if it is gone", pkg_lock_name);
      return false;
    }
    line += size + (line[size] == '\n');
  }
  return true;
}

const PkgLocked *pkg_lock_find(const PkgLock *lock, const char *path) {
  vec_each (const PkgLocked *, p, &lock->packages)
    if (strcmp(p->path, path) == 0) return p;
  return NULL;
}
