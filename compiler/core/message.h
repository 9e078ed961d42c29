// Texts of assertions.
#pragma once
#include "core/core.h"

// A message with values in it, put together piece by piece; constants
// become part of the text.
typedef struct Message {
  Text *text;  // the part under construction
  Vec(const char *) parts;
  AtomVec values;
} Message;
Message message_new(void);
void message_text(Message *m, const char *text);
void message_value(Message *m, Atom value);
void message_shape(Message *m, CoreType type);  // "[n][3]"
void message_end(Message *m);                   // before the parts are used
