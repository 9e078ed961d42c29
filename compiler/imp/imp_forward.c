// What a loop stores in a round and loads in the same or in the next one stays in a variable:
//
//   for i < n { a[i] = f(i);  let x = a[i];  let y = a[i - 1]; .. }
//   =>  var last = 0
//       for i < n { let v = f(i);  a[i] = v;  let x = v;  let y = last; ..  last = v }
//
// if nothing else stores to the array: what is before its first element no round can use.  Arrays
// of an item that nothing loads go.
#include "imp/imp_place.h"

typedef struct ArrayUse {
  int stores, loads;
} ArrayUse;

typedef struct Forwarding {
  Compiler *c;
  ImpVars vars;
  Map *uses;  // Mem -> ArrayUse *
} Forwarding;

// ---- who uses an array

static ArrayUse *use_of_array(Forwarding *f, const Mem *mem) {
  ArrayUse *use = map_get(f->uses, mem);
  if (!use) map_put(f->uses, mem, use = new (ArrayUse));
  return use;
}

static void count_loads(void *state, const ImpExp *e) {
  if (e->kind == IMP_LOAD) use_of_array(state, e->u.load.mem)->loads++;
  if (e->kind == IMP_STRIDED) use_of_array(state, e->u.strided.mem)->loads++;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    count_loads(state, operands[i]);
}

static void count_both(Forwarding *f, const Mem *mem) {
  ArrayUse *use = use_of_array(f, mem);
  use->loads += 2;
  use->stores += 2;
}

static void count_uses(Forwarding *f, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, count_loads, f);
    if (stm->kind == IMP_STORE) use_of_array(f, stm->u.store.mem)->stores++;
    if (stm->kind == IMP_ATOMIC) count_both(f, stm->u.atomic.mem);
    if (stm->kind == IMP_LOCKED) count_both(f, stm->u.locked.locks);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      count_uses(f, inner[i]);
  }
}

// ---- within a loop

// A store of the loop at hand that each round makes once.
typedef struct KeptStore {
  const Mem *mem;
  MemPlace place;
  const ImpExp *value;
  const Var *last;  // what the round before has stored; NULL: not asked for yet
} KeptStore;

typedef struct Round {
  Forwarding *f;
  const Var *index;
  Vec(KeptStore) kept;
} Round;

static const Var *last_of(const Round *r, KeptStore *kept, Loc loc) {
  if (!kept->last)
    kept->last = var_new(r->f->c, name_of(r->f->c->names, "last"),
                         type_scalar(kept->mem->elem), loc);
  return kept->last;
}

// The variable that has what the expression loads, or the expression.
static const ImpExp *without_load(const Round *r, const ImpExp *e, Loc loc) {
  if (!e || e->kind != IMP_LOAD || e->lanes) return e;
  vec_each (KeptStore *, kept, &r->kept) {
    if (kept->mem != e->u.load.mem) continue;
    MemPlace place = imp_place(&r->f->vars, r->index, e->u.load.index);
    if (!imp_places_match(&place, &kept->place)) continue;
    if (place.shift == kept->place.shift) return kept->value;
    bool before = imp_is_own(kept->mem) && !place.base && !place.stride;
    if (before && place.shift == kept->place.shift - 1)
      return imp_var(last_of(r, kept, loc));
  }
  return e;
}

static ImpBlock without_loads(void *state, const ImpBlock *block) {
  const Round *r = state;
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    ImpStm *stm = mem_copy(imp_map_blocks(*at, without_loads, state), sizeof *stm);
    if (stm->kind == IMP_DECLARE)
      stm->u.declare.value = without_load(r, stm->u.declare.value, stm->loc);
    if (stm->kind == IMP_ASSIGN)
      stm->u.assign.value = without_load(r, stm->u.assign.value, stm->loc);
    if (stm->kind == IMP_STORE)
      stm->u.store.value = without_load(r, stm->u.store.value, stm->loc);
    vec_push(&out, stm);
  }
  return out;
}

static bool may_keep(const Round *r, const ImpStm *stm, MemPlace *place) {
  if (stm->kind != IMP_STORE || stm->u.store.mask || stm->u.store.step) return false;
  const Mem *mem = stm->u.store.mem;
  bool item = imp_is_own(mem) || mem->space == MEM_GLOBAL;
  if (!item || mem->lanes || stm->u.store.value->lanes || mem->elem == PRIM_F16 ||
      use_of_array(r->f, mem)->stores != 1)
    return false;
  *place = imp_place(&r->f->vars, r->index, stm->u.store.index);
  return place->known;
}

// Does the expression have its value for the rest of the round?
static bool is_settled_value(const Round *r, const ImpExp *e) {
  return e->kind == IMP_CONST ||
         (e->kind == IMP_VAR && map_has(r->f->vars.values, e->u.var));
}

static const ImpStm *keep(Round *r, const ImpStm *stm, MemPlace place, ImpBuilder *b) {
  const ImpExp *value = stm->u.store.value;
  ImpStm *out = mem_copy(stm, sizeof *stm);
  if (!is_settled_value(r, value)) {
    const Var *var = imp_declare(b, "kept", value);
    map_put(r->f->vars.values, var, value);
    value = imp_var(var);
  }
  out->u.store.value = value;
  vec_push(&r->kept, (KeptStore){ stm->u.store.mem, place, value, NULL });
  return out;
}

static ImpBlock forward_block(void *state, const ImpBlock *block);

static void forward_loop(Forwarding *f, const ImpStm *loop, ImpBuilder *out) {
  Round r = { .f = f, .index = loop->u.loop.var };
  ImpBuilder body = { .c = f->c, .loc = loop->loc };
  vec_each (const ImpStm **, at, &loop->u.loop.body) {
    ImpBlock one = { 0 };
    vec_push(&one, *at);
    const ImpStm *stm = without_loads(&r, &one).at[0];
    MemPlace place;
    if (may_keep(&r, stm, &place)) stm = keep(&r, stm, place, &body);
    vec_push(&body.block, stm);
  }
  vec_each (const KeptStore *, kept, &r.kept) {
    if (!kept->last) continue;
    imp_assign(&body, kept->last, kept->value);
    const ImpExp *zero = imp_const(prim_zero(kept->mem->elem));
    imp_add_stm(out,
                (ImpStm){ .kind = IMP_DECLARE, .u.declare = { kept->last, zero, 0 } });
  }
  ImpStm *with = mem_copy(loop, sizeof *loop);
  with->u.loop.body = body.block;
  with->u.loop.independent = false;
  vec_push(&out->block, with);
}

static ImpBlock forward_block(void *state, const ImpBlock *block) {
  Forwarding *f = state;
  ImpBuilder out = { .c = f->c };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = imp_map_blocks(*at, forward_block, state);
    out.loc = stm->loc;
    if (stm->kind == IMP_FOR)
      forward_loop(f, stm, &out);
    else
      vec_push(&out.block, stm);
  }
  return out.block;
}

// ---- arrays that nothing loads

static ImpBlock without_stores(void *state, const ImpBlock *block) {
  Forwarding *f = state;
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = imp_map_blocks(*at, without_stores, state);
    const Mem *mem = stm->kind == IMP_STORE   ? stm->u.store.mem
                     : stm->kind == IMP_LOCAL ? stm->u.alloc.mem
                                              : NULL;
    bool unread = mem && imp_is_own(mem) && use_of_array(f, mem)->loads == 0;
    if (!unread) vec_push(&out, stm);
  }
  return out;
}

ImpBlock imp_forward_stores(Compiler *c, const ImpBlock *block) {
  Forwarding f = { c, imp_vars(block), map_new(NULL) };
  count_uses(&f, block);
  ImpBlock forwarded = forward_block(&f, block);
  f.uses = map_new(NULL);
  count_uses(&f, &forwarded);
  return without_stores(&f, &forwarded);
}
