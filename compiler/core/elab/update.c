// Updates along paths: e with [i].f[j] = v.
//
// An array of records is a record of arrays, so that [i].f[j] of the array is [i, j] of its part f:
// indices wait until the path's fields have led to one array.
#include "core/elab/elaborate.h"

static const Val *update(const Update *u, const Val *target, const AstDimVec *dims,
                         int at);

static bool has_slice(const AstDimVec *dims) {
  vec_each (const AstDim *, dim, dims)
    if (dim->is_slice) return true;
  return false;
}

static const Val *update_field(const Update *u, const Val *record, const AstDimVec *dims,
                               int at) {
  const Val **items = new_array(const Val *, record->u.record.count);
  for (int i = 0; i < record->u.record.count; i++) {
    bool chosen = record->u.record.names[i] == u->path->at[at].field;
    items[i] = record->u.record.items[i];
    if (chosen) items[i] = update(u, items[i], dims, at + 1);
  }
  return val_record(record->u.record.names, items, record->u.record.count);
}

static const Val *update_slice(const Update *u, const Val *array, const AstDimVec *dims,
                               int at) {
  static const AstDimVec none = { 0 };
  const Val *slice = elab_index(u->e, u->s, array, dims, NULL);
  return elab_update_array(u, array, dims, update(u, slice, &none, at));
}

// `target[dims]` updated from the step `at` on, within `target`.
static const Val *update(const Update *u, const Val *target, const AstDimVec *dims,
                         int at) {
  bool last = at == u->path->count;
  if (last && dims->count == 0) return u->value;
  if (last) return elab_update_array(u, target, dims, u->value);
  if (u->path->at[at].field) return update_field(u, target, dims, at);
  if (has_slice(dims)) return update_slice(u, target, dims, at);
  AstDimVec all = { 0 };
  vec_each (const AstDim *, dim, dims)
    vec_push(&all, *dim);
  vec_each (const AstDim *, dim, &u->path->at[at].dims)
    vec_push(&all, *dim);
  return update(u, target, &all, at + 1);
}

const Val *elab_update(const Update *u, const Val *target) {
  static const AstDimVec none = { 0 };
  return update(u, target, &none, 0);
}
