// Running instructions, and a whole entry point.
//
// Each instruction is a call through a pointer: about 2 ns, and every instruction is a small
// function.
#include "base/mem.h"
#include "core/interp/machine.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool run_fail(Machine *m, const Stm *stm, const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  m->message = text_format("%s", text);
  m->loc = stm ? stm->loc : (Loc){ 0 };
  return false;
}

_Noreturn void run_bug(Machine *m, const Stm *stm, const char *format, ...) {
  char text[1000];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  if (!stm) bug(m->c, (Loc){ 0 }, "interpreter: %s", text);
  const char *name = stm->binder_count ? stm->binders[0]->name : "_";
  int id = stm->binder_count ? stm->binders[0]->id : 0;
  bug(m->c, stm->loc, "interpreter, statement of %s_%d: %s", name, id, text);
}

bool run_code(Machine *m, const InsCode *code) {
  m->steps += code->count + 1;
  if (m->options.max_steps && m->steps > m->options.max_steps)
    return run_fail(m, NULL, "step limit reached");
  const Ins *end = code->ins + code->count;
  for (const Ins *ins = code->ins; ins < end; ins++)
    if (!ins->run(m, ins)) return false;
  return true;
}

// ---- entry points

// What is known while the parameters of an entry point are bound.
typedef struct RunBinding {
  Gen *g;
  const Entry *entry;
  const Value *const *inputs;
  const char **bound_by;  // for each size: the parameter that gave it its value, or NULL
} RunBinding;

static const char *input_name(const Entry *entry, int param) {
  for (int i = 0; i < entry->input_count; i++) {
    const EntryValue *input = &entry->inputs[i];
    if (param >= input->first && param < input->first + input->count) return input->name;
  }
  return entry->params[param]->name;
}

static int size_index(const Entry *entry, Atom dim) {
  for (int i = 0; dim.kind == ATOM_VAR && i < entry->size_count; i++)
    if (entry->params[i] == dim.u.var) return i;
  return -1;
}

// Binds every size that some dimension names, from the first that does.
static void bind_sizes(RunBinding *b) {
  for (int p = b->entry->size_count; p < b->entry->param_count; p++) {
    CoreType type = b->entry->params[p]->type;
    const Value *input = b->inputs[p - b->entry->size_count];
    for (int d = 0; d < type.rank; d++) {
      int size = size_index(b->entry, type.dims[d]);
      if (size < 0 || b->bound_by[size]) continue;
      b->bound_by[size] = input_name(b->entry, p);
      gen_var(b->g, b->entry->params[size]).at->i = input->shape[d];
    }
  }
}

static bool size_mismatch(RunBinding *b, int param, Atom dim, int64_t expected,
                          int64_t found) {
  Machine *m = b->g->m;
  int size = size_index(b->entry, dim);
  const char *name = input_name(b->entry, param);
  if (size < 0)
    run_fail(m, NULL,
             "entry point arguments have invalid sizes: parameter %s: expected size "
             "%lld, found %lld",
             name, (long long)expected, (long long)found);
  else
    run_fail(m, NULL,
             "entry point arguments have invalid sizes: parameter %s: expected size %s = "
             "%lld (from %s), found %lld",
             name, b->entry->params[size]->name, (long long)expected, b->bound_by[size],
             (long long)found);
  m->loc = b->entry->loc;
  return false;
}

static bool bind_param(RunBinding *b, int param) {
  const Var *var = b->entry->params[param];
  const Value *input = b->inputs[param - b->entry->size_count];
  Slot slot = gen_var(b->g, var);
  for (int d = 0; d < var->type.rank; d++) {
    int64_t expected = gen_slot(b->g, var->type.dims[d]).at->i;
    if (input->shape[d] != expected)
      return size_mismatch(b, param, var->type.dims[d], expected, input->shape[d]);
  }
  if (input->elem != slot.elem || input->rank != slot.rank)
    return run_fail(b->g->m, NULL, "parameter %s: a value of another type",
                    input_name(b->entry, param));
  if (slot.rank == 0)
    word_set_prim(slot.at, value_get(input, 0));
  else
    array_borrow(b->g->m, slot, input->shape, input->data);
  return true;
}

static bool bind_params(Gen *g, const Entry *entry, const Value *const *inputs) {
  RunBinding b = { .g = g, .entry = entry, .inputs = inputs };
  b.bound_by = new_array(const char *, entry->size_count + 1);
  bind_sizes(&b);
  for (int p = entry->size_count; p < entry->param_count; p++)
    if (!bind_param(&b, p)) return false;
  return true;
}

Value *value_of_slot(Slot s) {
  static const int64_t no_shape[1] = { 0 };
  Value *v = value_new(s.elem, s.rank, s.rank ? slot_shape(s) : no_shape);
  if (s.rank == 0) {
    value_set(v, 0, word_prim(s.elem, s.at));
    return v;
  }
  int64_t *strides = mem_alloc_plain((size_t)s.rank * sizeof *strides);
  region_dense_strides(strides, v->shape, s.rank, prim_size_bytes(s.elem));
  region_copy((MemoryRegion){ v->data, strides },
              (MemoryRegion){ s.at[0].base, slot_strides(s) }, v->shape, s.rank,
              prim_size_bytes(s.elem));
  return v;
}

// Compiles and runs the body; NULL if it fails.
static const Slot *run_entry(Gen *g, const Entry *entry) {
  const Body *body = entry->body;
  Slot *results = new_array(Slot, body->result_count);
  for (int i = 0; i < body->result_count; i++) {
    CoreType type = atom_type(body->results[i]);
    results[i] = gen_temp(type.elem, type.rank);
  }
  VarVec mortal = { 0 };
  for (int p = entry->size_count; p < entry->param_count; p++)
    if (entry->params[p]->type.rank) vec_push(&mortal, entry->params[p]);
  const InsCode *code = gen_branch(g, body, mortal, results);
  return run_code(g->m, code) ? results : NULL;
}

static void free_stores(Machine *m) {
  while (m->stores) {
    Store *next = m->stores->next;
    free(m->stores);
    m->stores = next;
  }
}

static size_t memory_bytes(void) {
  return (size_t)sysconf(_SC_PHYS_PAGES) * (size_t)sysconf(_SC_PAGESIZE) / 4 * 3;
}

InterpResult interp_run(Compiler *c, const Core *core, const Entry *entry,
                        const Value *const *inputs, InterpOptions options) {
  (void)core;  // functions are reached through their calls
  Machine *m =
      new_node(Machine, .c = c, .options = options, .most_bytes = memory_bytes());
  Gen g = { .c = c, .m = m, .slots = map_new(NULL), .functions = map_new(NULL) };
  bool bound = bind_params(&g, entry, inputs);
  const Slot *results = bound ? run_entry(&g, entry) : NULL;
  InterpResult result = { .ok = results != NULL, .message = m->message, .loc = m->loc };
  if (results) {
    result.value_count = entry->result_count;
    result.values = new_array(const Value *, entry->result_count);
    for (int i = 0; i < entry->result_count; i++)
      result.values[i] = value_of_slot(results[entry->size_result_count + i]);
  }
  free_stores(m);
  return result;
}
