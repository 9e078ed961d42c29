// The line protocol from the client's side.
#include "commands/test/server.h"
#include "base/mem.h"
#include "base/text.h"
#include "commands/mpi.h"
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

struct TestServer {
  TestHost *host;  // NULL: the program has a process of its own
  pid_t pid;
  bool over;  // it has ended, and was waited for
  FILE *to, *from;
  int said;  // what it wrote to standard error: a file in memory
};

static char **copy_words(const char *const *words) {
  int count = 0;
  while (words[count])
    count++;
  char **copy = new_array(char *, count + 1);
  for (int i = 0; i < count; i++)
    copy[i] = mem_copy(words[i], strlen(words[i]) + 1);
  return copy;
}

_Noreturn static void become_program(char *const *args, const int *in, const int *out,
                                     int said) {
  // A test that is given up must not leave its program running.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  dup2(in[0], STDIN_FILENO);
  dup2(out[1], STDOUT_FILENO);
  dup2(said, STDERR_FILENO);
  mpi_allow_many();
  execvp(args[0], args);
  _exit(127);
}

// In a process of its own or in the host's; false if that is impossible.
static bool start_program(TestServer *s, const char *const *words, const int *in,
                          const int *out) {
  const int streams[] = { in[0], out[1], s->said };
  if (s->host) return host_run(s->host, words, streams);
  s->pid = fork();
  if (s->pid == 0) become_program(copy_words(words), in, out, s->said);
  return s->pid > 0;
}

TestServer *server_start(const char *const *words, TestHost *host,
                         ServerReply *greeting) {
  int in[2], out[2];
  // Other servers must not inherit the ends: closing ours would not end this one.
  if (pipe2(in, O_CLOEXEC) != 0) return NULL;
  if (pipe2(out, O_CLOEXEC) != 0) return NULL;
  TestServer *s = new (TestServer);
  s->host = host;
  s->said = memfd_create("messages", MFD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);  // a program that has died is found by reading
  bool started = start_program(s, words, in, out);
  close(in[0]);
  close(out[1]);
  s->to = fdopen(in[1], "w");
  s->from = fdopen(out[0], "r");
  if (!started || !s->to || !s->from) return NULL;
  *greeting = server_ask(s, "");
  return s;
}

// How it ended.
static const char *ending(TestServer *s) {
  int status = 0;
  if (s->host)
    return host_wait(s->host, &status)
               ? text_format("the program ended (status %d)\n", status)
               : "the program crashed, and the process in which it ran\n";
  if (s->pid > 0) waitpid(s->pid, &status, 0);
  return WIFSIGNALED(status)
             ? text_format("the program crashed (%s)\n", strsignal(WTERMSIG(status)))
             : text_format("the program ended (status %d)\n", WEXITSTATUS(status));
}

// How the program ended, and what it said.
static ServerReply last_words(TestServer *s) {
  Text *t = text_new();
  if (!s->over) text_add(t, ending(s));
  s->over = true;
  char buffer[4096];
  lseek(s->said, 0, SEEK_SET);
  for (ssize_t n; (n = read(s->said, buffer, sizeof buffer)) > 0;)
    text_add_bytes(t, buffer, (size_t)n);
  return (ServerReply){ .text = text_str(t) };
}

ServerReply server_ask(TestServer *s, const char *line) {
  if (s->over) return last_words(s);
  if (*line) fprintf(s->to, "%s\n", line);
  fflush(s->to);
  ServerReply reply = { .alive = true, .ok = true };
  Text *t = text_new();
  char buffer[4096];
  while (fgets(buffer, sizeof buffer, s->from)) {
    reply.text = text_str(t);
    if (strcmp(buffer, "%%% OK\n") == 0) return reply;
    if (strcmp(buffer, "%%% FAILURE\n") == 0)
      reply.ok = false;
    else
      text_add(t, buffer);
  }
  return last_words(s);
}

void server_stop(TestServer *s) {
  fclose(s->to);
  fclose(s->from);
  if (!s->over) ending(s);
  close(s->said);
}
