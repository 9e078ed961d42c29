// A literate program with its results as Markdown.
#include "base/quote.h"
#include "commands/literate/literate.h"
#include "commands/repl/repl.h"
#include <ctype.h>
#include <string.h>

// ---- pieces of Markdown

// The longest row of back-quotes.
static int longest_row(const char *text) {
  int longest = 0;
  for (const char *s = text; *s; s++) {
    int row = (int)strspn(s, "`");
    if (row > longest) longest = row;
    if (row > 1) s += row - 1;
  }
  return longest;
}

void page_add_fenced(LiteratePage *page, const char *language, const char *text) {
  int row = longest_row(text);
  Text *fence = text_new();
  for (int i = 0; i < (row < 3 ? 3 : row + 1); i++)
    text_add(fence, "`");
  bool ended = *text && text[strlen(text) - 1] == '\n';
  text_printf(page->text, "%s%s\n%s%s%s\n\n", text_str(fence), language, text,
              ended ? "" : "\n", text_str(fence));
}

// Without parameters, in one line, and with nothing in it that means something in Markdown.
static const char *plain_words(const char *text) {
  Text *t = text_new();
  for (const char *s = text; *s && *s != ';'; s++) {
    bool mark = strchr("\\[]`*_<&!~$", *s) != NULL;
    text_printf(t, "%s%c", mark ? "\\" : "", isspace((unsigned char)*s) ? ' ' : *s);
  }
  return text_str(t);
}

// ---- media

static const char *base64(const Text *bytes) {
  static const char digits[] =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  const unsigned char *at = (const unsigned char *)text_str(bytes);
  size_t length = text_length(bytes), n = 0;
  char *out = mem_alloc_plain(length / 3 * 4 + 5);
  for (size_t i = 0; i < length; i += 3) {
    size_t have = length - i;
    unsigned bits = (unsigned)at[i] << 16 | (have > 1 ? (unsigned)at[i + 1] << 8 : 0) |
                    (have > 2 ? at[i + 2] : 0u);
    out[n++] = digits[bits >> 18];
    out[n++] = digits[bits >> 12 & 63];
    out[n++] = have > 1 ? digits[bits >> 6 & 63] : '=';
    out[n++] = have > 2 ? digits[bits & 63] : '=';
  }
  return out;
}

typedef struct MediaKind {
  const char *ending, *type;
} MediaKind;

static const MediaKind media_kinds[] = {
  { "png", "image/png" },   { "svg", "image/svg+xml" }, { "gif", "image/gif" },
  { "webm", "video/webm" }, { "wav", "audio/wav" },     { "mp3", "audio/mpeg" },
  { "ogg", "audio/ogg" },   { "flac", "audio/flac" },   { "opus", "audio/ogg" },
};

static const char *media_type(const char *ending) {
  for (size_t i = 0; i < sizeof media_kinds / sizeof *media_kinds; i++)
    if (strcmp(media_kinds[i].ending, ending) == 0) return media_kinds[i].type;
  return "application/octet-stream";
}

static int directive_number(const Literate *l, const Directive *d) {
  int i = 0;
  while (l->directives.at[i] != d)
    i++;
  return i + 1;
}

// Where a picture is found: a file, which then is to be written, or its bytes.
static const char *media_link(LiteratePage *page, const Directive *d, const char *ending,
                              const Text *bytes) {
  if (page->embeds)
    return text_format("data:%s;base64,%s", media_type(ending), base64(bytes));
  const char *name = directive_param(d, "file");
  if (!name) name = text_format("%d.%s", directive_number(page->l, d), ending);
  vec_push(&page->media, (Media){ name, bytes });
  return text_format("%s/%s", page->folder, name);
}

static bool plays_once(const Directive *d) {
  const char *repeat = directive_param(d, "repeat");
  return repeat && strcmp(repeat, "false") == 0;
}

void page_add_media(LiteratePage *page, const Directive *d, const char *ending,
                    const Text *bytes) {
  const char *link = media_link(page, d, ending, bytes), *type = media_type(ending);
  if (strncmp(type, "image", 5) == 0)
    text_printf(page->text, "![%s](<%s>)\n\n", plain_words(d->shown + 2), link);
  else
    text_printf(page->text, "<p><%.5s controls%s src=\"%s\"></%.5s></p>\n\n", type,
                strcmp(ending, "webm") == 0 && !plays_once(d) ? " loop" : "",
                quote_html(link), type);
}

// ---- directives

static void show_value(LiteratePage *page, const Directive *d) {
  Text *t = text_new();
  repl_print_value(t, d->type, d->leaves);
  page_add_fenced(page, "", text_str(t));
}

// Names of files are not to lead elsewhere.
static void check_file_name(Directive *d) {
  const char *name = directive_param(d, "file");
  if (name && d->kind != DIRECTIVE_GNUPLOT && (!*name || strpbrk(name, "/ <>\"\\")))
    directive_fail(d, "`file: %s`: expected a name without folders, blanks and quotes",
                   name);
}

static void show_result(LiteratePage *page, Directive *d) {
  switch (d->kind) {
  case DIRECTIVE_VALUE: show_value(page, d); return;
  case DIRECTIVE_IMAGE: show_image(page, d); return;
  case DIRECTIVE_VIDEO: show_video(page, d); return;
  case DIRECTIVE_AUDIO: show_audio(page, d); return;
  case DIRECTIVE_PLOT: show_plot(page, d); return;
  case DIRECTIVE_GNUPLOT: show_gnuplot(page, d); return;
  case DIRECTIVE_TABLE: show_table(page, d); return;
  case DIRECTIVE_KINDS: return;
  }
}

static void show_directive(LiteratePage *page, Directive *d) {
  if (!d->covert) page_add_fenced(page, "", d->shown);
  if (!d->failed) check_file_name(d);
  if (!d->failed) show_result(page, d);
  if (!d->failed) return;
  text_add(page->text, "**This failed:**\n\n");
  page_add_fenced(page, "", d->failed);
}

void literate_show(LiteratePage *page) {
  for (int i = 0; i < page->l->blocks.count; i++) {
    const Block *block = &page->l->blocks.at[i];
    switch (block->kind) {
    case BLOCK_TEXT: text_printf(page->text, "%s\n\n", block->text); break;
    case BLOCK_CODE: page_add_fenced(page, "fl", block->text); break;
    case BLOCK_DIRECTIVE: show_directive(page, block->directive); break;
    }
  }
}
