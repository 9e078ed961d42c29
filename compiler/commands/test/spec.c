// Parses test blocks: runs of lines that start with `--` in column 0, with a line `==` among them.
#include "commands/test/spec.h"
#include "base/text.h"
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

typedef struct SpecParser {
  const char *at;  // in the block's text, its `--` removed
  const char *block;
  int first_line;  // of the block in the file
  TestSpec *spec;
  TextVec entries;  // that hold for the block
} SpecParser;

bool test_has_tag(const TextVec *tags, const char *tag) {
  for (int i = 0; i < tags->count; i++)
    if (strcmp(tags->at[i], tag) == 0) return true;
  return false;
}

static int line_of(const SpecParser *p) {
  int line = p->first_line;
  for (const char *s = p->block; s < p->at; s++)
    line += *s == '\n';
  return line;
}

static int column_of(const SpecParser *p) {
  int column = 1 + TEST_MARGIN;
  for (const char *s = p->at; s > p->block && s[-1] != '\n'; s--)
    column += ((unsigned char)*s & 0xc0) != 0x80;
  return column;
}

static bool complain(SpecParser *p, const char *what) {
  if (!p->spec->message)
    p->spec->message = text_format("line %d: test block: %s", line_of(p), what);
  return false;
}

static void skip_space(SpecParser *p) {
  while (isspace((unsigned char)*p->at))
    p->at++;
}

static void skip_blanks(SpecParser *p) {
  while (*p->at == ' ' || *p->at == '\t')
    p->at++;
}

static bool is_word_char(char ch) {
  return ch && !isspace((unsigned char)ch) && ch != '{' && ch != '}' && ch != '@' &&
         ch != '"';
}

// The next word, or "" if something else stands there.
static const char *word(SpecParser *p) {
  const char *start = p->at;
  while (is_word_char(*p->at))
    p->at++;
  return text_format("%.*s", (int)(p->at - start), start);
}

static bool accept_word(SpecParser *p, const char *wanted) {
  skip_space(p);
  const char *start = p->at;
  if (strcmp(word(p), wanted) == 0) return true;
  p->at = start;
  return false;
}

static const char *rest_of_line(SpecParser *p) {
  skip_blanks(p);
  const char *start = p->at;
  size_t length = strcspn(start, "\n");
  p->at += length;
  while (length && isspace((unsigned char)start[length - 1]))
    length--;
  return text_format("%.*s", (int)length, start);
}

static TextVec words_of(const char *text) {
  SpecParser line = { .at = text };
  TextVec words = { 0 };
  for (skip_space(&line); *line.at; skip_space(&line)) {
    const char *before = line.at;
    const char *next = word(&line);
    if (line.at == before) line.at++;
    if (*next) vec_push(&words, next);
  }
  return words;
}

// Past a string or comment, or one character, of the data between braces.
static const char *skip_data(const char *s) {
  if (s[0] == '-' && s[1] == '-') return s + strcspn(s, "\n");
  if (*s != '"') return s + 1;
  for (s++; *s && *s != '"'; s++)
    if (*s == '\\' && s[1]) s++;
  return *s ? s + 1 : s;
}

// The text between { and }; NULL if they are not there.
static const char *braces(SpecParser *p) {
  skip_space(p);
  if (*p->at != '{') return complain(p, "expected '{'") ? "" : NULL;
  const char *start = ++p->at;
  while (*p->at && *p->at != '}')
    p->at = skip_data(p->at);
  if (*p->at != '}')
    return complain(p, "expected '}' at the end of the data") ? "" : NULL;
  const char *text = text_format("%.*s", (int)(p->at - start), start);
  p->at++;
  return text;
}

// The text of a script between { and }, with records in it; NULL if they are not there.
static const char *script_braces(SpecParser *p) {
  skip_space(p);
  if (*p->at != '{') return complain(p, "expected '{'") ? "" : NULL;
  const char *start = ++p->at;
  for (int depth = 1; *p->at; p->at = skip_data(p->at)) {
    depth += *p->at == '{' ? 1 : *p->at == '}' ? -1 : 0;
    if (depth == 0) return text_format("%.*s", (int)(p->at++ - start), start);
  }
  return complain(p, "expected '}' at the end of the script") ? "" : NULL;
}

// Whether a blank here separates a file's name from what the case has as its outcome.
static bool starts_outcome(const char *s) {
  if (!isspace((unsigned char)*s)) return false;
  SpecParser rest = { .at = s };
  if (accept_word(&rest, "auto")) return accept_word(&rest, "output");
  if (accept_word(&rest, "error:")) return true;
  if (!accept_word(&rest, "output")) return false;
  skip_blanks(&rest);
  return *rest.at == '{' || *rest.at == '@';
}

// Up to the end of the line or an outcome: names may have blanks in them.
static const char *file_name(SpecParser *p) {
  skip_blanks(p);
  const char *start = p->at;
  while (*p->at && *p->at != '\n' && !starts_outcome(p->at))
    p->at++;
  SpecParser name = { .at = text_format("%.*s", (int)(p->at - start), start) };
  return rest_of_line(&name);
}

// { values } or @ file
static bool values_or_file(SpecParser *p, TestText *out) {
  skip_space(p);
  bool is_file = *p->at == '@';
  if (is_file) p->at++;
  out->source = is_file ? TEST_FILE : TEST_VALUES;
  out->line = line_of(p);
  out->column = column_of(p) + 1;  // behind the brace
  out->text = is_file ? file_name(p) : braces(p);
  return out->text &&
         (*out->text || !is_file || complain(p, "expected a file name after '@'"));
}

static bool parse_outcome(SpecParser *p, TestCase *test) {
  if (accept_word(p, "auto"))
    return accept_word(p, "output") || complain(p, "expected 'output' after 'auto'");
  if (accept_word(p, "output")) return values_or_file(p, &test->outcome);
  if (accept_word(p, "error:")) {
    test->outcome.source = TEST_ERROR;
    test->outcome.text = rest_of_line(p);
  }
  return true;
}

static bool parse_input(SpecParser *p, TestCase *test) {
  switch ((int)test->input.source) {
  case TEST_RANDOM: test->input.text = braces(p); break;
  case TEST_SCRIPT:
    skip_space(p);
    if (*p->at == '@') {
      if (!values_or_file(p, &test->input)) return false;
      test->input.source = TEST_SCRIPT_FILE;
    } else {
      test->input.text = script_braces(p);
    }
    break;
  default:
    if (!values_or_file(p, &test->input)) return false;
  }
  if (!test->input.text) return false;
  if (!parse_outcome(p, test)) return false;
  test->entries = p->entries;
  vec_push(&p->spec->cases, *test);
  return true;
}

// "name" of a data set
static const char *quoted(SpecParser *p) {
  const char *start = ++p->at;
  p->at += strcspn(p->at, "\"\n");
  const char *name = text_format("%.*s", (int)(p->at - start), start);
  if (*p->at == '"') p->at++;
  return name;
}

// What stands where a case has its `input`, and behind which word, which may have been meant so.
static const char *expected_input(const SpecParser *p, const char *after) {
  const char *found = *p->at ? text_format("'%c'", *p->at) : "the end of the block";
  if (!after) return text_format("expected 'input', found %s", found);
  if (*p->at == '{')
    return text_format("expected 'input' or 'output' before '{', found '%s'", after);
  return text_format("expected 'input' after '%s', found %s", after, found);
}

// "name" tags input ... output ..., where `random` or `script` may be among the tags
static bool parse_case(SpecParser *p) {
  TestCase test = { .line = line_of(p) };
  for (const char *last = NULL;;) {
    skip_space(p);
    if (*p->at == '"') {
      if (test.name) return complain(p, "the case has a name already");
      test.name = quoted(p);
      continue;
    }
    const char *next = word(p);
    if (strcmp(next, "input") == 0) return parse_input(p, &test);
    if (!*next) return complain(p, expected_input(p, last));
    if (next[strlen(next) - 1] == ':')
      return complain(p, text_format("'%s' stands before the cases, not in one", next));
    bool random = strcmp(next, "random") == 0, script = strcmp(next, "script") == 0;
    if (random || script)
      test.input.source = random ? TEST_RANDOM : TEST_SCRIPT;
    else
      vec_push(&test.tags, next);
    last = next;
  }
}

static bool parse_structure(SpecParser *p) {
  TestStructure structure = { .stage =
                                  "none" };  // of another compiler, if it is not given
  skip_space(p);
  if (*p->at != '{') structure.stage = word(p);
  const char *text = braces(p);
  if (!text) return false;
  TextVec words = words_of(text);
  if (words.count % 2) return complain(p, "expected a number after each kind of node");
  for (int i = 0; i < words.count; i += 2) {
    vec_push(&structure.nodes, words.at[i]);
    vec_push(&structure.counts, atoi(words.at[i + 1]));
  }
  vec_push(&p->spec->structures, structure);
  return true;
}

static bool parse_tolerances(SpecParser *p) {
  TextVec words = words_of(rest_of_line(p));
  for (int i = 0; i < words.count; i++) {
    char *end = NULL;
    double tolerance = strtod(words.at[i], &end);
    if (*end || tolerance < 0) return complain(p, "expected numbers after 'tolerance:'");
    vec_push(&p->spec->tolerances, tolerance);
  }
  return words.count || complain(p, "expected a number after 'tolerance:'");
}

static bool parse_tags(SpecParser *p) {
  const char *text = braces(p);
  if (text) p->spec->tags = words_of(text);
  return text != NULL;
}

static bool parse_properties(SpecParser *p) {
  int line = line_of(p);
  TextVec names = words_of(rest_of_line(p));
  for (int i = 0; i < names.count; i++)
    vec_push(&p->spec->properties, (TestProperty){ line, names.at[i] });
  return names.count || complain(p, "expected names after 'property:'");
}

static bool parse_item(SpecParser *p) {
  if (accept_word(p, "tags")) return parse_tags(p);
  if (accept_word(p, "structure")) return parse_structure(p);
  if (accept_word(p, "tolerance:")) return parse_tolerances(p);
  if (accept_word(p, "type"))
    return *rest_of_line(p) != '\0';  // tests/types/programs.c checks it
  if (accept_word(p, "property:")) return parse_properties(p);
  if (accept_word(p, "error:")) {
    p->spec->error = rest_of_line(p);
    return true;
  }
  if (accept_word(p, "warning:")) {
    vec_push(&p->spec->warnings, rest_of_line(p));
    return true;
  }
  if (accept_word(p, "entry:")) {
    p->entries = words_of(rest_of_line(p));
    return p->entries.count || complain(p, "expected names after 'entry:'");
  }
  return parse_case(p);
}

static void parse_block(TestSpec *spec, const char *text, int first_line) {
  SpecParser p = { .at = text, .block = text, .first_line = first_line, .spec = spec };
  vec_push(&p.entries, "main");
  for (skip_space(&p); *p.at && !spec->message; skip_space(&p))
    if (!parse_item(&p)) return;
}

static bool is_marker(const char *line, size_t length) {
  while (length && isspace((unsigned char)*line)) {
    line++;
    length--;
  }
  while (length && isspace((unsigned char)line[length - 1]))
    length--;
  return length == 2 && memcmp(line, "==", 2) == 0;
}

TestSpec test_spec_parse(const char *text) {
  TestSpec spec = { 0 };
  Text *block = NULL;  // of the tests after the marker; NULL outside of them
  int line = 1, first_line = 1;
  for (const char *s = text;; line++) {
    size_t length = strcspn(s, "\n");
    bool comment = length >= 2 && s[0] == '-' && s[1] == '-';
    bool marker = comment && is_marker(s + 2, length - 2);
    if (block && (!comment || marker)) {
      parse_block(&spec, text_str(block), first_line);
      block = NULL;
    }
    if (marker) {
      block = text_new();
      spec.found = true;
      first_line = line + 1;
    } else if (block) {
      text_add_bytes(block, s + 2, length - 2);
      text_add(block, "\n");
    }
    if (!s[length]) break;
    s += length + 1;
  }
  if (block) parse_block(&spec, text_str(block), first_line);
  return spec;
}

TestSpec test_spec_parse_file(const char *text) {
  Text *block = text_new();
  for (bool more = true; more; text += strcspn(text, "\n"), text += more) {
    size_t length = strcspn(text, "\n");
    text_add(block, "--");
    text_add_bytes(block, text, length);
    text_add(block, "\n");
    more = text[length] != '\0';
  }
  TestSpec spec = test_spec_parse(text_str(block));
  vec_each (TestCase *, test, &spec.cases)
    test->input.line = test->outcome.line = 0;
  return spec;
}
