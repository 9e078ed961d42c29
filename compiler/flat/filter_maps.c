// let kept = segscatter <i < n> into scratch { let at = flag * s - 1  in {at, x} }
// let ys = segmap <j < k> {.. kept[j] ..}
//   =>  let ys = segscatter <i < n> into scratch { .. let y = if flag then .. x ..  in {at, y} }
//
// where kept holds what a filter keeps, and nothing else is known of j.
//
// Needs, keeps: Flat, whose other promises hold.
// Why: what is looked up at the places that a filter finds need not wait for these to be stored.
#include "base/map.h"
#include "core/passes.h"
#include "flat/flat.h"

enum {
  MOST_MADE = 12,   // statements of what is made of an element
  MOST_FIELDS = 6,  // of what the filter keeps, then
};

// A filter's stores, and a map over what it keeps.
typedef struct FilterMap {
  Compiler *c;
  const Body *body;
  int filter, map;  // positions
  Atom flag;        // bool, in the filter's points
} FilterMap;

static const SegOp *seg_of(const Stm *stm, SegKind kind) {
  const SegOp *seg = stm->exp->kind == EXP_SEG ? stm->exp->u.seg : NULL;
  return seg && seg->kind == kind && seg->level == 1 && seg->dim_count == 1 && !seg->after
             ? seg
             : NULL;
}

static const Exp *made_by(const Body *body, Atom a) {
  for (int i = 0; a.kind == ATOM_VAR && i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == a.u.var) return body->stms[i].exp;
  return NULL;
}

static const Exp *operation(const Body *body, Atom a, PrimOp op) {
  const Exp *e = made_by(body, a);
  return e && e->kind == EXP_OP && e->u.op.op == op ? e : NULL;
}

// The bool f of i64(f) * s - 1.
static bool flag_of_place(const Body *body, Atom place, Atom *flag) {
  const Exp *less = operation(body, place, OP_SUB);
  const Exp *product = less && atom_is_i64(less->u.op.args[1], 1)
                           ? operation(body, less->u.op.args[0], OP_MUL)
                           : NULL;
  for (int i = 0; product && i < 2; i++) {
    const Exp *e = made_by(body, product->u.op.args[i]);
    if (!e || e->kind != EXP_CONVERT) continue;
    *flag = e->u.convert.atom;
    if (atom_type(*flag).elem == PRIM_BOOL) return true;
  }
  return false;
}

static bool keeps_elements(const SegOp *seg, Atom *flag) {
  for (int i = 0; i < seg->dest_count; i++)
    if (!seg->dests[i].ascending || !seg->dests[i].covered ||
        !atom_equal(seg->body->results[(size_t)i * 2], seg->body->results[0]) ||
        atom_type(seg->body->results[2 * i + 1]).rank > 0)
      return false;
  return seg->dest_count > 0 && flag_of_place(seg->body, seg->body->results[0], flag);
}

// ---- what the map reads

static int kept_number(const FilterMap *f, Atom a) {
  const Stm *stm = &f->body->stms[f->filter];
  for (int i = 0; a.kind == ATOM_VAR && i < stm->binder_count; i++)
    if (stm->binders[i] == a.u.var) return i;
  return -1;
}

static bool is_kept_element(const FilterMap *f, const Exp *e) {
  const SegOp *map = f->body->stms[f->map].exp->u.seg;
  return e->kind == EXP_INDEX && kept_number(f, e->u.index.array) >= 0 &&
         e->u.index.dim_count == 1 && !e->u.index.dims[0].is_slice &&
         atom_equal(e->u.index.dims[0].start, atom_var(map->dims[0].index));
}

typedef struct SeenReads {
  const FilterMap *f;
  int wrong, kept, left;
} SeenReads;

static void see_kept(CoreVisitor *v, Atom a) {
  SeenReads *s = v->state;
  const SegOp *map = s->f->body->stms[s->f->map].exp->u.seg;
  s->wrong += kept_number(s->f, a) >= 0 || atom_equal(a, atom_var(map->dims[0].index));
}

// It is done for elements that are left out, too.
static bool is_little_work(const Exp *e) {
  if (e->kind == EXP_OP)
    return op_cost(e->u.op.op, atom_type(e->u.op.args[0]).elem) == COST_CHEAP;
  return exp_is_scalar(e) || e->kind == EXP_ATOM || e->kind == EXP_INDEX;
}

static void see_reads(CoreVisitor *v, const Body *body) {
  SeenReads *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    s->wrong += !is_little_work(e) || body->stms[i].binders[0]->type.rank > 0;
    s->left--;
    if (is_kept_element(s->f, e))
      s->kept++;
    else
      core_visit_exp(v, e);
  }
  for (int i = 0; i < body->result_count; i++)
    see_kept(v, body->results[i]);
}

// Little is made of elements that are kept, and of nothing that depends on where they are.
static bool maps_kept(const FilterMap *f) {
  const SegOp *map = f->body->stms[f->map].exp->u.seg;
  SeenReads s = { .f = f, .left = MOST_MADE };
  CoreVisitor v = { .atom = see_kept, .body = see_reads, .state = &s };
  see_reads(&v, map->body);
  for (int i = 0; i < map->body->result_count; i++)
    s.wrong += atom_type(map->body->results[i]).rank > 0;
  return !s.wrong && s.kept && s.left >= 0;
}

// Is all that the map mentions there where the filter stands?
static bool can_be_there(const FilterMap *f) {
  VarVec free = core_free_exp(f->body->stms[f->map].exp);
  vec_each (const Var *const *, v, &free)
    for (int i = f->filter + 1; i < f->map; i++)
      for (int k = 0; k < f->body->stms[i].binder_count; k++)
        if (f->body->stms[i].binders[k] == *v) return false;
  return true;
}

// ---- what the map makes, of the filter's elements

static void add_mapped(CoreMapper *m, Builder *b, const Stm *stm, Subst *kept) {
  const FilterMap *f = m->state;
  const SegOp *filter = f->body->stms[f->filter].exp->u.seg;
  Stm out = *stm;
  if (is_kept_element(f, stm->exp)) {
    int number = kept_number(f, stm->exp->u.index.array);
    subst_put(kept, stm->binders[0], filter->body->results[2 * number + 1]);
    return;
  }
  out.exp = core_map_exp(m, stm->exp);
  core_add_stm(b, out);
}

static const Body *of_elements(CoreMapper *m, const Body *body) {
  const FilterMap *f = m->state;
  Builder b = builder_new(f->c, (Loc){ 0 });
  Subst *kept = subst_new();
  for (int i = 0; i < body->stm_count; i++)
    add_mapped(m, &b, &body->stms[i], kept);
  return core_subst_body(f->c, kept, core_body(&b, body->results, body->result_count));
}

// ---- checks

// i // m, where the filter's i < n * m
static bool is_row_of(const FilterMap *f, const Exp *quotient, Atom rows) {
  const SegOp *filter = f->body->stms[f->filter].exp->u.seg;
  const Exp *width = operation(f->body, filter->dims[0].width, OP_MUL);
  for (int i = 0; width && i < 2; i++)
    if (atom_equal(width->u.op.args[i], rows) &&
        atom_equal(width->u.op.args[1 - i], quotient->u.op.args[1]))
      return true;
  return false;
}

// Is it a place within `size` at all points of the filter?
static bool is_inside(const FilterMap *f, Atom at, Atom size) {
  const SegOp *filter = f->body->stms[f->filter].exp->u.seg;
  Atom index = atom_var(filter->dims[0].index);
  if (atom_equal(at, index)) return atom_equal(size, filter->dims[0].width);
  const Exp *e = made_by(filter->body, at);
  if (!e || e->kind != EXP_OP || !atom_equal(e->u.op.args[0], index)) return false;
  if (e->u.op.op == OP_REM || e->u.op.op == OP_MOD)
    return atom_equal(e->u.op.args[1], size);
  return (e->u.op.op == OP_QUOT || e->u.op.op == OP_DIV) && is_row_of(f, e, size);
}

static bool all_inside(const FilterMap *f, const Exp *read) {
  for (int i = 0; i < read->u.index.dim_count; i++) {
    const DimIndex *dim = &read->u.index.dims[i];
    if (dim->is_slice ||
        !is_inside(f, dim->start, atom_type(read->u.index.array).dims[i]))
      return false;
  }
  return true;
}

// What lanes would have to check keeps them from storing side by side.  *fails: there is some.
static const Body *without_checks(const FilterMap *f, const Body *body, bool *fails) {
  Builder b = builder_new(f->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    if (stm.exp->kind == EXP_INDEX && stm.exp->u.index.checked &&
        all_inside(f, stm.exp)) {
      Exp *read = mem_copy(stm.exp, sizeof *read);
      read->u.index.checked = false;
      stm.exp = read;
    }
    *fails |= exp_may_fail(stm.exp) || exp_has_bodies(stm.exp);
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *made_of_elements(FilterMap *f, bool *fails) {
  CoreMapper m = { .body = of_elements, .state = f };
  return without_checks(f, of_elements(&m, f->body->stms[f->map].exp->u.seg->body),
                        fails);
}

static bool makes_without_failing(FilterMap *f) {
  bool fails = false;
  made_of_elements(f, &fails);
  return !fails;
}

// ---- one of both

// if flag then what the map makes else zeros
static void add_made(FilterMap *f, Builder *b, Atom *made) {
  const Body *of = f->body->stms[f->map].exp->u.seg->body;
  bool fails = false;
  const Body *some = made_of_elements(f, &fails);
  Atom *zeros = new_array(Atom, of->result_count + 1);
  for (int i = 0; i < of->result_count; i++)
    zeros[i] = atom_const(prim_zero(atom_type(of->results[i]).elem));
  Builder none = builder_new(f->c, b->loc);
  const Body *otherwise = core_body(&none, zeros, of->result_count);
  core_let_n(b, "made", exp_if(f->flag, some, otherwise), made);
}

// segmap <j < count> {0}
static Atom scratch_like(FilterMap *f, Builder *b, PrimType elem) {
  SegOp fill = *f->body->stms[f->map].exp->u.seg;
  SegDim dim = { var_like(f->c, fill.dims[0].index), fill.dims[0].width };
  Atom zero = atom_const(prim_zero(elem));
  Builder point = builder_new(f->c, b->loc);
  fill.dims = mem_copy(&dim, sizeof dim);
  fill.body = core_body(&point, &zero, 1);
  return core_let(b, "scratch", exp_seg(mem_copy(&fill, sizeof fill)));
}

static Stm both(FilterMap *f, Builder *host) {
  const Stm *filter = &f->body->stms[f->filter], *map = &f->body->stms[f->map];
  SegOp seg = *filter->exp->u.seg;
  int own = seg.dest_count, more = map->binder_count;
  Builder b = builder_new(f->c, filter->loc);
  core_add_body(&b, seg.body);
  Atom *made = new_array(Atom, more + 1);
  add_made(f, &b, made);
  ScatterDest *dests = new_array(ScatterDest, own + more);
  AtomVec results = { 0 };
  VarVec binders = { 0 };
  for (int i = 0; i < own + more; i++) {
    const Stm *from = i < own ? filter : map;
    int number = i < own ? i : i - own;
    PrimType elem = from->binders[number]->type.elem;
    dests[i] = seg.dests[i < own ? i : 0];
    if (i >= own) dests[i].dest = scratch_like(f, host, elem);
    vec_push(&binders, from->binders[number]);
    vec_push(&results, seg.body->results[0]);
    vec_push(&results, i < own ? seg.body->results[2 * i + 1] : made[number]);
  }
  seg.body = core_body(&b, results.at, results.count);
  seg.dests = dests;
  seg.dest_count = own + more;
  Stm out = *filter;
  out.binders = binders.at;
  out.binder_count = binders.count;
  out.exp = exp_seg(mem_copy(&seg, sizeof seg));
  return out;
}

static bool is_wanted(const FilterMap *f, const Var *var) {
  const Body *body = f->body;
  for (int i = 0; i < body->result_count; i++)
    if (atom_equal(body->results[i], atom_var(var))) return true;
  for (int i = f->filter + 1; i < body->stm_count; i++) {
    VarVec free = core_free_exp(body->stms[i].exp);
    vec_each (const Var *const *, v, &free)
      if (*v == var && i != f->map) return true;
  }
  return false;
}

// Without what only the map has read.
static Stm without_kept(const FilterMap *f, Stm stm) {
  SegOp seg = *stm.exp->u.seg;
  int own = f->body->stms[f->filter].binder_count;
  VarVec binders = { 0 };
  AtomVec results = { 0 };
  ScatterDest *dests = new_array(ScatterDest, seg.dest_count);
  for (int i = 0; i < seg.dest_count; i++) {
    if (i < own && !is_wanted(f, stm.binders[i])) continue;
    dests[binders.count] = seg.dests[i];
    vec_push(&binders, stm.binders[i]);
    vec_push(&results, seg.body->results[(size_t)i * 2]);
    vec_push(&results, seg.body->results[2 * i + 1]);
  }
  Body body = *seg.body;
  body.results = results.at;
  body.result_count = results.count;
  seg.body = mem_copy(&body, sizeof body);
  seg.dests = dests;
  seg.dest_count = binders.count;
  stm.binders = binders.at;
  stm.binder_count = binders.count;
  stm.exp = exp_seg(mem_copy(&seg, sizeof seg));
  return stm;
}

static const Body *filter_and_map(FilterMap *f) {
  const Body *body = f->body;
  Builder b = builder_new(f->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    if (i == f->filter)
      core_add_stm(&b, without_kept(f, both(f, &b)));
    else if (i != f->map)
      core_add_stm(&b, body->stms[i]);
  }
  return core_body(&b, body->results, body->result_count);
}

static bool is_map_of(FilterMap *f) {
  const Stm *filter = &f->body->stms[f->filter];
  const SegOp *map = seg_of(&f->body->stms[f->map], SEG_MAP);
  return map && atom_equal(map->dims[0].width, filter->binders[0]->type.dims[0]) &&
         filter->binder_count + f->body->stms[f->map].binder_count <= MOST_FIELDS &&
         maps_kept(f) && can_be_there(f) && makes_without_failing(f);
}

static const Body *join_maps(void *state, const Body *body, int at) {
  Compiler *c = state;
  const Body *out = NULL;
  FilterMap f = { .c = c, .body = body, .filter = at, .map = at + 1 };
  while (f.map < f.body->stm_count) {
    int before = f.body->stm_count;
    const SegOp *filter = seg_of(&f.body->stms[f.filter], SEG_SCATTER);
    if (!filter || !keeps_elements(filter, &f.flag)) return out;
    if (!is_map_of(&f)) {
      f.map++;
      continue;
    }
    out = f.body = filter_and_map(&f);
    f.filter += f.body->stm_count - before + 1;
    f.map = f.filter + 1;
  }
  return out;
}

static const Body *join_in(CoreMapper *m, const Body *body) {
  return flat_rewrite_host(m, m->state, body, join_maps);
}

const Core *flat_filter_maps(Compiler *c, const Core *flat) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    CoreMapper m = { .body = join_in, .state = c };
    entry->body = dead_body(c, join_in(&m, entry->body));
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}
