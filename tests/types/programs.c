// Programs that the checker accepts or refuses: `programs FILE...`.
//
// A first comment with `-- error: REGEX` says what the messages about a refused program must
// match; one with `-- type NAME : TYPE` what the types of an accepted one must be.  Each refused
// program has one or two mistakes, about which no more than three messages may be.
#include "base/diag.h"
#include "base/mem.h"
#include "base/text.h"
#include "base/vec.h"
#include "source/source.h"
#include "types/types.h"
#include "unit.h"
#include <regex.h>

// The rest of the first line that begins with `start`, or NULL; `from` moves behind it.
static const char *find_line(const char **from, const char *start) {
  for (const char *line = *from; *line; line++) {
    const char *end = line + strcspn(line, "\n");
    if (strncmp(line, start, strlen(start)) == 0) {
      *from = end;
      line += strlen(start);
      return text_format("%.*s", (int)(end - line), line);
    }
    if (!*end) return NULL;
    line = end;
  }
  return NULL;
}

static bool matches(const char *pattern, const char *text) {
  regex_t regex;
  CHECK(regcomp(&regex, pattern, REG_EXTENDED | REG_NOSUB) == 0);
  bool found = regexec(&regex, text, 0, NULL, 0) == 0;
  regfree(&regex);
  return found;
}

static int count_errors(const char *messages) {
  int count = 0;
  for (const char *at = messages; (at = strstr(at, ": error: ")); at++)
    count++;
  return count;
}

// Unknown sizes get the numbers 1, 2, .. in each line, whatever the checker has tried before.
static const char *renumbered(const char *lines) {
  enum { MOST = 32 };
  long numbers[MOST];
  int count = 0;
  Text *t = text_new();
  while (*lines) {
    if (*lines == '\n') count = 0;
    bool unknown = lines[0] == '?' && lines[1] >= '0' && lines[1] <= '9';
    text_printf(t, "%c", *lines++);
    if (!unknown) continue;
    char *end;
    long number = strtol(lines, &end, 10);
    int i = 0;
    while (i < count && numbers[i] != number)
      i++;
    if (i == count && count < MOST) numbers[count++] = number;
    text_printf(t, "%d", i + 1);
    lines = end;
  }
  return text_str(t);
}

static const char *types_of(const AstProgram *program) {
  Text *t = text_new();
  vec_each (AstDecl *const *, d, &program->decls) {
    if ((*d)->kind != AST_DECL_VALUE) continue;
    text_printf(t, "%s : %s\n", (*d)->u.value.name,
                type_text((*d)->u.value.binding->type));
  }
  return text_str(t);
}

static const char *expected_types(const char *source) {
  Text *t = text_new();
  const char *line;
  while ((line = find_line(&source, "-- type ")))
    text_printf(t, "%s\n", line);
  return text_str(t);
}

static bool test(const char *path) {
  Compiler *c = compiler_new();
  size_t length;
  const char *source = text_read_file(path, &length), *start = source;
  if (!source) return false;
  AstProgram *program = source_parse(c, source_file_new(path, source, length));
  bool checked = program && types_check(c, program);
  const char *messages = diag_take_text(c), *pattern = find_line(&start, "-- error: ");
  if (pattern) {
    bool found = !checked && matches(pattern, messages) && count_errors(messages) <= 3;
    if (!found) fprintf(stderr, "%s: expected %s, got:\n%s\n", path, pattern, messages);
    return found;
  }
  bool same = checked && strcmp(renumbered(types_of(program)),
                                renumbered(expected_types(source))) == 0;
  if (!same)
    fprintf(stderr, "%s: %s%s\n", path, messages, checked ? types_of(program) : "");
  return same;
}

int main(int argc, char **argv) {
  mem_init();
  bool ok = true;
  for (int i = 1; i < argc; i++)
    ok = test(argv[i]) && ok;
  return ok ? 0 : 1;
}
