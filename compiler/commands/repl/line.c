// Lines of the session.  On a terminal libedit reads them, with a history that is kept in a file;
// without it, or from a pipe, they are read as they are.
#include "base/file.h"
#include "commands/repl/repl.h"
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#ifdef HAVE_LIBEDIT
#  include <histedit.h>
#endif

enum { MOST_HISTORY = 1000 };

struct ReplLines {
  const ReplSession *session;
  const char *prompt;
#ifdef HAVE_LIBEDIT
  EditLine *editor;  // NULL: not on a terminal
  History *history;
  const char *file;  // of the history; NULL: it is not kept
#endif
};

// ---- as they are

// Without its end and the byte order mark of a file, of whatever editor.
static const char *bare_line(const char *line) {
  if (strncmp(line, "\xef\xbb\xbf", 3) == 0) line += 3;
  size_t length = strlen(line);
  while (length > 0 && strchr("\r\n", line[length - 1]))
    length--;
  return text_format("%.*s", (int)length, line);
}

static ReplLine read_plain(const char *prompt, const char **out) {
  char *line = NULL;
  size_t capacity = 0;
  if (isatty(STDIN_FILENO)) {
    fputs(prompt, stdout);
    fflush(stdout);
  }
  errno = 0;
  ssize_t length = getline(&line, &capacity, stdin);
  ReplLine status = length >= 0      ? REPL_LINE
                    : errno == EINTR ? REPL_INTERRUPTED
                                     : REPL_END;
  if (status == REPL_INTERRUPTED) clearerr(stdin);
  *out = status == REPL_LINE ? bare_line(line) : "";
  free(line);
  return status;
}

// ---- with an editor

#ifdef HAVE_LIBEDIT
static char *prompt_of(EditLine *editor) {
  ReplLines *lines = NULL;
  el_get(editor, EL_CLIENTDATA, &lines);
  static char none[] = "";
  return lines ? mem_copy(lines->prompt, strlen(lines->prompt) + 1) : none;
}

// How far all words agree.
static size_t common_length(const TextVec *words) {
  size_t length = strlen(words->at[0]);
  for (int i = 1; i < words->count; i++) {
    size_t same = 0;
    while (same < length && words->at[i][same] == words->at[0][same])
      same++;
    length = same;
  }
  return length;
}

static void show_words(const TextVec *words) {
  enum { COLUMNS = 78, MOST_WORDS = 100 };
  bool cut = words->count > MOST_WORDS;
  int width = 0, column = 0, shown = cut ? MOST_WORDS : words->count;
  for (int i = 0; i < shown; i++)
    if ((int)strlen(words->at[i]) + 2 > width) width = (int)strlen(words->at[i]) + 2;
  printf("\n");
  for (int i = 0; i < shown; i++) {
    if (column + width > COLUMNS && column) printf("\n"), column = 0;
    printf("%-*s", width, words->at[i]);
    column += width;
  }
  printf("%s\n", cut ? "..." : "");
}

// The Tab key: what all words that fit have in common, or else a list of them.
static unsigned char complete_word(EditLine *editor, int key) {
  (void)key;
  ReplLines *lines = NULL;
  const LineInfo *info = el_line(editor);
  if (el_get(editor, EL_CLIENTDATA, &lines) != 0 || !lines) return CC_ERROR;
  size_t typed = 0;
  const char *text =
      text_format("%.*s", (int)(info->cursor - info->buffer), info->buffer);
  TextVec words = repl_complete(lines->session, text, &typed);
  if (!words.count) return CC_ERROR;
  size_t common = common_length(&words);
  if (common == typed) {
    show_words(&words);
    return CC_REDISPLAY;
  }
  const char *more = text_format("%.*s", (int)(common - typed), words.at[0] + typed);
  return el_insertstr(editor, more) == 0 ? CC_REFRESH : CC_ERROR;
}

static const char *history_file(void) {
  const char *state = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
  if (state && *state == '/') return text_format("%s/flc/history", state);
  return home && *home ? text_format("%s/.local/state/flc/history", home) : NULL;
}

static void open_history(ReplLines *lines) {
  HistEvent event;
  lines->history = history_init();
  lines->file = history_file();
  history(lines->history, &event, H_SETSIZE, MOST_HISTORY);
  history(lines->history, &event, H_SETUNIQUE, 1);
  if (lines->file) history(lines->history, &event, H_LOAD, lines->file);
}

static void open_editor(ReplLines *lines) {
  if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO)) return;
  lines->editor = el_init("flc", stdin, stdout, stderr);
  if (!lines->editor) return;
  open_history(lines);
  el_set(lines->editor, EL_CLIENTDATA, lines);
  el_set(lines->editor, EL_PROMPT, prompt_of);
  el_set(lines->editor, EL_SIGNAL, 1);
  el_set(lines->editor, EL_EDITOR, "emacs");
  el_set(lines->editor, EL_HIST, history, lines->history);
  el_set(lines->editor, EL_ADDFN, "flc-complete", "complete a name", complete_word);
  el_set(lines->editor, EL_BIND, "^I", "flc-complete", NULL);
  el_source(lines->editor, NULL);
}

static ReplLine read_edited(ReplLines *lines, const char **out) {
  int length = 0;
  const char *line = el_gets(lines->editor, &length);
  if (length < 0 || (!line && errno == EINTR)) return REPL_INTERRUPTED;
  if (!line || length == 0) return REPL_END;
  HistEvent event;
  if (line[strspn(line, " \t\n")]) history(lines->history, &event, H_ENTER, line);
  *out = text_format("%.*s", (int)strcspn(line, "\n"), line);
  return REPL_LINE;
}
#endif

// ---- either

ReplLines *repl_lines_open(const ReplSession *session) {
  ReplLines *lines = new (ReplLines);
  lines->session = session;
#ifdef HAVE_LIBEDIT
  open_editor(lines);
#endif
  return lines;
}

ReplLine repl_lines_next(ReplLines *lines, const char *prompt, const char **out) {
  lines->prompt = prompt;
  *out = "";
#ifdef HAVE_LIBEDIT
  if (lines->editor) return read_edited(lines, out);
#endif
  return read_plain(prompt, out);
}

void repl_lines_close(ReplLines *lines) {
#ifdef HAVE_LIBEDIT
  if (!lines->editor) return;
  HistEvent event;
  if (lines->file) {
    file_make_folders(lines->file, FILE_PRIVATE);
    history(lines->history, &event, H_SAVE, lines->file);
  }
  history_end(lines->history);
  el_end(lines->editor);
#else
  (void)lines;
#endif
}
