// Begin device.h: what the runtime asks of a backend, the way to devices: OpenCL (opencl.h) or CUDA
// (cuda.h); and what follows from that.

// A part of a buffer: from a byte on.
struct rt_place {
  struct rt_buffer *buffer;
  int64_t offset;
};

// When a command was queued, began and ended, by the device's clock, in nanoseconds.
struct rt_times {
  int64_t queued, start, end;
};

// What a status means: there is too little memory; or perhaps that is why there are no resources.
enum rt_status_kind { RT_STATUS_OTHER, RT_STATUS_MEMORY, RT_STATUS_RESOURCES };

// Functions that return `int` return a status of the backend, 0 if all went well, but for `open`.
// Commands run one after the other.  Where `event` is not NULL it gets what event_end takes.
// Objects are freed by who asked for them; modules have references, of which the maker holds one.
struct rt_backend {
  const char *name, *title;  // "opencl", "OpenCL"
  const char *exact_option;  // for the compiler: round f32 division and roots correctly
  int (*list)(void);         // prints the devices; their number
  // Chooses a device and describes it, opens a queue: RT_OK, RT_NO_DEVICE or another error.
  int (*open)(struct rt_context *ctx);
  void (*close)(struct rt_context *ctx);  // also what `open` has left undone
  const char *(*status_text)(int status);
  enum rt_status_kind (*status_kind)(int status);
  int (*finish)(struct rt_context *ctx);  // waits until the device has done everything
  int (*buffer_new)(struct rt_context *ctx, int64_t bytes, struct rt_buffer **out);
  // `foreign`: one of the user's, which was held.
  void (*buffer_free)(struct rt_context *ctx, struct rt_buffer *buffer, bool foreign);
  // Of the user: its size, -1 if it belongs to another context, else it is held.
  int (*buffer_hold)(struct rt_context *ctx, struct rt_buffer *buffer, int64_t *bytes);
  // Does anybody else hold it?
  bool (*buffer_held)(struct rt_context *ctx, struct rt_buffer *buffer);
  // To and from the host: these wait.
  int (*write)(struct rt_context *ctx, struct rt_place to, int64_t bytes,
               const void *from, struct rt_event **event);
  int (*read)(struct rt_context *ctx, struct rt_place from, int64_t bytes, void *to,
              struct rt_event **event);
  int (*copy)(struct rt_context *ctx, struct rt_place to, struct rt_place from,
              int64_t bytes, struct rt_event **event);
#ifdef RT_WORKERS
  // Lends memory to a library that takes addresses on the device: when all commands are done the
  // place has this one, and the context is the thread's own until it is called for NULL.  Or NULL.
  int (*lend)(struct rt_context *ctx, struct rt_place place, void **address);
#endif
  // A module of a text; if it does not compile, what the compiler said, for the caller to free.
  // `near`, here and below: for the device near by, where the context has one.
  int (*compile)(struct rt_context *ctx, bool near, const char *source,
                 const char *options, struct rt_module **out, char **log);
  // A module of its image; NULL if it is refused.
  struct rt_module *(*load)(struct rt_context *ctx, bool near, const unsigned char *bytes,
                            size_t length, const char *options);
  // The caller frees it; NULL if there is none.
  unsigned char *(*image)(struct rt_context *ctx, struct rt_module *module,
                          size_t *length);
  int (*module_keep)(struct rt_module *module);  // one reference more
  void (*module_drop)(struct rt_context *ctx, struct rt_module *module);
  int (*function_new)(struct rt_context *ctx, struct rt_module *module, const char *name,
                      struct rt_function **out);
  void (*function_free)(struct rt_context *ctx, struct rt_function *function);
  // The most items that a group of it may have.
  int (*function_limit)(struct rt_context *ctx, bool near, struct rt_function *function,
                        int64_t *items);
  // Arguments are set in their order.  Without a value: so many bytes of local memory.
  int (*set_arg)(struct rt_function *function, int number, size_t bytes,
                 const void *value);
  // `near`: it is done when that returns; the queue must be empty.
  int (*launch)(struct rt_context *ctx, bool near, struct rt_function *function,
                size_t groups, size_t group_size, struct rt_event **event);
  // The times of a command that has ended; frees the event.
  struct rt_times (*event_end)(struct rt_context *ctx, struct rt_event *event);
};

enum { RT_NO_DEVICE = 101 };  // never leaves rt_open_device

RT_FN bool rt_status_is_memory(const struct rt_context *ctx, int status) {
  return status && ctx->backend->status_kind(status) == RT_STATUS_MEMORY;
}

// RT_OK, or the error of a call of the backend while `doing` something.
RT_FN int rt_check_status(struct rt_context *ctx, int status, const char *doing) {
  if (!status) return RT_OK;
  return rt_error(ctx,
                  rt_status_is_memory(ctx, status) ? RT_OUT_OF_MEMORY : RT_OTHER_ERROR,
                  "%s: %s (%s status %d)", doing, ctx->backend->status_text(status),
                  ctx->backend->title, status);
}

// Waits until the device has done everything; what has failed shows in a later call.
RT_FN void rt_wait(struct rt_context *ctx) { ctx->backend->finish(ctx); }

// The same, but a failure is an error.
RT_FN int rt_finish(struct rt_context *ctx) {
  return rt_check_status(ctx, ctx->backend->finish(ctx), "waiting for the device");
}

// Takes a buffer of the user's: does it belong to this context, and has it so many bytes?
RT_FN int rt_buffer_adopt(struct rt_context *ctx, struct rt_buffer *buffer,
                          int64_t bytes) {
  int64_t size = 0;
  if (!buffer) return rt_error(ctx, RT_OTHER_ERROR, "a buffer is expected, found NULL");
  int status = ctx->backend->buffer_hold(ctx, buffer, &size);
  if (status) return rt_check_status(ctx, status, "asking about a buffer");
  if (size < 0)
    return rt_error(ctx, RT_OTHER_ERROR, "the buffer belongs to another context");
  if (size >= bytes) return RT_OK;
  ctx->backend->buffer_free(ctx, buffer, true);
  return rt_error(ctx, RT_OTHER_ERROR,
                  "the buffer has %" PRId64 " bytes, the array needs %" PRId64, size,
                  bytes);
}

RT_FN int64_t rt_local_capacity(const struct rt_context *ctx) {
  return ctx->device.local_bytes;
}

RT_FN int64_t rt_compute_units(const struct rt_context *ctx) {
  return ctx->device.compute_units;
}

RT_FN int64_t rt_atomic_bytes(const struct rt_context *ctx) {
  return ctx->device.atomic_bytes;
}

// ---- devices by name

// "name", "#2" or "name#2": the part of a name, and how many matches to skip (-1: not given).
struct rt_pattern {
  const char *text;
  size_t length;
  int skip;
};

RT_FN struct rt_pattern rt_pattern_of(const char *text) {
  struct rt_pattern p = { text ? text : "", 0, -1 };
  const char *mark = strrchr(p.text, '#');
  p.length = mark ? (size_t)(mark - p.text) : strlen(p.text);
  if (mark) p.skip = atoi(mark + 1);
  return p;
}

// In letters of either case.
RT_FN bool rt_pattern_matches(const struct rt_pattern *p, const char *name) {
  for (const char *at = name; p->length > 0; at++) {
    if (strlen(at) < p->length) return false;
    if (strncasecmp(at, p->text, p->length) == 0) return true;
  }
  return true;
}

// The error where none of the devices, whose names are taken over, is the one asked for.
RT_FN int rt_no_match(struct rt_context *ctx, const char *kind, struct rt_text *names) {
  const struct rt_config *cfg = ctx->config;
  struct rt_text wish = { NULL, 0, 0 };
  if (cfg->device) rt_text_printf(&wish, " device \"%s\"", cfg->device);
  if (cfg->platform)
    rt_text_printf(&wish, "%s platform \"%s\"", cfg->device ? "," : "", cfg->platform);
  int error = rt_error(ctx, RT_NO_DEVICE, "no %s device matches%s; there are %s", kind,
                       wish.data, names->length ? names->data : "none");
  rt_text_free(&wish);
  rt_text_free(names);
  return error;
}
// End device.h
