// Conditionals, short-circuit operators, match and choices.
//
// Branches may yield arrays of different sizes.  A dimension that both branches agree on, or whose
// declared size is known outside, is used as it is; any other becomes one more i64 result, before
// the arrays, whose types then mention it.
#include "core/elab/elaborate.h"

enum { MOST_NESTED = 16 };  // conditions of one chain within one another

// ---- joining two branches

// A size that is of[0] in the first branch and of[1] in the second.
typedef struct JoinedSize {
  Atom of[2];
  const Var *binder;
} JoinedSize;

typedef struct Join {
  int mark;  // what is numbered from here on belongs to the branches
  Inner inner[2];
  const Val *vals[2];
  AtomVec leaves[2];
  CoreType *types;  // of the results, in outer names
  Vec(JoinedSize) sizes;
  const Body *bodies[2];
} Join;

static Atom new_size(Elab *e, Join *j, const Atom dims[2]) {
  vec_each (JoinedSize *, known, &j->sizes) {
    if (atom_equal(known->of[0], dims[0]) && atom_equal(known->of[1], dims[1])) {
      return atom_var(known->binder);
    }
  }
  Name name = name_of(e->c->names, "n");
  const Var *binder = var_new(e->c, name, type_scalar(PRIM_I64), e->b->loc);
  vec_push(&j->sizes, (JoinedSize){ { dims[0], dims[1] }, binder });
  return atom_var(binder);
}

// The outer name of a dimension; emits into the body around the branches.
static Atom join_dim(Elab *e, Join *j, const Atom dims[2], SizeIn declared) {
  if (atom_equal(dims[0], dims[1]) && atom_is_older(dims[0], j->mark)) return dims[0];
  if (size_known(declared)) return size_eval(e, declared);
  return new_size(e, j, dims);
}

static CoreType join_type(Elab *e, Join *j, int leaf, LeafSizes declared) {
  CoreType type = atom_type(j->leaves[0].at[leaf]);
  CoreType other = atom_type(j->leaves[1].at[leaf]);
  Atom *dims = new_array(Atom, type.rank);
  for (int i = 0; i < type.rank; i++) {
    Atom both[2] = { type.dims[i], other.dims[i] };
    dims[i] = join_dim(e, j, both, i < declared.count ? declared.at[i] : (SizeIn){ 0 });
  }
  return (CoreType){ type.elem, type.rank, dims };
}

// The dimensions of a joined type as branch `which` calls them.
static const Atom *branch_dims(const Join *j, CoreType type, int which) {
  Atom *dims = new_array(Atom, type.rank);
  for (int i = 0; i < type.rank; i++) {
    dims[i] = type.dims[i];
    vec_each (const JoinedSize *, size, &j->sizes) {
      if (atom_equal(type.dims[i], atom_var(size->binder))) dims[i] = size->of[which];
    }
  }
  return dims;
}

// Ends a branch: the sizes, then the leaves with their joined types.
static const Body *branch_body(Elab *e, const Join *j, Inner *inner, int which) {
  Builder *outer = e->b;
  AtomVec results = { 0 };
  vec_each (const JoinedSize *, size, &j->sizes)
    vec_push(&results, size->of[which]);
  e->b = &inner->b;
  for (int i = 0; i < j->leaves[which].count; i++) {
    const Atom *dims = branch_dims(j, j->types[i], which);
    vec_push(&results, elab_fit(e, j->leaves[which].at[i], dims));
  }
  e->b = outer;
  return core_body(&inner->b, results.at, results.count);
}

static void eval_branch(Elab *e, Join *j, int which, Branch branch) {
  elab_enter(e, &j->inner[which]);
  j->vals[which] = branch.eval(e, branch.state, NULL);
  j->leaves[which] = val_leaves(e, j->vals[which]);
  elab_leave(e, &j->inner[which]);
}

// Evaluates both branches and agrees on the types of their results.
static void join_branches(Elab *e, Join *j, const Branches *branches) {
  j->mark = e->c->next_id;
  eval_branch(e, j, 0, branches->yes);
  eval_branch(e, j, 1, branches->no);
  LeafSizesVec declared = val_sizes(e, branches->type, j->vals[0]);
  j->types = new_array(CoreType, j->leaves[0].count);
  for (int i = 0; i < j->leaves[0].count; i++)
    j->types[i] = join_type(e, j, i, declared.at[i]);
  for (int i = 0; i < 2; i++)
    j->bodies[i] = branch_body(e, j, &j->inner[i], i);
}

// Binds the results of the expression over the joined bodies.
static const Val *bind_joined(Elab *e, const Join *j, const Exp *exp, const char *name) {
  Name result = name_of(e->c->names, name ? name : "chosen");
  int count = j->sizes.count + j->leaves[0].count;
  const Var **binders = new_array(const Var *, count);
  Atom *leaves = new_array(Atom, j->leaves[0].count);
  for (int i = 0; i < j->sizes.count; i++)
    binders[i] = j->sizes.at[i].binder;
  for (int i = 0; i < j->leaves[0].count; i++) {
    const Var *binder = var_new(e->c, result, j->types[i], e->b->loc);
    binders[j->sizes.count + i] = binder;
    leaves[i] = atom_var(binder);
  }
  if (count) core_let_vars(e->b, binders, count, exp);
  return val_rebuild(e, j->vals[0], leaves);
}

const Val *elab_if(Elab *e, Atom condition, Branches branches, const char *name) {
  if (condition.kind == ATOM_CONST) {
    Branch taken = condition.u.constant.u.i ? branches.yes : branches.no;
    return taken.eval(e, taken.state, name);
  }
  Join j = { 0 };
  join_branches(e, &j, &branches);
  return bind_joined(e, &j, exp_if(condition, j.bodies[0], j.bodies[1]), name);
}

const Val *elab_choose(Elab *e, const Atom *size, Branches branches, const char *name) {
  Join j = { 0 };
  join_branches(e, &j, &branches);
  const Exp *exp = new_node(Exp, .kind = EXP_CHOOSE,
                            .u.choose = { .by_size = size != NULL,
                                          .size = size ? *size : atom_i64(0),
                                          .first = j.bodies[0],
                                          .second = j.bodies[1] });
  return bind_joined(e, &j, exp, name);
}

// Compilers of kernels take some 250 blocks within one another at most.
enum { MOST_CASES = 32, MOST_CONDITIONS = 128 };

// ---- if, && and ||

typedef struct Part {
  const Scope *scope;
  const AstExp *exp;
  const Tail *tail;
} Part;

static const Val *eval_part(Elab *e, const void *state, const char *name) {
  const Part *part = state;
  Scope scope = *part->scope;
  return elab_exp(e, &scope, part->exp, (Want){ .name = name, .tail = part->tail });
}

// What the program says of the type of both branches; at the ends of a tail, other values stand.
static TypeIn branch_type(const AstExp *exp, const Scope *s, const Tail *t) {
  bool own = !t || t->mode == TAIL_BASE;
  return own ? (TypeIn){ exp->type, s->env } : (TypeIn){ 0 };
}

// A condition on the way to a call; false if the value depends on what is not known.
static bool is_decided(Atom condition, const Tail *t) {
  if (condition.kind == ATOM_CONST || !t || t->mode != TAIL_KNOWN) return true;
  t->found->unknown = true;
  return false;
}

// The only branch that can be taken after the loop, or NULL.
static const AstExp *only_base(const AstExp *exp, const Tail *t) {
  if (!t || t->mode != TAIL_BASE) return NULL;
  if (!elab_has_end(exp->u.cond.then_exp, t, false)) return exp->u.cond.else_exp;
  return elab_has_end(exp->u.cond.else_exp, t, false) ? NULL : exp->u.cond.then_exp;
}

static Atom elab_any(Elab *e, const Scope *s, const AstExp *first, int count);

// `count` conditions from `first` on, each in the `else` of the one before; one of them holds if
// `last`, else what is in the `else` of the last may be taken too.
typedef struct Conditions {
  const Scope *scope;
  const AstExp *first;
  int count;
  bool last;
} Conditions;

static const AstExp *condition_after(const AstExp *exp, int count) {
  for (; count; count--)
    exp = exp->u.cond.else_exp;
  return exp;
}

// Of many conditions, those of the first half if one of them holds, else the others.
static const Val *eval_conditions(Elab *e, const void *state, const char *name) {
  const Conditions *all = state;
  Conditions rest = *all;
  Part one = { all->scope, all->count ? all->first->u.cond.then_exp : all->first, NULL };
  if (all->count == !!all->last) return eval_part(e, &one, name);
  int taken = all->count > MOST_CONDITIONS ? all->count / 2 : 1;
  Conditions half = { all->scope, all->first, taken, true };
  rest.first = condition_after(all->first, taken);
  rest.count -= taken;
  Branches branches = { { eval_conditions, &half },
                        { eval_conditions, &rest },
                        branch_type(all->first, all->scope, NULL) };
  return elab_if(e, elab_any(e, all->scope, all->first, taken), branches, name);
}

static int count_conditions(const AstExp *exp) {
  int count = 0;
  for (; exp->kind == AST_IF; exp = exp->u.cond.else_exp)
    count++;
  return count;
}

const Val *elab_cond(Elab *e, Scope *s, const AstExp *exp, Want want) {
  const Tail *t = want.tail;
  Part yes = { s, exp->u.cond.then_exp, t }, no = { s, exp->u.cond.else_exp, t };
  const AstExp *only = only_base(exp, t);
  if (only) return eval_part(e, &(Part){ s, only, t }, want.name);
  int count = t ? 0 : count_conditions(exp);
  if (count > MOST_CONDITIONS)
    return eval_conditions(e, &(Conditions){ s, exp, count, false }, want.name);
  Atom condition = elab_scalar(e, s, exp->u.cond.condition);
  if (!is_decided(condition, t)) return NULL;
  Branches branches = { { eval_part, &yes }, { eval_part, &no }, branch_type(exp, s, t) };
  return elab_if(e, condition, branches, want.name);
}

// Whether a body computes a few scalars and cannot fail: then it may run unconditionally.
static bool is_cheap(const Builder *b) {
  if (b->stms.count > 4) return false;
  for (int i = 0; i < b->stms.count; i++) {
    const Exp *exp = b->stms.at[i].exp;
    if (!exp_is_scalar(exp) || exp_may_fail(exp)) return false;
  }
  return true;
}

// a && b && c: what is left of it, last first.
typedef struct Junction {
  Vec(const AstExp *) operands;
  bool is_and;
  int depth;  // of the operands within others
  const char *name;
} Junction;

static void add_operands(Junction *chain, const AstExp *exp) {
  AstExpKind kind = exp->kind;
  for (; exp->kind == kind; exp = exp->u.logical.left)
    vec_push(&chain->operands, exp->u.logical.right);
  vec_push(&chain->operands, exp);
}

static Atom elab_chain(Elab *e, Scope *s, Junction *chain, Atom left);

// if left then right && the rest else false
static Atom nested_chain(Elab *e, Scope *s, Junction *chain, Atom left, Inner *inner,
                         Atom right) {
  const char *name = chain->name;
  chain->name = NULL;
  if (chain->depth < MOST_NESTED) {
    chain->depth++;
    right = elab_chain(e, s, chain, right);
    chain->depth--;
  }
  elab_leave(e, inner);
  chain->name = name;
  const Body *rest = core_body(&inner->b, &right, 1);
  Builder none = builder_new(e->c, e->b->loc);
  Atom decided = atom_bool(!chain->is_and);
  const Body *known = core_body(&none, &decided, 1);
  const Exp *joined =
      chain->is_and ? exp_if(left, rest, known) : exp_if(left, known, rest);
  return elab_emit(e, name, chain->is_and ? "both" : "either", joined);
}

// left && right.  Where the right side is known to decide, the left one is still evaluated, as it
// may fail: `simplify` drops it if it cannot.
static Atom junction_of(Elab *e, const Junction *chain, Atom left, Atom right) {
  PrimOp op = chain->is_and ? OP_LAND : OP_LOR;
  Atom both[] = { left, right };
  bool decides = right.kind == ATOM_CONST && (right.u.constant.u.i != 0) != chain->is_and;
  return decides ? elab_op(e, chain->name, op, both)
                 : elab_junction(e, chain->name, op, both);
}

// What is costly or may fail is within what is before it, and what comes after it as well: that it
// holds is known there.
static Atom elab_chain(Elab *e, Scope *s, Junction *chain, Atom left) {
  while (chain->operands.count) {
    Part part = { s, chain->operands.at[--chain->operands.count], NULL };
    Inner inner;
    elab_enter(e, &inner);
    Atom right = val_scalar(e, eval_part(e, &part, NULL));
    if (left.kind != ATOM_CONST && !is_cheap(&inner.b)) {
      left = nested_chain(e, s, chain, left, &inner, right);
      continue;
    }
    elab_leave(e, &inner);
    if (left.kind == ATOM_CONST && (left.u.constant.u.i != 0) != chain->is_and) continue;
    core_add_body(e->b, core_body(&inner.b, &right, 1));
    left = junction_of(e, chain, left, right);
  }
  return left;
}

// The first of `count` conditions, or the next in its `else`, and so on.
static Atom elab_any(Elab *e, const Scope *s, const AstExp *first, int count) {
  Junction chain = { 0 };
  Scope scope = *s;
  for (int i = count - 1; i > 0; i--)
    vec_push(&chain.operands, condition_after(first, i)->u.cond.condition);
  return elab_chain(e, &scope, &chain, elab_scalar(e, &scope, first->u.cond.condition));
}

const Val *elab_logical(Elab *e, Scope *s, const AstExp *exp, const char *name) {
  Junction chain = { .is_and = exp->kind == AST_AND, .name = name };
  add_operands(&chain, exp);
  const AstExp *first = chain.operands.at[--chain.operands.count];
  return val_atom(elab_chain(e, s, &chain, elab_scalar(e, s, first)));
}

// ---- match

// The cases from `next` to before `end`, for a value that one of them matches, and no case before.
typedef struct Cases {
  const Scope *scope;
  const AstExp *exp;
  const Val *value;
  const Tail *tail;
  int next, end;
} Cases;

static const Val *eval_cases(Elab *e, const void *state, const char *name);

static const Val *eval_case(Elab *e, const void *state, const char *name) {
  const Cases *cases = state;
  const AstCase *taken = &cases->exp->u.match.cases.at[cases->next];
  Scope scope = *cases->scope;
  elab_bind(e, &scope, taken->pat, cases->value);
  return elab_exp(e, &scope, taken->body, (Want){ .name = name, .tail = cases->tail });
}

// The first case from `from` on that can be taken; after a loop, one with an end that is no call.
static int case_from(const Cases *cases, int from) {
  const AstExp *match = cases->exp;
  bool base = cases->tail && cases->tail->mode == TAIL_BASE;
  while (base && from < cases->end &&
         !elab_has_end(match->u.match.cases.at[from].body, cases->tail, false))
    from++;
  return from;
}

static Atom case_matches(Elab *e, const Cases *cases, int at) {
  Scope scope = *cases->scope;
  return elab_matches(e, &scope, cases->exp->u.match.cases.at[at].pat, cases->value);
}

// Of many cases, those of the first half if one of them matches, else the others.
static const Val *eval_halves(Elab *e, const Cases *cases, const char *name) {
  Cases first = *cases, second = *cases;
  first.end = second.next = cases->next + (cases->end - cases->next) / 2;
  Atom none = atom_bool(true);
  for (int i = first.next; i < first.end; i++)
    none = elab_and(e, none, elab_op1(e, OP_NOT, case_matches(e, cases, i)));
  Branches branches = { { eval_cases, &second },
                        { eval_cases, &first },
                        branch_type(cases->exp, cases->scope, NULL) };
  return elab_if(e, none, branches, name);
}

// The last case needs no test: the checker made sure that one of them matches.
static const Val *eval_cases(Elab *e, const void *state, const char *name) {
  const Cases *cases = state;
  if (!cases->tail && cases->end - cases->next > MOST_CASES)
    return eval_halves(e, cases, name);
  Cases rest = *cases;
  rest.next = case_from(cases, cases->next + 1);
  if (rest.next == cases->end) return eval_case(e, cases, name);
  Atom matches = case_matches(e, cases, cases->next);
  if (!is_decided(matches, cases->tail)) return NULL;
  Branches branches = { { eval_case, cases },
                        { eval_cases, &rest },
                        branch_type(cases->exp, cases->scope, cases->tail) };
  return elab_if(e, matches, branches, name);
}

const Val *elab_match(Elab *e, Scope *s, const AstExp *exp, Want want) {
  const Val *value = elab_part(e, s, exp->u.match.value);
  Cases cases = { s, exp, value, want.tail, 0, exp->u.match.cases.count };
  cases.next = case_from(&cases, 0);
  return eval_cases(e, &cases, want.name);
}
