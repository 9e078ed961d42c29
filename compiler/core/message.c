// Texts of assertions (message.h).
#include "core/message.h"

Message message_new(void) { return (Message){ .text = text_new() }; }

void message_text(Message *m, const char *text) { text_add(m->text, text); }

void message_value(Message *m, Atom value) {
  if (value.kind == ATOM_CONST && prim_is_int(value.u.constant.type)) {
    text_printf(m->text, "%lld", (long long)value.u.constant.u.i);
    return;
  }
  vec_push(&m->parts, text_str(m->text));
  m->text = text_new();
  vec_push(&m->values, value);
}

void message_shape(Message *m, CoreType type) {
  for (int i = 0; i < type.rank; i++) {
    message_text(m, "[");
    message_value(m, type.dims[i]);
    message_text(m, "]");
  }
}

void message_end(Message *m) { vec_push(&m->parts, text_str(m->text)); }
