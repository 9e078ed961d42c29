// Packages of programs, as `futhark.pkg` files describe them: releases of git repositories, by the
// path of the repository and a semantic version.
//
// Nothing of a package is executed.  Repositories are fetched into a bare one of our own and their
// files read from there, so that neither hooks nor filters nor what their configuration says are
// of any effect.
#pragma once
#include "base/diag.h"
#include "base/text.h"
#include "base/vec.h"

// ---- versions (version.c)

typedef struct PkgVersion {
  int64_t major, minor, patch;
  const char *pre;    // behind `-`; NULL: none
  const char *build;  // behind `+`; NULL: none
} PkgVersion;

// Is the whole text a version X.Y.Z?  An order: numbers first, then releases behind what came
// before them.
bool pkg_version_read(const char *text, PkgVersion *out);
const char *pkg_version_text(PkgVersion v);
int pkg_version_compare(PkgVersion a, PkgVersion b);
// The commit of a version that is none of a release, `0.0.0-TIME+COMMIT`; else NULL.
const char *pkg_version_commit(PkgVersion v);
// Hexadecimal digits, as many as commits may have?
bool pkg_is_commit(const char *text, size_t length);

// ---- manifests (manifest.c)

typedef struct PkgRequire {
  const char *path;
  PkgVersion version;
  const char *commit;  // what it must be; NULL: not said
  Loc loc;
} PkgRequire;

typedef struct PkgManifest {
  SourceFile *file;
  const char *package;  // what it is the manifest of; NULL: of a program
  Vec(PkgRequire) requires;
  Loc close;  // the `}` of the requirements; no file: there are none
} PkgManifest;

// Why this is no path of a package; NULL: it is one.
const char *pkg_path_problem(const char *path);
// `path` without the major version, `@2`, at its end.
const char *pkg_path_repository(const char *path);
// That number; 1: there is none.
int64_t pkg_path_number(const char *path);
// May packages of this path have the version?  Behind `@2` stand those of 2.y.z, else 0 and 1.
bool pkg_path_allows(const char *path, PkgVersion version);
// What stands behind paths of packages that may have the version: `@2`, or nothing.
const char *pkg_path_major(PkgVersion version);

// False after errors.
bool pkg_manifest_read(Compiler *c, const char *name, const char *text, PkgManifest *out);
const PkgRequire *pkg_manifest_find(const PkgManifest *m, const char *path);
// The text of the manifest with the requirement added, or in the place of that for the same path.
// Comments and layout of the rest stay.
const char *pkg_manifest_with(const PkgManifest *m, const PkgRequire *require);
// The text without a requirement that it has.
const char *pkg_manifest_without(const PkgManifest *m, const PkgRequire *require);

// ---- where packages come from (source.c, git.c)

typedef struct PkgFile {
  const char *name;  // within the folder of the package
  const char *bytes;
  size_t length;
} PkgFile;

typedef struct PkgRelease {
  PkgVersion version;
  const char *commit;  // NULL: of a folder
} PkgRelease;
typedef Vec(PkgRelease) PkgReleases;

typedef struct PkgContents {
  const char *commit;  // NULL: of a folder
  PkgManifest manifest;
  Vec(PkgFile) files;  // by name
  const char *digest;  // SHA-256 of all names and bytes
} PkgContents;

typedef struct PkgSources {
  Compiler *c;
  const char *scratch;        // a folder for repositories
  Vec(const char *) folders;  // searched first
  Map *known, *contents;      // by interned path; by interned path and version
} PkgSources;

// The releases of a package, oldest first; false after an error.
bool pkg_releases(PkgSources *s, const char *path, PkgReleases *out);
// The newest release of those whose major version is too great for the path; NULL: there is none,
// or nobody has asked for the releases of this path.
const PkgVersion *pkg_later(const PkgSources *s, const char *path);
// The newest of some; what came before releases only if there is nothing else.  NULL if there are
// none.
const PkgRelease *pkg_newest_of(const PkgReleases *releases);
// The newest release, or for a repository without one the newest commit; false after an error.
bool pkg_newest(PkgSources *s, const char *path, PkgRelease *out);
// What a version of a package holds; NULL after an error.  `wanted` stands where it is required.
const PkgContents *pkg_contents(PkgSources *s, const PkgRequire *wanted);
// The digest of files in the order of their names.
const char *pkg_digest(const PkgFile *files, int count);
// The files below a folder, by name; false with a reason if there is what is neither a file nor a
// folder, or something cannot be read.
bool pkg_read_folder(const char *folder, PkgContents *out, const char **reason);

// Lists `refs` of a repository: lines of `COMMIT\tREF`.  NULL after an error.
const char *pkg_git_refs(PkgSources *s, const char *url, const char *refs);
// Reads a release or commit of a repository: its manifest's text, its files.  False after an error.
bool pkg_git_read(PkgSources *s, const char *url, const PkgRequire *wanted,
                  PkgContents *out);
// The time of a commit, as in versions that are none of releases; NULL after an error.
const char *pkg_git_time(PkgSources *s, const char *url, const char *commit);

// ---- which versions (solve.c)

typedef struct PkgChoice {
  PkgRequire require;  // of the version that was chosen
  const PkgContents *contents;
} PkgChoice;
typedef Vec(PkgChoice) PkgChoices;

// For each package that is needed, also by others, the oldest version that satisfies all, by path.
// False after errors.
bool pkg_solve(PkgSources *s, const PkgManifest *root, PkgChoices *out);

// ---- the lock file (lock.c)

typedef struct PkgLocked {
  const char *path;
  PkgVersion version;
  const char *commit;  // NULL: from a folder
  const char *digest;
} PkgLocked;

typedef struct PkgLock {
  const char
      *requirements;  // the digest of what the manifest required; NULL: there is no file
  Vec(PkgLocked) packages;
} PkgLock;

extern const char pkg_lock_name[];

// The lock file of this folder, if there is one; false after an error.
bool pkg_lock_read(Compiler *c, PkgLock *out);
const char *pkg_lock_text(const PkgManifest *m, const PkgChoices *choices);
// The digest of what a manifest requires.
const char *pkg_requirements_digest(const PkgManifest *m);
const PkgLocked *pkg_lock_find(const PkgLock *lock, const char *path);

// ---- lib/ (lib.c)

typedef struct PkgLib {
  Compiler *c;
  const PkgLock *lock;
  bool force;  // what was changed by hand goes, too
} PkgLib;

// Is lib/ as the lock file says?  If not, `problem` says what differs, and `changed` whether
// something is there that is to be another.
bool pkg_lib_is(const PkgLock *lock, const char **problem, bool *changed);
// Makes lib/ hold the packages, and removes those that only the lock file has.  False after errors,
// before which nothing was changed but for failures of the disk.
bool pkg_lib_write(const PkgLib *lib, const PkgChoices *choices);
