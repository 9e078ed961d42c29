// #[stripmine(1)] loop p = a for i < n do f i p
//   =>  loop p = a for j < q do (loop p = p for k < m do f (j * m + k) p)
//       and for the n - q * m rounds that are left over, where m and q are about sqrt n
//
// Needs: binders unique.  Keeps: that.
// Why: reverse mode keeps what each round of a loop begins with, and runs inner loops a second
// time.  Of n rounds it so keeps q and m instead; with #[stripmine(k)], which makes k + 1 loops of
// each, about k + 1 times the (k + 1)th root of n, for k more runs of the rounds.
#include "core/ad/reverse.h"

typedef struct Strips {
  Builder *b;
  const Exp *loop;  // the original, of which all are copies
} Strips;

// Rounds `first` to `first + count` of the loop, from values `inits` on.
typedef struct Rounds {
  Atom first, count;
  const Atom *inits;
  int levels;  // of loops around the innermost
} Rounds;

static void add_rounds(const Strips *s, const Rounds *rounds, Atom *out);

// A copy of the loop, of so many rounds, whose body is still the original's.
static Exp *loop_of(const Strips *s, Atom count, const Atom *inits) {
  Exp *e = mem_copy(core_rename_exp(s->b->c, NULL, s->loop), sizeof *s->loop);
  e->u.loop.inits = inits;
  e->u.loop.bound = count;
  return e;
}

static const Atom *params_of(const Exp *loop) {
  int count = loop->u.loop.param_count;
  Atom *params = new_array(Atom, count);
  for (int k = 0; k < count; k++)
    params[k] = atom_var(loop->u.loop.params[k]);
  return params;
}

static const Var *round_index(const Strips *s) {
  return var_new(s->b->c, s->loop->u.loop.index->name, type_scalar(PRIM_I64), s->b->loc);
}

static void add_loop(const Strips *s, const Rounds *rounds, Atom *out) {
  Exp *e = loop_of(s, rounds->count, rounds->inits);
  Builder body = builder_new(s->b->c, s->b->loc);
  const Var *k = round_index(s);
  Atom i = size_add(&body, rounds->first, atom_var(k));
  const Var **index = new_array(const Var *, 1);
  index[0] = e->u.loop.index;
  core_let_vars(&body, index, 1, exp_atom(i));
  core_add_body(&body, e->u.loop.body);
  e->u.loop.index = k;
  e->u.loop.body = core_body(&body, e->u.loop.body->results, e->u.loop.param_count);
  core_let_n(s->b, "rounds", e, out);
}

// About the root of a number that is not negative, at least 1; it need not be exact.
static Atom root(Builder *b, Atom n, int degree) {
  Atom x = core_let(b, "x", exp_convert(PRIM_F32, n));
  Atom power = ad_op2(b, OP_POW, x, ad_number(PRIM_F32, 1.0 / degree));
  Atom up = core_let(b, "root", exp_convert(PRIM_I64, ad_op1(b, OP_CEIL, power)));
  return ad_op2(b, OP_MAX, up, atom_i64(1));
}

// Loops of `strip` rounds each, one after the other in a loop.
static void add_strips(const Strips *s, const Rounds *rounds, Atom strips, Atom strip,
                       Atom *out) {
  Exp *e = loop_of(s, strips, rounds->inits);
  int count = e->u.loop.param_count;
  Builder body = builder_new(s->b->c, s->b->loc);
  const Var *j = round_index(s);
  Atom first = size_add(&body, rounds->first, size_mul(&body, atom_var(j), strip));
  Rounds within = { first, strip, params_of(e), rounds->levels - 1 };
  Strips inner = { &body, s->loop };
  Atom *results = new_array(Atom, count);
  add_rounds(&inner, &within, results);
  e->u.loop.index = j;
  e->u.loop.body = core_body(&body, results, count);
  core_let_n(s->b, "strips", e, out);
}

static void add_rounds(const Strips *s, const Rounds *rounds, Atom *out) {
  if (!rounds->levels) {
    add_loop(s, rounds, out);
    return;
  }
  Builder *b = s->b;
  Atom pieces = root(b, rounds->count, rounds->levels + 1);
  Atom strip = ad_op2(b, OP_QUOT, rounds->count, pieces);
  strip = ad_op2(b, OP_MAX, strip, atom_i64(1));
  Atom strips = ad_op2(b, OP_QUOT, rounds->count, strip),
       done = size_mul(b, strips, strip);
  Atom *so_far = new_array(Atom, s->loop->u.loop.param_count);
  add_strips(s, rounds, strips, strip, so_far);
  Rounds rest = { size_add(b, rounds->first, done), size_sub(b, rounds->count, done),
                  so_far, rounds->levels - 1 };
  add_rounds(s, &rest, out);
}

void reverse_stripmine(Builder *b, const Stm *stm) {
  const StmAttrs *attrs = b->attrs;
  StmAttrs without = *attrs;
  without.stripmine = 0;
  b->attrs = mem_copy(&without, sizeof without);
  Atom count = reverse_trips(b, stm->exp->u.loop.bound);
  Strips s = { b, stm->exp };
  Rounds all = { atom_i64(0), count, stm->exp->u.loop.inits, attrs->stripmine };
  Atom *out = new_array(Atom, stm->binder_count);
  add_rounds(&s, &all, out);
  for (int k = 0; k < stm->binder_count; k++)
    core_let_vars(b, stm->binders + k, 1, exp_atom(out[k]));
  b->attrs = attrs;
}
