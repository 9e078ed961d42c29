// Begin decision.h: guards whose threshold depends on the sizes of the call.
//
// A guard G is taken if Par reaches its threshold, the setting `G=64`.  Further settings of the
// same form grow a binary tree over it.  Nodes are numbered, the root is 1:
//   G@1:n*m=4096   node 1 asks whether n*m >= 4096: if so node 3 goes on (2k+1), else node 2 (2k)
//   G@3=0          at node 3 the threshold is 0 and not 64
// A node without a setting of its own has the plain threshold.  `G=...` cuts the tree down again.
// Names are those of the sizes and integer parameters of the entry point; products saturate.

// A condition (sizes not 0) or a threshold at a node of a guard's tree.
struct rt_decision {
  int guard, node;
  uint64_t sizes;  // bit k: the program's size number k is a factor
};

// What is at a node: nothing, a threshold, or a condition.
struct rt_tree_node {
  bool is_set;
  uint64_t sizes;
  int64_t value;
};

RT_FN int rt_size_named(const struct rt_program *program, const char *name,
                        size_t length) {
  for (int i = 0; i < program->size_count && i < RT_MAX_SIZES; i++)
    if (strlen(program->sizes[i]) == length &&
        strncmp(program->sizes[i], name, length) == 0)
      return i;
  return -1;
}

// Reads "n*m"; false if the program has no such size.
RT_FN bool rt_parse_product(const struct rt_program *program, const char *text,
                            uint64_t *sizes) {
  *sizes = 0;
  while (*text) {
    size_t length = strcspn(text, "*");
    int size = rt_size_named(program, text, length);
    if (size < 0) return false;
    *sizes |= UINT64_C(1) << size;
    text += length;
    if (*text == '*' && *++text == '\0') return false;
  }
  return *sizes != 0;
}

// Reads "main.top_0@1:n*m" or "main.top_0@2"; false if it is no decision of the program.
RT_FN bool rt_parse_decision(const struct rt_program *program, const char *name,
                             struct rt_decision *out) {
  const char *at = strrchr(name, '@');
  if (!at) return false;
  char *rest = NULL;
  long node = strtol(at + 1, &rest, 10);
  if (rest == at + 1 || node < 1 || node >= RT_TREE_NODES) return false;
  out->node = (int)node;
  out->sizes = 0;
  if (*rest == ':' ? !rt_parse_product(program, rest + 1, &out->sizes) : *rest != '\0')
    return false;
  for (out->guard = 0; out->guard < program->guard_count; out->guard++) {
    const char *guard = program->guards[out->guard].name;
    if (strlen(guard) == (size_t)(at - name) && strncmp(guard, name, strlen(guard)) == 0)
      return true;
  }
  return false;
}

RT_FN struct rt_tree_node *rt_tree_of(struct rt_context *ctx, int guard) {
  return ctx->trees + (size_t)guard * RT_TREE_NODES;
}

RT_FN void rt_decision_set(struct rt_context *ctx, struct rt_decision d, int64_t value) {
  struct rt_tree_node *node = &rt_tree_of(ctx, d.guard)[d.node];
  node->is_set = true;
  node->sizes = d.sizes;
  node->value = value;
}

// A plain threshold ends what was decided by sizes.
RT_FN void rt_decision_clear(struct rt_context *ctx, int param) {
  for (int g = 0; g < ctx->program->guard_count; g++)
    if (ctx->program->guards[g].threshold == param)
      memset(rt_tree_of(ctx, g), 0, RT_TREE_NODES * sizeof *ctx->trees);
}

RT_FN int64_t rt_product(const struct rt_context *ctx, uint64_t sizes) {
  int64_t product = 1;
  for (int i = 0; sizes >> i; i++)
    if (sizes >> i & 1) product = rt_sat_mul(product, ctx->sizes[i]);
  return product;
}

// The threshold of a guard for the sizes of the call at hand.
RT_FN int64_t rt_threshold(struct rt_context *ctx, int guard) {
  int param = ctx->program->guards[guard].threshold;
  if (param < 0) return INT64_MAX;
  const struct rt_tree_node *tree = rt_tree_of(ctx, guard);
  int node = 1;
  while (2 * node < RT_TREE_NODES && tree[node].is_set && tree[node].sizes)
    node = 2 * node + (rt_product(ctx, tree[node].sizes) >= tree[node].value);
  bool leaf = tree[node].is_set && !tree[node].sizes;
  return leaf ? tree[node].value : ctx->params[param];
}

// ---- the sizes of a call

RT_FN void rt_sizes_clear(struct rt_context *ctx) { ctx->known_sizes = 0; }

RT_FN void rt_size(struct rt_context *ctx, int size, int64_t value) {
  if (size >= RT_MAX_SIZES) return;
  ctx->sizes[size] = value;
  ctx->known_sizes |= UINT64_C(1) << size;
}
// End decision.h
