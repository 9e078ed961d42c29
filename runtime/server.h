// Begin server.h: the line protocol of servers (docs/cli.md).

// ---- commands: the context

RT_FN int rt_command_clear(struct rt_server *s) {
  return RT_NAME(context_clear_caches)(s->ctx);
}

RT_FN int rt_command_pause(struct rt_server *s) {
  RT_NAME(context_pause_profiling)(s->ctx);
  return RT_OK;
}

RT_FN int rt_command_unpause(struct rt_server *s) {
  RT_NAME(context_unpause_profiling)(s->ctx);
  return RT_OK;
}

RT_FN int rt_command_report(struct rt_server *s) {
  char *report = rt_report(s->ctx);
  fputs(report, rt_out);
  free(report);
  return RT_OK;
}

// Ours: the word `default` brings back what the parameter was at the start.
RT_FN int rt_command_set_param(struct rt_server *s) {
  int64_t value = 0;
  if (strcmp(s->words[2], "default") == 0)
    return rt_param_reset(s->ctx, s->words[1])
               ? RT_OK
               : rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  int error = rt_integer_words(s, 2, 1, &value);
  if (error) return error;
  if (RT_NAME(context_set_tuning_param)(s->ctx, s->words[1], (size_t)value) == 0)
    return RT_OK;
  if (!rt_is_setting(s->words[1]))
    return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
#ifdef RT_WORKERS
  if (rt_is_weight(s->words[1]) && value == 0)
    return rt_error(s->ctx, RT_OTHER_ERROR, "%s cannot be 0: no worker would have a share",
                    s->words[1]);
#endif
  if (!rt_setting_wants(s->words[1], value))
    return rt_error(
        s->ctx, RT_OTHER_ERROR,
        "%s is a default, which the program takes at its start only, by --param",
        s->words[1]);
  return rt_error(s->ctx, RT_OTHER_ERROR, "%s wants %s, found %" PRId64, s->words[1],
                  rt_setting_wants(s->words[1], value), value);
}

// Ours: what the parameter is set to.
RT_FN int rt_command_param_value(struct rt_server *s) {
  int param = rt_param_named(s->words[1]);
#ifdef RT_WORKERS
  const struct rt_workers *w = s->ctx->config->workers;
  const struct rt_weight of = rt_weight_named(s->words[1]);
  if (of.rank >= 0 && of.rank < w->size) {
    rt_say("%" PRId64 "\n", rt_workers_weight(w, of));
    return RT_OK;
  }
#endif
  if (param < 0) return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  rt_say("%" PRId64 "\n", rt_param(s->ctx, param));
  return RT_OK;
}

#ifdef RT_WORKERS
// Ours: what each worker took of the last call.
RT_FN int rt_command_worker_times(struct rt_server *s) {
  struct rt_text t = { NULL, 0, 0 };
  int error = rt_workers_busy(s->ctx, &t);
  if (!error) rt_say("%s", t.data);
  rt_text_free(&t);
  return error;
}
#endif

// Ours: the value, the most that it may be (0: no limit of its own), and what it follows.
RT_FN int rt_command_param_about(struct rt_server *s) {
  int param = rt_param_named(s->words[1]);
#ifdef RT_WORKERS
  const struct rt_workers *w = s->ctx->config->workers;
  const struct rt_weight of = rt_weight_named(s->words[1]);
  if (of.rank >= 0 && of.rank < w->size) {
    rt_say("%" PRId64 " %d\n", rt_workers_weight(w, of), RT_MOST_WEIGHT);
    return RT_OK;
  }
#endif
  if (param < 0) return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  const struct rt_tuning_param *p = &s->program->tuning[param];
  rt_say("%" PRId64 " %" PRId64 "%s%s\n", rt_param(s->ctx, param), p->most,
         p->follows < 0 ? "" : " ",
         p->follows < 0 ? "" : s->program->tuning[p->follows].name);
  return RT_OK;
}

RT_FN int rt_command_param_class(struct rt_server *s) {
  int param = rt_param_named(s->words[1]);
#ifdef RT_WORKERS
  if (rt_is_weight(s->words[1])) {
    rt_say("weight\n");
    return RT_OK;
  }
#endif
  if (param < 0) return rt_fail_command(s, "unknown tuning parameter", s->words[1]);
  rt_say("%s\n", s->program->tuning[param].kind);
  return RT_OK;
}

// Ours: set_path main.top_0=T,...; without a word nothing is forced any more.
RT_FN int rt_command_set_path(struct rt_server *s) {
  const char *path = s->word_count > 1 ? s->words[1] : "";
  if (RT_NAME(context_set_path)(s->ctx, path) == 0) return RT_OK;
  return rt_fail_command(s, "expected GUARD=T or GUARD=F of this program", path);
}

// Calls run the code for GPUs, or for CPUs, from now on: with its own parameters, so that what was
// built for it stays right.
RT_FN void rt_switch_code(struct rt_context *ctx, bool gpu) {
  struct rt_other_code now = { ctx->params, ctx->trees, ctx->forced,
                               ctx->default_group_size };
  if (ctx->gpu_code == gpu) return;
  ctx->gpu_code = gpu;
  if (ctx->other.params) {
    ctx->params = ctx->other.params;
    ctx->trees = ctx->other.trees;
    ctx->forced = ctx->other.forced;
    ctx->default_group_size = ctx->other.default_group_size;
  } else {
    rt_tuning_open(ctx);
#ifdef RT_WORKERS
    if (ctx->config->workers->size > 1) rt_workers_settle(ctx);
#endif
  }
  ctx->other = now;
}

// Ours: code cpu, code gpu, code cpu quick; for tests, so that one process runs both.  Code for
// GPUs runs on CPUs in tests alone, where to optimise it takes longer than to run it; it does not
// go near, as where a program begins with it.  The third is for versions that only tests run: what
// is built from then on is not optimised either.
RT_FN int rt_command_code(struct rt_server *s) {
  bool gpu = strcmp(s->words[1], "gpu") == 0, swaps = false;
  if (!gpu && strcmp(s->words[1], "cpu") != 0)
    return rt_fail_command(s, "expected cpu or gpu, found", s->words[1]);
#ifdef RT_WORKERS
  swaps = s->ctx->config->workers->other_code;  // rank 0 gets what is said
#endif
  gpu ^= swaps;
  if (!gpu && s->ctx->cuda)
    return rt_error(s->ctx, RT_OTHER_ERROR, "code for CPUs does not run on CUDA devices");
  rt_switch_code(s->ctx, gpu);
  bool quick = gpu || swaps || s->word_count > 2;
  s->ctx->quick_builds = quick && !s->ctx->device.is_gpu;
  s->ctx->goes_near = rt_may_go_near(s->ctx);
  return RT_OK;
}

// ---- commands: replay (replay.h), for tuners

RT_FN int rt_command_replay(struct rt_server *s) {
#ifdef RT_WORKERS
  // What goes on is decided by the clock there, and not alike.
  if (s->ctx->config->workers->size > 1)
    return rt_error(s->ctx, RT_OTHER_ERROR,
                    "not supported yet: replay by several workers");
#endif
  struct rt_replayer *r = rt_replayer_get(s->ctx);
  int64_t data = 0;
  int error = rt_integer_words(s, 1, s->word_count - 1, &data);
  r->on = !error && s->word_count > 1;
  r->data = (int)data;
  return error;
}

RT_FN int rt_guard_named(struct rt_server *s, const char *name) {
  for (int g = 0; g < s->program->guard_count; g++)
    if (strcmp(s->program->guards[g].name, name) == 0) return g;
  rt_fail_command(s, "unknown guard", name);
  return -1;
}

// replay_plan GUARD PATH...: the alternatives; a path "-" is one that must not run.
RT_FN int rt_command_replay_plan(struct rt_server *s) {
  int guard = rt_guard_named(s, s->words[1]), count = s->word_count - 2;
  if (guard < 0) return RT_OTHER_ERROR;
  struct rt_replay_plan *plan = &rt_replayer_get(s->ctx)->plans[guard];
  rt_replay_plan_clear(plan);
  plan->paths = (signed char **)rt_host_alloc((size_t)count * sizeof *plan->paths);
  for (; plan->count < count; plan->count++) {
    const char *path = s->words[2 + plan->count];
    if (strcmp(path, "-") == 0) continue;
    signed char *forced = (signed char *)rt_host_alloc((size_t)s->program->guard_count);
    plan->paths[plan->count] = forced;
    if (rt_parse_path(s->program, path, forced)) continue;
    plan->count++;
    return rt_fail_command(s, "expected GUARD=T or GUARD=F of this program", path);
  }
  return RT_OK;
}

// replay_sample GUARD PAR LOCAL ALTERNATIVE ROUND OWN TOTAL: what an earlier process measured.
RT_FN int rt_command_replay_sample(struct rt_server *s) {
  struct rt_replayer *r = rt_replayer_get(s->ctx);
  int64_t n[4];
  int guard = rt_guard_named(s, s->words[1]);
  if (guard < 0 || rt_integer_words(s, 2, 4, n) != RT_OK) return RT_OTHER_ERROR;
  int group = rt_replay_group_of(r, guard, n[0], n[1]);
  struct rt_replay_group *g = &r->groups[group];
  if (n[2] >= g->count || n[3] >= RT_MOST_ROUNDS)
    return rt_fail_command(s, "no such alternative or round of", s->words[1]);
  g->list[n[2]].own[n[3]] = strtod(s->words[6], NULL);
  g->list[n[2]].total[n[3]] = strtod(s->words[7], NULL);
  if (g->rounds <= n[3]) g->rounds = (int)n[3] + 1;
  return RT_OK;
}

// replay_limits ROUNDS MILLISECONDS CALL: of a race at one event; and when a call ends all its
// races.
RT_FN int rt_command_replay_limits(struct rt_server *s) {
  struct rt_replayer *r = rt_replayer_get(s->ctx);
  int64_t n[3];
  int error = rt_integer_words(s, 1, 3, n);
  if (error) return error;
  r->most_call_us = 1e3 * (double)n[2];
  r->most_rounds = n[0] < RT_MOST_ROUNDS ? (int)n[0] : RT_MOST_ROUNDS;
  r->most_us = 1e3 * (double)n[1];
  return RT_OK;
}

// Ours: the version tree as JSON.
RT_FN int rt_command_tree(struct rt_server *s) {
  for (int i = 0; s->program->tree_json && s->program->tree_json[i]; i++)
    fputs(s->program->tree_json[i], rt_out);
  rt_say("\n");
  return RT_OK;
}

// Reads the racers from word number `first` on; "-": by the settings as they are.
RT_FN int rt_path_words(struct rt_server *s, int first, struct rt_racer *racers,
                        int count) {
  for (int i = 0; i < count; i++) {
    const char *path = s->words[first + i];
    if (!rt_racer_read(s->program, path, &racers[i]))
      return rt_fail_command(s, "expected GUARD=T, GUARD=F, or settings of this program",
                             path);
  }
  return RT_OK;
}

// Ours: race ENTRY ROUNDS INPUT... PATH... (race.h).
RT_FN int rt_command_race(struct rt_server *s) {
  enum { RT_MAX_ROUNDS = 1000000 };
  const struct rt_entry_point *entry = rt_server_entry(s);
  int64_t rounds = 0;
  if (!entry || rt_integer_words(s, 2, 1, &rounds)) return RT_OTHER_ERROR;
  int first = 3 + entry->input_count, count = s->word_count - first;
  if (count < 1 || rounds < 1 || rounds > RT_MAX_ROUNDS)
    return rt_error(s->ctx, RT_OTHER_ERROR,
                    "race takes an entry point, rounds, %d inputs, and paths",
                    entry->input_count);
  struct rt_racer *racers =
      (struct rt_racer *)rt_host_alloc((size_t)count * sizeof *racers);
  struct rt_value *in =
      (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *in);
  int error = rt_find_inputs(s, entry, in) ? RT_OK : RT_OTHER_ERROR;
  if (!error) error = rt_path_words(s, first, racers, count);
  if (!error) error = rt_race(s->ctx, entry, in, racers, count, (int)rounds);
  rt_racers_free(racers, count);
  free(in);
  return error;
}

// Ours: kernel_times ENTRY CALLS INPUT... (race.h).
RT_FN int rt_command_kernel_times(struct rt_server *s) {
  const struct rt_entry_point *entry = rt_server_entry(s);
  int64_t calls = 0;
  if (!entry || rt_integer_words(s, 2, 1, &calls)) return RT_OTHER_ERROR;
  if (s->word_count != 3 + entry->input_count || calls < 1 || calls > INT_MAX)
    return rt_error(s->ctx, RT_OTHER_ERROR,
                    "kernel_times takes an entry point, calls, and %d inputs",
                    entry->input_count);
  struct rt_value *in =
      (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *in);
  int error = rt_find_inputs(s, entry, in) ? RT_OK : RT_OTHER_ERROR;
  if (!error) error = rt_weigh(s->ctx, entry, in, (int)calls);
  free(in);
  return error;
}

// ---- the loop

struct rt_command {
  const char *name;
  int least, most;  // words after the name; most -1: any number
  int (*run)(struct rt_server *s);
};

static const struct rt_command rt_commands[] = {
  { "types", 0, 0, rt_command_types },
  { "entry_points", 0, 0, rt_command_entry_points },
  { "call", 2, -1, rt_command_call },
  { "restore", 1, -1, rt_command_restore },
  { "store", 1, -1, rt_command_store },
  { "free", 0, -1, rt_command_free },
  { "rename", 2, 2, rt_command_rename },
  { "inputs", 1, 1, rt_command_inputs },
  { "output", 1, 1, rt_command_output },
  { "outputs", 1, 1, rt_command_output },
  { "clear", 0, 0, rt_command_clear },
  { "kind", 1, 1, rt_command_kind },
  { "type", 1, 1, rt_command_type },
  { "pause_profiling", 0, 0, rt_command_pause },
  { "unpause_profiling", 0, 0, rt_command_unpause },
  { "report", 0, 0, rt_command_report },
  { "set_tuning_param", 2, 2, rt_command_set_param },
  { "tuning_params", 1, 1, rt_command_tuning_params },
  { "tuning_param_class", 1, 1, rt_command_param_class },
  { "tuning_param_value", 1, 1, rt_command_param_value },
  { "tuning_param_about", 1, 1, rt_command_param_about },
  { "attributes", 1, 1, rt_command_attributes },
  { "rank", 1, 1, rt_command_rank },
  { "elemtype", 1, 1, rt_command_elemtype },
  { "new_array", 2, -1, rt_command_new_array },
  { "shape", 1, 1, rt_command_shape },
  { "index", 2, -1, rt_command_index },
  { "set", 2, -1, rt_command_set },
  { "fields", 1, 1, rt_command_fields },
  { "new", 2, -1, rt_command_new },
  { "project", 3, 3, rt_command_project },
  { "zip", 2, -1, rt_command_zip },
  { "unzip", 1, -1, rt_command_unzip },
  { "variants", 1, 1, rt_command_variants },
  { "variant", 1, 1, rt_command_variant },
  { "construct", 3, -1, rt_command_construct },
  { "destruct", 1, -1, rt_command_destruct },
  { "set_path", 0, 1, rt_command_set_path },
  { "code", 1, 2, rt_command_code },
#ifdef RT_WORKERS
  { "worker_times", 0, 0, rt_command_worker_times },
#endif
  { "tree", 0, 0, rt_command_tree },
  { "race", 3, -1, rt_command_race },
  { "kernel_times", 2, -1, rt_command_kernel_times },
  { "replay", 0, 1, rt_command_replay },
  { "replay_plan", 1, -1, rt_command_replay_plan },
  { "replay_sample", 7, 7, rt_command_replay_sample },
  { "replay_limits", 3, 3, rt_command_replay_limits },
};

// Where an unquoted word ends.  One that begins with a bracket goes on to the bracket that closes
// it: names of types, like {x: f32, y: i64}, hold spaces, and clients do not quote them.
RT_FN char *rt_command_word_end(char *at) {
  bool brackets = *at && strchr("({[", *at);
  for (int depth = 0; *at; at++) {
    if (strchr("({[", *at)) depth++;
    if (strchr(")}]", *at)) depth--;
    bool inside = brackets && depth > 0;
    if (*at == '\n' || (!inside && strchr(" \t\r", *at))) break;
  }
  return at;
}

// Cuts the line into words, in place; false if there are too many.
RT_FN bool rt_split_words(struct rt_server *s, char *line) {
  s->word_count = 0;
  for (;;) {
    line += strspn(line, " \t\r\n");
    if (!*line) return true;
    if (s->word_count == RT_MAX_WORDS) return false;
    bool quoted = *line == '"';
    line += quoted;
    s->words[s->word_count++] = line;
    line = quoted ? line + strcspn(line, "\"\n") : rt_command_word_end(line);
    if (*line) *line++ = '\0';
  }
}

#ifdef RT_DIVIDES
// The variables that the command names are whole, but for calls, which say what they need.
RT_FN int rt_command_whole(struct rt_server *s) {
  int error = RT_OK;
  if (strcmp(s->words[0], "call") == 0 || strcmp(s->words[0], "free") == 0) return RT_OK;
  for (int i = 0; i < s->count && !error; i++) {
    const struct rt_variable *v = &s->variables[i];
    for (int k = 1; k < s->word_count && !error; k++)
      if (strcmp(v->name, s->words[k]) == 0)
        error = rt_value_together(s->ctx, v->type, &v->value, rt_array_whole);
  }
  return error;
}
#endif

RT_FN int rt_run_command(struct rt_server *s) {
#ifdef RT_DIVIDES
  int error = rt_command_whole(s);
  if (error) return error;
#endif
  for (size_t i = 0; i < sizeof rt_commands / sizeof *rt_commands; i++) {
    const struct rt_command *command = &rt_commands[i];
    int words = s->word_count - 1;
    if (strcmp(command->name, s->words[0]) != 0) continue;
    if (words < command->least || (command->most >= 0 && words > command->most))
      return rt_fail_command(s, "wrong number of words for", command->name);
    return command->run(s);
  }
  return rt_fail_command(s, "unknown command", s->words[0]);
}

// False if nobody can read the reply.
RT_FN bool rt_serve_line(struct rt_server *s, char *line) {
  bool fits = rt_split_words(s, line);
  if (fits && s->word_count == 0) return true;
#ifdef RT_WORKERS
  s->ctx->config->workers->failed = false;
#endif
  int error =
      fits ? rt_run_command(s) : rt_fail_command(s, "too many words", s->words[0]);
#ifdef RT_WORKERS
  error = rt_workers_agree(s->ctx, error);
#endif
  char *text = RT_NAME(context_get_error)(s->ctx);
  if (error) rt_say("%%%%%% FAILURE\n%s\n", text ? text : "failed");
  free(text);
  rt_say("%%%%%% OK\n");
  return fflush(rt_out) == 0 && !ferror(rt_out);
}

// Serves commands until the end of standard input.
RT_FN int rt_serve(struct rt_context *ctx) {
  struct rt_server *s = (struct rt_server *)rt_host_alloc(sizeof *s);
  s->ctx = ctx;
  s->program = ctx->program;
  rt_say("%%%%%% OK\n");
  char *line = NULL;
  size_t capacity = 0;
  bool heard = fflush(rt_out) == 0;
#ifdef RT_WORKERS
  while (rt_workers_line(ctx->config->workers, heard, &line, &capacity))
#else
  while (heard && getline(&line, &capacity, stdin) >= 0)
#endif
    heard = rt_serve_line(s, line);
  int error = heard ? RT_OK
                    : rt_error(ctx, RT_OTHER_ERROR, "cannot write the reply: %s",
                               strerror(errno));
  free(line);
  while (s->count > 0)
    rt_remove_variable(s, &s->variables[0]);
  free(s->variables);
  free(s);
  return error;
}
// End server.h
