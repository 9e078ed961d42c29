// Begin memory.h: blocks on the device, reference-counted, and the pool of free buffers.
//
// The first touch of a fresh buffer is expensive, so freed buffers are kept and given to the next
// allocation of about their size.  The queue is in order: a buffer may be reused while commands
// that use it are still waiting.

struct rt_mem {
  struct rt_buffer *buffer;
  int64_t bytes;  // of the buffer
  int64_t used;   // those that were asked for
  int refs;
  bool foreign;  // given by the user: not for the pool
  bool shown;    // to the user, who may hold it: then it is not for the pool either
};

// The smallest free buffer of at least `bytes` and at most twice as many; -1 if there is none.
RT_FN int rt_pool_find(const struct rt_context *ctx, int64_t bytes) {
  int best = -1;
  for (int i = 0; i < ctx->free_count; i++) {
    int64_t size = ctx->free_blocks[i].bytes;
    if (size < bytes || size / 2 > bytes) continue;
    if (best < 0 || size < ctx->free_blocks[best].bytes) best = i;
  }
  return best;
}

RT_FN void rt_pool_flush(struct rt_context *ctx) {
  for (int i = 0; i < ctx->free_count; i++)
    ctx->backend->buffer_free(ctx, ctx->free_blocks[i].buffer, false);
  ctx->free_count = 0;
  ctx->memory.pooled = 0;
}

RT_FN void rt_pool_put(struct rt_context *ctx, struct rt_buffer *buffer, int64_t bytes) {
  if (ctx->free_count == ctx->free_capacity) {
    ctx->free_capacity = ctx->free_capacity * 2 + 16;
    ctx->free_blocks = (struct rt_free_block *)rt_host_grow(
        ctx->free_blocks, (size_t)ctx->free_capacity * sizeof *ctx->free_blocks);
  }
  ctx->free_blocks[ctx->free_count].buffer = buffer;
  ctx->free_blocks[ctx->free_count++].bytes = bytes;
  ctx->memory.pooled += bytes;
}

// Takes a buffer out of the pool; NULL if none fits.  Stores its size.
RT_FN struct rt_buffer *rt_pool_take(struct rt_context *ctx, int64_t *bytes) {
  int found = rt_pool_find(ctx, *bytes);
  if (found < 0) return NULL;
  struct rt_buffer *buffer = ctx->free_blocks[found].buffer;
  *bytes = ctx->free_blocks[found].bytes;
  ctx->free_blocks[found] = ctx->free_blocks[--ctx->free_count];
  ctx->memory.pooled -= *bytes;
  return buffer;
}

// Products of sizes saturate: INT64_MAX bytes are those of a size that 64 bits do not hold.
RT_FN int rt_out_of_memory(struct rt_context *ctx, int64_t bytes) {
  char wanted[32] = "more than 2^63";
  if (bytes < INT64_MAX) snprintf(wanted, sizeof wanted, "%" PRId64, bytes);
  return rt_error(ctx, RT_OUT_OF_MEMORY,
                  "out of device memory: %s bytes wanted, %" PRId64
                  " in use; the device has %" PRId64 ", at most %" PRId64 " in one block",
                  wanted, ctx->memory.live, ctx->device.global_bytes,
                  ctx->device.max_block_bytes);
}

// Did a command fail for want of memory that the pool could give back?  Then it should be tried
// again.
RT_FN bool rt_make_room(struct rt_context *ctx, int status) {
  if (!status || ctx->free_count == 0) return false;
  if (ctx->backend->status_kind(status) == RT_STATUS_OTHER) return false;
  rt_wait(ctx);
  rt_pool_flush(ctx);
  return true;
}

// A fresh buffer.  Devices do not enforce the limit of all their memory, so it is checked here;
// some give more in one buffer than they say.
RT_FN int rt_buffer_create(struct rt_context *ctx, int64_t bytes,
                           struct rt_buffer **out) {
  bool too_large = bytes > ctx->device.max_block_bytes;
  if (bytes > ctx->device.global_bytes - ctx->memory.live)
    return rt_out_of_memory(ctx, bytes);
  if (bytes > ctx->device.global_bytes - ctx->memory.live - ctx->memory.pooled)
    rt_pool_flush(ctx);
  int status = 0;
  do
    status = ctx->backend->buffer_new(ctx, bytes, out);
  while (rt_make_room(ctx, status));
  if (rt_status_is_memory(ctx, status) || (status && too_large))
    return rt_out_of_memory(ctx, bytes);
  if (too_large)
    rt_log(ctx, "a block of %" PRId64 " bytes, where the device speaks of %" PRId64,
           bytes, ctx->device.max_block_bytes);
  return rt_check_status(ctx, status, "making a buffer");
}

RT_FN struct rt_mem *rt_mem_of_buffer(struct rt_context *ctx, struct rt_buffer *buffer,
                                      int64_t bytes) {
  struct rt_mem *mem = (struct rt_mem *)rt_host_alloc(sizeof *mem);
  mem->buffer = buffer;
  mem->bytes = bytes;
  mem->used = bytes;
  mem->refs = 1;
  ctx->memory.live += bytes;
  int64_t held = ctx->memory.live + ctx->memory.pooled;
  if (held > ctx->memory.peak) ctx->memory.peak = held;
  return mem;
}

// An array of negative size gets memory as if it were empty: the kernel that fills it finds the
// mistake, unless an assertion before it fails, or it has no points.
RT_FN int rt_mem_alloc(struct rt_context *ctx, struct rt_mem **slot, int64_t bytes) {
  rt_mem_release(ctx, slot);
  if (bytes < 0) bytes = 0;
  int64_t rounded = bytes > INT64_MAX - 64 ? bytes : (bytes + 63) / 64 * 64;
  if (rounded == 0) rounded = 64;
  struct rt_buffer *buffer = rt_pool_take(ctx, &rounded);
  if (!buffer) {
    int error = rt_buffer_create(ctx, rounded, &buffer);
    if (error) return error;
  }
  *slot = rt_mem_of_buffer(ctx, buffer, rounded);
  (*slot)->used = bytes;
  return RT_OK;
}

RT_FN int rt_mem_alloc_at(struct rt_context *ctx, struct rt_mem **slot, int64_t bytes,
                          int check) {
  int error = rt_mem_alloc(ctx, slot, bytes);
  if (error == RT_OUT_OF_MEMORY) rt_error_place(ctx, check);
  return error;
}

RT_FN void rt_mem_release(struct rt_context *ctx, struct rt_mem **slot) {
  struct rt_mem *mem = *slot;
  *slot = NULL;
  if (!mem || --mem->refs > 0) return;
  ctx->memory.live -= mem->bytes;
  if (mem->foreign || (mem->shown && ctx->backend->buffer_held(ctx, mem->buffer)))
    ctx->backend->buffer_free(ctx, mem->buffer, mem->foreign);
  else
    rt_pool_put(ctx, mem->buffer, mem->bytes);
  free(mem);
}

RT_FN void rt_mem_share(struct rt_context *ctx, struct rt_mem **to, struct rt_mem *from) {
  if (from) from->refs++;
  rt_mem_release(ctx, to);
  *to = from;
}

RT_FN int rt_mem_copy(struct rt_context *ctx, struct rt_mem *to, int64_t to_offset,
                      struct rt_mem *from, int64_t from_offset, int64_t bytes) {
  if (bytes <= 0) return RT_OK;
#ifdef RT_HELPER
  if (rt_rehearses_without(ctx, from, from_offset, bytes) ||
      rt_rehearses_without(ctx, to, to_offset, bytes))
    return RT_OK;
#endif
  int status = 0;
  struct rt_task task = rt_task_begin(ctx);
  struct rt_place source = { from->buffer, from_offset },
                  target = { to->buffer, to_offset };
  do
    status = ctx->backend->copy(ctx, target, source, bytes, rt_task_event(ctx, &task));
  while (rt_make_room(ctx, status));
  rt_task_end(ctx, &task, RT_TASK_COPY, -1, bytes);
  return rt_check_status(ctx, status, "copying a block");
}

RT_FN int rt_mem_unique(struct rt_context *ctx, struct rt_mem **to,
                        struct rt_mem **from) {
  struct rt_mem *source = *from;
  if (to == from && source->refs == 1) return RT_OK;
  if (source->refs == 1) {
    rt_mem_release(ctx, to);
    *to = source;
    *from = NULL;
    return RT_OK;
  }
  struct rt_mem *copy = NULL;
  int error = rt_mem_alloc(ctx, &copy, source->bytes);
  if (!error) copy->used = source->used;
  if (!error) error = rt_mem_copy(ctx, copy, 0, source, 0, source->bytes);
  if (error) {
    rt_mem_release(ctx, &copy);
    return error;
  }
  rt_mem_release(ctx, to);
  *to = copy;
  return RT_OK;
}

// Kernels get a new one.
RT_FN void rt_error_word_drop(struct rt_context *ctx) {
  if (ctx->error_word) ctx->backend->buffer_free(ctx, ctx->error_word, false);
  ctx->error_word = NULL;
}

// Looks for a failed check after everything enqueued so far; the context can go on afterwards.
RT_FN int rt_check_failures(struct rt_context *ctx) {
  if (!ctx->may_have_failed) return RT_OK;
  ctx->may_have_failed = false;
  char word[RT_ERROR_WORD_BYTES];
  struct rt_task task = rt_task_begin(ctx);
  struct rt_place place = { ctx->error_word, 0 };
  int status = ctx->backend->read(ctx, place, (int64_t)sizeof word, word,
                                  rt_task_event(ctx, &task));
  rt_task_end(ctx, &task, RT_TASK_READ, -1, (int64_t)sizeof word);
  // What it may say belongs to the call that fails now, not to the next.
  if (status) rt_error_word_drop(ctx);
  int error = rt_check_status(ctx, status, "reading the error word");
  if (error) return error;
  int32_t code = 0;
  int64_t values[RT_MAX_CHECK_VALUES];
  memcpy(&code, word, sizeof code);
  memcpy(values, word + 8, sizeof values);
  if (code == 0) return RT_OK;
  rt_error_word_drop(ctx);
  if (code < 1 || code > ctx->program->check_count)
    return rt_error(ctx, RT_OTHER_ERROR, "a kernel reported unknown check %d", (int)code);
  return rt_fail(ctx, code - 1, values);
}

RT_FN int rt_read(struct rt_context *ctx, struct rt_mem *mem, int64_t offset,
                  int64_t bytes, void *out) {
  if (bytes <= 0) return rt_check_failures(ctx);
#ifdef RT_HELPER
  if (rt_rehearses_without(ctx, mem, offset, bytes)) {
    memset(out, 0, (size_t)bytes);
    return RT_OK;
  }
#endif
  struct rt_task task = rt_task_begin(ctx);
  struct rt_place place = { mem->buffer, offset };
  int status = ctx->backend->read(ctx, place, bytes, out, rt_task_event(ctx, &task));
  rt_task_end(ctx, &task, RT_TASK_READ, -1, bytes);
  int error = rt_check_status(ctx, status, "reading from the device");
  return error ? error : rt_check_failures(ctx);
}

RT_FN int rt_write(struct rt_context *ctx, struct rt_mem *mem, int64_t offset,
                   int64_t bytes, const void *from) {
  if (bytes <= 0) return RT_OK;
#ifdef RT_HELPER
  if (rt_rehearses_without(ctx, mem, offset, bytes)) return RT_OK;
#endif
  int status = 0;
  struct rt_task task = rt_task_begin(ctx);
  struct rt_place place = { mem->buffer, offset };
  do
    status = ctx->backend->write(ctx, place, bytes, from, rt_task_event(ctx, &task));
  while (rt_make_room(ctx, status));
  rt_task_end(ctx, &task, RT_TASK_WRITE, -1, bytes);
  return rt_check_status(ctx, status, "writing to the device");
}

RT_FN int rt_table(struct rt_context *ctx, struct rt_mem **slot, int index) {
  const struct rt_constants *from = &ctx->program->constants[index];
  struct rt_mem **table = &ctx->tables[index];
  if (!*table) {
    int64_t bytes = (int64_t)from->bytes;
    int error = rt_mem_alloc(ctx, table, bytes);
    if (!error) error = rt_write(ctx, *table, 0, bytes, from->values);
    if (error) rt_mem_release(ctx, table);
    if (error) return error;
  }
  rt_mem_share(ctx, slot, *table);
  return RT_OK;
}

// Bytes of the tables, which are kept for later calls.
RT_FN int64_t rt_tables_bytes(const struct rt_context *ctx) {
  int64_t bytes = 0;
  for (int i = 0; i < ctx->program->constant_count; i++)
    if (ctx->tables[i]) bytes += ctx->tables[i]->bytes;
  return bytes;
}

// They are written again when they are asked for.
RT_FN void rt_tables_release(struct rt_context *ctx) {
  for (int i = 0; i < ctx->program->constant_count; i++)
    rt_mem_release(ctx, &ctx->tables[i]);
}
// End memory.h
