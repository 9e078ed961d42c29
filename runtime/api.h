// Begin api.h: the part of the public C API that does not depend on the program.  flc writes it
// into headers with the prefix in place of RT_NAME.
#ifndef CL_TARGET_OPENCL_VERSION
#  define CL_TARGET_OPENCL_VERSION 120
#endif
#include <CL/cl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#ifdef __cplusplus
extern "C" {
#endif

struct RT_NAME(context_config);
struct RT_NAME(context);

// Configuration: made first, and freed by the caller after the context.
struct RT_NAME(context_config) * RT_NAME(context_config_new)(void);
void RT_NAME(context_config_free)(struct RT_NAME(context_config) * cfg);
void RT_NAME(context_config_set_debugging)(struct RT_NAME(context_config) * cfg,
                                           int flag);
void RT_NAME(context_config_set_profiling)(struct RT_NAME(context_config) * cfg,
                                           int flag);
void RT_NAME(context_config_set_logging)(struct RT_NAME(context_config) * cfg, int flag);
// 0, or 1 if there is no such parameter or the value makes no sense for it.
int RT_NAME(context_config_set_tuning_param)(struct RT_NAME(context_config) * cfg,
                                             const char *name, size_t value);
// A file of `name=integer` lines: 0, or 1 if it cannot be read.  Unknown names are ignored.
int RT_NAME(context_config_set_tuning_file)(struct RT_NAME(context_config) * cfg,
                                            const char *file);
// Forced versions, "main.top_0=T,main.intra_1=F": 0, or 1 if a guard does not exist.
int RT_NAME(context_config_set_path)(struct RT_NAME(context_config) * cfg,
                                     const char *path);
// Compiled kernels are kept in this file or (an existing one) folder; "" or NULL turns the cache
// off.
void RT_NAME(context_config_set_cache_file)(struct RT_NAME(context_config) * cfg,
                                            const char *file);
// A part of the name; "#k" selects the k-th of those that match (from 0).
void RT_NAME(context_config_set_device)(struct RT_NAME(context_config) * cfg,
                                        const char *name);
void RT_NAME(context_config_set_platform)(struct RT_NAME(context_config) * cfg,
                                          const char *name);
// "opencl" or "cuda": the way to devices, in place of the first that has one.  0, or 1 for other
// words.
int RT_NAME(context_config_set_backend)(struct RT_NAME(context_config) * cfg,
                                        const char *name);
// "cpu" or "gpu": the code to run, whatever the type of the device.  0, or 1 for other words.
int RT_NAME(context_config_set_code)(struct RT_NAME(context_config) * cfg,
                                     const char *code);
// With the backend cuda a CUstream, converted to this type.
void RT_NAME(context_config_set_command_queue)(struct RT_NAME(context_config) * cfg,
                                               cl_command_queue queue);
void RT_NAME(context_config_set_exact_floats)(struct RT_NAME(context_config) * cfg,
                                              int flag);
// Launches of little work run in the thread that asks, if PoCL is first used by this context: then
// it shows everybody in the process a second device, which does so.
void RT_NAME(context_config_set_near)(struct RT_NAME(context_config) * cfg, int flag);
void RT_NAME(context_config_add_build_option)(struct RT_NAME(context_config) * cfg,
                                              const char *option);
void RT_NAME(context_config_set_default_thread_block_size)(
    struct RT_NAME(context_config) * cfg, int size);
void RT_NAME(context_config_set_default_group_size)(struct RT_NAME(context_config) * cfg,
                                                    int size);
void RT_NAME(context_config_set_default_grid_size)(struct RT_NAME(context_config) * cfg,
                                                   int count);
void RT_NAME(context_config_set_default_num_groups)(struct RT_NAME(context_config) * cfg,
                                                    int count);
void RT_NAME(context_config_set_default_tile_size)(struct RT_NAME(context_config) * cfg,
                                                   int size);
void RT_NAME(context_config_set_default_reg_tile_size)(struct RT_NAME(context_config) *
                                                           cfg,
                                                       int size);
void RT_NAME(context_config_set_default_threshold)(struct RT_NAME(context_config) * cfg,
                                                   int value);
// The OpenCL C of all kernels, one text; and another text in its place.
const char *RT_NAME(context_config_get_program)(struct RT_NAME(context_config) * cfg);
void RT_NAME(context_config_set_program)(struct RT_NAME(context_config) * cfg,
                                         const char *text);
void RT_NAME(context_config_dump_program_to)(struct RT_NAME(context_config) * cfg,
                                             const char *file);
void RT_NAME(context_config_load_program_from)(struct RT_NAME(context_config) * cfg,
                                               const char *file);
void RT_NAME(context_config_dump_binary_to)(struct RT_NAME(context_config) * cfg,
                                            const char *file);
void RT_NAME(context_config_load_binary_from)(struct RT_NAME(context_config) * cfg,
                                              const char *file);
void RT_NAME(context_config_list_devices)(struct RT_NAME(context_config) * cfg);

// Never NULL but without memory; if context_get_error has a text then it cannot be used.
struct RT_NAME(context) * RT_NAME(context_new)(struct RT_NAME(context_config) * cfg);
struct RT_NAME(context) *
    RT_NAME(context_new_with_command_queue)(struct RT_NAME(context_config) * cfg,
                                            cl_command_queue queue);
void RT_NAME(context_free)(struct RT_NAME(context) * ctx);
// "opencl" or "cuda"; "" if the context cannot be used.
const char *RT_NAME(context_get_backend)(struct RT_NAME(context) * ctx);
// With the backend cuda it is the CUstream, and a cl_mem the address (CUdeviceptr).
cl_command_queue RT_NAME(context_get_command_queue)(struct RT_NAME(context) * ctx);
// Waits for the device; reports failed checks.
int RT_NAME(context_sync)(struct RT_NAME(context) * ctx);
// The text of the last error, or NULL; the caller frees it, and it is gone then.
char *RT_NAME(context_get_error)(struct RT_NAME(context) * ctx);
void RT_NAME(context_set_logging_file)(struct RT_NAME(context) * ctx, FILE *file);
int RT_NAME(context_clear_caches)(struct RT_NAME(context) * ctx);
// JSON; the caller frees it.
char *RT_NAME(context_report)(struct RT_NAME(context) * ctx);
void RT_NAME(context_pause_profiling)(struct RT_NAME(context) * ctx);
void RT_NAME(context_unpause_profiling)(struct RT_NAME(context) * ctx);

int RT_NAME(get_tuning_param_count)(void);
const char *RT_NAME(get_tuning_param_name)(int i);
const char *RT_NAME(get_tuning_param_class)(int i);
// Also after creation: 0, or 1 if there is no such parameter or the value makes no sense
// for it.
int RT_NAME(context_set_tuning_param)(struct RT_NAME(context) * ctx, const char *name,
                                      size_t value);
// 0, or 1 if a guard does not exist; "" forces nothing any more.
int RT_NAME(context_set_path)(struct RT_NAME(context) * ctx, const char *path);

#ifdef __cplusplus
}
#endif
// End api.h
