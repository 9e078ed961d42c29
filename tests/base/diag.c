#include "base/diag.h"
#include "base/mem.h"
#include "base/text.h"
#include "unit.h"
#include <sys/wait.h>
#include <unistd.h>

static Loc at(const char *text, uint32_t start, uint32_t end) {
  return (Loc){ source_file_new("a.fl", text, strlen(text)), start, end };
}

static const char *shown(const char *text, uint32_t start, uint32_t end) {
  Compiler *c = compiler_new();
  error(c, at(text, start, end), "wrong");
  return diag_take_text(c);
}

static void underlines_the_range(void) {
  CHECK_TEXT(shown("let x = foo\nlet y = 1\n", 8, 11), "a.fl:1:9: error: wrong\n"
                                                       "    1 | let x = foo\n"
                                                       "      |         ^~~\n");
  CHECK_TEXT(shown("a\nlet y = 1", 6, 99), "a.fl:2:5: error: wrong\n"
                                           "    2 | let y = 1\n"
                                           "      |     ^~~~~\n");
  CHECK_TEXT(shown("", 0, 0), "a.fl:1:1: error: wrong\n    1 | \n      | ^\n");
  CHECK_TEXT(shown("x\n", 2, 2), "a.fl:2:1: error: wrong\n    2 | \n      | ^\n");
}

static void pieces_are_texts_of_their_own(void) {
  static const SourcePiece pieces[] = { { 5, "[1]", 1 }, { 17, "[2]", 7 } };
  static const char text[] = "open\na = 1\nb = 2\nc = 3\n";
  SourceFile *file = source_file_new("all", text, strlen(text));
  file->pieces = pieces;
  file->piece_count = 2;
  CHECK_TEXT(loc_text((Loc){ file, 1, 2 }), "all:1:2");
  CHECK_TEXT(loc_text((Loc){ file, 5, 6 }), "[1]:1:1");
  CHECK_TEXT(loc_text((Loc){ file, 13, 14 }), "[1]:2:3");
  CHECK_TEXT(loc_text((Loc){ file, 17, 18 }), "[2]:7:1");
  Compiler *c = compiler_new();
  error(c, (Loc){ file, 17, 18 }, "wrong");
  CHECK_TEXT(diag_take_text(c), "[2]:7:1: error: wrong\n    7 | c = 3\n      | ^\n");
}

// A file that is read twice is two files with one path.
static void says_a_thing_about_a_place_once(void) {
  Compiler *c = compiler_new();
  error(c, at("a b", 0, 1), "wrong");
  error(c, at("a b", 0, 1), "wrong");
  DiagSaved *before = diag_save(c);
  error(c, at("a b", 0, 1), "wrong");
  diag_add(c, before);
  error(c, at("a b", 2, 3), "wrong");
  CHECK_TEXT(diag_take_text(c), "a.fl:1:1: error: wrong\n    1 | a b\n      | ^\n"
                                "a.fl:1:3: error: wrong\n    1 | a b\n      |   ^\n");
}

static void counts_columns_as_seen(void) {
  CHECK_TEXT(shown("\tx\ty", 3, 4), "a.fl:1:4: error: wrong\n"
                                    "    1 |     x   y\n"
                                    "      |         ^\n");
  CHECK_TEXT(shown("\"ä漢e\xCC\x81\" z", 11, 12), "a.fl:1:8: error: wrong\n"
                                                  "    1 | \"ä漢e\xCC\x81\" z\n"
                                                  "      |        ^\n");
  CHECK_TEXT(shown("\xFF\x01 z\r\n", 3, 4), "a.fl:1:4: error: wrong\n"
                                            "    1 | ?? z\n"
                                            "      |    ^\n");
}

static void clips_long_lines(void) {
  Text *t = text_new();
  for (int i = 0; i < 1000; i++)
    text_add(t, "0123456789");
  const char *message = shown(text_str(t), 5003, 5006);
  CHECK(strlen(message) < 300);
  CHECK(strstr(message, "    1 | ...3456789"));
  const char *source = strstr(message, "| ...") + 2;
  const char *carets = strstr(source, "| ") + 2;
  const char *caret = strchr(carets, '^');
  CHECK(caret && source[caret - carets] == '3' && strcmp(caret, "^~~\n") == 0);
}

static void sorts_and_drops_duplicates(void) {
  Compiler *c = compiler_new();
  Loc whole = at("a b", 0, 1);
  Loc later = whole;
  later.start = 2;
  later.end = 3;
  error(c, later, "second");
  note(c, whole, "because");
  hint(c, "try %d", 1);
  limit(c, whole, "first");
  error(c, later, "second");
  note(c, whole, "dropped with its error");
  CHECK(diag_error_count(c) == 2);
  CHECK_TEXT(diag_take_text(c), "a.fl:1:1: error: not supported yet: first\n"
                                "    1 | a b\n      | ^\n"
                                "a.fl:1:3: error: second\n"
                                "    1 | a b\n      |   ^\n"
                                "a.fl:1:1: note: because\n"
                                "    1 | a b\n      | ^\n"
                                "hint: try 1\n");
  CHECK_TEXT(diag_take_text(c), "");
  CHECK(diag_ok(c));
}

static void stops_at_too_many(void) {
  Compiler *c = compiler_new();
  for (int i = 0; i < 19; i++)
    error(c, (Loc){ 0 }, "error %d", i);
  CHECK(!diag_full(c));
  for (int i = 19; i < 25; i++)
    error(c, (Loc){ 0 }, "error %d", i);
  CHECK(diag_full(c));
  const char *text = diag_take_text(c);
  CHECK(strstr(text, "error 19\ntoo many errors: 5 more not shown\n"));
}

static void warnings_are_no_errors(void) {
  Compiler *c = compiler_new();
  warning(c, (Loc){ 0 }, "odd");
  CHECK(diag_error_count(c) == 0);
  CHECK_TEXT(diag_take_text(c), "warning: odd\n");
}

static void proposes_the_closest_name(void) {
  NameTable *names = name_table_new();
  Name candidates[] = { name_of(names, "reduce"), name_of(names, "map2"),
                        name_of(names, "n") };
  CHECK(diag_closest(name_of(names, "redcue"), candidates, 3) == candidates[0]);
  CHECK(diag_closest(name_of(names, "map"), candidates, 3) == candidates[1]);
  CHECK(!diag_closest(name_of(names, "m"), candidates, 3));
  CHECK(!diag_closest(name_of(names, "scatter"), candidates, 3));
  CHECK(!diag_closest(name_of(names, ""), candidates, 3));
  CHECK(!diag_closest(name_of(names, "reduce"), NULL, 0));
}

static void bugs_name_the_phase(void) {
  int ends[2];
  CHECK(pipe(ends) == 0);
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDERR_FILENO);
    Compiler *c = compiler_new();
    c->phase = "fuse";
    bug(c, at("xs", 0, 2), "map without width");
  }
  close(ends[1]);
  char text[200] = { 0 };
  CHECK(read(ends[0], text, sizeof text - 1) > 0);
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 70);
  CHECK_TEXT(text, "a.fl:1:1: internal error in fuse: map without width\n"
                   "    1 | xs\n      | ^~\n");
}

int main(void) {
  mem_init();
  underlines_the_range();
  pieces_are_texts_of_their_own();
  says_a_thing_about_a_place_once();
  counts_columns_as_seen();
  clips_long_lines();
  sorts_and_drops_duplicates();
  stops_at_too_many();
  warnings_are_no_errors();
  proposes_the_closest_name();
  bugs_name_the_phase();
  return 0;
}
