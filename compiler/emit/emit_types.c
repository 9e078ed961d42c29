// The types of parameters and results, each once, scalars and arrays before the values made of them.
#include "emit/emit.h"
#include <ctype.h>
#include <string.h>

// Without the sizes: "[n][m]f32" is "[][]f32".
static const char *without_sizes(const char *type) {
  Text *t = text_new();
  int depth = 0;
  for (const char *s = type; *s; s++) {
    if (*s == ']') depth--;
    if (depth == 0) text_add_bytes(t, s, 1);
    if (*s == '[') depth++;
  }
  return text_str(t);
}

static bool is_identifier(const char *text) {
  for (const char *s = text; *s; s++)
    if (!isalnum((unsigned char)*s) && *s != '_') return false;
  return !isdigit((unsigned char)*text);
}

static unsigned hash_text(const char *text) {
  unsigned hash = 2166136261u;  // FNV-1a
  for (const char *s = text; *s; s++)
    hash = (hash ^ (unsigned char)*s) * 16777619u;
  return hash;
}

static int find_type(const Emit *e, const char *name) {
  for (int i = 0; i < e->types.count; i++)
    if (strcmp(e->types.at[i].name, name) == 0) return i;
  return -1;
}

static int leaf_type(Emit *e, PrimType elem, int rank) {
  Text *t = text_new();
  for (int i = 0; i < rank; i++)
    text_add(t, "[]");
  text_add(t, prim_type_name(elem));
  int known = find_type(e, text_str(t));
  if (known >= 0) return known;
  EmitType type = { .name = text_str(t),
                    .kind = rank ? EMIT_ARRAY : EMIT_SCALAR,
                    .elem = elem,
                    .rank = rank };
  type.c_name =
      rank ? text_format("%s_%dd", prim_type_name(elem), rank) : prim_type_name(elem);
  vec_push(&e->types, type);
  return e->types.count - 1;
}

// "opaque_point", "opaque_tup2_i32_f32", else by a hash.
static const char *opaque_c_name(const Emit *e, const EmitType *type, bool is_tuple) {
  if (is_identifier(type->name)) return text_format("opaque_%s", type->name);
  Text *t = text_new();
  text_printf(t, "opaque_tup%d", type->fields.count);
  bool simple = is_tuple;
  vec_each (EmitField *, field, &type->fields) {
    const EmitType *part = &e->types.at[field->type];
    if (part->kind == EMIT_OPAQUE) simple = false;
    text_printf(t, "_%s",
                part->kind == EMIT_ARRAY
                    ? text_format("arr%dd_%s", part->rank, prim_type_name(part->elem))
                    : part->c_name);
  }
  return simple ? text_str(t) : text_format("opaque_%08x", hash_text(type->name));
}

static int type_of(Emit *e, const EntryValue *v, const CoreType *leaves);

static void add_fields(Emit *e, EmitType *type, const EntryValue *fields, int count,
                       int base, const CoreType *leaves) {
  for (int i = 0; i < count; i++) {
    int field_type = type_of(e, &fields[i], leaves);
    const char *name = fields[i].name ? fields[i].name : text_format("%d", i);
    vec_push(&type->fields, (EmitField){ name, field_type, fields[i].first - base });
  }
}

static int composite(Emit *e, EmitType type, bool is_tuple, const CoreType *leaves,
                     int first, int count) {
  for (int i = first; i < first + count; i++)
    vec_push(&type.leaves, leaf_type(e, leaves[i].elem, leaves[i].rank));
  type.kind = EMIT_OPAQUE;
  type.c_name = opaque_c_name(e, &type, is_tuple);
  vec_push(&e->types, type);
  return e->types.count - 1;
}

// `leaves`: the types of all leaves, by EntryValue.first.
static int type_of(Emit *e, const EntryValue *v, const CoreType *leaves) {
  if (!v->opaque) return leaf_type(e, leaves[v->first].elem, leaves[v->first].rank);
  EmitType type = { .name = without_sizes(v->type) };
  int known = find_type(e, type.name);
  if (known >= 0) return known;
  add_fields(e, &type, v->fields, v->field_count, v->first, leaves);
  return composite(e, type, v->is_tuple, leaves, v->first, v->count);
}

// The results of an entry point as one value.
static int output_type(Emit *e, const Entry *entry) {
  if (entry->output_count == 1) return type_of(e, &entry->outputs[0], entry->results);
  Text *t = text_new();
  for (int i = 0; i < entry->output_count; i++)
    text_printf(t, "%s%s", i ? ", " : "(", without_sizes(entry->outputs[i].type));
  text_add(t, entry->output_count ? ")" : "()");
  EmitType type = { .name = text_str(t) };
  int known = find_type(e, type.name);
  if (known >= 0) return known;
  for (int i = 0; i < entry->output_count; i++) {
    int field_type = type_of(e, &entry->outputs[i], entry->results);
    vec_push(&type.fields,
             (EmitField){ text_format("%d", i), field_type, entry->outputs[i].first });
  }
  return composite(e, type, true, entry->results, 0, entry->result_count);
}

void emit_types_collect(Emit *e) {
  for (int i = 0; i < e->flat->entry_count; i++) {
    const Entry *entry = e->flat->entries[i];
    CoreType *params = new_array(CoreType, entry->param_count + 1);
    for (int p = 0; p < entry->param_count; p++)
      params[p] = entry->params[p]->type;
    EmitEntry out = { .entry = entry };
    for (int v = 0; v < entry->input_count; v++)
      vec_push(&out.inputs, type_of(e, &entry->inputs[v], params));
    out.output = output_type(e, entry);
    out.output_unique = entry->output_count == 1 && entry->outputs[0].unique;
    vec_push(&e->entries, out);
  }
}

// ---- the table

static void opaque_lists(Text *t, const EmitType *type, int number) {
  if (type->leaves.count) {
    text_printf(t, "\nstatic const int type_%d_leaves[] = { ", number);
    vec_each (int *, leaf, &type->leaves)
      text_printf(t, leaf == type->leaves.at ? "%d" : ", %d", *leaf);
    text_add(t, " };");
  }
  if (!type->fields.count) return;
  text_printf(t, "\nstatic const struct rt_field type_%d_fields[] = {", number);
  vec_each (EmitField *, field, &type->fields)
    text_printf(t, "\n  { %s, %d, %d },", c_string(field->name), field->type,
                field->first);
  text_add(t, "\n};");
}

static void add_type_row(Text *t, const EmitType *type, int number) {
  static const char *const kinds[] = { "RT_SCALAR", "RT_ARRAY", "RT_OPAQUE" };
  const char *leaves =
      type->leaves.count ? text_format("type_%d_leaves", number) : "NULL";
  const char *fields =
      type->fields.count ? text_format("type_%d_fields", number) : "NULL";
  text_printf(t, "\n  { %s, %s, %s, %d, %s, %d, %s, %d },", c_string(type->name),
              kinds[type->kind], emit_elem_name(type->elem), type->rank, leaves,
              type->leaves.count, fields, type->fields.count);
}

void emit_types_table(Emit *e, Text *t) {
  if (!e->types.count) return;
  for (int i = 0; i < e->types.count; i++)
    opaque_lists(t, &e->types.at[i], i);
  text_add(t, "\nstatic const struct rt_type program_types[] = {");
  for (int i = 0; i < e->types.count; i++)
    add_type_row(t, &e->types.at[i], i);
  text_add(t, "\n};\n");
}
