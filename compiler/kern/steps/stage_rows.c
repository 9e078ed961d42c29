// stage k, in code for CPUs:
//        axis n lane { axis k { axis d: j < m { .. let x = t[n, j] .. } } }
//   =>   axis n lane {
//          row: [m] own
//          axis t_row: j < m { row[j] = t[n, j] }
//          axis k { axis d: j < m { .. let x = row[j] .. } }
//        }
//
// Lanes whose elements lie a row apart are loaded one by one; the copy has them side by side, and
// each round of k takes whole vectors.  Where they lie side by side in each of many rows, the copy
// is one piece of memory.  Why: rows of a few elements that are compared with many others
// (distances, neighbours, kernels of statistics) want their points in lanes; large products read
// the columns of a panel for each row.
//
// The copy is read wherever the loop's points would have read: if the loop, and each loop around
// the load, has a point.
#include "base/map.h"
#include "kern/kern_vary.h"
#include "kern/steps/step.h"

enum { MOST_ROWS = 8, MOST_DEPTH = 16 };

// Elements that a load of the loop reads in each of its rounds.
typedef struct StageRow {
  const Tensor *from, *to;
  const Term *const *index;  // what stays the same, in dimensions without an axis
  const Axis **along;        // per dimension: whose index it is; or NULL
  const Term *has_points;    // of the loops around it; NULL: they always do
} StageRow;

typedef struct StageRows {
  Step *s;
  const Kern *kern;
  const Axis *axis;
  const Vary *vary;
  Map *inside;  // variables that the loop binds
  Map *lets;    // and those that are lets -> const Term *
  Map *stored;  // root tensors
  StageRow rows[MOST_ROWS];
  int count;
  Map *row_of;  // binder of a load -> StageRow
  Map *names;   // of new axes
  const Axis *around[MOST_DEPTH];
  int depth;
} StageRows;

// ---- what there is

static void see_inside(KernVisitor *v, const Var *var) {
  StageRows *x = v->state;
  map_put(x->inside, var, var);
}

static void see_inside_let(KernVisitor *v, const KernStm *stm) {
  StageRows *x = v->state;
  if (stm->kind == KERN_LET) map_put(x->lets, stm->binders[0], stm->u.term);
}

static void see_stored(KernVisitor *v, Access access, bool stores) {
  StageRows *x = v->state;
  const Tensor *root = tensor_root(access.tensor);
  if (stores) map_put(x->stored, root->host ? (const void *)root->host : root, root);
}

static bool is_fixed(const StageRows *x, const Term *t) {
  return !term_mentions_any(t, x->inside);
}

// ---- rows

static const Axis *axis_of_index(const StageRows *x, const Term *t) {
  for (int i = 1; i < x->depth; i++)
    if (t->kind == TERM_VAR && t->u.var == x->around[i]->index &&
        x->around[i]->bind == BIND_SEQ)
      return x->around[i];
  return NULL;
}

static bool is_along(const StageRow *row, const Axis *axis) {
  for (int d = 0; d < row->from->rank; d++)
    if (row->along[d] == axis) return true;
  return false;
}

// Is the axis as long in all lanes, and known to be before the loop?  Copies are as long as it.
static bool has_one_width(const StageRows *x, const Axis *axis) {
  return is_fixed(x, axis->width) && !vary_term(x->vary, axis->width);
}

// Sorts the dimensions into those that stay and those that go along axes.
static bool find_dims(const StageRows *x, const Access *load, StageRow *row) {
  const Term **index = new_array(const Term *, load->tensor->rank);
  for (int d = 0; d < load->tensor->rank; d++) {
    index[d] = term_inlined(x->lets, load->index[d]);
    if (!index[d]) return false;
    if (is_fixed(x, index[d])) continue;
    const Axis *axis = axis_of_index(x, index[d]);
    if (!axis || is_along(row, axis) || !has_one_width(x, axis)) return false;
    row->along[d] = axis;
  }
  row->index = index;
  return true;
}

static bool find_points(const StageRows *x, StageRow *row) {
  for (int i = 0; i < x->depth; i++) {
    const Axis *axis = x->around[i];
    const Term *some = term_less(term_i64(0), axis->width);
    if (is_along(row, axis) || term_is_bool(some, true)) continue;
    if (!is_fixed(x, axis->width)) return false;
    row->has_points = row->has_points ? term_and(row->has_points, some) : some;
  }
  return true;
}

// Do the lanes read rows of their own?
static bool differs_by_rows(const StageRows *x, const StageRow *row) {
  bool differs = false, moves = false;
  for (int d = 0; d < row->from->rank; d++)
    if (row->along[d])
      moves = true;
    else
      differs |= (vary_term(x->vary, row->index[d]) & vary_lanes(x->vary)) != 0;
  return differs && moves;
}

static bool same_row(const StageRow *a, const StageRow *b) {
  if (a->from != b->from) return false;
  for (int d = 0; d < a->from->rank; d++)
    if (a->along[d] != b->along[d] ||
        (!a->along[d] && !term_same(a->index[d], b->index[d])))
      return false;
  return true;
}

static const StageRow *row_of(StageRows *x, const Access *load) {
  const Tensor *t = load->tensor, *root = tensor_root(t);
  const void *key = root->host ? (const void *)root->host : root;
  if (t->rank == 0 || root->space != TENSOR_GLOBAL || map_has(x->stored, key))
    return NULL;
  StageRow row = { .from = t, .along = new_array(const Axis *, t->rank) };
  if (!find_dims(x, load, &row) || !find_points(x, &row) || !differs_by_rows(x, &row))
    return NULL;
  for (int i = 0; i < x->count; i++)
    if (same_row(&x->rows[i], &row)) return &x->rows[i];
  if (x->count == MOST_ROWS) return NULL;
  x->rows[x->count] = row;
  return &x->rows[x->count++];
}

// Loads that every point of the loops around them makes.
static void find_rows(StageRows *x, const Axis *axis) {
  bool in_order = axis->bind == BIND_SEQ || axis->bind == BIND_REG;
  if (!in_order || x->depth == MOST_DEPTH) return;
  x->around[x->depth++] = axis;
  for (int i = 0; i < axis->body->count; i++) {
    const KernStm *stm = &axis->body->stms[i];
    const StageRow *row = stm->kind == KERN_LOAD ? row_of(x, &stm->u.load) : NULL;
    if (row) map_put(x->row_of, stm->binders[0], row);
    if (stm->kind == KERN_AXIS) find_rows(x, stm->u.axis);
  }
  x->depth--;
}

// ---- the copy

static Name row_axis_name(const StageRows *x, const char *array) {
  Compiler *c = x->s->c;
  for (int i = 1;; i++) {
    Name name = name_of(c->names, i == 1 ? text_format("%s_row", array)
                                         : text_format("%s_row%d", array, i));
    if (kern_has_axis(x->kern, name) || map_has(x->names, name)) continue;
    map_put(x->names, name, name);
    return name;
  }
}

// The copy's loop over dimension d, and those after it, with the indices so far.
static void add_loops(const StageRows *x, KernBuilder *b, const StageRow *row, int d,
                      const Term **from) {
  Compiler *c = x->s->c;
  int rank = row->from->rank;
  while (d < rank && !row->along[d])
    d++;
  if (d == rank) {
    const Term **to = new_array(const Term *, rank);
    int dims = 0;
    for (int i = 0; i < rank; i++)
      if (row->along[i]) to[dims++] = from[i];
    const Var *element =
        var_new(c, name_of(c->names, "element"), type_scalar(row->from->elem), b->loc);
    kern_load_var(b, element, (Access){ row->from, from });
    kern_store(b, (Access){ row->to, to }, term_var(element));
    return;
  }
  const Term *width = row->along[d]->width;
  if (row->has_points) width = term_select(row->has_points, width, term_i64(0));
  KernBuilder body = kern_builder(c, b->loc);
  Axis axis = { .name = row_axis_name(x, row->from->name),
                .index = kern_index(c, "j", b->loc),
                .width = width,
                .role = AXIS_MAP };
  from[d] = term_var(axis.index);
  add_loops(x, &body, row, d + 1, mem_copy(from, rank * sizeof *from));
  axis.body = kern_block(&body, NULL, 0);
  kern_axis(b, axis, NULL, 0);
}

static void add_copy_of_row(const StageRows *x, KernBuilder *b, StageRow *row) {
  int rank = row->from->rank, dims = 0;
  const Term **shape = new_array(const Term *, rank),
             **from = new_array(const Term *, rank);
  for (int d = 0; d < rank; d++) {
    if (row->along[d])
      shape[dims++] = row->along[d]->width;
    else
      from[d] = kern_let(b, "at", row->index[d]);
  }
  row->to =
      tensor_new(x->s->c, row->from->name, row->from->elem, shape, dims, TENSOR_OWN);
  kern_add(b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = row->to });
  add_loops(x, b, row, 0, from);
}

// ---- the loop

static Access in_row(const StageRow *row) {
  const Term **index = new_array(const Term *, row->to->rank);
  int dims = 0;
  for (int d = 0; d < row->from->rank; d++)
    if (row->along[d]) index[dims++] = term_var(row->along[d]->index);
  return (Access){ row->to, index };
}

static const KernBlock *read_rows(KernMapper *m, const KernBlock *block) {
  const StageRows *x = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    const StageRow *row =
        stm.kind == KERN_LOAD ? map_get(x->row_of, stm.binders[0]) : NULL;
    if (row) stm.u.load = in_row(row);
    kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

static void add_with_rows(void *state, KernBuilder *b, const KernStm *stm) {
  StageRows *x = state;
  for (int i = 0; i < x->count; i++)
    add_copy_of_row(x, b, &x->rows[i]);
  KernMapper m = { .c = x->s->c, .block = read_rows, .state = x };
  kern_add(b, kern_map_stm(&m, stm));
}

// ---- legality

// The outermost statement in lockstep around the axis.
static const KernStm *lockstep_around(const KernBlock *block, Name name) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (!kern_block_has_axis(&(KernBlock){ .stms = stm, .count = 1 }, name)) continue;
    if (kern_is_lock(stm)) return stm;
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks) {
      const KernStm *found = lockstep_around(*inner, name);
      if (found) return found;
    }
  }
  return NULL;
}

static void see_staged_check(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_CHECK) *(bool *)v->state = true;
}

// What is read before a check that is not made yet may lie anywhere.
static bool has_checks(const KernStm *stm) {
  bool found = false;
  KernVisitor v = { .stm = see_staged_check, .state = &found };
  kern_visit_stm(&v, stm);
  return found;
}

const Kern *step_stage_rows(Step *s, const Kern *kern, Name name) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  const KernStm *lock = lockstep_around(kern->body, name);
  if (stm->u.axis->bind != BIND_SEQ || !lock)
    return step_refuse(s, "%s is no loop in lanes", name);
  if (has_checks(stm)) return step_refuse(s, "%s makes checks", name);
  StageRows x = { .s = s,
                  .kern = kern,
                  .axis = stm->u.axis,
                  .vary = vary_stm(lock),
                  .inside = map_new(NULL),
                  .lets = map_new(NULL),
                  .stored = map_new(NULL),
                  .row_of = map_new(NULL),
                  .names = map_new(NULL) };
  KernVisitor inside = { .stm = see_inside_let, .binder = see_inside, .state = &x },
              all = { .access = see_stored, .state = &x };
  kern_visit_stm(&inside, stm);
  kern_visit_block(&all, kern->body);
  find_rows(&x, stm->u.axis);
  if (!x.count) return step_refuse(s, "%s reads no rows again, a lane each", name);
  return step_replace(s, kern, name, add_with_rows, &x);
}
