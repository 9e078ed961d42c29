// Begin pretend.h: limits that a device is said to have, so that what a program does on a smaller
// one can be seen and tested.

struct rt_limit {
  const char *name, *meaning;
  int64_t most;  // 1: yes or no
};

enum {
  RT_LIMIT_LOCAL,
  RT_LIMIT_MEMORY,
  RT_LIMIT_BLOCK,
  RT_LIMIT_DOUBLES,
  RT_LIMIT_ATOMICS64,
  RT_LIMIT_WAVEFRONT,
  RT_LIMITS
};

static const struct rt_limit rt_limits[RT_LIMITS] = {
  { "local", "bytes of local memory of a group", INT64_MAX },
  { "memory", "bytes of device memory", INT64_MAX },
  { "block", "bytes of memory in one block", INT64_MAX },
  { "doubles", "has it f64?", 1 },
  { "atomics64", "has it atomic operations on 64 bits?", 1 },
  { "wavefront", "items of a sub-group, a power of two; 1: no sub-groups", 1024 },
};

// "local=32768,doubles=0"; false if it does not say that.
RT_FN bool rt_parse_limits(const char *text, int64_t *values) {
  for (int i = 0; i < RT_LIMITS; i++)
    values[i] = -1;
  for (const char *at = text; *at;) {
    size_t length = strcspn(at, "=,");
    int i = 0;
    while (i < RT_LIMITS && (strlen(rt_limits[i].name) != length ||
                             strncmp(rt_limits[i].name, at, length) != 0))
      i++;
    if (i == RT_LIMITS || at[length] != '=' || at[length + 1] < '0' ||
        at[length + 1] > '9')
      return false;
    char *end = NULL;
    values[i] = strtoll(at + length + 1, &end, 10);
    bool half = i == RT_LIMIT_WAVEFRONT && (!values[i] || values[i] & (values[i] - 1));
    if (half || values[i] > rt_limits[i].most || (*end && *end != ',')) return false;
    at = *end ? end + 1 : end;
  }
  return true;
}

// Limits are never more than the device has, but for sub-groups, which can be emulated.
RT_FN void rt_pretend(struct rt_context *ctx) {
  struct rt_device *d = &ctx->device;
  int64_t values[RT_LIMITS];
  if (!ctx->config->limits || !rt_parse_limits(ctx->config->limits, values)) return;
  if (values[RT_LIMIT_LOCAL] >= 0 && values[RT_LIMIT_LOCAL] < d->local_bytes)
    d->local_bytes = values[RT_LIMIT_LOCAL];
  if (values[RT_LIMIT_MEMORY] >= 0 && values[RT_LIMIT_MEMORY] < d->global_bytes)
    d->global_bytes = values[RT_LIMIT_MEMORY];
  if (values[RT_LIMIT_BLOCK] >= 0 && values[RT_LIMIT_BLOCK] < d->max_block_bytes)
    d->max_block_bytes = values[RT_LIMIT_BLOCK];
  if (d->max_block_bytes > d->global_bytes) d->max_block_bytes = d->global_bytes;
  if (values[RT_LIMIT_DOUBLES] == 0) d->doubles = false;
  if (values[RT_LIMIT_ATOMICS64] == 0) d->atomic_bytes = 4;
  if (values[RT_LIMIT_WAVEFRONT] >= 0 && values[RT_LIMIT_WAVEFRONT] != d->sub_group) {
    d->sub_group = values[RT_LIMIT_WAVEFRONT];
    d->sub_words = " -DFLC_SUB_EMULATED";
  }
  rt_log(ctx, "pretending: %s", ctx->config->limits);
}
// End pretend.h
