// Files that the build turned into bytes of the compiler (prelude/embed.py).
#pragma once
#include <stddef.h>

typedef struct EmbeddedFile {
  const char *path;  // from the root of the source tree: "prelude/soacs.fl"
  const char *text;  // NUL-terminated, `length` bytes before the NUL
  size_t length;
} EmbeddedFile;

// The prelude, in the order of the list in meson.build.
extern const EmbeddedFile prelude_files[];
extern const int prelude_file_count;

// runtime/, for generated programs.
extern const EmbeddedFile runtime_files[];
extern const int runtime_file_count;

// Templates of pages (commands/html.h).
extern const EmbeddedFile page_files[];
extern const int page_file_count;
