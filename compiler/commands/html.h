// Pages that flc writes: a template of compiler/commands/pages/ with its places filled in.
#pragma once
#include "base/text.h"

typedef struct HtmlPart {
  const char *name, *html;
} HtmlPart;

// The template with each {{name}} replaced by that part, and {{file.css}} by the template of that
// name.  What is put in is not looked at again.
void html_fill(Text *t, const char *file, const HtmlPart *parts, int count);
