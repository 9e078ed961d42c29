// The host's code: scalars, views, launches, control, and who refers to which block of memory.
//
// Every block-holding reference (Mem) of an entry point is released when the entry returns; here
// references are released early, after the last use of what lies in their block, so that the pool
// can hand it out again (double buffering of loops comes from that).
#include "imp/lower/host.h"

// ---- memory

const Mem *host_declare_mem(Code *k, const char *name, PrimType elem) {
  const Mem *mem = mem_new(k->lower->c, name, MEM_GLOBAL, elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_DECLARE_MEM, .u.mem = { mem } });
  map_put(k->owned, mem, mem);
  return mem;
}

const Mem *host_mem(Code *k, const char *name, PrimType elem, const ImpExp *count) {
  const Mem *mem = host_declare_mem(k, name, elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_ALLOC, .u.alloc = { mem, count } });
  return mem;
}

Arr host_alloc(Code *k, const char *name, CoreType type) {
  const ImpExp *const *shape = code_shape(type);
  Arr arr = arr_dense(NULL, type.elem, shape, type.rank);
  arr.mem = host_mem(k, name, type.elem, arr_count(&arr));
  return arr;
}

void host_read(Code *k, const Var *var, const Mem *mem, const ImpExp *index) {
  code_bind_scalar(k, var, NULL);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_READ, .u.read = { var, mem, index } });
}

bool host_is_plain(const Arr *arr) { return arr_begins(arr) && arr_is_dense(arr); }

Arr host_dense(Code *k, const Arr *arr, CoreType type) {
  if (host_is_plain(arr)) return *arr;
  if (layout_may_be_dense(arr)) return layout_dense(k, arr);
  Arr dense = host_alloc(k, "dense", type);
  host_copy(k, &dense, arr);
  return dense;
}

Arr host_lying(Code *k, const Var *var, Atom a, const Arr *arr) {
  if (!room_of(k, var)) return host_dense(k, arr, atom_type(a));
  if (room_is_like(k, var, a)) return *arr;
  Arr roomy = room_alloc(k, var, atom_type(a));
  host_copy(k, &roomy, arr);
  return roomy;
}

Arr host_overwrite(Code *k, const Var *binder, const Mem *held) {
  const Mem *mem = host_declare_mem(k, binder->name, binder->type.elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_UNIQUE, .u.share = { mem, held } });
  return arr_dense(mem, binder->type.elem, code_shape(binder->type), binder->type.rank);
}

Arr host_take(Code *k, const Var *binder, Atom source, const Body *body, int position) {
  const Arr *from = code_array(k, source);
  if (!host_is_plain(from)) {
    Arr fresh = host_alloc(k, binder->name, binder->type);
    host_copy(k, &fresh, from);
    return fresh;
  }
  if (code_may_overwrite(k, source, body, position))
    return host_overwrite(k, binder, from->mem);
  code_note_copy(k, source);
  // A second reference, so that taking it copies.
  const Mem *held = host_declare_mem(k, "kept", from->elem);
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_SHARE, .u.share = { held, from->mem } });
  Arr copy = host_overwrite(k, binder, held);
  imp_release(k->b, held);
  return copy;
}

// ---- releasing

typedef struct Release {
  Code *k;
  const Body *body;
  int position;
  Map *reads;  // code_memory_still_read
} Release;

void host_release(Code *k, const Mem *mem) {
  if (map_has(k->released, mem)) return;
  map_put(k->released, mem, mem);
  imp_release(k->b, mem);
}

static void release_dead(void *state, const void *key, void *value) {
  Release *r = state;
  const Mem *mem = key;
  (void)value;
  if (map_has(r->k->released, mem)) return;
  const Mem *original = map_get(r->k->lower->copy_of, mem);
  if (original ? code_memory_still_read(r->k, original, r->body, r->position, r->reads)
               : code_memory_still_used(r->k, mem, r->body, r->position, r->reads))
    return;
  host_release(r->k, mem);
}

void host_release_all(void *state, const void *key, void *value) {
  (void)value;
  host_release(state, key);
}

// ---- other statements

static void host_table(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  const Mem *mem = host_declare_mem(k, binder->name, binder->type.elem);
  Prim *values = new_array(Prim, exp->u.array.count);
  for (int i = 0; i < exp->u.array.count; i++)
    values[i] = exp->u.array.atoms[i].u.constant;
  imp_add_stm(k->b, (ImpStm){ .kind = IMP_TABLE,
                              .u.table = { mem, values, exp->u.array.count } });
  code_bind(k, binder, arr_dense(mem, mem->elem, code_shape(binder->type), 1));
}

// Array code that is left on the host (literals of arrays): a kernel of one item.
static void single_item(Code *k, const Stm *stm) {
  const Arr **outs = new_array(const Arr *, stm->binder_count + 1);
  KernelCode *kernel = NULL;
  for (int i = 0; i < stm->binder_count; i++)
    outs[i] = host_out(k, stm->binders[i]);
  kernel = kernel_begin(k, stm->loc);
  for (int i = 0; i < stm->binder_count; i++)
    map_put(kernel->code.wanted, stm->binders[i], outs[i]);
  seq_stm(&kernel->code, stm);
  for (int i = 0; i < stm->binder_count; i++)
    code_copy(&kernel->code, outs[i],
              code_array(&kernel->code, atom_var(stm->binders[i])));
  kernel_end(
      k, kernel,
      (Launch){ .name = "single", .groups = imp_i64(1), .group_size = imp_i64(1) });
  for (int i = 0; i < stm->binder_count; i++)
    code_bind(k, stm->binders[i], *outs[i]);
}

static void host_index(Code *k, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (stm->binders[0]->type.rank > 0) {
    code_view(k, stm);
    return;
  }
  const Arr *arr = code_array(k, exp->u.index.array);
  if (exp->u.index.checked) code_check_bounds(k, arr, exp->u.index.dims, stm->loc);
  Arr element = arr_slice(arr, exp->u.index.dims);
  host_read(k, stm->binders[0], element.mem, element.offset);
}

// Kernels take arrays that they know no views of for dense.
static void host_reshape(Code *k, const Stm *stm) {
  const Var *binder = stm->binders[0];
  code_view(k, stm);
  const Arr *arr = code_array(k, atom_var(binder));
  if (!k->lower->machine->by_axes || host_is_plain(arr) ||
      kern_see_renamed(code_kern_host(k), stm))
    return;
  code_bind(k, binder, host_dense(k, arr, binder->type));
}

static void lower_host_stm(Code *k, const Stm *stm, const Body *body, int position) {
  k->b->loc = stm->loc;
  kern_see_host(k->lower->c, code_kern_host(k), stm);
  const ImpExp *scalar = stm->exp->kind == EXP_INDEX ? NULL : seq_scalar(k, stm);
  if (scalar) {
    code_bind_scalar(k, stm->binders[0], scalar);
    code_note_size(k, stm);
    return;
  }
  switch (stm->exp->kind) {
  case EXP_INDEX: host_index(k, stm); return;
  case EXP_RESHAPE: host_reshape(k, stm); return;
  case EXP_ATOM:
  case EXP_REARRANGE: code_view(k, stm); return;
  case EXP_ASSERT: code_assert(k, stm); return;
  case EXP_IF: host_stm_if(k, stm, body, position); return;
  case EXP_GUARD: host_stm_guard(k, stm, body, position); return;
  case EXP_LOOP: host_stm_loop(k, stm, body, position); return;
  case EXP_CALL: code_call(k, stm); return;
  case EXP_SEG:
    if (!landing_update(k, stm)) lower_seg(k, stm, body, position);
    return;
  case EXP_ARRAY:
    if (exp_is_table(stm->exp))
      host_table(k, stm);
    else
      single_item(k, stm);
    return;
  case EXP_SPLIT: host_stm_split(k, stm); return;
  case EXP_GATHER: host_stm_gather(k, stm); return;
  case EXP_BORDER: host_stm_border(k, stm, body, position); return;
  case EXP_FETCH: host_stm_fetch(k, stm); return;
  case EXP_DELIVER: host_stm_deliver(k, stm); return;
  case EXP_OP:
  case EXP_CONVERT:
  case EXP_BITS:
  case EXP_UPDATE:
  case EXP_IOTA:
  case EXP_REPLICATE:
  case EXP_CONCAT:
  case EXP_ROTATE:
  case EXP_COPY:
  case EXP_CHOOSE:
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_SCATTER:
  case EXP_HIST:
  case EXP_FILTER: bug(k->lower->c, stm->loc, "flattening left array code on the host");
  }
}

void host_body(Code *k, const Body *body, const ImpExp **scalars, const Arr **arrays) {
  host_find_layouts(k, body);
  int last_update = landing_last_update(body);
  Release after = { .k = k, .body = body, .reads = map_new(NULL) };
  for (int i = 0; i < body->stm_count; i++) {
    landing_find(k, body, i, last_update);
    lower_host_stm(k, &body->stms[i], body, i);
    after.position = i;
    map_each(k->owned, release_dead, &after);
  }
  for (int i = 0; i < body->result_count; i++) {
    if (atom_type(body->results[i]).rank == 0)
      scalars[i] = imp_atom(body->results[i]);
    else
      arrays[i] = code_array(k, body->results[i]);
  }
}

// ---- entries

static bool is_consumed(const Entry *entry, int param) {
  for (int i = 0; i < entry->input_count; i++) {
    const EntryValue *input = &entry->inputs[i];
    if (param >= input->first && param < input->first + input->count)
      return input->unique;
  }
  return false;
}

// What the caller gives up may be overwritten, when nobody else refers to its block at run time.
static const ImpParam *entry_params(Code *k, const Entry *entry) {
  ImpParam *params = new_array(ImpParam, entry->param_count + 1);
  for (int i = 0; i < entry->param_count; i++) {
    const Var *var = entry->params[i];
    params[i].var = var;
    params[i].is_array = var->type.rank > 0;
    if (!params[i].is_array) continue;
    const Mem *mem = mem_new(k->lower->c, var->name, MEM_GLOBAL, var->type.elem);
    params[i].arr = arr_dense(mem, var->type.elem, code_shape(var->type), var->type.rank);
    code_bind(k, var, params[i].arr);
    if (is_consumed(entry, i)) map_put(k->owned, mem, mem);
  }
  return params;
}

static void entry_results(Code *k, ImpEntry *out, const ImpExp **scalars,
                          const Arr **arrays) {
  const Body *body = out->entry->body;
  ImpParam *results = new_array(ImpParam, body->result_count + 1);
  for (int i = 0; i < body->result_count; i++) {
    CoreType type = atom_type(body->results[i]);
    results[i].is_array = type.rank > 0;
    if (results[i].is_array) results[i].arr = host_dense(k, arrays[i], type);
  }
  out->results = results;
  out->scalar_results = scalars;
  out->result_count = body->result_count;
}

static const ImpEntry *lower_entry(Lower *lower, const Entry *entry) {
  ImpBuilder b = { .c = lower->c, .loc = entry->loc };
  Code k = { .lower = lower,
             .b = &b,
             .arrays = map_new(NULL),
             .inside = map_new(NULL),
             .sizes = map_new(NULL),
             .owned = map_new(NULL),
             .released = map_new(NULL),
             .wanted = map_new(NULL),
             .views = map_new(NULL),
             .layouts = map_new(NULL),
             .landings = map_new(NULL) };
  k.scope = host_scope(&b, k.arrays, k.owned, NULL);
  for (int i = 0; i < entry->size_count; i++)
    map_put(k.sizes, entry->params[i], entry->params[i]);
  lower->layout = NULL;
  lower->entry = entry;
  lower->segs = map_new(NULL);
  rooms_find(lower, entry->body);
  ImpEntry *out = new_node(ImpEntry, .entry = entry);
  out->params = entry_params(&k, entry);
  const ImpExp **scalars = new_array(const ImpExp *, entry->body->result_count + 1);
  const Arr **arrays = new_array(const Arr *, entry->body->result_count + 1);
  host_body(&k, entry->body, scalars, arrays);
  entry_results(&k, out, scalars, arrays);
  layout_declare(lower, &b.block);
  out->body.at = b.block.at;
  out->body.count = b.block.count;
  return out;
}

ImpProgram *imp_lower(Compiler *c, const Core *flat, Profile profile, RecipeBook *book,
                      bool mixed) {
  Lower lower = { .c = c,
                  .machine = &profile_traits[profile],
                  .book = book,
                  .copy_of = map_new(NULL),
                  .partials = map_new(NULL),
                  .scalars = map_new(NULL),
                  .underway = map_new(NULL),
                  .rounds = map_new(NULL) };
  ImpProgram *program =
      new_node(ImpProgram, .flat = flat, .functions = flat->functions,
               .function_count = flat->function_count, .entry_count = flat->entry_count);
  program->entries = new_array(const ImpEntry *, flat->entry_count + 1);
  for (int i = 0; i < flat->entry_count; i++)
    program->entries[i] = lower_entry(&lower, flat->entries[i]);
  program->kernels = lower.kernels.at;
  program->kernel_count = lower.kernels.count;
  program->tuning = lower.tuning.at;
  program->tuning_count = lower.tuning.count;
  program->plans = lower.plans.at;
  program->planned = lower.planned.at;
  program->plan_count = lower.plans.count;
  program->copies = lower.copies.at;
  program->copy_count = lower.copies.count;
  imp_drop_dead(program);
  if (!mixed) imp_keep_scalars(c, program);
  imp_heed_failures(program);
  return lower.failed ? NULL : program;
}
