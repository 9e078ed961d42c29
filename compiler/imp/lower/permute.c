// Records that are read, and stored with their fields in other places, or some of them: what picks
// the fields from the vectors that are loaded, and what joins them, becomes one permutation of
// these.
//
//   red = permute(a, b){..}  green = ..   store permute(permute(green, red){..}, ..){..}
//     =>  store permute(a, b){..}
#include "imp/lower/kern.h"

enum { MOST_LANES = 16, MOST_LEAVES = 3 };

// Where the lanes of a vector come from.
typedef struct Leaves {
  const ImpExp *at[MOST_LEAVES];
  int count, depth;  // permutations that follow one another
  signed char leaf[MOST_LANES], lane[MOST_LANES];
} Leaves;

static const ImpExp *permutation_of(const KernCode *kc, const ImpExp *e) {
  return e->kind == IMP_VAR ? map_get(kc->permuted, e->u.var) : NULL;
}

// The vector that is no permutation, and its lane.
static const ImpExp *trace(const KernCode *kc, const ImpExp *e, int *lane, int *depth) {
  const ImpExp *is;
  while ((is = e->kind == IMP_PERMUTE ? e : permutation_of(kc, e))) {
    e = is;
    if (is->kind != IMP_PERMUTE) continue;
    int from = is->u.permute.from[*lane];
    int lanes = is->u.permute.a->lanes;
    e = from < lanes ? is->u.permute.a : is->u.permute.b;
    *lane = from % lanes;
    ++*depth;
  }
  return e;
}

static bool same_vector(const ImpExp *a, const ImpExp *b) {
  return a == b || (a->kind == IMP_VAR && b->kind == IMP_VAR && a->u.var == b->u.var);
}

static int leaf_of(Leaves *leaves, const ImpExp *e) {
  for (int i = 0; i < leaves->count; i++)
    if (same_vector(leaves->at[i], e)) return i;
  if (leaves->count == MOST_LEAVES) return -1;
  leaves->at[leaves->count] = e;
  return leaves->count++;
}

static bool find_leaves(const KernCode *kc, const ImpExp *vector, Leaves *leaves) {
  for (int i = 0; i < vector->lanes; i++) {
    int lane = i, depth = 0;
    const ImpExp *e = trace(kc, vector, &lane, &depth);
    if (!e || e->lanes != vector->lanes) return false;
    int leaf = leaf_of(leaves, e);
    if (leaf < 0) return false;
    leaves->leaf[i] = (signed char)leaf;
    leaves->lane[i] = (signed char)lane;
    if (depth > leaves->depth) leaves->depth = depth;
  }
  return true;
}

// `out` has the lanes of the leaves before `leaf`.
static const ImpExp *with_leaf(KernCode *kc, const Leaves *leaves, const ImpExp *out,
                               int leaf) {
  int lanes = out->lanes;
  signed char *from = new_array(signed char, lanes);
  for (int i = 0; i < lanes; i++) {
    bool first = leaf == 1 && leaves->leaf[i] == 0;
    from[i] = (signed char)(first ? leaves->lane[i] : i);
    if (leaves->leaf[i] == leaf) from[i] = (signed char)(lanes + leaves->lane[i]);
  }
  return declared(kc, "joined", imp_permute(out, leaves->at[leaf], from));
}

static bool as_it_is(const Leaves *leaves, int lanes) {
  for (int i = 0; i < lanes; i++)
    if (leaves->lane[i] != i) return false;
  return true;
}

const ImpExp *permuted_at_once(KernCode *kc, const ImpExp *vector) {
  Leaves leaves = { .count = 0 };
  if (!kc->permuted || vector->lanes > MOST_LANES || !find_leaves(kc, vector, &leaves) ||
      leaves.depth < 2)
    return vector;
  const ImpExp *out = leaves.at[0];
  if (leaves.count == 1 && as_it_is(&leaves, vector->lanes)) return out;
  if (leaves.count == 1) {
    signed char *from = new_array(signed char, vector->lanes);
    for (int i = 0; i < vector->lanes; i++)
      from[i] = leaves.lane[i];
    return declared(kc, "joined", imp_permute(out, NULL, from));
  }
  for (int leaf = 1; leaf < leaves.count; leaf++)
    out = with_leaf(kc, &leaves, out, leaf);
  return out;
}
