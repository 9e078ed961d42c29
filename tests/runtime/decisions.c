// Guards decide by sizes as the tuner's model says: random trees, written as lines of a tuning file,
// set in a context, and asked for random sizes.
#include "../../runtime/all.c"
#include "../unit.h"
#include "tuner/decision.h"

enum { ROUNDS = 2000, CALLS = 50, SIZES = 3 };

static const struct rt_guard_info guards[] = { { "main.top_0", 0 }, { "main.top_1", 1 } };
static const struct rt_tuning_param params[] = {
  { "main.top_0", "threshold", 100, 100, -1, 0, 0, 0, 0 },
  { "main.top_1", "threshold", 200, 200, -1, 0, 0, 0, 0 },
};
static const char *const size_names[] = { "n", "m", "rows" };
static const struct rt_program program = {
  "none", NULL, NULL,         NULL,  NULL, NULL, NULL, 0, NULL,       0,
  params, 2,    guards,       2,     NULL, 0,    NULL, 0, size_names, SIZES,
  NULL,   0,    RT_KINDS_ONE, false, NULL, NULL, 0,
};

RT_FN const struct rt_program *rt_program(void) { return &program; }

typedef struct Random {
  uint64_t state;
} Random;

static int64_t below(Random *r, int64_t n) {
  r->state = r->state * 6364136223846793005u + 1442695040888963407u;
  return (int64_t)((r->state >> 33) % (uint64_t)n);
}

static int64_t random_threshold(Random *r) {
  int64_t die = below(r, 5);
  return die == 0 ? 0 : die == 1 ? SOLVE_NEVER : below(r, 1000);
}

static void grow(Random *r, Decision *d, int node) {
  if (2 * node < DECISION_NODES && below(r, 3) > 0) {
    d->nodes[node] = (DecisionNode){ (unsigned)(1 + below(r, 7)), below(r, 3000) };
    grow(r, d, 2 * node);
    grow(r, d, 2 * node + 1);
    return;
  }
  d->nodes[node] = (DecisionNode){ 0, random_threshold(r) };
}

// Hands the lines to the program, one setting each.
static void set_lines(struct rt_context *ctx, const char *lines) {
  for (const char *at = lines; *at; at += strcspn(at, "\n") + 1) {
    size_t name = strcspn(at, "=");
    const char *text = text_format("%.*s", (int)name, at);
    size_t value = (size_t)strtoll(at + name + 1, NULL, 10);
    CHECK(fl_context_set_tuning_param(ctx, text, value) == 0);
  }
}

static void check_tree(struct rt_context *ctx, Random *r) {
  static const SizeTable table = { .count = SIZES, .names = { "n", "m", "rows" } };
  Decision d = { { { 0 } } };
  Text *lines = text_new();
  grow(r, &d, 1);
  decision_lines(lines, "main.top_0", &d, &table);
  set_lines(ctx, text_str(lines));
  for (int call = 0; call < CALLS; call++) {
    int64_t sizes[SIZES];
    rt_sizes_clear(ctx);
    for (int i = 0; i < SIZES; i++) {
      sizes[i] = below(r, 10) == 0 ? INT64_MAX / 3 : below(r, 60);
      rt_size(ctx, i, sizes[i]);
    }
    CHECK(rt_threshold(ctx, 0) == decision_threshold(&d, sizes, SIZES));
    CHECK(rt_threshold(ctx, 1) == 200);
  }
}

static void names_are_checked(struct rt_context *ctx) {
  static const char *const wrong[] = {
    "main.top_0@",     "main.top_0@0",
    "main.top_0@16",   "main.top_0@1:",
    "main.top_0@1:k",  "main.top_0@1:n*",
    "main.top_0@1:*n", "main.top_2@1:n",
    "main.top_0@1:nn", "@1:n",
    "main.top_0@x",    "main.top_0@1n",
  };
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    CHECK(fl_context_set_tuning_param(ctx, wrong[i], 1) == 1);
  CHECK(fl_context_set_tuning_param(ctx, "main.top_0@15:n*rows*m", 1) == 0);
}

// A grid has four items for each core of several; a GPU is none of these.
static void grids_follow_cores(struct rt_context *ctx) {
  int64_t cores = ctx->device.compute_units;
  CHECK(rt_kind_default(ctx, RT_KIND_GRID) == 4 * cores);
  ctx->device.compute_units = 1;
  CHECK(rt_kind_default(ctx, RT_KIND_GRID) == 1);
  ctx->gpu_code = true;
  CHECK(rt_kind_default(ctx, RT_KIND_GRID) == 4);
  ctx->gpu_code = false;
  ctx->device.compute_units = cores;
}

// Two cores gain half of the work, and nothing if they move two words for one.
static void thresholds_follow_cores(struct rt_context *ctx) {
  static const struct rt_tuning_param loop = {
    "main.loop_0", "threshold", 1000, 0, -1, 0, 0, 0, 1
  };
  int64_t cores = ctx->device.compute_units;
  CHECK(rt_initial_param(ctx, &loop) == 2000);
  CHECK(rt_for_cores(ctx, 1000, 2) == 8000);
  ctx->device.compute_units = 4;
  CHECK(rt_for_cores(ctx, 999, 1) == 1332 && rt_for_cores(ctx, 1000, 2) == 2000);
  ctx->device.compute_units = 1;
  CHECK(rt_initial_param(ctx, &loop) == 8000);
  ctx->gpu_code = true;
  CHECK(rt_initial_param(ctx, &loop) == 0);
  ctx->gpu_code = false;
  ctx->device.compute_units = cores;
}

int main(void) {
  mem_init();
  struct rt_config *cfg = fl_context_config_new();
  struct rt_context *ctx = (struct rt_context *)rt_host_alloc(sizeof *ctx);
  Random r = { 4711 };
  ctx->program = &program;
  ctx->config = cfg;
  ctx->device.compute_units = 2;
  rt_tuning_open(ctx);
  for (int round = 0; round < ROUNDS; round++)
    check_tree(ctx, &r);
  names_are_checked(ctx);
  grids_follow_cores(ctx);
  thresholds_follow_cores(ctx);
  return 0;
}
