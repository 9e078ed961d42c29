// Begin cuda.h: devices through CUDA's driver and NVRTC, its compiler: what device.h asks for.
//
// Both libraries are opened when they are wanted and not before: the driver when OpenCL has no
// device or the user asks for CUDA, the compiler when a kernel is not in the cache.  Nothing is
// linked with them, and their headers are not needed.  Kernels are the texts that OpenCL
// gets, after kernels/cuda.cu, which defines OpenCL's words.  Every function that enters the
// driver makes the device's context the thread's own for as long, and puts back the one before, so
// that several contexts, threads and the user's own calls do not meet.

enum {
  RT_CUDA_DEFAULT_SHARED = 47 << 10,  // more must be asked for
  RT_CUDA_MOST_GROUPS = 0x7fffffff,
  RT_CUDA_CLOCK_MS = 1000,  // after so long the zero of the clock moves
  // Attributes of devices and of functions.
  RT_CU_THREADS = 1,
  RT_CU_UNITS = 16,
  RT_CU_MAJOR = 75,
  RT_CU_MINOR = 76,
  RT_CU_SHARED = 97,
  RT_CU_FUNCTION_THREADS = 0,
  RT_CU_FUNCTION_SHARED = 8,
  RT_CU_NON_BLOCKING = 1,
  // Statuses.
  RT_CU_OUT_OF_MEMORY = 2,
  RT_CU_INVALID_CONTEXT = 201,
  RT_CU_OUT_OF_RESOURCES = 701,
  // Those of the compiler, and our own, after those of the driver.
  RT_NVRTC_FIRST = 10000,
  RT_NVRTC_OUT_OF_MEMORY = 10001,
  RT_NVRTC_COMPILATION = 10006,
  RT_NVRTC_ABSENT = 11000,
  RT_NVRTC_ARCH = 11001,
  RT_CUDA_TOO_MANY_GROUPS = 11002
};

// ---- the libraries

// Devices are numbers; all else is behind pointers.
typedef unsigned long long rt_cu_address;
struct rt_cu_context;
struct rt_cu_stream;
struct rt_cu_module;
struct rt_cu_function;
struct rt_cu_event;
struct rt_nvrtc_program;

struct rt_cuda_driver {
  int (*init)(unsigned flags);
  int (*driver_version)(int *version);
  int (*device_count)(int *count);
  int (*device_get)(int *device, int number);
  int (*device_name)(char *name, int bytes, int device);
  int (*device_attribute)(int *value, int attribute, int device);
  int (*device_memory)(size_t *bytes, int device);
  int (*context_retain)(struct rt_cu_context **context, int device);
  int (*context_release)(int device);
  int (*context_push)(struct rt_cu_context *context);
  int (*context_pop)(struct rt_cu_context **context);
  int (*context_device)(int *device);
  int (*stream_create)(struct rt_cu_stream **stream, unsigned flags);
  int (*stream_destroy)(struct rt_cu_stream *stream);
  int (*stream_wait)(struct rt_cu_stream *stream);
  int (*stream_context)(struct rt_cu_stream *stream, struct rt_cu_context **context);
  int (*memory_new)(rt_cu_address *address, size_t bytes);
  int (*memory_free)(rt_cu_address address);
  int (*memory_range)(rt_cu_address *base, size_t *bytes, rt_cu_address address);
  int (*to_device)(rt_cu_address to, const void *from, size_t bytes,
                   struct rt_cu_stream *stream);
  int (*to_host)(void *to, rt_cu_address from, size_t bytes, struct rt_cu_stream *stream);
  int (*on_device)(rt_cu_address to, rt_cu_address from, size_t bytes,
                   struct rt_cu_stream *stream);
  int (*event_new)(struct rt_cu_event **event, unsigned flags);
  int (*event_free)(struct rt_cu_event *event);
  int (*event_record)(struct rt_cu_event *event, struct rt_cu_stream *stream);
  int (*event_elapsed)(float *ms, struct rt_cu_event *from, struct rt_cu_event *to);
  int (*module_load)(struct rt_cu_module **module, const void *image);
  int (*module_unload)(struct rt_cu_module *module);
  int (*module_function)(struct rt_cu_function **function, struct rt_cu_module *module,
                         const char *name);
  int (*function_get)(int *value, int attribute, struct rt_cu_function *function);
  int (*function_set)(struct rt_cu_function *function, int attribute, int value);
  int (*launch)(struct rt_cu_function *function, unsigned groups_x, unsigned groups_y,
                unsigned groups_z, unsigned items_x, unsigned items_y, unsigned items_z,
                unsigned shared, struct rt_cu_stream *stream, void **params,
                void **extra);
};

// In the order of the members.
static const char *const rt_cuda_driver_names[] = {
  "cuInit",
  "cuDriverGetVersion",
  "cuDeviceGetCount",
  "cuDeviceGet",
  "cuDeviceGetName",
  "cuDeviceGetAttribute",
  "cuDeviceTotalMem_v2",
  "cuDevicePrimaryCtxRetain",
  "cuDevicePrimaryCtxRelease_v2",
  "cuCtxPushCurrent_v2",
  "cuCtxPopCurrent_v2",
  "cuCtxGetDevice",
  "cuStreamCreate",
  "cuStreamDestroy_v2",
  "cuStreamSynchronize",
  "cuStreamGetCtx",
  "cuMemAlloc_v2",
  "cuMemFree_v2",
  "cuMemGetAddressRange_v2",
  "cuMemcpyHtoDAsync_v2",
  "cuMemcpyDtoHAsync_v2",
  "cuMemcpyDtoDAsync_v2",
  "cuEventCreate",
  "cuEventDestroy_v2",
  "cuEventRecord",
  "cuEventElapsedTime",
  "cuModuleLoadData",
  "cuModuleUnload",
  "cuModuleGetFunction",
  "cuFuncGetAttribute",
  "cuFuncSetAttribute",
  "cuLaunchKernel",
};

struct rt_nvrtc {
  int (*program_new)(struct rt_nvrtc_program **program, const char *source,
                     const char *name, int header_count, const char *const *headers,
                     const char *const *header_names);
  int (*program_free)(struct rt_nvrtc_program **program);
  int (*compile)(struct rt_nvrtc_program *program, int count, const char *const *options);
  int (*log_size)(struct rt_nvrtc_program *program, size_t *bytes);
  int (*log)(struct rt_nvrtc_program *program, char *log);
  int (*cubin_size)(struct rt_nvrtc_program *program, size_t *bytes);
  int (*cubin)(struct rt_nvrtc_program *program, char *image);
  int (*ptx_size)(struct rt_nvrtc_program *program, size_t *bytes);
  int (*ptx)(struct rt_nvrtc_program *program, char *image);
  int (*arch_count)(int *count);
  int (*archs)(int *archs);
};

static const char *const rt_nvrtc_names[] = {
  "nvrtcCreateProgram",
  "nvrtcDestroyProgram",
  "nvrtcCompileProgram",
  "nvrtcGetProgramLogSize",
  "nvrtcGetProgramLog",
  "nvrtcGetCUBINSize",
  "nvrtcGetCUBIN",
  "nvrtcGetPTXSize",
  "nvrtcGetPTX",
  "nvrtcGetNumSupportedArchs",
  "nvrtcGetSupportedArchs",
};

// Stores the address of each function in `table`, which holds nothing but pointers to functions.
RT_FN bool rt_find_calls(void *library, const char *const *names, size_t count,
                         void *table) {
  for (size_t i = 0; i < count; i++) {
    void *found = dlsym(library, names[i]);
    if (!found) return false;
    memcpy((char *)table + i * sizeof found, &found, sizeof found);
  }
  return true;
}

// What a context has of CUDA.
struct rt_cuda {
  struct rt_cuda_driver call;
  struct rt_nvrtc compiler;
  bool compiler_open, is_retained, owns_stream;
  int device, version, arch;  // of the driver: 13000; of the device: 90
  struct rt_cu_context *context;
  struct rt_cu_event *zero;  // of the clock, which was then at zero_ns of rt_time_ns
  int64_t zero_ns;
};

// Libraries stay open: the driver has threads of its own.
RT_FN bool rt_cuda_load(struct rt_cuda *cuda) {
  enum { COUNT = sizeof rt_cuda_driver_names / sizeof *rt_cuda_driver_names };
  void *library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  return library && rt_find_calls(library, rt_cuda_driver_names, COUNT, &cuda->call);
}

// NVRTC of the driver's version or one before it, where the system finds it or in the toolkit: a
// driver does not load what a later one is for.
RT_FN void *rt_nvrtc_open(const struct rt_cuda *cuda) {
  const char *folder = getenv("CUDA_PATH");
  char name[512];
  void *library = NULL;
  for (int major = cuda->version / 1000; major >= 12 && !library; major--) {
    snprintf(name, sizeof name, "libnvrtc.so.%d", major);
    library = dlopen(name, RTLD_NOW | RTLD_LOCAL);
  }
  if (!library) library = dlopen("libnvrtc.so.11.2", RTLD_NOW | RTLD_LOCAL);
  if (!library) library = dlopen("libnvrtc.so", RTLD_NOW | RTLD_LOCAL);
  if (library) return library;
  snprintf(name, sizeof name, "%s/lib64/libnvrtc.so",
           folder ? folder : "/usr/local/cuda");
  return dlopen(name, RTLD_NOW | RTLD_LOCAL);
}

RT_FN bool rt_nvrtc_load(struct rt_cuda *cuda) {
  enum { COUNT = sizeof rt_nvrtc_names / sizeof *rt_nvrtc_names };
  if (cuda->compiler_open) return true;
  void *library = rt_nvrtc_open(cuda);
  cuda->compiler_open =
      library && rt_find_calls(library, rt_nvrtc_names, COUNT, &cuda->compiler);
  return cuda->compiler_open;
}

// ---- statuses

struct rt_cuda_status {
  int status;
  const char *text;
};

static const struct rt_cuda_status rt_cuda_statuses[] = {
  { 1, "invalid value" },
  { RT_CU_OUT_OF_MEMORY, "out of device memory" },
  { 3, "the driver is not ready" },
  { 4, "the driver is shutting down" },
  { 34, "a stub in place of the driver" },
  { 46, "the device is in use by others" },
  { 100, "no device found" },
  { 101, "no such device" },
  { 200, "invalid image" },
  { RT_CU_INVALID_CONTEXT, "the context cannot be used any more" },
  { 209, "no code for this device" },
  { 218, "the code does not suit the device" },
  { 222, "the code was made for a later driver" },
  { 400, "invalid handle" },
  { 500, "no kernel of that name" },
  { 700, "an address that does not exist: the context cannot be used any more" },
  { RT_CU_OUT_OF_RESOURCES, "out of device resources" },
  { 702, "the kernel ran for too long: the context cannot be used any more" },
  { 710, "an assertion failed: the context cannot be used any more" },
  { 716, "a misaligned address: the context cannot be used any more" },
  { 719, "the launch failed: the context cannot be used any more" },
  { 802, "the system is not ready" },
  { 803, "the driver is of another version than its library" },
  { RT_NVRTC_OUT_OF_MEMORY, "out of host memory" },
  { RT_NVRTC_FIRST + 5, "invalid build options" },
  { RT_NVRTC_COMPILATION, "the program does not compile" },
  { RT_NVRTC_ABSENT, "NVRTC, CUDA's compiler, is not found (libnvrtc.so)" },
  { RT_NVRTC_ARCH, "NVRTC does not know this device: is it of another version?" },
  { RT_CUDA_TOO_MANY_GROUPS, "more than 2147483647 groups" },
};

RT_FN const char *rt_cuda_status_text(int status) {
  for (size_t i = 0; i < sizeof rt_cuda_statuses / sizeof *rt_cuda_statuses; i++)
    if (rt_cuda_statuses[i].status == status) return rt_cuda_statuses[i].text;
  return "error";
}

RT_FN enum rt_status_kind rt_cuda_status_kind(int status) {
  if (status == RT_CU_OUT_OF_MEMORY || status == RT_NVRTC_OUT_OF_MEMORY)
    return RT_STATUS_MEMORY;
  return status == RT_CU_OUT_OF_RESOURCES ? RT_STATUS_RESOURCES : RT_STATUS_OTHER;
}

// ---- around calls

RT_FN struct rt_cu_stream *rt_cuda_stream(const struct rt_context *ctx) {
  return (struct rt_cu_stream *)ctx->queue;
}

// Between these the context is the thread's own.
RT_FN int rt_cuda_enter(const struct rt_context *ctx) {
  return ctx->cuda->call.context_push(ctx->cuda->context);
}

// The first failure, that of the work or of leaving.
RT_FN int rt_cuda_leave(const struct rt_context *ctx, int status) {
  struct rt_cu_context *old = NULL;
  int left = ctx->cuda->call.context_pop(&old);
  return status ? status : left;
}

// The times of a command: around it events are recorded.
struct rt_cuda_event {
  struct rt_cu_event *before, *after;
  int64_t queued;
};

// Within the context.
RT_FN void rt_cuda_event_drop(const struct rt_context *ctx, struct rt_cuda_event *e) {
  if (e->before) ctx->cuda->call.event_free(e->before);
  if (e->after) ctx->cuda->call.event_free(e->after);
  free(e);
}

RT_FN int rt_cuda_event_new(const struct rt_context *ctx, struct rt_cuda_event **out) {
  const struct rt_cuda_driver *call = &ctx->cuda->call;
  struct rt_cuda_event *e = (struct rt_cuda_event *)rt_host_alloc(sizeof *e);
  e->queued = rt_time_ns();
  int status = call->event_new(&e->before, 0);
  if (!status) status = call->event_new(&e->after, 0);
  if (!status) status = call->event_record(e->before, rt_cuda_stream(ctx));
  *out = status ? NULL : e;
  if (status) rt_cuda_event_drop(ctx, e);
  return status;
}

// Begins a command that is timed if `event` is not NULL: enters the context.
RT_FN int rt_cuda_begin(const struct rt_context *ctx, struct rt_event **event,
                        struct rt_cuda_event **times) {
  *times = NULL;
  int status = rt_cuda_enter(ctx);
  if (status || !event) return status;
  status = rt_cuda_event_new(ctx, times);
  return status ? rt_cuda_leave(ctx, status) : status;
}

RT_FN int rt_cuda_end(const struct rt_context *ctx, int status, struct rt_event **event,
                      struct rt_cuda_event *times) {
  if (times && !status)
    status = ctx->cuda->call.event_record(times->after, rt_cuda_stream(ctx));
  if (times && status) rt_cuda_event_drop(ctx, times);
  if (times && !status) *event = (struct rt_event *)times;
  return rt_cuda_leave(ctx, status);
}

RT_FN int64_t rt_cuda_elapsed(const struct rt_context *ctx, struct rt_cu_event *from,
                              struct rt_cu_event *to) {
  float ms = 0;
  int status = ctx->cuda->call.event_elapsed(&ms, from, to);
  return status || !(ms > 0) ? 0 : (int64_t)((double)ms * 1e6);
}

// Events tell the time since another one in a float, which long times do not fit: the zero of the
// clock is an earlier event, later replaced by one that is known.
RT_FN struct rt_times rt_cuda_event_end(struct rt_context *ctx, struct rt_event *event) {
  struct rt_cuda *cuda = ctx->cuda;
  struct rt_cuda_event *e = (struct rt_cuda_event *)event;
  struct rt_times times = { e->queued, e->queued, e->queued };
  int status = rt_cuda_enter(ctx);
  int64_t since = rt_cuda_elapsed(ctx, cuda->zero, e->before);
  times.start = cuda->zero_ns + since;
  times.end = times.start + rt_cuda_elapsed(ctx, e->before, e->after);
  if (times.queued > times.start) times.queued = times.start;
  if (since > (int64_t)RT_CUDA_CLOCK_MS * 1000000) {
    struct rt_cu_event *old = cuda->zero;
    cuda->zero = e->before;
    cuda->zero_ns = times.start;
    e->before = old;
  }
  rt_cuda_event_drop(ctx, e);
  if (!status) rt_cuda_leave(ctx, status);
  return times;
}

// ---- devices

// Devices of the driver; -1 and a status if it does not answer.
RT_FN int rt_cuda_count(const struct rt_cuda *cuda, int *status) {
  int count = 0;
  *status = cuda->call.init(0);
  if (!*status) *status = cuda->call.device_count(&count);
  return *status ? -1 : count;
}

RT_FN int rt_cuda_list(void) {
  struct rt_cuda cuda;
  int status = 0;
  memset(&cuda, 0, sizeof cuda);
  if (!rt_cuda_load(&cuda)) return 0;
  int count = rt_cuda_count(&cuda, &status);
  cuda.call.driver_version(&cuda.version);
  for (int i = 0; i < count; i++) {
    char name[256] = "";
    int device = 0;
    if (cuda.call.device_get(&device, i) == 0 &&
        cuda.call.device_name(name, (int)sizeof name, device) == 0)
      printf("#%d: %s (CUDA %d.%d), gpu, --backend cuda\n", i, name, cuda.version / 1000,
             cuda.version % 1000 / 10);
  }
  return count;
}

RT_FN int64_t rt_cuda_attribute(const struct rt_cuda *cuda, int attribute, int *failed) {
  int value = 0;
  int status = cuda->call.device_attribute(&value, attribute, cuda->device);
  if (!*failed) *failed = status;
  return value;
}

// The first failure among the questions, or 0.
RT_FN int rt_cuda_describe(struct rt_context *ctx) {
  struct rt_cuda *cuda = ctx->cuda;
  struct rt_device *d = &ctx->device;
  struct rt_text driver = { NULL, 0, 0 }, platform = { NULL, 0, 0 },
                 identity = { NULL, 0, 0 };
  char name[256] = "";
  size_t bytes = 0;
  int failed = cuda->call.device_name(name, (int)sizeof name, cuda->device);
  int status = cuda->call.device_memory(&bytes, cuda->device);
  if (!failed) failed = status;
  cuda->arch = (int)(10 * rt_cuda_attribute(cuda, RT_CU_MAJOR, &failed) +
                     rt_cuda_attribute(cuda, RT_CU_MINOR, &failed));
  d->compute_units = rt_cuda_attribute(cuda, RT_CU_UNITS, &failed);
  d->max_group_size = rt_cuda_attribute(cuda, RT_CU_THREADS, &failed);
  d->local_bytes = rt_cuda_attribute(cuda, RT_CU_SHARED, &failed);
  d->global_bytes = d->max_block_bytes = (int64_t)bytes;
  d->is_gpu = d->exact_division = d->doubles = true;
  d->atomic_bytes = 8;
  d->sub_group = 32;
  d->sub_words = "";
  rt_text_printf(&driver, "%d.%d", cuda->version / 1000, cuda->version % 1000 / 10);
  rt_text_printf(&platform, "CUDA %s", driver.data);
  rt_text_printf(&identity, "%s\n%s\nNVIDIA\nsm_%d\n%s\n", platform.data, name,
                 cuda->arch, driver.data);
  d->name = rt_strdup(name);
  d->driver = rt_text_take(&driver);
  d->platform_version = rt_text_take(&platform);
  d->identity = rt_text_take(&identity);
  return failed;
}

// The number of the device that the configuration asks for; -1 if there is none.
RT_FN int rt_cuda_find(const struct rt_config *cfg, const struct rt_cuda *cuda,
                       int count) {
  struct rt_pattern platform = rt_pattern_of(cfg->platform),
                    wanted = rt_pattern_of(cfg->device);
  int skip = wanted.skip > 0 ? wanted.skip : 0;
  if (!rt_pattern_matches(&platform, "NVIDIA CUDA") || platform.skip > 0) return -1;
  for (int i = 0; i < count; i++) {
    char name[256] = "";
    int device = 0;
    if (cuda->call.device_get(&device, i) == 0 &&
        cuda->call.device_name(name, (int)sizeof name, device) == 0 &&
        rt_pattern_matches(&wanted, name) && skip-- == 0)
      return i;
  }
  return -1;
}

// The device of the stream that the user gave; the context is its own.
RT_FN int rt_cuda_adopt(struct rt_context *ctx) {
  struct rt_cuda *cuda = ctx->cuda;
  struct rt_cu_stream *stream = (struct rt_cu_stream *)ctx->config->queue;
  int status = cuda->call.stream_context(stream, &cuda->context);
  if (!status) status = rt_cuda_enter(ctx);
  if (!status) status = rt_cuda_leave(ctx, cuda->call.context_device(&cuda->device));
  if (!status) ctx->queue = stream;
  return rt_check_status(ctx, status, "using the given stream");
}

RT_FN int rt_cuda_no_match(struct rt_context *ctx, int count) {
  struct rt_cuda *cuda = ctx->cuda;
  struct rt_text t = { NULL, 0, 0 };
  for (int i = 0; i < count; i++) {
    char name[256] = "";
    int device = 0;
    if (cuda->call.device_get(&device, i) == 0 &&
        cuda->call.device_name(name, (int)sizeof name, device) == 0)
      rt_text_printf(&t, "%s#%d %s", t.length ? ", " : "", i, name);
  }
  return rt_no_match(ctx, "CUDA", &t);
}

RT_FN int rt_cuda_choose(struct rt_context *ctx) {
  struct rt_cuda *cuda = ctx->cuda;
  const struct rt_config *cfg = ctx->config;
  int status = 0, count = rt_cuda_count(cuda, &status);
  if (status)
    return rt_error(ctx, RT_NO_DEVICE, "CUDA's driver: %s (CUDA status %d)",
                    rt_cuda_status_text(status), status);
  if (count == 0) return rt_error(ctx, RT_NO_DEVICE, "no CUDA device found");
  int number = rt_cuda_find(cfg, cuda, count);
  if (number < 0) return rt_cuda_no_match(ctx, count);
  status = cuda->call.device_get(&cuda->device, number);
  if (!status) status = cuda->call.context_retain(&cuda->context, cuda->device);
  cuda->is_retained = !status;
  return rt_check_status(ctx, status, "creating a context");
}

// A stream, if the user gave none, and the zero of the clock, if somebody wants times.
RT_FN int rt_cuda_open_stream(struct rt_context *ctx) {
  struct rt_cuda *cuda = ctx->cuda;
  struct rt_cu_stream *stream = NULL;
  int status = rt_cuda_enter(ctx);
  if (status) return status;
  if (!ctx->queue) {
    status = cuda->call.stream_create(&stream, RT_CU_NON_BLOCKING);
    cuda->owns_stream = !status;
    if (!status) ctx->queue = stream;
  }
  if (!status && ctx->config->profiling) {
    status = cuda->call.event_new(&cuda->zero, 0);
    if (!status) status = cuda->call.event_record(cuda->zero, rt_cuda_stream(ctx));
    if (!status) status = cuda->call.stream_wait(rt_cuda_stream(ctx));
    cuda->zero_ns = rt_time_ns();
  }
  return rt_cuda_leave(ctx, status);
}

RT_FN int rt_cuda_open(struct rt_context *ctx) {
  struct rt_cuda *cuda = (struct rt_cuda *)rt_host_alloc(sizeof *cuda);
  ctx->cuda = cuda;
  if (!rt_cuda_load(cuda))
    return rt_error(ctx, RT_NO_DEVICE,
                    "no CUDA device found: there is no driver (libcuda.so.1)");
  int error = ctx->config->queue
                  ? rt_check_status(ctx, cuda->call.init(0), "CUDA's driver")
                  : RT_OK;
  if (!error) error = ctx->config->queue ? rt_cuda_adopt(ctx) : rt_cuda_choose(ctx);
  if (error) return error;
  if (ctx->config->code == 0)
    return rt_error(ctx, RT_OTHER_ERROR,
                    "code for CPUs does not run on CUDA devices: expected code for gpu");
  int status = cuda->call.driver_version(&cuda->version);
  if (!status) status = rt_cuda_describe(ctx);
  error = rt_check_status(ctx, status, "asking what the device can do");
  return error ? error
               : rt_check_status(ctx, rt_cuda_open_stream(ctx), "creating a stream");
}

RT_FN void rt_cuda_close(struct rt_context *ctx) {
  struct rt_cuda *cuda = ctx->cuda;
  if (cuda->context && rt_cuda_enter(ctx) == 0) {
    if (cuda->zero) cuda->call.event_free(cuda->zero);
    if (cuda->owns_stream) cuda->call.stream_destroy(rt_cuda_stream(ctx));
    rt_cuda_leave(ctx, 0);
  }
  if (cuda->is_retained) cuda->call.context_release(cuda->device);
  free(cuda);
  ctx->cuda = NULL;
  ctx->queue = NULL;
}

RT_FN int rt_cuda_finish(struct rt_context *ctx) {
  int status = rt_cuda_enter(ctx);
  if (status) return status;
  return rt_cuda_leave(ctx, ctx->cuda->call.stream_wait(rt_cuda_stream(ctx)));
}

// ---- buffers: addresses on the device

RT_FN rt_cu_address rt_cuda_address(struct rt_place place) {
  return (rt_cu_address)(uintptr_t)place.buffer + (rt_cu_address)place.offset;
}

RT_FN int rt_cuda_buffer_new(struct rt_context *ctx, int64_t bytes,
                             struct rt_buffer **out) {
  rt_cu_address address = 0;
  *out = NULL;
  int status = rt_cuda_enter(ctx);
  if (status) return status;
  status = ctx->cuda->call.memory_new(&address, (size_t)bytes);
  if (!status) *out = (struct rt_buffer *)(uintptr_t)address;
  return rt_cuda_leave(ctx, status);
}

RT_FN void rt_cuda_buffer_free(struct rt_context *ctx, struct rt_buffer *buffer,
                               bool foreign) {
  if (foreign || rt_cuda_enter(ctx)) return;
  rt_cuda_leave(ctx, ctx->cuda->call.memory_free((rt_cu_address)(uintptr_t)buffer));
}

// Memory of the user's stays the user's: it has no references.  It may begin within a block.
RT_FN int rt_cuda_buffer_hold(struct rt_context *ctx, struct rt_buffer *buffer,
                              int64_t *bytes) {
  rt_cu_address address = (rt_cu_address)(uintptr_t)buffer, base = 0;
  size_t size = 0;
  *bytes = -1;
  int status = rt_cuda_enter(ctx);
  if (status) return status;
  status = rt_cuda_leave(ctx, ctx->cuda->call.memory_range(&base, &size, address));
  if (!status) *bytes = (int64_t)(base + size - address);
  return status;
}

RT_FN bool rt_cuda_buffer_held(struct rt_context *ctx, struct rt_buffer *buffer) {
  (void)ctx, (void)buffer;
  return false;
}

// Memory of the host is what the caller has, pageable as a rule.
RT_FN int rt_cuda_write(struct rt_context *ctx, struct rt_place to, int64_t bytes,
                        const void *from, struct rt_event **event) {
  const struct rt_cuda_driver *call = &ctx->cuda->call;
  struct rt_cuda_event *times = NULL;
  int status = rt_cuda_begin(ctx, event, &times);
  if (status) return status;
  status = call->to_device(rt_cuda_address(to), from, (size_t)bytes, rt_cuda_stream(ctx));
  if (!status) status = call->stream_wait(rt_cuda_stream(ctx));
  return rt_cuda_end(ctx, status, event, times);
}

RT_FN int rt_cuda_read(struct rt_context *ctx, struct rt_place from, int64_t bytes,
                       void *to, struct rt_event **event) {
  const struct rt_cuda_driver *call = &ctx->cuda->call;
  struct rt_cuda_event *times = NULL;
  int status = rt_cuda_begin(ctx, event, &times);
  if (status) return status;
  status = call->to_host(to, rt_cuda_address(from), (size_t)bytes, rt_cuda_stream(ctx));
  if (!status) status = call->stream_wait(rt_cuda_stream(ctx));
  return rt_cuda_end(ctx, status, event, times);
}

RT_FN int rt_cuda_copy(struct rt_context *ctx, struct rt_place to, struct rt_place from,
                       int64_t bytes, struct rt_event **event) {
  struct rt_cuda_event *times = NULL;
  int status = rt_cuda_begin(ctx, event, &times);
  if (status) return status;
  status = ctx->cuda->call.on_device(rt_cuda_address(to), rt_cuda_address(from),
                                     (size_t)bytes, rt_cuda_stream(ctx));
  return rt_cuda_end(ctx, status, event, times);
}

#ifdef RT_WORKERS
RT_FN int rt_cuda_lend(struct rt_context *ctx, struct rt_place place, void **address) {
  if (!address) return rt_cuda_leave(ctx, 0);
  int status = rt_cuda_enter(ctx);
  if (status) return status;
  status = ctx->cuda->call.stream_wait(rt_cuda_stream(ctx));
  if (status) return rt_cuda_leave(ctx, status);
  *address = (void *)(uintptr_t)rt_cuda_address(place);
  return 0;
}
#endif

// ---- modules and functions

struct rt_cuda_module {
  struct rt_cu_module *module;
  int references;
  unsigned char *image;
  size_t length;
};

// Takes the image.
RT_FN int rt_cuda_module_new(struct rt_context *ctx, unsigned char *image, size_t length,
                             struct rt_module **out) {
  struct rt_cuda_module *m = (struct rt_cuda_module *)rt_host_alloc(sizeof *m);
  m->image = image;
  m->length = length;
  m->references = 1;
  int status = rt_cuda_enter(ctx);
  if (!status)
    status = rt_cuda_leave(ctx, ctx->cuda->call.module_load(&m->module, image));
  if (!status) {
    *out = (struct rt_module *)m;
    return status;
  }
  free(image);
  free(m);
  return status;
}

// The words of `options`, to which the caller adds; `copy` holds them.
struct rt_words {
  const char **at;
  int count;
  char *copy;
};

RT_FN struct rt_words rt_words_of(const char *options, int more) {
  struct rt_words w = { NULL, 0, rt_strdup(options) };
  size_t most = (strlen(options) + 1) / 2 + (size_t)more;
  w.at = (const char **)rt_host_alloc(most * sizeof *w.at);
  for (char *at = strtok(w.copy, " "); at; at = strtok(NULL, " "))
    w.at[w.count++] = at;
  return w;
}

// The code to ask for: that of the device, or, if the compiler is older than the device, the latest
// that the driver can translate.  RT_NVRTC_ARCH if there is none.
RT_FN int rt_nvrtc_target(const struct rt_cuda *cuda, char *option, size_t bytes) {
  int count = 0, best = 0;
  int status = cuda->compiler.arch_count(&count);
  if (status) return RT_NVRTC_FIRST + status;
  int *archs = (int *)rt_host_alloc((size_t)count * sizeof *archs);
  status = cuda->compiler.archs(archs);
  for (int i = 0; i < count && !status; i++)
    if (archs[i] <= cuda->arch && archs[i] > best) best = archs[i];
  free(archs);
  if (status) return RT_NVRTC_FIRST + status;
  snprintf(option, bytes, "--gpu-architecture=%s_%d",
           best == cuda->arch ? "sm" : "compute", best);
  return best ? 0 : RT_NVRTC_ARCH;
}

// The image of a program that was compiled.
RT_FN int rt_nvrtc_image(const struct rt_cuda *cuda, struct rt_nvrtc_program *program,
                         bool is_ptx, unsigned char **image, size_t *length) {
  const struct rt_nvrtc *c = &cuda->compiler;
  int status = is_ptx ? c->ptx_size(program, length) : c->cubin_size(program, length);
  if (status) return status;
  char *bytes = (char *)rt_host_alloc(*length + 1);
  status = is_ptx ? c->ptx(program, bytes) : c->cubin(program, bytes);
  *image = status ? NULL : (unsigned char *)bytes;
  if (status) free(bytes);
  return status;
}

RT_FN char *rt_nvrtc_log(const struct rt_cuda *cuda, struct rt_nvrtc_program *program) {
  size_t bytes = 0;
  if (cuda->compiler.log_size(program, &bytes)) return NULL;
  char *log = (char *)rt_host_alloc(bytes + 1);
  cuda->compiler.log(program, log);
  return log;
}

// Options are those of the OpenCL compiler, as far as they are -D and -w, which mean the same.
RT_FN int rt_nvrtc_run(const struct rt_cuda *cuda, struct rt_nvrtc_program *program,
                       const char *options, const char *target) {
  enum { MORE = 5 };
  bool contract = strstr(options, "-DFLC_CONTRACT") != NULL;
  struct rt_words words = rt_words_of(options, MORE);
  words.at[words.count++] = target;
  words.at[words.count++] = "-default-device";
  words.at[words.count++] = contract ? "--fmad=true" : "--fmad=false";
  words.at[words.count++] = contract ? "--prec-div=false" : "--prec-div=true";
  words.at[words.count++] = contract ? "--prec-sqrt=false" : "--prec-sqrt=true";
  int status = cuda->compiler.compile(program, words.count, words.at);
  free(words.at);
  free(words.copy);
  return status;
}

RT_FN char *rt_cuda_source(const struct rt_context *ctx, const char *source) {
  struct rt_text t = { NULL, 0, 0 };
  rt_text_pieces(&t, ctx->program->cuda_words);
  rt_text_add(&t, source);
  return rt_text_take(&t);
}

RT_FN int rt_cuda_compile(struct rt_context *ctx, bool near, const char *source,
                          const char *options, struct rt_module **out, char **log) {
  (void)near;
  struct rt_cuda *cuda = ctx->cuda;
  struct rt_nvrtc_program *program = NULL;
  unsigned char *image = NULL;
  size_t length = 0;
  char target[64];
  if (!rt_nvrtc_load(cuda)) return RT_NVRTC_ABSENT;
  int status = rt_nvrtc_target(cuda, target, sizeof target);
  if (status) return status;
  char *text = rt_cuda_source(ctx, source);
  status = cuda->compiler.program_new(&program, text, "kernels.cu", 0, NULL, NULL);
  free(text);
  if (status) return RT_NVRTC_FIRST + status;
  status = rt_nvrtc_run(cuda, program, options, target);
  if (status) *log = rt_nvrtc_log(cuda, program);
  if (!status)
    status =
        rt_nvrtc_image(cuda, program, strstr(target, "compute") != NULL, &image, &length);
  cuda->compiler.program_free(&program);
  if (status) return RT_NVRTC_FIRST + status;
  return rt_cuda_module_new(ctx, image, length, out);
}

RT_FN struct rt_module *rt_cuda_load_image(struct rt_context *ctx, bool near,
                                           const unsigned char *bytes, size_t length,
                                           const char *options) {
  struct rt_module *module = NULL;
  unsigned char *copy = (unsigned char *)rt_host_alloc(length + 1);
  (void)near, (void)options;
  memcpy(copy, bytes, length);
  return rt_cuda_module_new(ctx, copy, length, &module) ? NULL : module;
}

RT_FN unsigned char *rt_cuda_image(struct rt_context *ctx, struct rt_module *module,
                                   size_t *length) {
  const struct rt_cuda_module *m = (const struct rt_cuda_module *)module;
  unsigned char *copy = (unsigned char *)rt_host_alloc(m->length + 1);
  (void)ctx;
  memcpy(copy, m->image, m->length);
  *length = m->length;
  return copy;
}

RT_FN int rt_cuda_module_keep(struct rt_module *module) {
  ((struct rt_cuda_module *)module)->references++;
  return 0;
}

RT_FN void rt_cuda_module_drop(struct rt_context *ctx, struct rt_module *module) {
  struct rt_cuda_module *m = (struct rt_cuda_module *)module;
  if (--m->references > 0) return;
  if (rt_cuda_enter(ctx) == 0)
    rt_cuda_leave(ctx, ctx->cuda->call.module_unload(m->module));
  free(m->image);
  free(m);
}

// A kernel and its arguments, a word each.
struct rt_cuda_function {
  struct rt_cu_function *function;
  uint64_t *values;
  void **pointers;
  int capacity;
  size_t shared, shared_most;  // bytes of local memory; how many were asked for
};

RT_FN int rt_cuda_function_new(struct rt_context *ctx, struct rt_module *module,
                               const char *name, struct rt_function **out) {
  const struct rt_cuda_module *m = (const struct rt_cuda_module *)module;
  struct rt_cu_function *found = NULL;
  *out = NULL;
  int status = rt_cuda_enter(ctx);
  if (status) return status;
  status = rt_cuda_leave(ctx, ctx->cuda->call.module_function(&found, m->module, name));
  if (status) return status;
  struct rt_cuda_function *f = (struct rt_cuda_function *)rt_host_alloc(sizeof *f);
  f->function = found;
  f->shared_most = RT_CUDA_DEFAULT_SHARED;
  *out = (struct rt_function *)f;
  return status;
}

RT_FN void rt_cuda_function_free(struct rt_context *ctx, struct rt_function *function) {
  struct rt_cuda_function *f = (struct rt_cuda_function *)function;
  (void)ctx;
  free(f->values);
  free(f->pointers);
  free(f);
}

RT_FN int rt_cuda_function_limit(struct rt_context *ctx, bool near,
                                 struct rt_function *function, int64_t *items) {
  (void)near;
  const struct rt_cuda_function *f = (const struct rt_cuda_function *)function;
  int most = 0;
  int status = rt_cuda_enter(ctx);
  if (status) return status;
  status = ctx->cuda->call.function_get(&most, RT_CU_FUNCTION_THREADS, f->function);
  *items = most;
  return rt_cuda_leave(ctx, status);
}

// An array in local memory is given by where it begins there (kernels/cuda.cu).
RT_FN int rt_cuda_set_arg(struct rt_function *function, int number, size_t bytes,
                          const void *value) {
  struct rt_cuda_function *f = (struct rt_cuda_function *)function;
  if (number == 0) f->shared = 0;
  if (number >= f->capacity) {
    f->capacity = 2 * number + 16;
    f->values =
        (uint64_t *)rt_host_grow(f->values, (size_t)f->capacity * sizeof *f->values);
    f->pointers =
        (void **)rt_host_grow(f->pointers, (size_t)f->capacity * sizeof *f->pointers);
    for (int i = 0; i < f->capacity; i++)
      f->pointers[i] = &f->values[i];
  }
  f->values[number] = 0;
  if (value)
    memcpy(&f->values[number], value, bytes);
  else
    f->values[number] = f->shared;
  if (!value) f->shared += bytes;
  return 0;
}

RT_FN int rt_cuda_launch(struct rt_context *ctx, bool near, struct rt_function *function,
                         size_t groups, size_t group_size, struct rt_event **event) {
  (void)near;
  const struct rt_cuda_driver *call = &ctx->cuda->call;
  struct rt_cuda_function *f = (struct rt_cuda_function *)function;
  struct rt_cuda_event *times = NULL;
  if (groups > RT_CUDA_MOST_GROUPS) return RT_CUDA_TOO_MANY_GROUPS;
  int status = rt_cuda_begin(ctx, event, &times);
  if (status) return status;
  if (f->shared > f->shared_most) {
    status = call->function_set(f->function, RT_CU_FUNCTION_SHARED, (int)f->shared);
    if (!status) f->shared_most = f->shared;
  }
  if (!status)
    status = call->launch(f->function, (unsigned)groups, 1, 1, (unsigned)group_size, 1, 1,
                          (unsigned)f->shared, rt_cuda_stream(ctx), f->pointers, NULL);
  return rt_cuda_end(ctx, status, event, times);
}

static const struct rt_backend rt_cuda_backend = {
  "cuda",
  "CUDA",
  "",
  rt_cuda_list,
  rt_cuda_open,
  rt_cuda_close,
  rt_cuda_status_text,
  rt_cuda_status_kind,
  rt_cuda_finish,
  rt_cuda_buffer_new,
  rt_cuda_buffer_free,
  rt_cuda_buffer_hold,
  rt_cuda_buffer_held,
  rt_cuda_write,
  rt_cuda_read,
  rt_cuda_copy,
#ifdef RT_WORKERS
  rt_cuda_lend,
#endif
  rt_cuda_compile,
  rt_cuda_load_image,
  rt_cuda_image,
  rt_cuda_module_keep,
  rt_cuda_module_drop,
  rt_cuda_function_new,
  rt_cuda_function_free,
  rt_cuda_function_limit,
  rt_cuda_set_arg,
  rt_cuda_launch,
  rt_cuda_event_end,
};
// End cuda.h
