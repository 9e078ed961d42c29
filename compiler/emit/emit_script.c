// Host code as a table of numbers, which runtime/script.h walks (contract.h):
//
//   static const int32_t script_main_cpu[] = {
//     RT_DO_ALLOC, 2, 0, RT_OF_SAT_MUL, RT_OF_VAR, 0, RT_OF_CONST, 4,
//     RT_DO_LAUNCH, 5, 3, 0, 0, ..,  // segmap_12
//   };
//
// gcc takes a millisecond for each launch that is a statement, even without optimisation, and
// almost nothing for a row of numbers (which entry points that is for: emit_host.c).  What the
// table has no words for, such as sums of floats, is a function in C that sets a variable
// (RT_DO_VALUE).
#include "base/quote.h"
#include "emit/emit.h"
#include <string.h>

// A part of the table, and how many numbers it has.
typedef struct ScriptPart {
  Text *text;
  int length;
} ScriptPart;

typedef struct ScriptText {
  CodeText c;         // for the functions in C
  ScriptPart *block;  // the statements before the present one
  ScriptPart line;    // the present one
  int depth;
  const char *name;  // "main_cpu"
  Map *numbers;      // Var -> const int *
  Map *blocks;       // Mem -> const int *
  int number_count, value_count;
  int most_args, most_scratch, most_locals;
} ScriptText;

static ScriptPart part_new(void) { return (ScriptPart){ text_new(), 0 }; }

static void word(ScriptText *s, const char *text) {
  text_printf(s->line.text, "%s%s,", s->line.length ? " " : "", text);
  s->line.length++;
}

static void number(ScriptText *s, int value) { word(s, text_format("%d", value)); }

static void end_line(ScriptText *s, const char *comment) {
  text_printf(s->block->text, "\n%*s%s%s%s", 2 * s->depth, "", text_str(s->line.text),
              comment ? "  // " : "", comment ? quote_comment(comment) : "");
  s->block->length += s->line.length;
  s->line = part_new();
}

static void append(ScriptText *s, const ScriptPart *code) {
  text_add(s->block->text, text_str(code->text));
  s->block->length += code->length;
}

// ---- variables and blocks

static const char *member_of(PrimType type) {
  return type == PRIM_F32 ? "f32" : type == PRIM_F64 ? "f64" : "i64";
}

static bool is_held_as_int(PrimType type) { return type != PRIM_F32 && type != PRIM_F64; }

static int *new_int(int value) {
  int *out = new_array(int, 1);
  *out = value;
  return out;
}

static int var_number(ScriptText *s, const Var *var) {
  const int *known = map_get(s->numbers, var);
  if (known) return *known;
  PrimType type = var->type.elem;
  int fresh = s->number_count++;
  const char *held = text_format("numbers[%d].u.%s", fresh, member_of(type));
  bool converted = is_held_as_int(type) && type != PRIM_I64;
  map_put(s->c.names, var,
          converted ? text_format("((%s)%s)", c_type(type), held) : held);
  map_put(s->numbers, var, new_int(fresh));
  return fresh;
}

static int block_number(ScriptText *s, const Mem *mem) {
  const int *known = map_get(s->blocks, mem);
  if (known) return *known;
  int fresh = map_count(s->blocks);
  map_put(s->blocks, mem, new_int(fresh));
  return fresh;
}

// ---- functions in C

static void begin_value(ScriptText *s) {
  c_line(&s->c,
         "static int value_%s_%d(struct rt_context *ctx, struct rt_value *numbers) {",
         s->name, s->value_count);
  c_open(&s->c);
  c_line(&s->c, "(void)ctx, (void)numbers;");
}

// The function is called before the present statement.
static void end_value(ScriptText *s, const char *result) {
  c_line(&s->c, "return %s;", result);
  c_close(&s->c);
  text_newline(s->c.t);
  ScriptPart line = s->line;
  s->line = part_new();
  word(s, "RT_DO_VALUE");
  number(s, s->value_count++);
  end_line(s, NULL);
  s->line = line;
}

static const char *by_arith(ScriptText *s, const ImpExp *e, Arith arith) {
  return arith == ARITH_SATURATE ? c_saturating(&s->c, e)
         : arith == ARITH_PLAIN  ? c_size(&s->c, e)
                                 : c_exp(&s->c, e);
}

// The variables have the names that C needs.
static void name_vars(ScriptText *s, const ImpExp *e) {
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  if (e->kind == IMP_VAR) var_number(s, e->u.var);
  for (int i = 0; i < count; i++)
    name_vars(s, operands[i]);
}

static void value_by_function(ScriptText *s, int to, const ImpExp *e, Arith arith) {
  name_vars(s, e);
  begin_value(s);
  c_line(&s->c, "numbers[%d].u.%s = %s;", to, member_of(e->type), by_arith(s, e, arith));
  end_value(s, "RT_OK");
}

// vars = f(args), through variables of their types.
static void call(ScriptText *s, const ImpStm *stm) {
  for (int i = 0; i < stm->u.call.arg_count; i++)
    name_vars(s, stm->u.call.args[i]);
  begin_value(s);
  Text *args = text_new();
  int count = stm->u.call.var_count;
  for (int i = 0; i < stm->u.call.arg_count; i++)
    text_printf(args, "%s%s", i ? ", " : "", c_exp(&s->c, stm->u.call.args[i]));
  for (int i = 0; i < count; i++) {
    c_line(&s->c, "%s result_%d;", c_type(stm->u.call.vars[i]->type.elem), i);
    if (count != 1)
      text_printf(args, "%s&result_%d", i || stm->u.call.arg_count ? ", " : "", i);
  }
  c_line(&s->c, "%s%s(%s);", count == 1 ? "result_0 = " : "",
         emit_function_name(s->c.e, stm->u.call.function), text_str(args));
  for (int i = 0; i < count; i++) {
    const Var *var = stm->u.call.vars[i];
    c_line(&s->c, "numbers[%d].u.%s = result_%d;", var_number(s, var),
           member_of(var->type.elem), i);
  }
  end_value(s, "RT_OK");
}

// The table would take long for each round.
static void loop_by_function(ScriptText *s, const ImpStm *stm) {
  LoopVars vars = emit_loop_vars(stm, s->c.live);
  vec_each (const Var **, var, &vars.outer)
    var_number(s, *var);
  begin_value(s);
  CodeText c = code_text_new(s->c.e, s->c.t);
  c.live = s->c.live;
  c.on_error = "failed";
  const ImpBlock *inner[2];
  imp_blocks(stm, inner);
  bool may_fail = emit_count_stms(inner[0], IMP_CHECK);
  if (may_fail) c_line(&c, "int err = RT_OK;");
  vec_each (const Var **, var, &vars.outer)
    c_line(&c, "%s %s = %s;", c_type((*var)->type.elem), c_var(&c, *var),
           c_var(&s->c, *var));
  host_stm(&c, stm);
  vec_each (const Var **, var, &vars.outer)
    if (map_has(vars.set, *var))
      c_line(&c, "numbers[%d].u.%s = %s;", var_number(s, *var),
             member_of((*var)->type.elem), c_var(&c, *var));
  if (may_fail) c_line(&c, "failed:");
  end_value(s, may_fail ? "err" : "RT_OK");
}

// ---- expressions

static const char *const op_words[OP_COUNT] = {
  [OP_ADD] = "RT_OF_ADD",   [OP_SUB] = "RT_OF_SUB", [OP_MUL] = "RT_OF_MUL",
  [OP_QUOT] = "RT_OF_QUOT", [OP_REM] = "RT_OF_REM", [OP_DIV] = "RT_OF_DIV",
  [OP_MOD] = "RT_OF_MOD",   [OP_MIN] = "RT_OF_MIN", [OP_MAX] = "RT_OF_MAX",
  [OP_SHL] = "RT_OF_SHL",   [OP_SHR] = "RT_OF_SHR", [OP_AND] = "RT_OF_AND",
  [OP_OR] = "RT_OF_OR",     [OP_XOR] = "RT_OF_XOR", [OP_EQ] = "RT_OF_EQ",
  [OP_NE] = "RT_OF_NE",     [OP_LT] = "RT_OF_LT",   [OP_LE] = "RT_OF_LE",
  [OP_LAND] = "RT_OF_AND",  [OP_LOR] = "RT_OF_OR",  [OP_NOT] = "RT_OF_NOT",
  [OP_CLZ] = "RT_OF_CLZ",
};

// The table computes in i64: what wraps to a smaller type is right as well, what is ordered by an
// unsigned type of that size, or depends on the width, is not.
static const char *op_word(const ImpExp *e, Arith arith) {
  PrimOp op = e->u.op.op;
  PrimType type = e->u.op.operands;
  if (!prim_is_int(type) && type != PRIM_BOOL) return NULL;
  bool wraps = op == OP_ADD || op == OP_SUB || op == OP_MUL;
  bool bits = op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_EQ || op == OP_NE;
  bool ordered = op == OP_LT || op == OP_LE || op == OP_MIN || op == OP_MAX;
  bool logical = op == OP_LAND || op == OP_LOR || op == OP_NOT;
  if (arith == ARITH_SATURATE && type == PRIM_I64 && (op == OP_ADD || op == OP_MUL))
    return op == OP_ADD ? "RT_OF_SAT_ADD" : "RT_OF_SAT_MUL";
  if (type == PRIM_BOOL) return logical || bits ? op_words[op] : NULL;
  if (type == PRIM_I64) return op == OP_NOT ? NULL : op_words[op];
  return wraps || bits || (ordered && type != PRIM_U64) ? op_words[op] : NULL;
}

static bool wraps_to_less(const ImpExp *e) {
  PrimOp op = e->u.op.op;
  return (op == OP_ADD || op == OP_SUB || op == OP_MUL) && prim_bits(e->type) < 64;
}

static void exp_code(ScriptText *s, const ImpExp *e, Arith arith);

static void fit_code(ScriptText *s, PrimType type) {
  word(s, "RT_OF_FIT");
  word(s, emit_elem_name(type));
}

static void const_code(ScriptText *s, int64_t value) {
  if (value > INT32_MIN && value <= INT32_MAX) {
    word(s, "RT_OF_CONST");
    number(s, (int)value);
    return;
  }
  word(s, "RT_OF_LONG");
  word(s, text_format("(int32_t)0x%xu", (unsigned)((uint64_t)value & UINT32_MAX)));
  word(s, text_format("(int32_t)0x%xu", (unsigned)((uint64_t)value >> 32)));
}

static void op_code(ScriptText *s, const ImpExp *e, Arith arith) {
  if (wraps_to_less(e)) fit_code(s, e->type);
  word(s, op_word(e, arith));
  for (int i = 0; i < op_arity(e->u.op.op); i++)
    exp_code(s, e->u.op.args[i], arith);
}

static void convert_code(ScriptText *s, const ImpExp *e, Arith arith) {
  const ImpExp *arg = e->u.convert.arg;
  if (e->type != arg->type && e->type != PRIM_I64) fit_code(s, e->type);
  if (e->type != PRIM_BOOL && prim_extends_by_zeros(e->type, arg->type))
    fit_code(s, prim_unsigned(arg->type));
  exp_code(s, arg, arith);
}

// Has the table words for the expression, whatever those within need?
static bool has_words(const ImpExp *e, Arith arith) {
  bool is_int = prim_is_int(e->type) || e->type == PRIM_BOOL;
  if (e->kind == IMP_VAR) return is_held_as_int(e->type);
  if (e->kind == IMP_CONST || e->kind == IMP_SELECT) return is_int;
  if (e->kind == IMP_ITEM) return e->u.item == ITEM_ATOMIC_BYTES;
  if (e->kind == IMP_OP) return op_word(e, arith) != NULL;
  if (e->kind != IMP_CONVERT) return e->kind == IMP_TUNING;
  PrimType from = e->u.convert.arg->type;
  return is_int && (prim_is_int(from) || from == PRIM_BOOL);
}

// The variable that has the value.
static int value_number(ScriptText *s, const ImpExp *e, Arith arith) {
  if (e->kind == IMP_VAR) return var_number(s, e->u.var);
  int fresh = s->number_count++;
  value_by_function(s, fresh, e, arith);
  return fresh;
}

static void exp_code(ScriptText *s, const ImpExp *e, Arith arith) {
  if (!has_words(e, arith) || e->kind == IMP_VAR) {
    int of = value_number(s, e, arith);
    word(s, "RT_OF_VAR");
    number(s, of);
  } else if (e->kind == IMP_CONST) {
    const_code(s, e->u.constant.u.i);
  } else if (e->kind == IMP_TUNING) {
    word(s, "RT_OF_PARAM");
    number(s, emit_tuning_index(s->c.e, e->u.tuning));
  } else if (e->kind == IMP_ITEM) {
    word(s, "RT_OF_ATOMIC_BYTES");
  } else if (e->kind == IMP_SELECT) {
    word(s, "RT_OF_SELECT");
    exp_code(s, e->u.select.condition, arith);
    exp_code(s, e->u.select.a, arith);
    exp_code(s, e->u.select.b, arith);
  } else if (e->kind == IMP_CONVERT) {
    convert_code(s, e, arith);
  } else {
    op_code(s, e, arith);
  }
}

static void bytes_code(ScriptText *s, PrimType elem, const ImpExp *count, Arith arith) {
  exp_code(s, imp_mul(count, imp_i64(prim_size_bytes(elem))), arith);
}

// ---- statements

static void script_block(ScriptText *s, const ImpBlock *block);

static ScriptPart block_code(ScriptText *s, const ImpBlock *block) {
  ScriptPart code = part_new(), line = s->line, *outer = s->block;
  s->block = &code;
  s->line = part_new();
  s->depth++;
  script_block(s, block);
  s->depth--;
  s->block = outer;
  s->line = line;
  return code;
}

static void set(ScriptText *s, const Var *var, const ImpExp *value) {
  if (!value || !map_has(s->c.live, var)) return;
  int to = var_number(s, var);
  if (value->kind == IMP_VAR) {
    word(s, "RT_DO_COPY");
    number(s, to);
    number(s, var_number(s, value->u.var));
  } else if (has_words(value, ARITH_WRAP)) {
    word(s, "RT_DO_SET");
    number(s, to);
    exp_code(s, value, ARITH_WRAP);
  } else {
    value_by_function(s, to, value, ARITH_WRAP);
    return;
  }
  end_line(s, NULL);
}

static void begin_with_block(ScriptText *s, const char *step, const Mem *mem) {
  word(s, step);
  number(s, block_number(s, mem));
}

static void share(ScriptText *s, const ImpStm *stm) {
  begin_with_block(s, stm->kind == IMP_SHARE ? "RT_DO_SHARE" : "RT_DO_UNIQUE",
                   stm->u.share.to);
  number(s, block_number(s, stm->u.share.from));
  end_line(s, NULL);
}

static void read(ScriptText *s, const ImpStm *stm) {
  const Mem *mem = stm->u.read.mem;
  word(s, "RT_DO_READ");
  number(s, var_number(s, stm->u.read.var));
  word(s, emit_elem_name(mem->elem));
  number(s, block_number(s, mem));
  bytes_code(s, mem->elem, stm->u.read.index, ARITH_PLAIN);
  end_line(s, NULL);
}

static void check(ScriptText *s, const ImpStm *stm) {
  int count = emit_check_values(stm);
  word(s, "RT_DO_CHECK");
  number(s, emit_check(s->c.e, stm));
  number(s, count);
  exp_code(s, stm->u.check.condition, ARITH_WRAP);
  for (int i = 0; i < count; i++)
    exp_code(s, imp_convert(PRIM_I64, stm->u.check.values[i]), ARITH_WRAP);
  end_line(s, NULL);
}

static void branch(ScriptText *s, const ImpStm *stm) {
  ScriptPart then_code = block_code(s, &stm->u.cond.then_body),
             else_code = block_code(s, &stm->u.cond.else_body);
  word(s, "RT_DO_IF");
  exp_code(s, stm->u.cond.condition, ARITH_WRAP);
  number(s, then_code.length);
  number(s, else_code.length);
  end_line(s, NULL);
  append(s, &then_code);
  append(s, &else_code);
}

static void loop(ScriptText *s, const ImpStm *stm) {
  ScriptPart body = block_code(s, &stm->u.loop.body);
  word(s, "RT_DO_FOR");
  number(s, var_number(s, stm->u.loop.var));
  number(s, body.length);
  exp_code(s, stm->u.loop.bound, ARITH_PLAIN);
  end_line(s, NULL);
  append(s, &body);
}

// The condition may need functions, each time.
static void loop_while(ScriptText *s, const ImpStm *stm) {
  ScriptPart body = block_code(s, &stm->u.loop_while.body), condition = part_new(),
             *outer = s->block;
  int holds = s->number_count++;
  s->block = &condition;
  s->depth++;
  word(s, "RT_DO_SET");
  number(s, holds);
  exp_code(s, stm->u.loop_while.condition, ARITH_WRAP);
  end_line(s, NULL);
  s->depth--;
  s->block = outer;
  word(s, "RT_DO_WHILE");
  number(s, holds);
  number(s, condition.length);
  number(s, body.length);
  end_line(s, NULL);
  append(s, &condition);
  append(s, &body);
}

static void any_loop(ScriptText *s, const ImpStm *stm) {
  if (emit_only_computes(stm))
    loop_by_function(s, stm);
  else if (stm->kind == IMP_FOR)
    loop(s, stm);
  else
    loop_while(s, stm);
}

static void once(ScriptText *s, const ImpStm *stm) {
  ScriptPart body = block_code(s, &stm->u.once.body);
  begin_with_block(s, "RT_DO_ONCE", stm->u.once.mem);
  number(s, body.length);
  end_line(s, NULL);
  append(s, &body);
}

// ---- guards

static void guard_slots(ScriptText *s, const ImpStm *stm) {
  int taken = 0;
  MemVec slots = emit_guard_slots(stm, &taken);
  number(s, taken);
  number(s, slots.count);
  vec_each (const Mem **, mem, &slots)
    number(s, block_number(s, *mem));
  end_line(s, NULL);
}

static bool is_compared(const ScriptText *s, const ImpParam *result) {
  return result->is_array || map_has(s->c.live, result->var);
}

// Sizes may need functions, which are called when the branches have run.
static void guard_outcomes(ScriptText *s, const ImpStm *stm) {
  ScriptPart before = part_new(), *outer = s->block;
  int count = 0;
  for (int i = 0; i < stm->u.guard.result_count; i++)
    count += is_compared(s, &stm->u.guard.results[i]);
  s->block = &before;
  number(s, count);
  for (int i = 0; i < stm->u.guard.result_count; i++) {
    const ImpParam *r = &stm->u.guard.results[i];
    if (!is_compared(s, r)) continue;
    word(s, emit_elem_name(r->is_array ? r->arr.elem : r->var->type.elem));
    number(s, r->is_array ? block_number(s, r->arr.mem) : -1);
    number(s, r->is_array ? -1 : var_number(s, r->var));
    exp_code(s, r->is_array ? arr_count(&r->arr) : imp_i64(1), ARITH_SATURATE);
  }
  exp_code(s, stm->u.guard.roundings, ARITH_SATURATE);
  ScriptPart line = s->line;
  s->block = outer;
  s->line = part_new();
  number(s, before.length);
  end_line(s, NULL);
  append(s, &before);
  s->line = line;
  end_line(s, NULL);
}

// What the guard is asked with stands before its length is known.
static void guard(ScriptText *s, const ImpStm *stm) {
  bool races = !s->c.e->options.library;
  ScriptPart head = part_new(), inner = part_new(), line, *outer = s->block;
  ScriptPart then_code = block_code(s, &stm->u.guard.then_body),
             else_code = block_code(s, &stm->u.guard.else_body);
  exp_code(s, stm->u.guard.par, ARITH_SATURATE);
  exp_code(s, stm->u.guard.local_bytes, ARITH_SATURATE);
  exp_code(s, stm->u.guard.step ? stm->u.guard.step : imp_i64(0), ARITH_SATURATE);
  line = s->line;
  s->line = head;
  s->block = &inner;
  if (races) guard_slots(s, stm);
  number(s, then_code.length);
  number(s, else_code.length);
  end_line(s, NULL);
  append(s, &then_code);
  append(s, &else_code);
  if (races) guard_outcomes(s, stm);
  s->block = outer;
  word(s, "RT_DO_GUARD");
  number(s, emit_guard_index(s->c.e, stm->u.guard.guard->name));
  number(s, line.length + inner.length);
  text_printf(s->line.text, " %s", text_str(line.text));
  s->line.length += line.length;
  end_line(s, stm->u.guard.guard->name);
  append(s, &inner);
}

// ---- launches

static void launch_arg(ScriptText *s, const Kernel *kernel, const KernelArg *arg) {
  if (arg->is_mem) {
    word(s, kernel->uses_arena ? "RT_ARG_USED" : "RT_ARG_BLOCK");
    number(s, block_number(s, arg->mem));
    if (kernel->uses_arena) number(s, arg->loads + 2 * arg->changes);
    return;
  }
  PrimType type = arg->value->type;
  word(s, emit_elem_name(type));
  if (is_held_as_int(type))
    exp_code(s, arg->value, ARITH_WRAP);
  else
    number(s, value_number(s, arg->value, ARITH_WRAP));
}

static void launch_number(ScriptText *s, const ImpExp *e, int without) {
  exp_code(s, e ? e : imp_i64(without), ARITH_PLAIN);
}

static int larger(int a, int b) { return a > b ? a : b; }

static void launch(ScriptText *s, const ImpStm *stm) {
  const Kernel *kernel = stm->u.launch.kernel;
  KernelArrays own = imp_kernel_arrays(kernel, MEM_SCRATCH),
               locals = imp_kernel_arrays(kernel, MEM_LOCAL);
  const int *index = map_get(s->c.e->kernels, kernel);
  int args = stm->u.launch.arg_count + own.count;
  word(s, "RT_DO_LAUNCH");
  number(s, index ? *index : -1);
  number(s, args);
  number(s, own.count);
  number(s, locals.count);
  launch_number(s, stm->u.launch.items, 0);
  launch_number(s, stm->u.launch.groups, -1);
  launch_number(s, stm->u.launch.group_size, 0);
  for (int i = 0; i < stm->u.launch.arg_count; i++)
    launch_arg(s, kernel, &stm->u.launch.args[i]);
  for (int i = 0; i < own.count; i++) {
    word(s, "RT_I64");
    exp_code(s, own.at[i].count, ARITH_SATURATE);
  }
  for (int i = 0; i < own.count; i++) {
    exp_code(s, own.at[i].count, ARITH_SATURATE);
    number(s, prim_size_bytes(own.at[i].mem->elem));
  }
  for (int i = 0; i < locals.count; i++)
    bytes_code(s, locals.at[i].mem->elem, locals.at[i].count, ARITH_SATURATE);
  end_line(s, kernel->name);
  s->most_args = larger(s->most_args, args);
  s->most_scratch = larger(s->most_scratch, own.count);
  s->most_locals = larger(s->most_locals, locals.count);
}

// ---- the walk

static void script_of_blocks(ScriptText *s, const ImpStm *stm) {
  if (stm->kind == IMP_ALLOC) {
    begin_with_block(s, "RT_DO_ALLOC", stm->u.alloc.mem);
    number(s, emit_place(s->c.e, stm->loc));
    bytes_code(s, stm->u.alloc.mem->elem, stm->u.alloc.count, ARITH_SATURATE);
  } else if (stm->kind == IMP_TABLE) {
    begin_with_block(s, "RT_DO_TABLE", stm->u.table.mem);
    number(s, emit_table(&s->c, stm));
  } else {
    begin_with_block(s, "RT_DO_RELEASE", stm->u.mem.mem);
  }
  end_line(s, NULL);
}

static void script_stm(ScriptText *s, const ImpStm *stm) {
  switch (stm->kind) {
  case IMP_DECLARE: set(s, stm->u.declare.var, stm->u.declare.value); return;
  case IMP_ASSIGN: set(s, stm->u.assign.var, stm->u.assign.value); return;
  case IMP_FOR:
  case IMP_WHILE: any_loop(s, stm); return;
  case IMP_IF: branch(s, stm); return;
  case IMP_CALL: call(s, stm); return;
  case IMP_CHECK: check(s, stm); return;
  case IMP_COMMENT: end_line(s, stm->u.comment.text); return;
  case IMP_DECLARE_MEM: return;
  case IMP_SHARE:
  case IMP_UNIQUE: share(s, stm); return;
  case IMP_ALLOC:
  case IMP_TABLE:
  case IMP_RELEASE: script_of_blocks(s, stm); return;
  case IMP_LAUNCH: launch(s, stm); return;
  case IMP_READ: read(s, stm); return;
  case IMP_GUARD: guard(s, stm); return;
  case IMP_ONCE: once(s, stm); return;
  case IMP_SPLIT:
  case IMP_GATHER:
  case IMP_AWAIT:
  case IMP_STORE:
  case IMP_PREFETCH:
  case IMP_ATOMIC:
  case IMP_LOCKED:
  case IMP_BARRIER:
  case IMP_LOCAL: bug(s->c.e->c, stm->loc, "statement %d in a table", (int)stm->kind);
  }
}

static void script_block(ScriptText *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block)
    script_stm(s, *stm);
}

// ---- an entry point

static void results(ScriptText *s, const ImpEntry *entry) {
  int sizes = entry->entry->size_result_count;
  for (int i = sizes; i < entry->result_count; i++) {
    const Arr *arr = &entry->results[i].arr;
    bool is_array = entry->results[i].is_array;
    const ImpExp *value = is_array ? NULL : entry->scalar_results[i];
    int scalar = is_array ? 0 : value_number(s, value, ARITH_WRAP);
    word(s, is_array ? "RT_DO_ARRAY" : "RT_DO_SCALAR");
    number(s, i - sizes);
    word(s, emit_elem_name(is_array ? arr->elem : value->type));
    number(s, is_array ? block_number(s, arr->mem) : scalar);
    if (is_array) number(s, arr->rank);
    for (int d = 0; is_array && d < arr->rank; d++)
      exp_code(s, arr->shape[d], ARITH_PLAIN);
    end_line(s, NULL);
  }
}

static void params(ScriptText *s, CodeText *c, const ImpEntry *entry) {
  for (int i = 0; i < entry->entry->param_count; i++) {
    const ImpParam *param = &entry->params[i];
    const char *from = entry_arg_name(entry->entry, i);
    if (param->is_array)
      c_line(c, "blocks[%d] = args->%s;", block_number(s, param->arr.mem), from);
    else if (map_has(s->c.live, param->var))
      c_line(c, "numbers[%d].u.%s = args->%s;", var_number(s, param->var),
             member_of(param->var->type.elem), from);
  }
}

static void values_table(const ScriptText *s, CodeText *c) {
  if (!s->value_count) return;
  Text *t = text_new();
  for (int i = 0; i < s->value_count; i++)
    text_printf(t, "%svalue_%s_%d", i ? ", " : "", s->name, i);
  c_line(c, "static int (*const values[])(struct rt_context *, struct rt_value *) = {");
  c_line(c, "  %s", text_str(t));
  c_line(c, "};");
}

// The function that has room for all that the table speaks of.
static void script_function(ScriptText *s, Text *t, const ImpEntry *entry, int length) {
  CodeText c = code_text_new(s->c.e, t), room = code_text_new(s->c.e, text_new());
  text_indent(room.t, 2);
  params(s, &room, entry);
  int blocks = map_count(s->blocks);
  c_line(&c,
         "static int entry_%s(struct rt_context *ctx, struct entry_%s_args *args, struct "
         "rt_value *results) {",
         s->name, emit_entry_name(s->c.e, entry->entry));
  c_open(&c);
  values_table(s, &c);
  c_line(&c, "struct rt_value numbers[%d];", larger(s->number_count, 1));
  c_line(&c, "struct rt_mem *blocks[%d] = { NULL };", larger(blocks, 1));
  c_line(&c, "struct rt_arg launch_args[%d];", larger(s->most_args, 1));
  c_line(&c, "struct rt_scratch scratch[%d];", larger(s->most_scratch, 1));
  c_line(&c, "int64_t local_bytes[%d];", larger(s->most_locals, 1));
  c_line(&c, "struct rt_script script = {");
  c_line(&c, "  ctx, script_%s, numbers, results, blocks,", s->name);
  c_line(&c, "  %s, launch_args, scratch, local_bytes",
         s->value_count ? "values" : "NULL");
  c_line(&c, "};");
  c_line(&c, "(void)args;");
  text_add(t, text_str(room.t));
  c_line(&c, "return rt_script_run(&script, %s, %d, %d);", c_string(entry->entry->name),
         length, blocks);
  c_close(&c);
  text_newline(t);
}

void emit_script(Emit *e, Text *t, const ImpEntry *entry, const char *profile) {
  ScriptPart code = part_new();
  ScriptText s = { .c = code_text_new(e, text_new()),
                   .block = &code,
                   .line = part_new(),
                   .depth = 1,
                   .numbers = map_new(NULL),
                   .blocks = map_new(NULL) };
  s.name = text_format("%s_%s", emit_entry_name(e, entry->entry), profile);
  s.c.live = emit_entry_live(entry);
  script_block(&s, &entry->body);
  results(&s, entry);
  text_add(t, text_str(s.c.t));
  text_printf(t, "\nstatic const int32_t script_%s[] = {%s\n};\n", s.name,
              text_str(code.text));
  script_function(&s, t, entry, code.length);
}
