// The types of parameters and results, each once,
// scalars and arrays before the values made of them.
#include "emit/emit.h"
#include <limits.h>
#include <string.h>

static int find_type(const Emit *e, const char *name) {
  for (int i = 0; i < e->types.count; i++)
    if (strcmp(e->types.at[i].name, name) == 0) return i;
  return -1;
}

static bool has_c_name(const Emit *e, const char *c_name) {
  for (int i = 0; i < e->types.count; i++)
    if (strcmp(e->types.at[i].c_name, c_name) == 0) return true;
  return false;
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
                    .rank = rank,
                    .element = -1 };
  type.c_name =
      rank ? text_format("%s_%dd", prim_type_name(elem), rank) : prim_type_name(elem);
  vec_push(&e->types, type);
  return e->types.count - 1;
}

static const char *field_identifier(const char *name) {
  return c_identifier(text_format("_%s", name)) + 1;
}

// Names may hold primes, which C's may not: a' and a_ would be the same.
const char *emit_field_name(const EmitFieldVec *fields, int field) {
  const char *name = field_identifier(fields->at[field].name);
  for (int i = 0; i < field; i++)
    if (strcmp(field_identifier(fields->at[i].name), name) == 0)
      return text_format("%s_%d", name, field);
  return name;
}

// What names of functions for a constructor end in.
const char *emit_constructor_name(const EmitType *type, int constructor) {
  const char *name = field_identifier(type->constructors.at[constructor].name);
  for (int i = 0; i < constructor; i++)
    if (strcmp(field_identifier(type->constructors.at[i].name), name) == 0)
      return text_format("%s_%s_%d", type->c_name, name, constructor);
  return text_format("%s_%s", type->c_name, name);
}

static int count_parts(const char *open) {
  int depth = 0, count = open[1] != ')' && open[1] != '}';
  for (const char *s = open; *s; s++) {
    if (strchr("({", *s)) depth++;
    if (strchr(")}", *s) && --depth == 0) break;
    if (*s == ',' && depth == 1) count++;
  }
  return count;
}

// Adds the type at `at` as a C name and returns its end: "[](i32, f32)" is arr1d_tup2_i32_f32,
// "{x: f32, y: i64}" rec2_x_f32_y_i64.
static const char *add_c_name(Text *t, const char *at) {
  int rank = 0;
  for (; strncmp(at, "[]", 2) == 0; at += 2)
    rank++;
  if (rank) text_printf(t, "arr%dd_", rank);
  if (*at != '(' && *at != '{') {
    size_t length = strcspn(at, ",)}");
    text_add(t, c_identifier(text_format("%.*s", (int)length, at)));
    return at + length;
  }
  bool is_record = *at == '{';
  text_printf(t, "%s%d", is_record ? "rec" : "tup", count_parts(at));
  for (at++; *at && *at != ')' && *at != '}'; at += strspn(at, ", ")) {
    size_t name = is_record ? strcspn(at, ":") : 0;
    if (is_record)
      text_printf(t, "_%s", field_identifier(text_format("%.*s", (int)name, at)));
    text_add(t, "_");
    at = add_c_name(t, at + name + (is_record ? strlen(": ") : 0));
  }
  return *at ? at + 1 : at;
}

// "opaque_point", "opaque_tup2_i32_f32"; with a hash if that is long or taken, or of constructors.
static const char *opaque_c_name(const Emit *e, const char *name) {
  enum { MOST_CHARACTERS = 60 };
  Text *t = text_new();
  text_add(t, "opaque_");
  add_c_name(t, name);
  bool is_plain = !strchr(name, '#');
  if (is_plain && text_length(t) <= MOST_CHARACTERS && !has_c_name(e, text_str(t)))
    return text_str(t);
  return text_format("opaque_%.16s", hash_of(name, strlen(name)));
}

static int type_of(Emit *e, const EntryValue *v, const CoreType *leaves);

static EmitFieldVec fields_of(Emit *e, const EntryValue *fields, int count, int base,
                              const CoreType *leaves) {
  EmitFieldVec out = { 0 };
  for (int i = 0; i < count; i++) {
    int field_type = type_of(e, &fields[i], leaves);
    const char *name = fields[i].name ? fields[i].name : text_format("%d", i);
    vec_push(&out, (EmitField){ name, field_type, fields[i].first - base });
  }
  return out;
}

// The leaves of a value among `leaves`, each without its first `rank` dimensions.
static const CoreType *rows_of(const EntryValue *v, const CoreType *leaves, int rank) {
  CoreType *rows = new_array(CoreType, v->first + v->count + 1);
  for (int i = v->first; i < v->first + v->count; i++)
    rows[i] = (CoreType){ leaves[i].elem, leaves[i].rank - rank, leaves[i].dims + rank };
  return rows;
}

// The arrays that an array of records consists of, one for each field: "[]" before its type.
static int column_type(Emit *e, const EntryValue *field, int rank,
                       const CoreType *leaves) {
  EntryValue column = *field;
  Text *name = text_new();
  for (int i = 0; i < rank; i++)
    text_add(name, "[]");
  bool brackets = field->constructor_count && strchr(field->type, '#');
  text_printf(name, brackets ? "(%s)" : "%s", field->type);
  column.type = text_str(name);
  column.element = field->element ? field->element : field;
  column.rank = field->rank + rank;
  column.fields = NULL;
  column.field_count = column.constructor_count = 0;
  return type_of(e, &column, leaves);
}

// What an array of opaque values consists of.
static void add_rows_type(Emit *e, EmitType *type, const EntryValue *v,
                          const CoreType *leaves) {
  const EntryValue *element = v->element;
  type->rank = v->rank;
  type->element = type_of(e, element, rows_of(v, leaves, v->rank));
  for (int i = 0; i < element->field_count; i++) {
    const EntryValue *field = &element->fields[i];
    if (!field->count) continue;
    int column = column_type(e, field, v->rank, leaves);
    const char *name = field->name ? field->name : text_format("%d", i);
    vec_push(&type->columns, (EmitField){ name, column, field->first - v->first });
  }
}

static void add_parts(Emit *e, EmitType *type, const EntryValue *v,
                      const CoreType *leaves) {
  type->fields = fields_of(e, v->fields, v->field_count, v->first, leaves);
  for (int i = 0; i < v->constructor_count; i++) {
    const EntryConstructor *c = &v->constructors[i];
    EmitFieldVec fields = fields_of(e, c->fields, c->field_count, v->first, leaves);
    vec_push(&type->constructors, (EmitConstructor){ c->name, fields });
  }
  if (v->element && v->element->count == v->count) add_rows_type(e, type, v, leaves);
}

static IntVec dims_of(const CoreType *leaves, int first, int count) {
  IntVec dims = { 0 };
  for (int i = first; i < first + count; i++)
    for (int d = 0; d < leaves[i].rank; d++) {
      Atom dim = leaves[i].dims[d];
      bool known = dim.kind == ATOM_CONST && dim.u.constant.u.i <= INT_MAX;
      vec_push(&dims, known ? (int)dim.u.constant.u.i : -1);
    }
  return dims;
}

// Values of one type may have other sizes elsewhere.
static void forget_other_dims(EmitType *type, IntVec others) {
  for (int i = 0; i < type->leaf_dims.count; i++)
    if (type->leaf_dims.at[i] != others.at[i]) type->leaf_dims.at[i] = -1;
}

static int composite(Emit *e, EmitType type, const CoreType *leaves, int first,
                     int count) {
  for (int i = first; i < first + count; i++)
    vec_push(&type.leaves, leaf_type(e, leaves[i].elem, leaves[i].rank));
  type.leaf_dims = dims_of(leaves, first, count);
  type.kind = EMIT_OPAQUE;
  type.c_name = opaque_c_name(e, type.name);
  vec_push(&e->types, type);
  return e->types.count - 1;
}

// `leaves`: the types of all leaves, by EntryValue.first.
static int type_of(Emit *e, const EntryValue *v, const CoreType *leaves) {
  if (!v->opaque) return leaf_type(e, leaves[v->first].elem, leaves[v->first].rank);
  EmitType type = { .name = entry_type_without_sizes(v->type), .element = -1 };
  int known = find_type(e, type.name);
  // Of a known type, too: what it holds may have other sizes here.
  add_parts(e, &type, v, leaves);
  if (known >= 0) {
    forget_other_dims(&e->types.at[known], dims_of(leaves, v->first, v->count));
    return known;
  }
  return composite(e, type, leaves, v->first, v->count);
}

// The results of an entry point as one value.
static int output_type(Emit *e, const Entry *entry) {
  if (entry->output_count == 1) return type_of(e, &entry->outputs[0], entry->results);
  EmitType type = { .name = entry_type_without_sizes(entry->output_type), .element = -1 };
  int known = find_type(e, type.name);
  for (int i = 0; i < entry->output_count; i++) {
    int field_type = type_of(e, &entry->outputs[i], entry->results);
    vec_push(&type.fields,
             (EmitField){ text_format("%d", i), field_type, entry->outputs[i].first });
  }
  if (known < 0) return composite(e, type, entry->results, 0, entry->result_count);
  forget_other_dims(&e->types.at[known], dims_of(entry->results, 0, entry->result_count));
  return known;
}

bool emit_is_record(const EmitType *type) {
  return type->fields.count || strcmp(type->name, "()") == 0 ||
         strcmp(type->name, "{}") == 0;
}

const char *emit_entry_name(const Emit *e, const Entry *entry) {
  for (int i = 0; i < e->entries.count; i++)
    if (strcmp(e->entries.at[i].entry->name, entry->name) == 0)
      return e->entries.at[i].c_name;
  bug(e->c, (Loc){ 0 }, "unknown entry point %s", entry->name);
}

// Is another entry point called so, or an earlier one in C?
static bool is_taken(const Emit *e, const Entry *entry, const char *c_name) {
  for (int i = 0; i < e->flat->entry_count; i++)
    if (e->flat->entries[i] != entry && strcmp(e->flat->entries[i]->name, c_name) == 0)
      return true;
  for (int i = 0; i < e->entries.count; i++)
    if (strcmp(e->entries.at[i].c_name, c_name) == 0) return true;
  return false;
}

// Only names with primes may have to give way.
static const char *free_name(const Emit *e, const Entry *entry) {
  const char *wanted = c_identifier(entry->name), *name = wanted;
  for (int k = 2; is_taken(e, entry, name); k++)
    name = text_format("%s_%d", wanted, k);
  return name;
}

void emit_types_collect(Emit *e) {
  for (int i = 0; i < e->flat->entry_count; i++) {
    const Entry *entry = e->flat->entries[i];
    CoreType *params = new_array(CoreType, entry->param_count + 1);
    for (int p = 0; p < entry->param_count; p++)
      params[p] = entry->params[p]->type;
    EmitEntry out = { .entry = entry, .c_name = free_name(e, entry) };
    for (int v = 0; v < entry->input_count; v++)
      vec_push(&out.inputs, type_of(e, &entry->inputs[v], params));
    out.output = output_type(e, entry);
    out.output_unique = entry->output_count == 1 && entry->outputs[0].unique;
    vec_push(&e->entries, out);
  }
}

// ---- the table

bool emit_is_opaque_array(const EmitType *type) { return type->element >= 0; }

static void field_list(Text *t, const EmitFieldVec *fields, const char *name) {
  if (!fields->count) return;
  text_printf(t, "\nstatic const struct rt_field %s[] = {", name);
  vec_each (const EmitField *, field, fields)
    text_printf(t, "\n  { %s, %d, %d },", c_string(field->name), field->type,
                field->first);
  text_add(t, "\n};");
}

static void constructor_lists(Text *t, const EmitType *type, int number) {
  for (int i = 0; i < type->constructors.count; i++)
    field_list(t, &type->constructors.at[i].fields,
               text_format("type_%d_fields_%d", number, i));
  text_printf(t, "\nstatic const struct rt_constructor type_%d_constructors[] = {",
              number);
  for (int i = 0; i < type->constructors.count; i++) {
    const EmitConstructor *c = &type->constructors.at[i];
    const char *fields =
        c->fields.count ? text_format("type_%d_fields_%d", number, i) : "NULL";
    text_printf(t, "\n  { %s, %s, %d },", c_string(c->name), fields, c->fields.count);
  }
  text_add(t, "\n};");
}

// Do values of the type come to be of parts whose sizes it tells?
static bool needs_dims(const EmitType *type) {
  return type->constructors.count || emit_is_opaque_array(type);
}

static void dims_list(Text *t, const EmitType *type, int number) {
  text_printf(t, "\nstatic const int type_%d_dims[] = { ", number);
  vec_each (const int *, dim, &type->leaf_dims)
    text_printf(t, "%d, ", *dim);
  text_add(t, "-1 };");
}

static void opaque_lists(Text *t, const EmitType *type, int number) {
  if (type->leaves.count) {
    text_printf(t, "\nstatic const int type_%d_leaves[] = { ", number);
    vec_each (int *, leaf, &type->leaves)
      text_printf(t, leaf == type->leaves.at ? "%d" : ", %d", *leaf);
    text_add(t, " };");
  }
  field_list(t, &type->fields, text_format("type_%d_fields", number));
  if (type->constructors.count) constructor_lists(t, type, number);
  if (needs_dims(type)) dims_list(t, type, number);
  field_list(t, &type->columns, text_format("type_%d_columns", number));
}

static void add_type_row(Text *t, const EmitType *type, int number) {
  static const char *const kinds[] = { "RT_SCALAR", "RT_ARRAY", "RT_OPAQUE" };
  const char *leaves =
      type->leaves.count ? text_format("type_%d_leaves", number) : "NULL";
  const char *fields =
      type->fields.count ? text_format("type_%d_fields", number) : "NULL";
  int constructors = type->constructors.count;
  text_printf(t, "\n  { %s, %s, %s, %d, %s, %d, %s, %d, %s, %d, %s, ",
              c_string(type->name), kinds[type->kind], emit_elem_name(type->elem),
              type->rank, leaves, type->leaves.count, fields, type->fields.count,
              constructors ? text_format("type_%d_constructors", number) : "NULL",
              constructors,
              needs_dims(type) ? text_format("type_%d_dims", number) : "NULL");
  int columns = type->columns.count;
  text_printf(t, "%s, %d, %d },",
              columns ? text_format("type_%d_columns", number) : "NULL", columns,
              type->element);
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
