#include "commands/eval_workers.h"
#include "base/mem.h"
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

// What a worker tells the process that it comes from, which passes messages on to all.
typedef enum WorkerFrameKind {
  FRAME_MESSAGE,
  FRAME_RESULT,
  FRAME_FAILURE,
  FRAME_NONE  // it has ended
} WorkerFrameKind;

typedef struct WorkerFrame {
  WorkerFrameKind kind;
  size_t length;
  char *bytes;
} WorkerFrame;

static bool send_bytes(int to, const void *bytes, size_t length) {
  for (size_t at = 0; at < length;) {
    ssize_t sent = send(to, (const char *)bytes + at, length - at, MSG_NOSIGNAL);
    if (sent <= 0) return false;
    at += (size_t)sent;
  }
  return true;
}

static bool take_bytes(int from, void *bytes, size_t length) {
  for (size_t at = 0; at < length;) {
    ssize_t got = read(from, (char *)bytes + at, length - at);
    if (got <= 0) return false;
    at += (size_t)got;
  }
  return true;
}

static bool send_frame(int to, WorkerFrame f) {
  size_t head[] = { f.kind, f.length };
  return send_bytes(to, head, sizeof head) && send_bytes(to, f.bytes, f.length);
}

static WorkerFrame take_frame(int from) {
  size_t head[2];
  WorkerFrame out = { .kind = FRAME_NONE };
  if (!take_bytes(from, head, sizeof head)) return out;
  out.bytes = mem_alloc_plain(head[1] + 1);
  if (!take_bytes(from, out.bytes, head[1])) return out;
  out.kind = (WorkerFrameKind)head[0];
  out.length = head[1];
  return out;
}

// ---- a worker

typedef struct EvalWorker {
  int socket, count;
} EvalWorker;

static bool exchange(void *state, const char *message, size_t length, char **messages) {
  const EvalWorker *w = state;
  WorkerFrame own = { FRAME_MESSAGE, length, mem_copy(message, length) };
  if (!send_frame(w->socket, own)) return false;
  for (int i = 0; i < w->count; i++) {
    WorkerFrame f = take_frame(w->socket);
    if (f.kind != FRAME_MESSAGE) return false;
    messages[i] = f.bytes;
  }
  return true;
}

typedef struct ValueHead {
  PrimType elem;
  int rank;
  int64_t shape[64];
} ValueHead;

static size_t value_bytes(const Value *v) {
  return (size_t)(value_count(v) * prim_size_bytes(v->elem));
}

static WorkerFrame result_frame(const InterpResult *result) {
  WorkerFrame out = { .kind = FRAME_RESULT };
  for (int i = 0; i < result->value_count; i++)
    out.length += sizeof(ValueHead) + value_bytes(result->values[i]);
  char *at = out.bytes = mem_alloc_plain(out.length + 1);
  for (int i = 0; i < result->value_count; i++) {
    const Value *v = result->values[i];
    ValueHead head = { .elem = v->elem, .rank = v->rank };
    for (int d = 0; d < v->rank; d++)
      head.shape[d] = v->shape[d];
    memcpy(at, &head, sizeof head);
    memcpy(at + sizeof head, v->data, value_bytes(v));
    at += sizeof head + value_bytes(v);
  }
  return out;
}

static InterpResult result_of(WorkerFrame f, int count) {
  InterpResult out = { .ok = true, .value_count = count };
  out.values = new_array(const Value *, count + 1);
  const char *at = f.bytes;
  for (int i = 0; i < count; i++) {
    ValueHead head;
    memcpy(&head, at, sizeof head);
    Value *v = value_new(head.elem, head.rank, head.shape);
    memcpy(v->data, at + sizeof head, value_bytes(v));
    at += sizeof head + value_bytes(v);
    out.values[i] = v;
  }
  return out;
}

// Sources lie at the same addresses in all: the position as it is, then the text.
static WorkerFrame failure_frame(const InterpResult *result) {
  size_t text = strlen(result->message) + 1;
  WorkerFrame out = { FRAME_FAILURE, sizeof(Loc) + text, NULL };
  out.bytes = mem_alloc_plain(out.length);
  memcpy(out.bytes, &result->loc, sizeof(Loc));
  memcpy(out.bytes + sizeof(Loc), result->message, text);
  return out;
}

static InterpResult failure_of(WorkerFrame f) {
  InterpResult out = { .ok = false, .message = f.bytes + sizeof(Loc) };
  memcpy(&out.loc, f.bytes, sizeof(Loc));
  return out;
}

// ---- all of them

typedef struct EvalRun {
  Compiler *c;
  const Entry *entry;
  int *sockets;
  int count;
} EvalRun;

static bool all_are(const EvalRun *run, const WorkerFrame *frames, WorkerFrameKind kind) {
  for (int i = 0; i < run->count; i++)
    if (frames[i].kind != kind) return false;
  return true;
}

static void tell_all(const EvalRun *run, const WorkerFrame *frames) {
  for (int to = 0; to < run->count; to++)
    for (int i = 0; i < run->count; i++)
      send_frame(run->sockets[to], frames[i]);
}

// What the first one has, once they have come to an end.
static InterpResult end_of(const EvalRun *run, const WorkerFrame *frames) {
  for (int i = 0; i < run->count; i++)
    if (frames[i].kind == FRAME_FAILURE) return failure_of(frames[i]);
  if (!all_are(run, frames, FRAME_RESULT))
    bug(run->c, run->entry->loc, "workers do not end together");
  for (int i = 1; i < run->count; i++)
    if (frames[i].length != frames[0].length ||
        memcmp(frames[i].bytes, frames[0].bytes, frames[0].length) != 0)
      bug(run->c, run->entry->loc, "worker %d has another result than worker 0", i);
  return result_of(frames[0], run->entry->result_count);
}

static InterpResult lead(const EvalRun *run) {
  WorkerFrame *frames = new_array(WorkerFrame, run->count);
  for (;;) {
    for (int i = 0; i < run->count; i++)
      frames[i] = take_frame(run->sockets[i]);
    if (!all_are(run, frames, FRAME_MESSAGE)) return end_of(run, frames);
    tell_all(run, frames);
  }
}

InterpResult interp_run_workers(Compiler *c, const Core *core, const Entry *entry,
                                const Value *const *inputs, InterpOptions options,
                                int count) {
  EvalRun run = { c, entry, new_array(int, count), count };
  fflush(NULL);
  for (int i = 0; i < count; i++) {
    int ends[2];
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, ends)) bug(c, entry->loc, "no socket");
    run.sockets[i] = ends[0];
    pid_t pid = fork();
    if (pid < 0) bug(c, entry->loc, "no process for a worker");
    if (pid > 0) {
      close(ends[1]);
      continue;
    }
    for (int k = 0; k <= i; k++)
      close(run.sockets[k]);
    EvalWorker worker = { ends[1], count };
    InterpWorkers workers = { i, count, exchange, &worker };
    options.workers = &workers;
    InterpResult result = interp_run(c, core, entry, inputs, options);
    send_frame(ends[1], result.ok ? result_frame(&result) : failure_frame(&result));
    _exit(0);
  }
  InterpResult result = lead(&run);
  for (int i = 0; i < count; i++)
    close(run.sockets[i]);
  while (wait(NULL) > 0)
    continue;
  return result;
}
