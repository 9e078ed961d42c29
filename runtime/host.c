// The process in which `flc test` runs programs, compiled as shared objects, one after the other.
// They share one OpenCL context, as PoCL reads its library of built-in functions anew for each,
// which takes longer than to compile the kernels of most programs.
//
// Descriptor 3 is a socket.  A message there holds the words of a command line, each ended by a
// zero byte, and the descriptors of standard input, output and error; the answer is what `main`
// returned.
#define _GNU_SOURCE
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { CONTROL = 3, STREAMS = 3, MOST_BYTES = 65536, MOST_WORDS = 1024 };

// ---- one context

typedef void CL_CALLBACK notify_fn(const char *, const void *, size_t, void *);
typedef cl_context create_fn(const cl_context_properties *, cl_uint, const cl_device_id *,
                             notify_fn *, void *, cl_int *);

static cl_context shared;
static cl_device_id shared_device;

// In the place of the loader's: programs release the context that they get, we keep it.
CL_API_ENTRY cl_context CL_API_CALL clCreateContext(
    const cl_context_properties *properties, cl_uint count, const cl_device_id *devices,
    notify_fn *notify, void *data, cl_int *status) {
  create_fn *create = NULL;
  *(void **)&create = dlsym(RTLD_NEXT, "clCreateContext");
  if (properties || count != 1 || (shared && devices[0] != shared_device))
    return create(properties, count, devices, notify, data, status);
  if (!shared) shared = create(properties, count, devices, notify, data, status);
  shared_device = devices[0];
  if (shared) {
    clRetainContext(shared);
    *status = CL_SUCCESS;
  }
  return shared;
}

// ---- programs

typedef struct Request {
  char bytes[MOST_BYTES];
  char *words[MOST_WORDS + 1];
  int count, streams[STREAMS];
} Request;

static void split_words(Request *r, size_t length) {
  r->count = 0;
  for (char *at = r->bytes; at < r->bytes + length && r->count < MOST_WORDS;
       at += strlen(at) + 1)
    r->words[r->count++] = at;
  r->words[r->count] = NULL;
}

// False at the end of the socket.
static int receive(Request *r) {
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof r->streams)];
  } control;
  struct iovec part = { r->bytes, sizeof r->bytes - 1 };
  struct msghdr message = { .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes };
  ssize_t length = recvmsg(CONTROL, &message, MSG_CMSG_CLOEXEC);
  struct cmsghdr *first = length > 0 ? CMSG_FIRSTHDR(&message) : NULL;
  if (!first || first->cmsg_len != CMSG_LEN(sizeof r->streams)) return 0;
  r->bytes[length] = '\0';
  memcpy(r->streams, CMSG_DATA(first), sizeof r->streams);
  split_words(r, (size_t)length);
  return 1;
}

// Standard streams are those of the program while it runs, and lead nowhere afterwards: who reads
// what it writes shall see the end.
static void take_streams(const int *streams) {
  fflush(stdout);
  fflush(stderr);
  __fpurge(stdin);
  clearerr(stdin);
  for (int i = 0; i < STREAMS; i++) {
    dup2(streams[i], i);
    close(streams[i]);
  }
}

static void drop_streams(int nowhere) {
  fflush(stdout);
  fflush(stderr);
  for (int i = 0; i < STREAMS; i++)
    dup2(nowhere, i);
}

static int run(Request *r) {
  int (*program)(int, char **) = NULL;
  void *object = dlopen(r->words[0], RTLD_NOW | RTLD_LOCAL);
  if (object) *(void **)&program = dlsym(object, "main");
  if (!program) fprintf(stderr, "%s\n", dlerror());
  int status = program ? program(r->count, r->words) : 127;
  if (object) dlclose(object);
  return status;
}

int main(void) {
  static Request r;
  int nowhere = open("/dev/null", O_RDWR | O_CLOEXEC);
  while (receive(&r)) {
    take_streams(r.streams);
    int status = run(&r);
    drop_streams(nowhere);
    if (send(CONTROL, &status, sizeof status, 0) != sizeof status) return 1;
  }
  return 0;
}
