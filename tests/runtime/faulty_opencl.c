// Stands between a program and OpenCL: linked into the program or, as a shared library, loaded before it
// (LD_PRELOAD).  Then the plan comes from the environment: FAULTY_AT, FAULTY_STATUS, FAULTY_LOST,
// FAULTY_BUILDS (so many of the first builds fail), and the account goes to the file FAULTY_REPORT at the end: `CALLS HAPPENED ALIVE MISUSES`.
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#define CL_TARGET_OPENCL_VERSION 120
#define CL_USE_DEPRECATED_OPENCL_1_2_APIS
#include "faulty_opencl.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

typedef struct Object {
  const void *handle;
  int references;
} Object;

enum { MAX_OBJECTS = 1 << 16 };

// All of it is guarded by `lock`: programs may have several threads.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Object objects[MAX_OBJECTS];
static int object_count, misuses;
static long calls, fail_at, builds_to_fail;
static cl_int fail_status;
static bool fail_lost, happened;

void faulty_plan(long at, cl_int status, bool lost) {
  calls = 0;
  happened = false;
  fail_at = at;
  fail_status = status;
  fail_lost = lost;
}

const char *faulty_backend(void) { return "opencl"; }

cl_command_queue faulty_queue_new(void) {
  cl_platform_id platform = NULL;
  cl_device_id device = NULL;
  if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
      clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) != CL_SUCCESS)
    return NULL;
  cl_context context = clCreateContext(NULL, 1, &device, NULL, NULL, &(cl_int){ 0 });
  cl_command_queue queue = clCreateCommandQueue(context, device, 0, &(cl_int){ 0 });
  clReleaseContext(context);  // the queue holds it
  return queue;
}

void faulty_queue_free(cl_command_queue queue) { clReleaseCommandQueue(queue); }

long faulty_calls(void) { return calls; }
bool faulty_happened(void) { return happened; }
int faulty_misuses(void) { return misuses; }

int faulty_alive(void) {
  int alive = 0;
  pthread_mutex_lock(&lock);
  for (int i = 0; i < object_count; i++)
    alive += objects[i].references;
  pthread_mutex_unlock(&lock);
  return alive;
}

// Is this the call that fails?
static bool fails(void) {
  pthread_mutex_lock(&lock);
  calls++;
  bool now = fail_at > 0 && (calls == fail_at || (fail_lost && calls > fail_at));
  happened = happened || now;
  pthread_mutex_unlock(&lock);
  return now;
}

static void hold(const void *handle) {
  if (!handle) return;
  pthread_mutex_lock(&lock);
  int i = 0;
  while (i < object_count && objects[i].handle != handle)
    i++;
  if (i == object_count && i < MAX_OBJECTS)
    objects[object_count++] = (Object){ handle, 0 };
  if (i < MAX_OBJECTS) objects[i].references++;
  pthread_mutex_unlock(&lock);
}

// False if nobody held it: then the real call would be a mistake, too.
static bool drop(const void *handle) {
  pthread_mutex_lock(&lock);
  int i = 0;
  while (i < object_count && objects[i].handle != handle)
    i++;
  bool held = i < object_count;
  misuses += !held;
  if (held && --objects[i].references == 0) objects[i] = objects[--object_count];
  pthread_mutex_unlock(&lock);
  return held;
}

static void *real(const char *name) {
  // A program whose calls all end here does not need the library otherwise.
  static void *library;
  if (!library) library = dlopen("libOpenCL.so.1", RTLD_NOW);
  void *function = library ? dlsym(library, name) : NULL;
  if (function) return function;
  fprintf(stderr, "there is no %s\n", name);
  abort();
}

// Calls that return a status.
#define STATUS(name, params, args)              \
  cl_int CL_API_CALL name params {              \
    static cl_int(CL_API_CALL *next) params;    \
    if (!next) *(void **)(&next) = real(#name); \
    return fails() ? fail_status : next args;   \
  }

// Calls that return an object, their status through the last parameter.
#define CREATE(type, name, params, args)        \
  type CL_API_CALL name params {                \
    static type(CL_API_CALL *next) params;      \
    if (!next) *(void **)(&next) = real(#name); \
    if (fails()) {                              \
      *status = fail_status;                    \
      return NULL;                              \
    }                                           \
    type made = next args;                      \
    hold(made);                                 \
    return made;                                \
  }

#define RETAIN(name, type)                      \
  cl_int CL_API_CALL name(type object) {        \
    static cl_int(CL_API_CALL *next)(type);     \
    if (!next) *(void **)(&next) = real(#name); \
    if (fails()) return fail_status;            \
    hold(object);                               \
    return next(object);                        \
  }

#define RELEASE(name, type)                                \
  cl_int CL_API_CALL name(type object) {                   \
    static cl_int(CL_API_CALL *next)(type);                \
    if (!next) *(void **)(&next) = real(#name);            \
    return drop(object) ? next(object) : CL_INVALID_VALUE; \
  }

STATUS(clGetPlatformIDs, (cl_uint room, cl_platform_id *out, cl_uint *count),
       (room, out, count))
STATUS(clGetPlatformInfo,
       (cl_platform_id id, cl_platform_info what, size_t size, void *out, size_t *needed),
       (id, what, size, out, needed))
STATUS(clGetDeviceIDs,
       (cl_platform_id id, cl_device_type type, cl_uint room, cl_device_id *out,
        cl_uint *count),
       (id, type, room, out, count))
STATUS(clGetDeviceInfo,
       (cl_device_id id, cl_device_info what, size_t size, void *out, size_t *needed),
       (id, what, size, out, needed))
STATUS(clGetCommandQueueInfo,
       (cl_command_queue queue, cl_command_queue_info what, size_t size, void *out,
        size_t *needed),
       (queue, what, size, out, needed))
STATUS(clGetMemObjectInfo,
       (cl_mem buffer, cl_mem_info what, size_t size, void *out, size_t *needed),
       (buffer, what, size, out, needed))
STATUS(clSetMemObjectDestructorCallback,
       (cl_mem buffer, void(CL_CALLBACK *done)(cl_mem, void *), void *state),
       (buffer, done, state))
STATUS(clGetEventProfilingInfo,
       (cl_event event, cl_profiling_info what, size_t size, void *out, size_t *needed),
       (event, what, size, out, needed))
STATUS(clGetProgramInfo,
       (cl_program program, cl_program_info what, size_t size, void *out, size_t *needed),
       (program, what, size, out, needed))
STATUS(clGetProgramBuildInfo,
       (cl_program program, cl_device_id id, cl_program_build_info what, size_t size,
        void *out, size_t *needed),
       (program, id, what, size, out, needed))
STATUS(clSetKernelArg, (cl_kernel kernel, cl_uint i, size_t size, const void *value),
       (kernel, i, size, value))
STATUS(clFinish, (cl_command_queue queue), (queue))

cl_int CL_API_CALL clBuildProgram(cl_program program, cl_uint count,
                                  const cl_device_id *ids, const char *options,
                                  void(CL_CALLBACK *done)(cl_program, void *),
                                  void *state) {
  static cl_int(CL_API_CALL * next)(cl_program, cl_uint, const cl_device_id *,
                                    const char *, void(CL_CALLBACK *)(cl_program, void *),
                                    void *);
  if (!next) *(void **)(&next) = real("clBuildProgram");
  if (fails()) return fail_status;
  if (builds_to_fail > 0 && builds_to_fail--) return CL_BUILD_PROGRAM_FAILURE;
  return next(program, count, ids, options, done, state);
}

// Commands may return an event.
#define ENQUEUE(name, params, args)                  \
  cl_int CL_API_CALL name params {                   \
    static cl_int(CL_API_CALL *next) params;         \
    if (!next) *(void **)(&next) = real(#name);      \
    if (fails()) return fail_status;                 \
    cl_int status = next args;                       \
    if (status == CL_SUCCESS && event) hold(*event); \
    return status;                                   \
  }
ENQUEUE(clEnqueueNDRangeKernel,
        (cl_command_queue queue, cl_kernel kernel, cl_uint dims, const size_t *offset,
         const size_t *global, const size_t *local, cl_uint count, const cl_event *wait,
         cl_event *event),
        (queue, kernel, dims, offset, global, local, count, wait, event))
ENQUEUE(clEnqueueReadBuffer,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
         size_t size, void *out, cl_uint count, const cl_event *wait, cl_event *event),
        (queue, buffer, blocking, offset, size, out, count, wait, event))
ENQUEUE(clEnqueueWriteBuffer,
        (cl_command_queue queue, cl_mem buffer, cl_bool blocking, size_t offset,
         size_t size, const void *from, cl_uint count, const cl_event *wait,
         cl_event *event),
        (queue, buffer, blocking, offset, size, from, count, wait, event))
ENQUEUE(clEnqueueCopyBuffer,
        (cl_command_queue queue, cl_mem from, cl_mem to, size_t from_offset,
         size_t to_offset, size_t size, cl_uint count, const cl_event *wait,
         cl_event *event),
        (queue, from, to, from_offset, to_offset, size, count, wait, event))

CREATE(cl_context, clCreateContext,
       (const cl_context_properties *properties, cl_uint count, const cl_device_id *ids,
        void(CL_CALLBACK *notify)(const char *, const void *, size_t, void *),
        void *state, cl_int *status),
       (properties, count, ids, notify, state, status))
CREATE(cl_command_queue, clCreateCommandQueue,
       (cl_context context, cl_device_id id, cl_command_queue_properties properties,
        cl_int *status),
       (context, id, properties, status))
CREATE(cl_mem, clCreateBuffer,
       (cl_context context, cl_mem_flags flags, size_t size, void *from, cl_int *status),
       (context, flags, size, from, status))
CREATE(cl_program, clCreateProgramWithSource,
       (cl_context context, cl_uint count, const char **texts, const size_t *lengths,
        cl_int *status),
       (context, count, texts, lengths, status))
CREATE(cl_program, clCreateProgramWithBinary,
       (cl_context context, cl_uint count, const cl_device_id *ids, const size_t *lengths,
        const unsigned char **bytes, cl_int *valid, cl_int *status),
       (context, count, ids, lengths, bytes, valid, status))
CREATE(cl_kernel, clCreateKernel, (cl_program program, const char *name, cl_int *status),
       (program, name, status))

// OpenCL 2.0, which the headers do not declare for 1.2.
void *CL_API_CALL clSVMAlloc(cl_context, cl_bitfield, size_t, cl_uint);
void CL_API_CALL clSVMFree(cl_context, void *);

void *CL_API_CALL clSVMAlloc(cl_context context, cl_bitfield flags, size_t bytes,
                             cl_uint alignment) {
  static void *(CL_API_CALL * next)(cl_context, cl_bitfield, size_t, cl_uint);
  if (!next) *(void **)(&next) = real("clSVMAlloc");
  void *memory = fails() ? NULL : next(context, flags, bytes, alignment);
  hold(memory);
  return memory;
}

void CL_API_CALL clSVMFree(cl_context context, void *memory) {
  static void(CL_API_CALL * next)(cl_context, void *);
  if (!next) *(void **)(&next) = real("clSVMFree");
  if (drop(memory)) next(context, memory);
}

RETAIN(clRetainContext, cl_context)
RETAIN(clRetainCommandQueue, cl_command_queue)
RETAIN(clRetainMemObject, cl_mem)
RETAIN(clRetainProgram, cl_program)
RELEASE(clReleaseContext, cl_context)
RELEASE(clReleaseCommandQueue, cl_command_queue)
RELEASE(clReleaseMemObject, cl_mem)
RELEASE(clReleaseProgram, cl_program)
RELEASE(clReleaseKernel, cl_kernel)
RELEASE(clReleaseEvent, cl_event)

__attribute__((constructor)) static void plan_of_environment(void) {
  const char *at = getenv("FAULTY_AT"), *status = getenv("FAULTY_STATUS");
  if (at)
    faulty_plan(atol(at), status ? atoi(status) : CL_OUT_OF_RESOURCES,
                getenv("FAULTY_LOST"));
  const char *builds = getenv("FAULTY_BUILDS");
  if (builds) builds_to_fail = atol(builds);
}

__attribute__((destructor)) static void report(void) {
  const char *path = getenv("FAULTY_REPORT");
  FILE *file = path ? fopen(path, "w") : NULL;
  if (!file) return;
  fprintf(file, "%ld %d %d %d\n", calls, happened, faulty_alive(), misuses);
  fclose(file);
}
