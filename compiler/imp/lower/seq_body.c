// Sequential code in kernels, through Kern: a body becomes a block of axes, loads and stores, which
// is lowered where it stands.  Its arrays are tensors whose memory is known here.
#include "imp/lower/kern.h"
#include "kern/from/from_flat.h"
#include "kern/tidy/tidy.h"

typedef struct Bridge {
  Code *k;
  KernBuilder b;
  From from;
  KernCode kc;
} Bridge;

// ---- arrays of Imp as views

// Of what does not lie row by row: a tensor that does not, either.
static const int *backwards(int rank) {
  int *order = new_array(int, rank + 1);
  for (int d = 0; d < rank; d++)
    order[d] = rank - 1 - d;
  return order;
}

static const Tensor *tensor_for(Bridge *s, Name name, CoreType type, const Arr *arr) {
  Tensor *t = mem_copy(tensor_new(s->k->lower->c, name, type.elem, view_shape(type),
                                  type.rank, TENSOR_GLOBAL),
                       sizeof *t);
  if (!arr_is_dense(arr)) t->order = backwards(type.rank);
  Memory *memory = new_node(Memory, .copies = new_array(const Arr *, 1));
  memory->copies[0] = arr;
  map_put(s->kc.memory, t, memory);
  return t;
}

static const Term *term_of(Bridge *s, const ImpExp *e) {
  const ImpExp *known = imp_named(s->k->b, "known", e);
  return known->kind == IMP_CONST ? term_const(known->u.constant)
                                  : term_var(known->u.var);
}

static const Term *const *terms_of(Bridge *s, const ImpExp *const *es, int count) {
  const Term **out = from_scalars(count);
  for (int i = 0; i < count; i++)
    out[i] = term_of(s, es[i]);
  return out;
}

// Both count the elements of arrays of numbers by a place: an offset, and a stride per dimension.
static View view_for(Bridge *s, const Var *var, const Arr *arr) {
  if (!arr->start) return view_of(tensor_for(s, var->name, var->type, arr));
  return (View){ .elem = arr->elem,
                 .rank = arr->rank,
                 .shape = view_shape(var->type),
                 .start = terms_of(s, &arr->offset, 1),
                 .dim = new_array(int, arr->rank + 1),
                 .stride = terms_of(s, arr->strides, arr->rank),
                 .first = term_of(s, arr->start),
                 .step = arr->step ? term_of(s, arr->step) : NULL };
}

// Has only one of these arrays that memory?
static bool is_alone(Bridge *s, const VarVec *vars, const Mem *mem) {
  int count = 0;
  vec_each (const Var *const *, v, vars)
    count += (*v)->type.rank > 0 && code_array(s->k, atom_var(*v))->mem == mem;
  return count == 1;
}

static void bind_free(Bridge *s, const Body *body, bool takes) {
  VarVec free = core_free_body(body);
  vec_each (const Var **, v, &free) {
    if ((*v)->type.rank == 0) continue;
    const Arr *arr = code_array(s->k, atom_var(*v));
    View view = view_for(s, *v, arr);
    from_bind(&s->from, *v, view);
    if (takes && view.tensor && map_has(s->k->owned, arr->mem) &&
        is_alone(s, &free, arr->mem))
      map_put(s->from.owned, view.tensor, view.tensor);
  }
}

// ---- views as arrays of Imp

static const ImpExp *const *lower_all(Bridge *s, const Term *const *terms, int count) {
  const ImpExp **out = new_array(const ImpExp *, count + 1);
  for (int i = 0; i < count; i++)
    out[i] = lower_scalar(&s->kc, terms[i]);
  return out;
}

static const Arr *arr_of(Bridge *s, const View *view) {
  Arr out = { .elem = view->elem, .offset = imp_i64(0) };
  const ImpExp *unit[] = { imp_i64(1) }, *const *from = unit;
  if (view->tensor) {
    out = *memory_at(&s->kc, view->tensor);
    from = out.strides;
    out.start = out.step = NULL;
  } else {
    out.start = lower_scalar(&s->kc, view->first);
    out.step = view->step ? lower_scalar(&s->kc, view->step) : NULL;
  }
  for (int d = 0; d < (view->tensor ? view->tensor->rank : 1); d++)
    out.offset =
        imp_add(out.offset, imp_mul(lower_scalar(&s->kc, view->start[d]), from[d]));
  const ImpExp **strides = new_array(const ImpExp *, view->rank + 1);
  for (int i = 0; i < view->rank; i++)
    strides[i] = imp_mul(from[view->dim[i]], lower_scalar(&s->kc, view->stride[i]));
  out.rank = view->rank;
  out.shape = lower_all(s, view->shape, view->rank);
  out.strides = strides;
  return mem_copy(&out, sizeof out);
}

// ---- bodies

// takes: what dies in the body may be overwritten.
static void lower_body(Code *k, const Body *body, bool takes, const ImpExp **scalars,
                       const Arr **dests) {
  int count = body->result_count;
  Bridge s = { .k = k, .b = kern_builder(k->lower->c, k->b->loc) };
  s.from = (From){ .c = k->lower->c,
                   .b = &s.b,
                   .views = map_new(NULL),
                   .sizes = map_new(k->sizes),
                   .owned = map_new(NULL),
                   .wanted = map_new(NULL),
                   .copies = &k->lower->copies,
                   .scalars = k->lower->scalars };
  s.kc = (KernCode){ .k = k, .values = map_new(NULL), .memory = map_new(NULL) };
  bind_free(&s, body, takes);
  const Term **terms = from_scalars(count);
  const View **places = from_places(count);
  for (int i = 0; i < count; i++) {
    if (!dests[i]) continue;
    CoreType type = atom_type(body->results[i]);
    View view =
        view_of(tensor_for(&s, name_of(k->lower->c->names, "out"), type, dests[i]));
    places[i] = mem_copy(&view, sizeof view);
  }
  from_body(&s.from, body, terms, places);
  lower_block(&s.kc, kern_added_products(k->lower->c, kern_block(&s.b, NULL, 0)));
  for (int i = 0; i < count; i++) {
    if (atom_type(body->results[i]).rank == 0)
      scalars[i] = lower_scalar(&s.kc, terms[i]);
    else if (!dests[i])
      dests[i] = arr_of(&s, places[i]);
  }
}

void seq_body(Code *k, const Body *body, const ImpExp **scalars, const Arr **dests) {
  lower_body(k, body, true, scalars, dests);
}

static void seq_alone(Code *k, const Stm *stm) {
  Atom *results = new_array(Atom, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++)
    results[i] = atom_var(stm->binders[i]);
  const Body body = { stm, 1, results, stm->binder_count };
  const ImpExp **scalars = new_array(const ImpExp *, stm->binder_count + 1);
  const Arr **made = new_array(const Arr *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++)
    made[i] = map_get(k->wanted, stm->binders[i]);
  lower_body(k, core_rename_body(k->lower->c, subst_new(), &body), false, scalars, made);
  for (int i = 0; i < stm->binder_count; i++) {
    if (stm->binders[i]->type.rank == 0)
      code_bind_scalar(k, stm->binders[i], scalars[i]);
    else
      code_bind(k, stm->binders[i], *made[i]);
  }
}

void seq_stm(Code *k, const Stm *stm) {
  k->b->loc = stm->loc;
  const ImpExp *scalar = seq_scalar(k, stm);
  if (scalar) {
    code_bind_scalar(k, stm->binders[0], scalar);
    code_note_size(k, stm);
  } else if (stm->exp->kind == EXP_ASSERT)
    code_assert(k, stm);
  else if (!code_view(k, stm))
    seq_alone(k, stm);
}
