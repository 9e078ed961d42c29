// A generated program in a process of its own that serves commands (docs/cli.md, server).
#pragma once
#include <stdbool.h>

typedef struct TestServer TestServer;

typedef struct ServerReply {
  bool alive;  // false: the process has ended
  bool ok;     // false: it ended, or the command failed
  const char
      *text;  // what it said: the reply, the failure, or the last words of the process
} ServerReply;

// Starts a program by the words of a command line (then NULL), `--server` among them; `greeting`
// gets the first reply.  NULL if no process can be made.
TestServer *server_start(const char *const *words, ServerReply *greeting);
// Sends one line and waits for the reply.
ServerReply server_ask(TestServer *s, const char *line);
// Ends the process and waits for it.
void server_stop(TestServer *s);
