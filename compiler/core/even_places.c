// let (js, ys) = map n (\i -> (a * i + b, f i)) (iota n) in scatter n (\j y -> (j, y)) js ys into d
//   =>   let ys = map n f (iota n)   let js = iota n b a
//        in scatter n (\j y -> (j, y)) js ys into d
//   where a and b are the same for all elements, and scatters alone go through js
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: places that two scatters, or a scatter and what computes its values, have in common do not
// fuse with either; they were stored and loaded again, and nobody saw the rule that they follow.
#include "base/map.h"
#include "core/passes.h"

// An affine number: by * (index of the element) + base, which are known outside of the map.
typedef struct EvenPlace {
  Atom by, base;
} EvenPlace;

typedef struct EvenPlaces {
  Compiler *c;
  Map *iotas;  // Var -> const Exp *: iotas of i64
  bool changed;
} EvenPlaces;

// The map at hand.
typedef struct EvenMap {
  Builder *b;   // what stands before the map
  Map *places;  // Var -> const EvenPlace *: of its parameters and scalars
  Map *inside;  // Var: bound within its function
} EvenMap;

// ---- mentions

static int scatters_through(const Var *places, const Body *body) {
  int count = 0;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    for (int k = 0; e->kind == EXP_SCATTER && k < e->u.scatter.array_count; k++)
      count += atom_equal(e->u.scatter.arrays[k], atom_var(places));
  }
  return count;
}

// Do scatters of this body alone mention it?
static bool only_scatters_read(const Var *places, const Body *body, const Map *uses) {
  const int *used = map_get(uses, places);
  return places->type.rank == 1 && places->type.elem == PRIM_I64 && used &&
         *used == scatters_through(places, body);
}

// ---- affine numbers

static Atom even_op(EvenMap *m, PrimOp op, Atom a, Atom b) {
  return core_let(m->b, "even", exp_op2(op, a, b));
}

static bool even_atom(EvenMap *m, Atom a, EvenPlace *out) {
  const EvenPlace *known = a.kind == ATOM_VAR ? map_get(m->places, a.u.var) : NULL;
  if (known) *out = *known;
  if (known) return true;
  *out = (EvenPlace){ atom_i64(0), a };
  return a.kind != ATOM_VAR || !map_has(m->inside, a.u.var);
}

static bool is_even_op(const Exp *e) {
  return e->kind == EXP_OP && e->u.op.type == PRIM_I64 &&
         (e->u.op.op == OP_ADD || e->u.op.op == OP_SUB || e->u.op.op == OP_MUL);
}

static void note_even_stm(EvenMap *m, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    map_put(m->inside, stm->binders[i], stm);
  EvenPlace a, b, out;
  if (!is_even_op(stm->exp) || !even_atom(m, stm->exp->u.op.args[0], &a) ||
      !even_atom(m, stm->exp->u.op.args[1], &b))
    return;
  PrimOp op = stm->exp->u.op.op;
  if (op != OP_MUL) {
    out = (EvenPlace){ even_op(m, op, a.by, b.by), even_op(m, op, a.base, b.base) };
  } else {
    bool first = !atom_is_i64(a.by, 0), second = !atom_is_i64(b.by, 0);
    if (first && second) return;
    Atom by = first ? even_op(m, op, a.by, b.base) : even_op(m, op, a.base, b.by);
    out = (EvenPlace){ by, even_op(m, op, a.base, b.base) };
  }
  map_put(m->places, stm->binders[0], mem_copy(&out, sizeof out));
}

static void note_counters(const EvenPlaces *x, EvenMap *m, const Soac *soac) {
  for (int i = 0; i < soac->array_count; i++) {
    map_put(m->inside, soac->fn.params[i], soac);
    const Exp *iota = soac->arrays[i].kind == ATOM_VAR
                          ? map_get(x->iotas, soac->arrays[i].u.var)
                          : NULL;
    if (!iota) continue;
    EvenPlace place = { iota->u.iota.step, iota->u.iota.start };
    map_put(m->places, soac->fn.params[i], mem_copy(&place, sizeof place));
  }
}

// ---- maps

// Adds the places of the map that follow a rule; the map has others in their stead, which nobody
// reads.
static void take_places(EvenPlaces *x, Builder *b, Stm *map, const Body *body,
                        const Map *uses) {
  const Soac *soac = &map->exp->u.soac;
  bool some = false;
  for (int k = 0; k < map->binder_count; k++)
    some = some || only_scatters_read(map->binders[k], body, uses);
  if (!some) return;
  EvenMap m = { b, map_new(NULL), map_new(NULL) };
  b->loc = map->loc;
  note_counters(x, &m, soac);
  const Body *inner = soac->fn.body;
  for (int i = 0; i < inner->stm_count; i++)
    note_even_stm(&m, &inner->stms[i]);
  const Var **binders =
      mem_copy(map->binders, sizeof *binders * (size_t)map->binder_count);
  for (int k = 0; k < map->binder_count; k++) {
    const Var *places = map->binders[k];
    Atom result = inner->results[k];
    const EvenPlace *even =
        result.kind == ATOM_VAR ? map_get(m.places, result.u.var) : NULL;
    if (!even || !only_scatters_read(places, body, uses)) continue;
    core_let_vars(b, mem_copy(&places, sizeof places), 1,
                  exp_iota(soac->width, even->base, even->by));
    binders[k] = var_new(x->c, places->name, places->type, map->loc);
    x->changed = true;
  }
  map->binders = binders;
}

static bool holds_scatter(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind == EXP_SCATTER) return true;
  return false;
}

static const Body *even_in_body(CoreMapper *mapper, const Body *body) {
  EvenPlaces *x = mapper->state;
  Builder b = builder_new(x->c, (Loc){ 0 });
  const Map *uses = holds_scatter(body) ? core_uses(body) : NULL;
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    if (stm.exp->kind == EXP_IOTA && stm.exp->u.iota.type == PRIM_I64)
      map_put(x->iotas, stm.binders[0], stm.exp);
    stm.exp = core_map_exp(mapper, stm.exp);
    if (uses && stm.exp->kind == EXP_MAP) take_places(x, &b, &stm, body, uses);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *even_places_body(Compiler *c, const Body *body) {
  EvenPlaces x = { .c = c, .iotas = map_new(NULL) };
  CoreMapper m = { .body = even_in_body, .state = &x };
  const Body *taken = even_in_body(&m, body);
  return x.changed ? taken : body;
}

const Core *even_places(Compiler *c, const Core *core) {
  const Core *taken = core_map_bodies(c, core, even_places_body);
  return core_same_bodies(core, taken) ? core : simplify(c, dead(c, taken));
}
