// Expressions as text: the syntax that core.h gives beside each kind.
#include "core/core.h"
#include <ctype.h>

static void space(Text *t) { text_add(t, " "); }

static void print_atoms(Text *t, const Atom *atoms, int count, const char *separator) {
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, separator);
    core_print_atom(t, atoms[i]);
  }
}

// {a, b}
static void print_tuple(Text *t, const Atom *atoms, int count) {
  text_add(t, "{");
  print_atoms(t, atoms, count, ", ");
  text_add(t, "}");
}

static void print_word(Text *t, const char *word, Atom a) {
  text_add(t, word);
  space(t);
  core_print_atom(t, a);
}

// ---- scalars

static void print_op(Text *t, const Exp *e) {
  const char *spelling = op_spelling(e->u.op.op);
  int arity = op_arity(e->u.op.op);
  if (arity == 2 && !isalpha((unsigned char)spelling[0])) {
    print_atoms(t, e->u.op.args, 1, "");
    text_printf(t, " %s ", spelling);
    print_atoms(t, e->u.op.args + 1, 1, "");
    return;
  }
  text_add(t, spelling);
  space(t);
  print_atoms(t, e->u.op.args, arity, " ");
}

static void print_convert(Text *t, const Exp *e) {
  text_printf(t, " %s ", prim_type_name(e->u.convert.to));
  core_print_atom(t, e->u.convert.atom);
}

// ---- arrays

static void print_slice(Text *t, const DimIndex *dim) {
  core_print_size(t, dim->start);
  text_add(t, ":");
  core_print_size(t, dim->count);
  text_add(t, ":");
  core_print_size(t, dim->stride);
}

// [i, j:count:stride]; a dimension that is taken whole is printed as a colon.
static void print_dims(Text *t, Atom array, const DimIndex *dims, int count) {
  CoreType type = atom_type(array);
  text_add(t, "[");
  for (int i = 0; i < count; i++) {
    if (i) text_add(t, ", ");
    if (i < type.rank && dim_is_whole(&dims[i], type.dims[i])) {
      text_add(t, ":");
    } else if (dims[i].is_slice) {
      print_slice(t, &dims[i]);
    } else {
      core_print_size(t, dims[i].start);
    }
  }
  text_add(t, "]");
}

static void print_index(Text *t, const Exp *e) {
  if (e->u.index.checked) text_add(t, "checked ");
  core_print_atom(t, e->u.index.array);
  print_dims(t, e->u.index.array, e->u.index.dims, e->u.index.dim_count);
}

static void print_update(Text *t, const Exp *e) {
  if (e->u.update.checked) text_add(t, "checked ");
  core_print_atom(t, e->u.update.array);
  text_add(t, " with ");
  print_dims(t, e->u.update.array, e->u.update.dims, e->u.update.dim_count);
  text_add(t, " = ");
  core_print_atom(t, e->u.update.value);
}

static void print_iota(Text *t, const Exp *e) {
  space(t);
  core_print_size(t, e->u.iota.count);
  space(t);
  core_print_atom(t, e->u.iota.start);
  space(t);
  core_print_atom(t, e->u.iota.step);
}

static void print_replicate(Text *t, const Exp *e) {
  space(t);
  core_print_size(t, e->u.replicate.count);
  space(t);
  core_print_atom(t, e->u.replicate.value);
}

static void print_rearrange(Text *t, const Exp *e) {
  text_add(t, " (");
  for (int i = 0; i < e->u.rearrange.rank; i++) {
    text_printf(t, i ? ", %d" : "%d", e->u.rearrange.perm[i]);
  }
  print_word(t, ")", e->u.rearrange.array);
}

static void print_reshape(Text *t, const Exp *e) {
  space(t);
  for (int i = 0; i < e->u.reshape.rank; i++) {
    text_add(t, "[");
    core_print_size(t, e->u.reshape.dims[i]);
    text_add(t, "]");
  }
  if (!e->u.reshape.rank) text_add(t, "[]");
  print_word(t, "", e->u.reshape.array);
}

static void print_concat(Text *t, const Exp *e) {
  space(t);
  core_print_size(t, e->u.concat.count);
  space(t);
  print_atoms(t, e->u.concat.arrays, e->u.concat.array_count, " ");
}

static void print_rotate(Text *t, const Exp *e) {
  space(t);
  core_print_size(t, e->u.rotate.amount);
  space(t);
  core_print_atom(t, e->u.rotate.array);
}

static void print_array(Text *t, const Exp *e) {
  text_add(t, "[");
  print_atoms(t, e->u.array.atoms, e->u.array.count, ", ");
  text_add(t, "]");
}

// The text of a message part, fit to stand between quotes.
static void print_quoted(Text *t, const char *s) {
  for (; *s; s++) {
    if (*s == '"' || *s == '\\') text_add(t, "\\");
    if (*s == '\n') {
      text_add(t, "\\n");
    } else {
      text_add_bytes(t, s, 1);
    }
  }
}

static void print_assert(Text *t, const Exp *e) {
  print_word(t, "", e->u.assert.condition);
  text_add(t, " \"");
  for (int i = 0; i <= e->u.assert.value_count; i++) {
    print_quoted(t, e->u.assert.parts[i]);
    if (i == e->u.assert.value_count) break;
    print_tuple(t, &e->u.assert.values[i], 1);
  }
  text_add(t, "\" ");
  print_tuple(t, e->u.assert.atoms, e->u.assert.atom_count);
}

// ---- bodies within expressions

// On the same line if it is only results, else indented on lines of its own.
static void print_inner(Text *t, const Body *body) {
  if (!body->stm_count) {
    space(t);
    core_print_body(t, body);
    return;
  }
  text_indent(t, 2);
  text_newline(t);
  core_print_body(t, body);
  text_indent(t, -2);
}

static void print_branches(Text *t, const Body *first, const Body *second) {
  print_inner(t, first);
  if (first->stm_count) {
    text_newline(t);
  } else {
    space(t);
  }
  text_add(t, "else");
  print_inner(t, second);
}

static void print_var_typed(Text *t, const Var *var) {
  core_print_atom(t, atom_var(var));
  text_add(t, ": ");
  core_print_type(t, var->type);
}

static void print_lambda_head(Text *t, const Lambda *fn) {
  text_add(t, "(\\");
  for (int i = 0; i < fn->param_count; i++) {
    if (i) space(t);
    text_add(t, "(");
    print_var_typed(t, fn->params[i]);
    text_add(t, ")");
  }
  text_add(t, fn->param_count ? " ->" : "() ->");
}

static void print_lambda(Text *t, const Lambda *fn) {
  print_lambda_head(t, fn);
  print_inner(t, fn->body);
  text_add(t, ")");
}

// Operators are often one scalar operation: (\(a: f32) (b: f32) -> let c : f32 = a + b in {c})
static void print_op_lambda(Text *t, const Lambda *fn) {
  const Body *body = fn->body;
  bool short_body = body->stm_count == 1 && body->stms[0].binder_count == 1 &&
                    !exp_has_bodies(body->stms[0].exp);
  if (!short_body) {
    print_lambda(t, fn);
    return;
  }
  print_lambda_head(t, fn);
  text_add(t, " let ");
  core_print_atom(t, atom_var(body->stms[0].binders[0]));
  text_add(t, " : ");
  core_print_type(t, body->stms[0].binders[0]->type);
  text_add(t, " = ");
  core_print_exp(t, body->stms[0].exp);
  text_add(t, " in ");
  print_tuple(t, body->results, body->result_count);
  text_add(t, ")");
}

static void print_red_op(Text *t, const RedOp *op) {
  text_add(t, op->commutative ? "comm op " : "op ");
  print_op_lambda(t, &op->op);
  space(t);
  print_tuple(t, op->neutral, op->count);
}

static void print_ops(Text *t, const RedOp *ops, int count) {
  text_indent(t, 2);
  for (int i = 0; i < count; i++) {
    text_newline(t);
    print_red_op(t, &ops[i]);
  }
  text_indent(t, -2);
}

static void print_if(Text *t, const Exp *e) {
  print_word(t, "", e->u.cond.condition);
  text_add(t, " then");
  print_branches(t, e->u.cond.then_body, e->u.cond.else_body);
}

static void print_loop(Text *t, const Exp *e) {
  for (int i = 0; i < e->u.loop.param_count; i++) {
    text_add(t, " (");
    print_var_typed(t, e->u.loop.params[i]);
    print_word(t, " =", e->u.loop.inits[i]);
    text_add(t, ")");
  }
  if (e->u.loop.form == CORE_FOR) {
    print_word(t, " for", atom_var(e->u.loop.index));
    text_add(t, " < ");
    core_print_size(t, e->u.loop.bound);
  } else {
    print_word(t, " while", atom_var(e->u.loop.params[e->u.loop.while_param]));
  }
  text_add(t, " do");
  print_inner(t, e->u.loop.body);
}

static void print_call(Text *t, const Exp *e) {
  text_add(t, e->u.call.function->name);
  for (int i = 0; i < e->u.call.arg_count; i++)
    print_word(t, "", e->u.call.args[i]);
  if (!e->u.call.arg_count) text_add(t, " ()");
}

static void print_choose(Text *t, const Exp *e) {
  if (e->u.choose.by_size) text_add(t, "_by ");
  if (e->u.choose.by_size) core_print_size(t, e->u.choose.size);
  print_branches(t, e->u.choose.first, e->u.choose.second);
}

// ---- parallel operators

static void print_over(Text *t, Atom width, const Lambda *fn) {
  space(t);
  core_print_size(t, width);
  space(t);
  print_lambda(t, fn);
}

static void print_soac(Text *t, const Soac *soac) {
  print_over(t, soac->width, &soac->fn);
  for (int i = 0; i < soac->array_count; i++)
    print_word(t, "", soac->arrays[i]);
  print_ops(t, soac->ops, soac->op_count);
}

// into dest[_, _]: one underscore per dimension that is indexed.
static void print_dests(Text *t, const ScatterDest *dests, int count) {
  text_add(t, " into");
  for (int i = 0; i < count; i++) {
    print_word(t, "", dests[i].dest);
    text_add(t, "[_");
    for (int k = 1; k < dests[i].index_count; k++)
      text_add(t, ", _");
    text_add(t, "]");
  }
}

static void print_hists(Text *t, const HistOp *ops, int count) {
  text_indent(t, 2);
  for (int i = 0; i < count; i++) {
    text_newline(t);
    text_add(t, ops[i].chained ? "then into " : "into ");
    print_atoms(t, ops[i].dests, ops[i].op.count, " ");
    text_add(t, " of ");
    core_print_size(t, ops[i].width);
    space(t);
    print_red_op(t, &ops[i].op);
  }
  text_indent(t, -2);
}

static void print_scatter(Text *t, const Exp *e) {
  print_over(t, e->u.scatter.width, &e->u.scatter.fn);
  for (int i = 0; i < e->u.scatter.array_count; i++)
    print_word(t, "", e->u.scatter.arrays[i]);
  print_dests(t, e->u.scatter.dests, e->u.scatter.dest_count);
}

static void print_hist(Text *t, const Exp *e) {
  print_over(t, e->u.hist.width, &e->u.hist.fn);
  for (int i = 0; i < e->u.hist.array_count; i++)
    print_word(t, "", e->u.hist.arrays[i]);
  print_hists(t, e->u.hist.ops, e->u.hist.op_count);
}

static const char *seg_word(SegKind kind) {
  switch (kind) {
  case SEG_MAP: return "segmap";
  case SEG_RED: return "segred";
  case SEG_SCAN: return "segscan";
  case SEG_HIST: return "seghist";
  case SEG_SCATTER: return "segscatter";
  }
  return "?";
}

// segred1 <i < n> <j < m> op (...) {0.0f32} { body }
static void print_seg(Text *t, const SegOp *seg) {
  text_printf(t, "%s%d", seg_word(seg->kind), seg->level);
  for (int i = 0; i < seg->dim_count; i++) {
    text_add(t, " <");
    core_print_atom(t, atom_var(seg->dims[i].index));
    text_add(t, " < ");
    core_print_size(t, seg->dims[i].width);
    text_add(t, ">");
  }
  if (seg->dest_count) print_dests(t, seg->dests, seg->dest_count);
  print_ops(t, seg->ops, seg->op_count);
  print_hists(t, seg->hists, seg->hist_count);
  text_add(t, " {");
  text_indent(t, 2);
  text_newline(t);
  core_print_body(t, seg->body);
  text_indent(t, -2);
  text_newline(t);
  text_add(t, "}");
  if (!seg->after) return;
  text_add(t, " after ");
  print_lambda(t, seg->after);
}

// Sums within products stand in parentheses.
static void print_size_exp(Text *t, const SizeExp *e, bool in_product) {
  bool parens = in_product && e->kind == SIZE_EXP_ADD;
  if (e->kind == SIZE_EXP_ATOM) {
    core_print_size(t, e->atom);
    return;
  }
  if (parens) text_add(t, "(");
  if (e->kind == SIZE_EXP_MAX) text_add(t, "max(");
  print_size_exp(t, e->a, e->kind == SIZE_EXP_MUL);
  text_add(t, e->kind == SIZE_EXP_MUL ? "*" : e->kind == SIZE_EXP_ADD ? " + " : ", ");
  print_size_exp(t, e->b, e->kind == SIZE_EXP_MUL);
  if (parens || e->kind == SIZE_EXP_MAX) text_add(t, ")");
}

// if Par(n*m) >= main.top_0 then ... else ...
static void print_guard(Text *t, const Exp *e) {
  const Guard *guard = e->u.guard.guard;
  text_add(t, "if Par(");
  print_size_exp(t, guard->par, false);
  text_printf(t, ") >= %s", guard->name);
  if (guard->local_bytes) {
    text_add(t, " && fits(");
    print_size_exp(t, guard->local_bytes, false);
    text_add(t, ")");
  }
  text_add(t, " then");
  print_branches(t, e->u.guard.then_body, e->u.guard.else_body);
}

static void print_layout(Text *t, Name layout) {
  if (layout) text_printf(t, " in %s", layout);
}

static void print_moved(Text *t, const Guard *guard) {
  if (!guard->exchanges) return;
  text_add(t, ", ");
  if (guard->moved) {
    print_size_exp(t, guard->moved, false);
    text_add(t, " bytes in ");
  }
  text_printf(t, "%d exchange%s for %d seg-op%s", guard->exchanges,
              guard->exchanges == 1 ? "" : "s", guard->segs, guard->segs == 1 ? "" : "s");
}

// split n if Par(n*m) >= main.workers_0, n*8 bytes in 2 exchanges for 1 seg-op
// split n by workers, as main.workers_0 in main.layout_2
static void print_split(Text *t, const Exp *e) {
  const Guard *guard = e->u.split.guard;
  print_word(t, "", e->u.split.width);
  if (e->u.split.workers.kind == ATOM_VAR) {
    print_word(t, " by", e->u.split.workers);
    text_printf(t, ", as %s", guard->name);
  } else {
    text_add(t, " if Par(");
    print_size_exp(t, guard->par, false);
    text_printf(t, ") >= %s", guard->name);
  }
  print_layout(t, e->u.split.layout);
  if (e->u.split.workers.kind != ATOM_VAR) print_moved(t, guard);
}

// gather n from start:count xs
static void print_gather(Text *t, const Exp *e) {
  print_word(t, "", e->u.gather.total);
  print_word(t, " from", e->u.gather.start);
  text_add(t, ":");
  core_print_size(t, e->u.gather.count);
  print_word(t, "", e->u.gather.value);
  print_layout(t, e->u.gather.layout);
}

// border start:count xs with 1 before, 1 after (, around)
static void print_border(Text *t, const Exp *e) {
  print_word(t, "", e->u.border.start);
  text_add(t, ":");
  core_print_size(t, e->u.border.count);
  print_word(t, "", e->u.border.block);
  print_word(t, " with", e->u.border.before);
  print_word(t, " before,", e->u.border.after);
  text_add(t, e->u.border.ring ? " after, around" : " after");
  print_layout(t, e->u.border.layout);
}

// fetch first:rows of n from start:count xs
static void print_fetch(Text *t, const Exp *e) {
  if (e->u.fetch.dim) text_printf(t, " dimension %d", e->u.fetch.dim);
  print_word(t, "", e->u.fetch.first);
  text_add(t, ":");
  core_print_size(t, e->u.fetch.rows);
  print_word(t, " of", e->u.fetch.total);
  print_word(t, " from", e->u.fetch.start);
  text_add(t, ":");
  core_print_size(t, e->u.fetch.count);
  print_word(t, "", e->u.fetch.block);
}

// deliver n from start:count xs positions values
static void print_deliver(Text *t, const Exp *e) {
  print_word(t, "", e->u.deliver.total);
  print_word(t, " from", e->u.deliver.start);
  text_add(t, ":");
  core_print_size(t, e->u.deliver.count);
  print_word(t, "", e->u.deliver.block);
  print_word(t, "", e->u.deliver.positions);
  print_word(t, "", e->u.deliver.values);
  print_layout(t, e->u.deliver.layout);
}

// What follows the kind's word.
static void print_rest(Text *t, const Exp *e) {
  switch (e->kind) {
  case EXP_ATOM: core_print_atom(t, e->u.atom.atom); return;
  case EXP_OP: print_op(t, e); return;
  case EXP_CONVERT:
  case EXP_BITS: print_convert(t, e); return;
  case EXP_INDEX: print_index(t, e); return;
  case EXP_UPDATE: print_update(t, e); return;
  case EXP_IOTA: print_iota(t, e); return;
  case EXP_REPLICATE: print_replicate(t, e); return;
  case EXP_REARRANGE: print_rearrange(t, e); return;
  case EXP_RESHAPE: print_reshape(t, e); return;
  case EXP_CONCAT: print_concat(t, e); return;
  case EXP_ROTATE: print_rotate(t, e); return;
  case EXP_COPY: print_word(t, "", e->u.atom.atom); return;
  case EXP_ARRAY: print_array(t, e); return;
  case EXP_ASSERT: print_assert(t, e); return;
  case EXP_IF: print_if(t, e); return;
  case EXP_LOOP: print_loop(t, e); return;
  case EXP_CALL: print_call(t, e); return;
  case EXP_CHOOSE: print_choose(t, e); return;
  case EXP_MAP:
  case EXP_REDOMAP:
  case EXP_SCANOMAP:
  case EXP_FILTER: print_soac(t, &e->u.soac); return;
  case EXP_SCATTER: print_scatter(t, e); return;
  case EXP_HIST: print_hist(t, e); return;
  case EXP_SEG: print_seg(t, e->u.seg); return;
  case EXP_GUARD: print_guard(t, e); return;
  case EXP_SPLIT: print_split(t, e); return;
  case EXP_GATHER: print_gather(t, e); return;
  case EXP_BORDER: print_border(t, e); return;
  case EXP_FETCH: print_fetch(t, e); return;
  case EXP_DELIVER: print_deliver(t, e); return;
  }
}

void core_print_exp(Text *t, const Exp *e) {
  if (exp_word(e)) text_add(t, exp_word(e));
  print_rest(t, e);
}
