// Reading version trees, and the runs that cover them.
#include "tuner/tree.h"
#include "base/text.h"
#include <jansson.h>
#include <string.h>

// ---- from JSON

static const char *copy_string(const json_t *node, const char *key) {
  const char *s = json_string_value(json_object_get(node, key));
  return text_format("%s", s ? s : "");
}

static const Tree *read_node(const json_t *json, int depth, const char **message);

// The parts of a seq are "parts", that of a loop "body", those of guards and ifs "then" and "else".
static bool read_children(Tree *tree, const json_t *json, int depth,
                          const char **message) {
  const json_t *parts = json_object_get(json, "parts");
  json_t *found[2] = { json_object_get(json, "body"), NULL };
  if (!found[0]) {
    found[0] = json_object_get(json, "then");
    found[1] = json_object_get(json, "else");
  }
  int single = found[0] ? 1 + (found[1] != NULL) : 0;
  tree->child_count = parts ? (int)json_array_size(parts) : single;
  tree->children = new_array(const Tree *, tree->child_count + 1);
  for (int i = 0; i < tree->child_count; i++) {
    const json_t *child = parts ? json_array_get(parts, (size_t)i) : found[i];
    tree->children[i] = read_node(child, depth + 1, message);
    if (!tree->children[i]) return false;
  }
  return true;
}

static uint64_t hash_more(uint64_t hash, const void *bytes, size_t count) {
  for (size_t i = 0; i < count; i++)
    hash = (hash ^ ((const unsigned char *)bytes)[i]) * 0x100000001B3u;
  return hash;
}

// Of the structure and the code in it; names of guards change with what stands before them.
static uint64_t hash_node(const Tree *tree, const char *code) {
  uint64_t hash = hash_more(0xCBF29CE484222325u, &tree->kind, sizeof tree->kind);
  hash = hash_more(hash, code, strlen(code));
  hash = hash_more(hash, tree->par, strlen(tree->par));
  for (int i = 0; i < tree->child_count; i++)
    hash = hash_more(hash, &tree->children[i]->hash, sizeof hash);
  return hash;
}

static bool read_kind(const char *word, TreeKind *kind) {
  static const struct {
    const char *word;
    TreeKind kind;
  } kinds[] = { { "leaf", TREE_KERNEL },
                { "guard", TREE_GUARD },
                { "seq", TREE_SEQ },
                { "loop", TREE_LOOP },
                { "if", TREE_SEQ } };
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
    if (strcmp(kinds[i].word, word) == 0) {
      *kind = kinds[i].kind;
      return true;
    }
  return false;
}

static const Tree *refuse(const char **message, const char *why, const char *name) {
  *message = text_format("version tree: %s%s%s", why, *name ? ": " : "", name);
  return NULL;
}

static const Tree *read_node(const json_t *json, int depth, const char **message) {
  if (!json_is_object(json)) return refuse(message, "expected an object", "");
  if (depth > 1000) return refuse(message, "too deep", "");
  Tree *tree = new (Tree);
  tree->guard = -1;
  const char *word = copy_string(json, "kind");
  if (!read_kind(word, &tree->kind)) return refuse(message, "unknown kind", word);
  tree->name = copy_string(json, tree->kind == TREE_KERNEL ? "version" : "name");
  tree->par = copy_string(json_object_get(json, "par"), "text");
  tree->code = copy_string(json, tree->kind == TREE_KERNEL ? "code" : "source");
  tree->line = (int)json_integer_value(json_object_get(json, "line"));
  if (!read_children(tree, json, depth, message)) return NULL;
  tree->hash = hash_node(tree, copy_string(json, "hash"));
  if (tree->kind == TREE_GUARD && tree->child_count != 2)
    return refuse(message, "a guard needs two children", tree->name);
  if (tree->kind == TREE_GUARD && !*tree->name)
    return refuse(message, "a guard needs a name", "");
  return tree;
}

// The tree of the entry point, among {"entries": [{"name", "tree"}]} or {"NAME": tree}; or the
// text is the tree itself.
static const json_t *entry_tree(const json_t *json, const char *entry) {
  if (json_object_get(json, "kind")) return json;
  const json_t *entries = json_object_get(json, "entries");
  for (size_t i = 0; i < json_array_size(entries); i++) {
    const json_t *item = json_array_get(entries, i);
    const char *name = json_string_value(json_object_get(item, "name"));
    if (name && strcmp(name, entry) == 0) return json_object_get(item, "tree");
  }
  return json_object_get(entries ? entries : json, entry);
}

const TunerTree *tree_read(const char *json, const char *entry, const char **message) {
  json_error_t problem;
  json_t *parsed = json_loads(json, 0, &problem);
  if (!parsed) {
    *message = text_format("version tree: %s (line %d)", problem.text, problem.line);
    return NULL;
  }
  const json_t *found = entry_tree(parsed, entry);
  const Tree *root = NULL;
  if (found)
    root = read_node(found, 0, message);
  else
    refuse(message, "it lacks the entry point", entry);
  json_decref(parsed);
  return root ? tree_of((Tree *)mem_copy(root, sizeof *root)) : NULL;
}

// ---- numbering

typedef struct Numbering {
  Vec(TreeGuard) guards;
} Numbering;

// "1f2e..", and a number if other roots have the same code.
static const char *region_name(const Numbering *n, uint64_t hash) {
  int same = 0;
  for (int g = 0; g < n->guards.count; g++)
    same += n->guards.at[g].root == g && n->guards.at[g].node->hash == hash;
  return text_format(same ? "%016llx.%d" : "%016llx", (unsigned long long)hash, same);
}

// A copy with its guards numbered; `parent` is the guard around it, `root` that of the race if it
// stands there directly, or -1.
static const Tree *number(Numbering *n, const Tree *tree, int parent, int branch,
                          int root) {
  Tree *copy = mem_copy(tree, sizeof *tree);
  copy->children = new_array(const Tree *, tree->child_count + 1);
  if (tree->kind == TREE_GUARD) {
    copy->guard = n->guards.count;
    if (root < 0) root = copy->guard;
    const char *region = root == copy->guard ? region_name(n, tree->hash) : NULL;
    vec_push(&n->guards, (TreeGuard){ copy, parent, branch, root, region });
  }
  for (int i = 0; i < tree->child_count; i++) {
    bool guard = tree->kind == TREE_GUARD;
    copy->children[i] = number(n, tree->children[i], guard ? copy->guard : parent,
                               guard ? i : branch, guard ? root : -1);
  }
  return copy;
}

const TunerTree *tree_of(Tree *root) {
  Numbering n = { 0 };
  const Tree *numbered = number(&n, root, -1, 0, -1);
  return new_node(TunerTree, .root = numbered, .guards = n.guards.at,
                  .guard_count = n.guards.count);
}

Tree *tree_node(TreeKind kind, const char *name, const Tree **children, int count) {
  return new_node(Tree, .kind = kind, .name = name, .par = "", .code = "", .guard = -1,
                  .children = children, .child_count = count);
}

// ---- covering

int tree_runs(const Tree *tree) {
  int most = 1, sum = 0;
  for (int i = 0; i < tree->child_count; i++) {
    int runs = tree_runs(tree->children[i]);
    sum += runs;
    if (runs > most) most = runs;
  }
  return tree->kind == TREE_GUARD ? sum : most;
}

// What needs fewer runs than its neighbours starts over: more samples, and no run without it.
static void cover(const Tree *tree, int run, Path path) {
  if (tree->kind == TREE_GUARD) {
    int runs = tree_runs(tree->children[0]);
    int all = runs + tree_runs(tree->children[1]);
    run %= all;
    path.outcome[tree->guard] = run < runs ? 'T' : 'F';
    cover(tree->children[run < runs ? 0 : 1], run < runs ? run : run - runs, path);
    return;
  }
  for (int i = 0; i < tree->child_count; i++)
    cover(tree->children[i], run, path);
}

Path tree_cover(const TunerTree *tree, int run) {
  Path path = { mem_alloc_plain((size_t)tree->guard_count + 1) };
  cover(tree->root, run, path);
  return path;
}

static void add_alternatives(const Tree *tree, TreeBranches *out) {
  for (int b = 0; b < 2; b++) {
    if (tree->children[b]->kind == TREE_GUARD)
      add_alternatives(tree->children[b], out);
    else
      vec_push(out, 2 * tree->guard + b);
  }
}

TreeBranches tree_alternatives(const TunerTree *tree, int root) {
  TreeBranches out = { 0 };
  add_alternatives(tree->guards[root].node, &out);
  return out;
}

Path tree_path_below(const TunerTree *tree, int from, int guard, int branch) {
  Path path = { mem_alloc_plain((size_t)tree->guard_count + 1) };
  int end = from < 0 ? -1 : tree->guards[from].parent;
  while (guard != end) {
    path.outcome[guard] = branch == 0 ? 'T' : 'F';
    branch = tree->guards[guard].parent_branch;
    guard = tree->guards[guard].parent;
  }
  return path;
}

Path tree_path_to(const TunerTree *tree, int guard, int branch) {
  return tree_path_below(tree, -1, guard, branch);
}

// ---- names

const char *tree_path_text(const TunerTree *tree, Path path) {
  Text *t = text_new();
  for (int g = 0; g < tree->guard_count; g++)
    if (path.outcome[g])
      text_printf(t, "%s%s=%c", text_length(t) ? "," : "", tree->guards[g].node->name,
                  path.outcome[g]);
  return text_str(t);
}

int tree_region_named(const TunerTree *tree, const char *region) {
  for (int g = 0; g < tree->guard_count; g++)
    if (tree->guards[g].region && strcmp(tree->guards[g].region, region) == 0) return g;
  return -1;
}

int tree_guard_named(const TunerTree *tree, const char *name) {
  for (int g = 0; g < tree->guard_count; g++)
    if (strcmp(tree->guards[g].node->name, name) == 0) return g;
  return -1;
}

const char *tree_version_name(const TunerTree *tree, int guard, int branch) {
  return text_format("%s%s", branch ? "not " : "", tree->guards[guard].node->name);
}
