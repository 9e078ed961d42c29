// redomap (n * m) op f (reshape [n * m] xss)
//   =>  redomap n op (\xs -> let s = redomap m op f xs in s) xss
//   where a map makes xss, which nobody else reads
//
// Needs: Core, fused; binders unique.  Keeps: both.
// Why: `sum (flatten (map (map f) xss))`: what makes the elements fuses with their sum, and they
// are not stored.
#include "core/passes.h"

enum { MOST_DIMS = 8 };

typedef struct FlatSums {
  Compiler *c;
  Map *uses;  // Var -> int *: how often it is mentioned
  Map *defs;  // Var -> Stm
  bool changed;
} FlatSums;

// A sum over all elements of arrays of several dimensions.
typedef struct FlatSum {
  Compiler *c;
  const Soac *soac;
  const Atom *dims;
  int rank;
  const Exp **numbers;  // per array: the iota that it is, or NULL
} FlatSum;

// ---- which sums

static const Exp *maker_of_array(const FlatSums *s, Atom a) {
  const Stm *stm = a.kind == ATOM_VAR ? map_get(s->defs, a.u.var) : NULL;
  return stm ? stm->exp : NULL;
}

static bool is_mentioned_once(const FlatSums *s, Atom a) {
  const int *count = a.kind == ATOM_VAR ? map_get(s->uses, a.u.var) : NULL;
  return count && *count == 1;
}

// How many dimensions of its array the reshape makes one of; 0: it is none that does only that.
static int dims_in_one(const Exp *e) {
  if (!e || e->kind != EXP_RESHAPE) return 0;
  CoreType type = atom_type(e->u.reshape.array);
  int rank = type.rank - e->u.reshape.rank + 1;
  for (int d = 1; d < e->u.reshape.rank; d++)
    if (!atom_equal(e->u.reshape.dims[d], type.dims[rank - 1 + d])) return 0;
  return rank >= 2 && rank <= MOST_DIMS ? rank : 0;
}

// Are all of its results sums?
static bool only_sums(const Exp *e) {
  if (e->kind != EXP_REDOMAP) return false;
  return soac_red_count(&e->u.soac) == e->u.soac.fn.body->result_count;
}

static bool find_flat_sum(const FlatSums *s, const Stm *stm, FlatSum *out) {
  if (!only_sums(stm->exp) || stm->attrs) return false;
  *out = (FlatSum){ .c = s->c, .soac = &stm->exp->u.soac };
  out->numbers = new_array(const Exp *, out->soac->array_count + 1);
  for (int i = 0; i < out->soac->array_count; i++) {
    const Exp *e = maker_of_array(s, out->soac->arrays[i]);
    if (e && e->kind == EXP_IOTA && e->u.iota.type == PRIM_I64) out->numbers[i] = e;
    int rank = dims_in_one(e);
    if (!rank || out->rank || !is_mentioned_once(s, out->soac->arrays[i])) continue;
    const Exp *made = maker_of_array(s, e->u.reshape.array);
    if (!made || made->kind != EXP_MAP || !is_mentioned_once(s, e->u.reshape.array))
      continue;
    out->rank = rank;
    out->dims = atom_type(e->u.reshape.array).dims;
  }
  return out->rank > 0;
}

// ---- the sums of sums

static bool same_dims(const Atom *a, const Atom *b, int count) {
  for (int i = 0; i < count; i++)
    if (!atom_equal(a[i], b[i])) return false;
  return true;
}

// The array before it was flattened, or seen as if it had been.
static Atom whole_array(const FlatSums *s, const FlatSum *sum, Builder *b, Atom flat) {
  const Exp *e = maker_of_array(s, flat);
  if (dims_in_one(e) == sum->rank) {
    Atom array = e->u.reshape.array;
    if (same_dims(atom_type(array).dims, sum->dims, sum->rank)) return array;
  }
  CoreType type = atom_type(flat);
  int rank = sum->rank + type.rank - 1;
  Atom *dims = new_array(Atom, rank);
  for (int d = 0; d < rank; d++)
    dims[d] = d < sum->rank ? sum->dims[d] : type.dims[d - sum->rank + 1];
  return core_let(b, "whole", exp_reshape(dims, rank, flat));
}

static const Exp *summed(const FlatSum *sum, Atom width, Lambda fn, const Atom *arrays,
                         int array_count) {
  Soac soac = *sum->soac;
  RedOp *ops = mem_copy(soac.ops, (size_t)soac.op_count * sizeof *ops);
  for (int i = 0; i < soac.op_count; i++)
    ops[i].op = core_rename_lambda(sum->c, subst_new(), ops[i].op);
  soac.ops = ops;
  soac.width = width;
  soac.fn = fn;
  soac.arrays = arrays;
  soac.array_count = array_count;
  return exp_soac(EXP_REDOMAP, soac);
}

static const Exp *sum_of_level(const FlatSum *sum, Builder *b, int level,
                               const Atom *arrays);

// The innermost sum; of numbers `arrays` holds the first.
static const Exp *sum_of_row(const FlatSum *sum, Builder *b, const Atom *arrays) {
  int count = sum->soac->array_count;
  Atom *rows = new_array(Atom, count + 1), width = sum->dims[sum->rank - 1];
  for (int i = 0; i < count; i++) {
    const Exp *iota = sum->numbers[i];
    rows[i] = iota ? core_let(b, "numbers", exp_iota(width, arrays[i], iota->u.iota.step))
                   : arrays[i];
  }
  Lambda fn = core_rename_lambda(sum->c, subst_new(), sum->soac->fn);
  return summed(sum, width, fn, rows, count);
}

static const Var *fresh(const FlatSum *sum, const char *name, CoreType type, Loc loc) {
  return var_new(sum->c, name_of(sum->c->names, name), type, loc);
}

// How many elements a row of this level has.
static Atom row_size(const FlatSum *sum, Builder *b, int level) {
  Atom size = sum->dims[level + 1];
  for (int d = level + 2; d < sum->rank; d++)
    size = core_let(b, "size", exp_op2(OP_MUL, size, sum->dims[d]));
  return size;
}

// The number that the row begins with.
static Atom first_number(const FlatSum *sum, Builder *b, int level, const Exp *iota,
                         Atom first, Atom row) {
  Atom size = row_size(sum, b, level);
  Atom before = core_let(b, "before", exp_op2(OP_MUL, row, size));
  Atom steps = core_let(b, "steps", exp_op2(OP_MUL, before, iota->u.iota.step));
  return core_let(b, "first", exp_op2(OP_ADD, first, steps));
}

// A sum over rows, each of which is a sum.
static const Exp *sum_of_rows(const FlatSum *sum, Builder *b, int level,
                              const Atom *arrays) {
  int count = sum->soac->array_count;
  Builder inner = builder_new(sum->c, b->loc);
  const Var *row = fresh(sum, "row", type_scalar(PRIM_I64), b->loc);
  VarVec params = { 0 };
  AtomVec inputs = { 0 };
  Atom *rows = new_array(Atom, count + 1);
  bool numbers = false;
  for (int i = 0; i < count; i++) {
    numbers = numbers || sum->numbers[i];
    if (sum->numbers[i]) {
      rows[i] =
          first_number(sum, &inner, level, sum->numbers[i], arrays[i], atom_var(row));
      continue;
    }
    const Var *param = fresh(sum, "xs", type_row(atom_type(arrays[i])), b->loc);
    vec_push(&params, param);
    vec_push(&inputs, arrays[i]);
    rows[i] = atom_var(param);
  }
  if (numbers) {
    Atom all = core_let(b, "rows", exp_iota(sum->dims[level], atom_i64(0), atom_i64(1)));
    vec_push(&params, row);
    vec_push(&inputs, all);
  }
  const Exp *of_row = sum_of_level(sum, &inner, level + 1, rows);
  int results = exp_result_count(of_row);
  Atom *sums = new_array(Atom, results + 1);
  core_let_n(&inner, "sum", of_row, sums);
  Lambda fn = lambda_new(params.at, params.count, core_body(&inner, sums, results));
  return summed(sum, sum->dims[level], fn, inputs.at, inputs.count);
}

static const Exp *sum_of_level(const FlatSum *sum, Builder *b, int level,
                               const Atom *arrays) {
  return level == sum->rank - 1 ? sum_of_row(sum, b, arrays)
                                : sum_of_rows(sum, b, level, arrays);
}

static const Exp *sum_of_sums(const FlatSums *s, const FlatSum *sum, Builder *b) {
  Atom *arrays = new_array(Atom, sum->soac->array_count + 1);
  for (int i = 0; i < sum->soac->array_count; i++)
    arrays[i] = sum->numbers[i] ? sum->numbers[i]->u.iota.start
                                : whole_array(s, sum, b, sum->soac->arrays[i]);
  return sum_of_level(sum, b, 0, arrays);
}

// ---- all

static const Body *sums_in_body(CoreMapper *m, const Body *body) {
  FlatSums *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    FlatSum sum;
    b.loc = stm.loc;
    stm.exp = core_map_exp(m, stm.exp);
    if (find_flat_sum(s, &stm, &sum)) {
      stm.exp = sum_of_sums(s, &sum, &b);
      s->changed = true;
    }
    for (int k = 0; k < stm.binder_count; k++)
      map_put(s->defs, stm.binders[k], mem_copy(&stm, sizeof stm));
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

static const Body *rewrite_sums(Compiler *c, const Body *body) {
  FlatSums s = { .c = c, .uses = core_uses(body), .defs = map_new(NULL) };
  CoreMapper m = { .body = sums_in_body, .state = &s };
  const Body *rewritten = sums_in_body(&m, body);
  return s.changed ? rewritten : body;
}

const Core *flat_sums(Compiler *c, const Core *core) {
  const Core *rewritten = core_map_bodies(c, core, rewrite_sums);
  return core_same_bodies(core, rewritten) ? core
                                           : simplify(c, fuse(c, dead(c, rewritten)));
}
