// Stands in for CUDA's driver and for NVRTC, its compiler: a library under both names, which has one device
// and runs kernels on the CPU (words.h).  So host code and kernels can be tested without a GPU.
//
// It is strict: the calls that need a context want one that is current, handles are those that it
// gave, buffers end where the next page may not be touched and hold garbage at first, and what
// the device forbids fails.  Calls fail on demand (standin.h).  The environment changes the
// device: STANDIN_THREADS, the most threads of a kernel that is not compiled for a size of groups;
// STANDIN_SHARED, the bytes of shared memory; STANDIN_MEMORY, those of all memory.
#ifndef _GNU_SOURCE
#  define _GNU_SOURCE
#endif
#include "standin.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
  OK = 0,
  INVALID_VALUE = 1,
  OUT_OF_MEMORY = 2,
  NOT_INITIALIZED = 3,
  INVALID_IMAGE = 200,
  INVALID_CONTEXT = 201,
  INVALID_HANDLE = 400,
  NOT_FOUND = 500,
  OUT_OF_RESOURCES = 701,
  LAUNCH_FAILED = 719,
  NVRTC_COMPILATION = 6,
  DEVICE = 7,  // the handle of device 0
  THREADS = 1024,
  SHARED = 232448,
  SHARED_UNASKED = 49152,
  PAGE = 4096,
  GARBAGE = 0xcd,
  DEEPEST = 16
};

// ---- the account

typedef enum Kind { BLOCK, STREAM, EVENT, MODULE, FUNCTION, PROGRAM, CONTEXT } Kind;

typedef struct Object {
  struct Object *next;
  Kind kind;
  char *bytes;  // BLOCK: what the user sees; PROGRAM: its source, then its image
  size_t length, mapped;
  void *library;  // MODULE, FUNCTION
  void (*call)(void **);
  bool sized;      // MODULE, FUNCTION: compiled for groups of one size
  int shared;      // FUNCTION: bytes that it may have
  double seconds;  // EVENT: when it was recorded; 0: never
  char *log;       // PROGRAM
} Object;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static Object *objects;
static Object context = { .kind = CONTEXT };
static int retained, misuses;
static bool initialized, happened, lost;
static long calls, fail_at;
static int fail_status;
static size_t used;
static __thread const Object *stack[DEEPEST];
static __thread int depth;

void standin_plan(long at, int status, bool and_later) {
  calls = 0;
  happened = false;
  fail_at = at;
  fail_status = status;
  lost = and_later;
}

long standin_calls(void) { return calls; }
bool standin_happened(void) { return happened; }
int standin_misuses(void) { return misuses; }
int standin_depth(void) { return depth; }

int standin_alive(void) {
  int alive = retained;
  for (const Object *o = objects; o; o = o->next)
    alive += o->kind != FUNCTION;
  return alive;
}

// Is this the call that fails?
static bool fails(void) {
  pthread_mutex_lock(&lock);
  calls++;
  bool now = fail_at > 0 && (calls == fail_at || (lost && calls > fail_at));
  happened = happened || now;
  pthread_mutex_unlock(&lock);
  return now;
}

static int misuse(int status) {
  misuses++;
  return status;
}

static Object *add(Kind kind) {
  Object *o = calloc(1, sizeof *o);
  o->kind = kind;
  pthread_mutex_lock(&lock);
  o->next = objects;
  objects = o;
  pthread_mutex_unlock(&lock);
  return o;
}

static bool is_known(const Object *wanted, Kind kind) {
  pthread_mutex_lock(&lock);
  const Object *o = objects;
  while (o && o != wanted)
    o = o->next;
  pthread_mutex_unlock(&lock);
  return o && o->kind == kind;
}

static void forget(Object *wanted) {
  pthread_mutex_lock(&lock);
  Object **at = &objects;
  while (*at != wanted)
    at = &(*at)->next;
  *at = wanted->next;
  pthread_mutex_unlock(&lock);
  free(wanted);
}

static int limit(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text ? atoi(text) : otherwise;
}

static size_t memory_size(void) {
  const char *text = getenv("STANDIN_MEMORY");
  return text ? (size_t)atoll(text) : (size_t)1 << 30;
}

// Every call that is not a release begins with one of these.
#define MAY_FAIL() \
  if (fails()) return fail_status
#define IN_CONTEXT() \
  if (depth == 0 || stack[depth - 1] != &context) return misuse(INVALID_CONTEXT)
#define KNOWN(object, kind) \
  if (!is_known(object, kind)) return misuse(INVALID_HANDLE)

// ---- devices and contexts

int cuInit(unsigned flags) {
  MAY_FAIL();
  initialized = true;
  return flags ? INVALID_VALUE : OK;
}

int cuDriverGetVersion(int *version) {
  MAY_FAIL();
  *version = 13000;
  return OK;
}

int cuDeviceGetCount(int *count) {
  MAY_FAIL();
  *count = 1;
  return initialized ? OK : NOT_INITIALIZED;
}

int cuDeviceGet(int *device, int number) {
  MAY_FAIL();
  *device = DEVICE;
  return number == 0 ? OK : misuse(101);
}

int cuDeviceGetName(char *name, int bytes, int device) {
  MAY_FAIL();
  snprintf(name, (size_t)bytes, "Stand-in");
  return device == DEVICE ? OK : misuse(101);
}

int cuDeviceGetAttribute(int *value, int attribute, int device) {
  MAY_FAIL();
  if (device != DEVICE) return misuse(101);
  switch (attribute) {
  case 1: *value = THREADS; return OK;
  case 16: *value = 4; return OK;
  case 75: *value = 9; return OK;
  case 76: *value = 0; return OK;
  case 97: *value = limit("STANDIN_SHARED", SHARED); return OK;
  default: return misuse(INVALID_VALUE);
  }
}

int cuDeviceTotalMem_v2(size_t *bytes, int device) {
  MAY_FAIL();
  *bytes = memory_size();
  return device == DEVICE ? OK : misuse(101);
}

int cuDevicePrimaryCtxRetain(Object **out, int device) {
  MAY_FAIL();
  if (device != DEVICE) return misuse(101);
  retained++;
  *out = &context;
  return OK;
}

int cuDevicePrimaryCtxRelease_v2(int device) {
  if (device != DEVICE || retained == 0) return misuse(INVALID_CONTEXT);
  retained--;
  return OK;
}

// Never fails where it should not, as releases need it.
int cuCtxPushCurrent_v2(const Object *wanted) {
  if (wanted != &context || !retained || depth == DEEPEST) return misuse(INVALID_CONTEXT);
  stack[depth++] = wanted;
  return OK;
}

int cuCtxPopCurrent_v2(const Object **out) {
  if (depth == 0) return misuse(INVALID_CONTEXT);
  *out = stack[--depth];
  return OK;
}

int cuCtxGetDevice(int *device) {
  MAY_FAIL();
  IN_CONTEXT();
  *device = DEVICE;
  return OK;
}

// ---- streams and events: everything is done at once

int cuStreamCreate(Object **out, unsigned flags) {
  MAY_FAIL();
  IN_CONTEXT();
  *out = add(STREAM);
  return flags <= 1 ? OK : misuse(INVALID_VALUE);
}

int cuStreamDestroy_v2(Object *stream) {
  IN_CONTEXT();
  KNOWN(stream, STREAM);
  forget(stream);
  return OK;
}

int cuStreamSynchronize(Object *stream) {
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(stream, STREAM);
  return OK;
}

int cuStreamGetCtx(Object *stream, Object **out) {
  MAY_FAIL();
  KNOWN(stream, STREAM);
  *out = &context;
  return OK;
}

int cuEventCreate(Object **out, unsigned flags) {
  MAY_FAIL();
  IN_CONTEXT();
  *out = add(EVENT);
  return flags == 0 ? OK : misuse(INVALID_VALUE);
}

int cuEventDestroy_v2(Object *event) {
  IN_CONTEXT();
  KNOWN(event, EVENT);
  forget(event);
  return OK;
}

int cuEventRecord(Object *event, Object *stream) {
  struct timespec now;
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(event, EVENT);
  KNOWN(stream, STREAM);
  clock_gettime(CLOCK_MONOTONIC, &now);
  event->seconds = (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
  return OK;
}

int cuEventElapsedTime(float *ms, const Object *from, const Object *to) {
  MAY_FAIL();
  KNOWN(from, EVENT);
  KNOWN(to, EVENT);
  if (from->seconds == 0 || to->seconds == 0) return misuse(INVALID_HANDLE);
  *ms = (float)(1e3 * (to->seconds - from->seconds));
  return OK;
}

// ---- memory

// A block that ends at a page which nobody may touch.
int cuMemAlloc_v2(char **out, size_t bytes) {
  MAY_FAIL();
  IN_CONTEXT();
  if (bytes == 0) return misuse(INVALID_VALUE);
  if (bytes > memory_size() - used) return OUT_OF_MEMORY;
  size_t pages = (bytes + PAGE - 1) / PAGE * PAGE;
  char *base = mmap(NULL, pages + PAGE, PROT_READ | PROT_WRITE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (base == MAP_FAILED) return OUT_OF_MEMORY;
  mprotect(base + pages, PAGE, PROT_NONE);
  Object *o = add(BLOCK);
  o->bytes = base + pages - bytes;
  o->length = bytes;
  o->mapped = pages + PAGE;
  memset(o->bytes, GARBAGE, bytes);
  used += bytes;
  *out = o->bytes;
  return OK;
}

// The block with that address; NULL if there is none.
static Object *block_at(const char *address) {
  pthread_mutex_lock(&lock);
  Object *o = objects;
  while (o &&
         !(o->kind == BLOCK && address >= o->bytes && address < o->bytes + o->length))
    o = o->next;
  pthread_mutex_unlock(&lock);
  return o;
}

static bool holds(const char *address, size_t bytes) {
  const Object *o = block_at(address);
  return o && bytes <= (size_t)(o->bytes + o->length - address);
}

int cuMemFree_v2(char *address) {
  IN_CONTEXT();
  Object *o = block_at(address);
  if (!o || o->bytes != address) return misuse(INVALID_VALUE);
  munmap(o->bytes + o->length + PAGE - o->mapped, o->mapped);
  used -= o->length;
  forget(o);
  return OK;
}

int cuMemGetAddressRange_v2(char **base, size_t *bytes, const char *address) {
  MAY_FAIL();
  IN_CONTEXT();
  const Object *o = block_at(address);
  if (!o) return NOT_FOUND;
  *base = o->bytes;
  *bytes = o->length;
  return OK;
}

int cuMemcpyHtoDAsync_v2(char *to, const void *from, size_t bytes, Object *stream) {
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(stream, STREAM);
  if (!holds(to, bytes)) return misuse(INVALID_VALUE);
  memcpy(to, from, bytes);
  return OK;
}

int cuMemcpyDtoHAsync_v2(void *to, const char *from, size_t bytes, Object *stream) {
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(stream, STREAM);
  if (!holds(from, bytes)) return misuse(INVALID_VALUE);
  memcpy(to, from, bytes);
  return OK;
}

int cuMemcpyDtoDAsync_v2(char *to, const char *from, size_t bytes, Object *stream) {
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(stream, STREAM);
  if (!holds(to, bytes) || !holds(from, bytes)) return misuse(INVALID_VALUE);
  memmove(to, from, bytes);
  return OK;
}

// ---- modules: a head, then a shared library

typedef struct ImageHead {
  char magic[8];
  uint64_t bytes;
  uint64_t sized;
} ImageHead;

static const char magic[8] = "standin";

int cuModuleLoadData(Object **out, const void *image) {
  MAY_FAIL();
  IN_CONTEXT();
  ImageHead head;
  memcpy(&head, image, sizeof head);
  if (memcmp(head.magic, magic, sizeof magic) != 0) return INVALID_IMAGE;
  char path[] = "/tmp/standin-XXXXXX";
  int file = mkstemp(path);
  bool ok = file >= 0 && write(file, (const char *)image + sizeof head, head.bytes) ==
                             (ssize_t)head.bytes;
  if (file >= 0) close(file);
  void *library = ok ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
  if (file >= 0) unlink(path);
  if (!library) return INVALID_IMAGE;
  *out = add(MODULE);
  (*out)->library = library;
  (*out)->sized = head.sized;
  return OK;
}

int cuModuleUnload(Object *module) {
  IN_CONTEXT();
  KNOWN(module, MODULE);
  for (Object *o = objects, *next; o; o = next) {
    next = o->next;
    if (o->kind == FUNCTION && o->library == module->library) forget(o);
  }
  dlclose(module->library);
  forget(module);
  return OK;
}

int cuModuleGetFunction(Object **out, Object *module, const char *name) {
  char call_name[128];
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(module, MODULE);
  snprintf(call_name, sizeof call_name, "standin_call_%s", name);
  void *found = dlsym(module->library, call_name);
  if (!found) return NOT_FOUND;
  *out = add(FUNCTION);
  (*out)->library = module->library;
  (*out)->sized = module->sized;
  (*out)->shared = SHARED_UNASKED;
  memcpy(&(*out)->call, &found, sizeof found);
  return OK;
}

static int most_threads(const Object *function) {
  return function->sized ? THREADS : limit("STANDIN_THREADS", THREADS);
}

int cuFuncGetAttribute(int *value, int attribute, Object *function) {
  MAY_FAIL();
  KNOWN(function, FUNCTION);
  *value = most_threads(function);
  return attribute == 0 ? OK : misuse(INVALID_VALUE);
}

int cuFuncSetAttribute(Object *function, int attribute, int value) {
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(function, FUNCTION);
  if (attribute != 8 || value > limit("STANDIN_SHARED", SHARED))
    return misuse(INVALID_VALUE);
  function->shared = value;
  return OK;
}

int cuLaunchKernel(Object *f, unsigned groups, unsigned y, unsigned z, unsigned items,
                   unsigned items_y, unsigned items_z, unsigned shared, Object *stream,
                   void **params, void **extra) {
  MAY_FAIL();
  IN_CONTEXT();
  KNOWN(f, FUNCTION);
  KNOWN(stream, STREAM);
  if (y != 1 || z != 1 || items_y != 1 || items_z != 1 || extra || groups == 0)
    return misuse(INVALID_VALUE);
  if (items == 0 || items > (unsigned)most_threads(f)) return misuse(OUT_OF_RESOURCES);
  if (shared > (unsigned)f->shared) return misuse(INVALID_VALUE);
  int (*run)(void (*)(void **), void **, unsigned, unsigned, unsigned) = NULL;
  void *found = dlsym(f->library, "standin_launch");
  memcpy(&run, &found, sizeof found);
  if (run(f->call, params, groups, items, shared)) return OK;
  fprintf(stderr,
          "stand-in: items of a group have ended while others wait at a barrier\n");
  return LAUNCH_FAILED;
}

// ---- the compiler

int nvrtcGetNumSupportedArchs(int *count) {
  if (fails()) return 11;
  *count = 3;
  return OK;
}

int nvrtcGetSupportedArchs(int *archs) {
  if (fails()) return 11;
  archs[0] = 80;
  archs[1] = 90;
  archs[2] = 100;
  return OK;
}

int nvrtcCreateProgram(Object **out, const char *source, const char *name, int count,
                       const char *const *headers, const char *const *names) {
  if (fails()) return 1;
  (void)name, (void)headers, (void)names;
  *out = add(PROGRAM);
  (*out)->bytes = strdup(source);
  return count == 0 ? OK : misuse(3);
}

int nvrtcDestroyProgram(Object **program) {
  KNOWN(*program, PROGRAM);
  free((*program)->bytes);
  free((*program)->log);
  forget(*program);
  *program = NULL;
  return OK;
}

static char *read_all(const char *path, size_t *length) {
  FILE *file = fopen(path, "rb");
  if (!file) return NULL;
  fseek(file, 0, SEEK_END);
  *length = (size_t)ftell(file);
  rewind(file);
  char *bytes = calloc(*length + 1, 1);
  size_t got = fread(bytes, 1, *length, file);
  fclose(file);
  if (got == *length) return bytes;
  free(bytes);
  return NULL;
}

// How each kernel is called, and the local memory.
static void write_calls(FILE *out, const char *source) {
  static const char mark[] = "#define flc_kernel ";
  static const char *const own[] = { "flc_copy", "flc_peak" };
  for (int i = 0; i < 2; i++)
    if (strstr(source, own[i]))
      fprintf(out,
              "\nextern \"C\" void standin_call_%s(void **a) { standin::apply(%s, a); }",
              own[i], own[i]);
  for (const char *at = source; (at = strstr(at, mark)) != NULL;) {
    at += strlen(mark);
    int length = (int)strcspn(at, "\n");
    fprintf(
        out,
        "\nextern \"C\" void standin_call_%.*s(void **a) { standin::apply(%.*s, a); }",
        length, at, length, at);
  }
  fputs("\nthread_local __align__(128) uchar flc_shared[standin::LOCAL_BYTES];\n"
        "extern \"C\" int standin_launch(void (*call)(void **), void **arguments,\n"
        "    unsigned groups, unsigned items, unsigned local) {\n"
        "  return standin_run(call, arguments, groups, items, flc_shared, local);\n}\n",
        out);
}

static int run_compiler(const char *folder, int count, const char *const *options) {
  char source[64], output[64], log[64];
  const char *words[64] = { "c++",          "-x",         "c++",
                            "-std=gnu++17", "-O1",        "-w",
                            "-fPIC",        "-shared",    "-ffp-contract=off",
                            "-include",     STANDIN_WORDS };
  int n = 11;
  snprintf(source, sizeof source, "%s/k.cc", folder);
  snprintf(output, sizeof output, "%s/k.so", folder);
  snprintf(log, sizeof log, "%s/log", folder);
  for (int i = 0; i < count && n < 56; i++)
    if (strncmp(options[i], "-D", 2) == 0) words[n++] = options[i];
  words[n++] = source;
  words[n++] = "-o";
  words[n++] = output;
  pid_t child = fork();
  if (child == 0) {
    if (!freopen(log, "w", stderr)) _exit(126);
    unsetenv("LD_PRELOAD");
    execvp(words[0], (char *const *)(uintptr_t)words);
    _exit(127);
  }
  int status = 1;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

static void remove_folder(const char *folder) {
  static const char *const names[] = { "k.cc", "k.so", "log" };
  char path[64];
  for (int i = 0; i < 3; i++) {
    snprintf(path, sizeof path, "%s/%s", folder, names[i]);
    unlink(path);
  }
  rmdir(folder);
}

static bool is_sized(int count, const char *const *options) {
  for (int i = 0; i < count; i++)
    if (strncmp(options[i], "-DFLC_GROUP_SIZE=", 17) == 0) return true;
  return false;
}

// The library in place of the source, behind a head.
static bool take_image(Object *program, const char *path, bool sized) {
  ImageHead head = { .sized = sized };
  size_t length = 0;
  char *library = read_all(path, &length);
  if (!library) return false;
  memcpy(head.magic, magic, sizeof magic);
  head.bytes = length;
  free(program->bytes);
  program->length = sizeof head + length;
  program->bytes = malloc(program->length);
  memcpy(program->bytes, &head, sizeof head);
  memcpy(program->bytes + sizeof head, library, length);
  free(library);
  return true;
}

// What was compiled before, in the order in which it was: a process compiles the same again and again.
typedef struct Known {
  struct Known *next;
  char *source, *options, *image;
  size_t length;
} Known;

static Known *known;

static char *joined(int count, const char *const *options) {
  size_t length = 1;
  for (int i = 0; i < count; i++)
    length += strlen(options[i]) + 1;
  char *all = calloc(length, 1);
  for (int i = 0; i < count; i++)
    strcat(strcat(all, options[i]), " ");
  return all;
}

static const Known *find_known(const char *source, const char *options) {
  const Known *k = known;
  while (k && (strcmp(k->source, source) != 0 || strcmp(k->options, options) != 0))
    k = k->next;
  return k;
}

static char *copy_of(const char *bytes, size_t length) {
  char *copy = malloc(length);
  return memcpy(copy, bytes, length);
}

static int compile(Object *program, int count, const char *const *options) {
  char folder[] = "/tmp/standin-XXXXXX", path[64];
  size_t length = 0;
  if (!mkdtemp(folder)) return 1;
  snprintf(path, sizeof path, "%s/k.cc", folder);
  FILE *out = fopen(path, "w");
  fputs(program->bytes, out);
  write_calls(out, program->bytes);
  fclose(out);
  bool ok = run_compiler(folder, count, options);
  snprintf(path, sizeof path, "%s/log", folder);
  program->log = read_all(path, &length);
  snprintf(path, sizeof path, "%s/k.so", folder);
  ok = ok && take_image(program, path, is_sized(count, options));
  remove_folder(folder);
  return ok ? OK : NVRTC_COMPILATION;
}

int nvrtcCompileProgram(Object *program, int count, const char *const *options) {
  KNOWN(program, PROGRAM);
  if (fails()) return NVRTC_COMPILATION;
  char *all = joined(count, options);
  const Known *old = find_known(program->bytes, all);
  if (old) {
    free(program->bytes);
    free(all);
    program->bytes = copy_of(old->image, old->length);
    program->length = old->length;
    return OK;
  }
  Known *k = calloc(1, sizeof *k);
  *k = (Known){ known, strdup(program->bytes), all, NULL, 0 };
  int status = compile(program, count, options);
  if (status) {
    free(k->source);
    free(k->options);
    free(k);
    return status;
  }
  k->image = copy_of(program->bytes, program->length);
  k->length = program->length;
  known = k;
  return status;
}

int nvrtcGetProgramLogSize(const Object *program, size_t *bytes) {
  if (fails()) return 11;
  *bytes = program->log ? strlen(program->log) + 1 : 1;
  return OK;
}

int nvrtcGetProgramLog(const Object *program, char *log) {
  if (fails()) return 11;
  strcpy(log, program->log ? program->log : "");
  return OK;
}

int nvrtcGetCUBINSize(const Object *program, size_t *bytes) {
  if (fails()) return 11;
  *bytes = program->length;
  return OK;
}

int nvrtcGetCUBIN(const Object *program, char *image) {
  if (fails()) return 11;
  memcpy(image, program->bytes, program->length);
  return OK;
}

int nvrtcGetPTXSize(const Object *program, size_t *bytes) {
  return nvrtcGetCUBINSize(program, bytes);
}

int nvrtcGetPTX(const Object *program, char *image) {
  return nvrtcGetCUBIN(program, image);
}
