// lib/, where imports find packages: lib/github.com/user/name/FILES.
//
// All new folders are written beside their places first and then renamed, those that they replace
// out of the way; what packages held before, and what else lies in lib/, is not touched until then.
#include "base/file.h"
#include "commands/pkg/pkg.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *package_folder(const char *path) {
  return text_format("lib/%s", path);
}

static bool exists(const char *path) {
  struct stat status;
  return lstat(path, &status) == 0;
}

// The digest of what lies in a folder; NULL if there is none, or what no package holds.
static const char *folder_digest(const char *folder) {
  PkgContents contents = { 0 };
  const char *reason;
  return pkg_read_folder(folder, &contents, &reason) ? contents.digest : NULL;
}

bool pkg_lib_is(const PkgLock *lock, const char **problem, bool *changed) {
  vec_each (const PkgLocked *, p, &lock->packages) {
    const char *folder = package_folder(p->path);
    const char *digest = folder_digest(folder);
    if (digest && strcmp(digest, p->digest) == 0) continue;
    *changed = exists(folder);
    *problem = *changed ? text_format("%s is not as %s says", folder, pkg_lock_name)
                        : text_format("%s is not there", folder);
    return false;
  }
  return true;
}

// ---- what may go

// Would somebody's changes be lost?  Not if the folder is as it was locked, or as it is to be.
static bool may_replace(const PkgLib *lib, const char *path, const char *becomes) {
  const char *folder = package_folder(path);
  if (lib->force || !exists(folder)) return true;
  const PkgLocked *locked = pkg_lock_find(lib->lock, path);
  const char *is = folder_digest(folder);
  if (is && ((becomes && strcmp(is, becomes) == 0) ||
             (locked && strcmp(is, locked->digest) == 0)))
    return true;
  error(lib->c, (Loc){ 0 }, "%s would be replaced, but it is not as a package left it",
        folder);
  hint(lib->c, "move it away, or say --force");
  return false;
}

// Is it as it was when it was locked?
static bool check_locked(const PkgLib *lib, const PkgChoice *k) {
  const PkgLocked *locked = pkg_lock_find(lib->lock, k->require.path);
  if (!locked || pkg_version_compare(locked->version, k->require.version) != 0)
    return true;
  bool same_commit = !locked->commit || !k->contents->commit ||
                     strcmp(locked->commit, k->contents->commit) == 0;
  if (same_commit && strcmp(locked->digest, k->contents->digest) == 0) return true;
  error(lib->c, k->require.loc, "`%s` %s is not what it was when %s was written",
        k->require.path, pkg_version_text(k->require.version), pkg_lock_name);
  note(lib->c, (Loc){ 0 }, "%s then: %s, now: %s", same_commit ? "hash" : "commit",
       same_commit ? locked->digest : locked->commit,
       same_commit ? k->contents->digest : k->contents->commit);
  hint(lib->c, "if that is meant, take its line out of %s", pkg_lock_name);
  return false;
}

static bool is_chosen(const PkgChoices *choices, const char *path) {
  vec_each (const PkgChoice *, k, choices)
    if (strcmp(k->require.path, path) == 0) return true;
  return false;
}

static bool check_all(const PkgLib *lib, const PkgChoices *choices) {
  bool ok = true;
  vec_each (const PkgChoice *, k, choices)
    ok = check_locked(lib, k) && may_replace(lib, k->require.path, k->contents->digest) &&
         ok;
  vec_each (const PkgLocked *, p, &lib->lock->packages)
    ok = (is_chosen(choices, p->path) || may_replace(lib, p->path, NULL)) && ok;
  return ok;
}

// ---- writing

static bool failed(const PkgLib *lib, const char *path) {
  error(lib->c, (Loc){ 0 }, "cannot write %s: %s", path, strerror(errno));
  return false;
}

static bool write_package(const PkgLib *lib, const char *folder, const PkgContents *c) {
  file_make_folders(text_format("%s/", folder), FILE_PUBLIC);
  vec_each (const PkgFile *, f, &c->files) {
    const char *path = text_format("%s/%s", folder, f->name);
    file_make_folders(path, FILE_PUBLIC);
    Text *t = text_new();
    text_add_bytes(t, f->bytes, f->length);
    if (!file_write(path, t)) return failed(lib, path);
  }
  return true;
}

// Puts a folder where another one may be, which goes to `aside`; or leaves that where it is.
static bool swap_in(const PkgLib *lib, const char *from, const char *to,
                    const char *aside) {
  file_make_folders(to, FILE_PUBLIC);
  file_make_folders(aside, FILE_PUBLIC);
  bool moved = exists(to);
  if (moved && rename(to, aside) != 0) return failed(lib, to);
  if (rename(from, to) == 0) return true;
  failed(lib, to);
  if (moved) rename(aside, to);
  return false;
}

// Takes a package away, and the folders that it leaves empty.
static void remove_package(const char *path) {
  file_remove_folder(package_folder(path));
  for (const char *rest = path, *slash; (slash = strrchr(rest, '/'));) {
    rest = text_format("%.*s", (int)(slash - rest), rest);
    if (rmdir(package_folder(rest)) != 0) return;
  }
}

static bool write_packages(const PkgLib *lib, const PkgChoices *choices,
                           const char *scratch) {
  vec_each (const PkgChoice *, k, choices)
    if (!write_package(lib, text_format("%s/new/%s", scratch, k->require.path),
                       k->contents))
      return false;
  vec_each (const PkgChoice *, k, choices)
    if (!swap_in(lib, text_format("%s/new/%s", scratch, k->require.path),
                 package_folder(k->require.path),
                 text_format("%s/old/%s", scratch, k->require.path)))
      return false;
  vec_each (const PkgLocked *, p, &lib->lock->packages)
    if (!is_chosen(choices, p->path)) remove_package(p->path);
  return true;
}

bool pkg_lib_write(const PkgLib *lib, const PkgChoices *choices) {
  if (!check_all(lib, choices)) return false;
  if (!choices->count && !lib->lock->packages.count) return true;
  mkdir("lib", 0777);
  char scratch[] = "lib/.flc-XXXXXX";
  SignalHold hold = signals_hold();
  bool ok =
      mkdtemp(scratch) ? write_packages(lib, choices, scratch) : failed(lib, scratch);
  file_remove_folder(scratch);
  rmdir("lib");  // if nothing is in it
  signals_release(&hold);
  return ok;
}
