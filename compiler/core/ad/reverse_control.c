// Conditionals and loops.
//
//   let y = if c then f x else g x           =>  let x^ = if c then f^ x y^ else g^ x y^
//   let y = loop p = a for i < n do f p      =>  let y, ps = loop p = a, ps = .. for i < n
//                                                            do f p, ps with [i] = p
//                                                let a^ = loop p^ = y^ for k < n
//                                                         do let i = n - 1 - k in f^ ps[i] p^
//
// What the loop keeps for the way back is in reverse_tape.c.
#include "core/ad/reverse.h"

// ---- branches

static const Atom *const *seeds_of(const Reverse *r, const Stm *stm) {
  const Atom **seeds = new_array(const Atom *, stm->binder_count);
  for (int i = 0; i < stm->binder_count; i++)
    seeds[i] = reverse_adjoint(r, stm->binders[i]);
  return seeds;
}

static void run_branch(Reverse *r, AdScope *s, const Body *body, const Stm *stm) {
  const Atom *const *seeds = seeds_of(r, stm);
  reverse_enter(r, s, SCOPE_BRANCH);
  reverse_body(r, core_rename_body(r->c, NULL, body), seeds);
  reverse_leave(r);
}

static void add_touched(VarVec *all, const AdScope *s) {
  vec_each (const Var *const *, var, &s->touched) {
    bool known = false;
    vec_each (const Var *const *, other, all)
      known = known || *other == *var;
    if (!known) vec_push(all, *var);
  }
}

// What the other branch has in place of a point: nothing is added to the first element.
static void add_no_point(AdScope *s, const AdPoints *p, AtomVec *results) {
  vec_push(results, ad_zeros(s->b, atom_type(p->offsets)));
  vec_push(results, ad_zeros(s->b, atom_type(p->values)));
}

static void add_point(const AdPoints *p, AtomVec *results) {
  vec_push(results, p->offsets);
  vec_push(results, p->values);
}

// The points of both branches; those that cannot leave them are given up.
static AdPointsVec common_points(AdScope *s) {
  AdPointsVec all = { 0 };
  for (int i = 0; i < 2; i++) {
    AdPointsVec kept = { 0 };
    vec_each (AdPoints *, p, &s[i].points) {
      reverse_places_leave(&s[i], p);
      if (reverse_can_lift(&s[i], p))
        vec_push(&kept, *p);
      else
        reverse_give_up(s[i].outer);
    }
    s[i].points = kept;
    vec_each (const AdPoints *, p, &kept)
      vec_push(&all, *p);
  }
  return all;
}

static const Body *branch_body(Reverse *r, AdScope *s, int which, const VarVec *touched) {
  AtomVec results = { 0 };
  r->scope = &s[which];
  vec_each (const Var *const *, var, touched)
    vec_push(&results, reverse_current(r, *var));
  r->scope = s[which].outer;
  for (int i = 0; i < 2; i++) {
    vec_each (const AdPoints *, p, &s[i].points) {
      if (i == which)
        add_point(p, &results);
      else
        add_no_point(&s[which], p, &results);
    }
  }
  return core_body(s[which].b, results.at, results.count);
}

static const Exp *with_bodies(const Exp *e, const Body *first, const Body *second) {
  if (e->kind == EXP_IF) return exp_if(e->u.cond.condition, first, second);
  Exp *choice = mem_copy(e, sizeof *e);
  choice->u.choose.first = first;
  choice->u.choose.second = second;
  return choice;
}

void reverse_branches(Reverse *r, const Stm *stm) {
  const Exp *e = stm->exp;
  bool is_if = e->kind == EXP_IF;
  AdScope s[2];
  VarVec touched = { 0 };
  run_branch(r, &s[0], is_if ? e->u.cond.then_body : e->u.choose.first, stm);
  run_branch(r, &s[1], is_if ? e->u.cond.else_body : e->u.choose.second, stm);
  add_touched(&touched, &s[0]);
  add_touched(&touched, &s[1]);
  AdPointsVec points = common_points(s);
  const Body *first = branch_body(r, s, 0, &touched);
  const Body *second = branch_body(r, s, 1, &touched);
  if (!first->result_count) return;
  Atom *out = new_array(Atom, first->result_count);
  core_let_n(r->scope->b, "adjoint", with_bodies(e, first, second), out);
  vec_each (const Var *const *, var, &touched)
    reverse_assign(r, *var, *out++);
  vec_each (AdPoints *, p, &points) {
    p->offsets = *out++;
    p->values = *out++;
    vec_push(&r->scope->points, *p);
  }
}

// ---- loops of the way back

// A loop under construction that begins with nothing but what it reads.
typedef struct Back {
  AdScope scope;
  const Var *index;
  VarVec params;
  AtomVec inits, results;
} Back;

static Atom back_param(Reverse *r, Back *back, CoreType type, Atom init) {
  Name name = name_of(r->c->names, "adjoint");
  const Var *param = var_new(r->c, name, type, back->scope.b->loc);
  vec_push(&back->params, param);
  vec_push(&back->inits, init);
  return atom_var(param);
}

static void back_begin(Reverse *r, Back *back) {
  *back = (Back){ 0 };
  reverse_enter(r, &back->scope, SCOPE_LOOP);
  Name name = name_of(r->c->names, "k");
  back->index = var_new(r->c, name, type_scalar(PRIM_I64), back->scope.b->loc);
}

// An array of what `value` is in each round.
static void add_record(Reverse *r, Back *back, Atom count, Atom value) {
  CoreType type = type_of_rows(atom_type(value), count);
  Name name = name_of(r->c->names, "record");
  const Var *param = var_new(r->c, name, type, back->scope.b->loc);
  vec_push(&back->params, param);
  vec_push(&back->inits, ad_zeros(back->scope.outer->b, type));
  Atom record = ad_set_row(back->scope.b, atom_var(param), atom_var(back->index), value);
  vec_push(&back->results, record);
}

static AdPointsVec record_points(Reverse *r, Back *back, Atom count) {
  AdPointsVec kept = { 0 };
  vec_each (const AdPoints *, p, &back->scope.points) {
    if (!reverse_can_lift(&back->scope, p) || !reverse_is_outside(&back->scope, count)) {
      reverse_give_up(back->scope.outer);
      continue;
    }
    add_record(r, back, count, p->offsets);
    add_record(r, back, count, p->values);
    vec_push(&kept, *p);
    reverse_places_leave(&back->scope, &kept.at[kept.count - 1]);
  }
  return kept;
}

// Adds the loop; returns its results, of which the first are those of the rule that began it.
static const Atom *back_end(Reverse *r, Back *back, Atom count) {
  AdScope *s = &back->scope;
  for (int i = 0; i < s->carried.count; i++) {
    vec_push(&back->params, s->carried.at[i]);
    vec_push(&back->inits, s->inits.at[i]);
    vec_push(&back->results, *reverse_adjoint(r, s->touched.at[i]));
  }
  int touched = back->params.count - s->carried.count;
  AdPointsVec points = record_points(r, back, count);
  const Body *body = core_body(s->b, back->results.at, back->results.count);
  reverse_leave(r);
  Exp loop = { .kind = EXP_LOOP,
               .u.loop = { .params = back->params.at,
                           .inits = back->inits.at,
                           .param_count = back->params.count,
                           .form = CORE_FOR,
                           .index = back->index,
                           .bound = count,
                           .body = body } };
  Atom *out = new_array(Atom, back->params.count);
  if (!back->params.count) return out;
  core_let_n(r->scope->b, "adjoint", mem_copy(&loop, sizeof loop), out);
  for (int i = 0; i < s->carried.count; i++)
    reverse_assign(r, s->touched.at[i], out[touched + i]);
  const Atom *recorded = out + touched + s->carried.count;
  vec_each (AdPoints *, p, &points) {
    p->lead++;
    p->offsets = *recorded++;
    p->values = *recorded++;
    vec_push(&r->scope->points, *p);
  }
  return out;
}

// ---- maps whose points cannot leave them: one element after the other

void reverse_map_in_order(Reverse *r, const Stm *stm) {
  const Soac *soac = &stm->exp->u.soac;
  const Atom *const *given = seeds_of(r, stm);
  const Atom **seeds = new_array(const Atom *, stm->binder_count);
  Back back;
  back_begin(r, &back);
  Builder *b = back.scope.b;
  Atom k = atom_var(back.index);
  Subst *rows = subst_new();
  Atom *elems = new_array(Atom, soac->array_count),
       *sums = new_array(Atom, soac->array_count);
  for (int i = 0; i < soac->array_count; i++) {
    elems[i] = ad_row(b, soac->arrays[i], k);
    subst_put(rows, soac->fn.params[i], elems[i]);
    if (!reverse_is_active(r, soac->arrays[i])) continue;
    ad_activate(&r->active, elems[i].u.var);
    CoreType type = atom_type(soac->arrays[i]);
    sums[i] = back_param(r, &back, type, ad_zeros(back.scope.outer->b, type));
  }
  for (int i = 0; i < stm->binder_count; i++) {
    if (!given[i]) continue;
    Atom row = ad_row(b, *given[i], k);
    seeds[i] = mem_copy(&row, sizeof row);
  }
  reverse_body(r, core_rename_body(r->c, rows, soac->fn.body), seeds);
  for (int i = 0; i < soac->array_count; i++)
    if (reverse_is_active(r, soac->arrays[i]))
      vec_push(&back.results,
               ad_set_row(b, sums[i], k, reverse_current(r, elems[i].u.var)));
  const Atom *out = back_end(r, &back, soac->width);
  for (int i = 0; i < soac->array_count; i++)
    if (reverse_is_active(r, soac->arrays[i])) reverse_add(r, soac->arrays[i], *out++);
}

// ---- loops

static const Body *iteration(Reverse *r, const Exp *loop, Atom i, const Atom *values) {
  Subst *now = subst_new();
  subst_put(now, loop->u.loop.index, i);
  for (int k = 0; k < loop->u.loop.param_count; k++) {
    subst_put(now, loop->u.loop.params[k], values[k]);
    if (reverse_is_active(r, atom_var(loop->u.loop.params[k])))
      ad_activate(&r->active, values[k].u.var);
  }
  return core_rename_body(r->c, now, loop->u.loop.body);
}

// The adjoints that the loop's results have, where its parameters are active.
static const Atom **loop_seeds(Reverse *r, const Stm *stm) {
  const Atom **seeds = new_array(const Atom *, stm->binder_count);
  for (int k = 0; k < stm->binder_count; k++) {
    if (!reverse_is_active(r, atom_var(stm->binders[k]))) continue;
    Atom seed = reverse_current(r, stm->binders[k]);
    seeds[k] = mem_copy(&seed, sizeof seed);
  }
  return seeds;
}

// Is parameter k the size of another one?
static bool is_size(const Exp *loop, int k) {
  Atom size = atom_var(loop->u.loop.params[k]);
  for (int i = k + 1; i < loop->u.loop.param_count; i++) {
    CoreType type = loop->u.loop.params[i]->type;
    for (int d = 0; d < type.rank; d++)
      if (atom_equal(type.dims[d], size)) return true;
  }
  return false;
}

// Parameters for the adjoints, in place of `seeds`, and before them for sizes that vary: an
// iteration begins with the sizes that it once ended with.
static void carry_adjoints(Reverse *r, Back *back, const Stm *stm, const Atom **seeds) {
  const Exp *loop = stm->exp;
  Subst *sizes = subst_new();
  for (int k = 0; k < stm->binder_count; k++) {
    const Var *param = loop->u.loop.params[k];
    if (is_size(loop, k))
      subst_put(sizes, param,
                back_param(r, back, param->type, atom_var(stm->binders[k])));
  }
  for (int k = 0; k < stm->binder_count; k++) {
    if (!seeds[k]) continue;
    CoreType type = subst_type(sizes, loop->u.loop.params[k]->type);
    Atom param = back_param(r, back, type, *seeds[k]);
    seeds[k] = mem_copy(&param, sizeof param);
  }
}

// Parameters for the arrays that the way back restores from what they were at the end.
static Atom *carry_arrays(Reverse *r, Back *back, const Stm *stm, const Kept *kept) {
  Atom *ends = new_array(Atom, stm->binder_count);
  for (int k = 0; k < stm->binder_count; k++)
    if (reverse_is_undone(kept, k))
      ends[k] = back_param(r, back, stm->exp->u.loop.params[k]->type,
                           atom_var(stm->binders[k]));
  return ends;
}

static void end_iteration(Reverse *r, Back *back, const Kept *kept, const Atom *values,
                          const Atom *const *seeds) {
  const Exp *loop = kept->loop;
  int count = loop->u.loop.param_count;
  for (int k = 0; k < count; k++)
    if (is_size(loop, k)) vec_push(&back->results, values[k]);
  for (int k = 0; k < count; k++)
    if (seeds[k]) vec_push(&back->results, reverse_current(r, values[k].u.var));
  for (int k = 0; k < count; k++)
    if (reverse_is_undone(kept, k)) vec_push(&back->results, values[k]);
}

void reverse_loop(Reverse *r, const Stm *stm, const Kept *kept) {
  const Exp *loop = stm->exp;
  int count = loop->u.loop.param_count;
  Atom n = reverse_trips(r->scope->b, loop->u.loop.bound);
  const Atom **seeds = loop_seeds(r, stm);
  Back back;
  back_begin(r, &back);
  carry_adjoints(r, &back, stm, seeds);
  const Atom *ends = carry_arrays(r, &back, stm, kept);
  Atom last = size_sub(back.scope.b, n, atom_i64(1));
  Atom i = size_sub(back.scope.b, last, atom_var(back.index));
  Atom *values = new_array(Atom, count);
  reverse_restore(r, kept, &(RoundStart){ i, ends, values });
  reverse_body(r, iteration(r, loop, i, values), seeds);
  end_iteration(r, &back, kept, values, seeds);
  const Atom *out = back_end(r, &back, n);
  for (int k = 0; k < count; k++)
    out += is_size(loop, k);
  for (int k = 0; k < count; k++)
    if (seeds[k]) reverse_add(r, loop->u.loop.inits[k], *out++);
}
