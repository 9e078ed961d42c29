#include "core/passes.h"
#include "core/programs.h"

// A program with parameters x, y: i64, f: f32 and p: bool, n: i64 and xs: [n]i64.
typedef struct Frame {
  Compiler *c;
  const Var *params[6];
  Atom x, y, f, p, n, xs;
  Builder b;
} Frame;

static Frame frame_new(Compiler *c) {
  Frame f = { .c = c, .b = builder_new(c, nowhere) };
  f.params[0] = param(c, "n", type_scalar(PRIM_I64));
  f.n = atom_var(f.params[0]);
  f.params[1] = param(c, "x", type_scalar(PRIM_I64));
  f.params[2] = param(c, "y", type_scalar(PRIM_I64));
  f.params[3] = param(c, "f", type_scalar(PRIM_F32));
  f.params[4] = param(c, "p", type_scalar(PRIM_BOOL));
  f.params[5] = param(c, "xs", vector(PRIM_I64, f.n));
  f.x = atom_var(f.params[1]);
  f.y = atom_var(f.params[2]);
  f.f = atom_var(f.params[3]);
  f.p = atom_var(f.params[4]);
  f.xs = atom_var(f.params[5]);
  return f;
}

// The simplified body with these results; the result is checked.
static const Body *simplified(Frame *f, const Atom *results, int count) {
  const Core *core = program_of(f->c, f->params, 6, core_body(&f->b, results, count));
  core_check(f->c, core, false);
  core = simplify(f->c, core);
  core_check(f->c, core, false);
  return core->entries[0]->body;
}

// What `let r = exp in {r}` becomes: an atom if no statement is left.
static bool becomes(Frame *f, const Exp *exp, Atom expected) {
  Atom r = core_let(&f->b, "r", exp);
  const Body *body = simplified(f, &r, 1);
  return body->stm_count == 0 && atom_equal(body->results[0], expected);
}

static bool stays(Frame *f, const Exp *exp) {
  Atom r = core_let(&f->b, "r", exp);
  const Body *body = simplified(f, &r, 1);
  return body->stm_count > 0 && body->stms[body->stm_count - 1].exp->kind == exp->kind;
}

// The expression of the only statement that is left.
static const Exp *only(Frame *f, const Exp *exp) {
  Atom r = core_let(&f->b, "r", exp);
  const Body *body = simplified(f, &r, 1);
  CHECK(body->stm_count == 1);
  return body->stms[0].exp;
}

static Atom f32_of(float value) { return atom_const(prim_f32(value)); }

static void folds_and_computes_with_units(Compiler *c) {
  Frame f = frame_new(c);
  CHECK(becomes(&f, exp_op2(OP_ADD, atom_i64(2), atom_i64(3)), atom_i64(5)));
  CHECK(becomes(&f, exp_op2(OP_ADD, atom_i64(0), f.x), f.x));
  CHECK(becomes(&f, exp_op2(OP_MUL, f.x, atom_i64(0)), atom_i64(0)));
  CHECK(becomes(&f, exp_op2(OP_SUB, f.x, f.x), atom_i64(0)));
  CHECK(becomes(&f, exp_op2(OP_MUL, f.f, f32_of(1)), f.f));
  CHECK(becomes(&f, exp_op2(OP_LAND, f.p, atom_bool(false)), atom_bool(false)));
}

static void leaves_inexact_and_trapping_operations(Compiler *c) {
  Frame f = frame_new(c);
  CHECK(stays(&f, exp_op2(OP_ADD, f.f, f32_of(0))));  // -0.0 + 0.0 is 0.0
  CHECK(stays(&f, exp_op2(OP_MUL, f.f, f32_of(0))));  // NaN
  CHECK(stays(&f, exp_op2(OP_SUB, f.f, f.f)));
  CHECK(stays(&f, exp_op2(OP_EQ, f.f, f.f)));
  CHECK(stays(&f, exp_op2(OP_DIV, atom_i64(1), atom_i64(0))));
}

static void regroups_sums(Compiler *c) {
  Frame f = frame_new(c);
  Atom a = core_let(&f.b, "a", exp_op2(OP_ADD, f.x, atom_i64(3)));
  CHECK(becomes(&f, exp_op2(OP_SUB, a, atom_i64(3)), f.x));
  Atom b = core_let(&f.b, "b", exp_op2(OP_ADD, f.x, f.y));
  CHECK(becomes(&f, exp_op2(OP_SUB, b, f.x), f.y));
  Atom d = core_let(&f.b, "d", exp_op2(OP_SUB, f.x, f.y));
  CHECK(becomes(&f, exp_op2(OP_ADD, d, f.y), f.x));
}

static void skips_conversions_that_lose_nothing(Compiler *c) {
  Frame f = frame_new(c);
  Atom low = core_let(&f.b, "low", exp_convert(PRIM_I32, f.x));
  Atom wide = core_let(&f.b, "wide", exp_convert(PRIM_I64, low));
  CHECK(becomes(&f, exp_convert(PRIM_I32, wide), low) == false);
  const Exp *back = only(&f, exp_convert(PRIM_I32, wide));
  CHECK(back->kind == EXP_CONVERT && atom_equal(back->u.convert.atom, f.x));
  CHECK(stays(&f, exp_convert(PRIM_I64, low)));
}

// What `to (middle v)` becomes for a parameter v, applied to the value.
static Prim converted(Compiler *c, PrimType middle, PrimType to, Prim value) {
  Builder b = builder_new(c, nowhere);
  const Var *v = param(c, "v", type_scalar(value.type));
  Atom m = core_let(&b, "m", exp_convert(middle, atom_var(v)));
  Atom r = core_let(&b, "r", exp_convert(to, m));
  const Core *core = program_of(c, &v, 1, core_body(&b, &r, 1));
  const Body *body = simplify(c, core)->entries[0]->body;
  for (int i = 0; i < body->stm_count; i++)
    value = prim_convert(body->stms[i].exp->u.convert.to, value);
  return value;
}

static void conversions_in_a_row_keep_their_result(Compiler *c) {
  const double values[] = { -1, 100, 200, -32768, 4e9, -1.5, 1e30 };
  for (int triple = 0; triple < PRIM_COUNT * PRIM_COUNT * PRIM_COUNT; triple++) {
    PrimType from = triple % PRIM_COUNT, middle = triple / PRIM_COUNT % PRIM_COUNT;
    PrimType to = triple / PRIM_COUNT / PRIM_COUNT;
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
      Prim value = prim_convert(from, prim_convert(PRIM_I64, prim_f64(values[i])));
      if (prim_is_float(from)) value = prim_float(from, values[i]);
      Prim expected = prim_convert(to, prim_convert(middle, value));
      CHECK(prim_identical(converted(c, middle, to, value), expected));
    }
  }
}

static void indexes_what_is_known(Compiler *c) {
  Frame f = frame_new(c);
  Atom is = core_let(&f.b, "is", exp_iota(atom_i64(10), f.x, atom_i64(2)));
  const Exp *e = only(&f, exp_index(is, (Atom[]){ atom_i64(3) }, 1, true));
  CHECK(e->kind == EXP_OP && atom_is_i64(e->u.op.args[1], 6));
  Atom r = core_let(&f.b, "r", exp_replicate(atom_i64(5), f.x));
  CHECK(becomes(&f, exp_index(r, (Atom[]){ atom_i64(4) }, 1, true), f.x));
  Atom l = core_let(&f.b, "l", exp_array((Atom[]){ f.x, f.y }, 2, type_scalar(PRIM_I64)));
  CHECK(becomes(&f, exp_index(l, (Atom[]){ atom_i64(1) }, 1, true), f.y));
  CHECK(stays(&f, exp_index(r, (Atom[]){ atom_i64(5) }, 1, true)));  // fails when it runs
}

static void composes_slices(Compiler *c) {
  Frame f = frame_new(c);
  DimIndex half = dim_slice(f.x, f.y, atom_i64(2));
  Atom part = core_let(&f.b, "part", exp_slice(f.xs, &half, false));
  const Body *body;
  Atom r = core_let(&f.b, "r", exp_index(part, (Atom[]){ atom_i64(3) }, 1, false));
  body = simplified(&f, &r, 1);
  CHECK(body->stm_count == 2 && body->stms[1].exp->kind == EXP_INDEX);
  CHECK(atom_equal(body->stms[1].exp->u.index.array, f.xs));
  CHECK(atom_is_i64(body->stms[0].exp->u.op.args[1], 6));
  Atom checked = core_let(&f.b, "checked", exp_slice(f.xs, &half, true));
  r = core_let(&f.b, "r", exp_index(checked, (Atom[]){ atom_i64(3) }, 1, false));
  CHECK(simplified(&f, &r, 1)
            ->stms[0]
            .exp->u.index.checked);  // the check of the slice stays
}

static void composes_views(Compiler *c) {
  Frame f = frame_new(c);
  Atom m = core_let(&f.b, "m", exp_replicate(f.n, f.xs));
  Atom t = core_let(&f.b, "t", exp_rearrange((int[]){ 1, 0 }, 2, m));
  const Exp *e = only(&f, exp_rearrange((int[]){ 1, 0 }, 2, t));
  CHECK(e->kind == EXP_REPLICATE);
  DimIndex whole = dim_slice(atom_i64(0), f.n, atom_i64(1));
  CHECK(becomes(&f, exp_slice(f.xs, &whole, true), f.xs));
}

static const Body *values(Frame *f, const Atom *atoms, int count) {
  Builder b = builder_new(f->c, nowhere);
  return core_body(&b, atoms, count);
}

static void takes_known_branches(Compiler *c) {
  Frame f = frame_new(c);
  const Body *x = values(&f, &f.x, 1), *y = values(&f, &f.y, 1);
  CHECK(becomes(&f, exp_if(atom_bool(false), x, y), f.y));
  CHECK(becomes(&f, exp_if(f.p, x, x), f.x));
  Atom yes = atom_bool(true), no = atom_bool(false);
  CHECK(becomes(&f, exp_if(f.p, values(&f, &yes, 1), values(&f, &no, 1)), f.p));
  Atom first[] = { f.x, f.y }, second[] = { f.x, f.n }, out[2];
  core_let_n(&f.b, "r", exp_if(f.p, values(&f, first, 2), values(&f, second, 2)), out);
  const Body *body = simplified(&f, out, 2);
  CHECK(atom_equal(body->results[0], f.x) && body->stms[0].binder_count == 1);
}

static const Exp *loop_of(const Var **params, Atom *inits, int count, const Var *index,
                          Atom bound, const Body *body) {
  return new_node(Exp, .kind = EXP_LOOP,
                  .u.loop = { .params = params,
                              .inits = inits,
                              .param_count = count,
                              .form = CORE_FOR,
                              .index = index,
                              .bound = bound,
                              .body = body });
}

// loop a = x, s = 0 for i < bound do {a, s + a}
static void makes_loop_results(Frame *f, Atom bound, Atom out[2]) {
  const Var **params = new_array(const Var *, 2);
  params[0] = param(f->c, "a", type_scalar(PRIM_I64));
  params[1] = param(f->c, "s", type_scalar(PRIM_I64));
  Builder b = builder_new(f->c, nowhere);
  Atom next[] = { atom_var(params[0]), atom_var(params[1]) };
  next[1] = core_let(&b, "t", exp_op2(OP_ADD, next[1], next[0]));
  Atom *inits = new_array(Atom, 2);
  inits[0] = f->x;
  inits[1] = atom_i64(0);
  const Var *i = param(f->c, "i", type_scalar(PRIM_I64));
  core_let_n(&f->b, "r", loop_of(params, inits, 2, i, bound, core_body(&b, next, 2)),
             out);
}

static void drops_loops_and_parameters_that_do_nothing(Compiler *c) {
  Frame f = frame_new(c);
  Atom out[2];
  makes_loop_results(&f, f.y, out);
  const Body *body = simplified(&f, out, 2);
  CHECK(atom_equal(body->results[0], f.x));
  CHECK(body->stms[0].exp->u.loop.param_count == 1);
  f = frame_new(c);
  makes_loop_results(&f, atom_i64(0), out);
  body = simplified(&f, out, 2);
  CHECK(body->stm_count == 0 && atom_is_i64(body->results[1], 0));
  f = frame_new(c);
  makes_loop_results(&f, atom_i64(1), out);
  body = simplified(&f, out, 2);
  CHECK(body->stm_count == 0 && atom_equal(body->results[1], f.x));
}

// map n (\i x -> {x, y, xs[i + offset]}) (iota n) xs, and with a guard i < n - 1 if asked for
static const Body *map_body(Frame *f, Atom offset) {
  const Var *params[] = { param(f->c, "i", type_scalar(PRIM_I64)),
                          param(f->c, "x", type_scalar(PRIM_I64)) };
  Builder b = builder_new(f->c, nowhere);
  Atom position = core_let(&b, "at", exp_op2(OP_ADD, atom_var(params[0]), offset));
  Atom results[] = { atom_var(params[1]), f->y, f->y };
  results[2] = core_let(&b, "e", exp_index(f->xs, &position, 1, true));
  Atom arrays[] = { core_let(&f->b, "is", exp_iota(f->n, atom_i64(0), atom_i64(1))),
                    f->xs };
  Lambda fn = lambda_new(params, 2, core_body(&b, results, 3));
  Atom out[3];
  core_let_n(&f->b, "r", exp_map(f->n, fn, arrays, 2), out);
  return simplified(f, out, 3);
}

static const Exp *find(const Body *body, ExpKind kind) {
  for (int i = 0; i < body->stm_count; i++) {
    if (body->stms[i].exp->kind == kind) return body->stms[i].exp;
  }
  return NULL;
}

static void splits_results_off_a_map(Compiler *c) {
  Frame f = frame_new(c);
  const Body *body = map_body(&f, atom_i64(0));
  CHECK(atom_equal(body->results[0], f.xs));
  CHECK(find(body, EXP_REPLICATE) != NULL);
  const Exp *map = find(body, EXP_MAP);
  CHECK(map && map->u.soac.array_count == 1 && map->u.soac.fn.body->result_count == 1);
}

static const Exp *index_in_map(Frame *f, Atom offset) {
  const Exp *map = find(map_body(f, offset), EXP_MAP);
  const Exp *index = map ? find(map->u.soac.fn.body, EXP_INDEX) : NULL;
  if (!index) abort();
  return index;
}

static int count_of(const Body *body, PrimOp op) {
  int count = 0;
  for (int i = 0; i < body->stm_count; i++)
    count += body->stms[i].exp->kind == EXP_OP && body->stms[i].exp->u.op.op == op;
  return count;
}

static const Body *power(Compiler *c, float exponent) {
  Frame f = frame_new(c);
  Atom r = core_let(&f.b, "r", exp_op2(OP_POW, f.f, f32_of(exponent)));
  return simplified(&f, &r, 1);
}

// As far as that is exact enough: of more than four factors in f64.
static void computes_small_constant_powers_by_products(Compiler *c) {
  Frame f = frame_new(c);
  CHECK(becomes(&f, exp_op2(OP_POW, f.f, f32_of(1)), f.f));
  CHECK(becomes(&f, exp_op2(OP_POW, f.f, f32_of(-0.0f)), f32_of(1)));
  static const int products[] = { [2] = 1, [3] = 2, [4] = 2 };
  for (int n = 2; n <= 4; n++) {
    CHECK(power(c, (float)n)->stm_count == products[n]);
    CHECK(count_of(power(c, (float)n), OP_MUL) == products[n]);
  }
  CHECK(count_of(power(c, -1), OP_DIV) == 1 && power(c, -1)->stm_count == 1);
  CHECK(count_of(power(c, -2), OP_DIV) == 1 && count_of(power(c, -2), OP_MUL) == 1);
  CHECK(count_of(power(c, 5), OP_MUL) == 3 && count_of(power(c, 5), OP_POW) == 0);
  CHECK(count_of(power(c, -3), OP_MUL) == 2 && count_of(power(c, -3), OP_DIV) == 1);
  CHECK(count_of(power(c, 65), OP_POW) == 1);
  CHECK(count_of(power(c, 1.3f), OP_POW) == 1);
}

static void computes_roots_and_powers_of_two_by_their_functions(Compiler *c) {
  CHECK(count_of(power(c, 0.5f), OP_POW) == 0);
  CHECK(count_of(power(c, -0.5f), OP_DIV) == 1);
  CHECK(count_of(power(c, 2.5f), OP_POW) == 0 && count_of(power(c, 2.5f), OP_MUL) == 2);
  CHECK(count_of(power(c, -1.5f), OP_DIV) == 1);
  CHECK(count_of(power(c, 0.75f), OP_POW) == 0 && count_of(power(c, 64.5f), OP_POW) == 1);
  Frame f = frame_new(c);
  CHECK(only(&f, exp_op2(OP_POW, f32_of(2), f.f))->u.op.op == OP_EXP2);
}

static void removes_checks_that_cannot_fail(Compiler *c) {
  Frame f = frame_new(c);
  CHECK(!index_in_map(&f, atom_i64(0))->u.index.checked);
  f = frame_new(c);
  CHECK(index_in_map(&f, atom_i64(1))->u.index.checked);
}

int main(void) {
  Compiler *c = new_compiler();
  folds_and_computes_with_units(c);
  leaves_inexact_and_trapping_operations(c);
  regroups_sums(c);
  skips_conversions_that_lose_nothing(c);
  conversions_in_a_row_keep_their_result(c);
  indexes_what_is_known(c);
  composes_slices(c);
  composes_views(c);
  takes_known_branches(c);
  drops_loops_and_parameters_that_do_nothing(c);
  splits_results_off_a_map(c);
  computes_small_constant_powers_by_products(c);
  computes_roots_and_powers_of_two_by_their_functions(c);
  removes_checks_that_cannot_fail(c);
}
