// axis a: i < n grid { axis b: j < m grid { .. y[j, i] = .. x[j, i] .. } }
//   =>  axis b: j < m grid { axis a: i < n grid { .. } }
//
// where no access has neighbours in memory along the innermost axis, but some have along another.
//
// Why: maps over the rows of a transposed array whose result is transposed again go down columns;
// point by point, each would touch a line of its own, and lanes would gather and scatter.  Of few
// neighbours, which fill no vector, gathers along the other axis are quicker.
#include "base/map.h"
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_AXES = 16, RECORD = 4 };

typedef struct GridOrder {
  Compiler *c;
  const Axis *axes[MOST_AXES];  // outermost first
  int count;
  int along[MOST_AXES];  // accesses with neighbours along the axis
  const Map *lets;       // Var -> const Term *
  bool unknown;
} GridOrder;

static void see_binding(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) map_put(v->state, stm->binders[0], stm->u.term);
}

// The dimension along which elements lie side by side, or records of few elements.
static int dim_of_neighbours(Access access) {
  const Tensor *t = access.tensor;
  int unit = tensor_unit_dim(t);
  bool records = t->rank > 1 && unit == t->rank - 1 && !t->order &&
                 t->dims[unit]->kind == TERM_CONST &&
                 t->dims[unit]->u.constant.u.i <= RECORD &&
                 access.index[unit]->kind == TERM_CONST;
  return records ? unit - 1 : unit;
}

static void see_neighbours(KernVisitor *v, Access access, bool stores) {
  GridOrder *x = v->state;
  (void)stores;
  int unit = dim_of_neighbours(access);
  const Term *at = unit < 0 ? NULL : term_inlined(x->lets, access.index[unit]);
  x->unknown |= unit >= 0 && !at;
  for (int i = 0; at && i < x->count; i++)
    x->along[i] += term_mentions(at, x->axes[i]->index);
}

static const KernBlock *walk_grid(GridOrder *x, const KernBlock *block) {
  while (x->count < MOST_AXES && block->count == 1 && block->stms[0].kind == KERN_AXIS &&
         block->stms[0].u.axis->bind == BIND_GRID &&
         block->stms[0].u.axis->role == AXIS_MAP) {
    x->axes[x->count++] = block->stms[0].u.axis;
    block = block->stms[0].u.axis->body;
  }
  return block;
}

// The axis to go inside; -1: none.
static int axis_of_neighbours(const GridOrder *x) {
  int best = x->count - 1;
  if (x->unknown || x->count < 2 || x->along[best]) return -1;
  for (int i = 0; i < x->count; i++)
    if (x->along[i] > x->along[best]) best = i;
  return best == x->count - 1 ? -1 : best;
}

static const KernBlock *grid_around(GridOrder *x, Loc loc, const KernBlock *body) {
  for (int i = x->count; i-- > 0;) {
    KernBuilder b = kern_builder(x->c, loc);
    Axis axis = *x->axes[i];
    axis.body = body;
    kern_axis(&b, axis, NULL, 0);
    body = kern_block(&b, NULL, 0);
  }
  return body;
}

bool kern_order_grid(Compiler *c, const Kern *kern, KernQuick *out) {
  Map *lets = map_new(NULL);
  GridOrder x = { .c = c, .lets = lets };
  const KernBlock *body = walk_grid(&x, kern->body);
  KernVisitor all = { .stm = see_binding, .state = lets },
              accesses = { .access = see_neighbours, .state = &x };
  kern_visit_block(&all, body);
  kern_visit_block(&accesses, body);
  int inside = axis_of_neighbours(&x);
  if (inside < 0 || !kern_host_knows(kern, x.axes[inside]->width)) return false;
  const Axis *axis = x.axes[inside];
  const Term *fills = term_at_most(term_i64(KERN_WIDE), axis->width);
  if (term_is_bool(fills, false)) return false;
  for (int i = inside; i + 1 < x.count; i++)
    x.axes[i] = x.axes[i + 1];
  x.axes[x.count - 1] = axis;
  Kern *ordered = mem_copy(kern, sizeof *kern);
  ordered->body = grid_around(&x, kern->loc, body);
  KernBuilder none = kern_builder(c, kern->loc);
  *out = (KernQuick){ .kern = ordered,
                      .lets = kern_block(&none, NULL, 0),
                      .condition = fills };
  return true;
}
