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
  SlotState *kept;   // what they have kept
  VarVec outcome;    // variables like those of what a round ends with
  AtomVec idle;      // parameters where no call follows
  AtomVec zeros;     // of what calls keep
} StackRound;

// What a round ends with: the site of a call, or 0 at the end; then the parameters of the call, the
// results, and what the call keeps.
static VarVec outcome_vars(Elab *e, const Stack *s) {
  VarVec vars = { 0 };
  vec_push(&vars,
           var_new(e->c, name_of(e->c->names, "next"), type_scalar(PRIM_I64), e->b->loc));
  for (int i = 0; i < s->self->param_count; i++)
    vec_push(&vars, s->self->params[i]);
  vec_each (const Var *const *, result, &s->results)
    vec_push(&vars, *result);
  vec_each (const StackSlot *, slot, &s->slots)
    slot_add_vars(e, slot, &vars);
  return vars;
}

static void bind_outcome(Elab *e, const StackRound *r, const Exp *exp, Atom *out) {
  VarVec vars = stack_copy_vars(e, &r->outcome);
  core_let_vars(e->b, vars.at, vars.count, exp);
  for (int i = 0; i < vars.count; i++)
    out[i] = atom_var(vars.at[i]);
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
    *out++ = args ? args[i] : r->idle.at[i];
  for (int i = 0; i < self->result_count; i++)
    *out++ = results ? results[i] : atom_var(r->returned->at[i]);
  for (int i = 0; i < r->zeros.count; i++)
    *out++ = r->zeros.at[i];
}

static int site_of(const Stack *s, const Stm *stm) {
  int i = 0;
  while (s->sites.at[i].stm != stm)
    i++;
  return i;
}

// Where in an outcome a slot's part begins.
static int slot_at(const StackRound *r, int index) {
  int at = r->outcome.count;
  for (int i = r->stack->slots.count - 1; i >= index; i--)
    at -= slot_width(&r->stack->slots.at[i]);
  return at;
}

static void end_in_call(Elab *e, const StackRound *r, const Stm *call, Atom *out) {
  const Stack *s = r->stack;
  int index = site_of(s, call);
  const StackSite *site = &s->sites.at[index];
  end_round(r, atom_i64(index + 1), call->exp->u.call.args, NULL, out);
  for (int i = 0; i < site->saved.count; i++)
    slot_add_value(e, &s->slots.at[site->slots[i]], atom_var(site->saved.at[i]),
                   out + slot_at(r, site->slots[i]));
}

// The next round is the loop's, with these parameters.
static void end_in_loop(Elab *e, const StackRound *r, int index, const Atom *params,
                        Atom counter, Atom *out) {
  const StackSite *site = &r->stack->sites.at[index];
  const Exp *loop = site->stm->exp;
  end_round(r, atom_i64(-(index + 1)), NULL, NULL, out);
  for (int i = 0; i < site->saved.count; i++) {
    const Var *var = site->saved.at[i];
    Atom value = var == loop->u.loop.index ? counter : atom_var(var);
    for (int k = 0; k < loop->u.loop.param_count; k++)
      if (var == loop->u.loop.params[k]) value = params[k];
    slot_add_value(e, &r->stack->slots.at[site->slots[i]], value,
                   out + slot_at(r, site->slots[i]));
  }
}

static void end_in_next(Elab *e, const StackRound *r, const Remainder *rest, Atom *out) {
  const Exp *loop = r->stack->sites.at[rest->loop].stm->exp;
  Atom counter = atom_i64(0);
  if (loop->u.loop.form == CORE_FOR)
    counter = elab_op2(e, OP_ADD, atom_var(loop->u.loop.index), atom_i64(1));
  end_in_loop(e, r, rest->loop, rest->body->results, counter, out);
}

static void add_rest(Elab *e, const StackRound *r, const Remainder *rest, Atom *out);

typedef void (*PartFn)(Elab *e, const StackRound *r, const void *state, Atom *out);

// Parts of the body come into several branches, each with names of its own.
static const Body *part(Elab *e, const StackRound *r, PartFn fn, const void *state) {
  int count = r->outcome.count;
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
  bind_outcome(e, r, exp_if(stm->exp->u.cond.condition, parts[0], parts[1]), out);
}

// To the next call or to the end.
static void add_rest(Elab *e, const StackRound *r, const Remainder *rest, Atom *out) {
  const Body *body = rest->body;
  for (int i = rest->at; i < body->stm_count; i++) {
    const Stm *stm = &body->stms[i];
    if (stack_is_call(r->stack, stm->exp)) {
      end_in_call(e, r, stm, out);
      return;
    }
    if (stack_calls(r->stack, stm->exp)) {
      if (stm->exp->kind == EXP_LOOP)
        end_in_loop(e, r, site_of(r->stack, stm), stm->exp->u.loop.inits, atom_i64(0),
                    out);
      else
        add_if(e, r, stm, stack_after(rest, i + 1), out);
      return;
    }
    core_add_stm(e->b, *stm);
  }
  if (rest->loop >= 0) {
    end_in_next(e, r, rest, out);
    return;
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

static void add_round(Elab *e, const StackRound *r, const void *state, Atom *out) {
  const StackSite *site = state;
  int index = (int)(site - r->stack->sites.at);
  add_rest(e, r, stack_round(site->stm->exp->u.loop.body, index), out);
}

static void add_end_of_loop(Elab *e, const StackRound *r, const void *state, Atom *out) {
  const StackSite *site = state;
  for (int i = 0; i < site->stm->binder_count; i++)
    bind_var(e, site->stm->binders[i],
             exp_atom(atom_var(site->stm->exp->u.loop.params[i])));
  add_rest(e, r, site->rest, out);
}

// A round of a loop, or what follows it.
static void add_loop_head(Elab *e, const StackRound *r, const StackSite *site,
                          Atom *out) {
  const Exp *loop = site->stm->exp;
  Atom more = loop->u.loop.form == CORE_FOR
                  ? elab_op2(e, OP_LT, atom_var(loop->u.loop.index), loop->u.loop.bound)
                  : atom_var(loop->u.loop.params[loop->u.loop.while_param]);
  const Body *round = part(e, r, add_round, site);
  const Body *end = part(e, r, add_end_of_loop, site);
  bind_outcome(e, r, exp_if(more, round, end), out);
}

// From behind the call on: it has returned.
static void add_from_site(Elab *e, const StackRound *r, const StackSite *site,
                          Atom *out) {
  for (int i = 0; i < site->saved.count; i++) {
    int slot = site->slots[i];
    slot_read(e, &r->stack->slots.at[slot], &r->kept[slot], atom_var(r->sp),
              site->saved.at[i]);
  }
  if (site->stm->exp->kind == EXP_LOOP) {
    add_loop_head(e, r, site, out);
    return;
  }
  for (int i = 0; i < site->stm->binder_count; i++) {
    bind_var(e, site->stm->binders[i], exp_atom(atom_var(r->returned->at[i])));
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
  bind_outcome(e, r, exp_if(here, own, rest), out);
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

// Of what a round ends with, the next values of the loop's parameters.
static AtomVec next_values(Elab *e, const StackRound *r, const Closure *f,
                           const Atom *out) {
  const Stack *s = r->stack;
  Atom sp = atom_var(r->sp), called = elab_op2(e, OP_LT, atom_i64(0), out[0]);
  Atom jumped = elab_op2(e, OP_LT, out[0], atom_i64(0));
  Atom site = check_depth(e, r, f, called, out[0]);
  Atom sites = slot_store(e, r->sites, sp, site);
  Atom below = elab_op2(e, OP_SUB, sp, atom_i64(1));
  Atom last = elab_op2(e, OP_MAX, below, atom_i64(0));
  Atom back = elab_emit(e, NULL, "back", exp_index(sites, &last, 1, false));
  Atom returned = elab_select(e, called, atom_i64(0), back);
  Atom lower = elab_select(e, jumped, sp, below);
  Atom goes_on = elab_or(e, called, elab_op2(e, OP_LT, atom_i64(0), sp));
  AtomVec next = { 0 };
  vec_push(&next, elab_or(e, jumped, goes_on));
  vec_push(&next, elab_select(e, called, elab_op2(e, OP_ADD, sp, atom_i64(1)), lower));
  vec_push(&next, elab_select(e, jumped, elab_op1(e, OP_NEG, out[0]), returned));
  vec_push(&next, sites);
  int data = s->self->param_count + s->self->result_count;
  for (int i = 1; i <= data; i++)
    vec_push(&next, out[i]);
  SlotTop top = { sp, last, called, jumped };
  for (int i = 0; i < s->slots.count; i++)
    slot_next(e, &s->slots.at[i], &r->kept[i], &top, out + slot_at(r, i), &next);
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

static Atom no_elements(Elab *e, CoreType type) {
  AtomVec dims = { 0 };
  for (int i = 0; i < type.rank; i++)
    vec_push(&dims, atom_i64(0));
  return elab_zeros(e, type.elem, &dims);
}

static Atom room_for(Elab *e, const Closure *f, Atom zero) {
  Atom count =
      atom_i64(depth_of(e, f) + 1);  // one more is written at the end, and not read
  return elab_emit(e, NULL, "stack", exp_replicate(count, zero));
}

static SlotState add_slot(Elab *e, const StackSlot *slot, const Closure *f, StackRound *r,
                          LoopParams *p) {
  SlotState state = { 0 };
  if (!slot->varies) {
    Atom zero = zeros_of(e, slot->type);
    vec_push(&r->zeros, zero);
    state.places = add_loop_param(e, p, "kept", room_for(e, f, zero));
    return state;
  }
  CoreType flat = type_array(slot->type.elem, 1, (Atom[]){ atom_i64(0) });
  Atom none = no_elements(e, flat);
  vec_push(&r->zeros, atom_i64(0));
  vec_push(&r->zeros, none);
  state.places = add_loop_param(e, p, "starts", room_for(e, f, atom_i64(0)));
  state.top = add_loop_param(e, p, "top", atom_i64(0));
  state.room = add_loop_param(e, p, "room", atom_i64(0));
  Atom room = atom_var(state.room);
  state.memory = loop_var(e, "memory", type_array(slot->type.elem, 1, &room));
  vec_push(&p->vars, state.memory);
  vec_push(&p->inits, none);
  return state;
}

static void add_returned(Elab *e, const Stack *s, LoopParams *p) {
  vec_each (const Var *const *, result, &s->results) {
    CoreType type = (*result)->type;
    vec_push(&p->vars, *result);
    vec_push(&p->inits, s->varies ? no_elements(e, type) : zeros_of(e, type));
  }
}

static StackRound round_of(Elab *e, const Stack *s, const Closure *f, const Atom *inits,
                           LoopParams *p) {
  StackRound r = { .stack = s, .returned = &s->results };
  r.going = add_loop_param(e, p, "going_on", atom_bool(true));
  r.sp = add_loop_param(e, p, "sp", atom_i64(0));
  r.site = add_loop_param(e, p, "site", atom_i64(0));
  r.sites = add_loop_param(e, p, "sites", room_for(e, f, atom_i64(0)));
  for (int i = 0; i < s->self->param_count; i++) {
    vec_push(&p->vars, s->self->params[i]);
    vec_push(&p->inits, inits[i]);
  }
  // Of sizes and arrays that vary, only some may have their values again behind a call.
  for (int i = 0; i < s->self->param_count; i++) {
    const Var *param = s->self->params[i];
    vec_push(&r.idle, s->varies ? no_elements(e, param->type) : atom_var(param));
  }
  add_returned(e, s, p);
  r.kept = new_array(SlotState, s->slots.count);
  for (int i = 0; i < s->slots.count; i++)
    r.kept[i] = add_slot(e, &s->slots.at[i], f, &r, p);
  r.outcome = outcome_vars(e, s);
  return r;
}

static const Body *round_body(Elab *e, const StackRound *r, const Closure *f,
                              const Body *body) {
  Atom *out = new_array(Atom, r->outcome.count);
  Inner inner;
  elab_enter(e, &inner);
  SitePart start = { stack_rest(body, 0, NULL, NULL), 0 };
  add_sites(e, r, &start, out);
  AtomVec next = next_values(e, r, f, out);
  elab_leave(e, &inner);
  return core_body(&inner.b, next.at, next.count);
}

AtomVec stack_loop(Elab *e, const Stack *s, const Closure *f, const Body *body,
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
  VarVec binders = stack_copy_vars(e, &p.vars), returned = { 0 };
  core_let_vars(e->b, binders.at, binders.count, loop);
  for (int i = 0; i < s->results.count; i++)
    vec_push(&returned, binders.at[4 + s->self->param_count + i]);
  return stack_leaves(s, &returned);
}
