// Kernels: each an OpenCL source of its own, kept as strings in the generated program.
//
// A failed check stores its number and values.  A kernel without barriers then returns.  In a
// kernel with barriers every item must reach every barrier, so the item goes on with `flc_ok`
// cleared: it leaves its loops without barriers (emit_loops.c), its loads give 0, and it stores
// nothing; from the next barrier on this holds of the whole group, because local memory may then
// hold what nobody wrote, and loops around barriers end, for all items after the same round.
//
// The code of kernels whose groups are one item stands in a function of its own, which the
// device's compiler does not inline if it is long.  PoCL makes three functions of a kernel, and
// would compile the code for each of them (docs/opencl.md, "Time to compile").
#include "base/quote.h"
#include "emit/c_vector.h"
#include <string.h>

// ---- statements

static void kernel_if(CodeText *c, const ImpStm *stm) {
  c_line(c, "if (%s) {", c_exp(c, stm->u.cond.condition));
  emit_kernel_block(c, &stm->u.cond.then_body);
  if (stm->u.cond.else_body.count) {
    c_line(c, "} else {");
    emit_kernel_block(c, &stm->u.cond.else_body);
  }
  c_line(c, "}");
}

void emit_kernel_check(CodeText *c, const ImpStm *stm) {
  if (stm->u.check.condition->lanes) {
    vector_check(c, stm);
    return;
  }
  Text *call = text_new();
  int count = emit_check_values(stm);
  text_printf(call, "%s(flc_error, %d", count > 4 ? "flc_fail_8" : "flc_fail",
              emit_check(c->e, stm));
  for (int i = 0; i < (count > 4 ? IMP_CHECK_VALUES : 4); i++) {
    bool given = i < count;
    text_printf(call, given ? ", (long)(%s)" : ", 0%s",
                given ? c_exp(c, stm->u.check.values[i]) : "");
  }
  c_line(c, "if (%s!(%s)) {", c->guarded ? "flc_ok && " : "",
         c_exp(c, stm->u.check.condition));
  c_line(c, "  %s);", text_str(call));
  if (c->unlock && !c->guarded) c_line(c, "  %s", c->unlock);
  bool goes_on = c->guarded || c->left;
  c_line(c, "  %s", goes_on ? "FLC_STOP_GROUP();" : emit_return(c));
  if (c->left) c_line(c, "  break;");
  c_line(c, "}");
}

static void kernel_store(CodeText *c, const ImpStm *stm) {
  if (stm->u.store.value->lanes) {
    vector_store(c, stm);
    return;
  }
  const char *element = c_element(c, stm->u.store.mem, stm->u.store.index);
  c_line(c, "%s%s = %s;", c->guarded ? "if (flc_ok) " : "", element,
         c_exp(c, stm->u.store.value));
}

static void kernel_atomic(CodeText *c, const ImpStm *stm) {
  const Mem *mem = stm->u.atomic.mem;
  const Var *var = stm->u.atomic.result;
  const char *guard = c->guarded ? "if (flc_ok) " : "", *type = prim_type_name(mem->elem),
             *space = mem->space == MEM_LOCAL ? "l" : "g",
             *element = c_element(c, mem, stm->u.atomic.index),
             *result = var ? c_var(c, var) : "",
             *value = stm->u.atomic.value ? c_exp(c, stm->u.atomic.value) : "";
  switch (stm->u.atomic.action) {
  case ATOMIC_UPDATE:
    c_line(c, "%sflc_atomic_%s_%s_%s(&%s, %s);", guard, op_name(stm->u.atomic.op), type,
           space, element, value);
    return;
  case ATOMIC_EXCHANGE:
    c_line(c, "%s%s = flc_exchange_%s_%s(&%s, &%s, %s);", guard, result, type, space,
           element, c_exp(c, stm->u.atomic.old), value);
    return;
  case ATOMIC_TAKE: c_line(c, "%s = flc_take(&%s);", result, element); return;
  case ATOMIC_SIGNAL: c_line(c, "flc_signal(&%s, %s);", element, value); return;
  case ATOMIC_AWAIT: c_line(c, "%s = flc_await(&%s);", result, element); return;
  }
}

// A piece of the arena; without one the item stops, and the host runs the kernel again.
static void kernel_take(CodeText *c, const ImpStm *stm) {
  const char *name = c_mem(c, stm->u.alloc.mem),
             *type = c_memory_type(stm->u.alloc.mem->elem);
  c_line(
      c,
      "%s = (__global %s *)flc_arena_room(flc_arena, flc_arena_bytes, flc_arena_counts, "
      "(__global uchar *)%s, &%s_room, &flc_arena_used, rt_sat_mul(%s, sizeof(%s)));",
      name, type, name, name, c_saturating(c, stm->u.alloc.count), type);
  c_line(c, "if (!%s) return;", name);
}

static void kernel_local(CodeText *c, const ImpStm *stm) {
  const Mem *mem = stm->u.alloc.mem;
  if (mem->space == MEM_ARENA) kernel_take(c, stm);
  if (mem->space != MEM_PRIVATE) return;  // a parameter
  const char *type =
      mem->lanes ? vector_memory_type(mem->elem, mem->lanes) : c_memory_type(mem->elem);
  c_line(c, "%s %s[%s];", type, c_mem(c, mem), c_size(c, stm->u.alloc.count));
}

static void kernel_assign(CodeText *c, const ImpStm *stm) {
  if (!map_has(c->live, stm->u.assign.var)) return;
  c_line(c, "%s = %s;", c_var(c, stm->u.assign.var), c_exp(c, stm->u.assign.value));
}

static void kernel_barrier(CodeText *c) {
  c_line(c, c->guarded ? "FLC_GUARDED_BARRIER(flc_error)" : "FLC_BARRIER();");
}

static void kernel_stm(CodeText *c, const ImpStm *stm) {
  switch (stm->kind) {
  case IMP_DECLARE:
    if (map_has(c->live, stm->u.declare.var)) emit_declare(c, stm);
    return;
  case IMP_ASSIGN: kernel_assign(c, stm); return;
  case IMP_STORE: kernel_store(c, stm); return;
  case IMP_PREFETCH:
    c_line(c, "FLC_PREFETCH(&%s, %d);",
           c_element(c, stm->u.prefetch.mem, stm->u.prefetch.index),
           (int)stm->u.prefetch.stores);
    return;
  case IMP_ATOMIC: kernel_atomic(c, stm); return;
  case IMP_LOCKED: emit_locked(c, stm); return;
  case IMP_FOR:
    if (!c->parts || !emit_part(c, stm)) emit_kernel_for(c, stm);
    return;
  case IMP_WHILE: emit_kernel_while(c, stm); return;
  case IMP_IF: kernel_if(c, stm); return;
  case IMP_BARRIER: kernel_barrier(c); return;
  case IMP_CALL: emit_call(c, stm); return;
  case IMP_CHECK: emit_kernel_check(c, stm); return;
  case IMP_COMMENT: c_line(c, "// %s", quote_comment(stm->u.comment.text)); return;
  case IMP_LOCAL: kernel_local(c, stm); return;
  case IMP_DECLARE_MEM:
  case IMP_ALLOC:
  case IMP_SHARE:
  case IMP_UNIQUE:
  case IMP_RELEASE:
  case IMP_LAUNCH:
  case IMP_TABLE:
  case IMP_READ:
  case IMP_SPLIT:
  case IMP_GATHER:
  case IMP_AWAIT:
  case IMP_GUARD:
  case IMP_ONCE: bug(c->e->c, stm->loc, "host statement within a kernel");
  }
}

void emit_kernel_block(CodeText *c, const ImpBlock *block) {
  text_indent(c->t, 2);
  vec_each (const ImpStm **, stm, block)
    kernel_stm(c, *stm);
  text_indent(c->t, -2);
}

// ---- parameters

typedef struct ParamText {
  const char *type, *name;  // "__global float *", "xs_3"
} ParamText;
typedef Vec(ParamText) ParamTexts;

static void add_param(ParamTexts *params, const char *type, const char *name) {
  vec_push(params, ((ParamText){ type, name }));
}

// Other items change what is stored under a lock.
static void find_changing(Map *changing, const ImpBlock *block, bool locked) {
  vec_each (const ImpStm **, at, block) {
    const ImpStm *stm = *at;
    if (locked && stm->kind == IMP_STORE)
      map_put(changing, stm->u.store.mem, stm->u.store.mem);
    const ImpBlock *inner[2];
    int count = imp_blocks(stm, inner);
    for (int i = 0; i < count; i++)
      find_changing(changing, inner[i], locked || stm->kind == IMP_LOCKED);
  }
}

static const char *changing(const CodeText *c, const Mem *mem) {
  return map_has(c->changing, mem) ? "volatile " : "";
}

// A parameter that a launch may promise to be small.
static bool is_number(const CodeText *c, const KernelParam *p) {
  return c->interleaved && !p->is_mem && p->var->type.elem == PRIM_I64;
}

static const char *array_type(const CodeText *c, const Mem *mem) {
  return text_format("%s__global %s *", changing(c, mem), c_memory_type(mem->elem));
}

static void add_own_param(CodeText *c, ParamTexts *params, const KernelParam *p) {
  if (p->is_mem) {
    add_param(params, array_type(c, p->mem), c_mem(c, p->mem));
    return;
  }
  const char *type = text_format("%s ", c_memory_type(p->var->type.elem)),
             *name = c_var(c, p->var);
  add_param(params, type, is_number(c, p) ? text_format("%s_given", name) : name);
}

// The order of contract.h; the number of elements per item of each scratch array is an ordinary
// parameter after the kernel's own.
static ParamTexts kernel_params(CodeText *c, const Kernel *kernel,
                                const KernelArrays *own, const KernelArrays *locals) {
  ParamTexts params = { 0 };
  for (int i = 0; i < kernel->param_count; i++)
    add_own_param(c, &params, &kernel->params[i]);
  for (int i = 0; i < own->count; i++)
    add_param(&params, "int64_t ", text_format("scratch_count%d", i));
  for (int i = 0; i < own->count; i++)
    add_param(&params, text_format("__global %s *", c_memory_type(own->at[i].mem->elem)),
              text_format("scratch%d", i));
  for (int i = 0; i < locals->count; i++) {
    add_param(&params, "FLC_LOCAL uchar *", text_format("local%d", i));
    add_param(&params, "long ", text_format("local%d_bytes", i));
  }
  if (kernel->may_fail) add_param(&params, "__global int *", "flc_error");
  if (!kernel->uses_arena) return params;
  add_param(&params, "__global uchar *", "flc_arena");
  add_param(&params, "long ", "flc_arena_bytes");
  add_param(&params, "__global uint *", "flc_arena_counts");
  return params;
}

static void find_numbers(CodeText *c, const Kernel *kernel) {
  for (int i = 0; i < kernel->param_count; i++) {
    const KernelParam *p = &kernel->params[i];
    if (!is_number(c, p)) continue;
    const char *name = c_var(c, p->var);
    c_line(c, "int64_t %s = flc_number(%s_given);", name, name);
  }
}

// Where the arrays of the item and of the group begin.
static void find_arrays(CodeText *c, const Kernel *kernel, const KernelArrays *own,
                        const KernelArrays *locals) {
  for (int i = 0; i < own->count; i++) {
    const Mem *mem = own->at[i].mem;
    const char *times = c->interleaved ? "" : text_format(" * scratch_count%d", i);
    c_line(c, "__global %s *%s = scratch%d + (int64_t)%s%s;", c_memory_type(mem->elem),
           c_mem(c, mem), i, c->lone ? "flc_item" : "get_global_id(0)", times);
  }
  for (int i = 0; i < locals->count; i++) {
    const Mem *mem = locals->at[i].mem;
    const char *type = c_memory_type(mem->elem),
               *item = mem->space == MEM_SCRATCH ? " + get_local_id(0)" : "";
    c_line(c, "%sFLC_LOCAL %s *%s = FLC_LOCAL_ARRAY(%s, local%d, local%d_bytes)%s;",
           changing(c, mem), type, c_mem(c, mem), type, i, i, item);
  }
  for (int i = 0; i < kernel->scratch_count; i++) {
    const Scratch *s = &kernel->scratch[i];
    if (s->within)
      c_line(c, "%s %s *%s = %s;", c->own_group ? "FLC_LOCAL" : "__global",
             c_memory_type(s->mem->elem), c_mem(c, s->mem), c_mem(c, s->within));
  }
}

// An item keeps its piece for as long as that is large enough.
static void find_arena_arrays(CodeText *c, const KernelArrays *taken) {
  if (taken->count) c_line(c, "long flc_arena_used = 0;");
  for (int i = 0; i < taken->count; i++) {
    const Mem *mem = taken->at[i].mem;
    const char *type = c_memory_type(mem->elem), *name = c_mem(c, mem);
    c_line(c, "__global %s *%s = (__global %s *)flc_arena;", type, name, type);
    c_line(c, "long %s_room = 0;", name);
  }
}

// ---- a kernel

typedef struct LoopKinds {
  bool reassociate, independent, many, scalar;
} LoopKinds;

static void find_loop_kinds(const ImpBlock *block, LoopKinds *kinds) {
  vec_each (const ImpStm **, stm, block) {
    if ((*stm)->kind == IMP_FOR) {
      kinds->reassociate = kinds->reassociate || (*stm)->u.loop.reassociate;
      kinds->independent = kinds->independent || (*stm)->u.loop.independent;
      kinds->many = kinds->many || (*stm)->u.loop.many;
      kinds->scalar = kinds->scalar || (*stm)->u.loop.scalar;
    }
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      find_loop_kinds(inner[i], kinds);
  }
}

static void define_pragma(Text *t, const char *name, const char *pragma) {
  text_printf(
      t, "\n#ifdef __clang__\n#define %s _Pragma(\"%s\")\n#else\n#define %s\n#endif\n",
      name, pragma, name);
}

// Float reductions may be reordered, as in any parallel reduction: one vector accumulator per lane
// (docs/opencl.md, "Reductions").
// Loops over independent points need no tests for overlapping arrays.  Sums of many points have
// several accumulators, as each waits for itself, and a loop of a few instructions for its jump.
// Loops that only move words which lie apart are no quicker by gathers.
static void define_pragmas(Text *t, const ImpBlock *block) {
  LoopKinds kinds = { 0 };
  find_loop_kinds(block, &kinds);
  if (kinds.reassociate) define_pragma(t, "FLC_REASSOCIATE", "clang fp reassociate(on)");
  if (kinds.independent)
    define_pragma(t, "FLC_INDEPENDENT", "clang loop vectorize(assume_safety)");
  if (kinds.scalar) define_pragma(t, "FLC_SCALAR", "clang loop vectorize(disable)");
  if (kinds.many) define_pragma(t, "FLC_INTERLEAVE", "clang loop interleave_count(4)");
}

static void add_params(CodeText *c, const ParamTexts *params) {
  for (int i = 0; i < params->count; i++)
    c_line(c, "    %s%s%s", params->at[i].type, params->at[i].name,
           i + 1 < params->count ? "," : ") {");
}

static void kernel_function(CodeText *c, const Kernel *kernel, const ParamTexts *params,
                            const KernelArrays *own, const KernelArrays *locals) {
  KernelArrays taken = imp_kernel_arrays(kernel, MEM_ARENA);
  add_params(c, params);
  text_indent(c->t, 2);
  find_numbers(c, kernel);
  find_arrays(c, kernel, own, locals);
  find_arena_arrays(c, &taken);
  if (kernel->sized) c_line(c, "FLC_BEGIN_SUB_GROUPS");
  if (c->guarded) c_line(c, "FLC_BEGIN_GUARDED(flc_error)");
  if (kernel->may_fail && !c->guarded) c_line(c, "if (flc_failed(flc_error)) return;");
  text_indent(c->t, -2);
  emit_kernel_block(c, &kernel->body);
  if (taken.count) c_line(c, "  flc_arena_done(flc_arena_counts, flc_arena_used);");
  c_line(c, "}");
}

// The kernel that only calls the function with its code.
static void calling_kernel(CodeText *c, const ParamTexts *params) {
  c_line(c, "__kernel FLC_ONE_ITEM void flc_kernel(");
  add_params(c, params);
  Text *call = text_new();
  text_add(call, "FLC_UNLESS_RESTING FLC_CODE(flc_kernel)((int64_t)get_global_id(0)");
  vec_each (const ParamText *, param, params)
    text_printf(call, ", %s", param->name);
  c_line(c, "  %s);", text_str(call));
  c_line(c, "}");
}

// A function that is not inlined takes up to a sixth longer, as the device's compiler knows less of
// it: so it is one where compiling thrice would take long.
static const char *function_of_length(size_t length) {
  enum { LONG_TEXT = 20000 };
  return length < LONG_TEXT ? "FLC_WITHIN" : "FLC_APART";
}

static void lone_code(CodeText *c, const Kernel *kernel, const ParamTexts *params,
                      const KernelArrays *own, const KernelArrays *locals) {
  Text *whole = c->t;
  c->t = text_new();
  kernel_function(c, kernel, params, own, locals);
  Text *code = c->t;
  c->t = whole;
  if (c->parts) text_add(c->t, text_str(c->parts->text));
  c_line(c, "%s void FLC_CODE(flc_kernel)(int64_t flc_item,",
         function_of_length(text_length(code)));
  text_add(c->t, text_str(code));
  calling_kernel(c, params);
}

static void kernel_code(CodeText *c, const Kernel *kernel) {
  KernelArrays own = imp_kernel_arrays(kernel, MEM_SCRATCH),
               locals = imp_kernel_arrays(kernel, MEM_LOCAL);
  ParamTexts params = kernel_params(c, kernel, &own, &locals);
  // Kernels of equal code share their text.
  if (c->lone) {
    lone_code(c, kernel, &params, &own, &locals);
    return;
  }
  c_line(c, "__kernel FLC_SIZED void flc_kernel(");
  kernel_function(c, kernel, &params, &own, &locals);
}

// Several kernels of one program may have the function.
void emit_begin_shared(Text *t, const char *function) {
  text_printf(t, "#ifndef FLC_HAS_%s\n#define FLC_HAS_%s\n", function, function);
}

void emit_end_shared(Text *t) { text_add(t, "\n#endif\n"); }

// The functions of emit_math that the kernel calls: many kernels of a program call the same.
static const char *math_text(CodeText *c) {
  Text *uses = text_new(), *t = text_new();
  vec_each (const MathUse *, use, c->math)
    text_printf(uses, "%d %d %d,", (int)use->op, (int)use->type, use->width);
  Name key = name_of(c->e->c->names, text_str(uses));
  const char *known = map_get(c->e->math_texts, key);
  if (known) return known;
  emit_math(t, c->math);
  map_put(c->e->math_texts, key, text_str(t));
  return text_str(t);
}

// What the kernel's code needs, in front of it: functions on vectors, mathematics,
// the program's functions.
static EmitKernelText with_needs(CodeText *c, const Kernel *kernel) {
  Text *t = text_new(), *math = text_new(), *functions = text_new();
  for (int i = 0; i < kernel->function_count; i++) {
    emit_begin_shared(functions, emit_function_name(c->e, kernel->functions[i]));
    emit_function(c->e, functions, kernel->functions[i], c->math);
    emit_end_shared(functions);
  }
  define_pragmas(t, &kernel->body);
  if (map_count(c->helpers)) {
    emit_end_shared(c->helper_text);
    text_printf(t, "\n%s", text_str(c->helper_text));
  }
  if (c->math) text_add(math, math_text(c));
  text_add(t, text_str(math));
  text_add(t, text_str(functions));
  text_add(t, text_str(c->t));
  text_newline(t);
  bool uses_f64 =
      imp_kernel_uses(c->e->c, kernel, PRIM_F64) || strstr(text_str(math), "double");
  return (EmitKernelText){ text_str(t), uses_f64, c->lone };
}

EmitKernelText emit_kernel_text(Emit *e, const Kernel *kernel, Profile profile) {
  CodeText c = code_text_new(e, text_new());
  MathUses math = { 0 };
  const Traits *machine = &profile_traits[profile];
  if (machine->own_math) c.math = &math;
  c.interleaved = machine->side_by_side;
  c.own_group = kernel->own_local ? kernel->group_size : 0;
  c.guarded = kernel->has_barrier && kernel->may_fail;
  c.lone = machine->lone_items && kernel->group_size == 1 && !kernel->has_barrier;
  c.live = imp_live(&kernel->body, NULL, 0);
  c.changing = map_new(NULL);
  find_changing(c.changing, &kernel->body, false);
  c.helpers = map_new(NULL);
  c.helper_text = text_new();
  emit_keep_called(c.live, &kernel->body);
  CodeParts parts = { text_new(), map_new(NULL) };
  if (c.lone && emit_has_parts(kernel)) c.parts = &parts;
  kernel_code(&c, kernel);
  return with_needs(&c, kernel);
}
