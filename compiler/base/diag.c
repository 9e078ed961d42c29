// Messages are collected with their notes, sorted by position and printed with the source line:
//
//   sum.fl:3:12: error: expected an array, found i32
//     3 | let s = reduce (+) 0 n
//       |                      ^
//   hint: ...
#include "base/diag.h"
#include "base/diag_show.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct Diag {
  Vec(DiagMessage) messages;
  int error_count;
  int warning_count;
  bool drop_notes;  // the message before was dropped, and its notes go with it
};

enum { MOST_ERRORS = 20, MOST_WARNINGS = 20, INTERNAL_ERROR_STATUS = 70 };

Compiler *compiler_new(void) {
  return new_node(Compiler, .names = name_table_new(), .diag = new (Diag),
                  .sources = map_new(NULL), .phase = "start");
}

static int compare_files(const SourceFile *a, const SourceFile *b) {
  if (a == b) return 0;
  if (!a || !b) return a ? 1 : -1;
  return strcmp(a->path, b->path);
}

static bool same_place(Loc a, Loc b) {
  return compare_files(a.file, b.file) == 0 && a.start == b.start;
}

static bool is_known(const Diag *diag, const DiagMessage *message) {
  for (int i = 0; i < diag->messages.count; i++) {
    const DiagMessage *m = &diag->messages.at[i];
    if (m->kind == message->kind && same_place(m->loc, message->loc) &&
        strcmp(m->text, message->text) == 0) {
      return true;
    }
  }
  return false;
}

// Counts the message; false if it is one too many.
static bool is_wanted(Diag *diag, MessageKind kind) {
  if (kind == MESSAGE_WARNING) return ++diag->warning_count <= MOST_WARNINGS;
  return ++diag->error_count <= MOST_ERRORS;
}

static void report(Compiler *c, DiagMessage message) {
  Diag *diag = c->diag;
  diag->drop_notes = is_known(diag, &message) || !is_wanted(diag, message.kind);
  if (!diag->drop_notes) vec_push(&diag->messages, message);
}

static void attach(Compiler *c, DiagMessage message) {
  Diag *diag = c->diag;
  if (diag->drop_notes) return;
  if (!diag->messages.count) return;
  vec_push(&diag->messages.at[diag->messages.count - 1].notes, message);
}

void error(Compiler *c, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(c, (DiagMessage){ .kind = MESSAGE_ERROR,
                           .loc = loc,
                           .text = text_format_list(format, args) });
  va_end(args);
}

void limit(Compiler *c, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = text_format("not supported yet: %s", text_format_list(format, args));
  va_end(args);
  report(c, (DiagMessage){ .kind = MESSAGE_ERROR, .loc = loc, .text = text });
}

void warning(Compiler *c, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  report(c, (DiagMessage){ .kind = MESSAGE_WARNING,
                           .loc = loc,
                           .text = text_format_list(format, args) });
  va_end(args);
}

void note(Compiler *c, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  attach(c, (DiagMessage){ .kind = MESSAGE_NOTE,
                           .loc = loc,
                           .text = text_format_list(format, args) });
  va_end(args);
}

void hint(Compiler *c, const char *format, ...) {
  va_list args;
  va_start(args, format);
  attach(c,
         (DiagMessage){ .kind = MESSAGE_HINT, .text = text_format_list(format, args) });
  va_end(args);
}

void bug(Compiler *c, Loc loc, const char *format, ...) {
  va_list args;
  va_start(args, format);
  const char *text = text_format_list(format, args);
  va_end(args);
  diag_flush(c);
  const char *full = text_format("internal error in %s: %s", c->phase, text);
  DiagMessage message = { .kind = MESSAGE_BUG, .loc = loc, .text = full };
  Text *t = text_new();
  message_show(t, &message, false);
  fputs(text_str(t), stderr);
  exit(INTERNAL_ERROR_STATUS);
}

struct DiagSaved {
  Diag diag;
};

DiagSaved *diag_save(Compiler *c) {
  DiagSaved *saved = new_node(DiagSaved, .diag = *c->diag);
  *c->diag = (Diag){ 0 };
  return saved;
}

void diag_add(Compiler *c, const DiagSaved *saved) {
  Diag since = *c->diag;
  *c->diag = saved->diag;
  vec_each (const DiagMessage *, message, &since.messages)
    if (!is_known(c->diag, message)) vec_push(&c->diag->messages, *message);
  c->diag->error_count += since.error_count;
  c->diag->warning_count += since.warning_count;
}

void diag_restore(Compiler *c, const DiagSaved *saved) { *c->diag = saved->diag; }

int diag_messages(const Compiler *c, const DiagMessage **messages) {
  *messages = c->diag->messages.at;
  return c->diag->messages.count;
}

int diag_error_count(const Compiler *c) { return c->diag->error_count; }

bool diag_full(const Compiler *c) { return c->diag->error_count >= MOST_ERRORS; }

static bool comes_before(const DiagMessage *a, const DiagMessage *b) {
  int files = compare_files(a->loc.file, b->loc.file);
  return files < 0 || (files == 0 && a->loc.start < b->loc.start);
}

// Insertion sort: it keeps the order of messages about one place, and there are few.
static void sort_messages(Diag *diag) {
  DiagMessage *at = diag->messages.at;
  for (int i = 1; i < diag->messages.count; i++) {
    DiagMessage moved = at[i];
    int j = i;
    for (; j > 0 && comes_before(&moved, &at[j - 1]); j--)
      at[j] = at[j - 1];
    at[j] = moved;
  }
}

static void show_all(Diag *diag, Text *t, bool colours) {
  sort_messages(diag);
  vec_each (const DiagMessage *, m, &diag->messages)
    message_show(t, m, colours);
  if (diag->error_count > MOST_ERRORS && diag->messages.count) {
    text_printf(t, "too many errors: %d more not shown", diag->error_count - MOST_ERRORS);
    text_newline(t);
  }
  diag->messages.count = 0;
}

bool diag_wants_colours(void) {
  const char *no_colour = getenv("NO_COLOR");
  return !(no_colour && *no_colour) && isatty(STDERR_FILENO);
}

void diag_flush(Compiler *c) {
  if (!c->diag->messages.count) return;
  Text *t = text_new();
  show_all(c->diag, t, diag_wants_colours());
  fflush(stdout);
  fputs(text_str(t), stderr);
}

const char *diag_take_text(Compiler *c) {
  Text *t = text_new();
  show_all(c->diag, t, false);
  *c->diag = (Diag){ 0 };
  return text_str(t);
}

bool diag_ok(Compiler *c) {
  diag_flush(c);
  return c->diag->error_count == 0;
}

enum { LONGEST_NAME = 64 };

static int least(int a, int b) { return a < b ? a : b; }

// The number of letters to insert, delete, replace or swap with a neighbour (Damerau's distance
// without overlapping edits).  Both names are shorter than LONGEST_NAME.
static int edit_distance(Name a, Name b) {
  int n = (int)strlen(a), m = (int)strlen(b);
  int rows[LONGEST_NAME][LONGEST_NAME];
  for (int i = 0; i <= n; i++)
    rows[i][0] = i;
  for (int j = 0; j <= m; j++)
    rows[0][j] = j;
  for (int i = 1; i <= n; i++) {
    for (int j = 1; j <= m; j++) {
      int replaced = rows[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
      rows[i][j] = least(replaced, 1 + least(rows[i - 1][j], rows[i][j - 1]));
      bool swapped = i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1];
      if (swapped) rows[i][j] = least(rows[i][j], 1 + rows[i - 2][j - 2]);
    }
  }
  return rows[n][m];
}

Name diag_closest(Name name, const Name *candidates, int count) {
  size_t length = strlen(name);
  if (length >= LONGEST_NAME) return NULL;
  Name closest = NULL;
  int best = ((int)length + 1) / 3 + 1;  // a third of the letters may be wrong
  for (int i = 0; i < count; i++) {
    if (strlen(candidates[i]) >= LONGEST_NAME) continue;
    int distance = edit_distance(name, candidates[i]);
    if (distance >= best) continue;
    best = distance;
    closest = candidates[i];
  }
  return closest;
}
