// Each OpenCL call of a generated library fails in turn, once, or from then on as if the device were lost:
// there is a message, nothing leaks, and after a single failure the same context works.
#include "faults.h"
#include "../runtime/faulty_opencl.h"
#include <stdlib.h>
#include <string.h>

static void check_at(bool right, const char *what, int line) {
  if (right) return;
  fprintf(stderr, "tests/lib/faults.c:%d: does not hold: %s\n", line, what);
  exit(1);
}

#define CHECK(claim) check_at((claim), #claim, __LINE__)

// An error has a text.
static int done(struct faults_context *ctx, int error) {
  char *text = faults_context_get_error(ctx);
  CHECK(!error == !text);
  free(text);
  return error;
}

static struct faults_i32_1d *ints(struct faults_context *ctx) {
  const int32_t xs[] = { 3, 1, 4, 1, 5 };
  return faults_new_i32_1d(ctx, xs, 5);
}

static int filtered(struct faults_context *ctx) {
  int32_t got[5] = { 0 };
  struct faults_i32_1d *xs = ints(ctx), *ys = NULL;
  int error = xs ? faults_entry_filtered(ctx, &ys, xs) : 1;
  CHECK(error || faults_shape_i32_1d(ctx, ys)[0] == 3);
  if (!error) error = faults_values_i32_1d(ctx, ys, got);
  CHECK(error || (got[0] == 3 && got[1] == 4 && got[2] == 5));
  faults_free_i32_1d(ctx, ys);
  faults_free_i32_1d(ctx, xs);
  return done(ctx, error);
}

static int rows(struct faults_context *ctx, const char *path) {
  const int32_t in[] = { 1, 2, 3, 4, 5, 6 };
  int32_t got[2] = { 0 }, all[6] = { 0 };
  struct faults_i32_2d *xss = faults_new_i32_2d(ctx, in, 2, 3), *yss = NULL;
  struct faults_opaque_tup2_arr1d_i32_arr2d_i32 *both = NULL;
  struct faults_i32_1d *ys = NULL;
  CHECK(faults_context_set_path(ctx, path) == 0);
  int error = xss ? faults_entry_rows(ctx, &both, xss) : 1;
  if (!error) error = faults_project_opaque_tup2_arr1d_i32_arr2d_i32_0(ctx, &ys, both);
  if (!error) error = faults_project_opaque_tup2_arr1d_i32_arr2d_i32_1(ctx, &yss, both);
  if (!error) error = faults_values_i32_1d(ctx, ys, got);
  if (!error) error = faults_values_i32_2d(ctx, yss, all);
  CHECK(error || (got[0] == 10 && got[1] == 28 && all[2] == 6 && all[5] == 15));
  faults_free_i32_1d(ctx, ys);
  faults_free_i32_2d(ctx, yss);
  faults_free_opaque_tup2_arr1d_i32_arr2d_i32(ctx, both);
  faults_free_i32_2d(ctx, xss);
  return done(ctx, error);
}

// The second call needs more of an arena than the first.
static int lengths(struct faults_context *ctx, int64_t longest) {
  const int64_t in[] = { 3, 0, longest };
  int64_t got[3] = { 0 };
  struct faults_i64_1d *ns = faults_new_i64_1d(ctx, in, 3), *ys = NULL;
  int error = ns ? faults_entry_lengths(ctx, &ys, ns) : 1;
  if (!error) error = faults_values_i64_1d(ctx, ys, got);
  CHECK(error || (got[0] == 4 && got[1] == 0));
  CHECK(error || got[2] == (longest - 1) * longest * (longest + 1) / 6);
  faults_free_i64_1d(ctx, ys);
  faults_free_i64_1d(ctx, ns);
  return done(ctx, error);
}

static int put(struct faults_context *ctx) {
  int32_t got[5] = { 0 };
  struct faults_i32_1d *xs = ints(ctx), *ys = NULL, *zs = NULL;
  int error = xs ? faults_entry_put(ctx, &ys, xs, 1, 9) : 1;
  if (!error) error = faults_entry_put(ctx, &zs, ys, 0, 8);
  if (!error) error = faults_values_i32_1d(ctx, zs, got);
  CHECK(error || (got[0] == 8 && got[1] == 9 && got[4] == 5));
  faults_free_i32_1d(ctx, zs);
  faults_free_i32_1d(ctx, ys);
  faults_free_i32_1d(ctx, xs);
  return done(ctx, error);
}

static int records(struct faults_context *ctx) {
  int32_t sum = 0;
  struct faults_i32_1d *xs = ints(ctx);
  struct faults_opaque_stats *s = NULL, *copy = NULL;
  void *bytes = NULL;
  size_t size = 0;
  int error = xs ? faults_entry_stats(ctx, &s, xs) : 1;
  if (!error) error = faults_store_opaque_stats(ctx, s, &bytes, &size);
  if (!error && !(copy = faults_restore_opaque_stats(ctx, bytes))) error = 1;
  if (!error) error = faults_entry_again(ctx, &sum, copy, xs);
  CHECK(error || sum == 14 + (3 + 4 + 8 + 9 + 14) + 14);
  free(bytes);
  faults_free_opaque_stats(ctx, copy);
  faults_free_opaque_stats(ctx, s);
  faults_free_i32_1d(ctx, xs);
  return done(ctx, error);
}

static int loops(struct faults_context *ctx) {
  int32_t k = 0, got[3] = { 0 };
  const int64_t in[] = { 0, 2, 2, 7 };
  struct faults_i32_1d *xs = ints(ctx), *ys = NULL;
  struct faults_i64_1d *is = faults_new_i64_1d(ctx, in, 4);
  int error = xs && is ? faults_entry_until(ctx, &k, xs, 8) : 1;
  CHECK(error || k == 3);
  if (!error) error = faults_entry_counted(ctx, &ys, is, 3);
  if (!error) error = faults_values_i32_1d(ctx, ys, got);
  CHECK(error || (got[0] == 1 && got[1] == 0 && got[2] == 2));
  faults_free_i32_1d(ctx, ys);
  faults_free_i64_1d(ctx, is);
  faults_free_i32_1d(ctx, xs);
  return done(ctx, error);
}

// A failed check; that it is overlooked would be wrong, that something else fails is not.
static int failing(struct faults_context *ctx) {
  const int64_t in[] = { 0, 7 };
  struct faults_i32_1d *xs = ints(ctx), *ys = NULL;
  struct faults_i64_1d *is = faults_new_i64_1d(ctx, in, 2);
  int error = xs && is ? faults_entry_at(ctx, &ys, xs, is) : 1;
  if (!error) error = faults_context_sync(ctx);
  CHECK(error != 0);
  faults_free_i32_1d(ctx, ys);
  faults_free_i64_1d(ctx, is);
  faults_free_i32_1d(ctx, xs);
  done(ctx, error);
  return error == 2 ? 0 : error;
}

static int everything(struct faults_context *ctx) {
  int error = filtered(ctx);
  if (!error) error = rows(ctx, "");
  if (!error) error = rows(ctx, "rows.top_0=F,rows.intra_1=T");
  if (!error) error = rows(ctx, "rows.top_0=F,rows.intra_1=F");
  if (!error) error = lengths(ctx, 10);
  if (!error) error = lengths(ctx, 200000);
  if (!error) error = put(ctx);
  if (!error) error = records(ctx);
  if (!error) error = failing(ctx);
  if (!error) error = loops(ctx);
  return error ? error : done(ctx, faults_context_clear_caches(ctx));
}

// Runs everything while call number `at` fails; false if there are fewer calls.
static bool run(struct faults_context_config *cfg, long at, cl_int status, bool lost) {
  faulty_plan(at, status, lost);
  struct faults_context *ctx = faults_context_new(cfg);
  char *text = faults_context_get_error(ctx);
  bool usable = !text;
  free(text);
  int error = usable ? everything(ctx) : 1;
  bool happened = faulty_happened();
  CHECK(!error || happened);
  CHECK(!(happened && lost) || error);
  faulty_plan(0, 0, false);
  if (usable && !lost) CHECK(everything(ctx) == 0);
  faults_context_free(ctx);
  if (faulty_alive() || faulty_misuses())
    fprintf(stderr, "call %ld, status %d%s: %d objects left, %d released in vain\n", at,
            (int)status, lost ? " and later" : "", faulty_alive(), faulty_misuses());
  CHECK(faulty_alive() == 0 && faulty_misuses() == 0);
  return happened;
}

// faults [EVERY]: which of the calls, 1 all of them.
int main(int argc, char **argv) {
  long every = argc > 1 ? atol(argv[1]) : 1, at = 1;
  struct faults_context_config *cfg = faults_context_config_new();
  run(cfg, 0, 0, false);
  while (run(cfg, at, CL_MEM_OBJECT_ALLOCATION_FAILURE, false))
    at += every;
  CHECK(at > 100);
  for (at = 2; run(cfg, at, CL_OUT_OF_RESOURCES, false); at += every) {
  }
  for (at = 3; run(cfg, at, CL_INVALID_COMMAND_QUEUE, true); at += every) {
  }
  faults_context_config_free(cfg);
  printf("%ld calls\n", faulty_calls());
  return 0;
}
