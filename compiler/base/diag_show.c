#include "base/diag_show.h"
#include <string.h>

// The source line is taken apart into characters, each with the columns that it fills on a
// screen, so that the caret stands right under tabs, wide and combining characters.

typedef struct ScreenCell {
  uint32_t start, end;  // bytes of the file
  int width;            // columns
} ScreenCell;

typedef Vec(ScreenCell) CellVec;

enum { TAB = 4, MOST_COLUMNS = 100, LEFT_OF_CARET = 40 };

typedef struct RuneRange {
  uint32_t first, last;
} RuneRange;

static bool in_ranges(uint32_t rune, const RuneRange *ranges, size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (rune >= ranges[i].first && rune <= ranges[i].last) return true;
  }
  return false;
}

// The main blocks of characters that terminals show without width or two columns wide.
static const RuneRange combining[] = {
  { 0x300, 0x36F },   { 0x483, 0x489 },   { 0x591, 0x5BD },   { 0x610, 0x61A },
  { 0x64B, 0x65F },   { 0x1AB0, 0x1AFF }, { 0x1DC0, 0x1DFF }, { 0x200B, 0x200F },
  { 0x20D0, 0x20FF }, { 0xFE00, 0xFE0F }, { 0xFE20, 0xFE2F }, { 0xFEFF, 0xFEFF },
};
static const RuneRange wide[] = {
  { 0x1100, 0x115F },   { 0x2E80, 0x303E },   { 0x3041, 0xA4CF },   { 0xA960, 0xA97F },
  { 0xAC00, 0xD7A3 },   { 0xF900, 0xFAFF },   { 0xFE30, 0xFE6F },   { 0xFF00, 0xFF60 },
  { 0xFFE0, 0xFFE6 },   { 0x1F300, 0x1F64F }, { 0x1F680, 0x1F6FF }, { 0x1F900, 0x1F9FF },
  { 0x20000, 0x3FFFD },
};

static int width_of(uint32_t rune) {
  if (in_ranges(rune, combining, sizeof combining / sizeof *combining)) return 0;
  return in_ranges(rune, wide, sizeof wide / sizeof *wide) ? 2 : 1;
}

// The number of bytes that a character of UTF-8 has by its first byte; 0 if it cannot be one.
static int sequence_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  return first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
}

// Reads the character at `at`; returns its length, 0 for a byte that is not UTF-8.
static int read_rune(const SourceFile *file, uint32_t at, uint32_t *rune) {
  unsigned char first = (unsigned char)file->text[at];
  int length = sequence_length(first);
  if (length == 0 || at + (size_t)length > file->length) return 0;
  *rune = length == 1 ? first : first & (0x7Fu >> length);
  for (int i = 1; i < length; i++) {
    unsigned char next = (unsigned char)file->text[at + (uint32_t)i];
    if ((next & 0xC0) != 0x80) return 0;
    *rune = *rune << 6 | (next & 0x3F);
  }
  return length;
}

static ScreenCell read_cell(const SourceFile *file, uint32_t at, int column) {
  uint32_t rune = 0;
  int length = read_rune(file, at, &rune);
  if (length == 0) return (ScreenCell){ .start = at, .end = at + 1, .width = 1 };
  int width = rune == '\t' ? TAB - column % TAB : width_of(rune);
  return (ScreenCell){ .start = at, .end = at + (uint32_t)length, .width = width };
}

// The characters of the line that begins there.
static CellVec read_line(const SourceFile *file, uint32_t at) {
  CellVec cells = { 0 };
  int column = 0;
  while (at < file->length && file->text[at] != '\n' && file->text[at] != '\r') {
    ScreenCell cell = read_cell(file, at, column);
    vec_push(&cells, cell);
    at = cell.end;
    column += cell.width;
  }
  return cells;
}

static void add_spaces(Text *t, int count) {
  while (count-- > 0)
    text_add(t, " ");
}

// Tabs become spaces; what is not a character, or would control the terminal, a question mark.
static void show_cell(Text *t, const SourceFile *file, ScreenCell cell) {
  unsigned char first = (unsigned char)file->text[cell.start];
  if (first == '\t') {
    add_spaces(t, cell.width);
    return;
  }
  uint32_t rune = 0;
  bool valid = read_rune(file, cell.start, &rune) != 0;
  bool control = rune < 0x20 || (rune >= 0x7F && rune < 0xA0);
  if (!valid || control)
    text_add(t, "?");
  else
    text_add_bytes(t, file->text + cell.start, cell.end - cell.start);
}

// The part of the line that is shown: all of it, or what lies around the caret.
typedef struct Window {
  int first, last;  // cells, `last` excluded
  int caret;        // the first cell to underline; may be the end of the line
} Window;

static int caret_cell(const CellVec *cells, uint32_t start) {
  int i = 0;
  while (i < cells->count && cells->at[i].end <= start)
    i++;
  return i;
}

static Window choose_window(const CellVec *cells, uint32_t start) {
  if (!cells->at) return (Window){ 0 };  // an empty line
  Window w = { .caret = caret_cell(cells, start) };
  w.first = w.caret;
  int columns = 0, total = 0;
  vec_each (const ScreenCell *, cell, cells)
    total += cell->width;
  if (total <= MOST_COLUMNS) return (Window){ 0, cells->count, w.caret };
  while (w.first > 0 && columns < LEFT_OF_CARET)
    columns += cells->at[--w.first].width;
  w.last = w.caret;
  while (w.last < cells->count && columns < MOST_COLUMNS) {
    columns += cells->at[w.last++].width;
  }
  return w;
}

static void show_source_line(Text *t, const SourceFile *file, const CellVec *cells,
                             Window w) {
  if (w.first > 0) text_add(t, "...");
  for (int i = w.first; i < w.last; i++)
    show_cell(t, file, cells->at[i]);
  if (w.last < cells->count) text_add(t, "...");
  text_newline(t);
}

static void show_underline(Text *t, Loc loc, const CellVec *cells, Window w) {
  if (w.first > 0) add_spaces(t, 3);
  for (int i = w.first; i < w.caret; i++)
    add_spaces(t, cells->at[i].width);
  int columns = 0;
  for (int i = w.caret; i < w.last && cells->at[i].start < loc.end; i++) {
    columns += cells->at[i].width;
  }
  text_add(t, "^");
  while (--columns > 0)
    text_add(t, "~");
}

static const char *colour(bool colours, const char *escape) {
  return colours ? escape : "";
}

void message_show_source(Text *t, Loc loc, bool colours) {
  CellVec cells = read_line(loc.file, loc_line_start(loc));
  Window w = choose_window(&cells, loc.start);
  const char *number = text_format("%5d", loc_line_col(loc).line);
  text_printf(t, "%s | ", number);
  show_source_line(t, loc.file, &cells, w);
  add_spaces(t, (int)strlen(number));
  text_printf(t, " | %s", colour(colours, "\033[32m"));
  show_underline(t, loc, &cells, w);
  text_add(t, colour(colours, "\033[0m"));
  text_newline(t);
}

typedef struct KindRow {
  const char *title;  // with what separates it from the text
  const char *escape;
} KindRow;

static const KindRow kinds[] = {
  [MESSAGE_ERROR] = { "error: ", "\033[1;31m" },
  [MESSAGE_WARNING] = { "warning: ", "\033[1;35m" },
  [MESSAGE_NOTE] = { "note: ", "\033[1;36m" },
  [MESSAGE_HINT] = { "hint: ", "\033[1;36m" },
  [MESSAGE_BUG] = { "", "\033[1;31m" },
};

static void show_head(Text *t, const DiagMessage *message, bool colours) {
  KindRow kind = kinds[message->kind];
  text_printf(t, "%s%s%s", colour(colours, kind.escape), kind.title,
              colour(colours, "\033[0m"));
  text_add(t, message->text);
  text_newline(t);
}

static bool same_loc(Loc a, Loc b) {
  return a.file == b.file && a.start == b.start && a.end == b.end;
}

// Notes on the message's own place need not show it again.
void message_show(Text *t, const DiagMessage *message, bool colours) {
  if (message->loc.file) text_printf(t, "%s: ", loc_text(message->loc));
  show_head(t, message, colours);
  if (message->loc.file) message_show_source(t, message->loc, colours);
  vec_each (const DiagMessage *, inner, &message->notes) {
    if (same_loc(inner->loc, message->loc))
      show_head(t, inner, colours);
    else
      message_show(t, inner, colours);
  }
}
