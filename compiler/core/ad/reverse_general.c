// Reductions and scans by operators without rules of their own, in parallel.
//
//   y = reduce op ne xs   =>  ls, rs = what is left and right of each element, combined: scans
//                             xs^ += (map (\l x r -> (l op x) op r) ls xs rs)^, where each has y^
//   ys = scan op ne xs    =>  cs, ds = derivatives of ys[i - 1] op xs[i] by both operands
//                             ss = ys^[i] + cs[i + 1] * ss[i + 1]: a scan of linear functions
//                             xs^ += ds * ss          where op is on scalars, of which several
//                             make matrices of derivatives, without the numbers that are always 0
//
// Both take the operator to be associative, and its neutral element and what it mentions from
// around it to be constant; expand.c makes loops of others.
#include "core/ad/reverse.h"

enum { SCAN_VALUES = 4 };  // at most: matrices grow with their square

// \left right -> op left right, in the builder.
static AtomVec combine(Builder *b, const RedOp *op, const Atom *left, const Atom *right) {
  Subst *s = subst_new();
  for (int k = 0; k < op->count; k++) {
    subst_put(s, op->op.params[k], left[k]);
    subst_put(s, op->op.params[op->count + k], right[k]);
  }
  const Body *body = core_rename_body(b->c, s, op->op.body);
  core_add_body(b, body);
  AtomVec results = { 0 };
  for (int k = 0; k < op->count; k++)
    vec_push(&results, ad_fit(b, body->results[k], atom_type(op->neutral[k])));
  return results;
}

// ---- what stands before each element

static RedOp flipped(Builder *b, const RedOp *op) {
  AdLambda l = ad_lambda(b);
  Atom *params = new_array(Atom, 2 * op->count);
  for (int k = 0; k < 2 * op->count; k++)
    params[k] = ad_param(&l, "x", atom_type(op->neutral[k % op->count]));
  AtomVec results = combine(&l.b, op, &params[op->count], params);
  RedOp out = *op;
  out.op = ad_lambda_end(&l, results.at, results.count);
  return out;
}

static const Atom *scanned(Builder *b, RedOp op, const Atom *arrays) {
  AdLambda l = ad_lambda(b);
  Atom *rows = new_array(Atom, op.count), *out = new_array(Atom, op.count);
  for (int k = 0; k < op.count; k++)
    rows[k] = ad_param(&l, "x", type_row(atom_type(arrays[k])));
  Soac soac = { .width = ad_length(arrays[0]),
                .fn = ad_lambda_end(&l, rows, op.count),
                .arrays = arrays,
                .array_count = op.count,
                .ops = mem_copy(&op, sizeof op),
                .op_count = 1 };
  core_let_n(b, "prefix", exp_soac(EXP_SCANOMAP, soac), out);
  return out;
}

// array[i + distance], or `otherwise` where there is none, for all i.
static Atom shifted(Builder *b, Atom array, int distance, Atom otherwise) {
  Atom count = ad_length(array), places = ad_iota(b, count);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom at = size_add(&l.b, i, atom_i64(distance));
  Atom low = ad_op2(&l.b, OP_LE, atom_i64(0), at), high = ad_op2(&l.b, OP_LT, at, count);
  Builder yes = builder_new(b->c, b->loc), no = builder_new(b->c, b->loc);
  Atom there = ad_row(&yes, array, at);
  const Exp *chosen = exp_if(ad_op2(&l.b, OP_LAND, low, high), core_body(&yes, &there, 1),
                             core_body(&no, &otherwise, 1));
  Atom result = core_let(&l.b, "neighbour", chosen);
  Lambda fn = ad_lambda_end(&l, &result, 1);
  return core_let(b, "shifted", exp_map(count, fn, &places, 1));
}

// For each element what is left of it, combined; or, from behind, what is right of it.
static Atom *before_each(Builder *b, const RedOp *op, const Atom *arrays, bool behind) {
  Atom *in = new_array(Atom, op->count), *out = new_array(Atom, op->count);
  for (int k = 0; k < op->count; k++)
    in[k] = behind ? ad_reversed(b, arrays[k]) : arrays[k];
  RedOp fresh = *op;
  fresh.op = core_rename_lambda(b->c, NULL, op->op);
  const Atom *all = scanned(b, behind ? flipped(b, op) : fresh, in);
  for (int k = 0; k < op->count; k++) {
    out[k] = shifted(b, all[k], -1, op->neutral[k]);
    if (behind) out[k] = ad_reversed(b, out[k]);
  }
  return out;
}

// ---- reductions

// Adjoints for the arrays of a map that nobody computes, by those of its results.
static void reverse_virtual_map(Reverse *r, const AdLambda *l, const AtomVec *results,
                                const AtomVec *arrays, const Atom *const *adjoints) {
  Lambda fn = ad_lambda_end(l, results->at, results->count);
  Atom width = arrays->at ? ad_length(arrays->at[0]) : atom_i64(0);
  Builder unused = builder_new(r->c, r->scope->b->loc);
  Atom *out = new_array(Atom, results->count);
  core_let_n(&unused, "combined", exp_map(width, fn, arrays->at, arrays->count), out);
  for (int k = 0; k < results->count; k++)
    if (adjoints[k]) reverse_assign(r, out[k].u.var, *adjoints[k]);
  reverse_map(r, unused.stms.at);
}

void reverse_general_reduction(Reverse *r, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const RedOp *op = &soac->ops[0];
  Builder *b = r->scope->b;
  int count = op->count;
  AtomVec arrays = { 0 };
  const Atom **adjoints = new_array(const Atom *, count);
  const Atom *left = before_each(b, op, soac->arrays, false);
  const Atom *right = before_each(b, op, soac->arrays, true);
  for (int k = 0; k < 3 * count; k++)
    vec_push(&arrays, k < count       ? soac->arrays[k]
                      : k < 2 * count ? left[k - count]
                                      : right[k - 2 * count]);
  for (int k = 0; k < count; k++) {
    if (!reverse_adjoint(r, stm->binders[k])) continue;
    Atom adjoint = *reverse_adjoint(r, stm->binders[k]);
    Atom same = core_let(b, "same", exp_replicate(soac->width, adjoint));
    adjoints[k] = mem_copy(&same, sizeof same);
  }
  AdLambda l = ad_lambda(b);
  Atom *params = new_array(Atom, 3 * count);
  for (int k = 0; k < 3 * count; k++)
    params[k] = ad_param(&l, "x", atom_type(op->neutral[k % count]));
  AtomVec so_far = combine(&l.b, op, &params[count], params);
  AtomVec all = combine(&l.b, op, so_far.at, params + count + count);
  reverse_virtual_map(r, &l, &all, &arrays, adjoints);
}

// ---- scans

// A fresh variable for the value, which is differentiated by it.
static Atom watched(Reverse *r, Atom value) {
  Atom copy = core_let(r->scope->b, "operand", exp_atom(value));
  ad_activate(&r->active, copy.u.var);
  return copy;
}

// The values of a scan that have derivatives.
typedef struct ScanParts {
  Reverse *r;
  const Stm *stm;
  const RedOp *op;
  PrimType elem;
  int count, at[SCAN_VALUES];  // which of the operator's values they are
  // [j][i]: derivatives of value j by value i of the left and of the right operand; NULL: zero
  const Atom *slopes[SCAN_VALUES][SCAN_VALUES], *by_element[SCAN_VALUES][SCAN_VALUES];
  const Atom *totals[SCAN_VALUES];  // ss
} ScanParts;

static const Soac *soac_of(const ScanParts *s) { return &s->stm->exp->u.soac; }

static bool has_derivative(const ScanParts *s, int value) {
  return reverse_is_active(s->r, atom_var(s->stm->binders[value]));
}

static Atom product(Builder *b, Atom xs, Atom ys) {
  AdLambda l = ad_lambda(b);
  Atom x = ad_param(&l, "x", type_row(atom_type(xs)));
  Atom y = ad_param(&l, "y", type_row(atom_type(ys)));
  Atom result = ad_op2(&l.b, OP_MUL, x, y);
  Lambda fn = ad_lambda_end(&l, &result, 1);
  return core_let(b, "parts", exp_map(ad_length(xs), fn, (Atom[]){ xs, ys }, 2));
}

// The derivatives of value j, by a map of the operator that nobody computes.
static void differentiate(ScanParts *s, const Atom *before, int j) {
  Builder *b = s->r->scope->b;
  int count = s->op->count;
  AtomVec arrays = { 0 };
  AdLambda l = ad_lambda(b);
  Atom *params = new_array(Atom, 2 * count);
  for (int k = 0; k < 2 * count; k++) {
    int value = k % count;
    Atom array = k < count ? before[k] : soac_of(s)->arrays[value];
    vec_push(&arrays, has_derivative(s, value) ? watched(s->r, array) : array);
    params[k] = ad_param(&l, "x", type_row(atom_type(array)));
  }
  AtomVec all = combine(&l.b, s->op, params, params + count), result = { 0 };
  vec_push(&result, all.at[s->at[j]]);
  Atom ones =
      core_let(b, "ones", exp_replicate(soac_of(s)->width, ad_number(s->elem, 1)));
  const Atom **seeds = new_array(const Atom *, 1);
  seeds[0] = &ones;
  reverse_virtual_map(s->r, &l, &result, &arrays, seeds);
  for (int i = 0; i < s->count; i++) {
    s->slopes[j][i] = reverse_adjoint(s->r, arrays.at[s->at[i]].u.var);
    s->by_element[j][i] = reverse_adjoint(s->r, arrays.at[count + s->at[i]].u.var);
  }
}

// ---- linear functions of some of the values

// x -> M x + v, for the members of a group of values; entries of M that are always 0 have no place.
typedef struct LinearMap {
  int count, members[SCAN_VALUES];
  int entries, place[SCAN_VALUES][SCAN_VALUES];  // or -1
} LinearMap;

// What the functions of the group are made of, and their products: all that values reach.
static LinearMap linear_functions(const ScanParts *s, int first, bool *done) {
  bool reach[SCAN_VALUES][SCAN_VALUES] = { { false } };
  for (int i = 0; i < s->count; i++)
    for (int j = 0; j < s->count; j++)
      reach[i][j] = i == j || s->slopes[j][i];
  for (int l = 0; l < s->count; l++)
    for (int i = 0; i < s->count; i++)
      for (int j = 0; j < s->count; j++)
        reach[i][j] = reach[i][j] || (reach[i][l] && reach[l][j]);
  LinearMap f = { 0 };
  f.members[f.count++] = first;
  done[first] = true;
  for (int m = 0; m < f.count; m++)
    for (int j = 0; j < s->count; j++) {
      if (done[j] || !(reach[f.members[m]][j] || reach[j][f.members[m]])) continue;
      f.members[f.count++] = j;
      done[j] = true;
    }
  for (int i = 0; i < f.count; i++)
    for (int j = 0; j < f.count; j++)
      f.place[i][j] = reach[f.members[i]][f.members[j]] ? f.entries++ : -1;
  return f;
}

// The sum of the products of a row of `second` and a column of `first`, or of its vector.
static Atom row_times(Builder *b, const LinearMap *f, const Atom *second, int i,
                      const Atom *first, int column) {
  Atom sum = { 0 };
  bool any = false;
  for (int l = 0; l < f->count; l++) {
    int right = column < 0 ? f->entries + l : f->place[l][column];
    if (f->place[i][l] < 0 || right < 0) continue;
    Atom part = ad_op2(b, OP_MUL, first[right], second[f->place[i][l]]);
    sum = any ? ad_op2(b, OP_ADD, sum, part) : part;
    any = true;
  }
  return sum;
}

// First one function, then the other: (M, v) (N, w) -> (N M, N v + w).
static RedOp composition(Builder *b, const LinearMap *f, PrimType elem) {
  int count = f->entries + f->count;
  AdLambda l = ad_lambda(b);
  Atom *params = new_array(Atom, 2 * count), *results = new_array(Atom, count);
  Atom *neutral = new_array(Atom, count);
  for (int k = 0; k < 2 * count; k++)
    params[k] = ad_param(&l, "x", type_scalar(elem));
  const Atom *second = params + count;
  for (int i = 0; i < f->count; i++) {
    for (int j = 0; j < f->count; j++) {
      int place = f->place[i][j];
      if (place < 0) continue;
      results[place] = row_times(&l.b, f, second, i, params, j);
      neutral[place] = ad_number(elem, i == j);
    }
    int offset = f->entries + i;
    results[offset] =
        ad_op2(&l.b, OP_ADD, row_times(&l.b, f, second, i, params, -1), second[offset]);
    neutral[offset] = ad_number(elem, 0);
  }
  return (RedOp){ .op = ad_lambda_end(&l, results, count),
                  .neutral = neutral,
                  .count = count };
}

// The totals of a group's values.
static void add_totals(ScanParts *s, const LinearMap *f) {
  Builder *b = s->r->scope->b;
  Atom zero = ad_number(s->elem, 0);
  Atom zeros = core_let(b, "zeros", exp_replicate(soac_of(s)->width, zero));
  Atom *arrays = new_array(Atom, f->entries + f->count);
  for (int i = 0; i < f->count; i++)
    for (int j = 0; j < f->count; j++) {
      const Atom *slopes = s->slopes[f->members[j]][f->members[i]];
      if (f->place[i][j] < 0) continue;
      arrays[f->place[i][j]] =
          slopes ? ad_reversed(b, shifted(b, *slopes, 1, zero)) : zeros;
    }
  for (int i = 0; i < f->count; i++) {
    const Var *result = s->stm->binders[s->at[f->members[i]]];
    const Atom *adjoint = reverse_adjoint(s->r, result);
    arrays[f->entries + i] = adjoint ? ad_reversed(b, *adjoint) : zeros;
  }
  const Atom *sums = scanned(b, composition(b, f, s->elem), arrays);
  for (int i = 0; i < f->count; i++) {
    Atom total = ad_reversed(b, sums[f->entries + i]);
    s->totals[f->members[i]] = mem_copy(&total, sizeof total);
  }
}

// What the rest of the program has to do with one of them, or what it has to do with another one.
static bool has_adjoint(const ScanParts *s, const LinearMap *f) {
  for (int i = 0; i < f->count; i++)
    if (reverse_adjoint(s->r, s->stm->binders[s->at[f->members[i]]])) return true;
  return false;
}

void reverse_general_scan(Reverse *r, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  ScanParts s = { .r = r, .stm = stm, .op = &soac->ops[0] };
  Atom *before = new_array(Atom, s.op->count);
  for (int k = 0; k < s.op->count; k++) {
    before[k] = shifted(r->scope->b, atom_var(stm->binders[k]), -1, s.op->neutral[k]);
    if (has_derivative(&s, k)) s.at[s.count++] = k;
  }
  s.elem = stm->binders[s.at[0]]->type.elem;
  for (int j = 0; j < s.count; j++)
    differentiate(&s, before, j);
  bool done[SCAN_VALUES] = { false };
  for (int i = 0; i < s.count; i++) {
    if (done[i]) continue;
    LinearMap f = linear_functions(&s, i, done);
    if (has_adjoint(&s, &f)) add_totals(&s, &f);
  }
  for (int i = 0; i < s.count; i++)
    for (int j = 0; j < s.count; j++)
      if (s.totals[j] && s.by_element[j][i])
        reverse_add(r, soac->arrays[s.at[i]],
                    product(r->scope->b, *s.by_element[j][i], *s.totals[j]));
}

bool reverse_can_scan(const Reverse *r, const Stm *stm) {
  const RedOp *op = &stm->exp->u.soac.ops[0];
  const Var *any = NULL;
  int count = 0;
  for (int k = 0; k < op->count; k++) {
    const Var *result = stm->binders[k];
    if (atom_type(op->neutral[k]).rank) return false;
    if (!reverse_is_active(r, atom_var(result))) continue;
    if (any && any->type.elem != result->type.elem) return false;
    any = result;
    count++;
  }
  return count <= SCAN_VALUES;
}
