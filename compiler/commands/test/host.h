// A process in which programs run one after the other (runtime/host.c).
#pragma once
#include <stdbool.h>
#include <sys/types.h>

typedef struct TestHost {
  pid_t pid;   // 0: there is none
  int socket;  // where programs are asked for; only one may run at a time
  bool gone;   // it ended before a program did
} TestHost;

// Starts the process, unless it is there.  `program` is what compile_host made.
void host_start(TestHost *host, const char *program);
// Ends it, whatever runs there.
void host_stop(TestHost *host);
// Runs a program, compiled as a shared object, by the words of a command line (then NULL) and with
// these standard streams.  False if there is no process.
bool host_run(TestHost *host, const char *const *words, const int streams[3]);
// Waits for the end of the program.  False if the process has ended with it; else *status is what
// its main returned.
bool host_wait(TestHost *host, int *status);
