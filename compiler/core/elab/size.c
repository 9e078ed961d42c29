// Types and sizes during elaboration.
//
// The sizes of an array come from the value at hand wherever that is possible.  Declared sizes are
// evaluated only where the value does not tell: sizes that appear in results alone, and extents
// that have to be known outside of the body that computes them.
#include "core/elab/slots.h"
#include "source/ast_walk.h"

TypeIn typein_resolve(TypeIn t) {
  while (t.type && t.type->kind == TYPE_PARAM) {
    const Env *found = env_find(t.env, t.type->u.param);
    if (!found) return t;
    t = found->type;
  }
  return t;
}

PrimType typein_prim(Elab *e, TypeIn t) {
  TypeIn at = typein_resolve(t);
  if (!at.type || at.type->kind != TYPE_PRIM)
    bug(e->c, e->b->loc, "expected a scalar type");
  return at.type->u.prim;
}

// ---- known sizes

// A search for names without a value in scope.
typedef struct Unknowns {
  const Env *env;
  Vec(const Binding *) bound;  // by the expression itself
  bool found;
} Unknowns;

static bool name_known(const Binding *binding, const Env *env) {
  if (binding->kind == BIND_INTRINSIC) return true;
  if (binding->kind == BIND_FUNCTION && binding->is_top) return true;
  const Env *found = env_find(env, binding);
  return found && found->val;
}

static void note_bound(void *state, const AstPat *name) {
  Unknowns *u = state;
  vec_push(&u->bound, name->u.name.binding);
}

static void visit_pat(AstVisitor *v, const AstPat *pat) {
  ast_visit_names(pat, note_bound, v->state);
}

static bool is_bound(const Unknowns *u, const Binding *binding) {
  vec_each (const Binding *const *, b, &u->bound)
    if (*b == binding) return true;
  return false;
}

static void visit_exp(AstVisitor *v, const AstExp *exp) {
  Unknowns *u = v->state;
  if (exp->kind == AST_LET_FUN) vec_push(&u->bound, exp->u.let_fun.binding);
  bool unknown = exp->kind == AST_NAME && !is_bound(u, exp->u.name.binding) &&
                 !name_known(exp->u.name.binding, u->env);
  if (unknown) u->found = true;
  if (!u->found) ast_visit_parts(v, exp);
}

static bool exp_known(const AstExp *exp, const Env *env) {
  Unknowns unknowns = { .env = env };
  AstVisitor visitor = { .exp = visit_exp, .pat = visit_pat, .state = &unknowns };
  visit_exp(&visitor, exp);
  return !unknowns.found;
}

bool size_known(SizeIn s) {
  if (!s.size) return false;
  switch (s.size->kind) {
  case SIZE_CONST: return true;
  case SIZE_NAME: return name_known(s.size->u.name, s.env);
  case SIZE_EXP: return exp_known(s.size->u.exp.exp, s.env);
  case SIZE_VAR:
  case SIZE_ANY: return false;
  }
  return false;
}

static Atom name_value(Elab *e, SizeIn s) {
  const Binding *binding = s.size->u.name;
  const Env *found = env_find(s.env, binding);
  if (found && found->val) return elab_to_i64(e, val_scalar(e, found->val));
  return elab_to_i64(e, val_scalar(e, elab_constant(e, binding)));
}

Atom size_eval(Elab *e, SizeIn s) {
  switch (s.size->kind) {
  case SIZE_CONST: return atom_i64(big_to_i64(s.size->u.constant));
  case SIZE_NAME: return name_value(e, s);
  case SIZE_EXP: {
    Scope scope = { s.env };
    return elab_to_i64(e, elab_scalar(e, &scope, s.size->u.exp.exp));
  }
  case SIZE_VAR:
  case SIZE_ANY: break;
  }
  bug(e->c, e->b->loc, "a size without a value");
}

bool size_is_natural(const Elab *e, Atom size) {
  if (size.kind == ATOM_CONST) return size.u.constant.u.i >= 0;
  return map_has(e->frame->sizes, size.u.var);
}

// ---- the sizes of a value's leaves

typedef Vec(SizeIn) SizeInVec;

static void add_leaf_sizes(TypeIn t, const Val *v, const SizeInVec *outer,
                           LeafSizesVec *out);

static const Type *field_type(const Type *record, Name name, int position) {
  for (int i = 0; i < record->u.record.count; i++) {
    if (record->u.record.fields[i].name == name) return record->u.record.fields[i].type;
  }
  return position < record->u.record.count ? record->u.record.fields[position].type
                                           : NULL;
}

// Of the arguments of a constructor, without what those before it have as well.
static void add_new_sizes(const Val *arguments, int rank, const LeafSizesVec *own,
                          int *taken, LeafSizesVec *out) {
  ValLeafVec leaves = { 0 };
  leaves_add(arguments, &leaves);
  int next[SLOT_KINDS] = { 0 };
  for (int i = 0; i < leaves.count; i++)
    if (slot_is_new(&leaves.at[i], rank, taken, next)) vec_push(out, own->at[i]);
}

static void add_record_sizes(TypeIn t, const Val *v, const SizeInVec *outer,
                             LeafSizesVec *out) {
  bool is_record = t.type && t.type->kind == TYPE_RECORD, is_sum = val_is_sum(v);
  int taken[SLOT_KINDS] = { 0 };
  for (int i = 0; i < v->u.record.count; i++) {
    const Val *item = v->u.record.items[i];
    const Type *field = is_record ? field_type(t.type, v->u.record.names[i], i) : NULL;
    LeafSizesVec own = { 0 };
    bool shares = is_sum && i;
    add_leaf_sizes((TypeIn){ field, t.env }, item, outer, shares ? &own : out);
    if (shares) add_new_sizes(item, sum_rank(v), &own, taken, out);
  }
}

static void add_leaf_sizes(TypeIn t, const Val *v, const SizeInVec *outer,
                           LeafSizesVec *out) {
  SizeInVec sizes = { 0 };
  vec_each (SizeIn *, s, outer)
    vec_push(&sizes, *s);
  t = typein_resolve(t);
  while (t.type && t.type->kind == TYPE_ARRAY) {
    vec_push(&sizes, (SizeIn){ t.type->u.array.size, t.env });
    t = typein_resolve((TypeIn){ t.type->u.array.elem, t.env });
  }
  if (v->kind == VAL_RECORD) {
    add_record_sizes(t, v, &sizes, out);
  } else if (v->kind == VAL_ATOM) {
    vec_push(out, (LeafSizes){ sizes.at, sizes.count });
  }
}

LeafSizesVec val_sizes(Elab *e, TypeIn t, const Val *v) {
  (void)e;
  LeafSizesVec out = { 0 };
  SizeInVec none = { 0 };
  add_leaf_sizes(t, v, &none, &out);
  return out;
}

// ---- binding sizes

static void bind_size(Scope *s, const Size *size, Atom dim) {
  if (size->kind != SIZE_NAME || size->u.name->kind != BIND_SIZE) return;
  if (env_find(s->env, size->u.name)) return;
  s->env = env_push(s->env, size->u.name, val_atom(dim));
}

static void bind_at(Scope *s, const Type *type, const Val *v, int depth) {
  Atom leaf;
  if (type->kind == TYPE_ARRAY) {
    if (val_first_leaf(v, &leaf) && depth < atom_type(leaf).rank) {
      bind_size(s, type->u.array.size, atom_type(leaf).dims[depth]);
    }
    bind_at(s, type->u.array.elem, v, depth + 1);
    return;
  }
  if (type->kind != TYPE_RECORD || v->kind != VAL_RECORD) return;
  for (int i = 0; i < v->u.record.count; i++) {
    const Type *field = field_type(type, v->u.record.names[i], i);
    if (field) bind_at(s, field, v->u.record.items[i], depth);
  }
}

void scope_bind_sizes(Scope *s, const Type *type, const Val *v) {
  if (type) bind_at(s, type, v, 0);
}

// ---- values of a type

bool field_is_bare(const TypeField *field) {
  return *field->name == '#' && field->type->kind == TYPE_RECORD &&
         !field->type->u.record.count;
}

static Atom stand_in(Elab *e, CoreType type, void *state) {
  (void)state;
  return atom_var(var_new(e->c, name_of(e->c->names, "leaf"), type, e->b->loc));
}

typedef struct OfType {
  TypeLeafFn leaf;
  void *state;
} OfType;

static Atom leaf_of_type(Elab *e, Atom leaf, const void *state) {
  const OfType *of = state;
  return of->leaf(e, atom_type(leaf), of->state);
}

static const Val *fields_of_type(Elab *e, TypeIn t, const AtomVec *dims, TypeLeafFn leaf,
                                 void *state) {
  int count = t.type->u.record.count;
  if (!count)
    return val_atom(leaf(e, type_array(PRIM_BOOL, dims->count, dims->at), state));
  const Val **items = new_array(const Val *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    const TypeField *field = &t.type->u.record.fields[i];
    names[i] = field->name;
    items[i] = field_is_bare(field)
                   ? val_tuple(e, NULL, 0)
                   : val_of_type(e, (TypeIn){ field->type, t.env }, dims, leaf, state);
  }
  return val_record(names, items, count);
}

// What constructors share is made once.
static const Val *record_of_type(Elab *e, TypeIn t, const AtomVec *dims, TypeLeafFn leaf,
                                 void *state) {
  if (!type_is_sum(t.type)) return fields_of_type(e, t, dims, leaf, state);
  OfType of = { leaf, state };
  const Val *shape = fields_of_type(e, t, dims, stand_in, NULL);
  return val_map(e, shape, leaf_of_type, &of);
}

static void report_unknown_size(Elab *e, const Type *type, const char *size) {
  if (*size)
    limit(e->c, e->b->loc, "an array of type `%s` whose size `%s` is not known here",
          type_text(type), size);
  else
    error(e->c, e->b->loc, "nothing tells the size of an array of type `%s` in this one",
          type_text(type));
  hint(e->c, "give its type with all sizes, as in `[] : [0][3]i32`");
}

static const Val *array_of_type(Elab *e, TypeIn t, const AtomVec *dims, TypeLeafFn leaf,
                                void *state) {
  AtomVec inner = { 0 };
  vec_each (Atom *, dim, dims)
    vec_push(&inner, *dim);
  SizeIn size = { t.type->u.array.size, t.env };
  if (!size_known(size)) {
    report_unknown_size(e, t.type, size_text(size.size));
    elab_stop(e);
  }
  vec_push(&inner, size_eval(e, size));
  return val_of_type(e, (TypeIn){ t.type->u.array.elem, t.env }, &inner, leaf, state);
}

const Val *val_of_type(Elab *e, TypeIn t, const AtomVec *dims, TypeLeafFn leaf,
                       void *state) {
  t = typein_resolve(t);
  switch (t.type->kind) {
  case TYPE_PRIM:
    return val_atom(leaf(e, type_array(t.type->u.prim, dims->count, dims->at), state));
  case TYPE_RECORD: return record_of_type(e, t, dims, leaf, state);
  case TYPE_ARRAY: return array_of_type(e, t, dims, leaf, state);
  case TYPE_FUNCTION:
    limit(e->c, e->b->loc, "functions in arrays or in the parameters of entry points");
    elab_stop(e);
  case TYPE_PARAM:
  case TYPE_VAR: break;
  }
  bug(e->c, e->b->loc, "a type that is not known: %s", type_text(t.type));
}

// ---- fitting

bool atom_is_older(Atom a, int mark) {
  return a.kind == ATOM_CONST || a.u.var->id < mark;
}

Atom elab_fit(Elab *e, Atom array, const Atom *dims) {
  CoreType type = atom_type(array);
  bool same = true;
  for (int i = 0; i < type.rank; i++)
    same = same && atom_equal(type.dims[i], dims[i]);
  if (same) return array;
  const char *name = array.kind == ATOM_VAR ? array.u.var->name : "array";
  return core_let(e->b, name, exp_reshape(dims, type.rank, array));
}

static Atom fit_width(Elab *e, Atom array, const void *state) {
  CoreType type = atom_type(array);
  return elab_fit(e, array, type_of_rows(type_row(type), *(const Atom *)state).dims);
}

const Val *elab_fit_width(Elab *e, const Val *v, Atom width) {
  return val_map(e, v, fit_width, &width);
}
