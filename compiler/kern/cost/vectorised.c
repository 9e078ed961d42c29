// Would the device's own compiler run an axis in vectors?
#include "kern/cost/cost.h"
#include "kern/kern_ask.h"
#include "kern/wide_lanes.h"

typedef struct PlainCost {
  Cost cost;
  bool wide;
  bool plain;
  Map *loaded, *stored;  // memory: what is both is not told apart
  int operations[9];     // on numbers of so many bytes
  Map *apart;            // Tensor -> Apart *
} PlainCost;

// Loads of every second, third or fourth element; or stores of every second.
typedef struct Apart {
  int64_t elements;
  int accesses;
} Apart;

// But for indices.
static void count_width(PlainCost *p, const Term *t) {
  Affine a;
  PrimType type = t->u.op.operands;
  bool index = t->type == PRIM_I64 && vary_affine(p->cost.vary, t, &a);
  if (!index && type != PRIM_BOOL) p->operations[prim_size_bytes(type)]++;
}

// The device's compiler takes as many lanes as the widest numbers have in a vector, so that work on
// others is made in parts of vectors.
static bool is_of_one_width(const PlainCost *p) {
  enum { FEW = 4 };
  int narrow = 0, widest = 8;
  while (widest > 1 && !p->operations[widest])
    widest--;
  for (int bytes = 1; bytes < widest; bytes++)
    narrow += p->operations[bytes];
  return narrow < FEW;
}

// A multiplication and shifts, which vectors have of 32 bits at most, and the device's compiler
// takes by itself of 16.
static bool is_small_division(const PlainCost *p, const Term *t) {
  return cost_by_constant(t) && prim_bits(t->u.op.operands) <= (p->wide ? 32 : 16);
}

// To and from f16 there are instructions, which the device's compiler takes for calls.
static bool is_half(const Term *t) {
  return (t->kind == TERM_OP && t->u.op.operands == PRIM_F16) ||
         (t->kind == TERM_CONVERT && (t->type == PRIM_F16 || t->u.arg->type == PRIM_F16));
}

static void plain_term(KernVisitor *v, const Term *t) {
  PlainCost *p = v->state;
  const Term *operands[3];
  int count = term_operands(t, operands);
  if (is_half(t)) p->plain = false;
  if (t->kind == TERM_OP &&
      (op_cost(t->u.op.op, t->u.op.operands) == COST_LIBRARY ||
       !op_vector(t->u.op.op, t->u.op.operands) ||
       (op_may_trap(t->u.op.op, t->u.op.operands) && !is_small_division(p, t))))
    p->plain = false;
  if (t->kind == TERM_OP) count_width(p, t);
  for (int i = 0; i < count; i++)
    plain_term(v, operands[i]);
}

// Every nth element is plain if those between are loaded or stored as well: then whole vectors are.
// Stores of more, and of wide numbers, are quicker joined in registers by lanes of ours.
static bool note_apart(PlainCost *p, const Access *access, bool stores) {
  int64_t elements = cost_few_apart(&p->cost, access);
  if (stores && (elements != 2 || prim_size_bytes(access->tensor->elem) > 2))
    return false;
  Apart *known = map_get(p->apart, access->tensor);
  if (!elements || elements > TILE_HEIGHT || (known && known->elements != elements))
    return false;
  if (!known) {
    known = new_node(Apart, .elements = elements);
    map_put(p->apart, access->tensor, known);
  }
  known->accesses++;
  return true;
}

static void see_apart(void *state, const void *tensor, void *value) {
  PlainCost *p = state;
  const Apart *apart = value;
  (void)tensor;
  if (apart->accesses % apart->elements != 0) p->plain = false;
}

// What is loaded from must not be stored to; wide lanes tell the places of a ring apart.
static const void *memory_apart(const PlainCost *p, const Access *access) {
  bool place = access->tensor->ring && access->index[0]->kind == TERM_VAR;
  if (p->wide && place) return access->index[0]->u.var;
  return tensor_root(access->tensor);
}

static void plain_access(KernVisitor *v, Access access, bool stores) {
  PlainCost *p = v->state;
  AxisSet set = cost_access_set(&p->cost, &access);
  if (cost_over_lanes(&p->cost, set) && !cost_vector_access(&p->cost, &access) &&
      !note_apart(p, &access, stores))
    p->plain = false;
  if (stores && !cost_over_lanes(&p->cost, set)) p->plain = false;
  const void *memory = memory_apart(p, &access);
  map_put(stores ? p->stored : p->loaded, memory, memory);
  if (map_has(stores ? p->loaded : p->stored, memory)) p->plain = false;
}

// Nothing but scalars and accesses, which is seen at once: most axes are not so.
static bool is_straight_block(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    KernStmKind kind = block->stms[i].kind;
    if (kind == KERN_AXIS && block->stms[i].u.axis->bind == BIND_REG &&
        block->stms[i].u.axis->role == AXIS_MAP &&
        is_straight_block(block->stms[i].u.axis->body))
      continue;
    if (kind != KERN_LET && kind != KERN_LOAD && kind != KERN_STORE) return false;
  }
  return true;
}

bool cost_is_plain(const KernStm *stm, const Vary *vary, bool one_width) {
  PlainCost p = { .cost = { .vary = vary, .lanes = MOST_LANES },
                  .plain = is_straight_block(stm->u.axis->body),
                  .wide = !one_width,
                  .loaded = map_new(NULL),
                  .stored = map_new(NULL),
                  .apart = map_new(NULL) };
  KernVisitor v = { .term = plain_term, .access = plain_access, .state = &p };
  if (vary_refuses(vary) || !p.plain) return false;
  kern_visit_block(&v, stm->u.axis->body);
  for (int i = 0; i < stm->u.axis->op_count; i++)
    kern_visit_block(&v, stm->u.axis->ops[i].block);
  map_each(p.apart, see_apart, &p);
  return p.plain && (!one_width || is_of_one_width(&p));
}

bool kern_lanes_are_plain(const KernStm *stm) {
  return cost_is_plain(stm, vary_stm(stm), false);
}

static bool is_one_instruction(const KernOp *op) {
  if (op->count != 1 || op->block->count != 1 || op->block->stms[0].kind != KERN_LET)
    return false;
  const Term *t = op->block->stms[0].u.term;
  if (t->kind != TERM_OP) return false;
  PrimOp kind = t->u.op.op;
  bool least = kind == OP_MIN || kind == OP_MAX;
  if (least && prim_is_float(t->type)) return false;  // NaN: a comparison and a choice
  return least || kind == OP_ADD || kind == OP_MUL || kind == OP_AND || kind == OP_OR ||
         kind == OP_XOR;
}

static KernStm taken_as_lanes(const KernStm *stm) {
  Axis *axis = mem_copy(stm->u.axis, sizeof(Axis));
  axis->bind = BIND_LANE;
  axis->width = term_i64(MOST_LANES);
  KernStm lanes = *stm;
  lanes.u.axis = axis;
  return lanes;
}

bool kern_vectorises_itself(const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  if (axis->role != AXIS_MAP && axis->role != AXIS_REDUCE) return false;
  for (int i = 0; i < axis->op_count; i++)
    if (!is_one_instruction(&axis->ops[i])) return false;
  KernStm lanes = taken_as_lanes(stm);
  return is_straight_block(axis->body) && cost_is_plain(&lanes, vary_stm(&lanes), true);
}

static void see_picks(KernVisitor *v, Access access, bool stores) {
  PlainCost *p = v->state;
  (void)stores;
  int64_t apart = cost_few_apart(&p->cost, &access);
  if (apart) p->cost.cycles += cost_wide_picks(&access, apart);
}

double cost_picks(const KernStm *stm) {
  KernStm lanes = taken_as_lanes(stm);
  PlainCost p = { .cost = { .vary = vary_stm(&lanes), .lanes = MOST_LANES } };
  KernVisitor v = { .access = see_picks, .state = &p };
  kern_visit_block(&v, stm->u.axis->body);
  return p.cost.cycles * VECTOR_OP;
}
