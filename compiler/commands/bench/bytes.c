// What `#[bytes(e)]` on an entry point says of a call: the bytes that it moves.
#include "commands/bench/bench.h"

typedef struct Call {
  const Entry *entry;
  const Value *const *inputs;  // by parameter, without the sizes
} Call;

// The first dimension that names the size binds it.
static int64_t size_of_call(const Call *call, const Var *size) {
  int first = call->entry->size_count;
  for (int i = first; i < call->entry->param_count; i++) {
    CoreType type = call->entry->params[i]->type;
    for (int d = 0; d < type.rank; d++)
      if (type.dims[d].kind == ATOM_VAR && type.dims[d].u.var == size)
        return call->inputs[i - first]->shape[d];
  }
  return 0;
}

static double size_number(const Call *call, Atom a) {
  const Entry *entry = call->entry;
  if (a.kind == ATOM_CONST) return (double)a.u.constant.u.i;
  for (int i = entry->size_count; i < entry->param_count; i++)
    if (entry->params[i] == a.u.var)
      return (double)value_get(call->inputs[i - entry->size_count], 0).u.i;
  return (double)size_of_call(call, a.u.var);
}

static double evaluate(const Call *call, const SizeExp *e) {
  double a = e->a ? evaluate(call, e->a) : 0, b = e->b ? evaluate(call, e->b) : 0;
  switch (e->kind) {
  case SIZE_EXP_ATOM: return size_number(call, e->atom);
  case SIZE_EXP_ADD: return a + b;
  case SIZE_EXP_MUL: return a * b;
  case SIZE_EXP_MAX: return a > b ? a : b;
  }
  return 0;
}

double bench_bytes(const Entry *entry, const Value *const *inputs) {
  Call call = { entry, inputs };
  return entry->bytes ? evaluate(&call, entry->bytes) : 0;
}
