#include "kern/cost/cost.h"
#include "kern/kern_ask.h"
#include "kern/records.h"
#include "kern/wide_lanes.h"
#include <math.h>

// Cycles, beside those of cost.h.
static const double call_cost = 40, round_cost = 1;
// A branch on all lanes, which the device's compiler moves nothing across; one on the first and the
// last lane (imp/lower/end_checks.c).
static const double check_of_lanes = 10, check_of_ends = 4;
// A round of a search by a point alone: half of its choices are foreseen wrongly.
static const double search_round = 8;
// Rounds of the last lane that leaves a loop, as parts of the mean; and of the last one that finds
// what it looks for: those of most points are few.  What further vectors add to that: the
// second one hardly anything, four a third.
static const double last_to_end = 1.5, last_to_find = 6, of_vectors = 0.04;
// The part of a round's latency that processors do not fill with what comes behind.
static const double waited_for = 0.75;
// A new row of the grid's runs, where rows are short.
static const double grid_row = 10;
static const double masking = 3, few_rounds = 64;
// The lanes of a vector as one number: shuffles and operations that wait for each other.
static const double end_of_vector = 12;

static void cost_block(Cost *s, const KernBlock *block);

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
    cost_count_access(s, &hist->dests[i], false);
    cost_count_access(s, &hist->dests[i], true);
  }
}

static void cost_hists(Cost *s, const Axis *axis) {
  for (int h = 0; h < axis->hist_count; h++) {
    if (s->count) count_hist(s, &axis->hists[h]);
    cost_add(s, (2 * SCALAR_ACCESS + 6) * axis->hists[h].op.count);
    if (kern_may_be_none(axis, h)) cost_add(s, NO_BIN);
    cost_block(s, axis->hists[h].op.block);
  }
}

static void cost_lock(Cost *s, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  Cost inner = *s;
  int width = (int)axis->width->u.constant.u.i;
  if (!s->vary) inner.vary = vary_stm(stm);
  AxisSet bit = vary_axis(inner.vary, axis);
  if (axis->bind == BIND_LANE && kern_is_wide(axis) &&
      !cost_is_plain(stm, inner.vary, false)) {
    inner.times *= width;  // a loop that stays one
    cost_add(&inner, round_cost);
  } else if (axis->bind == BIND_LANE) {
    inner.lanes = width;
  } else {
    inner.open |= bit;
    inner.copies[cost_bit(bit)] = width;
  }
  cost_block(&inner, axis->body);
  if (axis->role == AXIS_REDUCE)
    cost_ops(&inner, axis, axis->bind == BIND_LANE ? 6 : width - 1);
  if (axis->role == AXIS_SCAN) cost_ops(&inner, axis, 6);
  if (axis->role == AXIS_SCAN)
    cost_add(&inner, 10);  // one lane's sum goes to all of the next
  if (axis->after) cost_block(&inner, axis->after);
  s->cycles = inner.cycles;
}

// A body that runs so many times, one after the other: each round waits for the one before; points
// in registers wait together.
static void cost_rounds(Cost *s, const Var *const *params, int count,
                        const KernBlock *body, double trips) {
  enum {
    FORESEEN = 16,      // fewer rounds: processors begin with what comes behind them
    FOLLOWED_READ = 16  // what of a gather that the next one waits for nothing else hides
  };
  double before = s->cycles;
  cost_block(s, body);
  if (count == 0 || trips < FORESEEN) return;
  double enough = (s->cycles - before) / (s->times * waited_for);
  double waits = kern_round_latency(params, count, body, s->lanes > 0, enough);
  s->cycles = fmax(s->cycles, before + s->times * waited_for * waits);
  if (!s->lanes || !kern_follows_reads(params, count, body)) return;
  AxisSet set = 0;
  for (int i = 0; i < count; i++)
    set |= vary_var(s->vary, params[i]);
  s->cycles += s->times * cost_copies(s, set) * FOLLOWED_READ;
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
// a vector counts, nor half of one in a map that has others beside it: the points of a row alone
// might as well go in lanes, of which the last ones overlap.
static double speed_by_itself(const Cost *s, const Axis *axis, double trips) {
  double lanes = VECTOR_BYTES / widest(axis->body);
  if (axis->width->kind == TERM_CONST)
    while (lanes > trips)
      lanes /= 2;
  bool few = s->guess->trips < few_rounds && trips == s->guess->trips;
  double full = few ? floor(trips / lanes) * lanes : trips;
  bool halves = few && axis->role == AXIS_MAP && s->among_loops;
  double half = halves ? floor((trips - full) / (lanes / 2)) * (lanes / 2) : 0;
  double rounds =
      (full + 2 * half) / (lanes / (VECTOR_OP / SCALAR_OP)) + trips - full - half;
  return rounds > 0 ? trips / rounds : 1;
}

// Is it the innermost axis of the grid, and has few points?
static bool is_short_row(const Axis *axis) {
  const KernStm *first = axis->body->count ? axis->body->stms : NULL;
  bool inner = first && first->kind == KERN_AXIS && first->u.axis->bind == BIND_GRID;
  return axis->bind == BIND_GRID && !inner && axis->width->kind == TERM_CONST &&
         axis->width->u.constant.u.i < MOST_LANES;
}

// A vector or two of numbers, so that what it ends with counts; fewer are straight code.
static bool is_short_sum(const Axis *axis) {
  if (axis->role != AXIS_REDUCE || axis->width->kind != TERM_CONST) return false;
  int64_t count = axis->width->u.constant.u.i;
  return count >= MOST_LANES / 2 && count <= 2 * MOST_LANES;
}

static int loops_in(const KernBlock *block) {
  int count = 0;
  for (int i = 0; i < block->count; i++)
    count += block->stms[i].kind == KERN_AXIS;
  return count;
}

static void cost_seq(Cost *s, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  if (is_short_row(axis)) cost_add(s, grid_row);
  Cost inner = *s;
  if (axis->bind == BIND_GRID) inner.among_loops = loops_in(axis->body) > 1;
  inner.in_loop |= axis->bind != BIND_GRID;
  inner.aligned = axis->bulk;
  double trips = cost_trips(s, axis);
  inner.in_stream = axis->role == AXIS_LOOP && !cost_has_loop(axis->body);
  bool differs = cost_over_lanes(s, cost_set(s, axis->width));
  inner.times *= differs ? 1.5 * trips : trips;
  cost_put(s, axis->index, trips > 1 ? trips / 2 : 0);
  if (!s->lanes && !s->count && kern_vectorises_itself(stm)) {
    if (is_short_sum(axis)) inner.cycles += s->times * end_of_vector * axis->op_count;
    inner.cycles += s->times * trips * cost_picks(stm) / VECTOR_BYTES;
    inner.times /= speed_by_itself(s, axis, trips);
  }
  if (axis->bind != BIND_GRID) cost_add(&inner, round_cost + (differs ? masking : 0));
  if (axis->role == AXIS_LOOP && !s->lanes &&
      kern_searches(axis->params, axis->param_count, axis->body))
    cost_add(&inner, search_round);
  int carried = axis->role == AXIS_LOOP ? axis->param_count : 0;
  cost_rounds(&inner, axis->params, carried, axis->body, trips);
  cost_ops(&inner, axis, 1);
  cost_hists(&inner, axis);
  if (axis->after) cost_block(&inner, axis->after);
  s->cycles = inner.cycles;
}

static void note_axis(const Cost *s, Name axis, double cycles) {
  double *known = map_get(s->of_axes, axis);
  if (known)
    *known += cycles;
  else
    map_put(s->of_axes, axis, mem_copy(&cycles, sizeof cycles));
}

static void cost_axis(Cost *s, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  double before = s->cycles;
  if (axis->bind == BIND_LANE || axis->bind == BIND_REG)
    cost_lock(s, stm);
  else
    cost_seq(s, stm);
  if (s->of_axes) note_axis(s, axis->name, s->cycles - before);
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
  if (!cost_over_lanes(s, cost_set(s, t))) return true;
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
  bool differs = cost_over_lanes(s, cost_set(s, stm->u.cond.condition));
  cost_term(s, stm->u.cond.condition);
  cost_add(s, differs ? masking * side_count(stm) : 1);
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

// How many rounds lanes go through, for each round of a point in the mean.  Of searches by halves
// all have as many; of others the last one of two vectors, or of four, comes later than of one.
static double rounds_of_lanes(Cost *s, const KernStm *stm, AxisSet going, bool searches) {
  double more = cost_copies(s, going) - 1,
         apart = searches ? 0 : of_vectors * more * more;
  if (!cost_over_lanes(s, going)) return 1;
  return (kern_tries(s->vary, stm) ? last_to_find : last_to_end) * (1 + apart);
}

static void cost_while(Cost *s, const KernStm *stm) {
  int count = stm->u.loop.param_count;
  AxisSet going = vary_var(s->vary, stm->u.loop.params[stm->u.loop.which]);
  bool differs = cost_over_lanes(s, going),
       searches = kern_searches(stm->u.loop.params, count, stm->u.loop.body);
  Cost inner = *s;
  inner.times *= s->guess->trips * rounds_of_lanes(s, stm, going, searches);
  inner.bounded |= differs;
  cost_add(&inner, round_cost + (differs ? masking : 0));
  if (!s->lanes && searches) cost_add(&inner, search_round);
  cost_rounds(&inner, stm->u.loop.params, count, stm->u.loop.body, s->guess->trips);
  s->cycles = inner.cycles;
}

static void cost_let(Cost *s, const KernStm *stm) {
  const Var *var = stm->binders[0];
  cost_term(s, stm->u.term);
  if (var == s->guess->length)
    cost_put(s, var, CHUNK_TRIPS);
  else if (s->usual && map_has(s->usual, var))
    cost_put(s, var, s->guess->trips);
  else if (cost_stays_unknown(s, stm->u.term))
    return;
  else if (stm->u.term->type == PRIM_I64 && stm->u.term->kind != TERM_CONVERT)
    cost_put(s, var, cost_value(s, stm->u.term));
  if (stm->u.term->type == PRIM_BOOL && is_by_index(s, stm->u.term))
    map_put(s->by_index, var, stm);
}

static void cost_load(Cost *s, const KernStm *stm) {
  const Access *access = &stm->u.load;
  if (s->count) cost_count_access(s, access, false);
  const double *beside = map_get(s->beside, stm->binders[0]);
  if (beside)
    cost_add(s, *beside * cost_copies(s, cost_access_set(s, access)));
  else
    cost_access(s, access, 0, true);
}

// How many neighbours are stored together, if they are whole records; else 0.
static int64_t few_stored(const Cost *s, const Access *to) {
  int64_t n = cost_few_apart(s, to);
  return n <= TILE_HEIGHT ? n : 0;
}

static void cost_store(Cost *s, const KernStm *stm) {
  const Access *to = &stm->u.store.to;
  AxisSet value = cost_set(s, stm->u.store.value);
  if (s->count) cost_count_access(s, to, true);
  cost_term(s, stm->u.store.value);
  if (!map_has(s->beside, stm)) {
    cost_access(s, to, value, false);
    return;
  }
  int64_t whole = few_stored(s, to);
  double one = whole ? (VECTOR_ACCESS + VECTOR_OP * (double)whole) *
                           cost_vectors(s, to->tensor->elem)
                     : LANE_ACCESS * s->lanes / TILE_HEIGHT;
  cost_add(s, one * cost_copies(s, cost_access_set(s, to) | value));
}

// Do all numbers that it compares go from lane to lane by a constant?
static bool is_asked_at_ends(const Cost *s, const Term *condition) {
  const Term *const *args = condition->u.op.args;
  Affine a, b;
  if (condition->kind != TERM_OP) return false;
  if (condition->u.op.op == OP_LAND)
    return is_asked_at_ends(s, args[0]) && is_asked_at_ends(s, args[1]);
  bool compares = condition->u.op.op == OP_LT || condition->u.op.op == OP_LE;
  return compares && vary_affine(s->vary, args[0], &a) &&
         vary_affine(s->vary, args[1], &b) && a.step->kind == TERM_CONST &&
         b.step->kind == TERM_CONST;
}

static void cost_check(Cost *s, const Term *condition) {
  bool differs = cost_over_lanes(s, cost_set(s, condition));
  bool at_ends = differs && s->aligned && is_asked_at_ends(s, condition);
  cost_term(s, condition);
  cost_add(s, at_ends ? check_of_ends : differs ? check_of_lanes : 0.5);
}

static void cost_stm(Cost *s, const KernStm *stm) {
  switch (stm->kind) {
  case KERN_LET: cost_let(s, stm); return;
  case KERN_LOAD: cost_load(s, stm); return;
  case KERN_STORE: cost_store(s, stm); return;
  case KERN_ALLOC: return;
  case KERN_ROOM: cost_add(s, call_cost); return;
  case KERN_AXIS: cost_axis(s, stm); return;
  case KERN_IF: cost_if(s, stm); return;
  case KERN_WHILE: cost_while(s, stm); return;
  case KERN_CALL: cost_add(s, call_cost); return;
  case KERN_CHECK: cost_check(s, stm->u.check.condition); return;
  }
}

static int tile_loads(const RecordTile *tile) {
  int count = 0;
  for (int i = 0; i < MOST_APART; i++)
    count += tile->loads[i] >= 0;
  return count;
}

// Notes the loads of lanes that are apart which are made together.
static void note_record(Cost *s, const KernBlock *block, int at, bool *loaded) {
  const Access *access = &block->stms[at].u.load;
  int64_t apart = cost_few_apart(s, access);
  RecordTile tile;
  if (cost_vector_access(s, access) || !cost_is_affine(s, access) ||
      vary_tensor(s->vary, access->tensor) ||
      !(apart ? near_loads(block, at, loaded, (int)apart, &tile)
              : record_tile(block, at, loaded, &tile)))
    return;
  int count = tile_loads(&tile);
  double one = apart ? cost_apart(s, access, apart, count) / count
                     : LANE_ACCESS * s->lanes / TILE_HEIGHT;
  for (int i = 0; i < MOST_APART; i++) {
    if (tile.loads[i] < 0) continue;
    loaded[tile.loads[i]] = true;
    map_put(s->beside, block->stms[tile.loads[i]].binders[0], mem_copy(&one, sizeof one));
  }
}

// Notes the stores of lanes that are apart which together write whole vectors.
static void note_stores(Cost *s, const KernBlock *block, int at) {
  const Access *to = &block->stms[at].u.store.to;
  int64_t whole = few_stored(s, to), size = whole ? whole : TILE_HEIGHT;
  RecordStores stores;
  if (map_has(s->beside, &block->stms[at]) || cost_vector_access(s, to) ||
      !cost_is_affine(s, to) || !record_stores(block, at, (int)size, &stores))
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

static double total_cost(const Kern *kern, const CostGuess *guess, Map *of_axes,
                         KernCount *count) {
  Cost s = { .guess = guess,
             .times = 1,
             .in_place = guess->in_place,
             .values = map_new(NULL),
             .usual = kern->usual,
             .by_index = map_new(NULL),
             .beside = map_new(NULL),
             .of_axes = of_axes,
             .count = count,
             .counted = map_new(NULL) };
  cost_guess_sizes(&s);
  cost_block(&s, kern->body);
  map_clear(s.values);
  map_clear(s.by_index);
  map_clear(s.beside);
  map_clear(s.counted);
  return s.cycles;
}

static bool holds(const Cost *s, const Term *t) {
  if (t->kind != TERM_OP || op_arity(t->u.op.op) != 2) return true;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  if (t->u.op.op == OP_LAND) return holds(s, a) && holds(s, b);
  if (t->u.op.op == OP_LT) return cost_value(s, a) < cost_value(s, b);
  if (t->u.op.op == OP_LE) return cost_value(s, a) <= cost_value(s, b);
  return true;
}

bool kern_holds(const CostGuess *guess, const Term *condition) {
  Cost s = { .guess = guess, .values = map_new(NULL) };
  cost_guess_sizes(&s);
  bool it_holds = holds(&s, condition);
  map_clear(s.values);
  return it_holds;
}

double kern_cost(const Kern *kern, const CostGuess *guess) {
  return total_cost(kern, guess, NULL, NULL);
}

const KernCosts *kern_costs(const Kern *kern, const CostGuess *guess) {
  Map *of_axes = map_new(NULL);
  double all = total_cost(kern, guess, of_axes, NULL);
  return new_node(KernCosts, .all = all, .of_axes = of_axes);
}

KernCount kern_count(const Kern *naive, const CostGuess *guess) {
  KernCount count = { 0 };
  total_cost(naive, guess, NULL, &count);
  return count;
}
