// What callers of an entry point run: values in, a value out.
//
//   static int call_main(struct rt_context *ctx, struct rt_value *out, const struct rt_value *in)
//
// finds the leaves of the inputs, binds the sizes and checks the other dimensions against them,
// shares or takes over the blocks of arrays, runs the code for the device, and packs the results.
#include "emit/emit.h"

typedef struct CallText {
  CodeText c;
  const Entry *entry;
  const EmitEntry *types;
  Map *values;  // Var -> const char *: sizes and scalars as C expressions
} CallText;

// The C expression for the leaf of parameter number `param`, a `const struct rt_value *`.
static const char *leaf_of(const Emit *e, const EmitEntry *types, int param) {
  const Entry *entry = types->entry;
  for (int i = 0; i < entry->input_count; i++) {
    const EntryValue *input = &entry->inputs[i];
    if (param < input->first || param >= input->first + input->count) continue;
    bool opaque = e->types.at[types->inputs.at[i]].kind == EMIT_OPAQUE;
    return opaque ? text_format("in[%d].u.opaque->leaves[%d]", i, param - input->first)
                  : text_format("in[%d]", i);
  }
  return "in[0]";
}

static const EntryValue *input_of(const Entry *entry, int param) {
  for (int i = 0; i < entry->input_count; i++) {
    const EntryValue *input = &entry->inputs[i];
    if (param >= input->first && param < input->first + input->count) return input;
  }
  return &entry->inputs[0];
}

static void bind_scalars(CallText *s) {
  for (int i = s->entry->size_count; i < s->entry->param_count; i++) {
    const Var *param = s->entry->params[i];
    if (param->type.rank) continue;
    const char *name = text_format("args.%s", entry_arg_name(s->entry, i));
    map_put(s->values, param, name);
    c_line(&s->c, "%s = %s.u.%s;", name, leaf_of(s->c.e, s->types, i),
           emit_value_member(param->type.elem));
  }
}

// Each size is bound by the first dimension that names it.
static void bind_sizes(CallText *s) {
  for (int k = 0; k < s->entry->size_count; k++)
    map_put(s->values, s->entry->params[k],
            text_format("args.%s", entry_arg_name(s->entry, k)));
  Map *bound = map_new(NULL);
  for (int i = s->entry->size_count; i < s->entry->param_count; i++) {
    const CoreType *type = &s->entry->params[i]->type;
    for (int d = 0; d < type->rank; d++) {
      if (type->dims[d].kind != ATOM_VAR || map_has(bound, type->dims[d].u.var)) continue;
      const Var *size = type->dims[d].u.var;
      map_put(bound, size, size);
      const char *name = map_get(s->values, size);
      bool is_size = false;
      for (int k = 0; k < s->entry->size_count; k++)
        is_size = is_size || s->entry->params[k] == size;
      if (is_size)
        c_line(&s->c, "%s = %s.u.array->shape[%d];", name, leaf_of(s->c.e, s->types, i),
               d);
    }
  }
}

static const char *dim_text(const CallText *s, Atom dim) {
  if (dim.kind == ATOM_CONST) return text_format("%lld", (long long)dim.u.constant.u.i);
  return map_get(s->values, dim.u.var);
}

static void check_shape(CallText *s, int param) {
  const CoreType *type = &s->entry->params[param]->type;
  const char *leaf = leaf_of(s->c.e, s->types, param);
  Text *wrong = text_new(), *format = text_new(), *values = text_new();
  for (int d = 0; d < type->rank; d++) {
    const char *dim = dim_text(s, type->dims[d]);
    text_printf(wrong, "%s%s.u.array->shape[%d] != %s", d ? " || " : "", leaf, d, dim);
    text_add(format, "[%lld]");
    text_printf(values, ", (long long)(%s)", dim);
  }
  c_line(&s->c, "if (%s) {", text_str(wrong));
  c_open(&s->c);
  c_line(&s->c, "char expected[%d];", 32 * type->rank + 1);
  c_line(&s->c, "snprintf(expected, sizeof expected, \"%s\"%s);", text_str(format),
         text_str(values));
  c_line(&s->c, "return rt_shape_error(ctx, \"%s\", %s, %s.u.array, expected);",
         s->entry->name,
         c_string(input_of(s->entry, param)->name ? input_of(s->entry, param)->name : ""),
         leaf);
  c_close(&s->c);
}

// An array parameter with one dimension that it names itself needs no check; each name's first
// place is what the others are compared with.
static void check_shapes(CallText *s) {
  Map *bound = map_new(NULL);
  for (int i = s->entry->size_count; i < s->entry->param_count; i++) {
    const CoreType *type = &s->entry->params[i]->type;
    bool needed = false;
    for (int d = 0; d < type->rank; d++) {
      const Var *size = type->dims[d].kind == ATOM_VAR ? type->dims[d].u.var : NULL;
      bool fresh = false;
      for (int k = 0; k < s->entry->size_count && size; k++)
        fresh = fresh || (s->entry->params[k] == size && !map_has(bound, size));
      if (size) map_put(bound, size, size);
      needed = needed || !fresh;
    }
    if (needed) check_shape(s, i);
  }
}

static void take_arrays(CallText *s) {
  for (int i = s->entry->size_count; i < s->entry->param_count; i++) {
    if (!s->entry->params[i]->type.rank) continue;
    const char *take = input_of(s->entry, i)->unique ? "consume" : "share";
    c_line(&s->c, "if (!err) err = rt_array_%s(ctx, %s.u.array, &args.%s);", take,
           leaf_of(s->c.e, s->types, i), entry_arg_name(s->entry, i));
  }
}

static void drop_arrays(CallText *s) {
  for (int i = s->entry->size_count; i < s->entry->param_count; i++)
    if (s->entry->params[i]->type.rank)
      c_line(&s->c, "  rt_mem_release(ctx, &args.%s);", entry_arg_name(s->entry, i));
}

static void free_results(CallText *s) {
  for (int i = 0; i < s->entry->result_count; i++)
    if (s->entry->results[i].rank)
      c_line(&s->c, "if (results[%d].u.array) rt_array_free(ctx, results[%d].u.array);",
             i, i);
}

static void pack(CallText *s) {
  bool opaque = s->c.e->types.at[s->types->output].kind == EMIT_OPAQUE;
  if (opaque) {
    c_line(&s->c, "if (!err) err = rt_opaque_new(ctx, &out->u.opaque, %d, results);",
           s->types->output);
    free_results(s);
    c_line(&s->c, "return err;");
    return;
  }
  c_line(&s->c, "if (!err) {");
  c_line(&s->c, "  *out = results[0];");
  c_line(&s->c, "  return RT_OK;");
  c_line(&s->c, "}");
  free_results(s);
  c_line(&s->c, "return err;");
}

static bool any_array(const Entry *entry) {
  for (int i = 0; i < entry->param_count; i++)
    if (entry->params[i]->type.rank) return true;
  return false;
}

void emit_entry_call(Emit *e, Text *t, int number) {
  const EmitEntry *types = &e->entries.at[number];
  const Entry *entry = types->entry;
  CallText s = { code_text_new(e, t), entry, types, map_new(NULL) };
  const char *name = c_identifier(entry->name);
  c_line(&s.c,
         "static int call_%s(struct rt_context *ctx, struct rt_value *out, const struct "
         "rt_value *in) {",
         name);
  c_open(&s.c);
  c_line(&s.c, "int err = RT_OK;");
  c_line(&s.c, "struct %s_args args;", name);
  c_line(&s.c, "struct rt_value results[%d];",
         entry->result_count ? entry->result_count : 1);
  c_line(&s.c, "memset(&args, 0, sizeof args);");
  c_line(&s.c, "memset(results, 0, sizeof results);");
  if (!entry->input_count) c_line(&s.c, "(void)in;");
  bind_scalars(&s);
  bind_sizes(&s);
  check_shapes(&s);
  take_arrays(&s);
  if (any_array(entry)) {
    c_line(&s.c, "if (err) {");
    drop_arrays(&s);
    c_line(&s.c, "  return err;");
    c_line(&s.c, "}");
  }
  c_line(
      &s.c,
      "err = rt_is_gpu(ctx) ? %s_gpu(ctx, &args, results) : %s_cpu(ctx, &args, results);",
      name, name);
  pack(&s);
  c_close(&s.c);
  text_newline(t);
}
