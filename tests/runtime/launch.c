// Contexts, blocks, launches, failing checks, the cache and tuning, on the first OpenCL device.
#include "program.h"
// The runtime comes before any system header.

#include "../unit.h"

static struct rt_context *open_context(struct rt_config *cfg) {
  struct rt_context *ctx = fl_context_new(cfg);
  char *error = fl_context_get_error(ctx);
  if (error) fprintf(stderr, "%s\n", error);
  CHECK(!error);
  return ctx;
}

static void check_error(struct rt_context *ctx, const char *expected) {
  char *error = fl_context_get_error(ctx);
  CHECK(error != NULL);
  CHECK_TEXT(error, expected);
  free(error);
  CHECK(fl_context_get_error(ctx) == NULL);
}

static struct rt_value floats(struct rt_context *ctx, int64_t n) {
  struct rt_value v;
  float *data = (float *)rt_host_alloc((size_t)n * sizeof *data);
  for (int64_t i = 0; i < n; i++)
    data[i] = (float)i;
  CHECK(rt_array_from(ctx, &v.u.array, RT_F32, 1, &n, data) == RT_OK);
  free(data);
  return v;
}

static struct rt_value ints(struct rt_context *ctx, int64_t n) {
  struct rt_value v;
  int32_t *data = (int32_t *)rt_host_alloc((size_t)n * sizeof *data);
  for (int64_t i = 0; i < n; i++)
    data[i] = (int32_t)i;
  CHECK(rt_array_from(ctx, &v.u.array, RT_I32, 1, &n, data) == RT_OK);
  free(data);
  return v;
}

static void launches_any_size(struct rt_context *ctx) {
  static const int64_t sizes[] = { 0, 1, 255, 256, 257, 70000 };
  for (size_t k = 0; k < sizeof sizes / sizeof *sizes; k++) {
    struct rt_value in = floats(ctx, sizes[k]), out;
    CHECK(call_add_one(ctx, &out, &in) == RT_OK);
    float *got = (float *)rt_host_alloc((size_t)sizes[k] * sizeof *got);
    CHECK(out.u.array && out.u.array->shape[0] == sizes[k]);
    CHECK(rt_array_values(ctx, out.u.array, got) == RT_OK);
    for (int64_t i = 0; i < sizes[k]; i++)
      CHECK(got[i] == (float)i + 1);
    free(got);
    rt_array_free(ctx, in.u.array);
    rt_array_free(ctx, out.u.array);
  }
}

// What the device wrote the host sees, without a command.
static void memory_is_shared(struct rt_context *ctx) {
  struct rt_value in = floats(ctx, 1000), out;
  CHECK(call_add_one(ctx, &out, &in) == RT_OK && rt_finish(ctx) == RT_OK);
  struct rt_place last = { out.u.array->mem->buffer, 999 * (int64_t)sizeof(float) };
  const char *seen = rt_cl_shared_place(ctx, last);
  float y = 0;
  CHECK(seen || ctx->device.is_gpu || !ctx->device.is_pocl);
  if (seen) memcpy(&y, seen, sizeof y);
  CHECK(!seen || y == 1000);
  rt_array_free(ctx, in.u.array);
  rt_array_free(ctx, out.u.array);
}

static void consumed_arrays_are_gone(struct rt_context *ctx) {
  struct rt_value in = floats(ctx, 10), out, again;
  struct rt_mem *block = in.u.array->mem;
  CHECK(call_consume(ctx, &out, &in) == RT_OK);
  CHECK(out.u.array->mem == block);  // updated in place
  CHECK(call_consume(ctx, &again, &in) == RT_OTHER_ERROR);
  check_error(ctx, "the array was consumed by an earlier call");
  rt_array_free(ctx, in.u.array);
  rt_array_free(ctx, out.u.array);
}

static void shared_blocks_are_copied(struct rt_context *ctx) {
  struct rt_mem *a = NULL, *b = NULL, *c = NULL;
  int64_t one = 1, two = 2, got = 0;
  CHECK(rt_mem_alloc(ctx, &a, 8) == RT_OK);
  CHECK(rt_write(ctx, a, 0, 8, &one) == RT_OK);
  rt_mem_share(ctx, &b, a);
  CHECK(rt_mem_unique(ctx, &c, &b) == RT_OK);
  CHECK(c != a && b == a);
  CHECK(rt_write(ctx, c, 0, 8, &two) == RT_OK);
  CHECK(rt_read(ctx, a, 0, 8, &got) == RT_OK && got == 1);
  rt_mem_release(ctx, &b);
  rt_mem_release(ctx, &c);
  struct rt_mem *block = a;
  CHECK(rt_mem_unique(ctx, &c, &a) == RT_OK);
  CHECK(c == block && a == NULL);
  rt_mem_release(ctx, &c);
}

static void freed_buffers_are_used_again(struct rt_context *ctx) {
  struct rt_mem *a = NULL;
  CHECK(fl_context_clear_caches(ctx) == RT_OK);
  CHECK(rt_mem_alloc(ctx, &a, 1000000) == RT_OK);
  struct rt_buffer *buffer = a->buffer;
  rt_mem_release(ctx, &a);
  CHECK(ctx->memory.pooled >= 1000000);
  CHECK(rt_mem_alloc(ctx, &a, 800000) == RT_OK);
  CHECK(a->buffer == buffer);
  CHECK(rt_mem_alloc(ctx, &a, 100) == RT_OK);  // releases; the pool's block is too big
  CHECK(a->buffer != buffer);
  CHECK(ctx->memory.peak >= 1000000);
  rt_mem_release(ctx, &a);
  CHECK(ctx->memory.live == 0);
  CHECK(fl_context_clear_caches(ctx) == RT_OK);
  CHECK(ctx->memory.pooled == 0);
}

static void too_much_memory_is_an_error(struct rt_context *ctx) {
  struct rt_mem *a = NULL;
  CHECK(rt_mem_alloc(ctx, &a, INT64_MAX) == RT_OUT_OF_MEMORY);
  CHECK(a == NULL);
  char *error = fl_context_get_error(ctx);
  CHECK(error && strstr(error, "out of device memory: more than 2^63 bytes wanted"));
  free(error);
  CHECK(!ctx->error_has_place);
  CHECK(rt_mem_alloc_at(ctx, &a, INT64_MAX, 1) == RT_OUT_OF_MEMORY);
  error = fl_context_get_error(ctx);
  CHECK(error &&
        strstr(error, "small.fl:3:7: error: out of device memory: more than 2^63 bytes"));
  CHECK(ctx->error_has_place);
  free(error);
  CHECK(ctx->memory.live == 0);
}

static void failed_checks_are_reported_once(struct rt_context *ctx) {
  struct rt_value in[2] = { ints(ctx, 3) }, out;
  in[1].u.i64 = 5;
  CHECK(call_get(ctx, &out, in) == RT_PROGRAM_ERROR);
  check_error(ctx, "small.fl:3:7: error: Index [5] out of bounds for array of shape [3]\n"
                   "    3 | out[i]\n      |   ^~~~");
  in[1].u.i64 = -1;
  CHECK(call_get(ctx, &out, in) == RT_PROGRAM_ERROR);
  check_error(ctx,
              "small.fl:3:7: error: Index [-1] out of bounds for array of shape [3]\n"
              "    3 | out[i]\n      |   ^~~~");
  in[1].u.i64 = 2;
  CHECK(call_get(ctx, &out, in) == RT_OK);
  int64_t zero = 0;
  int32_t got = 0;
  CHECK(rt_array_index(ctx, out.u.array, &zero, &got) == RT_OK && got == 2);
  int64_t outside = 1;
  CHECK(rt_array_index(ctx, out.u.array, &outside, &got) == RT_PROGRAM_ERROR);
  check_error(ctx, "Index [1] out of bounds for dimension 0 of size 1");
  rt_array_free(ctx, in[0].u.array);
  rt_array_free(ctx, out.u.array);
  in[0].u.i64 = -7;
  CHECK(call_pair(ctx, &out, in) == RT_PROGRAM_ERROR);
  check_error(ctx, "negative size -7");
}

static void guards_choose_versions(struct rt_context *ctx) {
  static const struct {
    int64_t n;
    const char *path;
    bool taken;
  } cases[] = {
    { 5, "", false },
    { 10, "", true },
    { 5, "sum.intra_0=T", true },
    { 10, "sum.intra_0=F", false },
  };
  for (size_t k = 0; k < sizeof cases / sizeof *cases; k++) {
    struct rt_value in = ints(ctx, cases[k].n), out;
    CHECK(fl_context_set_path(ctx, cases[k].path) == 0);
    CHECK(call_sum(ctx, &out, &in) == RT_OK);
    CHECK(out.u.i32 == cases[k].n * (cases[k].n - 1) / 2);
    CHECK(ctx->event_count == 1 && ctx->events[0].par == cases[k].n);
    CHECK(ctx->events[0].taken == cases[k].taken);
    rt_array_free(ctx, in.u.array);
  }
  CHECK(fl_context_set_path(ctx, "sum.intra_1=T") == 1);
  CHECK(fl_context_set_path(ctx, "") == 0);
  CHECK(ctx->kernels[K_GROUP_SUM].form_count == 2);
  CHECK(fl_context_set_tuning_param(ctx, "sum.intra_0", 3) == 0);
  CHECK(rt_guard(ctx, 0, 3, 0, 0) && !rt_guard(ctx, 0, 2, 0, 0));
  CHECK(!rt_guard(ctx, 0, 3, rt_local_capacity(ctx) + 1, 0));
  rt_param_set(ctx, 0, -100);  // a default by the operations of a step
  CHECK(rt_guard(ctx, 0, 1, 0, 0) && rt_guard(ctx, 0, 1, 0, 100));
  CHECK(!rt_guard(ctx, 0, 1000, 0, 101));
  CHECK(fl_context_set_tuning_param(ctx, "sum.intra_0", 3) == 0);
  CHECK(fl_context_set_tuning_param(ctx, "nothing", 3) == 1);
}

// The kernel is built again when a parameter in its text changes.
static void parameters_reach_kernels(struct rt_context *ctx) {
  for (int64_t tile = 4; tile <= 8; tile += 4) {
    struct rt_mem *out = NULL;
    struct rt_arg args[2];
    struct rt_scratch scratch = { tile, 8, false };
    struct rt_launch launch = { 300, -1, 0, args, 2, &scratch, 1, NULL, 0 };
    double got[300];
    CHECK(fl_context_set_tuning_param(ctx, "pair.tile_1", (size_t)tile) == 0);
    CHECK(rt_param(ctx, 1) == tile);
    CHECK(rt_mem_alloc(ctx, &out, sizeof got) == RT_OK);
    args[0] = rt_arg_mem(out);
    args[1] = rt_arg_i64(300);
    CHECK(rt_launch(ctx, K_SCALED, &launch) == RT_OK);
    CHECK(rt_read(ctx, out, 0, sizeof got, got) == RT_OK);
    CHECK(got[0] == (double)(tile * (tile - 1) / 2) && got[299] == got[0]);
    rt_mem_release(ctx, &out);
  }
}

// An arena that is too small: the kernel runs again on what there was before, though it has changed
// that: by one argument, or by another of the same block.
static void kernels_run_again_on_what_there_was(struct rt_context *ctx) {
  enum { ITEMS = 300, EACH = 100000 };
  for (int apart = 0; apart < 2; apart++) {
    struct rt_mem *block = NULL;
    int32_t values[ITEMS] = { 0 };
    ctx->kernels[K_GROWN].arena_bytes = 0;
    CHECK(rt_mem_alloc(ctx, &block, sizeof values) == RT_OK);
    CHECK(rt_write(ctx, block, 0, sizeof values, values) == RT_OK);
    struct rt_arg args[4] = { rt_arg_used(block, true, !apart),
                              rt_arg_used(block, !apart, true), rt_arg_i64(ITEMS),
                              rt_arg_i64(EACH) };
    struct rt_launch launch = { ITEMS, -1, 0, args, 4, NULL, 0, NULL, 0 };
    CHECK(rt_launch(ctx, K_GROWN, &launch) == RT_OK);
    CHECK(ctx->kernels[K_GROWN].arena_bytes >= (int64_t)ITEMS * EACH);
    CHECK(rt_read(ctx, block, 0, sizeof values, values) == RT_OK);
    for (int i = 0; i < ITEMS; i++)
      CHECK(values[i] == 1);
    rt_mem_release(ctx, &block);
  }
}

static void tuples_are_opaque(struct rt_context *ctx) {
  struct rt_value in, out, field;
  struct rt_opaque *copy = NULL;
  void *bytes = NULL;
  size_t length = 0;
  in.u.i64 = 3;
  CHECK(call_pair(ctx, &out, &in) == RT_OK);
  CHECK(rt_opaque_store(ctx, out.u.opaque, &bytes, &length) == RT_OK);
  CHECK(length == sizeof(struct rt_stored_header) + 7 + 8 + 7 + 8 + 12);
  CHECK(rt_opaque_restore(ctx, &copy, T_PAIR, bytes) == RT_OK);
  CHECK(rt_opaque_project(ctx, &field, copy, 0) == RT_OK && field.u.i64 == 3);
  CHECK(rt_opaque_project(ctx, &field, copy, 1) == RT_OK && field.u.array->shape[0] == 3);
  rt_opaque_free(ctx, copy);
  int32_t got[3];
  CHECK(rt_array_values(ctx, field.u.array, got) == RT_OK && got[2] == 2);
  rt_array_free(ctx, field.u.array);
  memset(bytes, 0, 8);
  CHECK(rt_opaque_restore(ctx, &copy, T_PAIR, bytes) != RT_OK);
  free(fl_context_get_error(ctx));
  rt_opaque_free(ctx, out.u.opaque);
  free(bytes);
}

static void report_names_what_ran(struct rt_context *ctx) {
  rt_guard(ctx, 0, 3, 0, 0);
  char *report = fl_context_report(ctx);
  CHECK(strstr(report, "\"name\": \"add_one\""));
  CHECK(strstr(report, "\"name\": \"sum.intra_0\", \"par\": "));
  free(report);
}

static bool run_with_cache(const char *file) {
  struct rt_config *cfg = fl_context_config_new();
  fl_context_config_set_cache_file(cfg, file);
  struct rt_context *ctx = open_context(cfg);
  struct rt_value in = floats(ctx, 10), out;
  CHECK(call_add_one(ctx, &out, &in) == RT_OK);
  bool archived = ctx->archive.count == 1;
  rt_array_free(ctx, in.u.array);
  rt_array_free(ctx, out.u.array);
  fl_context_free(ctx);
  fl_context_config_free(cfg);
  return archived;
}

// The file appears, is found again, and is written anew after damage.
static void cache_survives_damage(void) {
  char file[] = "/tmp/flc-cache-XXXXXX";
  int fd = mkstemp(file);
  CHECK(fd >= 0);
  close(fd);
  size_t length = 0, again = 0;
  CHECK(run_with_cache(file));
  char *bytes = rt_read_file(file, &length);
  CHECK(length > sizeof(struct rt_record_header));
  CHECK(run_with_cache(file));  // one entry still: it was found
  bytes[length / 2] ^= 1;
  CHECK(rt_write_file(file, bytes, length));
  CHECK(run_with_cache(file));
  free(bytes);
  bytes = rt_read_file(file, &again);
  struct rt_binaries all = { NULL, 0 };
  CHECK(rt_binaries_load(&all, file) && all.count == 1);
  rt_binaries_free(&all);
  free(bytes);
  unlink(file);
  CHECK(!run_with_cache("") && run_with_cache("/nonexistent/cache"));
}

static void mistakes_in_configurations(void) {
  struct rt_config *cfg = fl_context_config_new();
  CHECK(fl_context_config_set_tuning_param(cfg, "sum.intra_0", 7) == 0);
  CHECK(fl_context_config_set_tuning_param(cfg, "nothing", 7) == 1);
  CHECK(fl_context_config_set_code(cfg, "fpga") == 1);
  CHECK(fl_context_config_set_path(cfg, "sum.intra_0=X") == 1);
  CHECK(fl_context_config_set_tuning_file(cfg, "/nonexistent") == 1);
  fl_context_config_set_device(cfg, "no such device");
  struct rt_context *ctx = fl_context_new(cfg);
  char *message = fl_context_get_error(ctx);
  const char *known = "no OpenCL device matches device \"no such device\"; there are #0 ";
  CHECK(message && strncmp(message, known, strlen(known)) == 0);
  free(message);
  CHECK(fl_context_sync(ctx) != RT_OK);
  fl_context_free(ctx);
  fl_context_config_free(cfg);
}

static void two_contexts_at_once(void) {
  struct rt_config *one = fl_context_config_new(), *two = fl_context_config_new();
  fl_context_config_set_default_group_size(two, 32);
  struct rt_context *a = open_context(one), *b = open_context(two);
  CHECK(a->default_group_size == 256 && b->default_group_size == 32);
  launches_any_size(b);
  launches_any_size(a);
  fl_context_free(a);
  fl_context_free(b);
  fl_context_config_free(one);
  fl_context_config_free(two);
}

// Kernels of one batch are compiled together, unless they need other options.
static void batches_are_built_at_once(void) {
  struct rt_config *cfg = fl_context_config_new();
  struct rt_context *ctx = open_context(cfg);
  enum { ADD_ONE, GET, GROUP_SUM, SCALED, IOTA, GROWN, KERNELS };
  CHECK(ctx->program->kernel_count == KERNELS);
  launches_any_size(ctx);
  static const bool together[KERNELS] = { true, true, false, false, true, false };
  for (int k = 0; k < KERNELS; k++) {
    CHECK((ctx->kernels[k].form_count == 1) == together[k]);
    CHECK(!together[k] ||
          ctx->kernels[k].forms[0].module == ctx->kernels[ADD_ONE].forms[0].module);
  }
  struct rt_form fallback = { true, 0, false, false, false };
  struct rt_batch alone = rt_batch_of(ctx, IOTA, fallback);
  CHECK(alone.count == 1 && alone.kernels[0] == IOTA);
  rt_batch_free(&alone);
  struct rt_kernel one = ctx->program->kernels[ADD_ONE], other = one;
  other.batch++;
  CHECK(!rt_builds_with(&one, &other, false) && rt_builds_with(&one, &other, true));
  fl_context_free(ctx);
  fl_context_config_free(cfg);
}

// The mapping around the address has the flag `hg` then; systems without such pages list no flags.
static bool may_have_large_pages(const void *address) {
  FILE *maps = fopen("/proc/self/smaps", "r");
  char line[4096];
  bool inside = false, found = false, flags = false;
  while (maps && fgets(line, sizeof line, maps)) {
    unsigned long from, to;
    if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
      inside = from <= (uintptr_t)address && (uintptr_t)address < to;
    flags = flags || !strncmp(line, "THPeligible:", 12);
    if (inside && !strncmp(line, "VmFlags:", 8)) found = strstr(line, " hg") != NULL;
  }
  if (maps) fclose(maps);
  return found || !flags;
}

static void long_arrays_have_large_pages(struct rt_context *ctx) {
  const int64_t n = 3 << 20;
  struct rt_value v = floats(ctx, n);
  struct rt_place place = { v.u.array->mem->buffer, n * (int64_t)sizeof(float) / 2 };
  const char *shared = rt_cl_shared_place(ctx, place);
  CHECK(!shared || may_have_large_pages(shared));
  rt_array_free(ctx, v.u.array);
}

// `shared`: by memory that host and device share, if they do; else by commands.
static void all_in_one_context(bool profiling, bool shared) {
  struct rt_config *cfg = fl_context_config_new();
  fl_context_config_set_profiling(cfg, profiling);
  struct rt_context *ctx = open_context(cfg);
  if (shared) {
    memory_is_shared(ctx);
    long_arrays_have_large_pages(ctx);
  } else
    ctx->device.shares_memory = false;
  launches_any_size(ctx);
  consumed_arrays_are_gone(ctx);
  shared_blocks_are_copied(ctx);
  freed_buffers_are_used_again(ctx);
  too_much_memory_is_an_error(ctx);
  failed_checks_are_reported_once(ctx);
  guards_choose_versions(ctx);
  parameters_reach_kernels(ctx);
  kernels_run_again_on_what_there_was(ctx);
  tuples_are_opaque(ctx);
  report_names_what_ran(ctx);
  CHECK(ctx->memory.live == 0);
  fl_context_free(ctx);
  fl_context_config_free(cfg);
}

// The name of the source, which PoCL ends by chance, is no name of a function.
static void names_of_the_library(void) {
  static const struct {
    const char *bytes;
    bool needs;
  } codes[] = {
    { "floor_kernel_Zero/tmp/tempfile_aBcDeF.cl", false },
    { "kernel_Z5floorf/tmp/tempfile_aBcDeF.cl", true },
    { "kernel/tmp/tempfile_Z5abcd.cl", false },
    { "kernel/tmp/tempfile_Z5abcd.cl_Z5floorf", true },
    { "_Z5floorf", true },
    { "_", false },
  };
  for (size_t i = 0; i < sizeof codes / sizeof *codes; i++) {
    const unsigned char *bytes = (const unsigned char *)codes[i].bytes;
    CHECK(rt_pocl_needs_library(bytes, strlen(codes[i].bytes) + 1) == codes[i].needs);
  }
}

int main(void) {
  names_of_the_library();
  all_in_one_context(false, true);
  all_in_one_context(false, false);
  all_in_one_context(true, true);
  cache_survives_damage();
  mistakes_in_configurations();
  two_contexts_at_once();
  batches_are_built_at_once();
  return 0;
}
