// Does an IMP_LANES statement pay, against an item per point?  A rough count of operations in both.
//
// Loops that the device's compiler vectorises by itself (rows that are read from one end to the other,
// without a library function) are cheap for an item; single elements that vectors gather are dear.
#include "imp/imp.h"

enum {
  TRIPS = 8,    // of a loop, guessed
  GATHER = 12,  // a load or store of lanes that are not neighbours
  LIBRARY = 20,
  DIVISION = 4,
};

typedef struct Costs {
  const LaneInfo *info;
  double items, vectors;  // LANES points; one vector
  double times;           // this code runs
  double
      items_share;  // of the operations that an item takes: less in loops that vectorise anyway
  bool loops;
} Costs;

// ---- loops that vectorise anyway

typedef struct RowLoop {
  const LaneInfo *info;  // of the loop's index as the lane
  bool fits;
} RowLoop;

static bool is_library(const ImpExp *e) {
  return e->kind == IMP_OP && op_cost(e->u.op.op, e->u.op.operands) == COST_LIBRARY;
}

static bool walks_on(const LaneInfo *info, const ImpExp *index) {
  Affine a;
  if (!lanes_affine(info, index, &a) || a.step->kind != IMP_CONST) return false;
  return a.step->u.constant.u.i == 0 || a.step->u.constant.u.i == 1;
}

static void row_exp(void *state, const ImpExp *e) {
  RowLoop *row = state;
  bool traps = e->kind == IMP_OP && op_may_trap(e->u.op.op, e->u.op.operands);
  if (traps || is_library(e)) row->fits = false;
  if (e->kind == IMP_LOAD && !walks_on(row->info, e->u.load.index)) row->fits = false;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    row_exp(state, operands[i]);
}

static bool is_row_loop(const ImpStm *loop) {
  ImpStm lanes = { .kind = IMP_LANES,
                   .u.lanes = { .lane = loop->u.loop.var, .vectors = 1, .rows = 1 } };
  lanes.u.lanes.own = map_new(NULL);
  lanes.u.lanes.body = loop->u.loop.body;
  RowLoop row = { lanes_analyse(&lanes), true };
  vec_each (const ImpStm **, at, &loop->u.loop.body) {
    const ImpStm *stm = *at;
    bool plain =
        stm->kind == IMP_DECLARE || stm->kind == IMP_STORE || stm->kind == IMP_COMMENT;
    if (!plain && !(stm->kind == IMP_ASSIGN && loop->u.loop.reassociate)) return false;
    if (stm->kind == IMP_STORE && !walks_on(row.info, stm->u.store.index)) return false;
    imp_each_exp(stm, row_exp, &row);
  }
  return row.fits;
}

// ---- counting

static double width(PrimType type) { return prim_size_bytes(type) == 8 ? 2 : 1; }

static double access(const LaneInfo *info, const Mem *mem, const ImpExp *index) {
  bool same = !(lanes_depends(info, index) & DEPENDS_LANE);
  Affine a;
  if (same) return width(mem->elem);
  bool own = lanes_is_own(info, mem) && lanes_mem_depends(info, mem);
  bool neighbours = !own && lanes_affine(info, index, &a) && a.step->kind == IMP_CONST &&
                    a.step->u.constant.u.i == 1;
  return neighbours ? width(mem->elem) : GATHER;
}

// Is it computed for one lane after the other (as in emit/c_lanes.c)?
static bool lane_by_lane(const ImpExp *e) {
  if (e->kind == IMP_CONVERT)
    return prim_is_float(e->u.convert.arg->type) && prim_is_int(e->type);
  if (e->kind != IMP_OP) return false;
  bool no_vector = is_library(e) && !op_vector(e->u.op.op, e->u.op.operands);
  return no_vector || op_may_trap(e->u.op.op, e->u.op.operands);
}

static double cost_of(const ImpExp *e) {
  OpCost cost = e->kind == IMP_OP ? op_cost(e->u.op.op, e->u.op.operands) : COST_CHEAP;
  switch (cost) {
  case COST_CHEAP: return 1;
  case COST_DIVISION: return DIVISION;
  case COST_LIBRARY: return LIBRARY;
  }
  return 1;
}

static void count_exp(void *state, const ImpExp *e) {
  Costs *s = state;
  Affine a;
  bool index = e->type == PRIM_I64 && lanes_affine(s->info, e, &a);
  bool varies = (lanes_depends(s->info, e) & DEPENDS_LANE) && !index;
  double cost = cost_of(e);
  if (e->kind == IMP_LOAD) {
    s->vectors += s->times * access(s->info, e->u.load.mem, e->u.load.index);
    s->items += s->times * s->items_share * LANES;
  } else if (e->kind == IMP_OP || e->kind == IMP_CONVERT) {
    s->vectors += s->times * cost *
                  (!varies           ? 1
                   : lane_by_lane(e) ? LANES
                                     : width(e->type));
    s->items += s->times * s->items_share * cost * LANES;
  }
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count && !index; i++)
    count_exp(state, operands[i]);
}

static void count_block(Costs *s, const ImpBlock *block) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    imp_each_exp(stm, count_exp, s);
    if (stm->kind == IMP_STORE) {
      s->vectors += s->times * access(s->info, stm->u.store.mem, stm->u.store.index);
      s->items += s->times * s->items_share * LANES;
    }
    Costs inner = *s;
    bool loop = stm->kind == IMP_FOR || stm->kind == IMP_WHILE;
    if (loop) inner.times *= TRIPS;
    if (stm->kind == IMP_FOR && is_row_loop(stm)) inner.items_share /= LANES / 2.0;
    const ImpBlock *blocks[2];
    int count = imp_blocks(stm, blocks);
    for (int i = 0; i < count; i++)
      count_block(&inner, blocks[i]);
    s->items = inner.items;
    s->vectors = inner.vectors;
    s->loops = s->loops || inner.loops || loop;
  }
}

bool lanes_pay(const LaneInfo *info, const ImpStm *lanes, bool nested) {
  const ImpBlock *body = &lanes->u.lanes.body;
  Costs s = { .info = info, .times = 1, .items_share = 1, .loops = nested };
  ImpStm loop = { .kind = IMP_FOR,
                  .u.loop = { .var = lanes->u.lanes.lane, .body = *body } };
  if (nested && is_row_loop(&loop)) s.items_share /= LANES / 2.0;
  count_block(&s, body);
  return s.loops && 2 * s.vectors < s.items;
}

// ---- several rows and vectors

typedef struct Shared {
  const LaneInfo *info;
  bool lanes_only,
      others;  // loads in loops: the same in all rows; the same in all vectors of a row
  bool plain;
  int accumulators;
} Shared;

static void share_exp(void *state, const ImpExp *e) {
  Shared *s = state;
  if (is_library(e)) s->plain = false;
  if (e->kind == IMP_LOAD) {
    int depends = lanes_depends(s->info, e->u.load.index);
    if (depends == DEPENDS_LANE) s->lanes_only = true;
    if (!(depends & DEPENDS_LANE)) s->others = true;
    if (depends == (DEPENDS_LANE | DEPENDS_ROW)) s->plain = false;
  }
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    share_exp(state, operands[i]);
}

static void share_block(Shared *s, const ImpBlock *block, bool in_loop) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (in_loop) imp_each_exp(stm, share_exp, s);
    if (in_loop && stm->kind == IMP_ASSIGN) s->accumulators++;
    if (stm->kind == IMP_IF || stm->kind == IMP_WHILE || stm->kind == IMP_CHECK)
      s->plain = false;
    if (stm->kind == IMP_FOR) share_block(s, &stm->u.loop.body, true);
  }
}

bool lanes_share_reads(const LaneInfo *info, const ImpBlock *body) {
  Shared s = { .info = info, .plain = true };
  share_block(&s, body, false);
  return s.plain && s.lanes_only && s.others && s.accumulators == 1;
}
