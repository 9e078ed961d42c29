// Results of maps in the place of arrays that die with the kernel: kern/in_place/in_place.c says
// where that saves copies, here is which arrays may be overwritten.
#include "kern/in_place/in_place.h"
#include "imp/lower/kern.h"

typedef struct Readers {
  Code *host;
  const Var *array;
  const Mem *mem;
  bool others;
} Readers;

static void see_reader(KernVisitor *v, Access access, bool stores) {
  Readers *r = v->state;
  const Var *read = tensor_root(access.tensor)->host;
  const Arr *arr = read ? map_get(r->host->arrays, read) : NULL;
  (void)stores;
  if (arr && read != r->array && arr->mem == r->mem) r->others = true;
}

bool lower_has_other_names(Code *host, const Kern *kern, const Var *array) {
  Readers r = { host, array, code_array(host, atom_var(array))->mem, false };
  KernVisitor v = { .access = see_reader, .state = &r };
  kern_visit_block(&v, kern->body);
  return r.others;
}

// Have they the same elements in the same order, but for first dimensions of one element?
static bool same_elements(CoreType a, CoreType b) {
  int rank = a.rank < b.rank ? a.rank : b.rank;
  if (a.elem != b.elem) return false;
  for (int d = 0; d < a.rank - rank; d++)
    if (!atom_is_i64(a.dims[d], 1)) return false;
  for (int d = 0; d < b.rank - rank; d++)
    if (!atom_is_i64(b.dims[d], 1)) return false;
  for (int d = 1; d <= rank; d++)
    if (!atom_equal(a.dims[a.rank - d], b.dims[b.rank - d])) return false;
  return true;
}

typedef struct Read {
  const Var *binder;
  const Tensor *tensors[8];  // of the same elements
  int count;
} Read;

static void see_alike(KernVisitor *v, Access access, bool stores) {
  Read *r = v->state;
  const Var *host = access.tensor->host;
  if (stores || !host || !same_elements(host->type, r->binder->type)) return;
  for (int i = 0; i < r->count; i++)
    if (r->tensors[i]->host == host) return;
  if (r->count < 8) r->tensors[r->count++] = access.tensor;
}

static const Kern *in_place_of(Code *host, const Kern *kern, const Tensor *out,
                               const Tensor *from, const Body *body, int position) {
  const Arr *arr = map_get(host->arrays, from->host);
  if (!arr || !host_is_plain(arr) || map_get(host->layouts, out->host) ||
      !code_dies(host, atom_var(from->host), body, position) ||
      lower_has_other_names(host, kern, from->host))
    return NULL;
  const SegOp *seg = body->stms[position].exp->u.seg;
  const Kern *made = kern_without_copy(host->lower->c, kern, out, from);
  if (made || from->rank != out->rank) return made;
  return kern_in_place(host->lower->c, kern, out, from, seg->dim_count);
}

const Mem *lower_in_place(Code *host, KernSeg *seg, const Var *binder, int result,
                          const Body *body, int position) {
  Read read = { .binder = binder };
  KernVisitor v = { .access = see_alike, .state = &read };
  if (seg->kind != SEG_MAP || !binder->type.rank) return NULL;
  kern_visit_block(&v, seg->kern->body);
  for (int i = 0; i < read.count; i++) {
    const Kern *kern =
        in_place_of(host, seg->kern, seg->outs[result], read.tensors[i], body, position);
    if (!kern) continue;
    seg->kern = kern;
    return code_array(host, atom_var(read.tensors[i]->host))->mem;
  }
  return NULL;
}
