#include "imp/lower/kern.h"

// ---- copies

Copies copies_over(KernCode *kc, AxisSet set) {
  return (Copies){ .kc = kc, .set = set & kc->open & ~kc->fixed };
}

bool copies_next(Copies *c) {
  int *at = c->kc->at;
  for (int i = MAX_LOCKS - 1; i >= 0; i--) {
    if (!(c->set & 1u << i)) continue;
    if (c->started && ++at[i] < c->kc->counts[i]) return true;
    at[i] = 0;
  }
  if (c->started) return false;
  return c->started = true;
}

int copy_count(const KernCode *kc, AxisSet set) {
  int count = 1;
  for (int i = 0; i < MAX_LOCKS; i++)
    if (set & 1u << i) count *= kc->counts[i];
  return count;
}

int copy_at(const KernCode *kc, AxisSet set) {
  int number = 0;
  for (int i = 0; i < MAX_LOCKS; i++)
    if (set & 1u << i) number = number * kc->counts[i] + kc->at[i];
  return number;
}

// ---- values

AxisSet set_of_var(const KernCode *kc, const Var *var) {
  return kc->vary ? vary_var(kc->vary, var) : 0;
}

AxisSet set_of_term(const KernCode *kc, const Term *t) {
  return kc->vary ? vary_term(kc->vary, t) : 0;
}

bool in_lanes(const KernCode *kc, AxisSet set) { return (set & kc->lane) != 0; }

VarCopies *copies_new(KernCode *kc, const Var *var, AxisSet set) {
  bool affine = kc->vary && vary_step(kc->vary, var);
  VarCopies *value = new_node(VarCopies, .set = set & kc->open & ~kc->fixed,
                              .vector = in_lanes(kc, set) && !affine);
  value->copies = new_array(const ImpExp *, copy_count(kc, value->set) + 1);
  map_put(kc->values, var, value);
  return value;
}

static const Var *fresh_copy(KernCode *kc, const Var *var, VarCopies *value) {
  const Var *copy = var_like(kc->k->lower->c, var);
  map_put(kc->k->inside, copy, copy);
  value->copies[copy_at(kc, value->set)] =
      value->vector ? imp_vector_var(copy, kc->lanes) : imp_var(copy);
  return copy;
}

void declare_copy(KernCode *kc, const Var *var, VarCopies *value, const ImpExp *is) {
  const Var *copy = fresh_copy(kc, var, value);
  if (value->vector) is = imp_splat(is, kc->lanes);
  add_stm(kc, (ImpStm){ .kind = IMP_DECLARE, .u.declare = { copy, is, is->lanes } });
}

VarCopies *declare_copies(KernCode *kc, const Var *var, AxisSet set) {
  VarCopies *value = copies_new(kc, var, set);
  int lanes = value->vector ? kc->lanes : 0;
  for (Copies c = copies_over(kc, value->set); copies_next(&c);)
    add_stm(kc, (ImpStm){ .kind = IMP_DECLARE,
                          .u.declare = { fresh_copy(kc, var, value), NULL, lanes } });
  return value;
}

const ImpExp *copy_of(const KernCode *kc, const VarCopies *value) {
  return value->copies[copy_at(kc, value->set)];
}

void assign_copy(KernCode *kc, const VarCopies *value, const ImpExp *is,
                 const ImpExp *mask) {
  const ImpExp *old = copy_of(kc, value);
  if (value->vector && mask) is = imp_select(mask, imp_splat(is, kc->lanes), old);
  if (value->vector) is = imp_splat(is, kc->lanes);
  imp_assign(kc->k->b, old->u.var, is);
}

// ---- terms

static const ImpExp *lower_operator(const Term *t, const ImpExp *const *args) {
  switch (t->kind) {
  case TERM_OP:
    if (op_arity(t->u.op.op) == 1) return imp_op1(t->u.op.op, args[0]);
    if (op_arity(t->u.op.op) == 3) return imp_op3(t->u.op.op, args[0], args[1], args[2]);
    if (t->type == PRIM_I64 && t->u.op.op == OP_ADD) return imp_add(args[0], args[1]);
    if (t->type == PRIM_I64 && t->u.op.op == OP_MUL) return imp_mul(args[0], args[1]);
    return imp_op2(t->u.op.op, args[0], args[1]);
  case TERM_CONVERT: return imp_convert(t->type, args[0]);
  case TERM_BITS: return imp_bits(t->type, args[0]);
  case TERM_SELECT: return imp_select(args[0], args[1], args[2]);
  case TERM_CONST: return imp_const(t->u.constant);
  case TERM_TUNING: return imp_tuning(t->u.tuning);
  case TERM_VAR: return imp_var(t->u.var);
  }
  return NULL;
}

const ImpExp *lower_scalar(KernCode *kc, const Term *t) {
  if (t->kind == TERM_VAR) {
    const VarCopies *value = map_get(kc->values, t->u.var);
    return value ? copy_of(kc, value) : imp_var(t->u.var);
  }
  if (t->kind == TERM_TUNING) return code_tuning(kc->k, t->u.tuning);
  const Term *operands[3];
  const ImpExp *args[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    args[i] = lower_scalar(kc, operands[i]);
  return lower_operator(t, args);
}

static const ImpExp *affine_vector(KernCode *kc, const Affine *a) {
  const ImpExp *base = imp_splat(lower_scalar(kc, a->base), kc->lanes);
  const ImpExp *iota = imp_iota(PRIM_I64, kc->lanes);
  if (!term_is_i64(a->step, 1))
    iota = imp_op2(OP_MUL, imp_splat(lower_scalar(kc, a->step), kc->lanes), iota);
  return imp_op2(OP_ADD, base, iota);
}

const ImpExp *lower_vector(KernCode *kc, const Term *t) {
  Affine a;
  if (!in_lanes(kc, set_of_term(kc, t))) return imp_splat(lower_scalar(kc, t), kc->lanes);
  if (t->type == PRIM_I64 && vary_affine(kc->vary, t, &a)) return affine_vector(kc, &a);
  if (t->kind == TERM_VAR) return copy_of(kc, map_get(kc->values, t->u.var));
  const Term *operands[3];
  const ImpExp *args[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    args[i] = lower_vector(kc, operands[i]);
  return lower_operator(t, args);
}

const ImpExp *lower_as(KernCode *kc, const Term *t, bool vector) {
  return vector ? lower_vector(kc, t) : lower_scalar(kc, t);
}

const ImpExp *lower_term(KernCode *kc, const Term *t) {
  return lower_as(kc, t, in_lanes(kc, set_of_term(kc, t)));
}

// ---- memory

static const Mem *tile_memory(KernCode *kc, const Tensor *t, const ImpExp *count) {
  int64_t size = count->u.constant.u.i;
  vec_each (TileRoom *, room, kc->tiles)
    if (room->user != kc->block && room->count >= size && room->made == t->made &&
        room->mem->elem == t->elem) {
      room->user = kc->block;
      return room->mem;
    }
  const Mem *local = mem_new(kc->k->lower->c, t->name, MEM_LOCAL, t->elem);
  vec_push(kc->k->scratch, (Scratch){ .mem = local, .count = count });
  vec_push(kc->tiles, (TileRoom){ local, size, t->made, kc->block });
  return local;
}

static Arr alloc_memory(KernCode *kc, const Tensor *t, const ImpExp *const *dims,
                        int lanes) {
  const ImpExp *count = imp_i64(1);
  for (int i = 0; i < t->rank; i++)
    count = imp_mul(count, dims[i]);
  if (t->space == TENSOR_LOCAL)
    return arr_dense(tile_memory(kc, t, count), t->elem, dims, t->rank);
  Arr row;
  if (code_alloc_row(kc->k, t->name, t->elem, dims, t->rank, count, &row)) return row;
  const Mem *mem = code_memory(kc->k, t->name, t->elem, count, lanes);
  return arr_dense(mem, t->elem, dims, t->rank);
}

void lower_alloc(KernCode *kc, const Tensor *t) {
  AxisSet set = kc->vary ? vary_tensor(kc->vary, t) : 0;
  int lanes = in_lanes(kc, set) ? kc->lanes : 0;
  Memory *memory = new_node(Memory, .set = set & kc->open & ~kc->fixed);
  memory->copies = new_array(const Arr *, copy_count(kc, memory->set) + 1);
  const ImpExp **dims = new_array(const ImpExp *, t->rank + 1);
  for (int i = 0; i < t->rank; i++)
    dims[i] = lower_scalar(kc, t->dims[i]);
  for (Copies c = copies_over(kc, set); copies_next(&c);) {
    Arr arr = t->open ? arr_dense(mem_new(kc->k->lower->c, t->name, MEM_ARENA, t->elem),
                                  t->elem, dims, 0)
                      : alloc_memory(kc, t, dims, lanes);
    memory->copies[copy_at(kc, memory->set)] = mem_copy(&arr, sizeof arr);
  }
  map_put(kc->memory, t, memory);
}

static void lower_room(KernCode *kc, const KernStm *stm) {
  const Arr *arr = memory_at(kc, stm->u.room.tensor);
  const ImpExp *count = lower_scalar(kc, stm->u.room.count);
  add_stm(kc, (ImpStm){ .kind = IMP_LOCAL, .u.alloc = { arr->mem, count } });
}

static const Arr *root_memory(KernCode *kc, const Tensor *t) {
  const Memory *memory = map_get(kc->memory, t);
  if (memory) return memory->copies[copy_at(kc, memory->set)];
  return code_array(kc->k, atom_var(t->host));
}

const Arr *memory_at(KernCode *kc, const Tensor *t) {
  const Arr *root = root_memory(kc, tensor_root(t));
  if (!t->of) return root;
  const ImpExp **dims = new_array(const ImpExp *, t->rank + 1);
  for (int i = 0; i < t->rank; i++)
    dims[i] = lower_scalar(kc, t->dims[i]);
  Arr view = arr_dense(root->mem, t->elem, dims, t->rank);
  const ImpExp **strides = new_array(const ImpExp *, t->rank + 1);
  for (int i = 0; i < t->rank && root->rank; i++)
    strides[i] = imp_mul(view.strides[i], root->strides[root->rank - 1]);
  if (root->rank) view.strides = strides;
  view.offset = root->offset;
  return mem_copy(&view, sizeof view);
}

static const ImpExp *scalar_index(KernCode *kc, const Access *access, const Arr *arr) {
  const ImpExp *at = arr->offset;
  for (int i = 0; i < arr->rank; i++)
    at = imp_add(at, imp_mul(lower_scalar(kc, access->index[i]), arr->strides[i]));
  return at;
}

AxisSet load_set(const KernCode *kc, const Access *access) {
  AxisSet set = kc->vary ? vary_tensor(kc->vary, access->tensor) : 0;
  for (int i = 0; i < access->tensor->rank; i++)
    set |= set_of_term(kc, access->index[i]);
  return set;
}

static const ImpExp *load_value(KernCode *kc, const Access *access) {
  const Arr *arr = memory_at(kc, access->tensor);
  if (in_lanes(kc, load_set(kc, access))) return lane_load(kc, access, arr);
  return imp_load(arr->mem, scalar_index(kc, access, arr));
}

void lower_load(KernCode *kc, const KernStm *stm) {
  const Var *binder = stm->binders[0];
  AxisSet set = load_set(kc, &stm->u.load);
  VarCopies *value = copies_new(kc, binder, set);
  if (in_lanes(kc, set) && lower_tile(kc, &stm->u.load, value, binder)) return;
  for (Copies c = copies_over(kc, value->set); copies_next(&c);)
    declare_copy(kc, binder, value, load_value(kc, &stm->u.load));
}

void lower_store(KernCode *kc, const KernStm *stm) {
  const Access *to = &stm->u.store.to;
  AxisSet set = load_set(kc, to) | set_of_term(kc, stm->u.store.value);
  for (Copies c = copies_over(kc, set); copies_next(&c);) {
    const Arr *arr = memory_at(kc, to->tensor);
    const ImpExp *value = lower_as(kc, stm->u.store.value, in_lanes(kc, set));
    if (in_lanes(kc, set))
      lane_store(kc, to, arr, value);
    else
      imp_store(kc->k->b, arr->mem, scalar_index(kc, to, arr), value);
  }
}

// ---- statements

void add_stm(KernCode *kc, ImpStm stm) { imp_add_stm(kc->k->b, stm); }

const ImpExp *declared(KernCode *kc, const char *name, const ImpExp *value) {
  if (value->kind == IMP_CONST || value->kind == IMP_VAR) return value;
  const Var *var = imp_declare(kc->k->b, name, value);
  map_put(kc->k->inside, var, var);
  if (kc->permuted && value->kind == IMP_PERMUTE)
    map_put(kc->permuted, var, (void *)(intptr_t)value);
  return value->lanes ? imp_vector_var(var, value->lanes) : imp_var(var);
}

void declare_loaded(KernCode *kc, const Var *binder, VarCopies *value, const ImpExp *is) {
  is = declared(kc, "loaded", is);
  declare_copy(kc, binder, value, is);
  const ImpExp *copy = copy_of(kc, value);
  if (kc->permuted && copy->lanes)
    map_put(kc->permuted, copy->u.var, (void *)(intptr_t)is);
}

KernCode inner_code(KernCode *kc, Code *code, ImpBuilder *b) {
  KernCode inner = *kc;
  *code = code_inner(kc->k, b);
  inner.k = code;
  return inner;
}

static void lower_let(KernCode *kc, const KernStm *stm) {
  const Var *binder = stm->binders[0];
  VarCopies *value = copies_new(kc, binder, set_of_var(kc, binder));
  for (Copies c = copies_over(kc, value->set); copies_next(&c);)
    declare_copy(kc, binder, value, lower_as(kc, stm->u.term, value->vector));
}

static void lower_call(KernCode *kc, const KernStm *stm) {
  int count = stm->u.call.arg_count;
  const ImpExp **args = new_array(const ImpExp *, count + 1);
  const Var **vars = new_array(const Var *, stm->binder_count + 1);
  for (int i = 0; i < count; i++)
    args[i] = lower_scalar(kc, stm->u.call.args[i]);
  for (int i = 0; i < stm->binder_count; i++)
    vars[i] = declare_copies(kc, stm->binders[i], 0)->copies[0]->u.var;
  add_stm(kc, (ImpStm){ .kind = IMP_CALL,
                        .u.call = { stm->u.call.function, vars, stm->binder_count, args,
                                    count } });
}

static AxisSet check_set(KernCode *kc, const KernStm *stm) {
  AxisSet set = set_of_term(kc, stm->u.check.condition);
  for (int i = 0; i < stm->u.check.value_count; i++)
    set |= set_of_term(kc, stm->u.check.values[i]);
  return set;
}

// A value of the message where the condition, a scalar, does not hold: that of the first lane.
static const ImpExp *lower_first(KernCode *kc, const Term *value) {
  bool differs = in_lanes(kc, set_of_term(kc, value));
  return differs ? imp_pick(lower_vector(kc, value), imp_i64(0))
                 : lower_scalar(kc, value);
}

// The check at the copy at hand.
static void lower_check_here(KernCode *kc, const KernStm *stm, bool vector) {
  int count = stm->u.check.value_count;
  const ImpExp **values = new_array(const ImpExp *, count + 1);
  const ImpExp *condition = lower_as(kc, stm->u.check.condition, vector);
  for (int i = 0; i < count; i++)
    values[i] = vector ? lower_vector(kc, stm->u.check.values[i])
                       : lower_first(kc, stm->u.check.values[i]);
  if (vector && kc->mask)
    condition = imp_op2(OP_LOR, imp_op1(OP_NOT, mask_at_hand(kc)), condition);
  code_check(kc->k, condition, stm->u.check.parts, values, count, stm->loc);
}

static void lower_check(KernCode *kc, const KernStm *stm) {
  AxisSet set = check_set(kc, stm);
  // Under a mask the first lane that takes part is to be found.
  bool vector = in_lanes(kc, set_of_term(kc, stm->u.check.condition)) ||
                (kc->mask && in_lanes(kc, set));
  for (Copies c = copies_over(kc, set); copies_next(&c);) {
    const ImpExp *holds = vector ? holds_at_ends(kc, stm->u.check.condition) : NULL;
    ImpBuilder b;
    Code code;
    KernCode inner = *kc;
    if (holds) inner = inner_code(kc, &code, &b);
    lower_check_here(&inner, stm, vector);
    if (holds) imp_if(kc->k->b, imp_op1(OP_NOT, holds), b.block);
  }
}

// The branch in a block of its own, with the binders' values assigned at its end.
static ImpBlock branch_block(KernCode *kc, const KernStm *stm, const KernBlock *block) {
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(kc, &code, &b);
  lower_block(&inner, block);
  for (int i = 0; i < stm->binder_count; i++) {
    const VarCopies *value = map_get(kc->values, stm->binders[i]);
    for (Copies c = copies_over(&inner, value->set); copies_next(&c);)
      assign_copy(&inner, value, lower_as(&inner, block->results[i], value->vector),
                  NULL);
  }
  return b.block;
}

// The statement at the copy at hand of the register axes that it differs in.
static void lower_if_here(KernCode *kc, const KernStm *stm) {
  const ImpExp *condition = lower_scalar(kc, stm->u.cond.condition);
  ImpBlock then_block = branch_block(kc, stm, stm->u.cond.then_block);
  ImpBlock else_block = branch_block(kc, stm, stm->u.cond.else_block);
  add_stm(kc,
          (ImpStm){ .kind = IMP_IF, .u.cond = { condition, then_block, else_block } });
}

static void lower_if(KernCode *kc, const KernStm *stm) {
  AxisSet set = set_of_term(kc, stm->u.cond.condition);
  for (int i = 0; i < stm->binder_count; i++)
    declare_copies(kc, stm->binders[i], set_of_var(kc, stm->binders[i]));
  for (Copies c = copies_over(kc, set); copies_next(&c);) {
    KernCode one = *kc;
    one.fixed |= set & kc->open;
    if (in_lanes(kc, set))
      lane_if(&one, stm);
    else
      lower_if_here(&one, stm);
  }
}

static void lower_while(KernCode *kc, const KernStm *stm) {
  const Var *going = stm->u.loop.params[stm->u.loop.which];
  if (in_lanes(kc, set_of_var(kc, going))) {
    lane_while(kc, stm);
    return;
  }
  int count = stm->u.loop.param_count;
  const VarCopies **params =
      params_begin(kc, stm->u.loop.params, stm->u.loop.inits, count);
  ImpBuilder b;
  Code code;
  KernCode inner = inner_code(kc, &code, &b);
  lower_block(&inner, stm->u.loop.body);
  params_next(&inner, params, stm->u.loop.body->results, count, false);
  add_stm(kc, (ImpStm){
                  .kind = IMP_WHILE,
                  .u.loop_while = { copy_of(kc, map_get(kc->values, going)), b.block } });
  params_end(kc, stm, params);
}

void lower_stm(KernCode *kc, const KernStm *stm) {
  kc->k->b->loc = stm->loc;
  switch (stm->kind) {
  case KERN_LET: lower_let(kc, stm); return;
  case KERN_LOAD: lower_load(kc, stm); return;
  case KERN_STORE: lower_store(kc, stm); return;
  case KERN_ALLOC: lower_alloc(kc, stm->u.tensor); return;
  case KERN_ROOM: lower_room(kc, stm); return;
  case KERN_AXIS: lower_axis(kc, stm); return;
  case KERN_IF: lower_if(kc, stm); return;
  case KERN_WHILE: lower_while(kc, stm); return;
  case KERN_CALL: lower_call(kc, stm); return;
  case KERN_CHECK: lower_check(kc, stm); return;
  }
}

static bool is_shared(const KernBlock *block, int i) {
  return i >= 0 && i < block->count && block->stms[i].kind == KERN_AXIS &&
         block->stms[i].u.axis->bind == BIND_ITEM;
}

// The statements of a block in lanes that read or write records.
typedef struct BlockRecords {
  bool *loaded;                 // by statement: its value is there
  const RecordStores **stored;  // by statement: with which others it stores
} BlockRecords;

// Is the statement one with others, made with the first load or the last store?
static bool lower_with_others(KernCode *kc, const KernBlock *block, int at,
                              const BlockRecords *r) {
  KernStmKind kind = block->stms[at].kind;
  kc->k->b->loc = block->stms[at].loc;
  if (kind == KERN_LOAD)
    return r->loaded[at] || lower_near_loads(kc, block, at, r->loaded) ||
           lower_record(kc, block, at, r->loaded);
  if (kind != KERN_STORE) return false;
  if (!r->stored[at] && !lower_record_store(kc, block, at, r->stored)) return false;
  if (r->stored[at]->last == at) lower_stored_record(kc, block, r->stored[at]);
  return true;
}

// The items of a group meet before and after axes that they share.
void lower_block(KernCode *kc, const KernBlock *block) {
  BlockRecords records = { new_array(bool, block->count + 1),
                           new_array(const RecordStores *, block->count + 1) };
  const KernBlock *around = kc->block;
  kc->block = block;
  for (int i = 0; i < block->count; i++) {
    bool shared = is_shared(block, i);
    if (shared != is_shared(block, i - 1)) add_stm(kc, (ImpStm){ .kind = IMP_BARRIER });
    if (kc->lanes && lower_with_others(kc, block, i, &records)) continue;
    lower_stm(kc, &block->stms[i]);
  }
  if (is_shared(block, block->count - 1)) add_stm(kc, (ImpStm){ .kind = IMP_BARRIER });
  kc->block = around;
}
