// The loop with a stack that a function that calls itself becomes (stack.c says how).
#include "core/elab/stack.h"
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 256, MOST_DEPTH = 1 << 24 };  // of calls that are not done yet

// The parameters of the loop, in order, and values for slots that nothing needs.
typedef struct StackRound {
  const Stack *stack;
  const Var *going, *sp, *site;
  const VarVec *returned;
  const Var *sites;  // where calls go on
  const Var **kept;  // what they have kept: an array for each slot
  AtomVec zeros;
} StackRound;

// What a round ends with: the site of a call, or 0 at the end; then the parameters of the call, the
// results, and what the call keeps.
static int outcome_count(const Stack *s) {
  return 1 + s->self->param_count + s->self->result_count + s->slots.count;
}

static const Var *loop_var(Elab *e, const char *name, CoreType type) {
  return var_new(e->c, name_of(e->c->names, name), type, e->b->loc);
}

static void bind_var(Elab *e, const Var *var, const Exp *exp) {
  core_let_vars(e->b, mem_copy(&var, sizeof(const Var *)), 1, exp);
}

// ---- outcomes

static void end_round(const StackRound *r, Atom site, const Atom *args,
                      const Atom *results, Atom *out) {
  const Function *self = r->stack->self;
  *out++ = site;
  for (int i = 0; i < self->param_count; i++)
    *out++ = args ? args[i] : atom_var(self->params[i]);
  for (int i = 0; i < self->result_count; i++)
    *out++ = results ? results[i] : atom_var(r->returned->at[i]);
  for (int i = 0; i < r->zeros.count; i++)
    *out++ = r->zeros.at[i];
}

static int site_of(const Stack *s, const Stm *call) {
  int i = 0;
  while (s->sites.at[i].call != call)
    i++;
  return i;
}

static void end_in_call(const StackRound *r, const Stm *call, Atom *out) {
  const Stack *s = r->stack;
  int index = site_of(s, call);
  const StackSite *site = &s->sites.at[index];
  end_round(r, atom_i64(index + 1), call->exp->u.call.args, NULL, out);
  Atom *kept = out + outcome_count(s) - s->slots.count;
  for (int i = 0; i < site->saved.count; i++)
    kept[site->slots[i]] = atom_var(site->saved.at[i]);
}

static void add_rest(Elab *e, const StackRound *r, const Remainder *rest, Atom *out);

typedef void (*PartFn)(Elab *e, const StackRound *r, const void *state, Atom *out);

// Parts of the body come into several branches, each with names of its own.
static const Body *part(Elab *e, const StackRound *r, PartFn fn, const void *state) {
  int count = outcome_count(r->stack);
  Atom *out = new_array(Atom, count);
  Inner inner;
  elab_enter(e, &inner);
  fn(e, r, state, out);
  elab_leave(e, &inner);
  return core_rename_body(e->c, subst_new(), core_body(&inner.b, out, count));
}

static void add_branch(Elab *e, const StackRound *r, const void *state, Atom *out) {
  add_rest(e, r, state, out);
}

static void add_if(Elab *e, const StackRound *r, const Stm *stm, const Remainder *after,
                   Atom *out) {
  const Body *const *bodies[] = { &stm->exp->u.cond.then_body,
                                  &stm->exp->u.cond.else_body };
  const Body *parts[2];
  for (int i = 0; i < 2; i++)
    parts[i] = part(e, r, add_branch, stack_rest(*bodies[i], 0, stm->binders, after));
  core_let_n(e->b, "next", exp_if(stm->exp->u.cond.condition, parts[0], parts[1]), out);
}

// To the next call or to the end.
static void add_rest(Elab *e, const StackRound *r, const Remainder *rest, Atom *out) {
  const Body *body = rest->body;
  for (int i = rest->at; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (stack_is_call(r->stack, stm->exp)) {
      end_in_call(r, stm, out);
      return;
    }
    if (stack_calls(r->stack, stm->exp)) {
      const Remainder *after = stack_rest(body, i + 1, rest->binders, rest->outer);
      add_if(e, r, stm, after, out);
      return;
    }
    core_add_stm(e->b, *stm);
  }
  if (!rest->outer) {
    end_round(r, atom_i64(0), NULL, body->results, out);
    return;
  }
  for (int i = 0; i < body->result_count; i++) {
    bind_var(e, rest->binders[i], exp_atom(body->results[i]));
  }
  add_rest(e, r, rest->outer, out);
}

// ---- rounds

static const Exp *top_of(const StackRound *r, const Var *array) {
  Atom sp = atom_var(r->sp);
  return exp_index(atom_var(array), &sp, 1, false);
}

// From behind the call on: it has returned.
static void add_from_site(Elab *e, const StackRound *r, const StackSite *site,
                          Atom *out) {
  for (int i = 0; i < site->saved.count; i++) {
    bind_var(e, site->saved.at[i], top_of(r, r->kept[site->slots[i]]));
  }
  for (int i = 0; i < site->call->binder_count; i++) {
    bind_var(e, site->call->binders[i], exp_atom(atom_var(r->returned->at[i])));
  }
  add_rest(e, r, site->rest, out);
}

typedef struct SitePart {
  const Remainder *start;
  int site;  // 0: the start, or behind a call
} SitePart;

static void add_chosen(Elab *e, const StackRound *r, const void *state, Atom *out) {
  const SitePart *choice = state;
  if (choice->site)
    add_from_site(e, r, &r->stack->sites.at[choice->site - 1], out);
  else
    add_rest(e, r, choice->start, out);
}

// The part at the site, or one that comes after it.
static void add_sites(Elab *e, const StackRound *r, const void *state, Atom *out) {
  const SitePart *choice = state;
  if (choice->site == r->stack->sites.count) {
    add_chosen(e, r, choice, out);
    return;
  }
  SitePart others = { choice->start, choice->site + 1 };
  Atom here = elab_op2(e, OP_EQ, atom_var(r->site), atom_i64(choice->site));
  const Body *own = part(e, r, add_chosen, choice);
  const Body *rest = part(e, r, add_sites, &others);
  core_let_n(e->b, "next", exp_if(here, own, rest), out);
}

// ---- the stack

// #[depth(n)]
static int64_t depth_of(Elab *e, const Closure *f) {
  vec_each (const AstAttr *const *, attr, &f->binding->attrs) {
    if (strcmp((*attr)->name, "depth") != 0) continue;
    const char *text = (*attr)->args.count == 1 ? (*attr)->args.at[0]->name : "";
    char *end = NULL;
    long depth = strtol(text, &end, 10);
    if (*text && !*end && depth >= 1 && depth <= MOST_DEPTH) return depth;
    error(e->c, (*attr)->loc, "expected a number of calls from 1 to %d in `depth(..)`",
          MOST_DEPTH);
    elab_stop(e);
  }
  return DEPTH;
}

static Atom check_depth(Elab *e, const StackRound *r, const Closure *f, Atom called,
                        Atom next) {
  int64_t depth = depth_of(e, f);
  Message m = message_new();
  message_text(&m, text_format("more than %lld calls of `%s` within each other "
                               "(`#[depth(n)]` before its definition allows n)",
                               (long long)depth, f->binding->name));
  Atom room = elab_op2(e, OP_LT, atom_var(r->sp), atom_i64(depth));
  elab_assert(e, elab_or(e, elab_op1(e, OP_NOT, called), room), &m, &next, 1);
  return next;
}

// The array with a value for the call that comes next, if one does.
static Atom push(Elab *e, const StackRound *r, const Var *array, Atom value) {
  CoreType type = array->type;
  DimIndex *dims = new_array(DimIndex, type.rank);
  dims[0] = dim_fix(atom_var(r->sp));
  for (int i = 1; i < type.rank; i++)
    dims[i] = dim_slice(atom_i64(0), type.dims[i], atom_i64(1));
  return elab_emit(e, NULL, array->name, exp_update(atom_var(array), dims, value, false));
}

// Of what a round ends with, the next values of the loop's parameters.
static AtomVec next_values(Elab *e, const StackRound *r, const Closure *f,
                           const Atom *out) {
  const Stack *s = r->stack;
  Atom sp = atom_var(r->sp), called = elab_op2(e, OP_LT, atom_i64(0), out[0]);
  Atom site = check_depth(e, r, f, called, out[0]);
  Atom sites = push(e, r, r->sites, site);
  Atom below = elab_op2(e, OP_SUB, sp, atom_i64(1));
  Atom last = elab_op2(e, OP_MAX, below, atom_i64(0));
  Atom back = elab_emit(e, NULL, "back", exp_index(sites, &last, 1, false));
  AtomVec next = { 0 };
  vec_push(&next, elab_or(e, called, elab_op2(e, OP_LT, atom_i64(0), sp)));
  vec_push(&next, elab_select(e, called, elab_op2(e, OP_ADD, sp, atom_i64(1)), below));
  vec_push(&next, elab_select(e, called, atom_i64(0), back));
  vec_push(&next, sites);
  int data = s->self->param_count + s->self->result_count;
  for (int i = 1; i <= data; i++)
    vec_push(&next, out[i]);
  for (int i = 0; i < s->slots.count; i++)
    vec_push(&next, push(e, r, r->kept[i], out[1 + data + i]));
  return next;
}

// ---- the loop

typedef struct LoopParams {
  VarVec vars;
  AtomVec inits;
} LoopParams;

static const Var *add_loop_param(Elab *e, LoopParams *p, const char *name, Atom init) {
  const Var *var = loop_var(e, name, atom_type(init));
  vec_push(&p->vars, var);
  vec_push(&p->inits, init);
  return var;
}

static Atom zeros_of(Elab *e, CoreType type) {
  AtomVec dims = { 0 };
  for (int i = 0; i < type.rank; i++)
    vec_push(&dims, type.dims[i]);
  return elab_zeros(e, type.elem, &dims);
}

static Atom room_for(Elab *e, const Closure *f, Atom zero) {
  Atom count =
      atom_i64(depth_of(e, f) + 1);  // one more is written at the end, and not read
  return elab_emit(e, NULL, "stack", exp_replicate(count, zero));
}

static StackRound round_of(Elab *e, const Stack *s, const Closure *f, const Atom *inits,
                           LoopParams *p) {
  StackRound r = { .stack = s };
  VarVec *returned = new (VarVec);
  r.going = add_loop_param(e, p, "going_on", atom_bool(true));
  r.sp = add_loop_param(e, p, "sp", atom_i64(0));
  r.site = add_loop_param(e, p, "site", atom_i64(0));
  r.sites = add_loop_param(e, p, "sites", room_for(e, f, atom_i64(0)));
  for (int i = 0; i < s->self->param_count; i++) {
    vec_push(&p->vars, s->self->params[i]);
    vec_push(&p->inits, inits[i]);
  }
  for (int i = 0; i < s->self->result_count; i++)
    vec_push(returned,
             add_loop_param(e, p, "returned", zeros_of(e, s->self->results[i])));
  r.returned = returned;
  r.kept = new_array(const Var *, s->slots.count);
  for (int i = 0; i < s->slots.count; i++) {
    Atom zero = zeros_of(e, s->slots.at[i]);
    vec_push(&r.zeros, zero);
    r.kept[i] = add_loop_param(e, p, "kept", room_for(e, f, zero));
  }
  return r;
}

static const Body *round_body(Elab *e, const StackRound *r, const Closure *f,
                              const Body *body) {
  Atom *out = new_array(Atom, outcome_count(r->stack));
  Inner inner;
  elab_enter(e, &inner);
  SitePart start = { stack_rest(body, 0, NULL, NULL), 0 };
  add_sites(e, r, &start, out);
  AtomVec next = next_values(e, r, f, out);
  elab_leave(e, &inner);
  return core_body(&inner.b, next.at, next.count);
}

const Atom *stack_loop(Elab *e, const Stack *s, const Closure *f, const Body *body,
                       const Atom *inits) {
  LoopParams p = { 0 };
  StackRound r = round_of(e, s, f, inits, &p);
  const Exp *loop = new_node(Exp, .kind = EXP_LOOP,
                             .u.loop = { .params = p.vars.at,
                                         .inits = p.inits.at,
                                         .param_count = p.vars.count,
                                         .form = CORE_WHILE,
                                         .bound = atom_i64(0),
                                         .body = round_body(e, &r, f, body) });
  Atom *out = new_array(Atom, p.vars.count);
  core_let_n(e->b, f->binding->name, loop, out);
  return out + 4 + s->self->param_count;
}
