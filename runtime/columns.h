// Begin columns.h: exchanges of rows for columns (workers.h).

// An exchange, as this worker sees it.
struct rt_turn {
  struct rt_context *ctx;
  const struct rt_gathered *g;
  const struct rt_columns *columns;
  struct rt_wanted *wanted;  // of each worker: its rows, the columns that it wants
  int64_t *counts;           // [size][size]: elements of columns that one worker has for another
  char *block;               // this worker's rows
};

RT_FN void rt_turn_count(struct rt_turn *t) {
  int size = t->ctx->config->workers->size;
  for (int from = 0; from < size; from++)
    for (int to = 0; to < size; to++)
      t->counts[from * size + to] =
          t->wanted[from].has_count * t->columns->outer * t->wanted[to].wants_count;
}

// Puts what each worker wants of this one's rows behind that for the one before.
RT_FN void rt_turn_put(const struct rt_turn *t, char *out) {
  const struct rt_columns *c = t->columns;
  int size = t->ctx->config->workers->size;
  for (int r = 0; r < size; r++) {
    size_t bytes = (size_t)(t->wanted[r].wants_count * c->column_bytes);
    const char *from = t->block + t->wanted[r].wants * c->column_bytes;
    for (int64_t i = 0; i < t->g->count * c->outer; i++, out += bytes)
      memcpy(out, from + i * c->count * c->column_bytes, bytes);
  }
}

// The rows of all, of which this worker has its columns then.
RT_FN int rt_turn_take(const struct rt_turn *t, struct rt_mem *to,
                       const struct rt_parcels *p) {
  struct rt_workers *w = t->ctx->config->workers;
  int64_t row = t->columns->outer * t->columns->wanted * t->columns->column_bytes;
  int error = RT_OK;
  for (int r = 0; r < w->size && !error; r++) {
    int64_t bytes = t->wanted[r].has_count * row;
    error = rt_write(t->ctx, to, t->wanted[r].has * row, bytes, p->in[r]);
    if (r == w->rank) continue;
    w->received += bytes;
    w->sent += t->counts[w->rank * w->size + r] * t->columns->column_bytes;
  }
  return error;
}

RT_FN int rt_turn_exchange(struct rt_turn *t, struct rt_mem **to, struct rt_mem *from) {
  struct rt_workers *w = t->ctx->config->workers;
  struct rt_parcels p = { t->counts, t->columns->column_bytes, NULL, NULL, NULL };
  int64_t own = t->g->count * t->g->row_bytes;
  int64_t wanted = rt_sat_mul(t->columns->outer * t->columns->wanted, t->g->total);
  int error = rt_mem_alloc(t->ctx, to, rt_sat_mul(wanted, t->columns->column_bytes));
  t->block = (char *)malloc(own ? (size_t)own : 1);
  if (!error && (!t->block || !rt_transport_parcels(w, &p)))
    error = rt_error(t->ctx, RT_OUT_OF_MEMORY, "out of host memory for an exchange");
  if (!error) error = rt_read(t->ctx, from, 0, own, t->block);
  if (!error) rt_turn_put(t, p.out);
  error = rt_workers_agree(t->ctx, error);
  if (error) return error;
  p.in = (const char **)rt_host_alloc((size_t)w->size * sizeof *p.in);
  error = rt_transport_deliver(w, &p) ? rt_turn_take(t, *to, &p)
                                      : rt_too_large(t->ctx, t->g);
  free(p.in);
  return error;
}

RT_FN int rt_workers_columns(struct rt_context *ctx, struct rt_mem **to,
                             struct rt_mem *from, const struct rt_gathered *g,
                             const struct rt_columns *columns) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_wanted own = { g->start, g->count, columns->first, columns->wanted };
  struct rt_turn t = { ctx, g, columns, NULL, NULL, NULL };
  size_t size = (size_t)w->size;
  if (g->workers == 1) {
    rt_mem_share(ctx, to, from);
    return RT_OK;
  }
  int64_t began = rt_time_ns();
  int error = rt_tell_wanted(ctx, &own, &t.wanted);
  t.counts = (int64_t *)rt_host_alloc(size * size * sizeof *t.counts);
  if (!error) rt_turn_count(&t);
  if (!error) error = rt_turn_exchange(&t, to, from);
  free(t.wanted);
  free(t.counts);
  free(t.block);
  w->ns += rt_time_ns() - began;
  w->gathers++;
  rt_log(ctx, "fetched %" PRId64 " of %" PRId64 " columns of %" PRId64 " rows",
         columns->wanted, columns->count, g->total);
  return error;
}
// End columns.h
