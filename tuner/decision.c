// Evaluating and writing decision trees; fit.c finds them.
#include "tuner/decision.h"
#include <math.h>
#include <string.h>

Decision decision_plain(int64_t threshold) {
  Decision d = { { { 0 } } };
  d.nodes[1].value = threshold;
  return d;
}

static bool is_condition(const Decision *d, int node) {
  return 2 * node < DECISION_NODES && d->nodes[node].sizes != 0;
}

static int conditions_from(const Decision *d, int node) {
  if (!is_condition(d, node)) return 0;
  return 1 + conditions_from(d, 2 * node) + conditions_from(d, 2 * node + 1);
}

int decision_conditions(const Decision *d) { return conditions_from(d, 1); }

int64_t *decision_sizes(const SizeTable *sizes, int dataset) {
  return sizes->values + (size_t)dataset * DECISION_MOST_SIZES;
}

static int comparisons_from(const Decision *d, int node) {
  if (!is_condition(d, node))
    return d->nodes[node].value > 0 && d->nodes[node].value < SOLVE_NEVER;
  return 1 + comparisons_from(d, 2 * node) + comparisons_from(d, 2 * node + 1);
}

int decision_comparisons(const Decision *d) { return comparisons_from(d, 1); }

// Saturates, as the program does.
int64_t decision_product(unsigned mask, const int64_t *sizes, int count) {
  int64_t product = 1;
  for (int i = 0; i < count; i++)
    if (mask >> i & 1 && __builtin_mul_overflow(product, sizes[i], &product))
      product = INT64_MAX;
  return product;
}

int64_t decision_threshold(const Decision *d, const int64_t *sizes, int count) {
  int node = 1;
  while (is_condition(d, node))
    node = 2 * node +
           (decision_product(d->nodes[node].sizes, sizes, count) >= d->nodes[node].value);
  return d->nodes[node].value;
}

SolveFate *decision_fates(const SolveProblem *p, const SizeTable *sizes,
                          const Decision *decisions) {
  SolveFate *fates = new_array(SolveFate, p->group_count + 1);
  for (int i = 0; i < p->group_count; i++) {
    const SolveGroup *g = &p->groups[i];
    int branch = p->tree->guards[g->guard].parent_branch;
    int64_t t = decision_threshold(&decisions[g->guard],
                                   decision_sizes(sizes, g->dataset), sizes->count);
    fates[i].reached =
        g->parent < 0 || (fates[g->parent].reached && fates[g->parent].branch == branch);
    fates[i].branch = solve_branch(g, t);
  }
  return fates;
}

double *decision_times(const SolveProblem *p, const SizeTable *sizes,
                       const Decision *decisions) {
  return solve_fated_times(p, decision_fates(p, sizes, decisions));
}

// ---- texts

static const char *product_text(unsigned mask, const SizeTable *sizes) {
  Text *text = text_new();
  for (int i = 0; i < sizes->count; i++)
    if (mask >> i & 1)
      text_printf(text, "%s%s", text_length(text) ? "*" : "", sizes->names[i]);
  return text_str(text);
}

static int64_t first_leaf(const Decision *d) {
  int node = 1;
  while (is_condition(d, node))
    node = 2 * node;
  return d->nodes[node].value;
}

static void lines_from(Text *text, const char *name, const Decision *d,
                       const SizeTable *sizes, int node) {
  long long value = d->nodes[node].value;
  if (is_condition(d, node)) {
    text_printf(text, "%s@%d:%s=%lld\n", name, node,
                product_text(d->nodes[node].sizes, sizes), value);
    lines_from(text, name, d, sizes, 2 * node);
    lines_from(text, name, d, sizes, 2 * node + 1);
  } else if (value != first_leaf(d)) {
    text_printf(text, "%s@%d=%lld\n", name, node, value);
  }
}

void decision_lines(Text *text, const char *name, const Decision *d,
                    const SizeTable *sizes) {
  text_printf(text, "%s=%lld\n", name, (long long)first_leaf(d));
  lines_from(text, name, d, sizes, 1);
}

static void text_from(Text *text, const Decision *d, const SizeTable *sizes, int node) {
  long long value = d->nodes[node].value;
  if (is_condition(d, node)) {
    text_printf(text, "%sif %s >= %lld then ", node > 1 ? "(" : "",
                product_text(d->nodes[node].sizes, sizes), value);
    text_from(text, d, sizes, 2 * node + 1);
    text_add(text, " else ");
    text_from(text, d, sizes, 2 * node);
    if (node > 1) text_add(text, ")");
  } else if (value == SOLVE_NEVER) {
    text_add(text, "never");
  } else if (value <= 0) {
    text_add(text, "always");
  } else {
    text_printf(text, "Par >= %lld", value);
  }
}

const char *decision_text(const Decision *d, const SizeTable *sizes) {
  Text *text = text_new();
  text_from(text, d, sizes, 1);
  return text_str(text);
}
