// The parts of a literate program: text in comments, code, directives.
#include "base/diag_show.h"
#include "commands/literate/literate.h"
#include "source/source.h"
#include <ctype.h>
#include <string.h>

// ---- lines

typedef struct FileLine {
  uint32_t start;
  const char *text;  // without its end
} FileLine;
typedef Vec(FileLine) FileLines;

static FileLines lines_of(const SourceFile *file) {
  FileLines lines = { 0 };
  for (uint32_t at = 0; at < file->length;) {
    size_t length = strcspn(file->text + at, "\n");
    vec_push(&lines, (FileLine){ at, text_format("%.*s", (int)length, file->text + at) });
    at += (uint32_t)length + 1;
  }
  return lines;
}

static bool begins(const char *text, const char *with) {
  return strncmp(text, with, strlen(with)) == 0;
}

static bool is_blank_line(const char *text) { return !text[strspn(text, " \t\r")]; }
static bool is_bare(const char *text) {
  return begins(text, "--") && is_blank_line(text + 2);
}
// Comments in the first column that are text: "-- " and what follows.
static bool is_comment(const char *text) { return begins(text, "-- ") || is_bare(text); }

// ---- directives

typedef struct DirectiveWord {
  const char *word;
  DirectiveKind kind;
} DirectiveWord;

static const DirectiveWord directive_words[] = {
  { "img", DIRECTIVE_IMAGE },   { "video", DIRECTIVE_VIDEO },
  { "audio", DIRECTIVE_AUDIO }, { "plot2d", DIRECTIVE_PLOT },
  { "table", DIRECTIVE_TABLE }, { "gnuplot", DIRECTIVE_GNUPLOT },
};

void directive_fail(Directive *d, const char *format, ...) {
  if (d->failed) return;
  va_list args;
  va_start(args, format);
  const char *text = text_format_list(format, args);
  va_end(args);
  Compiler *c = compiler_new();
  error(c, d->loc, "%s", text);
  d->failed = diag_take_text(c);
}

static bool set_kind(Directive *d, const char *word) {
  enum { COUNT = sizeof directive_words / sizeof *directive_words };
  if (strcmp(word, "brief") == 0) return d->brief = true;
  if (strcmp(word, "covert") == 0) return d->covert = true;
  for (int i = 0; i < COUNT; i++) {
    if (strcmp(word, directive_words[i].word) != 0) continue;
    d->kind = directive_words[i].kind;
    return true;
  }
  return false;
}

// What stands before the expression: "> :brief :img ".  Its length.  `unknown`: the place of
// the word that is none of those.
static size_t read_head(Directive *d, const char *text, size_t *unknown) {
  size_t at = 1 + strspn(text + 1, " ");
  while (text[at] == ':' && isalpha((unsigned char)text[at + 1])) {
    size_t length = 1;
    while (isalnum((unsigned char)text[at + length]))
      length++;
    const char *word = text_format("%.*s", (int)length - 1, text + at + 1);
    if (!set_kind(d, word)) *unknown = at;
    at += length;
    at += strspn(text + at, " ");
  }
  return at;
}

// Where the expression ends: at a semicolon that is not within quotes, or with the text.
static size_t expression_end(const char *text, size_t at) {
  for (bool quoted = false; text[at]; at++) {
    if (quoted && text[at] == '\\' && text[at + 1])
      at++;
    else if (text[at] == '"')
      quoted = !quoted;
    else if (text[at] == ';' && !quoted)
      break;
  }
  return at;
}

// The part of the text from `start` to `end` in the lines of the file, where "-- " is
// before each line.
static const char *in_place(const char *text, size_t start, size_t end) {
  Text *t = text_new();
  text_add(t, "   ");
  for (size_t i = 0; i < end; i++) {
    text_add_bytes(t, i < start ? " " : text + i, 1);
    if (text[i] == '\n') text_add(t, "   ");
  }
  return text_str(t);
}

// The directive without `:brief` and `:covert`, and without its parameters if it is brief.
static const char *shown_directive(const Directive *d, const char *text, size_t start,
                                   size_t end) {
  Text *t = text_new();
  text_add(t, "> ");
  for (size_t i = 0; i < sizeof directive_words / sizeof *directive_words; i++)
    if (directive_words[i].kind == d->kind)
      text_printf(t, ":%s ", directive_words[i].word);
  text_add_bytes(t, text + start, end - start);
  if (!d->brief) text_add(t, text + end);
  return text_str(t);
}

// The word at `at` of the text is not the name of a directive.
static void fail_unknown(Directive *d, const char *text, size_t at) {
  int length = 1;
  while (isalnum((unsigned char)text[at + length]))
    length++;
  d->shown = text;
  d->loc.end = d->loc.start + length;
  directive_fail(d,
                 "unknown directive `%.*s`: expected `:img`, `:video`, `:audio`, "
                 "`:plot2d`, `:gnuplot`, `:table`, `:brief` or `:covert`",
                 length, text + at);
}

// The names of a directive's parameters, with blanks around each; NULL: a script, not parameters.
static const char *const param_names[DIRECTIVE_KINDS] = {
  [DIRECTIVE_VALUE] = " ",
  [DIRECTIVE_IMAGE] = " file ",
  [DIRECTIVE_VIDEO] = " file fps repeat format ",
  [DIRECTIVE_AUDIO] = " file sampling_frequency codec ",
  [DIRECTIVE_PLOT] = " file size ",
  [DIRECTIVE_GNUPLOT] = NULL,
  [DIRECTIVE_TABLE] = " ",
};

static void check_params(Directive *d) {
  const char *known = param_names[d->kind];
  for (const char *line = d->params; known && *line; line += strcspn(line, "\n")) {
    line += strspn(line, " \t\r\n");
    int length = (int)strcspn(line, " :=\t\r\n");
    if (!length || strstr(known, text_format(" %.*s ", length, line))) continue;
    const char *names = strlen(known) > 1 ? text_format("; it has:%s", known) : "";
    directive_fail(d, "the directive has no parameter `%.*s`%.*s", length, line,
                   (int)strlen(names) - (*names != '\0'), names);
    return;
  }
}

// Reads the directive that begins at line `at`; the line behind it.
static int read_directive(Literate *l, const FileLines *lines, int at) {
  Text *t = text_new();
  int end = at;
  do
    text_printf(t, "%s%s", end > at ? "\n" : "", lines->at[end].text + 3);
  while (++end < lines->count && is_comment(lines->at[end].text) &&
         !is_bare(lines->at[end].text) && !begins(lines->at[end].text, "-- >"));
  const char *text = text_str(t);
  Directive *d = new (Directive);
  size_t unknown = 0;
  size_t start = read_head(d, text, &unknown), stop = expression_end(text, start);
  size_t named = unknown ? unknown : start;
  uint32_t from = lines->at[at].start + 3 + (uint32_t)named;
  d->loc = (Loc){ l->file, from, from + (uint32_t)strcspn(text + named, ";\n") };
  d->shown = shown_directive(d, text, start, stop);
  d->exp = in_place(text, start, stop);
  d->params = text[stop] ? text + stop + 1 : "";
  if (unknown)
    fail_unknown(d, text, unknown);
  else if (is_blank_line(text_format("%.*s", (int)(stop - start), text + start)))
    directive_fail(d, "expected an expression");
  else
    check_params(d);
  vec_push(&l->directives, d);
  vec_push(&l->blocks, (Block){ BLOCK_DIRECTIVE, d->shown, d });
  return end;
}

const char *directive_param(const Directive *d, const char *key) {
  size_t length = strlen(key);
  for (const char *line = d->params; *line; line += strcspn(line, "\n")) {
    line += strspn(line, " \n");
    if (strncmp(line, key, length) != 0) continue;
    const char *value = line + length + strspn(line + length, " ");
    if (*value != ':' && *value != '=') continue;
    value += 1 + strspn(value + 1, " ");
    size_t end = strcspn(value, "\n");
    while (end && isspace((unsigned char)value[end - 1]))
      end--;
    return text_format("%.*s", (int)end, value);
  }
  return NULL;
}

// ---- the file

typedef struct BlockBuilder {
  Literate *l;
  BlockKind kind;
  Text *text;
} BlockBuilder;

static void end_block(BlockBuilder *b) {
  const char *text = text_str(b->text);
  size_t end = strlen(text);
  while (end && isspace((unsigned char)text[end - 1]))
    end--;
  text += strspn(text, "\r\n") > end ? end : strspn(text, "\r\n");
  if (end)
    vec_push(&b->l->blocks,
             (Block){ b->kind,
                      text_format("%.*s", (int)(end - (size_t)(text - text_str(b->text))),
                                  text),
                      NULL });
  b->text = text_new();
}

static void add_block_line(BlockBuilder *b, BlockKind kind, const char *line) {
  if (kind != b->kind) end_block(b);
  b->kind = kind;
  text_printf(b->text, "%s\n", line);
}

// Test blocks and the comments of definitions are code, up to their last line.
static int add_code_comment(BlockBuilder *b, const FileLines *lines, int at) {
  for (; at < lines->count && is_comment(lines->at[at].text); at++)
    add_block_line(b, BLOCK_CODE, lines->at[at].text);
  return at;
}

void literate_split(Literate *l) {
  FileLines lines = lines_of(l->file);
  BlockBuilder b = { l, BLOCK_TEXT, text_new() };
  bool may_begin = true;  // a directive may: behind an empty line or another one
  for (int i = 0; i < lines.count;) {
    const char *line = lines.at[i].text;
    if (begins(line, "-- >") && may_begin) {
      end_block(&b);
      i = read_directive(l, &lines, i);
      continue;
    }
    may_begin = is_blank_line(line) || is_bare(line);
    if (begins(line, "-- ==") || begins(line, "-- |")) {
      i = add_code_comment(&b, &lines, i);
      continue;
    }
    if (is_comment(line))
      add_block_line(&b, BLOCK_TEXT, is_bare(line) ? "" : line + 3);
    else
      add_block_line(&b, is_blank_line(line) ? b.kind : BLOCK_CODE, line);
    i++;
  }
  end_block(&b);
}
