// b = border k a with p q            k rows, with p rows of others before them and q after
//   =>  a lies between p and q rows of its memory, and b is a view of that
//
// Why: else all of the block is copied next to its border, in each round of a loop (a Jacobi round
// on a CPU takes as long as such a copy).  Memory with room is made by maps, and kept by loops
// and branches, which hand it on as it is.
//
// Legal: the block is shared with its border as one worker's is, by counted references, and who
// overwrites arrays takes a copy of what does not lie at the beginning of its memory.  The rows of
// others are the same for all borders of a block.  Results of guards lie as ever: runs that compare
// versions look at their memory.
#include "imp/lower/lower.h"

// Rows of others that the memory of an array has place for.
struct Room {
  int64_t before, after;
};

// Where a variable gets its value: binder or parameter number `index` of the statement.
typedef struct Maker {
  const Stm *stm;
  int index;
} Maker;

typedef struct Finder {
  Map *makers;  // Var -> const Maker *
  Map *rooms;   // Var -> Room *
  Vec(const Exp *) borders;
} Finder;

// ---- which arrays have room

static void add_maker(Finder *f, const Var *var, const Stm *stm, int index) {
  map_put(f->makers, var, new_node(Maker, stm, index));
}

static void find_makers(Finder *f, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    const Exp *exp = stm->exp;
    for (int b = 0; b < stm->binder_count; b++)
      add_maker(f, stm->binders[b], stm, b);
    for (int p = 0; exp->kind == EXP_LOOP && p < exp->u.loop.param_count; p++)
      add_maker(f, exp->u.loop.params[p], stm, p);
    if (exp->kind == EXP_BORDER) vec_push(&f->borders, exp);
    if (exp->kind == EXP_SEG) continue;
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      find_makers(f, *inner);
  }
}

static const Maker *maker_of(const Finder *f, Atom a) {
  return a.kind == ATOM_VAR ? map_get(f->makers, a.u.var) : NULL;
}

// Is it made by maps on all ways to it, but for first values of loops?
static bool may_have_room(const Finder *f, Atom a, Map *seen) {
  const Maker *maker = maker_of(f, a);
  if (!maker) return false;
  if (map_has(seen, a.u.var)) return true;
  map_put(seen, a.u.var, a.u.var);
  const Exp *exp = maker->stm->exp;
  int i = maker->index;
  if (exp->kind == EXP_ATOM) return may_have_room(f, exp->u.atom.atom, seen);
  if (exp->kind == EXP_ASSERT) return may_have_room(f, exp->u.assert.atoms[i], seen);
  if (exp->kind == EXP_SEG) return exp->u.seg->kind == SEG_MAP;
  if (exp->kind == EXP_IF)
    return may_have_room(f, exp->u.cond.then_body->results[i], seen) &&
           may_have_room(f, exp->u.cond.else_body->results[i], seen);
  if (exp->kind == EXP_GUARD)
    return may_have_room(f, exp->u.guard.then_body->results[i], seen) &&
           may_have_room(f, exp->u.guard.else_body->results[i], seen);
  if (exp->kind != EXP_LOOP) return false;
  map_put(seen, exp->u.loop.params[i], exp->u.loop.params[i]);
  return may_have_room(f, exp->u.loop.body->results[i], seen);
}

static bool has_wider(const Room *room, Room wanted) {
  return room && room->before >= wanted.before && room->after >= wanted.after;
}

static void give_room(Finder *f, Atom a, Room wanted);

static void give_loop_room(Finder *f, const Stm *stm, int i, Room wanted) {
  const Exp *exp = stm->exp;
  give_room(f, atom_var(exp->u.loop.params[i]), wanted);
  give_room(f, atom_var(stm->binders[i]), wanted);
  give_room(f, exp->u.loop.body->results[i], wanted);
  if (may_have_room(f, exp->u.loop.inits[i], map_new(NULL)))
    give_room(f, exp->u.loop.inits[i], wanted);
}

static void give_room(Finder *f, Atom a, Room wanted) {
  Room *room = map_get(f->rooms, a.u.var);
  if (has_wider(room, wanted)) return;
  if (!room) map_put(f->rooms, a.u.var, room = new_node(Room, 0, 0));
  if (wanted.before > room->before) room->before = wanted.before;
  if (wanted.after > room->after) room->after = wanted.after;
  const Maker *maker = maker_of(f, a);
  if (!maker) return;
  const Exp *exp = maker->stm->exp;
  if (exp->kind == EXP_ATOM) give_room(f, exp->u.atom.atom, *room);
  if (exp->kind == EXP_ASSERT) give_room(f, exp->u.assert.atoms[maker->index], *room);
  if (exp->kind == EXP_LOOP) give_loop_room(f, maker->stm, maker->index, *room);
  if (exp->kind == EXP_GUARD) {
    give_room(f, exp->u.guard.then_body->results[maker->index], *room);
    give_room(f, exp->u.guard.else_body->results[maker->index], *room);
  }
  if (exp->kind != EXP_IF) return;
  give_room(f, exp->u.cond.then_body->results[maker->index], *room);
  give_room(f, exp->u.cond.else_body->results[maker->index], *room);
}

void rooms_find(Lower *lower, const Body *body) {
  Finder f = { .makers = map_new(NULL), .rooms = map_new(NULL) };
  if (lower->machine->in_place) find_makers(&f, body);
  vec_each (const Exp **, border, &f.borders) {
    Atom block = (*border)->u.border.block, before = (*border)->u.border.before,
         after = (*border)->u.border.after;
    if (before.kind != ATOM_CONST || after.kind != ATOM_CONST) continue;
    Room wanted = { before.u.constant.u.i, after.u.constant.u.i };
    if (may_have_room(&f, block, map_new(NULL))) give_room(&f, block, wanted);
  }
  lower->rooms = f.rooms;
  lower->roomy = map_new(NULL);
}

// ---- memory

const Room *room_of(Code *k, const Var *var) { return map_get(k->lower->rooms, var); }

Arr room_array(Code *k, const Var *var, CoreType type, const Mem *mem) {
  const Room *room = room_of(k, var);
  Arr arr = arr_dense(mem, type.elem, code_shape(type), type.rank);
  if (!room) return arr;
  arr.offset = imp_mul(imp_i64(room->before), arr.strides[0]);
  if (mem) map_put(k->lower->roomy, mem, (void *)(intptr_t)room);
  return arr;
}

Arr room_alloc(Code *k, const Var *var, CoreType type) {
  const Room *room = room_of(k, var);
  Arr arr = room_array(k, var, type, NULL);
  const ImpExp *others = imp_mul(imp_i64(room->before + room->after), arr.strides[0]);
  const Mem *mem = host_mem(k, var->name, type.elem, imp_add(arr_count(&arr), others));
  return room_array(k, var, type, mem);
}

// That of the array, if it lies there as a whole.
static const Room *room_around(Code *k, Atom a) {
  if (a.kind != ATOM_VAR || !room_of(k, a.u.var)) return NULL;
  return map_get(k->lower->roomy, code_array(k, a)->mem);
}

bool room_is_like(Code *k, const Var *var, Atom a) {
  const Room *wanted = room_of(k, var), *room = room_around(k, a);
  return room && room->before == wanted->before && room->after == wanted->after;
}

const ImpExp *room_rows(Code *k, Atom a) {
  const Room *room = room_around(k, a);
  return room ? imp_i64(room->before) : NULL;
}
