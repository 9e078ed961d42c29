// Cycles of terms and of accesses (kern_cost.c).
#include "kern/cost/cost.h"
#include "kern/records.h"
#include "kern/wide_lanes.h"
#include <math.h>

static const double scalar_division = 8, scalar_library = 25;
static const double vector_division = 10, vector_library = 22;
// How many times as long a store takes where lanes store along rows of their own; and where these
// are more than one vector has: caches lose lines of so many before these are full.
static const double along_rows = 2, many_rows = 4;
// .. where they store to arrays of their own at places that the data tell: what is loaded next, of
// all lanes, waits for that, which points one after the other seldom do.
static const double at_own_places = 4;
// Lanes from any of two vectors.
static const double vector_pick = 1.2;

// ---- sizes

static double *number(double value) { return mem_copy(&value, sizeof value); }

void cost_put(Cost *s, const Var *var, double value) {
  map_put(s->values, var, number(value));
}

// A number of which nothing is known: as large as others, but not the same as they.
static bool is_unknown(const Cost *s, const Term *t) {
  return t->kind == TERM_VAR && !map_has(s->values, t->u.var);
}

static bool are_unknown(const Cost *s, const Term *t) {
  return is_unknown(s, t->u.op.args[0]) && is_unknown(s, t->u.op.args[1]);
}

static bool names_unknown(const Cost *s, const Term *a, const Term *b) {
  return is_unknown(s, a) && b->kind == TERM_VAR;
}

// Another such number: the difference of two, the lesser of one and what has a name.
bool cost_stays_unknown(const Cost *s, const Term *t) {
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2) return is_unknown(s, t);
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (t->u.op.op == OP_SUB) return are_unknown(s, t);
  bool either = t->u.op.op == OP_MIN || t->u.op.op == OP_MAX;
  return either && (names_unknown(s, a, b) || names_unknown(s, b, a));
}

static double value_of_op(const Cost *s, const Term *t) {
  double a = cost_value(s, t->u.op.args[0]);
  double b = op_arity(t->u.op.op) > 1 ? cost_value(s, t->u.op.args[1]) : 0;
  PrimOp op = t->u.op.op;
  if (op == OP_ADD) return a + b;
  if (op == OP_SUB) return are_unknown(s, t) ? s->guess->trips : a - b;
  if (op == OP_MUL) return a * b;
  if (op == OP_QUOT || op == OP_DIV) return b != 0 ? floor(a / b) : 0;
  if (op == OP_REM || op == OP_MOD) return b != 0 ? a - floor(a / b) * b : 0;
  if (op == OP_MIN) return fmin(a, b);
  if (op == OP_MAX) return fmax(a, b);
  return s->guess->trips;
}

double cost_value(const Cost *s, const Term *t) {
  const double *known = t->kind == TERM_VAR ? map_get(s->values, t->u.var) : NULL;
  if (known) return *known;
  if (t->kind == TERM_VAR && t->u.var == s->guess->few) return FEW_TRIPS;
  if (t->kind == TERM_CONST) return (double)t->u.constant.u.i;
  if (t->kind == TERM_OP && t->type == PRIM_I64) return value_of_op(s, t);
  if (t->kind == TERM_SELECT)
    return cost_value(s, t->u.select.a);  // steps put the usual first
  return s->guess->trips;
}

// A width below 0 is one for which the guesses do not fit, and so is 0 where most points are.  What
// vectors leave is half of one in the mean: loops of 63 rounds are not slower than those of 64.
// What only the kernel counts is taken to be as much as there may be.
double cost_trips(const Cost *s, const Axis *axis) {
  const Term *width = axis->width;
  double trips = cost_value(s, width);
  if (axis->most && width->kind == TERM_VAR && !map_has(s->values, width->u.var))
    trips = fmin((double)axis->most, s->guess->length ? CHUNK_TRIPS : s->guess->trips);
  if (axis->rest && trips < MOST_LANES) trips = fmin(trips, MOST_LANES / 2.0);
  return trips < (axis->bulk ? 1 : 0) ? s->guess->trips : trips;
}

static void grid_size(Cost *s, const Term *t) {
  if (t->kind == TERM_VAR) cost_put(s, t->u.var, s->guess->points);
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    grid_size(s, operands[i]);
}

static void see_grid(KernVisitor *v, const KernStm *stm) {
  Cost *s = v->state;
  if (stm->kind != KERN_AXIS || stm->u.axis->bind != BIND_GRID) return;
  grid_size(s, stm->u.axis->width);
  s->has_grid = true;
}

static void find_loop(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS || stm->kind == KERN_WHILE) *(bool *)v->state = true;
}

bool cost_has_loop(const KernBlock *block) {
  bool found = false;
  KernVisitor v = { .stm = find_loop, .state = &found };
  kern_visit_block(&v, block);
  return found;
}

void cost_guess_sizes(Cost *s) {
  const KernBlock *body = s->guess->naive->body;
  KernVisitor v = { .stm = see_grid, .state = s };
  kern_visit_block(&v, body);
  if (s->has_grid) return;
  for (int i = 0; i < body->count; i++) {
    const Axis *axis = body->stms[i].kind == KERN_AXIS ? body->stms[i].u.axis : NULL;
    if (axis && axis->role != AXIS_MAP && axis->role != AXIS_LOOP &&
        cost_has_loop(axis->body))
      grid_size(s, axis->width);
  }
}

// ---- what runs once for several points

AxisSet cost_set(const Cost *s, const Term *t) {
  return s->vary ? vary_term(s->vary, t) : 0;
}

bool cost_over_lanes(const Cost *s, AxisSet set) {
  return s->lanes && set & vary_lanes(s->vary);
}

double cost_copies(const Cost *s, AxisSet set) {
  double copies = 1;
  for (int i = 0; i < 16; i++)
    if (set & s->open & 1u << i) copies *= s->copies[i];
  return copies;
}

void cost_add(Cost *s, double cycles) { s->cycles += s->times * cycles; }

double cost_vectors(const Cost *s, PrimType type) {
  int size = prim_size_bytes(type);
  if (type == PRIM_BOOL && s->lanes <= MOST_LANES) size = 4;
  double bytes = s->lanes * size;
  return bytes > VECTOR_BYTES ? bytes / VECTOR_BYTES : 1;
}

// ---- terms

// Of integers by a constant: shifts, or a few multiplications; those of 64 bits lane by lane.
static double division_cycles(const Cost *s, const Term *t, bool vector) {
  int64_t by = t->u.op.args[1]->u.constant.u.i;
  PrimType type = t->u.op.operands;
  if ((by & (by - 1)) == 0) return vector ? VECTOR_OP * cost_vectors(s, type) : SCALAR_OP;
  if (!vector) return 5 * SCALAR_OP;
  return prim_bits(type) == 64 ? 4 * s->lanes * SCALAR_OP
                               : 8 * VECTOR_OP * cost_vectors(s, type);
}

bool cost_by_constant(const Term *t) {
  const Term *by = t->u.op.args[1];
  return prim_is_int(t->u.op.operands) && op_arity(t->u.op.op) == 2 &&
         by->kind == TERM_CONST && by->u.constant.u.i > 0;
}

// Operands of f16 are widened, and the result is rounded.
static double half_cycles(const Cost *s, const Term *t, bool vector) {
  if (t->u.op.operands != PRIM_F16) return 0;
  int conversions = op_arity(t->u.op.op) + (t->type == PRIM_F16);
  return conversions * (vector ? VECTOR_OP * cost_vectors(s, PRIM_F32) : SCALAR_OP);
}

static double op_cycles(const Cost *s, const Term *t, bool vector) {
  PrimOp op = t->u.op.op;
  PrimType type = t->u.op.operands;
  OpCost cost = op_cost(op, type);
  if (cost == COST_DIVISION && cost_by_constant(t)) return division_cycles(s, t, vector);
  bool divides = cost == COST_DIVISION && prim_is_int(type);
  bool by_lanes = vector && (!op_vector(op, type) || (divides && prim_bits(type) == 64));
  double scalar = cost == COST_CHEAP      ? SCALAR_OP
                  : cost == COST_DIVISION ? scalar_division
                                          : scalar_library;
  if (!vector) return scalar;
  if (by_lanes) return s->lanes * (scalar + 1);
  if (divides) return (vector_division + 4 * VECTOR_OP) * cost_vectors(s, PRIM_F64);
  double one = cost == COST_CHEAP      ? VECTOR_OP
               : cost == COST_DIVISION ? vector_division
                                       : vector_library;
  return one * cost_vectors(s, type);
}

static double term_cycles(const Cost *s, const Term *t) {
  Affine a;
  bool vector = cost_over_lanes(s, cost_set(s, t));
  if (vector && t->type == PRIM_I64 && vary_affine(s->vary, t, &a)) return 0;
  const Term *operands[3];
  double cycles = 0;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    cycles += term_cycles(s, operands[i]);
  if (t->kind == TERM_OP)
    return cycles + op_cycles(s, t, vector) + half_cycles(s, t, vector);
  bool whole =
      t->kind == TERM_CONVERT && prim_is_float(t->u.arg->type) && !prim_is_float(t->type);
  if (whole && !vector) return cycles + SCALAR_WHOLE;
  if (t->kind == TERM_CONVERT || t->kind == TERM_SELECT)
    return cycles + (vector ? VECTOR_OP * cost_vectors(s, t->type) : SCALAR_OP);
  return cycles;
}

static void count_term(const Cost *s, const Term *t) {
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    count_term(s, operands[i]);
  if (count == 0) return;
  double one = VECTOR_OP;
  if (t->kind == TERM_OP) {
    OpCost cost = op_cost(t->u.op.op, t->u.op.operands);
    if (cost != COST_CHEAP)
      one = cost == COST_DIVISION ? vector_division : vector_library;
  }
  s->count->operations += s->times;
  s->count->least += s->times * one * prim_size_bytes(t->type) / VECTOR_BYTES;
}

void cost_term(Cost *s, const Term *t) {
  if (s->count) count_term(s, t);
  cost_add(s, term_cycles(s, t) * cost_copies(s, cost_set(s, t)));
}

// ---- accesses

int cost_bit(AxisSet bit) {
  int i = 0;
  while (!(bit >> i & 1))
    i++;
  return i;
}

AxisSet cost_access_set(const Cost *s, const Access *access) {
  AxisSet set = s->vary ? vary_tensor(s->vary, access->tensor) : 0;
  for (int i = 0; i < access->tensor->rank; i++)
    set |= cost_set(s, access->index[i]);
  return set;
}

bool cost_vector_access(const Cost *s, const Access *access) {
  int unit = tensor_unit_dim(access->tensor);
  bool own = cost_over_lanes(s, vary_tensor(s->vary, access->tensor));
  for (int i = 0; i < access->tensor->rank; i++) {
    Affine a;
    if (!vary_affine(s->vary, access->index[i], &a)) return false;
    if (term_is_i64(a.step, 0)) continue;
    if (own || i != unit || !term_is_i64(a.step, 1)) return false;
  }
  return true;
}

bool cost_is_affine(const Cost *s, const Access *access) {
  for (int i = 0; i < access->tensor->rank; i++) {
    Affine a;
    if (!vary_affine(s->vary, access->index[i], &a)) return false;
  }
  return true;
}

// Lanes apart, but neighbours in registers: whole pieces are loaded, and transposed.
static bool is_tile_access(const Cost *s, const Access *access, AxisSet set) {
  AxisSet regs = set & s->open;
  if (!regs || regs & (regs - 1) || s->copies[cost_bit(regs)] != TILE_HEIGHT || s->masked)
    return false;
  return cost_is_affine(s, access) && vary_neighbours(s->vary, access, regs);
}

// How many elements the lanes are apart in memory, if that is known; else 0.
static int64_t known_apart(const Cost *s, const Access *access) {
  const Term *apart = term_i64(0), *row = term_i64(1);
  if (s->masked || access->tensor->order || vary_tensor(s->vary, access->tensor))
    return 0;
  for (int i = access->tensor->rank - 1; i >= 0; i--) {
    Affine a;
    if (!vary_affine(s->vary, access->index[i], &a)) return 0;
    apart = term_add(apart, term_mul(a.step, row));
    row = term_mul(row, access->tensor->dims[i]);
  }
  return apart->kind == TERM_CONST ? apart->u.constant.u.i : 0;
}

int64_t cost_few_apart(const Cost *s, const Access *access) {
  int64_t n = known_apart(s, access);
  return is_few_apart(n, access->tensor->elem) ? n : 0;
}

// Those of powers of two share the first steps.
static double picks_of(int64_t apart, int loads) {
  double picks = 0;
  if (apart & (apart - 1)) return (double)(apart - 1) * loads;
  for (int64_t pieces = apart / 2, parts = 2; pieces; pieces /= 2, parts *= 2)
    picks += (double)(pieces * (loads < parts ? loads : parts));
  return picks;
}

double cost_apart(const Cost *s, const Access *access, int64_t apart, int loads) {
  double picks = picks_of(apart, loads);
  if (apart >= 4 && 2 * loads > apart && s->lanes == MOST_LANES &&
      prim_size_bytes(access->tensor->elem) == 1)  // turned by lines of 64 bytes
    return (double)apart / 4 * (VECTOR_ACCESS + (apart > 8 ? 3 : 1) * vector_pick) +
           (double)apart * vector_pick;
  return ((double)apart * VECTOR_ACCESS + picks * vector_pick) *
         cost_vectors(s, access->tensor->elem);
}

double cost_wide_picks(const Access *access, int64_t apart) {
  return prim_size_bytes(access->tensor->elem) == 1 && apart == 4 ? 60 : 1;
}

static double access_cycles(const Cost *s, const Access *access, AxisSet set, bool load) {
  if (!cost_over_lanes(s, set)) return SCALAR_ACCESS;
  double by_lanes = (s->bounded ? 2 : 1) * LANE_ACCESS * s->lanes;
  if (!cost_vector_access(s, access)) {
    int64_t apart = cost_few_apart(s, access);
    if (apart > TILE_HEIGHT) apart = 0;
    if (apart && s->lanes > MOST_LANES)  // others have the rest of these vectors
      return (VECTOR_ACCESS + VECTOR_OP * cost_wide_picks(access, apart)) *
             cost_vectors(s, access->tensor->elem);
    if (apart && load) return cost_apart(s, access, apart, 1);
    if (load && known_apart(s, access) == -1)
      return (VECTOR_ACCESS + vector_pick) * cost_vectors(s, access->tensor->elem);
    return load && is_tile_access(s, access, set) ? by_lanes / TILE_HEIGHT : by_lanes;
  }
  double whole = VECTOR_ACCESS * cost_vectors(s, access->tensor->elem);
  if (s->at_edge) whole += by_lanes * fmin(s->lanes / s->guess->trips, 1);
  return s->masked ? (whole + by_lanes) / 2 : whole;
}

void cost_count_access(const Cost *s, const Access *access, bool stores) {
  const Tensor *root = tensor_root(access->tensor);
  double size = prim_size_bytes(root->elem), bytes = size;
  *(stores ? &s->count->written : &s->count->read) += s->times * size;
  if (root->space != TENSOR_GLOBAL || map_has(s->counted, root)) return;
  map_put(s->counted, root, root);
  for (int i = 0; i < root->rank; i++)
    bytes *= cost_value(s, root->dims[i]);
  s->count->arrays += bytes;
}

// The rows that lanes and registers store to.
static double rows_of_store(const Cost *s, const Access *access, AxisSet set) {
  double rows = s->lanes;
  for (int i = 0; i < 16; i++)
    if (set & s->open & 1u << i && !vary_neighbours(s->vary, access, 1u << i))
      rows *= s->copies[i];
  return rows;
}

// How many times as much a store costs as lanes one by one, in loops that go along rows in order.
static double cost_along_rows(const Cost *s, const Access *access, AxisSet set) {
  bool along = s->in_stream && tensor_root(access->tensor)->space == TENSOR_GLOBAL &&
               cost_over_lanes(s, set) && !cost_vector_access(s, access) &&
               cost_is_affine(s, access);
  if (!along) return 1;
  return rows_of_store(s, access, set) > MOST_LANES ? many_rows : along_rows;
}

static double cost_store_places(const Cost *s, const Access *access, AxisSet set) {
  bool own = s->lanes && cost_over_lanes(s, vary_tensor(s->vary, access->tensor));
  if (own && !cost_is_affine(s, access)) return at_own_places;
  return cost_along_rows(s, access, set);
}

void cost_access(Cost *s, const Access *access, AxisSet value, bool load) {
  AxisSet set = cost_access_set(s, access) | value;
  double cycles = access_cycles(s, access, set, load) * cost_copies(s, set);
  cost_add(s, load ? cycles : cycles * cost_store_places(s, access, set));
  for (int i = 0; i < access->tensor->rank; i++)
    cost_term(s, access->index[i]);
}
