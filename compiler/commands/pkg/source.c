// Where packages come from: folders that hold repositories or unpacked releases, and the network.
//
// The package github.com/user/name is, below such a folder, the repository github.com/user/name or
// github.com/user/name.git, or the folders github.com/user/name/v1.2.3 of its releases.
#include "base/hash.h"
#include "commands/pkg/pkg.h"
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

typedef struct PkgPlace {
  const char *folder;  // of releases, or a repository on this machine; NULL: neither
  bool is_git;
} PkgPlace;

static bool is_repository(const char *folder) {
  return access(text_format("%s/.git", folder), F_OK) == 0 ||
         access(text_format("%s/objects", folder), F_OK) == 0;
}

static bool is_folder(const char *path) {
  struct stat status;
  return stat(path, &status) == 0 && S_ISDIR(status.st_mode);
}

static PkgPlace find_place(const PkgSources *s, const char *path) {
  const char *repository = pkg_path_repository(path);
  for (int i = 0; i < s->folders.count; i++) {
    const char *folder = text_format("%s/%s", s->folders.at[i], repository),
               *bare = text_format("%s.git", folder);
    if (is_repository(folder)) return (PkgPlace){ folder, true };
    if (is_repository(bare)) return (PkgPlace){ bare, true };
    if (is_folder(folder)) return (PkgPlace){ folder, false };
  }
  return (PkgPlace){ NULL, true };
}

// Where git finds it.  A path stays one, whatever it looks like.
static const char *address(const PkgPlace *place, const char *path) {
  if (!place->folder) return text_format("https://%s", pkg_path_repository(path));
  char *real = realpath(place->folder, NULL);
  const char *folder = text_format("%s", real ? real : place->folder);
  free(real);
  return folder;
}

// ---- releases

static int release_order(const void *a, const void *b) {
  return pkg_version_compare(((const PkgRelease *)a)->version,
                             ((const PkgRelease *)b)->version);
}

// What a repository has of a path, and what it has of greater major versions, which belong to
// another path.
typedef struct Published {
  PkgReleases releases;
  PkgVersion later;  // the newest of those; 0.0.0: none
} Published;

static void add_later(Published *out, const char *path, PkgVersion version) {
  if (!version.pre && version.major > pkg_path_number(path) &&
      pkg_version_compare(version, out->later) > 0)
    out->later = version;
}

// A release if `name` is v1.2.3 and the path has such versions.
static void add_release(Published *out, const char *path, const char *name,
                        const char *commit) {
  PkgRelease release = { .commit = commit };
  if (*name != 'v' || !pkg_version_read(name + 1, &release.version)) return;
  if (pkg_path_allows(path, release.version))
    vec_push(&out->releases, release);
  else
    add_later(out, path, release.version);
}

static void list_folder(const char *folder, const char *path, Published *out) {
  DIR *dir = opendir(folder);
  for (const struct dirent *entry; dir && (entry = readdir(dir));)
    add_release(out, path, text_format("%s", entry->d_name), NULL);
  if (dir) closedir(dir);
}

// Lines `COMMIT\trefs/tags/v1.2.3`.  Of a tag that is an object of its own, a second line with
// `^{}` at its end names the commit.
static void list_tags(const char *refs, const char *path, Published *out) {
  PkgReleases *releases = &out->releases;
  for (const char *line = refs; *line; line += strcspn(line, "\n") + 1) {
    const char *tab = strchr(line, '\t'), *end = line + strcspn(line, "\n");
    if (!tab || tab > end || strncmp(tab + 1, "refs/tags/", 10) != 0) continue;
    const char *tag = text_format("%.*s", (int)(end - tab - 11), tab + 11);
    const char *commit = text_format("%.*s", (int)(tab - line), line),
               *peeled = strstr(tag, "^{}");
    int before = releases->count;
    add_release(out, path, peeled ? text_format("%.*s", (int)(peeled - tag), tag) : tag,
                commit);
    bool twice = peeled && before > 0 && releases->count > before;
    if (twice) releases->at[before - 1] = releases->at[--releases->count];
    if (!line[strcspn(line, "\n")]) return;
  }
}

bool pkg_releases(PkgSources *s, const char *path, PkgReleases *out) {
  const char *key = name_of(s->c->names, path);
  Published *known = map_get(s->known, key);
  if (!known) {
    known = new (Published);
    PkgPlace place = find_place(s, path);
    const char *refs =
        place.is_git ? pkg_git_refs(s, address(&place, path), "refs/tags/v*") : NULL;
    if (place.is_git && !refs) return false;
    if (place.is_git)
      list_tags(refs, path, known);
    else
      list_folder(place.folder, path, known);
    PkgReleases *releases = &known->releases;
    if (releases->count)
      qsort(releases->at, (size_t)releases->count, sizeof *releases->at, release_order);
    map_put(s->known, key, known);
  }
  *out = known->releases;
  return true;
}

const PkgVersion *pkg_later(const PkgSources *s, const char *path) {
  const Published *known = map_get(s->known, name_of(s->c->names, path));
  return known && known->later.major ? &known->later : NULL;
}

// The newest commit as a version.
static bool newest_commit(PkgSources *s, const char *path, PkgRelease *out) {
  PkgPlace place = find_place(s, path);
  const char *url = address(&place, path);
  const char *refs = place.is_git ? pkg_git_refs(s, url, "HEAD") : "";
  if (!refs) return false;
  size_t length = strcspn(refs, "\t");
  if (!pkg_is_commit(refs, length)) {
    error(s->c, (Loc){ 0 }, "`%s` has no release", path);
    return false;
  }
  out->commit = text_format("%.*s", (int)length, refs);
  const char *time = pkg_git_time(s, url, out->commit);
  out->version = (PkgVersion){ .pre = time, .build = out->commit };
  return time != NULL;
}

const PkgRelease *pkg_newest_of(const PkgReleases *releases) {
  for (int i = releases->count - 1; i >= 0; i--)
    if (!releases->at[i].version.pre) return &releases->at[i];
  return releases->count ? &releases->at[releases->count - 1] : NULL;
}

bool pkg_newest(PkgSources *s, const char *path, PkgRelease *out) {
  PkgReleases releases;
  if (!pkg_releases(s, path, &releases)) return false;
  const PkgRelease *newest = pkg_newest_of(&releases);
  if (newest) *out = *newest;
  return newest || newest_commit(s, path, out);
}

// ---- contents

static int file_order(const void *a, const void *b) {
  return strcmp(((const PkgFile *)a)->name, ((const PkgFile *)b)->name);
}

const char *pkg_digest(const PkgFile *files, int count) {
  Hash *hash = hash_new();
  for (int i = 0; i < count; i++) {
    hash_text(hash, files[i].name);
    hash_bytes(hash, files[i].bytes, files[i].length);
  }
  return hash_digest(hash);
}

static const char *read_into(const char *folder, const char *below, PkgContents *out);

// NULL, or a reason.
static const char *read_one(const char *folder, const char *name, PkgContents *out) {
  const char *path = text_format("%s/%s", folder, name);
  struct stat status;
  if (lstat(path, &status) != 0) return text_format("%s: %s", path, strerror(errno));
  if (S_ISDIR(status.st_mode)) return read_into(folder, text_format("%s/", name), out);
  if (!S_ISREG(status.st_mode)) return text_format("%s is neither file nor folder", path);
  PkgFile file = { .name = name };
  file.bytes = text_read_file(path, &file.length);
  if (!file.bytes) return text_format("%s: %s", path, strerror(errno));
  vec_push(&out->files, file);
  return NULL;
}

static const char *read_into(const char *folder, const char *below, PkgContents *out) {
  const char *path = text_format("%s/%s", folder, below), *reason = NULL;
  DIR *dir = opendir(path);
  if (!dir) return text_format("%s: %s", path, strerror(errno));
  for (const struct dirent *entry; !reason && (entry = readdir(dir));)
    if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
      reason = read_one(folder, text_format("%s%s", below, entry->d_name), out);
  closedir(dir);
  return reason;
}

bool pkg_read_folder(const char *folder, PkgContents *out, const char **reason) {
  *reason = read_into(folder, "", out);
  if (*reason) return false;
  if (out->files.count)
    qsort(out->files.at, (size_t)out->files.count, sizeof *out->files.at, file_order);
  out->digest = pkg_digest(out->files.at, out->files.count);
  return true;
}

static bool read_release(const PkgSources *s, const char *folder,
                         const PkgRequire *wanted, PkgContents *out) {
  const char *name = text_format("%s/futhark.pkg", folder), *reason;
  size_t length;
  const char *text = text_read_lines(name, &length);
  if (!text) error(s->c, (Loc){ 0 }, "cannot read %s: %s", name, strerror(errno));
  if (!text || !pkg_manifest_read(s->c, name, text, &out->manifest)) return false;
  const char *package = out->manifest.package;
  const char *files = text_format("%s/lib/%s", folder, package ? package : wanted->path);
  if (pkg_read_folder(files, out, &reason)) return true;
  error(s->c, wanted->loc, "cannot read package `%s`: %s", wanted->path, reason);
  return false;
}

static const PkgRelease *find_release(const PkgReleases *releases, PkgVersion version) {
  const char *text = pkg_version_text(version);
  vec_each (const PkgRelease *, r, releases)
    if (strcmp(pkg_version_text(r->version), text) == 0) return r;
  return NULL;
}

// Is there such a release?  Commits show when they are fetched.
static bool check_release(PkgSources *s, const PkgRequire *wanted) {
  PkgReleases releases;
  if (pkg_version_commit(wanted->version)) return true;
  if (!pkg_releases(s, wanted->path, &releases)) {
    if (wanted->loc.file) note(s->c, wanted->loc, "`%s` is required here", wanted->path);
    return false;
  }
  if (find_release(&releases, wanted->version)) return true;
  error(s->c, wanted->loc, "`%s` has no release %s", wanted->path,
        pkg_version_text(wanted->version));
  if (releases.count)
    hint(s->c, "the newest one is %s",
         pkg_version_text(pkg_newest_of(&releases)->version));
  if (!pkg_path_allows(wanted->path, wanted->version))
    hint(s->c, "versions of that number belong to `%s%s`",
         pkg_path_repository(wanted->path), pkg_path_major(wanted->version));
  return false;
}

static bool check_commit(const PkgSources *s, const PkgRequire *wanted,
                         const PkgContents *contents) {
  if (!wanted->commit || !contents->commit ||
      strncmp(contents->commit, wanted->commit, strlen(wanted->commit)) == 0)
    return true;
  error(s->c, wanted->loc,
        "version %s of `%s` is commit %s, not the one that is required",
        pkg_version_text(wanted->version), wanted->path, contents->commit);
  hint(s->c,
       "somebody has moved the tag v%s: look at what has changed before you trust it",
       pkg_version_text(wanted->version));
  return false;
}

// File names that would lead elsewhere.
static bool check_names(const PkgSources *s, const PkgRequire *wanted,
                        const PkgContents *contents) {
  vec_each (const PkgFile *, f, &contents->files) {
    const char *name = text_format("/%s/", f->name);
    if (!strstr(name, "/../") && !strstr(name, "/./") && !strstr(name, "//")) continue;
    error(s->c, wanted->loc, "`%s` holds a file called %s", wanted->path, f->name);
    return false;
  }
  return true;
}

const PkgContents *pkg_contents(PkgSources *s, const PkgRequire *wanted) {
  const char *version = pkg_version_text(wanted->version);
  const char *key = name_of(s->c->names, text_format("%s %s", wanted->path, version));
  PkgContents *contents = map_get(s->contents, key);
  if (!contents) {
    contents = new (PkgContents);
    PkgPlace place = find_place(s, wanted->path);
    if (!check_release(s, wanted)) return NULL;
    bool ok = place.is_git
                  ? pkg_git_read(s, address(&place, wanted->path), wanted, contents)
                  : read_release(s, text_format("%s/v%s", place.folder, version), wanted,
                                 contents);
    if (!ok || !check_names(s, wanted, contents)) return NULL;
    if (contents->files.count)
      qsort(contents->files.at, (size_t)contents->files.count, sizeof *contents->files.at,
            file_order);
    contents->digest = pkg_digest(contents->files.at, contents->files.count);
    map_put(s->contents, key, contents);
  }
  return check_commit(s, wanted, contents) ? contents : NULL;
}
