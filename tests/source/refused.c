// Snippets that the parser refuses, and the first message.
#include "snippets.h"

typedef struct Snippet {
  SnippetKind kind;
  const char *text, *message;
} Snippet;

// clang-format off
static const Snippet snippets[] = {
  { SNIPPET_EXP, "match match x case 1 -> 2 case 3 -> match y case 4 -> 5", "error: expected 'case' after '5', found end of file" },
  { SNIPPET_EXP, "0x_f", "error: expected a number's suffix (i8 to u64, f16 to f64), found 'x_f'" },
  { SNIPPET_TYPE, "**i32", "error: expected a type, found '**'" },
  { SNIPPET_TYPE, "(i32,)", "error: expected a tuple of no or at least two types, found one" },
  { SNIPPET_TYPE, "[n", "error: expected ']' after 'n', found end of file" },
  { SNIPPET_TYPE, "i32 ->", "error: expected a type after '->', found end of file" },
  { SNIPPET_TYPE, "{a i32}", "error: expected ':' after 'a', found 'i32'" },
  { SNIPPET_PROGRAM, "val x : i32", "error: 'val' stands in module types only: a value is defined by `def x : i32 = ..`" },
  { SNIPPET_PROGRAM, "def x =", "error: expected an expression after '=', found end of file" },
  { SNIPPET_PROGRAM, "def x = 1 +", "error: expected an expression after '+', found end of file" },
  { SNIPPET_PROGRAM, "def x = (1 + 2", "error: expected ')' after '2', found end of file" },
  { SNIPPET_PROGRAM, "def x = f [1, 2", "error: expected ']' after '2', found end of file" },
  { SNIPPET_PROGRAM, "def x = {a = 1", "error: expected '}' after '1', found end of file" },
  { SNIPPET_PROGRAM, "def x = let y = 1", "error: expected 'in' after '1', found end of file" },
  { SNIPPET_PROGRAM, "def x = let y = 1 def z = 2", "error: expected 'in' after '1', found 'def'" },
  { SNIPPET_PROGRAM, "def x = if a then b", "error: expected 'else' after 'b', found end of file" },
  { SNIPPET_PROGRAM, "def 1 = 2", "error: a definition at top level binds a name, not a pattern" },
  { SNIPPET_PROGRAM, "def (a, b) = c", "error: a definition at top level binds a name, not a pattern" },
  { SNIPPET_PROGRAM, "def x = ) def y = ( def z = 1", "error: expected an expression after '=', found ')'" },
  { SNIPPET_PROGRAM, "def x = 'ab'", "error: expected an expression after '=', found '''" },
  { SNIPPET_PROGRAM, "def x = \"abc", "error: expected '\"' at the end of the string, found end of line" },
  { SNIPPET_PROGRAM, "def x = \"\\q\"", "error: unknown escape sequence in a literal" },
  { SNIPPET_PROGRAM, "def x = 1x", "error: expected a number's suffix (i8 to u64, f16 to f64), found 'x'" },
  { SNIPPET_PROGRAM, "def x = 1.5i32", "error: expected a suffix f16, f32 or f64 after a real number, found 'i32'" },
  { SNIPPET_PROGRAM, "def x = 0x", "error: expected a number's suffix (i8 to u64, f16 to f64), found 'x'" },
  { SNIPPET_PROGRAM, "def x = 0b2", "error: expected a number's suffix (i8 to u64, f16 to f64), found 'b2'" },
  { SNIPPET_PROGRAM, "def é = 1", "error: names consist of ASCII letters, digits, '_' and ''', found 'é'" },
  { SNIPPET_PROGRAM, "def x = @", "error: unexpected character '@'" },
  { SNIPPET_PROGRAM, "def x = a \ndef y = !", "error: expected an expression after '!', found end of file" },
  { SNIPPET_PROGRAM, "def x = a with = 1", "error: expected a field after 'with', found '='" },
  { SNIPPET_PROGRAM, "def x = loop _ for i < n do x", "error: expected names in a loop without initial value, found another pattern" },
  { SNIPPET_PROGRAM, "def x = loop x = 1 do x", "error: expected 'for' or 'while' after '1', found 'do'" },
  { SNIPPET_PROGRAM, "def x = match x", "error: expected 'case' after 'x', found end of file" },
  { SNIPPET_PROGRAM, "def x = \\ -> 1", "error: expected a parameter after '\\', found '->'" },
  { SNIPPET_PROGRAM, "def x = -- | no\n  1", "error: `-- |` documents a definition, and none follows" },
  { SNIPPET_PROGRAM, "type r = {\n  -- | no\n  x: i32\n}", "error: `-- |` documents a definition, and none follows" },
  { SNIPPET_PROGRAM, "module m = {\n  def x = 1\n  -- | no\n}", "error: `-- |` documents a definition, and none follows" },
  { SNIPPET_PROGRAM, "def x y", "error: expected '=' after 'y', found end of file" },
  { SNIPPET_PROGRAM, "type t", "error: expected '=' after 't', found end of file" },
  { SNIPPET_PROGRAM, "type = i32", "error: expected a type's name after 'type', found '='" },
  { SNIPPET_PROGRAM, "entry = 1", "error: expected a name to define after 'entry', found '='" },
  { SNIPPET_PROGRAM, "x = 1", "error: expected a definition, found 'x'" },
  { SNIPPET_PROGRAM, "def x = a ..  b", "error: expected '..<', '...' or '..>' after 'b', found end of file" },
  { SNIPPET_PROGRAM, "def x = a..b..c", "error: expected '..<', '...' or '..>' after 'b', found '..'" },
  { SNIPPET_PROGRAM, "def x = let f 1 = 2", "error: expected 'in' after '2', found end of file" },
  { SNIPPET_PROGRAM, "def x = xs[]", "error: expected an expression after '[', found ']'" },
  { SNIPPET_PROGRAM, "def x = (a,)", "error: expected an expression after ',', found ')'" },
  { SNIPPET_PROGRAM, "def in = 1", "error: expected a name to define after 'def', found 'in'" },
  { SNIPPET_PROGRAM, "def x = then", "error: expected an expression after '=', found 'then'" },
  { SNIPPET_PROGRAM, "include \"x\"", "error: 'include' stands in module types only" },
  { SNIPPET_PROGRAM, "def x = 1 2 3 : : i32", "error: expected a type after ':', found ':'" },
  { SNIPPET_PROGRAM, "def f x x[i] = 1", "error: expected '=' after 'x', found '['" },
  { SNIPPET_PROGRAM, "def f x = .5", "error: expected an expression after '=', found '.'" },
  { SNIPPET_PROGRAM, "def x = 1.", "error: expected a field after '.', found end of file" },
  { SNIPPET_PROGRAM, "def x = #[] 1", "error: expected an attribute after '#[', found ']'" },
  { SNIPPET_PROGRAM, "def x = a `b c", "error: expected '`' after 'b', found 'c'" },
};
// clang-format on

static void refuse(SnippetKind kind, const char *text, size_t length,
                   const char *message) {
  CHECK_TEXT(snippet_result(kind, text, length, false), message);
}

// before, `count` times `part`, after
static const char *repeated(const char *before, const char *part, int count,
                            const char *after) {
  Text *t = text_new();
  text_add(t, before);
  for (int i = 0; i < count; i++)
    text_add(t, part);
  text_add(t, after);
  return text_str(t);
}

static void check_depth(SnippetKind kind, const char *before, const char *part) {
  const char *text = repeated(before, part, 3000, "");
  const char *result = snippet_result(kind, text, strlen(text), false);
  CHECK_TEXT(result, "error: nested too deeply (levels: more than 2000)");
}

static void check_chain(const char *before, const char *part, const char *after) {
  const char *text = repeated(before, part, 10001, after);
  const char *result = snippet_result(SNIPPET_EXP, text, strlen(text), false);
  CHECK_TEXT(result, "error: nested too deeply (a chain of more than 10000)");
  text = repeated(before, part, 9000, after);
  CHECK(strncmp(snippet_result(SNIPPET_EXP, text, strlen(text), false), "error", 5) != 0);
}

// Several mistakes in one file are told, each once.
static void check_several(void) {
  Compiler *c = compiler_new();
  const char *text = "def a = )\ndef b = 1\ndef c = (2\nlet d = 3 in d\ndef e = [\n";
  CHECK(source_parse(c, source_file_new("t.fl", text, strlen(text))) == NULL);
  CHECK(diag_error_count(c) == 3);
  diag_take_text(c);
}

int main(void) {
  mem_init();
  for (size_t i = 0; i < sizeof snippets / sizeof *snippets; i++)
    refuse(snippets[i].kind, snippets[i].text, strlen(snippets[i].text),
           snippets[i].message);
  refuse(SNIPPET_PROGRAM, "def x\0 = 1", 10, "error: expected text, found a NUL byte");
  refuse(SNIPPET_PROGRAM, "-- \xff", 4,
         "error: expected text in UTF-8, found the byte 0xff");
  check_depth(SNIPPET_EXP, "", "(");
  check_depth(SNIPPET_EXP, "", "- ");
  check_depth(SNIPPET_EXP, "", "\\x -> ");
  check_depth(SNIPPET_EXP, "", "if a then b else ");
  check_depth(SNIPPET_TYPE, "", "[]");
  check_depth(SNIPPET_PROGRAM, "def f ", "(");
  check_chain("1", " + 1", "");
  check_chain("", "let x = 1\n", "in x");
  check_several();
  return 0;
}
