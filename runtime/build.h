// Begin build.h: building kernels when first launched.

// ---- options

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
  if (k->for_gpu && ctx->device.halves) rt_text_add(t, " -DFLC_HALF");
  if (ctx->device.gathers && !k->for_gpu) rt_text_add(t, " -DFLC_GATHERS");
  if (ctx->device.permutes_bytes && !k->for_gpu) rt_text_add(t, " -DFLC_PERMUTES_BYTES");
  if (ctx->device.counts_bits && !k->for_gpu) rt_text_add(t, " -DFLC_COUNTS_BITS");
  if (form.narrow) rt_text_add(t, " -DFLC_NARROW");
  if (form.fallback) rt_text_add(t, " -DFLC_LOCAL_FALLBACK");
  if (form.group_size)
    rt_text_printf(t, " -DFLC_GROUP_SIZE=%" PRId64 " -DFLC_GROUP_STEPS=%d",
                   form.group_size, rt_doublings(form.group_size));
  if (form.group_size && ctx->device.sub_group > 1 &&
      form.group_size % ctx->device.sub_group == 0)
    rt_text_printf(t, " -DFLC_SUB_STEPS=%d%s", rt_doublings(ctx->device.sub_group),
                   ctx->device.sub_words);
  bool exact = ctx->config->exact_floats || ctx->program->exact_floats;
  if (!exact) rt_text_add(t, " -DFLC_CONTRACT");
  if ((exact || !k->for_gpu) && ctx->device.exact_division)
    rt_text_add(t, ctx->backend->exact_option);
  for (int i = 0; i < k->tuning_count; i++)
    rt_text_printf(t, " -DFLC_PARAM_%d=%" PRId64, k->tuning[i],
                   ctx->params[k->tuning[i]]);
  if (ctx->device.is_pocl && !k->for_gpu) rt_text_add(t, " -DFLC_MAY_REST");
  if (ctx->quick_builds) rt_text_add(t, " -cl-opt-disable");
  if (ctx->config->build_options.length) rt_text_add(t, ctx->config->build_options.data);
}

// ---- batches

// The kernels that are compiled in one program with this one, in order.  Why: a compiler reads its
// own headers and libraries for each program, which takes longer than a kernel does; PoCL makes
// code of those only that are launched.
struct rt_batch {
  const int *kernels;
  int count;
};

// `all`: whatever their batches.
RT_FN bool rt_builds_with(const struct rt_kernel *k, const struct rt_kernel *other,
                          bool all) {
  return (k->batch == other->batch || all) && k->for_gpu == other->for_gpu &&
         k->uses_f64 == other->uses_f64 && k->sized == other->sized &&
         k->tuning_count == 0 && other->tuning_count == 0;
}

// Kernels that differ in names alone have one text, and are compiled once.
RT_FN bool rt_is_same_code(const struct rt_context *ctx, int kernel, int other) {
  const struct rt_kernel *a = &ctx->program->kernels[kernel];
  const struct rt_kernel *b = &ctx->program->kernels[other];
  return kernel == other ||
         (ctx->own_sources && a->text == b->text && a->for_gpu == b->for_gpu &&
          a->uses_f64 == b->uses_f64 && a->tuning_count == 0 && b->tuning_count == 0);
}

RT_FN bool rt_batch_has(const struct rt_context *ctx, const struct rt_batch *batch,
                        int kernel) {
  for (int i = 0; i < batch->count; i++)
    if (rt_is_same_code(ctx, batch->kernels[i], kernel)) return true;
  return false;
}

// Tests launch most of a program in the end, but in further forms few kernels of it.  The caller
// frees the numbers.
RT_FN struct rt_batch rt_batch_of(const struct rt_context *ctx, int kernel,
                                  struct rt_form form) {
  const struct rt_kernel *all = ctx->program->kernels;
  int *numbers =
      (int *)rt_host_alloc((size_t)ctx->program->kernel_count * sizeof *numbers);
  struct rt_batch batch = { numbers, 0 };
  bool whole = ctx->quick_builds && ctx->kernels[kernel].form_count == 0;
  for (int k = 0; k < ctx->program->kernel_count; k++)
    if ((k == kernel || (!form.alone && !form.fallback &&
                         rt_builds_with(&all[kernel], &all[k], whole))) &&
        !rt_batch_has(ctx, &batch, k))
      numbers[batch.count++] = k;
  return batch;
}

RT_FN void rt_batch_free(struct rt_batch *batch) {
  free((void *)(uintptr_t)batch->kernels);
}

RT_FN void rt_add_kernel_text(const struct rt_context *ctx, int kernel,
                              struct rt_text *t) {
  if (ctx->kernels[kernel].text)
    rt_text_add(t, ctx->kernels[kernel].text);
  else
    rt_text_pieces(t, ctx->program->kernels[kernel].text);
}

// Prelude and texts: kernel number i of the batch is flc_kernel_<i>.  The caller frees them.
RT_FN char *rt_batch_source(const struct rt_context *ctx, const struct rt_batch *batch) {
  struct rt_text t = { NULL, 0, 0 };
  rt_text_add(&t, ctx->prelude);
  for (int i = 0; i < batch->count; i++) {
    rt_text_printf(&t, "\n#undef flc_kernel\n#define flc_kernel flc_kernel_%d\n", i);
    rt_add_kernel_text(ctx, batch->kernels[i], &t);
  }
  return rt_text_take(&t);
}

// Everything that the compiled program follows from, for the cache; the caller frees it.
RT_FN char *rt_program_about(const struct rt_context *ctx, bool near,
                             const struct rt_batch *batch, const char *options) {
  struct rt_text t = { NULL, 0, 0 };
  bool hashed = ctx->own_sources;
  for (int i = 0; i < batch->count; i++)
    hashed = hashed && ctx->program->kernels[batch->kernels[i]].hash;
  rt_text_printf(&t, "%s\n%s\n%s", options, ctx->device.identity, near ? "near\n" : "");
  for (int i = 0; hashed && i < batch->count; i++)
    rt_text_printf(&t, "sha256 %s\n", ctx->program->kernels[batch->kernels[i]].hash);
  if (hashed) return rt_text_take(&t);
  char *source = rt_batch_source(ctx, batch);
  rt_text_add(&t, source);
  free(source);
  return rt_text_take(&t);
}

// ---- from text or bytes to programs

// A text that does not compile is a mistake of the compiler: the log of the build is shown whole.
RT_FN int rt_build_failed(struct rt_context *ctx, int kernel, int status,
                          const char *log) {
  return rt_error(ctx, RT_OTHER_ERROR, "building kernel %s: %s (%s status %d)\n%s",
                  ctx->program->kernels[kernel].name, ctx->backend->status_text(status),
                  ctx->backend->title, status, log ? log : "");
}

RT_FN int rt_build_from_source(struct rt_context *ctx, const struct rt_batch *batch,
                               bool near, const char *options, struct rt_module **out) {
  char *source = rt_batch_source(ctx, batch), *log = NULL;
  int status = ctx->backend->compile(ctx, near, source, options, out, &log),
      error = RT_OK;
  // A text that compiles fails now and then where processes compile it at once, into one cache of
  // the driver (PoCL 3.1).  What is wrong with a text of the user's is said once.
  for (int again = 0; status && ctx->own_sources && again < 2; again++) {
    free(log);
    log = NULL;
    status = ctx->backend->compile(ctx, near, source, options, out, &log);
  }
  if (status) error = rt_build_failed(ctx, batch->kernels[0], status, log);
  free(log);
  free(source);
  return error;
}

// NULL if the device does not accept the bytes any more.
RT_FN struct rt_module *rt_build_from_binary(struct rt_context *ctx, bool near,
                                             const struct rt_binary *binary,
                                             const char *options) {
  return ctx->backend->load(ctx, near, binary->bytes, binary->length, options);
}

// The compiled bytes of a module; false if the device does not give them.
RT_FN bool rt_module_image(struct rt_context *ctx, struct rt_module *module,
                           const char *about, struct rt_binaries *out) {
  size_t length = 0;
  unsigned char *bytes = ctx->backend->image(ctx, module, &length);
  if (bytes) rt_binaries_add(out, about, bytes, length);
  free(bytes);
  return bytes != NULL;
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

RT_FN void rt_log_builds(struct rt_context *ctx, const struct rt_batch *batch,
                         struct rt_form form, const char *how) {
  for (int i = 0; i < batch->count; i++)
    rt_log(ctx, "build %s%s%s: %s", ctx->program->kernels[batch->kernels[i]].name,
           form.fallback ? " (fallback)" : "", form.near ? " (near)" : "", how);
}

// A program that was compiled before, and where it was: NULL if nowhere.
RT_FN const char *rt_find_program(struct rt_context *ctx, bool near, const char *about,
                                  const char *options, struct rt_binaries *binaries,
                                  struct rt_module **out) {
#ifdef RT_AHEAD
  if (!near) *out = rt_ahead_build(ctx, about, options);
  if (*out) return "compiled ahead";
#endif
  const struct rt_binary *cached = rt_cache_find(ctx, about, binaries);
  if (cached) *out = rt_build_from_binary(ctx, near, cached, options);
  return *out ? "cached" : NULL;
}

// Writes what was compiled into the cache: what it was made from, or what the driver gives.
RT_FN void rt_keep_program(struct rt_context *ctx, struct rt_module *module,
                           const char *about) {
  struct rt_binaries binaries = { NULL, 0 };
  if (ctx->image.data)
    rt_binaries_add(&binaries, about, ctx->image.data, ctx->image.length);
  if (ctx->image.data ||
      (rt_cache_wanted(ctx) && rt_module_image(ctx, module, about, &binaries)))
    rt_cache_store(ctx, &binaries.items[0]);
  rt_binaries_free(&binaries);
}

// The program as compiled with this one, from the cache, or compiled and put there.
RT_FN int rt_build_program(struct rt_context *ctx, const struct rt_batch *batch,
                           struct rt_form form, struct rt_module **out) {
  const struct rt_kernel *first = &ctx->program->kernels[batch->kernels[0]];
  struct rt_text options = { NULL, 0, 0 };
  struct rt_binaries binaries = { NULL, 0 };
  int error = RT_OK;
  *out = NULL;
  if (first->uses_f64 && !ctx->device.doubles)
    return rt_error(ctx, RT_OTHER_ERROR,
                    "kernel %s computes with f64, which the device does not have",
                    first->name);
#ifdef RT_WORKERS
  rt_transport_alone(ctx->config->workers, true);
  int lock = ctx->config->workers->size > 1 ? rt_cache_lock(ctx) : -1;
#endif
  rt_build_options(ctx, batch->kernels[0], form, &options);
  char *about = rt_program_about(ctx, form.near, batch, options.data);
  const char *how = rt_find_program(ctx, form.near, about, options.data, &binaries, out);
  rt_log_builds(ctx, batch, form, how ? how : "compiling");
  rt_binaries_free(&binaries);
  if (!*out) {
    rt_text_free(&ctx->image);
    rt_show_build(ctx);
#ifdef RT_HELPER
    int32_t *making = rt_helper_compiles(ctx, batch->kernels[0], form);
#endif
    error = rt_build_from_source(ctx, batch, form.near, options.data, out);
#ifdef RT_HELPER
    rt_helper_compiled(ctx, making);
#endif
    rt_show_status(ctx, "");
    if (!error) rt_keep_program(ctx, *out, about);
  }
  rt_text_free(&options);
  free(about);
#ifdef RT_WORKERS
  rt_cache_unlock(lock);
  rt_transport_alone(ctx->config->workers, false);
#endif
  return error;
}

// ---- kernels

RT_FN const struct rt_build *rt_find_build(const struct rt_built_kernel *k,
                                           struct rt_form form) {
  for (int i = 0; i < k->form_count; i++)
    if (k->forms[i].form.fallback == form.fallback &&
        k->forms[i].form.alone == form.alone && k->forms[i].form.narrow == form.narrow &&
        k->forms[i].form.near == form.near &&
        k->forms[i].form.group_size == form.group_size)
      return &k->forms[i];
  return NULL;
}

RT_FN void rt_keep_build(struct rt_built_kernel *k, struct rt_build build) {
  size_t bytes = (size_t)(k->form_count + 1) * sizeof *k->forms;
  k->forms = (struct rt_build *)rt_host_grow(k->forms, bytes);
  k->forms[k->form_count++] = build;
}

// Makes and keeps the kernel, which is number `place` of the module.
RT_FN int rt_take_kernel(struct rt_context *ctx, int kernel, int place,
                         struct rt_form form, struct rt_module *module) {
  const struct rt_backend *backend = ctx->backend;
  char name[32];
  struct rt_build build = { form, module, place, NULL, 0 };
  int status = backend->module_keep(module);
  if (status) return rt_check_status(ctx, status, "keeping a program");
  snprintf(name, sizeof name, "flc_kernel_%d", place);
  status = backend->function_new(ctx, module, name, &build.function);
  if (!status)
    status = backend->function_limit(ctx, form.near, build.function, &build.most_items);
  if (!status) {
    ctx->ready_kernels++;
    rt_keep_build(&ctx->kernels[kernel], build);
    return RT_OK;
  }
  if (build.function) backend->function_free(ctx, build.function);
  backend->module_drop(ctx, module);
  return rt_check_status(ctx, status, ctx->program->kernels[kernel].name);
}

// What a kernel of the same code was built as, if there is one, serves this one, too.
RT_FN int rt_share_build(struct rt_context *ctx, int kernel, struct rt_form form) {
  if (rt_find_build(&ctx->kernels[kernel], form)) return RT_OK;
  for (int k = 0; k < ctx->program->kernel_count; k++) {
    const struct rt_build *build = rt_find_build(&ctx->kernels[k], form);
    if (!build || !rt_is_same_code(ctx, kernel, k)) continue;
    rt_log(ctx, "build %s: as %s", ctx->program->kernels[kernel].name,
           ctx->program->kernels[k].name);
    return rt_take_kernel(ctx, kernel, build->place, form, build->module);
  }
  return RT_OK;
}

RT_FN int rt_build_batch(struct rt_context *ctx, int kernel, struct rt_form form) {
  int64_t start = rt_time_us();
  struct rt_batch batch = rt_batch_of(ctx, kernel, form);
  struct rt_module *module = NULL;
  int error = rt_build_program(ctx, &batch, form, &module);
  rt_timing_add(&ctx->kernels[kernel].builds, rt_time_us() - start);
  for (int i = 0; i < batch.count && !error; i++)
    if (!rt_find_build(&ctx->kernels[batch.kernels[i]], form))
      error = rt_take_kernel(ctx, batch.kernels[i], i, form, module);
  if (module) ctx->backend->module_drop(ctx, module);
  rt_batch_free(&batch);
  return error;
}

// The kernel, built with its batch if this is its first use in this form.
RT_FN int rt_kernel_get(struct rt_context *ctx, int kernel, struct rt_form form,
                        struct rt_build *out) {
  struct rt_built_kernel *k = &ctx->kernels[kernel];
  const struct rt_build *known = rt_find_build(k, form);
  if (known) *out = *known;
  if (known) return RT_OK;
  int error = rt_share_build(ctx, kernel, form);
  if (!error && !rt_find_build(k, form)) error = rt_build_batch(ctx, kernel, form);
  // A batch has one kernel of each code.
  if (!error) error = rt_share_build(ctx, kernel, form);
  known = error ? NULL : rt_find_build(k, form);
  if (known) *out = *known;
  return error;
}

// Forgets what was built: with new parameters it is built again.
RT_FN void rt_kernel_drop(struct rt_context *ctx, struct rt_built_kernel *k) {
  for (int i = 0; i < k->form_count; i++) {
    ctx->backend->function_free(ctx, k->forms[i].function);
    ctx->backend->module_drop(ctx, k->forms[i].module);
  }
  free(k->forms);
  k->forms = NULL;
  k->form_count = 0;
}
// End build.h
