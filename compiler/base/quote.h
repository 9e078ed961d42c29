// Texts that users choose (file names, names of data sets) within texts that machines
// read.
#pragma once

// Valid UTF-8: other bytes become U+FFFD.
const char *quote_utf8(const char *text);
// A JSON string with its quotes.
const char *quote_json(const char *text);
// Within HTML: the text of an element or of a quoted attribute.
const char *quote_html(const char *text);
// Within one line of a settings file: characters that control become blanks.
const char *quote_line(const char *text);
// Within a // comment of C: what could end or continue it becomes an underscore.
const char *quote_comment(const char *text);
