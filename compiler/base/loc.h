// Source files and positions in them.
#pragma once
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A part of a file that was written as a text of its own, from the beginning of a line on.
typedef struct SourcePiece {
  uint32_t start;
  const char *path;
  int line;  // the number of its first line there
} SourcePiece;

typedef struct SourceFile {
  const char *path;  // as the user wrote it; "prelude/soacs.fl" for built-in text
  const char *text;  // NUL-terminated, `length` bytes before the NUL
  size_t length;
  bool built_in;          // part of the prelude
  uint32_t *line_starts;  // byte offset of each line, `line_count` of them
  uint32_t line_count;
  const SourcePiece *pieces;  // in order; mostly there are none
  int piece_count;
} SourceFile;

// A half-open range of bytes.  `file` is NULL where no position makes sense.
typedef struct Loc {
  const SourceFile *file;
  uint32_t start, end;
} Loc;

typedef struct LineCol {
  int line, col;  // from 1; columns count characters, not bytes
} LineCol;

SourceFile *source_file_new(const char *path, const char *text, size_t length);
LineCol loc_line_col(Loc loc);     // in its piece
const char *loc_path(Loc loc);     // that of its piece
uint32_t loc_line_start(Loc loc);  // the byte in the file

// "file.fl:3:7" in collected memory; "<unknown>" without a file.
const char *loc_text(Loc loc);
