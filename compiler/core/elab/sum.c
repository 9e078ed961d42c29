// Values of sum types: records of a tag and the arguments of every constructor (types/types.h), in
// room that they share (slots.c).  What is not the value's own is zero, so that equal values are
// equal in all components.
#include "base/text.h"
#include "core/elab/elaborate.h"

static Name payload_name(Elab *e, Name constructor) {
  return name_of(e->c->names, text_format("#%s", constructor));
}

Atom elab_zeros(Elab *e, PrimType type, const AtomVec *dims) {
  Atom value = atom_const(prim_zero(type));
  for (int i = dims->count - 1; i >= 0; i--)
    value = elab_emit(e, NULL, "zeros", exp_replicate(dims->at[i], value));
  return value;
}

// A value of a type that nobody looks at; a size that is not known is 0.
static const Val *blank(Elab *e, TypeIn t, AtomVec dims) {
  t = typein_resolve(t);
  // A constructor that holds a function is known when the program is compiled.
  if (t.type->kind == TYPE_FUNCTION)
    return val_closure(new_node(Closure, .kind = CLOSURE_HOLE, .arity = 1, .type = t.type,
                                .env = t.env));
  if (t.type->kind == TYPE_ARRAY) {
    SizeIn size = { t.type->u.array.size, t.env };
    AtomVec inner = { 0 };
    vec_each (Atom *, dim, &dims)
      vec_push(&inner, *dim);
    vec_push(&inner, size_known(size) ? size_eval(e, size) : atom_i64(0));
    return blank(e, (TypeIn){ t.type->u.array.elem, t.env }, inner);
  }
  if (t.type->kind != TYPE_RECORD)
    return val_atom(elab_zeros(e, typein_prim(e, t), &dims));
  int count = t.type->u.record.count;
  if (!count) return val_atom(elab_zeros(e, PRIM_BOOL, &dims));
  const Val **items = new_array(const Val *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    const TypeField *field = &t.type->u.record.fields[i];
    names[i] = field->name;
    items[i] = field_is_bare(field) ? val_tuple(e, NULL, 0)
                                    : blank(e, (TypeIn){ field->type, t.env }, dims);
  }
  return val_record(names, items, count);
}

static Atom unreachable(Elab *e, Atom leaf, const void *state) {
  Message m = message_new();
  message_text(
      &m, text_format("the value of a hole of type `%s` is needed", type_text(state)));
  elab_assert(e, atom_bool(false), &m, &leaf, 1);
  return leaf;
}

const Val *elab_hole(Elab *e, TypeIn t) {
  const Val *v = blank(e, t, (AtomVec){ 0 });
  return v->kind == VAL_CLOSURE ? v : val_map(e, v, unreachable, t.type);
}

static const Val *payload(Elab *e, Scope *s, const AstExp *exp) {
  int count = exp->u.constructor.payload.count;
  const Val **items = new_array(const Val *, count);
  for (int i = 0; i < count; i++)
    items[i] = elab_part(e, s, exp->u.constructor.payload.at[i]);
  return val_tuple(e, items, count);
}

static Atom tag(int constructor) { return atom_const(prim_int(PRIM_U8, constructor)); }

// What the arguments tell of the sizes in the type holds for the zeros as well.
const Val *elab_constructor(Elab *e, Scope *s, const AstExp *exp) {
  TypeIn t = typein_resolve((TypeIn){ exp->type, s->env });
  Name own = payload_name(e, exp->u.constructor.name);
  const Val *arguments = payload(e, s, exp);
  int count = t.type->u.record.count;
  const Val **items = new_array(const Val *, count);
  Name *names = new_array(Name, count);
  Scope inner = { t.env };
  int at = type_constructor(t.type, own) + 1;
  scope_bind_sizes(&inner, t.type->u.record.fields[at].type, arguments);
  for (int i = 0; i < count; i++) {
    const TypeField *field = &t.type->u.record.fields[i];
    names[i] = field->name;
    if (i == 0)
      items[i] = val_atom(tag(at - 1));
    else if (i == at)
      items[i] = arguments;
    else if (field_is_bare(field))
      items[i] = val_tuple(e, NULL, 0);
    else
      items[i] = blank(e, (TypeIn){ field->type, inner.env }, (AtomVec){ 0 });
  }
  return val_sum(e, names, items, count, at);
}

const Val *elab_payload(Elab *e, const AstPat *pat, const Val *v) {
  return val_field(e, v, payload_name(e, pat->u.constructor.name));
}

Atom elab_has_constructor(Elab *e, const AstPat *pat, const Val *v) {
  Name own = payload_name(e, pat->u.constructor.name);
  for (int i = 1; i < v->u.record.count; i++)
    if (v->u.record.names[i] == own)
      return elab_op2(e, OP_EQ, val_scalar(e, v->u.record.items[0]), tag(i - 1));
  bug(e->c, pat->loc, "no constructor %s", own);
}
