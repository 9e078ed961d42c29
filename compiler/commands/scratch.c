#include "commands/scratch.h"
#include "base/file.h"
#include "base/mem.h"
#include "commands/commands.h"
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

// Servers are told the names of files in quotes, within a line.
static char *make_folder(Compiler *c) {
  const char *tmp = getenv("TMPDIR");
  bool usable = tmp && *tmp && !strpbrk(tmp, "\"\n");
  const char *pattern = text_format("%s/flc-XXXXXX", usable ? tmp : "/tmp");
  char *folder = mem_copy(pattern, strlen(pattern) + 1);
  if (mkdtemp(folder)) return folder;
  command_usage_error(c, "cannot make a folder in %s: %s", usable ? tmp : "/tmp",
                      strerror(errno));
  return NULL;
}

// Ends this process as the other one has ended.
static int pass_on(int status) {
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  if (WIFSIGNALED(status)) {
    signal(WTERMSIG(status), SIG_DFL);
    raise(WTERMSIG(status));
  }
  return 1;
}

int scratch_run(Compiler *c, int (*work)(void *state, const char *folder), void *state) {
  SignalHold hold = signals_hold();
  const char *folder = make_folder(c);
  fflush(NULL);
  pid_t child = folder ? fork() : -1;
  if (child == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    signals_unblock();
    exit(command_finish(c, work(state, folder)));
  }
  if (folder && child < 0)
    command_usage_error(c, "cannot start a process: %s", strerror(errno));
  int got, status = child < 0 ? -1 : signals_wait(child, (Tick){ 0 }, &got);
  if (folder) file_remove_folder(folder);
  signals_release(&hold);
  return child < 0 ? 1 : pass_on(status);
}
