// The C API of a library: its header, and the typed functions around the runtime's generic ones.
// A struct like fl_f32_2d is only ever a pointer to a struct rt_array,
// one like fl_opaque_point to a struct rt_opaque.
#include "base/quote.h"
#include "emit/emit.h"
#include <ctype.h>

typedef struct Api {
  Emit *e;
  Text *t;
  const char *prefix;
  bool bodies;  // definitions, not declarations
} Api;

// Ends a declaration, or begins a body.  True if a body follows.
static bool head(const Api *a, const char *text) {
  text_printf(a->t, "\n%s%s", text, a->bodies ? " {" : ";");
  return a->bodies;
}

static void body(const Api *a, const char *text) {
  text_printf(a->t, "\n  %s\n}\n", text);
}

static const char *context(const Api *a) {
  return text_format("struct %s_context *ctx", a->prefix);
}

// "int64_t dim0, int64_t dim1", or only the names.
static const char *dims(int rank, const char *type, const char *name) {
  Text *t = text_new();
  for (int i = 0; i < rank; i++)
    text_printf(t, "%s%s%s%d", i ? ", " : "", type, name, i);
  return text_str(t);
}

// One thread at a time calls the function of the runtime, whose error is the value.
static const char *locked(const char *function, const char *args) {
  return text_format("rt_leave(ctx, %s(rt_enter(ctx), %s))", function, args);
}

static const char *returned(const char *function, const char *args) {
  return text_format("return %s;", locked(function, args));
}

// ---- arrays

static const char *make_array(const EmitType *type, const char *function,
                              const char *self) {
  return text_format(
      "const int64_t shape[] = { %s };\n"
      "  struct rt_array *array = NULL;\n"
      "  return %s ? NULL : (%s)array;",
      dims(type->rank, "", "dim"),
      locked(function, text_format("&array, %s, %d, shape, data",
                                   emit_elem_name(type->elem), type->rank)),
      self);
}

static void array_making(const Api *a, const EmitType *type, const char *self) {
  const char *n = type->c_name;
  const char *params = dims(type->rank, "int64_t ", "dim");
  if (head(a, text_format("%s%s_new_%s(%s, const %s *data, %s)", self, a->prefix, n,
                          context(a), c_type(type->elem), params)))
    body(a, make_array(type, "rt_array_from", self));
  if (head(a, text_format("%s%s_new_raw_%s(%s, cl_mem data, %s)", self, a->prefix, n,
                          context(a), params)))
    body(a, make_array(type, "rt_array_from_raw", self));
}

static void array_reading(const Api *a, const EmitType *type, const char *self) {
  const char *n = type->c_name, *elem = c_type(type->elem);
  if (head(a, text_format("int %s_free_%s(%s, %sarray)", a->prefix, n, context(a), self)))
    body(a, returned("rt_array_free", "(struct rt_array *)array"));
  if (head(a, text_format("int %s_values_%s(%s, %sarray, %s *data)", a->prefix, n,
                          context(a), self, elem)))
    body(a, returned("rt_array_values", "(const struct rt_array *)array, data"));
  if (head(a, text_format("cl_mem %s_values_raw_%s(%s, %sarray)", a->prefix, n,
                          context(a), self)))
    body(a, "return rt_array_values_raw(ctx, (const struct rt_array *)array);");
  if (head(a, text_format("const int64_t *%s_shape_%s(%s, %sarray)", a->prefix, n,
                          context(a), self)))
    body(a, "(void)ctx;\n  return rt_array_shape((const struct rt_array *)array);");
  if (head(a, text_format("int %s_index_%s(%s, %s *out, %sarray, %s)", a->prefix, n,
                          context(a), elem, self, dims(type->rank, "int64_t ", "i"))))
    body(a, text_format("const int64_t indices[] = { %s };\n"
                        "  %s",
                        dims(type->rank, "", "i"),
                        returned("rt_array_index",
                                 "(const struct rt_array *)array, indices, out")));
}

// ---- opaque values

// "int32_t" or "struct fl_f32_1d *": a value of the type in C.
static const char *value_type(const Api *a, const EmitType *type, bool in) {
  if (type->kind == EMIT_SCALAR) return text_format("%s ", c_type(type->elem));
  return text_format("%sstruct %s_%s *", in ? "const " : "", a->prefix, type->c_name);
}

// The statement that puts a C value into a struct rt_value, or the reverse.
static const char *store_value(const EmitType *type, const char *value,
                               const char *from) {
  if (type->kind == EMIT_SCALAR)
    return text_format("%s.u.%s = %s;", value, emit_value_member(type->elem), from);
  const char *member = type->kind == EMIT_ARRAY ? "array" : "opaque";
  // Inputs are const in the API; only consuming one changes it, as its type says.
  return text_format("%s.u.%s = (struct rt_%s *)(uintptr_t)%s;", value, member, member,
                     from);
}

static const char *load_value(const Api *a, const EmitType *type, const char *to,
                              const char *value) {
  if (type->kind == EMIT_SCALAR)
    return text_format("*%s = %s.u.%s;", to, value, emit_value_member(type->elem));
  return text_format("*%s = (struct %s_%s *)%s.u.%s;", to, a->prefix, type->c_name, value,
                     type->kind == EMIT_ARRAY ? "array" : "opaque");
}

// The function for a field or a column, by `function` of the runtime.
static void project(const Api *a, const EmitType *type, const EmitFieldVec *fields,
                    int field, const char *function) {
  const EmitType *part = &a->e->types.at[fields->at[field].type];
  const char *text =
      text_format("int %s_project_%s_%s(%s, %s*out, const struct %s_%s *value)",
                  a->prefix, type->c_name, emit_field_name(fields, field), context(a),
                  value_type(a, part, false), a->prefix, type->c_name);
  const char *args = text_format("&part, (const struct rt_opaque *)value, %d", field);
  if (head(a, text))
    body(a, text_format("struct rt_value part;\n"
                        "  memset(&part, 0, sizeof part);\n"
                        "  int err = %s;\n"
                        "  if (!err) {\n    %s\n  }\n  return err;",
                        locked(function, args), load_value(a, part, "out", "part")));
}

// The function that makes a value of its fields, which are the last of `args`.
static void make_of_fields(const Api *a, const EmitType *type, const char *name,
                           const EmitFieldVec *fields, const char *function,
                           const char *args) {
  Text *params = text_new(), *stores = text_new();
  for (int i = 0; i < fields->count; i++) {
    const EmitType *part = &a->e->types.at[fields->at[i].type];
    text_printf(params, ", %sf%d", value_type(a, part, true), i);
    text_printf(stores, "  %s\n",
                store_value(part, text_format("fields[%d]", i), text_format("f%d", i)));
  }
  const char *text = text_format("int %s_%s(%s, struct %s_%s **out%s)", a->prefix, name,
                                 context(a), a->prefix, type->c_name, text_str(params));
  if (head(a, text))
    body(a, text_format("struct rt_value fields[%d];\n"
                        "  memset(fields, 0, sizeof fields);\n%s"
                        "  %s",
                        fields->count ? fields->count : 1, text_str(stores),
                        returned(function, text_format("%s, fields", args))));
}

static void new_record(const Api *a, const EmitType *type, int number) {
  make_of_fields(a, type, text_format("new_%s", type->c_name), &type->fields,
                 "rt_opaque_of_fields",
                 text_format("(struct rt_opaque **)out, %d", number));
}

static void destruct(const Api *a, const EmitType *type, int constructor) {
  const EmitFieldVec *fields = &type->constructors.at[constructor].fields;
  Text *params = text_new(), *loads = text_new();
  for (int i = 0; i < fields->count; i++) {
    const EmitType *part = &a->e->types.at[fields->at[i].type];
    text_printf(params, ", %s*out%d", value_type(a, part, false), i);
    text_printf(
        loads, "\n    %s",
        load_value(a, part, text_format("out%d", i), text_format("parts[%d]", i)));
  }
  const char *text = text_format("int %s_destruct_%s(%s%s, const struct %s_%s *value)",
                                 a->prefix, emit_constructor_name(type, constructor),
                                 context(a), text_str(params), a->prefix, type->c_name);
  const char *args =
      text_format("parts, (const struct rt_opaque *)value, %d", constructor);
  if (head(a, text))
    body(a, text_format("struct rt_value parts[%d];\n"
                        "  memset(parts, 0, sizeof parts);\n"
                        "  int err = %s;\n"
                        "  if (!err) {%s\n  }\n  return err;",
                        fields->count ? fields->count : 1,
                        locked("rt_opaque_destruct", args), text_str(loads)));
}

static void sum_functions(const Api *a, const EmitType *type, int number) {
  if (head(a, text_format("int %s_variant_%s(%s, const struct %s_%s *value)", a->prefix,
                          type->c_name, context(a), a->prefix, type->c_name)))
    body(a, returned("rt_opaque_variant", "(const struct rt_opaque *)value"));
  for (int i = 0; i < type->constructors.count; i++) {
    const char *args = text_format("(struct rt_opaque **)out, %d, %d", number, i);
    make_of_fields(a, type, text_format("new_%s", emit_constructor_name(type, i)),
                   &type->constructors.at[i].fields, "rt_opaque_construct", args);
    destruct(a, type, i);
  }
}

// "const int64_t indices[] = ..", and the runtime's function that takes them last.
static const char *with_indices(const EmitType *type, const char *function,
                                const char *args) {
  return text_format("const int64_t indices[] = { %s };\n"
                     "  %s",
                     dims(type->rank, "", "i"),
                     returned(function, text_format("%s, indices", args)));
}

static void opaque_array_functions(const Api *a, const EmitType *type, int number) {
  const char *self = text_format("struct %s_%s *", a->prefix, type->c_name);
  const char *n = type->c_name, *indices = dims(type->rank, "int64_t ", "i");
  const EmitType *part = &a->e->types.at[type->element];
  const char *element = text_format("struct %s_%s *", a->prefix, part->c_name);
  if (head(a, text_format("const int64_t *%s_shape_%s(%s, const %svalue)", a->prefix, n,
                          context(a), self)))
    body(a,
         "(void)ctx;\n  return rt_opaque_array_shape((const struct rt_opaque *)value);");
  if (head(a, text_format("int %s_index_%s(%s, %s*out, const %svalue, %s)", a->prefix, n,
                          context(a), element, self, indices)))
    body(a, with_indices(type, "rt_opaque_array_index",
                         "(struct rt_opaque **)out, (const struct rt_opaque *)value"));
  if (head(a, text_format("int %s_set_%s(%s, %svalue, const %selement, %s)", a->prefix, n,
                          context(a), self, element, indices)))
    body(a, with_indices(type, "rt_opaque_array_set",
                         "(struct rt_opaque *)value, (const struct rt_opaque *)element"));
  if (head(a,
           text_format("int %s_new_%s(%s, %s*out, %s*elements, %s)", a->prefix, n,
                       context(a), self, element, dims(type->rank, "int64_t ", "dim"))))
    body(a, text_format("const int64_t shape[] = { %s };\n"
                        "  %s",
                        dims(type->rank, "", "dim"),
                        returned("rt_opaque_array_new",
                                 text_format("(struct rt_opaque **)out, %d, "
                                             "(struct rt_opaque **)elements, shape",
                                             number))));
}

static void column_functions(const Api *a, const EmitType *type, int number) {
  make_of_fields(a, type, text_format("zip_%s", type->c_name), &type->columns,
                 "rt_columns_zip", text_format("(struct rt_opaque **)out, %d", number));
  for (int i = 0; i < type->columns.count; i++)
    project(a, type, &type->columns, i, "rt_columns_project");
}

static void opaque_functions(const Api *a, const EmitType *type, int number) {
  const char *self = text_format("struct %s_%s *", a->prefix, type->c_name);
  const char *n = type->c_name;
  if (head(a, text_format("int %s_free_%s(%s, %svalue)", a->prefix, n, context(a), self)))
    body(a, returned("rt_opaque_free", "(struct rt_opaque *)value"));
  if (head(a, text_format("int %s_store_%s(%s, const %svalue, void **p, size_t *n)",
                          a->prefix, n, context(a), self)))
    body(a, returned("rt_opaque_store", "(const struct rt_opaque *)value, p, n"));
  if (head(a, text_format("%s%s_restore_%s(%s, const void *p)", self, a->prefix, n,
                          context(a))))
    body(a, text_format("struct rt_opaque *value = NULL;\n"
                        "  return %s ? NULL : (%s)value;",
                        locked("rt_opaque_restore", text_format("&value, %d, p", number)),
                        self));
  for (int i = 0; i < type->fields.count; i++)
    project(a, type, &type->fields, i, "rt_opaque_project");
  if (emit_is_opaque_array(type)) opaque_array_functions(a, type, number);
  if (type->columns.count) column_functions(a, type, number);
  if (emit_is_record(type)) new_record(a, type, number);
  if (type->constructors.count) sum_functions(a, type, number);
}

// ---- entry points

static void entry_function(const Api *a, const EmitEntry *entry) {
  const EmitType *output = &a->e->types.at[entry->output];
  const char *name = entry->c_name;
  Text *params = text_new(), *stores = text_new();
  for (int i = 0; i < entry->inputs.count; i++) {
    const EmitType *type = &a->e->types.at[entry->inputs.at[i]];
    text_printf(params, ", %sin%d", value_type(a, type, true), i);
    text_printf(stores, "  %s\n",
                store_value(type, text_format("in[%d]", i), text_format("in%d", i)));
  }
  bool several = a->e->options.workers != WORKERS_ONE;
  const char *text =
      text_format("int %s_entry_%s(%s, %s*out%s)", a->prefix, name, context(a),
                  value_type(a, output, false), text_str(params));
  if (head(a, text))
    body(a, text_format("struct rt_value in[%d], result;\n"
                        "  memset(in, 0, sizeof in);\n"
                        "  memset(&result, 0, sizeof result);\n%s"
                        "  rt_enter(ctx);\n"
                        "%s  int err = rt_leave(ctx, %scall_%s(ctx, &result, in)%s);\n"
                        "  if (!err) {\n    %s\n  }\n  return err;",
                        entry->inputs.count ? entry->inputs.count : 1, text_str(stores),
                        several ? "  rt_workers_call(ctx);\n" : "",
                        several ? "rt_workers_called(ctx, " : "", name,
                        several ? ")" : "", load_value(a, output, "out", "result")));
}

static void type_functions(const Api *a) {
  for (int i = 0; i < a->e->types.count; i++) {
    const EmitType *type = &a->e->types.at[i];
    const char *self = text_format("struct %s_%s *", a->prefix, type->c_name);
    if (type->kind == EMIT_ARRAY) {
      array_making(a, type, self);
      array_reading(a, type, self);
    }
    if (type->kind == EMIT_OPAQUE) opaque_functions(a, type, i);
  }
  vec_each (EmitEntry *, entry, &a->e->entries)
    entry_function(a, entry);
}

static void result_codes(Text *t, const char *prefix) {
  Text *upper = text_new();
  for (const char *s = prefix; *s; s++)
    text_printf(upper, "%c", toupper((unsigned char)*s));
  const char *p = text_str(upper);
  text_printf(t, "#define %s_BACKEND_opencl\n#define %s_SUCCESS 0\n", p, p);
  text_printf(t, "#define %s_PROGRAM_ERROR 2\n#define %s_OUT_OF_MEMORY 3\n", p, p);
}

// How several callers share the work.
static void worker_functions(Text *t, Workers workers, const char *p) {
  if (workers == WORKERS_MPI)
    text_printf(
        t,
        "\n\n// The processes of this communicator, as MPI_Comm_c2f says it, share the "
        "work\n// (docs/machines.md).  0, or 1 if MPI has not begun.\n"
        "int %s_context_config_set_mpi(struct %s_context_config *cfg, int comm);",
        p, p);
  if (workers == WORKERS_THREADS)
    text_printf(
        t,
        "\n\n// Threads of this process that share the work (docs/machines.md), each "
        "with a "
        "context of its own:\n// NULL if they are not 1 to 1024.  Freed after their "
        "configurations.\n"
        "struct %s_team;\nstruct %s_team *%s_team_new(int size);\n"
        "void %s_team_free(struct %s_team *team);\n"
        "// Runs the work in a thread for each rank, and waits; not 0, and nothing has "
        "run, if "
        "there are\n// no threads.\n"
        "int %s_team_run(struct %s_team *team,\n    void (*work)(struct %s_team *team, "
        "int "
        "rank, void *state), void *state);\n"
        "// The context will be that of this rank; not 0 if there is no such rank, or "
        "another one has it.\n"
        "int %s_context_config_set_team(struct %s_context_config *cfg, struct %s_team "
        "*team, "
        "int rank);\n"
        "// A part of the device's compute units, the first is 0; the whole device if it "
        "has "
        "fewer than parts.\n"
        "int %s_context_config_set_device_part(struct %s_context_config *cfg, int part, "
        "int "
        "parts);",
        p, p, p, p, p, p, p, p, p, p, p, p, p);
  if (workers != WORKERS_ONE)
    text_printf(
        t,
        "\n// The rows of this worker among so many: what #[blocks(..)] expects and "
        "gives.\n"
        "void %s_context_block(struct %s_context *ctx, int64_t rows, int64_t *start, "
        "int64_t *count);",
        p, p);
}

void emit_header(Emit *e, Text *t) {
  Api a = { e, t, e->options.prefix, false };
  text_printf(t, "// Generated by flc from %s.\n#pragma once\n",
              quote_comment(e->options.source));
  result_codes(t, e->options.prefix);
  runtime_public_header(t, e->options.prefix);
  text_add(t, "\n#ifdef __cplusplus\nextern \"C\" {\n#endif\n");
  vec_each (EmitType *, type, &e->types)
    if (type->kind != EMIT_SCALAR)
      text_printf(t, "\nstruct %s_%s;", e->options.prefix, type->c_name);
  text_add(t, "\n");
  type_functions(&a);
  worker_functions(t, e->options.workers, e->options.prefix);
  text_add(t, "\n\n#ifdef __cplusplus\n}\n#endif\n");
}

void emit_api(Emit *e, Text *t) {
  Api a = { e, t, e->options.prefix, true };
  type_functions(&a);
}
