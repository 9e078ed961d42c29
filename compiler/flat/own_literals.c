// let ks = [-1, 1, 0, 0]  segmap <i < n> { .. map f ks .. }
//   =>  segmap <i < n> { let ks = [-1, 1, 0, 0] .. map f ks .. }
//
// for literals of few constants of which points run over all elements.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for CPUs.  Short loops over an array of the point's own become straight code
// (kern/tidy/short_loops.c), in which the elements are constants: neighbours at these places are as
// regular as those that the program names one by one.  The host's table stays for others; it is
// written once.
#include "base/map.h"
#include "core/passes.h"
#include "flat/flat.h"

enum { MOST_ELEMENTS = 16 };

typedef struct OwnLiterals {
  Compiler *c;
  Map *literals;  // Var -> const Stm *: few constants, or another shape of these
} OwnLiterals;

static bool is_few_constants(const OwnLiterals *l, const Exp *e) {
  if (e->kind == EXP_ARRAY)
    return exp_is_table(e) && e->u.array.row.rank == 0 &&
           e->u.array.count <= MOST_ELEMENTS;
  return e->kind == EXP_RESHAPE && e->u.reshape.array.kind == ATOM_VAR &&
         map_has(l->literals, e->u.reshape.array.u.var);
}

// ---- how a space uses a literal

typedef struct LiteralUses {
  const Var *literal;
  Map *counters;  // Var -> itself: go through few constant places
  int all, fitting;
} LiteralUses;

static bool is_few(Atom width) {
  return width.kind == ATOM_CONST && width.u.constant.u.i <= MOST_ELEMENTS;
}

static bool is_literal(const LiteralUses *u, Atom a) {
  return a.kind == ATOM_VAR && a.u.var == u->literal;
}

static bool is_counter(const LiteralUses *u, const DimIndex *dim) {
  if (dim->is_slice) return false;
  return dim->start.kind == ATOM_CONST || map_has(u->counters, dim->start.u.var);
}

// map f ks, or a sum of it; what it runs over besides may be an iota.
static void see_soac(LiteralUses *u, const Soac *soac) {
  if (!is_few(soac->width)) return;
  for (int i = 0; i < soac->array_count; i++) {
    u->fitting += is_literal(u, soac->arrays[i]);
    const Var *x = soac->fn.params[i];
    if (x->type.rank == 0 && x->type.elem == PRIM_I64) map_put(u->counters, x, x);
  }
}

static void see_atom(CoreVisitor *v, Atom a) {
  LiteralUses *u = v->state;
  u->all += is_literal(u, a);
}

static void see_body(CoreVisitor *v, const Body *body) {
  LiteralUses *u = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    bool fits = e->kind == EXP_INDEX && is_literal(u, e->u.index.array);
    if (e->kind == EXP_MAP || e->kind == EXP_REDOMAP) see_soac(u, &e->u.soac);
    for (int d = 0; fits && d < e->u.index.dim_count; d++)
      fits = is_counter(u, &e->u.index.dims[d]);
    u->fitting += fits;
    core_visit_exp(v, e);
  }
  for (int i = 0; i < body->result_count; i++)
    see_atom(v, body->results[i]);
}

static bool runs_over(const SegOp *seg, const Var *literal) {
  LiteralUses in_space = { .literal = literal, .counters = map_new(NULL) };
  LiteralUses in_body = { .literal = literal, .counters = map_new(NULL) };
  CoreVisitor v = { .atom = see_atom, .body = see_body, .state = &in_space };
  core_visit_exp(&v, exp_seg(seg));
  v.state = &in_body;
  see_body(&v, seg->body);
  return in_body.all > 0 && in_body.fitting == in_body.all && in_space.all == in_body.all;
}

// ---- the copy of the points

static Atom own_copy(const OwnLiterals *l, Builder *b, const Var *literal) {
  const Stm *stm = map_get(l->literals, literal);
  const Exp *e = stm->exp;
  if (e->kind == EXP_ARRAY) return core_let(b, literal->name, e);
  Atom elements = own_copy(l, b, e->u.reshape.array.u.var);
  return core_let(b, literal->name,
                  exp_reshape(e->u.reshape.dims, e->u.reshape.rank, elements));
}

static const Exp *with_own_literals(const OwnLiterals *l, const Exp *e) {
  const SegOp *seg = e->u.seg;
  VarVec free = core_free_exp(e);
  Builder b = builder_new(l->c, (Loc){ 0 });
  Subst *subst = subst_new();
  bool some = false;
  vec_each (const Var *const *, var, &free) {
    if (!map_has(l->literals, *var) || !runs_over(seg, *var)) continue;
    subst_put(subst, *var, own_copy(l, &b, *var));
    some = true;
  }
  if (!some) return e;
  SegOp *out = mem_copy(seg, sizeof *out);
  const Body *body = core_subst_body(l->c, subst, seg->body);
  core_add_body(&b, body);
  out->body = core_body(&b, body->results, body->result_count);
  return exp_seg(out);
}

static const Body *own_in_body(CoreMapper *m, const Body *body) {
  OwnLiterals *l = m->state;
  Builder b = builder_new(l->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    ExpKind kind = stm.exp->kind;
    if (is_few_constants(l, stm.exp))
      map_put(l->literals, stm.binders[0], &body->stms[i]);
    if (kind == EXP_IF || kind == EXP_LOOP || kind == EXP_GUARD)
      stm.exp = core_map_exp(m, stm.exp);
    if (kind == EXP_SEG && stm.exp->u.seg->level == 1)
      stm.exp = with_own_literals(l, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

const Core *flat_own_literals(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++) {
    OwnLiterals literals = { c, map_new(NULL) };
    CoreMapper m = { .body = own_in_body, .state = &literals };
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    entry->body = own_in_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
