// axis i < 3 { x = a[(i + 1) % 3] .. }   =>   { x = a[1] .. } { x = a[2] .. } { x = a[0] .. }
//
// Why: small matrices, whose indices are compared and go round, are a few numbers in registers
// then, without branches and divisions.
//
// Only where that is so: a remainder, a comparison or an element of an own array is known once
// the indices of short loops are, or rounds of one load what others do.  (What a schedule unrolls
// by a recipe: steps/unroll.c.)
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum {
  MOST_POINTS = 4,
  MOST_NEIGHBOURS = 9,
  MOST_COPIED = 16,
  FEW_STMS = 6,
  MOST_COPIES = 32,
  MOST_STMS = 400
};

typedef struct ShortLoops {
  KernMapper mapper;
  const Map *lets;
  Map *short_ones;  // Var -> itself: indices of short loops around
  int copies;       // of what is around
  bool done;
} ShortLoops;

// ---- which loops

static int64_t points_of(const Axis *axis) {
  bool plain =
      axis->bind == BIND_SEQ && axis->width->kind == TERM_CONST &&
      (axis->role == AXIS_MAP || axis->role == AXIS_LOOP || axis->role == AXIS_REDUCE);
  return plain ? axis->width->u.constant.u.i : 0;
}

static bool is_small_own(const Tensor *t) {
  const Tensor *root = tensor_root(t);
  int64_t count = 1;
  for (int i = 0; i < root->rank; i++) {
    if (root->dims[i]->kind != TERM_CONST || root->dims[i]->u.constant.u.i > MOST_COPIED)
      return false;
    count *= root->dims[i]->u.constant.u.i;
  }
  return root->space == TENSOR_OWN && count <= MOST_COPIED;
}

static bool loads_own(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_LOAD && is_small_own(block->stms[i].u.load.tensor))
      return true;
  return false;
}

static bool is_plain_block(const KernBlock *block) {
  for (int i = 0; i < block->count; i++) {
    KernStmKind kind = block->stms[i].kind;
    if (kind != KERN_LET && kind != KERN_LOAD && kind != KERN_STORE) return false;
  }
  return block->count <= FEW_STMS;
}

// How many points are few.  A map or a sum of a few numbers that stand in an array of the point's
// own has more: its elements are scalars without the loop, as those of a literal that names
// neighbours are constants.
static int64_t most_points(const Axis *axis) {
  bool sums = axis->role == AXIS_REDUCE && axis->op_count == 1;
  if (!loads_own(axis->body) || (axis->role != AXIS_MAP && !sums)) return MOST_POINTS;
  bool plain =
      is_plain_block(axis->body) && (!sums || is_plain_block(axis->ops[0].block));
  if (plain) return MOST_COPIED;
  return kern_updates_in_place(axis->body) || !sums ? MOST_POINTS : MOST_NEIGHBOURS;
}

static bool is_short_loop(const KernStm *stm, int copies) {
  if (stm->kind != KERN_AXIS) return false;
  int64_t points = points_of(stm->u.axis);
  return points > 0 && points <= most_points(stm->u.axis) &&
         copies * points <= MOST_COPIES;
}

static int64_t copies_of_block(const KernBlock *block);

// Of its innermost points, if all loops within are short; else too many.
static int64_t copies_of_stm(const KernStm *stm) {
  int64_t most = 1;
  KernBlockVec blocks = kern_blocks(stm);
  vec_each (const KernBlock **, block, &blocks) {
    int64_t inner = copies_of_block(*block);
    most = inner > most ? inner : most;
  }
  if (stm->kind == KERN_WHILE) return MOST_COPIES + 1;
  if (stm->kind != KERN_AXIS) return most;
  return is_short_loop(stm, 1) ? most * points_of(stm->u.axis) : MOST_COPIES + 1;
}

static int64_t copies_of_block(const KernBlock *block) {
  int64_t most = 1;
  for (int i = 0; i < block->count; i++) {
    int64_t own = copies_of_stm(&block->stms[i]);
    most = own > most ? own : most;
  }
  return most;
}

typedef struct ShortSearch {
  ShortLoops *u;
  const Var *index;
  Map *inner;  // indices of short loops within its own
  bool whole;  // all that is within can be straight code
  bool found, others, mentioned, inside;
  int stms;
} ShortSearch;

static void see_index_var(void *state, const Var *var) {
  ShortSearch *s = state;
  if (!map_has(s->u->short_ones, var)) s->others = true;
  if (var == s->index) s->mentioned = true;
  if (map_has(s->inner, var)) s->inside = true;
}

// Is it known once the indices are, this one among them?
static bool depends_on_indices(ShortSearch *s, const Term *t) {
  const Term *plain = term_inlined(s->u->lets, t);
  s->others = s->mentioned = false;
  if (plain) term_each_var(plain, see_index_var, s);
  return plain && !s->others && s->mentioned;
}

static bool is_worth_knowing(PrimOp op) {
  bool divides = op == OP_MOD || op == OP_REM || op == OP_DIV || op == OP_QUOT;
  return divides || op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE;
}

static void see_worth(KernVisitor *v, const Term *t) {
  ShortSearch *s = v->state;
  const Term *operands[3];
  int count = term_operands(t, operands);
  if (t->kind == TERM_OP && is_worth_knowing(t->u.op.op) && depends_on_indices(s, t))
    s->found = true;
  for (int i = 0; i < count; i++)
    see_worth(v, operands[i]);
}

// Loaded again in each round, at places that are those of inner loops.
static bool is_shared(ShortSearch *s, const Access *access) {
  s->mentioned = s->inside = false;
  for (int d = 0; d < access->tensor->rank; d++) {
    const Term *plain = term_inlined(s->u->lets, access->index[d]);
    if (!plain) return false;
    term_each_var(plain, see_index_var, s);
  }
  return s->inside && !s->mentioned;
}

// Do the rounds store parts of a record, which is a row of the innermost dimensions?
static bool is_of_record(ShortSearch *s, const Access *access) {
  const Tensor *t = access->tensor;
  s->mentioned = false;
  if (!s->whole || t->space != TENSOR_GLOBAL || t->order) return false;
  for (int d = t->rank - 1; d >= 0 && t->dims[d]->kind == TERM_CONST; d--) {
    const Term *plain = term_inlined(s->u->lets, access->index[d]);
    if (plain) term_each_var(plain, see_index_var, s);
  }
  return s->mentioned;
}

static void see_element(KernVisitor *v, Access access, bool stores) {
  ShortSearch *s = v->state;
  if (stores && is_of_record(s, &access)) s->found = true;
  if (!stores && s->whole && (s->u->copies > 1 || is_shared(s, &access))) s->found = true;
  for (int d = 0; access.tensor->space == TENSOR_OWN && d < access.tensor->rank; d++)
    if (access.tensor->dims[d]->kind == TERM_CONST &&
        depends_on_indices(s, access.index[d]))
      s->found = true;
}

static void count_stm(KernVisitor *v, const KernStm *stm) {
  ShortSearch *s = v->state;
  s->stms++;
  if (!is_short_loop(stm, 1)) return;
  map_put(s->u->short_ones, stm->u.axis->index, stm);
  if (stm->u.axis->index != s->index) map_put(s->inner, stm->u.axis->index, stm);
}

static bool pays_unrolled(ShortLoops *u, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  ShortSearch s = { .u = u,
                    .index = axis->index,
                    .inner = map_new(NULL),
                    .whole = u->copies * copies_of_stm(stm) <= MOST_COPIES };
  KernVisitor count = { .stm = count_stm, .state = &s };
  kern_visit_stm(&count, stm);
  KernVisitor v = { .term = see_worth, .access = see_element, .state = &s };
  kern_visit_block(&v, axis->body);
  return s.found && s.stms * points_of(axis) <= MOST_STMS;
}

// ---- unrolling

static const KernBlock *unroll_in(KernMapper *m, const KernBlock *block);

static void unroll(ShortLoops *u, KernBuilder *b, const KernStm *stm) {
  const Axis *axis = stm->u.axis;
  int copies = u->copies;
  u->copies = (int)(copies * points_of(axis));
  const KernBlock *body = unroll_in(&u->mapper, axis->body);
  u->copies = copies;
  u->done = true;
  kern_add_rounds(b, stm, body);
}

static const KernBlock *unroll_in(KernMapper *m, const KernBlock *block) {
  ShortLoops *u = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (is_short_loop(stm, u->copies) && pays_unrolled(u, stm))
      unroll(u, &b, stm);
    else
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

// ---- elements that are loaded again

typedef struct Loaded Loaded;
struct Loaded {
  const Loaded *outer;
  const KernStm *load;
};

typedef struct Again {
  KernMapper mapper;
  const Map *stored;
  const Loaded *loaded;
} Again;

static const void *memory_key(const Tensor *t) {
  const Tensor *root = tensor_root(t);
  return root->host ? (const void *)root->host : root;
}

static void see_overwritten(KernVisitor *v, Access access, bool stores) {
  if (stores) map_put(v->state, memory_key(access.tensor), access.tensor);
}

static const KernStm *loaded_before(const Again *a, const Access *access) {
  for (const Loaded *l = a->loaded; l; l = l->outer)
    if (kern_same_access(&l->load->u.load, access)) return l->load;
  return NULL;
}

static const KernBlock *load_once_in(KernMapper *m, const KernBlock *block) {
  Again *a = m->state;
  const Loaded *around = a->loaded;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    bool fixed =
        stm->kind == KERN_LOAD && !map_has(a->stored, memory_key(stm->u.load.tensor));
    const KernStm *before = fixed ? loaded_before(a, &stm->u.load) : NULL;
    b.loc = stm->loc;
    if (before)
      kern_let_var(&b, stm->binders[0], term_var(before->binders[0]));
    else
      kern_add(&b, kern_map_stm(m, stm));
    if (fixed && !before) a->loaded = new_node(Loaded, .outer = a->loaded, .load = stm);
  }
  a->loaded = around;
  return kern_block(&b, block->results, block->result_count);
}

const KernBlock *kern_load_once(Compiler *c, const KernBlock *block) {
  Map *stored = map_new(NULL);
  KernVisitor v = { .access = see_overwritten, .state = stored };
  kern_visit_block(&v, block);
  Again a = { .mapper = { .c = c, .block = load_once_in }, .stored = stored };
  a.mapper.state = &a;
  return load_once_in(&a.mapper, block);
}

// ---- all

static void see_scalar_let(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(v->state, stm->binders[0], stm->u.term);
}

static int count_stms(const KernBlock *block) {
  ShortLoops u = { .short_ones = map_new(NULL) };
  ShortSearch s = { .u = &u, .inner = map_new(NULL) };
  KernVisitor count = { .stm = count_stm, .state = &s };
  kern_visit_block(&count, block);
  return s.stms;
}

// NULL: there is nothing to unroll.
static const KernBlock *unrolled(Compiler *c, const KernBlock *block) {
  Map *lets = map_new(NULL);
  KernVisitor v = { .stm = see_scalar_let, .state = lets };
  kern_visit_block(&v, block);
  ShortLoops u = { .mapper = { .c = c, .block = unroll_in },
                   .lets = lets,
                   .short_ones = map_new(NULL),
                   .copies = 1 };
  u.mapper.state = &u;
  const KernBlock *body = unroll_in(&u.mapper, block);
  return u.done ? kern_settle(c, body) : NULL;
}

// Branches that have gone leave room for loops in the others.
const Kern *kern_unroll_short(Compiler *c, const Kern *kern) {
  const KernBlock *body = kern->body, *more = body;
  while (count_stms(body) <= 2 * MOST_STMS && (more = unrolled(c, body)))
    body = more;
  if (body == kern->body) return kern;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = kern_load_once(c, body);
  return kern_name_axes(c, out);
}
