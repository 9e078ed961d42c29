// Parts: loops of long kernels of one point as functions of their own.
//
//   for (..) { .. }   =>   static __attribute__((noinline)) void part(..) { for (..) { .. } }
//                          part(..);
//
// Why: what compilers do to a function takes longer than in proportion to its length, for loops in
// it above all, and equal loops are compiled once: what one item does in a loop of the host, as
// cycles of a multigrid method with several levels, is dozens of loops (docs/opencl.md, "Time to
// compile").  A part has loops within its loop, so that a call costs next to nothing there; kernels
// of many points, where programs spend their time, are slower with calls.
#include "emit/emit.h"

enum {
  LONG_KERNEL = 800,  // statements; of shorter ones all loops stay
  LEAST_PART = 30,
  MOST_PART = 400
};

// What a loop uses of what stands around it, in the order of its first use.
typedef struct Around {
  const CodeText *c;
  Map *known;  // what it declares, or is noted already
  Vec(const Var *) vars;
  Vec(const Mem *) mems;
  bool fails;   // it has checks
  bool nested;  // it has loops
  bool fits;    // it can be a function
} Around;

static void use_mem(Around *x, const Mem *mem) {
  if (!mem || map_has(x->known, mem)) return;
  map_put(x->known, mem, mem);
  vec_push(&x->mems, mem);
  x->fits = x->fits && (mem->space == MEM_GLOBAL || mem->space == MEM_SCRATCH ||
                        mem->space == MEM_ARENA);
}

static void use_exp(void *state, const ImpExp *e) {
  Around *x = state;
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    use_exp(x, operands[i]);
  if (e->kind == IMP_LOAD) use_mem(x, e->u.load.mem);
  if (e->kind == IMP_STRIDED) use_mem(x, e->u.strided.mem);
  if (e->kind != IMP_VAR || map_has(x->known, e->u.var)) return;
  map_put(x->known, e->u.var, e->u.var);
  vec_push(&x->vars, e->u.var);
  x->fits = x->fits && !e->lanes;
}

// What is assigned must be the loop's own.
static void change_var(Around *x, const Var *var) {
  bool counts = var && map_has(x->c->live, var);
  x->fits = x->fits && (!counts || map_has(x->known, var));
}

static bool is_loop(const ImpStm *stm) {
  return stm->kind == IMP_FOR || stm->kind == IMP_WHILE;
}

// What the statement declares and changes.
static void note_own(Around *x, const ImpStm *stm) {
  bool own_array = stm->kind == IMP_LOCAL && stm->u.alloc.mem->space == MEM_PRIVATE;
  if (stm->kind == IMP_DECLARE)
    map_put(x->known, stm->u.declare.var, stm);
  else if (stm->kind == IMP_FOR)
    map_put(x->known, stm->u.loop.var, stm);
  else if (own_array)
    map_put(x->known, stm->u.alloc.mem, stm);
  else if (stm->kind == IMP_ASSIGN)
    change_var(x, stm->u.assign.var);
  else if (stm->kind == IMP_STORE)
    use_mem(x, stm->u.store.mem);
  else if (stm->kind == IMP_CHECK)
    x->fails = true;
  else if (stm->kind == IMP_CALL)
    for (int i = 0; i < stm->u.call.var_count; i++)
      change_var(x, stm->u.call.vars[i]);
  else if (!is_loop(stm) && stm->kind != IMP_IF && stm->kind != IMP_COMMENT &&
           stm->kind != IMP_PREFETCH)
    x->fits = false;
}

static void use_block(Around *x, const ImpBlock *block);

static void use_stm(Around *x, const ImpStm *stm) {
  if (stm->kind == IMP_DECLARE && !map_has(x->c->live, stm->u.declare.var)) return;
  if (stm->kind == IMP_ASSIGN && !map_has(x->c->live, stm->u.assign.var)) return;
  imp_each_exp(stm, use_exp, x);
  note_own(x, stm);
  const ImpBlock *inner[2];
  int count = imp_blocks(stm, inner);
  for (int i = 0; i < count; i++)
    use_block(x, inner[i]);
}

static void use_block(Around *x, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    x->nested = x->nested || is_loop(*stm);
    use_stm(x, *stm);
  }
}

static int statements_in(const ImpBlock *block) {
  int total = block->count;
  vec_each (const ImpStm **, stm, block) {
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      total += statements_in(inner[i]);
  }
  return total;
}

bool emit_has_parts(const Kernel *kernel) {
  return kernel->one_point && statements_in(&kernel->body) >= LONG_KERNEL;
}

const char *emit_return(const CodeText *c) {
  return c->in_part ? "return true;" : "return;";
}

// ---- the function

static const char *mem_type(const Mem *mem) {
  return text_format("__global %s *", c_memory_type(mem->elem));
}

// Its parameters, or what is given for them.
static const char *list_of(CodeText *c, const Around *x, bool types) {
  Text *t = text_new();
  text_add(t, types ? "(int64_t flc_item" : "(flc_item");
  vec_each (const Var **, var, &x->vars)
    text_printf(t, ", %s%s%s", types ? c_type((*var)->type.elem) : "", types ? " " : "",
                c_var(c, *var));
  vec_each (const Mem **, mem, &x->mems)
    text_printf(t, ", %s%s", types ? mem_type(*mem) : "", c_mem(c, *mem));
  if (x->fails) text_add(t, types ? ", __global int *flc_error" : ", flc_error");
  text_add(t, ")");
  return text_str(t);
}

// The number of the function, which is that of one with the same text.
static int part_of_text(CodeText *c, const char *text, bool fails) {
  Name key = name_of(c->e->c->names, emit_without_names(text));
  const int *known = map_get(c->parts->known, key);
  if (known) return *known;
  int number = map_count(c->parts->known);
  map_put(c->parts->known, key, mem_copy(&number, sizeof number));
  text_printf(c->parts->text,
              "\n__attribute__((noinline)) static %s FLC_PART(flc_kernel, %d)%s",
              fails ? "bool" : "void", number, text);
  return number;
}

// With names of its own, so that equal loops have equal texts.
static const char *text_of_part(const CodeText *c, const Around *x, const ImpStm *stm) {
  CodeText own = *c;
  own.t = text_new();
  own.names = map_new(NULL);
  own.next = 0;
  own.parts = NULL;
  own.in_part = true;
  c_line(&own, "%s {", list_of(&own, x, true));
  text_indent(own.t, 2);
  emit_kernel_for(&own, stm);
  if (x->fails) c_line(&own, "return false;");
  text_indent(own.t, -2);
  c_line(&own, "}");
  return text_str(own.t);
}

bool emit_part(CodeText *c, const ImpStm *stm) {
  int length = statements_in(&stm->u.loop.body);
  if (length < LEAST_PART || length > MOST_PART || map_count(c->changing)) return false;
  Around x = { .c = c, .known = map_new(NULL), .fits = true };
  use_stm(&x, stm);
  if (!x.fits || !x.nested) return false;
  int number = part_of_text(c, text_of_part(c, &x, stm), x.fails);
  const char *call =
      text_format("FLC_PART(flc_kernel, %d)%s", number, list_of(c, &x, false));
  c_line(c, x.fails ? "if (%s) return;" : "%s;", call);
  return true;
}
