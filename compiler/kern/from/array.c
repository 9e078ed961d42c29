// Arrays of kernels under construction: views, memory, copies, and who may overwrite what.
#include "kern/from/from_flat.h"

const View *from_view(From *f, Atom a) {
  const View *view = a.kind == ATOM_VAR ? map_get(f->views, a.u.var) : NULL;
  if (!view)
    bug(f->c, f->b->loc, "array without a place: %s",
        a.kind == ATOM_VAR ? a.u.var->name : "constant");
  return view;
}

void from_bind(From *f, const Var *var, View view) {
  map_put(f->views, var, mem_copy(&view, sizeof view));
}

From from_inner(From *f, KernBuilder *b) {
  From inner = *f;
  *b = kern_builder(f->c, f->b->loc);
  inner.b = b;
  inner.views = map_new(f->views);
  inner.sizes = map_new(f->sizes);
  inner.owned = map_new(NULL);
  inner.wanted = map_new(NULL);
  inner.rooms = NULL;
  return inner;
}

// ---- views

static bool view_index(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  if (stm->binders[0]->type.rank == 0) return false;
  const View *view = from_view(f, exp->u.index.array);
  if (exp->u.index.checked) from_check_bounds(f, view, exp->u.index.dims, stm->loc);
  from_bind(f, stm->binders[0], view_slice(view, exp->u.index.dims));
  return true;
}

// What does not lie side by side is copied.
static void bind_reshape(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  const View *from = from_view(f, exp->u.reshape.array);
  int rank = exp->u.reshape.rank;
  const Term *const *shape = view_shape(stm->binders[0]->type);
  View out;
  if (from->rank == rank) {
    out = view_renamed(from, shape);
  } else if (!view_reshape(f->c, from, shape, rank, &out)) {
    View dense = from_alloc(f, "dense", atom_type(exp->u.reshape.array));
    from_copy(f, &dense, from);
    view_reshape(f->c, &dense, shape, rank, &out);
  }
  from_bind(f, stm->binders[0], out);
}

bool from_view_stm(From *f, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  if (exp->kind == EXP_INDEX) return view_index(f, stm);
  if (binder->type.rank == 0) return false;
  if (exp->kind == EXP_RESHAPE) {
    bind_reshape(f, stm);
    return true;
  }
  if (exp->kind == EXP_REARRANGE) {
    const View *from = from_view(f, exp->u.rearrange.array);
    from_bind(f, binder, view_permute(from, exp->u.rearrange.perm));
    return true;
  }
  if (exp->kind != EXP_ATOM) return false;
  from_bind(f, binder, *from_view(f, exp->u.atom.atom));
  return true;
}

// ---- memory

static View alloc_tensor(From *f, const Tensor *t) {
  kern_add(f->b, (KernStm){ .kind = KERN_ALLOC, .u.tensor = t });
  map_put(f->owned, t, t);
  return view_of(t);
}

static View alloc(From *f, const char *name, PrimType elem, const Term *const *shape,
                  int rank) {
  return alloc_tensor(f, tensor_new(f->c, name, elem, shape, rank, TENSOR_OWN));
}

View from_alloc_ring(From *f, const char *name, CoreType type) {
  Tensor *t =
      mem_copy(tensor_new(f->c, name, type.elem, view_shape(type), type.rank, TENSOR_OWN),
               sizeof *t);
  t->ring = true;
  return alloc_tensor(f, t);
}

View from_alloc(From *f, const char *name, CoreType type) {
  return alloc(f, name, type.elem, view_shape(type), type.rank);
}

View from_alloc_like(From *f, const char *name, const View *view) {
  return alloc(f, name, view->elem, view->shape, view->rank);
}

View from_alloc_for(From *f, const Var *binder) {
  const View *wanted = map_get(f->wanted, binder);
  return wanted ? *wanted : from_alloc(f, binder->name, binder->type);
}

// ---- loops

void from_open(FromLoop *loop, From *f, AxisRole role, const char *index,
               const Term *width) {
  *loop = (FromLoop){ .axis = { .role = role, .width = width } };
  loop->inner = from_inner(f, &loop->b);
  loop->axis.index = kern_index(f->c, index, f->b->loc);
}

const Term *from_index(const FromLoop *loop) { return term_var(loop->axis.index); }

void from_close(FromLoop *loop, From *f, const Term *const *results, int result_count,
                const Var *const *binders, int binder_count) {
  loop->axis.body = kern_block(&loop->b, results, result_count);
  kern_axis(f->b, loop->axis, binders, binder_count);
}

// ---- copies

void from_store_scalar(From *f, const View *to, const Term *value) {
  kern_store(f->b, view_access(to, NULL), value);
}

static void copy_from(From *f, const View *to, const View *from) {
  if (to->rank == 0) {
    from_store_scalar(f, to, view_load(f->b, "x", from, NULL));
    return;
  }
  FromLoop loop;
  from_open(&loop, f, AXIS_MAP, "i", to->shape[0]);
  View to_row = view_at(to, from_index(&loop)),
       from_row = view_at(from, from_index(&loop));
  copy_from(&loop.inner, &to_row, &from_row);
  from_close(&loop, f, NULL, 0, NULL, 0);
}

void from_copy(From *f, const View *to, const View *from) {
  if (view_same(to, from)) return;
  if (from->tensor && tensor_root(to->tensor) == tensor_root(from->tensor)) {
    // Another view of the memory that is written, e.f. its reversal.
    View apart = from_alloc_like(f, "apart", to);
    copy_from(f, &apart, from);
    copy_from(f, to, &apart);
    return;
  }
  copy_from(f, to, from);
}

void from_store(From *f, const View *to, Atom value) {
  if (to->rank == 0)
    from_store_scalar(f, to, term_atom(value));
  else
    from_copy(f, to, from_view(f, value));
}

// ---- overwriting

typedef struct FromSearch {
  CoreVisitor visitor;
  From *f;
  const Tensor *memory;
  bool found;
} FromSearch;

static void search_body(CoreVisitor *v, const Body *body) { core_visit_body(v, body); }

static bool lies_in(From *f, const Tensor *memory, Atom a) {
  const View *view = a.kind == ATOM_VAR ? map_get(f->views, a.u.var) : NULL;
  return view && view->tensor && tensor_root(view->tensor) == memory;
}

static void search_atom(CoreVisitor *v, Atom a) {
  FromSearch *s = v->state;
  s->found = s->found || lies_in(s->f, s->memory, a);
}

static FromSearch use_search(From *f, const Tensor *memory) {
  return (FromSearch){ .visitor = { .atom = search_atom, .body = search_body },
                       .f = f,
                       .memory = memory };
}

static bool used_after(From *f, const Tensor *memory, const Body *body, int position) {
  FromSearch s = use_search(f, memory);
  s.visitor.state = &s;
  for (int i = 0; i < body->result_count; i++)
    search_atom(&s.visitor, body->results[i]);
  for (int i = position + 1; i < body->stm_count && !s.found; i++)
    core_visit_exp(&s.visitor, body->stms[i].exp);
  return s.found;
}

static bool mentions(From *f, const Tensor *memory, const Body *body) {
  FromSearch s = use_search(f, memory);
  s.visitor.state = &s;
  core_visit_body(&s.visitor, body);
  return s.found;
}

// Does the seg-op read the memory at other points than it writes,
// or is it two destinations at once?
static bool seg_reads(From *f, const Tensor *memory, const SegOp *seg) {
  int dests = 0;
  for (int d = 0; d < seg->dest_count; d++)
    dests += lies_in(f, memory, seg->dests[d].dest);
  for (int h = 0; h < seg->hist_count; h++)
    for (int i = 0; i < seg->hists[h].op.count && !seg->hists[h].chained; i++)
      dests += lies_in(f, memory, seg->hists[h].dests[i]);
  return dests > 1 || mentions(f, memory, seg->body) ||
         (seg->after && mentions(f, memory, seg->after->body));
}

static int times_in(From *f, const Tensor *memory, const Atom *atoms, int count) {
  int times = 0;
  for (int i = 0; i < count; i++)
    times += lies_in(f, memory, atoms[i]);
  return times;
}

static bool scatter_reads(From *f, const Tensor *memory, const Exp *exp) {
  int dests = 0;
  for (int d = 0; d < exp->u.scatter.dest_count; d++)
    dests += lies_in(f, memory, exp->u.scatter.dests[d].dest);
  return dests > 1 || mentions(f, memory, exp->u.scatter.fn.body) ||
         times_in(f, memory, exp->u.scatter.arrays, exp->u.scatter.array_count);
}

static bool hist_reads(From *f, const Tensor *memory, const Exp *exp) {
  int dests = 0;
  for (int h = 0; h < exp->u.hist.op_count; h++)
    dests += times_in(f, memory, exp->u.hist.ops[h].dests, exp->u.hist.ops[h].op.count);
  return dests > 1 || mentions(f, memory, exp->u.hist.fn.body) ||
         times_in(f, memory, exp->u.hist.arrays, exp->u.hist.array_count);
}

static bool reads_itself(From *f, const Tensor *memory, const Exp *exp) {
  if (exp->kind == EXP_UPDATE) return lies_in(f, memory, exp->u.update.value);
  if (exp->kind == EXP_SCATTER) return scatter_reads(f, memory, exp);
  if (exp->kind == EXP_HIST) return hist_reads(f, memory, exp);
  return exp->kind == EXP_SEG && seg_reads(f, memory, exp->u.seg);
}

bool from_may_overwrite(From *f, Atom array, const Body *body, int position) {
  const View *view = from_view(f, array);
  const Tensor *memory = view->tensor ? tensor_root(view->tensor) : NULL;
  if (!memory || !map_has(f->owned, memory)) return false;
  if (reads_itself(f, memory, body->stms[position].exp)) return false;
  return !used_after(f, memory, body, position);
}

bool from_loop_takes(From *f, const Exp *loop, int i, const Body *body, int position) {
  Atom init = loop->u.loop.inits[i];
  if (init.kind != ATOM_VAR || !from_may_overwrite(f, init, body, position)) return false;
  const Tensor *memory = tensor_root(from_view(f, init)->tensor);
  for (int j = 0; j < loop->u.loop.param_count; j++)
    if (j != i && lies_in(f, memory, loop->u.loop.inits[j])) return false;
  return !mentions(f, memory, loop->u.loop.body);
}

void kern_note_copy(CopyNotes *notes, CopyNote note) {
  vec_each (const CopyNote *, n, notes)
    if (n->loc.file == note.loc.file && n->loc.start == note.loc.start &&
        n->array == note.array && n->why == note.why)
      return;
  vec_push(notes, note);
}

void from_note_copy(From *f, Atom array) {
  const View *view = from_view(f, array);
  bool owned = view->tensor && map_has(f->owned, tensor_root(view->tensor));
  const char *why =
      owned ? "it is read again later"
            : "it belongs to the caller or to code around, which may read it again";
  kern_note_copy(f->copies, (CopyNote){ f->b->loc, array.u.var->name, why });
}
