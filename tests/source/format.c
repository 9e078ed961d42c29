// The layout of programs: for each file given, one that differs in white space and comments reads
// as the same program, and what the formatter makes of it is what it makes of that again, in lines
// of the usual length and in short ones.
//
// That a file reads as the same program before and after is checked by the formatter itself.
#include "source/format.h"
#include "base/mem.h"
#include "unit.h"
#include <string.h>

static uint64_t random_bits(uint64_t *state) {
  *state ^= *state << 13;
  *state ^= *state >> 7;
  *state ^= *state << 17;
  return *state;
}

static const char *program_text(const char *path, const char *text) {
  Compiler *c = compiler_new();
  SourceFile *file = source_file_new(path, text, strlen(text));
  file->built_in = true;
  const AstProgram *program = source_parse(c, file);
  if (!program) {
    diag_flush(c);
    return NULL;
  }
  Text *t = text_new();
  ast_print_program(t, program);
  return text_str(t);
}

static bool is_dots(TokenKind kind) {
  return kind == TOKEN_DOT || (kind >= TOKEN_DOTS && kind <= TOKEN_DOTS_THREE);
}

// Does the white space before the token mean something, or hold a test block?
static bool is_fixed(const SourceFile *file, const Token *t) {
  const Token *before = t - 1;
  bool number = before->kind == TOKEN_NATURAL || before->kind == TOKEN_INT ||
                before->kind == TOKEN_FLOAT;
  bool touching = t->kind == TOKEN_LBRACKET && before->end == t->start;
  bool line = t->first_on_line && (t->kind == TOKEN_LET || t->kind == TOKEN_ATTR);
  const char *block = strstr(file->text + before->end, "==");
  bool test = block && block < file->text + t->start;
  return touching || line || test || number || is_dots(t->kind) || is_dots(before->kind);
}

// White space, and perhaps a comment, to put before that of the file.
static const char *mangled_gap(uint64_t bits) {
  static const char *const gaps[] = {
    "",   "",  "", "", " ", "  ", "\n ", "\n\n\n   ", " -- a\n  ", "\n -- b\n\n  -- c\n ",
    "\t", "\n"
  };
  return gaps[bits % (sizeof gaps / sizeof *gaps)];
}

static const char *mangle(const char *path, const char *text, uint64_t *state) {
  SourceFile *file = source_file_new(path, text, strlen(text));
  TokenVec tokens = lex_file(compiler_new(), file);
  Text *t = text_new();
  uint32_t at = 0;
  for (int i = 0; i < tokens.count - 1; i++) {
    const Token *token = &tokens.at[i];
    uint32_t start = i > 0 ? tokens.at[i - 1].end : 0;
    bool doc = token->doc != NULL;
    if (i > 0 && !doc && !is_fixed(file, token)) {
      text_add_bytes(t, text + at, start - at);
      text_add(t, mangled_gap(random_bits(state)));
      at = start;
      // A definition must not come to stand behind another's comment; expressions not in column 0.
      bool hash = token->kind == TOKEN_ATTR || token->kind == TOKEN_LET;
      text_add_bytes(t, text + at, token->start - at);
      if (hash) text_add(t, " ");
      at = token->start;
    }
    text_add_bytes(t, text + at, token->end - at);
    at = token->end;
  }
  text_add(t, text + at);
  return text_str(t);
}

static const char *formatted(const char *path, const char *text, int width) {
  Compiler *c = compiler_new();
  const char *result = source_format(c, source_file_new(path, text, strlen(text)), width);
  if (!result) diag_flush(c);
  return result;
}

static void check_idempotent(const char *path, const char *text, int width) {
  const char *once = formatted(path, text, width);
  const char *twice = once ? formatted(path, once, width) : NULL;
  bool same = twice && strcmp(once, twice) == 0;
  if (!same)
    printf("%s: formatted again (width %d) it is another text:\n%s\n%s\n", path, width,
           once ? once : "", twice ? twice : "");
  CHECK(same);
}

static void check_file(const char *path, uint64_t *state) {
  enum { ROUNDS = 3, NARROW = 40 };
  size_t length;
  const char *text = text_read_file(path, &length);
  CHECK(text != NULL);
  const char *program = program_text(path, text);
  check_idempotent(path, text, FORMAT_WIDTH);
  check_idempotent(path, text, NARROW);
  for (int round = 0; round < ROUNDS && program; round++) {
    const char *other = mangle(path, text, state);
    const char *read = program_text(path, other);
    if (!read || strcmp(program, read) != 0) printf("%s: mangled:\n%s\n", path, other);
    CHECK(read && strcmp(program, read) == 0);
    check_idempotent(path, other, round ? FORMAT_WIDTH : NARROW);
  }
}

int main(int argc, char **argv) {
  mem_init();
  uint64_t state = 88172645463325252u;
  for (int i = 1; i < argc; i++)
    check_file(argv[i], &state);
  return 0;
}
