// Begin entry.h: contexts from start to end; arrays and opaque values; around entry points.

// ---- the texts of kernels, as one text that can be written, changed and read back

static const char rt_kernel_mark[] = "\n// flc kernel ";

RT_FN char *rt_all_sources(const struct rt_program *program) {
  struct rt_text t = { NULL, 0, 0 };
  rt_text_pieces(&t, program->opencl_prelude);
  for (int k = 0; k < program->kernel_count; k++) {
    rt_text_printf(&t, "%s%d %s\n", rt_kernel_mark, k, program->kernels[k].name);
    rt_text_pieces(&t, program->kernels[k].text);
  }
  return rt_text_take(&t);
}

const char *RT_NAME(context_config_get_program)(struct rt_config *cfg) {
  if (!cfg->program) cfg->program = rt_all_sources(rt_program());
  return cfg->program;
}

// Takes the prelude and the kernels apart again; kernels that the text lacks keep their own.
RT_FN void rt_use_sources(struct rt_context *ctx, const char *text) {
  struct rt_text piece = { NULL, 0, 0 };
  const char *mark = strstr(text, rt_kernel_mark);
  rt_text_bytes(&piece, text, mark ? (size_t)(mark - text) : strlen(text));
  free(ctx->prelude);
  ctx->prelude = rt_text_take(&piece);
  while (mark) {
    const char *number = mark + sizeof rt_kernel_mark - 1;
    const char *next = strstr(number, rt_kernel_mark);
    int kernel = atoi(number);
    rt_text_bytes(&piece, number, next ? (size_t)(next - number) : strlen(number));
    char *body = rt_text_take(&piece), *line_end = strchr(body, '\n');
    if (kernel >= 0 && kernel < ctx->program->kernel_count && line_end)
      rt_set_string(&ctx->kernels[kernel].text, line_end);
    free(body);
    mark = next;
  }
}

RT_FN int rt_open_sources(struct rt_context *ctx) {
  const struct rt_config *cfg = ctx->config;
  size_t length = 0;
  char *loaded = NULL;
  if (cfg->load_program_from) {
    loaded = rt_read_file(cfg->load_program_from, &length);
    if (!loaded)
      return rt_error(ctx, RT_OTHER_ERROR, "cannot read %s: %s", cfg->load_program_from,
                      strerror(errno));
  }
  struct rt_text prelude = { NULL, 0, 0 };
  rt_text_pieces(&prelude, ctx->program->opencl_prelude);
  ctx->prelude = rt_text_take(&prelude);
  const char *text = loaded ? loaded : cfg->program;
  ctx->own_sources = !text;
  if (text) rt_use_sources(ctx, text);
  int error = RT_OK;
  if (cfg->dump_program_to) {
    char *all = text ? rt_strdup(text) : rt_all_sources(ctx->program);
    if (!rt_write_file(cfg->dump_program_to, all, strlen(all)))
      error = rt_error(ctx, RT_OTHER_ERROR, "cannot write %s: %s", cfg->dump_program_to,
                       strerror(errno));
    free(all);
  }
  free(loaded);
  return error;
}

// The size of the groups that the kernel is launched with, as far as is known before.
RT_FN int64_t rt_usual_group(const struct rt_context *ctx, int kernel) {
  int64_t size = ctx->program->kernels[kernel].group_size;
  return size > 0 ? size : ctx->default_group_size;
}

#ifndef RT_LIBRARY  // whose process has its environment to itself
// PoCL's compiled programs hold code for groups of any size, which it does not use while it has a
// compiler, unless it is told here for which sizes it shall add some; grids of less than 65536
// items have code of their own.
RT_FN void rt_specialise(const struct rt_context *ctx, const struct rt_batch *batch) {
  struct rt_text all = { NULL, 0, 0 };
  rt_text_add(&all, ",");
  for (int i = 0; i < batch->count && ctx->device.is_pocl; i++) {
    struct rt_text one = { NULL, 0, 0 };
    int kernel = batch->kernels[i];
    int64_t size = rt_usual_group(ctx, kernel);
    rt_text_printf(&one, ",%" PRId64 "-1-1-goffs0-smallgrid,", size);
    if (ctx->program->kernels[kernel].group_size == 0)
      rt_text_printf(&one, "%" PRId64 "-1-1-goffs0,", size);
    if (!strstr(all.data, one.data)) rt_text_add(&all, one.data + 1);
    rt_text_free(&one);
  }
  if (ctx->device.is_pocl) setenv("POCL_BINARY_SPECIALIZE_WG", all.data, 1);
  rt_text_free(&all);
}
#endif

// Builds every kernel of the profile, for groups of the usual size, and writes them all.
RT_FN int rt_dump_binaries(struct rt_context *ctx, const char *file) {
  struct rt_binaries all = { NULL, 0 };
  int error = RT_OK;
  for (int k = 0; k < ctx->program->kernel_count && !error; k++) {
    if (ctx->program->kernels[k].for_gpu != ctx->gpu_code) continue;
    struct rt_form form = { false, 0, false, ctx->program->kernels[k].for_gpu, false };
    struct rt_module *module = NULL;
    struct rt_text options = { NULL, 0, 0 };
    if (ctx->program->kernels[k].sized) form.group_size = rt_usual_group(ctx, k);
    rt_build_options(ctx, k, form, &options);
    struct rt_batch batch = rt_batch_of(ctx, k, form);
    char *about = rt_program_about(ctx, false, &batch, options.data);
    bool is_new = !rt_binaries_find(&all, about);
#ifndef RT_LIBRARY
    if (is_new) rt_specialise(ctx, &batch);
#endif
    if (is_new) error = rt_build_program(ctx, &batch, form, &module);
    if (module && !rt_module_image(ctx, module, about, &all))
      error = rt_error(ctx, RT_OTHER_ERROR, "the device gives no compiled programs");
    if (module) ctx->backend->module_drop(ctx, module);
    rt_batch_free(&batch);
    rt_text_free(&options);
    free(about);
  }
  if (!error && !rt_binaries_save(&all, file, 0666))
    error = rt_error(ctx, RT_OTHER_ERROR, "cannot write %s: %s", file, strerror(errno));
  rt_binaries_free(&all);
  return error;
}

// ---- contexts

RT_FN const struct rt_entry_point *rt_entry_named(const struct rt_program *program,
                                                  const char *name) {
  for (int i = 0; i < program->entry_count; i++)
    if (strcmp(program->entries[i].name, name) == 0) return &program->entries[i];
  return NULL;
}

// Where kernels were compiled before, or are kept by the program, none is compiled once more.
RT_FN bool rt_may_go_near(const struct rt_context *ctx) {
  return ctx->near.queue && !ctx->gpu_code && !ctx->uses_ahead && !ctx->loaded.count &&
         !rt_cache_wanted(ctx);
}

RT_FN int rt_context_open(struct rt_context *ctx) {
  int error = rt_open_device(ctx);
  if (error) return error;
  const struct rt_config *cfg = ctx->config;
  rt_pretend(ctx);
  ctx->gpu_code = cfg->code < 0 ? ctx->device.is_gpu : cfg->code == 1;
  rt_tuning_open(ctx);
  if (cfg->path) rt_parse_path(ctx->program, cfg->path, ctx->forced);
  rt_log(ctx, "device %s, code for %s", ctx->device.name, ctx->gpu_code ? "gpu" : "cpu");
  if (ctx->gpu_code && ctx->device.sub_group > 1)
    rt_log(ctx, "sub-groups of %" PRId64 " items", ctx->device.sub_group);
#ifdef RT_AHEAD
  rt_ahead_open(ctx);
#endif
  error = rt_cache_open(ctx);
  ctx->goes_near = rt_may_go_near(ctx);
  if (!error) error = rt_open_sources(ctx);
  if (!error && cfg->dump_binary_to) error = rt_dump_binaries(ctx, cfg->dump_binary_to);
  return error;
}

struct rt_context *RT_NAME(context_new)(struct rt_config *cfg) {
  struct rt_context *ctx = (struct rt_context *)rt_host_alloc(sizeof *ctx);
  pthread_mutex_init(&ctx->lock, NULL);
  ctx->config = cfg;
  ctx->program = rt_program();
  ctx->log = stderr;
  ctx->logging = cfg->logging;
  ctx->debugging = cfg->debugging;
  ctx->profiling = cfg->profiling;
  size_t kernels = (size_t)ctx->program->kernel_count;
  size_t tables = (size_t)ctx->program->constant_count;
  ctx->kernels = (struct rt_built_kernel *)rt_host_alloc(kernels * sizeof *ctx->kernels);
  ctx->tables = (struct rt_mem **)rt_host_alloc(tables * sizeof *ctx->tables);
#if defined(RT_WORKERS) && defined(RT_LIBRARY)
  rt_transport_alone(cfg->workers, true);
  int opened = rt_context_open(ctx);
  rt_transport_alone(cfg->workers, false);
  int error = rt_workers_begin(ctx, opened);
#else
  int error = rt_context_open(ctx);
#endif
  ctx->broken = error != RT_OK;
  return ctx;
}

struct rt_context *RT_NAME(context_new_with_command_queue)(struct rt_config *cfg,
                                                           cl_command_queue queue) {
  cfg->queue = queue;
  return RT_NAME(context_new)(cfg);
}

RT_FN void rt_release_device(struct rt_context *ctx) {
  if (!ctx->backend) return;
  if (ctx->queue) rt_wait(ctx);
  rt_profile_collect(ctx);
  rt_tables_release(ctx);
  rt_pool_flush(ctx);
  for (int k = 0; k < ctx->program->kernel_count; k++) {
    rt_kernel_drop(ctx, &ctx->kernels[k]);
    free(ctx->kernels[k].text);
  }
  rt_error_word_drop(ctx);
  ctx->backend->close(ctx);
}

void RT_NAME(context_free)(struct rt_context *ctx) {
  if (!ctx) return;
#ifndef RT_LIBRARY
  rt_replayer_free(ctx);
  rt_trace_free(ctx);
#endif
#ifdef RT_HELPER
  rt_helper_free(ctx);
#endif
#if defined(RT_WORKERS) && defined(RT_LIBRARY)
  rt_transport_alone(ctx->config->workers, true);
  rt_release_device(ctx);
  rt_transport_alone(ctx->config->workers, false);
#else
  rt_release_device(ctx);
#endif
  rt_cache_close(ctx);
  free(ctx->device.name);
  free(ctx->device.driver);
  free(ctx->device.platform_version);
  free(ctx->device.identity);
  free(ctx->error);
  free(ctx->prelude);
  free(ctx->free_blocks);
  free(ctx->kernels);
  free(ctx->tables);
  free(ctx->pending);
  free(ctx->params);
  free(ctx->trees);
  free(ctx->forced);
  free(ctx->other.params);
  free(ctx->other.trees);
  free(ctx->other.forced);
  free(ctx->events);
  pthread_mutex_destroy(&ctx->lock);
  free(ctx);
}

// The user may put commands into it, of which nothing is known here.
cl_command_queue RT_NAME(context_get_command_queue)(struct rt_context *ctx) {
  rt_enter(ctx)->goes_near = false;
  rt_leave(ctx, RT_OK);
  return (cl_command_queue)ctx->queue;
}

// An error that keeps its text if the context could not be made.
RT_FN int rt_usable(struct rt_context *ctx) {
  if (!ctx->broken) return RT_OK;
  if (!ctx->error) rt_error(ctx, RT_OTHER_ERROR, "the context could not be made");
  return RT_OTHER_ERROR;
}

RT_FN int rt_sync(struct rt_context *ctx) {
  int error = rt_usable(ctx);
  if (!error) error = rt_finish(ctx);
  return error ? error : rt_check_failures(ctx);
}

int RT_NAME(context_sync)(struct rt_context *ctx) {
  return rt_leave(ctx, rt_sync(rt_enter(ctx)));
}

int RT_NAME(context_clear_caches)(struct rt_context *ctx) {
  int error = rt_sync(rt_enter(ctx));
  if (!ctx->broken) {
    rt_tables_release(ctx);
    rt_pool_flush(ctx);
  }
  return rt_leave(ctx, error);
}

RT_FN int rt_entry_begin(struct rt_context *ctx, const char *name) {
  int error = rt_usable(ctx);
  if (error) return error;
  ctx->event_count = 0;
#ifdef RT_WORKERS
  ctx->config->workers->failed = false;
#endif
  if (ctx->profiling) ctx->call_started = rt_time_ns();
#ifndef RT_LIBRARY
  if (rt_replaying(ctx->replayer)) rt_replayer_call(ctx->replayer);
#endif
  rt_log(ctx, "entry %s", name);
  return RT_OK;
}

// The error of the call, or of a check that has failed in a kernel.
RT_FN int rt_entry_failure(struct rt_context *ctx, int error) {
  if (error == RT_OK) return rt_check_failures(ctx);
  // A check that failed in a kernel comes first in the program, and must not meet the next call.
  char *text = ctx->error;
  bool has_place = ctx->error_has_place;
  ctx->error = NULL;
  bool of_program = error == RT_PROGRAM_ERROR || error == RT_OUT_OF_MEMORY;
  if (rt_check_failures(ctx) == RT_PROGRAM_ERROR && of_program) {
    free(text);
    return RT_PROGRAM_ERROR;
  }
  free(ctx->error);
  ctx->error = text;
  ctx->error_has_place = has_place;
  return error;
}

RT_FN int rt_entry_end(struct rt_context *ctx, int error) {
  if (ctx->broken) return error;
#ifndef RT_LIBRARY
  if (rt_replaying(ctx->replayer)) {
    rt_wait(ctx);
    rt_replayer_called(ctx->replayer);
  }
#endif
#ifdef RT_WORKERS
  return rt_workers_agree(ctx, rt_entry_failure(ctx, error));
#else
  return rt_entry_failure(ctx, error);
#endif
}

// ---- arrays

RT_FN struct rt_array *rt_array_alloc(const struct rt_context *ctx, enum rt_elem elem,
                                      int rank, const int64_t *shape) {
  struct rt_array *array = (struct rt_array *)rt_host_alloc(sizeof *array);
  array->owner = ctx;
  array->elem = elem;
  array->rank = rank;
  array->refs = 1;
  if (rank) memcpy(array->shape, shape, (size_t)rank * sizeof *shape);
  return array;
}

RT_FN int64_t rt_array_count(const struct rt_array *array) {
  return rt_shape_count(array->rank, array->shape);
}

RT_FN int64_t rt_array_bytes(const struct rt_array *array) {
  return rt_sat_mul(rt_array_count(array), rt_elems[array->elem].bytes);
}

// Can there be an array of this shape?
RT_FN int rt_shape_usable(struct rt_context *ctx, enum rt_elem elem, int rank,
                          const int64_t *shape) {
  int error = rt_usable(ctx);
  for (int i = 0; i < rank && !error; i++)
    if (shape[i] < 0)
      error = rt_error(ctx, RT_OTHER_ERROR, "an array with dimension %" PRId64, shape[i]);
  if (error || rt_shape_fits(rank, shape, rt_elems[elem].bytes)) return error;
  return rt_error(ctx, RT_OUT_OF_MEMORY,
                  "an array with more elements than there are numbers");
}

RT_FN int rt_array_new(struct rt_context *ctx, struct rt_array **out, enum rt_elem elem,
                       int rank, const int64_t *shape) {
  *out = NULL;
  int error = rt_shape_usable(ctx, elem, rank, shape);
  if (error) return error;
  struct rt_array *array = rt_array_alloc(ctx, elem, rank, shape);
  error = rt_mem_alloc(ctx, &array->mem, rt_array_bytes(array));
  if (error)
    free(array);
  else
    *out = array;
  return error;
}

RT_FN int rt_array_from(struct rt_context *ctx, struct rt_array **out, enum rt_elem elem,
                        int rank, const int64_t *shape, const void *data) {
  int error = rt_array_new(ctx, out, elem, rank, shape);
  if (error) return error;
  if (!data && rt_array_count(*out) > 0)
    error = rt_error(ctx, RT_OTHER_ERROR, "elements are expected, found NULL");
  if (!error) error = rt_write(ctx, (*out)->mem, 0, rt_array_bytes(*out), data);
  if (!error) return RT_OK;
  rt_array_free(ctx, *out);
  *out = NULL;
  return error;
}

RT_FN int rt_array_from_raw(struct rt_context *ctx, struct rt_array **out,
                            enum rt_elem elem, int rank, const int64_t *shape,
                            cl_mem data) {
  struct rt_buffer *buffer = (struct rt_buffer *)data;
  *out = NULL;
  int error = rt_shape_usable(ctx, elem, rank, shape);
  if (!error)
    error =
        rt_buffer_adopt(ctx, buffer, rt_elems[elem].bytes * rt_shape_count(rank, shape));
  if (error) return error;
  struct rt_array *array = rt_array_alloc(ctx, elem, rank, shape);
  array->mem = rt_mem_of_buffer(ctx, buffer, rt_array_bytes(array));
  array->mem->foreign = true;
  *out = array;
  return RT_OK;
}

RT_FN int rt_array_of_mem(struct rt_context *ctx, struct rt_array **out,
                          enum rt_elem elem, int rank, const int64_t *shape,
                          struct rt_mem *mem) {
  *out = rt_array_alloc(ctx, elem, rank, shape);
  if (mem) {
    rt_mem_share(ctx, &(*out)->mem, mem);
    return RT_OK;
  }
  int error = rt_mem_alloc(ctx, &(*out)->mem, rt_array_bytes(*out));
  if (!error) return RT_OK;
  free(*out);
  *out = NULL;
  return error;
}

RT_FN int rt_foreign(struct rt_context *ctx, const char *what) {
  return rt_error(ctx, RT_OTHER_ERROR, "the %s belongs to another context", what);
}

RT_FN int rt_array_free(struct rt_context *ctx, struct rt_array *array) {
  if (array && array->owner != ctx) return rt_foreign(ctx, "array");
  if (!array || --array->refs > 0) return RT_OK;
  rt_mem_release(ctx, &array->mem);
  free(array);
  return RT_OK;
}

RT_FN int rt_array_usable(struct rt_context *ctx, const struct rt_array *array) {
  int error = rt_usable(ctx);
  if (error) return error;
  if (!array) return rt_error(ctx, RT_OTHER_ERROR, "an array is expected, found NULL");
  if (array->owner != ctx) return rt_foreign(ctx, "array");
  if (array->mem) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR, "the array was consumed by an earlier call");
}

// Puts the parameter before the text of an error.
RT_FN int rt_input_error(struct rt_context *ctx, const char *param, int error) {
  struct rt_text t = { NULL, 0, 0 };
  if (!error) return RT_OK;
  rt_text_printf(&t, "parameter %s: %s", param, ctx->error);
  rt_error(ctx, error, "%s", t.data);
  rt_text_free(&t);
  return error;
}

RT_FN int rt_input_array(struct rt_context *ctx, const char *param,
                         const struct rt_array *array) {
  return rt_input_error(ctx, param, rt_array_usable(ctx, array));
}

// Reads elements to `out`, where there must be a place for them.
RT_FN int rt_read_out(struct rt_context *ctx, struct rt_mem *mem, int64_t offset,
                      int64_t bytes, void *out) {
  if (!out && bytes)
    return rt_error(ctx, RT_OTHER_ERROR, "a place for elements is expected, found NULL");
  return rt_read(ctx, mem, offset, bytes, out);
}

RT_FN int rt_array_values(struct rt_context *ctx, const struct rt_array *array,
                          void *out) {
  int error = rt_array_usable(ctx, array);
  return error ? error : rt_read_out(ctx, array->mem, 0, rt_array_bytes(array), out);
}

RT_FN cl_mem rt_array_values_raw(struct rt_context *ctx, const struct rt_array *array) {
  rt_enter(ctx);
  cl_mem buffer = array && array->mem ? (cl_mem)array->mem->buffer : NULL;
  if (buffer) array->mem->shown = true;
  rt_leave(ctx, RT_OK);
  return buffer;
}

// The number of an element, row by row.
RT_FN int rt_element_number(struct rt_context *ctx, int rank, const int64_t *shape,
                            const int64_t *indices, int64_t *out) {
  int64_t number = 0;
  for (int i = 0; i < rank; i++) {
    if (indices[i] < 0 || indices[i] >= shape[i])
      return rt_error(ctx, RT_PROGRAM_ERROR,
                      "Index [%" PRId64
                      "] out of bounds for dimension %d of size %" PRId64,
                      indices[i], i, shape[i]);
    number = number * shape[i] + indices[i];
  }
  *out = number;
  return RT_OK;
}

// The byte offset of an element.
RT_FN int rt_array_offset(struct rt_context *ctx, const struct rt_array *array,
                          const int64_t *indices, int64_t *out) {
  int error = rt_array_usable(ctx, array);
  int64_t number = 0;
  if (!error) error = rt_element_number(ctx, array->rank, array->shape, indices, &number);
  if (!error) *out = number * rt_elems[array->elem].bytes;
  return error;
}

RT_FN int rt_array_index(struct rt_context *ctx, const struct rt_array *array,
                         const int64_t *indices, void *out) {
  int64_t offset = 0;
  int error = rt_array_offset(ctx, array, indices, &offset);
  return error ? error
               : rt_read_out(ctx, array->mem, offset, rt_elems[array->elem].bytes, out);
}

RT_FN int rt_array_set(struct rt_context *ctx, const struct rt_array *array,
                       const int64_t *indices, const void *elem) {
  int64_t offset = 0;
  int error = rt_array_offset(ctx, array, indices, &offset);
  return error ? error
               : rt_write(ctx, array->mem, offset, rt_elems[array->elem].bytes, elem);
}

RT_FN const int64_t *rt_array_shape(const struct rt_array *array) {
  return array ? array->shape : NULL;
}

RT_FN int rt_array_share(struct rt_context *ctx, const struct rt_array *array,
                         struct rt_mem **slot) {
  int error = rt_array_usable(ctx, array);
  if (!error) rt_mem_share(ctx, slot, array->mem);
  return error;
}

RT_FN int rt_array_consume(struct rt_context *ctx, struct rt_array *array,
                           struct rt_mem **slot) {
  int error = rt_array_usable(ctx, array);
  if (error) return error;
  rt_mem_release(ctx, slot);
  *slot = array->mem;
  array->mem = NULL;
  return RT_OK;
}

// Makes the array in a slot its own: others may refer to it, or to its block.
RT_FN int rt_own_array(struct rt_context *ctx, struct rt_array **slot) {
  struct rt_array *shared = *slot, *own = NULL;
  int error = rt_array_usable(ctx, shared);
  if (error || (shared->refs == 1 && shared->mem->refs == 1)) return error;
  error =
      rt_array_of_mem(ctx, &own, shared->elem, shared->rank, shared->shape, shared->mem);
  if (!error) error = rt_mem_unique(ctx, &own->mem, &own->mem);
  rt_array_free(ctx, error ? own : shared);
  if (!error) *slot = own;
  return error;
}

RT_FN int rt_size_error(struct rt_context *ctx, const char *param, const char *name,
                        int64_t expected, const char *from, int64_t found) {
  if (!name)
    return rt_error(
        ctx, RT_PROGRAM_ERROR,
        "entry point arguments have invalid sizes: parameter %s: expected size %" PRId64
        ", found %" PRId64,
        param, expected, found);
  return rt_error(ctx, RT_PROGRAM_ERROR,
                  "entry point arguments have invalid sizes: parameter %s: expected size "
                  "%s = %" PRId64 " (from %s), found %" PRId64,
                  param, name, expected, from, found);
}

// ---- opaque values

RT_FN bool rt_leaf_is_array(int type) {
  return rt_program()->types[type].kind == RT_ARRAY;
}

// References the arrays among `count` leaves of an opaque type from leaf `first` on.
RT_FN void rt_leaves_share(const struct rt_type *type, int first, int count,
                           struct rt_value *to, const struct rt_value *from) {
  for (int i = 0; i < count; i++) {
    to[i] = from[i];
    if (rt_leaf_is_array(type->leaves[first + i])) to[i].u.array->refs++;
  }
}

RT_FN int rt_opaque_new(struct rt_context *ctx, struct rt_opaque **out, int type,
                        const struct rt_value *leaves) {
  const struct rt_type *t = &ctx->program->types[type];
  struct rt_opaque *opaque = (struct rt_opaque *)rt_host_alloc(sizeof *opaque);
  opaque->owner = ctx;
  opaque->type = type;
  opaque->refs = 1;
  opaque->leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  rt_leaves_share(t, 0, t->leaf_count, opaque->leaves, leaves);
  *out = opaque;
  return RT_OK;
}

RT_FN int rt_opaque_usable(struct rt_context *ctx, const struct rt_opaque *opaque) {
  int error = rt_usable(ctx);
  if (error) return error;
  if (!opaque) return rt_error(ctx, RT_OTHER_ERROR, "a value is expected, found NULL");
  return opaque->owner == ctx ? RT_OK : rt_foreign(ctx, "value");
}

RT_FN int rt_input_opaque(struct rt_context *ctx, const char *param,
                          const struct rt_opaque *opaque) {
  return rt_input_error(ctx, param, rt_opaque_usable(ctx, opaque));
}

RT_FN int rt_field_usable(struct rt_context *ctx, const struct rt_field *field,
                          const struct rt_value *value) {
  switch (ctx->program->types[field->type].kind) {
  case RT_SCALAR: return RT_OK;
  case RT_ARRAY: return rt_array_usable(ctx, value->u.array);
  case RT_OPAQUE: return rt_opaque_usable(ctx, value->u.opaque);
  }
  return RT_OK;
}

RT_FN int rt_leaf_count(const struct rt_program *program, int type) {
  const struct rt_type *t = &program->types[type];
  return t->kind == RT_OPAQUE ? t->leaf_count : 1;
}

// The leaves of a value of any type: those of an opaque value, or the value itself.
RT_FN const struct rt_value *rt_value_leaves(const struct rt_program *program, int type,
                                             const struct rt_value *value) {
  return program->types[type].kind == RT_OPAQUE ? value->u.opaque->leaves : value;
}

RT_FN int rt_fields_usable(struct rt_context *ctx, const struct rt_field *fields,
                           int count, const struct rt_value *values) {
  int error = RT_OK;
  for (int f = 0; f < count && !error; f++)
    error = rt_field_usable(ctx, &fields[f], &values[f]);
  return error;
}

// Puts the leaves of fields where a value has them.
RT_FN void rt_fields_place(const struct rt_program *program,
                           const struct rt_field *fields, int count,
                           const struct rt_value *values, struct rt_value *leaves) {
  for (int f = 0; f < count; f++)
    memcpy(leaves + fields[f].first, rt_value_leaves(program, fields[f].type, &values[f]),
           (size_t)rt_leaf_count(program, fields[f].type) * sizeof *leaves);
}

RT_FN int rt_opaque_of_fields(struct rt_context *ctx, struct rt_opaque **out, int type,
                              const struct rt_value *fields) {
  const struct rt_type *t = &ctx->program->types[type];
  *out = NULL;
  int error = rt_fields_usable(ctx, t->fields, t->field_count, fields);
  if (error) return error;
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  rt_fields_place(ctx->program, t->fields, t->field_count, fields, leaves);
  error = rt_opaque_new(ctx, out, type, leaves);
  free(leaves);
  return error;
}

RT_FN int rt_opaque_part(struct rt_context *ctx, struct rt_value *out,
                         const struct rt_opaque *opaque, const struct rt_field *f) {
  const struct rt_value *leaves = opaque->leaves + f->first;
  if (ctx->program->types[f->type].kind == RT_OPAQUE)
    return rt_opaque_new(ctx, &out->u.opaque, f->type, leaves);
  rt_leaves_share(&ctx->program->types[opaque->type], f->first, 1, out, leaves);
  return RT_OK;
}

RT_FN int rt_opaque_project(struct rt_context *ctx, struct rt_value *out,
                            const struct rt_opaque *opaque, int field) {
  int error = rt_opaque_usable(ctx, opaque);
  if (error) return error;
  return rt_opaque_part(ctx, out, opaque,
                        &ctx->program->types[opaque->type].fields[field]);
}

// ---- values of sum types

RT_FN int rt_opaque_variant(struct rt_context *ctx, const struct rt_opaque *opaque) {
  if (rt_opaque_usable(ctx, opaque)) return -1;
  int variant = opaque->leaves[0].u.u8;
  if (variant < ctx->program->types[opaque->type].constructor_count) return variant;
  rt_error(ctx, RT_OTHER_ERROR, "a value of no constructor");
  return -1;
}

// Makes the arrays of leaves that are still empty, of zeros.
RT_FN int rt_leaves_absent(struct rt_context *ctx, const struct rt_type *t,
                           struct rt_value *leaves, bool *made) {
  const int *dims = t->leaf_dims;
  int error = RT_OK;
  for (int i = 0; i < t->leaf_count && !error; i++) {
    const struct rt_type *leaf = &ctx->program->types[t->leaves[i]];
    int64_t shape[RT_MAX_RANK];
    for (int d = 0; d < leaf->rank; d++, dims++)
      shape[d] = *dims < 0 ? 0 : *dims;
    if (leaf->kind != RT_ARRAY || leaves[i].u.array) continue;
    void *zeros = rt_host_alloc(
        (size_t)(rt_shape_count(leaf->rank, shape) * rt_elems[leaf->elem].bytes));
    error = rt_array_from(ctx, &leaves[i].u.array, leaf->elem, leaf->rank, shape, zeros);
    made[i] = !error;
    free(zeros);
  }
  return error;
}

RT_FN int rt_opaque_construct(struct rt_context *ctx, struct rt_opaque **out, int type,
                              int constructor, const struct rt_value *fields) {
  const struct rt_type *t = &ctx->program->types[type];
  const struct rt_constructor *c = &t->constructors[constructor];
  *out = NULL;
  int error = rt_fields_usable(ctx, c->fields, c->field_count, fields);
  if (error) return error;
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  bool *made = (bool *)rt_host_alloc((size_t)t->leaf_count * sizeof *made);
  leaves[0].u.u8 = (uint8_t)constructor;
  rt_fields_place(ctx->program, c->fields, c->field_count, fields, leaves);
  error = rt_leaves_absent(ctx, t, leaves, made);
  if (!error) error = rt_opaque_new(ctx, out, type, leaves);
  for (int i = 0; i < t->leaf_count; i++)
    if (made[i]) rt_array_free(ctx, leaves[i].u.array);
  free(made);
  free(leaves);
  return error;
}

RT_FN int rt_opaque_destruct(struct rt_context *ctx, struct rt_value *out,
                             const struct rt_opaque *opaque, int constructor) {
  int variant = rt_opaque_variant(ctx, opaque), error = RT_OK;
  if (variant < 0) return RT_OTHER_ERROR;
  const struct rt_type *t = &ctx->program->types[opaque->type];
  const struct rt_constructor *c = &t->constructors[constructor];
  if (variant != constructor)
    return rt_error(ctx, RT_OTHER_ERROR, "the value is #%s, not #%s",
                    t->constructors[variant].name, c->name);
  for (int f = 0; f < c->field_count && !error; f++)
    error = rt_opaque_part(ctx, &out[f], opaque, &c->fields[f]);
  return error;
}

// ---- arrays of opaque values: leaves have the array's dimensions, then those of an element's leaf

RT_FN int rt_columns_zip(struct rt_context *ctx, struct rt_opaque **out, int type,
                         const struct rt_value *columns) {
  const struct rt_type *t = &ctx->program->types[type];
  *out = NULL;
  int error = rt_fields_usable(ctx, t->columns, t->column_count, columns);
  if (error) return error;
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  rt_fields_place(ctx->program, t->columns, t->column_count, columns, leaves);
  for (int i = 1; i < t->column_count && !error; i++)
    if (memcmp(leaves[t->columns[i].first].u.array->shape, leaves[0].u.array->shape,
               (size_t)t->rank * sizeof(int64_t)) != 0)
      error = rt_error(ctx, RT_PROGRAM_ERROR, "the arrays of %s and %s differ in size",
                       t->columns[0].name, t->columns[i].name);
  if (!error) error = rt_opaque_new(ctx, out, type, leaves);
  free(leaves);
  return error;
}

RT_FN int rt_columns_project(struct rt_context *ctx, struct rt_value *out,
                             const struct rt_opaque *opaque, int column) {
  int error = rt_opaque_usable(ctx, opaque);
  if (error) return error;
  return rt_opaque_part(ctx, out, opaque,
                        &ctx->program->types[opaque->type].columns[column]);
}

RT_FN const int64_t *rt_opaque_array_shape(const struct rt_opaque *opaque) {
  return opaque ? opaque->leaves[0].u.array->shape : NULL;
}

// The value and its arrays.
RT_FN int rt_leaves_usable(struct rt_context *ctx, const struct rt_opaque *opaque) {
  int error = rt_opaque_usable(ctx, opaque);
  if (error) return error;
  const struct rt_type *t = &ctx->program->types[opaque->type];
  for (int i = 0; i < t->leaf_count && !error; i++)
    if (rt_leaf_is_array(t->leaves[i]))
      error = rt_array_usable(ctx, opaque->leaves[i].u.array);
  return error;
}

// What an element has in this leaf of an array of `rank` dimensions.
RT_FN int64_t rt_row_bytes(const struct rt_array *leaf, int rank) {
  return rt_elems[leaf->elem].bytes *
         rt_shape_count(leaf->rank - rank, leaf->shape + rank);
}

RT_FN int rt_row_read(struct rt_context *ctx, struct rt_value *out,
                      const struct rt_array *leaf, int rank, int64_t number) {
  int64_t bytes = rt_row_bytes(leaf, rank), at = number * bytes;
  if (leaf->rank == rank) return rt_read(ctx, leaf->mem, at, bytes, &out->u);
  int error =
      rt_array_new(ctx, &out->u.array, leaf->elem, leaf->rank - rank, leaf->shape + rank);
  return error ? error : rt_mem_copy(ctx, out->u.array->mem, 0, leaf->mem, at, bytes);
}

// Writes what an element has; zeros if it has nothing, as those of other constructors have.
RT_FN int rt_row_write(struct rt_context *ctx, const struct rt_array *leaf, int rank,
                       int64_t number, const struct rt_value *value) {
  int64_t bytes = rt_row_bytes(leaf, rank), at = number * bytes;
  if (leaf->rank == rank) return rt_write(ctx, leaf->mem, at, bytes, &value->u);
  if (rt_array_count(value->u.array))
    return rt_mem_copy(ctx, leaf->mem, at, value->u.array->mem, 0, bytes);
  void *zeros = rt_host_alloc((size_t)bytes);
  int error = rt_write(ctx, leaf->mem, at, bytes, zeros);
  free(zeros);
  return error;
}

// Gives back the arrays among leaves, of which those that were not made are NULL.
RT_FN void rt_leaves_free(struct rt_context *ctx, const struct rt_type *t,
                          struct rt_value *leaves) {
  for (int i = 0; i < t->leaf_count; i++)
    if (rt_leaf_is_array(t->leaves[i])) rt_array_free(ctx, leaves[i].u.array);
  free(leaves);
}

RT_FN int rt_opaque_array_index(struct rt_context *ctx, struct rt_opaque **out,
                                const struct rt_opaque *opaque, const int64_t *indices) {
  int64_t number = 0;
  int error = rt_leaves_usable(ctx, opaque);
  if (error) return error;
  const struct rt_type *t = &ctx->program->types[opaque->type],
                       *element = &ctx->program->types[t->element];
  error =
      rt_element_number(ctx, t->rank, rt_opaque_array_shape(opaque), indices, &number);
  if (error) return error;
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  for (int i = 0; i < t->leaf_count && !error; i++)
    error = rt_row_read(ctx, &leaves[i], opaque->leaves[i].u.array, t->rank, number);
  if (!error) error = rt_opaque_new(ctx, out, t->element, leaves);
  rt_leaves_free(ctx, element, leaves);
  return error;
}

// May a leaf have nothing in some values of the type, those of another constructor?
RT_FN bool rt_leaf_is_optional(const struct rt_program *program, int type, int leaf) {
  const struct rt_type *t = &program->types[type];
  if (t->constructors) return leaf > 0;
  for (int f = 0; f < t->field_count; f++) {
    int first = t->fields[f].first, inner = t->fields[f].type;
    if (leaf >= first && leaf < first + rt_leaf_count(program, inner))
      return rt_leaf_is_optional(program, inner, leaf - first);
  }
  return false;
}

// Is a leaf of an element as long as those of the array?
RT_FN int rt_row_fits(struct rt_context *ctx, int type, int leaf,
                      const struct rt_value *value, const int64_t *row) {
  const struct rt_array *array = value->u.array;
  if (memcmp(array->shape, row, (size_t)array->rank * sizeof *row) == 0) return RT_OK;
  if (rt_leaf_is_optional(ctx->program, type, leaf) && !rt_array_count(array))
    return RT_OK;
  return rt_error(ctx, RT_PROGRAM_ERROR, "the elements of an array differ in size");
}

RT_FN int rt_opaque_array_set(struct rt_context *ctx, struct rt_opaque *opaque,
                              const struct rt_opaque *element, const int64_t *indices) {
  int64_t number = 0;
  int error = rt_leaves_usable(ctx, opaque);
  if (!error) error = rt_leaves_usable(ctx, element);
  if (error) return error;
  const struct rt_type *t = &ctx->program->types[opaque->type];
  error =
      rt_element_number(ctx, t->rank, rt_opaque_array_shape(opaque), indices, &number);
  for (int i = 0; i < t->leaf_count && !error; i++) {
    const struct rt_array *leaf = opaque->leaves[i].u.array;
    if (leaf->rank > t->rank)
      error = rt_row_fits(ctx, t->element, i, &element->leaves[i], leaf->shape + t->rank);
  }
  for (int i = 0; i < t->leaf_count && !error; i++) {
    struct rt_array **leaf = &opaque->leaves[i].u.array;
    error = rt_own_array(ctx, leaf);
    if (!error) error = rt_row_write(ctx, *leaf, t->rank, number, &element->leaves[i]);
  }
  return error;
}

// The sizes of a leaf of an array of these elements; of the `rank` dimensions that the array has
// `shape` has them already.  `dims`: what the type says of all.
RT_FN int rt_rows_shape(struct rt_context *ctx, const struct rt_type *t, int leaf,
                        struct rt_opaque *const *elements, const int *dims,
                        int64_t *shape) {
  int rank = ctx->program->types[t->leaves[leaf]].rank, error = RT_OK;
  int64_t count = rt_shape_count(t->rank, shape);
  bool known = false;
  for (int d = t->rank; d < rank; d++)
    shape[d] = dims[d] < 0 ? 0 : dims[d];
  for (int64_t e = 0; e < count && rank > t->rank && !known; e++) {
    const struct rt_array *row = elements[e]->leaves[leaf].u.array;
    known = rt_array_count(row) || !rt_leaf_is_optional(ctx->program, t->element, leaf);
    if (known) memcpy(shape + t->rank, row->shape, (size_t)row->rank * sizeof *shape);
  }
  for (int64_t e = 0; e < count && rank > t->rank && !error; e++)
    error =
        rt_row_fits(ctx, t->element, leaf, &elements[e]->leaves[leaf], shape + t->rank);
  return error;
}

// A leaf of an array of these elements, all of them scalars.
RT_FN int rt_scalars_join(struct rt_context *ctx, struct rt_array **out,
                          enum rt_elem elem, int rank, int leaf,
                          struct rt_opaque *const *elements, const int64_t *shape) {
  int64_t count = rt_shape_count(rank, shape), bytes = rt_elems[elem].bytes;
  char *data = (char *)rt_host_alloc((size_t)(count * bytes));
  for (int64_t e = 0; e < count; e++)
    memcpy(data + e * bytes, &elements[e]->leaves[leaf].u, (size_t)bytes);
  int error = rt_array_from(ctx, out, elem, rank, shape, data);
  free(data);
  return error;
}

RT_FN int rt_rows_join(struct rt_context *ctx, struct rt_array **out,
                       const struct rt_type *t, int leaf,
                       struct rt_opaque *const *elements, const int64_t *shape) {
  const struct rt_type *type = &ctx->program->types[t->leaves[leaf]];
  if (type->rank == t->rank)
    return rt_scalars_join(ctx, out, type->elem, t->rank, leaf, elements, shape);
  int64_t count = rt_shape_count(t->rank, shape);
  int error = rt_array_new(ctx, out, type->elem, type->rank, shape);
  for (int64_t e = 0; e < count && !error; e++)
    error = rt_row_write(ctx, *out, t->rank, e, &elements[e]->leaves[leaf]);
  return error;
}

RT_FN int rt_elements_usable(struct rt_context *ctx, struct rt_opaque *const *elements,
                             int rank, const int64_t *shape) {
  int error = rt_shape_usable(ctx, RT_I64, rank, shape);
  int64_t count = error ? 0 : rt_shape_count(rank, shape);
  if (count && !elements)
    return rt_error(ctx, RT_OTHER_ERROR, "elements are expected, found NULL");
  for (int64_t e = 0; e < count && !error; e++)
    error = rt_leaves_usable(ctx, elements[e]);
  return error;
}

RT_FN int rt_opaque_array_new(struct rt_context *ctx, struct rt_opaque **out, int type,
                              struct rt_opaque *const *elements, const int64_t *shape) {
  const struct rt_type *t = &ctx->program->types[type];
  const int *dims = t->leaf_dims;
  int error = rt_elements_usable(ctx, elements, t->rank, shape);
  if (error) return error;
  struct rt_value *leaves =
      (struct rt_value *)rt_host_alloc((size_t)t->leaf_count * sizeof *leaves);
  for (int i = 0; i < t->leaf_count && !error; i++) {
    int64_t sizes[RT_MAX_RANK];
    memcpy(sizes, shape, (size_t)t->rank * sizeof *sizes);
    error = rt_rows_shape(ctx, t, i, elements, dims, sizes);
    if (!error) error = rt_rows_join(ctx, &leaves[i].u.array, t, i, elements, sizes);
    dims += ctx->program->types[t->leaves[i]].rank;
  }
  if (!error) error = rt_opaque_new(ctx, out, type, leaves);
  rt_leaves_free(ctx, t, leaves);
  return error;
}

RT_FN int rt_opaque_free(struct rt_context *ctx, struct rt_opaque *opaque) {
  if (opaque && opaque->owner != ctx) return rt_foreign(ctx, "value");
  if (!opaque || --opaque->refs > 0) return RT_OK;
  const struct rt_type *t = &ctx->program->types[opaque->type];
  for (int i = 0; i < t->leaf_count; i++)
    if (rt_leaf_is_array(t->leaves[i])) rt_array_free(ctx, opaque->leaves[i].u.array);
  free(opaque->leaves);
  free(opaque);
  return RT_OK;
}

RT_FN int rt_value_free(struct rt_context *ctx, int type, struct rt_value *value) {
  switch (ctx->program->types[type].kind) {
  case RT_SCALAR: return RT_OK;
  case RT_ARRAY: return rt_array_free(ctx, value->u.array);
  case RT_OPAQUE: return rt_opaque_free(ctx, value->u.opaque);
  }
  return RT_OK;
}
// End entry.h
