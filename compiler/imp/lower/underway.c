// b = border k a with p q
// ys = segmap <j < k> { .. b[j + ..] .. }
//   =>  the rows of others come while the kernel makes the points that read none of them:
//       for part < 3 {                0: all but the first p and the last q; 1: those; 2: these
//         if part == 1 { await b }
//         segmap <l < rows> { at j = first + l }
//       }
//
// Why: who waits for its neighbours, and what a network takes, has its own work to do.  Parts are
// launches of one kernel.  Where a border is small (overlap_bytes), all is one part, behind it.
//
// Legal: point j reads rows j - p to j + q of the block, as far as the neighbours or the worker
// itself have them (flat/workers/workers_reads.c makes no other border).  A kernel that stores in
// the place of what it reads is not divided.
#include "imp/lower/kern.h"

typedef struct Underway {
  const Mem *mem;
  const ImpExp *later, *low,
      *high;  // so many points read rows before the block, or behind it
} Underway;

// ---- the border

static const ImpExp *border_rows(const Exp *border, Atom rows, const ImpExp *there) {
  const ImpExp *others = imp_sub(imp_atom(border->u.border.workers), imp_i64(1));
  const ImpExp *wanted = imp_atom(rows);
  return imp_min(wanted, border->u.border.ring ? imp_mul(wanted, others) : there);
}

const ImpExp *border_rows_before(const Exp *border) {
  return border_rows(border, border->u.border.before, imp_atom(border->u.border.start));
}

const ImpExp *border_rows_after(const Exp *border) {
  const ImpExp *end =
      imp_add(imp_atom(border->u.border.start), imp_atom(border->u.border.count));
  return border_rows(border, border->u.border.after,
                     imp_sub(imp_atom(border->u.border.total), end));
}

static bool mentions(const Exp *exp, const Var *var) {
  VarVec free = core_free_exp(exp);
  vec_each (const Var **, v, &free)
    if (*v == var) return true;
  return false;
}

// The only map over the block's rows that reads the border next, before anything else happens.
static const SegOp *next_reader(const Stm *stm, const Body *body, int position) {
  const Var *border = stm->binders[0];
  for (int i = position + 1; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (!mentions(exp, border) && exp_is_scalar(exp)) continue;
    if (exp->kind != EXP_SEG || exp->u.seg->kind != SEG_MAP) return NULL;
    bool over_rows = atom_equal(exp->u.seg->dims[0].width, stm->exp->u.border.count);
    return mentions(exp, border) && over_rows ? exp->u.seg : NULL;
  }
  return NULL;
}

// All points that would read the border if it had all of its rows: some may not.
static const ImpExp *edge(Code *k, const ImpExp *later, const ImpExp *rows, Atom all) {
  const ImpExp *some = imp_op2(OP_LAND, later, imp_less(imp_i64(0), rows));
  return imp_let(k->b, "edge", imp_select(some, imp_atom(all), imp_i64(0)));
}

const ImpExp *underway_begin(Code *k, const Stm *stm, const Body *body, int position,
                             const Arr *arr) {
  const Exp *border = stm->exp;
  const SegOp *reader = next_reader(stm, body, position);
  if (!reader || !k->lower->machine->in_parts) return NULL;
  const ImpExp *least = tuning_param(k->lower, "overlap_bytes", "overlap", -1, -1);
  const ImpExp *rows =
      imp_add(imp_atom(border->u.border.before), imp_atom(border->u.border.after));
  const ImpExp *bytes =
      imp_mul(imp_mul(rows, arr->strides[0]), imp_i64(prim_size_bytes(arr->elem)));
  const ImpExp *several = imp_less(imp_i64(1), imp_atom(border->u.border.workers));
  const ImpExp *later =
      imp_let(k->b, "later", imp_op2(OP_LAND, several, imp_op2(OP_LE, least, bytes)));
  Underway *u = new_node(Underway, .mem = arr->mem, .later = later);
  u->low = edge(k, later, border_rows_before(border), border->u.border.before);
  u->high = edge(k, later, border_rows_after(border), border->u.border.after);
  map_put(k->lower->underway, reader, u);
  return later;
}

// ---- the kernel

// The points of the outermost axis, which has `all`, from `first` on, so many of them; NULL: it is
// no such map.
static const Kern *some_points(Compiler *c, const Kern *kern, const Term *all,
                               const Var *first, const Var *rows) {
  const KernStm *outer = kern->body->count == 1 ? &kern->body->stms[0] : NULL;
  bool is_map = outer && outer->kind == KERN_AXIS && outer->u.axis->role == AXIS_MAP;
  if (!is_map || !term_same(outer->u.axis->width, all)) return NULL;
  Axis *axis = mem_copy(outer->u.axis, sizeof *axis);
  const Var *index = kern_index(c, axis->index->name, kern->loc);
  Map *replace = map_new(NULL);
  map_put(replace, axis->index,
          (void *)(intptr_t)term_add(term_var(first), term_var(index)));
  axis->body = kern_rename(c, replace, axis->body);
  axis->index = index;
  axis->width = term_var(rows);
  KernBuilder b = kern_builder(c, kern->loc);
  kern_axis(&b, *axis, outer->binders, outer->binder_count);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = kern_block(&b, kern->body->results, kern->body->result_count);
  return out;
}

static void await(Code *k, const Mem *mem) {
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_AWAIT, .u.mem = { mem } });
}

static const ImpExp *of_part(const ImpExp *part, const ImpExp *zero, const ImpExp *one,
                             const ImpExp *two) {
  const ImpExp *others = imp_select(imp_op2(OP_EQ, part, imp_i64(1)), one, two);
  return imp_select(imp_op2(OP_EQ, part, imp_i64(0)), zero, others);
}

// Which points a part has.
static void bind_part(Code *k, const Underway *u, const ImpExp *part, const ImpExp *all,
                      const Var *first, const Var *rows) {
  const ImpExp *low = imp_let(k->b, "low", imp_min(u->low, all));
  const ImpExp *high = imp_let(k->b, "high", imp_min(u->high, imp_sub(all, low)));
  const ImpExp *end = imp_sub(all, high);
  const ImpExp *starts = of_part(part, low, imp_i64(0), end);
  const ImpExp *counts = of_part(part, imp_sub(end, low), low, high);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_DECLARE, .u.declare = { first, starts, 0 } });
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_DECLARE, .u.declare = { rows, counts, 0 } });
  map_put(k->sizes, rows, (void *)(intptr_t)rows);
}

void underway_end(Code *host, const SegOp *op) {
  const Underway *u = map_get(host->lower->underway, op);
  if (u) await(host, u->mem);
  map_remove(host->lower->underway, op);
}

bool lower_interior_first(Code *host, const KernSeg *seg, const SegOp *op,
                          LowerPart *lower, void *state) {
  Compiler *c = host->lower->c;
  const Underway *u = map_get(host->lower->underway, op);
  if (!u) return false;
  const Var *part = kern_index(c, "part", seg->kern->loc);
  const Var *first = kern_index(c, "first", seg->kern->loc);
  const Var *rows = kern_index(c, "rows", seg->kern->loc);
  KernSeg some = *seg;
  some.kern = some_points(c, seg->kern, term_atom(op->dims[0].width), first, rows);
  if (!some.kern) {
    underway_end(host, op);
    return false;
  }
  ImpBuilder b, waits;
  Code inner = code_inner(host, &b), waiting = code_inner(&inner, &waits);
  await(&waiting, u->mem);
  imp_if(&b, imp_op2(OP_EQ, imp_var(part), imp_i64(1)), waits.block);
  bind_part(&inner, u, imp_var(part), imp_atom(op->dims[0].width), first, rows);
  lower(&inner, &some, state);
  imp_for(host->b, part, imp_select(u->later, imp_i64(3), imp_i64(1)), b.block);
  return true;
}
