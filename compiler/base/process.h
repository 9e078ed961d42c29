// Programs that flc runs and waits for.
#pragma once
#include "base/file.h"
#include <stdbool.h>

typedef struct Process {
  const char *const *argv;  // then NULL; found along $PATH
  int in, out;       // standard input; standard output and error.  -1: those of flc
  int log;           // standard error, if it goes elsewhere than `out`; 0: it does not
  unsigned seconds;  // it then ends by SIGALRM; 0: it may take as long as it wants
  Tick tick;         // while it runs
} Process;

// Runs it to its end.  A signal that would end flc ends the program first.  The status of
// waitpid, or -1 if it could not be started.
int process_run(const Process *p);

// The file that runs when the name is called: itself, or found along $PATH; NULL if there
// is none.
const char *process_find(const char *name);
