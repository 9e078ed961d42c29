// Begin rehearsal.h: what a helper does (helper.h): it rehearses a call, then it compiles.
#ifdef RT_HELPER
// ---- the rehearsal

RT_FN bool rt_rehearses(const struct rt_context *ctx) {
  return ctx->helper && ctx->helper->rehearses;
}

// Elements that nobody has sent are not worth being copied; places that follow from what nobody has
// computed need not be there.
RT_FN bool rt_rehearses_without(const struct rt_context *ctx, const struct rt_mem *mem,
                                int64_t offset, int64_t bytes) {
  return rt_rehearses(ctx) &&
         (bytes > RT_HELPER_VALUES || !mem || offset < 0 || offset > mem->bytes - bytes);
}

RT_FN int rt_helper_note(struct rt_context *ctx, const struct rt_launching *l) {
  struct rt_helper *h = ctx->helper;
  const struct rt_kernel *k = &ctx->program->kernels[l->kernel];
  const struct rt_launch *launch = l->launch;
  if (h->launches++ == RT_HELPER_LAUNCHES)
    return rt_error(ctx, RT_OTHER_ERROR, "too many launches to rehearse");
  for (int i = 0; i < h->note_count; i++)
    if (rt_is_same_code(ctx, h->notes[i].kernel, l->kernel)) return RT_OK;
  h->notes = (struct rt_note *)rt_host_grow(h->notes, (size_t)(h->note_count + 1) *
                                                          sizeof *h->notes);
  struct rt_note *note = &h->notes[h->note_count++];
  memset(note, 0, sizeof *note);
  note->kernel = l->kernel;
  note->form.fallback = l->fallback;
  note->form.group_size = k->sized ? (int64_t)l->group_size : 0;
  note->group_size = l->group_size;
  note->items = l->groups * l->group_size;
  note->arg_count = launch->arg_count;
  note->arg_bytes =
      (size_t *)rt_host_alloc((size_t)launch->arg_count * sizeof *note->arg_bytes);
  for (int i = 0; i < launch->arg_count; i++)
    note->arg_bytes[i] = launch->args[i].bytes;
  note->scratch_count = launch->scratch_count;
  note->local_count = launch->local_count;
  return RT_OK;
}

RT_FN void rt_rehearse(struct rt_context *ctx) {
  const struct rt_sheet *sheet = ctx->helper->sheet;
  const struct rt_entry_point *entry = &ctx->program->entries[sheet->entry];
  const char *end = (const char *)sheet + ctx->helper->bytes,
             *at = end - sheet->about_bytes;
  struct rt_value out,
      *in = (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *in);
  memset(&out, 0, sizeof out);
  bool ok = rt_helper_take(&at, end, ctx->params,
                           (size_t)ctx->program->tuning_count * sizeof *ctx->params);
  for (int i = 0; i < entry->input_count && ok; i++)
    ok = rt_helper_get(ctx, &at, end, entry->inputs[i].type, &in[i]);
  ctx->helper->rehearses = true;
  if (ok) entry->call(ctx, &out, in);  // as far as it comes
  ctx->helper->rehearses = false;
  free(in);
}

// Programs are those that the first process compiles, in the order of launches: a kernel of the
// same code as one of an earlier program is not compiled with its own batch.
RT_FN void rt_helper_find_owners(struct rt_context *ctx) {
  struct rt_note *notes = ctx->helper->notes;
  for (int i = 0; i < ctx->helper->note_count; i++) {
    notes[i].owner = notes[i].kernel;
    for (int j = 0; j < i && notes[i].owner == notes[i].kernel; j++) {
      if (notes[j].owner != notes[j].kernel) continue;
      struct rt_batch batch = rt_batch_of(ctx, notes[j].kernel, notes[j].form);
      if (rt_batch_has(ctx, &batch, notes[i].kernel)) notes[i].owner = notes[j].kernel;
      rt_batch_free(&batch);
    }
  }
}

// ---- compiling

// A launch of two groups in the second dimension, in which kernels do nothing (prelude.cl): only
// the driver does, which has machine code of its own for grids of less than 65536 items.
RT_FN bool rt_helper_make_code(struct rt_context *ctx, const struct rt_note *note,
                               struct rt_function *function, const struct rt_mem *block) {
  static const char zeros[sizeof(struct rt_value)] = { 0 };
  const struct rt_kernel *k = &ctx->program->kernels[note->kernel];
  size_t items = note->items < 65536 ? note->items : 65536, sizes[] = { items, 2 },
         group[] = { note->group_size, 1 };
  int next = 0, blocks = note->scratch_count, status = 0;
  const void *buffer = &block->buffer;
  for (int i = 0; i < note->arg_count; i++)
    status |= ctx->backend->set_arg(
        function, next++, note->arg_bytes[i] ? note->arg_bytes[i] : sizeof(void *),
        note->arg_bytes[i] ? (const void *)zeros : buffer);
  while (blocks-- > 0)
    status |= ctx->backend->set_arg(function, next++, sizeof(void *), buffer);
  for (int i = 0; i < note->local_count; i++) {
    status |= ctx->backend->set_arg(function, next++, 64, NULL);
    status |= ctx->backend->set_arg(function, next++, sizeof(int64_t), zeros);
  }
  if (k->may_fail)
    status |= ctx->backend->set_arg(function, next++, sizeof(void *), buffer);
  if (k->uses_arena) {
    status |= ctx->backend->set_arg(function, next++, sizeof(void *), buffer);
    status |= ctx->backend->set_arg(function, next++, sizeof(int64_t), zeros);
    status |= ctx->backend->set_arg(function, next++, sizeof(void *), buffer);
  }
  ctx->busy = true;
  return !status &&
         clEnqueueNDRangeKernel((cl_command_queue)ctx->queue, (cl_kernel)function, 2,
                                NULL, sizes, group, 0, NULL, NULL) == CL_SUCCESS &&
         ctx->backend->finish(ctx) == 0;
}

// False if the first process is at its program, so that it is to be tried later.
RT_FN bool rt_helper_make(struct rt_context *ctx, struct rt_note *note,
                          const struct rt_mem *block) {
  const struct rt_kernel *k = &ctx->program->kernels[note->kernel];
  int32_t *code = rt_making_code(ctx, note->kernel);
  struct rt_build build;
  note->over = true;
  if (rt_making_now(code) != RT_NOT_MADE || note->form.fallback || note->form.group_size)
    return true;
  struct rt_batch batch = rt_batch_of(ctx, note->owner, note->form);
  int32_t *program = rt_making_program(ctx, batch.kernels[0]);
  rt_batch_free(&batch);
  if (!rt_find_build(&ctx->kernels[note->owner], note->form) &&
      !rt_making_begin(program, RT_HELPER_MAKES) && rt_making_now(program) != RT_MADE)
    return note->over = false;
  int error = rt_kernel_get(ctx, note->owner, note->form, &build);
  if (!error) error = rt_kernel_get(ctx, note->kernel, note->form, &build);
  rt_making_is(program, RT_MADE);
  if (error || !k->may_rest || !rt_making_begin(code, RT_HELPER_MAKES)) return true;
  rt_helper_make_code(ctx, note, build.function, block);
  rt_making_is(code, RT_MADE);
  return true;
}

// From the last to the first; a launch whose program the first process is at waits.
RT_FN void rt_helper_make_all(struct rt_context *ctx) {
  struct rt_helper *h = ctx->helper;
  struct rt_mem *block = NULL;
  if (rt_mem_alloc(ctx, &block, 64) != RT_OK) return;
  for (bool waits = true; waits;) {
    waits = false;
    for (int i = h->note_count - 1; i >= 0; i--)
      if (!h->notes[i].over && !rt_helper_make(ctx, &h->notes[i], block)) waits = true;
    if (waits) rt_nap();
  }
}

// The helper ends with the first process, or where a rehearsal does not end, as it may be in a loop
// over values that nobody has computed.
RT_FN void *rt_helper_live(void *helper) {
  const struct rt_helper *h = (const struct rt_helper *)helper;
  struct pollfd life = { RT_HELPER_LIFE, POLLIN, 0 };
  int status = 0;
  do
    status = poll(&life, 1, RT_HELPER_REHEARSES_MS);
  while ((status < 0 && errno == EINTR) ||
         (status == 0 && !__atomic_load_n(&h->rehearses, __ATOMIC_ACQUIRE)));
  _exit(0);
  return helper;
}

RT_FN bool rt_sheet_open(struct rt_helper *h) {
  struct stat status;
  if (fstat(RT_HELPER_SHEET, &status) != 0 || status.st_size < (off_t)sizeof *h->sheet)
    return false;
  h->bytes = (size_t)status.st_size;
  void *at = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, RT_HELPER_SHEET, 0);
  if (at == MAP_FAILED) return false;
  h->sheet = (struct rt_sheet *)at;
  return h->sheet->kernel_count == rt_program()->kernel_count;
}

// The whole of the helper, with the command line of the first process; returns if there is none.
RT_FN void rt_helper_main(struct rt_config *cfg) {
  struct rt_helper h;
  pthread_t life;
  const struct rlimit none = { 0, 0 };
  setrlimit(RLIMIT_CORE, &none);  // nobody is to see it if it crashes
  memset(&h, 0, sizeof h);
  h.second = true;
  if (!rt_sheet_open(&h) || pthread_create(&life, NULL, rt_helper_live, &h) != 0) return;
  cfg->words = NULL;
  cfg->logging = cfg->profiling = cfg->at_terminal = false;
  cfg->status_file = 0;
  rt_set_string(&cfg->dump_program_to, NULL);
  rt_set_string(&cfg->dump_binary_to, NULL);
  struct rt_context *ctx = RT_NAME(context_new)(cfg);
  ctx->helper = &h;
  if (!ctx->broken) rt_rehearse(ctx);
  rt_helper_find_owners(ctx);
  if (!ctx->broken) rt_helper_make_all(ctx);
  __atomic_store_n(&h.sheet->over, 1, __ATOMIC_RELEASE);
  _exit(0);
}
#endif
// End rehearsal.h
