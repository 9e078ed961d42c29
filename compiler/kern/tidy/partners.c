// axis i < n { .. i ^ m .. i & m .. i / m % 2 .. i % m .. }
//   =>   axis b < n / (2 * m) { axis j < m {
//          { let i = b * 2 * m + j;     .. i + m .. 0 .. }
//          { let i = b * 2 * m + m + j; .. i - m .. m .. } } }
//        where m is a power of two, and 2 * m divides n, of which the host makes sure
//
// Why: points that trade with a partner whose index differs in a bit, as in Walsh's and Fourier's
// transforms, sorting networks and gates on qubits, read the same two elements.  Of both together
// what the bit decides is known, neighbours are neighbours in memory for any m, and each element
// is loaded once.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

enum { MOST_PARTNER_STMS = 120, MOST_SHIFT = 60, LEAST_LANES = 8 };

typedef struct Partners {
  const Kern *kern;
  Map *inside;        // Var -> itself: bound where the bit is not
  Map *lets;          // Var -> const Term *, likewise
  const Map *around;  // Var -> const Term *: of all of the kernel; or NULL
  const Axis *axis;
  const Term *bit;  // m; NULL: none is found
  const Term *by;   // i >> by & 1 is the bit; or NULL
  int stms;
  // Of the half at hand:
  const Term *low, *high;     // b * 2 * m + j, and that + m
  const Term *block, *place;  // b, j
  bool upper;
} Partners;

// ---- what is there

static void note_bound_inside(KernVisitor *v, const Var *var) {
  Partners *x = v->state;
  map_put(x->inside, var, var);
}

static void note_let_inside(KernVisitor *v, const KernStm *stm) {
  Partners *x = v->state;
  x->stms++;
  if (stm->kind == KERN_LET) map_put(x->lets, stm->binders[0], stm->u.term);
}

static const Term *let_inside(const Partners *x, const Term *t) {
  const Term *let;
  while (t->kind == TERM_VAR && (let = map_get(x->lets, t->u.var)))
    t = let;
  return t;
}

// What a scalar is made of that is there before, if that is an operator.
static const Term *made_outside(const Partners *x, const Term *t) {
  t = let_inside(x, t);
  if (t->kind != TERM_VAR) return t;
  const Term *made = x->around ? map_get(x->around, t->u.var) : NULL;
  if (!made && x->kern->outside) made = map_get(x->kern->outside, t->u.var);
  return made && made->kind == TERM_OP ? made : t;
}

static bool is_op_of(const Term *t, PrimOp op) {
  return t->kind == TERM_OP && t->type == PRIM_I64 && t->u.op.op == op;
}

static bool is_axis_index(const Partners *x, const Term *t) {
  return term_is_var(let_inside(x, t), x->axis->index);
}

// The operand beside the index, or NULL.
static const Term *beside_index(const Partners *x, const Term *t, PrimOp op) {
  if (!is_op_of(t, op)) return NULL;
  for (int i = 0; i < 2; i++)
    if (is_axis_index(x, t->u.op.args[i])) return t->u.op.args[1 - i];
  return NULL;
}

// What is the same at all points and may be a power of two; or NULL.
static const Term *as_bit(const Partners *x, const Term *t) {
  t = term_inlined(x->lets, t);
  if (!t || term_mentions_any(t, x->inside)) return NULL;
  if (t->kind == TERM_CONST) {
    int64_t value = t->u.constant.u.i;
    return value > 0 && !(value & (value - 1)) ? t : NULL;
  }
  const Term *made = made_outside(x, t);
  bool other = is_op_of(made, OP_NOT) || is_op_of(made, OP_SUB) || is_op_of(made, OP_ADD);
  return t->kind == TERM_VAR && !other ? t : NULL;
}

// i >> k & 1: k, or NULL.
static const Term *shifted_by(const Partners *x, const Term *t) {
  if (!is_op_of(t, OP_AND) || !term_is_i64(t->u.op.args[1], 1)) return NULL;
  const Term *shift = let_inside(x, t->u.op.args[0]);
  if (!is_op_of(shift, OP_SHR) || !is_axis_index(x, shift->u.op.args[0])) return NULL;
  const Term *by = term_inlined(x->lets, shift->u.op.args[1]);
  return by && by->kind == TERM_VAR && !term_mentions_any(by, x->inside) ? by : NULL;
}

static bool is_rest(const Term *t) { return is_op_of(t, OP_MOD) || is_op_of(t, OP_REM); }

static bool is_quotient(const Term *t) {
  return is_op_of(t, OP_DIV) || is_op_of(t, OP_QUOT);
}

// i / m: m, or NULL.
static const Term *quotient_by(const Partners *x, const Term *t) {
  t = let_inside(x, t);
  return is_quotient(t) && is_axis_index(x, t->u.op.args[0]) ? t->u.op.args[1] : NULL;
}

// i % m: m, or NULL.
static const Term *rest_by(const Partners *x, const Term *t) {
  t = let_inside(x, t);
  return is_rest(t) && is_axis_index(x, t->u.op.args[0]) ? t->u.op.args[1] : NULL;
}

// i / m % 2: m, or NULL.
static const Term *parity_by(const Partners *x, const Term *t) {
  return is_rest(t) && term_is_i64(t->u.op.args[1], 2) ? quotient_by(x, t->u.op.args[0])
                                                       : NULL;
}

static bool is_bit_term(const Partners *x, const Term *t) {
  const Term *plain = term_inlined(x->lets, t);
  if (!plain) return false;
  const Term *made = x->by ? made_outside(x, plain) : plain;
  if (x->by)
    return is_op_of(made, OP_SHL) && term_is_i64(made->u.op.args[0], 1) &&
           term_same(made->u.op.args[1], x->by);
  return term_same(plain, x->bit);
}

// 2 * m
static bool is_twice_the_bit(const Partners *x, const Term *t) {
  const Term *made = made_outside(x, t);
  if (is_op_of(made, OP_ADD))
    return is_bit_term(x, made->u.op.args[0]) && is_bit_term(x, made->u.op.args[1]);
  for (int i = 0; i < 2 && is_op_of(made, OP_MUL); i++)
    if (term_is_i64(made->u.op.args[i], 2)) return is_bit_term(x, made->u.op.args[1 - i]);
  return false;
}

// i % (2 * m) < m
static const Term *half_by(const Partners *x, const Term *t) {
  if (t->kind != TERM_OP || t->u.op.op != OP_LT || t->u.op.args[1]->type != PRIM_I64)
    return NULL;
  const Term *span = rest_by(x, t->u.op.args[0]);
  Partners half = *x;
  half.bit = t->u.op.args[1];
  return span && is_twice_the_bit(&half, span) ? half.bit : NULL;
}

// An exchange says more than a bit that is asked for.
static void find_bit(Partners *x, const Term *t) {
  const Term *operands[3];
  const Term *partner = beside_index(x, t, OP_XOR), *mask = beside_index(x, t, OP_AND);
  if (partner && (partner = as_bit(x, partner)) && (!x->bit || x->by)) {
    x->bit = partner;
    x->by = NULL;
  }
  if (!mask) mask = parity_by(x, t);
  if (!mask) mask = half_by(x, t);
  if (mask && !x->bit && mask->kind != TERM_CONST) x->bit = as_bit(x, mask);
  const Term *by = shifted_by(x, t);
  if (by && !x->bit) {
    x->by = by;
    x->bit = by;  // until the host makes it
  }
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    find_bit(x, operands[i]);
}

static void see_bit(KernVisitor *v, const Term *t) { find_bit(v->state, t); }

// ---- a half

static bool is_other_bits(const Partners *x, const Term *t) {
  const Term *made = made_outside(x, t);
  return is_op_of(made, OP_NOT) && is_bit_term(x, made->u.op.args[0]);
}

static bool is_lower_bits(const Partners *x, const Term *t) {
  const Term *made = made_outside(x, t);
  bool less = is_op_of(made, OP_SUB) && term_is_i64(made->u.op.args[1], 1);
  bool more = is_op_of(made, OP_ADD) && term_is_i64(made->u.op.args[1], -1);
  return (less || more) && is_bit_term(x, made->u.op.args[0]);
}

// i + m in the lower half, i - m in the upper one.
static bool is_other_half(const Partners *x, const Term *t) {
  return is_op_of(t, x->upper ? OP_SUB : OP_ADD) && is_axis_index(x, t->u.op.args[0]) &&
         is_bit_term(x, t->u.op.args[1]);
}

// Whose index it is, if it is that of one of the two: 0 the lower one's, 1 the upper one's; -1.
static int partner_at(const Partners *x, const Term *t) {
  t = let_inside(x, t);
  if (term_is_var(t, x->axis->index)) return x->upper;
  const Term *mask;
  if (is_other_half(x, t)) return !x->upper;
  if ((mask = beside_index(x, t, OP_XOR)) && is_bit_term(x, mask)) return !x->upper;
  if ((mask = beside_index(x, t, OP_AND)) && is_other_bits(x, mask)) return 0;
  if ((mask = beside_index(x, t, OP_OR)) && is_bit_term(x, mask)) return 1;
  if (!is_op_of(t, OP_OR)) return -1;
  for (int i = 0; i < 2; i++)
    if (is_bit_term(x, t->u.op.args[i]) && partner_at(x, t->u.op.args[1 - i]) == 0)
      return 1;
  return -1;
}

// Quotients and remainders by m and 2 * m.
static const Term *division_known(const Partners *x, const Term *t) {
  const Term *by = quotient_by(x, t), *rest = rest_by(x, t);
  if (by && is_bit_term(x, by))
    return term_add(term_mul(term_i64(2), x->block), term_i64(x->upper));
  if (by && is_twice_the_bit(x, by)) return x->block;
  if (rest && is_bit_term(x, rest)) return x->place;
  if (rest && is_twice_the_bit(x, rest))
    return x->upper ? term_add(x->bit, x->place) : x->place;
  if (!is_rest(t) || !is_bit_term(x, t->u.op.args[1])) return NULL;
  rest = rest_by(x, t->u.op.args[0]);
  return rest && is_twice_the_bit(x, rest) ? x->place : NULL;
}

static const Term *bits_known(const Partners *x, const Term *t) {
  const Term *mask = beside_index(x, t, OP_AND), *by = shifted_by(x, t);
  if (mask && is_bit_term(x, mask)) return x->upper ? x->bit : term_i64(0);
  if (mask && is_lower_bits(x, mask)) return x->place;
  if (by && x->by && term_same(by, x->by)) return term_i64(x->upper);
  by = parity_by(x, t);
  if (by && is_bit_term(x, by)) return term_i64(x->upper);
  return t->kind == TERM_OP ? division_known(x, t) : NULL;
}

// Is the bit set?
static const Term *equality_known(const Partners *x, const Term *t) {
  const Term *bits = let_inside(x, t->u.op.args[0]), *to = t->u.op.args[1];
  const Term *mask = beside_index(x, bits, OP_AND), *by = parity_by(x, bits);
  if (by && is_bit_term(x, by) && to->kind == TERM_CONST)
    return term_bool((to->u.constant.u.i == x->upper) == (t->u.op.op == OP_EQ));
  bool zero = term_is_i64(to, 0);
  if (!mask || !is_bit_term(x, mask) || (!zero && !is_bit_term(x, to))) return NULL;
  return term_bool((x->upper != zero) == (t->u.op.op == OP_EQ));
}

// Partners are inside of the axis, and the upper one is behind the lower one.
static const Term *comparison_known(const Partners *x, const Term *t) {
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_ADD;
  if ((op == OP_EQ || op == OP_NE) && t->u.op.args[0]->type == PRIM_I64)
    return equality_known(x, t);
  if ((op != OP_LT && op != OP_LE) || t->u.op.args[0]->type != PRIM_I64) return NULL;
  const Term *a = t->u.op.args[0], *b = t->u.op.args[1];
  const Term *half = half_by(x, t);
  if (half && is_bit_term(x, half)) return term_bool(!x->upper);
  int left = partner_at(x, a), right = partner_at(x, b);
  if (left >= 0 && right >= 0)
    return term_bool(left < right || (left == right && op == OP_LE));
  bool below = left >= 0 && op == OP_LT && term_same(b, x->axis->width);
  bool above = right >= 0 && op == OP_LE && term_is_i64(a, 0);
  return below || above ? term_bool(true) : NULL;
}

static const Term *of_half(KernMapper *m, const Term *t) {
  const Partners *x = m->state;
  const Term *operands[3], *known = comparison_known(x, t);
  if (!known && t->type == PRIM_I64) {
    int at = partner_at(x, t);
    known = at < 0 ? bits_known(x, t) : at ? x->high : x->low;
  }
  if (known) return known;
  int count = term_operands(t, operands);
  for (int i = 0; i < count; i++)
    operands[i] = of_half(m, operands[i]);
  return count ? term_with(t, operands, count) : t;
}

static void add_half(Compiler *c, Partners *x, bool upper, KernBuilder *out) {
  x->upper = upper;
  KernMapper m = { .c = c, .term = of_half, .block = kern_map_block, .state = x };
  const KernBlock *body = kern_map_block(&m, x->axis->body);
  Map *replace = map_new(NULL);
  map_put(replace, x->axis->index, upper ? x->high : x->low);
  body = kern_rename(c, replace, body);
  for (int i = 0; i < body->count; i++)
    kern_add(out, body->stms[i]);
}

// ---- the axis

static const KernBlock *both_halves(Compiler *c, Partners *x, const Term *span) {
  KernBuilder b = kern_builder(c, x->axis->index->loc);
  x->low = kern_let(&b, "low", term_add(term_mul(x->block, span), x->place));
  x->high = kern_let(&b, "high", term_add(x->low, x->bit));
  add_half(c, x, false, &b);
  add_half(c, x, true, &b);
  return kern_load_once(c, kern_settle(c, kern_block(&b, NULL, 0)));
}

static const KernBlock *in_partners(Compiler *c, Partners *x, const Term *blocks,
                                    const Term *span) {
  const Name name = x->axis->index->name;
  Axis outer = *x->axis, inner = *x->axis;
  outer.name = inner.name = NULL;
  outer.index = kern_index(c, name, x->axis->index->loc);
  inner.index = kern_index(c, name, x->axis->index->loc);
  outer.width = blocks;
  inner.width = x->bit;
  x->block = term_var(outer.index);
  x->place = term_var(inner.index);
  inner.body = both_halves(c, x, span);
  KernBuilder in = kern_builder(c, x->axis->index->loc), out = in;
  kern_axis(&in, inner, NULL, 0);
  outer.body = kern_block(&in, NULL, 0);
  kern_axis(&out, outer, NULL, 0);
  return kern_block(&out, NULL, 0);
}

// The body with other axes in the place of its innermost one.
static const KernBlock *with_innermost(Compiler *c, const KernBlock *body,
                                       const Axis *innermost, const KernBlock *axes) {
  const Axis *axis = body->stms[0].u.axis;
  if (axis == innermost) return axes;
  Axis around = *axis;
  around.body = with_innermost(c, axis->body, innermost, axes);
  KernBuilder b = kern_builder(c, body->stms[0].loc);
  kern_axis(&b, around, NULL, 0);
  return kern_block(&b, NULL, 0);
}

static const Axis *innermost_of_grid(const Kern *kern) {
  const Axis *last = NULL;
  for (const KernBlock *b = kern->body;
       b->count == 1 && b->stms[0].kind == KERN_AXIS &&
       b->stms[0].u.axis->bind == BIND_GRID && b->stms[0].u.axis->role == AXIS_MAP;
       b = last->body)
    last = b->stms[0].u.axis;
  return last;
}

static bool finds_bit(Partners *x) {
  KernVisitor see = { .term = see_bit, .state = x };
  kern_visit_block(&see, x->axis->body);
  return x->bit != NULL && x->stms <= MOST_PARTNER_STMS &&
         !term_mentions_any(x->axis->width, x->inside);
}

static const Term *is_power(const Partners *x, const Term *by) {
  const Term *shift = term_bool(true);
  if (by)
    shift = term_and(term_at_most(term_i64(0), by), term_less(by, term_i64(MOST_SHIFT)));
  const Term *less = term_op2(OP_AND, x->bit, term_sub(x->bit, term_i64(1)));
  const Term *power = term_op2(OP_EQ, less, term_i64(0));
  // Fewer neighbours than lanes are dearer than loads at places apart, but where their number is
  // known.
  int64_t least = x->bit->kind == TERM_CONST ? 1 : LEAST_LANES;
  return term_and(shift, term_and(term_at_most(term_i64(least), x->bit), power));
}

// Where both points go together, and when that is right; scalars go to `b`.
static const KernBlock *paired_axes(Partners *x, KernBuilder *b, const Term **when) {
  const Term *most = term_i64(INT64_C(1) << MOST_SHIFT), *width = x->axis->width;
  if (x->by) {
    const Term *by = term_max(term_i64(0), term_min(x->by, term_i64(MOST_SHIFT)));
    x->bit = kern_let(b, "bit", term_op2(OP_SHL, term_i64(1), by));
  }
  const Term *bit = term_max(term_i64(1), term_min(x->bit, most));
  const Term *span = kern_let(b, "span", term_mul(term_i64(2), bit));
  const Term *blocks = kern_let(b, "blocks", term_quot(width, span));
  const Term *whole = term_op2(OP_EQ, term_mul(blocks, span), width);
  *when = term_and(is_power(x, x->by), term_and(term_at_most(x->bit, most), whole));
  return in_partners(b->c, x, blocks, span);
}

static void see_bit_operator(KernVisitor *v, const Term *t) {
  bool *found = v->state;
  const Term *operands[3];
  PrimOp op = t->kind == TERM_OP ? t->u.op.op : OP_ADD;
  bool asks = op == OP_XOR || op == OP_AND || op == OP_REM || op == OP_MOD;
  *found |= asks && t->type == PRIM_I64;
  int count = term_operands(t, operands);
  for (int i = 0; i < count && !*found; i++)
    see_bit_operator(v, operands[i]);
}

// Most kernels ask for no bits of indices, and are done with.
static bool has_bit_operators(const Kern *kern) {
  bool found = false;
  KernVisitor v = { .term = see_bit_operator, .state = &found };
  kern_visit_block(&v, kern->body);
  return found;
}

bool kern_pair_partners(Compiler *c, const Kern *kern, KernQuick *out) {
  Partners x = { .kern = kern, .inside = map_new(NULL), .lets = map_new(NULL) };
  x.axis = innermost_of_grid(kern);
  if (!x.axis || !has_bit_operators(kern) || kern_updates_in_place(kern->body))
    return false;
  KernVisitor note = { .stm = note_let_inside, .binder = note_bound_inside, .state = &x };
  kern_visit_block(&note, kern->body);
  if (!finds_bit(&x)) return false;
  KernBuilder host = kern_builder(c, kern->loc);
  const Term *when;
  const KernBlock *axes = paired_axes(&x, &host, &when);
  Kern *paired = mem_copy(kern, sizeof *kern);
  paired->body = with_innermost(c, kern->body, x.axis, axes);
  *out = (KernQuick){ kern_name_axes(c, paired), kern_block(&host, NULL, 0), when, true };
  return true;
}

// ---- loops of a point

typedef struct PairsWithin {
  KernMapper mapper;
  const Kern *kern;
  Map *lets;
  bool found;
} PairsWithin;

static void note_let_around(KernVisitor *v, const KernStm *stm) {
  PairsWithin *w = v->state;
  if (stm->kind == KERN_LET) map_put(w->lets, stm->binders[0], stm->u.term);
}

static void see_axis_within(KernVisitor *v, const KernStm *stm) {
  bool *found = v->state;
  *found |= stm->kind == KERN_AXIS || stm->kind == KERN_WHILE;
}

static bool is_innermost_map(const KernStm *stm) {
  if (stm->kind != KERN_AXIS || stm->binder_count || stm->u.axis->role != AXIS_MAP ||
      stm->u.axis->bind != BIND_SEQ)
    return false;
  bool loops = false;
  KernVisitor v = { .stm = see_axis_within, .state = &loops };
  kern_visit_block(&v, stm->u.axis->body);
  return !loops;
}

static void add_paired(PairsWithin *w, Partners *x, const KernStm *stm, KernBuilder *b) {
  const Term *when;
  KernBuilder otherwise = kern_builder(w->mapper.c, stm->loc);
  const KernBlock *axes = paired_axes(x, b, &when);
  kern_add(&otherwise, *stm);
  kern_add(b, (KernStm){
                  .kind = KERN_IF,
                  .u.cond = { when, axes, kern_block(&otherwise, NULL, 0), 0, false } });
  w->found = true;
}

static const KernBlock *pairs_of_block(KernMapper *m, const KernBlock *block) {
  PairsWithin *w = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    Partners x = { .kern = w->kern, .around = w->lets };
    b.loc = stm->loc;
    if (is_innermost_map(stm)) {
      x.axis = stm->u.axis;
      x.inside = map_new(NULL);
      x.lets = map_new(NULL);
      map_put(x.inside, x.axis->index, x.axis->index);
      KernVisitor note = { .stm = note_let_inside,
                           .binder = note_bound_inside,
                           .state = &x };
      kern_visit_block(&note, x.axis->body);
    }
    if (x.axis && finds_bit(&x))
      add_paired(w, &x, stm, &b);
    else
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, kern_map_results(m, block), block->result_count);
}

const Kern *kern_pair_within(Compiler *c, const Kern *kern) {
  if (!has_bit_operators(kern) || kern_updates_in_place(kern->body)) return kern;
  PairsWithin w = { { .c = c, .block = pairs_of_block }, kern, map_new(NULL), false };
  w.mapper.state = &w;
  KernVisitor v = { .stm = note_let_around, .state = &w };
  kern_visit_block(&v, kern->body);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = pairs_of_block(&w.mapper, kern->body);
  return w.found ? kern_name_axes(c, out) : kern;
}
