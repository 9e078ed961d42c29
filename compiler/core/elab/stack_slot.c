// What calls of functions that call themselves keep (stack.h): values of one type side by side; or,
// where sizes vary, arrays one behind the other, in memory that grows.
#include "core/elab/stack.h"

static Atom product_of(Elab *e, CoreType type) {
  Atom product = atom_i64(1);
  for (int i = 0; i < type.rank; i++)
    product = elab_op2(e, OP_MUL, product, type.dims[i]);
  return product;
}

static const Var *slot_var(Elab *e, const char *name, CoreType type) {
  return var_new(e->c, name_of(e->c->names, name), type, e->b->loc);
}

// ---- a round's part

int slot_width(const StackSlot *slot) { return slot->varies ? 2 : 1; }

void slot_add_vars(Elab *e, const StackSlot *slot, VarVec *out) {
  if (!slot->varies) {
    vec_push(out, slot_var(e, "next", slot->type));
    return;
  }
  const Var *count = slot_var(e, "count", type_scalar(PRIM_I64));
  Atom dim = atom_var(count);
  vec_push(out, count);
  vec_push(out, slot_var(e, "next", type_array(slot->type.elem, 1, &dim)));
}

void slot_add_value(Elab *e, const StackSlot *slot, Atom value, Atom *out) {
  if (!slot->varies) {
    *out = value;
    return;
  }
  out[0] = product_of(e, atom_type(value));
  out[1] = elab_emit(e, NULL, "flat", exp_reshape(out, 1, value));
}

// ---- what is kept

void slot_read(Elab *e, const StackSlot *slot, const SlotState *state, Atom at,
               const Var *var) {
  const Exp *exp = exp_index(atom_var(state->places), &at, 1, false);
  if (slot->varies) {
    Atom start = elab_emit(e, NULL, "start", exp);
    DimIndex piece = dim_slice(start, product_of(e, var->type), atom_i64(1));
    Atom flat =
        elab_emit(e, NULL, "piece", exp_slice(atom_var(state->memory), &piece, false));
    exp = exp_reshape(var->type.dims, var->type.rank, flat);
  }
  core_let_vars(e->b, mem_copy(&var, sizeof(const Var *)), 1, exp);
}

Atom slot_store(Elab *e, const Var *array, Atom at, Atom value) {
  CoreType type = array->type;
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = dim_fix(at);
  for (int i = 1; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  return elab_emit(e, NULL, array->name, exp_update(atom_var(array), dims, value, false));
}

typedef struct SlotMemory {
  Atom room, memory;
} SlotMemory;

// Twice what is needed, where that is more than there is.
static const Body *more_memory(Elab *e, const SlotState *state, Atom needed) {
  Inner inner;
  elab_enter(e, &inner);
  Atom results[2];
  Atom room = atom_var(state->room), parts[2] = { atom_var(state->memory) };
  results[0] = elab_op2(e, OP_MUL, needed, atom_i64(2));
  AtomVec extra = { 0 };
  vec_push(&extra, elab_op2(e, OP_SUB, results[0], room));
  parts[1] = elab_zeros(e, state->memory->type.elem, &extra);
  results[1] = elab_emit(e, NULL, "memory", exp_concat(results[0], parts, 2));
  elab_leave(e, &inner);
  return core_body(&inner.b, results, 2);
}

static SlotMemory enough_memory(Elab *e, const SlotState *state, Atom needed) {
  Inner inner;
  elab_enter(e, &inner);
  Atom same[2] = { atom_var(state->room), atom_var(state->memory) };
  elab_leave(e, &inner);
  const Body *as_is = core_body(&inner.b, same, 2);
  Atom few = elab_op2(e, OP_LT, same[0], needed);
  const Exp *exp = exp_if(few, more_memory(e, state, needed), as_is);
  const Var **binders = new_array(const Var *, 2);
  binders[0] = var_like(e->c, state->room);
  Atom room = atom_var(binders[0]);
  binders[1] = slot_var(e, "memory", type_array(state->memory->type.elem, 1, &room));
  core_let_vars(e->b, binders, 2, exp);
  return (SlotMemory){ room, atom_var(binders[1]) };
}

static void next_piece(Elab *e, const SlotState *state, const SlotTop *top,
                       const Atom *values, AtomVec *out) {
  Atom start = atom_var(state->top);
  Atom end = elab_op2(e, OP_ADD, start, values[0]);
  SlotMemory m = enough_memory(e, state, end);
  DimIndex piece = dim_slice(start, values[0], atom_i64(1));
  Atom memory =
      elab_emit(e, NULL, "memory", exp_update(m.memory, &piece, values[1], false));
  Atom places = slot_store(e, state->places, top->sp, start);
  Atom before = elab_emit(e, NULL, "start", exp_index(places, &top->below, 1, false));
  vec_push(out, places);
  Atom stays = elab_select(e, top->jumped, start, before);
  vec_push(out, elab_select(e, top->called, end, stays));
  vec_push(out, m.room);
  vec_push(out, memory);
}

void slot_next(Elab *e, const StackSlot *slot, const SlotState *state, const SlotTop *top,
               const Atom *values, AtomVec *out) {
  if (slot->varies)
    next_piece(e, state, top, values, out);
  else
    vec_push(out, slot_store(e, state->places, top->sp, values[0]));
}
