// What several workers do on the host: parts of spaces, arrays gathered, borders and rows sent.
#include "imp/lower/host.h"

// Of no rows, or a negative number of them, each worker has all.
void host_stm_split(Code *k, const Stm *stm) {
  Atom width = stm->exp->u.split.width;
  for (int i = 0; i < SPLIT_RESULTS; i++) {
    bool counts = i == SPLIT_COUNT || i == SPLIT_MOST;
    code_bind_scalar(k, stm->binders[i], NULL);
    if (!counts || code_is_size(k, width))
      map_put(k->sizes, stm->binders[i], stm->binders[i]);
  }
  const Guard *guard = stm->exp->u.split.guard;
  const ImpExp *moved = guard->moved ? imp_size_exp(guard->moved) : imp_i64(0);
  Atom workers = stm->exp->u.split.workers;
  imp_add_stm(k->b,
              (ImpStm){ .kind = IMP_SPLIT,
                        .u.split = { guard, imp_size_exp(guard->par), imp_atom(width),
                                     moved, stm->binders,
                                     workers.kind == ATOM_VAR ? imp_atom(workers) : NULL,
                                     stm->exp->u.split.layout } });
}

void host_stm_gather(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom value = exp->u.gather.value;
  CoreType type = atom_type(value);
  bool is_scalar = type.rank == 0;
  const ImpExp *room = is_scalar ? NULL : room_rows(k, value);
  Arr from = { 0 };
  if (room)
    from = *code_array(k, value);
  else if (!is_scalar)
    from = host_dense(k, code_array(k, value), type);
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_GATHER,
                              .u.gather = { .to = to,
                                            .from = from.mem,
                                            .value = is_scalar ? imp_atom(value) : NULL,
                                            .workers = imp_atom(exp->u.gather.workers),
                                            .total = imp_atom(exp->u.gather.total),
                                            .start = imp_atom(exp->u.gather.start),
                                            .count = imp_atom(exp->u.gather.count),
                                            .row = arr.strides[0],
                                            .room = room,
                                            .each = atom_equal(exp->u.gather.total,
                                                               exp->u.gather.workers),
                                            .site = exp->u.gather.site,
                                            .layout = exp->u.gather.layout } });
  code_bind(k, binder, arr);
}

void host_stm_border(Code *k, const Stm *stm, const Body *body, int position) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom block = exp->u.border.block;
  const ImpExp *room = room_rows(k, block);
  Arr from = room ? *code_array(k, block)
                  : host_dense(k, code_array(k, block), atom_type(block));
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  if (room) {
    const ImpExp *before = imp_let(k->b, "rows", border_rows_before(exp));
    arr.offset = imp_mul(imp_sub(room, before), arr.strides[0]);
  }
  const ImpExp *later = underway_begin(k, stm, body, position, &arr);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_GATHER,
                              .u.gather = { .to = to,
                                            .from = from.mem,
                                            .workers = imp_atom(exp->u.border.workers),
                                            .total = imp_atom(exp->u.border.total),
                                            .start = imp_atom(exp->u.border.start),
                                            .count = imp_atom(exp->u.border.count),
                                            .row = arr.strides[0],
                                            .before = imp_atom(exp->u.border.before),
                                            .after = imp_atom(exp->u.border.after),
                                            .room = room,
                                            .ring = exp->u.border.ring,
                                            .site = exp->u.border.site,
                                            .layout = exp->u.border.layout,
                                            .later = later } });
  code_bind(k, binder, arr);
}

// The product of some sizes of an array.
static const ImpExp *sizes_product(CoreType type, int first, int end) {
  const ImpExp *const *shape = code_shape(type), *product = imp_i64(1);
  for (int i = first; i < end; i++)
    product = imp_mul(product, shape[i]);
  return product;
}

void host_stm_fetch(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom block = exp->u.fetch.block;
  Arr from = host_dense(k, code_array(k, block), atom_type(block));
  CoreType type = atom_type(block);
  int dim = exp->u.fetch.dim;
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  imp_add_stm(
      k->b, (ImpStm){ .kind = IMP_GATHER,
                      .u.gather = {
                          .to = to,
                          .from = from.mem,
                          .workers = imp_atom(exp->u.fetch.workers),
                          .total = imp_atom(exp->u.fetch.total),
                          .start = imp_atom(exp->u.fetch.start),
                          .count = imp_atom(exp->u.fetch.count),
                          .row = dim ? sizes_product(type, 1, type.rank) : arr.strides[0],
                          .outer = dim ? sizes_product(type, 1, dim) : NULL,
                          .columns = dim ? sizes_product(type, dim, dim + 1) : NULL,
                          .unit = dim ? sizes_product(type, dim + 1, type.rank) : NULL,
                          .first = imp_atom(exp->u.fetch.first),
                          .rows = imp_atom(exp->u.fetch.rows),
                          .site = exp->u.fetch.site } });
  code_bind(k, binder, arr);
}

void host_stm_deliver(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  Atom block = exp->u.deliver.block, at = exp->u.deliver.positions,
       values = exp->u.deliver.values;
  CoreType points = atom_type(at);
  Arr from = host_dense(k, code_array(k, block), atom_type(block));
  const Mem *positions = host_dense(k, code_array(k, at), points).mem;
  const Mem *put = host_dense(k, code_array(k, values), atom_type(values)).mem;
  const ImpExp *count = imp_i64(1), *unit = imp_i64(1);
  const ImpExp *const *shape = code_shape(atom_type(values));
  for (int i = 0; i < points.rank; i++)
    count = imp_mul(count, shape[i]);
  for (int i = points.rank; i < atom_type(values).rank; i++)
    unit = imp_mul(unit, shape[i]);
  const Mem *to = host_declare_mem(k, binder->name, binder->type.elem);
  Arr arr = arr_dense(to, binder->type.elem, code_shape(binder->type), binder->type.rank);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_GATHER,
                              .u.gather = { .to = to,
                                            .from = from.mem,
                                            .workers = imp_atom(exp->u.deliver.workers),
                                            .total = imp_atom(exp->u.deliver.total),
                                            .start = imp_atom(exp->u.deliver.start),
                                            .count = imp_atom(exp->u.deliver.count),
                                            .row = arr.strides[0],
                                            .positions = positions,
                                            .values = put,
                                            .points = count,
                                            .unit = unit,
                                            .site = exp->u.deliver.site,
                                            .layout = exp->u.deliver.layout } });
  code_bind(k, binder, arr);
}
