// A generated program that serves commands (docs/cli.md, server).
#pragma once
#include "commands/test/host.h"

typedef struct TestServer TestServer;

typedef struct ServerReply {
  bool alive;  // false: the program has ended
  bool ok;     // false: it ended, or the command failed
  const char
      *text;  // what it said: the reply, the failure, or the last words of the program
} ServerReply;

// Starts a program by the words of a command line (then NULL), `--server` among them, in a process
// of its own or, if it is a shared object, in that of `host`; `greeting` gets the first reply.
// NULL if it cannot be started.
TestServer *server_start(const char *const *words, TestHost *host, ServerReply *greeting);
// Sends one line and waits for the reply.
ServerReply server_ask(TestServer *s, const char *line);
// Ends the program and waits for it.
void server_stop(TestServer *s);
