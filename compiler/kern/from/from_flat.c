// A seg-op of the host as one kernel: a grid of points, each of which runs the body.
#include "kern/from/from_flat.h"

// ---- the kernel

const Tensor *kern_host_tensor(Compiler *c, KernHost host, const Var *var) {
  CoreType type = var->type;
  const Tensor *t =
      tensor_new(c, var->name, type.elem, view_shape(type), type.rank, TENSOR_GLOBAL);
  Tensor *out = mem_copy(t, sizeof *t);
  out->host = var;
  out->order = host.order(host.state, var);
  return out;
}

static const View *host_view(Compiler *c, KernHost host, const Var *var) {
  const View *known = map_get(host.views, var);
  if (known) return known;
  View whole = view_of(kern_host_tensor(c, host, var));
  return mem_copy(&whole, sizeof whole);
}

static void put_view(KernHost host, const Var *var, View view) {
  map_put(host.views, var, mem_copy(&view, sizeof view));
}

// Is the result the index, converted or as it is?
static bool counts_points(const SegOp *seg) {
  const Body *body = seg->body;
  Atom index = atom_var(seg->dims[0].index), result = body->results[0];
  if (!body->stm_count) return atom_equal(result, index);
  const Stm *stm = &body->stms[0];
  return body->stm_count == 1 && stm->exp->kind == EXP_CONVERT &&
         atom_equal(stm->exp->u.convert.atom, index) &&
         atom_equal(result, atom_var(stm->binders[0]));
}

// segmap <i < n> { i }, segmap <i < n> { i32 i }, segmap <i < n> { x }: kernels compute the
// elements instead of reading them.
static void see_numbers(KernHost host, const Stm *stm) {
  const SegOp *seg = stm->exp->u.seg;
  if (seg->kind != SEG_MAP || seg->dim_count != 1) return;
  Atom result = seg->body->results[0];
  if (atom_type(result).rank > 0) return;
  const Var *binder = stm->binders[0];
  const Term *const *shape = view_shape(binder->type);
  PrimType elem = binder->type.elem;
  if (counts_points(seg) && prim_is_int(elem))
    put_view(host, binder,
             view_virtual(elem, shape, term_const(prim_zero(elem)),
                          term_const(prim_one(elem))));
  else if (!seg->body->stm_count)
    put_view(host, binder, view_virtual(elem, shape, term_atom(result), NULL));
}

// What is behind a check is its own value: slices that begin at the same place behind checks of
// their own do.
static void see_assert(KernHost host, const Stm *stm) {
  const Exp *exp = stm->exp;
  for (int i = 0; exp->kind == EXP_ASSERT && i < exp->u.assert.atom_count; i++)
    if (stm->binders[i]->type.rank == 0 && stm->binders[i]->type.elem == PRIM_I64)
      map_put(host.scalars, stm->binders[i], term_atom(exp->u.assert.atoms[i]));
}

static void see_scalar(KernHost host, const Stm *stm) {
  const Exp *exp = stm->exp;
  see_assert(host, stm);
  if (exp->kind != EXP_OP || exp->u.op.type != PRIM_I64) return;
  const Term *a = term_atom(exp->u.op.args[0]);
  int operands = op_arity(exp->u.op.op);
  if (operands == 2) {
    const Term *b = term_atom(exp->u.op.args[1]);
    map_put(host.scalars, stm->binders[0], term_op2(exp->u.op.op, a, b));
  } else if (operands == 1 && exp->u.op.op == OP_NOT)
    map_put(host.scalars, stm->binders[0], term_op1(OP_NOT, a));
}

void kern_see_host(Compiler *c, KernHost host, const Stm *stm) {
  const Exp *exp = stm->exp;
  const Var *binder = stm->binders[0];
  see_scalar(host, stm);
  if (exp->kind == EXP_ASSERT)
    for (int i = 0; i < exp->u.assert.atom_count; i++)
      if (stm->binders[i]->type.rank > 0)
        put_view(host, stm->binders[i],
                 *host_view(c, host, exp->u.assert.atoms[i].u.var));
  if (stm->binder_count != 1 || binder->type.rank == 0) return;
  if (exp->kind == EXP_SEG) see_numbers(host, stm);
  if (exp->kind == EXP_INDEX)
    put_view(host, binder,
             view_slice(host_view(c, host, exp->u.index.array.u.var), exp->u.index.dims));
  if (exp->kind == EXP_REARRANGE)
    put_view(host, binder,
             view_permute(host_view(c, host, exp->u.rearrange.array.u.var),
                          exp->u.rearrange.perm));
  if (exp->kind == EXP_ATOM && exp->u.atom.atom.kind == ATOM_VAR)
    put_view(host, binder, *host_view(c, host, exp->u.atom.atom.u.var));
}

bool kern_see_renamed(KernHost host, const Stm *stm) {
  const Exp *exp = stm->exp;
  const View *known = map_get(host.views, exp->u.reshape.array.u.var);
  if (!known || known->rank != exp->u.reshape.rank) return false;
  View renamed = *known;
  renamed.shape = view_shape(stm->binders[0]->type);
  put_view(host, stm->binders[0], renamed);
  return true;
}

// Where the results go: arrays of the host.
static const Tensor **seg_outs(Compiler *c, KernHost host, const Stm *stm,
                               const View **views) {
  const Tensor **outs = new_array(const Tensor *, stm->binder_count + 1);
  for (int i = 0; i < stm->binder_count; i++) {
    Tensor *out = mem_copy(kern_host_tensor(c, host, stm->binders[i]), sizeof *out);
    out->spare = seg_has_spare(stm->exp->u.seg, i);
    outs[i] = out;
    View view = view_of(out);
    views[i] = mem_copy(&view, sizeof view);
  }
  return outs;
}

// The outermost MAP axes make up the grid.
static const KernBlock *put_on_grid(const KernBlock *block) {
  if (block->count != 1 || block->stms[0].kind != KERN_AXIS) return block;
  const Axis *from = block->stms[0].u.axis;
  if (from->role != AXIS_MAP) return block;
  Axis *axis = mem_copy(from, sizeof *from);
  axis->bind = BIND_GRID;
  axis->body = put_on_grid(from->body);
  KernStm *stm = new_array(KernStm, 1);
  *stm = block->stms[0];
  stm->u.axis = axis;
  return new_node(KernBlock, .stms = stm, .count = 1);
}

// Arrays of the host that are not known otherwise: all of a block of memory.
static void bind_free(From *f, KernHost host, const Exp *exp) {
  VarVec free = core_free_exp(exp);
  vec_each (const Var **, var, &free)
    if ((*var)->type.rank > 0 && !map_has(f->views, *var))
      from_bind(f, *var, view_of(kern_host_tensor(f->c, host, *var)));
}

const char *kern_kind_name(SegKind kind) {
  static const char *const names[] = {
    [SEG_MAP] = "segmap",   [SEG_RED] = "segred",         [SEG_SCAN] = "segscan",
    [SEG_HIST] = "seghist", [SEG_SCATTER] = "segscatter",
  };
  return names[kind];
}

KernSeg kern_from_seg(Compiler *c, KernHost host, const Stm *stm, CopyNotes *copies) {
  const SegOp *seg = stm->exp->u.seg;
  KernBuilder b = kern_builder(c, stm->loc);
  From f = { .c = c,
             .b = &b,
             .views = map_new(host.views),
             .sizes = map_new(host.sizes),
             .owned = map_new(NULL),
             .wanted = map_new(NULL),
             .copies = copies };
  const View **views = from_places(stm->binder_count);
  KernSeg out = { .kind = seg->kind, .outs = seg_outs(c, host, stm, views) };
  bind_free(&f, host, stm->exp);
  from_seg(&f, seg, views, NULL);
  Kern kern = { .name = name_of(c->names, kern_kind_name(seg->kind)),
                .loc = stm->loc,
                .body = put_on_grid(kern_block(&b, NULL, 0)),
                .outside = host.scalars,
                .rounds = host.rounds };
  out.kern = kern_name_axes(c, &kern);
  out.hist = from_hist_chunks(&f, seg, views, out.kern);
  return out;
}

const Kern *from_part(Compiler *c, const Kern *plain, const KernBlock *block,
                      const char *suffix) {
  Kern kern = *plain;
  kern.name = name_of(c->names, text_format("%s_%s", plain->name, suffix));
  kern.body = put_on_grid(block);
  return kern_name_axes(c, &kern);
}

// ---- results that nobody reads

static const KernBlock *block_without_stores(KernMapper *m, const KernBlock *block) {
  const Tensor *const *unread = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (stm->kind != KERN_STORE || stm->u.store.to.tensor != *unread)
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

const Kern *kern_without_stores(Compiler *c, const Kern *kern, const Tensor *unread) {
  Kern *out = mem_copy(kern, sizeof *kern);
  KernMapper m = { .c = c, .block = block_without_stores, .state = &unread };
  out->body = block_without_stores(&m, kern->body);
  return out;
}

// ---- calls

static void inline_call(KernMapper *m, KernBuilder *b, const KernStm *stm) {
  const Function *function = stm->u.call.function;
  CopyNotes copies = { 0 };
  From f = { .c = m->c,
             .b = b,
             .views = map_new(NULL),
             .sizes = map_new(NULL),
             .owned = map_new(NULL),
             .wanted = map_new(NULL),
             .copies = &copies };
  Subst *args = subst_new();
  for (int i = 0; i < function->param_count; i++) {
    const Var *param = var_like(m->c, function->params[i]);
    kern_let_var(b, param, stm->u.call.args[i]);
    subst_put(args, function->params[i], atom_var(param));
  }
  const Body *body = core_rename_body(m->c, args, function->body);
  const Term **results = from_scalars(body->result_count);
  from_body(&f, body, results, from_places(body->result_count));
  for (int i = 0; i < stm->binder_count; i++)
    kern_let_var(b, stm->binders[i], results[i]);
}

// Bodies call further functions, in branches and loops as well: what came of a call is gone through
// again.
static const KernBlock *inline_block(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  bool calls = false;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    calls = calls || stm->kind == KERN_CALL;
    if (stm->kind == KERN_CALL)
      inline_call(m, &b, stm);
    else
      kern_add(&b, kern_map_stm(m, stm));
  }
  KernBlock once = { b.stms.at, b.stms.count, block->results, block->result_count };
  const KernBlock *out = mem_copy(&once, sizeof once);
  return calls ? inline_block(m, out) : out;
}

const Kern *kern_inline(Compiler *c, const Kern *kern) {
  KernMapper m = { .c = c, .block = inline_block };
  Kern inlined = *kern;
  inlined.body = inline_block(&m, kern->body);
  return kern_name_axes(c, &inlined);
}

// What is gained in a kernel with so many statements of functions is less than what it takes to
// compile it: functions that call others several times grow exponentially.
enum { MOST_INLINED = 2000 };

typedef struct Length {
  Map *known;  // Function -> int *
  int count;   // MOST_INLINED + 1: that many or more
} Length;

static void add_length(Length *l, int count) {
  l->count = l->count + count > MOST_INLINED ? MOST_INLINED + 1 : l->count + count;
}

static void add_function(Length *l, const Function *function);

static void add_statements(CoreVisitor *v, const Body *body) {
  Length *l = v->state;
  for (int i = 0; i < body->stm_count && l->count <= MOST_INLINED; i++) {
    const Exp *exp = body->stms[i].exp;
    add_length(l, 1);
    if (exp->kind == EXP_CALL) add_function(l, exp->u.call.function);
    core_visit_exp(v, exp);
  }
}

static void add_function(Length *l, const Function *function) {
  int *known = map_get(l->known, function);
  if (!known) {
    Length own = { .known = l->known };
    CoreVisitor v = { .body = add_statements, .state = &own };
    add_statements(&v, function->body);
    map_put(l->known, function, known = new (int));
    *known = own.count;
  }
  add_length(l, *known);
}

static void add_call(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_CALL) add_function(v->state, stm->u.call.function);
}

const Kern *kern_inline_short(Compiler *c, const Kern *kern) {
  Length length = { .known = map_new(NULL) };
  KernVisitor v = { .stm = add_call, .state = &length };
  kern_visit_block(&v, kern->body);
  return length.count > MOST_INLINED ? kern : kern_inline(c, kern);
}

const KernPlan *kern_plan_without_calls(Compiler *c, const KernPlan *plan) {
  if (!plan) return NULL;
  KernPlan *out = mem_copy(plan, sizeof *plan);
  if (plan->kern) out->kern = kern_inline(c, plan->kern);
  if (plan->narrow) out->narrow = kern_inline(c, plan->narrow);
  const KernPlan **parts = new_array(const KernPlan *, plan->part_count + 1);
  for (int i = 0; i < plan->part_count; i++)
    parts[i] = kern_plan_without_calls(c, plan->parts[i]);
  out->parts = parts;
  out->otherwise = kern_plan_without_calls(c, plan->otherwise);
  return out;
}
