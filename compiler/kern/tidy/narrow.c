// let a: i32 = i32 x                     =>   let s: u16 = u16 x + u16 y
// let s: i32 = a + b  .. u8 (s / 2)           .. u8 (s / 2)
//
// Whole numbers that are few bits by what they are made of, and that only such numbers and results
// of few bits are made of, are computed in 8 or 16 bits.  Why: vectors have twice or four times as
// many lanes of them; images are bytes, but one adds them up in i32 lest they overflow.
#include "kern/ranges.h"
#include "kern/tidy/tidy.h"

// A let that may be narrow.
typedef struct Let {
  const Var *var;
  const Term *term;
  PrimType narrow;
  const Term *source;  // a small number that it is; it then stays for others as it was
  bool stays;          // others need it as it is
} Let;

typedef struct Narrow {
  KernMapper mapper;
  const Map *ranges;   // Var -> const Bounds *
  Map *lets;           // Var -> Let *
  Map *renamed;        // Var -> const Var *
  const Term *served;  // the term of a let that is narrow, or ends it
  bool found, changed;
} Narrow;

// ---- what may be narrow

// The smallest type that has them all; `least` bytes.
static bool narrow_type(Bounds r, int least, PrimType *out) {
  static const PrimType types[] = { PRIM_U8, PRIM_I8, PRIM_U16, PRIM_I16 };
  for (int i = 0; i < 4; i++) {
    if (prim_size_bytes(types[i]) < least || !bounds_fit(r, types[i])) continue;
    *out = types[i];
    return true;
  }
  return false;
}

// Operators whose result is right in few bits if operands and result have no more.
static bool is_narrow_op(const Term *t, int *least) {
  PrimOp op = t->u.op.op;
  bool shifts = op == OP_SHL || op == OP_SHR;
  bool divides = op == OP_DIV || op == OP_QUOT || op == OP_MOD || op == OP_REM;
  *least = shifts || divides || op == OP_MUL ? 2 : 1;
  if (shifts || divides) return t->u.op.args[1]->kind == TERM_CONST;
  return op == OP_ADD || op == OP_SUB || op == OP_MUL || op == OP_MIN || op == OP_MAX ||
         op == OP_AND || op == OP_OR || op == OP_XOR || op == OP_ABS || op == OP_NEG ||
         op == OP_EQ || op == OP_NE || op == OP_LT || op == OP_LE;
}

// The operands that are numbers, and their type.
static int number_operands(const Term *t, const Term **out, PrimType *type) {
  if (t->kind == TERM_SELECT) {
    out[0] = t->u.select.a;
    out[1] = t->u.select.b;
    *type = t->type;
    return 2;
  }
  if (t->kind == TERM_VAR) {  // another name
    out[0] = t;
    *type = t->type;
    return 1;
  }
  *type = t->kind == TERM_CONVERT ? t->u.arg->type : t->u.op.operands;
  return term_operands(t, out);
}

static bool has_few_bits(PrimType type) {
  return type == PRIM_BOOL || (prim_is_int(type) && prim_size_bytes(type) <= 2);
}

static bool is_narrow_operand(const Narrow *s, const Term *t) {
  if (t->kind == TERM_CONST) return true;
  if (t->kind != TERM_VAR) return false;
  const Let *let = map_get(s->lets, t->u.var);
  return has_few_bits(t->type) || (let && (let->source || !let->stays));
}

static bool is_candidate(const Narrow *s, const Term *t, PrimType *narrow) {
  const Term *operands[3];
  PrimType type;
  int least = 1;
  if (t->kind == TERM_CONST || t->kind == TERM_BITS || t->kind == TERM_TUNING)
    return false;
  if (t->kind == TERM_OP && !is_narrow_op(t, &least)) return false;
  int count = number_operands(t, operands, &type);
  bool compares = t->kind == TERM_OP && t->type == PRIM_BOOL;
  if (!prim_is_int(compares ? type : t->type)) return false;
  if (type != PRIM_BOOL && !prim_is_int(type)) return false;
  Bounds all = compares ? kern_range(s->ranges, operands[0]) : kern_range(s->ranges, t);
  bool shifts = t->kind == TERM_OP && (t->u.op.op == OP_SHL || t->u.op.op == OP_SHR);
  for (int i = 0; i < count; i++) {
    if (!is_narrow_operand(s, operands[i])) return false;
    if (!shifts || i == 0) all = bounds_hull(all, kern_range(s->ranges, operands[i]));
  }
  int bytes = prim_size_bytes(compares || t->kind != TERM_CONVERT ? type : t->type);
  return narrow_type(all, least, narrow) && prim_size_bytes(*narrow) < bytes;
}

static void note_let(Narrow *s, const KernStm *stm) {
  const Term *t = stm->u.term;
  const Var *var = stm->binders[0];
  PrimType narrow;
  if (!prim_is_int(t->type) && t->type != PRIM_BOOL) return;
  if (!is_candidate(s, t, &narrow)) return;
  bool is_source = t->kind == TERM_CONVERT && has_few_bits(t->u.arg->type);
  map_put(s->lets, var,
          new_node(Let, .var = var, .term = t, .narrow = narrow,
                   .source = is_source ? t->u.arg : NULL));
  s->found = s->found || !is_source;
}

static void see_number(KernVisitor *v, const KernStm *stm) {
  if (stm->kind == KERN_LET) note_let(v->state, stm);
}

// ---- what others need

// Truth values are what they were.
static void must_stay(void *state, const Var *var) {
  Narrow *s = state;
  Let *let = map_get(s->lets, var);
  if (!let || let->stays || let->term->type == PRIM_BOOL) return;
  let->stays = s->changed = true;
}

// let x: u8 = u8 y
static bool is_end(const KernStm *stm) {
  const Term *t = stm->u.term;
  return t->kind == TERM_CONVERT && t->u.arg->kind == TERM_VAR && prim_is_int(t->type) &&
         prim_is_int(t->u.arg->type) && prim_size_bytes(t->type) <= 2;
}

static bool has_narrow_operands(const Narrow *s, const Term *t) {
  const Term *operands[3];
  PrimType type;
  int count = number_operands(t, operands, &type);
  for (int i = 0; i < count; i++)
    if (!is_narrow_operand(s, operands[i])) return false;
  return true;
}

// Lets that can be narrow, and what ends them, need no wide operands.
static void see_use(KernVisitor *v, const KernStm *stm) {
  Narrow *s = v->state;
  s->served = NULL;
  if (stm->kind != KERN_LET) return;
  Let *let = map_get(s->lets, stm->binders[0]);
  if (let && !let->stays && !has_narrow_operands(s, let->term))
    let->stays = s->changed = true;
  if (is_end(stm) || (let && !let->stays)) s->served = stm->u.term;
}

static void see_other_use(KernVisitor *v, const Term *t) {
  Narrow *s = v->state;
  if (t != s->served)
    term_each_var(t, must_stay, s);
  else if (t->kind == TERM_SELECT)
    term_each_var(t->u.select.condition, must_stay, s);
}

// ---- the result

// The same number of few bits.
static const Term *now_narrow(const Narrow *s, const Term *t) {
  const Let *let = t->kind == TERM_VAR ? map_get(s->lets, t->u.var) : NULL;
  if (let && let->source) return now_narrow(s, let->source);
  const Var *renamed = let && !let->stays ? map_get(s->renamed, t->u.var) : NULL;
  return renamed ? term_var(renamed) : t;
}

// What had more bits, all copies of its sign, has them in a wider type without a sign, too, which
// would extend fewer by zeros.
static const Term *narrow_operand(const Narrow *s, const Term *t, PrimType to) {
  const Term *now = now_narrow(s, t);
  if (now != t && prim_extends_by_zeros(to, now->type))
    now = term_convert(prim_signed(to), now);
  return term_convert(to, now);
}

static const Term *narrow_term(Narrow *s, const Let *let) {
  const Term *t = let->term;
  if (t->kind == TERM_VAR) return narrow_operand(s, t, let->narrow);
  if (t->kind == TERM_CONVERT) return narrow_operand(s, t->u.arg, let->narrow);
  if (t->kind == TERM_SELECT)
    return term_select(t->u.select.condition,
                       narrow_operand(s, t->u.select.a, let->narrow),
                       narrow_operand(s, t->u.select.b, let->narrow));
  const Term *a = narrow_operand(s, t->u.op.args[0], let->narrow);
  if (op_arity(t->u.op.op) == 1) return term_op1(t->u.op.op, a);
  return term_op2(t->u.op.op, a, narrow_operand(s, t->u.op.args[1], let->narrow));
}

static void add_narrow(Narrow *s, KernBuilder *b, const Let *let) {
  if (let->term->type == PRIM_BOOL) {
    kern_let_var(b, let->var, narrow_term(s, let));
    return;
  }
  const Var *var = var_new(b->c, let->var->name, type_scalar(let->narrow), b->loc);
  kern_let_var(b, var, narrow_term(s, let));
  map_put(s->renamed, let->var, var);
}

static const KernBlock *narrow_block(KernMapper *m, const KernBlock *block) {
  Narrow *s = m->state;
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    const KernStm *stm = &block->stms[i];
    const Let *let = stm->kind == KERN_LET ? map_get(s->lets, stm->binders[0]) : NULL;
    b.loc = stm->loc;
    if (let && !let->source && !let->stays)
      add_narrow(s, &b, let);
    else if (stm->kind == KERN_LET && is_end(stm))
      kern_let_var(&b, stm->binders[0],
                   narrow_operand(s, stm->u.term->u.arg, stm->u.term->type));
    else
      kern_add(&b, kern_map_stm(m, stm));
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_narrow(Compiler *c, const Kern *kern) {
  Narrow s = { .mapper = { .c = c, .block = narrow_block },
               .ranges = kern_ranges(kern->body),
               .lets = map_new(NULL),
               .renamed = map_new(NULL) };
  s.mapper.state = &s;
  KernVisitor lets = { .stm = see_number, .state = &s };
  kern_visit_block(&lets, kern->body);
  if (!s.found) return kern;
  KernVisitor uses = { .stm = see_use, .term = see_other_use, .state = &s };
  do {
    s.changed = false;
    kern_visit_block(&uses, kern->body);
  } while (s.changed);
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = kern_live_block(c, narrow_block(&s.mapper, kern->body));
  return out;
}
