// let d = scatter (replicate n x) es vs  in .. d[e] ..   =>  the same, `covered`: nothing is filled
//   where e is an element of es, at every place where d is mentioned; or both places are the same
//   function of an element (`i64.i32 e`)
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: who is first among equal elements is found with an array over all that they could be
// (`owner[v] == i`).  To fill it took as long in a round of few elements as in one of many: a
// search by levels took its number of vertices times its number of levels.
//
// An element out of bounds is stored nowhere, and its read fails, or is known to be in bounds.
#include "base/map.h"
#include "core/passes.h"

typedef struct Scattered {
  const Exp *scatter;
  Atom index;  // what its function returns: made of one element of what it goes over
  int mentions, reads;
} Scattered;

typedef struct StoredPlaces {
  Compiler *c;
  Map *elements;   // Var -> the Var of an array that it is an element of
  Map *made;       // Var -> the Exp: scalar operations
  Map *fills;      // Var -> the Exp: replicates of scalars
  Map *scattered;  // Var -> Scattered *
  bool changed;
} StoredPlaces;

static void note_parameters(StoredPlaces *r, const Lambda *fn, const Atom *arrays,
                            int count) {
  for (int i = 0; i < count; i++)
    if (arrays[i].kind == ATOM_VAR) map_put(r->elements, fn->params[i], arrays[i].u.var);
}

static bool is_element_read(const Exp *e) {
  return e->kind == EXP_INDEX && e->u.index.array.kind == ATOM_VAR &&
         atom_type(e->u.index.array).rank == 1 && e->u.index.dim_count == 1 &&
         !e->u.index.dims[0].is_slice;
}

// The array of which each element is a place of the scatter; NULL: there is none.
static const Var *places_of(const Exp *scatter, Atom index) {
  const Lambda *fn = &scatter->u.scatter.fn;
  for (int i = 0; i < scatter->u.scatter.array_count; i++) {
    Atom array = scatter->u.scatter.arrays[i];
    if (array.kind == ATOM_VAR && atom_equal(index, atom_var(fn->params[i])))
      return array.u.var;
  }
  return NULL;
}

static const Var *indexed_array(const StoredPlaces *r, Atom element) {
  return element.kind == ATOM_VAR ? map_get(r->elements, element.u.var) : NULL;
}

// Two atoms that are the same function of an element each: of which ones.
typedef struct StoredAlike {
  const StoredPlaces *r;
  const Exp *scatter;
  Atom stored, read;  // the elements; constants: not known yet
} StoredAlike;

enum { MOST_DEPTH = 6 };

static bool are_alike(StoredAlike *a, Atom stored, Atom read, int depth);

// Of one element of the scatter's array, and one of the same array, whichever.
static bool are_elements(StoredAlike *a, Atom stored, Atom read) {
  const Var *array = places_of(a->scatter, stored);
  if (!array || indexed_array(a->r, read) != array) return false;
  bool first = a->stored.kind == ATOM_CONST;
  if (first) a->stored = stored, a->read = read;
  return first || (atom_equal(a->stored, stored) && atom_equal(a->read, read));
}

static bool are_made_alike(StoredAlike *a, const Exp *stored, const Exp *read,
                           int depth) {
  if (stored->kind != read->kind) return false;
  if (stored->kind == EXP_CONVERT)
    return stored->u.convert.to == read->u.convert.to &&
           are_alike(a, stored->u.convert.atom, read->u.convert.atom, depth);
  if (stored->u.op.op != read->u.op.op || stored->u.op.type != read->u.op.type)
    return false;
  for (int i = 0; i < op_arity(stored->u.op.op); i++)
    if (!are_alike(a, stored->u.op.args[i], read->u.op.args[i], depth)) return false;
  return true;
}

// What both see is the same for both: it is bound outside of the scatter.
static bool are_alike(StoredAlike *a, Atom stored, Atom read, int depth) {
  if (atom_equal(stored, read) || are_elements(a, stored, read)) return true;
  if (stored.kind != ATOM_VAR || read.kind != ATOM_VAR || depth == MOST_DEPTH)
    return false;
  const Exp *one = map_get(a->r->made, stored.u.var);
  const Exp *other = map_get(a->r->made, read.u.var);
  return one && other && are_made_alike(a, one, other, depth + 1);
}

static bool reads_stored_place(const StoredPlaces *r, const Scattered *s, Atom index) {
  StoredAlike a = { r, s->scatter, atom_i64(0), atom_i64(0) };
  return are_alike(&a, s->index, index, 0) && a.stored.kind == ATOM_VAR;
}

static bool is_filled(const StoredPlaces *r, const ScatterDest *dest) {
  return dest->index_count == 1 && dest->dest.kind == ATOM_VAR &&
         map_has(r->fills, dest->dest.u.var);
}

static void note_stored_places(StoredPlaces *r, const Stm *stm) {
  const Exp *e = stm->exp;
  for (int d = 0, first = 0; d < e->u.scatter.dest_count; d++) {
    const ScatterDest *dest = &e->u.scatter.dests[d];
    Atom index = e->u.scatter.fn.body->results[first];
    first += dest->index_count + 1;
    if (!is_filled(r, dest)) continue;
    Scattered *s = mem_alloc(sizeof *s);
    *s = (Scattered){ .scatter = e, .index = index };
    map_put(r->scattered, stm->binders[d], s);
  }
}

static void note_place_read(StoredPlaces *r, const Exp *e) {
  Scattered *s = map_get(r->scattered, e->u.index.array.u.var);
  if (s) s->reads += reads_stored_place(r, s, e->u.index.dims[0].start);
}

static void note_stored_stm(StoredPlaces *r, const Stm *stm) {
  const Exp *e = stm->exp;
  if (e->kind == EXP_REPLICATE && stm->binders[0]->type.rank == 1)
    map_put(r->fills, stm->binders[0], e);
  if (e->kind == EXP_SCATTER) {
    note_parameters(r, &e->u.scatter.fn, e->u.scatter.arrays, e->u.scatter.array_count);
    note_stored_places(r, stm);
  } else if (e->kind == EXP_HIST) {
    note_parameters(r, &e->u.hist.fn, e->u.hist.arrays, e->u.hist.array_count);
  } else if (exp_is_soac(e)) {
    note_parameters(r, &e->u.soac.fn, e->u.soac.arrays, e->u.soac.array_count);
  }
  if (e->kind == EXP_CONVERT || e->kind == EXP_OP) map_put(r->made, stm->binders[0], e);
  if (!is_element_read(e)) return;
  map_put(r->elements, stm->binders[0], e->u.index.array.u.var);
  note_place_read(r, e);
}

static void note_stored_mention(CoreVisitor *v, Atom a) {
  const StoredPlaces *r = v->state;
  Scattered *s = a.kind == ATOM_VAR ? map_get(r->scattered, a.u.var) : NULL;
  if (s) s->mentions++;
}

static void note_stored_body(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    note_stored_stm(v->state, &body->stms[i]);
    core_visit_stm(v, &body->stms[i]);
  }
  for (int i = 0; i < body->result_count; i++)
    note_stored_mention(v, body->results[i]);
}

// ---- what nobody fills

static bool is_read_where_stored(const StoredPlaces *r, const Var *array) {
  const Scattered *s = map_get(r->scattered, array);
  return s && s->mentions > 0 && s->mentions == s->reads;
}

static const Exp *cover(StoredPlaces *r, const Stm *stm, const Exp *e) {
  int count = e->u.scatter.dest_count;
  ScatterDest *dests = mem_copy(e->u.scatter.dests, (size_t)count * sizeof *dests);
  for (int d = 0; d < count; d++) {
    if (!is_read_where_stored(r, stm->binders[d])) continue;
    dests[d].covered = true;
    r->changed = true;
  }
  Exp *out = mem_copy(e, sizeof *out);
  out->u.scatter.dests = dests;
  return out;
}

static const Body *cover_in_body(CoreMapper *m, const Body *body) {
  StoredPlaces *r = m->state;
  Builder b = builder_new(r->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    stm.exp = core_map_exp(m, stm.exp);
    if (stm.exp->kind == EXP_SCATTER) stm.exp = cover(r, &stm, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *cover_reads(Compiler *c, const Body *body) {
  StoredPlaces r = {
    c, map_new(NULL), map_new(NULL), map_new(NULL), map_new(NULL), false
  };
  CoreVisitor v = { .atom = note_stored_mention, .body = note_stored_body, .state = &r };
  note_stored_body(&v, body);
  CoreMapper m = { .body = cover_in_body, .state = &r };
  const Body *covered = cover_in_body(&m, body);
  return r.changed ? covered : body;
}

const Core *stored_places(Compiler *c, const Core *core) {
  return core_map_bodies(c, core, cover_reads);
}
