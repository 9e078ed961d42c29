// How one message looks: its first line, the source line with a caret, its notes.
#pragma once
#include "base/diag.h"
#include "base/loc.h"
#include "base/text.h"
#include "base/vec.h"

typedef enum MessageKind {
  MESSAGE_ERROR,  // limits, too
  MESSAGE_WARNING,
  MESSAGE_NOTE,
  MESSAGE_HINT,
  MESSAGE_BUG
} MessageKind;

typedef struct DiagMessage DiagMessage;
struct DiagMessage {
  MessageKind kind;
  Loc loc;
  const char *text;
  Vec(DiagMessage) notes;  // notes and hints, in the order in which they came
};

// The messages that were collected and not shown yet, in the order in which they came, and
// their number.
int diag_messages(const Compiler *c, const DiagMessage **messages);
// Adds the message and its notes to `t`, a line or more each.
void message_show(Text *t, const DiagMessage *message, bool colours);
// Adds the source line and the one with the caret.
void message_show_source(Text *t, Loc loc, bool colours);
