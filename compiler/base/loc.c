#include "base/loc.h"
#include "base/mem.h"
#include "base/text.h"

static uint32_t count_lines(const char *text, size_t length) {
  uint32_t lines = 1;
  for (size_t i = 0; i < length; i++)
    lines += text[i] == '\n';
  return lines;
}

static uint32_t *find_line_starts(const char *text, size_t length, uint32_t count) {
  uint32_t *starts = mem_alloc_plain(count * sizeof *starts);
  uint32_t line = 1;
  for (size_t i = 0; i < length; i++) {
    if (text[i] == '\n') starts[line++] = (uint32_t)i + 1;
  }
  return starts;
}

SourceFile *source_file_new(const char *path, const char *text, size_t length) {
  text = text_with_newlines(text, length);
  uint32_t count = count_lines(text, length);
  return new_node(SourceFile, .path = path, .text = text, .length = length,
                  .line_starts = find_line_starts(text, length, count),
                  .line_count = count);
}

// The index of the last line that starts at or before `offset`.
static uint32_t line_of(const SourceFile *file, uint32_t offset) {
  uint32_t low = 0, high = file->line_count;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    if (file->line_starts[middle] <= offset)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static const SourcePiece *piece_of(Loc loc) {
  const SourcePiece *piece = NULL;
  for (int i = 0; i < loc.file->piece_count; i++)
    if (loc.file->pieces[i].start <= loc.start) piece = &loc.file->pieces[i];
  return piece;
}

const char *loc_path(Loc loc) {
  const SourcePiece *piece = piece_of(loc);
  return piece ? piece->path : loc.file->path;
}

uint32_t loc_line_start(Loc loc) {
  return loc.file->line_starts[line_of(loc.file, loc.start)];
}

LineCol loc_line_col(Loc loc) {
  if (!loc.file) return (LineCol){ .line = 0, .col = 0 };
  uint32_t line = line_of(loc.file, loc.start);
  int col = 1;
  for (uint32_t i = loc.file->line_starts[line]; i < loc.start && i < loc.file->length;
       i++) {
    // Bytes 10xxxxxx continue a character of UTF-8.
    col += ((unsigned char)loc.file->text[i] & 0xC0) != 0x80;
  }
  // Inside a character of several bytes the column is that character's.
  bool inside = loc.start < loc.file->length &&
                ((unsigned char)loc.file->text[loc.start] & 0xC0) == 0x80;
  const SourcePiece *piece = piece_of(loc);
  int number = (int)line + 1;
  if (piece) number = (int)(line - line_of(loc.file, piece->start)) + piece->line;
  return (LineCol){ .line = number, .col = inside && col > 1 ? col - 1 : col };
}

const char *loc_text(Loc loc) {
  if (!loc.file) return "<unknown>";
  LineCol at = loc_line_col(loc);
  return text_format("%s:%d:%d", loc_path(loc), at.line, at.col);
}
