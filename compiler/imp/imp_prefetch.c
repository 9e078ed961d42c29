//        for i < n { let x = xs[i * m + j ..]; ys[i * m + j ..] = x + 1 }
//   =>   for i < n { let x = xs[i * m + j ..]; prefetch xs[(i + 8) * m + j]; .. }
//
// where vectors are loaded and stored and m is not constant: recurrences down columns, and scans of
// such.  Why: processors foresee what lies behind what they have loaded, but not rows that lie in
// a page each.  Loops that store nothing are left to what sums up rows one by one (`sweep`).
#include "imp/imp_place.h"

enum {
  AHEAD = 8,            // rounds: what memory takes to answer
  LINE = 64,            // bytes
  MOST_PREFETCHES = 16  // in a loop
};

typedef struct RowsAhead {
  ImpVars vars;
  const ImpStm *loop;  // at hand
  ImpBuilder *out;
  int count;
  bool apart;  // the index is multiplied by what is not constant
} RowsAhead;

// ---- where the element is some rounds later

static bool is_of_round(const RowsAhead *r, const ImpExp *e) {
  const ImpExp *operands[3];
  if (e->kind == IMP_VAR && e->u.var == r->loop->u.loop.var) return true;
  if (e->kind == IMP_VAR && map_has(r->vars.sets, e->u.var)) return true;
  const ImpExp *value = e->kind == IMP_VAR ? map_get(r->vars.values, e->u.var) : NULL;
  if (value) return is_of_round(r, value);
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (is_of_round(r, operands[i])) return true;
  return e->kind == IMP_LOAD || e->kind == IMP_STRIDED;
}

static const ImpExp *later(RowsAhead *r, const ImpExp *e);

static const ImpExp *later_op(RowsAhead *r, const ImpExp *e) {
  PrimOp op = e->u.op.op;
  if (op != OP_ADD && op != OP_SUB && op != OP_MUL) return NULL;
  bool moves[2];
  const ImpExp *args[2];
  for (int i = 0; i < 2; i++) {
    moves[i] = is_of_round(r, e->u.op.args[i]);
    args[i] = moves[i] ? later(r, e->u.op.args[i]) : e->u.op.args[i];
    if (!args[i]) return NULL;
  }
  if (op == OP_MUL && moves[0] && moves[1]) return NULL;
  if (op == OP_MUL && args[moves[0]]->kind != IMP_CONST) r->apart = true;
  return imp_op2(op, args[0], args[1]);
}

// NULL: nobody knows.
static const ImpExp *later(RowsAhead *r, const ImpExp *e) {
  if (e->kind == IMP_VAR && e->u.var == r->loop->u.loop.var)
    return imp_min(imp_add(e, imp_i64(AHEAD)),
                   imp_sub(r->loop->u.loop.bound, imp_i64(1)));
  const ImpExp *value = e->kind == IMP_VAR ? map_get(r->vars.values, e->u.var) : NULL;
  if (value) return later(r, value);
  return e->kind == IMP_OP && e->type == PRIM_I64 && !e->lanes ? later_op(r, e) : NULL;
}

static const ImpExp *rows_later(RowsAhead *r, const Mem *mem, const ImpExp *index) {
  r->apart = false;
  if (mem->space != MEM_GLOBAL || index->lanes || !is_of_round(r, index)) return NULL;
  const ImpExp *at = later(r, index);
  return r->apart ? at : NULL;
}

// ---- loops

static void add_prefetches(RowsAhead *r, const Mem *mem, const ImpExp *index, int lanes,
                           bool stores) {
  const ImpExp *at = rows_later(r, mem, index);
  for (int i = 0; at && i < lanes; i += LINE / prim_size_bytes(mem->elem))
    if (r->count++ < MOST_PREFETCHES)
      imp_add_stm(r->out,
                  (ImpStm){ .kind = IMP_PREFETCH,
                            .u.prefetch = { mem, imp_add(at, imp_i64(i)), stores } });
}

static void prefetch_loads(void *state, const ImpExp *e) {
  const ImpExp *operands[3];
  if (!e) return;
  if (e->kind == IMP_LOAD && e->lanes)
    add_prefetches(state, e->u.load.mem, e->u.load.index, e->lanes, false);
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    prefetch_loads(state, operands[i]);
}

static bool stores_vector(const ImpStm *stm) {
  return stm->kind == IMP_STORE && stm->u.store.value->lanes && !stm->u.store.step &&
         !stm->u.store.packed;
}

// A loop without others in it, which stores to a row in each round.
static bool goes_down(RowsAhead *r) {
  const ImpBlock *body = &r->loop->u.loop.body;
  ImpExpKind bound = r->loop->u.loop.bound->kind;
  bool stores = false;
  if (bound != IMP_VAR && bound != IMP_CONST) return false;
  vec_each (const ImpStm **, stm, body) {
    const ImpBlock *inner[2];
    if (imp_blocks(*stm, inner)) return false;
    stores = stores || (stores_vector(*stm) &&
                        rows_later(r, (*stm)->u.store.mem, (*stm)->u.store.index));
  }
  return stores;
}

static const ImpStm *with_prefetches(RowsAhead *r, Compiler *c, const ImpStm *stm) {
  ImpStm *out = mem_copy(stm, sizeof *stm);
  ImpBuilder b = { .c = c, .loc = stm->loc };
  r->out = &b;
  r->count = 0;
  vec_each (const ImpStm **, at, &stm->u.loop.body) {
    vec_push(&b.block, *at);
    imp_each_exp(*at, prefetch_loads, r);
    if (stores_vector(*at))
      add_prefetches(r, (*at)->u.store.mem, (*at)->u.store.index,
                     (*at)->u.store.value->lanes, true);
  }
  out->u.loop.body = b.block;
  return out;
}

typedef struct Prefetching {
  Compiler *c;
  RowsAhead rows;
} Prefetching;

static ImpBlock prefetch_in(void *state, const ImpBlock *block) {
  Prefetching *p = state;
  ImpBlock out = { 0 };
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = imp_map_blocks(*at, prefetch_in, p);
    if (stm->kind == IMP_FOR) {
      p->rows.loop = stm;
      if (goes_down(&p->rows)) stm = with_prefetches(&p->rows, p->c, stm);
    }
    vec_push(&out, stm);
  }
  return out;
}

ImpBlock imp_prefetch_rows(Compiler *c, const ImpBlock *block) {
  Prefetching p = { .c = c, .rows = { .vars = imp_vars(block) } };
  return prefetch_in(&p, block);
}
