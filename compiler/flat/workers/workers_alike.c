// For workers on devices of different kinds: what all of them compute is the same for all.
//
//   let n_kept = segred1 <i < n> (+) {..}        (not divided; floats decide what it counts)
//     =>  let (start, count, workers, rank, most) = split 1 if Par(0) >= main.workers_1
//         let own = segred1 <i < n> (+) {..}
//         let all = gather workers from rank:1 own
//         let n_kept = all[0]
//
//   let ys = segmap1 <i < n> {..}
//     =>  let own = segmap1 <i < n> {..}
//         let rows = count * n
//         let ys = fetch 0:n of n from 0:rows own[0:rows]
//
// Needs: Flat of several workers.   Keeps: one binding per name.   Why: devices and the two codes
// round floats differently; what the host decides by them, and what one worker reads of its own
// copy and another one of its own, must agree in every bit.  What does not depend on how floats are
// rounded is the same anyway.  The host's own arithmetic is: one compiler compiles it, with
// -ffp-contract=off.
//
// Variables of which each worker has its own value (blocks, and what is made of them) stay so until
// they are gathered.
#include "core/passes.h"
#include "flat/workers/workers.h"

typedef struct Agreed {
  Compiler *c;
  const Entry *entry;
  bool fixed;         // sums and products are rounded alike
  Map *own;           // Var: each worker has a value of its own
  bool more;          // some was found
  const Var **split;  // of one row: whose owner stands for all
  RowSplit owner;     // what the program reads of that
  bool asked;         // is the owner needed?
} Agreed;

// ---- what differs between workers

static bool is_own(const Agreed *a, Atom atom) {
  return atom.kind == ATOM_VAR && map_has(a->own, atom.u.var);
}

static void mark(Agreed *a, const Var *var, bool own) {
  if (!own || map_has(a->own, var)) return;
  map_put(a->own, var, var);
  a->more = true;
}

static void mark_all(Agreed *a, const Stm *stm, bool own) {
  for (int i = 0; i < stm->binder_count; i++)
    mark(a, stm->binders[i], own);
}

static void mark_body(Agreed *a, const Body *body);

// Where all take the same branch, the meaning of both is the same: what is everyone's in one is so
// in the other, which then stands for a single worker.
static bool is_either_own(const Agreed *a, Atom first, Atom second) {
  bool one = is_own(a, first), two = is_own(a, second);
  return (one || two) && (one || first.kind == ATOM_CONST) &&
         (two || second.kind == ATOM_CONST);
}

static void mark_branches(Agreed *a, const Stm *stm, const Body *first,
                          const Body *second, bool own) {
  mark_body(a, first);
  mark_body(a, second);
  for (int i = 0; i < stm->binder_count; i++)
    mark(a, stm->binders[i],
         own || is_either_own(a, first->results[i], second->results[i]));
}

static void mark_loop(Agreed *a, const Stm *stm) {
  const Exp *e = stm->exp;
  const Body *body = e->u.loop.body;
  bool counts = e->u.loop.form == CORE_FOR;
  bool own = counts ? is_own(a, e->u.loop.bound)
                    : map_has(a->own, e->u.loop.params[e->u.loop.while_param]);
  if (counts) mark(a, e->u.loop.index, own);
  for (int i = 0; i < e->u.loop.param_count; i++)
    mark(a, e->u.loop.params[i],
         own || is_own(a, e->u.loop.inits[i]) || is_own(a, body->results[i]));
  mark_body(a, body);
  for (int i = 0; i < stm->binder_count; i++)
    mark(a, stm->binders[i], map_has(a->own, e->u.loop.params[i]));
}

static bool mentions_own(const Agreed *a, const Stm *stm) {
  VarVec free = core_free_exp(stm->exp);
  vec_each (const Var **, v, &free)
    if (map_has(a->own, *v)) return true;
  for (int i = 0; i < stm->binder_count; i++)
    for (int d = 0; d < stm->binders[i]->type.rank; d++)
      if (is_own(a, stm->binders[i]->type.dims[d])) return true;
  return false;
}

static void mark_stm(Agreed *a, const Stm *stm) {
  const Exp *e = stm->exp;
  switch ((int)e->kind) {
  case EXP_SPLIT:
    mark(a, stm->binders[SPLIT_START], true);
    mark(a, stm->binders[SPLIT_COUNT], true);
    mark(a, stm->binders[SPLIT_RANK], true);
    return;
  case EXP_GATHER: return;
  case EXP_FETCH:
    mark_all(a, stm, is_own(a, e->u.fetch.first) || is_own(a, e->u.fetch.rows));
    return;
  case EXP_IF:
    mark_branches(a, stm, e->u.cond.then_body, e->u.cond.else_body,
                  is_own(a, e->u.cond.condition));
    return;
  case EXP_GUARD:
    mark_branches(a, stm, e->u.guard.then_body, e->u.guard.else_body, false);
    return;
  case EXP_LOOP: mark_loop(a, stm); return;
  default: mark_all(a, stm, mentions_own(a, stm));
  }
}

static void mark_body(Agreed *a, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    mark_stm(a, &body->stms[i]);
}

// ---- what depends on rounding

typedef struct Looks {
  bool fixed, rounds, parallel;
} Looks;

static bool is_rounded(const Exp *e, bool fixed) {
  if (e->kind != EXP_OP || !prim_is_float(e->u.op.type)) return false;
  switch ((int)e->u.op.op) {
  case OP_EQ:
  case OP_NE:
  case OP_LT:
  case OP_LE:
  case OP_NEG:
  case OP_ABS: return false;
  case OP_ADD:
  case OP_SUB:
  case OP_MUL: return !fixed;
  default: return true;
  }
}

static void look_at(CoreVisitor *v, const Exp *e) {
  Looks *looks = v->state;
  looks->rounds |= is_rounded(e, looks->fixed);
  looks->parallel |= e->kind == EXP_SEG || e->kind == EXP_SPLIT || exp_is_exchange(e);
  if (e->kind == EXP_CALL) v->body(v, e->u.call.function->body);
  core_visit_exp(v, e);
}

static void look_in(CoreVisitor *v, const Body *body) {
  for (int i = 0; i < body->stm_count; i++)
    look_at(v, body->stms[i].exp);
}

static Looks looks_of(const Agreed *a, const Exp *exp) {
  Looks looks = { .fixed = a->fixed };
  CoreVisitor v = { .body = look_in, .state = &looks };
  look_at(&v, exp);
  return looks;
}

// Does a device compute it?  What the host computes is the same for all.
static bool is_devices(const Exp *exp) {
  return !exp_is_scalar(exp) && exp->kind != EXP_INDEX && exp->kind != EXP_CALL;
}

static bool is_block_of_code(const Exp *exp) {
  return exp->kind == EXP_IF || exp->kind == EXP_GUARD || exp->kind == EXP_LOOP;
}

// ---- as one worker has it

static void add_array(Agreed *a, Builder *b, const Var *var, const Var *own) {
  CoreType type = var->type;
  Atom zero = atom_i64(0), one = atom_i64(1);
  Atom rows = core_let(b, "rows", exp_op2(OP_MUL, a->owner.count, own->type.dims[0]));
  DimIndex *dims = new_array(DimIndex, type.rank);
  for (int i = 0; i < type.rank; i++)
    dims[i] = dim_slice(zero, i ? type.dims[i] : rows, one);
  Atom block = core_let(b, var->name, exp_slice(atom_var(own), dims, false));
  const Exp *gather = exp_gather(a->owner.workers, type.dims[0], zero, rows, block);
  core_let_vars(b, mem_copy(&var, sizeof var), 1, exp_fetch(gather, zero, type.dims[0]));
}

static void add_scalar(Agreed *a, Builder *b, const Var *var, const Var *own) {
  Atom zero = atom_i64(0);
  Atom all = spread_gather_value(b, var->name, atom_var(own), &a->owner);
  core_let_vars(b, mem_copy(&var, sizeof var), 1, exp_index(all, &zero, 1, false));
}

static CoreType renamed(CoreType type, const Subst *subst) {
  Atom *dims = new_array(Atom, type.rank + 1);
  for (int i = 0; i < type.rank; i++)
    dims[i] = subst_atom(subst, type.dims[i]);
  return (CoreType){ type.elem, type.rank, dims };
}

// The statement, then its results as one worker has them: numbers first, as they may be sizes.
static void add_alike(Agreed *a, Builder *b, const Stm *stm) {
  int count = stm->binder_count;
  Stm out = *stm;
  Subst *subst = subst_new();
  const Var **vars = new_array(const Var *, count);
  for (int i = 0; i < count; i++) {
    const Var *var = stm->binders[i];
    vars[i] = var;
    if (map_has(a->own, var)) continue;
    vars[i] = var_new(a->c, var->name, renamed(var->type, subst), var->loc);
    subst_put(subst, var, atom_var(vars[i]));
  }
  out.binders = vars;
  core_add_stm(b, out);
  a->asked = true;
  for (int numbers = 1; numbers >= 0; numbers--)
    for (int i = 0; i < count; i++) {
      const Var *var = stm->binders[i];
      if (vars[i] == var || (var->type.rank == 0) != numbers) continue;
      if (numbers)
        add_scalar(a, b, var, vars[i]);
      else
        add_array(a, b, var, vars[i]);
    }
}

static bool is_every_ones(const Agreed *a, const Stm *stm) {
  for (int i = 0; i < stm->binder_count; i++)
    if (!map_has(a->own, stm->binders[i])) return true;
  return false;
}

static const Body *alike_body(CoreMapper *m, const Body *body) {
  Agreed *a = m->state;
  Builder b = builder_new(a->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    Looks looks = looks_of(a, stm.exp);
    b.loc = stm.loc;
    if (is_block_of_code(stm.exp) && looks.parallel) {
      stm.exp = core_map_exp(m, stm.exp);
      core_add_stm(&b, stm);
    } else if (looks.rounds && is_devices(stm.exp) && is_every_ones(a, &stm)) {
      add_alike(a, &b, &stm);
    } else {
      core_add_stm(&b, stm);
    }
  }
  return core_body(&b, body->results, body->result_count);
}

// The body behind the split that says who stands for all.
static const Body *with_owner(Agreed *a, const Body *body) {
  Builder b = builder_new(a->c, a->entry->loc);
  Name name = name_of(a->c->names, text_format("%s.alike", a->entry->name));
  const Guard *guard = new_node(Guard, .kind = GUARD_WORKERS, .name = name,
                                .loc = a->entry->loc, .par = size_exp_atom(atom_i64(0)));
  core_let_vars(&b, a->split, SPLIT_RESULTS, exp_split(guard, atom_i64(1)));
  core_add_body(&b, body);
  return core_body(&b, body->results, body->result_count);
}

// ---- numbers of exchanges

typedef struct Sites {
  Compiler *c;
  int last;
} Sites;

static void number(Exp *exp, Sites *s) {
  switch ((int)exp->kind) {
  case EXP_GATHER: exp->u.gather.site = ++s->last; return;
  case EXP_BORDER: exp->u.border.site = ++s->last; return;
  case EXP_FETCH: exp->u.fetch.site = ++s->last; return;
  case EXP_DELIVER: exp->u.deliver.site = ++s->last; return;
  default: return;
  }
}

static const Body *number_body(CoreMapper *m, const Body *body) {
  Sites *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    Exp *exp = mem_copy(core_map_exp(m, stm.exp), sizeof *exp);
    number(exp, s);
    stm.exp = exp;
    core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// ---- entry points

static const Entry *alike_entry(Compiler *c, const Entry *entry, bool fixed) {
  Agreed a = { .c = c, .entry = entry, .fixed = fixed, .own = map_new(NULL) };
  do {
    a.more = false;
    mark_body(&a, entry->body);
  } while (a.more);
  a.split = new_array(const Var *, SPLIT_RESULTS);
  for (int i = 0; i < SPLIT_RESULTS; i++)
    a.split[i] =
        var_new(c, name_of(c->names, "owner"), type_scalar(PRIM_I64), entry->loc);
  a.owner = (RowSplit){ .count = atom_var(a.split[SPLIT_COUNT]),
                        .workers = atom_var(a.split[SPLIT_WORKERS]),
                        .rank = atom_var(a.split[SPLIT_RANK]) };
  CoreMapper m = { .body = alike_body, .state = &a };
  Entry *out = mem_copy(entry, sizeof *entry);
  out->body = alike_body(&m, entry->body);
  if (a.asked) out->body = with_owner(&a, out->body);
  return out;
}

static const Entry *numbered_entry(Compiler *c, const Entry *entry) {
  Sites sites = { c, 0 };
  CoreMapper m = { .body = number_body, .state = &sites };
  Entry *out = mem_copy(entry, sizeof *entry);
  out->body = number_body(&m, entry->body);
  return out;
}

// What nobody reads is not sent: it would be dead in the one code and not in the other.
const Core *flat_keep_alike(Compiler *c, const Core *flat, bool fixed) {
  Core *out = mem_copy(flat, sizeof *flat);
  out->entries = new_array(const Entry *, flat->entry_count);
  for (int i = 0; i < flat->entry_count; i++)
    out->entries[i] = alike_entry(c, flat->entries[i], fixed);
  Core *live = mem_copy(dead(c, out), sizeof *live);
  live->entries =
      mem_copy(live->entries, sizeof *live->entries * (size_t)live->entry_count);
  for (int i = 0; i < live->entry_count; i++)
    live->entries[i] = numbered_entry(c, live->entries[i]);
  return live;
}
