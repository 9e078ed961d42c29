// What the points of a divided space read: xs[i, ..]      =>  xs'[j, ..]
//                                          xs[i - 1, ..]  =>  xs''[j + base, ..]
//
// where i = start + j, xs' is the block of xs, and xs'' the block with rows of the neighbours
// before and after it.
#include "flat/workers.h"

enum { MOST_BORDER = 64 };  // rows; who reads further away reads all

// How rows of an array are read.
typedef struct RowReads {
  int64_t least, most;  // xs[i + least] .. xs[i + most]
  bool others;          // and in other ways
  Atom *block;          // of the array, with a border if it has one; NULL: not made yet
  Atom before;          // rows of the border before the block
} RowReads;

typedef struct PointReads {
  Spread *s;
  Builder *host;
  const RowSplit *split;
  const Var *to;   // j
  Map *arrays;     // Var on the host, of as many rows as are divided -> RowReads
  Map *positions;  // Var -> int64_t: it is i + this
  bool *whole_inputs;
} PointReads;

// ---- positions

static const int64_t *position_of(const PointReads *r, Atom a) {
  return a.kind == ATOM_VAR ? map_get(r->positions, a.u.var) : NULL;
}

static bool small_constant(Atom a, int64_t *out) {
  if (a.kind != ATOM_CONST) return false;
  *out = a.u.constant.u.i;
  return *out >= -MOST_BORDER && *out <= MOST_BORDER;
}

// i + 1, i - 1, 1 + i
static void note_position(PointReads *r, const Stm *stm) {
  const Exp *exp = stm->exp;
  bool adds = exp->kind == EXP_OP && exp->u.op.type == PRIM_I64 &&
              (exp->u.op.op == OP_ADD || exp->u.op.op == OP_SUB);
  if (!adds) return;
  const Atom *args = exp->u.op.args;
  bool swapped = exp->u.op.op == OP_ADD && !position_of(r, args[0]);
  const int64_t *from = position_of(r, args[swapped]);
  int64_t constant = 0;
  if (!from || !small_constant(args[!swapped], &constant)) return;
  int64_t sum = exp->u.op.op == OP_ADD ? *from + constant : *from - constant;
  map_put(r->positions, stm->binders[0], mem_copy(&sum, sizeof sum));
}

// ---- which rows are read

static RowReads *reads_of(const PointReads *r, Atom a) {
  return a.kind == ATOM_VAR ? map_get(r->arrays, a.u.var) : NULL;
}

// What is known of an array of which an index reads row i + *offset; NULL: it reads in another way,
// or may be out of bounds.
static RowReads *row_read(const PointReads *r, const Exp *exp, int64_t *offset) {
  RowReads *reads = exp->kind == EXP_INDEX ? reads_of(r, exp->u.index.array) : NULL;
  if (!reads) return NULL;
  const DimIndex *row = &exp->u.index.dims[0];
  const int64_t *position = row->is_slice ? NULL : position_of(r, row->start);
  if (!position || (*position != 0 && exp->u.index.checked)) return NULL;
  *offset = *position;
  return reads;
}

static void note_other(CoreVisitor *v, Atom a) {
  RowReads *reads = reads_of(v->state, a);
  if (reads) reads->others = true;
}

static void note_reads(CoreVisitor *v, const Body *body) {
  PointReads *r = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    int64_t offset = 0;
    RowReads *reads = row_read(r, exp, &offset);
    if (!reads) core_visit_exp(v, exp);
    if (reads && offset < reads->least) reads->least = offset;
    if (reads && offset > reads->most) reads->most = offset;
    note_position(r, &body->stms[i]);
  }
  for (int i = 0; i < body->result_count; i++)
    note_other(v, body->results[i]);
}

// ---- blocks

static bool has_border(const RowReads *reads) {
  int64_t widest = reads->most > -reads->least ? reads->most : -reads->least;
  return !reads->others && widest > 0 && widest <= MOST_BORDER;
}

static Atom smaller(Builder *b, Atom x, Atom y) {
  return core_let(b, "rows", exp_op2(OP_MIN, x, y));
}

// The block with rows before and after it.
static Atom with_border(const PointReads *r, RowReads *reads, Atom block) {
  const RowSplit *split = r->split;
  Builder *b = r->host;
  Atom low = atom_i64(-reads->least), high = atom_i64(reads->most);
  Atom end = size_add(b, split->start, split->count);
  Atom after = smaller(b, high, size_sub(b, split->width, end));
  reads->before = smaller(b, low, split->start);
  Atom extent = size_add(b, size_add(b, reads->before, split->count), after);
  const Exp *gather =
      exp_gather(split->workers, split->width, split->start, split->count, block);
  return core_let(b, "border", exp_border(gather, low, high, extent));
}

static void make_block(const PointReads *r, Atom array, RowReads *reads) {
  bool distributed = spread_part(r->s, array, r->split) != NULL;
  *r->whole_inputs = *r->whole_inputs && !distributed;
  Atom block = spread_block(r->s, r->host, array, r->split);
  if (distributed && has_border(reads)) block = with_border(r, reads, block);
  reads->block = mem_copy(&block, sizeof block);
}

// xs''[j + base, ..], where the border has `before` rows before the block and base is before +
// offset; the expression itself if it reads no row that is near.
static const Exp *near_row(PointReads *r, Builder *b, const Exp *exp) {
  int64_t offset = 0;
  RowReads *reads = row_read(r, exp, &offset);
  bool bordered =
      reads && has_border(reads) && spread_part(r->s, exp->u.index.array, r->split);
  if (!reads || (offset != 0 && !bordered)) return exp;
  if (!reads->block) make_block(r, exp->u.index.array, reads);
  Exp *out = mem_copy(exp, sizeof *exp);
  size_t bytes = sizeof(DimIndex) * (size_t)exp->u.index.dim_count;
  DimIndex *dims = mem_copy(exp->u.index.dims, bytes);
  Atom row = atom_var(r->to);
  if (bordered)
    row = size_add(b, row, size_add(r->host, reads->before, atom_i64(offset)));
  dims[0] = dim_fix(row);
  out->u.index.array = *reads->block;
  out->u.index.dims = dims;
  return out;
}

static const Body *near_body(CoreMapper *m, const Body *body) {
  PointReads *r = m->state;
  Builder b = builder_new(r->s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    b.loc = stm.loc;
    const Exp *near = near_row(r, &b, stm.exp);
    stm.exp = near != stm.exp ? near : core_map_exp(m, stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// ---- the body

static Map *arrays_of_rows(const Body *body, Atom width) {
  Map *arrays = map_new(NULL);
  VarVec vars = core_free_body(body);
  vec_each (const Var **, var, &vars)
    if ((*var)->type.rank && atom_equal((*var)->type.dims[0], width))
      map_put(arrays, *var, new (RowReads));
  return arrays;
}

const Body *spread_reads(Spread *s, Builder *b, const SegOp *seg, const Var *to,
                         SpreadInputs in) {
  const Var *from = seg->dims[0].index;
  PointReads r = {
    s,       b, in.split, to, arrays_of_rows(seg->body, in.split->width), map_new(NULL),
    in.whole
  };
  map_put(r.positions, from, new (int64_t));
  CoreVisitor v = { .atom = note_other, .body = note_reads, .state = &r };
  note_reads(&v, seg->body);
  CoreMapper m = { .body = near_body, .state = &r };
  Builder inner = builder_new(s->c, b->loc);
  core_let_vars(&inner, mem_copy(&from, sizeof from), 1,
                exp_op2(OP_ADD, in.split->start, atom_var(to)));
  const Body *body = near_body(&m, seg->body);
  core_add_body(&inner, body);
  return core_body(&inner, body->results, body->result_count);
}
