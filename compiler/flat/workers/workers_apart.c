// Points that reduce several times over the rows of an array that is distributed by them:
//
//   segmap1 <j < m> {let u = redomap .. xss[:, j]   let v = redomap (\x -> {x - u}) .. in {v}}
//     =>  let us = segmap1 <j < m> {let u = redomap .. xss[:, j] in {u}}
//         segmap1 <j < m> {let u = us[j]   let v = redomap (\x -> {x - u}) .. in {v}}
//
// so that each is a sum of columns (workers_columns.c).  What the second part needs of the first is
// numbers, which are stored, and views, which it makes again.
#include "flat/workers/workers.h"

typedef struct TwoParts {
  int second;      // the statement that begins the second part
  bool *again;     // of those before it: made again
  VarVec results;  // of the first part
} TwoParts;

static bool is_made_again(const Exp *exp) {
  return exp->kind == EXP_ATOM || exp->kind == EXP_REARRANGE || exp->kind == EXP_INDEX;
}

static void need_vars(Map *needed, VarVec vars) {
  vec_each (const Var **, var, &vars)
    map_put(needed, *var, *var);
}

static bool is_needed(const Map *needed, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (map_has(needed, stm->binders[i])) return true;
  return false;
}

// Where the second reduction over the same rows is; -1: there is none.
static int second_reduction(const SegOp *seg) {
  Atom first, width;
  bool found = false;
  for (int i = 0; i < seg->body->stm_count; i++) {
    if (!spread_is_reduction(&seg->body->stms[i], &width)) continue;
    if (found) return atom_equal(first, width) ? i : -1;
    found = true;
    first = width;
  }
  return -1;
}

static Map *needed_from(const Body *body, int first) {
  Map *needed = map_new(NULL);
  for (int i = first; i < body->stm_count; i++)
    need_vars(needed, core_free_exp(body->stms[i].exp));
  for (int i = 0; i < body->result_count; i++)
    if (body->results[i].kind == ATOM_VAR)
      map_put(needed, body->results[i].u.var, body->results[i].u.var);
  return needed;
}

// What the second part needs of the first; false if that is more than numbers and views.
static bool find_results(const Body *body, TwoParts *p) {
  Map *needed = needed_from(body, p->second);
  p->again = new_array(bool, p->second + 1);
  for (int i = p->second - 1; i >= 0; i--) {
    const Stm *stm = &body->stms[i];
    if (!is_needed(needed, stm)) continue;
    bool is_array = stm->binders[0]->type.rank > 0;
    if (is_array && !is_made_again(stm->exp)) return false;
    p->again[i] = is_array;
    if (is_array) need_vars(needed, core_free_exp(stm->exp));
    for (int k = 0; k < stm->binder_count && !is_array; k++) {
      if (stm->binders[k]->type.rank) return false;
      if (map_has(needed, stm->binders[k])) vec_push(&p->results, stm->binders[k]);
    }
  }
  return true;
}

static const SegOp *first_part(Compiler *c, const SegOp *seg, const TwoParts *p) {
  Builder b = builder_new(c, seg->body->stms[0].loc);
  Atom *results = new_array(Atom, p->results.count);
  for (int i = 0; i < p->second; i++)
    core_add_stm(&b, seg->body->stms[i]);
  for (int i = 0; i < p->results.count; i++)
    results[i] = atom_var(p->results.at[i]);
  SegOp *out = mem_copy(seg, sizeof *seg);
  out->body = core_body(&b, results, p->results.count);
  return out;
}

static bool find_parts(const Spread *s, const SegOp *seg, TwoParts *p) {
  *p = (TwoParts){ 0 };
  if (seg->kind != SEG_MAP || seg->level != 1) return false;
  p->second = second_reduction(seg);
  if (p->second < 0 || !find_results(seg->body, p) || !p->results.count) return false;
  return spread_columns_of(s, first_part(s->c, seg, p)) == COLUMNS_DISTRIBUTED;
}

bool spread_comes_apart(const Spread *s, const SegOp *seg) {
  TwoParts p;
  return find_parts(s, seg, &p);
}

// [dims..] of such a number.
static const Var *array_of(Compiler *c, const SegOp *seg, const Var *number, Loc loc) {
  CoreType type = number->type;
  for (int d = seg->dim_count - 1; d >= 0; d--)
    type = type_of_rows(type, seg->dims[d].width);
  return var_new(c, number->name, type, loc);
}

// With indices of its own, reading what the first part has made.
static const SegOp *second_part(Compiler *c, const SegOp *seg, const TwoParts *p,
                                const Var *const *arrays) {
  Builder b = builder_new(c, seg->body->stms[0].loc);
  Subst *subst = subst_new();
  size_t bytes = sizeof(SegDim) * (size_t)seg->dim_count;
  SegDim *dims = mem_copy(seg->dims, bytes);
  Atom *at = new_array(Atom, seg->dim_count);
  for (int d = 0; d < seg->dim_count; d++) {
    dims[d].index = var_like(c, dims[d].index);
    at[d] = atom_var(dims[d].index);
    subst_put(subst, seg->dims[d].index, at[d]);
  }
  Builder rest = builder_new(c, b.loc);
  for (int i = 0; i < p->results.count; i++) {
    const Var *number = p->results.at[i];
    Atom value = core_let(&b, number->name,
                          exp_index(atom_var(arrays[i]), at, seg->dim_count, false));
    subst_put(subst, number, value);
  }
  for (int i = 0; i < seg->body->stm_count; i++)
    if (i >= p->second || p->again[i]) core_add_stm(&rest, seg->body->stms[i]);
  const Body *body = core_rename_body(
      c, subst, core_body(&rest, seg->body->results, seg->body->result_count));
  core_add_body(&b, body);
  SegOp *out = mem_copy(seg, sizeof *seg);
  out->dims = dims;
  out->body = core_body(&b, body->results, body->result_count);
  return out;
}

bool spread_apart(Spread *s, Builder *b, const Stm *stm) {
  TwoParts p;
  const SegOp *seg = stm->exp->u.seg;
  if (!find_parts(s, seg, &p)) return false;
  int count = p.results.count;
  const Var **arrays = new_array(const Var *, count);
  for (int i = 0; i < count; i++)
    arrays[i] = array_of(s->c, seg, p.results.at[i], stm->loc);
  Stm first = *stm, second = *stm;
  first.exp = exp_seg(first_part(s->c, seg, &p));
  first.binders = arrays;
  first.binder_count = count;
  second.exp = exp_seg(second_part(s->c, seg, &p, arrays));
  spread_stm(s, b, &first);
  spread_stm(s, b, &second);
  return true;
}
