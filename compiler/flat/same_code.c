// Equality of code up to names of binders.
#include "base/map.h"
#include "flat/rules.h"
#include <ctype.h>
#include <string.h>

static bool in_word(char c) {
  return isalnum((unsigned char)c) || c == '_' || c == '\'' || c == '.';
}

static size_t word_length(const char *s) {
  size_t length = 0;
  while (in_word(s[length]))
    length++;
  return length;
}

// Replaces "name_17" by the order in which that name first occurs.
static const char *renumbered(const char *text) {
  NameTable *table = name_table_new();
  Map *numbers = map_new(NULL);
  Text *t = text_new();
  int next = 0;
  for (const char *s = text; *s;) {
    size_t word = word_length(s);
    bool is_name =
        word > 0 && memchr(s, '_', word) && s[word - 1] >= '0' && s[word - 1] <= '9';
    if (!is_name) {
      text_add_bytes(t, s, word ? word : 1);
      s += word ? word : 1;
      continue;
    }
    Name name = name_intern(table, s, word);
    int *number = map_get(numbers, name);
    if (!number) {
      number = new (int);
      *number = next++;
      map_put(numbers, name, number);
    }
    text_printf(t, "%%%d", *number);
    s += word;
  }
  return text_str(t);
}

const char *same_code_text(const Body *body) {
  Text *t = text_new();
  core_print_body(t, body);
  return renumbered(text_str(t));
}

bool same_code(const Body *a, const Body *b) {
  return strcmp(same_code_text(a), same_code_text(b)) == 0;
}
