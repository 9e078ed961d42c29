// Extracts the version tree from an entry point of Flat.
#include "flat/versions.h"
#include "base/map.h"
#include "flat/rules.h"
#include <string.h>

typedef struct Extract {
  VersionTree *tree;
  Map *makers;  // Var -> Exp: the split that gives it
} Extract;

static const Region *region_of_body(Extract *x, const Body *body, bool is_version);

static void seek_guard(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count && !*found; i++)
    *found = body->stms[i].exp->kind == EXP_GUARD;
  if (!*found) core_visit_body(v, body);
}

static bool has_guard(const Stm *stm) {
  bool found = stm->exp->kind == EXP_GUARD;
  CoreVisitor v = { .body = seek_guard, .state = &found };
  if (!found) core_visit_exp(&v, stm->exp);
  return found;
}

static bool body_has_guard(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (has_guard(&body->stms[i])) return true;
  return false;
}

// ---- what divides it

// The split that has decided about the rows of one in another layout, or the split itself.
static const Exp *deciding_split(const Map *makers, const Exp *split) {
  Atom workers = split->u.split.workers;
  const Exp *other = workers.kind == ATOM_VAR ? map_get(makers, workers.u.var) : NULL;
  return other ? other : split;
}

static void note_splits(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    for (int k = 0; exp->kind == EXP_SPLIT && k < SPLIT_RESULTS; k++)
      map_put(v->state, body->stms[i].binders[k], deciding_split(v->state, exp));
  }
  core_visit_body(v, body);
}

static Map *makers_in(const Body *body) {
  Map *makers = map_new(NULL);
  CoreVisitor v = { .body = note_splits, .state = makers };
  note_splits(&v, body);
  return makers;
}

bool version_has_split(const SplitVec *splits, const Exp *split) {
  for (int i = 0; i < splits->count; i++)
    if (splits->at[i] == split) return true;
  return false;
}

static void add_split(SplitVec *splits, const Exp *split) {
  if (split && !version_has_split(splits, split)) vec_push(splits, split);
}

typedef struct SplitSearch {
  const Map *makers;
  SplitVec found;
} SplitSearch;

// Those of seg-ops and of exchanges.
static void seek_splits(CoreVisitor *v, const Body *body) {
  SplitSearch *search = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind != EXP_SEG && !exp_is_exchange(exp)) continue;
    VarVec mentioned = core_free_exp(exp);
    for (int k = 0; k < mentioned.count; k++)
      add_split(&search->found, map_get(search->makers, mentioned.at[k]));
  }
  core_visit_body(v, body);
}

static SplitVec splits_of_leaf(const Extract *x, const Body *body) {
  SplitSearch search = { .makers = x->makers };
  CoreVisitor v = { .body = seek_splits, .state = &search };
  if (x->tree->splits.count) seek_splits(&v, body);
  return search.found;
}

static SplitVec splits_of_parts(const Region *const *parts, int count) {
  SplitVec all = { 0 };
  for (int i = 0; i < count; i++)
    vec_each (const Exp *const *, split, &parts[i]->splits)
      add_split(&all, *split);
  return all;
}

static void seek_split(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind == EXP_SPLIT)
      vec_push((SplitVec *)v->state, body->stms[i].exp);
  core_visit_body(v, body);
}

// Those that decide, of all.
static SplitVec deciding_splits(const SplitVec *all) {
  SplitVec out = { 0 };
  vec_each (const Exp *const *, split, all)
    if ((*split)->u.split.workers.kind == ATOM_CONST) vec_push(&out, *split);
  return out;
}

LayoutVec version_layouts(const VersionTree *tree, const Exp *split) {
  LayoutVec out = { 0 };
  vec_each (const Exp *const *, other, &tree->all_splits)
    if ((*other)->u.split.layout &&
        (*other)->u.split.guard->name == split->u.split.guard->name)
      vec_push(&out, (*other)->u.split.layout);
  return out;
}

// Of a statement with these parts: not those which it makes anew.
static SplitVec splits_around(const Stm *stm, const Region *const *parts, int count) {
  SplitVec all = splits_of_parts(parts, count), within = { 0 }, around = { 0 };
  CoreVisitor v = { .body = seek_split, .state = &within };
  if (all.count) core_visit_exp(&v, stm->exp);
  vec_each (const Exp *const *, split, &all)
    if (!version_has_split(&within, *split)) vec_push(&around, *split);
  return around;
}

// ---- regions

static const Region *leaf(Extract *x, const Body *body, bool is_version) {
  int version = is_version ? x->tree->version_count++ : -1;
  return new_node(Region, .kind = REGION_LEAF, .version = version,
                  .code = version_code_text(x->tree->sizes, body), .body = body,
                  .loc = body->stm_count ? body->stms[0].loc : (Loc){ 0 },
                  .splits = splits_of_leaf(x, body));
}

// A loop, an if or a guard with guards in it.
static const Region *region_of_stm(Extract *x, const Stm *stm) {
  BodyVec bodies = exp_bodies(stm->exp);
  bool guard = stm->exp->kind == EXP_GUARD;
  if (guard) x->tree->guard_count++;
  const Region **parts = new_array(const Region *, bodies.count);
  for (int i = 0; i < bodies.count; i++)
    parts[i] = region_of_body(x, bodies.at[i], guard);
  RegionKind kind = guard                        ? REGION_GUARD
                    : stm->exp->kind == EXP_LOOP ? REGION_LOOP
                                                 : REGION_IF;
  const Guard *g = guard ? stm->exp->u.guard.guard : NULL;
  return new_node(Region, .kind = kind, .loc = g ? g->loc : stm->loc, .parts = parts,
                  .part_count = bodies.count, .guard = g, .version = -1,
                  .splits = splits_around(stm, parts, bodies.count));
}

typedef Vec(const Region *) RegionVec;

static void seek_exchange(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count && !*found; i++)
    *found = exp_is_exchange(body->stms[i].exp);
  if (!*found) core_visit_body(v, body);
}

bool version_only_moves(const Body *body) {
  bool found = false;
  CoreVisitor v = { .body = seek_exchange, .state = &found };
  seek_exchange(&v, body);
  return found && !flat_body_has_seg(body, 1);
}

// Statements without guards become a leaf if there are kernels among them, or exchanges.
static void add_leaf(Extract *x, RegionVec *parts, const Stm *stms, int count) {
  const Body *body = new_node(Body, .stms = stms, .stm_count = count);
  if (flat_body_has_seg(body, 1) || version_only_moves(body))
    vec_push(parts, leaf(x, body, false));
}

static const Region *region_of_body(Extract *x, const Body *body, bool is_version) {
  if (!body_has_guard(body)) return leaf(x, body, is_version);
  RegionVec parts = { 0 };
  int first = 0;
  for (int i = 0; i < body->stm_count; i++) {
    if (!has_guard(&body->stms[i])) continue;
    add_leaf(x, &parts, body->stms + first, i - first);
    vec_push(&parts, region_of_stm(x, &body->stms[i]));
    first = i + 1;
  }
  add_leaf(x, &parts, body->stms + first, body->stm_count - first);
  if (parts.count == 1) return parts.at[0];
  return new_node(Region, .kind = REGION_SEQ, .parts = parts.at,
                  .part_count = parts.count, .loc = parts.at[0]->loc, .version = -1,
                  .splits = splits_of_parts(parts.at, parts.count));
}

typedef struct SeekRecipes {
  const Map *recipes;
  RecipeGuards found;
} SeekRecipes;

static void seek_recipes(CoreVisitor *v, const Body *body) {
  SeekRecipes *seek = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    RecipeGuards *of = exp->kind == EXP_SEG ? map_get(seek->recipes, exp->u.seg) : NULL;
    for (int k = 0; of && k < of->count; k++)
      vec_push(&seek->found, of->at[k]);
  }
  core_visit_body(v, body);
}

RecipeGuards version_recipes(const VersionTree *tree, const Region *leaf) {
  SeekRecipes seek = { .recipes = tree->recipes };
  CoreVisitor v = { .body = seek_recipes, .state = &seek };
  if (tree->recipes) seek_recipes(&v, leaf->body);
  return seek.found;
}

static void count_code(CoreVisitor *v, const Body *body) {
  VersionTree *tree = v->state;
  tree->stm_count += body->stm_count;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    tree->kernel_count += exp->kind == EXP_SEG && exp->u.seg->level == 1;
  }
  core_visit_body(v, body);
}

VersionTree version_tree(Compiler *c, const Entry *entry) {
  (void)c;
  VersionTree tree = { .entry = entry, .sizes = size_names_new(entry) };
  CoreVisitor splits = { .body = seek_split, .state = &tree.all_splits };
  seek_split(&splits, entry->body);
  tree.splits = deciding_splits(&tree.all_splits);
  Extract x = { &tree, makers_in(entry->body) };
  tree.root = region_of_body(&x, entry->body, true);
  CoreVisitor v = { .body = count_code, .state = &tree };
  count_code(&v, entry->body);
  return tree;
}

static bool find_version(const Region *region, int version, StepVec *path) {
  if (region->kind == REGION_LEAF) return region->version == version;
  int depth = path->count;
  for (int i = 0; i < region->part_count; i++) {
    if (region->kind == REGION_GUARD)
      vec_push(path, (PathStep){ region->guard->name, i == 0 });
    if (find_version(region->parts[i], version, path)) return true;
    path->count = depth;
  }
  return false;
}

bool version_path(const VersionTree *tree, int version, StepVec *out) {
  return version >= 0 && find_version(tree->root, version, out);
}

const char *versions_text(Compiler *c, const Core *flat) {
  Text *t = text_new();
  for (int i = 0; i < flat->entry_count; i++) {
    VersionTree tree = version_tree(c, flat->entries[i]);
    if (i) text_add(t, "\n");
    version_tree_text(t, &tree, NULL);
  }
  return text_str(t);
}

const char *versions_json(Compiler *c, const Core *flat) {
  Text *t = text_new();
  text_add(t, "{ \"schema\": \"flc-tree\", \"version\": 1, \"entries\": [");
  for (int i = 0; i < flat->entry_count; i++) {
    VersionTree tree = version_tree(c, flat->entries[i]);
    text_add(t, i ? ",\n" : "\n");
    version_tree_json(t, &tree, NULL);
  }
  text_add(t, "\n] }\n");
  return text_str(t);
}
