#include "kern/kern_cost.h"
#include "kern/records.h"
#include "kern/step.h"
#include "kern/wide_lanes.h"
#include <math.h>

// Cycles, on a processor with vectors of 64 bytes.
static const double SCALAR_OP = 0.5, SCALAR_DIVISION = 8, SCALAR_LIBRARY = 25, CALL = 40;
static const double VECTOR_OP = 0.6, VECTOR_DIVISION = 10, VECTOR_LIBRARY = 22;
static const double SCALAR_ACCESS = 0.5, VECTOR_ACCESS = 1, LANE_ACCESS = 1.5, ROUND = 1;
// Lanes from any of two vectors.
static const double VECTOR_PICK = 1.2;
// A branch on all lanes, which the device's compiler moves nothing across.
static const double CHECK_OF_LANES = 10;
// A round of a search by a point alone: half of its choices are foreseen wrongly.
static const double SEARCH_ROUND = 8;
// Rounds of the last lane that leaves a loop, as parts of the mean; and of the last one that finds
// what it looks for: those of most points are few.
static const double LAST_TO_END = 1.5, LAST_TO_FIND = 4;
// The part of a round's latency that processors do not fill with what comes behind.
static const double WAITED_FOR = 0.75;
// A new row of the grid's runs, where rows are short.
static const double GRID_ROW = 10;
static const double MASKING = 3, VECTOR_BYTES = 64, FEW_ROUNDS = 64;

typedef struct Cost {
  const CostGuess *guess;
  const Vary *vary;
  int lanes;      // of the open lane axis
  bool masked;    // some lanes do not take part, in most vectors
  bool in_place;  // blocks end with a bound: no point may run twice
  bool bounded;   // under the bound of blocks: what goes lane by lane asks each of them
  bool in_loop;   // and not on the grid alone
  bool at_edge;   // some lanes do not take part in a vector of the loop
  double copies[16];  // of open register axes, by bit
  AxisSet open;
  Map *values;       // Var -> const double *: what sizes and indices may be
  const Map *usual;  // Kern.usual
  // Var -> const double *: cycles of a load with others; or KernStm: a store with others
  Map *beside;
  Map *by_index;  // Var: bools that indices decide, for most vectors alike in all lanes
  double times;   // that this code runs
  Name watched;   // an axis, and what it costs
  double *of_watched;
  double cycles;
  KernCount *count;  // of a kernel without lanes and registers; or NULL
  Map *counted;      // root tensors, whose bytes are counted
} Cost;

static void cost_block(Cost *s, const KernBlock *block);

// ---- sizes

static double *number(double value) { return mem_copy(&value, sizeof value); }

static void put_value(Cost *s, const Var *var, double value) {
  map_put(s->values, var, number(value));
}

static double value_of(const Cost *s, const Term *t);

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
static bool stays_unknown(const Cost *s, const Term *t) {
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2) return is_unknown(s, t);
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (t->u.op.op == OP_SUB) return are_unknown(s, t);
  bool either = t->u.op.op == OP_MIN || t->u.op.op == OP_MAX;
  return either && (names_unknown(s, a, b) || names_unknown(s, b, a));
}

static double value_of_op(const Cost *s, const Term *t) {
  double a = value_of(s, t->u.op.args[0]);
  double b = op_arity(t->u.op.op) > 1 ? value_of(s, t->u.op.args[1]) : 0;
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

// What an i64 may be; variables that nothing is known of are as large as the guess says.
static double value_of(const Cost *s, const Term *t) {
  const double *known = t->kind == TERM_VAR ? map_get(s->values, t->u.var) : NULL;
  if (known) return *known;
  if (t->kind == TERM_CONST) return (double)t->u.constant.u.i;
  if (t->kind == TERM_OP && t->type == PRIM_I64) return value_of_op(s, t);
  if (t->kind == TERM_SELECT)
    return value_of(s, t->u.select.a);  // steps put the usual first
  return s->guess->trips;
}

// A width below 0 is one for which the guesses do not fit.  What vectors leave is half of one in
// the mean: loops of 63 rounds are not slower than those of 64.
static double trips_of(const Cost *s, const Axis *axis) {
  double trips = value_of(s, axis->width);
  if (axis->rest && trips < MOST_LANES) trips = fmin(trips, MOST_LANES / 2.0);
  return trips < 0 ? s->guess->trips : trips;
}

static void grid_size(Cost *s, const Term *t) {
  if (t->kind == TERM_VAR) put_value(s, t->u.var, s->guess->points);
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    grid_size(s, operands[i]);
}

static void see_grid(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_GRID)
    grid_size(v->state, stm->u.axis->width);
}

// ---- what runs once for several points

static AxisSet set_of(const Cost *s, const Term *t) {
  return s->vary ? vary_term(s->vary, t) : 0;
}

static bool over_lanes(const Cost *s, AxisSet set) {
  return s->lanes && set & vary_lanes(s->vary);
}

static double copies_of(const Cost *s, AxisSet set) {
  double copies = 1;
  for (int i = 0; i < 16; i++)
    if (set & s->open & 1u << i) copies *= s->copies[i];
  return copies;
}

static void add(Cost *s, double cycles) { s->cycles += s->times * cycles; }

static double vectors(const Cost *s, PrimType type) {
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
  if ((by & (by - 1)) == 0) return vector ? VECTOR_OP * vectors(s, type) : SCALAR_OP;
  if (!vector) return 5 * SCALAR_OP;
  return prim_bits(type) == 64 ? 4 * s->lanes * SCALAR_OP
                               : 8 * VECTOR_OP * vectors(s, type);
}

static bool is_by_constant(const Term *t) {
  const Term *by = t->u.op.args[1];
  return prim_is_int(t->u.op.operands) && op_arity(t->u.op.op) == 2 &&
         by->kind == TERM_CONST && by->u.constant.u.i > 0;
}

static double op_cycles(const Cost *s, const Term *t, bool vector) {
  PrimOp op = t->u.op.op;
  PrimType type = t->u.op.operands;
  OpCost cost = op_cost(op, type);
  if (cost == COST_DIVISION && is_by_constant(t)) return division_cycles(s, t, vector);
  bool divides = cost == COST_DIVISION && prim_is_int(type);
  bool by_lanes = vector && (!op_vector(op, type) || (divides && prim_bits(type) == 64));
  double scalar = cost == COST_CHEAP      ? SCALAR_OP
                  : cost == COST_DIVISION ? SCALAR_DIVISION
                                          : SCALAR_LIBRARY;
  if (!vector) return scalar;
  if (by_lanes) return s->lanes * (scalar + 1);
  if (divides) return (VECTOR_DIVISION + 4 * VECTOR_OP) * vectors(s, PRIM_F64);
  double one = cost == COST_CHEAP      ? VECTOR_OP
               : cost == COST_DIVISION ? VECTOR_DIVISION
                                       : VECTOR_LIBRARY;
  return one * vectors(s, type);
}

static double term_cycles(const Cost *s, const Term *t) {
  Affine a;
  bool vector = over_lanes(s, set_of(s, t));
  if (vector && t->type == PRIM_I64 && vary_affine(s->vary, t, &a)) return 0;
  const Term *operands[3];
  double cycles = 0;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    cycles += term_cycles(s, operands[i]);
  if (t->kind == TERM_OP) return cycles + op_cycles(s, t, vector);
  if (t->kind == TERM_CONVERT || t->kind == TERM_SELECT)
    return cycles + (vector ? VECTOR_OP * vectors(s, t->type) : SCALAR_OP);
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
      one = cost == COST_DIVISION ? VECTOR_DIVISION : VECTOR_LIBRARY;
  }
  s->count->operations += s->times;
  s->count->least += s->times * one * prim_size_bytes(t->type) / VECTOR_BYTES;
}

static void cost_term(Cost *s, const Term *t) {
  if (s->count) count_term(s, t);
  add(s, term_cycles(s, t) * copies_of(s, set_of(s, t)));
}

// ---- accesses

static int bit_number(AxisSet bit) {
  int i = 0;
  while (!(bit >> i & 1))
    i++;
  return i;
}

static AxisSet access_set(const Cost *s, const Access *access) {
  AxisSet set = s->vary ? vary_tensor(s->vary, access->tensor) : 0;
  for (int i = 0; i < access->tensor->rank; i++)
    set |= set_of(s, access->index[i]);
  return set;
}

// Are the lanes neighbours in memory, or each lane's own elements side by side?
static bool is_vector_access(const Cost *s, const Access *access) {
  int unit = tensor_unit_dim(access->tensor);
  bool own = over_lanes(s, vary_tensor(s->vary, access->tensor));
  for (int i = 0; i < access->tensor->rank; i++) {
    Affine a;
    if (!vary_affine(s->vary, access->index[i], &a)) return false;
    if (term_is_i64(a.step, 0)) continue;
    if (own || i != unit || !term_is_i64(a.step, 1)) return false;
  }
  return true;
}

static bool is_affine(const Cost *s, const Access *access) {
  for (int i = 0; i < access->tensor->rank; i++) {
    Affine a;
    if (!vary_affine(s->vary, access->index[i], &a)) return false;
  }
  return true;
}

// Lanes apart, but neighbours in registers: whole pieces are loaded, and transposed.
static bool is_tile_access(const Cost *s, const Access *access, AxisSet set) {
  AxisSet regs = set & s->open;
  if (!regs || regs & (regs - 1) || s->copies[bit_number(regs)] != TILE_HEIGHT ||
      s->masked)
    return false;
  return is_affine(s, access) && vary_neighbours(s->vary, access, regs);
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

// If they are so few that neighbours are loaded and picked from; else 0.
static int64_t few_apart(const Cost *s, const Access *access) {
  int64_t n = known_apart(s, access);
  return n >= 2 && n <= MOST_APART ? n : 0;
}

// Of so many loads that pick from the same vectors.
static double apart_cycles(const Cost *s, const Access *access, int64_t apart,
                           int loads) {
  double picks = (double)(apart - 1) * loads;
  if (apart == 4 && loads > 1)
    picks = 4 + loads;  // in two steps, of which they share one
  return ((double)apart * VECTOR_ACCESS + picks * VECTOR_PICK) *
         vectors(s, access->tensor->elem);
}

static double access_cycles(const Cost *s, const Access *access, AxisSet set, bool load) {
  if (!over_lanes(s, set)) return SCALAR_ACCESS;
  double by_lanes = (s->bounded ? 2 : 1) * LANE_ACCESS * s->lanes;
  if (!is_vector_access(s, access)) {
    int64_t apart = load ? few_apart(s, access) : 0;
    if (apart && s->lanes > MOST_LANES)  // others load the rest of these vectors
      return (VECTOR_ACCESS + VECTOR_OP) * vectors(s, access->tensor->elem);
    if (apart) return apart_cycles(s, access, apart, 1);
    if (load && known_apart(s, access) == -1)
      return (VECTOR_ACCESS + VECTOR_PICK) * vectors(s, access->tensor->elem);
    return load && is_tile_access(s, access, set) ? by_lanes / TILE_HEIGHT : by_lanes;
  }
  double whole = VECTOR_ACCESS * vectors(s, access->tensor->elem);
  if (s->at_edge) whole += by_lanes * fmin(s->lanes / s->guess->trips, 1);
  return s->masked ? (whole + by_lanes) / 2 : whole;
}

static void count_access(const Cost *s, const Access *access, bool stores) {
  const Tensor *root = tensor_root(access->tensor);
  double size = prim_size_bytes(root->elem), bytes = size;
  *(stores ? &s->count->written : &s->count->read) += s->times * size;
  if (root->space != TENSOR_GLOBAL || map_has(s->counted, root)) return;
  map_put(s->counted, root, root);
  for (int i = 0; i < root->rank; i++)
    bytes *= value_of(s, root->dims[i]);
  s->count->arrays += bytes;
}

static void cost_access(Cost *s, const Access *access, AxisSet value, bool load) {
  AxisSet set = access_set(s, access) | value;
  add(s, access_cycles(s, access, set, load) * copies_of(s, set));
  for (int i = 0; i < access->tensor->rank; i++)
    cost_term(s, access->index[i]);
}

// ---- axes

static void cost_ops(Cost *s, const Axis *axis, double times) {
  for (int i = 0; i < axis->op_count; i++) {
    Cost inner = *s;
    inner.times *= times;
    cost_block(&inner, axis->ops[i].block);
    s->cycles = inner.cycles;
  }
}

static void count_hist(const Cost *s, const KernHist *hist) {
  for (int i = 0; i < hist->op.count; i++) {
    count_access(s, &hist->dests[i], false);
    count_access(s, &hist->dests[i], true);
  }
}

static void cost_hists(Cost *s, const Axis *axis) {
  for (int h = 0; h < axis->hist_count; h++) {
    if (s->count) count_hist(s, &axis->hists[h]);
    add(s, (2 * SCALAR_ACCESS + 6) * axis->hists[h].op.count);
    cost_block(s, axis->hists[h].op.block);
  }
}

static bool is_plain(const KernStm *stm, const Vary *vary, bool one_width);

static void cost_lock(Cost *s, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  Cost inner = *s;
  int width = (int)axis->width->u.constant.u.i;
  if (!s->vary) inner.vary = vary_stm(stm);
  AxisSet bit = vary_axis(inner.vary, axis);
  if (axis->bind == BIND_LANE && kern_is_wide(axis) &&
      !is_plain(stm, inner.vary, false)) {
    inner.times *= width;  // a loop that stays one
    add(&inner, ROUND);
  } else if (axis->bind == BIND_LANE) {
    inner.lanes = width;
  } else {
    inner.open |= bit;
    inner.copies[bit_number(bit)] = width;
  }
  cost_block(&inner, axis->body);
  if (axis->role == AXIS_REDUCE)
    cost_ops(&inner, axis, axis->bind == BIND_LANE ? 6 : width - 1);
  if (axis->role == AXIS_SCAN) cost_ops(&inner, axis, 6);
  if (axis->role == AXIS_SCAN) add(&inner, 10);  // one lane's sum goes to all of the next
  if (axis->after) cost_block(&inner, axis->after);
  s->cycles = inner.cycles;
}

// A body that runs so many times, one after the other.  Of lanes each round waits for the one
// before; points in registers wait together.
static void cost_rounds(Cost *s, const Var *const *params, int count,
                        const KernBlock *body, double trips) {
  enum {
    FORESEEN = 16,      // fewer rounds: processors begin with what comes behind them
    FOLLOWED_READ = 16  // what of a gather that the next one waits for nothing else hides
  };
  double before = s->cycles;
  cost_block(s, body);
  if (!s->lanes || trips < FORESEEN) return;
  double least = s->times * WAITED_FOR * kern_round_latency(params, count, body);
  s->cycles = fmax(s->cycles, before + least);
  if (kern_follows_reads(params, count, body)) s->cycles += s->times * FOLLOWED_READ;
}

static double speed_by_itself(const Cost *s, const Axis *axis, double trips);

// Is it the innermost axis of the grid, and has few points?
static bool is_short_row(const Axis *axis) {
  const KernStm *first = axis->body->count ? axis->body->stms : NULL;
  bool inner = first && first->kind == KERN_AXIS && first->u.axis->bind == BIND_GRID;
  return axis->bind == BIND_GRID && !inner && axis->width->kind == TERM_CONST &&
         axis->width->u.constant.u.i < MOST_LANES;
}

static void cost_seq(Cost *s, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  if (is_short_row(axis)) add(s, GRID_ROW);
  Cost inner = *s;
  inner.in_loop |= axis->bind != BIND_GRID;
  double trips = trips_of(s, axis);
  bool differs = over_lanes(s, set_of(s, axis->width));
  inner.times *= differs ? 1.5 * trips : trips;
  put_value(s, axis->index, trips / 2);
  if (!s->lanes && !s->count && kern_vectorises_itself(stm))
    inner.times /= speed_by_itself(s, axis, trips);
  if (axis->bind != BIND_GRID) add(&inner, ROUND + (differs ? MASKING : 0));
  if (axis->role == AXIS_LOOP && !s->lanes &&
      kern_searches(axis->params, axis->param_count, axis->body))
    add(&inner, SEARCH_ROUND);
  int carried = axis->role == AXIS_LOOP ? axis->param_count : 0;
  cost_rounds(&inner, axis->params, carried, axis->body, trips);
  cost_ops(&inner, axis, 1);
  cost_hists(&inner, axis);
  if (axis->after) cost_block(&inner, axis->after);
  s->cycles = inner.cycles;
}

static void cost_axis(Cost *s, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  double before = s->cycles;
  if (axis->bind == BIND_LANE || axis->bind == BIND_REG)
    cost_lock(s, stm);
  else
    cost_seq(s, stm);
  if (axis->name == s->watched) *s->of_watched += s->cycles - before;
}

// ---- statements

static void cost_branch(Cost *s, const KernBlock *block, bool masked, double part) {
  Cost inner = *s;
  inner.times *= part;
  inner.masked |= masked;
  cost_block(&inner, block);
  s->cycles = inner.cycles;
}

static bool is_by_index(const Cost *s, const Term *t) {
  Affine a;
  if (!over_lanes(s, set_of(s, t))) return true;
  if (t->kind == TERM_VAR && t->type == PRIM_BOOL) return map_has(s->by_index, t->u.var);
  if (t->type == PRIM_I64) return vary_affine(s->vary, t, &a);
  const Term *operands[3];
  int count = t->kind == TERM_OP ? term_operands(t, operands) : 0;
  for (int i = 0; i < count; i++)
    if (!is_by_index(s, operands[i])) return false;
  return count > 0;
}

static int side_count(const KernStm *stm) {
  const KernBlock *a = stm->u.cond.then_block, *b = stm->u.cond.else_block;
  return (a->count + a->result_count > 0) + (b->count + b->result_count > 0);
}

static void cost_if(Cost *s, const KernStm *stm) {
  bool differs = over_lanes(s, set_of(s, stm->u.cond.condition));
  cost_term(s, stm->u.cond.condition);
  add(s, differs ? MASKING * side_count(stm) : 1);
  int usual = stm->u.cond.usual;
  double part = differs ? 1 : usual ? usual / 100.0 : 0.6;
  double other = differs ? 1 : usual ? 1 - part : 0.6;
  bool masked = differs && !is_by_index(s, stm->u.cond.condition);
  Cost inner = *s;
  inner.bounded |= differs && !masked && s->in_place;
  inner.at_edge |= differs && !masked && s->in_loop && s->lanes <= MOST_LANES;
  cost_branch(&inner, stm->u.cond.then_block, masked, part);
  cost_branch(&inner, stm->u.cond.else_block, masked, other);
  s->cycles = inner.cycles;
}

static void cost_while(Cost *s, const KernStm *stm) {
  bool differs = over_lanes(s, vary_var(s->vary, stm->u.loop.params[stm->u.loop.which]));
  bool tries = differs && kern_tries(s->vary, stm);
  Cost inner = *s;
  inner.times *= s->guess->trips * (tries ? LAST_TO_FIND : differs ? LAST_TO_END : 1);
  add(&inner, ROUND + (differs ? MASKING : 0));
  if (!s->lanes &&
      kern_searches(stm->u.loop.params, stm->u.loop.param_count, stm->u.loop.body))
    add(&inner, SEARCH_ROUND);
  cost_rounds(&inner, stm->u.loop.params, stm->u.loop.param_count, stm->u.loop.body,
              s->guess->trips);
  s->cycles = inner.cycles;
}

static void cost_let(Cost *s, const KernStm *stm) {
  const Var *var = stm->binders[0];
  cost_term(s, stm->u.term);
  if (var == s->guess->length)
    put_value(s, var, CHUNK_TRIPS);
  else if (s->usual && map_has(s->usual, var))
    put_value(s, var, s->guess->trips);
  else if (stays_unknown(s, stm->u.term))
    return;
  else if (stm->u.term->type == PRIM_I64 && stm->u.term->kind != TERM_CONVERT)
    put_value(s, var, value_of(s, stm->u.term));
  if (stm->u.term->type == PRIM_BOOL && is_by_index(s, stm->u.term))
    map_put(s->by_index, var, stm);
}

static void cost_load(Cost *s, const KernStm *stm) {
  const Access *access = &stm->u.load;
  if (s->count) count_access(s, access, false);
  const double *beside = map_get(s->beside, stm->binders[0]);
  if (beside)
    add(s, *beside * copies_of(s, access_set(s, access)));
  else
    cost_access(s, access, 0, true);
}

static void cost_store(Cost *s, const KernStm *stm) {
  const Access *to = &stm->u.store.to;
  AxisSet value = set_of(s, stm->u.store.value);
  if (s->count) count_access(s, to, true);
  cost_term(s, stm->u.store.value);
  if (!map_has(s->beside, stm)) {
    cost_access(s, to, value, false);
    return;
  }
  int64_t whole = few_apart(s, to);
  double one =
      whole ? (VECTOR_ACCESS + VECTOR_OP * (double)whole) * vectors(s, to->tensor->elem)
            : LANE_ACCESS * s->lanes / TILE_HEIGHT;
  add(s, one * copies_of(s, access_set(s, to) | value));
}

static void cost_stm(Cost *s, const KernStm *stm) {
  switch (stm->kind) {
  case KERN_LET: cost_let(s, stm); return;
  case KERN_LOAD: cost_load(s, stm); return;
  case KERN_STORE: cost_store(s, stm); return;
  case KERN_ALLOC: return;
  case KERN_ROOM: add(s, CALL); return;
  case KERN_AXIS: cost_axis(s, stm); return;
  case KERN_IF: cost_if(s, stm); return;
  case KERN_WHILE: cost_while(s, stm); return;
  case KERN_CALL: add(s, CALL); return;
  case KERN_CHECK:
    cost_term(s, stm->u.check.condition);
    add(s, over_lanes(s, set_of(s, stm->u.check.condition)) ? CHECK_OF_LANES : 0.5);
    return;
  }
}

static int tile_loads(const RecordTile *tile) {
  int count = 0;
  for (int i = 0; i < TILE_HEIGHT; i++)
    count += tile->loads[i] >= 0;
  return count;
}

// Notes the loads of lanes that are apart which are made together.
static void note_record(Cost *s, const KernBlock *block, int at, bool *loaded) {
  const Access *access = &block->stms[at].u.load;
  int64_t apart = few_apart(s, access);
  RecordTile tile;
  if (is_vector_access(s, access) || !is_affine(s, access) ||
      vary_tensor(s->vary, access->tensor) ||
      !(apart ? near_loads(block, at, loaded, (int)apart, &tile)
              : record_tile(block, at, loaded, &tile)))
    return;
  int count = tile_loads(&tile);
  double one = apart ? apart_cycles(s, access, apart, count) / count
                     : LANE_ACCESS * s->lanes / TILE_HEIGHT;
  for (int i = 0; i < TILE_HEIGHT; i++) {
    if (tile.loads[i] < 0) continue;
    loaded[tile.loads[i]] = true;
    map_put(s->beside, block->stms[tile.loads[i]].binders[0], number(one));
  }
}

// Notes the stores of lanes that are apart which together write whole vectors.
static void note_stores(Cost *s, const KernBlock *block, int at) {
  const Access *to = &block->stms[at].u.store.to;
  int64_t whole = few_apart(s, to), size = whole ? whole : TILE_HEIGHT;
  RecordStores stores;
  if (map_has(s->beside, &block->stms[at]) || is_vector_access(s, to) ||
      !is_affine(s, to) || !record_stores(block, at, (int)size, &stores))
    return;
  for (int i = 0; i < size; i++)
    map_put(s->beside, &block->stms[stores.stores[i]], s);
}

static void cost_block(Cost *s, const KernBlock *block) {
  bool lanes = s->lanes && s->lanes <= MOST_LANES && !s->masked;
  bool *loaded = lanes ? new_array(bool, block->count + 1) : NULL;
  for (int i = 0; i < block->count; i++) {
    if (lanes && block->stms[i].kind == KERN_LOAD && !loaded[i])
      note_record(s, block, i, loaded);
    if (lanes && block->stms[i].kind == KERN_STORE) note_stores(s, block, i);
    cost_stm(s, &block->stms[i]);
  }
}

static double total_cost(const Kern *kern, const CostGuess *guess, Name watched,
                         double *of_watched, KernCount *count) {
  Cost s = { .guess = guess,
             .times = 1,
             .in_place = step_updates_in_place(guess->naive->body),
             .values = map_new(NULL),
             .usual = kern->usual,
             .by_index = map_new(NULL),
             .beside = map_new(NULL),
             .watched = watched,
             .of_watched = of_watched,
             .count = count,
             .counted = map_new(NULL) };
  KernVisitor v = { .stm = see_grid, .state = &s };
  kern_visit_block(&v, guess->naive->body);
  cost_block(&s, kern->body);
  return s.cycles;
}

static bool holds(const Cost *s, const Term *t) {
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2) return true;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (t->u.op.op == OP_LAND) return holds(s, a) && holds(s, b);
  if (t->u.op.op == OP_LT) return value_of(s, a) < value_of(s, b);
  if (t->u.op.op == OP_LE) return value_of(s, a) <= value_of(s, b);
  return true;
}

bool kern_holds(const CostGuess *guess, const Term *condition) {
  Cost s = { .guess = guess, .values = map_new(NULL) };
  KernVisitor v = { .stm = see_grid, .state = &s };
  kern_visit_block(&v, guess->naive->body);
  return holds(&s, condition);
}

double kern_cost(const Kern *kern, const CostGuess *guess) {
  return total_cost(kern, guess, NULL, NULL, NULL);
}

double kern_axis_cost(const Kern *kern, const CostGuess *guess, Name axis) {
  double cycles = 0;
  total_cost(kern, guess, axis, &cycles, NULL);
  return cycles;
}

KernCount kern_count(const Kern *naive, const CostGuess *guess) {
  KernCount count = { 0 };
  total_cost(naive, guess, NULL, NULL, &count);
  return count;
}

// ---- loops that the device's compiler vectorises

typedef struct PlainCost {
  Cost cost;
  bool wide;
  bool plain;
  Map *loaded, *stored;  // memory: what is both is not told apart
  int operations[9];     // on numbers of so many bytes
  Map *apart;            // Tensor -> Apart *
} PlainCost;

// Loads of every second, third or fourth element.
typedef struct Apart {
  int64_t elements;
  int loads;
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
  return is_by_constant(t) && prim_bits(t->u.op.operands) <= (p->wide ? 32 : 16);
}

static void plain_term(KernVisitor *v, const Term *t) {
  PlainCost *p = v->state;
  const Term *operands[3];
  int count = term_operands(t, operands);
  if (t->kind == TERM_OP &&
      (op_cost(t->u.op.op, t->u.op.operands) == COST_LIBRARY ||
       !op_vector(t->u.op.op, t->u.op.operands) ||
       (op_may_trap(t->u.op.op, t->u.op.operands) && !is_small_division(p, t))))
    p->plain = false;
  if (t->kind == TERM_OP) count_width(p, t);
  for (int i = 0; i < count; i++)
    plain_term(v, operands[i]);
}

// Every nth element is plain if those between are loaded as well: then whole vectors are.
static bool note_apart(PlainCost *p, const Access *access, bool stores) {
  int64_t elements = stores ? 0 : few_apart(&p->cost, access);
  Apart *known = map_get(p->apart, access->tensor);
  if (!elements || (known && known->elements != elements)) return false;
  if (!known) {
    known = new_node(Apart, .elements = elements);
    map_put(p->apart, access->tensor, known);
  }
  known->loads++;
  return true;
}

static void see_apart(void *state, const void *tensor, void *value) {
  PlainCost *p = state;
  const Apart *apart = value;
  (void)tensor;
  if (apart->loads % apart->elements != 0) p->plain = false;
}

// What is loaded from must not be stored to; wide lanes tell the places of a ring apart.
static const void *memory_apart(const PlainCost *p, const Access *access) {
  bool place = access->tensor->ring && access->index[0]->kind == TERM_VAR;
  if (p->wide && place) return access->index[0]->u.var;
  return tensor_root(access->tensor);
}

static void plain_access(KernVisitor *v, Access access, bool stores) {
  PlainCost *p = v->state;
  AxisSet set = access_set(&p->cost, &access);
  if (over_lanes(&p->cost, set) && !is_vector_access(&p->cost, &access) &&
      !note_apart(p, &access, stores))
    p->plain = false;
  if (stores && !over_lanes(&p->cost, set)) p->plain = false;
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

// `one_width`: nor may work on numbers of fewer bytes be much.
static bool is_plain(const KernStm *stm, const Vary *vary, bool one_width) {
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
  return is_plain(stm, vary_stm(stm), false);
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

bool kern_vectorises_itself(const KernStm *stm) {
  const Axis *given = stm->u.axis;
  if (given->role != AXIS_MAP && given->role != AXIS_REDUCE) return false;
  for (int i = 0; i < given->op_count; i++)
    if (!is_one_instruction(&given->ops[i])) return false;
  Axis *axis = mem_copy(given, sizeof(Axis));
  axis->bind = BIND_LANE;
  axis->width = term_i64(16);
  KernStm lanes = *stm;
  lanes.u.axis = axis;
  return is_straight_block(given->body) && is_plain(&lanes, vary_stm(&lanes), true);
}

static int widest(const KernBlock *block) {
  int bytes = 1;
  for (int i = 0; i < block->count; i++)
    for (int k = 0; k < block->stms[i].binder_count; k++) {
      const Var *var = block->stms[i].binders[k];
      int own = var->type.elem == PRIM_I64 ? 1 : prim_size_bytes(var->type.elem);
      bytes = own > bytes ? own : bytes;
    }
  return bytes;
}

// How many times as fast the device's compiler makes the rounds; of short rows what does not fill
// a vector counts.
static double speed_by_itself(const Cost *s, const Axis *axis, double trips) {
  double lanes = VECTOR_BYTES / widest(axis->body);
  if (axis->width->kind == TERM_CONST)
    while (lanes > trips)
      lanes /= 2;
  bool few = s->guess->trips < FEW_ROUNDS && trips == s->guess->trips;
  double full = few ? floor(trips / lanes) * lanes : trips;
  double rounds = full / (lanes / (VECTOR_OP / SCALAR_OP)) + trips - full;
  return rounds > 0 ? trips / rounds : 1;
}
