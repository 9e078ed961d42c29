// Two generated libraries, `one` and `two`, through their C API (tests/lib/run.sh builds them).
#include "one.h"
#include "two.h"
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

static int failures;  // of all threads

static void fail(void) { __atomic_fetch_add(&failures, 1, __ATOMIC_RELAXED); }

static void check(bool right, const char *what) {
  if (right) return;
  fprintf(stderr, "wrong: %s\n", what);
  fail();
}

static void check_ok(struct one_context *ctx, int error, const char *what) {
  if (!error && !one_context_sync(ctx)) return;
  char *text = one_context_get_error(ctx);
  fprintf(stderr, "%s failed: %s\n", what, text ? text : "(no text)");
  free(text);
  fail();
}

// The call failed with this code and a text that contains `part`; the context stays usable.
static void check_error(struct one_context *ctx, int error, int wanted,
                        const char *part) {
  if (!error) error = one_context_sync(ctx);
  char *text = one_context_get_error(ctx);
  bool right = error == wanted && text && strstr(text, part);
  if (!right)
    fprintf(stderr, "wanted error %d with '%s', got %d: %s\n", wanted, part, error,
            text ? text : "(no text)");
  if (!right) fail();
  free(text);
  check(!one_context_get_error(ctx), "reading an error clears it");
}

static void arrays(struct one_context *ctx) {
  const float xs[] = { 1, 2, 3 }, ys[] = { 10, 20, 30 };
  float sum[3] = { 0 };
  struct one_f32_1d *a = one_new_f32_1d(ctx, xs, 3), *b = one_new_f32_1d(ctx, ys, 3),
                    *c = NULL;
  check_ok(ctx, one_entry_add(ctx, &c, a, b), "add");
  check(one_shape_f32_1d(ctx, c)[0] == 3, "shape of a result");
  check_ok(ctx, one_values_f32_1d(ctx, c, sum), "values");
  check_ok(ctx, one_context_sync(ctx), "sync");
  check(sum[0] == 11 && sum[1] == 22 && sum[2] == 33, "add");
  float second = 0;
  check_ok(ctx, one_index_f32_1d(ctx, &second, c, 1), "index");
  check(second == 22, "index");
  one_free_f32_1d(ctx, a);
  one_free_f32_1d(ctx, b);
  one_free_f32_1d(ctx, c);
}

// f16 is its 16 bits.
static void halves(struct one_context *ctx) {
  const uint16_t xs[] = { 0x3c00, 0x4200, 0xc500 };  // 1, 3, -5
  uint16_t sum = 0, half[3] = { 0 };
  struct one_f16_1d *a = one_new_f16_1d(ctx, xs, 3), *b = NULL;
  struct one_opaque_tup2_arr1d_f16_f16 *both = NULL;
  check_ok(ctx, one_entry_halved(ctx, &both, a, 0x4000), "halved");
  check_ok(ctx, one_project_opaque_tup2_arr1d_f16_f16_0(ctx, &b, both), "halves");
  check_ok(ctx, one_project_opaque_tup2_arr1d_f16_f16_1(ctx, &sum, both), "their sum");
  check_ok(ctx, one_values_f16_1d(ctx, b, half), "values of halves");
  check(half[0] == 0x3800 && half[1] == 0x3e00 && half[2] == 0xc100, "halved");
  check(sum == 0xbc00, "sum of f16");
  one_free_f16_1d(ctx, a);
  one_free_f16_1d(ctx, b);
  one_free_opaque_tup2_arr1d_f16_f16(ctx, both);
}

static void matrices(struct one_context *ctx) {
  const int32_t in[2][3] = { { 1, 2, 3 }, { 4, 5, 6 } };
  int32_t out[3][2] = { { 0 } };
  struct one_i32_2d *a = one_new_i32_2d(ctx, &in[0][0], 2, 3), *b = NULL;
  check_ok(ctx, one_entry_transposed(ctx, &b, a), "transposed");
  const int64_t *shape = one_shape_i32_2d(ctx, b);
  check(shape[0] == 3 && shape[1] == 2, "shape of a matrix");
  check_ok(ctx, one_values_i32_2d(ctx, b, &out[0][0]), "values of a matrix");
  check(out[0][1] == 4 && out[2][0] == 3, "transposed");
  one_free_i32_2d(ctx, a);
  one_free_i32_2d(ctx, b);
}

static void empty_arrays(struct one_context *ctx) {
  struct one_f32_1d *a = one_new_f32_1d(ctx, NULL, 0), *c = NULL;
  float none;
  check_ok(ctx, one_entry_add(ctx, &c, a, a), "add of nothing");
  check(one_shape_f32_1d(ctx, c)[0] == 0, "shape of nothing");
  check_ok(ctx, one_values_f32_1d(ctx, c, &none), "values of nothing");
  one_free_f32_1d(ctx, a);
  one_free_f32_1d(ctx, c);
}

static void bools(struct one_context *ctx) {
  const bool in[] = { true, false, true };
  bool out[3] = { true, true, true };
  struct one_bool_1d *a = one_new_bool_1d(ctx, in, 3), *b = NULL;
  check_ok(ctx, one_entry_flags(ctx, &b, a), "flags");
  check_ok(ctx, one_values_bool_1d(ctx, b, out), "values of bools");
  check(!out[0] && out[1] && !out[2], "flags");
  one_free_bool_1d(ctx, a);
  one_free_bool_1d(ctx, b);
}

static void tuples(struct one_context *ctx) {
  const int32_t in[] = { 1, 2, 3, 4 };
  int32_t sum = 0, prefix[4] = { 0 };
  struct one_i32_1d *a = one_new_i32_1d(ctx, in, 4), *scanned = NULL;
  struct one_opaque_tup2_i32_arr1d_i32 *both = NULL;
  check_ok(ctx, one_entry_sums(ctx, &both, a), "sums");
  check_ok(ctx, one_project_opaque_tup2_i32_arr1d_i32_0(ctx, &sum, both),
           "first component");
  check_ok(ctx, one_project_opaque_tup2_i32_arr1d_i32_1(ctx, &scanned, both),
           "second component");
  check_ok(ctx, one_free_opaque_tup2_i32_arr1d_i32(ctx, both), "free of a tuple");
  check_ok(ctx, one_values_i32_1d(ctx, scanned, prefix), "values of a component");
  check(sum == 10 && prefix[0] == 1 && prefix[3] == 10, "sums");
  one_free_i32_1d(ctx, a);
  one_free_i32_1d(ctx, scanned);
}

static void records(struct one_context *ctx) {
  struct one_opaque_point *p = NULL, *q = NULL, *r = NULL;
  float x = 0;
  int64_t y = 0;
  check_ok(ctx, one_new_opaque_point(ctx, &p, 1.5f, 41), "new record");
  check_ok(ctx, one_entry_move(ctx, &q, p, 2), "move");
  void *bytes = NULL;
  size_t size = 0;
  check_ok(ctx, one_store_opaque_point(ctx, q, &bytes, &size), "store");
  check(bytes && size > 0, "stored bytes");
  r = one_restore_opaque_point(ctx, bytes);
  check(r != NULL, "restore");
  free(bytes);
  check_ok(ctx, one_project_opaque_point_x(ctx, &x, r), "x");
  check_ok(ctx, one_project_opaque_point_y(ctx, &y, r), "y");
  check(x == 3.5f && y == 42, "fields");
  one_free_opaque_point(ctx, p);
  one_free_opaque_point(ctx, q);
  one_free_opaque_point(ctx, r);
}

// Boxes of these sides, and a circle.
static void new_figures(struct one_context *ctx, struct one_opaque_figure **out) {
  const float sides[] = { 2, 3, 4, 5 };
  for (int i = 0; i < 2; i++) {
    struct one_f32_1d *a = one_new_f32_1d(ctx, sides + 2 * i, 2);
    check_ok(ctx, one_new_opaque_figure_box(ctx, &out[i], a), "a box");
    one_free_f32_1d(ctx, a);
  }
  check_ok(ctx, one_new_opaque_figure_circle(ctx, &out[2], 1), "a circle");
  check_ok(ctx, one_new_opaque_figure_nothing(ctx, &out[3]), "nothing");
}

static void check_areas(struct one_context *ctx, struct one_opaque_arr2d_figure *all,
                        float a, float b, float c, float d) {
  struct one_f32_2d *areas = NULL;
  float read[4] = { 0 };
  check_ok(ctx, one_entry_areas(ctx, &areas, all), "areas");
  check_ok(ctx, one_values_f32_2d(ctx, areas, read), "values of areas");
  check(read[0] == a && read[1] == b && read[2] == c && read[3] == d, "areas");
  one_free_f32_2d(ctx, areas);
}

static void arrays_of_sums(struct one_context *ctx) {
  struct one_opaque_figure *each[4] = { NULL }, *first = NULL, *none = NULL;
  struct one_opaque_arr2d_figure *all = NULL, *again = NULL, *empty = NULL;
  new_figures(ctx, each);
  check_ok(ctx, one_new_opaque_arr2d_figure(ctx, &all, each, 2, 2), "an array of sums");
  check(one_shape_opaque_arr2d_figure(ctx, all)[1] == 2, "shape of sums");
  check_areas(ctx, all, 6, 20, 3, 0);
  check_ok(ctx, one_index_opaque_arr2d_figure(ctx, &first, all, 0, 0), "a sum");
  check(one_variant_opaque_figure(ctx, first) == 0, "a box is first");
  // What is set is seen by this array only.
  void *bytes = NULL;
  size_t size = 0;
  check_ok(ctx, one_store_opaque_arr2d_figure(ctx, all, &bytes, &size), "store sums");
  again = one_restore_opaque_arr2d_figure(ctx, bytes);
  free(bytes);
  check_ok(ctx, one_set_opaque_arr2d_figure(ctx, all, each[2], 0, 1), "set a circle");
  check_ok(ctx, one_set_opaque_arr2d_figure(ctx, all, first, 1, 1), "set a box");
  check_areas(ctx, all, 6, 3, 3, 6);
  check_areas(ctx, again, 6, 20, 3, 0);
  check_error(ctx, one_set_opaque_arr2d_figure(ctx, all, first, 2, 0), 2,
              "out of bounds");
  check_error(ctx, one_index_opaque_arr2d_figure(ctx, &none, all, 0, -1), 2,
              "out of bounds");
  check_error(ctx, one_new_opaque_arr2d_figure(ctx, &empty, NULL, 2, 2), 1,
              "elements are expected");
  check_error(ctx, one_new_opaque_arr2d_figure(ctx, &empty, each, -1, 2), 1,
              "dimension -1");
  check_ok(ctx, one_new_opaque_arr2d_figure(ctx, &empty, NULL, 0, 3), "no sums");
  check(one_shape_opaque_arr2d_figure(ctx, empty)[1] == 3, "shape of none");
  for (int i = 0; i < 4; i++)
    one_free_opaque_figure(ctx, each[i]);
  one_free_opaque_figure(ctx, first);
  one_free_opaque_arr2d_figure(ctx, all);
  one_free_opaque_arr2d_figure(ctx, again);
  one_free_opaque_arr2d_figure(ctx, empty);
}

// Arrays of records whose fields are records, rows and sums, made of arrays of them.
static void zipped_parts(struct one_context *ctx, struct one_opaque_parts **out) {
  const float xs[] = { 1, 2 }, sides[] = { 3, 4, 5, 6 };
  const int64_t ys[] = { 7, 8 };
  struct one_opaque_figure *each[4] = { NULL };
  struct one_opaque_arr1d_point *points = NULL;
  struct one_opaque_arr1d_figure *shapes = NULL;
  struct one_f32_1d *x = one_new_f32_1d(ctx, xs, 2);
  struct one_i64_1d *y = one_new_i64_1d(ctx, ys, 2);
  struct one_f32_2d *rows = one_new_f32_2d(ctx, sides, 2, 2);
  new_figures(ctx, each);
  check_ok(ctx, one_zip_opaque_arr1d_point(ctx, &points, x, y), "points");
  check_ok(ctx, one_new_opaque_arr1d_figure(ctx, &shapes, each + 1, 2), "shapes");
  check_ok(ctx, one_zip_opaque_parts(ctx, out, points, shapes, rows), "zip of parts");
  for (int i = 0; i < 4; i++)
    one_free_opaque_figure(ctx, each[i]);
  one_free_opaque_arr1d_point(ctx, points);
  one_free_opaque_arr1d_figure(ctx, shapes);
  one_free_f32_1d(ctx, x);
  one_free_i64_1d(ctx, y);
  one_free_f32_2d(ctx, rows);
}

static void arrays_of_parts(struct one_context *ctx) {
  struct one_opaque_parts *all = NULL, *made = NULL;
  struct one_opaque_tup2_part_parts *both = NULL;
  struct one_opaque_part *one = NULL, *two[2] = { NULL };
  struct one_f32_1d *sides = NULL;
  float read[2] = { 0 };
  zipped_parts(ctx, &all);
  check_ok(ctx, one_entry_kept(ctx, &both, all, 1), "kept");
  check_ok(ctx, one_project_opaque_tup2_part_parts_0(ctx, &one, both), "a part");
  check_ok(ctx, one_index_opaque_parts(ctx, &two[0], all, 0), "the first part");
  two[1] = one;
  check_ok(ctx, one_new_opaque_parts(ctx, &made, two, 2), "an array of parts");
  check_ok(ctx, one_set_opaque_parts(ctx, made, one, 0), "set a part");
  one_free_opaque_part(ctx, two[0]);
  check_ok(ctx, one_index_opaque_parts(ctx, &two[0], made, 0), "the first part again");
  check_ok(ctx, one_project_opaque_part_sides(ctx, &sides, two[0]), "its sides");
  check_ok(ctx, one_values_f32_1d(ctx, sides, read), "values of its sides");
  check(read[0] == 5 && read[1] == 6, "sides of a part");
  one_free_f32_1d(ctx, sides);
  one_free_opaque_part(ctx, one);
  one_free_opaque_part(ctx, two[0]);
  one_free_opaque_tup2_part_parts(ctx, both);
  one_free_opaque_parts(ctx, all);
  one_free_opaque_parts(ctx, made);
}

static void arrays_of_nothing(struct one_context *ctx) {
  struct one_opaque_ticks *ticks = NULL;
  int64_t count = 0;
  check_ok(ctx, one_entry_ticked(ctx, &ticks, 5), "ticked");
  check_ok(ctx, one_entry_ticks_of(ctx, &count, ticks), "ticks_of");
  check(count == 5, "the length of an array of nothing");
  one_free_opaque_ticks(ctx, ticks);
}

static void arrays_of_records(struct one_context *ctx) {
  const float xs[] = { 1, 2, 3 };
  const int64_t ys[] = { 4, 5, 6 };
  float read[3] = { 0 }, x = 0;
  int64_t y = 0;
  struct one_f32_1d *x3 = one_new_f32_1d(ctx, xs, 3), *x2 = one_new_f32_1d(ctx, xs, 2),
                    *back = NULL;
  struct one_i64_1d *y3 = one_new_i64_1d(ctx, ys, 3);
  struct one_opaque_arr1d_point *all = NULL, *none = NULL;
  struct one_opaque_point *last = NULL;
  check_ok(ctx, one_zip_opaque_arr1d_point(ctx, &all, x3, y3), "zip");
  check_error(ctx, one_zip_opaque_arr1d_point(ctx, &none, x2, y3), 2, "differ in size");
  check(!none, "no array");
  check(one_shape_opaque_arr1d_point(ctx, all)[0] == 3, "shape");
  check_error(ctx, one_index_opaque_arr1d_point(ctx, &last, all, 3), 2, "out of bounds");
  check_ok(ctx, one_index_opaque_arr1d_point(ctx, &last, all, 2), "index");
  check_ok(ctx, one_project_opaque_point_x(ctx, &x, last), "x");
  check_ok(ctx, one_project_opaque_point_y(ctx, &y, last), "y");
  check_ok(ctx, one_project_opaque_arr1d_point_x(ctx, &back, all), "xs");
  check_ok(ctx, one_values_f32_1d(ctx, back, read), "values of xs");
  check(x == 3 && y == 6 && read[1] == 2, "elements");
  one_free_f32_1d(ctx, x3);
  one_free_f32_1d(ctx, x2);
  one_free_f32_1d(ctx, back);
  one_free_i64_1d(ctx, y3);
  one_free_opaque_arr1d_point(ctx, all);
  one_free_opaque_point(ctx, last);
}

static void figures(struct one_context *ctx) {
  const float sides[] = { 2, 3 };
  float area[3] = { -1, -1, -1 }, r = 0, read[2] = { 0 };
  struct one_f32_1d *two = one_new_f32_1d(ctx, sides, 2), *same = NULL;
  struct one_opaque_figure *circle = NULL, *box = NULL, *nothing = NULL, *more = NULL;
  check_ok(ctx, one_new_opaque_figure_circle(ctx, &circle, 1), "a circle");
  check_ok(ctx, one_new_opaque_figure_box(ctx, &box, two), "a box");
  check_ok(ctx, one_new_opaque_figure_nothing(ctx, &nothing), "nothing");
  check_ok(ctx, one_entry_grown(ctx, &more, circle, 1), "grown");
  check_ok(ctx, one_entry_area(ctx, &area[0], more), "area of a circle");
  check_ok(ctx, one_entry_area(ctx, &area[1], box), "area of a box");
  check_ok(ctx, one_entry_area(ctx, &area[2], nothing), "area of nothing");
  check(area[0] == 12 && area[1] == 6 && area[2] == 0, "areas");
  check(one_variant_opaque_figure(ctx, box) == 0, "the first name");
  check(one_variant_opaque_figure(ctx, nothing) == 2, "the last name");
  check(one_variant_opaque_figure(ctx, NULL) == -1, "no value");
  check_error(ctx, one_destruct_opaque_figure_circle(ctx, &r, box), 1,
              "the value is #box, not #circle");
  check_ok(ctx, one_destruct_opaque_figure_circle(ctx, &r, more), "its radius");
  check_ok(ctx, one_destruct_opaque_figure_box(ctx, &same, box), "its sides");
  check_ok(ctx, one_destruct_opaque_figure_nothing(ctx, nothing), "no parts");
  check_ok(ctx, one_values_f32_1d(ctx, same, read), "values of a part");
  check(r == 2 && read[0] == 2 && read[1] == 3, "parts");
  one_free_f32_1d(ctx, two);
  one_free_f32_1d(ctx, same);
  one_free_opaque_figure(ctx, circle);
  one_free_opaque_figure(ctx, box);
  one_free_opaque_figure(ctx, nothing);
  one_free_opaque_figure(ctx, more);
}

static void errors(struct one_context *ctx) {
  const int32_t in[] = { 1, 2, 3 };
  const int64_t wrong[] = { 0, 7, 2 };
  const float three[] = { 1, 2, 3 };
  int32_t x = 0;
  struct one_i32_1d *a = one_new_i32_1d(ctx, in, 3), *b = NULL;
  struct one_i64_1d *is = one_new_i64_1d(ctx, wrong, 3);
  struct one_f32_1d *f = one_new_f32_1d(ctx, three, 3),
                    *g = one_new_f32_1d(ctx, three, 2), *h = NULL;
  check_error(ctx, one_entry_at(ctx, &x, a, 3), 2, "Index [3] out of bounds");
  check_error(ctx, one_entry_at(ctx, &x, a, -1), 2, "Index [-1] out of bounds");
  check_error(ctx, one_entry_each_at(ctx, &b, a, is), 2, "Index [7] out of bounds");
  check_error(ctx, one_entry_add(ctx, &h, f, g), 2,
              "parameter ys: expected size n = 3 (from xs), found 2");
  check_error(ctx, one_entry_divide(ctx, &x, 1, 0), 2, "division by zero");
  check_ok(ctx, one_entry_at(ctx, &x, a, 2), "at, after errors");
  check(x == 3, "at, after errors");
  one_free_i32_1d(ctx, a);
  one_free_i64_1d(ctx, is);
  one_free_f32_1d(ctx, f);
  one_free_f32_1d(ctx, g);
}

// The consumed array cannot be used any more; its block is the result's.
static void consumption(struct one_context *ctx) {
  const int32_t in[] = { 1, 2, 3 };
  int32_t out[3] = { 0 };
  struct one_i32_1d *a = one_new_i32_1d(ctx, in, 3), *b = NULL, *c = NULL;
  check_ok(ctx, one_entry_put(ctx, &b, a, 1, 9), "put");
  check_ok(ctx, one_values_i32_1d(ctx, b, out), "values after put");
  check(out[0] == 1 && out[1] == 9 && out[2] == 3, "put");
  check_error(ctx, one_entry_put(ctx, &c, a, 1, 9), 1, "consumed");
  one_free_i32_1d(ctx, a);
  one_free_i32_1d(ctx, b);
}

// Arrays and values of another context, and NULL, are errors that leave everything as it
// was.
static void other_contexts(struct one_context *mine, struct one_context *other) {
  static const char foreign[] = "belongs to another context", null[] = "found NULL";
  const int32_t in[] = { 1, 2, 3 };
  int32_t x = 0, out[3] = { 0 };
  float fx = 0;
  void *bytes = NULL;
  size_t size = 0;
  struct one_i32_1d *a = one_new_i32_1d(other, in, 3), *b = NULL;
  struct one_opaque_point *p = NULL, *q = NULL;
  check_error(mine, one_entry_at(mine, &x, a, 0), 1,
              "parameter xs: the array belongs to");
  check_error(mine, one_entry_put(mine, &b, a, 0, 1), 1, foreign);
  check_error(mine, one_values_i32_1d(mine, a, out), 1, foreign);
  check_error(mine, one_index_i32_1d(mine, &x, a, 0), 1, foreign);
  check_error(mine, one_free_i32_1d(mine, a), 1, foreign);
  check_ok(other, one_entry_at(other, &x, a, 2), "at, in its own context");
  check(x == 3, "at, in its own context");
  check_error(mine, one_entry_at(mine, &x, NULL, 0), 1,
              "parameter xs: an array is expected, found NULL");
  check_error(mine, one_entry_put(mine, &b, NULL, 0, 1), 1, null);
  check_error(mine, one_values_i32_1d(mine, NULL, out), 1, null);
  check_error(mine, one_index_i32_1d(mine, &x, NULL, 0), 1, null);
  check_ok(mine, one_free_i32_1d(mine, NULL), "free of nothing");
  check_error(other, one_values_i32_1d(other, a, NULL), 1,
              "a place for elements is expected, found NULL");
  check_error(other, one_index_i32_1d(other, NULL, a, 0), 1, null);
  check(one_context_set_tuning_param(mine, NULL, 1) == 1, "a parameter NULL");
  check(one_context_set_path(mine, NULL) == 1, "a path NULL");
  check(!one_get_tuning_param_name(-1) && !one_get_tuning_param_class(1 << 20),
        "of no parameter");
  one_context_free(NULL);
  one_context_config_free(NULL);
  check(!one_shape_i32_1d(mine, NULL) && !one_values_raw_i32_1d(mine, NULL),
        "of nothing");
  check(!one_new_i32_1d(mine, NULL, 3), "an array of NULL");
  check_error(mine, 1, 1, null);
  check(!one_new_i32_1d(mine, in, -1), "an array of a negative size");
  check_error(mine, 1, 1, "dimension -1");
  cl_mem buffer = one_values_raw_i32_1d(other, a);
  check(!one_new_raw_i32_1d(mine, buffer, 3), "another context's buffer");
  check_error(mine, 1, 1, foreign);
  check(!one_new_raw_i32_1d(mine, NULL, 3), "a buffer of NULL");
  check_error(mine, 1, 1, null);
  check(!one_new_raw_i32_1d(other, buffer, 1 << 20), "a buffer that is too small");
  check_error(other, 1, 1, "the array needs 4194304");
  check_ok(other, one_new_opaque_point(other, &p, 1, 2), "a record");
  check_error(mine, one_entry_move(mine, &q, p, 2), 1,
              "parameter p: the value belongs to another context");
  check_error(mine, one_entry_move(mine, &q, NULL, 2), 1, null);
  check_error(mine, one_project_opaque_point_x(mine, &fx, p), 1, foreign);
  check_error(mine, one_project_opaque_point_x(mine, &fx, NULL), 1, null);
  check_error(mine, one_store_opaque_point(mine, p, &bytes, &size), 1, foreign);
  check_error(mine, one_store_opaque_point(mine, NULL, &bytes, &size), 1, null);
  check_error(mine, one_free_opaque_point(mine, p), 1, foreign);
  check(!one_restore_opaque_point(mine, NULL), "restore of NULL");
  check_error(mine, 1, 1, null);
  check_ok(other, one_free_opaque_point(other, p), "free of a record");
  check_ok(other, one_free_i32_1d(other, a), "free");
}

// Who holds a buffer keeps its contents when the array that had it is gone.
static void held_buffers(struct one_context *ctx) {
  const int32_t in[] = { 1, 2, 3 }, others[] = { 7, 8, 9 };
  int32_t out[3] = { 0 };
  struct one_i32_1d *a = one_new_i32_1d(ctx, in, 3);
  struct one_i32_1d *view = one_new_raw_i32_1d(ctx, one_values_raw_i32_1d(ctx, a), 3);
  one_free_i32_1d(ctx, a);
  struct one_i32_1d *b = one_new_i32_1d(ctx, others, 3);
  check_ok(ctx, one_values_i32_1d(ctx, view, out), "values of a buffer");
  check(out[0] == 1 && out[1] == 2 && out[2] == 3, "a buffer that is held");
  one_free_i32_1d(ctx, view);
  one_free_i32_1d(ctx, b);
}

// Another library with another prefix, and a second context of the first.
static void side_by_side(void) {
  const float xs[] = { 5 }, ys[] = { 2 };
  float difference = 0;
  struct two_context_config *cfg = two_context_config_new();
  struct two_context *ctx = two_context_new(cfg);
  struct two_f32_1d *a = two_new_f32_1d(ctx, xs, 1), *b = two_new_f32_1d(ctx, ys, 1),
                    *c = NULL;
  check(!two_entry_add(ctx, &c, a, b) && !two_values_f32_1d(ctx, c, &difference) &&
            !two_context_sync(ctx),
        "the other library");
  check(difference == 3, "the other library's add");
  struct two_opaque_tup0 *nothing = NULL;
  int32_t more = 0;
  check(!two_entry_nothing(ctx, &nothing) && !two_free_opaque_tup0(ctx, nothing) &&
            !two_new_opaque_tup0(ctx, &nothing) &&
            !two_entry_one_more(ctx, &more, nothing, 41) && more == 42,
        "() as result and as parameter");
  two_free_opaque_tup0(ctx, nothing);
  two_free_f32_1d(ctx, a);
  two_free_f32_1d(ctx, b);
  two_free_f32_1d(ctx, c);
  two_context_free(ctx);
  two_context_config_free(cfg);
}

static void all(struct one_context *ctx) {
  arrays(ctx);
  halves(ctx);
  matrices(ctx);
  empty_arrays(ctx);
  bools(ctx);
  tuples(ctx);
  records(ctx);
  figures(ctx);
  arrays_of_records(ctx);
  arrays_of_sums(ctx);
  arrays_of_parts(ctx);
  arrays_of_nothing(ctx);
  errors(ctx);
  consumption(ctx);
}

// Each thread has a context of its own.
static void *thread(void *cfg) {
  struct one_context *ctx = one_context_new((struct one_context_config *)cfg);
  for (int i = 0; i < 10; i++)
    all(ctx);
  one_context_free(ctx);
  return NULL;
}

static void two_threads(struct one_context_config *cfg) {
  pthread_t threads[2];
  for (int i = 0; i < 2; i++)
    check(pthread_create(&threads[i], NULL, thread, cfg) == 0, "a thread");
  for (int i = 0; i < 2; i++)
    pthread_join(threads[i], NULL);
}

// Without errors, whose texts go to whoever asks first.
static void *sharing(void *ctx) {
  for (int i = 0; i < 50; i++) {
    arrays((struct one_context *)ctx);
    matrices((struct one_context *)ctx);
    tuples((struct one_context *)ctx);
  }
  return NULL;
}

// The context lets one in after the other.
static void threads_share(struct one_context *ctx) {
  pthread_t threads[4];
  for (int i = 0; i < 4; i++)
    check(pthread_create(&threads[i], NULL, sharing, ctx) == 0, "a thread that shares");
  for (int i = 0; i < 4; i++)
    pthread_join(threads[i], NULL);
}

static void *opens(void *cfg) {
  struct one_context *ctx = one_context_new((struct one_context_config *)cfg);
  char *text = one_context_get_error(ctx);
  check(!text, text ? text : "");
  free(text);
  one_context_free(ctx);
  return NULL;
}

static void *opens_other(void *cfg) {
  struct two_context *ctx = two_context_new((struct two_context_config *)cfg);
  char *text = two_context_get_error(ctx);
  check(!text, text ? text : "");
  free(text);
  two_context_free(ctx);
  return NULL;
}

// The first contexts of the process, of both libraries, while the driver starts.
static void opened_at_once(struct one_context_config *cfg) {
  pthread_t threads[8];
  struct two_context_config *other = two_context_config_new();
  for (int i = 0; i < 8; i += 2) {
    check(pthread_create(&threads[i], NULL, opens, cfg) == 0, "a thread");
    check(pthread_create(&threads[i + 1], NULL, opens_other, other) == 0, "a thread");
  }
  for (int i = 0; i < 8; i++)
    pthread_join(threads[i], NULL);
  two_context_config_free(other);
}

int main(void) {
  struct one_context_config *cfg = one_context_config_new();
  opened_at_once(cfg);
  struct one_context *first = one_context_new(cfg), *second = one_context_new(cfg);
  char *text = one_context_get_error(first);
  check(!text, text ? text : "");
  free(text);
  all(first);
  all(second);
  side_by_side();
  other_contexts(first, second);
  held_buffers(first);
  arrays(first);
  one_context_free(second);
  arrays(first);
  threads_share(first);
  one_context_free(first);
  two_threads(cfg);
  one_context_config_free(cfg);
  return failures != 0;
}
