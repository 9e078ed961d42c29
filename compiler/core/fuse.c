// let ys = map n f xs in map n g ys            =>  map n (g . f) xs
// let ys = map n f xs in redomap n g ys op z   =>  redomap n (g . f) xs op z
//                                                  (likewise scanomap, scatter, hist, filter)
// ... and where ys is also read elsewhere      =>  redomap n (\x -> let y = f x in {g y, y}) xs
// redomap n f xs op y; redomap n g xs op' z    =>  redomap n (\x -> {f x, g x}) xs op y op' z
// map n f xs; map n g xs                       =>  map n (\x -> {f x, g x}) xs
// hist n f xs into d op z; hist n g xs into d' op' z'
//                                              =>  hist n (\x -> {..}) xs into d op z, d' op' z'
// map n f (replicate n a)                      =>  map n (\ -> f a)
// redomap k f (filter n p xs) op z             =>  redomap n .. xs op z        (fuse_filter.c)
// reversals and rotations of what maps make    =>  maps                    at first: fuse_turned.c
// transposed literals of rows                  =>  maps                       fuse_interleaved.c
// concats of what maps make                    =>  maps                    then: fuse_joined.c
// scatters to places that follow a rule        =>  maps                    then: fuse_placed.c
// let ys = map n f xs in map .. (.. ys[e] ..)  =>  map .. (.. f xs[e] ..)  last: fuse_read.c
//
// Needs: Core; binders unique.  Keeps: both; leaves unused inputs and copies to simplify.
// Why: every fused pair is one pass over memory less, and in a nest one level of map instead of
// two, which is the form that the flattening rules read (section 2.1 of the paper: redomap).
//
// Nothing is computed twice: a producer becomes part of one consumer, and whoever else reads its
// array gets it as a further result of that consumer.  What a reduction or scan yields as a whole
// is no element yet when the consumer runs, so that such edges stay.  Outer SOACs are fused before
// the bodies of their lambdas, where the fusion brings the inner ones together.
#include "core/fuse.h"
#include "base/map.h"
#include "core/passes.h"

// Side by side, each result costs registers and, in a reduction, local memory.
enum { MAX_RESULTS = 16 };

// ---- attributes

static const StmAttrs *attrs_or_none(const StmAttrs *attrs) {
  static const StmAttrs none = { 0 };
  return attrs ? attrs : &none;
}

// The fused statement obeys both, so both must ask for the same; two names would need two guards.
static bool attrs_agree(const StmAttrs *x, const StmAttrs *y) {
  const StmAttrs *a = attrs_or_none(x);
  const StmAttrs *b = attrs_or_none(y);
  return a->sequential == b->sequential && a->sequential_outer == b->sequential_outer &&
         a->sequential_inner == b->sequential_inner && a->no_outer == b->no_outer &&
         a->no_intra == b->no_intra && a->only_intra == b->only_intra &&
         a->only_inner == b->only_inner && a->unroll == b->unroll &&
         a->stripmine == b->stripmine && (!a->name || !b->name || a->name == b->name);
}

// Only `sequential` and `unroll`: one element after the other, and nothing else.
static bool is_plain_sequence(const StmAttrs *attrs) {
  StmAttrs rest = *attrs_or_none(attrs);
  bool found = rest.sequential || rest.unroll;
  rest.sequential = rest.unroll = false;
  return found && attrs_agree(&rest, NULL);
}

static const StmAttrs *attrs_join(const StmAttrs *producer, const StmAttrs *consumer) {
  if (!producer || !consumer) return consumer ? consumer : producer;
  StmAttrs joined = *consumer;
  if (!joined.name) joined.name = producer->name;
  return mem_copy(&joined, sizeof joined);
}

// ---- which pairs

static bool is_mapping(const Form *form) {
  return form->kind == EXP_MAP || form->kind == EXP_REDOMAP || form->kind == EXP_SCANOMAP;
}

// A result kind exists for both: scans and reductions do not mix, nor two scans (their registers
// would compete), and only a map can go before a scatter, histogram or filter; a histogram stands
// beside others.
static bool kinds_agree(const Form *a, const Form *b) {
  if (a->kind == EXP_HIST) return b->kind == EXP_HIST;
  if (!is_mapping(a)) return false;
  if (a->kind == EXP_MAP || b->kind == EXP_MAP)
    return a->kind == EXP_MAP || is_mapping(b);
  return a->kind == EXP_REDOMAP && b->kind == EXP_REDOMAP;
}

// Whether others than `b` read an array that `a` maps; `rows`: one whose elements are arrays.
static bool is_read_elsewhere(const Graph *g, const Node *a, const Node *b, bool rows) {
  for (int i = 0; i < a->form->mapped_binders.count; i++) {
    const Var *array = a->form->mapped_binders.at[i];
    if (rows && array->type.rank < 2) continue;
    if (graph_uses(g, array) > (map_has(b->mentions, array) ? 1 : 0)) return true;
  }
  return false;
}

static bool has_row_results(const Form *form) {
  for (int i = 0; i < form->mapped_binders.count; i++)
    if (form->mapped_binders.at[i]->type.rank > 1) return true;
  return false;
}

// ---- products of matrices

static bool reduces_rows(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind == EXP_REDOMAP && e->u.soac.width.kind == ATOM_VAR) return true;
  }
  return false;
}

// How many inputs of a map are in the set.
static int inputs_among(const Exp *e, const Map *set) {
  int count = 0;
  for (int i = 0; e->kind == EXP_MAP && i < e->u.soac.array_count; i++) {
    Atom array = e->u.soac.arrays[i];
    count += array.kind == ATOM_VAR && map_has(set, array.u.var);
  }
  return count;
}

static void put_binders(Map *set, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    map_put(set, stm->binders[i], stm);
}

// Is the row that a function returns a map of reductions, or made of one element by element?
static bool is_product(const Form *form, Atom row) {
  Map *products = map_new(NULL);
  for (int i = 0; i < form->stms.count; i++) {
    const Exp *e = form->stms.at[i].exp;
    if (e->kind == EXP_MAP &&
        (reduces_rows(e->u.soac.fn.body) || inputs_among(e, products)))
      put_binders(products, &form->stms.at[i]);
  }
  return row.kind == ATOM_VAR && map_has(products, row.u.var);
}

typedef struct RowMentions {
  const Map *rows;
  int count;
} RowMentions;

static void count_mention(CoreVisitor *v, Atom a) {
  RowMentions *m = v->state;
  m->count += a.kind == ATOM_VAR && map_has(m->rows, a.u.var);
}

// How often the form's statements mention one of the rows, less the times that it is the input of a
// map.
static int other_mentions(const Form *form, const Map *rows) {
  RowMentions m = { rows, 0 };
  CoreVisitor v = { .atom = count_mention, .body = core_visit_body, .state = &m };
  for (int i = 0; i < form->reduced.count; i++)
    count_mention(&v, form->reduced.at[i]);
  for (int i = 0; i < form->stms.count; i++) {
    const Exp *e = form->stms.at[i].exp;
    core_visit_exp(&v, e);
    m.count -= inputs_among(e, rows);
  }
  return m.count;
}

// Are the row, and rows that maps make of it, nothing but inputs of maps and results?
static bool is_read_by_element(const Form *form, const Var *row) {
  Map *rows = map_new(NULL);
  map_put(rows, row, row);
  for (int i = 0; i < form->stms.count; i++)
    if (inputs_among(form->stms.at[i].exp, rows)) put_binders(rows, &form->stms.at[i]);
  return !other_mentions(form, rows);
}

// Does `b` read rows of a product of matrices as a whole, to reduce or multiply them?  Together the
// two would be row after row; apart, the product's kernel reads its factors in blocks.
static bool is_better_stored(const Node *a, const Node *b) {
  for (int i = 0; i < b->form->arrays.count; i++) {
    Atom array = b->form->arrays.at[i];
    int result = array.kind == ATOM_VAR ? form_mapped_index(a->form, array.u.var) : -1;
    if (result < 0 || !is_product(a->form, a->form->mapped.at[result])) continue;
    if (!is_read_by_element(b->form, b->form->params.at[i])) return true;
  }
  return false;
}

// ---- rows that histograms add

static bool is_cheap(const Stm *stms, int count);

static bool is_cheap_map(const Exp *e) {
  return e->kind == EXP_MAP &&
         is_cheap(e->u.soac.fn.body->stms, e->u.soac.fn.body->stm_count);
}

static bool is_cheap(const Stm *stms, int count) {
  for (int i = 0; i < count; i++)
    if (!exp_is_cheap(stms[i].exp) && !is_cheap_map(stms[i].exp)) return false;
  return true;
}

// Does `a` make rows that take little, which the histograms `b` add element by element?  Then they
// are made where they are added, on CPUs (kern/tidy/rows_where_read.c) and GPUs (flat/row_hists.c).
static bool adds_cheap_rows(const Form *a, const Form *b) {
  if (b->kind != EXP_HIST || !is_cheap(a->stms.at, a->stms.count)) return false;
  for (int i = 0; i < b->hists.count; i++) {
    const Body *op = b->hists.at[i].op.op.body;
    if (!is_cheap(op->stms, op->stm_count)) return false;
  }
  return true;
}

// ---- which pairs gain

// Scatters, histograms and filters have no room for further results, and flattening runs what is
// in their lambdas sequentially: of nests they get only cheap rows that they add.  A reduction or
// scan gets no rows, and no nest that must be stored as well, beside its own results: they would
// keep it from being split at its inner parallelism.  A nest that must be stored anyway gains
// little from a cheap consumer, which would tie it to other nests.
static bool pays_vertically(const Graph *g, const Node *a, const Node *b) {
  if (!is_mapping(a->form) || is_better_stored(a, b)) return false;
  if (b->form->kind == EXP_MAP && a->form->kind == EXP_MAP)
    return !a->form->nested || b->form->nested || !is_read_elsewhere(g, a, b, false);
  if (b->form->kind == EXP_MAP) return !b->form->nested && !has_row_results(b->form);
  if (!is_mapping(b->form))
    return (!a->form->nested || adds_cheap_rows(a->form, b->form)) &&
           !is_read_elsewhere(g, a, b, false);
  return !is_read_elsewhere(g, a, b, !a->form->nested);
}

static int result_count(const Form *form) {
  return form->reduced.count + form->mapped.count;
}

// The map that makes cheap rows which the histograms add; NULL: none.
static const Node *maker_of_rows(const Graph *g, const Form *hists) {
  for (int i = 0; i < hists->arrays.count; i++) {
    const Node *maker = graph_producer(g, hists->arrays.at[i]);
    if (maker && maker->form && maker->form->nested && is_mapping(maker->form) &&
        adds_cheap_rows(maker->form, hists))
      return maker;
  }
  return NULL;
}

static bool has_row_values(const Form *form) {
  for (int i = 0; i < form->hists.count; i++)
    for (int k = 0; k < form->hists.at[i].op.count; k++)
      if (form->hists.at[i].op.op.params[k]->type.rank > 0) return true;
  return false;
}

// Histograms of as many bins, which are combined in one kernel and lie in caches alike: of scalars,
// or of cheap rows that one map makes for both.
static bool suit_each_other(const Graph *g, const Form *a, const Form *b) {
  const Form *forms[] = { a, b };
  for (int f = 0; f < 2; f++)
    for (int i = 0; i < forms[f]->hists.count; i++)
      if (!atom_equal(forms[f]->hists.at[i].width, a->hists.at[0].width)) return false;
  if (!has_row_values(a) && !has_row_values(b)) return true;
  const Node *maker = maker_of_rows(g, a);
  return maker && maker == maker_of_rows(g, b);
}

// Does the function make scalars of the row, by maps and reductions alone?
static bool reduces_only(const Form *form, const Var *row) {
  bool found = false;
  if (has_row_results(form)) return false;
  for (int i = 0; i < form->stms.count; i++) {
    const Exp *e = form->stms.at[i].exp;
    const Body only = { .stms = &form->stms.at[i], .stm_count = 1 };
    if (!core_has_soac(&only)) continue;
    if (e->kind != EXP_REDOMAP && e->kind != EXP_MAP) return false;
    for (int k = 0; k < e->u.soac.array_count; k++)
      found |= atom_equal(e->u.soac.arrays[k], atom_var(row));
  }
  return found;
}

// Two maps that reduce the same rows, which side by side are gone through once.
static bool reduce_same_rows(const Form *a, const Form *b) {
  if (a->kind != EXP_MAP || b->kind != EXP_MAP) return false;
  for (int i = 0; i < a->arrays.count; i++)
    for (int k = 0; k < b->arrays.count; k++)
      if (atom_equal(a->arrays.at[i], b->arrays.at[k]) &&
          reduces_only(a, a->params.at[i]) && reduces_only(b, b->params.at[k]))
        return true;
  return false;
}

// Nested SOACs side by side gain nothing unless both reduce, or reduce the same rows: flattening
// would separate them.
static bool pays_horizontally(const Graph *g, const Form *a, const Form *b) {
  if (result_count(a) + result_count(b) > MAX_RESULTS) return false;
  if (a->kind == EXP_REDOMAP && b->kind == EXP_REDOMAP) return a->nested == b->nested;
  if (a->nested && b->nested && reduce_same_rows(a, b)) return true;
  if (a->nested || b->nested) return false;
  if (a->kind == EXP_HIST && b->kind == EXP_HIST) return suit_each_other(g, a, b);
  if (a->kind == EXP_MAP && b->kind == EXP_MAP) return true;
  bool one_reduces = (a->kind == EXP_MAP && b->kind == EXP_REDOMAP) ||
                     (a->kind == EXP_REDOMAP && b->kind == EXP_MAP);
  return one_reduces && !has_row_results(a) && !has_row_results(b);
}

static bool can_join(const Graph *g, const Node *a, const Node *b) {
  return atom_equal(a->form->width, b->form->width) && kinds_agree(a->form, b->form) &&
         graph_can_join(g, a, b);
}

// ---- vertically: a SOAC with the producers of its inputs

// #[sequential] f (map g xs) within another operator: of the map nothing is said, and apart it
// would store for f what it makes.  What is parallel inside of it stays so.
static bool goes_in_sequence(const Graph *g, const Node *a, const Node *b) {
  return g->is_inner && !a->form->nested && attrs_agree(a->stm.attrs, NULL) &&
         is_plain_sequence(b->stm.attrs);
}

static bool attrs_allow(const Graph *g, const Node *a, const Node *b) {
  return attrs_agree(a->stm.attrs, b->stm.attrs) || goes_in_sequence(g, a, b);
}

static bool fuse_pair(Graph *g, Node *a, Node *b) {
  if (!a || a == b || !a->form || !pays_vertically(g, a, b)) return false;
  if (!attrs_allow(g, a, b) || !can_join(g, a, b)) return false;
  const StmAttrs *attrs = attrs_join(a->stm.attrs, b->stm.attrs);
  graph_join(g, a, b);
  a->stm.attrs = attrs;
  a->stm.loc = b->stm.loc;
  return true;
}

// One producer becomes part of `node`; the node that holds both, or NULL.
static Node *fuse_producer(Graph *g, Node *node) {
  for (int i = 0; i < node->form->arrays.count; i++) {
    Node *producer = graph_producer(g, node->form->arrays.at[i]);
    if (fuse_pair(g, producer, node)) return producer;
  }
  return NULL;
}

static void fuse_producers(Graph *g, Node *node) {
  while (node) {
    graph_inline_replicates(g, node);
    node = fuse_producer(g, node);
  }
}

// ---- horizontally: a SOAC with an earlier one over the same array

// Reading an iota costs nothing.
static bool is_in_memory(const Graph *g, Atom array) {
  const Node *node = graph_producer(g, array);
  return !node || node->stm.exp->kind != EXP_IOTA;
}

static Node *fuse_side_by_side(Graph *g, Node *a, Node *b) {
  if (a == b || a->position < 0 || !pays_horizontally(g, a->form, b->form)) return NULL;
  if (a->position > b->position) return fuse_side_by_side(g, b, a);
  if (!attrs_agree(a->stm.attrs, b->stm.attrs) || !can_join(g, a, b)) return NULL;
  const StmAttrs *attrs = attrs_join(a->stm.attrs, b->stm.attrs);
  graph_join(g, a, b);
  a->stm.attrs = attrs;
  return a;
}

// `readers`: the last SOAC that read an array.
static Node *fuse_neighbour(Graph *g, const Map *readers, Node *node) {
  for (int i = 0; i < node->form->arrays.count; i++) {
    Atom array = node->form->arrays.at[i];
    if (array.kind == ATOM_CONST || !is_in_memory(g, array)) continue;
    Node *other = map_get(readers, array.u.var);
    Node *both = other ? fuse_side_by_side(g, other, node) : NULL;
    if (both) return both;
  }
  return node;
}

static void remember_reader(Map *readers, Node *node) {
  for (int i = 0; i < node->form->arrays.count; i++)
    if (node->form->arrays.at[i].kind == ATOM_VAR)
      map_put(readers, node->form->arrays.at[i].u.var, node);
}

// ---- statements

// What several histograms read is read by one now.
static bool is_grown_hist(const Node *node) {
  return node->grown && node->form->kind == EXP_HIST && node->form->hists.count > 1;
}

static void fuse_vertically(Graph *g, Node **nodes) {
  for (int i = 0; i < g->count; i++)
    if (nodes[i]->form) fuse_producers(g, nodes[i]);
}

// Joining moves statements within the list, but each keeps its turn.
static Node **statements_of(const Graph *g) {
  return mem_copy(g->order, sizeof(Node *) * (size_t)g->count);
}

static void fuse_statements(Graph *g) {
  Node **nodes = statements_of(g);
  fuse_vertically(g, nodes);
  Map *readers = map_new(NULL);
  for (int i = 0; i < g->count; i++)
    if (nodes[i]->form && nodes[i]->position >= 0)
      remember_reader(readers, fuse_neighbour(g, readers, nodes[i]));
  for (int i = 0; i < g->count; i++)
    if (nodes[i]->position >= 0 && is_grown_hist(nodes[i])) fuse_producers(g, nodes[i]);
}

// ---- bodies

typedef struct FuseScope {
  Compiler *c;
  bool is_inner;  // within the function of an operator
  bool in_loop;
  Map *places;  // Var -> const Stm *: iotas from 0 on, here and outside
} FuseScope;

static bool has_two_soacs(const Body *body) {
  int count = 0;
  for (int i = 0; i < body->stm_count; i++)
    count += exp_is_soac(body->stms[i].exp) || body->stms[i].exp->kind == EXP_REPLICATE;
  return count > 1;
}

static bool has_concat(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind == EXP_CONCAT) return true;
  return false;
}

// Maps have what makes their elements in them by now, but none stands beside another, of which a
// concat may be the only reader.  The rows of a nest are copied faster than each element finds the
// part that it comes from, unless a map reads them, whose loop ends where a part does.
static const Body *join_concats(const FuseScope *f, const Body *body) {
  if (!has_concat(body)) return body;
  Graph *g = graph_new(f->c, body);
  g->is_inner = f->is_inner;
  fuse_vertically(g, statements_of(g));
  return fuse_joined(f->c, graph_body(g, body), f->is_inner, f->in_loop);
}

static bool has_scatter(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind == EXP_SCATTER) return true;
  return false;
}

// Scatters have what computes their places in them.
static const Body *place_scatters(Compiler *c, const Body *body) {
  if (!has_scatter(body)) return body;
  Graph *g = graph_new(c, body);
  fuse_vertically(g, statements_of(g));
  return fuse_placed(c, graph_body(g, body));
}

// What is not read by its number any more fuses with what reads it in order.
static const Body *fuse_reads(const FuseScope *f, const Body *body) {
  for (const Body *next; (next = fuse_read(f->c, f->places, body)) != body;) {
    body = next;
    Graph *g = graph_new(f->c, body);
    g->is_inner = f->is_inner;
    fuse_vertically(g, statements_of(g));
    body = graph_body(g, body);
  }
  return body;
}

static const Body *fuse_inner(CoreMapper *m, const Body *body);

static const Body *fuse_in(const FuseScope *f, const Body *body) {
  Compiler *c = f->c;
  fuse_note_places(f->places, body);
  body = fuse_turned(c, body);
  if (!f->is_inner) body = fuse_turned(c, fuse_shifted(c, body));
  if (!f->is_inner) body = fuse_interleaved(c, body);
  body = join_concats(f, body);
  if (!f->is_inner) body = place_scatters(c, body);
  if (has_two_soacs(body)) {
    Graph *g = graph_new(c, body);
    g->is_inner = f->is_inner;
    fuse_statements(g);
    body = fuse_reads(f, fuse_filters(c, graph_body(g, body)));
  }
  Stm *stms = new_array(Stm, body->stm_count);
  for (int i = 0; i < body->stm_count; i++) {
    stms[i] = body->stms[i];
    FuseScope within = { c, f->is_inner || exp_is_soac(stms[i].exp),
                         f->in_loop || stms[i].exp->kind == EXP_LOOP, f->places };
    CoreMapper inner = { .body = fuse_inner, .state = &within };
    stms[i].exp = core_map_exp(&inner, stms[i].exp);
  }
  return new_node(Body, .stms = stms, .stm_count = body->stm_count,
                  .results = body->results, .result_count = body->result_count);
}

static const Body *fuse_inner(CoreMapper *m, const Body *body) {
  return fuse_in(m->state, body);
}

static const Body *fuse_body(Compiler *c, const Body *body) {
  return fuse_in(&(FuseScope){ c, false, false, map_new(NULL) }, body);
}

const Core *fuse(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, fuse_body);
}
