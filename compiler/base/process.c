#include "base/process.h"
#include "base/mem.h"
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static char **words(const char *const *argv) {
  int count = 0;
  while (argv[count])
    count++;
  char **copy = new_array(char *, count + 1);
  for (int i = 0; i < count; i++)
    copy[i] = mem_copy(argv[i], strlen(argv[i]) + 1);
  return copy;
}

_Noreturn static void become_program(const Process *p) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  bool ready = (p->in < 0 || dup2(p->in, STDIN_FILENO) >= 0) &&
               (p->out < 0 ||
                (dup2(p->out, STDOUT_FILENO) >= 0 && dup2(p->out, STDERR_FILENO) >= 0)) &&
               (p->log <= 0 || dup2(p->log, STDERR_FILENO) >= 0);
  char **argv = words(p->argv);
  signals_unblock();
  if (p->seconds) alarm(p->seconds);
  if (ready) execvp(argv[0], argv);
  _exit(127);
}

int process_run(const Process *p) {
  SignalHold hold = signals_hold();
  pid_t child = fork();
  if (child == 0) become_program(p);
  int got = 0;
  int status = child < 0 ? -1 : signals_wait(child, p->tick, &got);
  if (got) raise(got);  // it waits, too
  signals_release(&hold);
  return status;
}

// Folders can be executed, too, by access().
static bool is_executable(const char *path) {
  struct stat status;
  return access(path, X_OK) == 0 && stat(path, &status) == 0 && !S_ISDIR(status.st_mode);
}

const char *process_find(const char *name) {
  if (strchr(name, '/')) return is_executable(name) ? name : NULL;
  const char *path = getenv("PATH");
  for (const char *at = path ? path : "/bin:/usr/bin"; *at;) {
    int length = (int)strcspn(at, ":");
    const char *file = length ? text_format("%.*s/%s", length, at, name) : name;
    if (is_executable(file)) return file;
    at += length + (at[length] == ':');
  }
  return NULL;
}
