// Begin gather.h: dividing rows among workers, and making arrays whole (workers.h).

// total * before / all, without overflow.
RT_FN int64_t rt_share(int64_t total, int64_t before, int64_t all) {
  return total / all * before + total % all * before / all;
}

RT_FN int64_t rt_workers_weight(const struct rt_workers *w, struct rt_weight of) {
  int64_t own = w->weights[of.layout * w->size + of.rank];
  return own < 0 ? w->weights[of.rank] : own;
}

RT_FN struct rt_block rt_block_of(const struct rt_workers *w, int layout, int64_t total,
                                  int rank) {
  int64_t each = total / w->size, more = total % w->size;
  struct rt_block block;
  block.most = 0;
  block.workers = w->size;
  block.rank = rank;
  block.start = rank * each + (rank < more ? rank : more);
  block.count = each + (rank < more);
  int64_t before = 0, all = 0, own = 0, first = 0;
  bool equal = true;
  for (int i = 0; i < w->size; i++) {
    const struct rt_weight of = { layout, i };
    int64_t weight = rt_workers_weight(w, of);
    before += i < rank ? weight : 0;
    all += weight;
    if (i == rank) own = weight;
    if (i == 0) first = weight;
    equal = equal && weight == first;
  }
  if (equal || all == 0) return block;
  block.start = rt_share(total, before, all);
  block.count = rt_share(total, before + own, all) - block.start;
  return block;
}

RT_FN struct rt_block rt_gathered_block(const struct rt_workers *w,
                                        const struct rt_gathered *g, int rank) {
  struct rt_block one = { rank, 1, w->size, rank, 1 };
  return g->each ? one : rt_block_of(w, g->layout, g->total, rank);
}

// May what its exchanges take decide a split?
RT_FN bool rt_is_price_asked(const struct rt_context *ctx, int guard, int64_t par,
                             const struct rt_moved *moved, int64_t least) {
  return moved->exchanges && rt_is_usual_split(least) && par >= least &&
         !ctx->forced[guard];
}

RT_FN struct rt_block rt_workers_likewise(const struct rt_context *ctx, int64_t workers,
                                          int layout, int64_t width) {
  const struct rt_workers *w = ctx->config->workers;
  const struct rt_block all = { 0, width, 1, 0, width };
  if (workers == 1) return all;
  struct rt_block block = rt_block_of(w, layout, width, w->rank);
  for (int i = 0; i < w->size; i++) {
    int64_t count = rt_block_of(w, layout, width, i).count;
    if (count > block.most) block.most = count;
  }
  return block;
}

RT_FN int rt_workers_split(struct rt_context *ctx, int guard, int64_t par,
                           const struct rt_moved *moved, int layout, int64_t width,
                           struct rt_block *block) {
  const struct rt_workers *w = ctx->config->workers;
  bool callers = par == INT64_MAX;  // whose rows are divided already, whatever is forced
  *block = rt_workers_likewise(ctx, 1, layout, width);
  if (w->size == 1 || width < 1) return RT_OK;
  // What each does whole differs in its last digits where devices do.
  if (!callers && !w->mixed) {
    int64_t least = rt_threshold(ctx, guard);
    bool asked = rt_is_price_asked(ctx, guard, par, moved, least);
    int error = asked ? rt_price_begin(ctx) : RT_OK;
    if (error) return error;
    if (asked) least += rt_price(ctx, moved);
    if (!rt_guard_at(ctx, guard, par, 0, least)) return RT_OK;
  }
  *block = rt_workers_likewise(ctx, w->size, layout, width);
  return RT_OK;
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
  if (!error) error = rt_check_failures(ctx);  // which nobody may have looked at yet
  if (rt_transport_least(w, error != RT_OK))   // all have failed, as they read the same
    rt_error(ctx, (int)failure.code, "%s", text);
  else
    rt_error(ctx, (int)failure.code, "worker %d of %d: %s", from, w->size, text);
  ctx->error_has_place = failure.has_place != 0;
  free(text);
  return (int)failure.code;
}

// The end of a meeting, with what this worker waits for the others.
RT_FN int rt_meeting_end(struct rt_workers *w) {
  int64_t began = rt_time_ns();
  int least = rt_transport_end(w);
  w->waited += rt_time_ns() - began;
  return least;
}

// If the worker with the lowest rank that has failed is `first`; there may be none.
RT_FN int rt_workers_heard(struct rt_context *ctx, int first, int error) {
  return first == ctx->config->workers->size ? RT_OK : rt_workers_fail(ctx, first, error);
}

RT_FN int rt_workers_agree(struct rt_context *ctx, int error) {
  struct rt_workers *w = ctx->config->workers;
  int late = rt_workers_await(ctx);
  if (w->size == 1 || w->failed) return error ? error : late;
  if (!error) error = late;
  rt_transport_begin(w, error ? w->rank : w->size, NULL);
  return rt_workers_heard(ctx, rt_meeting_end(w), error);
}

// Who has failed says so in the same breath.
RT_FN int rt_workers_guard(struct rt_context *ctx, int guard, int64_t par,
                           int64_t local_bytes, int64_t step, bool *taken) {
  struct rt_workers *w = ctx->config->workers;
  *taken = rt_guard(ctx, guard, par, local_bytes, step);
  if (!w->mixed) return RT_OK;
  int error = rt_workers_await(ctx);
  if (w->failed) return error;
  rt_transport_begin(w, error ? w->rank : w->size + *taken, NULL);
  int least = rt_meeting_end(w);
  *taken = least > w->size;
  return rt_workers_heard(ctx, *taken ? w->size : least, error);
}

// ---- gathers

// Notes one that has begun at this time.
RT_FN void rt_note_gather(struct rt_context *ctx, const struct rt_gathered *g,
                          int64_t began) {
  struct rt_workers *w = ctx->config->workers;
  int64_t own = g->count * g->row_bytes;
  w->ns += rt_time_ns() - began;
  w->gathers++;
  w->sent += own * (g->workers - 1);
  w->received += rt_sat_mul(g->total, g->row_bytes) - own;
  rt_log(ctx, "gathered %" PRId64 " rows of %" PRId64 " bytes%s", g->total, g->row_bytes,
         w->lends && !g->each ? ", by devices" : "");
}

// `staged` holds all rows, of which those of this worker are there, unless that has failed; to =
// all of them.
RT_FN int rt_gather_staged(struct rt_context *ctx, struct rt_mem **to, void *staged,
                           const struct rt_gathered *g, int error) {
  struct rt_workers *w = ctx->config->workers;
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  int64_t bytes = rt_sat_mul(g->total, g->row_bytes), before = rt_time_ns();
  if (!rt_transport_gather(w, staged, g)) return rt_too_large(ctx, g);
  rt_note_gather(ctx, g, before);
  error = rt_mem_alloc(ctx, to, bytes);
  return error ? error : rt_write(ctx, *to, 0, bytes, staged);
}

// Host memory for so many bytes, until the next gather.
RT_FN int rt_stage(struct rt_context *ctx, int64_t bytes, char **out) {
  int error = rt_workers_await(ctx);
  if (error) return error;
  *out = rt_transport_stage(ctx->config->workers, bytes);
  if (*out) return RT_OK;
  return rt_error(ctx, RT_OUT_OF_MEMORY, "out of host memory: %" PRId64 " bytes", bytes);
}

RT_FN int64_t rt_all_bytes(const struct rt_gathered *g) {
  return rt_sat_mul(g->total, g->row_bytes);
}

// A value of each worker.
RT_FN struct rt_gathered rt_gathered_values(const struct rt_workers *w, int64_t bytes) {
  struct rt_gathered g;
  memset(&g, 0, sizeof g);
  g.workers = g.total = w->size;
  g.start = w->rank;
  g.count = 1;
  g.row_bytes = bytes;
  g.each = true;
  return g;
}

// All rows in memory of the device, without the host.
RT_FN int rt_gather_lent(struct rt_context *ctx, struct rt_mem **to, struct rt_mem *from,
                         const struct rt_gathered *g) {
  struct rt_workers *w = ctx->config->workers;
  struct rt_mem *all = NULL;
  void *rows = NULL;
  int64_t row = g->row_bytes;
  int error = rt_workers_await(ctx);
  if (!error) error = rt_mem_alloc(ctx, &all, rt_all_bytes(g));
  if (!error)
    error = rt_mem_copy(ctx, all, g->start * row, from, g->before_block * row,
                        g->count * row);
  struct rt_place place = { all ? all->buffer : NULL, 0 };
  if (!error)
    error = rt_check_status(ctx, ctx->backend->lend(ctx, place, &rows), "lending memory");
  error = rt_workers_agree(ctx, error);
  int64_t before = rt_time_ns();
  if (!error && !rt_transport_gather(w, rows, g)) error = rt_too_large(ctx, g);
  if (!error) rt_note_gather(ctx, g, before);
  if (rows) ctx->backend->lend(ctx, place, NULL);
  if (!error) rt_mem_share(ctx, to, all);
  rt_mem_release(ctx, &all);
  return error;
}

RT_FN int rt_workers_gather(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g) {
  const struct rt_workers *w = ctx->config->workers;
  char *staged = NULL;
  int64_t own = g->count * g->row_bytes, at = g->before_block * g->row_bytes;
  if (g->workers == 1 && !at) {
    rt_mem_share(ctx, to, from);
    return RT_OK;
  }
  if (g->workers == 1) {
    int failed = rt_mem_alloc(ctx, to, own);
    return failed ? failed : rt_mem_copy(ctx, *to, 0, from, at, own);
  }
  if (w->lends) return rt_gather_lent(ctx, to, from, g);
  int error = rt_stage(ctx, rt_all_bytes(g), &staged);
  if (!error) error = rt_read(ctx, from, at, own, staged + g->start * g->row_bytes);
  return rt_gather_staged(ctx, to, staged, g, error);
}

// The rows that there are before and after the block.
RT_FN int64_t rt_rows_before(const struct rt_gathered *g) {
  return g->ring || g->before < g->start ? g->before : g->start;
}

RT_FN int64_t rt_rows_after(const struct rt_gathered *g) {
  int64_t left = g->total - g->start - g->count;
  return g->ring || g->after < left ? g->after : left;
}

// to = memory for a block and its border, which begins at byte `at` of it: that of the block if
// this has room for it.
RT_FN int rt_border_room(struct rt_context *ctx, struct rt_mem **to, struct rt_mem *from,
                         const struct rt_gathered *g, int64_t *at) {
  int64_t low = rt_rows_before(g);
  *at = g->room ? (g->before_block - low) * g->row_bytes : 0;
  if (!g->room)
    return rt_mem_alloc(ctx, to,
                        rt_sat_mul(low + g->count + rt_rows_after(g), g->row_bytes));
  rt_mem_share(ctx, to, from);
  return RT_OK;
}

// A border by way of all rows: blocks are smaller than it.
RT_FN int rt_border_of_all(struct rt_context *ctx, struct rt_mem **to,
                           struct rt_mem *from, const struct rt_gathered *g) {
  struct rt_mem *all = NULL;
  int64_t first = g->start - rt_rows_before(g), row = g->row_bytes, begin = 0;
  int64_t extent = rt_rows_before(g) + g->count + rt_rows_after(g);
  int error = rt_workers_gather(ctx, &all, from, g);
  if (!error) error = rt_border_room(ctx, to, from, g, &begin);
  for (int64_t at = 0, some = 0; at < extent && g->total && !error; at += some) {
    int64_t source = ((first + at) % g->total + g->total) % g->total;
    some = g->total - source < extent - at ? g->total - source : extent - at;
    error = rt_mem_copy(ctx, *to, begin + at * row, all, source * row, some * row);
  }
  rt_mem_release(ctx, &all);
  return error;
}

// The ends of a block, as its neighbours want them, and theirs.
RT_FN int rt_read_ends(struct rt_context *ctx, struct rt_mem *from,
                       const struct rt_gathered *g, struct rt_exchange *e) {
  const struct rt_workers *w = ctx->config->workers;
  int64_t row = g->row_bytes, each = (g->before + g->after) * row;
  char *staged = NULL;
  int error = rt_stage(ctx, (w->size + 1) * each, &staged);
  if (error) return error;
  e->before = w->rank > 0 ? w->rank - 1 : g->ring ? w->size - 1 : -1;
  e->after = w->rank + 1 < w->size ? w->rank + 1 : g->ring ? 0 : -1;
  e->first = staged + w->rank * each;  // what each worker sends, one after the other
  e->last = (char *)e->first + g->after * row;
  e->low = staged + (e->before < 0 ? w->size : e->before) * each + g->after * row;
  e->high = staged + (e->after < 0 ? w->size : e->after) * each;
  e->first_bytes = e->before < 0 ? 0 : g->after * row;
  e->last_bytes = e->after < 0 ? 0 : g->before * row;
  e->low_bytes = rt_rows_before(g) * row;
  e->high_bytes = rt_rows_after(g) * row;
  int64_t at = g->before_block * row, end = at + g->count * row;
  error = rt_read(ctx, from, at, e->first_bytes, e->first);
  return error ? error
               : rt_read(ctx, from, end - g->before * row, e->last_bytes, e->last);
}

// A border whose rows are on their way.
struct rt_underway {
  struct rt_exchange e;
  struct rt_mem *to;
  int64_t low_at, high_at;  // where they belong
  int error;                // this worker has failed
};

// The border itself, but for the rows of the neighbours.
RT_FN int rt_border_own(struct rt_context *ctx, struct rt_mem **to, struct rt_mem *from,
                        const struct rt_gathered *g, struct rt_underway *u) {
  int error = rt_read_ends(ctx, from, g, &u->e);
  int64_t own = g->count * g->row_bytes;
  if (!error) error = rt_border_room(ctx, to, from, g, &u->low_at);
  u->high_at = u->low_at + u->e.low_bytes + own;
  if (!error && !g->room) error = rt_mem_copy(ctx, *to, u->e.low_bytes, from, 0, own);
  if (!error) rt_mem_share(ctx, &u->to, *to);
  return error;
}

// A border from the neighbours, each of which has all of the rows that are wanted of it.
RT_FN int rt_border_of_neighbours(struct rt_context *ctx, struct rt_mem **to,
                                  struct rt_mem *from, const struct rt_gathered *g) {
  struct rt_workers *w = ctx->config->workers;
  struct rt_underway *u = (struct rt_underway *)rt_host_alloc(sizeof *u);
  int error = u->error = rt_border_own(ctx, to, from, g, u);
  if (w->failed) {  // which another border has told
    rt_mem_release(ctx, &u->to);
    free(u);
    return error;
  }
  int64_t began = rt_time_ns();
  rt_transport_begin(w, error ? w->rank : w->size, error ? NULL : &u->e);
  w->underway = u;
  w->ns += rt_time_ns() - began;
  if (error) return error;
  w->gathers++;
  w->sent += u->e.first_bytes + u->e.last_bytes;
  w->received += u->e.low_bytes + u->e.high_bytes;
  rt_log(ctx, "border: %" PRId64 " rows of %" PRId64 " bytes", g->before + g->after,
         g->row_bytes);
  return RT_OK;
}

RT_FN int rt_workers_await(struct rt_context *ctx) {
  struct rt_workers *w = ctx->config->workers;
  struct rt_underway *u = w->underway;
  if (!u) return RT_OK;
  w->underway = NULL;
  int64_t began = rt_time_ns();
  int error = rt_workers_heard(ctx, rt_meeting_end(w), u->error);
  w->ns += rt_time_ns() - began;
  if (!error) error = rt_write(ctx, u->to, u->low_at, u->e.low_bytes, u->e.low);
  if (!error) error = rt_write(ctx, u->to, u->high_at, u->e.high_bytes, u->e.high);
  rt_mem_release(ctx, &u->to);
  free(u);
  return error;
}

// MPI counts in int: a number that all workers find alike.
RT_FN bool rt_border_is_small(const struct rt_gathered *g) {
  return g->before * g->row_bytes <= INT_MAX && g->after * g->row_bytes <= INT_MAX;
}

RT_FN int rt_workers_border(struct rt_context *ctx, struct rt_mem **to,
                            struct rt_mem *from, const struct rt_gathered *g,
                            bool later) {
  const struct rt_workers *w = ctx->config->workers;
  int64_t widest = g->before > g->after ? g->before : g->after;
  if (g->workers == 1) {
    rt_mem_share(ctx, to, from);
    return RT_OK;
  }
  int64_t fewest = g->total;
  for (int i = 0; i < w->size; i++) {
    int64_t count = rt_block_of(w, g->layout, g->total, i).count;
    fewest = count < fewest ? count : fewest;
  }
  if (fewest < widest) return rt_border_of_all(ctx, to, from, g);
  if (!rt_border_is_small(g)) return rt_too_large(ctx, g);
  int error = rt_border_of_neighbours(ctx, to, from, g);
  return later ? error : rt_workers_await(ctx);
}

RT_FN struct rt_range rt_overlap(const struct rt_wanted *owner,
                                 const struct rt_wanted *other) {
  int64_t end = owner->has + owner->has_count, wanted = other->wants + other->wants_count;
  struct rt_range out = { owner->has > other->wants ? owner->has : other->wants, 0 };
  if (wanted < end) end = wanted;
  if (end > out.start) out.count = end - out.start;
  return out;
}

// What every worker has and wants.
RT_FN int rt_tell_wanted(struct rt_context *ctx, const struct rt_wanted *own,
                         struct rt_wanted **out) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_gathered g = rt_gathered_values(w, sizeof *own);
  char *staged = NULL;
  int error = rt_stage(ctx, rt_all_bytes(&g), &staged);
  if (!error) ((struct rt_wanted *)(void *)staged)[w->rank] = *own;
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  if (!rt_transport_gather(w, staged, &g)) return rt_too_large(ctx, &g);
  *out = (struct rt_wanted *)rt_host_alloc((size_t)rt_all_bytes(&g));
  memcpy(*out, staged, (size_t)rt_all_bytes(&g));
  w->sent += (w->size - 1) * g.row_bytes;
  w->received += (w->size - 1) * g.row_bytes;
  return RT_OK;
}

// Puts what others want of this worker's rows where they belong; no row twice.
RT_FN int rt_read_wanted(struct rt_context *ctx, struct rt_mem *from,
                         const struct rt_wanted *wanted, int64_t row, char *all) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_wanted *own = &wanted[w->rank];
  int64_t done = own->has;
  int error = RT_OK;
  for (int r = 0; r < w->size && !error; r++) {
    struct rt_range out = rt_overlap(own, &wanted[r]);
    int64_t end = out.start + out.count, start = out.start > done ? out.start : done;
    if (r == w->rank || out.count == 0) continue;
    w->sent += out.count * row;
    if (end <= start) continue;
    error = rt_read(ctx, from, (start - own->has) * row, (end - start) * row,
                    all + start * row);
    done = end;
  }
  return error;
}

// Those of others into their places.
RT_FN int rt_write_wanted(struct rt_context *ctx, struct rt_mem *to,
                          const struct rt_wanted *wanted, int64_t row, const char *all) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_wanted *own = &wanted[w->rank];
  int error = RT_OK;
  for (int r = 0; r < w->size && !error; r++) {
    struct rt_range in = rt_overlap(&wanted[r], own);
    if (r == w->rank || in.count == 0) continue;
    w->received += in.count * row;
    error = rt_write(ctx, to, (in.start - own->wants) * row, in.count * row,
                     all + in.start * row);
  }
  return error;
}

// Does any worker want rows of another one?  All see the same.
RT_FN bool rt_moves_rows(const struct rt_workers *w, const struct rt_wanted *wanted) {
  for (int i = 0; i < w->size; i++)
    for (int k = 0; k < w->size; k++)
      if (i != k && rt_overlap(&wanted[i], &wanted[k]).count) return true;
  return false;
}

// to = what this worker wants of its own rows, with room for those of others.
RT_FN int rt_keep_wanted(struct rt_context *ctx, struct rt_mem **to, struct rt_mem *from,
                         const struct rt_wanted *own, int64_t row) {
  struct rt_range kept = rt_overlap(own, own);
  int error = rt_mem_alloc(ctx, to, rt_sat_mul(own->wants_count, row));
  if (error || kept.count == 0) return error;
  return rt_mem_copy(ctx, *to, (kept.start - own->wants) * row, from,
                     (kept.start - own->has) * row, kept.count * row);
}

RT_FN int rt_move_wanted(struct rt_context *ctx, struct rt_mem **to, struct rt_mem *from,
                         const struct rt_gathered *g, const struct rt_wanted *wanted) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_wanted *own = &wanted[w->rank];
  char *all = NULL;
  if (own->has == own->wants && own->has_count == own->wants_count &&
      !rt_moves_rows(w, wanted)) {
    rt_mem_share(ctx, to, from);
    return RT_OK;
  }
  int error = rt_keep_wanted(ctx, to, from, own, g->row_bytes);
  if (!rt_moves_rows(w, wanted)) return error;
  if (!error) error = rt_stage(ctx, rt_all_bytes(g), &all);
  if (!error) error = rt_read_wanted(ctx, from, wanted, g->row_bytes, all);
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  if (!rt_transport_fetch(w, all, g->row_bytes, wanted)) return rt_too_large(ctx, g);
  return rt_write_wanted(ctx, *to, wanted, g->row_bytes, all);
}

RT_FN int rt_workers_fetch(struct rt_context *ctx, struct rt_mem **to,
                           struct rt_mem *from, const struct rt_gathered *g,
                           int64_t first, int64_t rows) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_wanted own = { g->start, g->count, first, rows };
  struct rt_wanted *wanted = NULL;
  if (g->workers == 1 && first == g->start && rows == g->count) {
    rt_mem_share(ctx, to, from);
    return RT_OK;
  }
  if (g->workers == 1) return rt_keep_wanted(ctx, to, from, &own, g->row_bytes);
  int64_t began = rt_time_ns();
  int error = rt_tell_wanted(ctx, &own, &wanted);
  if (!error) error = rt_move_wanted(ctx, to, from, g, wanted);
  free(wanted);
  w->ns += rt_time_ns() - began;
  w->gathers++;
  rt_log(ctx, "fetched %" PRId64 " rows of %" PRId64 " bytes, %" PRId64 " of them own",
         rows, g->row_bytes, rt_overlap(&own, &own).count);
  return error;
}

RT_FN int rt_workers_gather_value(struct rt_context *ctx, struct rt_mem **to,
                                  const void *value, const struct rt_gathered *g) {
  char *staged = NULL;
  if (g->workers == 1) {
    int error = rt_mem_alloc(ctx, to, g->row_bytes);
    return error ? error : rt_write(ctx, *to, 0, g->row_bytes, value);
  }
  int error = rt_stage(ctx, rt_all_bytes(g), &staged);
  if (!error) memcpy(staged + g->start * g->row_bytes, value, (size_t)g->row_bytes);
  return rt_gather_staged(ctx, to, staged, g, error);
}

// ---- beginning

// A number that says what the device computes like, the same number on like devices.
RT_FN int rt_device_kind(const struct rt_context *ctx) {
  const struct rt_device *d = &ctx->device;
  int64_t about[] = { ctx->gpu_code, d->doubles, d->exact_division, d->atomic_bytes };
  uint64_t hash = rt_hash(1, d->identity, strlen(d->identity));
  return (int)(rt_hash(hash, about, sizeof about) & ((1 << 30) - 1));
}

RT_FN bool rt_workers_agree_on(struct rt_workers *w, int number) {
  int least = rt_transport_least(w, number), most = -rt_transport_least(w, -number);
  return least == most;
}

// Devices that round differently would not decide alike, unless the program sees to that.
RT_FN int rt_workers_alike(struct rt_context *ctx) {
  struct rt_workers *w = ctx->config->workers;
  enum rt_kinds kinds = ctx->program->kinds;
  w->mixed = !rt_workers_agree_on(w, rt_device_kind(ctx));
  bool one_code = rt_workers_agree_on(w, ctx->gpu_code), first = ctx->gpu_code;
  rt_transport_broadcast(w, 0, &first, (int64_t)sizeof first);
  w->other_code = first != ctx->gpu_code;
  if (!w->mixed || kinds == RT_KINDS_ANY || (kinds == RT_KINDS_ONE_CODE && one_code))
    return RT_OK;
  const char *what =
      kinds == RT_KINDS_ONE
          ? "not built for workers on devices of different kinds (--mixed)"
          : "not supported yet: code for CPUs and for GPUs in one run of a "
            "program where they exchange in different orders";
  return rt_error(ctx, RT_OTHER_ERROR, "%s: %s, code for %s", what, ctx->device.name,
                  ctx->gpu_code ? "gpu" : "cpu");
}

RT_FN int64_t rt_least_size(struct rt_workers *w, int64_t size) {
  return rt_transport_least(w, size < INT_MAX ? (int)size : INT_MAX);
}

// Parameters and sizes that decide must be the same, however many compute units the devices have;
// those of different kinds decide together where it matters.
RT_FN void rt_workers_settle(struct rt_context *ctx) {
  struct rt_workers *w = ctx->config->workers;
  int64_t count = ctx->program->tuning_count;
  if (w->mixed) return;
  rt_transport_broadcast(w, 0, ctx->params, count * (int64_t)sizeof *ctx->params);
  ctx->device.local_bytes = rt_least_size(w, ctx->device.local_bytes);
  ctx->device.max_group_size = rt_least_size(w, ctx->device.max_group_size);
  ctx->device.compute_units = rt_least_size(w, ctx->device.compute_units);
  ctx->default_group_size = rt_least_size(w, ctx->default_group_size);
}

// A weight that the user, or else the program, has set; -1: nobody has.
RT_FN int64_t rt_given_weight(const struct rt_context *ctx, struct rt_weight of) {
  const char *layout = of.layout ? ctx->program->layouts[of.layout - 1] : "";
  size_t length = strlen(layout) + 32;
  char *name = (char *)rt_host_alloc(length);
  int64_t weight = -1;
  snprintf(name, length, "%s%sweight_%d", layout, of.layout ? "." : "", of.rank);
  bool given = rt_config_find(ctx, name, &weight);
  for (int i = 0; i < ctx->program->preset_count && !given; i++)
    if (strcmp(ctx->program->presets[i].name, name) == 0)
      weight = ctx->program->presets[i].value;
  free(name);
  return weight;
}

// Has some worker a share in each layout?
RT_FN bool rt_weights_hold(const struct rt_context *ctx) {
  const struct rt_workers *w = ctx->config->workers;
  for (int layout = 0; layout <= ctx->program->layout_count; layout++) {
    int64_t all = 0;
    for (int i = 0; i < w->size; i++) {
      const struct rt_weight of = { layout, i };
      all += rt_workers_weight(w, of);
    }
    if (all == 0) return false;
  }
  return true;
}

RT_FN int rt_workers_weigh(struct rt_context *ctx, struct rt_weight of, int64_t weight) {
  struct rt_workers *w = ctx->config->workers;
  if (of.rank >= w->size) return 0;
  int64_t *at = &w->weights[of.layout * w->size + of.rank], before = *at;
  *at = weight;
  if (!rt_weights_hold(ctx)) {
    *at = before;
    return 1;
  }
  if (of.layout == 0) w->weighing++;
  return 0;
}

RT_FN int rt_weights_open(struct rt_context *ctx) {
  struct rt_workers *w = ctx->config->workers;
  int layouts = ctx->program->layout_count + 1;
  free(w->weights);
  w->weights = (int64_t *)rt_host_alloc((size_t)(w->size * layouts) * sizeof *w->weights);
  for (int i = 0; i < w->size * layouts; i++) {
    const struct rt_weight of = { i / w->size, i % w->size };
    int64_t given = rt_given_weight(ctx, of);
    w->weights[i] = given < 0 && of.layout == 0 ? RT_USUAL_WEIGHT : given;
  }
  if (rt_weights_hold(ctx)) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR, "the weights of all workers are 0");
}

// Do all have devices whose memory MPI takes?
RT_FN bool rt_workers_lend(const struct rt_context *ctx) {
  int64_t aware = 0;
  if (!rt_config_find(ctx, "device_aware", &aware)) aware = rt_transport_takes_cuda();
  return rt_transport_least(ctx->config->workers, ctx->backend->lend && aware) > 0;
}

RT_FN int rt_workers_begin(struct rt_context *ctx, int error) {
  struct rt_workers *w = ctx->config->workers;
  int weighed = rt_weights_open(ctx);  // blocks have sizes even if there is no device
  error = rt_workers_agree(ctx, error ? error : weighed);
  if (error || w->size == 1) return error;
  error = rt_workers_agree(ctx, rt_workers_alike(ctx));
  if (error) return error;
  rt_workers_settle(ctx);
  w->lends = rt_workers_lend(ctx);
  return RT_OK;
}

#ifdef RT_LIBRARY
RT_FN struct rt_workers *rt_workers_one(void) {
  struct rt_workers *w = (struct rt_workers *)rt_host_alloc(sizeof *w);
  w->size = w->neighbours = 1;
  return w;
}

RT_FN void rt_workers_free(struct rt_workers *w) {
  rt_transport_close(w);
  free(w->weights);
  free(w);
}

RT_FN void rt_workers_call(struct rt_context *ctx) {
  ctx->config->workers->failed = false;
}

RT_FN int rt_workers_called(struct rt_context *ctx, int error) {
  return ctx->broken ? error : rt_workers_agree(ctx, error);
}

RT_FN int rt_workers_rows(struct rt_context *ctx, const char *name, int64_t rows,
                          int64_t *total) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_gathered g = rt_gathered_values(w, sizeof rows);
  char *staged = NULL;
  if (w->size == 1) {  // who may have joined nobody
    *total = rows;
    return RT_OK;
  }
  int error = rt_stage(ctx, rt_all_bytes(&g), &staged);
  if (!error) ((int64_t *)(void *)staged)[w->rank] = rows;
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  if (!rt_transport_gather(w, staged, &g)) return rt_too_large(ctx, &g);
  *total = 0;
  for (int i = 0; i < w->size; i++)
    *total += ((const int64_t *)(void *)staged)[i];
  int64_t expected = rt_block_of(w, 0, *total, w->rank).count;
  if (rows == expected) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR,
                  "parameter %s: expected a block of %" PRId64 " of %" PRId64
                  " rows (context_block), found %" PRId64,
                  name, expected, *total, rows);
}

void RT_NAME(context_block)(struct rt_context *ctx, int64_t rows, int64_t *start,
                            int64_t *count) {
  const struct rt_workers *w = ctx->config->workers;
  struct rt_block block = rt_block_of(w, 0, rows, w->rank);
  *start = block.start;
  *count = block.count;
}
#else

// ---- what they read

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

// The next line that rank 0 reads, as getline, for all, unless nobody hears it.
RT_FN bool rt_workers_line(struct rt_workers *w, bool heard, char **line,
                           size_t *capacity) {
  int64_t length = -1;
  if (w->rank == 0 && heard) length = (int64_t)getline(line, capacity, stdin);
  rt_transport_broadcast(w, 0, &length, (int64_t)sizeof length);
  if (length < 0) return false;
  if (w->rank > 0) *line = (char *)rt_host_grow(*line, (size_t)length + 1);
  rt_transport_broadcast(w, 0, *line, length + 1);
  return true;
}

RT_FN void rt_workers_note(struct rt_workers *w, const char *bytes, size_t length) {
  enum { RT_HEADER_BYTES = 64 };  // of a binary value, or less
  int64_t all = (int64_t)length;
  if (w->divides && length > RT_HEADER_BYTES) length = RT_HEADER_BYTES;
  w->divides = false;
  w->read = rt_hash(rt_hash(w->read, &all, sizeof all), bytes, length);
}

RT_FN int rt_workers_have_read(struct rt_context *ctx, const char *file) {
  struct rt_workers *w = ctx->config->workers;
  if (rt_workers_agree_on(w, (int)(w->read & INT_MAX))) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR, "%s is not the same for all workers", file);
}

// What each worker was busy with in the last call, in the order of the ranks; only rank 0 says it.
RT_FN int rt_workers_busy(struct rt_context *ctx, struct rt_text *out) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_gathered g = rt_gathered_values(w, sizeof w->busy);
  char *staged = NULL;
  int error = rt_stage(ctx, rt_all_bytes(&g), &staged);
  if (!error) ((int64_t *)(void *)staged)[w->rank] = w->busy;
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  if (!rt_transport_gather(w, staged, &g)) return rt_too_large(ctx, &g);
  for (int i = 0; i < w->size; i++)
    rt_text_printf(out, "%.3f\n", (double)((const int64_t *)(void *)staged)[i] / 1e3);
  return RT_OK;
}

RT_FN void rt_workers_report(struct rt_context *ctx) {
  const struct rt_workers *w = ctx->config->workers;
  rt_log(ctx,
         "worker %d of %d: %" PRId64 " gathers, %" PRId64 " bytes sent, %" PRId64
         " received, %" PRId64 " us, %" PRId64 " us waited",
         w->rank, w->size, w->gathers, w->sent, w->received, w->ns / 1000,
         w->waited / 1000);
}
#endif
// End gather.h
