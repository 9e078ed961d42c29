// What is read of git repositories, by the command `git` and a bare repository of our own.
#include "base/file.h"
#include "base/process.h"
#include "commands/pkg/pkg.h"
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// ---- calling git

typedef struct GitCall {
  const char *input;        // standard input; NULL: nothing
  const char *what, *whom;  // for messages: "cannot WHAT WHOM"
} GitCall;

static int open_in(const PkgSources *s, const char *name, int flags) {
  return open(text_format("%s/%s", s->scratch, name), flags | O_CLOEXEC, 0600);
}

static bool write_input(const PkgSources *s, const char *text) {
  Text *t = text_new();
  text_add(t, text);
  return file_write(text_format("%s/git-in", s->scratch), t);
}

static const char *first_line(const char *text) {
  return text ? text_format("%.*s", (int)strcspn(text, "\n"), text) : NULL;
}

// What git says of a failure: the line of the error, or the first one, as what follows is advice;
// credentials of addresses are not among it.
static const char *error_line(const char *text) {
  const char *error = strncmp(text, "fatal: ", 7) == 0 ? text : strstr(text, "\nfatal: ");
  return first_line(error ? strchr(error, ' ') + 1 : text);
}

static void report_git(const PkgSources *s, const GitCall *call, int status) {
  size_t length;
  const char *said = text_read_file(text_format("%s/git-log", s->scratch), &length);
  error(s->c, (Loc){ 0 }, "cannot %s %s", call->what, call->whom);
  if (status < 0 || (WIFEXITED(status) && WEXITSTATUS(status) == 127))
    hint(s->c, "packages in repositories are fetched by git, which is not there");
  else if (said && *said)
    note(s->c, (Loc){ 0 }, "git says: %s", error_line(said));
}

// What git writes to standard output, `length` bytes of it; NULL after an error.
static const char *git(const PkgSources *s, const GitCall *call, const char *const *args,
                       size_t *length) {
  const char *argv[24] = { "git",
                           "--git-dir",
                           text_format("%s/git", s->scratch),
                           "-c",
                           "http.lowSpeedLimit=1",
                           "-c",
                           "http.lowSpeedTime=30" };
  for (int i = 7; *args; i++)
    argv[i] = *args++;
  if (call->input && !write_input(s, call->input)) return NULL;
  int in = call->input ? open_in(s, "git-in", O_RDONLY)
                       : open("/dev/null", O_RDONLY | O_CLOEXEC),
      out = open_in(s, "git-out", O_WRONLY | O_CREAT | O_TRUNC),
      log = open_in(s, "git-log", O_WRONLY | O_CREAT | O_TRUNC), status = -1;
  if (in >= 0 && out >= 0 && log >= 0)
    status = process_run(&(Process){ .argv = argv, .in = in, .out = out, .log = log });
  close(in), close(out), close(log);
  if (status != 0) report_git(s, call, status);
  return status == 0 ? text_read_file(text_format("%s/git-out", s->scratch), length)
                     : NULL;
}

// The repository into which all others are fetched.  Variables that would lead git to another one,
// or let it ask questions, are taken away first.
static bool ready_repository(const PkgSources *s) {
  static const char *const unwanted[] = { "GIT_DIR",        "GIT_WORK_TREE",
                                          "GIT_INDEX_FILE", "GIT_TRACE",
                                          "GIT_NAMESPACE",  "GIT_OBJECT_DIRECTORY" };
  if (access(text_format("%s/git", s->scratch), F_OK) == 0) return true;
  for (size_t i = 0; i < sizeof unwanted / sizeof *unwanted; i++)
    unsetenv(unwanted[i]);
  setenv("GIT_TERMINAL_PROMPT", "0", 1);
  setenv("GIT_NO_REPLACE_OBJECTS", "1", 1);
  setenv("LC_ALL", "C", 1);
  const char *const args[] = { "init", "--quiet", "--bare", "--template=", NULL };
  size_t length;
  return git(s, &(GitCall){ NULL, "make", "a repository" }, args, &length) != NULL;
}

const char *pkg_git_refs(PkgSources *s, const char *url, const char *refs) {
  const char *const args[] = { "ls-remote", "--quiet", "--", url, refs, NULL };
  size_t length;
  return ready_repository(s) ? git(s, &(GitCall){ NULL, "reach", url }, args, &length)
                             : NULL;
}

// ---- releases and commits

static bool fetch_refs(const PkgSources *s, const char *url, const char *depth,
                       const char *refs) {
  const char *const args[] = { "fetch",
                               "--quiet",
                               "--force",
                               "--no-tags",
                               "--no-recurse-submodules",
                               "--no-auto-maintenance",
                               depth,
                               "--",
                               url,
                               refs,
                               NULL };
  size_t length;
  return git(s, &(GitCall){ NULL, "fetch", url }, args, &length) != NULL;
}

static const char *commit_of(const PkgSources *s, const char *name, const char *url) {
  const char *const args[] = { "rev-parse",
                               "--verify",
                               "--quiet",
                               "--end-of-options",
                               text_format("%s^{commit}", name),
                               NULL };
  size_t length;
  const char *what = text_format("find commit %s in", name);
  return first_line(git(s, &(GitCall){ NULL, what, url }, args, &length));
}

// All of the repository, for what no tag names.
static bool fetch_all(const PkgSources *s, const char *url) {
  return fetch_refs(s, url, "--depth=2147483647", "+refs/*:refs/from/*");
}

static const char *fetch_version(const PkgSources *s, const char *url,
                                 const PkgRequire *wanted) {
  const char *commit = pkg_version_commit(wanted->version);
  if (commit) return fetch_all(s, url) ? commit_of(s, commit, url) : NULL;
  const char *tag = text_format("refs/tags/v%s", pkg_version_text(wanted->version));
  return fetch_refs(s, url, "--depth=1", tag) ? commit_of(s, "FETCH_HEAD", url) : NULL;
}

const char *pkg_git_time(PkgSources *s, const char *url, const char *commit) {
  const char *const args[] = { "show", "--no-patch", "--format=%ct", commit, "--", NULL };
  if (!ready_repository(s) || !fetch_all(s, url)) return NULL;
  size_t length;
  const char *text = git(s, &(GitCall){ NULL, "read a commit of", url }, args, &length);
  if (!text) return NULL;
  time_t at = (time_t)strtoll(text, NULL, 10);
  struct tm utc;
  char digits[32] = "0";
  if (gmtime_r(&at, &utc)) strftime(digits, sizeof digits, "%Y%m%d%H%M%S", &utc);
  return text_format("%s", digits);
}

// ---- files

// `mode type hash\tname`, as ls-tree has it.
typedef struct TreeEntry {
  const char *name, *hash;
  bool is_file;
} TreeEntry;
typedef Vec(TreeEntry) TreeEntries;

static TreeEntry read_entry(const char *line) {
  const char *type = strchr(line, ' '), *tab = strchr(line, '\t');
  if (!type || !tab || strncmp(type, " blob ", 6) != 0)
    return (TreeEntry){ line, "", false };
  const char *hash = type + 6;
  bool link = strncmp(line, "120000", 6) == 0;
  return (TreeEntry){ tab + 1, text_format("%.*s", (int)(tab - hash), hash), !link };
}

// The files of a commit below a folder.
static bool list_tree(const PkgSources *s, const char *commit, const char *folder,
                      const PkgRequire *wanted, TreeEntries *out) {
  const char *const args[] = {
    "ls-tree", "-r", "-z", "--full-tree", text_format("%s:%s", commit, folder), NULL
  };
  size_t length;
  const char *list =
      git(s, &(GitCall){ NULL, text_format("read %s of", folder), wanted->path }, args,
          &length);
  for (const char *at = list; at && at < list + length; at += strlen(at) + 1) {
    TreeEntry entry = read_entry(at);
    if (!entry.is_file)
      error(s->c, wanted->loc, "`%s` %s holds a link or a repository, %s", wanted->path,
            pkg_version_text(wanted->version), entry.name);
    if (!entry.is_file) return false;
    vec_push(out, entry);
  }
  return list != NULL;
}

// Takes `HASH blob LENGTH\nBYTES\n` from what cat-file writes.
static bool take_file(const char **at, const char *end, PkgFile *file) {
  const char *line_end = memchr(*at, '\n', (size_t)(end - *at));
  const char *blob = line_end ? strstr(*at, " blob ") : NULL;
  if (!blob || blob > line_end) return false;
  file->length = strtoull(blob + 6, NULL, 10);
  if (file->length >= (size_t)(end - line_end - 1)) return false;
  file->bytes = line_end + 1;
  *at = file->bytes + file->length + 1;
  return true;
}

static bool read_files(const PkgSources *s, const TreeEntries *entries,
                       const PkgRequire *wanted, PkgContents *out) {
  const char *const args[] = { "cat-file", "--batch", NULL };
  Text *hashes = text_new();
  vec_each (const TreeEntry *, e, entries)
    text_printf(hashes, "%s\n", e->hash);
  size_t length;
  const GitCall call = { text_str(hashes), "read the files of", wanted->path };
  const char *at = git(s, &call, args, &length);
  if (!at) return false;
  const char *end = at + length;
  vec_each (const TreeEntry *, e, entries) {
    PkgFile file = { .name = e->name };
    if (!take_file(&at, end, &file)) {
      error(s->c, wanted->loc, "cannot read %s of `%s`", e->name, wanted->path);
      return false;
    }
    vec_push(&out->files, file);
  }
  return true;
}

// The one file at the top that matters; NULL after an error.
static const char *read_manifest(const PkgSources *s, const char *commit,
                                 const PkgRequire *wanted) {
  const char *const args[] = { "cat-file", "blob", text_format("%s:futhark.pkg", commit),
                               NULL };
  size_t length;
  return git(s, &(GitCall){ NULL, "read futhark.pkg of", wanted->path }, args, &length);
}

bool pkg_git_read(PkgSources *s, const char *url, const PkgRequire *wanted,
                  PkgContents *out) {
  if (!ready_repository(s)) return false;
  out->commit = fetch_version(s, url, wanted);
  const char *manifest = out->commit ? read_manifest(s, out->commit, wanted) : NULL;
  const char *name = text_format("%s/futhark.pkg", wanted->path);
  if (!manifest || !pkg_manifest_read(s->c, name, manifest, &out->manifest)) return false;
  const char *package = out->manifest.package;
  TreeEntries entries = { 0 };
  return list_tree(s, out->commit,
                   text_format("lib/%s", package ? package : wanted->path), wanted,
                   &entries) &&
         read_files(s, &entries, wanted, out);
}
