// Begin divided.h: arrays of executables of which each worker has its rows: what #[blocks(..)]
// names, and results of as many rows (workers.h).
//
// They are divided, or made whole again, in place: all workers do that at the same time.
#ifdef RT_DIVIDES

RT_FN void rt_divided_like(struct rt_array *array, const struct rt_array *other) {
  array->divided = other->divided;
  array->first = other->first;
  array->all_rows = other->all_rows;
  array->weighing = other->weighing;
}

// Are there rows of the array elsewhere?
RT_FN bool rt_is_divided(const struct rt_context *ctx, const struct rt_array *array) {
  return array && array->divided && array->mem && ctx->config->workers->size > 1;
}

RT_FN struct rt_gathered rt_divided_rows(const struct rt_context *ctx,
                                         const struct rt_array *array) {
  struct rt_gathered g;
  memset(&g, 0, sizeof g);
  g.workers = ctx->config->workers->size;
  g.total = array->all_rows;
  g.start = array->first;
  g.count = array->shape[0];
  g.row_bytes = rt_elems[array->elem].bytes;
  for (int i = 1; i < array->rank; i++)
    g.row_bytes = rt_sat_mul(g.row_bytes, array->shape[i]);
  return g;
}

// How many rows all workers have together, and those before this one.
RT_FN int rt_count_rows(struct rt_context *ctx, int64_t rows, int64_t *before,
                        int64_t *total) {
  struct rt_workers *w = ctx->config->workers;
  const struct rt_gathered g = rt_gathered_values(w, sizeof rows);
  char *staged = NULL;
  int error = rt_stage(ctx, rt_all_bytes(&g), &staged);
  if (!error) ((int64_t *)(void *)staged)[w->rank] = rows;
  error = rt_workers_agree(ctx, error);
  if (error) return error;
  if (!rt_transport_gather(w, staged, &g)) return rt_too_large(ctx, &g);
  w->sent += (w->size - 1) * g.row_bytes;
  w->received += (w->size - 1) * g.row_bytes;
  *before = *total = 0;
  for (int i = 0; i < w->size; i++) {
    *before += i < w->rank ? ((const int64_t *)(void *)staged)[i] : 0;
    *total += ((const int64_t *)(void *)staged)[i];
  }
  return RT_OK;
}

// This worker has these rows of the array from now on.
RT_FN void rt_hold_rows(struct rt_context *ctx, struct rt_array *array,
                        struct rt_mem *mem, int64_t first, int64_t rows) {
  rt_mem_release(ctx, &array->mem);
  array->mem = mem;
  array->first = first;
  array->shape[0] = rows;
}

// Each worker gets the rows that it asks for.
RT_FN int rt_fetch_rows(struct rt_context *ctx, struct rt_array *array, int64_t first,
                        int64_t rows) {
  struct rt_mem *mem = NULL;
  int error = RT_OK;
  if (array->all_rows < 0)
    error = rt_count_rows(ctx, array->shape[0], &array->first, &array->all_rows);
  if (error) return error;
  if (rows < 0) rows = array->all_rows;
  const struct rt_gathered g = rt_divided_rows(ctx, array);
  error = rt_workers_fetch(ctx, &mem, array->mem, &g, first, rows);
  if (error)
    rt_mem_release(ctx, &mem);
  else
    rt_hold_rows(ctx, array, mem, first, rows);
  return error;
}

RT_FN int rt_array_whole(struct rt_context *ctx, struct rt_array *array) {
  if (!rt_is_divided(ctx, array)) return RT_OK;
  int error = rt_fetch_rows(ctx, array, 0, -1);
  if (!error) array->divided = false;
  return error;
}

// Rank 0 gets all rows, the others none.
RT_FN int rt_array_collect(struct rt_context *ctx, struct rt_array *array) {
  if (!rt_is_divided(ctx, array)) return RT_OK;
  int error = rt_fetch_rows(ctx, array, 0, ctx->config->workers->rank == 0 ? -1 : 0);
  if (!error) array->divided = false;
  return error;
}

// Of an array that all have, this worker keeps its rows.
RT_FN int rt_keep_rows(struct rt_context *ctx, struct rt_array *array) {
  const struct rt_workers *w = ctx->config->workers;
  int64_t all = array->shape[0];
  struct rt_block block = rt_block_of(w, 0, all, w->rank);
  const struct rt_wanted own = { 0, all, block.start, block.count };
  struct rt_mem *mem = NULL;
  int error =
      rt_keep_wanted(ctx, &mem, array->mem, &own, rt_divided_rows(ctx, array).row_bytes);
  if (error) {
    rt_mem_release(ctx, &mem);
    return error;
  }
  rt_hold_rows(ctx, array, mem, block.start, block.count);
  array->all_rows = all;
  array->divided = true;
  array->weighing = w->weighing;
  return RT_OK;
}

// This worker's rows of an array whose rows were divided by other weights.
RT_FN int rt_divide_anew(struct rt_context *ctx, struct rt_array *array) {
  const struct rt_workers *w = ctx->config->workers;
  struct rt_block block = rt_block_of(w, 0, array->all_rows, w->rank);
  return rt_fetch_rows(ctx, array, block.start, block.count);
}

RT_FN int rt_input_block(struct rt_context *ctx, struct rt_array *array, int64_t *rows) {
  const struct rt_workers *w = ctx->config->workers;
  int error = RT_OK;
  *rows = array->shape[0];
  if (w->size == 1) return RT_OK;
  if (!array->divided)
    error = rt_keep_rows(ctx, array);
  else if (array->all_rows < 0)
    error = rt_count_rows(ctx, array->shape[0], &array->first, &array->all_rows);
  if (!error && array->weighing != w->weighing) error = rt_divide_anew(ctx, array);
  if (!error) array->weighing = w->weighing;
  *rows = array->all_rows;
  return error;
}

RT_FN void rt_result_block(const struct rt_context *ctx, struct rt_array *array) {
  array->divided = true;
  array->all_rows = -1;
  array->weighing = ctx->config->workers->weighing;
}

// What the arrays of a value become: whole, or all of rank 0.
RT_FN int rt_value_together(struct rt_context *ctx, int type,
                            const struct rt_value *value,
                            int (*become)(struct rt_context *ctx,
                                          struct rt_array *array)) {
  const struct rt_value *leaves = rt_value_leaves(ctx->program, type, value);
  int error = RT_OK;
  for (int i = 0; i < rt_leaf_count(ctx->program, type) && !error; i++)
    if (ctx->program->types[rt_leaf_type(ctx->program, type, i)].kind == RT_ARRAY)
      error = become(ctx, leaves[i].u.array);
  return error;
}

// ---- reading

RT_FN bool rt_reads_rows(const struct rt_context *ctx, struct rt_reader *r) {
  const struct rt_workers *w = ctx->config->workers;
  if (!w->divides || w->size == 1) return false;
  rt_skip_space(r);
  return rt_byte_at(r, r->position) == 'b';
}

// The elements in this worker's rows; the others are passed over.
RT_FN bool rt_read_own_rows(const struct rt_workers *w, struct rt_reader *r,
                            struct rt_host_value *v, struct rt_block *block,
                            int64_t *all_rows) {
  int64_t bytes = 0;
  size_t at = r->position;
  if (!rt_binary_sizes(r, v, &bytes)) return false;
  size_t end = r->position + (size_t)bytes;
  int64_t row = v->shape[0] ? bytes / v->shape[0] : 0;
  *all_rows = v->shape[0];
  *block = rt_block_of(w, 0, *all_rows, w->rank);
  v->shape[0] = block->count;
  r->position += (size_t)(block->start * row);
  bool ok = rt_binary_elements(r, v, at, block->count * row);
  r->position = end;
  return ok;
}

RT_FN int rt_read_rows(struct rt_context *ctx, struct rt_reader *r,
                       const struct rt_type *t, struct rt_value *out) {
  struct rt_host_value v;
  struct rt_block block;
  int64_t all_rows = 0;
  rt_begin_value(t->elem, t->rank, &v);
  bool ok = rt_read_own_rows(ctx->config->workers, r, &v, &block, &all_rows);
  int error =
      ok ? rt_upload(ctx, &v, out) : rt_error(ctx, RT_OTHER_ERROR, "%s", r->message);
  rt_host_value_free(&v);
  if (error) return error;
  out->u.array->divided = true;
  out->u.array->first = block.start;
  out->u.array->all_rows = all_rows;
  out->u.array->weighing = ctx->config->workers->weighing;
  return RT_OK;
}
#endif
// End divided.h
