// Begin gather.h: dividing rows among workers, and making arrays whole (workers.h).

RT_FN struct rt_block rt_block_of(int64_t total, int64_t workers, int64_t rank) {
  int64_t each = total / workers, more = total % workers;
  struct rt_block block;
  block.start = rank * each + (rank < more ? rank : more);
  block.count = each + (rank < more);
  block.workers = workers;
  block.rank = rank;
  return block;
}

RT_FN bool rt_has_neighbours(const struct rt_context *ctx) {
  return ctx->config->workers->neighbours > 1;
}

RT_FN struct rt_block rt_workers_split(struct rt_context *ctx, int guard, int64_t par,
                                       int64_t width) {
  const struct rt_workers *w = ctx->config->workers;
  struct rt_block all = { 0, width, 1, 0 };
  if (w->size == 1 || width < 1 || !rt_guard(ctx, guard, par, 0)) return all;
  return rt_block_of(width, w->size, w->rank);
}

RT_FN int rt_too_large(struct rt_context *ctx, const struct rt_gathered *g) {
  return rt_error(ctx, RT_OTHER_ERROR,
                  "not supported yet: gathering %" PRId64 " rows of %" PRId64
                  " bytes from %" PRId64 " workers",
                  g->total, g->row_bytes, g->workers);
}

// ---- failures

// What a failure says: set by one worker, and sent to the others.
struct rt_failure {
  int64_t code, has_place, length;
};

// Sends the failure of worker `from`, or gets it.
RT_FN int rt_workers_fail(struct rt_context *ctx, int from, int error) {
  struct rt_workers *w = ctx->config->workers;
  bool own = w->rank == from;
  struct rt_failure failure = { error, ctx->error_has_place,
                                own && ctx->error ? (int64_t)strlen(ctx->error) : 0 };
  rt_transport_broadcast(w, from, &failure, (int64_t)sizeof failure);
  char *text = (char *)rt_host_alloc((size_t)failure.length + 1);
  if (own && ctx->error) memcpy(text, ctx->error, (size_t)failure.length);
  rt_transport_broadcast(w, from, text, failure.length);
  w->failed = true;
  rt_error(ctx, (int)failure.code, "worker %d of %d: %s", from, w->size, text);
  ctx->error_has_place = failure.has_place != 0;
  free(text);
  return (int)failure.code;
}

RT_FN int rt_workers_agree(struct rt_context *ctx, int error) {
  struct rt_workers *w = ctx->config->workers;
  if (w->size == 1 || w->failed) return error;
  int first = rt_transport_least(w, error ? w->rank : w->size);
  return first == w->size ? RT_OK : rt_workers_fail(ctx, first, error);
}

// ---- gathers

// `staged` holds all rows, of which those of this worker are there, unless that has failed; to =
// all of them.
RT_FN int rt_gather_staged(struct rt_context *ctx, struct rt_mem **to, void *staged,
                           const struct rt_gathered *g, int error) {
  struct rt_workers *w = ctx->config->workers;
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  int64_t bytes = rt_sat_mul(g->total, g->row_bytes), own = g->count * g->row_bytes;
  int64_t before = rt_time_ns();
  if (!rt_transport_gather(w, staged, g->total, g->row_bytes))
    return rt_too_large(ctx, g);
  w->ns += rt_time_ns() - before;
  w->gathers++;
  w->sent += own * (g->workers - 1);
  w->received += bytes - own;
  rt_log(ctx, "gathered %" PRId64 " rows of %" PRId64 " bytes", g->total, g->row_bytes);
  error = rt_mem_alloc(ctx, to, bytes);
  return error ? error : rt_write(ctx, *to, 0, bytes, staged);
}

// Host memory for so many bytes, until the next gather.
RT_FN int rt_stage(struct rt_context *ctx, int64_t bytes, char **out) {
  struct rt_workers *w = ctx->config->workers;
  if (bytes > w->staged_bytes) {
    free(w->staged);
    w->staged = (char *)malloc((size_t)bytes);
    w->staged_bytes = w->staged ? bytes : 0;
  }
  *out = w->staged;
  if (*out || bytes == 0) return RT_OK;
  return rt_error(ctx, RT_OUT_OF_MEMORY, "out of host memory: %" PRId64 " bytes", bytes);
}

RT_FN int64_t rt_all_bytes(const struct rt_gathered *g) {
  return rt_sat_mul(g->total, g->row_bytes);
}

RT_FN int rt_workers_gather(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g) {
  char *staged = NULL;
  if (g->workers == 1) {
    rt_mem_share(ctx, to, from);
    return RT_OK;
  }
  int error = rt_stage(ctx, rt_all_bytes(g), &staged);
  if (!error)
    error =
        rt_read(ctx, from, 0, g->count * g->row_bytes, staged + g->start * g->row_bytes);
  return rt_gather_staged(ctx, to, staged, g, error);
}

// The rows that there are before and after the block.
RT_FN int64_t rt_rows_before(const struct rt_gathered *g) {
  return g->before < g->start ? g->before : g->start;
}

RT_FN int64_t rt_rows_after(const struct rt_gathered *g) {
  int64_t left = g->total - g->start - g->count;
  return g->after < left ? g->after : left;
}

// A border by way of all rows: blocks are smaller than it.
RT_FN int rt_border_of_all(struct rt_context *ctx, struct rt_mem **to,
                           struct rt_mem *from, const struct rt_gathered *g) {
  struct rt_mem *all = NULL;
  int64_t first = (g->start - rt_rows_before(g)) * g->row_bytes;
  int64_t extent = (rt_rows_before(g) + g->count + rt_rows_after(g)) * g->row_bytes;
  int error = rt_workers_gather(ctx, &all, from, g);
  if (!error) error = rt_mem_alloc(ctx, to, extent);
  if (!error) error = rt_mem_copy(ctx, *to, 0, all, first, extent);
  rt_mem_release(ctx, &all);
  return error;
}

// The ends of a block, as its neighbours want them, and theirs.
RT_FN int rt_read_ends(struct rt_context *ctx, struct rt_mem *from,
                       const struct rt_gathered *g, struct rt_exchange *e) {
  const struct rt_workers *w = ctx->config->workers;
  int64_t row = g->row_bytes, each = (g->before + g->after) * row;
  char *staged = NULL;
  int error = rt_stage(ctx, 2 * each, &staged);
  if (error) return error;
  e->first = staged;
  e->last = staged + g->after * row;
  e->low = staged + each;
  e->high = staged + each + g->before * row;
  e->first_bytes = w->rank > 0 ? g->after * row : 0;
  e->last_bytes = w->rank + 1 < w->size ? g->before * row : 0;
  e->low_bytes = rt_rows_before(g) * row;
  e->high_bytes = rt_rows_after(g) * row;
  error = rt_read(ctx, from, 0, e->first_bytes, e->first);
  return error ? error
               : rt_read(ctx, from, (g->count - g->before) * row, e->last_bytes, e->last);
}

// A border from the neighbours, each of which has all of the rows that are wanted of it.
RT_FN int rt_border_of_neighbours(struct rt_context *ctx, struct rt_mem **to,
                                  struct rt_mem *from, const struct rt_gathered *g) {
  struct rt_workers *w = ctx->config->workers;
  struct rt_exchange e;
  memset(&e, 0, sizeof e);
  int error = rt_read_ends(ctx, from, g, &e);
  int64_t own = g->count * g->row_bytes;
  if (!error) error = rt_mem_alloc(ctx, to, e.low_bytes + own + e.high_bytes);
  if (!error) error = rt_mem_copy(ctx, *to, e.low_bytes, from, 0, own);
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  int64_t started = rt_time_ns();
  if (!rt_transport_exchange(w, &e)) return rt_too_large(ctx, g);
  w->ns += rt_time_ns() - started;
  w->gathers++;
  w->sent += e.first_bytes + e.last_bytes;
  w->received += e.low_bytes + e.high_bytes;
  error = rt_write(ctx, *to, 0, e.low_bytes, e.low);
  return error ? error : rt_write(ctx, *to, e.low_bytes + own, e.high_bytes, e.high);
}

RT_FN int rt_workers_border(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g) {
  int64_t widest = g->before > g->after ? g->before : g->after;
  if (g->workers == 1) {
    rt_mem_share(ctx, to, from);
    return RT_OK;
  }
  return g->total / g->workers >= widest ? rt_border_of_neighbours(ctx, to, from, g)
                                         : rt_border_of_all(ctx, to, from, g);
}

RT_FN int rt_workers_gather_value(struct rt_context *ctx, struct rt_mem **to,
                                  const void *value, const struct rt_gathered *g) {
  char *staged = NULL;
  int error = rt_stage(ctx, rt_all_bytes(g), &staged);
  if (!error) memcpy(staged + g->start * g->row_bytes, value, (size_t)g->row_bytes);
  if (g->workers > 1) error = rt_gather_staged(ctx, to, staged, g, error);
  if (!error && g->workers == 1) {
    error = rt_mem_alloc(ctx, to, g->row_bytes);
    if (!error) error = rt_write(ctx, *to, 0, g->row_bytes, staged);
  }
  return error;
}

// ---- executables

// PoCL's threads are as many as the cores that this worker has to itself, unless the user says
// otherwise.
RT_FN void rt_share_cores(const struct rt_workers *w) {
  char text[24];
  long cores = sysconf(_SC_NPROCESSORS_ONLN);
  if (w->neighbours < 2 || cores < 1) return;
  snprintf(text, sizeof text, "%ld", cores > w->neighbours ? cores / w->neighbours : 1);
  setenv("POCL_MAX_PTHREAD_COUNT", text, 0);
  setenv("POCL_CPU_MAX_CU_COUNT", text, 0);
}

// Only rank 0 writes to standard output.
RT_FN void rt_workers_start(struct rt_workers *w) {
  rt_share_cores(w);
  if (w->rank > 0 && !freopen("/dev/null", "w", stdout)) rt_transport_abort(w);
}

// What all say alike only rank 0 says: takes standard error away from the others; returns where it
// is, to give it back, or -1.
RT_FN int rt_workers_hush(const struct rt_workers *w) {
  if (w->rank == 0) return -1;
  int kept = dup(2), nowhere = open("/dev/null", O_WRONLY);
  if (nowhere >= 0) {
    dup2(nowhere, 2);
    close(nowhere);
  }
  return kept;
}

RT_FN void rt_workers_speak(int kept) {
  if (kept < 0) return;
  dup2(kept, 2);
  close(kept);
}

// Standard input as rank 0 reads it, for all; NULL if it cannot be read.
RT_FN char *rt_workers_input(struct rt_workers *w, size_t *length) {
  char *bytes = w->rank == 0 ? rt_read_stream(stdin, length) : NULL;
  int64_t count = bytes ? (int64_t)*length : -1;
  rt_transport_broadcast(w, 0, &count, (int64_t)sizeof count);
  if (count < 0) return NULL;
  if (w->rank > 0) bytes = (char *)rt_host_alloc((size_t)count + 1);
  rt_transport_broadcast(w, 0, bytes, count);
  *length = (size_t)count;
  return bytes;
}

// The next line that rank 0 reads, as getline, for all.
RT_FN bool rt_workers_line(struct rt_workers *w, char **line, size_t *capacity) {
  int64_t length = w->rank == 0 ? (int64_t)getline(line, capacity, stdin) : 0;
  rt_transport_broadcast(w, 0, &length, (int64_t)sizeof length);
  if (length < 0) return false;
  if (w->rank > 0) *line = (char *)rt_host_grow(*line, (size_t)length + 1);
  rt_transport_broadcast(w, 0, *line, length + 1);
  return true;
}

RT_FN void rt_workers_report(struct rt_context *ctx) {
  const struct rt_workers *w = ctx->config->workers;
  rt_log(ctx,
         "worker %d of %d: %" PRId64 " gathers, %" PRId64 " bytes sent, %" PRId64
         " received, %" PRId64 " us",
         w->rank, w->size, w->gathers, w->sent, w->received, w->ns / 1000);
}
// End gather.h
