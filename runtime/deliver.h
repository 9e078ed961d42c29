// Begin deliver.h: values that workers have for each other's blocks (workers.h).

// A delivery, as this worker sees it.
struct rt_delivery {
  struct rt_context *ctx;
  const struct rt_gathered *g;
  int64_t points, value_bytes, position_bytes;
  bool everywhere;     // every worker has all rows
  int64_t *positions;  // of this worker's points among the places of all rows
  char *values;
  int64_t *limits;  // [size + 1]: the first place of each block, and the end
  int64_t *counts;  // [size][size]: values that one worker has for another
  char *block;      // this worker's
};

RT_FN struct rt_workers *rt_delivery_workers(const struct rt_delivery *d) {
  return d->ctx->config->workers;
}

// Room for so many bytes; an error once there is none.
RT_FN void *rt_delivery_room(const struct rt_delivery *d, int64_t bytes, int *error) {
  void *out = bytes < 0 || *error ? NULL : malloc(bytes ? (size_t)bytes : 1);
  if (!out && !*error)
    *error = rt_error(d->ctx, RT_OUT_OF_MEMORY, "out of host memory: %" PRId64 " bytes",
                      bytes);
  return out;
}

RT_FN void rt_delivery_close(struct rt_delivery *d) {
  free(d->positions);
  free(d->values);
  free(d->limits);
  free(d->counts);
  free(d->block);
}

RT_FN void rt_delivery_limits(struct rt_delivery *d) {
  const struct rt_workers *w = rt_delivery_workers(d);
  int64_t row = d->value_bytes ? d->g->row_bytes / d->value_bytes : 0, most = 0;
  d->limits[w->size] = d->g->total * row;
  for (int r = 0; r < w->size && !d->everywhere; r++) {
    struct rt_block block = rt_block_of(w, d->g->layout, d->g->total, r);
    d->limits[r] = block.start * row;
    if (block.count * row > most) most = block.count * row;
  }
  if (d->everywhere) most = d->limits[w->size];
  d->position_bytes =
      most <= INT32_MAX ? 4 : 8;  // they travel as numbers within the block
}

// The workers that want the value for a place.
RT_FN struct rt_range rt_delivery_owners(const struct rt_delivery *d, int size,
                                         int64_t position) {
  struct rt_range out = { 0, 0 };
  if (position < 0 || position >= d->limits[size]) return out;
  out.count = d->everywhere ? size : 1;
  for (int left = out.count == 1 ? size : 1; left > 1;) {
    int half = left / 2;  // no branch, as nobody could foresee it
    out.start += d->limits[out.start + half] <= position ? half : 0;
    left -= half;
  }
  return out;
}

RT_FN int rt_delivery_read(struct rt_delivery *d, struct rt_mem *positions,
                           struct rt_mem *values) {
  struct rt_workers *w = rt_delivery_workers(d);
  int64_t bytes = d->points * (int64_t)sizeof *d->positions;
  int error = RT_OK;
  d->positions = (int64_t *)rt_delivery_room(d, bytes, &error);
  d->values = (char *)rt_delivery_room(d, d->points * d->value_bytes, &error);
  if (!error) error = rt_read(d->ctx, positions, 0, bytes, d->positions);
  if (!error) error = rt_read(d->ctx, values, 0, d->points * d->value_bytes, d->values);
  int64_t *own = d->counts + w->rank * w->size;
  for (int64_t i = 0; i < d->points && !error; i++) {
    struct rt_range owners = rt_delivery_owners(d, w->size, d->positions[i]);
    for (int64_t k = 0; k < owners.count; k++)
      own[owners.start + k]++;
  }
  return error;
}

// All learn how many values each has for each.
RT_FN int rt_delivery_tell(struct rt_delivery *d, int error) {
  struct rt_workers *w = rt_delivery_workers(d);
  int64_t bytes = w->size * (int64_t)sizeof *d->counts;
  const struct rt_gathered g = rt_gathered_values(w, bytes);
  char *staged = NULL;
  if (!error) error = rt_stage(d->ctx, rt_all_bytes(&g), &staged);
  if (!error)
    memcpy(staged + w->rank * bytes, d->counts + w->rank * w->size, (size_t)bytes);
  error = rt_workers_agree(d->ctx, error);
  if (error) return error;
  if (!rt_transport_gather(w, staged, &g)) return rt_too_large(d->ctx, &g);
  memcpy(d->counts, staged, (size_t)rt_all_bytes(&g));
  w->sent += (w->size - 1) * bytes;
  w->received += (w->size - 1) * bytes;
  return RT_OK;
}

// Mostly a number.
RT_FN void rt_copy_few(char *to, const char *from, int64_t bytes) {
  switch (bytes) {
  case 1: *to = *from; return;
  case 2: memcpy(to, from, 2); return;
  case 4: memcpy(to, from, 4); return;
  case 8: memcpy(to, from, 8); return;
  default: memcpy(to, from, (size_t)bytes); return;
  }
}

// Puts this worker's values where those for one worker lie behind those for the one before.
RT_FN void rt_delivery_put(const struct rt_delivery *d, const struct rt_parcels *p) {
  const struct rt_workers *w = rt_delivery_workers(d);
  char **at = (char **)rt_host_alloc((size_t)w->size * sizeof *at), *next = p->out;
  for (int r = 0; r < w->size; r++) {
    at[r] = next;
    next += d->counts[w->rank * w->size + r] * p->item_bytes;
  }
  for (int64_t i = 0; i < d->points; i++) {
    struct rt_range owners = rt_delivery_owners(d, w->size, d->positions[i]);
    int64_t wide = owners.count ? d->positions[i] - d->limits[owners.start] : 0;
    int32_t narrow = (int32_t)wide;
    const void *from = d->position_bytes == 4 ? (const void *)&narrow : &wide;
    for (int64_t k = owners.start; k < owners.start + owners.count; k++) {
      rt_copy_few(at[k], (const char *)from, d->position_bytes);
      rt_copy_few(at[k] + d->position_bytes, d->values + i * d->value_bytes,
                  d->value_bytes);
      at[k] += p->item_bytes;
    }
  }
  free(at);
}

// Puts what the others and this worker have for its block into it, in the order of the ranks.
RT_FN void rt_delivery_take(struct rt_delivery *d, const struct rt_parcels *p) {
  struct rt_workers *w = rt_delivery_workers(d);
  for (int r = 0; r < w->size; r++) {
    const char *item = p->in[r];
    for (int64_t i = 0; i < d->counts[r * w->size + w->rank]; i++) {
      int64_t wide = 0;
      int32_t narrow = 0;
      memcpy(&narrow, item, sizeof narrow);
      if (d->position_bytes == 8)
        memcpy(&wide, item, sizeof wide);
      else
        wide = narrow;
      rt_copy_few(d->block + wide * d->value_bytes, item + d->position_bytes,
                  d->value_bytes);
      item += p->item_bytes;
    }
    if (r == w->rank) continue;
    w->received += d->counts[r * w->size + w->rank] * p->item_bytes;
    w->sent += d->counts[w->rank * w->size + r] * p->item_bytes;
  }
}

// Each worker gets what there is for its block, of which `from` is the memory.
RT_FN int rt_delivery_exchange(struct rt_delivery *d, struct rt_mem *from) {
  struct rt_workers *w = rt_delivery_workers(d);
  struct rt_parcels p = { d->counts, d->position_bytes + d->value_bytes, NULL, NULL,
                          NULL };
  int64_t bytes = d->g->count * d->g->row_bytes;
  int error = RT_OK;
  d->block = (char *)rt_delivery_room(d, bytes, &error);
  if (!error && !rt_transport_parcels(w, &p))
    error = rt_error(d->ctx, RT_OUT_OF_MEMORY, "out of host memory for a delivery");
  if (!error) error = rt_read(d->ctx, from, 0, bytes, d->block);
  if (!error) rt_delivery_put(d, &p);
  error = rt_workers_agree(d->ctx, error);
  if (error) return error;
  p.in = (const char **)rt_host_alloc((size_t)w->size * sizeof *p.in);
  if (rt_transport_deliver(w, &p))
    rt_delivery_take(d, &p);
  else
    error = rt_too_large(d->ctx, d->g);
  free(p.in);
  return error;
}

RT_FN int rt_workers_deliver(struct rt_context *ctx, struct rt_mem **to,
                             struct rt_mem *from, const struct rt_gathered *g,
                             struct rt_mem *positions, struct rt_mem *values,
                             int64_t points, int64_t value_bytes) {
  struct rt_workers *w = ctx->config->workers;
  struct rt_delivery d;
  size_t size = (size_t)w->size;
  int64_t began = rt_time_ns();
  memset(&d, 0, sizeof d);
  d.ctx = ctx;
  d.g = g;
  d.points = points;
  d.value_bytes = value_bytes;
  d.everywhere = g->workers == 1;
  d.limits = (int64_t *)rt_host_alloc((size + 1) * sizeof *d.limits);
  d.counts = (int64_t *)rt_host_alloc(size * size * sizeof *d.counts);
  rt_delivery_limits(&d);
  int error = rt_delivery_tell(&d, rt_delivery_read(&d, positions, values));
  if (!error) error = rt_delivery_exchange(&d, from);
  if (!error) error = rt_mem_alloc(ctx, to, g->count * g->row_bytes);
  if (!error) error = rt_write(ctx, *to, 0, g->count * g->row_bytes, d.block);
  rt_delivery_close(&d);
  w->ns += rt_time_ns() - began;
  w->gathers++;
  rt_log(ctx, "delivered %" PRId64 " values of %" PRId64 " bytes", points, value_bytes);
  return error;
}
// End deliver.h
