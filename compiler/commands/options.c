#include "commands/options.h"
#include "commands/commands.h"
#include <stdio.h>
#include <string.h>

// ---- texts

// [words](target): the length of all but the words, which go to `t`; 0 if there is no link.
static size_t add_link(Text *t, const char *text) {
  const char *middle = *text == '[' ? strstr(text, "](") : NULL;
  const char *end = middle ? strchr(middle, ')') : NULL;
  if (!end || memchr(text, ' ', (size_t)(middle - text)) == text + 1) return 0;
  text_add_bytes(t, text + 1, (size_t)(middle - text - 1));
  return (size_t)(end - text) + 1;
}

// `text` without its marks.
static const char *plain(const char *text) {
  Text *t = text_new();
  while (*text) {
    size_t length = add_link(t, text);
    if (!length && *text != '`') text_add_bytes(t, text, 1);
    text += length ? length : 1;
  }
  return text_str(t);
}

enum { HELP_COLUMNS = 80, MOST_LEFT = 28 };

// Words in lines of HELP_COLUMNS, the first of which is at `column`, the others at `indent`.
static void add_words(Text *t, const char *text, int column, int indent) {
  while (*text) {
    int length = (int)strcspn(text, " ");
    if (column > indent && column + 1 + length > HELP_COLUMNS) {
      text_printf(t, "\n%*s", indent, "");
      column = indent;
    } else if (column > indent) {
      text_add(t, " ");
      column++;
    }
    text_add_bytes(t, text, (size_t)length);
    column += length;
    text += length;
    text += strspn(text, " ");
  }
  text_add(t, "\n");
}

static void add_paragraphs(Text *t, const char *text) {
  text = plain(text);
  for (const char *end; (end = strstr(text, "\n\n")); text = end + 2) {
    add_words(t, text_format("%.*s", (int)(end - text), text), 0, 0);
    text_add(t, "\n");
  }
  add_words(t, text, 0, 0);
}

// ---- help

// "  -e, --entry ENTRY"
static const char *option_left(const Option *o) {
  const char *letter = o->letter ? text_format("-%c,", o->letter) : "   ";
  return text_format("  %s --%s%s%s", letter, o->name, o->arg ? " " : "",
                     o->arg ? o->arg : "");
}

static bool is_shown(const Option *o) { return o->help != NULL; }

static int left_width(const Command *command) {
  size_t widest = 0;
  for (const Option *o = command->options; o->name; o++) {
    size_t width = is_shown(o) ? strlen(option_left(o)) : 0;
    if (width > widest && width <= MOST_LEFT) widest = width;
  }
  return (int)widest + 2;
}

static void add_option(Text *t, const Option *o, int indent) {
  const char *left = option_left(o);
  text_add(t, left);
  int column = (int)strlen(left);
  if (column + 2 > indent) text_add(t, "\n");
  text_printf(t, "%*s", column + 2 > indent ? indent : indent - column, "");
  add_words(t, plain(o->help), indent, indent);
}

static void add_usage(Text *t, const Command *command) {
  const char *line = command->usage, *head = "usage:";
  for (bool more = true; more; head = "      ") {
    size_t length = strcspn(line, "\n");
    text_printf(t, "%s flc %s %.*s\n", head, command->name, (int)length, line);
    more = line[length] != '\0';
    line += length + more;
  }
}

static const Option no_options[] = { OPTIONS_END };

int options_print_help(const Command *command) {
  Command shown = *command;
  if (!shown.options) shown.options = no_options;
  Text *t = text_new();
  add_usage(t, &shown);
  text_add(t, "\n");
  add_paragraphs(t, shown.about);
  if (shown.options->name) text_add(t, "\n");
  int indent = left_width(&shown);
  for (const Option *o = shown.options; o->name; o++)
    if (is_shown(o)) add_option(t, o, indent);
  return fputs(text_str(t), stdout) == EOF;
}

// ---- reading

static int option_count(const Command *command) {
  int count = 0;
  while (command->options && command->options[count].name)
    count++;
  return count;
}

OptionReader options_begin(Compiler *c, const Command *command, int argc, char **argv) {
  int count = option_count(command), known = 0;
  struct option *names = new_array(struct option, count + 2);
  Text *letters = text_new();
  text_add(letters, ":h");
  names[known++] = (struct option){ "help", no_argument, NULL, OPTION_HELP };
  for (int i = 0; i < count; i++) {
    const Option *o = &command->options[i];
    int wants = o->arg ? required_argument : no_argument;
    if (o->id) names[known++] = (struct option){ o->name, wants, NULL, o->id };
    if (o->letter) text_printf(letters, "%c%s", o->letter, o->arg ? ":" : "");
  }
  opterr = 0;
  return (OptionReader){ c, command, argc, argv, names, text_str(letters), false, 0 };
}

static int end_with(OptionReader *r, int status) {
  r->over = true;
  r->status = status;
  return 0;
}

// Texts may be empty, and so may a program that others would run in.
static bool may_be_empty(const Option *o) {
  return !o->arg || strcmp(o->arg, "TEXT") == 0 || strcmp(o->arg, "PROGRAM") == 0;
}

// The row of an option whose argument is empty and should not be, such as that of a variable
// which the shell does not know; or NULL.
static const Option *lacks_argument(const OptionReader *r, int found) {
  if (!optarg || *optarg) return NULL;
  const Option *o = r->command->options;
  while (o->name && o->id != found && o->letter != found)
    o++;
  return o->name && !may_be_empty(o) ? o : NULL;
}

// The same of what is left when the options are over.
static int check_operands(OptionReader *r) {
  for (int i = optind; i < r->argc; i++)
    if (!*r->argv[i])
      return end_with(
          r, command_usage_error(r->c, "flc %s: a file name is empty", r->command->name));
  return 0;
}

int options_next(OptionReader *r) {
  int found = getopt_long(r->argc, r->argv, r->letters, r->names, NULL);
  if (found == -1) return check_operands(r);
  const Option *lacking = lacks_argument(r, found);
  if (lacking)
    return end_with(r, command_usage_error(r->c, "flc %s: --%s needs an argument",
                                           r->command->name, lacking->name));
  if (found == 'h' || found == OPTION_HELP)
    return end_with(r, options_print_help(r->command));
  if (found == '?' || found == ':') return end_with(r, command_option_error(r, found));
  return found;
}
