// The manifest of a library: what bindings for other languages read (conventions: docs/cli.md).
#include "base/quote.h"
#include "emit/emit.h"
#include <limits.h>
#include <string.h>

static bool has_constructors(const EntryValue *v) {
  for (int i = 0; i < v->field_count; i++)
    if (has_constructors(&v->fields[i])) return true;
  return v->constructor_count > 0;
}

// A constant, or -1 - k for the value of the entry point's parameter k.
static int size_in_manifest(const Entry *entry, Atom dim) {
  if (dim.kind == ATOM_CONST) return (int)dim.u.constant.u.i;
  for (int i = 0; i < entry->param_count; i++)
    if (entry->params[i] == dim.u.var) return -1 - i;
  return INT_MIN;
}

static void sizes_of_leaves(Text *t, const Entry *entry, const EntryValue *v) {
  text_add(t, ", \"sizes\": [");
  for (int i = v->first; i < v->first + v->count; i++) {
    const CoreType *type = &entry->params[i]->type;
    text_add(t, i > v->first ? ", [" : "[");
    for (int d = 0; d < type->rank; d++)
      text_printf(t, "%s%d", d ? ", " : "", size_in_manifest(entry, type->dims[d]));
    text_add(t, "]");
  }
  text_add(t, "]");
}

static void inputs(Emit *e, Text *t, const EmitEntry *entry) {
  bool sums = false;
  for (int i = 0; i < entry->inputs.count; i++)
    sums = sums || has_constructors(&entry->entry->inputs[i]);
  for (int i = 0; i < entry->inputs.count; i++) {
    const EntryValue *input = &entry->entry->inputs[i];
    text_printf(t, "%s\n        { \"name\": %s, \"type\": %s, \"unique\": %s",
                i ? "," : "", quote_json(input->name ? input->name : ""),
                quote_json(e->types.at[entry->inputs.at[i]].name),
                input->unique ? "true" : "false");
    if (sums) sizes_of_leaves(t, entry->entry, input);
    text_add(t, " }");
  }
}

static void tuning(Emit *e, Text *t, const EmitEntry *entry) {
  size_t length = strlen(entry->entry->name);
  bool first = true;
  vec_each (TuningParam *, p, &e->tuning) {
    bool own =
        strncmp(p->name, entry->entry->name, length) == 0 && p->name[length] == '.';
    if (!own && strchr(p->name, '.')) continue;
    text_printf(t, "%s%s", first ? "" : ", ", quote_json(p->name));
    first = false;
  }
}

static void attributes(Text *t, const Entry *entry) {
  text_add(t, "\"attributes\": [");
  for (int i = 0; i < entry->attribute_count; i++)
    text_printf(t, "%s%s", i ? ", " : "", quote_json(entry->attributes[i]));
  text_add(t, "]");
}

static void entry_point(Emit *e, Text *t, const EmitEntry *entry, bool last) {
  const char *name = entry->entry->name;
  text_printf(t, "\n    %s: {\n      \"cfun\": \"%s_entry_%s\",\n      \"inputs\": [",
              quote_json(name), e->options.prefix, entry->c_name);
  inputs(e, t, entry);
  const char *output = text_format("{ \"type\": %s, \"unique\": %s }",
                                   quote_json(e->types.at[entry->output].name),
                                   entry->output_unique ? "true" : "false");
  // Readers of Futhark's manifests look for a list.
  text_printf(t, "\n      ],\n      \"output\": %s,\n      \"outputs\": [%s],\n      ",
              output, output);
  text_add(t, "\"tuning_params\": [");
  tuning(e, t, entry);
  text_add(t, "],\n      ");
  attributes(t, entry->entry);
  text_printf(t, "\n    }%s", last ? "" : ",");
}

static void ops(Text *t, const char *prefix, const EmitType *type,
                const char *const *names) {
  text_add(t, ",\n      \"ops\": {");
  for (int i = 0; names[i]; i++)
    text_printf(t, "%s\n        \"%s\": \"%s_%s_%s\"", i ? "," : "", names[i], prefix,
                names[i], type->c_name);
  text_add(t, "\n      }");
}

static void fields(Emit *e, Text *t, const EmitType *type, const EmitFieldVec *of) {
  text_add(t, "\n        \"fields\": [");
  for (int i = 0; i < of->count; i++) {
    const EmitField *field = &of->at[i];
    text_printf(
        t,
        "%s\n          { \"name\": %s, \"type\": %s, \"project\": \"%s_project_%s_%s\" }",
        i ? "," : "", quote_json(field->name), quote_json(e->types.at[field->type].name),
        e->options.prefix, type->c_name, emit_field_name(of, i));
  }
  text_add(t, "\n        ]\n      }");
}

static void record(Emit *e, Text *t, const EmitType *type) {
  text_printf(t, ",\n      \"record\": {\n        \"new\": \"%s_new_%s\",",
              e->options.prefix, type->c_name);
  fields(e, t, type, &type->fields);
}

// Fields are arrays here: what `zip` takes.
static void opaque_array(Emit *e, Text *t, const EmitType *type) {
  static const char *const names[] = { "index", "shape", "new", "set", "zip" };
  bool record = type->columns.count;
  text_printf(t, ",\n      \"%s\": {\n        \"rank\": %d, \"elemtype\": %s",
              record ? "record_array" : "opaque_array", type->rank,
              quote_json(e->types.at[type->element].name));
  for (int i = 0; i < 4 + record; i++)
    text_printf(t, ",\n        \"%s\": \"%s_%s_%s\"", names[i], e->options.prefix,
                names[i], type->c_name);
  if (record) text_add(t, ",");
  if (record) fields(e, t, type, &type->columns);
  if (!record) text_add(t, "\n      }");
}

static void sum(Emit *e, Text *t, const EmitType *type) {
  const char *prefix = e->options.prefix;
  text_printf(t, ",\n      \"sum\": {\n        \"variant\": \"%s_variant_%s\",", prefix,
              type->c_name);
  text_add(t, "\n        \"variants\": [");
  for (int i = 0; i < type->constructors.count; i++) {
    const EmitConstructor *c = &type->constructors.at[i];
    const char *name = emit_constructor_name(type, i);
    text_printf(t, "%s\n          { \"name\": %s, \"construct\": \"%s_new_%s\", ",
                i ? "," : "", quote_json(c->name), prefix, name);
    text_printf(t, "\"destruct\": \"%s_destruct_%s\", \"payload\": [", prefix, name);
    vec_each (EmitField *, field, &c->fields)
      text_printf(t, "%s%s", field == c->fields.at ? "" : ", ",
                  quote_json(e->types.at[field->type].name));
    text_add(t, "] }");
  }
  text_add(t, "\n        ]\n      }");
}

static void leaves(Emit *e, Text *t, const EmitType *type) {
  text_add(t, ",\n      \"leaves\": [");
  vec_each (int *, leaf, &type->leaves)
    text_printf(t, "%s%s", leaf == type->leaves.at ? "" : ", ",
                quote_json(e->types.at[*leaf].name));
  text_add(t, "]");
}

// What has to be there of constructors that a value does not have.
static void leaf_sizes(Emit *e, Text *t, const EmitType *type) {
  int next = 0;
  text_add(t, ",\n      \"leaf_sizes\": [");
  for (int i = 0; i < type->leaves.count; i++) {
    text_add(t, i ? ", [" : "[");
    for (int d = 0; d < e->types.at[type->leaves.at[i]].rank; d++)
      text_printf(t, "%s%d", d ? ", " : "", type->leaf_dims.at[next++]);
    text_add(t, "]");
  }
  text_add(t, "]");
}

static void constructor(Emit *e, Text *t, const EmitConstructor *c) {
  text_printf(t, "{ \"name\": %s, \"fields\": [", quote_json(c->name));
  vec_each (EmitField *, field, &c->fields)
    text_printf(t, "%s{ \"type\": %s, \"first\": %d }", field == c->fields.at ? "" : ", ",
                quote_json(e->types.at[field->type].name), field->first);
  text_add(t, "] }");
}

// An array for each field, of the same rank.
static bool has_columns_of_scalars(const Emit *e, const EmitType *type) {
  vec_each (EmitField *, column, &type->columns) {
    const EmitType *part = &e->types.at[column->type];
    if (part->kind != EMIT_ARRAY || part->rank != type->rank) return false;
  }
  return type->columns.count > 0;
}

// What bindings need to make values of the type from its leaves: constructors, names of columns.
static void inside(Emit *e, Text *t, const EmitType *type) {
  leaves(e, t, type);
  if (type->constructors.count) leaf_sizes(e, t, type);
  if (type->constructors.count) text_add(t, ",\n      \"constructors\": [");
  vec_each (EmitConstructor *, c, &type->constructors) {
    text_add(t, c == type->constructors.at ? "\n        " : ",\n        ");
    constructor(e, t, c);
  }
  if (type->constructors.count) text_add(t, "\n      ]");
  if (!has_columns_of_scalars(e, type)) return;
  text_add(t, ",\n      \"columns\": [");
  vec_each (EmitField *, column, &type->columns)
    text_printf(t, "%s%s", column == type->columns.at ? "" : ", ",
                quote_json(column->name));
  text_add(t, "]");
}

static void type_entry(Emit *e, Text *t, const EmitType *type, bool first) {
  static const char *const array_ops[] = { "free",    "shape",      "values", "new",
                                           "new_raw", "values_raw", "index",  NULL };
  static const char *const opaque_ops[] = { "free", "store", "restore", NULL };
  bool array = type->kind == EMIT_ARRAY;
  text_printf(
      t, "%s\n    %s: {\n      \"kind\": \"%s\",\n      \"ctype\": \"struct %s_%s *\"",
      first ? "" : ",", quote_json(type->name), array ? "array" : "opaque",
      e->options.prefix, type->c_name);
  if (array)
    text_printf(t, ",\n      \"rank\": %d,\n      \"elemtype\": \"%s\"", type->rank,
                prim_type_name(type->elem));
  ops(t, e->options.prefix, type, array ? array_ops : opaque_ops);
  if (!array) inside(e, t, type);
  if (emit_is_record(type)) record(e, t, type);
  if (emit_is_opaque_array(type)) opaque_array(e, t, type);
  if (type->constructors.count) sum(e, t, type);
  text_add(t, "\n    }");
}

void emit_manifest(Emit *e, Text *t) {
  text_add(t, "{\n  \"backend\": \"opencl\",\n  \"version\": \"flc 0.1\",\n  "
              "\"entry_points\": {");
  for (int i = 0; i < e->entries.count; i++)
    entry_point(e, t, &e->entries.at[i], i == e->entries.count - 1);
  text_add(t, "\n  },\n  \"types\": {");
  bool first = true;
  vec_each (EmitType *, type, &e->types) {
    if (type->kind == EMIT_SCALAR) continue;
    type_entry(e, t, type, first);
    first = false;
  }
  const char *tree = e->options.tree_json;
  text_printf(t, "\n  },\n  \"tree\": %s\n}\n", tree && *tree ? tree : "null");
}
