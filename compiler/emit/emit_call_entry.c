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

// Arrays and opaque values are pointers that callers make: they may be NULL, or another
// context's.
static void check_inputs(CallText *s) {
  for (int i = 0; i < s->types->inputs.count; i++) {
    EmitTypeKind kind = s->c.e->types.at[s->types->inputs.at[i]].kind;
    if (kind == EMIT_SCALAR) continue;
    const char *what = kind == EMIT_ARRAY ? "array" : "opaque";
    const char *name = s->entry->inputs[i].name;
    c_line(&s->c, "if (!err) err = rt_input_%s(ctx, %s, in[%d].u.%s);", what,
           c_string(name ? name : text_format("%d", i)), i, what);
  }
  c_line(&s->c, "if (err) return err;");
}

static const char *input_name(const Entry *entry, int param) {
  const char *name = input_of(entry, param)->name;
  return name ? name : entry->params[param]->name;
}

// Does the caller hand in its rows of the parameter?
static bool is_block(const CallText *s, int param) {
  return s->entry->result_blocks && s->entry->blocks[param];
}

// Have executables arrays that are divided?
static bool divides(const CallText *s) {
  const Core *flat = s->c.e->flat;
  for (int i = 0; i < flat->entry_count && !s->c.e->options.library; i++)
    if (flat->entries[i]->result_blocks) return true;
  return false;
}

// The dimension as the program knows it.
static const char *shape_text(const CallText *s, int param, int d) {
  return d == 0 && is_block(s, param)
             ? text_format("rows[%d]", param)
             : text_format("%s.u.array->shape[%d]", leaf_of(s->c.e, s->types, param), d);
}

// In executables a value is divided, or made whole, as the entry point wants it.
static void divide_inputs(CallText *s) {
  for (int i = s->entry->size_count; i < s->entry->param_count; i++) {
    const char *leaf = leaf_of(s->c.e, s->types, i);
    if (is_block(s, i))
      c_line(&s->c, "if (!err) err = rt_input_block(ctx, %s.u.array, &rows[%d]);", leaf,
             i);
    else if (s->entry->params[i]->type.rank)
      c_line(&s->c, "if (!err) err = rt_array_whole(ctx, %s.u.array);", leaf);
  }
  c_line(&s->c, "if (err) return err;");
}

// The rows of all callers together.
static void total_rows(CallText *s) {
  bool any = false;
  for (int i = 0; i < s->entry->param_count; i++)
    any = any || is_block(s, i);
  if (any) c_line(&s->c, "int64_t rows[%d];", s->entry->param_count);
  if (divides(s)) divide_inputs(s);
  if (!any || divides(s)) return;
  for (int i = 0; i < s->entry->param_count; i++)
    if (is_block(s, i))
      c_line(&s->c,
             "if (!err) err = rt_workers_rows(ctx, %s, %s.u.array->shape[0], &rows[%d]);",
             c_string(input_name(s->entry, i)), leaf_of(s->c.e, s->types, i), i);
  c_line(&s->c, "if (err) return err;");
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
      if (is_size) c_line(&s->c, "%s = %s;", name, shape_text(s, i, d));
    }
  }
}

static const char *dim_text(const CallText *s, Atom dim) {
  if (dim.kind == ATOM_CONST) return text_format("%lld", (long long)dim.u.constant.u.i);
  return map_get(s->values, dim.u.var);
}

static int size_number(const Entry *entry, Atom dim) {
  for (int k = 0; dim.kind == ATOM_VAR && k < entry->size_count; k++)
    if (entry->params[k] == dim.u.var) return k;
  return -1;
}

// One dimension against a size that is known by then: a constant, or a name bound by `bound_by`.
static void check_dim(CallText *s, int param, int d, const char *bound_by) {
  Atom dim = s->entry->params[param]->type.dims[d];
  const char *shape = shape_text(s, param, d), *size = dim_text(s, dim);
  const char *label = bound_by ? dim.u.var->name : NULL;
  c_line(&s->c, "if (%s != %s)", shape, size);
  c_line(&s->c, "  return rt_size_error(ctx, %s, %s, %s, %s, %s);",
         c_string(input_name(s->entry, param)), label ? c_string(label) : "NULL", size,
         bound_by ? c_string(bound_by) : "NULL", shape);
}

// Each name's first place is what the others are compared with.
static void check_shapes(CallText *s) {
  const char **bound_by = new_array(const char *, s->entry->size_count + 1);
  for (int i = s->entry->size_count; i < s->entry->param_count; i++) {
    const CoreType *type = &s->entry->params[i]->type;
    for (int d = 0; d < type->rank; d++) {
      int size = size_number(s->entry, type->dims[d]);
      if (size >= 0 && !bound_by[size])
        bound_by[size] = input_name(s->entry, i);
      else
        check_dim(s, i, d, size >= 0 ? bound_by[size] : NULL);
    }
  }
}

static void tell_size(CallText *s, const char *name, const char *value, Map *told) {
  int index = emit_size_index(s->c.e, name);
  if (map_has(told, s->c.e->sizes.at[index])) return;
  map_put(told, s->c.e->sizes.at[index], name);
  c_line(&s->c, "rt_size(ctx, %d, %s);", index, value);
}

// Tuned decisions may ask for the sizes, and for integer parameters.
static void tell_sizes(CallText *s) {
  Map *told = map_new(NULL);
  c_line(&s->c, "rt_sizes_clear(ctx);");
  for (int k = 0; k < s->entry->size_count; k++)
    tell_size(s, s->entry->params[k]->name, map_get(s->values, s->entry->params[k]),
              told);
  for (int i = 0; i < s->entry->input_count; i++) {
    const EntryValue *input = &s->entry->inputs[i];
    const Var *param = s->entry->params[input->first];
    bool scalar = !input->opaque && input->count == 1 && !param->type.rank;
    if (scalar && input->name && prim_is_int(param->type.elem))
      tell_size(s, input->name,
                text_format("(int64_t)%s", (const char *)map_get(s->values, param)),
                told);
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

static void divide_results(CallText *s) {
  for (int i = 0; i < s->entry->result_count; i++)
    if (s->entry->result_blocks && s->entry->result_blocks[i])
      c_line(&s->c, "if (!err) rt_result_block(ctx, results[%d].u.array);", i);
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
  const char *name = types->c_name;
  c_line(&s.c,
         "static int call_%s(struct rt_context *ctx, struct rt_value *out, const struct "
         "rt_value *in) {",
         name);
  c_open(&s.c);
  c_line(&s.c, "int err = RT_OK;");
  c_line(&s.c, "struct entry_%s_args args;", name);
  c_line(&s.c, "struct rt_value results[%d];",
         entry->result_count ? entry->result_count : 1);
  c_line(&s.c, "memset(&args, 0, sizeof args);");
  c_line(&s.c, "memset(results, 0, sizeof results);");
  if (!entry->input_count) c_line(&s.c, "(void)in;");
  if (entry->input_count) check_inputs(&s);
  total_rows(&s);
  bind_scalars(&s);
  bind_sizes(&s);
  check_shapes(&s);
  tell_sizes(&s);
  take_arrays(&s);
  if (any_array(entry)) {
    c_line(&s.c, "if (err) {");
    drop_arrays(&s);
    c_line(&s.c, "  return err;");
    c_line(&s.c, "}");
  }
  c_line(&s.c,
         "err = rt_is_gpu(ctx) ? entry_%s_gpu(ctx, &args, results) "
         ": entry_%s_cpu(ctx, &args, results);",
         name, name);
  if (divides(&s)) divide_results(&s);
  pack(&s);
  c_close(&s.c);
  text_newline(t);
}
