// hist (n + m) f (xs ++ ys) into d op   =>   hist m f ys into (hist n f xs into d op) op
//   where all arrays are put together so, of parts of the same lengths, or hold one value
//
// Needs: Core, not fused; binders unique.  Keeps: both.
// Why: what is made for one array and another (both ends of edges, both cells beside a particle)
// fuses with its histogram, and nothing is copied one behind the other.
#include "core/passes.h"

enum { MOST_PARTS = 4 };

typedef struct PartedHists {
  Compiler *c;
  Map *uses;  // Var -> int *: how often it is mentioned
  Map *defs;  // Var -> const Exp *
  bool changed;
} PartedHists;

static bool is_counted_alone(const PartedHists *s, const Var *var) {
  const int *count = map_get(s->uses, var);
  return count && *count == 1;
}

// Is it the array itself, with sizes by other names?
static bool keeps_shape(const Exp *e) {
  CoreType type = atom_type(e->u.reshape.array);
  if (type.rank != e->u.reshape.rank) return false;
  for (int d = 1; d < type.rank; d++)
    if (!atom_equal(type.dims[d], e->u.reshape.dims[d])) return false;
  return true;
}

// What holds one value, or is put together for the histogram alone; NULL: it is neither.
static const Exp *makes_parts(const PartedHists *s, Atom a) {
  const Exp *e = a.kind == ATOM_VAR ? map_get(s->defs, a.u.var) : NULL;
  if (!e || e->kind == EXP_REPLICATE) return e;
  if (!is_counted_alone(s, a.u.var)) return NULL;
  if (e->kind == EXP_RESHAPE && keeps_shape(e)) return makes_parts(s, e->u.reshape.array);
  return e->kind == EXP_CONCAT && e->u.concat.array_count <= MOST_PARTS ? e : NULL;
}

static Atom length_of(Atom array) { return atom_type(array).dims[0]; }

static bool same_parts(const Exp *a, const Exp *b) {
  if (a->u.concat.array_count != b->u.concat.array_count) return false;
  for (int i = 0; i < a->u.concat.array_count; i++)
    if (!atom_equal(length_of(a->u.concat.arrays[i]), length_of(b->u.concat.arrays[i])))
      return false;
  return true;
}

// What makes its arrays, if these have parts in common; NULL: they do not.
static const Exp **makers_of(const PartedHists *s, const Stm *stm) {
  const Exp *parts = NULL, **made;
  if (stm->exp->kind != EXP_HIST || stm->attrs) return NULL;
  int count = stm->exp->u.hist.array_count;
  made = new_array(const Exp *, count + 1);
  for (int i = 0; i < count; i++) {
    made[i] = makes_parts(s, stm->exp->u.hist.arrays[i]);
    if (!made[i]) return NULL;
    if (made[i]->kind == EXP_REPLICATE) continue;
    if (parts && !same_parts(parts, made[i])) return NULL;
    parts = made[i];
  }
  return parts ? made : NULL;
}

static const Exp *first_parted(const Exp *const *made) {
  while ((*made)->kind != EXP_CONCAT)
    made++;
  return *made;
}

// The part of that length of what is made so.
static Atom counted_part(Builder *b, const Exp *made, int part, Atom length) {
  return made->kind == EXP_CONCAT
             ? made->u.concat.arrays[part]
             : core_let(b, "part", exp_replicate(length, made->u.replicate.value));
}

// The histograms of a part, into the destinations, which are those of all histograms in a row.
static const Exp *hist_of_part(const PartedHists *s, Builder *b, const Exp *whole,
                               const Exp *const *made, int part, Atom length,
                               const Atom *dests) {
  Exp *out = mem_copy(whole, sizeof *whole);
  int arrays = whole->u.hist.array_count, count = whole->u.hist.op_count;
  Atom *parts = new_array(Atom, arrays + 1);
  for (int i = 0; i < arrays; i++)
    parts[i] = counted_part(b, made[i], part, length);
  HistOp *ops = mem_copy(whole->u.hist.ops, (size_t)count * sizeof *ops);
  for (int i = 0; i < count; i++) {
    ops[i].dests = dests;
    ops[i].op.op = core_rename_lambda(s->c, subst_new(), ops[i].op.op);
    dests += ops[i].op.count;
  }
  out->u.hist.width = length;
  out->u.hist.fn = core_rename_lambda(s->c, subst_new(), whole->u.hist.fn);
  out->u.hist.arrays = parts;
  out->u.hist.ops = ops;
  return out;
}

static const Exp *hists_of_parts(const PartedHists *s, Builder *b, const Stm *stm,
                                 const Exp *const *made) {
  const Exp *parts = first_parted(made);
  const Exp *whole = stm->exp;
  Atom *dests = new_array(Atom, stm->binder_count + 1);
  for (int i = 0, next = 0; i < whole->u.hist.op_count; i++)
    for (int k = 0; k < whole->u.hist.ops[i].op.count; k++)
      dests[next++] = whole->u.hist.ops[i].dests[k];
  for (int p = 0;; p++) {
    Atom length = length_of(parts->u.concat.arrays[p]);
    const Exp *of_part = hist_of_part(s, b, whole, made, p, length, dests);
    if (p + 1 == parts->u.concat.array_count) return of_part;
    dests = new_array(Atom, stm->binder_count + 1);
    core_let_n(b, "counted", of_part, dests);
  }
}

static const Body *hists_in_body(CoreMapper *m, const Body *body) {
  PartedHists *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    stm.exp = core_map_exp(m, stm.exp);
    const Exp **made = makers_of(s, &stm);
    if (made) {
      stm.exp = hists_of_parts(s, &b, &stm, made);
      s->changed = true;
    }
    if (stm.binder_count == 1) map_put(s->defs, stm.binders[0], stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *part_hists(Compiler *c, const Body *body) {
  PartedHists s = { .c = c, .uses = core_uses(body), .defs = map_new(NULL) };
  CoreMapper m = { .body = hists_in_body, .state = &s };
  const Body *rewritten = hists_in_body(&m, body);
  return s.changed ? rewritten : body;
}

const Core *parted_hists(Compiler *c, const Core *core) {
  const Core *rewritten = core_map_bodies(c, core, part_hists);
  return core_same_bodies(core, rewritten) ? core : dead(c, rewritten);
}
