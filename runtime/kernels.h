// Begin kernels.h: building kernels when first launched, and launching them.

// ---- building

RT_FN int rt_doublings(int64_t count) {
  int steps = 1;
  while (steps < 62 && (int64_t)1 << steps < count)
    steps++;
  return steps;
}

RT_FN void rt_build_options(const struct rt_context *ctx, int kernel, struct rt_form form,
                            struct rt_text *t) {
  const struct rt_kernel *k = &ctx->program->kernels[kernel];
  rt_text_add(t, k->uses_f64 ? "-DFLC_F64" : "-DFLC_KERNEL");
  // Warnings are about hints that a compiler could not follow; PoCL writes them to standard error.
  if (!ctx->config->debugging) rt_text_add(t, " -w");
  if (k->for_gpu) rt_text_add(t, " -DFLC_GPU");
  if (form.fallback) rt_text_add(t, " -DFLC_LOCAL_FALLBACK");
  if (form.group_size)
    rt_text_printf(t, " -DFLC_GROUP_SIZE=%" PRId64 " -DFLC_GROUP_STEPS=%d",
                   form.group_size, rt_doublings(form.group_size));
  if (k->for_gpu && !ctx->config->exact_floats)
    rt_text_add(t, " -DFLC_CONTRACT");
  else if (ctx->device.exact_division)
    rt_text_add(t, " -cl-fp32-correctly-rounded-divide-sqrt");
  for (int i = 0; i < k->tuning_count; i++)
    rt_text_printf(t, " -DFLC_PARAM_%d=%" PRId64, k->tuning[i],
                   ctx->params[k->tuning[i]]);
  if (ctx->config->build_options.length) rt_text_add(t, ctx->config->build_options.data);
}

// Prelude and text of a kernel; the caller frees them.
RT_FN char *rt_kernel_source(const struct rt_context *ctx, int kernel) {
  struct rt_text t = { NULL, 0, 0 };
  rt_text_add(&t, ctx->prelude);
  if (ctx->kernels[kernel].text)
    rt_text_add(&t, ctx->kernels[kernel].text);
  else
    rt_text_pieces(&t, ctx->program->kernels[kernel].text);
  return rt_text_take(&t);
}

// Everything that the compiled program follows from, for the cache; the caller frees it.
RT_FN char *rt_program_about(const struct rt_context *ctx, int kernel,
                             const char *options) {
  struct rt_text t = { NULL, 0, 0 };
  const struct rt_kernel *k = &ctx->program->kernels[kernel];
  rt_text_printf(&t, "%s\n%s\n", options, ctx->device.identity);
  if (k->hash && ctx->own_sources) {
    rt_text_printf(&t, "sha256 %s", k->hash);
    return rt_text_take(&t);
  }
  char *source = rt_kernel_source(ctx, kernel);
  rt_text_add(&t, source);
  free(source);
  return rt_text_take(&t);
}

// A text that does not compile is a mistake of the compiler: the log of the build is shown whole.
RT_FN int rt_build_failed(struct rt_context *ctx, int kernel, cl_program program,
                          cl_int status) {
  size_t bytes = 0;
  clGetProgramBuildInfo(program, ctx->device.id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
  char *log = (char *)rt_host_alloc(bytes + 1);
  clGetProgramBuildInfo(program, ctx->device.id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
  rt_error(ctx, RT_OTHER_ERROR, "building kernel %s: %s (OpenCL status %d)\n%s",
           ctx->program->kernels[kernel].name, rt_status_text(status), (int)status, log);
  free(log);
  return RT_OTHER_ERROR;
}

RT_FN int rt_build_from_source(struct rt_context *ctx, int kernel, const char *options,
                               cl_program *out) {
  cl_int status = CL_SUCCESS;
  char *source = rt_kernel_source(ctx, kernel);
  const char *text = source;
  *out = clCreateProgramWithSource(ctx->cl, 1, &text, NULL, &status);
  free(source);
  if (status != CL_SUCCESS) return rt_opencl_check(ctx, status, "creating a program");
  status = clBuildProgram(*out, 1, &ctx->device.id, options, NULL, NULL);
  if (status == CL_SUCCESS) return RT_OK;
  int error = rt_build_failed(ctx, kernel, *out, status);
  clReleaseProgram(*out);
  *out = NULL;
  return error;
}

// NULL if the device does not accept the bytes any more.
RT_FN cl_program rt_build_from_binary(struct rt_context *ctx,
                                      const struct rt_binary *binary,
                                      const char *options) {
  cl_int status = CL_SUCCESS, valid = CL_SUCCESS;
  const unsigned char *bytes = binary->bytes;
  cl_program program = clCreateProgramWithBinary(
      ctx->cl, 1, &ctx->device.id, &binary->length, &bytes, &valid, &status);
  if (status != CL_SUCCESS) return NULL;
  if (clBuildProgram(program, 1, &ctx->device.id, options, NULL, NULL) == CL_SUCCESS)
    return program;
  clReleaseProgram(program);
  return NULL;
}

// The compiled bytes of a program; false if the device does not give them.
RT_FN bool rt_program_binary(cl_program program, const char *about,
                             struct rt_binaries *out) {
  size_t length = 0;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof length, &length, NULL) !=
          CL_SUCCESS ||
      length == 0)
    return false;
  unsigned char *bytes = (unsigned char *)rt_host_alloc(length);
  bool ok = clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof bytes, &bytes, NULL) ==
            CL_SUCCESS;
  if (ok) rt_binaries_add(out, about, bytes, length);
  free(bytes);
  return ok;
}

// ---- what takes time

enum { RT_STATUS_BYTES = 64 };  // compiler/commands/common.c reads as many

// Shows a text until the next one; "" takes it away.
RT_FN void rt_show_status(const struct rt_context *ctx, const char *text) {
  char status[RT_STATUS_BYTES] = { 0 };
  const struct rt_config *cfg = ctx->config;
  snprintf(status, sizeof status, "%s", text);
  if (cfg->status_file) (void)!pwrite(cfg->status_file, status, sizeof status, 0);
  if (cfg->at_terminal && !ctx->logging) fprintf(stderr, "\r%s\033[K", status);
}

// "compiling kernel 3 of 7": of those that the device may need, built or not.
RT_FN void rt_show_build(struct rt_context *ctx) {
  char text[RT_STATUS_BYTES];
  int all = 0;
  for (int k = 0; k < ctx->program->kernel_count; k++)
    all += ctx->program->kernels[k].for_gpu == ctx->gpu_code;
  int number = ctx->ready_kernels < all ? ctx->ready_kernels + 1 : all;
  snprintf(text, sizeof text, "compiling kernel %d of %d", number, all);
  rt_show_status(ctx, text);
}

// The program from the cache, or compiled and put there.
RT_FN int rt_build_program(struct rt_context *ctx, int kernel, struct rt_form form,
                           cl_program *out) {
  struct rt_text options = { NULL, 0, 0 };
  struct rt_binaries binaries = { NULL, 0 };
  int error = RT_OK;
  *out = NULL;
  rt_build_options(ctx, kernel, form, &options);
  char *about = rt_program_about(ctx, kernel, options.data);
  const struct rt_binary *cached = rt_cache_find(ctx, about, &binaries);
  if (cached) *out = rt_build_from_binary(ctx, cached, options.data);
  rt_log(ctx, "build %s%s: %s", ctx->program->kernels[kernel].name,
         form.fallback ? " (fallback)" : "", *out ? "cached" : "compiling");
  if (!*out) {
    rt_binaries_free(&binaries);
    rt_show_build(ctx);
    error = rt_build_from_source(ctx, kernel, options.data, out);
    rt_show_status(ctx, "");
    if (!error && rt_program_binary(*out, about, &binaries))
      rt_cache_store(ctx, &binaries.items[0]);
  }
  rt_binaries_free(&binaries);
  rt_text_free(&options);
  free(about);
  return error;
}

RT_FN struct rt_build *rt_find_build(struct rt_built_kernel *k, struct rt_form form) {
  for (int i = 0; i < k->form_count; i++)
    if (k->forms[i].form.fallback == form.fallback &&
        k->forms[i].form.group_size == form.group_size)
      return &k->forms[i];
  return NULL;
}

RT_FN void rt_keep_build(struct rt_built_kernel *k, struct rt_build build) {
  size_t bytes = (size_t)(k->form_count + 1) * sizeof *k->forms;
  k->forms = (struct rt_build *)rt_host_grow(k->forms, bytes);
  k->forms[k->form_count++] = build;
}

// The kernel, built if this is its first use in this form.
RT_FN int rt_kernel_get(struct rt_context *ctx, int kernel, struct rt_form form,
                        struct rt_build *out) {
  struct rt_built_kernel *k = &ctx->kernels[kernel];
  const struct rt_build *known = rt_find_build(k, form);
  if (known) *out = *known;
  if (known) return RT_OK;
  int64_t start = rt_time_us();
  out->form = form;
  int error = rt_build_program(ctx, kernel, form, &out->program);
  if (error) return error;
  cl_int status = CL_SUCCESS;
  out->kernel = clCreateKernel(out->program, "flc_kernel", &status);
  rt_timing_add(&k->builds, rt_time_us() - start);
  if (status == CL_SUCCESS) {
    ctx->ready_kernels++;
    rt_keep_build(k, *out);
    return RT_OK;
  }
  clReleaseProgram(out->program);
  return rt_opencl_check(ctx, status, ctx->program->kernels[kernel].name);
}

// Forgets what was built: with new parameters it is built again.
RT_FN void rt_kernel_drop(struct rt_built_kernel *k) {
  for (int i = 0; i < k->form_count; i++) {
    clReleaseKernel(k->forms[i].kernel);
    clReleaseProgram(k->forms[i].program);
  }
  free(k->forms);
  k->forms = NULL;
  k->form_count = 0;
}

// ---- launching

RT_FN struct rt_arg rt_arg_mem(struct rt_mem *mem) {
  struct rt_arg arg;
  memset(&arg, 0, sizeof arg);
  arg.mem = mem;
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
RT_SCALAR_ARG(i64, int64_t, i64)
RT_SCALAR_ARG(u8, uint8_t, u8)
RT_SCALAR_ARG(u16, uint16_t, u16)
RT_SCALAR_ARG(u32, uint32_t, u32)
RT_SCALAR_ARG(u64, uint64_t, u64)
RT_SCALAR_ARG(f16, uint16_t, f16)
RT_SCALAR_ARG(f32, float, f32)
RT_SCALAR_ARG(f64, double, f64)
RT_SCALAR_ARG(bool, bool, u8)

// A launch on its way: the kernel, where its next argument goes, and blocks to give back.
enum { RT_MAX_LAUNCH_BLOCKS = 64 };

struct rt_launching {
  int kernel;
  cl_kernel object;
  cl_uint next;
  size_t groups, group_size;
  bool fallback;
  struct rt_mem *blocks[RT_MAX_LAUNCH_BLOCKS];
  int block_count;
};

RT_FN int rt_put_arg(struct rt_context *ctx, struct rt_launching *l, size_t bytes,
                     const void *value) {
  cl_int status = clSetKernelArg(l->object, l->next++, bytes, value);
  if (status == CL_SUCCESS) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR, "argument %d of kernel %s: %s (OpenCL status %d)",
                  (int)l->next - 1, ctx->program->kernels[l->kernel].name,
                  rt_status_text(status), (int)status);
}

// A block that lives as long as the launch.
RT_FN int rt_put_block(struct rt_context *ctx, struct rt_launching *l, int64_t bytes) {
  if (l->block_count == RT_MAX_LAUNCH_BLOCKS)
    return rt_error(ctx, RT_OTHER_ERROR, "kernel %s needs more than %d temporary arrays",
                    ctx->program->kernels[l->kernel].name, RT_MAX_LAUNCH_BLOCKS);
  struct rt_mem **slot = &l->blocks[l->block_count++];
  int error = rt_mem_alloc(ctx, slot, bytes);
  return error ? error : rt_put_arg(ctx, l, sizeof(cl_mem), &(*slot)->buffer);
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
                   : rt_put_arg(ctx, l, sizeof(cl_mem), &arg->mem->buffer);
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

// What the arrays and the kernel's own variables take; guards count the same (imp/lower_local.c).
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

// The word that failing checks are reported in, made when first needed.
RT_FN int rt_put_error_word(struct rt_context *ctx, struct rt_launching *l) {
  if (!ctx->program->kernels[l->kernel].may_fail) return RT_OK;
  if (!ctx->error_word) {
    char zeros[RT_ERROR_WORD_BYTES] = { 0 };
    cl_int status = CL_SUCCESS;
    ctx->error_word = clCreateBuffer(ctx->cl, CL_MEM_READ_WRITE | CL_MEM_COPY_HOST_PTR,
                                     sizeof zeros, zeros, &status);
    if (status != CL_SUCCESS) ctx->error_word = NULL;
    if (status != CL_SUCCESS)
      return rt_opencl_check(ctx, status, "making the error word");
  }
  ctx->may_have_failed = true;
  return rt_put_arg(ctx, l, sizeof(cl_mem), &ctx->error_word);
}

RT_FN int rt_put_all(struct rt_context *ctx, struct rt_launching *l,
                     const struct rt_launch *launch) {
  int error = rt_put_params(ctx, l, launch);
  if (!error) error = rt_put_scratch(ctx, l, launch);
  if (!error) error = rt_put_locals(ctx, l, launch);
  return error ? error : rt_put_error_word(ctx, l);
}

RT_FN int rt_enqueue(struct rt_context *ctx, struct rt_launching *l) {
  size_t global = l->groups * l->group_size;
  cl_event event = NULL;
  bool timed = ctx->profiling && ctx->config->profiling;
  rt_log(ctx, "launch %s: %zu groups of %zu", ctx->program->kernels[l->kernel].name,
         l->groups, l->group_size);
  cl_int status = CL_SUCCESS;
  do
    status = clEnqueueNDRangeKernel(ctx->queue, l->object, 1, NULL, &global,
                                    &l->group_size, 0, NULL, timed ? &event : NULL);
  while (rt_make_room(ctx, status));
  int error = rt_opencl_check(ctx, status, ctx->program->kernels[l->kernel].name);
  if (error) return error;
  if (timed)
    rt_profile_event(ctx, l->kernel, event);
  else
    ctx->kernels[l->kernel].runs.count++;
  if (!ctx->debugging) return RT_OK;
  return rt_opencl_check(ctx, clFinish(ctx->queue),
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
  error = rt_opencl_check(ctx,
                          clEnqueueWriteBuffer(ctx->queue, block->buffer, CL_TRUE, 0,
                                               sizeof words, words, 0, NULL, NULL),
                          "starting an arena");
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

RT_FN int rt_launch_with_arena(struct rt_context *ctx, struct rt_launching *l,
                               const struct rt_launch *launch) {
  int64_t *bytes = &ctx->kernels[l->kernel].arena_bytes,
          items = (int64_t)(l->groups * l->group_size);
  if (*bytes == 0) *bytes = RT_ARENA_BYTES;
  for (int attempt = 0;; attempt++) {
    struct rt_arena_counts counts = { 0, 0, 0, 0 };
    l->next = 0;
    int error = rt_try_arena(ctx, l, launch, *bytes, &counts);
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

RT_FN int rt_launch_sized(struct rt_context *ctx, struct rt_launching *l,
                          const struct rt_launch *launch) {
  int64_t need = rt_local_need(launch);
  l->fallback = launch->local_count > 0 && need > ctx->device.local_bytes;
  if (l->fallback)
    rt_log(ctx, "kernel %s: in global memory what takes %" PRId64
           " bytes of local memory, which has %" PRId64,
           ctx->program->kernels[l->kernel].name, need, ctx->device.local_bytes);
  struct rt_form form = { l->fallback, 0 };
  struct rt_build build;
  if (ctx->program->kernels[l->kernel].sized) form.group_size = (int64_t)l->group_size;
  int error = rt_kernel_get(ctx, l->kernel, form, &build);
  if (!error) l->object = build.kernel;
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

RT_FN int rt_launch(struct rt_context *ctx, int kernel, const struct rt_launch *launch) {
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
  return rt_launch_sized(ctx, &l, launch);
}
// End kernels.h
