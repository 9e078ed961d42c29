// Arrays whose size only an item knows lie in an arena, a piece of which it takes.
#include "imp/lower/lower.h"

typedef struct ItemSizes {
  Map *inside;  // Var -> itself: what the seg-op binds
  Map *made;    // Var -> itself: of these, arrays with memory of their own, row by row
  bool found;
} ItemSizes;

// Does its value lie nowhere, or in the memory of others?
static bool takes_no_memory(const ItemSizes *f, const Exp *exp) {
  if (exp->kind == EXP_RESHAPE)
    return atom_type(exp->u.reshape.array).rank == exp->u.reshape.rank ||
           map_has(f->made, exp->u.reshape.array.u.var);
  if (exp->kind == EXP_REPLICATE) return atom_type(exp->u.replicate.value).rank == 0;
  return exp->kind == EXP_IOTA || exp_is_view(exp);
}

static void see_binder(CoreVisitor *v, const Var *var) {
  ItemSizes *f = v->state;
  map_put(f->inside, var, var);
}

static bool is_inside(const ItemSizes *f, Atom a) {
  return a.kind == ATOM_VAR && map_has(f->inside, a.u.var);
}

// Filters have room for all elements.
static bool has_own_size(const ItemSizes *f, const Exp *exp, CoreType type) {
  bool filters = exp->kind == EXP_FILTER;
  for (int d = 0; d < type.rank; d++)
    if (is_inside(f, filters && d == 0 ? exp->u.soac.width : type.dims[d])) return true;
  return false;
}

static void see_body(CoreVisitor *v, const Body *body) {
  ItemSizes *f = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    core_visit_stm(v, stm);
    bool makes = !takes_no_memory(f, stm->exp);
    for (int b = 0; b < stm->binder_count; b++) {
      const Var *binder = stm->binders[b];
      f->found = f->found || (makes && has_own_size(f, stm->exp, binder->type));
      if (makes) map_put(f->made, binder, binder);
      see_binder(v, binder);
    }
  }
}

bool body_takes_arena(const SegOp *seg) {
  ItemSizes f = { .inside = map_new(NULL), .made = map_new(NULL) };
  CoreVisitor v = { .body = see_body, .binder = see_binder, .state = &f };
  for (int d = 0; d < seg->dim_count; d++)
    see_binder(&v, seg->dims[d].index);
  see_body(&v, seg->body);
  return f.found;
}
