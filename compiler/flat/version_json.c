// The version tree as JSON: docs/tree-schema.md.
#include "base/quote.h"
#include "flat/rules.h"
#include "flat/versions.h"
#include <inttypes.h>

enum { SOURCE_WIDTH = 200 };

typedef struct Json {
  Text *t;
  const VersionTree *tree;
  const EventVec *events;
} Json;

static void add_string(Text *t, const char *text) { text_add(t, quote_json(text)); }

static void add_key(Json *j, const char *key) { text_printf(j->t, ", \"%s\": ", key); }

static void add_size(Json *j, const SizeExp *exp) {
  static const char *const ops[] = {
    [SIZE_EXP_ATOM] = "",
    [SIZE_EXP_ADD] = "+",
    [SIZE_EXP_MUL] = "*",
    [SIZE_EXP_MAX] = "max",
  };
  if (exp->kind == SIZE_EXP_ATOM && exp->atom.kind == ATOM_CONST) {
    text_printf(j->t, "%s", version_size_name(j->tree->sizes, exp->atom));
  } else if (exp->kind == SIZE_EXP_ATOM) {
    add_string(j->t, version_size_name(j->tree->sizes, exp->atom));
  } else {
    text_printf(j->t, "[\"%s\", ", ops[exp->kind]);
    add_size(j, exp->a);
    text_add(j->t, ", ");
    add_size(j, exp->b);
    text_add(j->t, "]");
  }
}

// { "text": "n*m", "expr": ["*", "n", "m"] }
static void add_size_text(Json *j, const SizeExp *exp) {
  text_add(j->t, "{ \"text\": ");
  add_string(j->t, version_size_text(j->tree->sizes, exp));
  add_key(j, "expr");
  add_size(j, exp);
  text_add(j->t, " }");
}

static void add_source(Json *j, Loc loc) {
  if (!loc.file) return;
  LineCol from = loc_line_col(loc),
          to = loc_line_col((Loc){ loc.file, loc.end, loc.end });
  add_key(j, "file");
  add_string(j->t, loc.file->path);
  text_printf(j->t,
              ", \"line\": %d, \"column\": %d, \"end_line\": %d, \"end_column\": %d",
              from.line, from.col, to.line, to.col);
  add_key(j, "source");
  add_string(j->t, version_source_text(loc, SOURCE_WIDTH));
}

static void add_events(Json *j, const Guard *guard) {
  if (!j->events) return;
  add_key(j, "events");
  text_add(j->t, "[");
  bool first = true;
  for (int i = 0; i < j->events->count; i++) {
    const GuardEvent *e = &j->events->at[i];
    if (e->guard != guard->name) continue;
    text_printf(j->t,
                "%s{ \"par\": %" PRId64 ", \"threshold\": %" PRId64
                ", \"count\": %" PRId64 ", \"first\": %s }",
                first ? "" : ", ", e->par, e->threshold, e->count,
                e->first ? "true" : "false");
    first = false;
  }
  text_add(j->t, "]");
}

static void add_guard(Json *j, const Guard *guard) {
  static const char *const kinds[] = {
    [GUARD_TOP] = "top",       [GUARD_INTRA] = "intra", [GUARD_REDOMAP] = "redomap",
    [GUARD_CHOOSE] = "choose", [GUARD_LOOP] = "loop",
  };
  add_key(j, "name");
  add_string(j->t, guard->name);
  add_key(j, "guard");
  add_string(j->t, kinds[guard->kind]);
  add_key(j, "par");
  add_size_text(j, guard->par);
  add_key(j, "local_bytes");
  if (guard->local_bytes)
    add_size_text(j, guard->local_bytes);
  else
    text_add(j->t, "null");
  text_printf(j->t, ", \"default\": %d", VERSION_DEFAULT_THRESHOLD);
  add_events(j, guard);
}

static void add_region(Json *j, const Region *region);

// Of the code up to names of binders: FNV-1a.
static uint64_t code_hash(const Body *body) {
  uint64_t hash = 14695981039346656037u;
  for (const char *s = same_code_text(body); *s; s++)
    hash = (hash ^ (unsigned char)*s) * 1099511628211u;
  return hash;
}

// { "name": "main.segmap.recipe", "guard": "recipe", "ways": ["split n by 8; bind n to reg", ...] }
static void add_recipe_guard(Json *j, const RecipeGuard *guard) {
  text_add(j->t, "{ \"name\": ");
  add_string(j->t, guard->parameter);
  add_key(j, "guard");
  add_string(j->t, "recipe");
  add_key(j, "ways");
  for (int i = 0; i < guard->way_count; i++) {
    text_add(j->t, i ? ", " : "[");
    add_string(j->t, guard->ways[i]);
  }
  text_add(j->t, "] }");
}

static void add_recipes(Json *j, const Region *leaf) {
  RecipeGuards guards = version_recipes(j->tree, leaf);
  if (!guards.count) return;
  add_key(j, "recipes");
  for (int i = 0; i < guards.count; i++) {
    text_add(j->t, i ? ", " : "[");
    add_recipe_guard(j, &guards.at[i]);
  }
  text_add(j->t, "]");
}

static void add_leaf_object(Json *j, const Region *leaf) {
  add_key(j, "version");
  if (leaf->version < 0)
    text_add(j->t, "null");
  else
    text_printf(j->t, "\"V%d\"", leaf->version);
  add_key(j, "code");
  add_string(j->t, leaf->code);
  text_printf(j->t, ", \"hash\": \"%016" PRIx64 "\"", code_hash(leaf->body));
  add_recipes(j, leaf);
}

static void add_part(Json *j, const char *key, const Region *part) {
  text_add(j->t, ",");
  text_newline(j->t);
  text_printf(j->t, "\"%s\": ", key);
  add_region(j, part);
}

static void add_parts(Json *j, const Region *region) {
  add_key(j, "parts");
  text_add(j->t, "[");
  for (int i = 0; i < region->part_count; i++) {
    if (i) text_add(j->t, ",");
    text_newline(j->t);
    add_region(j, region->parts[i]);
  }
  text_add(j->t, "]");
}

static void add_layouts(Json *j, const Exp *split) {
  LayoutVec layouts = version_layouts(j->tree, split);
  if (!layouts.count) return;
  add_key(j, "layouts");
  text_add(j->t, "[");
  for (int i = 0; i < layouts.count; i++) {
    if (i) text_add(j->t, ", ");
    add_string(j->t, layouts.at[i]);
  }
  text_add(j->t, "]");
}

// The names of what divides it.
static void add_split_names(Json *j, const Region *region) {
  if (!region->splits.count) return;
  add_key(j, "splits");
  text_add(j->t, "[");
  for (int i = 0; i < region->splits.count; i++) {
    if (i) text_add(j->t, ", ");
    add_string(j->t, region->splits.at[i]->u.split.guard->name);
  }
  text_add(j->t, "]");
}

static void add_region(Json *j, const Region *region) {
  static const char *const kinds[] = {
    [REGION_LEAF] = "leaf", [REGION_SEQ] = "seq",     [REGION_LOOP] = "loop",
    [REGION_IF] = "if",     [REGION_GUARD] = "guard",
  };
  text_printf(j->t, "{ \"kind\": \"%s\"", kinds[region->kind]);
  add_split_names(j, region);
  text_indent(j->t, 2);
  switch (region->kind) {
  case REGION_LEAF: add_leaf_object(j, region); break;
  case REGION_SEQ: add_parts(j, region); break;
  case REGION_LOOP:
    add_source(j, region->loc);
    add_part(j, "body", region->parts[0]);
    break;
  case REGION_GUARD:
    add_guard(j, region->guard);
    add_source(j, region->loc);
    add_part(j, "then", region->parts[0]);
    add_part(j, "else", region->parts[1]);
    break;
  case REGION_IF:
    add_source(j, region->loc);
    add_part(j, "then", region->parts[0]);
    add_part(j, "else", region->parts[1]);
    break;
  }
  text_indent(j->t, -2);
  text_add(j->t, " }");
}

static void add_splits(Json *j) {
  text_add(j->t, "\"splits\": [");
  for (int i = 0; i < j->tree->splits.count; i++) {
    const Guard *guard = j->tree->splits.at[i]->u.split.guard;
    const SizeExp width = { .kind = SIZE_EXP_ATOM,
                            .atom = j->tree->splits.at[i]->u.split.width };
    text_printf(j->t, "%s{ \"name\": ", i ? ", " : "");
    add_string(j->t, guard->name);
    add_key(j, "width");
    add_size_text(j, &width);
    add_key(j, "par");
    add_size_text(j, guard->par);
    text_printf(j->t, ", \"exchanges\": %d, \"segs\": %d", guard->exchanges, guard->segs);
    if (guard->moved) {
      add_key(j, "moved");
      add_size_text(j, guard->moved);
    }
    add_layouts(j, j->tree->splits.at[i]);
    add_events(j, guard);
    text_add(j->t, " }");
  }
  text_add(j->t, "],");
  text_newline(j->t);
}

void version_tree_json(Text *t, const VersionTree *tree, const EventVec *events) {
  Json j = { t, tree, events };
  text_add(t, "{ \"name\": ");
  add_string(t, tree->entry->name);
  text_printf(t, ", \"versions\": %d, \"guards\": %d, \"kernels\": %d,",
              tree->version_count, tree->guard_count, tree->kernel_count);
  text_indent(t, 2);
  text_newline(t);
  if (tree->splits.count) add_splits(&j);
  text_add(t, "\"tree\": ");
  add_region(&j, tree->root);
  text_indent(t, -2);
  text_add(t, " }");
}
