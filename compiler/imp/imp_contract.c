//        let p = a * b; let q = p; let s = c + q   =>   let s = c + a * b
//
// if nothing else reads p and q.
//
// Why: products and sums become one instruction (fma) where they stand in one expression, as C
// and OpenCL have it (FP_CONTRACT), and half of the work of a GPU with matrices is such pairs.
#include "base/map.h"
#include "imp/imp.h"

typedef struct Product {
  const ImpExp *value;
  int at;           // the number of its statement
  const Var *copy;  // of this one, which nothing else reads; or NULL
} Product;

typedef struct Contract {
  Map *uses;      // Var -> int *
  Map *assigned;  // Var -> const int *: the last statement that did it
  Map *products;  // Var -> Product: of the block at hand, since its last inner one
  Map *merged;    // Var -> Product: those that stand in sums now
  int now;        // the number of the statement at hand
} Contract;

// ---- uses

static void count_exp(void *state, const ImpExp *e) {
  Contract *s = state;
  if (e->kind == IMP_VAR) {
    int *count = map_get(s->uses, e->u.var);
    if (!count) map_put(s->uses, e->u.var, count = new (int));
    ++*count;
  }
  const ImpExp *operands[3];
  int count = imp_operands(e, operands);
  for (int i = 0; i < count; i++)
    count_exp(state, operands[i]);
}

static void count_block(Contract *s, const ImpBlock *block) {
  vec_each (const ImpStm **, stm, block) {
    imp_each_exp(*stm, count_exp, s);
    const ImpBlock *inner[2];
    int count = imp_blocks(*stm, inner);
    for (int i = 0; i < count; i++)
      count_block(s, inner[i]);
  }
}

// ---- products

static bool is_plain(const ImpExp *e) {
  return !e->lanes && (e->kind == IMP_VAR || e->kind == IMP_CONST);
}

static bool is_read_once(const Contract *s, const Var *var) {
  const int *uses = map_get(s->uses, var);
  return uses && *uses == 1;
}

// What the statement declares, if it is a product, or a copy of one; else NULL.
static const Product *find_product(const Contract *s, const ImpStm *stm) {
  const ImpExp *e = stm->kind == IMP_DECLARE ? stm->u.declare.value : NULL;
  if (!e || e->lanes || !prim_is_float(e->type) || !is_read_once(s, stm->u.declare.var))
    return NULL;
  const Product *of = e->kind == IMP_VAR ? map_get(s->products, e->u.var) : NULL;
  if (of) return new_node(Product, .value = of->value, .at = of->at, .copy = e->u.var);
  bool product = e->kind == IMP_OP && e->u.op.op == OP_MUL && is_plain(e->u.op.args[0]) &&
                 is_plain(e->u.op.args[1]);
  return product ? new_node(Product, .value = e, .at = s->now) : NULL;
}

// Do the factors still have the values that they had?
static bool is_current(const Contract *s, const Product *product) {
  for (int i = 0; i < 2; i++) {
    const ImpExp *arg = product->value->u.op.args[i];
    const int *at = arg->kind == IMP_VAR ? map_get(s->assigned, arg->u.var) : NULL;
    if (at && *at > product->at) return false;
  }
  return true;
}

static const ImpExp *merged_operand(Contract *s, const ImpExp *e) {
  const Product *product = e->kind == IMP_VAR ? map_get(s->products, e->u.var) : NULL;
  if (!product || !is_current(s, product)) return e;
  for (const Var *var = e->u.var; var;) {
    const Product *p = map_get(s->products, var);
    map_put(s->merged, var, p);
    var = p->copy;
  }
  return product->value;
}

static const ImpExp *merged_sum(Contract *s, const ImpExp *e) {
  bool sum = e && !e->lanes && e->kind == IMP_OP && prim_is_float(e->type) &&
             (e->u.op.op == OP_ADD || e->u.op.op == OP_SUB);
  if (!sum) return e;
  return imp_op2(e->u.op.op, merged_operand(s, e->u.op.args[0]),
                 merged_operand(s, e->u.op.args[1]));
}

// ---- blocks

static ImpBlock contract_block(void *state, const ImpBlock *block);

static ImpStm contract_stm(Contract *s, const ImpStm *stm) {
  ImpStm out = *stm;
  if (stm->kind == IMP_DECLARE) out.u.declare.value = merged_sum(s, stm->u.declare.value);
  if (stm->kind == IMP_ASSIGN) out.u.assign.value = merged_sum(s, stm->u.assign.value);
  if (stm->kind == IMP_STORE) out.u.store.value = merged_sum(s, stm->u.store.value);
  return out;
}

static void contract_one(Contract *s, const ImpStm *stm, ImpBlock *out) {
  const ImpBlock *inner[2];
  if (imp_blocks(stm, inner)) {
    vec_push(out, imp_map_blocks(stm, contract_block, s));
    s->products = map_new(NULL);
    return;
  }
  ImpStm merged = contract_stm(s, stm);
  s->now++;
  if (stm->kind == IMP_ASSIGN)
    map_put(s->assigned, stm->u.assign.var, mem_copy(&s->now, sizeof s->now));
  const Product *product = find_product(s, stm);
  if (product) map_put(s->products, stm->u.declare.var, product);
  vec_push(out, mem_copy(&merged, sizeof merged));
}

static ImpBlock contract_block(void *state, const ImpBlock *block) {
  Contract *s = state;
  ImpBlock all = { 0 }, out = { 0 };
  Map *outer = s->products;
  s->products = map_new(NULL);
  vec_each (const ImpStm **, stm, block)
    contract_one(s, *stm, &all);
  s->products = outer;
  vec_each (const ImpStm **, stm, &all)
    if ((*stm)->kind != IMP_DECLARE || !map_has(s->merged, (*stm)->u.declare.var))
      vec_push(&out, *stm);
  return out;
}

ImpBlock imp_contract(const ImpBlock *block) {
  Contract s = { .uses = map_new(NULL),
                 .assigned = map_new(NULL),
                 .merged = map_new(NULL) };
  count_block(&s, block);
  return contract_block(&s, block);
}
