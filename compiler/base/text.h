// Text under construction.  Emitters append to a Text; files are written once, at the end
// (base/file.h).
#pragma once
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>

typedef struct Text Text;

Text *text_new(void);
void text_add(Text *t, const char *s);
void text_add_bytes(Text *t, const char *s, size_t length);
void text_printf(Text *t, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_printf_list(Text *t, const char *format, va_list args)
    __attribute__((format(printf, 2, 0)));

// Starts a new line; what is next added to it is preceded by the current indentation.
void text_newline(Text *t);
void text_indent(Text *t,
                 int columns);  // changes the indentation, also by negative amounts

const char *text_str(const Text *t);  // valid until the next addition
size_t text_length(const Text *t);
void text_cut(Text *t, size_t length);  // forgets what is behind that

// Formatted text in collected memory.
const char *text_format(const char *format, ...) __attribute__((format(printf, 1, 2)));
char *text_format_list(const char *format, va_list args)
    __attribute__((format(printf, 1, 0), nonnull(1)));

// Reads a whole file ("-" is standard input) into NUL-terminated collected memory; NULL, with
// `errno` set, on failure.
char *text_read_file(const char *path, size_t *length);

// The same for texts, without the byte order mark that some editors put before them; lines may end
// as for text_with_newlines.
char *text_read_lines(const char *path, size_t *length);

// Lines may end in a carriage return alone, too, as on old machines: those are newlines here, at
// the same places.
const char *text_with_newlines(const char *text, size_t length);
