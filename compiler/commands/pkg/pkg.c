// flc pkg: the packages that a program needs, by its `futhark.pkg`.
#include "commands/pkg/pkg.h"
#include "base/file.h"
#include "commands/commands.h"
#include "commands/scratch.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char manifest_name[] = "futhark.pkg";

// clang-format off
static const Option option_rows[] = {
  { 'f', 'f', "from", "FOLDER",
    "look for packages in this folder before the network; may be repeated", NULL },
  { 'F', 0, "force", NULL, "`sync`: replace what was changed by hand, too", NULL },
  { 'q', 'q', "quiet", NULL, "say nothing but errors", NULL },
  OPTIONS_END
};
// clang-format on

typedef struct Pkg {
  Compiler *c;
  PkgSources sources;
  bool force, quiet;
  char **words;  // behind the name of the action
  int word_count;
  bool (*act)(struct Pkg *p);
} Pkg;

__attribute__((format(printf, 2, 3))) static void say(const Pkg *p, const char *format,
                                                      ...) {
  va_list args;
  va_start(args, format);
  if (!p->quiet) vprintf(format, args);
  va_end(args);
}

// ---- the manifest of this folder

// `may_lack`: without a file it is an empty one.
static bool read_own(const Pkg *p, bool may_lack, PkgManifest *out) {
  size_t length;
  const char *text = text_read_lines(manifest_name, &length);
  if (!text && errno == ENOENT && may_lack) text = "";
  if (text) return pkg_manifest_read(p->c, manifest_name, text, out);
  error(p->c, (Loc){ 0 }, "cannot read %s: %s", manifest_name, strerror(errno));
  if (errno == ENOENT) hint(p->c, "`flc pkg add PATH` makes one, where the program lies");
  return false;
}

static bool write_file(const Pkg *p, const char *name, const char *text) {
  Text *t = text_new();
  text_add(t, text);
  if (file_write(name, t)) return true;
  error(p->c, (Loc){ 0 }, "cannot write %s: %s", name, strerror(errno));
  return false;
}

static bool check_path(const Pkg *p, const char *path) {
  const char *problem = pkg_path_problem(path), *protocol = strstr(path, "://");
  size_t length = strlen(path);
  bool ending = length > 4 && strcmp(path + length - 4, ".git") == 0;
  if (ending && !problem) problem = "`.git` does not belong to it";
  if (!problem) return true;
  error(p->c, (Loc){ 0 }, "`%s` is no path of a package: %s", path, problem);
  if (protocol || ending) {
    const char *start = protocol ? protocol + 3 : path;
    int kept = (int)strlen(start) - (ending ? 4 : 0);
    hint(p->c, "write `%.*s`", kept, start);
  }
  return false;
}

// Greater major versions have paths of their own: `add` and `upgrade` do not go there by
// themselves.
static void say_later(const Pkg *p, FILE *stream, const char *path) {
  const PkgVersion *later = pkg_later(&p->sources, path);
  if (later && !p->quiet)
    fprintf(stream, "%s has %s, too: `flc pkg add %s%s` takes it\n", path,
            pkg_version_text(*later), pkg_path_repository(path), pkg_path_major(*later));
}

// ---- init, add, remove, upgrade, versions

static bool act_init(Pkg *p) {
  const char *path = p->words[0];
  if (!check_path(p, path)) return false;
  if (access(manifest_name, F_OK) == 0) {
    error(p->c, (Loc){ 0 }, "there is a %s already", manifest_name);
    return false;
  }
  const char *text = text_format("package %s\n\nrequire {\n}\n", path);
  if (!write_file(p, manifest_name, text)) return false;
  file_make_folders(text_format("lib/%s/", path), FILE_PUBLIC);
  say(p, "the files of the package go to lib/%s\n", path);
  return true;
}

// The release that the command line asks for; false after an error.
static bool find_wanted(Pkg *p, PkgRequire *out) {
  PkgRelease newest;
  if (p->word_count == 1) {
    if (!pkg_newest(&p->sources, out->path, &newest)) return false;
    out->version = newest.version;
    out->commit = newest.commit;
    return true;
  }
  if (!pkg_version_read(p->words[1], &out->version)) {
    const char *word = p->words[1];
    error(p->c, (Loc){ 0 }, "`%s` is no version such as 1.2.3", word);
    if (*word == 'v' && pkg_version_read(word + 1, &out->version))
      hint(p->c, "write `%s`", word + 1);
    else
      hint(p->c, "without a version, the newest release is taken");
    return false;
  }
  const PkgContents *contents = pkg_contents(&p->sources, out);
  if (contents) out->commit = contents->commit;
  return contents != NULL;
}

static bool act_add(Pkg *p) {
  PkgRequire require = { .path = p->words[0] };
  PkgManifest own;
  if (!check_path(p, require.path) || !read_own(p, true, &own)) return false;
  if (!find_wanted(p, &require)) return false;
  if (!write_file(p, manifest_name, pkg_manifest_with(&own, &require))) return false;
  say(p, "%s %s; `flc pkg sync` fetches it\n", require.path,
      pkg_version_text(require.version));
  if (p->word_count == 1) say_later(p, stdout, require.path);
  return true;
}

static bool act_remove(Pkg *p) {
  PkgManifest own;
  if (!read_own(p, false, &own)) return false;
  const PkgRequire *require = pkg_manifest_find(&own, p->words[0]);
  if (require) return write_file(p, manifest_name, pkg_manifest_without(&own, require));
  error(p->c, (Loc){ 0 }, "%s does not require `%s`", manifest_name, p->words[0]);
  return false;
}

// The manifest's text with one requirement raised to the newest release.
static bool upgrade(Pkg *p, const PkgRequire *old, PkgManifest *own) {
  PkgReleases releases;
  if (!pkg_releases(&p->sources, old->path, &releases)) return false;
  if (!releases.count) return true;
  const PkgRelease *newest = pkg_newest_of(&releases);
  if (pkg_version_compare(newest->version, old->version) <= 0) return true;
  say(p, "%s %s -> %s\n", old->path, pkg_version_text(old->version),
      pkg_version_text(newest->version));
  PkgRequire require = { old->path, newest->version, newest->commit, { 0 } };
  return pkg_manifest_read(p->c, manifest_name, pkg_manifest_with(own, &require), own);
}

static bool act_upgrade(Pkg *p) {
  PkgManifest before, own;
  if (!read_own(p, false, &before)) return false;
  own = before;
  vec_each (const PkgRequire *, r, &before.requires) {
    if (!upgrade(p, r, &own)) return false;
    say_later(p, stdout, r->path);
  }
  return strcmp(own.file->text, before.file->text) == 0 ||
         write_file(p, manifest_name, own.file->text);
}

static bool act_versions(Pkg *p) {
  PkgReleases releases;
  if (!check_path(p, p->words[0]) || !pkg_releases(&p->sources, p->words[0], &releases))
    return false;
  vec_each (const PkgRelease *, r, &releases)
    printf("%s\n", pkg_version_text(r->version));
  say_later(p, stderr, p->words[0]);
  return true;
}

// ---- sync, check

static bool act_sync(Pkg *p) {
  PkgManifest own;
  PkgLock lock;
  PkgChoices choices = { 0 };
  const char *problem;
  bool changed;
  if (!read_own(p, false, &own) || !pkg_lock_read(p->c, &lock)) return false;
  bool same =
      lock.requirements && strcmp(lock.requirements, pkg_requirements_digest(&own)) == 0;
  if (same && pkg_lib_is(&lock, &problem, &changed)) {
    say(p, "lib/ is as %s says\n", pkg_lock_name);
    return true;
  }
  const PkgLib lib = { p->c, &lock, p->force };
  if (!pkg_solve(&p->sources, &own, &choices) || !pkg_lib_write(&lib, &choices))
    return false;
  vec_each (const PkgChoice *, k, &choices)
    say(p, "lib/%s %s\n", k->require.path, pkg_version_text(k->require.version));
  return write_file(p, pkg_lock_name, pkg_lock_text(&own, &choices));
}

// The program's own package has its files where others look for them.
static bool check_own_files(const Pkg *p, const PkgManifest *own) {
  if (!own->package) return true;
  ProgramPaths programs = { 0 };
  const char *folder = text_format("lib/%s", own->package);
  command_find_programs(folder, &programs);
  struct stat status;
  bool is_folder = stat(folder, &status) == 0 && S_ISDIR(status.st_mode);
  if (is_folder && programs.count) return true;
  error(p->c, (Loc){ 0 }, "%s is the manifest of `%s`, but there is no program in %s",
        manifest_name, own->package, folder);
  return false;
}

static bool check_lib(const Pkg *p, const PkgManifest *own) {
  PkgLock lock;
  const char *problem = NULL;
  bool changed = false;
  if (!pkg_lock_read(p->c, &lock)) return false;
  if (!lock.requirements)
  problem = own->requires.count ? text_format("there is no %s", pkg_lock_name) : NULL;
  else if (strcmp(lock.requirements, pkg_requirements_digest(own)) != 0) problem =
      text_format("%s has changed since %s was written", manifest_name, pkg_lock_name);
  else pkg_lib_is(&lock, &problem, &changed);
  if (!problem) return true;
  error(p->c, (Loc){ 0 }, "%s", problem);
  hint(p->c, changed ? "`flc pkg sync --force` replaces it by what the package holds"
                     : "`flc pkg sync` puts it right");
  return false;
}

static bool act_check(Pkg *p) {
  PkgManifest own;
  PkgChoices choices = { 0 };
  return read_own(p, false, &own) && check_own_files(p, &own) &&
         pkg_solve(&p->sources, &own, &choices) && check_lib(p, &own);
}

// ---- the command

// clang-format off
static const struct {
  const char *name;
  int least, most;  // words behind it
  bool (*act)(Pkg *p);
} actions[] = {
  { "add", 1, 2, act_add },
  { "check", 0, 0, act_check },
  { "create", 1, 1, act_init },
  { "init", 1, 1, act_init },
  { "remove", 1, 1, act_remove },
  { "sync", 0, 0, act_sync },
  { "upgrade", 0, 0, act_upgrade },
  { "versions", 1, 1, act_versions },
};
// clang-format on
enum { ACTION_COUNT = sizeof actions / sizeof *actions };

static bool find_action(Pkg *p, const char *name) {
  for (int i = 0; i < ACTION_COUNT; i++) {
    if (strcmp(actions[i].name, name) != 0) continue;
    p->act = actions[i].act;
    return p->word_count >= actions[i].least && p->word_count <= actions[i].most;
  }
  return false;
}

static int run_in(void *state, const char *folder) {
  Pkg *p = state;
  p->sources.scratch = folder;
  bool ok = p->act(p);
  return diag_ok(p->c) && ok ? 0 : 1;
}

// $FLC_PACKAGES: folders with `:` between.
static void add_known_folders(PkgSources *s) {
  const char *at = getenv("FLC_PACKAGES");
  while (at && *at) {
    int length = (int)strcspn(at, ":");
    if (length) vec_push(&s->folders, text_format("%.*s", length, at));
    at += length + (at[length] == ':');
  }
}

static int command_pkg(Compiler *c, int argc, char **argv) {
  Pkg p = { .c = c,
            .sources = { .c = c, .known = map_new(NULL), .contents = map_new(NULL) } };
  OptionReader r = options_begin(c, &pkg_command, argc, argv);
  for (int o; (o = options_next(&r));) {
    if (o == 'f') vec_push(&p.sources.folders, optarg);
    if (o == 'F') p.force = true;
    if (o == 'q') p.quiet = true;
  }
  if (r.over) return r.status;
  add_known_folders(&p.sources);
  if (optind == argc)
    return command_usage_error(c, "flc pkg: expected what to do, as `flc pkg add PATH`");
  p.words = argv + optind + 1;
  p.word_count = argc - optind - 1;
  if (!find_action(&p, argv[optind])) {
    if (!p.act)
      return command_usage_error(c, "flc pkg: unknown action `%s` (see flc pkg --help)",
                                 argv[optind]);
    return command_usage_error(c,
                               "flc pkg %s: too %s words behind it (see flc pkg --help)",
                               argv[optind], p.word_count ? "many" : "few");
  }
  return scratch_run(c, run_in, &p);
}

const Command pkg_command = {
  .name = "pkg",
  .summary = "fetches the packages that a program needs",
  .usage = "[OPTIONS] init PATH\n"
           "[OPTIONS] add PATH [VERSION]\n"
           "[OPTIONS] remove PATH\n"
           "[OPTIONS] sync\n"
           "[OPTIONS] check\n"
           "[OPTIONS] upgrade\n"
           "[OPTIONS] versions PATH",
  .about =
      "Keeps `futhark.pkg`, which says which packages are needed, and the files of "
      "packages in `lib/`.  A package is a git repository, named by its path "
      "(`github.com/user/name`), with versions by tags (`v1.2.3`).  No code of "
      "packages is run.\n\n"
      "`add` requires a package, the newest release or at least the version given; "
      "`remove` "
      "requires it no more; `upgrade` requires the newest releases.  `sync` then "
      "fetches "
      "what is required, also by packages, and writes `flc.lock`, with hashes that are "
      "compared the next time.  `check` says whether all of that can be had and is "
      "there.  `init` (`create`) begins a package, `versions` lists its releases.",
  .options = option_rows,
  .operands = OPERANDS_NONE,
  .actions = "init add remove sync check upgrade versions",
  .run = command_pkg,
};
