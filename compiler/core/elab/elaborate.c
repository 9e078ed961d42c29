// Typed tree -> Core, by evaluating the static part of the program (docs/how-it-works.md,
// "Elaboration").
//
// map2 (\x y -> x * g y) xs ys   =>   map n (\x y -> let a = ... in let b = x * a in {b}) xs ys
//
// Needs: a checked program.   Gives: Core in A-normal form, one binding per name.   Why: values of
// functions, of tuples, and of type parameters are gone after evaluation, so monomorphisation,
// defunctionalisation, inlining and arrays of tuples as tuples of arrays need no passes.
//
// This file makes the entry points: their parameters, sizes first; their results; and what C and
// the interpreter must know of them.
#include "core/elab/elaborate.h"
#include "source/ast_print.h"
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

// A dimension of a parameter whose size is an expression: checked when the program runs.
typedef struct SizeCheck {
  const Size *size;
  Atom actual;
  int leaf;  // which leaf of the parameters
  int dim;
  Name param;
} SizeCheck;

typedef struct EntryBuild {
  Elab *e;
  const AstDecl *decl;
  Scope scope;
  VarVec sizes, leaves;
  Vec(SizeCheck) checks;
  Name param;  // the parameter being made
  Vec(EntryValue) inputs;
  ValVec values;  // one per parameter
} EntryBuild;

static Loc entry_loc(const EntryBuild *b) { return b->decl->u.value.name_loc; }

// How many leaves a value has outside: an empty tuple none, but an array of them one, of bools,
// which tells its sizes.
static int leaf_count(const Type *type) {
  bool is_array = type->kind == TYPE_ARRAY;
  while (type->kind == TYPE_ARRAY)
    type = type->u.array.elem;
  if (type->kind != TYPE_RECORD) return 1;
  int count = 0;
  for (int i = 0; i < type->u.record.count; i++)
    count += leaf_count(type->u.record.fields[i].type);
  return is_array && !count ? 1 : count;
}

// ---- parameters

static Atom new_param_size(EntryBuild *b, const char *name) {
  Compiler *c = b->e->c;
  const Var *var =
      var_new(c, name_of(c->names, name), type_scalar(PRIM_I64), entry_loc(b));
  vec_push(&b->sizes, var);
  map_put(b->e->frame->sizes, var, var);
  return atom_var(var);
}

// The dimension for a declared size.  A size parameter is bound by its first occurrence.
static Atom param_dim(EntryBuild *b, const Size *size, int dim) {
  if (size->kind == SIZE_CONST) return atom_i64(big_to_i64(size->u.constant));
  if (size->kind == SIZE_NAME && size->u.name->kind == BIND_SIZE) {
    const Env *found = env_find(b->scope.env, size->u.name);
    if (found) return found->val->u.atom;
    bool named = size->u.name->name[0] != '?';  // not one of the checker's unknown sizes
    const char *name = named ? size->u.name->name : text_format("%s_size", b->param);
    Atom fresh = new_param_size(b, name);
    b->scope.env = env_push(b->scope.env, size->u.name, val_atom(fresh));
    return fresh;
  }
  SizeIn declared = { size, b->scope.env };
  if (size_known(declared)) {
    Atom value = size_eval(b->e, declared);
    if (value.kind == ATOM_CONST) return value;
  }
  Atom fresh = new_param_size(b, text_format("%s_size", b->param));
  if (size->kind != SIZE_ANY) {
    vec_push(&b->checks, (SizeCheck){ size, fresh, b->leaves.count, dim, b->param });
  }
  return fresh;
}

static const Val *param_leaf(EntryBuild *b, PrimType prim, const AtomVec *dims) {
  CoreType core = type_array(prim, dims->count, dims->at);
  const Var *var = var_new(b->e->c, b->param, core, entry_loc(b));
  vec_push(&b->leaves, var);
  return val_atom(atom_var(var));
}

static const Val *param_value(EntryBuild *b, const Type *type, const AtomVec *dims);

// Sums have no shared leaves yet, so their fields have other names than within the program.
static const Val *param_record(EntryBuild *b, const Type *type, const AtomVec *dims) {
  int count = type->u.record.count;
  if (!count) return val_atom(elab_zeros(b->e, PRIM_BOOL, dims));
  const Val **items = new_array(const Val *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    const TypeField *field = &type->u.record.fields[i];
    names[i] = field->name;
    items[i] = field_is_bare(field) ? val_tuple(b->e, NULL, 0)
                                    : param_value(b, field->type, dims);
  }
  return type_is_sum(type) ? val_tuple(b->e, items, count)
                           : val_record(names, items, count);
}

static const Val *param_array(EntryBuild *b, const Type *type, const AtomVec *dims) {
  AtomVec inner = { 0 };
  vec_each (const Atom *, dim, dims)
    vec_push(&inner, *dim);
  vec_push(&inner, param_dim(b, type->u.array.size, dims->count));
  const Type *elem = type->u.array.elem;
  if (elem->kind != TYPE_ARRAY && !leaf_count(elem)) param_leaf(b, PRIM_BOOL, &inner);
  return param_value(b, elem, &inner);
}

static const Val *param_value(EntryBuild *b, const Type *type, const AtomVec *dims) {
  switch (type->kind) {
  case TYPE_PRIM: return param_leaf(b, type->u.prim, dims);
  case TYPE_RECORD: return param_record(b, type, dims);
  case TYPE_ARRAY: return param_array(b, type, dims);
  case TYPE_FUNCTION:
  case TYPE_PARAM:
  case TYPE_VAR: break;
  }
  error(b->e->c, entry_loc(b),
        "entry point '%s' has a parameter of type %s, which is no data",
        b->decl->u.value.name, type_text(type));
  elab_stop(b->e);
}

// ---- what the outside knows of parameters and results

static bool has_record(const Type *type) {
  while (type->kind == TYPE_ARRAY)
    type = type->u.array.elem;
  return type->kind == TYPE_RECORD;
}

static void add_outside_type(Elab *e, Text *t, const Type *type);

const char *entry_type_without_sizes(const char *type) {
  Text *t = text_new();
  int depth = 0;
  for (const char *s = type; *s; s++) {
    if (*s == ']') depth--;
    if (depth == 0) text_add_bytes(t, s, 1);
    if (*s == '[') depth++;
  }
  return text_str(t);
}

// The abbreviation that names a type outside, or NULL.  Of several types of one name, in modules of
// their own, only the first has it.
static const char *outside_alias(Elab *e, const Type *type) {
  const char *name = map_get(e->outside_names, type);
  if (!type->alias || name) return name && *name ? name : NULL;
  Type unnamed = *type;
  unnamed.alias = NULL;
  Text *t = text_new();
  add_outside_type(e, t, &unnamed);
  const char *own = entry_type_without_sizes(text_str(t)),
             *known = map_get(e->outside_types, type->alias);
  if (!known) map_put(e->outside_types, type->alias, own);
  name = known && strcmp(known, own) != 0 ? "" : type->alias;
  map_put(e->outside_names, type, name);
  return *name ? name : NULL;
}

static bool is_unnamed_sum(Elab *e, const Type *type) {
  while (type->kind == TYPE_ARRAY)
    type = type->u.array.elem;
  return type->kind == TYPE_RECORD && type_is_sum(type) && !outside_alias(e, type);
}

// #a | #b i32 (#c | #d): the record's first field is the number of the constructor.
static void add_outside_sum(Elab *e, Text *t, const Type *sum) {
  for (int i = 1; i < sum->u.record.count; i++) {
    const TypeField *constructor = &sum->u.record.fields[i];
    text_printf(t, "%s%s", i > 1 ? " | " : "", constructor->name);
    for (int k = 0; k < constructor->type->u.record.count; k++) {
      const Type *part = constructor->type->u.record.fields[k].type;
      bool brackets = part->kind == TYPE_RECORD && is_unnamed_sum(e, part);
      text_add(t, brackets ? " (" : " ");
      add_outside_type(e, t, part);
      if (brackets) text_add(t, ")");
    }
  }
}

static void add_outside_type(Elab *e, Text *t, const Type *type) {
  bool is_array = type->kind == TYPE_ARRAY;
  if (is_array && outside_alias(e, type)) {
    text_add(t, outside_alias(e, type));
    return;
  }
  while (type->kind == TYPE_ARRAY) {
    text_printf(t, "[%s]", size_text(type->u.array.size));
    type = type->u.array.elem;
  }
  if (type->kind != TYPE_RECORD || outside_alias(e, type)) {
    bool is_prim = type->kind == TYPE_PRIM;
    text_add(t, is_prim                     ? prim_type_name(type->u.prim)
                : type->kind == TYPE_RECORD ? outside_alias(e, type)
                                            : type_text(type));
    return;
  }
  if (is_unnamed_sum(e, type)) {
    if (is_array) text_add(t, "(");
    add_outside_sum(e, t, type);
    if (is_array) text_add(t, ")");
    return;
  }
  bool is_tuple = type_is_tuple(type);
  text_add(t, is_tuple ? "(" : "{");
  for (int i = 0; i < type->u.record.count; i++) {
    const TypeField *field = &type->u.record.fields[i];
    if (i) text_add(t, ", ");
    if (!is_tuple) text_printf(t, "%s: ", field->name);
    add_outside_type(e, t, field->type);
  }
  text_add(t, is_tuple ? ")" : "}");
}

// The type with the abbreviations that stand for its records, and without uniqueness.
static const char *outside_type(Elab *e, const Type *type) {
  Text *t = text_new();
  add_outside_type(e, t, type);
  return text_str(t);
}

static EntryValue describe(Elab *e, Name name, const Type *type, int first);

// The fields of a record, one after the other from leaf `first` on.
static const EntryValue *describe_fields(Elab *e, const Type *record, int first) {
  EntryValue *fields = new_array(EntryValue, record->u.record.count + 1);
  for (int i = 0; i < record->u.record.count; i++) {
    const TypeField *field = &record->u.record.fields[i];
    fields[i] = describe(e, field->name, field->type, first);
    first += fields[i].count;
  }
  return fields;
}

// Fields of the record that a sum type is: the tag, then "#name" for each constructor.
static void describe_constructors(Elab *e, EntryValue *value, const Type *sum) {
  int count = sum->u.record.count - 1, first = value->first + 1;
  EntryConstructor *constructors = new_array(EntryConstructor, count + 1);
  for (int i = 0; i < count; i++) {
    const TypeField *field = &sum->u.record.fields[i + 1];
    constructors[i] =
        (EntryConstructor){ field->name + 1, describe_fields(e, field->type, first),
                            field->type->u.record.count };
    first += leaf_count(field->type);
  }
  value->constructors = constructors;
  value->constructor_count = count;
}

static void describe_element(Elab *e, EntryValue *value, const Type *type) {
  for (; type->kind == TYPE_ARRAY; type = type->u.array.elem)
    value->rank++;
  EntryValue *element = new (EntryValue);
  *element = describe(e, NULL, type, value->first);
  value->element = element;
}

static EntryValue describe(Elab *e, Name name, const Type *type, int first) {
  EntryValue value = { .name = name,
                       .type = outside_type(e, type),
                       .unique = type->unique,
                       .opaque = has_record(type),
                       .first = first,
                       .count = leaf_count(type) };
  if (type->kind == TYPE_RECORD && type_is_sum(type)) {
    describe_constructors(e, &value, type);
  } else if (type->kind == TYPE_RECORD) {
    value.fields = describe_fields(e, type, first);
    value.field_count = type->u.record.count;
  } else if (value.opaque) {
    describe_element(e, &value, type);
  }
  return value;
}

static void bind_param(EntryBuild *b, const AstPat *pat, const Val *v) {
  elab_bind(b->e, &b->scope, pat, elab_from_outside(b->e, pat->type, v));
}

static void add_param(EntryBuild *b, const AstPat *pat) {
  Compiler *c = b->e->c;
  Name name = pat_whole_name(pat);
  AtomVec dims = { 0 };
  b->param = name ? name : name_of(c->names, text_format("arg%d", b->inputs.count));
  int first = b->leaves.count;
  const Val *v = param_value(b, pat->type, &dims);
  vec_push(&b->values, v);
  vec_push(&b->inputs, describe(b->e, b->param, pat->type, first));
  bind_param(b, pat, v);
}

// ---- checks of computed sizes

// Lets the leaf pass through the check; the size that the type says.
static Atom require_size(EntryBuild *b, const SizeCheck *check, Atom *leaf) {
  Elab *e = b->e;
  Atom wanted = size_eval(e, (SizeIn){ check->size, b->scope.env });
  Message m = message_new();
  message_text(&m, text_format("entry point arguments have invalid sizes: parameter %s "
                               "has a dimension of size ",
                               check->param));
  message_value(&m, check->actual);
  message_text(&m,
               text_format(", but its type says %s, which is ", size_text(check->size)));
  message_value(&m, wanted);
  elab_assert(e, elab_op2(e, OP_EQ, check->actual, wanted), &m, leaf, 1);
  return wanted;
}

static Atom checked_leaf(EntryBuild *b, const SizeCheck *check, Atom leaf) {
  CoreType type = atom_type(leaf);
  Atom wanted = require_size(b, check, &leaf);
  Atom *dims = mem_copy(type.dims, (size_t)type.rank * sizeof *dims);
  dims[check->dim] = wanted;
  return elab_fit(b->e, leaf, dims);
}

typedef struct Checked {
  const EntryBuild *b;
  const Atom *leaves;  // instead of those of the parameters
} Checked;

static Atom take_checked(Elab *e, Atom leaf, const void *state) {
  (void)e;
  const Checked *checked = state;
  for (int i = 0; i < checked->b->leaves.count; i++)
    if (atom_equal(leaf, atom_var(checked->b->leaves.at[i]))) return checked->leaves[i];
  return leaf;  // of an empty tuple
}

// Lets the arrays with computed sizes pass through their checks, and binds the parameters again.
static void check_sizes(EntryBuild *b) {
  if (!b->checks.count) return;
  Atom *leaves = new_array(Atom, b->leaves.count);
  for (int i = 0; i < b->leaves.count; i++)
    leaves[i] = atom_var(b->leaves.at[i]);
  vec_each (const SizeCheck *, check, &b->checks) {
    if (check->leaf < b->leaves.count) {
      leaves[check->leaf] = checked_leaf(b, check, leaves[check->leaf]);
    }
  }
  const AstFunction *f = &b->decl->u.value.function;
  for (int i = 0; i < f->params.count; i++) {
    Checked checked = { b, leaves };
    const Val *v = val_map(b->e, b->values.at[i], take_checked, &checked);
    bind_param(b, f->params.at[i], v);
  }
}

// ---- results

static bool is_param(const EntryBuild *b, Atom a) {
  if (a.kind == ATOM_CONST) return true;
  vec_each (const Var *const *, var, &b->sizes) {
    if (*var == a.u.var) return true;
  }
  vec_each (const Var *const *, var, &b->leaves) {
    if (*var == a.u.var) return true;
  }
  return false;
}

// The value without the leaves of empty tuples, of which nobody outside knows but for the sizes of
// arrays of them (leaf_count).
static const Val *without_units(Elab *e, TypeIn t, const Val *v) {
  t = typein_resolve(t);
  bool is_array = t.type->kind == TYPE_ARRAY;
  while (t.type->kind == TYPE_ARRAY)
    t = typein_resolve((TypeIn){ t.type->u.array.elem, t.env });
  if (t.type->kind != TYPE_RECORD) return v;
  if (v->kind != VAL_RECORD) return is_array ? v : val_tuple(e, NULL, 0);
  int count = v->u.record.count;
  const Val **items = new_array(const Val *, count);
  for (int i = 0; i < count; i++) {
    TypeIn field = { t.type->u.record.fields[i].type, t.env };
    items[i] = without_units(e, field, v->u.record.items[i]);
  }
  const Val *out = val_record(v->u.record.names, items, count);
  AtomVec all = val_leaves(e, v);
  bool keeps_one = is_array && all.count && !val_leaves(e, out).count;
  return keeps_one ? val_atom(all.at[0]) : out;
}

// The results with the sizes that their types name, where these are parameters or constants.
static void fit_results(EntryBuild *b, const Type *type, const Val *v, AtomVec *leaves) {
  LeafSizesVec declared = val_sizes(b->e, (TypeIn){ type, b->scope.env }, v);
  for (int i = 0; i < leaves->count; i++) {
    CoreType core = atom_type(leaves->at[i]);
    Atom *dims = new_array(Atom, core.rank);
    for (int k = 0; k < core.rank; k++) {
      dims[k] = core.dims[k];
      if (is_param(b, dims[k]) || k >= declared.at[i].count) continue;
      SizeIn size = declared.at[i].at[k];
      if (size.size->kind == SIZE_EXP || !size_known(size)) continue;
      dims[k] = size_eval(b->e, size);
    }
    leaves->at[i] = elab_fit(b->e, leaves->at[i], dims);
  }
}

// Rows of negative size are an error even where there are none, so that nothing makes them.
static void check_rows(Elab *e, Atom *leaf) {
  CoreType type = atom_type(*leaf);
  for (int k = 1; k < type.rank; k++) {
    if (size_is_natural(e, type.dims[k])) continue;
    Message m = message_new();
    message_text(&m, "Range 0..1..<");
    message_value(&m, type.dims[k]);
    message_text(&m, " is invalid (a negative size)");
    elab_assert(e, elab_op2(e, OP_LE, atom_i64(0), type.dims[k]), &m, leaf, 1);
  }
}

// Arguments are checked whether or not the results need their elements.
static void check_sizes_anyway(EntryBuild *b, AtomVec *results) {
  if (!results->count) return;
  vec_each (const SizeCheck *, check, &b->checks)
    if (check->leaf < b->leaves.count) require_size(b, check, &results->at[0]);
}

// The body's results: the sizes that only it knows, then the leaves.
typedef struct Results {
  AtomVec unknown;
  VarVec names;  // by which the types refer to them
  AtomVec leaves;
} Results;

static Atom result_dim(EntryBuild *b, Results *r, Atom dim) {
  if (is_param(b, dim)) return dim;
  for (int i = 0; i < r->unknown.count; i++) {
    if (atom_equal(r->unknown.at[i], dim)) return atom_var(r->names.at[i]);
  }
  vec_push(&r->unknown, dim);
  vec_push(&r->names, var_like(b->e->c, dim.u.var));
  return atom_var(r->names.at[r->names.count - 1]);
}

static const CoreType *result_types(EntryBuild *b, Results *r) {
  CoreType *types = new_array(CoreType, r->leaves.count);
  for (int i = 0; i < r->leaves.count; i++) {
    CoreType type = atom_type(r->leaves.at[i]);
    Atom *dims = new_array(Atom, type.rank);
    for (int k = 0; k < type.rank; k++)
      dims[k] = result_dim(b, r, type.dims[k]);
    types[i] = (CoreType){ type.elem, type.rank, dims };
  }
  return types;
}

// One value per component of a tuple.
static const EntryValue *outputs(Elab *e, const Type *type, int *count) {
  bool is_tuple = type_is_tuple(type) && type->u.record.count;
  *count = is_tuple ? type->u.record.count : 1;
  EntryValue *values = new_array(EntryValue, *count);
  int first = 0;
  for (int i = 0; i < *count; i++) {
    values[i] = describe(e, NULL, is_tuple ? type->u.record.fields[i].type : type, first);
    first += values[i].count;
  }
  return values;
}

static const Type *declared_result(const AstDecl *decl) {
  const Type *type = decl->u.value.binding->type;
  for (int i = 0; i < decl->u.value.function.params.count && type; i++) {
    if (type->kind != TYPE_FUNCTION) return decl->u.value.function.body->type;
    type = type->u.function.to;
  }
  return type ? type : decl->u.value.function.body->type;
}

static EntryValue *shift_values(const EntryValue *values, int count, int by);

static const EntryConstructor *shift_constructors(const EntryValue *sum, int by) {
  EntryConstructor *out = new_array(EntryConstructor, sum->constructor_count);
  for (int i = 0; i < sum->constructor_count; i++) {
    out[i] = sum->constructors[i];
    out[i].fields = shift_values(out[i].fields, out[i].field_count, by);
  }
  return out;
}

// The same values with `by` parameters, the sizes, in front of their leaves.
static EntryValue *shift_values(const EntryValue *values, int count, int by) {
  EntryValue *out = new_array(EntryValue, count + 1);
  for (int i = 0; i < count; i++) {
    out[i] = values[i];
    out[i].first += by;
    if (out[i].fields)
      out[i].fields = shift_values(out[i].fields, out[i].field_count, by);
    if (out[i].constructors) out[i].constructors = shift_constructors(&out[i], by);
    if (out[i].element) out[i].element = shift_values(out[i].element, 1, by);
  }
  return out;
}

// ---- #[bytes(e)]

// The size or integer parameter of this name.
static const SizeExp *bytes_name(const EntryBuild *b, const AstAttr *attr) {
  vec_each (const Var *const *, var, &b->sizes)
    if ((*var)->name == attr->name) return size_exp_atom(atom_var(*var));
  vec_each (const EntryValue *, input, &b->inputs) {
    const Var *leaf = input->opaque ? NULL : b->leaves.at[input->first];
    if (leaf && leaf->name == attr->name && leaf->type.rank == 0 &&
        prim_is_int(leaf->type.elem))
      return size_exp_atom(atom_var(leaf));
  }
  error(b->e->c, attr->loc, "no size or integer parameter of `%s` is called `%s`",
        b->decl->u.value.name, attr->name);
  elab_stop(b->e);
}

static const SizeExp *bytes_exp(const EntryBuild *b, const AstAttr *attr) {
  char *end;
  int64_t number = strtoll(attr->name, &end, 10);
  if (attr->args.count != 2) {
    bool is_number = end != attr->name && !*end;
    return is_number ? size_exp_atom(atom_i64(number)) : bytes_name(b, attr);
  }
  const SizeExp *left = bytes_exp(b, attr->args.at[0]),
                *right = bytes_exp(b, attr->args.at[1]);
  if (*attr->name == '*') return size_exp_op(SIZE_EXP_MUL, left, right);
  if (*attr->name == '-')
    right = size_exp_op(SIZE_EXP_MUL, right, size_exp_atom(atom_i64(-1)));
  return size_exp_op(SIZE_EXP_ADD, left, right);
}

static const SizeExp *bytes_moved(const EntryBuild *b) {
  vec_each (const AstAttr *const *, attr, &b->decl->attrs)
    if (!strcmp((*attr)->name, "bytes") && (*attr)->args.count == 1)
      return bytes_exp(b, (*attr)->args.at[0]);
  return NULL;
}

// ---- #[blocks(xs, ys)]

// Notes the leaves of the parameter of this name, which must have rows that a size counts.
static void note_blocks(const EntryBuild *b, const AstAttr *name, bool *blocks) {
  bool found = false, divides = true;
  vec_each (const EntryValue *, input, &b->inputs) {
    if (input->name != name->name) continue;
    found = true;
    for (int i = input->first; i < input->first + input->count; i++) {
      CoreType type = b->leaves.at[i]->type;
      divides = divides && type.rank && type.dims[0].kind == ATOM_VAR;
      blocks[b->sizes.count + i] = true;
    }
  }
  bool is_name = !name->args.count;
  if (found && divides && is_name) return;
  error(b->e->c, name->loc,
        found && is_name
            ? "`%s` has no rows, as many as a size of `%s` says, to be divided"
            : "no parameter `%s` of `%s`",
        is_name ? name->name : text_format("%s(..)", name->name), b->decl->u.value.name);
  elab_stop(b->e);
}

static const bool *blocks_of_params(const EntryBuild *b) {
  bool *blocks = NULL;
  vec_each (const AstAttr *const *, attr, &b->decl->attrs) {
    if (strcmp((*attr)->name, "blocks") != 0) continue;
    if (!(*attr)->args.count) {
      error(b->e->c, (*attr)->loc, "`blocks` names no parameter of `%s`",
            b->decl->u.value.name);
      elab_stop(b->e);
    }
    if (!blocks) blocks = new_array(bool, b->sizes.count + b->leaves.count + 1);
    vec_each (const AstAttr *const *, name, &(*attr)->args)
      note_blocks(b, *name, blocks);
  }
  return blocks;
}

static const char **attribute_texts(const AstDecl *decl) {
  const char **texts = new_array(const char *, decl->attrs.count + 1);
  for (int i = 0; i < decl->attrs.count; i++) {
    Text *t = text_new();
    print_attr_info(t, decl->attrs.at[i]);
    texts[i] = text_str(t);
  }
  return texts;
}

static const Entry *finish(EntryBuild *b, const Val *v) {
  Elab *e = b->e;
  const Type *type = declared_result(b->decl);
  v = without_units(e, (TypeIn){ type, b->scope.env }, elab_to_outside(e, v));
  Results r = { .leaves = val_leaves(e, v) };
  fit_results(b, type, v, &r.leaves);
  vec_each (Atom *, leaf, &r.leaves)
    check_rows(e, leaf);
  check_sizes_anyway(b, &r.leaves);
  const CoreType *types = result_types(b, &r);
  Entry *entry = new (Entry);
  *entry = (Entry){ .name = b->decl->u.value.name,
                    .loc = entry_loc(b),
                    .doc = b->decl->doc,
                    .attributes = attribute_texts(b->decl),
                    .attribute_count = b->decl->attrs.count,
                    .size_count = b->sizes.count,
                    .inputs = shift_values(b->inputs.at, b->inputs.count, b->sizes.count),
                    .input_count = b->inputs.count,
                    .results = types,
                    .result_count = r.leaves.count,
                    .size_result_count = r.names.count,
                    .size_results = r.names.at };
  entry->outputs = outputs(e, type, &entry->output_count);
  entry->output_type = outside_type(e, type);
  entry->bytes = bytes_moved(b);
  entry->blocks = blocks_of_params(b);
  VarVec params = { 0 };
  vec_each (const Var **, var, &b->sizes)
    vec_push(&params, *var);
  vec_each (const Var **, var, &b->leaves)
    vec_push(&params, *var);
  entry->params = params.at;
  entry->param_count = params.count;
  vec_each (const Atom *, leaf, &r.leaves)
    vec_push(&r.unknown, *leaf);
  entry->body = core_body(e->b, r.unknown.at, r.unknown.count);
  return entry;
}

static const Entry *build_entry(Elab *e, const AstDecl *decl) {
  const AstFunction *f = &decl->u.value.function;
  EntryBuild b = { .e = e, .decl = decl };
  vec_each (AstPat **, pat, &f->params)
    add_param(&b, *pat);
  check_sizes(&b);
  return finish(&b, elab_exp(e, &b.scope, f->body, (Want){ 0 }));
}

// NULL after errors.
static const Entry *elaborate_entry(Elab *e, const AstDecl *decl) {
  Builder builder = builder_new(e->c, decl->u.value.name_loc);
  Frame frame = { .outer = &builder, .constants = map_new(NULL), .sizes = map_new(NULL) };
  e->b = &builder;
  e->frame = &frame;
  e->depth = 0;
  e->calls = NULL;
  e->deriving = 0;
  e->exact = 0;
  e->self = decl->u.value.name;
  e->steps = 0;
  if (setjmp(e->stop)) return NULL;
  return build_entry(e, decl);
}

// Three quarters of the stack: the rest is for one call and for the passes to come.
static size_t stack_most(void) {
  const size_t usual = (size_t)8 << 20;
  struct rlimit limit;
  if (getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return usual / 4 * 3;
  return (size_t)limit.rlim_cur / 4 * 3;
}

const Core *elaborate(Compiler *c, const CheckedProgram *program) {
  Elab *e = new (Elab);
  e->c = c;
  e->stack = __builtin_frame_address(0);
  e->stack_most = stack_most();
  e->intrinsics = elab_intrinsics(e);
  e->outside_types = map_new(NULL);
  e->outside_names = map_new(NULL);
  e->functions = map_new(NULL);
  e->acc_ops = map_new(NULL);
  Vec(const Entry *) entries = { 0 };
  for (int i = 0; i < program->entries.count; i++) {
    const Entry *entry = elaborate_entry(e, program->entries.at[i]);
    if (entry) elab_check_ranks(c, entry);
    if (entry) vec_push(&entries, entry);
  }
  if (diag_error_count(c)) return NULL;
  const Core *core =
      new_node(Core, .functions = e->emitted.at, .function_count = e->emitted.count,
               .entries = entries.at, .entry_count = entries.count);
  return elab_inline_single_calls(c, core);
}
