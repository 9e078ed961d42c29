// Values of any type as text: leaves are arrays of scalars, one per scalar in the type.
#include "commands/repl/repl.h"
#include <string.h>

typedef struct ValuePrinter {
  Text *t;
  const Value *const *leaves;
  int next;  // leaf
} ValuePrinter;

// The leaves of a type; of functions there are none.
static int leaf_count(const Type *type) {
  if (type->kind == TYPE_PRIM) return 1;
  if (type->kind == TYPE_ARRAY) return leaf_count(type->u.array.elem);
  int count = 0;
  for (int i = 0; type->kind == TYPE_RECORD && i < type->u.record.count; i++)
    count += leaf_count(type->u.record.fields[i].type);
  return count;
}

// `at`: the place of the element in each leaf, as a number of elements of this type.
static void print_part(ValuePrinter *p, const Type *type, int depth, int64_t at);

static void print_scalar(ValuePrinter *p, int64_t at) {
  text_add(p->t, prim_text(value_get(p->leaves[p->next++], at)));
}

static void print_sum_value(ValuePrinter *p, const Type *type, int depth, int64_t at) {
  int64_t chosen = (int64_t)prim_bits_of(value_get(p->leaves[p->next++], at));
  for (int i = 1; i < type->u.record.count; i++) {
    const TypeField *field = &type->u.record.fields[i];
    const Type *payload = field->type;
    if (i - 1 != chosen) {
      p->next += leaf_count(payload);
      continue;
    }
    text_add(p->t, field->name);
    for (int k = 0; k < payload->u.record.count; k++) {
      text_add(p->t, " ");
      bool is_sum = type_is_sum(payload->u.record.fields[k].type);
      if (is_sum) text_add(p->t, "(");
      print_part(p, payload->u.record.fields[k].type, depth, at);
      if (is_sum) text_add(p->t, ")");
    }
  }
}

static void print_record_value(ValuePrinter *p, const Type *type, int depth, int64_t at) {
  bool tuple = type_is_tuple(type);
  text_add(p->t, tuple ? "(" : "{");
  for (int i = 0; i < type->u.record.count; i++) {
    const TypeField *field = &type->u.record.fields[i];
    if (i) text_add(p->t, ", ");
    if (!tuple) text_printf(p->t, "%s = ", field->name);
    print_part(p, field->type, depth, at);
  }
  text_add(p->t, tuple ? ")" : "}");
}

// Of an array without elements its sizes remain.
static void print_empty(ValuePrinter *p, const Type *type, int depth) {
  const Value *leaf = p->leaves[p->next];
  text_add(p->t, "empty(");
  for (; type->kind == TYPE_ARRAY; type = type->u.array.elem)
    text_printf(p->t, "[%lld]", (long long)leaf->shape[depth++]);
  text_printf(p->t, "%s)", type_text(type));
}

static bool has_elements(const Value *leaf, const Type *type, int depth) {
  for (; type->kind == TYPE_ARRAY; type = type->u.array.elem)
    if (leaf->shape[depth++] == 0) return false;
  return true;
}

static void print_array(ValuePrinter *p, const Type *type, int depth, int64_t at) {
  int first = p->next;
  if (!leaf_count(type)) {
    text_printf(p->t, "(%s)", type_text(type));
    return;
  }
  const Value *leaf = p->leaves[first];
  if (!has_elements(leaf, type, depth)) {
    print_empty(p, type, depth);
  } else {
    text_add(p->t, "[");
    for (int64_t i = 0; i < leaf->shape[depth]; i++) {
      if (i) text_add(p->t, ", ");
      p->next = first;
      print_part(p, type->u.array.elem, depth + 1, at * leaf->shape[depth] + i);
    }
    text_add(p->t, "]");
  }
  p->next = first + leaf_count(type);
}

static void print_part(ValuePrinter *p, const Type *type, int depth, int64_t at) {
  switch (type->kind) {
  case TYPE_PRIM: print_scalar(p, at); return;
  case TYPE_ARRAY: print_array(p, type, depth, at); return;
  case TYPE_RECORD:
    if (type_is_sum(type))
      print_sum_value(p, type, depth, at);
    else
      print_record_value(p, type, depth, at);
    return;
  case TYPE_FUNCTION:
  case TYPE_PARAM:
  case TYPE_VAR: text_printf(p->t, "(%s)", type_text(type)); return;
  }
}

void repl_print_value(Text *t, const Type *type, const Value *const *leaves) {
  ValuePrinter p = { t, leaves, 0 };
  print_part(&p, type, 0, 0);
}
