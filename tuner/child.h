// A program that serves commands on its standard input (docs/cli.md, "server"), watched: what does
// not answer in time is killed, what has died can be started again.
#pragma once
#include "base/text.h"
#include <stdbool.h>
#include <sys/types.h>

typedef struct Child {
  const char *const *argv;
  pid_t pid;  // 0: not running
  int to, from;
  int interrupt;  // a signalfd for Ctrl-C, or -1
  Text *buffer;   // bytes received beyond the last reply
  int starts;
  // Called for each line of a reply as it comes, which also gives the program more time; or NULL.
  void (*on_line)(void *state, const char *line);
  void *on_line_state;
  size_t heard;  // bytes of the buffer that on_line has seen
} Child;

typedef enum ReplyStatus {
  REPLY_OK,
  REPLY_FAILURE,      // the program says no: text
  REPLY_DIED,         // it crashed or closed its output: text says how
  REPLY_TIMEOUT,      // killed
  REPLY_INTERRUPTED,  // the user pressed Ctrl-C; killed
} ReplyStatus;

typedef struct Reply {
  ReplyStatus status;
  const char *text;
} Reply;

// From here on Ctrl-C does not end the process but the wait for a reply.
int child_catch_interrupt(void);

Reply child_start(Child *s, double timeout_s);

// Sends one line and waits for the reply.
Reply child_command(Child *s, double timeout_s, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

void child_stop(Child *s);

// The next line of a reply, at `*at`, which moves on; false at its end.
bool reply_line(const char **at, const char **line);

// Seconds on a clock that never jumps.
double child_now(void);
