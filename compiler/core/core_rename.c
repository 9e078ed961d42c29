// Substitution, fresh copies, and mapping over a whole program.
#include "core/core.h"

struct Subst {
  Map *atoms;  // Var -> Atom
};

Subst *subst_new(void) { return new_node(Subst, .atoms = map_new(NULL)); }

void subst_put(Subst *s, const Var *from, Atom to) {
  map_put(s->atoms, from, new_node(Atom, .kind = to.kind, .u = to.u));
}

Atom subst_atom(const Subst *s, Atom a) {
  if (a.kind == ATOM_CONST) return a;
  const Atom *to = map_get(s->atoms, a.u.var);
  return to ? *to : a;
}

CoreType subst_type(const Subst *s, CoreType type) {
  Atom *dims = new_array(Atom, type.rank);
  bool changed = false;
  for (int i = 0; i < type.rank; i++) {
    dims[i] = subst_atom(s, type.dims[i]);
    changed |= !atom_equal(dims[i], type.dims[i]);
  }
  return changed ? (CoreType){ type.elem, type.rank, dims } : type;
}

typedef struct Renaming {
  Compiler *c;
  Subst subst;
  bool fresh;  // give every binder a fresh variable; else only those whose type changes
} Renaming;

static Atom rename_atom(CoreMapper *m, Atom a) {
  const Renaming *r = m->state;
  Atom to = subst_atom(&r->subst, a);
  // What stands for `a` may itself be bound in the body, under a variable of another type by now.
  return r->fresh ? to : subst_atom(&r->subst, to);
}

static const Var *rename_binder(CoreMapper *m, const Var *var) {
  Renaming *r = m->state;
  CoreType type = subst_type(&r->subst, var->type);
  if (!r->fresh && type.dims == var->type.dims) return var;
  const Var *copy = var_new(r->c, var->name, type, var->loc);
  subst_put(&r->subst, var, atom_var(copy));
  return copy;
}

// The types of a statement's binders may mention each other in any order: fresh variables
// first, then their types.
static const Var **rename_binders(Renaming *r, const Stm *stm) {
  Var **copies = new_array(Var *, stm->binder_count);
  const Var **out = new_array(const Var *, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++) {
    const Var *var = stm->binders[i];
    out[i] = var;
    if (!r->fresh && subst_type(&r->subst, var->type).dims == var->type.dims) continue;
    out[i] = copies[i] =
        new_node(Var, .name = var->name, .id = r->c->next_id++, .loc = var->loc);
    subst_put(&r->subst, var, atom_var(out[i]));
  }
  for (int i = 0; i < stm->binder_count; i++) {
    if (copies[i]) copies[i]->type = subst_type(&r->subst, stm->binders[i]->type);
  }
  return out;
}

static const Body *rename_body(CoreMapper *m, const Body *body) {
  Renaming *r = m->state;
  Stm *stms = new_array(Stm, body->stm_count);
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    const Exp *exp = core_map_exp(m, stm->exp);
    const Var **binders = rename_binders(r, stm);
    stms[i] = (Stm){ binders, stm->binder_count, exp, stm->loc, stm->attrs };
  }
  Atom *results = new_array(Atom, body->result_count);
  for (int i = 0; i < body->result_count; i++)
    results[i] = rename_atom(m, body->results[i]);
  return new_node(Body, .stms = stms, .stm_count = body->stm_count, .results = results,
                  .result_count = body->result_count);
}

// What is renamed on the way is not recorded in the caller's substitution.
static Renaming renaming_new(Compiler *c, const Subst *s, bool fresh) {
  return (
      Renaming){ .c = c, .subst.atoms = map_new(s ? s->atoms : NULL), .fresh = fresh };
}

static CoreMapper renamer(Renaming *r) {
  return (CoreMapper){
    .atom = rename_atom, .body = rename_body, .binder = rename_binder, .state = r
  };
}

const Body *core_rename_body(Compiler *c, const Subst *s, const Body *body) {
  Renaming r = renaming_new(c, s, true);
  CoreMapper m = renamer(&r);
  return rename_body(&m, body);
}

Lambda core_rename_lambda(Compiler *c, const Subst *s, Lambda fn) {
  Renaming r = renaming_new(c, s, true);
  CoreMapper m = renamer(&r);
  return core_map_lambda(&m, fn);
}

const Exp *core_rename_exp(Compiler *c, const Subst *s, const Exp *exp) {
  Renaming r = renaming_new(c, s, true);
  CoreMapper m = renamer(&r);
  return core_map_exp(&m, exp);
}

const Body *core_subst_body(Compiler *c, const Subst *s, const Body *body) {
  Renaming r = renaming_new(c, s, false);
  CoreMapper m = renamer(&r);
  return rename_body(&m, body);
}

const Exp *core_subst_exp(Compiler *c, const Subst *s, const Exp *exp) {
  Renaming r = renaming_new(c, s, false);
  CoreMapper m = renamer(&r);
  return core_map_exp(&m, exp);
}

// ---- whole programs

// Calls refer to functions by address, so they must follow when a function is rebuilt.
static const Body *redirect_body(CoreMapper *m, const Body *body) {
  const Map *renewed = m->state;
  Stm *stms = new_array(Stm, body->stm_count);
  for (int i = 0; i < body->stm_count; i++) {
    stms[i] = body->stms[i];
    const Exp *exp = core_map_exp(m, stms[i].exp);
    const Function *to =
        exp->kind == EXP_CALL ? map_get(renewed, exp->u.call.function) : NULL;
    if (to) {
      exp = new_node(Exp, .kind = EXP_CALL,
                     .u.call = { to, exp->u.call.args, exp->u.call.arg_count });
    }
    stms[i].exp = exp;
  }
  return new_node(Body, .stms = stms, .stm_count = body->stm_count,
                  .results = body->results, .result_count = body->result_count);
}

static const Body *redirect_calls(Map *renewed, const Body *body) {
  if (!map_count(renewed)) return body;
  CoreMapper m = { .body = redirect_body, .state = renewed };
  return redirect_body(&m, body);
}

const Core *core_map_bodies(Compiler *c, const Core *core,
                            const Body *(*fn)(Compiler *c, const Body *body)) {
  Map *renewed = map_new(NULL);
  const Function **functions = new_array(const Function *, core->function_count);
  for (int i = 0; i < core->function_count; i++) {
    Function f = *core->functions[i];
    f.body = fn(c, redirect_calls(renewed, f.body));
    functions[i] = mem_copy(&f, sizeof f);
    map_put(renewed, core->functions[i], functions[i]);
  }
  const Entry **entries = new_array(const Entry *, core->entry_count);
  for (int i = 0; i < core->entry_count; i++) {
    Entry e = *core->entries[i];
    e.body = fn(c, redirect_calls(renewed, e.body));
    entries[i] = mem_copy(&e, sizeof e);
  }
  return new_node(Core, .functions = functions, .function_count = core->function_count,
                  .entries = entries, .entry_count = core->entry_count);
}

bool core_same_bodies(const Core *a, const Core *b) {
  for (int i = 0; i < a->function_count; i++)
    if (a->functions[i]->body != b->functions[i]->body) return false;
  for (int i = 0; i < a->entry_count; i++)
    if (a->entries[i]->body != b->entries[i]->body) return false;
  return true;
}
