#include "commands/test/host.h"
#include "base/mem.h"
#include "base/text.h"
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CONTROL = 3, STREAMS = 3 };  // as in runtime/host.c

_Noreturn static void become_host(const char *program, int end) {
  char *name = (char[]){ "flc-test-host" }, *args[] = { name, NULL };
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (end == CONTROL)
    fcntl(end, F_SETFD, 0);
  else
    dup2(end, CONTROL);
  execv(program, args);
  _exit(127);
}

void host_start(TestHost *host, const char *program) {
  if (host->pid && waitpid(host->pid, NULL, WNOHANG) == 0) return;
  if (host->pid) close(host->socket);
  *host = (TestHost){ 0 };
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) != 0) return;
  host->pid = fork();
  if (host->pid == 0) become_host(program, ends[1]);
  close(ends[1]);
  host->socket = ends[0];
  if (host->pid > 0) return;
  close(ends[0]);
  host->pid = 0;
}

void host_stop(TestHost *host) {
  if (!host->pid) return;
  close(host->socket);
  kill(host->pid, SIGKILL);
  waitpid(host->pid, NULL, 0);
  host->pid = 0;
}

bool host_run(TestHost *host, const char *const *words, const int streams[3]) {
  Text *line = text_new();
  for (int i = 0; words[i]; i++)
    text_add_bytes(line, words[i], strlen(words[i]) + 1);
  union {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(STREAMS * sizeof(int))];
  } control = { 0 };
  struct iovec part = { mem_copy(text_str(line), text_length(line)), text_length(line) };
  struct msghdr message = { .msg_iov = &part,
                            .msg_iovlen = 1,
                            .msg_control = control.bytes,
                            .msg_controllen = sizeof control.bytes };
  struct cmsghdr *first = CMSG_FIRSTHDR(&message);
  *first = (struct cmsghdr){ .cmsg_len = CMSG_LEN(STREAMS * sizeof(int)),
                             .cmsg_level = SOL_SOCKET,
                             .cmsg_type = SCM_RIGHTS };
  memcpy(CMSG_DATA(first), streams, STREAMS * sizeof(int));
  host->gone =
      sendmsg(host->socket, &message, MSG_NOSIGNAL) != (ssize_t)text_length(line);
  return !host->gone;
}

bool host_wait(TestHost *host, int *status) {
  host->gone = recv(host->socket, status, sizeof *status, 0) != sizeof *status;
  return !host->gone;
}
