// The state of making kernels from Flat, shared by the files of from.
#pragma once
#include "kern/plan.h"

// Code under construction.
typedef struct From {
  Compiler *c;
  KernBuilder *b;  // where statements go
  Map *views;      // Var -> const View *; a child per body
  Map *sizes;      // Var -> Var: what is no negative number; a child per body
  Map *
      owned;  // Tensor -> Tensor: memory that this body may overwrite when its value is dead
  Map *wanted;  // Var -> const View *: where a binder's array should be made
  Map *rooms;   // Var -> const Tensor *: so too if its size is found out; or NULL
  CopyNotes *copies;
  const Map *scalars;  // KernHost.scalars, if checks should know; or NULL
} From;

// ---- bodies (from/body.c)

// The body's statements.  Results: scalars are stored in `scalars[i]`; array results are copied to
// `dests[i]` where that is given (of the right shape), else their place is stored in `dests[i]`.
void from_body(From *f, const Body *body, const Term **scalars, const View **dests);
void from_stm(From *f, const Stm *stm, const Body *body, int position);
// Memory for nothing but scalars: as many as there are results.
const Term **from_scalars(int count);
const View **from_places(int count);

// Does the loop load or store elements of arrays like that result more often than there are
// elements, as far as loops within each other tell?  (from/deep_rows.c)
bool from_works_deeply(const Stm *loop, int result);

// ---- array operators (from/soac.c)
void from_soac(From *f, const Stm *stm);  // map, redomap, scanomap
void from_scatter(From *f, const Stm *stm, const Body *body, int position);
void from_hist(From *f, const Stm *stm, const Body *body, int position);
void from_filter(From *f, const Stm *stm);
KernOp from_op(From *f, const RedOp *op);  // on scalars
bool from_scalar_ops(const RedOp *ops, int count);
// The memory of a destination under the binder's name: overwritten in place if it dies here,
// else a copy.
View from_take(From *f, const Var *binder, Atom dest, const Body *body, int position);
// if the indices are in bounds: dest[indices] = value (a scalar, or an array for the rest).
void from_store_if_inside(From *f, const View *dest, const Term *const *indices,
                          int count, const Term *scalar, const View *array);
// One element's contributions to its histograms; dests: all destinations in order; scalars and
// made: the results of its function.
void from_hist_round(From *f, const HistOp *ops, int op_count, const View *const *dests,
                     const Term *const *scalars, const View *const *arrays);
// dest[bin] = op dest[bin] values, for one histogram whose bin is inside.
void from_hist_add(From *f, const HistOp *hist, const View *const *dests, const Term *bin,
                   const Term *const *scalars, const View *const *arrays);

// ---- seg-ops (from/seg.c)
// A seg-op whose results go to `outs`, one per binder (destinations of scatters and histograms:
// updated in place).  Reductions over all of the space:
// the totals are stored in `totals` where outs is NULL.
void from_seg(From *f, const SegOp *seg, const View *const *outs, const Term **totals);
// The lambda's parameters bound to element `index` of each array.
void from_bind_elements(From *f, const Lambda *fn, const Atom *arrays, int count,
                        const Term *index);

// ---- control (from/control.c)
void from_loop(From *f, const Stm *stm, const Body *body, int position);
void from_if(From *f, const Stm *stm, const Body *body, int position);

// ---- loops without copies (from/ring.c)

// Array parameters of one shape, in one memory.
typedef struct Ring Ring;
typedef Vec(Ring *) RingVec;
// The rings of a loop, holding the initial values.
RingVec from_rings(From *f, const Exp *loop);
bool from_in_ring(const RingVec *rings, int param);
// Binds the parameters, and says where new arrays are wanted.
void from_ring_enter(From *inner, const RingVec *rings, const Exp *loop);
// Puts new arrays that were made elsewhere in their places; `made` is NULL for members afterwards.
void from_ring_leave(From *inner, const RingVec *rings, const View **made);
// The scalars that stand for places: so many, and what they are as parameters of the loop.
int from_ring_scalars(const RingVec *rings);
typedef struct RingParams {
  const Var **params, **binders;
  const Term **inits, **next;
} RingParams;
void from_ring_params(From *f, const RingVec *rings, RingParams out);
// Binds what the loop binds.
void from_ring_bind(From *f, const RingVec *rings, const Stm *stm);

// ---- arrays (from/array.c)

const View *from_view(From *f, Atom a);
void from_bind(From *f, const Var *var, View view);
// Views: index with slices, rearrange, reshape when possible, atom.
// False if the statement is none.
bool from_view_stm(From *f, const Stm *stm);
View from_alloc(From *f, const char *name, CoreType type);  // of the point's own
View from_alloc_ring(From *f, const char *name, CoreType type);
View from_alloc_like(From *f, const char *name, const View *view);
View from_alloc_for(From *f, const Var *binder);  // the wanted place, or memory
void from_copy(From *f, const View *to, const View *from);
void from_store(From *f, const View *to, Atom value);  // a scalar or an array
void from_store_scalar(From *f, const View *to, const Term *value);  // to: rank 0
From from_inner(From *f, KernBuilder *b);  // for an inner body, with its own block

// for index < width { what `inner` then makes }
typedef struct FromLoop {
  From inner;
  KernBuilder b;
  Axis axis;
} FromLoop;
// Opens a loop over points that do not depend on each other, or (from_reopen) of another role.
void from_open(FromLoop *loop, From *f, AxisRole role, const char *index,
               const Term *width);
const Term *from_index(const FromLoop *loop);
void from_close(FromLoop *loop, From *f, const Term *const *results, int result_count,
                const Var *const *binders, int binder_count);

// ---- parts of seg-ops (from/seg.c)

// The indices of the first dimensions, as they stand in Flat.
const Term *const *from_seg_indices(const SegOp *seg, int count);
// Opens the axis of a dimension; the index is the seg-op's own.
void from_open_dim(FromLoop *loop, From *f, AxisRole role, const SegDim *dim);
// Are the histograms those of an AXIS_HIST: of scalars, with bins as the last dimension of the
// destinations, which are `outs`?
bool from_is_plain_hist(const SegOp *seg, const View *const *outs);
// Histograms in chunks (from/hist_chunks.c); NULL if the kernel, `plain`, may be cut by itself.
const HistChunks *from_hist_chunks(const From *f, const SegOp *seg,
                                   const View *const *outs, const Kern *plain);
// Another kernel of the seg-op: the block on a grid.
const Kern *from_part(Compiler *c, const Kern *plain, const KernBlock *block,
                      const char *suffix);

// May the memory of `array` be overwritten by the statement at `position` of `body`?
bool from_may_overwrite(From *f, Atom array, const Body *body, int position);
// May the loop at `position` begin with parameter number `i` in the memory of its initial value?
bool from_loop_takes(From *f, const Exp *loop, int i, const Body *body, int position);
void from_note_copy(From *f, Atom array);  // that updating it costs a copy

// ---- checks (from/check.c)
void from_check(From *f, const Term *condition, const char *const *parts,
                const Term *const *values, int count, Loc loc);
void from_check_bounds(From *f, const View *view, const DimIndex *dims, Loc loc);
void from_check_size(From *f, Atom count, Loc loc);  // that it is not negative
// Of all dimensions; those inside of a dimension without points may be anything.
void from_check_space(From *f, const SegDim *dims, int count, Loc loc);
void from_note_size(From *f, const Stm *stm);  // a scalar that is no negative number
void from_check_divisor(From *f, const Exp *exp, Loc loc);
void from_assert(From *f, const Stm *stm);
