// Messages to the user, and the state that every phase shares.
//
// A user's mistake is an error(); input that is right but not yet handled is a limit() ("not
// supported yet: ..."); a mistake of ours is a bug(), which never returns.  Messages are lower
// case without a full stop: "expected X after Y, found Z".
#pragma once
#include "base/loc.h"
#include "base/map.h"
#include "base/name.h"

typedef struct Diag Diag;

typedef struct Compiler {
  NameTable *names;
  Diag *diag;
  const char *phase;  // the running phase or pass, for bug()
  Map *
      sources;  // by the Name of its path, each imported file; an editor puts in what it holds
  int next_id;    // supply of numbers that tell fresh binders apart
  bool check_ir;  // run the IR checkers after every pass
  bool explain;   // keep what schedules weighed (KernPlan.why)
} Compiler;

// A compiler whose messages go to standard error.
Compiler *compiler_new(void);

#define DIAG_FORMAT __attribute__((format(printf, 3, 4)))
void error(Compiler *c, Loc loc, const char *format, ...) DIAG_FORMAT;
void limit(Compiler *c, Loc loc, const char *format, ...) DIAG_FORMAT;
void warning(Compiler *c, Loc loc, const char *format, ...) DIAG_FORMAT;
// Belongs to the message before it: where the other type came from, what to write instead.
void note(Compiler *c, Loc loc, const char *format, ...) DIAG_FORMAT;
void hint(Compiler *c, const char *format, ...) __attribute__((format(printf, 2, 3)));
// Prints what is known and exits with status 70.
_Noreturn void bug(Compiler *c, Loc loc, const char *format, ...) DIAG_FORMAT;

int diag_error_count(const Compiler *c);

// True once no more messages are wanted (too many errors): phases may give up then.
bool diag_full(const Compiler *c);

// Prints the collected messages, in order of position within a file, and forgets them; errors
// stay counted.
void diag_flush(Compiler *c);

// For `flc test`: the messages as text instead of on standard error; also forgets them and their
// number.
const char *diag_take_text(Compiler *c);

// Takes the collected messages away, to give them back or not.
typedef struct DiagSaved DiagSaved;
DiagSaved *diag_save(Compiler *c);
void diag_restore(Compiler *c, const DiagSaved *saved);  // in place of those since
void diag_add(Compiler *c, const DiagSaved *saved);      // before those since

// Are messages shown in colours?
bool diag_wants_colours(void);

// Flushes; false if there were errors (the caller then returns with status 1).
bool diag_ok(Compiler *c);

// The name among `count` candidates that is closest to `name`, or NULL if none is close.
Name diag_closest(Name name, const Name *candidates, int count);
