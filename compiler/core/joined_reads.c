// let c = concat xs ys  in .. c[i] ..   =>  .. if i < n then xs[i] else ys[i - n] ..
//   where c is made in an operator, and is read element by element only, not in another operator
//   within that
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: an array with an element more (`let ends = starts ++ [n] in ends[v + 1] - ends[v]`) was
// copied by each point that asks for two of its elements, where that stands in a branch, which
// hoisting does not let it leave; or before each search in it.  Inner operators may run in vectors,
// or in parallel, which conditions would get into the way of.
//
// Arrays of a known length become scalars elsewhere (straight.h).
#include "core/bounds.h"
#include "core/passes.h"

enum { MOST_PARTS = 4, MOST_READS = 8 };  // each read is a condition for each part

typedef struct JoinedRead {
  int mentions, elements;
  int level;  // how many operators are around the array
} JoinedRead;

typedef struct JoinedReads {
  Compiler *c;
  Map *reads;   // Var -> JoinedRead *: arrays that are put together
  Map *joined;  // Var -> Exp: those that are read so, and bound by now
  int level;
  bool changed;
} JoinedReads;

// ---- who reads elements

static bool reads_one_element(const Exp *e) {
  if (e->kind != EXP_INDEX || e->u.index.array.kind != ATOM_VAR) return false;
  if (e->u.index.dim_count != atom_type(e->u.index.array).rank) return false;
  for (int d = 0; d < e->u.index.dim_count; d++)
    if (e->u.index.dims[d].is_slice) return false;
  return true;
}

static void note_joined_mention(CoreVisitor *v, Atom a) {
  const JoinedReads *j = v->state;
  JoinedRead *read = a.kind == ATOM_VAR ? map_get(j->reads, a.u.var) : NULL;
  if (read) read->mentions++;
}

static void note_joined_stm(JoinedReads *j, const Stm *stm) {
  const Exp *e = stm->exp;
  if (j->level > 0 && e->kind == EXP_CONCAT && e->u.concat.count.kind == ATOM_VAR &&
      e->u.concat.array_count <= MOST_PARTS) {
    JoinedRead *read = mem_alloc(sizeof *read);
    read->level = j->level;
    map_put(j->reads, stm->binders[0], read);
  }
  JoinedRead *read =
      reads_one_element(e) ? map_get(j->reads, e->u.index.array.u.var) : NULL;
  if (read && read->level == j->level) read->elements++;
}

static void note_joined_reads(CoreVisitor *v, const Body *body) {
  JoinedReads *j = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    note_joined_stm(j, &body->stms[i]);
    ExpKind kind = body->stms[i].exp->kind;
    bool is_operator = kind != EXP_IF && kind != EXP_LOOP;
    j->level += is_operator;
    core_visit_stm(v, &body->stms[i]);
    j->level -= is_operator;
  }
  for (int i = 0; i < body->result_count; i++)
    note_joined_mention(v, body->results[i]);
}

static bool only_elements(const JoinedReads *j, const Var *array) {
  const JoinedRead *read = map_get(j->reads, array);
  return read && read->elements == read->mentions && read->elements <= MOST_READS;
}

// ---- reading the parts

static const Exp *part_element(Atom part, const Atom *places, int count) {
  Atom *within = mem_copy(places, (size_t)count * sizeof *places);
  if (atom_is_i64(atom_type(part).dims[0], 1)) within[0] = atom_i64(0);
  return exp_index(part, within, count, false);
}

static const Exp *choose_part(JoinedReads *j, Loc loc, const Atom *parts, int part_count,
                              const Atom *places, int count, Builder *b) {
  if (part_count == 1) return part_element(*parts, places, count);
  Atom length = atom_type(*parts).dims[0];
  Atom here = core_let(b, "here", exp_op2(OP_LT, places[0], length));
  Builder first = builder_new(j->c, loc), rest = builder_new(j->c, loc);
  Atom value = core_let(&first, "x", part_element(*parts, places, count));
  Atom *later = mem_copy(places, (size_t)count * sizeof *places);
  later[0] = core_let(&rest, "i", exp_op2(OP_SUB, places[0], length));
  const Exp *other = choose_part(j, loc, parts + 1, part_count - 1, later, count, &rest);
  Atom else_value = core_let(&rest, "x", other);
  return exp_if(here, core_body(&first, &value, 1), core_body(&rest, &else_value, 1));
}

static const Exp *joined_element(JoinedReads *j, Builder *b, const Exp *concat,
                                 const Exp *e) {
  int count = e->u.index.dim_count;
  Atom *places = new_array(Atom, count);
  for (int d = 0; d < count; d++)
    places[d] = e->u.index.dims[d].start;
  if (e->u.index.checked) {
    CoreType type = atom_type(e->u.index.array);
    core_let_n(b, "checked", bounds_assert(b, type, e->u.index.dims, places, count),
               places);
  }
  return choose_part(j, b->loc, concat->u.concat.arrays, concat->u.concat.array_count,
                     places, count, b);
}

static const Body *reads_in_body(CoreMapper *m, const Body *body) {
  JoinedReads *j = m->state;
  Builder b = builder_new(j->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    if (stm.exp->kind == EXP_CONCAT && only_elements(j, stm.binders[0]))
      map_put(j->joined, stm.binders[0], stm.exp);
    const Exp *concat = reads_one_element(stm.exp)
                            ? map_get(j->joined, stm.exp->u.index.array.u.var)
                            : NULL;
    stm.exp = concat ? joined_element(j, &b, concat, stm.exp) : core_map_exp(m, stm.exp);
    j->changed |= concat != NULL;
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *read_parts(Compiler *c, const Body *body) {
  JoinedReads j = { .c = c, .reads = map_new(NULL), .joined = map_new(NULL) };
  CoreVisitor v = { .atom = note_joined_mention, .body = note_joined_reads, .state = &j };
  note_joined_reads(&v, body);
  CoreMapper m = { .body = reads_in_body, .state = &j };
  const Body *changed = reads_in_body(&m, body);
  return j.changed ? changed : body;
}

const Core *joined_reads(Compiler *c, const Core *core) {
  const Core *read = core_map_bodies(c, core, read_parts);
  if (core_same_bodies(core, read)) return core;
  return simplify(c, dead(c, read));
}
