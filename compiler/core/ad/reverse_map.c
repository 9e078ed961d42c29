// Maps, and what their functions contribute to arrays around them.
//
//   let ys = map n (\x -> f x a) xs
//     =>  let xs^, as^ = map n (\x y^ -> f^ x a y^) xs ys^   let a^ = sum as^
//
// What the function reads of an array by index becomes points: the map returns index and adjoint of
// each, and where the array's adjoint is known a histogram adds them up.
#include "core/ad/reverse.h"

// ---- points

bool reverse_can_lift(const AdScope *s, const AdPoints *points) {
  CoreType type = atom_type(points->values);
  for (int d = 0; d < type.rank; d++)
    if (!reverse_is_outside(s, type.dims[d])) return false;
  for (int d = 0; d < type.rank - points->lead; d++)
    if (!reverse_is_outside(s, points->strides[d])) return false;
  return true;
}

// One dimension, whatever there was.
static Atom flat(Builder *b, Atom array, Atom count) {
  if (atom_type(array).rank == 1) return array;
  return ad_reshaped(
      b, array, (CoreType){ atom_type(array).elem, 1, mem_copy(&count, sizeof count) });
}

// The numbers of the elements that the values belong to, one for each of `count` values.
static Atom element_numbers(Builder *b, const AdPoints *p, Atom offsets, Atom count) {
  CoreType type = type_peel(atom_type(p->values), p->lead);
  if (!type.rank) return offsets;
  Atom size = ad_size_of(b, type), position = ad_iota(b, count);
  AdLambda l = ad_lambda(b);
  Atom i = ad_param(&l, "i", type_scalar(PRIM_I64));
  Atom point = ad_op2(&l.b, OP_QUOT, i, size), rest = ad_op2(&l.b, OP_REM, i, size);
  Atom number = ad_row(&l.b, offsets, point);
  for (int d = type.rank - 1; d >= 0; d--) {
    Atom k = d ? ad_op2(&l.b, OP_REM, rest, type.dims[d]) : rest;
    number = size_add(&l.b, number, size_mul(&l.b, k, p->strides[d]));
    if (d) rest = ad_op2(&l.b, OP_QUOT, rest, type.dims[d]);
  }
  Lambda fn = ad_lambda_end(&l, &number, 1);
  return core_let(b, "numbers", exp_map(count, fn, &position, 1));
}

// dest with [numbers[i]] += values[i]
static Atom add_up(Builder *b, Atom dest, Atom numbers, Atom values) {
  AdLambda l = ad_lambda(b);
  Atom results[2] = { ad_param(&l, "i", type_scalar(PRIM_I64)),
                      ad_param(&l, "v", type_row(atom_type(values))) };
  PrimType elem = atom_type(dest).elem;
  HistOp *sums =
      new_node(HistOp, .dests = mem_copy(&dest, sizeof dest), .width = ad_length(dest),
               .op = ad_red_op(b, OP_ADD, prim_zero(elem)));
  Atom arrays[2] = { numbers, values };
  const Exp *exp = new_node(Exp, .kind = EXP_HIST,
                            .u.hist = { .width = ad_length(values),
                                        .fn = ad_lambda_end(&l, results, 2),
                                        .arrays = mem_copy(arrays, sizeof arrays),
                                        .array_count = 2,
                                        .ops = sums,
                                        .op_count = 1 });
  return core_let(b, "added", exp);
}

static void add_here(Reverse *r, const AdPoints *p) {
  Builder *b = r->scope->b;
  if (reverse_add_block(r, p)) return;
  CoreType type = p->array->type;
  Atom dest = flat(b, reverse_current(r, p->array), ad_size_of(b, type));
  Atom count = ad_size_of(b, atom_type(p->values));
  Atom offsets = flat(b, p->offsets, ad_size_of(b, atom_type(p->offsets)));
  Atom numbers = element_numbers(b, p, offsets, count);
  Atom sum = add_up(b, dest, numbers, flat(b, p->values, count));
  reverse_assign(r, p->array, ad_fit(b, sum, type));
}

void reverse_add_points(Reverse *r, AdPoints points) {
  AdScope *level = r->scope;
  while (level->kind != SCOPE_MAP)
    level = level->outer;
  if (reverse_is_outside(level, atom_var(points.array)))
    vec_push(&r->scope->points, points);
  else
    add_here(r, &points);
}

// ---- maps

// The function of the way back, under construction.
typedef struct BackMap {
  AdScope scope;
  Lambda fn;  // renamed
  VarVec params;
  AtomVec arrays, results;
} BackMap;

static void begin(Reverse *r, BackMap *m, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const Atom **seeds = new_array(const Atom *, stm->binder_count);
  const Atom **given = new_array(const Atom *, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    given[i] = reverse_adjoint(r, stm->binders[i]);
  *m = (BackMap){ 0 };
  reverse_enter(r, &m->scope, SCOPE_MAP);
  m->fn = core_rename_lambda(r->c, NULL, soac->fn);
  for (int i = 0; i < soac->array_count; i++) {
    vec_push(&m->params, m->fn.params[i]);
    vec_push(&m->arrays, soac->arrays[i]);
    if (reverse_is_active(r, soac->arrays[i])) ad_activate(&r->active, m->fn.params[i]);
  }
  for (int i = 0; i < stm->binder_count; i++) {
    if (!given[i]) continue;
    CoreType type = type_row(atom_type(*given[i]));
    const Var *seed = var_new(r->c, name_of(r->c->names, "adjoint"), type, stm->loc);
    vec_push(&m->params, seed);
    vec_push(&m->arrays, *given[i]);
    Atom atom = atom_var(seed);
    seeds[i] = mem_copy(&atom, sizeof atom);
  }
  reverse_body(r, m->fn.body, seeds);
}

// The adjoints of elements and of what is free, then the points; false if these cannot leave.
static bool collect(Reverse *r, BackMap *m, const Soac *soac) {
  for (int i = 0; i < soac->array_count; i++)
    if (reverse_adjoint(r, m->fn.params[i]))
      vec_push(&m->results, *reverse_adjoint(r, m->fn.params[i]));
  vec_each (const Var *const *, var, &m->scope.touched)
    vec_push(&m->results, *reverse_adjoint(r, *var));
  vec_each (const AdPoints *, p, &m->scope.points) {
    if (!reverse_can_lift(&m->scope, p)) return false;
    vec_push(&m->results, p->offsets);
    vec_push(&m->results, p->values);
  }
  return !m->scope.irregular;
}

static void distribute_results(Reverse *r, const BackMap *m, const Soac *soac,
                               const Atom *out) {
  for (int i = 0; i < soac->array_count; i++)
    if (map_has(m->scope.adjoints, m->fn.params[i]))
      reverse_add(r, soac->arrays[i], *out++);
  vec_each (const Var *const *, var, &m->scope.touched)
    reverse_add(r, atom_var(*var), ad_sum_rows(r->scope->b, *out++));
  vec_each (const AdPoints *, p, &m->scope.points) {
    AdPoints lifted = *p;
    reverse_places_leave_map(r, soac, &m->fn, &m->scope, &lifted);
    lifted.lead++;
    lifted.offsets = *out++;
    lifted.values = *out++;
    reverse_add_points(r, lifted);
  }
}

void reverse_map(Reverse *r, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  BackMap m;
  begin(r, &m, stm);
  bool regular = collect(r, &m, soac);
  reverse_leave(r);
  if (!regular) {
    reverse_map_in_order(r, stm);
    return;
  }
  if (!m.results.count) return;
  const Body *body = core_body(m.scope.b, m.results.at, m.results.count);
  Lambda fn = lambda_new(m.params.at, m.params.count, body);
  Atom *out = new_array(Atom, m.results.count);
  core_let_n(r->scope->b, "adjoints",
             exp_map(soac->width, fn, m.arrays.at, m.arrays.count), out);
  distribute_results(r, &m, soac, out);
}
