// let m = segmap <i < w> { .. } .. let b = a with [s: s + w] = m
//   =>   the segmap stores m[i] as a[s + i], and b is a
//
// The update arrives here as a scatter that only copies.  Why: what it changes is written once, by
// one kernel.  Which kernels may overwrite what they read: kern/in_place/in_view.c; where
// they may not, m is made apart and copied.  The branches of versions land in the same place.
//
// Legal: the update could overwrite a, whose memory no statement between the two reads; the place
// is known before the first of them, and is in the array, or else a check behind it fails, so that
// nothing need be made.
#include "imp/lower/kern.h"
#include "kern/in_place/in_place.h"

enum { MOST_CHECKS = 4 };

typedef struct LandingCheck {
  const Exp *exp;  // EXP_ASSERT
  const Term *condition;
  const Term **values;
  Loc loc;
} LandingCheck;

struct Landing {
  const Var *updated;                // what the update binds
  View view;                         // of the array's tensor
  const Term *fits;                  // the place is in the array
  LandingCheck checks[MOST_CHECKS];  // the update's own
  int check_count;
  const Arr *place;  // once it is asked for
  bool made;
};

// What statements tell of the update.
typedef struct Landed {
  Code *host;
  const Var *value;  // by its last name
  const SegOp *seg;
  Map *terms;   // Var -> const Term *: scalars that are bound after the value
  Map *hidden;  // Var -> itself: what is bound from the value on
  Landing *landing;
} Landed;

// ---- scalars

static const Term *known_term(const Landed *u, Atom a) {
  const Term *known = a.kind == ATOM_VAR ? map_get(u->terms, a.u.var) : NULL;
  return known ? known : term_atom(a);
}

static bool may_come_early(PrimOp op) {
  bool sums =
      op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN || op == OP_MAX;
  bool compares = op == OP_LT || op == OP_LE || op == OP_EQ || op == OP_NE;
  return sums || compares || op == OP_LAND || op == OP_LOR;
}

static void learn_op(Landed *u, const Stm *stm) {
  const Exp *exp = stm->exp;
  PrimOp op = exp->u.op.op;
  if (!may_come_early(op)) return;
  const Term *a = known_term(u, exp->u.op.args[0]), *b = known_term(u, exp->u.op.args[1]);
  bool sum = exp->u.op.type == PRIM_I64 && op == OP_ADD;
  map_put(u->terms, stm->binders[0], sum ? term_add(a, b) : term_op2(op, a, b));
}

static void learn(Landed *u, const Stm *stm) {
  const Exp *exp = stm->exp;
  for (int i = 0; i < stm->binder_count; i++)
    map_put(u->hidden, stm->binders[i], stm);
  if (stm->binders[0]->type.rank == 0 && exp->kind == EXP_OP) learn_op(u, stm);
  if (stm->binders[0]->type.rank == 0 && exp->kind == EXP_ATOM)
    map_put(u->terms, stm->binders[0], known_term(u, exp->u.atom.atom));
  for (int i = 0; exp->kind == EXP_ASSERT && i < exp->u.assert.atom_count; i++)
    if (stm->binders[i]->type.rank == 0)
      map_put(u->terms, stm->binders[i], known_term(u, exp->u.assert.atoms[i]));
}

typedef struct Hidden {
  const Landed *update;
  bool found;
} Hidden;

static void see_hidden(void *state, const Var *var) {
  Hidden *h = state;
  h->found = h->found || map_has(h->update->hidden, var);
}

// Does the host know it before the value is made?
static bool is_known(const Landed *u, const Term *t) {
  Hidden h = { u, false };
  term_each_var(t, see_hidden, &h);
  return !h.found;
}

// ---- the value on its way to the update

typedef struct ValueUses {
  CoreVisitor visitor;
  const Var *var;
  int count;
} ValueUses;

static void count_value(CoreVisitor *v, Atom a) {
  ValueUses *uses = v->state;
  uses->count += a.kind == ATOM_VAR && a.u.var == uses->var;
}

static void count_in_body(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

static int uses_in_exp(const Exp *exp, const Var *var) {
  ValueUses uses = { .visitor = { .atom = count_value, .body = count_in_body },
                     .var = var };
  uses.visitor.state = &uses;
  core_visit_exp(&uses.visitor, exp);
  return uses.count;
}

// The value under another name; NULL: it is no such statement.
static const Var *renamed(const Stm *stm, const Var *value) {
  const Exp *exp = stm->exp;
  bool same = exp->kind == EXP_ATOM ||
              (exp->kind == EXP_RESHAPE && exp->u.reshape.rank == value->type.rank);
  if (same) return stm->binders[0];
  for (int i = 0; exp->kind == EXP_ASSERT && i < exp->u.assert.atom_count; i++) {
    Atom a = exp->u.assert.atoms[i];
    if (a.kind == ATOM_VAR && a.u.var == value) return stm->binders[i];
  }
  return NULL;
}

static int uses_in_body(const Body *body, const Var *var) {
  int uses = 0;
  for (int i = 0; i < body->stm_count; i++)
    uses += uses_in_exp(body->stms[i].exp, var);
  for (int i = 0; i < body->result_count; i++)
    uses += body->results[i].kind == ATOM_VAR && body->results[i].u.var == var;
  return uses;
}

// The statement that alone uses what the one at `position` has made; -1: there are others, or none.
static int only_user(Landed *u, const Body *body, int position) {
  for (int i = position + 1; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (uses_in_exp(stm->exp, u->value)) {
      const Var *other = renamed(stm, u->value);
      if (uses_in_body(body, u->value) != 1) return -1;
      if (!other) return i;
      u->value = other;
    }
    learn(u, stm);
  }
  return -1;
}

// ---- the update

static int space_index(const SegOp *seg, const Term *t) {
  for (int i = 0; i < seg->dim_count; i++)
    if (t->kind == TERM_VAR && t->u.var == seg->dims[i].index) return i;
  return -1;
}

// m[i, j], in the order of the space
static bool is_element(const Landed *u, const Exp *exp) {
  if (exp->kind != EXP_INDEX || exp->u.index.checked ||
      exp->u.index.array.u.var != u->value || u->value->type.rank != u->seg->dim_count)
    return false;
  for (int i = 0; i < u->seg->dim_count; i++) {
    const DimIndex *dim = &exp->u.index.dims[i];
    if (dim->is_slice || space_index(u->seg, known_term(u, dim->start)) != i)
      return false;
  }
  return true;
}

static bool note_check(Landed *u, const Stm *stm) {
  const Exp *exp = stm->exp;
  Landing *l = u->landing;
  if (l->check_count == MOST_CHECKS) return false;
  LandingCheck *check = &l->checks[l->check_count++];
  *check =
      (LandingCheck){ .exp = exp,
                      .condition = known_term(u, exp->u.assert.condition),
                      .values = new_array(const Term *, exp->u.assert.value_count + 1),
                      .loc = stm->loc };
  bool known = is_known(u, check->condition);
  for (int i = 0; i < exp->u.assert.value_count; i++) {
    check->values[i] = known_term(u, exp->u.assert.values[i]);
    known = known && is_known(u, check->values[i]);
  }
  return known;
}

// Does the scatter's body compute places and take the value's element to there?
static bool only_copies(Landed *u) {
  const Body *body = u->seg->body;
  Atom stored = body->results[body->result_count - 1];
  bool found = false;
  for (int i = 0; i < u->seg->dim_count; i++)
    map_put(u->hidden, u->seg->dims[i].index, u->seg);
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    bool element = is_element(u, stm->exp);
    found |= element && stored.kind == ATOM_VAR && stored.u.var == stm->binders[0];
    learn(u, stm);
    if (stm->exp->kind == EXP_ASSERT && !note_check(u, stm)) return false;
    if (!element && stm->exp->kind != EXP_ASSERT && stm->exp->kind != EXP_ATOM &&
        stm->exp->kind != EXP_OP)
      return false;
  }
  return found;
}

// 0 <= start + stride * k < dim, for all k < width
static const Term *is_within(const Term *start, int64_t by, const Term *width,
                             const Term *dim) {
  const Term *end = term_add(start, term_mul(term_sub(width, term_i64(1)), term_i64(by)));
  return term_and(term_at_most(term_i64(0), by < 0 ? end : start),
                  term_less(by < 0 ? start : end, dim));
}

static const Term *fits_in(const View *v) {
  const Term *fits = term_bool(true);
  for (int d = 0; d < v->tensor->rank; d++) {
    int walked = -1;
    for (int k = 0; k < v->rank; k++)
      if (v->dim[k] == d) walked = k;
    int64_t by = walked < 0 ? 1 : v->stride[walked]->u.constant.u.i;
    const Term *width = walked < 0 ? term_i64(1) : v->shape[walked];
    fits = term_and(fits, is_within(v->start[d], by, width, v->tensor->dims[d]));
  }
  return fits;
}

static bool find_place(Landed *u, const Tensor *tensor, const Var *value) {
  const SegOp *seg = u->seg;
  View *v = &u->landing->view;
  const Term **index = new_array(const Term *, tensor->rank + 1);
  const Var **vars = new_array(const Var *, seg->dim_count + 1);
  for (int d = 0; d < tensor->rank; d++)
    index[d] = known_term(u, seg->body->results[d]);
  for (int k = 0; k < seg->dim_count; k++)
    vars[k] = seg->dims[k].index;
  if (!view_by_index(tensor, index, vars, view_shape(value->type), seg->dim_count, v))
    return false;
  bool known = true;
  for (int d = 0; d < tensor->rank; d++)
    known = known && is_known(u, v->start[d]);
  for (int k = 0; k < v->rank; k++)
    known = known && is_known(u, v->shape[k]);
  u->landing->fits = fits_in(v);
  return known;
}

// ---- the array

static bool is_all_of_tensor(const View *v) {
  const Tensor *t = v->tensor;
  if (!t || v->rank != t->rank) return false;
  for (int d = 0; d < v->rank; d++)
    if (v->dim[d] != d || !term_is_i64(v->start[d], 0) || !term_is_i64(v->stride[d], 1) ||
        !term_same(v->shape[d], t->dims[d]))
      return false;
  return true;
}

// As kernels know it; NULL: it lies as no tensor does.
static const Tensor *tensor_of(Code *host, const Var *array) {
  const Arr *arr = map_get(host->arrays, array);
  if (!arr || !arr->mem || !host_is_plain(arr)) return NULL;
  const View *known = map_get(host->views, array);
  if (!known) return kern_host_tensor(host->lower->c, code_kern_host(host), array);
  if (!is_all_of_tensor(known) || !known->tensor->host || known->tensor->of) return NULL;
  const Arr *root = map_get(host->arrays, known->tensor->host);
  return root && root->mem == arr->mem && host_is_plain(root) ? known->tensor : NULL;
}

static bool is_update(const Exp *exp) {
  if (exp->kind != EXP_SEG) return false;
  const SegOp *seg = exp->u.seg;
  return seg->kind == SEG_SCATTER && seg->dest_count == 1 && seg->dests[0].inside &&
         seg->dests[0].index_count == atom_type(seg->dests[0].dest).rank &&
         seg->dests[0].dest.kind == ATOM_VAR;
}

static void find_for(Code *host, const Body *body, int position, const Var *value) {
  Landed u = { .host = host,
               .value = value,
               .terms = map_new(NULL),
               .hidden = map_new(NULL),
               .landing = new_node(Landing, .made = false) };
  for (int i = 0; i < body->stms[position].binder_count; i++)
    map_put(u.hidden, body->stms[position].binders[i], value);
  int user = only_user(&u, body, position);
  if (user < 0 || !is_update(body->stms[user].exp)) return;
  u.seg = body->stms[user].exp->u.seg;
  Atom dest = u.seg->dests[0].dest;
  const Tensor *tensor = tensor_of(host, dest.u.var);
  if (!tensor || !code_dies(host, dest, body, user)) return;
  const Mem *mem = code_array(host, dest)->mem;
  if (code_memory_read_between(host, mem, body, position, user)) return;
  if (!only_copies(&u) || !find_place(&u, tensor, value)) return;
  u.landing->updated = body->stms[user].binders[0];
  map_put(host->landings, value, u.landing);
  map_put(host->landings, u.landing->updated, u.landing);
}

// A place that came from outside of the branch: what follows must not read the array.
static void keep_if_last(Code *host, const Body *body, int position, const Var *value) {
  const Landing *landing = landing_of(host, value);
  const Mem *mem = landing_array(host, landing)->mem;
  if (code_memory_used_after(host, mem, body, position))
    map_remove(host->landings, value);
}

int landing_last_update(const Body *body) {
  int last = body->stm_count - 1;
  while (last >= 0 && !is_update(body->stms[last].exp))
    last--;
  return last;
}

void landing_find(Code *host, const Body *body, int position, int last_update) {
  const Stm *stm = &body->stms[position];
  ExpKind kind = stm->exp->kind;
  if (!host->lower->machine->in_place) return;
  if (kind != EXP_SEG && kind != EXP_GUARD && kind != EXP_IF) return;
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *binder = stm->binders[i];
    if (binder->type.rank == 0 || (kind == EXP_SEG && i < stm->exp->u.seg->dest_count))
      continue;
    if (landing_of(host, binder))
      keep_if_last(host, body, position, binder);
    else if (position < last_update)
      find_for(host, body, position, binder);
  }
}

// ---- branches

Landing *landing_of(Code *host, const Var *binder) {
  return map_get(host->landings, binder);
}

static const Stm *definition(const Body *body, const Var *var) {
  for (int i = 0; i < body->stm_count; i++)
    for (int k = 0; k < body->stms[i].binder_count; k++)
      if (body->stms[i].binders[k] == var) return &body->stms[i];
  return NULL;
}

void landing_pass(Code *inner, Landing *landing, const Body *branch, Atom result) {
  if (!landing || result.kind != ATOM_VAR || uses_in_body(branch, result.u.var) != 1)
    return;
  const Stm *stm = definition(branch, result.u.var);
  if (!stm) return;
  if (stm->exp->kind == EXP_ATOM)
    landing_pass(inner, landing, branch, stm->exp->u.atom.atom);
  else
    map_put(inner->landings, result.u.var, landing);
}

void landing_is_made(Landing *landing) { landing->made = true; }

// ---- code

static const ImpExp *on_host(Code *host, const Term *t) {
  KernCode kc = { .k = host, .values = map_new(NULL), .memory = map_new(NULL) };
  return lower_scalar(&kc, t);
}

const Arr *landing_array(Code *host, const Landing *landing) {
  return code_array(host, atom_var(landing->view.tensor->host));
}

const Arr *landing_place(Code *host, Landing *landing) {
  if (landing->place) return landing->place;
  const View *v = &landing->view;
  const Arr *all = landing_array(host, landing);
  Arr *place = mem_copy(all, sizeof *all);
  const ImpExp **shape = new_array(const ImpExp *, v->rank + 1);
  const ImpExp **strides = new_array(const ImpExp *, v->rank + 1);
  for (int d = 0; d < all->rank; d++)
    place->offset =
        imp_add(place->offset, imp_mul(on_host(host, v->start[d]), all->strides[d]));
  for (int k = 0; k < v->rank; k++) {
    shape[k] = on_host(host, v->shape[k]);
    strides[k] = imp_mul(all->strides[v->dim[k]], on_host(host, v->stride[k]));
  }
  place->rank = v->rank;
  place->shape = shape;
  place->strides = strides;
  return landing->place = place;
}

static void own(Code *host, const Landing *landing) {
  const Mem *mem = landing_array(host, landing)->mem;
  imp_add_stm(host->b, (ImpStm){ .kind = IMP_UNIQUE, .u.share = { mem, mem } });
}

bool landing_take(Code *host, KernSeg *seg, const Var *binder, int result) {
  Landing *landing = landing_of(host, binder);
  if (!landing || seg->share != SHARE_NONE) return false;
  const Tensor *tensor = landing->view.tensor;
  const Kern *kern =
      lower_has_other_names(host, seg->kern, tensor->host)
          ? NULL
          : kern_in_view(host->lower->c, seg->kern, seg->outs[result], &landing->view);
  if (!kern) {
    map_remove(host->landings, binder);
    return false;
  }
  own(host, landing);
  seg->kern = kern;
  seg->outs[result] = tensor;
  landing->made = true;
  return true;
}

const ImpExp *landing_fits(Code *host, const Landing *landing) {
  return on_host(host, landing->fits);
}

void landing_copy(Code *host, Landing *landing, const Arr *made, CoreType type) {
  const Arr *to = landing_place(host, landing);
  if (arr_same(made, to)) return;
  Arr apart = *made;
  if (made->mem == to->mem) {
    apart = host_alloc(host, "apart", type);
    host_copy(host, &apart, made);
  }
  own(host, landing);
  ImpBuilder b;
  Code inner = code_inner(host, &b);
  host_copy(&inner, to, &apart);
  imp_if(host->b, landing_fits(host, landing), b.block);
}

// ---- the update

static void check(Code *host, const LandingCheck *c, const ImpExp *unless) {
  int count = c->exp->u.assert.value_count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  for (int i = 0; i < count; i++)
    values[i] = on_host(host, c->values[i]);
  const ImpExp *holds = on_host(host, c->condition);
  if (unless) holds = imp_op2(OP_LOR, unless, holds);
  code_check(host, holds, c->exp->u.assert.parts, values, count, c->loc);
}

bool landing_update(Code *host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  const Landing *landing = landing_of(host, stm->binders[0]);
  if (!landing || !landing->made || landing->updated != stm->binders[0]) return false;
  const ImpExp *empty = space_is_empty(seg->dims, seg->dim_count);
  for (int i = 0; i < landing->check_count; i++)
    check(host, &landing->checks[i], empty);
  Arr all = host_overwrite(host, stm->binders[0], landing_array(host, landing)->mem);
  code_bind(host, stm->binders[0], all);
  return true;
}
