// With --prefix futhark, names and types are those of Futhark's library for OpenCL: what differs does
// not compile.  tests/lib/run.sh builds one.fl for it.
#include "futhark_one.h"
#include <stdlib.h>
#include <string.h>

#ifndef FUTHARK_BACKEND_opencl
#  error "the backend is not named"
#endif

typedef struct futhark_context_config Config;
typedef struct futhark_context Context;

#define HAS(result, function, parameters)     \
  do {                                        \
    result(*same_type) parameters = function; \
    if (!same_type) failures++;               \
  } while (0)

static int failures;

static void configuration(void) {
  HAS(Config *, futhark_context_config_new, (void));
  HAS(void, futhark_context_config_free, (Config *));
  HAS(void, futhark_context_config_set_debugging, (Config *, int));
  HAS(void, futhark_context_config_set_profiling, (Config *, int));
  HAS(void, futhark_context_config_set_logging, (Config *, int));
  HAS(int, futhark_context_config_set_tuning_param, (Config *, const char *, size_t));
  HAS(void, futhark_context_config_set_cache_file, (Config *, const char *));
  HAS(void, futhark_context_config_set_device, (Config *, const char *));
  HAS(void, futhark_context_config_set_platform, (Config *, const char *));
  HAS(void, futhark_context_config_set_command_queue, (Config *, cl_command_queue));
  HAS(void, futhark_context_config_add_build_option, (Config *, const char *));
  HAS(void, futhark_context_config_set_default_thread_block_size, (Config *, int));
  HAS(void, futhark_context_config_set_default_group_size, (Config *, int));
  HAS(void, futhark_context_config_set_default_grid_size, (Config *, int));
  HAS(void, futhark_context_config_set_default_num_groups, (Config *, int));
  HAS(void, futhark_context_config_set_default_tile_size, (Config *, int));
  HAS(void, futhark_context_config_set_default_reg_tile_size, (Config *, int));
  HAS(void, futhark_context_config_set_default_threshold, (Config *, int));
  HAS(const char *, futhark_context_config_get_program, (Config *));
  HAS(void, futhark_context_config_set_program, (Config *, const char *));
  HAS(void, futhark_context_config_dump_program_to, (Config *, const char *));
  HAS(void, futhark_context_config_load_program_from, (Config *, const char *));
  HAS(void, futhark_context_config_dump_binary_to, (Config *, const char *));
  HAS(void, futhark_context_config_load_binary_from, (Config *, const char *));
  HAS(int, futhark_get_tuning_param_count, (void));
  HAS(const char *, futhark_get_tuning_param_name, (int));
  HAS(const char *, futhark_get_tuning_param_class, (int));
}

static void contexts(void) {
  HAS(Context *, futhark_context_new, (Config *));
  HAS(void, futhark_context_free, (Context *));
  HAS(int, futhark_context_sync, (Context *));
  HAS(char *, futhark_context_get_error, (Context *));
  HAS(int, futhark_context_clear_caches, (Context *));
  HAS(char *, futhark_context_report, (Context *));
  HAS(void, futhark_context_pause_profiling, (Context *));
  HAS(void, futhark_context_unpause_profiling, (Context *));
  HAS(void, futhark_context_set_logging_file, (Context *, FILE *));
  HAS(cl_command_queue, futhark_context_get_command_queue, (Context *));
}

typedef struct futhark_f32_1d Floats;
typedef struct futhark_i32_2d Matrix;
typedef struct futhark_opaque_point Point;
typedef struct futhark_opaque_figure Figure;
typedef struct futhark_opaque_arr1d_point Points;
typedef struct futhark_opaque_tup2_i32_arr1d_i32 Pair;

static void values(void) {
  HAS(Floats *, futhark_new_f32_1d, (Context *, const float *, int64_t));
  HAS(Floats *, futhark_new_raw_f32_1d, (Context *, cl_mem, int64_t));
  HAS(int, futhark_free_f32_1d, (Context *, Floats *));
  HAS(int, futhark_values_f32_1d, (Context *, Floats *, float *));
  HAS(cl_mem, futhark_values_raw_f32_1d, (Context *, Floats *));
  HAS(int, futhark_index_f32_1d, (Context *, float *, Floats *, int64_t));
  HAS(const int64_t *, futhark_shape_f32_1d, (Context *, Floats *));
  HAS(Matrix *, futhark_new_i32_2d, (Context *, const int32_t *, int64_t, int64_t));
  HAS(int, futhark_index_i32_2d, (Context *, int32_t *, Matrix *, int64_t, int64_t));
  HAS(struct futhark_bool_1d *, futhark_new_bool_1d, (Context *, const bool *, int64_t));
}

static void opaque_values(void) {
  HAS(int, futhark_free_opaque_point, (Context *, Point *));
  HAS(int, futhark_store_opaque_point, (Context *, const Point *, void **, size_t *));
  HAS(Point *, futhark_restore_opaque_point, (Context *, const void *));
  HAS(int, futhark_new_opaque_point, (Context *, Point **, float, int64_t));
  HAS(int, futhark_project_opaque_point_x, (Context *, float *, const Point *));
  HAS(int, futhark_project_opaque_point_y, (Context *, int64_t *, const Point *));
  HAS(int, futhark_new_opaque_tup2_i32_arr1d_i32,
      (Context *, Pair **, int32_t, const struct futhark_i32_1d *));
  HAS(int, futhark_project_opaque_tup2_i32_arr1d_i32_1,
      (Context *, struct futhark_i32_1d **, const Pair *));
}

static void arrays_of_records(void) {
  HAS(int, futhark_zip_opaque_arr1d_point,
      (Context *, Points **, const Floats *, const struct futhark_i64_1d *));
  HAS(int, futhark_project_opaque_arr1d_point_x, (Context *, Floats **, const Points *));
  HAS(int, futhark_index_opaque_arr1d_point,
      (Context *, Point **, const Points *, int64_t));
  HAS(const int64_t *, futhark_shape_opaque_arr1d_point, (Context *, const Points *));
  HAS(int, futhark_new_opaque_arr1d_point, (Context *, Points **, Point **, int64_t));
  HAS(int, futhark_set_opaque_arr1d_point, (Context *, Points *, const Point *, int64_t));
}

static void sums(void) {
  HAS(int, futhark_variant_opaque_figure, (Context *, const Figure *));
  HAS(int, futhark_new_opaque_figure_circle, (Context *, Figure **, float));
  HAS(int, futhark_new_opaque_figure_box, (Context *, Figure **, const Floats *));
  HAS(int, futhark_destruct_opaque_figure_box, (Context *, Floats **, const Figure *));
  HAS(int, futhark_destruct_opaque_figure_nothing, (Context *, const Figure *));
}

static void entry_points(void) {
  HAS(int, futhark_entry_add, (Context *, Floats **, const Floats *, const Floats *));
  HAS(int, futhark_entry_move, (Context *, Point **, const Point *, float));
  HAS(int, futhark_entry_sums, (Context *, Pair **, const struct futhark_i32_1d *));
  HAS(int, futhark_entry_far,
      (Context *, struct futhark_opaque_arr1d_point **,
       const struct futhark_opaque_arr1d_point *,
       const struct futhark_opaque_rec2_by_f32_from_point *));
}

int main(void) {
  configuration();
  contexts();
  values();
  opaque_values();
  arrays_of_records();
  sums();
  entry_points();
  return failures != 0;
}
