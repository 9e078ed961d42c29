#include "core/passes.h"
#include "core/programs.h"

// map n (\i -> f i) (iota n) over xs: [n]i64, for one f per test.
typedef struct Frame {
  Compiler *c;
  const Var *params[2];  // n, xs
  const Var *i;
  Atom n, xs, at;
  Builder outer, inner;
} Frame;

static Frame frame_new(Compiler *c) {
  Frame f = { .c = c,
              .outer = builder_new(c, nowhere),
              .inner = builder_new(c, nowhere) };
  f.params[0] = param(c, "n", type_scalar(PRIM_I64));
  f.n = atom_var(f.params[0]);
  f.params[1] = param(c, "xs", vector(PRIM_I64, f.n));
  f.xs = atom_var(f.params[1]);
  f.i = param(c, "i", type_scalar(PRIM_I64));
  f.at = atom_var(f.i);
  return f;
}

static Atom op(Builder *b, PrimOp o, Atom x, Atom y) {
  return core_let(b, "t", exp_op2(o, x, y));
}

static bool has_check(const Body *body);

static void look(CoreVisitor *v, const Body *body) {
  *(bool *)v->state |= has_check(body);
}

static bool has_check(const Body *body) {
  bool found = false;
  CoreVisitor v = { .body = look, .state = &found };
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    found |= e->kind == EXP_INDEX && e->u.index.checked;
    core_visit_exp(&v, e);
  }
  return found;
}

// Does the index of the map whose function returns `result` still need its check?
static bool needs_check(Frame *f, Atom result) {
  Atom is = core_let(&f->outer, "is", exp_iota(f->n, atom_i64(0), atom_i64(1)));
  Lambda fn = lambda_new(&f->i, 1, core_body(&f->inner, &result, 1));
  Atom ys = core_let(&f->outer, "ys", exp_map(f->n, fn, &is, 1));
  const Core *core = program_of(f->c, f->params, 2, core_body(&f->outer, &ys, 1));
  core_check(f->c, core, false);
  core = simplify(f->c, core);
  core_check(f->c, core, false);
  return has_check(core->entries[0]->body);
}

static bool index_needs_check(Frame *f, Atom position) {
  return needs_check(f, core_let(&f->inner, "x", exp_index(f->xs, &position, 1, true)));
}

// if condition then xs[position] else 0
static bool guarded_needs_check(Frame *f, Atom condition, PrimOp o, Atom offset) {
  Builder then_b = builder_new(f->c, nowhere), else_b = builder_new(f->c, nowhere);
  Atom position = op(&then_b, o, f->at, offset);
  Atom x = core_let(&then_b, "x", exp_index(f->xs, &position, 1, true));
  Atom zero = atom_i64(0);
  const Exp *cond =
      exp_if(condition, core_body(&then_b, &x, 1), core_body(&else_b, &zero, 1));
  return needs_check(f, core_let(&f->inner, "r", cond));
}

static void clamped_neighbours_need_none(Compiler *c) {
  Frame f = frame_new(c);
  Atom left = op(&f.inner, OP_SUB, f.at, atom_i64(1));
  CHECK(!index_needs_check(&f, op(&f.inner, OP_MAX, left, atom_i64(0))));
  f = frame_new(c);
  Atom right = op(&f.inner, OP_ADD, f.at, atom_i64(1));
  Atom last = op(&f.inner, OP_SUB, f.n, atom_i64(1));
  CHECK(!index_needs_check(&f, op(&f.inner, OP_MIN, right, last)));
}

static void neighbours_need_one(Compiler *c) {
  Frame f = frame_new(c);
  CHECK(index_needs_check(&f, op(&f.inner, OP_SUB, f.at, atom_i64(1))));
  f = frame_new(c);
  CHECK(index_needs_check(&f, op(&f.inner, OP_ADD, f.at, atom_i64(1))));
}

static void reversal_needs_none(Compiler *c) {
  Frame f = frame_new(c);
  Atom last = op(&f.inner, OP_SUB, f.n, atom_i64(1));
  CHECK(!index_needs_check(&f, op(&f.inner, OP_SUB, last, f.at)));
}

static void remainder_by_the_size_needs_none(Compiler *c) {
  Frame f = frame_new(c);
  Atom far = op(&f.inner, OP_MUL, f.at, atom_i64(7919));
  CHECK(!index_needs_check(&f, op(&f.inner, OP_MOD, far, f.n)));
}

static void branches_know_their_condition(Compiler *c) {
  Frame f = frame_new(c);
  Atom last = op(&f.inner, OP_SUB, f.n, atom_i64(1));
  CHECK(!guarded_needs_check(&f, op(&f.inner, OP_LT, f.at, last), OP_ADD, atom_i64(1)));
  f = frame_new(c);
  CHECK(guarded_needs_check(&f, op(&f.inner, OP_LE, f.at, f.n), OP_ADD, atom_i64(1)));
  f = frame_new(c);
  CHECK(!guarded_needs_check(&f, op(&f.inner, OP_LT, atom_i64(0), f.at), OP_SUB,
                             atom_i64(1)));
  f = frame_new(c);
  CHECK(!guarded_needs_check(&f, op(&f.inner, OP_NE, f.at, atom_i64(0)), OP_SUB,
                             atom_i64(1)));
  f = frame_new(c);
  CHECK(guarded_needs_check(&f, op(&f.inner, OP_EQ, f.at, atom_i64(0)), OP_SUB,
                            atom_i64(1)));
}

// Of i + 2 < n follows i + 1 < n, and not i + 3 < n.
static void sums_below_bound_their_parts(Compiler *c) {
  for (int more = 1; more <= 3; more++) {
    Frame f = frame_new(c);
    Atom further = op(&f.inner, OP_ADD, f.at, atom_i64(2));
    Atom inside = op(&f.inner, OP_LT, further, f.n);
    CHECK(guarded_needs_check(&f, inside, OP_ADD, atom_i64(more)) == (more == 3));
  }
}

// if i == 0 then known else xs[i - 1] < 3
static Atom either_of(Frame *f, bool known) {
  Builder yes = builder_new(f->c, nowhere), no = builder_new(f->c, nowhere);
  Atom first = op(&f->inner, OP_EQ, f->at, atom_i64(0)), decided = atom_bool(known);
  Atom at = op(&no, OP_SUB, f->at, atom_i64(1));
  Atom x = core_let(&no, "x", exp_index(f->xs, &at, 1, true));
  Atom small = op(&no, OP_LT, x, atom_i64(3));
  const Body *rest = core_body(&no, &small, 1);
  return core_let(&f->inner, "either", exp_if(first, core_body(&yes, &decided, 1), rest));
}

// Where `c || b` is false, so is c: what is asked again is known.
static void junctions_know_their_parts(Compiler *c) {
  for (int known = 0; known < 2; known++) {
    Frame f = frame_new(c);
    Builder yes = builder_new(c, nowhere), no = builder_new(c, nowhere);
    Atom either = either_of(&f, known);
    Atom left = op(&f.inner, OP_SUB, f.at, atom_i64(1));
    Atom x = core_let(&no, "x", exp_index(f.xs, &left, 1, true));
    Atom y = core_let(&f.inner, "y",
                      exp_if(either, core_body(&yes, &f.n, 1), core_body(&no, &x, 1)));
    CHECK(needs_check(&f, y) == !known);
  }
}

// xs[if i == border then far else i + step]
static bool ring_needs_check(Compiler *c, bool at_end, int64_t step) {
  Frame f = frame_new(c);
  Builder yes = builder_new(c, nowhere), no = builder_new(c, nowhere);
  Atom last = op(&f.inner, OP_SUB, f.n, atom_i64(1)), zero = atom_i64(0);
  Atom next = op(&f.inner, OP_ADD, f.at, atom_i64(step));
  Atom border = op(&f.inner, OP_EQ, f.at, at_end ? last : zero),
       far = at_end ? zero : last;
  Atom at = core_let(&f.inner, "at",
                     exp_if(border, core_body(&yes, &far, 1), core_body(&no, &next, 1)));
  return index_needs_check(&f, at);
}

static void neighbours_in_a_ring_need_none(Compiler *c) {
  CHECK(!ring_needs_check(c, false, -1));
  CHECK(!ring_needs_check(c, true, 1));
  CHECK(ring_needs_check(c, false, 1));
  CHECK(ring_needs_check(c, true, -1));
  CHECK(ring_needs_check(c, false, -2));
}

// What holds in a branch does not hold after it.
static void conditions_end_with_their_branch(Compiler *c) {
  Frame f = frame_new(c);
  Builder b = builder_new(c, nowhere);
  Atom condition = op(&f.inner, OP_LT, atom_i64(0), f.at);
  Atom left = op(&f.inner, OP_SUB, f.at, atom_i64(1));
  Atom x = core_let(&b, "x", exp_index(f.xs, &left, 1, true));
  Builder e = builder_new(c, nowhere);
  Atom r = core_let(&f.inner, "r",
                    exp_if(condition, core_body(&b, &x, 1), core_body(&e, &f.n, 1)));
  Atom y = core_let(&f.inner, "y", exp_index(f.xs, &left, 1, true));
  CHECK(needs_check(&f, op(&f.inner, OP_ADD, r, y)));
}

static void constant_ranges_multiply(Compiler *c) {
  Frame f = frame_new(c);
  f.n = atom_i64(16);
  f.params[1] = param(c, "xs", vector(PRIM_I64, atom_i64(16 * 17)));
  f.xs = atom_var(f.params[1]);
  Atom row = op(&f.inner, OP_MUL, f.at, atom_i64(17));
  CHECK(!index_needs_check(&f, op(&f.inner, OP_ADD, row, f.at)));
}

// Does an array of 16 need a check for [op x by], of any x?
static bool of_any_needs_check(Compiler *c, PrimOp what, int64_t by) {
  Frame f = frame_new(c);
  f.n = atom_i64(16);
  f.params[1] = param(c, "xs", vector(PRIM_I64, f.n));
  f.xs = atom_var(f.params[1]);
  Atom any = core_let(&f.inner, "any", exp_index(f.xs, &f.at, 1, false));
  return index_needs_check(&f, op(&f.inner, what, any, atom_i64(by)));
}

static void parts_of_any_number(Compiler *c) {
  CHECK(!of_any_needs_check(c, OP_AND, 15));
  CHECK(of_any_needs_check(c, OP_AND, 16));
  CHECK(of_any_needs_check(c, OP_AND, -1));
  CHECK(!of_any_needs_check(c, OP_MOD, 16));
  CHECK(of_any_needs_check(c, OP_MOD, 17));
  CHECK(of_any_needs_check(c, OP_MOD, -16));
  CHECK(of_any_needs_check(c, OP_REM, 16));
}

// Does (replicate (n + more) 0)[i + by] need its check?
static bool longer_needs_check(Compiler *c, int64_t more, int64_t by) {
  Frame f = frame_new(c);
  Atom size = op(&f.outer, OP_ADD, f.n, atom_i64(more));
  Atom table = core_let(&f.outer, "table", exp_replicate(size, atom_i64(0)));
  DimIndex first = { .start = atom_i64(0) };
  const Exp *changed = exp_update(table, &first, f.n, true);
  f.xs = core_let(&f.outer, "changed", changed);
  return index_needs_check(&f, op(&f.inner, OP_ADD, f.at, atom_i64(by)));
}

static void arrays_that_are_longer(Compiler *c) {
  CHECK(!longer_needs_check(c, 1, 1));
  CHECK(!longer_needs_check(c, 2, 1));
  CHECK(!longer_needs_check(c, 2, 2));
  CHECK(longer_needs_check(c, 1, 2));
  CHECK(longer_needs_check(c, -1, 1));
}

static void count_conversion(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    *(int *)v->state +=
        e->kind == EXP_CONVERT && atom_type(e->u.convert.atom).elem == PRIM_I64;
    core_visit_exp(v, e);
  }
}

// map (\i -> i64 (to (i + by))) (iota bound), where the bound is the parameter if there is one, as
// an i64: does it still convert?
static bool number_converts(Compiler *c, const Var *size, int64_t bound, PrimType to,
                            int64_t by) {
  Frame f = frame_new(c);
  f.n = size ? atom_var(size) : atom_i64(bound);
  f.params[0] = size ? size : f.params[0];
  f.params[1] = param(c, "xs", vector(PRIM_I64, atom_i64(4)));
  if (size && size->type.elem != PRIM_I64)
    f.n = core_let(&f.outer, "bound", exp_convert(PRIM_I64, f.n));
  Atom at = by ? op(&f.inner, OP_ADD, f.at, atom_i64(by)) : f.at;
  Atom there = core_let(&f.inner, "there", exp_convert(to, at));
  Atom back = core_let(&f.inner, "back", exp_convert(PRIM_I64, there));
  Atom is = core_let(&f.outer, "is", exp_iota(f.n, atom_i64(0), atom_i64(1)));
  Lambda fn = lambda_new(&f.i, 1, core_body(&f.inner, &back, 1));
  Atom ys = core_let(&f.outer, "ys", exp_map(f.n, fn, &is, 1));
  const Core *core = program_of(c, f.params, 2, core_body(&f.outer, &ys, 1));
  core_check(c, core, false);
  core = simplify(c, core);
  core_check(c, core, false);
  int count = 0;
  CoreVisitor v = { .body = count_conversion, .state = &count };
  count_conversion(&v, core->entries[0]->body);
  return count > 0;
}

static void numbers_of_rounds_go_there_and_back(Compiler *c) {
  const Var *m = param(c, "m", type_scalar(PRIM_I32));
  const Var *n = param(c, "n", type_scalar(PRIM_I64));
  CHECK(!number_converts(c, NULL, 8, PRIM_I32, 0));
  CHECK(!number_converts(c, m, 0, PRIM_I32, 0));
  CHECK(number_converts(c, m, 0, PRIM_I16, 0));
  CHECK(number_converts(c, n, 0, PRIM_I32, 0));
  CHECK(!number_converts(c, NULL, 128, PRIM_I8, 0));
  CHECK(number_converts(c, NULL, 129, PRIM_I8, 0));
  CHECK(number_converts(c, NULL, 8, PRIM_U8, 0));
  CHECK(!number_converts(c, NULL, 8, PRIM_I8, 1));
  CHECK(number_converts(c, NULL, 8, PRIM_I8, -1));
  CHECK(number_converts(c, m, 0, PRIM_I32, 1));
}

int main(void) {
  Compiler *c = new_compiler();
  clamped_neighbours_need_none(c);
  neighbours_need_one(c);
  reversal_needs_none(c);
  remainder_by_the_size_needs_none(c);
  branches_know_their_condition(c);
  sums_below_bound_their_parts(c);
  junctions_know_their_parts(c);
  neighbours_in_a_ring_need_none(c);
  conditions_end_with_their_branch(c);
  constant_ranges_multiply(c);
  parts_of_any_number(c);
  arrays_that_are_longer(c);
  numbers_of_rounds_go_there_and_back(c);
}
