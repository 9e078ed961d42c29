// Sums that come into entry points and leave them.
//
// Outside, in C and in files, every constructor has leaves of its own for its arguments; those of
// the others are zeros.  Within the program they share room (slots.c).
//
//   in:   i32 = if tag == a then a.0 else if tag == b then b.0 else c.0
//   out:  a.0 = if tag == a then i32 else 0, ..
//
// Arrays of sums go through maps, which fuse with what reads or makes the arrays.
#include "core/elab/slots.h"

// A leaf of a constructor whose place another constructor has, too.
typedef struct SlotUse {
  int constructor;  // its field in the sum
  int leaf;         // which of its leaves
  int place;        // among those that are shared
  Atom atom;
} SlotUse;

typedef struct SlotUses {
  Vec(SlotUse) uses;
  int places;
} SlotUses;

// ---- what is shared

// For each kind, how many leaves at least two constructors have: the second greatest number.
static void count_shared(const Val *sum, int *shared) {
  int most[SLOT_KINDS] = { 0 };
  for (int i = 1; i < sum->u.record.count; i++) {
    ValLeafVec leaves = { 0 };
    leaves_add(sum->u.record.items[i], &leaves);
    int own[SLOT_KINDS] = { 0 };
    vec_each (const ValLeaf *, leaf, &leaves) {
      int kind = slot_kind(leaf, sum_rank(sum));
      if (kind >= 0) own[kind]++;
    }
    for (int k = 0; k < SLOT_KINDS; k++) {
      int both = own[k] < most[k] ? own[k] : most[k];
      if (both > shared[k]) shared[k] = both;
      if (own[k] > most[k]) most[k] = own[k];
    }
  }
}

// Those of the arguments in field `at`; the places of each kind begin at first[kind].
static void add_uses(const Val *sum, int at, const int *shared, const int *first,
                     SlotUses *s) {
  ValLeafVec own = { 0 };
  leaves_add(sum->u.record.items[at], &own);
  int next[SLOT_KINDS] = { 0 };
  for (int i = 0; i < own.count; i++) {
    int kind = slot_kind(&own.at[i], sum_rank(sum));
    if (kind < 0 || next[kind] == shared[kind]) continue;
    vec_push(&s->uses, ((SlotUse){ at, i, first[kind] + next[kind]++, own.at[i].atom }));
  }
}

static SlotUses sharing_of(const Val *sum) {
  int shared[SLOT_KINDS] = { 0 }, first[SLOT_KINDS];
  SlotUses s = { 0 };
  count_shared(sum, shared);
  for (int k = 0; k < SLOT_KINDS; k++) {
    first[k] = s.places;
    s.places += shared[k];
  }
  for (int i = 1; i < sum->u.record.count; i++)
    add_uses(sum, i, shared, first, &s);
  return s;
}

// ---- scalars

// From the tag and the atoms of one side to those of the other.
typedef void (*Convert)(Elab *e, const SlotUses *s, const Atom *in, Atom *out);

static Atom has_constructor(Elab *e, Atom tag, int field) {
  return elab_op2(e, OP_EQ, tag, atom_const(prim_int(PRIM_U8, field - 1)));
}

static void convert_in(Elab *e, const SlotUses *s, const Atom *in, Atom *out) {
  bool *found = new_array(bool, s->places);
  for (int i = s->uses.count - 1; i >= 0; i--) {
    const SlotUse *use = &s->uses.at[i];
    Atom own = in[i + 1], *place = &out[use->place];
    *place =
        found[use->place]
            ? elab_select(e, has_constructor(e, in[0], use->constructor), own, *place)
            : own;
    found[use->place] = true;
  }
}

static void convert_out(Elab *e, const SlotUses *s, const Atom *in, Atom *out) {
  for (int i = 0; i < s->uses.count; i++) {
    const SlotUse *use = &s->uses.at[i];
    Atom own = in[use->place + 1], zero = atom_const(prim_zero(atom_type(own).elem));
    out[i] = elab_select(e, has_constructor(e, in[0], use->constructor), own, zero);
  }
}

// ---- arrays

typedef struct Conversion {
  const SlotUses *sharing;
  Convert convert;
  int in, out;  // how many atoms
} Conversion;

static void convert_sides(Elab *e, const Conversion *c, const Atom *in, Atom *out) {
  CoreType type = atom_type(in[0]);
  if (!type.rank) {
    c->convert(e, c->sharing, in, out);
    return;
  }
  VarVec params = { 0 };
  Atom *rows = new_array(Atom, c->in), *results = new_array(Atom, c->out);
  for (int i = 0; i < c->in; i++) {
    const Var *row =
        var_new(e->c, name_of(e->c->names, "x"), type_row(atom_type(in[i])), e->b->loc);
    vec_push(&params, row);
    rows[i] = atom_var(row);
  }
  Inner inner;
  elab_enter(e, &inner);
  convert_sides(e, c, rows, results);
  elab_leave(e, &inner);
  Lambda fn = lambda_new(params.at, params.count, core_body(&inner.b, results, c->out));
  core_let_n(e->b, "arguments", exp_map(type.dims[0], fn, in, c->in), out);
}

// ---- values

// The sum with `atoms` in the places of the uses, one for each use or for each place.
static const Val *with_atoms(Elab *e, const Val *sum, const SlotUses *s,
                             const Atom *atoms, bool by_place) {
  int count = sum->u.record.count;
  const Val **items = new_array(const Val *, count);
  items[0] = sum->u.record.items[0];
  for (int i = 1, use = 0; i < count; i++) {
    ValLeafVec own = { 0 };
    leaves_add(sum->u.record.items[i], &own);
    Atom *leaves = new_array(Atom, own.count);
    for (int k = 0; k < own.count; k++)
      leaves[k] = own.at[k].atom;
    for (; use < s->uses.count && s->uses.at[use].constructor == i; use++)
      leaves[s->uses.at[use].leaf] = atoms[by_place ? s->uses.at[use].place : use];
    items[i] = leaves_replace(e, sum->u.record.items[i], leaves);
  }
  return val_record(sum->u.record.names, items, count);
}

static const Val *sum_in(Elab *e, const Val *sum) {
  SlotUses s = sharing_of(sum);
  if (!s.places) return sum;
  Atom *in = new_array(Atom, s.uses.count + 1), *out = new_array(Atom, s.places);
  in[0] = sum->u.record.items[0]->u.atom;
  for (int i = 0; i < s.uses.count; i++)
    in[i + 1] = elab_fit(e, s.uses.at[i].atom, atom_type(in[0]).dims);
  convert_sides(e, &(Conversion){ &s, convert_in, s.uses.count + 1, s.places }, in, out);
  return with_atoms(e, sum, &s, out, true);
}

static const Val *sum_out(Elab *e, const Val *sum) {
  SlotUses s = sharing_of(sum);
  if (!s.places) return sum;
  Atom *in = new_array(Atom, s.places + 1), *out = new_array(Atom, s.uses.count);
  in[0] = sum->u.record.items[0]->u.atom;
  for (int i = 0; i < s.uses.count; i++)
    in[s.uses.at[i].place + 1] = elab_fit(e, s.uses.at[i].atom, atom_type(in[0]).dims);
  convert_sides(e, &(Conversion){ &s, convert_out, s.places + 1, s.uses.count }, in, out);
  return with_atoms(e, sum, &s, out, false);
}

const Val *elab_from_outside(Elab *e, const Type *type, const Val *v) {
  while (type->kind == TYPE_ARRAY)
    type = type->u.array.elem;
  if (type->kind != TYPE_RECORD || v->kind != VAL_RECORD) return v;
  int count = v->u.record.count;
  const Val **items = new_array(const Val *, count);
  Name *names = new_array(Name, count);
  for (int i = 0; i < count; i++) {
    const TypeField *field = &type->u.record.fields[i];
    names[i] = field->name;
    items[i] = elab_from_outside(e, field->type, v->u.record.items[i]);
  }
  const Val *within = val_record(names, items, count);
  return val_is_sum(within) ? sum_in(e, within) : within;
}

const Val *elab_to_outside(Elab *e, const Val *v) {
  if (v->kind != VAL_RECORD) return v;
  if (val_is_sum(v)) v = sum_out(e, v);
  int count = v->u.record.count;
  const Val **items = new_array(const Val *, count);
  for (int i = 0; i < count; i++)
    items[i] = elab_to_outside(e, v->u.record.items[i]);
  return val_is_sum(v) ? val_tuple(e, items, count)
                       : val_record(v->u.record.names, items, count);
}
