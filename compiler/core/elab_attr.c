// Attributes: #[...] on an expression becomes the attributes of what it emits.
#include "core/elaborate.h"
#include <stdlib.h>
#include <string.h>

static bool is(const AstAttr *attr, const char *name) {
  return !strcmp(attr->name, name);
}

// flattening(no_outer) and the like; `incremental_flattening` is the old name.
static void set_flattening(StmAttrs *out, const AstAttr *attr) {
  if (is(attr, "no_outer")) out->no_outer = true;
  if (is(attr, "no_intra")) out->no_intra = true;
  if (is(attr, "only_intra")) out->only_intra = true;
  if (is(attr, "only_inner")) out->only_inner = true;
}

// A literal, or a scalar variable by its name.
static const Atom *attr_atom(const Scope *s, const AstAttr *arg) {
  char *end;
  long long number = strtoll(arg->name, &end, 10);
  Atom literal = atom_i64(number);
  if (end != arg->name) return mem_copy(&literal, sizeof literal);
  for (const Env *env = s->env; env; env = env->next) {
    if (env->val && env->val->kind == VAL_ATOM && env->key->name == arg->name) {
      return &env->val->u.atom;
    }
  }
  return NULL;
}

const StmAttrs *elab_attr(Elab *e, const Scope *s, const AstAttr *attr,
                          const StmAttrs *outer) {
  StmAttrs out = outer ? *outer : (StmAttrs){ 0 };
  const AstAttr *arg = attr->args.count ? attr->args.at[0] : NULL;
  (void)e;
  if (is(attr, "sequential")) out.sequential = true;
  if (is(attr, "sequential_outer")) out.sequential_outer = true;
  if (is(attr, "sequential_inner")) out.sequential_inner = true;
  if (is(attr, "unroll")) out.unroll = true;
  if (is(attr, "name") && arg) out.name = arg->name;
  if (is(attr, "bytes") && arg) out.bytes = attr_atom(s, arg);
  if (is(attr, "flattening") || is(attr, "incremental_flattening")) {
    vec_each (const AstAttr *const *, one, &attr->args)
      set_flattening(&out, *one);
  }
  return mem_copy(&out, sizeof out);
}
