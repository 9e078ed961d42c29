// Reads recipes: a step to a line, or several with semicolons between; `--` begins a comment.
#include "base/text.h"
#include "kern/recipes/recipe_book.h"
#include <ctype.h>
#include <errno.h>
#include <string.h>

enum { MOST_WORDS = 16, MOST_POINTS = 1 << 20 };

typedef struct RecipeReader {
  Compiler *c;
  const SourceFile *file;
  uint32_t at, end;
  bool of_exp;  // a string in the source, for one expression
  // The words of the step at hand.
  Loc words[MOST_WORDS];
  int count, next;
  bool failed;
} RecipeReader;

// ---- words

static const char *word_text(const RecipeReader *r, Loc loc) {
  return text_format("%.*s", (int)(loc.end - loc.start), r->file->text + loc.start);
}

// The character at hand; 0: that was all.
static char peek_char(const RecipeReader *r) {
  static const char none = '\0';
  return *(r->at < r->end ? &r->file->text[r->at] : &none);
}

static bool at_comment(const RecipeReader *r) {
  return r->at + 1 < r->end && strncmp(r->file->text + r->at, "--", 2) == 0;
}

static bool ends_word(const RecipeReader *r) {
  return !peek_char(r) || strchr(" \t\r\n;", peek_char(r)) || at_comment(r);
}

static void skip_blanks(RecipeReader *r) {
  while (peek_char(r) && strchr(" \t\r", peek_char(r)))
    r->at++;
  if (!at_comment(r)) return;
  while (peek_char(r) && peek_char(r) != '\n')
    r->at++;
}

static Loc read_word(RecipeReader *r) {
  Loc loc = { r->file, r->at, r->at };
  while (!ends_word(r))
    r->at++;
  loc.end = r->at;
  return loc;
}

// The words up to the next semicolon or the end of the line; false at the end of the file.
static bool read_words(RecipeReader *r) {
  r->count = r->next = 0;
  r->failed = false;
  for (;;) {
    skip_blanks(r);
    char ends = peek_char(r);
    bool over = !ends || ends == '\n' || ends == ';';
    if (!over) {
      Loc word = read_word(r);
      if (r->count < MOST_WORDS) r->words[r->count++] = word;
      continue;
    }
    if (ends) r->at++;
    if (r->count) return true;
    if (!ends) return false;
  }
}

static Loc whole_step(const RecipeReader *r) {
  return (Loc){ r->file, r->words[0].start, r->words[r->count - 1].end };
}

// The next word, or the end of the step.
static Loc here(const RecipeReader *r) {
  if (r->next < r->count) return r->words[r->next];
  uint32_t end = r->words[r->count - 1].end;
  return (Loc){ r->file, end, end };
}

static void expected(RecipeReader *r, const char *what) {
  if (r->failed) return;
  r->failed = true;
  Loc loc = here(r);
  bool ends = r->next >= r->count;
  error(r->c, loc, "expected %s, found %s", what,
        ends ? "the end of the step" : word_text(r, loc));
}

static bool accept_word(RecipeReader *r, const char *word) {
  if (r->failed || r->next >= r->count) return false;
  if (strcmp(word_text(r, r->words[r->next]), word) != 0) return false;
  r->next++;
  return true;
}

// ---- parts of steps

static bool is_axis_name(const char *word) {
  return isalpha((unsigned char)*word) || *word == '_';
}

static void read_axis(RecipeReader *r, RecipeStep *step) {
  bool is_axis = r->next < r->count && is_axis_name(word_text(r, r->words[r->next]));
  if (!is_axis || step->axis_count == MOST_STEP_AXES) {
    expected(r, is_axis ? "at most 8 axes" : "the name of an axis");
    return;
  }
  step->axis_locs[step->axis_count] = r->words[r->next];
  step->axes[step->axis_count++] =
      name_of(r->c->names, word_text(r, r->words[r->next++]));
}

static void read_number(RecipeReader *r, RecipeStep *step) {
  const char *word = r->next < r->count ? word_text(r, r->words[r->next]) : "";
  size_t length = strspn(word, "0123456789");
  for (size_t i = 0; i < length && step->number <= MOST_POINTS; i++)
    step->number = 10 * step->number + (word[i] - '0');
  if (!length || word[length] || step->number < 1 || step->number > MOST_POINTS)
    expected(r, text_format("a number from 1 to %d", MOST_POINTS));
  else
    r->next++;
}

static void read_split(RecipeReader *r, RecipeStep *step) {
  read_axis(r, step);
  if (accept_word(r, "into")) {
    step->verb = VERB_SPLIT_INTO;
    read_number(r, step);
    return;
  }
  if (!accept_word(r, "by")) expected(r, "`by` or `into`");
  read_number(r, step);
  step->rest = SPLIT_BOUND;
  for (int i = SPLIT_SHORT; i <= SPLIT_FOLLOW; i++)
    if (accept_word(r, recipe_rest_word((SplitRest)i))) step->rest = (SplitRest)i;
}

static void read_permute(RecipeReader *r, RecipeStep *step) {
  read_axis(r, step);
  do
    read_axis(r, step);
  while (!r->failed && r->next < r->count);
}

static void read_axis_by(RecipeReader *r, RecipeStep *step) {
  read_axis(r, step);
  if (!accept_word(r, "by")) expected(r, "`by`");
  read_number(r, step);
}

static void read_bind(RecipeReader *r, RecipeStep *step) {
  do
    read_axis(r, step);
  while (!r->failed && !accept_word(r, "to"));
  for (int i = BIND_SEQ; i <= BIND_REG; i++) {
    step->bind = (AxisBind)i;
    if (accept_word(r, recipe_bind_word(step->bind))) return;
  }
  expected(r, "`seq`, `grid`, `lane` or `reg`");
}

static void read_one_axis(RecipeReader *r, RecipeStep *step) { read_axis(r, step); }

static void read_interior(RecipeReader *r, RecipeStep *step) {
  step->move = accept_word(r, "move");
}

static void read_nothing(RecipeReader *r, RecipeStep *step) {
  (void)r;
  (void)step;
}

static void read_where(RecipeReader *r, RecipeStep *step) {
  read_axis(r, step);
  step->fewer = accept_word(r, "<");
  step->fills = !step->fewer && accept_word(r, "fills");
  if (!step->fewer && !step->fills && !accept_word(r, ">="))
    expected(r, "`>=`, `<` or `fills`");
  read_number(r, step);
}

// ---- steps

typedef struct VerbRow {
  const char *name;
  RecipeVerb verb;
  void (*read)(RecipeReader *r, RecipeStep *step);
  const char *usage;
} VerbRow;

// clang-format off
static const VerbRow verbs[] = {
  { "split", VERB_SPLIT, read_split,
    "split AXIS by NUMBER [short|run|peel|chain|overlap|clamp|follow], or split AXIS into NUMBER" },
  { "permute",  VERB_PERMUTE,  read_permute,  "permute AXIS AXIS .., outermost first" },
  { "sweep",    VERB_SWEEP,    read_axis_by,  "sweep AXIS by NUMBER" },
  { "collect",  VERB_COLLECT,  read_axis_by, "collect AXIS by NUMBER" },
  { "bind",     VERB_BIND,     read_bind,     "bind AXIS .. to seq|grid|lane|reg" },
  { "unswitch", VERB_UNSWITCH, read_one_axis, "unswitch AXIS" },
  { "unroll", VERB_UNROLL, read_one_axis, "unroll AXIS" },
  { "cut", VERB_CUT, read_one_axis, "cut AXIS" },
  { "align", VERB_ALIGN, read_one_axis, "align AXIS" },
  { "stage", VERB_STAGE, read_one_axis, "stage AXIS" },
  { "interior", VERB_INTERIOR, read_interior, "interior [move]" },
  { "spread", VERB_SPREAD, read_nothing, "spread" },
  { "where",    VERB_WHERE,    read_where,    "where AXIS >=|<|fills NUMBER" },
};
// clang-format on

enum { VERB_ROWS = sizeof verbs / sizeof *verbs };

// Words that begin no step: kernel and otherwise.
static void unknown_step(RecipeReader *r) {
  Name names[VERB_ROWS + 2];
  for (int i = 0; i < VERB_ROWS; i++)
    names[i] = verbs[i].name;
  names[VERB_ROWS] = "kernel";
  names[VERB_ROWS + 1] = "otherwise";
  const char *word = word_text(r, r->words[0]);
  error(r->c, r->words[0], "unknown step `%s`", word);
  Name close = diag_closest(word, names, VERB_ROWS + 2);
  if (close && strcmp(close, word) != 0)
    hint(r->c, "did you mean %s?", close);
  else
    hint(r->c, "steps are split, permute, sweep, collect, bind, unswitch, unroll, cut, "
               "align, stage, "
               "interior, spread and where");
}

static bool read_step(RecipeReader *r, RecipeStep *step) {
  *step = (RecipeStep){ .loc = whole_step(r) };
  for (int i = 0; i < VERB_ROWS; i++) {
    if (!accept_word(r, verbs[i].name)) continue;
    step->verb = verbs[i].verb;
    verbs[i].read(r, step);
    if (!r->failed && r->next < r->count) expected(r, "the end of the step");
    if (r->failed) hint(r->c, "%s", verbs[i].usage);
    return !r->failed;
  }
  unknown_step(r);
  return false;
}

// ---- recipes

static void begin_kernel(RecipeReader *r, RecipeBook *book) {
  BookEntry entry = { .loc = here(r) };
  if (r->next >= r->count) {
    expected(r, "the name of a kernel");
    hint(r->c, "`flc dump --recipes` shows the names of a program's kernels");
    return;
  }
  entry.kernel = name_of(r->c->names, word_text(r, r->words[r->next++]));
  vec_each (const BookEntry *, other, &book->entries) {
    if (other->kernel != entry.kernel) continue;
    error(r->c, entry.loc, "there is a recipe for %s already", entry.kernel);
    note(r->c, other->loc, "here");
  }
  if (r->next < r->count) expected(r, "the end of the line");
  vec_push(&entry.ways, (RecipeWay){ .loc = entry.loc });
  vec_push(&book->entries, entry);
}

static void begin_way(RecipeReader *r, BookEntry *entry, bool by_choice) {
  RecipeWay way = { .loc = whole_step(r), .by_choice = by_choice };
  if (r->next < r->count) expected(r, "the end of the line");
  vec_push(&entry->ways, way);
}

static void read_line(RecipeReader *r, RecipeBook *book) {
  int count = book->entries.count;
  BookEntry *entry = count ? &book->entries.at[count - 1] : NULL;
  RecipeStep step;
  if (!r->of_exp && accept_word(r, "kernel")) {
    begin_kernel(r, book);
  } else if (!entry) {
    expected(r, "`kernel` and a name");
    hint(r->c, "`flc dump --recipes` shows the names of a program's kernels");
    r->at = r->end;
  } else if (accept_word(r, "otherwise")) {
    begin_way(r, entry, false);
  } else if (accept_word(r, "or")) {
    begin_way(r, entry, true);
  } else if (read_step(r, &step)) {
    vec_push(&entry->ways.at[entry->ways.count - 1].steps, step);
  }
}

RecipeBook *recipe_book_read(Compiler *c, const char *path) {
  size_t length;
  const char *text = text_read_lines(path, &length);
  if (!text) {
    error(c, (Loc){ 0 }, "cannot read %s: %s", path, strerror(errno));
    return NULL;
  }
  int errors = diag_error_count(c);
  RecipeBook *book = new_node(RecipeBook, .file = source_file_new(path, text, length));
  RecipeReader r = { .c = c, .file = book->file, .end = (uint32_t)length };
  while (read_words(&r))
    read_line(&r, book);
  return diag_error_count(c) == errors ? book : NULL;
}

static bool is_same_place(Loc a, Loc b) {
  return a.file == b.file && a.start == b.start && a.end == b.end;
}

void recipe_book_add(Compiler *c, RecipeBook *book, Loc exp, Loc text) {
  vec_each (const BookEntry *, entry, &book->entries)
    if (is_same_place(entry->loc, text)) return;
  BookEntry entry = { .exp = exp, .loc = text };
  vec_push(&entry.ways, (RecipeWay){ .loc = text });
  vec_push(&book->entries, entry);
  RecipeReader r = {
    .c = c, .file = text.file, .at = text.start + 1, .end = text.end - 1, .of_exp = true
  };
  while (read_words(&r))
    read_line(&r, book);
}
