// Atoms, types, variables, and bodies under construction.
#include "core/core.h"

// memcpy must not see NULL, which an empty array may be.
static void *copy_items(const void *items, int count, size_t size) {
  return count ? mem_copy(items, (size_t)count * size) : NULL;
}

Atom atom_var(const Var *var) { return (Atom){ .kind = ATOM_VAR, .u.var = var }; }
Atom atom_const(Prim constant) {
  return (Atom){ .kind = ATOM_CONST, .u.constant = constant };
}
Atom atom_i64(int64_t value) { return atom_const(prim_i64(value)); }
Atom atom_bool(bool value) { return atom_const(prim_bool(value)); }

bool atom_equal(Atom a, Atom b) {
  if (a.kind != b.kind) return false;
  if (a.kind == ATOM_VAR) return a.u.var == b.u.var;
  return prim_identical(a.u.constant, b.u.constant);
}

bool atom_is_i64(Atom a, int64_t value) {
  return a.kind == ATOM_CONST && a.u.constant.type == PRIM_I64 &&
         a.u.constant.u.i == value;
}

CoreType atom_type(Atom a) {
  return a.kind == ATOM_VAR ? a.u.var->type : type_scalar(a.u.constant.type);
}

CoreType type_scalar(PrimType elem) { return (CoreType){ .elem = elem }; }

CoreType type_array(PrimType elem, int rank, const Atom *dims) {
  if (!rank) return type_scalar(elem);
  return (CoreType){ elem, rank, copy_items(dims, rank, sizeof *dims) };
}

CoreType type_row(CoreType type) { return type_peel(type, 1); }

CoreType type_of_rows(CoreType row, Atom count) {
  Atom *dims = new_array(Atom, row.rank + 1);
  dims[0] = count;
  for (int i = 0; i < row.rank; i++)
    dims[i + 1] = row.dims[i];
  return (CoreType){ row.elem, row.rank + 1, dims };
}

CoreType type_peel(CoreType type, int count) {
  if (count >= type.rank) return type_scalar(type.elem);
  return (CoreType){ type.elem, type.rank - count, type.dims + count };
}

bool type_same_shape(CoreType a, CoreType b) {
  if (a.elem != b.elem || a.rank != b.rank) return false;
  for (int i = 0; i < a.rank; i++) {
    if (!atom_equal(a.dims[i], b.dims[i])) return false;
  }
  return true;
}

const Var *var_new(Compiler *c, Name name, CoreType type, Loc loc) {
  return new_node(Var, .name = name, .id = c->next_id++, .type = type, .loc = loc);
}

const Var *var_like(Compiler *c, const Var *var) {
  return var_new(c, var->name, var->type, var->loc);
}

Builder builder_new(Compiler *c, Loc loc) { return (Builder){ .c = c, .loc = loc }; }

Atom core_let(Builder *b, const char *name, const Exp *exp) {
  int count = exp_result_count(exp);
  if (count != 1) bug(b->c, b->loc, "core_let of an expression with %d results", count);
  Atom result;
  core_let_n(b, name, exp, &result);
  return result;
}

void core_let_n(Builder *b, const char *name, const Exp *exp, Atom *out) {
  int count = exp_result_count(exp);
  Name interned = name_of(b->c->names, name);
  Var **fresh = new_array(Var *, count);
  const Var **binders = new_array(const Var *, count);
  for (int i = 0; i < count; i++) {
    binders[i] = fresh[i] =
        new_node(Var, .name = interned, .id = b->c->next_id++, .loc = b->loc);
    out[i] = atom_var(binders[i]);
  }
  // The types may mention the binders themselves, so these come first.
  const CoreType *types = exp_types(b->c, exp, binders, &count);
  for (int i = 0; i < count; i++)
    fresh[i]->type = types[i];
  core_let_vars(b, binders, count, exp);
}

void core_let_vars(Builder *b, const Var **binders, int count, const Exp *exp) {
  core_add_stm(b, (Stm){ binders, count, exp, b->loc, b->attrs });
}

void core_add_stm(Builder *b, Stm stm) { vec_push(&b->stms, stm); }

void core_add_body(Builder *b, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    vec_push(&b->stms, body->stms[i]);
}

const Body *core_body(const Builder *b, const Atom *results, int count) {
  return new_node(Body, .stms = copy_items(b->stms.at, b->stms.count, sizeof(Stm)),
                  .stm_count = b->stms.count,
                  .results = copy_items(results, count, sizeof(Atom)),
                  .result_count = count);
}

DimIndex dim_fix(Atom position) {
  return (DimIndex){ .start = position, .count = atom_i64(1), .stride = atom_i64(1) };
}

DimIndex dim_slice(Atom start, Atom count, Atom stride) {
  return (DimIndex){ .is_slice = true, .start = start, .count = count, .stride = stride };
}

bool dim_is_whole(const DimIndex *dim, Atom size) {
  return dim->is_slice && atom_is_i64(dim->start, 0) && atom_is_i64(dim->stride, 1) &&
         atom_equal(dim->count, size);
}

Lambda lambda_new(const Var *const *params, int count, const Body *body) {
  return (Lambda){ copy_items(params, count, sizeof *params), count, body };
}

bool lambda_is_identity(const Lambda *fn) {
  const Body *body = fn->body;
  if (body->stm_count || body->result_count != fn->param_count) return false;
  for (int i = 0; i < fn->param_count; i++) {
    if (!atom_equal(body->results[i], atom_var(fn->params[i]))) return false;
  }
  return true;
}

int lambda_param_index(const Lambda *fn, Atom a) {
  for (int i = 0; i < fn->param_count; i++)
    if (atom_equal(a, atom_var(fn->params[i]))) return i;
  return -1;
}

// The function of the map with its parameters in the order of those of `op`, whose values it maps
// over, each once; false if it does not, or if it reads other elements of them.
static bool in_order_of(const Lambda *op, const Soac *map, Lambda *fn) {
  const Var **params = new_array(const Var *, op->param_count + 1);
  if (map->array_count != op->param_count) return false;
  for (int i = 0; i < map->array_count; i++) {
    int at = lambda_param_index(op, map->arrays[i]);
    if (at < 0 || params[at]) return false;
    params[at] = map->fn.params[i];
  }
  VarVec free = core_free_body(map->fn.body);
  vec_each (const Var **, v, &free)
    if (lambda_param_index(op, atom_var(*v)) >= 0) return false;
  *fn = (Lambda){ params, op->param_count, map->fn.body };
  return true;
}

const Soac *lambda_vector_operator(const Lambda *op) {
  const Body *body = op->body;
  if (body->stm_count != 1 || body->stms[0].exp->kind != EXP_MAP) return NULL;
  const Stm *stm = &body->stms[0];
  if (body->result_count != stm->binder_count) return NULL;
  for (int i = 0; i < body->result_count; i++)
    if (!atom_equal(body->results[i], atom_var(stm->binders[i]))) return NULL;
  Soac *map = mem_copy(&stm->exp->u.soac, sizeof *map);
  return in_order_of(op, map, &map->fn) ? map : NULL;
}

static const Var *element_var(Builder *b, const char *name, Atom array) {
  return var_new(b->c, name_of(b->c->names, name), type_row(atom_type(array)), b->loc);
}

Lambda lambda_identity_over(Builder *b, const char *name, const Atom *arrays, int count) {
  const Var **elems = new_array(const Var *, count);
  Atom *same = new_array(Atom, count);
  for (int i = 0; i < count; i++) {
    elems[i] = element_var(b, name, arrays[i]);
    same[i] = atom_var(elems[i]);
  }
  Builder none = builder_new(b->c, b->loc);
  return lambda_new(elems, count, core_body(&none, same, count));
}

const Exp *exp_reduced_rows(Builder *b, ExpKind kind, Atom count, Atom width, RedOp op,
                            const Atom *arrays) {
  const Var **params = new_array(const Var *, op.count);
  Atom *rows = new_array(Atom, op.count), *reduced = new_array(Atom, op.count);
  for (int i = 0; i < op.count; i++) {
    params[i] = element_var(b, "column", arrays[i]);
    rows[i] = atom_var(params[i]);
  }
  Lambda identity = lambda_identity_over(b, "x", rows, op.count);
  Soac reduce = { width, identity, rows, op.count, mem_copy(&op, sizeof op), 1 };
  Builder fn = builder_new(b->c, b->loc);
  core_let_n(&fn, "reduced", exp_soac(kind, reduce), reduced);
  Lambda of_row = lambda_new(params, op.count, core_body(&fn, reduced, op.count));
  return exp_map(count, of_row, arrays, op.count);
}

int soac_red_count(const Soac *soac) {
  int count = 0;
  for (int i = 0; i < soac->op_count; i++)
    count += soac->ops[i].count;
  return count;
}

static Atom size_op(Builder *b, PrimOp op, Atom x, Atom y) {
  Prim result;
  if (x.kind == ATOM_CONST && y.kind == ATOM_CONST &&
      prim_apply(op, (Prim[]){ x.u.constant, y.u.constant }, &result)) {
    return atom_const(result);
  }
  return core_let(b,
                  op == OP_MUL   ? "product"
                  : op == OP_ADD ? "sum"
                                 : "difference",
                  exp_op2(op, x, y));
}

Atom size_add(Builder *b, Atom x, Atom y) {
  if (atom_is_i64(x, 0)) return y;
  if (atom_is_i64(y, 0)) return x;
  return size_op(b, OP_ADD, x, y);
}

Atom size_sub(Builder *b, Atom x, Atom y) {
  if (atom_is_i64(y, 0)) return x;
  if (atom_equal(x, y)) return atom_i64(0);
  return size_op(b, OP_SUB, x, y);
}

Atom size_mul(Builder *b, Atom x, Atom y) {
  if (atom_is_i64(x, 0) || atom_is_i64(y, 0)) return atom_i64(0);
  if (atom_is_i64(x, 1)) return y;
  if (atom_is_i64(y, 1)) return x;
  return size_op(b, OP_MUL, x, y);
}
