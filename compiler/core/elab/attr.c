// Attributes: #[...] on an expression becomes the attributes of what it emits.
#include "core/elab/elaborate.h"
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

const StmAttrs *elab_attr(const AstAttr *attr, const StmAttrs *outer) {
  StmAttrs out = outer ? *outer : (StmAttrs){ 0 };
  const AstAttr *arg = attr->args.count ? attr->args.at[0] : NULL;
  if (is(attr, "sequential")) out.sequential = true;
  if (is(attr, "sequential_outer")) out.sequential_outer = true;
  if (is(attr, "sequential_inner")) out.sequential_inner = true;
  if (is(attr, "unroll")) out.unroll = true;
  if (is(attr, "sequential_unroll")) out.sequential = out.unroll = true;
  if (is(attr, "stripmine") && arg) out.stripmine = arg->name[0] - '0';
  if (is(attr, "name") && arg) out.name = arg->name;
  if (is(attr, "flattening") || is(attr, "incremental_flattening")) {
    vec_each (const AstAttr *const *, one, &attr->args)
      set_flattening(&out, *one);
  }
  return mem_copy(&out, sizeof out);
}

typedef struct Checks {
  const Stm *first;  // a statement that is checked when it runs, or NULL
} Checks;

static void find_check(CoreVisitor *v, const Stm *stm) {
  Checks *checks = v->state;
  if (checks->first) return;
  if (exp_may_fail(stm->exp) && stm->loc.file && !stm->loc.file->built_in)
    checks->first = stm;
  else
    core_visit_exp(v, stm->exp);
}

static void find_checks(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    find_check(v, &body->stms[i]);
}

void elab_warn(Elab *e, const AstAttr *attr, int from) {
  if (!is(attr, "warn") || attr->args.count != 1 ||
      !is(attr->args.at[0], "safety_checks"))
    return;
  Checks checks = { 0 };
  CoreVisitor v = { .body = find_checks, .state = &checks };
  for (int i = from; i < e->b->stms.count; i++)
    find_check(&v, &e->b->stms.at[i]);
  if (checks.first)
    warning(e->c, checks.first->loc, "Safety check required: this may fail at run time");
}

// ---- #[unsafe]

static const Body *unchecked_body(CoreMapper *m, const Body *body);

// Slices are checked all the same: what they select must not have a negative size.
static bool is_element(const DimIndex *dims, int count) {
  for (int i = 0; i < count; i++)
    if (dims[i].is_slice) return false;
  return true;
}

static const Exp *unchecked(CoreMapper *m, const Exp *exp) {
  Exp *out = mem_copy(core_map_exp(m, exp), sizeof *out);
  if (exp->kind == EXP_INDEX && is_element(exp->u.index.dims, exp->u.index.dim_count))
    out->u.index.checked = false;
  if (exp->kind == EXP_UPDATE && is_element(exp->u.update.dims, exp->u.update.dim_count))
    out->u.update.checked = false;
  return out;
}

static const Body *unchecked_body(CoreMapper *m, const Body *body) {
  Stm *stms = new_array(Stm, body->stm_count);
  for (int i = 0; i < body->stm_count; i++) {
    stms[i] = body->stms[i];
    stms[i].exp = unchecked(m, stms[i].exp);
  }
  Body *out = mem_copy(body, sizeof *body);
  out->stms = stms;
  return out;
}

void elab_uncheck(Elab *e, int from) {
  CoreMapper m = { .body = unchecked_body };
  for (int i = from; i < e->b->stms.count; i++)
    e->b->stms.at[i].exp = unchecked(&m, e->b->stms.at[i].exp);
}
