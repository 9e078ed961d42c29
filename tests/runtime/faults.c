// Each call that a program makes of OpenCL or of CUDA fails in turn, once, or from then on as if the device were lost: there is
// a message, nothing leaks, and after a single failure the same context works.
#define RT_IS_LAST false
#include "program.h"
// The runtime comes before any system header.

#include "../unit.h"
#include "faulty_opencl.h"

// Frees what a step may have left, and checks that an error has a text.
static int step_done(struct rt_context *ctx, int error) {
  char *text = fl_context_get_error(ctx);
  CHECK(!error == !text);
  CHECK(!text || *text);
  free(text);
  return error;
}

static int add_one_step(struct rt_context *ctx) {
  int64_t n = 3, last = 2;
  const float xs[] = { 1, 2, 3 };
  float ys[3] = { 0 }, y = 0;
  struct rt_value in, out;
  int error = rt_array_from(ctx, &in.u.array, RT_F32, 1, &n, xs);
  if (error) return step_done(ctx, error);
  error = call_add_one(ctx, &out, &in);
  if (!error) {
    error = rt_array_values(ctx, out.u.array, ys);
    CHECK(error || (ys[0] == 2 && ys[2] == 4));
    if (!error) error = rt_array_index(ctx, out.u.array, &last, &y);
    CHECK(error || y == 4);
    rt_array_free(ctx, out.u.array);
  }
  rt_array_free(ctx, in.u.array);
  return step_done(ctx, error);
}

// The block of the consumed array belongs to another array as well: it is copied.
static int consume_step(struct rt_context *ctx) {
  int64_t n = 2;
  const float xs[] = { 1, 2 };
  float before[2] = { 0 }, after[2] = { 0 };
  struct rt_value in, out;
  struct rt_array *other = NULL;
  int error = rt_array_from(ctx, &in.u.array, RT_F32, 1, &n, xs);
  if (error) return step_done(ctx, error);
  rt_array_of_mem(ctx, &other, RT_F32, 1, &n, in.u.array->mem);
  error = call_consume(ctx, &out, &in);
  if (!error) {
    error = rt_array_values(ctx, out.u.array, after);
    CHECK(error || after[1] == 3);
    rt_array_free(ctx, out.u.array);
  }
  if (!error) error = rt_array_values(ctx, other, before);
  CHECK(error || before[1] == 2);
  rt_array_free(ctx, other);
  rt_array_free(ctx, in.u.array);
  return step_done(ctx, error);
}

// A failed check is no failure of the step; its being overlooked is.
static int get_step(struct rt_context *ctx) {
  int64_t n = 3;
  const int32_t xs[] = { 5, 6, 7 };
  int32_t got = 0;
  struct rt_value in[2], out;
  int error = rt_array_from(ctx, &in[0].u.array, RT_I32, 1, &n, xs);
  if (error) return step_done(ctx, error);
  for (in[1].u.i64 = 2; in[1].u.i64 < 4 && !error; in[1].u.i64++) {
    error = call_get(ctx, &out, in);
    CHECK(in[1].u.i64 < n || error);
    CHECK(in[1].u.i64 >= n || error != RT_PROGRAM_ERROR);
    if (error) break;
    error = rt_array_values(ctx, out.u.array, &got);
    CHECK(error || got == 7);
    rt_array_free(ctx, out.u.array);
  }
  rt_array_free(ctx, in[0].u.array);
  step_done(ctx, error);
  return error == RT_PROGRAM_ERROR ? RT_OK : error;
}

// Both builds of a kernel with local memory.
static int sum_step(struct rt_context *ctx) {
  int64_t n = 3;
  const int32_t xs[] = { 5, 6, 7 };
  struct rt_value in, out;
  int error = rt_array_from(ctx, &in.u.array, RT_I32, 1, &n, xs);
  if (error) return step_done(ctx, error);
  for (int i = 0; i < 2 && !error; i++) {
    CHECK(fl_context_set_path(ctx, i ? "sum.intra_0=T" : "sum.intra_0=F") == 0);
    error = call_sum(ctx, &out, &in);
    CHECK(error || out.u.i32 == 18);
  }
  rt_array_free(ctx, in.u.array);
  return step_done(ctx, error);
}

static int pair_step(struct rt_context *ctx) {
  struct rt_value in, out;
  struct rt_opaque *again = NULL;
  void *bytes = NULL;
  size_t length = 0;
  in.u.i64 = 3;
  int error = call_pair(ctx, &out, &in);
  if (error) return step_done(ctx, error);
  error = rt_opaque_store(ctx, out.u.opaque, &bytes, &length);
  if (!error) error = rt_opaque_restore(ctx, &again, T_PAIR, bytes);
  CHECK(error || again->leaves[1].u.array->shape[0] == 3);
  rt_opaque_free(ctx, again);
  rt_opaque_free(ctx, out.u.opaque);
  free(bytes);
  return step_done(ctx, error);
}

static int all_steps(struct rt_context *ctx) {
  int error = add_one_step(ctx);
  if (!error) error = consume_step(ctx);
  if (!error) error = get_step(ctx);
  if (!error) error = sum_step(ctx);
  if (!error) error = pair_step(ctx);
  if (!error) error = step_done(ctx, fl_context_clear_caches(ctx));
  free(fl_context_report(ctx));
  return error;
}

// ---- contexts of every kind

typedef struct Variant {
  const char *name;
  bool profiling, debugging, cached, dumps, given_queue;
} Variant;

static const Variant variants[] = {
  { "cached", false, false, true, false, false },
  { "profiling", true, false, true, false, false },
  { "debugging", false, true, true, false, false },
  { "another's queue", false, false, true, false, true },
  { "compiling and dumping", false, false, false, true, false },
};

typedef struct Paths {
  const char *cache, *source, *binary;
} Paths;

static struct rt_config *make_config(const Variant *v, const Paths *paths,
                                     cl_command_queue queue) {
  struct rt_config *cfg = fl_context_config_new();
  CHECK(fl_context_config_set_backend(cfg, faulty_backend()) == 0);
  fl_context_config_set_profiling(cfg, v->profiling);
  fl_context_config_set_debugging(cfg, v->debugging);
  fl_context_config_set_logging(cfg, 0);
  fl_context_config_set_cache_file(cfg, v->cached ? paths->cache : "");
  if (v->dumps) fl_context_config_dump_program_to(cfg, paths->source);
  if (v->dumps) fl_context_config_dump_binary_to(cfg, paths->binary);
  if (v->given_queue) fl_context_config_set_command_queue(cfg, queue);
  return cfg;
}

// Memory that commands still use, which a lost device can't be asked to finish, is freed by them.
static bool only_alive(int wanted) {
  for (int i = 0; i < 1000 && faulty_alive() != wanted; i++)
    usleep(1000);
  return faulty_alive() == wanted;
}

// Runs everything while call number `at` fails; false if there are fewer calls.
static bool run_with_fault(const Variant *v, struct rt_config *cfg, long at,
                           cl_int status, bool lost) {
  int alive = faulty_alive();
  faulty_plan(at, status, lost);
  struct rt_context *ctx = fl_context_new(cfg);
  int error = ctx->broken ? step_done(ctx, RT_OTHER_ERROR) : all_steps(ctx);
  bool happened = faulty_happened();
  if (error && !happened) fprintf(stderr, "%s: failed without a fault\n", v->name);
  CHECK(!error || happened);
  CHECK(!(happened && lost) || error || v->profiling);
  if (!lost && !ctx->broken) {
    faulty_plan(0, 0, false);
    CHECK(all_steps(ctx) == RT_OK);
  }
  if (ctx->broken) CHECK(fl_context_sync(ctx) != RT_OK);
  CHECK(ctx->memory.live == 0);
  fl_context_free(ctx);
  if (!only_alive(alive) || faulty_misuses())
    fprintf(stderr, "%s, call %ld, status %d%s: %d objects left, %d released in vain\n",
            v->name, at, (int)status, lost ? " and later" : "", faulty_alive() - alive,
            faulty_misuses());
  CHECK(only_alive(alive) && faulty_misuses() == 0);
  return happened;
}

// Tries every `every`-th call, each fault beginning with another one.
static void run_variant(const Variant *v, const Paths *paths, cl_command_queue queue,
                        long every) {
  static const struct {
    cl_int status;
    bool lost;
  } faults[] = { { CL_MEM_OBJECT_ALLOCATION_FAILURE, false },
                 { CL_OUT_OF_RESOURCES, false },
                 { CL_INVALID_COMMAND_QUEUE, true } };
  struct rt_config *cfg = make_config(v, paths, queue);
  CHECK(!run_with_fault(v, cfg, 0, 0, false));  // fills the cache
  for (size_t k = 0; k < sizeof faults / sizeof *faults; k++) {
    long at = 1 + (long)(k + (size_t)(v - variants)) % every;
    while (run_with_fault(v, cfg, at, faults[k].status, faults[k].lost))
      at += every;
    CHECK(at > 50);
  }
  fl_context_config_free(cfg);
}

// ---- executables

typedef struct Call {
  const char *args[8];  // then NULL
  const char *input;
} Call;

static const Call command_lines[] = {
  { { "p", "-e", "consume", "-r", "2", NULL }, "[1, 2]" },
  { { "p", "-e", "pair", "-P", NULL }, "3" },
  { { "p", "-e", "get", "-D", NULL }, "[1, 2] 5" },
  { { "p", "--server", NULL },
    "restore in xs []i32 i i64\ncall get ys xs i\ncall sum s xs\nindex x xs 1\nset xs x "
    "0\n"
    "call pair p i\nproject q p 1\nset q x 0\nstore out xs p\nfree xs s\n" },
};

// Input from the file `in`, messages into the file `err`, results nowhere.
static int run_main(const Call *call, const Paths *paths) {
  char *args[14] = { NULL };
  int count = 0;
  for (; call->args[count]; count++)
    args[count] = rt_strdup(call->args[count]);
  args[count++] = rt_strdup("--backend");
  args[count++] = rt_strdup(faulty_backend());
  args[count++] = rt_strdup("--cache-file");
  args[count++] = rt_strdup(paths->cache);
  CHECK(rt_write_file("input", call->input, strlen(call->input)));
  int messages = dup(2);
  CHECK(freopen("input", "r", stdin) && freopen("messages", "w", stderr));
  int status = rt_main(count, args);
  fflush(stderr);
  dup2(messages, 2);
  close(messages);
  for (int i = 0; i < count; i++)
    free(args[i]);
  return status;
}

static bool run_main_with_fault(const Call *call, const Paths *paths, long at,
                                cl_int status, bool lost) {
  int alive = faulty_alive();
  faulty_plan(at, status, lost);
  int got = run_main(call, paths);
  bool happened = faulty_happened(), server = strcmp(call->args[1], "--server") == 0;
  size_t length = 0;
  char *said = rt_read_file("messages", &length);
  if (got < 0 || got > 1 || (got == 1 && length <= 3))
    fprintf(stderr, "%s, call %ld, status %d%s: exit status %d, said: %s\n",
            call->args[2], at, (int)status, lost ? " and later" : "", got, said);
  CHECK(got == 0 || (got == 1 && length > 3));
  // The last call is made when the result has been written.
  CHECK(!(happened && lost) || got == 1 || server || faulty_calls() == at ||
        strcmp(call->args[3], "-P") == 0);
  CHECK(only_alive(alive) && faulty_misuses() == 0);
  free(said);
  return happened;
}

static void run_executables(const Paths *paths, long every) {
  CHECK(freopen("/dev/null", "w", stdout) && rt_write_file("in", "[1, 2] 1i64", 11));
  for (size_t i = 0; i < sizeof command_lines / sizeof *command_lines; i++) {
    const Call *call = &command_lines[i];
    long at = 1 + (long)i % every;
    while (run_main_with_fault(call, paths, at, CL_OUT_OF_RESOURCES, false))
      at += every;
    CHECK(at > 40);
    at = 1 + (long)(i + 4) % every;
    while (run_main_with_fault(call, paths, at, CL_INVALID_CONTEXT, true))
      at += every;
  }
}

// faults [EVERY]: which of the calls fail; 1: all of them.
int main(int argc, char **argv) {
  long every = argc > 1 ? atol(argv[1]) : 1;
  char folder[] = "/tmp/flc-faults-XXXXXX";
  CHECK(mkdtemp(folder) && chdir(folder) == 0);
  Paths paths = { "cache", "source", "binary" };
  cl_command_queue queue = faulty_queue_new();
  if (!queue) return 77;  // no device
  for (size_t i = 0; i < sizeof variants / sizeof *variants; i++)
    run_variant(&variants[i], &paths, queue, every);
  run_executables(&paths, every);
  faulty_queue_free(queue);
  CHECK(only_alive(0));
  static const char *const files[] = { "cache", "source",   "binary", "input",
                                       "in",    "messages", "out" };
  for (size_t i = 0; i < sizeof files / sizeof *files; i++)
    unlink(files[i]);
  CHECK(chdir("/") == 0 && rmdir(folder) == 0);
  return 0;
}
