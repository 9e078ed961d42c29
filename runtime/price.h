// Begin price.h: what exchanges between workers take, in operations (workers.h).
//
// Measured when a split first depends on it: the least of several times, as they also hold what a
// busy machine does beside them; rounded up to a power of two, so that a program decides alike from
// run to run as far as that is possible.  exchange_ns and megabyte_ns set it.

enum {
  RT_PRICE_ROUNDS = 8,
  RT_PRICE_LARGE_ROUNDS = 4,
  RT_PRICE_SLOW_NS = 1000000,  // once will do (more processes than cores)
  RT_PRICE_BYTES = 1 << 20,
  RT_CPU_SPEED =
      16,  // operations in a nanosecond by a compute unit, as guards count them
  RT_GPU_SPEED = 128,  // the same of a GPU
};

// A gather of so many bytes of each worker, which its device has just made, and what it has taken
// if that is less.  Any error, also one from before, is that of all.
RT_FN int rt_price_try(struct rt_context *ctx, struct rt_mem *mem, int64_t bytes,
                       int error, int64_t *ns) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_gathered g = rt_gathered_values(w, bytes);
  char *staged = NULL;
  int64_t began = rt_time_ns();
  if (!error) error = rt_stage(ctx, rt_all_bytes(&g), &staged);
  if (!error) error = rt_mem_copy(ctx, mem, 0, mem, bytes, bytes);
  if (!error) error = rt_read(ctx, mem, 0, bytes, staged + w->rank * bytes);
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  if (!rt_transport_gather(w, staged, &g)) return rt_too_large(ctx, &g);
  error = rt_write(ctx, mem, 0, rt_all_bytes(&g), staged);
  int64_t took = rt_time_ns() - began;
  if (took < *ns) *ns = took;
  return error;
}

// The same several times, in powers of two.
RT_FN int rt_price_measure(struct rt_context *ctx, struct rt_mem *mem, int64_t bytes,
                           int rounds, int error, int64_t *ns) {
  struct rt_workers *w = ctx->config->workers;
  int64_t least = INT_MAX;
  for (int k = 0; k < rounds; k++) {
    error = rt_price_try(ctx, mem, bytes, error, &least);
    if (w->failed) return error;
    if (k == 0) rounds = rt_transport_least(w, least < RT_PRICE_SLOW_NS ? rounds : 1);
  }
  least = rt_transport_least(w, (int)least);
  for (*ns = 1; *ns < least;)
    *ns *= 2;
  return error;
}

RT_FN bool rt_is_usual_split(int64_t threshold) {
  return threshold == rt_kinds[RT_KIND_WORKERS].cpu;
}

RT_FN int rt_price_begin(struct rt_context *ctx) {
  struct rt_workers *w = ctx->config->workers;
  int64_t set[2] = { rt_kind_default(ctx, RT_KIND_EXCHANGE),
                     rt_kind_default(ctx, RT_KIND_MEGABYTE) };
  int64_t waited = w->waited, each = RT_PRICE_BYTES / w->size + 1;
  struct rt_mem *mem = NULL;
  if (w->priced) return RT_OK;
  int error =
      rt_workers_agree(ctx, RT_OK);  // one of them may be elsewhere, as it has failed
  if (error) return error;
  rt_transport_broadcast(w, 0, set, (int64_t)sizeof set);
  w->exchange_ns = set[0];
  w->megabyte_ns = set[1];
  w->priced = set[0] && set[1];
  if (w->priced) return RT_OK;
  error = rt_mem_alloc(ctx, &mem, each * w->size);
  error = rt_price_measure(ctx, mem, 8, RT_PRICE_ROUNDS, error, &set[0]);
  if (!w->failed)
    error = rt_price_measure(ctx, mem, each, RT_PRICE_LARGE_ROUNDS, error, &set[1]);
  rt_mem_release(ctx, &mem);
  w->waited = waited;
  if (!w->exchange_ns) w->exchange_ns = set[0];
  if (!w->megabyte_ns) w->megabyte_ns = set[1];
  rt_log(ctx, "an exchange takes %" PRId64 " ns, and %" PRId64 " ns for a megabyte",
         w->exchange_ns, w->megabyte_ns);
  error = rt_workers_agree(ctx, error);
  w->priced = !error;
  return error;
}

RT_FN int64_t rt_price(const struct rt_context *ctx, const struct rt_moved *moved) {
  const struct rt_workers *w = ctx->config->workers;
  if (!moved->exchanges) return 0;
  double ns = (double)moved->exchanges * (double)w->exchange_ns +
              (double)moved->bytes / RT_PRICE_BYTES * (double)w->megabyte_ns;
  double speed =
      (double)ctx->device.compute_units * (ctx->gpu_code ? RT_GPU_SPEED : RT_CPU_SPEED);
  // Of p workers each does a p-th part: the others are what is gained.
  double operations =
      ns / moved->kernels * speed * (double)w->size / (double)(w->size - 1);
  return operations < (double)(INT64_MAX / 2) ? (int64_t)operations : INT64_MAX / 2;
}
// End price.h
