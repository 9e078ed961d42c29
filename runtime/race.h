// Begin race.h: calls that take time, one or many of them in turn.

// Calls with copies of what the entry point consumes; the copies are made before time is taken.
RT_FN int rt_timed_call(struct rt_context *ctx, const struct rt_entry_point *entry,
                        const struct rt_value *in, struct rt_value *out, int64_t *ns) {
  struct rt_value *args =
      (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *args);
  int error = RT_OK, copied = 0;
  for (; copied < entry->input_count && !error; copied++) {
    args[copied] = in[copied];
    if (entry->inputs[copied].unique)
      error = rt_copy_value(ctx, entry->inputs[copied].type, &in[copied], &args[copied]);
  }
  if (error) copied--;
  if (!error) error = rt_sync(ctx);
  if (!error) rt_trace_begin_call(ctx);
  int64_t start = rt_time_ns();
#ifdef RT_WORKERS
  struct rt_workers *w = ctx->config->workers;
  int64_t waited = w->waited;
#endif
  if (!error) {
    error = entry->call(ctx, out, args);
    if (!error) {
      error = rt_sync(ctx);
      if (error) rt_value_free(ctx, entry->output_type, out);
    }
  }
  *ns = rt_time_ns() - start;
#ifdef RT_WORKERS
  w->busy = *ns - (w->waited - waited);
#endif
  if (!error) rt_trace_end_call(ctx, *ns);
  for (int i = 0; i < copied; i++)
    if (entry->inputs[i].unique) rt_value_free(ctx, entry->inputs[i].type, &args[i]);
  free(args);
  return error;
}

// A path in a race, or settings, and what was measured in its rounds.
struct rt_racer {
  signed char *forced;
  bool *set;        // which parameters it has values of its own for,
  int64_t *params;  // and these
#ifdef RT_WORKERS
  int64_t *weights;  // of layouts, RT_RACE_WEIGHTS of each; RT_NO_WEIGHT: as it is
#endif
  struct rt_guard_event *events;  // of the first round
  int event_count;
  int64_t *ns;     // per round
  int64_t *at_ns;  // per round and event: when it was decided
};

// Keeps the times of a call; all calls of a path decide the same.
RT_FN int rt_race_record(struct rt_context *ctx, struct rt_racer *r, int round,
                         int rounds) {
  size_t count = (size_t)ctx->event_count;
  if (!r->events) {
    r->event_count = ctx->event_count;
    r->events = (struct rt_guard_event *)rt_host_alloc((count + 1) * sizeof *r->events);
    r->at_ns = (int64_t *)rt_host_alloc((count + 1) * (size_t)rounds * sizeof *r->at_ns);
    if (count) memcpy(r->events, ctx->events, count * sizeof *r->events);
  }
  if (ctx->event_count != r->event_count)
    return rt_error(ctx, RT_OTHER_ERROR, "a path decides differently from call to call");
  for (size_t i = 0; i < count; i++)
    r->at_ns[(size_t)round * count + i] = ctx->events[i].at_ns;
  return RT_OK;
}

#ifdef RT_WORKERS
// Likewise its weights.
RT_FN void rt_race_weigh(struct rt_context *ctx, struct rt_racer *r) {
  struct rt_workers *w = ctx->config->workers;
  for (int i = 0; i < (ctx->program->layout_count + 1) * RT_RACE_WEIGHTS; i++) {
    int layout = i / RT_RACE_WEIGHTS, rank = i % RT_RACE_WEIGHTS;
    if (r->weights[i] == RT_NO_WEIGHT || rank >= w->size) continue;
    int64_t *at = &w->weights[layout * w->size + rank], before = *at;
    *at = r->weights[i];
    r->weights[i] = before;
    if (layout == 0) w->weighing++;
  }
}
#endif

// Sets the racer's parameters, and keeps what they were: the next time it sets them back.
RT_FN void rt_race_swap(struct rt_context *ctx, struct rt_racer *r) {
  for (int i = 0; i < ctx->program->tuning_count; i++) {
    if (!r->set[i]) continue;
    int64_t before = ctx->params[i];
    rt_param_set(ctx, i, r->params[i]);
    r->params[i] = before;
  }
#ifdef RT_WORKERS
  rt_race_weigh(ctx, r);
#endif
}

RT_FN int rt_race_call(struct rt_context *ctx, const struct rt_entry_point *entry,
                       const struct rt_value *in, struct rt_racer *r, int round,
                       int rounds) {
  struct rt_value out;
  memset(&out, 0, sizeof out);
  memcpy(ctx->forced, r->forced, (size_t)ctx->program->guard_count);
  rt_race_swap(ctx, r);
  int error = rt_timed_call(ctx, entry, in, &out, &r->ns[round]);
  rt_race_swap(ctx, r);
  if (error) return error;
  rt_value_free(ctx, entry->output_type, &out);
  return rt_race_record(ctx, r, round, rounds);
}

// Forward and backward in turn: what drifts meets all paths alike.  A path has several calls in a
// row, because a short one depends on what ran before it: which threads are awake, which caches are
// warm.
RT_FN int rt_race_run(struct rt_context *ctx, const struct rt_entry_point *entry,
                      const struct rt_value *in, struct rt_racer *racers, int count,
                      int rounds) {
  enum { RT_RACE_CALLS = 8 };
  int error = RT_OK;
  for (int first = 0; first < rounds; first += RT_RACE_CALLS)
    for (int i = 0; i < count; i++) {
      bool backward = first / RT_RACE_CALLS % 2;
      struct rt_racer *r = &racers[backward ? count - 1 - i : i];
      for (int k = first; k < first + RT_RACE_CALLS && k < rounds && !error; k++)
        error = rt_race_call(ctx, entry, in, r, k, rounds);
    }
  return error;
}

RT_FN void rt_race_times(struct rt_text *t, const int64_t *ns, int count) {
  rt_text_add(t, "[");
  for (int i = 0; i < count; i++)
    rt_text_printf(t, "%s%.3f", i ? ", " : "", (double)ns[i] * 1e-3);
  rt_text_add(t, "]");
}

// {"us": [per round], "guards": [as in reports], "at_us": [[per event], per round]}
RT_FN void rt_race_report(struct rt_context *ctx, struct rt_text *t, struct rt_racer *r,
                          int rounds) {
  rt_text_add(t, "{\"us\": ");
  rt_race_times(t, r->ns, rounds);
  rt_report_guards(ctx, r->events, r->event_count, t);
  rt_text_add(t, ", \"at_us\": [");
  for (int round = 0; round < rounds; round++) {
    if (round) rt_text_add(t, ", ");
    rt_race_times(t, r->at_ns + (size_t)round * (size_t)r->event_count, r->event_count);
  }
  rt_text_add(t, "]}");
}

RT_FN void rt_race_print(struct rt_context *ctx, struct rt_racer *racers, int count,
                         int rounds) {
  struct rt_text t = { NULL, 0, 0 };
  rt_text_printf(&t, "{\"local_bytes\": %" PRId64, ctx->device.local_bytes);
  rt_report_sizes(ctx, &t);
  rt_text_add(&t, ", \"paths\": [");
  for (int i = 0; i < count; i++) {
    if (i) rt_text_add(&t, ",\n");
    rt_race_report(ctx, &t, &racers[i], rounds);
  }
  rt_text_add(&t, "]}\n");
  fputs(t.data, rt_out);
  rt_text_free(&t);
}

#ifdef RT_WORKERS
// weight_1=200
RT_FN bool rt_racer_weight(const char *name, const char *number, struct rt_racer *r) {
  const struct rt_weight of = rt_weight_named(name);
  int64_t value = 0;
  if (of.rank < 0 || of.rank >= RT_RACE_WEIGHTS) return false;
  if (sscanf(number, "%" SCNd64, &value) != 1 || rt_setting_wants(name, value))
    return false;
  r->weights[of.layout * RT_RACE_WEIGHTS + of.rank] = value;
  return true;
}
#endif

// Reads "main.top_0=T,main.segmap.groups=8" or "-": what is forced, and what is set.  False if the
// program does not have it.
RT_FN bool rt_racer_read(const struct rt_program *program, const char *text,
                         struct rt_racer *r) {
  struct rt_text path = { NULL, 0, 0 };
  size_t params = (size_t)program->tuning_count;
  r->forced = (signed char *)rt_host_alloc((size_t)program->guard_count);
  r->set = (bool *)rt_host_alloc(params * sizeof *r->set);
  r->params = (int64_t *)rt_host_alloc(params * sizeof *r->params);
#ifdef RT_WORKERS
  size_t weights = (size_t)(program->layout_count + 1) * RT_RACE_WEIGHTS;
  r->weights = (int64_t *)rt_host_alloc(weights * sizeof *r->weights);
  for (size_t i = 0; i < weights; i++)
    r->weights[i] = RT_NO_WEIGHT;
#endif
  char *words = rt_strdup(strcmp(text, "-") == 0 ? "" : text), *rest = NULL;
  bool ok = true;
  for (char *word = strtok_r(words, ",", &rest); word && ok;
       word = strtok_r(NULL, ",", &rest)) {
    int64_t value = 0;
    char *equals = strchr(word, '=');
    int param = -1;
    if (equals) *equals = '\0', param = rt_param_named(word);
    if (equals && param >= 0 && sscanf(equals + 1, "%" SCNd64, &value) == 1) {
      ok = rt_setting_wants(word, value) == NULL;
      r->set[param] = true;
      r->params[param] = value;
#ifdef RT_WORKERS
    } else if (equals && rt_racer_weight(word, equals + 1, r)) {
#endif
    } else {
      if (equals) *equals = '=';
      rt_text_printf(&path, "%s%s", path.length ? "," : "", word);
    }
  }
  free(words);
  ok = ok && rt_parse_path(program, path.data ? path.data : "", r->forced);
  rt_text_free(&path);
  return ok;
}

// Calls the entry point by each path (in racers[i].forced) in turn, and prints the
// times.  The inputs stay as they are; results are dropped.
RT_FN int rt_race(struct rt_context *ctx, const struct rt_entry_point *entry,
                  const struct rt_value *in, struct rt_racer *racers, int count,
                  int rounds) {
  size_t guards = (size_t)ctx->program->guard_count;
  signed char *forced = (signed char *)rt_host_alloc(guards);
  bool profiling = ctx->profiling;
  memcpy(forced, ctx->forced, guards);
  ctx->profiling = true;
  for (int i = 0; i < count; i++)
    racers[i].ns = (int64_t *)rt_host_alloc((size_t)rounds * sizeof *racers[i].ns);
  int error = rt_race_run(ctx, entry, in, racers, count, rounds);
  if (!error) rt_race_print(ctx, racers, count, rounds);
  memcpy(ctx->forced, forced, guards);
  ctx->profiling = profiling;
  free(forced);
  return error;
}

// ---- weighing

// Calls the entry point some times and prints how long its kernels took in a
// call, in microseconds, a line for each kernel.  What is launched is waited for, so that this is
// a bit more than they need.
RT_FN int rt_weigh(struct rt_context *ctx, const struct rt_entry_point *entry,
                   const struct rt_value *in, int calls) {
  size_t kernels = (size_t)ctx->program->kernel_count;
  int error = RT_OK;
  ctx->kernel_ns = (int64_t *)rt_host_alloc(kernels * sizeof *ctx->kernel_ns);
  for (int i = 0; i < calls && !error; i++) {
    struct rt_value out;
    int64_t ns = 0;
    memset(&out, 0, sizeof out);
    error = rt_timed_call(ctx, entry, in, &out, &ns);
    if (!error) rt_value_free(ctx, entry->output_type, &out);
  }
  for (int k = 0; k < ctx->program->kernel_count && !error; k++)
    if (ctx->kernel_ns[k] > 0 && ctx->program->kernels[k].recipe_name)
      rt_say("%s %.3f\n", ctx->program->kernels[k].recipe_name,
             (double)ctx->kernel_ns[k] * 1e-3 / calls);
  free(ctx->kernel_ns);
  ctx->kernel_ns = NULL;
  return error;
}

RT_FN void rt_racers_free(struct rt_racer *racers, int count) {
  for (int i = 0; i < count; i++) {
    free(racers[i].forced);
    free(racers[i].set);
    free(racers[i].params);
#ifdef RT_WORKERS
    free(racers[i].weights);
#endif
    free(racers[i].events);
    free(racers[i].ns);
    free(racers[i].at_ns);
  }
  free(racers);
}
// End race.h
