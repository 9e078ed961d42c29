// axis j: j < n loop (t = a) { .. in {t + c} }
//   =>  axis j: j < n loop () { let t = a + j * c .. }
//
// for i64, and a `c` that is the same in all rounds.  Why: what moves by a constant from round to
// round is seen as such where it is an index (neighbours in lanes, checks at the ends of a loop),
// and a loop that carries only a sum besides is a sum.
#include "kern/kern_ask.h"
#include "kern/tidy/tidy.h"

static void note_inside(KernVisitor *v, const Var *var) { map_put(v->state, var, var); }

// What the param has more in the next round; NULL: not the same in all.
static const Term *step_of(const Axis *loop, const Map *inside, int i) {
  const Var *param = loop->params[i];
  if (param->type.elem != PRIM_I64) return NULL;
  const Term *next = term_behind(loop->body, loop->body->results[i]);
  if (next->kind != TERM_OP || next->u.op.op != OP_ADD) return NULL;
  const Term *a = next->u.op.args[0], *b = next->u.op.args[1];
  const Term *step = term_is_var(a, param) ? b : term_is_var(b, param) ? a : NULL;
  return step && !term_mentions_any(step, inside) ? step : NULL;
}

static const Term *after_rounds(const Term *init, const Term *rounds, const Term *step) {
  return term_add(init, term_mul(rounds, step));
}

// A loop without its counters, on the way.
typedef struct CountedLoop {
  const Var **params, **binders;
  const Term **inits, **results;
  int count;
  KernBuilder inner, behind;  // lets of the counters: in a round, and behind the loop
  Map *names;                 // Var -> const Term *: those that are but another name
} CountedLoop;

static void keep_param(CountedLoop *out, const KernStm *stm, const KernBlock *body,
                       int i) {
  const Axis *loop = stm->u.axis;
  out->params[out->count] = loop->params[i];
  out->inits[out->count] = loop->inits[i];
  out->binders[out->count] = stm->binders[i];
  out->results[out->count++] = body->results[i];
}

static void sort_params(CountedLoop *out, const KernStm *stm, const Map *inside) {
  const Axis *loop = stm->u.axis;
  const Term *rounds = term_max(loop->width, term_i64(0));
  for (int i = 0; i < loop->param_count; i++) {
    const Term *step = step_of(loop, inside, i), *init = loop->inits[i];
    if (!step) {
      keep_param(out, stm, loop->body, i);
      continue;
    }
    const Term *is = after_rounds(init, term_var(loop->index), step);
    if (is->kind == TERM_VAR)
      map_put(out->names, loop->params[i], (void *)(intptr_t)is);
    else
      kern_let_var(&out->inner, loop->params[i], is);
    kern_let_var(&out->behind, stm->binders[i], after_rounds(init, rounds, step));
  }
}

static void add_lets(KernBuilder *b, const KernStm *stms, int count) {
  for (int i = 0; i < count; i++)
    kern_add(b, stms[i]);
}

static void add_counted(KernBuilder *b, const KernStm *stm) {
  const Axis *loop = stm->u.axis;
  int count = loop->param_count;
  CountedLoop out = { .params = new_array(const Var *, count + 1),
                      .binders = new_array(const Var *, count + 1),
                      .inits = new_array(const Term *, count + 1),
                      .results = new_array(const Term *, count + 1),
                      .names = map_new(NULL),
                      .inner = kern_builder(b->c, stm->loc),
                      .behind = kern_builder(b->c, stm->loc) };
  Map *inside = map_new(NULL);
  KernVisitor v = { .binder = note_inside, .state = inside };
  kern_visit_stm(&v, stm);
  sort_params(&out, stm, inside);
  if (out.count == count) {
    kern_add(b, *stm);
    return;
  }
  add_lets(&out.inner, loop->body->stms, loop->body->count);
  Axis counted = *loop;
  counted.params = out.params;
  counted.inits = out.inits;
  counted.param_count = out.count;
  counted.body = kern_block(&out.inner, out.results, out.count);
  if (map_count(out.names)) counted.body = kern_rename(b->c, out.names, counted.body);
  kern_axis(b, counted, out.binders, out.count);
  add_lets(b, out.behind.stms.at, out.behind.stms.count);
}

static const KernBlock *counted_block(KernMapper *m, const KernBlock *block) {
  KernBuilder b = kern_builder(m->c, (Loc){ 0 });
  kern_expect(&b, block->count);
  for (int i = 0; i < block->count; i++) {
    KernStm stm = kern_map_stm(m, &block->stms[i]);
    b.loc = stm.loc;
    if (stm.kind == KERN_AXIS && stm.u.axis->role == AXIS_LOOP)
      add_counted(&b, &stm);
    else
      kern_add(&b, stm);
  }
  return kern_block(&b, block->results, block->result_count);
}

const Kern *kern_count_rounds(Compiler *c, const Kern *kern) {
  KernMapper m = { .c = c, .block = counted_block };
  Kern *out = mem_copy(kern, sizeof *kern);
  out->body = kern_live_block(c, counted_block(&m, kern->body));
  return out;
}
