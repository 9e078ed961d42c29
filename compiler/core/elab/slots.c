// The room that the constructors of a sum type share.
//
// A value is a record of a tag and the arguments of every constructor (sum.c).  The k-th scalar of
// a type among the arguments of one constructor is the same atom as the k-th of that type among
// those of another, in each of which it counts as a leaf once:
//
//   #a i32 | #b f32 i32 | #c i32 i32   ==   tag, i32, f32, i32
//
// Arrays have a place of their own, since their sizes differ.  In an array of sums, leaves are
// arrays with the dimensions of the tag: what has more of them is an array in each element.  Tags
// of sums within sums share room with each other only, as derivatives treat them unlike numbers.
#include "core/elab/slots.h"

bool val_is_sum(const Val *v) {
  return v->kind == VAL_RECORD && v->u.record.count > 1 && v->u.record.names[1][0] == '#';
}

int slot_kind(const ValLeaf *leaf, int rank) {
  CoreType type = atom_type(leaf->atom);
  if (type.rank != rank) return -1;
  return leaf->is_tag ? SLOT_TAGS : (int)type.elem;
}

int sum_rank(const Val *sum) { return atom_type(sum->u.record.items[0]->u.atom).rank; }

bool slot_is_new(const ValLeaf *leaf, int rank, int *taken, int *next) {
  int kind = slot_kind(leaf, rank);
  if (kind < 0) return true;
  if (next[kind]++ < taken[kind]) return false;
  taken[kind]++;
  return true;
}

static void add_sum_leaves(const Val *sum, ValLeafVec *out) {
  int taken[SLOT_KINDS] = { 0 }, rank = sum_rank(sum);
  vec_push(out, ((ValLeaf){ sum->u.record.items[0]->u.atom, true }));
  for (int i = 1; i < sum->u.record.count; i++) {
    ValLeafVec own = { 0 };
    leaves_add(sum->u.record.items[i], &own);
    int next[SLOT_KINDS] = { 0 };
    vec_each (const ValLeaf *, leaf, &own)
      if (slot_is_new(leaf, rank, taken, next)) vec_push(out, *leaf);
  }
}

void leaves_add(const Val *v, ValLeafVec *out) {
  if (v->kind == VAL_ATOM) vec_push(out, ((ValLeaf){ v->u.atom, false }));
  if (v->kind != VAL_RECORD) return;
  if (val_is_sum(v)) {
    add_sum_leaves(v, out);
    return;
  }
  for (int i = 0; i < v->u.record.count; i++)
    leaves_add(v->u.record.items[i], out);
}

// ---- other leaves

// What is in the places for each kind so far, in a sum of that rank.
typedef struct Slots {
  int rank;
  AtomVec of[SLOT_KINDS];
  LeafFn fn;  // makes what goes there of a leaf; NULL: the leaf itself
  const void *state;
} Slots;

static Atom place(Elab *e, Slots *slots, const ValLeaf *leaf, int *next) {
  int kind = slot_kind(leaf, slots->rank);
  AtomVec *of = kind < 0 ? NULL : &slots->of[kind];
  int at = of ? next[kind]++ : 0;
  if (of && of->at && at < of->count) return of->at[at];
  Atom atom = slots->fn ? slots->fn(e, leaf->atom, slots->state) : leaf->atom;
  if (of) vec_push(of, atom);
  return atom;
}

// The arguments of a constructor with what is in their places already; the rest goes there.
static const Val *placed(Elab *e, const Val *arguments, Slots *slots) {
  ValLeafVec own = { 0 };
  leaves_add(arguments, &own);
  Atom *atoms = new_array(Atom, own.count);
  int next[SLOT_KINDS] = { 0 };
  for (int i = 0; i < own.count; i++)
    atoms[i] = place(e, slots, &own.at[i], next);
  return leaves_replace(e, arguments, atoms);
}

const Val *leaves_map(Elab *e, const Val *v, LeafFn fn, const void *state) {
  if (v->kind == VAL_ATOM) return val_atom(fn(e, v->u.atom, state));
  if (v->kind == VAL_CLOSURE) return v;
  int count = v->u.record.count;
  const Val **items = new_array(const Val *, count);
  bool is_sum = val_is_sum(v);
  Slots slots = { .rank = is_sum ? sum_rank(v) : 0, .fn = fn, .state = state };
  for (int i = 0; i < count; i++) {
    const Val *item = v->u.record.items[i];
    items[i] = is_sum && i ? placed(e, item, &slots) : leaves_map(e, item, fn, state);
  }
  return val_record(v->u.record.names, items, count);
}

static Atom take_leaf(Elab *e, Atom leaf, const void *state) {
  (void)e, (void)leaf;
  const Atom **next = *(const Atom **const *)state;
  return *(*next)++;
}

const Val *leaves_replace(Elab *e, const Val *v, const Atom *leaves) {
  const Atom **next = &leaves;
  return leaves_map(e, v, take_leaf, &next);
}

const Val *val_sum(Elab *e, const Name *names, const Val *const *items, int count,
                   int own) {
  const Val **shared = new_array(const Val *, count);
  Slots slots = { .rank = atom_type(items[0]->u.atom).rank };
  shared[0] = items[0];
  placed(e, items[own], &slots);
  for (int i = 1; i < count; i++)
    shared[i] = placed(e, items[i], &slots);
  return val_record(names, shared, count);
}
