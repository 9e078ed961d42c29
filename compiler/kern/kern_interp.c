#include "kern/kern_interp.h"
#include "base/mem.h"
#include <string.h>

// A seg-op and what it became.
typedef struct RunnerSeg {
  KernSeg seg;
  const KernPlan *plan;  // NULL: it has not run yet
} RunnerSeg;

struct KernRunner {
  Compiler *c;
  const Entry *entry;
  RecipeBook *book;
  Profile profile;
  Map *segs;     // Stm -> RunnerSeg
  Map *counts;   // Name -> int *: seg-ops of that kind
  Map *views;    // Var -> const View *
  Map *sizes;    // Var -> Var: those of the entry point
  Map *scalars;  // Var -> const Term *: how the host computes scalars
  Map *made;     // Var -> const Stm *: scalars and views
  // Scalars, by the number of their variable, and whether they have been set: views may mention
  // those of seg-ops that ran before.
  Prim *values;
  bool *met;
  int capacity;
};

// A block of memory.
typedef Value Block;

typedef struct KernRun {
  Compiler *c;
  InterpSeg *given;
  Prim *values;
  bool *met;
  Map *blocks;  // root Tensor -> Block *; arrays of the host by their variables
  const char *message;
  Loc loc;
} KernRun;

static bool run_block(KernRun *r, const KernBlock *block);

static bool kern_fails(KernRun *r, Loc loc, const char *message) {
  if (r->message) return false;
  r->message = message;
  r->loc = loc;
  return false;
}

// ---- values

static void set_var(KernRun *r, const Var *var, Prim value) {
  r->values[var->id] = value;
  r->met[var->id] = true;
}

static Prim var_value(const KernRun *r, const Var *var) {
  if (!r->met[var->id])
    bug(r->c, var->loc, "a kernel mentions %s_%d, which has no value", var->name,
        var->id);
  return r->values[var->id];
}

// Few items, and chunks that are small: so that there are chunks.  Of recipes the first.
static int64_t tuning_value(const char *name) {
  if (strstr(name, ".recipe") || strstr(name, "_points")) return 1;
  return strstr(name, "items") ? 3 : 4;
}

static Prim term_value(const KernRun *r, const Term *t);

static Prim op_value(const KernRun *r, const Term *t) {
  Prim args[3], out;
  for (int i = 0; i < op_arity(t->u.op.op); i++)
    args[i] = term_value(r, t->u.op.args[i]);
  // What traps is computed behind a check only, or nobody looks at it.
  return prim_apply(t->u.op.op, args, &out) ? out : prim_zero(t->type);
}

static Prim term_value(const KernRun *r, const Term *t) {
  switch (t->kind) {
  case TERM_VAR: return var_value(r, t->u.var);
  case TERM_CONST: return t->u.constant;
  case TERM_OP: return op_value(r, t);
  case TERM_CONVERT: return prim_convert(t->type, term_value(r, t->u.arg));
  case TERM_BITS: return prim_of_bits(t->type, prim_bits_of(term_value(r, t->u.arg)));
  case TERM_SELECT:
    return term_value(r, term_value(r, t->u.select.condition).u.i ? t->u.select.a
                                                                  : t->u.select.b);
  case TERM_TUNING: return prim_i64(tuning_value(t->u.tuning));
  }
  return prim_zero(t->type);
}

static int64_t int_value(const KernRun *r, const Term *t) { return term_value(r, t).u.i; }

static Prim *term_values(const KernRun *r, const Term *const *terms, int count) {
  Prim *values = mem_alloc_plain(((size_t)count + 1) * sizeof *values);
  for (int i = 0; i < count; i++)
    values[i] = term_value(r, terms[i]);
  return values;
}

static void set_vars(KernRun *r, const Var *const *vars, const Prim *values, int count) {
  for (int i = 0; i < count; i++)
    set_var(r, vars[i], values[i]);
}

// ---- memory

static const void *block_key(const Tensor *root) {
  return root->space == TENSOR_GLOBAL && root->host ? (const void *)root->host : root;
}

static Block *block_new(PrimType elem, int64_t count) {
  const int64_t shape[1] = { count > 0 ? count : 0 };
  return value_new(elem, 1, shape);
}

static int64_t tensor_size(const KernRun *r, const Tensor *t) {
  int64_t count = 1;
  for (int i = 0; i < t->rank; i++)
    count *= int_value(r, t->dims[i]);
  return count;
}

static void make_block(KernRun *r, const Tensor *t, int64_t count) {
  map_put(r->blocks, t, block_new(t->elem, count));
}

// The element's place in its block; false if it is outside of its array.
static bool element_at(KernRun *r, const Access *access, Loc loc, Block **block,
                       int64_t *at) {
  const Tensor *t = access->tensor;
  *block = map_get(r->blocks, block_key(tensor_root(t)));
  *at = 0;
  bool inside = *block != NULL;
  for (int i = 0; i < t->rank; i++) {
    int d = t->order ? t->order[i] : i;
    int64_t index = int_value(r, access->index[d]), size = int_value(r, t->dims[d]);
    inside = inside && 0 <= index && index < size;
    *at = *at * size + index;
  }
  if (inside && *at < value_count(*block)) return true;
  return kern_fails(r, loc,
                    text_format("a kernel is outside of array %s_%d", t->name, t->id));
}

static bool run_load(KernRun *r, const KernStm *stm) {
  Block *block;
  int64_t at;
  if (!element_at(r, &stm->u.load, stm->loc, &block, &at)) return false;
  set_var(r, stm->binders[0], value_get(block, at));
  return true;
}

// Spare elements behind the end of an array: what is stored there is not wanted.
static bool is_spare(const KernRun *r, const Access *to) {
  const Tensor *t = to->tensor;
  if (!t->spare) return false;
  int64_t behind = int_value(r, to->index[0]) - int_value(r, t->dims[0]);
  return 0 <= behind && behind < SPARE_ELEMENTS * tuning_value("segscan_items");
}

static bool run_store(KernRun *r, const KernStm *stm) {
  Block *block;
  int64_t at;
  Prim value = term_value(r, stm->u.store.value);
  if (is_spare(r, &stm->u.store.to)) return true;
  if (!element_at(r, &stm->u.store.to, stm->loc, &block, &at)) return false;
  value_set(block, at, value);
  return true;
}

// ---- operators

// left = op left right, for all operators of an axis
static bool apply_ops(KernRun *r, const Axis *axis, Prim *left, const Prim *right) {
  for (int o = 0, first = 0; o < axis->op_count; first += axis->ops[o++].count) {
    const KernOp *op = &axis->ops[o];
    set_vars(r, op->params, left + first, op->count);
    set_vars(r, op->params + op->count, right + first, op->count);
    if (!run_block(r, op->block)) return false;
    const Prim *results = term_values(r, op->block->results, op->count);
    memcpy(left + first, results, (size_t)op->count * sizeof *left);
  }
  return true;
}

static Prim *first_operands(const KernRun *r, const Axis *axis) {
  int count = kern_sum_count(axis);
  if (axis->inits) return term_values(r, axis->inits, count);
  Prim *values = new_array(Prim, count + 1);
  for (int o = 0, next = 0; o < axis->op_count; o++)
    for (int k = 0; k < axis->ops[o].count; k++)
      values[next++] = term_value(r, axis->ops[o].neutral[k]);
  return values;
}

static bool run_hist(KernRun *r, const KernHist *hist, int64_t bin, const Prim *values,
                     Loc loc) {
  int count = hist->op.count;
  if (bin < 0 || bin >= int_value(r, hist->width)) return true;
  Block **blocks = new_array(Block *, count);
  int64_t *places = new_array(int64_t, count);
  for (int i = 0; i < count; i++) {
    Access to = hist->dests[i];
    const Term **index = new_array(const Term *, to.tensor->rank);
    for (int d = 0; d + 1 < to.tensor->rank; d++)
      index[d] = to.index[d];
    index[to.tensor->rank - 1] = term_i64(bin);
    to.index = index;
    if (!element_at(r, &to, loc, &blocks[i], &places[i])) return false;
    set_var(r, hist->op.params[i], value_get(blocks[i], places[i]));
    set_var(r, hist->op.params[count + i], values[i]);
  }
  if (!run_block(r, hist->op.block)) return false;
  const Prim *results = term_values(r, hist->op.block->results, count);
  for (int i = 0; i < count; i++)
    value_set(blocks[i], places[i], results[i]);
  return true;
}

// ---- axes

// Each point begins with what the one before ended with.
static bool run_loop_axis(KernRun *r, const KernStm *stm, int64_t width) {
  const Axis *axis = stm->u.axis;
  Prim *values = term_values(r, axis->inits, axis->param_count);
  for (int64_t i = 0; i < width; i++) {
    set_vars(r, axis->params, values, axis->param_count);
    set_var(r, axis->index, prim_i64(i));
    if (!run_block(r, axis->body)) return false;
    values = term_values(r, axis->body->results, axis->param_count);
  }
  set_vars(r, stm->binders, values, stm->binder_count);
  return true;
}

static bool run_sums(KernRun *r, const KernStm *stm, int64_t width) {
  const Axis *axis = stm->u.axis;
  int count = kern_sum_count(axis);
  Prim *sums = first_operands(r, axis);
  for (int64_t i = 0; i < width; i++) {
    set_var(r, axis->index, prim_i64(i));
    if (!run_block(r, axis->body)) return false;
    if (!apply_ops(r, axis, sums, term_values(r, axis->body->results, count)))
      return false;
    if (axis->sums) set_vars(r, axis->sums, sums, count);
    if (axis->after && !run_block(r, axis->after)) return false;
  }
  set_vars(r, stm->binders, sums, stm->binder_count);
  return true;
}

static bool run_bins(KernRun *r, const Axis *axis, Loc loc) {
  const Term *const *results = axis->body->results;
  const Prim *values = term_values(r, results, axis->body->result_count);
  for (int h = 0, next = axis->hist_count; h < axis->hist_count; h++) {
    if (!run_hist(r, &axis->hists[h], values[h].u.i, values + next, loc)) return false;
    next += axis->hists[h].op.count;
  }
  return true;
}

static bool run_points(KernRun *r, const KernStm *stm, int64_t width) {
  const Axis *axis = stm->u.axis;
  for (int64_t i = 0; i < width; i++) {
    set_var(r, axis->index, prim_i64(i));
    if (!run_block(r, axis->body)) return false;
    if (axis->role == AXIS_HIST && !run_bins(r, axis, stm->loc)) return false;
  }
  return true;
}

static bool run_axis(KernRun *r, const KernStm *stm) {
  int64_t width = int_value(r, stm->u.axis->width);
  switch (stm->u.axis->role) {
  case AXIS_MAP:
  case AXIS_HIST: return run_points(r, stm, width);
  case AXIS_LOOP: return run_loop_axis(r, stm, width);
  case AXIS_REDUCE:
  case AXIS_SCAN: return run_sums(r, stm, width);
  }
  return false;
}

// ---- statements

static bool run_if(KernRun *r, const KernStm *stm) {
  bool holds = int_value(r, stm->u.cond.condition) != 0;
  const KernBlock *block = holds ? stm->u.cond.then_block : stm->u.cond.else_block;
  if (!run_block(r, block)) return false;
  set_vars(r, stm->binders, term_values(r, block->results, stm->binder_count),
           stm->binder_count);
  return true;
}

static bool run_while(KernRun *r, const KernStm *stm) {
  int count = stm->u.loop.param_count;
  const Prim *values = term_values(r, stm->u.loop.inits, count);
  while (values[stm->u.loop.which].u.i) {
    set_vars(r, stm->u.loop.params, values, count);
    if (!run_block(r, stm->u.loop.body)) return false;
    values = term_values(r, stm->u.loop.body->results, count);
  }
  set_vars(r, stm->binders, values, stm->binder_count);
  return true;
}

static bool run_check(KernRun *r, const KernStm *stm) {
  if (term_value(r, stm->u.check.condition).u.i) return true;
  Text *t = text_new();
  for (int i = 0; i < stm->u.check.value_count; i++) {
    Prim value = term_value(r, stm->u.check.values[i]);
    const char *text = prim_text(value), *type = prim_type_name(value.type);
    size_t length = strlen(text), cut = strlen(type);
    bool suffix = length > cut && strcmp(text + length - cut, type) == 0;
    text_add(t, stm->u.check.parts[i]);
    text_add_bytes(t, text, suffix ? length - cut : length);
  }
  text_add(t, stm->u.check.parts[stm->u.check.value_count]);
  return kern_fails(r, stm->loc, text_str(t));
}

static bool run_kern_stm(KernRun *r, const KernStm *stm) {
  r->given->steps++;
  if (r->given->max_steps && r->given->steps > r->given->max_steps)
    return kern_fails(r, stm->loc, "step limit reached");
  switch (stm->kind) {
  case KERN_LET: set_var(r, stm->binders[0], term_value(r, stm->u.term)); return true;
  case KERN_LOAD: return run_load(r, stm);
  case KERN_STORE: return run_store(r, stm);
  case KERN_ALLOC:
    if (!stm->u.tensor->open) make_block(r, stm->u.tensor, tensor_size(r, stm->u.tensor));
    return true;
  case KERN_ROOM:
    make_block(r, tensor_root(stm->u.room.tensor), int_value(r, stm->u.room.count));
    return true;
  case KERN_AXIS: return run_axis(r, stm);
  case KERN_IF: return run_if(r, stm);
  case KERN_WHILE: return run_while(r, stm);
  case KERN_CALL: bug(r->c, stm->loc, "a call in a kernel");
  case KERN_CHECK: return run_check(r, stm);
  }
  return false;
}

static bool run_block(KernRun *r, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (!run_kern_stm(r, &block->stms[i])) return false;
  return true;
}

// ---- plans

static bool run_plan(KernRun *r, const KernPlan *plan) {
  if (plan->lets && !run_block(r, plan->lets)) return false;
  if (plan->condition && !term_value(r, plan->condition).u.i)
    return run_plan(r, plan->otherwise);
  if (plan->narrow && term_value(r, plan->small).u.i)
    return run_block(r, plan->narrow->body);
  if (plan->kern) return run_block(r, plan->kern->body);
  for (int i = 0; i < plan->temp_count; i++)
    make_block(r, plan->temps[i], tensor_size(r, plan->temps[i]));
  for (int i = 0; i < plan->part_count; i++)
    if (!run_plan(r, plan->parts[i])) return false;
  return true;
}

static void bind_host(KernRun *r, const RunnerSeg *known) {
  const InterpSeg *given = r->given;
  for (int i = 0; i < given->var_count; i++) {
    const Value *value = given->values[i];
    if (value->rank == 0)
      set_var(r, given->vars[i], value_get(value, 0));
    else
      map_put(r->blocks, given->vars[i], value);
  }
  for (int i = 0; i < given->stm->binder_count; i++)
    map_put(r->blocks, block_key(known->seg.outs[i]), given->results[i]);
}

// ---- seg-ops

static const int *rows_in_order(void *state, const Var *var) {
  (void)state;
  (void)var;
  return NULL;
}

static KernHost runner_host(const KernRunner *runner) {
  return (KernHost){ runner->views, runner->sizes, runner->scalars,
                     map_new(NULL), rows_in_order, NULL };
}

static void meet_stm(void *state, const Stm *stm) {
  KernRunner *runner = state;
  if (stm->exp->kind == EXP_SEG || !stm->binder_count) return;
  kern_see_host(runner->c, runner_host(runner), stm);
  for (int i = 0; i < stm->binder_count; i++)
    if (map_has(runner->views, stm->binders[i]) ||
        map_has(runner->scalars, stm->binders[i]))
      map_put(runner->made, stm->binders[i], stm);
}

static void add_mentioned(VarVec *vars, const Var *var) {
  for (int i = 0; i < vars->count; i++)
    if (vars->at[i] == var) return;
  vec_push(vars, var);
}

static void add_with_sizes(VarVec *vars, const Var *var) {
  add_mentioned(vars, var);
  for (int d = 0; d < var->type.rank; d++)
    if (var->type.dims[d].kind == ATOM_VAR) add_mentioned(vars, var->type.dims[d].u.var);
}

// What scalars and views are made of, which kernels may mention in their place.
static void add_operands(VarVec *vars, const Map *made) {
  for (int i = 0; i < vars->count; i++) {
    const Stm *stm = map_get(made, vars->at[i]);
    VarVec used = stm ? core_free_exp(stm->exp) : (VarVec){ 0 };
    vec_each (const Var **, var, &used)
      add_with_sizes(vars, *var);
  }
}

static void meet_seg(void *state, const Stm *stm, VarVec *mentioned) {
  KernRunner *runner = state;
  add_operands(mentioned, runner->made);
  RunnerSeg *known = new (RunnerSeg);
  if (map_has(runner->segs, stm)) return;  // in an earlier run
  map_put(runner->segs, stm, known);
  CopyNotes copies = { 0 };
  KernHost host = runner_host(runner);
  known->seg = kern_from_seg(runner->c, host, stm, &copies);
  known->seg.name =
      kern_seg_name(runner->c, runner->counts, runner->entry->name, known->seg.kind);
  if (runner->c->check_ir) kern_check(runner->c, known->seg.kern);
  kern_see_host(runner->c, host, stm);
}

// Room for all variables that there are.
static void fit_variables(KernRunner *runner) {
  int wanted = runner->c->next_id + 1;
  if (wanted <= runner->capacity) return;
  size_t before = (size_t)runner->capacity, count = 2 * (size_t)wanted;
  Prim *values = mem_alloc_plain(count * sizeof *values);
  bool *met = mem_alloc_plain(count * sizeof *met);
  memset(met, 0, count * sizeof *met);
  if (before) memcpy(values, runner->values, before * sizeof *values);
  if (before) memcpy(met, runner->met, before * sizeof *met);
  runner->values = values;
  runner->met = met;
  runner->capacity = 2 * wanted;
}

// ---- items that wait for one another

static void see_shared_load(KernVisitor *v, Access access, bool stores) {
  bool *found = v->state;
  *found |= !stores && tensor_root(access.tensor)->space == TENSOR_LOCAL;
}

static void see_items_within(KernVisitor *v, const KernStm *stm) {
  KernVisitor loads = { .access = see_shared_load, .state = v->state };
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_ITEM)
    kern_visit_block(&loads, stm->u.axis->body);
}

static void see_items(KernVisitor *v, const KernStm *stm) {
  KernVisitor inner = { .stm = see_items_within, .state = v->state };
  if (stm->kind == KERN_AXIS && stm->u.axis->bind == BIND_ITEM)
    kern_visit_block(&inner, stm->u.axis->body);
}

// Do items together store what each of them has made?  They run one after the other here.
static bool items_wait(const KernPlan *plan) {
  bool found = false;
  KernVisitor v = { .stm = see_items, .state = &found };
  for (; plan && !found; plan = plan->otherwise) {
    if (plan->kern) kern_visit_block(&v, plan->kern->body);
    for (int i = 0; i < plan->part_count; i++)
      found |= items_wait(plan->parts[i]);
  }
  return found;
}

static const KernPlan *schedule_seg(const KernRunner *runner, const KernSeg *seg) {
  const KernPlan *plan = kern_schedule(runner->c, runner->book, seg),
                 *groups = profile_traits[runner->profile].group_plans
                               ? kern_schedule_groups(runner->c, seg)
                               : NULL;
  return kern_plan_without_calls(
      runner->c, kern_plan_or(groups && !items_wait(groups) ? groups : NULL, plan));
}

static bool run_seg(void *state, InterpSeg *given) {
  KernRunner *runner = state;
  RunnerSeg *known = map_get(runner->segs, given->stm);
  if (!known->plan) known->plan = schedule_seg(runner, &known->seg);
  given->message = "its recipe was refused";
  given->loc = given->stm->loc;
  if (diag_error_count(runner->c)) return false;
  fit_variables(runner);
  KernRun r = { .c = runner->c,
                .given = given,
                .values = runner->values,
                .met = runner->met,
                .blocks = map_new(NULL) };
  bind_host(&r, known);
  bool ok = run_plan(&r, known->plan);
  given->message = r.message;
  given->loc = r.loc;
  return ok;
}

KernRunner *kern_runner(Compiler *c, const Entry *entry, RecipeBook *book,
                        Profile profile) {
  KernRunner *runner = new (KernRunner);
  *runner = (KernRunner){ .c = c,
                          .entry = entry,
                          .book = book,
                          .profile = profile,
                          .segs = map_new(NULL),
                          .counts = map_new(NULL),
                          .views = map_new(NULL),
                          .sizes = map_new(NULL),
                          .scalars = map_new(NULL),
                          .made = map_new(NULL) };
  for (int i = 0; i < entry->size_count; i++)
    map_put(runner->sizes, entry->params[i], entry->params[i]);
  return runner;
}

void kern_run_segs(KernRunner *runner, InterpOptions *options) {
  options->run_seg = run_seg;
  options->meet_seg = meet_seg;
  options->meet_stm = meet_stm;
  options->seg_state = runner;
}
