// Begin context.h: configurations, contexts, errors, the log.

// Objects of the device, which only its backend (device.h) looks into.
struct rt_buffer;
struct rt_module;
struct rt_function;
struct rt_event;
struct rt_backend;
struct rt_cuda;

// A number given by name before the context exists.
struct rt_setting {
  char *name;
  int64_t value;
  int code;  // 0: of the code for CPUs alone, 1: for GPUs, -1: of both
};

struct rt_config {
  bool debugging, profiling, logging;
  bool
      exact_floats;  // + - * / and roots of f32 are rounded once each, products in sums as well
  bool at_terminal;  // show there what takes time
  bool at_end;       // the process ends with the context: the system frees the rest
  bool near;         // launches of little work may run in the thread that asks (opencl.h)
  int near_after;    // once the kernel was launched so often elsewhere
  char **words;      // the command line of an executable; or NULL
  bool one_process;  // nobody helps to compile (helper.h)
  int status_file;   // 0, or a file that flc watches for that (cli.h)
  char *device, *platform;
  const struct rt_backend *backend;  // NULL: the first that has a device
  int code;                          // -1: by the device; 0: cpu, 1: gpu
  void *queue;                       // of the user: a cl_command_queue or a CUstream
  struct rt_text build_options;
  char *cache_file;  // NULL: the user's cache folder; "": no cache
  char *program, *dump_program_to, *load_program_from, *dump_binary_to, *load_binary_from;
  struct rt_setting *settings;
  int setting_count;
  char *path;    // forced versions
  char *limits;  // of the device (pretend.h); or NULL
#ifdef RT_WORKERS
  struct rt_workers *workers;
#endif
#ifdef RT_THREADS
  int part, parts;    // of the device's compute units: part number `part` of so many
  bool shares_units;  // all of them, if there are fewer than parts
#endif
};

// What the blocks and the pool use, in bytes; peak: the most that both together did.
struct rt_memory_use {
  int64_t live, pooled, peak;
};

// A buffer that nobody uses.
struct rt_free_block {
  struct rt_buffer *buffer;
  int64_t bytes;
};

// Count and time of kernels and builds.
struct rt_timing {
  int64_t count;
  int64_t total_us, min_us, max_us;
};

// How a kernel is compiled.
struct rt_form {
  bool fallback;       // local arrays in global memory
  int64_t group_size;  // 0: any; else a constant of the text
  bool alone;          // not with its batch: groups of that size need code of their own
  bool narrow;         // for numbers below 2^31 (FLC_NARROW)
  bool near;           // for the device near by
};

// A kernel compiled in one form.
struct rt_build {
  struct rt_form form;
  struct rt_module *module;
  int place;  // in the module
  struct rt_function *function;
  int64_t most_items;  // in a group of it
};

// A kernel once it was launched.
struct rt_built_kernel {
  struct rt_build *forms;
  int form_count;
  struct rt_timing runs, builds;
  int64_t arena_bytes;  // that were enough for the last launch; 0: none yet
  char *text;           // a text loaded in place of the program's own; NULL: none
  int64_t text_length;  // characters; 0: not counted yet
  int64_t near_runs;    // on the device near by
  double near_ns[2];  // of its last runs there, the last one first, for each byte at hand
};

// A launch whose time is not known yet.
struct rt_pending_event {
  int kernel;
  struct rt_event *event;
};

// One evaluation of a guard.
struct rt_guard_event {
  int guard;
  int64_t par, threshold, local_bytes;
  int64_t at_ns;  // since the call began, all work before it done; 0 without profiling
  bool taken;
};

// A compiled program in memory (cache.h).
struct rt_binary {
  char *about;  // everything that it follows from
  unsigned char *bytes;
  size_t length;
};

struct rt_binaries {
  struct rt_binary *items;
  int count;
};

struct rt_device {
  cl_platform_id platform;  // of OpenCL
  cl_device_id id;
  char *name, *driver, *platform_version;
  char *identity;  // identity: everything that makes binaries incompatible
  bool is_pocl;
  bool keeps_programs;  // the driver has a cache
  bool is_gpu;
  bool shares_memory;  // with the host: no command is needed to read and write
  int64_t compute_units, max_group_size, local_bytes, global_bytes, max_block_bytes;
  bool exact_division, doubles;
  bool halves;          // computes in f16, as IEEE says
  bool gathers;         // faster than it loads one by one
  bool permutes_bytes;  // 64 by one instruction, which its compiler may not know of
  bool counts_bits;     // likewise, of all lanes
  int64_t atomic_bytes;
  int64_t sub_group;  // items of a sub-group that kernels may use; 1: none
  const char
      *sub_words;  // options of a build: by what functions these items ask each other
};

// A second device that runs kernels in the thread that asks, at once.
struct rt_near {
  cl_device_id id;
  cl_command_queue queue;  // NULL: there is none
};

// Parameters and decisions of the code (for CPUs, for GPUs) that is not the one to run.
struct rt_other_code {
  int64_t *params;  // NULL: nobody has asked for that code
  struct rt_tree_node *trees;
  signed char *forced;
  int64_t default_group_size;
};

struct rt_context {
  const struct rt_config *config;
  const struct rt_program *program;
  struct rt_device device;
  const struct rt_backend *backend;
  cl_context cl;         // of OpenCL
  struct rt_cuda *cuda;  // NULL: of OpenCL
  void *queue;           // a cl_command_queue or a CUstream
  struct rt_near near;
  bool busy;       // what was put into the queue may not be done yet
  bool goes_near;  // launches of little work, and the queue is ours alone
  bool gpu_code, broken, profiling, logging, debugging;
  bool quick_builds;  // kernels are not optimised, and compiled all together: for tests
  FILE *log;
  char *error;
  bool error_has_place;  // it says where in the source, and "error:"
  char *prelude;         // what stands before each kernel's text
  bool own_sources;      // prelude and texts are the program's
  bool uses_ahead;       // what was compiled ahead was for this device
  int ready_kernels;
  struct rt_buffer *error_word;
  bool may_have_failed;  // a kernel with checks was launched since the last look
  struct rt_free_block *free_blocks;
  int free_count, free_capacity;
  struct rt_memory_use memory;
  struct rt_mem **tables;  // per rt_constants of the program; NULL: not needed yet
  struct rt_built_kernel *kernels;
  struct rt_pending_event *pending;
  int pending_count, pending_capacity;
  int64_t *params;
  struct rt_tree_node *trees;   // per guard RT_TREE_NODES
  int64_t sizes[RT_MAX_SIZES];  // of the call at hand
  uint64_t known_sizes;         // bit k: sizes[k] belongs to it
  int64_t default_group_size;
  signed char *forced;  // per guard: 0, 'T' or 'F'
  struct rt_other_code other;
  struct rt_guard_event *events;
  int event_count, event_capacity;
  int64_t call_started;                // rt_time_ns; set when profiling
  char *cache_folder, *cache_archive;  // at most one is not NULL
  bool cache_changed, cache_failed;    // something was written; could not be written
  bool driver_caches;                  // ours keeps only what `image` says of programs
  struct rt_text image;  // what the program built last was made from, if it is at hand
  struct rt_binaries archive, loaded;
  int64_t *kernel_ns;  // per kernel, while each launch is timed by itself; or NULL
  struct rt_replayer *replayer;  // NULL: nobody has asked for replay
  struct rt_trace *trace;        // NULL: nobody has asked for a trace
  struct rt_helper *helper;      // NULL: nobody helps to compile
  pthread_mutex_t lock;          // rt_enter
};

// Around what callers of a library may do from several threads at once.  The functions of the
// runtime do not call those: the lock is taken once.
RT_FN struct rt_context *rt_enter(struct rt_context *ctx) {
  pthread_mutex_lock(&ctx->lock);
  return ctx;
}

// With the error of what was done.
RT_FN int rt_leave(struct rt_context *ctx, int error) {
  pthread_mutex_unlock(&ctx->lock);
  return error;
}

// A command for the device, from before it is handed over until after.
struct rt_task {
  int64_t began;
  struct rt_event *event;  // NULL: nobody wants its times
};

enum { RT_ERROR_WORD_BYTES = 8 + 8 * RT_MAX_CHECK_VALUES, RT_MAX_EVENTS = 1 << 16 };

// ---- commands

// `event` of what begins goes to where the backend puts one, if it is traced.
RT_FN struct rt_task rt_task_begin(const struct rt_context *ctx) {
  struct rt_task task = { 0, NULL };
  if (ctx->trace) task.began = rt_time_ns();
  return task;
}

RT_FN struct rt_event **rt_task_event(const struct rt_context *ctx,
                                      struct rt_task *task) {
  return ctx->trace ? &task->event : NULL;
}

RT_FN void rt_task_end(struct rt_context *ctx, const struct rt_task *task,
                       enum rt_task_kind kind, int kernel, int64_t bytes) {
#ifndef RT_LIBRARY
  if (task->event) rt_trace_task(ctx, task, kind, kernel, bytes);
#else
  (void)ctx, (void)task, (void)kind, (void)kernel, (void)bytes;
#endif
}

// Is there a place for what was compiled, which the driver does not keep?
RT_FN bool rt_cache_wanted(const struct rt_context *ctx) {
  return (ctx->cache_folder || ctx->cache_archive) && !ctx->cache_failed &&
         !ctx->driver_caches;
}

// ---- errors and the log

RT_FN int rt_error(struct rt_context *ctx, int code, const char *format, ...) {
  struct rt_text t = { NULL, 0, 0 };
  va_list args;
  va_start(args, format);
  rt_text_vprintf(&t, format, args);
  va_end(args);
  free(ctx->error);
  ctx->error = rt_text_take(&t);
  ctx->error_has_place = false;
  return code;
}

RT_FN void rt_log(struct rt_context *ctx, const char *format, ...) RT_TEXT(2);
RT_FN void rt_log(struct rt_context *ctx, const char *format, ...) {
  if (!ctx->logging) return;
  va_list args;
  va_start(args, format);
#ifdef RT_WORKERS
  flockfile(ctx->log);
  if (ctx->config->workers->size > 1)
    fprintf(ctx->log, "[%d] ", ctx->config->workers->rank);
#endif
  vfprintf(ctx->log, format, args);
  va_end(args);
  fputc('\n', ctx->log);
#ifdef RT_WORKERS
  funlockfile(ctx->log);
#endif
}

// The text of a failed check, as the compiler's messages are: its place, its parts with
// the values between them, and the line of the source.
RT_FN int rt_fail(struct rt_context *ctx, int check, const int64_t *values) {
  const struct rt_check *c = &ctx->program->checks[check];
  struct rt_text t = { NULL, 0, 0 };
  if (*c->loc) rt_text_printf(&t, "%s: error: ", c->loc);
  for (int i = 0; i <= c->value_count; i++) {
    rt_text_add(&t, c->parts[i]);
    if (i < c->value_count) rt_text_printf(&t, "%" PRId64, values[i]);
  }
  size_t length =
      strlen(c->source);  // without its last newline: the text is a part of a line
  if (length) rt_text_printf(&t, "\n%.*s", (int)length - 1, c->source);
  free(ctx->error);
  ctx->error = rt_text_take(&t);
  ctx->error_has_place = *c->loc != '\0';
  return RT_PROGRAM_ERROR;
}

RT_FN void rt_error_place(struct rt_context *ctx, int check) {
  const struct rt_check *c = &ctx->program->checks[check];
  size_t length = strlen(c->source);  // without its last newline, as in rt_fail
  if (!*c->loc || ctx->error_has_place) return;
  struct rt_text t = { NULL, 0, 0 };
  rt_text_printf(&t, "%s: error: %s", c->loc, ctx->error);
  if (length) rt_text_printf(&t, "\n%.*s", (int)length - 1, c->source);
  free(ctx->error);
  ctx->error = rt_text_take(&t);
  ctx->error_has_place = true;
}

char *RT_NAME(context_get_error)(struct rt_context *ctx) {
  char *error = rt_enter(ctx)->error;
  ctx->error = NULL;
  rt_leave(ctx, RT_OK);
  return error;
}

RT_FN bool rt_is_gpu(const struct rt_context *ctx) { return ctx->gpu_code; }

void RT_NAME(context_set_logging_file)(struct rt_context *ctx, FILE *file) {
  rt_enter(ctx)->log = file;
  rt_leave(ctx, RT_OK);
}

// ---- configuration

struct rt_config *RT_NAME(context_config_new)(void) {
  struct rt_config *cfg = (struct rt_config *)rt_host_alloc(sizeof *cfg);
  cfg->code = -1;
#if defined(RT_WORKERS) && defined(RT_LIBRARY)
  cfg->workers = rt_workers_one();
#endif
  return cfg;
}

void RT_NAME(context_config_free)(struct rt_config *cfg) {
  if (!cfg) return;
#if defined(RT_WORKERS) && defined(RT_LIBRARY)
  rt_workers_free(cfg->workers);
#endif
  for (int i = 0; i < cfg->setting_count; i++)
    free(cfg->settings[i].name);
  free(cfg->settings);
  free(cfg->device);
  free(cfg->platform);
  free(cfg->cache_file);
  free(cfg->program);
  free(cfg->dump_program_to);
  free(cfg->load_program_from);
  free(cfg->dump_binary_to);
  free(cfg->load_binary_from);
  free(cfg->path);
  free(cfg->limits);
  rt_text_free(&cfg->build_options);
  free(cfg);
}

void RT_NAME(context_config_set_debugging)(struct rt_config *cfg, int flag) {
  cfg->debugging = flag != 0;
  cfg->logging |= cfg->debugging;
}

void RT_NAME(context_config_set_profiling)(struct rt_config *cfg, int flag) {
  cfg->profiling = flag != 0;
}

void RT_NAME(context_config_set_logging)(struct rt_config *cfg, int flag) {
  cfg->logging = flag != 0;
}

void RT_NAME(context_config_set_cache_file)(struct rt_config *cfg, const char *file) {
  rt_set_string(&cfg->cache_file, file ? file : "");
}

void RT_NAME(context_config_set_device)(struct rt_config *cfg, const char *name) {
  rt_set_string(&cfg->device, name);
}

void RT_NAME(context_config_set_platform)(struct rt_config *cfg, const char *name) {
  rt_set_string(&cfg->platform, name);
}

int RT_NAME(context_config_set_code)(struct rt_config *cfg, const char *code) {
  bool gpu = strcmp(code, "gpu") == 0;
  if (!gpu && strcmp(code, "cpu") != 0) return 1;
  cfg->code = gpu;
  return 0;
}

void RT_NAME(context_config_set_command_queue)(struct rt_config *cfg,
                                               cl_command_queue queue) {
  cfg->queue = queue;
}

void RT_NAME(context_config_set_exact_floats)(struct rt_config *cfg, int flag) {
  cfg->exact_floats = flag != 0;
}

void RT_NAME(context_config_set_near)(struct rt_config *cfg, int flag) {
  cfg->near = flag != 0;
}

void RT_NAME(context_config_add_build_option)(struct rt_config *cfg, const char *option) {
  rt_text_printf(&cfg->build_options, " %s", option);
}

void RT_NAME(context_config_set_program)(struct rt_config *cfg, const char *text) {
  rt_set_string(&cfg->program, text);
}

void RT_NAME(context_config_dump_program_to)(struct rt_config *cfg, const char *file) {
  rt_set_string(&cfg->dump_program_to, file);
}

void RT_NAME(context_config_load_program_from)(struct rt_config *cfg, const char *file) {
  rt_set_string(&cfg->load_program_from, file);
}

void RT_NAME(context_config_dump_binary_to)(struct rt_config *cfg, const char *file) {
  rt_set_string(&cfg->dump_binary_to, file);
}

void RT_NAME(context_config_load_binary_from)(struct rt_config *cfg, const char *file) {
  rt_set_string(&cfg->load_binary_from, file);
}
// End context.h
