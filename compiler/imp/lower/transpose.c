// Arrays in another order of their dimensions, on GPUs: copies of them, and memory for results.
//
// Whether arrays are laid out anew is a parameter of the program, `layout`: their strides are
// `layout ? those in the chosen order : those as is`, and with layout=0 no copy is made.
#include "imp/lower/lower.h"

enum { FEW_ELEMENTS = 4 };

// ---- index functions that depend on the parameter

const ImpExp *layout_chosen(Lower *lower) {
  Name name = name_of(lower->c->names, "layout");
  if (!lower->layout)
    lower->layout = var_new(lower->c, name, type_scalar(PRIM_BOOL), (Loc){ 0 });
  return imp_var(lower->layout);
}

void layout_declare(Lower *lower, ImpBlock *block) {
  if (!lower->layout) return;
  const ImpExp *value =
      imp_op2(OP_NE, tuning_param(lower, "layout", "switch", 0, 1), imp_i64(0));
  ImpBuilder b = { .c = lower->c };
  imp_add_stm(&b,
              (ImpStm){ .kind = IMP_DECLARE, .u.declare = { lower->layout, value, 0 } });
  vec_each (const ImpStm **, stm, block)
    vec_push(&b.block, *stm);
  *block = b.block;
}

// The only conditions that select strides and offsets are the parameter's.
static const ImpExp *resolved(const ImpExp *e, bool on) {
  if (e->kind != IMP_SELECT) return e;
  return on ? e->u.select.a : e->u.select.b;
}

Arr layout_resolved(const Arr *arr, bool on) {
  Arr out = *arr;
  const ImpExp **strides = new_array(const ImpExp *, arr->rank + 1);
  for (int d = 0; d < arr->rank; d++)
    strides[d] = resolved(arr->strides[d], on);
  out.strides = strides;
  out.offset = resolved(arr->offset, on);
  return out;
}

static const ImpExp *select_layout(Lower *lower, const ImpExp *on, const ImpExp *off) {
  bool same = on == off || (on->kind == IMP_CONST && imp_is_i64(off, on->u.constant.u.i));
  return same ? on : imp_select(layout_chosen(lower), on, off);
}

// `on` with the parameter, else `off`; both lie in the same memory.
static Arr either(Lower *lower, const Arr *on, const Arr *off) {
  Arr out = *on;
  const ImpExp **strides = new_array(const ImpExp *, on->rank + 1);
  for (int d = 0; d < on->rank; d++)
    strides[d] = select_layout(lower, on->strides[d], off->strides[d]);
  out.strides = strides;
  out.offset = select_layout(lower, on->offset, off->offset);
  return out;
}

int layout_unit_dim(const Arr *arr) {
  for (int d = arr->rank - 1; d >= 0; d--)
    if (imp_is_i64(resolved(arr->strides[d], true), 1)) return d;
  return -1;
}

static bool is_plain_if(const Arr *arr, bool on) {
  Arr as = layout_resolved(arr, on);
  return host_is_plain(&as);
}

bool layout_dense_if_off(const Arr *arr) { return is_plain_if(arr, false); }

bool layout_may_be_dense(const Arr *arr) {
  return is_plain_if(arr, false) || is_plain_if(arr, true);
}

// Dense memory, the dimensions in the given order.
static Arr in_order(const Mem *mem, const Arr *like, const int *order) {
  const ImpExp **shape = new_array(const ImpExp *, like->rank + 1);
  const ImpExp **strides = new_array(const ImpExp *, like->rank + 1);
  for (int i = 0; i < like->rank; i++)
    shape[i] = like->shape[order[i]];
  Arr permuted = arr_dense(mem, like->elem, shape, like->rank);
  for (int i = 0; i < like->rank; i++)
    strides[order[i]] = permuted.strides[i];
  permuted.shape = like->shape;
  permuted.strides = strides;
  return permuted;
}

// ---- copies for kernels
//
// Note [Copies are made once].  A copy belongs to the scope of the host's code that binds the
// array, and is made where it is first wanted.  If that is in an inner scope (a branch, a loop,
// another version), it is made there unless its slot holds it already.  It is released with the
// last use of the array.

struct LaidCopy {
  const Var *var;
  const int *order;
  Arr to;           // with the parameter
  const Arr *seen;  // by kernels
  bool sure;        // made before every later use
};

HostScope *host_scope(ImpBuilder *b, Map *arrays, Map *owned, HostScope *parent) {
  HostScope *scope = new (HostScope);
  *scope = (HostScope){ .b = b, .arrays = arrays, .owned = owned, .parent = parent };
  return scope;
}

static HostScope *owner_of(const Code *host, const Var *var) {
  const Arr *arr = map_get(host->arrays, var);
  HostScope *scope = host->scope;
  while (scope->parent && map_get(scope->parent->arrays, var) == arr)
    scope = scope->parent;
  return scope;
}

static bool same_order(const int *a, const int *b, int rank) {
  for (int i = 0; i < rank; i++)
    if (a[i] != b[i]) return false;
  return true;
}

static LaidCopy *find_copy(const HostScope *scope, const Var *var, const int *order) {
  for (LaidCopy *const *copy = scope->copies.at;
       copy < scope->copies.at + scope->copies.count; copy++)
    if ((*copy)->var == var && same_order((*copy)->order, order, var->type.rank))
      return *copy;
  return NULL;
}

static LaidCopy *new_copy(Code *host, HostScope *owner, const Var *var,
                          const int *order) {
  const Arr *arr = map_get(host->arrays, var);
  Code at = *host;
  at.b = owner->b;
  at.owned = owner->owned;
  LaidCopy *copy = new (LaidCopy);
  copy->var = var;
  copy->order = order;
  const Mem *mem = host_declare_mem(&at, var->name, arr->elem);
  map_put(host->lower->copy_of, mem, arr->mem);
  copy->to = in_order(mem, arr, order);
  Arr as_is = layout_resolved(arr, false), seen = either(host->lower, &copy->to, &as_is);
  copy->seen = mem_copy(&seen, sizeof seen);
  copy->sure = owner->b == host->b;
  vec_push(&owner->copies, copy);
  return copy;
}

// if layout { copy in the new order } else { the array itself }
static void make_copy(Code *host, ImpBuilder *b, const LaidCopy *copy) {
  ImpBuilder on = { .c = b->c, .loc = b->loc }, off = on;
  Code then_code = *host;
  then_code.b = &on;
  Arr from = layout_resolved(map_get(host->arrays, copy->var), true);
  imp_add_stm(&on, (ImpStm){ .kind = IMP_ALLOC,
                             .u.alloc = { copy->to.mem, arr_count(&copy->to) } });
  host_copy(&then_code, &copy->to, &from);
  imp_add_stm(&off, (ImpStm){ .kind = IMP_SHARE, .u.share = { copy->to.mem, from.mem } });
  const ImpExp *layout = layout_chosen(host->lower);
  imp_add_stm(b, (ImpStm){ .kind = IMP_IF, .u.cond = { layout, on.block, off.block } });
}

const Arr *layout_copy(Code *host, const Var *var, const int *order) {
  HostScope *owner = owner_of(host, var);
  LaidCopy *copy = find_copy(owner, var, order);
  if (copy && copy->sure) return copy->seen;
  if (!copy) copy = new_copy(host, owner, var, order);
  if (copy->sure) {
    make_copy(host, host->b, copy);
    return copy->seen;
  }
  ImpStm once = { .kind = IMP_ONCE, .u.once = { .mem = copy->to.mem } };
  ImpBuilder b = { .c = host->b->c, .loc = host->b->loc };
  make_copy(host, &b, copy);
  once.u.once.body = b.block;
  imp_add_stm(host->b, once);
  return copy->seen;
}

// ---- results

static bool few_elements(CoreType row) {
  int64_t count = 1;
  for (int d = 0; d < row.rank; d++) {
    if (row.dims[d].kind == ATOM_VAR) return false;
    count *= row.dims[d].u.constant.u.i > FEW_ELEMENTS ? FEW_ELEMENTS + 1
                                                       : row.dims[d].u.constant.u.i;
  }
  return count <= FEW_ELEMENTS;
}

// Does whoever takes it want neighbouring points side by side, whatever the order of the rest?
static bool wants_points_inside(Code *host, const Var *binder, int space) {
  const int *perm = map_get(host->layouts, binder);
  return host->lower->machine->side_by_side && perm && space > 0 &&
         perm[binder->type.rank - 1] == space - 1;
}

const Arr *layout_out(Code *host, const Var *binder, int space) {
  if (wants_points_inside(host, binder, space)) return host_map_out(host, binder);
  Arr dense = host_alloc(host, binder->name, binder->type);
  int row = dense.rank - space, *order = new_array(int, dense.rank + 1);
  if (!host->lower->machine->side_by_side || row <= 0 ||
      few_elements(type_peel(binder->type, space)))
    return mem_copy(&dense, sizeof dense);
  for (int i = 0; i < dense.rank; i++)
    order[i] = i < row ? space + i : i - row;
  Arr permuted = in_order(dense.mem, &dense, order),
      out = either(host->lower, &permuted, &dense);
  return mem_copy(&out, sizeof out);
}

// The array as it is with or without the parameter, in `dense`.
static ImpBlock make_dense(Code *host, const Arr *dense, const Arr *arr, bool on) {
  ImpBuilder b = { .c = host->b->c, .loc = host->b->loc };
  Arr from = layout_resolved(arr, on);
  Code code = *host;
  code.b = &b;
  if (host_is_plain(&from)) {
    imp_add_stm(&b, (ImpStm){ .kind = IMP_SHARE, .u.share = { dense->mem, arr->mem } });
    return b.block;
  }
  imp_add_stm(&b,
              (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { dense->mem, arr_count(dense) } });
  host_copy(&code, dense, &from);
  return b.block;
}

Arr layout_dense(Code *host, const Arr *arr) {
  const Mem *mem = host_declare_mem(host, "dense", arr->elem);
  Arr dense = arr_dense(mem, arr->elem, arr->shape, arr->rank);
  ImpBlock on = make_dense(host, &dense, arr, true),
           off = make_dense(host, &dense, arr, false);
  const ImpExp *layout = layout_chosen(host->lower);
  imp_add_stm(host->b, (ImpStm){ .kind = IMP_IF, .u.cond = { layout, on, off } });
  return dense;
}
