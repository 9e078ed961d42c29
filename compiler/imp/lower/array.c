// Arrays in code under construction: where they lie, views, copies, allocation.
#include "imp/lower/lower.h"

enum { PRIVATE_ELEMENTS = 64 };  // larger arrays of an item lie in global scratch memory

const Arr *code_array(Code *k, Atom a) {
  const Arr *arr = a.kind == ATOM_VAR ? map_get(k->arrays, a.u.var) : NULL;
  if (!arr)
    bug(k->lower->c, k->b->loc, "array without a place: %s",
        a.kind == ATOM_VAR ? a.u.var->name : "constant");
  return arr;
}

void code_bind(Code *k, const Var *var, Arr arr) {
  map_put(k->arrays, var, mem_copy(&arr, sizeof arr));
  map_put(k->inside, var, var);
}

void code_bind_scalar(Code *k, const Var *var, const ImpExp *value) {
  map_put(k->inside, var, var);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_DECLARE, .u.declare = { var, value, 0 } });
}

Atom code_atom(Code *k, const ImpExp *width) {
  if (width->kind == IMP_CONST) return atom_const(width->u.constant);
  if (width->kind == IMP_VAR) return atom_var(width->u.var);
  return atom_var(imp_declare(k->b, "width", width));
}

const Var *code_index(Code *k, const char *name) {
  const Var *index = var_new(k->lower->c, name_of(k->lower->c->names, name),
                             type_scalar(PRIM_I64), k->b->loc);
  map_put(k->inside, index, index);
  return index;
}

const ImpExp *const *code_shape(CoreType type) {
  const ImpExp **shape = new_array(const ImpExp *, type.rank + 1);
  for (int i = 0; i < type.rank; i++)
    shape[i] = imp_atom(type.dims[i]);
  return shape;
}

// ---- assertions

void code_assert(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  int count = exp->u.assert.value_count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  for (int i = 0; i < count; i++)
    values[i] = imp_atom(exp->u.assert.values[i]);
  code_check(k, imp_atom(exp->u.assert.condition), exp->u.assert.parts, values, count,
             stm->loc);
  for (int i = 0; i < exp->u.assert.atom_count; i++) {
    const Var *binder = stm->binders[i];
    if (binder->type.rank > 0)
      code_bind(k, binder, *code_array(k, exp->u.assert.atoms[i]));
    else
      code_bind_scalar(k, binder, imp_atom(exp->u.assert.atoms[i]));
  }
}

// ---- views

static bool view_index(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (stm->binders[0]->type.rank == 0) return false;
  const Arr *arr = code_array(k, exp->u.index.array);
  if (exp->u.index.checked) code_check_bounds(k, arr, exp->u.index.dims, stm->loc);
  code_bind(k, stm->binders[0], arr_slice(arr, exp->u.index.dims));
  return true;
}

// A copy of `from`, made only where the item is active: elsewhere it may lie out of bounds.
static Arr dense_copy(Code *k, const Arr *from, CoreType type) {
  LocalRows *rows = k->rows;
  k->rows = NULL;  // there words of items alternate
  Arr dense = code_alloc(k, "dense", type);
  k->rows = rows;
  if (!k->active) {
    code_copy(k, &dense, from);
    return dense;
  }
  ImpBuilder b;
  Code inner = code_inner(k, &b);
  inner.active = NULL;
  code_copy(&inner, &dense, from);
  imp_if(k->b, k->active, b.block);
  return dense;
}

// A reshape of memory with gaps needs a copy.
static void bind_reshape(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Arr *from = code_array(k, exp->u.reshape.array);
  const ImpExp *const *shape = code_shape(stm->binders[0]->type);
  Arr out;
  if (!arr_reshape(from, shape, exp->u.reshape.rank, &out)) {
    // Same rank: a change of size names only, which any strides survive.
    if (from->rank == exp->u.reshape.rank) {
      out = *from;
      out.shape = shape;
    } else {
      Arr dense = dense_copy(k, from, atom_type(exp->u.reshape.array));
      arr_reshape(&dense, shape, exp->u.reshape.rank, &out);
    }
  }
  code_bind(k, stm->binders[0], out);
}

bool code_view(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (exp->kind == EXP_INDEX) return view_index(k, stm);
  if (exp->kind == EXP_RESHAPE && stm->binders[0]->type.rank > 0) {
    bind_reshape(k, stm);
    return true;
  }
  if (exp->kind == EXP_REARRANGE) {
    code_bind(k, stm->binders[0],
              arr_permute(code_array(k, exp->u.rearrange.array), exp->u.rearrange.perm));
    return true;
  }
  if (exp->kind == EXP_ATOM && stm->binders[0]->type.rank > 0) {
    code_bind(k, stm->binders[0], *code_array(k, exp->u.atom.atom));
    return true;
  }
  return false;
}

// ---- memory

static bool known_on_host(const Code *k, CoreType type) {
  for (int i = 0; i < type.rank; i++)
    if (type.dims[i].kind == ATOM_VAR && map_has(k->inside, type.dims[i].u.var))
      return false;
  return true;
}

bool code_is_private(CoreType type) {
  int64_t count = 1;
  for (int d = 0; d < type.rank && count <= PRIVATE_ELEMENTS; d++)
    count *= type.dims[d].kind == ATOM_CONST ? type.dims[d].u.constant.u.i
                                             : PRIVATE_ELEMENTS + 1;
  return count > 0 && count <= PRIVATE_ELEMENTS;
}

static Arr alloc_private(Code *k, const char *name, CoreType type, const ImpExp *count) {
  const Mem *mem = mem_new(k->lower->c, name, MEM_PRIVATE, type.elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_LOCAL, .u.alloc = { mem, count } });
  return arr_dense(mem, type.elem, code_shape(type), type.rank);
}

// Scratch memory that the launch provides, or, if only the item knows the size,
// a piece of the arena.
static const Mem *alloc_scratch(Code *k, const char *name, PrimType elem,
                                const ImpExp *count, bool known) {
  const Mem *mem = mem_new(k->lower->c, name, known ? MEM_SCRATCH : MEM_ARENA, elem);
  if (known)
    vec_push(k->scratch, (Scratch){ .mem = mem, .count = count });
  else
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_LOCAL, .u.alloc = { mem, count } });
  return mem;
}

// Neighbouring items have neighbouring words.
static Arr alloc_local(Code *k, const char *name, PrimType elem,
                       const ImpExp *const *dims, int rank, const ImpExp *count) {
  const Mem *mem = mem_new(k->lower->c, name, MEM_LOCAL, elem);
  const ImpExp *size = k->rows->size, *bytes = imp_i64(prim_size_bytes(elem));
  vec_push(k->scratch, (Scratch){ .mem = mem, .count = imp_mul(count, k->rows->items) });
  k->rows->bytes = imp_add(k->rows->bytes, imp_mul(count, bytes));
  Arr arr = arr_dense(mem, elem, dims, rank);
  const ImpExp **strides = new_array(const ImpExp *, rank + 1);
  for (int d = 0; d < rank; d++)
    strides[d] = imp_mul(arr.strides[d], size);
  arr.strides = strides;
  arr.offset = k->rows->item;
  return arr;
}

Arr code_alloc(Code *k, const char *name, CoreType type) {
  if (!k->scratch) return host_alloc(k, name, type);
  const ImpExp *count = imp_i64(1);
  for (int i = 0; i < type.rank; i++)
    count = imp_mul(count, imp_atom(type.dims[i]));
  bool constant = count->kind == IMP_CONST;
  Arr arr;
  if (constant && count->u.constant.u.i <= PRIVATE_ELEMENTS &&
      count->u.constant.u.i > 0) {
    arr = alloc_private(k, name, type, count);
  } else if (k->rows && !constant && known_on_host(k, type)) {
    arr = alloc_local(k, name, type.elem, code_shape(type), type.rank, count);
  } else {
    const Mem *mem = alloc_scratch(k, name, type.elem, count, known_on_host(k, type));
    arr = arr_dense(mem, type.elem, code_shape(type), type.rank);
  }
  map_put(k->owned, arr.mem, arr.mem);
  return arr;
}

static bool exp_known_on_host(const Code *k, const ImpExp *e);

static const Mem *vector_memory(Code *k, const char *name, MemSpace space, PrimType elem,
                                int lanes) {
  Mem *mem = mem_copy(mem_new(k->lower->c, name, space, elem), sizeof(Mem));
  mem->lanes = lanes;
  return mem;
}

const Mem *code_memory(Code *k, const char *name, PrimType elem, const ImpExp *count,
                       int lanes) {
  bool constant = count->kind == IMP_CONST && count->u.constant.u.i > 0;
  bool few = constant && count->u.constant.u.i <= PRIVATE_ELEMENTS;
  bool known = exp_known_on_host(k, count);
  MemSpace space = few ? MEM_PRIVATE : known ? MEM_SCRATCH : MEM_ARENA;
  const Mem *mem = vector_memory(k, name, space, elem, lanes);
  const ImpExp *numbers = lanes ? imp_mul(count, imp_i64(lanes)) : count;
  if (space == MEM_SCRATCH)
    vec_push(k->scratch, (Scratch){ .mem = mem, .count = numbers });
  else
    imp_add_stm(k->b,
                (ImpStm){ .kind = IMP_LOCAL, .u.alloc = { mem, few ? count : numbers } });
  return mem;
}

bool code_alloc_row(Code *k, const char *name, PrimType elem, const ImpExp *const *dims,
                    int rank, const ImpExp *count, Arr *out) {
  if (!k->rows || count->kind == IMP_CONST || !exp_known_on_host(k, count)) return false;
  *out = alloc_local(k, name, elem, dims, rank, count);
  return true;
}

// for i_0 < n_0 { for i_1 < n_1 { ... to[i] = from[i] } }
static void copy_loops(Code *k, ImpBuilder *b, const Arr *to, const Arr *from,
                       const ImpExp **at, int dim) {
  if (dim == to->rank) {
    imp_store(b, to->mem, arr_index(to, at), arr_load(from, arr_index(from, at)));
    return;
  }
  const Var *i = var_new(b->c, name_of(b->c->names, "i"), type_scalar(PRIM_I64), b->loc);
  ImpBuilder inner = { .c = b->c, .loc = b->loc };
  at[dim] = imp_var(i);
  copy_loops(k, &inner, to, from, at, dim + 1);
  imp_for(b, i, to->shape[dim], inner.block);
}

static bool exp_known_on_host(const Code *k, const ImpExp *e) {
  const ImpExp *operands[3];
  if (e->kind == IMP_LOAD || e->kind == IMP_ITEM) return false;
  if (e->kind == IMP_VAR) return !map_has(k->inside, e->u.var);
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    if (!exp_known_on_host(k, operands[i])) return false;
  return true;
}

// Scratch memory of an array's shape.
static Arr alloc_like(Code *k, const Arr *arr) {
  const ImpExp *count = arr_count(arr);
  const Mem *mem =
      alloc_scratch(k, "apart", arr->elem, count, exp_known_on_host(k, count));
  return arr_dense(mem, arr->elem, arr->shape, arr->rank);
}

const Arr *code_set_apart(Code *k, const Arr *arr) {
  Arr apart = alloc_like(k, arr);
  code_copy(k, &apart, arr);
  return mem_copy(&apart, sizeof apart);
}

// ---- copies

bool arr_same(const Arr *a, const Arr *b) {
  if (a == b) return true;
  if (a->mem != b->mem || a->rank != b->rank) return false;
  if (a->offset != b->offset) return false;
  for (int i = 0; i < a->rank; i++)
    if (a->strides[i] != b->strides[i]) return false;
  return true;
}

void code_copy(Code *k, const Arr *to, const Arr *from) {
  if (arr_same(to, from)) return;
  if (!k->scratch) {
    host_copy(k, to, from);
    return;
  }
  if (to->mem ==
      from->mem) {  // another view of the memory that is written, e.g. its reversal
    code_copy(k, to, code_set_apart(k, from));
    return;
  }
  const ImpExp **at = new_array(const ImpExp *, to->rank + 1);
  copy_loops(k, k->b, to, from, at, 0);
}

// ---- overwriting

// A statement that reads a block of memory, and the variable by which it does.
typedef struct MemRead {
  int at;
  const Var *by;
} MemRead;

typedef struct UseSearch {
  CoreVisitor visitor;
  Code *k;
  const Mem *mem;
  const Var *found;
} UseSearch;

static void search_body(CoreVisitor *v, const Body *body) {
  const UseSearch *s = v->state;
  if (!s->found) core_visit_body(v, body);
}

static void search_atom(CoreVisitor *v, Atom a) {
  UseSearch *s = v->state;
  if (a.kind != ATOM_VAR) return;
  const Arr *arr = map_get(s->k->arrays, a.u.var);
  if (arr && s->mem && arr->mem == s->mem) s->found = a.u.var;
}

static UseSearch use_search(Code *k, const Mem *mem) {
  return (UseSearch){ .visitor = { .atom = search_atom, .body = search_body },
                      .k = k,
                      .mem = mem };
}

// The first such read; where there is none, `by` is NULL.
static MemRead next_read(Code *k, const Mem *mem, const Body *body, int after,
                         int before) {
  UseSearch s = use_search(k, mem);
  s.visitor.state = &s;
  int at = after + 1;
  for (; at < before; at++) {
    core_visit_exp(&s.visitor, body->stms[at].exp);
    if (s.found) break;
  }
  return (MemRead){ at, s.found };
}

bool code_memory_read_between(Code *k, const Mem *mem, const Body *body, int after,
                              int before) {
  return next_read(k, mem, body, after, before).by;
}

static bool lies_in(Code *k, const Mem *mem, const Var *var) {
  const Arr *arr = map_get(k->arrays, var);
  return arr && arr->mem == mem;
}

bool code_memory_still_read(Code *k, const Mem *mem, const Body *body, int position,
                            Map *reads) {
  const MemRead *known = map_get(reads, mem);
  if (known && known->at > position && lies_in(k, mem, known->by)) return true;
  MemRead *read = new_array(MemRead, 1);
  *read = next_read(k, mem, body, position, body->stm_count);
  map_put(reads, mem, read->by ? read : NULL);
  return read->by;
}

static bool is_returned(Code *k, const Mem *mem, const Body *body) {
  UseSearch s = use_search(k, mem);
  s.visitor.state = &s;
  for (int i = 0; i < body->result_count; i++)
    search_atom(&s.visitor, body->results[i]);
  return s.found;
}

bool code_memory_still_used(Code *k, const Mem *mem, const Body *body, int position,
                            Map *reads) {
  return is_returned(k, mem, body) ||
         code_memory_still_read(k, mem, body, position, reads);
}

bool code_memory_used_after(Code *k, const Mem *mem, const Body *body, int position) {
  return is_returned(k, mem, body) ||
         code_memory_read_between(k, mem, body, position, body->stm_count);
}

static bool same_memory(Code *k, const Mem *mem, Atom a) {
  const Arr *arr = a.kind == ATOM_VAR ? map_get(k->arrays, a.u.var) : NULL;
  return arr && mem && arr->mem == mem;
}

bool code_mentions(Code *k, const Mem *mem, const Body *body) {
  UseSearch s = use_search(k, mem);
  s.visitor.state = &s;
  core_visit_body(&s.visitor, body);
  return s.found;
}

// Does the seg-op read the memory at other points than it writes,
// or is it two destinations at once?
static bool seg_reads(Code *k, const Mem *mem, const SegOp *seg) {
  int dests = 0;
  for (int d = 0; d < seg->dest_count; d++)
    dests += same_memory(k, mem, seg->dests[d].dest);
  for (int h = 0; h < seg->hist_count; h++)
    for (int i = 0; i < seg->hists[h].op.count && !seg->hists[h].chained; i++)
      dests += same_memory(k, mem, seg->hists[h].dests[i]);
  return dests > 1 || code_mentions(k, mem, seg->body) ||
         (seg->after && code_mentions(k, mem, seg->after->body));
}

static bool reads_itself(Code *k, const Mem *mem, const Exp *exp) {
  if (exp->kind == EXP_UPDATE) return same_memory(k, mem, exp->u.update.value);
  return exp->kind == EXP_SEG && seg_reads(k, mem, exp->u.seg);
}

bool code_dies(Code *k, Atom array, const Body *body, int position) {
  const Mem *mem = code_array(k, array)->mem;
  return mem && map_has(k->owned, mem) && !code_memory_used_after(k, mem, body, position);
}

bool code_may_overwrite(Code *k, Atom array, const Body *body, int position) {
  const Mem *mem = code_array(k, array)->mem;
  return !reads_itself(k, mem, body->stms[position].exp) &&
         code_dies(k, array, body, position);
}

bool code_loop_takes(Code *k, const Exp *loop, int i, const Body *body, int position) {
  Atom init = loop->u.loop.inits[i];
  if (init.kind != ATOM_VAR || !code_may_overwrite(k, init, body, position)) return false;
  const Mem *mem = code_array(k, init)->mem;
  for (int j = 0; j < loop->u.loop.param_count; j++)
    if (j != i && loop->u.loop.params[j]->type.rank > 0 &&
        same_memory(k, mem, loop->u.loop.inits[j]))
      return false;
  return !code_mentions(k, mem, loop->u.loop.body);
}

void code_note_copy(Code *k, Atom array) {
  bool owned = map_has(k->owned, code_array(k, array)->mem);
  const char *why =
      owned ? "it is read again later"
            : "it belongs to the caller or to code around, which may read it again";
  kern_note_copy(&k->lower->copies, (CopyNote){ k->b->loc, array.u.var->name, why });
}

Code code_inner(Code *k, ImpBuilder *b) {
  Code inner = *k;
  *b = (ImpBuilder){ .c = k->lower->c, .loc = k->b->loc };
  inner.b = b;
  inner.arrays = map_new(k->arrays);
  inner.sizes = map_new(k->sizes);
  inner.owned = map_new(NULL);
  inner.released = map_new(NULL);
  inner.wanted = map_new(NULL);
  if (k->views) inner.views = map_new(k->views);
  if (k->scope && !k->scratch)
    inner.scope = host_scope(b, inner.arrays, inner.owned, k->scope);
  return inner;
}

void code_call(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const ImpExp **args = new_array(const ImpExp *, exp->u.call.arg_count + 1);
  for (int i = 0; i < exp->u.call.arg_count; i++)
    args[i] = imp_atom(exp->u.call.args[i]);
  for (int i = 0; i < stm->binder_count; i++)
    code_bind_scalar(k, stm->binders[i], NULL);
  imp_add_stm(k->b,
              (ImpStm){ .kind = IMP_CALL,
                        .u.call = { exp->u.call.function, stm->binders, stm->binder_count,
                                    args, exp->u.call.arg_count } });
}

void code_add_loop(Code *k, const Exp *exp, ImpBlock body) {
  if (exp->u.loop.form == CORE_FOR)
    imp_for(k->b, exp->u.loop.index, imp_atom(exp->u.loop.bound), body);
  else
    imp_add_stm(k->b, (ImpStm){ .kind = IMP_WHILE,
                                .u.loop_while = {
                                    imp_var(exp->u.loop.params[exp->u.loop.while_param]),
                                    body } });
}
