// Yes/no questions about expressions, answered from the table of their kinds (exp.def).
#include "core/core.h"

// The words of exp.def.
typedef enum Answer { NEVER, PERHAPS, ALWAYS } Answer;

typedef enum Trait {
  SCALAR = 1,
  VIEW = 2,
  SHARED = 4,
  JOINT = 8,
  BODIES = 16,
  BRANCH = 32,
  PARALLEL = 64,
  IS_SOAC = 128,
  MOVES = 256,
  SOAC = IS_SOAC | BODIES | PARALLEL,
} Trait;

typedef struct ExpKindRow {
  const char *word;
  Answer cheap, fails;
  unsigned traits;
} ExpKindRow;

static const ExpKindRow kinds[] = {
#define EXP_KIND(name, word, cheap, fails, traits) \
  [EXP_##name] = { word, cheap, fails, traits },
#include "core/exp.def"
#undef EXP_KIND
};

static bool has(const Exp *exp, Trait trait) { return kinds[exp->kind].traits & trait; }

const char *exp_word(const Exp *exp) { return kinds[exp->kind].word; }
bool exp_is_scalar(const Exp *exp) { return has(exp, SCALAR); }
bool exp_is_view(const Exp *exp) { return has(exp, VIEW); }
bool exp_is_shareable(const Exp *exp) { return has(exp, SHARED); }
bool exp_has_joint_results(const Exp *exp) { return has(exp, JOINT); }
bool exp_has_bodies(const Exp *exp) { return has(exp, BODIES); }
bool exp_is_branch(const Exp *exp) { return has(exp, BRANCH); }
bool exp_is_parallel(const Exp *exp) { return has(exp, PARALLEL); }
bool exp_is_soac(const Exp *exp) { return has(exp, IS_SOAC); }
bool exp_is_exchange(const Exp *exp) { return has(exp, MOVES); }

// ---- what depends on operands

static bool has_slice(const Exp *index) {
  for (int i = 0; i < index->u.index.dim_count; i++)
    if (index->u.index.dims[i].is_slice) return true;
  return false;
}

bool exp_is_table(const Exp *exp) {
  if (exp->kind != EXP_ARRAY || exp->u.array.row.rank || !exp->u.array.count)
    return false;
  for (int i = 0; i < exp->u.array.count; i++)
    if (exp->u.array.atoms[i].kind != ATOM_CONST) return false;
  return true;
}

bool exp_is_cheap(const Exp *exp) {
  if (kinds[exp->kind].cheap != PERHAPS) return kinds[exp->kind].cheap == ALWAYS;
  if (exp->kind == EXP_OP) return op_is_cheap(exp->u.op.op, exp->u.op.type);
  return has_slice(exp);
}

static bool is_negative_or_unknown(Atom a) {
  return a.kind == ATOM_VAR || a.u.constant.u.i < 0;
}

static bool op_may_fail(const Exp *exp) {
  if (!op_may_trap(exp->u.op.op, exp->u.op.type)) return false;
  Atom second = exp->u.op.args[1];
  if (second.kind == ATOM_VAR) return true;
  return exp->u.op.op == OP_POW ? second.u.constant.u.i < 0 : second.u.constant.u.i == 0;
}

bool exp_may_fail(const Exp *exp) {
  if (kinds[exp->kind].fails != PERHAPS) return kinds[exp->kind].fails == ALWAYS;
  if (exp->kind == EXP_INDEX) return exp->u.index.checked;
  if (exp->kind == EXP_UPDATE) return exp->u.update.checked;
  if (exp->kind == EXP_IOTA) return is_negative_or_unknown(exp->u.iota.count);
  if (exp->kind == EXP_REPLICATE) return is_negative_or_unknown(exp->u.replicate.count);
  return op_may_fail(exp);
}

// ---- at any depth

static void find_parallel(CoreVisitor *v, const Body *body) {
  bool *found = v->state;
  for (int i = 0; i < body->stm_count && !*found; i++) {
    *found = exp_is_parallel(body->stms[i].exp);
    if (!*found) core_visit_exp(v, body->stms[i].exp);
  }
}

bool core_has_soac(const Body *body) {
  bool found = false;
  CoreVisitor v = { .body = find_parallel, .state = &found };
  find_parallel(&v, body);
  return found;
}
