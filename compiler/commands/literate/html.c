// The document as a page of HTML, by a library that reads Markdown (md4c).
#include "commands/html.h"
#include "base/quote.h"
#include "commands/literate/literate.h"
#ifdef HAVE_MD4C
#  include <md4c-html.h>
#endif
#include <string.h>

// The first heading, or the name of the file.
static const char *title_of(const Literate *l, const char *markdown) {
  const char *head =
      strncmp(markdown, "# ", 2) == 0 ? markdown : strstr(markdown, "\n# ");
  if (!head) return command_file_name(l->path);
  head += strspn(head, "\n# ");
  return text_format("%.*s", (int)strcspn(head, "\n"), head);
}

#ifdef HAVE_MD4C
bool literate_has_html(void) { return true; }

static void add_html(const MD_CHAR *text, MD_SIZE length, void *state) {
  text_add_bytes(state, text, length);
}

static const char *html_of(const Text *markdown) {
  Text *t = text_new();
  md_html(text_str(markdown), (MD_SIZE)text_length(markdown), add_html, t,
          MD_FLAG_TABLES | MD_FLAG_STRIKETHROUGH | MD_FLAG_PERMISSIVEURLAUTOLINKS, 0);
  return text_str(t);
}
#else
bool literate_has_html(void) { return false; }

static const char *html_of(const Text *markdown) {
  return text_format("<pre>%s</pre>", quote_html(text_str(markdown)));
}
#endif

const Text *literate_html(const Literate *l, const Text *markdown) {
  Text *page = text_new();
  const HtmlPart parts[] = {
    { "title", quote_html(title_of(l, text_str(markdown))) },
    { "body", html_of(markdown) },
  };
  html_fill(page, "literate.html", parts, (int)(sizeof parts / sizeof *parts));
  return page;
}
