// Signatures and comments as HTML, with links to what they mention.
#include "base/quote.h"
#include "commands/doc/doc.h"
#include "source/ast_print.h"
#include "source/lex.h"
#include <ctype.h>
#include <string.h>

const char *doc_link(const DocItem *item) {
  return text_format("%s#%s", item->file->page, item->anchor);
}

// ---- signatures

const char *doc_member_text(const ModuleMember *member) {
  Text *t = text_new();
  text_add(t, member->value ? "val " : member->is_type ? "type " : "module ");
  print_binder(t, member->name);
  const Binding *b = member->value;
  for (int i = 0; b && i < b->sizes.count; i++)
    text_printf(t, " [%s]", b->sizes.at[i]->name);
  for (int i = 0; b && i < b->types.count; i++)
    text_printf(t, " '%s", b->types.at[i]->name);
  if (b && b->type) text_printf(t, " : %s", type_text(b->type));
  const char *is = member->type ? type_text(member->type) : member->name;
  if (strcmp(is, member->name) != 0) text_printf(t, " = %s", is);  // else it is abstract
  return text_str(t);
}

static bool is_explicit(const AstTypeParamVec *params, const Binding *binding) {
  vec_each (AstTypeParam *, param, params)
    if (param->binding == binding || strcmp(param->name, binding->name) == 0) return true;
  return false;
}

// Those that were left to inference.
static void add_inferred(Text *t, const AstTypeParamVec *params, const Binding *binding) {
  for (int i = 0; i < binding->sizes.count; i++)
    if (!is_explicit(params, binding->sizes.at[i]))
      text_printf(t, " [%s]", binding->sizes.at[i]->name);
  for (int i = 0; i < binding->types.count; i++)
    if (!is_explicit(params, binding->types.at[i]))
      text_printf(t, " '%s", binding->types.at[i]->name);
}

static void add_doc_param(Text *t, const AstPat *pat) {
  bool inferred = pat->kind != AST_PAT_ASCRIBE && pat->type;
  text_add(t, " ");
  if (!inferred) {
    print_param(t, pat);
    return;
  }
  text_add(t, "(");
  ast_print_pat(t, pat);
  text_printf(t, ": %s)", type_text(pat->type));
}

// What is left of the type behind so many parameters.
static void add_result(Text *t, const Type *type, int params) {
  const Type *function = NULL;
  for (int i = 0; i < params && type->kind == TYPE_FUNCTION; i++) {
    function = type;
    type = type->u.function.to;
  }
  text_add(t, " : ");
  if (function && function->u.function.exist_count) text_add(t, "?");
  for (int i = 0; function && i < function->u.function.exist_count; i++)
    text_printf(t, "[%s]", function->u.function.exists[i]->name);
  if (function && function->u.function.exist_count) text_add(t, ".");
  text_add(t, type_text(type));
}

static void add_value(Text *t, const AstDecl *decl) {
  const AstFunction *function = &decl->u.value.function;
  const Binding *binding = decl->u.value.binding;
  text_add(t, decl->u.value.is_entry ? "entry " : "def ");
  print_binder(t, decl->u.value.name);
  print_type_params(t, &function->type_params);
  if (binding) add_inferred(t, &function->type_params, binding);
  vec_each (AstPat *const *, pat, &function->params)
    add_doc_param(t, *pat);
  if (function->result) {
    text_add(t, " : ");
    ast_print_type(t, function->result);
  } else if (binding && binding->type) {
    add_result(t, binding->type, function->params.count);
  }
}

static void add_type_head(Text *t, AstLifted lifted, const char *name,
                          const AstTypeParamVec *params) {
  static const char *const marks[] = {
    [LIFTED_NOT] = "", [LIFTED_SIZES] = "~", [LIFTED_FULLY] = "^"
  };
  text_printf(t, "type%s %s", marks[lifted], name);
  print_type_params(t, params);
}

static void add_val(Text *t, const char *name, const AstTypeParamVec *params,
                    const AstType *type) {
  text_add(t, "val ");
  print_binder(t, name);
  print_type_params(t, params);
  text_add(t, " : ");
  ast_print_type(t, type);
}

static void add_spec(Text *t, const AstSpec *spec) {
  switch (spec->kind) {
  case SPEC_TYPE:
    add_type_head(t, spec->lifted, spec->name, &spec->params);
    if (!spec->type) return;
    text_add(t, " = ");
    ast_print_type(t, spec->type);
    return;
  case SPEC_VALUE: add_val(t, spec->name, &spec->params, spec->type); return;
  case SPEC_MODULE:
    text_printf(t, "module %s : ", spec->name);
    if (spec->of->kind == MODTYPE_SPECS)
      text_add(t, "{ ... }");
    else
      print_module_type(t, spec->of);
    return;
  case SPEC_INCLUDE: return;
  }
}

// What a module is, but for the definitions in its braces, which have places of their own.
static void add_module_exp(Text *t, const AstModExp *exp) {
  switch (exp->kind) {
  case MODEXP_BODY: text_add(t, " = { ... }"); return;
  case MODEXP_ASCRIBE:
    text_add(t, " : ");
    if (exp->u.ascribe.type->kind == MODTYPE_SPECS)
      text_add(t, "{ ... }");
    else
      print_module_type(t, exp->u.ascribe.type);
    return;
  case MODEXP_FUNCTION:
    text_printf(t, " (%s: ", exp->u.function.param);
    print_module_type(t, exp->u.function.type);
    text_add(t, ")");
    add_module_exp(t, exp->u.function.body);
    return;
  case MODEXP_NAME:
  case MODEXP_IMPORT:
  case MODEXP_APPLY: text_add(t, " = "); print_module_exp(t, exp, false);
  }
}

static const char *signature_text(const DocItem *item) {
  const AstDecl *decl = item->decl;
  if (item->shown) return item->shown;
  Text *t = text_new();
  if (item->spec) {
    add_spec(t, item->spec);
    return text_str(t);
  }
  switch (decl->kind) {
  case AST_DECL_VALUE: add_value(t, decl); break;
  case AST_DECL_SPEC:
    add_val(t, decl->u.spec.name, &decl->u.spec.params, decl->u.spec.type);
    break;
  case AST_DECL_TYPE:
    add_type_head(t, decl->u.type.lifted, decl->u.type.name, &decl->u.type.params);
    text_add(t, " = ");
    ast_print_type(t, decl->u.type.type);
    break;
  case AST_DECL_MODULE:
    text_printf(t, "module %s", decl->u.module.name);
    add_module_exp(t, decl->u.module.exp);
    break;
  case AST_DECL_MODULE_TYPE:
    text_printf(t, "module type %s = ", decl->u.module_type.name);
    if (decl->u.module_type.type->kind == MODTYPE_SPECS)
      text_add(t, "{ ... }");
    else
      print_module_type(t, decl->u.module_type.type);
    break;
  case AST_DECL_OPEN:
  case AST_DECL_LOCAL: break;
  }
  return text_str(t);
}

static const AstTypeParamVec *params_of(const DocItem *item) {
  static const AstTypeParamVec none = { 0 };
  if (item->spec) return &item->spec->params;
  if (item->shown) return &none;
  if (item->decl->kind == AST_DECL_VALUE)
    return &item->decl->u.value.function.type_params;
  if (item->decl->kind == AST_DECL_SPEC) return &item->decl->u.spec.params;
  return item->decl->kind == AST_DECL_TYPE ? &item->decl->u.type.params : &none;
}

static bool is_own_param(const DocItem *item, const char *name) {
  vec_each (AstTypeParam *, param, params_of(item))
    if (strcmp(param->name, name) == 0) return true;
  return false;
}

// What a word of a signature names.
static const DocItem *mentioned(const Docs *docs, const DocItem *item, const char *name) {
  static const DocSpace spaces[] = { DOC_TYPE, DOC_SIGNATURE, DOC_MODULE };
  if (is_own_param(item, name)) return NULL;
  for (int i = 0; i < (item->space >= DOC_MODULE ? 3 : 1); i++) {
    const DocItem *found = doc_find(docs, item->file, item->parent, spaces[i], name);
    if (found) return found == item ? NULL : found;
  }
  return NULL;
}

static size_t word_length(const char *s) {
  size_t length = 0;
  while (lex_is_name_part(s[length]) ||
         (s[length] == '.' && length && lex_is_name_start(s[length + 1])))
    length++;
  return length;
}

static void add_signature_word(Text *t, const DocItem *found, const char *name) {
  if (found)
    text_printf(t, "<a href=\"%s\">%s</a>", quote_html(doc_link(found)),
                quote_html(name));
  else
    text_add(t, quote_html(name));
}

const char *doc_signature_html(const Docs *docs, const DocItem *item) {
  const char *s = command_name_sizes(signature_text(item));
  Text *t = text_new();
  size_t keyword = strcspn(s, " ");
  if (strncmp(s, "module type ", 12) == 0) keyword = 11;
  text_printf(t, "<b>%s</b>", quote_html(text_format("%.*s", (int)keyword, s)));
  s += keyword;
  for (char before = ' '; *s;) {
    bool starts = (lex_is_name_start(*s) || *s == '_') && !strchr("'^~#", before) &&
                  !lex_is_name_part(before);
    size_t length = starts ? word_length(s) : 1;
    while (!starts && (s[length] & 0xC0) == 0x80)
      length++;
    const char *word = text_format("%.*s", (int)length, s);
    // What stands before a colon is a parameter, what stands in brackets a size.
    bool is_type = starts && s[length] != ':' && before != '[';
    add_signature_word(t, is_type ? mentioned(docs, item, word) : NULL, word);
    before = s[length - 1];
    s += length;
  }
  return text_str(t);
}

// ---- comments

typedef struct DocText {
  const Docs *docs;
  const DocFile *file;
  const DocItem *within;
  Text *out;
  const char *open;  // the element of the last line: "p", "ul", "pre"; NULL: none
  bool gap;          // it was empty
} DocText;

static const DocItem *named_in_code(const DocText *d, const char *code) {
  for (int space = 0; space < DOC_SPACES; space++) {
    const DocItem *found = doc_find(d->docs, d->file, d->within, (DocSpace)space, code);
    if (found) return found;
  }
  return NULL;
}

static void add_code(const DocText *d, const char *code) {
  const DocItem *found = named_in_code(d, code);
  if (found) text_printf(d->out, "<a href=\"%s\">", quote_html(doc_link(found)));
  text_printf(d->out, "<code>%s</code>", quote_html(code));
  if (found) text_add(d->out, "</a>");
}

// What Futhark's comments write behind a name, as in `sum`@term, or `sum`@term@"file".
static size_t space_length(const char *s) {
  static const char *const spaces[] = { "@term", "@type", "@mtype" };
  for (size_t i = 0; i < sizeof spaces / sizeof *spaces; i++) {
    size_t length = strlen(spaces[i]);
    if (strncmp(s, spaces[i], length) != 0 || lex_is_name_part(s[length])) continue;
    const char *end =
        strncmp(s + length, "@\"", 2) == 0 ? strchr(s + length + 2, '"') : NULL;
    return end ? (size_t)(end + 1 - s) : length;
  }
  return 0;
}

static bool is_address(const char *s) {
  return strncmp(s, "https://", 8) == 0 || strncmp(s, "http://", 7) == 0;
}

// Where an address in a text ends: a full stop or bracket behind it is no part of it.
static size_t address_length(const char *s) {
  size_t length = strcspn(s, " \t\n<>\"'`");
  while (length && strchr(".,;:)!?", s[length - 1]))
    length--;
  return length;
}

static void add_inline(const DocText *d, const char *s) {
  while (*s) {
    const char *close = *s == '`' ? strchr(s + 1, '`') : NULL;
    if (close) {
      add_code(d, text_format("%.*s", (int)(close - s - 1), s + 1));
      s = close + 1;
      s += space_length(s);
    } else if (is_address(s)) {
      size_t length = address_length(s);
      const char *address = quote_html(text_format("%.*s", (int)length, s));
      text_printf(d->out, "<a href=\"%s\">%s</a>", address, address);
      s += length;
    } else {
      size_t length = 1 + strcspn(s + 1, "`h");
      text_add(d->out, quote_html(text_format("%.*s", (int)length, s)));
      s += length;
    }
  }
}

static void switch_to(DocText *d, const char *element) {
  if (d->open && element && strcmp(d->open, element) == 0) return;
  if (d->open)
    text_add(d->out, strcmp(d->open, "ul") == 0    ? "</li></ul>\n"
                     : strcmp(d->open, "pre") == 0 ? "</code></pre>\n"
                                                   : "</p>\n");
  if (element)
    text_add(d->out, strcmp(element, "ul") == 0    ? "<ul>"
                     : strcmp(element, "pre") == 0 ? "<pre><code>"
                                                   : "<p>");
  d->open = element;
}

static bool is_open(const DocText *d, const char *element) {
  return d->open && strcmp(d->open, element) == 0;
}

static void add_list_item(DocText *d, const char *text) {
  bool first = !is_open(d, "ul");
  switch_to(d, "ul");
  text_add(d->out, first ? "<li>" : "</li>\n<li>");
  add_inline(d, text);
}

static void add_heading(DocText *d, const char *text) {
  switch_to(d, NULL);
  text_add(d->out, "<p class=\"heading\">");
  add_inline(d, text + strspn(text, "# "));
  text_add(d->out, "</p>\n");
}

// A line outside of ``` and ```.
static void add_comment_line(DocText *d, const char *line) {
  size_t blanks = strspn(line, " ");
  const char *text = line + blanks;
  if (!*text) {
    if (!is_open(d, "ul")) switch_to(d, NULL);
  } else if ((*text == '-' || *text == '*') && text[1] == ' ') {
    add_list_item(d, text + 2);
  } else if (is_open(d, "ul") && blanks >= 2 && !(d->gap && blanks >= 4)) {
    text_add(d->out, "\n");
    add_inline(d, text);
  } else if (blanks >= 4) {
    bool more = is_open(d, "pre");
    switch_to(d, "pre");
    text_printf(d->out, "%s%s", more ? "\n" : "", quote_html(line + 4));
  } else if (*text == '#' && strchr("# ", text[1])) {
    add_heading(d, text);
  } else {
    bool more = is_open(d, "p");
    switch_to(d, "p");
    if (more) text_add(d->out, "\n");
    add_inline(d, text);
  }
  d->gap = !*text;
}

// What follows a line `==` are tests.
static const char *next_line(const char **at) {
  if (!**at) return NULL;
  size_t length = strcspn(*at, "\n");
  const char *line = text_format("%.*s", (int)length, *at);
  *at += length + ((*at)[length] == '\n');
  return strcmp(line, "==") == 0 ? NULL : line;
}

const char *doc_comment_html(const Docs *docs, const DocFile *file, const DocItem *within,
                             const char *text) {
  DocText d = { .docs = docs, .file = file, .within = within, .out = text_new() };
  bool fenced = false;
  const char *at = text ? text : "";
  for (const char *line; (line = next_line(&at)) != NULL;) {
    bool fence = strncmp(line, "```", 3) == 0;
    if (fence) {
      switch_to(&d, NULL);
      if (!fenced) switch_to(&d, "pre");
      fenced = !fenced;
    } else if (fenced) {
      text_printf(d.out, "%s\n", quote_html(line));
    } else {
      add_comment_line(&d, line);
    }
  }
  switch_to(&d, NULL);
  return text_str(d.out);
}

const char *doc_summary_html(const Docs *docs, const DocFile *file, const DocItem *within,
                             const char *text) {
  DocText d = { .docs = docs, .file = file, .within = within, .out = text_new() };
  Text *all = text_new();
  const char *at = text ? text : "";
  for (const char *line; (line = next_line(&at)) != NULL && line[strspn(line, " ")];)
    text_printf(all, "%s%s", text_length(all) ? " " : "", line);
  const char *words = text_str(all), *end = words;
  while (*end && !(*end == '.' && (end[1] == ' ' || !end[1])))
    end++;
  add_inline(&d, text_format("%.*s", (int)(end - words) + (*end == '.'), words));
  return text_str(d.out);
}
