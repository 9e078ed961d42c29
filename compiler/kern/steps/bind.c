// bind a to grid, item, lane, reg: where the points of an axis run.
//
// To the grid:
//        axis a grid { lets; axis b { body } }
//   =>   axis a grid { axis b grid { lets; body } }
#include "kern/kern_vary.h"
#include "kern/steps/step.h"
#include "kern/wide_lanes.h"

enum { MOST_COPIES = 64 };

static void add_bound(void *state, KernBuilder *b, const KernStm *stm) {
  const AxisBind *bind = state;
  Axis axis = *stm->u.axis;
  axis.bind = *bind;
  kern_axis(b, axis, stm->binders, stm->binder_count);
}

// Why the width is none for lanes or registers; NULL if it is one.
static const char *bad_width(const Axis *axis, AxisBind bind) {
  if (axis->width->kind != TERM_CONST) return "its width is not constant";
  int64_t width = axis->width->u.constant.u.i;
  if (width < 1) return "it has no points";
  if (bind == BIND_REG) return width > MOST_COPIES ? "its width is too large" : NULL;
  bool is_vector = width == 2 || width == 4 || width == 8 || width == MOST_LANES;
  bool is_wide =
      axis->role == AXIS_MAP && width % MOST_LANES == 0 && width <= WIDEST_LANES;
  return is_vector || is_wide ? NULL : "lanes come by 2, 4, 8 and 16";
}

// The outermost axis around (or at) the named one that runs in lockstep.
typedef struct Outermost {
  Name name;
  const KernStm *found;
} Outermost;

static bool has_axis(const KernStm *stm, Name name) {
  return kern_block_has_axis(&(KernBlock){ .stms = stm, .count = 1 }, name);
}

static void see_outermost(KernVisitor *v, const KernStm *stm) {
  Outermost *o = v->state;
  if (o->found || stm->kind != KERN_AXIS) return;
  AxisBind bind = stm->u.axis->bind;
  if ((bind == BIND_LANE || bind == BIND_REG) && has_axis(stm, o->name)) o->found = stm;
}

static const char *refusal_of(const Step *s, const KernStm *stm) {
  const Vary *vary = vary_stm(stm);
  return s->groups ? vary_refuses_item(vary) : vary_refuses(vary);
}

const KernStm *step_lockstep_around(const Kern *kern, Name name) {
  Outermost o = { name, NULL };
  KernVisitor v = { .stm = see_outermost, .state = &o };
  kern_visit_block(&v, kern->body);
  return o.found;
}

static const char *lockstep_refuses(const Step *s, const Kern *kern, Name name) {
  return refusal_of(s, step_lockstep_around(kern, name));
}

// ---- the grid

// Cheap enough to be done again at each point.
static bool is_cheap_stm(const KernStm *stm) {
  return stm->kind == KERN_LET || stm->kind == KERN_LOAD || stm->kind == KERN_CHECK;
}

// The axis that is all of the block but for cheap statements before it, or NULL.
static const KernStm *last_axis(const KernBlock *block) {
  for (int i = 0; i + 1 < block->count; i++)
    if (!is_cheap_stm(&block->stms[i])) return NULL;
  const KernStm *last = block->count ? &block->stms[block->count - 1] : NULL;
  return last && last->kind == KERN_AXIS ? last : NULL;
}

// Does the block load, before the axis that ends it, what that overwrites?
static bool is_overwritten(const KernBlock *block) {
  bool loads = false;
  for (int i = 0; i + 1 < block->count; i++)
    loads = loads || block->stms[i].kind == KERN_LOAD;
  return loads && kern_updates_in_place(block);
}

static bool is_bound_in(const KernBlock *block, const Term *width) {
  for (int i = 0; i < block->count; i++)
    for (int k = 0; k < block->stms[i].binder_count; k++)
      if (term_mentions(width, block->stms[i].binders[k])) return true;
  return false;
}

// Does the check ask whether the axis has no negative width?  At its points that is known.
static bool is_of_width(const KernStm *stm, const Axis *axis) {
  return stm->kind == KERN_CHECK &&
         term_same(stm->u.check.condition, term_at_most(term_i64(0), axis->width));
}

// The statements of the block at the beginning of the axis in it.
static const KernBlock *sunk(KernBuilder *b, const KernBlock *block, Name name) {
  const KernStm *stm = last_axis(block);
  if (!stm) return NULL;
  Axis axis = *stm->u.axis;
  KernBuilder inner = kern_builder(b->c, b->loc), outer = inner;
  if (axis.name == name) {
    if (axis.role != AXIS_MAP || is_bound_in(block, axis.width) || is_overwritten(block))
      return NULL;
    for (int i = 0; i + 1 < block->count; i++)
      if (!is_of_width(&block->stms[i], &axis)) kern_add(&inner, block->stms[i]);
    for (int i = 0; i < axis.body->count; i++)
      kern_add(&inner, axis.body->stms[i]);
    axis.body = kern_block(&inner, NULL, 0);
    axis.bind = BIND_GRID;
  } else {
    if (axis.bind != BIND_GRID || block->count > 1) return NULL;
    axis.body = sunk(b, axis.body, name);
    if (!axis.body) return NULL;
  }
  if (term_mentions(stm->u.axis->width, stm->u.axis->index)) return NULL;
  kern_axis(&outer, axis, NULL, 0);
  return kern_block(&outer, NULL, 0);
}

// Do the widths of the grid's axes depend on nothing within the kernel?
static bool widths_are_outside(const KernBlock *block) {
  VarVec indices = { 0 };
  while (block->count == 1 && block->stms[0].kind == KERN_AXIS &&
         block->stms[0].u.axis->bind == BIND_GRID) {
    const Axis *axis = block->stms[0].u.axis;
    vec_each (const Var **, index, &indices)
      if (term_mentions(axis->width, *index)) return false;
    vec_push(&indices, axis->index);
    block = axis->body;
  }
  return true;
}

static const Kern *bind_grid(Step *s, const Kern *kern, Name name) {
  KernBuilder b = kern_builder(s->c, kern->loc);
  const KernBlock *body = sunk(&b, kern->body, name);
  if (!body || !widths_are_outside(body))
    return step_refuse(s,
                       "%s is no map that is all that the axes around it do, and of a "
                       "width that the host "
                       "knows",
                       name);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = body;
  return out;
}

// ---- items

// Why the axis does not stand in axes of the grid and of items alone; NULL if it does.
static const char *items_refuse(const Kern *kern, const Axis *axis) {
  if (axis->width->kind != TERM_CONST) return "its width is not constant";
  for (const KernBlock *block = kern->body; block->count == 1;) {
    const KernStm *stm = &block->stms[0];
    if (stm->kind == KERN_AXIS && stm->u.axis == axis) return NULL;
    bool around = stm->kind == KERN_AXIS &&
                  (stm->u.axis->bind == BIND_GRID || stm->u.axis->bind == BIND_ITEM);
    if (!around) break;
    block = stm->u.axis->body;
  }
  return "it is not all that there is but for the grid and items";
}

const Kern *step_bind_unchecked(Step *s, const Kern *kern, Name name, AxisBind bind) {
  const KernStm *stm = step_axis(s, kern, name);
  if (!stm) return NULL;
  bool lockstep = bind == BIND_LANE || bind == BIND_REG;
  if (bind == BIND_GRID) return bind_grid(s, kern, name);
  if (bind == BIND_ITEM && !s->groups)
    return step_refuse(s, "code for CPUs has no groups of items");
  bool in_order = bind == BIND_SEQ || (bind == BIND_REG && s->groups);
  if (!in_order && stm->u.axis->role == AXIS_LOOP)
    return step_refuse(s, "%s carries values from point to point", name);
  const char *reason = lockstep ? bad_width(stm->u.axis, bind) : NULL;
  if (bind == BIND_ITEM) reason = items_refuse(kern, stm->u.axis);
  if (reason) return step_refuse(s, "%s: %s", name, reason);
  return step_replace(s, kern, name, add_bound, &bind);
}

const Kern *step_bind(Step *s, const Kern *kern, Name name, AxisBind bind) {
  const Kern *bound = step_bind_unchecked(s, kern, name, bind);
  if (!bound || (bind != BIND_LANE && bind != BIND_REG)) return bound;
  const char *reason = lockstep_refuses(s, bound, name);
  return reason ? step_refuse(s, "%s: %s", name, reason) : bound;
}

// Why lockstep axes of the block, but for those within others, do not work.
static const char *block_refuses(const Step *s, const KernBlock *block) {
  const char *reason = NULL;
  for (int i = 0; i < block->count && !reason; i++) {
    if (kern_is_lock(&block->stms[i])) {
      reason = refusal_of(s, &block->stms[i]);
      continue;
    }
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    for (int k = 0; k < blocks.count && !reason; k++)
      reason = block_refuses(s, blocks.at[k]);
  }
  return reason;
}

const Kern *step_check_lockstep(Step *s, const Kern *kern) {
  const char *reason = block_refuses(s, kern->body);
  return reason ? step_refuse(s, "%s", reason) : kern;
}

// An axis of the grid that is not one of those around the whole kernel, and what it is in.
typedef struct Stray {
  Name axis, inside;
} Stray;

static Stray stray_axis(const KernBlock *block, bool outside, Name inside) {
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Axis *axis = stm->kind == KERN_AXIS ? stm->u.axis : NULL;
    bool grid = axis && axis->bind == BIND_GRID;
    bool within = outside && grid && block->count == 1;
    if (grid && !within) return (Stray){ axis->name, inside };
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks) {
      Stray found = stray_axis(*inner, within, axis ? axis->name : inside);
      if (found.axis) return found;
    }
  }
  return (Stray){ NULL, NULL };
}

const Kern *step_check_grid(Step *s, const Kern *kern) {
  Stray stray = stray_axis(kern->body, true, NULL);
  if (stray.axis && stray.inside)
    return step_refuse(
        s,
        "%s, of the grid, would be inside of %s, which is not: permute them, or bind %s",
        stray.axis, stray.inside, stray.axis);
  if (stray.axis)
    return step_refuse(s, "%s, of the grid, would not be all that there is", stray.axis);
  if (!widths_are_outside(kern->body))
    return step_refuse(s, "the grid would have a width that depends on its points");
  return kern;
}

static bool has_check(const KernBlock *block) {
  for (int i = 0; i < block->count; i++)
    if (block->stms[i].kind == KERN_CHECK) return true;
  return false;
}

// The block that the axis is a statement of.
static const KernBlock *block_around(const KernBlock *block, Name name) {
  for (int i = 0; i < block->count; i++) {
    if (!has_axis(&block->stms[i], name)) continue;
    if (block->stms[i].kind == KERN_AXIS && block->stms[i].u.axis->name == name)
      return block;
    KernBlockVec blocks = kern_blocks(&block->stms[i]);
    vec_each (const KernBlock **, inner, &blocks) {
      const KernBlock *found = block_around(*inner, name);
      if (found) return found;
    }
  }
  return NULL;
}

bool step_checks_beside(const Kern *kern, Name axis) {
  const KernBlock *block = block_around(kern->body, axis);
  return block && has_check(block);
}
