// The pages of `flc doc`: one per file, its source, and the index.
#include "base/quote.h"
#include "commands/doc/doc.h"
#include "commands/html.h"
#include "source/lex.h"
#include <stdlib.h>
#include <string.h>

static Loc loc_of(const DocItem *item) {
  if (item->member) return loc_of(item->member);
  return item->spec ? item->spec->loc : item->decl->loc;
}

static const char *comment_of(const DocItem *item) {
  if (item->member) return comment_of(item->member);
  if (item->shown) return NULL;
  return item->spec ? item->spec->doc : item->decl->doc;
}

// The name as it is written where it stands alone: (+).
static const char *shown_name(const char *name) {
  const char *dot = strrchr(name, '.');
  const char *last = dot && dot[1] ? dot + 1 : name;
  bool word = lex_is_name_start(*last) || *last == '_';
  return quote_html(word ? name
                         : text_format("%.*s(%s)", (int)(last - name), name, last));
}

// ---- the page of a file

static void add_doc_item(Text *t, const Docs *docs, const DocItem *item) {
  text_printf(t,
              "<section class=\"item\" id=\"%s\" style=\"--depth:%d\">\n"
              "<div class=\"head\"><pre><code>%s</code></pre>"
              "<a class=\"note\" href=\"%s#line-%d\">source</a></div>\n%s</section>\n",
              item->anchor, item->depth, doc_signature_html(docs, item),
              (item->member ? item->member : item)->file->source,
              loc_line_col(loc_of(item)).line,
              doc_comment_html(docs, item->file, item->parent, comment_of(item)));
}

static void add_contents_line(Text *t, const DocItem *item) {
  const char *short_name =
      item->parent ? item->name + strlen(item->parent->name) + 1 : item->name;
  text_printf(t, "<li style=\"--depth:%d\"><a href=\"#%s\">%s</a></li>\n", item->depth,
              item->anchor, shown_name(short_name));
}

static const char *imports_html(const Docs *docs, const DocFile *file) {
  Text *t = text_new();
  vec_each (AstDecl *const *, at, &file->ast->decls) {
    const AstDecl *decl = *at;
    bool local = decl->kind == AST_DECL_LOCAL;
    if (local) decl = decl->u.local.decl;
    const AstModExp *exp = decl->kind == AST_DECL_OPEN     ? decl->u.open.exp
                           : decl->kind == AST_DECL_MODULE ? decl->u.module.exp
                                                           : NULL;
    if (!exp || exp->kind != MODEXP_IMPORT) continue;
    const DocFile *target = doc_imported(docs, file, exp);
    text_add(t, text_length(t) ? ", " : "<p class=\"note\">Imports ");
    if (target)
      text_printf(t, "<a href=\"%s\">%s</a>", quote_html(target->page),
                  quote_html(target->title));
    else
      text_printf(t, "<code>%s</code>", quote_html(exp->u.path));
    if (decl->kind == AST_DECL_MODULE)
      text_printf(t, " as <code>%s</code>", quote_html(decl->u.module.name));
  }
  if (text_length(t)) text_add(t, ".</p>\n");
  return text_str(t);
}

const Text *doc_file_page(const Docs *docs, const DocFile *file) {
  Text *page = text_new(), *items = text_new(), *contents = text_new();
  vec_each (DocItem *const *, item, &docs->items) {
    if ((*item)->file != file || (*item)->hidden) continue;
    add_doc_item(items, docs, *item);
    add_contents_line(contents, *item);
  }
  const HtmlPart parts[] = {
    { "title", quote_html(file->title) },
    { "library", quote_html(docs->title) },
    { "source", quote_html(file->source) },
    { "path", quote_html(file->shown) },
    { "about", doc_comment_html(docs, file, NULL, file->doc) },
    { "imports", imports_html(docs, file) },
    { "contents", text_str(contents) },
    { "items", text_str(items) },
  };
  html_fill(page, "doc.html", parts, (int)(sizeof parts / sizeof *parts));
  return page;
}

// ---- its source

const Text *doc_source_page(const Docs *docs, const DocFile *file) {
  Text *page = text_new(), *lines = text_new();
  const char *at = file->text->text;
  for (int line = 1; *at; line++) {
    size_t length = strcspn(at, "\n");
    const char *text = text_format("%.*s", (int)length, at);
    bool comment = strncmp(text + strspn(text, " "), "--", 2) == 0;
    text_printf(lines, "<tr id=\"line-%d\"><td>%d</td><td><code%s>%s</code></td></tr>\n",
                line, line, comment ? " class=\"note\"" : "", quote_html(text));
    at += length + (at[length] == '\n');
  }
  const HtmlPart parts[] = {
    { "title", quote_html(file->shown) },  { "library", quote_html(docs->title) },
    { "module", quote_html(file->title) }, { "page", quote_html(file->page) },
    { "lines", text_str(lines) },
  };
  html_fill(page, "doc-source.html", parts, (int)(sizeof parts / sizeof *parts));
  return page;
}

// ---- the index

static int item_by_name(const void *a, const void *b) {
  const DocItem *const *x = a, *const *y = b;
  int order = strcmp((*x)->name, (*y)->name);
  if (order) return order;
  order = strcmp((*x)->file->title, (*y)->file->title);
  return order ? order : strcmp((*x)->anchor, (*y)->anchor);
}

static const char *names_html(const Docs *docs) {
  static const char *const words[] = { "", "type", "module", "module type" };
  Text *t = text_new();
  const DocItem **items = new_array(const DocItem *, docs->items.count + 1);
  int count = 0;
  for (int i = 0; i < docs->items.count; i++)
    if (!docs->items.at[i]->hidden) items[count++] = docs->items.at[i];
  qsort(items, (size_t)count, sizeof *items, item_by_name);
  for (int i = 0; i < count; i++) {
    const DocItem *item = items[i];
    text_printf(
        t,
        "<tr><td><a href=\"%s\"><code>%s</code></a> <span class=\"note\">%s</span>"
        "</td><td class=\"note\">%s</td><td>%s</td></tr>\n",
        quote_html(doc_link(item)), shown_name(item->name), words[item->space],
        quote_html(item->file->title),
        doc_summary_html(docs, item->file, item->parent, comment_of(item)));
  }
  return text_str(t);
}

const Text *doc_index_page(const Docs *docs) {
  Text *page = text_new(), *modules = text_new();
  vec_each (DocFile *const *, file, &docs->files)
    text_printf(modules, "<tr><td><a href=\"%s\">%s</a></td><td>%s</td></tr>\n",
                quote_html((*file)->page), quote_html((*file)->title),
                doc_summary_html(docs, *file, NULL, (*file)->doc));
  const HtmlPart parts[] = {
    { "title", quote_html(docs->title) },
    { "modules", text_str(modules) },
    { "names", names_html(docs) },
  };
  html_fill(page, "doc-index.html", parts, (int)(sizeof parts / sizeof *parts));
  return page;
}
