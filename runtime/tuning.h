// Begin tuning.h: tuning parameters, their files, guards and forced versions.

// Sizes that stand in where a parameter has no value of its own; settable like parameters.
enum rt_kind {
  RT_KIND_GROUP,
  RT_KIND_GRID,
  RT_KIND_TILE,
  RT_KIND_REG_TILE,
  RT_KIND_THRESHOLD,
#ifdef RT_WORKERS
  RT_KIND_WORKERS,
  RT_KIND_OVERLAP,
  RT_KIND_EXCHANGE,
  RT_KIND_MEGABYTE,
  RT_KIND_AWARE,
#endif
  RT_KIND_COUNT
};

struct rt_kind_info {
  const char *kind, *other;  // as classes of parameters
  const char *setting;       // the name under which the default is set
  int64_t cpu, gpu;          // -1: by the compute units
};

static const struct rt_kind_info rt_kinds[RT_KIND_COUNT] = {
  { "group_size", "thread_block_size", "default_group_size", 256, 256 },
  { "grid_size", "num_groups", "default_grid_size", -1, -1 },
  { "tile_size", "tile_size", "default_tile_size", 4, 32 },
  { "reg_tile_size", "reg_tile_size", "default_reg_tile_size", 1, 2 },
  { "threshold", "threshold", "default_threshold", -1, 32768 },
#ifdef RT_WORKERS
  { "workers", "workers", "default_workers", 1 << 18, 1 << 18 },
  // What takes as long on its way, on a fast network, as two more launches.
  { "overlap", "overlap", "default_overlap", 1 << 20, 1 << 20 },
  // 0: as measured.
  { "exchange", "exchange", "exchange_ns", 0, 0 },
  { "megabyte", "megabyte", "megabyte_ns", 0, 0 },
  // Does MPI take memory of devices: it is asked, if nothing is said.
  { "aware", "aware", "device_aware", 0, 0 },
#endif
};

int RT_NAME(get_tuning_param_count)(void) { return rt_program()->tuning_count; }

RT_FN bool rt_is_param(int i) { return i >= 0 && i < rt_program()->tuning_count; }

const char *RT_NAME(get_tuning_param_name)(int i) {
  return rt_is_param(i) ? rt_program()->tuning[i].name : NULL;
}

const char *RT_NAME(get_tuning_param_class)(int i) {
  return rt_is_param(i) ? rt_program()->tuning[i].kind : NULL;
}

// The number of a parameter, or -1.
RT_FN int rt_param_named(const char *name) {
  const struct rt_program *program = rt_program();
  for (int i = 0; i < program->tuning_count; i++)
    if (strcmp(program->tuning[i].name, name) == 0) return i;
  return -1;
}

#ifdef RT_WORKERS
// weight_2: the rank; -1 if the name is no weight.
RT_FN int rt_weight_rank(const char *name) {
  static const char mark[] = "weight_";
  const char *digits = name + sizeof mark - 1;
  if (strncmp(name, mark, sizeof mark - 1) != 0) return -1;
  size_t length = strlen(digits);
  bool well_formed = length > 0 && length < 6 && strspn(digits, "0123456789") == length;
  return well_formed && (length == 1 || *digits != '0') ? atoi(digits) : -1;
}

// The number of the layout with the first so many characters for a name; 0: there is none.
RT_FN int rt_layout_named(const char *name, size_t length) {
  const struct rt_program *program = rt_program();
  for (int i = 0; i < program->layout_count; i++)
    if (strlen(program->layouts[i]) == length &&
        strncmp(program->layouts[i], name, length) == 0)
      return i + 1;
  return 0;
}

RT_FN struct rt_weight rt_weight_named(const char *name) {
  const char *dot = strrchr(name, '.');
  struct rt_weight of = { 0, rt_weight_rank(dot ? dot + 1 : name) };
  if (dot) of.layout = rt_layout_named(name, (size_t)(dot - name));
  if (dot && !of.layout) of.rank = -1;
  return of;
}

RT_FN bool rt_is_weight(const char *name) { return rt_weight_named(name).rank >= 0; }
#endif

// The code that a setting is for, as rt_setting.code: "main.top_0@gpu"; length: of the name alone.
RT_FN int rt_setting_code(const char *name, size_t *length) {
  static const char *const marks[] = { "@cpu", "@gpu" };
  size_t all = *length = strlen(name);
  for (int code = 0; code < 2 && all > 4; code++)
    if (strcmp(name + all - 4, marks[code]) == 0) {
      *length = all - 4;
      return code;
    }
  return -1;
}

// The name without that, which the caller frees.
RT_FN char *rt_plain_setting(const char *name) {
  char *plain = rt_strdup(name);
  size_t length;
  rt_setting_code(name, &length);
  plain[length] = '\0';
  return plain;
}

RT_FN bool rt_is_plain_setting(const char *name) {
  struct rt_decision ignored;
#ifdef RT_WORKERS
  if (rt_is_weight(name)) return true;
#endif
  for (int k = 0; k < RT_KIND_COUNT; k++)
    if (strcmp(rt_kinds[k].setting, name) == 0) return true;
  return rt_param_named(name) >= 0 || rt_parse_decision(rt_program(), name, &ignored);
}

RT_FN bool rt_is_setting(const char *name) {
  if (!name) return false;
  char *plain = rt_plain_setting(name);
  bool found = rt_is_plain_setting(plain);
  free(plain);
  return found;
}

// The kind of a setting; "threshold" for decisions by sizes.
RT_FN const char *rt_plain_kind(const char *name) {
  int param = rt_param_named(name);
#ifdef RT_WORKERS
  if (rt_is_weight(name)) return "weight";
#endif
  for (int k = 0; k < RT_KIND_COUNT; k++)
    if (strcmp(rt_kinds[k].setting, name) == 0) return rt_kinds[k].kind;
  return param < 0 ? "threshold" : rt_program()->tuning[param].kind;
}

RT_FN const char *rt_setting_kind(const char *name) {
  char *plain = rt_plain_setting(name);
  const char *kind = rt_plain_kind(plain);
  free(plain);
  return kind;
}

RT_FN bool rt_may_be_0(const char *kind) {
#ifdef RT_WORKERS
  if (strcmp(kind, "workers") == 0 || strcmp(kind, "overlap") == 0 ||
      strcmp(kind, "weight") == 0 || strcmp(kind, "exchange") == 0 ||
      strcmp(kind, "megabyte") == 0 || strcmp(kind, "aware") == 0)
    return true;
#endif
  return strcmp(kind, "threshold") == 0 || strcmp(kind, "bytes") == 0 ||
         strcmp(kind, "switch") == 0;
}

// The most that a setting may be: sizes are multiplied with each other.
RT_FN int64_t rt_setting_most(const char *name, const char *kind) {
  char *plain = rt_plain_setting(name);
  int param = rt_param_named(plain);
  free(plain);
  if (param >= 0 && rt_program()->tuning[param].most)
    return rt_program()->tuning[param].most;
  if (strcmp(kind, "switch") == 0) return 1;
#ifdef RT_WORKERS
  if (strcmp(kind, "weight") == 0) return RT_MOST_WEIGHT;
  if (strcmp(kind, "aware") == 0) return 1;
#endif
  return rt_may_be_0(kind) ? INT64_MAX : INT64_C(1) << 40;
}

// NULL, or what the setting would have to be: sizes and numbers of things are positive.
RT_FN const char *rt_setting_wants(const char *name, int64_t value) {
  const char *kind = rt_setting_kind(name);
  bool may_be_0 = rt_may_be_0(kind);
  if (value >= !may_be_0 && value <= rt_setting_most(name, kind)) return NULL;
  if (strcmp(kind, "switch") == 0) return "0 or 1";
  if (strcmp(kind, "recipe") == 0) return "the number of one of its recipes";
#ifdef RT_WORKERS
  if (strcmp(kind, "weight") == 0) return "a number from 0 to 1000000";
#endif
  if (value > 0) return "a smaller number";
  return may_be_0 ? "a number from 0 on" : "a number from 1 on";
}

RT_FN void rt_config_put(struct rt_config *cfg, const char *name, int64_t value) {
  size_t count = (size_t)cfg->setting_count + 1;
  cfg->settings =
      (struct rt_setting *)rt_host_grow(cfg->settings, count * sizeof *cfg->settings);
  struct rt_setting *s = &cfg->settings[cfg->setting_count++];
  size_t length;
  s->code = rt_setting_code(name, &length);
  s->name = rt_plain_setting(name);
  s->value = value;
}

// Does what is for this code, or for both, concern the context?
RT_FN bool rt_code_concerns(const struct rt_context *ctx, int code) {
  return code < 0 || code == ctx->gpu_code;
}

// The last value set for a name; false if there is none.
RT_FN bool rt_config_find(const struct rt_context *ctx, const char *name, int64_t *out) {
  const struct rt_config *cfg = ctx->config;
  for (int i = cfg->setting_count - 1; i >= 0; i--) {
    const struct rt_setting *s = &cfg->settings[i];
    if (strcmp(s->name, name) != 0 || !rt_code_concerns(ctx, s->code)) continue;
    *out = s->value;
    return true;
  }
  return false;
}

int RT_NAME(context_config_set_tuning_param)(struct rt_config *cfg, const char *name,
                                             size_t value) {
  if (!rt_is_setting(name) || rt_setting_wants(name, (int64_t)value)) return 1;
  rt_config_put(cfg, name, (int64_t)value);
  return 0;
}

// What makes no sense is passed over: these functions have no result to say so.
#define RT_SET_DEFAULT(function, kind)                                         \
  void RT_NAME(function)(struct rt_config * cfg, int value) {                  \
    const char *setting = rt_kinds[kind].setting;                              \
    if (!rt_setting_wants(setting, value)) rt_config_put(cfg, setting, value); \
  }
RT_SET_DEFAULT(context_config_set_default_thread_block_size, RT_KIND_GROUP)
RT_SET_DEFAULT(context_config_set_default_group_size, RT_KIND_GROUP)
RT_SET_DEFAULT(context_config_set_default_grid_size, RT_KIND_GRID)
RT_SET_DEFAULT(context_config_set_default_num_groups, RT_KIND_GRID)
RT_SET_DEFAULT(context_config_set_default_tile_size, RT_KIND_TILE)
RT_SET_DEFAULT(context_config_set_default_reg_tile_size, RT_KIND_REG_TILE)
RT_SET_DEFAULT(context_config_set_default_threshold, RT_KIND_THRESHOLD)

// ---- files of `name=integer` lines

// Splits "name=integer" (white space around both allowed); `name` is overwritten.
RT_FN bool rt_split_setting(char *line, char **name, int64_t *value) {
  char *equals = strchr(line, '=');
  if (!equals) return false;
  while (*line == ' ' || *line == '\t')
    line++;
  char *end = equals;
  while (end > line && (end[-1] == ' ' || end[-1] == '\t'))
    end--;
  errno = 0;
  char *rest = NULL;
  *value = strtoll(equals + 1, &rest, 10);
  if (rest == equals + 1 || errno != 0 || end == line) return false;
  rest += strspn(rest, " \t\r");
  *end = '\0';
  *name = line;
  return *rest == '\0';
}

// Choices between recipes are compiled in, unless the program was built with all of them.
RT_FN void rt_tell_unknown(const char *file, int number, const char *name) {
  const char *end = strrchr(name, '.');
  bool recipe = end && strcmp(end, ".recipe") == 0;
  fprintf(stderr, "%s:%d: the program %s %s\n", file, number,
          recipe ? "was built without" : "has no parameter", name);
}

// NULL, or what is wrong with the file, which the caller frees.  Names that the program does not
// have may come from another version of it: they are noted and ignored.
RT_FN char *rt_config_load_tuning(struct rt_config *cfg, const char *file) {
  struct rt_text problem = { NULL, 0, 0 };
  size_t length = 0;
  char *bytes = rt_read_file(file, &length);
  if (!bytes) {
    rt_text_printf(&problem, "cannot read %s: %s", file, strerror(errno));
    return rt_text_take(&problem);
  }
  int number = 1;
  char *mark =
      strncmp(bytes, "\xef\xbb\xbf", 3) == 0 ? bytes + 3 : bytes;  // of some editors
  for (char *line = mark; line && !problem.length; number++) {
    char *next = strchr(line, '\n'), *name = NULL;
    if (next) *next++ = '\0';
    char *comment = strstr(line, "--");
    if (comment) *comment = '\0';
    int64_t value = 0;
    if (line[strspn(line, " \t\r")] == '\0')
      ;
    else if (!rt_split_setting(line, &name, &value))
      rt_text_printf(&problem, "%s:%d: expected name=integer", file, number);
    else if (!rt_is_setting(name))
      rt_tell_unknown(file, number, name);
    else if (rt_setting_wants(name, value))
      rt_text_printf(&problem, "%s:%d: %s wants %s, found %" PRId64, file, number, name,
                     rt_setting_wants(name, value), value);
    else
      rt_config_put(cfg, name, value);
    line = next;
  }
  free(bytes);
  return problem.length ? rt_text_take(&problem) : NULL;
}

int RT_NAME(context_config_set_tuning_file)(struct rt_config *cfg, const char *file) {
  char *problem = rt_config_load_tuning(cfg, file);
  free(problem);
  return problem != NULL;
}

// ---- values in a context

RT_FN int rt_kind_of(const char *kind) {
  for (int k = 0; k < RT_KIND_COUNT; k++)
    if (strcmp(rt_kinds[k].kind, kind) == 0 || strcmp(rt_kinds[k].other, kind) == 0)
      return k;
  return -1;
}

RT_FN int64_t rt_kind_default(const struct rt_context *ctx, int kind) {
  int64_t value = 0;
  if (rt_config_find(ctx, rt_kinds[kind].setting, &value)) return value;
  value = ctx->gpu_code ? rt_kinds[kind].gpu : rt_kinds[kind].cpu;
  if (value >= 0) return value;
  // Several items to a core even out what the cores have to do; one core has nothing to share.
  int64_t cores = ctx->device.compute_units;
  bool alone = cores == 1 && !ctx->gpu_code;
  return kind == RT_KIND_GRID && !alone ? 4 * cores : cores;
}

// From how much work on P cores that move so many words for one are faster than one core: what they
// gain, W - words * W / P, must be worth waking them.  Caches end, too: at most 8 W.
RT_FN int64_t rt_for_cores(const struct rt_context *ctx, int64_t work, int64_t words) {
  int64_t cores = ctx->device.compute_units, most = 8 * work;
  int64_t threshold = cores > words ? work / (cores - words) * cores : most;
  return threshold < most ? threshold : most;
}

// What the user set for the parameter, or for its kind, or the program's or the kind's default.
RT_FN int64_t rt_initial_param(const struct rt_context *ctx,
                               const struct rt_tuning_param *p) {
  int64_t value = 0;
  int kind = rt_kind_of(p->kind);
  if (rt_config_find(ctx, p->name, &value)) return value;
  if (kind >= 0 && p->follows < 0 && rt_config_find(ctx, rt_kinds[kind].setting, &value))
    return value;
  value = ctx->gpu_code ? p->gpu_default : p->cpu_default;
  if (p->cpu_step && !ctx->gpu_code) return -p->cpu_step;
  if (p->cpu_each && !ctx->gpu_code) return p->cpu_each * ctx->device.compute_units;
  if (p->cpu_words && !ctx->gpu_code) return rt_for_cores(ctx, value, p->cpu_words);
  return value < 0 && kind >= 0 && p->follows < 0 ? rt_kind_default(ctx, kind) : value;
}

// The trees that the program was built with, then what the user set, in order.
RT_FN void rt_open_trees(struct rt_context *ctx) {
  const struct rt_program *program = ctx->program;
  struct rt_decision d;
  int64_t ignored = 0;
  size_t nodes = (size_t)program->guard_count * RT_TREE_NODES;
  ctx->trees = (struct rt_tree_node *)rt_host_alloc(nodes * sizeof *ctx->trees);
  bool plain = rt_config_find(ctx, rt_kinds[RT_KIND_THRESHOLD].setting, &ignored);
  for (int i = 0; i < program->preset_count && !plain; i++)
    if (rt_parse_decision(program, program->presets[i].name, &d))
      rt_decision_set(ctx, d, program->presets[i].value);
  for (int i = 0; i < ctx->config->setting_count; i++) {
    const struct rt_setting *s = &ctx->config->settings[i];
    int param = rt_param_named(s->name);
    if (!rt_code_concerns(ctx, s->code)) continue;
    if (param >= 0)
      rt_decision_clear(ctx, param);
    else if (rt_parse_decision(program, s->name, &d))
      rt_decision_set(ctx, d, s->value);
  }
}

RT_FN void rt_tuning_open(struct rt_context *ctx) {
  const struct rt_program *program = ctx->program;
  rt_open_trees(ctx);
  ctx->params =
      (int64_t *)rt_host_alloc((size_t)program->tuning_count * sizeof *ctx->params);
  ctx->forced = (signed char *)rt_host_alloc((size_t)program->guard_count);
  for (int i = 0; i < program->tuning_count; i++)
    ctx->params[i] = rt_initial_param(ctx, &program->tuning[i]);
  ctx->default_group_size = rt_kind_default(ctx, RT_KIND_GROUP);
  if (ctx->default_group_size < 1) ctx->default_group_size = 1;
  if (ctx->default_group_size > ctx->device.max_group_size)
    ctx->default_group_size = ctx->device.max_group_size;
}

RT_FN int64_t rt_param(const struct rt_context *ctx, int param) {
  int follows = ctx->program->tuning[param].follows;
  return ctx->params[param] < 0 && follows >= 0 ? ctx->params[follows]
                                                : ctx->params[param];
}

RT_FN int64_t rt_default_group_size(const struct rt_context *ctx) {
  return ctx->default_group_size;
}

// Kernels whose text mentions the parameter are built again.
RT_FN void rt_param_set(struct rt_context *ctx, int param, int64_t value) {
  if (ctx->params[param] == value) return;
  ctx->params[param] = value;
  for (int k = 0; k < ctx->program->kernel_count; k++)
    for (int i = 0; i < ctx->program->kernels[k].tuning_count; i++)
      if (ctx->program->kernels[k].tuning[i] == param)
        rt_kernel_drop(ctx, &ctx->kernels[k]);
}

// What a parameter was at the start may be no number that can be set: versions of groups go by
// their work then.  False if there is none of this name.
RT_FN bool rt_param_reset(struct rt_context *ctx, const char *name) {
  int param = rt_param_named(name);
  if (param < 0) return false;
  rt_decision_clear(ctx, param);
  rt_param_set(ctx, param, rt_initial_param(ctx, &ctx->program->tuning[param]));
  return true;
}

RT_FN int rt_set_plain_param(struct rt_context *ctx, const char *name, size_t value) {
  struct rt_decision d;
  int param = rt_param_named(name);
#ifdef RT_WORKERS
  if (rt_is_weight(name))
    return rt_workers_weigh(ctx, rt_weight_named(name), (int64_t)value);
#endif
  if (param >= 0) {
    rt_decision_clear(ctx, param);
    rt_param_set(ctx, param, (int64_t)value);
  } else if (rt_parse_decision(ctx->program, name, &d)) {
    rt_decision_set(ctx, d, (int64_t)value);
  } else {
    return 1;
  }
  return 0;
}

RT_FN int rt_set_tuning_param(struct rt_context *ctx, const char *name, size_t value) {
  if (ctx->broken || !rt_is_setting(name) || rt_setting_wants(name, (int64_t)value))
    return 1;
  size_t length;
  char *plain = rt_plain_setting(name);
  bool concerns = rt_code_concerns(ctx, rt_setting_code(name, &length));
  int error = concerns ? rt_set_plain_param(ctx, plain, value) : 0;
  free(plain);
  return error;
}

int RT_NAME(context_set_tuning_param)(struct rt_context *ctx, const char *name,
                                      size_t value) {
  return rt_leave(ctx, rt_set_tuning_param(rt_enter(ctx), name, value));
}

// ---- guards

// Writes the forced versions of "main.top_0=T,main.intra_1=F"; false if a guard does not exist.
RT_FN bool rt_parse_path(const struct rt_program *program, const char *path,
                         signed char *forced) {
  if (!path) return false;
  memset(forced, 0, (size_t)program->guard_count);
  while (*path) {
    size_t name = strcspn(path, "=,"), all = strcspn(path, ",");
    bool well_formed =
        all == name + 2 && (path[name + 1] == 'T' || path[name + 1] == 'F');
    int found = -1;
    for (int g = 0; g < program->guard_count && well_formed; g++)
      if (strlen(program->guards[g].name) == name &&
          strncmp(program->guards[g].name, path, name) == 0)
        found = g;
    if (found < 0) return false;
    forced[found] = path[name + 1];
    path += all + (path[all] == ',');
  }
  return true;
}

int RT_NAME(context_config_set_path)(struct rt_config *cfg, const char *path) {
  const struct rt_program *program = rt_program();
  signed char *forced = (signed char *)rt_host_alloc((size_t)program->guard_count);
  bool ok = rt_parse_path(program, path, forced);
  free(forced);
  if (ok) rt_set_string(&cfg->path, path);
  return !ok;
}

RT_FN int rt_set_path(struct rt_context *ctx, const char *path) {
  if (ctx->broken) return 1;
  signed char *forced = (signed char *)rt_host_alloc((size_t)ctx->program->guard_count);
  bool ok = rt_parse_path(ctx->program, path, forced);
  if (ok) memcpy(ctx->forced, forced, (size_t)ctx->program->guard_count);
  free(forced);
  return !ok;
}

int RT_NAME(context_set_path)(struct rt_context *ctx, const char *path) {
  return rt_leave(ctx, rt_set_path(rt_enter(ctx), path));
}

// Keeps what was decided, for reports and for the tuner; forgotten when the next entry begins.
RT_FN void rt_record_guard(struct rt_context *ctx, struct rt_guard_event event) {
  if (ctx->event_count == RT_MAX_EVENTS) return;
  if (ctx->event_count == ctx->event_capacity) {
    ctx->event_capacity = ctx->event_capacity * 2 + 16;
    ctx->events = (struct rt_guard_event *)rt_host_grow(
        ctx->events, (size_t)ctx->event_capacity * sizeof *ctx->events);
  }
  ctx->events[ctx->event_count++] = event;
}

// How long the call has been running, with what it launched so far; so the times between two guards
// are those of the versions behind the first.  0 without profiling.
RT_FN int64_t rt_call_time(struct rt_context *ctx) {
  if (!ctx->profiling) return 0;
  rt_wait(ctx);
  return rt_time_ns() - ctx->call_started;
}

// The threshold for a decision.  A negative one, which only defaults are, tells how many operations
// the largest step of a version may be.
RT_FN int64_t rt_threshold_now(struct rt_context *ctx, int guard, int64_t step) {
  int64_t threshold = rt_threshold(ctx, guard);
  if (threshold >= 0) return threshold;
  return step <= -threshold ? 0 : INT64_MAX;
}

// Likewise with a threshold of the caller's.
RT_FN bool rt_guard_at(struct rt_context *ctx, int guard, int64_t par,
                       int64_t local_bytes, int64_t threshold) {
  const struct rt_guard_info *g = &ctx->program->guards[guard];
  struct rt_guard_event event = { guard, par, threshold, local_bytes, rt_call_time(ctx),
                                  false };
  if (ctx->forced[guard])
    event.taken = ctx->forced[guard] == 'T';
  else
    event.taken =
        g->threshold >= 0 && par >= threshold && local_bytes <= ctx->device.local_bytes;
  rt_record_guard(ctx, event);
#ifndef RT_LIBRARY
  if (ctx->replayer)
    rt_replay_decide(ctx->replayer, guard, par, local_bytes, event.taken);
#endif
  rt_log(ctx,
         "guard %s: par %" PRId64 ", threshold %" PRId64 ", local memory %" PRId64
         " bytes%s: %s",
         g->name, par, threshold, local_bytes, ctx->forced[guard] ? ", forced" : "",
         event.taken ? "taken" : "not taken");
  return event.taken;
}

RT_FN bool rt_guard(struct rt_context *ctx, int guard, int64_t par, int64_t local_bytes,
                    int64_t step) {
  return rt_guard_at(ctx, guard, par, local_bytes, rt_threshold_now(ctx, guard, step));
}
// End tuning.h
