#include "commands/html.h"
#include "base/diag.h"
#include "base/embed.h"
#include <string.h>

static const char *template_named(const char *name) {
  const char *path = text_format("compiler/commands/pages/%s", name);
  for (int i = 0; i < page_file_count; i++)
    if (strcmp(page_files[i].path, path) == 0) return page_files[i].text;
  return NULL;
}

static const char *part_named(const HtmlPart *parts, int count, const char *name) {
  for (int i = 0; i < count; i++)
    if (strcmp(parts[i].name, name) == 0) return parts[i].html;
  const char *file = template_named(name);
  return file ? file : "";
}

void html_fill(Text *t, const char *file, const HtmlPart *parts, int count) {
  const char *at = template_named(file);
  for (const char *open; at && (open = strstr(at, "{{")) != NULL;) {
    const char *close = strstr(open, "}}");
    if (!close) break;
    text_add_bytes(t, at, (size_t)(open - at));
    const char *name = text_format("%.*s", (int)(close - open - 2), open + 2);
    text_add(t, part_named(parts, count, name));
    at = close + 2;
  }
  text_add(t, at ? at : "");
}
