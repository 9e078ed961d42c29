#include "kern/kern.h"

static void print_block(Text *t, const KernBlock *block);

static void line(Text *t, const char *text) {
  text_newline(t);
  text_add(t, text);
}

static void print_terms(Text *t, const Term *const *terms, int count) {
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, ", ");
    term_print(t, terms[i]);
  }
}

static void print_binders(Text *t, const Var *const *vars, int count) {
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, ", ");
    core_print_atom(t, atom_var(vars[i]));
    text_printf(t, ": %s", prim_type_name(vars[i]->type.elem));
  }
}

static void print_tensor(Text *t, const Tensor *tensor) {
  if (tensor->host)
    core_print_atom(t, atom_var(tensor->host));
  else
    text_printf(t, "%s_%d", tensor->name, tensor->id);
}

static void print_indices(Text *t, const Access *access, int count) {
  print_tensor(t, access->tensor);
  text_add(t, "[");
  print_terms(t, access->index, count);
  text_add(t, "]");
}

static void print_access(Text *t, const Access *access) {
  print_indices(t, access, access->tensor->rank);
}

static void let(Text *t, const KernStm *stm) {
  text_newline(t);
  if (!stm->binder_count) return;
  text_add(t, "let ");
  print_binders(t, stm->binders, stm->binder_count);
  text_add(t, " = ");
}

// {
//   statements
//   in {results}
// }
static void print_braces(Text *t, const KernBlock *block) {
  text_add(t, "{");
  text_indent(t, 2);
  print_block(t, block);
  text_indent(t, -2);
  line(t, "}");
}

static void print_loop_params(Text *t, const Var *const *params, const Term *const *inits,
                              int count) {
  text_add(t, "(");
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, ", ");
    print_binders(t, &params[i], 1);
    text_add(t, " = ");
    term_print(t, inits[i]);
  }
  text_add(t, ") ");
}

// ---- axes

static const char *const bind_names[] = {
  [BIND_SEQ] = "",       [BIND_GRID] = "grid ", [BIND_ITEM] = "item ",
  [BIND_LANE] = "lane ", [BIND_REG] = "reg ",
};

static const char *const role_names[] = {
  [AXIS_MAP] = "map",   [AXIS_LOOP] = "loop", [AXIS_REDUCE] = "reduce",
  [AXIS_SCAN] = "scan", [AXIS_HIST] = "hist",
};

static void print_op(Text *t, const KernOp *op) {
  text_printf(t, "op%s (", op->commutative ? " comm" : "");
  print_binders(t, op->params, 2 * op->count);
  text_add(t, ") neutral {");
  print_terms(t, op->neutral, op->count);
  text_add(t, "} ");
  print_braces(t, op->block);
}

static void print_ops(Text *t, const Axis *axis) {
  int sums = kern_sum_count(axis);
  if (axis->inits) {
    text_add(t, " from {");
    print_terms(t, axis->inits, sums);
    text_add(t, "}");
  }
  for (int i = 0; i < axis->op_count; i++) {
    text_newline(t);
    print_op(t, &axis->ops[i]);
  }
}

static void print_hists(Text *t, const Axis *axis) {
  for (int i = 0; i < axis->hist_count; i++) {
    const KernHist *hist = &axis->hists[i];
    text_newline(t);
    text_add(t, hist->chained ? "then into" : "into");
    for (int k = 0; k < hist->op.count; k++) {
      text_add(t, k ? ", " : " ");
      print_indices(t, &hist->dests[k], hist->dests[k].tensor->rank - 1);
    }
    text_add(t, " below ");
    term_print(t, hist->width);
    text_add(t, " ");
    print_op(t, &hist->op);
  }
}

static void print_axis(Text *t, const Axis *axis) {
  text_printf(t, "axis %s: ", axis->name ? axis->name : "?");
  core_print_atom(t, atom_var(axis->index));
  text_add(t, " < ");
  term_print(t, axis->width);
  text_printf(t, " %s%s%s ", bind_names[axis->bind], axis->many ? "many " : "",
              role_names[axis->role]);
  if (axis->role == AXIS_LOOP)
    print_loop_params(t, axis->params, axis->inits, axis->param_count);
  print_braces(t, axis->body);
  text_indent(t, 2);
  if (axis->after) {
    text_newline(t);
    text_add(t, "after (");
    print_binders(t, axis->sums, kern_sum_count(axis));
    text_add(t, ") ");
    print_braces(t, axis->after);
  }
  print_ops(t, axis);
  print_hists(t, axis);
  text_indent(t, -2);
}

// ---- statements

static void print_alloc(Text *t, const Tensor *tensor) {
  static const char *const spaces[] = { "global", "own", "local" };
  text_add(t, "alloc ");
  print_tensor(t, tensor);
  text_add(t, ": ");
  for (int i = 0; i < tensor->rank; i++) {
    text_add(t, "[");
    term_print(t, tensor->dims[i]);
    text_add(t, "]");
  }
  text_printf(t, "%s %s", prim_type_name(tensor->elem), spaces[tensor->space]);
  if (tensor->open) text_add(t, " of any size");
}

static void print_if(Text *t, const KernStm *stm) {
  text_add(t, stm->u.cond.usual ? "if usually " : "if ");
  term_print(t, stm->u.cond.condition);
  text_add(t, " ");
  print_braces(t, stm->u.cond.then_block);
  const KernBlock *other = stm->u.cond.else_block;
  if (other->count + other->result_count == 0) return;
  text_add(t, " else ");
  print_braces(t, other);
}

static void print_while(Text *t, const KernStm *stm) {
  text_add(t, "while ");
  core_print_atom(t, atom_var(stm->u.loop.params[stm->u.loop.which]));
  text_add(t, " ");
  print_loop_params(t, stm->u.loop.params, stm->u.loop.inits, stm->u.loop.param_count);
  print_braces(t, stm->u.loop.body);
}

static void print_check(Text *t, const KernStm *stm) {
  text_add(t, "check ");
  term_print(t, stm->u.check.condition);
  text_printf(t, " \"");
  for (int i = 0; i <= stm->u.check.value_count; i++) {
    text_add(t, stm->u.check.parts[i]);
    if (i == stm->u.check.value_count) break;
    text_add(t, "{");
    term_print(t, stm->u.check.values[i]);
    text_add(t, "}");
  }
  text_add(t, "\"");
}

static void print_stm(Text *t, const KernStm *stm) {
  let(t, stm);
  switch (stm->kind) {
  case KERN_LET: term_print(t, stm->u.term); return;
  case KERN_LOAD: print_access(t, &stm->u.load); return;
  case KERN_STORE:
    print_access(t, &stm->u.store.to);
    text_add(t, " = ");
    term_print(t, stm->u.store.value);
    return;
  case KERN_ALLOC: print_alloc(t, stm->u.tensor); return;
  case KERN_ROOM:
    text_add(t, "room ");
    print_tensor(t, stm->u.room.tensor);
    text_add(t, " for ");
    term_print(t, stm->u.room.count);
    return;
  case KERN_AXIS: print_axis(t, stm->u.axis); return;
  case KERN_IF: print_if(t, stm); return;
  case KERN_WHILE: print_while(t, stm); return;
  case KERN_CALL:
    text_printf(t, "%s(", stm->u.call.function->name);
    print_terms(t, stm->u.call.args, stm->u.call.arg_count);
    text_add(t, ")");
    return;
  case KERN_CHECK: print_check(t, stm); return;
  }
}

static void print_block(Text *t, const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    print_stm(t, &block->stms[i]);
  if (!block->result_count) return;
  line(t, "in {");
  print_terms(t, block->results, block->result_count);
  text_add(t, "}");
}

void kern_print(Text *t, const Kern *kern) {
  text_newline(t);
  text_printf(t, "kernel %s ", kern->name);
  print_braces(t, kern->body);
}
