// What lies in blocks by the weights of one layout meets nothing of another
// (workers/workers_layouts.c): each statement of the host whose operands lie in blocks, or tell of
// them, has those of one layout, but for fetches and deliveries, which have two sides.
#include "base/map.h"
#include "flat/flat.h"

typedef struct LayoutCheck {
  Compiler *c;
  Map *of;  // Var -> Name
} LayoutCheck;

static const char programs[] = "the program's layout";

static Name shown(Name layout) { return layout ? layout : programs; }

static Name layout_of(const LayoutCheck *k, Atom a) {
  return a.kind == ATOM_VAR ? map_get(k->of, a.u.var) : NULL;
}

static void note_layout(LayoutCheck *k, const Var *var, Name layout) {
  if (layout) map_put(k->of, var, layout);
}

static Name agreed(const LayoutCheck *k, const Stm *stm, Name a, Name b) {
  if (a && b && a != b) bug(k->c, stm->loc, "operands in %s and in %s", a, b);
  return a ? a : b;
}

static Name layout_of_atoms(const LayoutCheck *k, const Stm *stm, const Atom *atoms,
                            int count) {
  Name out = NULL;
  for (int i = 0; i < count; i++)
    out = agreed(k, stm, out, layout_of(k, atoms[i]));
  return out;
}

static Name layout_of_vars(const LayoutCheck *k, const Stm *stm, VarVec vars) {
  Name out = NULL;
  vec_each (const Var **, var, &vars)
    out = agreed(k, stm, out, map_get(k->of, *var));
  return out;
}

// By its rows.
static void note_type(LayoutCheck *k, const Stm *stm, const Var *var) {
  note_layout(k, var, layout_of_atoms(k, stm, var->type.dims, var->type.rank));
}

static void check_in(LayoutCheck *k, const Body *body);

static void check_fetch(LayoutCheck *k, const Stm *stm) {
  const Exp *e = stm->exp;
  const Atom has[] = { e->u.fetch.start, e->u.fetch.count, e->u.fetch.block };
  const Atom wants[] = { e->u.fetch.first, e->u.fetch.rows };
  layout_of_atoms(k, stm, has, 3);
  note_layout(k, stm->binders[0], layout_of_atoms(k, stm, wants, 2));
  note_type(k, stm, stm->binders[0]);
}

static void check_deliver(LayoutCheck *k, const Stm *stm) {
  const Exp *e = stm->exp;
  const Atom has[] = { e->u.deliver.start, e->u.deliver.count, e->u.deliver.block };
  Name layout = layout_of_atoms(k, stm, has, 3);
  agreed(k, stm, layout, shown(e->u.deliver.layout));
  note_layout(k, stm->binders[0], layout);
}

static void check_blocks(LayoutCheck *k, const Stm *stm) {
  const Exp *e = stm->exp;
  bool border = e->kind == EXP_BORDER;
  bool each = !border && atom_equal(e->u.gather.total, e->u.gather.workers);
  Name layout = layout_of_vars(k, stm, core_free_exp(e));
  Name own = shown(border ? e->u.border.layout : e->u.gather.layout);
  if (!each) agreed(k, stm, layout, own);
  if (border) note_layout(k, stm->binders[0], layout);
}

// Of branches: where all say the same, or the type does.
static void check_parts(LayoutCheck *k, const Stm *stm) {
  const Exp *e = stm->exp;
  for (int i = 0; e->kind == EXP_LOOP && i < e->u.loop.param_count; i++) {
    note_type(k, stm, e->u.loop.params[i]);
    Name from = agreed(k, stm, layout_of(k, e->u.loop.inits[i]),
                       map_get(k->of, e->u.loop.params[i]));
    note_layout(k, e->u.loop.params[i], from);
  }
  BodyVec bodies = exp_bodies(e);
  vec_each (const Body **, body, &bodies)
    check_in(k, *body);
  for (int i = 0; i < stm->binder_count; i++) {
    Name first = layout_of(k, bodies.at[0]->results[i]);
    for (int b = 1; b < bodies.count; b++)
      if (layout_of(k, bodies.at[b]->results[i]) != first) first = NULL;
    note_layout(k, stm->binders[i], first);
    note_type(k, stm, stm->binders[i]);
  }
}

static void check_layouts_of(LayoutCheck *k, const Stm *stm) {
  const Exp *e = stm->exp;
  static const int rows[] = { SPLIT_START, SPLIT_COUNT, SPLIT_MOST };
  if (e->kind == EXP_SPLIT) {
    for (int i = 0; i < 3; i++)
      note_layout(k, stm->binders[rows[i]], shown(e->u.split.layout));
  } else if (e->kind == EXP_FETCH) {
    check_fetch(k, stm);
  } else if (e->kind == EXP_DELIVER) {
    check_deliver(k, stm);
  } else if (exp_is_exchange(e)) {
    check_blocks(k, stm);
  } else if (e->kind == EXP_IF || e->kind == EXP_GUARD || e->kind == EXP_LOOP) {
    check_parts(k, stm);
  } else {
    Name layout = layout_of_vars(k, stm, core_free_stm(stm));
    for (int i = 0; i < stm->binder_count; i++)
      note_layout(k, stm->binders[i], layout);
  }
}

static void check_in(LayoutCheck *k, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    check_layouts_of(k, &body->stms[i]);
}

void flat_check_layouts(Compiler *c, const Body *body) {
  LayoutCheck k = { c, map_new(NULL) };
  check_in(&k, body);
}
