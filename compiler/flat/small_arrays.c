// loop (best = [p, q]) for i < n do .. best[k] .. best with [k] = x ..
//   =>  loop (a = p) (b = q) for i < n do ..
//
// in what points do one after the other: small arrays of constant shape that loops carry are
// scalars, and loops over their elements straight code.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  Such arrays (the greatest few, small systems of equations, states of
// filters) would lie in local memory, and each access take an address and a request; as scalars
// they are registers.
#include "base/map.h"
#include "core/passes.h"
#include "core/straight.h"
#include "flat/spaces.h"

enum { MOST_ELEMENTS = 64, MOST_STMS = 800, MOST_BYTES = 320 };

typedef struct SmallArrays {
  Compiler *c;
  Map *numbers;  // Var -> itself: 0, 1, 2, .. of the host
  bool within;   // what points do in order
} SmallArrays;

// ---- which bodies

static bool is_small_array(const Var *var) {
  return var->type.rank > 0 && straight_size(var->type, MOST_ELEMENTS) > 0;
}

static bool carries_small(const Exp *e) {
  for (int i = 0; e->kind == EXP_LOOP && i < e->u.loop.param_count; i++)
    if (is_small_array(e->u.loop.params[i])) return true;
  return false;
}

static bool has_small_loop(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (carries_small(body->stms[i].exp)) return true;
  return false;
}

// ---- are they worth it?

static int64_t carried_bytes(const Exp *loop) {
  int64_t bytes = 0;
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (loop->u.loop.params[i]->type.rank == 0)
      bytes += prim_size_bytes(loop->u.loop.params[i]->type.elem);
  return bytes;
}

// Is a small array made, in each round of something?
static bool makes_small(const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (is_small_array(stm->binders[i]) && stm->exp->kind != EXP_INDEX) return true;
  return false;
}

static bool is_all_scalar(const Body *body, bool in_rounds) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    bool loops = e->kind == EXP_LOOP || exp_is_soac(e);
    if (carries_small(e) || (in_rounds && makes_small(&body->stms[i]))) return false;
    if (e->kind == EXP_LOOP && carried_bytes(e) > MOST_BYTES) return false;
    BodyVec bodies = exp_bodies(e);
    vec_each (const Body **, inner, &bodies)
      if (!is_all_scalar(*inner, in_rounds || loops)) return false;
  }
  return true;
}

// ---- the scalars

static void bind_numbers(const SmallArrays *x, Straight *s, const Body *body) {
  VarVec free = core_free_body(body);
  vec_each (const Var *const *, v, &free) {
    if (!map_has(x->numbers, *v) || !is_small_array(*v)) continue;
    AtomVec at = { 0 };
    for (int k = 0; k < straight_size((*v)->type, MOST_ELEMENTS); k++)
      vec_push(&at, atom_i64(k));
    straight_bind_elements(s, *v, at.at, at.count);
  }
}

// NULL: something is left in an array.
static const Body *on_scalars(const SmallArrays *x, const Body *body) {
  int budget = MOST_STMS;
  Builder b = builder_new(x->c, body->stms[0].loc);
  AtomVec results = { 0 };
  Straight s = { .c = x->c,
                 .b = &b,
                 .atoms = map_new(NULL),
                 .elements = map_new(NULL),
                 .most = MOST_ELEMENTS,
                 .budget = &budget,
                 .rolls = true };
  bind_numbers(x, &s, body);
  straight_body(&s, body);
  for (int i = 0; i < body->result_count && budget >= 0; i++)
    vec_push(&results, straight_whole(&s, body->results[i]));
  if (budget < 0) return NULL;
  const Body *made = dead_body(x->c, core_body(&b, results.at, results.count));
  return is_all_scalar(made, false) ? made : NULL;
}

// ---- all

static void find_numbers(CoreVisitor *v, const Body *body) {
  const SmallArrays *x = v->state;
  for (int i = 0; i < body->stm_count; i++)
    if (flat_makes_iota(body->stms[i].exp))
      map_put(x->numbers, body->stms[i].binders[0], body);
  core_visit_body(v, body);
}

static const Body *small_in_body(CoreMapper *m, const Body *body) {
  SmallArrays *x = m->state;
  const Body *made = x->within && has_small_loop(body) ? on_scalars(x, body) : NULL;
  if (made) return made;
  Stm *stms = new_array(Stm, body->stm_count + 1);
  Body *out = mem_copy(body, sizeof *body);
  for (int i = 0; i < body->stm_count; i++) {
    bool around = x->within;
    stms[i] = body->stms[i];
    const SegOp *seg = stms[i].exp->kind == EXP_SEG ? stms[i].exp->u.seg : NULL;
    x->within = around || (seg && !flat_has_inner_seg(seg));
    stms[i].exp = core_map_exp(m, stms[i].exp);
    x->within = around;
  }
  out->stms = stms;
  return out;
}

const Core *flat_small_arrays(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  SmallArrays x = { .c = c, .numbers = map_new(NULL) };
  CoreVisitor v = { .body = find_numbers, .state = &x };
  CoreMapper m = { .body = small_in_body, .state = &x };
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    find_numbers(&v, entry->body);
    entry->body = small_in_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
