// let ys = map n f xs in map m (\i -> g ys[i - 1]) (iota m)
//   =>   map m (\i -> let x = xs[i - 1] in g (f x)) (iota m)
//
// Needs: Core; binders unique.  Keeps: both.  Why: what each point of a grid gives to its
// neighbours, as gradients of stencils do, would be stored for each of them, and then summed up.
//
// Only where f takes little, from one array, nobody else reads ys, and all indices are in bounds.
// Elements that the same map reads in order as well it gets as it is fused with what makes them.
#include "base/map.h"
#include "core/fuse.h"
#include "core/passes.h"

// Of operations on scalars, for all reads of what one map makes; and of reads.
enum { MAX_WORK = 48, MAX_READS = 6 };

// ---- what elements take

// The statements of a body that make `results`: their variables become keys of `needed`.
typedef struct ElementSlice {
  Map *needed;
  int work;
  bool plain;  // operations that take little, and do not fail
} ElementSlice;

static void need(CoreVisitor *v, Atom a) {
  if (a.kind == ATOM_VAR) map_put(v->state, a.u.var, a.u.var);
}

static void slice_body(ElementSlice *s, const Body *body);

static void slice_exp(ElementSlice *s, const Exp *e) {
  CoreVisitor v = { .atom = need, .state = s->needed };
  core_visit_exp(&v, e);
  s->work++;
  if (e->kind == EXP_IF) {
    slice_body(s, e->u.cond.then_body);
    slice_body(s, e->u.cond.else_body);
    return;
  }
  bool scalar = e->kind == EXP_OP || e->kind == EXP_CONVERT || e->kind == EXP_ATOM;
  s->plain = s->plain && scalar && exp_is_cheap(e) && !exp_may_fail(e);
}

static bool is_of_slice(const ElementSlice *s, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (map_has(s->needed, stm->binders[i])) return true;
  return false;
}

static void slice_stms(ElementSlice *s, const Body *body) {
  for (int i = body->stm_count - 1; i >= 0 && s->plain; i--)
    if (is_of_slice(s, &body->stms[i])) slice_exp(s, body->stms[i].exp);
}

static void slice_body(ElementSlice *s, const Body *body) {
  CoreVisitor v = { .atom = need, .state = s->needed };
  for (int i = 0; i < body->result_count; i++)
    need(&v, body->results[i]);
  slice_stms(s, body);
}

void fuse_note_places(Map *places, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    const Exp *e = stm->exp;
    bool counts = e->kind == EXP_IOTA && atom_is_i64(e->u.iota.start, 0) &&
                  atom_is_i64(e->u.iota.step, 1);
    if (counts) map_put(places, stm->binders[0], stm);
  }
}

static bool is_in(const Map *places, Atom array) {
  return array.kind == ATOM_VAR && map_has(places, array.u.var);
}

// How much an element of a map's result takes; -1: more than to store and to load it.
static int work_of(const Map *places, const Soac *map, int result) {
  ElementSlice s = { map_new(NULL), 0, true };
  CoreVisitor v = { .atom = need, .state = s.needed };
  need(&v, map->fn.body->results[result]);
  slice_stms(&s, map->fn.body);
  int loads = 0;
  for (int i = 0; i < map->array_count; i++)
    loads += map_has(s.needed, map->fn.params[i]) && !is_in(places, map->arrays[i]);
  return s.plain && loads <= 1 ? s.work : -1;
}

// ---- who reads them

static bool is_read_of(const Exp *e, const Var *array) {
  return e->kind == EXP_INDEX && atom_equal(e->u.index.array, atom_var(array)) &&
         e->u.index.dim_count == 1 && !e->u.index.dims[0].is_slice && !e->u.index.checked;
}

// How often statements of the body, or of branches in it, read elements of the array.
static int reads_in(const Body *body, const Var *array) {
  int count = 0;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    count += is_read_of(e, array);
    if (e->kind == EXP_IF)
      count +=
          reads_in(e->u.cond.then_body, array) + reads_in(e->u.cond.else_body, array);
  }
  return count;
}

static int mentions_in(const Body *body, const Var *array) {
  const int *count = map_get(core_uses(body), array);
  return count ? *count : 0;
}

// The node that alone reads what the map makes; NULL: there is none, or another one.
static const Node *reader_of(const Graph *g, const Node *made) {
  const Node *reader = NULL;
  for (int i = 0; i < made->stm.binder_count; i++) {
    const Var *array = made->stm.binders[i];
    if (graph_uses(g, array) > 1) return NULL;
    for (int k = 0; k < g->count && graph_uses(g, array); k++) {
      if (!map_has(g->order[k]->mentions, array)) continue;
      if (reader && reader != g->order[k]) return NULL;
      reader = g->order[k];
    }
    if (graph_uses(g, array) && !reader) return NULL;  // a result of the body
  }
  return reader;
}

static bool suits(const Node *made) {
  const Exp *e = made->stm.exp;
  if (e->kind != EXP_MAP || made->stm.attrs || made->form->nested) return false;
  for (int i = 0; i < made->stm.binder_count; i++)
    if (made->stm.binders[i]->type.rank != 1) return false;
  for (int i = 0; i < e->u.soac.array_count; i++)
    if (atom_type(e->u.soac.arrays[i]).rank != 1) return false;
  return true;
}

// Elements of a result that the map reads by their numbers, or 0; -1: it reads it otherwise, too.
static int reads_of(const Node *reader, const Var *array) {
  const Soac *map = &reader->stm.exp->u.soac;
  if (!map_has(reader->mentions, array)) return 0;
  int reads = reads_in(map->fn.body, array), inputs = 0;
  for (int i = 0; i < map->array_count; i++)
    inputs += atom_equal(map->arrays[i], atom_var(array));
  return reads == mentions_in(map->fn.body, array) && reads + inputs > 0 ? reads : -1;
}

// The map whose elements another one reads, if they are to be made there.
static const Node *read_by(const Graph *g, const Map *places, const Node *made) {
  if (!made->form || !suits(made)) return NULL;
  const Node *reader = reader_of(g, made);
  if (!reader || reader->stm.exp->kind != EXP_MAP || !graph_can_wait(g, made, reader))
    return NULL;
  int work = 0, reads = 0;
  for (int i = 0; i < made->stm.binder_count; i++) {
    int count = reads_of(reader, made->stm.binders[i]);
    int each = count > 0 ? work_of(places, &made->stm.exp->u.soac, i) : 0;
    if (count < 0 || each < 0) return NULL;
    reads += count;
    work += count * each;
  }
  return reads && reads <= MAX_READS && work <= MAX_WORK ? reader : NULL;
}

// ---- making them there

typedef struct ReadElements {
  Compiler *c;
  const Map *places;
  const Node *made;
} ReadElements;

static int result_read(const ReadElements *m, const Exp *e) {
  for (int i = 0; i < m->made->stm.binder_count; i++)
    if (is_read_of(e, m->made->stm.binders[i])) return i;
  return -1;
}

// The element of a result at that place.
static Atom element_read(const ReadElements *m, Builder *b, int result, Atom place) {
  const Soac *map = &m->made->stm.exp->u.soac;
  const Body *body = map->fn.body;
  ElementSlice s = { map_new(NULL), 0, true };
  CoreVisitor v = { .atom = need, .state = s.needed };
  need(&v, body->results[result]);
  slice_stms(&s, body);
  Subst *subst = subst_new();
  for (int i = 0; i < map->array_count; i++) {
    const Var *x = map->fn.params[i];
    if (!map_has(s.needed, x)) continue;
    bool counts = is_in(m->places, map->arrays[i]);
    subst_put(subst, x,
              counts ? place
                     : core_let(b, x->name, exp_index(map->arrays[i], &place, 1, false)));
  }
  Builder some = builder_new(m->c, b->loc);
  for (int i = 0; i < body->stm_count; i++)
    if (is_of_slice(&s, &body->stms[i])) core_add_stm(&some, body->stms[i]);
  const Body *copy =
      core_rename_body(m->c, subst, core_body(&some, &body->results[result], 1));
  core_add_body(b, copy);
  return copy->results[0];
}

static const Body *make_in(const ReadElements *m, const Body *body);

static const Exp *make_in_branches(const ReadElements *m, const Exp *e) {
  return exp_if_again(e, make_in(m, e->u.cond.then_body),
                      make_in(m, e->u.cond.else_body));
}

static const Body *make_in(const ReadElements *m, const Body *body) {
  Builder b = builder_new(m->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    int result = result_read(m, stm.exp);
    if (result >= 0)
      stm.exp = exp_atom(element_read(m, &b, result, stm.exp->u.index.dims[0].start));
    else if (stm.exp->kind == EXP_IF)
      stm.exp = make_in_branches(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static bool has_two_maps(const Body *body) {
  int count = 0;
  for (int i = 0; i < body->stm_count; i++)
    count += body->stms[i].exp->kind == EXP_MAP;
  return count > 1;
}

const Body *fuse_read(Compiler *c, const Map *places, const Body *body) {
  if (!has_two_maps(body)) return body;
  Graph *g = graph_new(c, body);
  ReadElements m = { c, places, NULL };
  const Node *reader = NULL;
  for (int i = g->count - 1; i >= 0 && !reader; i--) {
    reader = read_by(g, places, g->order[i]);
    m.made = g->order[i];
  }
  if (!reader) return body;
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < g->count; i++) {
    Stm stm = g->order[i]->stm;
    if (g->order[i] == reader) {
      Soac soac = stm.exp->u.soac;
      soac.fn.body = make_in(&m, soac.fn.body);
      stm.exp = exp_soac(EXP_MAP, soac);
    }
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}
