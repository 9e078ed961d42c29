// Begin opencl.h: OpenCL's errors; choosing a device; the queue.

struct rt_status_name {
  cl_int status;
  const char *name;
};

static const struct rt_status_name rt_status_names[] = {
  { CL_DEVICE_NOT_FOUND, "no device found" },
  { CL_DEVICE_NOT_AVAILABLE, "device not available" },
  { CL_COMPILER_NOT_AVAILABLE, "no compiler available" },
  { CL_MEM_OBJECT_ALLOCATION_FAILURE, "out of device memory" },
  { CL_OUT_OF_RESOURCES, "out of device resources" },
  { CL_OUT_OF_HOST_MEMORY, "out of host memory" },
  { CL_BUILD_PROGRAM_FAILURE, "the program does not compile" },
  { CL_INVALID_VALUE, "invalid value" },
  { CL_INVALID_BINARY, "invalid binary" },
  { CL_INVALID_BUILD_OPTIONS, "invalid build options" },
  { CL_INVALID_KERNEL_NAME, "no kernel of that name" },
  { CL_INVALID_KERNEL_ARGS, "kernel arguments missing" },
  { CL_INVALID_ARG_INDEX, "too many kernel arguments" },
  { CL_INVALID_ARG_SIZE, "a kernel argument of another size" },
  { CL_INVALID_WORK_GROUP_SIZE, "invalid work-group size" },
  { CL_INVALID_BUFFER_SIZE, "invalid buffer size" },
  { CL_INVALID_CONTEXT, "the context cannot be used any more: is the device lost?" },
  { CL_INVALID_COMMAND_QUEUE, "the queue cannot be used any more: is the device lost?" },
};

RT_FN const char *rt_status_text(cl_int status) {
  for (size_t i = 0; i < sizeof rt_status_names / sizeof *rt_status_names; i++)
    if (rt_status_names[i].status == status) return rt_status_names[i].name;
  return "error";
}

RT_FN bool rt_status_is_memory(cl_int status) {
  return status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY;
}

// RT_OK, or the error of an OpenCL call while `doing` something.
RT_FN int rt_opencl_check(struct rt_context *ctx, cl_int status, const char *doing) {
  if (status == CL_SUCCESS) return RT_OK;
  return rt_error(ctx, rt_status_is_memory(status) ? RT_OUT_OF_MEMORY : RT_OTHER_ERROR,
                  "%s: %s (OpenCL status %d)", doing, rt_status_text(status),
                  (int)status);
}

// Waits until the device has done everything; what has failed shows in a later call.
RT_FN void rt_wait(struct rt_context *ctx) { clFinish(ctx->queue); }

// The same, but a failure is an error.
RT_FN int rt_finish(struct rt_context *ctx) {
  return rt_opencl_check(ctx, clFinish(ctx->queue), "waiting for the device");
}

// ---- devices

enum { RT_MAX_DEVICES = 64 };

struct rt_device_list {
  cl_platform_id platforms[RT_MAX_DEVICES];
  cl_device_id ids[RT_MAX_DEVICES];
  int count;
};

// Keeps the first failure of several calls.
RT_FN void rt_note_status(cl_int *first, cl_int status) {
  if (*first == CL_SUCCESS) *first = status;
}

// A text property, which the caller frees; "" and a status in `failed` if there is none.
RT_FN char *rt_device_text(cl_device_id device, cl_device_info what, cl_int *failed) {
  size_t bytes = 0;
  rt_note_status(failed, clGetDeviceInfo(device, what, 0, NULL, &bytes));
  char *text = (char *)rt_host_alloc(bytes + 1);
  rt_note_status(failed, clGetDeviceInfo(device, what, bytes, text, NULL));
  return text;
}

RT_FN char *rt_platform_text(cl_platform_id platform, cl_platform_info what,
                             cl_int *failed) {
  size_t bytes = 0;
  rt_note_status(failed, clGetPlatformInfo(platform, what, 0, NULL, &bytes));
  char *text = (char *)rt_host_alloc(bytes + 1);
  rt_note_status(failed, clGetPlatformInfo(platform, what, bytes, text, NULL));
  return text;
}

RT_FN cl_device_type rt_device_type(cl_device_id device, cl_int *failed) {
  cl_device_type type = 0;
  rt_note_status(failed,
                 clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof type, &type, NULL));
  return type;
}

// A property that is a number of `bytes` bytes.
RT_FN int64_t rt_device_number(cl_device_id device, cl_device_info what, size_t bytes,
                               cl_int *failed) {
  uint64_t number = 0;
  rt_note_status(failed, clGetDeviceInfo(device, what, bytes, &number, NULL));
  return number > INT64_MAX ? INT64_MAX : (int64_t)number;
}

RT_FN struct rt_device_list rt_list_devices(void) {
  struct rt_device_list list;
  memset(&list, 0, sizeof list);
  cl_platform_id platforms[RT_MAX_DEVICES];
  cl_uint platform_count = 0;
  if (clGetPlatformIDs(RT_MAX_DEVICES, platforms, &platform_count) != CL_SUCCESS)
    return list;
  for (cl_uint p = 0; p < platform_count && list.count < RT_MAX_DEVICES; p++) {
    cl_uint count = 0;
    cl_uint room = (cl_uint)(RT_MAX_DEVICES - list.count);
    if (clGetDeviceIDs(platforms[p], CL_DEVICE_TYPE_ALL, room, list.ids + list.count,
                       &count) != CL_SUCCESS)
      continue;
    for (cl_uint d = 0; d < count && d < room; d++)
      list.platforms[list.count++] = platforms[p];
  }
  return list;
}

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

RT_FN bool rt_pattern_matches(const struct rt_pattern *p, const char *name) {
  for (const char *at = name; p->length > 0; at++) {
    if (strlen(at) < p->length) return false;
    if (strncmp(at, p->text, p->length) == 0) return true;
  }
  return true;
}

RT_FN bool rt_platform_matches(const struct rt_pattern *p, cl_platform_id platform) {
  cl_int failed = CL_SUCCESS;
  char *name = rt_platform_text(platform, CL_PLATFORM_NAME, &failed);
  bool matches = rt_pattern_matches(p, name);
  free(name);
  return matches;
}

RT_FN bool rt_device_matches(const struct rt_pattern *p, cl_device_id device) {
  cl_int failed = CL_SUCCESS;
  char *name = rt_device_text(device, CL_DEVICE_NAME, &failed);
  bool matches = rt_pattern_matches(p, name);
  free(name);
  return matches;
}

// Drops the devices that the configuration excludes.
RT_FN void rt_filter_devices(const struct rt_config *cfg, struct rt_device_list *list) {
  struct rt_pattern platform = rt_pattern_of(cfg->platform);
  struct rt_pattern device = rt_pattern_of(cfg->device);
  int kept = 0, platform_number = -1;
  cl_platform_id last = NULL;
  for (int i = 0; i < list->count; i++) {
    if (!rt_platform_matches(&platform, list->platforms[i])) continue;
    if (list->platforms[i] != last) platform_number++;
    last = list->platforms[i];
    if (platform.skip >= 0 && platform_number != platform.skip) continue;
    if (!rt_device_matches(&device, list->ids[i])) continue;
    list->platforms[kept] = list->platforms[i];
    list->ids[kept++] = list->ids[i];
  }
  list->count = kept;
}

// The number that was asked for, else the first GPU, else the first CPU, else the first.
RT_FN int rt_preferred_device(const struct rt_config *cfg,
                              const struct rt_device_list *list) {
  int asked = rt_pattern_of(cfg->device).skip;
  cl_int failed = CL_SUCCESS;
  if (asked >= 0) return asked < list->count ? asked : -1;
  for (int i = 0; i < list->count; i++)
    if (rt_device_type(list->ids[i], &failed) & CL_DEVICE_TYPE_GPU) return i;
  for (int i = 0; i < list->count; i++)
    if (rt_device_type(list->ids[i], &failed) & CL_DEVICE_TYPE_CPU) return i;
  return list->count > 0 ? 0 : -1;
}

void RT_NAME(context_config_list_devices)(struct rt_config *cfg) {
  struct rt_device_list list = rt_list_devices();
  cl_int failed = CL_SUCCESS;
  (void)cfg;
  for (int i = 0; i < list.count; i++) {
    char *name = rt_device_text(list.ids[i], CL_DEVICE_NAME, &failed);
    char *platform = rt_platform_text(list.platforms[i], CL_PLATFORM_NAME, &failed);
    bool gpu = (rt_device_type(list.ids[i], &failed) & CL_DEVICE_TYPE_GPU) != 0;
    printf("#%d: %s (%s), %s\n", i, name, platform, gpu ? "gpu" : "cpu");
    free(name);
    free(platform);
  }
}

// ---- what the device can do

// What makes a compiled program unusable elsewhere.
RT_FN char *rt_device_identity(cl_platform_id platform, cl_device_id device,
                               cl_int *failed) {
  static const cl_device_info parts[] = { CL_DEVICE_NAME, CL_DEVICE_VENDOR,
                                          CL_DEVICE_VERSION, CL_DRIVER_VERSION };
  struct rt_text t = { NULL, 0, 0 };
  char *version = rt_platform_text(platform, CL_PLATFORM_VERSION, failed);
  rt_text_printf(&t, "%s\n", version);
  free(version);
  for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
    char *part = rt_device_text(device, parts[i], failed);
    rt_text_printf(&t, "%s\n", part);
    free(part);
  }
  return rt_text_take(&t);
}

RT_FN bool rt_is_pocl(cl_platform_id platform, cl_int *failed) {
  char *name = rt_platform_text(platform, CL_PLATFORM_NAME, failed);
  bool is_pocl = strcmp(name, "Portable Computing Language") == 0;
  free(name);
  return is_pocl;
}

// Does the driver keep what it compiles in files of its own?  PoCL does, and gives binaries only
// after making code for groups of any size, which takes longer than what is launched.
RT_FN bool rt_driver_keeps_programs(const struct rt_device *d) {
  const char *wish = getenv("POCL_KERNEL_CACHE");
  return d->is_pocl && !(wish && strcmp(wish, "0") == 0);
}

RT_FN bool rt_device_has(cl_device_id device, const char *extension, cl_int *failed) {
  char *all = rt_device_text(device, CL_DEVICE_EXTENSIONS, failed);
  bool found = strstr(all, extension) != NULL;
  free(all);
  return found;
}

// The first failure among the questions, or CL_SUCCESS.
RT_FN cl_int rt_describe_device(struct rt_device *d, cl_platform_id platform,
                                cl_device_id id) {
  static const int64_t most_local_bytes_on_cpu = 1 << 20;  // PoCL aborts far beyond it
  const size_t word = sizeof(cl_ulong);
  cl_int failed = CL_SUCCESS;
  d->platform = platform;
  d->id = id;
  d->name = rt_device_text(id, CL_DEVICE_NAME, &failed);
  d->identity = rt_device_identity(platform, id, &failed);
  d->is_pocl = rt_is_pocl(platform, &failed);
  d->keeps_programs = rt_driver_keeps_programs(d);
  d->is_gpu = (rt_device_type(id, &failed) & CL_DEVICE_TYPE_GPU) != 0;
  d->compute_units =
      rt_device_number(id, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint), &failed);
  d->max_group_size =
      rt_device_number(id, CL_DEVICE_MAX_WORK_GROUP_SIZE, sizeof(size_t), &failed);
  d->local_bytes = rt_device_number(id, CL_DEVICE_LOCAL_MEM_SIZE, word, &failed);
  d->global_bytes = rt_device_number(id, CL_DEVICE_GLOBAL_MEM_SIZE, word, &failed);
  d->max_block_bytes = rt_device_number(id, CL_DEVICE_MAX_MEM_ALLOC_SIZE, word, &failed);
  if (!d->is_gpu && d->local_bytes > most_local_bytes_on_cpu)
    d->local_bytes = most_local_bytes_on_cpu;
  cl_device_fp_config single = 0;
  rt_note_status(&failed, clGetDeviceInfo(id, CL_DEVICE_SINGLE_FP_CONFIG, sizeof single,
                                          &single, NULL));
  d->atomic_bytes = rt_device_has(id, "cl_khr_int64_base_atomics", &failed) ? 8 : 4;
  d->exact_division = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  return failed;
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

// Takes device and context from a queue that the user made.
RT_FN int rt_adopt_queue(struct rt_context *ctx, cl_command_queue queue) {
  cl_device_id device = NULL;
  cl_platform_id platform = NULL;
  cl_context cl = NULL;
  cl_int status = clGetCommandQueueInfo(queue, CL_QUEUE_CONTEXT, sizeof cl, &cl, NULL);
  if (status == CL_SUCCESS)
    status = clGetCommandQueueInfo(queue, CL_QUEUE_DEVICE, sizeof device, &device, NULL);
  if (status == CL_SUCCESS)
    status =
        clGetDeviceInfo(device, CL_DEVICE_PLATFORM, sizeof platform, &platform, NULL);
  if (status == CL_SUCCESS) status = clRetainContext(cl);
  if (status == CL_SUCCESS) ctx->cl = cl;
  if (status == CL_SUCCESS) status = clRetainCommandQueue(queue);
  if (status == CL_SUCCESS) ctx->queue = queue;
  if (status == CL_SUCCESS) status = rt_describe_device(&ctx->device, platform, device);
  return rt_opencl_check(ctx, status, "using the given queue");
}

RT_FN int rt_choose_device(struct rt_context *ctx) {
  struct rt_device_list list = rt_list_devices();
  if (list.count == 0) return rt_error(ctx, RT_OTHER_ERROR, "no OpenCL device found");
  rt_filter_devices(ctx->config, &list);
  int chosen = rt_preferred_device(ctx->config, &list);
  if (chosen < 0)
    return rt_error(ctx, RT_OTHER_ERROR,
                    "no OpenCL device matches device \"%s\", platform \"%s\"",
                    ctx->config->device ? ctx->config->device : "",
                    ctx->config->platform ? ctx->config->platform : "");
  return rt_opencl_check(
      ctx, rt_describe_device(&ctx->device, list.platforms[chosen], list.ids[chosen]),
      "asking what the device can do");
}

RT_FN int rt_open_queue(struct rt_context *ctx) {
  if (ctx->config->queue) return rt_adopt_queue(ctx, ctx->config->queue);
  int error = rt_choose_device(ctx);
  if (error) return error;
  cl_int status = CL_SUCCESS;
  ctx->cl = clCreateContext(NULL, 1, &ctx->device.id, NULL, NULL, &status);
  if (status != CL_SUCCESS) return rt_opencl_check(ctx, status, "creating a context");
  cl_command_queue_properties properties =
      ctx->config->profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
  ctx->queue = clCreateCommandQueue(ctx->cl, ctx->device.id, properties, &status);
  return rt_opencl_check(ctx, status, "creating a command queue");
}
// End opencl.h
