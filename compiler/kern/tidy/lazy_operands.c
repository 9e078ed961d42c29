// let b = .. while ..; let r = a && b
//   =>   let r = if a { let b = .. while ..  in b } else { false }
//
// Likewise `||`.  Why: `all` and `any` of a few elements are straight code, in which what takes
// long need not run once the outcome is known: the witnesses of a primality test.
//
// Legal if what computes b is for that alone and only computes: no check in it is lost.
#include "kern/tidy/tidy.h"

enum { MOST_BACK = 200 };  // statements that are looked at for one operand

typedef struct Lazy {
  KernMapper mapper;
  Map *mentions;  // Var -> int *: in all of the kernel
} Lazy;

// ---- mentions

static void count_var(void *mentions, const Var *var) {
  int *count = map_get(mentions, var);
  if (!count) map_put(mentions, var, count = new_node(int, 0));
  ++*count;
}

static void count_term(KernVisitor *v, const Term *term) {
  term_each_var(term, count_var, v->state);
}

static void count_dims(Map *mentions, const Tensor *t) {
  for (; t; t = t->of)
    for (int i = 0; i < t->rank; i++)
      term_each_var(t->dims[i], count_var, mentions);
}

static void count_tensor(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  count_dims(v->state, access.tensor);
}

static void count_room(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_ALLOC) count_dims(v->state, stm->u.tensor);
}

static KernVisitor counting(Map *mentions) {
  return (KernVisitor){
    .stm = count_room, .term = count_term, .access = count_tensor, .state = mentions
  };
}

static int mentions_of(const Map *mentions, const Var *var) {
  const int *count = map_get(mentions, var);
  return count ? *count : 0;
}

// ---- what waits

typedef struct LazyParts {
  bool loops, effects;  // a loop without end is no effect
} LazyParts;

static void note_part(KernVisitor *v, const KernStm *stm) {
  LazyParts *p = v->state;
  bool axis = stm->kind == KERN_AXIS;
  p->loops |= stm->kind == KERN_WHILE;
  p->effects |= axis ? stm->u.axis->hist_count > 0
                     : stm->kind != KERN_LET && stm->kind != KERN_LOAD &&
                           stm->kind != KERN_IF && stm->kind != KERN_WHILE;
}

static LazyParts parts_of(const KernStm *stm) {
  LazyParts parts = { 0 };
  KernVisitor v = { .stm = note_part, .state = &parts };
  kern_visit_stm(&v, stm);
  return parts;
}

// Do only those that wait mention what it binds?
static bool is_for_those(const Lazy *l, const Map *inside, const KernStm *stm) {
  int used = 0;
  for (int i = 0; i < stm->binder_count; i++) {
    int count = mentions_of(inside, stm->binders[i]);
    if (count != mentions_of(l->mentions, stm->binders[i])) return false;
    used += count;
  }
  return used > 0;
}

// Marks the statements at the end of `b` that compute the operand alone; false: not worth it.
static bool find_waiting(const Lazy *l, const KernBuilder *b, const Term *operand,
                         bool *waits) {
  Map *inside = map_new(NULL);
  KernVisitor v = counting(inside);
  bool loops = false;
  count_term(&v, operand);
  int last = b->stms.count - 1;
  for (int i = last; i >= 0 && i > last - MOST_BACK; i--) {
    const KernStm *stm = &b->stms.at[i];
    LazyParts parts = parts_of(stm);
    if (parts.effects) break;
    waits[i] = is_for_those(l, inside, stm);
    loops |= waits[i] && parts.loops;
    if (waits[i]) kern_visit_stm(&v, stm);
  }
  return loops;
}

// ---- the branch

static void add_branch(KernBuilder *b, const KernStm *stm, const KernBuilder *late) {
  const Term *t = stm->u.term;
  bool both = t->u.op.op == OP_LAND;
  const Term **value = new_array(const Term *, 1), **decided = new_array(const Term *, 1);
  *value = t->u.op.args[1];
  *decided = term_bool(!both);
  KernBuilder nothing = kern_builder(b->c, stm->loc);
  const KernBlock *asked = kern_block(late, value, 1),
                  *known = kern_block(&nothing, decided, 1);
  kern_add(b, (KernStm){ .kind = KERN_IF,
                         .binders = stm->binders,
                         .binder_count = 1,
                         .u.cond = { t->u.op.args[0], both ? asked : known,
                                     both ? known : asked, 0, false } });
}

static bool add_lazily(Lazy *l, KernBuilder *b, const KernStm *stm) {
  const Term *t = stm->u.term;
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_ADD;
  if ((op != OP_LAND && op != OP_LOR) || t->u.op.args[1]->kind != TERM_VAR) return false;
  bool *waits = new_array(bool, b->stms.count + 1);
  if (!find_waiting(l, b, t->u.op.args[1], waits)) return false;
  KernBuilder late = kern_builder(b->c, stm->loc);
  int kept = 0;
  for (int i = 0; i < b->stms.count; i++)
    if (waits[i])
      kern_add(&late, b->stms.at[i]);
    else
      b->stms.at[kept++] = b->stms.at[i];
  b->stms.count = kept;
  add_branch(b, stm, &late);
  return true;
}

static const KernBlock *lazy_block(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    b.loc = block->stms[i].loc;
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    if (stm.kind != KERN_LET || !add_lazily(m->state, &b, &stm)) kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_wait_for_operands(Compiler *c, const Kern *kern) {
  Lazy l = { .mapper = { .c = c, .block = lazy_block }, .mentions = map_new(NULL) };
  KernVisitor v = counting(l.mentions);
  LazyParts parts = { 0 };
  KernVisitor all = { .stm = note_part, .state = &parts };
  kern_visit_block(&all, kern->body);
  if (!parts.loops) return kern;
  kern_visit_block(&v, kern->body);
  l.mapper.state = &l;
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = lazy_block(&l.mapper, kern->body);
  return out;
}
