// What the Tab key offers: names, those of the session, of the library and of modules, as the
// language server finds them; files behind `:load`.  A child process does that, as for values.
#include "commands/lsp/lsp.h"
#include "commands/repl/repl.h"
#include "source/lex.h"
#include <dirent.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int text_order(const void *a, const void *b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static bool begins_with(const char *text, const char *start) {
  return strncmp(text, start, strlen(start)) == 0;
}

// ---- names

// The definitions as one program, and behind them what is being written.
static void add_session(Text *t, const ReplSession *session) {
  for (int i = 0; i < session->pieces.count; i++)
    text_printf(t, "%s\n", session->pieces.at[i].text);
  text_add(t, "def value_of_this_input =\n");
}

_Noreturn static void answer(const ReplSession *session, const char *text,
                             const char *start, int out) {
  enum { MOST_SECONDS = 5 };
  alarm(MOST_SECONDS);
  Text *all = text_new(), *found = text_new();
  add_session(all, session);
  text_add(all, text);
  LspQuery q = { .c = compiler_new(), .offset = (uint32_t)text_length(all) };
  q.program = program_of_text(q.c, "<repl>", text_str(all), text_length(all));
  const json_t *items = lsp_completion(&q);
  for (size_t i = 0; i < json_array_size(items); i++) {
    const json_t *label = json_object_get(json_array_get(items, i), "label");
    const char *name = json_string_value(label);
    if (name && begins_with(name, start)) text_printf(found, "%s\n", name);
  }
  bool written = write(out, text_str(found), text_length(found)) >= 0;
  _exit(written ? 0 : 1);
}

static void read_lines(int file, TextVec *out) {
  char buffer[65536];
  ssize_t length = pread(file, buffer, sizeof buffer - 1, 0);
  buffer[length > 0 ? length : 0] = '\0';
  for (const char *at = buffer; *at; at += strcspn(at, "\n") + 1) {
    vec_push(out, text_format("%.*s", (int)strcspn(at, "\n"), at));
    if (!at[strcspn(at, "\n")]) return;
  }
}

static void find_names(const ReplSession *session, const char *text, const char *start,
                       TextVec *out) {
  int found = memfd_create("names", MFD_CLOEXEC), status = 0;
  if (found < 0) return;
  pid_t child = fork();
  if (child == 0) {
    int nowhere = memfd_create("messages", MFD_CLOEXEC);
    dup2(nowhere, STDERR_FILENO);
    answer(session, text, start, found);
  }
  if (child > 0 && waitpid(child, &status, 0) == child) read_lines(found, out);
  close(found);
}

// ---- files

static void find_files(const char *start, TextVec *out) {
  const char *slash = strrchr(start, '/');
  const char *folder = slash ? text_format("%.*s", (int)(slash - start + 1), start) : "";
  const char *name = slash ? slash + 1 : start;
  DIR *dir = opendir(*folder ? folder : ".");
  for (const struct dirent *entry; dir && (entry = readdir(dir));) {
    const char *path = text_format("%s%s", folder, entry->d_name);
    const char *end = strrchr(entry->d_name, '.');
    struct stat status;
    bool is_folder = stat(path, &status) == 0 && S_ISDIR(status.st_mode);
    bool is_program = end && (strcmp(end, ".fl") == 0 || strcmp(end, ".fut") == 0);
    bool hidden = entry->d_name[0] == '.' && *name != '.';
    if (!hidden && (is_folder || is_program) && begins_with(entry->d_name, name))
      vec_push(out, text_format("%s%s", path, is_folder ? "/" : ""));
  }
  if (dir) closedir(dir);
}

// Behind `:load `, or a beginning of it; NULL elsewhere.
static const char *file_behind_load(const char *text) {
  text += strspn(text, " \t");
  size_t length = strcspn(text, " \t");
  if (length < 2 || strncmp(":load", text, length) != 0 || !text[length]) return NULL;
  return text + length + strspn(text + length, " \t");
}

// ---- both

// `:type e` is completed as `e` is.
static const char *without_command(const char *text) {
  const char *first = text + strspn(text, " \t");
  return *first == ':' ? first + strcspn(first, " \t") : text;
}

TextVec repl_complete(const ReplSession *session, const char *text, size_t *typed) {
  TextVec words = { 0 };
  const char *file = file_behind_load(text), *code = without_command(text);
  const char *start = code + strlen(code);
  while (start > code && lex_is_name_part(start[-1]))
    start--;
  if (file)
    find_files(file, &words);
  else if (*start || (start > code && start[-1] == '.'))
    find_names(session, code, start, &words);
  *typed = strlen(file ? file : start);
  if (words.count) qsort(words.at, (size_t)words.count, sizeof *words.at, text_order);
  return words;
}
