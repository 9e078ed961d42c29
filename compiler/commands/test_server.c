// The line protocol from the client's side.
#include "commands/test_server.h"
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
  pid_t pid;
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

TestServer *server_start(const char *const *words, ServerReply *greeting) {
  int in[2], out[2];
  // Other servers must not inherit the ends: closing ours would not end this one.
  if (pipe2(in, O_CLOEXEC) != 0) return NULL;
  if (pipe2(out, O_CLOEXEC) != 0) return NULL;
  TestServer *s = new (TestServer);
  s->said = memfd_create("messages", MFD_CLOEXEC);
  signal(SIGPIPE, SIG_IGN);  // a program that has died is found by reading
  s->pid = fork();
  if (s->pid == 0) become_program(copy_words(words), in, out, s->said);
  close(in[0]);
  close(out[1]);
  s->to = fdopen(in[1], "w");
  s->from = fdopen(out[0], "r");
  if (s->pid < 0 || !s->to || !s->from) return NULL;
  *greeting = server_ask(s, "");
  return s;
}

// How the process ended, and what it said.
static ServerReply last_words(TestServer *s) {
  int status = 0;
  if (s->pid > 0) waitpid(s->pid, &status, 0);
  s->pid = 0;
  Text *t = text_new();
  if (WIFSIGNALED(status))
    text_printf(t, "the program crashed (%s)\n", strsignal(WTERMSIG(status)));
  else
    text_printf(t, "the program ended (status %d)\n", WEXITSTATUS(status));
  char buffer[4096];
  lseek(s->said, 0, SEEK_SET);
  for (ssize_t n; (n = read(s->said, buffer, sizeof buffer)) > 0;)
    text_add_bytes(t, buffer, (size_t)n);
  return (ServerReply){ .text = text_str(t) };
}

ServerReply server_ask(TestServer *s, const char *line) {
  if (!s->pid) return last_words(s);
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
  if (s->pid > 0) waitpid(s->pid, NULL, 0);
  close(s->said);
}
