#include "flat/spaces.h"
#include "base/map.h"

static void find_inner(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count; i++)
    *found |= body->stms[i].exp->kind == EXP_SEG;
  core_visit_body(v, body);
}

bool flat_has_inner_seg(const SegOp *seg) {
  bool found = false;
  CoreVisitor v = { .body = find_inner, .state = &found };
  find_inner(&v, seg->body);
  return found;
}

typedef struct FailureSearch {
  Map *functions;  // that were looked at
  bool found;
} FailureSearch;

static void find_failure(CoreVisitor *v, const Body *body) {
  FailureSearch *s = v->state;
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *e = body->stms[i].exp;
    if (e->kind != EXP_CALL) {
      s->found |= e->kind != EXP_REPLICATE && e->kind != EXP_IOTA && exp_may_fail(e);
    } else if (!map_has(s->functions, e->u.call.function)) {
      map_put(s->functions, e->u.call.function, e);
      find_failure(v, e->u.call.function->body);
    }
  }
  core_visit_body(v, body);
}

bool flat_may_fail(const Body *body) {
  FailureSearch s = { map_new(NULL), false };
  CoreVisitor v = { .body = find_failure, .state = &s };
  find_failure(&v, body);
  return s.found;
}

bool flat_has_loops(const Body *body) {
  for (int i = 0; i < body->stm_count; i++) {
    const Exp *exp = body->stms[i].exp;
    if (exp->kind == EXP_LOOP || exp_is_soac(exp)) return true;
    BodyVec bodies = exp_bodies(exp);
    vec_each (const Body **, inner, &bodies)
      if (flat_has_loops(*inner)) return true;
  }
  return false;
}

bool flat_makes_iota(const Exp *e) {
  const SegOp *seg = e->kind == EXP_SEG ? e->u.seg : NULL;
  return seg && seg->kind == SEG_MAP && seg->dim_count == 1 &&
         seg->body->result_count == 1 &&
         atom_equal(seg->body->results[0], atom_var(seg->dims[0].index));
}

Atom flat_divisor(Builder *b, Atom size) {
  bool known = size.kind == ATOM_CONST && size.u.constant.u.i > 0;
  return known ? size : core_let(b, "divisor", exp_op2(OP_MAX, size, atom_i64(1)));
}

typedef struct Spaces {
  Compiler *c;
  SpaceRule *rule;
  void *state;
  bool all;  // not maps alone
} Spaces;

static const Body *rewrite_body(CoreMapper *m, const Body *body) {
  Spaces *s = m->state;
  Builder b = builder_new(s->c, (Loc){ 0 });
  for (int i = 0; i < body->stm_count; i++) {
    Stm stm = body->stms[i];
    ExpKind kind = stm.exp->kind;
    b.loc = stm.loc;
    b.attrs = stm.attrs;
    if (kind == EXP_IF || kind == EXP_LOOP || kind == EXP_GUARD)
      stm.exp = core_map_exp(m, stm.exp);
    const SegOp *seg = kind == EXP_SEG ? stm.exp->u.seg : NULL;
    if (seg && (s->all || seg->kind == SEG_MAP) && seg->level == 1)
      s->rule(s->state, &b, body, i);
    else
      core_add_stm(&b, stm);
  }
  return core_body(&b, body->results, body->result_count);
}

// Functions have no seg-ops, and both profiles share them.
static const Core *rewrite_seg_ops(Compiler *c, const Core *flat, SpaceRule *rule,
                                   void *state, bool all) {
  Core *out = mem_copy(flat, sizeof *flat);
  const Entry **entries = new_array(const Entry *, flat->entry_count + 1);
  Spaces s = { c, rule, state, all };
  CoreMapper m = { .body = rewrite_body, .state = &s };
  for (int i = 0; i < flat->entry_count; i++) {
    Entry *entry = mem_copy(flat->entries[i], sizeof *entry);
    entry->body = rewrite_body(&m, entry->body);
    entries[i] = entry;
  }
  out->entries = entries;
  return out;
}

const Core *flat_rewrite_maps(Compiler *c, const Core *flat, SpaceRule *rule,
                              void *state) {
  return rewrite_seg_ops(c, flat, rule, state, false);
}

const Core *flat_rewrite_segs(Compiler *c, const Core *flat, SpaceRule *rule,
                              void *state) {
  return rewrite_seg_ops(c, flat, rule, state, true);
}
