// Begin opencl.h: devices through OpenCL: its errors, choosing a device, what device.h asks for.
//
// With RT_NO_OPENCL there is nothing of it, and programs need no OpenCL loader (docs/cuda.md).
#ifndef RT_NO_OPENCL

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

RT_FN const char *rt_cl_status_text(int status) {
  for (size_t i = 0; i < sizeof rt_status_names / sizeof *rt_status_names; i++)
    if (rt_status_names[i].status == status) return rt_status_names[i].name;
  return "error";
}

RT_FN enum rt_status_kind rt_cl_status_kind(int status) {
  if (status == CL_MEM_OBJECT_ALLOCATION_FAILURE || status == CL_OUT_OF_HOST_MEMORY)
    return RT_STATUS_MEMORY;
  return status == CL_OUT_OF_RESOURCES ? RT_STATUS_RESOURCES : RT_STATUS_OTHER;
}

RT_FN cl_command_queue rt_cl_queue(const struct rt_context *ctx) {
  return (cl_command_queue)ctx->queue;
}

RT_FN int rt_cl_finish(struct rt_context *ctx) {
  int status = ctx->busy || !ctx->goes_near ? clFinish(rt_cl_queue(ctx)) : CL_SUCCESS;
  if (!status) ctx->busy = false;
  return status;
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

RT_FN struct rt_device_list rt_cl_devices(void) {
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

// ---- a device near by
//
// PoCL's driver for one thread runs a kernel in the thread that asks for it, in half a microsecond;
// its usual one takes ten, in which two threads wake each other up.  So contexts that want it hold
// both, and launches of little work go there (rt_goes_near).  PoCL reads once per process which
// drivers it shall have, under the names of this and of earlier versions, and then shows both to
// everybody: so executables ask for it, libraries where the user does.

static const char rt_near_drivers[] = "cpu cpu-minimal pthread basic";

RT_FN void rt_near_ask(const struct rt_config *cfg) {
  if (cfg->near && !cfg->device && !cfg->platform)
    setenv("POCL_DEVICES", rt_near_drivers, 0);
}

RT_FN bool rt_device_is_near(cl_device_id device) {
  cl_int failed = CL_SUCCESS;
  char *name = rt_device_text(device, CL_DEVICE_NAME, &failed);
  bool is_near = strncmp(name, "basic", 5) == 0 || strncmp(name, "cpu-minimal", 11) == 0;
  free(name);
  return is_near;
}

// What nobody but rt_near_ask has asked for is not shown.
RT_FN void rt_near_hide(struct rt_device_list *list) {
  const char *drivers = getenv("POCL_DEVICES");
  int kept = 0;
  if (!drivers || strcmp(drivers, rt_near_drivers) != 0) return;
  for (int i = 0; i < list->count; i++) {
    if (rt_device_is_near(list->ids[i])) continue;
    list->platforms[kept] = list->platforms[i];
    list->ids[kept++] = list->ids[i];
  }
  list->count = kept;
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

RT_FN int rt_cl_list(void) {
  struct rt_device_list list = rt_cl_devices();
  cl_int failed = CL_SUCCESS;
  for (int i = 0; i < list.count; i++) {
    char *name = rt_device_text(list.ids[i], CL_DEVICE_NAME, &failed);
    char *platform = rt_platform_text(list.platforms[i], CL_PLATFORM_NAME, &failed);
    bool gpu = (rt_device_type(list.ids[i], &failed) & CL_DEVICE_TYPE_GPU) != 0;
    printf("#%d: %s (%s), %s\n", i, name, platform, gpu ? "gpu" : "cpu");
    free(name);
    free(platform);
  }
  return list.count;
}

// ---- what the device can do

// What makes a compiled program unusable elsewhere, or with other settings of PoCL's compiler.
RT_FN char *rt_device_identity(const struct rt_device *d, cl_int *failed) {
  static const char *const settings[] = { "POCL_EXTRA_BUILD_FLAGS",
                                          "POCL_LLVM_CPU_NAME" };
  struct rt_text t = { NULL, 0, 0 };
  char *vendor = rt_device_text(d->id, CL_DEVICE_VENDOR, failed),
       *version = rt_device_text(d->id, CL_DEVICE_VERSION, failed);
  rt_text_printf(&t, "%s\n%s\n%s\n%s\n%s\n", d->platform_version, d->name, vendor,
                 version, d->driver);
  for (size_t i = 0; d->is_pocl && i < sizeof settings / sizeof *settings; i++)
    if (getenv(settings[i]))
      rt_text_printf(&t, "%s=%s\n", settings[i], getenv(settings[i]));
  free(vendor);
  free(version);
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

// OpenCL 2.0, which neither headers nor loaders need to know.
enum { RT_CL_SVM_CAPABILITIES = 0x1053, RT_CL_USES_SVM_POINTER = 0x1109 };
enum { RT_CL_FINE_GRAIN = 1 << 1, RT_CL_SVM_FINE_GRAIN = 1 << 10 };
RT_CL_NEWER void *CL_API_CALL clSVMAlloc(cl_context context, cl_bitfield flags,
                                         size_t bytes, cl_uint alignment);
RT_CL_NEWER void CL_API_CALL clSVMFree(cl_context context, void *memory);

// May host and device access the same memory, one after the other, without copies?
RT_FN bool rt_shares_memory(cl_device_id device) {
  cl_bitfield can = 0;
  return clSVMAlloc && clSVMFree &&
         clGetDeviceInfo(device, RT_CL_SVM_CAPABILITIES, sizeof can, &can, NULL) ==
             CL_SUCCESS &&
         (can & RT_CL_FINE_GRAIN);
}

// Does the host's processor gather faster than it loads one by one?  Intel's do from Sapphire
// Rapids on, by half, which numbers of 16 bits tell (AVX512-FP16); those before it do not since an
// update of their microcode (gather data sampling), nor do AMD's.
RT_FN bool rt_gathers_quickly(void) {
#  if defined(__x86_64__) && defined(__GNUC__)
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (d >> 23 & 1);
#  else
  return false;
#  endif
}

// Does the host's processor have the instructions that this bit of its features (ecx of leaf 7)
// stands for?  PoCL from Debian compiles for the first processors with AVX-512, which had neither.
enum { RT_AVX512_VBMI = 1, RT_AVX512_VPOPCNTDQ = 14 };

RT_FN bool rt_has_feature(int bit) {
#  if defined(__x86_64__) && defined(__GNUC__)
  unsigned a, b, c, d;
  return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (c >> bit & 1);
#  else
  (void)bit;
  return false;
#  endif
}

// With subnormal numbers, which OpenCL leaves open.
RT_FN bool rt_computes_in_f16(cl_device_id id, cl_int *failed) {
  enum { HALF_FP_CONFIG = 0x1033 };
  const cl_device_fp_config all = CL_FP_DENORM | CL_FP_INF_NAN | CL_FP_ROUND_TO_NEAREST;
  cl_device_fp_config has = 0;
  return rt_device_has(id, "cl_khr_fp16", failed) &&
         clGetDeviceInfo(id, HALF_FP_CONFIG, sizeof has, &has, NULL) == CL_SUCCESS &&
         (has & all) == all;
}

enum { RT_CL_WAVEFRONT_AMD = 0x4043, RT_CL_SUB_GROUP_SIZES_INTEL = 0x4108 };

// Sizes that a kernel may ask for: 16 where there is that, as 32 items leave each few registers.
RT_FN int64_t rt_intel_sub_group(cl_device_id id) {
  size_t sizes[16], bytes = 0;
  int64_t found = 1;
  if (clGetDeviceInfo(id, RT_CL_SUB_GROUP_SIZES_INTEL, sizeof sizes, sizes, &bytes) !=
      CL_SUCCESS)
    return 1;
  for (size_t i = 0; i < bytes / sizeof *sizes; i++)
    if (sizes[i] == 16 || (sizes[i] == 32 && found == 1)) found = (int64_t)sizes[i];
  return found;
}

// Sub-groups of vendors whose items are numbered along the group, and whose size is known before a
// kernel is compiled.
RT_FN void rt_find_sub_groups(struct rt_device *d, cl_device_id id, cl_int *failed) {
  d->sub_group = 1;
  d->sub_words = "";
  if (rt_device_has(id, "cl_nv_device_attribute_query", failed)) {
    d->sub_group = 32;
  } else if (rt_device_has(id, "cl_intel_subgroups", failed) &&
             rt_device_has(id, "cl_intel_required_subgroup_size", failed)) {
    d->sub_group = rt_intel_sub_group(id);
    d->sub_words = " -DFLC_SUB_INTEL";
  } else if (rt_device_has(id, "cl_amd_device_attribute_query", failed)) {
    cl_uint items = 1;
    if (clGetDeviceInfo(id, RT_CL_WAVEFRONT_AMD, sizeof items, &items, NULL) ==
            CL_SUCCESS &&
        (items == 32 || items == 64))
      d->sub_group = items;
    d->sub_words = " -DFLC_SUB_AMD";
  }
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
  d->driver = rt_device_text(id, CL_DRIVER_VERSION, &failed);
  d->platform_version = rt_platform_text(platform, CL_PLATFORM_VERSION, &failed);
  d->is_pocl = rt_is_pocl(platform, &failed);
  d->identity = rt_device_identity(d, &failed);
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
  d->doubles = rt_device_number(id, CL_DEVICE_DOUBLE_FP_CONFIG,
                                sizeof(cl_device_fp_config), &failed) != 0;
  d->atomic_bytes = rt_device_has(id, "cl_khr_int64_base_atomics", &failed) ? 8 : 4;
  d->shares_memory = !d->is_gpu && rt_shares_memory(id);
  d->halves = rt_computes_in_f16(id, &failed);
  rt_find_sub_groups(d, id, &failed);
  d->gathers = d->is_pocl && !d->is_gpu && rt_gathers_quickly();
  d->permutes_bytes = d->is_pocl && !d->is_gpu && rt_has_feature(RT_AVX512_VBMI);
  d->counts_bits = d->is_pocl && !d->is_gpu && rt_has_feature(RT_AVX512_VPOPCNTDQ);
  d->exact_division = (single & CL_FP_CORRECTLY_ROUNDED_DIVIDE_SQRT) != 0;
  return failed;
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
  return rt_check_status(ctx, status, "using the given queue");
}

#  ifdef RT_THREADS
// The part of the device's compute units that this worker has; the device itself if it has all.
RT_FN int rt_take_part(struct rt_context *ctx, cl_device_id *device) {
  const struct rt_config *cfg = ctx->config;
  cl_int status = CL_SUCCESS;
  int64_t units =
      rt_device_number(*device, CL_DEVICE_MAX_COMPUTE_UNITS, sizeof(cl_uint), &status);
  if (status == CL_SUCCESS && units < cfg->parts && !cfg->shares_units)
    return rt_error(ctx, RT_OTHER_ERROR,
                    "the device has %" PRId64 " compute units, too few for %d parts",
                    units, cfg->parts);
  if (status != CL_SUCCESS || cfg->parts < 2 || units < cfg->parts)
    return rt_check_status(ctx, status, "asking for compute units");
  size_t count = (size_t)cfg->parts;
  cl_device_id *parts = (cl_device_id *)rt_host_alloc(count * sizeof *parts);
  cl_device_partition_property *how =
      (cl_device_partition_property *)rt_host_alloc((count + 3) * sizeof *how);
  how[0] = CL_DEVICE_PARTITION_BY_COUNTS;
  for (size_t i = 0; i < count; i++)
    how[1 + i] = units / cfg->parts + ((int64_t)i < units % cfg->parts);
  how[1 + count] = CL_DEVICE_PARTITION_BY_COUNTS_LIST_END;
  status = clCreateSubDevices(*device, how, (cl_uint)count, parts, NULL);
  if (status == CL_SUCCESS) *device = parts[cfg->part];
  for (int i = 0; i < cfg->parts && status == CL_SUCCESS; i++)
    if (i != cfg->part) clReleaseDevice(parts[i]);
  free(parts);
  free(how);
  return rt_check_status(ctx, status, "dividing the device");
}
#  endif

RT_FN int rt_cl_no_match(struct rt_context *ctx, const struct rt_device_list *all) {
  struct rt_text t = { NULL, 0, 0 };
  cl_int failed = CL_SUCCESS;
  for (int i = 0; i < all->count; i++) {
    char *name = rt_device_text(all->ids[i], CL_DEVICE_NAME, &failed);
    char *platform = rt_platform_text(all->platforms[i], CL_PLATFORM_NAME, &failed);
    rt_text_printf(&t, "%s#%d %s (%s)", i ? ", " : "", i, name, platform);
    free(name);
    free(platform);
  }
  return rt_no_match(ctx, "OpenCL", &t);
}

RT_FN bool rt_may_have_near(const struct rt_context *ctx) {
#  ifdef RT_THREADS
  if (ctx->config->parts > 1) return false;
#  endif
  return ctx->config->near && ctx->device.is_pocl && ctx->device.shares_memory;
}

RT_FN void rt_near_choose(struct rt_context *ctx, const struct rt_device_list *list) {
  if (!rt_may_have_near(ctx)) return;
  for (int i = 0; i < list->count && !ctx->near.id; i++)
    if (list->platforms[i] == ctx->device.platform && list->ids[i] != ctx->device.id &&
        rt_device_is_near(list->ids[i]))
      ctx->near.id = list->ids[i];
}

RT_FN int rt_choose_device(struct rt_context *ctx) {
  rt_near_ask(ctx->config);
  struct rt_device_list list = rt_cl_devices(), every = list;
  rt_near_hide(&list);
  struct rt_device_list all = list;
  if (list.count == 0) return rt_error(ctx, RT_NO_DEVICE, "no OpenCL device found");
  rt_filter_devices(ctx->config, &list);
  int chosen = rt_preferred_device(ctx->config, &list);
  if (chosen < 0) return rt_cl_no_match(ctx, &all);
#  ifdef RT_THREADS
  int error = rt_take_part(ctx, &list.ids[chosen]);
  if (error) return error;
#  endif
  cl_int status =
      rt_describe_device(&ctx->device, list.platforms[chosen], list.ids[chosen]);
  if (status == CL_SUCCESS) rt_near_choose(ctx, &every);
  return rt_check_status(ctx, status, "asking what the device can do");
}

RT_FN int rt_cl_open(struct rt_context *ctx) {
  if (ctx->config->queue)
    return rt_adopt_queue(ctx, (cl_command_queue)ctx->config->queue);
  int error = rt_choose_device(ctx);
  if (error) return error;
  cl_int status = CL_SUCCESS;
  const cl_device_id ids[] = { ctx->device.id, ctx->near.id };
  ctx->cl = clCreateContext(NULL, ctx->near.id ? 2 : 1, ids, NULL, NULL, &status);
  if (status != CL_SUCCESS) return rt_check_status(ctx, status, "creating a context");
  cl_command_queue_properties properties =
      ctx->config->profiling ? CL_QUEUE_PROFILING_ENABLE : 0;
  ctx->queue = clCreateCommandQueue(ctx->cl, ctx->device.id, properties, &status);
  if (status == CL_SUCCESS && ctx->near.id)
    ctx->near.queue = clCreateCommandQueue(ctx->cl, ctx->near.id, properties, &status);
  return rt_check_status(ctx, status, "creating a command queue");
}

// Parts of devices stay until the process ends: PoCL 3.1 releases the event of the last command in
// a thread of its own, after the queue was found finished, and asks the device for it.  So does the
// context of an executable, as PoCL takes a tenth of a short run to free its library.
RT_FN void rt_cl_close(struct rt_context *ctx) {
  if (ctx->queue) clReleaseCommandQueue(rt_cl_queue(ctx));
  if (ctx->near.queue) clReleaseCommandQueue(ctx->near.queue);
  if (ctx->cl && !ctx->config->at_end) clReleaseContext(ctx->cl);
}

// ---- buffers

// Memory that host and device share, behind one buffer.  Why: a command that copies a few bytes
// takes 5 to 50 us on a CPU, most of which two threads wake each other up.
struct rt_shared {
  cl_context cl;
  void *memory;
};

RT_FN void rt_shared_free(struct rt_shared *s) {
  if (s && s->memory) clSVMFree(s->cl, s->memory);
  free(s);
}

// The whole pages of 2 MB within may be such, where the system leaves that to programs (Linux,
// transparent_hugepage/enabled = madvise).  Why: rows of columns lie in a page each otherwise.
RT_FN void rt_want_large_pages(void *memory, int64_t bytes) {
#  ifdef MADV_HUGEPAGE
  const uintptr_t page = (uintptr_t)1 << 21;
  uintptr_t from = ((uintptr_t)memory + page - 1) / page * page;
  uintptr_t to = ((uintptr_t)memory + (uintptr_t)bytes) / page * page;
  if (from < to) madvise((void *)from, to - from, MADV_HUGEPAGE);
#  else
  (void)memory, (void)bytes;
#  endif
}

// NULL if the device has none to share.
RT_FN struct rt_shared *rt_shared_new(const struct rt_context *ctx, int64_t bytes) {
  if (!ctx->device.shares_memory) return NULL;
  struct rt_shared *s = (struct rt_shared *)rt_host_alloc(sizeof *s);
  s->cl = ctx->cl;
  s->memory =
      clSVMAlloc(ctx->cl, CL_MEM_READ_WRITE | RT_CL_SVM_FINE_GRAIN, (size_t)bytes, 0);
  if (s->memory) {
    rt_want_large_pages(s->memory, bytes);
    return s;
  }
  rt_shared_free(s);
  return NULL;
}

// Once neither commands nor the user need the buffer.
RT_FN void CL_CALLBACK rt_shared_done(cl_mem buffer, void *shared) {
  (void)buffer;
  rt_shared_free((struct rt_shared *)shared);
}

RT_FN int rt_cl_buffer_new(struct rt_context *ctx, int64_t bytes,
                           struct rt_buffer **out) {
  cl_int status = CL_SUCCESS;
  struct rt_shared *shared = rt_shared_new(ctx, bytes);
  cl_mem_flags flags = CL_MEM_READ_WRITE | (shared ? CL_MEM_USE_HOST_PTR : 0);
  cl_mem buffer = clCreateBuffer(ctx->cl, flags, (size_t)bytes,
                                 shared ? shared->memory : NULL, &status);
  *out = NULL;
  if (status == CL_SUCCESS && shared) {
    status = clSetMemObjectDestructorCallback(buffer, rt_shared_done, shared);
    if (status != CL_SUCCESS) clReleaseMemObject(buffer);
  }
  if (status != CL_SUCCESS) rt_shared_free(shared);
  if (status == CL_SUCCESS) *out = (struct rt_buffer *)buffer;
  return status;
}

// Where the host sees the place; NULL: nowhere.
RT_FN char *rt_cl_shared_place(const struct rt_context *ctx, struct rt_place place) {
  cl_mem buffer = (cl_mem)place.buffer;
  cl_bool is_shared = CL_FALSE;
  void *memory = NULL;
  if (!ctx->device.shares_memory) return NULL;
  if (clGetMemObjectInfo(buffer, RT_CL_USES_SVM_POINTER, sizeof is_shared, &is_shared,
                         NULL) != CL_SUCCESS ||
      !is_shared ||
      clGetMemObjectInfo(buffer, CL_MEM_HOST_PTR, sizeof memory, &memory, NULL) !=
          CL_SUCCESS ||
      !memory)
    return NULL;
  return (char *)memory + place.offset;
}

RT_FN void rt_cl_buffer_free(struct rt_context *ctx, struct rt_buffer *buffer,
                             bool foreign) {
  (void)ctx, (void)foreign;
  clReleaseMemObject((cl_mem)buffer);
}

RT_FN int rt_cl_buffer_hold(struct rt_context *ctx, struct rt_buffer *buffer,
                            int64_t *bytes) {
  cl_context owner = NULL;
  size_t size = 0;
  cl_mem memory = (cl_mem)buffer;
  cl_int status = clGetMemObjectInfo(memory, CL_MEM_CONTEXT, sizeof owner, &owner, NULL);
  if (status == CL_SUCCESS)
    status = clGetMemObjectInfo(memory, CL_MEM_SIZE, sizeof size, &size, NULL);
  *bytes = owner == ctx->cl ? (int64_t)size : -1;
  return status == CL_SUCCESS && *bytes >= 0 ? clRetainMemObject(memory) : status;
}

RT_FN bool rt_cl_buffer_held(struct rt_context *ctx, struct rt_buffer *buffer) {
  cl_uint count = 0;
  (void)ctx;
  return clGetMemObjectInfo((cl_mem)buffer, CL_MEM_REFERENCE_COUNT, sizeof count, &count,
                            NULL) != CL_SUCCESS ||
         count > 1;
}

// Hands an event to where it is wanted.
RT_FN int rt_cl_give(struct rt_event **out, cl_event event, cl_int status) {
  if (out && status == CL_SUCCESS) *out = (struct rt_event *)event;
  return status;
}

RT_FN int rt_cl_write(struct rt_context *ctx, struct rt_place to, int64_t bytes,
                      const void *from, struct rt_event **event) {
  char *shared = event ? NULL : rt_cl_shared_place(ctx, to);
  cl_event done = NULL;
  if (shared) {
    int failed = rt_cl_finish(ctx);
    if (!failed) memcpy(shared, from, (size_t)bytes);
    return failed;
  }
  cl_int status = clEnqueueWriteBuffer(rt_cl_queue(ctx), (cl_mem)to.buffer, CL_TRUE,
                                       (size_t)to.offset, (size_t)bytes, from, 0, NULL,
                                       event ? &done : NULL);
  return rt_cl_give(event, done, status);
}

RT_FN int rt_cl_read(struct rt_context *ctx, struct rt_place from, int64_t bytes,
                     void *to, struct rt_event **event) {
  const char *shared = event ? NULL : rt_cl_shared_place(ctx, from);
  cl_event done = NULL;
  if (shared) {
    int failed = rt_cl_finish(ctx);
    if (!failed) memcpy(to, shared, (size_t)bytes);
    return failed;
  }
  cl_int status = clEnqueueReadBuffer(rt_cl_queue(ctx), (cl_mem)from.buffer, CL_TRUE,
                                      (size_t)from.offset, (size_t)bytes, to, 0, NULL,
                                      event ? &done : NULL);
  return rt_cl_give(event, done, status);
}

// Few bytes, where nothing has to be waited for: a command would have to be.
RT_FN bool rt_cl_copy_now(const struct rt_context *ctx, struct rt_place to,
                          struct rt_place from, int64_t bytes) {
  enum { FEW_BYTES = 1 << 16 };
  if (!ctx->goes_near || ctx->busy || bytes > FEW_BYTES) return false;
  const char *source = rt_cl_shared_place(ctx, from);
  char *target = rt_cl_shared_place(ctx, to);
  if (!source || !target) return false;
  memmove(target, source, (size_t)bytes);
  return true;
}

RT_FN int rt_cl_copy(struct rt_context *ctx, struct rt_place to, struct rt_place from,
                     int64_t bytes, struct rt_event **event) {
  cl_event done = NULL;
  if (!event && rt_cl_copy_now(ctx, to, from, bytes)) return CL_SUCCESS;
  ctx->busy = true;
  cl_int status = clEnqueueCopyBuffer(
      rt_cl_queue(ctx), (cl_mem)from.buffer, (cl_mem)to.buffer, (size_t)from.offset,
      (size_t)to.offset, (size_t)bytes, 0, NULL, event ? &done : NULL);
  return rt_cl_give(event, done, status);
}

// ---- modules and functions: OpenCL's programs and kernels

RT_FN char *rt_cl_build_log(cl_device_id id, cl_program program) {
  size_t bytes = 0;
  clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, 0, NULL, &bytes);
  char *log = (char *)rt_host_alloc(bytes + 1);
  clGetProgramBuildInfo(program, id, CL_PROGRAM_BUILD_LOG, bytes, log, NULL);
  return log;
}

// The status of the build; out: set if it succeeds, else the log, if wanted.
RT_FN int rt_cl_build(cl_context cl, cl_device_id id, const char **texts,
                      cl_uint text_count, const char *options, struct rt_module **out,
                      char **log) {
  cl_int status = CL_SUCCESS;
  cl_program program = clCreateProgramWithSource(cl, text_count, texts, NULL, &status);
  if (status != CL_SUCCESS) return status;
  status = clBuildProgram(program, 1, &id, options, NULL, NULL);
  if (status == CL_SUCCESS) {
    *out = (struct rt_module *)program;
    return status;
  }
  if (log) *log = rt_cl_build_log(id, program);
  clReleaseProgram(program);
  return status;
}

// NULL if the device does not accept the bytes.
RT_FN struct rt_module *rt_cl_load_for(const struct rt_context *ctx, cl_device_id id,
                                       const unsigned char *bytes, size_t length,
                                       const char *options) {
  cl_int status = CL_SUCCESS, valid = CL_SUCCESS;
  cl_program program =
      clCreateProgramWithBinary(ctx->cl, 1, &id, &length, &bytes, &valid, &status);
  if (status != CL_SUCCESS) return NULL;
  if (clBuildProgram(program, 1, &id, options, NULL, NULL) == CL_SUCCESS)
    return (struct rt_module *)program;
  clReleaseProgram(program);
  return NULL;
}

RT_FN struct rt_module *rt_cl_load(struct rt_context *ctx, bool near,
                                   const unsigned char *bytes, size_t length,
                                   const char *options) {
  cl_device_id id = near ? ctx->near.id : ctx->device.id;
  return rt_cl_load_for(ctx, id, bytes, length, options);
}

// A program has a place for each device of the context, and is for one of them.
RT_FN unsigned char *rt_cl_bytes(cl_program program, size_t *length) {
  size_t lengths[2] = { 0, 0 };
  if (clGetProgramInfo(program, CL_PROGRAM_BINARY_SIZES, sizeof lengths, lengths, NULL) !=
      CL_SUCCESS)
    return NULL;
  int place = lengths[0] == 0;
  *length = lengths[place];
  if (*length == 0) return NULL;
  unsigned char *bytes = (unsigned char *)rt_host_alloc(*length), *all[] = { NULL, NULL };
  all[place] = bytes;
  if (clGetProgramInfo(program, CL_PROGRAM_BINARIES, sizeof all, all, NULL) == CL_SUCCESS)
    return bytes;
  free(bytes);
  return NULL;
}

RT_FN unsigned char *rt_cl_image(struct rt_context *ctx, struct rt_module *module,
                                 size_t *length) {
  (void)ctx;
  return rt_cl_bytes((cl_program)module, length);
}

// The bytes of the text compiled alone and not linked; NULL if that fails.
RT_FN unsigned char *rt_cl_compiled(cl_context cl, cl_device_id id, const char *text,
                                    const char *options, size_t *length) {
  cl_int status = CL_SUCCESS;
  struct rt_text all = { NULL, 0, 0 };
  unsigned char *bytes = NULL;
  cl_program program = clCreateProgramWithSource(cl, 1, &text, NULL, &status);
  if (status != CL_SUCCESS) return NULL;
  rt_text_printf(&all, "%s -D_OPENCL_H_ -DFLC_BUILTINS -DFLC_ALONE", options);
  if (clCompileProgram(program, 1, &id, all.data, 0, NULL, NULL, NULL, NULL) ==
      CL_SUCCESS)
    bytes = rt_cl_bytes(program, length);
  rt_text_free(&all);
  clReleaseProgram(program);
  return bytes;
}

// With what kernels use of OpenCL C's functions in the place of clang's header, which PoCL reads
// for each program; false if that does not compile.
RT_FN bool rt_cl_build_quickly(struct rt_context *ctx, cl_device_id id,
                               const char *source, const char *options,
                               struct rt_module **out) {
  struct rt_text builtins = { NULL, 0, 0 }, all = { NULL, 0, 0 };
  rt_text_pieces(&builtins, ctx->program->opencl_builtins);
  rt_text_printf(&all, "%s -D_OPENCL_H_ -DFLC_BUILTINS", options);
  const char *texts[] = { builtins.data, source };
  int status = rt_cl_build(ctx->cl, id, texts, 2, all.data, out, NULL);
  rt_text_free(&builtins);
  rt_text_free(&all);
  return status == CL_SUCCESS;
}

// May the program do without PoCL's library?  What is made of it then is no binary for other
// drivers.
RT_FN bool rt_cl_may_be_alone(const struct rt_context *ctx) {
  return ctx->device.keeps_programs && !rt_cache_wanted(ctx) &&
         !ctx->config->dump_binary_to && strstr(ctx->device.platform_version, "PoCL 3.1");
}

// Without being linked with that library (pocl.h); NULL if it has to be.
RT_FN struct rt_module *rt_cl_build_alone(struct rt_context *ctx, cl_device_id id,
                                          const char *source, const char *options) {
  struct rt_text all = { NULL, 0, 0 }, kernels = { NULL, 0, 0 }, binary = { NULL, 0, 0 };
  struct rt_module *module = NULL;
  uint32_t count = 0;
  if (rt_pocl_kernels(&kernels, source, &count)) {
    rt_text_pieces(&all, ctx->program->opencl_builtins);
    rt_text_add(&all, source);
    size_t length = 0;
    unsigned char *compiled = rt_cl_compiled(ctx->cl, id, all.data, options, &length);
    if (compiled && rt_pocl_executable(&binary, compiled, length, &kernels, count))
      module =
          rt_cl_load_for(ctx, id, (unsigned char *)binary.data, binary.length, options);
    free(compiled);
  }
  rt_text_free(&all);
  rt_text_free(&kernels);
  if (module && ctx->driver_caches)
    ctx->image = binary;
  else
    rt_text_free(&binary);
  return module;
}

RT_FN int rt_cl_compile(struct rt_context *ctx, bool near, const char *source,
                        const char *options, struct rt_module **out, char **log) {
  cl_device_id id = near ? ctx->near.id : ctx->device.id;
  if (ctx->device.is_pocl && ctx->own_sources) {
    bool alone = rt_cl_may_be_alone(ctx);
    *out = alone ? rt_cl_build_alone(ctx, id, source, options) : NULL;
    if (alone && !*out) rt_log(ctx, "linked with the library of all that is built in");
    if (*out || rt_cl_build_quickly(ctx, id, source, options, out)) return CL_SUCCESS;
    rt_log(ctx, "compiled with the header of all that is built in");
  }
  return rt_cl_build(ctx->cl, id, &source, 1, options, out, log);
}

RT_FN int rt_cl_module_keep(struct rt_module *module) {
  return clRetainProgram((cl_program)module);
}

RT_FN void rt_cl_module_drop(struct rt_context *ctx, struct rt_module *module) {
  (void)ctx;
  clReleaseProgram((cl_program)module);
}

RT_FN int rt_cl_function_new(struct rt_context *ctx, struct rt_module *module,
                             const char *name, struct rt_function **out) {
  cl_int status = CL_SUCCESS;
  (void)ctx;
  cl_kernel kernel = clCreateKernel((cl_program)module, name, &status);
  *out = status == CL_SUCCESS ? (struct rt_function *)kernel : NULL;
  return status;
}

RT_FN void rt_cl_function_free(struct rt_context *ctx, struct rt_function *function) {
  (void)ctx;
  clReleaseKernel((cl_kernel)function);
}

RT_FN int rt_cl_function_limit(struct rt_context *ctx, bool near,
                               struct rt_function *function, int64_t *items) {
  size_t most = 0;
  cl_int status =
      clGetKernelWorkGroupInfo((cl_kernel)function, near ? ctx->near.id : ctx->device.id,
                               CL_KERNEL_WORK_GROUP_SIZE, sizeof most, &most, NULL);
  *items = (int64_t)most;
  return status;
}

RT_FN int rt_cl_set_arg(struct rt_function *function, int number, size_t bytes,
                        const void *value) {
  return clSetKernelArg((cl_kernel)function, (cl_uint)number, bytes, value);
}

RT_FN int rt_cl_launch(struct rt_context *ctx, bool near, struct rt_function *function,
                       size_t groups, size_t group_size, struct rt_event **event) {
  cl_event done = NULL;
  size_t items = groups * group_size;
  cl_command_queue queue = near ? ctx->near.queue : rt_cl_queue(ctx);
  cl_int status = clEnqueueNDRangeKernel(queue, (cl_kernel)function, 1, NULL, &items,
                                         &group_size, 0, NULL, event ? &done : NULL);
  if (status == CL_SUCCESS && near) status = clFinish(queue);
  if (!near) ctx->busy = true;
  return rt_cl_give(event, done, status);
}

RT_FN struct rt_times rt_cl_event_end(struct rt_context *ctx, struct rt_event *event) {
  static const cl_profiling_info infos[] = { CL_PROFILING_COMMAND_QUEUED,
                                             CL_PROFILING_COMMAND_START,
                                             CL_PROFILING_COMMAND_END };
  cl_ulong at[3] = { 0, 0, 0 };
  (void)ctx;
  for (int i = 0; i < 3; i++)
    clGetEventProfilingInfo((cl_event)event, infos[i], sizeof at[i], &at[i], NULL);
  clReleaseEvent((cl_event)event);
  if (at[2] < at[1]) at[2] = at[1];
  struct rt_times times = { (int64_t)at[0], (int64_t)at[1], (int64_t)at[2] };
  return times;
}

static const struct rt_backend rt_opencl = {
  "opencl",
  "OpenCL",
  " -cl-fp32-correctly-rounded-divide-sqrt",
  rt_cl_list,
  rt_cl_open,
  rt_cl_close,
  rt_cl_status_text,
  rt_cl_status_kind,
  rt_cl_finish,
  rt_cl_buffer_new,
  rt_cl_buffer_free,
  rt_cl_buffer_hold,
  rt_cl_buffer_held,
  rt_cl_write,
  rt_cl_read,
  rt_cl_copy,
#  ifdef RT_WORKERS
  NULL,  // buffers have no addresses
#  endif
  rt_cl_compile,
  rt_cl_load,
  rt_cl_image,
  rt_cl_module_keep,
  rt_cl_module_drop,
  rt_cl_function_new,
  rt_cl_function_free,
  rt_cl_function_limit,
  rt_cl_set_arg,
  rt_cl_launch,
  rt_cl_event_end,
};
#endif
// End opencl.h
