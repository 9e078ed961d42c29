// Begin kernels.h: launching kernels.

// ---- launching

RT_FN struct rt_arg rt_arg_mem(struct rt_mem *mem) {
  struct rt_arg arg;
  memset(&arg, 0, sizeof arg);
  arg.mem = mem;
  return arg;
}

RT_FN struct rt_arg rt_arg_used(struct rt_mem *mem, bool loads, bool changes) {
  struct rt_arg arg = rt_arg_mem(mem);
  arg.loads = loads;
  arg.changes = changes;
  return arg;
}

#define RT_SCALAR_ARG(name, type, member)         \
  RT_FN struct rt_arg rt_arg_##name(type value) { \
    struct rt_arg arg;                            \
    memset(&arg, 0, sizeof arg);                  \
    arg.bytes = sizeof arg.scalar.u.member;       \
    arg.scalar.u.member = value;                  \
    return arg;                                   \
  }
RT_SCALAR_ARG(i8, int8_t, i8)
RT_SCALAR_ARG(i16, int16_t, i16)
RT_SCALAR_ARG(i32, int32_t, i32)
RT_SCALAR_ARG(u8, uint8_t, u8)
RT_SCALAR_ARG(u16, uint16_t, u16)
RT_SCALAR_ARG(u32, uint32_t, u32)
RT_SCALAR_ARG(u64, uint64_t, u64)
RT_SCALAR_ARG(f16, uint16_t, f16)
RT_SCALAR_ARG(f32, float, f32)
RT_SCALAR_ARG(f64, double, f64)
RT_SCALAR_ARG(bool, bool, u8)

RT_FN struct rt_arg rt_arg_i64(int64_t value) {
  struct rt_arg arg;
  memset(&arg, 0, sizeof arg);
  arg.bytes = sizeof arg.scalar.u.i64;
  arg.scalar.u.i64 = value;
  arg.wide = value < 0 || value > INT32_MAX;
  return arg;
}

// A launch on its way: the kernel, where its next argument goes, and blocks to give back.
enum { RT_FEW_BLOCKS = 64, RT_ARENA_BLOCKS = 2 };

struct rt_launching {
  int kernel;
  struct rt_function *object;
  int next;
  size_t groups, group_size;
  bool fallback, near;
  const struct rt_launch *launch;
  struct rt_mem **blocks, *few[RT_FEW_BLOCKS];  // `blocks` is `few`, or has room for more
  int block_count;
};

RT_FN int rt_put_arg(struct rt_context *ctx, struct rt_launching *l, size_t bytes,
                     const void *value) {
  int status = ctx->backend->set_arg(l->object, l->next++, bytes, value);
  if (!status) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR, "argument %d of kernel %s: %s (%s status %d)",
                  l->next - 1, ctx->program->kernels[l->kernel].name,
                  ctx->backend->status_text(status), ctx->backend->title, status);
}

// A block that lives as long as the launch.
RT_FN int rt_put_block(struct rt_context *ctx, struct rt_launching *l, int64_t bytes) {
  struct rt_mem **slot = &l->blocks[l->block_count++];
  int error = rt_mem_alloc(ctx, slot, bytes);
  return error ? error : rt_put_arg(ctx, l, sizeof(void *), &(*slot)->buffer);
}

RT_FN int rt_put_params(struct rt_context *ctx, struct rt_launching *l,
                        const struct rt_launch *launch) {
  int error = RT_OK;
  for (int i = 0; i < launch->arg_count && !error; i++) {
    const struct rt_arg *arg = &launch->args[i];
    bool scalar = arg->bytes > 0;
    if (!scalar && !arg->mem)
      return rt_error(ctx, RT_OTHER_ERROR,
                      "argument %d of kernel %s is an array without memory", i,
                      ctx->program->kernels[l->kernel].name);
    error = scalar ? rt_put_arg(ctx, l, arg->bytes, &arg->scalar)
                   : rt_put_arg(ctx, l, sizeof(void *), &arg->mem->buffer);
  }
  return error;
}

RT_FN int rt_put_scratch(struct rt_context *ctx, struct rt_launching *l,
                         const struct rt_launch *launch) {
  int error = RT_OK;
  for (int i = 0; i < launch->scratch_count && !error; i++) {
    const struct rt_scratch *s = &launch->scratch[i];
    int64_t copies = (int64_t)(s->per_group ? l->groups : l->groups * l->group_size);
    int64_t count = s->count > 0 ? s->count : 0;  // the kernel reports a negative size
    error = rt_put_block(ctx, l, rt_sat_mul(copies, rt_sat_mul(count, s->elem_bytes)));
  }
  return error;
}

// An array in local memory begins and ends at a multiple of 64 bytes.
RT_FN int64_t rt_local_block(int64_t bytes) {
  int64_t whole = rt_sat_add(bytes, 63) & -INT64_C(64);
  return whole < 64 ? 64 : whole;
}

// What the arrays and the kernel's own variables take; guards count the same (imp/lower/local.c).
RT_FN int64_t rt_local_need(const struct rt_launch *launch) {
  int64_t sum = 64;
  for (int i = 0; i < launch->local_count; i++)
    sum = rt_sat_add(sum, rt_local_block(launch->local_bytes[i]));
  return sum;
}

RT_FN int rt_put_locals(struct rt_context *ctx, struct rt_launching *l,
                        const struct rt_launch *launch) {
  int error = RT_OK;
  for (int i = 0; i < launch->local_count && !error; i++) {
    int64_t bytes = rt_local_block(launch->local_bytes[i]);
    error = l->fallback ? rt_put_block(ctx, l, rt_sat_mul((int64_t)l->groups, bytes))
                        : rt_put_arg(ctx, l, (size_t)bytes, NULL);
    if (!error) error = rt_put_arg(ctx, l, sizeof bytes, &bytes);
  }
  return error;
}

RT_FN int rt_error_word_new(struct rt_context *ctx) {
  const char zeros[RT_ERROR_WORD_BYTES] = { 0 };
  int status = ctx->backend->buffer_new(ctx, (int64_t)sizeof zeros, &ctx->error_word);
  if (status) return status;
  struct rt_place place = { ctx->error_word, 0 };
  status = ctx->backend->write(ctx, place, (int64_t)sizeof zeros, zeros, NULL);
  if (status) rt_error_word_drop(ctx);
  return status;
}

// The word that failing checks are reported in, made when first needed.
RT_FN int rt_put_error_word(struct rt_context *ctx, struct rt_launching *l) {
  if (!ctx->program->kernels[l->kernel].may_fail) return RT_OK;
  if (!ctx->error_word) {
    int status = rt_error_word_new(ctx);
    if (status) return rt_check_status(ctx, status, "making the error word");
  }
  ctx->may_have_failed = true;
  return rt_put_arg(ctx, l, sizeof(void *), &ctx->error_word);
}

RT_FN int rt_put_all(struct rt_context *ctx, struct rt_launching *l,
                     const struct rt_launch *launch) {
  int error = rt_put_params(ctx, l, launch);
  if (!error) error = rt_put_scratch(ctx, l, launch);
  if (!error) error = rt_put_locals(ctx, l, launch);
  return error ? error : rt_put_error_word(ctx, l);
}

// ---- launches of little work, on a device near by

// How many bytes a launch may touch, and how long it may take, to go there.
enum { RT_NEAR_BYTES = 1 << 18, RT_NEAR_NS = 30000 };

// Code that takes long to compile, and probably to run: for one device, not for both.
enum { RT_LONG_TEXT = 60000 };

RT_FN bool rt_is_long(struct rt_context *ctx, int kernel) {
  struct rt_built_kernel *k = &ctx->kernels[kernel];
  const char *const *piece = ctx->program->kernels[kernel].text;
  if (k->text_length == 0)
    for (; *piece; piece++)
      k->text_length += (int64_t)strlen(*piece);
  return k->text_length > RT_LONG_TEXT;
}

RT_FN double rt_launch_bytes(const struct rt_launch *launch) {
  double bytes = 1;
  for (int i = 0; i < launch->arg_count; i++)
    if (launch->args[i].mem) bytes += (double)launch->args[i].mem->used;
  return bytes;
}

// What one group does is done by one thread in any case.  Of others the bytes at hand and earlier
// launches tell: the faster one of the last two, as other processes may have disturbed the other.
RT_FN bool rt_goes_near(struct rt_context *ctx, const struct rt_launching *l) {
  if (!ctx->goes_near || ctx->busy) return false;
  struct rt_built_kernel *k = &ctx->kernels[l->kernel];
  if (k->near_runs == 0 && k->runs.count < ctx->config->near_after) return false;
  if (l->groups == 1) return true;
  if (rt_is_long(ctx, l->kernel)) return false;
  double bytes = rt_launch_bytes(l->launch),
         rate = k->near_ns[0] < k->near_ns[1] ? k->near_ns[0] : k->near_ns[1];
  if (bytes > RT_NEAR_BYTES) return false;
  if (bytes * rate < RT_NEAR_NS) return true;
  for (int i = 0; i < 2; i++)  // in a while it is tried again
    k->near_ns[i] -= k->near_ns[i] / 16;
  return false;
}

// The first run contains the making of the code.
RT_FN void rt_near_note(struct rt_context *ctx, const struct rt_launching *l,
                        int64_t ns) {
  struct rt_built_kernel *k = &ctx->kernels[l->kernel];
  if (k->near_runs++ == 0) return;
  k->near_ns[1] = k->near_ns[0];
  k->near_ns[0] = (double)ns / rt_launch_bytes(l->launch);
}

RT_FN int rt_enqueue(struct rt_context *ctx, struct rt_launching *l) {
  struct rt_task task = rt_task_begin(ctx);
  bool timed = ctx->profiling && ctx->config->profiling;
  struct rt_event **event = timed ? &task.event : rt_task_event(ctx, &task);
  rt_log(ctx, "launch %s%s: %zu groups of %zu", ctx->program->kernels[l->kernel].name,
         l->near ? " (near)" : "", l->groups, l->group_size);
  int64_t began = l->near ? rt_time_ns() : 0;
  int status = 0;
#ifdef RT_HELPER
  int32_t *making = rt_helper_launches(ctx, l->kernel, l->near);
#endif
  do
    status =
        ctx->backend->launch(ctx, l->near, l->object, l->groups, l->group_size, event);
  while (rt_make_room(ctx, status));
#ifdef RT_HELPER
  rt_helper_launched(ctx, making);
#endif
  if (l->near) rt_near_note(ctx, l, rt_time_ns() - began);
  int error = rt_check_status(ctx, status, ctx->program->kernels[l->kernel].name);
  if (error) return error;
  if (timed)
    rt_profile_event(ctx, l->kernel, task.event);
  else
    ctx->kernels[l->kernel].runs.count++;
#ifndef RT_LIBRARY
  if (ctx->trace) rt_trace_launch(ctx, l->kernel, l->launch, l->groups, l->group_size);
#endif
  if (!timed) rt_task_end(ctx, &task, RT_TASK_KERNEL, l->kernel, 0);
  if (!ctx->debugging) return RT_OK;
  return rt_check_status(ctx, ctx->backend->finish(ctx),
                         ctx->program->kernels[l->kernel].name);
}

// ---- arenas: arrays whose sizes only the items know

enum { RT_ARENA_BYTES = 1 << 20, RT_ARENA_UNIT = 64, RT_ARENA_WORDS = 6 };

// The words that prelude.cl's flc_arena_room and flc_arena_done count in.
struct rt_arena_counts {
  int64_t taken, lacked, done_items, done_units;
};

RT_FN struct rt_arena_counts rt_arena_counts(const uint32_t *words) {
  struct rt_arena_counts c;
  c.taken = words[0];
  c.lacked = (int64_t)words[1] | (int64_t)(words[2] & 0x7fffffff) << 32;
  c.done_items = words[3];
  c.done_units = (int64_t)words[4] | (int64_t)(words[5] & 0x7fffffff) << 32;
  return c;
}

// Runs the kernel and gets what its items counted.
RT_FN int rt_try_arena(struct rt_context *ctx, struct rt_launching *l,
                       const struct rt_launch *launch, int64_t bytes,
                       struct rt_arena_counts *counts) {
  uint32_t words[RT_ARENA_WORDS] = { 0 };
  int error = rt_put_all(ctx, l, launch);
  if (!error) error = rt_put_block(ctx, l, bytes);
  if (!error) error = rt_put_arg(ctx, l, sizeof bytes, &bytes);
  if (!error) error = rt_put_block(ctx, l, sizeof words);
  if (error) return error;
  struct rt_mem *block = l->blocks[l->block_count - 1];
  error = rt_write(ctx, block, 0, (int64_t)sizeof words, words);
  if (!error) error = rt_enqueue(ctx, l);
  if (!error) error = rt_read(ctx, block, 0, sizeof words, words);
  if (!error) *counts = rt_arena_counts(words);
  return error;
}

// The size for the next attempt, in units: what is known to be needed; what all items need if they
// are like those that were content; and, as both may be too little, multiples of the last size,
// ever larger ones while that is small.
RT_FN int64_t rt_arena_next(int64_t units, const struct rt_arena_counts *c, int64_t items,
                            int attempt) {
  enum { SMALL = (64 << 20) / RT_ARENA_UNIT };
  int64_t next = units < SMALL ? units << (2 + 2 * attempt) : rt_sat_mul(units, 2);
  int64_t known = rt_sat_add(c->taken, c->lacked);
  if (known > next) next = known;
  if (c->done_items == 0) return next;
  double each = (double)c->done_units / (double)c->done_items;
  double all = 1.25 * each * (double)items;
  return all < 1e15 && (int64_t)all > next ? (int64_t)all : next;
}

// No more than the device has, if that may be enough.
RT_FN int64_t rt_arena_most(const struct rt_context *ctx, int64_t wanted, int64_t known) {
  int64_t most = ctx->device.global_bytes - ctx->memory.live;
  if (ctx->device.max_block_bytes < most) most = ctx->device.max_block_bytes;
  most -= most % RT_ARENA_UNIT;
  return wanted > most && known < most ? most : wanted;
}

// Does the launch change what it reads, by this argument or by another of the same block?
RT_FN bool rt_arg_is_updated(const struct rt_launch *launch, int which) {
  const struct rt_arg *arg = &launch->args[which];
  if (!arg->mem || !arg->changes) return false;
  for (int i = 0; i < launch->arg_count; i++)
    if (launch->args[i].mem == arg->mem && launch->args[i].loads) return true;
  return false;
}

// Copies what the launch changes that it reads: to one block each of `kept`.
RT_FN int rt_keep_args(struct rt_context *ctx, const struct rt_launch *launch,
                       struct rt_mem **kept) {
  int error = RT_OK;
  for (int i = 0; i < launch->arg_count && !error; i++) {
    struct rt_mem *mem = launch->args[i].mem;
    if (!rt_arg_is_updated(launch, i)) continue;
    error = rt_mem_alloc(ctx, &kept[i], mem->bytes);
    if (!error) error = rt_mem_copy(ctx, kept[i], 0, mem, 0, mem->bytes);
  }
  return error;
}

RT_FN int rt_restore_args(struct rt_context *ctx, const struct rt_launch *launch,
                          struct rt_mem **kept) {
  int error = RT_OK;
  for (int i = 0; i < launch->arg_count && !error; i++) {
    struct rt_mem *mem = launch->args[i].mem;
    if (kept[i]) error = rt_mem_copy(ctx, mem, 0, kept[i], 0, mem->bytes);
  }
  return error;
}

// Until the arena is large enough.
RT_FN int rt_run_with_arena(struct rt_context *ctx, struct rt_launching *l,
                            const struct rt_launch *launch, struct rt_mem **kept) {
  int64_t *bytes = &ctx->kernels[l->kernel].arena_bytes,
          items = (int64_t)(l->groups * l->group_size);
  if (*bytes == 0) *bytes = RT_ARENA_BYTES;
  for (int attempt = 0;; attempt++) {
    struct rt_arena_counts counts = { 0, 0, 0, 0 };
    l->next = 0;
    int error = attempt ? rt_restore_args(ctx, launch, kept) : RT_OK;
    if (!error) error = rt_try_arena(ctx, l, launch, *bytes, &counts);
    for (int i = 0; i < l->block_count; i++)
      rt_mem_release(ctx, &l->blocks[i]);
    l->block_count = 0;
    if (error || counts.lacked == 0) return error;
    int64_t known = rt_sat_mul(rt_sat_add(counts.taken, counts.lacked), RT_ARENA_UNIT);
    int64_t wanted = rt_arena_next(*bytes / RT_ARENA_UNIT, &counts, items, attempt);
    wanted = rt_arena_most(ctx, rt_sat_mul(wanted, RT_ARENA_UNIT), known);
    if (wanted <= *bytes) return rt_out_of_memory(ctx, known);
    *bytes = wanted;
    rt_log(ctx, "arena of %s: too small, now %" PRId64 " bytes",
           ctx->program->kernels[l->kernel].name, *bytes);
  }
}

RT_FN int rt_launch_with_arena(struct rt_context *ctx, struct rt_launching *l,
                               const struct rt_launch *launch) {
  struct rt_mem **kept =
      (struct rt_mem **)rt_host_alloc((size_t)launch->arg_count * sizeof *kept);
  int error = rt_keep_args(ctx, launch, kept);
  if (!error) error = rt_run_with_arena(ctx, l, launch, kept);
  for (int i = 0; i < launch->arg_count; i++)
    rt_mem_release(ctx, &kept[i]);
  free(kept);
  return error;
}

// Is all that the kernel counts with below 2^31?
RT_FN bool rt_is_narrow(const struct rt_launching *l) {
  const struct rt_launch *launch = l->launch;
  bool narrow = l->groups <= (size_t)INT32_MAX / l->group_size;
  for (int i = 0; i < launch->arg_count && narrow; i++)
    narrow = !launch->args[i].wide;
  return narrow;
}

// The kernel for groups of that size.  If it takes more than a group of so many items has, of
// registers mostly, its text is compiled for that size, which the device's compiler then heeds.
RT_FN int rt_find_object(struct rt_context *ctx, struct rt_launching *l) {
  const struct rt_kernel *k = &ctx->program->kernels[l->kernel];
  int64_t size = (int64_t)l->group_size;
  struct rt_form form = { l->fallback, k->sized ? size : 0, false,
                          k->for_gpu && rt_is_narrow(l), l->near };
  struct rt_build build;
  int error = rt_kernel_get(ctx, l->kernel, form, &build);
  if (!error && build.most_items < size && !k->sized) {
    rt_log(ctx,
           "kernel %s: groups of at most %" PRId64 " items, compiled again for %" PRId64,
           k->name, build.most_items, size);
    form.group_size = size;
    form.alone = true;
    error = rt_kernel_get(ctx, l->kernel, form, &build);
  }
  if (error) return error;
  l->object = build.function;
  if (build.most_items >= size) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR,
                  "kernel %s wants groups of %" PRId64
                  " items, the device has registers for %" PRId64 " of them",
                  k->name, size, build.most_items);
}

RT_FN int rt_launch_sized(struct rt_context *ctx, struct rt_launching *l,
                          const struct rt_launch *launch) {
  int64_t need = rt_local_need(launch);
  l->fallback = launch->local_count > 0 && need > ctx->device.local_bytes;
  if (l->fallback)
    rt_log(ctx,
           "kernel %s: in global memory what takes %" PRId64
           " bytes of local memory, which has %" PRId64,
           ctx->program->kernels[l->kernel].name, need, ctx->device.local_bytes);
#ifdef RT_HELPER
  if (rt_rehearses(ctx)) return rt_helper_note(ctx, l);
#endif
  l->near = rt_goes_near(ctx, l);
  int error = rt_find_object(ctx, l);
  if (!error && ctx->program->kernels[l->kernel].uses_arena)
    return rt_launch_with_arena(ctx, l, launch);
  if (!error) error = rt_put_all(ctx, l, launch);
  if (!error) error = rt_enqueue(ctx, l);
  for (int i = 0; i < l->block_count; i++)
    rt_mem_release(ctx, &l->blocks[i]);
  return error;
}

// Idle items would get scratch memory, too: few items make a small group.
RT_FN int64_t rt_launch_group_size(const struct rt_context *ctx,
                                   const struct rt_launch *launch) {
  int64_t size = launch->group_size > 0 ? launch->group_size : ctx->default_group_size;
  bool may_shrink = launch->groups < 0 && launch->scratch_count > 0;
  while (may_shrink && size % 2 == 0 && size / 2 >= launch->items && size > 1)
    size /= 2;
  return size;
}

RT_FN int rt_launch_now(struct rt_context *ctx, int kernel,
                        const struct rt_launch *launch) {
#ifndef RT_LIBRARY
  if (ctx->replayer && rt_replay_over(ctx, ctx->kernels[kernel].runs.count == 0))
    return RT_ABANDONED;
#endif
  int64_t size = rt_launch_group_size(ctx, launch);
  int64_t groups = launch->groups;
  if (groups < 0) groups = launch->items / size + (launch->items % size > 0);
  if (groups <= 0) return RT_OK;
  if (size > ctx->device.max_group_size)
    return rt_error(ctx, RT_OTHER_ERROR,
                    "kernel %s wants groups of %" PRId64
                    " items, the device allows %" PRId64,
                    ctx->program->kernels[kernel].name, size, ctx->device.max_group_size);
  struct rt_launching l;
  memset(&l, 0, sizeof l);
  l.kernel = kernel;
  l.groups = (size_t)groups;
  l.group_size = (size_t)size;
  l.launch = launch;
  int blocks = launch->scratch_count + launch->local_count + RT_ARENA_BLOCKS;
  l.blocks = blocks <= RT_FEW_BLOCKS
                 ? l.few
                 : (struct rt_mem **)calloc((size_t)blocks, sizeof *l.blocks);
  if (!l.blocks) return rt_error(ctx, RT_OUT_OF_MEMORY, "out of host memory");
  int error = rt_launch_sized(ctx, &l, launch);
  if (l.blocks != l.few) free(l.blocks);
  return error;
}
RT_FN int rt_launch(struct rt_context *ctx, int kernel, const struct rt_launch *launch) {
  if (!ctx->kernel_ns) return rt_launch_now(ctx, kernel, launch);
  rt_wait(ctx);
  int64_t start = rt_time_ns();
  int error = rt_launch_now(ctx, kernel, launch);
  rt_wait(ctx);
  ctx->kernel_ns[kernel] += rt_time_ns() - start;
  return error;
}
// End kernels.h
