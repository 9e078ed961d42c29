// let os = segscan <i < n> (+) {flag}   let count = if n == 0 then 0 else os[n-1]
// let ys = segscatter <i < n> into scratch [count] {.. os[i] ..}
//   =>  let (room, last) = segscatter <i < n> into scratch [n], scratch [1]
//                            {.., if i == n-1 then 0 else -1, os[i]}
//       let count = if n == 0 then 0 else last[0]
//       let ys = if count < n/4 then copy room[:count] else room[:count]
//
// Needs, keeps: Flat, whose other promises hold.
// Why: code for GPUs.  To know how much room a filter needs, all elements are read and counted
// first.  Where there is room for all of them, the scan that says where each goes says how many
// there are.  What keeps little gives the room back.
#include "core/passes.h"
#include "flat/flat.h"

enum {
  MOST_WORK = 48,    // of a scan and what is made of it: others are not fused
  LOG_MOST_ROOM = 2  // results in a room that is larger, as a power of two, are copied
};

typedef struct Filter {
  Compiler *c;
  const Body *body;
  int scatter, count;    // positions: of the segscatter, and of what counts
  const SegOp *seg;      // the scatter
  Atom width, how_many;  // n, count
  const Var *offsets;    // of the scan
  Atom *fills;           // what destinations hold before
  const Var **rooms;     // a room for each destination; then where the last offset goes
} Filter;

// ---- what a filter is

static int binding_position(const Body *body, int end, const Var *var) {
  for (int i = 0; i < end; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return i;
  return -1;
}

static const Exp *exp_of(const Body *body, int end, Atom a) {
  int at = a.kind == ATOM_VAR ? binding_position(body, end, a.u.var) : -1;
  return at < 0 ? NULL : body->stms[at].exp;
}

static bool is_op_with(const Exp *e, PrimOp op, Atom a, Atom b) {
  return e && e->kind == EXP_OP && e->u.op.op == op && atom_equal(e->u.op.args[0], a) &&
         atom_equal(e->u.op.args[1], b);
}

// An array of one value that nobody has read.
static bool is_fill(const Exp *e) {
  if (!e || e->kind != EXP_SEG) return false;
  const SegOp *seg = e->u.seg;
  return seg->kind == SEG_MAP && seg->level == 1 && seg->dim_count == 1 &&
         seg->body->stm_count == 0 && seg->body->result_count == 1;
}

// Is the destination as long as the first one, and made for what is kept alone?
static bool is_for_kept(const Filter *f, int dest) {
  const ScatterDest *d = &f->seg->dests[dest];
  CoreType type = atom_type(d->dest);
  const Exp *fill = exp_of(f->body, f->scatter, d->dest);
  if (!is_fill(fill)) return false;
  f->fills[dest] = fill->u.seg->body->results[0];
  return d->covered && d->ascending && d->index_count == 1 && type.rank == 1 &&
         atom_equal(type.dims[0], f->how_many);
}

static bool is_filter(Filter *f) {
  const Stm *stm = &f->body->stms[f->scatter];
  if (stm->exp->kind != EXP_SEG) return false;
  f->seg = stm->exp->u.seg;
  if (f->seg->kind != SEG_SCATTER || f->seg->level != 1 || f->seg->dim_count != 1 ||
      f->seg->body->result_count != 2 * f->seg->dest_count)
    return false;
  f->width = f->seg->dims[0].width;
  CoreType type = atom_type(f->seg->dests[0].dest);
  if (type.rank != 1 || type.dims[0].kind != ATOM_VAR) return false;
  f->how_many = type.dims[0];
  f->fills = new_array(Atom, f->seg->dest_count);
  for (int d = 0; d < f->seg->dest_count; d++)
    if (!is_for_kept(f, d)) return false;
  f->count = binding_position(f->body, f->scatter, f->how_many.u.var);
  return f->count >= 0 && flat_takes_little(f->seg->body, MOST_WORK);
}

// last = os[n - 1], of a scan over the same elements
static bool reads_last_offset(Filter *f, const Body *branch) {
  const Exp *read = exp_of(branch, branch->stm_count, branch->results[0]);
  if (!read || read->kind != EXP_INDEX || read->u.index.checked ||
      read->u.index.dim_count != 1 || read->u.index.dims[0].is_slice)
    return false;
  Atom at = read->u.index.dims[0].start;
  const Exp *index = exp_of(branch, branch->stm_count, at);
  if (!index) index = exp_of(f->body, f->count, at);
  const Exp *scan = exp_of(f->body, f->count, read->u.index.array);
  if (!is_op_with(index, OP_SUB, f->width, atom_i64(1)) || !scan || scan->kind != EXP_SEG)
    return false;
  const SegOp *seg = scan->u.seg;
  f->offsets = read->u.index.array.u.var;
  return seg->kind == SEG_SCAN && seg->level == 1 && seg->dim_count == 1 &&
         atom_equal(seg->dims[0].width, f->width) &&
         flat_takes_little(seg->body, MOST_WORK);
}

static bool counts_offsets(Filter *f) {
  const Stm *stm = &f->body->stms[f->count];
  if (stm->exp->kind != EXP_IF || stm->binder_count != 1) return false;
  const Body *none = stm->exp->u.cond.then_body;
  const Exp *empty = exp_of(f->body, f->count, stm->exp->u.cond.condition);
  return is_op_with(empty, OP_EQ, f->width, atom_i64(0)) && none->stm_count == 0 &&
         atom_equal(none->results[0], atom_i64(0)) &&
         reads_last_offset(f, stm->exp->u.cond.else_body);
}

// Does the scatter need nothing that comes behind the count?
static bool can_go_first(const Filter *f) {
  VarVec free = core_free_body(f->seg->body);
  vec_each (const Var **, v, &free)
    if (binding_position(f->body, f->scatter, *v) >= f->count) return false;
  return true;
}

// ---- with room for all

static const Var *room_var(const Filter *f, const char *name, PrimType elem, Atom width) {
  return var_new(f->c, name_of(f->c->names, name), type_array(elem, 1, &width),
                 f->body->stms[f->scatter].loc);
}

static Atom add_room(const Filter *f, Builder *b, Atom value, Atom width) {
  Builder none = builder_new(f->c, b->loc);
  SegDim *dim = new (SegDim);
  *dim = (SegDim){ var_like(f->c, f->seg->dims[0].index), width };
  SegOp seg = { .kind = SEG_MAP, .level = 1, .dims = dim, .dim_count = 1 };
  seg.body = core_body(&none, &value, 1);
  return core_let(b, "room", exp_seg(mem_copy(&seg, sizeof seg)));
}

static const ScatterDest *add_dests(const Filter *f, Builder *b) {
  int count = f->seg->dest_count;
  ScatterDest *dests = new_array(ScatterDest, count + 1);
  for (int d = 0; d < count; d++) {
    dests[d] = f->seg->dests[d];
    dests[d].dest = add_room(f, b, f->fills[d], f->width);
  }
  // If there are no elements nobody reads it.
  Atom word = add_room(f, b, atom_i64(0), atom_i64(1));
  dests[count] = (ScatterDest){ .dest = word, .index_count = 1, .covered = true };
  return dests;
}

// What the scatter does, and 0, os[i] at the last point; elsewhere an index out of bounds.
static const Body *with_last(const Filter *f) {
  Builder b = builder_new(f->c, f->body->stms[f->scatter].loc);
  core_add_body(&b, f->seg->body);
  Atom point = atom_var(f->seg->dims[0].index);
  Atom end = core_let(&b, "end", exp_op2(OP_SUB, f->width, atom_i64(1)));
  Atom is_last = core_let(&b, "is_last", exp_op2(OP_EQ, point, end));
  Atom flag = core_let(&b, "flag", exp_convert(PRIM_I64, is_last));
  int count = f->seg->body->result_count;
  Atom *results = new_array(Atom, count + 2);
  for (int i = 0; i < count; i++)
    results[i] = f->seg->body->results[i];
  results[count] = core_let(&b, "at", exp_op2(OP_SUB, flag, atom_i64(1)));
  results[count + 1] =
      core_let(&b, "offset", exp_index(atom_var(f->offsets), &point, 1, false));
  return core_body(&b, results, count + 2);
}

static void add_scatter(Filter *f, Builder *b) {
  int count = f->seg->dest_count;
  SegOp seg = *f->seg;
  seg.dests = add_dests(f, b);
  seg.dest_count = count + 1;
  seg.body = with_last(f);
  f->rooms = new_array(const Var *, count + 1);
  for (int d = 0; d <= count; d++)
    f->rooms[d] = d < count
                      ? room_var(f, "room", atom_type(seg.dests[d].dest).elem, f->width)
                      : room_var(f, "last", PRIM_I64, atom_i64(1));
  core_add_stm(b, (Stm){ .binders = f->rooms,
                         .binder_count = count + 1,
                         .exp = exp_seg(mem_copy(&seg, sizeof seg)),
                         .loc = b->loc,
                         .attrs = b->attrs });
}

static void add_how_many(const Filter *f, Builder *b) {
  Stm stm = f->body->stms[f->count];
  Atom zero = atom_i64(0);
  Builder branch = builder_new(f->c, stm.loc);
  Atom last =
      core_let(&branch, "last",
               exp_index(atom_var(f->rooms[f->seg->dest_count]), &zero, 1, false));
  stm.exp = exp_if(stm.exp->u.cond.condition, stm.exp->u.cond.then_body,
                   core_body(&branch, &last, 1));
  core_add_stm(b, stm);
}

// ---- what was kept

static Atom kept_in_room(const Filter *f, Builder *b, const Var *room) {
  DimIndex dim = dim_slice(atom_i64(0), f->how_many, atom_i64(1));
  return core_let(b, "kept", exp_slice(atom_var(room), &dim, false));
}

static Atom kept_copied(const Filter *f, Builder *b, const Var *room) {
  const Var *index = var_like(f->c, f->seg->dims[0].index);
  Atom at = atom_var(index);
  Builder point = builder_new(f->c, b->loc);
  Atom element = core_let(&point, "kept", exp_index(atom_var(room), &at, 1, false));
  SegDim dim = { index, f->how_many };
  SegOp seg = { .kind = SEG_MAP, .level = 1, .dim_count = 1 };
  seg.dims = mem_copy(&dim, sizeof dim);
  seg.body = core_body(&point, &element, 1);
  return core_let(b, "kept", exp_seg(mem_copy(&seg, sizeof seg)));
}

static void add_kept(const Filter *f, Builder *b) {
  const Stm *stm = &f->body->stms[f->scatter];
  int count = stm->binder_count;
  Builder copy = builder_new(f->c, b->loc), whole = builder_new(f->c, b->loc);
  Atom *copies = new_array(Atom, count), *prefixes = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    copies[i] = kept_copied(f, &copy, f->rooms[i]);
    prefixes[i] = kept_in_room(f, &whole, f->rooms[i]);
  }
  Atom part = core_let(b, "part", exp_op2(OP_SHR, f->width, atom_i64(LOG_MOST_ROOM)));
  Atom few = core_let(b, "few", exp_op2(OP_LT, f->how_many, part));
  Stm kept = *stm;
  kept.exp =
      exp_if(few, core_body(&copy, copies, count), core_body(&whole, prefixes, count));
  core_add_stm(b, kept);
}

static bool is_dest(const Filter *f, const Stm *stm) {
  for (int d = 0; d < f->seg->dest_count; d++)
    if (stm->binder_count == 1 &&
        atom_equal(f->seg->dests[d].dest, atom_var(stm->binders[0])))
      return true;
  return false;
}

// ---- bodies

static const Body *rooms_at(void *state, const Body *body, int position) {
  Compiler *c = state;
  Filter f = { .c = c, .body = body, .scatter = position };
  if (!is_filter(&f) || !counts_offsets(&f) || !can_go_first(&f)) return NULL;
  Builder b = builder_new(c, body->stms[position].loc);
  b.attrs = body->stms[position].attrs;
  for (int i = 0; i < f.count; i++)
    core_add_stm(&b, body->stms[i]);
  add_scatter(&f, &b);
  add_how_many(&f, &b);
  for (int i = f.count + 1; i < position; i++)
    if (!is_dest(&f, &body->stms[i])) core_add_stm(&b, body->stms[i]);
  add_kept(&f, &b);
  for (int i = position + 1; i < body->stm_count; i++)
    core_add_stm(&b, body->stms[i]);
  return core_body(&b, body->results, body->result_count);
}

static const Body *rooms_in_body(CoreMapper *m, const Body *body) {
  return flat_rewrite_host(m, m->state, body, rooms_at);
}

const Core *flat_filter_rooms(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  CoreMapper m = { .body = rooms_in_body, .state = c };
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    entry->body = rooms_in_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
