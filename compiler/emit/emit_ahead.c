// OpenCL programs that were compiled for a device, as C text (runtime/ahead.h reads it).
//
// Digits of base 85 in string literals: five bytes for four, which C compilers read as fast as any
// other text; \x codes would take eleven, arrays of numbers fifteen and much longer to compile.
// C99 asks compilers for literals of 4095 characters, so there are several.
#include "base/diag.h"
#include "emit/emit.h"
#include <zlib.h>

enum { DIGITS = 5, WORDS_PER_LINE = 18, LINES_PER_LITERAL = 44 };

// The bytes as a gzip file; deflate cannot fail with enough memory.
static Text *packed(const AheadProgram *program) {
  enum { GZIP_WINDOW = 15 + 16, MEMORY_LEVEL = 9 };
  Text *t = text_new();
  z_stream z = { 0 };
  deflateInit2(&z, Z_BEST_COMPRESSION, Z_DEFLATED, GZIP_WINDOW, MEMORY_LEVEL,
               Z_DEFAULT_STRATEGY);
  z.next_in = (Bytef *)(uintptr_t)program->bytes;
  z.avail_in = (uInt)program->length;
  unsigned char out[1 << 14];
  do {
    z.next_out = out;
    z.avail_out = sizeof out;
    deflate(&z, Z_FINISH);
    text_add_bytes(t, (const char *)out, sizeof out - z.avail_out);
  } while (z.avail_out == 0);
  deflateEnd(&z);
  return t;
}

// A digit is a character from '#' on, but not '?', which may begin a trigraph, nor '\\'.
static char digit_of(unsigned value) {
  char c = (char)('#' + value);
  if (c >= '?') c++;
  if (c >= '\\') c++;
  return c;
}

// Four bytes, zeros after the end.
static void add_word(Text *t, const unsigned char *bytes, size_t left) {
  uint32_t word = 0;
  char digits[DIGITS];
  for (size_t i = 0; i < 4; i++)
    word = word << 8 | (i < left ? bytes[i] : 0);
  for (int i = DIGITS - 1; i >= 0; i--, word /= 85)
    digits[i] = digit_of(word % 85);
  text_add_bytes(t, digits, DIGITS);
}

static void pieces(Text *t, const Text *bytes, int number) {
  const unsigned char *at = (const unsigned char *)text_str(bytes);
  size_t length = text_length(bytes), words = 0;
  text_printf(t, "\nstatic const char *const ahead_%d[] = {", number);
  for (size_t i = 0; i < length; i += 4, words++) {
    bool line = words % WORDS_PER_LINE == 0,
         literal = words % ((size_t)WORDS_PER_LINE * LINES_PER_LITERAL) == 0;
    if (line && words) text_add(t, literal ? "\"," : "\"");
    if (line) text_add(t, "\n  \"");
    add_word(t, at + i, length - i);
  }
  text_add(t, "\",\n  NULL,\n};\n");
}

void emit_ahead(Text *t, const Ahead *ahead) {
  Text *rows = text_new();
  for (int i = 0; i < ahead->programs.count; i++) {
    pieces(t, packed(&ahead->programs.at[i]), i);
    text_printf(rows, "\n  { %s, ahead_%d },", c_string(ahead->programs.at[i].about), i);
  }
  text_printf(t, "\nstatic const struct rt_ahead_program ahead_programs[] = {%s\n};\n",
              text_str(rows));
  text_printf(t,
              "\nstatic const struct rt_ahead program_ahead = {\n  %s,\n  %s,\n  %s,\n  "
              "ahead_programs, %d,\n};\n",
              c_string(ahead->device), c_string(ahead->driver), c_string(ahead->platform),
              ahead->programs.count);
}
