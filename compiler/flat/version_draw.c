// The version tree as a drawing in text, and for graphviz.
//
//   map, line 31: map (\row -> ...) a
//   |-- main.top_0:   n >= t                      V0  segmap1<n> (all sequential)
//   |-- main.intra_1: n*p >= t, fits(4*p)         V1  segmap1<n> (segmap0<p> redomap)
//   `-- flat                                      V4  segred1<n,p,m>
#include "flat/versions.h"
#include <inttypes.h>
#include <string.h>

// A line of the drawing: what hangs on the tree, and the kernels beside it.
typedef struct DrawnLine {
  const char *left, *right;
} DrawnLine;

typedef struct Drawing {
  const VersionTree *tree;
  const EventVec *events;
  Vec(DrawnLine) lines;
  SplitVec drawn, open;  // so far; above the region that is drawn
} Drawing;

enum { SOURCE_WIDTH = 48, LEFT_WIDTH = 56 };

static void add_line(Drawing *d, const char *left, const char *right) {
  vec_push(&d->lines, (DrawnLine){ left, right });
}

// ---- what a run did

static const char *events_text(const Drawing *d, const Guard *guard) {
  Text *t = text_new();
  for (int i = 0; d->events && i < d->events->count; i++) {
    const GuardEvent *e = &d->events->at[i];
    if (e->guard != guard->name) continue;
    text_printf(t, "%s%" PRId64 " %s %" PRId64, text_length(t) ? "; " : "  [", e->par,
                e->first ? ">=" : "<", e->threshold);
    if (e->count > 1) text_printf(t, ", %" PRId64 " times", e->count);
  }
  if (text_length(t)) text_add(t, "]");
  return text_str(t);
}

static bool took(const Drawing *d, const Guard *guard, bool first) {
  for (int i = 0; d->events && i < d->events->count; i++)
    if (d->events->at[i].guard == guard->name && d->events->at[i].first == first)
      return true;
  return false;
}

// ---- labels

static const char *head(Loc loc) {
  if (!loc.file) return "(generated)";
  return text_format("line %d: %s", loc_line_col(loc).line,
                     version_source_text(loc, SOURCE_WIDTH));
}

static const char *condition(const Drawing *d, const Guard *guard) {
  Text *t = text_new();
  if (guard->kind == GUARD_CHOOSE && guard->par->kind == SIZE_EXP_ATOM &&
      guard->par->atom.kind == ATOM_CONST)
    text_add(t, "first alternative");
  else
    text_printf(t, "%s >= t", version_size_text(d->tree->sizes, guard->par));
  if (guard->local_bytes)
    text_printf(t, ", fits(%s)", version_size_text(d->tree->sizes, guard->local_bytes));
  return text_str(t);
}

static const char *leaf_text(const Region *leaf, bool ran) {
  if (leaf->version < 0) return leaf->code;
  return text_format("V%d  %s%s", leaf->version, leaf->code, ran ? "  <== runs" : "");
}

// ---- splits

// Is it one that callers have made?
static bool is_always(const Guard *guard) {
  return guard->par->kind == SIZE_EXP_ATOM &&
         atom_equal(guard->par->atom, atom_i64(INT64_MAX));
}

// What is exchanged for a split.
static const char *price(const Drawing *d, const Guard *guard) {
  if (!guard->exchanges) return "";
  const char *bytes = guard->moved ? version_size_text(d->tree->sizes, guard->moved) : "";
  return text_format(", for %d exchange%s%s%s%s", guard->exchanges,
                     guard->exchanges == 1 ? "" : "s", *bytes ? " of " : "", bytes,
                     *bytes ? " bytes" : "");
}

// " in main.layout_1, main.layout_2"
static const char *layouts_text(const Drawing *d, const Exp *split) {
  LayoutVec layouts = version_layouts(d->tree, split);
  const char *out = "";
  for (int i = 0; i < layouts.count; i++)
    out = text_format("%s%s%s", out, i ? ", " : " in ", layouts.at[i]);
  return out;
}

// What a split asks for; in full where it is first drawn.
static const char *split_text(Drawing *d, const Exp *split) {
  const Guard *guard = split->u.split.guard;
  const char *blocks = text_format(
      "blocks of %s%s", version_size_name(d->tree->sizes, split->u.split.width),
      layouts_text(d, split));
  bool again = version_has_split(&d->drawn, split);
  if (!again) vec_push(&d->drawn, split);
  if (is_always(guard)) return text_format("%s: always", blocks);
  if (again) return text_format("%s: %s, as above", blocks, guard->name);
  return text_format("%s: %s: %s%s%s", blocks, guard->name, condition(d, guard),
                     price(d, guard), events_text(d, guard));
}

// A split of the region above which its node is still to be drawn.  What is in sequence has those
// of its parts.
static const Exp *next_split(const Drawing *d, const Region *region) {
  vec_each (const Exp *const *, split, &region->splits)
    if (region->kind != REGION_SEQ && !version_has_split(&d->open, *split)) return *split;
  return NULL;
}

// ---- text

enum { WAY_WIDTH = 72 };

// Below a leaf: which recipe its kernels go by.
static void draw_recipes(Drawing *d, const char *prefix, const Region *leaf) {
  RecipeGuards guards = version_recipes(d->tree, leaf);
  for (int i = 0; i < guards.count; i++) {
    const RecipeGuard *guard = &guards.at[i];
    for (int k = 0; k < guard->way_count; k++) {
      bool last = i == guards.count - 1 && k == guard->way_count - 1;
      const char *way = guard->ways[k];
      bool cut = strlen(way) > WAY_WIDTH;
      add_line(d,
               text_format("%s%s%s = %d", prefix, last ? "`-- " : "|-- ",
                           guard->parameter, k + 1),
               text_format("%.*s%s", WAY_WIDTH, way, cut ? ".." : ""));
    }
  }
}

static void draw_parts(Drawing *d, const char *prefix, const Region *const *parts,
                       int count, bool ran);
static void draw_children(Drawing *d, const char *prefix, const Region *region, bool ran);

static void draw_node(Drawing *d, const char *prefix, const Region *region, bool last,
                      bool ran) {
  static const char *const words[] = {
    [REGION_LEAF] = "",   [REGION_SEQ] = "",   [REGION_LOOP] = "loop, ",
    [REGION_IF] = "if, ", [REGION_GUARD] = "",
  };
  const char *corner = last ? "`-- " : "|-- ";
  if (region->kind == REGION_LEAF) {
    const char *what = version_only_moves(region->body) ? "workers" : "kernels";
    add_line(d, text_format("%s%s%s", prefix, corner, what), leaf_text(region, ran));
    draw_recipes(d, text_format("%s%s", prefix, last ? "    " : "|   "), region);
    return;
  }
  add_line(
      d, text_format("%s%s%s%s", prefix, corner, words[region->kind], head(region->loc)),
      NULL);
  draw_children(d, text_format("%s%s", prefix, last ? "    " : "|   "), region, ran);
}

// A branch of a guard or an if: on the line of its label if it is a leaf.
static void draw_branch(Drawing *d, const char *prefix, const char *label,
                        const Region *region, bool ran) {
  bool last = *label == '`', divided = next_split(d, region) != NULL;
  if (region->kind == REGION_LEAF && !divided) {
    add_line(d, text_format("%s%s", prefix, label), leaf_text(region, ran));
    draw_recipes(d, text_format("%s%s", prefix, last ? "    " : "|   "), region);
    return;
  }
  const char *of = region->kind == REGION_GUARD && !divided
                       ? text_format(" of %s", head(region->loc))
                       : "";
  add_line(d, text_format("%s%s%s", prefix, label, of), NULL);
  draw_children(d, text_format("%s%s", prefix, last ? "    " : "|   "), region, ran);
}

// The guards of one operator stand below each other; what is left is the last line.
static void draw_guards(Drawing *d, const char *prefix, const Region *region, bool ran) {
  static const char *const last_labels[] = {
    [GUARD_TOP] = "`-- flat",      [GUARD_INTRA] = "`-- flat",
    [GUARD_REDOMAP] = "`-- flat",  [GUARD_CHOOSE] = "`-- second alternative",
    [GUARD_LOOP] = "`-- one item",
  };
  const Guard *guard = region->guard;
  const Region *rest = region->parts[1];
  const char *label = text_format("|-- %s: %s%s", guard->name, condition(d, guard),
                                  events_text(d, guard));
  draw_branch(d, prefix, label, region->parts[0], ran && took(d, guard, true));
  ran = ran && took(d, guard, false);
  bool same = rest->kind == REGION_GUARD && rest->loc.file == region->loc.file &&
              rest->loc.start == region->loc.start && guard->kind == GUARD_TOP &&
              rest->guard->kind == GUARD_INTRA;
  if (same)
    draw_guards(d, prefix, rest, ran);
  else
    draw_branch(d, prefix, last_labels[guard->kind], rest, ran);
}

// What one split divides hangs on its node, in which workers have blocks if it is taken, else one
// has all.
static void draw_parts(Drawing *d, const char *prefix, const Region *const *parts,
                       int count, bool ran) {
  for (int i = 0, end; i < count; i = end) {
    const Exp *split = next_split(d, parts[i]);
    end = i + 1;
    while (split && end < count && version_has_split(&parts[end]->splits, split))
      end++;
    bool last = end == count;
    if (!split) {
      draw_node(d, prefix, parts[i], last, ran);
      continue;
    }
    add_line(d,
             text_format("%s%s%s", prefix, last ? "`-- " : "|-- ", split_text(d, split)),
             NULL);
    vec_push(&d->open, split);
    draw_parts(d, text_format("%s%s", prefix, last ? "    " : "|   "), parts + i, end - i,
               ran);
    d->open.count--;
  }
}

static void draw_children(Drawing *d, const char *prefix, const Region *region,
                          bool ran) {
  if (next_split(d, region)) {
    draw_parts(d, prefix, &region, 1, ran);
    return;
  }
  switch (region->kind) {
  case REGION_LEAF: draw_node(d, prefix, region, true, ran); return;
  case REGION_LOOP: draw_children(d, prefix, region->parts[0], ran); return;
  case REGION_GUARD: draw_guards(d, prefix, region, ran); return;
  case REGION_SEQ: draw_parts(d, prefix, region->parts, region->part_count, ran); return;
  case REGION_IF:
    draw_branch(d, prefix, "|-- then", region->parts[0], ran);
    draw_branch(d, prefix, "`-- else", region->parts[1], ran);
    return;
  }
}

static void add_lines(Text *t, const Drawing *d) {
  size_t width = 0;
  for (int i = 0; i < d->lines.count; i++) {
    size_t length = strlen(d->lines.at[i].left);
    if (d->lines.at[i].right && length > width && length <= LEFT_WIDTH) width = length;
  }
  for (int i = 0; i < d->lines.count; i++) {
    const DrawnLine *line = &d->lines.at[i];
    if (line->right)
      text_printf(t, "%-*s  %s\n", (int)width, line->left, line->right);
    else
      text_printf(t, "%s\n", line->left);
  }
}

void version_tree_text(Text *t, const VersionTree *tree, const EventVec *events) {
  text_printf(t, "%s: %d version%s, %d guard%s\n", tree->entry->name, tree->version_count,
              tree->version_count == 1 ? "" : "s", tree->guard_count,
              tree->guard_count == 1 ? "" : "s");
  Drawing d = { .tree = tree, .events = events };
  const Region *root = tree->root;
  if (root->kind == REGION_SEQ || next_split(&d, root))
    draw_children(&d, "", root, events != NULL);
  else if (root->kind == REGION_LEAF)
    draw_node(&d, "", root, true, events != NULL);
  else {
    add_line(&d,
             root->kind == REGION_LOOP ? text_format("loop, %s", head(root->loc))
                                       : head(root->loc),
             NULL);
    draw_children(&d, "", root, events != NULL);
  }
  vec_each (const Exp *const *, split, &tree->splits)  // nothing runs by them
    if (!version_has_split(&d.drawn, *split))
      text_printf(t, "%s\n", split_text(&d, *split));
  add_lines(t, &d);
}

// ---- graphviz

typedef struct DotGraph {
  Text *t;
  Drawing *drawing;
  int next;
} DotGraph;

static void add_quoted(Text *t, const char *text) {
  for (const char *s = text; *s; s++) {
    if (*s == '"' || *s == '\\') text_add(t, "\\");
    text_add_bytes(t, s, 1);
  }
}

static int add_node(DotGraph *g, const char *shape, const char *first, const char *second,
                    bool ran) {
  text_printf(g->t, "  n%d [shape=%s, label=\"", g->next, shape);
  add_quoted(g->t, first);
  if (*second) text_add(g->t, "\\n");
  add_quoted(g->t, second);
  text_printf(g->t, "\"%s];\n", ran ? ", style=filled, fillcolor=lightblue" : "");
  return g->next++;
}

static void add_edge(DotGraph *g, int from, int to, const char *label) {
  text_printf(g->t, "  n%d -> n%d [label=\"%s\"];\n", from, to, label);
}

static int graph_region(DotGraph *g, const Region *region, bool ran);

static int graph_guard(DotGraph *g, const Region *region, bool ran) {
  const Guard *guard = region->guard;
  int node = add_node(
      g, "diamond", guard->name,
      text_format("%s%s", condition(g->drawing, guard), events_text(g->drawing, guard)),
      ran);
  add_edge(g, node,
           graph_region(g, region->parts[0], ran && took(g->drawing, guard, true)),
           "yes");
  add_edge(g, node,
           graph_region(g, region->parts[1], ran && took(g->drawing, guard, false)),
           "no");
  return node;
}

static int graph_parts(DotGraph *g, const Region *region, const char *label, bool ran) {
  int node = add_node(g, "folder", label, head(region->loc), ran);
  for (int i = 0; i < region->part_count; i++) {
    int part = graph_region(g, region->parts[i], ran);
    const char *edge = region->kind == REGION_IF ? (i == 0 ? "then" : "else")
                       : region->part_count > 1  ? text_format("%d", i + 1)
                                                 : "";
    add_edge(g, node, part, edge);
  }
  return node;
}

static void graph_recipe(DotGraph *g, int leaf, const RecipeGuard *guard) {
  int node = add_node(g, "diamond", guard->parameter, "", false);
  add_edge(g, leaf, node, "");
  for (int i = 0; i < guard->way_count; i++)
    add_edge(g, node, add_node(g, "note", guard->ways[i], "", false),
             text_format("%d", i + 1));
}

static int graph_leaf(DotGraph *g, const Region *leaf, bool ran) {
  const char *name = leaf->version < 0 ? "kernels" : text_format("V%d", leaf->version);
  int node = add_node(g, "box", name, leaf->code, ran && leaf->version >= 0);
  RecipeGuards guards = version_recipes(g->drawing->tree, leaf);
  vec_each (const RecipeGuard *, guard, &guards)
    graph_recipe(g, node, guard);
  return node;
}

// Blocks or all rows, for what comes next: both go to the node below.
static int graph_split(DotGraph *g, const Exp *split, const Region *region, bool ran) {
  Drawing *d = g->drawing;
  const Guard *guard = split->u.split.guard;
  const char *width = version_size_name(d->tree->sizes, split->u.split.width);
  const char *asks =
      is_always(guard) ? "always"
                       : text_format("%s%s", condition(d, guard), events_text(d, guard));
  int node = add_node(g, "diamond", guard->name, asks, ran);
  vec_push(&d->open, split);
  int below = graph_region(g, region, ran);
  d->open.count--;
  add_edge(g, node, below, text_format("yes: blocks of %s", width));
  if (!is_always(guard)) add_edge(g, node, below, "no");
  return node;
}

static int graph_region(DotGraph *g, const Region *region, bool ran) {
  const Exp *split = next_split(g->drawing, region);
  if (split) return graph_split(g, split, region, ran);
  switch (region->kind) {
  case REGION_LEAF: return graph_leaf(g, region, ran);
  case REGION_SEQ: return graph_parts(g, region, "in sequence", ran);
  case REGION_LOOP: return graph_parts(g, region, "loop", ran);
  case REGION_IF: return graph_parts(g, region, "if", ran);
  case REGION_GUARD: return graph_guard(g, region, ran);
  }
  return -1;
}

void version_tree_dot(Text *t, const VersionTree *tree, const EventVec *events) {
  Drawing drawing = { .tree = tree, .events = events };
  DotGraph g = { .t = t, .drawing = &drawing };
  text_printf(t, "digraph \"%s\" {\n  node [fontname=\"monospace\", fontsize=10];\n",
              tree->entry->name);
  graph_region(&g, tree->root, events != NULL);
  text_add(t, "}\n");
}
