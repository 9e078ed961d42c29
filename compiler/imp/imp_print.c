// Imp as text, in the notation that imp.h opens with.
#include "imp/imp.h"

static void print_block(Text *t, const ImpBlock *block);
static void print_exp(Text *t, const ImpExp *e);

static void print_var(Text *t, const Var *var) {
  text_printf(t, "%s_%d", var->name, var->id);
}

static void print_mem(Text *t, const Mem *mem) {
  text_printf(t, "%s_%d", mem->name, mem->id);
}

// ---- expressions

static void print_op(Text *t, const ImpExp *e) {
  if (op_arity(e->u.op.op) == 2) {
    text_add(t, "(");
    print_exp(t, e->u.op.args[0]);
    text_printf(t, " %s ", op_spelling(e->u.op.op));
    print_exp(t, e->u.op.args[1]);
    text_add(t, ")");
    return;
  }
  text_printf(t, "%s(", op_spelling(e->u.op.op));
  for (int i = 0; i < op_arity(e->u.op.op); i++) {
    if (i) text_add(t, ", ");
    print_exp(t, e->u.op.args[i]);
  }
  text_add(t, ")");
}

static void print_select(Text *t, const ImpExp *e) {
  text_add(t, "(");
  print_exp(t, e->u.select.condition);
  text_add(t, " ? ");
  print_exp(t, e->u.select.a);
  text_add(t, " : ");
  print_exp(t, e->u.select.b);
  text_add(t, ")");
}

static void print_conversion(Text *t, const char *word, const ImpExp *e) {
  text_printf(t, "%s %s(", word, prim_type_name(e->type));
  print_exp(t, e->u.convert.arg);
  text_add(t, ")");
}

static const char *const item_names[] = {
  [ITEM_GLOBAL_ID] = "global_id",       [ITEM_LOCAL_ID] = "local_id",
  [ITEM_GROUP_ID] = "group_id",         [ITEM_LOCAL_SIZE] = "local_size",
  [ITEM_LOCAL_STEPS] = "local_steps",   [ITEM_SUB_STEPS] = "sub_steps",
  [ITEM_ATOMIC_BYTES] = "atomic_bytes",
};

static void print_element(Text *t, const Mem *mem, const ImpExp *index) {
  print_mem(t, mem);
  text_add(t, "[");
  print_exp(t, index);
  text_add(t, "]");
}

static void print_function(Text *t, const char *name, const ImpExp *e) {
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  text_printf(t, "%s(", name);
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, ", ");
    print_exp(t, operands[i]);
  }
  text_add(t, ")");
}

static void print_strided(Text *t, const ImpExp *e) {
  print_element(t, e->u.strided.mem, e->u.strided.index);
  if (e->u.strided.run > 1) text_printf(t, " %d at once", e->u.strided.run);
  text_add(t, " by ");
  print_exp(t, e->u.strided.step);
}

static void print_permute(Text *t, const ImpExp *e) {
  print_function(t, "permute", e);
  text_add(t, "{");
  for (int i = 0; i < e->lanes; i++)
    text_printf(t, i ? " %d" : "%d", e->u.permute.from[i]);
  text_add(t, "}");
}

static void print_exp(Text *t, const ImpExp *e) {
  switch (e->kind) {
  case IMP_VAR: print_var(t, e->u.var); return;
  case IMP_CONST: text_add(t, prim_text(e->u.constant)); return;
  case IMP_OP: print_op(t, e); return;
  case IMP_CONVERT: print_conversion(t, "convert", e); return;
  case IMP_BITS: print_conversion(t, "bits", e); return;
  case IMP_LOAD: print_element(t, e->u.load.mem, e->u.load.index); return;
  case IMP_SELECT: print_select(t, e); return;
  case IMP_ITEM: text_add(t, item_names[e->u.item]); return;
  case IMP_SHUFFLE:
    print_function(t, e->u.shuffle.up ? "item_behind" : "item_ahead", e);
    return;
  case IMP_TUNING: text_printf(t, "#%s", e->u.tuning); return;
  case IMP_SPLAT: print_function(t, "splat", e); return;
  case IMP_IOTA: text_printf(t, "lanes%d", e->lanes); return;
  case IMP_STRIDED: print_strided(t, e); return;
  case IMP_PERMUTE: print_permute(t, e); return;
  case IMP_PICK: print_function(t, "pick", e); return;
  case IMP_ANY: print_function(t, "any", e); return;
  case IMP_ALL: print_function(t, "all", e); return;
  case IMP_MOST: print_function(t, "most", e); return;
  case IMP_COUNT: print_function(t, "count", e); return;
  }
}

// ---- statements

static void print_inner(Text *t, const ImpBlock *block) {
  text_add(t, " {");
  print_block(t, block);
  text_newline(t);
  text_add(t, "}");
}

static void print_declare(Text *t, const Var *var, const ImpExp *value) {
  text_add(t, "let ");
  print_var(t, var);
  text_printf(t, " : %s", prim_type_name(var->type.elem));
  if (!value) return;
  text_add(t, " = ");
  print_exp(t, value);
}

static void print_store(Text *t, const Mem *mem, const ImpExp *index, const char *op,
                        const ImpExp *value) {
  print_element(t, mem, index);
  text_printf(t, " %s ", op);
  print_exp(t, value);
}

static void print_branches(Text *t, const ImpBlock *then_body,
                           const ImpBlock *else_body) {
  print_inner(t, then_body);
  if (!else_body->count) return;
  text_add(t, " else");
  print_inner(t, else_body);
}

static void print_call(Text *t, const ImpStm *stm) {
  for (int i = 0; i < stm->u.call.var_count; i++) {
    if (i) text_add(t, ", ");
    print_var(t, stm->u.call.vars[i]);
  }
  text_printf(t, " = %s(", stm->u.call.function->name);
  for (int i = 0; i < stm->u.call.arg_count; i++) {
    if (i) text_add(t, ", ");
    print_exp(t, stm->u.call.args[i]);
  }
  text_add(t, ")");
}

static void print_check(Text *t, const ImpStm *stm) {
  text_add(t, "check ");
  print_exp(t, stm->u.check.condition);
  text_printf(t, " \"%s", stm->u.check.parts[0]);
  for (int i = 0; i < stm->u.check.value_count; i++) {
    text_add(t, "{");
    print_exp(t, stm->u.check.values[i]);
    text_printf(t, "}%s", stm->u.check.parts[i + 1]);
  }
  text_add(t, "\"");
}

static void print_alloc(Text *t, const char *word, const ImpStm *stm) {
  static const char *const spaces[] = { "global", "local", "private", "scratch",
                                        "arena" };
  const Mem *mem = stm->u.alloc.mem;
  text_printf(t, "%s ", word);
  print_mem(t, mem);
  text_printf(t, ": %s ", spaces[mem->space]);
  print_exp(t, stm->u.alloc.count);
  text_printf(t, " %s", prim_type_name(mem->elem));
}

static void print_share(Text *t, const char *word, const ImpStm *stm) {
  print_mem(t, stm->u.share.to);
  text_printf(t, " = %s ", word);
  print_mem(t, stm->u.share.from);
}

enum { FEW = 8 };  // values of a table that are shown

static void print_table(Text *t, const ImpStm *stm) {
  print_mem(t, stm->u.table.mem);
  text_printf(t, " = table %d", stm->u.table.count);
  for (int i = 0; i < stm->u.table.count && i < FEW; i++)
    text_printf(t, "%s%s", i ? ", " : " [", prim_text(stm->u.table.values[i]));
  text_add(t, stm->u.table.count > FEW ? ", ..]" : "]");
}

static void print_launch(Text *t, const ImpStm *stm) {
  text_printf(t, "launch %s <", stm->u.launch.kernel->name);
  if (stm->u.launch.items) print_exp(t, stm->u.launch.items);
  if (stm->u.launch.groups) {
    text_add(t, "groups ");
    print_exp(t, stm->u.launch.groups);
  }
  if (stm->u.launch.group_size) {
    text_add(t, " of ");
    print_exp(t, stm->u.launch.group_size);
  }
  text_add(t, "> (");
  for (int i = 0; i < stm->u.launch.arg_count; i++) {
    const KernelArg *arg = &stm->u.launch.args[i];
    if (i) text_add(t, ", ");
    if (arg->is_mem)
      print_mem(t, arg->mem);
    else
      print_exp(t, arg->value);
  }
  text_add(t, ")");
}

static void print_for(Text *t, const ImpStm *stm) {
  text_add(t, "for ");
  print_var(t, stm->u.loop.var);
  text_add(t, " < ");
  print_exp(t, stm->u.loop.bound);
  if (stm->u.loop.reassociate) text_add(t, " reassociate");
  if (stm->u.loop.independent) text_add(t, " independent");
  if (stm->u.loop.many) text_add(t, " many");
  if (stm->u.loop.scalar) text_add(t, " scalar");
  print_inner(t, &stm->u.loop.body);
}

static void print_if(Text *t, const ImpStm *stm) {
  text_add(t, "if ");
  print_exp(t, stm->u.cond.condition);
  print_branches(t, &stm->u.cond.then_body, &stm->u.cond.else_body);
}

static void print_while(Text *t, const ImpStm *stm) {
  text_add(t, "while ");
  print_exp(t, stm->u.loop_while.condition);
  print_inner(t, &stm->u.loop_while.body);
}

static void print_locked(Text *t, const ImpStm *stm) {
  text_add(t, "locked ");
  print_element(t, stm->u.locked.locks, stm->u.locked.index);
  print_inner(t, &stm->u.locked.body);
}

static void print_guard(Text *t, const ImpStm *stm) {
  text_printf(t, "guard %s ", stm->u.guard.guard->name);
  print_exp(t, stm->u.guard.par);
  print_branches(t, &stm->u.guard.then_body, &stm->u.guard.else_body);
}

static void print_read(Text *t, const ImpStm *stm) {
  print_var(t, stm->u.read.var);
  text_add(t, " = read ");
  print_element(t, stm->u.read.mem, stm->u.read.index);
}

static void print_mem_word(Text *t, const char *word, const ImpStm *stm) {
  text_printf(t, "%s ", word);
  print_mem(t, stm->u.mem.mem);
}

static void print_assign(Text *t, const ImpStm *stm) {
  print_var(t, stm->u.assign.var);
  text_add(t, " = ");
  print_exp(t, stm->u.assign.value);
}

// start, count, workers, rank, most = split n if par >= main.workers_0
static void print_split(Text *t, const ImpStm *stm) {
  for (int i = 0; i < SPLIT_RESULTS; i++) {
    if (i) text_add(t, ", ");
    print_var(t, stm->u.split.vars[i]);
  }
  text_add(t, " = split ");
  print_exp(t, stm->u.split.width);
  if (stm->u.split.workers) {
    text_add(t, " by ");
    print_exp(t, stm->u.split.workers);
    text_printf(t, ", as %s", stm->u.split.guard->name);
  } else {
    text_add(t, " if ");
    print_exp(t, stm->u.split.par);
    text_printf(t, " >= %s", stm->u.split.guard->name);
  }
  if (stm->u.split.layout) text_printf(t, " in %s", stm->u.split.layout);
}

// to = gather n from start:count of rows of m from xs
static void print_gather(Text *t, const ImpStm *stm) {
  print_mem(t, stm->u.gather.to);
  text_add(t, " = gather ");
  if (stm->u.gather.site) text_printf(t, "(%d) ", stm->u.gather.site);
  print_exp(t, stm->u.gather.total);
  text_add(t, " from ");
  print_exp(t, stm->u.gather.start);
  text_add(t, ":");
  print_exp(t, stm->u.gather.count);
  text_add(t, " of rows of ");
  print_exp(t, stm->u.gather.row);
  text_add(t, " from ");
  if (stm->u.gather.from)
    print_mem(t, stm->u.gather.from);
  else
    print_exp(t, stm->u.gather.value);
  if (stm->u.gather.room) {
    text_add(t, " behind ");
    print_exp(t, stm->u.gather.room);
  }
  if (stm->u.gather.first) {
    text_add(t, " but only ");
    print_exp(t, stm->u.gather.first);
    text_add(t, ":");
    print_exp(t, stm->u.gather.rows);
  }
  if (stm->u.gather.columns) {
    text_add(t, " of columns, ");
    print_exp(t, stm->u.gather.columns);
  }
  if (stm->u.gather.points) {
    text_add(t, " with ");
    print_mem(t, stm->u.gather.values);
    text_add(t, " at ");
    print_mem(t, stm->u.gather.positions);
    text_add(t, " of ");
    print_exp(t, stm->u.gather.points);
    text_add(t, " of ");
    print_exp(t, stm->u.gather.unit);
  }
  if (!stm->u.gather.before) return;
  text_add(t, " but ");
  print_exp(t, stm->u.gather.before);
  text_add(t, " before and ");
  print_exp(t, stm->u.gather.after);
  text_add(t, stm->u.gather.ring ? " after, around" : " after");
  if (!stm->u.gather.later) return;
  text_add(t, ", later if ");
  print_exp(t, stm->u.gather.later);
}

static void print_atomic(Text *t, const ImpStm *stm) {
  const char *how = "";
  switch (stm->u.atomic.action) {
  case ATOMIC_UPDATE:
    how = text_format("atomic %s", op_spelling(stm->u.atomic.op));
    break;
  case ATOMIC_EXCHANGE: how = "exchange"; break;
  case ATOMIC_SIGNAL: how = "signal"; break;
  case ATOMIC_TAKE: how = "take"; break;
  case ATOMIC_AWAIT: how = "await"; break;
  }
  const ImpExp *value =
      stm->u.atomic.value ? stm->u.atomic.value : imp_var(stm->u.atomic.result);
  print_store(t, stm->u.atomic.mem, stm->u.atomic.index, how, value);
}

static void print_stm(Text *t, const ImpStm *stm) {
  switch (stm->kind) {
  case IMP_DECLARE: print_declare(t, stm->u.declare.var, stm->u.declare.value); return;
  case IMP_ASSIGN: print_assign(t, stm); return;
  case IMP_STORE:
    print_store(t, stm->u.store.mem, stm->u.store.index, "=", stm->u.store.value);
    if (stm->u.store.packed) text_add(t, stm->u.store.over ? " packed, over" : " packed");
    return;
  case IMP_PREFETCH:
    text_add(t, "prefetch ");
    print_exp(t, imp_load(stm->u.prefetch.mem, stm->u.prefetch.index));
    return;
  case IMP_ATOMIC: print_atomic(t, stm); return;
  case IMP_LOCKED: print_locked(t, stm); return;
  case IMP_FOR: print_for(t, stm); return;
  case IMP_WHILE: print_while(t, stm); return;
  case IMP_IF: print_if(t, stm); return;
  case IMP_BARRIER: text_add(t, "barrier"); return;
  case IMP_CALL: print_call(t, stm); return;
  case IMP_CHECK: print_check(t, stm); return;
  case IMP_COMMENT: text_printf(t, "// %s", stm->u.comment.text); return;
  case IMP_LOCAL: print_alloc(t, "array", stm); return;
  case IMP_DECLARE_MEM: print_mem_word(t, "slot", stm); return;
  case IMP_ALLOC: print_alloc(t, "alloc", stm); return;
  case IMP_SHARE: print_share(t, "share", stm); return;
  case IMP_UNIQUE: print_share(t, "unique", stm); return;
  case IMP_RELEASE: print_mem_word(t, "release", stm); return;
  case IMP_LAUNCH: print_launch(t, stm); return;
  case IMP_TABLE: print_table(t, stm); return;
  case IMP_READ: print_read(t, stm); return;
  case IMP_GUARD: print_guard(t, stm); return;
  case IMP_SPLIT: print_split(t, stm); return;
  case IMP_GATHER: print_gather(t, stm); return;
  case IMP_AWAIT: print_mem_word(t, "await", stm); return;
  case IMP_ONCE:
    text_add(t, "once ");
    print_mem(t, stm->u.once.mem);
    print_inner(t, &stm->u.once.body);
    return;
  }
}

static void print_block(Text *t, const ImpBlock *block) {
  text_indent(t, 2);
  vec_each (const ImpStm **, stm, block) {
    text_newline(t);
    print_stm(t, *stm);
  }
  text_indent(t, -2);
}

// ---- programs

static void print_kernel(Text *t, const Kernel *kernel) {
  text_printf(t, "kernel %s (", kernel->name);
  for (int i = 0; i < kernel->param_count; i++) {
    const KernelParam *p = &kernel->params[i];
    if (i) text_add(t, ", ");
    if (p->is_mem)
      print_mem(t, p->mem);
    else
      print_var(t, p->var);
    text_printf(t, ": %s",
                p->is_mem ? text_format("global %s", prim_type_name(p->mem->elem))
                          : prim_type_name(p->var->type.elem));
  }
  text_add(t, ")");
  for (int i = 0; i < kernel->scratch_count; i++) {
    text_add(t, i ? ", " : " scratch ");
    print_mem(t, kernel->scratch[i].mem);
    text_add(t, " ");
    print_exp(t, kernel->scratch[i].count);
    if (kernel->own_local) text_add(t, " local");
    if (!kernel->scratch[i].within) continue;
    text_add(t, " within ");
    print_mem(t, kernel->scratch[i].within);
  }
  print_inner(t, &kernel->body);
  text_newline(t);
  text_newline(t);
}

static void print_entry(Text *t, const ImpEntry *entry) {
  text_printf(t, "entry %s(", entry->entry->name);
  for (int i = 0; i < entry->entry->param_count; i++) {
    const ImpParam *p = &entry->params[i];
    if (i) text_add(t, ", ");
    if (p->is_array)
      print_mem(t, p->arr.mem);
    else
      print_var(t, p->var);
    PrimType type = p->is_array ? p->arr.elem : p->var->type.elem;
    text_printf(t, ": %s%s", prim_type_name(type), p->is_array ? " global" : "");
  }
  text_add(t, ")");
  print_inner(t, &entry->body);
  text_newline(t);
  text_newline(t);
}

void imp_print(Text *t, const ImpProgram *program) {
  for (int i = 0; i < program->entry_count; i++)
    print_entry(t, program->entries[i]);
  for (int i = 0; i < program->kernel_count; i++)
    print_kernel(t, program->kernels[i]);
}

// ---- plans

void imp_print_plans(Text *t, const ImpProgram *program) {
  for (int i = 0; i < program->plan_count; i++)
    kern_print_plan(t, program->plans[i]);
}

void imp_explain_plans(Text *t, const ImpProgram *program) {
  for (int i = 0; i < program->plan_count; i++)
    kern_explain_plan(t, program->plans[i]);
}
