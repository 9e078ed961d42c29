// Building the graph of a body's statements, and joining two of them, for fuse.c.
#include "core/fuse.h"

// How far apart two statements may stand if those between them have to be sorted.
enum { MAX_WINDOW = 4096 };

static bool is_var(Atom a) { return a.kind == ATOM_VAR; }

Node *graph_producer(const Graph *g, Atom a) {
  return is_var(a) ? map_get(g->producers, a.u.var) : NULL;
}

int graph_uses(const Graph *g, const Var *var) {
  const int *count = map_get(g->uses, var);
  return count ? *count : 0;
}

static void add_uses(Graph *g, const Var *var, int by) {
  int *count = map_get(g->uses, var);
  if (!count) {
    count = new (int);
    map_put(g->uses, var, count);
  }
  *count += by;
}

// ---- building

static void mention(Node *node, const Var *var, bool inside) {
  if (inside) map_put(node->inside, var, var);
  if (map_has(node->mentions, var)) return;
  map_put(node->mentions, var, var);
  vec_push(&node->free, var);
}

static bool binds(const Stm *stm, const Var *var) {
  for (int i = 0; i < stm->binder_count; i++)
    if (stm->binders[i] == var) return true;
  return false;
}

static void mention_type(Node *node, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (is_var(type.dims[i]) && !binds(&node->stm, type.dims[i].u.var))
      mention(node, type.dims[i].u.var, true);
}

// A SOAC's expression without its input arrays.
static const Exp *without_arrays(const Exp *exp) {
  Exp e = *exp;
  if (e.kind == EXP_SCATTER)
    e.u.scatter.array_count = 0;
  else if (e.kind == EXP_HIST)
    e.u.hist.array_count = 0;
  else
    e.u.soac.array_count = 0;
  return mem_copy(&e, sizeof e);
}

static Node *node_new(const Stm *stm, int position) {
  Node *node = new_node(Node, .stm = *stm, .position = position, .form = form_of(stm));
  node->mentions = map_new(NULL);
  node->inside = map_new(NULL);
  VarVec inside = core_free_exp(node->form ? without_arrays(stm->exp) : stm->exp);
  for (int i = 0; i < inside.count; i++)
    mention(node, inside.at[i], true);
  for (int i = 0; i < stm->binder_count; i++)
    mention_type(node, stm->binders[i]->type);
  if (!node->form) return node;
  for (int i = 0; i < node->form->arrays.count; i++)
    if (is_var(node->form->arrays.at[i]))
      mention(node, node->form->arrays.at[i].u.var, false);
  return node;
}

// The array that a view shows.
static const Var *view_source(const Exp *exp) {
  Atom a = atom_bool(false);
  if (exp->kind == EXP_ATOM) a = exp->u.atom.atom;
  if (exp->kind == EXP_INDEX) a = exp->u.index.array;
  if (exp->kind == EXP_REARRANGE) a = exp->u.rearrange.array;
  if (exp->kind == EXP_RESHAPE) a = exp->u.reshape.array;
  if (exp->kind == EXP_ROTATE) a = exp->u.rotate.array;
  return is_var(a) ? a.u.var : NULL;
}

static const Var *root(const Graph *g, const Var *var) {
  const Var *source = map_get(g->sources, var);
  return source ? source : var;
}

static void add_node(Graph *g, const Stm *stm, int position) {
  Node *node = node_new(stm, position);
  g->order[position] = node;
  for (int i = 0; i < stm->binder_count; i++)
    map_put(g->producers, stm->binders[i], node);
  for (int i = 0; i < node->free.count; i++)
    add_uses(g, node->free.at[i], 1);
  const Var *source = view_source(stm->exp);
  if (source) map_put(g->sources, stm->binders[0], root(g, source));
}

Graph *graph_new(Compiler *c, const Body *body) {
  Graph *g = new_node(Graph, .c = c, .count = body->stm_count);
  g->order = new_array(Node *, body->stm_count);
  g->producers = map_new(NULL);
  g->uses = map_new(NULL);
  g->sources = map_new(NULL);
  for (int i = 0; i < body->stm_count; i++)
    add_node(g, &body->stms[i], i);
  for (int i = 0; i < body->result_count; i++)
    if (is_var(body->results[i])) add_uses(g, body->results[i].u.var, 1);
  return g;
}

static Stm node_stm(const Node *node) {
  if (!node->grown) return node->stm;
  VarVec binders = form_binders(node->form);
  return (Stm){ binders.at, binders.count, form_exp(node->form, node->stm.exp),
                node->stm.loc, node->stm.attrs };
}

const Body *graph_body(const Graph *g, const Body *old) {
  StmVec stms = { 0 };
  for (int i = 0; i < g->count; i++)
    if (g->order[i]) vec_push(&stms, node_stm(g->order[i]));
  return new_node(Body, .stms = stms.at, .stm_count = stms.count, .results = old->results,
                  .result_count = old->result_count);
}

// ---- order

// Scatters and histograms overwrite their destinations: they must stay behind other readers.
static bool must_stay(const Node *node) {
  return node->form->kind == EXP_SCATTER || node->form->kind == EXP_HIST;
}

// The position behind which the joined statement has to stand.
static int last_need(const Graph *g, const Node *a, const Node *b) {
  if (must_stay(b)) return b->position;
  int last = a->position;
  for (int i = 0; i < b->free.count; i++) {
    const Node *need = map_get(g->producers, b->free.at[i]);
    if (need && need->position > last) last = need->position;
  }
  return last;
}

static bool mentions_any(const Node *node, const Map *vars) {
  for (int i = 0; i < node->free.count; i++)
    if (map_has(vars, node->free.at[i])) return true;
  return false;
}

static void add_binders(Map *vars, const Node *node) {
  for (int i = 0; i < node->stm.binder_count; i++)
    map_put(vars, node->stm.binders[i], node);
  if (!node->form) return;
  VarVec binders = form_binders(node->form);
  for (int i = 0; i < binders.count; i++)
    map_put(vars, binders.at[i], node);
}

// What depends on `a` among the statements behind it, up to position `last`.
static Map *dependents(const Graph *g, const Node *a, int last) {
  Map *vars = map_new(NULL);
  add_binders(vars, a);
  for (int i = a->position + 1; i <= last; i++) {
    const Node *node = g->order[i];
    if (node && mentions_any(node, vars)) add_binders(vars, node);
  }
  return vars;
}

static bool reads(const Graph *g, const Node *node, Atom array) {
  if (!is_var(array)) return false;
  const Var *wanted = root(g, array.u.var);
  for (int i = 0; i < node->free.count; i++)
    if (root(g, node->free.at[i]) == wanted) return true;
  return false;
}

static bool overwrites_atoms(const Graph *g, const Node *reader, const Atom *atoms,
                             int count) {
  for (int i = 0; i < count; i++)
    if (atom_type(atoms[i]).rank > 0 && reads(g, reader, atoms[i])) return true;
  return false;
}

// Whether `exp` may write in place into something that `reader` reads.  Moving `reader` behind it
// would be right, but would force a copy.
static bool overwrites(const Graph *g, const Exp *exp, const Node *reader) {
  if (exp->kind == EXP_UPDATE) return reads(g, reader, exp->u.update.array);
  if (exp->kind == EXP_LOOP)
    return overwrites_atoms(g, reader, exp->u.loop.inits, exp->u.loop.param_count);
  if (exp->kind == EXP_SCATTER)
    for (int i = 0; i < exp->u.scatter.dest_count; i++)
      if (reads(g, reader, exp->u.scatter.dests[i].dest)) return true;
  if (exp->kind == EXP_HIST)
    for (int i = 0; i < exp->u.hist.op_count; i++) {
      const HistOp *op = &exp->u.hist.ops[i];
      if (overwrites_atoms(g, reader, op->dests, op->op.count)) return true;
    }
  return false;
}

static bool takes_elements_only(const Graph *g, const Node *a, const Node *b,
                                const Map *after) {
  for (int i = 0; i < b->free.count; i++) {
    const Var *var = b->free.at[i];
    if (!map_has(after, var)) continue;
    if (map_get(g->producers, var) != a || map_has(b->inside, var)) return false;
    if (must_stay(a) || form_mapped_index(a->form, var) < 0) return false;
  }
  return true;
}

bool graph_can_join(const Graph *g, const Node *a, const Node *b) {
  int last = last_need(g, a, b);
  if (last - a->position > MAX_WINDOW) return false;
  if (overwrites(g, b->stm.exp, a) || overwrites(g, a->stm.exp, b)) return false;
  Map *after = dependents(g, a, last < b->position ? last : b->position - 1);
  if (!takes_elements_only(g, a, b, after)) return false;
  for (int i = a->position + 1; i <= last; i++) {
    const Node *node = g->order[i];
    if (!node || node == b || mentions_any(node, after)) continue;
    if (overwrites(g, node->stm.exp, a)) return false;
  }
  return true;
}

bool graph_can_wait(const Graph *g, const Node *a, const Node *b) {
  for (int i = a->position + 1; i < b->position; i++)
    if (g->order[i] && overwrites(g, g->order[i]->stm.exp, a)) return false;
  return true;
}

static void place(Graph *g, Node *node, int position) {
  g->order[position] = node;
  if (node) node->position = position;
}

// `a` moves behind position `last`, and what depends on it moves along.
static void move_behind(Graph *g, Node *a, int last) {
  Map *after = dependents(g, a, last);
  Vec(Node *) moved = { 0 };
  vec_push(&moved, a);
  int next = a->position;
  for (int i = a->position + 1; i <= last; i++) {
    Node *node = g->order[i];
    if (!node) continue;
    if (mentions_any(node, after))
      vec_push(&moved, node);
    else
      place(g, node, next++);
  }
  for (int i = 0; i < moved.count; i++)
    place(g, moved.at[i], next++);
  while (next <= last)
    place(g, NULL, next++);
}

// ---- joining

static int index_of_array(const Form *form, Atom array) {
  for (int i = 0; i < form->arrays.count; i++)
    if (atom_equal(form->arrays.at[i], array)) return i;
  return -1;
}

// What the parameters of `b` are within `a`; inputs that `a` lacks are added to it.
static Subst *connect_inputs(Form *a, const Form *b) {
  Subst *s = subst_new();
  for (int i = 0; i < b->params.count; i++) {
    Atom array = b->arrays.at[i];
    int mapped = is_var(array) ? form_mapped_index(a, array.u.var) : -1;
    int input = index_of_array(a, array);
    if (mapped >= 0) {
      subst_put(s, b->params.at[i], a->mapped.at[mapped]);
    } else if (input >= 0) {
      subst_put(s, b->params.at[i], atom_var(a->params.at[input]));
    } else {
      vec_push(&a->arrays, array);
      vec_push(&a->params, b->params.at[i]);
    }
  }
  return s;
}

static void append_results(Form *a, const Form *b, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    vec_push(&a->stms, body->stms[i]);
  for (int i = 0; i < b->reduced.count; i++) {
    vec_push(&a->reduced, body->results[i]);
    vec_push(&a->reduced_binders, b->reduced_binders.at[i]);
  }
  for (int i = 0; i < b->mapped.count; i++)
    vec_push(&a->mapped, body->results[b->reduced.count + i]);
  for (int i = 0; i < b->mapped_binders.count; i++)
    vec_push(&a->mapped_binders, b->mapped_binders.at[i]);
  for (int i = 0; i < b->ops.count; i++)
    vec_push(&a->ops, b->ops.at[i]);
}

static void push_results(AtomVec *to, const Atom *results, int from, int end) {
  for (int i = from; i < end; i++)
    vec_push(to, results[i]);
}

// All indices come before all values.
static void append_hists(Form *a, const Form *b, const Body *body) {
  AtomVec all = { 0 };
  push_results(&all, a->mapped.at, 0, a->hists.count);
  push_results(&all, body->results, 0, b->hists.count);
  push_results(&all, a->mapped.at, a->hists.count, a->mapped.count);
  push_results(&all, body->results, b->hists.count, body->result_count);
  a->mapped = all;
  for (int i = 0; i < body->stm_count; i++)
    vec_push(&a->stms, body->stms[i]);
  for (int i = 0; i < b->mapped_binders.count; i++)
    vec_push(&a->mapped_binders, b->mapped_binders.at[i]);
  for (int i = 0; i < b->hists.count; i++)
    vec_push(&a->hists, b->hists.at[i]);
}

// Forgets the arrays of `form`, all of them mapped, that nobody reads any more.
static void drop_unread(const Graph *g, Form *form) {
  AtomVec mapped = { 0 };
  VarVec binders = { 0 };
  for (int i = 0; i < form->mapped_binders.count; i++) {
    if (graph_uses(g, form->mapped_binders.at[i]) == 0) continue;
    vec_push(&mapped, form->mapped.at[i]);
    vec_push(&binders, form->mapped_binders.at[i]);
  }
  form->mapped = mapped;
  form->mapped_binders = binders;
}

static void join_uses(Graph *g, Node *a, const Node *b) {
  for (int i = 0; i < b->free.count; i++) {
    const Var *var = b->free.at[i];
    bool internal = map_get(g->producers, var) == a;
    if (internal || map_has(a->mentions, var)) add_uses(g, var, -1);
    if (!internal) mention(a, var, map_has(b->inside, var));
  }
}

static ExpKind joined_kind(const Form *a, const Form *b) {
  return b->kind == EXP_MAP ? a->kind : b->kind;
}

static void join_forms(Graph *g, Form *a, const Form *b) {
  Subst *s = connect_inputs(a, b);
  const Body *body = core_subst_body(g->c, s, form_body(b));
  a->nested |= b->nested;
  if (a->kind == EXP_HIST) {
    append_hists(a, b, body);
    return;
  }
  drop_unread(g, a);
  append_results(a, b, body);
  for (int i = 0; i < b->hists.count; i++)
    vec_push(&a->hists, b->hists.at[i]);
  a->kind = joined_kind(a, b);
}

void graph_join(Graph *g, Node *a, Node *b) {
  int last = last_need(g, a, b);
  VarVec binders = form_binders(b->form);
  join_uses(g, a, b);
  place(g, NULL, b->position);
  if (last > a->position) move_behind(g, a, last);
  join_forms(g, a->form, b->form);
  for (int i = 0; i < binders.count; i++)
    map_put(g->producers, binders.at[i], a);
  if (b->form->kind != EXP_MAP) a->stm.exp = form_exp(a->form, b->stm.exp);
  a->grown = true;
  b->position = -1;
}

// ---- replicated inputs

static const Exp *replicate_of(const Graph *g, Atom array) {
  const Node *node = graph_producer(g, array);
  if (!node || node->form || node->stm.exp->kind != EXP_REPLICATE) return NULL;
  return node->stm.exp;
}

static void forget(Graph *g, Node *node, const Var *var) {
  if (map_has(node->inside, var) || !map_has(node->mentions, var)) return;
  VarVec rest = { 0 };
  for (int i = 0; i < node->free.count; i++)
    if (node->free.at[i] != var) vec_push(&rest, node->free.at[i]);
  node->free = rest;
  map_remove(node->mentions, var);
  add_uses(g, var, -1);
}

static void use_value(Graph *g, Node *node, Atom value) {
  if (!is_var(value)) return;
  if (!map_has(node->mentions, value.u.var)) add_uses(g, value.u.var, 1);
  mention(node, value.u.var, true);
}

static void substitute_form(Graph *g, Form *form, const Subst *s) {
  const Body *body = core_subst_body(g->c, s, form_body(form));
  StmVec stms = { 0 };
  for (int i = 0; i < body->stm_count; i++)
    vec_push(&stms, body->stms[i]);
  form->stms = stms;
  for (int i = 0; i < form->reduced.count; i++)
    form->reduced.at[i] = body->results[i];
  for (int i = 0; i < form->mapped.count; i++)
    form->mapped.at[i] = body->results[form->reduced.count + i];
}

void graph_inline_replicates(Graph *g, Node *node) {
  Form *form = node->form;
  AtomVec arrays = { 0 };
  VarVec params = { 0 };
  Subst *s = subst_new();
  for (int i = 0; i < form->arrays.count; i++) {
    const Exp *replicate = replicate_of(g, form->arrays.at[i]);
    if (!replicate) {
      vec_push(&arrays, form->arrays.at[i]);
      vec_push(&params, form->params.at[i]);
      continue;
    }
    subst_put(s, form->params.at[i], replicate->u.replicate.value);
    use_value(g, node, replicate->u.replicate.value);
    forget(g, node, form->arrays.at[i].u.var);
  }
  if (arrays.count == form->arrays.count) return;
  form->arrays = arrays;
  form->params = params;
  substitute_form(g, form, s);
  node->grown = true;
}
