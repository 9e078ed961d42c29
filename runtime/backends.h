// Begin backends.h: which backend a context uses.

static const struct rt_backend *const rt_backends[] = {
#ifndef RT_NO_OPENCL
  &rt_opencl,
#endif
  &rt_cuda_backend,
};

enum { RT_BACKEND_COUNT = sizeof rt_backends / sizeof *rt_backends };

int RT_NAME(context_config_set_backend)(struct rt_config *cfg, const char *name) {
  for (int i = 0; i < RT_BACKEND_COUNT; i++) {
    if (strcmp(rt_backends[i]->name, name) != 0) continue;
    cfg->backend = rt_backends[i];
    return 0;
  }
  return 1;
}

const char *RT_NAME(context_get_backend)(struct rt_context *ctx) {
  return ctx->backend ? ctx->backend->name : "";
}

RT_FN int rt_list_devices(const struct rt_config *cfg) {
  int count = 0;
  for (int i = 0; i < RT_BACKEND_COUNT; i++)
    if (!cfg->backend || cfg->backend == rt_backends[i]) count += rt_backends[i]->list();
  return count;
}

void RT_NAME(context_config_list_devices)(struct rt_config *cfg) { rt_list_devices(cfg); }

static const char rt_no_device_hint[] =
    "\nhint: a GPU needs its maker's driver; Debian's pocl-opencl-icd makes a device of "
    "the "
    "processor, if it can write to a folder for its cache ($POCL_CACHE_DIR, or in $HOME)";

// Threads open their first devices one after the other: drivers start then, and PoCL 3.1 shows
// devices to one thread that another one is still making.
static pthread_mutex_t rt_opening = PTHREAD_MUTEX_INITIALIZER;

// Threads in other libraries of the process wait as well.  What these have in common without
// sharing names (dlopen keeps those apart) is a file that no other process has, whose lock each
// opening has for itself.  -1 where there is none.
RT_FN int rt_opening_begin(void) {
  pthread_mutex_lock(&rt_opening);
  int fd = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  while (fd >= 0 && flock(fd, LOCK_EX) != 0 && errno == EINTR)
    ;
  return fd;
}

// Unlocked before it is closed, as a process that was forked meanwhile may have it, too.
RT_FN void rt_opening_end(int fd) {
  if (fd >= 0) {
    flock(fd, LOCK_UN);
    close(fd);
  }
  pthread_mutex_unlock(&rt_opening);
}

// RT_NO_DEVICE leaves nothing behind but the error's text.
RT_FN int rt_open_backend(struct rt_context *ctx, const struct rt_backend *backend) {
  ctx->backend = backend;
  int lock = rt_opening_begin();
  int error = backend->open(ctx);
  rt_opening_end(lock);
  if (error == RT_NO_DEVICE) {
    backend->close(ctx);
    ctx->backend = NULL;
  }
  return error;
}

// That which was asked for, else the first with a device.  A queue of the user's is for the first
// of them, if nothing else is said.  If there is no device, then the error is the first's,
// with what a driver of CUDA had to say, if there is one.
RT_FN int rt_open_device(struct rt_context *ctx) {
  const struct rt_config *cfg = ctx->config;
  int error = rt_open_backend(ctx, cfg->backend ? cfg->backend : rt_backends[0]);
  if (error != RT_NO_DEVICE) return error;
  if (cfg->backend || RT_BACKEND_COUNT == 1) return RT_OTHER_ERROR;
  char *message = ctx->error;
  ctx->error = NULL;
  error = rt_open_backend(ctx, &rt_cuda_backend);
  if (error == RT_NO_DEVICE) {
    char *other = rt_strdup(ctx->error);
    bool has_driver = strstr(other, "libcuda") == NULL;
    bool has_none = !cfg->device && !cfg->platform;
    error = rt_error(ctx, RT_OTHER_ERROR, "%s%s%s%s", message, has_driver ? "; " : "",
                     has_driver ? other : "", has_none ? rt_no_device_hint : "");
    free(other);
  }
  free(message);
  return error;
}
// End backends.h
