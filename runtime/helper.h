// Begin helper.h: a second process that compiles kernels while this one does.
//
// PoCL compiles one kernel at a time in a process, and keeps what it made in files.  So where a
// program takes long to compile, as nobody has compiled it before, the executable starts itself
// once more.  That helper rehearses the call at hand: with inputs of the same sizes (and values,
// if they are few) it runs the host code, but notes launches instead of making them.  Then it
// compiles what it has noted, from the last launch to the first, until it meets the first
// process, which compiles from the first to the last as ever and finds the rest in PoCL's cache.
//
// Who makes what is written on a sheet of memory that both see.  The first process waits only for
// what the helper has begun, while that lives; all else it does itself.  So nothing depends on the
// helper: what it knows wrongly, or does not do, takes time.
#ifdef RT_HELPER
enum {
  RT_HELPER_AFTER_MS = 50,     // what was compiled before is there sooner
  RT_HELPER_PATIENCE = 10,     // seconds for a kernel of the helper's
  RT_HELPER_SHEET = 3,         // descriptors of the helper
  RT_HELPER_LIFE = 4,          // a pipe that ends when the first process does
  RT_HELPER_VALUES = 1 << 16,  // arrays of more bytes are sent without their elements
  RT_HELPER_REHEARSES_MS = 5000,
  RT_HELPER_LAUNCHES = 20000  // of a rehearsal
};

enum rt_making { RT_NOT_MADE, RT_FIRST_MAKES, RT_HELPER_MAKES, RT_MADE };

// The states of programs (by their first kernel), then of the machine code of kernels, then
// `about_bytes` of the call.
struct rt_sheet {
  int32_t kernel_count, entry, about_bytes, over;
};

// A launch of the rehearsal, the first one of its kernel.
struct rt_note {
  int kernel;
  struct rt_form form;
  size_t items, group_size;
  size_t *arg_bytes;  // 0: an array
  int arg_count, scratch_count, local_count;
  int owner;  // the kernel that is launched first of its program
  bool over;
};

struct rt_helper {
  bool second, rehearses;
  struct rt_sheet *sheet;
  size_t bytes;
  int sheet_fd, life_fd;
  pid_t pid;  // 0: there is none (yet, or any more)
  bool asked, watching;
  pthread_t watch;
  pthread_mutex_t lock;
  pthread_cond_t done;
  bool is_done;
  char *const *words;
  struct rt_note *notes;
  int note_count, launches;
};

// ---- what is being made

RT_FN int32_t *rt_making_program(const struct rt_context *ctx, int kernel) {
  return (int32_t *)(ctx->helper->sheet + 1) + kernel;
}

// Kernels of one code have one state.
RT_FN int32_t *rt_making_code(const struct rt_context *ctx, int kernel) {
  int first = 0;
  while (!rt_is_same_code(ctx, first, kernel))
    first++;
  return rt_making_program(ctx, ctx->program->kernel_count + first);
}

RT_FN int32_t rt_making_now(const int32_t *state) {
  return __atomic_load_n(state, __ATOMIC_ACQUIRE);
}

RT_FN void rt_making_is(int32_t *state, int32_t now) {
  __atomic_store_n(state, now, __ATOMIC_RELEASE);
}

RT_FN bool rt_making_begin(int32_t *state, int32_t maker) {
  int32_t free = RT_NOT_MADE;
  return __atomic_compare_exchange_n(state, &free, maker, false, __ATOMIC_ACQ_REL,
                                     __ATOMIC_ACQUIRE);
}

RT_FN void rt_nap(void) {
  static const struct timespec ms = { 0, 1000000 };
  nanosleep(&ms, NULL);
}

RT_FN bool rt_helper_is_gone(struct rt_helper *h) {
  if (h->pid > 0 && waitpid(h->pid, NULL, WNOHANG) != 0) {
    h->pid = 0;
    close(h->life_fd);
  }
  return h->pid <= 0 || __atomic_load_n(&h->sheet->over, __ATOMIC_ACQUIRE);
}

// True if the first process is to make it and say so afterwards; else it is there, or the helper
// has gone, or takes too long.
RT_FN bool rt_helper_claim(struct rt_helper *h, int32_t *state) {
  int64_t until = rt_time_us() + INT64_C(1000000) * RT_HELPER_PATIENCE;
  if (rt_making_begin(state, RT_FIRST_MAKES)) return true;
  while (rt_making_now(state) == RT_HELPER_MAKES && !rt_helper_is_gone(h) &&
         rt_time_us() < until)
    rt_nap();
  return false;
}

// ---- the call, on the sheet

RT_FN bool rt_helper_put(struct rt_context *ctx, struct rt_text *t, int type,
                         const struct rt_value *value) {
  const struct rt_type *is = &ctx->program->types[type];
  if (is->kind == RT_SCALAR) {
    rt_text_bytes(t, value, sizeof *value);
    return true;
  }
  if (is->kind == RT_OPAQUE) {
    bool ok = value->u.opaque != NULL;
    for (int i = 0; i < is->leaf_count && ok; i++)
      ok = rt_helper_put(ctx, t, is->leaves[i], &value->u.opaque->leaves[i]);
    return ok;
  }
  const struct rt_array *array = value->u.array;
  if (!array || array->owner != ctx || !array->mem) return false;
  rt_text_bytes(t, array->shape, (size_t)array->rank * sizeof *array->shape);
  int64_t bytes = rt_array_bytes(array);
  if (bytes == 0 || bytes > RT_HELPER_VALUES) return true;
  char *values = (char *)rt_host_alloc((size_t)bytes);
  bool ok = rt_array_values(ctx, array, values) == RT_OK;
  if (ok) rt_text_bytes(t, values, (size_t)bytes);
  free(values);
  return ok;
}

// The next bytes of the sheet; false if it has too few.
RT_FN bool rt_helper_take(const char **at, const char *end, void *out, size_t bytes) {
  if ((size_t)(end - *at) < bytes) return false;
  memcpy(out, *at, bytes);
  *at += bytes;
  return true;
}

RT_FN bool rt_helper_array(struct rt_context *ctx, const char **at, const char *end,
                           const struct rt_type *is, struct rt_array **out) {
  int64_t shape[RT_MAX_RANK] = { 0 };
  if (!rt_helper_take(at, end, shape, (size_t)is->rank * sizeof *shape)) return false;
  if (rt_array_new(ctx, out, is->elem, is->rank, shape)) return false;
  int64_t bytes = rt_array_bytes(*out);
  if (bytes == 0 || bytes > RT_HELPER_VALUES) return true;
  char *values = (char *)rt_host_alloc((size_t)bytes);
  bool ok = rt_helper_take(at, end, values, (size_t)bytes) &&
            rt_write(ctx, (*out)->mem, 0, bytes, values) == RT_OK;
  free(values);
  return ok;
}

RT_FN bool rt_helper_get(struct rt_context *ctx, const char **at, const char *end,
                         int type, struct rt_value *out) {
  const struct rt_type *is = &ctx->program->types[type];
  if (is->kind == RT_SCALAR) return rt_helper_take(at, end, out, sizeof *out);
  if (is->kind == RT_ARRAY) return rt_helper_array(ctx, at, end, is, &out->u.array);
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)is->leaf_count * sizeof *leaves);
  bool ok = true;
  for (int i = 0; i < is->leaf_count && ok; i++)
    ok = rt_helper_get(ctx, at, end, is->leaves[i], &leaves[i]);
  ok = ok && rt_opaque_new(ctx, &out->u.opaque, type, leaves) == RT_OK;
  free(leaves);
  return ok;
}

// ---- the first process

RT_FN bool rt_may_be_helped(const struct rt_context *ctx) {
  const struct rt_config *cfg = ctx->config;
  cpu_set_t cores;
  CPU_ZERO(&cores);
  return cfg->words && cfg->at_end && !cfg->one_process && !ctx->helper &&
         ctx->device.is_pocl && ctx->device.keeps_programs && !ctx->gpu_code &&
         ctx->device.compute_units > 1 && ctx->own_sources && !ctx->quick_builds &&
         !ctx->uses_ahead && !ctx->trace && !ctx->loaded.count && !ctx->archive.count &&
         !rt_cache_wanted(ctx) && sched_getaffinity(0, sizeof cores, &cores) == 0 &&
         CPU_COUNT(&cores) > 1;
}

// A sheet with the parameters, then what `about` says; false if there is no memory for it.
RT_FN bool rt_sheet_new(const struct rt_context *ctx, struct rt_helper *h, int entry,
                        const struct rt_text *about) {
  size_t states = 2 * (size_t)ctx->program->kernel_count * sizeof(int32_t);
  h->bytes = sizeof *h->sheet + states + about->length;
  h->sheet_fd = memfd_create("flc-helper", MFD_CLOEXEC);
  if (h->sheet_fd < 0) return false;
  void *at = MAP_FAILED;
  if (ftruncate(h->sheet_fd, (off_t)h->bytes) == 0)
    at = mmap(NULL, h->bytes, PROT_READ | PROT_WRITE, MAP_SHARED, h->sheet_fd, 0);
  if (at == MAP_FAILED) {
    close(h->sheet_fd);
    return false;
  }
  h->sheet = (struct rt_sheet *)at;
  h->sheet->kernel_count = ctx->program->kernel_count;
  h->sheet->entry = entry;
  h->sheet->about_bytes = (int32_t)about->length;
  if (about->length)
    memcpy((char *)at + h->bytes - about->length, about->data, about->length);
  return true;
}

// Before a call of an executable: from now on a helper may be of use.
RT_FN void rt_helper_prepare(struct rt_context *ctx, const struct rt_entry_point *entry,
                             const struct rt_value *in) {
  if (ctx->helper && ctx->helper->pid > 0) rt_helper_is_gone(ctx->helper);
  if (!rt_may_be_helped(ctx)) return;
  struct rt_text about = { NULL, 0, 0 };
  struct rt_helper *h = (struct rt_helper *)rt_host_alloc(sizeof *h);
  rt_text_bytes(&about, ctx->params,
                (size_t)ctx->program->tuning_count * sizeof *ctx->params);
  bool ok = true;
  for (int i = 0; i < entry->input_count && ok; i++)
    ok = rt_helper_put(ctx, &about, entry->inputs[i].type, &in[i]);
  ok = ok && about.length <= INT32_MAX &&
       rt_sheet_new(ctx, h, (int)(entry - ctx->program->entries), &about);
  rt_text_free(&about);
  if (!ok) {
    free(h);
    return;
  }
  h->words = ctx->config->words;
  pthread_mutex_init(&h->lock, NULL);
  pthread_cond_init(&h->done, NULL);
  ctx->helper = h;
}

// Descriptors that are not among those which the helper gets.
RT_FN int rt_moved_up(int fd) {
  int up = fd < 0 ? -1 : fcntl(fd, F_DUPFD_CLOEXEC, RT_HELPER_LIFE + 1);
  if (fd >= 0) close(fd);
  return up;
}

RT_FN void rt_helper_spawn(struct rt_helper *h, int sheet, int life) {
  posix_spawn_file_actions_t actions;
  if (posix_spawn_file_actions_init(&actions) != 0) return;
  int count = 0, error = 0;
  while (h->words[count])
    count++;
  char **words = (char **)rt_host_alloc((size_t)(count + 2) * sizeof *words);
  words[0] = h->words[0];
  words[1] = rt_strdup(RT_HELPER_WORD);
  memcpy(words + 2, h->words + 1, (size_t)count * sizeof *words);
  for (int fd = 0; fd <= 2; fd++)
    error |= posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  error |= posix_spawn_file_actions_adddup2(&actions, sheet, RT_HELPER_SHEET);
  error |= posix_spawn_file_actions_adddup2(&actions, life, RT_HELPER_LIFE);
  if (error || posix_spawn(&h->pid, "/proc/self/exe", &actions, NULL, words, environ))
    h->pid = 0;
  posix_spawn_file_actions_destroy(&actions);
  free(words[1]);
  free(words);
}

RT_FN void rt_helper_start(struct rt_helper *h) {
  int life[2] = { -1, -1 },
      sheet = fcntl(h->sheet_fd, F_DUPFD_CLOEXEC, RT_HELPER_LIFE + 1);
  if (pipe2(life, O_CLOEXEC) == 0) {
    int theirs = rt_moved_up(life[0]);
    h->life_fd = life[1];
    if (sheet >= 0 && theirs >= 0) rt_helper_spawn(h, sheet, theirs);
    if (theirs >= 0) close(theirs);
    if (h->pid == 0) close(h->life_fd);
  }
  if (sheet >= 0) close(sheet);
}

// Starts the helper unless what is compiled is there soon.
RT_FN void *rt_helper_watch(void *helper) {
  struct rt_helper *h = (struct rt_helper *)helper;
  struct timespec until;
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_nsec += RT_HELPER_AFTER_MS * 1000000;
  until.tv_sec += until.tv_nsec / 1000000000;
  until.tv_nsec %= 1000000000;
  pthread_mutex_lock(&h->lock);
  int status = 0;
  while (!h->is_done && status == 0)
    status = pthread_cond_timedwait(&h->done, &h->lock, &until);
  h->asked = !h->is_done;
  pthread_mutex_unlock(&h->lock);
  if (h->asked) rt_helper_start(h);
  return NULL;
}

// Around what compiles a program: the state to end, or NULL.
RT_FN int32_t *rt_helper_compiles(struct rt_context *ctx, int kernel,
                                  struct rt_form form) {
  struct rt_helper *h = ctx->helper;
  bool plain = !form.fallback && !form.alone && !form.group_size && !form.near;
  if (!h || !plain) return NULL;
  int32_t *state = rt_making_program(ctx, kernel);
  if (h->second) return state;
  if (!rt_helper_claim(h, state)) state = NULL;
  h->is_done = false;
  if (!h->asked && state)
    h->watching = pthread_create(&h->watch, NULL, rt_helper_watch, h) == 0;
  return state;
}

RT_FN void rt_helper_compiled(struct rt_context *ctx, int32_t *state) {
  struct rt_helper *h = ctx->helper;
  if (!state) return;
  rt_making_is(state, RT_MADE);
  if (!h->watching) return;
  pthread_mutex_lock(&h->lock);
  h->is_done = true;
  pthread_cond_signal(&h->done);
  pthread_mutex_unlock(&h->lock);
  pthread_join(h->watch, NULL);
  h->watching = false;
  if (h->pid) rt_log(ctx, "a second process helps to compile");
}

// Around the first launch of a kernel, in which its machine code is made: the state to end.
RT_FN int32_t *rt_helper_launches(struct rt_context *ctx, int kernel, bool near) {
  struct rt_helper *h = ctx->helper;
  if (!h || h->second || !h->pid || near || ctx->kernels[kernel].runs.count) return NULL;
  int32_t *state = rt_making_code(ctx, kernel);
  return rt_helper_claim(h, state) ? state : NULL;
}

// What is behind it in the queue is not begun before it is done: it may be the helper's until then.
RT_FN void rt_helper_launched(struct rt_context *ctx, int32_t *state) {
  if (!state) return;
  rt_wait(ctx);
  rt_making_is(state, RT_MADE);
}

RT_FN void rt_helper_free(struct rt_context *ctx) {
  struct rt_helper *h = ctx->helper;
  if (!h) return;
  if (h->pid > 0) {
    kill(h->pid, SIGKILL);
    while (waitpid(h->pid, NULL, 0) < 0 && errno == EINTR)
      ;
    close(h->life_fd);
  }
  munmap(h->sheet, h->bytes);
  close(h->sheet_fd);
  pthread_mutex_destroy(&h->lock);
  pthread_cond_destroy(&h->done);
  free(h);
  ctx->helper = NULL;
}
#endif
// End helper.h
