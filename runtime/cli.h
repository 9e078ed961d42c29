// Begin cli.h: the command line of executables.

#ifndef RT_IS_LAST  // is rt_main the last that the process does?
#  define RT_IS_LAST true
#endif
#ifndef RT_ALWAYS_SERVER  // `flc build --server`: a server without being asked to
#  define RT_ALWAYS_SERVER 0
#endif

struct rt_cli {
  struct rt_config *cfg;
  const char *program_name, *entry, *time_file, *trace_file;
  int runs;  // 0: once, no warm-up
  bool binary, no_output, profile, json, server, print_params, tree, list_devices, help;
  bool compiles_only;
#ifdef RT_WORKERS
  const char *result_file;  // NULL: the result goes to standard output
  const char *values_file;  // NULL: values come from standard input
  bool shows_result;        // as rank 0 was told
#endif
#ifdef RT_THREADS
  int split;          // 0: not; workers on parts of each device
  const char *codes;  // "cpu,gpu": of the workers in turn; or NULL
#endif
};

enum rt_option_id {
  RT_OPT_ENTRY,
  RT_OPT_TIME,
  RT_OPT_RUNS,
  RT_OPT_BINARY,
  RT_OPT_NO_OUTPUT,
  RT_OPT_DEBUG,
  RT_OPT_LOG,
  RT_OPT_PROFILE,
  RT_OPT_TRACE,
  RT_OPT_JSON,
  RT_OPT_PARAM,
  RT_OPT_TUNING,
  RT_OPT_PRINT_PARAMS,
  RT_OPT_PATH,
  RT_OPT_TREE,
  RT_OPT_CACHE_FILE,
  RT_OPT_DEVICE,
  RT_OPT_PLATFORM,
  RT_OPT_BACKEND,
  RT_OPT_PRETEND,
  RT_OPT_LIST_DEVICES,
  RT_OPT_CODE,
  RT_OPT_DEFAULT,
  RT_OPT_EXACT_FLOATS,
  RT_OPT_BUILD_OPTION,
  RT_OPT_DUMP_OPENCL,
  RT_OPT_LOAD_OPENCL,
  RT_OPT_DUMP_BINARY,
  RT_OPT_LOAD_BINARY,
  RT_OPT_COMPILE_ONLY,
  RT_OPT_ONE_PROCESS,
  RT_OPT_SERVER,
#ifdef RT_WORKERS
  RT_OPT_RESULT,
  RT_OPT_VALUES,
#endif
#ifdef RT_THREADS
  RT_OPT_SPLIT,
  RT_OPT_WORKERS,
#endif
  RT_OPT_HELP
};

struct rt_option {
  char letter;  // 0: none
  const char *name, *arg, *help;
  enum rt_option_id id;
  int kind;  // RT_OPT_DEFAULT: of which kind
};

// clang-format off
static const struct rt_option rt_options[] = {
  { 'e', "entry-point", "NAME", "the entry point to call (main, or the only one)",
    RT_OPT_ENTRY, 0 },
  { 't', "write-runtime-to", "FILE", "write the microseconds of each run", RT_OPT_TIME, 0 },
  { 'r', "runs", "N", "run once to warm up, then N times", RT_OPT_RUNS, 0 },
  { 'b', "binary-output", NULL, "write binary values", RT_OPT_BINARY, 0 },
  { 'n', "no-print-result", NULL, "write no result", RT_OPT_NO_OUTPUT, 0 },
  { 'D', "debugging", NULL, "check and log after every step", RT_OPT_DEBUG, 0 },
  { 'L', "log", NULL, "say what happens on standard error", RT_OPT_LOG, 0 },
  { 'P', "profile", NULL, "print the times of kernels", RT_OPT_PROFILE, 0 },
  { 0, "trace", "FILE", "write when kernels and transfers ran, as JSON", RT_OPT_TRACE, 0 },
  { 0, "json", NULL, "with --profile, --tree: as JSON", RT_OPT_JSON, 0 },
  { 0, "param", "NAME=INT", "set a tuning parameter", RT_OPT_PARAM, 0 },
  { 0, "tuning", "FILE", "read tuning parameters", RT_OPT_TUNING, 0 },
  { 0, "print-params", NULL, "list the tuning parameters", RT_OPT_PRINT_PARAMS, 0 },
  { 0, "path", "G=T,...", "force versions: main.top_0=T,main.intra_1=F", RT_OPT_PATH, 0 },
  { 0, "tree", NULL, "print the tree of versions", RT_OPT_TREE, 0 },
  { 0, "cache-file", "FILE", "keep compiled kernels in this file or folder", RT_OPT_CACHE_FILE, 0 },
  { 'd', "device", "NAME", "use the device with this in its name, or #k", RT_OPT_DEVICE, 0 },
  { 'p', "platform", "NAME", "use the platform with this in its name, or #k", RT_OPT_PLATFORM, 0 },
  { 0, "backend", "opencl|cuda", "how to find devices", RT_OPT_BACKEND, 0 },
  { 0, "pretend", "LIMIT=N,...",
    "another device: local, memory, block, doubles, atomics64, wavefront", RT_OPT_PRETEND, 0 },
  { 0, "list-devices", NULL, "list the devices", RT_OPT_LIST_DEVICES, 0 },
  { 0, "code", "cpu|gpu", "which code to run (by the device); of several workers: cpu,gpu",
    RT_OPT_CODE, 0 },
  { 0, "default-thread-block-size", "N", "size of work-groups", RT_OPT_DEFAULT, RT_KIND_GROUP },
  { 0, "default-group-size", "N", "the same", RT_OPT_DEFAULT, RT_KIND_GROUP },
  { 0, "default-grid-size", "N", "number of work-groups", RT_OPT_DEFAULT, RT_KIND_GRID },
  { 0, "default-num-groups", "N", "the same", RT_OPT_DEFAULT, RT_KIND_GRID },
  { 0, "default-tile-size", "N", "size of tiles", RT_OPT_DEFAULT, RT_KIND_TILE },
  { 0, "default-reg-tile-size", "N", "size of register tiles", RT_OPT_DEFAULT, RT_KIND_REG_TILE },
  { 0, "default-threshold", "N", "threshold of guards", RT_OPT_DEFAULT, RT_KIND_THRESHOLD },
  { 0, "exact-floats", NULL, "round each operation on floats by itself", RT_OPT_EXACT_FLOATS, 0 },
  { 0, "build-option", "OPT", "add an option for the compiler of kernels", RT_OPT_BUILD_OPTION, 0 },
  { 0, "dump-opencl", "FILE", "write the OpenCL C of all kernels", RT_OPT_DUMP_OPENCL, 0 },
  { 0, "load-opencl", "FILE", "read it from a file instead", RT_OPT_LOAD_OPENCL, 0 },
  { 0, "dump-opencl-binary", "FILE", "write all kernels compiled", RT_OPT_DUMP_BINARY, 0 },
  { 0, "compile-only", NULL, "end when they are written", RT_OPT_COMPILE_ONLY, 0 },
  { 0, "load-opencl-binary", "FILE", "read compiled kernels", RT_OPT_LOAD_BINARY, 0 },
  { 0, "one-process", NULL, "start no second process that helps to compile kernels",
    RT_OPT_ONE_PROCESS, 0 },
  { 0, "server", NULL, "serve commands on standard input", RT_OPT_SERVER, 0 },
#ifdef RT_WORKERS
  { 'i', "read-values-from", "FILE", "read values from a file, each worker its rows",
    RT_OPT_VALUES, 0 },
  { 'o', "write-result-to", "FILE", "write the result to a file", RT_OPT_RESULT, 0 },
#endif
#ifdef RT_THREADS
  { 0, "split", "N", "N workers, on parts of the device, or of each of `-d '#0,#1'`, `-d all`",
    RT_OPT_SPLIT, 0 },
  { 0, "workers", "N", "the same, but they share a device that has fewer compute units",
    RT_OPT_WORKERS, 0 },
#endif
  { 'h', "help", NULL, "print this", RT_OPT_HELP, 0 },
};
// clang-format on

enum { RT_OPTION_COUNT = sizeof rt_options / sizeof *rt_options };

RT_FN void rt_print_help(const char *name) {
  printf("Usage: %s [options] < values\nReads the arguments of an entry point, writes "
         "its result.\n",
         name);
  for (int i = 0; i < RT_OPTION_COUNT; i++) {
    const struct rt_option *o = &rt_options[i];
    char letter[4] = { o->letter ? '-' : ' ', o->letter ? o->letter : ' ', '\0', '\0' };
    printf("  %s --%s %-*s %s\n", letter, o->name, (int)(34 - strlen(o->name)),
           o->arg ? o->arg : "", o->help);
  }
}

// ---- options

// Reports as flc does; returns the exit status.
RT_FN int rt_usage_error(const char *format, ...) RT_TEXT(1);
RT_FN int rt_usage_error(const char *format, ...) {
  va_list args;
  va_start(args, format);
  fputs("error: ", stderr);
  vfprintf(stderr, format, args);
  fputc('\n', stderr);
  va_end(args);
  return 1;
}

RT_FN int rt_option_param(struct rt_cli *cli, const char *arg) {
  char *copy = rt_strdup(arg), *name = NULL;
  int64_t value = 0;
  int status = 0;
  if (!rt_split_setting(copy, &name, &value))
    status = rt_usage_error("--param: expected NAME=INT, found %s", arg);
  else if (!rt_is_setting(name))
    status = rt_usage_error(
        "--param: the program has no parameter %s\nhint: --print-params lists them",
        name);
  else if (rt_setting_wants(name, value))
    status = rt_usage_error("--param: %s (%s) wants %s, found %" PRId64, name,
                            rt_setting_kind(name), rt_setting_wants(name, value), value);
  else
    rt_config_put(cli->cfg, name, value);
  free(copy);
  return status;
}

RT_FN int rt_option_tuning(struct rt_cli *cli, const char *file) {
  char *problem = rt_config_load_tuning(cli->cfg, file);
  if (!problem) return 0;
  rt_usage_error("%s", problem);
  free(problem);
  return 1;
}

// The number of an option; -1 and a message if it is none.
RT_FN int64_t rt_option_number(const char *option, const char *arg) {
  char *rest = NULL;
  errno = 0;
  long long value = strtoll(arg, &rest, 10);
  if (rest > arg && *rest == '\0' && value >= 0 && value <= INT_MAX && errno == 0)
    return value;
  rt_usage_error("--%s: expected a number, found %s", option, arg);
  return -1;
}

RT_FN int rt_option_default(struct rt_cli *cli, const struct rt_option *o,
                            const char *arg) {
  int64_t number = rt_option_number(o->name, arg);
  const char *setting = rt_kinds[o->kind].setting;
  if (number < 0) return 1;
  if (rt_setting_wants(setting, number))
    return rt_usage_error("--%s wants %s, found %" PRId64, o->name,
                          rt_setting_wants(setting, number), number);
  rt_config_put(cli->cfg, setting, number);
  return 0;
}

RT_FN int rt_option_pretend(struct rt_config *cfg, const char *arg) {
  int64_t values[RT_LIMITS];
  rt_set_string(&cfg->limits, arg);
  if (rt_parse_limits(arg, values)) return 0;
  rt_usage_error("--pretend: expected limits such as local=32768,doubles=0, found %s; "
                 "there are",
                 arg);
  for (int i = 0; i < RT_LIMITS; i++)
    fprintf(stderr, "  %s: %s\n", rt_limits[i].name, rt_limits[i].meaning);
  return 1;
}

#ifdef RT_THREADS
// The first of "cpu,gpu", which is taken off: is it gpu?  -1: something else is there.
RT_FN int rt_take_code(const char **codes) {
  const char *at = *codes;
  bool gpu = strncmp(at, "gpu", 3) == 0;
  if (!gpu && strncmp(at, "cpu", 3) != 0) return -1;
  at += 3;
  *codes = *at == ',' && at[1] ? at + 1 : at;
  return *at && *at != ',' ? -1 : gpu;
}
#endif

// Options that set something in the configuration or take a number; 0 or the exit status.
RT_FN int rt_apply_config_option(struct rt_cli *cli, const struct rt_option *o,
                                 const char *arg) {
  struct rt_config *cfg = cli->cfg;
  int64_t number = 0;
  switch ((int)o->id) {
  case RT_OPT_PARAM: return rt_option_param(cli, arg);
  case RT_OPT_TUNING: return rt_option_tuning(cli, arg);
  case RT_OPT_PATH:
    if (RT_NAME(context_config_set_path)(cfg, arg) == 0) return 0;
    return rt_usage_error("--path: expected GUARD=T or GUARD=F of this program, found %s"
                          "\nhint: --tree shows its guards",
                          arg);
  case RT_OPT_CODE:
#ifdef RT_THREADS
    cli->codes = arg;
    while (rt_take_code(&arg) >= 0)
      if (!*arg) return 0;
    arg = cli->codes;
#else
    if (RT_NAME(context_config_set_code)(cfg, arg) == 0) return 0;
#endif
    return rt_usage_error("--code: expected cpu or gpu, found %s", arg);
  case RT_OPT_BACKEND:
    if (RT_NAME(context_config_set_backend)(cfg, arg) == 0) return 0;
    return rt_usage_error("--backend: expected %scuda, found %s",
                          RT_BACKEND_COUNT > 1 ? "opencl or " : "", arg);
  case RT_OPT_PRETEND: return rt_option_pretend(cfg, arg);
  case RT_OPT_DEFAULT: return rt_option_default(cli, o, arg);
  case RT_OPT_RUNS:
    number = rt_option_number(o->name, arg);
    cli->runs = (int)number;
    return number < 0;
  case RT_OPT_CACHE_FILE: RT_NAME(context_config_set_cache_file)(cfg, arg); return 0;
  case RT_OPT_DEVICE: RT_NAME(context_config_set_device)(cfg, arg); return 0;
  case RT_OPT_PLATFORM: RT_NAME(context_config_set_platform)(cfg, arg); return 0;
  case RT_OPT_EXACT_FLOATS: RT_NAME(context_config_set_exact_floats)(cfg, 1); return 0;
  case RT_OPT_BUILD_OPTION: RT_NAME(context_config_add_build_option)(cfg, arg); return 0;
  case RT_OPT_DUMP_OPENCL: RT_NAME(context_config_dump_program_to)(cfg, arg); return 0;
  case RT_OPT_LOAD_OPENCL: RT_NAME(context_config_load_program_from)(cfg, arg); return 0;
  case RT_OPT_DUMP_BINARY: RT_NAME(context_config_dump_binary_to)(cfg, arg); return 0;
  case RT_OPT_LOAD_BINARY: RT_NAME(context_config_load_binary_from)(cfg, arg); return 0;
  default: return 0;
  }
}

// Options of this run, and the flags of the configuration.
RT_FN int rt_apply_option(struct rt_cli *cli, const struct rt_option *o,
                          const char *arg) {
  switch ((int)o->id) {
  case RT_OPT_ENTRY: cli->entry = arg; return 0;
  case RT_OPT_TIME: cli->time_file = arg; return 0;
  case RT_OPT_BINARY: cli->binary = true; return 0;
  case RT_OPT_NO_OUTPUT: cli->no_output = true; return 0;
  case RT_OPT_DEBUG: RT_NAME(context_config_set_debugging)(cli->cfg, 1); return 0;
  case RT_OPT_LOG: RT_NAME(context_config_set_logging)(cli->cfg, 1); return 0;
  case RT_OPT_PROFILE:
    RT_NAME(context_config_set_profiling)(cli->cfg, 1);
    cli->profile = true;
    return 0;
  case RT_OPT_TRACE:
    RT_NAME(context_config_set_profiling)(cli->cfg, 1);
    cli->trace_file = arg;
    return 0;
  case RT_OPT_JSON: cli->json = true; return 0;
  case RT_OPT_PRINT_PARAMS: cli->print_params = true; return 0;
  case RT_OPT_TREE: cli->tree = true; return 0;
  case RT_OPT_LIST_DEVICES: cli->list_devices = true; return 0;
  case RT_OPT_COMPILE_ONLY: cli->compiles_only = true; return 0;
  case RT_OPT_ONE_PROCESS: cli->cfg->one_process = true; return 0;
  case RT_OPT_SERVER: cli->server = true; return 0;
  case RT_OPT_HELP: cli->help = true; return 0;
#ifdef RT_WORKERS
  case RT_OPT_RESULT: cli->result_file = arg; return 0;
  case RT_OPT_VALUES: cli->values_file = arg; return 0;
#endif
#ifdef RT_THREADS
  case RT_OPT_SPLIT:
  case RT_OPT_WORKERS:
    cli->cfg->shares_units = o->id == RT_OPT_WORKERS;
    cli->split = (int)rt_option_number(o->name, arg);
    if (cli->split < 0) return 1;
    return cli->split
               ? 0
               : rt_usage_error("--%s: expected a number from 1 on, found 0", o->name);
#endif
  default: return rt_apply_config_option(cli, o, arg);
  }
}

RT_FN const struct rt_option *rt_option_find(char letter, const char *name,
                                             size_t length) {
  for (int i = 0; i < RT_OPTION_COUNT; i++) {
    if (letter && rt_options[i].letter == letter) return &rt_options[i];
    if (!letter && strlen(rt_options[i].name) == length &&
        strncmp(rt_options[i].name, name, length) == 0)
      return &rt_options[i];
  }
  return NULL;
}

// How many letters differ between two names of at most 39; 40 for longer ones.
RT_FN int rt_name_distance(const char *a, const char *b) {
  enum { MOST = 40 };
  int row[MOST], n = (int)strlen(a), m = (int)strlen(b);
  if (n >= MOST || m >= MOST) return MOST;
  for (int j = 0; j <= m; j++)
    row[j] = j;
  for (int i = 1; i <= n; i++) {
    int diagonal = row[0];
    row[0] = i;
    for (int j = 1; j <= m; j++) {
      int above = row[j], replaced = diagonal + (a[i - 1] != b[j - 1]);
      int least = row[j - 1] < above ? row[j - 1] + 1 : above + 1;
      row[j] = replaced < least ? replaced : least;
      diagonal = above;
    }
  }
  return row[m];
}

RT_FN int rt_unknown_option(const char *word, size_t length) {
  char *name = rt_strdup(word[1] == '-' ? word + 2 : "");
  name[word[1] == '-' ? length : 0] = '\0';
  int best = ((int)strlen(name) + 1) / 3 + 1;  // a third of the letters may be wrong
  const struct rt_option *closest = NULL;
  for (int i = 0; i < RT_OPTION_COUNT; i++) {
    bool begun = strlen(name) > 2 && strncmp(rt_options[i].name, name, strlen(name)) == 0;
    int distance = begun ? 0 : rt_name_distance(name, rt_options[i].name);
    if (distance < best) closest = &rt_options[i];
    if (distance < best) best = distance;
  }
  free(name);
  if (!closest) return rt_usage_error("unknown option %s (see --help)", word);
  return rt_usage_error("unknown option %s\nhint: did you mean --%s?", word,
                        closest->name);
}

// Applies the option at argv[*at] and moves past it: -x, -xARG, -x ARG, --name=ARG, --name ARG.
RT_FN int rt_parse_option(struct rt_cli *cli, char **argv, int *at) {
  const char *word = argv[(*at)++];
  bool is_long = word[0] == '-' && word[1] == '-';
  if (word[0] != '-' || word[1] == '\0')
    return rt_usage_error("unexpected argument %s (values come on standard input)", word);
  size_t length = is_long ? strcspn(word + 2, "=") : 1;
  const struct rt_option *o =
      is_long ? rt_option_find(0, word + 2, length) : rt_option_find(word[1], NULL, 0);
  if (!o) return rt_unknown_option(word, length);
  const char *rest = word + (is_long ? 2 : 1) + length;
  const char *arg = is_long && *rest == '=' ? rest + 1 : !is_long && *rest ? rest : NULL;
  if (!o->arg && arg) return rt_usage_error("option --%s takes no value", o->name);
  if (o->arg && !arg) arg = argv[*at] ? argv[(*at)++] : NULL;
  bool nameless = arg && !*arg && o->arg && strcmp(o->arg, "FILE") == 0 &&
                  o->id != RT_OPT_CACHE_FILE;  // there it means none
  bool lacks = o->arg && (!arg || nameless);
  if (lacks) return rt_usage_error("option --%s needs %s", o->name, o->arg);
  return rt_apply_option(cli, o, arg);
}

// ---- running

// The file that cannot be written, as far as can be said before; or NULL.
RT_FN const char *rt_refused_output(const struct rt_cli *cli) {
#ifdef RT_WORKERS
  if (cli->result_file && !rt_is_writable(cli->result_file)) return cli->result_file;
#endif
  if (cli->time_file && !rt_is_writable(cli->time_file)) return cli->time_file;
  return cli->trace_file && !rt_is_writable(cli->trace_file) ? cli->trace_file : NULL;
}

// One warm-up (for a trace two) and the runs, or one run; the last result is kept.
RT_FN int rt_run_entry(struct rt_context *ctx, const struct rt_cli *cli,
                       const struct rt_entry_point *entry, const struct rt_value *in,
                       struct rt_value *out) {
  struct rt_text times = { NULL, 0, 0 };
  const char *refused = rt_refused_output(cli);
  int warm_ups = cli->runs == 0 ? 0
                 : ctx->trace   ? 2
                                : 1,
      all = cli->runs > 0 ? cli->runs + warm_ups : 1, error = RT_OK;
  for (int run = 0; run < all && !error && !refused; run++) {
    int64_t ns = 0;
    if (ctx->trace) ctx->trace->counts = run >= warm_ups;
    error = rt_timed_call(ctx, entry, in, out, &ns);
    if (error) break;
    if (run >= warm_ups) rt_text_printf(&times, "%" PRId64 "\n", ns / 1000);
    if (run + 1 < all) rt_value_free(ctx, entry->output_type, out);
  }
  if (!error && !refused && cli->time_file &&
      !rt_write_file(cli->time_file, times.data, times.length)) {
    refused = cli->time_file;
    rt_value_free(ctx, entry->output_type, out);
  }
  if (!error && refused)
    error =
        rt_error(ctx, RT_OTHER_ERROR, "cannot write %s: %s", refused, strerror(errno));
  rt_text_free(&times);
  return error;
}

RT_FN int rt_print_result(struct rt_context *ctx, const struct rt_cli *cli, int type,
                          const struct rt_value *value) {
  struct rt_text t = { NULL, 0, 0 };
  int error = cli->no_output ? RT_OK : rt_write_value(ctx, type, value, cli->binary, &t);
  if (!error && t.length &&
      (fwrite(t.data, 1, t.length, rt_out) != t.length || fflush(rt_out)))
    error = rt_error(ctx, RT_OTHER_ERROR, "cannot write the result: %s", strerror(errno));
  rt_text_free(&t);
  return error;
}

#ifdef RT_WORKERS
// Into the file that was asked for: what mpirun prints for the processes it may lose, and tells
// nobody.
RT_FN int rt_save_result(struct rt_context *ctx, const struct rt_cli *cli, int type,
                         const struct rt_value *value) {
  struct rt_text t = { NULL, 0, 0 };
  int error = cli->no_output ? RT_OK : rt_write_value(ctx, type, value, cli->binary, &t);
  if (!error && !cli->no_output && !rt_write_file(cli->result_file, t.data, t.length))
    error = rt_error(ctx, RT_OTHER_ERROR, "cannot write %s: %s", cli->result_file,
                     strerror(errno));
  rt_text_free(&t);
  return error;
}
#endif

// The value of one parameter.
RT_FN int rt_read_input(struct rt_context *ctx, struct rt_reader *r,
                        const struct rt_input *input, struct rt_value *out) {
  int error =
      rt_lacks_value(ctx, r, input->type)
          ? rt_error(ctx, RT_OTHER_ERROR, "expected a value, found the end of the input")
          : rt_read_typed(ctx, r, input->type, out);
  if (!error) return RT_OK;
  char *text = rt_strdup(ctx->error);
  rt_error(ctx, error, "parameter %s: %s: %s", input->name,
           ctx->program->types[input->type].name, text);
  free(text);
  return error;
}

#ifndef RT_WORKERS
// Someone at a terminal learns what is waited for.
RT_FN void rt_ask_for_inputs(const struct rt_context *ctx,
                             const struct rt_entry_point *entry) {
  if (!isatty(0) || !isatty(2)) return;
  fprintf(stderr, "type values, then Ctrl-D:");
  for (int i = 0; i < entry->input_count; i++)
    fprintf(stderr, "%s %s: %s", i ? "," : "", entry->inputs[i].name,
            ctx->program->types[entry->inputs[i].type].name);
  fprintf(stderr, "\n");
}
#endif

// Where values are read from; mapped: bytes of a file that lie in memory as they are.
struct rt_values {
  const char *what, *name;  // in places, and in messages
  char *bytes;
  size_t length, mapped;
};

RT_FN int rt_values_error(struct rt_context *ctx, const struct rt_values *v,
                          const char *reason) {
  return rt_error(ctx, RT_OTHER_ERROR, "cannot read %s: %s", v->name, reason);
}

#ifdef RT_WORKERS
// Of a file that is mapped only the pages are read that somebody looks at.
RT_FN void rt_values_map(struct rt_values *v, const char *path) {
  struct stat status;
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  v->what = v->name = path;
  if (fd < 0) return;
  if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && status.st_size > 0) {
    void *at = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
    if (at != MAP_FAILED) {
      v->bytes = (char *)at;
      v->length = v->mapped = (size_t)status.st_size;
    }
  }
  close(fd);
}

RT_FN void rt_values_find(struct rt_context *ctx, const struct rt_cli *cli,
                          struct rt_values *v) {
  if (!cli->values_file) {
    v->bytes = rt_workers_input(ctx->config->workers, &v->length);
    return;
  }
  rt_values_map(v, cli->values_file);
  bool packed = v->length > 1 && memcmp(v->bytes, "\x1f\x8b", 2) == 0;
  if (v->bytes && !packed) return;
  if (v->mapped) munmap(v->bytes, v->mapped);
  v->mapped = 0;
  v->bytes = rt_read_file(cli->values_file, &v->length);
}
#endif

RT_FN int rt_values_open(struct rt_context *ctx, const struct rt_cli *cli,
                         struct rt_values *v) {
  memset(v, 0, sizeof *v);
  v->what = "<stdin>";
  v->name = "standard input";
#ifdef RT_WORKERS
  rt_values_find(ctx, cli, v);
#else
  (void)cli;
  v->bytes = rt_read_stream(stdin, &v->length);
#endif
  if (!v->bytes) return rt_values_error(ctx, v, strerror(errno));
  if (v->mapped || rt_gunzip(&v->bytes, &v->length)) return RT_OK;
  return rt_values_error(ctx, v, "damaged gzip data");
}

RT_FN void rt_values_close(struct rt_values *v) {
#ifdef RT_WORKERS
  if (v->mapped) {
    munmap(v->bytes, v->mapped);
    return;
  }
#endif
  free(v->bytes);
}

RT_FN int rt_read_all_inputs(struct rt_context *ctx, struct rt_reader *r,
                             const struct rt_entry_point *entry, struct rt_value *in,
                             int *count) {
  int error = RT_OK;
  for (*count = 0; *count < entry->input_count && !error; *count += !error) {
#ifdef RT_WORKERS
    size_t at = r->position;
    ctx->config->workers->divides = entry->inputs[*count].blocks;
#endif
    error = rt_read_input(ctx, r, &entry->inputs[*count], &in[*count]);
#ifdef RT_WORKERS
    rt_workers_note(ctx->config->workers, r->bytes + at, r->position - at);
#endif
  }
  if (error || rt_reader_at_end(r)) return error;
  return rt_error(ctx, RT_OTHER_ERROR,
                  "expected the end of the input after %d value%s, found more data",
                  entry->input_count, entry->input_count == 1 ? "" : "s");
}

RT_FN int rt_read_inputs(struct rt_context *ctx, const struct rt_cli *cli,
                         const struct rt_entry_point *entry, struct rt_value *in,
                         int *count) {
  struct rt_values v;
#ifndef RT_WORKERS
  if (entry->input_count) rt_ask_for_inputs(ctx, entry);
#endif
  int error = rt_values_open(ctx, cli, &v);
  if (!error) {
    struct rt_reader r = { v.what, v.bytes, v.length, 0, NULL };
    error = rt_read_all_inputs(ctx, &r, entry, in, count);
    free(r.message);
  }
  rt_values_close(&v);
  return error;
}

RT_FN int rt_write_trace(struct rt_context *ctx, const struct rt_cli *cli,
                         const struct rt_entry_point *entry) {
  if (!ctx->trace) return RT_OK;
  char *report = rt_trace_report(ctx, entry->name);
  bool ok = rt_write_file(cli->trace_file, report, strlen(report));
  int reason = errno;
  free(report);
  if (ok) return RT_OK;
  return rt_error(ctx, RT_OTHER_ERROR, "cannot write %s: %s", cli->trace_file,
                  strerror(reason));
}

RT_FN int rt_call_entry(struct rt_context *ctx, const struct rt_cli *cli,
                        const struct rt_entry_point *entry) {
  struct rt_value *in =
      (struct rt_value *)rt_host_alloc((size_t)entry->input_count * sizeof *in);
  struct rt_value out;
  memset(&out, 0, sizeof out);
  int count = 0;
  if (cli->trace_file) rt_trace_open(ctx);
  int error = rt_read_inputs(ctx, cli, entry, in, &count);
#ifdef RT_WORKERS
  error = rt_workers_agree(ctx, error);
  if (!error && cli->values_file) error = rt_workers_have_read(ctx, cli->values_file);
#endif
#ifdef RT_HELPER
  if (!error) rt_helper_prepare(ctx, entry, in);
#endif
  if (!error) error = rt_run_entry(ctx, cli, entry, in, &out);
  if (!error) {
#ifdef RT_WORKERS
    if (cli->shows_result)
      error = rt_value_together(ctx, entry->output_type, &out, rt_array_collect);
    if (!error && cli->result_file)
      error = rt_save_result(ctx, cli, entry->output_type, &out);
    else
#endif
        if (!error)
      error = rt_print_result(ctx, cli, entry->output_type, &out);
    if (!error) error = rt_write_trace(ctx, cli, entry);
    rt_value_free(ctx, entry->output_type, &out);
  }
  for (int i = 0; i < count; i++)
    rt_value_free(ctx, entry->inputs[i].type, &in[i]);
  free(in);
  return error;
}

// Prints the profile or report after a run.
RT_FN void rt_print_report(struct rt_context *ctx, const struct rt_cli *cli) {
  rt_log(ctx, "peak device memory: %" PRId64 " bytes", ctx->memory.peak);
  if (!cli->profile) return;
  if (!cli->json) {
    rt_print_profile(ctx, stderr);
    return;
  }
  char *report = rt_report(ctx);
  fputs(report, stderr);
  free(report);
}

// The entry point that was asked for, or main, or the only one; NULL after an error that
// lists them.
RT_FN const struct rt_entry_point *rt_chosen_entry(struct rt_context *ctx,
                                                   const char *name) {
  const struct rt_program *program = ctx->program;
  const struct rt_entry_point *entry = rt_entry_named(program, name ? name : "main");
  if (entry) return entry;
  if (!name && program->entry_count == 1) return &program->entries[0];
  if (program->entry_count == 0) {
    rt_error(ctx, RT_OTHER_ERROR,
             "the program has no entry points\nhint: write `entry` instead of `def` "
             "before the function to run");
    return NULL;
  }
  struct rt_text list = { NULL, 0, 0 };
  for (int i = 0; i < program->entry_count; i++)
    rt_text_printf(&list, "%s%s", i ? ", " : "", program->entries[i].name);
  rt_error(
      ctx, RT_OTHER_ERROR,
      "the program has no entry point `%s`\nhint: its entry points are %s: choose one "
      "with -e",
      name ? name : "main", list.data);
  rt_text_free(&list);
  return NULL;
}

RT_FN int rt_run_asked(struct rt_context *ctx, const struct rt_cli *cli) {
  if (cli->server || RT_ALWAYS_SERVER) return rt_serve(ctx);
  const struct rt_entry_point *entry = rt_chosen_entry(ctx, cli->entry);
  return entry ? rt_call_entry(ctx, cli, entry) : RT_OTHER_ERROR;
}

RT_FN int rt_run_program(struct rt_cli *cli) {
#ifdef RT_WORKERS
  rt_transport_alone(cli->cfg->workers, true);
#endif
  struct rt_context *ctx = RT_NAME(context_new)(cli->cfg);
  int error = ctx->broken ? RT_OTHER_ERROR : RT_OK;
#ifdef RT_WORKERS
  rt_transport_alone(cli->cfg->workers, false);
  error = rt_workers_begin(ctx, error);
#endif
  if (!error && !cli->compiles_only) error = rt_run_asked(ctx, cli);
  if (!error) rt_print_report(ctx, cli);
#ifdef RT_WORKERS
  error = rt_workers_agree(ctx, error);
  rt_workers_report(ctx);
#endif
  char *text = RT_NAME(context_get_error)(ctx);
#ifdef RT_WORKERS
  if (cli->cfg->workers->rank > 0)
    ;  // rank 0 says it
  else
#endif
      if (error && ctx->error_has_place)
    fprintf(stderr, "%s\n", text);
  else if (error)
    rt_usage_error("%s", text ? text : "failed");
  free(text);
#ifdef RT_WORKERS
  rt_transport_alone(cli->cfg->workers, true);
#endif
  RT_NAME(context_free)(ctx);
#ifdef RT_WORKERS
  rt_transport_alone(cli->cfg->workers, false);
#endif
  return error;
}

RT_FN void rt_print_params(void) {
  const struct rt_program *program = rt_program();
  for (int i = 0; i < program->tuning_count; i++)
    printf("%s (%s)\n", program->tuning[i].name, program->tuning[i].kind);
}

RT_FN void rt_print_pieces(const char *const *pieces) {
  for (int i = 0; pieces && pieces[i]; i++)
    fputs(pieces[i], stdout);
}

RT_FN void rt_print_devices(const struct rt_config *cfg) {
  if (rt_list_devices(cfg) == 0)
    fprintf(stderr, "warning: there is no device%s\n", rt_no_device_hint);
}

// What needs no device; false if the program is to be run.
RT_FN bool rt_print_information(const struct rt_cli *cli) {
  if (cli->help)
    rt_print_help(cli->program_name);
  else if (cli->list_devices)
    rt_print_devices(cli->cfg);
  else if (cli->print_params)
    rt_print_params();
  else if (cli->tree)
    rt_print_pieces(cli->json ? rt_program()->tree_json : rt_program()->tree_text);
  else
    return false;
  return true;
}

// What is closed must not become a file that the program or OpenCL opens: reading and writing fail.
RT_FN void rt_hold_standard_files(void) {
  for (int fd = 0; fd <= 2; fd++)
    if (fcntl(fd, F_GETFD) < 0) (void)!open("/dev/null", fd == 0 ? O_WRONLY : O_RDONLY);
}

// The file in memory that flc watches while it runs this program; 0: none.
RT_FN int rt_watched_file(void) {
  static const char wanted[] = "/memfd:status";
  char link[64], target[sizeof wanted] = { 0 };
  const char *number = getenv("FLC_STATUS_FILE");
  if (!number) return 0;
  snprintf(link, sizeof link, "/proc/self/fd/%d", atoi(number));
  if (readlink(link, target, sizeof target - 1) < 0) return 0;
  return strcmp(target, wanted) == 0 ? atoi(number) : 0;
}

// ---- the whole

// A driver reads its libraries for each device that it compiles for, a third of a second: what runs
// once takes that time only where launches are so many that the other way round costs more.
enum { RT_NEAR_AFTER = 2000 };

// Reads the command line; an exit status.
RT_FN int rt_cli_open(struct rt_cli *cli, int argc, char **argv) {
  memset(cli, 0, sizeof *cli);
  cli->program_name = argc > 0 ? argv[0] : rt_program()->source;
  cli->cfg = RT_NAME(context_config_new)();
  cli->cfg->at_end = RT_IS_LAST;
  cli->cfg->near = true;
  int status = 0, at = 1;
  while (at < argc && status == 0)
    status = rt_parse_option(cli, argv, &at);
  bool runs_once = cli->runs == 0 && !cli->server && !RT_ALWAYS_SERVER;
  cli->cfg->near_after = runs_once ? RT_NEAR_AFTER : 0;
  cli->cfg->status_file = rt_watched_file();
  cli->cfg->at_terminal = !cli->server && !RT_ALWAYS_SERVER && isatty(2);
  return status;
}

// The exit status, if it was this until now.
RT_FN int rt_cli_close(struct rt_cli *cli, int status) {
  if (status == 0 && (fflush(stdout) || ferror(stdout)))
    status = rt_usage_error("cannot write to standard output: %s", strerror(errno));
  RT_NAME(context_config_free)(cli->cfg);
  return status != 0;  // 1, whatever went wrong
}

#ifdef RT_WORKERS
RT_FN int rt_run_as_worker(struct rt_cli *cli, struct rt_workers *w) {
  cli->cfg->workers = w;
  cli->shows_result = !cli->no_output;
  if (w->rank > 0) {  // what only one worker does
    cli->time_file = cli->trace_file = cli->result_file = NULL;
    cli->no_output = true;
    cli->profile = false;
    rt_set_string(&cli->cfg->dump_program_to, NULL);
    rt_set_string(&cli->cfg->dump_binary_to, NULL);
  }
  int status = rt_run_program(cli);
  free(w->weights);
  return status;
}
#endif

// The folder that the driver's cache lies in has next to no room.
RT_FN bool rt_cache_disk_is_full(void) {
  struct statvfs disk;
  char *folder = rt_user_cache_folder();
  bool known = folder && statvfs(folder, &disk) == 0;
  free(folder);
  return known && (double)disk.f_bavail * (double)disk.f_frsize < 4 << 20;
}

// PoCL compiles nothing where it cannot write to its cache: if the disk is full, that is among the
// temporary files, in a folder that nobody else can write to.
RT_FN void rt_leave_full_disk(void) {
  const char *tmp = getenv("TMPDIR");
  struct rt_text t = { NULL, 0, 0 };
  if (getenv("POCL_CACHE_DIR") || !rt_cache_disk_is_full()) return;
  rt_text_printf(&t, "%s/flc-pocl-%d", tmp && *tmp ? tmp : "/tmp", (int)geteuid());
  mkdir(t.data, 0700);
  if (!rt_distrust_folder(t.data, true)) setenv("POCL_CACHE_DIR", t.data, 1);
  rt_text_free(&t);
}

RT_FN int rt_main(int argc, char **argv) {
  rt_hold_standard_files();
  signal(SIGXFSZ, SIG_IGN);  // a file that grows too large is an error like a full disk
  rt_leave_full_disk();
#ifdef RT_WORKERS
  return rt_transport_main(argc, argv);
#else
  struct rt_cli cli;
#  ifdef RT_HELPER
  bool helps = argc > 1 && strcmp(argv[1], RT_HELPER_WORD) == 0;
  if (helps) argv[1] = argv[0];
  int status = rt_cli_open(&cli, argc - helps, argv + helps);
  if (helps && status == 0) rt_helper_main(cli.cfg);
  if (helps) return rt_usage_error("%s is for the program itself", RT_HELPER_WORD);
  cli.cfg->words = argv;
#  else
  int status = rt_cli_open(&cli, argc, argv);
#  endif
  if (status == 0 && !rt_print_information(&cli)) status = rt_run_program(&cli);
  return rt_cli_close(&cli, status);
#endif
}
// End cli.h
