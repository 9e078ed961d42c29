// Begin trace.h: when each kernel and transfer of a call ran, on the device and on the host
// (docs/profiling.md).
//
// Unlike a profile (profile.h) a trace never waits for the device: what it shows is how the program
// runs by itself.  The clock of the device is laid over the host's once per call, by the
// moments at which commands were queued, which both have seen, and by the end of the call.

enum { RT_TRACE_MOST = 1 << 16, RT_COPY_ROUNDS = 5 };

// A command of a call.  Host times are those between which it was handed to the device.
struct rt_trace_event {
  enum rt_task_kind kind;
  int kernel;  // RT_TASK_KERNEL
  int64_t bytes;
  int64_t host_start, host_end;  // rt_time_ns
  int64_t queued, start, end;    // by the clock of the device
  struct rt_event *event;        // NULL once its times are known
};

// What a kernel, or the transfers of a kind, took in all calls that count.
struct rt_trace_sum {
  int64_t count, total_ns, min_ns, max_ns, bytes;
};

struct rt_traced_kernel {
  struct rt_trace_sum runs;
  size_t groups, group_size;  // of the last launch
  int64_t *arg_bytes;         // per argument, of all launches: 0 for scalars
  double *scalars;  // per argument, the sum of all launches; of no use for floats
  double items;     // of all launches
  int arg_count;
};

struct rt_traced_call {
  int64_t ns;
  int64_t started;      // rt_time_ns
  int first, count;     // its events, if they were kept
  bool kept, is_whole;  // is_whole: not only the first ones
};

struct rt_trace {
  struct rt_trace_event *events;  // of calls that are over, then of the one at hand
  int count, capacity, first;     // first: of the call at hand
  bool in_call, counts, is_whole;
  struct rt_traced_kernel *kernels;
  struct rt_trace_sum within[RT_TASK_KINDS], outside[RT_TASK_KINDS];
  struct rt_traced_call *calls;
  int call_count;
  int64_t call_started, copy_bytes, copy_ns;
  double peak
      [4];  // additions and multiplications per second, of f32, f64, i32, i64; 0: unknown
};

RT_FN void rt_trace_add(struct rt_trace_sum *sum, int64_t ns, int64_t bytes) {
  if (sum->count == 0 || ns < sum->min_ns) sum->min_ns = ns;
  if (ns > sum->max_ns) sum->max_ns = ns;
  sum->total_ns += ns;
  sum->bytes = rt_sat_add(sum->bytes, bytes);
  sum->count++;
}

// ---- commands

RT_FN struct rt_traced_kernel *rt_traced_kernel(struct rt_context *ctx, int kernel,
                                                const struct rt_launch *launch) {
  struct rt_traced_kernel *k = &ctx->trace->kernels[kernel];
  if (k->arg_bytes) return k;
  k->arg_bytes =
      (int64_t *)rt_host_alloc((size_t)(launch->arg_count + 1) * sizeof *k->arg_bytes);
  k->scalars =
      (double *)rt_host_alloc((size_t)(launch->arg_count + 1) * sizeof *k->scalars);
  k->arg_count = launch->arg_count;
  return k;
}

RT_FN double rt_integer_arg(const struct rt_arg *arg) {
  switch (arg->bytes) {
  case 1: return arg->scalar.u.i8;
  case 2: return arg->scalar.u.i16;
  case 4: return arg->scalar.u.i32;
  case 8: return (double)arg->scalar.u.i64;
  default: return 0;
  }
}

// What a launch was given, before its time is known.
RT_FN void rt_trace_launch(struct rt_context *ctx, int kernel,
                           const struct rt_launch *launch, size_t groups,
                           size_t group_size) {
  if (!ctx->trace || !ctx->trace->in_call || !ctx->trace->counts) return;
  struct rt_traced_kernel *k = rt_traced_kernel(ctx, kernel, launch);
  k->groups = groups;
  k->group_size = group_size;
  k->items += (double)groups * (double)group_size;
  for (int i = 0; i < launch->arg_count && i < k->arg_count; i++) {
    k->scalars[i] += rt_integer_arg(&launch->args[i]);
    if (launch->args[i].mem)
      k->arg_bytes[i] = rt_sat_add(k->arg_bytes[i], launch->args[i].mem->used);
  }
}

RT_FN void rt_trace_settle(struct rt_context *ctx, struct rt_trace_event *e) {
  struct rt_trace *t = ctx->trace;
  struct rt_times times = ctx->backend->event_end(ctx, e->event);
  e->event = NULL;
  e->queued = times.queued;
  e->start = times.start;
  e->end = times.end;
  if (t->in_call && !t->counts) return;
  struct rt_trace_sum *sum = !t->in_call                 ? &t->outside[e->kind]
                             : e->kind == RT_TASK_KERNEL ? &t->kernels[e->kernel].runs
                                                         : &t->within[e->kind];
  rt_trace_add(sum, e->end - e->start, e->bytes);
}

// Gets the times of the commands so far, all of which must have ended.
RT_FN void rt_trace_collect(struct rt_context *ctx) {
  struct rt_trace *t = ctx->trace;
  for (int i = t->first; i < t->count; i++)
    if (t->events[i].event) rt_trace_settle(ctx, &t->events[i]);
}

// Adds a command that has been handed to the device.
RT_FN void rt_trace_task(struct rt_context *ctx, const struct rt_task *task,
                         enum rt_task_kind kind, int kernel, int64_t bytes) {
  struct rt_trace *t = ctx->trace;
  if (t->count - t->first ==
      RT_TRACE_MOST) {  // of a long call only the beginning is kept
    rt_wait(ctx);
    rt_trace_collect(ctx);
    t->count = t->first + RT_TRACE_MOST / 2;
    t->is_whole = false;
  }
  if (t->count == t->capacity) {
    t->capacity = t->capacity * 2 + 64;
    t->events = (struct rt_trace_event *)rt_host_grow(t->events, (size_t)t->capacity *
                                                                     sizeof *t->events);
  }
  struct rt_trace_event e;
  memset(&e, 0, sizeof e);
  e.kind = kind;
  e.kernel = kernel;
  e.bytes = bytes;
  e.host_start = task->began;
  e.host_end = rt_time_ns();
  e.event = task->event;
  t->events[t->count++] = e;
}

// ---- calls

// Around a call of an entry point; nothing is running.  `counts`: it is no warm-up.
RT_FN void rt_trace_begin_call(struct rt_context *ctx) {
  struct rt_trace *t = ctx->trace;
  if (!t) return;
  rt_trace_collect(ctx);
  t->count = t->first;  // what was outside of calls
  t->in_call = true;
  t->is_whole = true;
  t->call_started = rt_time_ns();
}

RT_FN void rt_trace_end_call(struct rt_context *ctx, int64_t ns) {
  struct rt_trace *t = ctx->trace;
  if (!t) return;
  rt_trace_collect(ctx);
  int count = t->count - t->first;
  bool kept =
      t->counts && t->first + count <= RT_TRACE_MOST && (t->is_whole || t->first == 0);
  if (t->counts) {
    t->calls = (struct rt_traced_call *)rt_host_grow(
        t->calls, (size_t)(t->call_count + 1) * sizeof *t->calls);
    struct rt_traced_call call = { ns,   t->call_started, t->first, kept ? count : 0,
                                   kept, t->is_whole };
    t->calls[t->call_count++] = call;
  }
  if (kept) t->first += count;
  t->count = t->first;
  t->in_call = false;
}

// ---- what the device's memory can do

static const char rt_copy_kernel[] =
    "__kernel void flc_copy(__global const float4 *from, __global float4 *to, long count,"
    " long each, long step) {\n"
    "  long first = (long)get_global_id(0) * (step == 1 ? each : 1);\n"
    "  for (long k = 0; k < each && first + k * step < count; k++)\n"
    "    to[first + k * step] = from[first + k * step];\n"
    "}\n";

enum {
  RT_COPY_BYTES = 64 << 20,
  RT_COPY_CHUNK = 1 << 12,
  RT_COPY_ITEMS = 1 << 14,
  RT_COPY_GROUP = 64
};

struct rt_copy {
  struct rt_module *module;
  struct rt_function *function;
  struct rt_mem *from, *to;
  size_t items;
};

RT_FN int rt_copy_build(struct rt_context *ctx, struct rt_copy *c) {
  char *log = NULL;
  int status = ctx->backend->compile(ctx, false, rt_copy_kernel, "-w", &c->module, &log);
  free(log);
  if (!status)
    status = ctx->backend->function_new(ctx, c->module, "flc_copy", &c->function);
  return status;
}

// On CPUs an item copies neighbouring elements, on GPUs neighbouring items do.
RT_FN int rt_copy_arguments(const struct rt_context *ctx, struct rt_copy *c,
                            int64_t bytes) {
  int64_t count = bytes / 16, each = RT_COPY_CHUNK, step = 1;
  if (ctx->gpu_code) {
    each = (count + RT_COPY_ITEMS - 1) / RT_COPY_ITEMS;
    step = RT_COPY_ITEMS;
  }
  c->items = ctx->gpu_code ? (size_t)RT_COPY_ITEMS : (size_t)((count + each - 1) / each);
  const void *values[] = { &c->from->buffer, &c->to->buffer, &count, &each, &step };
  int status = 0;
  for (int i = 0; i < 5 && !status; i++)
    status = ctx->backend->set_arg(c->function, i, 8, values[i]);
  return status;
}

// The time of one copy, in nanoseconds; negative if it failed.
RT_FN int64_t rt_copy_once(struct rt_context *ctx, const struct rt_copy *c) {
  struct rt_event *event = NULL;
  size_t size = ctx->gpu_code ? RT_COPY_GROUP : 1;
  if (ctx->backend->launch(ctx, false, c->function, c->items / size, size, &event))
    return -1;
  int status = ctx->backend->finish(ctx);
  struct rt_times times = ctx->backend->event_end(ctx, event);
  return !status && times.end > times.start ? times.end - times.start : -1;
}

RT_FN void rt_copy_rounds(struct rt_context *ctx, const struct rt_copy *c,
                          int64_t bytes) {
  struct rt_trace *t = ctx->trace;
  for (int i = 0; i <= RT_COPY_ROUNDS; i++) {
    int64_t ns = rt_copy_once(ctx, c);
    if (ns < 0) return;
    if (i == 0 || (t->copy_ns > 0 && ns >= t->copy_ns)) continue;
    t->copy_ns = ns;
    t->copy_bytes = 2 * bytes;
  }
}

// The best of some copies of an array that is larger than caches, in the same code and by as
// many items as kernels use.  Nothing is known where that fails.
RT_FN void rt_trace_measure_copy(struct rt_context *ctx) {
  struct rt_copy c;
  memset(&c, 0, sizeof c);
  int64_t bytes = RT_COPY_BYTES;
  while (bytes > ctx->device.max_block_bytes || bytes > ctx->device.global_bytes / 8)
    bytes /= 2;
  struct rt_trace *trace = ctx->trace;
  ctx->trace = NULL;
  bool ok = rt_mem_alloc(ctx, &c.from, bytes) == RT_OK &&
            rt_mem_alloc(ctx, &c.to, bytes) == RT_OK && rt_copy_build(ctx, &c) == 0 &&
            rt_copy_arguments(ctx, &c, bytes) == 0;
  ctx->trace = trace;
  if (ok) rt_copy_rounds(ctx, &c, bytes);
  rt_mem_release(ctx, &c.from);
  rt_mem_release(ctx, &c.to);
  if (c.function) ctx->backend->function_free(ctx, c.function);
  if (c.module) ctx->backend->module_drop(ctx, c.module);
  rt_pool_flush(ctx);  // and the peak that is reported is the program's
  ctx->memory.peak = ctx->memory.live;
}

// ---- what it can compute

enum {
  RT_PEAK_ROUNDS = 4096,
  RT_PEAK_ROUNDS_GPU = 1024,
  RT_PEAK_SUMS = 8,
  RT_PEAK_GROUP = 64
};

// Eight sums, which do not wait for one another: vectors on CPUs, numbers on GPUs.
static const char rt_peak_kernel[] =
    "__kernel void flc_peak(__global V *to, long rounds) {\n"
    "  V a = (V)((S)(get_global_id(0) + 1)), b = a + 1, c = a + 2, d = a + 3, e = a + 4, "
    "f = "
    "a + 5,"
    " g = a + 6, h = a + 7, x = (V)((S)X), y = a;\n"
    "  for (long k = 0; k < rounds; k++) {\n"
    "    a = a * x + y; b = b * x + y; c = c * x + y; d = d * x + y;\n"
    "    e = e * x + y; f = f * x + y; g = g * x + y; h = h * x + y;\n"
    "  }\n"
    "  to[get_global_id(0)] = a + b + c + d + e + f + g + h;\n"
    "}\n";

struct rt_peak {
  struct rt_module *module;
  struct rt_function *function;
  struct rt_mem *to;
  size_t items, size;
  int lanes;
};

// Returns operations per second; 0 if it failed.
RT_FN double rt_peak_rounds(struct rt_context *ctx, const struct rt_peak *p) {
  int64_t rounds = ctx->gpu_code ? RT_PEAK_ROUNDS_GPU : RT_PEAK_ROUNDS;
  const void *values[] = { &p->to->buffer, &rounds };
  double best = 0;
  for (int i = 0; i < 2; i++)
    if (ctx->backend->set_arg(p->function, i, 8, values[i])) return 0;
  for (int i = 0; i <= RT_COPY_ROUNDS; i++) {
    struct rt_event *event = NULL;
    if (ctx->backend->launch(ctx, false, p->function, p->items / p->size, p->size,
                             &event))
      return 0;
    int status = ctx->backend->finish(ctx);
    struct rt_times times = ctx->backend->event_end(ctx, event);
    if (status || times.end <= times.start) return 0;
    double work = 2.0 * RT_PEAK_SUMS * (double)rounds * (double)p->items * p->lanes;
    double rate = work / (double)(times.end - times.start) * 1e9;
    if (i > 0 && rate > best) best = rate;
  }
  return best;
}

// `number`: what is added and multiplied, or vectors of it.
RT_FN double rt_measure_peak(struct rt_context *ctx, const char *number, int lanes,
                             const char *factor, int64_t bytes) {
  struct rt_peak p;
  struct rt_text text = { NULL, 0, 0 };
  char *log = NULL;
  double rate = 0;
  memset(&p, 0, sizeof p);
  p.lanes = lanes;
  p.size = ctx->gpu_code ? RT_PEAK_GROUP : 1;
  p.items = (size_t)ctx->device.compute_units * (ctx->gpu_code ? 2048 : 8);
  rt_text_printf(&text, "#define S %s\n#define X %s\n#define V %s", number, factor,
                 number);
  if (lanes > 1) rt_text_printf(&text, "%d", lanes);
  rt_text_printf(&text, "\n%s", rt_peak_kernel);
  if (rt_mem_alloc(ctx, &p.to, (int64_t)p.items * bytes * lanes) == RT_OK &&
      ctx->backend->compile(ctx, false, text.data, "-w", &p.module, &log) == 0 &&
      ctx->backend->function_new(ctx, p.module, "flc_peak", &p.function) == 0)
    rate = rt_peak_rounds(ctx, &p);
  rt_text_free(&text);
  free(log);
  rt_mem_release(ctx, &p.to);
  if (p.function) ctx->backend->function_free(ctx, p.function);
  if (p.module) ctx->backend->module_drop(ctx, p.module);
  return rate;
}

RT_FN void rt_trace_measure_peak(struct rt_context *ctx) {
  struct rt_trace *trace = ctx->trace;
  ctx->trace = NULL;
  int narrow = ctx->gpu_code ? 1 : 16, wide = ctx->gpu_code ? 1 : 8;
  trace->peak[0] = rt_measure_peak(ctx, "float", narrow, "0.5f", 4);
  if (ctx->device.doubles)
    trace->peak[1] = rt_measure_peak(ctx, "double", wide, "0.5", 8);
  trace->peak[2] = rt_measure_peak(ctx, "uint", narrow, "3", 4);
  trace->peak[3] = rt_measure_peak(ctx, "ulong", wide, "3", 8);
  ctx->trace = trace;
  rt_pool_flush(ctx);  // the peak of memory that is reported is the program's
  ctx->memory.peak = ctx->memory.live;
}

RT_FN void rt_trace_open(struct rt_context *ctx) {
  struct rt_trace *t = (struct rt_trace *)rt_host_alloc(sizeof *t);
  t->kernels = (struct rt_traced_kernel *)rt_host_alloc(
      (size_t)ctx->program->kernel_count * sizeof *t->kernels);
  ctx->trace = t;
  RT_NAME(context_pause_profiling)(ctx);  // which would wait
  rt_trace_measure_copy(ctx);
  rt_trace_measure_peak(ctx);
}

RT_FN void rt_trace_free(struct rt_context *ctx) {
  struct rt_trace *t = ctx->trace;
  if (!t) return;
  for (int i = t->first; i < t->count; i++)
    if (t->events[i].event) ctx->backend->event_end(ctx, t->events[i].event);
  for (int k = 0; k < ctx->program->kernel_count; k++)
    free(t->kernels[k].arg_bytes), free(t->kernels[k].scalars);
  free(t->kernels);
  free(t->events);
  free(t->calls);
  free(t);
  ctx->trace = NULL;
}

// ---- the report

RT_FN void rt_trace_sum_json(struct rt_text *out, const struct rt_trace_sum *sum) {
  rt_text_printf(out,
                 "\"count\": %" PRId64 ", \"total_ns\": %" PRId64 ", \"min_ns\": %" PRId64
                 ", \"max_ns\": %" PRId64 ", \"bytes\": %" PRId64,
                 sum->count, sum->total_ns, sum->min_ns, sum->max_ns, sum->bytes);
}

RT_FN void rt_trace_kernels_json(const struct rt_context *ctx, struct rt_text *out) {
  bool first = true;
  rt_text_add(out, ",\n\"kernels\": [");
  for (int i = 0; i < ctx->program->kernel_count; i++) {
    const struct rt_traced_kernel *k = &ctx->trace->kernels[i];
    if (k->runs.count == 0) continue;
    rt_text_printf(out, "%s\n  {\"id\": %d, \"name\": ", first ? "" : ",", i);
    first = false;
    rt_text_json(out, ctx->program->kernels[i].name);
    rt_text_add(out, ", ");
    rt_trace_sum_json(out, &k->runs);
    rt_text_printf(out, ", \"groups\": %zu, \"group_size\": %zu, \"arguments\": [",
                   k->groups, k->group_size);
    for (int a = 0; a < k->arg_count; a++)
      rt_text_printf(out, "%s%" PRId64, a ? ", " : "", k->arg_bytes[a]);
    rt_text_printf(out, "], \"items\": %.0f, \"scalars\": [", k->items);
    for (int a = 0; a < k->arg_count; a++)
      rt_text_printf(out, "%s%.17g", a ? ", " : "", k->scalars[a]);
    rt_text_add(out, "]}");
  }
  rt_text_add(out, "]");
}

static const char *const rt_task_names[RT_TASK_KINDS] = { "kernel", "read", "write",
                                                          "copy" };

RT_FN void rt_trace_transfers_json(struct rt_text *out, const char *key,
                                   const struct rt_trace_sum *sums) {
  rt_text_printf(out, ",\n\"%s\": {", key);
  for (int kind = RT_TASK_READ; kind < RT_TASK_KINDS; kind++) {
    rt_text_printf(out, "%s\"%s\": {", kind > RT_TASK_READ ? ", " : "",
                   rt_task_names[kind]);
    rt_trace_sum_json(out, &sums[kind]);
    rt_text_add(out, "}");
  }
  rt_text_add(out, "}");
}

// How far the host's clock is ahead of the device's: at most as much as when a command was
// queued by the one and handed over by the other, nor so much that one would end after the call,
// which waits for all.
RT_FN int64_t rt_trace_offset(const struct rt_trace_event *events,
                              const struct rt_traced_call *call) {
  int64_t offset = 0;
  for (int i = 0; i < call->count; i++) {
    int64_t ahead = events[i].host_end - events[i].queued;
    int64_t before_end = call->started + call->ns - events[i].end;
    if (before_end < ahead) ahead = before_end;
    if (i == 0 || ahead < offset) offset = ahead;
  }
  return offset;
}

// [kind, kernel, device start, device end, host start, host end, bytes], since the call began.
RT_FN void rt_trace_call_json(const struct rt_trace *t, const struct rt_traced_call *call,
                              struct rt_text *out) {
  const struct rt_trace_event *events = t->events + call->first;
  int64_t offset = rt_trace_offset(events, call) - call->started;
  rt_text_printf(out, "{\"ns\": %" PRId64 ", \"kept\": %s, \"whole\": %s, \"events\": [",
                 call->ns, call->kept ? "true" : "false",
                 call->is_whole ? "true" : "false");
  for (int i = 0; i < call->count; i++) {
    const struct rt_trace_event *e = &events[i];
    rt_text_printf(out,
                   "%s[\"%s\", %d, %" PRId64 ", %" PRId64 ", %" PRId64 ", %" PRId64
                   ", %" PRId64 "]",
                   i ? ",\n   " : "\n   ", rt_task_names[e->kind], e->kernel,
                   e->start + offset, e->end + offset, e->host_start - call->started,
                   e->host_end - call->started, e->bytes);
  }
  rt_text_add(out, "]}");
}

RT_FN char *rt_trace_report(struct rt_context *ctx, const char *entry) {
  struct rt_trace *t = ctx->trace;
  struct rt_text out = { NULL, 0, 0 };
  rt_wait(ctx);
  rt_trace_collect(ctx);
  rt_text_add(&out, "{\"entry\": ");
  rt_text_json(&out, entry);
  rt_text_add(&out, ",\n");
  rt_report_device(ctx, &out);
  rt_text_printf(&out, ",\n\"copy\": {\"bytes\": %" PRId64 ", \"ns\": %" PRId64 "}",
                 t->copy_bytes, t->copy_ns);
  rt_text_printf(&out,
                 ",\n\"peak\": {\"f32\": %.0f, \"f64\": %.0f, \"i32\": %.0f, "
                 "\"i64\": %.0f}",
                 t->peak[0], t->peak[1], t->peak[2], t->peak[3]);
  rt_trace_kernels_json(ctx, &out);
  rt_trace_transfers_json(&out, "transfers", t->within);
  rt_trace_transfers_json(&out, "around", t->outside);
  rt_report_kernels(ctx, &out, true);
  rt_report_guards(ctx, ctx->events, ctx->event_count, &out);
  rt_report_sizes(ctx, &out);
  rt_text_add(&out, ",\n\"calls\": [");
  for (int i = 0; i < t->call_count; i++) {
    rt_text_add(&out, i ? ",\n  " : "\n  ");
    rt_trace_call_json(t, &t->calls[i], &out);
  }
  rt_text_add(&out, "]}\n");
  return rt_text_take(&out);
}
// End trace.h
