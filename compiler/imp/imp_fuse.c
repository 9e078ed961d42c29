// Loops of an item over the same range, one after the other, become one:
//
//   for i < n { a[i] = f(i) }
//   let x = a[0]
//   for j < n { b[j] = g(x, a[j], a[j - 1]) }
//   =>  var x = 0
//       for i < n { a[i] = f(i);  if i == 0 { x = a[0] }
//                   let j = i;  b[j] = g(x, a[j], a[j - 1]) }
//
// if the second reads what the first has stored in the same round or the one before it, and no
// round of the first minds what earlier rounds of the second do.
//
// Why: the second loads what the first has just had, and with imp_forward.c it need not; arrays
// that nothing else reads then go.  On GPUs each of these loads is one from memory.
#include "imp/imp.h"
#include "imp/imp_place.h"

typedef struct Fuse {
  Compiler *c;
  ImpVars vars;
  const Map *fresh;  // Mem, global: the kernel knows it by no other name
  Map *first;        // Var: has its value from the first round of a loop on
} Fuse;

typedef struct LoopAccess {
  const Mem *mem;
  bool stores;
  MemPlace place;
} LoopAccess;

// What a loop does.
typedef struct LoopUse {
  const Fuse *f;
  const Var *index;
  Vec(LoopAccess) accesses;
  Map *reads, *sets;  // Var
  bool fails, waits;  // has checks; loops without a bound
  bool
      trusts;  // would do harm where a check before it fails: divides, or loads from anywhere
  bool stays;  // does what only its place in the text allows
} LoopUse;

// ---- what loops do

static void add_access(LoopUse *u, const Mem *mem, const ImpExp *at, bool stores) {
  MemPlace place = imp_place(&u->f->vars, u->index, at);
  vec_push(&u->accesses, (LoopAccess){ mem, stores, place });
  u->trusts = u->trusts || !place.known || place.shift > 0;
}

static void see_read_values(void *state, const ImpExp *e) {
  LoopUse *u = state;
  if (e->kind == IMP_VAR) map_put(u->reads, e->u.var, u);
  if (e->kind == IMP_LOAD) add_access(u, e->u.load.mem, e->u.load.index, false);
  u->trusts = u->trusts || (e->kind == IMP_OP && op_may_trap(e->u.op.op, e->type));
  u->stays = u->stays || e->lanes;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    see_read_values(u, operands[i]);
}

static void see_loop_uses(LoopUse *u, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, see_read_values, u);
    if (stm->kind == IMP_ASSIGN) map_put(u->sets, stm->u.assign.var, u);
    for (int i = 0; stm->kind == IMP_CALL && i < stm->u.call.var_count; i++)
      map_put(u->sets, stm->u.call.vars[i], u);
    if (stm->kind == IMP_STORE) add_access(u, stm->u.store.mem, stm->u.store.index, true);
    u->fails = u->fails || stm->kind == IMP_CHECK;
    u->waits = u->waits || stm->kind == IMP_WHILE;
    bool arena = stm->kind == IMP_LOCAL && stm->u.alloc.mem->space == MEM_ARENA;
    u->stays = u->stays || arena || stm->kind == IMP_ATOMIC || stm->kind == IMP_LOCKED ||
               stm->kind == IMP_BARRIER;
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      see_loop_uses(u, inner[i]);
  }
}

static LoopUse use_of(const Fuse *f, const Var *index, const ImpBlock *block) {
  LoopUse u = { .f = f, .index = index, .reads = map_new(NULL), .sets = map_new(NULL) };
  see_loop_uses(&u, block);
  return u;
}

typedef struct CommonKey {
  const Map *other, *exempt;
  bool found;
} CommonKey;

static void look_up(void *state, const void *key, void *value) {
  CommonKey *common = state;
  (void)value;
  bool exempt = common->exempt && map_has(common->exempt, key);
  common->found = common->found || (!exempt && map_has(common->other, key));
}

static bool have_common(const Map *a, const Map *b, const Map *exempt) {
  CommonKey common = { b, exempt, false };
  map_each(a, look_up, &common);
  return common.found;
}

// ---- may rounds of the second go before later rounds of the first?

// May the two be the same memory?
static bool may_be_same(const Fuse *f, const Mem *a, const Mem *b) {
  if (a == b) return true;
  return a->space == MEM_GLOBAL && b->space == MEM_GLOBAL && !map_has(f->fresh, a) &&
         !map_has(f->fresh, b);
}

static bool collide(const Fuse *f, const LoopAccess *a, const LoopAccess *b) {
  if ((!a->stores && !b->stores) || !may_be_same(f, a->mem, b->mem)) return false;
  bool in_order = a->mem == b->mem && imp_places_match(&a->place, &b->place) &&
                  b->place.shift <= a->place.shift;
  return !in_order;
}

// Does the second load what the first stores in the same round or the one before?
static bool meets(const LoopAccess *a, const LoopAccess *b) {
  int64_t apart = a->place.shift - b->place.shift;
  return a->stores && !b->stores && a->mem == b->mem &&
         imp_places_match(&a->place, &b->place) && (apart == 0 || apart == 1);
}

static bool loops_agree(const Fuse *f, const LoopUse *first, const LoopUse *second) {
  bool pays = false;
  if (first->stays || second->stays || (first->fails && second->trusts) ||
      (second->fails && (first->fails || first->waits)) ||
      have_common(first->sets, second->reads, f->first) ||
      have_common(second->sets, first->reads, NULL) ||
      have_common(second->sets, first->sets, NULL))
    return false;
  vec_each (const LoopAccess *, a, &first->accesses)
    vec_each (const LoopAccess *, b, &second->accesses) {
      if (collide(f, a, b)) return false;
      pays = pays || meets(a, b);
    }
  return pays;
}

// ---- what stands between them

typedef struct Merge {
  Fuse *f;
  const ImpStm *first;
  LoopUse use;  // of the first
  ImpBlock before,
      heads;  // what goes before the loop; first elements, between the two bodies
} Merge;

// The store of the first loop in each round whose first one is this element, or NULL.
static const ImpStm *store_of_first(const Merge *m, const ImpExp *load) {
  if (load->kind != IMP_LOAD || load->u.load.index->kind != IMP_CONST) return NULL;
  vec_each (const ImpStm **, at, &m->first->u.loop.body) {
    const ImpStm *stm = *at;
    if (stm->kind != IMP_STORE || stm->u.store.mem != load->u.load.mem) continue;
    MemPlace place = imp_place(&m->f->vars, m->first->u.loop.var, stm->u.store.index);
    bool plain = place.known && !place.base && !place.stride;
    return plain && imp_is_i64(load->u.load.index, place.shift) ? stm : NULL;
  }
  return NULL;
}

static bool is_only_store(const Merge *m, const Mem *mem) {
  int stores = 0;
  vec_each (const LoopAccess *, a, &m->use.accesses)
    stores += a->stores && a->mem == mem;
  return stores == 1;
}

// let x = a[0], where the loop has stored that in its first round
static bool take_head(Merge *m, const ImpStm *stm) {
  const ImpStm *store = store_of_first(m, stm->u.declare.value);
  if (!store || !is_only_store(m, store->u.store.mem)) return false;
  const Var *var = stm->u.declare.var;
  ImpBuilder head = { .c = m->f->c, .loc = stm->loc };
  imp_assign(&head, var, imp_load(store->u.store.mem, store->u.store.index));
  ImpBuilder heads = { .c = m->f->c, .loc = stm->loc, .block = m->heads };
  imp_if(&heads, imp_op2(OP_EQ, imp_var(m->first->u.loop.var), imp_i64(0)), head.block);
  m->heads = heads.block;
  ImpStm *declared = mem_copy(stm, sizeof *stm);
  declared->u.declare.value = imp_const(prim_zero(var->type.elem));
  vec_push(&m->before, declared);
  map_put(m->f->first, var, m);
  map_put(m->f->vars.sets, var, m);
  map_remove(m->f->vars.values, var);
  map_put(m->use.sets, var, m);
  return true;
}

// Is what the statement does the same before the loop?
static bool goes_before(const Merge *m, const ImpStm *stm) {
  ImpBlock alone = { 0 };
  vec_push(&alone, stm);
  LoopUse use = use_of(m->f, m->first->u.loop.var, &alone);
  if (stm->kind == IMP_COMMENT) return true;
  bool local = stm->kind == IMP_LOCAL && stm->u.alloc.mem->space == MEM_PRIVATE;
  if (stm->kind != IMP_DECLARE && stm->kind != IMP_CHECK && !local) return false;
  if (use.stays || (use.trusts && m->use.fails) ||
      (use.fails && (m->use.fails || m->use.waits)))
    return false;
  vec_each (const LoopAccess *, a, &m->use.accesses)
    vec_each (const LoopAccess *, b, &use.accesses)
      if (a->stores && may_be_same(m->f, a->mem, b->mem)) return false;
  return !have_common(m->use.sets, use.reads, NULL);
}

static bool move_between(Merge *m, const ImpBlock *block, int from) {
  for (int i = from; i < block->count; i++) {
    const ImpStm *stm = block->at[i];
    if (goes_before(m, stm))
      vec_push(&m->before, stm);
    else if (stm->kind != IMP_DECLARE || !stm->u.declare.value || !take_head(m, stm))
      return false;
  }
  return true;
}

// ---- merging

static void append_block(ImpBlock *to, const ImpBlock *from) {
  vec_each (const ImpStm **, stm, from)
    vec_push(to, *stm);
}

static const ImpStm *merged_loop(const Merge *m, const ImpStm *second) {
  ImpBlock body = { 0 };
  const ImpExp *index = imp_var(m->first->u.loop.var);
  append_block(&body, &m->first->u.loop.body);
  append_block(&body, &m->heads);
  vec_push(&body, new_node(ImpStm, .kind = IMP_DECLARE, .loc = second->loc,
                           .u.declare = { second->u.loop.var, index, 0 }));
  map_put(m->f->vars.values, second->u.loop.var, index);
  append_block(&body, &second->u.loop.body);
  ImpStm *out = mem_copy(m->first, sizeof *out);
  out->u.loop.body = body;
  out->u.loop.independent = false;
  out->u.loop.many = m->first->u.loop.many && second->u.loop.many;
  out->u.loop.reassociate = m->first->u.loop.reassociate && second->u.loop.reassociate;
  return out;
}

static int last_loop(const ImpBlock *block) {
  int at = block->count - 1;
  while (at >= 0 && block->at[at]->kind != IMP_FOR)
    at--;
  return at;
}

// Adds the loop to the one before it in the block, if they may be one.
static bool fuse_into(Fuse *f, ImpBlock *block, const ImpStm *second) {
  int at = last_loop(block);
  if (at < 0) return false;
  const ImpStm *first = block->at[at];
  if (!imp_same(first->u.loop.bound, second->u.loop.bound)) return false;
  Merge m = { .f = f,
              .first = first,
              .use = use_of(f, first->u.loop.var, &first->u.loop.body) };
  LoopUse bound = use_of(f, NULL, &(ImpBlock){ 0 });
  see_read_values(&bound, second->u.loop.bound);
  if (have_common(m.use.sets, bound.reads, NULL) || !move_between(&m, block, at + 1))
    return false;
  LoopUse use = use_of(f, second->u.loop.var, &second->u.loop.body);
  if (!loops_agree(f, &m.use, &use)) return false;
  block->count = at;
  append_block(block, &m.before);
  vec_push(block, merged_loop(&m, second));
  return true;
}

static ImpBlock fuse_block(void *state, const ImpBlock *block) {
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = imp_map_blocks(*at, fuse_block, state);
    if (stm->kind != IMP_FOR || !fuse_into(state, &out, stm)) vec_push(&out, stm);
  }
  return out;
}

ImpBlock imp_fuse_loops(Compiler *c, const ImpBlock *block, const Map *fresh) {
  Fuse f = { c, imp_vars(block), fresh, map_new(NULL) };
  return fuse_block(&f, block);
}
