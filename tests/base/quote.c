#include "base/quote.h"
#include "base/mem.h"
#include "unit.h"

int main(void) {
  mem_init();
  CHECK_TEXT(quote_utf8("caf\xC3\xA9 \xF0\x9F\x98\x80"), "caf\xC3\xA9 \xF0\x9F\x98\x80");
  CHECK_TEXT(quote_utf8("a\xFF\xC3"), "a\xEF\xBF\xBD\xEF\xBF\xBD");
  // A slash in two bytes, half of a surrogate pair, a character beyond the last.
  CHECK_TEXT(quote_utf8("\xC0\xAF"), "\xEF\xBF\xBD\xEF\xBF\xBD");
  CHECK(!strchr(quote_utf8("\xED\xA0\x80"), '\xED'));
  CHECK(!strchr(quote_utf8("\xF4\x90\x80\x80"), '\xF4'));
  CHECK_TEXT(quote_json("a\"b\\c\nd\x7F%s\xFF"),
             "\"a\\\"b\\\\c\\u000ad\\u007f%s\xEF\xBF\xBD\"");
  CHECK_TEXT(quote_html("<a href='x\">&\n\t\x01"),
             "&lt;a href=&#39;x&quot;&gt;&amp;\n  ");
  CHECK_TEXT(quote_line("a\nb=0\r\tc \xC3\xA9"), "a b=0  c \xC3\xA9");
  CHECK_TEXT(quote_comment("a\nb\\ ?"
                           "?/ \xC3\xA9 */"),
             "a_b_ __/ __ */");
  return 0;
}
