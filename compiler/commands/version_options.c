#include "commands/version_options.h"
#include "kern/recipes/recipe_book.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- how to flatten

const char *set_flatten_mode(FlattenOptions *options, const char *text) {
  static const char *const modes[] = {
    [FLATTEN_INCREMENTAL] = "incremental",
    [FLATTEN_MODERATE] = "moderate",
    [FLATTEN_FULL] = "full",
    [FLATTEN_OUTER] = "outer",
  };
  for (int i = 0; i < (int)(sizeof modes / sizeof *modes); i++) {
    if (strcmp(text, modes[i]) != 0) continue;
    options->mode = (FlattenMode)i;
    return NULL;
  }
  return text_format("unknown way to flatten %s (incremental, moderate, full or outer)",
                     text);
}

FlattenOptions default_flatten_options(void) {
  return (FlattenOptions){ .mode = FLATTEN_INCREMENTAL, .max_versions = 256 };
}

const char *set_max_versions(FlattenOptions *options, const char *text) {
  static const long most = 1000000;
  char *end = NULL;
  long value = strtol(text, &end, 10);
  if (end == text || *end || value < 1 || value > most)
    return text_format("expected a number of versions from 1 to %ld, found %s", most,
                       text);
  options->max_versions = (int)value;
  return NULL;
}

const char *set_flatten_option(FlattenOptions *options, int option) {
  if (option == OPTION_MPI) options->workers = WORKERS_MPI;
  if (option == OPTION_WORKERS) options->workers = WORKERS_THREADS;
  if (options->workers) options->blocks = true;
  if (option == OPTION_MIXED) options->mixed = true;
  if (option == OPTION_REPRODUCIBLE) options->reproducible = true;
  if (option == OPTION_FLATTEN) return set_flatten_mode(options, optarg);
  return option == OPTION_MAX_VERSIONS ? set_max_versions(options, optarg) : NULL;
}

bool take_recipes(Compiler *c, Program *program, const char *path) {
  if (path) program->recipes = recipe_book_read(c, path);
  return !path || program->recipes;
}

void take_choices(Program *program, const Decider *settings, bool others) {
  if (!program->recipes) program->recipes = new (RecipeBook);
  program->recipes->others = others;
  vec_each (const Threshold *, t, &settings->tuning) {
    const char *end = strrchr(t->name, '.');
    RecipeChoice choice = { t->name, t->value };
    if (end && strcmp(end, ".recipe") == 0) vec_push(&program->recipes->choices, choice);
  }
}

// ---- forced guards

static bool find_guard(const Region *region, const char *name, Name *out) {
  if (region->kind == REGION_GUARD && strcmp(region->guard->name, name) == 0) {
    *out = region->guard->name;
    return true;
  }
  for (int i = 0; i < region->part_count; i++)
    if (find_guard(region->parts[i], name, out)) return true;
  return false;
}

static bool force_version(Compiler *c, Decider *d, const VersionTree *tree,
                          const char *text) {
  char *end = NULL;
  long version = strtol(text + 1, &end, 10);
  if (end == text + 1 || *end || version > tree->version_count ||
      !version_path(tree, (int)version, &d->forced)) {
    int last = tree->version_count - 1;
    error(c, (Loc){ 0 }, "entry point %s has no version %s, only V0%s", tree->entry->name,
          text, last ? text_format(" to V%d", last) : "");
    return false;
  }
  return true;
}

static bool force_guard(Compiler *c, Decider *d, const VersionTree *tree,
                        const char *step) {
  const char *equals = strchr(step, '=');
  const char *outcome = equals ? equals + 1 : "";
  if (strcmp(outcome, "T") != 0 && strcmp(outcome, "F") != 0) {
    error(c, (Loc){ 0 }, "expected guard=T or guard=F in the path, found %s", step);
    return false;
  }
  const char *name = text_format("%.*s", (int)(equals - step), step);
  PathStep forced = { NULL, *outcome == 'T' };
  if (!find_guard(tree->root, name, &forced.guard)) {
    error(c, (Loc){ 0 }, "entry point %s has no guard %s (see flc tree)",
          tree->entry->name, name);
    return false;
  }
  vec_push(&d->forced, forced);
  return true;
}

bool decider_force(Compiler *c, Decider *d, const VersionTree *tree, const char *text) {
  if (text[0] == 'V' && !strchr(text, '=')) return force_version(c, d, tree, text);
  while (*text) {
    size_t length = strcspn(text, ",");
    if (!force_guard(c, d, tree, text_format("%.*s", (int)length, text))) return false;
    text += length + (text[length] == ',');
  }
  return true;
}

// ---- tuning files

// "name=value", of which `line` has a comment and blanks at the ends taken off.
static bool read_setting(Compiler *c, Decider *d, const char *where, const char *line) {
  const char *equals = strchr(line, '=');
  char *end = NULL;
  errno = 0;
  long long value = equals ? strtoll(equals + 1, &end, 10) : 0;
  int name = equals ? (int)(equals - line) : 0;
  while (name > 0 && strchr(" \t", line[name - 1]))
    name--;
  if (!equals || end == equals + 1 || end[strspn(end, " \t\r")] || errno || name == 0) {
    error(c, (Loc){ 0 }, "%s: expected name=integer, found %s", where, line);
    return false;
  }
  vec_push(&d->tuning, (Threshold){ text_format("%.*s", name, line), value, false });
  return true;
}

bool decider_read_tuning(Compiler *c, Decider *d, const char *path) {
  size_t length;
  const char *text = text_read_lines(path, &length);
  if (!text) {
    error(c, (Loc){ 0 }, "cannot read %s: %s", path, strerror(errno));
    return false;
  }
  for (int number = 1; *text; number++) {
    size_t end = strcspn(text, "\n");
    const char *line = text_format("%.*s", (int)end, text);
    const char *comment = strstr(line, "--");
    if (comment) line = text_format("%.*s", (int)(comment - line), line);
    line += strspn(line, " \t\r");
    if (*line && !read_setting(c, d, text_format("%s:%d", path, number), line))
      return false;
    text += end + (text[end] == '\n');
  }
  return true;
}

bool decider_read_beside(Compiler *c, Decider *d, const char *source,
                         const char *ending) {
  const char *path = text_format("%s.%s", source, ending);
  return access(path, R_OK) != 0 || decider_read_tuning(c, d, path);
}

// ---- deciding

static int64_t threshold_of(Decider *d, Name guard, int64_t usual) {
  vec_each (Threshold *, t, &d->tuning) {
    if (strcmp(t->name, guard) != 0) continue;
    t->used = true;
    return t->value;
  }
  return usual;
}

static void note_event(Decider *d, GuardEvent event) {
  vec_each (GuardEvent *, e, &d->events) {
    if (e->guard != event.guard || e->par != event.par) continue;
    e->count++;
    return;
  }
  vec_push(&d->events, event);
}

static bool meet_guard(Decider *d, Name guard, int64_t par, int64_t usual) {
  GuardEvent event = {
    .guard = guard, .par = par, .threshold = threshold_of(d, guard, usual), .count = 1
  };
  event.first = par >= event.threshold;
  vec_each (PathStep *, step, &d->forced)
    if (step->guard == guard) event.first = step->first;
  note_event(d, event);
  return event.first;
}

int decider_decide(void *state, const Exp *exp, int64_t par) {
  if (exp->kind != EXP_GUARD) return -1;
  return meet_guard(state, exp->u.guard.guard->name, par, VERSION_DEFAULT_THRESHOLD);
}

void decider_meet_split(void *state, const Exp *split, int64_t par) {
  meet_guard(state, split->u.split.guard->name, par, VERSION_DEFAULT_SPLIT);
}

const char *profile_option(const char *name, Profile *out) {
  for (Profile p = 0; p < PROFILE_COUNT; p++)
    if (strcmp(name, profile_traits[p].name) == 0) {
      *out = p;
      return NULL;
    }
  return text_format("--code: expected cpu or gpu, found %s", name);
}
