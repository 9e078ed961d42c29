// Begin profile.h: how often and how long kernels and builds ran.

RT_FN void rt_timing_add(struct rt_timing *t, int64_t us) {
  if (t->count == 0 || us < t->min_us) t->min_us = us;
  if (us > t->max_us) t->max_us = us;
  t->total_us += us;
  t->count++;
}

// Adds up the launches that are waiting for their times; waits for the device.
RT_FN void rt_profile_collect(struct rt_context *ctx) {
  if (ctx->pending_count == 0) return;
  rt_wait(ctx);
  for (int i = 0; i < ctx->pending_count; i++) {
    struct rt_pending_event *p = &ctx->pending[i];
    struct rt_times times = ctx->backend->event_end(ctx, p->event);
    rt_timing_add(&ctx->kernels[p->kernel].runs, (times.end - times.start) / 1000);
  }
  ctx->pending_count = 0;
}

// Remembers a launch; collects when many are waiting.
RT_FN void rt_profile_event(struct rt_context *ctx, int kernel, struct rt_event *event) {
  static const int most = 1024;
  if (ctx->pending_count == most) rt_profile_collect(ctx);
  if (!ctx->pending)
    ctx->pending =
        (struct rt_pending_event *)rt_host_alloc((size_t)most * sizeof *ctx->pending);
  ctx->pending[ctx->pending_count].kernel = kernel;
  ctx->pending[ctx->pending_count++].event = event;
}

void RT_NAME(context_pause_profiling)(struct rt_context *ctx) {
  rt_enter(ctx)->profiling = false;
  rt_leave(ctx, RT_OK);
}

void RT_NAME(context_unpause_profiling)(struct rt_context *ctx) {
  rt_enter(ctx)->profiling = true;
  rt_leave(ctx, RT_OK);
}

// ---- reports

RT_FN void rt_report_timing(struct rt_text *t, const char *name,
                            const struct rt_timing *timing, bool *first) {
  if (timing->count == 0) return;
  rt_text_add(t, *first ? "" : ", ");
  *first = false;
  rt_text_add(t, "{\"name\": ");
  rt_text_json(t, name);
  rt_text_printf(t,
                 ", \"count\": %" PRId64 ", \"total_us\": %" PRId64
                 ", \"min_us\": %" PRId64 ", \"max_us\": %" PRId64 "}",
                 timing->count, timing->total_us, timing->min_us, timing->max_us);
}

RT_FN void rt_report_kernels(const struct rt_context *ctx, struct rt_text *t,
                             bool builds) {
  bool first = true;
  rt_text_printf(t, ",\n\"%s\": [", builds ? "builds" : "kernels");
  for (int i = 0; i < ctx->program->kernel_count; i++)
    rt_report_timing(t, ctx->program->kernels[i].name,
                     builds ? &ctx->kernels[i].builds : &ctx->kernels[i].runs, &first);
  rt_text_add(t, "]");
}

RT_FN void rt_report_guards(const struct rt_context *ctx,
                            const struct rt_guard_event *events, int count,
                            struct rt_text *t) {
  rt_text_add(t, ",\n\"guards\": [");
  for (int i = 0; i < count; i++) {
    const struct rt_guard_event *e = &events[i];
    rt_text_add(t, i ? ", {\"name\": " : "{\"name\": ");
    rt_text_json(t, ctx->program->guards[e->guard].name);
    rt_text_printf(t,
                   ", \"par\": %" PRId64 ", \"threshold\": %" PRId64
                   ", \"local_bytes\": %" PRId64 ", \"at_us\": %" PRId64
                   ".%03d, \"taken\": %s}",  // no %f, which has a comma in some languages
                   e->par, e->threshold, e->local_bytes, e->at_ns / 1000,
                   (int)(e->at_ns % 1000), e->taken ? "true" : "false");
  }
  rt_text_add(t, "]");
}

RT_FN void rt_report_sizes(const struct rt_context *ctx, struct rt_text *t) {
  bool first = true;
  rt_text_add(t, ",\n\"sizes\": {");
  for (int i = 0; ctx->known_sizes >> i && i < RT_MAX_SIZES; i++) {
    if (!(ctx->known_sizes >> i & 1)) continue;
    if (!first) rt_text_add(t, ", ");
    first = false;
    rt_text_json(t, ctx->program->sizes[i]);
    rt_text_printf(t, ": %" PRId64, ctx->sizes[i]);
  }
  rt_text_add(t, "}");
}

RT_FN void rt_report_device(const struct rt_context *ctx, struct rt_text *t) {
  rt_text_add(t, "\"device\": {\"name\": ");
  rt_text_json(t, ctx->device.name ? ctx->device.name : "");
  rt_text_add(t, ", \"driver\": ");
  rt_text_json(t, ctx->device.identity ? ctx->device.identity : "");
  rt_text_printf(t,
                 ", \"code\": \"%s\", \"compute_units\": %" PRId64
                 ", \"local_bytes\": %" PRId64 ", \"max_group_size\": %" PRId64,
                 ctx->gpu_code ? "gpu" : "cpu", ctx->device.compute_units,
                 ctx->device.local_bytes, ctx->device.max_group_size);
  rt_text_printf(t,
                 "},\n\"bytes\": {\"peak\": %" PRId64 ", \"live\": %" PRId64
                 ", \"tables\": %" PRId64 ", \"pooled\": %" PRId64 "}",
                 ctx->memory.peak, ctx->memory.live - rt_tables_bytes(ctx),
                 rt_tables_bytes(ctx), ctx->memory.pooled);
}

RT_FN char *rt_report(struct rt_context *ctx) {
  struct rt_text t = { NULL, 0, 0 };
  if (ctx->broken) return rt_strdup("{}");
  rt_profile_collect(ctx);
  rt_text_add(&t, "{");
  rt_report_device(ctx, &t);
  rt_report_kernels(ctx, &t, false);
  rt_report_kernels(ctx, &t, true);
  rt_report_guards(ctx, ctx->events, ctx->event_count, &t);
  rt_report_sizes(ctx, &t);
  rt_text_add(&t, "}\n");
  return rt_text_take(&t);
}

char *RT_NAME(context_report)(struct rt_context *ctx) {
  char *report = rt_report(rt_enter(ctx));
  rt_leave(ctx, RT_OK);
  return report;
}

RT_FN void rt_print_timing(FILE *file, const char *kind, const char *name,
                           const struct rt_timing *t) {
  if (t->count == 0) return;
  fprintf(file, "%-7s %-40s %8" PRId64 " x %10.1f us = %12" PRId64 " us\n", kind, name,
          t->count, (double)t->total_us / (double)t->count, t->total_us);
}

// The table of -P.
RT_FN void rt_print_profile(struct rt_context *ctx, FILE *file) {
  rt_profile_collect(ctx);
  for (int i = 0; i < ctx->program->kernel_count; i++)
    rt_print_timing(file, "kernel", ctx->program->kernels[i].name, &ctx->kernels[i].runs);
  for (int i = 0; i < ctx->program->kernel_count; i++)
    rt_print_timing(file, "build", ctx->program->kernels[i].name,
                    &ctx->kernels[i].builds);
  fprintf(file, "peak device memory: %" PRId64 " bytes\n", ctx->memory.peak);
}
// End profile.h
