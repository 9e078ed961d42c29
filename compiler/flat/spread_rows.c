// segmap <i < n> { .. let r = replicate m x in {r} }
//   =>  segmap <i < n> <j < m> { .. in {x} }
//
// Needs, keeps: Flat, whose other promises hold.
// Likewise segmap0 in the body of a segmap1, if its rows are those of the result.
//
// Why: code for GPUs.  An item that writes a row writes words apart from its neighbours' words, or
// writes the array transposed, which whoever wants rows transposes again.  What a point computes
// before it makes the row is computed again for each element, so it must be little.
#include "core/passes.h"
#include "flat/elements.h"
#include "flat/spaces.h"

// ---- what may be spread

typedef struct RowMention {
  const Var *var;
  bool found;
} RowMention;

static void see_mention(CoreVisitor *v, Atom a) {
  RowMention *m = v->state;
  m->found |= a.kind == ATOM_VAR && a.u.var == m->var;
}

static void see_mentions(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

static bool seg_mentions(const Exp *e, const Var *var) {
  RowMention m = { .var = var };
  CoreVisitor v = { .atom = see_mention, .body = see_mentions, .state = &m };
  core_visit_exp(&v, e);
  return m.found;
}

// Does an item of a later seg-op read a row of it?  It reads in order what was written transposed.
static bool is_read_by_rows(const Body *body, int position, const Var *var) {
  for (int i = position + 1; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind == EXP_SEG && e->u.seg->dim_count < var->type.rank &&
        !flat_has_inner_seg(e->u.seg) && seg_mentions(e, var))
      return true;
  }
  return false;
}

// ---- seg-ops

typedef struct Spreading {
  Compiler *c;
  const Body *body;
  int position;
  const Stm *stm;
  const SegOp *seg;
  bool *chosen;  // results at hand
} Spreading;

static int first_chosen(const Spreading *s) {
  for (int i = 0; i < s->stm->binder_count; i++)
    if (s->chosen[i]) return i;
  return -1;
}

// The dimensions of the space, then those of the rows.
static SegDim *all_dims(const Spreading *s, Subst *subst) {
  CoreType type = s->stm->binders[first_chosen(s)]->type;
  SegDim *dims = new_array(SegDim, type.rank);
  for (int d = 0; d < type.rank; d++) {
    const Var *old = d < s->seg->dim_count ? s->seg->dims[d].index : NULL;
    dims[d].index = old ? var_like(s->c, old)
                        : var_new(s->c, name_of(s->c->names, "i"), type_scalar(PRIM_I64),
                                  s->stm->loc);
    dims[d].width = old ? s->seg->dims[d].width : type.dims[d];
    if (old) subst_put(subst, old, atom_var(dims[d].index));
  }
  return dims;
}

// The results that are chosen, element by element; NULL if that cannot be, or is much work.
static const SegOp *spread_results(const Spreading *s) {
  Subst *subst = subst_new();
  SegOp *out = mem_copy(s->seg, sizeof *s->seg);
  CoreType type = s->stm->binders[first_chosen(s)]->type;
  SegDim *dims = all_dims(s, subst);
  Builder b = builder_new(s->c, s->stm->loc);
  int lookups = 0;
  Element element = flat_element_new(s->c, &b, &lookups);
  flat_element_body(&element, s->seg->body);
  Atom *at = new_array(Atom, type.rank);
  for (int d = s->seg->dim_count; d < type.rank; d++)
    at[d - s->seg->dim_count] = atom_var(dims[d].index);
  AtomVec results = { 0 };
  for (int i = 0; i < s->stm->binder_count; i++)
    if (s->chosen[i])
      vec_push(&results, flat_element_at(&element, s->seg->body->results[i], at));
  if (element.fails) return NULL;
  const Body *needed = dead_body(s->c, core_body(&b, results.at, results.count));
  if (!flat_element_repeats_little(&element, needed)) return NULL;
  out->body = core_rename_body(s->c, subst, cse_body(s->c, needed));
  out->dims = dims;
  out->dim_count = type.rank;
  return out;
}

static bool may_spread(Spreading *s, int result) {
  const Var *binder = s->stm->binders[result];
  if (binder->type.rank == s->seg->dim_count) return false;
  for (int d = s->seg->dim_count; d < binder->type.rank; d++) {
    Atom size = binder->type.dims[d];
    for (int i = 0; size.kind == ATOM_VAR && i < s->stm->binder_count; i++)
      if (s->stm->binders[i] == size.u.var) return false;
  }
  if (is_read_by_rows(s->body, s->position, binder)) return false;
  Spreading one = *s;
  one.chosen = new_array(bool, s->stm->binder_count);
  one.chosen[result] = true;
  return spread_results(&one) != NULL;
}

static bool same_dims(CoreType a, CoreType b) {
  b.elem = a.elem;
  return type_same_shape(a, b);
}

// Chooses those of the results left that have rows of the same shape as the first, or the first
// alone if all together are much work.
static bool choose_results(Spreading *s, bool *left) {
  int first = -1, count = s->stm->binder_count;
  for (int i = 0; i < count; i++) {
    s->chosen[i] = left[i] && (first < 0 || same_dims(s->stm->binders[first]->type,
                                                      s->stm->binders[i]->type));
    if (s->chosen[i] && first < 0) first = i;
  }
  bool together = first >= 0 && spread_results(s);
  for (int i = 0; i < count; i++) {
    s->chosen[i] = s->chosen[i] && (together || i == first);
    left[i] = left[i] && !s->chosen[i];
  }
  return first >= 0;
}

static VarVec binders_of(const Spreading *s) {
  VarVec binders = { 0 };
  for (int i = 0; i < s->stm->binder_count; i++)
    if (s->chosen[i]) vec_push(&binders, s->stm->binders[i]);
  return binders;
}

static void add_seg(const Spreading *s, Builder *b, const SegOp *seg) {
  VarVec binders = binders_of(s);
  Stm out = *s->stm;
  out.binders = binders.at;
  out.binder_count = binders.count;
  out.exp = exp_seg(seg);
  core_add_stm(b, out);
}

// The seg-op with the results that are chosen alone, in fresh names.
static const SegOp *restricted_seg(const Spreading *s) {
  SegOp *out = mem_copy(s->seg, sizeof *s->seg);
  AtomVec results = { 0 };
  for (int i = 0; i < s->stm->binder_count; i++)
    if (s->chosen[i]) vec_push(&results, s->seg->body->results[i]);
  Body body = *s->seg->body;
  body.results = results.at;
  body.result_count = results.count;
  out->body = dead_body(s->c, &body);
  return core_rename_exp(s->c, subst_new(), exp_seg(out))->u.seg;
}

// 0 < m && ..; true if the rows certainly have elements
static Atom have_elements(const Spreading *s, Builder *b) {
  CoreType type = s->stm->binders[first_chosen(s)]->type;
  Atom all = atom_bool(true);
  for (int d = s->seg->dim_count; d < type.rank; d++) {
    Atom size = type.dims[d];
    if (size.kind == ATOM_CONST && size.u.constant.u.i > 0) continue;
    Atom some = core_let(b, "some", exp_op2(OP_LT, atom_i64(0), size));
    all =
        all.kind == ATOM_CONST ? some : core_let(b, "some", exp_op2(OP_LAND, all, some));
  }
  return all;
}

static const Body *seg_branch(const Spreading *s, const SegOp *seg) {
  Builder b = builder_new(s->c, s->stm->loc);
  b.attrs = s->stm->attrs;
  VarVec binders = binders_of(s);
  Atom *results = new_array(Atom, binders.count);
  core_let_n(&b, "spread", exp_seg(seg), results);
  return core_body(&b, results, binders.count);
}

// What fails at a point fails, too, if its rows have no elements:
// if 0 < m { spread } else { as it was }
static void add_spread(const Spreading *s, Builder *b) {
  const SegOp *seg = spread_results(s);
  Atom some = flat_may_fail(s->seg->body) ? have_elements(s, b) : atom_bool(true);
  if (some.kind == ATOM_CONST) {
    add_seg(s, b, seg);
    return;
  }
  const Body *yes = seg_branch(s, seg), *no = seg_branch(s, restricted_seg(s));
  VarVec binders = binders_of(s);
  core_let_vars(b, binders.at, binders.count, exp_if(some, yes, no));
}

// Adds the map, or those that take its place.
static void spread_map(Compiler *c, Builder *b, const Body *body, int position) {
  const Stm *stm = &body->stms[position];
  Spreading s = { c, body, position, stm, stm->exp->u.seg, NULL };
  int count = stm->binder_count, spread = 0, rest = 0;
  bool *left = new_array(bool, count + 1), *others = new_array(bool, count + 1);
  for (int i = 0; i < count; i++) {
    left[i] = may_spread(&s, i);
    others[i] = !left[i];
    spread += left[i];
    rest += !left[i];
  }
  if (!spread) {
    core_add_stm(b, *stm);
    return;
  }
  s.chosen = new_array(bool, count + 1);
  while (choose_results(&s, left))
    add_spread(&s, b);
  s.chosen = others;
  if (rest) add_seg(&s, b, restricted_seg(&s));
}

// ---- in groups

static bool is_result(const Body *body, const Var *var) {
  for (int i = 0; i < body->result_count; i++)
    if (atom_equal(body->results[i], atom_var(var))) return true;
  return false;
}

// Does it compute where the rows lie, or what they are?  Other rows are copied in order
// (imp/lower/copy.c).
static bool computes(const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    if (body->stms[i].exp->kind != EXP_INDEX || body->stms[i].binders[0]->type.rank == 0)
      return true;
  return false;
}

// Does it read a column?  Items that make its elements side by side would read them apart; rows by
// themselves, neighbouring items read neighbours.
static bool reads_columns(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind != EXP_INDEX || body->stms[i].binders[0]->type.rank == 0) continue;
    int last = e->u.index.dim_count - 1;
    if (last + 1 == atom_type(e->u.index.array).rank && !e->u.index.dims[last].is_slice)
      return true;
  }
  return false;
}

// A map whose rows are those of the group's result: others lie in local memory.
static bool makes_result(const Body *body, const Stm *stm) {
  const SegOp *seg = stm->exp->kind == EXP_SEG ? stm->exp->u.seg : NULL;
  if (!seg || seg->kind != SEG_MAP || !computes(seg->body) || reads_columns(seg->body))
    return false;
  for (int i = 0; i < stm->binder_count; i++)
    if (!is_result(body, stm->binders[i])) return false;
  return true;
}

static const Body *spread_group(Compiler *c, const Body *body) {
  Builder b = builder_new(c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    b.loc = stm->loc;
    b.attrs = stm->attrs;
    if (makes_result(body, stm))
      spread_map(c, &b, body, i);
    else
      core_add_stm(&b, *stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static void add_spread_stm(void *state, Builder *b, const Body *body, int position) {
  Compiler *c = state;
  Stm stm = body->stms[position];
  if (!flat_has_inner_seg(stm.exp->u.seg)) {
    spread_map(c, b, body, position);
    return;
  }
  SegOp *seg = mem_copy(stm.exp->u.seg, sizeof *seg);
  seg->body = spread_group(c, seg->body);
  stm.exp = exp_seg(seg);
  core_add_stm(b, stm);
}

const Core *flat_spread_rows(Compiler *c, const Core *flat) {
  return flat_rewrite_maps(c, flat, add_spread_stm, c);
}
