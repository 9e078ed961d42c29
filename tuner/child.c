// The measured program as a child process.
#include "tuner/child.h"
#include "base/mem.h"
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { HIGHEST_PRIORITY = -20 };

double child_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int child_catch_interrupt(void) {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  sigprocmask(SIG_BLOCK, &set, NULL);
  signal(SIGPIPE, SIG_IGN);
  return signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
}

// ---- starting and ending

// In the child: its own process group, so that Ctrl-C reaches us alone; it ends when we end.  Where
// we may, it goes before other processes, which disturb its times less then.
static void become_program(const Child *s, const int *in, const int *out) {
  setpgid(0, 0);
  setpriority(PRIO_PROCESS, 0, HIGHEST_PRIORITY);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGPIPE, SIG_DFL);
  dup2(in[0], STDIN_FILENO);
  dup2(out[1], STDOUT_FILENO);
  const int pipes[] = { in[0], in[1], out[0], out[1] };
  for (int i = 0; i < 4; i++)
    close(pipes[i]);
  char **argv = mem_alloc(64 * sizeof *argv);
  for (int i = 0; i < 63 && s->argv[i]; i++)
    argv[i] = mem_copy(s->argv[i], strlen(s->argv[i]) + 1);
  execvp(argv[0], argv);
  _exit(127);
}

// How the process ended.
static const char *reap(Child *s) {
  int status = 0;
  kill(-s->pid, SIGKILL);
  close(s->to);
  close(s->from);
  while (waitpid(s->pid, &status, 0) < 0 && errno == EINTR)
    ;
  s->pid = 0;
  if (WIFSIGNALED(status)) return text_format("killed by signal %d", WTERMSIG(status));
  if (WEXITSTATUS(status) == 127) return text_format("cannot run %s", s->argv[0]);
  return text_format("ended with status %d", WEXITSTATUS(status));
}

// What has ended by itself gets the time to say how before it is killed.
static const char *bury(Child *s) {
  for (int i = 0; i < 50; i++) {
    siginfo_t info = { 0 };
    waitid(P_PID, (id_t)s->pid, &info, WEXITED | WNOHANG | WNOWAIT);
    if (info.si_pid) break;
    nanosleep(&(struct timespec){ .tv_nsec = 2000000 }, NULL);
  }
  return reap(s);
}

void child_stop(Child *s) {
  if (s->pid) reap(s);
}

// ---- replies

static const char reply_end[] = "%%% OK\n", failure[] = "%%% FAILURE\n";

// The reply at the front of the buffer, removed from it; NULL if it is not complete.
static const char *take_reply(Child *s) {
  const char *text = text_str(s->buffer), *at = text;
  while ((at = strstr(at, reply_end)) && at != text && at[-1] != '\n')
    at++;
  if (!at) return NULL;
  const char *reply = text_format("%.*s", (int)(at - text), text);
  Text *rest = text_new();
  text_add(rest, at + strlen(reply_end));
  s->buffer = rest;
  s->heard = 0;
  return reply;
}

static Reply give_up(Child *s, ReplyStatus status, const char *text) {
  child_stop(s);
  return (Reply){ status, text };
}

// Waits for bytes or until `deadline`; status REPLY_OK if some came.
static Reply receive(Child *s, double deadline) {
  struct pollfd fds[2] = { { .fd = s->from, .events = POLLIN },
                           { .fd = s->interrupt, .events = POLLIN } };
  double left = deadline - child_now();
  int ready = left > 0 ? poll(fds, 2, (int)(left * 1000) + 1) : 0;
  if (ready < 0 && errno == EINTR) return (Reply){ REPLY_OK, "" };
  if (ready <= 0) return give_up(s, REPLY_TIMEOUT, "no answer in time");
  if (fds[1].revents) return give_up(s, REPLY_INTERRUPTED, "interrupted");
  char bytes[1 << 16];
  ssize_t count = read(s->from, bytes, sizeof bytes);
  if (count <= 0) return (Reply){ REPLY_DIED, bury(s) };
  text_add_bytes(s->buffer, bytes, (size_t)count);
  return (Reply){ REPLY_OK, "" };
}

// Passes on the complete lines that have come.
static void hear(Child *s) {
  for (;;) {
    const char *line = text_str(s->buffer) + s->heard, *end = strchr(line, '\n');
    if (!end) return;
    s->heard += (size_t)(end + 1 - line);
    if (strncmp(line, "%%%", 3) != 0)
      s->on_line(s->on_line_state, text_format("%.*s", (int)(end - line), line));
  }
}

// What is said of a failure, which may come after lines that were passed on; NULL: there is none.
static const char *find_failure(const char *text) {
  for (const char *at = text; (at = strstr(at, failure)); at++)
    if (at == text || at[-1] == '\n') return at + strlen(failure);
  return NULL;
}

static Reply await(Child *s, double timeout_s) {
  double deadline = child_now() + timeout_s;
  s->heard = 0;
  for (;;) {
    if (s->on_line) {
      size_t before = s->heard;
      hear(s);
      if (s->heard > before) deadline = child_now() + timeout_s;
    }
    const char *text = take_reply(s);
    const char *failed = text ? find_failure(text) : NULL;
    if (failed) return (Reply){ REPLY_FAILURE, failed };
    if (text) return (Reply){ REPLY_OK, text };
    Reply reply = receive(s, deadline);
    if (reply.status != REPLY_OK) return reply;
  }
}

Reply child_start(Child *s, double timeout_s) {
  int in[2], out[2];
  child_stop(s);
  if (pipe(in) != 0) return (Reply){ REPLY_DIED, strerror(errno) };
  if (pipe(out) != 0) return (Reply){ REPLY_DIED, strerror(errno) };
  s->pid = fork();
  if (s->pid == 0) become_program(s, in, out);
  close(in[0]);
  close(out[1]);
  s->to = in[1];
  s->from = out[0];
  s->buffer = text_new();
  s->starts++;
  if (s->pid < 0) {
    s->pid = 0;
    return (Reply){ REPLY_DIED, strerror(errno) };
  }
  return await(s, timeout_s);
}

Reply child_command(Child *s, double timeout_s, const char *format, ...) {
  if (!s->pid) return (Reply){ REPLY_DIED, "not running" };
  va_list args;
  va_start(args, format);
  const char *line = text_format("%s\n", text_format_list(format, args));
  va_end(args);
  size_t length = strlen(line), done = 0;
  while (done < length) {
    ssize_t count = write(s->to, line + done, length - done);
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return (Reply){ REPLY_DIED, bury(s) };
    done += (size_t)count;
  }
  return await(s, timeout_s);
}

bool reply_line(const char **at, const char **line) {
  size_t length = strcspn(*at, "\n");
  if (!**at) return false;
  *line = text_format("%.*s", (int)length, *at);
  *at += length + ((*at)[length] == '\n');
  return true;
}
