// loop (l, r) = (0, n) while l < r do .. xs[m] ..    =>   the same in i32, where n < 2^30
//
// Places in arrays that loops carry in lanes, i64 as they are indices, in 32 bits where the sizes
// of the arrays are below 2^30, of which the host makes sure.  Why: vectors have twice as many
// lanes of them, and load twice as many elements from places apart.
//
// A place is what stays in 32 bits by the ranges that a round leaves as they are (place_ranges.c).
// Only what differs from lane to lane otherwise than by a constant gets there: loops in which lanes
// take part or not.
#include "kern/kern_ask.h"
#include "kern/kern_vary.h"
#include "kern/place_ranges.h"
#include "kern/schedules/rewrites.h"

enum { MOST_SIZES = 8 };

typedef struct NarrowPlaces {
  KernMapper mapper;
  const Kern *kern;
  const Vary *vary;   // around the block at hand; NULL: no lanes
  Map *sizes;         // Var -> itself: numbers of the host (see_place_loop)
  const Map *ranges;  // Var -> const Bounds *
  Map *narrow;        // Var (i64) -> const Var * (i32)
  int loops;          // around the block at hand, of which params are narrow
  bool any;           // there is a loop that may have places
  bool mentions;      // the term at hand, something narrow
  bool reads;         // a narrow place is read from
} NarrowPlaces;

// ---- which loops

static bool is_place(const NarrowPlaces *s, const Var *param) {
  return param->type.elem == PRIM_I64 &&
         (vary_var(s->vary, param) & vary_lanes(s->vary)) != 0;
}

static bool has_places(const NarrowPlaces *s, const KernStm *loop) {
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (is_place(s, loop->u.loop.params[i])) return true;
  return false;
}

static void see_length(void *state, const Var *var) {
  NarrowPlaces *s = state;
  bool asked = var->type.elem == PRIM_I64 && kern_host_knows(s->kern, term_var(var));
  if (asked) map_put(s->sizes, var, var);
}

static void see_access(KernVisitor *v, Access access, bool stores) {
  (void)stores;
  for (int d = 0; d < access.tensor->rank; d++)
    term_each_var(access.tensor->dims[d], see_length, v->state);
}

// The sizes of what it reads, and numbers of the host that places begin with.
static void see_place_loop(NarrowPlaces *s, const KernStm *loop) {
  KernVisitor v = { .access = see_access, .state = s };
  kern_visit_block(&v, loop->u.loop.body);
  for (int i = 0; i < loop->u.loop.param_count; i++)
    if (is_place(s, loop->u.loop.params[i]))
      term_each_var(loop->u.loop.inits[i], see_length, s);
  s->any = true;
}

static void find_place_loops(NarrowPlaces *s, const KernBlock *block) {
  const Vary *around = s->vary;
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    if (!around && kern_is_lock(stm)) s->vary = vary_stm(stm);
    if (stm->kind == KERN_WHILE && s->vary && has_places(s, stm)) see_place_loop(s, stm);
    KernBlockVec blocks = kern_blocks(stm);
    vec_each (const KernBlock **, inner, &blocks)
      find_place_loops(s, *inner);
    s->vary = around;
  }
}

// ---- terms

static bool fits(const NarrowPlaces *s, const Term *t) {
  return bounds_fit(kern_range(s->ranges, t), PRIM_I32);
}

static void see_narrow(void *state, const Var *var) {
  NarrowPlaces *s = state;
  s->mentions |= map_has(s->narrow, var);
}

static bool mentions_narrow(NarrowPlaces *s, const Term *t) {
  s->mentions = false;
  term_each_var(t, see_narrow, s);
  return s->mentions;
}

// Operators whose result is right in 32 bits if operands and result have no more.
static bool is_narrow_op(PrimOp op) {
  return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN || op == OP_MAX ||
         op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_DIV || op == OP_QUOT ||
         op == OP_MOD || op == OP_REM;
}

static bool compares_places(const Term *t) {
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_ADD;
  return (op == OP_EQ || op == OP_NE || op == OP_LT || op == OP_LE) &&
         t->u.op.operands == PRIM_I64;
}

static const Term *with_narrow(KernMapper *m, const Term *t);
static const Term *narrow_term(NarrowPlaces *s, const Term *t);

static const Term *narrow_op(NarrowPlaces *s, const Term *t) {
  const Term *a = narrow_term(s, t->u.op.args[0]),
             *b = a ? narrow_term(s, t->u.op.args[1]) : NULL;
  return b ? term_op2(t->u.op.op, a, b) : NULL;
}

static const Term *narrow_select(NarrowPlaces *s, const Term *t) {
  const Term *a = narrow_term(s, t->u.select.a),
             *b = a ? narrow_term(s, t->u.select.b) : NULL;
  return b ? term_select(with_narrow(&s->mapper, t->u.select.condition), a, b) : NULL;
}

// An i64 as an i32; NULL: it is more, or more would be computed for it.
static const Term *narrow_term(NarrowPlaces *s, const Term *t) {
  if (t->type != PRIM_I64 || !fits(s, t)) return NULL;
  if (t->kind == TERM_CONST) return term_const(prim_int(PRIM_I32, t->u.constant.u.i));
  const Var *known = t->kind == TERM_VAR ? map_get(s->narrow, t->u.var) : NULL;
  if (known) return term_var(known);
  if (t->kind == TERM_VAR) return term_convert(PRIM_I32, t);
  if (t->kind == TERM_CONVERT && prim_is_int(t->u.arg->type))
    return term_convert(PRIM_I32, t->u.arg);
  if (t->kind == TERM_SELECT) return narrow_select(s, t);
  bool op = t->kind == TERM_OP && is_narrow_op(t->u.op.op);
  return op ? narrow_op(s, t) : NULL;
}

// 0 <= x && x < y  =>  u32(x) < u32(y), where y is not negative; NULL: it is another term.
static const Term *compared_once(NarrowPlaces *s, const Term *t) {
  if (t->kind != TERM_OP || t->u.op.op != OP_LAND) return NULL;
  const Term *low = t->u.op.args[0], *high = t->u.op.args[1];
  if (!compares_places(low) || !compares_places(high) || low->u.op.op != OP_LE ||
      high->u.op.op != OP_LT || !term_is_i64(low->u.op.args[0], 0) ||
      !term_same(low->u.op.args[1], high->u.op.args[0]))
    return NULL;
  const Term *least = high->u.op.args[1], *less = narrow_op(s, high);
  if (!less || kern_range(s->ranges, least).low < 0) return NULL;
  return term_op2(OP_LT, term_convert(PRIM_U32, less->u.op.args[0]),
                  term_convert(PRIM_U32, less->u.op.args[1]));
}

// A term with comparisons of places in 32 bits.
static const Term *with_narrow(KernMapper *m, const Term *t) {
  NarrowPlaces *s = m->state;
  if (!s->loops || !mentions_narrow(s, t)) return t;
  const Term *compared = compares_places(t) ? narrow_op(s, t) : compared_once(s, t);
  if (compared) return compared;
  const Term *operands[3];
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = with_narrow(m, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

// ---- statements

// The variable as an i32, which then stands for it.
static const Var *narrow_var(NarrowPlaces *s, const Var *var) {
  const Var *out = var_new(s->mapper.c, var->name, type_scalar(PRIM_I32), var->loc);
  map_put(s->narrow, var, out);
  return out;
}

static void add_as_wide(KernBuilder *b, const Var *var, const Var *narrow) {
  kern_let_var(b, var, term_convert(PRIM_I64, term_var(narrow)));
}

static bool add_narrow_let(NarrowPlaces *s, KernBuilder *b, const KernStm *stm) {
  const Term *t = stm->u.term;
  bool wanted = s->loops && t->type == PRIM_I64 && mentions_narrow(s, t);
  const Term *narrow = wanted ? narrow_term(s, t) : NULL;
  if (!narrow) return false;
  const Var *var = narrow_var(s, stm->binders[0]);
  kern_let_var(b, var, narrow);
  add_as_wide(b, stm->binders[0], var);
  return true;
}

static const Term *as_narrow(NarrowPlaces *s, const Term *t) {
  const Term *narrow = narrow_term(s, t);
  return narrow ? narrow : term_convert(PRIM_I32, with_narrow(&s->mapper, t));
}

// A loop's variables as its narrow form has them.
typedef struct NarrowLoop {
  const KernStm *stm;
  const Var **params, **binders;
  const Term **inits;
} NarrowLoop;

static bool is_narrow(const NarrowPlaces *s, const KernStm *stm, int i) {
  const Var *param = stm->u.loop.params[i];
  return is_place(s, param) && fits(s, term_var(param)) &&
         fits(s, term_var(stm->binders[i]));
}

static const KernBlock *narrow_body(NarrowPlaces *s, const NarrowLoop *loop) {
  const KernBlock *body = loop->stm->u.loop.body;
  KernBuilder b = kern_builder(s->mapper.c, loop->stm->loc);
  for (int i = 0; i < loop->stm->u.loop.param_count; i++)
    if (loop->params[i] != loop->stm->u.loop.params[i])
      add_as_wide(&b, loop->stm->u.loop.params[i], loop->params[i]);
  const KernBlock *inner = s->mapper.block(&s->mapper, body);
  for (int i = 0; i < inner->count; i++)
    kern_add(&b, inner->stms[i]);
  const Term **results = new_array(const Term *, body->result_count + 1);
  for (int i = 0; i < body->result_count; i++)
    results[i] = loop->params[i] != loop->stm->u.loop.params[i]
                     ? as_narrow(s, body->results[i])
                     : inner->results[i];
  return kern_block(&b, results, body->result_count);
}

// The loop, with those of its params in 32 bits that are places.
static void add_loop(NarrowPlaces *s, KernBuilder *b, const KernStm *stm) {
  int count = stm->u.loop.param_count;
  NarrowLoop loop = { stm, new_array(const Var *, count + 1),
                      new_array(const Var *, count + 1),
                      new_array(const Term *, count + 1) };
  bool any = false;
  for (int i = 0; i < count; i++) {
    bool narrow = is_narrow(s, stm, i);
    const Term *init = stm->u.loop.inits[i];
    any |= narrow;
    loop.inits[i] = narrow ? as_narrow(s, init) : with_narrow(&s->mapper, init);
    loop.params[i] = stm->u.loop.params[i];
    loop.binders[i] = stm->binders[i];
    if (!narrow) continue;
    loop.params[i] = narrow_var(s, stm->u.loop.params[i]);
    loop.binders[i] = narrow_var(s, stm->binders[i]);
  }
  s->loops += any;
  KernStm out = *stm;
  out.binders = loop.binders;
  out.u.loop.params = loop.params;
  out.u.loop.inits = loop.inits;
  out.u.loop.body = narrow_body(s, &loop);
  kern_add(b, out);
  s->loops -= any;
  for (int i = 0; i < count; i++)
    if (loop.binders[i] != stm->binders[i])
      add_as_wide(b, stm->binders[i], loop.binders[i]);
}

static const KernBlock *narrow_block(KernMapper *m, const KernBlock *block) {
  NarrowPlaces *s = m->state;
  const Vary *around = s->vary;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    b.loc = stm->loc;
    if (!around && kern_is_lock(stm)) s->vary = vary_stm(stm);
    if (stm->kind == KERN_WHILE && s->vary)
      add_loop(s, &b, stm);
    else if (stm->kind != KERN_LET || !add_narrow_let(s, &b, stm))
      kern_add(&b, kern_map_stm(m, stm));
    s->vary = around;
  }
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

// ---- the whole

typedef struct SizeTerms {
  const Term *all;
} SizeTerms;

static void add_bound(void *state, const void *key, void *value) {
  SizeTerms *sizes = state;
  (void)key;
  const Term *size = term_var(value), *below = term_less(size, term_i64(SIZES_BELOW));
  const Term *fits = term_and(term_at_most(term_i64(0), size), below);
  sizes->all = sizes->all ? term_and(sizes->all, fits) : fits;
}

static void see_place(KernVisitor *v, Access access, bool stores) {
  NarrowPlaces *s = v->state;
  (void)stores;
  for (int d = 0; d < access.tensor->rank; d++)
    s->reads |= mentions_narrow(s, access.index[d]);
}

const Kern *kern_narrow_places(Compiler *c, const Kern *kern, const Term **small) {
  NarrowPlaces s = { .mapper = { .c = c, .term = with_narrow, .block = narrow_block },
                     .kern = kern,
                     .sizes = map_new(NULL),
                     .narrow = map_new(NULL) };
  s.mapper.state = &s;
  find_place_loops(&s, kern->body);
  if (!s.any || map_count(s.sizes) > MOST_SIZES) return NULL;
  s.ranges = kern_place_ranges(kern->body, s.sizes);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = kern_live_block(c, narrow_block(&s.mapper, kern->body));
  KernVisitor v = { .access = see_place, .state = &s };
  kern_visit_block(&v, out->body);
  if (!s.reads) return NULL;
  SizeTerms sizes = { term_bool(true) };
  map_each(s.sizes, add_bound, &sizes);
  *small = sizes.all;
  if (c->check_ir) kern_check(c, out);
  return out;
}
