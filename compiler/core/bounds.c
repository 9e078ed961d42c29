#include "core/bounds.h"
#include "core/message.h"

// start:end, and :stride unless that is 1; or an index.
static void dim_text(Message *m, Builder *b, const DimIndex *dim) {
  message_value(m, dim->start);
  if (!dim->is_slice) return;
  message_text(m, ":");
  message_value(m, size_add(b, dim->start, size_mul(b, dim->count, dim->stride)));
  if (atom_is_i64(dim->stride, 1)) return;
  message_text(m, ":");
  message_value(m, dim->stride);
}

static Message bounds_text(Builder *b, CoreType type, const DimIndex *dims) {
  Message m = message_new();
  while (type.rank > 1 && dim_is_whole(&dims[type.rank - 1], type.dims[type.rank - 1]))
    type.rank--;
  message_text(&m, "Index [");
  for (int i = 0; i < type.rank; i++) {
    if (i) message_text(&m, ", ");
    dim_text(&m, b, &dims[i]);
  }
  message_text(&m, "] out of bounds for array of shape ");
  message_shape(&m, type);
  message_text(&m, ".");
  message_end(&m);
  return m;
}

Atom bounds_condition(Builder *b, CoreType type, const DimIndex *dims) {
  Atom ok = atom_bool(true);
  for (int i = 0; i < type.rank; i++) {
    const DimIndex *dim = &dims[i];
    if (dim->is_slice) continue;
    Atom low = core_let(b, "low", exp_op2(OP_LE, atom_i64(0), dim->start));
    Atom high = core_let(b, "high", exp_op2(OP_LT, dim->start, type.dims[i]));
    Atom both = core_let(b, "inside", exp_op2(OP_LAND, low, high));
    ok = ok.kind == ATOM_CONST ? both : core_let(b, "ok", exp_op2(OP_LAND, ok, both));
  }
  return ok;
}

const Exp *bounds_assert(Builder *b, CoreType type, const DimIndex *dims,
                         const Atom *values, int count) {
  Atom ok = bounds_condition(b, type, dims);
  Message m = bounds_text(b, type, dims);
  const Atom *atoms = mem_copy(values, (size_t)count * sizeof *values);
  return new_node(
      Exp, .kind = EXP_ASSERT,
      .u.assert = { ok, m.parts.at, m.values.at, m.values.count, atoms, count });
}
