// Values of the evaluator and the environments that name them.
#include "core/elab/slots.h"

_Noreturn void elab_stop(Elab *e) { longjmp(e->stop, 1); }

const Val *val_atom(Atom atom) { return new_node(Val, .kind = VAL_ATOM, .u.atom = atom); }

const Val *val_record(const Name *names, const Val *const *items, int count) {
  size_t bytes = (size_t)count * sizeof(void *);
  return new_node(Val, .kind = VAL_RECORD,
                  .u.record = { count, mem_copy(names, bytes), mem_copy(items, bytes) });
}

const Val *val_tuple(Elab *e, const Val *const *items, int count) {
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++)
    names[i] = name_of(e->c->names, text_format("%d", i));
  return val_record(names, items, count);
}

const Val *val_unit(void) { return val_atom(atom_const(prim_bool(false))); }

const Val *val_pair(Elab *e, const Val *first, const Val *second) {
  return val_tuple(e, (const Val *const[]){ first, second }, 2);
}

const Val *val_closure(const Closure *closure) {
  return new_node(Val, .kind = VAL_CLOSURE, .u.closure = closure);
}

Atom val_scalar(Elab *e, const Val *v) {
  if (v->kind != VAL_ATOM)
    bug(e->c, e->b->loc, "expected one atom, found a composite value");
  return v->u.atom;
}

const Val *val_field(Elab *e, const Val *v, Name name) {
  if (v->kind != VAL_RECORD)
    bug(e->c, e->b->loc, "field '%s' of a value without fields", name);
  for (int i = 0; i < v->u.record.count; i++) {
    if (v->u.record.names[i] == name) return v->u.record.items[i];
  }
  bug(e->c, e->b->loc, "no field '%s'", name);
}

void val_add_leaves(Elab *e, const Val *v, AtomVec *out) {
  if (val_holds_function(v)) {
    limit(e->c, e->b->loc,
          "functions in arrays, as results of 'if' and 'match', or carried by loops");
    elab_stop(e);
  }
  ValLeafVec leaves = { 0 };
  leaves_add(v, &leaves);
  vec_each (const ValLeaf *, leaf, &leaves)
    vec_push(out, leaf->atom);
}

AtomVec val_leaves(Elab *e, const Val *v) {
  AtomVec leaves = { 0 };
  val_add_leaves(e, v, &leaves);
  return leaves;
}

bool val_holds_function(const Val *v) {
  if (v->kind == VAL_CLOSURE) return true;
  for (int i = 0; v->kind == VAL_RECORD && i < v->u.record.count; i++)
    if (val_holds_function(v->u.record.items[i])) return true;
  return false;
}

bool val_first_leaf(const Val *v, Atom *out) {
  switch (v->kind) {
  case VAL_ATOM: *out = v->u.atom; return true;
  case VAL_RECORD:
    for (int i = 0; i < v->u.record.count; i++) {
      if (val_first_leaf(v->u.record.items[i], out)) return true;
    }
    return false;
  case VAL_CLOSURE: return false;
  }
  return false;
}

const Val *val_rebuild(Elab *e, const Val *shape, const Atom *leaves) {
  if (val_holds_function(shape)) val_leaves(e, shape);
  return leaves_replace(e, shape, leaves);
}

const Val *val_map(Elab *e, const Val *v, LeafFn fn, const void *state) {
  if (val_holds_function(v)) val_leaves(e, v);
  return leaves_map(e, v, fn, state);
}

// ---- environments

const Env *env_push(const Env *env, const Binding *key, const Val *val) {
  return new_node(Env, .next = env, .key = key, .val = val);
}

const Env *env_push_type(const Env *env, const Binding *key, TypeIn type) {
  return new_node(Env, .next = env, .key = key, .type = type);
}

const Env *env_find(const Env *env, const Binding *key) {
  while (env && env->key != key)
    env = env->next;
  return env;
}
