// Minimal version selection: what is required is the oldest version that will do, so that the
// newest of those that anybody requires does for all.
#include "commands/pkg/pkg.h"
#include <stdlib.h>
#include <string.h>

static PkgChoice *choice_of(const PkgChoices *choices, const char *path) {
  vec_each (PkgChoice *, choice, choices)
    if (strcmp(choice->require.path, path) == 0) return choice;
  return NULL;
}

static bool raise_choice(PkgSources *s, const PkgRequire *require, PkgChoices *choices);

static bool choose_all(PkgSources *s, const PkgManifest *m, PkgChoices *choices) {
  vec_each (const PkgRequire *, r, &m->requires)
    if (!raise_choice(s, r, choices)) return false;
  return true;
}

// Raises the choice to what is required, and with it what that requires.
static bool raise_choice(PkgSources *s, const PkgRequire *require, PkgChoices *choices) {
  PkgChoice *old = choice_of(choices, require->path);
  int order = old ? pkg_version_compare(require->version, old->require.version) : 1;
  if (order < 0) return true;
  const PkgContents *contents = pkg_contents(s, require);
  if (!contents || order == 0) return contents != NULL;
  PkgChoice choice = { *require, contents };
  if (old)
    *old = choice;
  else
    vec_push(choices, choice);
  return choose_all(s, &contents->manifest, choices);
}

// Versions that were chosen on the way may have required what the final ones do not.
static void keep_needed(const PkgChoices *all, const PkgManifest *m, PkgChoices *out) {
  vec_each (const PkgRequire *, r, &m->requires) {
    const PkgChoice *choice = choice_of(all, r->path);
    if (choice_of(out, r->path)) continue;
    vec_push(out, *choice);
    keep_needed(all, &choice->contents->manifest, out);
  }
}

static int by_path(const void *a, const void *b) {
  return strcmp(((const PkgChoice *)a)->require.path,
                ((const PkgChoice *)b)->require.path);
}

// Files of one package would lie within the folder of another.
static bool check_nesting(Compiler *c, const PkgChoices *choices) {
  vec_each (const PkgChoice *, outer, choices) {
    const char *folder = text_format("%s/", outer->require.path);
    vec_each (const PkgChoice *, inner, choices) {
      if (strncmp(inner->require.path, folder, strlen(folder)) != 0) continue;
      error(c, inner->require.loc, "package `%s` would lie within `%s`",
            inner->require.path, outer->require.path);
      return false;
    }
  }
  return true;
}

// A package that requires itself, by way of others perhaps, would be overwritten.
static bool check_own(Compiler *c, const PkgManifest *root, const PkgChoices *choices) {
  const PkgChoice *own = root->package ? choice_of(choices, root->package) : NULL;
  if (own)
    error(c, own->require.loc, "`%s` is required by what it requires itself",
          root->package);
  return !own;
}

bool pkg_solve(PkgSources *s, const PkgManifest *root, PkgChoices *out) {
  PkgChoices all = { 0 };
  if (!choose_all(s, root, &all)) return false;
  keep_needed(&all, root, out);
  if (!check_own(s->c, root, out)) return false;
  if (out->count) qsort(out->at, (size_t)out->count, sizeof *out->at, by_path);
  return check_nesting(s->c, out);
}
